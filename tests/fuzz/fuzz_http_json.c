/* Rows in the JSON of an answer, and values written as JSON. */
#include "fuzz/fuzz.h"

#include "adapters/http.h"

static bool check_row(void *context, const struct cell *cells, size_t count)
{
    uint64_t *rows = context;
    for (size_t i = 0; i < count; i++) {
        const struct cell *cell = &cells[i];
        fuzz_require(cell->type == COLUMN_INT64 || cell->type == COLUMN_TEXT,
                     "a value is a number or a text");
        if (cell->type == COLUMN_TEXT) {
            /* read the whole text, so that a sanitizer checks its end */
            fuzz_require(cell->as.text.length == 0 ||
                             memchr(cell->as.text.bytes, 0, cell->as.text.length) == NULL ||
                             !cell->is_null,
                         "a text can be read");
        }
    }
    return ++*rows < 100;
}

static void check_rows(const json_t *json)
{
    uint64_t rows = 0;
    bool take_stopped = false;
    struct error error = {0};
    struct answer answer = {.take = check_row, .context = &rows};
    const enum status status = http_take_rows(json, &answer, &take_stopped, &error);
    fuzz_require(status == (json_is_array(json) ? STATUS_OK : STATUS_REJECTED),
                 "only an array has rows");
    fuzz_require(answer.rows == rows, "take gets each row until it returns false");
    fuzz_require(error_is_set(&error) == (status != STATUS_OK), "a failure has an error");
}

/* Checks that the elements of an array in JSON are JSON, and that the text without these
 * elements is JSON. */
static void check_elements(const char *text, size_t size)
{
    struct http_splitter splitter = {.name = "rows"};
    struct buffer around = {0}, element = {0};
    struct error error = {0};
    json_t *const whole = http_parse(text, size, &error);
    enum http_place last = HTTP_AROUND;
    for (size_t i = 0; i < size && whole != NULL; i++) {
        const enum http_place place = http_split(&splitter, text[i]);
        if (last == HTTP_ELEMENT && place != last) {
            json_t *const json = http_parse(buffer_text(&element), element.length, &error);
            fuzz_require(json != NULL, "an element is JSON");
            json_decref(json);
            buffer_clear(&element);
        }
        last = place;
        if (place != HTTP_BETWEEN) {
            buffer_add(place == HTTP_AROUND ? &around : &element, &text[i], 1);
        }
    }
    if (whole != NULL) {
        json_t *const json = http_parse(buffer_text(&around), around.length, &error);
        fuzz_require(json != NULL, "the text without the elements is JSON");
        json_decref(json);
    }
    json_decref(whole);
    buffer_fini(&around);
    buffer_fini(&element);
}

/* Checks that a text that is written as JSON is read as the same text. */
static void check_text(const char *text)
{
    static const struct column column = {.type = COLUMN_TEXT};
    const struct text_value value = {text, (uint32_t)strlen(text)};
    const struct column_data data = {.values.text = &value};
    struct buffer utf8, written;
    buffer_init(&utf8);
    buffer_init(&written);
    text_add_utf8(&utf8, text);
    http_add_json(&written, &column, &data, 0);
    json_t *json = json_loadb(written.bytes, written.length, JSON_DECODE_ANY, NULL);
    if (strcmp(buffer_text(&utf8), text) == 0) {
        fuzz_require(json_is_string(json) && strcmp(json_string_value(json), text) == 0,
                     "a text is read as it was written");
    }
    json_decref(json);
    buffer_fini(&utf8);
    buffer_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct error error = {0};
    json_t *json = http_parse(text, strlen(text), &error);
    fuzz_require(error_is_set(&error) == (json == NULL), "a text that is not JSON has an error");
    if (json != NULL) {
        check_rows(json);
    }
    json_decref(json);
    check_elements(text, strlen(text));
    check_text(text);
    free(text);
    return 0;
}
