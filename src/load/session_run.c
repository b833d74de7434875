#include "base/mono.h"
#include "base/random.h"
#include "load/session.h"
#include "measure/procfs.h"

/*
 * Connections that are opened while the run goes on: after a loss, and for --churn.
 *
 * Before each try after a loss the session sleeps for a random time of up to RECONNECT_FIRST_NS,
 * doubled with every try to RECONNECT_MOST_NS: "full jitter", which spreads those that lost their
 * connections at the same moment (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
 * Blog, 2015). Tries count from the last batch that was answered, by anything but
 * "read-only", so that a server which takes connections and then drops them does not keep the
 * session for ever. No more sessions connect at a time than --connect-concurrency allows. Every
 * wait ends at STOP.
 */

int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce)
{
    int64_t most_ns = RECONNECT_FIRST_NS;
    for (unsigned i = 0; i < tries && most_ns < RECONNECT_MOST_NS; i++) {
        most_ns *= 2;
    }
    most_ns = most_ns < RECONNECT_MOST_NS ? most_ns : RECONNECT_MOST_NS;
    const uint64_t mixed = random_mix(random_mix(seed + session) + nonce);
    return (int64_t)(mixed % ((uint64_t)most_ns + 1));
}

/* One connect under the run's bound for connects at a time. *is_stopped: the run ended first. */
static enum status connect_once(struct session *session, bool *is_stopped)
{
    struct load *load = session->load;
    struct error error;
    error_clear(&error);
    *is_stopped = !gate_take_slot(&load->gate, load->plan->connect_concurrency);
    if (*is_stopped) {
        return STATUS_LOST;
    }
    const enum status status = session_open(session, CAUSE_RECONNECT, &error);
    gate_release_slot(&load->gate);
    if (status != STATUS_OK && error.kind == ERROR_CANCELLED) {
        /* the signal was seen here before the main thread has looked */
        gate_stop(&load->gate, STOP_INTERRUPTED);
        *is_stopped = true;
    }
    return status;
}

/* The connection is gone and nobody on this side has cut it: counts that, and closes what is left
 * of it. One to a read-only server is closed, too: another try may reach the new primary. OK: with
 * --on-drop reconnect the session is connected again and ready to append. LOST: it has to end: not
 * asked for, too many tries, or the run ended first (*is_stopped). FATAL: the server does not want
 * this session any more. */
static enum status reconnect_after_loss(struct session *session, bool *is_stopped)
{
    struct load *load = session->load;
    const struct plan *plan = load->plan;
    const int64_t lost_ns = mono_now_ns();
    const bool is_lost = !session->is_refused;
    if (is_lost) {
        session_count_loss(session);
    }
    session->is_refused = false;
    *is_stopped = false;
    session_close(session);
    if (plan->drop_policy != DROP_RECONNECT) {
        return STATUS_LOST;
    }
    while (session->tries < plan->reconnect_tries) {
        const int64_t pause_ns =
            reconnect_pause_ns(plan->seed, session->index, session->tries, session->tries_total);
        *is_stopped = !gate_sleep_until(&load->gate, mono_now_ns() + pause_ns);
        if (*is_stopped) {
            return STATUS_LOST;
        }
        const enum status status = connect_once(session, is_stopped);
        if (*is_stopped) {
            return STATUS_LOST;
        }
        session->tries++;
        session->tries_total++;
        if (status == STATUS_OK && is_lost) {
            session->reconnects++;
            session_add(session, RECORDER_RECONNECTS, 1);
            recorder_record(load->recorder, session->index, OPERATION_RECOVER,
                            mono_now_ns() - lost_ns);
        }
        if (status == STATUS_OK) {
            return STATUS_OK;
        }
        session_add(session, RECORDER_RECONNECTS_FAILED, 1);
        if (status == STATUS_FATAL) {
            return STATUS_FATAL;
        }
    }
    return STATUS_LOST;
}

/* With --churn, when a connection has had its batches and there is work left: closes it and opens
 * another one. OK also when STOP came first: then the session has no connection. Otherwise it could
 * not be had, which counts as a loss to come. */
static enum status reconnect_churn(struct session *session)
{
    const uint64_t every = session->load->plan->churn_batches;
    if (every == 0 || session->batches % every != 0 || session->begun >= session->quota) {
        return STATUS_OK;
    }
    session_close(session);
    bool is_stopped;
    const enum status status = connect_once(session, &is_stopped);
    if (is_stopped) {
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        session->churns++;
        session_add(session, RECORDER_CHURNS, 1);
    }
    return status;
}

static bool connect_session(struct session *session)
{
    struct load *load = session->load;
    struct error error;
    error_clear(&error);
    const enum status status = session_open(session, CAUSE_CONNECT, &error);
    if (status == STATUS_OK) {
        session_add(session, RECORDER_SESSIONS_CONNECTED, 1);
        atomic_store(&load->timeouts_in_a_row, 0);
        return true;
    }
    if (error.kind == ERROR_CANCELLED) {
        return false; /* the run ended before the server had answered: as good as not started */
    }
    session_add(session, RECORDER_SESSIONS_FAILED, 1);
    session->outcome = error.kind == ERROR_TIMEOUT ? SESSION_TIMED_OUT : SESSION_REFUSED;
    if (error.kind == ERROR_TIMEOUT) {
        atomic_fetch_add(&load->timeouts_in_a_row, 1);
    } else {
        atomic_store(&load->timeouts_in_a_row, 0);
    }
    return false;
}

