/* Queries whose results are numbers, read row by row. */
#include "base/ask.h"
#include "contract.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    KEYS = 1500,
    MANY = 200 * KEYS
};

/* The number of rows to take from an answer, and the rows taken so far. */
struct taken {
    struct contract *contract;
    uint64_t rows;
    uint64_t wanted;   /* rows until take returns false; 0 = all */
    uint64_t break_at; /* the row at which the connection is broken; 0 = never */
    int64_t sums[2];
    int64_t last[2];
};

static bool take(void *context, const int64_t *values)
{
    struct taken *taken = context;
    taken->rows++;
    for (size_t i = 0; i < 2; i++) {
        taken->sums[i] = (int64_t)((uint64_t)taken->sums[i] + (uint64_t)values[i]);
        taken->last[i] = values[i];
    }
    if (taken->rows == taken->break_at) {
        taken->contract->fixture->break_connections();
    }
    return taken->rows != taken->wanted;
}

static enum status read_two(struct contract *contract, const char *sql, struct taken *taken)
{
    error_clear(&contract->error);
    taken->contract = contract;
    const struct ask_numbers numbers = {2, take, taken};
    return ask_numbers(contract->adapter, contract->conn, sql, &numbers, &contract->error);
}

/* Checks that the connection still works. */
static void expect_usable(struct contract *contract)
{
    struct taken taken = {0};
    const char *sql = contract->fixture->usable_sql;
    contract_expect(contract,
                    read_two(contract,
                             sql != NULL ? sql : contract_translate(contract, "select 11, -12"),
                             &taken),
                    STATUS_OK);
    assert_int_equal(taken.rows, 1);
    assert_int_equal(taken.last[0], 11);
    assert_int_equal(taken.last[1], -12);
}

static bool has_statements(const struct contract *contract)
{
    return contract_has_rules(contract) || contract->fixture->takes_parameters;
}

/* Creates the table "numbers". Returns false if the database cannot hold the table. */
static bool make_numbers(struct contract *contract)
{
    struct table table;
    const char *const insert_sql = contract_translate(
        contract, "insert into numbers values (1, -32768, -9223372036854775808, '7'),"
                  " (2, 32767, 9223372036854775807, 'x'), (3, 0, 0, ''), (4, 5, null, '1.5'),"
                  " (5, 6, 7, '9223372036854775808')");
    if (!has_statements(contract) || insert_sql == NULL) {
        return false;
    }
    const char *own = contract->fixture->numbers_sql;
    contract_make_table(
        contract, "numbers",
        own != NULL ? own
                    : "create table numbers (id int, small smallint, big bigint, word varchar(40))",
        &table);
    table_fini(&table);
    contract_expect(contract,
                    contract->adapter->execute(contract->conn, insert_sql, &contract->error),
                    STATUS_OK);
    return true;
}

static void test_numbers(void **state)
{
    static const int64_t wanted[][2] = {{-32768, INT64_MIN}, {32767, INT64_MAX}, {0, 0}};
    struct contract *contract = *state;
    if (!make_numbers(contract)) {
        skip();
        return;
    }
    for (int id = 1; id <= 3; id++) {
        char sql[80];
        struct taken taken = {0};
        snprintf(sql, sizeof sql, "select small, big from numbers where id = %d", id);
        contract_expect(contract, read_two(contract, sql, &taken), STATUS_OK);
        assert_int_equal(taken.rows, 1);
        assert_true(taken.last[0] == wanted[id - 1][0] && taken.last[1] == wanted[id - 1][1]);
    }
    struct taken none = {0};
    contract_expect(contract,
                    read_two(contract, "select small, big from numbers where id > 99", &none),
                    STATUS_OK);
    assert_int_equal(none.rows, 0);
}

static void test_numbers_refused(void **state)
{
    static const struct {
        const char *sql;
        const char *text; /* words in the error */
    } cases[] = {
        {"select id, big from numbers where id >= 3 order by id", "NULL"},
        {"select id, word from numbers where id = 2", "not a whole number: x"},
        {"select id, word from numbers where id = 3", "not a whole number"},
        {"select id, word from numbers where id = 4", "not a whole number: 1.5"},
        {"select id, word from numbers where id = 5", "not a whole number: 9223372036854775808"},
        {"select id from numbers", "columns: 1 instead of 2"},
        {"select id, small, big from numbers", "columns: 3 instead of 2"},
    };
    struct contract *contract = *state;
    if (!make_numbers(contract)) {
        skip();
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = {0};
        contract_expect(contract, read_two(contract, cases[i].sql, &taken), STATUS_REJECTED);
        assert_int_equal(contract->error.kind, ERROR_DATA);
        if (strstr(contract->error.text, cases[i].text) == NULL) {
            fail_msg("%s: %s", cases[i].sql, contract->error.text);
        }
        assert_int_equal(taken.rows, i == 0 ? 1 : 0);
        expect_usable(contract);
    }
}

