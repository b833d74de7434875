#include "report/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "measure/io.h"
#include "plan/facts.h"
#include "plan/options.h"
#include "trace/trace.h"

const char *const figures_verification_names[] = {
    [VERIFICATION_NONE] = "none", [VERIFICATION_FAILED] = "failed", [VERIFICATION_DONE] = "done"};

int64_t figures_point_ns(const struct histogram *histogram, const struct figure_point *point)
{
    if (point->quantile <= 0) {
        return llround(histogram_mean_ns(histogram));
    }
    return point->quantile >= 1 ? histogram->max_ns
                                : histogram_quantile_ns(histogram, point->quantile);
}

double figures_error_percent(const uint64_t counters[RECORDER_COUNTERS], bool has_script)
{
    uint64_t failed = counters[RECORDER_APPENDS_FAILED] + counters[RECORDER_READS_FAILED];
    uint64_t all = counters[RECORDER_APPENDS] + counters[RECORDER_APPENDS_LOST] +
                   counters[RECORDER_READS] + counters[RECORDER_READS_FAILED];
    if (has_script) {
        failed = counters[RECORDER_TRANSACTIONS_FAILED] + counters[RECORDER_TRANSACTIONS_IN_DOUBT];
        all = failed + counters[RECORDER_TRANSACTIONS_COMMITTED] +
              counters[RECORDER_TRANSACTIONS_ROLLED_BACK];
    }
    return all == 0 ? -1 : 100 * (double)failed / (double)all;
}

uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS])
{
    return counters[RECORDER_SESSIONS_FAILED] + counters[RECORDER_RECONNECTS_FAILED] +
           counters[RECORDER_APPENDS_FAILED] + counters[RECORDER_READS_FAILED] +
           counters[RECORDER_TRANSACTIONS_FAILED] + counters[RECORDER_TRANSACTIONS_IN_DOUBT];
}

uint64_t figures_host_errors(const uint64_t counters[RECORDER_COUNTERS])
{
    /* counts the failed tries to connect to this host, not the failed sessions, because a session
     * that failed to connect here may have connected to another host */
    return figures_errors(counters) - counters[RECORDER_SESSIONS_FAILED] -
           counters[RECORDER_RECONNECTS_FAILED] + counters[RECORDER_CONNECTS_FAILED];
}

double figures_seconds(int64_t ns)
{
    return (double)ns / (double)MONO_NS_PER_S;
}

double figures_ms(int64_t ns)
{
    return (double)ns / (double)MONO_NS_PER_MS;
}

double figures_mib(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0);
}

static double mean_ms(const struct histogram *histogram)
{
    return histogram_mean_ns(histogram) / (double)MONO_NS_PER_MS;
}

struct filled {
    enum figure_id id;
    struct figure_value value;
};

/* Sets the figures in `list`. The last entry of the list has the id FIGURES. */
static void fill(struct figure_set *set, const struct filled *list)
{
    for (; list->id != FIGURES; list++) {
        struct figure_value value = list->value;
        value.is_known = value.text != NULL || (value.is_known && isfinite(value.number));
        set->values[list->id] = value;
    }
}

/* Each of these macros makes one element of the list that fill() reads: a figure and its value.
 * With ..._IF, the value is known only if `known` is true. */
/* clang-format off */
#define VALUE(figure, known, member, value) {FIGURE_##figure, {.is_known = (known), .member = (value)}}
/* clang-format on */
#define COUNT_IF(figure, known, value) VALUE(figure, known, count, value)
#define COUNT(figure, value) COUNT_IF(figure, true, value)
#define NUMBER_IF(figure, known, value) VALUE(figure, known, number, value)
#define NUMBER(figure, value) NUMBER_IF(figure, true, value)
#define POSITIVE(figure, value) NUMBER_IF(figure, (value) >= 0, value)
#define TEXT(figure, words) VALUE(figure, false, text, words)
#define FILL(set, ...)                                                                             \
    fill((set), (const struct filled[]){__VA_ARGS__, {FIGURES, {.is_known = false}}})

