/* Statements in slots, and conflicting transactions: the cases that test_transactions.c does not
 * cover. */
#include "contract.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/ask.h"

enum {
    ROWS = 10, /* rows of the table "keyed" */
    CELLS_MAX = 40,
    CELL_BYTES = 400
};

/* The first row that a statement returned. */
struct row {
    size_t count;
    bool is_null[CELLS_MAX];
    char texts[CELLS_MAX][CELL_BYTES];
};

static bool take_row(void *context, const struct cell *cells, size_t count)
{
    struct row *row = context;
    row->count = count;
    for (size_t i = 0; i < count && i < CELLS_MAX; i++) {
        row->is_null[i] = cells[i].is_null;
        ask_text(&cells[i], row->texts[i], CELL_BYTES);
    }
    return true;
}

/* The types of the statements' parameters. */
static struct table numbers;
static struct table number_and_text;
static struct table text_and_number;
static struct table two_texts;

static void declare(struct table *table, enum column_type first, enum column_type second)
{
    const enum column_type types[] = {first, second};
    struct error error = {0};
    if (table->column_count > 0) {
        return;
    }
    assert_int_equal(table_init(table, "parameters", &error), STATUS_OK);
    for (size_t i = 0; i < 2 && types[i] != COLUMN_UNSUPPORTED; i++) {
        const struct column column = {
            .type = types[i], .size = types[i] == COLUMN_TEXT ? 60 : 0, .is_nullable = true};
        assert_int_equal(table_add_column(table, &column, &error), STATUS_OK);
    }
}

static bool has_statements(const struct contract *contract)
{
    declare(&numbers, COLUMN_INT32, COLUMN_UNSUPPORTED);
    declare(&number_and_text, COLUMN_INT32, COLUMN_TEXT);
    declare(&text_and_number, COLUMN_TEXT, COLUMN_INT32);
    declare(&two_texts, COLUMN_TEXT, COLUMN_TEXT);
    return contract_has_rules(contract);
}

static bool can_prepare(const struct contract *contract)
{
    return has_statements(contract) && contract->adapter->prepare != NULL;
}

static bool has_transactions(const struct contract *contract)
{
    return has_statements(contract) && contract->adapter->begin != NULL;
}

/* Statements for all tests. Each connection prepares a statement when it first uses it. */
static const struct statement insert = {.sql = "insert into keyed (id, v) values (?, ?)",
                                        .name = "insert",
                                        .is_prepared = true,
                                        .slot = 1,
                                        .parameters = &number_and_text};
static const struct statement change = {.sql = "update keyed set v = ? where id = ?",
                                        .name = "change",
                                        .is_prepared = true,
                                        .slot = 2,
                                        .parameters = &text_and_number};
static const struct statement change_from = {.sql = "update keyed set v = ? where id >= ?",
                                             .is_prepared = true,
                                             .slot = 3,
                                             .parameters = &text_and_number};
static const struct statement find = {.sql = "select id, v from keyed where id = ?",
                                      .is_prepared = true,
                                      .slot = 4,
                                      .parameters = &numbers};
static const struct statement find_all = {.sql = "select * from keyed where id >= ? order by id",
                                          .is_prepared = true,
                                          .slot = 5,
                                          .parameters = &numbers};
/* Compares an id with a parameter of type text. The statement itself does not determine the type of
 * the other parameter. */
static const struct statement find_by_text = {.sql = "select id from keyed where ? is not null"
                                                     " and id = ?",
                                              .is_prepared = true,
                                              .slot = 6,
                                              .parameters = &two_texts};
static const struct statement change_as_text = {.sql = "update keyed set v = ? where id >= ?",
                                                .parameters = &text_and_number};

/* A statement and its values: a number, and a text or NULL. */
struct call {
    const struct statement *statement;
    int32_t number;
    const char *text;
    struct row *row; /* NULL if the row is not wanted */
};

