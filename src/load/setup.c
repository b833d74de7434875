#include "load/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "base/url.h"
#include "load/datasets.h"
#include "load/generator.h"
#include "load/line.h"
#include "load/session.h"
#include "load/table_mark.h"

#define TICK_NS (50 * MONO_NS_PER_MS)
#define GRACE_NS (3 * MONO_NS_PER_S)
#define RANK_GRACE_NS (300 * MONO_NS_PER_MS) /* mpirun ends what is left after a second */
#define NOTICE_NS (2 * MONO_NS_PER_S)

/* A server that was full may need a moment to notice that its sessions have left. */
#define ROOM_LIMIT_NS (2 * MONO_NS_PER_S)
#define ROOM_PAUSE_NS (50 * MONO_NS_PER_MS)

/* How long a server that did not let sessions finish may take for the count. */
#define HASTY_LIMIT_NS (10 * MONO_NS_PER_S)

/* How often and how far apart a server is asked for its counts of I/O. */
#define IO_COUNT_PAUSE_NS (250 * MONO_NS_PER_MS)

enum {
    IO_COUNTS_MAX = 8,
    LATE_CONNECT_S = 3,
    SCRIPT_NAME_SHOWN = 60,
    TAGS = INT16_MAX + 1
};

enum probe_open {
    PROBE_FIRST,     /* nobody has connected yet: where another database than the target's answers,
                        the error says which */
    PROBE_PATIENTLY, /* the same, and waits for the server as --wait allows */
    PROBE_AGAIN,     /* the sessions have left: a server that was full may need a moment; with a
                        signal, only if the server is quick */
    PROBE_ONCE,      /* the same without reconnecting, even with --on-drop reconnect: the host may
                        be down */
};

/* Work on a connection of its own. */
struct probe {
    const struct plan *plan;
    enum probe_open open;
    bool makes_nothing; /* no database is made that is not there */
    unsigned host;      /* of several: tried first; out: the one that answered */
    bool is_of_host;    /* no other will do */

    /* On the probe's thread; `connection` is good. */
    enum status (*work)(struct probe *probe, struct adapter_conn *connection, struct error *error);
    const struct setup *setup;
    void *context;

    const char *what;   /* named when it is given up: "the count" */
    const char *notice; /* printed on stderr after 2 s, unless --quiet */
    int64_t limit_ns;   /* for each answer; 0 = any time */
    bool is_hasty;      /* the limit is not that of --timeout */

    /* Of probe_run. */
    atomic_bool has_answered;    /* since the main thread last looked */
    const struct adapter *other; /* that the server speaks the protocol of; NULL: not known */
    enum status status;
    struct error error;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t ended;
    bool has_ended;
    struct line line; /* has a lock of its own */
};

/* Called by the work, cheap: a part of a long answer has come, the limit counts from now. */
static void note_answer(struct probe *probe)
{
    atomic_store_explicit(&probe->has_answered, true, memory_order_relaxed);
}

/* Once in a program: a server may hold it against the client that it is asked in vain. */
static bool look_for_another(void *context)
{
    static atomic_flag was_asked = ATOMIC_FLAG_INIT;
    struct probe *probe = context;
    if (!atomic_flag_test_and_set(&was_asked)) {
        probe->other = target_find_other(probe->plan);
    }
    return probe->other != NULL;
}

/* Connects to the host of the probe; of several that will do, to the first that answers. */
static enum status open_any(struct probe *probe, struct target *target,
                            struct adapter_conn **connection, struct error *error)
{
    const unsigned hosts = (unsigned)probe->plan->host_count;
    const unsigned tries = hosts == 0 || probe->is_of_host ? 1 : hosts;
    enum status status;
    unsigned tried = 0;
    do {
        error_clear(error);
        const struct target there = target_at(probe->plan, probe->host);
        target->host = there.host;
        target->port = there.port;
        status = probe->plan->adapter->open(probe->plan->adapter, target, connection, error);
        if (status == STATUS_OK || error->kind == ERROR_CANCELLED) {
            return status;
        }
        if (++tried == tries) {
            break;
        }
        probe->host = (probe->host + 1) % hosts;
    } while (true);
    if (tries > 1 && error->kind != ERROR_USAGE) {
        char last[ERROR_TEXT_BYTES];
        memcpy(last, error->text, sizeof last);
        snprintf(error->text, sizeof error->text,
                 "no host of %u lets a session in; the last: %.180s", tries, last);
    }
    return status;
}

static enum status open_connection(struct probe *probe, struct adapter_conn **connection,
                                   struct error *error)
{
    const struct adapter *adapter = probe->plan->adapter;
    const bool is_first = probe->open == PROBE_FIRST || probe->open == PROBE_PATIENTLY;
    const int64_t room_ns = mono_now_ns() + ROOM_LIMIT_NS;
    const bool may_restart =
        probe->open == PROBE_AGAIN && probe->plan->drop_policy == DROP_RECONNECT;
    uint64_t tries = 0; /* as sessions make them: the server may be starting again */
    const int64_t timeout_s =
        (probe->plan->timeout_ns + MONO_NS_PER_S - 1) / MONO_NS_PER_S; /* 0: none */
    struct target target = probe->plan->target;
    target.makes_nothing = probe->makes_nothing;
    if (is_first && target.host != NULL && adapter->recognise != NULL) {
        target.is_another = look_for_another;
        target.silence_context = probe;
    }
    if (!is_first && interrupt_requested()) {
        target.is_cancelled = NULL;
        target.connect_timeout_s = LATE_CONNECT_S;
    }
    if (!is_first && timeout_s > 0) {
        target.connect_timeout_s = MIN(target.connect_timeout_s, (unsigned)timeout_s);
    }
    for (;;) {
        const enum status status = open_any(probe, &target, connection, error);
        const bool is_odd = status != STATUS_OK &&
                            (error->kind == ERROR_TIMEOUT || error->kind == ERROR_UNSUPPORTED);
        if (target.is_another != NULL &&
            (probe->other != NULL || (is_odd && look_for_another(probe)))) {
            error_clear(error);
            error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                      "%.100s speaks the protocol of %s, not of %s: write %s%s%s", target.host,
                      probe->other->name, adapter->name, target.url == NULL ? "--adapter " : "",
                      probe->other->name, target.url == NULL ? "" : "://...");
            return STATUS_FATAL;
        }
        if (!is_first && error->kind == ERROR_LIMIT && mono_now_ns() < room_ns) {
            mono_sleep(ROOM_PAUSE_NS);
        } else if (may_restart && status == STATUS_LOST && !interrupt_requested() &&
                   tries < probe->plan->reconnect_tries) {
            mono_sleep(reconnect_pause_ns(probe->plan->seed, 0, (unsigned)tries, tries));
            tries++;
        } else if (status != STATUS_LOST || probe->open != PROBE_PATIENTLY ||
                   !target_wait(probe->plan, error)) {
            return status;
        }
        adapter->close(*connection);
        *connection = NULL;
        error_clear(error);
    }
}

/* Adds to the words of a server that does not know the user, the password or the database: which
 * server that was, as whom, and what to do. */
static void describe_refusal(const struct plan *plan, struct error *error)
{
    struct connection_info named = {.host = ""};
    const bool is_user = error->kind == ERROR_AUTH;
    if ((!is_user && error->kind != ERROR_NOT_FOUND) || plan->host_count > 0 ||
        (plan->adapter->flags & (ADAPTER_FILE | ADAPTER_STRING | ADAPTER_EMBEDDED)) != 0) {
        return;
    }
    target_fill_connection(plan, &named);
    char text[ERROR_TEXT_BYTES], user[80] = "";
    const bool is_advised =
        strstr(error->text, "--") != NULL || strstr(error->text, "password") != NULL;
    const char *const advice = is_advised ? ""
                               : is_user
                                   ? "; name another with --user, or in the URL: USER@HOST"
                                   : "; name another with --database, or in the URL: /DATABASE";
    if (named.user[0] != '\0') {
        snprintf(user, sizeof user, ", user %.60s", named.user);
    }
    /* words that would be cut stay as they are */
    const int length = snprintf(text, sizeof text, "%s at %.60s:%u%s: %s%s", plan->adapter->name,
                                named.host, (unsigned)named.port, user, error->text, advice);
    if (length < (int)sizeof text) {
        memcpy(error->text, text, sizeof text);
    }
}

/* A server that cuts the answers of new sessions would show a table with fewer columns and rows. */
static enum status ask_for_all(const struct probe *probe, struct adapter_conn *connection,
                               struct error *error)
{
    const struct adapter *adapter = probe->plan->adapter;
    struct connection_info info = {.ask_for_all = NULL};
    target_fill_connection(probe->plan, &info);
    if (adapter->inspect != NULL) {
        adapter->inspect(adapter, connection, &info);
    }
    if (info.ask_for_all == NULL ||
        adapter->execute(connection, info.ask_for_all, error) != STATUS_LOST) {
        error_clear(error); /* a server without the setting cuts nothing */
        return STATUS_OK;
    }
    return STATUS_LOST;
}

