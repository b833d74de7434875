/* How values are written for ClickHouse, in RowBinary, TabSeparated, JSONEachRow and SQL, and how
 * its answers are read. */
#include "adapters/clickhouse.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/dialect.h"
#include "base/value_text.h"

enum {
    FRACTION_DIGITS = 6,
    NS_DIGITS = 9,
};

/* The number that a value is, where it is one in RowBinary. */
static int64_t whole_value(const struct column *column, union column_values values, size_t row)
{
    int64_t unit = 1;
    switch (column->type) {
    case COLUMN_BOOL:
        return values.boolean[row];
    case COLUMN_INT16:
        return values.int16[row];
    case COLUMN_INT32:
    case COLUMN_DATE:
        return values.int32[row];
    case COLUMN_IP4:
        return (int64_t)values.ip4[row][0] << 24 | values.ip4[row][1] << 16 |
               values.ip4[row][2] << 8 | values.ip4[row][3];
    case COLUMN_TIMESTAMP:
        for (unsigned digits = column->scale; digits < NS_DIGITS; digits++) {
            unit *= 10;
        }
        return values.int64[row] / unit - (values.int64[row] % unit < 0 ? 1 : 0);
    default:
        return values.int64[row];
    }
}

/* The text that a value has in TabSeparated, not escaped. Moments are seconds since 1970: what is
 * written out is read in the server's time zone. */
static struct text_value text_of(const struct column *column, union column_values values,
                                 size_t row, char out[VALUE_TEXT_BYTES])
{
    const enum clickhouse_wire wire = CLICKHOUSE_WIRE(column->native_type);
    int length = 0;
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        return values.text[row];
    case COLUMN_FLOAT32:
        length = snprintf(out, VALUE_TEXT_BYTES, "%.9g", (double)values.float32[row]);
        break;
    case COLUMN_FLOAT64:
        length = snprintf(out, VALUE_TEXT_BYTES, "%.17g", values.float64[row]);
        break;
    case COLUMN_TIMESTAMP: {
        const struct column seconds = {.type = COLUMN_TIMESTAMP};
        const int64_t whole = whole_value(&seconds, values, row);
        length = snprintf(out, VALUE_TEXT_BYTES, "%010" PRId64 ".%09" PRId64, whole,
                          values.int64[row] - whole * INT64_C(1000000000));
        /* a parameter's column has no type of the server's */
        length -= column->native_type == 0 || column->scale == 0 ? NS_DIGITS + 1
                                                                 : NS_DIGITS - column->scale;
        break;
    }
    case COLUMN_IP6:
        if (wire != CLICKHOUSE_IP6) {
            return (struct text_value){(const char *)values.ip6[row], sizeof values.ip6[row]};
        }
        length = (int)value_text_write(out, column, values, row, 0);
        break;
    case COLUMN_IP4:
        if (wire != CLICKHOUSE_IP4) {
            length = snprintf(out, VALUE_TEXT_BYTES, "%" PRId64, whole_value(column, values, row));
            break;
        }
        /* fall through */
    default:
        length = (int)value_text_write(out, column, values, row, FRACTION_DIGITS);
    }
    return (struct text_value){out, (uint32_t)length};
}

/* Whether the text of such a value is no number. */
static bool is_quoted(const struct column *column)
{
    const enum column_type type = column->type;
    return !(type <= COLUMN_DECIMAL ||
             (type == COLUMN_IP4 && column->native_type >> 24 != CLICKHOUSE_IP4));
}

/* Escapes text as between quotes; `quote` 0: as in TabSeparated. */
static void add_escaped(struct buffer *out, struct text_value text, char quote)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        if (c >= ' ' && c != '\\' && (c != (unsigned char)quote)) {
            continue;
        }
        buffer_add(out, text.bytes + from, i - from);
        from = i + 1;
        if (c < ' ') {
            buffer_add_format(out, quote == '"' ? "\\u%04x" : "\\x%02x", c);
        } else {
            buffer_add_format(out, "%c%c", c == '\'' ? '\'' : '\\', c);
        }
    }
    buffer_add(out, text.bytes + from, text.length - from);
}

static void add_quoted(struct buffer *out, struct text_value text, char quote)
{
    buffer_add(out, &quote, 1);
    add_escaped(out, text, quote);
    buffer_add(out, &quote, 1);
}

static inline void put(struct buffer *out, const void *bytes, size_t length)
{
    if (length < out->capacity - out->length && !out->has_failed) {
        memcpy(out->bytes + out->length, bytes, length);
        out->length += length;
    } else {
        buffer_add(out, bytes, length);
    }
}