static enum status run_on(const struct contract *contract, struct adapter_conn *conn,
                          const struct call *call, uint64_t *rows, struct error *error)
{
    static const uint8_t yes = 1;
    const struct text_value value = {call->text,
                                     call->text != NULL ? (uint32_t)strlen(call->text) : 0};
    const struct table *const table = call->statement->parameters;
    struct column_data columns[2] = {{.is_null = NULL}, {.is_null = NULL}};
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].type == COLUMN_TEXT) {
            columns[i].values.text = &value;
            columns[i].is_null = call->text == NULL ? &yes : NULL;
        } else {
            columns[i].values.int32 = &call->number;
        }
    }
    const struct batch batch = {.table = table, .row_count = 1, .columns = columns};
    struct answer answer = {
        .take = call->row != NULL ? take_row : NULL, .context = call->row, .rows = 99};
    const enum status status =
        contract_run(contract, conn, call->statement, &batch, &answer, error);
    *rows = answer.rows;
    return status;
}

static enum status run(struct contract *contract, const struct statement *statement, int32_t number,
                       const char *text, uint64_t *rows)
{
    const struct call call = {statement, number, text, NULL};
    return run_on(contract, contract->conn, &call, rows, &contract->error);
}

static void expect_rows(struct contract *contract, const struct statement *statement,
                        int32_t number, const char *text, uint64_t wanted)
{
    uint64_t rows = 0;
    contract_expect(contract, run(contract, statement, number, text, &rows), STATUS_OK);
    assert_int_equal(rows, wanted);
}

/* Creates keyed with rows 1 to ROWS. */
static void make_keyed(struct contract *contract)
{
    struct table table;
    contract_make_keyed(contract, &table);
    table_fini(&table);
    for (int32_t id = 1; id <= ROWS; id++) {
        expect_rows(contract, &insert, id, "as it was", 1);
    }
}

/* Checks the value that another connection reads, which is the committed value. */
static void expect_committed(struct contract *contract, int id, const char *wanted)
{
    char sql[80];
    char text[FIXTURE_TEXT_BYTES];
    snprintf(sql, sizeof sql, "select coalesce((select v from keyed where id = %d), '')", id);
    assert_true(contract->fixture->read_text(sql, text));
    assert_string_equal(text, wanted);
}

static enum status begin(struct contract *contract, struct adapter_conn *conn,
                         const char *isolation, struct error *error)
{
    const struct transaction transaction = {.isolation = isolation, .writes = true};
    return contract->adapter->begin(conn, &transaction, error);
}

static void expect_begun(struct contract *contract)
{
    contract_expect(contract, begin(contract, contract->conn, NULL, &contract->error), STATUS_OK);
}

static void expect_commit(struct contract *contract)
{
    contract_expect(contract, contract->adapter->commit(contract->conn, &contract->error),
                    STATUS_OK);
}

static void expect_rollback(struct contract *contract)
{
    error_clear(&contract->error);
    contract_expect(contract, contract->adapter->rollback(contract->conn, &contract->error),
                    STATUS_OK);
}

static void reopen(struct contract *contract)
{
    contract_close(contract, contract->conn);
    contract->conn = NULL;
    error_clear(&contract->error);
    contract_expect(contract,
                    contract->adapter->open(contract->adapter, &contract->target, &contract->conn,
                                            &contract->error),
                    STATUS_OK);
}