static void *probe_thread(void *argument)
{
    struct probe *probe = argument;
    struct adapter_conn *connection = NULL;
    probe->status = open_connection(probe, &connection, &probe->error);
    if (probe->status != STATUS_OK &&
        (probe->open == PROBE_FIRST || probe->open == PROBE_PATIENTLY)) {
        describe_refusal(probe->plan, &probe->error);
    }
    if (probe->status == STATUS_OK) {
        line_show(&probe->line, connection);
        line_begin_call(&probe->line);
        probe->status = ask_for_all(probe, connection, &probe->error);
    }
    if (probe->status == STATUS_OK) {
        probe->status = probe->work(probe, connection, &probe->error);
    }
    line_end_call(&probe->line);
    line_close(&probe->line, &connection);
    pthread_mutex_lock(&probe->lock);
    probe->has_ended = true;
    pthread_cond_signal(&probe->ended);
    pthread_mutex_unlock(&probe->lock);
    return NULL;
}

/* Runs it and waits. Else than OK: *error says why the connection or the work failed, that there
 * was no thread, or that append gave up waiting for `what`. */
static enum status probe_run(struct probe *probe, struct error *error)
{
    const int64_t start_ns = mono_now_ns();
    int64_t interrupt_ns = INT64_MAX; /* when it is interrupted next */
    bool is_told = probe->plan->is_quiet;
    bool was_interrupted = false; /* what it came to is this side's doing */
    bool was_overdue = false;     /* it was interrupted at the limit */
    line_init(&probe->line, probe->plan->adapter, probe->limit_ns);
    pthread_mutex_init(&probe->lock, NULL);
    thread_cond_init(&probe->ended);
    pthread_t thread;
    const int rc = thread_start(&thread, 0, probe_thread, probe);
    if (rc != 0) {
        probe->status = STATUS_FATAL;
        error_set(&probe->error, ERROR_SYSTEM, rc, NULL,
                  "client limit: no thread could be started: %s", strerror(rc));
    }
    pthread_mutex_lock(&probe->lock);
    while (rc == 0 && !probe->has_ended) {
        const struct timespec tick = mono_timespec(mono_now_ns() + TICK_NS);
        pthread_cond_timedwait(&probe->ended, &probe->lock, &tick);
        plan_wait(probe->plan);
        const int64_t now_ns = mono_now_ns();
        if (probe->has_ended) {
            break;
        }
        if (!is_told && now_ns - start_ns > NOTICE_NS) {
            notice_print("%s ...", probe->notice);
            is_told = true;
        }
        if (interrupt_ns == INT64_MAX && interrupt_requested()) {
            interrupt_ns = now_ns + (probe->plan->on_wait == NULL ? GRACE_NS : RANK_GRACE_NS);
        }
        if (atomic_exchange_explicit(&probe->has_answered, false, memory_order_relaxed)) {
            line_begin_call(&probe->line);
        }
        if (line_cut_overdue(&probe->line, now_ns, NULL)) {
            was_interrupted = was_overdue = true;
        } else if (now_ns >= interrupt_ns && line_cut(&probe->line, NULL, NULL)) {
            was_interrupted = true;
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
    pthread_mutex_unlock(&probe->lock);
    if (rc == 0) {
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&probe->ended);
    pthread_mutex_destroy(&probe->lock);
    line_fini(&probe->line);
    if (probe->status == STATUS_OK) {
        return STATUS_OK;
    }
    *error = probe->error;
    if (was_interrupted) {
        error_clear(error);
        error_set(error, was_overdue ? ERROR_TIMEOUT : ERROR_CANCELLED, 0, NULL,
                  "append gave up waiting for %s%s%s%s", probe->what,
                  was_overdue ? ": no answer in " : "",
                  was_overdue ? UNITS_NS(probe->limit_ns) : "",
                  was_overdue && !probe->is_hasty ? " (--timeout)" : "");
    }
    return probe->status;
}

/* The exit code of what could not begin for this reason. */
static enum exit_code exit_code_of(const struct error *error)
{
    const enum error_kind kind = error->kind;
    const bool is_usage = kind == ERROR_USAGE || kind == ERROR_UNSUPPORTED;
    return kind == ERROR_MEMORY || kind == ERROR_SYSTEM ? EXIT_CODE_CLIENT_LIMIT
           : is_usage                                   ? EXIT_CODE_USAGE
                                                        : EXIT_CODE_SERVER;
}

enum exit_code setup_start_library(struct adapter_library **library, struct plan *plan,
                                   struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    *library = NULL;
    if (adapter->start != NULL &&
        adapter->start(plan->target.client_lib, library, error) != STATUS_OK) {
        return exit_code_of(error);
    }
    plan->target.library = *library;
    return EXIT_CODE_OK;
}

void setup_stop_library(struct adapter_library *library, const struct plan *plan)
{
    if (plan->adapter->stop != NULL) {
        plan->adapter->stop(library);
    }
}

/* What a command comes to whose probe came to `status`. With a signal, be it that the probe was
 * done before: EXIT_CODE_INTERRUPTED, and *error says "interrupted before …". */
static enum exit_code conclude(enum status status, const char *before, struct error *error)
{
    if (interrupt_requested()) {
        error_clear(error);
        error_set(error, ERROR_SYSTEM, 0, NULL, "interrupted before %s", before);
        return EXIT_CODE_INTERRUPTED;
    }
    return status == STATUS_OK ? EXIT_CODE_OK : exit_code_of(error);
}

/* Runs and frees a statement. */
static enum status execute(struct adapter_conn *conn, const struct plan *plan, struct buffer *sql,
                           struct error *error)
{
    enum status status = STATUS_FATAL;
    if (buffer_failed(sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = plan->adapter->execute(conn, buffer_text(sql), error);
    }
    buffer_fini(sql);
    return status;
}

static enum status drop_table(struct adapter_conn *conn, const struct plan *plan, const char *name,
                              const struct connection_info *connection, struct error *error)
{
    struct buffer sql = {0};
    ask_write(&sql, ask_words(connection)->drop, connection, name, NULL, 0);
    return execute(conn, plan, &sql, error);
}

/* The engine that is asked for is the one of this name; behind its own there may be more. */
static bool is_engine(const char *asked, const char *name)
{
    const size_t length = strlen(name);
    return strncasecmp(asked, name, length) == 0 &&
           (asked[length] == '\0' || strchr(" (", asked[length]) != NULL);
}

/* Makes the table, with the engine asked for, if one is; under the name `trial`, if that is given.
 */
static enum status create_table(struct adapter_conn *conn, const struct plan *plan, const char *ddl,
                                const char *trial, struct error *error)
{
    struct buffer sql = {0};
    const char *name = trial == NULL ? NULL : strstr(ddl, PLAN_DEFAULT_TABLE);
    if (name != NULL) {
        buffer_add(&sql, ddl, (size_t)(name - ddl));
        buffer_add_text(&sql, trial);
        ddl = name + strlen(PLAN_DEFAULT_TABLE);
    }
    ask_write_engine(&sql, ddl, plan->adapter->engine_clause, plan->engine);
    return execute(conn, plan, &sql, error);
}

/* The mark of the run's own table. Its rows are not loaded. */
static struct table_mark_place mark_place(struct adapter_conn *conn, const struct plan *plan,
                                          const struct connection_info *connection)
{
    return (struct table_mark_place){.adapter = plan->adapter,
                                     .conn = conn,
                                     .connection = connection,
                                     .table_name = plan->table_name,
                                     .what = "rows of append runs",
                                     .rows = ""};
}

/* Whether the table that is there may be dropped: append made it, or --recreate names it. `table`
 * is described. */
static enum status check_drop(struct adapter_conn *conn, const struct plan *plan,
                              const struct connection_info *connection, const struct table *table,
                              struct error *error)
{
    const struct table_mark_place place = mark_place(conn, plan, connection);
    struct table_mark mark;
    const enum status status = table_mark_read(&place, &mark, error);
    if (status != STATUS_OK || table_mark_allows_drop(&mark, plan, plan->table_name)) {
        return status;
    }
    struct buffer sql = {0};
    uint64_t rows = 0;
    ask_write(&sql, ask_words(connection)->count, connection, plan->table_name, NULL, 0);
    const struct statement count = {.sql = buffer_text(&sql)};
    struct error uncounted = {.kind = ERROR_NONE};
    const bool is_counted = !buffer_failed(&sql) &&
                            ask_count(plan->adapter, conn, &count, &rows, &uncounted) == STATUS_OK;
    char remedy[ROW_NAME_BYTES];
    snprintf(remedy, sizeof remedy, "--recreate=%.80s drops it all the same", plan->table_name);
    buffer_fini(&sql);
    if (is_counted && rows == 0 && (table->is_missing || connection->facts.has_no_columns)) {
        return STATUS_OK; /* without rows there is no such table */
    }
    return table_mark_refuse(&mark, table, plan->table_name, is_counted ? (int64_t)rows : -1,
                             remedy, error);
}

/* Leaves the table described in *table, made if there was none and there is DDL for it: then
 * *is_made. */
static enum status find_or_create(struct adapter_conn *conn, const struct plan *plan,
                                  const struct connection_info *connection, struct table *table,
                                  bool *is_made, struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    const char *const odd = connection->not_in_names;
    const char *const found = odd == NULL ? NULL : strpbrk(plan->table_name, odd);
    if (found != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--table '%.100s': %s has no names with a '%c'",
                  plan->table_name, connection->dialect, *found);
        return STATUS_FATAL;
    }
    const bool has_own_ddl = plan->ddl != NULL || !plan->is_default_table;
    /* NULL: there is no statement that makes the table, so it has to exist */
    const char *ddl = has_own_ddl ? plan->ddl : schema_find("syslog", connection->dialect);
    if (plan->is_recreate && ddl == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--recreate needs --schema-file FILE here: append has no statement to create "
                  "'%s' in %s",
                  plan->table_name, connection->dialect);
        return STATUS_FATAL;
    }
    enum status status = adapter->describe(adapter, conn, plan->table_name, table, error);
    bool is_missing = status != STATUS_OK && error->kind == ERROR_NOT_FOUND;
    const bool is_dropped = plan->is_recreate && status == STATUS_OK;
    if (is_dropped) {
        status = check_drop(conn, plan, connection, table, error);
        table_fini(table);
    }
    if (is_dropped && status == STATUS_OK && plan->engine != NULL &&
        strstr(ddl, PLAN_DEFAULT_TABLE) != NULL) {
        /* An engine that the server does not have, or that cannot hold these columns, is to be
         * known before the table that is there has been dropped. */
        char trial[48];
        snprintf(trial, sizeof trial, "append_trial_%ld", (long)getpid());
        status = create_table(conn, plan, ddl, trial, error);
        if (status == STATUS_OK) {
            status = drop_table(conn, plan, trial, connection, error);
        }
    }
    if (is_dropped) {
        status = status == STATUS_OK ? drop_table(conn, plan, plan->table_name, connection, error)
                                     : status;
        if (status != STATUS_OK) {
            return status;
        }
        status = adapter->describe(adapter, conn, plan->table_name, table, error);
        is_missing = status != STATUS_OK && error->kind == ERROR_NOT_FOUND;
    }
    if (is_missing && status == STATUS_REJECTED && ddl != NULL) {
        error_clear(error);
        status = create_table(conn, plan, ddl, NULL, error);
        status = status == STATUS_OK
                     ? adapter->describe(adapter, conn, plan->table_name, table, error)
                     : status;
        *is_made = status == STATUS_OK;
        if (*is_made && table->column_count > 0) {
            const struct table_mark_place place = mark_place(conn, plan, connection);
            status = table_mark_write(&place, table->columns[0].name, true, false, error);
        }
        return status;
    }
    const char *point = strchr(plan->table_name, '.');
    if (is_missing && point != NULL) {
        /* a name with a point in it is a table's, unless its parts are meant */
        const int length = (int)(point - plan->table_name);
        error_clear(error);
        const char *part = strcmp(connection->dialect, "postgresql") == 0 ? "schema" : "database";
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "no table is named \"%.70s\": if %.*s is a %s, write --%s %.*s --table %.40s",
                  plan->table_name, length, plan->table_name, part, part, length, plan->table_name,
                  point + 1);
    }
    return status;
}

