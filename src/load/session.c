#include "load/session.h"

#include <sys/param.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/random.h"
#include "load/account.h"
#include "load/calls.h"
#include "load/schedule.h"
#include "load/transactions.h"
#include "measure/procfs.h"
#include "plan/facts.h"

/* Closes the connection, if one is open. */
static void close_connection(struct session *session)
{
    if (session->conn != NULL) {
        session_add(session, RECORDER_CONNECTIONS_CLOSED, 1);
        recorder_note_server_session(session->load->recorder, session->place, 0);
        prepared_end(&session->prepared);
        line_close(&session->line, &session->conn);
    }
}

/* Moves the session to a host. From now on the session's counters belong to that host. */
static void move_to_host(struct session *session, unsigned host)
{
    session->has_moved |= session->is_settled && host != session->host;
    session->host = host;
    recorder_set_host(session->load->recorder, session->place, host);
}

/* Connects to the session's host. `phase` is CAUSE_CONNECT for the first connect, CAUSE_HOST if the
 * session will try another host after a failure, CAUSE_RECONNECT later. Measures and counts the
 * connect, makes the connection visible to the main thread, and prepares the connection for the
 * session's work. A failure is added to the causes, unless the run ended before the server had
 * answered (ERROR_CANCELLED). */
static enum status open_connection(struct session *session, enum cause_phase phase,
                                   struct error *error)
{
    struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    struct target target = target_at(load->plan, session->host);
    target.facts = &load->setup->connection.facts;
    session->is_overdue = false; /* still set from the previous connection */
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
    if (adapter->name_session != NULL) {
        struct session_name name;
        adapter->name_session(session->conn, &name);
        recorder_note_server_session(load->recorder, session->place, name.number);
    }
    if (adapter->prepare_appends != NULL && !session->is_idle &&
        load->setup->own->table.column_count > 0) {
        session_begin_call(session, RECORDER_NO_CALL);
        adapter->prepare_appends(session->conn, &load->setup->own->table);
        session_end_call(session);
    }
    const enum status ready = session->transactions != NULL && !session->is_idle
                                  ? transactions_connected(session, error)
                                  : STATUS_OK;
    if (ready != STATUS_OK) {
        close_connection(session);
    }
    stack_release_unused();
    return ready;
}

/* Returns the host to which a session connects first. */
static unsigned first_host(const struct session *session)
{
    const struct plan *plan = session->load->plan;
    uint64_t number = session->index;
    if (plan->host_policy == HOST_FIRST) {
        number = 0;
    } else if (plan->host_policy == HOST_RANDOM) {
        number = random_mix(random_mix(plan->facts->seed) + session->index);
    }
    return plan->host_count == 0 ? 0 : (unsigned)(number % plan->host_count);
}

/* Connects for the first time. If there are several hosts, tries one host after the other until a
 * host accepts the session. */
static enum status connect_first(struct session *session, struct error *error)
{
    const unsigned hosts = (unsigned)session->load->plan->host_count;
    const unsigned first = first_host(session);
    unsigned tried = 0;
    enum status status;
    do {
        const bool is_last = tried + 1 >= hosts;
        error_clear(error);
        move_to_host(session, hosts == 0 ? 0 : (first + tried) % hosts);
        status = open_connection(session, is_last ? CAUSE_CONNECT : CAUSE_HOST, error);
        tried++;
    } while (status != STATUS_OK && tried < hosts && error->kind != ERROR_CANCELLED &&
             !gate_is_stopped(&session->load->gate));
    session->is_settled |= status == STATUS_OK;
    return status;
}

/* Records the times of a batch that was acknowledged, is in doubt, or was given up. If is_answered
 * is false, the response time is only a lower bound. */
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
        session_add(session, RECORDER_LATE, start_ns - intended_ns > SESSION_LATE_NS ? 1 : 0);
    }
}

