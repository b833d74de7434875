/* How the Machbase adapter handles targets, values and answers, without its library. */
#include "unit/unit.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/machbase.h"

TEST(test_targets)
{
    static const struct {
        struct target target;
        const char *text; /* expected text; NULL if the value is refused */
    } cases[] = {
        {{.host = NULL},
         "SERVER=10.0.0.1;PORT_NO=5656;UID=SYS;PWD=MANAGER;CONNTYPE=1;"
         "CONNECTION_TIMEOUT=7;"},
        {{.host = "db", .port = 99, .user = "U", .password = "p{w}"},
         "SERVER=10.0.0.1;PORT_NO=99;UID=U;PWD=p{w};CONNTYPE=1;CONNECTION_TIMEOUT=7;"},
        {{.query = "alternative_servers=a:1%2Cb:2&nodelay=0"},
         "SERVER=10.0.0.1;PORT_NO=5656;UID=SYS;PWD=MANAGER;CONNTYPE=1;CONNECTION_TIMEOUT=7;"
         "ALTERNATIVE_SERVERS=a:1,b:2;"},
        {{.user = "a b"}, NULL},
        {{.user = ""}, NULL},
        {{.password = "a;b"}, NULL},
        {{.password = "a=b"}, NULL},
        {{.password = ""}, NULL},
        {{.host = "/tmp"}, NULL},
        {{.database = "x"}, NULL},
        {{.schema = "x"}, NULL},
        {{.url = "machbase://a:1,b:2"}, NULL},
        {{.query = "compress=1"}, NULL},
        {{.query = "nodelay=maybe"}, NULL},
        {{.query = "alternative_servers=a:1;PWD%3Dx"}, NULL},
    };
    (void)state;
    unsetenv("MACHBASE_PORT_NO");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machbase_target place;
        struct error error;
        error_clear(&error);
        const enum status status = machbase_target_read(&place, &cases[i].target, &error);
        if (cases[i].text == NULL) {
            assert_int_equal(status, STATUS_FATAL);
            assert_int_equal(error.kind, ERROR_USAGE);
            continue;
        }
        struct buffer text;
        buffer_init(&text);
        assert_int_equal(status, STATUS_OK);
        machbase_string_build(&text, &place, "10.0.0.1", 7);
        assert_string_equal(buffer_text(&text), cases[i].text);
        buffer_fini(&text);
        assert_int_equal(place.has_delay, i == 2);
    }
}

TEST(test_port_by_default)
{
    static const struct {
        const char *value;
        unsigned port;
    } cases[] = {{"7000", 7000}, {"0", 5656}, {"70000", 5656}, {"", 5656}};
    const struct target target = {.host = NULL};
    const struct target with_port = {.port = 9};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machbase_target place;
        setenv("MACHBASE_PORT_NO", cases[i].value, 1);
        assert_int_equal(machbase_target_read(&place, &target, NULL), STATUS_OK);
        assert_int_equal(place.port, cases[i].port);
        assert_int_equal(machbase_target_read(&place, &with_port, NULL), STATUS_OK);
        assert_int_equal(place.port, 9);
    }
    unsetenv("MACHBASE_PORT_NO");
}

static struct column column_of(int type, unsigned long size)
{
    struct column column = {.is_nullable = true};
    machbase_set_type(&column, type, size);
    return column;
}

