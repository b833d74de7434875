/* Appends: how many rows arrive, and which rows of a failed append stay. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "base/ask.h"

static void test_row_counts(void **state)
{
    static const size_t counts[] = {0, 1, 255, 256, 257, 10000, 1};
    struct contract *contract = *state;
    struct table table;
    uint64_t expected = 0;
    contract_make_syslog(contract, &table);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t accepted = 99;
        contract_expect(contract, contract_append(contract, &table, counts[i], 0, &accepted),
                        STATUS_OK);
        assert_int_equal(accepted, counts[i]);
        expected += counts[i];
        assert_int_equal(contract_count(contract, &table), expected);
    }
    table_fini(&table);
}

/* Appends batches of so many sizes that an adapter cannot keep a prepared statement for each
 * size. */
static void test_many_sizes(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t expected = 0;
    contract_make_syslog(contract, &table);
    for (size_t round = 0; round < 2; round++) {
        for (size_t rows = 1; rows < 12; rows++) {
            uint64_t accepted = 0;
            contract_expect(contract, contract_append(contract, &table, rows, 0, &accepted),
                            STATUS_OK);
            expected += rows;
        }
    }
    assert_int_equal(contract_count(contract, &table), expected);
    table_fini(&table);
}

static void test_two_tables(void **state)
{
    struct contract *contract = *state;
    struct table first;
    struct table second;
    uint64_t accepted;
    if (contract_discards(contract)) {
        skip();
        return;
    }
    contract_make_syslog(contract, &first);
    contract_make_keyed(contract, &second);
    for (int i = 0; i < 3; i++) {
        contract_expect(contract, contract_append(contract, &first, 2, 0, &accepted), STATUS_OK);
        contract_expect(contract, contract_append(contract, &second, 3, i * 3, &accepted),
                        STATUS_OK);
    }
    assert_int_equal(contract_count(contract, &first), 6);
    assert_int_equal(contract_count(contract, &second), 9);
    table_fini(&first);
    table_fini(&second);
}

static void test_rejected_batch(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted;
    if (!contract_has_rules(contract)) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    contract_expect(contract, contract_append(contract, &table, 10, 0, &accepted), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        accepted = 99;
        error_clear(&contract->error);
        contract_expect(contract, contract_append(contract, &table, 300, -291, &accepted),
                        STATUS_REJECTED);
        assert_int_equal(accepted, 0);
        assert_int_equal(contract->error.kind, ERROR_DUPLICATE);
        if (contract->fixture->duplicate_sqlstate != NULL) {
            assert_string_equal(contract->error.sqlstate, contract->fixture->duplicate_sqlstate);
        }
    }
    error_clear(&contract->error);
    assert_int_equal(contract_count(contract, &table), 10);
    contract_expect(contract, contract_append(contract, &table, 300, 10, &accepted), STATUS_OK);
    assert_int_equal(accepted, 300);
    assert_int_equal(contract_count(contract, &table), 310);
    table_fini(&table);
}

/* If the server judges every row by itself, the rows that it does not refuse stay. */
static void test_rejected_rows(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted = 99;
    if (contract->fixture->refuse_rows == NULL) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    for (unsigned i = 0; i < 3; i++) {
        error_clear(&contract->error);
        assert_true(contract->fixture->refuse_rows(9));
        contract_expect(contract, contract_append(contract, &table, 300, 0, &accepted),
                        STATUS_REJECTED);
        assert_int_equal(accepted, 291);
        assert_int_equal(contract->error.kind, ERROR_DATA);
        error_clear(&contract->error);
        assert_int_equal(contract_count(contract, &table), 291 * (i + 1));
    }
    assert_true(contract->fixture->refuse_rows(3));
    contract_expect(contract, contract_append(contract, &table, 3, 0, &accepted), STATUS_REJECTED);
    assert_int_equal(accepted, 0);
    error_clear(&contract->error);
    contract_expect(contract, contract_append(contract, &table, 300, 0, &accepted), STATUS_OK);
    assert_int_equal(accepted, 300);
    table_fini(&table);
}

