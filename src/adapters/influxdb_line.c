/*
 * Rows in InfluxDB's line protocol, and values as literals of InfluxQL and SQL.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "adapters/influxdb.h"
#include "append/value_text.h"
#include "base/ask.h"

enum {
    FRACTION_DIGITS = 6,
    SPARE_BYTES = 4 /* two quotes, a letter, a separator */
};

/* Upper limit of the row numbers that are added to a time, in ns (11 days). Row numbers are
 * smaller. */
#define SERIAL_MAX INT64_C(1000000000000000)

/* The parts of a line, in the order in which they are written. */
static const enum influxdb_place places[] = {INFLUXDB_TAG, INFLUXDB_FIELD, INFLUXDB_TIME};

/* The language that a value is written in. */
enum language {
    LINE,
    INFLUXQL,
    SQL
};

/* Returns true when one of the eight bytes is `wanted`. */
static bool contains_byte(uint64_t bytes, char wanted)
{
    const uint64_t ones = UINT64_MAX / UINT8_MAX;
    const uint64_t zero = bytes ^ ones * (unsigned char)wanted;
    return ((zero - ones) & ~zero & ones << 7) != 0;
}

/* Writes text in quotes. Quotes inside are doubled in SQL; otherwise quotes and backslashes are
 * escaped with a backslash. */
static char *put_quoted(char *out, struct text_value text, enum language language)
{
    const char quote = language == LINE ? '"' : '\'';
    char mark = '\\';
    const char *at = text.bytes;
    const char *const end = at + text.length;
    if (language == SQL) {
        mark = quote;
    }
    *out++ = quote;
    while (at < end) {
        uint64_t bytes;
        for (; end - at >= (ptrdiff_t)sizeof bytes; at += sizeof bytes, out += sizeof bytes) {
            memcpy(&bytes, at, sizeof bytes);
            if (contains_byte(bytes, quote) || contains_byte(bytes, mark)) {
                break;
            }
            memcpy(out, &bytes, sizeof bytes);
        }
        for (size_t i = 0; i < sizeof bytes && at < end; i++) {
            if (*at == quote || *at == mark) {
                *out++ = mark;
            }
            *out++ = *at++;
        }
    }
    *out++ = quote;
    return out;
}

/* Writes a name or a tag's value to a line, escaping special characters with a backslash.
 * *is_writable becomes false for a backslash or a line break, which cannot be escaped. */
static char *put_escaped(char *out, struct text_value text, bool is_measurement, bool *is_writable)
{
    for (uint32_t i = 0; i < text.length; i++) {
        const char c = text.bytes[i];
        if (c == ',' || c == ' ' || (c == '=' && !is_measurement)) {
            *out++ = '\\';
        }
        *out++ = c;
        *is_writable = *is_writable && c != '\\' && c != '\n';
    }
    return out;
}

static bool is_null(const struct column *column, const struct column_data *data, size_t row)
{
    return column_is_null(data, row) ||
           (column->type == COLUMN_FLOAT32 && !isfinite(data->values.float32[row])) ||
           (column->type == COLUMN_FLOAT64 && !isfinite(data->values.float64[row]));
}

/* Returns an upper limit of a value's length in a line, in bytes. */
static size_t max_bytes_of(const struct column *column, const struct column_data *data, size_t row)
{
    return column_kinds[column->type].is == COLUMN_IS_TEXT && !is_null(column, data, row)
               ? 2 * (size_t)data->values.text[row].length + SPARE_BYTES
               : VALUE_TEXT_BYTES + SPARE_BYTES;
}

/* Writes a value that is not NULL. Numbers, booleans and, in a line, timestamps have no quotes; all
 * other values have quotes. */
