/* Scripts: their declarations, their errors, and their functions on a host that writes down its
 * calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/unit.h"

#include "base/text.h"
#include "script/script.h"
#include "unit/usage.h"

static char path[] = "/tmp/append_script_XXXXXX.lua";

static void write_script(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct script *try_load(const char *text, const char *set, struct error *error)
{
    error_clear(error);
    write_script(text);
    return script_load(path, &set, set == NULL ? 0 : 1, error);
}

static struct script *load(const char *text, const char *set)
{
    struct error error;
    struct script *script = try_load(text, set, &error);
    if (script == NULL) {
        fail_msg("%s", error.text);
    }
    return script;
}

static void expect_refused(const char *text, const char *set, const char *words)
{
    struct error error;
    struct script *script = try_load(text, set, &error);
    assert_null(script);
    assert_usage(&error);
    assert_part(error.text, words);
}

#define BODY "transaction('t', function() end)\n"

TEST(test_mistakes)
{
    static const struct {
        const char *text, *set, *words;
    } cases[] = {
        {"x = = 1", NULL, ".lua:1:"},
        {"\x1bLua", NULL, "is compiled"},
        {"", NULL, "declares no transaction"},
        {"\n\nnosuch()" BODY, NULL, ".lua:3:"},
        {"os.execute('true')" BODY, NULL, "(global 'os'): a script reaches only the database"},
        {"local n = math.random(6)" BODY, NULL, "(field 'random'): use uniform"},
        {"load('return 1')()" BODY, NULL, "global 'load'"},
        {"string.dump(function() end)" BODY, NULL, "'dump'"},
        {"io.open('/etc/passwd')" BODY, NULL, "global 'io'"},
        {"require('os')" BODY, NULL, "global 'require'"},
        {"local s = ('x'):rep(1 << 30)" BODY, NULL, "8 MiB"},
        {"local t = {} for i = 1, 1e9 do t[i] = i end\n" BODY, NULL, "8 MiB"},
        {"param('a', 1)" BODY, "b=2", "no parameter 'b'"},
        {"param('table_size', 1)" BODY, "tabel_size=2", "did you mean table_size?"},
        {"param('a', 1)" BODY, "a", "not NAME=VALUE"},
        {"param('a', 1)" BODY, "a=x", "parameter 'a' must be a whole number"},
        {"param('a', true)" BODY, "a=1", "true or false"},
        {"param('a', 0.5)" BODY, "a=x", "must be a number"},
        {"param('a', 'x', '', {'x', 'y'})" BODY, "a=z", "'a' must be x or y, not 'z'"},
        {"param('a', 5, '', {min = 1, max = 10})" BODY, "a=11", "must be 1 to 10, not '11'"},
        {"param('a', 5, '', {min = 1, max = 10})" BODY, "a=0", "must be 1 to 10, not '0'"},
        {"param('a', {})" BODY, NULL, "needs a default"},
        {"dataset('t', 1, {{'a'}})" BODY, NULL,
         "dataset 't': column 'a' has no type: write {\"a\", \"int32\", …}"},
        {"param('a', 1) param('a', 1)" BODY, NULL, "declared twice"},
        {"dataset('t', 5)" BODY, NULL, "no columns"},
        {"dataset('t', 0, {{'a', 'integer'}})" BODY, NULL, "unknown type 'integer'"},
        {"dataset('t', 0, {{'a', 'text(0)'}})" BODY, NULL, "unknown type"},
        {"dataset('t', 0, {{'a', 'decimal(3,5)'}})" BODY, NULL, "unknown type"},
        {"dataset('t', 0, {{'a', 'int32'}, {'a', 'int32'}})" BODY, NULL, "'a' twice"},
        {"dataset('t', 5, {{'a', 'int32', key = true}})" BODY, NULL, "no generator"},
        {"dataset('t', -5, {{'a', 'int32', row()}})" BODY, NULL, "must be 0 or more, not -5"},
        {"dataset('t', 0, {{'a', 'int32', key = 2}})" BODY, NULL,
         "'a' has place 2 in a key of 1 column:"},
        {"statement('s', 'select ?', {})" BODY, NULL, "has 1 ? placeholder but lists 0 types"},
        {"statement('s', \"select '?' /* ? */\", {'int32'})" BODY, NULL,
         "has 0 ? placeholders but lists 1 type:"},
        {"statement('s', 'select ${nothing}')" BODY, NULL, "unknown parameter ${nothing}"},
        {"statement('a b', 'select 1')" BODY, NULL, "'a b' is not a valid statement name"},
        {"keys('zipf', 1, 5)" BODY, NULL, "unknown distribution 'zipf'; use one of uniform"},
        {"keys('hotspot', 1, 5, {hot_set = 2})" BODY, NULL,
         "hot_set must be above 0 and at most 1"},
        {"keys('hotspot', 1, 5, {hot_share = 2})" BODY, NULL, "hot_share must be above 0 and at"},
        {"keys('zipfian', 1, 5, {theta = 1e7})" BODY, NULL, "theta must be above 0 and"},
        {"keys('pareto', 1, 5, {h = 2})" BODY, NULL, "h must"},
        {"uniform(5, 1)" BODY, NULL, ".lua:1:"},
        {"format('%s', row())" BODY, NULL, ".lua:1:"},
        {"transaction('t', function() end, {weight = 0})", NULL, "weight above 0"},
        {"transaction('t', function() end, {isolation = 'none'})", NULL, "isolation must be"},
        {"transaction('t', function() end, {pause = 'long'})", NULL, "generator"},
        {"invariant('', 'SELECT 1')" BODY, NULL, "one line of 1 to 159 bytes"},
        {"invariant('a\\nb', 'SELECT 1')" BODY, NULL, "one line of 1 to 159 bytes"},
        {"invariant('a')" BODY, NULL, "invariant 'a' has no query"},
        {"invariant('a', 'SELECT 1') invariant('a', 'SELECT 2')" BODY, NULL,
         "'a' is declared twice"},
        {"invariant('a', 'DELETE FROM t')" BODY, NULL, "must be a query (SELECT)"},
        {"invariant('a', 'SELECT ?')" BODY, NULL, "cannot have a ?"},
        {"invariant('a', 'SELECT ${session}')" BODY, NULL, "it runs outside of the sessions"},
        {"trend('a', 5)" BODY, NULL, "the options of a metric must be a table"},
        {"trend('a', {units = 'ms'})" BODY, NULL, "a metric has no option 'units'; use unit"},
        {"trend('a', {unit = 'a b'})" BODY, NULL, "the unit must be 1 to 11 letters"},
        {"trend('a', {unit = ''})" BODY, NULL, "the unit must be 1 to 11 letters"},
        {"trend('Wait')" BODY, NULL,
         "'Wait' is not a valid metric name: use at most 47 lowercase letters"},
        {"count('2nd')" BODY, NULL, "'2nd' is not a valid metric name"},
        {"gauge('')" BODY, NULL, "'' is not a valid metric name"},
        {"gauge('queue-depth')" BODY, NULL, "'queue-depth' is not a valid metric name"},
        {"count('throughput')" BODY, NULL,
         "'throughput' is already the name of a figure of every run"},
        {"count('rows_lost')" BODY, NULL,
         "'rows_lost' is already the name of a figure of every run"},
        {"count('lost')" BODY, NULL, "'lost' is already the name of a figure of every run"},
        {"count('append')" BODY, NULL, "'append' is already the name of a figure of every run"},
        {"count('append_p97')" BODY, NULL,
         "'append_p97' is already the name of a figure of every run"},
        {"count('try_max')" BODY, NULL, "'try_max' is already the name of a figure of every run"},
        {"count('stage2')" BODY, NULL, "'stage2' is already the name of a figure of every run"},
        {"count('operation')" BODY, NULL,
         "'operation' is already the name of a figure of every run"},
        {"count('a') trend('a')" BODY, NULL, "'a' is already the name of a metric"},
        {"count('t') " BODY, NULL, "'t' is already the name of a metric"},
        {BODY "count('t')", NULL, "'t' is already the name of a transaction"},
        {"for i = 1, 41 do count('a' .. i) end " BODY, NULL, "at most 40 metrics"},
        {"count('a'):add()" BODY, NULL, "add works only in a transaction's function, not at the"},
        {BODY BODY, NULL, "declared twice"},
        {"statement('t', 'SELECT 1') " BODY, NULL, "a transaction and a statement"},
        {"check(true)" BODY, NULL, "not at the top level"},
        {"error({})" BODY, NULL, "is not a text"},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        expect_refused(cases[i].text, cases[i].set, cases[i].words);
    }
    struct error error = {.kind = ERROR_NONE};
    assert_null(script_load("otlp", NULL, 0, &error));
    assert_part(error.text, "did you mean oltp?");
}