static void test_rows_of_statements(void **state)
{
    struct contract *contract = *state;
    struct row row = {0};
    uint64_t rows = 0;
    if (!has_statements(contract)) {
        skip();
        return;
    }
    make_keyed(contract);
    contract_expect(contract,
                    run_on(contract, contract->conn, &(struct call){&find, 3, NULL, &row}, &rows,
                           &contract->error),
                    STATUS_OK);
    assert_int_equal(rows, 1);
    assert_int_equal(row.count, 2);
    assert_string_equal(row.texts[0], "3");
    assert_string_equal(row.texts[1], "as it was");
    expect_rows(contract, &find, 99, NULL, 0);
    if (contract->fixture->needs_type) {
        contract_expect(contract, run(contract, &find_by_text, 0, "3", &rows), STATUS_REJECTED);
        assert_non_null(strstr(contract->error.text, "data type of parameter $1"));
        error_clear(&contract->error);
    } else {
        expect_rows(contract, &find_by_text, 0, "3", 1);
        expect_rows(contract, &find_by_text, 0, "99", 0);
    }
    expect_rows(contract, &find_all, 4, NULL, ROWS - 3);
    /* the number includes rows that matched but did not change */
    for (int i = 0; i < 2; i++) {
        expect_rows(contract, &change_from, 8, "it's a 'new' \\ one; ? -- $1", 3);
        expect_rows(contract, &change_as_text, 7, "\"text\" /* ? */ \\", 4);
        expect_rows(contract, &change_as_text, 7, "\"text\" /* ? */ \\", 4);
        expect_rows(contract, &change, 99, "none", 0);
    }
    expect_committed(contract, 7, "\"text\" /* ? */ \\");
    expect_rows(contract, &change, 7, NULL, 1);
    expect_committed(contract, 7, "");
    contract_expect(contract,
                    run_on(contract, contract->conn, &(struct call){&find, 7, NULL, &row}, &rows,
                           &contract->error),
                    STATUS_OK);
    assert_true(row.is_null[1] && !row.is_null[0]);
    reopen(contract);
    expect_rows(contract, &find, 7, NULL, 1);
}

static bool take_two(void *context, const struct cell *cells, size_t count)
{
    (void)cells;
    (void)count;
    return ++*(int *)context < 2;
}

static void test_rest_is_skipped(void **state)
{
    struct contract *contract = *state;
    const int32_t from = 1;
    const struct column_data column = {.values.int32 = &from};
    const struct batch batch = {.table = &numbers, .row_count = 1, .columns = &column};
    int taken = 0;
    struct answer answer = {.take = take_two, .context = &taken};
    if (!has_statements(contract)) {
        skip();
        return;
    }
    make_keyed(contract);
    contract_expect(
        contract,
        contract_run(contract, contract->conn, &find_all, &batch, &answer, &contract->error),
        STATUS_OK);
    assert_int_equal(taken, 2);
    expect_rows(contract, &find_all, 1, NULL, ROWS);
}

static void test_many_slots(void **state)
{
    enum {
        SLOTS = 300
    };
    static struct statement statements[SLOTS];
    static char texts[SLOTS][80];
    struct contract *contract = *state;
    struct row row = {0};
    uint64_t rows = 0;
    if (!can_prepare(contract)) {
        skip();
        return;
    }
    make_keyed(contract);
    for (unsigned i = 0; i < SLOTS; i++) {
        snprintf(texts[i], sizeof texts[i], "select id + %u from keyed where id = ?", 1000 * i);
        statements[i] = (struct statement){.sql = texts[i],
                                           .is_prepared = true,
                                           .slot = i < SLOTS - 1 ? i + 1 : STATEMENT_SLOTS_MAX,
                                           .parameters = &numbers};
        contract_expect(contract, contract_prepare(contract, &statements[i]), STATUS_OK);
    }
    for (unsigned i = 0; i < 2 * SLOTS; i++) {
        const unsigned number = i * 7 % SLOTS;
        char wanted[16];
        snprintf(wanted, sizeof wanted, "%u", 1000 * number + 2);
        contract_expect(contract,
                        run_on(contract, contract->conn,
                               &(struct call){&statements[number], 2, NULL, &row}, &rows,
                               &contract->error),
                        STATUS_OK);
        assert_string_equal(row.texts[0], wanted);
    }
    /* use another statement in a used slot, and then the first statement again */
    const struct statement *const both[] = {&find, &statements[3], &find};
    for (size_t i = 0; i < 3; i++) {
        contract_expect(contract,
                        run_on(contract, contract->conn, &(struct call){both[i], 2, NULL, &row},
                               &rows, &contract->error),
                        STATUS_OK);
        assert_string_equal(row.texts[0], i == 1 ? "3002" : "2");
    }
}