/* How a session ends that has not appended its share because the gate is at STOP. One whose call
 * had to be cut is not done when the time is over. */
static enum session_outcome outcome_of_stop(struct session *session)
{
    return gate_reason(&session->load->gate) == STOP_DURATION && !session_was_interrupted(session)
               ? SESSION_FINISHED
               : SESSION_STOPPED;
}

static enum session_outcome drop(struct session *session)
{
    session_add(session, RECORDER_SESSIONS_DROPPED, 1);
    if (session->load->plan->drop_policy == DROP_STOP) {
        gate_stop(&session->load->gate, STOP_DROP);
    }
    return SESSION_DROPPED;
}

static bool is_good(enum status status)
{
    return status == STATUS_OK || status == STATUS_REJECTED;
}

static enum session_outcome append_rows(struct session *session)
{
    struct load *load = session->load;
    while (session->begun < session->quota) {
        if (!gate_wait_turn(&load->gate)) {
            return outcome_of_stop(session);
        }
        if (atomic_load_explicit(&session->is_leaving, memory_order_acquire)) {
            return SESSION_FINISHED;
        }
        const uint64_t batches = session->batches;
        enum status status = load->workload->step(session);
        if (is_good(status) && session->batches > batches) {
            status = reconnect_churn(session);
        }
        if (status == STATUS_LOST) {
            if (session_was_interrupted(session)) {
                return outcome_of_stop(session);
            }
            bool is_stopped;
            status = reconnect_after_loss(session, &is_stopped);
            if (is_stopped) {
                return SESSION_STOPPED;
            }
        }
        if (!is_good(status)) {
            return drop(session);
        }
    }
    return SESSION_FINISHED;
}

static void count_times(struct session *session, const struct procfs_schedstat *before,
                        int64_t start_ns)
{
    struct procfs_schedstat after;
    procfs_read_thread(&after);
    session_add(session, RECORDER_ON_CPU_NS, after.on_cpu_ns - before->on_cpu_ns);
    session_add(session, RECORDER_RUN_QUEUE_NS, after.run_queue_ns - before->run_queue_ns);
    session_add(session, RECORDER_SESSION_NS, (uint64_t)(mono_now_ns() - start_ns));
}

static void raise_to(_Atomic int64_t *latest_ns, int64_t now_ns)
{
    int64_t seen_ns = atomic_load(latest_ns);
    while (now_ns > seen_ns && !atomic_compare_exchange_weak(latest_ns, &seen_ns, now_ns)) {
    }
}

static void work(struct session *session)
{
    struct load *load = session->load;
    struct procfs_schedstat before;
    procfs_read_thread(&before);
    if (gate_wait_go(&load->gate)) {
        recorder_begin_work(load->recorder, session->index, load->gate.go_ns);
    }
    const int64_t start_ns = mono_now_ns();
    session->outcome = append_rows(session);
    recorder_end_work(load->recorder, session->index);
    session->work_end_ns = mono_now_ns();
    raise_to(&load->last_work_ns, session->work_end_ns);
    if (load->gate.go_ns > 0) {
        count_times(session, &before, start_ns);
        if (session->begun < session->quota || session->outcome != SESSION_FINISHED) {
            session_note_gap(session, session->work_end_ns);
        }
    }
    if (!atomic_exchange(&load->has_finished_one, true)) {
        sampler_poke(load->sampler); /* the last chance to see the memory of a short run */
    }
    gate_finish_work(&load->gate,
                     session->outcome != SESSION_DROPPED && !atomic_load(&session->is_leaving));
}

/* A server that refuses the statement has answered, too. */
static enum session_outcome prove_alive(struct session *session)
{
    struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    if (gate_is_stopped(&load->gate) && gate_reason(&load->gate) != STOP_DURATION) {
        return SESSION_STOPPED;
    }
    struct error error;
    error_clear(&error);
    static const struct statement question = {.sql = "select 1"};
    session_begin_call(session);
    const enum status status =
        adapter->run(session->conn, &question, NULL, &(struct answer){.take = NULL}, &error);
    session_end_call(session);
    if (is_good(status)) {
        return SESSION_FINISHED;
    }
    session_record_cause(session, CAUSE_IDLE, status, &error);
    if (session_was_interrupted(session)) {
        return SESSION_STOPPED;
    }
    if (status == STATUS_LOST) {
        session_count_loss(session);
    }
    return drop(session);
}

static void stay_idle(struct session *session)
{
    struct gate *gate = &session->load->gate;
    gate_wait_go(gate);
    gate_finish_work(gate, true);
    session->outcome = prove_alive(session);
}

void *session_run(void *argument)
{
    struct session *session = argument;
    struct load *load = session->load;
    const bool is_connected = connect_session(session);
    gate_release_slot(&load->gate);
    if (is_connected) {
        if (session->is_idle) {
            stay_idle(session);
        } else {
            work(session);
        }
        session_add(session, RECORDER_SESSIONS_ENDED, 1);
        session_close(session);
    }
    raise_to(&load->last_end_ns, mono_now_ns());
    atomic_store_explicit(&session->has_ended, true, memory_order_release);
    gate_session_ends(&load->gate);
    return NULL;
}
