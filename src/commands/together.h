/*
 * A run of several ranks (ranks/ranks.h), as the commands see it: the plan goes from rank 0 to the
 * others, the results come back and become one. Main thread.
 */
#ifndef COMMANDS_TOGETHER_H
#define COMMANDS_TOGETHER_H

#include "base/process.h"
#include "plan/plan.h"
#include "ranks/merge.h"
#include "ranks/ranks.h"

/* What the plan of a rank that follows points into. All zero at first; ended by together_fini. */
struct together {
    struct buffer text; /* the words of rank 0's command line, and what it made of them */
    char **words;
    char *out;  /* folder of this rank's own files */
    int script; /* descriptor + 1 of the script's text */
    char script_path[40];
    struct buffer intervals, samples; /* kept until the end: merge_keep_... */
};

void together_fini(struct together *together);

/* Rank 0, with a plan that was made: refuses what several ranks cannot do … */
enum exit_code together_allow(const struct ranks *ranks, const struct plan *plan,
                              struct error *error);

/* … and gives the plan to the others. */
enum exit_code together_give_plan(struct ranks *ranks, const struct plan *plan, int argc,
                                  char *const *argv, struct error *error);

/* The others: what the same plan is made of, by plan_follow; *lead borrows from *together. Else
 * than OK: *error says why, and is for rank 0 to be told (ranks_agree); its text is empty when rank
 * 0 has ended. */
enum exit_code together_take_words(struct together *together, struct ranks *ranks,
                                   struct plan_lead *lead, struct error *error);

/* This rank's part, to be given away or merged. False: out of memory. */
bool together_pack(struct buffer *bytes, const struct together *together,
                   const struct result *result, struct recorder *recorder,
                   const struct rank_result *own);

/* The one result, with room of its own, and what is in its files. */
struct together_whole {
    struct result *result;
    struct merge *merge;
};

/* Rank 0: waits for the results of the others, and makes one of them and its own, `bytes`, which it
 * frees. Else than OK: *error says why. What is in *whole is the caller's either way. */
enum exit_code together_merge(struct ranks *ranks, const struct plan *plan,
                              const struct result *own, struct buffer *bytes,
                              struct together_whole *whole, struct error *error);

#endif
