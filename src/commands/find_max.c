#include <stdio.h>
#include <stdlib.h>

#include "base/mono.h"
#include "base/notice.h"
#include "base/process.h"
#include "base/units.h"
#include "commands/command.h"
#include "commands/job.h"
#include "load/ladder.h"
#include "report/files.h"
#include "report/text.h"

/* Enough for a search with a dozen levels, and no burden for a disk. */
#define USUAL_MAX_BYTES (UINT64_C(2) << 30)

/* A slow server may need longer than a hold for an append of every session. */
#define PATIENCE_NS (30 * MONO_NS_PER_S)

struct find_max {
    struct job job;
    struct hold_samples samples;
    struct search search;
};

/* Counters and processes as they are before the level: what an earlier one did is not its doing. */
static void on_begin(void *context, const struct level *level)
{
    struct find_max *find = context;
    evidence_end(find->job.evidence);
    find->job.question.sessions = level->sessions;
    find->job.evidence = evidence_begin(&find->job.question);
}

/* The limits that the lowest level that failed ran into. */
static void name_limits(struct find_max *find, const struct level *level)
{
    struct findings *findings = &find->job.result->findings;
    if (find->search.failed == 0) {
        findings->count = 0; /* what an earlier level ran into was passed since */
    }
    if (level->outcome != LEVEL_FAILED || level->sessions != find->search.failed) {
        return;
    }
    struct result *own = calloc(1, sizeof *own);
    findings->count = 0;
    if (own != NULL && level->causes != NULL && find->job.evidence != NULL) {
        own->start_mono_ns = find->job.result->start_mono_ns;
        own->sessions = level->ledger;
        own->causes = *level->causes;
        evidence_conclude(find->job.evidence, own, findings);
    }
    free(own);
}

static void on_level(void *context, const struct level *level)
{
    struct find_max *find = context;
    name_limits(find, level);
    run_files_add(find->job.files, CSV_LEVELS, level);
    if (!find->job.plan.is_quiet) {
        char text[TEXT_LEVELS_BYTES];
        text_levels_progress(level, text);
        notice_print("%s", text);
    }
}

/* How many sessions this machine is certain to allow; *first: the limit that binds, its advice made
 * for so many sessions. */
static uint64_t ask_machine(const struct plan *plan, unsigned sessions, struct limit_list *list,
                            const struct limit **first)
{
    struct limits_question question;
    *first = NULL;
    limits_ask(&question, plan, NULL, NULL);
    question.sessions = sessions;
    limits_read(&question, list);
    return limits_sessions(list, false, first);
}

/* The user's bound, or what this machine is certain to allow if that is less: completes the plan.
 */
static enum exit_code find_bound(struct find_max *find, struct error *error)
{
    struct search *search = &find->search;
    struct plan *plan = &find->job.plan;
    struct limit_list list;
    const struct limit *first = NULL;
    unsigned sessions = plan->sessions;
    uint64_t allowed = ask_machine(plan, sessions, &list, &first);
    if (first != NULL && allowed > 0 && plan->max_sessions == 0) {
        /* nobody asked for a million: advice for twice as many as there can be */
        sessions = allowed < PLAN_SESSIONS_MAX / 2 ? 2 * (unsigned)allowed : sessions;
        allowed = ask_machine(plan, sessions, &list, &first);
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
    plan->sessions = sessions;
    search->bound = sessions;
    return EXIT_CODE_OK;
}

static void plan_removal(struct find_max *find)
{
    const struct plan *plan = &find->job.plan;
    char *text = find->search.removal;
    const size_t bytes = sizeof find->search.removal;
    if (plan->owned_path != NULL) {
        snprintf(text, bytes, "remove %.280s", plan->out_folder);
    } else if (find->job.setup.rows_before == 0 && (plan->is_default_table || plan->ddl != NULL)) {
        snprintf(text, bytes, "drop table %.200s", plan->table_name);
    } else if (generator_identifies_rows(plan, &find->job.setup.table)) {
        snprintf(text, bytes, "delete from %.200s where n1 = %d", plan->table_name, plan->run_tag);
    } else {
        snprintf(text, bytes, "nothing tells them from the other rows of %.200s", plan->table_name);
    }
}

/* How many rows may be written, which is said before the first is. */
static void bound_rows(struct find_max *find)
{
    const struct plan *plan = &find->job.plan;
    struct search *search = &find->search;
    const bool is_kept = (find->job.plan.adapter->flags & ADAPTER_DISCARDS) == 0;
    const uint64_t usual_bytes = is_kept ? USUAL_MAX_BYTES : 0;
    const uint64_t max_bytes = plan->max_bytes > 0 ? plan->max_bytes : usual_bytes;
    search->row_bytes = generator_row_bytes(find->job.generator);
    search->max_rows = plan->max_rows;
    if (max_bytes > 0 && search->row_bytes > 0) {
        const uint64_t rows = (uint64_t)((double)max_bytes / search->row_bytes) + 1;
        search->is_bound_by_bytes = search->max_rows == 0 || rows < search->max_rows;
        search->max_rows = search->is_bound_by_bytes ? rows : search->max_rows;
    }
    if (!is_kept) {
        return;
    }
    plan_removal(find);
    if (!find->job.plan.is_quiet) {
        char rows[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
        const double value_bytes = (double)search->max_rows * search->row_bytes;
        units_format_bytes(search->is_bound_by_bytes ? max_bytes : (uint64_t)value_bytes, bytes);
        notice_print("up to %s rows (--max-%s), %s of values, will be written to %s, and stay",
                     units_format_count(search->max_rows, rows),
                     search->is_bound_by_bytes ? "bytes" : "rows", bytes,
                     find->job.plan.table_name);
    }
}

static enum status climb(struct load *load, void *context, struct error *error)
{
    struct find_max *find = context;
    const struct ladder_config ladder = {
        .patience_ns = PATIENCE_NS,
        .samples = &find->samples,
        .on_begin = on_begin,
        .on_level = on_level,
        .context = find,
    };
    return ladder_run(&ladder, load, &find->search, find->job.result, error);
}

static enum exit_code search(struct find_max *find)
{
    struct job *job = &find->job;
    struct error error;
    error_clear(&error);
    enum exit_code code = plan_make(&job->plan, &error);
    if (code == EXIT_CODE_OK) {
        code = find_bound(find, &error);
    }
    if (code == EXIT_CODE_OK) {
        code = job_begin(job, &error);
    }
    if (code == EXIT_CODE_OK) {
        bound_rows(find);
        code = job_load(job, climb, find, &error);
    }
    return code == EXIT_CODE_OK ? job_conclude(job) : job_refuse(job, code, &error);
}

enum exit_code command_find_max(int argc, char **argv)
{
    struct find_max find = {.job = {.search = &find.search, .samples = &find.samples}};
    const struct plan *plan = &find.job.plan;
    enum exit_code code;
    if (!command_begin(&find.job.plan, COMMAND_FIND_MAX, argc, argv, &code)) {
        return code;
    }
    interrupt_install();
    find.search.hold_ns = plan->hold_ns;
    find.search.p99_bound_ns = plan->p99_bound_ns;
    hold_samples_init(&find.samples);
    code = search(&find);
    job_release(&find.job);
    search_fini(&find.search);
    hold_samples_fini(&find.samples);
    return code;
}
