#include "load/transactions.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/random.h"
#include "base/text.h"
#include "load/account.h"
#include "load/calls.h"
#include "load/gate.h"
#include "plan/facts.h"

/* The pause before a retry is a random time between 0 and a bound. The bound is RETRY_FIRST_NS
 * before the first retry and doubles with each retry, up to RETRY_MOST_NS ("full jitter"). */
#define RETRY_FIRST_NS MONO_NS_PER_MS
#define RETRY_MOST_NS (250 * MONO_NS_PER_MS)

enum {
    ROWS_AT_A_TIME = 128 /* number of rows that the script's call of :append has in memory at a
                            time */
};

/* The session's changes to one table of the script. */
struct table_account {
    uint64_t added, taken; /* numbers of committed rows */
    uint64_t added_in_doubt, taken_in_doubt;
    uint64_t try_added, try_taken;   /* numbers of rows added and removed in the open transaction */
    uint64_t most_added, most_taken; /* greatest number of rows that one statement added or removed;
                                        taken as the number of rows of a statement in doubt */
    uint64_t appended; /* number of rows that were begun; also the number of the next row, from 0 */
    uint64_t last_count;
    struct script_rows *rows; /* rows for :append; NULL before the first use */
};

/* How the current statements of the script are committed. */
enum part {
    PART_NONE,        /* outside of any transaction: the top level, on_session */
    PART_PAUSE,       /* the pause before a transaction */
    PART_AUTOCOMMIT,  /* in a transaction without BEGIN: each statement is a transaction */
    PART_TRANSACTION, /* between BEGIN and COMMIT */
};

/* The code that the session's thread runs. The script's own code may call a C function that never
 * returns. The main thread then abandons the thread, which changes nothing from then on. */
enum thread_place {
    OUTSIDE,
    IN_SCRIPT,
    ABANDONED,
};

/* Results of the checks in a try. */
struct claims {
    uint64_t checks, checks_failed, found, not_found;
    struct error first; /* the first failed check */
};

struct transactions {
    struct session *session;
    atomic_int where; /* the code that the thread runs, of enum thread_place */
    const struct script *script;
    struct script_host host;
    struct script_state *state; /* state of the script; NULL before the session's thread begins and
                                   after it has ended */
    struct table_account *accounts;
    struct append *append; /* the append in progress, or NULL */
    size_t append_dataset; /* number of the table to which `append` writes */
    bool *writes;          /* for each transaction, by its number, whether a try has sent a write */

    /* The current transaction. */
    enum part part;
    size_t number;
    bool is_warm;         /* the transaction began in the warm-up */
    int64_t intended_ns;  /* moment at which the transaction was due; 0 without --rate */
    int64_t start_ns;     /* monotonic moment at which the transaction began */
    int64_t all_think_ns; /* think time of those tries of the transaction that have ended */
    uint64_t retries;
    int64_t think_ns;  /* think time of this try */
    int64_t script_ns; /* time in the script's own code in this try */
    int64_t since_ns;  /* the moment at which the script's code was last entered */
    int64_t latest_ns; /* end of the previous call, or of the script's function; the measured time
                          of a BEGIN, COMMIT or ROLLBACK begins here */
    bool has_written;  /* a write of this try was acknowledged */
    bool has_changed;  /* a write of this try stays even after a ROLLBACK */
    bool has_ended;    /* a statement may have ended the open transaction */
    bool is_in_doubt;  /* a COMMIT, or a write outside of BEGIN and COMMIT, got no answer */
    bool is_cut;       /* the run ended before an append could be tried again */
    bool has_failed;   /* a call has failed, and the next members describe the failure */
    enum status status;
    enum cause_phase phase;
    const char *name; /* the statement's name, for the causes */
    int line;         /* the statement's line in the script */
    struct error error;
    uint64_t calls[3]; /* number of answered statements, by enum script_statement_kind */
    struct claims claims;
};

/* Adds `n` to a counter of the run or, for a transaction that began in the warm-up, to a counter of
 * the warm-up. */
static void add(const struct transactions *runner, enum recorder_counter counter, uint64_t n)
{
    if (n > 0) {
        (runner->is_warm ? recorder_add_warm_up : recorder_add)(runner->session->load->recorder,
                                                                runner->session->place, counter, n);
    }
}

/* Adds to a count of one operation of the script, except in the warm-up. */
static void count(const struct transactions *runner, size_t operation, enum operation_count what,
                  uint64_t n)
{
    if (!runner->is_warm) {
        recorder_count(runner->session->load->recorder, runner->session->place,
                       OPERATIONS + operation, what, n);
    }
}

static void record(const struct transactions *runner, size_t operation, int64_t ns)
{
    if (!runner->is_warm) {
        recorder_record(runner->session->load->recorder, runner->session->place, operation, ns);
    }
}

/* Counts an event of the current transaction, in the total and for the transaction's name. */
static void count_transaction(const struct transactions *runner, enum operation_count what)
{
    add(runner, operation_count_sums[what], 1);
    count(runner, runner->script->transactions[runner->number].operation, what, 1);
}

/* Marks that the session's thread has left the script's code. Between mark_in_script and
 * mark_outside the thread uses only data of the script. Does not return if the main thread has
 * abandoned the thread, which happens only after STOP. */
static void mark_outside(struct transactions *runner)
{
    int where = IN_SCRIPT;
    atomic_compare_exchange_strong(&runner->where, &where, OUTSIDE);
    while (where == ABANDONED) {
        pause();
    }
}

static void mark_in_script(struct transactions *runner)
{
    atomic_store_explicit(&runner->where, IN_SCRIPT, memory_order_release);
}

/* Returns whether the run was stopped. Functions of the script that make rows also call this
 * function, during an append. */
static bool is_stopped(void *context)
{
    struct transactions *runner = context;
    const bool was_in = atomic_load(&runner->where) != OUTSIDE;
    if (was_in) {
        mark_outside(runner);
    }
    const bool is = gate_is_stopped(&runner->session->load->gate);
    if (was_in) {
        mark_in_script(runner);
    }
    return is;
}

