/* Reports the limits that `append check` found, as text and as JSON. */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/process.h"
#include "measure/limit.h"

enum {
    CHECK_LINE_BYTES = 240
};

struct check_report {
    uint64_t sessions;   /* number of sessions that the user asked about */
    const char *target;  /* the target without its password; NULL: only this machine is checked */
    const char *version; /* version of the server; NULL or "": unknown */
    const char *note;    /* description of how the connection works; may be NULL or "" */
    /* text that says whether I/O can be traced; NULL if the user did not ask */
    const char *io_trace;
    const char *workload; /* name of the script; may be NULL */
    /* number of statements that the script prepares in each session */
    unsigned prepared_statements;
    const struct limit_list *list;
    uint64_t fitting;          /* number of sessions that fit; LIMIT_NONE: no limit was found */
    const struct limit *first; /* the limit that is reached first; NULL if no limit was found */
    const char *failure;       /* reason why the database was not asked; NULL or "": it was asked */
    bool is_short; /* the sessions certainly do not fit; the text omits the conclusion, because
                      stderr has it */
    enum exit_code code;
};

/* Writes how many sessions fit and the first limit: "100 sessions fit; up to 197 would; the first
 * limit is ...", or "only 197 of 300 sessions fit; ...". `first` may be NULL. */
void check_describe_fit(uint64_t sessions, uint64_t fitting, const struct limit *first,
                        char line[CHECK_LINE_BYTES]);

/* Writes the line of check_describe_fit for a report, and the names of the unknown limits. */
void check_describe_report(const struct check_report *report, char line[CHECK_LINE_BYTES]);

/* Writes the report in lines of at most 80 columns. */
void check_write_text(FILE *stream, const struct check_report *report);

/* Writes one JSON object. Returns false if memory runs out or a write fails (errno is set). */
bool check_write_json(FILE *stream, const struct check_report *report);

#endif