static void fill_transactions(struct figure_set *set, const struct plan *plan,
                              const struct result *result)
{
    const struct script *script = plan->script;
    if (script == NULL) {
        return;
    }
    const uint64_t *counters = result->totals.counters;
    const double seconds = figures_seconds(result->measured_ns);
    const uint64_t statements =
        counters[RECORDER_READS] + counters[RECORDER_WRITES] + counters[RECORDER_OTHERS];
    const double committed = (double)counters[RECORDER_TRANSACTIONS_COMMITTED];
    const double found = (double)counters[RECORDER_FOUND];
    const double looked = found + (double)counters[RECORDER_NOT_FOUND];
    const double tried_ns = (double)counters[RECORDER_TRY_NS];
    uint64_t added = 0, taken = 0, lost = 0, surplus = 0;
    enum verification_state state = VERIFICATION_NONE;
    for (size_t i = 0; i < result->dataset_count; i++) {
        const struct verification *dataset = &result->datasets[i];
        /* if one table could not be counted, the verification of all tables has failed */
        state = state == VERIFICATION_FAILED || dataset->state == VERIFICATION_NONE
                    ? state
                    : dataset->state;
        added += dataset->added;
        taken += dataset->taken;
        lost += dataset->lost;
        surplus += dataset->surplus;
    }
    uint64_t checked = 0, broken = 0;
    for (size_t i = 0; i < result->invariant_count; i++) {
        checked += result->invariants[i].state == VERIFICATION_DONE;
        broken += result->invariants[i].rows > 0;
    }
    const bool has_claims = script->invariant_count > 0;
    FILL(set, COUNT_IF(INVARIANTS_CHECKED, has_claims, checked),
         COUNT_IF(INVARIANTS_BROKEN, has_claims, broken), TEXT(WORKLOAD, script->name),
         TEXT(WORKLOAD_HASH, script->hash), TEXT(PARAMS, buffer_text(&script->param_list)),
         COUNT(TRANSACTIONS_BALANCE, transactions_balance(counters)),
         COUNT(RETRIES, transactions_retries(counters)),
         NUMBER_IF(TRANSACTIONS_PER_S, seconds > 0, committed / seconds),
         NUMBER_IF(STATEMENTS_PER_S, seconds > 0, (double)statements / seconds),
         NUMBER_IF(FOUND_PERCENT, looked > 0, 100 * found / looked), COUNT(ROWS_ADDED, added),
         COUNT(ROWS_TAKEN, taken), TEXT(VERIFICATION, figures_verification_names[state]),
         COUNT_IF(ROWS_LOST, state == VERIFICATION_DONE, lost),
         COUNT_IF(ROWS_LOST_AT_MOST, state == VERIFICATION_DONE, lost),
         COUNT_IF(ROWS_SURPLUS, state == VERIFICATION_DONE, surplus),
         NUMBER_IF(SCRIPT_PERCENT, tried_ns > 0,
                   100 * (double)counters[RECORDER_SCRIPT_NS] / tried_ns));
}

