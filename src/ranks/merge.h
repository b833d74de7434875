/*
 * Results of ranks as bytes, and the one result that they are together.
 *
 * Ledgers, counters and histograms add, so percentiles are those of all sessions; intervals add by
 * the second, as the clocks of the ranks were brought together before (ranks/ranks.h). Bytes are
 * for the same version on the same kind of machine: merge_layout tells.
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

/* Another one where the same bytes would mean something else. */
size_t merge_layout(void);

/* Kept by a rank while its sessions live; on the measuring thread. */
void merge_keep_interval(struct buffer *kept, const struct interval *interval);
void merge_keep_sample(struct buffer *kept, const struct sample *sample);

/* What a rank gives away. */
struct merge_part {
    const struct result *result;
    const struct rank_result *own;
    struct recorder *recorder; /* of several hosts their histograms; may be NULL for one host */
    const struct buffer *intervals, *samples;
};

/* False: out of memory. */
bool merge_pack(struct buffer *bytes, const struct merge_part *part);

/* Whose sample it is: a row of ranks_samples.csv. */
struct rank_sample {
    unsigned rank;
    const char *machine;
    struct sample sample;
};

/*
 * A level of a search: what each rank came to, added up. The rate is over the longest hold; CPU and
 * the server's memory are those of the machine with the server, else of the busiest one.
 */
struct level_sum {
    struct level *level; /* borrowed; `sessions` and `start_ns` stay as they are */
    const char *machine; /* whose CPU it has; NULL: none yet */
    struct histogram connect, append;
};

/* A rank's own part. `between`: of what was taken to connect and to append. Moments of the causes
 * are since start_mono_ns. False: out of memory. */
bool merge_pack_level(struct buffer *bytes, const struct level *level,
                      const struct histogram *connect, const struct histogram *append,
                      int64_t start_mono_ns);

/* `machine` lives as long as the sum. False: the bytes are not whole. */
bool merge_add_level(struct level_sum *sum, const char *machine, const void *bytes, size_t size,
                     const struct operation_list *operations, int64_t start_mono_ns);
void merge_conclude_level(struct level_sum *sum);

struct merge;

/* What will be one result: *result has room for `sessions` sessions, the hosts, the tables and the
 * ranks, and its totals are empty but made. NULL: out of memory. */
struct merge *merge_create(struct result *result, const struct operation_list *operations);
void merge_destroy(struct merge *merge); /* takes NULL */

/* Adds what a rank gave away; result->ranks[rank] has its machine and clock already. REJECTED: the
 * bytes are damaged or cut, and nothing was added; FATAL: out of memory, or the bytes are those of
 * another run, and some were. *error says which. */
enum status merge_add(struct merge *merge, unsigned rank, const void *bytes, size_t size,
                      struct error *error);

/* Adds a rank whose result did not come, by what it told last: its share of the sessions and rows.
 * Rows that it did not tell of are in doubt. Of a search `sessions` is NULL, and `count` those that
 * had connected. */
void merge_add_lost(struct merge *merge, unsigned rank, const struct session_summary *sessions,
                    size_t count, const uint64_t counters[RECORDER_COUNTERS]);

/* All were added: settles what follows from the sums. False: out of memory. */
bool merge_conclude(struct merge *merge);

/* The intervals of all ranks, and their samples, in their order. */
size_t merge_interval_count(const struct merge *merge);
void merge_interval(const struct merge *merge, size_t number, struct interval *interval);
size_t merge_sample_count(const struct merge *merge);
const struct rank_sample *merge_sample(const struct merge *merge, size_t number);

/* The samples of the server's machine, else of the busiest one, with the sessions and the memory of
 * all ranks. */
size_t merge_joined_count(const struct merge *merge);
const struct sample *merge_joined(const struct merge *merge, size_t number);

#endif
