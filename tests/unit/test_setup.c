/* The set-up of a run's table (load/setup.c) with a server whose answers the test gives: the
 * statements that the set-up sends, what it finds out, and what it refuses. */
#include "unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "append/buffer.h"
#include "base/mono.h"
#include "base/text.h"
#include "load/server.h"
#include "load/setup.h"
#include "load/setup_describe.h"
#include "load/verify.h"
#include "plan/facts.h"
#include "unit/given.h"

/* A server and a plan that differ from the usual ones. */
struct setup_case {
    const char *name;
    /* the plan */
    const char *table, *ddl, *engine, *recreate, *skip_columns, *values, *read_sql;
    enum wait_mode waits;
    bool is_follower;
    /* the server: the columns of its table, for example "id:k, v:t" (see add_column); NULL: no
     * table */
    const char *columns, *table_engine;
    const char *odd; /* connection_info.not_in_names */
    const char *note;
    bool knows_waits, is_pooled, lacks_limits, has_no_columns, has_schemas;
    struct given given[8];
    const char *expected;
};

struct adapter_conn {
    const struct setup_case *now;
    struct buffer log;
    const char *columns; /* of the table at present */
};
static struct adapter_conn server;
static atomic_uint queries_run;

/* Why the server refuses the next connections. */
static struct {
    enum status status;
    enum error_kind kind;
    const char *text;
    unsigned times;
} refusal;
static const char *lift_row_limit;
static const char *peer_address = ""; /* address that the connection reports */
static bool is_embedded;
static unsigned opens;

static enum status open_conn(const struct adapter *adapter, const struct target *target,
                             struct adapter_conn **conn, struct error *error)
{
    (void)adapter, (void)target;
    opens++;
    if (refusal.times > 0) {
        refusal.times--;
        error_set(error, refusal.kind, 0, NULL, "%s", refusal.text);
        *conn = NULL;
        return refusal.status;
    }
    *conn = &server;
    return STATUS_OK;
}

static void close_conn(struct adapter_conn *conn)
{
    (void)conn;
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const char *trial = strstr(sql, "append_trial_");
    if (trial != NULL) { /* a name with the number of this process */
        buffer_add_format(&conn->log, "%.*sappend_trial%s; ", (int)(trial - sql), sql,
                          trial + strcspn(trial, "0123456789") +
                              strspn(trial + strcspn(trial, "0123456789"), "0123456789"));
        const char *what = sql[0] == 'c' ? "create trial" : "drop trial";
        return given_find(conn->now->given, what) == NULL
                   ? STATUS_OK
                   : given_answer(conn->now->given, what, &(struct answer){.take = NULL}, error);
    }
    buffer_add_format(&conn->log, "%s; ", sql);
    if (given_find(conn->now->given, sql) != NULL) {
        return given_answer(conn->now->given, sql, &(struct answer){.take = NULL}, error);
    }
    if (strncmp(sql, "create", 6) == 0) {
        conn->columns = "n1:1, n2:2, n3:3, v:t";
    } else if (strncmp(sql, "drop", 4) == 0) {
        conn->columns = NULL;
    }
    return STATUS_OK;
}

static enum status run_statement(struct adapter_conn *conn, const struct statement *statement,
                                 const struct batch *parameters, struct answer *answer,
                                 struct error *error)
{
    (void)parameters;
    buffer_add_format(&conn->log, "%s%s; ", statement->sql, statement->is_prepared ? " *" : "");
    static const struct given here[] = {{.sql = "place of ?", .rows = {"here"}}, {.sql = NULL}};
    const bool is_given = strcmp(statement->sql, here->sql) != 0 ||
                          given_find(conn->now->given, statement->sql) != NULL;
    const enum status status =
        given_answer(is_given ? conn->now->given : here, statement->sql, answer, error);
    atomic_fetch_add(&queries_run, 1);
    return status;
}

/* Adds a column "NAME:LETTERS": 1, 2 and 3 smallint, int and bigint; t a text, x a type that append
 * does not know; k unique, d with a default, r NOT NULL, g computed. */
static bool add_column(struct table *table, const char *text, size_t length)
{
    struct column column = {.type = COLUMN_INT64, .is_nullable = true};
    const char *const letters = (const char *)memchr(text, ':', length) + 1;
    memcpy(column.name, text, (size_t)(letters - text) - 1);
    for (const char *letter = letters; letter < text + length; letter++) {
        static const char types[] = "123tx";
        static const enum column_type of[] = {COLUMN_INT16, COLUMN_INT32, COLUMN_INT64, COLUMN_TEXT,
                                              COLUMN_UNSUPPORTED};
        const char *type = strchr(types, *letter);
        column.type = type != NULL ? of[type - types] : column.type;
        column.is_unique |= *letter == 'k';
        column.has_default |= *letter == 'd';
        column.is_nullable &= *letter != 'r';
        column.is_generated |= *letter == 'g';
    }
    return table_add_column(table, &column, NULL) == STATUS_OK;
}

static enum status describe(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error)
{
    (void)adapter;
    buffer_add_format(&conn->log, "describe %s; ", table_name);
    const struct given *found = given_find(conn->now->given, "describe");
    if (found != NULL) {
        return given_answer(found, "describe", &(struct answer){.take = NULL}, error);
    }
    if (conn->columns == NULL) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table %s", table_name);
        return STATUS_REJECTED;
    }
    bool is_good = table_init(table, table_name, NULL) == STATUS_OK;
    snprintf(table->engine, sizeof table->engine, "%s",
             conn->now->table_engine == NULL ? "" : conn->now->table_engine);
    for (const char *at = conn->columns; *at != '\0' && is_good;) {
        const size_t length = strcspn(at, ",");
        is_good = add_column(table, at, length);
        at += length;
        at += strspn(at, ", ");
    }
    if (!is_good) {
        abort();
    }
    return STATUS_OK;
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    (void)adapter, (void)error;
    snprintf(limits->version, sizeof limits->version, "given 1");
    limits->is_pooled = conn->now->is_pooled;
    return conn->now->lacks_limits ? STATUS_REJECTED : STATUS_OK;
}

static void name_session(struct adapter_conn *conn, struct session_name *name)
{
    (void)conn;
    *name = (struct session_name){.number = 1};
}

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    static const struct wait_queries waits = {.least_gap_ms = 1};
    static const char *const sizes[] = {"size 1", "size 2 $0", NULL};
    static const char *const settings[] = {"settings 1", "settings 2", NULL};
    static const char *const of_tables[] = {"setting of ?", NULL};
    static const struct storage_queries storage = {
        .directory = "folder", .sizes = sizes, .privilege_note = "the size needs a privilege"};
    static const struct settings_queries all = {.queries = settings, .table_queries = of_tables};
    static const char *const others[] = {NULL};
    static const struct table_mark_statements marks = {
        .read = "mark of ?", .place = "place of ?", .others = others, .write = "mark $0 $7"};
    (void)adapter;
    info->identifier_quote = '"';
    info->storage = &storage;
    info->settings = &all;
    info->table_mark = &marks;
    info->lift_row_limit = lift_row_limit;
    info->not_in_names = conn->now->odd;
    info->has_schemas = conn->now->has_schemas;
    info->waits = conn->now->knows_waits ? &waits : NULL;
    info->facts.is_pooled = conn->now->is_pooled;
    info->is_embedded = is_embedded;
    snprintf(info->address, sizeof info->address, "%s", peer_address);
    info->facts.has_no_columns = conn->now->has_no_columns;
    snprintf(info->dialect, sizeof info->dialect, "given");
}

