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

static void put_cell(struct csv *csv, const char *text)
{
    if (csv->is_begun) {
        fputc(',', csv->stream);
    }
    csv->is_begun = true;
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, csv->stream);
        return;
    }
    fputc('"', csv->stream);
    for (const char *byte = text; *byte != '\0'; byte++) {
        if (*byte == '"') {
            fputc('"', csv->stream);
        }
        fputc(*byte, csv->stream);
    }
    fputc('"', csv->stream);
}

void csv_text(struct csv *csv, const char *column, const char *text)
{
    put_cell(csv, csv->is_header ? column : text == NULL ? "" : text);
}

void csv_count(struct csv *csv, const char *column, uint64_t value)
{
    csv_count_if(csv, column, true, value);
}

void csv_count_if(struct csv *csv, const char *column, bool is_known, uint64_t value)
{
    char text[24] = "";
    if (is_known) {
        snprintf(text, sizeof text, "%" PRIu64, value);
    }
    csv_text(csv, column, text);
}

void csv_decimal(struct csv *csv, const char *column, double value, int decimals)
{
    /* The largest double has 309 digits before the point. */
    char text[352] = "";
    if (isfinite(value)) {
        snprintf(text, sizeof text, "%.*f", decimals, value);
    }
    csv_text(csv, column, text);
}

void csv_decimal_if(struct csv *csv, const char *column, bool is_known, double value, int decimals)
{
    csv_decimal(csv, column, is_known ? value : (double)NAN, decimals);
}

void csv_end(struct csv *csv)
{
    fputs("\r\n", csv->stream);
}

enum {
    SECONDS_DECIMALS = 3,
    MOMENT_DECIMALS = 6,
    MS_DECIMALS = 6,
    PERCENT_DECIMALS = 2,
    MIB_DECIMALS = 2
};

static void put_seconds(struct csv *csv, const char *column, int64_t ns)
{
    csv_decimal(csv, column, figures_seconds(ns), SECONDS_DECIMALS);
}

static void put_percent(struct csv *csv, const char *column, double percent)
{
    csv_decimal_if(csv, column, percent >= 0, percent, PERCENT_DECIMALS);
}

static void put_mib(struct csv *csv, const char *column, bool is_known, int64_t bytes)
{
    csv_decimal_if(csv, column, is_known, figures_mib((uint64_t)bytes), MIB_DECIMALS);
}

void csv_files_summary(struct csv *csv, const struct figure_set *set)
{
    struct figure_cell cell;
    char text[FIGURE_TEXT_BYTES];
    for (size_t at = 0; figure_next_cell(set, &at, &cell);) {
        csv_text(csv, cell.key, figure_format(cell.unit, &cell.value, text));
    }
}

static void put_latency(struct csv *csv, const char *operation,
                        const struct recorder_latency *latency)
{
    const struct {
        const char *point;
        int64_t ns;
    } points[] = {{"p50", latency->p50_ns}, {"p99", latency->p99_ns}, {"max", latency->max_ns}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        char column[FIGURE_KEY_BYTES];
        snprintf(column, sizeof column, "%s_%s_ms", operation, points[i].point);
        csv_decimal_if(csv, column, latency->count > 0, figures_ms(points[i].ns), MS_DECIMALS);
    }
}

void csv_files_interval(struct csv *csv, const struct operation_list *operations,
                        const struct interval *interval)
{
    const uint64_t *counters = interval->counters;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    put_seconds(csv, "start_s", interval->start_ns);
    put_seconds(csv, "end_s", interval->end_ns);
    csv_count(csv, "sessions_alive", interval->sessions_alive);
    csv_count(csv, "rows", counters[RECORDER_ROWS_ACKNOWLEDGED]);
    csv_decimal_if(csv, "rows_per_s", seconds > 0,
                   (double)counters[RECORDER_ROWS_ACKNOWLEDGED] / (seconds > 0 ? seconds : 1), 1);
    csv_count(csv, "appends", counters[RECORDER_APPENDS]);
    csv_count(csv, "reads", counters[RECORDER_READS]);
    csv_count(csv, "errors", figures_errors(counters));
    csv_count(csv, "rows_rejected", counters[RECORDER_ROWS_REJECTED]);
    csv_count(csv, "rows_in_doubt", counters[RECORDER_ROWS_IN_DOUBT]);
    csv_count(csv, "sessions_connected", counters[RECORDER_SESSIONS_CONNECTED]);
    csv_count(csv, "sessions_dropped", counters[RECORDER_SESSIONS_DROPPED]);
    csv_count(csv, "busy_retries", counters[RECORDER_BUSY_RETRIES]);
    for (size_t place = 0; place < operations->count; place++) {
        const size_t i = operation_at(operations, place);
        if (operations->entries[i].is_series) {
            put_latency(csv, operations->entries[i].name, &interval->latencies[i]);
        }
    }
    csv_count(csv, "connections_lost", counters[RECORDER_CONNECTIONS_LOST]);
    csv_count(csv, "reconnects", counters[RECORDER_RECONNECTS]);
    csv_count(csv, "reconnects_failed", counters[RECORDER_RECONNECTS_FAILED]);
    csv_count(csv, "churns", counters[RECORDER_CHURNS]);
    csv_count(csv, "refusals", counters[RECORDER_REFUSALS]);
    csv_count(csv, "sessions_without_progress", interval->sessions_without_progress);
    csv_count(csv, "sessions_reading", interval->sessions_reading);
}

