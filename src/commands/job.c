#include "commands/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "base/url.h"
#include "commands/command.h"
#include "load/fleet.h"
#include "load/search.h"
#include "load/server.h"
#include "load/verify.h"
#include "measure/verdict.h"
#include "plan/facts.h"
#include "plan/options.h"
#include "report/events.h"
#include "report/expectations.h"
#include "report/files.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/text.h"

enum {
    /* maximum bytes of the names of incomplete files in the exit reason */
    NAMES_SHOWN = 600
};

#define PAUSE_NS (100 * MONO_NS_PER_MS)

/* A search holds each number of sessions for a while. After that time a slow server has this much
 * time to answer the calls that are still running, one for each session. */
#define PATIENCE_NS (30 * MONO_NS_PER_S)

/* Functions of the sampler's thread. */

static void add_interval(struct job *job, const struct interval *interval)
{
    if (job->ranks != NULL) {
        merge_keep_interval(&job->exchange.intervals, interval);
    }
    run_files_add(job->files, CSV_INTERVALS, interval);
    for (size_t i = 0; i < interval->hosts; i++) {
        const struct host_interval host = {interval, job->result->hosts[i].name, i};
        run_files_add(job->files, CSV_HOSTS_INTERVALS, &host);
    }
    for (size_t i = OPERATIONS; i < interval->to->operations; i++) {
        const struct operation_interval operation = {interval, i};
        run_files_add(job->files, CSV_OPERATIONS_INTERVALS, &operation);
    }
}

static void add_wait(void *context, const struct wait_row *row)
{
    run_files_add(context, CSV_WAITS, row);
}

static void add_stage(struct job *job, const struct interval *stage)
{
    if (job->ranks != NULL) {
        merge_keep_interval(&job->exchange.intervals, stage);
    }
    result_add_stage(job->result, stage);
    run_files_add(job->files, CSV_STAGES, stage);
}

static void add_sample(struct job *job, const struct sample *sample)
{
    if (job->ranks != NULL) {
        merge_keep_sample(&job->exchange.samples, sample);
    }
    run_files_add(job->files, CSV_SAMPLES, sample);
}

static void show(struct job *job, const struct progress_state *now)
{
    metrics_update(job->metrics, now);
    if (job->live != NULL) {
        struct resource_summary resources;
        sampler_summarise(job->sampler, &resources);
        live_note(job->live, now, &resources, job->result);
    }
    if (job->search != NULL || job->plan->is_quiet) {
        return;
    }
    struct recorder_snapshot total = *now->total;
    struct interval interval = *now->interval;
    struct progress_state all = *now;
    if (job->ranks != NULL) {
        ranks_add_others(job->ranks, total.counters, interval.counters);
        interval.sessions_alive = total.counters[RECORDER_CONNECTIONS_OPENED] -
                                  total.counters[RECORDER_CONNECTIONS_CLOSED];
        all.total = &total;
        all.interval = &interval;
    }
    progress_show(&job->progress, &all);
}

/* Ends the run if a condition of --stop-when is true. Ignores the warm-up, and the interval in
 * which the last session finished. */
static void check_conditions(struct job *job, const struct sampler_turn *turn)
{
    const int64_t begin_ns = turn->work_start_ns + job->plan->warm_up_ns;
    if (turn->work_start_ns >= 0 && turn->interval.start_ns >= begin_ns &&
        turn->interval.sessions_working > 0 && !atomic_load(&job->has_condition) &&
        conditions_check(&job->conditions, &turn->interval, job->result->stop_condition)) {
        atomic_store(&job->has_condition, true);
    }
}

/* Runs the sampler's thread. The thread asks for the size of the tables only when the sessions are
 * connected and may begin, because the connection for this query could take the place of a session.
 * In each turn the thread shows progress last, so that the line includes this turn's sample. */
