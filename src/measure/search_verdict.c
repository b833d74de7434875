#include "measure/search_verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

__attribute__((format(printf, 4, 5))) static void
end_with(struct result *result, enum verdict verdict, enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->verdict_reason, sizeof result->verdict_reason, format, arguments);
    va_end(arguments);
    result->verdict = verdict;
    result->exit_code = code;
    if (code != EXIT_CODE_OK) {
        snprintf(result->exit_reason, sizeof result->exit_reason, "%s", result->verdict_reason);
    }
}

/* Whose limit kept even the first level from being held. */
static bool is_client_side(const struct search *search, const struct result *result)
{
    const struct level *level = &search->levels[search->failure];
    return result->findings.count > 0 ? result->findings.entries[0].side == LIMIT_CLIENT
                                      : level->reason == LEVEL_NO_THREAD;
}

static void judge_nothing_held(const struct search *search, struct result *result)
{
    if (search->failed == 0) {
        const bool is_memory = search->end == SEARCH_MEMORY;
        end_with(result, VERDICT_DEGRADED, is_memory ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SHORT,
                 "no level was held before the search ended: %s", search_end_name(search->end));
        return;
    }
    const struct cause *cause = level_main_cause(&search->levels[search->failure]);
    const struct finding *limit = result->findings.count > 0 ? &result->findings.entries[0] : NULL;
    char why[240] = "no session could append";
    if (limit != NULL) {
        snprintf(why, sizeof why, "%s (%s): %.160s", limit->name, limit_side_name(limit->side),
                 limit->evidence);
    } else if (cause != NULL) {
        snprintf(why, sizeof why, "%.239s", cause->error.text);
    }
    end_with(result, VERDICT_DEGRADED,
             is_client_side(search, result) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER,
             "not even %s %s held: %.180s", UNITS_COUNT(search->failed),
             search->failed == 1 ? "session was" : "sessions were", why);
}

static void judge_held(const struct search *search, struct result *result)
{
    const struct verification *v = &result->verification;
    if (v->state == VERIFICATION_FAILED) {
        end_with(result, VERDICT_DEGRADED,
                 search->end == SEARCH_GONE ? EXIT_CODE_SERVER : EXIT_CODE_SHORT,
                 "the rows were not counted after the search: %.150s", v->reason);
    } else if (v->is_shrunk) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_SHORT,
                 "the table has fewer rows than before the search: somebody deleted");
    } else if (search->end == SEARCH_GONE || search->end == SEARCH_STUCK) {
        const bool is_gone = search->end == SEARCH_GONE;
        end_with(result, VERDICT_DEGRADED, is_gone ? EXIT_CODE_SERVER : EXIT_CODE_SHORT,
                 "%s sessions were held, then %s", UNITS_COUNT(search->held),
                 is_gone ? "the server was gone" : "some did not leave");
    } else if (search->end == SEARCH_FOUND) {
        end_with(result, VERDICT_VALID, EXIT_CODE_OK,
                 "%s sessions were held, %s were tried and were not", UNITS_COUNT(search->held),
                 UNITS_COUNT(search->failed));
    } else if (search->failed > 0) {
        end_with(result, VERDICT_VALID, EXIT_CODE_OK,
                 "%s sessions were held and %s were not; between them nothing is known",
                 UNITS_COUNT(search->held), UNITS_COUNT(search->failed));
    } else {
        end_with(result, VERDICT_VALID, EXIT_CODE_OK,
                 "%s sessions were held, and no level failed: there may be more",
                 UNITS_COUNT(search->held));
    }
}

void search_judge(const struct search *search, struct result *result, bool was_interrupted)
{
    const struct verification *v = &result->verification;
    char lost[RESULT_LOST_BYTES];
    char still[RESULT_STILL_BYTES];
    result->exit_code = EXIT_CODE_OK;
    result->exit_reason[0] = '\0';
    if (!session_ledger_balances(&result->sessions) || !row_ledger_balances(&result->rows)) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_INTERNAL,
                 "a ledger does not balance: a defect of append");
    } else if (search->end == SEARCH_INTERRUPTED || was_interrupted) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_INTERRUPTED,
                 "interrupted: at least %s sessions were held", UNITS_COUNT(search->held));
    } else if (v->lost_at_most > 0 && !v->is_shrunk) {
        end_with(result, VERDICT_DEGRADED, EXIT_CODE_SHORT, "%s acknowledged rows are lost",
                 result_describe_lost(result, lost));
    } else if (result_has_stood_still(result, still)) {
        end_with(result, VERDICT_INVALID, EXIT_CODE_INVALID, "%s", still);
    } else if (search->held == 0) {
        judge_nothing_held(search, result);
    } else {
        judge_held(search, result);
    }
}
