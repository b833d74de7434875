/* Rows in the line protocol, and statements into which the parameters are written as literals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unit/unit.h"

#include "adapters/influxdb.h"

enum {
    COLUMNS = 10,
    ROWS = 2
};

static const struct text_value tags[] = {{"a b,c=d", 7}, {"", 0}};
static const struct text_value texts[] = {{"say \"x\\y\"\nz", 11}, {"", 0}};
static const int32_t sessions[] = {0, -7};
static const int64_t numbers[] = {INT64_MIN, 5};
static const int64_t rows[] = {3, 4};
static const float floats[] = {1.5F, NAN};
static const double doubles[] = {0.1, INFINITY};
static const uint8_t truths[] = {1, 0};
static const uint8_t addresses[][4] = {{10, 0, 0, 1}, {192, 0, 2, 7}};
static const int64_t times[] = {1700000000000000000, -1};
static const uint8_t second_is_null[] = {0, 1};

static struct column columns[COLUMNS] = {
    {.name = "tm", .type = COLUMN_TIMESTAMP, .native_type = INFLUXDB_TIME},
    {.name = "k =", .type = COLUMN_TEXT, .native_type = INFLUXDB_TAG},
    {.name = "n2", .type = COLUMN_INT32, .native_type = INFLUXDB_TAG},
    {.name = "s,1", .type = COLUMN_TEXT},
    {.name = "i", .type = COLUMN_INT64},
    {.name = "n3", .type = COLUMN_INT64},
    {.name = "f", .type = COLUMN_FLOAT32},
    {.name = "d", .type = COLUMN_FLOAT64},
    {.name = "b", .type = COLUMN_BOOL},
    {.name = "ip4", .type = COLUMN_IP4},
};
static const struct table table = {
    .name = "my, table=", .column_count = COLUMNS, .columns = columns};
static const struct column_data data[COLUMNS] = {
    {{.int64 = times}, NULL},
    {{.text = tags}, NULL},
    {{.int32 = sessions}, NULL},
    {{.text = texts}, NULL},
    {{.int64 = numbers}, second_is_null},
    {{.int64 = rows}, NULL},
    {{.float32 = floats}, NULL},
    {{.float64 = doubles}, NULL},
    {{.boolean = truths}, NULL},
    {{.ip4 = addresses}, NULL},
};
static const struct batch batch = {&table, ROWS, data};

TEST(test_lines_of_influxdb)
{
    struct influxdb_lines lines = {.is_questdb = false};
    struct error error = {0};
    for (int i = 0; i < 2; i++) { /* the second round uses the names of the first round again */
        assert_int_equal(influxdb_lines_begin(&lines, &table, &error), STATUS_OK);
        assert_int_equal(influxdb_lines_add(&lines, &batch, &error), STATUS_OK);
        assert_int_equal(lines.rows, ROWS);
        assert_string_equal(
            buffer_text(&lines.text),
            "my\\,\\ table=,k\\ \\==a\\ b\\,c\\=d,n2=0 s\\,1=\"say \\\"x\\\\y\\\"\nz\","
            "i=-9223372036854775808i,n3=3i,f=1.5,d=0.1,b=true,ip4=\"10.0.0.1\""
            " 1700000000000000003\n"
            "my\\,\\ table=,n2=-7 s\\,1=\"\",n3=4i,b=false,ip4=\"192.0.2.7\" 3\n");
    }
    influxdb_lines_fini(&lines);
}

TEST(test_lines_of_questdb)
{
    struct column own[] = {{.name = "ts", .type = COLUMN_TIMESTAMP, .native_type = INFLUXDB_TIME},
                           {.name = "t", .type = COLUMN_TIMESTAMP},
                           {.name = "n3", .type = COLUMN_INT64}};
    const struct table t = {.name = "t", .column_count = 3, .columns = own};
    static const int64_t around_1970[] = {1700000000000000003, -1, -2000};
    const struct column_data of[] = {{{.int64 = around_1970}, NULL},
                                     {{.int64 = around_1970}, NULL},
                                     {{.int64 = around_1970}, NULL}};
    const struct batch three = {&t, 3, of};
    struct influxdb_lines lines = {.is_questdb = true};
    struct error error = {0};
    assert_int_equal(influxdb_lines_begin(&lines, &t, &error), STATUS_OK);
    assert_int_equal(influxdb_lines_add(&lines, &three, &error), STATUS_OK);
    assert_string_equal(buffer_text(&lines.text),
                        "t t=1700000000000000t,n3=1700000000000000003i 1700000000000000003\n"
                        "t t=-1t,n3=-1i -1\n"
                        "t t=-2t,n3=-2000i -2000\n");
    influxdb_lines_fini(&lines);
}

