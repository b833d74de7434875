#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/causes.h"

enum {
    THREADS = 8,
    ROUNDS = 2000
};

static struct causes causes;

static struct error make(enum error_kind kind, int code, const char *sqlstate, const char *text)
{
    struct error error;
    error_clear(&error);
    error_set(&error, kind, code, sqlstate, "%s", text);
    return error;
}

static void equal_causes_are_one(void **state)
{
    (void)state;
    causes_init(&causes);
    const struct error first = make(ERROR_LIMIT, 0, "53300", "too many clients");
    const struct error again = make(ERROR_LIMIT, 0, "53300", "too many clients already");
    causes_add(&causes, CAUSE_CONNECT, STATUS_LOST, &first, 50);
    causes_add(&causes, CAUSE_CONNECT, STATUS_LOST, &again, 90);
    causes_add(&causes, CAUSE_CONNECT, STATUS_LOST, &again, 40);
    assert_int_equal(causes.count, 1);
    assert_int_equal(causes.entries[0].count, 3);
    assert_int_equal(causes.entries[0].first_ns, 40);
    assert_int_equal(causes.entries[0].last_ns, 90);
    assert_int_equal(causes.entries[0].phase, CAUSE_CONNECT);
    assert_int_equal(causes.entries[0].status, STATUS_LOST);
    assert_string_equal(causes.entries[0].error.text, "too many clients");
    causes_fini(&causes);
}

static void different_causes_are_apart(void **state)
{
    (void)state;
    causes_init(&causes);
    const struct error base = make(ERROR_SERVER, 7, "XX000", "a");
    const struct error kind = make(ERROR_DATA, 7, "XX000", "a");
    const struct error code = make(ERROR_SERVER, 8, "XX000", "a");
    const struct error sqlstate = make(ERROR_SERVER, 7, "XX001", "a");
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &base, 1);
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &kind, 2);
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &code, 3);
    causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &sqlstate, 4);
    causes_add(&causes, CAUSE_READ, STATUS_REJECTED, &base, 5);
    causes_add(&causes, CAUSE_APPEND, STATUS_LOST, &base, 6);
    causes_add(&causes, CAUSE_APPEND, STATUS_LOST, NULL, 7);
    assert_int_equal(causes.count, 7);
    for (size_t i = 0; i < causes.count; i++) {
        assert_int_equal(causes.entries[i].count, 1);
        assert_int_equal(causes.entries[i].first_ns, i + 1);
    }
    causes_fini(&causes);
}

static void a_full_table_counts_others(void **state)
{
    (void)state;
    causes_init(&causes);
    for (int i = 0; i < CAUSES_MAX + 5; i++) {
        const struct error error = make(ERROR_SERVER, i, NULL, "a");
        causes_add(&causes, CAUSE_READ, STATUS_REJECTED, &error, i);
    }
    const struct error known = make(ERROR_SERVER, 3, NULL, "a");
    causes_add(&causes, CAUSE_READ, STATUS_REJECTED, &known, 1000);
    assert_int_equal(causes.count, CAUSES_MAX);
    assert_int_equal(causes.others, 5);
    assert_int_equal(causes.entries[3].count, 2);
    causes_fini(&causes);
}

static void *add_many(void *argument)
{
    const int *number = argument;
    const struct error error = make(ERROR_BUSY, *number % 2, NULL, "busy");
    for (int i = 0; i < ROUNDS; i++) {
        causes_add(&causes, CAUSE_APPEND, STATUS_REJECTED, &error, i);
    }
    return NULL;
}

static void threads_lose_nothing(void **state)
{
    (void)state;
    causes_init(&causes);
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(causes.count, 2);
    assert_int_equal(causes.entries[0].count, THREADS / 2 * ROUNDS);
    assert_int_equal(causes.entries[1].count, THREADS / 2 * ROUNDS);
    assert_int_equal(causes.entries[0].first_ns, 0);
    assert_int_equal(causes.entries[0].last_ns, ROUNDS - 1);
    causes_fini(&causes);
}

static void phases_have_names(void **state)
{
    (void)state;
    assert_string_equal(cause_phase_name(CAUSE_THREAD), "thread");
    assert_string_equal(cause_phase_name(CAUSE_CONNECT), "connect");
    assert_string_equal(cause_phase_name(CAUSE_APPEND), "append");
    assert_string_equal(cause_phase_name(CAUSE_READ), "read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_causes_are_one),       cmocka_unit_test(different_causes_are_apart),
        cmocka_unit_test(a_full_table_counts_others), cmocka_unit_test(threads_lose_nothing),
        cmocka_unit_test(phases_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
