#include "report/csv_levels.h"

#include "report/figures.h"

enum {
    SECONDS_DECIMALS = 3,
    MS_DECIMALS = 6,
    PERCENT_DECIMALS = 2,
    MIB_DECIMALS = 2
};

static void put_latency(struct csv *csv, const char *name, const struct level_latency *latency)
{
    const struct {
        const char *point;
        int64_t ns;
    } points[] = {{"p50", latency->p50_ns}, {"p99", latency->p99_ns}, {"max", latency->max_ns}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        char column[32];
        snprintf(column, sizeof column, "%s_%s_ms", name, points[i].point);
        csv_decimal_if(csv, column, latency->count > 0, figures_ms(points[i].ns), MS_DECIMALS);
    }
}

static void put_resources(struct csv *csv, const struct level *level)
{
    const struct {
        const char *column;
        double percent;
    } shares[] = {{"host_cpu_percent", level->host_cpu_percent},
                  {"server_cpu_percent", level->server_cpu_percent},
                  {"client_cpu_percent", level->client_cpu_percent}};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        csv_decimal_if(csv, shares[i].column, shares[i].percent >= 0, shares[i].percent,
                       PERCENT_DECIMALS);
    }
    csv_decimal_if(csv, "server_memory_mib", level->server_memory_bytes >= 0,
                   figures_mib((uint64_t)level->server_memory_bytes), MIB_DECIMALS);
    csv_decimal_if(csv, "client_memory_mib", level->client_memory_bytes >= 0,
                   figures_mib((uint64_t)level->client_memory_bytes), MIB_DECIMALS);
}

void csv_levels_level(struct csv *csv, const struct level *level)
{
    const bool has_hold = level->hold_ns > 0;
    csv_count(csv, "sessions", level->sessions);
    csv_text(csv, "outcome", level_outcome_name(level->outcome));
    csv_text(csv, "reason", level_reason_name(level->reason));
    csv_decimal(csv, "start_s", figures_seconds(level->start_ns), SECONDS_DECIMALS);
    csv_decimal(csv, "connect_s", figures_seconds(level->connect_ns), SECONDS_DECIMALS);
    csv_decimal(csv, "hold_s", figures_seconds(level->hold_ns), SECONDS_DECIMALS);
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
    put_resources(csv, level);
    const struct cause *cause = level_main_cause(level);
    csv_text(csv, "error", cause == NULL ? NULL : cause->error.text);
}
