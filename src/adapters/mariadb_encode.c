#include "adapters/mariadb_encode.h"

#include <arpa/inet.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapters/mariadb_conn.h"

#define NS_PER_S INT64_C(1000000000)

enum {
    SECONDS_PER_DAY = 86400,
    FRACTION_DIGITS = 6, /* most that the server keeps */
};

enum mariadb_form mariadb_form(const struct column *column)
{
    switch (column->type) {
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        return MARIADB_FORM_QUOTED;
    case COLUMN_UUID:
    case COLUMN_IP4:
    case COLUMN_IP6:
        return column->native_type == MARIADB_NATIVE_TEXT ? MARIADB_FORM_QUOTED : MARIADB_FORM_RAW;
    case COLUMN_TEXT:
    case COLUMN_JSON:
        return MARIADB_FORM_TEXT;
    case COLUMN_BYTES:
        return MARIADB_FORM_BYTES;
    default:
        return MARIADB_FORM_NUMBER;
    }
}

static size_t write_unsigned(char *out, uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < count; i++) {
        out[i] = digits[count - 1 - i];
    }
    return count;
}

static size_t write_signed(char *out, int64_t value)
{
    if (value >= 0) {
        return write_unsigned(out, (uint64_t)value);
    }
    out[0] = '-';
    return 1 + write_unsigned(out + 1, 0 - (uint64_t)value);
}

/* Exactly `width` digits. */
static size_t write_padded(char *out, unsigned value, size_t width)
{
    for (size_t i = width; i > 0; i--) {
        out[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    return width;
}

/* Nine digits tell every float apart. The largest ones need all of the double's: rounded up, they
 * would be out of range. */
static size_t write_float(char *out, float value)
{
    const int digits = fabsf(value) > FLT_MAX / 2 ? 17 : 9;
    return (size_t)snprintf(out, MARIADB_VALUE_BYTES, "%.*g", digits, (double)value);
}

static size_t write_decimal(char *out, int64_t unscaled, unsigned scale)
{
    char digits[20];
    size_t at = 0;
    const size_t count =
        write_unsigned(digits, unscaled < 0 ? 0 - (uint64_t)unscaled : (uint64_t)unscaled);
    if (unscaled < 0) {
        out[at++] = '-';
    }
    const size_t whole = count > scale ? count - scale : 0;
    if (whole == 0) {
        out[at++] = '0';
    }
    memcpy(out + at, digits, whole);
    at += whole;
    if (scale > 0) {
        out[at++] = '.';
        const size_t zeros = scale > count ? scale - count : 0;
        memset(out + at, '0', zeros);
        at += zeros;
        memcpy(out + at, digits + whole, count - whole);
        at += count - whole;
    }
    return at;
}

/* Civil date of a day since 1970-01-01 (Howard Hinnant, chrono-compatible date algorithms). */
static void set_date(MYSQL_TIME *time, int64_t days)
{
    const int64_t shifted = days + 719468; /* days since 0000-03-01 */
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const unsigned day_of_era = (unsigned)(shifted - era * 146097);
    const unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const unsigned day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const unsigned shifted_month = (5 * day_of_year + 2) / 153;
    const unsigned month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    const int64_t year = (int64_t)year_of_era + era * 400 + (month <= 2);

    /* a year that the server cannot hold becomes one that it refuses */
    time->year = year < 0 || year > 9999 ? 10000 : (unsigned)year;
    time->month = month;
    time->day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
}

static void set_clock(const struct column *column, MYSQL_TIME *time, int64_t ns)
{
    const unsigned seconds = (unsigned)(ns / NS_PER_S);
    unsigned long microseconds = (unsigned long)(ns % NS_PER_S) / 1000;
    for (unsigned digits = column->scale; digits < FRACTION_DIGITS; digits++) {
        microseconds /= 10;
    }
    for (unsigned digits = column->scale; digits < FRACTION_DIGITS; digits++) {
        microseconds *= 10;
    }
    time->hour = seconds / 3600;
    time->minute = seconds / 60 % 60;
    time->second = seconds % 60;
    time->second_part = microseconds;
}

void mariadb_time_value(const struct column *column, union column_values values, size_t row,
                        MYSQL_TIME *time)
{
    memset(time, 0, sizeof *time);
    if (column->type == COLUMN_DATE) {
        time->time_type = MYSQL_TIMESTAMP_DATE;
        set_date(time, values.int32[row]);
        return;
    }
    const int64_t ns = values.int64[row];
    if (column->type == COLUMN_TIME) {
        time->time_type = MYSQL_TIMESTAMP_TIME;
        set_clock(column, time, ns);
        return;
    }
    const int64_t day_ns = SECONDS_PER_DAY * NS_PER_S;
    const int64_t days = ns / day_ns - (ns % day_ns < 0);
    time->time_type = MYSQL_TIMESTAMP_DATETIME;
    set_date(time, days);
    /* the first day of all begins before the range of int64: its rest is counted from above */
    set_clock(column, time, ns % day_ns < 0 ? ns % day_ns + day_ns : ns % day_ns);
}

static size_t write_time(const struct column *column, union column_values values, size_t row,
                         char *out)
{
    MYSQL_TIME time;
    size_t at = 0;
    mariadb_time_value(column, values, row, &time);
    if (column->type != COLUMN_TIME) {
        at += write_padded(out + at, time.year, time.year > 9999 ? 5 : 4);
        out[at++] = '-';
        at += write_padded(out + at, time.month, 2);
        out[at++] = '-';
        at += write_padded(out + at, time.day, 2);
    }
    if (column->type == COLUMN_DATE) {
        return at;
    }
    if (column->type == COLUMN_TIMESTAMP) {
        out[at++] = ' ';
    }
    at += write_padded(out + at, time.hour, 2);
    out[at++] = ':';
    at += write_padded(out + at, time.minute, 2);
    out[at++] = ':';
    at += write_padded(out + at, time.second, 2);
    out[at++] = '.';
    return at + write_padded(out + at, (unsigned)time.second_part, FRACTION_DIGITS);
}

void mariadb_write_hex(const void *bytes, size_t length, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < length; i++) {
        out[2 * i] = digits[from[i] >> 4];
        out[2 * i + 1] = digits[from[i] & 15];
    }
}

static size_t write_uuid(char *out, const uint8_t *uuid)
{
    static const size_t ends[] = {4, 6, 8, 10, 16};
    size_t at = 0;
    size_t from = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (i > 0) {
            out[at++] = '-';
        }
        mariadb_write_hex(uuid + from, ends[i] - from, out + at);
        at += 2 * (ends[i] - from);
        from = ends[i];
    }
    return at;
}

