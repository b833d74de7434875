/*
 * A session's script: what its functions ask for, and the transactions around them.
 *
 * A transaction ends in one of five ways, whatever was tried: committed, rolled back on purpose,
 * failed, in doubt, or unfinished when the run ends. It is tried again with the same draws when the
 * database says that another one was in its way; without BEGIN and COMMIT, only where no write of
 * the try was acknowledged. What begins in the warm-up has a ledger of its own, and is in no
 * figure; the rows that it adds to tables and takes from them count like all others.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/random.h"
#include "base/text.h"
#include "load/gate.h"
#include "load/session.h"
#include "plan/facts.h"

/* Pauses before a transaction is tried again: up to the first, doubled with each try to the most
 * ("full jitter"). */
#define RETRY_FIRST_NS MONO_NS_PER_MS
#define RETRY_MOST_NS (250 * MONO_NS_PER_MS)

/* A transaction that begins so long after its intended moment is late. */
#define LATE_NS (100 * MONO_NS_PER_MS)

enum {
    ROWS_AT_A_TIME = 128 /* of :append, in memory */
};

/* What a session did to one table of the script. */
struct table_account {
    uint64_t added, taken; /* for good */
    uint64_t added_in_doubt, taken_in_doubt;
    uint64_t try_added, try_taken;   /* in the transaction that is open */
    uint64_t most_added, most_taken; /* by one statement: as much may one in doubt have done */
    uint64_t appended;               /* rows that were begun: the number of the next one */
    uint64_t last_count;
    struct script_rows *rows; /* of :append, NULL: not yet */
};

/* Where the statements of a script go. */
enum part {
    PART_NONE,        /* no transaction: on_session */
    PART_AUTOCOMMIT,  /* each statement is a transaction of its own */
    PART_TRANSACTION, /* between BEGIN and COMMIT */
};

/* Where the session's thread is. In the script's own code, which may compute for ever in a function
 * of C, the main thread can leave it behind: from then on it changes nothing. */
enum where {
    OUTSIDE,
    IN_SCRIPT,
    LEFT_BEHIND,
};

/* What the claims of a try came to. */
struct claims {
    uint64_t checks, checks_failed, found, not_found;
    struct error first; /* of the first check that failed */
};

struct transactions {
    struct session *session;
    atomic_int where; /* enum where */
    const struct script *script;
    struct script_host host;
    struct script_state *state; /* NULL: the session's thread has not begun, or has ended */
    struct table_account *accounts;
    struct append *append; /* under way; NULL: none is */
    size_t append_dataset; /* the table that its rows go to */
    bool *writes;          /* by number of the transaction: it wrote once */

    /* Of the transaction under way. */
    enum part part;
    size_t number;
    bool is_warm;      /* it began in the warm-up */
    uint64_t tried;    /* tries after the first */
    int64_t think_ns;  /* in this try */
    int64_t script_ns; /* in the script's own code, in this try */
    int64_t since_ns;  /* when that went on, last */
    int64_t latest_ns; /* when a call, or the script's function, ended last: the next one begins */
    bool has_written;  /* in this try, and that was acknowledged */
    bool has_changed;  /* a write of this try stands, be the transaction rolled back */
    bool has_ended;    /* a statement may have ended the open transaction */
    bool is_in_doubt;  /* a write that is a transaction of its own got no answer */
    bool has_failed;   /* a call did: */
    enum status status;
    enum cause_phase phase;
    const char *name; /* of the statement, for the causes */
    int line;         /* of the script, of a statement */
    struct error error;
    uint64_t calls[3]; /* statements that were answered, by enum script_statement_kind */
    struct claims claims;
};

/* Adds to a counter of the run; for a transaction that began in the warm-up, to the warm-up's. */
static void add(const struct transactions *own, enum recorder_counter counter, uint64_t n)
{
    if (n > 0) {
        (own->is_warm ? recorder_add_warm_up : recorder_add)(own->session->load->recorder,
                                                             own->session->place, counter, n);
    }
}

/* Adds to a count of a script's operation; nothing in the warm-up. */
static void count(const struct transactions *own, size_t operation, enum operation_count what,
                  uint64_t n)
{
    if (!own->is_warm) {
        recorder_count(own->session->load->recorder, own->session->place, OPERATIONS + operation,
                       what, n);
    }
}

static void record(const struct transactions *own, size_t operation, int64_t ns)
{
    if (!own->is_warm) {
        recorder_record(own->session->load->recorder, own->session->place, operation, ns);
    }
}

/* Counts something of the transaction under way: in all, and by its name. */
static void count_transaction(const struct transactions *own, enum operation_count what)
{
    add(own, operation_count_sums[what], 1);
    count(own, own->script->transactions[own->number].operation, what, 1);
}

/* The thread that was left behind has come out of its function, when nobody waits for it any more.
 */
