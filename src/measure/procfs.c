#include "measure/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"

enum {
    SMALL_FILE_BYTES = 1024,
    STATUS_BYTES = 4096,
};

/* What is left to read of a text with a hard end. */
struct text {
    const char *at;
    const char *end;
};

static struct text text_of(const char *text, size_t length)
{
    return (struct text){.at = text, .end = text + length};
}

static size_t remaining(struct text text)
{
    return (size_t)(text.end - text.at);
}

/* Takes what stands in front of `mark`, and the mark. False: there is none. */
static bool take_until(struct text *text, char mark, struct text *part)
{
    const char *end = remaining(*text) == 0 ? NULL : memchr(text->at, mark, remaining(*text));
    if (end == NULL) {
        return false;
    }
    *part = (struct text){.at = text->at, .end = end};
    text->at = end + 1;
    return true;
}

/* False at the end, and when the rest has no line break. */
static bool take_line(struct text *text, struct text *line)
{
    return take_until(text, '\n', line);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool take_word(struct text *text, struct text *word)
{
    while (text->at < text->end && is_blank(*text->at)) {
        text->at++;
    }
    word->at = text->at;
    while (text->at < text->end && !is_blank(*text->at)) {
        text->at++;
    }
    word->end = text->at;
    return word->at < word->end;
}

static bool take_words(struct text *text, struct text *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!take_word(text, &words[i])) {
            return false;
        }
    }
    return true;
}

static bool equals(struct text word, const char *expected)
{
    const size_t length = strlen(expected);
    return remaining(word) == length && memcmp(word.at, expected, length) == 0;
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return (unsigned)(c - '0');
    }
    if (c >= 'A' && c <= 'F') {
        return (unsigned)(c - 'A') + 10;
    }
    if (c >= 'a' && c <= 'f') {
        return (unsigned)(c - 'a') + 10;
    }
    return UINT32_MAX;
}

/* The whole of `word`. False: other characters, or too large. */
static bool to_number(struct text word, unsigned base, uint64_t *value)
{
    if (remaining(word) == 0) {
        return false;
    }
    uint64_t number = 0;
    for (const char *at = word.at; at < word.end; at++) {
        const unsigned digit = digit_value(*at);
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *value = number;
    return true;
}

static bool take_number(struct text *text, uint64_t *value)
{
    struct text word;
    return take_word(text, &word) && to_number(word, 10, value);
}

/* The numbers that begin the first line. */
static bool take_first_line(const char *text, size_t length, uint64_t *values, size_t count)
{
    struct text rest = text_of(text, length);
    struct text line;
    if (!take_line(&rest, &line)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!take_number(&line, &values[i])) {
            return false;
        }
    }
    return true;
}

static bool take_signed(struct text *text, int64_t *value)
{
    struct text word;
    if (!take_word(text, &word)) {
        return false;
    }
    const bool is_negative = *word.at == '-';
    if (is_negative) {
        word.at++;
    }
    uint64_t magnitude;
    if (!to_number(word, 10, &magnitude) || magnitude > INT64_MAX) {
        return false;
    }
    *value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

/* A number, or a word for no limit = UINT64_MAX. */
static bool take_limit(struct text *line, uint64_t *value)
{
    struct text word;
    if (!take_word(line, &word)) {
        return false;
    }
    if (equals(word, "unlimited") || equals(word, "max")) {
        *value = UINT64_MAX;
        return true;
    }
    return to_number(word, 10, value);
}

/* A value that is looked for by the word its line begins with. */
struct wanted {
    const char *key; /* with its colon, if it has one */
    unsigned base;
    bool is_kib; /* "N kB" becomes bytes */
    uint64_t *value;
    bool is_found;
};

static bool take_wanted(struct text *line, struct wanted *wanted)
{
    struct text word;
    if (!take_word(line, &word) || !to_number(word, wanted->base, wanted->value)) {
        return false;
    }
    if (wanted->is_kib) {
        if (!take_word(line, &word) || !equals(word, "kB") || *wanted->value > UINT64_MAX / 1024) {
            return false;
        }
        *wanted->value *= 1024;
    }
    wanted->is_found = true;
    return true;
}

/* False when a wanted line is malformed or the text ends within a line. */
static bool find_values(struct text rest, struct wanted *wanted, size_t count)
{
    struct text line;
    struct text key;
    while (take_line(&rest, &line)) {
        if (!take_word(&line, &key)) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            if (!wanted[i].is_found && equals(key, wanted[i].key)) {
                if (!take_wanted(&line, &wanted[i])) {
                    return false;
                }
                break;
            }
        }
    }
    return rest.at == rest.end;
}

