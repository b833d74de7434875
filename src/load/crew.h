/*
 * The sessions of a search: they are started one at a time, append without end, and single ones can
 * be told to leave.
 *
 * A session that has ended leaves its place to another one, which goes on where the rows of the
 * place stopped, so that no two rows are the same. Main thread only.
 */
#ifndef LOAD_CREW_H
#define LOAD_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "load/session.h"
#include "measure/ledger.h"

struct crew_member;

struct crew {
    struct load *load; /* borrowed */
    struct crew_member *members;
    unsigned capacity;
    unsigned used;       /* members that ever had a session; they are the first ones */
    unsigned first_free; /* no member before it is free */
    unsigned live;       /* sessions whose thread was started and not joined */
    unsigned leaving;    /* of these, told to leave */
    pthread_attr_t attributes;
    struct session_ledger total; /* of all sessions that were joined */
    uint64_t cut;                /* of these, those whose connection was cut */
};

/* False: no memory. */
bool crew_init(struct crew *crew, struct load *load);
void crew_fini(struct crew *crew);

/* Starts one more session; there is a place for it. The result of pthread_create. */
int crew_start(struct crew *crew);

/* Tells this many sessions to leave, those that were started last first. */
void crew_dismiss(struct crew *crew, unsigned count);

/* Makes blocked calls of sessions return: of all, or of those that are to leave. */
void crew_interrupt(struct crew *crew, bool only_leaving);

/* Joins the sessions that have ended and counts how each did, those told to leave only in the
 * total. */
void crew_reap(struct crew *crew, struct session_ledger *ledger);

/* Rows of all sessions that ever were, and the worst lag of a count. After all were joined. */
void crew_sum_up(const struct crew *crew, struct row_ledger *rows, uint64_t *worst_lag);

#endif
