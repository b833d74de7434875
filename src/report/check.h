/* The comparison of limits that `append check` shows, for people and as JSON. */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/process.h"
#include "measure/limit.h"

enum {
    CHECK_LINE_BYTES = 240
};

struct check_report {
    uint64_t sessions;   /* asked for */
    const char *target;  /* without its password; NULL = this machine only */
    const char *version; /* of the server; NULL or "" = it does not say */
    const char *note;    /* how the connection works, may be NULL or "" */
    const struct limit_list *list;
    uint64_t fitting;          /* sessions; LIMIT_NONE = no limit was found */
    const struct limit *first; /* that binds; NULL = none */
    const char *failure;       /* why the database was not asked; NULL or "" = it was */
    bool is_short;             /* they certainly do not fit: the line on stderr says so, and once
                                  is enough */
    enum exit_code code;
};

/* "1 to N sessions; the first limit is ...", or that so many do not fit and how many do. */
void check_conclusion(uint64_t sessions, uint64_t fitting, const struct limit *first,
                      char line[CHECK_LINE_BYTES]);

/* The same of a report, and which limit is not known. */
void check_conclude(const struct check_report *report, char line[CHECK_LINE_BYTES]);

/* At most 80 columns wide. */
void check_write_text(FILE *stream, const struct check_report *report);

/* One JSON object. False: out of memory or a failed write (errno is set). */
bool check_write_json(FILE *stream, const struct check_report *report);

#endif
