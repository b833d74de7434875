/* Values in ClickHouse's formats, including values of types that its old versions lack, and the
 * parsing of its errors and answers. The expected bytes follow ClickHouse's documentation of
 * RowBinary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "adapters/clickhouse.h"
#include "adapters/dialect.h"

/* Type and comment of the only column of the only table. */
static const char *declared_type, *declared_comment;

static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    const char *const texts[] = {"c", declared_type, "0", "1", "0", "0", declared_comment};
    struct cell cells[7];
    (void)conn;
    (void)statement;
    (void)parameters;
    (void)error;
    for (size_t i = 0; i < 7; i++) {
        cells[i] =
            (struct cell){.type = COLUMN_TEXT, .as.text = {texts[i], (uint32_t)strlen(texts[i])}};
    }
    answer->take(answer->context, cells, 7);
    return STATUS_OK;
}

static void describe(const char *type, const char *comment, struct table *table)
{
    static const struct adapter server = {.name = "server", .run = run};
    const struct dialect_asker asker = {.adapter = &server};
    struct error error = {.kind = ERROR_NONE};
    declared_type = type;
    declared_comment = comment;
    assert_int_equal(dialect_clickhouse.describe(&asker, "t", table, &error), STATUS_OK);
    assert_int_equal(table->column_count, 1);
}

/* Returns one value in the form in which it is sent. RowBinary is returned as hexadecimal
 * digits. */
static const char *sent(const struct table *table, union column_values values,
                        enum clickhouse_method method)
{
    static char text[200];
    struct buffer out = {0};
    const struct column_data data = {.values = values};
    const struct batch batch = {.table = table, .row_count = 1, .columns = &data};
    text[0] = '\0';
    if (clickhouse_add_rows(&out, &batch, method) != NULL) {
        snprintf(text, sizeof text, "unfit");
    } else if (method == CLICKHOUSE_ROWBINARY) {
        for (size_t i = 0; i < out.length; i++) {
            snprintf(text + 2 * i, 3, "%02x", (unsigned)(unsigned char)out.bytes[i]);
        }
    } else {
        snprintf(text, sizeof text, "%.*s", (int)out.length - 1, out.bytes);
    }
    buffer_fini(&out);
    return text;
}

static const int16_t minus_one = -1;
static const int32_t ints[] = {19782, -1, 65536};
static const int64_t longs[] = {1709210096789012345, -1, 123456, -123456, 128, 4294967296000000000};
static const uint8_t ip4[] = {192, 0, 2, 7};
static const uint8_t ip6[] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
static const struct text_value word = {"a\t\"\\'\x01", 6};

