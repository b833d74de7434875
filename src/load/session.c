#include "load/session.h"

#include <sys/param.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "measure/procfs.h"
#include "plan/facts.h"

/* A batch that begins so long after its intended moment is late. */
#define LATE_NS (100 * MONO_NS_PER_MS)

/* Closes the connection; nothing when there is none. */
static void close_connection(struct session *session)
{
    if (session->conn != NULL) {
        session_add(session, RECORDER_CONNECTIONS_CLOSED, 1);
        prepared_end(&session->prepared);
        line_close(&session->line, &session->conn);
    }
}

/* The session goes to one of several hosts: what follows is counted there. */
static void go_to_host(struct session *session, unsigned host)
{
    session->has_moved |= session->is_settled && host != session->host;
    session->host = host;
    recorder_set_host(session->load->recorder, session->place, host);
}

/* Connects to the session's host for `phase`: CAUSE_CONNECT the first time, CAUSE_HOST where
 * another host is tried next, later CAUSE_RECONNECT; times and counts that, shows the connection to
 * the main thread, and gets it ready. What fails is blamed, unless the run was to end before the
 * server had answered (ERROR_CANCELLED). */
static enum status open_connection(struct session *session, enum cause_phase phase,
                                   struct error *error)
{
    struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    struct target target = target_at(load->plan, session->host);
    target.facts = &load->setup->connection.facts;
    session->is_overdue = false; /* that was the connection before */
    const int64_t start_ns = mono_now_ns();
    const enum status status = line_open(&session->line, &target, &session->conn, error);
    session->prepared = (struct prepared_set){.adapter = adapter, .conn = session->conn};
    const int64_t end_ns = mono_now_ns();
    if (status != STATUS_OK) {
        if (error->kind != ERROR_CANCELLED) {
            session_add(session, RECORDER_CONNECTS_FAILED, 1);
            session_blame(session, phase, NULL, status, error);
        }
        return status == STATUS_FATAL ? STATUS_FATAL : STATUS_LOST;
    }
    recorder_record(load->recorder, session->place,
                    phase == CAUSE_RECONNECT ? OPERATION_RECONNECT : OPERATION_CONNECT,
                    end_ns - start_ns);
    session_add(session, RECORDER_CONNECTIONS_OPENED, 1);
    if (adapter->get_ready != NULL && !session->is_idle &&
        load->setup->own->table.column_count > 0) {
        session_begin_call(session);
        adapter->get_ready(session->conn, &load->setup->own->table);
        session_end_call(session);
    }
    const enum status ready = session->transactions != NULL && !session->is_idle
                                  ? transactions_connected(session, error)
                                  : STATUS_OK;
    if (ready != STATUS_OK) {
        close_connection(session);
    }
    stack_give_back();
    return ready;
}

/* The host at which a session begins. */
static unsigned first_host(const struct session *session)
{
    const struct plan *plan = session->load->plan;
    const uint64_t drawn = random_mix(random_mix(plan->facts->seed) + session->index);
    const uint64_t number = plan->host_policy == HOST_FIRST    ? 0
                            : plan->host_policy == HOST_RANDOM ? drawn
                                                               : session->index;
    return plan->host_count == 0 ? 0 : (unsigned)(number % plan->host_count);
}

/* The first connect: of several hosts the next one is tried, until one takes the session. */
static enum status connect_first(struct session *session, struct error *error)
{
    const unsigned hosts = (unsigned)session->load->plan->host_count;
    const unsigned first = first_host(session);
    unsigned tried = 0;
    enum status status;
    do {
        const bool is_last = tried + 1 >= hosts;
        error_clear(error);
        go_to_host(session, hosts == 0 ? 0 : (first + tried) % hosts);
        status = open_connection(session, is_last ? CAUSE_CONNECT : CAUSE_HOST, error);
        tried++;
    } while (status != STATUS_OK && tried < hosts && error->kind != ERROR_CANCELLED &&
             !gate_is_stopped(&session->load->gate));
    session->is_settled |= status == STATUS_OK;
    return status;
}

/* What a session has a share of and begins one after the other: rows, in batches; with a script
 * transactions. */
static uint64_t share_of(const struct session *session)
{
    return session->load->plan->script != NULL ? session->turn_quota : session->quota;
}

