/*
 * What people and CI systems read of a run and of a search: progress, the report at the end, 80
 * columns wide but for words that are longer, and JUnit XML.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/notice.h"
#include "measure/levels.h"
#include "measure/result.h"
#include "measure/sampler.h"
#include "plan/plan.h"

enum {
    TEXT_LEVELS_BYTES = 400
};

/* A run: ledgers, latencies, errors, and at the end the four figures and the verdict. Causes beyond
 * the first five are a count. `shortage` as from run_files_shortage. */
void report_write_text(FILE *stream, const struct plan *plan, const struct result *result,
                       const char *shortage);

/* A search: what held, what stopped the next, and a line a level. */
void text_levels_write(FILE *stream, const struct plan *plan, const struct result *result,
                       const struct search *search, const char *shortage);

/* One line for a level while the search goes on, without a line break. */
void text_levels_progress(const struct level *level, char line[TEXT_LEVELS_BYTES]);

/*
 * What is shown while the run goes on, on stderr: one line that is rewritten on a terminal, a
 * plain line every sample interval elsewhere, or as often as it is asked for. Used by the sampler's
 * thread only, then by the main thread after the sampler has stopped.
 */

enum {
    PROGRESS_POINTS = 64
};

/* So many rows were acknowledged so long after the work began. */
struct progress_point {
    double s;
    double rows;
};

struct progress {
    struct notice notice;
    const struct plan *plan;
    int64_t step_ns;      /* not a terminal: a line so often */
    int64_t next_line_ns; /* not a terminal: when the next line is due */
    bool has_told_reads;  /* what reading costs was said */
    size_t point_count;
    struct progress_point points[PROGRESS_POINTS]; /* from which the time left is estimated */
};

void progress_init(struct progress *progress, int fd, const struct plan *plan);

/* Before the first batch: says what the count(*) of the run come to, where that is much and each
 * costs more as the table grows. One of `rows_before` rows took `count_ns`, with the CPUs of this
 * machine; 0: not known. */
void progress_announce(struct progress *progress, uint64_t rows_before, int64_t count_ns);

/* The whole line for one moment, at most `columns` wide (0 = no limit): what matters least is left
 * out first, then the end is cut. `text` has at least `size` bytes. */
void progress_format(const struct progress *progress, const struct sampler_progress *now,
                     unsigned columns, char *text, size_t size);

/* Shows sessions, rows, %, rows/s, p99, server CPU and memory, errors, time left; never wider than
 * the terminal. To be called with every interval: the time left comes from all of them. Nothing is
 * shown with plan->is_quiet. */
void progress_show(struct progress *progress, const struct sampler_progress *now);

/* Takes the rewritten line away. */
void progress_end(struct progress *progress);

/*
 * A run as JUnit XML, for CI systems (Jenkins, GitLab, GitHub): a test case for each ledger, the
 * outcome and each expectation. The same run makes the same file.
 *
 * Texts from outside become valid XML 1.0: markup is escaped, bytes that are not UTF-8 and
 * characters that XML has no place for become U+FFFD.
 */

/* The run that was judged, result->expectations included. False: out of memory or a failed write
 * (errno is set). */
bool junit_write(FILE *stream, const struct plan *plan, const struct result *result);

/* A run that did not begin: one test case with an error, and why. */
bool junit_write_error(FILE *stream, const struct plan *plan, enum exit_code code, const char *why);

/* Adds `text` as the value of an attribute or as text between tags. */
void junit_add_escaped(struct buffer *buffer, const char *text);

#endif
