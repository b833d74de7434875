/* Programs that are run for what they print. */
#include "unit/unit.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

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

/* What it has started is ended with it: the end of a pipe that all of them have is closed then. */
static void test_time_out_of_children(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct subprocess child;
    assert_int_equal(run(&child, "sleep 100 & sleep 100 & wait", MONO_NS_PER_S / 5),
                     SUBPROCESS_TIMED_OUT);
    subprocess_fini(&child);
    close(ends[1]);
    char byte;
    struct pollfd gone = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&gone, 1, 50000), 1); /* the last writer has ended */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_much_output),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_time_out),
        cmocka_unit_test(test_time_out_of_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
