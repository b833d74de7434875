#include "commands/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "base/url.h"
#include "commands/command.h"
#include "report/figures.h"
#include "report/files.h"
#include "report/text.h"

#define ROOM_LIMIT_NS (2 * MONO_NS_PER_S)
#define ROOM_PAUSE_NS (100 * MONO_NS_PER_MS)

/* A slow server may need longer than a hold for an append of every session. */
#define PATIENCE_NS (30 * MONO_NS_PER_S)

enum {
    SPARE_FILES = 64, /* what connecting opens for a moment */
    SHARDS_MIN = 8,
    MADE_LINE_BYTES = 400,
};

/* Preflight: is it certain that a limit will be hit? *first: the one that binds, or NULL. */
static enum exit_code judge_limits(const struct plan *plan, const struct limit_list *list,
                                   const struct limit **first, struct error *error)
{
    const uint64_t fitting = limits_sessions(list, false, first);
    const uint64_t all = plan_sessions_all(plan);
    if (*first == NULL || fitting >= (plan->has_min_sessions ? plan->min_sessions : all)) {
        return EXIT_CODE_OK;
    }
    char line[CHECK_LINE_BYTES];
    check_conclusion(all, fitting, *first, line);
    error_set(error, ERROR_LIMIT, 0, NULL, "%s: see append check; --no-check goes on anyway", line);
    return (*first)->side == LIMIT_CLIENT ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER;
}

/* When set-up has connected: the server and the database too. One that is full is asked again for
 * up to 2 s: sessions of an earlier run may be leaving, and a server frees the place of a session
 * only when it has noticed that the session has left. */
static enum exit_code check_server(struct job *job, struct error *error)
{
    const struct plan *plan = &job->plan;
    if (plan->is_unchecked || job->setup.connection.is_embedded) {
        return EXIT_CODE_OK;
    }
    const int64_t soon_ns = mono_now_ns() + ROOM_LIMIT_NS;
    const int64_t limit_ns = plan->wait_until_ns > soon_ns ? plan->wait_until_ns : soon_ns;
    for (;;) {
        struct limit_list list;
        const struct limit *first;
        limits_read(&job->question, &list);
        const enum exit_code code = judge_limits(plan, &list, &first, error);
        const bool may_get_room = first != NULL && first->id == LIMIT_SESSIONS && first->used > 0 &&
                                  first->allowed >= first->needed;
        if (code == EXIT_CODE_OK || !may_get_room || mono_now_ns() >= limit_ns ||
            interrupt_requested()) {
            return code;
        }
        mono_sleep(ROOM_PAUSE_NS);
        error_clear(error);
        struct setup asked;
        if (setup_inquire(&asked, plan, &(struct error){.kind = ERROR_NONE}) == EXIT_CODE_OK) {
            job->setup.server = asked.server;
        }
    }
}

enum exit_code job_begin_client(struct container *container, struct adapter_library **library,
                                struct plan *plan, struct error *error)
{
    const enum exit_code code = container_find(container, plan, error);
    if (code == EXIT_CODE_OK && plan->container != NULL) {
        plan->server_pid = container->pid;
        plan->server_cgroup = container->cgroup[0] == '\0' ? NULL : container->cgroup;
    }
    return code == EXIT_CODE_OK ? setup_start_library(library, plan, error) : code;
}

/* Makes or empties a file that the user names by an option, if he does. */
static enum exit_code open_named(FILE **stream, const char *option, const char *path, bool may_wait,
                                 struct error *error)
{
    if (path == NULL || *stream != NULL) {
        return EXIT_CODE_OK;
    }
    /* a pipe is not waited for, neither now nor at the end, when nobody may read it */
    struct stat about;
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    const int number = errno;
    if (fd < 0 && may_wait && number == ENOENT) {
        return EXIT_CODE_OK;
    }
    const bool is_pipe =
        fd < 0 ? number == ENXIO : fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
    *stream = fd < 0 || is_pipe ? NULL : fdopen(fd, "w");
    if (*stream != NULL) {
        return EXIT_CODE_OK;
    }
    error_set(error, ERROR_USAGE, is_pipe ? 0 : errno, NULL, "--%s '%.120s' cannot be written: %s",
              option, path, is_pipe ? "it is a pipe: give the name of a file" : strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return EXIT_CODE_USAGE;
}

enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error)
{
    return open_named(&job->junit, "junit", job->plan.junit, may_wait, error);
}