static void test_numbers_failed_sql(void **state)
{
    struct contract *contract = *state;
    struct taken taken = {0};
    const char *sql = contract_translate(contract, "select id, id from no_such_table");
    if (contract_discards(contract) || sql == NULL) {
        skip();
        return;
    }
    const enum status status = read_two(contract, sql, &taken);
    assert_true(status == STATUS_REJECTED || status == STATUS_FATAL);
    contract_expect(contract, status, status);
    assert_int_equal(taken.rows, 0);
    expect_usable(contract);
}

/* Reads the numbers of rows that were appended. */
static void test_numbers_of_rows(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted = 0;
    struct taken taken = {0};
    struct taken few = {.wanted = 3500};
    struct taken nothing = {0};
    const char *const both = contract_translate(contract, "select id, id from keyed");
    if (contract_discards(contract) || both == NULL) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    contract_expect(contract, contract_append(contract, &table, 7000, 0, &accepted), STATUS_OK);
    contract_expect(contract, read_two(contract, both, &taken), STATUS_OK);
    assert_int_equal(taken.rows, 7000);
    assert_int_equal(taken.sums[0], 7000 * 6999 / 2);
    contract_expect(contract, read_two(contract, both, &few), STATUS_OK);
    assert_int_equal(few.rows, 3500);
    expect_usable(contract);
    for (int id = 0; id < 2; id++) {
        char sql[64];
        snprintf(sql, sizeof sql, "select id, v from keyed where id = %d", id);
        contract_expect(contract, read_two(contract, contract_translate(contract, sql), &nothing),
                        STATUS_REJECTED);
        const bool is_null = id == 1 && contract->fixture->has_no_empty_text;
        assert_non_null(strstr(contract->error.text, is_null ? "NULL" : "not a whole number"));
    }
    contract_expect(
        contract,
        read_two(contract, contract_translate(contract, "select id from keyed"), &nothing),
        STATUS_REJECTED);
    assert_non_null(strstr(contract->error.text, "columns: 1 instead of 2"));
    assert_int_equal(nothing.rows, 0);
    expect_usable(contract);
    if (contract->fixture->break_connections != NULL) {
        assert_true(contract->fixture->break_connections());
        contract_expect(contract, read_two(contract, both, &nothing),
                        contract->fixture->reconnects_idle ? STATUS_OK : STATUS_LOST);
    }
    table_fini(&table);
}

/* The values of a row with two values, and the number of rows. */
struct row {
    unsigned rows;
    char text[16];
    bool is_null;
    int64_t number;
};

static bool take_row(void *context, const struct cell *cells, size_t count)
{
    struct row *row = context;
    row->rows++;
    if (count == 2) {
        ask_text(&cells[0], row->text, sizeof row->text);
        row->is_null = cells[0].is_null;
        row->number = ask_number(&cells[1]);
    }
    return true;
}

/* Parameters are a number, a text that needs escaping, and NULL. A ? within quotes is not a
 * parameter. */
static void test_parameters(void **state)
{
    struct contract *contract = *state;
    const char *const insert_sql =
        contract_translate(contract, "insert into keyed (v, id) values (?, ?)");
    const char *const select_sql =
        contract_translate(contract, "select v, id from keyed where id = ? and '?' <> 'x'");
    static const struct text_value text = {"a'b\\c?", 6};
    static const int32_t ids[] = {7, 8};
    static const uint8_t no_null = 0;
    static const uint8_t null = 1;
    const struct statement statements[] = {{.sql = insert_sql},
                                           {.sql = insert_sql, .is_prepared = true},
                                           {.sql = select_sql, .is_prepared = true}};
    struct column columns[] = {{.name = "v", .type = COLUMN_TEXT},
                               {.name = "id", .type = COLUMN_INT32}};
    const struct table both = {.column_count = 2, .columns = columns};
    const struct table id = {.column_count = 1, .columns = columns + 1};
    struct table table;
    if (!has_statements(contract) || insert_sql == NULL || select_sql == NULL) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    table_fini(&table);
    for (size_t i = 0; i < 2; i++) {
        const struct column_data data[] = {
            {.values.text = &text, .is_null = i == 0 ? &no_null : &null},
            {.values.int32 = &ids[i]}};
        const struct batch batch = {.table = &both, .row_count = 1, .columns = data};
        struct answer answer = {.take = NULL};
        contract_expect(contract,
                        contract_run(contract, contract->conn, &statements[i], &batch, &answer,
                                     &contract->error),
                        STATUS_OK);
    }
    for (size_t i = 0; i < 6; i++) {
        const struct column_data data = {.values.int32 = &ids[i % 2]};
        const struct batch batch = {.table = &id, .row_count = 1, .columns = &data};
        struct row row = {0};
        struct answer answer = {.take = take_row, .context = &row};
        contract_expect(contract,
                        contract_run(contract, contract->conn, &statements[2], &batch, &answer,
                                     &contract->error),
                        STATUS_OK);
        assert_int_equal(row.rows, 1);
        assert_int_equal(answer.rows, 1);
        assert_int_equal(row.number, ids[i % 2]);
        assert_int_equal(row.is_null, i % 2 == 1);
        assert_string_equal(row.text, i % 2 == 0 ? "a'b\\c?" : "");
    }
}