/* Every column that is named is one of the table, and can be left out or written. */
static enum status check_columns(const struct plan *plan, const struct table *table,
                                 struct error *error)
{
    const struct {
        const char *option;
        const char *list;
        bool is_written;
    } lists[] = {{"skip-columns", plan->skip_columns, false}, {"values", plan->values, true}};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const char *list = lists[i].list;
        struct column_item item, first;
        while (column_item_next(&list, &item)) {
            const struct column *column = column_item_find(&item, table);
            const char *fault = NULL;
            if (column == NULL) {
                fault = "is not there";
            } else if (column_item_of(lists[i].list, table, column, &first) &&
                       first.name.bytes != item.name.bytes) {
                fault = "is named twice";
            } else if (!lists[i].is_written && !column->is_generated && !column->is_nullable &&
                       !column->has_default) {
                fault = "cannot be left out: it is NOT NULL and has no default";
            } else if (lists[i].is_written && column->is_generated) {
                fault = "cannot be given values: the database computes it";
            } else if (lists[i].is_written &&
                       column_item_of(plan->skip_columns, table, column, &first)) {
                fault = "is left out by --skip-columns";
            }
            if (fault != NULL) {
                error_set(error, ERROR_USAGE, 0, NULL, "--%s: column '%.*s' of table '%.80s' %s",
                          lists[i].option, item.name.length > 80 ? 80 : (int)item.name.length,
                          item.name.bytes, table->name, fault);
                return STATUS_REJECTED;
            }
        }
    }
    return STATUS_OK;
}

/* Leaves the columns that make the statement: not those that the database computes, or that are to
 * be left out. */
static enum status keep_writable(const struct plan *plan, struct table *table, struct error *error)
{
    const enum status status = check_columns(plan, table, error);
    struct column_item item;
    for (size_t c = 0; status == STATUS_OK && c < table->column_count; c++) {
        struct column *column = &table->columns[c];
        const bool has_values = column_item_of(plan->values, table, column, &item);
        /* a unique column with a default is a sequence: the database numbers it */
        const bool is_sequence = column->has_default && column->is_unique && !has_values;
        if (is_sequence || column_item_of(plan->skip_columns, table, column, &item)) {
            column->is_generated = true;
        } else if (column->type == COLUMN_UNSUPPORTED && has_values) {
            column->type = COLUMN_TEXT; /* the labels of an enum, for one: the server judges them */
        }
    }
    size_t kept = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        if (!table->columns[c].is_generated) {
            table->columns[kept++] = table->columns[c];
        }
    }
    table->column_count = kept;
    if (status == STATUS_OK && kept == 0) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "table '%s' has no column to write",
                  table->name);
        return STATUS_REJECTED;
    }
    return status;
}

/* What is known of the connection, which may be NULL. */
static void inspect(struct setup *setup, struct adapter_conn *conn, const struct plan *plan)
{
    struct connection_info *connection = &setup->connection;
    target_fill_connection(plan, connection);
    if (conn != NULL && plan->adapter->inspect != NULL) {
        plan->adapter->inspect(plan->adapter, conn, connection);
    }
    setup->nothing.sql = ask_words(connection)->nothing;
    /* a container has an address of its own, which is none of this machine's */
    const char *there = connection->address[0] != '\0' ? connection->address : connection->host;
    setup->is_remote = !connection->is_embedded && plan->server_pid == 0 &&
                       plan->server_cgroup == NULL && !address_is_local(there);
    if (address_is_local(there) != address_is_local(connection->host) &&
        strstr(connection->note, there) == NULL) {
        const size_t length = strlen(connection->note);
        snprintf(connection->note + length, sizeof connection->note - length,
                 "%sthe connection goes to %s, not to %.60s", length > 0 ? "; " : "", there,
                 connection->host);
    }
}

static bool take_setting(void *context, const struct cell *cells, size_t count)
{
    struct server_settings *settings = context;
    if (count < 2 || settings->count == SERVER_SETTINGS_MAX) {
        return false;
    }
    struct server_setting *entry = &settings->entries[settings->count++];
    ask_text(&cells[0], entry->name, sizeof entry->name);
    ask_text(&cells[1], entry->value, sizeof entry->value);
    return true;
}

/* Adds what is told of a table: of several tables one setting. */
static bool take_table_setting(void *context, const struct cell *cells, size_t count)
{
    struct server_settings *settings = context;
    struct server_setting told = {.name = "", .value = ""}, *entry = settings->entries;
    ask_text(&cells[0], told.name, sizeof told.name);
    ask_text(&cells[count > 1 ? 1 : 0], told.value, sizeof told.value);
    const struct server_setting *const end = entry + settings->count;
    while (entry < end && strcmp(entry->name, told.name) != 0) {
        entry++;
    }
    if (entry < end) {
        const size_t length = strlen(entry->value);
        snprintf(entry->value + length, sizeof entry->value - length, ", %s", told.value);
    } else if (settings->count < SERVER_SETTINGS_MAX) {
        settings->entries[settings->count++] = told;
    }
    return false;
}

/* The tables of the run: its own, or those of the script. */
static size_t count_tables(const struct setup *setup)
{
    return setup->dataset_count > 0 ? setup->dataset_count : 1;
}

/* Asks for the settings that this session has, and for those of the run's tables. A server that
 * does not tell is loaded all the same. */
static void ask_settings(struct probe *probe, const struct setup *setup, struct adapter_conn *conn,
                         struct server_settings *settings)
{
    const struct plan *plan = probe->plan;
    const struct settings_words *words = setup->connection.settings;
    enum status status = STATUS_REJECTED;
    for (size_t i = 0; words != NULL && words->queries[i] != NULL && status == STATUS_REJECTED;
         i++) {
        struct error error = {.kind = ERROR_NONE};
        struct answer answer = {.take = take_setting, .context = settings};
        settings->count = 0;
        status = ask_rows(plan->adapter, conn, words->queries[i], NULL, &answer, &error);
        note_answer(probe);
    }
    if (status != STATUS_OK) {
        settings->count = 0;
        return;
    }
    for (size_t i = 0; words->of_table != NULL && i < count_tables(setup); i++) {
        const char *name =
            setup->dataset_count > 0 ? plan->script->datasets[i].name : plan->table_name;
        for (const char *const *query = words->of_table; *query != NULL; query++) {
            struct answer answer = {.take = take_table_setting, .context = settings};
            ask_rows(plan->adapter, conn, *query, name, &answer,
                     &(struct error){.kind = ERROR_NONE});
            note_answer(probe);
        }
    }
}

