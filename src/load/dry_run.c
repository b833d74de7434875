#include "load/dry_run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "append/sql.h"
#include "append/value_text.h"
#include "base/ask.h"
#include "base/mono.h"
#include "base/prepared.h"
#include "base/text.h"
#include "load/task.h"
#include "plan/facts.h"

enum {
    LINE_BYTES = 4096,
    LINE_COLUMNS = 1000,   /* longest line; wider lines are cut */
    VALUE_COLUMNS = 60,    /* longest value; longer values are cut */
    ROWS_SHOWN = 3,        /* rows of an answer that are shown */
    STATEMENTS_MAX = 1000, /* maximum number of statements in a transaction */
    INDENT_OF_ANSWERS = 8,
    INDENT = 4,
};

/* The state of the dry run. */
struct dry_run {
    const struct plan *plan;
    struct connection_info connection;
    struct buffer *text; /* the lines so far */
    struct adapter_conn *conn;
    struct prepared_set prepared;
    struct statement *prepared_statements; /* copies of the script's statements, with slots to
                                              prepare them */
    struct script_state *state;
    unsigned statements; /* number of statements of this transaction */
    unsigned failed;     /* number of transactions that failed */
    unsigned checks_failed;
    bool has_failed;    /* a call of this transaction has failed */
    enum status status; /* status of the failed call */
    bool has_ended;     /* a statement has ended this transaction, and may have committed it */
};

/* Replaces line breaks and tabs by blanks, because a statement or a value may have several
 * lines. */
static void join_lines(char *text)
{
    for (char *at = text; (at = strpbrk(at, "\r\n\t")) != NULL;) {
        *at = ' ';
    }
}

/* Writes a line without control characters. */
static void say(const struct dry_run *run, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(const struct dry_run *run, int indent, const char *format, ...)
{
    char text[LINE_BYTES], line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    join_lines(text);
    text_clean_line(line, sizeof line, text, LINE_COLUMNS);
    buffer_add_format(run->text, "%*s%s\n", indent, "", line);
}

/* Notes and shows a failed call. */
static enum status fail(struct dry_run *run, enum status status, const struct error *error)
{
    run->has_failed = true;
    run->status = status;
    say(run, INDENT_OF_ANSWERS, "FAILED: %s", error->text);
    return status;
}

/* Adds a text in quotes, cut to VALUE_COLUMNS. */
static void add_quoted(struct buffer *line, const char *bytes, size_t length)
{
    char text[LINE_BYTES], clean[LINE_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)MIN(length, sizeof text - 1), bytes);
    join_lines(text);
    text_clean_line(clean, sizeof clean, text, VALUE_COLUMNS);
    buffer_add_format(line, "'%s'", clean);
}

static void add_value(struct buffer *line, const struct column *column,
                      const struct column_data *data)
{
    char text[VALUE_TEXT_BYTES];
    if (column_is_null(data, 0)) {
        buffer_add_text(line, "NULL");
        return;
    }
    const size_t length = value_text_write(text, column, data->values, 0, 9);
    if (length > 0) {
        buffer_add(line, text, length);
    } else {
        add_quoted(line, data->values.text[0].bytes, data->values.text[0].length);
    }
}

/* Shows a statement's values. `parameters` may be NULL. */
static void show_values(const struct dry_run *run, const struct batch *parameters)
{
    struct buffer line = {0};
    const size_t count = parameters == NULL ? 0 : parameters->table->column_count;
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(&line, i == 0 ? "values: " : ", ");
        add_value(&line, &parameters->table->columns[i], &parameters->columns[i]);
    }
    buffer_add(&line, "", 1);
    if (count > 0 && !buffer_failed(&line)) {
        say(run, INDENT_OF_ANSWERS, "%s", line.bytes);
    }
    buffer_fini(&line);
}

/* The rows of an answer, which are shown and passed on to the script. */
struct shown_rows {
    struct answer *answer; /* the script's answer, which receives the rows */
    struct buffer lines;   /* the rows to show, each followed by NUL */
    unsigned count;        /* number of rows in `lines` */
};

