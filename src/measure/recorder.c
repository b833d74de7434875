#include "measure/recorder.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"

enum {
    CACHE_LINE_BYTES = 64
};

#define GET(atomic) atomic_load_explicit(&(atomic), memory_order_relaxed)
#define SET(atomic, value) atomic_store_explicit(&(atomic), (value), memory_order_relaxed)

/* The buckets of an operation, shared by sessions. */
struct shard {
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t counts[HISTOGRAM_BUCKETS];
    _Atomic uint64_t overflow;
};

/* The values of an operation's histogram that each session counts separately. The total is not
 * counted here: a snapshot computes it from the buckets, so the total and the buckets always
 * agree. */
struct own_operation {
    _Atomic uint64_t sum_ns;
    _Atomic int64_t max_ns;
};

/* The counts and the state of one session. Only this session writes them, so an addition needs no
 * locked instruction. */
struct own {
    /* moment at which the work began; 0 = not working */
    alignas(CACHE_LINE_BYTES) _Atomic int64_t working_ns;
    _Atomic int64_t progress_ns; /* moment of the latest acknowledged append */
    /* the server's number for the session; 0: unknown or not connected */
    _Atomic uint64_t server_session;
    _Atomic unsigned call; /* the current call: the number of its operation plus 1; 0: no call */
    _Atomic unsigned host;
    /* one row for each host, and one row for the warm-up. After these rows, the same block of
     * memory contains a struct own_operation for each operation and the counts of the script's
     * operations. */
    _Atomic uint64_t counters[][RECORDER_COUNTERS];
};

struct recorder {
    unsigned mask; /* number of shards of a host, minus 1 */
    unsigned sessions;
    size_t operations;
    size_t hosts;         /* number of hosts, 1 or more */
    struct shard *shards; /* buckets, ordered by host, by number of the shard, and by operation */
    void *shards_allocation;
    char *owns;
    void *owns_allocation;
    size_t own_bytes;
};

/* Allocates zeroed elements at the beginning of a cache line. The caller frees *allocation. Returns
 * NULL when out of memory. Uses calloc instead of aligned_alloc: with a large calloc, the kernel
 * allocates a page only when the page is written, so unused buckets cost nothing. */
static void *allocate_lines(size_t count, size_t size, void **allocation)
{
    if (count > (SIZE_MAX - CACHE_LINE_BYTES) / size) {
        return NULL;
    }
    *allocation = calloc(1, count * size + CACHE_LINE_BYTES);
    if (*allocation == NULL) {
        return NULL;
    }
    const uintptr_t address = (uintptr_t)*allocation;
    const size_t gap = (CACHE_LINE_BYTES - address % CACHE_LINE_BYTES) % CACHE_LINE_BYTES;
    return (char *)*allocation + gap;
}

/* Returns the number of scripted operations, which have counts. */
static size_t count_scripted(const struct recorder *recorder)
{
    return recorder->operations > OPERATIONS ? recorder->operations - OPERATIONS : 0;
}

