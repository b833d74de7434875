#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/text.h"
#include "plan/facts.h"
#include "ranks/ranks_internal.h"

enum {
    WEIGHT_MAX = 1000000,
};

static bool has_machine(const struct ranks *ranks, const char *name)
{
    unsigned i = 0;
    while (i < ranks->count && strcmp(ranks->peers[i].machine, name) != 0) {
        i++;
    }
    return i < ranks->count;
}

/* Sets the weight of every rank. */
static enum exit_code weigh(struct ranks *ranks, const struct plan *plan, struct error *error)
{
    const char *text = plan->weights;
    uint64_t all = 0;
    for (size_t k = 0; k < plan->sample_only.count; k++) {
        const char *name = plan->sample_only.texts[k];
        if (!has_machine(ranks, name)) {
            return usage_refuse(error,
                                "--sample-only '%.60s': no rank runs on a machine with this name: "
                                "start a rank on it, or give the machine's name as hostname "
                                "prints it",
                                name);
        }
    }
    for (unsigned i = 0; i < ranks->count; i++) {
        uint64_t *weight = &ranks->peers[i].weight;
        *weight = 1;
        if (plan->weights != NULL) {
            char word[UNITS_TEXT_BYTES];
            const size_t length = strcspn(text, ",");
            snprintf(word, sizeof word, "%.*s", (int)MIN(length, sizeof word - 1), text);
            const bool is_last = i + 1 == ranks->count;
            if (!units_parse_count(word, WEIGHT_MAX, weight) || is_last != (text[length] == '\0')) {
                return usage_refuse(error,
                                    "--weights '%.60s': give a whole number up to %u for each of "
                                    "the %u ranks, separated by commas",
                                    plan->weights, WEIGHT_MAX, ranks->count);
            }
            text += length + 1;
        }
        for (size_t k = 0; k < plan->sample_only.count; k++) {
            if (strcmp(plan->sample_only.texts[k], ranks->peers[i].machine) == 0) {
                *weight = 0;
            }
        }
        all += *weight;
    }
    return all > 0
               ? EXIT_CODE_OK
               : usage_refuse(error, "every rank has weight 0 or only samples, so no rank "
                                     "would run sessions: give a rank a weight above 0 (--weights) "
                                     "on a machine that --sample-only does not name");
}

/* Sets `part` of all ranks: divides `sessions` among the ranks with the method of V. D'Hondt
 * (1882), which gives the next session to the rank with the highest quotient weight / (its sessions
 * + 1). To be fast, begins with the share of each rank by weight, rounded down; the method never
 * gives a rank fewer sessions. If `sessions` increases, `part` does not decrease for any rank. */
static void share(struct ranks *ranks, unsigned sessions)
{
    uint64_t all = 0;
    unsigned left = sessions;
    for (unsigned i = 0; i < ranks->count; i++) {
        all += ranks->peers[i].weight;
    }
    for (unsigned i = 0; i < ranks->count; i++) {
        ranks->peers[i].part = (unsigned)(sessions * ranks->peers[i].weight / all);
        left -= ranks->peers[i].part;
    }
    for (; left > 0; left--) {
        struct peer *best = ranks->peers;
        for (unsigned i = 1; i < ranks->count; i++) {
            struct peer *peer = &ranks->peers[i];
            best = peer->weight * (best->part + 1) > best->weight * (peer->part + 1) ? peer : best;
        }
        best->part++;
    }
}

static bool is_here(const struct ranks *ranks, unsigned rank)
{
    return strcmp(ranks->peers[rank].machine, ranks->peers[ranks->number].machine) == 0;
}

unsigned ranks_sessions_here(struct ranks *ranks, unsigned sessions, bool of_machine)
{
    if (ranks == NULL) {
        return sessions;
    }
    unsigned here = 0;
    share(ranks, sessions);
    for (unsigned i = 0; i < ranks->count; i++) {
        here += i == ranks->number || (of_machine && is_here(ranks, i)) ? ranks->peers[i].part : 0;
    }
    return here;
}

enum exit_code ranks_divide_sessions(struct ranks *ranks, const struct plan *plan,
                                     struct facts *facts, struct error *error)
{
    if (ranks == NULL) {
        return plan->weights == NULL && plan->sample_only.count == 0
                   ? EXIT_CODE_OK
                   : usage_refuse(error,
                                  "--%s is for several ranks: start append with mpirun or "
                                  "srun",
                                  plan->weights == NULL ? "sample-only" : "weights");
    }
    if (plan->log_share > 0) {
        return usage_refuse(error, "--log-transactions does not work with several ranks: start "
                                   "append without mpirun or srun, or leave the option out");
    }
    const enum exit_code code = weigh(ranks, plan, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    struct plan_share next = {.first_idle = plan->sessions};
    facts->ranks = ranks->count;
    facts->machine_sessions = 0;
    share(ranks, plan->idle_sessions);
    for (unsigned i = 0; i < ranks->count; i++) {
        ranks->peers[i].share.idle = ranks->peers[i].part;
    }
    share(ranks, plan->sessions);
    for (unsigned i = 0; i < ranks->count; i++) {
        struct plan_share *share = &ranks->peers[i].share;
        share->count = ranks->peers[i].part;
        share->first = next.first;
        share->first_idle = next.first_idle;
        next.first += share->count;
        next.first_idle += share->idle;
        facts->machine_sessions += is_here(ranks, i) ? share->count + share->idle : 0;
    }
    facts->share = ranks->peers[ranks->number].share;
    if (plan->script != NULL) {
        script_share(plan->script, ranks->number, ranks->count);
    }
    return code;
}

struct plan_share ranks_share(const struct ranks *ranks, unsigned rank)
{
    return ranks->peers[rank].share;
}