static enum status ask_limits(struct setup *setup, struct adapter_conn *conn,
                              const struct adapter *adapter, struct error *error)
{
    enum status status = STATUS_OK;
    if (adapter->server_limits != NULL) {
        status = adapter->server_limits(adapter, conn, &setup->server, error);
    }
    if (status != STATUS_OK) {
        memset(&setup->server, 0, sizeof setup->server);
    }
    return status;
}

/* The first dataset of the script without columns, from number `first`; NULL: there is none. */
static const struct script_dataset *find_named(const struct script *script, size_t first)
{
    for (size_t i = first; script != NULL && i < script->dataset_count; i++) {
        if (!script->datasets[i].is_declared) {
            return &script->datasets[i];
        }
    }
    return NULL;
}

/* Of a path that is too long for a message, what tells the file. */
static const char *end_of_name(const struct script *script)
{
    const size_t length = strlen(script->name);
    return script->name + (length > SCRIPT_NAME_SHOWN ? length - SCRIPT_NAME_SHOWN : 0);
}

enum exit_code setup_name_table(struct plan *plan, struct error *error)
{
    const struct script *const script = plan->script;
    const struct script_dataset *const named = find_named(script, 0);
    if (named == NULL) {
        return EXIT_CODE_OK;
    }
    const struct script_dataset *other = find_named(script, (size_t)(named - script->datasets) + 1);
    if (other != NULL) {
        return usage_refuse(error,
                            "%s:%d: dataset '%.60s' has no columns, as '%.60s': no more than "
                            "one can be without",
                            end_of_name(script), other->line, other->name, named->name);
    }
    plan->table_name = named->name;
    plan->is_default_table = strcmp(named->name, PLAN_DEFAULT_TABLE) == 0;
    if (plan->owned_path != NULL && !plan->is_default_table) {
        return usage_refuse(error,
                            "%s:%d: dataset '%.60s' has no columns, so its table has to be "
                            "there: name a TARGET that has it",
                            end_of_name(script), named->line, named->name);
    }
    return EXIT_CODE_OK;
}

static void note_part(void *context)
{
    note_answer(context);
}

/* Counts the rows of a table, beside the sessions. */
static enum status count_rows(struct probe *probe, const struct setup *setup,
                              struct adapter_conn *conn, const struct statement *count,
                              uint64_t *rows, struct error *error)
{
    const struct ask_wait wait = {.unread = ask_words(&setup->connection)->unread,
                                  .limit_ns = probe->is_hasty ? HASTY_LIMIT_NS : ASK_UNREAD_NS,
                                  .on_answer = note_part,
                                  .context = probe};
    return ask_count_shown(probe->plan->adapter, conn, count, &wait, rows, error);
}

static enum status prepare_table(struct probe *probe, struct setup *setup,
                                 struct adapter_conn *conn, struct error *error)
{
    const struct plan *plan = probe->plan;
    const struct adapter *adapter = plan->adapter;
    struct table *table = &setup->table;
    struct buffer sql = {0};
    enum status status =
        find_or_create(conn, plan, &setup->connection, table, &setup->has_made_table, error);
    const struct script_dataset *const named = find_named(plan->script, 0);
    if (status != STATUS_OK && error->kind == ERROR_NOT_FOUND && named != NULL) {
        const struct error inner = *error;
        snprintf(error->text, sizeof error->text, "%s:%d: dataset '%.40s' has no columns: %.110s",
                 end_of_name(plan->script), named->line, named->name, inner.text);
    }
    inspect(setup, conn, plan); /* it knows more about the server by now */
    if (status == STATUS_OK && plan->engine != NULL && !is_engine(plan->engine, table->engine)) {
        /* it was there before, or the server made it with another engine than asked for */
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "table '%s' has the engine %s, not %s: leave --engine out, or let --recreate drop it",
            table->name, table->engine, plan->engine);
        status = STATUS_FATAL;
    }
    if (status == STATUS_OK) {
        status = keep_writable(plan, table, error);
    }
    if (status == STATUS_OK) {
        ask_write(&sql, ask_words(&setup->connection)->count, &setup->connection, table->name, NULL,
                  0);
        setup->count_sql = sql.bytes;
        /* a pooler may have prepared it in another session */
        setup->count = (struct statement){.sql = setup->count_sql,
                                          .is_prepared = !setup->connection.facts.is_pooled};
    }
    if (buffer_failed(&sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
        status = STATUS_FATAL;
    }
    note_answer(probe);
    if (status == STATUS_OK && (adapter->flags & ADAPTER_DISCARDS) == 0 && !plan->is_follower) {
        const int64_t start_ns = mono_now_ns();
        status = count_rows(probe, setup, conn, &setup->count, &setup->rows_before, error);
        setup->count_ns = mono_now_ns() - start_ns;
        note_answer(probe);
    }
    for (size_t i = 0; i < setup->dataset_count && status == STATUS_OK; i++) {
        if (!plan->script->datasets[i].is_declared) {
            setup->datasets[i].count = setup->count;
            setup->datasets[i].rows_before = setup->rows_before;
        }
    }
    return status;
}

static int64_t measure_storage(const struct setup *setup, const struct plan *plan,
                               const struct result *result);
static void read_settings(const struct setup *setup, const struct plan *plan,
                          const struct result *result, unsigned host,
                          struct server_settings *settings);

/* Work of the probe, and what it leaves for the load. */
struct preparation {
    struct setup *setup;
    struct datasets *datasets;
};

static enum status prepare(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct preparation *preparation = probe->context;
    struct setup *setup = preparation->setup;
    const struct plan *plan = probe->plan;
    const struct adapter *adapter = plan->adapter;
    const struct datasets_place place = {plan, setup, conn, note_part, probe};
    enum status status = STATUS_OK;
    /* what a server does not tell about itself does not keep it from being loaded */
    ask_limits(setup, conn, adapter, &(struct error){.kind = ERROR_NONE});
    note_answer(probe);
    inspect(setup, conn, plan);
    if (plan->script != NULL) {
        status = datasets_examine(&place, &preparation->datasets, error);
        inspect(setup, conn, plan);
    }
    if (status == STATUS_OK && (plan->script == NULL || find_named(plan->script, 0) != NULL)) {
        status = prepare_table(probe, setup, conn, error);
    }
    if (status == STATUS_OK && plan->script != NULL) {
        status = datasets_make(&place, preparation->datasets, error);
        inspect(setup, conn, plan);
    }
    note_answer(probe);
    if (status == STATUS_OK) {
        ask_settings(probe, setup, conn, &setup->settings);
    }
    if (status == STATUS_OK && plan->script == NULL && plan->read_mode == READ_QUERY) {
        /* a query that cannot work is better known now than from every session */
        const struct statement query = {.sql = plan->read_sql};
        status = adapter->run(conn, &query, NULL, &(struct answer){.take = NULL}, error);
    }
    if (status == STATUS_OK) {
        storage_find(&setup->storage, plan, &setup->connection, conn);
        setup->storage.bytes_before =
            storage_read(&setup->storage, plan, conn, &(struct error){.kind = ERROR_NONE});
        note_answer(probe);
    }
    return status;
}

static enum status undo(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct preparation *preparation = probe->context;
    const struct datasets_place place = {probe->plan, preparation->setup, conn, note_part, probe};
    (void)error;
    datasets_undo(&place, preparation->datasets);
    return STATUS_OK;
}

/* Else than OK: *error says what is loaded. */
static enum exit_code load_datasets(struct preparation *preparation, const struct plan *plan,
                                    struct error *error)
{
    const enum status status =
        datasets_load(preparation->datasets, plan, preparation->setup, error);
    if (status == STATUS_OK) {
        return conclude(status, "the first session", error);
    }
    if (interrupt_requested()) {
        return EXIT_CODE_INTERRUPTED;
    }
    if (datasets_are_wrong(preparation->datasets)) {
        struct probe probe = {
            .plan = plan,
            .open = PROBE_AGAIN,
            .work = undo,
            .context = preparation,
            .what = "an answer while tables were dropped",
            .notice = "waiting for the server to drop the tables",
            .limit_ns = plan->timeout_ns,
        };
        probe_run(&probe, &(struct error){.kind = ERROR_NONE});
    }
    return exit_code_of(error);
}

/* Counts each table where the probe is. */
static enum status count_tables_at(struct probe *probe, struct adapter_conn *conn, uint64_t *rows,
                                   struct error *error)
{
    const struct setup *setup = probe->setup;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count_tables(setup) && status == STATUS_OK; i++) {
        const struct statement *count =
            setup->dataset_count > 0 ? &setup->datasets[i].count : &setup->count;
        status = count_rows(probe, setup, conn, count, &rows[i], error);
        note_answer(probe);
    }
    return status;
}

