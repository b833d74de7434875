#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/interrupt.h"
#include "base/mono.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/job.h"
#include "cli/junit_file.h"
#include "cli/options.h"
#include "cli/report_end.h"
#include "limits/evidence.h"
#include "limits/limits.h"
#include "load/driver.h"
#include "load/inquiry.h"
#include "load/verify_rows.h"
#include "report/expectations.h"
#include "report/files.h"
#include "report/json.h"
#include "report/metrics.h"
#include "report/progress.h"
#include "report/text.h"
#include "runs/events.h"

struct run {
    struct job job;
    struct run_files *files;
    struct sampler *sampler;
    struct result *result;
    struct limits_question question;
    struct evidence *evidence;
    struct progress progress;
    struct metrics *metrics;           /* NULL: not asked for */
    struct expectations *expectations; /* borrowed */
    struct junit_file junit;
    bool is_report; /* report.html is written at the end */
    bool has_begun; /* sessions were started: the files stay */
};

static void on_interval(void *context, const struct interval *interval)
{
    struct run *run = context;
    run_files_add_interval(run->files, interval);
}

static void on_sample(void *context, const struct sample *sample)
{
    struct run *run = context;
    run_files_add_sample(run->files, sample);
}

static void on_progress(void *context, const struct sampler_progress *now)
{
    struct run *run = context;
    metrics_update(run->metrics, now);
    if (!run->job.plan.is_quiet) {
        progress_show(&run->progress, now);
    }
}

static void on_shortage(void *context)
{
    struct run *run = context;
    evidence_capture(run->evidence);
}

static void run_release(struct run *run)
{
    if (run->result != NULL) {
        session_list_free(run->result->session_list, run->result->session_count);
        event_list_fini(&run->result->events);
    }
    evidence_end(run->evidence);
    free(run->result);
    junit_file_close(&run->junit);
    metrics_end(run->metrics, !run->has_begun);
    run_files_destroy(run->files, !run->has_begun);
    job_release(&run->job);
}

