#include "adapters/mariadb_encode.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "adapters/mariadb_conn.h"
#include "base/value_text.h"

enum {
    FRACTION_DIGITS = 6, /* most that the server keeps */
    YEAR_MAX = 9999,
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

/* Nine digits tell every float apart. The largest ones need all of the double's: rounded up, they
 * would be out of range. */
static size_t write_float(char *out, float value)
{
    const int digits = fabsf(value) > FLT_MAX / 2 ? 17 : 9;
    return (size_t)snprintf(out, MARIADB_VALUE_BYTES, "%.*g", digits, (double)value);
}

void mariadb_time_value(const struct column *column, union column_values values, size_t row,
                        MYSQL_TIME *time)
{
    struct civil_time civil;
    civil_time_of(column, values, row, &civil);
    unsigned long unit = 1;
    for (unsigned digits = column->scale; digits < FRACTION_DIGITS; digits++) {
        unit *= 10;
    }
    const unsigned long microseconds = civil.nanosecond / 1000;
    *time = (MYSQL_TIME){
        /* a year that the server cannot hold becomes one that it refuses */
        .year = civil.year < 0 || civil.year > YEAR_MAX ? YEAR_MAX + 1 : (unsigned)civil.year,
        .month = civil.month,
        .day = civil.day,
        .hour = civil.hour,
        .minute = civil.minute,
        .second = civil.second,
        .second_part = microseconds - microseconds % unit,
    };
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
    struct civil_time time;
    switch (column->type) {
    case COLUMN_FLOAT32:
        return write_float(out, values.float32[row]);
    case COLUMN_FLOAT64:
        return (size_t)snprintf(out, MARIADB_VALUE_BYTES, "%.17g", values.float64[row]);
    case COLUMN_DATE:
    case COLUMN_TIMESTAMP:
        civil_time_of(column, values, row, &time);
        if (time.year < 0 || time.year > YEAR_MAX) {
            /* one that the server refuses, rather than reads as another one */
            return (size_t)snprintf(out, MARIADB_VALUE_BYTES, "%d-%02u-%02u", YEAR_MAX + 1,
                                    time.month, time.day);
        }
        return value_text_write(out, column, values, row, column->scale);
    default:
        return value_text_write(out, column, values, row, column->scale);
    }
}