/* Another one of several hosts: the same database, or one of its own, whose table may be missing.
 */
static enum status prepare_host(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    const struct plan *plan = probe->plan;
    const struct setup *setup = probe->setup;
    struct setup_host *const host = probe->context;
    uint64_t *const rows = host->rows_before;
    struct table table = {0};
    enum status status = STATUS_OK;
    if (plan->script == NULL) {
        status = plan->adapter->describe(plan->adapter, conn, plan->table_name, &table, error);
        table_fini(&table);
        const bool is_missing = status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND;
        if (status == STATUS_OK && plan->is_recreate) {
            status = count_tables_at(probe, conn, rows, error);
        }
        if (is_missing || (status == STATUS_OK && plan->is_recreate && rows[0] > 0)) {
            error_clear(error);
            bool is_made;
            status = find_or_create(conn, plan, &setup->connection, &table, &is_made, error);
            table_fini(&table);
        }
    }
    if (status == STATUS_OK) {
        ask_settings(probe, setup, conn, &host->settings);
        status = count_tables_at(probe, conn, rows, error);
    }
    return status;
}

static bool make_hosts(struct setup *setup, size_t count, struct error *error)
{
    setup->hosts = calloc(count, sizeof *setup->hosts);
    bool has_memory = setup->hosts != NULL;
    setup->host_count = count;
    for (size_t i = 0; i < count && has_memory; i++) {
        struct setup_host *host = &setup->hosts[i];
        host->rows_before = calloc(count_tables(setup), sizeof *host->rows_before);
        has_memory = host->rows_before != NULL;
    }
    if (!has_memory) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the hosts");
    }
    return has_memory;
}

/* Looks at all hosts but the one that is set up. One that does not answer is left alone. */
static enum exit_code prepare_hosts(struct setup *setup, const struct plan *plan,
                                    struct error *error)
{
    const size_t tables = count_tables(setup);
    if (!make_hosts(setup, plan->host_count, error)) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    for (unsigned i = 0; i < plan->host_count && !interrupt_requested(); i++) {
        struct setup_host *host = &setup->hosts[i];
        struct probe probe = {
            .plan = plan,
            .open = PROBE_ONCE,
            .host = i,
            .is_of_host = true,
            .work = prepare_host,
            .setup = setup,
            .context = host,
            .what = "a host while its table was set up",
            .notice = "waiting for a host to get its table ready",
            .limit_ns = plan->timeout_ns,
        };
        if (i == setup->host) {
            host->is_known = true;
            host->settings = setup->settings;
            for (size_t t = 0; t < tables; t++) {
                host->rows_before[t] =
                    setup->dataset_count > 0 ? setup->datasets[t].rows_before : setup->rows_before;
            }
            continue;
        }
        struct error why = {.kind = ERROR_NONE};
        host->is_known = probe_run(&probe, &why) == STATUS_OK;
        if (!host->is_known && !plan->is_quiet) {
            char name[PLAN_HOST_BYTES];
            target_name_host(plan, i, name, sizeof name);
            notice_print("host %s is not set up: %s", name, why.text);
        }
    }
    return conclude(STATUS_OK, "the first session", error);
}

enum exit_code setup_prepare(struct setup *setup, const struct plan *plan, struct error *error)
{
    memset(setup, 0, sizeof *setup);
    struct preparation preparation = {.setup = setup};
    struct probe probe = {
        .plan = plan,
        .open = PROBE_PATIENTLY,
        .work = prepare,
        .context = &preparation,
        .what = "an answer while the table was set up",
        .notice = plan->wait_ns > 0 ? "waiting for the server"
                                    : "waiting for the server to get the table ready",
        .limit_ns = plan->timeout_ns,
    };
    enum exit_code code = conclude(probe_run(&probe, error), "the first session", error);
    setup->host = probe.host;
    if (code == EXIT_CODE_OK && preparation.datasets != NULL) {
        code = load_datasets(&preparation, plan, error);
    }
    if (code == EXIT_CODE_OK && setup->made.load_ns > 0) {
        setup->storage.bytes_before = measure_storage(setup, plan, NULL);
        read_settings(setup, plan, NULL, setup->host, &setup->settings); /* with its indexes */
    }
    if (code == EXIT_CODE_OK && plan->host_count > 0 && !plan->is_follower &&
        (plan->adapter->flags & ADAPTER_DISCARDS) == 0) {
        code = prepare_hosts(setup, plan, error);
    }
    datasets_destroy(preparation.datasets);
    if (code != EXIT_CODE_OK) {
        setup_fini(setup);
    }
    return code;
}

void setup_tell(const struct setup *setup, const struct plan *plan, struct buffer *text)
{
    buffer_add_format(text, "%" PRIu64 " %" PRIu64 " %zu", plan->seed, setup->rows_before,
                      setup->hosts == NULL ? 0 : setup->host_count);
    for (size_t t = 0; t < setup->dataset_count; t++) {
        buffer_add_format(text, " %" PRIu64, setup->datasets[t].rows_before);
    }
    for (size_t i = 0; setup->hosts != NULL && i < setup->host_count; i++) {
        buffer_add_format(text, " %d", setup->hosts[i].is_known ? 1 : 0);
        for (size_t t = 0; t < count_tables(setup); t++) {
            buffer_add_format(text, " %" PRIu64, setup->hosts[i].rows_before[t]);
        }
    }
    for (size_t i = 0; i < setup->server.count; i++) {
        buffer_add_format(text, " %" PRIu64, setup->server.sessions[i].used);
    }
}

enum exit_code setup_learn(struct setup *setup, struct plan *plan, const char *text,
                           struct error *error)
{
    char *at;
    plan_set_seed(plan, strtoull(text, &at, 10));
    setup->rows_before = strtoull(at, &at, 10);
    const size_t hosts = strtoull(at, &at, 10);
    for (size_t t = 0; t < setup->dataset_count; t++) {
        setup->datasets[t].rows_before = strtoull(at, &at, 10);
    }
    if (hosts > 0 && !make_hosts(setup, hosts, error)) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    for (size_t i = 0; i < hosts; i++) {
        setup->hosts[i].is_known = strtoull(at, &at, 10) != 0;
        for (size_t t = 0; t < count_tables(setup); t++) {
            setup->hosts[i].rows_before[t] = strtoull(at, &at, 10);
        }
    }
    for (size_t i = 0; i < setup->server.count && *at == ' '; i++) {
        setup->server.sessions[i].used = strtoull(at, &at, 10); /* this rank saw the others', too */
    }
    return EXIT_CODE_OK;
}

void setup_fini(struct setup *setup)
{
    for (size_t i = 0; i < setup->dataset_count; i++) {
        table_fini(&setup->datasets[i].table);
        free(setup->datasets[i].count_sql);
    }
    free(setup->datasets);
    setup->datasets = NULL;
    setup->dataset_count = 0;
    for (size_t i = 0; setup->hosts != NULL && i < setup->host_count; i++) {
        free(setup->hosts[i].rows_before);
    }
    free(setup->hosts);
    setup->hosts = NULL;
    table_fini(&setup->table);
    storage_fini(&setup->storage);
    free(setup->count_sql);
    setup->count_sql = NULL;
}

void setup_describe_made(const struct setup *setup, const struct plan *plan, char *line,
                         size_t size)
{
    const struct setup_made *made = &setup->made;
    const double seconds = (double)made->load_ns / (double)MONO_NS_PER_S;
    const uint64_t tables = setup->dataset_count;
    uint64_t rows = 0;
    for (size_t i = 0; i < setup->dataset_count; i++) {
        rows += setup->datasets[i].rows_before;
    }
    if ((plan->adapter->flags & ADAPTER_DISCARDS) != 0) {
        snprintf(line, size, "%s keeps nothing: there is nothing to prepare", plan->adapter->name);
        return;
    }
    if (made->load_ns == 0) {
        snprintf(line, size, "%s %s with %s %s: all of it was there", UNITS_COUNT(tables),
                 units_plural(tables, "table", "tables"), UNITS_COUNT(rows),
                 units_plural(rows, "row", "rows"));
        return;
    }
    struct buffer text = {0};
    if (made->tables > 0) {
        buffer_add_format(&text, "%s %s made, ", UNITS_COUNT(made->tables),
                          units_plural(made->tables, "table", "tables"));
    }
    buffer_add_format(&text, "%s %s loaded in %s", UNITS_COUNT(made->rows),
                      units_plural(made->rows, "row", "rows"), UNITS_NS(made->load_ns));
    if (made->rows > 0) {
        buffer_add_format(&text, ", %s rows/s",
                          UNITS_COUNT((uint64_t)((double)made->rows / seconds)));
    }
    if (made->indexes > 0) {
        buffer_add_format(&text, ", %s %s made", UNITS_COUNT(made->indexes),
                          units_plural(made->indexes, "index", "indexes"));
    }
    snprintf(line, size, "%s; %s %s with %s %s in all", buffer_text(&text), UNITS_COUNT(tables),
             units_plural(tables, "table", "tables"), UNITS_COUNT(rows),
             units_plural(rows, "row", "rows"));
    buffer_fini(&text);
}

/* A name as SQL reads it: without quotes those with other letters, and on PostgreSQL capital ones,
 * would be another table's. */
