#include "script/scalar.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "append/value_text.h"
#include "base/text.h"

enum {
    /* sizes of types are less than this limit; longer texts are declared without a size */
    SIZE_LIMIT = 100000,
};

bool scalar_parse_type(const char *text, struct column *column)
{
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
    const bool is_char = length == 4 && strncmp(text, "char", length) == 0;
    int type = is_char ? COLUMN_TEXT : COLUMN_TYPE_COUNT - 1;
    while (!is_char && type > COLUMN_UNSUPPORTED &&
           (strlen(column_kinds[type].name) != length ||
            strncmp(column_kinds[type].name, text, length) != 0)) {
        type--;
    }
    bool is_valid = false;
    switch (column_kinds[type].takes) {
    case COLUMN_TAKES_UNKNOWN:
        break;
    case COLUMN_TAKES_NOTHING:
        is_valid = numbers == 0;
        break;
    case COLUMN_TAKES_SIZE:
        is_valid = numbers == 0 ? !is_char : numbers == 1 && first > 0 && first < SIZE_LIMIT;
        column->size = (uint32_t)first;
        break;
    case COLUMN_TAKES_DIGITS:
        is_valid = numbers == 2 && first >= 1 && first <= 18 && second <= first;
        column->precision = (uint8_t)first;
        column->scale = (uint8_t)second;
        break;
    case COLUMN_TAKES_FRACTION:
        is_valid = numbers == 0 || (numbers == 1 && first <= 9);
        column->scale = numbers == 0 ? 6 : (uint8_t)first;
        break;
    }
    column->type = (enum column_type)type;
    column->is_nullable = true;
    snprintf(column->type_name, sizeof column->type_name, "%s", text);
    return is_valid && is_whole;
}

/* Converts a value to a whole number in low … high. Returns false if the value is not such a
 * number. A text is also converted, because client libraries return some numbers as text. */
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
    return *end == '\0' && strpbrk(text, "xX") == NULL;
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
    case COLUMN_FLOAT32:
    case COLUMN_FLOAT64:
        if (!scalar_to_real(value, &real)) {
            return false;
        }
        if (column->type == COLUMN_FLOAT64) {
            at->float64 = real;
            return true;
        }
        if (isfinite(real) && !(fabs(real) <= (double)FLT_MAX)) {
            return false;
        }
        at->float32 = (float)real;
        return true;
    case COLUMN_DECIMAL: {
        const int64_t unit = (int64_t)value_powers_of_ten[column->scale];
        const int64_t most = value_decimal_limit(column) - 1;
        if (value->type == DRAW_IS_INTEGER) {
            const bool fits = to_whole(value, -(most / unit), most / unit, &whole);
            at->int64 = fits ? whole * unit : 0;
            return fits;
        }
        /* a text is converted exactly, unless its fraction has more digits than the column's
         * scale */
        if (value->type == DRAW_IS_TEXT && value->length <= UINT32_MAX &&
            value_text_read(column, (struct text_value){value->text, (uint32_t)value->length},
                            &at->int64)) {
            return true;
        }
        if (!scalar_to_real(value, &real) || !(fabs(real) * (double)unit <= (double)most)) {
            return false;
        }
        at->int64 = llround(real * (double)unit);
        return at->int64 <= most && at->int64 >= -most;
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
        return value->length <= UINT32_MAX && value_text_fits(column, *text);
    }
    default:
        return to_whole(value, INT64_MIN, INT64_MAX, &whole) &&
               value_store_integer(column->type, whole, at);
    }
}
