#include "chart/gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mono.h"

enum {
    PAUSE_MS = 2,
    READ_BYTES = 65536
};

/* Its three streams, files without a name: it never waits for this program to read. */
struct streams {
    FILE *in, *out, *err;
};

static enum status refuse(struct error *error, const char *what)
{
    error_set(error, ERROR_SYSTEM, errno, NULL, "%s: %s", what, strerror(errno));
    return STATUS_REJECTED;
}

static enum status open_streams(struct streams *streams, const struct buffer *script,
                                struct error *error)
{
    streams->in = tmpfile();
    streams->out = tmpfile();
    streams->err = tmpfile();
    if (streams->in == NULL || streams->out == NULL || streams->err == NULL) {
        return refuse(error, "no temporary file for gnuplot");
    }
    if (fwrite(buffer_text(script), 1, script->length, streams->in) != script->length ||
        fflush(streams->in) != 0 || fseek(streams->in, 0, SEEK_SET) != 0) {
        return refuse(error, "the script for gnuplot cannot be written");
    }
    return STATUS_OK;
}

static void close_streams(const struct streams *streams)
{
    FILE *const files[] = {streams->in, streams->out, streams->err};
    for (size_t i = 0; i < 3; i++) {
        if (files[i] != NULL) {
            fclose(files[i]);
        }
    }
}

static enum status start(const struct streams *streams, pid_t *pid, struct error *error)
{
    /* -d: without the user's start-up files. A script by name ends at its first mistake. */
    static const char *const words[] = {"gnuplot", "-d", "/dev/stdin", NULL};
    char *argv[sizeof words / sizeof words[0]];
    memcpy(argv, words, sizeof words);
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);
    if (number == 0) {
        posix_spawn_file_actions_adddup2(&actions, fileno(streams->in), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, fileno(streams->out), STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, fileno(streams->err), STDERR_FILENO);
        number = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (number == 0) {
        return STATUS_OK;
    }
    if (number == ENOENT) {
        error_set(error, ERROR_NOT_FOUND, number, NULL,
                  "charts are drawn by gnuplot, which is not installed (package gnuplot-nox)");
        return STATUS_REJECTED;
    }
    errno = number;
    return refuse(error, "gnuplot cannot be started");
}

/* The first lines that it said, as one. */
static void read_words(FILE *err, char *words, size_t bytes)
{
    rewind(err);
    size_t length = fread(words, 1, bytes - 1, err);
    while (length > 0 && words[length - 1] == '\n') {
        length--;
    }
    words[length] = '\0';
    for (char *at = strpbrk(words, "\r\n"); at != NULL; at = strpbrk(at, "\r\n")) {
        *at = ' ';
    }
}

static enum status wait_for_end(pid_t pid, FILE *err, struct error *error)
{
    const int64_t end_ns = mono_now_ns() + GNUPLOT_TIMEOUT_S * MONO_NS_PER_S;
    int how = 0;
    pid_t ended;
    while ((ended = waitpid(pid, &how, WNOHANG)) == 0 && mono_now_ns() < end_ns) {
        mono_sleep(PAUSE_MS * MONO_NS_PER_MS);
    }
    if (ended == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &how, 0);
        error_set(error, ERROR_TIMEOUT, 0, NULL, "gnuplot was ended after %d s", GNUPLOT_TIMEOUT_S);
        return STATUS_REJECTED;
    }
    if (ended < 0) {
        return refuse(error, "gnuplot's end is not known");
    }
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        return STATUS_OK;
    }
    char words[400];
    read_words(err, words, sizeof words);
    if (WIFSIGNALED(how)) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot was ended by signal %d%s%s",
                  WTERMSIG(how), words[0] == '\0' ? "" : ": ", words);
    } else {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "gnuplot failed: %s", words);
    }
    return STATUS_REJECTED;
}

static enum status read_output(FILE *out, struct buffer *output, struct error *error)
{
    char bytes[READ_BYTES];
    size_t length;
    rewind(out);
    while ((length = fread(bytes, 1, sizeof bytes, out)) > 0) {
        buffer_add(output, bytes, length);
    }
    if (ferror(out)) {
        return refuse(error, "what gnuplot drew cannot be read");
    }
    if (buffer_failed(output)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the charts");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

enum status gnuplot_run(const struct buffer *script, struct buffer *output, struct error *error)
{
    if (buffer_failed(script)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the charts");
        return STATUS_REJECTED;
    }
    struct streams streams = {0};
    pid_t pid;
    enum status status = open_streams(&streams, script, error);
    if (status == STATUS_OK) {
        status = start(&streams, &pid, error);
    }
    if (status == STATUS_OK) {
        status = wait_for_end(pid, streams.err, error);
    }
    if (status == STATUS_OK) {
        status = read_output(streams.out, output, error);
    }
    close_streams(&streams);
    return status;
}
