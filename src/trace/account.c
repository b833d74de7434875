#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/text.h"
#include "trace/trace.h"

const char *const trace_file_names[TRACE_FILES] = {"wal", "table", "temporary", "other", "unknown"};
const char *const trace_layer_names[TRACE_LAYERS] = {"total", "vfs", "queue", "device"};

static const char *mode_name(enum io_trace level, size_t mode)
{
    if (mode == IO_SYNC) {
        return level == IO_TRACE_REQUESTS ? "flush" : "fsync";
    }
    return mode == IO_READ ? "read" : "write";
}

#define HEX_4 "[0-9A-F][0-9A-F][0-9A-F][0-9A-F]"

/* The class of a file is that of the first pattern that matches the end of its path. The patterns
 * for logs use the file's own name where possible, because the path begins at the root of the file
 * system, and this root may be the folder of the logs. */
static const struct {
    const char *pattern;
    enum trace_file file;
} patterns[] = {
    {"*/pgsql_tmp*/*", TRACE_TEMPORARY},
    {"*/#sql*", TRACE_TEMPORARY},
    {"*/ibtmp*", TRACE_TEMPORARY},
    {"*/etilqs_*", TRACE_TEMPORARY},
    {"*/tmp_*", TRACE_TEMPORARY},
    /* PostgreSQL creates a new WAL segment under this name. It is not TRACE_WAL, because
     * PostgreSQL's counter wal_sync does not count the syncs of this file. */
    {"*/xlogtemp.*", TRACE_OTHER},
    {"*/" HEX_4 HEX_4 HEX_4 HEX_4 HEX_4 HEX_4, TRACE_WAL},
    {"*/pg_wal/*", TRACE_WAL},
    {"*/ib_logfile*", TRACE_WAL},
    {"*/#ib_redo*", TRACE_WAL},
    {"*/aria_log.*", TRACE_WAL},
    {"*bin.[0-9]*", TRACE_WAL},
    {"*/binlog.[0-9]*", TRACE_WAL},
    {"*-wal", TRACE_WAL},
    {"*.wal", TRACE_WAL},
    {"*-journal", TRACE_WAL},
    {"*/wal*/*", TRACE_WAL},
    {"*-shm", TRACE_OTHER},
    {"*/base/*", TRACE_TABLE},
    {"*/global/[0-9]*", TRACE_TABLE},
    {"*/PG_[0-9]*", TRACE_TABLE},
    {"*.ibd", TRACE_TABLE},
    {"*/ibdata*", TRACE_TABLE},
    {"*/undo*", TRACE_TABLE},
    {"*.[Mm][YyAa][DdIi]", TRACE_TABLE},
    {"*/store/*", TRACE_TABLE},
    {"*.bin", TRACE_TABLE},
    {"*.tsm*", TRACE_TABLE},
    {"*.d", TRACE_TABLE},
    {"*.db", TRACE_TABLE},
    {"*.sqlite*", TRACE_TABLE},
};

enum trace_file trace_classify(const char names[IO_NAMES][IO_NAME_BYTES], bool is_embedded)
{
    char path[IO_NAMES * (IO_NAME_BYTES + 1) + 1] = "";
    size_t used = 0;
    for (size_t i = IO_NAMES; i-- > 0;) {
        const bool is_part = names[i][0] != '\0' && names[i][0] != '/';
        used += is_part ? (size_t)snprintf(path + used, sizeof path - used, "/%.*s",
                                           IO_NAME_BYTES - 1, names[i])
                        : 0;
    }
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        if (fnmatch(patterns[i].pattern, path, 0) == 0) {
            return patterns[i].file;
        }
    }
    return is_embedded ? TRACE_TABLE : TRACE_OTHER;
}

static void record(struct histogram *histogram, uint64_t ns)
{
    const int64_t value = ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
    if (value < HISTOGRAM_LIMIT_NS) {
        histogram->counts[histogram_bucket(value)]++;
    } else {
        histogram->overflow++;
    }
    histogram->total++;
    histogram->sum_ns = histogram_sum_ns(histogram->sum_ns, ns);
    histogram->max_ns = value > histogram->max_ns ? value : histogram->max_ns;
}

