/*
 * The state of a run or a search, and functions for both: they start sessions, cut their
 * connections, join their threads, exchange messages with other ranks, and add up the results. Used
 * by fleet.c, which runs all sessions at once, and search.c, which adds and retires sessions level
 * by level. Main thread.
 */
#ifndef LOAD_FLEET_STATE_H
#define LOAD_FLEET_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mono.h"
#include "load/session.h"

/* Interval at which a rank that waits for other ranks exchanges messages with them. */
#define WAIT_NS (2 * MONO_NS_PER_MS)

struct fleet {
    struct load *load;        /* state that all sessions share; borrowed */
    struct result *result;    /* result that the fleet fills; borrowed */
    struct session *sessions; /* one entry for each place */
    unsigned capacity;
    unsigned used;       /* number of places that ever had a session: places 0 to used - 1 */
    unsigned first_free; /* number of the first place that may be free */
    unsigned live;       /* number of sessions whose thread was started and is not joined */
    unsigned leaving;    /* part of `live`: number of sessions that were asked to leave */
    /* the gate's numbers at the last wait, plus the sessions that were started since */
    struct gate_numbers numbers;
    struct session_ledger total; /* outcomes of all sessions that were joined */
    uint64_t cut;                /* part of `total`: number of sessions whose connection was cut */
    int64_t next_interrupt_ns;   /* moment of the next cut of late sessions; 0: no cut is due yet */
    int64_t next_overdue_ns; /* moment of the next check for overdue calls; only with --timeout */
    bool is_shortage_reported;
    bool is_up; /* every session of the run has connected or has failed; not used in a search */
    bool is_end_reported; /* the sampler knows that the work has ended */
    bool have_ended;      /* the sessions have ended */

    /* State that is exchanged with other ranks. */
    struct ranks_state state;
    struct ranks_orders orders; /* the latest orders of rank 0 */
    int64_t next_exchange_ns, next_count_ns;
};

/* Prepares the load, and places for all sessions of the plan. On OK the caller ends the fleet with
 * fleet_fini. `causes` receives the sessions' errors; the script's mistakes go to the result. */
enum status fleet_init(struct fleet *fleet, struct load *load, struct result *result,
                       struct causes *causes, struct error *error);
void fleet_fini(struct fleet *fleet);

/* Resets the session of a place for its next use. The row numbers of the place continue. */
void fleet_reset_session(struct fleet *fleet, unsigned place);

/* Starts a session. Returns false if the system refused to create the thread. The system would then
 * also refuse threads for further sessions. The causes have the reason. */
bool fleet_start(struct fleet *fleet);

/* Joins a session that has ended or is about to end, or detaches its thread if the session was
 * abandoned. Counts the outcome in the total, and also in *ledger unless the session was asked to
 * leave. */
void fleet_join(struct fleet *fleet, struct session *session, struct session_ledger *ledger);

/* Joins all sessions that have ended and counts their outcomes like fleet_join. */
void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger);

/* Cuts the connections of sessions once next_interrupt_ns is reached, so that blocked calls return,
 * and moves next_interrupt_ns by a second. With only_leaving, cuts only sessions that were asked to
 * leave. */
void fleet_interrupt(struct fleet *fleet, bool only_leaving);

/* Calls on_shortage, unless is_shortage_reported is already true. */
void fleet_report_shortage(struct fleet *fleet);

/* Sends this rank's state to the other ranks and gets rank 0's orders, if the state has changed or
 * the next exchange is due. The caller fills *state, except the members that this function sets:
 * is_stopped, reason, and the counters, which are read every count_ns. With is_waiting, this rank
 * waits for the other ranks and exchanges messages more often. Returns whether messages were
 * exchanged. */
bool fleet_exchange(struct fleet *fleet, const struct ranks_state *state, bool is_waiting,
                    int64_t count_ns);

/* Returns the moment at which the last session finished its work; the moment at which the gate was
 * opened if no session has worked since then. */
int64_t fleet_last_work_ns(const struct fleet *fleet);

/* Fills the members that the results of runs and of searches have in common: the ledgers, the times
 * and the totals. All sessions must have been joined. */
void fleet_sum_up(struct fleet *fleet);

#endif
