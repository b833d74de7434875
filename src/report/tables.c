#include "report/tables.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/levels.h"
#include "measure/result.h"
#include "report/figures.h"

const struct report_cell *report_row_find(const struct report_row *row, const char *key)
{
    for (size_t i = 0; i < row->count; i++) {
        if (strcmp(row->cells[i].key, key) == 0) {
            return &row->cells[i];
        }
    }
    return NULL;
}

bool report_column_is_shown(const struct report_column *column, bool is_text, bool has_script)
{
    return (is_text ? column->text : column->page) != NULL &&
           (column->runs == ALL_RUNS || (column->runs == WITH_SCRIPT) == has_script);
}

/* Adds a cell, and returns it so that the caller can say where it is. */
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

/* What is negative is not known. */
static struct report_cell *add_positive(struct report_row *row, const char *key,
                                        enum figure_unit unit, double number)
{
    return add_number(row, key, unit, number >= 0, number);
}

static struct report_cell *add_seconds(struct report_row *row, const char *key, int64_t ns)
{
    return add_number(row, key, FIGURE_UNIT_S, true, figures_seconds(ns));
}

static struct report_cell *add_ms(struct report_row *row, const char *key, bool is_known,
                                  int64_t ns)
{
    return add_number(row, key, FIGURE_UNIT_MS, is_known, figures_ms(ns));
}

static struct report_cell *add_mib(struct report_row *row, const char *key, int64_t bytes)
{
    return add_number(row, key, FIGURE_UNIT_MIB, bytes >= 0, figures_mib((uint64_t)bytes));
}

static struct report_cell *add_bytes(struct report_row *row, const char *key, int64_t bytes)
{
    return add_count_if(row, key, bytes >= 0, (uint64_t)bytes);
}

static void add_cpu(struct report_row *row, const struct cpu_shares *cpu)
{
    add_positive(row, "host_cpu_percent", FIGURE_UNIT_PERCENT, cpu->host);
    add_positive(row, "server_cpu_percent", FIGURE_UNIT_PERCENT, cpu->server);
    add_positive(row, "client_cpu_percent", FIGURE_UNIT_PERCENT, cpu->client);
}

/* Levels of a search. */

/* In JSON an object, which an operation that the level does not have lacks. */
static void add_level_latency(struct report_row *row, const char *operation, bool is_there,
                              const struct recorder_latency *latency)
{
    const struct {
        const char *suffix, *member;
        int64_t ns;
    } points[] = {{"_p50_ms", "p50_ms", latency->p50_ns},
                  {"_p99_ms", "p99_ms", latency->p99_ns},
                  {"_max_ms", "max_ms", latency->max_ns}};
    char key[FIGURE_KEY_BYTES];
    if (is_there) {
        struct report_cell *cell = add_count(row, "count", latency->count);
        cell->place = IN_JSON;
        cell->object = operation;
    }
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        snprintf(key, sizeof key, "%s%s", operation, points[i].suffix);
        struct report_cell *cell = add_ms(row, key, is_there && latency->count > 0, points[i].ns);
        cell->place = is_there ? IN_CSV_AND_JSON : IN_CSV;
        cell->object = operation;
        cell->member = points[i].member;
    }
}

static void fill_level(struct report_row *row, const struct operation_list *operations,
                       const void *record)
{
    (void)operations;
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
    add_text(row, "error", cause == NULL ? NULL : cause->error.text)->place = IN_CSV;
}

static const struct report_column level_columns[] = {
    {"sessions", "#sessions", "Sessions", 9, ALL_RUNS},
    {"outcome", "#outcome", NULL, 0, ALL_RUNS},
    {"reason", "#reason", NULL, 0, ALL_RUNS},
    {"state", NULL, "", -13, ALL_RUNS},
    {"rows_per_s", "#rows/s", "rows/s", 9, WITHOUT_SCRIPT},
    {"append_p50_ms", "#append p50, ms", "append\np50", 9, WITHOUT_SCRIPT},
    {"append_p99_ms", "#append p99, ms", "append\np99", 9, WITHOUT_SCRIPT},
    {"transactions_per_s", "#transactions/s", "trans./s", 9, WITH_SCRIPT},
    {"transaction_p50_ms", "#transaction p50, ms", "trans.\np50", 9, WITH_SCRIPT},
    {"transaction_p99_ms", "#transaction p99, ms", "trans.\np99", 9, WITH_SCRIPT},
    {"connect_p99_ms", "#connect p99, ms", "connect\np99", 9, ALL_RUNS},
    {"host_cpu_percent", "#CPU, %", "CPU", 5, ALL_RUNS},
    {"server_memory_mib", "#server memory, MiB", "server's\nmemory", 9, ALL_RUNS},
};
const struct report_table report_levels = {
    .heading = "Levels",
    .fill = fill_level,
    .columns = level_columns,
    .column_count = COUNT_OF(level_columns),
    .gap = " ",
    .has_no_decimals = true,
};

