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
        .server = server,
        .other_files = LIMITS_SAMPLER_FILES + (connection == NULL ? LIMITS_RUN_FILES : 0),
        .other_threads = LIMITS_OTHER_THREADS,
    };
    if (connection != NULL && !connection->is_embedded) {
        question->has_server = true;
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

uint64_t reading_tasks_each(const struct reading *reading)
{
    const struct limits_question *question = reading->question;
    const bool is_here = question->has_server && !question->is_remote && !question->is_embedded;
    return 1 + (is_here && question->server != NULL ? question->server->tasks_per_session : 0);
}

void limits_read(const struct limits_question *question, struct limit_list *list)
{
    list->count = 0;
    struct reading reading = {.question = question, .list = list};
    reading.proc = proc_file_open_root();
    if (reading.proc < 0) {
        reading_warn(&reading, &(struct limit){.id = LIMIT_USER_TASKS,
                                               .side = LIMIT_CLIENT,
                                               .name = "limits",
                                               .where = "/proc",
                                               .unit = "files",
                                               .allowed = LIMIT_NONE,
                                               .note = "/proc cannot be opened"});
        return;
    }
    buffer_init(&reading.text);
    subject_read(&reading, &reading.client, getpid());
    reading.client.side = LIMIT_CLIENT;
    reading_count_tasks(&reading);
    client_read(&reading);
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