static bool show_row(void *context, const struct cell *cells, size_t count)
{
    struct shown_rows *shown = context;
    struct answer *answer = shown->answer;
    for (size_t i = 0; i < count && shown->count < ROWS_SHOWN; i++) {
        const struct cell *cell = &cells[i];
        buffer_add_text(&shown->lines, i == 0 ? "" : ", ");
        if (cell->is_null) {
            buffer_add_text(&shown->lines, "NULL");
        } else if (cell->type == COLUMN_INT64) {
            buffer_add_format(&shown->lines, "%" PRId64, cell->as.int64);
        } else {
            add_quoted(&shown->lines, cell->as.text.bytes, cell->as.text.length);
        }
    }
    if (shown->count < ROWS_SHOWN) {
        buffer_add(&shown->lines, "", 1);
        shown->count++;
    }
    return answer->take == NULL || answer->take(answer->context, cells, count);
}

static bool is_in_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '$';
}

/* Returns whether the text begins with one of the words. Ignores upper and lower case. */
static bool begins_with(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        const size_t length = strlen(*words);
        if (strncasecmp(text, *words, length) == 0 && !is_in_name(text[length])) {
            return true;
        }
    }
    return false;
}

/* Returns whether the text has more than one statement. Some drivers execute such a text at once
 * when they are asked to prepare it, and the second statement might be a COMMIT. */
static bool has_several(const char *sql, unsigned lexis)
{
    struct sql_script script = {.rest = sql, .lexis = lexis};
    unsigned statements = 0;
    while (statements < 2 && sql_script_next(&script)) {
        statements++;
    }
    buffer_fini(&script.statement);
    return statements == 2;
}

/* Returns why a rollback might not undo the statement, or NULL if a rollback undoes it for certain.
 * This holds for queries, INSERT, UPDATE, DELETE and similar statements, and for the statements in
 * connection_info.undone. The dry run does not run other statements. */
static const char *why_lasting(const struct dry_run *run, const char *sql)
{
    const char *dialect = run->connection.dialect;
    const char *at = sql + strspn(sql, " \t\r\n(");
    if (script_controls_transaction(sql, sql_lexis_of(dialect))) {
        return "the statement has its own BEGIN, COMMIT or ROLLBACK";
    }
    if (has_several(sql, sql_lexis_of(dialect))) {
        return "the text has more than one statement, and the database might commit between them";
    }
    if (script_kind(sql) != SCRIPT_OTHER ||
        (run->connection.undone != NULL && begins_with(at, run->connection.undone))) {
        return NULL;
    }
    return "the database might commit the statement, or might not roll it back";
}

static enum status run_statement(void *context, size_t number, const struct batch *parameters,
                                 struct answer *answer)
{
    struct dry_run *run = context;
    const struct script_statement *declared = &run->plan->script->statements[number];
    const struct statement *statement = &run->prepared_statements[number];
    struct error error = {.kind = ERROR_NONE};
    const char *lasting = why_lasting(run, statement->sql);
    answer->rows = 0;
    say(run, INDENT, "%s: %s", declared->name, statement->sql);
    show_values(run, parameters);
    if (run->statements++ == STATEMENTS_MAX) {
        error_set(&error, ERROR_LIMIT, 0, NULL,
                  "the dry run stops a transaction after %d statements", STATEMENTS_MAX);
        return fail(run, STATUS_REJECTED, &error);
    }
    if (lasting != NULL) {
        say(run, INDENT_OF_ANSWERS, "not run: %s", lasting);
        return STATUS_OK;
    }
    struct shown_rows shown = {.answer = answer};
    struct answer own = {.take = show_row, .context = &shown};
    const int64_t start_ns = mono_now_ns();
    const enum status status = prepared_run(&run->prepared, statement, parameters, &own, &error);
    const int64_t took_ns = mono_now_ns() - start_ns;
    answer->rows = own.rows;
    if (status == STATUS_OK) {
        say(run, INDENT_OF_ANSWERS, "%s %s in %s", UNITS_COUNT(own.rows),
            units_plural(own.rows, "row", "rows"), UNITS_NS(took_ns));
    }
    const char *row = shown.lines.bytes;
    for (unsigned i = 0; i < shown.count && !buffer_failed(&shown.lines); i++) {
        say(run, INDENT_OF_ANSWERS, "(%s)", row);
        row += strlen(row) + 1;
    }
    if (shown.count == ROWS_SHOWN && own.rows > ROWS_SHOWN) {
        say(run, INDENT_OF_ANSWERS, "...");
    }
    buffer_fini(&shown.lines);
    run->has_ended |= status == STATUS_FATAL && error.kind == ERROR_USAGE;
    return status == STATUS_OK ? status : fail(run, status, &error);
}

