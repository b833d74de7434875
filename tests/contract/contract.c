/*
 * contract_tests ADAPTER[-DATABASE]: one suite for every adapter, which runs once for each of the
 * adapter's methods. Installed as append-contract: append-contract FIXTURE.so FOLDER tests an
 * adapter outside the tree. The fixture names the adapter, and the adapter is loaded from FOLDER.
 * Exit code 77 means that this database cannot be tested here.
 */
#include "contract.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/registry.h"
#include "base/ask.h"
#include "base/prepared.h"
#include "plan/plan.h"

enum {
    TESTS_MAX = 96,
    EXIT_SKIPPED = 77
};

static struct contract suite;

void contract_expect(struct contract *contract, enum status status, enum status wanted)
{
    if (status != wanted) {
        fail_msg("status %d instead of %d: %s %s: %s", (int)status, (int)wanted,
                 error_kind_name(contract->error.kind), contract->error.sqlstate,
                 contract->error.text);
    }
    if (status == STATUS_OK) {
        assert_false(error_is_set(&contract->error));
        return;
    }
    assert_true(error_is_set(&contract->error));
    assert_true(strlen(contract->error.text) > 5);
    assert_null(strpbrk(contract->error.text, "\r\n\t"));
}

bool contract_discards(const struct contract *contract)
{
    return (contract->adapter->flags & ADAPTER_DISCARDS) != 0;
}

void contract_inspect(const struct contract *contract, struct connection_info *info)
{
    *info = (struct connection_info){.identifier_quote = contract->adapter->identifier_quote};
    snprintf(info->dialect, sizeof info->dialect, "%s", contract->adapter->name);
    if (contract->adapter->inspect != NULL) {
        contract->adapter->inspect(contract->adapter, contract->conn, info);
    }
}

const char *contract_translate(const struct contract *contract, const char *sql)
{
    struct connection_info info;
    contract_inspect(contract, &info);
    const struct phrase *phrase = contract->fixture->phrases;
    if (info.templates == NULL) {
        return sql;
    }
    while (phrase != NULL && phrase->sql != NULL && strcmp(phrase->sql, sql) != 0) {
        phrase++;
    }
    return phrase != NULL ? phrase->translation : NULL;
}

bool contract_has_rules(const struct contract *contract)
{
    struct connection_info info;
    contract_inspect(contract, &info);
    return !contract_discards(contract) && !contract->fixture->has_no_rules &&
           info.templates == NULL;
}

/* Creates or drops a table with the connection's SQL template. Does nothing if there is no
 * template. */
static void create_or_drop(struct contract *contract, const char *name, bool makes)
{
    struct connection_info info;
    struct buffer sql = {0};
    contract_inspect(contract, &info);
    const char *sql_template = makes ? ask_templates(&info)->create : ask_templates(&info)->drop;
    if (sql_template != NULL) {
        ask_write(&sql, sql_template, &info, name, NULL, 0);
        contract_expect(
            contract,
            contract->adapter->execute(contract->conn, buffer_text(&sql), &contract->error),
            STATUS_OK);
    }
    buffer_fini(&sql);
}

void contract_drop(struct contract *contract, const char *name)
{
    create_or_drop(contract, name, false);
}

static void add_column(struct table *table, const struct column *column)
{
    struct error error;
    error_clear(&error);
    assert_int_equal(table_add_column(table, column, &error), STATUS_OK);
}

/* Adds the columns that the table "keyed" or "every_type" has in other databases, for a database in
 * which columns are not declared. */
