#include "certify/writers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/child.h"
#include "base/mono.h"
#include "base/process.h"
#include "certify/processes.h"
#include "certify/rows.h"
#include "load/line.h"

#define FINISH_NS (20 * MONO_NS_PER_S)
#define PAUSE_NS (20 * MONO_NS_PER_MS)
#define FULL_PAUSE_NS (2 * MONO_NS_PER_MS)

struct writer {
    const struct writers *of;
    unsigned session;
    struct table *tables;
    struct line line;
    struct adapter_conn *conn;
    struct rows_batch rows;
    pthread_t thread;
    bool is_started;
};

static bool is_over(const struct writer *writer)
{
    return atomic_load(&writer->of->account->is_over);
}

static void fail(struct writer *writer, const struct error *error)
{
    struct account *account = writer->of->account;
    if (!atomic_exchange(&account->has_error, true)) {
        account->error = *error;
    }
    /* set after the error, because the main process reads the error when this number is above 0 */
    atomic_fetch_add(&account->failed, 1);
}

static enum status open_session(struct writer *writer, struct error *error)
{
    const struct plan *plan = writer->of->plan;
    const struct target target = target_at(plan, 0);
    enum status status = line_open(&writer->line, &target, &writer->conn, error);
    if (status == STATUS_OK && writer->of->session_sql != NULL &&
        writer->of->session_sql[0] != '\0') {
        status = plan->adapter->execute(writer->conn, writer->of->session_sql, error);
    }
    return status;
}

/* Writes the rows of a transaction to one table. Sets *kept to the number of rows that the server
 * kept. This number can be above 0 for a refused batch, because some servers keep a part of the
 * batch. */
