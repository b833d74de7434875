#include "commands/job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "base/url.h"
#include "load/server.h"
#include "load/setup_describe.h"
#include "load/verify.h"
#include "measure/procfs.h"
#include "measure/server_find.h"
#include "plan/facts.h"
#include "report/check.h"
#include "report/files.h"
#include "report/metrics.h"
#include "report/progress.h"
#include "trace/kernel.h"

#define ROOM_LIMIT_NS (2 * MONO_NS_PER_S)
#define ROOM_PAUSE_NS (100 * MONO_NS_PER_MS)

enum {
    /* files to allow for while sessions connect, in addition to the files that stay open */
    SPARE_FILES = 64,
    SHARDS_MIN = 8,
    MADE_LINE_BYTES = 400,
    VERSION_BYTES = 120,
};

enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error)
{
    return report_open_file(&job->junit, "junit", job->plan->junit, may_wait, error);
}

/* Refuses a run that is certain to hit a limit. Sets *first to the limit that is reached first, or
 * to NULL. */
static enum exit_code judge_limits(const struct plan *plan, const struct limit_list *list,
                                   const struct limit **first, struct error *error)
{
    const uint64_t fitting = limits_sessions(list, false, first);
    const uint64_t all = plan_sessions_all(plan);
    if (*first == NULL || fitting >= (plan->has_min_sessions ? plan->min_sessions : all)) {
        return EXIT_CODE_OK;
    }
    char line[CHECK_LINE_BYTES];
    check_describe_fit(all, fitting, *first, line);
    error_set(error, ERROR_LIMIT, 0, NULL, "%s: see append check, or run anyway with --no-check",
              line);
    return (*first)->side == LIMIT_CLIENT ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER;
}

/* Checks the limits of the server and the database, after the set-up has connected. If the server
 * is full, checks again for 2 s, or longer with --wait: sessions of an earlier run may have just
 * disconnected, and the server needs some time to notice this. */
static enum exit_code check_server(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
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
        if (code == EXIT_CODE_OK || !may_get_room || mono_now_ns() >= limit_ns) {
            return code;
        }
        if (interrupt_requested()) {
            error_clear(error);
            error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted before the first session");
            return EXIT_CODE_INTERRUPTED;
        }
        mono_sleep(ROOM_PAUSE_NS);
        error_clear(error);
        struct setup inquiry;
        if (setup_query_limits(&inquiry, plan, job->ranks, &(struct error){.kind = ERROR_NONE}) ==
            EXIT_CODE_OK) {
            job->setup.server = inquiry.server;
        }
    }
}

enum exit_code job_begin_client(struct container *container, const struct plan *plan,
                                struct facts *facts, struct error *error)
{
    const enum exit_code code = container_find(container, plan, error);
    if (code == EXIT_CODE_OK && plan->container != NULL) {
        facts->server_pid = container->pid;
        facts->server_cgroup = container->cgroup[0] == '\0' ? NULL : container->cgroup;
    }
    return code == EXIT_CODE_OK ? setup_start_library(facts, plan, error) : code;
}

enum exit_code job_begin_trace(struct tracer **tracer, const struct plan *plan, char *note,
                               struct error *error)
{
    *tracer = NULL;
    if (plan->io_trace == IO_TRACE_OFF ||
        trace_create(tracer, plan->io_trace, error) == STATUS_OK) {
        return EXIT_CODE_OK;
    }
    if (plan->io_trace != IO_TRACE_TRY) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    snprintf(note, ERROR_TEXT_BYTES, "%s", error->text);
    error_clear(error);
    return EXIT_CODE_OK;
}

/* Finds which hosts of the URL are on this machine. */
static void find_servers(struct job *job)
{
    const struct plan *plan = job->plan;
    job->place_count = 0;
    for (size_t i = 0; i < plan->host_count; i++) {
        const struct url_host *host = &plan->hosts[i];
        if (address_is_local(host->name)) {
            const bool is_socket = host->name[0] == '/' || host->name[0] == '@';
            job->places[job->place_count++] =
                (struct server_place){.port = host->port, .socket = is_socket ? host->name : NULL};
        }
    }
}

