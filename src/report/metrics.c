#include "report/metrics.h"

#include "plan/facts.h"
#include "report/progress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/web.h"

enum {
    /* a bucket ends at each power of two from 2^14 ns = 16 us to 2^36 ns = 69 s, and at the middle
     * between two powers */
    FIRST_POWER = 14,
    LAST_POWER = 36,
    SECOND_DIGITS = 10,
    STACK_BYTES = 256 * 1024,
};

static void add_head(struct buffer *buffer, const char *name, const char *type, const char *help)
{
    buffer_add_format(buffer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Adds the program, adapter, target and table as labels. Backslash, quote and line break are
 * escaped as the exposition format requires. */
static void add_info(struct buffer *buffer, const struct plan *plan)
{
    const char *const labels[][2] = {{"{version=\"", APPEND_VERSION},
                                     {",adapter=\"", plan->adapter->name},
                                     {",target=\"", plan->facts->target},
                                     {",table=\"", plan->table_name}};
    struct buffer clean = {0};
    add_head(buffer, "append_info", "gauge", "Version, adapter, target and table, as labels.");
    buffer_add_text(buffer, "append_info");
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        buffer_clear(&clean);
        text_add_utf8(&clean, labels[i][1]);
        buffer_add_text(buffer, labels[i][0]);
        for (const char *byte = buffer_text(&clean); *byte != '\0'; byte++) {
            buffer_add_text(buffer, *byte == '"' || *byte == '\\' || *byte == '\n' ? "\\" : "");
            buffer_add(buffer, *byte == '\n' ? "n" : byte, 1);
        }
        buffer_add_text(buffer, "\"");
    }
    buffer_add_text(buffer, "} 1\n");
    buffer->has_failed |= clean.has_failed;
    buffer_fini(&clean);
}

/* Adds the buckets, sum and count of a histogram. `label`: "operation=\"insert\"", or "". */
static void add_histogram(struct buffer *buffer, const char *name, const char *label,
                          const struct histogram *histogram)
{
    const bool has_label = label[0] != '\0';
    const char *open = has_label ? "{" : "", *close = has_label ? "}" : "";
    uint64_t below = 0;
    size_t bucket = 0;
    for (unsigned half = 2 * FIRST_POWER; half <= 2 * LAST_POWER; half++) {
        const int64_t power_ns = INT64_C(1) << (half / 2);
        const int64_t edge_ns = power_ns + (half % 2 == 0 ? 0 : power_ns / 2);
        for (; bucket < histogram_bucket(edge_ns); bucket++) {
            below += histogram->counts[bucket];
        }
        buffer_add_format(buffer, "%s_bucket{%s%sle=\"%.*g\"} %" PRIu64 "\n", name, label,
                          has_label ? "," : "", SECOND_DIGITS, figures_seconds(edge_ns), below);
    }
    for (; bucket < HISTOGRAM_BUCKETS; bucket++) {
        below += histogram->counts[bucket];
    }
    /* does not use histogram->total, which may differ from the sum of the buckets during a run */
    below += histogram->overflow;
    buffer_add_format(buffer,
                      "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n%s_sum%s%s%s %.9f\n"
                      "%s_count%s%s%s %" PRIu64 "\n",
                      name, label, has_label ? "," : "", below, name, open, label, close,
                      (double)histogram->sum_ns / 1e9, name, open, label, close, below);
}

/* Adds the script's transactions and statements, with their names as labels. */
static void add_operations(struct buffer *buffer, const struct operation_list *operations,
                           const struct recorder_snapshot *total)
{
    static const char times[] = "append_operation_duration_seconds";
    static const char counts[] = "append_operations_total";
    if (operations->count == OPERATIONS) {
        return;
    }
    add_head(buffer, counts, "counter",
             "Transactions and statements of the script by name and outcome.");
    for (size_t i = OPERATIONS; i < operations->count; i++) {
        const struct operation *operation = &operations->entries[i];
        const bool is_transaction = operation->kind == OPERATION_IS_TRANSACTION;
        for (int count = 0; count < OPERATION_COUNTS; count++) {
            if ((count >= COUNTS_OF_TRANSACTIONS) == is_transaction) {
                buffer_add_format(buffer,
                                  "%s{operation=\"%s\",kind=\"%s\",count=\"%s\"} %" PRIu64 "\n",
                                  counts, operation->name, operation_kind_names[operation->kind],
                                  operation_count_names[count],
                                  recorder_count_of(total, i, (enum operation_count)count));
            }
        }
    }
    add_head(buffer, times, "histogram", "Time of a script's transactions and statements by name.");
    for (size_t i = OPERATIONS; i < operations->count; i++) {
        char label[SCRIPT_NAME_BYTES + 16];
        snprintf(label, sizeof label, "operation=\"%s\"", operations->entries[i].name);
        add_histogram(buffer, times, label, recorder_histogram(total, i));
    }
}

/* Adds the number of sessions in calls, by operation and by class of wait. */
static void add_waits(struct buffer *buffer, const struct operation_list *operations,
                      struct waits *waits)
{
    static const char name[] = "append_waiting_sessions";
    add_head(
        buffer, name, "gauge",
        "Mean number of sessions in a call during the latest second with polls, by the call and by "
        "the wait at the server.");
    for (size_t i = 0; i < operations->count * WAIT_CLASSES; i++) {
        const size_t operation = i / WAIT_CLASSES;
        const enum wait_class class = (enum wait_class)(i % WAIT_CLASSES);
        const double sessions = waits_latest(waits, operation, class);
        char key[FIGURE_KEY_BYTES];
        if (sessions >= 0) {
            buffer_add_format(buffer, "%s{operation=\"%s\",wait=\"%s\"} %.3f\n", name,
                              operation_key(&operations->entries[operation], key),
                              figure_wait_keys[class], sessions);
        }
    }
}

void metrics_text_add(struct buffer *buffer, const struct plan *plan,
                      const struct metrics_state *state, const struct recorder_snapshot *total)
{
    add_info(buffer, plan);
    const struct {
        const char *name, *help;
        double value; /* value of the metric; negative: unknown */
    } gauges[] = {
        {"append_running", "1 while sessions run, 0 after they have ended.",
         state->is_running ? 1 : 0},
        {"append_start_time_seconds", "Start of the run, in seconds since 1970 UTC.",
         figures_seconds(state->started_wall_ns)},
        {"append_elapsed_seconds", "Time since the start of the run.",
         figures_seconds(state->elapsed_ns)},
        {"append_sessions_requested", "Sessions requested, including idle sessions.",
         plan->is_search ? -1 : (double)plan_sessions_all(plan)},
        {"append_rows_planned", "Rows requested.", plan->records > 0 ? (double)plan->records : -1},
        {"append_sessions", "Sessions with a connection now.", (double)state->sessions_alive},
    };
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++) {
        if (gauges[i].value >= 0) {
            add_head(buffer, gauges[i].name, "gauge", gauges[i].help);
            buffer_add_format(buffer, "%s %.3f\n", gauges[i].name, gauges[i].value);
        }
    }
    /* counters with the same metric name are adjacent in the table; their selectors differ */
    for (const struct figure *figure = figure_table; figure < figure_table + FIGURES; figure++) {
        if (figure->metric_help != NULL) {
            add_head(buffer, figure->metric, "counter", figure->metric_help);
        }
        if (figure->metric != NULL) {
            const bool has_selector = figure->metric_selector != NULL;
            buffer_add_format(buffer, "%s%s%s%s %" PRIu64 "\n", figure->metric,
                              has_selector ? "{" : "", has_selector ? figure->metric_selector : "",
                              has_selector ? "}" : "", total->counters[figure->counter]);
        }
    }
    const struct operation_list operations = plan_operations(plan);
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (operation_is_used(&operations, i)) {
            const struct operation *operation = &operations.entries[i];
            add_head(buffer, operation->metric, "histogram", operation->metric_help);
            add_histogram(buffer, operation->metric, "", recorder_histogram(total, i));
        }
    }
    add_operations(buffer, &operations, total);
    if (state->waits != NULL) {
        add_waits(buffer, &operations, state->waits);
    }
    if (!state->has_sample) {
        return;
    }
    const struct sample *sample = &state->sample;
    const struct {
        const char *of;
        double cpu_percent, memory_bytes; /* negative: unknown */
    } shares[] = {
        {"machine", sample->cpu.host, -1},
        {"server", sample->cpu.server, (double)sample->server_memory_bytes},
        {"append", sample->cpu.client, (double)sample->client_memory_bytes},
    };
    add_head(buffer, "append_cpu_ratio", "gauge",
             "Share of all CPUs of this machine over the latest sample interval.");
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        if (shares[i].cpu_percent >= 0) {
            buffer_add_format(buffer, "append_cpu_ratio{of=\"%s\"} %.5f\n", shares[i].of,
                              shares[i].cpu_percent / 100);
        }
    }
    add_head(buffer, "append_memory_bytes", "gauge",
             "Highest memory reading of the latest sample interval.");
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        if (shares[i].memory_bytes >= 0) {
            buffer_add_format(buffer, "append_memory_bytes{of=\"%s\"} %.0f\n", shares[i].of,
                              shares[i].memory_bytes);
        }
    }
}

