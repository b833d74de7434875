#include "report/tables.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "base/text.h"
#include "measure/io.h"
#include "measure/levels.h"
#include "plan/plan.h"
#include "ranks/merge.h"
#include "report/figures.h"
#include "trace/switches.h"

const struct report_cell *report_row_find(const struct report_row *row, const char *key)
{
    for (size_t i = 0; i < row->count; i++) {
        if (strcmp(row->cells[i].key, key) == 0) {
            return &row->cells[i];
        }
    }
    return NULL;
}

bool report_row_is_of(const struct report_row *row, const struct report_table *table)
{
    for (size_t i = 0; i < row->count; i++) {
        const struct report_cell *cell = &row->cells[i];
        const char *name = cell->member == NULL ? cell->key : cell->member;
        if (cell->object == NULL && (cell->place == IN_JSON || cell->place == IN_CSV_AND_JSON) &&
            strcmp(name, table->wanted) == 0) {
            return table->unwanted == NULL || strcmp(cell->value.text, table->unwanted) != 0;
        }
    }
    return false;
}

bool report_column_is_shown(const struct report_column *column, bool is_text, bool has_script)
{
    return (is_text ? column->text : column->page.title) != NULL &&
           (column->runs == ALL_RUNS || (column->runs == WITH_SCRIPT) == has_script);
}

_Static_assert(OPERATION_COUNTS + FIGURE_POINTS_MAX + 3 <= REPORT_CELLS_MAX,
               "cells of an operation");
_Static_assert(7 + FIGURE_POINTS_MAX <= REPORT_CELLS_MAX, "cells of a metric");
_Static_assert(14 + IO_FIGURES <= REPORT_CELLS_MAX, "cells of a sample of a rank");
_Static_assert(35 + 3 * OPERATIONS <= REPORT_CELLS_MAX, "cells of an interval");

/* Adds a cell that is in CSV and in JSON. Returns the cell; the caller may change the members
 * `place`, `object` and `member`. */
static struct report_cell *add(struct report_row *row, const char *key, enum figure_unit unit,
                               struct figure_value value)
{
    struct report_cell *cell = &row->cells[row->count++];
    *cell = (struct report_cell){.unit = unit, .value = value};
    snprintf(cell->key, sizeof cell->key, "%s", key);
    return cell;
}

static struct report_cell *add_count_if(struct report_row *row, const char *key, bool is_known,
                                        uint64_t count)
{
    return add(row, key, FIGURE_UNIT_COUNT,
               (struct figure_value){.is_known = is_known, .count = count});
}

static struct report_cell *add_count(struct report_row *row, const char *key, uint64_t count)
{
    return add_count_if(row, key, true, count);
}

static struct report_cell *add_text(struct report_row *row, const char *key, const char *text)
{
    return add(row, key, FIGURE_UNIT_TEXT, (struct figure_value){.is_known = true, .text = text});
}

static struct report_cell *add_number(struct report_row *row, const char *key,
                                      enum figure_unit unit, bool is_known, double number)
{
    return add(row, key, unit, (struct figure_value){.is_known = is_known, .number = number});
}

/* Adds a number. A negative number means unknown. */
static struct report_cell *add_positive(struct report_row *row, const char *key,
                                        enum figure_unit unit, double number)
{
    return add_number(row, key, unit, number >= 0, number);
}

static struct report_cell *add_seconds(struct report_row *row, const char *key, int64_t ns)
{
    return add_number(row, key, FIGURE_UNIT_S, true, figures_seconds(ns));
}

/* Adds a moment. A negative moment means unknown. */
static struct report_cell *add_moment(struct report_row *row, const char *key, int64_t ns)
{
    return add_number(row, key, FIGURE_UNIT_MOMENT, ns >= 0, figures_seconds(ns));
}

/* Adds rows or transactions per second. The rate is unknown if no time has passed. */
static struct report_cell *add_rate(struct report_row *row, const char *key, enum figure_unit unit,
                                    uint64_t count, double seconds)
{
    return add_number(row, key, unit, seconds > 0, (double)count / (seconds > 0 ? seconds : 1));
}

static struct report_cell *add_ms(struct report_row *row, const char *key, bool is_known,
                                  int64_t ns)
{
    return add_number(row, key, FIGURE_UNIT_MS, is_known, figures_ms(ns));
}

/* Adds a number of bytes as MiB. A negative number means unknown. */
static struct report_cell *add_mib(struct report_row *row, const char *key, int64_t bytes)
{
    return add_number(row, key, FIGURE_UNIT_MIB, bytes >= 0, figures_mib((uint64_t)bytes));
}

static struct report_cell *add_bytes(struct report_row *row, const char *key, int64_t bytes)
{
    return add_count_if(row, key, bytes >= 0, (uint64_t)bytes);
}

static struct report_cell *add_percent(struct report_row *row, const char *key, double percent)
{
    return add_positive(row, key, FIGURE_UNIT_PERCENT, percent);
}

static void add_cpu(struct report_row *row, const struct cpu_shares *cpu)
{
    add_percent(row, "host_cpu_percent", cpu->host);
    add_percent(row, "server_cpu_percent", cpu->server);
    add_percent(row, "client_cpu_percent", cpu->client);
}

/* Adds p50, p99 and maximum of an operation. */
static void add_latency(struct report_row *row, const char *operation,
                        const struct recorder_latency *latency)
{
    static const char *const points[] = {"p50", "p99", "max"};
    const int64_t points_ns[] = {latency->p50_ns, latency->p99_ns, latency->max_ns};
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        char key[FIGURE_KEY_BYTES];
        snprintf(key, sizeof key, "%s_%s_ms", operation, points[i]);
        add_ms(row, key, latency->count > 0, points_ns[i]);
    }
}

/* The columns of a table, and their number. */
#define COLUMNS(...)                                                                               \
    .columns = (const struct report_column[]){__VA_ARGS__},                                        \
    .column_count =                                                                                \
        sizeof((const struct report_column[]){__VA_ARGS__}) / sizeof(struct report_column)

/* Levels of a search. */

/* Adds the latencies of an operation. In JSON, the latencies are in an object with the operation's
 * name. If the level does not have the operation, JSON has no object and CSV has empty cells. */
static void add_level_latency(struct report_row *row, const char *operation, bool has_operation,
                              const struct recorder_latency *latency)
{
    static const char *const members[] = {"p50_ms", "p99_ms", "max_ms"};
    static const struct recorder_latency none;
    if (has_operation) {
        struct report_cell *count = add_count(row, "count", latency->count);
        count->place = IN_JSON;
        count->object = operation;
    }
    add_latency(row, operation, has_operation ? latency : &none);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        struct report_cell *cell = &row->cells[row->count - COUNT_OF(members) + i];
        cell->place = has_operation ? IN_CSV_AND_JSON : IN_CSV;
        cell->object = operation;
        cell->member = members[i];
    }
}