static uint64_t vfs_ns(const struct io_event *event)
{
    return event->total_ns - event->queue_ns - event->device_ns;
}

static void add_times(struct trace_times *times, const struct io_event *event)
{
    times->bytes += event->bytes;
    record(&times->layers[TRACE_TOTAL], event->total_ns);
    if (event->kind == IO_OPERATION) {
        record(&times->layers[TRACE_VFS], vfs_ns(event));
    }
    record(&times->layers[TRACE_QUEUE], event->queue_ns);
    record(&times->layers[TRACE_DEVICE], event->device_ns);
}

/* Returns how much of layer_ns belongs to the first part_ns of a call of total_ns. Assumes that the
 * time in the layer is spread evenly over the call. */
static uint64_t share(uint64_t layer_ns, int64_t part_ns, int64_t total_ns)
{
    return (uint64_t)((double)layer_ns * ((double)part_ns / (double)total_ns));
}

/* Halves the number of slots: each pair of slots becomes one. */
static void halve_slots(struct trace_sum *sum)
{
    for (size_t i = 0; i < TRACE_SLOTS; i++) {
        for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
            const uint64_t both =
                i < TRACE_SLOTS / 2 ? sum->slots[2 * i][layer] + sum->slots[2 * i + 1][layer] : 0;
            sum->slots[i][layer] = both;
        }
    }
    sum->slot_ns *= 2;
    sum->slot_count = (sum->slot_count + 1) / 2;
}

static void add_slots(struct trace_sum *sum, const struct io_event *event)
{
    const uint64_t layers[TRACE_LAYERS] = {[TRACE_TOTAL] = event->total_ns,
                                           [TRACE_VFS] = vfs_ns(event),
                                           [TRACE_QUEUE] = event->queue_ns,
                                           [TRACE_DEVICE] = event->device_ns};
    const int64_t total_ns = (int64_t)event->total_ns;
    const int64_t from_ns = MAX((int64_t)event->start_ns - sum->start_ns, 0);
    sum->last_ns = MAX(sum->last_ns, sum->start_ns + from_ns + total_ns);
    sum->slot_ns = sum->slot_ns == 0 ? MONO_NS_PER_S : sum->slot_ns;
    while (from_ns + total_ns >= sum->slot_ns * TRACE_SLOTS) {
        halve_slots(sum);
    }
    for (int64_t done_ns = 0; done_ns < total_ns;) {
        const size_t slot = (size_t)((from_ns + done_ns) / sum->slot_ns);
        const int64_t next_ns = MIN((int64_t)(slot + 1) * sum->slot_ns - from_ns, total_ns);
        for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
            sum->slots[slot][layer] +=
                share(layers[layer], next_ns, total_ns) - share(layers[layer], done_ns, total_ns);
        }
        sum->slot_count = MAX(sum->slot_count, slot + 1);
        done_ns = next_ns;
    }
}

void trace_add(struct trace_sum *sum, const struct io_event *event, enum trace_file file)
{
    const bool is_request = event->kind == IO_REQUEST;
    const bool is_figure =
        is_request == (sum->level == IO_TRACE_REQUESTS) && event->source == IO_OWN;
    const int64_t start_ns = (int64_t)event->start_ns;
    sum->events++;
    sum->between[event->mode][file] +=
        is_figure && sum->before.taken_ns > 0 && start_ns >= sum->before.taken_ns;
    if (start_ns < sum->gate_ns || start_ns > sum->done_ns) {
        return;
    }
    if (is_request) {
        sum->requests[event->source].count++;
        sum->requests[event->source].bytes += event->bytes;
    }
    sum->open += event->is_open;
    if (is_figure) {
        add_slots(sum, event);
        add_times(&sum->modes[event->mode], event);
        if (event->mode == IO_SYNC) {
            add_times(&sum->syncs[file], event);
        }
    }
}

