/* Tests of opening connections, describing tables and running queries. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void test_operations_are_there(void **state)
{
    const struct contract *contract = *state;
    const struct adapter *adapter = contract->adapter;
    assert_true(strlen(adapter->summary) > 10);
    assert_true(adapter->stack_bytes >= 16384);
    assert_true(adapter->identifier_quote == '"' || adapter->identifier_quote == '`' ||
                adapter->identifier_quote == '\0');
    assert_true((adapter->start == NULL) == (adapter->stop == NULL));
    assert_true((adapter->run_prepared == NULL) == (adapter->drop == NULL));
    assert_true(adapter->run_prepared == NULL || adapter->prepare != NULL);
    assert_non_null(adapter->execute);
    assert_non_null(adapter->describe);
    assert_non_null(adapter->append_open);
    assert_non_null(adapter->append_rows);
    assert_non_null(adapter->append_close);
    assert_non_null(adapter->run);
}

static void test_close_takes_null(void **state)
{
    const struct contract *contract = *state;
    contract_close(contract, NULL);
}

static void test_many_connections(void **state)
{
    enum {
        CONNECTIONS = 8
    };
    struct contract *contract = *state;
    struct adapter_conn *conns[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) {
        contract_expect(contract,
                        contract->adapter->open(contract->adapter, &contract->target, &conns[i],
                                                &contract->error),
                        STATUS_OK);
        assert_non_null(conns[i]);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        contract_close(contract, conns[i]);
    }
}

static void test_bad_targets(void **state)
{
    struct contract *contract = *state;
    for (size_t i = 0; i < contract->fixture->bad_target_count; i++) {
        const struct bad_target *bad = &contract->fixture->bad_targets[i];
        const struct target *const good = &contract->target;
        struct target target = bad->target;
        struct adapter_conn *conn = contract->conn;
        error_clear(&contract->error);
        target.scheme = good->scheme;
        target.url = target.url != NULL ? target.url : good->url;
        target.host = target.host != NULL ? target.host : good->host;
        target.port = target.port != 0 ? target.port : good->port;
        target.user = target.user != NULL ? target.user : good->user;
        target.password = target.password != NULL ? target.password : good->password;
        target.database = target.database != NULL ? target.database : good->database;
        target.query = target.query != NULL ? target.query : good->query;
        target.connect_timeout_s = good->connect_timeout_s;
        target.library = good->library;
        const enum status status =
            contract->adapter->open(contract->adapter, &target, &conn, &contract->error);
        print_message("%s: %s %s: %s\n", bad->label, error_kind_name(contract->error.kind),
                      contract->error.sqlstate, contract->error.text);
        contract_expect(contract, status, bad->status);
        assert_null(conn);
        assert_int_equal(contract->error.kind, bad->kind);
        if (bad->sqlstate != NULL) {
            assert_string_equal(contract->error.sqlstate, bad->sqlstate);
        }
    }
}

static void test_describe_missing(void **state)
{
    struct contract *contract = *state;
    struct table table;
    struct connection_info info;
    contract_inspect(contract, &info);
    const bool has_quotes = info.not_in_names == NULL || strchr(info.not_in_names, '"') == NULL;
    const char *const name = has_quotes ? "no_such\"table" : "no_such table";
    memset(&table, 0xa5, sizeof table);
    contract_expect(contract,
                    contract->adapter->describe(contract->adapter, contract->conn, name, &table,
                                                &contract->error),
                    STATUS_REJECTED);
    assert_int_equal(contract->error.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(contract->error.text, name));
}

static void test_describe_missing_schema(void **state)
{
    struct contract *contract = *state;
    struct target target = contract->target;
    struct adapter_conn *conn = NULL;
    struct table table;
    if (target.schema == NULL) {
        skip();
        return;
    }
    target.schema = "no such schema";
    contract_expect(contract,
                    contract->adapter->open(contract->adapter, &target, &conn, &contract->error),
                    STATUS_OK);
    const enum status status =
        contract->adapter->describe(contract->adapter, conn, "any", &table, &contract->error);
    contract_close(contract, conn);
    contract_expect(contract, status, STATUS_FATAL);
    assert_int_equal(contract->error.kind, ERROR_NOT_FOUND);
}

static void test_describe_syslog(void **state)
{
    static const struct {
        const char *name;
        enum column_type type;
        unsigned size;
    } wanted[] = {
        {"tm", COLUMN_TIMESTAMP, 0}, {"n1", COLUMN_INT16, 0},   {"n2", COLUMN_INT32, 0},
        {"n3", COLUMN_INT64, 0},     {"n4", COLUMN_FLOAT32, 0}, {"n5", COLUMN_FLOAT64, 0},
        {"host", COLUMN_TEXT, 128},  {"msg", COLUMN_TEXT, 512}, {"ip4", COLUMN_IP4, 0},
        {"ip6", COLUMN_IP6, 0},
    };
    struct contract *contract = *state;
    struct table table;
    contract_make_syslog(contract, &table);
    assert_string_equal(table.name, "syslog_table");
    assert_int_equal(table.column_count, 10);
    for (size_t i = 0; i < 10; i++) {
        const struct column *const time = i == 0 ? contract->fixture->time : NULL;
        const char *const name = time != NULL ? time->name : wanted[i].name;
        if (contract->fixture->folds_names) {
            assert_int_equal(strcasecmp(table.columns[i].name, name), 0);
        } else {
            assert_string_equal(table.columns[i].name, name);
        }
        assert_int_equal(table.columns[i].type, wanted[i].type);
        assert_int_equal(table.columns[i].size, wanted[i].size);
        assert_true(strlen(table.columns[i].type_name) > 0);
        assert_false(table.columns[i].is_unique);
        assert_int_equal(table.columns[i].has_default, contract->fixture->fills_columns);
        assert_false(table.columns[i].is_generated);
    }
    table_fini(&table);
}

static const struct column *find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, name) == 0) {
            return &table->columns[i];
        }
    }
    return NULL;
}

static void test_describe_special(void **state)
{
    struct contract *contract = *state;
    struct table table;
    if (contract->fixture->special_sql == NULL) {
        skip();
        return;
    }
    contract_make_table(contract, "special", contract->fixture->special_sql, &table);
    const struct column *id = find_column(&table, "id");
    assert_true(id->is_unique && id->has_default && !id->is_generated && !id->is_nullable);
    const struct column *u = find_column(&table, "u");
    assert_true(u->is_unique && !u->has_default && !u->is_nullable);
    const struct column *d = find_column(&table, "d");
    assert_true(!d->is_unique && d->has_default && d->is_nullable);
    const struct column *g = find_column(&table, "g");
    assert_non_null(g);
    assert_true(g->is_generated);
    const struct column *p = find_column(&table, "p");
    if (p != NULL) {
        assert_int_equal(p->type, COLUMN_UNSUPPORTED);
        assert_string_equal(p->type_name, "point");
        assert_true(find_column(&table, "a")->is_generated);
        assert_true(find_column(&table, "s")->has_default);
    }
    table_fini(&table);
}

/* A column counts as unique only if a unique index is on this column alone and contains all
 * rows. */
