/*
 * The sessions of a run or a search: creates their threads, opens the gate, retires and joins them,
 * and adds up what they came to. Main thread.
 *
 * A run starts all of them, opens the gate when they are up, and waits until they end (fleet_run).
 * A search opens the gate first, adds sessions level by level and tells some to leave again; a
 * session that has ended leaves its place to another one, which goes on where the rows of the place
 * stopped, so that no two rows are the same.
 */
#ifndef LOAD_FLEET_H
#define LOAD_FLEET_H

#include "load/session.h"

struct fleet {
    struct load *load;        /* borrowed */
    struct session *sessions; /* a place each */
    unsigned capacity;
    unsigned used;       /* places that ever had a session; they are the first ones */
    unsigned first_free; /* no place before it is free */
    unsigned live;       /* sessions whose thread was started and not joined */
    unsigned leaving;    /* of these, told to leave */
    bool is_shortage_reported;
    pthread_attr_t attributes;
    struct session_ledger total; /* of all sessions that were joined */
    uint64_t cut;                /* of these, those whose connection was cut */
};

/* Starts every session of the plan, and returns when all have ended. Fills times, stop_reason, both
 * ledgers (but not the verification), worst_lag_rows, batches_late, session_list, fairness and
 * causes of *result, which is zeroed except for causes, already initialised. FATAL: no memory for
 * the sessions, nothing was started. */
enum status fleet_run(struct load *load, struct result *result, struct error *error);

/* For a search. Room for `capacity` sessions; the gate is at READY. Causes are borrowed and
 * initialised. FATAL: no memory, there is nothing to end. */
enum status fleet_init(struct fleet *fleet, struct load *load, unsigned capacity,
                       struct causes *causes, struct error *error);
void fleet_fini(struct fleet *fleet);

/* Starts a session. False: it got no thread, nor would the next ones; why is among the causes. */
bool fleet_start(struct fleet *fleet);

/* Sleeps until something has changed at the gate, or for a short time. */
struct gate_numbers fleet_wait(struct fleet *fleet);

/* Tells this many sessions to leave, those of the last places first. */
void fleet_retire(struct fleet *fleet, unsigned count);

/* Makes blocked calls of sessions return: of all, or of those that are to leave. */
void fleet_interrupt(struct fleet *fleet, bool only_leaving);

/* Joins the sessions that have ended and counts how each did, those told to leave only in the
 * total. */
void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger);

/* Calls on_shortage, once until is_shortage_reported is false again. */
void fleet_report_shortage(struct fleet *fleet);

/* After all were joined: ledgers of all sessions that ever were, worst_lag_rows, sessions_cut, the
 * times, throughput and stop_reason. */
void fleet_sum_up(struct fleet *fleet, struct result *result);

#endif
