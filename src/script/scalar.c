#include "script/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
    SIZE_LIMIT = 100000, /* of a type; longer ones have none */
};

bool scalar_parse_type(const char *text, struct column *column)
{
    enum takes {
        NOTHING,
        SIZE,   /* may have one */
        LENGTH, /* must */
        DIGITS,
        FRACTION,
    };
    static const struct {
        const char *name;
        enum column_type type;
        enum takes takes;
    } types[] = {
        {"bool", COLUMN_BOOL, NOTHING},       {"int16", COLUMN_INT16, NOTHING},
        {"int32", COLUMN_INT32, NOTHING},     {"int64", COLUMN_INT64, NOTHING},
        {"float32", COLUMN_FLOAT32, NOTHING}, {"float64", COLUMN_FLOAT64, NOTHING},
        {"decimal", COLUMN_DECIMAL, DIGITS},  {"text", COLUMN_TEXT, SIZE},
        {"char", COLUMN_TEXT, LENGTH},        {"bytes", COLUMN_BYTES, SIZE},
        {"json", COLUMN_JSON, NOTHING},       {"date", COLUMN_DATE, NOTHING},
        {"time", COLUMN_TIME, FRACTION},      {"timestamp", COLUMN_TIMESTAMP, FRACTION},
    };
    const size_t length = strcspn(text, "(");
    const char *const bracket = text + length;
    char *end = NULL;
    unsigned long first = 0, second = 0;
    int numbers = 0;
    if (bracket[0] == '(' && strspn(bracket + 1, "0123456789,") > 0) {
        first = strtoul(bracket + 1, &end, 10);
        second = *end == ',' ? strtoul(end + 1, &end, 10) : 0;
        numbers = strchr(text, ',') == NULL ? 1 : 2;
    }
    const bool is_whole = end == NULL ? bracket[0] == '\0' : strcmp(end, ")") == 0;
    for (size_t i = 0; i < COUNT_OF(types) && is_whole && first < SIZE_LIMIT; i++) {
        const enum takes takes = types[i].takes;
        if (strlen(types[i].name) != length || strncmp(types[i].name, text, length) != 0 ||
            (numbers == 0 ? takes == LENGTH || takes == DIGITS
             : numbers == 1
                 ? takes == NOTHING || takes == DIGITS || (takes != FRACTION && first == 0)
                 : takes != DIGITS) ||
            (takes == DIGITS && (first < 1 || first > 18 || second > first)) ||
            (takes == FRACTION && first > 9)) {
            continue;
        }
        column->type = types[i].type;
        column->is_nullable = true;
        snprintf(column->type_name, sizeof column->type_name, "%s", text);
        column->size = takes == SIZE || takes == LENGTH ? (uint32_t)first : 0;
        column->precision = takes == DIGITS ? (uint8_t)first : 0;
        column->scale = takes == DIGITS                    ? (uint8_t)second
                        : takes == FRACTION && numbers > 0 ? (uint8_t)first
                        : takes == FRACTION                ? 6
                                                           : 0;
        return true;
    }
    return false;
}

/* 10^digits, up to 10^18. */
static int64_t power_of_10(unsigned digits)
{
    return digits == 0 ? 1 : 10 * power_of_10(digits - 1);
}

/* A whole number in low … high. Client libraries give numbers as text. */
static bool to_whole(const struct draw_value *value, int64_t low, int64_t high, int64_t *whole)
{
    if (value->type == DRAW_IS_INTEGER) {
        *whole = value->integer;
    } else if (value->type == DRAW_IS_REAL) {
        if (!(fabs(value->real) < 0x1p63) || value->real != floor(value->real)) {
            return false;
        }
        *whole = (int64_t)value->real;
    } else if (!text_parse_integer(value->text, value->length, whole)) {
        return false;
    }
    return *whole >= low && *whole <= high;
}

