/*
 * The state of a run or a search, and functions for both: they start sessions, cut their
 * connections, join their threads, exchange messages with other ranks, and add up the results. Used
 * by fleet.c, which runs all sessions at once, and search.c, which adds or removes sessions from
 * one load level to the next. Main thread.
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
    struct session *sessions; /* array of all sessions; a place is an index of this array */
    unsigned capacity;
    unsigned used;       /* places 0 to used - 1 have or had a session */
    unsigned first_free; /* no place before this place is free */
    unsigned live;       /* number of sessions whose thread was started and is not joined */
    unsigned leaving;    /* number of live sessions that were asked to leave */
    /* the gate's numbers at the latest wait; sessions started since then are added to
     * `connecting` */
    struct gate_numbers numbers;
    struct session_ledger total; /* outcomes of all sessions that were joined */
    uint64_t cut;                /* number of joined sessions whose connection was cut */
    int64_t next_interrupt_ns;   /* moment at which connections of late sessions are cut next; 0:
                                    not set yet */
    int64_t next_overdue_ns; /* moment of the next check for overdue calls; only with --timeout */
    bool is_shortage_reported;
    bool is_up; /* every session of the run has connected or has failed; not used in a search */
    bool is_end_reported; /* the end of the work was reported to on_done and the sampler */
    bool have_ended;      /* all sessions have ended */

    /* State that is exchanged with other ranks. */
    struct ranks_state state;
    struct ranks_orders orders; /* the latest orders of rank 0 */
    int64_t next_exchange_ns, next_count_ns;
};

/* Prepares *load, and allocates all sessions of the plan. On OK the caller ends the fleet with
 * fleet_fini. `causes` receives the sessions' errors; result->causes receives mistakes in the
 * script. */
enum status fleet_init(struct fleet *fleet, struct load *load, struct result *result,
                       struct causes *causes, struct error *error);
void fleet_fini(struct fleet *fleet);

/* Prepares a place for its next session. Row numbers continue after the rows of the previous
 * session at this place. */
void fleet_reset_session(struct fleet *fleet, unsigned place);

/* Starts a session. If the system refuses to create the thread, adds the reason to load->causes and
 * returns false. The system would then also refuse threads for further sessions. */
bool fleet_start(struct fleet *fleet);

/* Joins a session that has ended or is about to end, or detaches its thread if the session was
 * abandoned. Counts the outcome in fleet->total, and also in *ledger unless the session was asked
 * to leave. */
void fleet_join(struct fleet *fleet, struct session *session, struct session_ledger *ledger);

/* Joins all sessions that have ended and counts their outcomes like fleet_join. */
void fleet_join_ended(struct fleet *fleet, struct session_ledger *ledger);

/* Cuts the connections of all sessions or, if only_leaving is true, of the sessions that were asked
 * to leave, so that blocked calls return. After STOP, also ends sessions that are stuck in the
 * script: see session_leave. Does nothing before next_interrupt_ns. After that moment, sets
 * next_interrupt_ns to a second from now. */
void fleet_interrupt(struct fleet *fleet, bool only_leaving);

/* Calls on_shortage, unless is_shortage_reported is already true. */
void fleet_report_shortage(struct fleet *fleet);

/* If this rank's state has changed or the next exchange is due, sends the state to the other ranks
 * and receives the orders of rank 0. The caller fills *state, except the members that this function
 * sets: is_stopped, reason, and the counters, which are read every count_ns. If is_waiting is true,
 * this rank waits for the other ranks, and exchanges are due more often. Returns whether messages
 * were exchanged. */
bool fleet_exchange(struct fleet *fleet, const struct ranks_state *state, bool is_waiting,
                    int64_t count_ns);

/* Returns the latest moment at which a session finished its work, or the moment at which the gate
 * was opened if no session has finished since then. */
int64_t fleet_last_work_ns(const struct fleet *fleet);

/* Fills the members that the results of runs and of searches have in common: the ledgers, the times
 * and the totals. All sessions must have been joined. */
void fleet_sum_up(struct fleet *fleet);

#endif