/* Adds a batch to the log of transactions, if the log includes the current turn. */
static void log_batch(const struct session *session, const struct append *append,
                      enum status status, int64_t intended_ns, int64_t start_ns, int64_t end_ns)
{
    if (!session->is_logged) {
        return;
    }
    /* a batch can be complete although the connection was lost, if all rows were acknowledged
     * before */
    const bool is_whole = session_goes_on(status) ? status == STATUS_OK : append->rows > 0;
    const bool is_kept = is_whole && append->accepted == append->rows;
    const char *outcome = is_kept ? "acknowledged" : "rejected";
    outcome = append->in_doubt > 0 ? "in_doubt" : outcome;
    outcome = append->handed == 0 ? "not_sent" : outcome;
    session_log(session, (struct transaction_log_row){
                             .transaction = "append",
                             .outcome = session->is_refused ? "refused" : outcome,
                             .tries = append->tries,
                             .end_ns = end_ns,
                             .latency_ns = end_ns - start_ns,
                             .response_ns = intended_ns > 0 ? end_ns - intended_ns : -1});
}

static enum status append_batch(struct session *session, int64_t intended_ns)
{
    const struct load *load = session->load;
    struct generated_rows rows = {.session = session, .first = session->sum.begun};
    struct append append = {.table = &load->setup->own->table,
                            .source = generated_source(&rows),
                            .first_row = session->sum.begun,
                            .rows = session_next_rows(session)};
    struct error error = {.kind = ERROR_NONE};
    bool is_begun;
    const int64_t start_ns = mono_now_ns();
    const enum status status = session_send(session, &append, &is_begun, &error);
    const int64_t end_ns = mono_now_ns();
    if (!is_begun) {
        return STATUS_OK;
    }
    if (session_note_refused(session, status, &error)) {
        /* only the accepted rows are in the table; the other rows are sent again */
        append.rows = append.handed = append.accepted;
        append.in_doubt = 0;
    }
    const bool is_sent = append.handed > 0;
    const bool is_unsent = append.rows > 0 && !is_sent;
    const bool is_busy =
        status == STATUS_REJECTED && append.accepted == 0 && error_is_transient(&error);
    session->sum.begun += append.rows;
    session->sum.batches += is_sent ? 1 : 0;
    session->unsent += is_unsent ? 1 : 0;
    if (error_is_set(&error)) {
        session_blame(session, CAUSE_APPEND, NULL, status, &error);
    }
    session_account(session, &append, status, end_ns);
    log_batch(session, &append, status, intended_ns, start_ns, end_ns);
    if (status == STATUS_OK || (status == STATUS_LOST && is_sent) || is_unsent || is_busy) {
        record_times(session, intended_ns, start_ns, end_ns, status == STATUS_OK);
    }
    return session_after(session, CAUSE_APPEND, status, &error);
}

/* Adds a read to the log of transactions, if the log includes the current turn. */
static void log_read(const struct session *session, enum status status, int64_t start_ns,
                     int64_t end_ns)
{
    if (!session->is_logged) {
        return;
    }
    enum operation_count outcome = status == STATUS_LOST ? COUNT_UNANSWERED : COUNT_REFUSED;
    outcome = status == STATUS_OK ? COUNT_ANSWERED : outcome;
    session_log(session, (struct transaction_log_row){.transaction = "read",
                                                      .outcome = operation_count_names[outcome],
                                                      .tries = 1,
                                                      .end_ns = end_ns,
                                                      .latency_ns = end_ns - start_ns,
                                                      .response_ns = -1});
}