/* A special character is escaped wherever it is in a text. */
TEST(test_escapes)
{
    struct column own[] = {{.name = "f", .type = COLUMN_TEXT}};
    const struct table t = {.name = "t", .column_count = 1, .columns = own};
    struct influxdb_lines lines = {.is_questdb = false};
    struct error error = {0};
    for (uint32_t at = 0; at < 20; at++) {
        char bytes[20], expected[64];
        memset(bytes, 'a' ^ 0x80, sizeof bytes);
        bytes[at] = at % 2 == 0 ? '"' : '\\';
        snprintf(expected, sizeof expected, "t f=\"%.*s\\%.*s\"\n", (int)at, bytes,
                 (int)(sizeof bytes - at), bytes + at);
        const struct text_value text = {bytes, sizeof bytes};
        const struct column_data of = {{.text = &text}, NULL};
        const struct batch one = {&t, 1, &of};
        assert_int_equal(influxdb_lines_begin(&lines, &t, &error), STATUS_OK);
        assert_int_equal(influxdb_lines_add(&lines, &one, &error), STATUS_OK);
        assert_string_equal(buffer_text(&lines.text), expected);
    }
    influxdb_lines_fini(&lines);
}

TEST(test_values_that_lines_cannot_hold)
{
    static const struct text_value bad[] = {{"a\\", 2}, {"a\nb", 3}};
    struct column own[] = {{.name = "k", .type = COLUMN_TEXT, .native_type = INFLUXDB_TAG}};
    struct table t = {.name = "t", .column_count = 1, .columns = own};
    struct influxdb_lines lines = {.is_questdb = false};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct column_data of = {{.text = &bad[i]}, NULL};
        const struct batch one = {&t, 1, &of};
        struct error error = {0};
        assert_int_equal(influxdb_lines_begin(&lines, &t, &error), STATUS_OK);
        assert_int_equal(influxdb_lines_add(&lines, &one, &error), STATUS_REJECTED);
        assert_int_equal(error.kind, ERROR_DATA);
    }
    influxdb_lines_fini(&lines);
    lines = (struct influxdb_lines){.is_questdb = false};
    struct error error = {0};
    own[0] = (struct column){.name = "a\\b", .type = COLUMN_TEXT};
    assert_int_equal(influxdb_lines_begin(&lines, &t, &error), STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_UNSUPPORTED);
    influxdb_lines_fini(&lines);
}

TEST(test_literals)
{
    static const struct text_value text = {"it's \"a\\b\"", 10};
    struct column own[] = {{.type = COLUMN_TEXT},
                           {.type = COLUMN_INT64},
                           {.type = COLUMN_FLOAT64},
                           {.type = COLUMN_BOOL}};
    const struct table t = {.column_count = 4, .columns = own};
    const struct column_data of[] = {{{.text = &text}, NULL},
                                     {{.int64 = rows}, NULL},
                                     {{.float64 = &doubles[1]}, NULL},
                                     {{.boolean = truths}, NULL}};
    const struct batch parameters = {&t, 1, of};
    const struct statement statement = {.sql = "x '?' = ? and \"?\" = ? or ?, ? -- ?"};
    struct buffer sql = {0};
    struct error error = {0};
    assert_int_equal(influxdb_write_literals(&sql, &statement, &parameters, true, &error),
                     STATUS_OK);
    assert_string_equal(buffer_text(&sql),
                        "x '?' = 'it''s \"a\\b\"' and \"?\" = 3 or null, true -- ?");
    buffer_clear(&sql);
    assert_int_equal(influxdb_write_literals(&sql, &statement, &parameters, false, &error),
                     STATUS_OK);
    assert_string_equal(buffer_text(&sql),
                        "x '?' = 'it\\'s \"a\\\\b\"' and \"?\" = 3 or null, true -- ?");
    buffer_clear(&sql);
    const struct statement regex = {.sql = "select a from b where c =~ /d?/"};
    assert_int_equal(influxdb_write_literals(&sql, &regex, NULL, false, &error), STATUS_OK);
    assert_string_equal(buffer_text(&sql), regex.sql);
    buffer_clear(&sql);
    const struct statement few = {.sql = "x = ?"};
    assert_int_equal(influxdb_write_literals(&sql, &few, &parameters, false, &error), STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_USAGE);
    static const struct text_value cut = {"a\0b", 3};
    const struct table one = {.column_count = 1, .columns = own};
    const struct column_data value = {{.text = &cut}, NULL};
    buffer_clear(&sql);
    error_clear(&error);
    assert_int_equal(
        influxdb_write_literals(&sql, &few, &(const struct batch){&one, 1, &value}, false, &error),
        STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_UNSUPPORTED);
    buffer_fini(&sql);
}
