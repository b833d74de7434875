#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/interrupt.h"
#include "base/mono.h"
#include "cli/command.h"
#include "cli/options.h"
#include "limits/open_files.h"
#include "load/driver.h"
#include "plan/target.h"
#include "report/clean.h"
#include "report/files.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/text.h"

/* Descriptors beside the sessions': standard streams, the run's files, /proc, the set-up. */
enum {
    OTHER_FILES = 64,
    SHARDS_MIN = 8
};

/* Everything that a run holds; released in reverse order by run_release. */
struct run {
    struct plan plan;
    struct run_files *files;
    bool is_adapter_ready;
    struct setup setup;
    struct generator *generator;
    struct recorder *recorder;
    struct sampler *sampler;
    struct result *result;
    struct progress progress;
    bool has_begun; /* sessions were started: the files stay */
};

/* Words of a server or from the command line must not reach a terminal raw. */
static enum exit_code say(enum exit_code code, const char *text)
{
    char clean[1024];
    clean_line(clean, sizeof clean, text, sizeof clean);
    fflush(stdout);
    fprintf(stderr, "append: %s\n", clean);
    return code;
}

enum exit_code command_fail(enum exit_code code, const struct error *error)
{
    return say(code, error->text[0] == '\0' ? "unknown error" : error->text);
}

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
    if (!run->plan.is_quiet) {
        progress_show(&run->progress, now);
    }
}

static void run_release(struct run *run)
{
    free(run->result);
    recorder_destroy(run->recorder);
    generator_destroy(run->generator);
    setup_fini(&run->setup);
    if (run->is_adapter_ready && run->plan.adapter->fini != NULL) {
        run->plan.adapter->fini();
    }
    run_files_destroy(run->files, !run->has_begun);
    plan_fini(&run->plan);
}