/* Stops the measurement of the time in the script's own code, at the beginning of a call.
 * start_script_clock continues the measurement when the call has ended. Both return the current
 * time. */
static int64_t stop_script_clock(struct transactions *runner)
{
    runner->latest_ns = mono_now_ns();
    runner->script_ns += runner->latest_ns - runner->since_ns;
    return runner->latest_ns;
}

static int64_t start_script_clock_at(struct transactions *runner, int64_t now_ns)
{
    runner->since_ns = now_ns;
    return runner->since_ns;
}

static int64_t start_script_clock(struct transactions *runner)
{
    return start_script_clock_at(runner, mono_now_ns());
}

/* Notes a failed call; runner->error has the reason. Returns the call's status, or LOST if the
 * connection was cut during the call. */
static enum status note_failure(struct transactions *runner, enum cause_phase phase,
                                const char *name, enum status status)
{
    runner->has_failed = true;
    runner->phase = phase;
    runner->name = name;
    runner->status = runner->session->is_overdue && session_goes_on(status) ? STATUS_LOST : status;
    return runner->status;
}

static void note_rows(const struct transactions *runner, int dataset, uint64_t rows, bool is_added)
{
    if (dataset == SCRIPT_NO_DATASET) {
        return;
    }
    struct table_account *account = &runner->accounts[dataset];
    uint64_t *most = is_added ? &account->most_added : &account->most_taken;
    *most = MAX(*most, rows);
    if (runner->part == PART_TRANSACTION) {
        *(is_added ? &account->try_added : &account->try_taken) += rows;
    } else {
        *(is_added ? &account->added : &account->taken) += rows;
    }
}

/* Notes a write outside of BEGIN and COMMIT that got no answer. The number of rows that the write
 * matched is unknown. It is assumed to be the greatest number of rows that an earlier statement
 * added or removed, but at least 1. These rows count as in doubt. */
static void note_doubt(struct transactions *runner, const struct script_statement *statement)
{
    runner->is_in_doubt = true;
    if (statement->adds_to != SCRIPT_NO_DATASET) {
        struct table_account *account = &runner->accounts[statement->adds_to];
        account->added_in_doubt += MAX(account->most_added, 1);
    }
    if (statement->takes_from != SCRIPT_NO_DATASET) {
        struct table_account *account = &runner->accounts[statement->takes_from];
        account->taken_in_doubt += MAX(account->most_taken, 1);
    }
}

/* Returns whether an acknowledged statement may have changed rows permanently. In a database
 * without transactions every write counts, because such a database may not report how many rows a
 * write matched. */
static bool changes_rows(const struct transactions *runner,
                         const struct script_statement *statement, uint64_t rows)
{
    const bool knows_rows = runner->session->load->plan->adapter->begin != NULL;
    return runner->part == PART_AUTOCOMMIT && statement->kind != SCRIPT_READ &&
           (rows > 0 || statement->kind == SCRIPT_OTHER || !knows_rows);
}

static enum status do_run(void *context, size_t number, const struct batch *parameters,
                          struct answer *answer)
{
    struct transactions *runner = context;
    struct session *session = runner->session;
    const struct plan *plan = session->load->plan;
    const struct script_statement *declared = &runner->script->statements[number];
    const struct statement *statement = script_state_statement(runner->state, number);
    struct statement text;
    /* do not use prepared statements through a pooler: the next statement may reach a server
     * session that has not prepared it */
    if (plan->is_unprepared || session->load->setup->server.is_pooled) {
        text = *statement;
        text.is_prepared = false;
        text.slot = 0;
        statement = &text;
    }
    if (declared->controls_transaction && runner->part == PART_TRANSACTION) {
        error_set(&runner->error, ERROR_USAGE, 0, NULL,
                  "transaction '%s' has a BEGIN and COMMIT of its own: use {autocommit = true}",
                  runner->script->transactions[runner->number].name);
        runner->line = declared->line;
        return note_failure(runner, CAUSE_STATEMENT, declared->name, STATUS_FATAL);
    }
    /* set the flag even if the write is refused: SQLite may refuse it because another session has
     * written since this transaction began, and the retry must then take the lock at BEGIN */
    if (runner->part == PART_TRANSACTION) {
        runner->writes[runner->number] |= declared->kind != SCRIPT_READ;
    }
    count(runner, declared->operation, COUNT_SENT, 1);
    answer->rows = 0;
    const int64_t start_ns = stop_script_clock(runner);
    session_begin_call(session, OPERATIONS + declared->operation);
    const enum status status =
        prepared_run(&session->prepared, statement, parameters, answer, &runner->error);
    session_end_call(session);
    const int64_t end_ns = start_script_clock(runner);
    if (status == STATUS_OK) {
        count(runner, declared->operation, COUNT_ANSWERED, 1);
        count(runner, declared->operation, COUNT_ROWS, answer->rows);
        if (answer->rows == 0 && declared->kind != SCRIPT_OTHER) {
            count(runner, declared->operation, COUNT_EMPTY, 1);
        }
        record(runner, OPERATIONS + declared->operation, end_ns - start_ns);
        runner->calls[declared->kind]++;
        runner->has_written |= declared->kind != SCRIPT_READ;
        runner->has_changed |= changes_rows(runner, declared, answer->rows);
        note_rows(runner, declared->adds_to, answer->rows, true);
        note_rows(runner, declared->takes_from, answer->rows, false);
        return STATUS_OK;
    }
    const bool is_answered = session_goes_on(status) || status == STATUS_FATAL;
    count(runner, declared->operation, is_answered ? COUNT_REFUSED : COUNT_UNANSWERED, 1);
    if (status == STATUS_LOST && runner->part != PART_TRANSACTION &&
        declared->kind != SCRIPT_READ) {
        note_doubt(runner, declared);
    }
    runner->line = declared->line;
    runner->has_ended = status == STATUS_FATAL && runner->error.kind == ERROR_USAGE;
    return note_failure(runner, CAUSE_STATEMENT, declared->name, status);
}