static enum status append(void *context, size_t dataset, uint64_t rows)
{
    const struct dry_run *run = context;
    say(run, INDENT, "%s:append of %s %s", run->plan->script->datasets[dataset].name,
        UNITS_COUNT(rows), units_plural(rows, "row", "rows"));
    say(run, INDENT_OF_ANSWERS, "not run: an append is committed at once");
    return STATUS_OK;
}

static enum status count_rows(void *context, size_t dataset, uint64_t *rows)
{
    struct dry_run *run = context;
    const char *name = run->plan->script->datasets[dataset].name;
    struct error error = {.kind = ERROR_NONE};
    struct buffer sql = {0};
    ask_write(&sql, ask_templates(&run->connection)->count, &run->connection, name, NULL, 0);
    if (buffer_failed(&sql)) {
        error_set(&error, ERROR_MEMORY, 0, NULL, "out of memory for the count");
        return fail(run, STATUS_FATAL, &error);
    }
    const struct statement statement = {.sql = sql.bytes};
    say(run, INDENT, "%s:count: %s", name, statement.sql);
    const int64_t start_ns = mono_now_ns();
    const enum status status = ask_count(run->plan->adapter, run->conn, &statement, rows, &error);
    buffer_fini(&sql);
    if (status != STATUS_OK) {
        return fail(run, status, &error);
    }
    say(run, INDENT_OF_ANSWERS, "%s %s in %s", UNITS_COUNT(*rows),
        units_plural(*rows, "row", "rows"), UNITS_NS(mono_now_ns() - start_ns));
    return STATUS_OK;
}

static enum status think(void *context, int64_t ns)
{
    say(context, INDENT, "think: %s, left out", UNITS_NS(ns));
    return STATUS_OK;
}

static void check(void *context, bool is_good, const char *text)
{
    struct dry_run *run = context;
    run->checks_failed += is_good ? 0 : 1;
    say(run, INDENT, "check%s%s: %s", text[0] == '\0' ? "" : " ", text,
        is_good ? "holds" : "FAILED");
}

static void found(void *context, bool is_found)
{
    say(context, INDENT, "found: %s", is_found ? "yes" : "no");
}

static void measure(void *context, size_t metric, double value)
{
    const struct dry_run *run = context;
    say(context, INDENT, "%s: add %.15g", run->plan->script->metrics[metric].name, value);
}

/* In a dry run everything can be rolled back. */
static bool can_roll_back(void *context)
{
    (void)context;
    return true;
}

static bool is_stopped(void *context)
{
    (void)context;
    return interrupt_requested();
}

/* Shows how a function of the script ended. Returns false if the transaction failed. Also returns
 * false if the dry run must end because the script has a mistake or a signal has arrived:
 * *status is then FATAL, and *error has the reason. */
static bool show_end(const struct dry_run *run, enum script_end end, enum status *status,
                     struct error *error)
{
    switch (end) {
    case SCRIPT_DONE:
        return !run->has_failed;
    case SCRIPT_ROLLBACK:
        say(run, INDENT, "rollback: %s", error->text);
        error_clear(error);
        return true;
    case SCRIPT_FAILED:
        return false;
    case SCRIPT_STOPPED:
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted");
        break;
    case SCRIPT_WRONG:
        break;
    }
    *status = STATUS_FATAL;
    return false;
}

