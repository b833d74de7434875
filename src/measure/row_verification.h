/*
 * What reading every row of a run back says about each: --verify rows.
 *
 *   acknowledged = present + lost
 *
 * Where the server acknowledged some rows of a batch without saying which, as many of those that
 * are there are taken for the acknowledged ones.
 */
#ifndef MEASURE_ROW_VERIFICATION_H
#define MEASURE_ROW_VERIFICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/ledger.h"
#include "measure/session_summary.h"

struct row_verification {
    enum verification_state state; /* NONE: not asked for; FAILED: the rows could not be read */
    uint64_t read;                 /* rows with this run's tag */
    uint64_t present;              /* acknowledged rows that are there */
    uint64_t lost;                 /* acknowledged rows that are not */
    uint64_t sessions_lost;        /* sessions that have lost some */
    uint64_t in_doubt_present;     /* rows in doubt that are there */
    uint64_t rejected_present;     /* rows that were refused, and are there */
    uint64_t duplicates;           /* further rows of an identity that is there already */
    uint64_t foreign;              /* rows with this run's tag that it did not send */
    char reason[240];              /* FAILED: why */
};

/* Which rows of all sessions were found; one bit each. */
struct row_map;

/* For the rows that the sessions began. NULL: no memory. */
struct row_map *row_map_create(const struct session_summary *sessions, size_t count);
void row_map_destroy(struct row_map *map); /* takes NULL */

/* Notes one row that was read; sessions[i].duplicates and *verification count what has no bit. */
void row_map_add(struct row_map *map, int64_t session, int64_t row,
                 struct session_summary *sessions, struct row_verification *verification);

/* Settles what was found against what was acknowledged: fills the rest of every session and of
 * *verification. */
void row_map_settle(const struct row_map *map, struct session_summary *sessions,
                    struct row_verification *verification);

#endif