static enum status append_rows(struct writer *writer, const struct rows_id *id, uint64_t *kept,
                               struct error *error)
{
    const struct adapter *adapter = writer->of->plan->adapter;
    const struct table *table = &writer->tables[id->table];
    uint64_t accepted = 0;
    *kept = 0;
    rows_make(&writer->rows, table, writer->of->account->seed, id);
    enum status status = adapter->append_open(writer->conn, table, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = adapter->append_rows(writer->conn, &writer->rows.batch, kept, error);
    if (status == STATUS_OK) {
        status = adapter->append_close(writer->conn, &accepted, error);
        *kept = accepted;
    }
    return status;
}

/* Writes a transaction. If it returns REJECTED, the server kept no row, or kept some rows if
 * *is_partly_kept is true. */
static enum status write_transaction(struct writer *writer, uint64_t number,
                                     const unsigned sizes[ROWS_TABLES], bool *is_partly_kept,
                                     struct error *error)
{
    const struct adapter *adapter = writer->of->plan->adapter;
    const struct transaction writing = {.writes = true};
    const bool is_one_batch = sizes[1] == 0;
    enum status status = is_one_batch ? STATUS_OK : adapter->begin(writer->conn, &writing, error);
    if (status != STATUS_OK) {
        return status;
    }
    for (unsigned t = 0; t < ROWS_TABLES && sizes[t] > 0 && status == STATUS_OK; t++) {
        const struct rows_id id = {
            .table = t, .session = writer->session, .number = number, .size = sizes[t]};
        uint64_t kept;
        status = append_rows(writer, &id, &kept, error);
        *is_partly_kept = is_one_batch && kept > 0;
    }
    if (is_one_batch) {
        return status;
    }
    if (status == STATUS_OK) {
        return adapter->commit(writer->conn, error);
    }
    if (status == STATUS_REJECTED) {
        struct error ignored = {.kind = ERROR_NONE};
        return adapter->rollback(writer->conn, &ignored) == STATUS_OK ? status : STATUS_LOST;
    }
    return status;
}

/* Adds the rows of a transaction to account->rows_sent. If the sum would be above rows_max, changes
 * nothing and returns false. */
static bool reserve_rows(struct account *account, unsigned rows)
{
    if (atomic_fetch_add(&account->rows_sent, rows) + rows <= account->rows_max) {
        return true;
    }
    atomic_fetch_sub(&account->rows_sent, rows);
    return false;
}

/* Writes one transaction and stores its outcome. If it returns LOST, the session must connect
 * again. */
static enum status take_turn(struct writer *writer, struct error *error)
{
    struct account *account = writer->of->account;
    struct account_session *mine = &account->each[writer->session];
    const uint64_t number = mine->next;
    _Atomic uint8_t *outcome = account_outcome(account, writer->session, number);
    unsigned sizes[ROWS_TABLES];
    rows_sizes(account->seed, writer->session, number, account->has_transactions, sizes);
    const unsigned rows = sizes[0] + sizes[1];
    if (number + 1 >= ACCOUNT_TRANSACTIONS_MAX || !reserve_rows(account, rows)) {
        mono_sleep(PAUSE_NS); /* the limit is reached, so the session waits for the fault */
        return STATUS_OK;
    }
    atomic_store(outcome, OUTCOME_SENT);
    atomic_store(&mine->next, number + 1);
    bool is_partly_kept = false;
    const enum status status = write_transaction(writer, number, sizes, &is_partly_kept, error);
    const int64_t now_ns = mono_now_ns();
    if (now_ns >= atomic_load(&account->fault_ns)) {
        return status == STATUS_FATAL ? STATUS_LOST : status;
    }
    if (status == STATUS_OK) {
        atomic_store(&mine->acknowledged, mine->acknowledged + rows);
        atomic_store(outcome, OUTCOME_KEPT);
        atomic_store(&account->latest_ack_ns, now_ns);
    } else if (status == STATUS_REJECTED && !is_partly_kept) {
        atomic_store(&mine->rejected, mine->rejected + rows);
        atomic_store(outcome, OUTCOME_REJECTED);
        if (error->kind == ERROR_BUSY) {
            mono_sleep(FULL_PAUSE_NS);
        }
    }
    return status;
}

/* Waits before the session connects again. The pause grows with the number of sessions, so that all
 * sessions together connect at most about 1,000 times a second. Then a server that has just started
 * still has time for other work. */
static void wait_to_connect(const struct writer *writer)
{
    const int64_t pause_ns = MAX(PAUSE_NS, writer->of->account->sessions * MONO_NS_PER_MS);
    const int64_t until_ns = mono_now_ns() + pause_ns;
    while (!is_over(writer) && mono_now_ns() < until_ns) {
        mono_sleep(MAX(PAUSE_NS, pause_ns / 10));
    }
}

static void *write_all(void *argument)
{
    struct writer *writer = argument;
    while (!is_over(writer)) {
        struct error error = {.kind = ERROR_NONE};
        const bool is_new = writer->conn == NULL;
        const enum status status =
            is_new ? open_session(writer, &error) : take_turn(writer, &error);
        if (status == STATUS_LOST || status == STATUS_FATAL || (is_new && status != STATUS_OK)) {
            line_close(&writer->line, &writer->conn);
        }
        if (status == STATUS_FATAL) {
            fail(writer, &error);
            break;
        }
        if (is_new && status != STATUS_OK) {
            wait_to_connect(writer);
        }
    }
    line_close(&writer->line, &writer->conn);
    return NULL;
}

/* The work of a thread: requests a checkpoint from the server whenever the main process asks for
 * it. Returns when the writers are to end, or when a checkpoint fails. */
static void *write_checkpoints(void *argument)
{
    const struct writers *of = argument;
    struct account *account = of->account;
    const struct adapter *adapter = of->plan->adapter;
    const struct target target = target_at(of->plan, 0);
    struct connection_info info = {.integrity = NULL};
    struct adapter_conn *conn = NULL;
    struct buffer sql = {0};
    struct error error = {.kind = ERROR_NONE};
    unsigned done = atomic_load(&account->checkpoints_asked);
    if (adapter->open(adapter, &target, &conn, &error) != STATUS_OK) {
        return NULL;
    }
    target_fill_connection(of->plan, &info);
    if (adapter->inspect != NULL) {
        adapter->inspect(adapter, conn, &info);
    }
    const char *words = info.integrity == NULL ? NULL : info.integrity->checkpoint;
    bool is_able = words != NULL;
    if (is_able) {
        ask_write(&sql, words, &info, rows_table_names[0], NULL, 0);
    }
    while (is_able && !atomic_load(&account->is_over)) {
        const unsigned asked = atomic_load(&account->checkpoints_asked);
        if (asked != done) {
            atomic_store(&account->checkpoint_ns, mono_now_ns());
            struct answer answer = {.take = NULL};
            is_able =
                ask_rows(adapter, conn, buffer_text(&sql), NULL, &answer, &error) == STATUS_OK;
            atomic_store(&account->checkpoint_ns, is_able ? account->checkpoint_ns : 0);
            if (is_able && info.integrity->checkpoint_end != NULL) {
                adapter->execute(conn, info.integrity->checkpoint_end, &error);
            }
        }
        done = asked;
        mono_sleep(MONO_NS_PER_MS);
    }
    buffer_fini(&sql);
    adapter->close(conn);
    return NULL;
}

/* Cuts the connections of all sessions whenever the main process asks for it. Returns when the
 * writers are to end. */
static void watch(struct writer *writers, unsigned count)
{
    struct account *account = writers->of->account;
    unsigned done = atomic_load(&account->cuts_asked);
    while (!atomic_load(&account->is_over)) {
        const unsigned asked = atomic_load(&account->cuts_asked);
        for (unsigned i = 0; i < count && asked != done; i++) {
            line_cut(&writers[i].line, NULL, NULL);
        }
        done = asked;
        mono_sleep(MONO_NS_PER_MS);
    }
}

/* The work of the writers' process. Returns its exit code. */
static int run(struct writers *of)
{
    const struct plan *plan = of->plan;
    const unsigned sessions = of->account->sessions;
    struct table tables[ROWS_TABLES];
    struct error error = {.kind = ERROR_NONE};
    struct writer *writers = calloc(sessions, sizeof *writers);
    bool is_ready = writers != NULL;
    for (unsigned t = 0; t < ROWS_TABLES; t++) {
        is_ready = rows_describe(&tables[t], t, &error) == STATUS_OK && is_ready;
    }
    if (!is_ready) {
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < sessions; i++) {
        struct writer *writer = &writers[i];
        writer->of = of;
        writer->session = i;
        writer->tables = tables;
        line_init(&writer->line, plan->adapter, 0);
        const size_t stack = plan->stack_bytes > 0 ? plan->stack_bytes : plan->adapter->stack_bytes;
        const int number = thread_start(&writer->thread, stack, write_all, writer);
        writer->is_started = number == 0;
        if (number != 0) {
            error_set(&error, ERROR_SYSTEM, number, NULL,
                      "client limit: no thread for session %u: %s", i + 1, strerror(number));
            fail(writer, &error);
        }
    }
    pthread_t checkpoints;
    const bool has_checkpoints =
        thread_start(&checkpoints, plan->adapter->stack_bytes, write_checkpoints, of) == 0;
    watch(writers, sessions);
    if (has_checkpoints) {
        pthread_join(checkpoints, NULL);
    }
    for (unsigned i = 0; i < sessions; i++) {
        if (writers[i].is_started) {
            pthread_join(writers[i].thread, NULL);
        }
    }
    return EXIT_SUCCESS;
}

enum status writers_start(struct writers *writers, struct error *error)
{
    struct account *account = writers->account;
    const pid_t parent = getpid();
    atomic_store(&account->fault_ns, INT64_MAX);
    atomic_store(&account->is_over, false);
    atomic_store(&account->has_error, false);
    atomic_store(&account->failed, 0);
    writers->pid = fork();
    if (writers->pid == 0) {
        processes_serve();
        _exit(getppid() == parent ? run(writers) : EXIT_FAILURE);
    }
    if (writers->pid < 0) {
        writers->pid = 0;
        error_set(error, ERROR_SYSTEM, errno, NULL,
                  "client limit: cannot start a process for the sessions: %s", strerror(errno));
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

bool writers_are_running(struct writers *writers)
{
    struct child_end end;
    if (writers->pid > 0 && child_wait(writers->pid, 0, &end)) {
        writers->pid = 0;
    }
    return writers->pid > 0;
}

void writers_kill(struct writers *writers)
{
    if (writers->pid > 0) {
        kill(writers->pid, SIGKILL);
        processes_reap(writers->pid);
        writers->pid = 0;
    }
}

void writers_finish(struct writers *writers)
{
    const int64_t until_ns = mono_now_ns() + FINISH_NS;
    struct child_end end;
    atomic_store(&writers->account->is_over, true);
    while (writers->pid > 0 && mono_now_ns() < until_ns && !interrupt_requested()) {
        if (child_wait(writers->pid, PAUSE_NS, &end)) {
            writers->pid = 0;
        }
    }
    writers_kill(writers);
}
