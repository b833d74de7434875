#include "report/csv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mono.h"
#include "report/figures.h"

void csv_begin(struct csv *csv, FILE *stream, bool is_header)
{
    *csv = (struct csv){.stream = stream, .is_header = is_header};
}

void csv_text(struct csv *csv, const char *column, const char *text)
{
    const char *cell = csv->is_header ? column : text == NULL ? "" : text;
    if (csv->is_begun) {
        fputc(',', csv->stream);
    }
    csv->is_begun = true;
    if (strpbrk(cell, ",\"\r\n") == NULL) {
        fputs(cell, csv->stream);
        return;
    }
    fputc('"', csv->stream);
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

static void put_cells(struct csv *csv, const struct figure_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[FIGURE_TEXT_BYTES];
        csv_text(csv, cells[i].key, figure_format(cells[i].unit, &cells[i].value, text));
    }
}

void csv_write_summary(FILE *stream, const struct figure_set *set)
{
    for (int line = 0; line < 2; line++) {
        struct csv csv;
        struct figure_cell cell;
        csv_begin(&csv, stream, line == 0);
        for (size_t at = 0; figure_next_cell(set, &at, &cell);) {
            put_cells(&csv, &cell, 1);
        }
        csv_end(&csv);
    }
}

/* What stands in a cell: its unit and its value. */
/* clang-format off */
#define COUNT_IF(known, number) FIGURE_UNIT_COUNT, {.is_known = (known), .count = (number)}
#define COUNT(number) COUNT_IF(true, number)
#define TEXT(words) FIGURE_UNIT_TEXT, {.text = (words)}
#define NUMBER(unit, known, value) FIGURE_UNIT_##unit, {.is_known = (known), .number = (value)}
/* clang-format on */
#define POSITIVE(unit, value) NUMBER(unit, (value) >= 0, value)
#define SECONDS(ns) NUMBER(S, true, figures_seconds(ns))
#define MOMENT(ns) NUMBER(MOMENT, (ns) >= 0, figures_seconds(ns))
#define MS(known, ns) NUMBER(MS, known, figures_ms(ns))
#define MIB(bytes) NUMBER(MIB, (bytes) >= 0, figures_mib((uint64_t)(bytes)))

static void put_latency(struct csv *csv, const char *operation,
                        const struct recorder_latency *latency)
{
    static const char *const points[] = {"p50", "p99", "max"};
    const int64_t points_ns[] = {latency->p50_ns, latency->p99_ns, latency->max_ns};
    for (size_t i = 0; i < 3; i++) {
        struct figure_cell cell = {"", MS(latency->count > 0, points_ns[i])};
        snprintf(cell.key, sizeof cell.key, "%s_%s_ms", operation, points[i]);
        put_cells(csv, &cell, 1);
    }
}

static void put_interval(struct csv *csv, const struct operation_list *operations,
                         const struct interval *interval)
{
    const uint64_t *counters = interval->counters;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    const double rows = (double)counters[RECORDER_ROWS_ACKNOWLEDGED];
    const struct figure_cell first[] = {
        {"start_s", SECONDS(interval->start_ns)},
        {"end_s", SECONDS(interval->end_ns)},
        {"sessions_alive", COUNT(interval->sessions_alive)},
        {"rows", COUNT(counters[RECORDER_ROWS_ACKNOWLEDGED])},
        {"rows_per_s", NUMBER(ROWS_PER_S, seconds > 0, rows / (seconds > 0 ? seconds : 1))},
        {"appends", COUNT(counters[RECORDER_APPENDS])},
        {"reads", COUNT(counters[RECORDER_READS])},
        {"errors", COUNT(figures_errors(counters))},
        {"rows_rejected", COUNT(counters[RECORDER_ROWS_REJECTED])},
        {"rows_in_doubt", COUNT(counters[RECORDER_ROWS_IN_DOUBT])},
        {"sessions_connected", COUNT(counters[RECORDER_SESSIONS_CONNECTED])},
        {"sessions_dropped", COUNT(counters[RECORDER_SESSIONS_DROPPED])},
        {"busy_retries", COUNT(counters[RECORDER_BUSY_RETRIES])}};
    const struct figure_cell last[] = {
        {"connections_lost", COUNT(counters[RECORDER_CONNECTIONS_LOST])},
        {"reconnects", COUNT(counters[RECORDER_RECONNECTS])},
        {"reconnects_failed", COUNT(counters[RECORDER_RECONNECTS_FAILED])},
        {"churns", COUNT(counters[RECORDER_CHURNS])},
        {"refusals", COUNT(counters[RECORDER_REFUSALS])},
        {"sessions_without_progress", COUNT(interval->sessions_without_progress)},
        {"sessions_reading", COUNT(interval->sessions_reading)}};
    put_cells(csv, first, sizeof first / sizeof first[0]);
    for (size_t place = 0; place < operations->count; place++) {
        const size_t i = operation_at(operations, place);
        if (operations->entries[i].is_series) {
            put_latency(csv, operations->entries[i].name, &interval->latencies[i]);
        }
    }
    put_cells(csv, last, sizeof last / sizeof last[0]);
}

