/*
 * The account of the certify command: the outcome of every transaction.
 *
 * The main process shares the memory of the account with the process of the writers, so the account
 * survives when the writers are killed. The account has one byte for each transaction: the outcome.
 * A writer sets the outcome to SENT before the first call of the transaction, and to KEPT or
 * REJECTED after the server's answer. The server must have all rows of the transactions that it
 * acknowledged before the fault. When the tables are read back after the fault, the audit
 * (certify.h) replaces SENT by KEPT, REJECTED or BROKEN, according to the rows that it found. After
 * the next fault the tables must still agree with this outcome.
 */
#ifndef CERTIFY_ACCOUNT_H
#define CERTIFY_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

enum outcome {
    OUTCOME_NONE, /* the transaction has not begun */
    OUTCOME_SENT, /* the transaction has begun, and no answer counts (none arrived, it arrived after
                     a power loss, or a part of the refused rows was kept): either all of its rows
                     or no row must be in the tables */
    OUTCOME_KEPT, /* the server acknowledged the transaction, or its rows were found after an
                     earlier fault: all rows must be in the tables */
    OUTCOME_REJECTED, /* the server refused the transaction, or its rows were not found after an
                         earlier fault: no row may be in the tables */
    OUTCOME_BROKEN,   /* the transaction broke a rule and was reported; it is not checked again */
};

enum {
    /* greatest number of transactions of a session; a session that reaches it stops writing */
    ACCOUNT_TRANSACTIONS_MAX = 1 << 22,
};

/* The counts of one session. Each session has its own cache line. */
struct account_session {
    _Alignas(64) _Atomic uint64_t next; /* number of the next transaction */
    /* numbers of rows that the server acknowledged and refused */
    _Atomic uint64_t acknowledged, rejected;
};

struct account {
    unsigned sessions;
    uint64_t seed;
    bool has_transactions;
    uint64_t rows_max; /* greatest value of rows_sent; the writers pause when they reach it */
    _Atomic int64_t fault_ns;      /* moment of a power loss: the writers ignore answers that arrive
                                      later; INT64_MAX: no power loss */
    _Atomic int64_t latest_ack_ns; /* moment of the latest acknowledgement since the writers
                                      started; 0: no acknowledgement yet */
    _Atomic uint64_t rows_sent;    /* rows of all transactions that were begun; at most rows_max */
    /* the main process adds 1 to make the writers cut all connections */
    _Atomic unsigned cuts_asked;
    /* the main process adds 1 to make the writers request a checkpoint */
    _Atomic unsigned checkpoints_asked;
    /* moment of the latest request of a checkpoint; 0: no request yet, or the server refused it */
    _Atomic int64_t checkpoint_ns;
    _Atomic bool is_over; /* if true, the writers finish their transactions and end */
    /* number of sessions that ended because of an error; `error` is the first error */
    _Atomic unsigned failed;
    _Atomic bool has_error;
    struct error error;
    struct account_session *each; /* one entry for each session */
    _Atomic uint8_t *outcomes; /* one byte for each transaction: ACCOUNT_TRANSACTIONS_MAX bytes for
                                  each session */
    size_t bytes;
};

/* Maps an account. Returns NULL, with *error filled, when out of memory. */
struct account *account_create(unsigned sessions, uint64_t seed, struct error *error);
void account_destroy(struct account *account);

/* Returns the address of the outcome of a transaction. */
static inline _Atomic uint8_t *account_outcome(const struct account *account, unsigned session,
                                               uint64_t number)
{
    return &account->outcomes[(size_t)session * ACCOUNT_TRANSACTIONS_MAX + number];
}

/* Numbers of rows of all sessions since the account was created. A row is in doubt if its
 * transaction has begun, but the server neither acknowledged nor refused it. The row is still
 * counted as in doubt after the audit has found it or missed it in the tables. */
struct account_rows {
    uint64_t acknowledged, rejected, in_doubt;
};
void account_sum(const struct account *account, struct account_rows *rows);

#endif
