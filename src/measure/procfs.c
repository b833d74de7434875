#include "measure/procfs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "measure/procfs_text.h"

enum {
    KIB = 1024
};

/* user nice system idle iowait irq softirq steal; older kernels leave the last ones out. */
enum {
    CPU_FIELDS_MIN = 4,
    CPU_IDLE = 3,
    CPU_IOWAIT = 4,
    CPU_STEAL = 7,
    CPU_FIELDS_MAX = 8
};

static bool parse_cpu_line(struct procfs_text line, struct procfs_cpu *out)
{
    uint64_t fields[CPU_FIELDS_MAX] = {0};
    size_t count = 0;
    struct procfs_text word;
    while (count < CPU_FIELDS_MAX && procfs_text_word(&line, &word)) {
        if (!procfs_text_number(word, 10, &fields[count]) ||
            fields[count] > UINT64_MAX / CPU_FIELDS_MAX) {
            return false;
        }
        count++;
    }
    if (count < CPU_FIELDS_MIN) {
        return false;
    }
    out->total_ticks = 0;
    for (size_t i = 0; i < count; i++) {
        out->total_ticks += fields[i];
    }
    out->busy_ticks = out->total_ticks - fields[CPU_IDLE] - fields[CPU_IOWAIT];
    out->steal_ticks = fields[CPU_STEAL];
    return true;
}

bool procfs_parse_cpu(const char *text, size_t length, struct procfs_cpu *out)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    struct procfs_text word;
    if (!procfs_text_line(&rest, &line) || !procfs_text_word(&line, &word) ||
        !procfs_text_equals(word, "cpu") || !parse_cpu_line(line, out)) {
        return false;
    }
    out->cpus = 0;
    while (procfs_text_line(&rest, &line) && procfs_text_word(&line, &word) &&
           word.end - word.at > 3 && memcmp(word.at, "cpu", 3) == 0) {
        out->cpus++;
    }
    return out->cpus > 0;
}

/* Fields of /proc/PID/stat, counted from the one behind the name and the state. */
enum {
    STAT_PARENT = 0,
    STAT_UTIME = 10,
    STAT_STIME = 11,
    STAT_CUTIME = 12,
    STAT_CSTIME = 13,
    STAT_THREADS = 16,
    STAT_START = 18,
    STAT_FIELDS = 19,
};

static uint64_t sum_of_times(int64_t user, int64_t system)
{
    return (user > 0 ? (uint64_t)user : 0) + (system > 0 ? (uint64_t)system : 0);
}

static bool parse_stat_fields(struct procfs_text rest, struct procfs_process *out)
{
    struct procfs_text state;
    if (!procfs_text_word(&rest, &state) || state.end - state.at != 1) {
        return false;
    }
    out->state = *state.at;
    int64_t fields[STAT_FIELDS];
    for (size_t i = 0; i < STAT_FIELDS; i++) {
        if (!procfs_text_take_signed(&rest, &fields[i])) {
            return false;
        }
    }
    if (fields[STAT_PARENT] < 0 || fields[STAT_PARENT] > INT_MAX || fields[STAT_THREADS] < 0 ||
        fields[STAT_THREADS] > INT_MAX || fields[STAT_START] < 0) {
        return false;
    }
    out->parent = (pid_t)fields[STAT_PARENT];
    out->threads = (unsigned)fields[STAT_THREADS];
    out->own_ticks = sum_of_times(fields[STAT_UTIME], fields[STAT_STIME]);
    out->reaped_ticks = sum_of_times(fields[STAT_CUTIME], fields[STAT_CSTIME]);
    out->start_ticks = (uint64_t)fields[STAT_START];
    return true;
}

bool procfs_parse_process(const char *text, size_t length, struct procfs_process *out)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    uint64_t pid;
    if (!procfs_text_line(&rest, &line) || !procfs_text_take(&line, &pid) || pid == 0 ||
        pid > INT_MAX || line.end - line.at < 2 || memcmp(line.at, " (", 2) != 0) {
        return false;
    }
    /* The name may hold blanks and parentheses; the fields behind it may not. */
    const char *name = line.at + 2;
    const char *close = memrchr(name, ')', (size_t)(line.end - name));
    if (close == NULL) {
        return false;
    }
    const size_t name_length = (size_t)(close - name);
    const size_t kept = name_length < sizeof(out->name) ? name_length : sizeof(out->name) - 1;
    memcpy(out->name, name, kept);
    out->name[kept] = '\0';
    out->pid = (pid_t)pid;
    return parse_stat_fields((struct procfs_text){.at = close + 1, .end = line.end}, out);
}

struct wanted_value {
    const char *key;
    uint64_t *value;
    bool is_found;
};

/* Looks for lines of a key, a number and, when `unit` is not NULL, that unit. False when a wanted
 * line is malformed or the text ends within a line. */