static void write_name(struct buffer *sql, const struct setup *setup, const char *name)
{
    const char quote = setup->connection.identifier_quote;
    const bool is_plain = strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(name) &&
                          strspn(name, "0123456789") == 0;
    if (is_plain || quote == '\0') {
        buffer_add_text(sql, name);
    } else {
        buffer_add_identifier(sql, name, quote);
    }
}

/* Whether the run's own table had rows before the sessions, at some host. */
static bool had_rows(const struct setup *setup)
{
    bool had = setup->rows_before > 0;
    for (size_t i = 0; setup->hosts != NULL && i < setup->host_count; i++) {
        had = had || setup->hosts[i].rows_before[0] > 0;
    }
    return had;
}

void setup_describe_removal(const struct setup *setup, const struct plan *plan, char *text,
                            size_t size)
{
    struct buffer table = {0};
    text[0] = '\0';
    if ((plan->adapter->flags & ADAPTER_DISCARDS) != 0) {
        return;
    }
    if (plan->target.schema != NULL) {
        write_name(&table, setup, plan->target.schema);
        buffer_add_text(&table, ".");
    }
    write_name(&table, setup, plan->table_name);
    if (plan->owned_path != NULL) {
        snprintf(text, size, "remove %.280s", plan->out_folder);
    } else if (!plan_has_own_rows(plan)) {
        snprintf(text, size, "append cleanup --workload %.200s", plan->workload);
    } else if (setup->has_made_table) {
        snprintf(text, size, "drop table %.200s /* made by this run */", buffer_text(&table));
    } else if (generator_identifies_rows(plan, &setup->table)) {
        /* only an empty table, or --verify rows, proves that no row had the tag before */
        const bool is_unsure = had_rows(setup) && plan->verify_mode != VERIFY_ROWS;
        snprintf(text, size, "delete from %.200s where n1 = %d%s", buffer_text(&table),
                 plan->run_tag, is_unsure ? " /* if no row had this n1 before the run */" : "");
    } else {
        snprintf(text, size, "nothing tells them from the other rows of %.200s", plan->table_name);
    }
    buffer_fini(&table);
    if (setup->connection.has_made_database) {
        const size_t length = strlen(text);
        snprintf(text + length, size - length, "; drop database %.60s /* made by this run */",
                 setup->connection.database);
    }
}

struct cleanup {
    struct setup setup; /* for what is known of the connection */
    struct buffer dropped;
    size_t count;
};

static enum status clean_up(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct cleanup *cleanup = probe->context;
    const struct datasets_place place = {probe->plan, &cleanup->setup, conn, note_part, probe};
    inspect(&cleanup->setup, conn, probe->plan);
    return datasets_drop(&place, &cleanup->dropped, &cleanup->count, error);
}

enum exit_code setup_cleanup(const struct plan *plan, char *line, size_t size, struct error *error)
{
    struct cleanup cleanup = {.count = 0};
    struct probe probe = {
        .plan = plan,
        .open = PROBE_PATIENTLY,
        .makes_nothing = true,
        .work = clean_up,
        .context = &cleanup,
        .what = "an answer while tables were dropped",
        .notice = "waiting for the server to drop the tables",
        .limit_ns = plan->timeout_ns,
    };
    const bool has_file = (plan->adapter->flags & ADAPTER_FILE) == 0 ||
                          access(plan->target.path, F_OK) == 0 || errno != ENOENT;
    const enum status status = has_file ? probe_run(&probe, error) : STATUS_OK;
    enum exit_code code = status == STATUS_OK ? EXIT_CODE_OK : exit_code_of(error);
    if (interrupt_requested()) {
        code = EXIT_CODE_INTERRUPTED;
        error_clear(error);
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted after %s %s had been dropped",
                  UNITS_COUNT(cleanup.count), units_plural(cleanup.count, "table", "tables"));
    }
    line[0] = '\0';
    if (cleanup.count == 0 && code == EXIT_CODE_OK) {
        snprintf(line, size, "no table that %.60s declares exists: nothing was dropped",
                 plan->script->name);
    } else if (cleanup.count > 0) {
        snprintf(line, size, "dropped %s %s: %s", UNITS_COUNT(cleanup.count),
                 units_plural(cleanup.count, "table", "tables"), buffer_text(&cleanup.dropped));
    }
    buffer_fini(&cleanup.dropped);
    return code;
}

static enum status inquire(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    inspect(probe->context, conn, probe->plan);
    return ask_limits(probe->context, conn, probe->plan->adapter, error);
}

enum exit_code setup_inquire(struct setup *setup, const struct plan *plan, struct error *error)
{
    memset(setup, 0, sizeof *setup);
    inspect(setup, NULL, plan);
    struct probe probe = {
        .plan = plan,
        .open = PROBE_FIRST,
        .makes_nothing = true,
        .work = inquire,
        .context = setup,
        .what = "its limits",
        .notice = "waiting for the server to tell its limits",
    };
    return conclude(probe_run(&probe, error), "the server had answered", error);
}

static bool take_counter(void *context, const struct cell *cells, size_t count)
{
    struct trace_counters *counters = context;
    if (count == 2 && counters->count < COUNT_OF(counters->entries)) {
        const size_t i = counters->count++;
        ask_text(&cells[0], counters->entries[i].name, sizeof counters->entries[i].name);
        counters->entries[i].value = (uint64_t)ask_number(&cells[1]);
    }
    return true;
}

/* Processes of a server tell what they have counted some time after it was done: until two answers
 * are the same. A server that others use, too, has none that are. */
static enum status count_io(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    struct trace_counters *counters = probe->context;
    enum status status = STATUS_OK;
    bool is_settled = false;
    for (int i = 0; i < IO_COUNTS_MAX && status == STATUS_OK && !is_settled; i++) {
        const struct trace_counters before = *counters;
        struct answer answer = {.take = take_counter, .context = counters};
        mono_sleep(i == 0 ? 0 : IO_COUNT_PAUSE_NS);
        memset(counters, 0, sizeof *counters);
        status = ask_rows(probe->plan->adapter, conn, probe->setup->connection.storage->counters,
                          NULL, &answer, error);
        note_answer(probe);
        is_settled =
            (i > 0 && memcmp(&before, counters, sizeof before) == 0) || interrupt_requested();
    }
    counters->taken_ns = mono_now_ns();
    return status;
}

void setup_count_io(const struct setup *setup, const struct plan *plan,
                    struct trace_counters *counters)
{
    struct error error = {.kind = ERROR_NONE};
    struct probe probe = {
        .plan = plan,
        .open = PROBE_AGAIN,
        .makes_nothing = true,
        .work = count_io,
        .setup = setup,
        .context = counters,
        .what = "its counts of I/O",
        .notice = "waiting for the server to tell what it has written",
        .limit_ns = HASTY_LIMIT_NS,
        .is_hasty = true,
    };
    const struct storage_words *words = setup->connection.storage;
    memset(counters, 0, sizeof *counters);
    if (words == NULL || words->counters == NULL || plan->host_count > 0 ||
        probe_run(&probe, &error) != STATUS_OK) {
        memset(counters, 0, sizeof *counters);
    }
}

static enum status find_table(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    const struct adapter *adapter = probe->plan->adapter;
    struct setup_found *found = probe->context;
    struct table table = {0};
    struct connection_info connection = {0};
    const enum status status =
        adapter->describe(adapter, conn, probe->plan->table_name, &table, error);
    table_fini(&table);
    target_fill_connection(probe->plan, &connection);
    if (adapter->inspect != NULL) {
        adapter->inspect(adapter, conn, &connection);
    }
    found->is_there = status == STATUS_OK;
    found->has_marks = connection.table_mark != NULL;
    return status == STATUS_REJECTED && error->kind == ERROR_NOT_FOUND ? STATUS_OK : status;
}

enum exit_code setup_find_table(const struct plan *plan, struct setup_found *found,
                                struct error *error)
{
    /* a file that is not there will be SQLite's, which keeps them */
    *found = (struct setup_found){.has_marks = (plan->adapter->flags & ADAPTER_FILE) != 0};
    if ((plan->adapter->flags & ADAPTER_FILE) != 0 && access(plan->target.path, F_OK) != 0 &&
        errno == ENOENT) {
        return EXIT_CODE_OK;
    }
    struct probe probe = {
        .plan = plan,
        .open = PROBE_FIRST,
        .work = find_table,
        .context = found,
        .what = "the table",
        .notice = "waiting for the server to tell about the table",
    };
    return conclude(probe_run(&probe, error), "the first run", error);
}

/* Rows of a run are known by run tag, session and row number (n1, n2, n3, see load/generator.h).
 * One scan of the table, row by row; one bit of memory for each row that was sent. */
struct scan {
    struct buffer sql;
    struct result *result;
    struct row_map *map; /* NULL: tags are read */
    bool is_used[TAGS];  /* tags that rows of the table carry */
};

static bool take_numbers(void *context, const int64_t *values)
{
    struct probe *probe = context;
    struct scan *scan = probe->context;
    note_answer(probe);
    if (scan->map != NULL) {
        row_map_add(scan->map, values[0], values[1], scan->result->session_list,
                    &scan->result->row_verification);
    } else if (values[0] > 0 && values[0] < TAGS) {
        scan->is_used[values[0]] = true;
    }
    return true;
}

