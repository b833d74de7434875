#include <stdio.h>
#include <stdlib.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/job.h"
#include "load/setup_describe.h"
#include "plan/command_line.h"
#include "report/files.h"
#include "report/text.h"

/* Default of --max-bytes. It is enough for a search of about 12 levels, and small for a disk. */
#define DEFAULT_MAX_BYTES (UINT64_C(2) << 30)

/* Takes a snapshot of counters and processes before a level, so that changes can be attributed to
 * this level. */
static void on_begin(void *context, const struct level *level)
{
    struct job *job = context;
    struct limits_question *question = &job->question;
    free(job->evidence);
    question->sessions = level->sessions;
    question->in_other_processes =
        level->sessions - ranks_sessions_here(job->ranks, level->sessions, false);
    question->on_other_machines =
        level->sessions - ranks_sessions_here(job->ranks, level->sessions, true);
    job->evidence = evidence_begin(question);
}

/* Returns the limits that a failed level hit, or NULL if memory runs out. The caller frees them.
 * `seen` is the part of the level that ran in this process. */
static struct findings *find_limits(const struct job *job, const struct level *seen)
{
    struct result *at_level = calloc(1, sizeof *at_level);
    struct findings *findings = calloc(1, sizeof *findings);
    if (at_level != NULL && findings != NULL && seen->causes != NULL && job->evidence != NULL) {
        at_level->start_mono_ns = job->result->start_mono_ns;
        at_level->sessions = seen->ledger;
        causes_init(&at_level->causes);
        causes_copy(&at_level->causes, seen->causes);
        evidence_find_limits(job->evidence, at_level, findings);
        causes_fini(&at_level->causes);
    }
    free(at_level);
    return findings;
}

static void on_level(void *context, const struct level *level, const struct level *seen)
{
    struct job *job = context;
    const struct search *search = job->search;
    if (level->outcome == LEVEL_FAILED) {
        search->levels[search->count - 1].findings = find_limits(job, seen);
    }
    /* the result gets the limits of the failed level with the fewest sessions, which may have been
     * tried before this level */
    const struct findings *lowest =
        search->failed > 0 ? search->levels[search->failure].findings : NULL;
    job->result->findings = lowest != NULL ? *lowest : (struct findings){.count = 0};
    run_files_add(job->files, CSV_LEVELS, level);
    live_note_held(job->live, job->search->held);
    if (!job->plan->is_quiet) {
        char text[TEXT_LEVELS_BYTES];
        text_levels_progress(level, text);
        notice_print("%s", text);
    }
}

/* Distributes `sessions` over the ranks. Sets *most to `sessions` or, if this machine has no
 * room for its part of them, to the largest number that fits. In the second case *binding is the
 * limit that is reached first, with advice for `sessions`. */
static enum exit_code find_room(struct job *job, unsigned sessions, unsigned *most,
                                struct limit *binding, struct error *error)
{
    const struct plan *plan = &job->bounded;
    struct limits_question question;
    struct limit_list list;
    const struct limit *first;
    *most = sessions;
    plan_with_sessions(&job->given, sessions, &job->bounded);
    const enum exit_code code = ranks_divide_sessions(job->ranks, plan, &job->facts, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    limits_question_init(&question, plan, NULL, NULL);
    question.other_files += run_files_count_open(plan);
    limits_read(&question, &list);
    const uint64_t allowed = limits_sessions(&list, false, &first);
    if (first == NULL || allowed >= sessions) {
        return EXIT_CODE_OK;
    }
    *binding = *first;
    const bool is_of_process = limits_is_of_process(first);
    const uint64_t here =
        allowed - (is_of_process ? question.in_other_processes : question.on_other_machines);
    unsigned low = 0, high = sessions; /* `low` sessions fit, `high` sessions do not */
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;
        const bool fits = ranks_sessions_here(job->ranks, middle, !is_of_process) <= here;
        low = fits ? middle : low;
        high = fits ? high : middle;
    }
    *most = low;
    return EXIT_CODE_OK;
}

/* Sets the highest number of sessions that the search may try: the user's maximum, or fewer if the
 * machines are not certain to allow as many. Makes the plan for this number. */
