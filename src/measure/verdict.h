/*
 * Decides the verdict (whether a result can be trusted) and the exit code.
 *
 * judge_run and judge_search apply the rules one after the other. A rule has a condition, a reason,
 * and a verdict, an exit code, or both. Among the rules with a verdict, the first rule whose
 * condition holds decides the verdict. Among the rules with an exit code, the first rule whose
 * condition holds decides the exit code. The order of the rules is the only priority.
 *
 * The same problem has one rule for the verdict and one rule for the exit code if the priorities or
 * the texts differ. For example, when sessions and committed rows are missing, the verdict names
 * the sessions, and the exit line names the rows.
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
    double rate_rows_per_s; /* requested rate; transactions/s with a script; 0 = no rate */
    /* only some transactions have a rate, and rate_rows_per_s is the sum of these rates; rated_done
     * is the number of transactions with a rate that were committed, or rolled back on purpose */
    bool has_group_rates;
    uint64_t rated_done;
    double arrivals_per_s; /* rate of random arrivals of batches or transactions; 0 = a fixed
                              schedule */
    /* folder of the run's files; a rank's folder has .rankN added to this name */
    const char *out_folder;
    bool has_script;
    bool keeps_nothing;  /* the database throws rows away, so the run measures the client */
    uint64_t max_failed; /* number of transactions that may fail */
    unsigned max_failed_percent;
    /* description of how the server's I/O was traced; NULL if it was not traced */
    const char *traced;
    uint64_t untraced;    /* number of calls that the server counted although no call was traced */
    bool was_interrupted; /* the user interrupted the program, maybe after the sessions had ended */
    bool was_signalled;   /* a signal has arrived, which mpirun may have sent */
};

/* Sets verdict, verdict_reason and PROBLEM_RUN from the rest of the result, then calls
 * result_set_exit. */
void result_judge(struct result *result, const struct judge_context *context);

/* Sets verdict, verdict_reason and PROBLEM_RUN of a search's result, then calls result_set_exit.
 * The exit code is 0 when the search found a limit of any side, or reached a bound after a level
 * had held. When every level failed, the exit code is 3 if a limit of the client was the reason,
 * and else 4. The exit code is 1 when rows are lost or uncounted, 4 when the server went away, and
 * 130 after a signal. */
void search_judge(const struct search *search, struct result *result,
                  const struct judge_context *context);

#endif
