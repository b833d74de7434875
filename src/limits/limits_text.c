#include "limits/limits_text.h"

#include <string.h>

#include "measure/procfs_text.h"

/* One or more words in a row, as "Max open files". */
static bool takes_words(struct procfs_text *line, const char *words)
{
    struct procfs_text rest = procfs_text_of(words, strlen(words));
    struct procfs_text at = *line;
    struct procfs_text expected;
    struct procfs_text word;
    while (procfs_text_word(&rest, &expected)) {
        const size_t length = (size_t)(expected.end - expected.at);
        if (!procfs_text_word(&at, &word) || (size_t)(word.end - word.at) != length ||
            memcmp(word.at, expected.at, length) != 0) {
            return false;
        }
    }
    *line = at;
    return true;
}

static bool take_limit(struct procfs_text *line, uint64_t *value)
{
    struct procfs_text word;
    if (!procfs_text_word(line, &word)) {
        return false;
    }
    if (procfs_text_equals(word, "unlimited") || procfs_text_equals(word, "max")) {
        *value = UINT64_MAX;
        return true;
    }
    return procfs_text_number(word, 10, value);
}

bool limits_parse_rlimits(const char *text, size_t length, struct limits_rlimits *out)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    const struct {
        const char *words;
        struct limits_pair *pair;
    } wanted[] = {{"Max processes", &out->tasks},
                  {"Max open files", &out->files},
                  {"Max address space", &out->address_space}};
    unsigned found = 0;
    while (procfs_text_line(&rest, &line)) {
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            if (!takes_words(&line, wanted[i].words)) {
                continue;
            }
            if (!take_limit(&line, &wanted[i].pair->soft) ||
                !take_limit(&line, &wanted[i].pair->hard)) {
                return false;
            }
            found |= 1U << i;
        }
    }
    return rest.at == rest.end && found == 7;
}

/* A line of "name: value". */
struct field {
    const char *name; /* with its colon */
    unsigned base;
    uint64_t *value;
    bool is_found;
};

static bool find_fields(struct procfs_text rest, struct field *fields, size_t count)
{
    struct procfs_text line;
    while (procfs_text_line(&rest, &line)) {
        for (size_t i = 0; i < count; i++) {
            struct procfs_text word;
            if (fields[i].is_found || !takes_words(&line, fields[i].name)) {
                continue;
            }
            if (!procfs_text_word(&line, &word) ||
                !procfs_text_number(word, fields[i].base, fields[i].value)) {
                return false;
            }
            fields[i].is_found = true;
        }
    }
    return rest.at == rest.end;
}

/* From KiB. */
static bool to_bytes(uint64_t *value)
{
    if (*value > UINT64_MAX / 1024) {
        return false;
    }
    *value *= 1024;
    return true;
}

bool limits_parse_status(const char *text, size_t length, struct limits_status *out)
{
    struct field fields[] = {{.name = "Uid:", .base = 10, .value = &out->uid},
                             {.name = "Threads:", .base = 10, .value = &out->threads},
                             {.name = "CapEff:", .base = 16, .value = &out->capabilities},
                             {.name = "VmSize:", .base = 10, .value = &out->size_bytes}};
    *out = (struct limits_status){0};
    return find_fields(procfs_text_of(text, length), fields, 4) && fields[0].is_found &&
           fields[1].is_found && fields[2].is_found && to_bytes(&out->size_bytes);
}

bool limits_parse_tasks(const char *text, size_t length, uint64_t *tasks)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    struct procfs_text word;
    if (!procfs_text_line(&rest, &line)) {
        return false;
    }
    for (int field = 0; field < 4; field++) {
        if (!procfs_text_word(&line, &word)) {
            return false;
        }
    }
    const char *slash = memchr(word.at, '/', (size_t)(word.end - word.at));
    return slash != NULL &&
           procfs_text_number((struct procfs_text){.at = slash + 1, .end = word.end}, 10, tasks);
}

bool limits_parse_uid_map(const char *text, size_t length, bool *is_initial)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    uint64_t inside;
    uint64_t outside;
    uint64_t count;
    if (!procfs_text_line(&rest, &line) || !procfs_text_take(&line, &inside) ||
        !procfs_text_take(&line, &outside) || !procfs_text_take(&line, &count)) {
        return false;
    }
    *is_initial = inside == 0 && outside == 0 && count == UINT32_MAX;
    return true;
}

bool limits_parse_number(const char *text, size_t length, uint64_t *value)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    return procfs_text_line(&rest, &line) && take_limit(&line, value);
}

