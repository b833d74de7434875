#include "report/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "base/units.h"
#include "report/figures.h"

enum {
    PARTS_MAX = 8,
    PART_BYTES = 96,
    LINE_BYTES = 1024,
    POINTS_TO_TELL = 3,    /* from so many a trend is read */
    LONG_S = 60,           /* a run that takes longer is worth a word */
    ROWS_TO_TIME = 100000, /* fewer are counted too soon to say what a row costs */
};

/* A minute or so of one CPU. */
#define MANY_ROWS_READ 1e9

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
    if (sample == NULL) {
        return;
    }
    if (sample->cpu.server >= 0) {
        add_part(parts, 5, "server %.0f%%", sample->cpu.server);
    } else if (sample->cpu.host >= 0) {
        add_part(parts, 5, "cpu %.0f%%", sample->cpu.host);
    }
    if (sample->server_memory_bytes >= 0) {
        add_part(parts, 6, "%s%s", sample->cpu.server >= 0 ? "" : "server ",
                 UNITS_BYTES((uint64_t)sample->server_memory_bytes));
    }
}

static double share_of(double part, double whole)
{
    const double share = whole > 0 ? part / whole : 0;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* Since rows began to go. */
static double seconds_worked(const struct sampler_progress *now)
{
    return figures_seconds(now->interval->end_ns - now->work_start_ns);
}

/* How much of the run is done, 0 … 1: of its rows or of its time, whichever is nearer to its end.
 */
static double share_done(const struct plan *plan, const struct sampler_progress *now)
{
    const double rows = (double)now->total->counters[RECORDER_ROWS_ACKNOWLEDGED];
    const double of_rows = share_of(rows, (double)plan->records);
    const double of_time = share_of(seconds_worked(now), figures_seconds(plan->duration_ns));
    return of_rows > of_time ? of_rows : of_time;
}

/* The point at which about half of the rows were in that are in now. */
static struct progress_point half_way(const struct progress *progress, double rows)
{
    struct progress_point half = {0, 0};
    for (size_t i = 0; i < progress->point_count && progress->points[i].rows <= rows / 2; i++) {
        half = progress->points[i];
    }
    return half;
}

/*
 * Seconds until all rows are in, by the trend. What a row costs grows with the rows that are there
 * when every batch is followed by count(*), so the time of n rows is taken for c0 n + c1 n²,
 * through now and the moment at which half of today's rows were in. Where rows got cheaper (caches,
 * sessions that started late), the cost of the second half is taken as it is. Negative: nothing is
 * known.
 */
static double rows_left_s(const struct progress *progress, const struct sampler_progress *now)
{
    const double all = (double)progress->plan->records;
    const double rows = (double)now->total->counters[RECORDER_ROWS_ACKNOWLEDGED];
    const double s = seconds_worked(now);
    if (all <= 0 || rows <= 0 || s <= 0) {
        return -1;
    }
    const struct progress_point half = half_way(progress, rows);
    const double late = (s - half.s) / (rows - half.rows);
    const double early = half.rows > 0 ? half.s / half.rows : late;
    const double c1 = late > early ? (late - early) / rows : 0;
    const double c0 = late - c1 * (rows + half.rows);
    double left = rows < all ? c0 * (all - rows) + c1 * (all * all - rows * rows) : 0;
    if (progress->plan->rate_rows_per_s > 0) {
        const double rate = (double)progress->plan->rate_rows_per_s;
        const double due = all / rate - s;
        /* within a second of its schedule a run ends with it */
        left = left < due || rate * s - rows < rate ? due : left;
    }
    return left < 0 ? 0 : left;
}

/* Negative: not known. */
static double seconds_left(const struct progress *progress, const struct sampler_progress *now)
{
    const double rows = rows_left_s(progress, now);
    if (progress->plan->duration_ns == 0) {
        return rows;
    }
    const double time = figures_seconds(progress->plan->duration_ns) - seconds_worked(now);
    const double least = rows >= 0 && rows < time ? rows : time;
    return least < 0 ? 0 : least;
}

static const char *format_seconds(double seconds, char text[UNITS_TEXT_BYTES])
{
    return units_format_seconds((uint64_t)ceil(seconds > 1e9 ? 1e9 : seconds), text);
}

/* The time left, or why a run whose rows are in or whose time is over has not ended. */
static void add_left(struct parts *parts, const struct progress *progress,
                     const struct sampler_progress *now, double share)
{
    char text[UNITS_TEXT_BYTES];
    const double left = seconds_left(progress, now);
    const uint64_t working = now->interval->sessions_working;
    if (share >= 1 && working > 0) {
        add_part(parts, 1, "%s session%s for an answer", units_format_count(working, text),
                 working == 1 ? " waits" : "s wait");
    } else if (share >= 1) {
        add_part(parts, 1, "disconnecting");
    } else if (left >= 0) {
        add_part(parts, 4, "left %s", format_seconds(left, text));
    }
}

static void add_work(struct parts *parts, const struct progress *progress,
                     const struct sampler_progress *now)
{
    const struct interval *interval = now->interval;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    const double share = share_done(progress->plan, now);
    char count[UNITS_TEXT_BYTES];
    add_part(parts, 3, "sessions %s/%s", UNITS_COUNT(interval->sessions_alive),
             units_format_count(plan_sessions_all(progress->plan), count));
    /* Cut, not rounded: 100 % is shown when all rows are in and not before. */
    add_part(parts, 0, "rows %s %.1f%%",
             units_format_count(now->total->counters[RECORDER_ROWS_ACKNOWLEDGED], count),
             floor(share * 1000) / 10);
    if (seconds > 0) {
        add_part(
            parts, 2, "%s/s",
            format_rate((double)interval->counters[RECORDER_ROWS_ACKNOWLEDGED] / seconds, count));
    }
    if (interval->latencies[OPERATION_APPEND].p99_ns > 0) {
        add_part(parts, 7, "p99 %s",
                 units_format_ns(interval->latencies[OPERATION_APPEND].p99_ns, count));
    }
    add_server(parts, now->sample);
    const uint64_t errors = figures_errors(now->total->counters);
    add_part(parts, errors > 0 ? 0 : 1, "errors %s", units_format_count(errors, count));
    add_left(parts, progress, now, share);
}

static void add_connecting(struct parts *parts, const struct progress *progress,
                           const struct sampler_progress *now)
{
    const uint64_t *counters = now->total->counters;
    add_part(parts, 0, "connecting: sessions %s/%s",
             UNITS_COUNT(counters[RECORDER_SESSIONS_CONNECTED]),
             UNITS_COUNT(plan_sessions_all(progress->plan)));
    add_server(parts, now->sample);
    const uint64_t failed = counters[RECORDER_SESSIONS_FAILED];
    add_part(parts, failed > 0 ? 0 : 1, "errors %s", UNITS_COUNT(failed));
    const double seconds = figures_seconds(now->interval->end_ns);
    add_part(parts, 4, "for %s", UNITS_SECONDS((uint64_t)(seconds < 0 ? 0 : seconds)));
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
    if (now->work_start_ns < 0) {
        add_connecting(&parts, progress, now);
    } else {
        add_work(&parts, progress, now);
    }
    char line[LINE_BYTES];
    do {
        join(&parts, line, sizeof line);
    } while (columns > 0 && text_width(line) > columns && drop_least(&parts));
    text_clean_line(text, size, line, columns > 0 ? columns : LINE_BYTES);
}

void progress_init(struct progress *progress, int fd, const struct plan *plan)
{
    *progress = (struct progress){
        .plan = plan,
        .step_ns = plan->progress_ns > 0 ? plan->progress_ns : plan->sample_interval_ns,
    };
    progress->next_line_ns = progress->step_ns;
    notice_init(&progress->notice, fd);
    progress->notice.is_terminal = progress->notice.is_terminal && plan->progress_ns == 0;
}

/* A long run keeps every second, every fourth … of its points. */
static void add_point(struct progress *progress, const struct sampler_progress *now)
{
    if (progress->point_count == PROGRESS_POINTS) {
        progress->point_count /= 2;
        for (size_t i = 0; i < progress->point_count; i++) {
            progress->points[i] = progress->points[2 * i + 1];
        }
    }
    progress->points[progress->point_count++] = (struct progress_point){
        seconds_worked(now), (double)now->total->counters[RECORDER_ROWS_ACKNOWLEDGED]};
}

void progress_announce(struct progress *progress, uint64_t rows_before, int64_t count_ns)
{
    const struct plan *plan = progress->plan;
    const double reads = (double)plan->records / (double)(plan->batch_rows * plan->read_every);
    const double rows = reads * ((double)rows_before + (double)plan->records / 2);
    if (plan->is_quiet || plan->read_mode != READ_COUNT || plan->records == 0 ||
        rows < MANY_ROWS_READ || rows > 1e19) {
        return;
    }
    char count[UNITS_TEXT_BYTES];
    char all[UNITS_TEXT_BYTES];
    char time[UNITS_TEXT_BYTES + 32] = "";
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (count_ns > 0 && rows_before >= ROWS_TO_TIME) {
        const double each = figures_seconds(count_ns) / (double)rows_before;
        char least[UNITS_TEXT_BYTES];
        snprintf(time, sizeof time, ", %s or more",
                 format_seconds(rows * each / (double)(cpus > 0 ? cpus : 1), least));
    }
    char line[LINE_BYTES];
    snprintf(line, sizeof line,
             "count(*) is to run %s times over up to %s rows: %s rows in all%s. Where the database "
             "counts them one by one the run slows down as the table grows; --read-every N counts "
             "less often, --read none not at all",
             units_format_count((uint64_t)ceil(reads), count),
             UNITS_COUNT(rows_before + plan->records), units_format_count((uint64_t)rows, all),
             time);
    notice_keep(&progress->notice, line);
}

/* Once it shows that reading makes the run long: how long, and how long it is without. */
static void tell_reads(struct progress *progress, const struct sampler_progress *now)
{
    const struct plan *plan = progress->plan;
    const double append_ns = (double)recorder_histogram(now->total, OPERATION_APPEND)->sum_ns;
    const double read_ns = (double)recorder_histogram(now->total, OPERATION_READ)->sum_ns;
    const double left = seconds_left(progress, now);
    if (progress->has_told_reads || plan->duration_ns > 0 || plan->rate_rows_per_s > 0 ||
        progress->point_count < POINTS_TO_TELL || left < LONG_S || read_ns < append_ns) {
        return;
    }
    progress->has_told_reads = true;
    const double rows = (double)now->total->counters[RECORDER_ROWS_ACKNOWLEDGED];
    const double without =
        seconds_worked(now) * append_ns / (append_ns + read_ns) * (double)plan->records / rows;
    char with_text[UNITS_TEXT_BYTES];
    char without_text[UNITS_TEXT_BYTES];
    char line[LINE_BYTES];
    snprintf(line, sizeof line,
             "about %s left, most of it for reading after each append; --read none takes about %s",
             format_seconds(left, with_text), format_seconds(without, without_text));
    notice_keep(&progress->notice, line);
}

void progress_show(struct progress *progress, const struct sampler_progress *now)
{
    if (progress->plan->is_quiet) {
        return;
    }
    if (now->work_start_ns >= 0) {
        add_point(progress, now);
        tell_reads(progress, now);
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
