/* Programs that are run for what they print. */
#include "unit/unit.h"

#include <stdio.h>

#include "base/child.h"
#include "base/mono.h"

#define PATIENCE_NS (60 * MONO_NS_PER_S)

static enum child_end run(struct child *child, const char *script, int64_t timeout_ns)
{
    char shell[] = "sh", c[] = "-c", text[200];
    snprintf(text, sizeof text, "%s", script);
    char *argv[] = {shell, c, text, NULL};
    return child_run(child, argv, timeout_ns);
}

static void test_output(void **state)
{
    (void)state;
    struct child child;
    assert_int_equal(run(&child, "echo out; echo err >&2; cat; exit 7", PATIENCE_NS), CHILD_EXITED);
    assert_int_equal(child.exit_status, 7);
    assert_string_equal(buffer_text(&child.out), "out\n");
    assert_string_equal(buffer_text(&child.err), "err\n");
    child_fini(&child);
}

/* More than a pipe holds, on both at once. */
static void test_much_output(void **state)
{
    (void)state;
    struct child child;
    static const char script[] = "head -c 1000000 /dev/zero | tr '\\0' e >&2; "
                                 "head -c 1000000 /dev/zero | tr '\\0' o";
    assert_int_equal(run(&child, script, PATIENCE_NS), CHILD_EXITED);
    assert_int_equal(child.out.length, 1000000);
    assert_int_equal(child.err.length, 1000000);
    child_fini(&child);
    assert_int_equal(run(&child, "head -c 9000000 /dev/zero", PATIENCE_NS), CHILD_FAILED);
    child_fini(&child);
}

static void test_ends(void **state)
{
    (void)state;
    struct child child;
    assert_int_equal(run(&child, "kill -9 $$", PATIENCE_NS), CHILD_KILLED);
    child_fini(&child);
    char missing[] = "append-no-such-program";
    char *argv[] = {missing, NULL};
    assert_int_equal(child_run(&child, argv, PATIENCE_NS), CHILD_NOT_FOUND);
    child_fini(&child);
}

static void test_time_out(void **state)
{
    (void)state;
    static const char *const scripts[] = {"exec sleep 100", "exec sleep 100 >&- 2>&-"};
    for (size_t i = 0; i < 2; i++) {
        struct child child;
        const int64_t before_ns = mono_now_ns();
        assert_int_equal(run(&child, scripts[i], MONO_NS_PER_S / 5), CHILD_TIMED_OUT);
        assert_true(mono_now_ns() - before_ns < 50 * MONO_NS_PER_S);
        child_fini(&child);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_much_output),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_time_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
