/*
 * What one session came to: a row of sessions.csv.
 *
 * Rows of a session are numbered from 0. Every row of a batch that was begun was acknowledged but
 * for those in `exceptions`.
 */
#ifndef MEASURE_SESSION_SUMMARY_H
#define MEASURE_SESSION_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/ledger.h"

enum session_outcome {
    SESSION_NOT_STARTED,
    SESSION_REFUSED,
    SESSION_TIMED_OUT,
    SESSION_FINISHED,
    SESSION_STOPPED,
    SESSION_DROPPED,
};

/* Rows first … first+rows-1 that were begun but not all acknowledged. */
struct row_exception {
    uint64_t first;
    uint64_t rows;
    uint64_t accepted; /* of these, acknowledged; the server did not say which */
    bool is_in_doubt;  /* the connection died before the answer; else they were rejected */
};

struct session_summary {
    unsigned index; /* n2 of syslog_table */
    bool is_idle;
    enum session_outcome outcome;
    struct row_ledger rows;
    uint64_t begun; /* rows of batches that were begun; of a batch in which the connection was lost
                       before all of it was handed over, those that were */
    uint64_t batches;
    uint64_t drops;       /* times that the connection was lost */
    uint64_t reconnects;  /* times that it was had again */
    uint64_t churns;      /* times that it was closed and opened anew, for --churn */
    int64_t first_ack_ns; /* since the gate opened; negative = none */
    int64_t last_ack_ns;
    int64_t worked_ns;      /* gate opened -> its last answer; 0 = it did not work */
    int64_t longest_gap_ns; /* between two acknowledged appends, the gate and the first, or the last
                               and the end of a session that ended before its share was done */
    size_t exception_count;
    struct row_exception *exceptions; /* owned */
    bool lacks_exceptions;            /* memory ran out for one */

    /* With --verify rows, when `is_verified`. */
    bool is_verified;
    uint64_t present;                /* acknowledged rows that are there */
    uint64_t lost;                   /* acknowledged rows that are not */
    uint64_t unacknowledged_present; /* rows in doubt or rejected that are there */
    uint64_t duplicates;             /* further rows of an identity that is there already */
};

const char *session_outcome_name(enum session_outcome outcome); /* "finished", ... */

/* Acknowledged rows a second of its own working time; negative = it did not work. */
double session_rows_per_s(const struct session_summary *session);

/* Frees a list with what its entries own; takes NULL. */
void session_list_free(struct session_summary *list, size_t count);

#endif