static void put_sample(struct csv *csv, const struct sample *sample)
{
    const bool is_found = sample->server_processes > 0;
    const uint64_t memory = sample->client_memory_bytes;
    const struct figure_cell cells[] = {
        {"start_s", SECONDS(sample->start_ns)},
        {"end_s", SECONDS(sample->end_ns)},
        {"sessions_alive", COUNT(sample->sessions_alive)},
        {"host_cpu_percent", POSITIVE(PERCENT, sample->cpu.host)},
        {"server_cpu_percent", POSITIVE(PERCENT, sample->cpu.server)},
        {"client_cpu_percent", POSITIVE(PERCENT, sample->cpu.client)},
        {"server_memory_mib", MIB(sample->server_memory_bytes)},
        {"server_processes", COUNT_IF(is_found, sample->server_processes)},
        {"server_threads", COUNT_IF(is_found, sample->server_threads)},
        {"client_memory_mib", NUMBER(MIB, memory > 0, figures_mib(memory))}};
    put_cells(csv, cells, sizeof cells / sizeof cells[0]);
}

void csv_level_cells(const struct level *level, struct figure_cell cells[CSV_LEVEL_CELLS])
{
    const bool has_hold = level->hold_ns > 0;
    const struct figure_cell list[CSV_LEVEL_CELLS] = {
        {"sessions", COUNT(level->sessions)},
        {"outcome", TEXT(level_outcome_names[level->outcome])},
        {"reason", TEXT(level_reason_names[level->reason])},
        {"start_s", SECONDS(level->start_ns)},
        {"connect_s", SECONDS(level->connect_ns)},
        {"hold_s", SECONDS(level->hold_ns)},
        {"sessions_added", COUNT(level->added)},
        {"sessions_up", COUNT(level->up)},
        {"sessions_refused", COUNT(level->ledger.refused)},
        {"sessions_timed_out", COUNT(level->ledger.timed_out)},
        {"sessions_not_started", COUNT(level->ledger.not_started)},
        {"sessions_dropped", COUNT(level->ledger.dropped)},
        {"sessions_stalled", COUNT_IF(has_hold, level->stalled)},
        {"calls_failed", COUNT_IF(has_hold, level->failed)},
        {"rows", COUNT_IF(has_hold, level->rows)},
        {"rows_per_s", NUMBER(ROWS_PER_S, has_hold, level->rows_per_s)},
        {"lowest_rows_per_s", POSITIVE(ROWS_PER_S, level->lowest_rows_per_s)},
        {"highest_rows_per_s", POSITIVE(ROWS_PER_S, level->highest_rows_per_s)}};
    memcpy(cells, list, sizeof list);
}

static void put_level(struct csv *csv, const struct level *level)
{
    struct figure_cell first[CSV_LEVEL_CELLS];
    const struct cause *cause = level_main_cause(level);
    const struct figure_cell last[] = {{"host_cpu_percent", POSITIVE(PERCENT, level->cpu.host)},
                                       {"server_cpu_percent", POSITIVE(PERCENT, level->cpu.server)},
                                       {"client_cpu_percent", POSITIVE(PERCENT, level->cpu.client)},
                                       {"server_memory_mib", MIB(level->server_memory_bytes)},
                                       {"client_memory_mib", MIB(level->client_memory_bytes)},
                                       {"error", TEXT(cause == NULL ? NULL : cause->error.text)}};
    csv_level_cells(level, first);
    put_cells(csv, first, CSV_LEVEL_CELLS);
    put_latency(csv, "append", &level->append);
    put_latency(csv, "connect", &level->connect);
    put_cells(csv, last, sizeof last / sizeof last[0]);
}

static void put_session(struct csv *csv, const struct session_summary *session)
{
    const bool has_worked = session->worked_ns > 0, is_verified = session->is_verified;
    const struct row_ledger *rows = &session->rows;
    const struct figure_cell cells[] = {
        {"session", COUNT(session->index)},
        {"kind", TEXT(session->is_idle ? "idle" : "active")},
        {"outcome", TEXT(session_outcome_names[session->outcome])},
        {"rows_planned", COUNT(rows->planned)},
        {"rows_acknowledged", COUNT(rows->acknowledged)},
        {"rows_rejected", COUNT(rows->rejected)},
        {"rows_in_doubt", COUNT(rows->in_doubt)},
        {"rows_not_sent", COUNT(rows->not_sent)},
        {"batches", COUNT(session->batches)},
        {"connections_lost", COUNT(session->drops)},
        {"reconnects", COUNT(session->reconnects)},
        {"churns", COUNT(session->churns)},
        {"first_acknowledged_s", MOMENT(session->first_ack_ns)},
        {"last_acknowledged_s", MOMENT(session->last_ack_ns)},
        {"worked_s", MOMENT(has_worked ? session->worked_ns : -1)},
        {"rows_per_s", NUMBER(ROWS_PER_S, has_worked, session_rows_per_s(session))},
        {"longest_gap_ms", MS(has_worked, session->longest_gap_ns)},
        {"verified_present", COUNT_IF(is_verified, session->present)},
        {"verified_lost", COUNT_IF(is_verified, session->lost)},
        {"verified_unacknowledged_present", COUNT_IF(is_verified, session->unacknowledged_present)},
        {"verified_duplicates", COUNT_IF(is_verified, session->duplicates)}};
    put_cells(csv, cells, sizeof cells / sizeof cells[0]);
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
        put_level(&csv, record);
        break;
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
