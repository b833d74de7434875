#include "adapters/odbc_bind.h"

#include <stdlib.h>
#include <string.h>

#include "base/value_text.h"

enum {
    ALIGNMENT = 16,
    FRACTION_MASK = 15,
    LONG_CHARACTERS = 4000, /* longer texts are of the LONG types, by custom of most databases */
    TIMESTAMP_SECONDS = 19, /* characters of YYYY-MM-DD hh:mm:ss */
};

#define AS_TEXT (UINT32_C(1) << 31)
#define AS_BYTES (UINT32_C(1) << 30)

uint32_t odbc_native_type(int sql_type, int fraction_digits)
{
    const unsigned digits = fraction_digits < 0 ? 0 : (unsigned)fraction_digits;
    return (uint32_t)(uint16_t)(int16_t)sql_type | (uint32_t)(digits > 9 ? 9 : digits) << 16;
}

int odbc_fraction_digits(const struct column *column)
{
    return (int)(column->native_type >> 16 & FRACTION_MASK);
}

void odbc_send_text(struct column *column)
{
    column->native_type |= AS_TEXT;
}

void odbc_send_bytes(struct column *column)
{
    column->native_type |= AS_BYTES;
}

static bool is_sent_as_text(const struct column *column)
{
    return (column->native_type & AS_TEXT) != 0;
}

/* What lies behind the digits that the column keeps is cut off: drivers may refuse it, and servers
 * may round it into the next second. */
static uint32_t cut_fraction(uint32_t ns, int digits)
{
    static const uint32_t units[] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                     10000,      1000,      100,      10,      1};
    return ns - ns % units[digits];
}

static SQL_TIMESTAMP_STRUCT make_timestamp(const struct column *column, union column_values values,
                                           size_t row)
{
    struct civil_time time;
    civil_time_of(column, values, row, &time);
    return (SQL_TIMESTAMP_STRUCT){
        .year = (SQLSMALLINT)time.year,
        .month = (SQLUSMALLINT)time.month,
        .day = (SQLUSMALLINT)time.day,
        .hour = (SQLUSMALLINT)time.hour,
        .minute = (SQLUSMALLINT)time.minute,
        .second = (SQLUSMALLINT)time.second,
        .fraction = cut_fraction(time.nanosecond, odbc_fraction_digits(column)),
    };
}

static bool is_text(const struct column *column)
{
    return column->type == COLUMN_TEXT || column->type == COLUMN_BYTES ||
           column->type == COLUMN_JSON;
}

