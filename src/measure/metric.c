#include "measure/metric.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"
#include "measure/histogram.h"

enum {
    CACHE_LINE_BYTES = 64,
    FRACTION_BITS = 52, /* number of bits in a double's fraction */
    DROPPED_BITS = 46,  /* number of low bits of a double that are ignored: numbers that differ only
                           in these bits share a bucket */
    ZERO_BUCKET = METRIC_SIDE_BUCKETS + 1,
    LAST_BUCKET = METRIC_BUCKETS - 1,
};

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bits of positive doubles, read as integers, have the same order as the doubles, so the upper
 * bits give the number of the bucket. A bucket includes its higher bound but not its lower bound;
 * the higher bound of a bucket of negative numbers is the bound nearer to 0. */
size_t metric_bucket(double value)
{
    const uint64_t least = bits_of(METRIC_LEAST) >> DROPPED_BITS;
    const double size = fabs(value);
    if (value > METRIC_MOST) {
        return LAST_BUCKET;
    }
    if (value > 0) {
        const uint64_t above =
            value <= METRIC_LEAST ? 0 : ((bits_of(value) - 1) >> DROPPED_BITS) + 1 - least;
        return ZERO_BUCKET + 1 + (size_t)above;
    }
    if (size < METRIC_LEAST) {
        return ZERO_BUCKET;
    }
    return size >= METRIC_MOST
               ? 0
               : ZERO_BUCKET - 1 - (size_t)((bits_of(size) >> DROPPED_BITS) - least);
}

double metric_bucket_high(size_t bucket)
{
    const uint64_t least = bits_of(METRIC_LEAST) >> DROPPED_BITS;
    if (bucket == LAST_BUCKET) {
        return INFINITY;
    }
    if (bucket > ZERO_BUCKET) {
        return double_of((least + (bucket - ZERO_BUCKET - 1)) << DROPPED_BITS);
    }
    return bucket == ZERO_BUCKET ? 0
                                 : -double_of((least + (ZERO_BUCKET - 1 - bucket)) << DROPPED_BITS);
}

void metric_sum_add(struct metric_sum *into, const struct metric_sum *from)
{
    if (from->count == 0) {
        return;
    }
    const bool is_first = into->count == 0;
    into->sum += from->sum;
    into->min = is_first ? from->min : fmin(into->min, from->min);
    into->max = is_first ? from->max : fmax(into->max, from->max);
    if (is_first || from->last_ns >= into->last_ns) {
        into->last = from->last;
        into->last_ns = from->last_ns;
    }
    into->count += from->count;
    for (size_t i = 0; i < METRIC_BUCKETS && from->buckets != NULL; i++) {
        into->buckets[i] += from->buckets[i];
    }
}

double metric_quantile(const struct metric_sum *sum, double quantile)
{
    const uint64_t rank = quantile_rank(quantile, sum->count);
    uint64_t seen = 0;
    for (size_t i = 0; i < METRIC_BUCKETS; i++) {
        seen += sum->buckets[i];
        if (seen >= rank) {
            return fmax(fmin(metric_bucket_high(i), sum->max), sum->min);
        }
    }
    return sum->max;
}

struct metric_sum *metric_sums_create(const struct script *script)
{
    struct metric_sum *sums = calloc(script->metric_count + 1, sizeof *sums);
    bool has_memory = sums != NULL;
    for (size_t i = 0; i < script->metric_count && has_memory; i++) {
        sums[i].metric = &script->metrics[i];
        if (script->metrics[i].kind == SCRIPT_TREND) {
            sums[i].buckets = calloc(METRIC_BUCKETS, sizeof *sums[i].buckets);
            has_memory = sums[i].buckets != NULL;
        }
    }
    if (!has_memory) {
        metric_sums_destroy(sums, script->metric_count);
        return NULL;
    }
    return sums;
}

void metric_sums_destroy(struct metric_sum *sums, size_t count)
{
    for (size_t i = 0; i < count && sums != NULL; i++) {
        free(sums[i].buckets);
    }
    free(sums);
}

/* The values that one session added to one metric. */
struct own {
    _Atomic uint64_t count;
    _Atomic double sum, min, max, last;
    _Atomic int64_t last_ns;
};