/* Everything that can fail before the first session: files, server, table, memory. */
static enum exit_code prepare(struct run *run, struct error *error)
{
    enum exit_code code = job_begin(&run->job, error);
    if (code == EXIT_CODE_OK) {
        code = metrics_begin(&run->metrics, &run->job.plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = run_files_create(&run->files, &run->job.plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = junit_file_open(&run->junit, false, error);
    }
    if (code == EXIT_CODE_OK) {
        code = job_set_up(&run->job, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    limits_ask(&run->question, &run->job.plan, &run->job.setup.connection, &run->job.setup.server);
    run->question.is_remote = run->job.setup.is_remote;
    run->evidence = evidence_begin(&run->question);
    run->result = calloc(1, sizeof *run->result);
    if (run->result == NULL || run->evidence == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the run");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* The sessions and what is measured while they live. */
static enum exit_code load(struct run *run, struct error *error)
{
    struct result *result = run->result;
    const struct sampler_sink sink = {.context = run,
                                      .on_interval = on_interval,
                                      .on_sample = on_sample,
                                      .on_progress = on_progress};
    const struct setup *setup = &run->job.setup;
    progress_init(&run->progress, STDERR_FILENO, &run->job.plan);
    /* an engine without transactions knows how many rows it has */
    if ((run->job.plan.adapter->flags & ADAPTER_DISCARDS) == 0 && !setup->table.keeps_failed_rows) {
        progress_announce(&run->progress, setup->rows_before,
                          setup->is_remote ? 0 : setup->count_ns);
    }
    run->sampler = job_start_sampler(&run->job, &sink, error);
    if (run->sampler == NULL) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    result->started_wall_ns = mono_wall_ns();
    causes_init(&result->causes);
    const struct driver_config config = {
        .plan = &run->job.plan,
        .setup = &run->job.setup,
        .workload = &workload_append_then_read,
        .generator = run->job.generator,
        .recorder = run->job.recorder,
        .sampler = run->sampler,
        .start_ns = sampler_run_start_ns(run->sampler),
        .on_shortage = on_shortage,
        .context = run,
    };
    const enum status status = driver_run(&config, result, error);
    sampler_stop(run->sampler, &result->resources);
    progress_end(&run->progress);
    if (status != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    run->has_begun = true;
    recorder_take_snapshot(run->job.recorder, &result->totals);
    metrics_conclude(run->metrics, &result->totals);
    snprintf(result->metrics_note, sizeof result->metrics_note, "%s",
             metrics_shortage(run->metrics));
    return EXIT_CODE_OK;
}

static void judge(struct run *run)
{
    struct result *result = run->result;
    result->server = run->job.setup.server;
    result->connection = run->job.setup.connection;
    memcpy(result->engine, run->job.setup.table.engine, sizeof result->engine);
    struct inquiry inquiry;
    if (evidence_lacks_settings(result)) {
        struct error ignored; /* whoever does not answer now will not be verified either */
        error_clear(&ignored);
        if (inquiry_make(&inquiry, &run->job.plan, &ignored) == EXIT_CODE_OK) {
            evidence_take_settings(run->evidence, &inquiry.server);
        }
    }
    evidence_conclude(run->evidence, result, &result->findings);
    setup_verify(&run->job.setup, &run->job.plan, result);
    verify_rows(&run->job.setup, &run->job.plan, result);
    const struct judge_context context = {
        .is_embedded = run->job.setup.connection.is_embedded,
        .is_local = !run->job.setup.is_remote,
        .rate_rows_per_s = run->job.plan.rate_rows_per_s,
        .was_interrupted = interrupt_requested(),
    };
    result_judge(result, &context);
    expectations_judge(run->expectations, &run->job.plan, result);
    expectations_conclude(run->expectations, result);
    result->expectations = run->expectations;
}

/* A file that is not what it should be must not go unseen, nor hide what is worse. */
static void add_junit(struct run *run)
{
    struct result *result = run->result;
    const int number = junit_file_write(&run->junit, &run->job.plan, result);
    if (number == 0) {
        return;
    }
    const size_t used = strlen(result->exit_reason);
    snprintf(result->exit_reason + used, sizeof result->exit_reason - used,
             "%s'%.120s' could not be written: %s", used > 0 ? "; also " : "", run->junit.path,
             strerror(number));
    if (result->exit_code == EXIT_CODE_OK) {
        result->exit_code = EXIT_CODE_CLIENT_LIMIT;
    }
}

/* What the user wrote into the run's folder meanwhile. */
static void read_events(const struct run *run)
{
    struct error error;
    struct event_list *events = &run->result->events;
    error_clear(&error);
    if (events_read(events, run->job.plan.out_folder, run->result->started_wall_ns, &error) !=
        STATUS_OK) {
        snprintf(events->note, sizeof events->note, "%.190s", error.text);
    }
}

static void add_report(const struct run *run)
{
    struct result *result = run->result;
    struct error error;
    error_clear(&error);
    const struct plan *plan = &run->job.plan;
    if (!run->is_report ||
        report_end_write(plan->out_folder, plan->is_json, &error) == EXIT_CODE_OK) {
        return;
    }
    const bool is_first = result->exit_code == EXIT_CODE_OK;
    const size_t used = is_first ? 0 : strlen(result->exit_reason);
    snprintf(result->exit_reason + used, sizeof result->exit_reason - used,
             "%s there is no report: %.200s",
             is_first ? "all rows were acknowledged, but" : "; also", error.text);
    result->exit_code = is_first ? EXIT_CODE_CLIENT_LIMIT : result->exit_code;
}

/* Writes the files and the report. */
static enum exit_code report(struct run *run)
{
    struct result *result = run->result;
    read_events(run);
    run_files_finish(run->files, &run->job.plan, &run->job.setup.table, result);
    const char *shortage = run_files_shortage(run->files);
    if (shortage[0] != '\0' && result->exit_code == EXIT_CODE_OK) {
        result->exit_code = EXIT_CODE_CLIENT_LIMIT;
        snprintf(result->exit_reason, sizeof result->exit_reason,
                 "all rows were acknowledged, but files are short: %.200s", shortage);
    }
    interrupt_end_at_once(); /* nobody may read: a full pipe blocks for ever */
    bool is_printed = true;
    if (run->job.plan.is_json) {
        is_printed = report_write_json(stdout, &run->job.plan, &run->job.setup.table, result);
    } else {
        report_write_text(stdout, &run->job.plan, result, shortage);
    }
    add_report(run);
    is_printed = fflush(stdout) == 0 && !ferror(stdout) && is_printed;
    if (!is_printed && result->exit_code == EXIT_CODE_OK) {
        result->exit_code = EXIT_CODE_CLIENT_LIMIT;
        snprintf(result->exit_reason, sizeof result->exit_reason,
                 "the report could not be written to standard output");
    }
    add_junit(run);
    if (result->exit_code != EXIT_CODE_OK) {
        command_say(result->exit_code, result->exit_reason);
    }
    return result->exit_code;
}

static enum exit_code refuse(struct run *run, enum exit_code code, const struct error *error)
{
    junit_file_write_error(&run->junit, &run->job.plan, code, error->text);
    return command_refuse(run->job.plan.is_json, code, error);
}

static enum exit_code run_plan(struct run *run)
{
    struct error error;
    error_clear(&error);
    enum exit_code code = report_end_check(run->is_report, &error);
    if (code == EXIT_CODE_OK) {
        code = prepare(run, &error);
    }
    if (code == EXIT_CODE_OK) {
        code = load(run, &error);
    }
    if (code != EXIT_CODE_OK) {
        return refuse(run, code, &error);
    }
    judge(run);
    code = report(run);
    causes_fini(&run->result->causes);
    return code;
}

static void print_versions(void)
{
    printf("append %s\n", APPEND_VERSION);
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        char version[120] = "built in";
        if ((*a)->client_version != NULL) {
            (*a)->client_version(version, sizeof version);
        }
        printf("  %-12s %s\n", (*a)->name, version);
    }
}

enum exit_code command_run(int argc, char **argv)
{
    struct options options;
    struct error error;
    error_clear(&error);
    if (options_parse(&options, COMMAND_RUN, argc, argv, &error) != STATUS_OK) {
        return command_refuse(options.config.is_json, EXIT_CODE_USAGE, &error);
    }
    if (options.is_help) {
        help_print(COMMAND_RUN, stdout);
        return command_finish_output();
    }
    if (options.is_version) {
        print_versions();
        return command_finish_output();
    }
    interrupt_install();
    struct run run = {.expectations = &options.expectations,
                      .junit = {.path = options.junit},
                      .is_report = options.is_report};
    enum exit_code code =
        options.is_plan_only ? EXIT_CODE_OK : junit_file_open(&run.junit, true, &error);
    if (code != EXIT_CODE_OK) {
        return command_refuse(options.config.is_json, code, &error);
    }
    code = plan_make(&run.job.plan, &options.config, &error);
    if (code != EXIT_CODE_OK) {
        return refuse(&run, code, &error);
    }
    if (options.is_plan_only) {
        plan_print(&run.job.plan, stdout);
        code = command_finish_output();
    } else {
        code = run_plan(&run);
    }
    run_release(&run);
    return code;
}