TEST(test_types)
{
    static const struct {
        int type;
        unsigned long size;
        enum column_type column;
        unsigned column_size;
        const char *name;
    } cases[] = {
        {MACHBASE_INT16, 6, COLUMN_INT16, 0, "short"},
        {MACHBASE_UINT16, 5, COLUMN_DECIMAL, 0, "ushort"},
        {MACHBASE_VARCHAR, 128, COLUMN_TEXT, 128, "varchar(128)"},
        {MACHBASE_TEXT, 67108864, COLUMN_TEXT, 67108864, "text"},
        {MACHBASE_TEXT, 0, COLUMN_UNSUPPORTED, 0, "text(0)"},
        {MACHBASE_BINARY, 0, COLUMN_UNSUPPORTED, 0, "binary(0)"},
        {MACHBASE_JSON, 32767, COLUMN_JSON, 32767, "json"},
        {MACHBASE_DATETIME, 31, COLUMN_TIMESTAMP, 0, "datetime"},
        {MACHBASE_IP4, 15, COLUMN_IP4, 0, "ipv4"},
        {MACHBASE_IP6, 45, COLUMN_IP6, 0, "ipv6"},
        {9999, 1, COLUMN_UNSUPPORTED, 0, "type 9999"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct column column = column_of(cases[i].type, cases[i].size);
        assert_int_equal(column.type, cases[i].column);
        assert_int_equal(column.size, cases[i].column_size);
        assert_string_equal(column.type_name, cases[i].name);
    }
}

TEST(test_nulls)
{
    union machbase_value value;
    struct column column = column_of(MACHBASE_INT16, 6);
    (void)state;
    memset(&value, 0xa5, sizeof value);
    machbase_encode_null(&column, &value);
    assert_int_equal(value.uint16, 0x8000);
    column = column_of(MACHBASE_UINT16, 5);
    machbase_encode_null(&column, &value);
    assert_int_equal(value.uint16, 0xffff);
    column = column_of(MACHBASE_INT32, 11);
    machbase_encode_null(&column, &value);
    assert_true(value.uint32 == 0x80000000U);
    column = column_of(MACHBASE_UINT32, 11);
    machbase_encode_null(&column, &value);
    assert_true(value.uint32 == 0xffffffffU);
    column = column_of(MACHBASE_INT64, 20);
    machbase_encode_null(&column, &value);
    assert_true(value.uint64 == UINT64_C(0x8000000000000000));
    column = column_of(MACHBASE_UINT64, 20);
    machbase_encode_null(&column, &value);
    assert_true(value.uint64 == UINT64_MAX);
    column = column_of(MACHBASE_FLOAT, 17);
    machbase_encode_null(&column, &value);
    assert_true(value.float32 == FLT_MAX);
    column = column_of(MACHBASE_DOUBLE, 17);
    machbase_encode_null(&column, &value);
    assert_true(value.float64 == DBL_MAX);
    column = column_of(MACHBASE_DATETIME, 31);
    machbase_encode_null(&column, &value);
    assert_true(value.time.ns == -1);
    for (int type = MACHBASE_IP4; type <= MACHBASE_IP6; type += MACHBASE_IP6 - MACHBASE_IP4) {
        column = column_of(type, 15);
        memset(&value, 0xa5, sizeof value);
        machbase_encode_null(&column, &value);
        assert_int_equal(value.address.length, 0);
    }
    column = column_of(MACHBASE_VARCHAR, 15);
    memset(&value, 0xa5, sizeof value);
    machbase_encode_null(&column, &value);
    assert_int_equal(value.variable.length, 0);
}

/* Machbase's library would take these times for texts, structures or the current time, and so read
 * memory out of bounds. */
TEST(test_times)
{
    static const int64_t times[] = {0, -1, -2, -3, -4, -5, INT64_MIN, INT64_MAX};
    const struct column column = column_of(MACHBASE_DATETIME, 31);
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        const union column_values values = {.int64 = times};
        union machbase_value value;
        const bool is_code = times[i] <= -1 && times[i] >= -4;
        assert_int_equal(machbase_encode(&column, values, i, &value), !is_code);
        assert_true(is_code || value.time.ns == times[i]);
    }
}