static void *measure(void *argument)
{
    struct job *job = argument;
    struct sampler_turn turn;
    struct sample sample = {.end_ns = 0};
    do {
        sampler_wait(job->sampler, &turn);
        if (turn.has_begun || (turn.is_sample_due && turn.work_start_ns >= 0)) {
            storage_watch_ask(job->storage);
        }
        if (turn.has_stage) {
            add_stage(job, &turn.stage);
        }
        if (turn.has_interval) {
            add_interval(job, &turn.interval);
            if (job->result->waits != NULL) {
                waits_take_interval(job->result->waits, turn.interval.start_ns,
                                    turn.interval.end_ns, add_wait, job->files);
            }
            check_conditions(job, &turn);
        }
        if (turn.is_sample_due && sampler_read(job->sampler, &sample)) {
            sample.table_bytes = storage_watch_take(job->storage);
            add_sample(job, &sample);
        }
        if (turn.has_interval) {
            const struct progress_state now = {.interval = &turn.interval,
                                               .sample = sample.end_ns > 0 ? &sample : NULL,
                                               .total = turn.total,
                                               .work_start_ns = turn.work_start_ns,
                                               .waits = job->result->waits,
                                               .is_steered = control_has_steered(job->control)};
            show(job, &now);
        }
    } while (!turn.is_last);
    return NULL;
}

/* Returns the number of rows in all tables before the run. If all known hosts have the same number
 * of rows, assumes that the hosts are one database, and counts the rows only once. */
static uint64_t rows_before(const struct setup *setup)
{
    uint64_t sum = 0, at_first = 0;
    bool are_alike = true, has_first = false;
    for (size_t h = 0; h < setup->host_count; h++) {
        const struct setup_host *host = &setup->hosts[(setup->host + h) % setup->host_count];
        uint64_t rows = 0;
        if (!host->is_known) {
            continue;
        }
        for (size_t i = 0; i < setup->table_count; i++) {
            rows += host->rows_before[i];
        }
        at_first = has_first ? at_first : rows;
        has_first = true;
        are_alike = are_alike && rows == at_first;
        sum += rows;
    }
    return are_alike ? at_first : sum;
}

/* Returns whether the path of the server's data directory is known and the directory is on this
 * machine. */
static bool knows_directory(const struct setup *setup, const struct plan *plan)
{
    return setup->storage.directory[0] != '\0' &&
           (plan->host_count == 0 || address_is_local(plan->hosts[setup->host].name));
}

/* Starts the sampler and its thread. `start_ns` is the start of a run with several ranks. The
 * caller must call end_measuring, whatever code this function returns. */