/* Clears a failure by a duplicate key, so that the script can continue. Returns false for other
 * failures, and between BEGIN and COMMIT, where only ROLLBACK is valid after a failure. */
static bool do_forgive(void *context)
{
    struct transactions *runner = context;
    if (!runner->has_failed || runner->error.kind != ERROR_DUPLICATE ||
        runner->part == PART_TRANSACTION) {
        return false;
    }
    runner->has_failed = false;
    error_clear(&runner->error);
    return true;
}

/* Makes the next rows of the append in progress. During this time the line has no call in progress,
 * so that --timeout does not limit it. Runs the script's own code, which may never return. */
static const struct batch *make_rows(void *context, uint64_t from, size_t rows, struct error *error)
{
    struct transactions *runner = context;
    struct session *session = runner->session;
    const struct table_account *account = &runner->accounts[runner->append_dataset];
    const unsigned sessions = session->load->plan->sessions;
    const uint64_t first = runner->script->datasets[runner->append_dataset].rows + session->index +
                           sessions * (account->appended + from);
    session_end_call(session);
    runner->since_ns = mono_now_ns();
    mark_in_script(runner);
    const struct batch *made =
        script_rows_fill(account->rows, runner->state, first, sessions, rows, error);
    mark_outside(runner);
    session_begin_call(session, OPERATION_APPEND);
    if (made != NULL) {
        session_note_row_bytes(session, runner->append->table, made);
    }
    return made;
}

/* Adds the rows of an append to the accounts of the session and of the table. */
static void account_rows(struct transactions *runner, size_t dataset, struct append *append,
                         enum status status, int64_t end_ns)
{
    struct session *session = runner->session;
    struct table_account *account = &runner->accounts[dataset];
    account->appended += append->rows;
    session->sum.begun += append->rows;
    session_account(session, append, status, end_ns);
    note_rows(runner, (int)dataset, append->accepted, true);
    runner->has_written |= append->accepted > 0;
    runner->has_changed |= append->accepted > 0;
    account->added_in_doubt += append->in_doubt;
    runner->is_in_doubt |= append->in_doubt > 0;
}

static enum status do_append(void *context, size_t dataset, uint64_t rows)
{
    struct transactions *runner = context;
    struct session *session = runner->session;
    const struct script_dataset *declared = &runner->script->datasets[dataset];
    struct table_account *account = &runner->accounts[dataset];
    struct generated_rows generated = {.session = session, .first = account->appended};
    struct append append = {
        .table = &session->load->setup->tables[dataset].table,
        .first_row = account->appended,
        .rows = MIN(rows, session->quota - session->sum.begun),
    };
    if (runner->part == PART_TRANSACTION) {
        error_set(&runner->error, ERROR_USAGE, 0, NULL,
                  "%s: transaction '%s' appends to '%s', which works only with autocommit: declare "
                  "the transaction with {autocommit = true}",
                  runner->script->name, runner->script->transactions[runner->number].name,
                  declared->name);
        return note_failure(runner, CAUSE_APPEND, declared->name, STATUS_FATAL);
    }
    if (append.rows == 0) {
        return STATUS_OK; /* the session's share of rows is done */
    }
    const int64_t start_ns = stop_script_clock(runner);
    if (declared->is_declared) {
        if (account->rows == NULL) {
            account->rows = script_rows_create(runner->script, dataset, ROWS_AT_A_TIME);
        }
        if (account->rows == NULL) {
            error_set(&runner->error, ERROR_MEMORY, 0, NULL, "out of memory for a batch of rows");
            return note_failure(runner, CAUSE_APPEND, declared->name, STATUS_FATAL);
        }
        append.source = (struct row_source){make_rows, NULL, runner, ROWS_AT_A_TIME};
    } else {
        append.source = generated_source(&generated);
    }
    bool is_begun;
    runner->append = &append;
    runner->append_dataset = dataset;
    const enum status status = session_send(session, &append, &is_begun, &runner->error);
    runner->append = NULL;
    runner->is_cut = !is_begun;
    const int64_t end_ns = start_script_clock(runner);
    if (!is_begun ||
        (status == STATUS_REJECTED && append.accepted == 0 && error_is_transient(&runner->error))) {
        /* the rows are sent again later */
        return note_failure(runner, CAUSE_APPEND, declared->name, STATUS_REJECTED);
    }
    account_rows(runner, dataset, &append, status, end_ns);
    if (status != STATUS_OK) {
        return note_failure(runner, CAUSE_APPEND, declared->name, status);
    }
    record(runner, OPERATION_APPEND, end_ns - start_ns);
    return STATUS_OK;
}

/* Returns whether some statement takes rows from the table. If so, a count may be lower than the
 * number of rows that the session added. */
static bool is_taken_from(const struct script *script, size_t dataset)
{
    for (size_t i = 0; i < script->statement_count; i++) {
        if (script->statements[i].takes_from == (int)dataset) {
            return true;
        }
    }
    return false;
}

static enum status do_count_rows(void *context, size_t dataset, uint64_t *rows)
{
    struct transactions *runner = context;
    struct session *session = runner->session;
    const struct setup *setup = session->load->setup;
    const struct adapter *adapter = session->load->plan->adapter;
    const struct script_dataset *declared = &runner->script->datasets[dataset];
    struct table_account *account = &runner->accounts[dataset];
    const int64_t start_ns = stop_script_clock(runner);
    session_begin_call(session, OPERATION_READ);
    const enum status status =
        ask_count(adapter, session->conn, &setup->tables[dataset].count, rows, &runner->error);
    session_end_call(session);
    const int64_t end_ns = start_script_clock(runner);
    if (status != STATUS_OK) {
        return note_failure(runner, CAUSE_READ, declared->name, status);
    }
    record(runner, OPERATION_READ, end_ns - start_ns);
    runner->calls[SCRIPT_READ]++;
    /* check that the count is not stale, but only if no statement takes rows from the table */
    uint64_t before;
    if ((adapter->flags & ADAPTER_DISCARDS) == 0 && !is_taken_from(runner->script, dataset) &&
        session_knows_before(session, dataset, &before)) {
        /* leave out the rows that this try added: if they are rolled back, later counts do not have
         * them */
        const uint64_t kept = *rows - MIN(*rows, account->try_added);
        session_note_count(session, kept, before + account->added, &account->last_count);
    }
    return STATUS_OK;
}

