/* Values as SQLite keeps them: numbers, text, blobs; times and addresses are text. */
#include "adapters/sqlite_conn.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    TEXT_BYTES = 64
};

#define NS_PER_DAY INT64_C(86400000000000)

static int64_t floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* Days since 1970-01-01 to a date of the proleptic Gregorian calendar, by eras of 400 years that
 * begin on 1 March (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
static int format_date(char *text, int64_t days)
{
    const int64_t shifted = days + 719468;
    const int64_t era = floor_divide(shifted, 146097);
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t march_month = (5 * day_of_year + 2) / 153;
    const int64_t day = day_of_year - (153 * march_month + 2) / 5 + 1;
    const int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    const int64_t year = year_of_era + era * 400 + (month <= 2);
    return snprintf(text, TEXT_BYTES, "%04" PRId64 "-%02d-%02d", year, (int)month, (int)day);
}

static int format_time(char *text, int64_t ns)
{
    const int64_t us = ns / 1000;
    const int seconds = (int)(us / 1000000);
    return snprintf(text, TEXT_BYTES / 2, "%02d:%02d:%02d.%06d", seconds / 3600, seconds / 60 % 60,
                    seconds % 60, (int)(us % 1000000));
}

static int format_timestamp(char *text, int64_t ns)
{
    const int64_t days = floor_divide(ns, NS_PER_DAY);
    int length = format_date(text, days);
    text[length++] = ' ';
    const int64_t rest = ns % NS_PER_DAY; /* days times a day could overflow */
    return length + format_time(text + length, rest < 0 ? rest + NS_PER_DAY : rest);
}

/* Text, so that the column's affinity makes of it what it can hold without loss. */
static int format_decimal(char *text, int64_t unscaled, unsigned scale)
{
    char digits[TEXT_BYTES];
    const uint64_t size = unscaled < 0 ? 0 - (uint64_t)unscaled : (uint64_t)unscaled;
    const char *sign = unscaled < 0 ? "-" : "";
    const int places = scale < 30 ? (int)scale : 30;
    const int count = snprintf(digits, sizeof digits, "%0*" PRIu64, places + 1, size);
    if (places == 0) {
        return snprintf(text, TEXT_BYTES, "%s%s", sign, digits);
    }
    return snprintf(text, TEXT_BYTES, "%s%.*s.%s", sign, count - places, digits,
                    digits + count - places);
}

static int format_uuid(char *text, const uint8_t *uuid)
{
    static const char hex[] = "0123456789abcdef";
    int length = 0;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[length++] = '-';
        }
        text[length++] = hex[uuid[i] >> 4];
        text[length++] = hex[uuid[i] & 15];
    }
    return length;
}

static int format_address(char *text, int family, const void *address)
{
    inet_ntop(family, address, text, TEXT_BYTES);
    int length = 0;
    while (text[length] != '\0') {
        length++;
    }
    return length;
}

/* Formats what has no type of its own here; returns the length. */
static int format_value(char *text, const struct column *column, union column_values values,
                        size_t row)
{
    switch (column->type) {
    case COLUMN_DECIMAL:
        return format_decimal(text, values.int64[row], column->scale);
    case COLUMN_DATE:
        return format_date(text, values.int32[row]);
    case COLUMN_TIME:
        return format_time(text, values.int64[row]);
    case COLUMN_TIMESTAMP:
        return format_timestamp(text, values.int64[row]);
    case COLUMN_UUID:
        return format_uuid(text, values.uuid[row]);
    case COLUMN_IP4:
        return format_address(text, AF_INET, values.ip4[row]);
    case COLUMN_IP6:
        return format_address(text, AF_INET6, values.ip6[row]);
    default:
        return 0;
    }
}

static int bind_text(sqlite3_stmt *statement, int parameter, const struct text_value *text)
{
    return sqlite3_bind_text(statement, parameter, text->length > 0 ? text->bytes : "",
                             (int)text->length, SQLITE_STATIC);
}

int sqlite_bind(sqlite3_stmt *statement, int parameter, const struct column *column,
                const struct column_data *data, size_t row)
{
    const union column_values values = data->values;
    char text[TEXT_BYTES];

    if (data->is_null != NULL && data->is_null[row]) {
        return sqlite3_bind_null(statement, parameter);
    }
    switch (column->type) {
    case COLUMN_BOOL:
        return sqlite3_bind_int(statement, parameter, values.boolean[row] != 0);
    case COLUMN_INT16:
        return sqlite3_bind_int(statement, parameter, values.int16[row]);
    case COLUMN_INT32:
        return sqlite3_bind_int(statement, parameter, values.int32[row]);
    case COLUMN_INT64:
        return sqlite3_bind_int64(statement, parameter, values.int64[row]);
    case COLUMN_FLOAT32:
        return sqlite3_bind_double(statement, parameter, (double)values.float32[row]);
    case COLUMN_FLOAT64:
        return sqlite3_bind_double(statement, parameter, values.float64[row]);
    case COLUMN_BYTES:
        return sqlite3_bind_blob(statement, parameter,
                                 values.text[row].length > 0 ? values.text[row].bytes : "",
                                 (int)values.text[row].length, SQLITE_STATIC);
    case COLUMN_TEXT:
    case COLUMN_JSON:
        return bind_text(statement, parameter, &values.text[row]);
    default:
        return sqlite3_bind_text(statement, parameter, text,
                                 format_value(text, column, values, row), SQLITE_TRANSIENT);
    }
}