void figures_of_trace(struct figure_set *set, const struct trace_sum *trace)
{
    if (trace == NULL) {
        return;
    }
    const bool is_on = trace->level != IO_TRACE_OFF;
    const struct trace_times *read = &trace->modes[IO_READ], *write = &trace->modes[IO_WRITE];
    const struct trace_times *sync = &trace->modes[IO_SYNC];
    const uint64_t syncs = sync->layers[TRACE_TOTAL].total;
    FILL(set, TEXT(TRACE_LEVEL, io_trace_words[trace->level]), TEXT(TRACE_NOTE, trace->note),
         COUNT_IF(TRACE_READS, is_on, read->layers[TRACE_TOTAL].total),
         COUNT_IF(TRACE_WRITES, is_on, write->layers[TRACE_TOTAL].total),
         COUNT_IF(TRACE_FSYNCS, is_on, syncs),
         COUNT_IF(TRACE_WAL_FSYNCS, is_on && trace->level != IO_TRACE_REQUESTS,
                  trace->syncs[TRACE_WAL].layers[TRACE_TOTAL].total),
         NUMBER_IF(TRACE_READ_MIB, is_on, figures_mib(read->bytes)),
         NUMBER_IF(TRACE_WRITTEN_MIB, is_on, figures_mib(write->bytes)),
         NUMBER_IF(TRACE_READ_P99_MS, read->layers[TRACE_TOTAL].total > 0,
                   figures_ms(histogram_quantile_ns(&read->layers[TRACE_TOTAL], 0.99))),
         NUMBER_IF(TRACE_WRITE_P99_MS, write->layers[TRACE_TOTAL].total > 0,
                   figures_ms(histogram_quantile_ns(&write->layers[TRACE_TOTAL], 0.99))),
         NUMBER_IF(TRACE_FSYNC_P99_MS, syncs > 0,
                   figures_ms(histogram_quantile_ns(&sync->layers[TRACE_TOTAL], 0.99))),
         NUMBER_IF(TRACE_FSYNC_MEAN_MS, syncs > 0, mean_ms(&sync->layers[TRACE_TOTAL])),
         NUMBER_IF(TRACE_FSYNC_VFS_MS, syncs > 0 && trace->level != IO_TRACE_REQUESTS,
                   mean_ms(&sync->layers[TRACE_VFS])),
         NUMBER_IF(TRACE_FSYNC_QUEUE_MS, syncs > 0, mean_ms(&sync->layers[TRACE_QUEUE])),
         NUMBER_IF(TRACE_FSYNC_DEVICE_MS, syncs > 0, mean_ms(&sync->layers[TRACE_DEVICE])),
         COUNT_IF(TRACE_REQUESTS, is_on, trace->requests[IO_OWN].count),
         COUNT_IF(TRACE_WRITEBACK_REQUESTS, is_on, trace->requests[IO_WRITEBACK].count),
         NUMBER_IF(TRACE_WRITEBACK_MIB, is_on, figures_mib(trace->requests[IO_WRITEBACK].bytes)),
         COUNT_IF(TRACE_JOURNAL_REQUESTS, is_on, trace->requests[IO_JOURNAL].count),
         COUNT_IF(TRACE_LOST, is_on, trace->lost), COUNT_IF(TRACE_OPEN, is_on, trace->open),
         NUMBER_IF(TRACE_CPU_S, is_on, trace->cpu_s),
         NUMBER_IF(TRACE_KERNEL_CPU_S, is_on && trace->kernel_s >= 0, trace->kernel_s));
}

/* Returns whether the real number of rows may be higher than the row ledger says, because a rank
 * was lost and the number of rows that it did not report is unknown. Returns false for a run
 * without a script that had a planned number of rows, because the ledger then counts the unreported
 * rows as in doubt. */
static bool has_unreported(const struct plan *plan, const struct result *result)
{
    bool is_lost = false;
    for (size_t i = 0; i < result->rank_count; i++) {
        is_lost = is_lost || !result->ranks[i].is_known;
    }
    return is_lost && (plan->records == 0 || plan->script != NULL);
}

/* Returns the rows in the tables after the run, or 0 if unknown. */
static uint64_t count_rows_after(const struct result *result)
{
    const struct verification *verification = &result->verification;
    uint64_t rows = verification->state == VERIFICATION_DONE ? verification->rows_after : 0;
    for (size_t i = 0; i < result->dataset_count; i++) {
        if (result->datasets[i].state != VERIFICATION_DONE) {
            return 0;
        }
        rows += result->datasets[i].rows_after;
    }
    return rows;
}