static enum status read_numbers(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    const struct scan *scan = probe->context;
    const struct ask_numbers numbers = {scan->map == NULL ? 1 : 2, take_numbers, probe};
    return ask_numbers(probe->plan->adapter, conn, buffer_text(&scan->sql), &numbers, error);
}

/* `host`: of several the one to read from; with `is_of_host` no other will do. */
static enum status read_table(const struct plan *plan, struct scan *scan, unsigned host,
                              bool is_of_host, const char *notice, struct error *error)
{
    struct probe probe = {
        .plan = plan,
        .open = PROBE_AGAIN,
        .host = host,
        .is_of_host = is_of_host,
        .work = read_numbers,
        .context = scan,
        .what = "the rows",
        .notice = notice,
        .limit_ns = plan->timeout_ns,
    };
    return probe_run(&probe, error);
}

enum exit_code verify_prepare(const struct setup *setup, struct plan *plan, struct error *error)
{
    enum {
        TRIES = 50 * TAGS /* finds a single free tag but once in e^50 times */
    };
    if (plan->verify_mode != VERIFY_ROWS) {
        return EXIT_CODE_OK;
    }
    if (ask_words(&setup->connection)->tags == NULL) {
        return usage_refuse(error,
                            "--verify rows: append has no words to read rows back from %s: "
                            "use --verify count",
                            setup->connection.dialect);
    }
    if (!generator_identifies_rows(plan, &setup->table)) {
        return usage_refuse(
            error,
            "--verify rows: table '%.100s' has no columns n1 smallint, n2 int and n3 bigint "
            "without --values, which tell the rows apart: use --verify count",
            plan->table_name);
    }
    if (!had_rows(setup)) {
        return EXIT_CODE_OK;
    }
    struct scan scan = {.map = NULL};
    enum status status = STATUS_FATAL;
    ask_write(&scan.sql, ask_words(&setup->connection)->tags, &setup->connection, setup->table.name,
              &setup->table, plan->run_tag);
    if (buffer_failed(&scan.sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = STATUS_OK;
        for (unsigned i = 0; i < MAX(setup->host_count, 1) && status == STATUS_OK; i++) {
            const bool has_hosts = setup->hosts != NULL;
            if (!has_hosts || setup->hosts[i].rows_before[0] > 0) {
                status = read_table(plan, &scan, i, has_hosts,
                                    "looking for rows of earlier runs in the table", error);
            }
        }
    }
    buffer_fini(&scan.sql);
    const enum exit_code code = conclude(status, "the first session", error);
    if (code == EXIT_CODE_OK && plan->is_seed_given && scan.is_used[plan->run_tag]) {
        return usage_refuse(error,
                            "--verify rows: table '%.100s' has rows of --seed %" PRIu64
                            " already (n1 = %d): use another --seed, or --recreate",
                            plan->table_name, plan->seed, plan->run_tag);
    }
    for (int i = 0; code == EXIT_CODE_OK && scan.is_used[plan->run_tag] && i < TRIES; i++) {
        plan_set_seed(plan, random_seed());
    }
    if (code == EXIT_CODE_OK && scan.is_used[plan->run_tag]) {
        return usage_refuse(
            error, "--verify rows: table '%.100s' has rows of every run tag (n1): use --recreate",
            plan->table_name);
    }
    return code;
}

/* Of several hosts that are databases of their own, from each that has a count. */
static enum status read_rows(const struct setup *setup, const struct plan *plan, struct scan *scan,
                             struct error *error)
{
    static const char notice[] = "reading the rows of the run back";
    const struct result *result = scan->result;
    if (result->host_count == 0 || result->are_hosts_one) {
        return read_table(plan, scan, setup->host, false, notice, error);
    }
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < result->host_count && status == STATUS_OK; i++) {
        if (result->hosts[i].is_counted) {
            status = read_table(plan, scan, i, true, notice, error);
        }
    }
    return status;
}

/* Which rows are those of a rank that was lost? */
static const char untold[] = "a rank was lost, which did not tell what else it wrote";

static void verify_rows(const struct setup *setup, const struct plan *plan, struct result *result)
{
    struct row_verification *verification = &result->row_verification;
    struct error error = {.kind = ERROR_NONE};
    verification->state = VERIFICATION_FAILED;
    if (result->stop_reason == STOP_RANK) {
        snprintf(verification->reason, sizeof verification->reason, "%s", untold);
        return;
    }
    if (result->verification.state != VERIFICATION_DONE) {
        /* a server that could not be asked for a number will not send its rows */
        memcpy(verification->reason, result->verification.reason, sizeof verification->reason);
        return;
    }
    bool lacks_exceptions = false;
    for (size_t i = 0; i < result->session_count; i++) {
        lacks_exceptions = lacks_exceptions || result->session_list[i].lacks_exceptions;
    }
    struct scan scan = {.result = result};
    scan.map = row_map_create(result->session_list, result->session_count);
    /* rows whose session or number is NULL are another writer's; -1 is no session's number */
    ask_write(&scan.sql, ask_words(&setup->connection)->rows, &setup->connection, setup->table.name,
              &setup->table, plan->run_tag);
    if (scan.map == NULL || buffer_failed(&scan.sql) || lacks_exceptions) {
        error_set(&error, ERROR_MEMORY, 0, NULL,
                  "out of memory for what is known of each row (1 bit a row)");
    } else if (read_rows(setup, plan, &scan, &error) == STATUS_OK) {
        row_map_settle(scan.map, result->session_list, verification);
        verification->state = VERIFICATION_DONE;
    }
    snprintf(verification->reason, sizeof verification->reason, "%s", error.text);
    row_map_destroy(scan.map);
    buffer_fini(&scan.sql);
}

/* How long the server may take to end sessions; each costs MariaDB a wait for the session's thread.
 */
#define END_CUT_NS (2 * MONO_NS_PER_S)

/* Ends at the server what was cut there and is at work still. Once each: one that cannot be ended,
 * or not in time, ends by itself. */
static void end_cut(struct probe *probe, struct adapter_conn *conn)
{
    struct cut_list *list = probe->setup->cut;
    struct session_name names[SESSION_NAMES_MAX];
    size_t count = 0;
    const int64_t limit_ns = probe->limit_ns;
    const int64_t until_ns =
        mono_now_ns() + (limit_ns > 0 ? MIN(END_CUT_NS, limit_ns / 2) : END_CUT_NS);
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        struct cut_session *entry = &list->entries[i];
        if (entry->name.number > 0 &&
            (probe->plan->host_count == 0 || entry->host == probe->host)) {
            names[count++] = entry->name;
            entry->name.number = 0;
        }
        if ((count == SESSION_NAMES_MAX || (count > 0 && i + 1 == list->count)) &&
            mono_now_ns() < until_ns) {
            probe->plan->adapter->end_sessions(conn, names, count, until_ns, &list->ended,
                                               &(struct error){.kind = ERROR_NONE});
            note_answer(probe);
        }
        count = count == SESSION_NAMES_MAX ? 0 : count;
    }
}

/* Asks for counts again, on a connection of its own. */
static enum status recount(const struct setup *setup, const struct plan *plan,
                           const struct result *result, struct probe probe, struct error *error)
{
    /* a server that did not let sessions finish will not be quicker now */
    probe.is_hasty =
        result->sessions_cut > 0 && (plan->timeout_ns == 0 || plan->timeout_ns > HASTY_LIMIT_NS);
    probe.plan = plan;
    probe.setup = setup;
    probe.open = probe.is_of_host && setup->hosts != NULL && !setup->hosts[probe.host].is_known
                     ? PROBE_ONCE
                     : PROBE_AGAIN;
    probe.what = "the count";
    probe.limit_ns = probe.is_hasty ? HASTY_LIMIT_NS : plan->timeout_ns;
    return probe_run(&probe, error);
}

static enum status read_storage(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    *(int64_t *)probe->context = storage_read(&probe->setup->storage, probe->plan, conn, error);
    return error_is_set(error) ? STATUS_REJECTED : STATUS_OK;
}

/* Bytes of the tables on disk, after the sessions with their result; -1 = not known. */
static int64_t measure_storage(const struct setup *setup, const struct plan *plan,
                               const struct result *result)
{
    static const struct result none;
    int64_t bytes = storage_read(&setup->storage, plan, NULL, NULL);
    const struct probe probe = {
        .work = read_storage, .context = &bytes, .notice = "asking for the size of the table"};
    if (bytes < 0 && setup->storage.count > 0 && !interrupt_requested()) {
        recount(setup, plan, result == NULL ? &none : result, probe,
                &(struct error){.kind = ERROR_NONE});
    }
    return bytes;
}

static enum status take_settings(struct probe *probe, struct adapter_conn *conn,
                                 struct error *error)
{
    (void)error;
    ask_settings(probe, probe->setup, conn, probe->context);
    return STATUS_OK;
}

/* What the server, or this one of several, is set to: left alone where it does not answer.
 * `result`: that of the sessions; NULL: before them. */