/* In a table without rollback, the rows before a refused row stay. The call that reports the
 * refusal returns the number of these rows, and no further rows are sent. */
static void test_kept_rows(void **state)
{
    enum {
        BATCHES = 6,
        /* id in the second batch that the table already contains */
        EXISTING = ROW_BATCH_MAX + 100,
    };
    struct contract *contract = *state;
    const struct adapter *adapter = contract->adapter;
    struct table table;
    uint64_t kept = 0;
    if (contract->fixture->no_rollback_sql == NULL) {
        skip();
        return;
    }
    contract_make_table(contract, "keyed", contract->fixture->no_rollback_sql, &table);
    /* open a connection as a session does: with the facts of an earlier connection */
    static struct connection_info info;
    contract_inspect(contract, &info);
    contract_close(contract, contract->conn);
    contract->target.facts = &info.facts;
    const enum status opened = contract->adapter->open(contract->adapter, &contract->target,
                                                       &contract->conn, &contract->error);
    contract->target.facts = NULL;
    contract_expect(contract, opened, STATUS_OK);
    contract_expect(contract, contract_append(contract, &table, 1, EXISTING, &kept), STATUS_OK);
    kept = 0;
    enum status status = adapter->append_open(contract->conn, &table, &contract->error);
    contract_expect(contract, status, STATUS_OK);
    int calls = 0;
    while (status == STATUS_OK && calls < BATCHES) {
        struct samples *samples =
            samples_create(&table, ROW_BATCH_MAX, ROW_BATCH_MAX * calls++, false);
        status =
            adapter->append_rows(contract->conn, samples_batch(samples), &kept, &contract->error);
        samples_destroy(samples);
    }
    contract_expect(contract, status, STATUS_REJECTED);
    assert_int_equal(contract->error.kind, ERROR_DUPLICATE);
    assert_in_range(calls, 2, 3); /* an answer may be read before the next batch is sent */
    assert_int_equal(kept, EXISTING);
    error_clear(&contract->error);
    assert_int_equal(contract_count(contract, &table), EXISTING + 1);
    contract_expect(contract, contract_append(contract, &table, 300, 2 * EXISTING, &kept),
                    STATUS_OK);
    assert_int_equal(kept, 300);
    assert_int_equal(contract_count(contract, &table), EXISTING + 301);
    table_fini(&table);
}

static void recreate(struct contract *contract, const char *own, const char *columns)
{
    char sql[256];
    snprintf(sql, sizeof sql, "create table keyed (%s)", columns);
    contract_drop(contract, "keyed");
    contract_expect(
        contract,
        contract->adapter->execute(contract->conn, own != NULL ? own : sql, &contract->error),
        STATUS_OK);
}

/* The table is created again while a connection is open. With an additional column the append
 * succeeds; with a missing column it fails. */
static void test_table_recreated(void **state)
{
    struct contract *contract = *state;
    const struct fixture *fixture = contract->fixture;
    struct table table;
    uint64_t accepted = 0;
    if (fixture->keyed_sql == NULL) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    contract_expect(contract, contract_append(contract, &table, 5, 0, &accepted), STATUS_OK);
    recreate(contract, fixture->keyed_with_more_sql, "w int, id int, v varchar(60)");
    contract_expect(contract, contract_append(contract, &table, 5, 7, &accepted), STATUS_OK);
    assert_int_equal(accepted, 5);
    char text[FIXTURE_TEXT_BYTES];
    assert_true(contract->fixture->read_text("select id from keyed where id = 8", text));
    assert_string_equal(text, "8");
    recreate(contract, fixture->keyed_with_less_sql, "id int, w varchar(60)");
    contract_expect(contract, contract_append(contract, &table, 5, 10, &accepted), STATUS_FATAL);
    assert_int_equal(contract->error.kind, ERROR_NOT_FOUND);
    assert_int_equal(accepted, 0);
    error_clear(&contract->error);
    assert_int_equal(contract_count(contract, &table), 0);
    table_fini(&table);
}

