/* Transactions, and keys that the database numbers. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "base/ask.h"

enum {
    TEXT_BYTES = 256
};

/* Returns a table with the first `count` of two columns: a number and a text. */
static const struct table *types_of(size_t count)
{
    static struct column columns[] = {{.type = COLUMN_INT32}, {.type = COLUMN_TEXT, .size = 60}};
    static const struct table types[] = {{.column_count = 0},
                                         {.column_count = 1, .columns = columns},
                                         {.column_count = 2, .columns = columns}};
    return &types[count];
}

enum {
    INSERT,
    UPDATE,
    DELETE,
    SELECT,
    OTHER,
};

static const struct statement *statement(unsigned which)
{
    static struct statement statements[] = {
        {.sql = "insert into keyed (id, v) values (?, ?)", .slot = 1},
        {.sql = "update keyed set v = 'same' where id < ?", .slot = 2},
        {.sql = "delete from keyed where id = ?", .slot = STATEMENT_SLOTS_MAX},
        {.sql = "select v from keyed where id <= ? order by id", .slot = 3},
    };
    for (size_t i = 0; i < OTHER; i++) {
        statements[i].is_prepared = true;
        statements[i].parameters = types_of(i == INSERT ? 2 : 1);
    }
    return &statements[which];
}

/* The first value of the first row of an answer, as text. */
struct taken {
    bool is_taken;
    bool is_null;
    char text[TEXT_BYTES];
    uint32_t length;
};

static bool take(void *context, const struct cell *cells, size_t count)
{
    struct taken *taken = context;
    assert_true(count > 0);
    taken->is_taken = true;
    taken->is_null = cells[0].is_null;
    taken->length = cells[0].type == COLUMN_TEXT ? cells[0].as.text.length : 0;
    ask_text(&cells[0], taken->text, sizeof taken->text);
    return false;
}

static enum status run(struct contract *contract, const struct statement *what, int32_t id,
                       const char *text, struct answer *answer)
{
    const struct text_value value = {text, text != NULL ? (uint32_t)strlen(text) : 0};
    const uint8_t is_null = text == NULL;
    const struct column_data data[] = {{.values.int32 = &id},
                                       {.values.text = &value, .is_null = &is_null}};
    const struct batch batch = {.table = what->parameters, .row_count = 1, .columns = data};
    return contract_run(contract, contract->conn, what, what->parameters != NULL ? &batch : NULL,
                        answer, &contract->error);
}

/* Runs a statement and returns the number of rows that it returned or matched. */
static uint64_t rows_of(struct contract *contract, unsigned which, int32_t id, const char *text)
{
    struct answer answer = {.take = NULL};
    contract_expect(contract, run(contract, statement(which), id, text, &answer), STATUS_OK);
    return answer.rows;
}

static void begin(struct contract *contract, const char *isolation, bool writes)
{
    const struct transaction transaction = {isolation, writes};
    contract_expect(contract,
                    contract->adapter->begin(contract->conn, &transaction, &contract->error),
                    STATUS_OK);
}

static void commit(struct contract *contract)
{
    contract_expect(contract, contract->adapter->commit(contract->conn, &contract->error),
                    STATUS_OK);
}

static void roll_back(struct contract *contract)
{
    contract_expect(contract, contract->adapter->rollback(contract->conn, &contract->error),
                    STATUS_OK);
}

/* Counts the rows that another connection sees. */
static uint64_t count_apart(struct contract *contract, const struct table *table)
{
    struct contract other = *contract;
    other.conn = NULL;
    error_clear(&other.error);
    contract_expect(&other,
                    other.adapter->open(other.adapter, &other.target, &other.conn, &other.error),
                    STATUS_OK);
    const uint64_t rows = contract_count(&other, table);
    contract_close(&other, other.conn);
    return rows;
}

/* Creates the table "keyed". Returns false if the database lacks keys or transactions. */
static bool has_keyed(struct contract *contract, struct table *table)
{
    if (!contract_has_rules(contract) || contract->adapter->begin == NULL) {
        return false;
    }
    contract_make_keyed(contract, table);
    return true;
}

/* The value is longer than any buffer of the adapter. */
static void test_long_value(void **state)
{
    static char sql[8000];
    struct contract *contract = *state;
    struct taken taken = {0};
    struct answer answer = {.take = take, .context = &taken};
    if (!contract_has_rules(contract)) {
        skip();
        return;
    }
    snprintf(sql, sizeof sql, "select '%05000d', 7", 1);
    const struct statement query = {.sql = sql};
    contract_expect(contract,
                    contract_run(contract, contract->conn, &query, NULL, &answer, &contract->error),
                    STATUS_OK);
    assert_int_equal(taken.length, 5000);
}