static char *put_value(char *out, const struct column *column, union column_values values,
                       size_t row, enum language language)
{
    if (column_kinds[column->type].is == COLUMN_IS_TEXT) {
        return put_quoted(out, values.text[row], language);
    }
    if (column->type == COLUMN_BOOL) {
        const bool is_true = values.boolean[row] != 0;
        memcpy(out, is_true ? "true" : "false", 5);
        return out + (is_true ? 4 : 5);
    }
    if (column->type == COLUMN_TIMESTAMP && language == LINE) {
        const int64_t ns = values.int64[row];
        out += value_text_integer(out, ns / 1000 - (ns % 1000 < 0 ? 1 : 0));
        *out++ = 't';
        return out;
    }
    const bool is_number = column->type <= COLUMN_DECIMAL;
    const char quote = language == LINE ? '"' : '\'';
    if (!is_number) {
        *out++ = quote;
    }
    out += value_text_write(out, column, values, row, FRACTION_DIGITS);
    if (!is_number) {
        *out++ = quote;
    } else if (column->type <= COLUMN_INT64 && language == LINE) {
        *out++ = 'i';
    }
    return out;
}

/* Writes a tag's value; values of other types than text are converted to text. */
static char *put_tag(char *out, const struct column *column, union column_values values, size_t row,
                     bool *is_writable)
{
    char scratch[VALUE_TEXT_BYTES];
    const struct text_value text =
        column->type == COLUMN_TEXT
            ? values.text[row]
            : (struct text_value){scratch,
                                  (uint32_t)value_text_write(scratch, column, values, row, 0)};
    return put_escaped(out, text, false, is_writable);
}

/* Adds the escaped name and `suffix`, preceded by their length in 2 bytes. `suffix` is "" for a
 * measurement and "=" for a column. */
static void add_name(struct buffer *names, const char *name, const char *suffix, bool *is_writable)
{
    char text[2 * ROW_NAME_BYTES];
    const struct text_value value = {name, (uint32_t)strlen(name)};
    const bool is_measurement = suffix[0] == '\0';
    const char *const end = put_escaped(text, value, is_measurement, is_writable);
    const uint16_t length = (uint16_t)((size_t)(end - text) + strlen(suffix));
    buffer_add(names, &length, sizeof length);
    buffer_add(names, text, (size_t)(end - text));
    buffer_add_text(names, suffix);
}

/* Writes a name and advances *name to the next name. */
static char *put_name(char *out, const char **name)
{
    uint16_t length;
    memcpy(&length, *name, sizeof length);
    memcpy(out, *name + sizeof length, length);
    *name += sizeof length + length;
    return out + length;
}

enum status influxdb_lines_begin(struct influxdb_lines *lines, const struct table *table,
                                 struct error *error)
{
    buffer_clear(&lines->text);
    lines->rows = 0;
    if (lines->table == table) {
        return STATUS_OK;
    }
    lines->table = NULL;
    lines->serial = NULL;
    buffer_clear(&lines->names);
    bool is_writable = true;
    add_name(&lines->names, table->name, "", &is_writable);
    for (size_t place = 0; place < COUNT_OF(places); place++) {
        for (size_t i = 0; i < table->column_count; i++) {
            const struct column *column = &table->columns[i];
            if (column->native_type == places[place]) {
                add_name(&lines->names, column->name, "=", &is_writable);
            }
            if (!lines->is_questdb && column->type == COLUMN_INT64 &&
                strcmp(column->name, "n3") == 0) {
                lines->serial = column;
            }
        }
    }
    if (!is_writable) {
        error_set(
            error, ERROR_UNSUPPORTED, 0, NULL,
            "table '%.100s': in the line protocol, names cannot contain backslashes or line breaks",
            table->name);
        return STATUS_FATAL;
    }
    lines->table = buffer_failed(&lines->names) ? NULL : table;
    return lines->table == NULL ? dialect_memory_error(error) : STATUS_OK;
}

/* Writes one row. Adds the row's number to its time, so that rows of a session with the same time
 * differ. *is_writable becomes false for a tag that cannot be written. */
