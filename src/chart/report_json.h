/* What append report wrote, as JSON. */
#ifndef CHART_REPORT_JSON_H
#define CHART_REPORT_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "chart/report_set.h"

struct report_written {
    char page[2 * SAVED_RUN_PATH_BYTES]; /* "": no page was asked for */
    size_t page_bytes;
    char png[2 * SAVED_RUN_PATH_BYTES]; /* what the names of all PNG files begin with */
    size_t png_count;
};

/* Writes one JSON object, indented. False: out of memory or a failed write. */
bool report_json_write(FILE *stream, const struct report_set *set,
                       const struct report_written *written);

#endif