static void put_number(struct buffer *out, uint64_t bits, size_t width, bool is_negative)
{
    const uint64_t words[] = {htole64(bits), is_negative ? UINT64_MAX : 0,
                              is_negative ? UINT64_MAX : 0, is_negative ? UINT64_MAX : 0};
    put(out, words, width);
}

/* False: the column cannot hold the value. */
static bool put_binary(struct buffer *out, const struct column *column, union column_values values,
                       size_t row)
{
    const uint32_t width = CLICKHOUSE_WIDTH(column->native_type);
    char scratch[VALUE_TEXT_BYTES];
    struct text_value text;
    uint64_t bits = 0;
    switch (CLICKHOUSE_WIRE(column->native_type)) {
    case CLICKHOUSE_INT:
    case CLICKHOUSE_UINT:
    case CLICKHOUSE_IP4: {
        const int64_t value = whole_value(column, values, row);
        const bool is_signed = CLICKHOUSE_WIRE(column->native_type) == CLICKHOUSE_INT;
        const int64_t most = width < 8 ? (INT64_C(1) << (8 * width - is_signed)) - 1 : INT64_MAX;
        put_number(out, (uint64_t)value, width, value < 0);
        return value <= most && value >= (is_signed ? -most - 1 : 0);
    }
    case CLICKHOUSE_FLOAT:
        memcpy(&bits, width == 4 ? (const void *)&values.float32[row] : &values.float64[row],
               width);
        put(out, &bits, width);
        return true;
    case CLICKHOUSE_STRING:
        text = text_of(column, values, row, scratch);
        for (bits = text.length; bits >= 0x80; bits >>= 7) {
            put_number(out, bits | 0x80, 1, false);
        }
        put_number(out, bits, 1, false);
        put(out, text.bytes, text.length);
        return true;
    case CLICKHOUSE_UUID: /* two numbers of 64 bits */
        for (unsigned half = 0; half < 16; half += 8) {
            memcpy(&bits, &values.uuid[row][half], 8);
            put_number(out, be64toh(bits), 8, false);
        }
        return true;
    case CLICKHOUSE_IP6:
        put(out, values.ip6[row], 16);
        return true;
    default:
        text = text_of(column, values, row, scratch);
        put(out, text.bytes, text.length);
        for (uint32_t i = text.length; i < width; i++) {
            put(out, "", 1);
        }
        return text.length <= width;
    }
}

void clickhouse_add_literal(struct buffer *sql, const struct column *column,
                            const struct column_data *data, bool is_inserted)
{
    char scratch[VALUE_TEXT_BYTES];
    if (data->is_null != NULL && data->is_null[0]) {
        buffer_add_text(sql, "NULL");
        return;
    }
    const struct text_value text = text_of(column, data->values, 0, scratch);
    /* a number with a point compares with none of them, and old servers insert nothing else */
    const bool is_decimal = column->type == COLUMN_DECIMAL && column->scale > 0 && !is_inserted;
    const char *const function = column->type == COLUMN_DATE        ? "toDate("
                                 : column->type == COLUMN_TIMESTAMP ? "toDateTime("
                                 : is_decimal                       ? "cast("
                                                                    : " ";
    buffer_add_text(sql, function); /* " ": -1 behind a minus is a comment */
    if (is_decimal || (is_quoted(column) && column->type != COLUMN_TIMESTAMP)) {
        add_quoted(sql, text, '\'');
    } else {
        buffer_add(sql, text.bytes, text.length);
    }
    if (is_decimal) {
        buffer_add_format(sql, " as Decimal(%u, %u)",
                          column->precision > 0 ? column->precision : 18, column->scale);
    }
    buffer_add_text(sql, function[0] != ' ' ? ")" : "");
}

static bool add_value(struct buffer *out, const struct column *column, union column_values values,
                      size_t row, enum clickhouse_method method)
{
    char scratch[VALUE_TEXT_BYTES];
    if (method == CLICKHOUSE_ROWBINARY) {
        return put_binary(out, column, values, row);
    }
    const struct text_value text = text_of(column, values, row, scratch);
    if (!is_quoted(column)) {
        put(out, text.bytes, text.length);
    } else if (method == CLICKHOUSE_TSV) {
        add_escaped(out, text, '\0');
    } else {
        add_quoted(out, text, '"');
    }
    return true;
}

