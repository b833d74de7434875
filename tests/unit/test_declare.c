/* Declarations of scripts, and the messages about mistakes in them. */
#include "unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "append/buffer.h"
#include "base/text.h"
#include "script/draw.h"
#include "script/script.h"
#include "unit/usage.h"

static char path[] = "/tmp/append_declare_XXXXXX.lua";

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

/* Returns the script, or NULL with the reason in *error. */
static struct script *try_load(const char *text, const char *set, struct error *error)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return script_load(path, &set, set == NULL ? 0 : 1, error);
}

/* Writes the texts in the order of their dialects, because a Lua table has no order. */
static void add_texts(struct buffer *out, const char *what, const struct script_texts *texts)
{
    static const char *const dialects[] = {"default", "clickhouse", "mariadb", "mysql", "sqlite"};
    size_t written = 0;
    for (size_t d = 0; d < COUNT_OF(dialects); d++) {
        for (size_t i = 0; i < texts->count; i++) {
            const struct script_text *entry = &texts->entries[i];
            const char *dialect = entry->dialect == NULL ? "default" : entry->dialect;
            if (strcmp(dialect, dialects[d]) == 0) {
                buffer_add_format(out, " %s %s '%s'", what, dialect, entry->text);
                written++;
            }
        }
    }
    assert_int_equal(written, texts->count);
}

static void add_flag(struct buffer *out, bool is, const char *name)
{
    buffer_add_text(out, is ? name : "");
}

static void add_columns(struct buffer *out, const struct script_dataset *dataset)
{
    for (size_t c = 0; c < dataset->column_count; c++) {
        const struct column *column = &dataset->table.columns[c];
        const struct script_column *details = &dataset->columns[c];
        buffer_add_format(out, "; %s %s", column->name, column->type_name);
        if (details->key > 0) {
            buffer_add_format(out, " key %u", details->key);
        }
        add_flag(out, details->is_numbered, " numbered");
        add_flag(out, column->has_default, " default");
        add_flag(out, column->is_unique, " unique");
        add_flag(out, !column->is_nullable, " required");
        if (details->value != NULL) {
            buffer_add_format(out, " made %d", (int)draw_kind(details->value));
        }
    }
}

static void add_dataset(struct buffer *out, const struct script *script, size_t number)
{
    const struct script_dataset *dataset = &script->datasets[number];
    const struct table *load = script_load_table(script, number);
    buffer_add_format(out, "dataset %s:%d %" PRIu64 " rows", dataset->name, dataset->line,
                      dataset->rows);
    add_flag(out, dataset->is_declared, " declared");
    add_flag(out, dataset->varies, " varies");
    add_columns(out, dataset);
    buffer_add_text(out, dataset->is_declared ? "; load" : "");
    for (size_t c = 0; c < load->column_count; c++) {
        buffer_add_format(out, " %s%s", load->columns[c].name,
                          load->columns[c].is_unique ? " unique" : "");
    }
    add_texts(out, "create", &dataset->create);
    add_texts(out, "options", &dataset->options);
    add_texts(out, "index", &dataset->indexes);
    if (dataset->partitions.count > 0) {
        buffer_add_format(out, " %u parts by %s of %zu from %" PRId64, dataset->partitions.count,
                          dataset->partitions.is_range ? "range" : "hash",
                          dataset->partitions.column, dataset->partitions.first);
    }
    for (size_t k = 0; k < dataset->foreign_key_count; k++) {
        const struct script_foreign_key *key = &dataset->foreign_keys[k];
        buffer_add_format(out, " %zu refers to %zu.%zu", key->column, key->dataset, key->to_column);
    }
    buffer_add_text(out, "\n");
}

static void add_statement(struct buffer *out, const struct script_statement *statement)
{
    static const char *const kinds[] = {"reads", "writes", "other"};
    buffer_add_format(out, "statement %s:%d of %zu %s", statement->name, statement->line,
                      statement->operation, kinds[statement->kind]);
    add_texts(out, "as", &statement->sql);
    for (size_t i = 0; i < statement->parameters.column_count; i++) {
        buffer_add_format(out, " %s", statement->parameters.columns[i].type_name);
    }
    if (statement->adds_to >= 0 || statement->takes_from >= 0) {
        buffer_add_format(out, " adds to %d takes from %d", statement->adds_to,
                          statement->takes_from);
    }
    add_flag(out, !statement->is_prepared, " unprepared");
    add_flag(out, statement->has_session, " session");
    add_flag(out, statement->controls_transaction, " controls");
    buffer_add_text(out, "\n");
}

static void add_transaction(struct buffer *out, const struct script_transaction *one)
{
    buffer_add_format(out, "transaction %s:%d of %zu weight %g tries %" PRIu64, one->name,
                      one->line, one->operation, one->weight, one->tries);
    add_flag(out, one->is_autocommit, " autocommit");
    add_flag(out, one->retries_duplicate, " duplicates");
    add_flag(out, one->pause != NULL, " pauses");
    if (one->isolation != NULL) {
        buffer_add_format(out, " %s", one->isolation);
    }
    if (one->sessions > 0) {
        buffer_add_format(out, " sessions %g%s", one->sessions, one->is_share ? " share" : "");
    }
    if (one->rate > 0) {
        buffer_add_format(out, " rate %g", one->rate);
    }
    buffer_add_text(out, "\n");
}

static void add_script(struct buffer *out, const struct script *script)
{
    for (size_t i = 0; i < script->param_count; i++) {
        const struct script_param *param = &script->params[i];
        buffer_add_format(out, "param %s=%s (%s) '%s' [%s]%s\n", param->name, param->value,
                          param->default_text, param->help, param->allowed,
                          param->is_set ? " set" : "");
    }
    for (size_t i = 0; i < script->dataset_count; i++) {
        add_dataset(out, script, i);
    }
    for (size_t i = 0; i < script->statement_count; i++) {
        add_statement(out, &script->statements[i]);
    }
    /* most scripts have a transaction "t" without options */
    const bool is_plain = script->transaction_count == 1 && script->transactions[0].weight == 1 &&
                          !script->transactions[0].pause;
    for (size_t i = 0; i < script->transaction_count && !is_plain; i++) {
        add_transaction(out, &script->transactions[i]);
    }
    for (size_t i = 0; i < script->invariant_count; i++) {
        buffer_add_format(out, "invariant %s:%d", script->invariants[i].claim,
                          script->invariants[i].line);
        add_texts(out, "as", &script->invariants[i].sql);
        buffer_add_text(out, "\n");
    }
    for (size_t i = 0; i < script->metric_count; i++) {
        buffer_add_format(out, "%s %s %s\n", script_metric_kinds[script->metrics[i].kind],
                          script->metrics[i].name, script->metrics[i].unit);
    }
    buffer_add_format(out, "%zu operations, %zu counters\n", script->operation_count,
                      script->counter_count);
}