static void stop_if_left(const struct transactions *own)
{
    while (atomic_load(&own->where) == LEFT_BEHIND) {
        pause();
    }
}

/* The session's thread comes out of the script's code, or goes in: in between it touches nothing
 * but the script. Nobody is left behind before the run was stopped. */
static void come_out(struct transactions *own)
{
    int where = IN_SCRIPT;
    stop_if_left(own);
    if (!gate_is_stopped(&own->session->load->gate)) {
        atomic_store_explicit(&own->where, OUTSIDE, memory_order_relaxed);
    } else if (!atomic_compare_exchange_strong(&own->where, &where, OUTSIDE)) {
        stop_if_left(own);
    }
}

static void go_in(struct transactions *own)
{
    atomic_store_explicit(&own->where, IN_SCRIPT, memory_order_release);
}

/* Asked by functions that make rows, too, which run inside of a call. */
static bool is_stopped(void *context)
{
    struct transactions *own = context;
    const bool was_in = atomic_load(&own->where) != OUTSIDE;
    if (was_in) {
        come_out(own);
    }
    const bool is = gate_is_stopped(&own->session->load->gate);
    if (was_in) {
        go_in(own);
    }
    return is;
}

/* A call of the script begins or has ended: its own time does not go on, or goes on again. */
static int64_t leave_script(struct transactions *own)
{
    own->latest_ns = mono_now_ns();
    own->script_ns += own->latest_ns - own->since_ns;
    return own->latest_ns;
}

static int64_t enter_script_at(struct transactions *own, int64_t now_ns)
{
    own->since_ns = now_ns;
    return own->since_ns;
}

static int64_t enter_script(struct transactions *own)
{
    return enter_script_at(own, mono_now_ns());
}

/* A call failed; own->error says why. After a call that was cut the connection is of no use. */
static enum status fail(struct transactions *own, enum cause_phase phase, const char *name,
                        enum status status)
{
    own->has_failed = true;
    own->phase = phase;
    own->name = name;
    own->status = own->session->is_overdue && session_goes_on(status) ? STATUS_LOST : status;
    return own->status;
}

static void note_rows(const struct transactions *own, int dataset, uint64_t rows, bool is_added)
{
    if (dataset == SCRIPT_NO_DATASET) {
        return;
    }
    struct table_account *account = &own->accounts[dataset];
    uint64_t *most = is_added ? &account->most_added : &account->most_taken;
    *most = MAX(*most, rows);
    if (own->part == PART_TRANSACTION) {
        *(is_added ? &account->try_added : &account->try_taken) += rows;
    } else {
        *(is_added ? &account->added : &account->taken) += rows;
    }
}

/* A write that is a transaction of its own got no answer: how many rows it matched is not known. */
static void note_doubt(struct transactions *own, const struct script_statement *statement)
{
    own->is_in_doubt = true;
    if (statement->adds_to != SCRIPT_NO_DATASET) {
        struct table_account *account = &own->accounts[statement->adds_to];
        account->added_in_doubt += MAX(account->most_added, 1);
    }
    if (statement->takes_from != SCRIPT_NO_DATASET) {
        struct table_account *account = &own->accounts[statement->takes_from];
        account->taken_in_doubt += MAX(account->most_taken, 1);
    }
}

/* Whether an acknowledged statement may have changed something for good. Databases without
 * transactions need not report how many rows a write matched. */
static bool changes_rows(const struct transactions *own, const struct script_statement *statement,
                         uint64_t rows)
{
    const bool knows_rows = own->session->load->plan->adapter->begin != NULL;
    return own->part == PART_AUTOCOMMIT && statement->kind != SCRIPT_READ &&
           (rows > 0 || statement->kind == SCRIPT_OTHER || !knows_rows);
}