static void make_columns(struct contract *contract, const char *name, struct table *table)
{
    const struct fixture *fixture = contract->fixture;
    const enum status status = contract->adapter->describe(contract->adapter, contract->conn, name,
                                                           table, &contract->error);
    if (status == STATUS_OK) {
        struct connection_info info;
        contract_inspect(contract, &info);
        assert_true(table->is_missing || info.facts.has_no_columns);
        table_fini(table);
    } else {
        contract_expect(contract, status, STATUS_REJECTED);
        assert_int_equal(contract->error.kind, ERROR_NOT_FOUND);
        error_clear(&contract->error);
    }
    assert_int_equal(table_init(table, name, &contract->error), STATUS_OK);
    struct column column = {.name = "id", .type = COLUMN_INT32};
    add_column(table, &column);
    column = (struct column){.name = "v", .type = COLUMN_TEXT, .size = 60, .is_nullable = true};
    if (strcmp(table->name, "keyed") == 0) {
        add_column(table, &column);
    }
    for (size_t i = 0; i < fixture->case_count && strcmp(table->name, "every_type") == 0; i++) {
        column.type = fixture->cases[i].type;
        column.precision = column.type == COLUMN_DECIMAL ? 10 : 0;
        column.scale = column.type == COLUMN_DECIMAL ? 2 : 0;
        snprintf(column.name, sizeof column.name, "%s", fixture->cases[i].column);
        add_column(table, &column);
    }
    if (fixture->time != NULL) {
        add_column(table, fixture->time);
    }
}

void contract_make_table(struct contract *contract, const char *name, const char *sql,
                         struct table *table)
{
    contract_drop(contract, name);
    if (sql == NULL) {
        create_or_drop(contract, name, true);
        make_columns(contract, name, table);
        return;
    }
    contract_expect(contract, contract->adapter->execute(contract->conn, sql, &contract->error),
                    STATUS_OK);
    contract_expect(contract,
                    contract->adapter->describe(contract->adapter, contract->conn, name, table,
                                                &contract->error),
                    STATUS_OK);
}

void contract_make_syslog(struct contract *contract, struct table *table)
{
    struct connection_info info;
    contract_inspect(contract, &info);
    const char *sql = schema_of_syslog(contract->adapter, info.dialect);
    if (sql == NULL) {
        assert_true(contract_discards(contract));
        sql = "select 1"; /* the table exists already */
    }
    contract_make_table(contract, "syslog_table", sql, table);
}

void contract_make_keyed(struct contract *contract, struct table *table)
{
    const char *sql = contract->fixture->keyed_sql;
    if (sql == NULL && !contract->fixture->has_no_columns) {
        sql = "create table keyed (id int primary key, v varchar(60))";
    }
    contract_make_table(contract, "keyed", sql, table);
}

/* Returns the statement that counts rows: the same statement for all connections, as in a run. */
static const struct statement *find_count(const char *sql)
{
    static struct {
        char sql[400];
        struct statement statement;
    } counts[16];
    size_t i = 0;
    while (counts[i].statement.sql != NULL && strcmp(counts[i].sql, sql) != 0) {
        assert_true(++i < sizeof counts / sizeof counts[0]);
    }
    snprintf(counts[i].sql, sizeof counts[i].sql, "%s", sql);
    counts[i].statement = (struct statement){.sql = counts[i].sql, .is_prepared = true};
    return &counts[i].statement;
}

enum status contract_ask_count(struct contract *contract, const struct table *table, uint64_t *rows)
{
    struct connection_info info;
    struct buffer sql = {0};
    contract_inspect(contract, &info);
    ask_write(&sql, ask_templates(&info)->count, &info, table->name, NULL, 0);
    const struct statement *count = find_count(buffer_text(&sql));
    buffer_fini(&sql);
    return ask_count(contract->adapter, contract->conn, count, rows, &contract->error);
}

uint64_t contract_count(struct contract *contract, const struct table *table)
{
    uint64_t rows = UINT64_MAX;
    contract_expect(contract, contract_ask_count(contract, table, &rows), STATUS_OK);
    return rows;
}

enum status contract_query(struct contract *contract, const char *sql, uint64_t *rows)
{
    const struct statement query = {.sql = sql};
    struct answer answer = {.take = NULL};
    const enum status status =
        contract->adapter->run(contract->conn, &query, NULL, &answer, &contract->error);
    *rows = answer.rows;
    return status;
}