static const char many_sql[] = "select a.id, b.id from keyed a, keyed b where a.id < 200";

/* More rows than fit into all buffers between server and client. */
static const char more_sql[] = "select a.id, b.id from keyed a, keyed b";

static void make_many(struct contract *contract, struct table *table)
{
    uint64_t accepted = 0;
    contract_make_keyed(contract, table);
    contract_expect(contract, contract_append(contract, table, KEYS, 0, &accepted), STATUS_OK);
}

static void test_numbers_many(void **state)
{
    struct contract *contract = *state;
    struct taken taken = {0};
    struct table table;
    if (!contract_has_rules(contract)) {
        skip();
        return;
    }
    make_many(contract, &table);
    contract_expect(contract, read_two(contract, many_sql, &taken), STATUS_OK);
    assert_int_equal(taken.rows, MANY);
    assert_int_equal(taken.sums[0], (int64_t)KEYS * 199 * 200 / 2);
    assert_int_equal(taken.sums[1], (int64_t)200 * KEYS * (KEYS - 1) / 2);

    for (uint64_t wanted = 1; wanted <= 20000; wanted += 19999) {
        struct taken few = {.wanted = wanted};
        contract_expect(contract, read_two(contract, many_sql, &few), STATUS_OK);
        assert_int_equal(few.rows, wanted);
        expect_usable(contract);
        assert_int_equal(contract_count(contract, &table), KEYS);
        expect_usable(contract);
    }
    table_fini(&table);
}

static void test_numbers_broken(void **state)
{
    struct contract *contract = *state;
    struct taken taken = {.break_at = 1};
    struct table table;
    if (!contract_has_rules(contract) || contract->fixture->break_connections == NULL) {
        skip();
        return;
    }
    make_many(contract, &table);
    table_fini(&table);
    if (!contract->fixture->holds_results) {
        contract_expect(contract, read_two(contract, more_sql, &taken), STATUS_LOST);
        assert_int_equal(contract->error.kind, ERROR_CONNECTION);
        assert_true(taken.rows >= 1 && taken.rows < KEYS * KEYS);
        contract_close(contract, contract->conn);
        error_clear(&contract->error);
        contract_expect(contract,
                        contract->adapter->open(contract->adapter, &contract->target,
                                                &contract->conn, &contract->error),
                        STATUS_OK);
    }
    assert_true(contract->fixture->break_connections());
    contract_expect(contract, read_two(contract, many_sql, &(struct taken){0}),
                    contract->fixture->reconnects_idle ? STATUS_OK : STATUS_LOST);
}

static void *interrupt_soon(void *argument)
{
    const struct contract *contract = argument;
    const struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    contract->adapter->interrupt(contract->conn);
    return NULL;
}

static void test_numbers_interrupted(void **state)
{
    struct contract *contract = *state;
    struct taken taken = {0};
    pthread_t thread;
    if (contract->adapter->interrupt == NULL || contract->fixture->endless_sql == NULL) {
        skip();
        return;
    }
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, contract), 0);
    error_clear(&contract->error);
    const struct ask_numbers numbers = {1, take, &taken};
    const enum status status =
        ask_numbers(contract->adapter, contract->conn, contract->fixture->endless_sql, &numbers,
                    &contract->error);
    pthread_join(thread, NULL);
    contract_expect(contract, status, STATUS_LOST);
    assert_int_equal(taken.rows, 0);
}

const struct CMUnitTest contract_numbers_tests[] = {
    cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_numbers_refused),
    cmocka_unit_test(test_numbers_failed_sql),
    cmocka_unit_test(test_numbers_of_rows),
    cmocka_unit_test(test_parameters),
    cmocka_unit_test(test_numbers_many),
    cmocka_unit_test(test_numbers_broken),
    cmocka_unit_test(test_numbers_interrupted),
    {0},
};
