#include "plan/groups.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"

struct group_place plan_place(const struct plan *plan, unsigned index)
{
    return plan->places == NULL ? (struct group_place){0, index} : plan->places[index];
}

static bool has_own_sessions(const struct script_transaction *transaction)
{
    return transaction->sessions > 0;
}

static enum exit_code refuse(const struct plan *plan, struct error *error, const char *why)
{
    return usage_refuse(error, "--workload %.60s: %s", plan->script->name, why);
}

/* Sets the number of sessions of each group. Refuses a plan in which a session has no transaction,
 * or a transaction has no session. */
static enum exit_code size_groups(struct plan *plan, struct error *error)
{
    const struct script *script = plan->script;
    uint64_t own_sessions = 0;
    double shares = 0; /* sum of the shares of the transactions so far */
    const struct script_transaction *drawn = NULL; /* a transaction that sessions draw by weight */
    char why[ERROR_TEXT_BYTES];
    for (size_t i = 0; i < script->transaction_count; i++) {
        const struct script_transaction *transaction = &script->transactions[i];
        unsigned *own = &plan->groups[i + 1].sessions;
        *own = transaction->is_share ? 0 : (unsigned)transaction->sessions;
        if (has_own_sessions(transaction) && transaction->is_share) {
            /* round the sums of shares instead of each share, so that shares with the sum 1.0 take
             * all sessions */
            const double before = round(shares * plan->sessions);
            shares += transaction->sessions;
            *own = (unsigned)fmax(round(shares * plan->sessions) - before, 1);
        }
        plan->groups[i + 1].rate.first = transaction->rate;
        own_sessions += plan->groups[i + 1].sessions;
        drawn = transaction->weight > 0 ? transaction : drawn;
    }
    if (own_sessions + (drawn != NULL ? 1 : 0) > plan->sessions) {
        snprintf(why, sizeof why,
                 "its transactions need %s %s of their own%s: this run has %u, use %s or more",
                 UNITS_COUNT(own_sessions), units_plural(own_sessions, "session", "sessions"),
                 drawn != NULL ? ", and the transactions drawn by weight need at least one more"
                               : "",
                 plan->sessions, UNITS_COUNT(own_sessions + (drawn != NULL ? 1 : 0)));
        return refuse(plan, error, why);
    }
    if (drawn == NULL && own_sessions < plan->sessions) {
        snprintf(why, sizeof why,
                 "its transactions have %s %s of their own, and %s of %u sessions would do "
                 "nothing: use SESSIONS %s, or shares that add up to 1.0",
                 UNITS_COUNT(own_sessions), units_plural(own_sessions, "session", "sessions"),
                 UNITS_COUNT(plan->sessions - own_sessions), plan->sessions,
                 UNITS_COUNT(own_sessions));
        return refuse(plan, error, why);
    }
    plan->groups[0].sessions = plan->sessions - (unsigned)own_sessions;
    return EXIT_CODE_OK;
}

/* Assigns the first sessions to the groups that ask for a number of sessions. Distributes all other
 * sessions among the groups with a share and group 0 by smooth weighted round-robin, as in nginx:
 * each session goes to the group that is furthest below its share. */
static void place_sessions(struct plan *plan, int64_t *credit)
{
    const struct script *script = plan->script;
    const size_t count = script->transaction_count + 1;
    unsigned next = 0;
    for (size_t g = 1; g < count; g++) {
        const bool is_number = !script->transactions[g - 1].is_share;
        for (unsigned i = 0; is_number && i < plan->groups[g].sessions; i++) {
            plan->places[next++] = (struct group_place){(unsigned)g, i};
        }
    }
    /* the same block of memory has, after the credits, the numbers of members, which begin at 0 */
    unsigned *members = (unsigned *)(void *)(credit + count);
    const int64_t left = plan->sessions - next;
    for (; next < plan->sessions; next++) {
        size_t best = 0;
        for (size_t g = 0; g < count; g++) {
            const bool is_number = g > 0 && !script->transactions[g - 1].is_share;
            credit[g] += is_number ? 0 : plan->groups[g].sessions;
            best = credit[g] > credit[best] ? g : best;
        }
        credit[best] -= left;
        plan->places[next] = (struct group_place){(unsigned)best, members[best]++};
    }
}

enum exit_code groups_assign(struct plan *plan, struct error *error)
{
    const struct script *script = plan->script;
    bool has_groups = false;
    for (size_t i = 0; script != NULL && i < script->transaction_count; i++) {
        has_groups |= has_own_sessions(&script->transactions[i]);
    }
    if (!has_groups) {
        return EXIT_CODE_OK;
    }
    if (plan->has_group_rates && ramp_highest(&plan->rate) > 0) {
        return refuse(plan, error,
                      "a transaction has a rate of its own: leave --rate and --rate-stage out");
    }
    if (plan->has_group_rates && plan->is_control) {
        return usage_refuse(error, "--control does not work with transactions that have a rate of "
                                   "their own: leave --control out");
    }
    if (plan->has_group_rates && (plan->stages.count > 0 || plan->is_search)) {
        return refuse(plan, error,
                      plan->is_search
                          ? "find-max does not work with a transaction that has a rate of its own"
                          : "--stage does not work with a transaction that has a rate of its own");
    }
    if (plan->records > 0) {
        return refuse(plan, error,
                      "a run whose transactions have sessions of their own cannot end after "
                      "RECORDS: use --duration T or --transactions N instead");
    }
    const size_t count = script->transaction_count + 1;
    plan->groups = calloc(count, sizeof *plan->groups);
    plan->places = calloc(plan->sessions, sizeof *plan->places);
    int64_t *credit = calloc(count, sizeof *credit + sizeof(unsigned));
    enum exit_code code = EXIT_CODE_CLIENT_LIMIT;
    if (plan->groups == NULL || plan->places == NULL || credit == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the groups of sessions");
    } else {
        code = size_groups(plan, error);
    }
    if (code == EXIT_CODE_OK) {
        place_sessions(plan, credit);
    }
    free(credit);
    return code;
}