struct recorder *recorder_create(unsigned sessions, unsigned shards, size_t operations,
                                 size_t hosts)
{
    size_t count = 1;
    while (count * hosts < shards) {
        count *= 2;
    }
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    if (recorder == NULL) {
        return NULL;
    }
    recorder->mask = (unsigned)(count - 1);
    recorder->sessions = sessions;
    recorder->operations = operations;
    recorder->hosts = hosts;
    const size_t bytes = sizeof(struct own) + (hosts + 1) * RECORDER_COUNTERS * sizeof(uint64_t) +
                         operations * sizeof(struct own_operation) +
                         count_scripted(recorder) * OPERATION_COUNTS * sizeof(uint64_t);
    recorder->own_bytes = (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    recorder->shards = allocate_lines(hosts * count * operations, sizeof(struct shard),
                                      &recorder->shards_allocation);
    recorder->owns = allocate_lines(sessions, recorder->own_bytes, &recorder->owns_allocation);
    if (recorder->shards == NULL || recorder->owns == NULL) {
        recorder_destroy(recorder);
        return NULL;
    }
    return recorder;
}

void recorder_destroy(struct recorder *recorder)
{
    if (recorder == NULL) {
        return;
    }
    free(recorder->shards_allocation);
    free(recorder->owns_allocation);
    free(recorder);
}

static struct own *own_of(const struct recorder *recorder, unsigned session)
{
    return (struct own *)(void *)(recorder->owns + session * recorder->own_bytes);
}

static struct own_operation *operations_of(const struct recorder *recorder, struct own *own)
{
    return (struct own_operation *)(void *)&own->counters[recorder->hosts + 1];
}

static _Atomic uint64_t *counts_of(const struct recorder *recorder, struct own *own,
                                   size_t operation)
{
    return (_Atomic uint64_t *)(void *)&operations_of(recorder, own)[recorder->operations] +
           (operation - OPERATIONS) * OPERATION_COUNTS;
}

static struct shard *shard_of(const struct recorder *recorder, size_t host, size_t shard,
                              size_t operation)
{
    const size_t row = host * (recorder->mask + (size_t)1) + shard;
    return &recorder->shards[row * recorder->operations + operation];
}

void recorder_set_host(struct recorder *recorder, unsigned session, unsigned host)
{
    SET(own_of(recorder, session)->host, host);
}

void recorder_set_working(struct recorder *recorder, unsigned session, int64_t since_ns)
{
    SET(own_of(recorder, session)->working_ns, since_ns);
}

void recorder_note_progress(struct recorder *recorder, unsigned session, int64_t now_ns)
{
    SET(own_of(recorder, session)->progress_ns, now_ns);
}

void recorder_note_call(struct recorder *recorder, unsigned session, size_t operation)
{
    SET(own_of(recorder, session)->call, (unsigned)(operation + 1));
}

void recorder_note_server_session(struct recorder *recorder, unsigned session, uint64_t number)
{
    SET(own_of(recorder, session)->server_session, number);
}

void recorder_read_calls(const struct recorder *recorder, struct recorder_call *calls)
{
    for (unsigned i = 0; i < recorder->sessions; i++) {
        const struct own *const own = own_of(recorder, i);
        calls[i].server_session = GET(own->server_session);
        calls[i].operation = (size_t)GET(own->call) - 1;
    }
}

unsigned recorder_sessions(const struct recorder *recorder)
{
    return recorder->sessions;
}

uint64_t recorder_count_stalled(struct recorder *recorder, int64_t since_ns, uint64_t *reading)
{
    uint64_t count = 0;
    *reading = 0;
    for (unsigned i = 0; i < recorder->sessions; i++) {
        struct own *const own = own_of(recorder, i);
        const int64_t working_ns = GET(own->working_ns);
        const int64_t progress_ns = GET(own->progress_ns);
        if (working_ns != 0 && working_ns <= since_ns && progress_ns < since_ns) {
            count++;
            *reading += GET(own->call) == OPERATION_READ + 1 ? 1 : 0;
        }
    }
    return count;
}

static void add(_Atomic uint64_t *to, uint64_t n)
{
    SET(*to, GET(*to) + n);
}

void recorder_add(struct recorder *recorder, unsigned session, enum recorder_counter counter,
                  uint64_t n)
{
    struct own *const own = own_of(recorder, session);
    add(&own->counters[GET(own->host)][counter], n);
}

void recorder_add_warm_up(struct recorder *recorder, unsigned session,
                          enum recorder_counter counter, uint64_t n)
{
    add(&own_of(recorder, session)->counters[recorder->hosts][counter], n);
}

void recorder_count(struct recorder *recorder, unsigned session, size_t operation,
                    enum operation_count count, uint64_t n)
{
    add(&counts_of(recorder, own_of(recorder, session), operation)[count], n);
}

void recorder_record(struct recorder *recorder, unsigned session, size_t operation, int64_t ns)
{
    recorder_record_times(recorder, session, operation, ns, 1);
}

void recorder_record_times(struct recorder *recorder, unsigned session, size_t operation,
                           int64_t ns, uint64_t times)
{
    struct own *const owner = own_of(recorder, session);
    struct own_operation *const own = &operations_of(recorder, owner)[operation];
    struct shard *const shard =
        shard_of(recorder, GET(owner->host), session & recorder->mask, operation);
    const int64_t value = ns < 0 ? 0 : ns;
    const uint64_t most = times > 0 ? UINT64_MAX / times : 0;
    const uint64_t more_ns = (uint64_t)value > most ? UINT64_MAX : (uint64_t)value * times;
    if (value > GET(own->max_ns)) {
        SET(own->max_ns, value);
    }
    SET(own->sum_ns, histogram_sum_ns(GET(own->sum_ns), more_ns));
    atomic_fetch_add_explicit(value < HISTOGRAM_LIMIT_NS ? &shard->counts[histogram_bucket(value)]
                                                         : &shard->overflow,
                              times, memory_order_release);
}

uint64_t recorder_read(struct recorder *recorder, enum recorder_counter counter)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < recorder->sessions; i++) {
        for (size_t host = 0; host < recorder->hosts; host++) {
            sum += GET(own_of(recorder, i)->counters[host][counter]);
        }
    }
    return sum;
}

