/*
 * What a run was, in words: its size, its verdict, its figures with their units.
 */
#ifndef CHART_RUN_WORDS_H
#define CHART_RUN_WORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "runs/saved_run.h"

enum {
    RUN_WORDS_BYTES = 64,
    RUN_WORDS_FIGURES = 4
};

/* A column of summary.csv that is shown as one of the four figures. */
struct run_words_figure {
    const char *column; /* max_cpu_percent */
    const char *title;  /* Maximum CPU */
    const char *unit;   /* "%", behind the number */
    const char *axis;   /* of charts: "% of all CPUs" */
    const char *name;   /* of files: "max-cpu" */
};

extern const struct run_words_figure run_words_figures[RUN_WORDS_FIGURES];

/* "200 × 400k", "200 × 10 min". */
const char *run_words_size(const struct saved_run *run, char text[RUN_WORDS_BYTES]);

/* "200 sessions, 400,000 rows" or "200 sessions for 10 min". */
const char *run_words_title(const struct saved_run *run, char text[RUN_WORDS_BYTES]);

/* A count in short: 950, 1k, 2.5k, 10M. */
const char *run_words_count(double value, char text[RUN_WORDS_BYTES]);

/* A figure as people read it, without its unit; "–" when the run has none. */
const char *run_words_value(const struct saved_run *run, const char *column,
                            char text[RUN_WORDS_BYTES]);

/* A time in ms as "12.3 ms"; "–" when it is not known. */
const char *run_words_ms(const json_t *ms, char text[RUN_WORDS_BYTES]);

/* The same for one in s. */
const char *run_words_s(const json_t *s, char text[RUN_WORDS_BYTES]);

/* When it began: "2026-01-31 23:59:59 UTC"; "" when that is not known. */
const char *run_words_started(const struct saved_run *run, char text[RUN_WORDS_BYTES]);

#endif