static enum status do_run(void *context, size_t number, const struct batch *parameters,
                          struct answer *answer)
{
    struct transactions *own = context;
    struct session *session = own->session;
    const struct plan *plan = session->load->plan;
    const struct script_statement *declared = &own->script->statements[number];
    const struct statement *statement = script_state_statement(own->state, number);
    struct statement text;
    /* behind a pooler the next one may come to a session of the server that has none prepared */
    if (plan->is_unprepared || session->load->setup->server.is_pooled) {
        text = *statement;
        text.is_prepared = false;
        text.slot = 0;
        statement = &text;
    }
    if (declared->controls_transaction && own->part == PART_TRANSACTION) {
        error_set(&own->error, ERROR_USAGE, 0, NULL,
                  "transaction '%s' has a BEGIN and COMMIT of its own: use {autocommit = true}",
                  own->script->transactions[own->number].name);
        own->line = declared->line;
        return fail(own, CAUSE_STATEMENT, declared->name, STATUS_FATAL);
    }
    count(own, declared->operation, COUNT_SENT, 1);
    answer->rows = 0;
    const int64_t start_ns = leave_script(own);
    session_begin_call(session);
    const enum status status =
        prepared_run(&session->prepared, statement, parameters, answer, &own->error);
    session_end_call(session);
    const int64_t end_ns = enter_script(own);
    if (status == STATUS_OK) {
        count(own, declared->operation, COUNT_ANSWERED, 1);
        count(own, declared->operation, COUNT_ROWS, answer->rows);
        if (answer->rows == 0 && declared->kind != SCRIPT_OTHER) {
            count(own, declared->operation, COUNT_EMPTY, 1);
        }
        record(own, OPERATIONS + declared->operation, end_ns - start_ns);
        own->calls[declared->kind]++;
        own->has_written |= declared->kind != SCRIPT_READ;
        own->has_changed |= changes_rows(own, declared, answer->rows);
        note_rows(own, declared->adds_to, answer->rows, true);
        note_rows(own, declared->takes_from, answer->rows, false);
        return STATUS_OK;
    }
    const bool is_answered = session_goes_on(status) || status == STATUS_FATAL;
    count(own, declared->operation, is_answered ? COUNT_REFUSED : COUNT_UNANSWERED, 1);
    if (status == STATUS_LOST && own->part != PART_TRANSACTION && declared->kind != SCRIPT_READ) {
        note_doubt(own, declared);
    }
    own->line = declared->line;
    own->has_ended = status == STATUS_FATAL && own->error.kind == ERROR_USAGE;
    return fail(own, CAUSE_STATEMENT, declared->name, status);
}

/* Between BEGIN and COMMIT nothing but ROLLBACK is valid after a failure. */
static bool do_forgive(void *context)
{
    struct transactions *own = context;
    if (!own->has_failed || own->error.kind != ERROR_DUPLICATE || own->part == PART_TRANSACTION) {
        return false;
    }
    own->has_failed = false;
    error_clear(&own->error);
    return true;
}

/* Makes the next rows of the append under way: the script's own code, which may never return. */
static const struct batch *make_rows(void *context, uint64_t from, size_t rows, struct error *error)
{
    struct transactions *own = context;
    const struct session *session = own->session;
    const struct table_account *account = &own->accounts[own->append_dataset];
    const unsigned sessions = session->load->plan->sessions;
    const uint64_t first = own->script->datasets[own->append_dataset].rows + session->index +
                           sessions * (account->appended + from);
    own->since_ns = mono_now_ns();
    go_in(own);
    const struct batch *made =
        script_rows_fill(account->rows, own->state, first, sessions, rows, error);
    come_out(own);
    return made;
}

/* Rows that were begun go to their accounts. */
static void account_rows(struct transactions *own, size_t dataset, struct append *append,
                         enum status status, int64_t end_ns)
{
    struct session *session = own->session;
    struct table_account *account = &own->accounts[dataset];
    append->accepted = MIN(append->accepted, append->rows);
    account->appended += append->rows;
    session->sum.begun += append->rows;
    session_account(session, append, status, end_ns);
    note_rows(own, (int)dataset, append->accepted, true);
    own->has_written |= append->accepted > 0;
    own->has_changed |= append->accepted > 0;
    account->added_in_doubt += append->in_doubt;
    own->is_in_doubt |= append->in_doubt > 0;
}

static enum status do_append(void *context, size_t dataset, uint64_t rows)
{
    struct transactions *own = context;
    struct session *session = own->session;
    const struct script_dataset *declared = &own->script->datasets[dataset];
    struct table_account *account = &own->accounts[dataset];
    struct append append = {
        .table = &session->load->setup->tables[dataset].table,
        .first_row = account->appended,
        .rows = MIN(rows, session->quota - session->sum.begun),
    };
    if (own->part == PART_TRANSACTION) {
        error_set(&own->error, ERROR_USAGE, 0, NULL,
                  "%s: transaction '%s' appends to '%s': it needs {autocommit = true}",
                  own->script->name, own->script->transactions[own->number].name, declared->name);
        return fail(own, CAUSE_APPEND, declared->name, STATUS_FATAL);
    }
    if (append.rows == 0) {
        return STATUS_OK; /* the session's share is in */
    }
    const int64_t start_ns = leave_script(own);
    if (declared->is_declared) {
        if (account->rows == NULL) {
            account->rows = script_rows_create(own->script, dataset, ROWS_AT_A_TIME);
        }
        if (account->rows == NULL) {
            error_set(&own->error, ERROR_MEMORY, 0, NULL, "out of memory for a batch of rows");
            return fail(own, CAUSE_APPEND, declared->name, STATUS_FATAL);
        }
        append.make = make_rows;
        append.context = own;
        append.most_rows = ROWS_AT_A_TIME;
    }
    bool is_begun;
    own->append = &append;
    own->append_dataset = dataset;
    const enum status status = session_send(session, &append, &is_begun, &own->error);
    own->append = NULL;
    const int64_t end_ns = enter_script(own);
    if (!is_begun ||
        (status == STATUS_REJECTED && append.accepted == 0 && error_is_passing(&own->error))) {
        /* the rows' turn comes again */
        return fail(own, CAUSE_APPEND, declared->name, STATUS_REJECTED);
    }
    account_rows(own, dataset, &append, status, end_ns);
    if (status == STATUS_OK && append.accepted < append.rows) {
        error_set(&own->error, ERROR_DATA, 0, NULL,
                  "the server acknowledged fewer rows than it got");
        return fail(own, CAUSE_APPEND, declared->name, STATUS_REJECTED);
    }
    if (status != STATUS_OK) {
        return fail(own, CAUSE_APPEND, declared->name, status);
    }
    record(own, OPERATION_APPEND, end_ns - start_ns);
    return STATUS_OK;
}