void recorder_read_all(struct recorder *recorder, uint64_t counters[RECORDER_COUNTERS])
{
    memset(counters, 0, RECORDER_COUNTERS * sizeof *counters);
    for (unsigned i = 0; i < recorder->sessions; i++) {
        for (size_t host = 0; host < recorder->hosts; host++) {
            for (size_t c = 0; c < RECORDER_COUNTERS; c++) {
                counters[c] += GET(own_of(recorder, i)->counters[host][c]);
            }
        }
    }
}

bool recorder_snapshot_init(struct recorder_snapshot *snapshot, size_t operations)
{
    *snapshot = (struct recorder_snapshot){.operations = operations};
    snapshot->histograms = calloc(operations, sizeof *snapshot->histograms);
    snapshot->counts = calloc(operations, sizeof *snapshot->counts);
    if (snapshot->histograms == NULL || snapshot->counts == NULL) {
        recorder_snapshot_fini(snapshot);
        return false;
    }
    return true;
}

void recorder_snapshot_fini(struct recorder_snapshot *snapshot)
{
    free(snapshot->histograms);
    free(snapshot->counts);
    free(snapshot->hosts_counters);
    *snapshot = (struct recorder_snapshot){0};
}

bool recorder_snapshot_add_hosts(struct recorder_snapshot *snapshot, size_t hosts)
{
    snapshot->hosts_counters = calloc(hosts, sizeof *snapshot->hosts_counters);
    snapshot->hosts = snapshot->hosts_counters == NULL ? 0 : hosts;
    return snapshot->hosts_counters != NULL;
}

const struct histogram *recorder_histogram(const struct recorder_snapshot *snapshot,
                                           size_t operation)
{
    static const struct histogram nothing;
    return operation < snapshot->operations ? &snapshot->histograms[operation] : &nothing;
}

uint64_t recorder_count_of(const struct recorder_snapshot *snapshot, size_t operation,
                           enum operation_count count)
{
    return operation < snapshot->operations ? snapshot->counts[operation][count] : 0;
}

struct recorder_latency histogram_latency(const struct histogram *histogram)
{
    return (struct recorder_latency){
        .count = histogram->total,
        .p50_ns = histogram_quantile_ns(histogram, 0.5),
        .p99_ns = histogram_quantile_ns(histogram, 0.99),
        .max_ns = histogram->max_ns,
    };
}

struct recorder_latency recorder_latency_between(const struct recorder_snapshot *earlier,
                                                 const struct recorder_snapshot *later,
                                                 size_t operation)
{
    struct histogram between;
    histogram_subtract(recorder_histogram(later, operation), recorder_histogram(earlier, operation),
                       &between);
    return histogram_latency(&between);
}