enum page {
    PAGE_METRICS,
    PAGE_INDEX,
    PAGE_NOT_FOUND,
    PAGE_WRONG_METHOD,
    PAGE_WRONG_HOST,
    PAGES
};

static const struct {
    unsigned code;
    const char *text;
} pages[PAGES] = {
    {MHD_HTTP_OK, ""},
    {MHD_HTTP_OK, "append: see /metrics\n"},
    {MHD_HTTP_NOT_FOUND, "not found: see /metrics\n"},
    {MHD_HTTP_METHOD_NOT_ALLOWED, "use GET or HEAD\n"},
    {MHD_HTTP_FORBIDDEN,
     "the host in the URL is not accepted: use an IP address, localhost or the name of this "
     "machine\n"},
};

struct metrics_http {
    struct web *web;
    pthread_mutex_t lock; /* guards the pages */
    struct MHD_Response *pages[PAGES];
};

/* Returns a plain-text response with a copy of the text, or NULL if memory runs out. */
static struct MHD_Response *make_response(const char *text, size_t length)
{
    return web_response("text/plain; version=0.0.4; charset=utf-8", text, length);
}

/* Returns whether a request is allowed. If a request arrived at a loopback address and has a Host
 * header, the header must have an IP address, localhost or the name of this machine. This rule
 * stops DNS rebinding: a web site whose name resolves to the loopback address could otherwise read
 * the metrics through the user's browser. Other requests are always allowed. */