static void test_statements_refused(void **state)
{
    static const struct statement wrong = {.sql = "selec v from keyed where id = ?",
                                           .is_prepared = true,
                                           .slot = 9,
                                           .parameters = &numbers};
    static const struct statement untyped = {.sql = "select v from keyed where id = ? or id = ?",
                                             .is_prepared = true,
                                             .slot = 10,
                                             .parameters = &numbers};
    static const struct statement nowhere = {
        .sql = "select id from no_such_table", .is_prepared = true, .slot = 11};
    struct contract *contract = *state;
    const struct statement *const kinds[] = {
        &insert, &(struct statement){.sql = insert.sql, .parameters = insert.parameters}};
    uint64_t rows = 0;
    if (!can_prepare(contract)) {
        skip();
        return;
    }
    make_keyed(contract);
    contract_expect(contract, contract_prepare(contract, &wrong), STATUS_REJECTED);
    assert_non_null(strstr(contract->error.text, "selec"));
    error_clear(&contract->error);
    contract_expect(contract, run(contract, &wrong, 1, NULL, &rows), STATUS_REJECTED);
    error_clear(&contract->error);
    contract_expect(contract, contract_prepare(contract, &untyped), STATUS_FATAL);
    assert_int_equal(contract->error.kind, ERROR_USAGE);
    error_clear(&contract->error);
    const enum status status = contract_prepare(contract, &nowhere);
    assert_true(status == STATUS_REJECTED || status == STATUS_FATAL);
    contract_expect(contract, status, status);
    for (size_t i = 0; i < 2; i++) {
        error_clear(&contract->error);
        contract_expect(contract, run(contract, kinds[i], 3, "again", &rows), STATUS_REJECTED);
        assert_int_equal(contract->error.kind, ERROR_DUPLICATE);
    }
    error_clear(&contract->error);
    expect_rows(contract, &find, 3, NULL, 1);
    expect_rows(contract, &insert, ROWS + 1, "new", 1);
}

/* A table changes after a statement on it was prepared. */
static void test_changed_table(void **state)
{
    struct contract *contract = *state;
    struct row row = {0};
    uint64_t rows = 0;
    if (!has_statements(contract)) {
        skip();
        return;
    }
    make_keyed(contract);
    for (unsigned columns = 2; columns < 5; columns++) {
        const bool is_inside = columns == 4 && has_transactions(contract);
        char sql[80];
        row.count = 0;
        if (is_inside) {
            expect_begun(contract);
        }
        enum status status =
            run_on(contract, contract->conn, &(struct call){&find_all, 2, NULL, &row}, &rows,
                   &contract->error);
        if (is_inside && status == STATUS_REJECTED) {
            assert_int_equal(contract->error.kind, ERROR_SERIALIZATION);
            expect_rollback(contract);
            expect_begun(contract);
            status = run_on(contract, contract->conn, &(struct call){&find_all, 2, NULL, &row},
                            &rows, &contract->error);
        }
        contract_expect(contract, status, STATUS_OK);
        assert_int_equal(rows, ROWS - 1);
        assert_true(row.count == columns || (contract->fixture->keeps_columns && row.count == 2));
        if (is_inside) {
            expect_commit(contract);
        }
        snprintf(sql, sizeof sql, "alter table keyed add column c%u varchar(9)", columns);
        contract_expect(contract, contract->adapter->execute(contract->conn, sql, &contract->error),
                        STATUS_OK);
    }
}

/* The rows of an append belong to the transaction around it. */
static void test_append_inside(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t accepted = 0;
    if (!has_transactions(contract)) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    for (int i = 0; i < 2; i++) {
        const size_t rows = i == 0 ? 10 : ROW_BATCH_MAX + 10;
        expect_begun(contract);
        contract_expect(contract, contract_append(contract, &table, rows, 1, &accepted), STATUS_OK);
        expect_rollback(contract);
        assert_int_equal(contract_count(contract, &table), 0);
    }
    expect_begun(contract);
    contract_expect(contract, contract_append(contract, &table, 300, 1, &accepted), STATUS_OK);
    assert_int_equal(accepted, 300);
    assert_int_equal(contract_count(contract, &table), 300);
    expect_commit(contract);
    expect_begun(contract);
    contract_expect(contract, contract_append(contract, &table, 300, 301, &accepted), STATUS_OK);
    const enum status status = contract_append(contract, &table, 9, 300, &accepted);
    contract_expect(contract, status, STATUS_REJECTED);
    assert_int_equal(contract->error.kind, ERROR_DUPLICATE);
    expect_rollback(contract);
    assert_int_equal(contract_count(contract, &table), 300);
    table_fini(&table);
}