TEST(test_values)
{
    static const struct {
        const char *type, *comment;
        enum column_type column;
        const void *values;
        const char *binary, *tsv, *json;
    } cases[] = {
        {"Int16", "", COLUMN_INT16, &minus_one, "ffff", "-1", "{\"c\":-1}"},
        {"UInt32", "", COLUMN_INT32, &ints[0], "464d0000", "19782", "{\"c\":19782}"},
        {"UInt32", "", COLUMN_INT32, &ints[1], "unfit", "-1", "{\"c\":-1}"},
        {"Int8", "", COLUMN_DECIMAL, &longs[4], "unfit", "128", "{\"c\":128}"},
        {"Nullable(Date)", "", COLUMN_DATE, &ints[0], "00464d", "2024-02-29",
         "{\"c\":\"2024-02-29\"}"},
        {"Date", "", COLUMN_DATE, &ints[2], "unfit", "2149-06-07", "{\"c\":\"2149-06-07\"}"},
        {"Date32", "", COLUMN_DATE, &ints[1], "ffffffff", "1969-12-31", "{\"c\":\"1969-12-31\"}"},
        {"DateTime('UTC')", "", COLUMN_TIMESTAMP, &longs[0], "f079e065", "1709210096",
         "{\"c\":\"1709210096\"}"},
        {"DateTime", "", COLUMN_TIMESTAMP, &longs[1], "unfit", "-000000001",
         "{\"c\":\"-000000001\"}"},
        {"DateTime", "", COLUMN_TIMESTAMP, &longs[5], "unfit", "4294967296",
         "{\"c\":\"4294967296\"}"},
        {"DateTime64(3, 'UTC')", "", COLUMN_TIMESTAMP, &longs[0], "9554dcf48d010000",
         "1709210096.789", "{\"c\":\"1709210096.789\"}"},
        {"Decimal(9, 2)", "", COLUMN_DECIMAL, &longs[2], "40e20100", "1234.56", "{\"c\":1234.56}"},
        {"Decimal(38, 2)", "", COLUMN_DECIMAL, &longs[3], "c01dfeffffffffffffffffffffffffff",
         "-1234.56", "{\"c\":-1234.56}"},
        {"IPv4", "", COLUMN_IP4, ip4, "070200c0", "192.0.2.7", "{\"c\":\"192.0.2.7\"}"},
        {"UInt32", "ipv4", COLUMN_IP4, ip4, "070200c0", "3221225991", "{\"c\":3221225991}"},
        {"IPv6", "", COLUMN_IP6, ip6, "20010db8000000000000000000000001", "2001:db8::1",
         "{\"c\":\"2001:db8::1\"}"},
        {"UUID", "", COLUMN_UUID, ip6, "00000000b80d01200100000000000000",
         "20010db8-0000-0000-0000-000000000001",
         "{\"c\":\"20010db8-0000-0000-0000-000000000001\"}"},
        {"LowCardinality(Nullable(String))", "", COLUMN_TEXT, &word, "00066109225c2701",
         "a\\x09\"\\\\'\\x01", "{\"c\":\"a\\u0009\\\"\\\\'\\u0001\"}"},
        {"FixedString(8)", "", COLUMN_BYTES, &word, "6109225c27010000", "a\\x09\"\\\\'\\x01",
         "{\"c\":\"a\\u0009\\\"\\\\'\\u0001\"}"},
        {"FixedString(5)", "", COLUMN_BYTES, &word, "unfit", "a\\x09\"\\\\'\\x01",
         "{\"c\":\"a\\u0009\\\"\\\\'\\u0001\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table table;
        const union column_values values = {.any = cases[i].values};
        describe(cases[i].type, cases[i].comment, &table);
        assert_int_equal(table.columns[0].type, cases[i].column);
        assert_string_equal(sent(&table, values, CLICKHOUSE_ROWBINARY), cases[i].binary);
        assert_string_equal(sent(&table, values, CLICKHOUSE_TSV), cases[i].tsv);
        assert_string_equal(sent(&table, values, CLICKHOUSE_JSON), cases[i].json);
        table_fini(&table);
    }
}

/* Times before 1970 are rounded down, as are later times. The server reads the text
 * "-000000001.500" as -1.5 s, but "-000000000.500" as 0.5 s: such a time cannot be sent as a
 * text. */
TEST(test_moments_before_1970)
{
    static const int64_t moments[] = {-1, -1000000, -1000001, -1500000000};
    static const char *const expected[] = {"ffffffffffffffff", "ffffffffffffffff",
                                           "feffffffffffffff", "24faffffffffffff"};
    static const char *const texts[] = {"unfit", "unfit", "unfit", "-000000001.500"};
    struct table table;
    describe("DateTime64(3, 'UTC')", "", &table);
    for (size_t i = 0; i < 4; i++) {
        const union column_values values = {.int64 = &moments[i]};
        assert_string_equal(sent(&table, values, CLICKHOUSE_ROWBINARY), expected[i]);
        assert_string_equal(sent(&table, values, CLICKHOUSE_TSV), texts[i]);
    }
    table_fini(&table);
}

/* The length before a text: seven bits per byte, the lowest first. */
TEST(test_lengths_of_texts)
{
    static const struct {
        uint32_t length;
        const char *head;
        size_t head_bytes;
    } cases[] = {{0, "\0", 1},         {127, "\x7f", 1},           {128, "\x80\x01", 2},
                 {129, "\x81\x01", 2}, {16384, "\x80\x80\x01", 3}, {16385, "\x81\x80\x01", 3}};
    static char text[16385];
    struct table table;
    memset(text, 'x', sizeof text);
    describe("String", "", &table);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer out = {0};
        const struct text_value value = {text, cases[i].length};
        const struct column_data data = {.values = {.text = &value}};
        const struct batch batch = {.table = &table, .row_count = 1, .columns = &data};
        assert_null(clickhouse_add_rows(&out, &batch, CLICKHOUSE_ROWBINARY));
        assert_int_equal(out.length, cases[i].head_bytes + cases[i].length);
        assert_memory_equal(out.bytes, cases[i].head, cases[i].head_bytes);
        assert_memory_equal(out.bytes + cases[i].head_bytes, text, cases[i].length);
        buffer_fini(&out);
    }
    table_fini(&table);
}

