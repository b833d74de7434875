#include "ranks/merge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"
#include "base/ramp.h"
#include "base/random.h"
#include "trace/trace.h"

#define SECOND_NS MONO_NS_PER_S

/* Measuring threads wake a little late. So if the beginning or end of an interval differs from a
 * whole second by at most this time, it is rounded to the second. */
#define CLOSE_NS (SECOND_NS / 10)

enum {
    CAUSE_NAME_BYTES = FIGURE_KEY_BYTES
};

/* The beginning of a packed result. */
struct head {
    struct rank_result rank;
    size_t operations, hosts, datasets, metrics, sessions, findings, causes, traces;
    uint64_t other_causes;
};

struct packed_cause {
    struct cause cause; /* the cause, with moments relative to the start of the run */
    char name[CAUSE_NAME_BYTES];
};

size_t merge_layout(void)
{
    static const size_t sizes[] = {sizeof(struct head),          sizeof(struct session_summary),
                                   sizeof(struct packed_cause),  sizeof(struct finding),
                                   sizeof(struct row_exception), sizeof(struct sample),
                                   sizeof(struct trace_sum),     sizeof(struct level),
                                   sizeof(struct verification),  sizeof(struct metric_sum)};
    const uint16_t order = 1; /* its first byte depends on the byte order of the machine */
    size_t layout = 1;        /* version of the format of put() and put_counts() */
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        layout = layout * 31 + sizes[i];
    }
    return layout * 2 + *(const unsigned char *)&order;
}

/* Adds a number to `bytes` in groups of 7 bits, the lowest group first. Most numbers are small and
 * need only one or two bytes. */
static void put(struct buffer *bytes, uint64_t number)
{
    unsigned char text[10];
    size_t length = 0;
    do {
        text[length++] = (unsigned char)((number & 127) | (number > 127 ? 128 : 0));
        number >>= 7;
    } while (number > 0);
    buffer_add(bytes, text, length);
}

struct reader {
    const unsigned char *at, *end;
    bool has_failed; /* the bytes ended early or are wrong; all further reads give 0 */
};

static uint64_t get(struct reader *reader)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (reader->at == reader->end) {
            reader->has_failed = true;
            return 0;
        }
        const unsigned char byte = *reader->at++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return number;
        }
    }
    reader->has_failed = true;
    return 0;
}

static size_t bytes_left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static void get_bytes(struct reader *reader, void *to, size_t size)
{
    if (bytes_left(reader) < size) {
        reader->has_failed = true;
        reader->at = reader->end;
        memset(to, 0, size);
    } else {
        memcpy(to, reader->at, size);
        reader->at += size;
    }
}

/* Returns a checksum of the bytes. */
static uint64_t seal_of(const unsigned char *bytes, size_t size)
{
    uint64_t seal = size;
    for (size_t i = 0; i < size; i += sizeof seal) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, MIN(size - i, sizeof word));
        seal = random_mix(seal ^ word);
    }
    return seal;
}

/* Adds the checksum of the bytes to the bytes. The receiver checks it before it uses any of the
 * bytes. Returns false if memory runs out. */
static bool put_seal(struct buffer *bytes)
{
    if (!buffer_failed(bytes)) {
        const uint64_t seal = seal_of((const unsigned char *)bytes->bytes, bytes->length);
        buffer_add(bytes, &seal, sizeof seal);
    }
    return !buffer_failed(bytes);
}

/* Checks the checksum at the end of the bytes. Returns a reader of the bytes before the checksum;
 * its has_failed is true if the checksum is wrong. */
static struct reader open_sealed(const void *bytes, size_t size)
{
    const unsigned char *const at = bytes;
    uint64_t seal = 0;
    const size_t length = size < sizeof seal ? 0 : size - sizeof seal;
    if (bytes == NULL) {
        return (struct reader){.has_failed = true};
    }
    memcpy(&seal, at + length, size - length);
    const bool is_whole = length > 0 && seal == seal_of(at, length);
    return (struct reader){.at = at, .end = at + (is_whole ? length : 0), .has_failed = !is_whole};
}

/* Adds the counts that are not 0 to `bytes`. Before each count is the distance from the index of
 * the previous count to the index of this count. A 0 follows the last count. */
static void put_counts(struct buffer *bytes, const uint64_t *counts, size_t number)
{
    size_t end = 0;
    for (size_t i = 0; i < number; i++) {
        if (counts[i] > 0) {
            put(bytes, i + 1 - end);
            put(bytes, counts[i]);
            end = i + 1;
        }
    }
    put(bytes, 0);
}

/* Reads packed counts and adds each of them to its entry of `counts`. Returns the sum of the packed
 * counts. */
static uint64_t add_counts(struct reader *reader, uint64_t *counts, size_t number)
{
    uint64_t total = 0;
    size_t end = 0;
    for (uint64_t distance; (distance = get(reader)) > 0 && !reader->has_failed;) {
        const uint64_t count = get(reader);
        end += distance;
        if (end == 0 || end > number) {
            reader->has_failed = true;
            break;
        }
        counts[end - 1] += count;
        total += count;
    }
    return total;
}

static void put_histogram(struct buffer *bytes, const struct histogram *histogram)
{
    put_counts(bytes, histogram->counts, HISTOGRAM_BUCKETS);
    put(bytes, histogram->overflow);
    put(bytes, histogram->sum_ns);
    put(bytes, (uint64_t)histogram->max_ns);
}

static void add_histogram(struct reader *reader, struct histogram *into)
{
    into->total += add_counts(reader, into->counts, HISTOGRAM_BUCKETS);
    const uint64_t overflow = get(reader);
    into->overflow += overflow;
    into->total += overflow;
    into->sum_ns = histogram_sum_ns(into->sum_ns, get(reader));
    const int64_t max_ns = (int64_t)get(reader);
    into->max_ns = MAX(into->max_ns, max_ns);
}

static void put_metric(struct buffer *bytes, const struct metric_sum *sum)
{
    struct metric_sum bare = *sum;
    bare.metric = NULL;
    bare.buckets = NULL;
    buffer_add(bytes, &bare, sizeof bare);
    put_counts(bytes, sum->buckets, sum->buckets == NULL ? 0 : METRIC_BUCKETS);
}

static void add_metric(struct reader *reader, struct metric_sum *into)
{
    struct metric_sum from;
    get_bytes(reader, &from, sizeof from);
    from.buckets = NULL; /* the buckets follow */
    metric_sum_add(into, &from);
    add_counts(reader, into->buckets, into->buckets == NULL ? 0 : METRIC_BUCKETS);
}

/* Intervals. */

/* Returns whether intervals.csv has percentiles of the operation. */
static bool is_series(size_t operation)
{
    static const bool series[] = {
#define AS_SERIES(id, name, place, when, kind, ...) [OPERATION_##id] = SERIES_##kind,
#define SERIES_INTERVALS true
#define SERIES_TOTALS false
        OPERATION_TABLE(AS_SERIES)};
    return operation < OPERATIONS && series[operation];
}

/* Packs the 64-bit numbers of which an object of `size` bytes at `from` consists. */
static void put_numbers(struct buffer *bytes, const void *from, size_t size)
{
    const uint64_t *const numbers = from;
    for (size_t i = 0; i < size / sizeof *numbers; i++) {
        put(bytes, numbers[i]);
    }
}