static struct adapter_conn *open_other(struct contract *contract)
{
    struct adapter_conn *other = NULL;
    contract_expect(
        contract,
        contract->adapter->open(contract->adapter, &contract->target, &other, &contract->error),
        STATUS_OK);
    return other;
}

struct waiter {
    struct contract *contract;
    struct adapter_conn *conn;
    enum status status;
    struct error error;
};

/* Changes the row that the other transaction has locked. */
static void *change_first_row(void *argument)
{
    struct waiter *waiter = argument;
    const struct contract *contract = waiter->contract;
    uint64_t rows;
    waiter->status = run_on(contract, waiter->conn, &(struct call){&change, 1, "other's", NULL},
                            &rows, &waiter->error);
    return NULL;
}

static void test_deadlock(void **state)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    struct contract *contract = *state;
    struct waiter waiter = {.contract = contract};
    struct error *const error = &contract->error;
    uint64_t rows = 0;
    pthread_t thread;
    if (!has_transactions(contract) || contract->fixture->locks_database) {
        skip();
        return;
    }
    make_keyed(contract);
    waiter.conn = open_other(contract);
    expect_begun(contract);
    contract_expect(contract, begin(contract, waiter.conn, NULL, error), STATUS_OK);
    expect_rows(contract, &change, 1, "mine", 1);
    contract_expect(
        contract,
        run_on(contract, waiter.conn, &(struct call){&change, 2, "other's", NULL}, &rows, error),
        STATUS_OK);
    assert_int_equal(pthread_create(&thread, NULL, change_first_row, &waiter), 0);
    nanosleep(&pause, NULL);
    const enum status status = run(contract, &change, 2, "mine", &rows);
    const struct error mine = *error;
    const enum status ended = status == STATUS_OK
                                  ? contract->adapter->commit(contract->conn, error)
                                  : contract->adapter->rollback(contract->conn, &contract->error);
    pthread_join(thread, NULL);
    const bool is_mine = status != STATUS_OK;
    const struct error *const victim = is_mine ? &mine : &waiter.error;
    print_message("%s %s: %s\n", error_kind_name(victim->kind), victim->sqlstate, victim->text);
    assert_int_equal(ended, STATUS_OK);
    assert_int_equal(is_mine ? status : waiter.status, STATUS_REJECTED);
    assert_int_equal(is_mine ? waiter.status : status, STATUS_OK);
    assert_int_equal(victim->kind, ERROR_DEADLOCK);
    assert_true(error_is_transient(victim));
    error_clear(error);
    contract_expect(contract,
                    is_mine ? contract->adapter->commit(waiter.conn, error)
                            : contract->adapter->rollback(waiter.conn, error),
                    STATUS_OK);
    contract_close(contract, waiter.conn);
    expect_committed(contract, 1, is_mine ? "other's" : "mine");
    expect_committed(contract, 2, is_mine ? "other's" : "mine");
}

static void test_serialization(void **state)
{
    struct contract *contract = *state;
    struct error *const error = &contract->error;
    uint64_t rows = 0;
    if (!has_transactions(contract) || !contract->fixture->sees_conflicts) {
        skip();
        return;
    }
    make_keyed(contract);
    struct adapter_conn *const other = open_other(contract);
    contract_expect(contract, begin(contract, contract->conn, "repeatable read", error), STATUS_OK);
    expect_rows(contract, &find, 1, NULL, 1);
    contract_expect(
        contract,
        run_on(contract, other, &(struct call){&change, 1, "other's", NULL}, &rows, error),
        STATUS_OK);
    contract_expect(contract, run(contract, &change, 1, "mine", &rows), STATUS_REJECTED);
    assert_int_equal(error->kind, ERROR_SERIALIZATION);
    assert_true(error_is_transient(error));
    expect_rollback(contract);
    expect_committed(contract, 1, "other's");
    contract_close(contract, other);
}