static void add_shard(struct histogram *into, struct shard *shard)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        const uint64_t count = atomic_load_explicit(&shard->counts[i], memory_order_acquire);
        into->counts[i] += count;
        into->total += count;
    }
    const uint64_t overflow = atomic_load_explicit(&shard->overflow, memory_order_acquire);
    into->overflow += overflow;
    into->total += overflow;
}

static void add_own(const struct recorder *recorder, struct own *own,
                    struct recorder_snapshot *snapshot)
{
    for (size_t host = 0; host < recorder->hosts; host++) {
        for (size_t c = 0; c < RECORDER_COUNTERS; c++) {
            const uint64_t value = GET(own->counters[host][c]);
            snapshot->counters[c] += value;
            if (host < snapshot->hosts) {
                snapshot->hosts_counters[host][c] += value;
            }
        }
    }
    for (size_t c = 0; c < RECORDER_COUNTERS; c++) {
        snapshot->warm_up[c] += GET(own->counters[recorder->hosts][c]);
    }
    struct own_operation *const operations = operations_of(recorder, own);
    for (size_t i = 0; i < snapshot->operations; i++) {
        struct histogram *const into = &snapshot->histograms[i];
        into->sum_ns = histogram_sum_ns(into->sum_ns, GET(operations[i].sum_ns));
        for (size_t c = 0; i >= OPERATIONS && c < OPERATION_COUNTS; c++) {
            snapshot->counts[i][c] += GET(counts_of(recorder, own, i)[c]);
        }
    }
}

static void add_maxima(const struct recorder *recorder, struct own *own,
                       struct recorder_snapshot *snapshot)
{
    const struct own_operation *const operations = operations_of(recorder, own);
    for (size_t i = 0; i < snapshot->operations; i++) {
        const int64_t max_ns = GET(operations[i].max_ns);
        snapshot->histograms[i].max_ns = MAX(snapshot->histograms[i].max_ns, max_ns);
    }
}

void recorder_take_snapshot(struct recorder *recorder, struct recorder_snapshot *snapshot)
{
    memset(snapshot->counters, 0, sizeof snapshot->counters);
    memset(snapshot->warm_up, 0, sizeof snapshot->warm_up);
    memset(snapshot->histograms, 0, snapshot->operations * sizeof *snapshot->histograms);
    memset(snapshot->counts, 0, snapshot->operations * sizeof *snapshot->counts);
    if (snapshot->hosts > 0) {
        memset(snapshot->hosts_counters, 0, snapshot->hosts * sizeof *snapshot->hosts_counters);
    }
    snapshot->taken_ns = mono_now_ns();
    for (unsigned i = 0; i < recorder->sessions; i++) {
        add_own(recorder, own_of(recorder, i), snapshot);
    }
    for (size_t i = 0; i < recorder->hosts * (recorder->mask + (size_t)1); i++) {
        for (size_t h = 0; h < snapshot->operations; h++) {
            add_shard(&snapshot->histograms[h], shard_of(recorder, 0, i, h));
        }
    }
    /* A session sets its maximum before it counts the value in a bucket. So the maxima, read after
     * the buckets, cover all values in the buckets, and no interval loses its maximum. */
    for (unsigned i = 0; i < recorder->sessions; i++) {
        add_maxima(recorder, own_of(recorder, i), snapshot);
    }
}

void recorder_histogram_at(struct recorder *recorder, unsigned host, size_t operation,
                           struct histogram *histogram)
{
    static const struct histogram nothing;
    struct histogram all = {.max_ns = HISTOGRAM_LIMIT_NS};
    for (size_t i = 0; i <= recorder->mask; i++) {
        add_shard(&all, shard_of(recorder, host, i, operation));
    }
    histogram_subtract(&all, &nothing, histogram);
}