static void get_numbers(struct reader *reader, void *into, size_t size)
{
    uint64_t *const numbers = into;
    for (size_t i = 0; i < size / sizeof *numbers; i++) {
        numbers[i] = get(reader);
    }
}

static void add_numbers(struct reader *reader, void *into, size_t size)
{
    uint64_t *const numbers = into;
    for (size_t i = 0; i < size / sizeof *numbers; i++) {
        numbers[i] += get(reader);
    }
}

/* Numbers of sessions at the end of an interval. */
enum gauge {
    ALIVE,
    WORKING,
    WITHOUT_PROGRESS,
    READING,
    GAUGES
};

/* The beginning of a packed interval. All members are 64-bit numbers, as put_numbers needs. */
struct interval_head {
    int64_t start_ns, end_ns;
    uint64_t gauges[GAUGES], rows_held, is_stage, stage, target;
};

void merge_keep_interval(struct buffer *kept, const struct interval *interval)
{
    const struct interval_head head = {
        .start_ns = interval->start_ns,
        .end_ns = interval->end_ns,
        .gauges = {[ALIVE] = interval->sessions_alive,
                   [WORKING] = interval->sessions_working,
                   [WITHOUT_PROGRESS] = interval->sessions_without_progress,
                   [READING] = interval->sessions_reading},
        .rows_held = interval->rows_held,
        .is_stage = interval->is_stage,
        .stage = interval->stage,
        .target = interval->target,
    };
    put_numbers(kept, &head, sizeof head);
    put_numbers(kept, interval->counters, sizeof interval->counters);
    put(kept, interval->hosts);
    for (size_t i = 0; i < interval->hosts; i++) {
        put_numbers(kept, interval->hosts_counters[i], sizeof interval->hosts_counters[i]);
    }
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (is_series(i)) {
            struct histogram between;
            histogram_subtract(recorder_histogram(interval->to, i),
                               recorder_histogram(interval->from, i), &between);
            put_histogram(kept, &between);
        }
    }
}

void merge_keep_sample(struct buffer *kept, const struct sample *sample)
{
    buffer_add(kept, sample, sizeof *sample);
}

/* The sums over all ranks for one second of the run, or for one stage of a ramp. */
struct slot {
    /* In a slot, start_ns is the earliest start and end_ns the latest end of all ranks; end_ns is 0
     * if no rank has reached the stage. rows_held is the change of the number of rows in the tables
     * during the slot; merge_finish replaces it by the number of rows at the end of the slot. */
    struct interval_head head;
    uint64_t counters[RECORDER_COUNTERS];
    /* counters of each host; owned; NULL if the run has only one host */
    uint64_t (*hosts_counters)[RECORDER_COUNTERS];
    struct buffer histograms[OPERATIONS]; /* packed, because most buckets are empty */
};

/* Seconds or stages, in their order. */
struct slots {
    struct slot *entries; /* slots in the order of time; owned */
    size_t count;
};

struct merge {
    struct result *result;
    struct operation_list operations;
    struct slots seconds, stages;
    struct rank_sample *samples;
    size_t sample_count;
    /* samples of result->resource_rank, with the values of other ranks added */
    struct sample *joined;
    size_t joined_count;
    /* histograms of each host; owned; NULL if the run has only one host */
    struct histogram (*host_histograms)[OPERATIONS];
    struct finding *findings; /* the limits that the ranks hit; owned */
    size_t finding_count;
};