static void fill_io(struct figure_set *set, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const struct io_description *of = &resources->io_of;
    const struct io_reading *io = &resources->io;
    const int64_t *counts = io->counts;
    const int64_t before = result->table_bytes_before, after = result->table_bytes_after;
    const double rows_after = (double)count_rows_after(result);
    /* with several hosts, WRITE_AMPLIFICATION would be wrong, because the disk belongs to only one
     * host */
    const double values =
        result->host_count > 1 ? 0 : (double)result->totals.counters[RECORDER_ROW_BYTES];
    const double written = (double)counts[IO_DEVICE_WRITTEN_BYTES];
#define IO_COUNT(figure, of) COUNT_IF(figure, counts[IO_##of] >= 0, (uint64_t)counts[IO_##of])
#define MIB(figure, bytes) NUMBER_IF(figure, (bytes) >= 0, figures_mib((uint64_t)(bytes)))
#define IO_MIB(figure, of) MIB(figure, counts[IO_##of])
#define IO_RATIO(figure) POSITIVE(figure, io_figure(io, IO_FIGURE_##figure))
    FILL(set, TEXT(DATA_DIRECTORY, of->directory), TEXT(DEVICE, of->device),
         IO_MIB(DEVICE_READ_MIB, DEVICE_READ_BYTES),
         IO_MIB(DEVICE_WRITTEN_MIB, DEVICE_WRITTEN_BYTES), IO_COUNT(DEVICE_READS, DEVICE_READS),
         IO_COUNT(DEVICE_WRITES, DEVICE_WRITES), IO_COUNT(DEVICE_FLUSHES, DEVICE_FLUSHES),
         IO_RATIO(DEVICE_READ_MS), IO_RATIO(DEVICE_WRITE_MS), IO_RATIO(DEVICE_FLUSH_MS),
         IO_RATIO(DEVICE_QUEUE), IO_RATIO(DEVICE_BUSY_PERCENT),
         POSITIVE(MAX_DEVICE_BUSY_PERCENT, resources->max_device_busy_percent),
         IO_MIB(SERVER_READ_MIB, SERVER_READ_BYTES),
         IO_MIB(SERVER_WRITTEN_MIB, SERVER_WRITTEN_BYTES),
         IO_COUNT(SERVER_READ_CALLS, SERVER_READS), IO_COUNT(SERVER_WRITE_CALLS, SERVER_WRITES),
         TEXT(STORAGE_SOURCE, of->storage), IO_MIB(STORAGE_READ_MIB, STORAGE_READ_BYTES),
         IO_MIB(STORAGE_WRITTEN_MIB, STORAGE_WRITTEN_BYTES), IO_RATIO(IOWAIT_PERCENT),
         IO_RATIO(IO_PRESSURE_PERCENT), IO_RATIO(CPU_PRESSURE_PERCENT),
         IO_RATIO(MEMORY_PRESSURE_PERCENT), TEXT(IO_NOTE, of->note), MIB(TABLE_MIB_BEFORE, before),
         MIB(TABLE_MIB_AFTER, after),
         NUMBER_IF(DISK_BYTES_PER_ROW, after > 0 && rows_after > 0, (double)after / rows_after),
         NUMBER_IF(WRITE_AMPLIFICATION, values > 0 && written >= 0, written / values));
#undef IO_COUNT
#undef MIB
#undef IO_MIB
#undef IO_RATIO
}

static void add_part(struct commit_story *story, const char *name, double share)
{
    if (share > 0) {
        story->parts[story->count++] =
            (struct commit_part){name, share * story->mean_ms, 100 * share};
    }
}

