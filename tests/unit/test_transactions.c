/* Transactions with a database whose answers the test gives: the effect of each answer on the
 * counts, the tables, the causes and the session. */
#include "unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "append/buffer.h"
#include "base/mono.h"
#include "base/text.h"
#include "load/session.h"
#include "load/transactions.h"
#include "plan/facts.h"

enum {
    FAILURES = 4,
    TABLES = 3,
};

/* The answer to call number `call` (from 1) of the connection. All other calls succeed. */
struct failure {
    unsigned call;
    enum status status;
    enum error_kind kind;
    uint64_t accepted; /* rows that the call accepts before it fails */
};

/* How a run differs from a plain one. */
struct conditions {
    uint64_t tries;       /* --tries; 0: the script's */
    int64_t due_ns;       /* how long before its beginning each transaction was due; 0: no rate */
    int64_t late_ns;      /* --max-lateness */
    uint64_t counted;     /* rows that a count returns, without those of the open transaction */
    bool misses;          /* a count does not show the rows of the open transaction */
    uint64_t before;      /* rows before the run */
    uint64_t quota;       /* rows to append; 0: no limit */
    bool is_last;         /* the session's share ends with the last turn */
    uint64_t short_by;    /* rows that a successful append does not acknowledge */
    bool is_warm;         /* the warm-up does not end */
    bool discards;        /* ADAPTER_DISCARDS */
    bool lacks_begin;     /* the adapter has no transactions */
    bool is_pooled;       /* through a pooler */
    bool prepares;        /* without --prepared no */
    bool reconnects;      /* --on-drop reconnect */
    bool is_overdue;      /* the call that fails was cut */
    bool has_group_rates; /* other groups of sessions have a rate */
    bool was_cut;         /* the connection was cut at the end of the run */
    bool is_grouped;      /* the session's group runs only the second transaction */
};

struct transactions_case {
    const char *name;
    const char *script;
    unsigned turns;
    struct conditions with;
    struct failure failures[FAILURES];
    const char *expected;
};

/* The connection, which writes down its calls. */
static struct adapter_conn {
    const struct transactions_case *now;
    struct load *load;
    struct buffer calls;
    unsigned count;
    uint64_t pending;
    uint64_t inserted; /* rows that the open transaction has inserted */
} database;

static const struct failure *failure_of(unsigned call)
{
    for (size_t i = 0; i < FAILURES; i++) {
        if (database.now->failures[i].call == call) {
            return &database.now->failures[i];
        }
    }
    return NULL;
}

/* Writes a call down and returns its status. */
static enum status answer(const char *text, struct error *error)
{
    const struct failure *failure = failure_of(++database.count);
    buffer_add_format(&database.calls, "%s; ", text);
    if (strstr(text, "stop") != NULL) {
        gate_stop(&database.load->gate, STOP_DURATION);
    }
    if (failure == NULL || failure->status == STATUS_OK) {
        return STATUS_OK;
    }
    error_set(error, failure->kind, 7, "XX000", "refused %s", text);
    return failure->status;
}

static enum status do_begin(struct adapter_conn *conn, const struct transaction *transaction,
                            struct error *error)
{
    conn->inserted = 0;
    char text[80];
    snprintf(text, sizeof text, "begin%s%s%s", transaction->isolation == NULL ? "" : " ",
             transaction->isolation == NULL ? "" : transaction->isolation,
             transaction->writes ? " to write" : "");
    return answer(text, error);
}

static enum status do_commit(struct adapter_conn *conn, struct error *error)
{
    (void)conn;
    return answer("commit", error);
}

static enum status do_rollback(struct adapter_conn *conn, struct error *error)
{
    (void)conn;
    return answer("rollback", error);
}

/* Answers with as many rows as the last digit of the statement says. */
static enum status do_run(struct adapter_conn *conn, const struct statement *statement,
                          const struct batch *parameters, struct answer *rows, struct error *error)
{
    (void)parameters;
    const char last = statement->sql[strlen(statement->sql) - 1];
    if (strcmp(statement->sql, "count") == 0) {
        const struct conditions *with = &conn->now->with;
        const uint64_t counted = with->counted + (with->misses ? 0 : conn->inserted);
        const struct cell cell = {.type = COLUMN_INT64, .as.int64 = (int64_t)counted};
        rows->take(rows->context, &cell, 1);
    } else {
        rows->rows = last >= '0' && last <= '9' ? (uint64_t)(last - '0') : 1;
        conn->inserted += strncmp(statement->sql, "insert", 6) == 0 ? rows->rows : 0;
    }
    char text[80];
    snprintf(text, sizeof text, "%s%s%s", statement->sql, statement->is_prepared ? " prepared" : "",
             statement->is_prepared == (statement->slot > 0) ? "" : " and the wrong slot");
    return answer(text, error);
}

static enum status do_prepare(struct adapter_conn *conn, const struct statement *statement,
                              struct adapter_prepared **prepared, struct error *error)
{
    (void)conn;
    (void)prepared;
    char text[80];
    snprintf(text, sizeof text, "prepare %s", statement->sql);
    return answer(text, error);
}

static enum status do_append_open(struct adapter_conn *conn, const struct table *table,
                                  struct error *error)
{
    (void)table;
    conn->pending = 0;
    return answer("open", error);
}

static enum status do_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                  uint64_t *kept, struct error *error)
{
    char text[80];
    (void)kept;
    conn->pending += batch->row_count;
    snprintf(text, sizeof text, "rows %" PRId64 "+%zu", batch->columns[0].values.int64[0],
             batch->row_count);
    return answer(text, error);
}

static enum status do_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                   struct error *error)
{
    const enum status status = answer("close", error);
    *accepted = status == STATUS_OK ? conn->pending - conn->now->with.short_by
                                    : failure_of(conn->count)->accepted;
    return status;
}

/* The tables, statements and transactions of each script. */
static const char common[] =
    "local a = dataset('a', 100, {{'id', 'int64', row(), key = true}})\n"
    "local b = dataset('b', 10, {{'id', 'int64', row(), key = true}}) "
    "local c = dataset('c', 0, {{'id', 'int64', derive(row(), function(i) return i < 141 and i or "
    "nope.x end)}})\n"
    "local read = statement('read', 'select 1')\n"
    "local none = statement('none', 'select 0')\n"
    "local add = statement('add', 'insert 3', {}, {adds_to = a})\n"
    "local take = statement('take', 'delete 2', {}, {takes_from = b})\n"
    "local move = statement('move', 'update 1', {}, {adds_to = a, takes_from = b})\n"
    "local miss = statement('miss', 'update 0', {}, {adds_to = a})\n"
    "local other = statement('other', 'pragma', {}, {prepared = false})\n"
    "local stop = statement('stop', 'select stop', {}, {prepared = false})\n"
    "local open = statement('open', 'begin')\n"
    "local function T(f, o) transaction('t', f, o or {}) end\n"
    "local function A(f, o) o = o or {} o.autocommit = true transaction('t', f, o) end\n";

static char path[] = "/tmp/append_transactions_XXXXXX.lua";

int group_set_up(void **state)
{
    (void)state;
    const int fd = mkstemps(path, 4);
    return fd < 0 ? -1 : close(fd);
}

int group_tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static struct script *load_script(const char *text)
{
    struct error error = {.kind = ERROR_NONE};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%s%s", common, text) >= 0);
    assert_int_equal(fclose(file), 0);
    struct script *script = script_load(path, NULL, 0, &error);
    if (script == NULL) {
        fail_msg("%s", error.text);
    }
    return script;
}

static void add_number(struct buffer *text, const char *name, uint64_t number)
{
    if (number > 0) {
        buffer_add_format(text, "%s %" PRIu64 ", ", name, number);
    }
}

/* Returns the last word of a figure's key or path. */
static const char *name_of(const struct figure *figure)
{
    const char *name = figure->key != NULL ? figure->key : figure->path;
    const char *point = strrchr(name, '.');
    return point == NULL ? name : point + 1;
}

/* Returns whether a counter need not be written: it is the sum of a count over all transactions, or
 * a time, which is not exact. Checks that the counter equals this sum in `sums`. */
static bool is_sum(const struct recorder_snapshot *totals, int counter, const uint64_t *sums)
{
    for (size_t i = COUNTS_OF_TRANSACTIONS; i < OPERATION_COUNTS; i++) {
        if ((int)operation_count_sums[i] == counter) {
            assert_int_equal(totals->counters[counter], sums[i]);
            return totals->warm_up[counter] == 0;
        }
    }
    return counter == RECORDER_TRY_NS || counter == RECORDER_SCRIPT_NS;
}