static void read_settings(const struct setup *setup, const struct plan *plan,
                          const struct result *result, unsigned host,
                          struct server_settings *settings)
{
    static const struct result none;
    const struct probe probe = {.work = take_settings,
                                .host = host,
                                .is_of_host = plan->host_count > 0,
                                .context = settings,
                                .notice = "asking for the server's settings"};
    recount(setup, plan, result == NULL ? &none : result, probe,
            &(struct error){.kind = ERROR_NONE});
}

static enum status count_again(struct probe *probe, struct adapter_conn *conn, struct error *error)
{
    end_cut(probe, conn);
    return count_rows(probe, probe->setup, conn, &probe->setup->count, probe->context, error);
}

static enum status count_host_again(struct probe *probe, struct adapter_conn *conn,
                                    struct error *error)
{
    end_cut(probe, conn);
    return count_tables_at(probe, conn, probe->context, error);
}

/* Counts every table at every host: result->hosts[i].rows_after, owned by the result. False: out of
 * memory. */
static bool count_hosts(const struct setup *setup, const struct plan *plan, struct result *result)
{
    for (unsigned i = 0; i < setup->host_count; i++) {
        struct host_result *host = &result->hosts[i];
        const size_t bytes = count_tables(setup) * sizeof *host->rows_after;
        struct error error = {.kind = ERROR_NONE};
        host->rows_before = malloc(bytes);
        host->rows_after = calloc(1, bytes);
        if (host->rows_before == NULL || host->rows_after == NULL) {
            return false;
        }
        memcpy(host->rows_before, setup->hosts[i].rows_before, bytes);
        const struct probe probe = {.work = count_host_again,
                                    .host = i,
                                    .is_of_host = true,
                                    .context = host->rows_after,
                                    .notice = "counting the rows at every host"};
        const bool is_counted = recount(setup, plan, result, probe, &error) == STATUS_OK;
        host->is_counted = is_counted && setup->hosts[i].is_known;
        snprintf(host->reason, sizeof host->reason, "%s",
                 is_counted ? "it was not counted before the run" : error.text);
    }
    return true;
}

static void verify_count(const struct setup *setup, const struct plan *plan, struct result *result)
{
    struct verification *verification = &result->verification;
    struct error error = {.kind = ERROR_NONE};
    const struct probe probe = {.work = count_again,
                                .context = &verification->rows_after,
                                .notice = "counting the rows of the table"};
    const struct row_ledger *rows = &result->rows;
    verification->rows_before = setup->rows_before;
    verification->state = VERIFICATION_FAILED;
    if (setup->hosts != NULL) {
        struct hosts_view view = {.least = rows->acknowledged,
                                  .most = rows->acknowledged + rows->in_doubt + rows->rejected};
        if (result_join_hosts(result, &view)) {
            verification->state = VERIFICATION_DONE;
            verification->rows_before = view.before;
            verification->rows_after = view.after;
        }
        snprintf(verification->reason, sizeof verification->reason, "%.230s", view.reason);
    } else if (recount(setup, plan, result, probe, &error) == STATUS_OK) {
        verification->state = VERIFICATION_DONE;
    } else {
        snprintf(verification->reason, sizeof verification->reason, "%s", error.text);
    }
    if (verification->state == VERIFICATION_DONE) {
        verification_settle(verification, rows);
    }
}

/* Leaves in `after` what is another value than `before` has; "" where it is no longer told. */
static void keep_changes(const struct server_settings *before, struct server_settings *after)
{
    const struct server_settings now = *after;
    after->count = 0;
    for (size_t i = 0; i < now.count; i++) {
        const char *was = server_setting(before, now.entries[i].name);
        if (was == NULL || strcmp(was, now.entries[i].value) != 0) {
            after->entries[after->count++] = now.entries[i];
        }
    }
    for (size_t i = 0; i < before->count && after->count < SERVER_SETTINGS_MAX; i++) {
        if (server_setting(&now, before->entries[i].name) == NULL) {
            after->entries[after->count] = before->entries[i];
            after->entries[after->count++].value[0] = '\0';
        }
    }
}

/* Settings that were others when the run was over. A server that does not answer has changed none.
 */
static void find_changes(const struct setup *setup, const struct plan *plan, struct result *result)
{
    const bool has_hosts = setup->hosts != NULL;
    for (unsigned i = 0; i < (has_hosts ? setup->host_count : 1); i++) {
        const struct server_settings *before =
            has_hosts ? &setup->hosts[i].settings : &setup->settings;
        struct server_settings *after =
            has_hosts ? &result->hosts[i].settings_changed : &result->settings_changed;
        after->count = 0;
        if (before->count > 0 && !interrupt_requested()) {
            read_settings(setup, plan, result, i, after);
        }
        if (after->count > 0) {
            keep_changes(before, after);
        }
    }
}

/* A table of the script, to be counted again. */
struct table_count {
    const struct statement *count;
    uint64_t *rows;
};

static enum status count_dataset(struct probe *probe, struct adapter_conn *conn,
                                 struct error *error)
{
    const struct table_count *table = probe->context;
    end_cut(probe, conn);
    return count_rows(probe, probe->setup, conn, table->count, table->rows, error);
}

/* Whether the run was to change it. */
static bool is_changed(const struct script *script, size_t number,
                       const struct dataset_verification *verification)
{
    bool is = verification->added + verification->taken + verification->added_in_doubt +
                  verification->taken_in_doubt >
              0;
    for (size_t i = 0; i < script->statement_count; i++) {
        is = is || script->statements[i].adds_to == (int)number ||
             script->statements[i].takes_from == (int)number;
    }
    return is;
}

static void verify_datasets(const struct setup *setup, const struct plan *plan,
                            struct result *result)
{
    /* why; a server that did not answer is not asked again */
    const char *failed = result->stop_reason == STOP_RANK ? untold : NULL;
    for (size_t i = 0; i < result->dataset_count && i < setup->dataset_count; i++) {
        struct dataset_verification *verification = &result->datasets[i];
        verification->rows_before = setup->datasets[i].rows_before;
        if (!is_changed(plan->script, i, verification)) {
            continue;
        }
        struct error error = {.kind = ERROR_NONE};
        struct table_count table = {&setup->datasets[i].count, &verification->rows_after};
        const struct probe probe = {
            .work = count_dataset, .context = &table, .notice = "counting the rows of the tables"};
        const uint64_t added = verification->added, taken = verification->taken;
        struct hosts_view view = {.table = i,
                                  .least = added > taken ? added - taken : taken - added};
        view.most = view.least + verification->added_in_doubt + verification->taken_in_doubt;
        bool is_counted = false;
        if (setup->hosts != NULL && failed == NULL) {
            is_counted = result_join_hosts(result, &view);
            verification->rows_before = view.before;
            verification->rows_after = view.after;
        } else if (failed == NULL) {
            is_counted = recount(setup, plan, result, probe, &error) == STATUS_OK;
        }
        if (is_counted) {
            verification->state = VERIFICATION_DONE;
            dataset_verification_settle(verification);
            continue;
        }
        verification->state = VERIFICATION_FAILED;
        snprintf(verification->reason, sizeof verification->reason, "%s",
                 failed != NULL         ? failed
                 : setup->hosts != NULL ? view.reason
                                        : error.text);
        failed = verification->reason;
    }
}

void verify_not(struct result *result, const char *reason)
{
    result->verification = (struct verification){.state = VERIFICATION_FAILED};
    snprintf(result->verification.reason, sizeof result->verification.reason, "%s", reason);
    result->table_bytes_before = result->table_bytes_after = -1;
}

void verify_result(const struct setup *setup, const struct plan *plan, struct result *result)
{
    memset(&result->verification, 0, sizeof result->verification);
    memset(&result->row_verification, 0, sizeof result->row_verification);
    const bool keeps_rows = (plan->adapter->flags & ADAPTER_DISCARDS) == 0;
    if (setup->hosts != NULL && !count_hosts(setup, plan, result)) {
        snprintf(result->verification.reason, sizeof result->verification.reason,
                 "out of memory for the counts of the hosts");
        result->verification.state = VERIFICATION_FAILED;
        return;
    }
    if (keeps_rows && plan->script != NULL) {
        verify_datasets(setup, plan, result);
    } else if (keeps_rows) {
        verify_count(setup, plan, result);
    }
    if (plan->verify_mode == VERIFY_ROWS) {
        verify_rows(setup, plan, result);
    }
    bool has_failed = result->verification.state == VERIFICATION_FAILED;
    for (size_t i = 0; i < result->dataset_count; i++) {
        has_failed = has_failed || result->datasets[i].state == VERIFICATION_FAILED;
    }
    if (!has_failed) { /* a server that did not answer is not asked again */
        find_changes(setup, plan, result);
    }
    result->table_bytes_before = setup->storage.bytes_before;
    result->table_bytes_after = has_failed ? -1 : measure_storage(setup, plan, result);
    struct io_description *of = &result->resources.io_of;
    if (result->table_bytes_before >= 0 && result->table_bytes_after < 0 && of->note[0] == '\0') {
        snprintf(of->note, sizeof of->note,
                 "the size of the tables after the run is not known: the server did not tell");
    }
}