bool figures_of_commit(struct commit_story *story, const struct result *result)
{
    const struct waits *waits = result->waits;
    struct wait_share share;
    *story = (struct commit_story){.operation = OPERATION_COMMIT};
    if (waits == NULL || result->trace == NULL || result->trace->level == IO_TRACE_OFF) {
        return false;
    }
    if (!waits_share(waits, OPERATION_COMMIT, WAIT_LOG, &share)) {
        story->operation = OPERATION_APPEND;
    }
    const struct histogram *calls = recorder_histogram(&result->totals, story->operation);
    const struct histogram *layers = result->trace->syncs[TRACE_WAL].layers;
    if (!waits_share(waits, story->operation, WAIT_LOG, &share) || calls->total == 0 ||
        layers[TRACE_TOTAL].total == 0) {
        return false;
    }
    story->mean_ms = histogram_mean_ns(calls) / (double)MONO_NS_PER_MS;
    const double sync_ns = histogram_mean_ns(&layers[TRACE_TOTAL]);
    const double others = waits_type_share(waits, story->operation, WAIT_LOG, "LWLock");
    const double own = share.share.share - others;
    add_part(story, "waiting until another session had written the log", others);
    static const char *const names[] = {[TRACE_VFS] = "log write: file system",
                                        [TRACE_QUEUE] = "log write: queue of the device",
                                        [TRACE_DEVICE] = "log write: device"};
    for (size_t layer = TRACE_VFS; layer <= TRACE_DEVICE; layer++) {
        add_part(story, names[layer], own * histogram_mean_ns(&layers[layer]) / sync_ns);
    }
    double rest = 1 - share.share.share;
    static const struct {
        enum wait_class class;
        const char *name;
    } classes[] = {{WAIT_CPU, "CPU of the server, or waiting for it"},
                   {WAIT_CLIENT, "client or network"},
                   {WAIT_LOCK, "row or table lock"}};
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        waits_share(waits, story->operation, classes[i].class, &share);
        add_part(story, classes[i].name, share.share.share);
        rest -= share.share.share;
    }
    add_part(story, "other waits", rest > 0.0005 ? rest : 0);
    return true;
}

static void fill_waits(struct figure_set *set, const struct waits *waits)
{
    for (size_t i = 0; i < set->operations.count && waits != NULL; i++) {
        double sum = 0;
        for (size_t k = 0; k < WAIT_CLASSES; k++) {
            const double share = waits_type_share(waits, i, (enum wait_class)k, "");
            set->waits[i].percents[k] = 100 * share;
            sum += share;
        }
        set->waits[i].is_known = sum > 0; /* the shares of an operation that was seen add up to 1 */
    }
}

/* Sets the figures that are counters of the run. Some counters are known only in some runs,
 * for example in runs with a script, --timeout or --rate. */
static void fill_counters(struct figure_set *set, const struct plan *plan,
                          const struct result *result)
{
    const uint64_t *counters = result->totals.counters;
    for (size_t id = 0; id < FIGURES; id++) {
        const int counter = figure_table[id].counter;
        if (counter >= 0) {
            set->values[id] = (struct figure_value){
                .is_known = plan->script != NULL || !figure_needs_script((enum figure_id)id),
                .count = counters[counter]};
        }
    }
    const bool has_rate = plan_has_rate(plan);
    const bool is_checked = counters[RECORDER_FRESH_CHECKS] > 0;
    /* the counters that only some runs have */
    const struct {
        enum figure_id id;
        bool is_known;
    } known[] = {{FIGURE_COUNTER_TIMEOUTS, plan->timeout_ns > 0},
                 {FIGURE_COUNTER_RESPONSES_UNANSWERED, has_rate},
                 {FIGURE_FRESH_BEHIND, is_checked},
                 {FIGURE_FRESH_BACKWARD, is_checked},
                 {FIGURE_TRANSACTIONS_DUE, has_rate},
                 {FIGURE_TRANSACTIONS_NOT_DUE, plan->has_group_rates},
                 {FIGURE_SKIPPED, has_rate},
                 {FIGURE_TRANSACTIONS_NOT_BEGUN, has_rate},
                 {FIGURE_LATE, has_rate}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        set->values[known[i].id].is_known &= known[i].is_known;
    }
}

