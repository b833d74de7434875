/*
 * The ledgers. Those of sessions and rows must balance:
 *
 *   sessions: requested = connected + refused + timed_out + not_started
 *             connected = finished + stopped + dropped
 *   rows:     planned   = acknowledged + rejected + in_doubt + not_sent
 *
 * `stopped` sessions ended early because the run was told to end (a signal, or --on-drop stop),
 * were cut because the server did not answer when the run ended, or had no connection then and
 * waited for their next try. In doubt = the connection died between sending and the answer. Ledgers
 * of several machines are merged by addition.
 */
#ifndef MEASURE_LEDGER_H
#define MEASURE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct session_ledger {
    uint64_t requested;
    uint64_t connected;
    uint64_t refused;     /* open failed in any way but a timeout */
    uint64_t timed_out;   /* open got no answer in time */
    uint64_t not_started; /* no thread could be had, or the run ended before */
    uint64_t finished;    /* appended the whole share, or until the time was over */
    uint64_t stopped;     /* ended early on request, or without answer or connection at the end */
    uint64_t dropped;     /* lost the connection, or had a fatal error */
};

struct row_ledger {
    uint64_t planned; /* with a duration: rows that were begun */
    uint64_t acknowledged;
    uint64_t rejected;
    uint64_t in_doubt;
    uint64_t not_sent;
};

/* With --rate: the batches whose moment came before the run ended. The sum of the
 * others is due: a batch that a lost connection cuts in two counts as two. */
struct batch_ledger {
    uint64_t due;
    uint64_t sent;
    uint64_t not_sent;
};

/* What count(*) before and after the run says about the acknowledged rows. */
enum verification_state {
    VERIFICATION_NONE,   /* not asked for, or the adapter keeps no rows */
    VERIFICATION_FAILED, /* the count after the run could not be had */
    VERIFICATION_DONE,
};

struct verification {
    enum verification_state state;
    uint64_t rows_before;
    uint64_t rows_after;
    uint64_t lost;             /* acknowledged and not there, at least: were all that are there of
                                  this run */
    uint64_t lost_at_most;     /* were all that were there before still there */
    uint64_t in_doubt_arrived; /* rows in doubt that are there */
    uint64_t rejected_arrived; /* rejected rows that are there */
    uint64_t surplus;          /* more than this run can have written: somebody else's */
    bool is_shrunk;            /* fewer rows than before: somebody deleted */
    char reason[240];          /* VERIFICATION_FAILED: why */
};

bool session_ledger_balances(const struct session_ledger *ledger);
bool row_ledger_balances(const struct row_ledger *ledger);

void session_ledger_add(struct session_ledger *into, const struct session_ledger *from);
void row_ledger_add(struct row_ledger *into, const struct row_ledger *from);

/* Fills the figures from the two counts and the ledger. Rows that came are credited to acknowledged
 * ones first, then to those in doubt, then to rejected ones, the rest is surplus; so one that is
 * lost may hide behind one of another kind or of somebody else. */
void verification_settle(struct verification *verification, const struct row_ledger *rows);

#endif
