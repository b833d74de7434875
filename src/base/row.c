#include "append/value_text.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mono.h"
#include "base/text.h"

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_DAY (86400 * NS_PER_S)

const struct column_kind column_kinds[COLUMN_TYPE_COUNT] = {
    [COLUMN_UNSUPPORTED] = {.name = "unsupported"},
#define KIND(id, name, member, is, takes)                                                          \
    [COLUMN_##id] = {name, sizeof *((union column_values *)NULL)->member, COLUMN_IS_##is,          \
                     COLUMN_TAKES_##takes},
    COLUMN_TYPES(KIND)
#undef KIND
};

static const char hex[] = "0123456789abcdef";

__extension__ typedef unsigned __int128 wide;

#define FIVE_POWERS(n) n##U, n##0U, n##00U, n##000U, n##0000U
const uint64_t value_powers_of_ten[20] = {FIVE_POWERS(1), FIVE_POWERS(100000),
                                          FIVE_POWERS(10000000000), FIVE_POWERS(1000000000000000)};

const char value_digit_pairs[] = "0001020304050607080910111213141516171819"
                                 "2021222324252627282930313233343536373839"
                                 "4041424344454647484950515253545556575859"
                                 "6061626364656667686970717273747576777879"
                                 "8081828384858687888990919293949596979899";

static size_t count_digits(uint64_t value)
{
    /* all numbers with this count of bits have `least` or `least` + 1 digits */
    const size_t least = (size_t)(64 - __builtin_clzll(value | 1)) * 1233 >> 12;
    return least + (value >= value_powers_of_ten[least]);
}

/* Writes at least `width` digits, without a terminator. Returns the number of bytes. */
static size_t put_digits(char *out, uint64_t value, size_t width)
{
    const size_t digits = count_digits(value);
    const size_t count = digits > width ? digits : width;
    char *at = out + count;
    for (; at - out >= 2; value /= 100) {
        at -= 2;
        memcpy(at, value_digit_pairs + 2 * (value % 100), 2);
    }
    if (at > out) {
        *out = (char)('0' + value);
    }
    return count;
}

/* Writes `digits` with a decimal point before the last `places` digits. Returns the number of bytes
 * written. */
static size_t put_decimal(char *out, bool is_negative, uint64_t digits, size_t places)
{
    out[0] = '-';
    char *const start = out + is_negative;
    size_t count = put_digits(start, digits, places + 1);
    if (places > 0) {
        char *const point = start + count++ - places;
        memmove(point + 1, point, places);
        *point = '.';
    }
    return is_negative + count;
}

static size_t put_integer(char *out, int64_t value, size_t places)
{
    const bool is_negative = value < 0;
    return put_decimal(out, is_negative, is_negative ? 0 - (uint64_t)value : (uint64_t)value,
                       places);
}

/* Writes the number with the fewest digits from which the same number is read back: at least 15
 * significant digits (float: 6), without zeros at the end. 17 digits (float: 9) always suffice.
 *
 * A number from 1/64 to 2^53 is whole / 2^shift. Its product with a power of ten is an integer with
 * the wanted digits plus a fraction, and the product is exact in 128 bits. A rounded text is read
 * as the same number if its rounding error is below half the distance to the next number. For a
 * float this bound is smaller by half the distance between doubles, because a reader may convert
 * the text to a double first. */
size_t value_text_real(char *out, double value, bool is_float)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const bool is_negative = bits >> 63 != 0;
    const uint64_t whole = (bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
    const uint64_t shift = 1075 - (bits >> 52 & 2047);
    if (value == 0) {
        return put_decimal(out, is_negative, 0, 0);
    }
    if (shift > 58) {
        int length = 0;
        for (int digits = is_float ? 6 : 15; digits <= (is_float ? 9 : 17); digits++) {
            length = snprintf(out, VALUE_TEXT_BYTES, "%.*g", digits, value);
            if (is_float ? strtof(out, NULL) == (float)value : strtod(out, NULL) == value) {
                break;
            }
        }
        return (size_t)length;
    }
    const uint64_t integer = whole >> shift;
    if (integer << shift == whole) {
        return put_decimal(out, is_negative, integer, 0);
    }
    unsigned spare = is_float ? 3 : 2;
    size_t places = (is_float ? 9 : 17) - count_digits(integer);
    if (integer == 0) {
        /* as in 1/64 = 0.015625: the zero after the point is not a significant digit */
        spare++;
        places++;
    }
    const wide scaled = (wide)whole * value_powers_of_ten[places];
    const wide bound = (wide)value_powers_of_ten[places] * (is_float ? (UINT64_C(1) << 29) - 1 : 1);
    uint64_t digits = (uint64_t)((scaled + (UINT64_C(1) << (shift - 1))) >> shift);
    for (; spare > 0; spare--) {
        const uint64_t unit = value_powers_of_ten[spare];
        const uint64_t cut = ((uint64_t)(scaled >> shift) + unit / 2) / unit;
        const wide back = (wide)(cut * unit) << shift;
        if (2 * (back > scaled ? back - scaled : scaled - back) < bound) {
            digits = cut;
            places -= spare;
            break;
        }
    }
    for (; digits % 10 == 0; digits /= 10) {
        places--;
    }
    return put_decimal(out, is_negative, digits, places);
}

/* Writes an IPv6 address. Leaves an address with two zero groups in a row to the C library, because
 * such an address needs "::". */
static size_t put_ip6(char *out, const uint8_t *bytes)
{
    char *const start = out;
    unsigned last = 1;
    for (int i = 0; i < 16; i += 2) {
        const unsigned group = (unsigned)bytes[i] << 8 | bytes[i + 1];
        if ((group | last) == 0) {
            inet_ntop(AF_INET6, bytes, start, VALUE_TEXT_BYTES);
            return strlen(start);
        }
        last = group;
        int shift = 12;
        while (shift > 0 && group >> shift == 0) { /* no leading zeros */
            shift -= 4;
        }
        for (; shift >= 0; shift -= 4) {
            *out++ = hex[group >> shift & 15];
        }
        *out++ = ':';
    }
    return (size_t)(out - start) - 1;
}

static void set_date(struct civil_time *time, int64_t days)
{
    const int64_t shifted = days + 719468; /* days since 0000-03-01 */
    const int64_t era = shifted / 146097 - (shifted % 146097 < 0);
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t march_month = (5 * day_of_year + 2) / 153;
    time->day = (unsigned)(day_of_year - (153 * march_month + 2) / 5 + 1);
    time->month = (unsigned)(march_month < 10 ? march_month + 3 : march_month - 9);
    time->year = year_of_era + era * 400 + (time->month <= 2);
}

void civil_time_of(const struct column *column, union column_values values, size_t row,
                   struct civil_time *time)
{
    memset(time, 0, sizeof *time);
    if (column->type == COLUMN_DATE) {
        set_date(time, values.int32[row]);
        return;
    }
    int64_t ns = values.int64[row];
    if (column->type == COLUMN_TIMESTAMP) {
        const int64_t rest = ns % NS_PER_DAY; /* ns - days × NS_PER_DAY could overflow */
        set_date(time, ns / NS_PER_DAY - (rest < 0));
        ns = rest < 0 ? rest + NS_PER_DAY : rest;
    }
    const unsigned seconds = (unsigned)(ns / NS_PER_S);
    time->hour = seconds / 3600;
    time->minute = seconds / 60 % 60;
    time->second = seconds % 60;
    time->nanosecond = (uint32_t)(ns % NS_PER_S);
}

static size_t put_time(char *out, const struct column *column, union column_values values,
                       size_t row, unsigned digits)
{
    struct civil_time time;
    char *const start = out;
    civil_time_of(column, values, row, &time);
    if (column->type != COLUMN_TIME) {
        if (time.year < 0) {
            *out++ = '-';
        }
        out += put_digits(out, time.year < 0 ? 0 - (uint64_t)time.year : (uint64_t)time.year, 4);
        *out++ = '-';
        out += put_digits(out, time.month, 2);
        *out++ = '-';
        out += put_digits(out, time.day, 2);
    }
    if (column->type == COLUMN_TIMESTAMP) {
        *out++ = ' ';
    }
    if (column->type != COLUMN_DATE) {
        out += put_digits(out, time.hour, 2);
        *out++ = ':';
        out += put_digits(out, time.minute, 2);
        *out++ = ':';
        out += put_digits(out, time.second, 2);
        if (digits > 0) {
            char fraction[9];
            put_digits(fraction, time.nanosecond, sizeof fraction);
            *out++ = '.';
            memcpy(out, fraction, digits);
            out += digits;
        }
    }
    return (size_t)(out - start);
}

size_t value_text_integer(char *out, int64_t value)
{
    return put_integer(out, value, 0);
}

size_t value_text_write(char *out, const struct column *column, union column_values values,
                        size_t row, unsigned digits)
{
    char *const start = out;
    switch (column->type) {
    case COLUMN_BOOL:
        out[0] = values.boolean[row] != 0 ? '1' : '0';
        return 1;
    case COLUMN_INT16:
        return put_integer(out, values.int16[row], 0);
    case COLUMN_INT32:
        return put_integer(out, values.int32[row], 0);
    case COLUMN_INT64:
        return put_integer(out, values.int64[row], 0);
    case COLUMN_FLOAT32:
        return value_text_real(out, (double)values.float32[row], true);
    case COLUMN_FLOAT64:
        return value_text_real(out, values.float64[row], false);
    case COLUMN_DECIMAL:
        return put_integer(out, values.int64[row],
                           column->scale < VALUE_DECIMAL_SCALE_MAX ? column->scale
                                                                   : VALUE_DECIMAL_SCALE_MAX);
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        return put_time(out, column, values, row, digits);
    case COLUMN_UUID:
        for (int i = 0; i < 16; i++) {
            if (i == 4 || i == 6 || i == 8 || i == 10) {
                *out++ = '-';
            }
            *out++ = hex[values.uuid[row][i] >> 4];
            *out++ = hex[values.uuid[row][i] & 15];
        }
        return (size_t)(out - start);
    case COLUMN_IP4:
        for (int i = 0; i < 4; i++) {
            out += put_digits(out, values.ip4[row][i], 1);
            *out++ = '.';
        }
        return (size_t)(out - start) - 1;
    case COLUMN_IP6:
        return put_ip6(out, values.ip6[row]);
    default:
        return 0;
    }
}

int64_t value_decimal_limit(const struct column *column)
{
    const unsigned digits = column->precision == 0 ? 9u + column->scale : column->precision;
    return (int64_t)value_powers_of_ten[digits > 18 ? 18 : digits];
}

bool value_text_fits(const struct column *column, struct text_value text)
{
    uint32_t characters = 0;
    if (column->size == 0 || text.length <= column->size) {
        return true;
    }
    for (uint32_t i = 0; i < text.length && column->type != COLUMN_BYTES; i++) {
        characters += (text.bytes[i] & 0xc0) == 0x80 ? 0 : 1;
    }
    return column->type != COLUMN_BYTES && characters <= column->size;
}

static bool parse_decimal(const struct column *column, const char *text, int64_t *value)
{
    char digits[64];
    const int64_t limit = value_decimal_limit(column);
    const size_t whole = strcspn(text, ".");
    const size_t fraction = text[whole] == '.' ? strlen(text + whole + 1) : 0;
    if (fraction > column->scale || whole + column->scale >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, whole);
    memset(digits + whole, '0', column->scale);
    memcpy(digits + whole, text + whole + 1, fraction);
    return text_parse_integer(digits, whole + column->scale, value) && *value < limit &&
           -limit < *value;
}

static bool parse_uuid(const char *text, uint8_t value[16])
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    size_t count = 0;
    memset(value, 0, 16);
    for (; *text != '\0'; text++) {
        const char *const digit = strchr(digits, *text);
        if (*text == '-' || *text == '{' || *text == '}') {
            continue;
        }
        if (digit == NULL || count == 32) {
            return false;
        }
        value[count / 2] = (uint8_t)(value[count / 2] << 4 | ((digit - digits) & 15));
        count++;
    }
    return count == 32;
}