/* Returns 0 or errno. */
static int close_named(FILE **stream, bool is_written)
{
    const int number = is_written ? 0 : errno;
    const bool is_closed = fclose(*stream) == 0;
    *stream = NULL;
    return number == 0 && !is_closed ? errno : number;
}

enum exit_code job_begin(struct job *job, struct error *error)
{
    struct plan *plan = &job->plan;
    enum exit_code code = EXIT_CODE_OK;
    struct limits_question question;
    /* before anything is opened: this machine */
    limits_ask(&question, plan, NULL, NULL);
    limits_allow_files(&question, SPARE_FILES);
    if (!plan->is_unchecked) {
        struct limit_list list; /* large: not on the stack for longer than here */
        const struct limit *first;
        limits_read(&question, &list);
        code = judge_limits(plan, &list, &first, error);
    }
    if (code == EXIT_CODE_OK) {
        code = job_begin_client(&job->container, &job->library, &job->plan, error);
        job->has_library = code == EXIT_CODE_OK;
    }
    if (code == EXIT_CODE_OK) {
        code = metrics_begin(&job->metrics, plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = run_files_create(&job->files, plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = job_open_junit(job, false, error);
    }
    if (code == EXIT_CODE_OK) {
        code = open_named(&job->ycsb, "ycsb-out", plan->ycsb, false, error);
    }
    if (code == EXIT_CODE_OK) {
        code = setup_name_table(plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = setup_prepare(&job->setup, plan, error);
    }
    if (code == EXIT_CODE_OK && job->setup.made.load_ns > 0 && !plan->is_quiet) {
        char line[MADE_LINE_BYTES];
        setup_describe_made(&job->setup, plan, line, sizeof line);
        notice_print("%s", line);
    }
    if (code == EXIT_CODE_OK) {
        limits_ask(&job->question, plan, &job->setup.connection, &job->setup.server);
        job->question.is_remote = job->setup.is_remote;
        code = check_server(job, error);
    }
    if (code == EXIT_CODE_OK) {
        code = verify_prepare(&job->setup, plan, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    target_show_connection(plan, &job->setup.connection);
    /* a script may have no table whose rows are made here */
    const enum status status =
        job->setup.table.column_count == 0
            ? STATUS_OK
            : generator_create(&job->generator, plan, &job->setup.table, error);
    if (status != STATUS_OK) {
        return status == STATUS_REJECTED ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT;
    }
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    job->recorder = recorder_create_for_hosts(
        plan_sessions_all(plan), cpus > SHARDS_MIN ? (unsigned)cpus : SHARDS_MIN,
        plan_operations(plan).count, plan->host_count > 0 ? plan->host_count : 1);
    job->result = calloc(1, sizeof *job->result);
    job->evidence = job->search == NULL ? evidence_begin(&job->question) : NULL;
    bool has_datasets = true, has_hosts = true;
    if (job->result != NULL && plan->host_count > 0) {
        job->result->hosts = calloc(plan->host_count, sizeof *job->result->hosts);
        job->result->host_count = job->result->hosts == NULL ? 0 : plan->host_count;
        for (unsigned i = 0; i < job->result->host_count; i++) {
            struct host_result *host = &job->result->hosts[i];
            target_name_host(plan, i, host->name, sizeof host->name);
        }
        has_hosts = job->result->host_count > 0;
    }
    if (job->result != NULL) {
        causes_init(&job->result->causes);
        const size_t count = plan->script == NULL ? 0 : plan->script->dataset_count;
        job->result->datasets = count == 0 ? NULL : calloc(count, sizeof *job->result->datasets);
        job->result->dataset_count = job->result->datasets == NULL ? 0 : count;
        has_datasets = job->result->dataset_count == count;
    }
    if (!has_hosts || !has_datasets || job->recorder == NULL || job->result == NULL ||
        (job->search == NULL && job->evidence == NULL) ||
        !recorder_snapshot_init(&job->result->totals, recorder_operations(job->recorder)) ||
        (plan->host_count > 0 &&
         !recorder_snapshot_add_hosts(&job->result->totals, plan->host_count))) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the run");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* The sampler's thread. */

static void on_interval(void *context, const struct interval *interval)
{
    struct job *job = context;
    run_files_add(job->files, CSV_INTERVALS, interval);
    for (size_t i = 0; i < interval->hosts; i++) {
        const struct host_interval host = {interval, job->result->hosts[i].name, i};
        run_files_add(job->files, CSV_HOSTS_INTERVALS, &host);
    }
}

static void on_sample(void *context, const struct sample *sample)
{
    struct job *job = context;
    run_files_add(job->files, CSV_SAMPLES, sample);
}

static void on_progress(void *context, const struct sampler_progress *now)
{
    struct job *job = context;
    metrics_update(job->metrics, now);
    if (job->search == NULL && !job->plan.is_quiet) {
        progress_show(&job->progress, now);
    }
}

static void on_shortage(void *context)
{
    struct job *job = context;
    if (job->evidence != NULL) {
        evidence_capture(job->evidence);
    }
}

/* Those of several hosts that are on this machine. */
static size_t find_servers(const struct plan *plan, struct server_place places[URL_HOSTS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < plan->host_count; i++) {
        const struct url_host *host = &plan->hosts[i];
        if (address_is_local(host->name)) {
            const bool is_socket = host->name[0] == '/' || host->name[0] == '@';
            places[count++] =
                (struct server_place){.port = host->port, .socket = is_socket ? host->name : NULL};
        }
    }
    return count;
}

/* Says what the server's figures are the sum of, where nothing else is to be said. */
static void note_servers(struct resource_summary *resources, size_t hosts, size_t here)
{
    const bool is_part = here < hosts;
    if (hosts > 0 && resources->server_note[0] == '\0' &&
        (resources->servers > 1 || (resources->servers == 1 && is_part))) {
        snprintf(resources->server_note, sizeof resources->server_note, "%u %s on this machine%s",
                 resources->servers, units_plural(resources->servers, "server", "servers together"),
                 is_part ? "; other machines are not measured" : "");
    }
}

/* Runs the sessions, and measures while they live. */
static enum exit_code load(struct job *job, struct error *error)
{
    const struct plan *plan = &job->plan;
    const struct setup *setup = &job->setup;
    const struct connection_info *connection = &setup->connection;
    struct result *result = job->result;
    struct server_place places[URL_HOSTS_MAX];
    const size_t place_count = find_servers(plan, places);
    if (plan->host_count > 0) {
        job->setup.is_remote =
            place_count == 0 && plan->server_pid == 0 && plan->server_cgroup == NULL;
    }
    const struct sampler_config config = {
        .sample_interval_ns = plan->sample_interval_ns,
        .server = {.is_embedded = connection->is_embedded,
                   .is_remote = setup->is_remote,
                   .port = connection->port,
                   .socket = connection->host[0] == '/' ? connection->host : NULL,
                   .places = places,
                   .place_count = place_count,
                   .pid = plan->server_pid,
                   .cgroup = plan->server_cgroup},
        .recorder = job->recorder,
        .sink = {.context = job,
                 .on_interval = on_interval,
                 .on_sample = on_sample,
                 .on_progress = on_progress},
    };
    progress_init(&job->progress, STDERR_FILENO, plan);
    /* an engine without transactions knows how many rows it has */
    if (job->search == NULL && (plan->adapter->flags & ADAPTER_DISCARDS) == 0 &&
        !setup->table.keeps_failed_rows) {
        progress_announce(&job->progress, setup->rows_before,
                          setup->is_remote ? 0 : setup->count_ns);
    }
    job->sampler = sampler_start(&config, error);
    if (job->sampler == NULL) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    result->started_wall_ns = mono_wall_ns();
    result->start_mono_ns = sampler_run_start_ns(job->sampler);
    struct load load = {
        .plan = plan,
        .setup = setup,
        .generator = job->generator,
        .recorder = job->recorder,
        .sampler = job->sampler,
        .start_ns = result->start_mono_ns,
        .on_shortage = on_shortage,
        .context = job,
        .search = job->search,
        .patience_ns = PATIENCE_NS,
        .on_begin = job->on_begin,
        .on_level = job->on_level,
    };
    const enum status status = fleet_run(&load, result, error);
    sampler_stop(job->sampler, &result->resources);
    note_servers(&result->resources, plan->host_count, place_count);
    progress_end(&job->progress);
    if (status != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    job->has_begun = true;
    recorder_take_snapshot(job->recorder, &result->totals);
    for (unsigned i = 0; i < result->host_count; i++) {
        struct host_result *host = &result->hosts[i];
        host->counters = result->totals.hosts_counters[i];
        host->elapsed_ns = result->elapsed_ns;
        host->measured_ns = result->measured_ns;
        for (size_t operation = 0; operation < OPERATIONS; operation++) {
            host->latencies[operation] = recorder_latency_at(job->recorder, i, operation);
        }
    }
    snprintf(result->metrics_note, sizeof result->metrics_note, "%s",
             metrics_conclude(job->metrics, &result->totals));
    return EXIT_CODE_OK;
}

static void judge(struct job *job)
{
    struct result *result = job->result;
    const struct setup *setup = &job->setup;
    struct search *search = job->search;
    struct error error = {.kind = ERROR_NONE};
    result->server = setup->server;
    result->connection = setup->connection;
    memcpy(result->engine, setup->table.engine, sizeof result->engine);
    if (search == NULL) {
        /* the limits that sessions ran into; a search has done so level by level */
        struct setup asked;
        if (evidence_lacks_settings(result) &&
            setup_inquire(&asked, &job->plan, &error) == EXIT_CODE_OK) {
            job->evidence->server_after = asked.server;
            job->evidence->has_server_after = true;
        } /* who does not answer now will not be verified either */
        evidence_conclude(job->evidence, result, &result->findings);
    }
    verify_result(setup, &job->plan, result);
    const struct judge_context context = {
        .is_embedded = setup->connection.is_embedded,
        .is_local = !setup->is_remote,
        .rate_rows_per_s = search == NULL ? job->plan.rate_rows_per_s : 0,
        .has_script = job->plan.script != NULL,
        .keeps_nothing = (job->plan.adapter->flags & ADAPTER_DISCARDS) != 0,
        .max_failed = job->plan.max_failed,
        .max_failed_percent = job->plan.max_failed_percent,
        .was_interrupted = interrupt_requested(),
    };
    result_judge(result, &context);
    if (search != NULL) {
        /* the judgement of a run says whether its figures are the client's */
        if (result->verdict == VERDICT_INVALID) {
            snprintf(search->figures_note, sizeof search->figures_note,
                     "rows/s and latencies are not the server's: %.180s", result->verdict_reason);
        }
        search_judge(search, result, context.was_interrupted);
        return;
    }
    expectations_judge(&job->expectations, &job->plan, result);
    result->expectations = &job->expectations;
    /* what the user wrote into the run's folder meanwhile */
    error_clear(&error);
    if (events_read(&result->events, job->plan.out_folder, result->started_wall_ns, &error) !=
        STATUS_OK) {
        snprintf(result->events.note, sizeof result->events.note, "%.190s", error.text);
    }
}

static void note_files(struct job *job)
{
    const char *shortage = run_files_shortage(job->files);
    if (shortage[0] != '\0') {
        job->result->problems[PROBLEM_FILES].code = EXIT_CODE_OK; /* there may be more by now */
        result_add_problem(job->result, PROBLEM_FILES, EXIT_CODE_CLIENT_LIMIT,
                           "files are short: %.200s", shortage);
    }
}

/* Judges the outcome by what is known by now; where it has become another one the files tell it. A
 * run that was interrupted before is so in its own words. */
static void settle(struct job *job, bool was_interrupted, const char *text)
{
    struct result *result = job->result;
    const enum exit_code before = result->exit_code;
    char reason[sizeof result->exit_reason];
    if (was_interrupted && result->problems[PROBLEM_RUN].code != EXIT_CODE_INTERRUPTED) {
        result_add_problem(result, PROBLEM_INTERRUPTED, EXIT_CODE_INTERRUPTED, "%s", text);
    }
    memcpy(reason, result->exit_reason, sizeof reason);
    result_conclude(result);
    if (job->is_told && before == result->exit_code && strcmp(reason, result->exit_reason) == 0) {
        return;
    }
    const struct run_outcome outcome = {
        .plan = &job->plan, .table = &job->setup.table, .result = result, .search = job->search};
    job->is_told = run_files_write_outcome(job->files, &outcome);
    if (!job->is_told) {
        note_files(job);
        result_conclude(result);
    }
}

/* Of a file that the user named: `number` is 0 or errno. */
static void note_unwritten(struct result *result, enum problem_kind kind, const char *path,
                           int number)
{
    if (number != 0) {
        result_add_problem(result, kind, EXIT_CODE_CLIENT_LIMIT,
                           "'%.120s' could not be written: %s", path, strerror(number));
    }
}

/* The page shows the files, so they are written before it; a page or a JUnit file tells of all
 * problems but its own and later ones. */
static enum exit_code conclude(struct job *job)
{
    static const char late[] = "interrupted after the sessions had ended";
    static const char no_output[] = "standard output cannot be written: %s";
    const struct plan *plan = &job->plan;
    struct result *result = job->result;
    judge(job);
    run_files_finish(job->files, result);
    note_files(job);
    settle(job, interrupt_requested(), late);

    struct buffer text = {0};
    FILE *stream = buffer_open(&text);
    bool is_whole = stream != NULL;
    if (is_whole && plan->is_json) {
        is_whole = report_write_json(stream, plan, &job->setup.table, result, job->search);
    } else if (is_whole && job->search == NULL) {
        report_write_text(stream, plan, result, run_files_shortage(job->files));
    } else if (is_whole) {
        text_levels_write(stream, plan, result, job->search, run_files_shortage(job->files));
    }
    is_whole = stream != NULL && fclose(stream) == 0 && is_whole && !buffer_failed(&text);
    const int number = is_whole ? command_print(text.bytes, text.length) : ENOMEM;
    buffer_fini(&text);
    if (number != 0 && number != EINTR) {
        result_add_problem(result, PROBLEM_OUTPUT, EXIT_CODE_CLIENT_LIMIT, no_output,
                           strerror(number));
    }
    settle(job, number == EINTR || interrupt_requested(),
           number == EINTR ? "interrupted while the report was printed" : late);

    if (plan->is_report) {
        const bool is_silent = plan->is_json ||
                               result->problems[PROBLEM_OUTPUT].code != EXIT_CODE_OK ||
                               result->problems[PROBLEM_INTERRUPTED].code != EXIT_CODE_OK;
        struct error error = {.kind = ERROR_NONE};
        if (command_write_report(plan->out_folder, is_silent, &error) != EXIT_CODE_OK) {
            result_add_problem(result, PROBLEM_PAGE, EXIT_CODE_CLIENT_LIMIT,
                               "there is no report: %s", error.text);
        }
        if (fflush(stdout) != 0) {
            result_add_problem(result, PROBLEM_OUTPUT, EXIT_CODE_CLIENT_LIMIT, no_output,
                               strerror(errno));
        }
        settle(job, interrupt_requested(), late);
    }
    if (job->ycsb != NULL) {
        const int failure = close_named(&job->ycsb, ycsb_write(job->ycsb, plan, result));
        note_unwritten(result, PROBLEM_YCSB, plan->ycsb, failure);
        settle(job, interrupt_requested(), late);
    }
    if (job->junit != NULL) {
        const int failure = close_named(&job->junit, junit_write(job->junit, plan, result));
        note_unwritten(result, PROBLEM_JUNIT, plan->junit, failure);
    }
    settle(job, interrupt_close(), late);
    return result->exit_code == EXIT_CODE_OK
               ? EXIT_CODE_OK
               : command_say(result->exit_code, "%s", result->exit_reason);
}

enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error)
{
    code = code == EXIT_CODE_OK ? load(job, error) : code;
    if (code == EXIT_CODE_OK) {
        return conclude(job);
    }
    if (job->junit != NULL) {
        /* an empty file is no valid one either, and the run has failed already */
        (void)close_named(&job->junit,
                          junit_write_error(job->junit, &job->plan, code, error->text));
    }
    return command_refuse(job->plan.is_json, code, error);
}

void job_release(struct job *job)
{
    if (job->result != NULL) {
        session_list_free(job->result->session_list, job->result->session_count);
        event_list_fini(&job->result->events);
        recorder_snapshot_fini(&job->result->totals);
        result_free_hosts(job->result);
        causes_fini(&job->result->causes);
        free(job->result->datasets);
        free(job->result);
    }
    if (job->junit != NULL) {
        fclose(job->junit);
    }
    if (job->ycsb != NULL) {
        fclose(job->ycsb);
    }
    free(job->evidence);
    metrics_end(job->metrics, !job->has_begun);
    run_files_destroy(job->files, !job->has_begun);
    recorder_destroy(job->recorder);
    generator_destroy(job->generator);
    setup_fini(&job->setup);
    if (job->has_library) {
        setup_stop_library(job->library, &job->plan);
    }
    plan_fini(&job->plan);
}