static bool grow_slots(struct slots *slots, size_t count)
{
    if (count <= slots->count) {
        return true;
    }
    struct slot *entries = realloc(slots->entries, count * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    memset(entries + slots->count, 0, (count - slots->count) * sizeof *entries);
    slots->entries = entries;
    slots->count = count;
    return true;
}

static void free_slots(struct slots *slots)
{
    for (size_t i = 0; i < slots->count; i++) {
        for (size_t k = 0; k < OPERATIONS; k++) {
            buffer_fini(&slots->entries[i].histograms[k]);
        }
        free(slots->entries[i].hosts_counters);
    }
    free(slots->entries);
}

static void add_packed_histogram(const struct buffer *packed, struct histogram *into)
{
    const unsigned char *const at = (const unsigned char *)packed->bytes;
    if (packed->length > 0) {
        struct reader reader = {.at = at, .end = at + packed->length};
        add_histogram(&reader, into);
    }
}

static bool add_to_packed_histogram(struct buffer *packed, struct reader *reader)
{
    struct histogram all = {.total = 0};
    add_packed_histogram(packed, &all);
    add_histogram(reader, &all);
    buffer_clear(packed);
    put_histogram(packed, &all);
    return !buffer_failed(packed);
}

/* The slots that an interval covers: its stage, or the seconds from its start to its end. An
 * interval is longer than a second if the measuring thread of its rank woke late. */
struct span {
    size_t first, count;
    int64_t start_ns, end_ns;
};

static int64_t round_moment(int64_t ns)
{
    const int64_t second_ns = (ns + SECOND_NS / 2) / SECOND_NS * SECOND_NS;
    return llabs(ns - second_ns) <= CLOSE_NS ? second_ns : ns;
}

static struct span find_span(const struct interval_head *head)
{
    if (head->is_stage != 0) {
        return (struct span){.first = (size_t)(head->stage - 1), .count = 1};
    }
    int64_t start_ns = MAX(head->start_ns, (int64_t)0);
    if (round_moment(start_ns) <= head->end_ns) {
        start_ns = round_moment(start_ns);
    }
    const int64_t end_ns = MAX(round_moment(head->end_ns), start_ns);
    const size_t first = (size_t)(start_ns / SECOND_NS);
    const size_t end = (size_t)((end_ns + SECOND_NS - 1) / SECOND_NS);
    return (struct span){first, MAX(end, first + 1) - first, start_ns, end_ns};
}

/* Returns the share of slot `i` in the rest of the span: the duration of the slot, divided by the
 * time from the beginning of the slot to the end of the span. */
static double find_share(const struct span *span, size_t i)
{
    const int64_t end_ns = (int64_t)(span->first + i + 1) * SECOND_NS;
    const int64_t start_ns = MAX(end_ns - SECOND_NS, span->start_ns);
    return i + 1 == span->count ? 1
                                : (double)(end_ns - start_ns) / (double)(span->end_ns - start_ns);
}

static uint64_t find_part(uint64_t count, double share)
{
    return share >= 1 ? count : MIN((uint64_t)((double)count * share + 0.5), count);
}

/* Moves values from *left to *part. `share` is the fraction of the values to move, from 0 to 1. */
static void take_part(struct histogram *left, double share, struct histogram *part)
{
    const struct histogram all = *left;
    uint64_t seen = 0;
    *part = (struct histogram){.total = 0};
    for (size_t i = 0; i < HISTOGRAM_BUCKETS;
         i++) { /* rounds the sum up to bucket i, because each count alone could round to 0 */
        seen += all.counts[i];
        part->counts[i] = find_part(seen, share) - part->total;
        part->total += part->counts[i];
    }
    part->overflow = find_part(all.total, share) - part->total;
    part->total += part->overflow;
    part->sum_ns =
        all.total == 0 ? 0 : find_part(all.sum_ns, (double)part->total / (double)all.total);
    part->max_ns = all.max_ns;
    histogram_subtract(&all, part, left);
    const struct histogram none = {.total = 0}, taken = *part;
    histogram_subtract(&taken, &none, part); /* lowers the maximum to the highest taken value */
}

/* Divides the next histogram of the reader among the slots of the span. `slot` is the first of
 * these slots. Returns false if memory runs out. */
static bool add_interval_histogram(struct slot *slot, const struct span *span, size_t operation,
                                   struct reader *reader)
{
    if (span->count == 1) {
        return add_to_packed_histogram(&slot->histograms[operation], reader);
    }
    struct histogram left = {.total = 0}, part;
    struct buffer packed = {0};
    bool has_memory = true;
    add_histogram(reader, &left);
    for (size_t i = 0; i < span->count && has_memory; i++) {
        take_part(&left, find_share(span, i), &part);
        buffer_clear(&packed);
        put_histogram(&packed, &part);
        const unsigned char *const at = (const unsigned char *)packed.bytes;
        struct reader of_part = {.at = at, .end = at + packed.length};
        has_memory = !buffer_failed(&packed) &&
                     add_to_packed_histogram(&slot[i].histograms[operation], &of_part);
    }
    buffer_fini(&packed);
    return has_memory;
}

/* Divides the counters of an interval among the slots of the span. `slot` is the first of these
 * slots. `host` is the host to which the counters belong, or -1 for all hosts together. */
static void add_interval_counters(struct slot *slot, const struct span *span, int host,
                                  const uint64_t counters[RECORDER_COUNTERS])
{
    for (size_t c = 0; c < RECORDER_COUNTERS; c++) {
        uint64_t left = counters[c];
        for (size_t i = 0; i < span->count && left > 0; i++) {
            const uint64_t part = find_part(left, find_share(span, i));
            *(host < 0 ? &slot[i].counters[c] : &slot[i].hosts_counters[host][c]) += part;
            left -= part;
        }
    }
}

/* Adds the head of an interval to the slots of the span. `slot` is the first of these slots.
 * `before` is the head of the rank's previous interval of the same kind, or all 0. `acknowledged`
 * is the number of rows that were acknowledged in the interval. */
static void add_interval_head(struct slot *slot, const struct span *span,
                              const struct interval_head *head, const struct interval_head *before,
                              uint64_t acknowledged)
{
    const struct span earlier = find_span(before);
    /* number of rows at the beginning of the interval; for the first interval, rows that were not
     * acknowledged in the interval were in the tables before the run */
    const uint64_t had = before->end_ns == 0 ? head->rows_held - MIN(head->rows_held, acknowledged)
                                             : before->rows_held;
    int64_t left = (int64_t)(head->rows_held - had);
    slot->head.rows_held += before->end_ns == 0 ? had : 0;
    for (size_t i = 0; i < span->count; i++) {
        struct interval_head *sum = &slot[i].head;
        const int64_t second_ns = (int64_t)(span->first + i) * SECOND_NS;
        const int64_t start_ns = i == 0 ? head->start_ns : second_ns;
        const int64_t end_ns = i + 1 == span->count ? head->end_ns : second_ns + SECOND_NS;
        const int64_t rows = llround((double)left * find_share(span, i));
        /* the previous interval ended in the same second: its gauges are replaced */
        const bool is_again = span->first + i + 1 == earlier.first + earlier.count;
        sum->start_ns = sum->end_ns == 0 ? start_ns : MIN(sum->start_ns, start_ns);
        sum->end_ns = MAX(sum->end_ns, end_ns);
        sum->stage = MAX(sum->stage, head->stage);
        sum->target = head->target;
        for (size_t k = 0; k < GAUGES; k++) {
            sum->gauges[k] += head->gauges[k] - (is_again ? before->gauges[k] : 0);
        }
        sum->rows_held += (uint64_t)rows;
        left -= rows;
    }
}

/* Reads the next interval of a rank, and adds it to the slots of its seconds or of its stage.
 * before[0] is the rank's previous interval that was not a stage, before[1] the previous stage; the
 * new interval replaces one of them. Returns false if memory runs out. */
static bool add_interval(struct merge *merge, struct reader *reader, struct interval_head before[2])
{
    struct interval_head head;
    get_numbers(reader, &head, sizeof head);
    const bool is_stage = head.is_stage != 0;
    struct slots *slots = is_stage ? &merge->stages : &merge->seconds;
    const struct span span = find_span(&head);
    reader->has_failed |= head.stage > RAMP_STAGES_MAX || (is_stage && head.stage == 0);
    if (reader->has_failed || !grow_slots(slots, span.first + span.count)) {
        return reader->has_failed;
    }
    struct slot *slot = &slots->entries[span.first];
    uint64_t counters[RECORDER_COUNTERS];
    get_numbers(reader, counters, sizeof counters);
    add_interval_head(slot, &span, &head, &before[is_stage], counters[RECORDER_ROWS_ACKNOWLEDGED]);
    before[is_stage] = head;
    add_interval_counters(slot, &span, -1, counters);
    const uint64_t hosts = get(reader);
    if (hosts != (merge->host_histograms == NULL ? 0 : merge->result->totals.hosts)) {
        reader->has_failed = true;
        return true;
    }
    bool has_memory = true;
    for (size_t i = 0; i < span.count && hosts > 0; i++) {
        if (slot[i].hosts_counters == NULL) {
            slot[i].hosts_counters = calloc(hosts, sizeof *slot[i].hosts_counters);
        }
        has_memory = has_memory && slot[i].hosts_counters != NULL;
    }
    for (size_t i = 0; i < hosts && has_memory; i++) {
        get_numbers(reader, counters, sizeof counters);
        add_interval_counters(slot, &span, (int)i, counters);
    }
    for (size_t i = 0; i < OPERATIONS && has_memory; i++) {
        has_memory = !is_series(i) || add_interval_histogram(slot, &span, i, reader);
    }
    return has_memory;
}

/* The following functions read a part of a rank's packed result and add it to the merged result.
 * They return false if memory runs out. */

static bool add_intervals(struct merge *merge, struct reader *reader)
{
    const uint64_t length = get(reader);
    if (reader->has_failed || length > bytes_left(reader)) {
        reader->has_failed = true;
        return true;
    }
    struct interval_head before[2] = {{.start_ns = 0}};
    struct reader intervals = {.at = reader->at, .end = reader->at + length};
    bool has_memory = true;
    while (intervals.at < intervals.end && !intervals.has_failed && has_memory) {
        has_memory = add_interval(merge, &intervals, before);
    }
    reader->at += length;
    reader->has_failed = intervals.has_failed;
    return has_memory;
}

size_t merge_interval_count(const struct merge *merge)
{
    return merge->seconds.count;
}

/* Fills *interval with the sums of a slot. */
static void fill_interval(const struct merge *merge, const struct slot *slot,
                          struct interval *interval)
{
    const struct interval_head *head = &slot->head;
    *interval = (struct interval){
        .start_ns = head->start_ns,
        .end_ns = head->end_ns,
        .stage = (unsigned)head->stage,
        .target = head->target,
        .sessions_alive = head->gauges[ALIVE],
        .sessions_working = head->gauges[WORKING],
        .sessions_without_progress = head->gauges[WITHOUT_PROGRESS],
        .sessions_reading = head->gauges[READING],
        .rows_held = head->rows_held,
        .hosts = slot->hosts_counters == NULL ? 0 : merge->result->totals.hosts,
        .hosts_counters = (const uint64_t(*)[RECORDER_COUNTERS])slot->hosts_counters,
    };
    memcpy(interval->counters, slot->counters, sizeof interval->counters);
    for (size_t i = 0; i < OPERATIONS; i++) {
        struct histogram histogram = {.total = 0};
        add_packed_histogram(&slot->histograms[i], &histogram);
        interval->latencies[i] = histogram_latency(&histogram);
    }
}

void merge_interval(const struct merge *merge, size_t number, struct interval *interval)
{
    const int64_t start_ns = (int64_t)number * SECOND_NS;
    const bool is_last = number + 1 == merge->seconds.count;
    fill_interval(merge, &merge->seconds.entries[number], interval);
    interval->start_ns = start_ns;
    interval->end_ns = is_last ? MAX(interval->end_ns, start_ns) : start_ns + SECOND_NS;
}

size_t merge_sample_count(const struct merge *merge)
{
    return merge->sample_count;
}

const struct rank_sample *merge_sample(const struct merge *merge, size_t number)
{
    return &merge->samples[number];
}

size_t merge_joined_count(const struct merge *merge)
{
    return merge->joined_count;
}

const struct sample *merge_joined(const struct merge *merge, size_t number)
{
    return &merge->joined[number];
}

/* Causes. */

static void put_causes(struct buffer *bytes, const struct causes *causes, int64_t start_mono_ns)
{
    for (size_t i = 0; i < causes->count; i++) {
        struct packed_cause packed = {.cause = causes->entries[i]};
        struct cause *cause = &packed.cause;
        snprintf(packed.name, sizeof packed.name, "%s", cause->name == NULL ? "" : cause->name);
        cause->name = NULL;
        cause->error.limit = NULL; /* the findings name the limit */
        cause->first_ns -= start_mono_ns;
        cause->last_ns -= start_mono_ns;
        buffer_add(bytes, &packed, sizeof packed);
    }
}

/* Returns the string in `operations` that is equal to `name`; it lives as long as `operations`.
 * Returns NULL if the script has no operation with this name. */
static const char *find_name(const struct operation_list *operations, const char *name)
{
    for (size_t i = OPERATIONS; i < operations->count; i++) {
        if (strcmp(operations->entries[i].name, name) == 0) {
            return operations->entries[i].name;
        }
    }
    return NULL;
}

static void add_causes(struct causes *into, struct reader *reader, size_t count,
                       const char *machine, const struct operation_list *operations,
                       int64_t start_mono_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct packed_cause packed;
        get_bytes(reader, &packed, sizeof packed);
        if (reader->has_failed) {
            return;
        }
        struct cause cause = packed.cause;
        cause.name = packed.name[0] == '\0' ? NULL : find_name(operations, packed.name);
        cause.first_ns += start_mono_ns;
        cause.last_ns += start_mono_ns;
        if (cause.phase == CAUSE_THREAD || cause.error.kind == ERROR_SYSTEM) {
            snprintf(cause.error.text, sizeof cause.error.text, "machine %.60s: %.160s", machine,
                     packed.cause.error.text);
        }
        causes_merge_cause(into, &cause);
    }
}

