/* The progress line: its text, its shorter forms, and how often it is written. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mono.h"
#include "report/progress.h"

enum {
    LINE_BYTES = 512
};

static struct recorder_snapshot total;
static struct histogram histograms[OPERATIONS];
static struct interval interval;
static struct sample sample;
static struct plan plan;
static struct progress_state now = {&interval, &sample, &total, 0, NULL, false};

static int set_up(void **state)
{
    (void)state;
    memset(histograms, 0, sizeof histograms);
    total = (struct recorder_snapshot){.operations = OPERATIONS, .histograms = histograms};
    memset(&interval, 0, sizeof interval);
    memset(&plan, 0, sizeof plan);
    now.work_start_ns = 0;
    now.is_steered = false;
    plan.sessions = 1000;
    plan.records = 1000000;
    plan.sample_interval_ns = 3 * MONO_NS_PER_S;
    interval.start_ns = 5 * MONO_NS_PER_S;
    interval.end_ns = 6 * MONO_NS_PER_S;
    interval.sessions_alive = 1000;
    interval.counters[RECORDER_ROWS_ACKNOWLEDGED] = 52100;
    interval.latencies[OPERATION_APPEND].p99_ns = 12300000;
    total.counters[RECORDER_ROWS_ACKNOWLEDGED] = 345600;
    total.counters[RECORDER_SESSIONS_CONNECTED] = 1000;
    total.counters[RECORDER_APPENDS] = 3456;
    sample = (struct sample){.cpu.host = 60,
                             .cpu.server = 45,
                             .cpu.client = 9,
                             .server_memory_bytes = INT64_C(812) << 20};
    return 0;
}

static struct progress begun(void)
{
    return (struct progress){.plan = &plan};
}

static const char *format(const struct progress *progress, unsigned columns)
{
    static char line[LINE_BYTES];
    progress_format(progress, &now, columns, line, sizeof line);
    return line;
}

TEST_BETWEEN(test_full_line, set_up, NULL)
{
    const struct progress progress = begun();
    assert_string_equal(format(&progress, 0),
                        "sessions 1,000/1,000  rows 345,600 34.5%  52.1k/s  append p99 12.3 ms  "
                        "cpu 60%  server 45%  memory 812 MiB  errors 0  left 12s");
}

/* 34.56 % is shown as 34.5, not rounded up, so that 100 % is not shown before the last row. */
TEST_BETWEEN(test_whole_only_at_the_end, set_up, NULL)
{
    const struct progress progress = begun();
    total.counters[RECORDER_ROWS_ACKNOWLEDGED] = 999999;
    assert_non_null(strstr(format(&progress, 0), "rows 999,999 99.9%"));
    total.counters[RECORDER_ROWS_ACKNOWLEDGED] = 1000000;
    assert_non_null(strstr(format(&progress, 0), "rows 1,000,000 100.0%"));
}

TEST_BETWEEN(test_never_wider, set_up, NULL)
{
    const struct progress progress = begun();
    for (unsigned columns = 1; columns < 130; columns++) {
        const char *line = format(&progress, columns);
        assert_true(strlen(line) <= columns);
        assert_null(strchr(line, '\n'));
        if (columns >= 20) {
            assert_non_null(strstr(line, "rows 345,600 34.5%"));
        }
        if (columns >= 28) {
            assert_non_null(strstr(line, "errors 0"));
        }
    }
    assert_string_equal(format(&progress, 79), "sessions 1,000/1,000  rows 345,600 34.5%  52.1k/s  "
                                               "cpu 60%  errors 0  left 12s");
}

/* Errors are important: a short line leaves out sessions and speed before errors. */
TEST_BETWEEN(test_errors_stay, set_up, NULL)
{
    const struct progress progress = begun();
    total.counters[RECORDER_APPENDS_FAILED] = 5;
    total.counters[RECORDER_READS_FAILED] = 2;
    assert_string_equal(format(&progress, 32), "rows 345,600 34.5%  errors 7");
    /* batches that were sent again and failed checks of scripts are also shown */
    total.counters[RECORDER_BUSY_RETRIES] = 3;
    total.counters[RECORDER_CHECKS_FAILED] = 8487;
    assert_non_null(strstr(format(&progress, 0), "retries 3  failed checks 8,487  errors 7"));
    assert_non_null(strstr(format(&progress, 60), "failed checks 8,487"));
}