enum status contract_append(struct contract *contract, const struct table *table, size_t rows,
                            int first_id, uint64_t *accepted)
{
    const struct adapter *adapter = contract->adapter;
    enum status status = adapter->append_open(contract->conn, table, &contract->error);
    *accepted = 0;
    for (size_t done = 0; status == STATUS_OK && done < rows; done += ROW_BATCH_MAX) {
        const size_t left = rows - done;
        struct samples *samples = samples_create(table, left < ROW_BATCH_MAX ? left : ROW_BATCH_MAX,
                                                 first_id + (int)done, false);
        status = adapter->append_rows(contract->conn, samples_batch(samples), accepted,
                                      &contract->error);
        samples_destroy(samples);
    }
    if (status == STATUS_OK) {
        status = adapter->append_close(contract->conn, accepted, &contract->error);
    }
    return status;
}

/* The prepared statements of the open connections. */
static struct connection_statements {
    struct adapter_conn *conn; /* NULL if the entry is unused */
    struct prepared_set prepared;
} connection_statements[4];
static pthread_mutex_t prepared_lock = PTHREAD_MUTEX_INITIALIZER; /* protects `conn` */

/* Returns the entry of a connection. If `conn` is NULL, returns an unused entry. Returns NULL if
 * no such entry is found. */
static struct connection_statements *find_prepared(const struct adapter_conn *conn)
{
    size_t i = 0;
    while (i < sizeof connection_statements / sizeof connection_statements[0] &&
           connection_statements[i].conn != conn) {
        i++;
    }
    return i < sizeof connection_statements / sizeof connection_statements[0]
               ? &connection_statements[i]
               : NULL;
}

static struct prepared_set *prepared_of(const struct contract *contract, struct adapter_conn *conn)
{
    pthread_mutex_lock(&prepared_lock);
    struct connection_statements *found = find_prepared(conn);
    if (found == NULL) {
        found = find_prepared(NULL);
        if (found == NULL) {
            abort(); /* not an assertion, because this may run in another thread */
        }
        found->conn = conn;
        found->prepared = (struct prepared_set){.adapter = contract->adapter, .conn = conn};
    }
    pthread_mutex_unlock(&prepared_lock);
    return &found->prepared;
}

enum status contract_run(const struct contract *contract, struct adapter_conn *conn,
                         const struct statement *statement, const struct batch *parameters,
                         struct answer *answer, struct error *error)
{
    return prepared_run(prepared_of(contract, conn), statement, parameters, answer, error);
}

enum status contract_prepare(struct contract *contract, const struct statement *statement)
{
    return prepared_make(prepared_of(contract, contract->conn), statement, &contract->error);
}

void contract_close(const struct contract *contract, struct adapter_conn *conn)
{
    pthread_mutex_lock(&prepared_lock);
    struct connection_statements *const found = conn != NULL ? find_prepared(conn) : NULL;
    if (found != NULL) {
        prepared_end(&found->prepared);
        found->conn = NULL;
    }
    pthread_mutex_unlock(&prepared_lock);
    contract->adapter->close(conn);
}

int contract_setup(void **state)
{
    error_clear(&suite.error);
    suite.conn = NULL;
    *state = &suite;
    if (suite.adapter->open(suite.adapter, &suite.target, &suite.conn, &suite.error) != STATUS_OK) {
        fprintf(stderr, "contract: open: %s\n", suite.error.text);
        return -1;
    }
    return 0;
}

int contract_teardown(void **state)
{
    (void)state;
    contract_close(&suite, suite.conn);
    suite.conn = NULL;
    return 0;
}

static int run_method(const char *method)
{
    static const struct CMUnitTest *const files[] = {
        contract_open_tests,       contract_append_tests, contract_value_tests,
        contract_numbers_tests,    contract_lost_tests,   contract_statement_tests,
        contract_transaction_tests};
    struct CMUnitTest tests[TESTS_MAX];
    char name[64];
    size_t count = 0;

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        for (const struct CMUnitTest *test = files[i]; test->name != NULL && count < TESTS_MAX;
             test++) {
            tests[count] = *test;
            tests[count].setup_func = contract_setup;
            tests[count++].teardown_func = contract_teardown;
        }
    }
    suite.target = suite.fixture->target;
    suite.target.method = method;
    suite.target.library = suite.library;
    snprintf(name, sizeof name, "contract %s %s", suite.adapter->name,
             method != NULL ? method : "");
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}

