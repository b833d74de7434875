#include "report/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "ranks/merge.h"
#include "report/figures.h"
#include "report/tables.h"

void csv_begin(struct csv *csv, FILE *stream, bool is_header)
{
    *csv = (struct csv){.stream = stream, .is_header = is_header};
}

/* A spreadsheet takes a cell that begins like this for a formula, which a server's or a user's
 * words may be; a number is none. */
static bool is_formula(const char *cell)
{
    char *end;
    strtod(cell, &end);
    return cell[0] != '\0' && strchr("=+-@\t\r", cell[0]) != NULL && (end == cell || *end != '\0');
}

void csv_text(struct csv *csv, const char *column, const char *text)
{
    const char *cell = csv->is_header ? column : text == NULL ? "" : text;
    const bool is_guarded = is_formula(cell);
    if (csv->is_begun) {
        fputc(',', csv->stream);
    }
    csv->is_begun = true;
    if (strpbrk(cell, ",\"\r\n") == NULL) {
        fputs(is_guarded ? "'" : "", csv->stream);
        fputs(cell, csv->stream);
        return;
    }
    fputs(is_guarded ? "\"'" : "\"", csv->stream);
    for (; *cell != '\0'; cell++) {
        fputs(*cell == '"' ? "\"" : "", csv->stream);
        fputc(*cell, csv->stream);
    }
    fputc('"', csv->stream);
}

void csv_count(struct csv *csv, const char *column, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    csv_text(csv, column, text);
}

void csv_decimal(struct csv *csv, const char *column, double value, int decimals)
{
    char text[FIGURE_TEXT_BYTES];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    csv_text(csv, column, isfinite(value) ? text : NULL);
}

void csv_end(struct csv *csv)
{
    fputs("\r\n", csv->stream);
}

static void put_value(struct csv *csv, const char *column, enum figure_unit unit,
                      const struct figure_value *value)
{
    char text[FIGURE_TEXT_BYTES];
    csv_text(csv, column, figure_format(unit, value, text));
}

static void put_cell(struct csv *csv, const struct figure_cell *cell)
{
    put_value(csv, cell->key, cell->unit, &cell->value);
}

static void put_row(struct csv *csv, const struct report_table *table,
                    const struct operation_list *operations, const void *record)
{
    struct report_row row = {.count = 0};
    table->fill(&row, operations, record);
    for (size_t i = 0; i < row.count; i++) {
        const struct report_cell *cell = &row.cells[i];
        if (cell->place == IN_CSV || cell->place == IN_CSV_AND_JSON) {
            put_value(csv, cell->key, cell->unit, &cell->value);
        }
    }
}

/* Up to the one without a key. */
static void put_cells(struct csv *csv, const struct figure_cell *cells)
{
    for (; cells->key[0] != '\0'; cells++) {
        put_cell(csv, cells);
    }
}

void csv_write_summary(FILE *stream, const struct figure_set *set)
{
    for (int line = 0; line < 2; line++) {
        struct csv csv;
        struct figure_cell cell;
        csv_begin(&csv, stream, line == 0);
        for (size_t at = 0; figure_next_cell(set, &at, &cell);) {
            put_cell(&csv, &cell);
        }
        csv_end(&csv);
    }
}

/* What the first call of an operation that failed was answered; NULL: none has. */
static const char *first_error_of(const struct causes *causes, const struct operation *operation)
{
    const struct cause *first = NULL;
    for (size_t i = 0; i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        if (cause->name != NULL && strcmp(cause->name, operation->name) == 0 &&
            (first == NULL || cause->first_ns < first->first_ns)) {
            first = cause;
        }
    }
    return first == NULL ? NULL : first->error.text;
}

void csv_write_operations(FILE *stream, const struct figure_set *set, const struct causes *causes)
{
    for (size_t i = OPERATIONS - 1; i < set->operations.count; i++) { /* the header comes first */
        const struct operation *operation = &set->operations.entries[i];
        struct csv csv;
        struct figure_cell cell;
        csv_begin(&csv, stream, i < OPERATIONS);
        csv_text(&csv, "operation", operation->name);
        csv_text(&csv, "kind", operation_kind_names[operation->kind]);
        for (size_t at = 0; figure_next_operation_cell(set, i, &at, &cell);) {
            put_cell(&csv, &cell);
        }
        csv_text(&csv, "first_error", first_error_of(causes, operation));
        csv_end(&csv);
    }
}