/* True when some statement takes rows from the table: then a count says nothing of own rows. */
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
    struct transactions *own = context;
    struct session *session = own->session;
    const struct setup *setup = session->load->setup;
    const struct adapter *adapter = session->load->plan->adapter;
    const struct script_dataset *declared = &own->script->datasets[dataset];
    struct table_account *account = &own->accounts[dataset];
    const int64_t start_ns = leave_script(own);
    session_begin_call(session);
    const enum status status =
        ask_count(adapter, session->conn, &setup->tables[dataset].count, rows, &own->error);
    session_end_call(session);
    const int64_t end_ns = enter_script(own);
    if (status != STATUS_OK) {
        return fail(own, CAUSE_READ, declared->name, status);
    }
    record(own, OPERATION_READ, end_ns - start_ns);
    own->calls[SCRIPT_READ]++;
    /* where nobody takes any */
    uint64_t before;
    if ((adapter->flags & ADAPTER_DISCARDS) == 0 && !is_taken_from(own->script, dataset) &&
        session_knows_before(session, dataset, &before)) {
        session_note_count(session, *rows, before + account->added + account->try_added,
                           &account->last_count);
    }
    return STATUS_OK;
}

static enum status do_think(void *context, int64_t ns)
{
    struct transactions *own = context;
    const int64_t start_ns = leave_script(own);
    const bool goes_on =
        gate_sleep_until(&own->session->load->gate, start_ns + ns, &own->session->is_leaving);
    own->think_ns += enter_script(own) - start_ns;
    return goes_on ? STATUS_OK : STATUS_REJECTED;
}

static bool keeps_rows(const struct transactions *own)
{
    return (own->session->load->plan->adapter->flags & ADAPTER_DISCARDS) == 0;
}

static void do_check(void *context, bool is_good, const char *text)
{
    struct transactions *own = context;
    if (!keeps_rows(own)) {
        return;
    }
    own->claims.checks++;
    if (!is_good && own->claims.checks_failed++ == 0) {
        error_set(&own->claims.first, ERROR_DATA, 0, NULL, "check failed%s%.180s",
                  text[0] == '\0' ? "" : ": ", text);
    }
}

static void do_found(void *context, bool is_found)
{
    struct transactions *own = context;
    if (keeps_rows(own)) {
        ++*(is_found ? &own->claims.found : &own->claims.not_found);
    }
}

/* Counts the claims of a try, but for one that is undone and tried again: what it read need not
 * hold. */
static void settle_claims(struct transactions *own, bool is_again)
{
    const struct claims *claims = &own->claims;
    if (!is_again || own->part != PART_TRANSACTION) {
        add(own, RECORDER_CHECKS, claims->checks);
        add(own, RECORDER_CHECKS_FAILED, claims->checks_failed);
        add(own, RECORDER_FOUND, claims->found);
        add(own, RECORDER_NOT_FOUND, claims->not_found);
        if (claims->checks_failed > 0 && !own->is_warm) {
            const int64_t now_ns = mono_now_ns();
            causes_add_cause(own->session->load->causes,
                             &(struct cause){CAUSE_SCRIPT, STATUS_REJECTED,
                                             own->script->transactions[own->number].name,
                                             claims->first, claims->checks_failed, now_ns, now_ns});
        }
    }
}

static bool do_can_roll_back(void *context)
{
    const struct transactions *own = context;
    return !own->has_changed;
}

/* The same, as the script calls them. */
#define FROM_SCRIPT(type, name, parameters, arguments)                                             \
    static type name parameters                                                                    \
    {                                                                                              \
        come_out(context);                                                                         \
        const type result = do_##name arguments;                                                   \
        go_in(context);                                                                            \
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
    come_out(context);
    do_check(context, is_good, text);
    go_in(context);
}

static void found(void *context, bool is_found)
{
    come_out(context);
    do_found(context, is_found);
    go_in(context);
}