/* Folders, devices, files that cannot be read or end before their size, and files that are too
 * large. */
TEST(test_files_that_cannot_be_read)
{
    enum {
        LIMIT = 1 << 20
    };
    static const struct {
        const char *path, *words;
    } cases[] = {{"/nowhere/x.lua", "script '/nowhere/x.lua': No such file or directory"},
                 {"/tmp/", "script '/tmp/' is a folder: name a Lua file"},
                 {"/dev/null", "script '/dev/null' is not a regular file: name a Lua file"},
                 {"/sys/class/net/lo/speed", "script '/sys/class/net/lo/speed': Invalid argument"},
                 {"/sys/class/net/lo/mtu", "/sys/class/net/lo/mtu:1: unexpected symbol"}};
    struct error error = {.kind = ERROR_NONE};
    EACH_CASE (i, cases, "%s", cases[i].path) {
        if (i < 3 || access(cases[i].path, R_OK) == 0) {
            error_clear(&error);
            assert_null(script_load(cases[i].path, NULL, 0, &error));
            assert_part(error.text, cases[i].words);
        }
    }
    /* the longest script, and one that is a byte too long */
    char *text = malloc(LIMIT + 2);
    assert_non_null(text);
    memset(text, '-', LIMIT + 1);
    text[LIMIT + 1] = '\0';
    memcpy(text, BODY, strlen(BODY));
    expect_refused(text, NULL, "is larger than 1.00 MiB, the limit");
    text[LIMIT] = '\0';
    script_destroy(load(text, NULL));
    free(text);
}

TEST(test_names_of_files)
{
    assert_true(script_is_file("./mine"));
    assert_true(script_is_file("mine.lua"));
    assert_false(script_is_file("mine.lua.d"));
    assert_false(script_is_file(".lua"));
    assert_false(script_is_file("oltp"));
}

/* The message begins with the script's path as the user gave it. */
TEST(test_memory_limit)
{
    struct error error;
    char expected[200];
    assert_null(try_load("local s = ('x'):rep(1 << 30)" BODY, NULL, &error));
    snprintf(expected, sizeof expected,
             "%s: the script needs more than the 8 MiB that each session may use", path);
    assert_string_equal(error.text, expected);
}

TEST(test_statements_that_end_a_transaction)
{
    const struct {
        const char *sql;
        bool ends;
    } cases[] = {{"COMMIT", true},
                 {"select 1", false},
                 {"SELECT 1; SELECT 2", false},
                 {"SELECT 1; COMMIT", true},
                 {"SELECT 1; SELECT 2; rollback; BEGIN", true},
                 {"SELECT 'x; COMMIT'", false}};
    EACH_CASE (i, cases, "%s", cases[i].sql) {
        assert_int_equal(script_controls_transaction(cases[i].sql, 0), cases[i].ends);
    }
}

/* A parameter that is not set keeps the exact value from the script. Its text has fewer digits and
 * may stand for a different value. */
TEST(test_usual_values_are_exact)
{
    struct script *script = load("assert(param('third', 1 / 3) == 1 / 3)\n"
                                 "assert(param('least', math.mininteger) == math.mininteger)\n"
                                 "assert(param('set', 1 / 3) == 0.25)\n" BODY,
                                 "set=0.25");
    assert_string_equal(script->params[0].value, "0.33333333333333");
    assert_string_equal(buffer_text(&script->param_list),
                        "third=0.33333333333333,least=-9223372036854775808,set=0.25");
    script_destroy(script);
}

