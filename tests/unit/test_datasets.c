/* Tests of load/datasets.c: the statements that create, mark and drop a script's tables, and the
 * tables that are refused, with a server that writes down its statements. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/dialect.h"
#include "base/text.h"
#include "load/loader.h"
#include "load/table_load.h"
#include "plan/facts.h"
#include "script/script.h"
#include "unit/usage.h"

enum {
    TABLES_MAX = 3
};

/* A table of the server. */
struct there {
    char name[32];
    const struct table *columns;
    const char *engine;
    char comment[400];
    int64_t rows;
};

/* The server. */
static struct {
    struct there tables[TABLES_MAX];
    const char *engine;   /* the engine of new tables */
    const char *refused;  /* part of the statement that fails, or NULL */
    enum error_kind kind; /* kind of the server's errors; ERROR_NONE stands for ERROR_SERVER */
    int64_t parts, keys;  /* numbers of partitions and of foreign keys that each table has */
    int64_t chunks[3][2];
    const char *other; /* object that depends on every table, or NULL */
    unsigned answers;
    unsigned busy;      /* appends that the server refuses because it is busy */
    uint64_t short_by;  /* rows of an append that the server does not store */
    struct there *adds; /* the table of the append under way */
    uint64_t pending;
    struct buffer log;
} server;

static struct plan plan;
static struct setup setup;
static char path[64];

static struct there *find(const char *name)
{
    for (size_t i = 0; i < TABLES_MAX; i++) {
        if (strcmp(server.tables[i].name, name) == 0) {
            return &server.tables[i];
        }
    }
    return NULL;
}

static enum status refuse(const char *sql, struct error *error)
{
    error_set(error, server.kind == ERROR_NONE ? ERROR_SERVER : server.kind, 1, "42601",
              "refused: %s", sql);
    return STATUS_REJECTED;
}

/* Executes "create table NAME …", "mark NAME 'TEXT'" and "drop table if exists NAME". */
static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    char name[32] = "", text[400] = "";
    (void)conn;
    buffer_add_format(&server.log, "%s\n", sql);
    if (server.refused != NULL && strstr(sql, server.refused) != NULL) {
        return refuse(sql, error);
    }
    if (sscanf(sql, "create table \"%31[^\"]", name) == 1) {
        struct there *room = find("");
        assert_non_null(room);
        *room = (struct there){.engine = server.engine};
        memcpy(room->name, name, sizeof name);
    } else if (sscanf(sql, "mark \"%31[^\"]\" '%399[^']", name, text) == 2) {
        memcpy(find(name)->comment, text, sizeof text);
    } else if (sscanf(sql, "drop table if exists \"%31[^\"]", name) == 1) {
        find(name)->name[0] = '\0';
    }
    return STATUS_OK;
}

static enum status describe(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error)
{
    (void)adapter, (void)conn;
    const struct there *there = find(table_name);
    if (there == NULL) {
        error_set(error, ERROR_NOT_FOUND, 1, "42P01", "no such table");
        return STATUS_REJECTED;
    }
    const struct table *columns = there->columns;
    for (size_t i = 0; columns == NULL && i < plan.script->dataset_count; i++) {
        const struct script_dataset *dataset = &plan.script->datasets[i];
        columns = strcmp(dataset->name, table_name) == 0 ? &dataset->table : NULL;
    }
    assert_int_equal(table_init(table, table_name, error), STATUS_OK);
    snprintf(table->engine, sizeof table->engine, "%s", there->engine == NULL ? "" : there->engine);
    for (size_t c = 0; c < columns->column_count; c++) {
        assert_int_equal(table_add_column(table, &columns->columns[c], error), STATUS_OK);
    }
    return STATUS_OK;
}

static void answer_number(struct answer *answer, int64_t number)
{
    const struct cell cell = {.type = COLUMN_INT64, .as.int64 = number};
    answer->take(answer->context, &cell, 1);
}

static void answer_text(struct answer *answer, const char *text)
{
    const struct cell cell = {.type = COLUMN_TEXT, .as.text = {text, (uint32_t)strlen(text)}};
    answer->take(answer->context, &cell, 1);
}

/* Answers the queries for counts, marks and chunks. */
static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    char name[32] = "";
    (void)conn;
    if (server.refused != NULL && strstr(statement->sql, server.refused) != NULL) {
        return refuse(statement->sql, error);
    }
    if (parameters != NULL) {
        const struct text_value *value = &parameters->columns[0].values.text[0];
        snprintf(name, sizeof name, "%.*s", (int)value->length, value->bytes);
    }
    if (sscanf(statement->sql, "select count(*) from \"%31[^\"]", name) == 1) {
        answer_number(answer, find(name)->rows);
    } else if (strcmp(statement->sql, "parts of ?") == 0) {
        answer_number(answer, server.parts);
    } else if (strcmp(statement->sql, "keys of ?") == 0) {
        answer_number(answer, server.keys);
    } else if (strcmp(statement->sql, "place of ?") == 0) {
        answer_text(answer, name);
    } else if (strcmp(statement->sql, "mark of ?") == 0) {
        answer_text(answer, find(name)->comment);
    } else if (strcmp(statement->sql, "others of ?") == 0 && server.other != NULL) {
        answer_text(answer, server.other);
    } else if (strncmp(statement->sql, "vacuum", 6) == 0 ||
               strncmp(statement->sql, "analyze", 7) == 0 ||
               strncmp(statement->sql, "number", 6) == 0) {
        buffer_add_format(&server.log, "%s\n", statement->sql);
    } else if (statement->reads_numbers) {
        buffer_add_format(&server.log, "%s\n", statement->sql);
        for (size_t i = 0; i < COUNT_OF(server.chunks) && server.chunks[i][1] > 0; i++) {
            const struct cell cells[] = {{.type = COLUMN_INT64, .as.int64 = server.chunks[i][0]},
                                         {.type = COLUMN_INT64, .as.int64 = server.chunks[i][1]}};
            if (!answer->take(answer->context, cells, 2)) {
                break;
            }
        }
    }
    return STATUS_OK;
}

