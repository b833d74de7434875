#include "base/value_text.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_DAY (86400 * NS_PER_S)

/* At least `width` digits, without a terminator. */
static size_t put_digits(char *out, uint64_t value, size_t width)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[sizeof digits - ++count] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0 || count < width);
    memcpy(out, digits + sizeof digits - count, count);
    return count;
}

static size_t put_decimal(char *out, int64_t unscaled, unsigned scale)
{
    char digits[20];
    char *const start = out;
    const size_t places = scale < VALUE_DECIMAL_SCALE_MAX ? scale : VALUE_DECIMAL_SCALE_MAX;
    const bool is_negative = unscaled < 0;
    const size_t count =
        put_digits(digits, is_negative ? 0 - (uint64_t)unscaled : (uint64_t)unscaled, 1);
    const size_t whole = count > places ? count - places : 0;
    if (is_negative) {
        *out++ = '-';
    }
    if (whole == 0) {
        *out++ = '0';
    }
    memcpy(out, digits, whole);
    out += whole;
    if (places > 0) {
        const size_t zeros = places - (count - whole);
        *out++ = '.';
        memset(out, '0', zeros);
        memcpy(out + zeros, digits + whole, count - whole);
        out += places;
    }
    return (size_t)(out - start);
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
        const int64_t rest = ns % NS_PER_DAY; /* days times a day could overflow */
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

size_t value_text_write(char *out, const struct column *column, union column_values values,
                        size_t row, unsigned digits)
{
    static const char hex[] = "0123456789abcdef";
    char *const start = out;
    switch (column->type) {
    case COLUMN_BOOL:
        out[0] = values.boolean[row] != 0 ? '1' : '0';
        return 1;
    case COLUMN_INT16:
        return put_decimal(out, values.int16[row], 0);
    case COLUMN_INT32:
        return put_decimal(out, values.int32[row], 0);
    case COLUMN_INT64:
        return put_decimal(out, values.int64[row], 0);
    case COLUMN_DECIMAL:
        return put_decimal(out, values.int64[row], column->scale);
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
        inet_ntop(AF_INET, values.ip4[row], out, VALUE_TEXT_BYTES);
        return strlen(out);
    case COLUMN_IP6:
        inet_ntop(AF_INET6, values.ip6[row], out, VALUE_TEXT_BYTES);
        return strlen(out);
    default:
        return 0;
    }
}

enum status table_init(struct table *table, const char *name, struct error *error)
{
    memset(table, 0, sizeof *table);
    const size_t length = strlen(name);
    if (length == 0 || length >= sizeof table->name) {
        error_set(error, ERROR_USAGE, 0, NULL, "a table name has 1 to %zu bytes, this one has %zu",
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
