/* A report as text: the verdict and the four figures of each run, and all charts. */
#ifndef CHART_REPORT_TEXT_H
#define CHART_REPORT_TEXT_H

#include "append/error.h"
#include "base/buffer.h"
#include "chart/report_set.h"

enum {
    REPORT_TEXT_COLUMNS = 80, /* where there is no terminal */
    REPORT_TEXT_COLUMNS_MAX = 160,
};

/* Adds lines of at most `columns`, which is at least 40. REJECTED: *error says why. */
enum status report_text_add(struct buffer *text, const struct report_set *set, unsigned columns,
                            struct error *error);

#endif