TEST(test_values_that_do_not_fit)
{
    static const int64_t numbers[] = {65534, -1, 65535};
    static const struct text_value texts[] = {{"abcd", 4}, {"abcde", 5}, {"", 0}};
    const struct column number = column_of(MACHBASE_UINT16, 5);
    const struct column text = column_of(MACHBASE_VARCHAR, 4);
    union machbase_value value;
    (void)state;
    assert_true(machbase_encode(&number, (union column_values){.int64 = numbers}, 0, &value));
    assert_int_equal(value.uint16, 65534);
    assert_false(machbase_encode(&number, (union column_values){.int64 = numbers}, 1, &value));
    assert_false(machbase_encode(&number, (union column_values){.int64 = numbers}, 2, &value));
    assert_true(machbase_encode(&text, (union column_values){.text = texts}, 0, &value));
    assert_int_equal(value.variable.length, 4);
    assert_ptr_equal(value.variable.data, texts[0].bytes);
    assert_false(machbase_encode(&text, (union column_values){.text = texts}, 1, &value));
    assert_true(machbase_encode(&text, (union column_values){.text = texts}, 2, &value));
    assert_int_equal(value.variable.length, 0);
}

/* The library would store these values as NULL. */
TEST(test_values_that_stand_for_null)
{
    static const int16_t shorts[] = {INT16_MIN, INT16_MIN + 1, INT16_MAX};
    static const int32_t ints[] = {INT32_MIN, INT32_MIN + 1, INT32_MAX};
    static const int64_t longs[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX};
    static const int64_t unsigneds[] = {UINT32_MAX, UINT32_MAX - 1, 0};
    static const float floats[] = {FLT_MAX, -FLT_MAX, FLT_MAX / 2};
    static const double doubles[] = {DBL_MAX, -DBL_MAX, DBL_MAX / 2};
    static const struct {
        int type;
        union column_values values;
    } cases[] = {
        {MACHBASE_INT16, {.int16 = shorts}},   {MACHBASE_INT32, {.int32 = ints}},
        {MACHBASE_INT64, {.int64 = longs}},    {MACHBASE_UINT32, {.int64 = unsigneds}},
        {MACHBASE_FLOAT, {.float32 = floats}}, {MACHBASE_DOUBLE, {.float64 = doubles}},
    };
    EACH_CASE (i, cases, "type %d", cases[i].type) {
        const struct column column = column_of(cases[i].type, 20);
        union machbase_value value;
        assert_false(machbase_encode(&column, cases[i].values, 0, &value));
        assert_true(machbase_encode(&column, cases[i].values, 1, &value));
        assert_true(machbase_encode(&column, cases[i].values, 2, &value));
    }
}

