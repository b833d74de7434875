/* CSV files: reading back what append writes, and the errors for incomplete or wrong files. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figures/saved.h"

static enum status parse(struct csv_table *table, const char *text, struct error *error)
{
    error_clear(error);
    return csv_table_parse(table, "x.csv", strdup(text), error);
}

TEST(test_cells)
{
    struct csv_table table;
    struct error error;
    assert_int_equal(
        parse(&table, "a,b,\"c,1\"\r\n1,,\"x \"\"y\"\"\r\nz\"\n2.5,\"\",-3e2\r\n", &error),
        STATUS_OK);
    assert_int_equal(table.columns, 3);
    assert_int_equal(table.rows, 2);
    assert_int_equal(csv_table_column(&table, "c,1"), 2);
    assert_int_equal(csv_table_column(&table, "d"), 3);
    assert_string_equal(csv_table_text(&table, 0, 2), "x \"y\"\r\nz");
    assert_string_equal(csv_table_text(&table, 0, 1), "");
    assert_string_equal(csv_table_text(&table, 0, 3), "");
    assert_string_equal(csv_table_text(&table, 2, 0), "");
    double value;
    assert_true(csv_table_number(&table, 1, 0, &value));
    assert_true(value == 2.5);
    assert_true(csv_table_number(&table, 1, 2, &value));
    assert_true(value == -300);
    assert_false(csv_table_number(&table, 1, 1, &value));
    assert_false(csv_table_number(&table, 0, 2, &value));
    assert_false(csv_table_number(&table, 0, 3, &value));
    csv_table_free(&table);
}

/* A cell that is not a number sets the value to 0 for a caller that ignores the result. */
TEST(test_no_numbers)
{
    struct csv_table table;
    struct error error;
    assert_int_equal(parse(&table, "a,b,c,d,e\nnan,inf,5x,1.1e18,-1e308\n1e18,,,,\n", &error),
                     STATUS_OK);
    for (size_t column = 0; column <= table.columns; column++) {
        double value = 7;
        assert_false(csv_table_number(&table, 0, column, &value));
        assert_true(value == 0);
    }
    double most;
    assert_true(csv_table_number(&table, 1, 0, &most));
    assert_true(most == CSV_NUMBER_MAX);
    csv_table_free(&table);
}

/* The last line is incomplete, as it can be after a power failure. */
TEST(test_torn_line)
{
    static const char *const torn[] = {"a,b\n1,2\n3", "a,b\n1,2\n3,4", "a,b\n1,2\n3,\"4",
                                       "a,b\n1,2\n3,4\r", "a,b\n1,2\n\"3\""};
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++) {
        struct csv_table table;
        struct error error;
        assert_int_equal(parse(&table, torn[i], &error), STATUS_OK);
        assert_int_equal(table.rows, 1);
        assert_string_equal(csv_table_text(&table, 0, 1), "2");
        csv_table_free(&table);
    }
}

TEST(test_not_csv)
{
    static const struct {
        const char *text;
        const char *why;
    } bad[] = {{"", "line 1: there is no header"},
               {"a,b", "line 1: there is no header"},
               {"a,b\n1,2\n3\n", "line 3: the row and the header have"},
               {"a\n\"1\"x\n", "line 2: text follows a quoted cell"},
               {"a\n\"1\"\rx\n", "line 2: a line ends with a carriage return alone"},
               {"a\n1\rx\n", "line 2: a line ends with a carriage return alone"},
               {"a\n\"1\n\n\"\n1,2\n", "line 5: the row and the header have different numbers "
                                       "of cells"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct csv_table table;
        struct error error;
        assert_int_equal(parse(&table, bad[i].text, &error), STATUS_REJECTED);
        assert_non_null(strstr(error.text, bad[i].why));
        assert_int_equal(error.kind, ERROR_DATA);
        assert_int_equal(error.native_code, 0);
        assert_null(table.text);
    }
    struct csv_table table;
    struct error error;
    error_clear(&error);
    assert_int_equal(csv_table_read(&table, "/nonexistent/x.csv", &error), STATUS_REJECTED);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    error_clear(&error);
    assert_int_equal(csv_table_read(&table, "/dev/null", &error), STATUS_REJECTED);
    assert_int_equal(error.kind, ERROR_DATA);
}

/* A file with a NUL byte is not text. A table of one column has rows like any other. */
TEST(test_files)
{
    char path[] = "/tmp/append-csv-XXXXXX", message[128];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "a\n1\n2\n", 6), 6);
    struct csv_table table;
    struct error error;
    error_clear(&error);
    assert_int_equal(csv_table_read(&table, path, &error), STATUS_OK);
    assert_int_equal(table.columns, 1);
    assert_int_equal(table.rows, 2);
    assert_string_equal(csv_table_text(&table, 1, 0), "2");
    assert_string_equal(csv_table_text(&table, 0, 1), "");
    assert_string_equal(csv_table_text(&table, 0, 2), "");
    csv_table_free(&table);
    assert_null(table.cells);
    assert_int_equal(write(file, "\0", 1), 1);
    assert_int_equal(csv_table_read(&table, path, &error), STATUS_REJECTED);
    snprintf(message, sizeof message, "%s is not a text file: it has a NUL byte", path);
    assert_string_equal(error.text, message);
    assert_int_equal(error.kind, ERROR_DATA);
    assert_int_equal(error.native_code, 0);
    assert_int_equal(ftruncate(file, (INT64_C(1) << 30) + 1), 0); /* sparse */
    error_clear(&error);
    assert_int_equal(csv_table_read(&table, path, &error), STATUS_REJECTED);
    snprintf(message, sizeof message, "%s is larger than 1 GiB", path);
    assert_string_equal(error.text, message);
    assert_int_equal(error.native_code, 0);
    close(file);
    unlink(path);
}
