/* Charts drawn by gnuplot, as SVG or as text: one run of it for all of them. */
#ifndef CHART_DRAWINGS_H
#define CHART_DRAWINGS_H

#include <stddef.h>

#include "append/error.h"
#include "base/buffer.h"
#include "chart/chart.h"
#include "chart/script.h"

struct drawing {
    const char *text; /* in the output of drawings; not terminated */
    size_t length;
};

struct drawings {
    struct buffer output;
    struct drawing *entries; /* owned: one for each chart of the list */
    size_t count;
};

/* REJECTED: *error says why; *drawings owns nothing. `columns` is for TERMINAL_TEXT. */
enum status drawings_make(struct drawings *drawings, const struct chart_list *charts,
                          enum chart_terminal terminal, unsigned columns, struct error *error);
void drawings_free(struct drawings *drawings);

#endif