static uint64_t begun_by(const struct session *session)
{
    return session->load->plan->script != NULL ? session->turn : session->sum.begun;
}

static uint64_t most_at_once(const struct plan *plan)
{
    return plan->script != NULL ? 1 : plan->batch_rows;
}

/* Of the batch that follows `begun` rows. */
static uint64_t batch_rows_after(const struct session *session, uint64_t begun)
{
    return MIN(share_of(session) - begun, most_at_once(session->load->plan));
}

/* With a rate every row or transaction of the run has its moment: the sessions take turns. */
static int64_t intended_start_ns(const struct session *session, uint64_t begun)
{
    const struct plan *plan = session->load->plan;
    const double before = (double)begun * plan->sessions +
                          (double)session->index * (double)batch_rows_after(session, begun);
    const double seconds = before / (double)plan->rate_rows_per_s;
    return session->load->gate.go_ns + (int64_t)(seconds * (double)MONO_NS_PER_S);
}

uint64_t session_count_unsent(struct session *session, int64_t from_ns, int64_t end_ns,
                              int64_t waited_until_ns)
{
    const struct plan *plan = session->load->plan;
    struct recorder *recorder = session->load->recorder;
    const uint64_t share = share_of(session), batch = most_at_once(plan);
    const double step_ns =
        (double)batch * plan->sessions / (double)plan->rate_rows_per_s * (double)MONO_NS_PER_S;
    uint64_t unsent = 0;
    for (uint64_t begun = begun_by(session); begun < share;) {
        const int64_t due_ns = intended_start_ns(session, begun);
        if (due_ns >= end_ns) {
            break;
        }
        if (due_ns < from_ns) {
            begun++;
            continue;
        }
        /* as many batches of the full size as are in the same bucket of the histogram and before
         * the end for sure; the last one is left to the exact moment */
        const int64_t waited_ns = waited_until_ns - due_ns;
        const int64_t lowest_ns = waited_ns < HISTOGRAM_LIMIT_NS
                                      ? histogram_bucket_low_ns(histogram_bucket(waited_ns))
                                      : HISTOGRAM_LIMIT_NS;
        const int64_t left_ns = end_ns - due_ns;
        const int64_t room_ns = waited_ns - lowest_ns < left_ns ? waited_ns - lowest_ns : left_ns;
        const double alike = (double)room_ns / step_ns - 1;
        const uint64_t full = (share - begun) / batch;
        uint64_t count = 1;
        if (alike >= 1 && full >= 1) {
            count = alike < (double)full ? (uint64_t)alike : full;
        }
        recorder_record(recorder, session->place, OPERATION_RESPONSE, waited_ns);
        if (count > 1) {
            /* step_ns apart: the sum stays exact */
            recorder_record_times(recorder, session->place, OPERATION_RESPONSE,
                                  waited_ns - (int64_t)(step_ns * (double)count / 2), count - 1);
        }
        begun += count > 1 ? count * batch : batch_rows_after(session, begun);
        unsent += count;
    }
    session_add(session, RECORDER_RESPONSES_UNANSWERED, unsent);
    return unsent;
}

/* Of a batch that was acknowledged, or is in doubt: then it has waited at least that long. */
static void record_times(struct session *session, int64_t intended_ns, int64_t start_ns,
                         int64_t end_ns, bool is_answered)
{
    struct recorder *recorder = session->load->recorder;
    if (is_answered) {
        recorder_record(recorder, session->place, OPERATION_APPEND, end_ns - start_ns);
    }
    if (intended_ns > 0) {
        recorder_record(recorder, session->place, OPERATION_RESPONSE, end_ns - intended_ns);
        session_add(session, RECORDER_RESPONSES_UNANSWERED, is_answered ? 0 : 1);
        session->batches_late += start_ns - intended_ns > LATE_NS ? 1 : 0;
    }
}

/* What a call comes to whose connection may have been cut meanwhile. One that was answered at that
 * moment has no error of its own; who has no more to do needs no connection. */
static enum status settle_call(struct session *session, enum cause_phase phase, enum status status,
                               const struct error *error)
{
    if (!session->is_overdue) {
        return status;
    }
    if (!error_is_set(error)) {
        session_blame(session, phase, NULL, STATUS_LOST, error);
    }
    return session_goes_on(status) && session->sum.begun == session->quota ? status : STATUS_LOST;
}