struct recorder_latency recorder_latency_at(struct recorder *recorder, unsigned host,
                                            size_t operation)
{
    struct histogram histogram;
    recorder_histogram_at(recorder, host, operation, &histogram);
    return histogram_latency(&histogram);
}

size_t recorder_operations(const struct recorder *recorder)
{
    return recorder->operations;
}

static bool add_hosts(struct intervals *intervals)
{
    const size_t hosts = intervals->recorder->hosts;
    if (hosts == 1) {
        return true;
    }
    intervals->hosts_counters = calloc(hosts, sizeof *intervals->hosts_counters);
    return intervals->hosts_counters != NULL &&
           recorder_snapshot_add_hosts(&intervals->snapshots[0], hosts) &&
           recorder_snapshot_add_hosts(&intervals->snapshots[1], hosts);
}

bool intervals_init(struct intervals *intervals, struct recorder *recorder, int64_t run_start_ns)
{
    *intervals = (struct intervals){.recorder = recorder, .run_start_ns = run_start_ns};
    if (!recorder_snapshot_init(&intervals->snapshots[0], recorder->operations) ||
        !recorder_snapshot_init(&intervals->snapshots[1], recorder->operations) ||
        !add_hosts(intervals)) {
        intervals_fini(intervals);
        return false;
    }
    intervals->snapshots[1].taken_ns = run_start_ns;
    return true;
}

void intervals_fini(struct intervals *intervals)
{
    recorder_snapshot_fini(&intervals->snapshots[0]);
    recorder_snapshot_fini(&intervals->snapshots[1]);
    free(intervals->hosts_counters);
    *intervals = (struct intervals){0};
}

void intervals_begin_at(struct intervals *intervals, int64_t begin_ns)
{
    intervals->snapshots[1].taken_ns = begin_ns;
}

bool intervals_take(struct intervals *intervals, struct interval *interval)
{
    struct recorder_snapshot *const later = &intervals->snapshots[intervals->later];
    const struct recorder_snapshot *const earlier = intervals_total(intervals);
    recorder_take_snapshot(intervals->recorder, later);
    if (later->taken_ns <= earlier->taken_ns) {
        return false;
    }
    /* the two counters are read at different moments, so `closed` may exceed `opened` */
    const uint64_t opened = later->counters[RECORDER_CONNECTIONS_OPENED];
    const uint64_t closed = later->counters[RECORDER_CONNECTIONS_CLOSED];
    uint64_t reading;
    uint64_t ignored;
    const uint64_t stalled =
        recorder_count_stalled(intervals->recorder, earlier->taken_ns, &reading);
    *interval = (struct interval){
        .start_ns = earlier->taken_ns - intervals->run_start_ns,
        .end_ns = later->taken_ns - intervals->run_start_ns,
        .sessions_alive = opened - MIN(opened, closed),
        .sessions_working = recorder_count_stalled(intervals->recorder, INT64_MAX, &ignored),
        .sessions_without_progress = stalled - reading,
        .sessions_reading = reading,
        .from = earlier,
        .to = later,
    };
    for (size_t i = 0; i < RECORDER_COUNTERS; i++) {
        interval->counters[i] = later->counters[i] - earlier->counters[i];
        for (size_t host = 0; host < later->hosts; host++) {
            intervals->hosts_counters[host][i] =
                later->hosts_counters[host][i] - earlier->hosts_counters[host][i];
        }
    }
    interval->hosts = later->hosts;
    interval->hosts_counters = (const uint64_t(*)[RECORDER_COUNTERS])intervals->hosts_counters;
    for (size_t i = 0; i < later->operations && i < OPERATIONS_MAX; i++) {
        interval->latencies[i] = recorder_latency_between(earlier, later, i);
    }
    intervals->later = 1 - intervals->later;
    return true;
}

const struct recorder_snapshot *intervals_total(const struct intervals *intervals)
{
    return &intervals->snapshots[1 - intervals->later];
}