/* Writes what the script declares or the message about its mistake, without the script's path. */
static void declare(const char *text, const char *set, struct buffer *out)
{
    struct error error = {.kind = ERROR_NONE};
    struct script *script = try_load(text, set, &error);
    if (script != NULL) {
        add_script(out, script);
        script_destroy(script);
        return;
    }
    assert_usage(&error);
    const char *rest = error.text;
    for (const char *at = strstr(rest, path); at != NULL; at = strstr(rest, path)) {
        buffer_add(out, rest, (size_t)(at - rest));
        rest = at + strlen(path);
    }
    buffer_add_text(out, rest);
}

#define T "transaction('t', function() end)"

TEST(test_declarations)
{
    static const struct {
        const char *text, *set, *expected;
    } cases[] = {
        {"statement('', 'select 1')", NULL,
         ":1: '' is not a valid statement name: use letters, digits, _ and -, at most 47 bytes"},
        {"statement(('a'):rep(47), 'select 1') " T, NULL,
         "statement aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1 of 0 reads as default "
         "'select 1'\n"
         "2 operations, 0 counters\n"},
        {"statement(('a'):rep(48), 'select 1')", NULL,
         ":1: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is not a valid statement name: "
         "use "
         "letters, digits, _ and -, at most 47 bytes"},
        {"dataset('t', 0, nil, {varies = 1})", NULL,
         ":1: option 'varies' must be true or false, not 1"},
        {"dataset('t', 0, nil, {varies = false}) " T, NULL,
         "dataset t:1 0 rows\n"
         "1 operations, 0 counters\n"},
        {"statement('s', 'select 1', nil, {prepared = 'no'})", NULL,
         ":1: option 'prepared' must be true or false, not no"},
        {"error(math.type(param('a', 5)) .. param('b', 6))", "b=7", ":1: integer7"},
        {"error(math.type(param('a', 5)) .. param('b', 6))", "a=-2k,a=3,b=-1k", ":1: integer-1000"},
        {"error(math.type(param('a', 0.5)) .. param('b', 1.5))", "a=2,b=-1e1", ":1: float-10.0"},
        {"error(tostring(param('a', true)) .. tostring(param('b', false)))", "b=true",
         ":1: truetrue"},
        {"error(tostring(param('a', true)) .. tostring(param('b', false)))", "a=false,b=t",
         ":1: parameter 'b' must be true or false, not 't'"},
        {"error(param('a', 'x') .. param('b', 'y'))", "b=", ":1: x"},
        {"error(param('a', 'x'))", "a=1=2", ":1: 1=2"},
        {"param('a', 5)", "a=5.5",
         ":1: parameter 'a' must be a whole number (10000, 10k, 1M), not '5.5'"},
        {"param('a', 5)", "a=-",
         ":1: parameter 'a' must be a whole number (10000, 10k, 1M), not '-'"},
        {"param('a', 5)", "a=9223372036854775807k",
         ":1: parameter 'a' must be a whole number (10000, 10k, 1M), not '9223372036854775807k'"},
        {"param('a', 0.5)", "a=", ":1: parameter 'a' must be a number, not ''"},
        {"param('a', 0.5)", "a=1x", ":1: parameter 'a' must be a number, not '1x'"},
        {"param('a', 0.5)", "a=inf", ":1: parameter 'a' must be a number, not 'inf'"},
        {"param('a', 0.5)", "a=7",
         ": the script declares no transaction: add transaction(\"name\", function)"},
        {"param('a', 5) " T, "b=1", " has no parameter 'b': see append help "},
        {"param('table_size', 5) " T, "tabel_size=1",
         " has no parameter 'tabel_size' (did you mean table_size?): see append help "},
        {"param('a', 5) " T, "a", "--set 'a' is not NAME=VALUE (see append help )"},
        {"param('a', 5) " T, "a=6,c", "--set 'c' is not NAME=VALUE (see append help )"},
        {"param('a', nil)", NULL,
         ":1: parameter 'a' needs a default value: a number, a text, true or false"},
        {"param(5, 5)", NULL,
         ": the script declares no transaction: add transaction(\"name\", function)"},
        {"param('a', 5, 'how many') param('b', 'x', nil, {'x', 'y', 'z'}) param('c', 2, '', {min = "
         "1, max = 3}) param('d', 1, '', {min = 1}) param('e', 3, '', {max = 3}) param('f', 0.5, "
         "'', {}) param('g', 1, '', {1}) " T,
         "a=6,b=z",
         "param a=6 (5) 'how many' [] set\n"
         "param b=z (x) '' [x, y or z] set\n"
         "param c=2 (2) '' [1 to 3]\n"
         "param d=1 (1) '' [at least 1]\n"
         "param e=3 (3) '' [at most 3]\n"
         "param f=0.5 (0.5) '' []\n"
         "param g=1 (1) '' [1]\n"
         "1 operations, 0 counters\n"},
        {"param('a', 1, '', {2, 3})", NULL, ":1: parameter 'a' must be 2 or 3, not '1'"},
        {"param('a', 'x', '', {'x', 'y'}) " T, "a=y",
         "param a=y (x) '' [x or y] set\n"
         "1 operations, 0 counters\n"},
        {"param('a', 'x', '', {'x', 'y'})", "a=z", ":1: parameter 'a' must be x or y, not 'z'"},
        {"param('a', 5, '', {min = 1, max = 10}) " T, "a=1",
         "param a=1 (5) '' [1 to 10] set\n"
         "1 operations, 0 counters\n"},
        {"param('a', 5, '', {min = 1, max = 10}) " T, "a=10",
         "param a=10 (5) '' [1 to 10] set\n"
         "1 operations, 0 counters\n"},
        {"param('a', 5, '', {min = 1, max = 10})", "a=0",
         ":1: parameter 'a' must be 1 to 10, not '0'"},
        {"param('a', 5, '', {min = 1, max = 10})", "a=11",
         ":1: parameter 'a' must be 1 to 10, not '11'"},
        {"param('a', 5, '', {min = 1})", "a=0", ":1: parameter 'a' must be at least 1, not '0'"},
        {"param('a', 5, '', {max = 10})", "a=11", ":1: parameter 'a' must be at most 10, not '11'"},
        {"param('a', 5, '', {1, 2, min = 1, max = 10})", "a=5",
         ":1: parameter 'a' must be 1 or 2, not '5'"},
        {"param('a', 1) param('b', 1) param('a', 1)", NULL, ":1: parameter 'a' is declared twice"},
        {"param('n', 3) statement('s', 'select ${n}, ${n}, ${session} from t${n}') " T, "n=4",
         "param n=4 (3) '' [] set\n"
         "statement s:1 of 0 reads as default 'select 4, 4, ${session} from t4' session\n"
         "2 operations, 0 counters\n"},
        {"statement('s', 'select ${n')", NULL,
         ":1: unknown parameter ${n}: declare it with param() before this text"},
        {"statement('s', 'select ${n} x')", NULL,
         ":1: unknown parameter ${n}: declare it with param() before this text"},
        {"param('n', 3) statement('s', 'select ${n')", NULL,
         ":1: unknown parameter ${n}: declare it with param() before this text"},
        {"statement('s', {default = 'select 1', sqlite = 'select 2'}) " T, NULL,
         "statement s:1 of 0 reads as default 'select 1' as sqlite 'select 2'\n"
         "2 operations, 0 counters\n"},
        {"statement('s', {sqlite = 'values(1)'}) " T, NULL,
         "statement s:1 of 0 reads as sqlite 'values(1)'\n"
         "2 operations, 0 counters\n"},
        {"statement('s', {1})", NULL,
         ":1: texts for each dialect must be a table {default = \"…\", mariadb = \"…\"}"},
        {"statement('s', {sqlite = 1})", NULL,
         ":1: texts for each dialect must be a table {default = \"…\", mariadb = \"…\"}"},
        {"statement('s', {})", NULL,
         ":1: statement 's' has no SQL: give the SQL as the second argument"},
        {"statement('s')", NULL,
         ":1: statement 's' has no SQL: give the SQL as the second argument"},
        {"statement('s', 5)", NULL,
         ":1: a text, or a table {default = \"…\", mariadb = \"…\"}, is needed here, not a number"},
        {"statement('s', true)", NULL,
         ":1: a text, or a table {default = \"…\", mariadb = \"…\"}, is needed here, not a "
         "boolean"},
        {"statement('s', nil)", NULL,
         ":1: statement 's' has no SQL: give the SQL as the second argument"},
        {"statement('s', 'select ?', 'int32')", NULL,
         ":1: statement 's': the types of its parameters must be a list, {\"int32\", "
         "\"text(20)\"}"},
        {"statement('s', 'select ?', {'int3'})", NULL,
         ":1: unknown type 'int3'; use one of bool, int16, int32, int64, float32, float64, "
         "decimal(P,S) up to 18 digits, text, text(N), char(N), bytes, bytes(N), json, date, time, "
         "timestamp, timestamp(0 to 9)"},
        {"statement('s', 'select ?', {{}})", NULL,
         ":1: bad argument #-1 to 'statement' (string expected, got table)"},
        {"statement('s', 'select ?, ?', {'int32', 'decimal(4,2)'}) " T, NULL,
         "statement s:1 of 0 reads as default 'select ?, ?' int32 decimal(4,2)\n"
         "2 operations, 0 counters\n"},
        {"statement('s', 'select ?, ?', {'int32'})", NULL,
         ":1: statement 's' has 2 ? placeholders but lists 1 type: list one type for each ? (write "
         "?, not $1)"},
        {"statement('s', 'select 1', {'int32', 'int32'})", NULL,
         ":1: statement 's' has 0 ? placeholders but lists 2 types: list one type for each ? "
         "(write ?, not $1)"},
        {"statement('s', 'select 1', {'int32'})", NULL,
         ":1: statement 's' has 0 ? placeholders but lists 1 type: list one type for each ? (write "
         "?, not $1)"},
        {"statement('s', [[select 'it\\'s ?']], {'int32'})", NULL,
         ": the script declares no transaction: add transaction(\"name\", function)"},
        {"statement('s', [[select 'it\\'s ?', 'a']], {}) " T, NULL,
         "statement s:1 of 0 reads as default 'select 'it\\'s ?', 'a''\n"
         "2 operations, 0 counters\n"},
        {"statement('s', {mysql = 'select 1 # ?'}, {}) " T, NULL,
         "statement s:1 of 0 reads as mysql 'select 1 # ?'\n"
         "2 operations, 0 counters\n"},
        {"local a, b = dataset('a'), dataset('b') statement('s', 'insert into a select * from b', "
         "{}, {adds_to = a, takes_from = b, prepared = false}) " T,
         NULL,
         "dataset a:1 0 rows\n"
         "dataset b:1 0 rows\n"
         "statement s:1 of 0 writes as default 'insert into a select * from b' adds to 0 takes "
         "from 1 unprepared\n"
         "2 operations, 0 counters\n"},
        {"statement('s', 'insert', {}, {adds_to = 5})", NULL,
         ":1: a dataset is needed here, not a number"},
        {"statement('s', 'insert', {}, {adds = 5})", NULL,
         ":1: a statement has no option 'adds'; use adds_to, takes_from, prepared"},
        {"statement('s', 'select 1', {}, 5)", NULL,
         ":1: the options of a statement must be a table, not a number"},
        {"statement('s', 'select 1') statement('s', 'update t') statement('u', '(select 1)') "
         "statement('v', '\\twith x') statement('w', 'TABLE t') statement('x', 'show x') "
         "statement('y', 'selection') statement('z', 'select*') " T,
         NULL,
         "statement s:1 of 0 reads as default 'select 1'\n"
         "statement s:1 of 0 writes as default 'update t'\n"
         "statement u:1 of 1 reads as default '(select 1)'\n"
         "statement v:1 of 2 reads as default '	with x'\n"
         "statement w:1 of 3 reads as default 'TABLE t'\n"
         "statement x:1 of 4 reads as default 'show x'\n"
         "statement y:1 of 5 other as default 'selection'\n"
         "statement z:1 of 6 reads as default 'select*'\n"
         "8 operations, 0 counters\n"},
        {"statement('a', 'insert into') statement('b', 'Update t') statement('c', 'DELETE from') "
         "statement('d', 'replace into') statement('e', 'merge into') statement('f', 'upsert "
         "into') statement('g', 'select') statement('h', 'create table') " T,
         NULL,
         "statement a:1 of 0 writes as default 'insert into'\n"
         "statement b:1 of 1 writes as default 'Update t'\n"
         "statement c:1 of 2 writes as default 'DELETE from'\n"
         "statement d:1 of 3 writes as default 'replace into'\n"
         "statement e:1 of 4 writes as default 'merge into'\n"
         "statement f:1 of 5 writes as default 'upsert into'\n"
         "statement g:1 of 6 reads as default 'select'\n"
         "statement h:1 of 7 other as default 'create table'\n"
         "9 operations, 0 counters\n"},
        {"statement('a', 'begin') statement('b', 'select 1; commit') statement('c', 'savepoint x') "
         "statement('d', {default = 'select 1', sqlite = 'rollback'}) " T,
         NULL,
         "statement a:1 of 0 other as default 'begin' controls\n"
         "statement b:1 of 1 reads as default 'select 1; commit' controls\n"
         "statement c:1 of 2 other as default 'savepoint x'\n"
         "statement d:1 of 3 reads as default 'select 1' as sqlite 'rollback' controls\n"
         "5 operations, 0 counters\n"},
        {"for i = 1, 39 do statement('s' .. i, 'select 1') end " T " error('fine')", NULL,
         ":1: fine"},
        {"for i = 1, 41 do statement('s' .. i, 'select 1') end", NULL,
         ":1: a script can have at most 40 names of transactions and statements: let statements "
         "share a name"},
        {"for i = 1, 40 do statement('s' .. i, 'select 1') end " T, NULL,
         ":1: a script can have at most 40 names of transactions and statements: let statements "
         "share a name"},
        {"for i = 1, 4096 do statement('s', 'select 1') end error('fine')", NULL, ":1: fine"},
        {"for i = 1, 4097 do statement('s', 'select 1') end", NULL,
         ":1: a script can have at most 4096 statements"},
        {"statement('t', 'select 1') " T, NULL,
         ":1: 't' is the name of a transaction and a statement: rename one of them"},
        {"transaction('s', function() end) statement('s', 'select 1')", NULL,
         ":1: 's' is the name of a transaction and a statement: rename one of them"},
        {"dataset('t') " T, NULL,
         "dataset t:1 0 rows\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 0) " T, NULL,
         "dataset t:1 0 rows\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 5)", NULL,
         ":1: dataset 't' has rows to load, but no columns: list the columns in the third "
         "argument"},
        {"dataset('t', -1)", NULL, ":1: dataset 't': the number of rows must be 0 or more, not -1"},
        {"dataset('t', 1.5)", NULL, ":1: dataset: rows must be a whole number, not 1.5"},
        {"dataset('t', 'x')", NULL, ":1: dataset: rows must be a whole number, not x"},
        {"dataset('t', 2.0, {{'a', 'int32', row()}}) " T, NULL,
         "dataset t:1 2 rows declared; a int32 made 0; load a\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, 5)", NULL,
         ":1: bad argument #3 to 'dataset' (table expected, got number)"},
        {"dataset('t', 1, {})", NULL,
         ":1: dataset 't' has 0 columns: declare 1 to 1600, or leave the list out"},
        {"dataset('t', 1, {5})", NULL,
         ":1: dataset 't': a column must be a table {\"name\", \"type\", generator, key = …}"},
        {"dataset('t', 1, {{}})", NULL,
         ":1: dataset 't': a column must begin with its name, a text of 1 to 63 bytes"},
        {"dataset('t', 1, {{''}})", NULL,
         ":1: dataset 't': a column must begin with its name, a text of 1 to 63 bytes"},
        {"dataset('t', 1, {{('a'):rep(64), 'int32', row()}})", NULL,
         ":1: dataset 't': a column must begin with its name, a text of 1 to 63 bytes"},
        {"dataset('t', 1, {{('a'):rep(63), 'int32', row()}}) " T, NULL,
         "dataset t:1 1 rows declared; "
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa int32 made 0; load "
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{5, 'int32', row()}}) " T, NULL,
         "dataset t:1 1 rows declared; 5 int32 made 0; load 5\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'\\0a', 'int32', row()}})", NULL,
         ":1: dataset 't': a column must begin with its name, a text of 1 to 63 bytes"},
        {"dataset('t', 1, {{true, 'int32', row()}})", NULL,
         ":1: dataset 't': a column must begin with its name, a text of 1 to 63 bytes"},
        {"dataset('t', 1, {{'a'}})", NULL,
         ":1: dataset 't': column 'a' has no type: write {\"a\", \"int32\", …}"},
        {"dataset('t', 1, {{'a', 5}})", NULL,
         ":1: dataset 't': column 'a' has no type: write {\"a\", \"int32\", …}"},
        {"dataset('t', 1, {{'a', 'int'}})", NULL,
         ":1: unknown type 'int'; use one of bool, int16, int32, int64, float32, float64, "
         "decimal(P,S) up to 18 digits, text, text(N), char(N), bytes, bytes(N), json, date, time, "
         "timestamp, timestamp(0 to 9)"},
        {"dataset('t', 1, {{'a', 'int32', 'x'}})", NULL,
         ":1: a generator is needed here, not a string"},
        {"dataset('t', 1, {{'a', 'int32', 7}, {'b', 'text', 1.5}}) " T, NULL,
         "dataset t:1 1 rows declared; a int32 made 4; b text made 5; load a b\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int32', row(), ke = true}})", NULL,
         ":1: a column has no option 'ke'; use key, required"},
        {"dataset('t', 1, {{'a', 'int32', row(), 4}})", NULL,
         ":1: a column has no option '4'; use key, required"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = true}, {'b', 'text'}}) " T, NULL,
         "dataset t:1 1 rows declared; a int32 key 1 unique required made 0; b text; load a "
         "unique\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = false, required = true}}) " T, NULL,
         "dataset t:1 1 rows declared; a int32 required made 0; load a\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 1}, {'b', 'int32', row(), key = 2}}) " T,
         NULL,
         "dataset t:1 1 rows declared; a int32 key 1 required made 0; b int32 key 2 required made "
         "0; load a b\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 2}, {'b', 'int32', row(), key = 2}})", NULL,
         ":1: dataset 't': columns 'a' and 'b' both have place 2 in the key: number the places 1, "
         "2, …"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 1}, {'b', 'int32', row(), key = 3}})", NULL,
         ":1: dataset 't': column 'b' has place 3 in a key of 2 columns: number the places 1, 2, "
         "…"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 0}})", NULL,
         ":1: column 'a': key must be true, \"auto\", or the column's place in the primary key (1 "
         "to 16)"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 1.5}})", NULL,
         ":1: column 'a': key must be true, \"auto\", or the column's place in the primary key (1 "
         "to 16)"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 17}})", NULL,
         ":1: column 'a': key must be true, \"auto\", or the column's place in the primary key (1 "
         "to 16)"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 4294967297}})", NULL,
         ":1: column 'a': key must be true, \"auto\", or the column's place in the primary key (1 "
         "to 16)"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 16}})", NULL,
         ":1: dataset 't': column 'a' has place 16 in a key of 1 column: number the places 1, 2, "
         "…"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = 'x'}})", NULL,
         ":1: column 'a': key must be true, \"auto\", or the column's place in the primary key (1 "
         "to 16)"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = {}}})", NULL,
         ":1: column 'a': key must be true, \"auto\", or the column's place in the primary key (1 "
         "to 16)"},
        {"dataset('t', 1, {{'a', 'int32', key = 'auto'}, {'b', 'int32', row()}}) " T, NULL,
         "dataset t:1 1 rows declared; a int32 key 1 numbered default unique required; b int32 "
         "made 0; load b\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 0, {{'a', 'int32', key = true}, {'b', 'int32', required = true}}) " T, NULL,
         "dataset t:1 0 rows declared; a int32 key 1 unique required; b int32 required; load\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int32', row()}, {'b', 'int32', required = true}})", NULL,
         ":1: dataset 't': column 'b' has no generator, but cannot be NULL: add a generator as the "
         "column's third entry, for example row()"},
        {"dataset('t', 1, {{'a', 'int32', key = true}, {'b', 'int32', row()}})", NULL,
         ":1: dataset 't': column 'a' has no generator, but cannot be NULL: add a generator as the "
         "column's third entry, for example row()"},
        {"dataset('t', 1, {{'a', 'int32'}})", NULL,
         ":1: dataset 't' has rows to load, but no column has a generator: add a generator, for "
         "example "
         "row()"},
        {"dataset('t', 0, {{'a', 'int32'}}) " T, NULL,
         "dataset t:1 0 rows declared; a int32; load\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 0, {{'a', 'int32'}, {'b', 'int32'}, {'a', 'int32'}})", NULL,
         ":1: dataset 't' declares column 'a' twice"},
        {"dataset('t', 0, {{'a', 'int32', required = 5}})", NULL,
         ":1: option 'required' must be true or false, not 5"},
        {"local c = {} for i = 1, 1601 do c[i] = {'c' .. i, 'int32'} end dataset('t', 0, c)", NULL,
         ":1: dataset 't' has 1601 columns: declare 1 to 1600, or leave the list out"},
        {"dataset('a') dataset('b') dataset('a')", NULL, ":1: dataset 'a' is declared twice"},
        {"dataset('t', 0, nil, {indexes = 'a'})", NULL,
         ":1: a dataset has no option 'indexes'; use create, options, index, varies, partitions, "
         "foreign_keys"},
        {"dataset('t', 0, nil, {create = 'create table t', options = {default = 'x', mariadb = "
         "'y'}, index = {'a', 'b, c', sqlite = {'d'}, clickhouse = {}}}) " T,
         NULL,
         "dataset t:1 0 rows create default 'create table t' options default 'x' options mariadb "
         "'y' index default 'a\n"
         "b, c\n"
         "' index clickhouse '' index sqlite 'd\n"
         "'\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 0, nil, {create = 5})", NULL,
         ":1: a text, or a table {default = \"…\", mariadb = \"…\"}, is needed here, not a number"},
        {"dataset('t', 0, nil, {create = true})", NULL,
         ":1: a text, or a table {default = \"…\", mariadb = \"…\"}, is needed here, not a "
         "boolean"},
        {"dataset('t', 0, nil, {index = 'a'})", NULL,
         ":1: dataset 't': index must be a list of texts of one line, each with the columns of an "
         "index: "
         "{\"a\", \"b, c\"}"},
        {"dataset('t', 0, nil, {index = {5}})", NULL,
         ":1: dataset 't': index must be a list of texts of one line, each with the columns of an "
         "index: "
         "{\"a\", \"b, c\"}"},
        {"dataset('t', 0, nil, {index = {'a\\nb'}})", NULL,
         ":1: dataset 't': index must be a list of texts of one line, each with the columns of an "
         "index: "
         "{\"a\", \"b, c\"}"},
        {"dataset('t', 0, nil, {index = {sqlite = 'a'}})", NULL,
         ":1: dataset 't': the indexes of a dialect must be a list: clickhouse = {\"a\", \"b\"}"},
        {"dataset('t', 0, nil, 5)", NULL,
         ":1: the options of a dataset must be a table, not a number"},
        {"dataset('t', 1, {{'x', 'text', 1}, {'a', 'int32', row(5)}}, {partitions = {by = 'range', "
         "column = 'a', count = 8}}) " T,
         NULL,
         "dataset t:1 1 rows declared; x text made 4; a int32 made 0; load x a 8 parts by range of "
         "1 from 5\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int64', row()}, {'b', 'int16', uniform(1, 2)}}, {partitions = "
         "{by = 'hash', column = 'b', count = 8192}}) " T,
         NULL,
         "dataset t:1 1 rows declared; a int64 made 0; b int16 made 4; load a b 8192 parts by hash "
         "of 1 from 0\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'hash', column = 'a', count "
         "= 0}}) " T,
         NULL,
         "dataset t:1 1 rows declared; a int32 made 0; load a\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'hash', column = 'a', count "
         "= 8193}})",
         NULL,
         ":1: dataset 't': the count of partitions must be 0 to 8192; 0 makes a table without "
         "partitions"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'hash', column = 'a', count "
         "= -1}})",
         NULL,
         ":1: dataset 't': the count of partitions must be 0 to 8192; 0 makes a table without "
         "partitions"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'hash', column = 'a'}})",
         NULL, ":1: partitions: count must be a whole number, not nil"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'list', column = 'a', count "
         "= 1}})",
         NULL, ":1: dataset 't': partitions must have by = \"range\" or by = \"hash\""},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {column = 'a', count = 1}})", NULL,
         ":1: dataset 't': partitions must have by = \"range\" or by = \"hash\""},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'hash', column = 'b', count "
         "= 1}})",
         NULL, ":1: dataset 't': partitions names an unknown column 'b'"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'hash', count = 1}})", NULL,
         ":1: dataset 't': partitions names an unknown column ''"},
        {"dataset('t', 1, {{'a', 'int32', row(), key = true}, {'b', 'int32', row()}}, {partitions "
         "= {by = 'hash', column = 'b', count = 1}})",
         NULL,
         ":1: dataset 't': the primary key must contain column 'b', which divides the table into "
         "partitions"},
        {"dataset('t', 1, {{'b', 'int32', row(), key = 2}, {'a', 'int32', row(), key = 1}}, "
         "{partitions = {by = 'range', column = 'b', count = 1}}) " T,
         NULL,
         "dataset t:1 1 rows declared; b int32 key 2 required made 0; a int32 key 1 required made "
         "0; load b a 1 parts by range of 0 from 1\n"
         "1 operations, 0 counters\n"},
        {"dataset('t', 1, {{'a', 'text', 5}}, {partitions = {by = 'hash', column = 'a', count = "
         "1}})",
         NULL,
         ":1: dataset 't': column 'a', which divides the table into partitions, must be int16, "
         "int32 or int64"},
        {"dataset('t', 1, {{'a', 'int32', 5}}, {partitions = {by = 'range', column = 'a', count = "
         "1}})",
         NULL, ":1: dataset 't': partitions by range need the generator row() in column 'a'"},
        {"dataset('t', 0, {{'a', 'int32'}}, {partitions = {by = 'range', column = 'a', count = "
         "1}})",
         NULL, ":1: dataset 't': partitions by range need the generator row() in column 'a'"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = {by = 'hash', column = 'a', count "
         "= 1, x = 1}})",
         NULL, ":1: partitions has no option 'x'; use by, column, count"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {partitions = 5})", NULL,
         ":1: the options of partitions must be a table, not a number"},
        {"dataset('t', 1, {{'a', 'int32', row()}}, {create = 'x', partitions = {by = 'hash', "
         "column = 'a', count = 1}})",
         NULL,
         ":1: dataset 't': create replaces the whole CREATE TABLE statement: write the partitions "
         "and foreign keys in the text of create"},
        {"local a = dataset('a', 1, {{'x', 'text', 5}, {'id', 'int32', row(), key = true}}) "
         "dataset('b', 1, {{'y', 'int32', row()}, {'of', 'int32', row()}, {'too', 'int32', "
         "row()}}, {foreign_keys = {too = a, of = a}}) " T,
         NULL,
         "dataset a:1 1 rows declared; x text made 4; id int32 key 1 unique required made 0; load "
         "x id unique\n"
         "dataset b:1 1 rows declared; y int32 made 0; of int32 made 0; too int32 made 0; load y "
         "of too 1 refers to 0.1 2 refers to 0.1\n"
         "1 operations, 0 counters\n"},
        {"local a = dataset('a', 1, {{'id', 'int32', row()}}) dataset('b', 1, {{'of', 'int32', "
         "row()}}, {foreign_keys = {of = a}})",
         NULL,
         ":1: dataset 'b': column 'of' cannot refer to dataset 'a', which has no primary key of "
         "one column"},
        {"local a = dataset('a', 1, {{'id', 'int32', row(), key = 1}, {'i', 'int32', row(), key = "
         "2}}) dataset('b', 1, {{'of', 'int32', row()}}, {foreign_keys = {of = a}})",
         NULL,
         ":1: dataset 'b': column 'of' cannot refer to dataset 'a', which has no primary key of "
         "one column"},
        {"local a = dataset('a', 1, {{'id', 'int32', row(), key = true}}) dataset('b', 1, {{'of', "
         "'int32', row()}}, {foreign_keys = {off = a}})",
         NULL, ":1: dataset 'b': foreign_keys names an unknown column 'off'"},
        {"local a = dataset('a', 1, {{'id', 'int32', row(), key = true}}) dataset('b', 1, {{'of', "
         "'int32', row()}}, {foreign_keys = {a}})",
         NULL, ":1: dataset 'b': foreign_keys must be a table, {column = dataset}"},
        {"local a = dataset('a', 1, {{'id', 'int32', row(), key = true}}) dataset('b', 1, {{'of', "
         "'int32', row()}}, {create = 'x', foreign_keys = {of = a}})",
         NULL,
         ":1: dataset 'b': create replaces the whole CREATE TABLE statement: write the partitions "
         "and foreign keys in the text of create"},
        {"dataset('b', 1, {{'of', 'int32', row()}}, {foreign_keys = {of = 5}})", NULL,
         ":1: a dataset is needed here, not a number"},
        {"dataset('b', 1, {{'of', 'int32', row()}}, {foreign_keys = 5})", NULL,
         ":1: dataset 'b': foreign_keys must be a table, {column = dataset}"},
        {"invariant('c', 'SELECT 1') invariant('d', {default = '(select 2)', sqlite = 'VALUES "
         "(1)'}) " T,
         NULL,
         "invariant c:1 as default 'SELECT 1'\n"
         "invariant d:1 as default '(select 2)' as sqlite 'VALUES (1)'\n"
         "1 operations, 0 counters\n"},
        {"invariant(('c'):rep(159), 'SELECT 1') " T, NULL,
         "invariant "
         "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
         "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc:1 as default "
         "'SELECT 1'\n"
         "1 operations, 0 counters\n"},
        {"invariant(('c'):rep(160), 'SELECT 1')", NULL,
         ":1: invariant: the claim must be one line of 1 to 159 bytes"},
        {"invariant('a\\rb', 'SELECT 1')", NULL,
         ":1: invariant: the claim must be one line of 1 to 159 bytes"},
        {"invariant('', 'SELECT 1')", NULL,
         ":1: invariant: the claim must be one line of 1 to 159 bytes"},
        {"invariant('c', 'SELECT 1') invariant('d', 'SELECT 1') invariant('c', 'SELECT 1')", NULL,
         ":1: invariant 'c' is declared twice"},
        {"invariant('c')", NULL,
         ":1: invariant 'c' has no query: give the query as the second argument"},
        {"invariant('c', {default = 'select 1', sqlite = 'delete'})", NULL,
         ":1: invariant 'c' must be a query (SELECT): append counts the rows that it returns"},
        {"invariant('c', 'select ?')", NULL,
         ":1: invariant 'c' cannot have a ?: append runs the query without parameters"},
        {"invariant('c', {mysql = 'select 1 # ?'}) " T, NULL,
         "invariant c:1 as mysql 'select 1 # ?'\n"
         "1 operations, 0 counters\n"},
        {"invariant('c', 'select ${session}')", NULL,
         ":1: invariant 'c' cannot have a ${session}: it runs outside of the sessions"},
        {"invariant()", NULL, ":1: bad argument #1 to 'invariant' (string expected, got no value)"},
        {"transaction('t')", NULL,
         ":1: bad argument #2 to 'transaction' (function expected, got no value)"},
        {"transaction('t', 5)", NULL,
         ":1: bad argument #2 to 'transaction' (function expected, got number)"},
        {"transaction('t', function() end, 5)", NULL,
         ":1: the options of a transaction must be a table, not a number"},
        {"transaction('t', function() end, {wait = 5})", NULL,
         ":1: a transaction has no option 'wait'; use weight, autocommit, retry_duplicate, tries, "
         "isolation, pause, rate, sessions"},
        {"transaction('t', function() end) transaction('t', function() end)", NULL,
         ":1: transaction 't' is declared twice"},
        {"transaction('t', function() end, {weight = 0.5, autocommit = true, retry_duplicate = "
         "true, tries = 0, isolation = 'read committed', pause = 1.5}) transaction('u', function() "
         "end, {isolation = 'serializable', tries = 3, weight = 0}) transaction('v', function() "
         "end, {isolation = 'repeatable read', pause = uniform(1, 2)}) transaction('w', function() "
         "end, {isolation = 'read uncommitted'})",
         NULL,
         "transaction t:1 of 0 weight 0.5 tries 0 autocommit duplicates pauses read committed\n"
         "transaction u:1 of 1 weight 0 tries 3 serializable\n"
         "transaction v:1 of 2 weight 1 tries 10 pauses repeatable read\n"
         "transaction w:1 of 3 weight 1 tries 10 read uncommitted\n"
         "4 operations, 0 counters\n"},
        {"transaction('t', function() end, {weight = -1})", NULL,
         ":1: transaction 't': weight must be a number, 0 or more"},
        {"transaction('t', function() end, {weight = 1/0})", NULL,
         ":1: transaction 't': weight must be a number, 0 or more"},
        {"transaction('t', function() end, {weight = 'x'})", NULL,
         ":1: bad argument #-1 to 'transaction' (number expected, got string)"},
        {"transaction('t', function() end, {weight = 0})", NULL,
         ": every transaction has weight 0: give at least one transaction a weight above 0"},
        {"transaction('t', function() end, {tries = -1})", NULL,
         ":1: transaction 't': tries must be a number, 0 or more"},
        {"transaction('t', function() end, {tries = 'x'})", NULL,
         ":1: tries must be a whole number, not x"},
        {"transaction('t', function() end, {pause = 'x'})", NULL,
         ":1: a generator is needed here, not a string"},
        {"transaction('t', function() end, {isolation = 'snapshot'})", NULL,
         ":1: transaction 't': isolation must be \"serializable\", \"repeatable read\", \"read "
         "committed\" or \"read uncommitted\""},
        {"transaction('t', function() end, {isolation = {}})", NULL,
         ":1: bad argument #-1 to 'transaction' (string expected, got table)"},
        {"transaction('t', function() end, {autocommit = 1})", NULL,
         ":1: option 'autocommit' must be true or false, not 1"},
        {"transaction('t', function() end, {sessions = 10, rate = 5}) transaction('u', function() "
         "end, {sessions = 0.5, pause = 1}) transaction('v', function() end, {sessions = 1.0, rate "
         "= 1e9}) transaction('w', function() end, {sessions = 1000000}) transaction('x', "
         "function() end, {sessions = 1})",
         NULL,
         "transaction t:1 of 0 weight 0 tries 10 sessions 10 rate 5\n"
         "transaction u:1 of 1 weight 0 tries 10 pauses sessions 0.5 share\n"
         "transaction v:1 of 2 weight 0 tries 10 sessions 1 share rate 1e+09\n"
         "transaction w:1 of 3 weight 0 tries 10 sessions 1e+06\n"
         "transaction x:1 of 4 weight 0 tries 10 sessions 1\n"
         "5 operations, 0 counters\n"},
        {"transaction('t', function() end, {sessions = 'x'})", NULL,
         ":1: transaction 't': sessions must be a number, not a string"},
        {"transaction('t', function() end, {sessions = '5'})", NULL,
         ":1: transaction 't': sessions must be a number, not a string"},
        {"transaction('t', function() end, {sessions = 0})", NULL,
         ":1: transaction 't': sessions must be a whole number from 1 to 1000000 (10), or a share "
         "of all sessions, above 0 and at most 1.0 (0.1)"},
        {"transaction('t', function() end, {sessions = 0.0})", NULL,
         ":1: transaction 't': sessions must be a whole number from 1 to 1000000 (10), or a share "
         "of all sessions, above 0 and at most 1.0 (0.1)"},
        {"transaction('t', function() end, {sessions = 1.5})", NULL,
         ":1: transaction 't': sessions must be a whole number from 1 to 1000000 (10), or a share "
         "of all sessions, above 0 and at most 1.0 (0.1)"},
        {"transaction('t', function() end, {sessions = 1000001})", NULL,
         ":1: transaction 't': sessions must be a whole number from 1 to 1000000 (10), or a share "
         "of all sessions, above 0 and at most 1.0 (0.1)"},
        {"transaction('t', function() end, {sessions = -1})", NULL,
         ":1: transaction 't': sessions must be a whole number from 1 to 1000000 (10), or a share "
         "of all sessions, above 0 and at most 1.0 (0.1)"},
        {"transaction('t', function() end, {sessions = 1, weight = 1})", NULL,
         ":1: transaction 't' has sessions of its own (option sessions), so weight has no effect: "
         "remove weight"},
        {"transaction('t', function() end, {sessions = 1, rate = 0})", NULL,
         ":1: transaction 't': rate must be a number of transactions/s, above 0 and up to 1e9"},
        {"transaction('t', function() end, {sessions = 1, rate = 1.1e9})", NULL,
         ":1: transaction 't': rate must be a number of transactions/s, above 0 and up to 1e9"},
        {"transaction('t', function() end, {sessions = 1, rate = '5'})", NULL,
         ":1: transaction 't': rate must be a number of transactions/s, above 0 and up to 1e9"},
        {"transaction('t', function() end, {sessions = 1, rate = 5, pause = 1})", NULL,
         ":1: transaction 't' has a rate, which decides when each transaction begins: remove "
         "pause"},
        {"transaction('t', function() end, {rate = 5})", NULL,
         ":1: transaction 't' has 'rate', but not 'sessions': add it (sessions = 10); for one rate "
         "of "
         "all transactions together, remove 'rate' and give --rate"},
        {"count('a') trend('b', {unit = 'ms'}) gauge('c_2', {unit = '%/_1'}) " T, NULL,
         "count a \n"
         "trend b ms\n"
         "gauge c_2 %/_1\n"
         "1 operations, 0 counters\n"},
        {"count(('a'):rep(47)) " T, NULL,
         "count aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \n"
         "1 operations, 0 counters\n"},
        {"count(('a'):rep(48))", NULL,
         ":1: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is not a valid metric name: use "
         "at most 47 lowercase letters, digits and _, and begin with a letter or _"},
        {"count('a_', {}) " T, NULL,
         "count a_ \n"
         "1 operations, 0 counters\n"},
        {"count('_a') " T, NULL,
         "count _a \n"
         "1 operations, 0 counters\n"},
        {"count('1a')", NULL,
         ":1: '1a' is not a valid metric name: use at most 47 lowercase letters, digits and _, and "
         "begin with a letter or _"},
        {"count('a-b')", NULL,
         ":1: 'a-b' is not a valid metric name: use at most 47 lowercase letters, digits and _, "
         "and begin with a letter or _"},
        {"trend('a', {'ms'})", NULL, ":1: a metric has no option '1'; use unit"},
        {"trend('a', {unit = '1a'})", NULL,
         ":1: metric 'a': the unit must be 1 to 11 letters, digits, _, % and /, such as \"ms\""},
        {"trend('a', {unit = ('a'):rep(11)}) " T, NULL,
         "trend a aaaaaaaaaaa\n"
         "1 operations, 0 counters\n"},
        {"trend('a', {unit = ('a'):rep(12)})", NULL,
         ":1: metric 'a': the unit must be 1 to 11 letters, digits, _, % and /, such as \"ms\""},
        {"trend('a', {unit = 5})", NULL,
         ":1: metric 'a': the unit must be 1 to 11 letters, digits, _, % and /, such as \"ms\""},
        {"trend('a', {unit = {}})", NULL,
         ":1: bad argument #-1 to 'trend' (string expected, got table)"},
        {"trend('a', {unit = 'a b'})", NULL,
         ":1: metric 'a': the unit must be 1 to 11 letters, digits, _, % and /, such as \"ms\""},
        {"trend('a', {x = 1})", NULL, ":1: a metric has no option 'x'; use unit"},
        {"for i = 1, 40 do count('a' .. i) end " T " error('fine')", NULL, ":1: fine"},
        {"for i = 1, 41 do count('a' .. i) end", NULL, ":1: a script can have at most 40 metrics"},
        {"count('a') gauge('b') trend('a')", NULL,
         ":1: 'a' is already the name of a metric: use a different name"},
        {"statement('s', 'select 1') count('s')", NULL,
         ":1: 's' is already the name of a statement: use a different name"},
        {"count('t') " T, NULL, ":1: 't' is already the name of a metric: use a different name"},
        {T " count('t')", NULL,
         ":1: 't' is already the name of a transaction: use a different name"},
        {"count('s') statement('s', 'select 1')", NULL,
         ":1: 's' is already the name of a metric: use a different name"},
        {"count()", NULL, ":1: bad argument #1 to 'count' (string expected, got no value)"},
        {"on_session(function() end) counter('c', 0) counter('c', 5) " T, NULL,
         "1 operations, 2 counters\n"},
        {"on_session(5)", NULL,
         ":1: bad argument #1 to 'on_session' (function expected, got number)"},
        {"counter('c', -1)", NULL, ":1: counter 'c': the first number must be 0 or more"},
        {"counter('c', 'x')", NULL, ":1: counter: the first number must be a whole number, not x"},
        {"counter('', 1)", NULL,
         ":1: '' is not a valid counter name: use letters, digits, _ and -, at most 47 bytes"},
        {"counter('c', 1.0) " T, NULL, "1 operations, 1 counters\n"},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct buffer out;
        buffer_init(&out);
        declare(cases[i].text, cases[i].set, &out);
        assert_string_equal(buffer_text(&out), cases[i].expected);
        buffer_fini(&out);
    }
}

