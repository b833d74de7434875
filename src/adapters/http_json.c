#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "adapters/http.h"
#include "append/value_text.h"

enum {
    FRACTION_DIGITS = 6
};

/* The cells of one row, and the texts that they point to. */
struct row_buffer {
    struct cell *cells;
    char (*reals)[VALUE_TEXT_BYTES];
    char **texts; /* texts of the cells; owned, freed after each row */
    size_t count;
};

static bool grow(struct row_buffer *room, size_t count)
{
    if (count <= room->count) {
        return true;
    }
    struct cell *const cells = realloc(room->cells, count * sizeof *cells);
    room->cells = cells != NULL ? cells : room->cells;
    char(*const reals)[VALUE_TEXT_BYTES] = realloc(room->reals, count * sizeof *reals);
    room->reals = reals != NULL ? reals : room->reals;
    char **const texts = realloc(room->texts, count * sizeof *texts);
    room->texts = texts != NULL ? texts : room->texts;
    if (cells == NULL || reals == NULL || texts == NULL) {
        return false;
    }
    for (; room->count < count; room->count++) {
        room->texts[room->count] = NULL;
        room->cells[room->count] = (struct cell){.is_null = true};
    }
    return true;
}

static void set_text(struct cell *cell, const char *text, size_t length)
{
    cell->type = COLUMN_TEXT;
    cell->as.text = (struct text_value){text, (uint32_t)length};
}

/* Stores a value in cell i. Returns false if memory runs out. */
static bool set_cell(struct row_buffer *room, size_t i, const json_t *value)
{
    struct cell *const cell = &room->cells[i];
    *cell = (struct cell){.type = COLUMN_INT64};
    switch (json_typeof(value)) {
    case JSON_NULL:
        cell->is_null = true;
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        cell->as.int64 = json_is_true(value) ? 1 : 0;
        return true;
    case JSON_INTEGER:
        cell->as.int64 = json_integer_value(value);
        return true;
    case JSON_REAL:
        set_text(cell, room->reals[i],
                 value_text_real(room->reals[i], json_real_value(value), false));
        return true;
    case JSON_STRING:
        set_text(cell, json_string_value(value), json_string_length(value));
        return true;
    case JSON_OBJECT:
    case JSON_ARRAY:
        room->texts[i] = json_dumps(value, JSON_COMPACT);
        if (room->texts[i] != NULL) {
            set_text(cell, room->texts[i], strlen(room->texts[i]));
        }
        return room->texts[i] != NULL;
    }
    return false;
}

static size_t width_of(const json_t *row)
{
    if (json_is_object(row)) {
        return json_object_size(row);
    }
    return json_is_array(row) ? json_array_size(row) : 1;
}

static bool set_cells(struct row_buffer *room, json_t *row)
{
    const size_t width = width_of(row);
    if (!grow(room, width > 0 ? width : 1)) { /* an empty row also gets a cell */
        return false;
    }
    bool is_ok = true;
    if (json_is_object(row)) {
        size_t i = 0;
        const char *key;
        const json_t *value;
        json_object_foreach(row, key, value)
        {
            is_ok = is_ok && set_cell(room, i, value);
            i++;
        }
    } else if (json_is_array(row)) {
        for (size_t i = 0; is_ok && i < json_array_size(row); i++) {
            is_ok = set_cell(room, i, json_array_get(row, i));
        }
    } else {
        is_ok = set_cell(room, 0, row);
    }
    return is_ok;
}

/* Counts a row and passes it to answer->take, if set. Returns false if memory runs out. */
static bool take_row(struct row_buffer *room, json_t *row, struct answer *answer,
                     bool *take_stopped)
{
    answer->rows++;
    if (answer->take == NULL) {
        return true;
    }
    const bool is_ok = set_cells(room, row);
    *take_stopped = is_ok && !answer->take(answer->context, room->cells, width_of(row));
    for (size_t i = 0; i < room->count; i++) {
        free(room->texts[i]);
        room->texts[i] = NULL;
    }
    return is_ok;
}

static void free_room(struct row_buffer *room)
{
    free(room->cells);
    free(room->reals);
    free(room->texts);
}

