/* Tests of running programs and reading their output. */
#include "unit/unit.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mono.h"

#define PATIENCE_NS (60 * MONO_NS_PER_S)

static enum child_result run(struct child_output *child, const char *script, int64_t timeout_ns)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    return child_run(child, argv, -1, timeout_ns);
}

TEST(test_output)
{
    struct child_output child;
    assert_int_equal(run(&child, "echo out; echo err >&2; cat; exit 7", PATIENCE_NS), CHILD_EXITED);
    assert_int_equal(child.end.code, 7);
    assert_string_equal(buffer_text(&child.out), "out\n");
    assert_string_equal(buffer_text(&child.err), "err\n");
    child_output_fini(&child);
}

/* A program writes more output than a pipe holds, to stdout and stderr at once. */
TEST(test_much_output)
{
    struct child_output child;
    static const char script[] = "head -c 1000000 /dev/zero | tr '\\0' e >&2; "
                                 "head -c 1000000 /dev/zero | tr '\\0' o";
    assert_int_equal(run(&child, script, PATIENCE_NS), CHILD_EXITED);
    assert_int_equal(child.out.length, 1000000);
    assert_int_equal(child.err.length, 1000000);
    child_output_fini(&child);
    assert_int_equal(run(&child, "head -c 9000000 /dev/zero", PATIENCE_NS), CHILD_FAILED);
    child_output_fini(&child);
}

TEST(test_ends)
{
    struct child_output child;
    assert_int_equal(run(&child, "kill -9 $$", PATIENCE_NS), CHILD_KILLED);
    child_output_fini(&child);
    assert_int_equal(child.end.signal, 9);
    const char *const argv[] = {"append-no-such-program", NULL};
    assert_int_equal(child_run(&child, argv, -1, PATIENCE_NS), CHILD_NOT_FOUND);
    child_output_fini(&child);
}

TEST(test_time_out)
{
    static const char *const scripts[] = {"exec sleep 100", "exec sleep 100 >&- 2>&-"};
    for (size_t i = 0; i < 2; i++) {
        struct child_output child;
        const int64_t before_ns = mono_now_ns();
        assert_int_equal(run(&child, scripts[i], MONO_NS_PER_S / 5), CHILD_TIMED_OUT);
        assert_true(mono_now_ns() - before_ns < 50 * MONO_NS_PER_S);
        child_output_fini(&child);
    }
}

/* A time-out also ends the program's children: then their common pipe has no writer left. */
TEST(test_time_out_of_children)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct child_output child;
    assert_int_equal(run(&child, "sleep 100 & sleep 100 & wait", MONO_NS_PER_S / 5),
                     CHILD_TIMED_OUT);
    child_output_fini(&child);
    close(ends[1]);
    char byte;
    struct pollfd gone = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&gone, 1, 50000), 1); /* the last writer has ended */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

/* A program runs in the background, with its own streams. */
TEST(test_start)
{
    FILE *log = tmpfile();
    assert_non_null(log);
    const char *const argv[] = {"name", "-c", "echo $0 >&2; cat; kill -15 $$; sleep 100", NULL};
    const struct child_start start = {.argv = argv,
                                      .program = "/bin/sh",
                                      .in = -1,
                                      .out = -1,
                                      .err = fileno(log),
                                      .kept = -1,
                                      .ends_with_us = true};
    pid_t pid;
    assert_int_equal(child_start(&pid, &start), 0);
    struct child_end end;
    while (!child_wait(pid, MONO_NS_PER_S, &end)) {
    }
    assert_int_equal(end.signal, 15);
    char text[20] = "";
    rewind(log);
    assert_non_null(fgets(text, sizeof text, log));
    assert_string_equal(text, "name\n");
    fclose(log);
    const struct child_start missing = {.argv = argv, .program = "/no/such/program", .kept = -1};
    assert_int_equal(child_start(&pid, &missing), ENOENT);
}
