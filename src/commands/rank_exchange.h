/*
 * What the ranks of a run (ranks/ranks.h) exchange: rank 0 sends the plan to the other ranks, and
 * merges their results into one. For the main thread only.
 */
#ifndef COMMANDS_RANK_EXCHANGE_H
#define COMMANDS_RANK_EXCHANGE_H

#include "base/process.h"
#include "plan/plan.h"
#include "ranks/merge.h"
#include "ranks/ranks.h"

/* The memory that a rank needs while it follows rank 0: the texts to which its plan points, and the
 * intervals and samples that it keeps for the merge. The caller zeroes the struct, and releases it
 * with rank_exchange_fini. */
struct rank_exchange {
    /* the text that rank 0 sent: its command line, and the facts that it found for its plan */
    struct buffer text;
    char **words; /* words of the command line; they point into `text` */
    char *out;    /* folder of this rank's files; owned */
    /* descriptor + 1 of the file in memory that holds the script; 0: no such file */
    int script;
    char script_path[40];
    /* intervals and samples to be merged, which merge_keep_interval and merge_keep_sample add */
    struct buffer intervals, samples;
};

void rank_exchange_fini(struct rank_exchange *exchange);

/* Refuses a plan that cannot be run with several ranks. The plan must be complete. */
enum exit_code rank_exchange_allow(const struct ranks *ranks, const struct plan *plan,
                                   struct error *error);

/* On rank 0: checks the plan with rank_exchange_allow and sends it to the other ranks. */
enum exit_code rank_exchange_send_plan(struct ranks *ranks, const struct plan *plan,
                                       struct error *error);

/* Receives the plan of rank 0, for plan_follow. *lead points into *exchange. If the code is not OK,
 * the caller must pass *error to ranks_agree. *error says why, but its text is empty if rank 0 has
 * ended. */
enum exit_code rank_exchange_receive_plan(struct rank_exchange *exchange, struct ranks *ranks,
                                          struct plan_lead *lead, struct error *error);

/* Packs this rank's part of the result into `bytes`, to be sent or merged. Returns false if memory
 * runs out. */
bool rank_exchange_pack(struct buffer *bytes, const struct rank_exchange *exchange,
                        const struct result *result, struct recorder *recorder,
                        const struct rank_result *rank_result);

/* The merged result of all ranks, and the merged data for the run's files. */
struct rank_exchange_whole {
    struct result *result;
    struct merge *merge;
};

/* Waits for the results of the other ranks and merges them with the result of rank 0, which is
 * packed in `bytes`. Frees the memory of `bytes`. Afterwards the caller owns the members of *whole,
 * even if the code is not OK; *error then says why. */
enum exit_code rank_exchange_merge(struct ranks *ranks, const struct plan *plan,
                                   const struct result *rank_0, struct buffer *bytes,
                                   struct rank_exchange_whole *whole, struct error *error);

#endif