/* user nice system idle iowait irq softirq steal; older kernels leave the last ones out. */
enum {
    CPU_FIELDS_MIN = 4,
    CPU_IDLE = 3,
    CPU_IOWAIT = 4,
    CPU_STEAL = 7,
    CPU_FIELDS_MAX = 8
};

static bool parse_cpu_line(struct text line, struct procfs_cpu *out)
{
    uint64_t fields[CPU_FIELDS_MAX] = {0};
    size_t count = 0;
    struct text word;
    out->total_ticks = 0;
    while (count < CPU_FIELDS_MAX && take_word(&line, &word)) {
        if (!to_number(word, 10, &fields[count]) || fields[count] > UINT64_MAX / CPU_FIELDS_MAX) {
            return false;
        }
        out->total_ticks += fields[count++];
    }
    out->busy_ticks = out->total_ticks - fields[CPU_IDLE] - fields[CPU_IOWAIT];
    out->steal_ticks = fields[CPU_STEAL];
    return count >= CPU_FIELDS_MIN;
}

bool procfs_parse_cpu(const char *text, size_t length, struct procfs_cpu *out)
{
    struct text rest = text_of(text, length);
    struct text line;
    struct text word;
    if (!take_line(&rest, &line) || !take_word(&line, &word) || !equals(word, "cpu") ||
        !parse_cpu_line(line, out)) {
        return false;
    }
    out->cpus = 0;
    while (take_line(&rest, &line) && take_word(&line, &word) && remaining(word) > 3 &&
           memcmp(word.at, "cpu", 3) == 0) {
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

static bool parse_stat_fields(struct text rest, struct procfs_process *out)
{
    struct text state;
    if (!take_word(&rest, &state) || remaining(state) != 1) {
        return false;
    }
    out->state = *state.at;
    int64_t fields[STAT_FIELDS];
    for (size_t i = 0; i < STAT_FIELDS; i++) {
        if (!take_signed(&rest, &fields[i])) {
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
    struct text rest = text_of(text, length);
    struct text line;
    uint64_t pid;
    if (!take_line(&rest, &line) || !take_number(&line, &pid) || pid == 0 || pid > INT_MAX ||
        remaining(line) < 2 || memcmp(line.at, " (", 2) != 0) {
        return false;
    }
    /* The name may hold blanks and parentheses; the fields behind it may not. */
    const char *name = line.at + 2;
    const char *close = memrchr(name, ')', (size_t)(line.end - name));
    if (close == NULL) {
        return false;
    }
    const size_t name_length = (size_t)(close - name);
    const size_t kept = name_length < sizeof out->name ? name_length : sizeof out->name - 1;
    memcpy(out->name, name, kept);
    out->name[kept] = '\0';
    out->pid = (pid_t)pid;
    return parse_stat_fields((struct text){.at = close + 1, .end = line.end}, out);
}

bool procfs_parse_rollup(const char *text, size_t length, struct procfs_rollup *out)
{
    *out = (struct procfs_rollup){0};
    /* All but the first are missing in older kernels, or those built without huge pages. */
    struct wanted wanted[] = {
        {"Pss:", 10, true, &out->pss_bytes, false},
        {"Pss_Anon:", 10, true, &out->pss_anon_bytes, false},
        {"Private_Hugetlb:", 10, true, &out->private_huge_bytes, false},
        {"Shared_Hugetlb:", 10, true, &out->shared_huge_bytes, false},
    };
    const bool is_read = find_values(text_of(text, length), wanted, 4);
    out->has_pss_anon = wanted[1].is_found;
    return is_read && wanted[0].is_found;
}

bool procfs_parse_statm(const char *text, size_t length, struct procfs_statm *out)
{
    uint64_t pages[4]; /* size, resident, shared, program */
    if (!take_first_line(text, length, pages, 4)) {
        return false;
    }
    *out = (struct procfs_statm){.resident_pages = pages[1], .shared_pages = pages[2]};
    return true;
}

bool procfs_parse_schedstat(const char *text, size_t length, struct procfs_schedstat *out)
{
    uint64_t values[3];
    if (!take_first_line(text, length, values, 3)) {
        return false;
    }
    *out = (struct procfs_schedstat){values[0], values[1], values[2]};
    return true;
}

bool procfs_parse_status(const char *text, size_t length, struct procfs_status *out)
{
    struct wanted wanted[] = {
        {"Uid:", 10, false, &out->uid, false},
        {"Threads:", 10, false, &out->threads, false},
        {"CapEff:", 16, false, &out->capabilities, false},
        {"VmSize:", 10, true, &out->size_bytes, false},
        {"VmHWM:", 10, true, &out->peak_bytes, false},
    };
    *out = (struct procfs_status){0};
    return find_values(text_of(text, length), wanted, 5) && wanted[0].is_found &&
           wanted[1].is_found && wanted[2].is_found;
}

/* One or more words in a row, as "Max open files". */
static bool skip_words(struct text *line, const char *words)
{
    struct text rest = text_of(words, strlen(words));
    struct text at = *line;
    struct text expected;
    struct text word;
    while (take_word(&rest, &expected)) {
        if (!take_word(&at, &word) || remaining(word) != remaining(expected) ||
            memcmp(word.at, expected.at, remaining(word)) != 0) {
            return false;
        }
    }
    *line = at;
    return true;
}

bool procfs_parse_rlimits(const char *text, size_t length, struct procfs_rlimits *out)
{
    struct text rest = text_of(text, length);
    struct text line;
    const struct {
        const char *words;
        struct procfs_rlimit *limit;
    } wanted[] = {{"Max processes", &out->tasks},
                  {"Max open files", &out->files},
                  {"Max address space", &out->address_space}};
    unsigned found = 0;
    while (take_line(&rest, &line)) {
        for (size_t i = 0; i < 3; i++) {
            if (!skip_words(&line, wanted[i].words)) {
                continue;
            }
            if (!take_limit(&line, &wanted[i].limit->soft) ||
                !take_limit(&line, &wanted[i].limit->hard)) {
                return false;
            }
            found |= 1U << i;
        }
    }
    return rest.at == rest.end && found == 7;
}

bool procfs_parse_uid_map(const char *text, size_t length, bool *is_initial)
{
    uint64_t values[3]; /* inside, outside, how many */
    if (!take_first_line(text, length, values, 3)) {
        return false;
    }
    *is_initial = values[0] == 0 && values[1] == 0 && values[2] == UINT32_MAX;
    return true;
}

bool procfs_parse_tasks(const char *text, size_t length, uint64_t *tasks)
{
    struct text rest = text_of(text, length);
    struct text line;
    struct text words[4];
    struct text running;
    return take_line(&rest, &line) && take_words(&line, words, 4) &&
           take_until(&words[3], '/', &running) && to_number(words[3], 10, tasks);
}

bool procfs_parse_memory(const char *text, size_t length, struct procfs_memory *out)
{
    struct wanted wanted[] = {
        {"MemTotal:", 10, true, &out->total, false},
        {"MemAvailable:", 10, true, &out->available, false},
        {"CommitLimit:", 10, true, &out->commit_limit, false},
        {"Committed_AS:", 10, true, &out->committed, false},
    };
    return find_values(text_of(text, length), wanted, 4) && wanted[0].is_found &&
           wanted[1].is_found && wanted[2].is_found && wanted[3].is_found;
}

bool procfs_parse_number(const char *text, size_t length, uint64_t *value)
{
    struct text rest = text_of(text, length);
    struct text line;
    return take_line(&rest, &line) && take_limit(&line, value);
}

bool procfs_parse_named(const char *text, size_t length, const char *name, uint64_t *value)
{
    struct wanted wanted = {name, 10, false, value, false};
    return find_values(text_of(text, length), &wanted, 1) && wanted.is_found;
}

/* The value that stands below `name`; the first word of both lines is the group. */
static bool find_below(struct text names, struct text values, const char *name, uint64_t *value)
{
    struct text word;
    struct text number;
    while (take_word(&names, &word) && take_word(&values, &number)) {
        if (equals(word, name)) {
            return to_number(number, 10, value);
        }
    }
    return false;
}

bool procfs_parse_netstat(const char *text, size_t length, const char *name, uint64_t *value)
{
    struct text rest = text_of(text, length);
    struct text names;
    struct text values;
    while (take_line(&rest, &names) && take_line(&rest, &values)) {
        if (find_below(names, values, name, value)) {
            return true;
        }
    }
    return false;
}

bool procfs_count_lines(const char *text, size_t length, uint64_t *lines)
{
    struct text rest = text_of(text, length);
    struct text line;
    *lines = 0;
    while (take_line(&rest, &line)) {
        (*lines)++;
    }
    return rest.at == rest.end;
}

enum tcp_state {
    TCP_TIME_WAIT = 6,
    TCP_LISTEN = 10,
};

/* A row of /proc/net/tcp. */
struct socket_row {
    uint64_t local_port;
    uint64_t address; /* of the peer, as the next */
    uint64_t port;
    uint64_t state;
    uint64_t timer; /* ticks of 1/100 s until it runs out: of TIME_WAIT its end */
    uint64_t inode;
};

/* "0100007F:1538"; of an IPv6 address only the last four bytes, which are all of an IPv4 one. */
static bool parse_end(struct text word, uint64_t *address, uint64_t *port)
{
    enum {
        IP4_DIGITS = 8
    };
    struct text digits;
    if (!take_until(&word, ':', &digits) || remaining(digits) < IP4_DIGITS) {
        return false;
    }
    digits.at = digits.end - IP4_DIGITS;
    return to_number(digits, 16, address) && to_number(word, 16, port) && *port <= UINT16_MAX;
}

/* "0: 0100007F:1538 0100007F:8000 06 00000000:00000000 03:00001756 00000000 0 0 4711 ..." */
static bool parse_row(struct text line, struct socket_row *row)
{
    enum {
        LOCAL = 1,
        PEER,
        STATE,
        TIMER = 5,
        INODE = 9,
        FIELDS,
    };
    struct text fields[FIELDS];
    struct text kind;
    uint64_t local_address;
    return take_words(&line, fields, FIELDS) &&
           parse_end(fields[LOCAL], &local_address, &row->local_port) &&
           parse_end(fields[PEER], &row->address, &row->port) &&
           to_number(fields[STATE], 16, &row->state) && take_until(&fields[TIMER], ':', &kind) &&
           to_number(fields[TIMER], 16, &row->timer) && to_number(fields[INODE], 10, &row->inode);
}

/* Skips the line of headings, the first of which is `first`. */
static bool skip_heading(struct text *rest, const char *first)
{
    struct text line;
    struct text word;
    return take_line(rest, &line) && take_word(&line, &word) && equals(word, first);
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
    struct text rest = text_of(text, length);
    struct text line;
    if (!skip_heading(&rest, "sl")) {
        return false;
    }
    while (take_line(&rest, &line)) {
        struct socket_row row;
        if (!parse_row(line, &row)) {
            return false;
        }
        if (row.state == TCP_LISTEN && row.local_port == port) {
            add_inode(found, row.inode);
        }
    }
    return rest.at == rest.end;
}

/* Whether a socket's path is the one that is looked for, or lies in that folder for the port. */
static bool is_unix_path(struct text socket, const char *path, uint16_t port)
{
    const size_t length = strlen(path);
    if (remaining(socket) < length || memcmp(socket.at, path, length) != 0) {
        return false;
    }
    if (remaining(socket) == length) {
        return true;
    }
    char end[8];
    const size_t end_length = (size_t)snprintf(end, sizeof end, ".%u", (unsigned)port);
    const char *name = socket.at + length;
    const size_t name_length = (size_t)(socket.end - name);
    return name[0] == '/' && memchr(name + 1, '/', name_length - 1) == NULL &&
           name_length > end_length && memcmp(socket.end - end_length, end, end_length) == 0;
}

bool procfs_parse_unix_listeners(const char *text, size_t length, const char *path, uint16_t port,
                                 struct procfs_inodes *found)
{
    enum {
        FLAGS = 3, /* number, references, protocol, flags, type, state, inode, path */
        INODE = 6,
        FIELDS,
        ACCEPTS = 0x10000
    };
    struct text rest = text_of(text, length);
    struct text line;
    struct text word;
    if (!skip_heading(&rest, "Num")) {
        return false;
    }
    while (take_line(&rest, &line)) {
        struct text fields[FIELDS];
        uint64_t flags;
        uint64_t inode;
        if (!take_words(&line, fields, FIELDS) || !to_number(fields[FLAGS], 16, &flags) ||
            !to_number(fields[INODE], 10, &inode)) {
            return false;
        }
        if ((flags & ACCEPTS) != 0 && take_word(&line, &word) &&
            is_unix_path((struct text){.at = word.at, .end = line.end}, path, port)) {
            add_inode(found, inode);
        }
    }
    return rest.at == rest.end;
}

static void add_port(struct procfs_ports *ports, uint16_t port)
{
    ports->bits[port / 8] = (uint8_t)(ports->bits[port / 8] | 1U << port % 8);
}

bool procfs_ports_hold(const struct procfs_ports *ports, uint16_t port)
{
    return ((unsigned)ports->bits[port / 8] >> port % 8 & 1U) != 0;
}

bool procfs_parse_port_range(const char *text, size_t length, struct procfs_port_range *out)
{
    uint64_t ends[2];
    if (!take_first_line(text, length, ends, 2) || ends[0] > ends[1] || ends[1] > UINT16_MAX) {
        return false;
    }
    *out = (struct procfs_port_range){.low = (uint16_t)ends[0], .high = (uint16_t)ends[1]};
    return true;
}

/* "8080" or "9000-9010" */
static bool add_range(struct text part, struct procfs_ports *ports)
{
    struct text first;
    uint64_t low;
    uint64_t high;
    if (!take_until(&part, '-', &first)) {
        first = part;
    }
    if (!to_number(first, 10, &low) || !to_number(part, 10, &high) || low > high ||
        high > UINT16_MAX) {
        return false;
    }
    for (uint64_t port = low; port <= high; port++) {
        add_port(ports, (uint16_t)port);
    }
    return true;
}

bool procfs_parse_reserved(const char *text, size_t length, struct procfs_ports *ports)
{
    struct text rest = text_of(text, length);
    struct text line;
    struct text part;
    if (!take_line(&rest, &line)) {
        return false;
    }
    if (line.at == line.end) {
        return true;
    }
    while (take_until(&line, ',', &part)) {
        if (!add_range(part, ports)) {
            return false;
        }
    }
    return add_range(line, ports);
}

bool procfs_parse_sockets(const char *text, size_t length,
                          const struct procfs_destination *destination, struct procfs_ports *ports,
                          uint64_t *waiting)
{
    enum {
        YOUNG_TICKS = 5900 /* of the 60 s that TIME_WAIT lasts */
    };
    struct text rest = text_of(text, length);
    struct text line;
    *waiting = 0;
    if (!skip_heading(&rest, "sl")) {
        return false;
    }
    while (take_line(&rest, &line)) {
        struct socket_row row;
        if (!parse_row(line, &row)) {
            return false;
        }
        const bool is_there = row.port == destination->port &&
                              (destination->address == 0 || destination->address == row.address);
        const bool is_waiting = row.state == TCP_TIME_WAIT;
        const bool is_reused =
            is_waiting && destination->is_wait_reused && row.timer <= YOUNG_TICKS;
        if (row.state != TCP_LISTEN && (!is_there || is_reused)) {
            continue;
        }
        const uint16_t port = (uint16_t)row.local_port;
        *waiting += is_waiting && !procfs_ports_hold(ports, port) ? 1 : 0;
        add_port(ports, port);
    }
    return rest.at == rest.end;
}

bool procfs_parse_cgroup_memory(const char *text, size_t length, uint64_t *bytes)
{
    uint64_t values[4];
    struct wanted wanted[] = {
        {"total_rss", 10, false, &values[0], false},
        {"total_shmem", 10, false, &values[1], false},
        {"anon", 10, false, &values[2], false},
        {"shmem", 10, false, &values[3], false},
    };
    if (!find_values(text_of(text, length), wanted, 4)) {
        return false;
    }
    /* Version 1 has a plain "shmem" too, without the cgroups below: its totals come first. */
    for (size_t i = 0; i < 4; i += 2) {
        if (wanted[i].is_found && wanted[i + 1].is_found &&
            values[i] <= UINT64_MAX - values[i + 1]) {
            *bytes = values[i] + values[i + 1];
            return true;
        }
    }
    return false;
}

bool procfs_parse_cgroup_cache(const char *text, size_t length, uint64_t *bytes)
{
    uint64_t own = 0;
    uint64_t total = 0;
    struct wanted wanted[] = {
        {"inactive_file", 10, false, &own, false},
        {"total_inactive_file", 10, false, &total, false},
    };
    if (!find_values(text_of(text, length), wanted, 2)) {
        return false;
    }
    /* version 1 has both, and its plain figure is without the cgroups below */
    *bytes = wanted[1].is_found ? total : own;
    return wanted[0].is_found || wanted[1].is_found;
}

bool procfs_next_pid(const char *text, size_t length, size_t *offset, pid_t *pid)
{
    struct text rest = text_of(text + *offset, length - *offset);
    struct text line;
    uint64_t number;
    if (!take_line(&rest, &line) || !to_number(line, 10, &number) || number > INT_MAX) {
        return false;
    }
    *pid = (pid_t)number;
    *offset = (size_t)(rest.at - text);
    return true;
}

/* True when the comma-separated list holds the word. */
static bool list_holds(struct text list, const char *word)
{
    struct text part;
    while (take_until(&list, ',', &part)) {
        if (equals(part, word)) {
            return true;
        }
    }
    return equals(list, word);
}

static bool copy_path(struct text from, char path[PROCFS_PATH_BYTES])
{
    const size_t length = remaining(from);
    if (length == 0 || length >= PROCFS_PATH_BYTES || *from.at != '/' ||
        memchr(from.at, '\0', length) != NULL) {
        return false;
    }
    memcpy(path, from.at, length);
    path[length] = '\0';
    return true;
}

bool procfs_parse_cgroup(const char *text, size_t length, const char *controller,
                         char path[PROCFS_PATH_BYTES])
{
    struct text rest = text_of(text, length);
    struct text line;
    bool is_found = false;
    while (take_line(&rest, &line)) {
        struct text number;
        struct text controllers;
        if (!take_until(&line, ':', &number) || !take_until(&line, ':', &controllers)) {
            return false;
        }
        if (!is_found && list_holds(controllers, controller)) {
            is_found = copy_path(line, path);
            if (!is_found) {
                return false;
            }
        }
    }
    return is_found && rest.at == rest.end;
}

/* Blanks and the like are \040 in mountinfo. */
static bool unescape(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0'; to++) {
        if (*from != '\\') {
            *to = *from++;
            continue;
        }
        unsigned value = 0;
        for (int i = 1; i <= 3; i++) {
            if (from[i] < '0' || from[i] > '7') {
                return false;
            }
            value = value * 8 + (unsigned)(from[i] - '0');
        }
        if (value == 0 || value > UINT8_MAX) {
            return false;
        }
        *to = (char)value;
        from += 4;
    }
    *to = '\0';
    return true;
}

/* 36 35 98:0 /root /point options [optional ...] - type source super-options */
static bool parse_mount_line(struct text line, const char *controller, struct procfs_mount *out)
{
    enum {
        ROOT = 3,
        POINT,
        FIELDS,
    };
    struct text fields[FIELDS];
    struct text type[3]; /* type, source, options */
    struct text word;
    if (!take_words(&line, fields, FIELDS)) {
        return false;
    }
    do {
        if (!take_word(&line, &word)) {
            return false;
        }
    } while (!equals(word, "-"));
    if (!take_words(&line, type, 3)) {
        return false;
    }
    const bool is_wanted = controller[0] == '\0'
                               ? equals(type[0], "cgroup2")
                               : equals(type[0], "cgroup") && list_holds(type[2], controller);
    return is_wanted && copy_path(fields[ROOT], out->root) &&
           copy_path(fields[POINT], out->point) && unescape(out->root) && unescape(out->point);
}

bool procfs_parse_mount(const char *text, size_t length, const char *controller,
                        struct procfs_mount *out)
{
    struct text rest = text_of(text, length);
    struct text line;
    while (take_line(&rest, &line)) {
        if (parse_mount_line(line, controller, out)) {
            return true;
        }
    }
    return false;
}

int procfs_open(void)
{
    return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

DIR *procfs_open_folder(int directory, const char *path)
{
    const int file = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = file < 0 ? NULL : fdopendir(file);
    if (folder == NULL && file >= 0) {
        close(file);
    }
    return folder;
}

static ssize_t read_again(int file, char *bytes, size_t size)
{
    ssize_t length;
    do {
        length = read(file, bytes, size);
    } while (length < 0 && errno == EINTR);
    return length;
}

ssize_t procfs_read(int directory, const char *path, char *bytes, size_t size)
{
    const int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    const ssize_t length = read_again(file, bytes, size);
    const int reason = errno;
    close(file);
    errno = reason;
    return length;
}

bool procfs_load(int directory, const char *path, struct buffer *buffer)
{
    buffer_clear(buffer);
    const int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    char chunk[16384];
    ssize_t length;
    while ((length = read_again(file, chunk, sizeof chunk)) > 0) {
        buffer_add(buffer, chunk, (size_t)length);
    }
    const int reason = errno;
    close(file);
    errno = buffer_failed(buffer) ? ENOMEM : reason;
    return length == 0 && !buffer_failed(buffer);
}

bool procfs_read_process(int proc, pid_t pid, struct procfs_process *process)
{
    char path[64];
    char text[SMALL_FILE_BYTES];
    snprintf(path, sizeof path, "%d/stat", (int)pid);
    const ssize_t length = procfs_read(proc, path, text, sizeof text);
    if (length < 0) {
        return false;
    }
    if (!procfs_parse_process(text, (size_t)length, process)) {
        errno = ESRCH;
        return false;
    }
    return true;
}

bool procfs_read_listeners(int proc, uint16_t port, struct procfs_inodes *found)
{
    static const char *const files[] = {"net/tcp", "net/tcp6"};
    struct buffer text;
    bool is_read = false;
    buffer_init(&text);
    for (size_t i = 0; i < 2; i++) {
        /* A machine without IPv6 has no tcp6. */
        if (procfs_load(proc, files[i], &text)) {
            is_read = true;
            procfs_parse_listeners(buffer_text(&text), text.length, port, found);
        }
    }
    buffer_fini(&text);
    return is_read;
}

size_t procfs_own_rss_bytes(int proc)
{
    char text[SMALL_FILE_BYTES];
    struct procfs_statm statm;
    const ssize_t length = procfs_read(proc, "self/statm", text, sizeof text);
    if (length < 0 || !procfs_parse_statm(text, (size_t)length, &statm)) {
        return 0;
    }
    return (size_t)statm.resident_pages * (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t procfs_own_peak_bytes(int proc)
{
    char text[STATUS_BYTES];
    struct procfs_status status;
    const ssize_t length = procfs_read(proc, "self/status", text, sizeof text);
    return length >= 0 && procfs_parse_status(text, (size_t)length, &status) ? status.peak_bytes
                                                                             : 0;
}

int procfs_open_thread(void)
{
    return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

bool procfs_read_thread_file(int file, struct procfs_schedstat *time)
{
    char text[96];
    const ssize_t length = file < 0 ? -1 : pread(file, text, sizeof text, 0);
    return length > 0 && procfs_parse_schedstat(text, (size_t)length, time);
}

void procfs_read_thread(struct procfs_schedstat *time)
{
    const int file = procfs_open_thread();
    const bool is_read = procfs_read_thread_file(file, time);
    if (file >= 0) {
        close(file);
    }
    if (is_read) {
        return;
    }
    struct timespec cpu = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    *time = (struct procfs_schedstat){.on_cpu_ns = (uint64_t)cpu.tv_sec * (uint64_t)MONO_NS_PER_S +
                                                   (uint64_t)cpu.tv_nsec};
}