/* Cells with their units and values. */
/* clang-format off */
#define CELL(key, unit, known, member, value) \
    {key, FIGURE_UNIT_##unit, {.is_known = (known), .member = (value)}}
/* clang-format on */
#define COUNT_IF(key, known, value) CELL(key, COUNT, known, count, value)
#define COUNT(key, value) COUNT_IF(key, true, value)
#define TEXT(key, words) CELL(key, TEXT, true, text, words)
#define NUMBER(key, unit, known, value) CELL(key, unit, known, number, value)
#define POSITIVE(key, unit, value) NUMBER(key, unit, (value) >= 0, value)
#define SECONDS(key, ns) NUMBER(key, S, true, figures_seconds(ns))
#define MOMENT(key, ns) NUMBER(key, MOMENT, (ns) >= 0, figures_seconds(ns))
#define MS(key, known, ns) NUMBER(key, MS, known, figures_ms(ns))
#define MIB(key, bytes) NUMBER(key, MIB, (bytes) >= 0, figures_mib((uint64_t)(bytes)))
#define PUT(csv, ...) put_cells((csv), (const struct figure_cell[]){__VA_ARGS__, TEXT("", NULL)})

static void put_latency(struct csv *csv, const char *operation,
                        const struct recorder_latency *latency)
{
    static const char *const points[] = {"p50", "p99", "max"};
    const int64_t points_ns[] = {latency->p50_ns, latency->p99_ns, latency->max_ns};
    for (size_t i = 0; i < 3; i++) {
        struct figure_cell cell = MS("", latency->count > 0, points_ns[i]);
        snprintf(cell.key, sizeof cell.key, "%s_%s_ms", operation, points[i]);
        put_cell(csv, &cell);
    }
}

static void put_interval(struct csv *csv, const struct operation_list *operations,
                         const struct interval *interval)
{
    const uint64_t *counters = interval->counters;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    const double rows = (double)counters[RECORDER_ROWS_ACKNOWLEDGED];
    const bool has_script = operation_is_used(operations, OPERATION_TRANSACTION);
    PUT(csv, SECONDS("start_s", interval->start_ns), SECONDS("end_s", interval->end_ns),
        COUNT("sessions_alive", interval->sessions_alive),
        COUNT("rows", counters[RECORDER_ROWS_ACKNOWLEDGED]),
        NUMBER("rows_per_s", ROWS_PER_S, seconds > 0, rows / (seconds > 0 ? seconds : 1)),
        COUNT("appends", counters[RECORDER_APPENDS]), COUNT("reads", counters[RECORDER_READS]),
        COUNT("errors", figures_errors(counters)),
        COUNT("rows_rejected", counters[RECORDER_ROWS_REJECTED]),
        COUNT("rows_in_doubt", counters[RECORDER_ROWS_IN_DOUBT]),
        COUNT("sessions_connected", counters[RECORDER_SESSIONS_CONNECTED]),
        COUNT("sessions_dropped", counters[RECORDER_SESSIONS_DROPPED]),
        COUNT("busy_retries", counters[RECORDER_BUSY_RETRIES]));
    for (size_t place = 0; place < OPERATIONS; place++) {
        const size_t i = operation_at(operations, place);
        if (operations->entries[i].is_series) {
            put_latency(csv, operations->entries[i].name, &interval->latencies[i]);
        }
    }
    PUT(csv, COUNT("connections_lost", counters[RECORDER_CONNECTIONS_LOST]),
        COUNT("reconnects", counters[RECORDER_RECONNECTS]),
        COUNT("reconnects_failed", counters[RECORDER_RECONNECTS_FAILED]),
        COUNT("churns", counters[RECORDER_CHURNS]), COUNT("refusals", counters[RECORDER_REFUSALS]),
        COUNT("sessions_without_progress", interval->sessions_without_progress),
        COUNT("sessions_reading", interval->sessions_reading),
        COUNT_IF("transactions", has_script, counters[RECORDER_TRANSACTIONS_COMMITTED]),
        NUMBER("transactions_per_s", PER_S, has_script && seconds > 0,
               (double)counters[RECORDER_TRANSACTIONS_COMMITTED] / (seconds > 0 ? seconds : 1)),
        COUNT_IF("transactions_failed", has_script, counters[RECORDER_TRANSACTIONS_FAILED]),
        COUNT_IF("transactions_in_doubt", has_script, counters[RECORDER_TRANSACTIONS_IN_DOUBT]),
        COUNT_IF("retries", has_script, transactions_retries(counters)),
        COUNT_IF("writes", has_script, counters[RECORDER_WRITES]),
        COUNT_IF("others", has_script, counters[RECORDER_OTHERS]),
        COUNT("rows_held", interval->rows_held));
}

static void put_sample(struct csv *csv, const struct sample *sample)
{
    const bool is_found = sample->server_processes > 0;
    const uint64_t memory = sample->client_memory_bytes;
    PUT(csv, SECONDS("start_s", sample->start_ns), SECONDS("end_s", sample->end_ns),
        COUNT("sessions_alive", sample->sessions_alive),
        POSITIVE("host_cpu_percent", PERCENT, sample->cpu.host),
        POSITIVE("server_cpu_percent", PERCENT, sample->cpu.server),
        POSITIVE("client_cpu_percent", PERCENT, sample->cpu.client),
        MIB("server_memory_mib", sample->server_memory_bytes),
        COUNT_IF("server_processes", is_found, sample->server_processes),
        COUNT_IF("server_threads", is_found, sample->server_threads),
        NUMBER("client_memory_mib", MIB, memory > 0, figures_mib(memory)),
        COUNT("rows_held", sample->rows_held), MIB("table_mib", sample->table_bytes));
    /* clang-format off */
#define X(id, key, unit, ...) POSITIVE(key, unit, io_figure(&sample->io, IO_FIGURE_##id)),
    /* clang-format on */
    put_cells(csv, (const struct figure_cell[]){IO_TABLE TEXT("", NULL)});
#undef X
}

static void put_session(struct csv *csv, const struct session_summary *session)
{
    const bool has_worked = session->worked_ns > 0, is_verified = session->is_verified;
    const struct row_ledger *rows = &session->rows;
    PUT(csv, COUNT("session", session->index), TEXT("kind", session->is_idle ? "idle" : "active"),
        TEXT("outcome", session_outcome_names[session->outcome]),
        COUNT("rows_planned", rows->planned), COUNT("rows_acknowledged", rows->acknowledged),
        COUNT("rows_rejected", rows->rejected), COUNT("rows_in_doubt", rows->in_doubt),
        COUNT("rows_not_sent", rows->not_sent), COUNT("batches", session->batches),
        COUNT("connections_lost", session->drops), COUNT("reconnects", session->reconnects),
        COUNT("churns", session->churns), MOMENT("first_acknowledged_s", session->first_ack_ns),
        MOMENT("last_acknowledged_s", session->last_ack_ns),
        MOMENT("worked_s", has_worked ? session->worked_ns : -1),
        NUMBER("rows_per_s", ROWS_PER_S, has_worked, session_rows_per_s(session)),
        MS("longest_gap_ms", has_worked, session->longest_gap_ns),
        COUNT_IF("verified_present", is_verified, session->present),
        COUNT_IF("verified_lost", is_verified, session->lost),
        COUNT_IF("verified_unacknowledged_present", is_verified, session->unacknowledged_present),
        COUNT_IF("verified_duplicates", is_verified, session->duplicates));
}

static void put_host_interval(struct csv *csv, const struct operation_list *operations,
                              const struct host_interval *host)
{
    static const uint64_t none[RECORDER_COUNTERS];
    static const struct interval nothing;
    const struct interval *interval = host->interval == NULL ? &nothing : host->interval;
    const uint64_t *counters = interval->hosts == 0 ? none : interval->hosts_counters[host->host];
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    const double each = seconds > 0 ? seconds : 1;
    const bool has_script = operation_is_used(operations, OPERATION_TRANSACTION);
    PUT(csv, SECONDS("start_s", interval->start_ns), SECONDS("end_s", interval->end_ns),
        TEXT("host", host->name), COUNT("rows", counters[RECORDER_ROWS_ACKNOWLEDGED]),
        NUMBER("rows_per_s", ROWS_PER_S, seconds > 0,
               (double)counters[RECORDER_ROWS_ACKNOWLEDGED] / each),
        COUNT_IF("transactions", has_script, counters[RECORDER_TRANSACTIONS_COMMITTED]),
        NUMBER("transactions_per_s", PER_S, has_script && seconds > 0,
               (double)counters[RECORDER_TRANSACTIONS_COMMITTED] / each),
        COUNT("errors", figures_host_errors(counters)),
        COUNT("connects_failed", counters[RECORDER_CONNECTS_FAILED]),
        COUNT("connections_lost", counters[RECORDER_CONNECTIONS_LOST]),
        COUNT("reconnects", counters[RECORDER_RECONNECTS]));
}

void csv_rank_cells(const struct rank_row *row, struct figure_cell cells[CSV_RANK_CELLS])
{
    const struct rank_result *rank = row->rank;
    const struct resource_summary *resources = &rank->resources;
    const bool is_known = rank->is_known;
    const bool has_worked = is_known && rank->counters[RECORDER_SESSION_NS] > 0;
    const double seconds = figures_seconds(rank->elapsed_ns);
    const uint64_t memory = resources->max_client_memory_bytes;
#define IO_MIB(key, of) MIB(key, is_known ? resources->io.counts[IO_##of] : -1)
    const struct figure_cell list[CSV_RANK_CELLS] = {
        COUNT("rank", row->number),
        TEXT("machine", rank->machine),
        COUNT("sessions", rank->sessions.requested),
        COUNT("sessions_connected", rank->sessions.connected),
        COUNT("sessions_finished", rank->sessions.finished),
        COUNT("sessions_dropped", rank->sessions.dropped),
        COUNT("rows_planned", rank->rows.planned),
        COUNT("rows_acknowledged", rank->rows.acknowledged),
        COUNT("rows_rejected", rank->rows.rejected),
        COUNT("rows_in_doubt", rank->rows.in_doubt),
        COUNT("rows_not_sent", rank->rows.not_sent),
        COUNT("transactions_committed", rank->counters[RECORDER_TRANSACTIONS_COMMITTED]),
        NUMBER("elapsed_s", S, is_known, seconds),
        NUMBER("throughput_rows_per_s", ROWS_PER_S, is_known && seconds > 0,
               (double)rank->rows.acknowledged / (seconds > 0 ? seconds : 1)),
        NUMBER("max_host_cpu_percent", PERCENT, is_known && resources->max_cpu.host >= 0,
               resources->max_cpu.host),
        NUMBER("max_client_cpu_percent", PERCENT, is_known && resources->max_cpu.client >= 0,
               resources->max_cpu.client),
        NUMBER("max_server_cpu_percent", PERCENT, is_known && resources->max_cpu.server >= 0,
               resources->max_cpu.server),
        NUMBER("run_queue_percent", PERCENT, has_worked,
               100 * (double)rank->counters[RECORDER_RUN_QUEUE_NS] /
                   (has_worked ? (double)rank->counters[RECORDER_SESSION_NS] : 1)),
        NUMBER("max_client_memory_mib", MIB, is_known && memory > 0, figures_mib(memory)),
        MIB("max_server_memory_mib", is_known ? resources->max_server_memory_bytes : -1),
        IO_MIB("device_read_mib", DEVICE_READ_BYTES),
        IO_MIB("device_written_mib", DEVICE_WRITTEN_BYTES),
        IO_MIB("server_read_mib", SERVER_READ_BYTES),
        IO_MIB("server_written_mib", SERVER_WRITTEN_BYTES),
        MS("gate_late_ms", is_known, rank->gate_late_ns),
        MS("clock_offset_ms", is_known, rank->clock_offset_ns),
        MS("clock_error_ms", is_known, rank->clock_error_ns),
        MS("clock_drift_ms", is_known, rank->clock_drift_ns),
        TEXT("verdict", is_known ? verdict_names[rank->verdict] : "LOST"),
        TEXT("verdict_reason", rank->verdict_reason)};
    memcpy(cells, list, sizeof list);
#undef IO_MIB
}

static void put_rank(struct csv *csv, const struct rank_row *row)
{
    static const struct rank_result none = {.machine = ""};
    struct figure_cell cells[CSV_RANK_CELLS];
    static const enum figure_id traced[] = {
        FIGURE_TRACE_READS,        FIGURE_TRACE_WRITES,         FIGURE_TRACE_FSYNCS,
        FIGURE_TRACE_READ_MIB,     FIGURE_TRACE_WRITTEN_MIB,    FIGURE_TRACE_FSYNC_P99_MS,
        FIGURE_TRACE_FSYNC_VFS_MS, FIGURE_TRACE_FSYNC_QUEUE_MS, FIGURE_TRACE_FSYNC_DEVICE_MS,
        FIGURE_TRACE_LOST};
    struct figure_set set = {.note = ""};
    row = row->rank == NULL ? &(struct rank_row){0, &none} : row;
    csv_rank_cells(row, cells);
    for (size_t i = 0; i < CSV_RANK_CELLS; i++) {
        put_cell(csv, &cells[i]);
    }
    figures_of_trace(&set, row->rank->trace);
    for (size_t i = 0; i < COUNT_OF(traced); i++) {
        const struct figure *figure = &figure_table[traced[i]];
        struct figure_cell cell = {.unit = figure->unit, .value = set.values[traced[i]]};
        snprintf(cell.key, sizeof cell.key, "%s", figure->key);
        put_cell(csv, &cell);
    }
}

void csv_write(FILE *stream, enum csv_file file, const struct operation_list *operations,
               const void *record)
{
    static const union {
        struct interval interval;
        struct sample sample;
        struct level level;
        struct session_summary session;
        struct mark mark;
        struct host_result host;
        struct host_interval host_interval;
        struct rank_row rank;
        struct rank_sample rank_sample;
    } nothing;
    struct csv csv;
    char time[MOMENT_TEXT_BYTES];
    csv_begin(&csv, stream, record == NULL);
    record = record == NULL ? &nothing : record;
    switch (file) {
    case CSV_SAMPLES:
        put_sample(&csv, record);
        break;
    case CSV_INTERVALS:
        put_interval(&csv, operations, record);
        break;
    case CSV_SESSIONS:
        put_session(&csv, record);
        break;
    case CSV_EVENTS:
        moment_format(&((const struct mark *)record)->moment, time);
        csv_text(&csv, "time", time);
        csv_text(&csv, "text", ((const struct mark *)record)->text);
        break;
    case CSV_LEVELS:
        put_row(&csv, &report_levels, operations, record);
        break;
    case CSV_HOSTS:
        put_row(&csv, &report_hosts, operations, record);
        break;
    case CSV_HOSTS_INTERVALS:
        put_host_interval(&csv, operations, record);
        break;
    case CSV_RANKS:
        put_rank(&csv, record);
        break;
    case CSV_RANKS_SAMPLES: {
        const struct rank_sample *sample = record;
        csv_count(&csv, "rank", sample->rank);
        csv_text(&csv, "machine", sample->machine);
        put_sample(&csv, &sample->sample);
        break;
    }
    case CSV_FILES:
        break;
    }
    csv_end(&csv);
}

void hgrm_write(FILE *stream, const struct histogram *histogram)
{
    enum {
        SUB_BUCKETS = 128,
        /* what HdrHistogram calls buckets: halves of SUB_BUCKETS entries, the first one whole */
        BUCKETS = HISTOGRAM_BUCKETS / (SUB_BUCKETS / 2) - 1
    };
    const double total = (double)histogram->total, mean = histogram_mean_ns(histogram);
    double level = 0, squares = 0;
    uint64_t seen = 0;
    fprintf(stream, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    /* the place behind the buckets holds the overflow */
    for (size_t place = 0; place <= HISTOGRAM_BUCKETS; place++) {
        const bool is_over = place == HISTOGRAM_BUCKETS;
        const uint64_t count = is_over ? histogram->overflow : histogram->counts[place];
        const int64_t high = is_over ? histogram->max_ns : histogram_bucket_high_ns(place);
        const int64_t low = is_over ? histogram->max_ns : histogram_bucket_low_ns(place);
        const double distance = ((double)low + (double)high) / 2 - mean;
        squares += distance * distance * (double)count;
        seen += count;
        while (count > 0 && level < 100.0 && level <= 100.0 * (double)seen / total) {
            fprintf(stream, "%12.6f %2.12f %10" PRIu64 " %14.2f\n",
                    figures_ms(high < histogram->max_ns ? high : histogram->max_ns), level / 100.0,
                    seen, 1 / (1 - level / 100.0));
            const double halvings = floor(log2(100.0 / (100.0 - level))) + 1;
            level += 100.0 / (HGRM_TICKS * exp2(halvings));
            if (seen >= histogram->total) {
                break;
            }
        }
    }
    const double max = figures_ms(histogram->max_ns);
    if (histogram->total > 0) {
        fprintf(stream, "%12.6f %2.12f %10" PRIu64 "\n", max, 1.0, histogram->total);
    }
    fprintf(stream, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", mean / 1e6,
            histogram->total > 0 ? sqrt(squares / total) / 1e6 : 0);
    fprintf(stream, "#[Max     = %12.6f, Total count    = %12" PRIu64 "]\n", max, histogram->total);
    fprintf(stream, "#[Buckets = %12d, SubBuckets     = %12d]\n", BUCKETS, SUB_BUCKETS);
}