static enum status read_table(struct session *session)
{
    const struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    const bool is_count = load->plan->read_mode == READ_COUNT;
    struct error error = {.kind = ERROR_NONE};
    uint64_t rows = 0;
    const int64_t start_ns = mono_now_ns();
    session_begin_call(session, OPERATION_READ);
    const enum status status = is_count
                                   ? ask_count(adapter, session->conn, &load->read, &rows, &error)
                                   : adapter->run(session->conn, &load->read, NULL,
                                                  &(struct answer){.take = NULL}, &error);
    session_end_call(session);
    const int64_t end_ns = mono_now_ns();
    if (status == STATUS_OK) {
        recorder_record(load->recorder, session->place, OPERATION_READ, end_ns - start_ns);
        session_add(session, RECORDER_READS, 1);
    } else {
        session_add(session, RECORDER_READS_FAILED, 1);
        session_blame(session, CAUSE_READ, NULL, status, &error);
    }
    log_read(session, status, start_ns, end_ns);
    /* Do not check the count after a reconnect for --churn if the database keeps rows only as long
     * as the connection exists. */
    uint64_t before;
    if (status == STATUS_OK && is_count &&
        ((adapter->flags & ADAPTER_DISCARDS) == 0 || session->sum.churns == 0) &&
        session_knows_before(session, 0, &before)) {
        session_note_count(session, rows, before + session->sum.rows.acknowledged,
                           &session->last_count);
    }
    return session_after(session, CAUSE_READ, status, &error);
}

/* Writes a batch, and then reads if a read is due. */
static enum status append_and_read(struct session *session, int64_t intended_ns)
{
    const struct plan *plan = session->load->plan;
    session->is_logged = transaction_log_takes(&session->logged, session->turn);
    const uint64_t batches = session->sum.batches;
    const enum status status = append_batch(session, intended_ns);
    if (session->sum.batches == batches) {
        return status; /* nothing was sent */
    }
    if (!session_goes_on(status) || session->is_overdue || plan->read_mode == READ_NONE ||
        session->sum.batches % plan->read_every != 0 || gate_is_stopped(&session->load->gate)) {
        return status;
    }
    return read_table(session);
}

/* Waits until the next turn is due, and takes it. If the run is changed by hand before that,
 * returns OK without a turn; `changes` is the number of changes that the session knows. After OK
 * and REJECTED the session continues. After LOST it reconnects if --on-drop is reconnect, and
 * otherwise ends as dropped. */
static enum status take_turn(struct session *session, unsigned changes)
{
    const struct plan *plan = session->load->plan;
    int64_t intended_ns = 0;
    if (session_has_rate(session)) {
        intended_ns = session_next_due_ns(session);
        /* if the work is due after the end of the run, wait for STOP */
        const bool is_due =
            plan->duration_ns == 0 || intended_ns < session->load->gate.go_ns + plan->duration_ns;
        if (!gate_sleep_unchanged(&session->load->gate, is_due ? intended_ns : INT64_MAX,
                                  &session->is_leaving, changes)) {
            return STATUS_OK;
        }
    }
    if (plan->script != NULL) {
        return transactions_turn(session, intended_ns);
    }
    const enum status status = append_and_read(session, intended_ns);
    session->turn++;
    return status;
}

/*
 * Connections that are opened during the run: after a loss, for --churn and for --stage-disconnect.
 *
 * Before each try after a loss the session sleeps for reconnect_pause_ns. Only a call that was
 * answered, and not with "read-only", sets the number of tries back to 0. So a session does not try
 * forever if the server accepts connections and then drops them. With several hosts each try uses
 * the next host, which may accept the session where the previous host did not.
 * --connect-concurrency limits the number of sessions that connect at the same time. Every wait
 * ends at STOP.
 */

static void give_slot_back(struct session *session)
{
    if (session->has_slot) {
        session->has_slot = false;
        gate_release_slot(&session->load->gate);
    }
}

/* Waits for a slot (--connect-concurrency), and tries once to connect. Returns REJECTED if the run
 * ended first. */
