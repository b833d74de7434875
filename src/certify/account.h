/*
 * The account of append certify: what became of every transaction.
 *
 * It is memory that the program shares with the process of the writers, so that it survives the
 * writers whatever happens to them. One byte for each transaction says how far it came. A writer
 * sets it to SENT before the first call and to KEPT or REJECTED after the answer; so a transaction
 * is owed exactly if the server had acknowledged it before the fault. Reading back then replaces
 * SENT by what was found, which must not change any more.
 */
#ifndef CERTIFY_ACCOUNT_H
#define CERTIFY_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

enum outcome {
    OUTCOME_NONE,     /* not begun */
    OUTCOME_SENT,     /* begun; no answer before the fault: all of its rows are there, or none */
    OUTCOME_KEPT,     /* acknowledged, or found after an earlier fault: all rows must be there */
    OUTCOME_REJECTED, /* refused, or not found after an earlier fault: no row may be there */
    OUTCOME_BROKEN,   /* reported as a finding: not judged again */
};

enum {
    ACCOUNT_TRANSACTIONS_MAX = 1 << 22, /* a session with so many stops writing */
};

/* A session's part, on a cache line of its own. */
struct account_session {
    _Alignas(64) _Atomic uint64_t next;      /* number of the next transaction */
    _Atomic uint64_t acknowledged, rejected; /* rows */
};

struct account {
    unsigned sessions;
    uint64_t seed;
    bool has_transactions;
    uint64_t rows_max;             /* the writers pause when they have sent so many rows */
    _Atomic int64_t fault_ns;      /* answers that arrive later are not owed; INT64_MAX */
    _Atomic int64_t latest_ack_ns; /* 0: none */
    _Atomic uint64_t rows_sent;
    _Atomic unsigned cut;          /* the writers cut all connections when the number grows */
    _Atomic unsigned checkpoints;  /* the writers begin a checkpoint when the number grows */
    _Atomic int64_t checkpoint_ns; /* when the latest began; 0: none */
    _Atomic bool is_over;          /* the writers finish their transactions and end */
    _Atomic unsigned failed;       /* sessions that ended early; `error` says why the first did */
    _Atomic bool has_error;
    struct error error;
    struct account_session *each; /* by session */
    _Atomic uint8_t *outcomes;    /* ACCOUNT_TRANSACTIONS_MAX for each session */
    size_t bytes;
};

/* Maps an account. Returns NULL, with *error filled, without memory for it. */
struct account *account_create(unsigned sessions, uint64_t seed, struct error *error);
void account_destroy(struct account *account);

/* Returns the outcome of a transaction. */
static inline _Atomic uint8_t *account_outcome(const struct account *account, unsigned session,
                                               uint64_t number)
{
    return &account->outcomes[(size_t)session * ACCOUNT_TRANSACTIONS_MAX + number];
}

/* The rows of all sessions. In doubt are the rows of transactions that are SENT. */
struct account_rows {
    uint64_t acknowledged, rejected, in_doubt;
};
void account_sum(const struct account *account, struct account_rows *rows);

#endif