TEST(test_declarations)
{
    struct script *script = load(
        "local n = param('rows', 10, 'how many')\n"
        "local t = dataset('t', n, {{'a', 'int64', row(), key = 'auto'},\n"
        "  {'b', 'decimal(10,2)', uniform(1, 5)}, {'c', 'timestamp(3)'}}, {index = {'b', 'b, c',\n"
        "  clickhouse = {}},\n"
        "  create = {mariadb = 'create table t${rows}'}, options = 'x'})\n"
        "statement('s', {default = 'select ?', sqlite = 'SELECT ? -- ${rows}'}, {'int32'})\n"
        "statement('s', 'insert into t values (?, ?)', {'text(5)', 'float64'}, {adds_to = t})\n"
        "statement('late', ' begin', {}, {prepared = false})\n"
        "transaction('one', function() end, {weight = 2, autocommit = true, tries = 0})\n"
        "dataset('v', 1, {{'a', 'int32', row(), key = true}}, {varies = true})\n"
        "invariant('a claim', {default = 'SELECT ${rows}', sqlite = 'with x as (select 1) select "
        "2'})\n"
        "transaction('two', function() end, {isolation = 'serializable', pause = 5})",
        "rows=2k");
    assert_false(script->datasets[0].varies);
    assert_true(script->datasets[1].varies);
    assert_int_equal(script->invariant_count, 1);
    assert_string_equal(script->invariants[0].claim, "a claim");
    assert_int_equal(script->invariants[0].line, 11);
    assert_string_equal(script_text_for(&script->invariants[0].sql, "mariadb"), "SELECT 2k");
    assert_null(script->transactions[0].pause);
    assert_non_null(script->transactions[1].pause);
    assert_int_equal(script->param_count, 1);
    assert_string_equal(script->params[0].value, "2k");
    assert_string_equal(buffer_text(&script->param_list), "rows=2k");
    assert_string_equal(script->params[0].default_text, "10");
    const struct script_dataset *dataset = &script->datasets[0];
    assert_int_equal(dataset->rows, 2000);
    assert_int_equal(dataset->column_count, 3);
    assert_true(dataset->columns[0].is_numbered && dataset->table.columns[0].is_unique);
    assert_false(dataset->table.columns[0].is_nullable);
    assert_int_equal(dataset->table.columns[1].precision, 10);
    assert_int_equal(dataset->table.columns[1].scale, 2);
    assert_int_equal(dataset->table.columns[2].scale, 3);
    assert_string_equal(script_text_for(&dataset->create, "mysql"), "create table t2k");
    assert_null(script_text_for(&dataset->create, "postgresql"));
    assert_string_equal(script_text_for(&dataset->options, "postgresql"), "x");
    assert_string_equal(script_text_for(&dataset->indexes, "postgresql"), "b\nb, c\n");
    assert_string_equal(script_text_for(&dataset->indexes, "clickhouse"), "");
    assert_int_equal(script_load_table(script, 0)->column_count, 2);
    assert_int_equal(script->statement_count, 3);
    assert_int_equal(script->statements[0].operation, script->statements[1].operation);
    assert_int_equal(script->statements[0].kind, SCRIPT_READ);
    assert_int_equal(script->statements[1].adds_to, 0);
    assert_int_equal(script->statements[1].parameters.column_count, 2);
    assert_int_equal(script->statements[1].line, 7);
    assert_false(script->statements[2].is_prepared);
    assert_string_equal(script_text_for(&script->statements[0].sql, "sqlite"), "SELECT ? -- 2k");
    assert_int_equal(script->operation_count, 4);
    assert_true(script->transactions[0].weight == 2 && script->transactions[0].is_autocommit);
    assert_int_equal(script->transactions[0].tries, 0);
    assert_string_equal(script->transactions[1].isolation, "serializable");
    script_destroy(script);
}

/* The first word of a statement's text decides the kind. A statement that writes in one dialect
 * counts as a write, whatever the order of its texts in Lua's table. */
TEST(test_kinds_of_statements)
{
    static const struct {
        const char *texts;
        enum script_statement_kind kind;
    } cases[] = {
        {"'select 1'", SCRIPT_READ},
        {"' (SELECT 1)'", SCRIPT_READ},
        {"'selected'", SCRIPT_OTHER},
        {"'call p()'", SCRIPT_OTHER},
        {"'Delete from t'", SCRIPT_WRITE},
        {"{default = 'select 1', sqlite = 'update t set a = 1'}", SCRIPT_WRITE},
        {"{default = 'update t set a = 1', sqlite = 'select 1'}", SCRIPT_WRITE},
        {"{a = 'select 1', b = 'select 1', c = 'call p()', d = 'merge into t', e = 'values (1)'}",
         SCRIPT_WRITE},
        {"{a = 'call p()', b = 'select 1', c = 'call p()'}", SCRIPT_READ},
    };
    EACH_CASE (i, cases, "%s", cases[i].texts) {
        char text[400];
        snprintf(text, sizeof text, "statement('s', %s) transaction('t', function() end)",
                 cases[i].texts);
        struct script *script = load(text, NULL);
        assert_int_equal(script->statements[0].kind, cases[i].kind);
        script_destroy(script);
    }
}

/* The dialect decides how many ? placeholders a text has. */
TEST(test_parameters_by_dialect)
{
    struct script *script = load("statement('s', [[SELECT 'it\\'s ?']])\n" BODY, NULL);
    struct script_place place = {.sessions = 1, .dialect = "mariadb"};
    struct statement statement;
    struct error error = {.kind = ERROR_NONE};
    char *sql;
    assert_int_equal(script_resolve(script, 0, &place, &statement, &sql, &error), STATUS_OK);
    free(sql);
    place.dialect = "postgresql";
    assert_int_equal(script_resolve(script, 0, &place, &statement, &sql, &error), STATUS_REJECTED);
    assert_part(error.text,
                ".lua:1: statement 's' has 1 ? placeholder in postgresql, but lists 0 types");
    script_destroy(script);
    expect_refused("statement('s', {postgresql = [[SELECT 'it\\'s ?']]})\n" BODY, NULL,
                   "has 1 ? placeholder but lists 0 types");
}

/* The script's calls to the host, in one line. */
struct log {
    char text[4000];
    enum status next; /* result of the next run */
    uint64_t rows;    /* rows in the next answer */
    bool is_stopped;
    unsigned asked; /* number of calls to is_stopped */
};