bool limits_parse_memory(const char *text, size_t length, struct limits_memory *out)
{
    struct field fields[] = {{.name = "MemTotal:", .base = 10, .value = &out->total},
                             {.name = "MemAvailable:", .base = 10, .value = &out->available},
                             {.name = "CommitLimit:", .base = 10, .value = &out->commit_limit},
                             {.name = "Committed_AS:", .base = 10, .value = &out->committed}};
    if (!find_fields(procfs_text_of(text, length), fields, 4)) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        if (!fields[i].is_found || !to_bytes(fields[i].value)) {
            return false;
        }
    }
    return true;
}

bool limits_parse_cache(const char *text, size_t length, uint64_t *bytes)
{
    uint64_t own = 0;
    uint64_t total = 0;
    struct field fields[] = {{.name = "inactive_file", .base = 10, .value = &own},
                             {.name = "total_inactive_file", .base = 10, .value = &total}};
    if (!find_fields(procfs_text_of(text, length), fields, 2)) {
        return false;
    }
    /* version 1 has both, and its plain figure is without the cgroups below */
    *bytes = fields[1].is_found ? total : own;
    return fields[0].is_found || fields[1].is_found;
}

/* Takes what stands in front of `mark`. */
static bool take_until(struct procfs_text *text, char mark, struct procfs_text *part)
{
    const char *end = memchr(text->at, mark, (size_t)(text->end - text->at));
    if (end == NULL) {
        return false;
    }
    *part = (struct procfs_text){.at = text->at, .end = end};
    text->at = end + 1;
    return true;
}

/* True when the comma-separated list holds the word. */
static bool list_holds(struct procfs_text list, const char *word)
{
    struct procfs_text part;
    while (take_until(&list, ',', &part)) {
        if (procfs_text_equals(part, word)) {
            return true;
        }
    }
    return procfs_text_equals(list, word);
}

static bool copy_path(struct procfs_text from, char path[LIMITS_PATH_BYTES])
{
    const size_t length = (size_t)(from.end - from.at);
    if (length == 0 || length >= LIMITS_PATH_BYTES || *from.at != '/' ||
        memchr(from.at, '\0', length) != NULL) {
        return false;
    }
    memcpy(path, from.at, length);
    path[length] = '\0';
    return true;
}

bool limits_parse_cgroup(const char *text, size_t length, const char *controller,
                         char path[LIMITS_PATH_BYTES])
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    while (procfs_text_line(&rest, &line)) {
        struct procfs_text number;
        struct procfs_text controllers;
        if (!take_until(&line, ':', &number) || !take_until(&line, ':', &controllers)) {
            return false;
        }
        if (list_holds(controllers, controller)) {
            return copy_path(line, path);
        }
    }
    return false;
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
static bool parse_mount_line(struct procfs_text line, const char *controller,
                             struct limits_mount *out)
{
    struct procfs_text root;
    struct procfs_text point;
    struct procfs_text type;
    struct procfs_text word;
    for (int skipped = 0; skipped < 3; skipped++) {
        if (!procfs_text_word(&line, &word)) {
            return false;
        }
    }
    if (!procfs_text_word(&line, &root) || !procfs_text_word(&line, &point)) {
        return false;
    }
    do {
        if (!procfs_text_word(&line, &word)) {
            return false;
        }
    } while (!procfs_text_equals(word, "-"));
    if (!procfs_text_word(&line, &type) || !procfs_text_word(&line, &word) ||
        !procfs_text_word(&line, &word)) {
        return false;
    }
    const bool is_wanted = controller[0] == '\0'
                               ? procfs_text_equals(type, "cgroup2")
                               : procfs_text_equals(type, "cgroup") && list_holds(word, controller);
    return is_wanted && copy_path(root, out->root) && copy_path(point, out->point) &&
           unescape(out->root) && unescape(out->point);
}

bool limits_parse_mount(const char *text, size_t length, const char *controller,
                        struct limits_mount *out)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    while (procfs_text_line(&rest, &line)) {
        if (parse_mount_line(line, controller, out)) {
            return true;
        }
    }
    return false;
}

void limits_ports_add(struct limits_ports *ports, uint16_t port)
{
    const unsigned bit = 1U << port % 8;
    ports->bits[port / 8] = (uint8_t)((unsigned)ports->bits[port / 8] | bit);
}

bool limits_ports_hold(const struct limits_ports *ports, uint16_t port)
{
    const unsigned bit = 1U << port % 8;
    return ((unsigned)ports->bits[port / 8] & bit) != 0;
}