static enum status do_think(void *context, int64_t ns)
{
    struct transactions *runner = context;
    const int64_t start_ns = stop_script_clock(runner);
    const bool goes_on =
        gate_sleep_until(&runner->session->load->gate, start_ns + ns, &runner->session->is_leaving);
    runner->think_ns += start_script_clock(runner) - start_ns;
    return goes_on ? STATUS_OK : STATUS_REJECTED;
}

static bool keeps_rows(const struct transactions *runner)
{
    return (runner->session->load->plan->adapter->flags & ADAPTER_DISCARDS) == 0;
}

static void do_check(void *context, bool is_good, const char *text)
{
    struct transactions *runner = context;
    if (!keeps_rows(runner)) {
        return;
    }
    runner->claims.checks++;
    if (!is_good && runner->claims.checks_failed++ == 0) {
        error_set(&runner->claims.first, ERROR_DATA, 0, NULL, "check failed%s%.180s",
                  text[0] == '\0' ? "" : ": ", text);
    }
}

static void do_found(void *context, bool is_found)
{
    struct transactions *runner = context;
    if (keeps_rows(runner)) {
        ++*(is_found ? &runner->claims.found : &runner->claims.not_found);
    }
}

/* Counts the checks of a try, unless the server undid the try because of other transactions: such a
 * try may have read data that was never committed. */
static void count_claims(struct transactions *runner, bool is_undone)
{
    const struct claims *claims = &runner->claims;
    if (!is_undone || runner->part != PART_TRANSACTION) {
        add(runner, RECORDER_CHECKS, claims->checks);
        add(runner, RECORDER_CHECKS_FAILED, claims->checks_failed);
        add(runner, RECORDER_FOUND, claims->found);
        add(runner, RECORDER_NOT_FOUND, claims->not_found);
        if (claims->checks_failed > 0 && !runner->is_warm) {
            const int64_t now_ns = mono_now_ns();
            causes_merge_cause(runner->session->load->causes,
                               &(struct cause){CAUSE_SCRIPT, STATUS_REJECTED,
                                               runner->script->transactions[runner->number].name,
                                               claims->first, claims->checks_failed, now_ns,
                                               now_ns});
        }
    }
}

static bool do_can_roll_back(void *context)
{
    const struct transactions *runner = context;
    return !runner->has_changed;
}

/* Defines the functions that the script calls. Each function marks that the thread has left the
 * script's code, calls do_NAME, and marks that the thread is in the script's code again. */
#define FROM_SCRIPT(type, name, parameters, arguments)                                             \
    static type name parameters                                                                    \
    {                                                                                              \
        mark_outside(context);                                                                     \
        const type result = do_##name arguments;                                                   \
        mark_in_script(context);                                                                   \
        return result;                                                                             \
    }
FROM_SCRIPT(enum status, run,
            (void *context, size_t number, const struct batch *parameters, struct answer *answer),
            (context, number, parameters, answer))
FROM_SCRIPT(bool, forgive, (void *context), (context))
FROM_SCRIPT(enum status, append, (void *context, size_t dataset, uint64_t rows),
            (context, dataset, rows))
FROM_SCRIPT(enum status, count_rows, (void *context, size_t dataset, uint64_t *rows),
            (context, dataset, rows))
FROM_SCRIPT(enum status, think, (void *context, int64_t ns), (context, ns))
FROM_SCRIPT(bool, can_roll_back, (void *context), (context))

static void check(void *context, bool is_good, const char *text)
{
    mark_outside(context);
    do_check(context, is_good, text);
    mark_in_script(context);
}

static void found(void *context, bool is_found)
{
    mark_outside(context);
    do_found(context, is_found);
    mark_in_script(context);
}

/* Adds a value to a metric of the script, except in the warm-up. Values from tries that are undone
 * and retried also count, because a value describes the try itself. */
static void measure(void *context, size_t metric, double value)
{
    const struct transactions *runner = context;
    const struct session *session = runner->session;
    mark_outside(context);
    if (!runner->is_warm && session->load->metrics != NULL) {
        metric_store_add(session->load->metrics, session->place, metric, value);
    }
    mark_in_script(context);
}

static void free_runner(struct transactions *runner)
{
    free(runner->accounts);
    free(runner->writes);
    free(runner);
}

/* Returns NULL if memory runs out. */
static struct transactions *make_runner(const struct script *script)
{
    struct transactions *runner = calloc(1, sizeof *runner);
    if (runner == NULL) {
        return NULL;
    }
    runner->accounts = calloc(script->dataset_count + 1, sizeof *runner->accounts);
    runner->writes = calloc(script->transaction_count + 1, sizeof *runner->writes);
    if (runner->accounts == NULL || runner->writes == NULL) {
        free_runner(runner);
        return NULL;
    }
    return runner;
}