static void test_describe_indexes(void **state)
{
    struct contract *contract = *state;
    struct table table;
    if (!contract_has_rules(contract)) {
        skip();
        return;
    }
    const char *sql = contract->fixture->indexes_sql;
    if (sql == NULL) {
        sql = "create table indexed (a int, b int, c int, d varchar(9), e int);"
              "create unique index indexed_ab on indexed (a, b);"
              "create unique index indexed_c on indexed (c) where a > 0;"
              "create unique index indexed_d on indexed (lower(d));"
              "create unique index indexed_e on indexed (e)";
    }
    contract_make_table(contract, "indexed", sql, &table);
    assert_int_equal(table.column_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(table.columns[i].is_unique, i == 4);
    }
    table_fini(&table);
}

static void test_query_drains(void **state)
{
    struct contract *contract = *state;
    const char *one_row = contract->fixture->one_row_sql;
    const char *three_rows = contract_translate(contract, "select 1 union all select 2; select 3");
    char script[256];
    uint64_t rows = 7;
    if (one_row != NULL) {
        snprintf(script, sizeof script, "%s; %s;\n%s", one_row, one_row, one_row);
        three_rows = script;
    } else {
        one_row = contract_translate(contract, "select 1");
    }
    if (three_rows != NULL) {
        contract_expect(contract, contract_query(contract, three_rows, &rows), STATUS_OK);
        assert_int_equal(rows, contract_discards(contract) ? 1 : 3);
    }
    if (contract_discards(contract)) {
        return;
    }
    const enum status status = contract_query(contract, "select nonsense from", &rows);
    assert_true(status == STATUS_REJECTED || status == STATUS_FATAL);
    error_clear(&contract->error);
    contract_expect(contract, contract_query(contract, one_row, &rows), STATUS_OK);
    assert_int_equal(rows, 1);
}