#define TABLES                                                                                     \
    "local a = dataset('a', 5, {{'id', 'int64', row(), key = true}, {'d', 'decimal(9,2)', 1}})\n"  \
    "local b = dataset('b', 0, {{'id', 'int64', row(), key = true}})\n"

/* append recognises tables of an earlier version by the shape, and runs with the same script by the
 * hash. New versions must keep both values. */
TEST(test_hashes)
{
    static const struct {
        const char *text, *set;
        const char *hash;
        uint64_t shape;
    } cases[] = {
        {T, NULL, "57450f44cd07631e", 0},
        {"param('n', 1) " T, "n=2", "9bfe37a83ec2c5e6", 0},
        {TABLES "dataset('t', 7, {{'a', 'text(9)', row(), key = 1}, {'of', 'int64', row(), key = "
                "2}, {'n', 'timestamp(3)', required = true, row()}}, {index = {'of', sqlite = "
                "{'n'}}, options = {default = 'x', mariadb = 'y'}, partitions = {by = 'hash', "
                "column = 'of', count = 4}, foreign_keys = {of = a}}) " T,
         NULL, "de334d9d926c6d54", UINT64_C(0x931825846f32410f)},
        {"dataset('t', 0, {{'a', 'int32', key = 'auto'}}, {create = {default = 'c', mysql = "
         "'d'}}) " T,
         NULL, "d739f015ec63b45c", UINT64_C(0xccdfd5b0d81266fe)},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct error error = {.kind = ERROR_NONE};
        struct script *script = try_load(cases[i].text, cases[i].set, &error);
        assert_non_null(script);
        assert_string_equal(script->hash, cases[i].hash);
        assert_int_equal(script->shape, cases[i].shape);
        script_destroy(script);
    }
}