static enum status connect_once(struct session *session)
{
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    session->has_slot = gate_take_slot(&load->gate, load->plan->connect_concurrency);
    if (!session->has_slot) {
        return STATUS_REJECTED;
    }
    const enum status status = open_connection(session, CAUSE_RECONNECT, &error);
    give_slot_back(session);
    if (status != STATUS_OK && error.kind == ERROR_CANCELLED) {
        /* this thread saw the signal before the main thread did */
        gate_stop(&load->gate, STOP_INTERRUPTED);
        return STATUS_REJECTED;
    }
    return status;
}

/* Reconnects because of --churn or --stage-disconnect, and counts the reconnect as churn. */
static enum status connect_as_planned(struct session *session)
{
    const enum status status = connect_once(session);
    session->sum.churns += status == STATUS_OK ? 1 : 0;
    session_add(session, RECORDER_CHURNS, status == STATUS_OK ? 1 : 0);
    return status;
}

/* Counts a lost connection, closes it, and reconnects if --on-drop is reconnect. Also closes a
 * connection to a read-only server, because a new connection may reach the new primary. Returns OK
 * if the session is connected again and can continue its work, and REJECTED if the run ended first.
 * Returns LOST if the session has to end, because of --on-drop or after too many tries. Returns
 * FATAL if the only server does not accept this session any more. */
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
            move_to_host(session, next++ % hosts);
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

/* Counts the session's outcome in the recorder, and in *number, which the main thread reads. */
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

/* Stages of sessions (--stage). Session number N, from 0, works while the stages ask for more than
 * N sessions. */

/* Returns the first moment, now_ns or later, at which a stage needs the session; INT64_MAX: no
 * stage needs the session again. */
static int64_t needed_ns(const struct session *session, int64_t now_ns)
{
    const struct load *load = session->load;
    const int64_t go_ns = load->gate.go_ns;
    const int64_t at_ns = ramp_above_ns(&load->plan->stages, session->index, now_ns - go_ns);
    return at_ns == INT64_MAX ? INT64_MAX : go_ns + at_ns;
}

/* Mark the beginning and the end of a time in which the session does not work. */
static void begin_park(struct session *session, int64_t now_ns)
{
    if (session->sum.begun > 0 || session->turn > 0) {
        session_note_gap(session, now_ns);
    }
    recorder_set_working(session->load->recorder, session->place, 0);
}

static void end_park(struct session *session, int64_t since_ns)
{
    session->resumed_ns = mono_now_ns();
    session->parked_ns += session->resumed_ns - since_ns;
    recorder_set_working(session->load->recorder, session->place, session->resumed_ns);
}

/* Waits until a stage needs the session. With --stage-disconnect, the session has no connection
 * during the wait. Returns the status of the new connection; OK if the session kept its connection,
 * or if the run ended first. */
static enum status await_stage(struct session *session)
{
    struct load *load = session->load;
    const bool has_stages = load->plan->stages.count > 0;
    const int64_t now_ns = has_stages ? mono_now_ns() : 0;
    const int64_t from_ns = has_stages ? needed_ns(session, now_ns) : 0;
    if (from_ns <= now_ns) {
        return STATUS_OK;
    }
    const bool reconnects = load->plan->is_stage_disconnect;
    enum status status = STATUS_OK;
    begin_park(session, now_ns);
    if (reconnects) {
        close_connection(session);
    }
    if (gate_sleep_until(&load->gate, from_ns, &session->is_leaving) && reconnects) {
        status = connect_as_planned(session);
    }
    end_park(session, now_ns);
    return status == STATUS_REJECTED ? STATUS_OK : status;
}

/* Waits while a change by hand has paused the run or this session. The session stays connected.
 * Returns the number of changes that the session knows. */
static unsigned await_epoch(struct session *session)
{
    struct load *load = session->load;
    unsigned changes = gate_changes(&load->gate);
    session_follow_epochs(session);
    if (session_works_in_epoch(session)) {
        return changes;
    }
    const int64_t now_ns = mono_now_ns();
    begin_park(session, now_ns);
    while (!session_works_in_epoch(session) && !gate_is_stopped(&load->gate) &&
           !atomic_load(&session->is_leaving)) {
        gate_sleep_unchanged(&load->gate, INT64_MAX, &session->is_leaving, changes);
        changes = gate_changes(&load->gate);
        session_follow_epochs(session);
    }
    end_park(session, now_ns);
    return changes;
}

