#include "load/schedule.h"

#include <math.h>
#include <sys/param.h>

#include "load/account.h"
#include "load/arrivals.h"

/* The latest due time, 73 years after the gate opened. Work that is due later counts as due at this
 * time. */
#define LATEST_NS ((double)(INT64_MAX / 4))

enum {
    RANDOM_UNSENT_MAX = 100000 /* maximum number of random arrivals that are computed to count a
                                  session's work that was never begun */
};

static uint64_t most_at_once(const struct plan *plan)
{
    return plan->script != NULL ? 1 : plan->batch_rows;
}

/* Returns the number of rows in the session's batch that follows the first `begun` rows. */
static uint64_t batch_rows_after(const struct session *session, uint64_t begun)
{
    return MIN(session_share(session) - begun, most_at_once(session->load->plan));
}

/* A rate and the sessions that share it: all sessions of the run, or those of a group. */
struct pace {
    const struct ramp *rate;
    unsigned sessions;
    unsigned member; /* number of the session among these sessions */
};

static struct pace pace_of(const struct session *session)
{
    const struct plan *plan = session->load->plan;
    const struct group_place *place = &session->group;
    return plan->has_group_rates
               ? (struct pace){&plan->groups[place->group].rate,
                               plan->groups[place->group].sessions, place->member}
               : (struct pace){&session->epoch->rate, MIN(plan->sessions, session->epoch->sessions),
                               session->index};
}

bool session_has_rate(const struct session *session)
{
    return ramp_highest(pace_of(session).rate) > 0;
}

/* Returns the moment at which the session's epoch begins. */
static int64_t epoch_start_ns(const struct session *session)
{
    return session->epoch->start_ns == 0 ? session->load->gate.go_ns : session->epoch->start_ns;
}

bool session_works_in_epoch(const struct session *session)
{
    return !session->epoch->is_paused && session->index < session->epoch->sessions;
}

/* Returns the number of rows (or transactions) in one round, in which each session that shares the
 * rate sends one batch. */
static double round_of(const struct session *session)
{
    return (double)most_at_once(session->load->plan) * pace_of(session).sessions;
}

/* Returns the time from the beginning of the epoch until `rows` rows (or transactions) are due. The
 * rows of all sessions that share the rate count. */
static int64_t due_ns_of(const struct session *session, double rows)
{
    return (int64_t)fmin(ramp_due_ns(pace_of(session).rate, rows), LATEST_NS);
}

/* Returns the intended start of the batch (or transaction) after `begun` rows. Without --arrivals
 * poisson, the rate determines a moment for every row of the run, and the sessions take turns. With
 * --arrivals poisson, each batch begins at one of the session's random arrivals. */
static int64_t intended_start_ns(const struct session *session, struct arrivals *arrivals,
                                 uint64_t begun)
{
    const struct plan *plan = session->load->plan;
    const struct pace pace = pace_of(session);
    const uint64_t most = most_at_once(plan);
    const double before = plan->arrival_mode == ARRIVALS_POISSON
                              ? arrivals_at(arrivals, (begun + most - 1) / most) * round_of(session)
                              : (double)(begun - session->epoch_begun) * pace.sessions +
                                    (double)pace.member * (double)batch_rows_after(session, begun);
    return epoch_start_ns(session) + due_ns_of(session, before);
}

uint64_t session_next_rows(const struct session *session)
{
    return batch_rows_after(session, session_begun(session));
}

int64_t session_next_due_ns(struct session *session)
{
    return intended_start_ns(session, &session->arrivals, session_begun(session));
}

int64_t session_last_due_ns(const struct session *session)
{
    const struct arrivals *arrivals = &session->arrivals;
    return arrivals->count == 0 ? 0 : due_ns_of(session, arrivals->last * round_of(session));
}

/* Returns how many batches (or transactions) of a session become due between two moments. */
static double due_between(const struct session *session, int64_t from_ns, int64_t until_ns)
{
    const struct ramp *rate = pace_of(session).rate;
    const int64_t start_ns = epoch_start_ns(session);
    return (ramp_sum(rate, until_ns - start_ns) - ramp_sum(rate, from_ns - start_ns)) /
           round_of(session);
}