/* Levels of a search. */

bool merge_pack_level(struct buffer *bytes, const struct level *level,
                      const struct histogram *connect, const struct histogram *append,
                      int64_t start_mono_ns)
{
    struct level bare = *level;
    bare.causes = NULL;
    buffer_add(bytes, &bare, sizeof bare);
    put_histogram(bytes, connect);
    put_histogram(bytes, append);
    put(bytes, level->causes == NULL ? 0 : level->causes->count);
    put(bytes, level->causes == NULL ? 0 : level->causes->others);
    if (level->causes != NULL) {
        put_causes(bytes, level->causes, start_mono_ns);
    }
    return put_seal(bytes);
}

/* Returns the entry of a machine in *sum. Adds an entry with unknown figures if the machine has no
 * entry yet. Returns NULL if memory runs out. */
static struct level_machine *find_machine(struct level_sum *sum, const char *name)
{
    for (size_t i = 0; i < sum->machine_count; i++) {
        if (strcmp(sum->machines[i].name, name) == 0) {
            return &sum->machines[i];
        }
    }
    const size_t count = sum->machine_count + 1;
    struct level_machine *machines = realloc(sum->machines, count * sizeof *machines);
    if (machines == NULL) {
        return NULL;
    }
    sum->machines = machines;
    sum->machine_count = count;
    machines[count - 1] =
        (struct level_machine){.name = name, .cpu = {-1, -1, -1}, .server_memory_bytes = -1};
    return &machines[count - 1];
}

/* Adds a rank's CPU shares and server memory to the entry of the rank's machine. Takes the maximum
 * of values that every rank on the machine measures: the CPU of the whole machine and of the
 * server. Adds up the CPU of the client, which each rank measures only for itself. */
static void add_to_machine(struct level_machine *into, const struct level *from)
{
    into->cpu.host = fmax(into->cpu.host, from->cpu.host);
    into->cpu.server = fmax(into->cpu.server, from->cpu.server);
    if (from->cpu.client >= 0) {
        into->cpu.client = fmax(into->cpu.client, 0) + from->cpu.client;
    }
    into->server_memory_bytes = MAX(into->server_memory_bytes, from->server_memory_bytes);
}

/* Returns whether the level shows the figures of `a` rather than those of `b`. The answer does not
 * depend on the order in which the ranks were added. */
static bool is_preferred(const struct level_machine *a, const struct level_machine *b)
{
    const bool has_server = a->server_memory_bytes >= 0, other_has = b->server_memory_bytes >= 0;
    if (has_server != other_has) {
        return has_server;
    }
    return a->cpu.host > b->cpu.host ||
           (a->cpu.host >= b->cpu.host && strcmp(a->name, b->name) < 0);
}