TEST_BETWEEN(test_duration, set_up, NULL)
{
    const struct progress progress = begun();
    plan.records = 0;
    plan.duration_ns = 10 * MONO_NS_PER_S;
    now.work_start_ns = 2 * MONO_NS_PER_S;
    const char *line = format(&progress, 0);
    assert_non_null(strstr(line, "rows 345,600 40.0%"));
    assert_non_null(strstr(line, "left 6s"));
    interval.end_ns = 60 * MONO_NS_PER_S;
    assert_non_null(strstr(format(&progress, 0), "100.0%"));
    assert_non_null(strstr(format(&progress, 0), "disconnecting"));
    interval.sessions_working = 1;
    assert_non_null(strstr(format(&progress, 0), "1 session waits for an answer"));
    interval.sessions_working = 1200;
    assert_non_null(strstr(format(&progress, 0), "1,200 sessions wait for an answer"));
    assert_null(strstr(format(&progress, 0), "left"));
}

/* Simulates the first `seconds` seconds of a run in which the first n rows take c0 n + c1 n²
 * seconds, and at most `rows` rows are acknowledged. Returns the time left in s, as the progress
 * line shows
 * it. */
static int left_after(double c0, double c1, uint64_t rows, uint64_t seconds)
{
    struct progress progress = begun();
    progress.notice.fd = -1;
    for (uint64_t second = 1; second <= seconds; second++) {
        uint64_t n = 0;
        while (n < rows && c0 * (double)n + c1 * (double)n * (double)n < (double)second) {
            n++;
        }
        interval.end_ns = (int64_t)second * MONO_NS_PER_S;
        total.counters[RECORDER_ROWS_ACKNOWLEDGED] = n;
        progress_show(&progress, &now);
    }
    const char *left = strstr(format(&progress, 0), "left ");
    unsigned minutes = 0, s = 0;
    assert_non_null(left);
    if (sscanf(left, "left %um%us", &minutes, &s) == 2) {
        return (int)(minutes * 60 + s);
    }
    assert_int_equal(sscanf(left, "left %us", &s), 1);
    return (int)s;
}

/* Each row takes longer than the rows before it: a million rows take 1 + 1,000 s. */
TEST_BETWEEN(test_left_follows_the_trend, set_up, NULL)
{
    assert_in_range(left_after(1e-6, 1e-9, 1000000, 5), 900, 1100);
    assert_in_range(left_after(1e-6, 1e-9, 1000000, 200), 780, 820);
    set_up(state);
    assert_in_range(left_after(1e-4, 0, 1000000, 10), 89, 91);
}

/* A rate sets the pace, however slow the first rows were; a duration ends the run. */
TEST_BETWEEN(test_left_within_rate_and_duration, set_up, NULL)
{
    plan.records = 100000;
    plan.rate.first = 5000;
    assert_in_range(left_after(2e-4, 0, 100000, 4), 15, 17);
    set_up(state);
    plan.records = 100000;
    plan.rate.first = 5000;
    total.counters[RECORDER_ROWS_ACKNOWLEDGED] = 1800;
    interval.end_ns = MONO_NS_PER_S;
    const struct progress progress = begun();
    assert_non_null(strstr(format(&progress, 0), "left 19s"));
    plan.duration_ns = 10 * MONO_NS_PER_S;
    assert_non_null(strstr(format(&progress, 0), "left 9s"));
    /* a rate that was changed by hand is no longer the plan's: the rows so far set the pace */
    set_up(state);
    plan.records = 100000;
    plan.rate.first = 1000;
    now.is_steered = true;
    assert_in_range(left_after(2e-4, 0, 100000, 4), 15, 17);
}

TEST_BETWEEN(test_cost_of_reads, set_up, NULL)
{
    char text[LINE_BYTES] = "";
    FILE *stream = tmpfile();
    assert_non_null(stream);
    struct progress progress;
    plan.records = 10000000;
    plan.batch_rows = 100;
    plan.read_every = 1;
    plan.read_mode = READ_COUNT;
    progress_init(&progress, fileno(stream), &plan);
    progress_announce(&progress, 0, 0);
    rewind(stream);
    assert_non_null(fgets(text, sizeof text, stream));
    assert_non_null(
        strstr(text, "100,000 times over up to 10,000,000 rows: 500,000,000,000 rows "));
    assert_null(strstr(text, " or more"));
    const long position = ftell(stream);
    plan.records = 10000;
    progress_announce(&progress, 0, 0);
    plan.records = 10000000;
    plan.read_mode = READ_NONE;
    progress_announce(&progress, 0, 0);
    assert_null(fgets(text, sizeof text, stream));
    assert_int_equal(ftell(stream), position);
    fclose(stream);
}

