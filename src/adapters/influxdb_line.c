/*
 * Rows in InfluxDB's line protocol, and values as literals of its language and of SQL.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "adapters/influxdb.h"
#include "base/ask.h"
#include "base/value_text.h"

enum {
    FRACTION_DIGITS = 6
};

/* What is added to a time stays below this: 11 days. Numbers of rows are no larger. */
#define SERIAL_MAX INT64_C(1000000000000000)

/* In which a value is written. */
enum language {
    LINE,
    INFLUXQL,
    SQL
};

/* Adds text in quotes. Inside they are doubled, or have a backslash as it has itself. */
static void add_quoted(struct buffer *out, const char *text, size_t length, enum language language)
{
    const char quote = language == LINE ? '"' : '\'';
    const bool is_doubled = language == SQL;
    buffer_add(out, &quote, 1);
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && text[end] != quote && (is_doubled || text[end] != '\\')) {
            end++;
        }
        buffer_add(out, text + at, end - at);
        if (end < length) {
            buffer_add(out, is_doubled ? &quote : "\\", 1);
            buffer_add(out, text + end, 1);
        }
        at = end + 1;
    }
    buffer_add(out, &quote, 1);
}

/* Adds a name or a tag's value to a line, where what is special has a backslash. False: nothing
 * can make a backslash or a line break mean itself there. */
static bool add_escaped(struct buffer *out, const char *text, size_t length, const char *special)
{
    bool is_good = true;
    for (size_t i = 0; i < length; i++) {
        if (strchr(special, text[i]) != NULL && text[i] != '\0') {
            buffer_add(out, "\\", 1);
        }
        buffer_add(out, &text[i], 1);
        is_good = is_good && text[i] != '\\' && text[i] != '\n';
    }
    return is_good;
}

static bool is_null(const struct column *column, const struct column_data *data, size_t row)
{
    return (data->is_null != NULL && data->is_null[row]) ||
           (column->type == COLUMN_FLOAT32 && !isfinite(data->values.float32[row])) ||
           (column->type == COLUMN_FLOAT64 && !isfinite(data->values.float64[row]));
}

/* Adds a value that is not NULL: numbers and booleans as such, all others in quotes. */
static void add_value(struct buffer *out, const struct column *column,
                      const struct column_data *data, size_t row, enum language language)
{
    char text[VALUE_TEXT_BYTES];
    const union column_values values = data->values;
    const size_t length = value_text_write(text, column, values, row, FRACTION_DIGITS);
    switch (column->type) {
    case COLUMN_BOOL:
        buffer_add_text(out, values.boolean[row] != 0 ? "true" : "false");
        break;
    case COLUMN_INT16:
    case COLUMN_INT32:
    case COLUMN_INT64:
        buffer_add(out, text, length);
        buffer_add_text(out, language == LINE ? "i" : "");
        break;
    case COLUMN_FLOAT32:
        buffer_add_format(out, "%.9g", (double)values.float32[row]);
        break;
    case COLUMN_FLOAT64:
        buffer_add_format(out, "%.17g", values.float64[row]);
        break;
    case COLUMN_DECIMAL:
        buffer_add(out, text, length);
        break;
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        add_quoted(out, values.text[row].bytes, values.text[row].length, language);
        break;
    default:
        add_quoted(out, text, length, language);
    }
}

/* Adds a name, ended. */
static bool add_name(struct buffer *names, const char *name, const char *special)
{
    const bool is_good = add_escaped(names, name, strlen(name), special);
    buffer_add(names, "", 1);
    return is_good;
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
    bool is_good = add_name(&lines->names, table->name, ", ");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        is_good = add_name(&lines->names, column->name, ",= ") && is_good;
        if (!lines->is_questdb && column->type == COLUMN_INT64 && strcmp(column->name, "n3") == 0) {
            lines->serial = column;
        }
    }
    if (!is_good) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "table '%.100s': the line protocol has no names with backslashes or line breaks",
                  table->name);
        return STATUS_FATAL;
    }
    lines->table = buffer_failed(&lines->names) ? NULL : table;
    return lines->table == NULL ? dialect_memory_error(error) : STATUS_OK;
}