static enum exit_code find_bound(struct job *job, struct error *error)
{
    const struct plan *plan = &job->given;
    struct search *search = job->search;
    struct ranks *ranks = job->ranks;
    const unsigned wanted = plan->sessions;
    struct limit limit = {.allowed = LIMIT_NONE};
    unsigned most = wanted, fits = wanted, binding;
    /* wait until all ranks have a plan */
    enum exit_code code = ranks_agree(ranks, EXIT_CODE_OK, NULL, error);
    code = code == EXIT_CODE_OK ? find_room(job, most, &fits, &limit, error) : code;
    while (code == EXIT_CODE_OK && fits < most && fits > 0) {
        /* check again, because with fewer sessions another limit may be reached first */
        most = fits;
        code = find_room(job, most, &fits, &limit, error);
    }
    most = fits;
    if (code == EXIT_CODE_OK && most > 0 && most < wanted && plan->search.max_sessions == 0) {
        /* without --max-sessions, give advice for twice as many sessions as fit */
        code = find_room(job, most < wanted / 2 ? 2 * most : wanted, &fits, &limit, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    most = ranks_agree_most(ranks, most, &limit, &binding);
    if (most == 0 && limit.name[0] == '\0') {
        return ranks_report_loss(ranks, error);
    }
    search->bound_by = plan->search.max_sessions > 0 ? BOUND_USER : BOUND_PROGRAM;
    if (most < wanted) {
        search->bound_by = BOUND_CLIENT;
    }
    search->bound_limit = limit;
    if (ranks != NULL) {
        snprintf(search->bound_limit.where, sizeof search->bound_limit.where,
                 "machine %.60s, %.400s", ranks_machine(ranks, binding), limit.where);
    }
    if (most == 0) {
        error_set(error, ERROR_LIMIT, 0, NULL,
                  "client limit: %s%s%s does not allow even one session: %s",
                  ranks == NULL ? "" : ranks_machine(ranks, binding), ranks == NULL ? "" : ": ",
                  limit.name, limit.fix);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    search->bound = most;
    plan_with_sessions(plan, most, &job->bounded);
    job->plan = &job->bounded;
    return ranks_divide_sessions(ranks, job->plan, &job->facts, error);
}

/* Sets the number of rows that the search may write. Before the first row is written, announces
 * this number and how the user can remove the rows. */
static void bound_rows(struct job *job)
{
    const struct plan *plan = job->plan;
    struct search *search = job->search;
    search->hold_ns = plan->search.hold_ns;
    search->p99_bound_ns = plan->search.p99_bound_ns;
    const bool is_kept = (plan->adapter->flags & ADAPTER_DISCARDS) == 0;
    const uint64_t default_bytes = is_kept ? DEFAULT_MAX_BYTES : 0;
    const uint64_t max_bytes = plan->search.max_bytes > 0 ? plan->search.max_bytes : default_bytes;
    search->max_rows = plan->search.max_rows;
    if (job->generator == NULL) {
        /* a script's rows have an unknown number and length, so there is no bound to announce */
        setup_describe_removal(&job->setup, plan, search->removal, sizeof search->removal);
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
    setup_describe_removal(&job->setup, plan, search->removal, sizeof search->removal);
    if (!plan->is_quiet) {
        const double value_bytes = (double)search->max_rows * search->row_bytes;
        notice_print("up to %s rows (--max-%s), %s of values, will be written to %s and stay there",
                     UNITS_COUNT(search->max_rows), search->is_bound_by_bytes ? "bytes" : "rows",
                     UNITS_BYTES(search->is_bound_by_bytes ? max_bytes : (uint64_t)value_bytes),
                     plan->table_name);
    }
}

/* Runs the search: in rank 0, or in the only process if the run has no ranks. */
static enum exit_code lead(struct job *job, int argc, char **argv)
{
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code =
        command_line_read(&job->given, command_form(COMMAND_FIND_MAX), argc, argv, &error);
    if (command_is_done(job->plan, &code, &error)) {
        return code;
    }
    interrupt_install();
    code = job_make_plan(job, &error);
    if (code == EXIT_CODE_OK) {
        code = rank_exchange_send_plan(job->ranks, job->plan, &error);
    }
    code = code == EXIT_CODE_OK ? job_begin(job, &error) : code;
    return job_finish(job, code, &error);
}

enum exit_code command_find_max(int argc, char **argv)
{
    struct search search = {0};
    struct job job = {.search = &search,
                      .find_bound = find_bound,
                      .on_ready = bound_rows,
                      .on_begin = on_begin,
                      .on_level = on_level};
    const enum exit_code code = job_do(&job, COMMAND_FIND_MAX, argc, argv, lead);
    search_fini(&search);
    return code;
}
