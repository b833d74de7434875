#include "commands/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "base/url.h"
#include "commands/command.h"
#include "load/server.h"
#include "measure/procfs.h"
#include "measure/server_process.h"
#include "plan/facts.h"
#include "report/expectations.h"
#include "report/figures.h"
#include "report/files.h"
#include "report/text.h"

#define ROOM_LIMIT_NS (2 * MONO_NS_PER_S)
#define ROOM_PAUSE_NS (100 * MONO_NS_PER_MS)

/* A slow server may need longer than a hold for an append of every session. */
#define PATIENCE_NS (30 * MONO_NS_PER_S)

/* How long a rank waits for its result to be merged before it writes it down itself. */
#define MERGE_NS (200 * MONO_NS_PER_MS)

/* How long rank 0 takes rows of others after a signal: mpirun soon ends what is left. */
#define ROWS_NS (300 * MONO_NS_PER_MS)

enum {
    SPARE_FILES = 64, /* what connecting opens for a moment */
    SHARDS_MIN = 8,
    MADE_LINE_BYTES = 400,
    VERSION_BYTES = 120,
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
        if (code == EXIT_CODE_OK || !may_get_room || mono_now_ns() >= limit_ns ||
            interrupt_requested()) {
            return code;
        }
        mono_sleep(ROOM_PAUSE_NS);
        error_clear(error);
        struct setup asked;
        if (setup_inquire(&asked, plan, job->ranks, &(struct error){.kind = ERROR_NONE}) ==
            EXIT_CODE_OK) {
            job->setup.server = asked.server;
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

/* Makes or empties a file that the user names by an option, if he does. */
static enum exit_code open_named(FILE **stream, const char *option, const char *path, bool may_wait,
                                 struct error *error)
{
    if (path == NULL || *stream != NULL) {
        return EXIT_CODE_OK;
    }
    /* A pipe is not waited for, neither now nor at the end, when nobody may read it. What a link
     * leads to may be anybody's. */
    struct stat about;
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0666);
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
    error_set(error, ERROR_USAGE, is_pipe ? 0 : number, NULL, "--%s '%.120s' cannot be written: %s",
              option, path,
              is_pipe           ? "it is a pipe: give the name of a file"
              : number == ELOOP ? "it is a link: name the file itself"
                                : strerror(number));
    if (fd >= 0) {
        close(fd);
    }
    return EXIT_CODE_USAGE;
}

enum exit_code job_open_junit(struct job *job, bool may_wait, struct error *error)
{
    return open_named(&job->junit, "junit", job->plan->junit, may_wait, error);
}

/* Returns 0 or errno. */
static int close_named(FILE **stream, bool is_written)
{
    const int number = is_written ? 0 : errno;
    const bool is_closed = fclose(*stream) == 0;
    *stream = NULL;
    return number == 0 && !is_closed ? errno : number;
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

/* Those of several hosts that are on this machine. */
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

/* One rank on each machine looks at the server's processes, where these can be there, as far as the
 * plan tells. */
static bool may_see_server(struct job *job)
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

/* What rank 0 says of the others' errors, of its own. */
static void name_own(const struct job *job, struct error *error)
{
    if (job->ranks != NULL && !ranks_follows(job->ranks)) {
        const struct error why = *error;
        error_clear(error);
        error_set(error, why.kind, why.native_code, why.sqlstate, "machine %.60s, rank 0: %s",
                  ranks_machine(job->ranks, 0), why.text);
    }
}

/* Whether --server-pid is the server's: where the process that holds the port can be seen, it has
 * to be that one or of its family. A program that forwards to the server is not looked behind. */
static enum exit_code check_server_pid(const struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    struct connection_info named = {.host = ""};
    struct procfs_process holder;
    char note[200];
    target_fill_connection(plan, &named);
    if (plan->server_pid == 0 || plan->container != NULL || plan->is_server_pid_forced ||
        named.is_embedded || plan->host_count > 0 || !address_is_local(named.host)) {
        return EXIT_CODE_OK;
    }
    const int proc = procfs_open();
    const bool is_other = proc >= 0 &&
                          server_find(proc, named.port, named.host[0] == '/' ? named.host : NULL,
                                      &holder, note, sizeof note) &&
                          !server_is_related(proc, plan->server_pid, holder.pid);
    if (proc >= 0) {
        close(proc);
    }
    return is_other ? usage_refuse(error,
                                   "--server-pid %d is not the server: port %u is held by %s (pid "
                                   "%d). Leave the option out, or write --server-pid %d! if that "
                                   "process is to be measured",
                                   (int)plan->server_pid, (unsigned)named.port, holder.name,
                                   (int)holder.pid, (int)plan->server_pid)
                    : EXIT_CODE_OK;
}

/* Before anything is done to the server: can I/O be traced, where it is to be? */
static enum exit_code load_tracer(struct job *job, struct error *error)
{
    struct ranks *ranks = job->ranks;
    if (job->plan->io_trace == IO_TRACE_OFF || (ranks != NULL && !may_see_server(job))) {
        return EXIT_CODE_OK;
    }
    ranks_claim(ranks);
    const enum exit_code code = job_begin_trace(&job->tracer, job->plan, job->trace_note, error);
    if (code != EXIT_CODE_OK) {
        name_own(job, error);
    }
    return code;
}

/* Rank 0: does a rank trace, where one is to? */
static enum exit_code check_traced(struct job *job, struct error *error)
{
    const enum io_trace level = job->plan->io_trace;
    if (level == IO_TRACE_OFF || job->plan->is_follower || ranks_is_claimed(job->ranks)) {
        return EXIT_CODE_OK;
    }
    snprintf(
        job->trace_note, sizeof job->trace_note,
        "--io-trace: no rank is on the server's machine: start one there (--sample-only HOST)");
    if (level != IO_TRACE_TRY) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%s", job->trace_note);
    }
    return level == IO_TRACE_TRY ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

/* The version of the client library, which is to be the same for all ranks. */
static const char *client_version(const struct plan *plan, char *text, size_t size)
{
    text[0] = '\0';
    if (plan->adapter->client_version != NULL) {
        plan->adapter->client_version(text, size);
    }
    return text;
}

/* Before anything is opened: this machine. */
static enum exit_code check_machine(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    struct limits_question question;
    limits_ask(&question, plan, NULL, NULL);
    limits_allow_files(&question, SPARE_FILES);
    if (plan->is_unchecked) {
        return EXIT_CODE_OK;
    }
    struct limit_list list;
    const struct limit *first;
    limits_read(&question, &list);
    return judge_limits(plan, &list, &first, error);
}

/* The client library, and every file that is written to. */
static enum exit_code open_here(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    enum exit_code code = job_begin_client(&job->container, plan, &job->facts, error);
    job->has_library = code == EXIT_CODE_OK;
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
    return code;
}

static void ask_limits(struct job *job)
{
    limits_ask(&job->question, job->plan, &job->setup.connection, &job->setup.server);
    job->question.is_remote = job->setup.is_remote;
    find_servers(job);
    job->question.places = job->places;
    job->question.place_count = job->place_count;
}

static enum exit_code prepare_tables(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    enum exit_code code = setup_prepare(&job->setup, plan, job->ranks, error);
    if (code == EXIT_CODE_OK && job->setup.made.load_ns > 0 && !plan->is_quiet) {
        char line[MADE_LINE_BYTES];
        setup_describe_made(&job->setup, plan, line, sizeof line);
        notice_print("%s", line);
    }
    if (code == EXIT_CODE_OK) {
        ask_limits(job);
        code = check_server(job, error);
    }
    return code == EXIT_CODE_OK ? verify_prepare(&job->setup, plan, &job->facts, error) : code;
}

/* Rank 0 says what it found in the tables that it prepared; the others look at them. */
static enum exit_code share_tables(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    struct buffer found = {0};
    enum exit_code code = EXIT_CODE_OK;
    if (!plan->is_follower) {
        setup_tell(&job->setup, plan, &found);
    }
    if (!ranks_give_text(job->ranks, &found)) {
        code = EXIT_CODE_INTERRUPTED;
    } else if (plan->is_follower) {
        code = setup_prepare(&job->setup, plan, job->ranks, error);
        if (code == EXIT_CODE_OK) {
            setup_learn(&job->setup, &job->facts, buffer_text(&found));
        }
        ask_limits(job);
    }
    buffer_fini(&found);
    return code;
}

static enum exit_code make_memory(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    facts_set_target(&job->facts, plan, &job->setup.connection);
    /* a script may have no table whose rows are made here */
    const enum status status =
        job->setup.own->table.column_count == 0
            ? STATUS_OK
            : generator_create(&job->generator, plan, &job->setup.own->table, error);
    if (status != STATUS_OK) {
        return status == STATUS_REJECTED ? EXIT_CODE_USAGE : EXIT_CODE_CLIENT_LIMIT;
    }
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const struct plan_share share = plan_share(plan);
    job->recorder = recorder_create_for_hosts(
        share.count + share.idle, cpus > SHARDS_MIN ? (unsigned)cpus : SHARDS_MIN,
        plan_operations(plan).count, plan->host_count > 0 ? plan->host_count : 1);
    job->result = calloc(1, sizeof *job->result);
    job->evidence = job->search == NULL ? evidence_begin(&job->question) : NULL;
    bool has_tables = false;
    if (job->result != NULL) {
        causes_init(&job->result->causes);
        has_tables = result_make_tables(job->result, job->setup.host_count, job->setup.table_count,
                                        plan->script != NULL);
    }
    for (unsigned i = 0; has_tables && i < plan->host_count; i++) {
        struct host_result *host = &job->result->hosts[i];
        target_name_host(plan, i, host->name, sizeof host->name);
    }
    if (!has_tables || job->recorder == NULL || (job->search == NULL && job->evidence == NULL) ||
        !recorder_snapshot_init(&job->result->totals, recorder_operations(job->recorder)) ||
        (plan->host_count > 0 &&
         !recorder_snapshot_add_hosts(&job->result->totals, plan->host_count))) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of the run");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* Whom this rank looks at. */
static struct server_selector select_server(struct job *job)
{
    const struct plan *plan = job->plan;
    const struct connection_info *connection = &job->setup.connection;
    if (plan->host_count > 0) {
        job->setup.is_remote = job->place_count == 0 && plan->facts->server_pid == 0 &&
                               plan->facts->server_cgroup == NULL;
    }
    return (struct server_selector){
        .is_embedded = connection->is_embedded,
        /* on each machine one rank looks */
        .is_remote =
            job->setup.is_remote || (!connection->is_embedded && !ranks_is_first_here(job->ranks)),
        .port = connection->port,
        .socket = connection->host[0] == '/' ? connection->host : NULL,
        .places = job->places,
        .place_count = job->place_count,
        .pid = plan->facts->server_pid,
        .cgroup = plan->facts->server_cgroup};
}

/* Of several ranks only those that look at the server's processes trace. */
static enum exit_code begin_trace(struct job *job, struct error *error)
{
    const struct server_selector server = select_server(job);
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
            name_own(job, error);
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
    /* takes a while; in this program it has to leave out the measuring thread */
    if (code == EXIT_CODE_OK && !job->setup.connection.is_embedded) {
        code = begin_trace(job, error);
    }
    if (code == EXIT_CODE_OK && job->search != NULL) {
        job->on_ready(job);
    }
    return ranks_agree(job->ranks, code, NULL, error);
}

/* The measuring thread. */

static void add_interval(struct job *job, const struct interval *interval)
{
    if (job->ranks != NULL) {
        merge_keep_interval(&job->together.intervals, interval);
    }
    run_files_add(job->files, CSV_INTERVALS, interval);
    for (size_t i = 0; i < interval->hosts; i++) {
        const struct host_interval host = {interval, job->result->hosts[i].name, i};
        run_files_add(job->files, CSV_HOSTS_INTERVALS, &host);
    }
}

static void add_sample(struct job *job, const struct sample *sample)
{
    if (job->ranks != NULL) {
        merge_keep_sample(&job->together.samples, sample);
    }
    run_files_add(job->files, CSV_SAMPLES, sample);
}

static void show(struct job *job, const struct progress_state *now)
{
    metrics_update(job->metrics, now);
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

/* The size of the tables is asked for as soon as the sessions work: before the gate, its connection
 * would take the place of a session. Progress comes last, so that it shows the sample that ended
 * with the interval. */
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
        if (turn.has_interval) {
            add_interval(job, &turn.interval);
        }
        if (turn.is_sample_due && sampler_read(job->sampler, &sample)) {
            sample.table_bytes = storage_watch_take(job->storage);
            add_sample(job, &sample);
        }
        if (turn.has_interval) {
            const struct progress_state now = {.interval = &turn.interval,
                                               .sample = sample.end_ns > 0 ? &sample : NULL,
                                               .total = turn.total,
                                               .work_start_ns = turn.work_start_ns};
            show(job, &now);
        }
    } while (!turn.is_last);
    return NULL;
}

/* In all tables of the run. Hosts that show the same number count as one database. */
static uint64_t rows_before(const struct setup *setup)
{
    uint64_t sum = 0, at_first = 0;
    bool are_alike = true;
    for (size_t h = 0; h < setup->host_count; h++) {
        const struct setup_host *host = &setup->hosts[(setup->host + h) % setup->host_count];
        uint64_t rows = 0;
        for (size_t i = 0; i < setup->table_count && host->is_known; i++) {
            rows += host->rows_before[i];
        }
        at_first = h == 0 ? rows : at_first;
        are_alike = are_alike && (rows == at_first || !host->is_known);
        sum += rows;
    }
    return are_alike ? at_first : sum;
}

/* Of several hosts the one that was asked may be on another machine. */
static bool tells_directory(const struct setup *setup, const struct plan *plan)
{
    return setup->storage.directory[0] != '\0' &&
           (plan->host_count == 0 || address_is_local(plan->hosts[setup->host].name));
}

/* Starts the measuring thread; `start_ns`: when the run of several ranks starts. Else than OK: it
 * is to be ended all the same. */
static enum exit_code begin_measuring(struct job *job, int64_t start_ns, struct error *error)
{
    const struct plan *plan = job->plan;
    const struct setup *setup = &job->setup;
    const struct sampler_config config = {
        .sample_interval_ns = plan->sample_interval_ns,
        .run_start_ns = job->ranks == NULL ? 0 : start_ns,
        .server = select_server(job),
        .recorder = job->recorder,
        .directory = plan->data_directory != NULL   ? plan->data_directory
                     : tells_directory(setup, plan) ? setup->storage.directory
                                                    : NULL,
        .is_where_it_works = setup->storage.is_where_it_works,
        .rows_before = plan->is_follower ? 0 : rows_before(setup), /* each row once */
    };
    if (job->search == NULL && !plan->is_follower) {
        job->storage = storage_watch_start(&setup->storage, plan, setup->host);
    }
    job->sampler = sampler_start(&config, error);
    if (job->sampler == NULL) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const int failure = thread_start(&job->measuring, 0, measure, job);
    job->is_measuring = failure == 0;
    if (!job->is_measuring) {
        error_set(error, ERROR_SYSTEM, failure, NULL, "the sampler cannot be started: %s",
                  strerror(failure));
    }
    return job->is_measuring ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

/* Takes the last interval and sample. */
static void end_measuring(struct job *job)
{
    if (job->is_measuring) {
        sampler_wake(job->sampler, SAMPLER_STOP);
        pthread_join(job->measuring, NULL);
        job->is_measuring = false;
    }
    sampler_end(job->sampler, &job->result->resources);
}

/* The main thread, while sessions live. */

static void on_shortage(void *context)
{
    struct job *job = context;
    if (job->evidence != NULL) {
        evidence_capture(job->evidence);
    }
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

/* Says why the size of the tables is not known. */
static void add_storage_note(struct io_description *of, const char *note)
{
    const size_t used = strlen(of->note);
    if (note[0] != '\0') {
        snprintf(of->note + used, sizeof of->note - used, "%s%s", used > 0 ? "; " : "", note);
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
}

static void on_done(void *context, int64_t done_ns)
{
    struct job *job = context;
    trace_note_done(job->tracer, done_ns);
}

/* Runs the sessions, and measures while they live. */
static enum exit_code load(struct job *job, struct error *error)
{
    const struct plan *plan = job->plan;
    const struct setup *setup = &job->setup;
    struct result *result = job->result;
    const int64_t start_ns = ranks_agree_start(job->ranks);
    job->setup.ranks = NULL; /* ranks hear of each other all the time now */
    if (start_ns == 0) {
        return ranks_explain(job->ranks, error);
    }
    progress_init(&job->progress, STDERR_FILENO, plan);
    /* an engine without transactions knows how many rows it has */
    if (job->search == NULL && (plan->adapter->flags & ADAPTER_DISCARDS) == 0 &&
        !ask_keeps_failed_rows(&setup->connection.facts, &setup->own->table)) {
        progress_announce(&job->progress, *setup_rows_before(setup, setup->own),
                          setup->is_remote ? 0 : setup->count_ns);
    }
    enum exit_code code = begin_measuring(job, start_ns, error);
    if (code == EXIT_CODE_OK && setup->connection.is_embedded) {
        code = begin_trace(job, error);
    }
    if (code != EXIT_CODE_OK) {
        end_measuring(job);
        storage_watch_stop(job->storage);
        return code;
    }
    trace_note_start(job->tracer, sampler_run_start_ns(job->sampler));
    int64_t left_ns;
    while ((left_ns = sampler_run_start_ns(job->sampler) - mono_now_ns()) > 0 &&
           !interrupt_requested()) {
        mono_sleep(left_ns < ROOM_PAUSE_NS ? left_ns : ROOM_PAUSE_NS);
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
        .ranks = job->ranks,
        .on_shortage = on_shortage,
        .on_gate = on_gate,
        .on_done = on_done,
        .context = job,
        .search = job->search,
        .patience_ns = PATIENCE_NS,
        .cut = &job->cut,
        .on_begin = job->on_begin,
        .on_level = job->on_level,
    };
    const enum status status = fleet_run(&load, result, error);
    end_measuring(job);
    end_trace(job);
    storage_watch_stop(job->storage);
    add_storage_note(&result->resources.io_of, setup->storage.note);
    note_servers(&result->resources, job->ranks == NULL ? plan->host_count : job->place_count,
                 job->place_count); /* of several ranks the others may look at the others */
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
             metrics_conclude(job->metrics, &result->totals));
    return EXIT_CODE_OK;
}

/* The limits that sessions ran into. */
static void find_limits(struct job *job)
{
    struct error error = {.kind = ERROR_NONE};
    struct setup asked;
    if (job->evidence == NULL) {
        return;
    }
    if (evidence_lacks_settings(job->result) &&
        setup_inquire(&asked, job->plan, NULL, &error) == EXIT_CODE_OK) {
        job->evidence->server_after = asked.server;
        job->evidence->has_server_after = true;
    } /* who does not answer now will not be verified either */
    evidence_conclude(job->evidence, job->result, &job->result->findings);
}

static struct judge_context judge_by(const struct job *job)
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
    return (struct judge_context){
        .is_embedded = setup->connection.is_embedded,
        .is_local = !setup->is_remote,
        .rate_rows_per_s = job->search == NULL ? (double)job->plan->rate_rows_per_s : 0,
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

/* Of what this rank alone came to. */
static void judge_rank(const struct job *job, struct result *result)
{
    const struct plan *plan = job->plan;
    struct judge_context context = judge_by(job);
    const uint64_t *counters = result->totals.counters;
    const uint64_t missing = result->batches.not_sent + counters[RECORDER_SKIPPED] +
                             counters[RECORDER_TRANSACTIONS_NOT_BEGUN];
    if (missing == 0 && result->stop_reason == STOP_DURATION) {
        context.rate_rows_per_s = 0; /* all that was due: of another rank it may have been more */
    }
    context.rate_rows_per_s *= (double)plan_share(plan).count / plan->sessions;
    result_judge(result, &context);
    if (job->search != NULL && result->verdict == VERDICT_DEGRADED) {
        result->verdict = VERDICT_VALID; /* sessions that fail are what it is for */
        result->verdict_reason[0] = '\0';
    }
}

static void note_connection(struct job *job)
{
    const struct setup *setup = &job->setup;
    job->result->server = setup->server;
    job->result->host = setup->host;
    for (size_t i = 0; i < setup->host_count; i++) {
        job->result->hosts[i].settings = setup->hosts[i].settings;
    }
    job->result->connection = setup->connection;
    setup_describe_removal(setup, job->plan, job->result->removal, sizeof job->result->removal);
    memcpy(job->result->engine, setup->own->table.engine, sizeof job->result->engine);
}

/* `why_not`: why the rows are not counted; NULL: they are. */
static void judge(struct job *job, const char *why_not)
{
    struct result *result = job->result;
    struct search *search = job->search;
    struct error error = {.kind = ERROR_NONE};
    note_connection(job);
    if (search == NULL && job->ranks == NULL) { /* else it was done by level, or rank */
        find_limits(job);
    }
    if (why_not != NULL) {
        verify_not(result, why_not);
    } else {
        job->setup.cut = &job->cut;
        verify_result(&job->setup, job->plan, result);
        result->sessions_ended = job->cut.ended;
    }
    const struct judge_context context = judge_by(job);
    result_judge(result, &context);
    if (search != NULL) {
        char change[RESULT_CHANGE_BYTES];
        /* the judgement of a run says whether its figures are the client's */
        if (result->verdict == VERDICT_INVALID) {
            snprintf(search->figures_note, sizeof search->figures_note,
                     "rows/s and latencies are not the server's: %.180s", result->verdict_reason);
        } else if (result_describe_change(result, change)[0] != '\0') {
            snprintf(search->figures_note, sizeof search->figures_note,
                     "the levels cannot be compared: %.190s", change);
        }
        search_judge(search, result, context.is_local, context.was_interrupted);
        return;
    }
    /* what the user wrote into the run's folder meanwhile */
    error_clear(&error);
    event_list_fini(&result->events); /* read before, when the run is judged again */
    if (events_read(&result->events, job->plan->out_folder, result->started_wall_ns, &error) !=
        STATUS_OK) {
        snprintf(result->events.note, sizeof result->events.note, "%.190s", error.text);
    }
}

/* Adds what is wrong with the files by now; then nothing can change the verdict any more, on which
 * there may be an expectation. */
static void note_files(struct job *job)
{
    struct result *result = job->result;
    const char *shortage = run_files_shortage(job->files);
    if (shortage[0] != '\0') {
        result->problems[PROBLEM_FILES].code = EXIT_CODE_OK; /* there may be more by now */
        result_add_problem(result, PROBLEM_FILES, EXIT_CODE_CLIENT_LIMIT, "files are short: %.200s",
                           shortage);
        result_conclude(result);
    }
    if (job->search == NULL) {
        result->problems[PROBLEM_EXPECTATION].code = EXIT_CODE_OK;
        expectations_judge(&job->expectations, job->plan, result);
        result->expectations = &job->expectations;
    }
}

/* Judges the outcome by what is known by now; where it has become another one the files tell it. A
 * run that was interrupted before is so in its own words. */
static void settle(struct job *job, bool was_interrupted, const char *text)
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
    result_conclude(result);
    if (job->is_told && before == result->exit_code && strcmp(reason, result->exit_reason) == 0) {
        return;
    }
    const struct run_outcome outcome = {.plan = job->plan,
                                        .table = &job->setup.own->table,
                                        .result = result,
                                        .search = job->search};
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

/* What this rank alone came to, with the verdict on its own machine. */
static struct rank_result describe_rank(struct job *job)
{
    const struct result *result = job->result;
    struct result judged = *result;
    judge_rank(job, &judged);
    const bool is_elsewhere = select_server(job).is_remote;
    struct rank_result own = {.is_known = true,
                              .gate_late_ns = result->gate_late_ns,
                              .hosts_here = is_elsewhere ? 0 : (unsigned)MAX(job->place_count, 1),
                              .resources = result->resources,
                              .verdict = judged.verdict};
    memcpy(own.verdict_reason, judged.verdict_reason, sizeof own.verdict_reason);
    return own;
}

/* Packs what this rank came to. False: out of memory. */
static bool pack(struct job *job, struct buffer *bytes)
{
    note_connection(job);
    job->result->table_bytes_before = job->result->table_bytes_after = -1;
    if (job->search == NULL) { /* else it was done by level */
        find_limits(job);
    }
    const struct rank_result own = describe_rank(job);
    return together_pack(bytes, &job->together, job->result, job->recorder, &own);
}

/* The rows of another rank behind those that are there. Returns 0, or errno: they are not all. */
static int take_rows(struct job *job, unsigned rank, int64_t limit_ns)
{
    bool is_first = true, is_cut = false;
    size_t size;
    char *lines = NULL;
    while (!is_cut && (lines = ranks_take_lines(job->ranks, rank, &size, &is_cut)) != NULL) {
        run_files_add_io(job->files, lines, size, is_first);
        free(lines);
        is_first = false;
        is_cut = interrupt_requested() && mono_now_ns() > limit_ns;
    }
    return is_cut ? ETIMEDOUT : job->result->ranks[rank].trace->csv_errno;
}

/* Rank 0: what was traced on all machines. */
static enum exit_code join_traces(struct job *job, struct error *error)
{
    struct result *result = job->result;
    const int64_t limit_ns = mono_now_ns() + ROWS_NS;
    const char *machine = NULL;
    int number = 0;
    for (unsigned i = 1; i < result->rank_count; i++) {
        const struct trace_sum *trace = result->ranks[i].trace;
        const int failed =
            trace == NULL || trace->level == IO_TRACE_OFF ? 0 : take_rows(job, i, limit_ns);
        machine = failed == 0 ? machine : result->ranks[i].machine;
        number = failed == 0 ? number : failed;
    }
    if (number != 0) {
        run_files_mark_short(job->files, FILE_IO, number, machine);
    }
    if (job->plan->io_trace != IO_TRACE_OFF && result->trace == NULL) {
        result->trace = calloc(1, sizeof *result->trace);
        if (result->trace == NULL) {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the I/O trace's figures");
            return EXIT_CODE_CLIENT_LIMIT;
        }
        snprintf(result->trace->note, sizeof result->trace->note, "%s",
                 job->trace_note[0] != '\0'
                     ? job->trace_note
                     : "the rank that traced was lost: its rows until then are in its folder");
    }
    return EXIT_CODE_OK;
}

/* Rank 0: from here on the result is that of all ranks, and so are the files. */
static enum exit_code join_ranks(struct job *job, struct error *error)
{
    struct buffer bytes = {0};
    struct together_whole whole = {.result = NULL};
    enum exit_code code = EXIT_CODE_CLIENT_LIMIT;
    if (!pack(job, &bytes)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the result of this rank");
        buffer_fini(&bytes);
    } else {
        code = together_merge(job->ranks, job->plan, job->result, &bytes, &whole, error);
    }
    if (code == EXIT_CODE_OK) {
        result_free(job->result);
        job->result = whole.result;
        code = join_traces(job, error);
        if (job->search != NULL) {
            job->search->elapsed_ns = whole.result->elapsed_ns;
        }
        if (job->search != NULL && job->search->end == SEARCH_INTERRUPTED &&
            ranks_may_signal(job->ranks)) {
            job->search->end = SEARCH_RANK_LOST;
        }
        run_files_join(job->files, whole.merge, whole.result);
    } else {
        result_free(whole.result);
    }
    merge_destroy(whole.merge);
    return code;
}

/* Rank 0 says why there is no run, unless it is what is missing. */
static enum exit_code leave(const struct job *job)
{
    struct error error = {.kind = ERROR_NONE};
    const enum exit_code code = ranks_explain(job->ranks, &error);
    return error_is_set(&error) ? command_fail(code, &error) : EXIT_CODE_OK;
}

/* A rank that follows rank 0: from the plan that it is given until its result is taken. */
static enum exit_code follow(struct job *job, enum command command)
{
    struct error error = {.kind = ERROR_NONE};
    struct buffer bytes = {0};
    struct plan_lead lead;
    enum exit_code code = together_take_words(&job->together, job->ranks, &lead, &error);
    if (code == EXIT_CODE_OK) {
        code = plan_follow(&job->given, &job->facts, command, &lead, &error);
    }
    if (code == EXIT_CODE_OK && job->search == NULL) {
        code = ranks_share_out(job->ranks, job->plan, &job->facts, &error);
    }
    if (code != EXIT_CODE_OK) {
        ranks_agree(job->ranks, code, NULL, &error);
        return leave(job);
    }
    code = job_begin(job, &error);
    if (code != EXIT_CODE_OK) {
        return leave(job);
    }
    code = load(job, &error);
    if (code != EXIT_CODE_OK) { /* rank 0 misses it */
        return error_is_set(&error)
                   ? command_say(code, "machine %.60s, rank %u: %s",
                                 ranks_machine(job->ranks, ranks_number(job->ranks)),
                                 ranks_number(job->ranks), error.text)
                   : leave(job);
    }
    bool is_merged = false;
    const int rows = job->tracer == NULL ? -1 : run_files_read_io(job->files);
    ranks_offer_lines(job->ranks, rows);
    if (pack(job, &bytes)) {
        ranks_give_result(job->ranks, &bytes);
        is_merged = ranks_await_merge(job->ranks, MERGE_NS);
    }
    if (!is_merged) { /* rank 0 needs longer, or is gone: what is known here is kept */
        judge_rank(job, job->result);
        if (job->search != NULL) {
            search_judge(job->search, job->result, !job->setup.is_remote, interrupt_requested());
        }
        run_files_finish(job->files, job->result);
        note_files(job);
        settle(job, interrupt_requested(), "interrupted after the sessions had ended");
        is_merged = ranks_await_merge(job->ranks, 0);
    }
    if (rows >= 0) {
        close(rows);
    }
    if (is_merged) {
        job->has_begun = false; /* rank 0 has it: the files can go */
        return EXIT_CODE_OK;
    }
    buffer_fini(&bytes);
    return command_say(EXIT_CODE_SHORT,
                       "rank %u on %.60s: its result is not part of the whole: its files stay in "
                       "%.200s",
                       ranks_number(job->ranks),
                       ranks_machine(job->ranks, ranks_number(job->ranks)), job->plan->out_folder);
}

/* The page shows the files, so they are written before it; a page or a JUnit file tells of all
 * problems but its own and later ones. */
static enum exit_code conclude(struct job *job)
{
    static const char late[] = "interrupted after the sessions had ended";
    static const char no_output[] = "standard output cannot be written: %s";
    const struct plan *plan = job->plan;
    struct result *result = job->result;
    const bool are_ended = ranks_may_signal(job->ranks);
    if (job->ranks != NULL && interrupt_requested()) {
        /* mpirun kills this program soon: what is known is written before rows are counted */
        judge(job, are_ended ? "a rank was lost, and the others are being ended"
                             : "mpirun ended this program before they were counted");
        note_files(job);
        settle(job, true, late);
        job->is_told = false; /* but not all of it */
    }
    if (!are_ended) {
        judge(job, NULL);
    }
    run_files_finish(job->files, result);
    note_files(job);
    settle(job, interrupt_requested(), late);

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
    job->is_joined = run_files_shortage(job->files)[0] == '\0' && job->is_told;
    return result->exit_code == EXIT_CODE_OK
               ? EXIT_CODE_OK
               : command_say(result->exit_code, "%s", result->exit_reason);
}

enum exit_code job_finish(struct job *job, enum exit_code code, struct error *error)
{
    code = code == EXIT_CODE_OK ? load(job, error) : code;
    if (code == EXIT_CODE_OK && job->ranks != NULL) {
        code = join_ranks(job, error);
    }
    if (code == EXIT_CODE_OK) {
        return conclude(job);
    }
    if (job->junit != NULL) {
        /* an empty file is no valid one either, and the run has failed already */
        (void)close_named(&job->junit, junit_write_error(job->junit, job->plan, code, error->text));
    }
    return command_refuse(job->plan->is_json, code, error);
}

static void release(struct job *job)
{
    const bool is_in_use = job->result != NULL && job->result->sessions_left > 0;
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
    generator_destroy(job->generator);
    free(job->cut.entries);
    setup_fini(&job->setup);
    if (job->has_library) {
        setup_stop_library(job->plan);
    }
    (is_in_use ? plan_fini_in_use : plan_fini)(&job->given);
    together_fini(&job->together);
}

enum exit_code job_do(struct job *job, enum command command, int argc, char **argv,
                      enum exit_code (*lead)(struct job *job, int argc, char **argv))
{
    struct ranks *ranks;
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code = ranks_begin(&ranks, &error);
    bool is_merged = false;
    job->ranks = ranks;
    job->plan = &job->given;
    if (code != EXIT_CODE_OK) {
        code = error.text[0] == '\0' ? EXIT_CODE_OK : command_fail(code, &error);
    } else {
        const bool follows = ranks_follows(ranks);
        code = follows ? follow(job, command) : lead(job, argc, argv);
        is_merged = !follows && job->is_joined;
        release(job);
    }
    ranks_end(ranks, is_merged);
    return code;
}