bool merge_add_level(struct level_sum *sum, const char *machine, const void *bytes, size_t size,
                     const struct operation_list *operations, int64_t start_mono_ns)
{
    struct reader reader = open_sealed(bytes, size);
    struct level from, *into = sum->level;
    get_bytes(&reader, &from, sizeof from);
    const bool is_first = sum->machine_count == 0;
    struct level_machine *on = reader.has_failed ? NULL : find_machine(sum, machine);
    if (on == NULL) {
        return false;
    }
    add_histogram(&reader, &sum->connect);
    add_histogram(&reader, &sum->append);
    const uint64_t causes = get(&reader), others = get(&reader);
    if (causes + others > 0 && into->causes == NULL) {
        into->causes = malloc(sizeof *into->causes);
        if (into->causes != NULL) {
            causes_init(into->causes);
        }
    }
    if (into->causes != NULL) {
        add_causes(into->causes, &reader, causes, machine, operations, start_mono_ns);
        into->causes->others += others;
    }
    if (reader.has_failed) {
        return false;
    }
    /* The level gets the reason of the earliest failure. If the level has not failed at any rank,
     * it is unfinished as soon as one rank did not finish it. */
    const bool has_failed = from.outcome == LEVEL_FAILED && from.reason != LEVEL_NO_REASON;
    const bool had_failed = into->outcome == LEVEL_FAILED && into->reason != LEVEL_NO_REASON;
    if (has_failed > had_failed || (has_failed && from.reason_ns < into->reason_ns) ||
        (!had_failed && from.outcome == LEVEL_UNFINISHED)) {
        into->outcome = from.outcome;
        into->reason = from.reason;
        into->reason_ns = from.reason_ns;
    }
    ledger_add(&into->ledger, &from.ledger, sizeof into->ledger);
    into->up += from.up;
    into->stalled += from.stalled;
    into->failed += from.failed;
    into->rows += from.rows;
    into->connect_ns = MAX(into->connect_ns, from.connect_ns);
    into->hold_ns = MAX(into->hold_ns, from.hold_ns);
    into->part_count = is_first ? from.part_count : MIN(into->part_count, from.part_count);
    for (unsigned i = 0; i < into->part_count && i < LEVEL_PARTS_MAX; i++) {
        into->parts_rows_per_s[i] += from.parts_rows_per_s[i];
    }
    add_to_machine(on, &from);
    if (from.client_memory_bytes >= 0) {
        into->client_memory_bytes =
            MAX(into->client_memory_bytes, (int64_t)0) + from.client_memory_bytes;
    }
    if (from.room.times < into->room.times) {
        into->room = from.room;
        snprintf(into->room.machine, sizeof into->room.machine, "%s", machine);
    }
    return true;
}

void merge_finish_level(struct level_sum *sum)
{
    struct level *level = sum->level;
    level->connect = histogram_latency(&sum->connect);
    level->append = histogram_latency(&sum->append);
    level->added = level->connect.count;
    level_compute_rates(level);
    const struct level_machine *best = sum->machines;
    for (size_t i = 1; i < sum->machine_count; i++) {
        best = is_preferred(&sum->machines[i], best) ? &sum->machines[i] : best;
    }
    if (best != NULL) {
        level->cpu = best->cpu;
        level->server_memory_bytes = best->server_memory_bytes;
    }
    free(sum->machines);
    sum->machines = NULL;
    sum->machine_count = 0;
}

/* Converts the moments of a trace from the clock of the trace's rank to the clock of rank 0, by
 * adding `by_ns`. The run starts at the same moment on all ranks, so `by_ns` is the start on the
 * clock of rank 0 minus the start on the clock of the rank. */
static void move_trace(struct trace_sum *trace, int64_t by_ns)
{
    int64_t *const moments_ns[] = {&trace->start_ns,        &trace->gate_ns,
                                   &trace->done_ns,         &trace->last_ns,
                                   &trace->before.taken_ns, &trace->after.taken_ns};
    for (size_t i = 0; i < COUNT_OF(moments_ns); i++) {
        const bool is_known = *moments_ns[i] != 0 && *moments_ns[i] != INT64_MAX;
        *moments_ns[i] += is_known ? by_ns : 0;
    }
}

/* A rank's result. */

bool merge_pack(struct buffer *bytes, const struct merge_part *part)
{
    const struct result *result = part->result;
    const struct recorder_snapshot *totals = &result->totals;
    struct head head = {
        .rank = *part->own,
        .operations = totals->operations,
        .hosts = totals->hosts,
        .datasets = result->dataset_count,
        .metrics = result->metric_count,
        .sessions = result->session_count,
        .findings = result->findings.count,
        .causes = result->causes.count,
        .traces = result->trace == NULL ? 0 : 1,
        .other_causes = result->causes.others,
    };
    result_copy_part(result, &head.rank);
    buffer_add(bytes, &head, sizeof head);
    for (size_t i = 0; i < totals->operations; i++) {
        put_histogram(bytes, &totals->histograms[i]);
        for (size_t c = 0; c < OPERATION_COUNTS; c++) {
            put(bytes, totals->counts[i][c]);
        }
    }
    for (unsigned host = 0; host < totals->hosts; host++) {
        put_numbers(bytes, totals->hosts_counters[host], sizeof totals->hosts_counters[host]);
        for (size_t i = 0; i < OPERATIONS; i++) {
            struct histogram histogram;
            recorder_histogram_at(part->recorder, host, i, &histogram);
            put_histogram(bytes, &histogram);
        }
    }
    buffer_add(bytes, result->datasets, result->dataset_count * sizeof *result->datasets);
    for (size_t i = 0; i < result->metric_count; i++) {
        put_metric(bytes, &result->metrics[i]);
    }
    buffer_add(bytes, result->findings.entries,
               result->findings.count * sizeof *result->findings.entries);
    put_causes(bytes, &result->causes, result->start_mono_ns);
    for (size_t i = 0; i < result->session_count; i++) {
        struct session_summary session = result->session_list[i];
        const struct row_exception *exceptions = session.exceptions;
        session.exceptions = NULL;
        buffer_add(bytes, &session, sizeof session);
        buffer_add(bytes, exceptions, session.exception_count * sizeof *exceptions);
    }
    if (result->trace != NULL) {
        buffer_add(bytes, result->trace, sizeof *result->trace);
    }
    put(bytes, part->intervals->length);
    buffer_add(bytes, part->intervals->bytes, part->intervals->length);
    put(bytes, part->samples->length / sizeof(struct sample));
    buffer_add(bytes, part->samples->bytes, part->samples->length);
    return put_seal(bytes) && !buffer_failed(part->intervals) && !buffer_failed(part->samples);
}

struct merge *merge_create(struct result *result, const struct operation_list *operations)
{
    struct merge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) {
        return NULL;
    }
    merge->result = result;
    merge->operations = *operations;
    const size_t hosts = result->totals.hosts;
    merge->host_histograms = hosts == 0 ? NULL : calloc(hosts, sizeof *merge->host_histograms);
    if (hosts > 0 && merge->host_histograms == NULL) {
        free(merge);
        return NULL;
    }
    result->stop_reason = STOP_COMPLETED;
    return merge;
}

void merge_destroy(struct merge *merge)
{
    if (merge == NULL) {
        return;
    }
    free_slots(&merge->seconds);
    free_slots(&merge->stages);
    free(merge->samples);
    free(merge->joined);
    free(merge->host_histograms);
    free(merge->findings);
    free(merge);
}

static void add_head(struct merge *merge, unsigned rank, const struct head *head)
{
    struct result *result = merge->result;
    struct rank_result *entry = &result->ranks[rank];
    char machine[sizeof entry->machine];
    memcpy(machine, entry->machine, sizeof machine);
    *entry = head->rank;
    memcpy(entry->machine, machine, sizeof machine);
    entry->is_known = true;
    entry->trace = NULL;
    result_add_part(result, entry);
}