enum status transactions_begin(struct session *session, struct error *error)
{
    const struct load *load = session->load;
    const struct script *script = load->plan->script;
    struct transactions *own = session->transactions;
    if (own == NULL) {
        own = calloc(1, sizeof *own);
        session->transactions = own;
        if (own != NULL) {
            own->accounts = calloc(script->dataset_count + 1, sizeof *own->accounts);
            own->writes = calloc(script->transaction_count + 1, sizeof *own->writes);
        }
        if (own == NULL || own->accounts == NULL || own->writes == NULL) {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a session's script");
            return STATUS_FATAL;
        }
    }
    own->session = session;
    own->script = script;
    own->host = (struct script_host){.context = own,
                                     .run = run,
                                     .append = append,
                                     .count = count_rows,
                                     .forgive = forgive,
                                     .think = think,
                                     .check = check,
                                     .found = found,
                                     .can_roll_back = can_roll_back,
                                     .is_stopped = is_stopped};
    const struct script_place place = {.session = session->index,
                                       .sessions = load->plan->sessions,
                                       .seed = load->plan->facts->seed,
                                       .dialect = load->setup->connection.dialect,
                                       .host = &own->host};
    struct script_state *state = NULL;
    go_in(own);
    const enum status status = script_state_create(&state, script, &place, error);
    come_out(own);
    own->state = state;
    return status;
}

void transactions_end(struct session *session)
{
    struct transactions *own = session->transactions;
    if (own == NULL) {
        return;
    }
    for (size_t i = 0; own->script != NULL && i < own->script->dataset_count; i++) {
        script_rows_destroy(own->accounts[i].rows);
        own->accounts[i].rows = NULL;
    }
    script_state_destroy(own->state);
    own->state = NULL;
}

void transactions_destroy(struct session *session, struct result *result)
{
    struct transactions *own = session->transactions;
    if (own == NULL) {
        return;
    }
    for (size_t i = 0; own->accounts != NULL && i < result->dataset_count; i++) {
        const struct table_account *account = &own->accounts[i];
        struct verification *into = &result->datasets[i];
        into->added += account->added;
        into->taken += account->taken;
        into->added_in_doubt += account->added_in_doubt;
        into->taken_in_doubt += account->taken_in_doubt;
    }
    session->transactions = NULL;
    if (atomic_load(&own->where) == LEFT_BEHIND) {
        return;
    }
    free(own->accounts);
    free(own->writes);
    free(own);
}

/* A mistake in the script ends the run; one that the database found is said with its place. */
static enum status stop_for(struct transactions *own, const struct error *error)
{
    struct error placed = {.kind = ERROR_NONE};
    if (own->has_failed && own->phase == CAUSE_STATEMENT) {
        error_set(&placed, error->kind, error->native_code, error->sqlstate,
                  "%.60s:%d: '%.48s': %.120s", own->script->name, own->line, own->name,
                  error->text);
        error = &placed;
    }
    session_blame(own->session, CAUSE_SCRIPT, NULL, STATUS_FATAL, error);
    gate_stop(&own->session->load->gate, STOP_SCRIPT);
    return STATUS_FATAL;
}

static void begin_part(struct transactions *own, enum part part)
{
    own->part = part;
    own->think_ns = own->script_ns = 0;
    own->has_written = own->has_changed = own->has_failed = own->has_ended = false;
    own->is_in_doubt = false;
    own->status = STATUS_OK;
    own->claims = (struct claims){0};
    error_clear(&own->error);
}

/* What was prepared is no part of the first calls. One that the server refuses, be it that it lacks
 * a temporary table yet, is prepared when it is run. */
