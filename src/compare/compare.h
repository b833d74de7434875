/*
 * Two runs, or two sweeps, side by side.
 *
 * Of two runs only the pace is tested: one run says nothing of how much its other figures vary from
 * run to run. Of two sweeps with --repeat throughput and the append latencies of each cell are.
 *
 * A tested figure is LESS or MORE only when its whole interval of confidence lies beyond the
 * threshold: a difference must be certain and large enough to matter. It is ALIKE when the interval
 * lies within the threshold on both sides. Otherwise the measurement is too coarse to tell, which
 * is no finding.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/bound.h"
#include "base/figure.h"
#include "compare/statistics.h"

#define COMPARE_PACE "pace_rows_per_s" /* acknowledged rows / time of appending; no column */

enum {
    COMPARE_WHY_BYTES = 192,
    COMPARE_PATH_BYTES = 1024,
    COMPARE_RATIO_BYTES = 32,
};

enum compare_finding {
    COMPARE_NOT_TESTED,
    COMPARE_UNSURE, /* too coarse to tell, or too short: see why */
    COMPARE_ALIKE,
    COMPARE_LESS,
    COMPARE_MORE,
};

struct compare_test {
    enum compare_finding finding;
    bool has_ratio; /* ratio and its interval are known */
    struct statistics_ratio ratio;
    char why[COMPARE_WHY_BYTES]; /* of UNSURE; else "" */
};

struct compare_figure {
    char name[FIGURE_NAME_BYTES]; /* a column of summary.csv, or COMPARE_PACE */
    bool is_known_a, is_known_b;
    double a, b;    /* of a sweep: the median of the cell's runs */
    bool has_ratio; /* both are known */
    double ratio;   /* b / a; infinite when only a is 0; 1 when both are */
    struct compare_test test;
    bool is_regression; /* tested, worse, and nothing clouds it */
};

struct compare_cell {
    uint64_t sessions, records;     /* of a sweep's cell */
    size_t a_runs, b_runs;          /* that the figures come from */
    struct compare_figure *figures; /* owned */
    size_t count;
};

struct compare_side {
    char folder[COMPARE_PATH_BYTES];
    char target[512];
    char started_utc[40];
    char verdict[40]; /* of a sweep: its state */
};

struct comparison {
    bool is_sweep;
    double threshold; /* 0.05: what differs by less does not matter */
    struct compare_side sides[2];
    json_t *differences;                /* owned: [{"name", "a", "b"}] */
    json_t *cautions;                   /* owned: [text] */
    bool is_clouded;                    /* a difference may not be the server's */
    char other_rows[COMPARE_WHY_BYTES]; /* the tables began with other rows, which reads pay for:
                                           nothing is found; "" = they did not */
    struct compare_cell *cells;         /* owned; one of two runs */
    size_t cell_count;
    size_t cells_alone; /* of sweeps: cells that only one of them has */
    size_t crossed_count;
    json_t *crossed; /* owned: [{"bound", "figure", "a", "b", "ratio", "sessions", "records"}] */
};

/* Reads both folders and compares them. REJECTED: *error says which is not what it should be, or
 * ERROR_MEMORY; *comparison owns nothing. */
enum status compare_read(struct comparison *comparison, const char *a, const char *b,
                         double threshold, struct error *error);
void compare_free(struct comparison *comparison);

/* Holds the ratios against bounds that say what is a failure ("throughput<0.95"); a ratio that is
 * not known crosses its bound. REJECTED: ERROR_USAGE, a bound has no such figure. */
enum status compare_check_bounds(struct comparison *comparison, const struct bound *bounds,
                                 size_t count, struct error *error);

/* The ratio of an entry of `crossed` for people: "0.8", "5 to 0", which is no number, or "not
 * known". Returns `text`. */
const char *compare_crossed_ratio(const json_t *entry, char text[COMPARE_RATIO_BYTES]);

/* The figure of a cell; NULL: there is none of this name. */
const struct compare_figure *compare_find(const struct compare_cell *cell, const char *name);

/* "not tested", "unsure", "alike", "less", "more". */
const char *compare_finding_name(enum compare_finding finding);

/* True for what is good when it is high. */
bool compare_is_high_good(const char *figure);

/* Sets the finding from a ratio and its interval. */
void compare_judge(struct compare_test *test, double threshold);

#endif