enum status http_take_rows(const json_t *rows, struct answer *answer, bool *take_stopped,
                           struct error *error)
{
    struct row_buffer room = {0};
    bool is_ok = true;
    if (!json_is_array(rows)) {
        error_set(error, ERROR_SERVER, 0, NULL, "the answer contains no array of rows");
        return STATUS_REJECTED;
    }
    for (size_t i = 0; is_ok && !*take_stopped && i < json_array_size(rows); i++) {
        is_ok = take_row(&room, json_array_get(rows, i), answer, take_stopped);
    }
    free_room(&room);
    return is_ok ? STATUS_OK : dialect_memory_error(error);
}

bool http_take_row(void *reading, char *text, size_t length)
{
    struct http_reading *const state = reading;
    struct row_buffer room = {0};
    json_t *const row = http_parse(text, length, state->error);
    if (row == NULL) {
        state->status = STATUS_REJECTED;
    } else if (!take_row(&room, row, state->answer, &state->take_stopped)) {
        state->status = dialect_memory_error(state->error);
    }
    free_room(&room);
    json_decref(row);
    return state->status == STATUS_OK && !state->take_stopped;
}

/* Returns the length of the number at the beginning of `text`, or 0 if the text does not begin with
 * a number. */
static size_t number_length(const char *text)
{
    static const char digits[] = "0123456789";
    size_t length = text[0] == '-' ? 1 : 0;
    length += strspn(text + length, digits);
    if (text[length] == '.') {
        length += 1 + strspn(text + length + 1, digits);
    }
    if (text[length] == 'e' || text[length] == 'E') {
        length += text[length + 1] == '+' || text[length + 1] == '-' ? 2 : 1;
        length += strspn(text + length, digits);
    }
    return length;
}

/* Returns true when these bytes are a number too large for jansson. */
static bool is_large_number(const char *text, size_t length)
{
    json_error_t reason;
    json_t *const number = json_loadb(text, length, JSON_DECODE_ANY, &reason);
    json_decref(number);
    return number == NULL && json_error_code(&reason) == json_error_numeric_overflow;
}

/* Adds JSON, quoting the numbers that are too large for jansson. */
static void add_with_large(struct buffer *to, const char *text, size_t length)
{
    for (size_t at = 0, end = 0; at < length; at = end) {
        bool is_large = false;
        if (text[at] == '"') {
            for (end = at + 1; end < length && text[end] != '"'; end++) {
                end += text[end] == '\\' ? 1 : 0;
            }
            end = MIN(end + 1, length);
        } else {
            const size_t size = number_length(text + at);
            end = at + MAX(size, 1);
            is_large = size > 0 && is_large_number(text + at, size);
        }
        buffer_add_text(to, is_large ? "\"" : "");
        buffer_add(to, text + at, end - at);
        buffer_add_text(to, is_large ? "\"" : "");
    }
}

json_t *http_parse(const char *text, size_t length, struct error *error)
{
    static const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_error_t reason;
    json_t *json = json_loadb(text, length, flags, &reason);
    if (json == NULL && json_error_code(&reason) == json_error_numeric_overflow) {
        struct buffer quoted = {0};
        add_with_large(&quoted, text, length);
        json = json_loadb(buffer_text(&quoted), quoted.length, flags, &reason);
        buffer_fini(&quoted);
    }
    if (json == NULL) {
        error_set(error, ERROR_SERVER, 0, NULL, "the answer is not JSON: %s", reason.text);
    }
    return json;
}

/* Returns whether the next byte is inside an element, between elements or outside the array. Within
 * an element, only brackets and strings matter. */
