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
    uint64_t begun; /* rows of batches that were begun */
    uint64_t batches;
    uint64_t drops;       /* times that the connection was lost */
    uint64_t reconnects;  /* times that it was had again */
    int64_t first_ack_ns; /* since the gate opened; negative = none */
    int64_t last_ack_ns;
    int64_t longest_gap_ns; /* between two acknowledged appends, or the gate and the first */
    size_t exception_count;
    struct row_exception *exceptions; /* owned */

    /* With --verify rows, when `is_verified`. */
    bool is_verified;
    uint64_t present;                /* acknowledged rows that are there */
    uint64_t lost;                   /* acknowledged rows that are not */
    uint64_t unacknowledged_present; /* rows in doubt or rejected that are there */
    uint64_t duplicates;             /* further rows of an identity that is there already */
};

const char *session_outcome_name(enum session_outcome outcome); /* "finished", ... */

#endif
