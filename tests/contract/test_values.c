/* Values are compared with the values that the database itself reads back. */
#include "contract.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static size_t column_index(const struct table *table, const char *name)
{
    size_t i = 0;
    while (i < table->column_count && strcasecmp(table->columns[i].name, name) != 0) {
        i++;
    }
    assert_true(i < table->column_count);
    return i;
}

static const char *own_text(const struct samples *samples, size_t column, size_t row, char *text)
{
    const struct text_value value = samples_text(samples, column, row);
    if (samples_batch(samples)->table->columns[column].type != COLUMN_BYTES) {
        memcpy(text, value.bytes, value.length);
        text[value.length] = '\0';
        return text;
    }
    for (size_t i = 0; i < value.length; i++) {
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(unsigned char)value.bytes[i]);
    }
    text[(size_t)2 * value.length] = '\0';
    return text;
}

static void check_case(struct contract *contract, const struct samples *samples,
                       const struct value_case *one, size_t row)
{
    static char text[FIXTURE_TEXT_BYTES];
    static char own[FIXTURE_TEXT_BYTES];
    const struct table *table = samples_batch(samples)->table;
    const size_t column = column_index(table, one->column);
    char sql[256];
    const char *wanted = one->expected[row];

    assert_int_equal(table->columns[column].type, one->type);
    if (wanted == NULL) {
        wanted = own_text(samples, column, row, own);
    }
    snprintf(sql, sizeof sql, "select %s from every_type where id = %zu", one->expression, row);
    assert_true(contract->fixture->read_text(sql, text));
    if (strcmp(text, wanted) != 0) {
        fail_msg("%s, sample %zu: %.100s instead of %.100s", one->column, row, text, wanted);
    }
}

static void append_samples(struct contract *contract, const struct table *table,
                           const struct samples *samples)
{
    uint64_t accepted = 0;
    contract_expect(contract,
                    contract->adapter->append_open(contract->conn, table, &contract->error),
                    STATUS_OK);
    contract_expect(contract,
                    contract->adapter->append_rows(contract->conn, samples_batch(samples),
                                                   &accepted, &contract->error),
                    STATUS_OK);
    contract_expect(contract,
                    contract->adapter->append_close(contract->conn, &accepted, &contract->error),
                    STATUS_OK);
    assert_int_equal(accepted, samples_batch(samples)->row_count);
}

static void test_every_type(void **state)
{
    struct contract *contract = *state;
    struct table table;
    if (contract->fixture->cases == NULL) {
        skip();
        return;
    }
    contract_make_table(contract, "every_type", contract->fixture->every_type_sql, &table);
    assert_int_equal(table.column_count,
                     contract->fixture->case_count + 1 + (contract->fixture->time != NULL));
    struct samples *samples = samples_create(&table, SAMPLE_COUNT, 0, false);
    append_samples(contract, &table, samples);
    for (size_t i = 0; i < contract->fixture->case_count; i++) {
        for (size_t row = 0; row < SAMPLE_COUNT; row++) {
            check_case(contract, samples, &contract->fixture->cases[i], row);
        }
    }
    samples_destroy(samples);
    table_fini(&table);
}

/* A prepared statement and a statement sent as text write the same rows. */
static void test_every_type_by_statement(void **state)
{
    enum {
        COLUMNS_MAX = 64
    };
    static struct table table;
    static char sql[400];
    static const struct statement kinds[] = {
        {.sql = sql, .is_prepared = true, .slot = 1, .parameters = &table},
        {.sql = sql, .parameters = &table}};
    struct contract *contract = *state;
    if (contract->fixture->every_type_sql == NULL || contract->adapter->prepare == NULL) {
        skip();
        return;
    }
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        contract_make_table(contract, "every_type", contract->fixture->every_type_sql, &table);
        size_t used = (size_t)snprintf(sql, sizeof sql, "insert into every_type values (?");
        for (size_t i = 1; i < table.column_count; i++) {
            used += (size_t)snprintf(sql + used, sizeof sql - used, ", ?");
        }
        snprintf(sql + used, sizeof sql - used, ")");
        struct samples *samples = samples_create(&table, SAMPLE_COUNT, 0, false);
        for (size_t row = 0; row < SAMPLE_COUNT; row++) {
            struct column_data columns[COLUMNS_MAX];
            const struct batch batch = {.table = &table, .row_count = 1, .columns = columns};
            struct answer answer = {.take = NULL};
            assert_true(table.column_count <= COLUMNS_MAX);
            samples_pick(samples, row, columns);
            contract_expect(contract,
                            contract_run(contract, contract->conn, &kinds[kind], &batch, &answer,
                                         &contract->error),
                            STATUS_OK);
            assert_int_equal(answer.rows, 1);
            for (size_t i = 0; i < contract->fixture->case_count; i++) {
                check_case(contract, samples, &contract->fixture->cases[i], row);
            }
        }
        samples_destroy(samples);
        table_fini(&table);
        contract_teardown(state);
        assert_int_equal(contract_setup(state), 0); /* the statement has changed */
    }
}

static void test_nulls(void **state)
{
    struct contract *contract = *state;
    struct table table;
    char sql[512];
    char text[FIXTURE_TEXT_BYTES];
    if (contract->fixture->cases == NULL) {
        skip();
        return;
    }
    contract_make_table(contract, "every_type", contract->fixture->every_type_sql, &table);
    struct samples *samples = samples_create(&table, SAMPLE_COUNT, 0, true);
    append_samples(contract, &table, samples);
    samples_destroy(samples);
    for (size_t i = 0; i < table.column_count; i++) {
        snprintf(sql, sizeof sql, "select count(%s) from every_type", table.columns[i].name);
        assert_true(contract->fixture->read_text(sql, text));
        assert_string_equal(text, table.columns[i].is_nullable ? "0" : "4");
    }
    table_fini(&table);
}

const struct CMUnitTest contract_value_tests[] = {
    cmocka_unit_test(test_every_type),
    cmocka_unit_test(test_every_type_by_statement),
    cmocka_unit_test(test_nulls),
    {0},
};