/* Runs one transaction and rolls it back. Any status other than OK ends the dry run. */
static enum status run_transaction(struct dry_run *run, size_t number, struct error *error)
{
    const struct adapter *adapter = run->plan->adapter;
    const struct script_transaction *kind = &run->plan->script->transactions[number];
    const struct transaction transaction = {.isolation = kind->isolation, .writes = true};
    struct error undone = {.kind = ERROR_NONE};
    run->has_failed = run->has_ended = false;
    run->status = STATUS_OK;
    run->statements = 0;
    say(run, 0, "transaction '%s'%s%s%s", kind->name, kind->isolation == NULL ? "" : ", isolation ",
        kind->isolation == NULL ? "" : kind->isolation,
        kind->is_autocommit ? "; in a real run each statement is committed by itself" : "");
    enum status status = adapter->begin(run->conn, &transaction, error);
    if (status != STATUS_OK) {
        return status;
    }
    bool is_good = show_end(run, script_connected(run->state, error), &status, error);
    if (is_good) {
        is_good = show_end(run, script_try(run->state, number, 0, error), &status, error);
        script_transaction_ended(run->state);
    }
    run->failed += is_good ? 0 : 1;
    if (run->status == STATUS_LOST) {
        error_set(error, ERROR_CONNECTION, 0, NULL,
                  "the connection was lost during the last statement shown");
        return STATUS_LOST;
    }
    const enum status undo = adapter->rollback(run->conn, &undone);
    if (undo != STATUS_OK) {
        *error = undone;
        return undo;
    }
    say(run, INDENT, "%s, %s", is_good ? "ended" : "FAILED",
        run->has_ended
            ? "BUT a statement ended the transaction: changes before that statement may stay"
            : "rolled back");
    return status;
}

/* A table whose storage engine cannot roll back. */
struct lasting_table {
    const struct dry_run *run;
    char name[ROW_NAME_BYTES];
    char engine[ROW_TYPE_NAME_BYTES];
};

static bool has_name(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strcasestr(at, name)) != NULL; at++) {
        if ((at == text || !is_in_name(at[-1])) && !is_in_name(at[length])) {
            return true;
        }
    }
    return false;
}

/* Returns whether a statement of the script might write to the table. A statement that only reads
 * does not write. Any other statement might write to the table through a view or a trigger. If the
 * table is in another database, only a statement that contains the table's name might write to
 * it. */
static bool may_write(const struct dry_run *run, const char *name, bool is_here)
{
    static const char *const reads[] = {"select", "values", "show", "table", NULL};
    for (size_t i = 0; i < run->plan->script->statement_count; i++) {
        const char *sql = script_state_statement(run->state, i)->sql;
        if (!begins_with(sql + strspn(sql, " \t\r\n("), reads) &&
            (is_here || has_name(sql, name))) {
            return true;
        }
    }
    return false;
}

/* For answer.take: stores the first table that the script might write to. */
static bool take_lasting(void *context, const struct cell *cells, size_t count)
{
    struct lasting_table *lasting = context;
    char name[ROW_NAME_BYTES];
    ask_text(&cells[0], name, sizeof name);
    if (count == 3 && may_write(lasting->run, name, ask_number(&cells[2]) == 1)) {
        memcpy(lasting->name, name, sizeof lasting->name);
        ask_text(&cells[1], lasting->engine, sizeof lasting->engine);
        return false;
    }
    return true;
}

/* Refuses a script that may write to a table whose storage engine cannot roll back. */
static enum status refuse_lasting(const struct dry_run *run, struct error *error)
{
    struct lasting_table lasting = {.run = run};
    struct answer answer = {.take = take_lasting, .context = &lasting};
    if (run->connection.lasting_tables == NULL) {
        return STATUS_OK;
    }
    enum status status = ask_rows(run->plan->adapter, run->conn, run->connection.lasting_tables,
                                  NULL, &answer, error);
    if (status == STATUS_OK && lasting.name[0] != '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "the script may write to table '%.60s', whose engine %.30s cannot roll back: "
                  "a dry run needs a database without such tables",
                  lasting.name, lasting.engine);
        status = STATUS_FATAL;
    }
    return status;
}

/* Asks the server for its database and version. */
static void inspect(struct dry_run *run)
{
    const struct adapter *adapter = run->plan->adapter;
    target_fill_connection(run->plan, &run->connection);
    if (adapter->inspect != NULL) {
        adapter->inspect(adapter, run->conn, &run->connection);
    }
}