static void add_all_times(struct trace_times *into, const struct trace_times *from)
{
    into->bytes += from->bytes;
    for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
        struct histogram *to = &into->layers[layer];
        const struct histogram *more = &from->layers[layer];
        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
            to->counts[i] += more->counts[i];
        }
        to->overflow += more->overflow;
        to->total += more->total;
        to->sum_ns = histogram_sum_ns(to->sum_ns, more->sum_ns);
        to->max_ns = MAX(to->max_ns, more->max_ns);
    }
}

static void add_all_slots(struct trace_sum *into, const struct trace_sum *from)
{
    while (into->slot_count > 0 && into->slot_ns < from->slot_ns) {
        halve_slots(into);
    }
    into->slot_ns = MAX(into->slot_ns, from->slot_ns);
    for (size_t i = 0; i < from->slot_count; i++) {
        const size_t slot = (size_t)((int64_t)i * from->slot_ns / into->slot_ns);
        for (size_t layer = 0; layer < TRACE_LAYERS; layer++) {
            into->slots[slot][layer] += from->slots[i][layer];
        }
        into->slot_count = MAX(into->slot_count, slot + 1);
    }
}

void trace_sum_add(struct trace_sum *into, const struct trace_sum *from)
{
    if (from->level == IO_TRACE_OFF) {
        return;
    }
    const bool is_first = into->level == IO_TRACE_OFF;
    into->level = from->level;
    into->gate_ns = is_first ? from->gate_ns : MIN(into->gate_ns, from->gate_ns);
    into->done_ns = MAX(into->done_ns, from->done_ns);
    into->start_ns = is_first ? from->start_ns : MIN(into->start_ns, from->start_ns);
    into->last_ns = MAX(into->last_ns, from->last_ns);
    for (size_t mode = 0; mode < IO_MODES; mode++) {
        add_all_times(&into->modes[mode], &from->modes[mode]);
    }
    for (size_t file = 0; file < TRACE_FILES; file++) {
        add_all_times(&into->syncs[file], &from->syncs[file]);
    }
    for (size_t source = 0; source < IO_SOURCES; source++) {
        into->requests[source].count += from->requests[source].count;
        into->requests[source].bytes += from->requests[source].bytes;
    }
    for (size_t mode = 0; mode < IO_MODES; mode++) {
        for (size_t file = 0; file < TRACE_FILES; file++) {
            into->between[mode][file] += from->between[mode][file];
        }
    }
    into->events += from->events;
    into->lost += from->lost;
    into->open += from->open;
    into->cpu_s += from->cpu_s;
    into->kernel_s =
        into->kernel_s < 0 || from->kernel_s < 0 ? -1 : into->kernel_s + from->kernel_s;
    add_all_slots(into, from);
}

void trace_span(const struct trace_sum *sum, int64_t *from_ns, int64_t *to_ns)
{
    *from_ns = sum->gate_ns - sum->start_ns;
    *to_ns = MAX(sum->last_ns, sum->done_ns == INT64_MAX ? 0 : sum->done_ns) - sum->start_ns;
}

static char *put_text(char *at, const char *text)
{
    while (*text != '\0') {
        *at++ = *text++;
    }
    *at++ = ',';
    return at;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        *at++ = digits[--count];
    }
    *at++ = ',';
    return at;
}

size_t trace_write_header(char row[TRACE_ROW_BYTES], const char *place)
{
    return (size_t)snprintf(row, TRACE_ROW_BYTES,
                            "%stime_ns,row,mode,size_bytes,total_ns,vfs_ns,queue_ns,device_ns,pid,"
                            "tid,file,source,is_open\r\n",
                            place[0] == '\0' ? "" : "rank,machine,");
}