bool limits_parse_port_range(const char *text, size_t length, struct limits_port_range *out)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    uint64_t low;
    uint64_t high;
    if (!procfs_text_line(&rest, &line) || !procfs_text_take(&line, &low) ||
        !procfs_text_take(&line, &high) || low > high || high > UINT16_MAX) {
        return false;
    }
    *out = (struct limits_port_range){.low = (uint16_t)low, .high = (uint16_t)high};
    return true;
}

static bool add_range(struct procfs_text part, struct limits_ports *ports)
{
    struct procfs_text first;
    uint64_t low;
    uint64_t high;
    if (take_until(&part, '-', &first)) {
        if (!procfs_text_number(first, 10, &low) || !procfs_text_number(part, 10, &high)) {
            return false;
        }
    } else {
        if (!procfs_text_number(part, 10, &low)) {
            return false;
        }
        high = low;
    }
    if (low > high || high > UINT16_MAX) {
        return false;
    }
    for (uint64_t port = low; port <= high; port++) {
        limits_ports_add(ports, (uint16_t)port);
    }
    return true;
}

bool limits_parse_reserved(const char *text, size_t length, struct limits_ports *ports)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    struct procfs_text part;
    if (!procfs_text_line(&rest, &line)) {
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

/* "0100007F:1538"; of an IPv6 address only the last four bytes, which are all of an IPv4 one. */
static bool parse_end(struct procfs_text word, uint64_t *address, uint64_t *port)
{
    enum {
        IP4_DIGITS = 8
    };
    struct procfs_text digits;
    if (!take_until(&word, ':', &digits) || digits.end - digits.at < IP4_DIGITS) {
        return false;
    }
    digits.at = digits.end - IP4_DIGITS;
    return procfs_text_number(digits, 16, address) && procfs_text_number(word, 16, port) &&
           *port <= UINT16_MAX;
}

/* A row of /proc/net/tcp. */
struct socket_row {
    uint64_t local_port;
    uint64_t address;
    uint64_t port;
    uint64_t state;
    uint64_t timer; /* ticks of 1/100 s until it runs out: of TIME_WAIT its end */
};

/* "0: 0100007F:1538 0100007F:8000 06 00000000:00000000 03:00001756 ..." */
static bool parse_row(struct procfs_text line, struct socket_row *row)
{
    struct procfs_text slot;
    struct procfs_text local;
    struct procfs_text remote;
    struct procfs_text state;
    struct procfs_text queues;
    struct procfs_text timer;
    struct procfs_text kind;
    uint64_t local_address;
    return procfs_text_word(&line, &slot) && procfs_text_word(&line, &local) &&
           procfs_text_word(&line, &remote) && procfs_text_word(&line, &state) &&
           procfs_text_word(&line, &queues) && procfs_text_word(&line, &timer) &&
           parse_end(local, &local_address, &row->local_port) &&
           parse_end(remote, &row->address, &row->port) &&
           procfs_text_number(state, 16, &row->state) && take_until(&timer, ':', &kind) &&
           procfs_text_number(timer, 16, &row->timer);
}

bool limits_parse_sockets(const char *text, size_t length,
                          const struct limits_destination *destination, struct limits_ports *ports,
                          uint64_t *waiting)
{
    enum {
        TIME_WAIT = 6,
        LISTEN = 10,
        YOUNG_TICKS = 5900 /* of the 60 s that it lasts */
    };
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    *waiting = 0;
    if (!procfs_text_line(&rest, &line)) {
        return false;
    }
    while (procfs_text_line(&rest, &line)) {
        struct socket_row row;
        if (!parse_row(line, &row)) {
            return false;
        }
        const bool is_there = row.port == destination->port &&
                              (destination->address == 0 || destination->address == row.address);
        const bool is_waiting = row.state == TIME_WAIT;
        const bool is_reused =
            is_waiting && destination->is_wait_reused && row.timer <= YOUNG_TICKS;
        if (row.state != LISTEN && (!is_there || is_reused)) {
            continue;
        }
        const uint16_t port = (uint16_t)row.local_port;
        *waiting += is_waiting && !limits_ports_hold(ports, port) ? 1 : 0;
        limits_ports_add(ports, port);
    }
    return rest.at == rest.end;
}

bool limits_count_lines(const char *text, size_t length, uint64_t *lines)
{
    struct procfs_text rest = procfs_text_of(text, length);
    struct procfs_text line;
    *lines = 0;
    while (procfs_text_line(&rest, &line)) {
        (*lines)++;
    }
    return rest.at == rest.end;
}