enum status transactions_begin(struct session *session, struct error *error)
{
    const struct load *load = session->load;
    const struct script *script = load->plan->script;
    struct transactions *runner = session->transactions;
    if (runner == NULL) {
        runner = make_runner(script);
    }
    if (runner == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a session's script");
        return STATUS_FATAL;
    }
    session->transactions = runner;
    runner->part = PART_NONE;
    runner->session = session;
    runner->script = script;
    runner->host = (struct script_host){.context = runner,
                                        .run = run,
                                        .append = append,
                                        .count = count_rows,
                                        .forgive = forgive,
                                        .think = think,
                                        .check = check,
                                        .found = found,
                                        .measure = measure,
                                        .can_roll_back = can_roll_back,
                                        .is_stopped = is_stopped};
    const struct script_place place = {.session = session->index,
                                       .sessions = load->plan->sessions,
                                       .seed = load->plan->facts->seed,
                                       .dialect = load->setup->connection.dialect,
                                       .host = &runner->host};
    struct script_state *state = NULL;
    start_script_clock(runner);
    mark_in_script(runner);
    const enum status status = script_state_create(&state, script, &place, error);
    mark_outside(runner);
    runner->state = state;
    return status;
}

void transactions_end(struct session *session)
{
    struct transactions *runner = session->transactions;
    if (runner == NULL) {
        return;
    }
    for (size_t i = 0; runner->script != NULL && i < runner->script->dataset_count; i++) {
        script_rows_destroy(runner->accounts[i].rows);
        runner->accounts[i].rows = NULL;
    }
    script_state_destroy(runner->state);
    runner->state = NULL;
}

void transactions_destroy(struct session *session, struct result *result)
{
    struct transactions *runner = session->transactions;
    if (runner == NULL) {
        return;
    }
    for (size_t i = 0; i < result->dataset_count; i++) {
        const struct table_account *account = &runner->accounts[i];
        struct verification *into = &result->datasets[i];
        into->added += account->added;
        into->taken += account->taken;
        into->added_in_doubt += account->added_in_doubt;
        into->taken_in_doubt += account->taken_in_doubt;
    }
    session->transactions = NULL;
    if (atomic_load(&runner->where) == ABANDONED) {
        return;
    }
    free_runner(runner);
}

/* Ends the run because of a mistake in the script. A mistake that the database found is reported
 * with the statement's place in the script. */
static enum status stop_for(struct transactions *runner, const struct error *error)
{
    struct error placed = {.kind = ERROR_NONE};
    if (runner->has_failed && runner->phase == CAUSE_STATEMENT) {
        error_set(&placed, error->kind, error->native_code, error->sqlstate,
                  "%s:%d: '%.48s': %.120s", plan_script_shown(runner->script), runner->line,
                  runner->name, error->text);
        error = &placed;
    }
    session_blame(runner->session, CAUSE_SCRIPT, NULL, STATUS_FATAL, error);
    gate_stop(&runner->session->load->gate, STOP_SCRIPT);
    return STATUS_FATAL;
}

static void begin_part(struct transactions *runner, enum part part)
{
    runner->part = part;
    runner->think_ns = runner->script_ns = 0;
    runner->has_written = runner->has_changed = runner->has_failed = runner->has_ended = false;
    runner->is_in_doubt = runner->is_cut = false;
    runner->status = STATUS_OK;
    runner->claims = (struct claims){0};
    error_clear(&runner->error);
}

/* Prepares the statements, so that the times of the first calls do not include the preparation. A
 * statement that the server refuses now, for example because a temporary table does not exist yet,
 * is prepared when it is run. */
static enum status prepare_statements(struct transactions *runner, struct error *error)
{
    struct session *session = runner->session;
    const struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    enum status status = STATUS_OK;
    if (adapter->prepare == NULL || load->plan->is_unprepared || load->setup->server.is_pooled) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < runner->script->statement_count && session_goes_on(status); i++) {
        const struct statement *statement = script_state_statement(runner->state, i);
        if (statement->is_prepared) {
            error_clear(error);
            session_begin_call(session, RECORDER_NO_CALL);
            status = prepared_make(&session->prepared, statement, error);
            session_end_call(session);
        }
    }
    if (!session_goes_on(status)) {
        session_blame(session, CAUSE_STATEMENT, NULL, status, error);
        return status;
    }
    error_clear(error);
    return STATUS_OK;
}

enum status transactions_connected(struct session *session, struct error *error)
{
    struct transactions *runner = session->transactions;
    runner->is_warm = true;
    begin_part(runner, PART_NONE);
    start_script_clock(runner);
    mark_in_script(runner);
    const enum script_end end = script_connected(runner->state, error);
    mark_outside(runner);
    memset(runner->calls, 0, sizeof runner->calls);
    switch (end) {
    case SCRIPT_DONE:
    case SCRIPT_ROLLBACK: /* there is nothing to roll back */
        return prepare_statements(runner, error);
    case SCRIPT_STOPPED:
        error_set(error, ERROR_CANCELLED, 0, NULL, "the run ended before the session could work");
        return STATUS_LOST;
    case SCRIPT_FAILED:
        *error = runner->error;
        session_blame(session, runner->phase, runner->name, runner->status, error);
        return runner->status == STATUS_LOST ? STATUS_LOST : STATUS_FATAL;
    case SCRIPT_WRONG:
        break;
    }
    return stop_for(runner, error);
}

/* How a try ended. */
enum try_end {
    TRY_COMMITTED,
    TRY_ROLLED_BACK,
    TRY_RETRYABLE, /* a retry may succeed, because the cause of the failure may be gone */
    TRY_REFUSED,
    TRY_LOST,
    TRY_IN_DOUBT,
    TRY_CUT,   /* the run has ended */
    TRY_WRONG, /* the script has a mistake */
};

/* Counts a BEGIN, COMMIT or ROLLBACK that succeeded, and records its time. The statement began when
 * the previous call ended. */
static void note_call(struct transactions *runner, enum operation_id operation, enum status status)
{
    const int64_t start_ns = runner->latest_ns;
    runner->latest_ns = mono_now_ns();
    if (status == STATUS_OK) {
        runner->calls[SCRIPT_OTHER]++;
        record(runner, operation, runner->latest_ns - start_ns);
    }
}