/* Does not use snprintf, which is too slow for several hundred thousand rows per second. */
size_t trace_write_row(char row[TRACE_ROW_BYTES], const char *place, const struct io_event *event,
                       enum trace_file file, int64_t gate_ns)
{
    static const char *const modes[IO_MODES] = {"", "R", "W", "S"};
    static const char *const sources[IO_SOURCES] = {"own", "writeback", "journal"};
    const int64_t time_ns = (int64_t)event->start_ns - gate_ns;
    char *at = row;
    while (*place != '\0') {
        *at++ = *place++;
    }
    *at = '-';
    at += time_ns < 0 ? 1 : 0;
    at = put_number(at, time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns);
    at = put_text(at, event->kind == IO_REQUEST ? "request" : "operation");
    at = put_text(at, modes[event->mode]);
    at = put_number(at, event->bytes);
    at = put_number(at, event->total_ns);
    at = put_number(at, vfs_ns(event));
    at = put_number(at, event->queue_ns);
    at = put_number(at, event->device_ns);
    at = put_number(at, event->pid);
    at = put_number(at, event->tid);
    at = put_text(at, trace_file_names[file]);
    at = put_text(at, sources[event->source]);
    at = put_number(at, event->is_open);
    at[-1] = '\r';
    *at++ = '\n';
    return (size_t)(at - row);
}

const struct histogram *trace_histogram(const struct trace_sum *sum, enum io_trace level, size_t i,
                                        char name[TRACE_NAME_BYTES])
{
    static const struct histogram nothing;
    const bool has_requests = level == IO_TRACE_REQUESTS;
    const size_t layers = has_requests ? TRACE_LAYERS - 1 : TRACE_LAYERS;
    const size_t mode = IO_READ + i / layers;
    size_t layer = i % layers;
    layer += has_requests && layer >= TRACE_VFS ? 1 : 0;
    if (level == IO_TRACE_OFF || mode >= IO_MODES) {
        return NULL;
    }
    snprintf(name, TRACE_NAME_BYTES, "%s.%s.%s", has_requests ? "request" : "io",
             mode_name(level, mode), trace_layer_names[layer]);
    return sum == NULL ? &nothing : &sum->modes[mode].layers[layer];
}

const struct trace_times *trace_times_at(const struct trace_sum *sum, size_t i, const char **mode,
                                         const char **file)
{
    const size_t modes = IO_MODES - IO_READ;
    *file = i < modes ? "" : trace_file_names[(i - modes) % TRACE_FILES];
    *mode = mode_name(sum->level, i < modes ? IO_READ + i : IO_SYNC);
    if (i < modes) {
        return &sum->modes[IO_READ + i];
    }
    /* a flush request does not belong to a file */
    const bool has_files = sum->level != IO_TRACE_REQUESTS;
    return has_files && i < modes + TRACE_FILES ? &sum->syncs[i - modes] : NULL;
}

bool trace_compare(const struct trace_sum *sum, size_t i, uint64_t *counted, uint64_t *traced)
{
    enum {
        WAL = 1 << TRACE_WAL,
        STORED = WAL | 1 << TRACE_TABLE | 1 << TRACE_TEMPORARY
    };
    static const struct {
        const char *name;
        unsigned files;
        enum io_mode mode;
    } known[] = {
        {"wal_write", WAL, IO_WRITE},
        {"wal_sync", WAL, IO_SYNC},
        {"Innodb_log_writes", WAL, IO_WRITE},
        {"Innodb_data_fsyncs", STORED, IO_SYNC},
    };
    const struct trace_counters *before = &sum->before, *after = &sum->after;
    *traced = 0;
    for (size_t k = 0; k < COUNT_OF(known) && i < before->count && i < after->count; k++) {
        if (strcmp(known[k].name, after->entries[i].name) != 0 ||
            strcmp(known[k].name, before->entries[i].name) != 0 ||
            sum->level == IO_TRACE_REQUESTS) {
            continue;
        }
        for (unsigned file = 0; file < TRACE_FILES; file++) {
            *traced += (known[k].files & 1U << file) != 0 ? sum->between[known[k].mode][file] : 0;
        }
        /* after a restart of the server the value is smaller, and the comparison is not possible */
        *counted = after->entries[i].value - before->entries[i].value;
        return after->entries[i].value >= before->entries[i].value;
    }
    return false;
}