/* A table with a column of every type, as a script can declare it. */
struct declared {
    struct table table;
    char create[4096];
};

static void declare_all(const struct connection_info *info, struct declared *declared)
{
    struct error error = {0};
    size_t used =
        (size_t)snprintf(declared->create, sizeof declared->create, "create table declared (");
    assert_int_equal(table_init(&declared->table, "declared", &error), STATUS_OK);
    for (int type = COLUMN_BOOL; type < COLUMN_TYPE_COUNT; type++) {
        const bool has_time = type == COLUMN_TIME || type == COLUMN_TIMESTAMP;
        struct column column = {.type = (enum column_type)type,
                                .scale = has_time ? 6 : (type == COLUMN_DECIMAL ? 3 : 0),
                                .precision = type == COLUMN_DECIMAL ? 12 : 0,
                                .size = type == COLUMN_TEXT ? 50 : 0,
                                .is_nullable = type != COLUMN_INT32};
        char text[200];
        snprintf(column.name, sizeof column.name, "c%d", type);
        snprintf(column.type_name, sizeof column.type_name, "%s",
                 type == COLUMN_TEXT ? "text(50)" : "");
        if (!info->declare_column(&column, false, text, sizeof text)) {
            continue;
        }
        assert_int_equal(strstr(text, "not null") == NULL && strstr(text, "NOT NULL") == NULL,
                         column.is_nullable);
        assert_int_equal(table_add_column(&declared->table, &column, &error), STATUS_OK);
        used += (size_t)snprintf(declared->create + used, sizeof declared->create - used, "%s%s %s",
                                 declared->table.column_count > 1 ? ", " : "", column.name, text);
    }
    snprintf(declared->create + used, sizeof declared->create - used, ")%s",
             info->create_tail != NULL ? info->create_tail : "");
}

static void append_batch(struct contract *contract, const struct batch *batch)
{
    const struct adapter *const adapter = contract->adapter;
    uint64_t accepted = 0;
    contract_expect(contract, adapter->append_open(contract->conn, batch->table, &contract->error),
                    STATUS_OK);
    contract_expect(contract,
                    adapter->append_rows(contract->conn, batch, &accepted, &contract->error),
                    STATUS_OK);
    contract_expect(contract, adapter->append_close(contract->conn, &accepted, &contract->error),
                    STATUS_OK);
    assert_int_equal(accepted, 1);
}

/* Reads the only row of the table with `statement`. */
static void read_row(struct contract *contract, const struct statement *statement, struct row *row)
{
    struct answer answer = {.take = take_row, .context = row};
    contract_expect(
        contract,
        contract_run(contract, contract->conn, statement, NULL, &answer, &contract->error),
        STATUS_OK);
    assert_int_equal(answer.rows, 1);
}

/* Values that a prepared statement sent are read back like appended values, by a prepared statement
 * and by a statement sent as text. A statement that compares all columns with these values finds
 * the row. */