uint64_t session_count_unsent(struct session *session, int64_t from_ns, int64_t end_ns,
                              int64_t waited_until_ns)
{
    const struct plan *plan = session->load->plan;
    struct recorder *recorder = session->load->recorder;
    const uint64_t share = session_share(session), batch = most_at_once(plan);
    /* a copy, because the session may still need its own arrivals */
    struct arrivals arrivals = session->arrivals;
    arrivals.most = arrivals.count + RANDOM_UNSENT_MAX;
    uint64_t unsent = 0;
    if (!session_works_in_epoch(session)) {
        return 0;
    }
    for (uint64_t begun = session_begun(session); begun < share;) {
        const int64_t due_ns = intended_start_ns(session, &arrivals, begun);
        const bool is_random =
            plan->arrival_mode == ARRIVALS_POISSON && arrivals.count < arrivals.most;
        if (due_ns >= end_ns) {
            break;
        }
        if (due_ns < from_ns) { /* the warm-up is not counted */
            const double skipped = is_random ? 1 : due_between(session, due_ns, from_ns);
            begun += skipped < 2 ? 1 : (uint64_t)fmin(skipped, (double)(share - begun));
            continue;
        }
        /* Count several full batches at once if they are certain to fall into the same bucket of
         * the histogram and to be due before the end. */
        const int64_t waited_ns = waited_until_ns - due_ns;
        const int64_t lowest_ns = waited_ns < HISTOGRAM_LIMIT_NS
                                      ? histogram_bucket_low_ns(histogram_bucket(waited_ns))
                                      : HISTOGRAM_LIMIT_NS;
        const int64_t left_ns = end_ns - due_ns;
        const int64_t room_ns = waited_ns - lowest_ns < left_ns ? waited_ns - lowest_ns : left_ns;
        const double alike = is_random ? 0 : due_between(session, due_ns, due_ns + room_ns) - 1;
        const uint64_t full = (share - begun) / batch;
        uint64_t count = 1;
        if (alike >= 1 && full >= 1) {
            count = alike < (double)full ? (uint64_t)alike : full;
        }
        recorder_record(recorder, session->place, OPERATION_RESPONSE, waited_ns);
        if (count > 1) {
            /* record the other batches with their mean wait: at a constant rate the batches are
             * evenly spaced, so the sum of the waits stays exact */
            const int64_t second_ns = intended_start_ns(session, &arrivals, begun + batch);
            const int64_t last_ns =
                intended_start_ns(session, &arrivals, begun + (count - 1) * batch);
            recorder_record_times(recorder, session->place, OPERATION_RESPONSE,
                                  waited_until_ns - second_ns - (last_ns - second_ns) / 2,
                                  count - 1);
        }
        begun += count > 1 ? count * batch : batch_rows_after(session, begun);
        unsent += count;
    }
    session_add(session, RECORDER_RESPONSES_UNANSWERED, unsent);
    return unsent;
}

/* Counts the work of the session's epoch that was due before end_ns but not begun. Does not count
 * transactions that were due in the warm-up. */
static void note_unsent(struct session *session, int64_t end_ns, int64_t waited_until_ns)
{
    const struct load *load = session->load;
    const bool has_script = load->plan->script != NULL;
    const int64_t from_ns = has_script ? load->gate.go_ns + load->plan->warm_up_ns : 0;
    if (!session_has_rate(session)) {
        return;
    }
    const uint64_t unsent = session_count_unsent(session, from_ns, end_ns, waited_until_ns);
    if (has_script) {
        session_add(session, RECORDER_TRANSACTIONS_NOT_BEGUN, unsent);
        session_add(session, RECORDER_TRANSACTIONS_DUE, unsent);
    } else {
        session->unsent += unsent;
    }
}

void session_follow_epochs(struct session *session)
{
    struct epoch *next;
    while ((next = atomic_load(&session->epoch->next)) != NULL) {
        note_unsent(session, next->start_ns, next->start_ns);
        session->epoch = next;
        session->epoch_begun = session_begun(session);
    }
}

void session_close_schedule(struct session *session, int64_t end_ns)
{
    session_follow_epochs(session);
    note_unsent(session, end_ns, MAX(session->work_end_ns, end_ns));
}