/* Everything that can fail before the first session: files, server, table, memory. */
static enum exit_code prepare(struct run *run, struct error *error)
{
    const struct adapter *adapter = run->plan.adapter;
    const uint64_t files = (uint64_t)run->plan.sessions * adapter->files_per_session + OTHER_FILES;
    if (open_files_allow(files, error) != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    enum exit_code code = run_files_create(&run->files, &run->plan, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    if (adapter->init != NULL && adapter->init(error) != STATUS_OK) {
        return EXIT_CODE_INTERNAL;
    }
    run->is_adapter_ready = true;
    code = setup_prepare(&run->setup, &run->plan, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    target_show_connection(&run->plan, &run->setup.connection);
    const enum status status =
        generator_create(&run->generator, &run->plan, &run->setup.table, error);
    if (status != STATUS_OK) {
        return status == STATUS_REJECTED ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT;
    }
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    run->recorder = recorder_create(cpus > SHARDS_MIN ? (unsigned)cpus : SHARDS_MIN);
    run->result = calloc(1, sizeof *run->result);
    if (run->recorder == NULL || run->result == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the run");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

static struct sampler *start_sampler(struct run *run, struct error *error)
{
    const struct plan *plan = &run->plan;
    const char *host = run->setup.connection.host;
    const struct sampler_config config = {
        .sample_interval_ns = plan->sample_interval_ns,
        .server = {.is_embedded = run->setup.connection.is_embedded,
                   .is_remote = run->setup.is_remote,
                   .port = run->setup.connection.port,
                   .socket = host[0] == '/' ? host : NULL,
                   .pid = plan->server_pid,
                   .cgroup = plan->server_cgroup},
        .recorder = run->recorder,
        .sink = {.context = run,
                 .on_interval = on_interval,
                 .on_sample = on_sample,
                 .on_progress = on_progress},
    };
    return sampler_start(&config, error);
}

/* The sessions and what is measured while they live. */
static enum exit_code load(struct run *run, struct error *error)
{
    struct result *result = run->result;
    progress_init(&run->progress, stderr, &run->plan);
    run->sampler = start_sampler(run, error);
    if (run->sampler == NULL) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    result->started_wall_ns = mono_wall_ns();
    causes_init(&result->causes);
    const struct driver_config config = {
        .plan = &run->plan,
        .setup = &run->setup,
        .workload = &workload_append_then_read,
        .generator = run->generator,
        .recorder = run->recorder,
        .sampler = run->sampler,
        .start_ns = sampler_run_start_ns(run->sampler),
    };
    const enum status status = driver_run(&config, result, error);
    sampler_stop(run->sampler, &result->resources);
    progress_end(&run->progress);
    if (status != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    run->has_begun = true;
    recorder_take_snapshot(run->recorder, &result->totals);
    return EXIT_CODE_OK;
}

static void judge(struct run *run)
{
    struct result *result = run->result;
    result->server = run->setup.server;
    result->connection = run->setup.connection;
    memcpy(result->engine, run->setup.table.engine, sizeof result->engine);
    setup_verify(&run->setup, &run->plan, result);
    const struct judge_context context = {
        .is_embedded = run->setup.connection.is_embedded,
        .is_local = !run->setup.is_remote,
        .rate_rows_per_s = run->plan.rate_rows_per_s,
        .was_interrupted = interrupt_requested(),
    };
    result_judge(result, &context);
}

/* Writes the files and the report. */
static enum exit_code report(struct run *run)
{
    struct result *result = run->result;
    run_files_finish(run->files, &run->plan, &run->setup.table, result);
    const char *shortage = run_files_shortage(run->files);
    if (shortage[0] != '\0' && result->exit_code == EXIT_CODE_OK) {
        result->exit_code = EXIT_CODE_CLIENT_LIMIT;
        snprintf(result->exit_reason, sizeof result->exit_reason,
                 "all rows were acknowledged, but files are short: %.200s", shortage);
    }
    if (run->plan.is_json) {
        report_write_json(stdout, &run->plan, &run->setup.table, result);
    } else {
        report_write_text(stdout, &run->plan, result, shortage);
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && result->exit_code == EXIT_CODE_OK) {
        result->exit_code = EXIT_CODE_CLIENT_LIMIT;
        snprintf(result->exit_reason, sizeof result->exit_reason,
                 "the report could not be written to standard output");
    }
    if (result->exit_code != EXIT_CODE_OK) {
        say(result->exit_code, result->exit_reason);
    }
    return result->exit_code;
}

static enum exit_code run_plan(struct run *run)
{
    struct error error;
    error_clear(&error);
    enum exit_code code = prepare(run, &error);
    if (code == EXIT_CODE_OK) {
        code = load(run, &error);
    }
    if (code != EXIT_CODE_OK) {
        return command_fail(code, &error);
    }
    judge(run);
    code = report(run);
    causes_fini(&run->result->causes);
    return code;
}

/* What was printed must have arrived. */
static enum exit_code finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EXIT_CODE_OK;
    }
    struct error error;
    error_clear(&error);
    error_set(&error, ERROR_SYSTEM, errno, NULL, "standard output cannot be written: %s",
              strerror(errno));
    return command_fail(EXIT_CODE_CLIENT_LIMIT, &error);
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
    if (options_parse(&options, argc, argv, &error) != STATUS_OK) {
        return command_fail(EXIT_CODE_USAGE, &error);
    }
    if (options.is_help) {
        options_print_help(stdout);
        return finish_output();
    }
    if (options.is_version) {
        print_versions();
        return finish_output();
    }
    interrupt_install();
    struct run run = {0};
    enum exit_code code = plan_make(&run.plan, &options.config, &error);
    if (code != EXIT_CODE_OK) {
        return command_fail(code, &error);
    }
    if (options.is_plan_only) {
        plan_print(&run.plan, stdout);
        code = finish_output();
    } else {
        code = run_plan(&run);
    }
    run_release(&run);
    return code;
}
