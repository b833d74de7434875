#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mono.h"
#include "base/notice.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/job.h"
#include "cli/options.h"
#include "limits/evidence.h"
#include "load/ladder.h"
#include "measure/search_verdict.h"
#include "report/files.h"
#include "report/json.h"
#include "report/metrics.h"
#include "report/text_levels.h"

/* Every hold has a sample of its own when there are two in its time. */
#define SAMPLE_NS MONO_NS_PER_S
#define SAMPLE_LEAST_NS (100 * MONO_NS_PER_MS)

enum {
    USUAL_FIRST_SESSIONS = 10
};

/* Enough for a search with a dozen levels, and no burden for a disk. */
#define USUAL_MAX_BYTES (UINT64_C(2) << 30)

/* A slow server may need longer than a hold for an append of every session. */
#define PATIENCE_NS (30 * MONO_NS_PER_S)

struct find_max {
    const struct config *config;
    struct job job;
    struct run_files *files;
    struct sampler *sampler;
    struct hold_samples samples;
    struct result *result;
    struct search search;
    struct limits_question question;
    struct evidence *evidence; /* of one level */
    struct metrics *metrics;   /* NULL: not asked for */
    bool has_begun;            /* sessions were started: the files stay */
};

static void on_interval(void *context, const struct interval *interval)
{
    struct find_max *find = context;
    run_files_add_interval(find->files, interval);
}

static void on_sample(void *context, const struct sample *sample)
{
    struct find_max *find = context;
    run_files_add_sample(find->files, sample);
    hold_samples_add(&find->samples, sample);
}

static void on_progress(void *context, const struct sampler_progress *now)
{
    struct find_max *find = context;
    metrics_update(find->metrics, now);
}

/* Counters and processes as they are before the level: what an earlier one did is not its doing. */
static void on_begin(void *context, const struct level *level)
{
    struct find_max *find = context;
    evidence_end(find->evidence);
    find->question.sessions = level->sessions;
    find->evidence = evidence_begin(&find->question);
}

static void on_shortage(void *context)
{
    struct find_max *find = context;
    if (find->evidence != NULL) {
        evidence_capture(find->evidence);
    }
}

/* The limits that the lowest level that failed ran into. */
static void name_limits(struct find_max *find, const struct level *level)
{
    struct findings *findings = &find->result->findings;
    if (find->search.failed == 0) {
        findings->count = 0; /* what an earlier level ran into was passed since */
    }
    if (level->outcome != LEVEL_FAILED || level->sessions != find->search.failed) {
        return;
    }
    struct result *own = calloc(1, sizeof *own);
    findings->count = 0;
    if (own != NULL && level->causes != NULL && find->evidence != NULL) {
        own->start_mono_ns = find->result->start_mono_ns;
        own->sessions = level->ledger;
        own->causes = *level->causes;
        evidence_conclude(find->evidence, own, findings);
    }
    free(own);
}

static void on_level(void *context, const struct level *level)
{
    struct find_max *find = context;
    name_limits(find, level);
    run_files_add_level(find->files, level);
    if (!find->job.plan.is_quiet) {
        char text[TEXT_LEVELS_BYTES];
        text_levels_progress(level, text);
        notice_print("%s", text);
    }
}

static void release(struct find_max *find)
{
    if (find->result != NULL) {
        causes_fini(&find->result->causes);
        free(find->result);
    }
    search_fini(&find->search);
    evidence_end(find->evidence);
    hold_samples_fini(&find->samples);
    metrics_end(find->metrics, !find->has_begun);
    run_files_destroy(find->files, !find->has_begun);
    job_release(&find->job);
}

/* How many sessions this machine is certain to allow; *first: the limit that binds, its advice made
 * for the sessions of the plan. */
static uint64_t ask_machine(const struct plan *plan, struct limit_list *list,
                            const struct limit **first)
{
    struct limits_question question;
    *first = NULL;
    limits_ask(&question, plan, NULL, NULL);
    limits_read(&question, list);
    return limits_sessions(list, false, first);
}