/* Returns whether this rank measures the server's processes. It does if it is the first rank on its
 * machine and if, according to the plan, the server may be on this machine. */
static bool measures_server(struct job *job)
{
    const struct plan *plan = job->plan;
    struct connection_info named = {.host = ""};
    target_fill_connection(plan, &named);
    find_servers(job);
    const bool is_here = plan->host_count > 0 ? job->place_count > 0 : address_is_local(named.host);
    return ranks_is_first_here(job->ranks) && !named.is_embedded &&
           (is_here || plan->container != NULL || plan->server_pid > 0 ||
            plan->server_cgroup != NULL);
}

/* Checks --server-pid. The process that listens on the port, if it is visible, must be the given
 * process or a relative of it. Does not check this if a program that forwards connections listens
 * on the port. */
static enum exit_code check_server_pid(const struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    struct connection_info named = {.host = ""};
    struct procfs_process holder;
    target_fill_connection(plan, &named);
    if (plan->server_pid == 0 || plan->container != NULL || plan->is_server_pid_forced ||
        named.is_embedded || plan->host_count > 0 || !address_is_local(named.host)) {
        return EXIT_CODE_OK;
    }
    const char *const path = named.host[0] == '/' ? named.host : NULL;
    const bool is_other = server_is_other(named.port, path, plan->server_pid, &holder);
    return is_other ? usage_refuse(error,
                                   "--server-pid %d is not the server: port %u is held by %s (pid "
                                   "%d): leave the option out, or write --server-pid %d! to "
                                   "measure the process that you named",
                                   (int)plan->server_pid, (unsigned)named.port, holder.name,
                                   (int)holder.pid, (int)plan->server_pid)
                    : EXIT_CODE_OK;
}

/* Loads the tracer. Must be called before the first change to the server. */
static enum exit_code load_tracer(struct job *job, struct error *error)
{
    struct ranks *ranks = job->ranks;
    if (job->plan->io_trace == IO_TRACE_OFF || (ranks != NULL && !measures_server(job))) {
        return EXIT_CODE_OK;
    }
    ranks_set_tracing(ranks);
    const enum exit_code code = job_begin_trace(&job->tracer, job->plan, job->trace_note, error);
    if (code != EXIT_CODE_OK) {
        ranks_prefix_error(job->ranks, error);
    }
    return code;
}

/* Checks that this machine allows --waits=kernel. Must be called before the first change to the
 * server. */
static enum exit_code check_kernel_waits(const struct job *job, struct error *error)
{
    return job->plan->waits == WAITS_KERNEL && !job->plan->is_follower &&
                   kernel_allows(SWITCHES_OPTION, error) != STATUS_OK
               ? EXIT_CODE_CLIENT_LIMIT
               : EXIT_CODE_OK;
}

/* Checks on rank 0, if the plan asks for a trace, that at least one rank traces. */
static enum exit_code check_traced(struct job *job, struct error *error)
{
    const enum io_trace level = job->plan->io_trace;
    if (level == IO_TRACE_OFF || job->plan->is_follower || ranks_is_any_tracing(job->ranks)) {
        return EXIT_CODE_OK;
    }
    snprintf(
        job->trace_note, sizeof job->trace_note,
        "--io-trace: no rank is on the server's machine: start a rank there (--sample-only HOST)");
    if (level != IO_TRACE_TRY) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%s", job->trace_note);
    }
    return level == IO_TRACE_TRY ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

/* Writes the version of the client library to `text`, or "" if the adapter has no client library,
 * and returns `text`. The caller checks that all ranks have the same version. */
static const char *client_version(const struct plan *plan, char *text, size_t size)
{
    text[0] = '\0';
    if (plan->adapter->client_version != NULL) {
        plan->adapter->client_version(text, size);
    }
    return text;
}