static void fill_level(struct report_row *row, const void *record)
{
    const struct level *level = record;
    const bool has_hold = level->hold_ns > 0, has_script = level->is_scripted;
    const bool has_rows = has_hold && !has_script, has_transactions = has_hold && has_script;
    const double lowest = has_script ? -1 : level->lowest_rows_per_s;
    const double highest = has_script ? -1 : level->highest_rows_per_s;
    const struct cause *cause = level_main_cause(level);
    const char *outcome = level_outcome_names[level->outcome];
    const char *reason = level_reason_names[level->reason];
    add_count(row, "sessions", level->sessions);
    add_text(row, "outcome", outcome);
    add_text(row, "reason", reason);
    add_text(row, "state", level->outcome == LEVEL_HELD ? outcome : reason)->place = IN_TEXT;
    add_seconds(row, "start_s", level->start_ns);
    add_seconds(row, "connect_s", level->connect_ns);
    add_seconds(row, "hold_s", level->hold_ns);
    add_count(row, "sessions_added", level->added)->member = "added";
    add_count(row, "sessions_up", level->up)->member = "up";
    add_count(row, "sessions_refused", level->ledger.refused)->member = "refused";
    add_count(row, "sessions_timed_out", level->ledger.timed_out)->member = "timed_out";
    add_count(row, "sessions_not_started", level->ledger.not_started)->member = "not_started";
    add_count(row, "sessions_dropped", level->ledger.dropped)->member = "dropped";
    add_count_if(row, "sessions_stalled", has_hold, level->stalled)->member = "stalled";
    add_count_if(row, "calls_failed", has_hold, level->failed);
    add_count_if(row, "rows", has_rows, level->rows);
    add_number(row, "rows_per_s", FIGURE_UNIT_ROWS_PER_S, has_rows, level->rows_per_s);
    add_positive(row, "lowest_rows_per_s", FIGURE_UNIT_ROWS_PER_S, lowest);
    add_positive(row, "highest_rows_per_s", FIGURE_UNIT_ROWS_PER_S, highest);
    add_count_if(row, "transactions", has_transactions, level->rows);
    add_number(row, "transactions_per_s", FIGURE_UNIT_PER_S, has_transactions, level->rows_per_s);
    add_level_latency(row, "append", !has_script, &level->append);
    add_level_latency(row, "transaction", has_script, &level->append);
    add_level_latency(row, "connect", true, &level->connect);
    add_cpu(row, &level->cpu);
    add_mib(row, "server_memory_mib", level->server_memory_bytes)->place = IN_CSV;
    add_mib(row, "client_memory_mib", level->client_memory_bytes)->place = IN_CSV;
    add_bytes(row, "server_memory_bytes", level->server_memory_bytes)->place = IN_JSON;
    add_bytes(row, "client_memory_bytes", level->client_memory_bytes)->place = IN_JSON;
    char kind[FIGURE_KEY_BYTES] = "";
    if (level->wait.is_known) {
        operation_key(&row->operations->entries[level->wait.operation], kind);
        snprintf(row->text, sizeof row->text, "%.60s: %s", kind,
                 wait_class_texts[level->wait.class].name);
    }
    add_text(row, "largest_wait", level->wait.is_known ? row->text : NULL);
    add_number(row, "largest_wait_percent", FIGURE_UNIT_PERCENT, level->wait.is_known,
               level->wait.percent);
    add_count_if(row, "wait_polls", level->wait.is_known, level->wait.polls);
    add_text(row, "error", cause == NULL ? NULL : cause->error.text)->place = IN_CSV;
}

const struct report_table report_levels = {
    .fill = fill_level,
    COLUMNS(
        {"sessions", {"sessions", AS_NUMBER}, "Sessions", 9, ALL_RUNS},
        {.key = "outcome", .page = {"outcome", AS_NUMBER}},
        {.key = "reason", .page = {"reason", AS_NUMBER}},
        {.key = "state", .text = "", .width = -13},
        {"rows_per_s", {"rows/s", AS_NUMBER}, "rows/s", 9, WITHOUT_SCRIPT},
        {"append_p50_ms", {"append p50, ms", AS_NUMBER}, "append\np50", 9, WITHOUT_SCRIPT},
        {"append_p99_ms", {"append p99, ms", AS_NUMBER}, "append\np99", 9, WITHOUT_SCRIPT},
        {"transactions_per_s", {"transactions/s", AS_NUMBER}, "trans./s", 9, WITH_SCRIPT},
        {"transaction_p50_ms", {"transaction p50, ms", AS_NUMBER}, "trans.\np50", 9, WITH_SCRIPT},
        {"transaction_p99_ms", {"transaction p99, ms", AS_NUMBER}, "trans.\np99", 9, WITH_SCRIPT},
        {"connect_p99_ms", {"connect p99, ms", AS_NUMBER}, "connect\np99", 9, ALL_RUNS},
        {"host_cpu_percent", {"CPU, %", AS_NUMBER}, "CPU", 5, ALL_RUNS},
        {"server_memory_mib", {"server memory, MiB", AS_NUMBER}, "server\nmemory", 9, ALL_RUNS},
        {.key = "largest_wait", .page = {"largest wait in calls", AS_TEXT}},
        {.key = "largest_wait_percent", .page = {"its share, %", AS_NUMBER}},
        {.key = "wait_polls", .page = {"polls", AS_NUMBER}}),
    .heading = "Levels",
    .gap = " ",
    .has_no_decimals = true,
};

/* Hosts. */

static void fill_host(struct report_row *row, const void *record)
{
    static const uint64_t none[RECORDER_COUNTERS];
    const struct host_result *host = record;
    const uint64_t *counters = host->counters == NULL ? none : host->counters;
    const bool has_script = operation_is_used(row->operations, OPERATION_TRANSACTION);
    const bool is_counted = host->is_counted && !has_script; /* a script has several tables */
    static const struct {
        enum operation_id operation;
        const char *p50, *p99;
    } latencies[] = {{OPERATION_APPEND, "append_p50_ms", "append_p99_ms"},
                     {OPERATION_READ, "read_p50_ms", "read_p99_ms"},
                     {OPERATION_TRANSACTION, "transaction_p50_ms", "transaction_p99_ms"}};
    add_text(row, "host", host->name);
    add_count(row, "sessions", counters[RECORDER_SESSIONS_CONNECTED]);
    add_count(row, "connections", counters[RECORDER_CONNECTIONS_OPENED]);
    add_count(row, "connects_failed", counters[RECORDER_CONNECTS_FAILED]);
    add_count(row, "connections_lost", counters[RECORDER_CONNECTIONS_LOST]);
    add_count(row, "reconnects", counters[RECORDER_RECONNECTS]);
    add_count(row, "refusals", counters[RECORDER_REFUSALS]);
    add_count(row, "errors", figures_host_errors(counters));
    add_count(row, "rows_acknowledged", counters[RECORDER_ROWS_ACKNOWLEDGED]);
    add_count(row, "rows_rejected", counters[RECORDER_ROWS_REJECTED]);
    add_count(row, "rows_in_doubt", counters[RECORDER_ROWS_IN_DOUBT]);
    add_rate(row, "throughput_rows_per_s", FIGURE_UNIT_ROWS_PER_S,
             counters[RECORDER_ROWS_ACKNOWLEDGED], figures_seconds(host->elapsed_ns));
    add_count(row, "appends", counters[RECORDER_APPENDS]);
    add_count(row, "appends_failed", counters[RECORDER_APPENDS_FAILED]);
    add_count(row, "reads", counters[RECORDER_READS]);
    add_count(row, "reads_failed", counters[RECORDER_READS_FAILED]);
    add_count_if(row, "transactions", has_script, counters[RECORDER_TRANSACTIONS_COMMITTED]);
    add_rate(row, "transactions_per_s", FIGURE_UNIT_PER_S,
             counters[RECORDER_TRANSACTIONS_COMMITTED],
             has_script ? figures_seconds(host->measured_ns) : 0);
    add_count_if(row, "transactions_failed", has_script, counters[RECORDER_TRANSACTIONS_FAILED]);
    for (size_t i = 0; i < COUNT_OF(latencies); i++) {
        const struct recorder_latency *latency = &host->latencies[latencies[i].operation];
        add_ms(row, latencies[i].p50, latency->count > 0, latency->p50_ns);
        add_ms(row, latencies[i].p99, latency->count > 0, latency->p99_ns);
    }
    add_count_if(row, "rows_before", is_counted, is_counted ? host->tables[0].before : 0);
    add_count_if(row, "rows_after", is_counted, is_counted ? host->tables[0].after : 0);
    add_text(row, "not_counted", host->is_counted ? NULL : host->reason)->place = IN_JSON;
}

static const void *host_record(const struct report_source *source, size_t i,
                               union report_record *room)
{
    (void)room;
    const struct result *result = source->result;
    return result->host_count > 1 && i < result->host_count ? &result->hosts[i] : NULL;
}