static enum status append_batch(struct session *session, int64_t intended_ns)
{
    struct append append = {.table = &session->load->setup->own->table,
                            .first_row = session->sum.begun,
                            .rows = batch_rows_after(session, session->sum.begun)};
    struct error error = {.kind = ERROR_NONE};
    bool is_begun;
    const int64_t start_ns = mono_now_ns();
    const enum status status = session_send(session, &append, &is_begun, &error);
    const int64_t end_ns = mono_now_ns();
    if (!is_begun) {
        return STATUS_OK;
    }
    session->is_refused =
        error.kind == ERROR_READ_ONLY && session->load->plan->drop_policy == DROP_RECONNECT;
    if (session->is_refused) {
        /* none of its rows but the accepted ones is in the table, and they will be sent again */
        append.rows = append.handed = append.accepted;
        append.in_doubt = 0;
        session_add(session, RECORDER_REFUSALS, 1);
    } else if (status != STATUS_LOST) {
        session->tries = 0;
    }
    session->sum.begun += append.rows;
    session->sum.batches += append.rows > 0 ? 1 : 0;
    if (append.accepted > append.rows) {
        append.accepted = append.rows;
    }
    if (status == STATUS_OK && append.accepted < append.rows) {
        error_set(&error, ERROR_DATA, 0, NULL, "the server acknowledged fewer rows than it got");
    }
    if (error_is_set(&error)) {
        session_blame(session, CAUSE_APPEND, NULL, status == STATUS_OK ? STATUS_REJECTED : status,
                      &error);
    }
    session_account(session, &append, status, end_ns);
    if (status == STATUS_OK || (status == STATUS_LOST && append.rows > 0)) {
        record_times(session, intended_ns, start_ns, end_ns, status == STATUS_OK);
    }
    return session->is_refused ? STATUS_LOST : settle_call(session, CAUSE_APPEND, status, &error);
}

static enum status read_table(struct session *session)
{
    const struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    const bool is_count = load->plan->read_mode == READ_COUNT;
    struct error error = {.kind = ERROR_NONE};
    uint64_t rows = 0;
    recorder_note_reading(load->recorder, session->place, true);
    const int64_t start_ns = mono_now_ns();
    session_begin_call(session);
    const enum status status = is_count
                                   ? ask_count(adapter, session->conn, &load->read, &rows, &error)
                                   : adapter->run(session->conn, &load->read, NULL,
                                                  &(struct answer){.take = NULL}, &error);
    session_end_call(session);
    const int64_t end_ns = mono_now_ns();
    recorder_note_reading(load->recorder, session->place, false);
    if (status == STATUS_OK) {
        recorder_record(load->recorder, session->place, OPERATION_READ, end_ns - start_ns);
        session_add(session, RECORDER_READS, 1);
    } else {
        session_add(session, RECORDER_READS_FAILED, 1);
        session_blame(session, CAUSE_READ, NULL, status, &error);
    }
    /* not one that counts the rows of a connection, on one that is not the first */
    uint64_t before;
    if (status == STATUS_OK && is_count &&
        ((adapter->flags & ADAPTER_DISCARDS) == 0 || session->sum.churns == 0) &&
        session_knows_before(session, 0, &before)) {
        session_note_count(session, rows, before + session->sum.rows.acknowledged,
                           &session->last_count);
    }
    return settle_call(session, CAUSE_READ, status, &error);
}

/* One turn. OK and REJECTED: the session goes on; LOST: it connects again, if that was asked for;
 * otherwise it ends as dropped. */
static enum status take_turn(struct session *session)
{
    const struct plan *plan = session->load->plan;
    int64_t intended_ns = 0;
    if (plan->rate_rows_per_s > 0) {
        intended_ns = intended_start_ns(session, begun_by(session));
        /* what is due when the time is over waits for nothing but STOP */
        const bool is_due =
            plan->duration_ns == 0 || intended_ns < session->load->gate.go_ns + plan->duration_ns;
        if (!gate_sleep_until(&session->load->gate, is_due ? intended_ns : INT64_MAX,
                              &session->is_leaving)) {
            return STATUS_OK;
        }
    }
    if (plan->script != NULL) {
        return transactions_turn(session, intended_ns);
    }
    const enum status status = append_batch(session, intended_ns);
    if (!session_goes_on(status) || session->is_overdue || plan->read_mode == READ_NONE ||
        session->sum.batches % plan->read_every != 0 || gate_is_stopped(&session->load->gate)) {
        return status;
    }
    return read_table(session);
}