static size_t longest_text(const struct column_data *data, size_t rows)
{
    size_t longest = 1;
    for (size_t row = 0; row < rows; row++) {
        const size_t length = data->values.text[row].length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void set_number(struct odbc_column *out, SQLSMALLINT c_type, SQLSMALLINT sql_type,
                       SQLULEN size, size_t width)
{
    out->c_type = c_type;
    out->sql_type = sql_type;
    out->size = size;
    out->width = width;
}

static void set_timestamp(struct odbc_column *out, int digits)
{
    const SQLULEN behind = digits > 0 ? 1U + (SQLULEN)digits : 0; /* the point, and they */
    out->digits = (SQLSMALLINT)digits;
    set_number(out, SQL_C_TYPE_TIMESTAMP, SQL_TYPE_TIMESTAMP, TIMESTAMP_SECONDS + behind,
               sizeof(SQL_TIMESTAMP_STRUCT));
}

/* The SQL types that the values have, whatever the column's own: that conversion is the server's,
 * as it is for a program. */
static void set_type(struct odbc_column *out, const struct column *column,
                     const struct column_data *data, size_t rows)
{
    memset(out, 0, sizeof *out);
    switch (column->type) {
    case COLUMN_BOOL:
        set_number(out, SQL_C_BIT, SQL_BIT, 1, 1);
        return;
    case COLUMN_INT16:
        set_number(out, SQL_C_SSHORT, SQL_SMALLINT, 5, sizeof(int16_t));
        return;
    case COLUMN_INT32:
        set_number(out, SQL_C_SLONG, SQL_INTEGER, 10, sizeof(int32_t));
        return;
    case COLUMN_INT64:
        set_number(out, SQL_C_SBIGINT, SQL_BIGINT, 19, sizeof(int64_t));
        return;
    case COLUMN_FLOAT32:
        set_number(out, SQL_C_FLOAT, SQL_REAL, 7, sizeof(float));
        return;
    case COLUMN_FLOAT64:
        set_number(out, SQL_C_DOUBLE, SQL_DOUBLE, 15, sizeof(double));
        return;
    case COLUMN_DATE:
        if (is_sent_as_text(column)) {
            break;
        }
        set_number(out, SQL_C_TYPE_DATE, SQL_TYPE_DATE, 10, sizeof(SQL_DATE_STRUCT));
        return;
    case COLUMN_TIMESTAMP:
        if (is_sent_as_text(column)) {
            break;
        }
        set_timestamp(out, odbc_fraction_digits(column));
        return;
    default:
        break;
    }
    if ((column->native_type & AS_BYTES) != 0) {
        const size_t width = column->type == COLUMN_IP4 ? 4 : 16;
        set_number(out, SQL_C_BINARY, SQL_BINARY, width, width);
        return;
    }
    out->width = is_text(column) ? longest_text(data, rows) : VALUE_TEXT_BYTES;
    out->size = out->width;
    if (column->type == COLUMN_BYTES) {
        out->c_type = SQL_C_BINARY;
        out->sql_type = out->width > LONG_CHARACTERS ? SQL_LONGVARBINARY : SQL_VARBINARY;
        return;
    }
    out->c_type = SQL_C_CHAR;
    out->sql_type = out->width > LONG_CHARACTERS ? SQL_LONGVARCHAR : SQL_VARCHAR;
    if (column->type == COLUMN_DECIMAL) {
        out->sql_type = SQL_DECIMAL;
        out->size = column->precision > 0 ? column->precision : 38;
        out->digits = column->scale;
    }
}

static bool is_copied(const struct odbc_column *out, const struct column *column)
{
    return out->c_type == SQL_C_CHAR || column->type == COLUMN_BYTES ||
           out->c_type == SQL_C_TYPE_DATE || out->c_type == SQL_C_TYPE_TIMESTAMP;
}

static bool has_lengths(const struct odbc_column *out, const struct column_data *data)
{
    return out->c_type == SQL_C_CHAR || out->c_type == SQL_C_BINARY || data->is_null != NULL;
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void copy_value(struct odbc_column *out, const struct column *column,
                       const struct column_data *data, size_t row)
{
    char *to = out->values + row * out->width;
    if (out->c_type == SQL_C_TYPE_DATE) {
        const SQL_TIMESTAMP_STRUCT when = make_timestamp(column, data->values, row);
        const SQL_DATE_STRUCT date = {.year = when.year, .month = when.month, .day = when.day};
        memcpy(to, &date, sizeof date);
    } else if (out->c_type == SQL_C_TYPE_TIMESTAMP) {
        const SQL_TIMESTAMP_STRUCT when = make_timestamp(column, data->values, row);
        memcpy(to, &when, sizeof when);
    } else if (is_text(column)) {
        const struct text_value *text = &data->values.text[row];
        if (text->length > 0) {
            memcpy(to, text->bytes, text->length);
        }
        out->lengths[row] = (SQLLEN)text->length;
    } else {
        out->lengths[row] = (SQLLEN)value_text_write(to, column, data->values, row,
                                                     (unsigned)odbc_fraction_digits(column));
    }
}

static void fill_column(struct odbc_column *out, const struct column *column,
                        const struct column_data *data, size_t rows)
{
    if (!is_copied(out, column)) {
        union {
            const void *borrowed;
            char *argument; /* an input parameter is not written to */
        } values = {data->values.any};
        out->values = values.argument;
    }
    for (size_t row = 0; row < rows; row++) {
        if (data->is_null != NULL && data->is_null[row]) {
            out->lengths[row] = SQL_NULL_DATA;
            continue;
        }
        if (out->lengths != NULL) {
            out->lengths[row] = (SQLLEN)out->width;
        }
        if (is_copied(out, column)) {
            copy_value(out, column, data, row);
        }
    }
}

bool odbc_columns_init(struct odbc_columns *columns, const struct batch *batch)
{
    const struct table *table = batch->table;
    const size_t rows = batch->row_count;
    size_t bytes = 0;

    memset(columns, 0, sizeof *columns);
    columns->columns = calloc(table->column_count, sizeof *columns->columns);
    if (columns->columns == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            struct odbc_column *out = &columns->columns[columns->count++];
            set_type(out, &table->columns[i], &batch->columns[i], rows);
            bytes += is_copied(out, &table->columns[i]) ? aligned(out->width * rows) : 0;
            bytes += has_lengths(out, &batch->columns[i]) ? aligned(sizeof(SQLLEN) * rows) : 0;
        }
    }
    columns->memory = malloc(bytes + ALIGNMENT);
    if (columns->memory == NULL) {
        odbc_columns_fini(columns);
        return false;
    }
    char *at = columns->memory;
    struct odbc_column *out = columns->columns;
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].is_generated) {
            continue;
        }
        if (has_lengths(out, &batch->columns[i])) {
            out->lengths = (SQLLEN *)(void *)at;
            at += aligned(sizeof(SQLLEN) * rows);
        }
        if (is_copied(out, &table->columns[i])) {
            out->values = at;
            at += aligned(out->width * rows);
        }
        fill_column(out++, &table->columns[i], &batch->columns[i], rows);
    }
    return true;
}

void odbc_columns_fini(struct odbc_columns *columns)
{
    free(columns->columns);
    free(columns->memory);
    memset(columns, 0, sizeof *columns);
}

bool odbc_columns_bind(const struct odbc_columns *columns, SQLHSTMT statement, size_t first,
                       size_t row)
{
    for (size_t i = 0; i < columns->count; i++) {
        const struct odbc_column *column = &columns->columns[i];
        if (!SQL_SUCCEEDED(
                SQLBindParameter(statement, (SQLUSMALLINT)(first + i), SQL_PARAM_INPUT,
                                 column->c_type, column->sql_type, column->size, column->digits,
                                 column->values + row * column->width, (SQLLEN)column->width,
                                 column->lengths != NULL ? column->lengths + row : NULL))) {
            return false;
        }
    }
    return true;
}