static bool names_this_machine(const struct web_request *request)
{
    const char *given = web_header(request, "Host");
    char name[256], own[256] = "";
    unsigned char address[sizeof(struct in6_addr)];
    if (given == NULL || !request->is_loopback) {
        return true;
    }
    const bool is_bracketed = given[0] == '[';
    snprintf(name, sizeof name, "%.*s",
             (int)strcspn(given + is_bracketed, is_bracketed ? "]" : ":"), given + is_bracketed);
    gethostname(own, sizeof own - 1);
    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1 ||
           strcasecmp(name, "localhost") == 0 || strcasecmp(name, own) == 0;
}

static bool answer(void *context, const struct web_request *request)
{
    struct metrics_http *http = context;
    const bool is_read =
        strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    enum page page = PAGE_NOT_FOUND;
    if (!names_this_machine(request)) {
        page = PAGE_WRONG_HOST;
    } else if (!is_read) {
        page = PAGE_WRONG_METHOD;
    } else if (strcmp(request->path, "/") == 0) {
        page = PAGE_INDEX;
    } else if (strcmp(request->path, "/metrics") == 0) {
        page = PAGE_METRICS;
    }
    pthread_mutex_lock(&http->lock);
    web_reply(request, pages[page].code, http->pages[page]);
    pthread_mutex_unlock(&http->lock);
    return true;
}

