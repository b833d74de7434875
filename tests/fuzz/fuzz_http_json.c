/* Rows in an answer's JSON, and values written as JSON. */
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
            /* a sanitizer sees where it ends */
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
    struct error error = {0};
    struct answer answer = {.take = check_row, .context = &rows};
    const enum status status = http_take_rows(json, &answer, &error);
    fuzz_require(status == (json_is_array(json) ? STATUS_OK : STATUS_REJECTED),
                 "rows are an array");
    fuzz_require(answer.rows == rows, "all rows are handed out, up to the one that is enough");
    fuzz_require(error_is_set(&error) == (status != STATUS_OK), "a failure says why");
}

/* A text comes back from JSON as it was. */
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
                     "a text comes back as it was");
    }
    json_decref(json);
    buffer_fini(&utf8);
    buffer_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (json != NULL) {
        check_rows(json);
    }
    json_decref(json);
    char *text = fuzz_text(data, size);
    check_text(text);
    free(text);
    return 0;
}