static void test_commit_and_rollback(void **state)
{
    struct contract *contract = *state;
    struct table table;
    const struct statement as_text = {.sql = statement(INSERT)->sql, .parameters = types_of(2)};
    struct answer answer = {.take = NULL};
    uint64_t rows = 0;
    uint64_t accepted = 0;
    if (!has_keyed(contract, &table)) {
        skip();
        return;
    }
    begin(contract, NULL, true);
    assert_int_equal(rows_of(contract, INSERT, 1, "one"), 1);
    contract_expect(contract,
                    contract_query(contract, "insert into keyed (id, v) values (2, 'two')", &rows),
                    STATUS_OK);
    assert_int_equal(rows, 1);
    contract_expect(contract, run(contract, &as_text, 3, "three", &answer), STATUS_OK);
    assert_int_equal(answer.rows, 1);
    assert_int_equal(rows_of(contract, SELECT, 9, NULL), 3);
    assert_int_equal(count_apart(contract, &table), 0);
    commit(contract);
    assert_int_equal(count_apart(contract, &table), 3);

    begin(contract, NULL, true);
    assert_int_equal(rows_of(contract, DELETE, 1, NULL), 1);
    assert_int_equal(rows_of(contract, DELETE, 1, NULL), 0);
    roll_back(contract);
    assert_int_equal(rows_of(contract, SELECT, 9, NULL), 3);

    begin(contract, NULL, false); /* a transaction without a statement */
    commit(contract);
    begin(contract, NULL, false);
    roll_back(contract);

    /* outside a transaction each statement is its own transaction, and appends work as before */
    assert_int_equal(rows_of(contract, INSERT, 4, "four"), 1);
    assert_int_equal(count_apart(contract, &table), 4);
    contract_expect(contract, contract_append(contract, &table, 10, 10, &accepted), STATUS_OK);
    assert_int_equal(accepted, 10);
    assert_int_equal(count_apart(contract, &table), 14);
    begin(contract, NULL, true);
    assert_int_equal(rows_of(contract, DELETE, 4, NULL), 1);
    commit(contract);
    assert_int_equal(contract_count(contract, &table), 13);
    table_fini(&table);
}

static void test_refused_inside(void **state)
{
    struct contract *contract = *state;
    struct table table;
    struct answer answer = {.take = NULL};
    if (!has_keyed(contract, &table)) {
        skip();
        return;
    }
    assert_int_equal(rows_of(contract, INSERT, 1, "one"), 1);
    for (size_t i = 0; i < 2; i++) {
        begin(contract, NULL, true);
        assert_int_equal(rows_of(contract, INSERT, 2, "two"), 1);
        contract_expect(contract, run(contract, statement(INSERT), 1, "again", &answer),
                        STATUS_REJECTED);
        assert_int_equal(contract->error.kind, ERROR_DUPLICATE);
        error_clear(&contract->error);
        roll_back(contract);
        assert_int_equal(count_apart(contract, &table), 1);
    }
    begin(contract, NULL, true);
    assert_int_equal(rows_of(contract, INSERT, 2, "two"), 1);
    commit(contract);
    assert_int_equal(count_apart(contract, &table), 2);
    table_fini(&table);
}

static void test_isolation(void **state)
{
    static const char *const levels[] = {
        "serializable", "repeatable read", "read committed", "read uncommitted",
        NULL,           "serializable"};
    struct contract *contract = *state;
    struct table table;
    if (!has_keyed(contract, &table)) {
        skip();
        return;
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        begin(contract, levels[i], true);
        assert_int_equal(rows_of(contract, INSERT, (int32_t)i, "v"), 1);
        commit(contract);
    }
    assert_int_equal(count_apart(contract, &table), sizeof levels / sizeof *levels);
    table_fini(&table);
}

/* If two transactions conflict, one of them is refused with an error that allows a retry. */
static void test_conflict(void **state)
{
    struct contract *contract = *state;
    struct contract other = *contract;
    struct table table;
    struct answer answer = {.take = NULL};
    struct connection_info info;
    const bool is_file = (contract->adapter->flags & ADAPTER_FILE) != 0;
    contract_inspect(contract, &info);
    if ((!is_file && strcmp(info.dialect, "postgresql") != 0) || !has_keyed(contract, &table)) {
        /* in MariaDB and in SQLite's driver, the first transaction waits for the lock of the
         * second */
        skip();
        return;
    }
    assert_int_equal(rows_of(contract, INSERT, 1, "one"), 1);
    contract_expect(&other,
                    other.adapter->open(other.adapter, &other.target, &other.conn, &other.error),
                    STATUS_OK);
    begin(contract, "serializable", false);
    begin(&other, "serializable", false);
    assert_int_equal(rows_of(contract, SELECT, 1, NULL), 1);
    assert_int_equal(rows_of(&other, SELECT, 1, NULL), 1);
    assert_int_equal(rows_of(contract, UPDATE, 2, NULL), 1);
    commit(contract);
    contract_expect(&other, run(&other, statement(UPDATE), 2, NULL, &answer), STATUS_REJECTED);
    assert_int_equal(other.error.kind, ERROR_SERIALIZATION);
    assert_true(error_is_transient(&other.error));
    error_clear(&other.error);
    roll_back(&other);
    if (is_file) {
        const struct transaction writing = {NULL, true};
        begin(contract, NULL, true);
        contract_expect(&other, other.adapter->begin(other.conn, &writing, &other.error),
                        STATUS_REJECTED);
        assert_int_equal(other.error.kind, ERROR_BUSY);
        error_clear(&other.error);
        roll_back(contract);
    }
    begin(&other, NULL, true);
    assert_int_equal(rows_of(&other, UPDATE, 2, NULL), 1);
    commit(&other);
    contract_close(&other, other.conn);
    table_fini(&table);
}

