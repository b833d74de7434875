#include "report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "report/clean.h"
#include "report/figures.h"

enum {
    PARTS_MAX = 8,
    PART_BYTES = 96,
    LINE_BYTES = 1024
};

/* A piece of the line. Those with the highest rank are left out first; rank 0 stays. */
struct part {
    unsigned rank;
    char text[PART_BYTES];
};

struct parts {
    size_t count;
    struct part entries[PARTS_MAX];
};

static void add_part(struct parts *parts, unsigned rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_part(struct parts *parts, unsigned rank, const char *format, ...)
{
    if (parts->count >= PARTS_MAX) {
        return;
    }
    struct part *part = &parts->entries[parts->count++];
    part->rank = rank;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(part->text, sizeof part->text, format, arguments);
    va_end(arguments);
}

static const char *format_rate(double per_s, char text[UNITS_TEXT_BYTES])
{
    static const struct {
        double from;
        double unit;
        const char *name;
    } scales[] = {{999.95e6, 1e9, "G"}, {999.95e3, 1e6, "M"}, {999.5, 1e3, "k"}};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        if (per_s >= scales[i].from) {
            snprintf(text, UNITS_TEXT_BYTES, "%.1f%s", per_s / scales[i].unit, scales[i].name);
            return text;
        }
    }
    snprintf(text, UNITS_TEXT_BYTES, "%.0f", per_s);
    return text;
}

static void add_server(struct parts *parts, const struct sample *sample)
{
    char memory[UNITS_TEXT_BYTES];
    if (sample == NULL) {
        return;
    }
    if (sample->server_cpu_percent >= 0 && sample->server_memory_bytes >= 0) {
        add_part(parts, 5, "server %.0f%% %s", sample->server_cpu_percent,
                 units_format_bytes((uint64_t)sample->server_memory_bytes, memory));
    } else if (sample->server_memory_bytes >= 0) {
        add_part(parts, 5, "server %s",
                 units_format_bytes((uint64_t)sample->server_memory_bytes, memory));
    } else if (sample->server_cpu_percent >= 0) {
        add_part(parts, 5, "server %.0f%%", sample->server_cpu_percent);
    } else if (sample->host_cpu_percent >= 0) {
        add_part(parts, 5, "cpu %.0f%%", sample->host_cpu_percent);
    }
}

/* How much of the run is done, 0 … 1: by the time since rows began to go, by the rows, or by what
 * is nearer to its end. */
static double share_done(const struct progress *progress, const struct sampler_progress *now)
{
    const struct plan *plan = progress->plan;
    double share = 0;
    if (plan->duration_ns > 0) {
        const int64_t worked = now->interval->end_ns - progress->work_start_ns;
        share = (double)worked / (double)plan->duration_ns;
    }
    if (plan->records > 0) {
        const uint64_t rows = now->total->counters[RECORDER_ROWS_ACKNOWLEDGED];
        share = fmax(share, (double)rows / (double)plan->records);
    }
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static void add_left(struct parts *parts, const struct progress *progress,
                     const struct sampler_progress *now, double share)
{
    const double worked = figures_seconds(now->interval->end_ns - progress->work_start_ns);
    if (share <= 0) {
        return;
    }
    const double left = worked / share - worked;
    char text[UNITS_TEXT_BYTES];
    const double bounded = left < 0 ? 0 : left > 1e9 ? 1e9 : left;
    add_part(parts, 4, "left %s", units_format_seconds((uint64_t)ceil(bounded), text));
}

static uint64_t all_sessions(const struct plan *plan)
{
    return (uint64_t)plan->sessions + plan->idle_sessions;
}

static void add_work(struct parts *parts, const struct progress *progress,
                     const struct sampler_progress *now)
{
    const struct interval *interval = now->interval;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    const double share = share_done(progress, now);
    char alive[UNITS_TEXT_BYTES];
    char count[UNITS_TEXT_BYTES];
    add_part(parts, 3, "sessions %s/%s", units_format_count(interval->sessions_alive, alive),
             units_format_count(all_sessions(progress->plan), count));
    /* Cut, not rounded: 100 % is shown when all rows are in and not before. */
    add_part(parts, 0, "rows %s %.1f%%",
             units_format_count(now->total->counters[RECORDER_ROWS_ACKNOWLEDGED], count),
             floor(share * 1000) / 10);
    if (seconds > 0) {
        add_part(
            parts, 2, "%s/s",
            format_rate((double)interval->counters[RECORDER_ROWS_ACKNOWLEDGED] / seconds, count));
    }
    if (interval->append_p99_ns > 0) {
        add_part(parts, 6, "p99 %s", units_format_ns(interval->append_p99_ns, count));
    }
    add_server(parts, now->sample);
    const uint64_t errors = figures_errors(now->total->counters);
    add_part(parts, errors > 0 ? 1 : 7, "errors %s", units_format_count(errors, count));
    add_left(parts, progress, now, share);
}

static void add_connecting(struct parts *parts, const struct progress *progress,
                           const struct sampler_progress *now)
{
    const uint64_t *counters = now->total->counters;
    char connected[UNITS_TEXT_BYTES];
    char count[UNITS_TEXT_BYTES];
    add_part(parts, 0, "connecting: sessions %s/%s",
             units_format_count(counters[RECORDER_SESSIONS_CONNECTED], connected),
             units_format_count(all_sessions(progress->plan), count));
    add_server(parts, now->sample);
    const uint64_t failed = counters[RECORDER_SESSIONS_FAILED];
    add_part(parts, failed > 0 ? 1 : 7, "errors %s", units_format_count(failed, count));
    const double seconds = figures_seconds(now->interval->end_ns);
    add_part(parts, 4, "for %s",
             units_format_seconds((uint64_t)(seconds < 0 ? 0 : seconds), count));
}

static void join(const struct parts *parts, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < parts->count && used < size; i++) {
        const int length =
            snprintf(text + used, size - used, "%s%s", i > 0 ? "  " : "", parts->entries[i].text);
        used += length > 0 ? (size_t)length : 0;
    }
}

