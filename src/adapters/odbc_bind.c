/*
 * The values of a batch as ODBC reads them: an array a column, with an array of lengths beside it
 * where there are texts or NULLs. Numbers stay where the batch has them.
 */
#include "adapters/odbc.h"

#include <stdlib.h>
#include <string.h>

#include "base/value_text.h"

enum {
    ALIGNMENT = 16,
    LONG_CHARACTERS = 4000, /* longer texts are of the LONG types, by custom of most databases */
};

struct odbc_parameter {
    const struct column *column;
    const struct column_data *data;
    SQLSMALLINT c_type;
    SQLSMALLINT sql_type;
    SQLULEN size;
    SQLSMALLINT digits;
    size_t width; /* from one value to the next */
    bool is_copied;
    bool has_lengths; /* else no row is NULL, and the type says the length */
    char *values;     /* of row 0 */
    SQLLEN *lengths;  /* of row 0 */
};

/* The SQL types that the values have, whatever the column's own: that conversion is the server's,
 * as it is for a program. Types that are not here are sent as text or bytes. */
static const struct {
    SQLSMALLINT c_type;
    SQLSMALLINT sql_type;
    SQLULEN size;
    size_t width;
} fixed_types[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = {SQL_C_BIT, SQL_BIT, 1, 1},
    [COLUMN_INT16] = {SQL_C_SSHORT, SQL_SMALLINT, 5, sizeof(int16_t)},
    [COLUMN_INT32] = {SQL_C_SLONG, SQL_INTEGER, 10, sizeof(int32_t)},
    [COLUMN_INT64] = {SQL_C_SBIGINT, SQL_BIGINT, 19, sizeof(int64_t)},
    [COLUMN_FLOAT32] = {SQL_C_FLOAT, SQL_REAL, 7, sizeof(float)},
    [COLUMN_FLOAT64] = {SQL_C_DOUBLE, SQL_DOUBLE, 15, sizeof(double)},
    [COLUMN_DATE] = {SQL_C_TYPE_DATE, SQL_TYPE_DATE, 10, sizeof(SQL_DATE_STRUCT)},
    [COLUMN_TIMESTAMP] = {SQL_C_TYPE_TIMESTAMP, SQL_TYPE_TIMESTAMP, 19,
                          sizeof(SQL_TIMESTAMP_STRUCT)},
};

static int fraction_digits(const struct column *column)
{
    return (int)(column->native_type & ODBC_FRACTION_DIGITS);
}

static bool is_text(const struct column *column)
{
    return column->type == COLUMN_TEXT || column->type == COLUMN_BYTES ||
           column->type == COLUMN_JSON;
}

static bool is_time(const struct column *column)
{
    return column->type == COLUMN_DATE || column->type == COLUMN_TIMESTAMP;
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

static void set_fixed(struct odbc_parameter *parameter)
{
    const struct column *column = parameter->column;
    parameter->c_type = fixed_types[column->type].c_type;
    parameter->sql_type = fixed_types[column->type].sql_type;
    parameter->size = fixed_types[column->type].size;
    parameter->width = fixed_types[column->type].width;
    parameter->is_copied = is_time(column);
    if (column->type == COLUMN_TIMESTAMP && fraction_digits(column) > 0) {
        parameter->digits = (SQLSMALLINT)fraction_digits(column);
        parameter->size += 1U + (SQLULEN)parameter->digits; /* the point, and they */
    }
}

static void set_text(struct odbc_parameter *parameter, size_t rows)
{
    const struct column *column = parameter->column;
    parameter->width = is_text(column) ? longest_text(parameter->data, rows) : VALUE_TEXT_BYTES;
    parameter->size = parameter->width;
    parameter->is_copied = true;
    const bool is_long = parameter->width > LONG_CHARACTERS;
    if (column->type == COLUMN_BYTES) {
        parameter->c_type = SQL_C_BINARY;
        parameter->sql_type = is_long ? SQL_LONGVARBINARY : SQL_VARBINARY;
        return;
    }
    parameter->c_type = SQL_C_CHAR;
    parameter->sql_type = is_long ? SQL_LONGVARCHAR : SQL_VARCHAR;
    if (column->type == COLUMN_DECIMAL) {
        parameter->sql_type = SQL_DECIMAL;
        parameter->size = column->precision > 0 ? column->precision : 38;
        parameter->digits = column->scale;
    }
}

static struct odbc_parameter make_parameter(const struct column *column,
                                            const struct column_data *data, size_t rows)
{
    struct odbc_parameter made = {.column = column, .data = data};
    const bool as_text = is_time(column) && (column->native_type & ODBC_TIMES_AS_TEXT) != 0;
    if (fixed_types[column->type].width > 0 && !as_text) {
        set_fixed(&made);
    } else if ((column->native_type & ODBC_AS_BYTES) != 0) {
        made.c_type = SQL_C_BINARY;
        made.sql_type = SQL_BINARY;
        made.width = column->type == COLUMN_IP4 ? 4 : 16;
        made.size = made.width;
    } else {
        set_text(&made, rows);
    }
    made.has_lengths =
        made.c_type == SQL_C_CHAR || made.c_type == SQL_C_BINARY || data->is_null != NULL;
    return made;
}

/* What lies behind the digits that the column keeps is cut off: drivers may refuse it, and servers
 * may round it into the next second. */
static uint32_t cut_fraction(uint32_t ns, int digits)
{
    static const uint32_t units[] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                     10000,      1000,      100,      10,      1};
    return ns - ns % units[digits];
}

