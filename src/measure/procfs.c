#include "measure/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"

/* PF_EXITING of the kernel, in the flags of /proc/PID/stat. */
#define FLAG_EXITING 4

/* The rest of a text, from `at` up to but not including `end`; not NUL-terminated. */
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

/* Takes the text up to `mark`, and skips the mark. Returns false if `mark` is missing. */
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

/* Takes a line. Returns false at the end, and if the rest has no line break. */
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

static bool equals(struct text word, const char *expected)
{
    const size_t length = strlen(expected);
    return remaining(word) == length && memcmp(word.at, expected, length) == 0;
}

/* Converts the whole of `word` to a number. Returns false if a character is not a digit of the
 * base, or if the number is too large. */
static bool to_number(struct text word, unsigned base, uint64_t *value)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t number = 0;
    for (const char *at = word.at; at < word.end; at++) {
        const char *found = memchr(digits, tolower((unsigned char)*at), base);
        const uint64_t digit = found == NULL ? UINT64_MAX : (uint64_t)(found - digits);
        if (found == NULL || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *value = number;
    return remaining(word) > 0;
}

/* Takes one word of the line for each letter of `form`, and writes the numbers to `values`:
 *   .  any word               d  a decimal number         x  a hexadecimal number
 *   t  a decimal number; a negative number is 0           k  "N kB", in bytes
 *   l  a decimal number; "max" and "unlimited" yield UINT64_MAX
 *   :  two hexadecimal numbers "A:B"; only the last 8 digits of A are used */
static bool take(struct text *line, const char *form, uint64_t *values)
{
    for (; *form != '\0'; form++) {
        struct text word;
        struct text left;
        bool is_valid = take_word(line, &word);
        if (is_valid && *form == ':') {
            is_valid = take_until(&word, ':', &left) && remaining(left) > 0;
            left.at = is_valid && remaining(left) > 8 ? left.end - 8 : left.at;
            is_valid = is_valid && to_number(left, 16, values++) && to_number(word, 16, values++);
        } else if (is_valid && *form != '.') {
            const bool is_unlimited = equals(word, "unlimited") || equals(word, "max");
            *values = *form == 'l' ? UINT64_MAX : 0;
            is_valid = (*form == 'l' && is_unlimited) || (*form == 't' && *word.at == '-') ||
                       to_number(word, *form == 'x' ? 16 : 10, values);
            if (*form == 'k') {
                is_valid = is_valid && take_word(line, &word) && equals(word, "kB") &&
                           *values <= UINT64_MAX / 1024;
                *values *= 1024;
            }
            values++;
        }
        if (!is_valid) {
            return false;
        }
    }
    return true;
}

/* Takes the numbers at the beginning of the first line. */
static bool take_first_line(const char *text, size_t length, const char *form, uint64_t *values)
{
    struct text rest = text_of(text, length);
    struct text line;
    return take_line(&rest, &line) && take(&line, form, values);
}

/* A number that is found by the beginning of its line. */
struct value {
    const char *key; /* key with its colon, if it has a colon */
    const char *form;
    size_t offset; /* offset in the output of the first uint64_t that `form` fills */
};

/* Finds the lines of `values` in the text, and writes the numbers to `out`. Returns one bit for
 * each value found: 1 = the first, 2 = the second, 4 = the third, ... Returns 0 if the line of a
 * value is malformed or if the text ends within a line. */
static unsigned find_values(const char *text, size_t length, const struct value *values,
                            size_t count, void *out)
{
    struct text rest = text_of(text, length);
    struct text line;
    unsigned found = 0;
    while (take_line(&rest, &line)) {
        for (size_t i = 0; i < count; i++) {
            const size_t key = strlen(values[i].key);
            if ((found >> i & 1U) != 0 || remaining(line) <= key || !is_blank(line.at[key]) ||
                memcmp(line.at, values[i].key, key) != 0) {
                continue;
            }
            line.at += key;
            if (!take(&line, values[i].form, (void *)((char *)out + values[i].offset))) {
                return 0;
            }
            found |= 1U << i;
            break;
        }
    }
    return rest.at == rest.end ? found : 0;
}

bool procfs_parse_cpu(const char *text, size_t length, struct procfs_cpu *out)
{
    /* the fields are user nice system idle iowait irq softirq steal; older kernels lack the last
     * fields */
    enum {
        FIELDS_MIN = 4,
        IDLE = 3,
        IOWAIT = 4,
        FIELDS_MAX = 8
    };
    struct text rest = text_of(text, length);
    struct text line;
    struct text word;
    uint64_t fields[FIELDS_MAX] = {0};
    size_t count = 0;
    *out = (struct procfs_cpu){0};
    if (!take_line(&rest, &line) || !take_word(&line, &word) || !equals(word, "cpu")) {
        return false;
    }
    while (count < FIELDS_MAX && take_word(&line, &word)) {
        if (!to_number(word, 10, &fields[count]) || fields[count] > UINT64_MAX / FIELDS_MAX) {
            return false;
        }
        out->total_ticks += fields[count++];
    }
    out->iowait_ticks = fields[IOWAIT];
    out->busy_ticks = out->total_ticks - fields[IDLE] - fields[IOWAIT];
    while (take_line(&rest, &line) && take_word(&line, &word) && remaining(word) > 3 &&
           memcmp(word.at, "cpu", 3) == 0) {
        out->cpus++;
    }
    return count >= FIELDS_MIN && out->cpus > 0;
}

bool procfs_parse_process(const char *text, size_t length, struct procfs_process *out)
{
    enum {
        PARENT,
        FLAGS,
        UTIME,
        STIME,
        CUTIME,
        CSTIME,
        THREADS,
        START,
        FIELDS,
    };
    const uint64_t tick_ns = (uint64_t)(MONO_NS_PER_S / sysconf(_SC_CLK_TCK));
    struct text rest = text_of(text, length);
    struct text line;
    struct text state;
    uint64_t fields[FIELDS];
    uint64_t pid;
    if (!take_line(&rest, &line) || !take(&line, "d", &pid) || pid == 0 || pid > INT_MAX ||
        remaining(line) < 2 || memcmp(line.at, " (", 2) != 0) {
        return false;
    }
    /* the name may contain blanks and parentheses; the fields after it may not */
    const char *name = line.at + 2;
    const char *close = memrchr(name, ')', (size_t)(line.end - name));
    if (close == NULL) {
        return false;
    }
    line.at = close + 1;
    if (!take_word(&line, &state) || remaining(state) != 1 ||
        !take(&line, "d....d....tttt..d.d", fields) || fields[PARENT] > INT_MAX ||
        fields[THREADS] > INT_MAX) {
        return false;
    }
    for (size_t i = UTIME; i <= CSTIME; i++) {
        if (fields[i] > INT64_MAX / 2 / tick_ns) {
            return false;
        }
    }
    const bool is_zombie = *state.at == 'Z' || *state.at == 'X';
    *out = (struct procfs_process){
        .pid = (pid_t)pid,
        .parent = (pid_t)fields[PARENT],
        .is_zombie = is_zombie,
        .has_ended = is_zombie || (fields[FLAGS] & FLAG_EXITING) != 0,
        .threads = (unsigned)fields[THREADS],
        .own_ns = (int64_t)((fields[UTIME] + fields[STIME]) * tick_ns),
        .reaped_ns = (int64_t)((fields[CUTIME] + fields[CSTIME]) * tick_ns),
        .start_ticks = fields[START],
    };
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - name), name);
    return true;
}