static enum status prepare_statements(struct transactions *own, struct error *error)
{
    struct session *session = own->session;
    const struct load *load = session->load;
    const struct adapter *adapter = load->plan->adapter;
    enum status status = STATUS_OK;
    if (adapter->prepare == NULL || load->plan->is_unprepared || load->setup->server.is_pooled) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < own->script->statement_count && session_goes_on(status); i++) {
        const struct statement *statement = script_state_statement(own->state, i);
        if (statement->is_prepared) {
            error_clear(error);
            session_begin_call(session);
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
    struct transactions *own = session->transactions;
    own->is_warm = true;
    begin_part(own, PART_NONE);
    enter_script(own);
    go_in(own);
    const enum script_end end = script_connected(own->state, error);
    come_out(own);
    memset(own->calls, 0, sizeof own->calls);
    switch (end) {
    case SCRIPT_DONE:
    case SCRIPT_ROLLBACK: /* of nothing */
        return prepare_statements(own, error);
    case SCRIPT_STOPPED:
        error_set(error, ERROR_CANCELLED, 0, NULL, "the run ended before");
        return STATUS_LOST;
    case SCRIPT_FAILED:
        *error = own->error;
        session_blame(session, own->phase, own->name, own->status, error);
        return own->status == STATUS_LOST ? STATUS_LOST : STATUS_FATAL;
    case SCRIPT_WRONG:
        break;
    }
    return stop_for(own, error);
}

/* How a try ended. */
enum try_end {
    TRY_COMMITTED,
    TRY_ROLLED_BACK,
    TRY_PASSING, /* for a reason that may be gone when it is tried again */
    TRY_REFUSED,
    TRY_LOST,
    TRY_IN_DOUBT,
    TRY_CUT,   /* the run ended */
    TRY_WRONG, /* a mistake in the script */
};

/* A BEGIN, COMMIT or ROLLBACK has ended, which began when what was before it ended. One that
 * succeeded is counted and timed. */
static void note_call(struct transactions *own, enum operation_id operation, enum status status)
{
    const int64_t start_ns = own->latest_ns;
    own->latest_ns = mono_now_ns();
    if (status == STATUS_OK) {
        own->calls[SCRIPT_OTHER]++;
        record(own, operation, own->latest_ns - start_ns);
    }
}

/* Ends a transaction by COMMIT or ROLLBACK. */
static enum status call(struct transactions *own, enum operation_id operation)
{
    struct session *session = own->session;
    const struct adapter *adapter = session->load->plan->adapter;
    const bool is_commit = operation == OPERATION_COMMIT;
    const char *name = is_commit ? "COMMIT" : "ROLLBACK";
    struct error error = {.kind = ERROR_NONE};
    session_begin_call(session);
    const enum status status = is_commit ? adapter->commit(session->conn, &error)
                                         : adapter->rollback(session->conn, &error);
    session_end_call(session);
    note_call(own, operation, status);
    if (status == STATUS_OK) {
        return STATUS_OK;
    }
    if (own->has_failed && status != STATUS_LOST) {
        session_blame(session, CAUSE_STATEMENT, name, status, &error);
    } else {
        own->error = error;
    }
    fail(own, CAUSE_STATEMENT, name, status);
    return status;
}

static enum status begin(struct transactions *own)
{
    struct session *session = own->session;
    const struct transaction transaction = {.isolation =
                                                own->script->transactions[own->number].isolation,
                                            .writes = own->writes[own->number]};
    session_begin_call(session);
    const enum status status =
        session->load->plan->adapter->begin(session->conn, &transaction, &own->error);
    session_end_call(session);
    note_call(own, OPERATION_BEGIN, status);
    if (status == STATUS_OK) {
        return STATUS_OK;
    }
    own->line = own->script->transactions[own->number].line;
    return fail(own, CAUSE_STATEMENT, "BEGIN", status);
}

/* What a failure comes to, by its status and error. */
static enum try_end judge_failure(const struct transactions *own)
{
    const bool can_pass = (error_is_passing(&own->error) && own->error.kind != ERROR_READ_ONLY) ||
                          (own->error.kind == ERROR_DUPLICATE &&
                           own->script->transactions[own->number].retries_duplicate);
    if (own->is_in_doubt) {
        return TRY_IN_DOUBT;
    }
    if (own->status == STATUS_LOST) {
        return TRY_LOST;
    }
    if (own->status == STATUS_FATAL && own->error.kind == ERROR_USAGE) {
        return TRY_WRONG;
    }
    return own->status == STATUS_REJECTED && can_pass ? TRY_PASSING : TRY_REFUSED;
}

/* Undoes an open transaction, and lets go of its rows. After a loss there is nothing to undo. A
 * connection that cannot undo is of no use. */
static enum try_end undo(struct transactions *own, enum try_end end)
{
    if (own->part == PART_TRANSACTION && session_goes_on(own->status)) {
        const enum status before = own->status;
        const struct error error = own->error;
        const char *name = own->name;
        const enum cause_phase phase = own->phase;
        if (call(own, OPERATION_ROLLBACK) != STATUS_OK) {
            own->status = STATUS_LOST;
            return TRY_LOST;
        }
        own->status = before;
        own->error = error;
        own->name = name;
        own->phase = phase;
    }
    return end;
}

static enum try_end commit(struct transactions *own)
{
    if (own->part != PART_TRANSACTION) {
        return TRY_COMMITTED;
    }
    const enum status status = call(own, OPERATION_COMMIT);
    if (status == STATUS_OK) {
        return TRY_COMMITTED;
    }
    own->is_in_doubt = status == STATUS_LOST; /* an answer counts, be it late */
    return judge_failure(own);
}

static enum try_end try_once(struct transactions *own)
{
    const struct script_transaction *kind = &own->script->transactions[own->number];
    begin_part(own, kind->is_autocommit ? PART_AUTOCOMMIT : PART_TRANSACTION);
    if (own->part == PART_TRANSACTION && begin(own) != STATUS_OK) {
        return judge_failure(own);
    }
    struct error error = {.kind = ERROR_NONE};
    enter_script_at(own, own->latest_ns);
    go_in(own);
    const enum script_end end = script_try(own->state, own->number, own->session->turn, &error);
    come_out(own);
    leave_script(own);
    own->writes[own->number] |= own->has_written;
    switch (end) {
    case SCRIPT_DONE:
        return own->has_failed ? undo(own, judge_failure(own)) : commit(own);
    case SCRIPT_ROLLBACK:
        return undo(own, TRY_ROLLED_BACK);
    case SCRIPT_FAILED:
        return undo(own, judge_failure(own));
    case SCRIPT_STOPPED:
        return undo(own, TRY_CUT);
    case SCRIPT_WRONG:
        break;
    }
    undo(own, TRY_WRONG);
    own->error = error;
    return TRY_WRONG;
}

/* What the try did to tables is for good, in doubt, or undone. */
static void settle_rows(struct transactions *own, enum try_end end)
{
    if (own->part != PART_TRANSACTION) {
        return;
    }
    for (size_t i = 0; i < own->script->dataset_count; i++) {
        struct table_account *account = &own->accounts[i];
        if (end == TRY_COMMITTED) {
            account->added += account->try_added;
            account->taken += account->try_taken;
        } else if (end == TRY_IN_DOUBT || own->has_ended) {
            account->added_in_doubt += account->try_added;
            account->taken_in_doubt += account->try_taken;
        }
        account->try_added = account->try_taken = 0;
    }
}

/* Waits before the transaction is tried again, and counts that. False: it is not: no try is left,
 * what was done cannot be done twice, or the run has ended (*end says so). */
static bool tries_again(struct transactions *own, enum try_end *end)
{
    static const enum error_kind causes[OPERATION_COUNTS] = {
        [COUNT_RETRIES_DEADLOCK] = ERROR_DEADLOCK,
        [COUNT_RETRIES_SERIALIZATION] = ERROR_SERIALIZATION,
        [COUNT_RETRIES_BUSY] = ERROR_BUSY,
        [COUNT_RETRIES_DUPLICATE] = ERROR_DUPLICATE,
    };
    struct session *session = own->session;
    const struct plan *plan = session->load->plan;
    const struct script_transaction *kind = &own->script->transactions[own->number];
    const uint64_t tries = plan->tries == UINT64_MAX ? kind->tries : plan->tries;
    if (*end != TRY_PASSING || (kind->is_autocommit && own->has_written) ||
        (tries > 0 && own->tried + 1 >= tries)) {
        return false;
    }
    const int64_t most_ns = own->tried < 8 ? RETRY_FIRST_NS << own->tried : RETRY_MOST_NS;
    const uint64_t mixed =
        random_mix(random_mix(plan->facts->seed + session->index) + session->turn + own->tried);
    const int64_t pause_ns = 1 + (int64_t)(mixed % (uint64_t)MIN(most_ns, RETRY_MOST_NS));
    if (!gate_sleep_until(&session->load->gate, mono_now_ns() + pause_ns, &session->is_leaving)) {
        *end = TRY_CUT;
        return false;
    }
    enum operation_count cause = COUNT_RETRIES_BUSY;
    for (size_t i = COUNTS_OF_RETRIES; i < OPERATION_COUNTS; i++) {
        cause = causes[i] == own->error.kind ? (enum operation_count)i : cause;
    }
    own->tried++;
    count_transaction(own, cause);
    count_transaction(own, COUNT_TRIES);
    return true;
}

/* Counts how the transaction ended, and its statements. */
static void settle(struct transactions *own, enum try_end end)
{
    static const enum operation_count outcomes[] = {
        [TRY_COMMITTED] = COUNT_COMMITTED, [TRY_ROLLED_BACK] = COUNT_ROLLED_BACK,
        [TRY_PASSING] = COUNT_FAILED,      [TRY_REFUSED] = COUNT_FAILED,
        [TRY_LOST] = COUNT_FAILED,         [TRY_IN_DOUBT] = COUNT_IN_DOUBT,
        [TRY_CUT] = COUNT_UNFINISHED,      [TRY_WRONG] = COUNT_FAILED,
    };
    static const enum recorder_counter reasons[] = {
        [TRY_PASSING] = RECORDER_TRANSACTIONS_EXHAUSTED,
        [TRY_LOST] = RECORDER_TRANSACTIONS_LOST,
        [TRY_REFUSED] = RECORDER_TRANSACTIONS_REFUSED,
        [TRY_WRONG] = RECORDER_TRANSACTIONS_REFUSED,
    };
    /* a connection that append cut as the run had ended */
    const bool is_cut = end == TRY_LOST && atomic_load(&own->session->was_cut);
    const enum operation_count outcome = outcomes[is_cut ? TRY_CUT : end];
    count_transaction(own, outcome);
    if (outcome == COUNT_FAILED) {
        add(own, reasons[end], 1);
        if (own->part == PART_AUTOCOMMIT && own->has_written) {
            count_transaction(own, COUNT_PARTIAL);
        }
    }
    add(own, RECORDER_READS, own->calls[SCRIPT_READ]);
    add(own, RECORDER_WRITES, own->calls[SCRIPT_WRITE]);
    add(own, RECORDER_OTHERS, own->calls[SCRIPT_OTHER]);
    memset(own->calls, 0, sizeof own->calls);
}

enum status transactions_turn(struct session *session, int64_t intended_ns)
{
    const struct load *load = session->load;
    const struct plan *plan = load->plan;
    struct transactions *own = session->transactions;
    const int64_t start_ns = mono_now_ns();
    own->number = script_choose(own->state, session->turn);
    own->is_warm = plan->warm_up_ns > 0 && start_ns < load->gate.go_ns + plan->warm_up_ns;
    if (intended_ns > 0) {
        add(own, RECORDER_TRANSACTIONS_DUE, 1);
        if (plan->late_ns > 0 && start_ns - intended_ns > plan->late_ns) {
            add(own, RECORDER_SKIPPED, 1);
            session->turn++;
            return STATUS_OK;
        }
        add(own, RECORDER_LATE, start_ns - intended_ns > LATE_NS ? 1 : 0);
    }
    const size_t operation = own->script->transactions[own->number].operation;
    int64_t think_ns = 0, try_ns, end_ns;
    enum try_end end;
    bool is_again;
    own->tried = 0;
    count_transaction(own, COUNT_BEGUN);
    count_transaction(own, COUNT_TRIES);
    do {
        try_ns = own->latest_ns = own->tried == 0 ? start_ns : mono_now_ns();
        end = try_once(own);
        end_ns = own->latest_ns;
        think_ns += own->think_ns;
        settle_rows(own, end);
        add(own, RECORDER_TRY_NS, (uint64_t)MAX(end_ns - try_ns - own->think_ns, 0));
        add(own, RECORDER_SCRIPT_NS, (uint64_t)MAX(own->script_ns, 0));
        is_again = tries_again(own, &end);
        settle_claims(own, is_again);
    } while (is_again);
    if (end == TRY_WRONG) {
        stop_for(own, &own->error); /* before settle: a level of a search must not fail by it */
    }
    settle(own, end);
    script_settle(own->state);
    session->turn++;
    session_note_gap(session, end_ns);
    if (end == TRY_COMMITTED) {
        const int64_t service_ns = end_ns - start_ns - think_ns;
        record(own, OPERATION_TRANSACTION, service_ns);
        record(own, OPERATIONS + operation, service_ns);
        record(own, OPERATION_TRY, end_ns - try_ns - own->think_ns);
        if (intended_ns > 0) {
            record(own, OPERATION_RESPONSE, end_ns - intended_ns - think_ns);
        }
        session_note_progress(session, end_ns);
    }
    session->sum.batches++;
    if (end == TRY_WRONG) {
        return STATUS_FATAL;
    }
    if (own->has_failed && end != TRY_CUT) {
        session_blame(session, own->phase, own->name, own->status, &own->error);
    }
    session->is_refused = own->has_failed && own->error.kind == ERROR_READ_ONLY &&
                          plan->drop_policy == DROP_RECONNECT && session_goes_on(own->status);
    if (session->is_refused) {
        session_add(session, RECORDER_REFUSALS, 1);
        return STATUS_LOST;
    }
    session->tries = end == TRY_LOST || end == TRY_IN_DOUBT ? session->tries : 0;
    if (session->is_overdue && !own->has_failed) {
        session_blame(session, CAUSE_STATEMENT, NULL, STATUS_LOST, &own->error);
    }
    return session->is_overdue ? STATUS_LOST : own->has_failed ? own->status : STATUS_OK;
}

bool transactions_leave(struct session *session, bool *is_at_work, int64_t *since_ns)
{
    struct transactions *own = session->transactions;
    struct error error = {.kind = ERROR_NONE};
    int where = IN_SCRIPT;
    if (own == NULL || !atomic_compare_exchange_strong(&own->where, &where, LEFT_BEHIND)) {
        return false;
    }
    *is_at_work = own->part != PART_NONE;
    *since_ns = own->since_ns;
    error_set(&error, ERROR_USAGE, 0, NULL, "%s: this did not return when the run had ended",
              own->state == NULL ? own->script->name : script_place_of(own->state));
    if (own->append != NULL) {
        /* its rows were on their way, and the connection is about to be closed */
        session_lose(session, own->append);
        account_rows(own, own->append_dataset, own->append, STATUS_LOST, mono_now_ns());
    }
    if (*is_at_work) {
        const enum try_end end = own->is_in_doubt ? TRY_IN_DOUBT : TRY_WRONG;
        settle_rows(own, end);
        settle_claims(own, false);
        settle(own, end);
    }
    own->has_failed = false;
    stop_for(own, &error);
    return true;
}