struct metrics_http *metrics_http_start(const char *host, uint16_t port, struct error *error)
{
    struct metrics_http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for --metrics");
        return NULL;
    }
    pthread_mutex_init(&http->lock, NULL);
    bool is_whole = true;
    for (size_t i = 0; i < PAGES; i++) {
        http->pages[i] = make_response(pages[i].text, strlen(pages[i].text));
        is_whole = is_whole && http->pages[i] != NULL;
    }
    if (is_whole) {
        MHD_add_response_header(http->pages[PAGE_WRONG_METHOD], "Allow", "GET, HEAD");
        const struct web_site site = {.option = "--metrics",
                                      .host = host,
                                      .port = port,
                                      .clients_max = METRICS_HTTP_CLIENTS_MAX,
                                      .stack_bytes = STACK_BYTES,
                                      .answer = answer,
                                      .context = http};
        http->web = web_start(&site, error);
    } else {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for --metrics");
    }
    if (http->web == NULL) {
        metrics_http_stop(http);
        return NULL;
    }
    return http;
}

void metrics_http_publish(struct metrics_http *http, const char *text, size_t length)
{
    struct MHD_Response *next = make_response(text, length);
    if (next == NULL) {
        return;
    }
    pthread_mutex_lock(&http->lock);
    struct MHD_Response *old = http->pages[PAGE_METRICS];
    http->pages[PAGE_METRICS] = next;
    pthread_mutex_unlock(&http->lock);
    MHD_destroy_response(old);
}

void metrics_http_stop(struct metrics_http *http)
{
    if (http != NULL) {
        web_stop(http->web);
        for (size_t i = 0; i < PAGES; i++) {
            if (http->pages[i] != NULL) {
                MHD_destroy_response(http->pages[i]);
            }
        }
        pthread_mutex_destroy(&http->lock);
        free(http);
    }
}

struct metrics {
    const struct plan *plan;
    struct metrics_state state;
    struct metrics_http *http; /* the page; NULL without --metrics */
    bool had_file;             /* the file of --metrics-file existed before the run */
    struct buffer earlier;     /* content of the file before the run; owned */
    char shortage[200];
};

/* Publishes the state over HTTP and in the file. Returns 0, ENOMEM, or the errno of the write. */
static int publish(struct metrics *metrics, const struct recorder_snapshot *total)
{
    struct buffer text = {0};
    const locale_t before = units_use_point();
    metrics_text_add(&text, metrics->plan, &metrics->state, total);
    uselocale(before);
    int reason = buffer_failed(&text) ? ENOMEM : 0;
    if (reason == 0 && metrics->http != NULL) {
        metrics_http_publish(metrics->http, buffer_text(&text), text.length);
    }
    if (reason == 0 && metrics->plan->metrics_file != NULL) {
        reason = file_replace(AT_FDCWD, metrics->plan->metrics_file, &text, false);
    }
    buffer_fini(&text);
    metrics->shortage[0] = '\0';
    if (reason != 0) {
        snprintf(metrics->shortage, sizeof metrics->shortage, "--metrics-file: %s",
                 strerror(reason));
    }
    return reason;
}

/* Reads an existing file of --metrics-file into metrics->earlier. Refuses a file that was not made
 * by this program, because the run would replace the file. */
