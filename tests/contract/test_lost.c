/* Connections that are lost at various steps. */
#include "contract.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum step {
    STEP_OPENED,
    STEP_APPEND_OPENED,
    STEP_ROWS_SENT,
    STEP_MANY_ROWS_SENT,
    STEP_BETWEEN,
    STEP_BEFORE_COUNT,
    STEP_COUNT,
};

static enum status send_rows(struct contract *contract, const struct table *table, int batches)
{
    struct samples *samples = samples_create(table, ROW_BATCH_MAX, 0, false);
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < batches; i++) {
        status = contract->adapter->append_rows(contract->conn, samples_batch(samples),
                                                &(uint64_t){0}, &contract->error);
    }
    samples_destroy(samples);
    return status;
}

/* Works up to a step, breaks the connection there, and goes on until a call reports the loss. Adds
 * the acknowledged rows to *kept. */
static enum status break_at(struct contract *contract, const struct table *table, enum step step,
                            uint64_t *kept)
{
    const struct adapter *adapter = contract->adapter;
    enum status status = STATUS_OK;
    uint64_t accepted = 0;
    uint64_t rows = 0;

    if (step == STEP_BETWEEN) {
        status = contract_append(contract, table, 10, 0, &accepted);
        *kept += accepted;
    }
    if (step == STEP_BEFORE_COUNT) {
        status = contract_ask_count(contract, table, &rows);
    }
    if (step == STEP_APPEND_OPENED || step == STEP_ROWS_SENT || step == STEP_MANY_ROWS_SENT) {
        status = adapter->append_open(contract->conn, table, &contract->error);
    }
    if (step == STEP_ROWS_SENT || step == STEP_MANY_ROWS_SENT) {
        status = send_rows(contract, table, 1);
    }
    contract_expect(contract, status, STATUS_OK);
    assert_true(contract->fixture->break_connections());

    if (step == STEP_BEFORE_COUNT) {
        return contract_ask_count(contract, table, &rows);
    }
    if (step == STEP_OPENED || step == STEP_BETWEEN) {
        status = contract_append(contract, table, 10, 0, &accepted);
        *kept += accepted;
        return status;
    }
    if (step == STEP_APPEND_OPENED && contract->fixture->opens_silently) {
        status = send_rows(contract, table, 1);
    }
    if (step == STEP_MANY_ROWS_SENT) {
        status = send_rows(contract, table, 200);
    }
    if (status == STATUS_OK) {
        status = adapter->append_close(contract->conn, &accepted, &contract->error);
    }
    *kept += accepted;
    return status;
}

static void test_broken_at_each_step(void **state)
{
    struct contract *contract = *state;
    struct table table;
    uint64_t kept = 0;
    if (contract->fixture->break_connections == NULL) {
        skip();
        return;
    }
    contract_make_syslog(contract, &table);
    for (int step = 0; step < STEP_COUNT; step++) {
        error_clear(&contract->error);
        const enum status status = break_at(contract, &table, (enum step)step, &kept);
        if (contract->fixture->reconnects_idle) {
            contract_expect(contract, status, STATUS_OK);
            continue;
        }
        print_message("step %d: %s %s: %s\n", step, error_kind_name(contract->error.kind),
                      contract->error.sqlstate, contract->error.text);
        contract_expect(contract, status, STATUS_LOST);
        assert_int_equal(contract->error.kind, ERROR_CONNECTION);
        if (contract->fixture->broken_sqlstate != NULL) {
            assert_string_equal(contract->error.sqlstate, contract->fixture->broken_sqlstate);
        }
        contract_close(contract, contract->conn);
        error_clear(&contract->error);
        contract_expect(contract,
                        contract->adapter->open(contract->adapter, &contract->target,
                                                &contract->conn, &contract->error),
                        STATUS_OK);
    }
    const uint64_t rows = contract_count(contract, &table);
    assert_true(kept == 10 || contract->fixture->reconnects_idle);
    assert_true(rows == kept || (contract->fixture->has_no_rollback && rows > kept));
    table_fini(&table);
}

struct interrupter {
    const struct adapter *adapter;
    struct adapter_conn *conn;
};

static void *interrupt_soon(void *argument)
{
    const struct interrupter *interrupter = argument;
    const struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    interrupter->adapter->interrupt(interrupter->conn);
    return NULL;
}

static void test_interrupt(void **state)
{
    struct contract *contract = *state;
    struct interrupter interrupter = {contract->adapter, contract->conn};
    struct table table;
    struct timespec before;
    struct timespec after;
    pthread_t thread;
    uint64_t rows = 0;
    uint64_t accepted = 0;

    if (contract->adapter->interrupt == NULL || contract->fixture->endless_sql == NULL) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, &interrupter), 0);
    const enum status status = contract_query(contract, contract->fixture->endless_sql, &rows);
    pthread_join(thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    contract_expect(contract, status, STATUS_LOST);
    assert_int_equal(contract->error.kind, ERROR_CONNECTION);
    assert_true(after.tv_sec - before.tv_sec < 5);
    contract_close(contract, contract->conn);
    error_clear(&contract->error);
    contract_expect(contract,
                    contract->adapter->open(contract->adapter, &contract->target, &contract->conn,
                                            &contract->error),
                    STATUS_OK);
    contract_expect(contract, contract_append(contract, &table, 3, 0, &accepted), STATUS_OK);
    assert_int_equal(contract_count(contract, &table), 3);
    table_fini(&table);
}

/* A second writer waits and is refused; the first writer is not disturbed. */
static void test_busy(void **state)
{
    struct contract *contract = *state;
    struct adapter_conn *other = NULL;
    struct table table;
    uint64_t accepted = 0;
    if ((contract->adapter->flags & ADAPTER_FILE) == 0 || !contract->fixture->locks_database) {
        skip();
        return;
    }
    contract_make_keyed(contract, &table);
    contract_expect(
        contract,
        contract->adapter->open(contract->adapter, &contract->target, &other, &contract->error),
        STATUS_OK);
    contract_expect(contract,
                    contract->adapter->append_open(contract->conn, &table, &contract->error),
                    STATUS_OK);
    const enum status status = contract->adapter->append_open(other, &table, &contract->error);
    contract_expect(contract, status, STATUS_REJECTED);
    assert_int_equal(contract->error.kind, ERROR_BUSY);
    error_clear(&contract->error);
    contract_expect(contract,
                    contract->adapter->append_close(contract->conn, &accepted, &contract->error),
                    STATUS_OK);
    contract_expect(contract, contract->adapter->append_open(other, &table, &contract->error),
                    STATUS_OK);
    contract_close(contract, other);
    table_fini(&table);
}

const struct CMUnitTest contract_lost_tests[] = {
    cmocka_unit_test(test_broken_at_each_step),
    cmocka_unit_test(test_interrupt),
    cmocka_unit_test(test_busy),
    {0},
};