/* Writes what the recorder has counted, without times. */
static void write_counts(struct buffer *text, struct recorder *recorder,
                         const struct script *script)
{
    struct recorder_snapshot totals;
    const struct operation_list operations = operation_list_all();
    uint64_t sums[OPERATION_COUNTS] = {0};
    assert_true(recorder_snapshot_init(&totals, recorder_operations(recorder)));
    recorder_take_snapshot(recorder, &totals);
    for (size_t i = 0; i < script->operation_count; i++) {
        const uint64_t *counts = totals.counts[OPERATIONS + i];
        bool is_used = false;
        for (size_t c = 0; c < OPERATION_COUNTS; c++) {
            sums[c] += counts[c];
            if (counts[c] > 0 && !is_used) {
                buffer_add_format(text, "%s: ", script->operations[i].name);
                is_used = true;
            }
            add_number(text, operation_count_names[c], counts[c]);
        }
        assert_true(operation_counts_balance(counts));
    }
    assert_true(transactions_balance(totals.counters));
    buffer_add_text(text, "| ");
    for (size_t i = 0; i < FIGURES; i++) {
        const int counter = figure_table[i].counter;
        if (counter < 0 || is_sum(&totals, counter, sums)) {
            continue;
        }
        add_number(text, name_of(&figure_table[i]), totals.counters[counter]);
        if (totals.warm_up[counter] > 0) {
            buffer_add_text(text, "warm ");
            add_number(text, name_of(&figure_table[i]), totals.warm_up[counter]);
        }
    }
    buffer_add_text(text, "| times: ");
    for (size_t i = 0; i < OPERATIONS + script->operation_count; i++) {
        add_number(text,
                   i < OPERATIONS ? operations.entries[i].name
                                  : script->operations[i - OPERATIONS].name,
                   recorder_histogram(&totals, i)->total);
    }
    recorder_snapshot_fini(&totals);
}

/* Adds a text with "t.lua" in place of the script's path. */
static void add_without_path(struct buffer *text, const char *from)
{
    for (const char *at = strstr(from, path); at != NULL; at = strstr(from, path)) {
        buffer_add(text, from, (size_t)(at - from));
        buffer_add_text(text, "t.lua");
        from = at + strlen(path);
    }
    buffer_add_text(text, from);
}

/* Writes the log, the causes, and the rows that were added to and taken from each table. */
static void write_rest(struct buffer *text, struct transaction_log *log,
                       const struct causes *causes, const struct verification *tables)
{
    static struct transaction_log_row rows[TRANSACTION_LOG_CHUNK];
    const size_t count = transaction_log_take(log, rows);
    buffer_add_text(text, "| log: ");
    for (size_t i = 0; i < count; i++) {
        buffer_add_format(text, "%" PRIu64 " %s %s %" PRIu32 "%s%s, ", rows[i].turn,
                          rows[i].transaction, rows[i].outcome, rows[i].tries,
                          rows[i].latency_ns < 0 ? "" : " timed",
                          rows[i].response_ns < 0 ? "" : " due");
        assert_true(rows[i].response_ns < 0 || rows[i].response_ns > rows[i].latency_ns);
    }
    buffer_add_text(text, "|");
    for (size_t i = 0; i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        buffer_add_format(text, " %s %s x%" PRIu64 " %d: ", cause_phase_names[cause->phase],
                          cause->name == NULL ? "-" : cause->name, cause->count,
                          (int)cause->status);
        add_without_path(text, cause->error.text);
        /* append's own errors have no code of a database */
        assert_int_equal(cause->error.native_code,
                         strstr(cause->error.text, "refused ") != NULL ? 7 : 0);
        buffer_add_text(text, ";");
    }
    for (size_t i = 0; i < TABLES; i++) {
        if (tables[i].added + tables[i].taken + tables[i].added_in_doubt +
                tables[i].taken_in_doubt >
            0) {
            buffer_add_format(text,
                              " | %c +%" PRIu64 " -%" PRIu64 " in doubt +%" PRIu64 " -%" PRIu64,
                              "abc"[i], tables[i].added, tables[i].taken, tables[i].added_in_doubt,
                              tables[i].taken_in_doubt);
        }
    }
}

/* Connects a session, lets the session take its turns, and writes the outcome to *text. */
static void run_case(const struct transactions_case *now, struct buffer *text)
{
    static struct facts facts;
    const struct conditions *with = &now->with;
    struct script *script = load_script(now->script);
    struct adapter adapter = {.name = "given",
                              .append_open = do_append_open,
                              .append_rows = do_append_rows,
                              .append_close = do_append_close,
                              .run = do_run,
                              .prepare = do_prepare,
                              .flags = with->discards ? ADAPTER_DISCARDS : 0};
    if (!with->lacks_begin) {
        adapter.begin = do_begin;
        adapter.commit = do_commit;
        adapter.rollback = do_rollback;
    }
    const struct plan plan = {.facts = &facts,
                              .adapter = &adapter,
                              .script = script,
                              .sessions = 1,
                              .tries = with->tries == 0 ? UINT64_MAX : with->tries,
                              .late_ns = with->late_ns,
                              .warm_up_ns = with->is_warm ? INT64_MAX / 2 : 0,
                              .is_unprepared = !with->prepares,
                              .has_group_rates = with->has_group_rates,
                              .drop_policy = with->reconnects ? DROP_RECONNECT : DROP_CONTINUE};
    struct setup_table tables[TABLES + 1] = {{.count.sql = "count"}};
    for (size_t i = 0; i < TABLES; i++) {
        tables[i].table = *script_load_table(script, i);
        tables[i].count.sql = "count";
    }
    uint64_t before[TABLES] = {with->before, with->before, with->before};
    struct setup_host host = {.is_known = true, .rows_before = before};
    const struct setup setup = {.table_count = TABLES,
                                .tables = tables,
                                .host_count = 1,
                                .hosts = &host,
                                .server.is_pooled = with->is_pooled};
    struct load *load = calloc(1, sizeof *load);
    struct session *session = calloc(1, sizeof *session);
    struct recorder *recorder = recorder_create(1, 1, OPERATIONS + script->operation_count, 1);
    struct causes causes;
    assert_true(load != NULL && session != NULL && recorder != NULL);
    causes_init(&causes);
    load->plan = &plan;
    load->setup = &setup;
    load->recorder = recorder;
    load->causes = load->mistakes = &causes;
    load->log = transaction_log_create(1, 5, 1);
    assert_non_null(load->log);
    gate_init(&load->gate, false);
    gate_open(&load->gate, mono_now_ns());
    database = (struct adapter_conn){.now = now, .load = load};
    buffer_init(&database.calls);
    session->load = load;
    session->epoch = &load->first_epoch;
    session->conn = &database;
    session->quota = with->quota == 0 ? UINT64_MAX : with->quota;
    session->turn_quota = with->is_last ? now->turns : UINT64_MAX;
    session->logged = transaction_log_choose(load->log, 0);
    session->tries = 5;
    session->is_overdue = with->is_overdue;
    session->group.group = with->is_grouped ? 2 : 0;
    atomic_store(&session->was_cut, with->was_cut);
    session->prepared = (struct prepared_set){.adapter = &adapter, .conn = &database};
    line_init(&session->line, &adapter, 0);

    struct error error = {.kind = ERROR_NONE};
    enum status status = transactions_begin(session, &error);
    assert_int_equal(status, STATUS_OK);
    status = transactions_connected(session, &error);
    for (unsigned i = 0; status == STATUS_OK && i < now->turns; i++) {
        status = transactions_turn(session, with->due_ns == 0 ? 0 : mono_now_ns() - with->due_ns);
    }
    prepared_end(&session->prepared);
    transactions_end(session);
    struct verification changes[TABLES] = {0};
    struct result result = {.dataset_count = TABLES, .datasets = changes};
    transactions_destroy(session, &result);
    assert_null(session->transactions);

    buffer_add_text(text, buffer_text(&database.calls));
    buffer_add_format(
        text, "| %d, turn %" PRIu64 ", batches %" PRIu64 "%s%s%s", (int)status, session->turn,
        session->sum.batches, session->sum.last_ack_ns > 0 ? ", progress" : "",
        session->is_refused ? ", refused" : "", session->tries == 0 ? "" : ", tries kept");
    if (gate_is_stopped(&load->gate)) {
        const bool is_by_script = gate_reason(&load->gate) == STOP_SCRIPT;
        buffer_add_text(text, is_by_script ? ", stopped by the script" : ", stopped");
    }
    buffer_add_text(text, " | ");
    write_counts(text, recorder, script);
    write_rest(text, load->log, &causes, changes);
    buffer_fini(&database.calls);
    line_fini(&session->line);
    gate_fini(&load->gate);
    transaction_log_destroy(load->log);
    causes_fini(&causes);
    recorder_destroy(recorder);
    free(session->sum.exceptions);
    free(session);
    free(load);
    script_destroy(script);
}