/* Prepares the statements before the first transaction, as a run does, because a statement that the
 * server refuses inside a transaction would end the transaction. A statement that the server
 * refuses now, for example because a temporary table does not exist yet, is prepared when it is
 * run. */
static enum status prepare_statements(struct dry_run *run, struct error *error)
{
    const struct adapter *adapter = run->plan->adapter;
    const size_t count = run->plan->script->statement_count;
    struct server_limits limits = {.count = 0};
    enum status status = STATUS_OK;
    run->prepared_statements = calloc(count + 1, sizeof *run->prepared_statements);
    if (run->prepared_statements == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the statements of the script");
        return STATUS_FATAL;
    }
    /* do not prepare statements if a connection pooler would share them among connections */
    if (adapter->server_limits != NULL) {
        status = adapter->server_limits(adapter, run->conn, &limits, error);
    }
    for (size_t i = 0; i < count && status != STATUS_LOST; i++) {
        struct statement *statement = &run->prepared_statements[i];
        *statement = *script_state_statement(run->state, i);
        /* prepare every statement, because the database refuses to prepare a text with two
         * statements, and why_lasting may have missed the second one */
        statement->is_prepared = true;
        statement->slot = (unsigned)i + 1;
        error_clear(error);
        status = !limits.is_pooled && why_lasting(run, statement->sql) == NULL
                     ? prepared_make(&run->prepared, statement, error)
                     : STATUS_OK;
    }
    if (status != STATUS_LOST) {
        error_clear(error);
        status = STATUS_OK;
    }
    return status;
}

static enum status run_all(struct task *task, struct adapter_conn *conn, struct error *error)
{
    struct dry_run *run = task->context;
    const struct script *script = run->plan->script;
    run->conn = conn;
    run->prepared = (struct prepared_set){.adapter = run->plan->adapter, .conn = conn};
    inspect(run);
    const struct script_host host = {.context = run,
                                     .run = run_statement,
                                     .append = append,
                                     .count = count_rows,
                                     .think = think,
                                     .check = check,
                                     .found = found,
                                     .measure = measure,
                                     .can_roll_back = can_roll_back,
                                     .is_stopped = is_stopped};
    const struct script_place place = {.sessions = 1,
                                       .seed = run->plan->facts->seed,
                                       .dialect = run->connection.dialect,
                                       .host = &host};
    enum status status = script_state_create(&run->state, script, &place, error);
    if (status == STATUS_OK) {
        status = refuse_lasting(run, error);
    }
    if (status == STATUS_OK) {
        status = prepare_statements(run, error);
    }
    for (size_t i = 0; i < script->transaction_count && status == STATUS_OK; i++) {
        status = run_transaction(run, i, error);
    }
    prepared_end(&run->prepared);
    free(run->prepared_statements);
    script_state_destroy(run->state);
    return status;
}

enum exit_code dry_run(const struct plan *plan, struct buffer *text, struct error *error)
{
    struct dry_run run = {.plan = plan, .text = text};
    struct task task = {.plan = plan,
                        .open = TASK_PATIENTLY,
                        .creates_nothing = true,
                        .work = run_all,
                        .context = &run,
                        .what = "the dry run",
                        .notice = "the dry run is still running"};
    if ((plan->adapter->flags & ADAPTER_FILE) != 0 && access(plan->target.path, F_OK) != 0 &&
        errno == ENOENT) {
        return usage_refuse(error, "%.160s: %s: append prepare creates the database and its tables",
                            plan->target.path, strerror(errno));
    }
    const enum exit_code code =
        task_conclude(task_run(&task, error), "the dry run had ended", error);
    if (code != EXIT_CODE_OK || run.failed + run.checks_failed == 0) {
        return code;
    }
    error_set(error, ERROR_DATA, 0, NULL, "%u of %zu transactions failed, and %u %s failed",
              run.failed, plan->script->transaction_count, run.checks_failed,
              units_plural(run.checks_failed, "check", "checks"));
    return EXIT_CODE_SHORT;
}