const struct report_table report_hosts = {
    .fill = fill_host,
    .record = host_record,
    COLUMNS({"host", {"host", AS_NAME}, "Hosts", -20, ALL_RUNS},
            {"sessions", {"sessions", AS_NUMBER}, "sessions", 9, ALL_RUNS},
            {"rows_acknowledged", {"rows", AS_NUMBER}, "rows", 13, WITHOUT_SCRIPT},
            {"throughput_rows_per_s", {"rows/s", AS_NUMBER}, "rows/s", 9, WITHOUT_SCRIPT},
            {"append_p50_ms", {"append p50", AS_NUMBER}, "p50", 8, WITHOUT_SCRIPT},
            {"append_p99_ms", {"append p99", AS_NUMBER}, "p99", 8, WITHOUT_SCRIPT},
            {.key = "read_p99_ms", .page = {"read p99", AS_NUMBER}, .runs = WITHOUT_SCRIPT},
            {"transactions", {"transactions", AS_NUMBER}, "transactions", 13, WITH_SCRIPT},
            {"transactions_per_s", {"transactions/s", AS_NUMBER}, "trans./s", 9, WITH_SCRIPT},
            {"transaction_p50_ms", {"p50", AS_NUMBER}, "p50", 8, WITH_SCRIPT},
            {"transaction_p99_ms", {"p99", AS_NUMBER}, "p99", 8, WITH_SCRIPT},
            {.key = "append_p99_ms", .page = {"append p99", AS_NUMBER}, .runs = WITH_SCRIPT},
            {"connections_lost", {"lost", AS_NUMBER}, "lost", 6, ALL_RUNS},
            {.key = "reconnects", .page = {"reconnects", AS_NUMBER}},
            {"errors", {"errors", AS_NUMBER}, "errors", 7, ALL_RUNS}),
    .heading = "Hosts",
    .list = "hosts",
    .wanted = "host",
};

static void fill_host_interval(struct report_row *row, const void *record)
{
    static const uint64_t none[RECORDER_COUNTERS];
    static const struct interval nothing;
    const struct host_interval *host = record;
    const struct interval *interval = host->interval == NULL ? &nothing : host->interval;
    const uint64_t *counters = interval->hosts == 0 ? none : interval->hosts_counters[host->host];
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    const bool has_script = operation_is_used(row->operations, OPERATION_TRANSACTION);
    add_seconds(row, "start_s", interval->start_ns);
    add_seconds(row, "end_s", interval->end_ns);
    add_text(row, "host", host->name);
    add_count(row, "rows", counters[RECORDER_ROWS_ACKNOWLEDGED]);
    add_rate(row, "rows_per_s", FIGURE_UNIT_ROWS_PER_S, counters[RECORDER_ROWS_ACKNOWLEDGED],
             seconds);
    add_count_if(row, "transactions", has_script, counters[RECORDER_TRANSACTIONS_COMMITTED]);
    add_rate(row, "transactions_per_s", FIGURE_UNIT_PER_S,
             counters[RECORDER_TRANSACTIONS_COMMITTED], has_script ? seconds : 0);
    add_count(row, "errors", figures_host_errors(counters));
    add_count(row, "connects_failed", counters[RECORDER_CONNECTS_FAILED]);
    add_count(row, "connections_lost", counters[RECORDER_CONNECTIONS_LOST]);
    add_count(row, "reconnects", counters[RECORDER_RECONNECTS]);
}

const struct report_table report_hosts_intervals = {.fill = fill_host_interval};

/* Intervals of about a second. */

static void add_interval(struct report_row *row, const struct interval *interval)
{
    const uint64_t *counters = interval->counters;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    const bool has_script = operation_is_used(row->operations, OPERATION_TRANSACTION);
    add_seconds(row, "start_s", interval->start_ns);
    add_seconds(row, "end_s", interval->end_ns);
    add_count(row, "sessions_alive", interval->sessions_alive);
    add_count(row, "rows", counters[RECORDER_ROWS_ACKNOWLEDGED]);
    add_rate(row, "rows_per_s", FIGURE_UNIT_ROWS_PER_S, counters[RECORDER_ROWS_ACKNOWLEDGED],
             seconds);
    add_count(row, "appends", counters[RECORDER_APPENDS]);
    add_count(row, "reads", counters[RECORDER_READS]);
    add_count(row, "errors", figures_errors(counters));
    add_percent(row, "error_percent", figures_error_percent(counters, has_script));
    add_count(row, "rows_rejected", counters[RECORDER_ROWS_REJECTED]);
    add_count(row, "rows_in_doubt", counters[RECORDER_ROWS_IN_DOUBT]);
    add_count(row, "sessions_connected", counters[RECORDER_SESSIONS_CONNECTED]);
    add_count(row, "sessions_dropped", counters[RECORDER_SESSIONS_DROPPED]);
    add_count(row, "busy_retries", counters[RECORDER_BUSY_RETRIES]);
    for (size_t place = 0; place < OPERATIONS; place++) {
        const size_t i = operation_at(row->operations, place);
        const struct operation *operation = &row->operations->entries[i];
        if (operation->is_series) {
            add_latency(row, operation->name, &interval->latencies[i]);
        }
    }
    add_count(row, "connections_lost", counters[RECORDER_CONNECTIONS_LOST]);
    add_count(row, "reconnects", counters[RECORDER_RECONNECTS]);
    add_count(row, "reconnects_failed", counters[RECORDER_RECONNECTS_FAILED]);
    add_count(row, "churns", counters[RECORDER_CHURNS]);
    add_count(row, "refusals", counters[RECORDER_REFUSALS]);
    add_count(row, "sessions_without_progress", interval->sessions_without_progress);
    add_count(row, "sessions_reading", interval->sessions_reading);
    add_count(row, "sessions_working", interval->sessions_working);
    add_count_if(row, "transactions", has_script, counters[RECORDER_TRANSACTIONS_COMMITTED]);
    add_rate(row, "transactions_per_s", FIGURE_UNIT_PER_S,
             counters[RECORDER_TRANSACTIONS_COMMITTED], has_script ? seconds : 0);
    add_count_if(row, "transactions_failed", has_script, counters[RECORDER_TRANSACTIONS_FAILED]);
    add_count_if(row, "transactions_in_doubt", has_script,
                 counters[RECORDER_TRANSACTIONS_IN_DOUBT]);
    add_count_if(row, "retries", has_script, transactions_retries(counters));
    add_count_if(row, "checks_failed", has_script, counters[RECORDER_CHECKS_FAILED]);
    add_count_if(row, "writes", has_script, counters[RECORDER_WRITES]);
    add_count_if(row, "others", has_script, counters[RECORDER_OTHERS]);
    add_count(row, "rows_held", interval->rows_held);
}

static void fill_interval(struct report_row *row, const void *record)
{
    const struct interval *interval = record;
    add_interval(row, interval);
    add_count_if(row, "stage", interval->stage > 0, interval->stage);
}

const struct report_table report_intervals = {.fill = fill_interval};

/* Stages of a run. */

static void fill_stage(struct report_row *row, const void *record)
{
    const struct interval *stage = record;
    add_count(row, "stage", stage->stage);
    add_count(row, "target", stage->target);
    add_interval(row, stage);
}

const struct report_table report_stages = {
    .fill = fill_stage,
    COLUMNS({"stage", {"stage", AS_NUMBER}, "Stage", 6, ALL_RUNS},
            {"start_s", {"from, s", AS_NUMBER}, "from", 9, ALL_RUNS},
            {"end_s", {"to, s", AS_NUMBER}, "to", 9, ALL_RUNS},
            {"target", {"target", AS_NUMBER}, "target", 9, ALL_RUNS},
            {"rows_per_s", {"rows/s", AS_NUMBER}, "rows/s", 11, WITHOUT_SCRIPT},
            {"append_p50_ms", {"append p50", AS_NUMBER}, "append\np50", 9, WITHOUT_SCRIPT},
            {"append_p99_ms", {"append p99", AS_NUMBER}, "append\np99", 9, WITHOUT_SCRIPT},
            {"transactions_per_s", {"transactions/s", AS_NUMBER}, "trans./s", 11, WITH_SCRIPT},
            {"transaction_p50_ms", {"p50", AS_NUMBER}, "p50", 9, WITH_SCRIPT},
            {"transaction_p99_ms", {"p99", AS_NUMBER}, "p99", 9, WITH_SCRIPT},
            {"errors", {"errors", AS_NUMBER}, "errors", 8, ALL_RUNS}),
    .heading = "Stages",
    .list = "stages",
    .wanted = "stage",
};