/* Ends the open transaction with COMMIT or ROLLBACK. */
static enum status end_transaction(struct transactions *runner, enum operation_id operation)
{
    struct session *session = runner->session;
    const struct adapter *adapter = session->load->plan->adapter;
    const bool is_commit = operation == OPERATION_COMMIT;
    const char *name = is_commit ? "COMMIT" : "ROLLBACK";
    struct error error = {.kind = ERROR_NONE};
    session_begin_call(session, operation);
    const enum status status = is_commit ? adapter->commit(session->conn, &error)
                                         : adapter->rollback(session->conn, &error);
    session_end_call(session);
    note_call(runner, operation, status);
    if (status == STATUS_OK) {
        return STATUS_OK;
    }
    if (runner->has_failed && status != STATUS_LOST) {
        session_blame(session, CAUSE_STATEMENT, name, status, &error);
        return status; /* the first error remains the reason for the failure */
    }
    runner->error = error;
    note_failure(runner, CAUSE_STATEMENT, name, status);
    return status;
}

static enum status begin(struct transactions *runner)
{
    struct session *session = runner->session;
    const struct transaction transaction = {
        .isolation = runner->script->transactions[runner->number].isolation,
        .writes = runner->writes[runner->number]};
    session_begin_call(session, OPERATION_BEGIN);
    const enum status status =
        session->load->plan->adapter->begin(session->conn, &transaction, &runner->error);
    session_end_call(session);
    note_call(runner, OPERATION_BEGIN, status);
    if (status == STATUS_OK) {
        return STATUS_OK;
    }
    runner->line = runner->script->transactions[runner->number].line;
    return note_failure(runner, CAUSE_STATEMENT, "BEGIN", status);
}

/* Returns whether a mistake in the script made the latest call fail. */
static bool is_mistaken(const struct transactions *runner)
{
    return runner->has_failed && runner->status == STATUS_FATAL &&
           runner->error.kind == ERROR_USAGE;
}

/* Classifies a failed try by its status and error. */
static enum try_end classify_failure(const struct transactions *runner)
{
    const bool can_pass =
        (error_is_transient(&runner->error) && runner->error.kind != ERROR_READ_ONLY) ||
        (runner->error.kind == ERROR_DUPLICATE &&
         runner->script->transactions[runner->number].retries_duplicate);
    if (runner->is_in_doubt) {
        return TRY_IN_DOUBT;
    }
    if (runner->is_cut) {
        return TRY_CUT;
    }
    if (runner->status == STATUS_LOST) {
        return TRY_LOST;
    }
    if (is_mistaken(runner)) {
        return TRY_WRONG;
    }
    return runner->status == STATUS_REJECTED && can_pass ? TRY_RETRYABLE : TRY_REFUSED;
}

/* Rolls back an open transaction, unless the connection is lost. When the rollback fails, the
 * connection is unusable. */
static enum try_end undo(struct transactions *runner, enum try_end end)
{
    if (runner->part == PART_TRANSACTION && session_goes_on(runner->status)) {
        const enum status before = runner->status;
        const struct error error = runner->error;
        const char *name = runner->name;
        const enum cause_phase phase = runner->phase;
        if (end_transaction(runner, OPERATION_ROLLBACK) != STATUS_OK) {
            runner->status = STATUS_LOST;
            return TRY_LOST;
        }
        runner->status = before;
        runner->error = error;
        runner->name = name;
        runner->phase = phase;
    }
    return end;
}

static enum try_end commit(struct transactions *runner)
{
    if (runner->part != PART_TRANSACTION) {
        return TRY_COMMITTED;
    }
    const enum status status = end_transaction(runner, OPERATION_COMMIT);
    if (status == STATUS_OK) {
        return TRY_COMMITTED;
    }
    /* the COMMIT is not in doubt if its answer arrived before the connection was cut */
    runner->is_in_doubt = status == STATUS_LOST;
    return classify_failure(runner);
}

static enum try_end try_once(struct transactions *runner)
{
    const struct script_transaction *kind = &runner->script->transactions[runner->number];
    begin_part(runner, kind->is_autocommit ? PART_AUTOCOMMIT : PART_TRANSACTION);
    if (runner->part == PART_TRANSACTION && begin(runner) != STATUS_OK) {
        return classify_failure(runner);
    }
    struct error error = {.kind = ERROR_NONE};
    start_script_clock_at(runner, runner->latest_ns);
    mark_in_script(runner);
    const enum script_end end =
        script_try(runner->state, runner->number, runner->session->turn, &error);
    mark_outside(runner);
    stop_script_clock(runner);
    switch (end) {
    case SCRIPT_DONE:
        return runner->has_failed ? undo(runner, classify_failure(runner)) : commit(runner);
    case SCRIPT_ROLLBACK:
        return undo(runner, TRY_ROLLED_BACK);
    case SCRIPT_FAILED:
        return undo(runner, classify_failure(runner));
    case SCRIPT_STOPPED:
        runner->has_failed = false; /* the end of the run cut the call short */
        return undo(runner, TRY_CUT);
    case SCRIPT_WRONG:
        break;
    }
    undo(runner, TRY_WRONG);
    runner->error = error;
    return TRY_WRONG;
}

/* Adds the changes of the try to the accounts of the tables: committed, in doubt, or undone. */
static void account_changes(struct transactions *runner, enum try_end end)
{
    if (runner->part != PART_TRANSACTION) {
        return;
    }
    for (size_t i = 0; i < runner->script->dataset_count; i++) {
        struct table_account *account = &runner->accounts[i];
        if (end == TRY_COMMITTED) {
            account->added += account->try_added;
            account->taken += account->try_taken;
        } else if (end == TRY_IN_DOUBT || runner->has_ended) {
            account->added_in_doubt += account->try_added;
            account->taken_in_doubt += account->try_taken;
        }
        account->try_added = account->try_taken = 0;
    }
}

/* Waits before a retry, and counts the retry. Returns false when the transaction is not retried:
 * the error does not allow a retry, an autocommit transaction has written already, no try is left,
 * or the run has ended (*end becomes TRY_CUT). */
