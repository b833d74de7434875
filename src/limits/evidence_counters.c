#include "limits/evidence_counters.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "measure/proc_file.h"
#include "measure/procfs_text.h"

/* The value that stands below `name`; the first word of both lines is the group. */
static bool find_below(struct procfs_text names, struct procfs_text values, const char *name,
                       uint64_t *value)
{
    struct procfs_text word;
    struct procfs_text number;
    while (procfs_text_word(&names, &word)) {
        if (!procfs_text_word(&values, &number)) {
            return false;
        }
        if (procfs_text_equals(word, name)) {
            return procfs_text_number(number, 10, value);
        }
    }
    return false;
}

bool evidence_parse_netstat(const char *text, size_t length, const char *name, uint64_t *value)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text names;
    struct procfs_text values;
    while (procfs_text_line(&rest, &names) && procfs_text_line(&rest, &values)) {
        if (find_below(names, values, name, value)) {
            return true;
        }
    }
    return false;
}

static void read_listeners(pid_t server_pid, struct evidence_counters *counters)
{
    static const struct {
        enum evidence_counter counter;
        const char *name;
    } wanted[] = {
        {EVIDENCE_LISTEN_OVERFLOWS, "ListenOverflows"},
        {EVIDENCE_LISTEN_DROPS, "ListenDrops"},
    };
    char path[64] = "/proc/net/netstat";
    if (server_pid > 0) {
        snprintf(path, sizeof path, "/proc/%d/net/netstat", (int)server_pid);
    }
    struct buffer text;
    buffer_init(&text);
    for (size_t i = 0; i < 2 && proc_file_load(AT_FDCWD, path, &text); i++) {
        const enum evidence_counter counter = wanted[i].counter;
        counters->is_known[counter] = evidence_parse_netstat(
            buffer_text(&text), text.length, wanted[i].name, &counters->values[counter]);
    }
    buffer_fini(&text);
}

static void read_value(const char *path, const char *name, enum evidence_counter counter,
                       struct evidence_counters *counters)
{
    struct buffer text;
    buffer_init(&text);
    if (!counters->is_known[counter] && proc_file_load(AT_FDCWD, path, &text)) {
        counters->is_known[counter] = procfs_text_find(
            procfs_text_of(buffer_text(&text), text.length), name, &counters->values[counter]);
    }
    buffer_fini(&text);
}

/* The counter stands in a file beside that of the limit. */
static void read_beside(const struct limit *limit, const char *file, const char *name,
                        enum evidence_counter counter, struct evidence_counters *counters)
{
    char path[sizeof limit->where + 32];
    const char *slash = strrchr(limit->where, '/');
    if (limit->where[0] == '/' && slash != NULL) {
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - limit->where), limit->where, file);
        read_value(path, name, counter, counters);
    }
}

static void read_cgroup(const struct limit *limit, struct evidence_counters *counters)
{
    const bool is_client = limit->side == LIMIT_CLIENT;
    if (limit->id == LIMIT_CGROUP_TASKS) {
        read_beside(limit, "pids.events", "max",
                    is_client ? EVIDENCE_CLIENT_FORKS : EVIDENCE_SERVER_FORKS, counters);
    } else if (limit->id == LIMIT_CGROUP_MEMORY && !is_client) {
        /* version 2, and version 1 */
        read_beside(limit, "memory.events", "oom_kill", EVIDENCE_SERVER_OOM_KILLS, counters);
        read_beside(limit, "memory.oom_control", "oom_kill", EVIDENCE_SERVER_OOM_KILLS, counters);
    }
}

void evidence_counters_read(const struct evidence_places *places,
                            struct evidence_counters *counters)
{
    memset(counters, 0, sizeof *counters);
    if (!places->is_remote) {
        read_listeners(places->server_pid, counters);
    }
    read_value("/proc/vmstat", "oom_kill", EVIDENCE_OOM_KILLS, counters);
    for (size_t i = 0; i < places->limits->count; i++) {
        read_cgroup(&places->limits->entries[i], counters);
    }
}

uint64_t evidence_growth(const struct evidence_counters *before,
                         const struct evidence_counters *after, enum evidence_counter counter)
{
    const bool is_known = before->is_known[counter] && after->is_known[counter];
    const bool has_grown = is_known && after->values[counter] > before->values[counter];
    return has_grown ? after->values[counter] - before->values[counter] : 0;
}