/* Adds the columns of one place of a row. False: a tag that cannot be written. */
static bool add_columns(struct influxdb_lines *lines, const struct batch *batch, size_t row,
                        enum influxdb_place place)
{
    const char *name = lines->names.bytes;
    char separator = place == INFLUXDB_TAG ? ',' : ' ';
    char text[VALUE_TEXT_BYTES];
    bool is_good = true;
    for (size_t i = 0; i < lines->table->column_count; i++) {
        const struct column *column = &lines->table->columns[i];
        const struct column_data *data = &batch->columns[i];
        name += strlen(name) + 1;
        if (column->native_type != place || is_null(column, data, row)) {
            continue;
        }
        struct text_value tag = {text, 0};
        if (place == INFLUXDB_TAG && column->type == COLUMN_TEXT) {
            tag = data->values.text[row];
        } else if (place == INFLUXDB_TAG) {
            tag.length = (uint32_t)value_text_write(text, column, data->values, row, 0);
        }
        if (place == INFLUXDB_TAG && tag.length == 0) {
            continue; /* an empty tag is none */
        }
        buffer_add(&lines->text, &separator, 1);
        buffer_add_text(&lines->text, name);
        buffer_add(&lines->text, "=", 1);
        if (place == INFLUXDB_TAG) {
            is_good = add_escaped(&lines->text, tag.bytes, tag.length, ",= ") && is_good;
        } else if (column->type == COLUMN_TIMESTAMP) {
            buffer_add_format(&lines->text, "%" PRId64 "t", data->values.int64[row] / 1000);
        } else {
            add_value(&lines->text, column, data, row, LINE);
        }
        separator = ',';
    }
    return is_good;
}

/* Adds the time of a row. Two rows of a session that have the same one differ by their numbers. */
static void add_time(struct influxdb_lines *lines, const struct batch *batch, size_t row)
{
    int64_t serial = 0;
    for (size_t i = 0; i < lines->table->column_count; i++) {
        const struct column *column = &lines->table->columns[i];
        const struct column_data *data = &batch->columns[i];
        if (column == lines->serial && !is_null(column, data, row)) {
            serial = data->values.int64[row] % SERIAL_MAX;
        }
    }
    for (size_t i = 0; i < lines->table->column_count; i++) {
        if (lines->table->columns[i].native_type == INFLUXDB_TIME &&
            !is_null(&lines->table->columns[i], &batch->columns[i], row)) {
            buffer_add_format(&lines->text, " %" PRId64,
                              batch->columns[i].values.int64[row] + serial);
        }
    }
    buffer_add(&lines->text, "\n", 1);
}

enum status influxdb_lines_add(struct influxdb_lines *lines, const struct batch *batch,
                               struct error *error)
{
    for (size_t row = 0; row < batch->row_count; row++) {
        buffer_add_text(&lines->text, lines->names.bytes);
        const bool is_good = add_columns(lines, batch, row, INFLUXDB_TAG);
        add_columns(lines, batch, row, INFLUXDB_FIELD);
        add_time(lines, batch, row);
        if (!is_good) {
            error_set(error, ERROR_DATA, 0, NULL,
                      "table '%.100s': a tag has no way to hold a backslash or a line break",
                      lines->table->name);
            return STATUS_REJECTED;
        }
    }
    lines->rows += batch->row_count;
    return buffer_failed(&lines->text) ? dialect_memory_error(error) : STATUS_OK;
}

void influxdb_lines_fini(struct influxdb_lines *lines)
{
    buffer_fini(&lines->names);
    buffer_fini(&lines->text);
}

/* Writes the statement with its parameters as literals. */
enum status influxdb_write_literals(struct buffer *sql, const struct statement *statement,
                                    const struct batch *parameters, bool is_sql,
                                    struct error *error)
{
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    if (parameters == NULL && statement->parameters == NULL) {
        buffer_add_text(sql, statement->sql); /* a ? may be part of a pattern */
        return buffer_failed(sql) ? dialect_memory_error(error) : STATUS_OK;
    }
    const char *rest = statement->sql;
    size_t marks = 0;
    for (const char *mark = rest; *mark != '\0'; marks += *mark != '\0') {
        mark = sql_script_find_parameter(rest);
        buffer_add(sql, rest, (size_t)(mark - rest));
        rest = mark + (*mark != '\0');
        if (*mark != '\0' && marks < count) {
            const struct column *column = &parameters->table->columns[marks];
            const struct column_data *data = &parameters->columns[marks];
            if (is_null(column, data, 0)) {
                buffer_add_text(sql, "null");
            } else {
                add_value(sql, column, data, 0, is_sql ? SQL : INFLUXQL);
            }
        }
    }
    if (marks != count) {
        error_set(error, ERROR_USAGE, 0, NULL, "%zu parameters and the values of %zu: \"%.150s\"",
                  marks, count, statement->sql);
        return STATUS_FATAL;
    }
    return buffer_failed(sql) ? dialect_memory_error(error) : STATUS_OK;
}