static enum exit_code keep_earlier(struct metrics *metrics, const char *path, struct error *error)
{
    static const char begin[] = "# HELP append_";
    struct error unread = {.kind = ERROR_NONE};
    char bytes[4096];
    size_t length;
    FILE *file;
    const bool is_missing = access(path, F_OK) != 0; /* also if a folder of the path is missing */
    if (is_missing || file_open(path, &file, &unread) != STATUS_OK) {
        error_prefix(&unread, "--metrics-file");
        *error = is_missing ? *error : unread;
        return is_missing ? EXIT_CODE_OK : EXIT_CODE_USAGE;
    }
    metrics->had_file = true;
    bool is_ours = true;
    while (is_ours && (length = fread(bytes, 1, sizeof bytes, file)) > 0) {
        is_ours = metrics->earlier.length > 0 ||
                  (length >= sizeof begin - 1 && memcmp(bytes, begin, sizeof begin - 1) == 0);
        buffer_add(&metrics->earlier, bytes, length);
    }
    const int number = ferror(file) ? errno : 0;
    fclose(file);
    if (number != 0) {
        error_set(error, ERROR_USAGE, number, NULL, "--metrics-file '%.120s' cannot be read: %s",
                  path, strerror(number));
        return EXIT_CODE_USAGE;
    }
    if (!is_ours) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--metrics-file '%.120s' exists and was not made by append: give another name",
                  path);
        return EXIT_CODE_USAGE;
    }
    if (buffer_failed(&metrics->earlier)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the metrics");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* Frees *metrics, and stops the HTTP server. */
static void free_metrics(struct metrics *metrics)
{
    metrics_http_stop(metrics->http);
    buffer_fini(&metrics->earlier);
    free(metrics);
}

enum exit_code metrics_begin(struct metrics **metrics, const struct plan *plan, struct error *error)
{
    const char *path = plan->metrics_file;
    *metrics = NULL;
    if (path == NULL && plan->metrics_port == 0) {
        return EXIT_CODE_OK;
    }
    if (path != NULL && file_is_special(path)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--metrics-file '%.120s' is a device or a pipe: give the name of a file", path);
        return EXIT_CODE_USAGE;
    }
    struct metrics *made = calloc(1, sizeof *made);
    if (made == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the metrics");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    made->plan = plan;
    made->state.is_running = true;
    made->state.started_wall_ns = mono_wall_ns();
    enum exit_code code = path == NULL ? EXIT_CODE_OK : keep_earlier(made, path, error);
    if (code == EXIT_CODE_OK && plan->metrics_port > 0) {
        made->http = metrics_http_start(plan->metrics_host, plan->metrics_port, error);
        code = made->http == NULL ? EXIT_CODE_USAGE : EXIT_CODE_OK;
    }
    /* before the first session all counts are 0 */
    const struct recorder_snapshot nothing = {0};
    const int reason = code == EXIT_CODE_OK ? publish(made, &nothing) : 0;
    if (reason != 0) {
        error_set(error, ERROR_USAGE, reason, NULL, "--metrics-file '%.120s' cannot be written: %s",
                  path, strerror(reason));
        code = EXIT_CODE_USAGE;
    }
    if (code != EXIT_CODE_OK) {
        free_metrics(made);
        return code;
    }
    *metrics = made;
    return EXIT_CODE_OK;
}

void metrics_update(struct metrics *metrics, const struct progress_state *now)
{
    if (metrics == NULL) {
        return;
    }
    struct metrics_state *state = &metrics->state;
    if (state->elapsed_ns == 0) {
        state->started_wall_ns = mono_wall_ns() - now->interval->end_ns;
    }
    state->elapsed_ns = now->interval->end_ns;
    state->sessions_alive = now->interval->sessions_alive;
    state->has_sample = now->sample != NULL;
    state->sample = now->sample != NULL ? *now->sample : state->sample;
    state->waits = now->waits;
    publish(metrics, now->total);
}

const char *metrics_finish(struct metrics *metrics, const struct recorder_snapshot *total)
{
    if (metrics == NULL) {
        return "";
    }
    metrics->state.is_running = false;
    metrics->state.sessions_alive = 0;
    publish(metrics, total);
    return metrics->shortage;
}

void metrics_end(struct metrics *metrics, bool is_failed)
{
    if (metrics == NULL) {
        return;
    }
    const char *path = metrics->plan->metrics_file;
    if (is_failed && path != NULL && metrics->had_file) {
        file_replace(AT_FDCWD, path, &metrics->earlier, false);
    } else if (is_failed && path != NULL) {
        unlink(path);
    }
    free_metrics(metrics);
}