/*
 * Connections that are opened while the run goes on: after a loss, and for --churn.
 *
 * Before each try after a loss the session sleeps for a random time of up to RECONNECT_FIRST_NS,
 * doubled with every try to RECONNECT_MOST_NS: "full jitter", which spreads those that lost their
 * connections at the same moment (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
 * Blog, 2015). Tries count from the last batch that was answered, by anything but
 * "read-only", so that a server which takes connections and then drops them does not keep the
 * session for ever. Of several hosts each try is for the next one, which may want the session where
 * the one before did not. No more sessions connect at a time than --connect-concurrency allows.
 * Every wait ends at STOP.
 */

int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce)
{
    /* doubled as often it would be above the most */
    const int64_t most_ns = tries < 7 ? RECONNECT_FIRST_NS << tries : RECONNECT_MOST_NS;
    const uint64_t mixed = random_mix(random_mix(seed + session) + nonce);
    return (int64_t)(mixed % ((uint64_t)most_ns + 1));
}

/* One connect under the run's bound for connects at a time. REJECTED: the run ended first. */
static enum status connect_once(struct session *session)
{
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    if (!gate_take_slot(&load->gate, load->plan->connect_concurrency)) {
        return STATUS_REJECTED;
    }
    const enum status status = open_connection(session, CAUSE_RECONNECT, &error);
    gate_release_slot(&load->gate);
    if (status != STATUS_OK && error.kind == ERROR_CANCELLED) {
        /* the signal was seen here before the main thread has looked */
        gate_stop(&load->gate, STOP_INTERRUPTED);
        return STATUS_REJECTED;
    }
    return status;
}

/* The connection is gone and nobody on this side has cut it: counts that, and closes what is left
 * of it. One to a read-only server is closed, too: another try may reach the new primary. OK: with
 * --on-drop reconnect the session is connected again and ready to append. REJECTED: the run ended
 * first. LOST: it has to end: not asked for, or too many tries. FATAL: the only server does not
 * want this session any more. */
static enum status reconnect_after_loss(struct session *session)
{
    struct load *load = session->load;
    const struct plan *plan = load->plan;
    const int64_t lost_ns = mono_now_ns();
    const bool is_lost = !session->is_refused;
    if (is_lost) {
        session->sum.drops++;
        session_add(session, RECORDER_CONNECTIONS_LOST, 1);
    }
    session->is_refused = false;
    close_connection(session);
    if (plan->drop_policy != DROP_RECONNECT) {
        return STATUS_LOST;
    }
    const unsigned hosts = (unsigned)plan->host_count;
    unsigned next = plan->host_policy == HOST_FIRST ? 0 : session->host + 1;
    while (session->tries < plan->reconnect_tries) {
        const int64_t pause_ns = reconnect_pause_ns(plan->facts->seed, session->index,
                                                    session->tries, session->tries_total);
        if (!gate_sleep_until(&load->gate, mono_now_ns() + pause_ns, &session->is_leaving)) {
            return STATUS_REJECTED;
        }
        if (hosts > 0) {
            go_to_host(session, next++ % hosts);
        }
        const enum status status = connect_once(session);
        if (status == STATUS_REJECTED) {
            return status;
        }
        session->tries++;
        session->tries_total++;
        if (status == STATUS_OK && is_lost) {
            session->sum.reconnects++;
            session_add(session, RECORDER_RECONNECTS, 1);
            recorder_record(load->recorder, session->place, OPERATION_RECOVER,
                            mono_now_ns() - lost_ns);
        }
        if (status == STATUS_OK) {
            return status;
        }
        session_add(session, RECORDER_RECONNECTS_FAILED, 1);
        if (status == STATUS_FATAL && hosts == 0) {
            return status;
        }
    }
    return STATUS_LOST;
}

/* Counts what became of the session, also where the main thread looks. */
static void count_session(struct session *session, enum recorder_counter counter,
                          atomic_uint *number)
{
    session_add(session, counter, 1);
    atomic_fetch_add_explicit(number, 1, memory_order_relaxed);
}

