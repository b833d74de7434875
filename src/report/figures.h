/* Figures that more than one report shows: their names, and how they are derived. */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "figures/figures.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "plan/plan.h"

/* Fills every figure of a run: the one place that knows where they come from. *set borrows from
 * plan and result. */
void figures_of_result(struct figure_set *set, const struct plan *plan,
                       const struct result *result);

/* Value of a point; of an empty histogram 0. */
int64_t figures_point_ns(const struct histogram *histogram, const struct figure_point *point);

/* "none", "failed", "done". */
const char *figures_verification_name(enum verification_state state);

enum {
    FIGURES_NOTE_BYTES = 160
};

/* Calls that failed: connects, later ones included, appends and reads. */
uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS]);

/* Acknowledged rows by the time from the opening of the gate to the last answer, neither connecting
 * nor leaving in it. Negative: no row could go. */
double figures_append_rows_per_s(const struct result *result);

/* Whether the sessions appended for too short a time for figures that repeat. */
bool figures_is_short(const struct result *result);

/* Writes how many rows the reads of a run met in the table, or "" where there were none or no read.
 * Returns `text`. */
const char *figures_reads_note(const struct result *result, char text[FIGURES_NOTE_BYTES]);

/* True when the server's memory is known. */
bool figures_has_memory(const struct resource_summary *resources);

double figures_seconds(int64_t ns);
double figures_ms(int64_t ns);
double figures_mib(uint64_t bytes);

#endif
