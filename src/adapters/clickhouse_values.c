/* Writes values in RowBinary, TabSeparated, JSONEachRow and SQL, and reads ClickHouse's answers. */
#include "adapters/clickhouse.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/dialect.h"
#include "append/value_text.h"

enum {
    FRACTION_DIGITS = 6,
    NS_DIGITS = 9,
    LENGTH_BYTES = 5, /* maximum size of the length before a text, in bytes */
    SPARE_BYTES = 8,  /* writing a number always overwrites 8 bytes */
};

#define NS_PER_S INT64_C(1000000000)

/* Returns the number that encodes a value in RowBinary. The column's type must be one that
 * RowBinary encodes as a number. */
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
        if (column->scale == 0) { /* division by a constant is faster */
            return values.int64[row] / NS_PER_S - (values.int64[row] % NS_PER_S < 0 ? 1 : 0);
        }
        for (unsigned digits = column->scale; digits < NS_DIGITS; digits++) {
            unit *= 10;
        }
        return values.int64[row] / unit - (values.int64[row] % unit < 0 ? 1 : 0);
    default:
        return values.int64[row];
    }
}

/* Returns a value as text for TabSeparated, without escapes. Timestamps are written as seconds
 * since 1970, because the server would read a date and time in its own time zone. */
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
    case COLUMN_FLOAT64: /* with fewer digits, old servers may read a neighbouring number */
        length = snprintf(out, VALUE_TEXT_BYTES, "%.17g", values.float64[row]);
        break;
    case COLUMN_TIMESTAMP: {
        /* a parameter's type on the server is unknown, so its time has whole seconds only */
        const uint8_t scale = column->native_type == 0 ? 0 : column->scale;
        const struct column rounded = {.type = COLUMN_TIMESTAMP, .scale = scale};
        const int64_t units = whole_value(&rounded, values, row);
        const uint64_t size = units < 0 ? -(uint64_t)units : (uint64_t)units;
        const uint64_t second = value_powers_of_ten[scale];
        length = snprintf(out, VALUE_TEXT_BYTES, "%s%0*" PRIu64, units < 0 ? "-" : "",
                          units < 0 ? 9 : 10, size / second);
        if (scale > 0) {
            length += snprintf(out + length, VALUE_TEXT_BYTES - (size_t)length, ".%0*" PRIu64,
                               (int)scale, size % second);
        }
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

/* Returns true when a value's text is not a number. */
static bool is_quoted(const struct column *column)
{
    const enum column_type type = column->type;
    return !(type <= COLUMN_DECIMAL ||
             (type == COLUMN_IP4 && column->native_type >> 24 != CLICKHOUSE_IP4));
}

/* Adds text with escapes, for use between two `quote` characters. If `quote` is '\0', escapes the
 * text for TabSeparated. */
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

/* Writes a value in RowBinary. Returns the end of the value, or NULL if the column cannot hold the
 * value. May overwrite up to SPARE_BYTES bytes after the value. */
static char *put_binary(char *out, const struct column *column, union column_values values,
                        size_t row)
{
    /* for each type, the encoding whose values have the same bytes as the values in a batch, except
     * for the order of the bytes */
    static const uint32_t same_encodings[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = CLICKHOUSE_NATIVE(CLICKHOUSE_UINT, 1),
        [COLUMN_INT16] = CLICKHOUSE_NATIVE(CLICKHOUSE_INT, 2),
        [COLUMN_INT32] = CLICKHOUSE_NATIVE(CLICKHOUSE_INT, 4),
        [COLUMN_INT64] = CLICKHOUSE_NATIVE(CLICKHOUSE_INT, 8),
        [COLUMN_FLOAT32] = CLICKHOUSE_NATIVE(CLICKHOUSE_FLOAT, 4),
        [COLUMN_FLOAT64] = CLICKHOUSE_NATIVE(CLICKHOUSE_FLOAT, 8),
        [COLUMN_IP6] = CLICKHOUSE_NATIVE(CLICKHOUSE_FIXED, 16),
    };
    const uint32_t native = column->native_type;
    const uint32_t width = CLICKHOUSE_WIDTH(native);
    const char *const value = (const char *)values.any + row * width;
    uint16_t bits16;
    uint32_t bits32;
    uint64_t bits;
    switch (native == same_encodings[column->type] ? width : 0) {
    case 1:
        *out = *value;
        return out + width;
    case 2:
        memcpy(&bits16, value, sizeof bits16);
        bits16 = htole16(bits16);
        memcpy(out, &bits16, sizeof bits16);
        return out + width;
    case 4:
        memcpy(&bits32, value, sizeof bits32);
        bits32 = htole32(bits32);
        memcpy(out, &bits32, sizeof bits32);
        return out + width;
    case 8:
        memcpy(&bits, value, sizeof bits);
        bits = htole64(bits);
        memcpy(out, &bits, sizeof bits);
        return out + width;
    case 16:
        memcpy(out, value, 16);
        return out + width;
    default:
        break;
    }
    char scratch[VALUE_TEXT_BYTES];
    struct text_value text;
    switch (CLICKHOUSE_WIRE(native)) {
    case CLICKHOUSE_INT:
    case CLICKHOUSE_UINT:
    case CLICKHOUSE_IP4: {
        const int64_t whole = whole_value(column, values, row);
        const bool is_signed = CLICKHOUSE_WIRE(native) == CLICKHOUSE_INT;
        const int64_t most = width < 8 ? (INT64_C(1) << (8 * width - is_signed)) - 1 : INT64_MAX;
        bits = htole64((uint64_t)whole);
        memcpy(out, &bits, sizeof bits);
        if (width > sizeof bits) {
            memset(out + sizeof bits, whole < 0 ? UINT8_MAX : 0, width - sizeof bits);
        }
        return whole <= most && whole >= (is_signed ? -most - 1 : 0) ? out + width : NULL;
    }
    case CLICKHOUSE_STRING:
        text = column_kinds[column->type].is == COLUMN_IS_TEXT
                   ? values.text[row]
                   : text_of(column, values, row, scratch);
        for (bits = text.length; bits >= 0x80; bits >>= 7) {
            *out++ = (char)(bits | 0x80);
        }
        *out++ = (char)bits;
        memcpy(out, text.bytes, text.length);
        return out + text.length;
    case CLICKHOUSE_UUID: /* sent as two numbers of 64 bits */
        for (unsigned half = 0; half < 16; half += 8) {
            memcpy(&bits, &values.uuid[row][half], 8);
            bits = htole64(be64toh(bits));
            memcpy(out + half, &bits, 8);
        }
        return out + width;
    case CLICKHOUSE_IP6:
        memcpy(out, values.ip6[row], 16);
        return out + width;
    default:
        text = text_of(column, values, row, scratch);
        if (text.length > width) {
            return NULL;
        }
        memcpy(out, text.bytes, text.length);
        memset(out + text.length, 0, width - text.length);
        return out + width;
    }
}

/* Returns an upper limit of a batch's size in RowBinary, in bytes. */
static size_t max_bytes_of(const struct batch *batch)
{
    size_t room = SPARE_BYTES;
    for (size_t i = 0; i < batch->table->column_count; i++) {
        const struct column *column = &batch->table->columns[i];
        const struct column_data *data = &batch->columns[i];
        const bool is_string = CLICKHOUSE_WIRE(column->native_type) == CLICKHOUSE_STRING;
        const bool has_text = is_string && column_kinds[column->type].is == COLUMN_IS_TEXT;
        size_t width = CLICKHOUSE_WIDTH(column->native_type);
        if (is_string) {
            width = LENGTH_BYTES + (has_text ? 0 : VALUE_TEXT_BYTES);
        }
        room += batch->row_count * (1 + width);
        for (size_t row = 0; has_text && row < batch->row_count; row++) {
            room += column_is_null(data, row) ? 0 : data->values.text[row].length;
        }
    }
    return room;
}

/* Implements clickhouse_add_rows for RowBinary. */
static const struct column *add_binary_rows(struct buffer *out, const struct batch *batch)
{
    char *at = buffer_reserve(out, max_bytes_of(batch));
    for (size_t row = 0; at != NULL && row < batch->row_count; row++) {
        for (size_t i = 0; i < batch->table->column_count; i++) {
            const struct column *column = &batch->table->columns[i];
            if (column->is_generated) {
                continue;
            }
            const bool is_null_value = column_is_null(&batch->columns[i], row);
            if (column->is_nullable) {
                *at++ = is_null_value ? 1 : 0;
            }
            if (!is_null_value) {
                at = put_binary(at, column, batch->columns[i].values, row);
            }
            if (at == NULL || (is_null_value && !column->is_nullable)) {
                return column;
            }
        }
    }
    if (at != NULL) {
        buffer_end(out, at);
    }
    return NULL;
}

void clickhouse_add_literal(struct buffer *sql, const struct column *column,
                            const struct column_data *data, bool is_inserted)
{
    char scratch[VALUE_TEXT_BYTES];
    if (column_is_null(data, 0)) {
        buffer_add_text(sql, "NULL");
        return;
    }
    const struct text_value text = text_of(column, data->values, 0, scratch);
    /* The server cannot compare a decimal with a literal that has a point, so the literal is cast.
     * In an INSERT the literal is not cast, because old servers accept only literals in VALUES. */
    const bool is_decimal = column->type == COLUMN_DECIMAL && column->scale > 0 && !is_inserted;
    const char *function = " ";
    if (is_decimal) {
        function = "cast(";
    } else if (column->type == COLUMN_DATE || column->type == COLUMN_TIMESTAMP) {
        function = column->type == COLUMN_DATE ? "toDate(" : "toDateTime(";
    }
    buffer_add_text(sql, function); /* a blank, because "--1" would begin a comment */
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

static void add_value(struct buffer *out, const struct column *column, union column_values values,
                      size_t row, bool is_json)
{
    char scratch[VALUE_TEXT_BYTES];
    const struct text_value text = text_of(column, values, row, scratch);
    if (!is_quoted(column)) {
        buffer_add(out, text.bytes, text.length);
    } else if (is_json) {
        add_quoted(out, text, '"');
    } else {
        add_escaped(out, text, '\0');
    }
}

/* Returns whether a value is a time with a fraction in the last second before 1970. Such a time
 * cannot be written as text, because the server reads "-0.5" as 0.5. */
static bool is_without_text(const struct column *column, union column_values values, size_t row)
{
    return column->type == COLUMN_TIMESTAMP && column->scale > 0 && values.int64[row] < 0 &&
           values.int64[row] > -NS_PER_S;
}

const struct column *clickhouse_add_rows(struct buffer *out, const struct batch *batch,
                                         enum clickhouse_method method)
{
    const bool is_json = method == CLICKHOUSE_JSON;
    if (method == CLICKHOUSE_ROWBINARY) {
        return add_binary_rows(out, batch);
    }
    for (size_t row = 0; row < batch->row_count; row++) {
        const char *before = is_json ? "{" : "";
        for (size_t i = 0; i < batch->table->column_count; i++) {
            const struct column *column = &batch->table->columns[i];
            if (column->is_generated) {
                continue;
            }
            buffer_add_text(out, before);
            before = is_json ? "," : "\t";
            if (is_json) {
                const struct text_value name = {column->name, (uint32_t)strlen(column->name)};
                add_quoted(out, name, '"');
                buffer_add(out, ":", 1);
            }
            if (column_is_null(&batch->columns[i], row)) {
                buffer_add_text(out, is_json ? "null" : "\\N");
            } else if (is_without_text(column, batch->columns[i].values, row)) {
                return column;
            } else {
                add_value(out, column, batch->columns[i].values, row, is_json);
            }
        }
        buffer_add_text(out, is_json ? "}\n" : "\n");
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

/* Recognises "Code: 395, e.displayText() = DB::Exception: ..." of older servers and "Code: 395.
 * DB::Exception: ..." of newer servers. A line with a tab is not an exception, but a row with
 * several columns. */
static bool is_exception(const char *line)
{
    static const char before[] = "Code: ";
    static const char *const after[] = {", e.displayText() = " CLICKHOUSE_EXCEPTION,
                                        ". " CLICKHOUSE_EXCEPTION};
    const char *const code = line + strlen(before);
    if (strncmp(line, before, strlen(before)) != 0 || strchr(line, '\t') != NULL) {
        return false;
    }
    const size_t digits = strspn(code, "0123456789");
    return digits > 0 && (strncmp(code + digits, after[0], strlen(after[0])) == 0 ||
                          strncmp(code + digits, after[1], strlen(after[1])) == 0);
}

bool clickhouse_take_line(void *context, char *line, size_t length)
{
    struct clickhouse_reading *reading = context;
    size_t count = 0;
    /* if an error occurs after the server has sent status 200, the error's text is at the end of
     * the answer and may have several lines */
    if (is_exception(line)) {
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

static bool is_of_word(char letter)
{
    return letter == '_' || isalnum((unsigned char)letter);
}

/* Returns whether `at`, which points into `sql`, is the beginning of the whole word `word`. */
static bool is_word_at(const char *sql, const char *at, const char *word)
{
    const size_t length = strlen(word);
    return strncasecmp(at, word, length) == 0 && (at == sql || !is_of_word(at[-1])) &&
           !is_of_word(at[length]);
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
        } else if (depth == 0 && !has_values && is_word_at(sql, at, "values")) {
            has_values = true;
        } else if (depth == 0 && !has_values &&
                   (is_word_at(sql, at, "select") || is_word_at(sql, at, "with"))) {
            return 0;
        } else if (*at == '(') {
            rows += depth++ == 0 && has_values ? 1 : 0;
        } else if (*at == ')' && depth > 0) {
            depth--;
        }
    }
    return rows;
}