static void write_setup(struct buffer *text, const struct setup *setup)
{
    const struct table *table = &setup->own->table;
    buffer_add_format(text, "| %s%s |", setup->server.version,
                      setup->has_made_table ? ", made" : "");
    for (size_t i = 0; i < table->column_count; i++) {
        buffer_add_format(text, " %s%s", table->columns[i].name,
                          table->columns[i].type == COLUMN_TEXT ? ":t" : "");
    }
    buffer_add_format(text, " | %" PRIu64 " rows, %" PRId64 " bytes in %s%s%s",
                      *setup_rows_before(setup, setup->own), setup->storage.bytes_before,
                      setup->storage.directory, setup->storage.note[0] == '\0' ? "" : ", ",
                      setup->storage.note);
    const struct server_settings *settings = &setup->hosts[0].settings;
    for (size_t i = 0; i < settings->count; i++) {
        buffer_add_format(text, " | %s=%s", settings->entries[i].name, settings->entries[i].value);
    }
    if (setup->waits_note[0] != '\0') {
        buffer_add_format(text, " | %s", setup->waits_note);
    }
}

/* Adds the numbers of the sessions to the log. */
static enum status end_sessions(struct adapter_conn *conn, const struct session_name *names,
                                size_t count, int64_t until_ns, uint64_t *ended,
                                struct error *error)
{
    (void)until_ns, (void)error;
    for (size_t i = 0; i < count; i++) {
        buffer_add_format(&conn->log, "end %" PRIu64 "; ", names[i].number);
    }
    *ended += count;
    return STATUS_OK;
}

static const struct adapter adapter = {.name = "given",
                                       .open = open_conn,
                                       .close = close_conn,
                                       .execute = execute,
                                       .describe = describe,
                                       .run = run_statement,
                                       .inspect = inspect,
                                       .server_limits = server_limits,
                                       .name_session = name_session,
                                       .end_sessions = end_sessions,
                                       .engine_clause = "engine =",
                                       .syslog_sql = "create table syslog_table (n1)"};

static struct plan make_plan(const struct setup_case *now)
{
    static const struct facts facts = {.run_tag = 7, .seed = 9};
    return (struct plan){.facts = &facts,
                         .adapter = &adapter,
                         .target.host = "localhost",
                         .sessions = 1,
                         .is_quiet = true,
                         .table_name = now->table == NULL ? "syslog_table" : now->table,
                         .is_default_table = now->table == NULL,
                         .ddl = now->ddl,
                         .engine = now->engine,
                         .is_recreate = now->recreate != NULL,
                         .recreate_names = now->recreate,
                         .skip_columns = now->skip_columns,
                         .values = now->values,
                         .read_mode = now->read_sql == NULL ? READ_NONE : READ_QUERY,
                         .read_sql = now->read_sql,
                         .waits = now->waits,
                         .is_follower = now->is_follower};
}

static void run_case(const struct setup_case *now, struct buffer *text)
{
    const struct plan plan = make_plan(now);
    struct error error = {.kind = ERROR_NONE};
    struct setup setup;
    server = (struct adapter_conn){.now = now, .columns = now->columns};
    buffer_init(&server.log);
    enum exit_code code = setup_prepare(&setup, &plan, NULL, &error);
    code = code == EXIT_CODE_OK ? setup_complete(&setup, &plan, &error) : code;
    buffer_add_text(text, buffer_text(&server.log));
    if (code == EXIT_CODE_OK) {
        write_setup(text, &setup);
        setup_fini(&setup);
    } else {
        buffer_add_format(text, "| %d %s", (int)code, error.text);
        assert_int_equal(error.native_code, 0);
    }
    assert_null(setup.tables);
    buffer_fini(&server.log);
}

#define COUNT "select count(*) from \"syslog_table\""
/* the end of the expected text when the server answers no query about settings and sizes */
#define NO_MORE "settings 1; settings 2; folder; size 1; size 2 \"syslog_table\"; | given 1"
#define NO_SIZE "-1 bytes in , the server does not report the size of table syslog_table"
#define COUNT_T "select count(*) from \"t\""