bool procfs_parse_rollup(const char *text, size_t length, struct procfs_rollup *out)
{
    /* older kernels, and kernels built without huge pages, have only the first of these values */
    static const struct value values[] = {
        {"Pss:", "k", offsetof(struct procfs_rollup, pss_bytes)},
        {"Pss_Anon:", "k", offsetof(struct procfs_rollup, pss_anon_bytes)},
        {"Private_Hugetlb:", "k", offsetof(struct procfs_rollup, private_huge_bytes)},
        {"Shared_Hugetlb:", "k", offsetof(struct procfs_rollup, shared_huge_bytes)},
    };
    *out = (struct procfs_rollup){0};
    const unsigned found = find_values(text, length, values, 4, out);
    out->has_pss_anon = (found & 2U) != 0;
    return (found & 1U) != 0;
}

bool procfs_parse_statm(const char *text, size_t length, struct procfs_statm *out)
{
    uint64_t pages[4] = {0}; /* size, resident, shared, program */
    const bool is_valid = take_first_line(text, length, "dddd", pages);
    *out = (struct procfs_statm){.resident_pages = pages[1], .shared_pages = pages[2]};
    return is_valid;
}

bool procfs_parse_schedstat(const char *text, size_t length, struct procfs_schedstat *out)
{
    uint64_t values[3] = {0}; /* time on a CPU, time waiting, time slices */
    const bool is_valid = take_first_line(text, length, "ddd", values);
    *out = (struct procfs_schedstat){.on_cpu_ns = values[0], .run_queue_ns = values[1]};
    return is_valid;
}

