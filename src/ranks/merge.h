/*
 * Packs the result of a rank into bytes, and merges the results of all ranks into one.
 *
 * Row counts, counters and histograms are added up, so the merged percentiles are those of all
 * sessions. Intervals are added up second by second, because the clocks of the ranks were compared
 * before the run (ranks/ranks.h). An interval that covers several seconds is divided among these
 * seconds in proportion to time. A process can read packed bytes only if its merge_layout is the
 * same as that of the process that packed them.
 */
#ifndef RANKS_MERGE_H
#define RANKS_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "figures/figures.h"
#include "measure/levels.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "measure/sampler.h"

/* Returns a number that depends on the format of packed bytes. It differs between versions of the
 * program, or kinds of machine, with different formats. */
size_t merge_layout(void);

/* Pack an interval or a sample and add it to the end of `kept`. Called on the measuring thread of
 * each rank while its sessions live. */
void merge_keep_interval(struct buffer *kept, const struct interval *interval);
void merge_keep_sample(struct buffer *kept, const struct sample *sample);

/* The parts of a rank's result. */
struct merge_part {
    const struct result *result;
    const struct rank_result *own;
    /* recorder with the histograms of each host; may be NULL if the run has only one host */
    struct recorder *recorder;
    /* intervals and samples in packed form, filled by merge_keep_interval and merge_keep_sample */
    const struct buffer *intervals, *samples;
};

/* Packs the result of this rank. Returns false if memory runs out. */
bool merge_pack(struct buffer *bytes, const struct merge_part *part);

/* A row of ranks_samples.csv. */
struct rank_sample {
    unsigned rank;
    const char *machine;
    struct sample sample;
};

/* The figures of a machine at a level of a search. */
struct level_machine {
    const char *name; /* borrowed */
    struct cpu_shares cpu;
    int64_t server_memory_bytes;
};

/*
 * The sum of the results of all ranks for one level of a search, which is the trial of one number
 * of sessions. The rate is the number of rows of all ranks, divided by the longest time for which a
 * rank kept its sessions up. CPU and the server's memory are taken from the server's machine; if it
 * is unknown, from the busiest machine.
 */
struct level_sum {
    /* the level to fill; its `sessions` and `start_ns` are not changed; borrowed */
    struct level *level;
    struct level_machine *machines; /* owned, until merge_finish_level */
    size_t machine_count;
    struct histogram connect, append;
};

/* Packs the results of this rank for a level: `connect` and `append` are its latency histograms.
 * The moments of error causes are packed relative to start_mono_ns. Returns false if memory runs
 * out. */
bool merge_pack_level(struct buffer *bytes, const struct level *level,
                      const struct histogram *connect, const struct histogram *append,
                      int64_t start_mono_ns);

/* Adds the packed level of a rank to *sum. `machine` must live as long as *sum. Returns false if
 * the bytes are damaged or incomplete, or memory runs out. */
bool merge_add_level(struct level_sum *sum, const char *machine, const void *bytes, size_t size,
                     const struct operation_list *operations, int64_t start_mono_ns);

/* Computes latencies and rates from the sums, and frees the memory of *sum. Called after the levels
 * of all ranks were added. */
void merge_finish_level(struct level_sum *sum);

/* The merging of all ranks' results. */
struct merge;

/* Begins to merge into *result. The arrays of sessions, hosts, tables and ranks of *result must be
 * set, and its totals must be allocated and empty. Returns NULL if memory runs out. */
struct merge *merge_create(struct result *result, const struct operation_list *operations);
void merge_destroy(struct merge *merge); /* `merge` may be NULL */

/* Adds the packed result of a rank; result->ranks[rank].machine must be set. Adds nothing and
 * returns REJECTED if the bytes are damaged, incomplete or empty. Returns FATAL if memory runs out
 * or the bytes belong to another run; in this case a part of them may have been added. Fills *error
 * unless the result is OK. */
enum status merge_add(struct merge *merge, unsigned rank, const void *bytes, size_t size,
                      struct error *error);

/* Adds a lost rank, whose result is missing. `sessions` are the `count` sessions of the rank, with
 * their planned rows; in a search, `sessions` is NULL and `count` is the number of sessions that
 * had connected. `counters` are the counters that the rank reported last. Rows that the rank did
 * not report are in doubt. */
void merge_add_lost(struct merge *merge, unsigned rank, const struct session_summary *sessions,
                    size_t count, const uint64_t counters[RECORDER_COUNTERS]);

/* Completes the merged result after all ranks were added. Returns false if memory runs out. */
bool merge_finish(struct merge *merge);

/* Return the merged intervals, one for each second, and the samples of all ranks. The samples are
 * in the order in which the ranks were added. */
size_t merge_interval_count(const struct merge *merge);
void merge_interval(const struct merge *merge, size_t number, struct interval *interval);
size_t merge_sample_count(const struct merge *merge);
const struct rank_sample *merge_sample(const struct merge *merge, size_t number);

/* Return the samples of the server's machine or, if it is unknown, of the busiest machine. The
 * numbers of sessions and the client memory in these samples are sums over all ranks. */
size_t merge_joined_count(const struct merge *merge);
const struct sample *merge_joined(const struct merge *merge, size_t number);

#endif