void csv_files_sample(struct csv *csv, const struct sample *sample)
{
    put_seconds(csv, "start_s", sample->start_ns);
    put_seconds(csv, "end_s", sample->end_ns);
    csv_count(csv, "sessions_alive", sample->sessions_alive);
    put_percent(csv, "host_cpu_percent", sample->cpu.host);
    put_percent(csv, "server_cpu_percent", sample->cpu.server);
    put_percent(csv, "client_cpu_percent", sample->cpu.client);
    put_mib(csv, "server_memory_mib", sample->server_memory_bytes >= 0,
            sample->server_memory_bytes);
    const bool is_found = sample->server_processes > 0;
    csv_count_if(csv, "server_processes", is_found, sample->server_processes);
    csv_count_if(csv, "server_threads", is_found, sample->server_threads);
    csv_decimal_if(csv, "client_memory_mib", sample->client_memory_bytes > 0,
                   figures_mib(sample->client_memory_bytes), MIB_DECIMALS);
}

void csv_files_event(struct csv *csv, const struct mark *mark)
{
    char time[MOMENT_TEXT_BYTES];
    moment_format(&mark->moment, time);
    csv_text(csv, "time", time);
    csv_text(csv, "text", mark->text);
}

void csv_files_level(struct csv *csv, const struct level *level)
{
    const bool has_hold = level->hold_ns > 0;
    csv_count(csv, "sessions", level->sessions);
    csv_text(csv, "outcome", level_outcome_names[level->outcome]);
    csv_text(csv, "reason", level_reason_names[level->reason]);
    put_seconds(csv, "start_s", level->start_ns);
    put_seconds(csv, "connect_s", level->connect_ns);
    put_seconds(csv, "hold_s", level->hold_ns);
    csv_count(csv, "sessions_added", level->added);
    csv_count(csv, "sessions_up", level->up);
    csv_count(csv, "sessions_refused", level->ledger.refused);
    csv_count(csv, "sessions_timed_out", level->ledger.timed_out);
    csv_count(csv, "sessions_not_started", level->ledger.not_started);
    csv_count(csv, "sessions_dropped", level->ledger.dropped);
    csv_count_if(csv, "sessions_stalled", has_hold, level->stalled);
    csv_count_if(csv, "calls_failed", has_hold, level->failed);
    csv_count_if(csv, "rows", has_hold, level->rows);
    csv_decimal_if(csv, "rows_per_s", has_hold, level->rows_per_s, 1);
    csv_decimal_if(csv, "lowest_rows_per_s", level->lowest_rows_per_s >= 0,
                   level->lowest_rows_per_s, 1);
    csv_decimal_if(csv, "highest_rows_per_s", level->highest_rows_per_s >= 0,
                   level->highest_rows_per_s, 1);
    put_latency(csv, "append", &level->append);
    put_latency(csv, "connect", &level->connect);
    put_percent(csv, "host_cpu_percent", level->cpu.host);
    put_percent(csv, "server_cpu_percent", level->cpu.server);
    put_percent(csv, "client_cpu_percent", level->cpu.client);
    put_mib(csv, "server_memory_mib", level->server_memory_bytes >= 0, level->server_memory_bytes);
    put_mib(csv, "client_memory_mib", level->client_memory_bytes >= 0, level->client_memory_bytes);
    const struct cause *cause = level_main_cause(level);
    csv_text(csv, "error", cause == NULL ? NULL : cause->error.text);
}

static void put_moment(struct csv *csv, const char *column, int64_t ns)
{
    csv_decimal_if(csv, column, ns >= 0, figures_seconds(ns), MOMENT_DECIMALS);
}

static void put_verified(struct csv *csv, const struct session_summary *session)
{
    const bool is_verified = session->is_verified;
    csv_count_if(csv, "verified_present", is_verified, session->present);
    csv_count_if(csv, "verified_lost", is_verified, session->lost);
    csv_count_if(csv, "verified_unacknowledged_present", is_verified,
                 session->unacknowledged_present);
    csv_count_if(csv, "verified_duplicates", is_verified, session->duplicates);
}