static const struct setup_case cases[] = {
    {.name = "a missing table is created",
     .given = {{.sql = COUNT, .rows = {"0"}},
               {.sql = "folder", .rows = {"/data"}},
               {.sql = "size 1", .rows = {"8192"}},
               {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
               {.sql = "setting of ?", .rows = {"unlogged|syslog_table"}}},
     .expected =
         "describe syslog_table; create table syslog_table (n1); describe syslog_table; place of "
         "?; mark of ?; place of ?; mark \"syslog_table\" \"n1\"; select count(*) from "
         "\"syslog_table\" *; settings 1; setting of ?; folder; size 1; size 1; | given 1, made | "
         "n1 n2 n3 v:t | 0 rows, 8192 bytes in /data | sync=on | level=2 | unlogged=syslog_table"},
    {.name = "a table that is there",
     .columns = "n1:1, n2:2, n3:3",
     .given = {{.sql = COUNT, .rows = {"7"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
                 " | n1 n2 n3 | 7 rows, " NO_SIZE},
    {.name = "the count fails",
     .columns = "n1:1, n2:2, n3:3",
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; | 4 no select "
                 "count(*) from \"syslog_table\""},
    {.name = "limits that are not reported",
     .columns = "n1:1",
     .lacks_limits = true,
     .given = {{.sql = COUNT, .rows = {"7"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; settings 1; "
                 "settings 2; folder; size 1; size 2 \"syslog_table\"; |  | n1 | 7 rows, " NO_SIZE},
    {.name = "a table of another name is not created",
     .table = "t",
     .expected = "describe t; | 4 no table t"},
    {.name = "a name with a point",
     .table = "s.t",
     .expected = "describe s.t; | 4 table \"s.t\" does not exist: if s is a database, use "
                 "--database s --table t"},
    {.name = "a name with a point where there are schemas",
     .table = "s.t",
     .has_schemas = true,
     .expected = "describe s.t; | 4 table \"s.t\" does not exist: if s is a schema, use --schema s "
                 "--table t"},
    {.name = "a schema file",
     .table = "t",
     .ddl = "create table t (v int)",
     .given = {{.sql = COUNT_T, .rows = {"0"}}},
     .expected = "describe t; create table t (v int); describe t; place of ?; mark of ?; place of "
                 "?; mark \"t\" \"n1\"; select count(*) from \"t\" *; settings 1; settings 2; "
                 "folder; size 1; size 2 \"t\"; | given 1, made | n1 n2 n3 v:t | 0 rows, -1 bytes "
                 "in , the server does not report the size of table t"},
    {.name = "a schema file that fails",
     .table = "t",
     .ddl = "create table t (v int)",
     .given = {{.sql = "create table t (v int)", .status = STATUS_REJECTED}},
     .expected = "describe t; create table t (v int); | 4 no create table t (v int)"},
    {.name = "a describe that fails",
     .given = {{.sql = "describe", .status = STATUS_REJECTED}},
     .expected = "describe syslog_table; | 4 no describe"},
    {.name = "a name that is not allowed",
     .table = "a`b",
     .odd = "/`",
     .expected = "| 2 --table 'a`b': given does not allow '`' in names"},
    {.name = "other odd names",
     .table = "t",
     .odd = "/`",
     .columns = "v:t",
     .given = {{.sql = COUNT_T, .rows = {"0"}}},
     .expected = "describe t; select count(*) from \"t\" *; settings 1; settings 2; folder; size "
                 "1; size 2 \"t\"; | given 1 | v:t | 0 rows, -1 bytes in , the server does not "
                 "report the size of table t"},
    {.name = "an engine",
     .engine = "Fast",
     .table_engine = "FAST",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected =
         "describe syslog_table; create table syslog_table (n1)engine =Fast; describe "
         "syslog_table; place of ?; mark of ?; place of ?; mark \"syslog_table\" \"n1\"; select "
         "count(*) from \"syslog_table\" *; " NO_MORE ", made | n1 n2 n3 v:t | 0 rows, " NO_SIZE},
    {.name = "an engine with options",
     .engine = "fast (x)",
     .table_engine = "Fast",
     .columns = "v:t",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
                 " | v:t | 0 rows, " NO_SIZE},
    {.name = "an engine whose name is longer",
     .engine = "faster",
     .table_engine = "fast",
     .columns = "v:t",
     .expected = "describe syslog_table; | 2 table 'syslog_table' has the engine fast, not faster: "
                 "omit --engine, or add --recreate"},
    {.name = "a recreated table without a mark",
     .recreate = "",
     .columns = "v:t",
     .given = {{.sql = COUNT, .rows = {"3"}}, {.sql = "mark of ?", .rows = {"mine"}}},
     .expected = "describe syslog_table; place of ?; mark of ?; select count(*) from "
                 "\"syslog_table\"; | 2 append did not make table 'syslog_table' (3 rows; columns "
                 "v) and leaves it as it is: --recreate=syslog_table drops it anyway"},
    {.name = "a recreated table that is named",
     .recreate = "syslog_table",
     .columns = "v:t",
     .given = {{.sql = COUNT, .rows = {"3"}}, {.sql = "mark of ?", .rows = {"mine"}}},
     .expected =
         "describe syslog_table; place of ?; mark of ?; drop table if exists \"syslog_table\"; "
         "describe syslog_table; create table syslog_table (n1); describe syslog_table; place of "
         "?; mark of ?; place of ?; mark \"syslog_table\" \"n1\"; select count(*) from "
         "\"syslog_table\" *; " NO_MORE ", made | n1 n2 n3 v:t | 3 rows, " NO_SIZE},
    {.name = "a recreated table without columns and rows",
     .recreate = "",
     .columns = "v:t",
     .has_no_columns = true,
     .given = {{.sql = COUNT, .rows = {"0"}}, {.sql = "mark of ?", .rows = {"mine"}}},
     .expected =
         "describe syslog_table; place of ?; mark of ?; select count(*) from \"syslog_table\"; "
         "drop table if exists \"syslog_table\"; describe syslog_table; create table syslog_table "
         "(n1); describe syslog_table; place of ?; mark of ?; place of ?; mark \"syslog_table\" "
         "\"n1\"; select count(*) from \"syslog_table\" *; " NO_MORE
         ", made | n1 n2 n3 v:t | 0 rows, " NO_SIZE},
    {.name = "a recreated table with columns and without rows",
     .recreate = "",
     .columns = "v:t",
     .given = {{.sql = COUNT, .rows = {"0"}}, {.sql = "mark of ?", .rows = {"mine"}}},
     .expected = "describe syslog_table; place of ?; mark of ?; select count(*) from "
                 "\"syslog_table\"; | 2 append did not make table 'syslog_table' (0 rows; columns "
                 "v) and leaves it as it is: --recreate=syslog_table drops it anyway"},
    {.name = "a recreated table that is not counted",
     .recreate = "",
     .columns = "v:t",
     .has_no_columns = true,
     .given = {{.sql = "mark of ?", .rows = {"mine"}}},
     .expected = "describe syslog_table; place of ?; mark of ?; select count(*) from "
                 "\"syslog_table\"; | 2 append did not make table 'syslog_table' (columns v) and "
                 "leaves it as it is: --recreate=syslog_table drops it anyway"},
    {.name = "a recreated table that is missing",
     .recreate = "",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; create table syslog_table (n1); describe syslog_table; "
                 "place of ?; mark of ?; place of ?; mark \"syslog_table\" \"n1\"; select count(*) "
                 "from \"syslog_table\" *; " NO_MORE ", made | n1 n2 n3 v:t | 0 rows, " NO_SIZE},
    {.name = "a recreated table with another engine",
     .recreate = "syslog_table",
     .engine = "Fast",
     .table_engine = "fast",
     .columns = "v:t",
     .given = {{.sql = COUNT, .rows = {"3"}}, {.sql = "mark of ?", .rows = {"mine"}}},
     .expected =
         "describe syslog_table; place of ?; mark of ?; create table append_trial (n1)engine "
         "=Fast; drop table if exists \"append_trial\"; drop table if exists \"syslog_table\"; "
         "describe syslog_table; create table syslog_table (n1)engine =Fast; describe "
         "syslog_table; place of ?; mark of ?; place of ?; mark \"syslog_table\" \"n1\"; select "
         "count(*) from \"syslog_table\" *; " NO_MORE ", made | n1 n2 n3 v:t | 3 rows, " NO_SIZE},
    {.name = "a drop that fails",
     .recreate = "syslog_table",
     .columns = "v:t",
     .given = {{.sql = "drop table if exists \"syslog_table\"", .status = STATUS_REJECTED},
               {.sql = "mark of ?", .rows = {"mine"}}},
     .expected = "describe syslog_table; place of ?; mark of ?; drop table if exists "
                 "\"syslog_table\"; | 4 no drop table if exists \"syslog_table\""},
    {.name = "a recreated table without a statement",
     .recreate = "t",
     .table = "t",
     .columns = "v:t",
     .expected = "| 2 --recreate needs --schema-file FILE here: append has no statement to create "
                 "'t' in given"},
    {.name = "columns that are left out",
     .skip_columns = "b,c",
     .columns = "a:, b:t, c:rd, d:g, e:kd, f:k, g:d",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
                 " | a f g | 0 rows, " NO_SIZE},
    {.name = "a sequence with values",
     .values = "e=1..5, x=a|b",
     .columns = "a:, e:kd, x:x",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
                 " | a e x:t | 0 rows, " NO_SIZE},
    {.name = "a column that is missing",
     .skip_columns = "a,z",
     .columns = "a:, b:",
     .expected = "describe syslog_table; | 2 --skip-columns: column 'z' of table 'syslog_table' "
                 "does not exist"},
    {.name = "a value of a missing column",
     .values = "z=1..2",
     .columns = "a:, b:",
     .expected =
         "describe syslog_table; | 2 --values: column 'z' of table 'syslog_table' does not exist"},
    {.name = "a column that is named twice",
     .skip_columns = "a,a",
     .columns = "a:, b:",
     .expected = "describe syslog_table; | 2 --skip-columns: column 'a' of table 'syslog_table' is "
                 "named twice"},
    {.name = "a column that is needed",
     .skip_columns = "a",
     .columns = "a:r, b:",
     .expected = "describe syslog_table; | 2 --skip-columns: column 'a' of table 'syslog_table' "
                 "cannot be left out: it is NOT NULL and has no default"},
    {.name = "a computed column that is left out",
     .skip_columns = "a",
     .columns = "a:rg, b:",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
                 " | b | 0 rows, " NO_SIZE},
    {.name = "values of a computed column",
     .values = "a=1..2",
     .columns = "a:g, b:",
     .expected = "describe syslog_table; | 2 --values: column 'a' of table 'syslog_table' cannot "
                 "be given values: the database computes it"},
    {.name = "values of a column that is left out",
     .values = "a=1..2",
     .skip_columns = "a",
     .columns = "a:, b:",
     .expected = "describe syslog_table; | 2 --values: column 'a' of table 'syslog_table' is left "
                 "out by --skip-columns"},
    {.name = "no column is left",
     .skip_columns = "a",
     .columns = "a:, b:g",
     .expected =
         "describe syslog_table; | 2 table 'syslog_table' has no column that append can write"},
    {.name = "a query",
     .read_sql = "select 5",
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}}, {.sql = "select 5", .rows = {"5"}}},
     .expected =
         "describe syslog_table; select count(*) from \"syslog_table\" *; settings 1; settings 2; "
         "select 5; folder; size 1; size 2 \"syslog_table\"; | given 1 | a | 0 rows, " NO_SIZE},
    {.name = "a query that fails",
     .read_sql = "select 5",
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; settings 1; "
                 "settings 2; select 5; | 4 no select 5"},
    {.name = "waits",
     .waits = WAITS_ON,
     .knows_waits = true,
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
                 " | a | 0 rows, " NO_SIZE},
    {.name = "waits that are unknown",
     .waits = WAITS_ON,
     .columns = "a:",
     .expected = "| 2 --waits: append cannot ask this database what its sessions wait for"},
    {.name = "waits that are tried",
     .waits = WAITS_TRY,
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected =
         "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
         " | a | 0 rows, " NO_SIZE " | append cannot ask this database what its sessions wait for"},
    {.name = "waits through a pooler",
     .waits = WAITS_SQL,
     .knows_waits = true,
     .is_pooled = true,
     .columns = "a:",
     .expected = "| 2 --waits: through a pooler the server does not show which of its sessions are "
                 "append's: "
                 "connect to the server itself"},
    {.name = "through a pooler",
     .is_pooled = true,
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\"; " NO_MORE
                 " | a | 0 rows, " NO_SIZE},
    {.name = "waits of another rank",
     .waits = WAITS_ON,
     .is_follower = true,
     .columns = "a:",
     .expected = "describe syslog_table; " NO_MORE " | a | 0 rows, " NO_SIZE},
    {.name = "the second query of each kind",
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}},
               {.sql = "settings 2", .rows = {"sync|off", "single"}},
               {.sql = "setting of ?", .rows = {"sync|syslog_table", "other|x"}},
               {.sql = "size 1", .rows = {"-"}},
               {.sql = "size 2 \"syslog_table\"", .rows = {"12", "13"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; settings 1; "
                 "settings 2; setting of ?; folder; size 1; size 2 \"syslog_table\"; size 2 "
                 "\"syslog_table\"; | given 1 | a | 0 rows, 12 bytes in  | sync=off, syslog_table"},
    {.name = "a setting of one cell",
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}},
               {.sql = "settings 1", .rows = {"sync|off"}},
               {.sql = "setting of ?", .rows = {"triggers"}}},
     .expected =
         "describe syslog_table; select count(*) from \"syslog_table\" *; settings 1; setting of "
         "?; folder; size 1; size 2 \"syslog_table\"; | given 1 | a | 0 rows, " NO_SIZE
         " | sync=off | triggers=triggers"},
    {.name = "sizes that need a privilege",
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}},
               {.sql = "size 1", .status = STATUS_REJECTED, .sqlstate = "42000"}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; " NO_MORE
                 " | a | 0 rows, -1 bytes in , the size needs a privilege"},
    {.name = "settings that lose the connection",
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}},
               {.sql = "settings 1", .status = STATUS_LOST},
               {.sql = "settings 2", .rows = {"sync|off"}}},
     .expected = "describe syslog_table; select count(*) from \"syslog_table\" *; settings 1; "
                 "folder; size 1; size 2 \"syslog_table\"; | given 1 | a | 0 rows, " NO_SIZE},
    {.name = "settings of tables that lose the connection",
     .columns = "a:",
     .given = {{.sql = COUNT, .rows = {"0"}},
               {.sql = "settings 1", .rows = {"sync|off"}},
               {.sql = "setting of ?", .status = STATUS_LOST}},
     .expected =
         "describe syslog_table; select count(*) from \"syslog_table\" *; settings 1; setting of "
         "?; folder; size 1; size 2 \"syslog_table\"; | given 1 | a | 0 rows, " NO_SIZE},
    {.name = "a trial that fails",
     .recreate = "syslog_table",
     .engine = "Fast",
     .columns = "v:t",
     .given = {{.sql = "create trial", .status = STATUS_REJECTED},
               {.sql = "mark of ?", .rows = {"mine"}}},
     .expected = "describe syslog_table; place of ?; mark of ?; create table append_trial "
                 "(n1)engine =Fast; | 4 no create trial"},
    {.name = "a trial table that stays",
     .recreate = "syslog_table",
     .engine = "Fast",
     .columns = "v:t",
     .given = {{.sql = "drop trial", .status = STATUS_REJECTED},
               {.sql = "mark of ?", .rows = {"mine"}}},
     .expected = "describe syslog_table; place of ?; mark of ?; create table append_trial "
                 "(n1)engine =Fast; drop table if exists \"append_trial\"; | 4 no drop trial"},
};

