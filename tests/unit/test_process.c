/* What signals do to the process. */
#include "unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"

#define HOLD "append: the server is started again first; then append ends\n"
#define LATER_NS (250 * MONO_NS_PER_MS) /* signals closer together count as one */

/* Runs `work` in a process whose standard error is kept in `text`. Returns its exit code. */
static int run(void (*work)(void), char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        interrupt_install();
        work();
        _exit(EXIT_SUCCESS);
    }
    assert_true(pid > 0);
    int status;
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    const ssize_t length = read(ends[0], text, size - 1);
    close(ends[0]);
    text[length > 0 ? length : 0] = '\0';
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void two_signals(void)
{
    raise(SIGINT);
    mono_sleep(LATER_NS);
    raise(SIGTERM);
}

static void held(void)
{
    interrupt_hold(HOLD);
    two_signals();
    raise(SIGINT);
    if (!interrupt_requested()) {
        _exit(EXIT_FAILURE);
    }
}

static void held_for_a_while(void)
{
    held();
    interrupt_hold(NULL);
    raise(SIGINT);
}

static void closed(void)
{
    interrupt_close();
    two_signals();
}

TEST(a_second_signal)
{
    static const char ended[] = "\nappend: ended immediately by a second signal\n";
    static const struct {
        const char *name;
        void (*work)(void);
        int code;
        const char *text;
    } cases[] = {
        {"ends the process", two_signals, EXIT_CODE_INTERRUPTED, ended},
        {"does not end the process while it is held", held, EXIT_SUCCESS, HOLD HOLD},
        {"ends the process after the hold", held_for_a_while, EXIT_CODE_INTERRUPTED,
         HOLD HOLD "\nappend: ended immediately by a second signal\n"},
        {"does nothing once the outcome is decided", closed, EXIT_SUCCESS, ""},
    };
    EACH_CASE (i, cases, "a second signal %s", cases[i].name) {
        char text[400];
        assert_int_equal(run(cases[i].work, text, sizeof text), cases[i].code);
        assert_string_equal(text, cases[i].text);
    }
}