static void copy_time(const struct odbc_parameter *parameter, size_t row, char *to)
{
    struct civil_time time;
    civil_time_of(parameter->column, parameter->data->values, row, &time);
    const SQL_TIMESTAMP_STRUCT when = {
        .year = (SQLSMALLINT)time.year,
        .month = (SQLUSMALLINT)time.month,
        .day = (SQLUSMALLINT)time.day,
        .hour = (SQLUSMALLINT)time.hour,
        .minute = (SQLUSMALLINT)time.minute,
        .second = (SQLUSMALLINT)time.second,
        .fraction = cut_fraction(time.nanosecond, fraction_digits(parameter->column)),
    };
    const SQL_DATE_STRUCT date = {.year = when.year, .month = when.month, .day = when.day};
    if (parameter->c_type == SQL_C_TYPE_DATE) {
        memcpy(to, &date, sizeof date);
    } else {
        memcpy(to, &when, sizeof when);
    }
}

static void copy_value(struct odbc_parameter *parameter, size_t row)
{
    const struct column *column = parameter->column;
    char *to = parameter->values + row * parameter->width;
    if (parameter->c_type == SQL_C_TYPE_DATE || parameter->c_type == SQL_C_TYPE_TIMESTAMP) {
        copy_time(parameter, row, to);
    } else if (is_text(column)) {
        const struct text_value *text = &parameter->data->values.text[row];
        if (text->length > 0) {
            memcpy(to, text->bytes, text->length);
        }
        parameter->lengths[row] = (SQLLEN)text->length;
    } else {
        parameter->lengths[row] = (SQLLEN)value_text_write(to, column, parameter->data->values, row,
                                                           (unsigned)fraction_digits(column));
    }
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Fills the memory at `at` as far as it needs it; returns what is behind. */
static char *fill(struct odbc_parameter *parameter, size_t rows, char *at)
{
    const uint8_t *is_null = parameter->data->is_null;
    if (parameter->has_lengths) {
        parameter->lengths = (SQLLEN *)(void *)at;
        at += aligned(sizeof(SQLLEN) * rows);
    }
    if (parameter->is_copied) {
        parameter->values = at;
        at += aligned(parameter->width * rows);
    } else {
        union {
            const void *borrowed;
            char *argument; /* an input parameter is not written to */
        } values = {parameter->data->values.any};
        parameter->values = values.argument;
    }
    for (size_t row = 0; row < rows; row++) {
        if (is_null != NULL && is_null[row]) {
            parameter->lengths[row] = SQL_NULL_DATA;
            continue;
        }
        if (parameter->has_lengths) {
            parameter->lengths[row] = (SQLLEN)parameter->width;
        }
        if (parameter->is_copied) {
            copy_value(parameter, row);
        }
    }
    return at;
}

void odbc_parameters_fini(struct odbc_parameters *parameters)
{
    free(parameters->list);
    free(parameters->memory);
}

enum status odbc_parameters_init(struct odbc_parameters *parameters, const struct batch *batch,
                                 struct error *error)
{
    const struct table *table = batch->table;
    const size_t rows = batch->row_count;
    size_t bytes = ALIGNMENT;

    *parameters =
        (struct odbc_parameters){.list = calloc(table->column_count + 1, sizeof *parameters->list)};
    for (size_t i = 0; parameters->list != NULL && i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            const struct odbc_parameter made =
                make_parameter(&table->columns[i], &batch->columns[i], rows);
            bytes += made.has_lengths ? aligned(sizeof(SQLLEN) * rows) : 0;
            bytes += made.is_copied ? aligned(made.width * rows) : 0;
            parameters->list[parameters->count++] = made;
        }
    }
    parameters->memory = malloc(bytes);
    if (parameters->list == NULL || parameters->memory == NULL) {
        return odbc_memory_error(error);
    }
    char *at = parameters->memory;
    for (size_t i = 0; i < parameters->count; i++) {
        at = fill(&parameters->list[i], rows, at);
    }
    return STATUS_OK;
}

bool odbc_parameters_bind(const struct odbc_parameters *parameters, SQLHSTMT statement,
                          size_t first, size_t row)
{
    SQLRETURN result = SQL_SUCCESS;
    for (size_t i = 0; i < parameters->count && SQL_SUCCEEDED(result); i++) {
        const struct odbc_parameter *bound = &parameters->list[i];
        result = SQLBindParameter(statement, (SQLUSMALLINT)(first + i), SQL_PARAM_INPUT,
                                  bound->c_type, bound->sql_type, bound->size, bound->digits,
                                  bound->values + row * bound->width, (SQLLEN)bound->width,
                                  bound->has_lengths ? bound->lengths + row : NULL);
    }
    return SQL_SUCCEEDED(result);
}