static void test_declared_types(void **state)
{
    static struct declared declared;
    static char insert_sql[400], find_sql[800], all_sql[] = "select * from declared";
    static const struct statement put = {
        .sql = insert_sql, .is_prepared = true, .slot = 1, .parameters = &declared.table};
    static const struct statement match = {
        .sql = find_sql, .is_prepared = true, .slot = 2, .parameters = &declared.table};
    static const struct statement prepared = {.sql = all_sql, .is_prepared = true, .slot = 3};
    static const struct statement as_text = {.sql = all_sql};
    static struct row rows[2], appended;
    struct contract *contract = *state;
    struct connection_info info;
    struct table table;
    contract_inspect(contract, &info);
    if (!has_statements(contract) || info.declare_column == NULL) {
        skip();
        return;
    }
    declare_all(&info, &declared);
    contract_make_table(contract, "declared", declared.create, &table);
    const size_t count = table.column_count;
    assert_int_equal(count, declared.table.column_count);
    size_t used = (size_t)snprintf(insert_sql, sizeof insert_sql, "insert into declared values (?");
    size_t tests =
        (size_t)snprintf(find_sql, sizeof find_sql, "select 1 from declared where 1 = 1");
    for (size_t i = 0; i < count; i++) {
        const enum column_type type = declared.table.columns[i].type;
        assert_int_equal(table.columns[i].type, type);
        assert_int_equal(table.columns[i].is_nullable, declared.table.columns[i].is_nullable);
        used += (size_t)snprintf(insert_sql + used, sizeof insert_sql - used, i == 0 ? "" : ", ?");
        /* values of JSON and of floats of 32 bits cannot be compared for equality */
        const char *const any_value = contract->fixture->needs_type
                                          ? " and (cast(? as text) is null or 1 = 1)"
                                          : " and (? is null or 1 = 1)";
        const bool is_any = type == COLUMN_JSON || type == COLUMN_FLOAT32;
        tests +=
            (size_t)(is_any ? snprintf(find_sql + tests, sizeof find_sql - tests, "%s", any_value)
                            : snprintf(find_sql + tests, sizeof find_sql - tests, " and %s = ?",
                                       declared.table.columns[i].name));
    }
    snprintf(insert_sql + used, sizeof insert_sql - used, ")");
    for (int pass = 0; pass < SAMPLE_COUNT + 1; pass++) {
        const bool has_nulls = pass == SAMPLE_COUNT;
        struct samples *samples = samples_create(&declared.table, SAMPLE_COUNT, 0, has_nulls);
        struct column_data columns[COLUMN_TYPE_COUNT];
        struct batch batch = *samples_batch(samples);
        samples_pick(samples, (size_t)(has_nulls ? 0 : pass), columns);
        batch.row_count = 1;
        batch.columns = columns;
        uint64_t gone = 0;
        contract_expect(contract, contract_query(contract, "delete from declared", &gone),
                        STATUS_OK);
        batch.table = &table;
        append_batch(contract, &batch);
        read_row(contract, &as_text, &appended);
        contract_expect(contract, contract_query(contract, "delete from declared", &gone),
                        STATUS_OK);
        assert_int_equal(gone, 1);
        batch.table = &declared.table;
        struct answer answer = {.take = NULL};
        contract_expect(
            contract,
            contract_run(contract, contract->conn, &put, &batch, &answer, &contract->error),
            STATUS_OK);
        assert_int_equal(answer.rows, 1);
        for (size_t i = 0; i < 2; i++) {
            read_row(contract, i == 0 ? &prepared : &as_text, &rows[i]);
            assert_int_equal(rows[i].count, count);
        }
        for (size_t i = 0; i < count; i++) {
            const enum column_type type = declared.table.columns[i].type;
            assert_int_equal(rows[0].is_null[i],
                             has_nulls && declared.table.columns[i].is_nullable);
            assert_int_equal(rows[0].is_null[i], rows[1].is_null[i]);
            assert_int_equal(rows[0].is_null[i], appended.is_null[i]);
            assert_string_equal(rows[1].texts[i], appended.texts[i]);
            if (type == COLUMN_FLOAT32) {
                const double wanted = (double)columns[i].values.float32[0];
                const double most = contract->fixture->truncates_floats ? fabs(wanted) * 1e-5 : 0;
                assert_true(fabs((double)strtof(rows[0].texts[i], NULL) - wanted) <= most ||
                            rows[0].is_null[i]);
            } else if (type != COLUMN_FLOAT64 ||
                       strtod(rows[0].texts[i], NULL) != columns[i].values.float64[0]) {
                assert_string_equal(rows[0].texts[i], rows[1].texts[i]);
            }
        }
        answer = (struct answer){.take = NULL};
        contract_expect(
            contract,
            contract_run(contract, contract->conn, &match, &batch, &answer, &contract->error),
            STATUS_OK);
        assert_int_equal(answer.rows, has_nulls ? 0 : 1);
        samples_destroy(samples);
    }
    table_fini(&table);
    table_fini(&declared.table);
}