/* Checks the limits of this machine. Must be called before files and connections are opened. */
static enum exit_code check_machine(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    struct limits_question question;
    limits_question_init(&question, plan, NULL, NULL);
    /* the JUnit file is open already */
    question.other_files += run_files_count_open(plan) - (job->junit != NULL ? 1 : 0);
    limits_allow_files(&question, SPARE_FILES);
    if (plan->is_unchecked) {
        return EXIT_CODE_OK;
    }
    struct limit_list list;
    const struct limit *first;
    limits_read(&question, &list);
    return judge_limits(plan, &list, &first, error);
}

/* Starts the client library, and opens all output files. */
static enum exit_code open_here(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    enum exit_code code = job_begin_client(&job->container, plan, &job->facts, error);
    job->has_library = code == EXIT_CODE_OK;
    if (code == EXIT_CODE_OK) {
        code = run_files_create(&job->files, plan, error);
    }
    if (code == EXIT_CODE_OK) {
        code = metrics_begin(&job->metrics, plan, error);
    }
    if (code == EXIT_CODE_OK && plan->is_control) {
        job->control = control_create(plan);
        if (job->control == NULL) {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for --control");
            code = EXIT_CODE_CLIENT_LIMIT;
        }
    }
    if (code == EXIT_CODE_OK) {
        code = live_begin(&job->live, plan, job->control, error);
    }
    if (code == EXIT_CODE_OK) {
        code = job_open_junit(job, false, error);
    }
    if (code == EXIT_CODE_OK) {
        code = report_open_file(&job->ycsb, "ycsb-out", plan->ycsb, false, error);
    }
    if (code == EXIT_CODE_OK) {
        live_announce(job->live);
    }
    return code;
}

static void gather_limits(struct job *job)
{
    limits_question_init(&job->question, job->plan, &job->setup.connection, &job->setup.server);
    job->question.is_remote = job->setup.is_remote;
    find_servers(job);
    job->question.places = job->places;
    job->question.place_count = job->place_count;
}