/* Rows have several columns, and some values are NULL. A column that is not nullable has no
 * NULL. */
TEST(test_rows)
{
    static const struct text_value texts[] = {{"ab", 2}, {NULL, 0}, {"", 0}};
    static const int32_t numbers[] = {1, 2, -2};
    static const uint8_t second_is_null[] = {0, 1, 0};
    static const char expected[] = "\0\2ab\1\0\0\0"
                                   "\1\2\0\0\0"
                                   "\0\0\xfe\xff\xff\xff";
    struct column columns[] = {
        {.type = COLUMN_TEXT,
         .native_type = CLICKHOUSE_NATIVE(CLICKHOUSE_STRING, 0),
         .is_nullable = true},
        {.type = COLUMN_INT64, .is_generated = true},
        {.type = COLUMN_INT32, .native_type = CLICKHOUSE_NATIVE(CLICKHOUSE_INT, 4)}};
    const struct table table = {.column_count = 3, .columns = columns};
    const struct column_data data[] = {
        {{.text = texts}, second_is_null}, {{.any = NULL}, NULL}, {{.int32 = numbers}, NULL}};
    const struct batch batch = {.table = &table, .row_count = 3, .columns = data};
    struct buffer out = {0};
    (void)state;
    assert_null(clickhouse_add_rows(&out, &batch, CLICKHOUSE_ROWBINARY));
    assert_int_equal(out.length, sizeof expected - 1);
    assert_memory_equal(out.bytes, expected, sizeof expected);
    columns[0].is_nullable = false;
    assert_ptr_equal(clickhouse_add_rows(&out, &batch, CLICKHOUSE_ROWBINARY), &columns[0]);
    buffer_fini(&out);
}

TEST(test_unknown_types)
{
    static const char *const types[] = {"Enum8('a' = 1)", "Array(Int32)", "Map(String, Int8)"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct table table;
        describe(types[i], "", &table);
        assert_int_equal(table.columns[0].type, COLUMN_UNSUPPORTED);
        assert_int_equal(table.columns[0].native_type, 0);
        table_fini(&table);
    }
}