static uint64_t shape_of(const char *text)
{
    char all[1000];
    struct error error = {.kind = ERROR_NONE};
    snprintf(all, sizeof all, TABLES "%s " T, text);
    struct script *script = try_load(all, NULL, &error);
    if (script == NULL) {
        fail_msg("%s", error.text);
    }
    const uint64_t shape = script->shape;
    script_destroy(script);
    return shape;
}

/* The shape depends only on the tables: every change to a table changes the shape, and other
 * changes do not. */
TEST(test_shapes)
{
    static const char *const others[] = {
        "dataset('u', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}})",
        "dataset('t', 8, {{'a', 'int32', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'b', 'int32', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'int16', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'decimal(9,2)', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'decimal(8,2)', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'decimal(9,1)', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'text', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'text(5)', row()}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'int32', row(), required = true}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'int32', row(), key = true}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'int32', row(), key = 'auto'}, {'of', 'int32', row()}})",
        "dataset('t', 7, {{'a', 'int32', row(), key = 1}, {'of', 'int32', row(), key = 2}})",
        "dataset('t', 7, {{'a', 'int32', row(), key = 2}, {'of', 'int32', row(), key = 1}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {index = {'a'}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {index = {'of'}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {index = {sqlite = "
        "{'a'}}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {create = 'x'})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {create = {mysql = "
        "'x'}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {options = 'x'})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {partitions = {by = "
        "'hash', column = 'a', count = 2}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {partitions = {by = "
        "'hash', column = 'a', count = 3}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {partitions = {by = "
        "'hash', column = 'of', count = 2}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {partitions = {by = "
        "'range', column = 'a', count = 2}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {foreign_keys = {a = "
        "a}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {foreign_keys = {of = "
        "a}})",
        "dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}}, {foreign_keys = {of = "
        "b}})",
    };
    uint64_t shapes[COUNT_OF(others) + 1];
    shapes[COUNT_OF(others)] =
        shape_of("dataset('t', 7, {{'a', 'int32', row()}, {'of', 'int32', row()}})");
    assert_int_equal(shapes[COUNT_OF(others)],
                     shape_of("dataset('t', 7, {{'a', 'int32', 5}, {'of', 'int32', row(9)}}) "
                              "statement('s', 'select 1')"));
    EACH_CASE (i, others, "%s", others[i]) {
        shapes[i] = shape_of(others[i]);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(shapes[i], shapes[j]);
        }
        assert_int_not_equal(shapes[i], shapes[COUNT_OF(others)]);
    }
}

