#include "chart/drawings.h"

#include <stdlib.h>
#include <string.h>

#include "chart/gnuplot.h"

/* A separator stands before each. */
static enum status split(struct drawings *drawings, size_t wanted, struct error *error)
{
    const char *const text = buffer_text(&drawings->output);
    const char *const end = text + drawings->output.length;
    const char *at = memchr(text, SCRIPT_SEPARATOR, drawings->output.length);
    while (at != NULL && drawings->count < wanted) {
        at++;
        const char *next = memchr(at, SCRIPT_SEPARATOR, (size_t)(end - at));
        drawings->entries[drawings->count++] =
            (struct drawing){at, (size_t)((next == NULL ? end : next) - at)};
        at = next;
    }
    if (drawings->count == wanted && at == NULL) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot drew %zu of %zu charts", drawings->count,
              wanted);
    return STATUS_REJECTED;
}

enum status drawings_make(struct drawings *drawings, const struct chart_list *charts,
                          enum chart_terminal terminal, unsigned columns, struct error *error)
{
    *drawings = (struct drawings){.entries = calloc(charts->count + 1, sizeof(struct drawing))};
    struct buffer script;
    buffer_init(&script);
    buffer_init(&drawings->output);
    for (size_t i = 0; i < charts->count; i++) {
        script_add_chart(&script, &charts->entries[i], terminal, columns);
    }
    enum status status = STATUS_OK;
    if (drawings->entries == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the charts");
        status = STATUS_REJECTED;
    } else if (charts->count > 0) {
        status = gnuplot_run(&script, &drawings->output, error);
    }
    if (status == STATUS_OK) {
        status = split(drawings, charts->count, error);
    }
    buffer_fini(&script);
    if (status != STATUS_OK) {
        drawings_free(drawings);
    }
    return status;
}

void drawings_free(struct drawings *drawings)
{
    buffer_fini(&drawings->output);
    free(drawings->entries);
    *drawings = (struct drawings){0};
}