struct metric_store {
    const struct script *script;
    unsigned sessions;
    unsigned mask; /* number of shards, minus 1 */
    char *owns;    /* memory of all sessions: own_bytes for each session, with a struct own for each
                      metric */
    size_t own_bytes;
    size_t *trends; /* for each metric, the number of trends before this metric; for a trend, this
                       is its index among the trends */
    size_t trend_count;
    _Atomic uint64_t *buckets; /* buckets of all trends, ordered by trend and then by shard */
};

#define GET(atomic) atomic_load_explicit(&(atomic), memory_order_relaxed)
#define SET(atomic, value) atomic_store_explicit(&(atomic), (value), memory_order_relaxed)

static struct own *own_of(const struct metric_store *store, unsigned session)
{
    return (struct own *)(void *)(store->owns + session * store->own_bytes);
}

static _Atomic uint64_t *buckets_of(const struct metric_store *store, size_t metric, unsigned shard)
{
    const size_t row = store->trends[metric] * (store->mask + (size_t)1) + shard;
    return store->buckets + row * METRIC_BUCKETS;
}

struct metric_store *metric_store_create(const struct script *script, unsigned sessions,
                                         unsigned shards)
{
    struct metric_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    unsigned count = 1;
    while (count < shards) {
        count *= 2;
    }
    store->script = script;
    store->sessions = sessions;
    store->mask = count - 1;
    store->own_bytes = (script->metric_count * sizeof(struct own) + CACHE_LINE_BYTES - 1) /
                       CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    store->trends = calloc(script->metric_count + 1, sizeof *store->trends);
    for (size_t i = 0; i < script->metric_count && store->trends != NULL; i++) {
        store->trends[i] = store->trend_count;
        store->trend_count += script->metrics[i].kind == SCRIPT_TREND ? 1 : 0;
    }
    store->owns = aligned_alloc(CACHE_LINE_BYTES, (sessions + (size_t)1) * store->own_bytes);
    /* a large calloc is cheap: the kernel allocates a page only when the page is written */
    store->buckets =
        calloc(store->trend_count * count * METRIC_BUCKETS + 1, sizeof *store->buckets);
    if (store->trends == NULL || store->owns == NULL || store->buckets == NULL) {
        metric_store_destroy(store);
        return NULL;
    }
    memset(store->owns, 0, (sessions + (size_t)1) * store->own_bytes);
    return store;
}

void metric_store_destroy(struct metric_store *store)
{
    if (store != NULL) {
        free(store->trends);
        free(store->owns);
        free(store->buckets);
        free(store);
    }
}

void metric_store_add(struct metric_store *store, unsigned session, size_t metric, double value)
{
    struct own *own = &own_of(store, session)[metric];
    const enum script_metric_kind kind = store->script->metrics[metric].kind;
    const uint64_t count = GET(own->count);
    SET(own->sum, GET(own->sum) + value);
    if (count == 0 || value < GET(own->min)) {
        SET(own->min, value);
    }
    if (count == 0 || value > GET(own->max)) {
        SET(own->max, value);
    }
    SET(own->count, count + 1);
    if (kind == SCRIPT_GAUGE) {
        SET(own->last, value);
        SET(own->last_ns, mono_now_ns());
    }
    if (kind == SCRIPT_TREND) {
        atomic_fetch_add_explicit(
            &buckets_of(store, metric, session & store->mask)[metric_bucket(value)], 1,
            memory_order_relaxed);
    }
}

void metric_store_read(struct metric_store *store, struct metric_sum *sums, int64_t go_ns)
{
    for (unsigned session = 0; session < store->sessions; session++) {
        for (size_t i = 0; i < store->script->metric_count; i++) {
            struct own *own = &own_of(store, session)[i];
            const struct metric_sum from = {.count = GET(own->count),
                                            .sum = GET(own->sum),
                                            .min = GET(own->min),
                                            .max = GET(own->max),
                                            .last = GET(own->last),
                                            .last_ns = GET(own->last_ns) - go_ns};
            metric_sum_add(&sums[i], &from);
        }
    }
    for (size_t i = 0; i < store->script->metric_count; i++) {
        for (unsigned shard = 0; shard <= store->mask && sums[i].buckets != NULL; shard++) {
            for (size_t k = 0; k < METRIC_BUCKETS; k++) {
                sums[i].buckets[k] += GET(buckets_of(store, i, shard)[k]);
            }
        }
    }
}