static void test_missing_table(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted;
    struct connection_info info;
    contract_inspect(contract, &info);
    const bool is_made_by_rows =
        contract->fixture->has_no_columns && ask_templates(&info)->create == NULL;
    if (contract_discards(contract) || is_made_by_rows) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    contract_drop(contract, "keyed");
    contract_expect(contract, contract_append(contract, &table, 1, 0, &accepted), STATUS_FATAL);
    assert_int_equal(contract->error.kind, ERROR_NOT_FOUND);
    error_clear(&contract->error);
    uint64_t rows;
    contract_expect(contract, contract_ask_count(contract, &table, &rows), STATUS_FATAL);
    table_fini(&table);
}

static void test_abandoned_append(void **state)
{
    struct contract *contract = *state;
    struct table table;
    if (contract_discards(contract)) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    contract_expect(contract,
                    contract->adapter->append_open(contract->conn, &table, &contract->error),
                    STATUS_OK);
    const size_t rows = contract->fixture->sends_small_batches ? ROW_BATCH_MAX : 200;
    struct samples *samples = samples_create(&table, rows, 0, false);
    uint64_t accepted = 0;
    contract_expect(contract,
                    contract->adapter->append_rows(contract->conn, samples_batch(samples),
                                                   &accepted, &contract->error),
                    STATUS_OK);
    samples_destroy(samples);
    contract_close(contract, contract->conn);
    contract_expect(contract,
                    contract->adapter->open(contract->adapter, &contract->target, &contract->conn,
                                            &contract->error),
                    STATUS_OK);
    contract_expect(contract, contract_append(contract, &table, 5, 0, &accepted), STATUS_OK);
    assert_int_equal(contract_count(contract, &table), 5);
    table_fini(&table);
}

/* A column that the database computes may be part of the table and is not sent. */
static void test_generated_column(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted;
    char text[FIXTURE_TEXT_BYTES];
    const char *sql = contract->fixture->generated_sql;
    if (sql == NULL && !contract_has_rules(contract)) {
        skip();
        return;
    }
    if (sql == NULL) {
        sql = "create table computed (id int, g int generated always as (id * 2) stored,"
              " v varchar(40))";
    }
    contract_make_table(contract, "computed", sql, &table);
    contract_expect(contract, contract_append(contract, &table, 4, 10, &accepted), STATUS_OK);
    assert_true(contract->fixture->read_text("select g from computed where id = 12", text));
    assert_string_equal(text, "24");
    table_fini(&table);
}

/* Rows that are refused only at the end of the transaction are not accepted. */
static void test_refused_at_commit(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted = 99;
    if (contract_discards(contract) || contract->fixture->has_no_deferred) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    table_fini(&table);
    contract_make_table(contract, "deferred",
                        "create table deferred (id int references keyed (id)"
                        " deferrable initially deferred)",
                        &table);
    if (contract->fixture->break_connections == NULL) {
        contract_expect(contract,
                        contract->adapter->execute(contract->conn, "pragma foreign_keys = on",
                                                   &contract->error),
                        STATUS_OK);
    }
    contract_expect(contract, contract_append(contract, &table, 300, 0, &accepted),
                    STATUS_REJECTED);
    assert_int_equal(accepted, 0);
    assert_int_equal(contract->error.kind, ERROR_DATA);
    error_clear(&contract->error);
    assert_int_equal(contract_count(contract, &table), 0);
    contract_expect(
        contract,
        contract->adapter->execute(contract->conn, "drop table deferred", &contract->error),
        STATUS_OK);
    table_fini(&table);
}

/* Rows that the database leaves out without an error are not accepted. */
static void test_rows_left_out(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted = 99;
    if (contract->fixture->ignoring_sql == NULL) {
        skip();
        return;
    }
    contract_make_table(contract, "ignoring", contract->fixture->ignoring_sql, &table);
    contract_expect(contract, contract_append(contract, &table, 4, 0, &accepted), STATUS_OK);
    assert_int_equal(accepted, 4);
    contract_expect(contract, contract_append(contract, &table, 300, 1, &accepted), STATUS_OK);
    assert_int_equal(accepted, 297);
    assert_int_equal(contract_count(contract, &table), 301);
    table_fini(&table);
}

