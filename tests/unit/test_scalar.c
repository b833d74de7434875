/* Types as scripts write them, and values as a column stores them. */
#include "unit/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "script/scalar.h"

TEST(test_types)
{
    static const struct {
        const char *text;
        int type; /* 0: no type */
        unsigned size, precision, scale;
    } cases[] = {
        {"bool", COLUMN_BOOL, 0, 0, 0},
        {"int64", COLUMN_INT64, 0, 0, 0},
        {"int64(1)", 0, 0, 0, 0},
        {"int6", 0, 0, 0, 0},
        {"int644", 0, 0, 0, 0},
        {"", 0, 0, 0, 0},
        {"text", COLUMN_TEXT, 0, 0, 0},
        {"text(1)", COLUMN_TEXT, 1, 0, 0},
        {"text(99999)", COLUMN_TEXT, 99999, 0, 0},
        {"text(100000)", 0, 0, 0, 0},
        {"text(0)", 0, 0, 0, 0},
        {"text(1,1)", 0, 0, 0, 0},
        {"text(1", 0, 0, 0, 0},
        {"text()", 0, 0, 0, 0},
        {"text(1))", 0, 0, 0, 0},
        {"text(x)", 0, 0, 0, 0},
        {"char(5)", COLUMN_TEXT, 5, 0, 0},
        {"char", 0, 0, 0, 0},
        {"chat(5)", 0, 0, 0, 0},
        {"bytes(7)", COLUMN_BYTES, 7, 0, 0},
        {"json", COLUMN_JSON, 0, 0, 0},
        {"decimal(1,0)", COLUMN_DECIMAL, 0, 1, 0},
        {"decimal(18,18)", COLUMN_DECIMAL, 0, 18, 18},
        {"decimal(19,0)", 0, 0, 0, 0},
        {"decimal(0,0)", 0, 0, 0, 0},
        {"decimal(5,6)", 0, 0, 0, 0},
        {"decimal(5)", 0, 0, 0, 0},
        {"decimal", 0, 0, 0, 0},
        {"timestamp", COLUMN_TIMESTAMP, 0, 0, 6},
        {"timestamp(0)", COLUMN_TIMESTAMP, 0, 0, 0},
        {"time(9)", COLUMN_TIME, 0, 0, 9},
        {"time(10)", 0, 0, 0, 0},
        {"time(1,1)", 0, 0, 0, 0},
        {"unknown", 0, 0, 0, 0},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct column column = {.name = "c"};
        assert_int_equal(scalar_parse_type(cases[i].text, &column), cases[i].type != 0);
        assert_true(column.is_nullable);
        assert_string_equal(column.type_name, cases[i].text);
        if (cases[i].type != 0) {
            assert_int_equal(column.type, cases[i].type);
            assert_int_equal(column.size, cases[i].size);
            assert_int_equal(column.precision, cases[i].precision);
            assert_int_equal(column.scale, cases[i].scale);
        }
    }
}

static struct draw_value integer(int64_t integer)
{
    return (struct draw_value){.type = DRAW_IS_INTEGER, .integer = integer};
}

static struct draw_value real(double real)
{
    return (struct draw_value){.type = DRAW_IS_REAL, .real = real};
}

static struct draw_value text(const char *text)
{
    return (struct draw_value){.type = DRAW_IS_TEXT, .text = text, .length = strlen(text)};
}

/* Writes the value that the column stores for `value`; "-" if the value does not fit. */
static void store(const struct column *column, struct draw_value value, char *shown, size_t size)
{
    union scalar at = {.int64 = 0};
    char number[SCALAR_NUMBER_BYTES];
    snprintf(shown, size, "-");
    if (!scalar_store(column, &value, &at, number)) {
        return;
    }
    switch (column->type) {
    case COLUMN_BOOL:
        snprintf(shown, size, "%d", at.boolean);
        break;
    case COLUMN_INT16:
        snprintf(shown, size, "%d", at.int16);
        break;
    case COLUMN_INT32:
        snprintf(shown, size, "%" PRId32, at.int32);
        break;
    case COLUMN_FLOAT32:
        snprintf(shown, size, "%g", (double)at.float32);
        break;
    case COLUMN_FLOAT64:
        snprintf(shown, size, "%g", at.float64);
        break;
    case COLUMN_TEXT:
    case COLUMN_BYTES:
        snprintf(shown, size, "%.*s", (int)at.text.length, at.text.bytes);
        break;
    default:
        snprintf(shown, size, "%" PRId64, at.int64);
    }
}