static const struct transactions_case cases[] = {
    {"two that are committed",
     "T(function() read:run() add:run() end)",
     2,
     {0},
     {{0}},
     "begin; select 1; insert 3; commit; begin to write; select 1; insert 3; commit; | 0, turn 2, "
     "batches 2, progress | read: sent 2, answered 2, rows 2, add: sent 2, answered 2, rows 6, t: "
     "begun 2, committed 2, tries 2, | reads 2, writes 2, others 4, | times: transaction 2, try 2, "
     "begin 2, commit 2, read 2, add 2, t 2, | log: 0 t committed 1 timed, 1 t committed 1 timed, "
     "| | a +6 -0 in doubt +0 -0"},
    {"statements of all kinds",
     "T(function() none:run() miss:run() move:run() take:run() other:run() end)",
     1,
     {0},
     {{0}},
     "begin; select 0; update 0; update 1; delete 2; pragma; commit; | 0, turn 1, batches 1, "
     "progress | none: sent 1, answered 1, empty 1, take: sent 1, answered 1, rows 2, move: sent "
     "1, answered 1, rows 1, miss: sent 1, answered 1, empty 1, other: sent 1, answered 1, rows 1, "
     "t: begun 1, committed 1, tries 1, | reads 1, writes 3, others 3, | times: transaction 1, try "
     "1, begin 1, commit 1, none 1, take 1, move 1, miss 1, other 1, t 1, | log: 0 t committed 1 "
     "timed, | | a +1 -0 in doubt +0 -0 | b +0 -3 in doubt +0 -0"},
    {"autocommit",
     "A(function() add:run() add:run() take:run() read:run() end)",
     1,
     {0},
     {{0}},
     "insert 3; insert 3; delete 2; select 1; | 0, turn 1, batches 1, progress | read: sent 1, "
     "answered 1, rows 1, add: sent 2, answered 2, rows 6, take: sent 1, answered 1, rows 2, t: "
     "begun 1, committed 1, tries 1, | reads 1, writes 3, | times: transaction 1, try 1, read 1, "
     "add 2, take 1, t 1, | log: 0 t committed 1 timed, | | a +6 -0 in doubt +0 -0 | b +0 -2 in "
     "doubt +0 -0"},
    {"a rollback on purpose",
     "T(function() add:run() rollback('enough') end)",
     1,
     {0},
     {{0}},
     "begin; insert 3; rollback; | 0, turn 1, batches 1 | add: sent 1, answered 1, rows 3, t: "
     "begun 1, rolled_back 1, tries 1, | writes 1, others 2, | times: begin 1, rollback 1, add 1, "
     "| log: 0 t rolled_back 1 timed, |"},
    {"a rollback after a failed statement",
     "T(function() pcall(add.run, add) rollback('enough') end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | refused 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed 1 "
     "timed, | statement add x1 1: refused insert 3;"},
    {"autocommit: a rollback before a write",
     "A(function() miss:run() rollback('enough') end)",
     1,
     {0},
     {{0}},
     "update 0; | 0, turn 1, batches 1 | miss: sent 1, answered 1, empty 1, t: begun 1, "
     "rolled_back 1, tries 1, | writes 1, | times: miss 1, | log: 0 t rolled_back 1 timed, |"},
    {"autocommit: a rollback after a write",
     "A(function() add:run() rollback('enough') end)",
     1,
     {0},
     {{0}},
     "insert 3; | 3, turn 1, batches 1, tries kept, stopped by the script | add: sent 1, answered "
     "1, rows 3, t: begun 1, failed 1, partial 1, tries 1, | refused 1, writes 1, | times: add 1, "
     "| log: 0 t failed 1 timed, | script - x1 3: t.lua:14: rollback: the transaction has written "
     "in autocommit mode, which cannot be undone: call rollback before the first write; | a +3 -0 "
     "in doubt "
     "+0 -0"},
    {"autocommit: a rollback after a read",
     "A(function() read:run() rollback('enough') end)",
     1,
     {0},
     {{0}},
     "select 1; | 0, turn 1, batches 1 | read: sent 1, answered 1, rows 1, t: begun 1, rolled_back "
     "1, tries 1, | reads 1, | times: read 1, | log: 0 t rolled_back 1 timed, |"},
    {"autocommit: a rollback after another statement",
     "A(function() other:run() rollback('enough') end)",
     1,
     {0},
     {{0}},
     "pragma; | 3, turn 1, batches 1, tries kept, stopped by the script | other: sent 1, answered "
     "1, rows 1, t: begun 1, failed 1, partial 1, tries 1, | refused 1, others 1, | times: other "
     "1, | log: 0 t failed 1 timed, | script - x1 3: t.lua:14: rollback: the transaction has "
     "written in autocommit mode, which cannot be undone: call rollback before the first write;"},
    {"autocommit: a rollback after a write of unknown rows",
     "A(function() miss:run() rollback('enough') end)",
     1,
     {.lacks_begin = true},
     {{0}},
     "update 0; | 3, turn 1, batches 1, tries kept, stopped by the script | miss: sent 1, answered "
     "1, empty 1, t: begun 1, failed 1, partial 1, tries 1, | refused 1, writes 1, | times: miss "
     "1, | log: 0 t failed 1 timed, | script - x1 3: t.lua:14: rollback: the transaction has "
     "written in autocommit mode, which cannot be undone: call rollback before the first write;"},
    {"an isolation level",
     "T(function() read:run() end, {isolation = 'serializable'})",
     1,
     {0},
     {{0}},
     "begin serializable; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, "
     "answered 1, rows 1, t: begun 1, committed 1, tries 1, | reads 1, others 2, | times: "
     "transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed, |"},
    {"a refused begin",
     "T(function() read:run() end)",
     1,
     {0},
     {{1, STATUS_REJECTED, ERROR_SERVER, 0}},
     "begin; | 1, turn 1, batches 1 | t: begun 1, failed 1, tries 1, | refused 1, | times: | log: "
     "0 t failed 1 timed, | statement BEGIN x1 1: refused begin;"},
    {"a busy begin",
     "T(function() read:run() end)",
     1,
     {0},
     {{1, STATUS_REJECTED, ERROR_BUSY, 0}},
     "begin; begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, "
     "rows 1, t: begun 1, committed 1, tries 2, retries_busy 1, | reads 1, others 2, | times: "
     "transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 2 timed, |"},
    {"a lost begin",
     "T(function() read:run() end)",
     1,
     {0},
     {{1, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; | 2, turn 1, batches 1, tries kept | t: begun 1, failed 1, tries 1, | lost 1, | "
     "times: | log: 0 t failed 1 timed, | statement BEGIN x1 2: refused begin;"},
    {"a begin that the script must not use",
     "T(function() read:run() end)",
     1,
     {0},
     {{1, STATUS_FATAL, ERROR_USAGE, 0}},
     "begin; | 3, turn 1, batches 1, tries kept, stopped by the script | t: begun 1, failed 1, "
     "tries 1, | refused 1, | times: | log: 0 t failed 1 timed, | script - x1 3: t.lua:12: "
     "'BEGIN': refused begin;"},
    {"a refused statement",
     "T(function() add:run() add:run() end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; insert 3; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 2, answered 1, "
     "refused 1, rows 3, t: begun 1, failed 1, tries 1, | refused 1, writes 1, others 2, | times: "
     "begin 1, rollback 1, add 1, | log: 0 t failed 1 timed, | statement add x1 1: refused insert "
     "3;"},
    {"a refused statement that the script ignores",
     "T(function() pcall(add.run, add) end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | refused 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed 1 "
     "timed, | statement add x1 1: refused insert 3;"},
    {"a refused statement and a lost rollback",
     "T(function() add:run() add:run() end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_DATA, 0}, {4, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; insert 3; insert 3; rollback; | 2, turn 1, batches 1, tries kept | add: sent 2, "
     "answered 1, refused 1, rows 3, t: begun 1, failed 1, tries 1, | lost 1, writes 1, others 1, "
     "| times: begin 1, add 1, | log: 0 t failed 1 timed, | statement ROLLBACK x1 2: refused "
     "rollback;"},
    {"a rollback on purpose that is refused",
     "T(function() add:run() rollback('enough') end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_SERVER, 0}},
     "begin; insert 3; rollback; | 2, turn 1, batches 1, tries kept | add: sent 1, answered 1, "
     "rows 3, t: begun 1, failed 1, tries 1, | lost 1, writes 1, others 1, | times: begin 1, add "
     "1, | log: 0 t failed 1 timed, | statement ROLLBACK x1 2: refused rollback;"},
    {"a lost statement",
     "T(function() read:run() add:run() end)",
     1,
     {0},
     {{3, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; select 1; insert 3; | 2, turn 1, batches 1, tries kept | read: sent 1, answered 1, "
     "rows 1, add: sent 1, unanswered 1, t: begun 1, failed 1, tries 1, | reads 1, lost 1, others "
     "1, | times: begin 1, read 1, | log: 0 t failed 1 timed, | statement add x1 2: refused insert "
     "3;"},
    {"a fatal statement",
     "T(function() add:run() end)",
     1,
     {0},
     {{2, STATUS_FATAL, ERROR_NOT_FOUND, 0}},
     "begin; insert 3; | 3, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, failed 1, "
     "tries 1, | refused 1, others 1, | times: begin 1, | log: 0 t failed 1 timed, | statement add "
     "x1 3: refused insert 3;"},
    {"a statement that ended the transaction",
     "T(function() add:run() take:run() end)",
     1,
     {0},
     {{3, STATUS_FATAL, ERROR_USAGE, 0}},
     "begin; insert 3; delete 2; | 3, turn 1, batches 1, tries kept, stopped by the script | add: "
     "sent 1, answered 1, rows 3, take: sent 1, refused 1, t: begun 1, failed 1, tries 1, | "
     "refused 1, writes 1, others 1, | times: begin 1, add 1, | log: 0 t failed 1 timed, | script "
     "- x1 3: t.lua:6: 'take': refused delete 2; | a +0 -0 in doubt +3 -0"},
    {"a BEGIN of the script's own",
     "T(function() open:run() end)",
     1,
     {0},
     {{0}},
     "begin; | 3, turn 1, batches 1, tries kept, stopped by the script | t: begun 1, failed 1, "
     "tries 1, | refused 1, others 1, | times: begin 1, | log: 0 t failed 1 timed, | script - x1 "
     "3: t.lua:11: 'open': transaction 't' has a BEGIN and COMMIT of its own: use {autocommit = "
     "true};"},
    {"autocommit: a BEGIN of the script's own",
     "A(function() open:run() end)",
     1,
     {0},
     {{0}},
     "begin; | 0, turn 1, batches 1, progress | open: sent 1, answered 1, rows 1, t: begun 1, "
     "committed 1, tries 1, | others 1, | times: transaction 1, try 1, open 1, t 1, | log: 0 t "
     "committed 1 timed, |"},
    {"a refused commit",
     "T(function() add:run() end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; insert 3; commit; | 1, turn 1, batches 1 | add: sent 1, answered 1, rows 3, t: begun "
     "1, failed 1, tries 1, | refused 1, writes 1, others 1, | times: begin 1, add 1, | log: 0 t "
     "failed 1 timed, | statement COMMIT x1 1: refused commit;"},
    {"a commit that is retried",
     "T(function() add:run() end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_SERIALIZATION, 0}},
     "begin; insert 3; commit; begin to write; insert 3; commit; | 0, turn 1, batches 1, progress "
     "| add: sent 2, answered 2, rows 6, t: begun 1, committed 1, tries 2, retries_serialization "
     "1, | writes 2, others 3, | times: transaction 1, try 1, begin 2, commit 1, add 2, t 1, | "
     "log: 0 t committed 2 timed, | | a +3 -0 in doubt +0 -0"},
    {"a lost commit",
     "T(function() add:run() move:run() end)",
     1,
     {0},
     {{4, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; insert 3; update 1; commit; | 2, turn 1, batches 1, tries kept | add: sent 1, "
     "answered 1, rows 3, move: sent 1, answered 1, rows 1, t: begun 1, in_doubt 1, tries 1, | "
     "writes 2, others 1, | times: begin 1, add 1, move 1, | log: 0 t in_doubt 1 timed, | "
     "statement COMMIT x1 2: refused commit; | a +0 -0 in doubt +4 -0 | b +0 -0 in doubt +0 -1"},
    {"a fatal commit",
     "T(function() add:run() end)",
     1,
     {0},
     {{3, STATUS_FATAL, ERROR_NOT_FOUND, 0}},
     "begin; insert 3; commit; | 3, turn 1, batches 1 | add: sent 1, answered 1, rows 3, t: begun "
     "1, failed 1, tries 1, | refused 1, writes 1, others 1, | times: begin 1, add 1, | log: 0 t "
     "failed 1 timed, | statement COMMIT x1 3: refused commit;"},
    {"autocommit: a lost write",
     "A(function() add:run() add:run() end)",
     1,
     {0},
     {{2, STATUS_LOST, ERROR_CONNECTION, 0}},
     "insert 3; insert 3; | 2, turn 1, batches 1, tries kept | add: sent 2, answered 1, unanswered "
     "1, rows 3, t: begun 1, in_doubt 1, tries 1, | writes 1, | times: add 1, | log: 0 t in_doubt "
     "1 timed, | statement add x1 2: refused insert 3; | a +3 -0 in doubt +3 -0"},
    {"autocommit: a lost first write",
     "A(function() take:run() end)",
     1,
     {0},
     {{1, STATUS_LOST, ERROR_CONNECTION, 0}},
     "delete 2; | 2, turn 1, batches 1, tries kept | take: sent 1, unanswered 1, t: begun 1, "
     "in_doubt 1, tries 1, | | times: | log: 0 t in_doubt 1 timed, | statement take x1 2: refused "
     "delete 2; | b +0 -0 in doubt +0 -1"},
    {"autocommit: a lost move",
     "A(function() take:run() move:run() end)",
     1,
     {0},
     {{2, STATUS_LOST, ERROR_CONNECTION, 0}},
     "delete 2; update 1; | 2, turn 1, batches 1, tries kept | take: sent 1, answered 1, rows 2, "
     "move: sent 1, unanswered 1, t: begun 1, in_doubt 1, tries 1, | writes 1, | times: take 1, | "
     "log: 0 t in_doubt 1 timed, | statement move x1 2: refused update 1; | a +0 -0 in doubt +1 -0 "
     "| b +0 -2 in doubt +0 -2"},
    {"autocommit: a lost read",
     "A(function() add:run() read:run() end)",
     1,
     {0},
     {{2, STATUS_LOST, ERROR_CONNECTION, 0}},
     "insert 3; select 1; | 2, turn 1, batches 1, tries kept | read: sent 1, unanswered 1, add: "
     "sent 1, answered 1, rows 3, t: begun 1, failed 1, partial 1, tries 1, | lost 1, writes 1, | "
     "times: add 1, | log: 0 t failed 1 timed, | statement read x1 2: refused select 1; | a +3 -0 "
     "in doubt +0 -0"},
    {"retries of all causes",
     "T(function() add:run() end, {retry_duplicate = true})",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0},
      {5, STATUS_REJECTED, ERROR_SERIALIZATION, 0},
      {8, STATUS_REJECTED, ERROR_BUSY, 0},
      {11, STATUS_REJECTED, ERROR_DUPLICATE, 0}},
     "begin; insert 3; rollback; begin to write; insert 3; rollback; begin to write; insert 3; "
     "rollback; begin to write; insert 3; rollback; begin to write; insert 3; commit; | 0, turn 1, "
     "batches 1, progress | add: sent 5, answered 1, refused 4, rows 3, t: begun 1, committed 1, "
     "tries 5, retries_deadlock 1, retries_serialization 1, retries_busy 1, retries_duplicate 1, | "
     "writes 1, others 10, | times: transaction 1, try 1, begin 5, commit 1, rollback 4, add 1, t "
     "1, | log: 0 t committed 5 timed, | | a +3 -0 in doubt +0 -0"},
    {"a duplicate key",
     "T(function() add:run() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DUPLICATE, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | refused 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed 1 "
     "timed, | statement add x1 1: refused insert 3;"},
    {"a retry that takes the lock at once",
     "T(function() read:run() add:run() end)",
     2,
     {0},
     {{3, STATUS_REJECTED, ERROR_BUSY, 0}},
     "begin; select 1; insert 3; rollback; begin to write; select 1; insert 3; commit; begin to "
     "write; select 1; insert 3; commit; | 0, turn 2, batches 2, progress | read: sent 3, answered "
     "3, rows 3, add: sent 3, answered 2, refused 1, rows 6, t: begun 2, committed 2, tries 3, "
     "retries_busy 1, | reads 3, writes 2, others 6, | times: transaction 2, try 2, begin 3, "
     "commit 2, rollback 1, read 3, add 2, t 2, | log: 0 t committed 2 timed, 1 t committed 1 "
     "timed, | | a +6 -0 in doubt +0 -0"},
    {"too many tries",
     "T(function() add:run() end)",
     2,
     {.tries = 2},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}, {5, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; insert 3; rollback; begin to write; insert 3; rollback; | 1, turn 1, batches 1 | add: "
     "sent 2, refused 2, t: begun 1, failed 1, tries 2, retries_deadlock 1, | exhausted 1, others "
     "4, | times: begin 2, rollback 2, | log: 0 t failed 2 timed, | statement add x1 1: refused "
     "insert 3;"},
    {"the script's tries",
     "T(function() add:run() end, {tries = 1})",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | exhausted 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed "
     "1 timed, | statement add x1 1: refused insert 3;"},
    {"tries of the plan",
     "T(function() add:run() end, {tries = 1})",
     1,
     {.tries = 3},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; insert 3; rollback; begin to write; insert 3; commit; | 0, turn 1, batches 1, "
     "progress | add: sent 2, answered 1, refused 1, rows 3, t: begun 1, committed 1, tries 2, "
     "retries_deadlock 1, | writes 1, others 4, | times: transaction 1, try 1, begin 2, commit 1, "
     "rollback 1, add 1, t 1, | log: 0 t committed 2 timed, | | a +3 -0 in doubt +0 -0"},
    {"any number of tries",
     "T(function() add:run() end, {tries = 0})",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; insert 3; rollback; begin to write; insert 3; commit; | 0, turn 1, batches 1, "
     "progress | add: sent 2, answered 1, refused 1, rows 3, t: begun 1, committed 1, tries 2, "
     "retries_deadlock 1, | writes 1, others 4, | times: transaction 1, try 1, begin 2, commit 1, "
     "rollback 1, add 1, t 1, | log: 0 t committed 2 timed, | | a +3 -0 in doubt +0 -0"},
    {"autocommit: a retry before a write",
     "A(function() read:run() add:run() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "select 1; insert 3; select 1; insert 3; | 0, turn 1, batches 1, progress | read: sent 2, "
     "answered 2, rows 2, add: sent 2, answered 1, refused 1, rows 3, t: begun 1, committed 1, "
     "tries 2, retries_deadlock 1, | reads 2, writes 1, | times: transaction 1, try 1, read 2, add "
     "1, t 1, | log: 0 t committed 2 timed, | | a +3 -0 in doubt +0 -0"},
    {"autocommit: no retry after a write",
     "A(function() add:run() take:run() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "insert 3; delete 2; | 1, turn 1, batches 1 | add: sent 1, answered 1, rows 3, take: sent 1, "
     "refused 1, t: begun 1, failed 1, partial 1, tries 1, | exhausted 1, writes 1, | times: add "
     "1, | log: 0 t failed 1 timed, | statement take x1 1: refused delete 2; | a +3 -0 in doubt +0 "
     "-0"},
    {"a lost deadlock",
     "T(function() add:run() end)",
     1,
     {0},
     {{2, STATUS_LOST, ERROR_DEADLOCK, 0}},
     "begin; insert 3; | 2, turn 1, batches 1, tries kept | add: sent 1, unanswered 1, t: begun 1, "
     "failed 1, tries 1, | lost 1, others 1, | times: begin 1, | log: 0 t failed 1 timed, | "
     "statement add x1 2: refused insert 3;"},
    {"a duplicate that is forgiven",
     "A(function() check(not add:try()) read:run() end)",
     1,
     {0},
     {{1, STATUS_REJECTED, ERROR_DUPLICATE, 0}},
     "insert 3; select 1; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows 1, "
     "add: sent 1, refused 1, t: begun 1, committed 1, tries 1, | reads 1, checks 1, | times: "
     "transaction 1, try 1, read 1, t 1, | log: 0 t committed 1 timed, |"},
    {"another failure is not forgiven",
     "A(function() add:try() end)",
     1,
     {0},
     {{1, STATUS_REJECTED, ERROR_DATA, 0}},
     "insert 3; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, failed 1, tries 1, | "
     "refused 1, | times: | log: 0 t failed 1 timed, | statement add x1 1: refused insert 3;"},
    {"not in a transaction",
     "T(function() add:try() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DUPLICATE, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | refused 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed 1 "
     "timed, | statement add x1 1: refused insert 3;"},
    {"a server that is read-only",
     "T(function() add:run() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_READ_ONLY, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | refused 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed 1 "
     "timed, | statement add x1 1: refused insert 3;"},
    {"a server that is read-only for a time",
     "T(function() add:run() end)",
     1,
     {.reconnects = true},
     {{2, STATUS_REJECTED, ERROR_READ_ONLY, 0}},
     "begin; insert 3; rollback; | 2, turn 1, batches 1, refused, tries kept | add: sent 1, "
     "refused 1, t: begun 1, failed 1, tries 1, | refusals 1, refused 1, others 2, | times: begin "
     "1, rollback 1, | log: 0 t failed 1 timed, | statement add x1 1: refused insert 3;"},
    {"a server that is read-only for a time, with a connection that is unusable then",
     "T(function() add:run() end)",
     1,
     {.reconnects = true},
     {{2, STATUS_FATAL, ERROR_READ_ONLY, 0}},
     "begin; insert 3; | 2, turn 1, batches 1, refused, tries kept | add: sent 1, refused 1, t: "
     "begun 1, failed 1, tries 1, | refusals 1, refused 1, others 1, | times: begin 1, | log: 0 t "
     "failed 1 timed, | statement add x1 3: refused insert 3;"},
    {"a read-only server that is lost",
     "T(function() add:run() end)",
     1,
     {.reconnects = true},
     {{2, STATUS_LOST, ERROR_READ_ONLY, 0}},
     "begin; insert 3; | 2, turn 1, batches 1, tries kept | add: sent 1, unanswered 1, t: begun 1, "
     "failed 1, tries 1, | lost 1, others 1, | times: begin 1, | log: 0 t failed 1 timed, | "
     "statement add x1 2: refused insert 3;"},
    {"another refusal with reconnects",
     "T(function() add:run() end)",
     1,
     {.reconnects = true},
     {{2, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | refused 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed 1 "
     "timed, | statement add x1 1: refused insert 3;"},
    {"a call that was cut",
     "T(function() add:run() end)",
     1,
     {.is_overdue = true},
     {{2, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; insert 3; | 2, turn 1, batches 1, tries kept | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | lost 1, others 1, | times: begin 1, | log: 0 t failed 1 timed, | "
     "statement add x1 2: append cut the connection: no answer in 0 ns (--timeout);"},
    {"a call that was cut and answered",
     "T(function() add:run() end)",
     1,
     {.is_overdue = true},
     {{0}},
     "begin; insert 3; commit; | 2, turn 1, batches 1, progress | add: sent 1, answered 1, rows 3, "
     "t: begun 1, committed 1, tries 1, | writes 1, others 2, | times: transaction 1, try 1, begin "
     "1, commit 1, add 1, t 1, | log: 0 t committed 1 timed, | statement - x1 2: append cut the "
     "connection: no answer in 0 ns (--timeout); | a +3 -0 in doubt +0 -0"},
    {"the last call, cut and answered: no connection is needed",
     "T(function() add:run() end)",
     1,
     {.is_overdue = true, .is_last = true},
     {{0}},
     "begin; insert 3; commit; | 0, turn 1, batches 1, progress | add: sent 1, answered 1, rows 3, "
     "t: begun 1, committed 1, tries 1, | writes 1, others 2, | times: transaction 1, try 1, begin "
     "1, commit 1, add 1, t 1, | log: 0 t committed 1 timed, | statement - x1 2: append cut the "
     "connection: no answer in 0 ns (--timeout); | a +3 -0 in doubt +0 -0"},
    {"a cut at the end of the run",
     "T(function() add:run() end)",
     1,
     {.was_cut = true},
     {{2, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; insert 3; | 2, turn 1, batches 1, tries kept | add: sent 1, unanswered 1, t: begun 1, "
     "unfinished 1, tries 1, | others 1, | times: begin 1, | log: 0 t unfinished 1 timed, | "
     "statement add x1 2: append cut the connection: no answer within 10 s after the end of the "
     "run;"},
    {"a cut commit at the end of the run",
     "T(function() add:run() end)",
     1,
     {.was_cut = true},
     {{3, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; insert 3; commit; | 2, turn 1, batches 1, tries kept | add: sent 1, answered 1, rows "
     "3, t: begun 1, in_doubt 1, tries 1, | writes 1, others 1, | times: begin 1, add 1, | log: 0 "
     "t in_doubt 1 timed, | statement COMMIT x1 2: append cut the connection: no answer within "
     "10 s after the end of the run; | a +0 -0 in doubt +3 -0"},
    {"the end of the run",
     "T(function() add:run() stop:run() think(1) add:run() end)",
     2,
     {0},
     {{0}},
     "begin; insert 3; select stop; rollback; begin to write; insert 3; select stop; rollback; | "
     "0, turn 2, batches 2, stopped | add: sent 2, answered 2, rows 6, stop: sent 2, answered 2, "
     "rows 2, t: begun 2, unfinished 2, tries 2, | reads 2, writes 2, others 4, | times: begin 2, "
     "rollback 2, add 2, stop 2, | log: 0 t unfinished 1 timed, 1 t unfinished 1 timed, |"},
    {"the end of the run before a retry",
     "T(function() stop:run() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; select stop; rollback; | 1, turn 1, batches 1, stopped | stop: sent 1, refused 1, t: "
     "begun 1, unfinished 1, tries 1, | others 2, | times: begin 1, rollback 1, | log: 0 t "
     "unfinished 1 timed, |"},
    {"a mistake",
     "T(function() add:run() error('oh') end)",
     2,
     {0},
     {{0}},
     "begin; insert 3; rollback; | 3, turn 1, batches 1, tries kept, stopped by the script | add: "
     "sent 1, answered 1, rows 3, t: begun 1, failed 1, tries 1, | refused 1, writes 1, others 2, "
     "| times: begin 1, rollback 1, add 1, | log: 0 t failed 1 timed, | script - x1 3: t.lua:14: "
     "oh;"},
    {"autocommit: a mistake after a write",
     "A(function() add:run() error('oh') end)",
     1,
     {0},
     {{0}},
     "insert 3; | 3, turn 1, batches 1, tries kept, stopped by the script | add: sent 1, answered "
     "1, rows 3, t: begun 1, failed 1, partial 1, tries 1, | refused 1, writes 1, | times: add 1, "
     "| log: 0 t failed 1 timed, | script - x1 3: t.lua:14: oh; | a +3 -0 in doubt +0 -0"},
    {"checks",
     "T(function() check(false, 'sum') check(false, 'x') check(true) check(false) found(true) "
     "found(false) found(false) end)",
     1,
     {0},
     {{0}},
     "begin; commit; | 0, turn 1, batches 1, progress | t: begun 1, committed 1, tries 1, | others "
     "2, checks 4, checks_failed 3, found 1, not_found 2, | times: transaction 1, try 1, begin 1, "
     "commit 1, t 1, | log: 0 t committed 1 timed, | script t x3 1: check failed: sum;"},
    {"a check without a text",
     "T(function() check(false) end)",
     1,
     {0},
     {{0}},
     "begin; commit; | 0, turn 1, batches 1, progress | t: begun 1, committed 1, tries 1, | others "
     "2, checks 1, checks_failed 1, | times: transaction 1, try 1, begin 1, commit 1, t 1, | log: "
     "0 t committed 1 timed, | script t x1 1: check failed;"},
    {"checks of tries that are undone",
     "T(function() check(false) found(true) add:run() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; insert 3; rollback; begin to write; insert 3; commit; | 0, turn 1, batches 1, "
     "progress | add: sent 2, answered 1, refused 1, rows 3, t: begun 1, committed 1, tries 2, "
     "retries_deadlock 1, | writes 1, others 4, checks 1, checks_failed 1, found 1, | times: "
     "transaction 1, try 1, begin 2, commit 1, rollback 1, add 1, t 1, | log: 0 t committed 2 "
     "timed, | script t x1 1: check failed; | a +3 -0 in doubt +0 -0"},
    {"checks of the last try, which is undone",
     "T(function() check(false) found(true) add:run() end, {tries = 1})",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; insert 3; rollback; | 1, turn 1, batches 1 | add: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | exhausted 1, others 2, | times: begin 1, rollback 1, | log: 0 t failed "
     "1 timed, | statement add x1 1: refused insert 3;"},
    {"autocommit: checks of each try",
     "A(function() check(false) found(true) add:run() end)",
     1,
     {0},
     {{1, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "insert 3; insert 3; | 0, turn 1, batches 1, progress | add: sent 2, answered 1, refused 1, "
     "rows 3, t: begun 1, committed 1, tries 2, retries_deadlock 1, | writes 1, checks 2, "
     "checks_failed 2, found 2, | times: transaction 1, try 1, add 1, t 1, | log: 0 t committed 2 "
     "timed, | script t x2 1: check failed; | a +3 -0 in doubt +0 -0"},
    {"checks without rows",
     "T(function() check(false) found(true) found(false) end)",
     1,
     {.discards = true},
     {{0}},
     "begin; commit; | 0, turn 1, batches 1, progress | t: begun 1, committed 1, tries 1, | others "
     "2, | times: transaction 1, try 1, begin 1, commit 1, t 1, | log: 0 t committed 1 timed, |"},
    {"the warm-up",
     "T(function() add:run() check(false) found(true) end)",
     1,
     {.is_warm = true, .due_ns = 1},
     {{2, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "begin; insert 3; rollback; begin to write; insert 3; commit; | 0, turn 1, batches 1, "
     "progress | | warm transactions_begun 1, warm transactions_committed 1, warm tries 2, warm "
     "retries_deadlock 1, warm due 1, warm writes 1, warm others 4, warm checks 1, warm "
     "checks_failed 1, warm found 1, | times: | log: | | a +3 -0 in doubt +0 -0"},
    {"a due transaction",
     "T(function() read:run() end)",
     1,
     {.due_ns = 1},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, due 1, others 2, | times: response 1, "
     "transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed due, |"},
    {"a due transaction that is refused",
     "T(function() read:run() end)",
     1,
     {.due_ns = 1},
     {{2, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; select 1; rollback; | 1, turn 1, batches 1 | read: sent 1, refused 1, t: begun 1, "
     "failed 1, tries 1, | refused 1, due 1, others 2, | times: begin 1, rollback 1, | log: 0 t "
     "failed 1 timed due, | statement read x1 1: refused select 1;"},
    {"a late transaction",
     "T(function() read:run() end)",
     1,
     {.due_ns = 200 * MONO_NS_PER_MS},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, due 1, late 1, others 2, | times: response "
     "1, transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed due, "
     "|"},
    {"a skipped transaction",
     "T(function() read:run() end)",
     2,
     {.due_ns = 200 * MONO_NS_PER_MS, .late_ns = 150 * MONO_NS_PER_MS},
     {{0}},
     "| 0, turn 2, batches 0, tries kept | | due 2, skipped 2, | times: | log: 0 t skipped 0, 1 t "
     "skipped 0, |"},
    {"a late transaction that is not skipped",
     "T(function() read:run() end)",
     1,
     {.due_ns = 200 * MONO_NS_PER_MS, .late_ns = 3600 * MONO_NS_PER_S},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, due 1, late 1, others 2, | times: response "
     "1, transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed due, "
     "|"},
    {"not due beside groups with rates",
     "T(function() read:run() end)",
     1,
     {.has_group_rates = true},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, not_due 1, others 2, | times: transaction 1, "
     "try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed, |"},
    {"due in a group with a rate",
     "T(function() read:run() end)",
     1,
     {.has_group_rates = true, .due_ns = 1},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, due 1, others 2, | times: response 1, "
     "transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed due, |"},
    {"a session of a group",
     "T(function() read:run() end) transaction('u', function() none:run() end, {weight = 0})",
     1,
     {.is_grouped = true},
     {{0}},
     "begin; select 0; commit; | 0, turn 1, batches 1, progress | none: sent 1, answered 1, empty "
     "1, u: begun 1, committed 1, tries 1, | reads 1, others 2, | times: transaction 1, try 1, "
     "begin 1, commit 1, none 1, u 1, | log: 0 u committed 1 timed, |"},
    {"counts",
     "T(function() check(a:count() == 107) add:run() a:count() end)",
     1,
     {.counted = 107, .before = 100},
     {{0}},
     "begin; count; insert 3; count; commit; | 0, turn 1, batches 1, progress | add: sent 1, "
     "answered 1, rows 3, t: begun 1, committed 1, tries 1, | fresh_checks 2, reads 2, writes 1, "
     "others 2, checks 1, | times: read 2, transaction 1, try 1, begin 1, commit 1, add 1, t 1, | "
     "log: 0 t committed 1 timed, | | a +3 -0 in doubt +0 -0"},
    {"counts that miss own rows",
     "T(function() a:count() add:run() a:count() end)",
     2,
     {.counted = 102, .before = 100, .misses = true},
     {{0}},
     "begin; count; insert 3; count; commit; begin to write; count; insert 3; count; commit; | 0, "
     "turn 2, batches 2, progress | add: sent 2, answered 2, rows 6, t: begun 2, committed 2, "
     "tries 2, | fresh_checks 4, fresh_behind 3, fresh_backward 2, reads 4, writes 2, others 4, | "
     "times: read 4, "
     "transaction 2, try 2, begin 2, commit 2, add 2, t 2, | log: 0 t committed 1 timed, 1 t "
     "committed 1 timed, | | a +6 -0 in doubt +0 -0"},
    {"counts of rows that are undone",
     "T(function() a:count() add:run() a:count() rollback() end)",
     2,
     {.counted = 100, .before = 100},
     {{0}},
     "begin; count; insert 3; count; rollback; begin to write; count; insert 3; count; rollback; | "
     "0, turn 2, batches 2 | add: sent 2, answered 2, rows 6, t: begun 2, rolled_back 2, tries 2, "
     "| fresh_checks 4, reads 4, writes 2, others 4, | times: read 4, begin 2, rollback 2, add 2, "
     "| log: 0 t rolled_back 1 timed, 1 t rolled_back 1 timed, |"},
    {"an append that is busy when the run ends",
     "A(function() add:run() stop:run() a:append(3) end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_BUSY, 0}},
     "insert 3; select stop; open; | 1, turn 1, batches 1, stopped | add: sent 1, answered 1, rows "
     "3, stop: sent 1, answered 1, rows 1, t: begun 1, unfinished 1, tries 1, | reads 1, writes 1, "
     "| times: add 1, stop 1, | log: 0 t unfinished 1 timed, | busy - x1 1: refused open; | a +3 "
     "-0 in doubt +0 -0"},
    {"a commit without an answer",
     "T(function() add:run() end)",
     1,
     {.due_ns = MONO_NS_PER_MS},
     {{3, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; insert 3; commit; | 2, turn 1, batches 1, tries kept | add: sent 1, answered 1, rows "
     "3, t: begun 1, in_doubt 1, tries 1, | responses_unanswered 1, due 1, writes 1, others 1, | "
     "times: response 1, begin 1, add 1, | log: 0 t in_doubt 1 timed due, | statement COMMIT x1 2: "
     "refused commit; | a +0 -0 in doubt +3 -0"},
    {"counts of a table from which rows are taken",
     "T(function() b:count() end)",
     1,
     {.counted = 1, .before = 100},
     {{0}},
     "begin; count; commit; | 0, turn 1, batches 1, progress | t: begun 1, committed 1, tries 1, | "
     "reads 1, others 2, | times: read 1, transaction 1, try 1, begin 1, commit 1, t 1, | log: 0 t "
     "committed 1 timed, |"},
    {"counts where rows are discarded",
     "T(function() a:count() end)",
     1,
     {.counted = 1, .before = 100, .discards = true},
     {{0}},
     "begin; count; commit; | 0, turn 1, batches 1, progress | t: begun 1, committed 1, tries 1, | "
     "reads 1, others 2, | times: read 1, transaction 1, try 1, begin 1, commit 1, t 1, | log: 0 t "
     "committed 1 timed, |"},
    {"a refused count",
     "T(function() a:count() end)",
     1,
     {0},
     {{2, STATUS_REJECTED, ERROR_DATA, 0}},
     "begin; count; rollback; | 1, turn 1, batches 1 | t: begun 1, failed 1, tries 1, | refused 1, "
     "others 2, | times: begin 1, rollback 1, | log: 0 t failed 1 timed, | read a x1 1: refused "
     "count;"},
    {"a lost count",
     "T(function() a:count() end)",
     1,
     {0},
     {{2, STATUS_LOST, ERROR_CONNECTION, 0}},
     "begin; count; | 2, turn 1, batches 1, tries kept | t: begun 1, failed 1, tries 1, | lost 1, "
     "others 1, | times: begin 1, | log: 0 t failed 1 timed, | read a x1 2: refused count;"},
    {"an append",
     "A(function() a:append(200) a:append(1) end)",
     1,
     {0},
     {{0}},
     "open; rows 101+128; rows 229+72; close; open; rows 301+1; close; | 0, turn 1, batches 1, "
     "progress | t: begun 1, committed 1, tries 1, | rows_acknowledged 201, row_bytes 1608, "
     "appends 2, | times: append 2, transaction 1, try 1, t 1, | log: 0 t committed 1 timed, | | a "
     "+201 -0 in doubt +0 -0"},
    {"an append in a transaction",
     "T(function() a:append(2) end)",
     1,
     {0},
     {{0}},
     "begin; | 3, turn 1, batches 1, tries kept, stopped by the script | t: begun 1, failed 1, "
     "tries 1, | refused 1, others 1, | times: begin 1, | log: 0 t failed 1 timed, | script - x1 "
     "3: t.lua: transaction 't' appends to 'a', which works only with autocommit: declare the "
     "transaction with {autocommit = true};"},
    {"appends to the end of the session's share",
     "A(function() a:append(4) a:append(4) a:append(4) end)",
     1,
     {.quota = 6},
     {{0}},
     "open; rows 101+4; close; open; rows 105+2; close; | 0, turn 1, batches 1, progress | t: "
     "begun 1, committed 1, tries 1, | rows_acknowledged 6, row_bytes 48, appends 2, | times: "
     "append 2, transaction 1, try 1, t 1, | log: 0 t committed 1 timed, | | a +6 -0 in doubt +0 "
     "-0"},
    {"an append of which rows are missing",
     "A(function() a:append(4) end)",
     1,
     {.short_by = 1},
     {{0}},
     "open; rows 101+4; close; | 1, turn 1, batches 1, progress | t: begun 1, failed 1, partial 1, "
     "tries 1, | rows_acknowledged 3, rows_rejected 1, row_bytes 24, appends 1, appends_failed 1, "
     "refused 1, | times: | log: 0 t failed 1 timed, | append a x1 1: the server acknowledged "
     "fewer rows than append sent; | a +3 -0 in doubt +0 -0"},
    {"a refused append",
     "A(function() a:append(4) end)",
     2,
     {0},
     {{3, STATUS_REJECTED, ERROR_DATA, 1}},
     "open; rows 101+4; close; | 1, turn 1, batches 1, progress | t: begun 1, failed 1, partial 1, "
     "tries 1, | rows_acknowledged 1, rows_rejected 3, row_bytes 8, appends 1, appends_failed 1, "
     "refused 1, | times: | log: 0 t failed 1 timed, | append a x1 1: refused close; | a +1 -0 in "
     "doubt +0 -0"},
    {"a lost append",
     "A(function() a:append(4) end)",
     2,
     {0},
     {{3, STATUS_LOST, ERROR_CONNECTION, 1}},
     "open; rows 101+4; close; | 2, turn 1, batches 1, progress, tries kept | t: begun 1, in_doubt "
     "1, tries 1, | rows_acknowledged 1, rows_in_doubt 3, row_bytes 8, appends_failed 1, "
     "appends_lost 1, | times: | log: 0 t in_doubt 1 timed, | append a x1 2: refused close; | a +1 "
     "-0 in doubt +3 -0"},
    {"a lost first call of an append",
     "A(function() a:append(4) end)",
     2,
     {0},
     {{1, STATUS_LOST, ERROR_CONNECTION, 1}},
     "open; | 2, turn 1, batches 1, tries kept | t: begun 1, failed 1, tries 1, | appends_failed "
     "1, appends_lost 1, lost 1, | times: | log: 0 t failed 1 timed, | append a x1 2: refused "
     "open;"},
    {"an append that is retried",
     "A(function() a:append(4) end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_DEADLOCK, 0}},
     "open; rows 101+4; close; open; rows 101+4; close; | 0, turn 1, batches 1, progress | t: "
     "begun 1, committed 1, tries 1, | rows_acknowledged 4, row_bytes 32, appends 1, busy_retries "
     "1, | times: append 1, transaction 1, try 1, t 1, | log: 0 t committed 1 timed, | busy - x1 "
     "1: refused close; | a +4 -0 in doubt +0 -0"},
    {"a partial append that is not retried",
     "A(function() a:append(4) end)",
     1,
     {0},
     {{3, STATUS_REJECTED, ERROR_DEADLOCK, 2}},
     "open; rows 101+4; close; | 1, turn 1, batches 1, progress | t: begun 1, failed 1, partial 1, "
     "tries 1, | rows_acknowledged 2, rows_rejected 2, row_bytes 16, appends 1, appends_failed 1, "
     "exhausted 1, | times: | log: 0 t failed 1 timed, | append a x1 1: refused close; | a +2 -0 "
     "in doubt +0 -0"},
    {"an append whose rows fail after the first of them were handed over",
     "A(function() c:append(200) end)",
     1,
     {0},
     {{0}},
     "open; rows 1+128; | 3, turn 1, batches 1, tries kept, stopped by the script | t: begun 1, "
     "in_doubt 1, tries 1, | rows_in_doubt 128, appends 1, appends_failed 1, | times: | log: 0 t "
     "in_doubt 1 timed, | script - x1 3: t.lua:2: attempt to index a nil value (global 'nope'); | "
     "c +0 -0 in doubt +128 -0"},
    {"a rollback after an append",
     "A(function() a:append(4) rollback('enough') end)",
     1,
     {0},
     {{0}},
     "open; rows 101+4; close; | 3, turn 1, batches 1, progress, tries kept, stopped by the script "
     "| t: begun 1, failed 1, partial 1, tries 1, | rows_acknowledged 4, row_bytes 32, appends 1, "
     "refused 1, | times: append 1, | log: 0 t failed 1 timed, | script - x1 3: t.lua:14: "
     "rollback: the transaction has written in autocommit mode, which cannot be undone: call "
     "rollback before the first write; | a +4 -0 in doubt +0 -0"},
    {"statements that are prepared",
     "T(function() read:run() other:run() end)",
     1,
     {.prepares = true},
     {{0}},
     "prepare select 1; prepare select 0; prepare insert 3; prepare delete 2; prepare update 1; "
     "prepare update 0; prepare begin; begin; select 1 prepared; pragma; commit; | 0, turn 1, "
     "batches 1, progress | read: sent 1, answered 1, rows 1, other: sent 1, answered 1, rows 1, "
     "t: begun 1, committed 1, tries 1, | reads 1, others 3, | times: transaction 1, try 1, begin "
     "1, commit 1, read 1, other 1, t 1, | log: 0 t committed 1 timed, |"},
    {"a statement that cannot be prepared yet",
     "T(function() read:run() none:run() end)",
     1,
     {.prepares = true},
     {{2, STATUS_REJECTED, ERROR_NOT_FOUND, 0}},
     "prepare select 1; prepare select 0; prepare insert 3; prepare delete 2; prepare update 1; "
     "prepare update 0; prepare begin; begin; select 1 prepared; prepare select 0; select 0 "
     "prepared; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows 1, none: "
     "sent 1, answered 1, empty 1, t: begun 1, committed 1, tries 1, | reads 2, others 2, | times: "
     "transaction 1, try 1, begin 1, commit 1, read 1, none 1, t 1, | log: 0 t committed 1 timed, "
     "|"},
    {"a connection that is lost at prepare",
     "T(function() read:run() end)",
     1,
     {.prepares = true},
     {{3, STATUS_LOST, ERROR_CONNECTION, 0}},
     "prepare select 1; prepare select 0; prepare insert 3; | 2, turn 0, batches 0, tries kept | | "
     "| times: | log: | statement - x1 2: refused prepare insert 3;"},
    {"through a pooler",
     "T(function() read:run() end)",
     1,
     {.prepares = true, .is_pooled = true},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, others 2, | times: transaction 1, try 1, "
     "begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed, |"},
    {"on_session",
     "on_session(function() add:run() a:append(2) end) T(function() read:run() end)",
     1,
     {.prepares = true},
     {{0}},
     "prepare insert 3; insert 3 prepared; open; rows 101+2; close; prepare select 1; prepare "
     "select 0; prepare insert 3; prepare delete 2; prepare update 1; prepare update 0; prepare "
     "begin; begin; select 1 prepared; commit; | 0, turn 1, batches 1, progress | read: sent 1, "
     "answered 1, rows 1, t: begun 1, committed 1, tries 1, | rows_acknowledged 2, row_bytes 16, "
     "appends 1, reads 1, others 2, | times: transaction 1, try 1, begin 1, commit 1, read 1, t 1, "
     "| log: 0 t committed 1 timed, | | a +5 -0 in doubt +0 -0"},
    {"on_session: a refused statement",
     "on_session(function() add:run() end) T(function() read:run() end)",
     1,
     {0},
     {{1, STATUS_REJECTED, ERROR_DATA, 0}},
     "insert 3; | 3, turn 0, batches 0, tries kept | | | times: | log: | statement add x1 1: "
     "refused insert 3;"},
    {"on_session: a lost statement",
     "on_session(function() add:run() end) T(function() read:run() end)",
     1,
     {0},
     {{1, STATUS_LOST, ERROR_CONNECTION, 0}},
     "insert 3; | 2, turn 0, batches 0, tries kept | | | times: | log: | statement add x1 2: "
     "refused insert 3; | a +0 -0 in doubt +1 -0"},
    {"on_session: a mistake",
     "on_session(function() error('oh') end) T(function() read:run() end)",
     1,
     {0},
     {{0}},
     "| 3, turn 0, batches 0, tries kept, stopped by the script | | | times: | log: | script - x1 "
     "3: t.lua:14: oh;"},
    {"on_session: a rollback",
     "on_session(function() rollback('enough') end) T(function() read:run() end)",
     1,
     {0},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, others 2, | times: transaction 1, try 1, "
     "begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed, |"},
    {"on_session: the end of the run",
     "on_session(function() stop:run() read:run() end) T(function() read:run() end)",
     1,
     {0},
     {{0}},
     "select stop; select 1; begin; select 1; commit; | 0, turn 1, batches 1, progress, stopped | "
     "read: sent 1, answered 1, rows 1, t: begun 1, committed 1, tries 1, | reads 1, others 2, | "
     "times: transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed, "
     "|"},
    {"a pause",
     "T(function() read:run() end, {pause = 0.000001})",
     1,
     {0},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, others 2, | times: transaction 1, try 1, "
     "begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed, |"},
    {"no pause when it is due",
     "T(function() read:run() end, {pause = 86400})",
     1,
     {.due_ns = 1},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, due 1, others 2, | times: response 1, "
     "transaction 1, try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed due, |"},
    {"a mistake in a pause",
     "T(function() read:run() end, {pause = derive(row(), function() return 'x' end)})",
     1,
     {0},
     {{0}},
     "| 3, turn 0, batches 0, tries kept, stopped by the script | | | times: | log: | script - x1 "
     "3: transaction 't': the pause must be a number of seconds from 0 to 86400;"},
    {"the end of the run in a pause",
     "T(function() stop:run() end, {pause = derive(row(), function(i) return i < 2 and 0 or 86400 "
     "end)})",
     2,
     {0},
     {{0}},
     "begin; select stop; commit; | 0, turn 1, batches 1, progress, stopped | stop: sent 1, "
     "answered 1, rows 1, t: begun 1, committed 1, tries 1, | reads 1, others 2, | times: "
     "transaction 1, try 1, begin 1, commit 1, stop 1, t 1, | log: 0 t committed 1 timed, |"},
    {"a think time",
     "T(function() read:run() think(0) check(true) end)",
     1,
     {0},
     {{0}},
     "begin; select 1; commit; | 0, turn 1, batches 1, progress | read: sent 1, answered 1, rows "
     "1, t: begun 1, committed 1, tries 1, | reads 1, others 2, checks 1, | times: transaction 1, "
     "try 1, begin 1, commit 1, read 1, t 1, | log: 0 t committed 1 timed, |"},
};

TEST(test_outcomes)
{
    EACH_CASE (i, cases, "%s", cases[i].name) {
        struct buffer text;
        buffer_init(&text);
        run_case(&cases[i], &text);
        assert_string_equal(buffer_text(&text), cases[i].expected);
        buffer_fini(&text);
    }
}