/* The table changes while a connection is open. After it was created again, appends continue. After
 * a column was dropped, appends fail. */
static void test_table_changes(void **state)
{
    struct contract *contract = *state;
    const struct adapter *adapter = contract->adapter;
    struct table table;
    struct table again;
    uint64_t accepted = 0;
    if (!contract_has_rules(contract)) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    contract_expect(contract, contract_append(contract, &table, 5, 0, &accepted), STATUS_OK);
    assert_int_equal(contract_count(contract, &table), 5);
    contract_make_keyed(contract, &again);
    contract_expect(contract, contract_append(contract, &table, 5, 0, &accepted), STATUS_OK);
    assert_int_equal(contract_count(contract, &table), 5);
    contract_expect(
        contract,
        adapter->execute(contract->conn, "alter table keyed add w int default 1", &contract->error),
        STATUS_OK);
    contract_expect(contract, contract_append(contract, &table, 5, 5, &accepted), STATUS_OK);
    assert_int_equal(contract_count(contract, &table), 10);
    contract_expect(
        contract,
        adapter->execute(contract->conn, "alter table keyed drop column v", &contract->error),
        STATUS_OK);
    contract_expect(contract, contract_append(contract, &table, 5, 10, &accepted), STATUS_FATAL);
    assert_int_equal(contract->error.kind, ERROR_NOT_FOUND);
    assert_int_equal(accepted, 0);
    error_clear(&contract->error);
    assert_int_equal(contract_count(contract, &table), 10);
    table_fini(&table);
    table_fini(&again);
}

/* A user's query leaves a transaction open. An append within this transaction would be acknowledged
 * and later lost. */
static void test_open_transaction(void **state)
{
    static const char *const queries[] = {"begin; select 1", "begin; select nonsense from"};
    struct contract *contract = *state;
    const struct adapter *adapter = contract->adapter;
    struct table table;
    uint64_t accepted = 0;
    uint64_t rows = 0;
    char text[FIXTURE_TEXT_BYTES];
    if (!contract_has_rules(contract)) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    for (int i = 0; i < 2; i++) {
        error_clear(&contract->error);
        const enum status status = contract_query(contract, queries[i], &rows);
        assert_true(error_is_set(&contract->error));
        if (i == 0) {
            contract_expect(contract, status, STATUS_FATAL);
            assert_int_equal(contract->error.kind, ERROR_USAGE);
        }
        error_clear(&contract->error);
        contract_expect(contract, contract_append(contract, &table, 5, i * 5, &accepted),
                        STATUS_OK);
        assert_true(contract->fixture->read_text("select count(*) from keyed", text));
        assert_string_equal(text, i == 0 ? "5" : "10");
    }
    contract_expect(contract, adapter->execute(contract->conn, "begin", &contract->error),
                    STATUS_FATAL);
    error_clear(&contract->error);
    contract_expect(contract, adapter->execute(contract->conn, "begin; commit", &contract->error),
                    adapter->begin != NULL ? STATUS_OK : STATUS_FATAL);
    table_fini(&table);
}

const struct CMUnitTest contract_append_tests[] = {
    cmocka_unit_test(test_row_counts),
    cmocka_unit_test(test_many_sizes),
    cmocka_unit_test(test_two_tables),
    cmocka_unit_test(test_rejected_batch),
    cmocka_unit_test(test_missing_table),
    cmocka_unit_test(test_abandoned_append),
    cmocka_unit_test(test_generated_column),
    cmocka_unit_test(test_refused_at_commit),
    cmocka_unit_test(test_rows_left_out),
    cmocka_unit_test(test_table_changes),
    cmocka_unit_test(test_open_transaction),
    cmocka_unit_test(test_rejected_rows),
    cmocka_unit_test(test_kept_rows),
    cmocka_unit_test(test_table_recreated),
    {0},
};