/* The user's bound, or what this machine is certain to allow if that is less. */
static enum exit_code find_bound(struct find_max *find, struct error *error)
{
    struct search *search = &find->search;
    struct plan *plan = &find->job.plan;
    struct limit_list list;
    const struct limit *first = NULL;
    uint64_t allowed = ask_machine(plan, &list, &first);
    if (first != NULL && allowed > 0 && find->config->max_sessions == 0) {
        /* nobody asked for a million: advice for twice as many as there can be */
        plan->sessions = allowed < PLAN_SESSIONS_MAX / 2 ? 2 * (unsigned)allowed : plan->sessions;
        allowed = ask_machine(plan, &list, &first);
    }
    search->bound_by = find->config->max_sessions > 0 ? BOUND_USER : BOUND_PROGRAM;
    if (first != NULL && allowed < plan->sessions) {
        if (allowed == 0) {
            error_set(error, ERROR_LIMIT, 0, NULL, "client limit: %s allows no session: %s",
                      first->name, first->fix);
            return EXIT_CODE_CLIENT_LIMIT;
        }
        search->bound_by = BOUND_CLIENT;
        search->bound_limit = *first;
        plan->sessions = (unsigned)allowed;
    }
    search->bound = plan->sessions;
    return EXIT_CODE_OK;
}