bool value_text_read(const struct column *column, struct text_value word, void *out)
{
    char text[64];
    char time_text[80];
    struct moment moment = {.ns = 0};
    int64_t number = 0;
    char *end = NULL;
    if (column_kinds[column->type].is == COLUMN_IS_TEXT) {
        *(struct text_value *)out = word;
        return value_text_fits(column, word);
    }
    if (word.length >= sizeof text) {
        return false;
    }
    memcpy(text, word.bytes, word.length);
    text[word.length] = '\0';
    /* strtod also accepts "0x10" and an empty text */
    const bool has_digits = strpbrk(text, "0123456789") != NULL && strpbrk(text, "xX") == NULL;
    const bool is_true = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0;
    const bool is_day = strchr(text, 'T') == NULL; /* 2026-01-31, not 2026-01-31T12:00:00Z */
    switch (column->type) {
    case COLUMN_BOOL:
        *(uint8_t *)out = is_true;
        return is_true || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0;
    case COLUMN_INT16:
    case COLUMN_INT32:
    case COLUMN_INT64:
        return text_parse_integer(text, word.length, &number) &&
               value_store_integer(column->type, number, out);
    case COLUMN_FLOAT32:
        *(float *)out = (float)strtod(text, &end);
        return has_digits && *end == '\0' && isfinite(*(float *)out);
    case COLUMN_FLOAT64:
        *(double *)out = strtod(text, &end);
        return has_digits && *end == '\0' && isfinite(*(double *)out);
    case COLUMN_DECIMAL:
        return has_digits && parse_decimal(column, text, out);
    case COLUMN_DATE:
    case COLUMN_TIMESTAMP:
        snprintf(time_text, sizeof time_text, "%s%s", text, is_day ? "T00:00:00Z" : "");
        if (!moment_parse(time_text, &moment)) {
            return false;
        }
        if (column->type == COLUMN_TIMESTAMP) {
            *(int64_t *)out = moment.ns;
            return true;
        }
        *(int32_t *)out = (int32_t)(moment.ns / NS_PER_DAY);
        return is_day;
    case COLUMN_UUID:
        return parse_uuid(text, out);
    case COLUMN_IP4:
        return inet_pton(AF_INET, text, out) == 1;
    case COLUMN_IP6:
        return inet_pton(AF_INET6, text, out) == 1;
    default:
        return false;
    }
}