static bool find_values(struct procfs_text rest, const char *unit, struct wanted_value *wanted,
                        size_t count)
{
    struct procfs_text line;
    while (procfs_text_line(&rest, &line)) {
        struct procfs_text key;
        if (!procfs_text_word(&line, &key)) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            if (!procfs_text_equals(key, wanted[i].key)) {
                continue;
            }
            struct procfs_text word;
            if (!procfs_text_take(&line, wanted[i].value) ||
                (unit != NULL &&
                 (!procfs_text_word(&line, &word) || !procfs_text_equals(word, unit)))) {
                return false;
            }
            wanted[i].is_found = true;
            break;
        }
    }
    return rest.at == rest.end;
}

static bool to_bytes(uint64_t *kib)
{
    if (*kib > UINT64_MAX / KIB) {
        return false;
    }
    *kib *= KIB;
    return true;
}

bool procfs_parse_rollup(const char *text, size_t length, struct procfs_rollup *out)
{
    *out = (struct procfs_rollup){0};
    /* All but the first are missing in older kernels, or those built without huge pages. */
    struct wanted_value wanted[] = {
        {"Pss:", &out->pss_bytes, false},
        {"Pss_Anon:", &out->pss_anon_bytes, false},
        {"Private_Hugetlb:", &out->private_huge_bytes, false},
        {"Shared_Hugetlb:", &out->shared_huge_bytes, false},
    };
    const size_t count = sizeof(wanted) / sizeof(wanted[0]);
    if (!find_values(procfs_text_of(text, length), "kB", wanted, count) || !wanted[0].is_found) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!to_bytes(wanted[i].value)) {
            return false;
        }
    }
    out->has_pss_anon = wanted[1].is_found;
    return true;
}

bool procfs_parse_statm(const char *text, size_t length, struct procfs_statm *out)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    uint64_t size;
    uint64_t text_pages;
    return procfs_text_line(&rest, &line) && procfs_text_take(&line, &size) &&
           procfs_text_take(&line, &out->resident_pages) &&
           procfs_text_take(&line, &out->shared_pages) && procfs_text_take(&line, &text_pages);
}

bool procfs_parse_schedstat(const char *text, size_t length, struct procfs_schedstat *out)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    return procfs_text_line(&rest, &line) && procfs_text_take(&line, &out->on_cpu_ns) &&
           procfs_text_take(&line, &out->run_queue_ns) && procfs_text_take(&line, &out->slices);
}

bool procfs_parse_peak(const char *text, size_t length, uint64_t *peak_bytes)
{
    struct wanted_value wanted = {"VmHWM:", peak_bytes, false};
    return find_values(procfs_text_of(text, length), "kB", &wanted, 1) && wanted.is_found &&
           to_bytes(peak_bytes);
}

/* One line of /proc/net/tcp: "sl: local:port remote:port state queues timer retransmits uid
 * timeout inode ...". */
static bool parse_socket_line(struct procfs_text line, uint16_t *port, bool *is_listening,
                              uint64_t *inode)
{
    enum {
        FIELDS = 10,
        LOCAL = 1,
        STATE = 3,
        INODE = 9,
        TCP_LISTENING = 10
    };
    struct procfs_text fields[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        if (!procfs_text_word(&line, &fields[i])) {
            return false;
        }
    }
    struct procfs_text local = fields[LOCAL];
    const char *colon = memrchr(local.at, ':', (size_t)(local.end - local.at));
    if (colon == NULL) {
        return false;
    }
    uint64_t number;
    uint64_t state;
    local.at = colon + 1;
    if (!procfs_text_number(local, 16, &number) || number > UINT16_MAX ||
        !procfs_text_number(fields[STATE], 16, &state) ||
        !procfs_text_number(fields[INODE], 10, inode)) {
        return false;
    }
    *port = (uint16_t)number;
    *is_listening = state == TCP_LISTENING;
    return true;
}

static void add_inode(struct procfs_inodes *found, uint64_t inode)
{
    if (found->count < PROCFS_INODES_MAX) {
        found->inodes[found->count++] = inode;
    }
}

bool procfs_parse_listeners(const char *text, size_t length, uint16_t port,
                            struct procfs_inodes *found)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    struct procfs_text word;
    if (!procfs_text_line(&rest, &line) || !procfs_text_word(&line, &word) ||
        !procfs_text_equals(word, "sl")) {
        return false;
    }
    while (procfs_text_line(&rest, &line)) {
        uint16_t local_port;
        bool is_listening;
        uint64_t inode;
        if (!parse_socket_line(line, &local_port, &is_listening, &inode)) {
            return false;
        }
        if (is_listening && local_port == port) {
            add_inode(found, inode);
        }
    }
    return rest.at == rest.end;
}