static bool wait_for_retry(struct transactions *runner, enum try_end *end)
{
    static const enum error_kind causes[OPERATION_COUNTS] = {
        [COUNT_RETRIES_DEADLOCK] = ERROR_DEADLOCK,
        [COUNT_RETRIES_SERIALIZATION] = ERROR_SERIALIZATION,
        [COUNT_RETRIES_BUSY] = ERROR_BUSY,
        [COUNT_RETRIES_DUPLICATE] = ERROR_DUPLICATE,
    };
    struct session *session = runner->session;
    const struct plan *plan = session->load->plan;
    const struct script_transaction *kind = &runner->script->transactions[runner->number];
    const uint64_t tries = plan->tries == UINT64_MAX ? kind->tries : plan->tries;
    if (*end != TRY_RETRYABLE || (kind->is_autocommit && runner->has_written) ||
        (tries > 0 && runner->retries + 1 >= tries)) {
        return false;
    }
    const int64_t most_ns = runner->retries < 8 ? RETRY_FIRST_NS << runner->retries : RETRY_MOST_NS;
    const uint64_t mixed = random_mix(random_mix(plan->facts->seed + session->index) +
                                      session->turn + runner->retries);
    const int64_t pause_ns = 1 + (int64_t)(mixed % (uint64_t)MIN(most_ns, RETRY_MOST_NS));
    if (!gate_sleep_until(&session->load->gate, mono_now_ns() + pause_ns, &session->is_leaving)) {
        *end = TRY_CUT;
        return false;
    }
    enum operation_count cause = COUNT_RETRIES_BUSY;
    for (size_t i = COUNTS_OF_RETRIES; i < OPERATION_COUNTS; i++) {
        cause = causes[i] == runner->error.kind ? (enum operation_count)i : cause;
    }
    runner->retries++;
    count_transaction(runner, cause);
    count_transaction(runner, COUNT_TRIES);
    return true;
}

/* Adds the transaction to the log, if the log includes the current turn. Latency and response time
 * have the same definition as in the results for committed transactions. `tries` is 0 if the
 * transaction was skipped. */
static void log_outcome(const struct transactions *runner, const char *outcome, uint64_t tries,
                        int64_t end_ns)
{
    const int64_t work_end_ns = end_ns - runner->all_think_ns;
    const bool is_due = tries > 0 && runner->intended_ns > 0;
    if (!runner->session->is_logged) {
        return;
    }
    session_log(runner->session,
                (struct transaction_log_row){
                    .transaction = runner->script->transactions[runner->number].name,
                    .outcome = outcome,
                    .tries = (uint32_t)MIN(tries, UINT32_MAX),
                    .end_ns = end_ns,
                    .latency_ns = tries > 0 ? work_end_ns - runner->start_ns : -1,
                    .response_ns = is_due ? work_end_ns - runner->intended_ns : -1});
}

/* Counts the outcome of the transaction, which ended at end_ns, and its statements. */
static void count_outcome(struct transactions *runner, enum try_end end, int64_t end_ns)
{
    static const enum operation_count outcomes[] = {
        [TRY_COMMITTED] = COUNT_COMMITTED, [TRY_ROLLED_BACK] = COUNT_ROLLED_BACK,
        [TRY_RETRYABLE] = COUNT_FAILED,    [TRY_REFUSED] = COUNT_FAILED,
        [TRY_LOST] = COUNT_FAILED,         [TRY_IN_DOUBT] = COUNT_IN_DOUBT,
        [TRY_CUT] = COUNT_UNFINISHED,      [TRY_WRONG] = COUNT_FAILED,
    };
    static const enum recorder_counter reasons[] = {
        [TRY_RETRYABLE] = RECORDER_TRANSACTIONS_EXHAUSTED,
        [TRY_LOST] = RECORDER_TRANSACTIONS_LOST,
        [TRY_REFUSED] = RECORDER_TRANSACTIONS_REFUSED,
        [TRY_WRONG] = RECORDER_TRANSACTIONS_REFUSED,
    };
    /* this program cut the connection because the run had ended */
    const bool is_cut = end == TRY_LOST && atomic_load(&runner->session->was_cut);
    const enum operation_count outcome = outcomes[is_cut ? TRY_CUT : end];
    count_transaction(runner, outcome);
    log_outcome(runner, operation_count_names[outcome], runner->retries + 1, end_ns);
    if (outcome == COUNT_FAILED) {
        add(runner, reasons[end], 1);
        if (runner->part == PART_AUTOCOMMIT && runner->has_written) {
            count_transaction(runner, COUNT_PARTIAL);
        }
    }
    add(runner, RECORDER_READS, runner->calls[SCRIPT_READ]);
    add(runner, RECORDER_WRITES, runner->calls[SCRIPT_WRITE]);
    add(runner, RECORDER_OTHERS, runner->calls[SCRIPT_OTHER]);
    memset(runner->calls, 0, sizeof runner->calls);
}

/* Waits before a transaction for the pause that the script declares. Returns false if the run ended
 * or was changed by hand during the wait. Also returns false if the script has a mistake: *status
 * is then FATAL. */
static bool wait_before(struct transactions *runner, enum status *status)
{
    const struct session *session = runner->session;
    int64_t pause_ns;
    *status = STATUS_OK;
    if (runner->script->transactions[runner->number].pause == NULL) {
        return true;
    }
    begin_part(runner, PART_PAUSE);
    /* do not expect progress from the session while it waits */
    recorder_set_working(session->load->recorder, session->place, 0);
    runner->since_ns = mono_now_ns();
    mark_in_script(runner);
    const enum script_end end =
        script_pause(runner->state, runner->number, session->turn, &pause_ns, &runner->error);
    mark_outside(runner);
    if (end == SCRIPT_WRONG) {
        stop_for(runner, &runner->error);
        *status = STATUS_FATAL;
    }
    const bool goes_on =
        end == SCRIPT_DONE &&
        gate_sleep_until(&session->load->gate, mono_now_ns() + pause_ns, &session->is_leaving) &&
        atomic_load(&session->epoch->next) == NULL;
    recorder_set_working(session->load->recorder, session->place, mono_now_ns());
    return goes_on;
}