/* Checks a method that this database does not support: the adapter must refuse the method, and not
 * use another method instead. */
static bool is_refused(const char *method)
{
    suite.target = suite.fixture->target;
    suite.target.method = method;
    error_clear(&suite.error);
    const enum status status =
        suite.adapter->open(suite.adapter, &suite.target, &suite.conn, &suite.error);
    fprintf(stderr, "contract: method %s: %s\n", method, suite.error.text);
    contract_close(&suite, suite.conn);
    suite.conn = NULL;
    return status == STATUS_FATAL && suite.error.kind == ERROR_UNSUPPORTED;
}

static int run_methods(void)
{
    const char *const only[] = {NULL};
    const char *const *method = suite.adapter->methods;
    int failures = 0;
    if (method == NULL) {
        return run_method(only[0]);
    }
    for (; *method != NULL; method++) {
        if (suite.fixture->missing_method != NULL &&
            strcmp(suite.fixture->missing_method, *method) == 0) {
            failures += !is_refused(*method);
            continue;
        }
        failures += run_method(*method) != 0;
    }
    return failures;
}

static int run_suite(void)
{
    const struct adapter *adapter = suite.adapter;
    samples_measure_in_bytes(suite.fixture->measures_bytes);
    samples_use_modern_times(suite.fixture->is_modern);
    samples_leave_out_extremes(suite.fixture->has_null_values);
    samples_count_time(suite.fixture->time);
    error_clear(&suite.error);
    if (adapter->start != NULL && adapter->start(suite.fixture->target.client_lib, &suite.library,
                                                 &suite.error) != STATUS_OK) {
        fprintf(stderr, "contract: start: %s\n", suite.error.text);
        return 1;
    }
    const int failures = run_methods();
    if (adapter->stop != NULL) {
        adapter->stop(suite.library);
    }
    return failures;
}

/* Runs the tests with a fixture. The adapter is loaded from `folder`, or is built in if `folder` is
 * NULL. Returns an exit code. */
static int test_place(const struct fixture_place *place, const char *folder)
{
    struct error error = {.kind = ERROR_NONE};
    suite.fixture = place->open();
    if (suite.fixture == NULL) {
        return EXIT_SKIPPED;
    }
    int failures = 1;
    registry_load(suite.fixture->target.scheme, folder, &suite.adapter, &error);
    if (suite.adapter == NULL) {
        fprintf(stderr, "contract: no adapter %s: %s\n", suite.fixture->target.scheme, error.text);
    } else {
        failures = run_suite();
    }
    if (place->close != NULL) {
        place->close();
    }
    return failures != 0;
}

/* Tests an adapter outside the tree. Returns an exit code. */
static int test_outside(const char *fixture, const char *folder)
{
    char *const path = realpath(fixture, NULL);
    void *const library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct fixture_module *const module =
        library == NULL ? NULL : dlsym(library, FIXTURE_MODULE_SYMBOL);
    if (module == NULL) {
        fprintf(stderr, "contract: %s: %s\n", fixture, path == NULL ? "no such file" : dlerror());
    }
    free(path);
    if (module == NULL) {
        return 2;
    }
    if (module->struct_bytes != FIXTURE_STRUCT_BYTES) {
        fprintf(stderr, "contract: %s was built with other headers: rebuild it\n", fixture);
        return 2;
    }
    return test_place(&module->place, folder);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: append-contract ADAPTER[-DATABASE]\n"
                        "       append-contract FIXTURE.so ADAPTER_FOLDER\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (argc == 3) {
        return test_outside(argv[1], argv[2]);
    }
    for (const struct fixture_entry *entry = fixture_entries; entry->name != NULL; entry++) {
        if (strcmp(entry->name, argv[1]) == 0) {
            return test_place(entry->place, NULL);
        }
    }
    fprintf(stderr, "contract: no fixture named %s\n", argv[1]);
    return EXIT_SKIPPED;
}
