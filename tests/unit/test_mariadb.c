/* The bytes sent to MariaDB, compared with the documented protocol. */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "adapters/dialect.h"
#include "adapters/mariadb.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum {
    HEAD_BYTES = 6, /* size of the statement's number and the flags */
    HEX_BYTES = 512
};

static void to_hex(const void *bytes, size_t length, char hex[HEX_BYTES])
{
    assert_true(2 * length < HEX_BYTES);
    for (size_t i = 0; i < length; i++) {
        snprintf(hex + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
    }
    hex[2 * length] = '\0';
}

/* A parameter of a statement with one column and one row. `type_hex` contains its type and sign,
 * and `hex` contains its indicator and value. */
struct value_case {
    enum column_type type;
    uint32_t native_type;
    uint8_t scale;
    const void *value;
    const char *type_hex;
    const char *hex;
    /* text of the value for the other methods; NULL for bytes, which have no text */
    const char *text;
};

static const uint8_t truth = 1;
static const uint8_t odd_truth = 2;
static const int16_t int16_min = INT16_MIN;
static const int16_t int16_max = INT16_MAX;
static const int32_t int32_min = INT32_MIN;
static const int32_t minus_one = -1;
static const int64_t int64_min = INT64_MIN;
static const int64_t int64_max = INT64_MAX;
static const float one_and_a_half = 1.5F;
static const float float_max = 3.40282346638528859812e38F;
static const double minus_two_and_a_half = -2.5;
static const int64_t cents = -7;
static const int64_t most_digits = INT64_C(999999999999999999);
static const int32_t day_zero = 0;
static const int32_t leap_day = 19782;        /* 2024-02-29 */
static const int32_t day_too_late = 2932897;  /* 10000-01-01 */
static const int32_t day_too_early = -719529; /* the last day of the year -1 */
static const int64_t midnight;
static const int64_t last_moment = INT64_C(86399999999999);
static const int64_t just_before_epoch = -1;
static const uint8_t uuid[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
static const uint8_t ip4[4] = {192, 0, 2, 7};
static const uint8_t ip6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
static const struct text_value no_text = {"", 0};
static const struct text_value some_text = {"a\0b", 3};

static const struct value_case value_cases[] = {
    {COLUMN_BOOL, 0, 0, &truth, "0100", "0001", "1"},
    {COLUMN_BOOL, 0, 0, &odd_truth, "0100", "0001", "1"},
    {COLUMN_INT16, 0, 0, &int16_min, "0200", "000080", "-32768"},
    {COLUMN_INT16, 0, 0, &int16_max, "0200", "00ff7f", "32767"},
    {COLUMN_INT32, 0, 0, &int32_min, "0300", "0000000080", "-2147483648"},
    {COLUMN_INT32, 0, 0, &minus_one, "0300", "00ffffffff", "-1"},
    {COLUMN_INT64, 0, 0, &int64_min, "0800", "000000000000000080", "-9223372036854775808"},
    {COLUMN_INT64, 0, 0, &int64_max, "0800", "00ffffffffffffff7f", "9223372036854775807"},
    {COLUMN_FLOAT32, 0, 0, &one_and_a_half, "0400", "000000c03f", "1.5"},
    {COLUMN_FLOAT32, 0, 0, &float_max, "0400", "00ffff7f7f", "3.4028234663852886e+38"},
    {COLUMN_FLOAT64, 0, 0, &minus_two_and_a_half, "0500", "0000000000000004c0", "-2.5"},
    {COLUMN_DECIMAL, 0, 2, &cents, "f600", "00052d302e3037", "-0.07"},
    {COLUMN_DECIMAL, 0, 0, &most_digits, "f600", "0012393939393939393939393939393939393939",
     "999999999999999999"},
    {COLUMN_DECIMAL, 0, 20, &cents, "f600", "00172d302e3030303030303030303030303030303030303037",
     "-0.00000000000000000007"},
    {COLUMN_DATE, 0, 0, &day_zero, "0a00", "0004b2070101", "1970-01-01"},
    {COLUMN_DATE, 0, 0, &leap_day, "0a00", "0004e807021d", "2024-02-29"},
    {COLUMN_DATE, 0, 0, &day_too_late, "0a00", "000410270101", "10000-01-01"},
    {COLUMN_DATE, 0, 0, &day_too_early, "0a00", "000410270c1f", "10000-12-31"},
    {COLUMN_TIME, 0, 6, &midnight, "0b00", "000c000000000000000000000000", "00:00:00.000000"},
    {COLUMN_TIME, 0, 6, &last_moment, "0b00", "000c0000000000173b3b3f420f00", "23:59:59.999999"},
    {COLUMN_TIME, 0, 0, &last_moment, "0b00", "000c0000000000173b3b00000000", "23:59:59"},
    {COLUMN_TIMESTAMP, 0, 6, &midnight, "0c00", "000bb207010100000000000000",
     "1970-01-01 00:00:00.000000"},
    {COLUMN_TIMESTAMP, 0, 3, &just_before_epoch, "0c00", "000bb1070c1f173b3b583e0f00",
     "1969-12-31 23:59:59.999"},
    {COLUMN_TIMESTAMP, 0, 6, &int64_min, "0c00", "000b8d060915000c2b48370200",
     "1677-09-21 00:12:43.145224"},
    {COLUMN_UUID, MYSQL_NATIVE_OTHER, 0, uuid, "fc00", "00100123456789abcdeffedcba9876543210",
     NULL},
    {COLUMN_UUID, MYSQL_NATIVE_TEXT, 0, uuid, "fd00",
     "002430313233343536372d383961622d636465662d666564632d626139383736353433323130",
     "01234567-89ab-cdef-fedc-ba9876543210"},
    {COLUMN_IP4, MYSQL_NATIVE_OTHER, 0, ip4, "fc00", "0004c0000207", NULL},
    {COLUMN_IP4, MYSQL_NATIVE_TEXT, 0, ip4, "fd00", "00093139322e302e322e37", "192.0.2.7"},
    {COLUMN_IP6, MYSQL_NATIVE_OTHER, 0, ip6, "fc00", "001020010db8000000000000000000000001", NULL},
    {COLUMN_IP6, MYSQL_NATIVE_TEXT, 0, ip6, "fd00", "000b323030313a6462383a3a31", "2001:db8::1"},
    {COLUMN_TEXT, 0, 0, &no_text, "fd00", "0000", NULL},
    {COLUMN_TEXT, 0, 0, &some_text, "fd00", "0003610062", NULL},
    {COLUMN_BYTES, 0, 0, &some_text, "fc00", "0003610062", NULL},
    {COLUMN_JSON, 0, 0, &some_text, "fd00", "0003610062", NULL},
};

TEST(test_values)
{
    for (size_t i = 0; i < COUNT_OF(value_cases); i++) {
        const struct value_case *one = &value_cases[i];
        struct column column = {
            .type = one->type, .native_type = one->native_type, .scale = one->scale};
        const struct table table = {.column_count = 1, .columns = &column};
        const struct column_data data = {.values.any = one->value};
        const struct batch batch = {.table = &table, .row_count = 1, .columns = &data};
        struct buffer packet;
        char expected[HEX_BYTES];
        char hex[HEX_BYTES];
        buffer_init(&packet);
        mariadb_add_bulk(&packet, 0x01020304, &batch);
        to_hex(packet.bytes, packet.length, hex);
        buffer_fini(&packet);
        snprintf(expected, sizeof expected, "040302018000%s%s", one->type_hex, one->hex);
        if (strcmp(hex, expected) != 0) {
            fail_msg("case %zu: %s, not %s", i, hex, expected);
        }
        if (one->text != NULL) {
            struct buffer literal;
            buffer_init(&literal);
            mariadb_add_literal(&literal, &column, &data, 0, true);
            const bool is_quoted = buffer_text(&literal)[0] == '\'';
            const size_t length = strlen(one->text);
            assert_int_equal(literal.length, length + (is_quoted ? 2 : 0));
            assert_memory_equal(literal.bytes + (is_quoted ? 1 : 0), one->text, length);
            buffer_fini(&literal);
        }
    }
}

/* The parameters of a statement are sent as a bit for each NULL, the types, and the other
 * values. */
TEST(test_execute)
{
    static const int16_t number = 0x0201;
    static const uint8_t yes = 1, no = 0;
    static const struct text_value text = {"xyz", 3};
    struct column columns[10];
    struct column_data data[10];
    const struct table table = {.column_count = 10, .columns = columns};
    const struct batch batch = {.table = &table, .row_count = 1, .columns = data};
    struct buffer packet;
    char hex[HEX_BYTES];
    (void)state;
    memset(columns, 0, sizeof columns);
    for (size_t i = 0; i < 10; i++) {
        columns[i].type = i < 9 ? COLUMN_INT16 : COLUMN_TEXT;
        data[i] = (struct column_data){.values.int16 = &number};
    }
    data[0].is_null = data[8].is_null = &yes;
    data[1].is_null = &no;
    data[9].values.text = &text;
    buffer_init(&packet);
    mariadb_add_execute(&packet, 7, &batch);
    to_hex(packet.bytes, packet.length, hex);
    assert_string_equal(hex, "07000000"
                             "00"
                             "01000000"
                             "0101"
                             "01"
                             "020002000200020002000200020002000200fd00"
                             "0102010201020102010201020102"
                             "0378797a");
    buffer_clear(&packet);
    mariadb_add_execute(&packet, 0x01020304, NULL);
    to_hex(packet.bytes, packet.length, hex);
    assert_string_equal(hex, "040302010001000000");
    buffer_fini(&packet);
}

/* Rows follow each other, a NULL has no value, and columns that the database computes are left
 * out. */
TEST(test_rows)
{
    static const int16_t numbers[] = {1, 2, 3};
    static const uint8_t is_null[] = {0, 1, 0};
    static const struct text_value texts[] = {{"x", 1}, {"", 0}, {"yz", 2}};
    static const uint8_t all_null[] = {1, 1, 1};
    struct column columns[] = {{.type = COLUMN_INT16},
                               {.type = COLUMN_INT64, .is_generated = true},
                               {.type = COLUMN_TEXT},
                               {.type = COLUMN_UUID}};
    const struct table table = {.column_count = 4, .columns = columns};
    const struct column_data data[] = {{.values.int16 = numbers, .is_null = is_null},
                                       {.values.any = NULL},
                                       {.values.text = texts},
                                       {.values.any = NULL, .is_null = all_null}};
    const struct batch batch = {.table = &table, .row_count = 3, .columns = data};
    struct buffer packet;
    char hex[HEX_BYTES];
    (void)state;
    buffer_init(&packet);
    mariadb_add_bulk(&packet, 1, &batch);
    to_hex(packet.bytes, packet.length, hex);
    buffer_fini(&packet);
    assert_string_equal(hex, "010000008000"
                             "0200fd00fc00"
                             "000100"
                             "000178"
                             "01"
                             "01"
                             "0000"
                             "01"
                             "000300"
                             "0002797a"
                             "01");
}

/* The length that is sent before a text takes 1, 3, 4 or 9 bytes. */
TEST(test_long_texts)
{
    static const struct {
        uint32_t length;
        const char *prefix;
    } cases[] = {{250, "00fa"},
                 {251, "00fcfb00"},
                 {252, "00fcfc00"},
                 {65535, "00fcffff"},
                 {65536, "00fd000001"},
                 {16777215, "00fdffffff"},
                 {16777216, "00fe0000000100000000"}};
    static char bytes[16777216];
    struct column column = {.type = COLUMN_TEXT};
    const struct table table = {.column_count = 1, .columns = &column};
    (void)state;
    memset(bytes, 'x', sizeof bytes);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct text_value text = {bytes, cases[i].length};
        const struct column_data data = {.values.text = &text};
        const struct batch batch = {.table = &table, .row_count = 1, .columns = &data};
        const size_t prefix_bytes = strlen(cases[i].prefix) / 2;
        struct buffer packet;
        char hex[HEX_BYTES];
        buffer_init(&packet);
        mariadb_add_bulk(&packet, 1, &batch);
        assert_false(buffer_failed(&packet));
        assert_int_equal(packet.length, HEAD_BYTES + 2 + prefix_bytes + cases[i].length);
        to_hex(packet.bytes + HEAD_BYTES + 2, prefix_bytes, hex);
        assert_string_equal(hex, cases[i].prefix);
        assert_memory_equal(packet.bytes + packet.length - cases[i].length, bytes, cases[i].length);
        buffer_fini(&packet);
    }
}