static size_t write_address(char *out, int family, const uint8_t *address)
{
    out[0] = '\0';
    inet_ntop(family, address, out, MARIADB_VALUE_BYTES);
    return strlen(out);
}

size_t mariadb_raw_value(const struct column *column, union column_values values, size_t row,
                         const uint8_t **bytes)
{
    switch (column->type) {
    case COLUMN_IP4:
        *bytes = values.ip4[row];
        return 4;
    case COLUMN_IP6:
        *bytes = values.ip6[row];
        return 16;
    default:
        *bytes = values.uuid[row];
        return 16;
    }
}

size_t mariadb_write_value(const struct column *column, union column_values values, size_t row,
                           char *out)
{
    switch (column->type) {
    case COLUMN_BOOL:
        out[0] = values.boolean[row] != 0 ? '1' : '0';
        return 1;
    case COLUMN_INT16:
        return write_signed(out, values.int16[row]);
    case COLUMN_INT32:
        return write_signed(out, values.int32[row]);
    case COLUMN_INT64:
        return write_signed(out, values.int64[row]);
    case COLUMN_FLOAT32:
        return write_float(out, values.float32[row]);
    case COLUMN_FLOAT64:
        return (size_t)snprintf(out, MARIADB_VALUE_BYTES, "%.17g", values.float64[row]);
    case COLUMN_DECIMAL:
        return write_decimal(out, values.int64[row], column->scale);
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        return write_time(column, values, row, out);
    case COLUMN_UUID:
        return write_uuid(out, values.uuid[row]);
    case COLUMN_IP4:
        return write_address(out, AF_INET, values.ip4[row]);
    case COLUMN_IP6:
        return write_address(out, AF_INET6, values.ip6[row]);
    default:
        return 0;
    }
}