static void add_totals(struct merge *merge, struct reader *reader, const struct head *head)
{
    struct recorder_snapshot *totals = &merge->result->totals;
    for (size_t i = 0; i < head->operations; i++) {
        add_histogram(reader, &totals->histograms[i]);
        for (size_t c = 0; c < OPERATION_COUNTS; c++) {
            totals->counts[i][c] += get(reader);
        }
    }
    for (size_t host = 0; host < head->hosts; host++) {
        add_numbers(reader, totals->hosts_counters[host], sizeof totals->hosts_counters[host]);
        for (size_t i = 0; i < OPERATIONS; i++) {
            add_histogram(reader, &merge->host_histograms[host][i]);
        }
    }
    for (size_t i = 0; i < head->datasets; i++) {
        struct verification from, *into = &merge->result->datasets[i];
        get_bytes(reader, &from, sizeof from);
        into->added += from.added;
        into->taken += from.taken;
        into->added_in_doubt += from.added_in_doubt;
        into->taken_in_doubt += from.taken_in_doubt;
    }
    for (size_t i = 0; i < head->metrics; i++) {
        add_metric(reader, &merge->result->metrics[i]);
    }
}

/* Adds a finding of a rank. If the finding is already known, adds only its numbers of sessions and
 * tries. A limit of the client belongs to the rank's machine, so the name of the machine is put
 * before the evidence. Returns false if memory runs out. */
static bool add_finding(struct merge *merge, const char *machine, struct finding *finding)
{
    char place[100] = "";
    if (finding->side == LIMIT_CLIENT) {
        char evidence[sizeof finding->evidence];
        memcpy(evidence, finding->evidence, sizeof evidence);
        snprintf(place, sizeof place, "machine %.60s: ", machine);
        snprintf(finding->evidence, sizeof finding->evidence, "machine %.60s: %.220s", machine,
                 evidence);
    }
    for (size_t i = 0; i < merge->finding_count; i++) {
        struct finding *known = &merge->findings[i];
        if (known->id == finding->id && known->side == finding->side &&
            strcmp(known->name, finding->name) == 0 &&
            strncmp(known->evidence, place, strlen(place)) == 0) {
            known->sessions += finding->sessions;
            known->tries += finding->tries;
            return true;
        }
    }
    struct finding *all = realloc(merge->findings, (merge->finding_count + 1) * sizeof *all);
    if (all == NULL) {
        return false;
    }
    merge->findings = all;
    all[merge->finding_count++] = *finding;
    return true;
}

static bool add_findings(struct merge *merge, unsigned rank, struct reader *reader, size_t count)
{
    bool has_memory = true;
    for (size_t i = 0; i < count && has_memory; i++) {
        struct finding finding;
        get_bytes(reader, &finding, sizeof finding);
        if (reader->has_failed) {
            break;
        }
        has_memory = add_finding(merge, merge->result->ranks[rank].machine, &finding);
    }
    return has_memory;
}

static bool add_sessions(struct merge *merge, struct reader *reader, size_t count)
{
    struct result *result = merge->result;
    for (size_t i = 0; i < count && !reader->has_failed; i++) {
        struct session_summary session;
        get_bytes(reader, &session, sizeof session);
        const size_t bytes = session.exception_count * sizeof *session.exceptions;
        if (reader->has_failed || session.index >= result->session_count ||
            session.exception_count > bytes_left(reader) || bytes > bytes_left(reader)) {
            reader->has_failed = true;
            return true;
        }
        session.exceptions = bytes == 0 ? NULL : malloc(bytes);
        if (bytes > 0 && session.exceptions == NULL) {
            return false;
        }
        if (bytes > 0) {
            get_bytes(reader, session.exceptions, bytes);
        }
        free(result->session_list[session.index].exceptions);
        result->session_list[session.index] = session;
    }
    return true;
}

static bool add_samples(struct merge *merge, unsigned rank, struct reader *reader)
{
    const uint64_t count = get(reader);
    if (reader->has_failed || count > bytes_left(reader) / sizeof(struct sample)) {
        reader->has_failed = true;
        return true;
    }
    if (count == 0) {
        return true;
    }
    struct rank_sample *samples =
        realloc(merge->samples, (merge->sample_count + count) * sizeof *samples);
    if (samples == NULL) {
        return false;
    }
    merge->samples = samples;
    for (size_t i = 0; i < count; i++) {
        struct rank_sample *sample = &samples[merge->sample_count++];
        sample->rank = rank;
        sample->machine = merge->result->ranks[rank].machine;
        get_bytes(reader, &sample->sample, sizeof sample->sample);
    }
    return true;
}

static bool add_trace(struct merge *merge, unsigned rank, struct reader *reader,
                      const struct head *head)
{
    struct rank_result *entry = &merge->result->ranks[rank];
    entry->trace = head->traces == 0 ? NULL : malloc(sizeof *entry->trace);
    if (entry->trace != NULL) {
        get_bytes(reader, entry->trace, sizeof *entry->trace);
        move_trace(entry->trace, merge->result->start_mono_ns - entry->start_mono_ns);
    }
    return head->traces == 0 || entry->trace != NULL;
}

enum status merge_add(struct merge *merge, unsigned rank, const void *bytes, size_t size,
                      struct error *error)
{
    struct result *result = merge->result;
    struct reader reader = open_sealed(bytes, size);
    struct head head;
    get_bytes(&reader, &head, sizeof head);
    if (size == 0) {
        error_set(error, ERROR_SYSTEM, 0, NULL,
                  "rank %u could not send its result: memory ran out, or the result is too large",
                  rank);
        return STATUS_REJECTED;
    }
    if (reader.has_failed || rank >= result->rank_count ||
        head.operations != result->totals.operations || head.hosts != result->totals.hosts ||
        head.datasets != result->dataset_count || head.metrics != result->metric_count) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "the result of rank %u is damaged or incomplete",
                  rank);
        return STATUS_REJECTED;
    }
    add_head(merge, rank, &head);
    add_totals(merge, &reader, &head);
    const bool has_memory = add_findings(merge, rank, &reader, head.findings);
    add_causes(&result->causes, &reader, head.causes, result->ranks[rank].machine,
               &merge->operations, result->start_mono_ns);
    result->causes.others += head.other_causes;
    if (!has_memory || !add_sessions(merge, &reader, head.sessions) ||
        !add_trace(merge, rank, &reader, &head) || !add_intervals(merge, &reader) ||
        !add_samples(merge, rank, &reader)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the result of rank %u", rank);
        return STATUS_FATAL;
    }
    if (reader.has_failed || reader.at != reader.end) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "the result of rank %u belongs to another run",
                  rank);
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

/* Completes the transaction counters that a lost rank reported last, so that their sums are right.
 * Transactions whose end was not reported become in doubt. Failed transactions count as failed by a
 * lost connection, because the lost rank did not report the real reasons. */