static enum status prepare(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error)
{
    (void)conn, (void)prepared;
    buffer_add_format(&server.log, "prepare %s\n", statement->sql);
    return server.refused != NULL && strstr(statement->sql, server.refused) != NULL
               ? refuse(statement->sql, error)
               : STATUS_OK;
}

static enum status open_conn(const struct adapter *a, const struct target *target,
                             struct adapter_conn **conn, struct error *error)
{
    static char one;
    (void)a, (void)target, (void)error;
    *conn = (struct adapter_conn *)(void *)&one;
    return server.refused != NULL && strcmp(server.refused, "open") == 0 ? refuse("open", error)
                                                                         : STATUS_OK;
}

static void close_conn(struct adapter_conn *conn)
{
    (void)conn;
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    (void)conn;
    buffer_add_format(&server.log, "append %s", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        buffer_add_format(&server.log, " %s", table->columns[i].name);
    }
    server.adds = find(table->name);
    server.pending = 0;
    if (server.busy > 0) {
        server.busy--;
        buffer_add_text(&server.log, ": busy\n");
        error_set(error, ERROR_BUSY, 0, NULL, "busy");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    (void)conn, (void)kept;
    if (server.pending == 0) {
        buffer_add_format(&server.log, " from %d", (int)batch->columns[0].values.int64[0]);
    }
    server.pending += batch->row_count;
    return server.refused != NULL && strcmp(server.refused, "rows") == 0 ? refuse("rows", error)
                                                                         : STATUS_OK;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    (void)conn;
    buffer_add_format(&server.log, ": %d rows\n", (int)server.pending);
    if (server.refused != NULL && strcmp(server.refused, "close") == 0) {
        *accepted = 0;
        return refuse("close", error);
    }
    *accepted = server.pending - server.short_by;
    server.adds->rows += (int64_t)*accepted;
    return STATUS_OK;
}

static const struct adapter adapter = {.name = "fake",
                                       .open = open_conn,
                                       .close = close_conn,
                                       .append_open = append_open,
                                       .append_rows = append_rows,
                                       .append_close = append_close,
                                       .execute = execute,
                                       .describe = describe,
                                       .run = run,
                                       .prepare = prepare,
                                       .engine_clause = "engine"};

static bool declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    snprintf(text, size, "%s%s", column->type == COLUMN_TEXT ? "text" : "int",
             is_numbered ? " auto" : "");
    return column->type != COLUMN_BYTES;
}

/* Statements for partitions that are tables of their own, as in PostgreSQL, and for partitions that
 * CREATE TABLE contains. */
static const struct partition_statements tables = {.hash = "by hash ($2)",
                                                   .hash_part = "create part $8 of $0 as $5 of $3",
                                                   .range = "by range ($2)",
                                                   .range_part =
                                                       "create part $8 of $0 from $6 to $7",
                                                   .are_tables = true,
                                                   .least = "minvalue",
                                                   .most = "maxvalue",
                                                   .count = "parts of ?"},
                                         inlined = {.hash = "by hash ($2) parts $3",
                                                    .range = "by range ($2) ($9)",
                                                    .range_part = "part p$4 below $7",
                                                    .most = "maxvalue",
                                                    .count = "parts of ?",
                                                    .excludes_foreign_keys = true},
                                         open_ends = {.range = "by range ($2) ($9)",
                                                      .range_part = "p$4 $6..$7",
                                                      .count = "parts of ?"};
static const struct foreign_key_statements any_engine = {.engine = "", .count = "keys of ?"},
                                           one_engine = {.engine = "KEEPS", .count = "keys of ?"};
static const struct table_mark_statements marks = {.read = "mark of ?",
                                                   .place = "place of ?",
                                                   .others =
                                                       (const char *const[]){"others of ?", NULL},
                                                   .write = "mark $0 $6"};

static void count_answer(void *context)
{
    (*(unsigned *)context)++;
}

static const struct datasets_place place = {
    .plan = &plan, .setup = &setup, .on_answer = count_answer, .context = &server.answers};

static void forget(void)
{
    buffer_fini(&server.log);
    setup_fini(&setup);
    script_destroy((struct script *)plan.script);
    memset(&server, 0, sizeof server);
    memset(&setup, 0, sizeof setup);
    memset(&plan, 0, sizeof plan);
}

