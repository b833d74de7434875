#include "report/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mono.h"
#include "report/metrics_http.h"
#include "report/metrics_text.h"

struct metrics {
    const struct plan *plan;
    struct metrics_state state;
    struct metrics_http *http; /* NULL: none */
    locale_t locale; /* with a decimal point: client libraries may set the program's locale */
    char temporary[PLAN_PATH_BYTES + 32]; /* beside the file */
    char shortage[200];
};

static int write_whole(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* A reader sees the file as it was or as it is, never a part. Returns errno. */
static int replace_file(const struct metrics *metrics, const struct buffer *text)
{
    unlink(metrics->temporary);
    const int fd = open(metrics->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return errno;
    }
    int reason = write_whole(fd, buffer_text(text), text->length);
    if (close(fd) != 0 && reason == 0 && errno != EINTR) {
        reason = errno;
    }
    if (reason == 0 && rename(metrics->temporary, metrics->plan->metrics_file) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        unlink(metrics->temporary);
    }
    return reason;
}

/* Returns errno of the file. */
static int tell(struct metrics *metrics, const struct recorder_snapshot *total)
{
    struct buffer text;
    buffer_init(&text);
    const locale_t before = uselocale(metrics->locale);
    metrics_text_add(&text, metrics->plan, &metrics->state, total);
    uselocale(before);
    int reason = buffer_failed(&text) ? ENOMEM : 0;
    if (reason == 0 && metrics->http != NULL) {
        metrics_http_publish(metrics->http, buffer_text(&text), text.length);
    }
    if (reason == 0 && metrics->plan->metrics_file != NULL) {
        reason = replace_file(metrics, &text);
    }
    buffer_fini(&text);
    return reason;
}

static void note(struct metrics *metrics, int reason)
{
    if (reason == 0) {
        metrics->shortage[0] = '\0';
    } else {
        char text[128];
        snprintf(metrics->shortage, sizeof metrics->shortage, "--metrics-file: %s",
                 strerror_r(reason, text, sizeof text));
    }
}

/* Before the first session: all counts are 0. */
static enum exit_code tell_first(struct metrics *metrics, struct error *error)
{
    const char *path = metrics->plan->metrics_file;
    if (path != NULL && folder_is_special(path)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--metrics-file '%.120s' is a device or a pipe: give the name of a file", path);
        return EXIT_CODE_USAGE;
    }
    struct recorder_snapshot *nothing = calloc(1, sizeof *nothing);
    if (nothing == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the metrics");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const int reason = tell(metrics, nothing);
    free(nothing);
    if (reason != 0) {
        error_set(error, ERROR_USAGE, reason, NULL, "--metrics-file '%.120s' cannot be written: %s",
                  path, strerror(reason));
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

enum exit_code metrics_begin(struct metrics **metrics, const struct plan *plan, struct error *error)
{
    *metrics = NULL;
    if (plan->metrics_file == NULL && plan->metrics_port == 0) {
        return EXIT_CODE_OK;
    }
    struct metrics *made = calloc(1, sizeof *made);
    if (made == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the metrics");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    made->plan = plan;
    made->state.is_running = true;
    made->state.started_wall_ns = mono_wall_ns();
    made->locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    enum exit_code code = EXIT_CODE_OK;
    if (made->locale == (locale_t)0) {
        error_set(error, ERROR_MEMORY, errno, NULL, "no locale for the metrics: %s",
                  strerror(errno));
        code = EXIT_CODE_CLIENT_LIMIT;
    }
    if (plan->metrics_file != NULL) {
        snprintf(made->temporary, sizeof made->temporary, "%s.%d.tmp", plan->metrics_file,
                 (int)getpid());
    }
    if (code == EXIT_CODE_OK && plan->metrics_port > 0) {
        made->http = metrics_http_start(plan->metrics_host, plan->metrics_port, error);
        code = made->http == NULL ? EXIT_CODE_USAGE : EXIT_CODE_OK;
    }
    if (code == EXIT_CODE_OK) {
        code = tell_first(made, error);
    }
    if (code != EXIT_CODE_OK) {
        metrics_end(made, false); /* a file of somebody else may be there */
        return code;
    }
    *metrics = made;
    return EXIT_CODE_OK;
}

void metrics_update(struct metrics *metrics, const struct sampler_progress *now)
{
    if (metrics == NULL) {
        return;
    }
    if (metrics->state.elapsed_ns == 0) {
        metrics->state.started_wall_ns = mono_wall_ns() - now->interval->end_ns;
    }
    metrics->state.elapsed_ns = now->interval->end_ns;
    metrics->state.sessions_alive = now->interval->sessions_alive;
    metrics->state.has_sample = now->sample != NULL;
    if (now->sample != NULL) {
        metrics->state.sample = *now->sample;
    }
    note(metrics, tell(metrics, now->total));
}

void metrics_conclude(struct metrics *metrics, const struct recorder_snapshot *total)
{
    if (metrics == NULL) {
        return;
    }
    metrics->state.is_running = false;
    metrics->state.sessions_alive = 0;
    note(metrics, tell(metrics, total));
}

const char *metrics_shortage(const struct metrics *metrics)
{
    return metrics == NULL ? "" : metrics->shortage;
}

void metrics_end(struct metrics *metrics, bool is_failed)
{
    if (metrics == NULL) {
        return;
    }
    metrics_http_stop(metrics->http);
    if (is_failed && metrics->plan->metrics_file != NULL) {
        unlink(metrics->plan->metrics_file);
    }
    if (metrics->locale != (locale_t)0) {
        freelocale(metrics->locale);
    }
    free(metrics);
}