/* The progress follows the rows or the duration, whichever ends first. */
TEST_BETWEEN(test_rows_or_a_duration, set_up, NULL)
{
    const struct progress progress = begun();
    plan.duration_ns = 10 * MONO_NS_PER_S;
    assert_non_null(strstr(format(&progress, 0), "rows 345,600 60.0%"));
    assert_non_null(strstr(format(&progress, 0), "left 4s"));
    plan.duration_ns = 100 * MONO_NS_PER_S;
    assert_non_null(strstr(format(&progress, 0), "rows 345,600 34.5%"));
    assert_non_null(strstr(format(&progress, 0), "left 12s"));
}

TEST_BETWEEN(test_server_unknown, set_up, NULL)
{
    const struct progress progress = begun();
    sample.cpu.server = -1;
    sample.server_memory_bytes = -1;
    assert_non_null(strstr(format(&progress, 0), "  cpu 60%  "));
    assert_null(strstr(format(&progress, 0), "server"));
    const struct progress_state early = {&interval, NULL, &total, 0, NULL, false};
    char line[LINE_BYTES];
    progress_format(&progress, &early, 0, line, sizeof line);
    assert_null(strstr(line, "cpu"));
}

TEST_BETWEEN(test_connecting, set_up, NULL)
{
    memset(histograms, 0, sizeof histograms);
    total = (struct recorder_snapshot){.operations = OPERATIONS, .histograms = histograms};
    total.counters[RECORDER_SESSIONS_CONNECTED] = 512;
    total.counters[RECORDER_SESSIONS_FAILED] = 3;
    const struct progress progress = begun();
    now.work_start_ns = -1;
    assert_string_equal(format(&progress, 0),
                        "connecting: sessions 512/1,000  "
                        "cpu 60%  server 45%  memory 812 MiB  errors 3  for 6s");
    plan.idle_sessions = 24;
    assert_non_null(strstr(format(&progress, 0), "sessions 512/1,024  "));
    plan.idle_sessions = 0;
}

TEST_BETWEEN(test_plain_lines, set_up, NULL)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = tmpfile();
    assert_non_null(stream);
    struct progress progress;
    progress_init(&progress, fileno(stream), &plan);
    assert_false(progress.notice.is_terminal);
    for (int64_t second = 1; second <= 10; second++) {
        interval.start_ns = (second - 1) * MONO_NS_PER_S;
        interval.end_ns = second * MONO_NS_PER_S;
        progress_show(&progress, &now);
    }
    progress_end(&progress);
    rewind(stream);
    size_t lines = 0;
    while (getline(&text, &size, stream) > 0) {
        assert_null(strpbrk(text, "\r\x1b"));
        lines++;
    }
    assert_int_equal(lines, 3); /* lines are written at 3, 6 and 9 s */
    free(text);
    fclose(stream);
}

static size_t read_terminal(int master, char *text, size_t size)
{
    size_t used = 0;
    while (used + 1 < size) {
        const ssize_t got = read(master, text + used, size - 1 - used);
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
    }
    text[used] = '\0';
    return used;
}

TEST_BETWEEN(test_terminal, set_up, NULL)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        skip();
    }
    FILE *stream = fopen(ptsname(master), "r+");
    assert_non_null(stream);
    const struct winsize size = {.ws_row = 24, .ws_col = 60};
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    setenv("TERM", "xterm", 1);
    struct progress progress;
    progress_init(&progress, fileno(stream), &plan);
    assert_true(progress.notice.is_terminal);
    char text[2 * LINE_BYTES];
    progress_show(&progress, &now);
    read_terminal(master, text, sizeof text);
    assert_string_equal(text,
                        "\rsessions 1,000/1,000  rows 345,600 34.5%  52.1k/s  errors 0\x1b[K");
    assert_true(progress.notice.is_open);
    progress_end(&progress);
    read_terminal(master, text, sizeof text);
    assert_string_equal(text, "\r\x1b[K");
    progress_end(&progress);
    assert_int_equal(read_terminal(master, text, sizeof text), 0);

    setenv("TERM", "dumb", 1);
    progress_init(&progress, fileno(stream), &plan);
    assert_false(progress.notice.is_terminal);
    fclose(stream);
    close(master);
}

TEST_BETWEEN(test_quiet, set_up, NULL)
{
    plan.is_quiet = true;
    FILE *stream = tmpfile();
    assert_non_null(stream);
    struct progress progress;
    progress_init(&progress, fileno(stream), &plan);
    progress_show(&progress, &now);
    progress_end(&progress);
    assert_int_equal(ftell(stream), 0);
    fclose(stream);
}