/* Makes the plan for a script, on an empty server. */
static void begin(const char *text)
{
    static struct facts facts;
    struct error error = {.kind = ERROR_NONE};
    forget();
    snprintf(path, sizeof path, "/tmp/append_datasets_%d.lua", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\ntransaction('t', function() end)\n", text);
    assert_int_equal(fclose(file), 0);
    struct script *script = script_load(path, NULL, 0, &error);
    unlink(path);
    if (script == NULL) {
        fail_msg("%s", error.text);
    }
    plan = (struct plan){.facts = &facts,
                         .adapter = &adapter,
                         .script = script,
                         .sessions = 1,
                         .command = COMMAND_PREPARE,
                         .is_quiet = true};
    assert_int_equal(setup_allocate(&setup, &plan, &error), EXIT_CODE_OK);
    setup.connection = (struct connection_info){.dialect = "fake",
                                                .identifier_quote = '"',
                                                .declare_column = declare_column,
                                                .partitions = &tables,
                                                .foreign_keys = &any_engine};
}

/* Examines and makes the tables. Returns the error's text, "" for none. */
static const char *make(void)
{
    static struct error error;
    struct datasets *datasets = NULL;
    error_clear(&error);
    enum status status = datasets_examine(&place, &datasets, &error);
    status = status == STATUS_OK ? datasets_make(&place, datasets, &error) : status;
    assert_int_equal(status != STATUS_OK, error_is_set(&error));
    if (error.kind == ERROR_USAGE && strstr(error.text, "refused: ") == NULL) {
        assert_usage(&error);
    }
    if (datasets != NULL) {
        datasets_destroy(datasets);
    }
    return error_is_set(&error) ? error.text : "";
}

#define KEYED(rows, options)                                                                       \
    "dataset('t', " rows ", {{'id', 'int64', row(1), key = true}, {'v', 'text(9)', "               \
    "text(1, 2)}}, {" options "})"
#define CREATE "create table \"t\" (\"id\" int, \"v\" text, primary key (\"id\"))"
#define TWO_TABLES                                                                                 \
    "local a = dataset('a', 2, {{'id', 'int64', row(), key = true}})\n"                            \
    "dataset('b', 2, {{'id', 'int64', row()}, {'of', 'int64', row()}}, {foreign_keys = {['of'] = " \
    "a}})"

TEST(statements_that_create_tables)
{
    static const struct {
        const char *script;
        const struct partition_statements *parts;
        const char *tail, *log;
    } cases[] = {
        {KEYED("5", ""), &tables, NULL, CREATE "\n"},
        {KEYED("5", ""), &tables, " engine X", CREATE " engine X\n"},
        {KEYED("5", ""), &tables, " sorted by ()",
         "create table \"t\" (\"id\" int, \"v\" text) sorted by (\"id\")\n"},
        {KEYED("5", ""), &tables, "()", CREATE "()\n"},
        {KEYED("5", "options = 'fill 70'"), &tables, " x", CREATE " x fill 70\n"},
        {KEYED("5", "create = 'create table \"t\" (v int)'"), &tables, NULL,
         "create table \"t\" (v int)\n"},
        {"dataset('t', 0, {{'v', 'int32'}, {'b', 'int64', key = 2}, {'a', 'int64', key = 1}})",
         &tables, NULL,
         "create table \"t\" (\"v\" int, \"b\" int, \"a\" int, primary key (\"a\", \"b\"))\n"},
        {"dataset('t', 2, {{'id', 'int64', row(), key = 'auto'}})", &tables, NULL,
         "create table \"t\" (\"id\" int auto, primary key (\"id\"))\n"},
        {TWO_TABLES, &tables, NULL,
         "create table \"a\" (\"id\" int, primary key (\"id\"))\n"
         "create table \"b\" (\"id\" int, \"of\" int, foreign key (\"of\") references \"a\" "
         "(\"id\"))\n"},
        {KEYED("9", "partitions = {by = 'hash', column = 'id', count = 2}"), &tables, NULL,
         CREATE " by hash (\"id\"); create part \"t_1\" of \"t\" as 0 of 2; create part \"t_2\" "
                "of \"t\" as 1 of 2\n"},
        {KEYED("10", "partitions = {by = 'range', column = 'id', count = 3}"), &tables, NULL,
         CREATE " by range (\"id\"); create part \"t_1\" of \"t\" from minvalue to 5; create part "
                "\"t_2\" of \"t\" from 5 to 9; create part \"t_3\" of \"t\" from 9 to maxvalue\n"},
        {KEYED("9", "partitions = {by = 'hash', column = 'id', count = 2}"), &inlined, NULL,
         CREATE " by hash (\"id\") parts 2\n"},
        {KEYED("9", "partitions = {by = 'range', column = 'id', count = 3}"), &inlined, NULL,
         CREATE " by range (\"id\") (part p1 below 4, part p2 below 7, part p3 below maxvalue)\n"},
        {KEYED("9", "partitions = {by = 'range', column = 'id', count = 1}"), &inlined, NULL,
         CREATE " by range (\"id\") (part p1 below maxvalue)\n"},
        {KEYED("0", "partitions = {by = 'range', column = 'id', count = 2}"), &open_ends, NULL,
         CREATE " by range (\"id\") (p1 1..2, p2 2..3)\n"},
        {KEYED("9", "partitions = {by = 'range', column = 'id', count = 0}"), NULL, NULL,
         CREATE "\n"},
    };
    EACH_CASE (i, cases, "%s", cases[i].log) {
        begin(cases[i].script);
        setup.connection.partitions = cases[i].parts;
        setup.connection.create_tail = cases[i].tail;
        assert_string_equal(make(), "");
        assert_string_equal(buffer_text(&server.log), cases[i].log);
        assert_int_equal(setup.made.tables, plan.script->dataset_count);
        assert_true(server.answers > 0);
    }
    forget();
}

static const struct unsupported lacks[] = {{"update", "no updates"},
                                           {"create index", "no indexes here"},
                                           {NULL, NULL}},
                                no_tables[] = {{"create table", "no tables here"}, {NULL, NULL}};

#define DIVIDED(more) KEYED("5", "partitions = {by = 'range', column = 'id', count = 2}" more)

/* Nothing is executed for a table that is refused before it is made. */
TEST(tables_that_are_refused)
{
    static const struct {
        const char *script;
        const struct partition_statements *parts;
        const struct foreign_key_statements *keys;
        const struct unsupported *lacks;
        const char *why;
    } cases[] = {
        {DIVIDED(""), NULL, &any_engine, NULL,
         "dataset 't': append cannot create partitions in fake: remove partitions"},
        {TWO_TABLES, &tables, NULL, NULL,
         "dataset 'b': append cannot create foreign keys in fake: remove foreign_keys"},
        {"local a = " DIVIDED("") "\ndataset('b', 0, {{'of', 'int64'}}, {foreign_keys = {['of'] = "
                                  "a}})",
         &inlined, &any_engine, NULL,
         "dataset 'b': in fake a table with partitions can neither have foreign keys"},
        {KEYED("5", "index = {'v'}"), &tables, &any_engine, lacks,
         "dataset 't': no indexes here; omit the indexes with index = {..., fake = {}}, or create"},
        {KEYED("5", ""), &tables, &any_engine, no_tables, "dataset 't': no tables here"},
        {KEYED("5", "index = {'id, nosuch'}"), &tables, &any_engine, NULL,
         "index on unknown column 'nosuch' of 't'"},
        {"dataset('t', 0, {{'b', 'bytes(4)'}})", &tables, &any_engine, NULL,
         "dataset 't': fake has no type for column 'b'"},
        {"statement('s', 'UPDATE\\n t set a = 1')", &tables, &any_engine, lacks,
         ":1: statement 's': no updates"},
        {"statement('s', 'select 1; update t set a = 1', {}, {prepared = false})", &tables,
         &any_engine, lacks, ":1: statement 's': no updates"},
        {"invariant('none', {sqlite = 'select 1'})", &tables, &any_engine, NULL,
         ":1: invariant 'none' has no text for fake and no default"},
    };
    EACH_CASE (i, cases, "%s", cases[i].why) {
        begin(cases[i].script);
        setup.connection.partitions = cases[i].parts;
        setup.connection.foreign_keys = cases[i].keys;
        setup.connection.unsupported = cases[i].lacks;
        assert_part(make(), cases[i].why);
        assert_string_equal(buffer_text(&server.log), "");
    }
    begin(KEYED("5", ""));
    setup.connection.declare_column = NULL;
    assert_part(make(), "append cannot create this table in fake: add create = {fake = \"CREATE");
    begin("statement('updates', 'select updated from t')");
    setup.connection.unsupported = lacks;
    assert_string_equal(make(), "");
    forget();
}

/* When a later step fails, the tables that were made are dropped again, the last table first. */
TEST(failures_are_undone)
{
    static const struct {
        const char *script, *refused, *why, *log;
    } cases[] = {
        {TWO_TABLES, "table \"b\"", "cannot create table 'b': refused: create table",
         "drop table if exists \"a\"\n"},
        {TWO_TABLES "\nstatement('s', 'select 7')", "select 7", ":3: statement 's': refused",
         "prepare select 7\ndrop table if exists \"b\"\ndrop table if exists \"a\"\n"},
        {TWO_TABLES "\ninvariant('sums', 'select 8')", "select 8", ":3: invariant 'sums': refused",
         "prepare select 8\ndrop table if exists \"b\"\ndrop table if exists \"a\"\n"},
    };
    EACH_CASE (i, cases, "%s", cases[i].why) {
        begin(cases[i].script);
        server.refused = cases[i].refused;
        assert_part(make(), cases[i].why);
        const char *log = buffer_text(&server.log);
        const size_t length = strlen(log), end = strlen(cases[i].log);
        assert_true(length > end);
        assert_string_equal(log + length - end, cases[i].log);
        assert_null(find("a"));
        assert_null(find("b"));
    }
    begin(TWO_TABLES);
    setup.connection.foreign_keys = &one_engine;
    server.engine = "Loses";
    assert_part(make(),
                "the storage engine Loses of table 'b' does not support foreign keys: use KEEPS");
    assert_null(find("a"));
    begin(TWO_TABLES);
    setup.connection.foreign_keys = &one_engine;
    server.engine = "Keeps";
    assert_string_equal(make(), "");
    begin(TWO_TABLES);
    setup.connection.foreign_keys = &one_engine; /* the engine of the tables is unknown */
    assert_string_equal(make(), "");
    forget();
}

static void add_columns(struct table *table, const struct column *columns, size_t count)
{
    assert_int_equal(table_init(table, "t", NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(table_add_column(table, &columns[i], NULL), STATUS_OK);
    }
}

/* An existing table that matches its declaration is accepted. Any other table is refused, and stays
 * unchanged. */
TEST(tables_that_exist)
{
    static const struct column id = {.name = "id", .type = COLUMN_INT32},
                               v = {.name = "v", .type = COLUMN_TEXT},
                               wrong = {.name = "v", .type = COLUMN_INT32, .type_name = "integer"},
                               more = {.name = "more", .type = COLUMN_TEXT};
    const struct {
        const char *script;
        struct column columns[3];
        int64_t rows, parts, keys;
        const char *why;
    } cases[] = {
        {KEYED("5", ""), {id, v}, 5, 0, 0, NULL},
        {KEYED("0", ""), {id, v}, 7, 0, 0, NULL},
        {KEYED("5", ""), {id}, 5, 0, 0, "table 't' has no column 'v', which"},
        {KEYED("5", ""), {id, wrong}, 5, 0, 0, "column 'v' of table 't' is integer, but"},
        {KEYED("5", ""), {id, v, more}, 5, 0, 0, "table 't' has a column 'more', which"},
        {KEYED("5", "create = 'create table t'"), {id, v, more}, 5, 0, 0, NULL},
        {KEYED("5", ""), {id, v}, 4, 0, 0, "append did not make table 't' (4 rows; columns id, v)"},
        {DIVIDED(""), {id, v}, 5, 2, 9, NULL},
        {DIVIDED(""), {id, v}, 5, 3, 0, "table 't' has 3 partitions, but"},
        {"local t = dataset('t', 5, {{'id', 'int64', row(1), key = true}, {'v', 'text(9)', text(1, "
         "2)}})",
         {id, v},
         5,
         9,
         9,
         NULL},
    };
    EACH_CASE (i, cases, "case %zu: %s", i, cases[i].why == NULL ? cases[i].script : cases[i].why) {
        struct table table;
        size_t count = 1;
        while (count < COUNT_OF(cases[i].columns) && cases[i].columns[count].name[0] != '\0') {
            count++;
        }
        begin(cases[i].script);
        add_columns(&table, cases[i].columns, count);
        server.tables[0] = (struct there){.name = "t", .columns = &table, .rows = cases[i].rows};
        server.parts = cases[i].parts;
        server.keys = cases[i].keys;
        const char *why = make();
        table_fini(&table);
        if (cases[i].why == NULL) {
            assert_string_equal(why, "");
            assert_int_equal(setup.hosts[0].rows_before[0], cases[i].rows);
        } else {
            assert_part(why, cases[i].why);
        }
        assert_string_equal(buffer_text(&server.log), "");
        assert_non_null(find("t"));
    }
    begin(TWO_TABLES);
    server.tables[0] = (struct there){.name = "a", .rows = 2};
    server.tables[1] = (struct there){.name = "b", .rows = 2};
    server.keys = 2;
    assert_part(make(), "table 'b' has 2 foreign keys, but");
    server.keys = 1;
    assert_string_equal(make(), "");
    forget();
}

/* Makes a table as a load that was cut off leaves it: with a mark and `rows` rows. */
static void leave(const char *script, int64_t rows)
{
    begin(script);
    setup.connection.table_mark = &marks;
    assert_string_equal(make(), "");
    assert_part(find("t")->comment, "made by append: loading, ");
    find("t")->rows = rows;
    buffer_fini(&server.log);
}

/* The numbers of the rows in the table show which chunks are missing. */
TEST(loads_that_were_cut_off)
{
    static const struct {
        int64_t rows, chunks[3][2];
        const char *why; /* NULL: the load can go on */
        bool there[3];
        uint64_t found;
    } cases[] = {
        {15000, {{0, 10000}, {20000, 5000}}, NULL, {true, false, true}, 15000},
        {5000, {{20000, 5000}}, NULL, {false, false, true}, 5000},
        {10000, {{10000, 10000}}, NULL, {false, true, false}, 10000},
        /* incomplete chunks: a load stores a whole chunk or nothing */
        {10007, {{0, 10000}, {20000, 7}}, "rows that an interrupted load", {0}, 0},
        {9999, {{10000, 9999}}, "rows that an interrupted load", {0}, 0},
        {10001, {{0, 10000}, {20000, 1}}, "another program may have written them", {0}, 0},
        {10008, {{0, 10000}, {20000, 7}}, "rows that an interrupted load", {0}, 0},
        {10001, {{0, 10001}}, "rows that an interrupted load", {0}, 0},
        {5001, {{20000, 5001}}, "rows that an interrupted load", {0}, 0},
        {5, {{30000, 5}}, "rows that an interrupted load", {0}, 0},
        {5, {{5, 5}}, "rows that an interrupted load", {0}, 0},
        {5, {{-10000, 5}}, "rows that an interrupted load", {0}, 0},
        {25001, {{0, 0}}, "table 't' has 25,001 rows, but", {0}, 0},
    };
    EACH_CASE (i, cases, "case %zu: %d rows", i, (int)cases[i].rows) {
        struct datasets *datasets = NULL;
        struct error error = {.kind = ERROR_NONE};
        leave(KEYED("25000", ""), cases[i].rows);
        memcpy(server.chunks, cases[i].chunks, sizeof server.chunks);
        const enum status status = datasets_examine(&place, &datasets, &error);
        assert_int_equal(status, cases[i].why == NULL ? STATUS_OK : STATUS_FATAL);
        if (cases[i].why != NULL) {
            assert_part(error.text, cases[i].why);
            continue;
        }
        assert_string_equal(buffer_text(&server.log),
                            "select (\"id\" - (1)) - (\"id\" - (1)) % 10000, count(*) from \"t\" "
                            "where (\"id\" - (1)) between 0 and 24999 group by (\"id\" - (1)) - "
                            "(\"id\" - (1)) % 10000\n");
        assert_int_equal(datasets->works[0].chunks, 3);
        assert_memory_equal(datasets->works[0].there, cases[i].there, sizeof cases[i].there);
        assert_int_equal(datasets->works[0].rows, cases[i].found);
        assert_int_equal(datasets->works[0].phase, PHASE_CHUNKS);
        datasets_destroy(datasets);
    }
    leave(KEYED("25000", ""), 5000);
    plan.command = COMMAND_RUN;
    assert_part(make(), "declares 25,000: 'append prepare' loads the missing rows, --recreate");
    leave("dataset('t', 9, {{'id', 'int64', uniform(1, 5)}})", 3); /* has no key to resume with */
    assert_part(make(), "declares 9: 'append cleanup' drops the table, --recreate replaces it");
    leave("dataset('t', 9, {{'id', 'int64', uniform(1, 5)}})", 0);
    assert_string_equal(make(), "");
    server.other = "a view refers to it";
    assert_part(make(), "append made table 't' (0 rows; columns id), but a view refers to it, and");
    forget();
}

/* append replaces and drops its own tables, and others only if the user names them. */
TEST(tables_that_are_dropped)
{
    static const struct {
        bool is_own;
        const char *names;
        bool is_dropped;
    } cases[] = {
        {true, NULL, true}, {false, NULL, false}, {false, "t", true}, {false, "tt", false}};
    EACH_CASE (i, cases, "%d, names %s", cases[i].is_own, cases[i].names) {
        for (int is_cleanup = 0; is_cleanup < 2; is_cleanup++) {
            struct error error = {.kind = ERROR_NONE};
            struct buffer dropped = {0};
            size_t count = 99;
            leave(KEYED("5", ""), 5);
            find("t")->comment[0] = cases[i].is_own ? 'm' : '\0';
            plan.recreate_names = cases[i].names;
            plan.is_recreate = is_cleanup == 0;
            const enum status status =
                is_cleanup ? datasets_drop(&place, &dropped, &count, &error) : STATUS_OK;
            const char *const why = is_cleanup ? error.text : make();
            const char *const log = buffer_text(&server.log);
            assert_int_equal(strstr(log, "drop table if exists \"t\"\n") != NULL,
                             cases[i].is_dropped);
            assert_int_equal(strstr(log, CREATE) != NULL, cases[i].is_dropped && !is_cleanup);
            if (cases[i].is_dropped) {
                assert_string_equal(why, "");
            } else {
                assert_part(why, "leaves it as it is: --");
                assert_part(why, is_cleanup ? "--drop=t drops it anyway"
                                            : "--recreate=t drops it anyway");
            }
            if (is_cleanup) {
                assert_int_equal(status, cases[i].is_dropped ? STATUS_OK : STATUS_FATAL);
                assert_int_equal(count, cases[i].is_dropped ? 1 : 0);
                assert_string_equal(buffer_text(&dropped), cases[i].is_dropped ? "t" : "");
            }
            buffer_fini(&dropped);
        }
    }
    begin(TWO_TABLES);
    assert_string_equal(make(), "");
    buffer_fini(&server.log);
    plan.recreate_names = "a,b";
    struct buffer dropped = {0};
    struct error error = {.kind = ERROR_NONE};
    size_t count = 0;
    assert_int_equal(datasets_drop(&place, &dropped, &count, &error), STATUS_OK);
    assert_string_equal(buffer_text(&dropped), "a, b");
    assert_int_equal(count, 2);
    assert_string_equal(buffer_text(&server.log),
                        "drop table if exists \"b\"\ndrop table if exists \"a\"\n");
    buffer_fini(&dropped);
    forget();
}

/* A table that is dropped is announced with its number of rows, unless the rows cannot be
 * counted. */
TEST(announcements)
{
    static const struct {
        int64_t rows;
        const char *refused, *text;
    } cases[] = {{0, NULL, "dropping table t with 0 rows\n"},
                 {1, NULL, "dropping table t with 1 row\n"},
                 {1500, NULL, "dropping table t with 1,500 rows\n"},
                 {5, "count(*)", "dropping table t with an unknown number of rows\n"}};
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct error error = {.kind = ERROR_NONE};
        struct buffer dropped = {0};
        char text[200] = "";
        size_t count = 0;
        leave(KEYED("5", ""), cases[i].rows);
        server.refused = cases[i].refused;
        plan.is_quiet = false;
        FILE *file = tmpfile();
        const int own = dup(STDERR_FILENO);
        assert_true(file != NULL && own >= 0);
        dup2(fileno(file), STDERR_FILENO);
        const enum status status = datasets_drop(&place, &dropped, &count, &error);
        fflush(stderr);
        dup2(own, STDERR_FILENO);
        close(own);
        rewind(file);
        assert_non_null(fgets(text, sizeof text, file));
        fclose(file);
        buffer_fini(&dropped);
        assert_int_equal(status, STATUS_OK);
        assert_part(text, cases[i].text);
    }
    forget();
}

static void number_from(const char *table_name, const char *column_name, char *sql, size_t size)
{
    snprintf(sql, size, "number %s.%s", table_name, column_name);
}

/* Loads the tables. If the load fails because of the script, another program stores
 * `rows_of_others` rows in t before the tables are dropped. Writes the statements that follow
 * CREATE TABLE and the outcome of the load to *text. */
static void load_tables(struct buffer *text, int64_t rows_of_others)
{
    struct datasets *datasets = NULL;
    struct error error = {.kind = ERROR_NONE};
    struct load_counts counts = {.rows = 0};
    enum status status = datasets_examine(&place, &datasets, &error);
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(datasets_make(&place, datasets, &error), STATUS_OK);
    buffer_clear(&server.log);
    assert_int_equal(loader_begin(datasets, &plan, &setup, &error), STATUS_OK);
    while (loader_wait(datasets, &counts)) {
    }
    status = loader_end(datasets, &error);
    if (datasets_is_script_wrong(datasets)) {
        find("t")->rows += rows_of_others;
        buffer_add_text(&server.log, "\n"); /* ends the line of the append */
        datasets_undo(&place, datasets);
    }
    if (status != STATUS_OK) {
        loader_explain(datasets, &plan, &setup, &error);
    }
    /* leaves out the script's path, because the path contains this process's id */
    for (const char *at = buffer_text(&server.log); *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        const char *name = strstr(at, ", append_datasets_");
        const bool is_in_line = name != NULL && name < at + length;
        buffer_add(text, at, is_in_line ? (size_t)(name - at) : length);
        buffer_add_text(text, "\n");
        at += length + (at[length] == '\n' ? 1 : 0);
    }
    buffer_add_format(text, "%d: %d of %d rows, %d loaded; made %d rows, %d indexes", (int)status,
                      (int)counts.rows, (int)counts.all, (int)counts.loaded, (int)setup.made.rows,
                      (int)setup.made.indexes);
    if (status != STATUS_OK) {
        const char *name = strstr(error.text, path);
        buffer_add_format(text, "; %.*s%s%s",
                          name == NULL ? (int)strlen(error.text) : (int)(name - error.text),
                          error.text, name == NULL ? "" : name + strlen(path),
                          datasets_is_script_wrong(datasets) ? " (script)" : "");
    }
    datasets_destroy(datasets);
}

TEST(loads)
{
    static const struct {
        const char *name, *script, *refused;
        const struct dialect *dialect; /* dialect of all statements except CREATE TABLE */
        enum error_kind kind;          /* kind of the server's errors */
        unsigned busy;
        uint64_t short_by;
        int64_t there; /* rows that an interrupted load stored in t, as described by `chunks` */
        int64_t chunks[3][2];
        int64_t rows_of_others;
        bool is_prepare, has_numbers;
        const char *expected;
    } cases[] = {
        {.name = "a table",
         .script = KEYED("5", ""),
         .expected = "append t id v from 1: 5 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "a table without rows",
         .script = KEYED("0", ""),
         .expected = "0: 0 of 0 rows, 0 loaded; made 0 rows, 0 indexes"},
        {.name = "statistics in postgresql",
         .script = KEYED("5", ""),
         .dialect = &dialect_postgresql,
         .expected = "append t id v from 1: 5 rows\n"
                     "vacuum analyze \"t\"\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "statistics in mariadb",
         .script = KEYED("5", ""),
         .dialect = &dialect_mysql,
         .expected = "append t id v from 1: 5 rows\n"
                     "analyze table \"t\"\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "statistics in sqlite",
         .script = KEYED("5", ""),
         .dialect = &dialect_sqlite,
         .expected = "append t id v from 1: 5 rows\n"
                     "analyze \"t\"\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "no statistics of a table without rows",
         .script = KEYED("0", ""),
         .dialect = &dialect_sqlite,
         .expected = "0: 0 of 0 rows, 0 loaded; made 0 rows, 0 indexes"},
        {.name = "statistics that are refused",
         .script = KEYED("5", ""),
         .dialect = &dialect_sqlite,
         .refused = "analyze",
         .expected = "append t id v from 1: 5 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "indexes",
         .script = KEYED("5", "index = {'v', 'id , lower(v)'}"),
         .expected = "create index \"t_v\" on \"t\" (\"v\")\n"
                     "create index \"t_id_lower_v_\" on \"t\" (\"id\", lower(v))\n"
                     "append t id v from 1: 5 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 2 indexes"},
        {.name = "indexes in sqlite",
         .script = KEYED("5", "index = {'v'}"),
         .dialect = &dialect_sqlite,
         .expected = "create index if not exists \"t_v\" on \"t\" (\"v\")\n"
                     "append t id v from 1: 5 rows\n"
                     "analyze \"t\"\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 1 indexes"},
        {.name = "an index that is refused",
         .script = KEYED("5", "index = {'v'}"),
         .refused = "create index",
         .expected = "create index \"t_v\" on \"t\" (\"v\")\n"
                     "1: 0 of 5 rows, 0 loaded; made 0 rows, 0 indexes; table 't': index on v: "
                     "refused: create index \"t_v\" on \"t\" (\"v\") (0 of 5 rows are loaded; "
                     "'append prepare' loads the rest)"},
        {.name = "an index that exists",
         .script = KEYED("5", "index = {'v'}"),
         .refused = "create index",
         .kind = ERROR_EXISTS,
         .expected = "create index \"t_v\" on \"t\" (\"v\")\n"
                     "append t id v from 1: 5 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "a table whose place is not reported",
         .script = KEYED("5", ""),
         .refused = "place of",
         .expected = "append t id v from 1: 5 rows\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "two tables",
         .script = TWO_TABLES,
         .expected = "append a id from 1: 2 rows\n"
                     "mark \"a\" 'made by append: loaded\n"
                     "append b id of from 1: 2 rows\n"
                     "mark \"b\" 'made by append: loaded\n"
                     "0: 4 of 4 rows, 4 loaded; made 4 rows, 0 indexes"},
        {.name = "three chunks",
         .script = KEYED("20001", ""),
         .expected = "append t id v from 1: 10000 rows\n"
                     "append t id v from 10001: 10000 rows\n"
                     "append t id v from 20001: 1 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 20001 of 20001 rows, 20001 loaded; made 20001 rows, 0 indexes"},
        {.name = "chunks of whole size",
         .script = KEYED("20000", ""),
         .expected = "append t id v from 1: 10000 rows\n"
                     "append t id v from 10001: 10000 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 20000 of 20000 rows, 20000 loaded; made 20000 rows, 0 indexes"},
        {.name = "a busy database",
         .script = KEYED("5", ""),
         .busy = 2,
         .expected = "append t id v: busy\n"
                     "append t id v: busy\n"
                     "append t id v from 1: 5 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "numbers of the database",
         .script = "dataset('t', 3, {{'id', 'int64', key = 'auto'}, {'v', 'int64', row()}})",
         .has_numbers = true,
         .expected = "append t v from 1: 3 rows\n"
                     "number t.id\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 3 of 3 rows, 3 loaded; made 3 rows, 0 indexes"},
        {.name = "no numbers without rows",
         .script = "dataset('t', 0, {{'id', 'int64', key = 'auto'}, {'v', 'int64', row()}})",
         .has_numbers = true,
         .expected = "0: 0 of 0 rows, 0 loaded; made 0 rows, 0 indexes"},
        {.name = "rows that are not stored",
         .script = KEYED("5", ""),
         .short_by = 1,
         .expected =
             "append t id v from 1: 5 rows\n"
             "1: 0 of 5 rows, 0 loaded; made 0 rows, 0 indexes; table 't': the server stored only "
             "4 of 5 rows (0 of 5 rows are loaded; 'append prepare' loads the rest)"},
        {.name = "a refused append",
         .script = KEYED("5", ""),
         .refused = "close",
         .expected = "append t id v from 1: 5 rows\n"
                     "1: 0 of 5 rows, 0 loaded; made 0 rows, 0 indexes; table 't': refused: close "
                     "(0 of 5 rows are loaded; 'append prepare' loads the rest)"},
        {.name = "a refused append of append prepare",
         .script = KEYED("5", ""),
         .refused = "rows",
         .is_prepare = true,
         .expected = "append t id v from 1\n"
                     "1: 0 of 5 rows, 0 loaded; made 0 rows, 0 indexes; table 't': refused: rows "
                     "(0 of 5 rows are loaded; the same command loads the rest)"},
        {.name = "a refused append without a key",
         .script = "dataset('t', 3, {{'id', 'int64', uniform(1, 5)}})",
         .refused = "close",
         .expected = "append t id from 1: 3 rows\n"
                     "1: 0 of 3 rows, 0 loaded; made 0 rows, 0 indexes; table 't': refused: close "
                     "(0 of 3 rows are loaded; 'append prepare' loads the rest)"},
        {.name = "a refused connection",
         .script = KEYED("5", ""),
         .refused = "open",
         .expected = "2: 0 of 5 rows, 0 loaded; made 0 rows, 0 indexes; refused: open (0 of 5 rows "
                     "are loaded; 'append prepare' loads the rest)"},
        {.name = "a refused count",
         .script = KEYED("5", ""),
         .refused = "count(*)",
         .expected =
             "append t id v from 1: 5 rows\n"
             "1: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes; table 't': refused: select "
             "count(*) from \"t\" (5 of 5 rows are loaded; 'append prepare' loads the rest)"},
        {.name = "a refused mark",
         .script = KEYED("5", ""),
         .refused = "mark \"t\" 'made by append: loaded",
         .expected = "append t id v from 1: 5 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 5 of 5 rows, 5 loaded; made 5 rows, 0 indexes"},
        {.name = "a mistake in a function",
         .script = "dataset('t', 5, {{'id', 'int64', derive(row(), function(i) return i ~= 3 and i "
                   "or 'x' end)}})",
         .expected = "append t id\n"
                     "drop table if exists \"t\"\n"
                     "3: 0 of 5 rows, 0 loaded; made 0 rows, 0 indexes; table 't': : dataset 't': "
                     "row 2: the text 'x' does not fit column 'id' (int64) (0 of 5 rows are "
                     "loaded; the new tables are dropped) (script)"},
        {.name = "a mistake, and rows of others",
         .script = "dataset('t', 5, {{'id', 'int64', derive(row(), function(i) return i ~= 3 and i "
                   "or 'x' end)}})",
         .rows_of_others = 1,
         .expected =
             "append t id\n"
             "3: 0 of 5 rows, 0 loaded; made 0 rows, 0 indexes; table 't': : dataset 't': "
             "row 2: the text 'x' does not fit column 'id' (int64) (0 of 5 rows are "
             "loaded; the new tables stay: another program may have written to them; --recreate "
             "replaces the tables) (script)"},
        {.name = "a load that goes on",
         .script = KEYED("25000", ""),
         .there = 15000,
         .chunks = {{0, 10000}, {20000, 5000}},
         .expected = "append t id v from 10001: 10000 rows\n"
                     "mark \"t\" 'made by append: loaded\n"
                     "0: 25000 of 25000 rows, 10000 loaded; made 10000 rows, 0 indexes"},
    };
    EACH_CASE (i, cases, "%s", cases[i].name) {
        struct buffer text;
        buffer_init(&text);
        if (cases[i].there > 0) {
            leave(cases[i].script, cases[i].there);
            memcpy(server.chunks, cases[i].chunks, sizeof server.chunks);
        } else {
            begin(cases[i].script);
        }
        struct table_mark_statements words = marks;
        setup.connection.table_mark = &words;
        setup.connection.number_from = cases[i].has_numbers ? number_from : NULL;
        if (cases[i].dialect != NULL) {
            setup.connection.can_skip_index = cases[i].dialect->can_skip_index;
            setup.connection.analyze = cases[i].dialect->analyze;
        }
        plan.command = cases[i].is_prepare ? COMMAND_PREPARE : COMMAND_RUN;
        if (cases[i].there > 0) {
            plan.command = COMMAND_PREPARE;
        }
        server.refused = cases[i].refused;
        server.kind = cases[i].kind;
        server.busy = cases[i].busy;
        server.short_by = cases[i].short_by;
        load_tables(&text, cases[i].rows_of_others);
        assert_string_equal(buffer_text(&text), cases[i].expected);
        buffer_fini(&text);
    }
    forget();
}