static char *put_row(char *out, const struct influxdb_lines *lines, const struct batch *batch,
                     size_t row, bool *is_writable)
{
    const char *name = lines->names.bytes;
    int64_t serial = 0;
    out = put_name(out, &name);
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        char separator = places[p] == INFLUXDB_TAG ? ',' : ' ';
        for (size_t i = 0; i < lines->table->column_count; i++) {
            const struct column *column = &lines->table->columns[i];
            const struct column_data *data = &batch->columns[i];
            if (column->native_type != places[p]) {
                continue;
            }
            *out = separator;
            char *const value = put_name(out + 1, &name);
            char *end = value;
            if (is_null(column, data, row)) {
                continue;
            }
            serial = column == lines->serial ? data->values.int64[row] % SERIAL_MAX : serial;
            if (places[p] == INFLUXDB_TAG) {
                end = put_tag(value, column, data->values, row, is_writable);
            } else if (places[p] == INFLUXDB_FIELD) {
                end = put_value(value, column, data->values, row, LINE);
            } else {
                out += 1 + value_text_integer(out + 1, data->values.int64[row] + serial);
            }
            if (end > value) { /* an empty tag is left out */
                out = end;
                separator = ',';
            }
        }
    }
    *out++ = '\n';
    return out;
}

enum status influxdb_lines_add(struct influxdb_lines *lines, const struct batch *batch,
                               struct error *error)
{
    const struct table *table = lines->table;
    bool is_writable = true;
    for (size_t row = 0; row < batch->row_count && is_writable; row++) {
        size_t room = lines->names.length;
        for (size_t i = 0; i < table->column_count; i++) {
            room += max_bytes_of(&table->columns[i], &batch->columns[i], row);
        }
        char *const out = buffer_reserve(&lines->text, room);
        if (out == NULL) {
            return dialect_memory_error(error);
        }
        buffer_end(&lines->text, put_row(out, lines, batch, row, &is_writable));
    }
    if (!is_writable) {
        error_set(error, ERROR_DATA, 0, NULL,
                  "table '%.100s': a tag cannot contain a backslash or a line break", table->name);
        return STATUS_REJECTED;
    }
    lines->rows += batch->row_count;
    return STATUS_OK;
}

void influxdb_lines_fini(struct influxdb_lines *lines)
{
    buffer_fini(&lines->names);
    buffer_fini(&lines->text);
}

enum status influxdb_write_literals(struct buffer *sql, const struct statement *statement,
                                    const struct batch *parameters, bool is_sql,
                                    struct error *error)
{
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    if (parameters == NULL && statement->parameters == NULL) {
        buffer_add_text(sql, statement->sql); /* without parameters, a ? may be part of a pattern */
        return buffer_failed(sql) ? dialect_memory_error(error) : STATUS_OK;
    }
    const char *rest = statement->sql;
    size_t marks = 0;
    for (const char *mark = rest; *mark != '\0'; marks += *mark != '\0') {
        mark = sql_script_find_parameter(rest, is_sql ? 0 : SQL_BACKSLASHES);
        buffer_add(sql, rest, (size_t)(mark - rest));
        rest = mark + (*mark != '\0');
        if (*mark != '\0' && marks < count) {
            const struct column *column = &parameters->table->columns[marks];
            const struct column_data *data = &parameters->columns[marks];
            if (is_null(column, data, 0)) {
                buffer_add_text(sql, "null");
            } else {
                char *const out = buffer_reserve(sql, max_bytes_of(column, data, 0));
                if (out != NULL) {
                    buffer_end(sql,
                               put_value(out, column, data->values, 0, is_sql ? SQL : INFLUXQL));
                }
            }
        }
    }
    if (marks != count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the statement has %zu parameters, but was given %zu values: \"%.150s\"", marks,
                  count, statement->sql);
        return STATUS_FATAL;
    }
    if (!buffer_failed(sql) && strlen(buffer_text(sql)) < sql->length) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "a value contains a NUL byte, which would end the statement: \"%.150s\"",
                  statement->sql);
        return STATUS_FATAL;
    }
    return buffer_failed(sql) ? dialect_memory_error(error) : STATUS_OK;
}