bool procfs_parse_status(const char *text, size_t length, struct procfs_status *out)
{
    static const struct value values[] = {
        {"Uid:", "d", offsetof(struct procfs_status, uid)},
        {"Threads:", "d", offsetof(struct procfs_status, threads)},
        {"CapEff:", "x", offsetof(struct procfs_status, capabilities)},
        {"VmSize:", "k", offsetof(struct procfs_status, size_bytes)},
        {"VmRSS:", "k", offsetof(struct procfs_status, resident_bytes)},
        {"VmHWM:", "k", offsetof(struct procfs_status, peak_bytes)},
    };
    *out = (struct procfs_status){0};
    return (find_values(text, length, values, 6, out) & 7U) == 7;
}

bool procfs_parse_rlimits(const char *text, size_t length, struct procfs_rlimits *out)
{
    static const struct value values[] = {
        {"Max processes", "ll", offsetof(struct procfs_rlimits, tasks)},
        {"Max open files", "ll", offsetof(struct procfs_rlimits, files)},
        {"Max address space", "ll", offsetof(struct procfs_rlimits, address_space)},
    };
    return find_values(text, length, values, 3, out) == 7;
}

bool procfs_parse_uid_map(const char *text, size_t length, bool *is_initial)
{
    uint64_t values[3] = {0}; /* first uid inside, first uid outside, number of uids */
    const bool is_valid = take_first_line(text, length, "ddd", values);
    *is_initial = values[0] == 0 && values[1] == 0 && values[2] == UINT32_MAX;
    return is_valid;
}

bool procfs_parse_tasks(const char *text, size_t length, uint64_t *tasks)
{
    struct text rest = text_of(text, length);
    struct text line;
    struct text word;
    struct text running;
    return take_line(&rest, &line) && take(&line, "...", NULL) && take_word(&line, &word) &&
           take_until(&word, '/', &running) && to_number(word, 10, tasks);
}

bool procfs_parse_memory(const char *text, size_t length, struct procfs_memory *out)
{
    static const struct value values[] = {
        {"MemTotal:", "k", offsetof(struct procfs_memory, total)},
        {"MemAvailable:", "k", offsetof(struct procfs_memory, available)},
        {"CommitLimit:", "k", offsetof(struct procfs_memory, commit_limit)},
        {"Committed_AS:", "k", offsetof(struct procfs_memory, committed)},
    };
    return find_values(text, length, values, 4, out) == 15;
}

bool procfs_parse_number(const char *text, size_t length, uint64_t *value)
{
    return take_first_line(text, length, "l", value);
}

bool procfs_parse_named(const char *text, size_t length, const char *name, uint64_t *value)
{
    return find_values(text, length, &(struct value){name, "d", 0}, 1, value) == 1;
}

bool procfs_parse_io(const char *text, size_t length, struct procfs_io *out)
{
#define COUNT(key, id)                                                                             \
    {                                                                                              \
        key, "d", PROCFS_IO_##id * sizeof(uint64_t)                                                \
    }
    static const struct value values[] = {COUNT("rchar:", READ_BYTES),
                                          COUNT("wchar:", WRITTEN_BYTES),
                                          COUNT("syscr:", READS),
                                          COUNT("syscw:", WRITES),
                                          COUNT("read_bytes:", STORAGE_READ_BYTES),
                                          COUNT("write_bytes:", STORAGE_WRITTEN_BYTES)};
#undef COUNT
    *out = (struct procfs_io){0};
    return find_values(text, length, values, PROCFS_IO_COUNTS, out) == 63;
}

bool procfs_parse_disk(const char *text, size_t length, unsigned major, unsigned minor,
                       struct procfs_disk *out)
{
    struct text rest = text_of(text, length);
    struct text line;
    while (take_line(&rest, &line)) {
        uint64_t number[2];
        uint64_t fields[10]; /* without merged requests and requests in flight */
        if (!take(&line, "dd.", number) || number[0] != major || number[1] != minor) {
            continue;
        }
        if (!take(&line, "d.ddd.dd.dd", fields)) {
            return false;
        }
        *out = (struct procfs_disk){.reads = fields[0],
                                    .read_sectors = fields[1],
                                    .read_ms = fields[2],
                                    .writes = fields[3],
                                    .written_sectors = fields[4],
                                    .write_ms = fields[5],
                                    .busy_ms = fields[6],
                                    .queued_ms = fields[7]};
        out->has_flushes = take(&line, "....dd", fields);
        out->flushes = out->has_flushes ? fields[0] : 0;
        out->flush_ms = out->has_flushes ? fields[1] : 0;
        return true;
    }
    return false;
}