static void fill_outcome(struct figure_set *set, const struct plan *plan,
                         const struct result *result)
{
    const struct finding *first = result->findings.count > 0 ? &result->findings.entries[0] : NULL;
    mono_format_utc(result->started_wall_ns, set->started_utc, sizeof set->started_utc);
    FILL(set, TEXT(ADAPTER, plan->adapter->name), TEXT(TARGET, plan->facts->target),
         COUNT(SESSIONS, plan->sessions), COUNT_IF(RECORDS, plan->records > 0, plan->records),
         COUNT(IDLE_SESSIONS, plan->idle_sessions), TEXT(METHOD, result->connection.method),
         TEXT(ENGINE, result->engine), TEXT(NOTE, result->connection.note),
         TEXT(STARTED_UTC, set->started_utc),
         TEXT(STOP_REASON, stop_reason_names[result->stop_reason]),
         TEXT(VERDICT_REASON, result->verdict_reason),
         COUNT_IF(EXIT_CODE, result->verdict != VERDICT_RUNNING, result->exit_code),
         TEXT(EXIT_REASON, result->exit_reason),
         TEXT(FIRST_LIMIT, first == NULL ? NULL : first->name),
         TEXT(FIRST_LIMIT_SIDE, first == NULL ? NULL : limit_side_names[first->side]),
         COUNT_IF(FIRST_LIMIT_SESSIONS, first != NULL, first == NULL ? 0 : first->sessions));
    set->values[FIGURE_VERDICT] =
        (struct figure_value){true, 0, (double)result->verdict, verdict_names[result->verdict]};
}

static void fill_speed(struct figure_set *set, const struct plan *plan, const struct result *result)
{
    const bool has_rate = plan_has_rate(plan);
    const double append_s = figures_seconds(result->append_ns);
    const double rate = result->rate_achieved_percent;
    const double acknowledged = (double)result->rows.acknowledged;
    FILL(set, NUMBER(ELAPSED_S, figures_seconds(result->elapsed_ns)),
         NUMBER_IF(THROUGHPUT_ROWS_PER_S, result->elapsed_ns > 0, result->throughput_rows_per_s),
         NUMBER(CONNECT_S, figures_seconds(result->connect_ns)), NUMBER(APPEND_S, append_s),
         NUMBER(DISCONNECT_S, figures_seconds(result->disconnect_ns)),
         /* the rate excludes the time to connect and disconnect */
         NUMBER_IF(APPEND_ROWS_PER_S, result->append_ns > 0, acknowledged / append_s),
         NUMBER_IF(RATE_ACHIEVED_PERCENT, has_rate && rate >= 0, rate));
}

/* Returns whether server_cpu_s includes the servers of all hosts that have rows of the run. */
static bool has_all_servers(const struct result *result)
{
    unsigned hosts = 0;
    for (size_t i = 0; i < result->host_count; i++) {
        hosts += result->hosts[i].counters[RECORDER_ROWS_ACKNOWLEDGED] > 0 ? 1 : 0;
    }
    return result->host_count <= 1 || hosts <= result->resources.hosts_measured;
}