static enum session_outcome drop(struct session *session)
{
    count_session(session, RECORDER_SESSIONS_DROPPED, &session->load->sessions_dropped);
    if (session->load->plan->drop_policy == DROP_STOP) {
        gate_stop(&session->load->gate, STOP_DROP);
    }
    return SESSION_DROPPED;
}

/* A script's session ends when its share of transactions is done, or that of rows is in. */
static bool has_work(const struct session *session)
{
    return session->sum.begun < session->quota && begun_by(session) < share_of(session);
}

static enum session_outcome take_turns(struct session *session)
{
    struct load *load = session->load;
    const uint64_t churn = load->plan->churn_batches;
    while (has_work(session)) {
        if (!gate_wait_turn(&load->gate)) {
            /* one whose call had to be cut is not done when the time is over */
            const bool is_done =
                gate_reason(&load->gate) == STOP_DURATION && !atomic_load(&session->was_cut);
            return is_done ? SESSION_FINISHED : SESSION_STOPPED;
        }
        if (atomic_load_explicit(&session->is_leaving, memory_order_acquire)) {
            return SESSION_FINISHED;
        }
        const uint64_t batches = session->sum.batches;
        enum status status = take_turn(session);
        if (churn > 0 && session_goes_on(status) && session->sum.batches > batches &&
            session->sum.batches % churn == 0 && has_work(session)) {
            /* The connection has had its batches, and there is work left. When STOP comes first the
             * session stays without one; when it cannot be had that counts as a loss to come. */
            close_connection(session);
            status = connect_once(session);
            if (status == STATUS_OK) {
                session->sum.churns++;
                session_add(session, RECORDER_CHURNS, 1);
            }
        }
        if (status == STATUS_LOST) {
            status =
                atomic_load(&session->was_cut) ? STATUS_REJECTED : reconnect_after_loss(session);
            if (status == STATUS_REJECTED) {
                return SESSION_STOPPED;
            }
        }
        if (!session_goes_on(status)) {
            return gate_reason(&load->gate) == STOP_SCRIPT ? SESSION_STOPPED : drop(session);
        }
    }
    return SESSION_FINISHED;
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
    struct procfs_schedstat before, after;
    const int64_t ready_ns = mono_now_ns();
    procfs_read_thread(&before);
    if (gate_wait_go(&load->gate)) {
        recorder_set_working(load->recorder, session->place, load->gate.go_ns);
    }
    session->sum.outcome = take_turns(session);
    recorder_set_working(load->recorder, session->place, 0);
    session->work_end_ns = mono_now_ns();
    raise_to(&load->last_work_ns, session->work_end_ns);
    if (load->gate.go_ns > 0) {
        /* a reading without a descriptor knows nothing of the run queue */
        procfs_read_thread(&after);
        session_add(session, RECORDER_ON_CPU_NS,
                    after.on_cpu_ns - MIN(before.on_cpu_ns, after.on_cpu_ns));
        session_add(session, RECORDER_RUN_QUEUE_NS,
                    after.run_queue_ns - MIN(before.run_queue_ns, after.run_queue_ns));
        /* it may have waited for a CPU since the gate opened */
        const int64_t start_ns = MAX(ready_ns, load->gate.go_ns);
        session_add(session, RECORDER_SESSION_NS, (uint64_t)MAX(mono_now_ns() - start_ns, 0));
        if (has_work(session) || session->sum.outcome != SESSION_FINISHED) {
            session_note_gap(session, session->work_end_ns);
        }
    }
    if (!atomic_exchange(&load->has_finished_one, true)) {
        sampler_wake(load->sampler,
                     SAMPLER_READ); /* the last chance to see the memory of a short run */
    }
    gate_finish_work(&load->gate,
                     session->sum.outcome != SESSION_DROPPED && !atomic_load(&session->is_leaving));
}

/* Proves at the end that it is still connected. A server that refuses the statement has answered,
 * too. */