bool procfs_parse_pressure(const char *text, size_t length, uint64_t *some_us)
{
    static const char key[] = "total=";
    struct text rest = text_of(text, length);
    struct text line;
    struct text word;
    bool is_some = take_line(&rest, &line) && take_word(&line, &word) && equals(word, "some");
    while (is_some && take_word(&line, &word)) {
        if (remaining(word) >= sizeof key && memcmp(word.at, key, sizeof key - 1) == 0) {
            word.at += sizeof key - 1;
            return to_number(word, 10, some_us);
        }
    }
    return false;
}

bool procfs_parse_cgroup_io(const char *text, size_t length, unsigned major, unsigned minor,
                            uint64_t *read_bytes, uint64_t *written_bytes)
{
    char device[32];
    bool is_found = false;
    struct text rest = text_of(text, length);
    struct text line;
    struct text word;
    snprintf(device, sizeof device, "%u:%u", major, minor);
    while (take_line(&rest, &line)) {
        if (!take_word(&line, &word) || !equals(word, device)) {
            continue;
        }
        while (take_word(&line, &word)) { /* "rbytes=1 wbytes=2 ...", or "Read 1" */
            struct text name = word;
            struct text value = word;
            uint64_t bytes;
            if (take_until(&value, '=', &name) ? !to_number(value, 10, &bytes)
                                               : !take(&line, "d", &bytes)) {
                return false;
            }
            const bool is_read = equals(name, "rbytes") || equals(name, "Read");
            const bool is_written = equals(name, "wbytes") || equals(name, "Write");
            *read_bytes += is_read ? bytes : 0;
            *written_bytes += is_written ? bytes : 0;
            is_found = is_found || is_read || is_written;
        }
    }
    return is_found && rest.at == rest.end;
}