/* Prepared and unprepared statements return the same text. */
static void test_read_both_ways(void **state)
{
    static const struct statement prepared = {.sql = "select * from every_type where id = ?",
                                              .is_prepared = true,
                                              .slot = 7,
                                              .parameters = &numbers};
    static const struct statement as_text = {.sql = "select * from every_type where id = ?",
                                             .parameters = &numbers};
    static struct row rows[2];
    struct contract *contract = *state;
    struct table table;
    uint64_t count = 0;
    if (!has_statements(contract) || contract->fixture->every_type_sql == NULL) {
        skip();
        return;
    }
    contract_make_table(contract, "every_type", contract->fixture->every_type_sql, &table);
    contract_expect(contract, contract_append(contract, &table, SAMPLE_COUNT, 0, &count),
                    STATUS_OK);
    for (int32_t id = 0; id < SAMPLE_COUNT; id++) {
        for (size_t i = 0; i < 2; i++) {
            const struct call call = {i == 0 ? &prepared : &as_text, id, NULL, &rows[i]};
            contract_expect(contract,
                            run_on(contract, contract->conn, &call, &count, &contract->error),
                            STATUS_OK);
            assert_int_equal(rows[i].count, table.column_count);
        }
        for (size_t i = 0; i < table.column_count; i++) {
            const enum column_type type = table.columns[i].type;
            if (type != COLUMN_FLOAT32 && type != COLUMN_FLOAT64) {
                assert_string_equal(rows[0].texts[i], rows[1].texts[i]);
            }
        }
    }
    table_fini(&table);
}

static bool is_in(const char *text, const char *a, const char *b)
{
    return strcasestr(text, a) != NULL || strcasestr(text, b) != NULL;
}

static void test_declared_sizes(void **state)
{
    static const struct {
        struct column column;
        const char *parts[2]; /* the declaration contains one of these texts */
    } cases[] = {
        {{.type = COLUMN_TEXT, .size = 255, .type_name = "text(255)"}, {"varchar(255)", "varchar"}},
        {{.type = COLUMN_TEXT, .size = 120, .type_name = "char(120)"}, {"char(120)", "text"}},
        {{.type = COLUMN_TEXT, .type_name = "text"}, {"text", "clob"}},
        {{.type = COLUMN_DECIMAL, .precision = 9, .scale = 2}, {"(9,2)", "(9, 2)"}},
    };
    struct contract *contract = *state;
    struct connection_info info;
    contract_inspect(contract, &info);
    if (!has_statements(contract) || info.declare_column == NULL) {
        skip();
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200] = "";
        char create[300];
        struct table table;
        assert_true(info.declare_column(&cases[i].column, false, text, sizeof text));
        if (!is_in(text, cases[i].parts[0], cases[i].parts[1])) {
            fail_msg("%s: %s", cases[i].column.type_name, text);
        }
        snprintf(create, sizeof create, "create table sized (c %s)%s", text,
                 info.create_tail != NULL ? info.create_tail : "");
        contract_make_table(contract, "sized", create, &table);
        assert_int_equal(table.columns[0].type, cases[i].column.type);
        assert_false(table.columns[0].is_nullable);
        if (cases[i].column.size > 0) {
            assert_int_equal(table.columns[0].size, cases[i].column.size);
        }
        table_fini(&table);
    }
}

const struct CMUnitTest contract_statement_tests[] = {
    cmocka_unit_test(test_rows_of_statements), cmocka_unit_test(test_rest_is_skipped),
    cmocka_unit_test(test_many_slots),         cmocka_unit_test(test_statements_refused),
    cmocka_unit_test(test_changed_table),      cmocka_unit_test(test_append_inside),
    cmocka_unit_test(test_deadlock),           cmocka_unit_test(test_serialization),
    cmocka_unit_test(test_declared_types),     cmocka_unit_test(test_read_both_ways),
    cmocka_unit_test(test_declared_sizes),     {0},
};