/* Samples of CPU, memory and I/O. */

static void fill_sample(struct report_row *row, const void *record)
{
    static const struct {
        const char *key;
        enum figure_unit unit;
    } of_io[] = {
#define X(id, key, unit, ...) [IO_FIGURE_##id] = {key, FIGURE_UNIT_##unit},
        IO_TABLE
#undef X
    };
    const struct sample *sample = record;
    const bool is_found = sample->server_processes > 0;
    const uint64_t memory = sample->client_memory_bytes;
    add_seconds(row, "start_s", sample->start_ns);
    add_seconds(row, "end_s", sample->end_ns);
    add_count(row, "sessions_alive", sample->sessions_alive);
    add_cpu(row, &sample->cpu);
    add_mib(row, "server_memory_mib", sample->server_memory_bytes);
    add_count_if(row, "server_processes", is_found, sample->server_processes);
    add_count_if(row, "server_threads", is_found, sample->server_threads);
    add_mib(row, "client_memory_mib", memory > 0 ? (int64_t)memory : -1);
    add_count(row, "rows_held", sample->rows_held);
    add_mib(row, "table_mib", sample->table_bytes);
    for (size_t i = 0; i < COUNT_OF(of_io); i++) {
        add_positive(row, of_io[i].key, of_io[i].unit, io_figure(&sample->io, (enum io_figure)i));
    }
}

const struct report_table report_samples = {.fill = fill_sample};

static void fill_rank_sample(struct report_row *row, const void *record)
{
    const struct rank_sample *sample = record;
    add_count(row, "rank", sample->rank);
    add_text(row, "machine", sample->machine);
    fill_sample(row, &sample->sample);
}

const struct report_table report_ranks_samples = {.fill = fill_rank_sample};

/* Sessions. */

static void fill_session(struct report_row *row, const void *record)
{
    const struct session_summary *session = record;
    const bool has_worked = session->worked_ns > 0, is_known = !session->is_of_lost_rank,
               is_verified = session->is_verified && is_known;
    add_count(row, "session", session->index);
    add_text(row, "kind", session->is_idle ? "idle" : "active");
    add_text(row, "outcome", session_outcome_names[session->outcome]);
    add_count_if(row, "rows_planned", is_known || session->rows.planned > 0, session->rows.planned);
    add_count_if(row, "rows_acknowledged", is_known, session->rows.acknowledged);
    add_count_if(row, "rows_rejected", is_known, session->rows.rejected);
    add_count_if(row, "rows_in_doubt", is_known, session->rows.in_doubt);
    add_count_if(row, "rows_not_sent", is_known, session->rows.not_sent);
    add_count_if(row, "batches", is_known, session->batches);
    add_count_if(row, "connections_lost", is_known, session->drops);
    add_count_if(row, "reconnects", is_known, session->reconnects);
    add_count_if(row, "churns", is_known, session->churns);
    add_moment(row, "first_acknowledged_s", session->first_ack_ns);
    add_moment(row, "last_acknowledged_s", session->last_ack_ns);
    add_moment(row, "worked_s", has_worked ? session->worked_ns : -1);
    add_number(row, "rows_per_s", FIGURE_UNIT_ROWS_PER_S, has_worked, session_rows_per_s(session));
    add_ms(row, "longest_gap_ms", has_worked, session->longest_gap_ns);
    add_count_if(row, "verified_present", is_verified, session->present);
    add_count_if(row, "verified_lost", is_verified, session->lost);
    add_count_if(row, "verified_unacknowledged_present", is_verified,
                 session->unacknowledged_present);
    add_count_if(row, "verified_duplicates", is_verified, session->duplicates);
}

static const void *session_record(const struct report_source *source, size_t i,
                                  union report_record *room)
{
    (void)room;
    const struct result *result = source->result;
    return result->session_list != NULL && i < result->session_count ? &result->session_list[i]
                                                                     : NULL;
}

const struct report_table report_sessions = {.fill = fill_session, .record = session_record};

/* The log of transactions. */

/* Adds a time in ns. A negative time means unknown. */
static void add_ns(struct report_row *row, const char *key, int64_t ns)
{
    add_count_if(row, key, ns >= 0, (uint64_t)ns);
}

static void fill_logged(struct report_row *row, const void *record)
{
    const struct transaction_log_row *logged = record;
    add_ns(row, "end_ns", logged->end_ns);
    add_count(row, "session", logged->session);
    add_count(row, "turn", logged->turn);
    add_text(row, "transaction", logged->transaction);
    add_text(row, "outcome", logged->outcome);
    add_count(row, "tries", logged->tries);
    add_ns(row, "latency_ns", logged->latency_ns);
    add_ns(row, "response_ns", logged->response_ns);
}

const struct report_table report_logged = {.fill = fill_logged};

/* Events that the user gave with --mark. */

static void fill_mark(struct report_row *row, const void *record)
{
    const struct mark *mark = record;
    moment_format(&mark->moment, row->text);
    add_text(row, "time", row->text);
    add_text(row, "text", mark->text);
}

const struct report_table report_marks = {.fill = fill_mark};

/* Ranks. */

