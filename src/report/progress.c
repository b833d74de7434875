#include "report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/text.h"
#include "load/loader.h"
#include "report/figures.h"

enum {
    PARTS_MAX = 12,
    PART_BYTES = 96,
    LINE_BYTES = 1024,
    POINTS_OF_TREND = 3,   /* fewest points that show a trend */
    LONG_S = 60,           /* the hint about reads needs at least this time left */
    ROWS_TO_TIME = 100000, /* a count(*) of fewer rows is too short to estimate the time per row */
};

/* Rows that one CPU counts in about a minute. */
#define MANY_ROWS_READ 1e9

/* Parts of the line of progress. If the line is too long, the part with the highest `rank` is left
 * out first. A part whose `rank` is 0 always stays. */
struct parts {
    size_t count;
    struct part {
        unsigned rank;
        char text[PART_BYTES];
    } entries[PARTS_MAX];
};

static void add_part(struct parts *parts, unsigned rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_part(struct parts *parts, unsigned rank, const char *format, ...)
{
    if (parts->count < PARTS_MAX) {
        struct part *part = &parts->entries[parts->count++];
        part->rank = rank;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(part->text, sizeof part->text, format, arguments);
        va_end(arguments);
    }
}

static void add_server(struct parts *parts, const struct sample *sample)
{
    if (sample == NULL) {
        return;
    }
    if (sample->cpu.host >= 0) {
        add_part(parts, 4, "cpu %.0f%%", sample->cpu.host);
    }
    if (sample->cpu.server >= 0) {
        add_part(parts, 5, "server %.0f%%", sample->cpu.server);
    }
    if (sample->server_memory_bytes >= 0) {
        add_part(parts, 6, "memory %s", UNITS_BYTES((uint64_t)sample->server_memory_bytes));
    }
}

static double rows_of(const struct progress_state *now)
{
    return (double)now->total->counters[RECORDER_ROWS_ACKNOWLEDGED];
}

/* Returns the seconds since the sessions began to work. */
static double seconds_worked(const struct progress_state *now)
{
    return figures_seconds(now->interval->end_ns - now->work_start_ns);
}

/*
 * Estimates the seconds until all rows are acknowledged or --duration is over. With a count(*)
 * after every batch, a row costs more time in a larger table. The time of n rows is therefore
 * estimated as c0 n + c1 n². The curve goes through two points: now, and the moment at which the
 * run had half of its present rows. If rows became cheaper (caches, sessions that started late),
 * the estimate is that a further row takes as long as a row of the second half. Returns a negative
 * number if the time is unknown.
 */
static double seconds_left(const struct progress *progress, const struct progress_state *now)
{
    const struct plan *plan = progress->plan;
    const double all = (double)plan->records, rows = rows_of(now), s = seconds_worked(now);
    double left = INFINITY;
    if (all > 0 && rows > 0 && s > 0) {
        struct progress_point half = {0, 0};
        for (size_t i = 0; i < progress->point_count && progress->points[i].rows <= rows / 2; i++) {
            half = progress->points[i];
        }
        const double late = (s - half.s) / (rows - half.rows);
        const double early = half.rows > 0 ? half.s / half.rows : late;
        const double c1 = late > early ? (late - early) / rows : 0;
        const double c0 = late - c1 * (rows + half.rows);
        left = rows < all ? c0 * (all - rows) + c1 * (all * all - rows * rows) : 0;
        const int64_t now_ns = (int64_t)(s * (double)MONO_NS_PER_S);
        const double on_time = ramp_due_ns(&plan->rate, all) / (double)MONO_NS_PER_S - s;
        /* a run that is less than a second late is assumed to end on schedule */
        if (plan_has_rate(plan) && !now->is_steered &&
            (left < on_time ||
             ramp_sum(&plan->rate, now_ns) - rows < ramp_value(&plan->rate, now_ns))) {
            left = on_time;
        }
        left = fmax(0, left);
    }
    if (plan->duration_ns > 0) {
        left = fmax(0, fmin(left, figures_seconds(plan->duration_ns) - s));
    }
    return isinf(left) ? -1 : left;
}

#define SECONDS(s) UNITS_SECONDS((uint64_t)ceil(fmin((s), 1e9)))

static void add_work(struct parts *parts, const struct progress *progress,
                     const struct progress_state *now)
{
    static const struct {
        double from, unit;
        const char *name;
    } scales[] = {{999.95e6, 1e9, "G"}, {999.95e3, 1e6, "M"}, {999.5, 1e3, "k"}, {0, 1, ""}};
    const struct plan *plan = progress->plan;
    const struct interval *interval = now->interval;
    const double seconds = figures_seconds(interval->end_ns - interval->start_ns);
    /* shows the highest of the shares of rows, time and transactions */
    const double of_rows = plan->records > 0 ? rows_of(now) / (double)plan->records : 0;
    const double of_time =
        plan->duration_ns > 0 ? seconds_worked(now) / figures_seconds(plan->duration_ns) : 0;
    const double of_transactions =
        plan->transactions > 0
            ? (double)now->total->counters[RECORDER_TRANSACTIONS_BEGUN] / (double)plan->transactions
            : 0;
    const double share = fmin(1, fmax(0, fmax(of_transactions, fmax(of_rows, of_time))));
    add_part(parts, 3, "sessions %s/%s", UNITS_COUNT(interval->sessions_alive),
             UNITS_COUNT(plan_sessions_all(plan)));
    const struct plan_work *work = plan_work(plan);
    /* The share is cut, not rounded, so that 100 % does not appear too early. */
    add_part(parts, 0, "%s %s %.1f%%", work->many, UNITS_COUNT(now->total->counters[work->done]),
             floor(share * 1000) / 10);
    if (seconds > 0) {
        const double per_s = (double)interval->counters[work->done] / seconds;
        size_t i = 0;
        while (per_s < scales[i].from) {
            i++;
        }
        add_part(parts, 2, "%.*f%s/s", scales[i].unit > 1 ? 1 : 0, per_s / scales[i].unit,
                 scales[i].name);
    }
    const int64_t p99_ns = interval->latencies[work->operation].p99_ns;
    if (p99_ns > 0) {
        add_part(parts, 7, "%s p99 %s", work->one, UNITS_NS(p99_ns));
    }
    add_server(parts, now->sample);
    const uint64_t *total = now->total->counters;
    const uint64_t retries = transactions_retries(total) + total[RECORDER_BUSY_RETRIES];
    if (retries > 0) {
        add_part(parts, 3, "retries %s", UNITS_COUNT(retries));
    }
    if (total[RECORDER_CHECKS_FAILED] > 0) {
        add_part(parts, 0, "failed checks %s", UNITS_COUNT(total[RECORDER_CHECKS_FAILED]));
    }
    const uint64_t errors = figures_errors(total);
    add_part(parts, errors > 0 ? 0 : 1, "errors %s", UNITS_COUNT(errors));
    /* shows the time left, or at 100 % the reason why the run has not ended */
    const double left = seconds_left(progress, now);
    const uint64_t working = interval->sessions_working;
    if (share >= 1 && working > 0) {
        add_part(parts, 1, "%s session%s for an answer", UNITS_COUNT(working),
                 working == 1 ? " waits" : "s wait");
    } else if (share >= 1) {
        add_part(parts, 1, "disconnecting");
    } else if (left >= 0) {
        add_part(parts, 4, "left %s", SECONDS(left));
    }
}

void progress_format(const struct progress *progress, const struct progress_state *now,
                     unsigned columns, char *text, size_t size)
{
    struct parts parts = {.count = 0};
    if (now->work_start_ns >= 0) {
        add_work(&parts, progress, now);
    } else {
        const uint64_t failed = now->total->counters[RECORDER_SESSIONS_FAILED];
        add_part(&parts, 0, "connecting: sessions %s/%s",
                 UNITS_COUNT(now->total->counters[RECORDER_SESSIONS_CONNECTED]),
                 UNITS_COUNT(plan_sessions_all(progress->plan)));
        add_server(&parts, now->sample);
        add_part(&parts, failed > 0 ? 0 : 1, "errors %s", UNITS_COUNT(failed));
        add_part(&parts, 4, "for %s",
                 UNITS_SECONDS((uint64_t)fmax(0, figures_seconds(now->interval->end_ns))));
    }
    char line[LINE_BYTES];
    for (;;) {
        size_t used = 0, least = 0;
        for (size_t i = 0; i < parts.count; i++) {
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i > 0 ? "  " : "",
                                     parts.entries[i].text);
            least = parts.entries[i].rank > parts.entries[least].rank ? i : least;
        }
        if (columns == 0 || text_width(line) <= columns || parts.entries[least].rank == 0) {
            break;
        }
        parts.count--;
        memmove(&parts.entries[least], &parts.entries[least + 1],
                (parts.count - least) * sizeof parts.entries[0]);
    }
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

void progress_announce(struct progress *progress, uint64_t rows_before, int64_t count_ns)
{
    const struct plan *plan = progress->plan;
    const double reads = (double)plan->records / (double)(plan->batch_rows * plan->read_every);
    const double rows = reads * ((double)rows_before + (double)plan->records / 2);
    if (plan->is_quiet || plan->script != NULL || plan->read_mode != READ_COUNT ||
        plan->records == 0 || rows < MANY_ROWS_READ || rows > 1e19) {
        return;
    }
    char line[LINE_BYTES], time[UNITS_TEXT_BYTES + 32] = "";
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (count_ns > 0 && rows_before >= ROWS_TO_TIME) {
        const double each = figures_seconds(count_ns) / (double)rows_before;
        snprintf(time, sizeof time, ", %s or more",
                 SECONDS(rows * each / (double)(cpus > 0 ? cpus : 1)));
    }
    snprintf(line, sizeof line,
             "count(*) will run %s times over up to %s rows: %s rows in all%s. If the database "
             "counts rows one by one, the run slows down as the table grows; --read-every N counts "
             "less often, --read none never",
             UNITS_COUNT((uint64_t)ceil(reads)), UNITS_COUNT(rows_before + plan->records),
             UNITS_COUNT((uint64_t)rows), time);
    notice_keep(&progress->notice, line);
}

/* If reads make the run long, shows the time left with and without reads. Does this only once. */
static void hint_at_reads(struct progress *progress, const struct progress_state *now)
{
    const struct plan *plan = progress->plan;
    const double append_ns = (double)recorder_histogram(now->total, OPERATION_APPEND)->sum_ns;
    const double read_ns = (double)recorder_histogram(now->total, OPERATION_READ)->sum_ns;
    const double left = seconds_left(progress, now);
    if (progress->has_shown_reads || plan->script != NULL || plan->duration_ns > 0 ||
        plan_has_rate(plan) || progress->point_count < POINTS_OF_TREND || left < LONG_S ||
        read_ns < append_ns) {
        return;
    }
    progress->has_shown_reads = true;
    const double without = seconds_worked(now) * append_ns / (append_ns + read_ns) *
                           (double)plan->records / rows_of(now);
    char line[LINE_BYTES];
    snprintf(line, sizeof line,
             "about %s left, most of it for the read after each batch; the whole run would take "
             "about %s with --read none",
             SECONDS(left), SECONDS(without));
    notice_keep(&progress->notice, line);
}

void progress_show(struct progress *progress, const struct progress_state *now)
{
    if (progress->plan->is_quiet) {
        return;
    }
    if (now->work_start_ns >= 0) {
        /* when all points are used, drops every second point */
        if (progress->point_count == PROGRESS_POINTS) {
            progress->point_count /= 2;
            for (size_t i = 0; i < progress->point_count; i++) {
                progress->points[i] = progress->points[2 * i + 1];
            }
        }
        progress->points[progress->point_count++] =
            (struct progress_point){seconds_worked(now), rows_of(now)};
        hint_at_reads(progress, now);
    }
    if (!progress->notice.is_terminal && now->interval->end_ns < progress->next_line_ns) {
        return;
    }
    char line[LINE_BYTES];
    progress_format(progress, now, notice_columns(&progress->notice), line, sizeof line);
    notice_show(&progress->notice, line);
    while (progress->step_ns > 0 && progress->next_line_ns <= now->interval->end_ns) {
        progress->next_line_ns += progress->step_ns;
    }
}

void progress_end(struct progress *progress)
{
    notice_end(&progress->notice);
}

void load_progress_init(struct load_progress *progress, const struct plan *plan)
{
    *progress = (struct load_progress){.is_quiet = plan->is_quiet};
    notice_init(&progress->notice, STDERR_FILENO);
    progress->notice.is_terminal = progress->notice.is_terminal && plan->progress_ns == 0;
    progress->step_ns = progress->notice.is_terminal ? MONO_NS_PER_S : 10 * MONO_NS_PER_S;
    progress->step_ns = plan->progress_ns > 0 ? plan->progress_ns : progress->step_ns;
    progress->next_ns = progress->step_ns;
}

void load_progress_show(struct load_progress *progress, const struct load_counts *counts)
{
    static const char *const steps[] = {
        [LOAD_ROWS] = "", [LOAD_INDEXES] = " (indexes)", [LOAD_FINISH] = " (statistics, count)"};
    if (progress->is_quiet || counts->elapsed_ns < progress->next_ns) {
        return;
    }
    const double rate =
        counts->elapsed_ns > 0 ? (double)counts->loaded / figures_seconds(counts->elapsed_ns) : 0;
    char left[2 * UNITS_TEXT_BYTES] = "", text[LINE_BYTES], line[LINE_BYTES];
    if (counts->rows < counts->all && rate > 0) {
        snprintf(left, sizeof left, ", %s left",
                 UNITS_SECONDS((uint64_t)((double)(counts->all - counts->rows) / rate) + 1));
    }
    const bool has_table = counts->table != NULL;
    snprintf(text, sizeof text, "%s of %s rows, %s rows/s%s%s%.80s%s", UNITS_COUNT(counts->rows),
             UNITS_COUNT(counts->all), UNITS_COUNT((uint64_t)rate), left, has_table ? ": " : "",
             has_table ? counts->table : "", has_table ? steps[counts->step] : "");
    const unsigned columns = notice_columns(&progress->notice);
    text_clean_line(line, sizeof line, text, columns == 0 ? sizeof line : columns);
    notice_show(&progress->notice, line);
    progress->next_ns = counts->elapsed_ns + progress->step_ns;
}

void load_progress_end(struct load_progress *progress)
{
    notice_end(&progress->notice);
}