bool scalar_to_real(const struct draw_value *value, double *real)
{
    char text[SCALAR_NUMBER_BYTES], *end;
    if (value->type != DRAW_IS_TEXT) {
        *real = value->type == DRAW_IS_REAL ? value->real : (double)value->integer;
        return true;
    }
    if (value->length == 0 || value->length >= sizeof text) {
        return false;
    }
    snprintf(text, sizeof text, "%.*s", (int)value->length, value->text);
    *real = strtod(text, &end);
    return *end == '\0';
}

/* Characters of UTF-8. */
static size_t count_characters(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += ((unsigned char)text[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    return count;
}

bool scalar_store(const struct column *column, const struct draw_value *value, union scalar *at,
                  char number[SCALAR_NUMBER_BYTES])
{
    int64_t whole = 0;
    double real = 0;
    switch (column->type) {
    case COLUMN_BOOL:
        if (!to_whole(value, 0, 1, &whole)) {
            return false;
        }
        at->boolean = (uint8_t)whole;
        return true;
    case COLUMN_INT16:
        if (!to_whole(value, INT16_MIN, INT16_MAX, &whole)) {
            return false;
        }
        at->int16 = (int16_t)whole;
        return true;
    case COLUMN_INT32:
    case COLUMN_DATE:
        if (!to_whole(value, INT32_MIN, INT32_MAX, &whole)) {
            return false;
        }
        at->int32 = (int32_t)whole;
        return true;
    case COLUMN_FLOAT32:
    case COLUMN_FLOAT64:
        if (!scalar_to_real(value, &real)) {
            return false;
        }
        if (column->type == COLUMN_FLOAT32) {
            at->float32 = (float)real;
        } else {
            at->float64 = real;
        }
        return true;
    case COLUMN_DECIMAL: {
        const int64_t unit = power_of_10(column->scale);
        const int64_t most = power_of_10(column->precision) - 1;
        if (value->type == DRAW_IS_INTEGER) {
            const bool fits = to_whole(value, -(most / unit), most / unit, &whole);
            at->int64 = fits ? whole * unit : 0;
            return fits;
        }
        if (!scalar_to_real(value, &real) || !(fabs(real) * (double)unit <= (double)most)) {
            return false;
        }
        at->int64 = llround(real * (double)unit);
        return true;
    }
    case COLUMN_TEXT:
    case COLUMN_JSON:
    case COLUMN_BYTES: {
        struct text_value *text = &at->text;
        if (value->type == DRAW_IS_TEXT) {
            *text = (struct text_value){value->text, (uint32_t)value->length};
        } else {
            const int length =
                value->type == DRAW_IS_INTEGER
                    ? snprintf(number, SCALAR_NUMBER_BYTES, "%" PRId64, value->integer)
                    : snprintf(number, SCALAR_NUMBER_BYTES, "%.17g", value->real);
            *text = (struct text_value){number, (uint32_t)length};
        }
        return value->length <= UINT32_MAX &&
               (column->size == 0 || text->length <= column->size ||
                (column->type == COLUMN_TEXT &&
                 count_characters(text->bytes, text->length) <= column->size));
    }
    default: /* TIME, TIMESTAMP: nanoseconds */
        return to_whole(value, INT64_MIN, INT64_MAX, &at->int64);
    }
}

size_t scalar_bytes(enum column_type type)
{
    static const size_t bytes[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = sizeof(uint8_t),
        [COLUMN_INT16] = sizeof(int16_t),
        [COLUMN_INT32] = sizeof(int32_t),
        [COLUMN_DATE] = sizeof(int32_t),
        [COLUMN_FLOAT32] = sizeof(float),
        [COLUMN_FLOAT64] = sizeof(double),
        [COLUMN_TEXT] = sizeof(struct text_value),
        [COLUMN_JSON] = sizeof(struct text_value),
        [COLUMN_BYTES] = sizeof(struct text_value),
        [COLUMN_INT64] = sizeof(int64_t),
        [COLUMN_DECIMAL] = sizeof(int64_t),
        [COLUMN_TIME] = sizeof(int64_t),
        [COLUMN_TIMESTAMP] = sizeof(int64_t),
    };
    return bytes[type];
}

bool scalar_is_text(enum column_type type)
{
    return type == COLUMN_TEXT || type == COLUMN_JSON || type == COLUMN_BYTES;
}
