#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/http.h"
#include "base/value_text.h"

enum {
    REAL_BYTES = 32,
    FRACTION_DIGITS = 6
};

/* The shortest of the texts that stand for this number and no other. The locale is C's: programs
 * that do not ask for another one have it. */
static size_t write_real(char text[REAL_BYTES], double value, bool is_float)
{
    int length = 0;
    for (int digits = is_float ? 6 : 15; digits <= (is_float ? 9 : 17); digits++) {
        length = snprintf(text, REAL_BYTES, "%.*g", digits, value);
        if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) {
            break;
        }
    }
    return (size_t)length;
}

/* One row that is handed out: its cells, and the texts that they need. */
struct row_room {
    struct cell *cells;
    char (*reals)[REAL_BYTES];
    char **texts; /* owned, to be freed behind the row */
    size_t count;
};

static bool grow(struct row_room *room, size_t count)
{
    if (count <= room->count) {
        return true;
    }
    struct cell *const cells = realloc(room->cells, count * sizeof *cells);
    room->cells = cells != NULL ? cells : room->cells;
    char(*const reals)[REAL_BYTES] = realloc(room->reals, count * sizeof *reals);
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

/* False: out of memory. */
static bool set_cell(struct row_room *room, size_t i, const json_t *value)
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
        set_text(cell, room->reals[i], write_real(room->reals[i], json_real_value(value), false));
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
    return json_is_object(row)  ? json_object_size(row)
           : json_is_array(row) ? json_array_size(row)
                                : 1;
}

static bool set_cells(struct row_room *room, json_t *row)
{
    const size_t width = width_of(row);
    if (!grow(room, width > 0 ? width : 1)) { /* of an empty row there is a cell, too */
        return false;
    }
    bool is_good = true;
    if (json_is_object(row)) {
        size_t i = 0;
        const char *key;
        const json_t *value;
        json_object_foreach(row, key, value)
        {
            is_good = is_good && set_cell(room, i, value);
            i++;
        }
    } else if (json_is_array(row)) {
        for (size_t i = 0; is_good && i < json_array_size(row); i++) {
            is_good = set_cell(room, i, json_array_get(row, i));
        }
    } else {
        is_good = set_cell(room, 0, row);
    }
    return is_good;
}

enum status http_take_rows(const json_t *rows, struct answer *answer, struct error *error)
{
    struct row_room room = {0};
    bool is_good = true, is_enough = false;
    if (!json_is_array(rows)) {
        error_set(error, ERROR_SERVER, 0, NULL, "the answer holds no array of rows");
        return STATUS_REJECTED;
    }
    for (size_t i = 0; is_good && !is_enough && i < json_array_size(rows); i++) {
        answer->rows++;
        if (answer->take != NULL) {
            json_t *const row = json_array_get(rows, i);
            is_good = set_cells(&room, row);
            is_enough = is_good && !answer->take(answer->context, room.cells, width_of(row));
            for (size_t j = 0; j < room.count; j++) {
                free(room.texts[j]);
                room.texts[j] = NULL;
            }
        }
    }
    free(room.cells);
    free(room.reals);
    free(room.texts);
    return is_good ? STATUS_OK : dialect_memory_error(error);
}

static void add_string(struct buffer *buffer, const char *bytes, size_t length)
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
    char text[REAL_BYTES];
    if (isfinite(value)) {
        buffer_add(buffer, text, write_real(text, value, is_float));
    } else {
        buffer_add_text(buffer, "null");
    }
}

void http_add_json(struct buffer *buffer, const struct column *column,
                   const struct column_data *data, size_t row)
{
    char text[VALUE_TEXT_BYTES];
    const union column_values values = data->values;
    if (data->is_null != NULL && data->is_null[row] != 0) {
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
        add_string(buffer, values.text[row].bytes, values.text[row].length);
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