enum http_place http_split(struct http_splitter *splitter, char byte)
{
    const bool is_in_array = splitter->array_depth > 0;
    const bool is_direct = is_in_array && splitter->depth == splitter->array_depth;
    if (splitter->is_in_string) {
        const char *const name = splitter->name;
        const bool ends = byte == '"' && !splitter->is_escaped;
        splitter->is_in_string = !ends;
        splitter->is_escaped = byte == '\\' && !splitter->is_escaped;
        if (ends) {
            splitter->is_name = splitter->matched == strlen(name);
        } else {
            const bool is_same =
                splitter->matched < strlen(name) && name[splitter->matched] == byte;
            splitter->matched = is_same ? splitter->matched + 1 : SIZE_MAX;
        }
        return is_in_array ? HTTP_ELEMENT : HTTP_AROUND;
    }
    if (strchr(" \t\r\n", byte) != NULL && byte != '\0') {
        if (!is_in_array) {
            return HTTP_AROUND;
        }
        return splitter->is_in_element ? HTTP_ELEMENT : HTTP_BETWEEN;
    }
    if (is_direct && byte == ',') {
        splitter->is_in_element = false;
        return HTTP_BETWEEN;
    }
    if (byte == ']' || byte == '}') {
        splitter->depth--;
        if (is_direct) {
            splitter->array_depth = 0;
            splitter->is_in_element = false;
            return HTTP_AROUND;
        }
    } else if (byte == '[' || byte == '{') {
        splitter->depth++;
        if (!is_in_array && byte == '[' && splitter->is_name) {
            splitter->array_depth = splitter->depth;
            splitter->is_name = false;
            return HTTP_AROUND;
        }
    } else if (byte == '"') {
        splitter->is_in_string = true;
        splitter->matched = 0;
    }
    splitter->is_name = splitter->is_name && byte == ':';
    splitter->is_in_element = is_in_array;
    return is_in_array ? HTTP_ELEMENT : HTTP_AROUND;
}

void http_add_string(struct buffer *buffer, const char *bytes, size_t length)
{
    size_t done = 0;
    buffer_add(buffer, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            char escape[8];
            const int size = byte < 0x20 ? snprintf(escape, sizeof escape, "\\u%04x", byte)
                                         : snprintf(escape, sizeof escape, "\\%c", byte);
            buffer_add(buffer, bytes + done, i - done);
            buffer_add(buffer, escape, (size_t)size);
            done = i + 1;
        }
    }
    buffer_add(buffer, bytes + done, length - done);
    buffer_add(buffer, "\"", 1);
}

static void add_real(struct buffer *buffer, double value, bool is_float)
{
    char text[VALUE_TEXT_BYTES];
    if (isfinite(value)) {
        buffer_add(buffer, text, value_text_real(text, value, is_float));
    } else {
        buffer_add_text(buffer, "null");
    }
}

void http_add_json(struct buffer *buffer, const struct column *column,
                   const struct column_data *data, size_t row)
{
    char text[VALUE_TEXT_BYTES];
    const union column_values values = data->values;
    if (column_is_null(data, row)) {
        buffer_add(buffer, "null", 4);
        return;
    }
    switch (column->type) {
    case COLUMN_BOOL:
        buffer_add_text(buffer, values.boolean[row] != 0 ? "true" : "false");
        break;
    case COLUMN_INT16:
    case COLUMN_INT32:
    case COLUMN_INT64:
    case COLUMN_DECIMAL:
        buffer_add(buffer, text, value_text_write(text, column, values, row, 0));
        break;
    case COLUMN_FLOAT32:
        add_real(buffer, (double)values.float32[row], true);
        break;
    case COLUMN_FLOAT64:
        add_real(buffer, values.float64[row], false);
        break;
    case COLUMN_TEXT:
        http_add_string(buffer, values.text[row].bytes, values.text[row].length);
        break;
    case COLUMN_BYTES:
        buffer_add(buffer, "\"", 1);
        http_add_base64(buffer, values.text[row].bytes, values.text[row].length);
        buffer_add(buffer, "\"", 1);
        break;
    case COLUMN_JSON:
        buffer_add(buffer, values.text[row].bytes, values.text[row].length);
        break;
    default:
        buffer_add(buffer, "\"", 1);
        buffer_add(buffer, text, value_text_write(text, column, values, row, FRACTION_DIGITS));
        buffer_add(buffer, "\"", 1);
        break;
    }
}

void http_add_encoded(struct buffer *buffer, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    while (*text != '\0') {
        const size_t length = strspn(text, plain);
        buffer_add(buffer, text, length);
        text += length;
        if (*text != '\0') {
            buffer_add_format(buffer, "%%%02X", (unsigned)(unsigned char)*text++);
        }
    }
}

void http_add_base64(struct buffer *buffer, const void *bytes, size_t length)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const uint32_t bits = (uint32_t)from[i] << 16 |
                              (uint32_t)(left > 1 ? from[i + 1] : 0) << 8 |
                              (uint32_t)(left > 2 ? from[i + 2] : 0);
        const char out[4] = {letters[bits >> 18], letters[bits >> 12 & 63],
                             letters[left > 1 ? bits >> 6 & 63 : 64],
                             letters[left > 2 ? bits & 63 : 64]};
        buffer_add(buffer, out, sizeof out);
    }
}
