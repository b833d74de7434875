/*
 * The log of transactions (--log-transactions): a row for each transaction, or for a sample of
 * them.
 *
 * No session waits for the disk: a session puts its rows into a ring in memory, and one thread
 * takes the rows out and writes them. A ring serves many sessions and has its own lock. The rings
 * are allocated once; their total size does not depend on the number of sessions. A row whose ring
 * is full is dropped and counted.
 */
#ifndef MEASURE_TRANSACTION_LOG_H
#define MEASURE_TRANSACTION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/random.h"

enum {
    /* number of rows for which all rings together have room: 14 MiB of address space; rows that are
     * never used take no memory */
    TRANSACTION_LOG_ROWS = 1 << 18,
    TRANSACTION_LOG_CHUNK = 256 /* maximum number of rows that one call takes */
};

/* A transaction, batch or read. The texts are borrowed until the log ends. */
struct transaction_log_row {
    int64_t end_ns; /* moment of the end, since the sessions began to work (the gate opened) */
    uint64_t turn;  /* number of the session's turn, from 0; see struct transaction_log_choice */
    const char *transaction;
    const char *outcome;
    int64_t latency_ns;  /* latency in ns; -1: unknown */
    int64_t response_ns; /* response time in ns; -1: there is no rate */
    unsigned session;
    uint32_t tries;
};

/* The numbers of rows that were chosen for the log: rows that were written to the file, and rows
 * that are missing from it. */
struct transaction_log_counts {
    uint64_t written, missing;
};

struct transaction_log;

/* Makes a log for a share of the turns of `sessions` sessions. `share` is above 0 and at most 1,
 * `sessions` at least 1. Returns NULL when out of memory. */
struct transaction_log *transaction_log_create(double share, uint64_t seed, unsigned sessions);
void transaction_log_destroy(struct transaction_log *log); /* `log` may be NULL */

/* Decides which turns of one session are in the log. In a run with a script, a turn is a
 * transaction; in a run without a script, a batch and the read after it. If all members are zero,
 * no turn is in the log. */
struct transaction_log_choice {
    bool is_on;
    uint64_t key;   /* key of the hash of the turns; made from the seed and the session */
    uint64_t bound; /* a turn is in the log if its hash is at most this number */
};

/* Returns which turns of a session are logged. The choice depends only on the share, the seed and
 * the session. If `log` is NULL, no turn is logged. */
struct transaction_log_choice transaction_log_choose(const struct transaction_log *log,
                                                     unsigned session);

/* Returns whether a turn is in the log. */
static inline bool transaction_log_takes(const struct transaction_log_choice *choice, uint64_t turn)
{
    return choice->is_on && random_mix(choice->key + turn) <= choice->bound;
}

/* Adds a row. Any thread may call this function. */
void transaction_log_add(struct transaction_log *log, const struct transaction_log_row *row);

/* Waits until a ring is half full or the log has ended, but for half a second at most. Returns true
 * if transaction_log_end was called: the rows that are still in the rings are then the last rows.
 * Only the writing thread may call transaction_log_wait and transaction_log_take. */
bool transaction_log_wait(struct transaction_log *log);

/* Takes the oldest rows out of the next ring that has rows. Returns their number, or 0 if all rings
 * are empty. */
size_t transaction_log_take(struct transaction_log *log,
                            struct transaction_log_row rows[TRANSACTION_LOG_CHUNK]);

/* Asks the writing thread to end. No row may be added afterwards. */
void transaction_log_end(struct transaction_log *log);

/* Returns how many rows were dropped. */
uint64_t transaction_log_dropped(struct transaction_log *log);

#endif
