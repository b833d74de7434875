/*
 * What sessions count while they run.
 *
 * Each session has cache lines of its own, which only it writes: counters, counts, sums, its latest
 * progress. The buckets of the histograms it shares with others, in a few shards (a histogram for
 * each of 14,000 sessions would take hundreds of MiB). Any thread may take a snapshot at any time.
 * Snapshots are cumulative; an interval is the difference of two. A snapshot taken during the run
 * may be torn between two counters of one batch; after the sessions are joined it is exact.
 */
#ifndef MEASURE_RECORDER_H
#define MEASURE_RECORDER_H

#include "append/error.h"
#include "figures/figures.h"

/*
 * Latency histogram: log-linear buckets over nanoseconds.
 *
 * Every power of two is divided into 64 buckets of equal width, so a bucket is at most 1/64 of its
 * values wide and a quantile, given as the highest value of its bucket, is at most 1.5625 % above
 * the exact one. Values below 128 ns are exact. This is the layout of HdrHistogram (G. Tene,
 * http://hdrhistogram.org) with a unit of 1 ns. Values from HISTOGRAM_LIMIT_NS (73 minutes) are
 * counted in `overflow`, not in a bucket, and still make up `total`, `sum` and `max`.
 *
 * A struct histogram is plain data of one thread; merging adds, so the order does not matter.
 */
enum {
    HISTOGRAM_BUCKETS = 2368
};
#define HISTOGRAM_LIMIT_NS (INT64_C(1) << 42)

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t overflow; /* values of HISTOGRAM_LIMIT_NS and more */
    uint64_t total;    /* all values, overflow included */
    uint64_t sum_ns;   /* stops at UINT64_MAX, 584 years: batches that are never sent add up */
    int64_t max_ns;    /* exact; 0 when empty */
};

/* Bucket of a value. `ns` is taken as 0 when negative and must be below HISTOGRAM_LIMIT_NS. */
size_t histogram_bucket(int64_t ns);

/* Lowest and highest value that a bucket holds. */
int64_t histogram_bucket_low_ns(size_t bucket);
int64_t histogram_bucket_high_ns(size_t bucket);

uint64_t histogram_sum_ns(uint64_t a_ns, uint64_t b_ns);

/* What `later` has and `earlier`, an older state of it, has not. The maximum of the difference is
 * the high end of its highest bucket, or later's exact maximum where that is lower. */
void histogram_subtract(const struct histogram *later, const struct histogram *earlier,
                        struct histogram *difference);

/* Smallest recorded value v such that at least quantile × total values are ≤ v, up to the bucket
 * width; `quantile` in 0 … 1. Never above max_ns. 0 when empty. */
int64_t histogram_quantile_ns(const struct histogram *histogram, double quantile);

/* Arithmetic mean, exact. 0 when empty. */
double histogram_mean_ns(const struct histogram *histogram);

/* A cumulative state of all shards. */
struct recorder_snapshot {
    int64_t taken_ns; /* monotonic */
    uint64_t counters[RECORDER_COUNTERS];
    uint64_t warm_up[RECORDER_COUNTERS];  /* the same of the warm-up, which is in no figure */
    size_t operations;                    /* that have a histogram; 0: none has */
    struct histogram *histograms;         /* owned, by number of the operation; 19 KiB each */
    uint64_t (*counts)[OPERATION_COUNTS]; /* owned, the same; all 0 where no script names them */
    size_t hosts;                         /* with several: */
    uint64_t (*hosts_counters)[RECORDER_COUNTERS]; /* owned: what of `counters` is of each */
};

/* An empty state. False: out of memory. fini takes a zeroed one, too. */
bool recorder_snapshot_init(struct recorder_snapshot *snapshot, size_t operations);
void recorder_snapshot_fini(struct recorder_snapshot *snapshot);

/* Makes room for the counters of each of several hosts. False: out of memory. */
bool recorder_snapshot_add_hosts(struct recorder_snapshot *snapshot, size_t hosts);

/* The histogram of an operation; of one that the snapshot does not have, an empty one. */
const struct histogram *recorder_histogram(const struct recorder_snapshot *snapshot,
                                           size_t operation);

/* The same of a count. */
uint64_t recorder_count_of(const struct recorder_snapshot *snapshot, size_t operation,
                           enum operation_count count);

/* What an operation took between two snapshots; `count` 0: there was none, and the rest is 0. */
struct recorder_latency {
    uint64_t count;
    int64_t p50_ns;
    int64_t p99_ns;
    int64_t max_ns;
};
struct recorder_latency recorder_latency_between(const struct recorder_snapshot *earlier,
                                                 const struct recorder_snapshot *later,
                                                 size_t operation);

struct recorder_latency histogram_latency(const struct histogram *histogram);