/* The same error always has the same text. */
TEST(test_errors)
{
    static const struct {
        int number;
        const char *said, *text;
        enum status status;
        enum error_kind kind;
    } cases[] = {
        {252, "Too many parts (301). Merges are processing significantly slower than inserts.",
         "Too many parts", STATUS_REJECTED, ERROR_BUSY},
        {202, "Too many simultaneous queries. Maximum: 100, e.what() = DB::Exception",
         "Too many simultaneous queries. Maximum: 100", STATUS_REJECTED, ERROR_BUSY},
        {60, "Table a.b doesn't exist. (UNKNOWN_TABLE) (version 22.3.1.1)",
         "Table a.b doesn't exist. (UNKNOWN_TABLE)", STATUS_FATAL, ERROR_NOT_FOUND},
        {27, "Cannot parse input: expected \\n before: x\\n: (at row 2)\n\nRow 1:",
         "Cannot parse input: expected \\n", STATUS_REJECTED, ERROR_DATA},
        {319, "Unknown status, client must retry.", "Unknown status, client must retry",
         STATUS_LOST, ERROR_CONNECTION},
        {516, "append: Authentication failed: password is incorrect",
         "append: Authentication failed: password is incorrect", STATUS_FATAL, ERROR_AUTH},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[ERROR_TEXT_BYTES];
        struct dialect_meaning meaning = {STATUS_OK, ERROR_NONE, NULL};
        const struct dialect_failure failure = {.number = cases[i].number, .text = cases[i].said};
        assert_true(dialect_clickhouse.classify_error(&failure, &meaning));
        assert_int_equal(meaning.status, cases[i].status);
        assert_int_equal(meaning.kind, cases[i].kind);
        dialect_clickhouse.write_text(&failure, NULL, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static bool take(void *context, const struct cell *cells, size_t count)
{
    char *text = context;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(text + strlen(text), 100 - strlen(text), "%s%.*s|", cells[i].is_null ? "NULL" : "",
                 cells[i].is_null ? 0 : (int)cells[i].as.text.length, cells[i].as.text.bytes);
    }
    return true;
}

TEST(test_answers)
{
    char text[100];
    char lines[][80] = {"a\\tb\t\\N\t\\\\N\t\t-5", "",
                        "Code: 395, e.displayText() = DB::Exception: no", "after it"};
    struct answer answer = {.take = take, .context = text};
    struct clickhouse_reading reading = {.answer = &answer};
    (void)state;
    assert_true(clickhouse_take_line(&reading, lines[0], strlen(lines[0])));
    assert_string_equal(text, "a\tb|NULL|\\N||-5|");
    assert_true(clickhouse_take_line(&reading, lines[1], 0));
    assert_string_equal(text, "|");
    assert_string_equal(reading.exception, "");
    assert_true(clickhouse_take_line(&reading, lines[2], strlen(lines[2])));
    assert_true(clickhouse_take_line(&reading, lines[3], strlen(lines[3])));
    assert_int_equal(answer.rows, 2);
    assert_non_null(strstr(reading.exception, "395"));
    free(reading.cells);
}

/* A table of logged errors may have rows that look like an exception. */
TEST(test_rows_like_exceptions)
{
    static const struct {
        const char *line;
        bool is_exception;
    } cases[] = {
        {"Code: 395. DB::Exception: no. (FUNCTION_THROW_IF)", true},
        {"Code: 395, e.displayText() = DB::Exception: no, e.what() = DB::Exception", true},
        {"Code: 395. DB::Exception: no\t7", false},
        {"Code: 395, e.displayText() = DB::Exception: no\thost", false},
        {"Code: 395 was a DB::Exception: no", false},
        {"Code: red, said DB::Exception: no", false},
        {"Code: . DB::Exception: no", false},
        {"Code: ", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[100];
        struct answer answer = {.take = NULL};
        struct clickhouse_reading reading = {.answer = &answer};
        snprintf(line, sizeof line, "%s", cases[i].line);
        assert_true(clickhouse_take_line(&reading, line, strlen(line)));
        assert_int_equal(reading.exception[0] != '\0', cases[i].is_exception);
        assert_int_equal(answer.rows, cases[i].is_exception ? 0 : 1);
        free(reading.cells);
    }
}

TEST(test_rows_of_an_insert)
{
    assert_int_equal(
        clickhouse_count_values("insert into t (values, b) values (1, (2)), ('),(', 3)"), 2);
    assert_int_equal(clickhouse_count_values("INSERT INTO `a)(` VALUES('it\\'s (')"), 1);
    assert_int_equal(clickhouse_count_values("insert into t select * from values_of(3)"), 0);
    assert_int_equal(
        clickhouse_count_values("insert into t select * from values('x Int32', 1, 2, 3)"), 0);
    assert_int_equal(
        clickhouse_count_values("insert into t with (1) as x select values from s where (x)"), 0);
    assert_int_equal(clickhouse_count_values("insert into t format values (1), (2)"), 2);
    assert_int_equal(clickhouse_count_values("select (1), 'values (2)'"), 0);
    assert_int_equal(clickhouse_count_values("insert into t values ('"), 1);
}

TEST(test_unsupported)
{
    assert_string_equal(dialect_clickhouse_unsupported("18.16.1")->words, "delete");
    assert_string_equal(dialect_clickhouse_unsupported("22.3.2.1")->words, "delete");
    assert_string_equal(dialect_clickhouse_unsupported("22.8.1.1")->words, "update");
    assert_string_equal(dialect_clickhouse_unsupported("25.6.9.9")->words, "update");
    assert_string_equal(dialect_clickhouse_unsupported("25.10.1.1")->words, "create index");
}