enum exit_code job_prepare_tables(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                                  struct error *error)
{
    struct load_progress progress;
    struct load_counts counts;
    const enum exit_code code = setup_prepare(setup, plan, ranks, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    load_progress_init(&progress, plan);
    while (setup_wait(setup, &counts)) {
        load_progress_show(&progress, &counts);
    }
    load_progress_end(&progress);
    return setup_complete(setup, plan, error);
}

static enum exit_code prepare_tables(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    enum exit_code code = job_prepare_tables(&job->setup, plan, job->ranks, error);
    if (code == EXIT_CODE_OK && job->setup.made.load_ns > 0 && !plan->is_quiet) {
        char line[MADE_LINE_BYTES];
        setup_describe_made(&job->setup, plan, line, sizeof line);
        notice_print("%s", line);
    }
    if (code == EXIT_CODE_OK) {
        gather_limits(job);
        code = check_server(job, error);
    }
    return code == EXIT_CODE_OK ? verify_prepare(&job->setup, plan, &job->facts, error) : code;
}

/* Sends the facts about the prepared tables from rank 0 to the other ranks, which then open the
 * tables. */
static enum exit_code share_tables(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    struct buffer found = {0};
    enum exit_code code = EXIT_CODE_OK;
    if (!plan->is_follower) {
        setup_pack(&job->setup, plan, &found);
    }
    if (!ranks_give_text(job->ranks, &found)) {
        code = EXIT_CODE_INTERRUPTED;
    } else if (plan->is_follower) {
        code = job_prepare_tables(&job->setup, plan, job->ranks, error);
        if (code == EXIT_CODE_OK) {
            setup_unpack(&job->setup, &job->facts, buffer_text(&found));
        }
        gather_limits(job);
    }
    buffer_fini(&found);
    return code;
}

static bool has_metrics_of_script(const struct job *job)
{
    return job->search == NULL && job->plan->script != NULL && job->plan->script->metric_count > 0;
}

/* Makes an empty result for the run. Returns NULL if memory runs out. */
static struct result *make_result(const struct job *job)
{
    const struct plan *plan = job->plan;
    struct result *result = calloc(1, sizeof *result);
    if (result == NULL) {
        return NULL;
    }
    causes_init(&result->causes);
    const bool has_tables = result_allocate_tables(result, job->setup.host_count,
                                                   job->setup.table_count, plan->script != NULL);
    for (unsigned i = 0; has_tables && i < plan->host_count; i++) {
        struct host_result *host = &result->hosts[i];
        target_name_host(plan, i, host->name, sizeof host->name);
    }
    if (!has_tables ||
        !recorder_snapshot_init(&result->totals, recorder_operations(job->recorder)) ||
        (plan->host_count > 0 && !recorder_snapshot_add_hosts(&result->totals, plan->host_count))) {
        result_free(result);
        return NULL;
    }
    return result;
}

void job_note_connection(const struct job *job, struct result *result)
{
    const struct setup *setup = &job->setup;
    result->server = setup->server;
    result->host = setup->host;
    for (size_t i = 0; i < setup->host_count; i++) {
        result->hosts[i].settings = setup->hosts[i].settings;
    }
    result->connection = setup->connection;
    setup_describe_removal(setup, job->plan, result->removal, sizeof result->removal);
    memcpy(result->engine, setup->own->table.engine, sizeof result->engine);
}

/* Shows the run on the live page. Returns false if memory runs out. */
static bool show_live(struct job *job)
{
    struct live_run run = {.plan = job->plan,
                           .table = &job->setup.own->table,
                           .expectations = &job->expectations,
                           .is_search = job->search != NULL};
    bool is_made = true;
    for (size_t i = 0; i < LIVE_RESULTS && job->live != NULL; i++) {
        run.results[i] = make_result(job);
        is_made = is_made && run.results[i] != NULL;
        if (run.results[i] != NULL) {
            job_note_connection(job, run.results[i]);
        }
    }
    if (is_made) {
        live_show_run(job->live, &run);
    } else {
        result_free(run.results[0]);
        result_free(run.results[1]);
    }
    return is_made;
}

static enum exit_code make_memory(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    facts_set_target(&job->facts, plan, &job->setup.connection);
    /* if a script declares all its tables, no rows are generated */
    const enum status status =
        job->setup.own->table.column_count == 0
            ? STATUS_OK
            : generator_create(&job->generator, plan, &job->setup.own->table, error);
    if (status != STATUS_OK) {
        return status == STATUS_REJECTED ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT;
    }
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const struct plan_share share = plan_share(plan);
    const unsigned shards = cpus > SHARDS_MIN ? (unsigned)cpus : SHARDS_MIN;
    job->recorder = recorder_create(share.count + share.idle, shards, plan_operations(plan).count,
                                    plan->host_count > 0 ? plan->host_count : 1);
    job->result = job->recorder == NULL ? NULL : make_result(job);
    const bool has_metrics = has_metrics_of_script(job);
    if (has_metrics) {
        job->values = metric_store_create(plan->script, share.count + share.idle, shards);
    }
    job->evidence = job->search == NULL ? evidence_begin(&job->question) : NULL;
    if (job->result == NULL ||
        (has_metrics &&
         (job->values == NULL || !result_allocate_metrics(job->result, plan->script))) ||
        (job->search == NULL && job->evidence == NULL) || !show_live(job)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the run");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

struct server_selector job_select_server(struct job *job)
{
    const struct plan *plan = job->plan;
    const struct connection_info *connection = &job->setup.connection;
    if (plan->host_count > 0) {
        job->setup.is_remote = job->place_count == 0 && plan->facts->server_pid == 0 &&
                               plan->facts->server_cgroup == NULL;
    }
    return (struct server_selector){
        .is_embedded = connection->is_embedded,
        /* every rank measures its embedded database; only the first rank on a machine measures a
           server */
        .is_remote =
            job->setup.is_remote || (!connection->is_embedded && !ranks_is_first_here(job->ranks)),
        .port = connection->port,
        .socket = connection->host[0] == '/' ? connection->host : NULL,
        .places = job->places,
        .place_count = job->place_count,
        .pid = plan->facts->server_pid,
        .cgroup = plan->facts->server_cgroup};
}

enum exit_code job_start_trace(struct job *job, struct error *error)
{
    const struct server_selector server = job_select_server(job);
    struct ranks *ranks = job->ranks;
    const bool is_loaded = job->tracer != NULL || job->trace_note[0] != '\0';
    const bool is_here = ranks == NULL || (is_loaded && !server.is_remote);
    if (job->plan->io_trace == IO_TRACE_OFF || !is_here) {
        trace_destroy(job->tracer);
        job->tracer = NULL;
        return EXIT_CODE_OK;
    }
    struct trace_sum *sum = job->result->trace = calloc(1, sizeof *sum);
    if (sum == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the I/O trace");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    char place[TRACE_PLACE_BYTES] = "";
    if (ranks != NULL) {
        snprintf(place, sizeof place, "%u,%s,", ranks_number(ranks),
                 ranks_machine(ranks, ranks_number(ranks)));
    }
    if (job->tracer != NULL &&
        trace_begin(job->tracer, &server, run_files_descriptor(job->files, FILE_IO), place,
                    error) != STATUS_OK) {
        trace_destroy(job->tracer);
        job->tracer = NULL;
        if (job->plan->io_trace != IO_TRACE_TRY) {
            ranks_prefix_error(job->ranks, error);
            return EXIT_CODE_CLIENT_LIMIT;
        }
        snprintf(job->trace_note, sizeof job->trace_note, "%s", error->text);
        error_clear(error);
    }
    if (job->tracer != NULL) {
        server_count_io(&job->setup, job->plan, &sum->before);
        trace_note_counters(job->tracer, sum->before.taken_ns);
    }
    return EXIT_CODE_OK;
}

enum exit_code job_make_plan(struct job *job, struct error *error)
{
    enum exit_code code;
    do {
        ranks_beat(job->ranks);
        code = plan_try(&job->given, &job->facts, error);
    } while (plan_waits(&job->given, &code, error));
    return code;
}

enum exit_code job_begin(struct job *job, struct error *error)
{
    char version[VERSION_BYTES];
    enum exit_code code = job->search == NULL ? EXIT_CODE_OK : job->find_bound(job, error);
    code = code == EXIT_CODE_OK ? check_machine(job, error) : code;
    code = code == EXIT_CODE_OK ? check_server_pid(job, error) : code;
    code = code == EXIT_CODE_OK ? load_tracer(job, error) : code;
    code = code == EXIT_CODE_OK ? check_kernel_waits(job, error) : code;
    code = ranks_agree(job->ranks, code, NULL, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    code = check_traced(job, error);
    code = code == EXIT_CODE_OK ? open_here(job, error) : code;
    if (code == EXIT_CODE_OK && !job->plan->is_follower) {
        code = prepare_tables(job, error);
    }
    code = ranks_agree(job->ranks, code, client_version(job->plan, version, sizeof version), error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    code = share_tables(job, error);
    code = code == EXIT_CODE_OK ? make_memory(job, error) : code;
    /* Start the trace before the run begins, because this takes a while. With an embedded database
     * the trace starts later, because the trace must exclude the sampler's thread, which does not
     * exist yet. */
    if (code == EXIT_CODE_OK && !job->setup.connection.is_embedded) {
        code = job_start_trace(job, error);
    }
    if (code == EXIT_CODE_OK && job->search != NULL) {
        job->on_ready(job);
    }
    return ranks_agree(job->ranks, code, NULL, error);
}