uint64_t batch_bytes(const struct batch *batch)
{
    uint64_t sum = 0;
    for (size_t c = 0; c < batch->table->column_count; c++) {
        const struct column_data *data = &batch->columns[c];
        const struct column_kind *kind = &column_kinds[batch->table->columns[c].type];
        for (size_t row = 0; row < batch->row_count; row++) {
            if (!column_is_null(data, row)) {
                sum += kind->is == COLUMN_IS_TEXT ? data->values.text[row].length : kind->bytes;
            }
        }
    }
    return sum;
}

enum status table_init(struct table *table, const char *name, struct error *error)
{
    memset(table, 0, sizeof *table);
    const size_t length = strlen(name);
    if (length == 0 || length >= sizeof table->name) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a table name must have 1 to %zu bytes, but this one has %zu",
                  sizeof table->name - 1, length);
        return STATUS_FATAL;
    }
    memcpy(table->name, name, length + 1);
    return STATUS_OK;
}

enum status table_add_column(struct table *table, const struct column *column, struct error *error)
{
    const size_t count = table->column_count;
    if (count >= ROW_COLUMNS_MAX) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "table %s has more than %d columns",
                  table->name, ROW_COLUMNS_MAX);
        return STATUS_FATAL;
    }
    struct column *columns = realloc(table->columns, (count + 1) * sizeof *columns);
    if (columns == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the columns of %s", table->name);
        return STATUS_FATAL;
    }
    columns[count] = *column;
    table->columns = columns;
    table->column_count = count + 1;
    return STATUS_OK;
}

void table_fini(struct table *table)
{
    if (table != NULL) {
        free(table->columns);
        table->columns = NULL;
        table->column_count = 0;
    }
}
