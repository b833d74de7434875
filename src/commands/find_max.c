#include <stdio.h>
#include <stdlib.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/job.h"
#include "report/files.h"

/* Enough for a search with a dozen levels, and no burden for a disk. */
#define USUAL_MAX_BYTES (UINT64_C(2) << 30)

/* Counters and processes as they are before the level: what an earlier one did is not its doing. */
static void on_begin(void *context, const struct level *level)
{
    struct job *job = context;
    free(job->evidence);
    job->question.sessions = level->sessions;
    job->evidence = evidence_begin(&job->question);
}

static void on_level(void *context, const struct level *level)
{
    struct job *job = context;
    struct findings *findings = &job->result->findings;
    if (job->search->failed == 0) {
        findings->count = 0; /* what an earlier level ran into was passed since */
    }
    if (level->outcome == LEVEL_FAILED && level->sessions == job->search->failed) {
        /* the limits that the lowest level that failed ran into */
        struct result *own = calloc(1, sizeof *own);
        findings->count = 0;
        if (own != NULL && level->causes != NULL && job->evidence != NULL) {
            own->start_mono_ns = job->result->start_mono_ns;
            own->sessions = level->ledger;
            own->causes = *level->causes;
            evidence_conclude(job->evidence, own, findings);
        }
        free(own);
    }
    run_files_add(job->files, CSV_LEVELS, level);
    if (!job->plan.is_quiet) {
        char text[TEXT_LEVELS_BYTES];
        text_levels_progress(level, text);
        notice_print("%s", text);
    }
}

/* The user's bound, or what this machine is certain to allow if that is less: completes the plan.
 */
static enum exit_code find_bound(struct search *search, struct plan *plan, struct error *error)
{
    struct limits_question question;
    struct limit_list list;
    const struct limit *first = NULL; /* that binds; its advice is made for so many sessions */
    unsigned sessions = plan->sessions;
    limits_ask(&question, plan, NULL, NULL);
    question.sessions = sessions;
    limits_read(&question, &list);
    uint64_t allowed = limits_sessions(&list, false, &first);
    if (first != NULL && allowed > 0 && plan->max_sessions == 0) {
        /* nobody asked for a million: advice for twice as many as there can be */
        sessions = allowed < PLAN_SESSIONS_MAX / 2 ? 2 * (unsigned)allowed : sessions;
        question.sessions = sessions;
        limits_read(&question, &list);
        allowed = limits_sessions(&list, false, &first);
    }
    search->bound_by = plan->max_sessions > 0 ? BOUND_USER : BOUND_PROGRAM;
    if (first != NULL && allowed < sessions) {
        if (allowed == 0) {
            error_set(error, ERROR_LIMIT, 0, NULL, "client limit: %s allows no session: %s",
                      first->name, first->fix);
            return EXIT_CODE_CLIENT_LIMIT;
        }
        search->bound_by = BOUND_CLIENT;
        search->bound_limit = *first;
        sessions = (unsigned)allowed;
    }
    plan->sessions = search->bound = sessions;
    return EXIT_CODE_OK;
}

/* How many rows may be written, which is said before the first is, and how to be rid of them. */
static void bound_rows(const struct job *job)
{
    const struct plan *plan = &job->plan;
    struct search *search = job->search;
    const bool is_kept = (plan->adapter->flags & ADAPTER_DISCARDS) == 0;
    const uint64_t usual_bytes = is_kept ? USUAL_MAX_BYTES : 0;
    const uint64_t max_bytes = plan->max_bytes > 0 ? plan->max_bytes : usual_bytes;
    search->max_rows = plan->max_rows;
    if (job->generator == NULL) {
        /* how long the rows of a script are, and whether it appends any, is not known */
        snprintf(search->removal, sizeof search->removal, "append cleanup --workload %.200s",
                 plan->workload);
        return;
    }
    search->row_bytes = generator_row_bytes(job->generator);
    if (max_bytes > 0 && search->row_bytes > 0) {
        const uint64_t rows = (uint64_t)((double)max_bytes / search->row_bytes) + 1;
        search->is_bound_by_bytes = search->max_rows == 0 || rows < search->max_rows;
        search->max_rows = search->is_bound_by_bytes ? rows : search->max_rows;
    }
    if (!is_kept) {
        return;
    }
    char *text = search->removal;
    const size_t size = sizeof search->removal;
    if (plan->owned_path != NULL) {
        snprintf(text, size, "remove %.280s", plan->out_folder);
    } else if (job->setup.rows_before == 0 && (plan->is_default_table || plan->ddl != NULL)) {
        snprintf(text, size, "drop table %.200s", plan->table_name);
    } else if (generator_identifies_rows(plan, &job->setup.table)) {
        snprintf(text, size, "delete from %.200s where n1 = %d", plan->table_name, plan->run_tag);
    } else {
        snprintf(text, size, "nothing tells them from the other rows of %.200s", plan->table_name);
    }
    if (!plan->is_quiet) {
        const double value_bytes = (double)search->max_rows * search->row_bytes;
        notice_print("up to %s rows (--max-%s), %s of values, will be written to %s, and stay",
                     UNITS_COUNT(search->max_rows), search->is_bound_by_bytes ? "bytes" : "rows",
                     UNITS_BYTES(search->is_bound_by_bytes ? max_bytes : (uint64_t)value_bytes),
                     plan->table_name);
    }
}

enum exit_code command_find_max(int argc, char **argv)
{
    struct search search = {0};
    struct job job = {.search = &search, .on_begin = on_begin, .on_level = on_level};
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code;
    if (!command_begin(&job.plan, COMMAND_FIND_MAX, argc, argv, &code)) {
        return code;
    }
    interrupt_install();
    search.hold_ns = job.plan.hold_ns;
    search.p99_bound_ns = job.plan.p99_bound_ns;
    code = plan_make(&job.plan, &error);
    if (code == EXIT_CODE_OK) {
        code = find_bound(&search, &job.plan, &error);
    }
    if (code == EXIT_CODE_OK) {
        code = job_begin(&job, &error);
    }
    if (code == EXIT_CODE_OK) {
        bound_rows(&job);
    }
    code = job_finish(&job, code, &error);
    job_release(&job);
    search_fini(&search);
    return code;
}