static void close_transactions(uint64_t counters[RECORDER_COUNTERS], bool has_rate)
{
    uint64_t *begun = &counters[RECORDER_TRANSACTIONS_BEGUN];
    uint64_t *in_doubt = &counters[RECORDER_TRANSACTIONS_IN_DOUBT];
    uint64_t *partial = &counters[RECORDER_TRANSACTIONS_PARTIAL];
    const uint64_t failed = counters[RECORDER_TRANSACTIONS_FAILED];
    const uint64_t ended = counters[RECORDER_TRANSACTIONS_COMMITTED] +
                           counters[RECORDER_TRANSACTIONS_ROLLED_BACK] + failed + *in_doubt +
                           counters[RECORDER_TRANSACTIONS_UNFINISHED];
    *begun = MAX(*begun, ended);
    *in_doubt += *begun - ended;
    *partial = MIN(*partial, failed);
    counters[RECORDER_TRANSACTIONS_EXHAUSTED] = counters[RECORDER_TRANSACTIONS_REFUSED] = 0;
    counters[RECORDER_TRANSACTIONS_LOST] = failed;
    counters[RECORDER_TRIES] = *begun + transactions_retries(counters);
    counters[RECORDER_TRANSACTIONS_NOT_BEGUN] = 0;
    counters[RECORDER_TRANSACTIONS_DUE] = has_rate ? *begun + counters[RECORDER_SKIPPED] : 0;
    counters[RECORDER_TRANSACTIONS_NOT_DUE] = MIN(counters[RECORDER_TRANSACTIONS_NOT_DUE], *begun);
    counters[RECORDER_TRANSACTIONS_DUE] -= has_rate ? counters[RECORDER_TRANSACTIONS_NOT_DUE] : 0;
}

void merge_add_lost(struct merge *merge, unsigned rank, const struct session_summary *sessions,
                    size_t count, const uint64_t counters[RECORDER_COUNTERS])
{
    struct result *result = merge->result;
    struct rank_result *entry = &result->ranks[rank];
    entry->is_known = false;
    entry->sessions.requested = count;
    entry->sessions.connected = MIN(counters[RECORDER_SESSIONS_CONNECTED], count);
    entry->sessions.dropped = entry->sessions.connected;
    entry->sessions.not_started = count - entry->sessions.connected;
    for (size_t i = 0; i < count && sessions != NULL; i++) {
        entry->rows.planned += sessions[i].rows.planned;
        result->session_list[sessions[i].index] = sessions[i];
        result->session_list[sessions[i].index].is_of_lost_rank = true;
    }
    /* at least the reported rows count as planned: a run with a duration plans no number of rows */
    entry->rows.planned = MAX(entry->rows.planned, counters[RECORDER_ROWS_ACKNOWLEDGED] +
                                                       counters[RECORDER_ROWS_REJECTED] +
                                                       counters[RECORDER_ROWS_IN_DOUBT]);
    entry->rows.acknowledged = MIN(counters[RECORDER_ROWS_ACKNOWLEDGED], entry->rows.planned);
    entry->rows.rejected =
        MIN(counters[RECORDER_ROWS_REJECTED], entry->rows.planned - entry->rows.acknowledged);
    entry->rows.in_doubt = entry->rows.planned - entry->rows.acknowledged - entry->rows.rejected;
    if (result->batches.due > 0) { /* the number of due batches that were not sent is unknown */
        const uint64_t sent = counters[RECORDER_APPENDS] + counters[RECORDER_APPENDS_LOST];
        entry->batches.sent = entry->batches.due = sent;
    }
    memcpy(entry->counters, counters, sizeof entry->counters);
    close_transactions(entry->counters, result->totals.counters[RECORDER_TRANSACTIONS_DUE] > 0);
    entry->stop_reason = STOP_RANK;
    result_add_part(result, entry);
}

/* Adds the samples from `first` to `end` - 1 to merge->joined. They are all samples of one rank,
 * which is not the resource rank. All ranks sample at the same moments, except for the last sample
 * of each rank. */
static void add_to_joined(struct merge *merge, size_t first, size_t end)
{
    const struct rank_sample *samples = merge->samples;
    const char *machine = merge->result->ranks[merge->result->resource_rank].machine;
    size_t at = first;
    for (size_t i = 0; i < merge->joined_count; i++) {
        struct sample *into = &merge->joined[i];
        while (at + 1 < end && llabs(samples[at + 1].sample.end_ns - into->end_ns) <=
                                   llabs(samples[at].sample.end_ns - into->end_ns)) {
            at++;
        }
        const struct sample *from = &samples[at].sample;
        into->rows_held += from->rows_held;
        if (samples[at].rank == 0) {
            into->table_bytes = from->table_bytes; /* only rank 0 asks the server */
        }
        if (from->end_ns <= into->start_ns) {
            continue; /* the rank had ended before */
        }
        into->sessions_alive += from->sessions_alive;
        into->client_memory_bytes += from->client_memory_bytes;
        if (strcmp(samples[at].machine, machine) == 0 && from->cpu.client >= 0) {
            into->cpu.client = fmin(fmax(into->cpu.client, 0) + from->cpu.client, 100);
            into->cpu.host = fmax(into->cpu.host, from->cpu.host);
        }
    }
}

/* Fills merge->joined. Returns false if memory runs out. */
static bool join_samples(struct merge *merge)
{
    const size_t count = merge->sample_count;
    merge->joined = calloc(count + 1, sizeof *merge->joined);
    if (merge->joined == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (merge->samples[i].rank == merge->result->resource_rank) {
            merge->joined[merge->joined_count++] = merge->samples[i].sample;
        }
    }
    size_t end;
    for (size_t first = 0; first < count; first = end) {
        const unsigned rank = merge->samples[first].rank;
        for (end = first; end < count && merge->samples[end].rank == rank; end++) {
        }
        if (rank != merge->result->resource_rank) {
            add_to_joined(merge, first, end);
        }
    }
    return true;
}

/* What a rank knows about the server's machine. A higher value means that it knows more. */
enum {
    IS_LOST,
    IS_KNOWN,
    HAS_LOOKED, /* a server is on the rank's machine, but its process was not found */
    HAS_SERVER,
};

static int weigh_resources(const struct rank_result *rank)
{
    if (!rank->is_known) {
        return IS_LOST;
    }
    if (rank->resources.server_pid != 0) {
        return HAS_SERVER;
    }
    return rank->hosts_here > 0 ? HAS_LOOKED : IS_KNOWN;
}

static void add_note(char *to, size_t size, const char *note)
{
    const size_t used = strlen(to);
    snprintf(to + used, size - used, "%s%s", used > 0 && note[0] != '\0' ? "; " : "", note);
}

/* Completes the notes of `all`: names the machine on which CPU, memory and I/O were measured, and
 * says how many servers were not measured. */
static void note_machines(const struct result *result, unsigned servers, unsigned hosts_here,
                          struct resource_summary *all)
{
    const size_t size = sizeof all->server_note, hosts = result->host_count;
    char missing[120] = "", note[sizeof all->server_note], *const io_note = all->io_of.note;
    const char *machine = result->ranks[result->resource_rank].machine, *left = "";
    for (size_t i = 0; i < result->rank_count; i++) {
        left = result->ranks[i].is_known ? left : "remaining ";
    }
    if (hosts_here == 0) {
        snprintf(missing, sizeof missing, "no %srank is on the server's machine", left);
        snprintf(all->server_note, size, "%s; CPU was measured on machine %.60s", missing, machine);
        memcpy(note, io_note, sizeof all->io_of.note);
        snprintf(io_note, sizeof all->io_of.note, "%s", missing);
        const char *more = note + strcspn(note, ";");
        add_note(io_note, sizeof all->io_of.note, more + strspn(more, "; "));
        return;
    }
    memcpy(note, all->server_note, size);
    snprintf(all->server_note, size, "measured on machine %.60s by rank %u%s", machine,
             result->resource_rank, servers > 1 ? "; other servers: ranks.csv" : "");
    if (hosts_here < hosts) {
        snprintf(missing, sizeof missing, "%zu of %zu servers have no %srank on their machine",
                 hosts - hosts_here, hosts, left);
    }
    add_note(all->server_note, size, missing);
    add_note(all->server_note, size, note);
}