/* Everything that can fail before the first session: limits, files, server, table, memory. */
static enum exit_code prepare(struct find_max *find, struct error *error)
{
    enum exit_code code = find_bound(find, error);
    if (code == EXIT_CODE_OK) {
        code = job_begin(&find->job, error);
    }
    if (code == EXIT_CODE_OK) {
        code = metrics_begin(&find->metrics, &find->job.plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = run_files_create(&find->files, &find->job.plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = job_set_up(&find->job, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    find->result = calloc(1, sizeof *find->result);
    if (find->result == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the search");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    causes_init(&find->result->causes);
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
    const struct config *config = find->config;
    struct search *search = &find->search;
    const bool is_kept = (find->job.plan.adapter->flags & ADAPTER_DISCARDS) == 0;
    const uint64_t usual_bytes = is_kept ? USUAL_MAX_BYTES : 0;
    const uint64_t max_bytes = config->max_bytes > 0 ? config->max_bytes : usual_bytes;
    search->row_bytes = generator_row_bytes(find->job.generator);
    search->max_rows = config->max_rows;
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

static enum exit_code climb(struct find_max *find, struct error *error)
{
    struct result *result = find->result;
    const struct config *config = find->config;
    const struct sampler_sink sink = {.context = find,
                                      .on_interval = on_interval,
                                      .on_sample = on_sample,
                                      .on_progress = on_progress};
    find->sampler = job_start_sampler(&find->job, &sink, error);
    if (find->sampler == NULL) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    bound_rows(find);
    limits_ask(&find->question, &find->job.plan, &find->job.setup.connection,
               &find->job.setup.server);
    find->question.is_remote = find->job.setup.is_remote;
    result->started_wall_ns = mono_wall_ns();
    result->start_mono_ns = sampler_run_start_ns(find->sampler);
    const struct driver_config driver = {
        .plan = &find->job.plan,
        .setup = &find->job.setup,
        .workload = &workload_append_then_read,
        .generator = find->job.generator,
        .recorder = find->job.recorder,
        .sampler = find->sampler,
        .start_ns = result->start_mono_ns,
        .on_shortage = on_shortage,
        .context = find,
    };
    const struct ladder_config ladder = {
        .driver = &driver,
        .first = (unsigned)config->first_sessions,
        .hold_ns = config->hold_ns,
        .patience_ns = PATIENCE_NS,
        .max_time_ns = config->max_time_ns,
        .max_memory_bytes = config->max_memory_bytes,
        .max_rows = find->search.max_rows,
        .samples = &find->samples,
        .on_begin = on_begin,
        .on_level = on_level,
        .context = find,
    };
    const enum status status = ladder_run(&ladder, &find->search, result, error);
    sampler_stop(find->sampler, &result->resources);
    if (status != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    find->has_begun = true;
    recorder_take_snapshot(find->job.recorder, &result->totals);
    metrics_conclude(find->metrics, &result->totals);
    snprintf(result->metrics_note, sizeof result->metrics_note, "%s",
             metrics_shortage(find->metrics));
    return EXIT_CODE_OK;
}

static void judge(struct find_max *find)
{
    struct result *result = find->result;
    const struct setup *setup = &find->job.setup;
    result->server = setup->server;
    result->connection = setup->connection;
    memcpy(result->engine, setup->table.engine, sizeof result->engine);
    setup_verify(setup, &find->job.plan, result);
    const struct judge_context context = {
        .is_embedded = setup->connection.is_embedded,
        .is_local = !setup->is_remote,
        .was_interrupted = interrupt_requested(),
    };
    /* the judgement of a run says whether its figures are the client's */
    result_judge(result, &context);
    if (result->verdict == VERDICT_INVALID) {
        snprintf(find->search.figures_note, sizeof find->search.figures_note,
                 "rows/s and latencies are not the server's: %.180s", result->verdict_reason);
    }
    search_judge(&find->search, result, interrupt_requested());
}

/* Writes the files and the report. */
static enum exit_code report(struct find_max *find)
{
    struct result *result = find->result;
    const struct plan *plan = &find->job.plan;
    const struct table *table = &find->job.setup.table;
    run_files_finish_search(find->files, plan, table, result, &find->search);
    const char *shortage = run_files_shortage(find->files);
    if (shortage[0] != '\0' && result->exit_code == EXIT_CODE_OK) {
        result->exit_code = EXIT_CODE_CLIENT_LIMIT;
        snprintf(result->exit_reason, sizeof result->exit_reason, "files are short: %.200s",
                 shortage);
    }
    interrupt_end_at_once(); /* nobody may read: a full pipe blocks for ever */
    if (!plan->is_json) {
        text_levels_write(stdout, plan, result, &find->search, shortage);
    } else if (!report_write_search_json(stdout, plan, table, result, &find->search) &&
               !ferror(stdout) && result->exit_code == EXIT_CODE_OK) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the report");
    }
    const enum exit_code written =
        result->exit_code == EXIT_CODE_OK ? command_finish_output() : EXIT_CODE_OK;
    if (written != EXIT_CODE_OK) {
        return written;
    }
    return result->exit_code == EXIT_CODE_OK ? EXIT_CODE_OK
                                             : command_say(result->exit_code, result->exit_reason);
}

static enum exit_code search(struct find_max *find)
{
    struct error error;
    error_clear(&error);
    enum exit_code code = prepare(find, &error);
    if (code == EXIT_CODE_OK) {
        code = climb(find, &error);
    }
    if (code != EXIT_CODE_OK) {
        return command_refuse(find->job.plan.is_json, code, &error);
    }
    judge(find);
    return report(find);
}

static enum exit_code check(const struct config *config, struct error *error)
{
    if (config->max_sessions > 0 && config->first_sessions > config->max_sessions) {
        error_set(error, ERROR_USAGE, 0, NULL, "--first %llu is more than --max-sessions %llu",
                  (unsigned long long)config->first_sessions,
                  (unsigned long long)config->max_sessions);
        return EXIT_CODE_USAGE;
    }
    if (config->hold_ns > config->max_time_ns) {
        char hold[UNITS_TEXT_BYTES];
        char most[UNITS_TEXT_BYTES];
        error_set(error, ERROR_USAGE, 0, NULL, "--hold (%s) is longer than --max-time (%s)",
                  units_format_ns(config->hold_ns, hold),
                  units_format_ns(config->max_time_ns, most));
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_OK;
}

/* What the plan of a search takes from other options. */
static void complete(struct config *config)
{
    config->sessions = config->max_sessions > 0 ? config->max_sessions : PLAN_SESSIONS_MAX;
    if (config->first_sessions == 0) {
        config->first_sessions =
            config->sessions < USUAL_FIRST_SESSIONS ? config->sessions : USUAL_FIRST_SESSIONS;
    }
    config->duration_ns = config->max_time_ns;
    config->is_unchecked = true; /* to run into limits is what a search is for */
    if (config->sample_interval_ns == 0) {
        const int64_t half_ns = config->hold_ns / 2;
        config->sample_interval_ns = half_ns < SAMPLE_NS ? half_ns : SAMPLE_NS;
        if (config->sample_interval_ns < SAMPLE_LEAST_NS) {
            config->sample_interval_ns = SAMPLE_LEAST_NS;
        }
    }
}

enum exit_code command_find_max(int argc, char **argv)
{
    struct options options;
    struct error error;
    error_clear(&error);
    if (options_parse(&options, COMMAND_FIND_MAX, argc, argv, &error) != STATUS_OK) {
        return command_refuse(options.config.is_json, EXIT_CODE_USAGE, &error);
    }
    if (options.is_help) {
        help_print(COMMAND_FIND_MAX, stdout);
        return command_finish_output();
    }
    struct config *config = &options.config;
    enum exit_code code = check(config, &error);
    if (code != EXIT_CODE_OK) {
        return command_refuse(options.config.is_json, code, &error);
    }
    interrupt_install();
    complete(config);
    struct find_max find = {
        .config = config,
        .search = {.hold_ns = config->hold_ns, .p99_bound_ns = config->p99_bound_ns}};
    hold_samples_init(&find.samples);
    code = plan_make(&find.job.plan, config, &error);
    code =
        code == EXIT_CODE_OK ? search(&find) : command_refuse(options.config.is_json, code, &error);
    release(&find);
    return code;
}
