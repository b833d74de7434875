/*
 * Packs the result of a rank into bytes, and merges the results of all ranks into one.
 *
 * Ledgers, counters and histograms are added, so percentiles are percentiles of all sessions.
 * Intervals are added second by second; an interval that covers several seconds is divided among
 * them by time. This is possible because the clocks of the ranks were compared before the run
 * (ranks/ranks.h). Packed bytes can be read only by the same version on the same kind of machine:
 * merge_layout must be equal.
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

/* Returns a number that differs between processes that would read the same bytes differently. */
size_t merge_layout(void);

/* Append an interval or a sample to `kept`, in packed form. Called by each rank while its sessions
 * live, on the measuring thread. */
void merge_keep_interval(struct buffer *kept, const struct interval *interval);
void merge_keep_sample(struct buffer *kept, const struct sample *sample);

/* The parts of a rank's result. */
struct merge_part {
    const struct result *result;
    const struct rank_result *own;
    /* recorder with the histograms of several hosts; may be NULL for one host */
    struct recorder *recorder;
    /* intervals and samples in packed form, filled by merge_keep_interval and merge_keep_sample */
    const struct buffer *intervals, *samples;
};

/* Packs the result of this rank. Returns false if memory runs out. */
bool merge_pack(struct buffer *bytes, const struct merge_part *part);

/* A sample with its rank: a row of ranks_samples.csv. */
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
 * The sum of the ranks' results at a level of a search. The rate is the rows of all ranks divided
 * by the longest time for which a rank held the level. CPU and the server's memory are taken from
 * the machine with the server, else from the busiest machine.
 */
struct level_sum {
    /* the level that is filled, except its `sessions` and `start_ns`; borrowed */
    struct level *level;
    struct level_machine *machines; /* owned, until merge_finish_level */
    size_t machine_count;
    struct histogram connect, append;
};

/* Packs the level of this rank. `connect` and `append` are the histograms of this rank at this
 * level. Moments of the causes are written relative to start_mono_ns. Returns false if memory runs
 * out. */
bool merge_pack_level(struct buffer *bytes, const struct level *level,
                      const struct histogram *connect, const struct histogram *append,
                      int64_t start_mono_ns);

/* Adds the packed level of a rank to *sum. `machine` must live as long as *sum. Returns false if
 * the bytes are damaged or incomplete, or memory runs out. */
bool merge_add_level(struct level_sum *sum, const char *machine, const void *bytes, size_t size,
                     const struct operation_list *operations, int64_t start_mono_ns);

/* Computes the figures that follow from the sums, and frees the memory of *sum. Called after all
 * ranks were added. */
void merge_finish_level(struct level_sum *sum);

/* The merging of all ranks' results. */
struct merge;

/* Begins to merge into *result. Its arrays of sessions, hosts, tables and ranks must be set, and
 * its totals must be allocated and empty. Returns NULL if memory runs out. */
struct merge *merge_create(struct result *result, const struct operation_list *operations);
void merge_destroy(struct merge *merge); /* `merge` may be NULL */

/* Adds the packed result of a rank; result->ranks[rank].machine must be set. Returns
 * REJECTED and adds nothing if the bytes are damaged, incomplete or empty. Returns FATAL if memory
 * runs out or the bytes belong to another run; a part of the bytes may have been added then. *error
 * has the reason. */
enum status merge_add(struct merge *merge, unsigned rank, const void *bytes, size_t size,
                      struct error *error);

/* Adds a lost rank, whose result did not arrive: its share of the sessions and rows, and the
 * counters that it reported last. Rows that it did not report are in doubt. In a search `sessions`
 * is NULL, and `count` is the number of the rank's sessions that had connected. */
void merge_add_lost(struct merge *merge, unsigned rank, const struct session_summary *sessions,
                    size_t count, const uint64_t counters[RECORDER_COUNTERS]);

/* Computes the figures that follow from the sums. Called after all ranks were added. Returns false
 * if memory runs out. */
bool merge_finish(struct merge *merge);

/* Return the merged intervals, one for each second, and the samples of all ranks. The samples are
 * in the order in which the ranks were added. */
size_t merge_interval_count(const struct merge *merge);
void merge_interval(const struct merge *merge, size_t number, struct interval *interval);
size_t merge_sample_count(const struct merge *merge);
const struct rank_sample *merge_sample(const struct merge *merge, size_t number);

/* Return the samples of the server's machine, else of the busiest machine, with the sessions and
 * the client memory of all ranks. */
size_t merge_joined_count(const struct merge *merge);
const struct sample *merge_joined(const struct merge *merge, size_t number);

#endif