/* In each session the script's top level must repeat the declarations that it made when the script
 * was loaded. */
TEST(test_sessions_that_differ)
{
    static const struct {
        const char *text;
        const char *words; /* NULL: the session may begin */
    } cases[] = {
        {"param('a' .. session.id, 1)",
         "parameter 'a1' is declared differently in a session: the "
         "top level must make the same declarations in every session"},
        {"dataset('a' .. session.id)", "dataset 'a1' is declared differently"},
        {"statement('a' .. session.id, 'select 1')", "statement 'a1' is declared differently"},
        {"invariant('a' .. session.id, 'select 1')", "invariant 'a1' is declared differently"},
        {"count('a' .. session.id)", "metric 'a1' is declared differently"},
        {"transaction('a' .. session.id, function() end)",
         "transaction 'a1' is declared differently"},
        {"if session.id == 0 then count('a') else gauge('a') end",
         "metric 'a' is declared differently"},
        {"if session.id == 1 then param('a', 1) end", "parameter 'a' is declared differently"},
        {"if session.id == 1 then dataset('a') end", "dataset 'a' is declared differently"},
        {"if session.id == 1 then statement('a', 'select 1') end",
         "statement 'a' is declared diff"},
        {"if session.id == 1 then invariant('a', 'select 1') end",
         "invariant 'a' is declared diff"},
        {"if session.id == 1 then count('a') end", "metric 'a' is declared differently"},
        {"if session.id == 1 then counter('a', 1) end", "counter 'a' is declared differently"},
        {"if session.id == 1 then transaction('a', function() end) end",
         "transaction 'a' is declared differently"},
        {"if session.id == 0 then param('a', 1) end", "declares less in a session"},
        {"if session.id == 0 then dataset('a') end", "declares less in a session"},
        {"if session.id == 0 then statement('a', 'select 1') end", "declares less in a session"},
        {"if session.id == 0 then invariant('a', 'select 1') end", "declares less in a session"},
        {"if session.id == 0 then count('a') end", "declares less in a session"},
        {"if session.id == 0 then counter('a', 1) end", "declares less in a session"},
        {"if session.id == 0 then transaction('a', function() end) end",
         "declares less in a session"},
        {"param('a', 1) dataset('a') statement('s', 'select 1') invariant('a', 'select 1') "
         "count('a') counter('a', 1)",
         NULL},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        char text[300];
        struct error error = {.kind = ERROR_NONE};
        const struct script_place place = {.session = 1, .sessions = 2, .dialect = "sqlite"};
        struct script_state *session = NULL;
        snprintf(text, sizeof text, T " %s", cases[i].text);
        struct script *script = try_load(text, NULL, &error);
        assert_non_null(script);
        const enum status status = script_state_create(&session, script, &place, &error);
        assert_int_equal(status, cases[i].words == NULL ? STATUS_OK : STATUS_FATAL);
        assert_part(error.text, cases[i].words == NULL ? "" : cases[i].words);
        script_state_destroy(session);
        script_destroy(script);
    }
}