/* Finds the maxima of CPU in merge->joined, in the same way as a sampler finds them in its own
 * samples. */
static void find_maxima(const struct merge *merge, struct resource_summary *all)
{
    const struct cpu_shares unknown = {-1, -1, -1};
    struct cpu_shares max = unknown, at_max = unknown, short_max = unknown, short_at_max = unknown;
    for (size_t i = 0; i < merge->joined_count; i++) {
        const struct sample *sample = &merge->joined[i];
        const bool is_short = sample->end_ns - sample->start_ns < SAMPLER_SHORT_NS;
        cpu_shares_raise(is_short ? &short_max : &max, is_short ? &short_at_max : &at_max,
                         &sample->cpu);
    }
    const bool has_long = max.client >= 0;
    all->max_cpu = has_long ? max : short_max;
    all->cpu_at_max = has_long ? at_max : short_at_max;
    cpu_shares_raise(&all->max_cpu, &all->cpu_at_max, &all->mean_cpu);
}

/* Merges the resources of all ranks. CPU, memory and I/O are those of the machine on which a rank
 * has found the server; if the server was not found, those of the busiest machine. The CPU time and
 * memory of this program and the CPU time of the servers are sums over all machines. Returns false
 * if memory runs out. */
static bool join_resources(struct merge *merge)
{
    struct result *result = merge->result;
    const struct rank_result *best = &result->ranks[0];
    unsigned servers = 0, hosts_here = 0;
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_result *rank = &result->ranks[i];
        const int weight = weigh_resources(rank), best_weight = weigh_resources(best);
        servers += weight == HAS_SERVER ? 1 : 0;
        hosts_here += rank->is_known ? rank->hosts_here : 0;
        if (weight > best_weight || (weight == best_weight &&
                                     rank->resources.max_cpu.host > best->resources.max_cpu.host)) {
            best = rank;
        }
    }
    result->resource_rank = (unsigned)(best - result->ranks);
    struct resource_summary *all = &result->resources;
    *all = best->resources;
    all->max_client_memory_bytes = all->bare_client_memory_bytes = 0;
    bool is_bare_known = true;
    all->client_cpu_s = 0;
    all->server_cpu_s = -1;
    all->hosts_measured = 0;
    all->suspended_ns = 0;
    all->mean_cpu.client = 0;
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct resource_summary *one = &result->ranks[i].resources;
        if (result->ranks[i].is_known) {
            all->max_client_memory_bytes += one->max_client_memory_bytes;
            all->bare_client_memory_bytes += one->bare_client_memory_bytes;
            is_bare_known = is_bare_known && one->bare_client_memory_bytes > 0;
            all->client_cpu_s += one->client_cpu_s;
            /* One rank on each machine measures the servers. If the run has a single host, only the
             * value of the best rank is used, because a process with the same pid or cgroup on
             * another machine is not the server. */
            if (one->server_cpu_s >= 0 && (result->host_count > 1 || one == &best->resources)) {
                all->server_cpu_s = fmax(all->server_cpu_s, 0) + one->server_cpu_s;
                all->hosts_measured += one->hosts_measured;
            }
            all->suspended_ns = MAX(all->suspended_ns, one->suspended_ns);
            if (strcmp(result->ranks[i].machine, best->machine) == 0) {
                all->mean_cpu.client += fmax(one->mean_cpu.client, 0);
            }
        }
    }
    all->bare_client_memory_bytes = is_bare_known ? all->bare_client_memory_bytes : 0;
    if (!join_samples(merge)) {
        return false;
    }
    find_maxima(merge, all);
    note_machines(result, servers, hosts_here, all);
    return true;
}

/* Adds the traces of all machines. Returns false if memory runs out. */
static bool join_traces(struct result *result)
{
    struct trace_sum *all = NULL;
    size_t traced = 0;
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct trace_sum *one = result->ranks[i].trace;
        if (one == NULL) {
            continue;
        }
        all = all == NULL ? calloc(1, sizeof *all) : all;
        if (all == NULL) {
            return false;
        }
        result->trace = all;
        trace_sum_add(all, one);
        if (one->note[0] != '\0') {
            char note[TRACE_NOTE_BYTES + 80];
            snprintf(note, sizeof note, "machine %.60s: %s", result->ranks[i].machine, one->note);
            add_note(all->note, sizeof all->note, note);
        }
        /* The server's own counters are kept only if one machine alone was traced, because they are
         * compared with the traced calls of one machine. */
        if (one->level != IO_TRACE_OFF) {
            const struct trace_counters none = {.count = 0};
            all->before = traced == 0 ? one->before : none;
            all->after = traced == 0 ? one->after : none;
            traced++;
        }
    }
    return true;
}

/* Replaces the changes of the number of rows in the slots by the numbers themselves. */
static void add_up_held(struct slots *slots)
{
    for (size_t i = 1; i < slots->count; i++) {
        slots->entries[i].head.rows_held += slots->entries[i - 1].head.rows_held;
    }
}

bool merge_finish(struct merge *merge)
{
    struct result *result = merge->result;
    findings_sort(merge->findings, merge->finding_count);
    for (size_t i = 0; i < merge->finding_count && i < FINDINGS_MAX; i++) {
        result->findings.entries[result->findings.count++] = merge->findings[i];
    }
    add_up_held(&merge->seconds);
    add_up_held(&merge->stages);
    for (size_t i = 0; i < merge->stages.count; i++) {
        if (merge->stages.entries[i].head.end_ns > 0) { /* false for a stage of duration 0 */
            struct interval stage;
            fill_interval(merge, &merge->stages.entries[i], &stage);
            stage.is_stage = true;
            result_add_stage(result, &stage);
        }
    }
    result->disconnect_ns =
        MAX(result->elapsed_ns - result->connect_ns - result->append_ns, (int64_t)0);
    if (result->elapsed_ns > 0) {
        result->throughput_rows_per_s =
            (double)result->rows.acknowledged / ((double)result->elapsed_ns / (double)SECOND_NS);
    }
    for (size_t i = 0; i < result->host_count; i++) {
        struct host_result *host = &result->hosts[i];
        const bool has_own = i < result->totals.hosts; /* false if there is only one host */
        host->counters = has_own ? result->totals.hosts_counters[i] : result->totals.counters;
        host->elapsed_ns = result->elapsed_ns;
        host->measured_ns = result->measured_ns;
        for (size_t k = 0; k < OPERATIONS && has_own; k++) {
            host->latencies[k] = histogram_latency(&merge->host_histograms[i][k]);
        }
    }
    return join_traces(result) && join_resources(merge);
}