static void fill_rank(struct report_row *row, const void *record)
{
    static const struct rank_result none;
    static const struct {
        const char *key;
        size_t count; /* index in the counts of struct io_reading */
    } of_io[] = {{"device_read_mib", IO_DEVICE_READ_BYTES},
                 {"device_written_mib", IO_DEVICE_WRITTEN_BYTES},
                 {"server_read_mib", IO_SERVER_READ_BYTES},
                 {"server_written_mib", IO_SERVER_WRITTEN_BYTES}};
    static const enum figure_id traced[] = {
        FIGURE_TRACE_READS,        FIGURE_TRACE_WRITES,         FIGURE_TRACE_FSYNCS,
        FIGURE_TRACE_READ_MIB,     FIGURE_TRACE_WRITTEN_MIB,    FIGURE_TRACE_FSYNC_P99_MS,
        FIGURE_TRACE_FSYNC_VFS_MS, FIGURE_TRACE_FSYNC_QUEUE_MS, FIGURE_TRACE_FSYNC_DEVICE_MS,
        FIGURE_TRACE_LOST};
    const struct rank_row *of = record;
    const struct rank_result *rank = of->rank == NULL ? &none : of->rank;
    const struct resource_summary *resources = &rank->resources;
    const struct cpu_shares *cpu = &resources->max_cpu;
    const bool is_known = rank->is_known,
               has_worked = is_known && rank->counters[RECORDER_SESSION_NS] > 0;
    const uint64_t memory = resources->max_client_memory_bytes;
    struct figure_set set = {.note = ""};
    add_count(row, "rank", of->number);
    add_text(row, "machine", rank->machine);
    add_count(row, "ranks", of->ranks)->place = IN_TEXT;
    add_count(row, "sessions", rank->sessions.requested);
    add_count(row, "sessions_connected", rank->sessions.connected);
    add_count(row, "sessions_finished", rank->sessions.finished);
    add_count(row, "sessions_dropped", rank->sessions.dropped);
    add_count(row, "rows_planned", rank->rows.planned);
    add_count(row, "rows_acknowledged", rank->rows.acknowledged);
    add_count(row, "rows_rejected", rank->rows.rejected);
    add_count(row, "rows_in_doubt", rank->rows.in_doubt);
    add_count(row, "rows_not_sent", rank->rows.not_sent);
    add_count(row, "transactions_committed", rank->counters[RECORDER_TRANSACTIONS_COMMITTED]);
    add_number(row, "elapsed_s", FIGURE_UNIT_S, is_known, figures_seconds(rank->elapsed_ns));
    add_rate(row, "throughput_rows_per_s", FIGURE_UNIT_ROWS_PER_S, rank->rows.acknowledged,
             is_known ? figures_seconds(rank->elapsed_ns) : 0);
    add_percent(row, "max_host_cpu_percent", is_known ? cpu->host : -1);
    add_percent(row, "max_client_cpu_percent", is_known ? cpu->client : -1);
    add_percent(row, "max_server_cpu_percent", is_known ? cpu->server : -1);
    add_percent(row, "run_queue_percent",
                has_worked ? 100 * (double)rank->counters[RECORDER_RUN_QUEUE_NS] /
                                 (double)rank->counters[RECORDER_SESSION_NS]
                           : -1);
    add_mib(row, "max_client_memory_mib", is_known && memory > 0 ? (int64_t)memory : -1);
    add_mib(row, "max_server_memory_mib", is_known ? resources->max_server_memory_bytes : -1);
    for (size_t i = 0; i < COUNT_OF(of_io); i++) {
        add_mib(row, of_io[i].key, is_known ? resources->io.counts[of_io[i].count] : -1);
    }
    add_ms(row, "gate_late_ms", is_known, rank->gate_late_ns);
    add_ms(row, "clock_offset_ms", is_known, rank->clock_offset_ns);
    add_ms(row, "clock_error_ms", is_known, rank->clock_error_ns);
    add_ms(row, "clock_drift_ms", is_known, rank->clock_drift_ns);
    if (of->is_clock_ours) {
        add_text(row, "clock", "leads")->place = IN_TEXT;
    } else {
        add_ms(row, "clock", true, rank->clock_error_ns)->place = IN_TEXT;
    }
    add_text(row, "verdict", is_known ? verdict_names[rank->verdict] : "LOST");
    add_text(row, "verdict_reason", rank->verdict_reason);
    figures_of_trace(&set, rank->trace);
    for (size_t i = 0; i < COUNT_OF(traced); i++) {
        const struct figure *figure = &figure_table[traced[i]];
        add(row, figure->key, figure->unit, set.values[traced[i]])->place = IN_CSV;
    }
}

const struct report_table report_ranks = {
    .fill = fill_rank,
    COLUMNS(
        {"machine", {"machine", AS_NAME}, "Machines", -20, ALL_RUNS},
        {.key = "rank", .page = {"rank", AS_NUMBER}}, {.key = "ranks", .text = "ranks", .width = 6},
        {"sessions_connected", {"sessions", AS_NUMBER}, "sessions", 10, ALL_RUNS},
        {.key = "rows_acknowledged", .page = {"rows", AS_NUMBER}},
        {.key = "rows_acknowledged", .text = "rows", .width = 14, .runs = WITHOUT_SCRIPT},
        {.key = "transactions_committed", .page = {"transactions", AS_NUMBER}},
        {.key = "transactions_committed", .text = "transactions", .width = 14, .runs = WITH_SCRIPT},
        {"max_host_cpu_percent", {"CPU, %", AS_NUMBER}, "CPU", 8, ALL_RUNS},
        {"max_client_cpu_percent", {"append, %", AS_NUMBER}, "append", 9, ALL_RUNS},
        {.key = "max_server_cpu_percent", .page = {"server, %", AS_NUMBER}},
        {.key = "run_queue_percent", .page = {"waiting for CPU, %", AS_NUMBER}},
        {.key = "clock_error_ms", .page = {"clock error", AS_NUMBER}},
        {.key = "clock", .text = "clock error", .width = 13},
        {.key = "verdict", .page = {"verdict", AS_TEXT}}),
    .heading = "Client machines",
    .list = "ranks",
    .wanted = "rank",
};

const struct report_table report_nodes = {
    COLUMNS({.key = "machine", .page = {"machine", AS_NAME}},
            {.key = "rank", .page = {"rank", AS_NUMBER}},
            {.key = "io_trace.reads", .page = {"reads", AS_NUMBER}},
            {.key = "io_trace.writes", .page = {"writes", AS_NUMBER}},
            {.key = "io_trace.fsyncs", .page = {"fsyncs", AS_NUMBER}},
            {.key = "io_trace.read_mib", .page = {"read, MiB", AS_NUMBER}},
            {.key = "io_trace.written_mib", .page = {"written, MiB", AS_NUMBER}},
            {.key = "io_trace.fsync_mean_ms", .page = {"fsync mean", AS_NUMBER}},
            {.key = "io_trace.fsync_vfs_ms", .page = {"file system (vfs)", AS_NUMBER}},
            {.key = "io_trace.fsync_queue_ms", .page = {"queue", AS_NUMBER}},
            {.key = "io_trace.fsync_device_ms", .page = {"device", AS_NUMBER}}),
    .heading = "I/O by machine",
    .list = "ranks",
    .wanted = "io_trace.reads",
};

/* Transactions and statements of the script. */

/* Returns the error text of the operation's first failed call; NULL when no call failed. */
static const char *first_error_of(const struct causes *causes, const struct operation *operation)
{
    const struct cause *first = NULL;
    for (size_t i = 0; causes != NULL && i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        if (cause->name != NULL && strcmp(cause->name, operation->name) == 0 &&
            (first == NULL || cause->first_ns < first->first_ns)) {
            first = cause;
        }
    }
    return first == NULL ? NULL : first->error.text;
}

static void fill_operation(struct report_row *row, const void *record)
{
    const struct operation_row *of = record;
    if (of->set == NULL) { /* the caller needs only the names of the cells */
        const struct figure_set none = {.operations = *row->operations};
        fill_operation(row, &(struct operation_row){.set = &none});
        return;
    }
    const struct operation *operation = &of->set->operations.entries[of->operation];
    struct figure_cell figure;
    add_text(row, "operation", operation->name)->member = "name";
    add_text(row, "kind", operation_kind_names[operation->kind]);
    for (size_t at = 0; figure_next_operation_cell(of->set, of->operation, &at, &figure);) {
        const bool is_of_kind = figure.value.is_known || figure.unit != FIGURE_UNIT_COUNT;
        add(row, figure.key, figure.unit, figure.value)->place =
            is_of_kind ? IN_CSV_AND_JSON : IN_CSV;
    }
    add_text(row, "first_error", first_error_of(of->causes, operation))->place = IN_CSV;
}

static const void *operation_record(const struct report_source *source, size_t i,
                                    union report_record *room)
{
    const size_t operation = OPERATIONS + i;
    room->operation = (struct operation_row){source->set, operation, &source->result->causes};
    return operation < source->set->operations.count ? room : NULL;
}

const struct report_table report_transactions = {
    .fill = fill_operation,
    .record = operation_record,
    COLUMNS({.key = "name", .page = {"", AS_NAME}},
            {.key = "operation", .text = "Transaction", .width = -14},
            {"begun", {"begun", AS_NUMBER}, "begun", 12, ALL_RUNS},
            {"committed", {"committed", AS_NUMBER}, "committed", 11, ALL_RUNS},
            {"rolled_back", {"rolled back", AS_NUMBER}, "rolled back", 13, ALL_RUNS},
            {"failed", {"failed", AS_NUMBER}, "failed", 8, ALL_RUNS},
            {"in_doubt", {"in doubt", AS_NUMBER}, "in doubt", 10, ALL_RUNS},
            {"unfinished", {"unfinished", AS_NUMBER}, "unfinished", 12, ALL_RUNS},
            {.key = "tries", .page = {"tries", AS_NUMBER}},
            {.key = "p50_ms", .page = {"p50", AS_NUMBER}},
            {.key = "p99_ms", .page = {"p99", AS_NUMBER}},
            {.key = "p999_ms", .page = {"p99.9", AS_NUMBER}},
            {.key = "max_ms", .page = {"max", AS_NUMBER}}),
    .heading = "Transactions",
    .list = "operations",
    .wanted = "begun",
};