TEST(test_tables)
{
    EACH_CASE (i, cases, "%s", cases[i].name) {
        struct buffer text;
        buffer_init(&text);
        run_case(&cases[i], &text);
        assert_string_equal(buffer_text(&text), cases[i].expected);
        buffer_fini(&text);
    }
}

/* The server's answers after the run, and the outcome of the run's rows. */
static const struct {
    const char *name;
    uint64_t acknowledged, in_doubt, rejected;
    unsigned cut; /* sessions whose connections were cut */
    struct given given[6];
    const char *expected;
} verifications[] = {
    {"all rows are there",
     50,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"150"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 150, "
     "lost 0 to 0, surplus 0 | 1000 to 2000 bytes "},
    {"rows are lost",
     50,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"149"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 149, "
     "lost 0 to 1, surplus 0 | 1000 to 2000 bytes "},
    {"rows are certainly lost",
     50,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"49"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 49, "
     "lost 1 to 50, surplus 0 | 1000 to 2000 bytes "},
    {"more rows than expected",
     50,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"151"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 151, "
     "lost 0 to 0, surplus 1 | 1000 to 2000 bytes "},
    {"fewer rows than before",
     0,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"99"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 99, "
     "lost 0 to 0, surplus 0 | 1000 to 2000 bytes "},
    {"rows in doubt that arrived",
     50,
     10,
     0,
     0,
     {{.sql = COUNT, .rows = {"155"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 155, "
     "lost 0 to 0, surplus 0 | 1000 to 2000 bytes "},
    {"rejected rows that arrived",
     50,
     10,
     5,
     0,
     {{.sql = COUNT, .rows = {"165"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 165, "
     "lost 0 to 0, surplus 0 | 1000 to 2000 bytes "},
    {"a server that does not answer",
     50,
     0,
     0,
     0,
     {{.sql = "settings 1", .rows = {"sync|on", "level|2"}}, {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; | 1: 0 to 0, lost 0 to 0, surplus 0 no select "
     "count(*) from \"syslog_table\"| 1000 to -1 bytes the size of the tables after the run is "
     "unknown: the server did not report it"},
    {"settings that changed",
     1,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"101"}},
      {.sql = "settings 1", .rows = {"sync|off", "new|1"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 101, "
     "lost 0 to 0, surplus 0 | 1000 to 2000 bytes | sync=off| new=1| level="},
    {"settings without an answer",
     1,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"101"}}, {.sql = "size 1", .rows = {"2000"}}},
     "select count(*) from \"syslog_table\" *; settings 1; settings 2; size 1; | 2: 100 to 101, "
     "lost 0 to 0, surplus 0 | 1000 to 2000 bytes "},
    {"a size without an answer",
     1,
     0,
     0,
     0,
     {{.sql = COUNT, .rows = {"101"}}, {.sql = "settings 1", .rows = {"sync|on", "level|2"}}},
     "select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 to 101, "
     "lost 0 to 0, surplus 0 | 1000 to -1 bytes the size of the tables after the run is unknown: "
     "the server did not report it"},
    {"cut sessions",
     1,
     0,
     0,
     3,
     {{.sql = COUNT, .rows = {"101"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "end 5; end 7; select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | "
     "2: 100 to 101, lost 0 to 0, surplus 0 | 1000 to 2000 bytes | ended 2"},
    {"a cut session",
     1,
     0,
     0,
     1,
     {{.sql = COUNT, .rows = {"101"}},
      {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
      {.sql = "size 1", .rows = {"2000"}}},
     "end 5; select count(*) from \"syslog_table\" *; settings 1; setting of ?; size 1; | 2: 100 "
     "to 101, lost 0 to 0, surplus 0 | 1000 to 2000 bytes | ended 1"},
};

static void write_verification(struct buffer *text, const struct result *result)
{
    const struct verification *verification = &result->verification;
    buffer_add_format(text,
                      "| %d: %" PRIu64 " to %" PRIu64 ", lost %" PRIu64 " to %" PRIu64
                      ", surplus %" PRIu64 " %s| %" PRId64 " to %" PRId64 " bytes %s",
                      (int)verification->state, verification->rows_before, verification->rows_after,
                      verification->lost, verification->lost_at_most, verification->surplus,
                      verification->reason, result->table_bytes_before, result->table_bytes_after,
                      result->resources.io_of.note);
    const struct server_settings *changed = &result->hosts[0].settings_changed;
    for (size_t i = 0; i < changed->count; i++) {
        buffer_add_format(text, "| %s=%s", changed->entries[i].name, changed->entries[i].value);
    }
}

TEST(test_verification)
{
    static const struct setup_case before = {
        .columns = "n1:1, n2:2, n3:3",
        .given = {{.sql = COUNT, .rows = {"100"}},
                  {.sql = "settings 1", .rows = {"sync|on", "level|2"}},
                  {.sql = "size 1", .rows = {"1000"}}}};
    EACH_CASE (i, verifications, "%s", verifications[i].name) {
        struct setup_case after = before;
        struct plan plan = make_plan(&before);
        struct error error = {.kind = ERROR_NONE};
        struct setup setup;
        struct buffer text;
        struct result *result = calloc(1, sizeof *result);
        assert_non_null(result);
        plan.verify_mode = VERIFY_COUNT;
        server = (struct adapter_conn){.now = &before, .columns = before.columns};
        buffer_init(&server.log);
        buffer_init(&text);
        assert_int_equal(setup_prepare(&setup, &plan, NULL, &error), EXIT_CODE_OK);
        assert_int_equal(setup_complete(&setup, &plan, &error), EXIT_CODE_OK);
        assert_true(result_allocate_tables(result, 1, 1, false));
        struct cut_session names[] = {{{5, 0}, 0}, {{6, 0}, 1}, {{7, 0}, 0}};
        struct cut_list cut = {.entries = names, .count = verifications[i].cut};
        setup.cut = &cut;
        result->sessions_cut = verifications[i].cut;
        result->rows.acknowledged = verifications[i].acknowledged;
        result->totals.counters[RECORDER_ROWS_ACKNOWLEDGED] = verifications[i].acknowledged;
        result->hosts[0].counters = result->totals.counters;
        result->rows.in_doubt = verifications[i].in_doubt;
        result->rows.rejected = verifications[i].rejected;
        memcpy(after.given, verifications[i].given, sizeof verifications[i].given);
        memset(&after.given[6], 0, sizeof after.given[6]);
        server.now = &after;
        buffer_clear(&server.log);
        verify_result(&setup, &plan, result);
        buffer_add_text(&text, buffer_text(&server.log));
        write_verification(&text, result);
        if (verifications[i].cut > 0) {
            buffer_add_format(&text, "| ended %" PRIu64, cut.ended);
        }
        assert_string_equal(buffer_text(&text), verifications[i].expected);
        buffer_fini(&text);
        buffer_fini(&server.log);
        setup_fini(&setup);
        result_free(result);
    }
}

/* The size of the tables is measured on request. All measurements use one connection until it
 * fails. */
TEST(test_measurements)
{
    static const struct setup_case works = {.given = {{.sql = "size 1", .rows = {"1000"}}}},
                                   fails = {.given = {{.sql = "x"}}};
    static const struct {
        const struct setup_case *now;
        int64_t bytes;
    } readings[] = {{&works, 1000}, {&works, 1000}, {&fails, -1}, {&fails, -1}, {&works, 1000}};
    char statement[] = "size 1", *statements[] = {statement};
    const struct storage storage = {.count = 1, .statements = statements};
    const struct plan plan = make_plan(&works);
    server = (struct adapter_conn){.now = &works};
    buffer_init(&server.log);
    atomic_store(&queries_run, 0);
    struct storage_watch *watch = storage_watch_start(&storage, &plan, 0);
    assert_non_null(watch);
    assert_int_equal(storage_watch_take(watch), -1); /* before the first request */
    EACH_CASE (i, readings, "measurement %zu", i) {
        server.now = readings[i].now;
        storage_watch_ask(watch);
        int64_t bytes = -1;
        for (int tries = 0; tries < 1000 && bytes != readings[i].bytes; tries++) {
            bytes = storage_watch_take(watch);
        }
        while (atomic_load(&queries_run) < i + 1) {
            mono_sleep(MONO_NS_PER_MS);
        }
        assert_int_equal(storage_watch_take(watch), readings[i].bytes);
    }
    storage_watch_stop(watch);
    assert_string_equal(buffer_text(&server.log), "size 1; size 1; size 1; size 1; size 1; ");
    buffer_fini(&server.log);
    storage_watch_ask(NULL);
    assert_int_equal(storage_watch_take(NULL), -1);
    storage_watch_stop(NULL);
}

/* A file is measured with its journal; a database without queries is not measured. */
TEST(test_sizes_of_files)
{
    char name[] = "/tmp/append_setup_XXXXXX";
    char journal[64];
    const int fd = mkstemp(name);
    assert_true(fd >= 0 && write(fd, "12345", 5) == 5 && close(fd) == 0);
    const struct adapter of_file = {.name = "file", .flags = ADAPTER_FILE};
    struct plan plan = {.adapter = &of_file, .target.path = name, .table_name = "t"};
    const struct connection_info unknown = {.storage = NULL};
    struct storage storage;
    storage_find(&storage, &plan, &unknown, NULL);
    assert_string_equal(storage.directory, name);
    assert_string_equal(storage.note, "");
    assert_int_equal(storage.bytes_before, -1);
    assert_int_equal(storage_read(&storage, &plan, NULL, NULL), 5);
    struct storage_watch *watch = storage_watch_start(&storage, &plan, 0);
    assert_int_equal(storage_watch_take(watch), 5);
    storage_watch_stop(watch);
    static const char *const ends[] = {"-wal", "-journal"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        snprintf(journal, sizeof journal, "%s%s", name, ends[i]);
        FILE *file = fopen(journal, "w");
        assert_true(file != NULL && fputs("12", file) >= 0 && fclose(file) == 0);
        assert_int_equal(storage_read(&storage, &plan, NULL, NULL), 7);
        assert_int_equal(unlink(journal), 0);
    }
    assert_int_equal(unlink(name), 0);
    assert_int_equal(storage_read(&storage, &plan, NULL, NULL), -1);
    plan.target.path = NULL;
    storage_find(&storage, &plan, &unknown, NULL);
    assert_string_equal(storage.note, "append cannot measure the size of tables in this database");
    assert_int_equal(storage_read(&storage, &plan, NULL, NULL), -1);
}

/* Which tables are measured, and why the others are not. */
TEST(test_storage)
{
    static const struct {
        const char *table;
        size_t hosts;
        unsigned flags;
        struct given given[4];
        size_t count;
        const char *directory, *note;
    } tables[] = {
        {"t",
         0,
         0,
         {{.sql = "folder", .rows = {"/data", "x"}}, {.sql = "size 1", .rows = {"0"}}},
         1,
         "/data",
         ""},
        {"t",
         2,
         0,
         {{.sql = "folder", .rows = {"/data"}}, {.sql = "size 1", .rows = {"0"}}},
         0,
         "/data",
         "with several hosts the tables are not measured, and disk figures are those "
         "of one host"},
        {"t",
         1,
         0,
         {{.sql = "size 1", .rows = {"-1"}}, {.sql = "size 2 \"t\"", .rows = {"1|2"}}},
         0,
         "",
         "the server does not report the size of table t"},
        {"t'",
         0,
         0,
         {{.sql = "size 1", .rows = {"5"}}},
         0,
         "",
         "the server does not report the size of table t'"},
        {"t\\",
         0,
         0,
         {{.sql = "size 1", .rows = {"5"}}},
         0,
         "",
         "the server does not report the size of table t\\"},
        {"t",
         0,
         0,
         {{.sql = "size 1", .status = STATUS_REJECTED, .sqlstate = "42000"},
          {.sql = "size 2 \"t\"", .rows = {"5"}}},
         1,
         "",
         ""},
        {"t",
         0,
         ADAPTER_DISCARDS,
         {{.sql = "size 1", .status = STATUS_REJECTED, .sqlstate = "42000"}},
         0,
         "",
         "the size needs a privilege"},
    };
    EACH_CASE (i, tables, "row %zu, %s", i, tables[i].note) {
        struct setup_case now = {.table = tables[i].table};
        memcpy(now.given, tables[i].given, sizeof tables[i].given);
        struct plan plan = make_plan(&now);
        struct adapter other = *plan.adapter;
        other.flags = tables[i].flags;
        plan.adapter = &other;
        plan.host_count = tables[i].hosts;
        struct connection_info connection = {.host = ""};
        struct storage storage;
        server = (struct adapter_conn){.now = &now};
        buffer_init(&server.log);
        inspect(&other, &server, &connection);
        storage_find(&storage, &plan, &connection, &server);
        assert_string_equal(storage.directory, tables[i].directory);
        assert_string_equal(storage.note, tables[i].note);
        assert_int_equal(storage.count, tables[i].count);
        storage_fini(&storage);
        buffer_fini(&server.log);
    }
}

/* What the user reads when the server refuses the first connection. */
TEST(test_refused_connections)
{
    static const struct {
        enum status status;
        enum error_kind kind;
        const char *text;
        unsigned flags;
        size_t hosts;
        const char *user;
        enum exit_code code;
        unsigned opens;
        const char *expected;
    } refusals[] = {
        {STATUS_FATAL, ERROR_AUTH, "no such user", 0, 0, NULL, EXIT_CODE_SERVER, 1,
         "given at localhost:9: no such user; name another user with --user, or in the URL: "
         "USER@HOST"},
        {STATUS_FATAL, ERROR_AUTH, "no such user", 0, 0, "joe", EXIT_CODE_SERVER, 1,
         "given at localhost:9, user joe: no such user; name another user with --user, or in the "
         "URL: USER@HOST"},
        {STATUS_FATAL, ERROR_AUTH, "wrong password", 0, 0, NULL, EXIT_CODE_SERVER, 1,
         "given at localhost:9: wrong password"},
        {STATUS_FATAL, ERROR_AUTH, "use --user", 0, 0, NULL, EXIT_CODE_SERVER, 1,
         "given at localhost:9: use --user"},
        {STATUS_FATAL, ERROR_NOT_FOUND, "no database", 0, 0, NULL, EXIT_CODE_SERVER, 1,
         "given at localhost:9: no database; name another database with --database, or in the "
         "URL: /DATABASE"},
        {STATUS_FATAL, ERROR_NOT_FOUND, "no database", ADAPTER_STRING, 0, NULL, EXIT_CODE_SERVER, 1,
         "no database"},
        {STATUS_FATAL, ERROR_NOT_FOUND, "no database", ADAPTER_EMBEDDED, 0, NULL, EXIT_CODE_SERVER,
         1, "no database"},
        {STATUS_LOST, ERROR_UNREACHABLE, "no server", 0, 0, NULL, EXIT_CODE_SERVER, 1, "no server"},
        {STATUS_LOST, ERROR_LIMIT, "no room", 0, 0, NULL, EXIT_CODE_SERVER, 1, "no room"},
        {STATUS_FATAL, ERROR_USAGE, "no", 0, 0, NULL, EXIT_CODE_USAGE, 1, "no"},
        {STATUS_FATAL, ERROR_UNSUPPORTED, "no", 0, 0, NULL, EXIT_CODE_USAGE, 1, "no"},
        {STATUS_FATAL, ERROR_MEMORY, "no", 0, 0, NULL, EXIT_CODE_CLIENT_LIMIT, 1, "no"},
        {STATUS_FATAL, ERROR_SYSTEM, "no", 0, 0, NULL, EXIT_CODE_CLIENT_LIMIT, 1, "no"},
        {STATUS_LOST, ERROR_UNREACHABLE, "no server", 0, 3, NULL, EXIT_CODE_SERVER, 3,
         "none of 3 hosts accepts a session; last error: no server"},
        {STATUS_FATAL, ERROR_USAGE, "no", 0, 2, NULL, EXIT_CODE_USAGE, 2, "no"},
        {STATUS_LOST, ERROR_CANCELLED, "ended", 0, 2, NULL, EXIT_CODE_SERVER, 1, "ended"},
        {STATUS_FATAL, ERROR_AUTH, "no such user", 0, 2, NULL, EXIT_CODE_SERVER, 2,
         "none of 2 hosts accepts a session; last error: no such user"},
    };
    EACH_CASE (i, refusals, "row %zu, %s", i, refusals[i].text) {
        static const struct setup_case now = {.columns = "v:t"};
        struct plan plan = make_plan(&now);
        struct adapter other = *plan.adapter;
        struct setup_found found;
        struct error error = {.kind = ERROR_NONE};
        other.flags = refusals[i].flags;
        plan.adapter = &other;
        plan.target.port = 9;
        plan.target.user = refusals[i].user;
        plan.host_count = refusals[i].hosts;
        server = (struct adapter_conn){.now = &now, .columns = now.columns};
        buffer_init(&server.log);
        opens = 0;
        refusal.status = refusals[i].status;
        refusal.kind = refusals[i].kind;
        refusal.text = refusals[i].text;
        refusal.times = 9;
        assert_int_equal(setup_find_table(&plan, &found, &error), refusals[i].code);
        refusal.times = 0;
        assert_string_equal(error.text, refusals[i].expected);
        assert_int_equal(opens, refusals[i].opens);
        assert_string_equal(buffer_text(&server.log), "");
        buffer_fini(&server.log);
    }
}

/* A server that truncates answers is asked for complete answers. The server may refuse this
 * request. */
TEST(test_tables_that_are_looked_for)
{
    static const struct {
        const char *name, *lift;
        struct setup_case now;
        enum exit_code code;
        bool is_there;
        const char *log;
    } searches[] = {
        {"there", NULL, {.columns = "v:t"}, EXIT_CODE_OK, true, "describe syslog_table; "},
        {"missing", NULL, {.columns = NULL}, EXIT_CODE_OK, false, "describe syslog_table; "},
        {"refused",
         NULL,
         {.given = {{.sql = "describe", .status = STATUS_FATAL}}},
         EXIT_CODE_SERVER,
         false,
         "describe syslog_table; "},
        {"lifted", "lift", {.columns = "v:t"}, EXIT_CODE_OK, true, "lift; describe syslog_table; "},
        {"not lifted",
         "lift",
         {.columns = "v:t", .given = {{.sql = "lift", .status = STATUS_REJECTED}}},
         EXIT_CODE_OK,
         true,
         "lift; describe syslog_table; "},
        {"lost",
         "lift",
         {.columns = "v:t", .given = {{.sql = "lift", .status = STATUS_LOST}}},
         EXIT_CODE_SERVER,
         false,
         "lift; "},
    };
    EACH_CASE (i, searches, "%s", searches[i].name) {
        const struct plan plan = make_plan(&searches[i].now);
        struct setup_found found;
        struct error error = {.kind = ERROR_NONE};
        server = (struct adapter_conn){.now = &searches[i].now, .columns = searches[i].now.columns};
        buffer_init(&server.log);
        lift_row_limit = searches[i].lift;
        assert_int_equal(setup_find_table(&plan, &found, &error), searches[i].code);
        lift_row_limit = NULL;
        assert_int_equal(found.is_there, searches[i].is_there);
        assert_int_equal(found.has_marks,
                         searches[i].code == EXIT_CODE_OK || searches[i].lift == NULL);
        assert_string_equal(buffer_text(&server.log), searches[i].log);
        buffer_fini(&server.log);
    }
}

/* Whether the server runs on another machine, and the note about the server's address. */
TEST(test_where_the_server_is)
{
    static const struct {
        const char *host, *address, *cgroup, *note;
        pid_t pid;
        bool is_embedded, is_remote;
    } places[] = {
        {"localhost", "", NULL, "", 0, false, false},
        {"localhost", "127.0.0.1", NULL, "", 0, false, false},
        {"localhost", "192.0.2.7", NULL, "the connection goes to 192.0.2.7, not to localhost", 0,
         false, true},
        {"localhost", "192.0.2.7", "/db", "the connection goes to 192.0.2.7, not to localhost", 0,
         false, false},
        {"localhost", "192.0.2.7", NULL, "the connection goes to 192.0.2.7, not to localhost", 71,
         false, false},
        {"192.0.2.7", "", NULL, "", 0, false, true},
        {"192.0.2.7", "192.0.2.7", NULL, "", 0, false, true},
        {"192.0.2.7", "127.0.0.1", NULL, "the connection goes to 127.0.0.1, not to 192.0.2.7", 0,
         false, false},
        {"192.0.2.7", "", NULL, "", 0, true, false},
    };
    const struct setup_case now = {
        .columns = "n1:1",
        .given = {{.sql = "select count(*) from \"syslog_table\"", .rows = {"7"}}}};
    EACH_CASE (i, places, "%s, %s", places[i].host, places[i].address) {
        const struct facts facts = {
            .seed = 9, .server_cgroup = places[i].cgroup, .server_pid = places[i].pid};
        struct plan plan = make_plan(&now);
        plan.facts = &facts;
        plan.target.host = places[i].host;
        peer_address = places[i].address;
        is_embedded = places[i].is_embedded;
        server = (struct adapter_conn){.now = &now, .columns = now.columns};
        buffer_init(&server.log);
        struct setup setup;
        struct error error = {.kind = ERROR_NONE};
        assert_int_equal(setup_prepare(&setup, &plan, NULL, &error), EXIT_CODE_OK);
        assert_int_equal(setup.is_remote, places[i].is_remote);
        assert_string_equal(setup.connection.note, places[i].note);
        setup_fini(&setup);
        buffer_fini(&server.log);
    }
    peer_address = "";
    is_embedded = false;
}

/* The commands that remove what a run leaves. */
TEST(test_removals)
{
    static const struct {
        const char *name, *table, *schema, *columns, *expected;
        bool has_made_table, had_rows, verifies_rows, has_created_database;
        char quote;
        unsigned flags;
    } removals[] = {
        {"a table of the run", "t", NULL, "v:t", "drop table t /* made by this run */", true, false,
         false, false, '"', 0},
        {"names in quotes", "T", "s-1", "v:t", "drop table \"s-1\".\"T\" /* made by this run */",
         true, false, false, false, '"', 0},
        {"a name of digits", "12", "s_2", "v:t", "drop table s_2.\"12\" /* made by this run */",
         true, false, false, false, '"', 0},
        {"no quotes", "T", NULL, "v:t", "drop table T /* made by this run */", true, false, false,
         false, 0, 0},
        {"rows with a tag", "t", NULL, "n1:1, n2:2, n3:3", "delete from t where n1 = 7", false,
         false, false, false, '"', 0},
        {"rows beside others", "t", NULL, "n1:1, n2:2, n3:3",
         "delete from t where n1 = 7 /* also deletes rows that had this n1 before the run */",
         false, true, false, false, '"', 0},
        {"verified rows beside others", "t", NULL, "n1:1, n2:2, n3:3", "delete from t where n1 = 7",
         false, true, true, false, '"', 0},
        {"rows without a tag", "t", NULL, "v:t",
         "not possible: no column of t identifies the rows of this run", false, false, false, false,
         '"', 0},
        {"a database of the run", "t", NULL, "v:t",
         "drop table t /* made by this run */; drop database d /* made by this run */", true, false,
         false, true, '"', 0},
        {"nothing stays", "t", NULL, "v:t", "", true, false, false, true, '"', ADAPTER_DISCARDS},
    };
    EACH_CASE (i, removals, "%s", removals[i].name) {
        const struct setup_case now = {.table = removals[i].table, .columns = removals[i].columns};
        struct plan plan = make_plan(&now);
        struct adapter other = *plan.adapter;
        struct setup setup = {.has_made_table = removals[i].has_made_table};
        struct error error = {.kind = ERROR_NONE};
        char text[400];
        server = (struct adapter_conn){.now = &now, .columns = now.columns};
        buffer_init(&server.log);
        other.flags = removals[i].flags;
        plan.adapter = &other;
        plan.target.schema = removals[i].schema;
        plan.verify_mode = removals[i].verifies_rows ? VERIFY_ROWS : VERIFY_COUNT;
        assert_int_equal(setup_allocate(&setup, &plan, &error), EXIT_CODE_OK);
        assert_int_equal(describe(&other, &server, "t", &setup.own->table, &error), STATUS_OK);
        setup.connection.identifier_quote = removals[i].quote;
        setup.connection.has_created_database = removals[i].has_created_database;
        snprintf(setup.connection.database, sizeof setup.connection.database, "d");
        setup.hosts[0].rows_before[0] = removals[i].had_rows ? 5 : 0;
        setup_describe_removal(&setup, &plan, text, sizeof text);
        assert_string_equal(text, removals[i].expected);
        setup_fini(&setup);
        buffer_fini(&server.log);
    }
}

/* Another rank gets the seed, the hosts, their rows, and the sessions of other clients. */
TEST(test_facts_for_ranks)
{
    const struct setup_case now = {.table = "t"};
    struct plan plan = make_plan(&now);
    struct facts facts = {.seed = 1}, all = {.seed = UINT64_C(18446744073709551615)};
    struct setup here = {.server.count = 2}, there = {.server.count = 2},
                 older = {.server.count = 3};
    struct buffer text = {0};
    struct error error = {.kind = ERROR_NONE};
    plan.facts = &all;
    plan.host_count = 2;
    assert_int_equal(setup_allocate(&here, &plan, &error), EXIT_CODE_OK);
    assert_int_equal(setup_allocate(&there, &plan, &error), EXIT_CODE_OK);
    assert_int_equal(setup_allocate(&older, &plan, &error), EXIT_CODE_OK);
    here.hosts[1].is_known = true;
    here.hosts[0].rows_before[0] = 3;
    here.hosts[1].rows_before[0] = 4;
    here.server.sessions[0].used = 5;
    here.server.sessions[1].used = 6;
    setup_pack(&here, &plan, &text);
    assert_string_equal(buffer_text(&text), "18446744073709551615 0 3 1 4 5 6");
    there.hosts[0].is_known = true;
    setup_unpack(&there, &facts, buffer_text(&text));
    assert_true(facts.seed == all.seed && !there.hosts[0].is_known && there.hosts[1].is_known);
    assert_true(there.hosts[0].rows_before[0] == 3 && there.hosts[1].rows_before[0] == 4);
    assert_true(there.server.sessions[0].used == 5 && there.server.sessions[1].used == 6);
    assert_true(setup_had_rows(&there));
    there.hosts[0].rows_before[0] = 0;
    assert_true(setup_had_rows(&there));
    there.hosts[1].rows_before[0] = 0;
    assert_false(setup_had_rows(&there));
    /* this rank knows one limit more than rank 0 */
    older.server.sessions[2].used = 9;
    setup_unpack(&older, &facts, buffer_text(&text));
    assert_true(older.server.sessions[1].used == 6 && older.server.sessions[2].used == 9);
    buffer_fini(&text);
    setup_fini(&here);
    setup_fini(&there);
    setup_fini(&older);
}

/* The line of append prepare. */
TEST(test_what_was_prepared)
{
    static const struct {
        struct setup_made made;
        uint64_t rows;
        unsigned flags;
        const char *expected;
    } lines[] = {
        {{0}, 0, ADAPTER_DISCARDS, "nothing to prepare: given keeps no rows"},
        {{0}, 1, 0, "nothing to do: 1 table with 1 row already exists"},
        {{0}, 1500, 0, "nothing to do: 1 table with 1,500 rows already exists"},
        {{.tables = 1, .rows = 1000, .load_ns = 2 * MONO_NS_PER_S, .indexes = 2},
         1000,
         0,
         "1 table created, 1,000 rows loaded in 2.00 s, 500 rows/s, 2 indexes created; 1 table "
         "with 1,000 rows in total"},
        {{.tables = 2, .load_ns = MONO_NS_PER_S},
         5,
         0,
         "2 tables created, 0 rows loaded in 1.00 s; 1 table with 5 rows in total"},
        {{.rows = 1, .load_ns = MONO_NS_PER_S, .indexes = 1},
         5,
         0,
         "1 row loaded in 1.00 s, 1 rows/s, 1 index created; 1 table with 5 rows in total"},
    };
    EACH_CASE (i, lines, "%s", lines[i].expected) {
        static const struct setup_case now = {.table = "t"};
        struct plan plan = make_plan(&now);
        struct adapter other = *plan.adapter;
        struct setup setup = {.made = lines[i].made};
        struct error error = {.kind = ERROR_NONE};
        char text[300];
        other.flags = lines[i].flags;
        plan.adapter = &other;
        assert_int_equal(setup_allocate(&setup, &plan, &error), EXIT_CODE_OK);
        setup.hosts[0].rows_before[0] = lines[i].rows;
        setup_describe_made(&setup, &plan, text, sizeof text);
        assert_string_equal(text, lines[i].expected);
        setup_fini(&setup);
    }
}

/* The counts of --io-trace are read until two readings are the same. */
TEST(test_counts_of_io)
{
    static const char *const counters[] = {"io 1", "io 2", NULL};
    static const struct storage_queries words = {.counters = counters}, none = {.counters = NULL};
    static const struct {
        const char *name;
        const struct storage_queries *words;
        size_t hosts;
        struct given given[3];
        const char *log;
        size_t count;
    } readings[] = {
        {"unknown storage", NULL, 0, {{.sql = "io 1", .rows = {"a|1"}}}, "", 0},
        {"no queries", &none, 0, {{.sql = "io 1", .rows = {"a|1"}}}, "", 0},
        {"several hosts", &words, 2, {{.sql = "io 1", .rows = {"a|1"}}}, "", 0},
        {"the first query",
         &words,
         0,
         {{.sql = "io 1", .rows = {"a|1", "b|2|3", "c|4"}}},
         "io 1; io 1; ",
         2},
        {"the second query",
         &words,
         0,
         {{.sql = "io 2", .rows = {"a|1"}}},
         "io 1; io 2; io 1; io 2; ",
         1},
        {"an empty answer",
         &words,
         0,
         {{.sql = "io 1"}, {.sql = "io 2", .rows = {"a|1"}}},
         "io 1; io 2; io 1; io 2; ",
         1},
        {"a lost connection", &words, 0, {{.sql = "io 1", .status = STATUS_LOST}}, "io 1; ", 0},
        {"no answer", &words, 0, {{.sql = "x"}}, "io 1; io 2; ", 0},
    };
    EACH_CASE (i, readings, "%s", readings[i].name) {
        struct setup_case now = {.table = "t"};
        memcpy(now.given, readings[i].given, sizeof readings[i].given);
        struct plan plan = make_plan(&now);
        const struct setup setup = {.connection.storage = readings[i].words};
        struct trace_counters found = {.count = 9};
        server = (struct adapter_conn){.now = &now};
        buffer_init(&server.log);
        plan.host_count = readings[i].hosts;
        server_count_io(&setup, &plan, &found);
        assert_string_equal(buffer_text(&server.log), readings[i].log);
        assert_int_equal(found.count, readings[i].count);
        assert_int_equal(found.taken_ns > 0, found.count > 0);
        if (found.count > 0) {
            assert_string_equal(found.entries[0].name, "a");
            assert_int_equal(found.entries[0].value, 1);
            assert_string_equal(found.entries[found.count - 1].name, found.count == 2 ? "c" : "a");
        }
        buffer_fini(&server.log);
    }
}