/* False: only parts that stay are left. */
static bool drop_least(struct parts *parts)
{
    size_t least = 0;
    for (size_t i = 1; i < parts->count; i++) {
        if (parts->entries[i].rank > parts->entries[least].rank) {
            least = i;
        }
    }
    if (parts->count == 0 || parts->entries[least].rank == 0) {
        return false;
    }
    parts->count--;
    memmove(&parts->entries[least], &parts->entries[least + 1],
            (parts->count - least) * sizeof parts->entries[0]);
    return true;
}

void progress_format(const struct progress *progress, const struct sampler_progress *now,
                     unsigned columns, char *text, size_t size)
{
    struct parts parts = {.count = 0};
    if (progress->work_start_ns < 0) {
        add_connecting(&parts, progress, now);
    } else {
        add_work(&parts, progress, now);
    }
    char line[LINE_BYTES];
    do {
        join(&parts, line, sizeof line);
    } while (columns > 0 && clean_width(line) > columns && drop_least(&parts));
    clean_line(text, size, line, columns > 0 ? columns : LINE_BYTES);
}

void progress_init(struct progress *progress, int fd, const struct plan *plan)
{
    *progress = (struct progress){
        .plan = plan,
        .step_ns = plan->progress_ns > 0 ? plan->progress_ns : plan->sample_interval_ns,
        .work_start_ns = -1,
    };
    progress->next_line_ns = progress->step_ns;
    notice_init(&progress->notice, fd);
    progress->notice.is_terminal = progress->notice.is_terminal && plan->progress_ns == 0;
}

static bool has_work_begun(const struct recorder_snapshot *total)
{
    return total->counters[RECORDER_APPENDS] > 0 || total->counters[RECORDER_APPENDS_FAILED] > 0 ||
           total->counters[RECORDER_ROWS_ACKNOWLEDGED] > 0;
}

void progress_show(struct progress *progress, const struct sampler_progress *now)
{
    if (progress->plan->is_quiet) {
        return;
    }
    if (progress->work_start_ns < 0 && has_work_begun(now->total)) {
        progress->work_start_ns = now->interval->start_ns;
    }
    if (!progress->notice.is_terminal && now->interval->end_ns < progress->next_line_ns) {
        return;
    }
    char line[LINE_BYTES];
    progress_format(progress, now, notice_columns(&progress->notice), line, sizeof line);
    notice_show(&progress->notice, line);
    const int64_t step = progress->step_ns;
    while (step > 0 && progress->next_line_ns <= now->interval->end_ns) {
        progress->next_line_ns += step;
    }
}

void progress_end(struct progress *progress)
{
    notice_end(&progress->notice);
}