struct recorder;

/* For sessions 0 … sessions-1 and so many operations. `shards` is rounded up to a power of two.
 * NULL: out of memory. With several hosts what a session does is counted for the one that it is at,
 * too: each session has counters for every host, each host has shards of its own. */
struct recorder *recorder_create(unsigned sessions, unsigned shards, size_t operations);
struct recorder *recorder_create_for_hosts(unsigned sessions, unsigned shards, size_t operations,
                                           size_t hosts);
void recorder_destroy(struct recorder *recorder);
size_t recorder_operations(const struct recorder *recorder);

/* Called by the session's thread; by the main thread once that has ended or was left behind. What
 * belongs to the warm-up is added to a bank of its own. What is counted is an operation of a
 * script, from OPERATIONS on. */
void recorder_add(struct recorder *recorder, unsigned session, enum recorder_counter counter,
                  uint64_t n);
void recorder_add_warm_up(struct recorder *recorder, unsigned session,
                          enum recorder_counter counter, uint64_t n);
void recorder_count(struct recorder *recorder, unsigned session, size_t operation,
                    enum operation_count count, uint64_t n);
void recorder_record(struct recorder *recorder, unsigned session, size_t operation, int64_t ns);
void recorder_record_times(struct recorder *recorder, unsigned session, size_t operation,
                           int64_t ns, uint64_t times);

/* Called by the session itself: what follows is of this host. It is at host 0 first. */
void recorder_set_host(struct recorder *recorder, unsigned session, unsigned host);

/* What an operation took at one host; the maximum is the high end of its bucket. */
struct recorder_latency recorder_latency_at(struct recorder *recorder, unsigned host,
                                            size_t operation);
void recorder_histogram_at(struct recorder *recorder, unsigned host, size_t operation,
                           struct histogram *histogram);

/* Called by the session itself: it works since then (0: it has done its share or given up), had an
 * acknowledged append, is in a read. */
void recorder_set_working(struct recorder *recorder, unsigned session, int64_t since_ns);
void recorder_note_progress(struct recorder *recorder, unsigned session, int64_t now_ns);
void recorder_note_reading(struct recorder *recorder, unsigned session, bool is_reading);

/* Sessions that work, did so at since_ns already, and had no acknowledged append since then;
 * *reading: those of them that are in a read. */
uint64_t recorder_count_stalled(struct recorder *recorder, int64_t since_ns, uint64_t *reading);

/* One counter summed over the sessions. */
uint64_t recorder_read(struct recorder *recorder, enum recorder_counter counter);

/* All counters, each summed over the sessions. */
void recorder_read_all(struct recorder *recorder, uint64_t counters[RECORDER_COUNTERS]);

/* Sums everything into *snapshot, taken_ns included; it was made for as many operations. */
void recorder_take_snapshot(struct recorder *recorder, struct recorder_snapshot *snapshot);

/* One row of intervals.csv: what happened in one second (the last one is cut at the end). */
struct interval {
    int64_t start_ns; /* since the start of the run */
    int64_t end_ns;
    uint64_t sessions_alive;            /* connected at end_ns */
    uint64_t rows_held;                 /* as in struct sample */
    uint64_t sessions_working;          /* have begun and not ended their work, at end_ns */
    uint64_t sessions_without_progress; /* worked all the time, no append was acknowledged, and they
                                           do not read */
    uint64_t sessions_reading;          /* as these, but are in a read at end_ns */
    uint64_t counters[RECORDER_COUNTERS];
    struct recorder_latency latencies[OPERATIONS_MAX]; /* by number of the operation */
    const struct recorder_snapshot *from, *to; /* between which it lies; borrowed, until the next */
    size_t hosts;                              /* 0: one, or */
    const uint64_t (*hosts_counters)[RECORDER_COUNTERS]; /* of each; borrowed */
};

/* Intervals: what happened between two snapshots. One thread. The first begins with the run and an
 * empty state, so the counters of all add up to those of the last snapshot. */
struct intervals {
    struct recorder *recorder; /* borrowed */
    int64_t run_start_ns;
    struct recorder_snapshot snapshots[2];         /* owned */
    unsigned later;                                /* the one to be taken next */
    uint64_t (*hosts_counters)[RECORDER_COUNTERS]; /* owned; of the interval; NULL: one host */
};

/* False: out of memory. */
bool intervals_init(struct intervals *intervals, struct recorder *recorder, int64_t run_start_ns);
void intervals_fini(struct intervals *intervals);

/* Ends an interval now. False: no time has passed since the last one, and nothing was done. */
bool intervals_take(struct intervals *intervals, struct interval *interval);

/* The state at the end of the last interval. */
const struct recorder_snapshot *intervals_total(const struct intervals *intervals);

#endif