/* A connection that is closed within a transaction leaves none of its changes. */
static void test_closed_inside(void **state)
{
    struct contract *contract = *state;
    struct table table;
    if (!has_keyed(contract, &table)) {
        skip();
        return;
    }
    begin(contract, NULL, true);
    assert_int_equal(rows_of(contract, INSERT, 1, "one"), 1);
    contract_close(contract, contract->conn);
    contract->conn = NULL;
    assert_int_equal(count_apart(contract, &table), 0);
    table_fini(&table);
}

static void test_lost_inside(void **state)
{
    struct contract *contract = *state;
    struct table table;
    struct answer answer = {.take = NULL};
    if (contract->fixture->break_connections == NULL || !has_keyed(contract, &table)) {
        skip();
        return;
    }
    begin(contract, NULL, true);
    assert_int_equal(rows_of(contract, INSERT, 1, "one"), 1);
    assert_true(contract->fixture->break_connections());
    contract_expect(contract, contract->adapter->commit(contract->conn, &contract->error),
                    STATUS_LOST);
    contract_close(contract, contract->conn);
    contract->conn = NULL;
    error_clear(&contract->error);
    contract_expect(contract,
                    contract->adapter->open(contract->adapter, &contract->target, &contract->conn,
                                            &contract->error),
                    STATUS_OK);
    begin(contract, NULL, true);
    assert_true(contract->fixture->break_connections());
    contract_expect(contract, run(contract, statement(INSERT), 1, "one", &answer), STATUS_LOST);
    assert_int_equal(count_apart(contract, &table), 0);
    table_fini(&table);
}

/* The database numbers the key, and continues after the keys that statements gave. */
static void test_numbered(void **state)
{
    struct contract *contract = *state;
    struct connection_info info;
    const struct column key = {.name = "id", .type = COLUMN_INT32, .is_unique = true};
    struct table table;
    char text[TEXT_BYTES];
    char sql[2 * TEXT_BYTES];
    uint64_t rows = 0;
    contract_inspect(contract, &info);
    if (contract_discards(contract) || info.declare_column == NULL ||
        !info.declare_column(&key, true, text, sizeof text)) {
        skip();
        return;
    }
    snprintf(sql, sizeof sql, "create table numbered (id %s, v int, primary key (id))%s", text,
             info.create_tail != NULL ? info.create_tail : "");
    contract_make_table(contract, "numbered", sql, &table);
    assert_true(table.columns[0].has_default);
    assert_true(table.columns[0].is_unique);
    contract_expect(contract,
                    contract_query(contract, "insert into numbered (id, v) values (7, 1)", &rows),
                    STATUS_OK);
    if (info.number_from != NULL) {
        info.number_from("numbered", "id", sql, sizeof sql);
        contract_expect(contract, sql[0] != '\0' ? contract_query(contract, sql, &rows) : STATUS_OK,
                        STATUS_OK);
    }
    for (int i = 0; i < 2; i++) {
        contract_expect(contract,
                        contract_query(contract, "insert into numbered (v) values (2)", &rows),
                        STATUS_OK);
        assert_int_equal(rows, 1);
    }
    contract_expect(contract,
                    contract_query(contract, "select id from numbered where id in (8, 9)", &rows),
                    STATUS_OK);
    assert_int_equal(rows, 2);
    table_fini(&table);
}

const struct CMUnitTest contract_transaction_tests[] = {
    cmocka_unit_test(test_long_value),
    cmocka_unit_test(test_commit_and_rollback),
    cmocka_unit_test(test_refused_inside),
    cmocka_unit_test(test_isolation),
    cmocka_unit_test(test_conflict),
    cmocka_unit_test(test_closed_inside),
    cmocka_unit_test(test_lost_inside),
    cmocka_unit_test(test_numbered),
    {0},
};