/* The database refuses the statements that the adapter lists as unsupported. */
static void test_lacks(void **state)
{
    static const char *const statements[] = {"delete from keyed where id = 1",
                                             "update keyed set id = 1 where id = 2",
                                             "insert into keyed (id) values (1)",
                                             "create table lacking (id int)",
                                             "create index lacking on keyed (id)",
                                             "create temporary table lacking (id Int32)",
                                             "select id from keyed"};
    struct contract *contract = *state;
    struct connection_info info;
    struct table table;
    contract_inspect(contract, &info);
    if (info.unsupported == NULL) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    table_fini(&table);
    for (const struct unsupported *lack = info.unsupported; lack->words != NULL; lack++) {
        const size_t length = strlen(lack->words);
        const char *sql = NULL;
        uint64_t rows = 0;
        for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
            sql = strncmp(statements[i], lack->words, length) == 0 ? statements[i] : sql;
        }
        assert_non_null(sql);
        contract_expect(contract, contract_query(contract, sql, &rows), STATUS_REJECTED);
        print_message("%s: %s\n", sql, contract->error.text);
        error_clear(&contract->error);
    }
}

static void test_server_limits(void **state)
{
    struct contract *contract = *state;
    struct server_limits limits;
    if (contract->adapter->server_limits == NULL) {
        skip();
        return;
    }
    contract_expect(contract,
                    contract->adapter->server_limits(contract->adapter, contract->conn, &limits,
                                                     &contract->error),
                    STATUS_OK);
    assert_true(strlen(limits.version) > 5);
    if (contract->fixture->hides_limits) {
        assert_int_equal(limits.count, 0);
    } else if (contract->fixture->break_connections != NULL) {
        assert_true(limits.count >= 1);
        for (size_t i = 0; i < limits.count; i++) {
            assert_true(limits.sessions[i].name[0] != '\0');
            assert_true(limits.sessions[i].used >= 1);
            assert_true(limits.sessions[i].allowed >= limits.sessions[i].used);
            assert_true(strlen(limits.sessions[i].fix) > 10);
        }
        const char *own = contract->fixture->session_limit;
        assert_string_equal(limits.sessions[0].name, own != NULL ? own : "max_connections");
        assert_int_equal(limits.tasks_per_session, own != NULL ? 0 : 1);
    } else {
        assert_int_equal(limits.count, 0);
        assert_int_equal(limits.tasks_per_session, 0);
    }
}

static void test_recognise(void **state)
{
    struct contract *contract = *state;
    if (contract->adapter->recognise == NULL) {
        skip();
        return;
    }
    contract_expect(
        contract,
        contract->adapter->recognise(contract->adapter, "127.0.0.1", 1, 2000, &contract->error),
        STATUS_LOST);
    assert_string_equal(contract->error.text, "nothing listens on 127.0.0.1:1");
    error_clear(&contract->error);
    contract_expect(contract,
                    contract->adapter->recognise(contract->adapter, "no-such.invalid", 1, 2000,
                                                 &contract->error),
                    STATUS_LOST);
    assert_non_null(strstr(contract->error.text, "does not resolve"));
    error_clear(&contract->error);
    uint16_t port = contract->target.port;
    if (port == 0 && contract->fixture->port_sql != NULL) {
        char text[FIXTURE_TEXT_BYTES];
        assert_true(contract->fixture->read_text(contract->fixture->port_sql, text));
        port = (uint16_t)strtoul(text, NULL, 10); /* "(null)" becomes 0 */
    }
    if (port != 0) {
        contract_expect(contract,
                        contract->adapter->recognise(contract->adapter, "127.0.0.1", port, 2000,
                                                     &contract->error),
                        STATUS_OK);
    }
}

const struct CMUnitTest contract_open_tests[] = {
    cmocka_unit_test(test_operations_are_there),
    cmocka_unit_test(test_close_takes_null),
    cmocka_unit_test(test_many_connections),
    cmocka_unit_test(test_bad_targets),
    cmocka_unit_test(test_describe_missing),
    cmocka_unit_test(test_describe_missing_schema),
    cmocka_unit_test(test_describe_syslog),
    cmocka_unit_test(test_describe_special),
    cmocka_unit_test(test_describe_indexes),
    cmocka_unit_test(test_query_drains),
    cmocka_unit_test(test_lacks),
    cmocka_unit_test(test_server_limits),
    cmocka_unit_test(test_recognise),
    {0},
};