/* Hosts. */

static void fill_host(struct report_row *row, const struct operation_list *operations,
                      const void *record)
{
    static const uint64_t none[RECORDER_COUNTERS];
    const struct host_result *host = record;
    const uint64_t *counters = host->counters == NULL ? none : host->counters;
    const bool has_script = operation_is_used(operations, OPERATION_TRANSACTION);
    const bool is_counted = host->is_counted && !has_script; /* a script has several tables */
    const double seconds = figures_seconds(host->elapsed_ns);
    const double measured = figures_seconds(host->measured_ns);
    const double rows = (double)counters[RECORDER_ROWS_ACKNOWLEDGED];
    const double transactions = (double)counters[RECORDER_TRANSACTIONS_COMMITTED];
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
    add_number(row, "throughput_rows_per_s", FIGURE_UNIT_ROWS_PER_S, seconds > 0, rows / seconds);
    add_count(row, "appends", counters[RECORDER_APPENDS]);
    add_count(row, "appends_failed", counters[RECORDER_APPENDS_FAILED]);
    add_count(row, "reads", counters[RECORDER_READS]);
    add_count(row, "reads_failed", counters[RECORDER_READS_FAILED]);
    add_count_if(row, "transactions", has_script, counters[RECORDER_TRANSACTIONS_COMMITTED]);
    add_number(row, "transactions_per_s", FIGURE_UNIT_PER_S, has_script && measured > 0,
               transactions / measured);
    add_count_if(row, "transactions_failed", has_script, counters[RECORDER_TRANSACTIONS_FAILED]);
    for (size_t i = 0; i < COUNT_OF(latencies); i++) {
        const struct recorder_latency *latency = &host->latencies[latencies[i].operation];
        add_ms(row, latencies[i].p50, latency->count > 0, latency->p50_ns);
        add_ms(row, latencies[i].p99, latency->count > 0, latency->p99_ns);
    }
    add_count_if(row, "rows_before", is_counted, is_counted ? host->rows_before[0] : 0);
    add_count_if(row, "rows_after", is_counted, is_counted ? host->rows_after[0] : 0);
    add_text(row, "not_counted", host->is_counted ? NULL : host->reason)->place = IN_JSON;
}

static const struct report_column host_columns[] = {
    {"host", "*host", "Hosts", -20, ALL_RUNS},
    {"sessions", "#sessions", "sessions", 9, ALL_RUNS},
    {"rows_acknowledged", "#rows", "rows", 13, WITHOUT_SCRIPT},
    {"throughput_rows_per_s", "#rows/s", "rows/s", 9, WITHOUT_SCRIPT},
    {"append_p50_ms", "#append p50", "p50", 8, WITHOUT_SCRIPT},
    {"append_p99_ms", "#append p99", "p99", 8, WITHOUT_SCRIPT},
    {"read_p99_ms", "#read p99", NULL, 0, WITHOUT_SCRIPT},
    {"transactions", "#transactions", "transactions", 13, WITH_SCRIPT},
    {"transactions_per_s", "#transactions/s", "trans./s", 9, WITH_SCRIPT},
    {"transaction_p50_ms", "#p50", "p50", 8, WITH_SCRIPT},
    {"transaction_p99_ms", "#p99", "p99", 8, WITH_SCRIPT},
    {"append_p99_ms", "#append p99", NULL, 0, WITH_SCRIPT},
    {"connections_lost", "#lost", "lost", 6, ALL_RUNS},
    {"reconnects", "#reconnects", NULL, 0, ALL_RUNS},
    {"errors", "#errors", "errors", 7, ALL_RUNS},
};
const struct report_table report_hosts = {
    .heading = "Hosts",
    .fill = fill_host,
    .columns = host_columns,
    .column_count = COUNT_OF(host_columns),
};
