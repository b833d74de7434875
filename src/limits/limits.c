#include "limits/limits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "limits/reading.h"
#include "measure/proc_file.h"

void limits_ask(struct limits_question *question, const struct plan *plan,
                const struct connection_info *connection, const struct server_limits *server)
{
    const bool is_embedded = (plan->adapter->flags & ADAPTER_EMBEDDED) != 0;
    *question = (struct limits_question){
        .sessions = (uint64_t)plan->sessions + plan->idle_sessions,
        .connect_concurrency = plan->connect_concurrency,
        .stack_bytes = plan->stack_bytes,
        .files_per_session = plan->adapter->files_per_session,
        .is_embedded = connection == NULL ? is_embedded : connection->is_embedded,
        .server_pid = plan->server_pid,
        .server_cgroup = plan->server_cgroup,
        .server = server,
        .other_files = LIMITS_SAMPLER_FILES,
        .other_threads = LIMITS_OTHER_THREADS,
    };
    if (is_embedded) {
        question->other_files += LIMITS_EMBEDDED_FILES;
    }
    if (plan->metrics_port > 0) {
        question->other_files += LIMITS_METRICS_FILES;
        question->other_threads += connection == NULL ? 1 : 0;
    }
    if (connection == NULL) {
        /* intended starts, and so responses, are measured with a rate only */
        question->other_files += LIMITS_RUN_FILES - (plan->rate_rows_per_s == 0 ? 1U : 0U);
    }
    if (connection != NULL && !connection->is_embedded) {
        question->has_server = true;
        question->uses_tcp = connection->host[0] != '/' && connection->host[0] != '@';
        question->host = connection->host[0] == '\0' ? NULL : connection->host;
        question->port = connection->port;
    }
}

struct limit *reading_add(struct reading *reading, const struct limit *limit, struct need need)
{
    struct limit_list *list = reading->list;
    if (list->count == LIMITS_MAX) {
        return NULL;
    }
    struct limit *entry = &list->entries[list->count++];
    *entry = *limit;
    const uint64_t asked = reading->question->sessions;
    entry->needed = need.each * asked + need.fixed;
    entry->each = need.each;
    entry->sessions = LIMIT_NONE;
    if (entry->allowed != LIMIT_NONE && need.each > 0) {
        const uint64_t taken = entry->used + need.fixed;
        entry->sessions = entry->allowed > taken ? (entry->allowed - taken) / need.each : 0;
    }
    entry->grade = LIMIT_PASS;
    if (entry->sessions < asked) {
        entry->grade = entry->is_estimate ? LIMIT_WARN : LIMIT_FAIL;
    }
    return entry->grade == LIMIT_PASS ? NULL : entry;
}

void reading_warn(struct reading *reading, const struct limit *limit)
{
    struct limit_list *list = reading->list;
    if (list->count == LIMITS_MAX) {
        return;
    }
    struct limit *entry = &list->entries[list->count++];
    *entry = *limit;
    entry->grade = LIMIT_WARN;
    entry->sessions = LIMIT_NONE;
}

bool reading_load(struct reading *reading, pid_t pid, const char *name)
{
    char path[128];
    if (pid > 0) {
        snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    } else {
        snprintf(path, sizeof path, "%s", name);
    }
    return proc_file_load(reading->proc, path, &reading->text);
}

bool reading_number(struct reading *reading, const char *name, uint64_t *value)
{
    return reading_load(reading, 0, name) &&
           limits_parse_number(reading->text.bytes, reading->text.length, value);
}

bool reading_has_server_here(const struct reading *reading)
{
    const struct limits_question *question = reading->question;
    return question->has_server && !question->is_remote && !question->is_embedded;
}

struct demand reading_task_demand(const struct reading *reading)
{
    const struct limits_question *question = reading->question;
    struct demand demand = {.client = 1, .fixed = question->other_threads};
    if (reading_has_server_here(reading) && question->server != NULL) {
        demand.server = question->server->tasks_per_session;
    }
    return demand;
}

static void warn_unknown(struct reading *reading, const char *name, const char *note)
{
    struct limit limit = {.id = LIMIT_USER_TASKS,
                          .side = LIMIT_CLIENT,
                          .where = "/proc",
                          .unit = "threads",
                          .allowed = LIMIT_NONE};
    snprintf(limit.name, sizeof limit.name, "%s", name);
    snprintf(limit.note, sizeof limit.note, "not known: %s", note);
    reading_warn(reading, &limit);
}

void limits_read(const struct limits_question *question, struct limit_list *list)
{
    list->count = 0;
    struct reading reading = {.question = question, .list = list};
    reading.proc = proc_file_open_root();
    if (reading.proc < 0) {
        warn_unknown(&reading, "limits of this machine", "/proc cannot be opened");
        return;
    }
    buffer_init(&reading.text);
    const bool is_known = subject_read(&reading, &reading.client, getpid());
    if (reading_has_server_here(&reading)) {
        server_find_process(&reading);
    }
    reading_count_tasks(&reading);
    if (is_known) {
        client_read(&reading);
    } else {
        warn_unknown(&reading, "limits of this program", "/proc/self cannot be read");
    }
    if (reading_has_server_here(&reading)) {
        server_read(&reading);
    }
    database_read(&reading);
    buffer_fini(&reading.text);
    close(reading.proc);
}

uint64_t limits_sessions(const struct limit_list *list, bool with_estimates,
                         const struct limit **first)
{
    uint64_t sessions = LIMIT_NONE;
    const struct limit *binding = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct limit *limit = &list->entries[i];
        if (limit->sessions < sessions && (with_estimates || !limit->is_estimate)) {
            sessions = limit->sessions;
            binding = limit;
        }
    }
    if (first != NULL) {
        *first = binding;
    }
    return sessions;
}