const struct report_table report_statements = {
    .fill = fill_operation,
    .record = operation_record,
    COLUMNS({.key = "name", .page = {"", AS_NAME}},
            {.key = "operation", .text = "Statement", .width = -14},
            {.key = "kind", .page = {"kind", AS_TEXT}},
            {"sent", {"sent", AS_NUMBER}, "sent", 13, ALL_RUNS},
            {"answered", {"answered", AS_NUMBER}, "answered", 13, ALL_RUNS},
            {"refused", {"refused", AS_NUMBER}, "refused", 13, ALL_RUNS},
            {"unanswered", {"unanswered", AS_NUMBER}, "unanswered", 13, ALL_RUNS},
            {"rows", {"rows", AS_NUMBER}, "rows", 13, ALL_RUNS},
            {.key = "p50_ms", .page = {"p50", AS_NUMBER}},
            {.key = "p99_ms", .page = {"p99", AS_NUMBER}},
            {.key = "p999_ms", .page = {"p99.9", AS_NUMBER}},
            {.key = "max_ms", .page = {"max", AS_NUMBER}}),
    .heading = "Statements",
    .list = "operations",
    .wanted = "sent",
};

/* What the calls waited for at the server. */

/* Adds the key of an operation: "append", "statement.insert". */
static void add_kind(struct report_row *row, size_t operation)
{
    operation_key(&row->operations->entries[operation], row->text);
    add_text(row, "kind", row->text);
}

static void fill_wait(struct report_row *row, const void *record)
{
    static const struct wait_event nothing;
    const struct wait_row *wait = record;
    const struct wait_event *event = wait->event == NULL ? &nothing : wait->event;
    add_seconds(row, "start_s", wait->start_ns);
    add_seconds(row, "end_s", wait->end_ns);
    add_kind(row, wait->operation);
    add_text(row, "class", figure_wait_keys[event->class]);
    add_text(row, "type", event->type);
    add_text(row, "event", event->event);
    add_number(row, "in_flight", FIGURE_UNIT_RATIO, true, wait->in_flight);
    add_number(row, "waiting", FIGURE_UNIT_RATIO, true, wait->waiting);
    add_count(row, "polls", wait->polls);
}

const struct report_table report_waits = {.fill = fill_wait};

static void fill_wait_share(struct report_row *row, const void *record)
{
    const struct wait_share *share = record;
    const bool has = share->has_interval;
    const struct statistics_share *percent = &share->share;
    add_kind(row, share->operation);
    add_text(row, "class", figure_wait_keys[share->class]);
    add_text(row, "head", share->is_first ? row->text : "")->place = IN_TEXT;
    add_text(row, "waits_for", wait_class_texts[share->class].name);
    add_percent(row, "share_percent", 100 * percent->share);
    add_number(row, "lower_percent", FIGURE_UNIT_PERCENT, has, 100 * percent->low);
    add_number(row, "upper_percent", FIGURE_UNIT_PERCENT, has, 100 * percent->high);
    add_number(row, "error_percent", FIGURE_UNIT_PERCENT, has, 100 * percent->half)->place =
        IN_TEXT;
    add_number(row, "in_flight", FIGURE_UNIT_RATIO, true, share->in_flight);
    add_text(row, "events", share->events);
    add_text(row, "largest", share->largest)->place = IN_TEXT;
}

const struct report_table report_wait_shares = {
    .fill = fill_wait_share,
    COLUMNS({.key = "kind", .page = {"time in", AS_NAME}},
            {.key = "head", .text = "Waits", .width = -12},
            {"waits_for", {"went into", AS_TEXT}, "for", -25, ALL_RUNS},
            {"share_percent", {"share, %", AS_NUMBER}, "share %", 8, ALL_RUNS},
            {.key = "error_percent", .text = "±", .width = 7},
            {.key = "lower_percent", .page = {"at least, %", AS_NUMBER}},
            {.key = "upper_percent", .page = {"at most, %", AS_NUMBER}},
            {.key = "events", .page = {"as the database calls it", AS_WORDS}},
            {.key = "largest", .text = "most of it", .width = 1}),
    .heading = "Waits",
    .list = "waits.shares",
    .wanted = "waits_for",
    .gap = " ",
    .has_no_decimals = true,
};

/* The parts of an average commit. */

static void fill_commit_part(struct report_row *row, const void *record)
{
    const struct commit_part *part = record;
    add_text(row, "part", part->name);
    add_number(row, "ms", FIGURE_UNIT_MS, true, part->ms);
    add_number(row, "share_percent", FIGURE_UNIT_PERCENT, true, part->percent);
}

const struct report_table report_commit = {
    .fill = fill_commit_part,
    COLUMNS({"part", {"part", AS_NAME}, "Average commit", -52, ALL_RUNS},
            {"ms", {"ms", AS_NUMBER}, "time", 10, ALL_RUNS},
            {"share_percent", {"share, %", AS_NUMBER}, "share", 10, ALL_RUNS}),
    .heading = "Where the time of an average commit goes",
    .list = "waits.commit",
    .wanted = "part",
    .has_no_decimals = true,
};

/* What the server's threads did, as the kernel saw it. */

static void fill_kernel_wait(struct report_row *row, const void *record)
{
    const struct kernel_wait *wait = record;
    const bool is_busy = wait->busy_percent >= 0;
    add_text(row, "class", wait->key);
    add_text(row, "name", wait->name);
    add_number(row, "seconds", FIGURE_UNIT_S, true, wait->seconds);
    add_number(row, "threads", FIGURE_UNIT_RATIO, true, wait->threads);
    add_number(row, "busy_percent", FIGURE_UNIT_PERCENT, is_busy, wait->busy_percent);
    add_count(row, "count", wait->count);
    add_text(row, "calls", wait->calls);
    add_text(row, "largest", wait->largest[0] == '\0' ? "-" : wait->largest)->place = IN_TEXT;
}

const struct report_table report_kernel_waits = {
    .fill = fill_kernel_wait,
    COLUMNS({"name", {"the server's threads were", AS_NAME}, "Server's threads", -28, ALL_RUNS},
            {"seconds", {"seconds in total", AS_NUMBER}, "seconds", 9, ALL_RUNS},
            {"threads", {"threads, mean", AS_NUMBER}, "threads", 9, ALL_RUNS},
            {"busy_percent", {"share of the busy time, %", AS_NUMBER}, "busy %", 8, ALL_RUNS},
            {.key = "largest", .text = "most of it in", .width = 1},
            {.key = "count", .page = {"times", AS_NUMBER}},
            {.key = "calls", .page = {"in system calls", AS_WORDS}}),
    .heading = "The server's threads, as the kernel saw them",
    .list = "waits.kernel",
    .wanted = "name",
    .gap = " ",
};

/* Counts that the server keeps, and their growth during the run. */

static void fill_wait_counter(struct report_row *row, const void *record)
{
    const struct wait_counter *counter = record;
    add_text(row, "name", counter->name);
    add_number(row, "growth", FIGURE_UNIT_RATIO, true, counter->after - counter->before);
}

const struct report_table report_wait_counters = {
    .fill = fill_wait_counter,
    COLUMNS({.key = "name", .page = {"count", AS_NAME}},
            {.key = "growth", .page = {"growth during the run", AS_NUMBER}}),
    .heading = "Counts of the server",
    .list = "waits.counters",
    .wanted = "name",
};

/* Sessions that held locks for which sessions of this program waited. */

static void fill_wait_blocker(struct report_row *row, const void *record)
{
    const struct wait_blocker *blocker = record;
    add_text(row, "of", blocker->is_ours ? "append" : "another program");
    add_text(row, "who", blocker->who);
    add_number(row, "server_session", FIGURE_UNIT_ID, true, 0)->value.count =
        blocker->server_session;
    add_text(row, "state", blocker->state);
    add_count(row, "seen", blocker->seen);
    add_text(row, "statement", blocker->sql);
}