static void fill_resources(struct figure_set *set, const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const struct cpu_shares *max = &resources->max_cpu, *at_max = &resources->cpu_at_max;
    const struct cpu_shares *mean = &resources->mean_cpu;
    const char *source = memory_source_names[resources->memory_source];
    const uint64_t server_bytes = (uint64_t)resources->max_server_memory_bytes;
    const uint64_t client_bytes = resources->max_client_memory_bytes;
    const bool has_memory =
        resources->memory_source != MEMORY_UNKNOWN && resources->max_server_memory_bytes >= 0;
    /* the server's CPU time is read some ms late, so it is too inexact for a run below 1 s */
    const double server_s = result->append_ns >= MONO_NS_PER_S ? resources->server_cpu_s : -1;
    FILL(set, COUNT(CPUS, resources->cpus), POSITIVE(MAX_CPU_PERCENT, max->host),
         POSITIVE(MAX_SERVER_CPU_PERCENT, max->server),
         POSITIVE(MAX_CLIENT_CPU_PERCENT, max->client),
         POSITIVE(SERVER_CPU_PERCENT_AT_MAX, at_max->server),
         POSITIVE(CLIENT_CPU_PERCENT_AT_MAX, at_max->client),
         POSITIVE(OTHER_CPU_PERCENT_AT_MAX, at_max->server < 0 ? -1 : cpu_others(at_max, true)),
         POSITIVE(MEAN_HOST_CPU_PERCENT, mean->host),
         POSITIVE(MEAN_SERVER_CPU_PERCENT, mean->server),
         POSITIVE(MEAN_CLIENT_CPU_PERCENT, mean->client),
         POSITIVE(MEAN_OTHER_CPU_PERCENT, mean->server < 0 ? -1 : cpu_others(mean, true)),
         TEXT(CLIENT_BOUND, resources->client_bound),
         TEXT(MEMORY_SOURCE, has_memory ? source : NULL), TEXT(MEMORY_KIND, source),
         NUMBER_IF(MAX_MEMORY_MIB, has_memory, figures_mib(server_bytes)),
         COUNT_IF(MAX_SERVER_MEMORY_BYTES, has_memory, server_bytes),
         COUNT_IF(MAX_SERVER_PROCESSES, resources->max_server_processes > 0,
                  resources->max_server_processes),
         COUNT_IF(SERVER_PID, resources->server_pid > 0, (uint64_t)resources->server_pid),
         TEXT(SERVER_NAME, resources->server_name), TEXT(SERVER_NOTE, resources->server_note),
         NUMBER_IF(MAX_CLIENT_MEMORY_MIB, client_bytes > 0, figures_mib(client_bytes)),
         COUNT_IF(MAX_CLIENT_MEMORY_BYTES, client_bytes > 0, client_bytes),
         NUMBER(CLIENT_CPU_S, resources->client_cpu_s), POSITIVE(SERVER_CPU_S, server_s),
         NUMBER_IF(SERVER_CPU_US_PER_ROW, server_s >= 0 && has_all_servers(result),
                   1e6 * server_s / (double)result->rows.acknowledged),
         NUMBER(SUSPENDED_S, figures_seconds(resources->suspended_ns)));
}

static void fill_ledgers(struct figure_set *set, const struct plan *plan,
                         const struct result *result)
{
    const struct session_ledger *sessions = &result->sessions;
    const struct row_ledger *rows = &result->rows;
    const struct batch_ledger *batches = &result->batches;
    /* during a run that was changed by hand, the number of batches that were due is unknown */
    const bool has_batches = plan_has_rate(plan) && plan->script == NULL &&
                             (result->verdict != VERDICT_RUNNING || batches->due > 0);
#define SESSIONS(member, figure) COUNT(figure, sessions->member),
#define OUTCOMES(member, figure, id, total) COUNT(figure, sessions->member),
#define ROWS(member, figure) COUNT(figure, rows->member),
#define BATCHES(member, figure) COUNT_IF(figure, has_batches, batches->member),
    FILL(set,
         SESSION_LEDGER(SESSIONS, OUTCOMES) ROW_LEDGER(ROWS) BATCH_LEDGER(BATCHES)
             COUNT(SESSIONS_BALANCE, session_ledger_balances(sessions)),
         COUNT(ROWS_BALANCE, row_ledger_balances(rows)),
         COUNT(ROWS_AT_LEAST, has_unreported(plan, result)),
         COUNT_IF(BATCHES_LATE, has_batches, result->totals.counters[RECORDER_LATE]));
#undef SESSIONS
#undef OUTCOMES
#undef ROWS
#undef BATCHES
}

