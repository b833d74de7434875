/*
 * Decides the verdict (whether a result can be trusted) and the exit code.
 *
 * judge_run and judge_search apply the rules one after the other. A rule has a condition, a reason,
 * and a verdict, an exit code, or both. Among the rules with a verdict, the first rule whose
 * condition holds decides the verdict. Among the rules with an exit code, the first rule whose
 * condition holds decides the exit code. The order of the rules is the only priority.
 *
 * A problem has two rules, one for the verdict and one for the exit code, if their priorities or
 * texts differ. For example, when sessions and committed rows are missing, the verdict names the
 * sessions, and the exit line names the rows.
 */
#ifndef MEASURE_VERDICT_H
#define MEASURE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/levels.h"
#include "measure/result.h"

/* Facts about the run that the judgement needs in addition to the result. */
struct judge_context {
    bool is_embedded;       /* the database runs in this process and shares its CPU time */
    bool is_local;          /* the server shares this machine's CPUs */
    double rate_rows_per_s; /* requested rate; in a run with a script, in transactions/s; 0 = no
                               rate */
    /* has_group_rates: transactions have rates of their own, and rate_rows_per_s is the sum of
     * these rates. rated_done: how many transactions with a rate were committed, or rolled back on
     * purpose. */
    bool has_group_rates;
    uint64_t rated_done;
    double arrivals_per_s; /* rate of batches or transactions that arrive at random times; 0 = not
                              at random times */
    /* folder of the run's files; the folder of rank N has this name followed by .rankN */
    const char *out_folder;
    bool has_script;
    bool keeps_nothing;  /* the database throws rows away, so the run measures the client */
    uint64_t max_failed; /* maximum number of transactions that may fail */
    unsigned max_failed_percent;
    /* description of how the server's I/O was traced; NULL if it was not traced */
    const char *traced;
    uint64_t untraced; /* if no call was traced: number of calls that the server counted; else 0 */
    bool was_interrupted; /* the user interrupted this program, maybe after the sessions' end */
    bool was_signalled;   /* a signal arrived, from the user or from mpirun */
};

/* Sets verdict, verdict_reason and PROBLEM_RUN from the rest of the result, then calls
 * result_set_exit. */
void result_judge(struct result *result, const struct judge_context *context);

/* Sets verdict, verdict_reason and PROBLEM_RUN of a search's result, then calls result_set_exit.
 *
 * A level is a number of sessions that the search tries. The exit code is 0 when the search found a
 * limit, whichever side has it, or ended at one of its own bounds after at least one level was
 * held. When every level failed, the exit code is 3 if a limit of the client was the reason,
 * otherwise 4. The exit code is 1 when rows are lost or uncounted, 4 when the server went away, and
 * 130 after a signal. */
void search_judge(const struct search *search, struct result *result,
                  const struct judge_context *context);

#endif