const struct report_table report_wait_blockers = {
    .fill = fill_wait_blocker,
    COLUMNS({"of", {"session of", AS_NAME}, "Locks held by", -16, ALL_RUNS},
            {"who", {"name", AS_TEXT}, "name", -24, ALL_RUNS},
            {"state", {"its state", AS_TEXT}, "state", -22, ALL_RUNS},
            {"seen", {"seen", AS_NUMBER}, "seen", 7, ALL_RUNS},
            {.key = "server_session", .page = {"number at the server", AS_NUMBER}},
            {.key = "statement", .page = {"statement", AS_WORDS}}),
    .heading = "Sessions that blocked others",
    .list = "waits.blockers",
    .wanted = "of",
    .gap = " ",
};

/* Retries of the script's transactions by their causes. */

const struct report_table report_retries = {
    .fill = fill_operation,
    .record = operation_record,
    COLUMNS({.key = "name", .page = {"", AS_NAME}},
            {.key = "operation", .text = "Retries after", .width = -14},
            {"retries_deadlock", {"after a deadlock", AS_NUMBER}, "deadlock", 10, ALL_RUNS},
            {"retries_serialization",
             {"after a serialization failure", AS_NUMBER},
             "serialization",
             15,
             ALL_RUNS},
            {"retries_busy", {"after a lock or a busy server", AS_NUMBER}, "busy", 10, ALL_RUNS},
            {"retries_duplicate", {"after a duplicate key", AS_NUMBER}, "duplicate", 11, ALL_RUNS}),
    .heading = "Retries",
    .list = "operations",
    .wanted = "begun",
};

/* Transactions and statements of the script in an interval. */

/* Returns how much a count of an operation grew in an interval. */
static uint64_t growth_of(const struct operation_interval *of, enum operation_count count)
{
    return recorder_count_of(of->interval->to, of->operation, count) -
           recorder_count_of(of->interval->from, of->operation, count);
}

static void fill_operation_interval(struct report_row *row, const void *record)
{
    static const struct recorder_snapshot empty;
    static const struct interval nothing = {.from = &empty, .to = &empty};
    struct operation_interval of = *(const struct operation_interval *)record;
    of.interval = of.interval == NULL ? &nothing : of.interval;
    const struct operation *operation = &row->operations->entries[of.operation];
    const struct recorder_latency *latency = &of.interval->latencies[of.operation];
    const double seconds = figures_seconds(of.interval->end_ns - of.interval->start_ns);
    const bool is_transaction = operation->kind == OPERATION_IS_TRANSACTION;
    const uint64_t count = growth_of(&of, is_transaction ? COUNT_COMMITTED : COUNT_ANSWERED);
    uint64_t retries = 0;
    for (size_t i = COUNTS_OF_RETRIES; i < OPERATION_COUNTS; i++) {
        retries += growth_of(&of, (enum operation_count)i);
    }
    add_seconds(row, "start_s", of.interval->start_ns);
    add_seconds(row, "end_s", of.interval->end_ns);
    add_text(row, "operation", operation->name);
    add_text(row, "kind", operation_kind_names[operation->kind]);
    add_count(row, "count", count);
    add_rate(row, "per_s", FIGURE_UNIT_PER_S, count, seconds);
    add_count(row, "errors",
              growth_of(&of, is_transaction ? COUNT_FAILED : COUNT_REFUSED) +
                  growth_of(&of, is_transaction ? COUNT_IN_DOUBT : COUNT_UNANSWERED));
    add_count_if(row, "retries", is_transaction, retries);
    add_ms(row, "p50_ms", latency->count > 0, latency->p50_ns);
    add_ms(row, "p99_ms", latency->count > 0, latency->p99_ns);
    add_ms(row, "max_ms", latency->count > 0, latency->max_ns);
}

const struct report_table report_operations_intervals = {.fill = fill_operation_interval};

/* Metrics of the script. */

/* Adds a value of a metric. JSON leaves out the values that a metric of this kind does not have. */
static void add_value(struct report_row *row, const char *key, bool is_of_kind, bool is_known,
                      double value)
{
    add_number(row, key, FIGURE_UNIT_VALUE, is_of_kind && is_known, value)->place =
        is_of_kind ? IN_CSV_AND_JSON : IN_CSV;
}

static void fill_metric(struct report_row *row, const void *record)
{
    static const struct script_metric nothing = {.name = "", .unit = ""};
    static const struct metric_sum empty = {.metric = &nothing};
    const struct metric_row *of = record;
    const struct metric_sum *sum = of->sum == NULL ? &empty : of->sum;
    const enum script_metric_kind kind = sum->metric->kind;
    const bool is_count = kind == SCRIPT_COUNT, is_trend = kind == SCRIPT_TREND;
    const bool is_gauge = kind == SCRIPT_GAUGE, has_values = sum->count > 0;
    const double seconds = figures_seconds(of->measured_ns);
    add_text(row, "metric", sum->metric->name)->member = "name";
    add_text(row, "kind", script_metric_kinds[kind]);
    add_text(row, "unit", sum->metric->unit);
    snprintf(row->text, sizeof row->text, "%s%s%s", sum->metric->name,
             sum->metric->unit[0] == '\0' ? "" : ", ", sum->metric->unit);
    add_text(row, "title", row->text)->place = IN_TEXT;
    add_value(row, "count", !is_gauge, true, is_count ? sum->sum : (double)sum->count);
    add_value(row, "per_s", is_count, seconds > 0, sum->sum / (seconds > 0 ? seconds : 1));
    add_value(row, "last", is_gauge, has_values, sum->last);
    add_value(row, "min", !is_count, has_values, sum->min);
    const struct figure_points *points = &row->operations->points;
    for (size_t i = 0; i < points->count; i++) {
        const struct figure_point *point = &points->entries[i];
        const bool is_mean = point->quantile == 0, is_max = point->quantile == 1;
        double value = is_mean ? sum->sum / (double)MAX(sum->count, (uint64_t)1) : sum->max;
        if (is_trend && has_values && !is_mean && !is_max) {
            value = metric_quantile(sum, point->quantile);
        }
        add_value(row, point->key, is_trend || (is_gauge && is_max), has_values, value);
    }
}

static const void *metric_record(const struct report_source *source, size_t i,
                                 union report_record *room)
{
    const struct result *result = source->result;
    if (i >= result->metric_count) {
        return NULL;
    }
    room->metric = (struct metric_row){&result->metrics[i], result->measured_ns};
    return room;
}

const struct report_table report_trends = {
    .fill = fill_metric,
    .record = metric_record,
    COLUMNS({.key = "name", .page = {"", AS_NAME}}, {.key = "title", .text = "Trend", .width = -14},
            {.key = "unit", .page = {"unit", AS_TEXT}},
            {"count", {"count", AS_NUMBER}, "count", 8, ALL_RUNS},
            {"min", {"min", AS_NUMBER}, "min", 7, ALL_RUNS}),
    .heading = "Trends of the script",
    .list = "metrics",
    .wanted = "mean",
    .is_optional = true,
    .gap = " ",
    .has_points = true,
};

const struct report_table report_metrics = {
    .fill = fill_metric,
    .record = metric_record,
    COLUMNS({.key = "name", .page = {"", AS_NAME}},
            {.key = "title", .text = "Metric", .width = -14},
            {"kind", {"kind", AS_TEXT}, "kind", 6, ALL_RUNS},
            {.key = "unit", .page = {"unit", AS_TEXT}},
            {"count", {"count", AS_NUMBER}, "count", 11, ALL_RUNS},
            {"per_s", {"per second", AS_NUMBER}, "per s", 11, ALL_RUNS},
            {"last", {"last", AS_NUMBER}, "last", 10, ALL_RUNS},
            {"min", {"min", AS_NUMBER}, "min", 10, ALL_RUNS},
            {"max", {"max", AS_NUMBER}, "max", 10, ALL_RUNS}),
    .heading = "Counts and gauges of the script",
    .list = "metrics",
    .wanted = "kind",
    .unwanted = "trend",
    .is_optional = true,
    .gap = " ",
};