static enum exit_code begin_measuring(struct job *job, int64_t start_ns, struct error *error)
{
    const struct plan *plan = job->plan;
    const struct setup *setup = &job->setup;
    const char *known_directory = knows_directory(setup, plan) ? setup->storage.directory : NULL;
    const struct sampler_config config = {
        .sample_interval_ns = plan->sample_interval_ns,
        .run_start_ns = job->ranks == NULL ? 0 : start_ns,
        .server = job_select_server(job),
        .recorder = job->recorder,
        .directory = plan->data_directory != NULL ? plan->data_directory : known_directory,
        .is_working_directory = setup->storage.is_working_directory,
        /* only rank 0 adds these rows, so that the sum over all ranks counts them once */
        .rows_before = plan->is_follower ? 0 : rows_before(setup),
        .stages = plan_stages(plan),
        .warm_up_ns = plan->warm_up_ns,
    };
    /* with a connection pooler the watch would occupy a server session that the run needs */
    if (job->search == NULL && !plan->is_follower && !setup->server.is_pooled) {
        job->storage = storage_watch_start(&setup->storage, plan, setup->host);
    }
    job->sampler = sampler_start(&config, error);
    if (job->sampler == NULL) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const int failure = thread_start(&job->measuring, 0, measure, job);
    job->is_measuring = failure == 0;
    if (!job->is_measuring) {
        error_set(error, ERROR_SYSTEM, failure, NULL,
                  "cannot start the thread that measures CPU and memory: %s", strerror(failure));
    }
    return job->is_measuring ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

/* Takes the last interval and the last sample, and stops the sampler. */
static void end_measuring(struct job *job)
{
    if (job->is_measuring) {
        sampler_wake(job->sampler, SAMPLER_STOP);
        pthread_join(job->measuring, NULL);
        job->is_measuring = false;
    }
    sampler_end(job->sampler, &job->result->resources);
}

/* Functions of the main thread while sessions are connected. */

static void on_shortage(void *context)
{
    struct job *job = context;
    if (job->evidence != NULL) {
        evidence_capture(job->evidence);
    }
}

/* Adds a note on how many servers the server's figures include, unless the figures already have a
 * note. */
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

/* Adds a note on why the size of the tables is unknown. */
static void add_storage_note(struct io_description *io, const char *note)
{
    const size_t used = strlen(io->note);
    if (note[0] != '\0') {
        snprintf(io->note + used, sizeof io->note - used, "%s%s", used > 0 ? "; " : "", note);
    }
}

static void end_trace(struct job *job)
{
    struct trace_sum *sum = job->result->trace;
    if (job->tracer != NULL) {
        const struct trace_counters before = sum->before;
        struct trace_counters after;
        server_count_io(&job->setup, job->plan, &after);
        trace_end(job->tracer, sum);
        sum->before = before;
        sum->after = after;
        if (sum->csv_errno != 0) {
            run_files_mark_short(job->files, FILE_IO, sum->csv_errno, NULL);
        }
    } else if (sum != NULL) {
        snprintf(sum->note, sizeof sum->note, "%s", job->trace_note);
    }
}

static void on_gate(void *context, int64_t go_ns)
{
    struct job *job = context;
    trace_note_gate(job->tracer, go_ns);
    switch_tracer_begin(job->switches, go_ns + job->plan->warm_up_ns);
    if (job->search == NULL) { /* a search polls during its holds */
        wait_watch_begin(job->waits, go_ns + job->plan->warm_up_ns);
    }
    control_open(job->control, job->load);
}

static void on_done(void *context, int64_t done_ns)
{
    struct job *job = context;
    trace_note_done(job->tracer, done_ns);
    switch_tracer_end(job->switches, done_ns);
    wait_watch_end(job->waits);
    control_close(job->control);
    live_end_run(job->live);
}

/* Writes the rows of the log of transactions, on a thread of its own, until the log ends. */
static void *write_log(void *argument)
{
    struct job *job = argument;
    struct transaction_log_counts *counts = &job->result->log;
    struct transaction_log_row rows[TRANSACTION_LOG_CHUNK];
    bool is_ending;
    do {
        is_ending = transaction_log_wait(job->log);
        size_t taken;
        while ((taken = transaction_log_take(job->log, rows)) > 0) {
            const size_t written = run_files_add_logged(job->files, rows, taken);
            counts->written += written;
            counts->missing += taken - written;
        }
    } while (!is_ending);
    return NULL;
}

/* Starts the log of transactions if the plan asks for it. The caller must call end_log, whatever
 * code this function returns. */
static enum exit_code begin_log(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    if (plan->log_share <= 0) {
        return EXIT_CODE_OK;
    }
    job->log = transaction_log_create(plan->log_share, plan->facts->seed, plan->sessions);
    const int failure = job->log == NULL ? ENOMEM : thread_start(&job->logging, 0, write_log, job);
    job->is_logging = failure == 0;
    if (!job->is_logging) {
        error_set(error, ERROR_SYSTEM, failure, NULL,
                  "the log of transactions cannot be started: %s", strerror(failure));
    }
    return job->is_logging ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

/* Writes the rest of the log, and notes how many rows are missing from it. */
static void end_log(struct job *job)
{
    struct transaction_log_counts *counts = &job->result->log;
    if (job->is_logging) {
        transaction_log_end(job->log);
        pthread_join(job->logging, NULL);
        job->is_logging = false;
        counts->missing += transaction_log_dropped(job->log);
    }
    transaction_log_destroy(job->log);
    job->log = NULL;
    if (counts->missing > 0) {
        run_files_note_missing(job->files, counts->missing);
    }
}

/* Starts the tracer that measures in the kernel what the server's threads wait for. */
static enum exit_code begin_kernel_waits(struct job *job, struct error *error)
{
    const struct server_selector server = job_select_server(job);
    struct result *result = job->result;
    result->kernel_waits = calloc(1, sizeof *result->kernel_waits);
    if (result->kernel_waits == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL,
                  "out of memory for the times of the server's threads");
    } else if (switch_tracer_create(&job->switches, &server, error) == STATUS_OK) {
        return EXIT_CODE_OK;
    }
    free(result->kernel_waits);
    result->kernel_waits = NULL;
    return EXIT_CODE_CLIENT_LIMIT;
}

static void end_kernel_waits(struct job *job)
{
    if (job->switches != NULL) {
        switch_tracer_read(job->switches, job->result->kernel_waits);
    }
    switch_tracer_destroy(job->switches);
    job->switches = NULL;
}

/* Starts to measure what the sessions wait for at the server, if the plan asks for it. Must be
 * called before the sampler's thread starts, because that thread reads the measured waits. */
static enum exit_code begin_waits(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    struct result *result = job->result;
    if (plan->waits == WAITS_OFF || plan->is_follower) {
        return EXIT_CODE_OK;
    }
    if (plan->waits == WAITS_KERNEL) {
        return begin_kernel_waits(job, error);
    }
    memcpy(result->waits_note, job->setup.waits_note, sizeof result->waits_note);
    /* --waits=try: the run continues without polls of the server's sessions */
    if (result->waits_note[0] != '\0') {
        if (job->search == NULL && begin_kernel_waits(job, error) != EXIT_CODE_OK) {
            const size_t used = strlen(result->waits_note);
            snprintf(result->waits_note + used, sizeof result->waits_note - used, "; %s",
                     error->text);
            error_clear(error);
        }
        return EXIT_CODE_OK;
    }
    result->waits =
        waits_create(recorder_sessions(job->recorder), recorder_operations(job->recorder),
                     job->setup.connection.waits->meanings);
    if (result->waits == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the polls of --waits");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    job->waits = wait_watch_start(result->waits, &job->setup, plan, job->recorder, error);
    if (job->waits != NULL) {
        return EXIT_CODE_OK;
    }
    if (plan->waits != WAITS_TRY) {
        error_prefix(error, "--waits: the server's sessions cannot be polled");
        return EXIT_CODE_SERVER;
    }
    snprintf(result->waits_note, sizeof result->waits_note, "%s", error->text);
    error_clear(error);
    waits_destroy(result->waits);
    result->waits = NULL;
    return EXIT_CODE_OK;
}

enum exit_code job_load(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    const struct setup *setup = &job->setup;
    struct result *result = job->result;
    const int64_t start_ns = ranks_agree_start(job->ranks);
    /* clear the pointer with which the set-up shows the other ranks that this rank is alive: during
     * a run all ranks send messages all the time */
    job->setup.ranks = NULL;
    if (start_ns == 0) {
        return ranks_report_loss(job->ranks, error);
    }
    progress_init(&job->progress, STDERR_FILENO, plan);
    /* an engine without transactions knows its number of rows, so count(*) is fast */
    if (job->search == NULL && (plan->adapter->flags & ADAPTER_DISCARDS) == 0 &&
        !ask_keeps_failed_rows(&setup->connection.facts, &setup->own->table)) {
        progress_announce(&job->progress, *setup_rows_before(setup, setup->own),
                          setup->is_remote ? 0 : setup->count_ns);
    }
    enum exit_code code = begin_waits(job, error);
    code = code == EXIT_CODE_OK ? begin_measuring(job, start_ns, error) : code;
    code = code == EXIT_CODE_OK ? begin_log(job, error) : code;
    if (code == EXIT_CODE_OK && setup->connection.is_embedded) {
        code = job_start_trace(job, error);
    }
    if (code != EXIT_CODE_OK) {
        end_log(job);
        end_measuring(job);
        end_kernel_waits(job);
        wait_watch_stop(job->waits);
        storage_watch_stop(job->storage);
        return code;
    }
    trace_note_start(job->tracer, sampler_run_start_ns(job->sampler));
    int64_t left_ns;
    while ((left_ns = sampler_run_start_ns(job->sampler) - mono_now_ns()) > 0 &&
           !interrupt_requested()) {
        mono_sleep(left_ns < PAUSE_NS ? left_ns : PAUSE_NS);
    }
    result->started_wall_ns = mono_wall_ns();
    result->start_mono_ns = sampler_run_start_ns(job->sampler);
    struct load load = {
        .plan = plan,
        .setup = setup,
        .generator = job->generator,
        .recorder = job->recorder,
        .metrics = job->values,
        .sampler = job->sampler,
        .start_ns = result->start_mono_ns,
        .log = job->log,
        .ranks = job->ranks,
        .on_shortage = on_shortage,
        .on_gate = on_gate,
        .on_done = on_done,
        .context = job,
        .cut = &job->cut,
        .has_condition = &job->has_condition,
    };
    const struct search_task task = {
        .search = job->search,
        .patience_ns = PATIENCE_NS,
        .on_begin = job->on_begin,
        .on_level = job->on_level,
        .waits = job->waits,
        .waited = result->waits,
    };
    job->load = &load;
    const enum status status = job->search == NULL ? fleet_run(&load, result, error)
                                                   : search_run(&load, &task, result, error);
    end_kernel_waits(job);
    wait_watch_stop(job->waits);
    job->load = NULL;
    control_close(job->control);
    control_take(job->control, result);
    live_end_run(job->live);
    end_measuring(job);
    end_log(job);
    end_trace(job);
    storage_watch_stop(job->storage);
    add_storage_note(&result->resources.io_of, setup->storage.note);
    note_servers(&result->resources, job->ranks == NULL ? plan->host_count : job->place_count,
                 /* other ranks may measure the hosts that are not on this machine */
                 job->place_count);
    progress_end(&job->progress);
    if (status != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    job->has_begun = true;
    for (unsigned i = 0; i < result->host_count; i++) {
        struct host_result *host = &result->hosts[i];
        host->counters =
            plan->host_count > 0 ? result->totals.hosts_counters[i] : result->totals.counters;
        host->elapsed_ns = result->elapsed_ns;
        host->measured_ns = result->measured_ns;
        for (size_t operation = 0; operation < OPERATIONS; operation++) {
            host->latencies[operation] = recorder_latency_at(job->recorder, i, operation);
        }
    }
    snprintf(result->metrics_note, sizeof result->metrics_note, "%s",
             metrics_finish(job->metrics, &result->totals));
    return EXIT_CODE_OK;
}

void job_find_limits(struct job *job)
{
    struct error error = {.kind = ERROR_NONE};
    struct setup inquiry;
    if (job->evidence == NULL) {
        return;
    }
    if (evidence_needs_settings(job->result) &&
        setup_query_limits(&inquiry, job->plan, job->ranks, &error) == EXIT_CODE_OK) {
        job->evidence->server_after = inquiry.server;
        job->evidence->has_server_after = true;
    } /* without an answer the settings stay unknown; verification will report that the server does
         not answer */
    evidence_find_limits(job->evidence, job->result, &job->result->findings);
}

struct judge_context job_judge_context(const struct job *job)
{
    const struct setup *setup = &job->setup;
    const struct trace_sum *trace = job->result->trace;
    uint64_t all_counted = 0, all_traced = 0;
    for (size_t i = 0; trace != NULL && i < trace->after.count; i++) {
        uint64_t counted, traced;
        if (trace_compare(trace, i, &counted, &traced)) {
            all_counted += counted;
            all_traced += traced;
        }
    }
    const struct plan *plan = job->plan;
    const bool is_random = plan->arrival_mode == ARRIVALS_POISSON;
    double rate =
        job->search == NULL ? ramp_mean(&plan->rate, plan->warm_up_ns, job->result->append_ns) : 0;
    rate = result_count_steered(job->result) > 0 ? job->result->changed_rate : rate;
    uint64_t rated_done = 0;
    for (size_t i = 0; plan->has_group_rates && i < plan->script->transaction_count; i++) {
        const struct script_transaction *transaction = &plan->script->transactions[i];
        const struct recorder_snapshot *totals = &job->result->totals;
        const size_t operation = OPERATIONS + transaction->operation;
        rate += transaction->rate;
        if (transaction->rate > 0) {
            rated_done += recorder_count_of(totals, operation, COUNT_COMMITTED) +
                          recorder_count_of(totals, operation, COUNT_ROLLED_BACK);
        }
    }
    return (struct judge_context){
        .arrivals_per_s =
            is_random ? rate / (plan->script != NULL ? 1 : (double)plan->batch_rows) : 0,
        .is_embedded = setup->connection.is_embedded,
        .is_local = !setup->is_remote,
        .rate_rows_per_s = rate,
        .has_group_rates = plan->has_group_rates,
        .rated_done = rated_done,
        .out_folder = job->plan->out_folder,
        .has_script = job->plan->script != NULL,
        .keeps_nothing = (job->plan->adapter->flags & ADAPTER_DISCARDS) != 0,
        .max_failed = job->plan->max_failed,
        .max_failed_percent = job->plan->max_failed_percent,
        .traced =
            trace == NULL || trace->level == IO_TRACE_OFF ? NULL : io_trace_words[trace->level],
        .untraced = all_traced == 0 ? all_counted : 0,
        .was_interrupted = interrupt_requested() && !ranks_may_signal(job->ranks),
        .was_signalled = interrupt_requested(),
    };
}

/* Verifies and judges the result. Counts the rows, unless `why_not` has a reason for not counting
 * them; else `why_not` is NULL. */
static void judge(struct job *job, const char *why_not)
{
    struct result *result = job->result;
    struct search *search = job->search;
    struct error error = {.kind = ERROR_NONE};
    job_note_connection(job, result);
    if (search == NULL && job->ranks == NULL) {
        /* a search finds the limits of each level, and with ranks each rank finds its own limits */
        job_find_limits(job);
    }
    if (why_not != NULL) {
        verify_skip(job->plan, result, why_not);
    } else {
        job->setup.cut = &job->cut;
        verify_result(&job->setup, job->plan, result);
        result->sessions_ended = job->cut.ended;
    }
    const struct judge_context context = job_judge_context(job);
    result_judge(result, &context);
    if (search != NULL) {
        char change[RESULT_CHANGE_BYTES];
        /* the figures of an INVALID run describe this machine, not the server */
        if (result->verdict == VERDICT_INVALID) {
            snprintf(search->figures_note, sizeof search->figures_note,
                     "rows/s and latencies do not describe the server: %.180s",
                     result->verdict_reason);
        } else if (result_describe_change(result, change)[0] != '\0') {
            snprintf(search->figures_note, sizeof search->figures_note,
                     "the levels cannot be compared: %.190s", change);
        }
        search_judge(search, result, &context);
        return;
    }
    /* read the events that the user has written to the run's folder */
    error_clear(&error);
    event_list_fini(&result->events); /* drop the events that an earlier call read */
    if (events_read(&result->events, job->plan->out_folder, result->started_wall_ns, &error) !=
        STATUS_OK) {
        snprintf(result->events.note, sizeof result->events.note, "%.190s", error.text);
    }
}

void job_add_file_problems(struct job *job)
{
    struct result *result = job->result;
    const char *shortage = run_files_shortage(job->files);
    result->problems[PROBLEM_FILES].code = EXIT_CODE_OK; /* more or fewer files may be short now */
    if (shortage[0] != '\0') {
        result_add_problem(result, PROBLEM_FILES, EXIT_CODE_CLIENT_LIMIT,
                           "files are incomplete: %.*s%s", NAMES_SHOWN, shortage,
                           strlen(shortage) > NAMES_SHOWN ? "..." : "");
        result_set_exit(result);
    }
    if (job->search == NULL) {
        result->problems[PROBLEM_EXPECTATION].code = EXIT_CODE_OK;
        expectations_judge(&job->expectations, job->plan, result);
        result->expectations = &job->expectations;
    }
}

void job_update_outcome(struct job *job, bool was_interrupted, const char *text)
{
    struct result *result = job->result;
    const enum exit_code before = result->exit_code;
    char reason[sizeof result->exit_reason];
    if (was_interrupted && !ranks_may_signal(job->ranks) &&
        result->problems[PROBLEM_RUN].code != EXIT_CODE_INTERRUPTED) {
        result_add_problem(result, PROBLEM_INTERRUPTED, EXIT_CODE_INTERRUPTED, "%s",
                           result->stop_reason == STOP_RANK ? "interrupted" : text);
    }
    memcpy(reason, result->exit_reason, sizeof reason);
    result_set_exit(result);
    if (job->is_written && before == result->exit_code &&
        strcmp(reason, result->exit_reason) == 0) {
        return;
    }
    const struct run_outcome outcome = {.plan = job->plan,
                                        .table = &job->setup.own->table,
                                        .result = result,
                                        .search = job->search};
    const bool was_outdated = job->is_outdated;
    job->is_written = run_files_write_outcome(job->files, &outcome);
    if (job->is_written && was_outdated) {
        /* the outcome that was just written still reports incomplete files */
        job_add_file_problems(job);
        result_set_exit(result);
        job->is_written = run_files_write_outcome(job->files, &outcome);
    }
    job->is_outdated = !job->is_written;
    if (job->is_outdated) {
        job_add_file_problems(job);
        result_set_exit(result);
    }
}

/* Adds a problem if a file that an option names could not be written. `number` is the errno of the
 * failure, or 0 for success. */
static void note_unwritten(struct result *result, enum problem_kind kind, const char *path,
                           int number)
{
    if (number != 0) {
        result_add_problem(result, kind, EXIT_CODE_CLIENT_LIMIT,
                           "'%.120s' could not be written: %s", path, strerror(number));
    }
}

/* Writes the files before the HTML page, because the page shows their data. The page and the JUnit
 * file list only the problems that were found before them. */
enum exit_code job_report(struct job *job)
{
    static const char late[] = "interrupted after the sessions had ended";
    static const char no_output[] = "standard output cannot be written: %s";
    const struct plan *plan = job->plan;
    struct result *result = job->result;
    const bool are_signalled = ranks_may_signal(job->ranks);
    if (job->ranks != NULL && interrupt_requested()) {
        /* mpirun will kill this program soon: write what is known before counting rows */
        judge(job, are_signalled ? "a rank was lost, and mpirun is ending the other ranks"
                                 : "mpirun ended this program before the rows were counted");
        job_add_file_problems(job);
        job_update_outcome(job, true, late);
        job->is_written = false; /* the final outcome follows below */
    }
    if (!are_signalled) {
        judge(job, NULL);
    }
    run_files_finish(job->files, result);
    job_add_file_problems(job);
    job_update_outcome(job, interrupt_requested(), late);

    struct buffer text = {0};
    FILE *stream = buffer_open(&text);
    bool is_whole = stream != NULL;
    if (is_whole && plan->is_json) {
        is_whole = report_write_json(stream, plan, &job->setup.own->table, result, job->search);
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
    job_update_outcome(job, number == EINTR || interrupt_requested(),
                       number == EINTR ? "interrupted while the report was printed" : late);

    if (plan->is_report) {
        const bool is_silent = plan->is_json ||
                               result->problems[PROBLEM_OUTPUT].code != EXIT_CODE_OK ||
                               result->problems[PROBLEM_INTERRUPTED].code != EXIT_CODE_OK;
        struct error error = {.kind = ERROR_NONE};
        if (command_write_report(plan->out_folder, is_silent, &error) != EXIT_CODE_OK) {
            result_add_problem(result, PROBLEM_PAGE, EXIT_CODE_CLIENT_LIMIT,
                               "the report was not written: %s", error.text);
        }
        if (fflush(stdout) != 0) {
            result_add_problem(result, PROBLEM_OUTPUT, EXIT_CODE_CLIENT_LIMIT, no_output,
                               strerror(errno));
        }
        job_update_outcome(job, interrupt_requested(), late);
    }
    if (job->ycsb != NULL) {
        const int failure = report_close_file(&job->ycsb, ycsb_write(job->ycsb, plan, result));
        note_unwritten(result, PROBLEM_YCSB, plan->ycsb, failure);
        job_update_outcome(job, interrupt_requested(), late);
    }
    if (job->junit != NULL) {
        const int failure = report_close_file(&job->junit, junit_write(job->junit, plan, result));
        note_unwritten(result, PROBLEM_JUNIT, plan->junit, failure);
    }
    job_update_outcome(job, interrupt_close(), late);
    live_show_outcome(job->live, plan->out_folder);
    job->is_joined = run_files_shortage(job->files)[0] == '\0' && job->is_written;
    return result->exit_code == EXIT_CODE_OK
               ? EXIT_CODE_OK
               : command_say(result->exit_code, "%s", result->exit_reason);
}

void job_release(struct job *job)
{
    const bool is_in_use = job->result != NULL && job->result->sessions_left > 0;
    live_end(job->live);
    control_destroy(job->control);
    result_free(job->result);
    if (job->junit != NULL) {
        fclose(job->junit);
    }
    if (job->ycsb != NULL) {
        fclose(job->ycsb);
    }
    free(job->evidence);
    trace_destroy(job->tracer);
    metrics_end(job->metrics, !job->has_begun);
    run_files_destroy(job->files, !job->has_begun);
    recorder_destroy(job->recorder);
    metric_store_destroy(job->values);
    generator_destroy(job->generator);
    free(job->cut.entries);
    setup_fini(&job->setup);
    if (job->has_library) {
        setup_stop_library(job->plan);
    }
    (is_in_use ? plan_fini_in_use : plan_fini)(&job->given);
    rank_exchange_fini(&job->exchange);
}
