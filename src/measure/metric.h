/*
 * The metrics that a script declares: counts, trends and gauges.
 *
 * Each session has its own cache lines for the sums of its values, and only this session writes
 * them. The buckets of trends are shared by many sessions, in a few shards, as in the recorder. The
 * sums are read after the sessions have ended, and can be added to the sums of other ranks
 * (processes of the same run).
 *
 * A trend is a histogram over numbers of any sign. Each range from a power of two to the next is
 * divided into 64 buckets of equal width. A percentile is reported as the highest value of its
 * bucket, so the reported percentile is at most 1/64 of its value above the exact percentile. A
 * number with at most 7 significant bits (12.5, the whole numbers up to 128) is the highest value
 * of its bucket, so its percentile is exact. A positive number below METRIC_LEAST counts as
 * METRIC_LEAST; a negative number above -METRIC_LEAST counts as 0. All numbers above METRIC_MOST
 * share one bucket, whose percentiles are reported as the maximum; all numbers of -METRIC_MOST and
 * below share the first bucket.
 */
#ifndef MEASURE_METRIC_H
#define MEASURE_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/script.h"

#define METRIC_LEAST 0x1p-30
#define METRIC_MOST 0x1p50

enum {
    METRIC_SIDE_BUCKETS = 80 * 64, /* number of buckets on one side: 64 for each power of two from
                                      METRIC_LEAST to METRIC_MOST */
    /* in this order: negative numbers up to -METRIC_MOST, other negative numbers, 0, positive
     * numbers up to METRIC_MOST, and positive numbers above METRIC_MOST */
    METRIC_BUCKETS = 2 * METRIC_SIDE_BUCKETS + 4,
};

/* Return the bucket of a finite number, and the highest number of a bucket (infinite for the last
 * bucket). */
size_t metric_bucket(double value);
double metric_bucket_high(size_t bucket);

/* The values of one metric. If the metric has no value, `count` and `sum` are 0 and the other
 * figures are undefined. */
struct metric_sum {
    const struct script_metric *metric; /* the metric's declaration; borrowed from the script */
    uint64_t count;                     /* number of values */
    double sum, min, max;
    double last;       /* the latest value, for a gauge */
    int64_t last_ns;   /* moment of the latest value, since the start of the load */
    uint64_t *buckets; /* for a trend: METRIC_BUCKETS counts, owned; otherwise NULL */
};

/* Adds the values of *from to *into, which must belong to the same metric. */
void metric_sum_add(struct metric_sum *into, const struct metric_sum *from);

/* Returns the smallest number v such that at least quantile × count values are ≤ v, up to the width
 * of a bucket. The result is at least `min` and at most `max`. *sum must be the sum of a trend, and
 * have at least one value. */
double metric_quantile(const struct metric_sum *sum, double quantile);

/* Allocates an empty sum for each metric of the script. Returns NULL if memory runs out. The caller
 * frees the sums with metric_sums_destroy, which takes NULL. */
struct metric_sum *metric_sums_create(const struct script *script);
void metric_sums_destroy(struct metric_sum *sums, size_t count);

struct metric_store;

/* Creates a store for sessions 0 … sessions-1. `shards` is rounded up to a power of two. Returns
 * NULL if memory runs out. destroy takes NULL. */
struct metric_store *metric_store_create(const struct script *script, unsigned sessions,
                                         unsigned shards);
void metric_store_destroy(struct metric_store *store);

/* Adds a finite value. Called by the session's thread. */
void metric_store_add(struct metric_store *store, unsigned session, size_t metric, double value);

/* Adds the values of all sessions to `sums`, which has one entry for each metric. `go_ns` is the
 * start of the load, from which last_ns is counted. Called after the sessions have ended. */
void metric_store_read(struct metric_store *store, struct metric_sum *sums, int64_t go_ns);

#endif