/* With --churn N, reconnects after every N batches while work is left. Returns LOST if the connect
 * failed: the caller then treats the connection as lost. */
static enum status churn(struct session *session)
{
    const uint64_t every = session->load->plan->churn_batches;
    if (every == 0 || session->sum.batches % every != 0 || !session_has_work(session)) {
        return STATUS_OK;
    }
    close_connection(session);
    return connect_as_planned(session);
}

static enum session_outcome take_turns(struct session *session)
{
    struct load *load = session->load;
    while (session_has_work(session)) {
        enum status status = await_stage(session);
        const unsigned changes = await_epoch(session);
        if (!gate_wait_turn(&load->gate)) {
            /* a session has not finished if its connection had to be cut at the end of the run */
            const bool is_done =
                stop_is_planned(gate_reason(&load->gate)) && !atomic_load(&session->was_cut);
            return is_done ? SESSION_FINISHED : SESSION_STOPPED;
        }
        if (atomic_load_explicit(&session->is_leaving, memory_order_acquire)) {
            return SESSION_FINISHED;
        }
        const uint64_t batches = session->sum.batches;
        status = status == STATUS_OK ? take_turn(session, changes) : status;
        if (session_goes_on(status) && session->sum.batches > batches) {
            status = churn(session);
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

/*
 * The end of a session. The session's own thread ends the session; if the thread never returns from
 * the script's code, the main thread does so on behalf of the thread.
 */

/* Ends the work of a session that is up. */
static void end_work(struct session *session, enum session_outcome outcome, int64_t end_ns)
{
    session->sum.outcome = outcome;
    recorder_set_working(session->load->recorder, session->place, 0);
    session->work_end_ns = end_ns;
    raise_to(&session->load->last_work_ns, end_ns);
}

static void disconnect(struct session *session)
{
    if (atomic_load(&session->stage) == SESSION_UP) {
        session_add(session, RECORDER_SESSIONS_ENDED, 1);
    }
    close_connection(session);
}

/* Ends the session. From then on only the main thread uses it. */
static void end(struct session *session, enum session_stage stage)
{
    struct load *load = session->load;
    raise_to(&load->last_end_ns, mono_now_ns());
    atomic_store_explicit(&session->stage, stage, memory_order_release);
    gate_session_ends(&load->gate);
}

static void do_share(struct session *session)
{
    struct load *load = session->load;
    struct procfs_schedstat before, after;
    const int64_t ready_ns = mono_now_ns();
    procfs_read_thread(&before);
    if (gate_wait_go(&load->gate)) {
        recorder_set_working(load->recorder, session->place, load->gate.go_ns);
    }
    const enum session_outcome outcome = take_turns(session);
    end_work(session, outcome, mono_now_ns());
    if (load->gate.go_ns > 0) {
        /* the reading is 0 when no descriptor was free */
        procfs_read_thread(&after);
        session_add(session, RECORDER_ON_CPU_NS,
                    after.on_cpu_ns - MIN(before.on_cpu_ns, after.on_cpu_ns));
        /* The measured wait for a CPU begins with the first reading, before the gate opened. After
         * the opening the thread cannot have waited longer than share_ns, so the rest is not
         * counted. */
        const int64_t start_ns = MAX(ready_ns, load->gate.go_ns);
        const uint64_t share_ns = (uint64_t)MAX(mono_now_ns() - start_ns - session->parked_ns, 0);
        session_add(session, RECORDER_SESSION_NS, share_ns);
        session_add(
            session, RECORDER_RUN_QUEUE_NS,
            MIN(after.run_queue_ns - MIN(before.run_queue_ns, after.run_queue_ns), share_ns));
        if (session_has_work(session) || session->sum.outcome != SESSION_FINISHED) {
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

/* Waits until the other sessions have finished, then checks that this session is still connected. A
 * refused statement also shows this. */
static enum session_outcome stay_idle(struct session *session)
{
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    gate_wait_go(&load->gate);
    gate_finish_work(&load->gate, true);
    const enum stop_reason reason = gate_reason(&load->gate);
    if (reason != STOP_NOT_YET && !stop_is_planned(reason)) {
        return SESSION_STOPPED;
    }
    session_begin_call(session, RECORDER_NO_CALL);
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

/* Notes why the session has no script state: this machine does not have the memory for it, or the
 * script's declarations differ from session to session. */
static void blame_script_state(struct session *session, const struct error *error)
{
    const bool is_wrong = error->kind == ERROR_USAGE;
    session_blame(session, is_wrong ? CAUSE_SCRIPT : CAUSE_THREAD, NULL, STATUS_FATAL, error);
    if (is_wrong) {
        gate_stop(&session->load->gate, STOP_SCRIPT);
    }
}

/* Connects for the first time. Returns whether the session is up; if not, session->sum.outcome says
 * why. */
static bool begin(struct session *session)
{
    struct load *load = session->load;
    struct error error = {.kind = ERROR_NONE};
    if (load->plan->script != NULL && !session->is_idle &&
        transactions_begin(session, &error) != STATUS_OK) {
        blame_script_state(session, &error);
        return false;
    }
    if (connect_first(session, &error) == STATUS_OK) {
        atomic_store(&session->stage, SESSION_UP);
        count_session(session, RECORDER_SESSIONS_CONNECTED, &load->sessions_connected);
        atomic_store(&load->timeouts_in_a_row, 0);
        return true;
    }
    if (error.kind == ERROR_CANCELLED) {
        return false; /* the run ended before the server answered: counts as not started */
    }
    count_session(session, RECORDER_SESSIONS_FAILED, &load->sessions_failed);
    if (error.kind == ERROR_TIMEOUT) {
        session->sum.outcome = SESSION_TIMED_OUT;
        atomic_fetch_add(&load->timeouts_in_a_row, 1);
    } else {
        session->sum.outcome = SESSION_REFUSED;
        atomic_store(&load->timeouts_in_a_row, 0);
    }
    return false;
}

void *session_run(void *argument)
{
    struct session *session = argument;
    session->logged = transaction_log_choose(session->load->log, session->index);
    const bool is_up = begin(session);
    give_slot_back(session);
    if (is_up && session->is_idle) {
        session->sum.outcome = stay_idle(session);
    } else if (is_up) {
        do_share(session);
    }
    disconnect(session);
    transactions_end(session);
    end(session, SESSION_ENDED);
    return NULL;
}

void session_leave(struct session *session)
{
    clockid_t clock;
    if (session->transactions == NULL || atomic_load(&session->stage) >= SESSION_ENDED ||
        pthread_getcpuclockid(session->thread, &clock) != 0) {
        return;
    }
    /* measure the CPU time since the first check, because a thread may be late only because it
     * waits for a CPU */
    const int64_t cpu_ns = mono_clock_ns(clock);
    session->script_cpu_ns = session->script_cpu_ns == 0 ? cpu_ns : session->script_cpu_ns;
    if (cpu_ns - session->script_cpu_ns < SESSION_LATE_CPU_NS) {
        return;
    }
    const int64_t since_ns = transactions_leave(session);
    if (since_ns == 0) {
        return;
    }
    const bool was_up = atomic_load(&session->stage) == SESSION_UP;
    disconnect(session);
    give_slot_back(session);
    if (was_up) {
        end_work(session, drop(session), since_ns);
        gate_finish_work(&session->load->gate, false);
    }
    end(session, SESSION_ABANDONED);
}