/* Whether a socket's path is the one that is looked for, or lies in that folder for the port. */
static bool is_unix_path(struct procfs_text socket, const char *path, uint16_t port)
{
    const size_t length = strlen(path);
    const size_t socket_length = (size_t)(socket.end - socket.at);
    if (socket_length < length || memcmp(socket.at, path, length) != 0) {
        return false;
    }
    if (socket_length == length) {
        return true;
    }
    char end[8];
    const size_t end_length = (size_t)snprintf(end, sizeof(end), ".%u", (unsigned)port);
    const char *name = socket.at + length;
    const size_t name_length = socket_length - length;
    return name[0] == '/' && memchr(name + 1, '/', name_length - 1) == NULL &&
           name_length > end_length && memcmp(socket.end - end_length, end, end_length) == 0;
}

bool procfs_parse_unix_listeners(const char *text, size_t length, const char *path, uint16_t port,
                                 struct procfs_inodes *found)
{
    enum {
        FLAGS = 3, /* fields before the inode: number, references, protocol, flags, type, state */
        INODE = 6,
        ACCEPTS = 0x10000
    };
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    struct procfs_text word;
    if (!procfs_text_line(&rest, &line) || !procfs_text_word(&line, &word) ||
        !procfs_text_equals(word, "Num")) {
        return false;
    }
    while (procfs_text_line(&rest, &line)) {
        uint64_t flags = 0;
        uint64_t inode = 0;
        for (int field = 0; field <= INODE; field++) {
            if (!procfs_text_word(&line, &word) ||
                (field == FLAGS && !procfs_text_number(word, 16, &flags)) ||
                (field == INODE && !procfs_text_number(word, 10, &inode))) {
                return false;
            }
        }
        if ((flags & ACCEPTS) != 0 && procfs_text_word(&line, &word) &&
            is_unix_path((struct procfs_text){.at = word.at, .end = line.end}, path, port)) {
            add_inode(found, inode);
        }
    }
    return rest.at == rest.end;
}

bool procfs_parse_cgroup_memory(const char *text, size_t length, uint64_t *bytes)
{
    uint64_t anon = 0;
    uint64_t shmem = 0;
    uint64_t total_rss = 0;
    uint64_t total_shmem = 0;
    struct wanted_value wanted[] = {
        {"anon", &anon, false},
        {"shmem", &shmem, false},
        {"total_rss", &total_rss, false},
        {"total_shmem", &total_shmem, false},
    };
    if (!find_values(procfs_text_of(text, length), NULL, wanted, 4)) {
        return false;
    }
    /* Version 1 has a plain "shmem" too, without the cgroups below: its totals come first. */
    if (wanted[2].is_found && wanted[3].is_found && total_rss <= UINT64_MAX - total_shmem) {
        *bytes = total_rss + total_shmem;
        return true;
    }
    if (wanted[0].is_found && wanted[1].is_found && anon <= UINT64_MAX - shmem) {
        *bytes = anon + shmem;
        return true;
    }
    return false;
}

bool procfs_parse_cgroup_cpu(const char *text, size_t length, uint64_t *usage_us)
{
    struct wanted_value wanted = {"usage_usec", usage_us, false};
    return find_values(procfs_text_of(text, length), NULL, &wanted, 1) && wanted.is_found;
}

bool procfs_next_pid(const char *text, size_t length, size_t *offset, pid_t *pid)
{
    struct procfs_text rest = procfs_text_of(text + *offset, length - *offset);
    struct procfs_text line;
    uint64_t number;
    if (!procfs_text_line(&rest, &line) || !procfs_text_number(line, 10, &number) ||
        number > INT_MAX) {
        return false;
    }
    *pid = (pid_t)number;
    *offset = (size_t)(rest.at - text);
    return true;
}

/* True when the comma-separated list holds the word. */
static bool list_holds(struct procfs_text list, const char *word)
{
    while (list.at < list.end) {
        const char *comma = memchr(list.at, ',', (size_t)(list.end - list.at));
        const char *end = comma != NULL ? comma : list.end;
        if (procfs_text_equals((struct procfs_text){.at = list.at, .end = end}, word)) {
            return true;
        }
        list.at = comma != NULL ? comma + 1 : list.end;
    }
    return false;
}

bool procfs_parse_cgroup(const char *text, size_t length, struct procfs_cgroup *out)
{
    *out = (struct procfs_cgroup){0};
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    while (procfs_text_line(&rest, &line)) {
        const char *first = memchr(line.at, ':', (size_t)(line.end - line.at));
        if (first == NULL) {
            return false;
        }
        const char *controllers = first + 1;
        const char *second = memchr(controllers, ':', (size_t)(line.end - controllers));
        if (second == NULL || second + 1 >= line.end || second[1] != '/') {
            return false;
        }
        const size_t path_length = (size_t)(line.end - second - 1);
        if (second == controllers) {
            out->unified = second + 1;
            out->unified_length = path_length;
        } else if (list_holds((struct procfs_text){.at = controllers, .end = second}, "memory")) {
            out->memory = second + 1;
            out->memory_length = path_length;
        }
    }
    return rest.at == rest.end && (out->unified != NULL || out->memory != NULL);
}
