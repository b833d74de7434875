/* The server of append certify, when a fault fails or the server has already ended. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "unit/unit.h"

#include "certify/processes.h"
#include "certify/subject.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-subject-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_folder(folder);
}

static void *wait_for_end(void *ends)
{
    char byte;
    const ssize_t length = read(*(const int *)ends, &byte, 1);
    _exit(length == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static bool first_thread_has_ended(pid_t pid)
{
    char path[40], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    fread(text, 1, sizeof text - 1, file);
    fclose(file);
    return strstr(text, ") Z ") != NULL;
}

/* A process whose first thread has ended runs until its other threads have ended. */
TEST(a_process_runs_until_its_last_thread_has_ended)
{
    static int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        processes_serve();
        close(ends[1]);
        pthread_create(&thread, NULL, wait_for_end, ends);
        syscall(SYS_exit, 0); /* ends this thread alone */
    }
    close(ends[0]);
    for (int i = 0; i < 5000 && !first_thread_has_ended(pid); i++) {
        usleep(1000);
    }
    assert_true(first_thread_has_ended(pid));
    assert_int_not_equal(processes_started(pid), 0);
    close(ends[1]);
    for (int i = 0; i < 5000 && processes_started(pid) != 0; i++) {
        usleep(1000);
    }
    assert_int_equal(processes_started(pid), 0);
    processes_reap(pid);
    assert_int_equal(processes_started(pid), 0);
}

/* A subject that was chosen and not begun owns no descriptor. */
TEST(a_subject_that_never_began_closes_nothing)
{
    const struct plan plan = {.sessions = 1};
    const struct fault_counts faults = {.counts = {[FAULT_STOP] = 1}};
    struct target target = {.host = NULL};
    struct error error = {.kind = ERROR_NONE};
    struct subject subject;
    assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_int_equal(subject_choose(&subject, &faults, &plan, &target, &error), EXIT_CODE_OK);
    subject_fini(&subject);
    assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
}

TEST(a_cut_that_fails_is_no_cut)
{
    struct disk disk = {.folder = "/nonexistent", .image = -1, .belongs_to_user = true};
    struct error error = {.kind = ERROR_NONE};
    assert_int_equal(disk_cut_power(&disk, &error), STATUS_FATAL);
    assert_part(error.text, "cannot shut the file system down: /nonexistent: No such file");
    assert_false(disk.is_cut);
    disk_destroy(&disk); /* would try to unmount and mount a disk whose power was cut */
}

/* Only a server that has ended is started again: a fault that fails may leave it running. Without
 * its file system it is not started. */
TEST_BETWEEN(only_a_server_that_has_ended_is_started_again, make_folder, remove_folder)
{
    static const struct {
        const char *name;
        bool has_ended, is_another, is_unmounted, is_started;
    } cases[] = {
        {"it runs", false, false, false, false},
        {"it has ended", true, false, false, true},
        {"another process has its pid", false, true, false, true},
        {"its file system is not mounted", true, false, true, false},
    };
    char started[80], command[100];
    snprintf(started, sizeof started, "%s/started", folder);
    snprintf(command, sizeof command, "touch %s", started);
    const struct plan plan = {.certify = {.start = command}};
    const struct fault_counts faults = {.counts = {[FAULT_RESTART] = 1}};
    EACH_CASE (i, cases, "%s", cases[i].name) {
        struct target target = {.host = NULL};
        struct error error = {.kind = ERROR_NONE};
        struct subject subject;
        assert_int_equal(subject_choose(&subject, &faults, &plan, &target, &error), EXIT_CODE_OK);
        const pid_t server = fork();
        if (server == 0) {
            processes_serve(); /* ends with this program, even if a test fails */
            pause();
            _exit(EXIT_SUCCESS);
        }
        assert_true(server > 0);
        subject.pid = server;
        subject.started = processes_started(server) + (cases[i].is_another ? 1 : 0);
        subject.is_down = true;
        if (cases[i].has_ended) {
            kill(server, SIGKILL);
            assert_int_equal(waitpid(server, NULL, 0), server);
        }
        if (cases[i].is_unmounted) {
            subject.disk = (struct disk){
                .folder = "/nonexistent", .image = -1, .belongs_to_user = true, .is_cut = true};
        }
        subject_end(&subject);
        assert_int_equal(subject.starter != 0, cases[i].is_started);
        if (cases[i].is_started) {
            assert_int_equal(waitpid(subject.starter, NULL, 0), subject.starter);
        }
        if (!cases[i].has_ended) {
            kill(server, SIGKILL);
            assert_int_equal(waitpid(server, NULL, 0), server);
        }
        assert_int_equal(access(started, F_OK) == 0, cases[i].is_started);
        unlink(started);
        subject.disk.is_cut = false;
        subject_fini(&subject);
    }
}

/* A fault changes nothing if the user's server has ended, or was not found after its start. */
TEST(no_fault_strikes_a_server_that_is_not_there)
{
    static const struct {
        enum fault_kind kind;
        bool is_known, is_another;
        const char *text;
    } cases[] = {
        {FAULT_KILL, true, false, "had already ended"},
        {FAULT_KILL, true, true, "had already ended"},
        {FAULT_POWER, true, false, "had already ended"},
        {FAULT_STOP, true, false, "had already ended"},
        {FAULT_RESTART, true, false, "had already ended"},
        {FAULT_NETWORK, true, false, "had already ended"},
        {FAULT_POWER, false, false, "the process of the restarted server was not found"},
        {FAULT_NETWORK, false, false, "the process of the restarted server was not found"},
    };
    const struct plan plan = {.sessions = 1};
    const pid_t server = fork();
    if (server == 0) {
        _exit(EXIT_SUCCESS);
    }
    assert_int_equal(waitpid(server, NULL, 0), server);
    const pid_t another = fork();
    if (another == 0) {
        processes_serve();
        pause();
        _exit(EXIT_SUCCESS);
    }
    EACH_CASE (i, cases, "%s, known: %d, another: %d", fault_words[cases[i].kind].name,
               cases[i].is_known, cases[i].is_another) {
        const struct fault fault = {.kind = cases[i].kind};
        struct fault_counts faults = {.counts = {0}};
        struct account account = {.fault_ns = INT64_MAX};
        struct writers writers = {.account = &account};
        struct target target = {.host = NULL};
        struct error error = {.kind = ERROR_NONE};
        struct subject subject;
        int64_t at_ns = -1;
        faults.counts[fault.kind] = 1;
        assert_int_equal(subject_choose(&subject, &faults, &plan, &target, &error), EXIT_CODE_OK);
        subject.writers = &writers;
        const pid_t pid = cases[i].is_another ? another : server;
        subject.pid = cases[i].is_known ? pid : 0;
        subject.started = processes_started(another) + 1; /* of a process that has ended */
        assert_int_equal(subject_break(&subject, &fault, &at_ns, &error), STATUS_FATAL);
        assert_int_equal(error.kind, ERROR_SERVER);
        assert_part(error.text, cases[i].text);
        assert_int_equal(at_ns, -1);
        assert_true(account.fault_ns == INT64_MAX && account.cuts_asked == 0);
        assert_false(subject.is_down);
        subject_fini(&subject);
    }
    kill(another, SIGKILL);
    assert_int_equal(waitpid(another, NULL, 0), another);
}