/* Tables of the script, and the verification of their rows. */

static void fill_dataset(struct report_row *row, const void *record)
{
    const struct dataset_row *dataset = record;
    const struct verification *v = dataset->verification;
    const bool is_counted = v->state == VERIFICATION_DONE;
    add_text(row, "name", dataset->name);
    add_text(row, "state", figures_verification_names[v->state]);
    add_text(row, "reason", is_counted ? NULL : v->reason);
    add_count_if(row, "rows_before", is_counted, v->rows_before);
    add_count_if(row, "rows_after", is_counted, v->rows_after);
    add_count(row, "added", v->added);
    add_count(row, "taken", v->taken);
    add_count(row, "added_in_doubt", v->added_in_doubt);
    add_count(row, "taken_in_doubt", v->taken_in_doubt);
    add_count_if(row, "lost", is_counted, v->lost);
    add_count_if(row, "surplus", is_counted, v->surplus);
}

static const void *dataset_record(const struct report_source *source, size_t i,
                                  union report_record *room)
{
    if (source->plan->script == NULL || i >= source->result->dataset_count) {
        return NULL;
    }
    room->dataset =
        (struct dataset_row){source->plan->script->datasets[i].name, &source->result->datasets[i]};
    return room;
}

const struct report_table report_datasets = {
    .fill = fill_dataset,
    .record = dataset_record,
    COLUMNS({.key = "name", .page = {"table", AS_NAME}},
            {.key = "rows_before", .page = {"before", AS_NUMBER}},
            {.key = "added", .page = {"added", AS_NUMBER}},
            {.key = "taken", .page = {"taken", AS_NUMBER}},
            {.key = "rows_after", .page = {"after", AS_NUMBER}},
            {.key = "lost", .page = {"lost", AS_NUMBER}},
            {.key = "surplus", .page = {"surplus", AS_NUMBER}},
            {.key = "reason", .page = {"", AS_WORDS}}),
    .heading = "Verified tables",
    .list = "datasets",
    .wanted = "state",
    .unwanted = "none",
};

/* Claims of the script about its tables. */

static void fill_invariant(struct report_row *row, const void *record)
{
    const struct invariant_result *invariant = record;
    const bool is_broken = invariant->rows > 0;
    add_text(row, "claim", invariant->claim);
    add_text(row, "state", figures_verification_names[invariant->state]);
    add_text(row, "reason", invariant->reason[0] == '\0' ? NULL : invariant->reason);
    add_count_if(row, "rows", is_broken || invariant->state == VERIFICATION_DONE, invariant->rows);
    add_text(row, "first", is_broken ? invariant->first : NULL);
}

static const void *invariant_record(const struct report_source *source, size_t i,
                                    union report_record *room)
{
    (void)room;
    return i < source->result->invariant_count ? &source->result->invariants[i] : NULL;
}

const struct report_table report_invariants = {
    .fill = fill_invariant,
    .record = invariant_record,
    COLUMNS({.key = "claim", .page = {"claim", AS_NAME}},
            {.key = "rows", .page = {"rows that break it", AS_NUMBER}},
            {.key = "first", .page = {"the first of them", AS_WORDS}},
            {.key = "reason", .page = {"not checked", AS_WORDS}}),
    .heading = "Invariants",
    .list = "invariants",
    .wanted = "state",
    .unwanted = "none",
};

/* Limits that were hit. */

static void fill_finding(struct report_row *row, const void *record)
{
    const struct finding *finding = record;
    add_text(row, "limit", limit_id_names[finding->id]);
    add_text(row, "side", limit_side_names[finding->side]);
    add_text(row, "name", finding->name);
    add_count(row, "sessions", finding->sessions);
    add_count(row, "tries", finding->tries);
    add_text(row, "evidence", finding->evidence);
    add_text(row, "fix", finding->fix);
}

const struct report_table report_findings = {
    .fill = fill_finding,
    COLUMNS({.key = "name", .page = {"limit", AS_NAME}}, {.key = "side", .page = {"of", AS_TEXT}},
            {.key = "sessions", .page = {"sessions", AS_NUMBER}},
            {.key = "evidence", .page = {"evidence", AS_WORDS}},
            {.key = "fix", .page = {"how to raise it", AS_WORDS}}),
    .heading = "Limits that were hit",
    .list = "findings",
    .wanted = "name",
};

/* Expectations of the run. */

static void fill_expectation(struct report_row *row, const void *record)
{
    const struct expectation *expectation = record;
    const struct bound *bound = &expectation->bound;
    const char *column = expectation->choice.names[expectation->chosen];
    add_text(row, "bound", bound->text);
    add_text(row, "figure", column);
    add_text(row, "relation", bound_relation_texts[bound->relation]);
    if (bound->is_word) {
        add_text(row, "limit", bound->unit);
        add_text(row, "value", figure_word(column, expectation->value));
    } else {
        add_number(row, "limit", FIGURE_UNIT_RATIO, true, expectation->limit);
        add_number(row, "value", FIGURE_UNIT_RATIO, expectation->is_known, expectation->value);
    }
    add_count(row, "is_met", expectation->is_met ? 1 : 0)->unit = FIGURE_UNIT_FLAG;
}

const struct report_table report_expectations = {
    .fill = fill_expectation,
    COLUMNS({.key = "bound", .page = {"expected", AS_NAME}},
            {.key = "value", .page = {"measured", AS_NUMBER}},
            {.key = "is_met", .page = {"met", AS_TEXT}}),
    .heading = "Expectations",
    .list = "expectations",
    .wanted = "bound",
    .figure = "figure",
};

/* Settings that weaken durability. */

const char *report_weakness(const struct settings_queries *words,
                            const struct server_setting *setting)
{
    for (const struct weak_setting *weak = words == NULL ? NULL : words->weak;
         weak != NULL && weak->name != NULL; weak++) {
        if (strcmp(weak->name, setting->name) == 0 &&
            (weak->value == NULL || strcasecmp(weak->value, setting->value) == 0)) {
            return weak->why;
        }
    }
    return NULL;
}

static void fill_weakened(struct report_row *row, const void *record)
{
    const struct weakened_row *of = record;
    add_text(row, "host", of->host);
    add_text(row, "setting", of->setting->name);
    add_text(row, "value", of->setting->value);
    add_text(row, "why", of->why);
}

const struct report_table report_weakened = {
    .fill = fill_weakened,
    COLUMNS({.key = "setting", .page = {"setting", AS_NAME}},
            {.key = "value", .page = {"value", AS_TEXT}},
            {.key = "why", .page = {"what can be lost", AS_WORDS}},
            {.key = "host", .page = {"host", AS_TEXT}}),
    .heading = "Weakened durability",
    .list = "server.weakened",
    .wanted = "setting",
};

/* How evenly the sessions worked: the slowest, the fastest, and the longest gap. */

const struct report_table report_fairness = {
    COLUMNS({.key = "slowest_rows_per_s", .page = {"slowest session, rows/s", AS_NUMBER}},
            {.key = "slowest_session", .page = {"its number", AS_NUMBER}},
            {.key = "fastest_rows_per_s", .page = {"fastest session, rows/s", AS_NUMBER}},
            {.key = "fastest_session", .page = {"its number", AS_NUMBER}},
            {.key = "longest_gap_ms",
             .page = {"longest time without an acknowledged append", AS_NUMBER}},
            {.key = "longest_gap_session", .page = {"in session", AS_NUMBER}}),
    .heading = "Fairness",
    .list = "fairness",
    .wanted = "slowest_session",
};

const struct report_table *const report_tables[] = {
    &report_statements, &report_trends, &report_metrics, &report_datasets, &report_invariants, NULL,
};