TEST(test_addresses)
{
    static const uint8_t ip4[][4] = {{192, 0, 2, 7}};
    static const uint8_t ip6[][16] = {{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    const struct column four = column_of(MACHBASE_IP4, 15);
    const struct column six = column_of(MACHBASE_IP6, 45);
    unsigned char bytes[sizeof(union machbase_value)];
    union machbase_value value;
    (void)state;
    assert_true(machbase_encode(&four, (union column_values){.ip4 = ip4}, 0, &value));
    memcpy(bytes, &value, sizeof bytes);
    assert_int_equal(bytes[0], 4);
    assert_memory_equal(bytes + 1, ip4[0], 4);
    assert_true(machbase_encode(&six, (union column_values){.ip6 = ip6}, 0, &value));
    memcpy(bytes, &value, sizeof bytes);
    assert_int_equal(bytes[0], 6);
    assert_memory_equal(bytes + 1, ip6[0], 16);
}

TEST(test_written_values)
{
    static const struct text_value text = {"it's ?", 6};
    static const struct text_value bytes = {"x", 1}, cut = {"a\0b", 3};
    static const uint8_t null = 1;
    static const uint8_t ip4[1][4] = {{192, 0, 2, 7}};
    static const int64_t moment = 1234567890123456789;
    static const int64_t price = -1999;
    static const double ratio = 0.1;
    struct column columns[] = {
        {.type = COLUMN_TEXT},    {.type = COLUMN_TIMESTAMP},
        {.type = COLUMN_IP4},     {.type = COLUMN_DECIMAL, .scale = 2},
        {.type = COLUMN_FLOAT64}, {.type = COLUMN_TEXT},
    };
    struct column_data data[] = {
        {.values.text = &text},     {.values.int64 = &moment},
        {.values.ip4 = ip4},        {.values.int64 = &price},
        {.values.float64 = &ratio}, {.values.text = &text, .is_null = &null},
    };
    const struct table table = {.column_count = 6, .columns = columns};
    const struct batch batch = {.table = &table, .row_count = 1, .columns = data};
    struct buffer sql = {0};
    (void)state;
    assert_true(
        machbase_write_values(&sql, "insert into t values ('?', ?, ?, ?, ?, ?, ?)", &batch));
    assert_string_equal(buffer_text(&sql),
                        "insert into t values ('?', 'it''s ?', "
                        "FROM_TIMESTAMP(1234567890123456789), '192.0.2.7', -19.99, "
                        "0.10000000000000001, NULL)");
    assert_false(machbase_write_values(&sql, "select ?, ?, ?, ?, ?", &batch));
    assert_false(machbase_write_values(&sql, "select ?, ?, ?, ?, ?, ?, ?", &batch));
    data[5] = (struct column_data){.values.text = &cut};
    assert_false(machbase_write_values(&sql, "select ?, ?, ?, ?, ?, ?", &batch));
    columns[5].type = COLUMN_BYTES;
    data[5] = (struct column_data){.values.text = &bytes};
    assert_false(machbase_write_values(&sql, "select ?, ?, ?, ?, ?, ?", &batch));
    buffer_fini(&sql);
}

TEST(test_declared)
{
    const struct column text = {.type = COLUMN_TEXT, .size = 60};
    const struct column number = {.type = COLUMN_INT64};
    const struct column boolean = {.type = COLUMN_BOOL};
    char declared[40];
    (void)state;
    assert_true(machbase_declare_column(&text, false, declared, sizeof declared));
    assert_string_equal(declared, "varchar(60)");
    assert_true(machbase_declare_column(&number, false, declared, sizeof declared));
    assert_string_equal(declared, "long");
    assert_false(machbase_declare_column(&number, true, declared, sizeof declared));
    assert_false(machbase_declare_column(&boolean, false, declared, sizeof declared));
}

TEST(test_answers)
{
    assert_int_equal(machbase_recognise((const unsigned char *)"CMI_READY", 9), PROBE_YES);
    assert_int_equal(machbase_recognise((const unsigned char *)"CMI_READY\0", 10), PROBE_YES);
    assert_int_equal(machbase_recognise((const unsigned char *)"CMI_READ", 8), PROBE_MORE);
    assert_int_equal(machbase_recognise((const unsigned char *)"CMI_ERROR", 9), PROBE_NO);
    assert_int_equal(machbase_recognise((const unsigned char *)"", 0), PROBE_MORE);
}

static void expect_no_library(const char *given, const char *text)
{
    struct adapter_library *library = NULL;
    struct error error;
    error_clear(&error);
    assert_int_equal(adapter_machbase.start(given, &library, &error), STATUS_FATAL);
    assert_null(library);
    assert_int_equal(error.kind, ERROR_USAGE);
    if (strstr(error.text, text) == NULL) {
        fail_msg("%s", error.text);
    }
}

TEST(test_no_library)
{
    struct adapter_conn *conn = NULL;
    struct error error;
    const struct target target = {.connect_timeout_s = 1};
    (void)state;
    expect_no_library("/nonexistent/libmachbasecli_dll.so", "no such file");
    expect_no_library(APPEND_SOURCE "/src", "libmachbasecli_dll.so");
    expect_no_library(APPEND_SOURCE "/README.md", "cannot be loaded");
    expect_no_library("libc.so.6", "no such file");
    setenv("MACHBASE_HOME", "/nonexistent", 1);
    expect_no_library(NULL, "--client-lib FILE");
    error_clear(&error);
    assert_int_equal(adapter_machbase.open(&adapter_machbase, &target, &conn, &error),
                     STATUS_FATAL);
    assert_null(conn);
}