static void add(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct log *log, const char *format, ...)
{
    const size_t used = strlen(log->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(log->text + used, sizeof log->text - used, format, arguments);
    va_end(arguments);
}

static enum status host_run(void *context, size_t statement, const struct batch *parameters,
                            struct answer *answer)
{
    struct log *log = context;
    add(log, "run %zu(", statement);
    for (size_t i = 0; parameters != NULL && i < parameters->table->column_count; i++) {
        const union column_values values = parameters->columns[i].values;
        if (parameters->columns[i].is_null[0]) {
            add(log, " null");
            continue;
        }
        switch (parameters->table->columns[i].type) {
        case COLUMN_INT16:
            add(log, " %d", values.int16[0]);
            break;
        case COLUMN_INT32:
            add(log, " %d", values.int32[0]);
            break;
        case COLUMN_FLOAT64:
            add(log, " %g", values.float64[0]);
            break;
        case COLUMN_TEXT:
            add(log, " '%.*s'", (int)values.text[0].length, values.text[0].bytes);
            break;
        default:
            add(log, " %" PRId64, values.int64[0]);
        }
    }
    add(log, ") ");
    const struct cell cells[] = {{.type = COLUMN_INT64, .as.int64 = 7},
                                 {.type = COLUMN_TEXT, .as.text = {"seven", 5}},
                                 {.type = COLUMN_TEXT, .is_null = true}};
    for (uint64_t i = 0; i < log->rows && answer->take != NULL; i++) {
        /* the third row has a cell less */
        answer->take(answer->context, cells, COUNT_OF(cells) - (i == 2 ? 1 : 0));
    }
    answer->rows = log->rows;
    return log->next;
}

static bool host_forgive(void *context)
{
    add(context, "forgive ");
    return true;
}

static enum status host_append(void *context, size_t dataset, uint64_t rows)
{
    add(context, "append %zu %" PRIu64 " ", dataset, rows);
    return STATUS_OK;
}

static enum status host_count(void *context, size_t dataset, uint64_t *rows)
{
    add(context, "count %zu ", dataset);
    *rows = 42;
    return STATUS_OK;
}

static enum status host_think(void *context, int64_t ns)
{
    add(context, "think %" PRId64 " ", ns);
    return STATUS_OK;
}

static void host_check(void *context, bool is_good, const char *text)
{
    add(context, "check %d %s ", is_good, text);
}

static void host_found(void *context, bool is_found)
{
    add(context, "found %d ", is_found);
}

static void host_measure(void *context, size_t metric, double value)
{
    add(context, "measure %zu %g ", metric, value);
}

static bool host_is_stopped(void *context)
{
    struct log *log = context;
    log->asked++;
    return log->is_stopped;
}

static bool host_can_roll_back(void *context)
{
    const struct log *log = context;
    return log->rows == 0;
}

static struct script_state *begin(const struct script *script, struct log *log,
                                  struct script_host *host, unsigned session)
{
    *host = (struct script_host){log,          host_run,           host_forgive,   host_append,
                                 host_count,   host_think,         host_check,     host_found,
                                 host_measure, host_can_roll_back, host_is_stopped};
    const struct script_place place = {
        .session = session, .sessions = 4, .seed = 5, .dialect = "sqlite", .host = host};
    struct script_state *state;
    struct error error = {.kind = ERROR_NONE};
    if (script_state_create(&state, script, &place, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return state;
}

/* Runs the only transaction of the script once. Returns how it ended. */
static enum script_end run_once(const char *text, struct log *log, struct error *error)
{
    struct script *script = load(text, NULL);
    struct script_host host;
    struct script_state *state = begin(script, log, &host, 3);
    error_clear(error);
    const enum script_end end = script_try(state, 0, 0, error);
    script_state_destroy(state);
    script_destroy(script);
    return end;
}

/* Runs a transaction with `body` after `declarations`. Its statements return `next`. Checks how the
 * transaction ends, and that its error contains `words`. */
static void expect_end(const char *declarations, const char *body, enum status next,
                       enum script_end end, const char *words)
{
    char text[400];
    struct error error;
    struct log log = {.next = next};
    snprintf(text, sizeof text, "%stransaction('t', function() %s end)", declarations, body);
    const enum script_end ended = run_once(text, &log, &error);
    if (ended != end) {
        fail_msg("ended with %d, not %d: %s", ended, end, error.text);
    }
    assert_part(error.text, words);
}

TEST(test_uneven_rows)
{
#define UNEVEN(body)                                                                               \
    "local s = statement('s', 'select 1')\ntransaction('t', function() " body " end)"
    struct log log = {.rows = 3};
    struct error error;
    assert_int_equal(run_once(UNEVEN("s:all()"), &log, &error), SCRIPT_WRONG);
    assert_part(error.text,
                "statement 's' returns rows with different numbers of columns: use :run");
    assert_int_equal(run_once(UNEVEN("check(s:run() == 3) check(s:one() == 7)"), &log, &error),
                     SCRIPT_DONE);
#undef UNEVEN
}

TEST(test_calls)
{
    struct error error;
    struct log log = {.rows = 2};
    assert_int_equal(
        run_once(
            "local s = statement('s', 'select ?, ?, ?', {'int32', 'text(9)', 'decimal(5,2)'})\n"
            "local log = dataset('syslog_table')\n"
            "transaction('t', function()\n"
            "  local a, b, c = s:one(1, 'x', 2.5)\n"
            "  check(a == 7 and b == 'seven' and c == null, 'cells')\n"
            "  found(s:run({'12', 5, null}) == 2)\n"
            "  local all = s:all(1e6, 'y', 3)\n"
            "  check(#all == 2 and all[2][2] == 'seven')\n"
            "  log:append(10) check(log:count() == 42) think(0.5)\n"
            "end)",
            &log, &error),
        SCRIPT_DONE);
    assert_string_equal(log.text, "run 0( 1 'x' 250) check 1 cells run 0( 12 '5' null) found 1 "
                                  "run 0( 1000000 'y' 300) check 1  append 0 10 count 0 check 1  "
                                  "think 500000000 ");
}

TEST(test_ends)
{
    static const struct {
        const char *body;
        enum status next;
        enum script_end end;
        const char *words; /* words in the error */
    } cases[] = {
        {"s:run(1)", STATUS_OK, SCRIPT_DONE, ""},
        {"s:run(1)", STATUS_REJECTED, SCRIPT_FAILED, ""},
        {"pcall(s.run, s, 1)", STATUS_REJECTED, SCRIPT_FAILED, ""},
        {"local n, why = s:try(1) check(n == nil and why == 'duplicate')", STATUS_REJECTED,
         SCRIPT_DONE, ""},
        {"s:run(1, 2)", STATUS_OK, SCRIPT_WRONG, ".lua:2: statement 's' takes 1 value, got 2"},
        {"s:run(40000)", STATUS_OK, SCRIPT_WRONG, "value 1 is 40000, not an int16"},
        {"s:run(1.5)", STATUS_OK, SCRIPT_WRONG,
         "value 1 is 1.5, not an int16: uniform draws whole numbers only between whole"},
        {"s:run('x')", STATUS_OK, SCRIPT_WRONG, "value 1 is the text 'x', not an int16"},
        {"s:run(nil)", STATUS_OK, SCRIPT_WRONG, "value 1 is a nil: write null for NULL"},
        {"error(tostring(null))", STATUS_OK, SCRIPT_WRONG, ": NULL"},
        {"print(1, 'a', nil, {})", STATUS_OK, SCRIPT_DONE, ""},
        {"xpcall(print, print)", STATUS_OK, SCRIPT_WRONG, "(global 'xpcall')"},
        {"s.run(1)", STATUS_OK, SCRIPT_WRONG, "a statement is needed here, not a number"},
        {"rollback('enough')", STATUS_OK, SCRIPT_ROLLBACK, "enough"},
        {"pcall(rollback, 'enough') s:run(1)", STATUS_OK, SCRIPT_ROLLBACK, "enough"},
        {"setmetatable({}, {__gc = function() s:run(1) end})", STATUS_OK, SCRIPT_WRONG,
         "a script cannot use __gc"},
        {"getmetatable(setmetatable({}, {x = 1})).x = 2", STATUS_OK, SCRIPT_DONE, ""},
        {"x = 1", STATUS_OK, SCRIPT_WRONG, "'x' is not local"},
        {"check = 1", STATUS_OK, SCRIPT_WRONG, "'check' is not local"},
        {"statement('z', 'select 1')", STATUS_OK, SCRIPT_WRONG, "must be called at the top level"},
        {"uniform(1, 2)", STATUS_OK, SCRIPT_WRONG, "must be called at the top level"},
        {"think(-1)", STATUS_OK, SCRIPT_WRONG, "seconds"},
        {"local t = {} for i = 1, 1e9 do t[i] = i end", STATUS_OK, SCRIPT_WRONG, "8 MiB"},
    };
    EACH_CASE (i, cases, "%s", cases[i].body) {
        expect_end("local s = statement('s', 'select ?', {'int16'})\n", cases[i].body,
                   cases[i].next, cases[i].end, cases[i].words);
    }
}

/* What the functions of a transaction do with right and wrong arguments. */
TEST(test_arguments)
{
    static const char declarations[] =
        "local s, z = statement('s', 'select ?', {'int16'}), statement('z', 'select 1')\n"
        "local d, c, m, g, t2 = dataset('d'), counter('c', 7), count('m'), gauge('g'), "
        "trend('t2')\n"
        "local u = uniform(3, 3) local w = derive(u, function(i) return 'x' .. i end)\n";
    static const struct {
        /* `expected` has the calls to the host, the number of the enum script_end, and the error */
        const char *body, *expected;
    } cases[] = {
        {"s:run(5)", "run 0( 5) 0 "},
        {"s:run({6})", "run 0( 6) 0 "},
        {"s:run({6, 7})", "4 :4: statement 's' takes 1 value, got 2"},
        {"s:run()", "4 :4: statement 's' takes 1 value, got 0"},
        {"s:run(u)", "run 0( 3) 0 "},
        {"s:run(true)", "run 0( 1) 0 "},
        {"s:run({})", "4 :4: statement 's' takes 1 value, got 0"},
        {"z:run({})", "run 1() 0 "},
        {"z:run()", "run 1() 0 "},
        {"s:run(null)", "run 0( null) 0 "},
        {"s:run(print)",
         "4 :4: statement 's': value 1 is a function: give a number, a text, true, false or null"},
        {"s:run('7')", "run 0( 7) 0 "},
        {"s:run('x')", "4 :4: statement 's': value 1 is the text 'x', not an int16"},
        {"s:run(w)", "4 :4: statement 's': value 1 is the text 'x3', not an int16"},
        {"s:one(5)", "run 0( 5) 0 "},
        {"s:run(5, {})", "4 :4: statement 's' takes 1 value, got 2"},
        {"d:append(1)", "append 0 1 0 "},
        {"d:append(2.0)", "append 0 2 0 "},
        {"d:append(0)", "4 :4: append: the number of rows must be 1 or more, not 0"},
        {"d:append(-1)", "4 :4: append: the number of rows must be 1 or more, not -1"},
        {"d:append(1.5)", "4 :4: append: rows must be a whole number, not 1.5"},
        {"d:append('x')", "4 :4: append: rows must be a whole number, not x"},
        {"d:count(1)", "count 0 0 "},
        {"s:count()", "4 :4: attempt to call a nil value (method 'count')"},
        {"check(c:next() == 7 and c:next() == 8, 'numbers')", "check 1 numbers 0 "},
        {"check(true)", "check 1  0 "},
        {"check(nil, 'no')", "check 0 no 0 "},
        {"check(found(5) == 5, 'same')", "found 1 check 1 same 0 "},
        {"found(nil)", "found 0 0 "},
        {"m:add()", "measure 0 1 0 "},
        {"m:add(0)", "measure 0 0 0 "},
        {"m:add(2.5)", "measure 0 2.5 0 "},
        {"m:add(-1)",
         "4 :4: count 'm': add takes 0 or more, not -1.0: a count only grows; use a gauge"},
        {"m:add('3')", "measure 0 3 0 "},
        {"m:add('x')", "4 :4: count 'm': add takes a number, not x"},
        {"m:add({})", "4 :4: count 'm': add takes a number, not a table"},
        {"m:add(nil)", "4 :4: count 'm': add takes a number, not nil"},
        {"m:add(1/0)", "4 :4: count 'm': add takes a finite number, not inf"},
        {"g:add(-1)", "measure 1 -1 0 "},
        {"g:add()", "4 :4: gauge 'g': add takes a number, not nothing"},
        {"t2:add(true)", "4 :4: trend 't2': add takes a number, not true"},
        {"think(0)", "think 0 0 "},
        {"assert(select('#', think(0)) == 0)", "think 0 0 "},
        {"think(86400)", "think 86400000000000 0 "},
        {"think(86400.5)", "4 :4: think: the argument must be a number of seconds from 0 to 86400"},
        {"think(-0.5)", "4 :4: think: the argument must be a number of seconds from 0 to 86400"},
        {"think(0.25)", "think 250000000 0 "},
        {"think('2')", "think 2000000000 0 "},
        {"think('x')", "4 :4: think: the argument must be a number of seconds from 0 to 86400"},
        {"think({})", "4 :4: a table cannot be a value: give a number, a text, true or false"},
        {"think(u)", "think 3000000000 0 "},
        {"rollback()", "1 rollback"},
        {"rollback('why')", "1 why"},
        {"rollback(5)", "1 5"},
        {"check(list(1, '?') == '?' and list(3, '?') == '?, ?, ?', 'list')", "check 1 list 0 "},
        {"check(#list(65535, 'x') == 3 * 65535 - 2, 'long')", "check 1 long 0 "},
        {"list(65536, 'x')", "4 :4: list: the number of items must be 1 to 65535"},
        {"list(0, 'x')", "4 :4: list: the number of items must be 1 to 65535"},
        {"list(1.5, 'x')", "4 :4: list: how many must be a whole number, not 1.5"},
        {"check(fnv(1) == 0, tostring(fnv(1)))", "check 0 8517097267634966620 0 "},
        {"fnv('x')", "4 :4: fnv: the number must be a whole number, not x"},
        {"on_session(function() end)", "4 :4: on_session() must be called at the top level of the "
                                       "script, not in a function that runs later"},
        {"counter('x', 1)", "4 :4: counter() must be called at the top level of the script, not in "
                            "a function that runs later"},
        {"param('p', 1)", "4 :4: param() must be called at the top level of the script, not in a "
                          "function that runs later"},
        {"dataset('e')", "4 :4: dataset() must be called at the top level of the script, not in a "
                         "function that runs later"},
        {"invariant('i', 'select 1')", "4 :4: invariant() must be called at the top level of the "
                                       "script, not in a function that runs later"},
        {"count('x')", "4 :4: count() must be called at the top level of the script, not in a "
                       "function that runs later"},
        {"local a = w() check(a == 'x3', a)", "check 1 x3 0 "},
        {"check(u() == 3, 'u')", "check 1 u 0 "},
        {"derive(u, print)", "4 :4: derive() must be called at the top level of the script, not in "
                             "a function that runs later"},
        {"row()", "4 :4: row() must be called at the top level of the script, not in a function "
                  "that runs later"},
    };
    EACH_CASE (i, cases, "%s", cases[i].body) {
        char text[600], shown[5000];
        struct error error;
        struct log log = {.rows = 0};
        snprintf(text, sizeof text, "%stransaction('t', function() %s end)", declarations,
                 cases[i].body);
        const enum script_end end = run_once(text, &log, &error);
        const size_t prefix = strncmp(error.text, path, strlen(path)) == 0 ? strlen(path) : 0;
        snprintf(shown, sizeof shown, "%s%d %s", log.text, (int)end, error.text + prefix);
        assert_string_equal(shown, cases[i].expected);
    }
}

/* The numbers that a script adds to its metrics. */
TEST(test_metrics)
{
    static const char metrics[] =
        "local a, b, c = trend('a', {unit = 'ms'}), count('b'), gauge('c')\n"
        "local d = derive(row(), function(i) b:add() return i end)\n";
    static const struct {
        const char *body;
        enum script_end end;
        const char *words; /* what the host gets, or the error */
    } cases[] = {
        {"a:add(12.5) b:add() b:add(3) c:add(-2) a:add('1.5')", SCRIPT_DONE,
         "measure 0 12.5 measure 1 1 measure 1 3 measure 2 -2 measure 0 1.5 "},
        {"a:add()", SCRIPT_WRONG, "trend 'a': add takes a number, not nothing"},
        {"c:add(nil)", SCRIPT_WRONG, "gauge 'c': add takes a number, not nil"},
        {"b:add(null)", SCRIPT_WRONG, "count 'b': add takes a number, not NULL"},
        {"b:add(true)", SCRIPT_WRONG, "count 'b': add takes a number, not true"},
        {"a:add('ms')", SCRIPT_WRONG, "trend 'a': add takes a number, not ms"},
        {"a:add(0 / 0)", SCRIPT_WRONG, "trend 'a': add takes a finite number, not "},
        {"a:add(1 / 0)", SCRIPT_WRONG, "trend 'a': add takes a finite number, not inf"},
        {"b:add(-1)", SCRIPT_WRONG, "count 'b': add takes 0 or more, not -1"},
        {"d()", SCRIPT_WRONG, "count 'b': add() works only in a transaction's function"},
        {"pcall(d) b:add()", SCRIPT_DONE, "measure 1 1 "},
        {"trend('z')", SCRIPT_WRONG, "trend() must be called at the top level"},
    };
    EACH_CASE (i, cases, "%s", cases[i].body) {
        char text[500];
        struct error error;
        struct log log = {.rows = 1};
        snprintf(text, sizeof text, "%stransaction('t', function() %s end)", metrics,
                 cases[i].body);
        assert_int_equal(run_once(text, &log, &error), cases[i].end);
        if (cases[i].end == SCRIPT_DONE) {
            assert_string_equal(log.text, cases[i].words);
        } else {
            assert_part(error.text, cases[i].words);
        }
    }
}

/* An endless script is ended, even if it catches the error that ends it, or runs in a library
 * function. */
TEST(test_endless)
{
    static const char *const bodies[] = {
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(s.run, s) end",
    };
    EACH_CASE (i, bodies, "%s", bodies[i]) {
        char text[200];
        struct error error;
        struct log log = {.is_stopped = true};
        const bool calls = strstr(bodies[i], "s.run") != NULL;
        snprintf(text, sizeof text,
                 "local s = statement('s', 'select 1')\ntransaction('t', function() %s end)",
                 bodies[i]);
        /* a script that calls the host may be stopped in a call or between two calls */
        const enum script_end end = run_once(text, &log, &error);
        assert_true(end == SCRIPT_WRONG || (calls && end == SCRIPT_STOPPED));
        if (end == SCRIPT_WRONG) {
            assert_part(error.text, ".lua:2: this code was still running after the run");
        }
        assert_true(log.asked > 0);
    }
}

/* Functions that could take long in C are bounded. */
TEST(test_bounds)
{
    static const struct {
        const char *body;
        enum script_end end;
        const char *words;
    } cases[] = {
        {"assert((''):rep(1 << 62, '') == '' and ('ab'):rep(2, ',') == 'ab,ab')", SCRIPT_DONE, ""},
        {"assert(('ab'):rep(2, '--') == 'ab--ab')", SCRIPT_DONE, ""},
        {"table.move({1}, 1, 1e9, 1, {})", SCRIPT_WRONG, ".lua:1: more than 1000000 elements"},
        {"table.concat({}, '', 1, 1e9)", SCRIPT_WRONG, "more than 1000000 elements"},
        {"table.insert(setmetatable({}, {__len = function() return 1 << 50 end}), 1, 1)",
         SCRIPT_WRONG, "more than 1000000 elements"},
        {"table.sort(setmetatable({}, {__len = function() return 1 << 30 end}))", SCRIPT_WRONG,
         "more than 1000000 elements"},
        {"local t = {3, 1, 2} table.sort(t) table.insert(t, 9) table.remove(t, 1)\n"
         "assert(table.concat(t, ',') == '2,3,9' and table.concat(t, ',', 2, 3) == '3,9')\n"
         "assert(#table.move(t, 1, 3, 3) == 5)",
         SCRIPT_DONE, ""},
        {"table.concat({{}})", SCRIPT_WRONG, ".lua:1: invalid value ("},
        {"local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end",
         SCRIPT_WRONG, "8 MiB"},
        {"local ok, why = pcall(error, 'x') assert(not ok and why == 'x')", SCRIPT_DONE, ""},
        {"assert(select('#', pcall(function(...) return ... end, 1, nil, 3)) == 4)", SCRIPT_DONE,
         ""},
    };
    EACH_CASE (i, cases, "%s", cases[i].body) {
        expect_end("", cases[i].body, STATUS_OK, cases[i].end, cases[i].words);
    }
}

/* Patterns work as in Lua's library, but patterns that would never finish are refused. */
TEST(test_patterns)
{
    static const struct {
        const char *body, *words;
    } cases[] = {
        {"local a = ('a'):rep(200000) a:find(('.-'):rep(6) .. 'b')",
         "with 6 repetitions may never"},
        {"local a = ('a'):rep(2000000) a:find(('a'):rep(1000000) .. 'b', 1, true)",
         "a pattern of 1000001 bytes with 0 repetitions may never"},
        {"error('' .. ('x'):rep(100000):gsub('%s+', ''):len())", ": 100000"},
        {"error((('k = v'):match('^%s*([%w_-]+)%s*=%s*(.-)%s*$')))", ": k"},
        {"error('' .. select(2, ('a*-+?[b-]'):gsub('[%*%-+?]', '')))", ": 5"},
        {"error('' .. ('a.b'):find('.', 2, true))", ": 2"},
        {"local t = {} for w in ('one two'):gmatch('%a+') do t[#t + 1] = w end error('' .. #t)",
         ": 2"},
        {"error(pcall(string.find, 'a', '[a') and 'yes' or 'no')", ": no"},
        {"error(pcall(string.find, 'a', '%') and 'yes' or 'no')", ": no"},
    };
    EACH_CASE (i, cases, "%s", cases[i].body) {
        expect_end("", cases[i].body, STATUS_OK, SCRIPT_WRONG, cases[i].words);
    }
}

/* A function that makes a value may draw numbers and run a statement. The values before and after
 * it do not change. */
TEST(test_nested_draws)
{
    struct error error;
    struct log log = {.rows = 2};
    assert_int_equal(
        run_once("local s = statement('s', 'select ?, ?, ?', {'text', 'text', 'text'})\n"
                 "local n = statement('n', 'select ?', {'text'})\n"
                 "local a, long = pattern('a'), text(9000)\n"
                 "local d = derive(a, function(v) long() n:run('nested') return 7 end)\n"
                 "transaction('t', function() s:run(a, d, a) end)",
                 &log, &error),
        SCRIPT_DONE);
    assert_string_equal(log.text, "run 1( 'nested') run 0( 'a' '7' 'a') ");
}

/* If one of the bounds is a float, even a whole one, the drawn numbers are real numbers. */
TEST(test_uniform)
{
    static const struct {
        const char *range;
        bool is_whole;
    } cases[] = {
        {"1, 5", true},       {"0, 0", true},       {"-3, 1 << 40", true},
        {"10 // 5, 9", true}, {"0.0, 1.0", false},  {"0, 1.0", false},
        {"1.0, 5", false},    {"0, 10 / 2", false}, {"0.5, 99.5", false},
    };
    EACH_CASE (i, cases, "uniform(%s)", cases[i].range) {
        char declarations[80];
        snprintf(declarations, sizeof declarations, "local g, whole = uniform(%s), 0\n",
                 cases[i].range);
        expect_end(
            declarations,
            "for i = 1, 100 do whole = whole + (math.type(g()) == 'integer' and 1 or 0) end\n"
            "error('whole ' .. whole)",
            STATUS_OK, SCRIPT_WRONG, cases[i].is_whole ? "whole 100" : "whole 0");
    }
}

/* A number that a session's function took from a counter is not given to another session. */
TEST(test_counter_of_session)
{
    struct script *script =
        load("local c, s = counter('c', 5), statement('s', 'select ?', {'int32'})\n"
             "on_session(function() s:run(c:next()) end)\n"
             "transaction('t', function() s:run(c:next()) end)",
             NULL);
    struct log log = {.rows = 0};
    struct script_host host;
    struct error error = {.kind = ERROR_NONE};
    struct script_state *made = begin(script, &log, &host, 0);
    assert_int_equal(script_connected(made, &error), SCRIPT_DONE);
    assert_int_equal(script_try(made, 0, 0, &error), SCRIPT_DONE);
    assert_string_equal(log.text, "run 0( 5) run 0( 6) ");
    script_state_destroy(made);
    script_destroy(script);
}

/* The same turn draws the same values; another turn, session or seed draws other values. */
TEST(test_draws_repeat)
{
    struct script *script = load("local c, k = counter('c', 100), keys('zipfian', 1, 1000000)\n"
                                 "local s = statement('s', 'select ?, ?, ?, ?',\n"
                                 "  {'int32', 'text', 'int32', 'text'})\n"
                                 "local t = text(5, 9)\n"
                                 "transaction('t', function() s:run(k, t, c:next(), '${session}')\n"
                                 "  local d = distinct(3, k) check(d[1] ~= d[2] and #d == 3) end)",
                                 NULL);
    struct log logs[4] = {{.rows = 0}};
    struct script_host hosts[4];
    struct error error = {.kind = ERROR_NONE};
    struct script_state *first = begin(script, &logs[0], &hosts[0], 0);
    assert_int_equal(script_try(first, 0, 9, &error), SCRIPT_DONE);
    char once[sizeof logs[0].text];
    memcpy(once, logs[0].text, sizeof once);
    assert_part(once, " 100 ");
    logs[0].text[0] = '\0';
    assert_int_equal(script_try(first, 0, 9, &error), SCRIPT_DONE);
    assert_string_equal(logs[0].text, once);
    assert_int_equal(counter_known(script->counters[0]), 100);
    script_transaction_ended(first);
    assert_int_equal(counter_known(script->counters[0]), 101);
    logs[0].text[0] = '\0';
    assert_int_equal(script_try(first, 0, 10, &error), SCRIPT_DONE);
    assert_string_not_equal(logs[0].text, once);
    struct script_state *second = begin(script, &logs[1], &hosts[1], 1);
    assert_int_equal(script_try(second, 0, 9, &error), SCRIPT_DONE);
    assert_string_not_equal(logs[1].text, once);
    script_state_destroy(first);
    script_state_destroy(second);
    script_destroy(script);
}

TEST(test_weights)
{
    struct script *script = load("transaction('a', function() end, {weight = 60})\n"
                                 "transaction('b', function() end, {weight = 0})\n"
                                 "transaction('c', function() end, {weight = 34})\n"
                                 "transaction('d', function() end, {weight = 6})",
                                 NULL);
    struct log log = {.rows = 0};
    struct script_host host;
    struct script_state *made = begin(script, &log, &host, 0);
    unsigned counts[4] = {0};
    for (uint64_t turn = 0; turn < 10000; turn++) {
        counts[script_choose(made, turn)]++;
    }
    assert_in_range(counts[0], 5800, 6200);
    assert_int_equal(counts[1], 0);
    assert_in_range(counts[2], 3200, 3600);
    assert_in_range(counts[3], 500, 700);
    script_state_destroy(made);
    script_destroy(script);
}

/* Each turn draws a new pause, which does not change the transaction's own draws. */
TEST(test_pauses)
{
    struct script *script =
        load("local half = derive(uniform(1, 100000), function(n) return n / 2 end)\n"
             "transaction('none', function() end)\n"
             "transaction('two', function() end, {pause = 2})\n"
             "transaction('drawn', function() end, {pause = half})\n"
             "transaction('wrong', function() end, {pause = -1})\n"
             "transaction('text', function() end, {pause = derive(uniform(1, 2), function() return "
             "'x' end)})",
             NULL);
    struct log log = {.rows = 0};
    struct script_host host;
    struct error error = {.kind = ERROR_NONE};
    struct script_state *made = begin(script, &log, &host, 0);
    int64_t ns = -1, same, other;
    assert_int_equal(script_pause(made, 0, 7, &ns, &error), SCRIPT_DONE);
    assert_int_equal(ns, 0);
    assert_int_equal(script_pause(made, 1, 7, &ns, &error), SCRIPT_DONE);
    assert_int_equal(ns, 2000000000);
    assert_int_equal(script_pause(made, 2, 7, &ns, &error), SCRIPT_DONE);
    assert_in_range(ns, 500000000, INT64_C(86400000000000));
    assert_int_equal(script_pause(made, 2, 7, &same, &error), SCRIPT_DONE);
    assert_int_equal(script_pause(made, 2, 8, &other, &error), SCRIPT_DONE);
    assert_int_equal(same, ns);
    assert_int_not_equal(other, ns);
    assert_int_equal(script_pause(made, 3, 7, &ns, &error), SCRIPT_WRONG);
    assert_part(error.text,
                "transaction 'wrong': the pause must be a number of seconds from 0 to 86400");
    error_clear(&error);
    assert_int_equal(script_pause(made, 4, 7, &ns, &error), SCRIPT_WRONG);
    assert_part(error.text, "transaction 'text': the pause must be a number of seconds");
    script_state_destroy(made);
    script_destroy(script);
}

/* A statement with ${session} is different in each session. Lua's pairs() visits the keys in the
 * same order in all sessions. */
TEST(test_sessions)
{
    struct script *script = load("local t = {}\n"
                                 "for i = 1, 30 do t['k' .. i] = i end\n"
                                 "for k, v in pairs(t) do statement(k, 'select ' .. v) end\n"
                                 "local s = statement('tmp', 'drop table tmp_${session}')\n"
                                 "statement('more', 'drop table more_${session}')\n"
                                 "on_session(function() s:run() end)\n" BODY,
                                 NULL);
    assert_int_equal(script->statement_count, 32);
    assert_string_equal(script->statements[0].name, "k1");
    assert_string_equal(script->statements[1].name, "k10");
    struct log log = {.rows = 0};
    struct script_host host;
    struct error error = {.kind = ERROR_NONE};
    struct script_state *made = begin(script, &log, &host, 3);
    assert_string_equal(script_state_statement(made, 30)->sql, "drop table tmp_3");
    assert_string_equal(script_state_statement(made, 31)->sql, "drop table more_3");
    assert_string_equal(script_state_statement(made, 1)->sql, "select 10");
    assert_int_equal(script_state_statement(made, 30)->slot, 31);
    assert_int_equal(script_connected(made, &error), SCRIPT_DONE);
    assert_string_equal(log.text, "run 30() ");
    script_state_destroy(made);
    script_destroy(script);
}

TEST(test_rows)
{
    struct script *script = load(
        "local t = dataset('t', 100, {{'a', 'int32', row(), key = true}, {'auto', 'int64'},\n"
        "  {'b', 'text(30)', derive(row(0), function(i) return 'user' .. fnv(i) end)},\n"
        "  {'c', 'text(20)', format('%03d', row(5))}, {'d', 'int16', uniform(1, 9)},\n"
        "  {'e', 'text(3)', derive(row(), function(i) return i == 50 and 'long' or 'x' end)}})\n"
        "transaction('t', function() t:append(1) end)",
        NULL);
    const struct script_place place = {.sessions = 1, .seed = 5, .dialect = "sqlite"};
    struct script_state *made;
    struct error error = {.kind = ERROR_NONE};
    const struct batch *batch;
    assert_int_equal(script_state_create(&made, script, &place, &error), STATUS_OK);
    struct script_rows *rows = script_rows_create(script, 0, 10);
    assert_non_null(rows);
    batch = script_rows_fill(rows, made, 10, 1, 10, &error);
    assert_non_null(batch);
    assert_int_equal(batch->row_count, 10);
    assert_int_equal(batch->columns[0].values.int32[9], 20);
    char user[40];
    const struct text_value *text = &batch->columns[1].values.text[2];
    snprintf(user, sizeof user, "user%" PRIu64, draw_fnv(12));
    assert_int_equal(text->length, strlen(user));
    assert_memory_equal(text->bytes, user, text->length);
    text = &batch->columns[2].values.text[0];
    assert_int_equal(text->length, 3);
    assert_memory_equal(text->bytes, "015", 3);
    const int16_t drawn = batch->columns[3].values.int16[5];
    batch = script_rows_fill(rows, made, 15, 4, 1, &error);
    assert_non_null(batch);
    assert_int_equal(batch->columns[3].values.int16[0], drawn);
    assert_null(script_rows_fill(rows, made, 45, 1, 10, &error));
    assert_part(error.text, "row 49: the text 'long' does not fit column 'e' (text(3))");
    script_rows_destroy(rows);
    script_state_destroy(made);
    script_destroy(script);
}

/* A function of derive can make a NULL, in a column that can have one. */
TEST(test_rows_with_null)
{
    struct script *script = load(
        "local function odd(i) return i % 2 == 1 and i or null end\n"
        "dataset('t', 9, {{'a', 'int32', row(), key = true}, {'b', 'int32', derive(row(), odd)},\n"
        "  {'c', 'text(5)', derive(row(), odd)}})\n"
        "dataset('u', 9, {{'a', 'int32', derive(row(), odd), required = true}})\n" BODY,
        NULL);
    const struct script_place place = {.sessions = 1, .seed = 5, .dialect = "sqlite"};
    struct script_state *made;
    struct error error = {.kind = ERROR_NONE};
    assert_int_equal(script_state_create(&made, script, &place, &error), STATUS_OK);
    struct script_rows *rows = script_rows_create(script, 0, 4);
    assert_non_null(rows);
    for (uint64_t first = 0; first < 2; first++) { /* the second batch has no old NULLs */
        const struct batch *batch = script_rows_fill(rows, made, first, 1, 4, &error);
        assert_non_null(batch);
        assert_null(batch->columns[0].is_null);
        for (uint64_t r = 0; r < 4; r++) {
            const bool is_null = (first + r + 1) % 2 == 0;
            assert_int_equal(batch->columns[1].is_null[r], is_null);
            assert_int_equal(batch->columns[2].is_null[r], is_null);
            assert_int_equal(batch->columns[1].values.int32[r], is_null ? 0 : first + r + 1);
            assert_int_equal(batch->columns[2].values.text[r].length, is_null ? 0 : 1);
        }
    }
    script_rows_destroy(rows);
    rows = script_rows_create(script, 1, 4);
    assert_non_null(rows);
    assert_null(script_rows_fill(rows, made, 0, 1, 4, &error));
    assert_part(error.text, "row 1: column 'a' cannot be NULL");
    script_rows_destroy(rows);
    script_state_destroy(made);
    script_destroy(script);
}

/* The built-in scripts load with their defaults, and have a description for users. */
TEST(test_built_in)
{
    for (const struct script_built_in *entry = script_built_ins; entry->name != NULL; entry++) {
        struct error error = {.kind = ERROR_NONE};
        struct script *script = script_load(entry->name, NULL, 0, &error);
        if (script == NULL) {
            fail_msg("%s", error.text);
        }
        struct log log = {.rows = 1};
        struct script_host host;
        struct script_state *made = begin(script, &log, &host, 1);
        script_state_destroy(made);
        script_destroy(script);
    }
}

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
