/* Programs that are run for what they print. */
#include "unit/unit.h"

#include <stdio.h>

#include "base/mono.h"
#include "base/subprocess.h"

#define PATIENCE_NS (60 * MONO_NS_PER_S)

static enum subprocess_end run(struct subprocess *child, const char *script, int64_t timeout_ns)
{
    char shell[] = "sh", c[] = "-c", text[200];
    snprintf(text, sizeof text, "%s", script);
    char *argv[] = {shell, c, text, NULL};
    return subprocess_run(child, argv, timeout_ns);
}

static void test_output(void **state)
{
    (void)state;
    struct subprocess child;
    assert_int_equal(run(&child, "echo out; echo err >&2; cat; exit 7", PATIENCE_NS),
                     SUBPROCESS_EXITED);
    assert_int_equal(child.exit_status, 7);
    assert_string_equal(buffer_text(&child.out), "out\n");
    assert_string_equal(buffer_text(&child.err), "err\n");
    subprocess_fini(&child);
}

/* More than a pipe holds, on both at once. */
static void test_much_output(void **state)
{
    (void)state;
    struct subprocess child;
    static const char script[] = "head -c 1000000 /dev/zero | tr '\\0' e >&2; "
                                 "head -c 1000000 /dev/zero | tr '\\0' o";
    assert_int_equal(run(&child, script, PATIENCE_NS), SUBPROCESS_EXITED);
    assert_int_equal(child.out.length, 1000000);
    assert_int_equal(child.err.length, 1000000);
    subprocess_fini(&child);
    assert_int_equal(run(&child, "head -c 9000000 /dev/zero", PATIENCE_NS), SUBPROCESS_FAILED);
    subprocess_fini(&child);
}

static void test_ends(void **state)
{
    (void)state;
    struct subprocess child;
    assert_int_equal(run(&child, "kill -9 $$", PATIENCE_NS), SUBPROCESS_KILLED);
    subprocess_fini(&child);
    char missing[] = "append-no-such-program";
    char *argv[] = {missing, NULL};
    assert_int_equal(subprocess_run(&child, argv, PATIENCE_NS), SUBPROCESS_NOT_FOUND);
    subprocess_fini(&child);
}

static void test_time_out(void **state)
{
    (void)state;
    static const char *const scripts[] = {"exec sleep 100", "exec sleep 100 >&- 2>&-"};
    for (size_t i = 0; i < 2; i++) {
        struct subprocess child;
        const int64_t before_ns = mono_now_ns();
        assert_int_equal(run(&child, scripts[i], MONO_NS_PER_S / 5), SUBPROCESS_TIMED_OUT);
        assert_true(mono_now_ns() - before_ns < 50 * MONO_NS_PER_S);
        subprocess_fini(&child);
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
