/*
 * The account of append certify: the outcome of every transaction.
 *
 * The account is memory that the program shares with the process of the writers, so the account
 * survives the writers, whatever happens to them. It has one byte for each transaction: the
 * outcome. A writer sets the outcome to SENT before the first call of the transaction, and to KEPT
 * or REJECTED after the server's answer. So the server owes a transaction if, and only if, it
 * acknowledged the transaction before the fault. Reading back then replaces SENT by the outcome
 * that it finds, and this outcome must not change afterwards.
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
    OUTCOME_SENT, /* the transaction has begun, and no answer arrived before the fault: all of its
                     rows must be in the tables, or none of them */
    OUTCOME_KEPT, /* the server acknowledged the transaction, or an earlier reading back found it:
                     all rows must be in the tables */
    OUTCOME_REJECTED, /* the server refused the transaction, or an earlier reading back did not find
                         it: no row may be in the tables */
    OUTCOME_BROKEN,   /* a finding about the transaction was reported: it is not judged again */
};

enum {
    /* highest number of transactions that a session may make; a session that reaches it stops
     * writing */
    ACCOUNT_TRANSACTIONS_MAX = 1 << 22,
};

/* The counts of one session, on a cache line of their own. */
struct account_session {
    _Alignas(64) _Atomic uint64_t next; /* number of the next transaction */
    /* numbers of rows that the server acknowledged and refused */
    _Atomic uint64_t acknowledged, rejected;
};

struct account {
    unsigned sessions;
    uint64_t seed;
    bool has_transactions;
    uint64_t rows_max;             /* most rows that the writers send before they pause */
    _Atomic int64_t fault_ns;      /* moment of a power loss: transactions answered later are not
                                      owed; INT64_MAX: no power loss */
    _Atomic int64_t latest_ack_ns; /* moment of the latest acknowledgement since the writers were
                                      started; 0: no acknowledgement yet */
    _Atomic uint64_t rows_sent;    /* rows of all transactions that were begun; at most rows_max */
    _Atomic unsigned cuts_asked;   /* raised by 1 to make the writers cut all connections */
    _Atomic unsigned checkpoints_asked; /* raised by 1 to make the writers begin a checkpoint */
    /* moment at which the latest checkpoint began; 0: no checkpoint has begun */
    _Atomic int64_t checkpoint_ns;
    _Atomic bool is_over; /* the writers finish their transactions and end */
    /* number of sessions that ended early; `error` has the reason of the first */
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

/* Numbers of rows since the account was created, of all sessions together. Rows in doubt are the
 * rows of transactions that were begun and neither acknowledged nor refused. A row in doubt stays
 * counted once, whatever a later reading back finds. */
struct account_rows {
    uint64_t acknowledged, rejected, in_doubt;
};
void account_sum(const struct account *account, struct account_rows *rows);

#endif