static enum session_outcome stay_idle(struct session *session)
{
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    gate_wait_go(&load->gate);
    gate_finish_work(&load->gate, true);
    if (gate_is_stopped(&load->gate) && gate_reason(&load->gate) != STOP_DURATION) {
        return SESSION_STOPPED;
    }
    session_begin_call(session);
    const enum status status = load->plan->adapter->run(session->conn, &load->setup->nothing, NULL,
                                                        &(struct answer){.take = NULL}, &error);
    session_end_call(session);
    if (session_goes_on(status)) {
        return SESSION_FINISHED;
    }
    session_blame(session, CAUSE_IDLE, NULL, status, &error);
    if (atomic_load(&session->was_cut)) {
        return SESSION_STOPPED;
    }
    if (status == STATUS_LOST) {
        session->sum.drops++;
        session_add(session, RECORDER_CONNECTIONS_LOST, 1);
    }
    return drop(session);
}

/* The session has no state to run its script in: this machine has no memory for it, or the script
 * declares something else each time. */
static void note_no_script(struct session *session, const struct error *error)
{
    const bool is_wrong = error->kind == ERROR_USAGE;
    session_blame(session, is_wrong ? CAUSE_SCRIPT : CAUSE_THREAD, NULL, STATUS_FATAL, error);
    if (is_wrong) {
        gate_stop(&session->load->gate, STOP_SCRIPT);
    }
}

void *session_run(void *argument)
{
    struct session *session = argument;
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    enum status status = STATUS_OK;
    if (load->plan->script != NULL && !session->is_idle) {
        status = transactions_begin(session, &error);
    }
    const bool has_begun = status == STATUS_OK;
    if (has_begun) {
        status = connect_first(session, &error);
    } else {
        note_no_script(session, &error);
    }
    if (status == STATUS_OK) {
        count_session(session, RECORDER_SESSIONS_CONNECTED, &load->sessions_connected);
        atomic_store(&load->timeouts_in_a_row, 0);
    } else if (!has_begun) {
        session->sum.outcome = SESSION_NOT_STARTED;
    } else if (error.kind == ERROR_TIMEOUT) {
        count_session(session, RECORDER_SESSIONS_FAILED, &load->sessions_failed);
        session->sum.outcome = SESSION_TIMED_OUT;
        atomic_fetch_add(&load->timeouts_in_a_row, 1);
    } else if (error.kind != ERROR_CANCELLED) {
        count_session(session, RECORDER_SESSIONS_FAILED, &load->sessions_failed);
        session->sum.outcome = SESSION_REFUSED;
        atomic_store(&load->timeouts_in_a_row, 0);
    } /* else the run ended before the server had answered: as good as not started */
    gate_release_slot(&load->gate);
    if (status == STATUS_OK) {
        if (session->is_idle) {
            session->sum.outcome = stay_idle(session);
        } else {
            work(session);
        }
        session_add(session, RECORDER_SESSIONS_ENDED, 1);
        close_connection(session);
    }
    transactions_end(session);
    raise_to(&load->last_end_ns, mono_now_ns());
    atomic_store_explicit(&session->has_ended, true, memory_order_release);
    gate_session_ends(&load->gate);
    return NULL;
}

void session_leave(struct session *session)
{
    struct load *load = session->load;
    clockid_t clock;
    bool is_at_work = false;
    int64_t since_ns = 0;
    if (session->transactions == NULL || atomic_load(&session->has_ended) ||
        pthread_getcpuclockid(session->thread, &clock) != 0) {
        return;
    }
    /* one that only waits for a CPU is late, too */
    const int64_t cpu_ns = mono_clock_ns(clock);
    session->script_cpu_ns = session->script_cpu_ns == 0 ? cpu_ns : session->script_cpu_ns;
    if (cpu_ns - session->script_cpu_ns < SESSION_LATE_CPU_NS ||
        !transactions_leave(session, &is_at_work, &since_ns)) {
        return;
    }
    session->is_left = true;
    close_connection(session);
    session->sum.outcome = is_at_work ? SESSION_DROPPED : SESSION_NOT_STARTED;
    if (is_at_work) {
        count_session(session, RECORDER_SESSIONS_DROPPED, &load->sessions_dropped);
        recorder_set_working(load->recorder, session->place, 0);
        session->work_end_ns = since_ns;
        raise_to(&load->last_work_ns, since_ns);
        gate_finish_work(&load->gate, false);
        session_add(session, RECORDER_SESSIONS_ENDED, 1);
    } else {
        gate_release_slot(&load->gate);
    }
    raise_to(&load->last_end_ns, mono_now_ns());
    atomic_store(&session->has_ended, true);
    gate_session_ends(&load->gate);
}