static void fill_verification(struct figure_set *set, const struct plan *plan,
                              const struct result *result)
{
    const char *const *states = figures_verification_names;
    const uint64_t *counters = result->totals.counters;
    const struct verification *v = &result->verification;
    const struct row_verification *r = &result->row_verification;
    const bool is_counted = v->state == VERIFICATION_DONE, is_read = r->state == VERIFICATION_DONE;
    if (is_counted && plan->script == NULL && v->rows_before > 0 && !v->is_shrunk &&
        counters[RECORDER_READS] > 0) {
        snprintf(set->note, sizeof set->note,
                 "the table had %s rows before the run, and reads cost more in a larger table: "
                 "--recreate starts from an empty table",
                 UNITS_COUNT(v->rows_before));
    }
    FILL(set, TEXT(VERIFICATION, states[v->state]),
         TEXT(VERIFICATION_REASON, is_counted ? NULL : v->reason),
         COUNT_IF(ROWS_BEFORE, is_counted, v->rows_before),
         COUNT_IF(ROWS_AFTER, is_counted, v->rows_after), COUNT_IF(ROWS_LOST, is_counted, v->lost),
         COUNT_IF(ROWS_LOST_AT_MOST, is_counted, v->lost_at_most),
         COUNT_IF(ROWS_IN_DOUBT_ARRIVED, is_counted, v->in_doubt_arrived),
         COUNT_IF(ROWS_REJECTED_ARRIVED, is_counted, v->rejected_arrived),
         COUNT_IF(ROWS_SURPLUS, is_counted, v->surplus),
         COUNT_IF(IS_SHRUNK, is_counted, v->is_shrunk), TEXT(VERIFICATION_NOTE, set->note),
         TEXT(ROW_VERIFICATION, states[r->state]),
         TEXT(ROW_VERIFICATION_REASON, is_read ? NULL : r->reason),
         COUNT_IF(VERIFIED_READ, is_read, r->read), COUNT_IF(VERIFIED_PRESENT, is_read, r->present),
         COUNT_IF(VERIFIED_LOST, is_read, r->lost),
         COUNT_IF(VERIFIED_SESSIONS_LOST, is_read, r->sessions_lost),
         COUNT_IF(VERIFIED_IN_DOUBT_PRESENT, is_read, r->in_doubt_present),
         COUNT_IF(VERIFIED_REJECTED_PRESENT, is_read, r->rejected_present),
         COUNT_IF(VERIFIED_DUPLICATES, is_read, r->duplicates),
         COUNT_IF(VERIFIED_FOREIGN, is_read, r->foreign),
         COUNT_IF(WORST_LAG_ROWS, counters[RECORDER_FRESH_CHECKS] > 0, result->worst_lag_rows));
}

static void fill_fairness(struct figure_set *set, const struct fairness *fairness)
{
    const bool is_fair = fairness->sessions > 0;
    FILL(set, COUNT(FAIRNESS_SESSIONS, fairness->sessions),
         COUNT_IF(SLOWEST_SESSION, is_fair, fairness->slowest_session),
         NUMBER_IF(SLOWEST_ROWS_PER_S, is_fair, fairness->slowest_rows_per_s),
         COUNT_IF(FASTEST_SESSION, is_fair, fairness->fastest_session),
         NUMBER_IF(FASTEST_ROWS_PER_S, is_fair, fairness->fastest_rows_per_s),
         COUNT_IF(LONGEST_GAP_SESSION, is_fair, fairness->longest_gap_session),
         NUMBER_IF(LONGEST_GAP_MS, is_fair, figures_ms(fairness->longest_gap_ns)));
}

static void fill_latencies(struct figure_set *set, const struct result *result)
{
    for (size_t i = 0; i < set->operations.count; i++) {
        const struct histogram *histogram = recorder_histogram(&result->totals, i);
        struct figure_latency *latency = &set->latencies[i];
        latency->count = histogram->total;
        for (size_t point = 0; point < set->operations.points.count; point++) {
            latency->points_ms[point] =
                figures_ms(figures_point_ns(histogram, &set->operations.points.entries[point]));
        }
    }
}

void figures_of_result(struct figure_set *set, const struct plan *plan, const struct result *result)
{
    *set =
        (struct figure_set){.operations = plan_operations(plan),
                            .counts = (const uint64_t(*)[OPERATION_COUNTS])result->totals.counts};
    fill_waits(set, result->waits);
    fill_counters(set, plan, result);
    fill_outcome(set, plan, result);
    fill_speed(set, plan, result);
    fill_resources(set, result);
    fill_io(set, result);
    fill_ledgers(set, plan, result);
    fill_verification(set, plan, result);
    fill_fairness(set, &result->fairness);
    fill_transactions(set, plan, result);
    figures_of_trace(set, result->trace);
    fill_latencies(set, result);
}