TEST(test_values)
{
    const struct {
        const char *type;
        struct draw_value value;
        const char *expected;
    } cases[] = {
        {"bool", integer(0), "0"},
        {"bool", integer(1), "1"},
        {"bool", integer(2), "-"},
        {"bool", integer(-1), "-"},
        {"bool", real(1), "1"},
        {"bool", real(0.5), "-"},
        {"bool", text("1"), "1"},
        {"bool", text("x"), "-"},
        {"int16", integer(32767), "32767"},
        {"int16", integer(32768), "-"},
        {"int32", real(-7), "-7"},
        {"int64", integer(INT64_MAX), "9223372036854775807"},
        {"int64", integer(INT64_MIN), "-9223372036854775808"},
        {"int64", real(0x1p62), "4611686018427387904"},
        {"int64", real(0x1p63), "-"},
        {"int64", real(-0x1p63), "-"},
        {"int64", real(NAN), "-"},
        {"int64", text("-12"), "-12"},
        {"int64", text("1.5"), "-"},
        {"int64", text(""), "-"},
        {"float32", real(0.5), "0.5"},
        {"float32", integer(3), "3"},
        {"float64", real(1e300), "1e+300"},
        {"float64", integer(-2), "-2"},
        {"float64", text("2.5"), "2.5"},
        {"float64", text("2.5x"), "-"},
        {"float64", text(""), "-"},
        {"float64", text("0000000000000000000000000000000000000000000000000000000000000000"), "-"},
        {"float32", text("x"), "-"},
        {"float32", text("0x10"), "-"},
        {"float32", real(1e39), "-"},
        {"float32", real(-3.4e38), "-3.4e+38"},
        {"float32", real(HUGE_VAL), "inf"},
        {"decimal(4,2)", integer(99), "9900"},
        {"decimal(4,2)", integer(100), "-"},
        {"decimal(4,2)", integer(-99), "-9900"},
        {"decimal(4,2)", integer(-100), "-"},
        {"decimal(4,2)", real(1.256), "126"},
        {"decimal(4,2)", real(-1.25), "-125"},
        {"decimal(4,2)", real(99.99), "9999"},
        {"decimal(4,2)", real(100), "-"},
        {"decimal(4,2)", real(-100), "-"},
        {"decimal(4,2)", real(NAN), "-"},
        {"decimal(4,2)", text("7.5"), "750"},
        {"decimal(4,2)", text("7,5"), "-"},
        {"decimal(4,2)", text("-0.5"), "-50"},
        {"decimal(4,2)", text("1.256"), "126"},
        {"decimal(4,2)", text("0x10"), "-"},
        {"decimal(18,0)", text("9007199254740993"), "9007199254740993"},
        {"decimal(18,0)", text("999999999999999999"), "999999999999999999"},
        {"decimal(18,0)", text("1000000000000000000"), "-"},
        {"decimal(18,0)", real(1e18), "-"},
        {"decimal(18,0)", real(-1e18), "-"},
        {"decimal(18,2)", text("1234567890123456.78"), "123456789012345678"},
        {"text(3)", text("abc"), "abc"},
        {"text(3)", text("abcd"), "-"},
        {"text(3)", integer(123), "123"},
        {"text(3)", integer(-123), "-"},
        {"text", real(0.5), "0.5"},
        {"text", integer(INT64_MIN), "-9223372036854775808"},
        {"text", real(-1.7976931348623157e308), "-1.7976931348623157e+308"},
        {"bytes(2)", text("ab"), "ab"},
        {"bytes(2)", text("\xc3\xa4x"), "-"},
        {"text(2)", text("\xc3\xa4x"), "\xc3\xa4x"},
    };
    EACH_CASE (i, cases, "row %zu, %s", i, cases[i].type) {
        char shown[64];
        struct column column = {.name = "c"};
        assert_true(scalar_parse_type(cases[i].type, &column));
        store(&column, cases[i].value, shown, sizeof shown);
        assert_string_equal(shown, cases[i].expected);
    }
}