void csv_files_session(struct csv *csv, const struct session_summary *session)
{
    const bool has_worked = session->worked_ns > 0;
    csv_count(csv, "session", session->index);
    csv_text(csv, "kind", session->is_idle ? "idle" : "active");
    csv_text(csv, "outcome", session_outcome_names[session->outcome]);
    csv_count(csv, "rows_planned", session->rows.planned);
    csv_count(csv, "rows_acknowledged", session->rows.acknowledged);
    csv_count(csv, "rows_rejected", session->rows.rejected);
    csv_count(csv, "rows_in_doubt", session->rows.in_doubt);
    csv_count(csv, "rows_not_sent", session->rows.not_sent);
    csv_count(csv, "batches", session->batches);
    csv_count(csv, "connections_lost", session->drops);
    csv_count(csv, "reconnects", session->reconnects);
    csv_count(csv, "churns", session->churns);
    put_moment(csv, "first_acknowledged_s", session->first_ack_ns);
    put_moment(csv, "last_acknowledged_s", session->last_ack_ns);
    put_moment(csv, "worked_s", has_worked ? session->worked_ns : -1);
    csv_decimal_if(csv, "rows_per_s", has_worked, session_rows_per_s(session), 1);
    csv_decimal_if(csv, "longest_gap_ms", has_worked, figures_ms(session->longest_gap_ns),
                   MS_DECIMALS);
    put_verified(csv, session);
}

enum {
    SUB_BUCKETS = 128
};

/* What HdrHistogram calls buckets: halves of SUB_BUCKETS entries, the first one being whole. */
enum {
    BUCKETS = HISTOGRAM_BUCKETS / (SUB_BUCKETS / 2) - 1
};

static double to_ms(double ns)
{
    return ns / (double)MONO_NS_PER_MS;
}

/* Places 0 … HISTOGRAM_BUCKETS - 1 are the buckets, the one behind them holds the overflow. */
static uint64_t count_at(const struct histogram *histogram, size_t place)
{
    return place < HISTOGRAM_BUCKETS ? histogram->counts[place] : histogram->overflow;
}

static double highest_at(const struct histogram *histogram, size_t place)
{
    if (place < HISTOGRAM_BUCKETS && histogram_bucket_high_ns(place) < histogram->max_ns) {
        return (double)histogram_bucket_high_ns(place);
    }
    return (double)histogram->max_ns;
}

static double middle_at(const struct histogram *histogram, size_t place)
{
    if (place >= HISTOGRAM_BUCKETS) {
        return (double)histogram->max_ns;
    }
    return ((double)histogram_bucket_low_ns(place) + (double)histogram_bucket_high_ns(place)) / 2;
}

static double deviation_ns(const struct histogram *histogram)
{
    const double mean = histogram_mean_ns(histogram);
    double squares = 0;
    for (size_t place = 0; place <= HISTOGRAM_BUCKETS; place++) {
        const double distance = middle_at(histogram, place) - mean;
        squares += distance * distance * (double)count_at(histogram, place);
    }
    return histogram->total > 0 ? sqrt(squares / (double)histogram->total) : 0;
}

static double next_level(double level)
{
    const double halvings = floor(log2(100.0 / (100.0 - level))) + 1;
    return level + 100.0 / (HGRM_TICKS * exp2(halvings));
}

static void write_rows(FILE *stream, const struct histogram *histogram)
{
    const double total = (double)histogram->total;
    uint64_t seen = 0;
    double level = 0;
    for (size_t place = 0; place <= HISTOGRAM_BUCKETS && seen < histogram->total; place++) {
        const uint64_t count = count_at(histogram, place);
        if (count == 0) {
            continue;
        }
        seen += count;
        const double value = to_ms(highest_at(histogram, place));
        while (level < 100.0 && level <= 100.0 * (double)seen / total) {
            const double share = level / 100.0;
            fprintf(stream, "%12.6f %2.12f %10" PRIu64 " %14.2f\n", value, share, seen,
                    1 / (1 - share));
            level = next_level(level);
            if (seen >= histogram->total) {
                break;
            }
        }
    }
    if (histogram->total > 0) {
        fprintf(stream, "%12.6f %2.12f %10" PRIu64 "\n", to_ms((double)histogram->max_ns), 1.0,
                histogram->total);
    }
}

bool hgrm_write(FILE *stream, const struct histogram *histogram)
{
    fprintf(stream, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    write_rows(stream, histogram);
    fprintf(stream, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n",
            to_ms(histogram_mean_ns(histogram)), to_ms(deviation_ns(histogram)));
    fprintf(stream, "#[Max     = %12.6f, Total count    = %12" PRIu64 "]\n",
            to_ms((double)histogram->max_ns), histogram->total);
    fprintf(stream, "#[Buckets = %12d, SubBuckets     = %12d]\n", BUCKETS, SUB_BUCKETS);
    return ferror(stream) == 0;
}