bool procfs_parse_netstat(const char *text, size_t length, const char *name, uint64_t *value)
{
    struct text rest = text_of(text, length);
    struct text names;
    struct text values;
    struct text word;
    struct text number;
    while (take_line(&rest, &names) && take_line(&rest, &values)) {
        while (take_word(&names, &word) && take_word(&values, &number)) {
            if (equals(word, name) && to_number(number, 10, value)) {
                return true;
            }
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

/* Indices of the numbers that take_row reads from a row of /proc/net/tcp. Numbers without a name
 * are not used. */
enum socket_field {
    LOCAL_PORT = 1,
    PEER_ADDRESS, /* IPv4 address, or the last 4 bytes of an IPv6 address, which are the IPv4
                     address in an IPv4-mapped address */
    PEER_PORT,
    SOCKET_STATE,
    SOCKET_TIMER = 6, /* ticks of 1/100 s until the timer expires, or until TIME_WAIT ends */
    SOCKET_INODE,
    SOCKET_FIELDS,
};

enum socket_state {
    TCP_TIME_WAIT = 6,
    TCP_LISTEN = 10,
};

/* Skips the line of headings. Returns false if its first heading is not `first`. */
static bool skip_heading(struct text *rest, const char *first)
{
    struct text line;
    struct text word;
    return take_line(rest, &line) && take_word(&line, &word) && equals(word, first);
}

/* Takes a row: "0: 0100007F:1538 0100007F:8000 06 00000000:00000000 03:00001756 00000000 0 0 4711
 * ...". Returns false at the end. Also returns false, and sets *is_valid to false, if a row is
 * malformed. */
static bool take_row(struct text *rest, uint64_t row[SOCKET_FIELDS], bool *is_valid)
{
    struct text line;
    if (!take_line(rest, &line)) {
        *is_valid &= rest->at == rest->end;
        return false;
    }
    *is_valid = take(&line, ".::x.:...d", row) && row[LOCAL_PORT] <= UINT16_MAX &&
                row[PEER_PORT] <= UINT16_MAX;
    return *is_valid;
}

bool procfs_parse_listeners(const char *text, size_t length, uint16_t port,
                            struct procfs_inodes *found)
{
    struct text rest = text_of(text, length);
    uint64_t row[SOCKET_FIELDS];
    bool is_valid = skip_heading(&rest, "sl");
    while (is_valid && take_row(&rest, row, &is_valid)) {
        if (row[SOCKET_STATE] == TCP_LISTEN && row[LOCAL_PORT] == port &&
            found->count < PROCFS_INODES_MAX) {
            found->inodes[found->count++] = row[SOCKET_INODE];
        }
    }
    return is_valid;
}

/* Returns whether a socket's path is `path`, or is a file in the folder `path` whose name ends with
 * "." and the port. */
static bool is_unix_path(struct text socket, const char *path, uint16_t port)
{
    const size_t length = strlen(path);
    if (remaining(socket) < length || memcmp(socket.at, path, length) != 0) {
        return false;
    }
    char end[8];
    const size_t end_length = (size_t)snprintf(end, sizeof end, ".%u", (unsigned)port);
    const char *name = socket.at + length;
    const size_t name_length = (size_t)(socket.end - name);
    return name_length == 0 ||
           (name[0] == '/' && memchr(name + 1, '/', name_length - 1) == NULL &&
            name_length > end_length && memcmp(socket.end - end_length, end, end_length) == 0);
}

bool procfs_parse_unix_listeners(const char *text, size_t length, const char *path, uint16_t port,
                                 struct procfs_inodes *found)
{
    enum {
        FLAGS,
        INODE,
        FIELDS,
        ACCEPTS = 0x10000
    };
    struct text rest = text_of(text, length);
    struct text line;
    struct text word;
    bool is_valid = skip_heading(&rest, "Num");
    while (is_valid && take_line(&rest, &line)) {
        uint64_t fields[FIELDS] = {0};
        /* the fields are number, references, protocol, flags, type, state, inode, path */
        is_valid = take(&line, "...x..d", fields);
        if (is_valid && (fields[FLAGS] & ACCEPTS) != 0 && take_word(&line, &word) &&
            is_unix_path((struct text){.at = word.at, .end = line.end}, path, port) &&
            found->count < PROCFS_INODES_MAX) {
            found->inodes[found->count++] = fields[INODE];
        }
    }
    return is_valid && rest.at == rest.end;
}

static void add_port(struct procfs_ports *ports, uint64_t port)
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
    if (!take_first_line(text, length, "dd", ends) || ends[0] > ends[1] || ends[1] > UINT16_MAX) {
        return false;
    }
    *out = (struct procfs_port_range){.low = (uint16_t)ends[0], .high = (uint16_t)ends[1]};
    return true;
}

bool procfs_parse_reserved(const char *text, size_t length, struct procfs_ports *ports)
{
    struct text rest = text_of(text, length);
    struct text line;
    if (!take_line(&rest, &line)) {
        return false;
    }
    bool is_more = remaining(line) > 0;
    while (is_more) {
        struct text last = line;
        is_more = take_until(&line, ',', &last);
        struct text first = last; /* "8080" means "8080-8080" */
        uint64_t low;
        uint64_t high;
        if (!take_until(&last, '-', &first)) {
            first = last;
        }
        if (!to_number(first, 10, &low) || !to_number(last, 10, &high) || low > high ||
            high > UINT16_MAX) {
            return false;
        }
        for (uint64_t port = low; port <= high; port++) {
            add_port(ports, port);
        }
    }
    return true;
}

bool procfs_parse_sockets(const char *text, size_t length,
                          const struct procfs_destination *destination, struct procfs_ports *ports,
                          uint64_t *waiting)
{
    enum {
        YOUNG_TICKS = 5900 /* ticks that are left when 1 s of the 60 s of TIME_WAIT has passed */
    };
    struct text rest = text_of(text, length);
    uint64_t row[SOCKET_FIELDS];
    bool is_valid = skip_heading(&rest, "sl");
    *waiting = 0;
    while (is_valid && take_row(&rest, row, &is_valid)) {
        const bool is_there =
            row[PEER_PORT] == destination->port &&
            (destination->address == 0 || destination->address == row[PEER_ADDRESS]);
        const bool is_waiting = row[SOCKET_STATE] == TCP_TIME_WAIT;
        const bool is_reused =
            is_waiting && destination->is_wait_reused && row[SOCKET_TIMER] <= YOUNG_TICKS;
        if (row[SOCKET_STATE] == TCP_LISTEN || (is_there && !is_reused)) {
            *waiting += is_waiting && !procfs_ports_hold(ports, (uint16_t)row[LOCAL_PORT]) ? 1 : 0;
            add_port(ports, row[LOCAL_PORT]);
        }
    }
    return is_valid;
}

bool procfs_parse_cgroup_memory(const char *text, size_t length, uint64_t *bytes)
{
    /* in version 1 the figure "shmem" excludes child cgroups, so the figures "total_..." are
     * preferred */
    static const struct value values[] = {
        {"total_rss", "d", 0}, {"total_shmem", "d", 8}, {"anon", "d", 16}, {"shmem", "d", 24}};
    uint64_t found[4];
    const unsigned bits = find_values(text, length, values, 4, found);
    const uint64_t *parts = (bits & 3U) == 3 ? found : found + 2;
    if (((bits & 3U) != 3 && (bits & 12U) != 12) || parts[0] > UINT64_MAX - parts[1]) {
        return false;
    }
    *bytes = parts[0] + parts[1];
    return true;
}

bool procfs_parse_cgroup_cache(const char *text, size_t length, uint64_t *bytes)
{
    static const struct value values[] = {
        {"inactive_file", "d", 0},
        {"total_inactive_file", "d", 8},
    };
    uint64_t found[2] = {0};
    const unsigned bits = find_values(text, length, values, 2, found);
    /* version 1 has both figures; its "inactive_file" excludes child cgroups, so the total is
     * preferred */
    *bytes = (bits & 2U) != 0 ? found[1] : found[0];
    return bits != 0;
}

/* Returns whether the comma-separated list contains the word. */
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

/* Copies a path as copy_path does; in mountinfo a blank is written as \040. */
static bool copy_escaped(struct text from, char path[PROCFS_PATH_BYTES])
{
    if (!copy_path(from, path)) {
        return false;
    }
    char *to = path;
    for (const char *at = path; *at != '\0'; at++) {
        *to = *at;
        if (*at == '\\') {
            if (at[1] > '3' || strspn(at + 1, "01234567") < 3) {
                return false;
            }
            *to = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + at[3] - '0');
            at += 3;
        }
        to++;
    }
    *to = '\0';
    return true;
}

/* Skips to the text after the " - " of a line of mountinfo: 36 35 98:0 /root /point options
 * [optional ...] - type source super-options */
static bool take_file_system(struct text *line)
{
    struct text word = {0};
    bool is_whole = true;
    while (is_whole && !equals(word, "-")) {
        is_whole = take_word(line, &word);
    }
    return is_whole;
}

/* Finds the value of "name=" in a comma-separated list of options. */
static bool find_option(struct text options, const char *name, struct text *value)
{
    const size_t length = strlen(name);
    for (const char *at = options.at; at < options.end;) {
        const char *comma = memchr(at, ',', (size_t)(options.end - at));
        const char *end = comma == NULL ? options.end : comma;
        if ((size_t)(end - at) > length && memcmp(at, name, length) == 0) {
            *value = text_of(at + length, (size_t)(end - at) - length);
            return true;
        }
        at = comma == NULL ? options.end : comma + 1;
    }
    return false;
}

bool procfs_parse_source(const char *text, size_t length, uint64_t mount,
                         char path[PROCFS_PATH_BYTES])
{
    struct text rest = text_of(text, length);
    struct text line, type, source, options;
    uint64_t number;
    while (take_line(&rest, &line)) {
        if (take(&line, "d", &number) && number == mount && take_file_system(&line) &&
            take_word(&line, &type) && take_word(&line, &source)) {
            if (equals(type, "overlay")) {
                return take_word(&line, &options) && find_option(options, "upperdir=", &source) &&
                       copy_escaped(source, path);
            }
            return copy_escaped(source, path);
        }
    }
    return false;
}

bool procfs_parse_mount(const char *text, size_t length, const char *controller,
                        struct procfs_mount *out)
{
    struct text rest = text_of(text, length);
    struct text line;
    while (take_line(&rest, &line)) {
        struct text root;
        struct text point;
        struct text word;
        struct text type;
        struct text options;
        if (take(&line, "...", NULL) && take_word(&line, &root) && take_word(&line, &point) &&
            take_file_system(&line) && take_word(&line, &type) && take_word(&line, &word) &&
            take_word(&line, &options) &&
            (controller[0] == '\0' ? equals(type, "cgroup2")
                                   : equals(type, "cgroup") && list_holds(options, controller)) &&
            copy_escaped(root, out->root) && copy_escaped(point, out->point)) {
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

/* Closes a file without changing errno. */
static void close_after(int file)
{
    const int reason = errno;
    close(file);
    errno = reason;
}

ssize_t procfs_read(int directory, const char *path, char *bytes, size_t size)
{
    const int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    const ssize_t length = TEMP_FAILURE_RETRY(read(file, bytes, size));
    close_after(file);
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
    while ((length = TEMP_FAILURE_RETRY(read(file, chunk, sizeof chunk))) > 0) {
        buffer_add(buffer, chunk, (size_t)length);
    }
    close_after(file);
    if (buffer_failed(buffer)) {
        errno = ENOMEM;
    }
    return length == 0 && !buffer_failed(buffer);
}

bool procfs_read_process(int proc, pid_t pid, struct procfs_process *process)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "%d/stat", (int)pid);
    const ssize_t length = procfs_read(proc, path, text, sizeof text);
    if (length >= 0 && !procfs_parse_process(text, (size_t)length, process)) {
        errno = ESRCH;
        return false;
    }
    return length >= 0;
}

bool procfs_read_listeners(int proc, uint16_t port, struct procfs_inodes *found)
{
    struct buffer text = {0};
    bool is_read = procfs_load(proc, "net/tcp", &text);
    if (is_read) {
        procfs_parse_listeners(buffer_text(&text), text.length, port, found);
    }
    /* a machine without IPv6 has no tcp6 */
    if (procfs_load(proc, "net/tcp6", &text)) {
        is_read = true;
        procfs_parse_listeners(buffer_text(&text), text.length, port, found);
    }
    buffer_fini(&text);
    return is_read;
}

struct procfs_status procfs_read_own(int proc)
{
    struct buffer text = {0}; /* the line "Groups:" may be longer than any fixed buffer */
    struct procfs_status status;
    const bool is_read = procfs_load(proc, "self/status", &text) &&
                         procfs_parse_status(buffer_text(&text), text.length, &status);
    buffer_fini(&text);
    return is_read ? status : (struct procfs_status){0};
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
    if (!procfs_read_thread_file(file, time)) {
        *time = (struct procfs_schedstat){.on_cpu_ns =
                                              (uint64_t)mono_clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    }
    if (file >= 0) {
        close(file);
    }
}

static const char mounts[] = "/sys/fs/cgroup";

bool cgroup_name(const char *name, struct cgroup_folder *folder)
{
    const bool is_whole = name[0] == '/';
    const int length = snprintf(folder->path, sizeof folder->path, "%s%s%s", is_whole ? "" : mounts,
                                is_whole ? "" : "/", name);
    if (length < 0 || (size_t)length >= sizeof folder->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    folder->root_length = strncmp(folder->path, mounts, sizeof mounts - 1) == 0
                              ? sizeof mounts - 1
                              : strlen(folder->path);
    folder->is_inside = true;
    return true;
}

/* Sets *folder to the folder of a cgroup below a mount point. `path` is the path of the cgroup from
 * the root of the hierarchy; in a container, only a part of the hierarchy may be mounted. Returns
 * false if the path is outside of the cgroup namespace of this program. */
static bool join(const struct procfs_mount *mount, const char *path, struct cgroup_folder *folder)
{
    const size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0')) {
        return false;
    }
    folder->is_inside =
        strncmp(path, mount->root, root) == 0 && (path[root] == '/' || path[root] == '\0');
    const char *rest = folder->is_inside ? path + root : "";
    snprintf(folder->path, sizeof folder->path, "%s%s", mount->point,
             strcmp(rest, "/") == 0 ? "" : rest);
    folder->root_length = strlen(mount->point);
    return true;
}

bool cgroup_find(int proc, pid_t pid, pid_t viewer, const char *controller,
                 struct cgroup_folder *folder)
{
    char cgroup[64];
    char mounts_seen[64];
    char path[PROCFS_PATH_BYTES];
    struct procfs_mount mount;
    struct buffer text = {0};
    snprintf(cgroup, sizeof cgroup, "%d/cgroup", (int)pid);
    snprintf(mounts_seen, sizeof mounts_seen, "%d/mountinfo", (int)viewer);
    const bool is_found = procfs_load(proc, cgroup, &text) &&
                          procfs_parse_cgroup(buffer_text(&text), text.length, controller, path) &&
                          procfs_load(proc, mounts_seen, &text) &&
                          procfs_parse_mount(buffer_text(&text), text.length, controller, &mount) &&
                          join(&mount, path, folder);
    buffer_fini(&text);
    return is_found;
}

bool cgroup_go_up(struct cgroup_folder *folder)
{
    char *slash = strrchr(folder->path, '/');
    if (slash == NULL || strlen(folder->path) <= folder->root_length) {
        return false;
    }
    *slash = '\0';
    return true;
}

bool cgroup_read_number(const struct cgroup_folder *folder, const char *file, uint64_t *value)
{
    char path[sizeof folder->path + 64];
    char text[64];
    snprintf(path, sizeof path, "%s/%s", folder->path, file);
    const ssize_t length = procfs_read(AT_FDCWD, path, text, sizeof text);
    return length > 0 && procfs_parse_number(text, (size_t)length, value);
}

/* Reads one figure of a file of statistics. Returns -1 if it is unknown. */
static int64_t read_statistic(int folder, const char *file,
                              bool (*parse)(const char *, size_t, uint64_t *))
{
    struct buffer text = {0};
    uint64_t value;
    const bool is_read = procfs_load(folder, file, &text) &&
                         parse(buffer_text(&text), text.length, &value) && value <= INT64_MAX;
    buffer_fini(&text);
    return is_read ? (int64_t)value : -1;
}

uint64_t cgroup_read_cache(const struct cgroup_folder *folder)
{
    char path[sizeof folder->path + 64];
    snprintf(path, sizeof path, "%s/memory.stat", folder->path);
    const int64_t bytes = read_statistic(AT_FDCWD, path, procfs_parse_cgroup_cache);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

int cgroup_open(const char *name)
{
    struct cgroup_folder folder;
    return cgroup_name(name, &folder) ? open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

bool cgroup_walk(int folder, bool (*add)(void *context, pid_t pid), void *context)
{
    struct buffer text = {0};
    bool is_done = procfs_load(folder, "cgroup.procs", &text);
    char *end;
    for (const char *at = buffer_text(&text); is_done; at = end) {
        const long pid = strtol(at, &end, 10);
        if (end == at || *end != '\n') {
            break;
        }
        /* the pid 0 stands for a process in a pid namespace that is not visible here */
        is_done = pid <= 0 || add(context, (pid_t)pid);
    }
    buffer_fini(&text);
    DIR *entries = is_done ? procfs_open_folder(folder, ".") : NULL;
    if (entries == NULL) {
        return false;
    }
    const struct dirent *entry;
    while (is_done && (entry = readdir(entries)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.') {
            continue;
        }
        const int below =
            openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0) {
            is_done = errno == ENOENT; /* the folder was removed meanwhile */
            continue;
        }
        is_done = cgroup_walk(below, add, context);
        close(below);
    }
    closedir(entries);
    return is_done;
}

int64_t cgroup_memory(int folder)
{
    return read_statistic(folder, "memory.stat", procfs_parse_cgroup_memory);
}

static bool parse_usage(const char *text, size_t length, uint64_t *usage_us)
{
    return procfs_parse_named(text, length, "usage_usec", usage_us);
}

int64_t cgroup_cpu_ns(int folder)
{
    const int64_t usage_us = read_statistic(folder, "cpu.stat", parse_usage);
    return usage_us >= 0 && usage_us <= INT64_MAX / 1000 ? usage_us * 1000 : -1;
}

/* Reads up to two numbers from a file of one line; returns how many were read. */
static int read_numbers(const char *folder, const char *name, double values[2])
{
    char path[PATH_MAX], line[64] = "";
    int count = 0;
    snprintf(path, sizeof path, "%.3800s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        char *at = fgets(line, sizeof line, file), *end;
        while (at != NULL && count < 2) {
            values[count] = strtod(at, &end);
            count += end != at;
            at = end == at ? NULL : end;
        }
        fclose(file);
    }
    return count;
}

/* Returns the number of CPUs that a cgroup may use, from "cpu.max" (quota and period) in version 2
 * or from two files in version 1; 0 if the cgroup has no limit. */
static double read_quota(const char *folder)
{
    double quota[2] = {0, 0}, period[2] = {0, 0};
    if (read_numbers(folder, "cpu.max", quota) == 2) { /* without a quota: "max 100000" */
        period[0] = quota[1];
    } else if (read_numbers(folder, "cpu.cfs_quota_us", quota) != 1 ||
               read_numbers(folder, "cpu.cfs_period_us", period) != 1) {
        return 0;
    }
    return quota[0] > 0 && period[0] > 0 ? quota[0] / period[0] : 0;
}

double procfs_cpu_quota(const char *list, const char *root)
{
    double least = 0;
    char line[PATH_MAX];
    FILE *file = fopen(list, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *const names = strchr(line, ':');
        char *const path = names == NULL ? NULL : strchr(names + 1, ':');
        if (path == NULL) {
            continue;
        }
        const size_t length = (size_t)(path - names - 1);
        const bool is_cpu = length == 0 || list_holds(text_of(names + 1, length), "cpu");
        for (char *end = path + strlen(path); is_cpu && end != NULL; end = strrchr(path, '/')) {
            char folder[PATH_MAX];
            *end = '\0';
            snprintf(folder, sizeof folder, "%s%s%.3000s", root, length == 0 ? "" : "/cpu",
                     path + 1);
            const double quota = read_quota(folder);
            least = quota > 0 && (least <= 0 || quota < least) ? quota : least;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}

void procfs_describe_bound(unsigned cpus, char *text, size_t size)
{
    cpu_set_t set;
    const double quota = procfs_cpu_quota("/proc/self/cgroup", mounts);
    const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)cpus;
    const int niceness = getpriority(PRIO_PROCESS, 0);
    text[0] = '\0';
    if (quota > 0 && quota < MIN((double)cpus, (double)allowed)) {
        snprintf(text, size, "append's cgroup limits append to %.3g of %u CPUs", quota, cpus);
    } else if (allowed < (int)cpus) {
        snprintf(text, size, "append may use %d of %u CPUs (affinity)", allowed, cpus);
    } else if (niceness > 0) {
        snprintf(text, size, "append runs at nice %d", niceness);
    }
}