enum status transactions_turn(struct session *session, int64_t intended_ns)
{
    const struct load *load = session->load;
    const struct plan *plan = load->plan;
    struct transactions *runner = session->transactions;
    runner->number = session->group.group > 0 ? session->group.group - 1
                                              : script_choose(runner->state, session->turn);
    enum status waited;
    if (intended_ns == 0 && !wait_before(runner, &waited)) {
        return waited;
    }
    const int64_t start_ns = mono_now_ns();
    runner->is_warm = plan->warm_up_ns > 0 && start_ns < load->gate.go_ns + plan->warm_up_ns;
    session->is_logged = !runner->is_warm && transaction_log_takes(&session->logged, session->turn);
    runner->intended_ns = intended_ns;
    runner->start_ns = start_ns;
    runner->all_think_ns = 0;
    if (intended_ns > 0) {
        add(runner, RECORDER_TRANSACTIONS_DUE, 1);
        if (plan->late_ns > 0 && start_ns - intended_ns > plan->late_ns) {
            add(runner, RECORDER_SKIPPED, 1);
            log_outcome(runner, "skipped", 0, start_ns);
            session->turn++;
            return STATUS_OK;
        }
        add(runner, RECORDER_LATE, start_ns - intended_ns > SESSION_LATE_NS ? 1 : 0);
    }
    add(runner, RECORDER_TRANSACTIONS_NOT_DUE, intended_ns == 0 && plan->has_group_rates ? 1 : 0);
    const size_t operation = runner->script->transactions[runner->number].operation;
    int64_t try_ns, end_ns;
    enum try_end end;
    bool is_again, is_wrong;
    runner->retries = 0;
    count_transaction(runner, COUNT_BEGUN);
    count_transaction(runner, COUNT_TRIES);
    do {
        try_ns = runner->latest_ns = runner->retries == 0 ? start_ns : mono_now_ns();
        end = try_once(runner);
        is_wrong = end == TRY_WRONG || is_mistaken(runner);
        if (runner->is_in_doubt && (end == TRY_WRONG || end == TRY_CUT)) {
            end = TRY_IN_DOUBT; /* an append was in progress when the script's code ended */
        }
        end_ns = runner->latest_ns;
        runner->all_think_ns += runner->think_ns;
        account_changes(runner, end);
        add(runner, RECORDER_TRY_NS, (uint64_t)MAX(end_ns - try_ns - runner->think_ns, 0));
        add(runner, RECORDER_SCRIPT_NS, (uint64_t)MAX(runner->script_ns, 0));
        count_claims(runner, end == TRY_RETRYABLE);
        is_again = wait_for_retry(runner, &end);
    } while (is_again);
    if (is_wrong) {
        stop_for(runner, &runner->error); /* called before count_outcome, because the mistake must
                                             not fail a level of a search */
    }
    count_outcome(runner, end, end_ns);
    script_transaction_ended(runner->state);
    session->turn++;
    session_note_gap(session, end_ns);
    if (end == TRY_COMMITTED) {
        const int64_t service_ns = end_ns - start_ns - runner->all_think_ns;
        record(runner, OPERATION_TRANSACTION, service_ns);
        record(runner, OPERATIONS + operation, service_ns);
        record(runner, OPERATION_TRY, end_ns - try_ns - runner->think_ns);
        session_note_progress(session, end_ns);
    }
    /* without an answer the response time is a lower bound */
    const bool is_unanswered = end == TRY_LOST || end == TRY_IN_DOUBT || end == TRY_CUT;
    if (intended_ns > 0 && (end == TRY_COMMITTED || is_unanswered)) {
        record(runner, OPERATION_RESPONSE, end_ns - intended_ns - runner->all_think_ns);
        add(runner, RECORDER_RESPONSES_UNANSWERED, is_unanswered ? 1 : 0);
    }
    session->sum.batches++;
    if (is_wrong) {
        return STATUS_FATAL;
    }
    if (runner->has_failed && end != TRY_CUT) {
        session_blame(session, runner->phase, runner->name, runner->status, &runner->error);
    }
    const enum status status = runner->has_failed ? runner->status : STATUS_OK;
    session_note_refused(session, status, &runner->error);
    return session_after(session, CAUSE_STATEMENT, status, &runner->error);
}

int64_t transactions_leave(struct session *session)
{
    struct transactions *runner = session->transactions;
    struct error error = {.kind = ERROR_NONE};
    int where = IN_SCRIPT;
    if (runner == NULL || !atomic_compare_exchange_strong(&runner->where, &where, ABANDONED)) {
        return 0;
    }
    char place[SCRIPT_PLACE_BYTES];
    snprintf(place, sizeof place, "%s", runner->script->name);
    if (runner->state != NULL) {
        script_place_of(runner->state, place);
    }
    error_set(&error, ERROR_USAGE, 0, NULL,
              "%s: this code was still running after the run had ended: is there an endless loop?",
              place);
    if (runner->append != NULL) {
        /* the rows of the append were in flight, and the connection is about to be closed */
        append_give_up(runner->append);
        account_rows(runner, runner->append_dataset, runner->append, STATUS_LOST, mono_now_ns());
    }
    if (runner->part == PART_AUTOCOMMIT || runner->part == PART_TRANSACTION) {
        runner->all_think_ns += runner->think_ns;
        const enum try_end end = runner->is_in_doubt ? TRY_IN_DOUBT : TRY_WRONG;
        account_changes(runner, end);
        count_claims(runner, false);
        count_outcome(runner, end, runner->since_ns);
    }
    runner->has_failed = false;
    stop_for(runner, &error);
    return runner->since_ns;
}