const struct column *clickhouse_add_rows(struct buffer *out, const struct batch *batch,
                                         enum clickhouse_method method)
{
    static const char *const nulls[] = {"\1", "\\N", "null"};
    const struct table *table = batch->table;
    for (size_t row = 0; row < batch->row_count; row++) {
        const char *before = method == CLICKHOUSE_JSON ? "{" : "";
        for (size_t i = 0; i < table->column_count; i++) {
            const struct column *column = &table->columns[i];
            const struct column_data *data = &batch->columns[i];
            if (column->is_generated) {
                continue;
            }
            if (method != CLICKHOUSE_ROWBINARY) {
                put(out, before, strlen(before));
                before = method == CLICKHOUSE_JSON ? "," : "\t";
            }
            if (method == CLICKHOUSE_JSON) {
                const struct text_value name = {column->name, (uint32_t)strlen(column->name)};
                add_quoted(out, name, '"');
                put(out, ":", 1);
            }
            if (data->is_null != NULL && data->is_null[row]) {
                put(out, nulls[method], strlen(nulls[method]));
                continue;
            }
            if (method == CLICKHOUSE_ROWBINARY && column->is_nullable) {
                put(out, "", 1);
            }
            if (!add_value(out, column, data->values, row, method)) {
                return column;
            }
        }
        if (method != CLICKHOUSE_ROWBINARY) {
            put(out, "}\n" + (method == CLICKHOUSE_TSV), method == CLICKHOUSE_TSV ? 1 : 2);
        }
    }
    return NULL;
}

static void unescape(char *text, struct text_value *value)
{
    static const char names[] = "tnr0bfa", values[] = "\t\n\r\0\b\f\a";
    char *out = text;
    const char *const end = text + value->length;
    for (const char *at = text; at < end; at++) {
        const char *name = NULL;
        if (*at == '\\' && at + 1 < end) {
            at++;
            name = strchr(names, *at);
        }
        if (name != NULL) {
            *out++ = values[name - names];
        } else {
            *out++ = *at;
        }
    }
    *value = (struct text_value){text, (uint32_t)(out - text)};
}

bool clickhouse_take_line(void *context, char *line, size_t length)
{
    struct clickhouse_reading *reading = context;
    size_t count = 0;
    /* after 200 was sent, an error is the last line */
    if (strncmp(line, "Code: ", 6) == 0 && strstr(line, CLICKHOUSE_EXCEPTION) != NULL) {
        snprintf(reading->exception, sizeof reading->exception, "%s", line);
    }
    if (reading->exception[0] != '\0') {
        return true;
    }
    reading->answer->rows++;
    for (char *field = line, *end; reading->answer->take != NULL && field != NULL; field = end) {
        if (count == reading->room) {
            struct cell *more = realloc(reading->cells, (2 * count + 16) * sizeof *more);
            if (more == NULL) {
                reading->has_failed = true;
                return false;
            }
            reading->cells = more;
            reading->room = 2 * count + 16;
        }
        struct cell *cell = &reading->cells[count++];
        end = memchr(field, '\t', length - (size_t)(field - line));
        *cell = (struct cell){.type = COLUMN_TEXT};
        cell->as.text.length = (uint32_t)((end != NULL ? end : line + length) - field);
        cell->is_null = cell->as.text.length == 2 && memcmp(field, "\\N", 2) == 0;
        unescape(field, &cell->as.text);
        end = end != NULL ? end + 1 : NULL;
    }
    return reading->answer->take == NULL ||
           reading->answer->take(reading->answer->context, reading->cells, count);
}

uint64_t clickhouse_count_values(const char *sql)
{
    uint64_t rows = 0;
    unsigned depth = 0;
    bool has_values = false;
    for (const char *at = sql; strncasecmp(sql, "insert", 6) == 0 && *at != '\0'; at++) {
        if (*at == '\'' || *at == '"' || *at == '`') {
            const char quote = *at++;
            for (; *at != quote && *at != '\0'; at++) {
                at += *at == '\\' && at[1] != '\0';
            }
            if (*at == '\0') {
                break;
            }
        } else if (depth == 0 && !has_values && strncasecmp(at, "values", 6) == 0) {
            has_values = at[-1] != '_' && !isalnum((unsigned char)at[-1]) && at[6] != '_' &&
                         !isalnum((unsigned char)at[6]);
        } else if (*at == '(') {
            rows += depth++ == 0 && has_values ? 1 : 0;
        } else if (*at == ')' && depth > 0) {
            depth--;
        }
    }
    return rows;
}
