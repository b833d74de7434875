#include "commands/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/command.h"
#include "report/files.h"

#define TICK_NS MONO_NS_PER_S
#define HASTY_TICK_NS (50 * MONO_NS_PER_MS)
#define PLAIN_LINE_NS (30 * MONO_NS_PER_S)

enum {
    LOG_TAIL_BYTES = 4096,
    OWN_WORDS = 10, /* of a run's command line, beside the options */
    LINE_BYTES = 1024,
    WIDEST = 1000,
};

static void path_of(const struct sweep *sweep, const struct saved_sweep_run *run, const char *end,
                    char path[SWEEP_PATH_BYTES])
{
    snprintf(path, SWEEP_PATH_BYTES, "%s/%s%s", sweep->results.folder, run->name, end);
}

/* Progress on stderr: a line for each run that has ended, and on a terminal one line that is
 * rewritten, elsewhere a plain line at a run's start and every 30 s. */

/* A line that stays. */
static void keep_line(struct sweep *sweep, const char *text)
{
    char line[LINE_BYTES];
    text_clean_line(line, sizeof line, text, WIDEST);
    notice_keep(&sweep->notice, line);
}

/* "run 2 of 6" is followed by this. */
static void format_size(const struct sweep *sweep, const struct saved_sweep_run *run, char *text,
                        size_t size)
{
    char repeat[48] = "";
    if (sweep->results.repeat > 1) {
        snprintf(repeat, sizeof repeat, " (%u of %u)", run->repeat, sweep->results.repeat);
    }
    snprintf(text, size, "%s session%s x %s row%s%s", UNITS_COUNT(run->sessions),
             units_plural(run->sessions, "", "s"), UNITS_COUNT(run->records),
             units_plural(run->records, "", "s"), repeat);
}

static const char *format_seconds(double seconds, char text[UNITS_TEXT_BYTES])
{
    return units_format_seconds((uint64_t)(fmin(fmax(seconds, 0), 1e9) + 0.5), text);
}

bool sweep_time_left(const struct saved_sweep *sweep, size_t index, uint64_t rows, double elapsed_s,
                     double *left_s)
{
    uint64_t rows_done = 0, rows_left = 0;
    double took_s = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        if (i == index) {
            const uint64_t done = rows < run->records ? rows : run->records;
            rows_done += done;
            took_s += done > 0 ? elapsed_s : 0;
            rows_left += run->records - done;
        } else if (run->state == SAVED_DONE && run->wall_s > 0) {
            rows_done += run->records;
            took_s += run->wall_s;
        } else if (run->state == SAVED_PENDING) {
            rows_left += run->records;
        }
    }
    *left_s = rows_done > 0 ? took_s / (double)rows_done * (double)rows_left : 0;
    return rows_done > 0;
}

/* Rows that the run has acknowledged, by the intervals it has written, and when the last of them
 * ended. */
static uint64_t rows_so_far(const struct sweep *sweep, const struct saved_sweep_run *run,
                            double *end_s)
{
    char path[SWEEP_PATH_BYTES];
    path_of(sweep, run, "/intervals.csv", path);
    struct csv_table table;
    *end_s = 0;
    if (csv_table_read(&table, path, NULL) != STATUS_OK) {
        return 0; /* it is connecting, or has not begun */
    }
    const size_t column = csv_table_column(&table, "rows");
    double sum = 0;
    for (size_t row = 0; row < table.rows; row++) {
        double rows = 0;
        sum += csv_table_number(&table, row, column, &rows) ? rows : 0;
        csv_table_number(&table, row, csv_table_column(&table, "end_s"), end_s);
    }
    csv_table_free(&table);
    return (uint64_t)sum;
}

static void begin_progress(struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    const size_t left = saved_sweep_count(results, SAVED_PENDING);
    uint64_t rows = 0;
    for (size_t i = 0; i < results->run_count; i++) {
        rows += results->runs[i].records;
    }
    char line[LINE_BYTES] = "sweep: all runs have ended, nothing is left to do";
    if (left > 0) {
        snprintf(line, sizeof line, "sweep: %zu runs, %s rows in all; %zu runs to go; table: %s",
                 results->run_count, UNITS_COUNT(rows), left, sweep_table_phrase(sweep->table));
    }
    if (!sweep->given.is_quiet) {
        keep_line(sweep, line);
    }
}

/* Run `index` has been going on for so long. */
static void show_progress(struct sweep *sweep, size_t index, int64_t elapsed_ns)
{
    const bool is_first = elapsed_ns == 0;
    if (sweep->given.is_quiet ||
        (!sweep->notice.is_terminal && !is_first && elapsed_ns < sweep->next_line_ns)) {
        return;
    }
    sweep->next_line_ns = elapsed_ns + PLAIN_LINE_NS;
    const struct saved_sweep_run *run = &sweep->results.runs[index];
    const double elapsed_s = (double)elapsed_ns / (double)MONO_NS_PER_S;
    double end_s = 0, left_s;
    const uint64_t rows = is_first ? 0 : rows_so_far(sweep, run, &end_s);
    char what[LINE_BYTES / 4], seconds[UNITS_TEXT_BYTES], line[LINE_BYTES], text[LINE_BYTES];
    char left[2 * UNITS_TEXT_BYTES] = "time left not known yet", done[2 * UNITS_TEXT_BYTES] = "";
    format_size(sweep, run, what, sizeof what);
    if (sweep_time_left(&sweep->results, index, rows, end_s, &left_s)) {
        /* the rows are known up to the end of an interval */
        snprintf(left, sizeof left, "about %s left",
                 format_seconds(left_s - (rows > 0 ? elapsed_s - end_s : 0), seconds));
    }
    if (!is_first) {
        snprintf(done, sizeof done, ", %.1f%% after %s",
                 floor(1000 * (double)rows / (double)run->records) / 10,
                 format_seconds(elapsed_s, seconds));
    }
    snprintf(text, sizeof text, "run %zu of %zu, %s: %s%s", index + 1, sweep->results.run_count,
             left, what, done);
    const unsigned columns = notice_columns(&sweep->notice);
    text_clean_line(line, sizeof line, text, columns > 0 ? columns : WIDEST);
    notice_show(&sweep->notice, line);
}

static void end_progress(struct sweep *sweep, size_t index)
{
    static const char *const shown[] = {"elapsed_s", "throughput_rows_per_s"};
    const struct saved_sweep_run *run = &sweep->results.runs[index];
    char what[LINE_BYTES / 4], text[LINE_BYTES];
    format_size(sweep, run, what, sizeof what);
    int length = snprintf(text, sizeof text, "run %zu of %zu: %s: ", index + 1,
                          sweep->results.run_count, what);
    const char *comma = "";
    for (size_t i = 0; i < sizeof shown / sizeof shown[0] && run->state == SAVED_DONE; i++) {
        double value;
        if (saved_sweep_number(&sweep->results, run, shown[i], &value)) {
            char number[UNITS_TEXT_BYTES];
            length += snprintf(text + length, sizeof text - (size_t)length, "%s%s%s", comma,
                               sweep_format(value, number), figure_unit(shown[i]));
            comma = ", ";
        }
    }
    if (run->state != SAVED_DONE) {
        const bool has_failed = run->state == SAVED_FAILED;
        snprintf(text + length, sizeof text - (size_t)length, "%s%s",
                 has_failed ? "FAILED: " : "interrupted", has_failed ? run->reason : "");
    }
    if (!sweep->given.is_quiet) {
        keep_line(sweep, text);
    }
}

/* A run. */

/* The last line that the program said of itself, else the last line of all. */
static void read_reason(const char *log_path, char reason[SAVED_SWEEP_REASON_BYTES])
{
    static const char own[] = "append: ";
    char text[LOG_TAIL_BYTES + 1];
    reason[0] = '\0';
    FILE *file;
    if (file_open(log_path, &file, NULL) != STATUS_OK) {
        return;
    }
    if (fseek(file, -(long)LOG_TAIL_BYTES, SEEK_END) != 0) {
        rewind(file);
    }
    text[fread(text, 1, LOG_TAIL_BYTES, file)] = '\0';
    fclose(file);
    bool has_own = false;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        const bool is_own = strncmp(line, own, strlen(own)) == 0;
        if (is_own || !has_own) {
            snprintf(reason, SAVED_SWEEP_REASON_BYTES, "%s", line + (is_own ? strlen(own) : 0));
        }
        has_own = has_own || is_own;
    }
}

static bool is_exit_code(int code)
{
    return (code >= EXIT_CODE_OK && code <= EXIT_CODE_INVALID) || code == EXIT_CODE_INTERNAL ||
           code == EXIT_CODE_INTERRUPTED;
}

/* What became of a run, by how its program ended and what it left. */
static void settle(const struct sweep *sweep, struct saved_sweep_run *run,
                   const struct child_end *end)
{
    char log_path[SWEEP_PATH_BYTES], path[SWEEP_PATH_BYTES], said[SAVED_SWEEP_REASON_BYTES];
    struct error error;
    struct stat log;
    error_clear(&error);
    path_of(sweep, run, ".log", log_path);
    path_of(sweep, run, "/summary.csv", path);
    read_reason(log_path, said);
    if (stat(log_path, &log) == 0 && log.st_size == 0) {
        unlink(log_path);
    }
    const bool has_summary =
        csv_table_read(&run->summary, path, &error) == STATUS_OK && run->summary.rows == 1;
    run->exit_code = end->code;
    snprintf(run->reason, sizeof run->reason, "%s", end->code == EXIT_CODE_OK ? "" : said);
    if (end->signal != 0) {
        /* nobody but the kernel, short of memory, is likely to send SIGKILL */
        run->exit_code = end->signal == SIGKILL ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_INTERNAL;
        snprintf(run->reason, sizeof run->reason, "its append was ended by signal %d (%s)%s%.300s",
                 end->signal, strsignal(end->signal), said[0] == '\0' ? "" : ": ", said);
    } else if (!is_exit_code(end->code)) {
        run->exit_code = EXIT_CODE_INTERNAL;
        snprintf(run->reason, sizeof run->reason, "its append ended with exit code %d: %.300s",
                 end->code, said);
    } else if (end->code == EXIT_CODE_OK && !has_summary) {
        run->exit_code = EXIT_CODE_INTERNAL;
        snprintf(run->reason, sizeof run->reason, "its append left no figures: %s", error.text);
    }
    /* figures that missed an expectation are figures all the same */
    const bool is_good =
        run->exit_code == EXIT_CODE_OK || (run->exit_code == EXIT_CODE_EXPECTATION && has_summary);
    run->state = is_good ? SAVED_DONE : interrupt_requested() ? SAVED_PENDING : SAVED_FAILED;
    if (!has_summary || run->state == SAVED_PENDING) {
        csv_table_free(&run->summary);
    }
}

/* This program again, in a process of its own: its memory and its CPU time are then the run's
 * alone, and a crash ends the run and not the sweep. What is locked stays so until the run is over
 * too, when the sweep was killed. */
static enum status start_run(const struct sweep *sweep, const struct saved_sweep_run *run,
                             bool is_recreate, pid_t *pid, struct error *error)
{
    char sessions[24], records[24], out[SWEEP_PATH_BYTES + 8], log_path[SWEEP_PATH_BYTES];
    snprintf(sessions, sizeof sessions, "%" PRIu64, run->sessions);
    snprintf(records, sizeof records, "%" PRIu64, run->records);
    snprintf(out, sizeof out, "--out=%s/%s", sweep->results.folder, run->name);
    const char **argv = calloc(sweep->word_count + OWN_WORDS, sizeof *argv);
    if (argv == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a run");
        return STATUS_REJECTED;
    }
    size_t count = 0;
    argv[count++] = "append";
    argv[count++] = "--quiet";
    argv[count++] = out;
    for (size_t i = 0; i < sweep->word_count; i++) {
        if (sweep->is_for_runs[i]) {
            argv[count++] = sweep->words[i];
        }
    }
    if (is_recreate) {
        argv[count++] = "--recreate";
    }
    argv[count++] = "--";
    argv[count++] = sessions;
    argv[count++] = records;
    argv[count] = sweep->given.target_given; /* or its end */
    path_of(sweep, run, ".log", log_path);
    unlink(log_path); /* of a run before, or a pipe without a reader */
    const int log =
        open(log_path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    int number = errno;
    if (log < 0) {
        error_set(error, ERROR_SYSTEM, number, NULL, "%.160s: %s", log_path, strerror(number));
    } else {
        const struct child_start start = {.argv = argv,
                                          .program = "/proc/self/exe",
                                          .in = -1,
                                          .out = -1,
                                          .err = log,
                                          .kept = sweep->lock,
                                          .ends_with_us = true};
        number = child_start(pid, &start);
        close(log);
        if (number != 0) {
            error_set(error, ERROR_SYSTEM, number, NULL, "cannot start a run: %s",
                      strerror(number));
        }
    }
    free(argv);
    return log >= 0 && number == 0 ? STATUS_OK : STATUS_REJECTED;
}

static void wait_for(struct sweep *sweep, size_t index, pid_t pid, struct child_end *end)
{
    const int64_t start_ns = mono_now_ns();
    int64_t shown_ns = start_ns;
    bool is_told = false;
    show_progress(sweep, index, 0);
    /* a signal that comes just before the wait does not end it */
    while (!child_wait(pid, is_told ? HASTY_TICK_NS : TICK_NS / 4, end)) {
        if (interrupt_requested() && !is_told) {
            is_told = true;
            kill(pid, SIGINT);
        }
        const int64_t now_ns = mono_now_ns();
        if (now_ns - shown_ns >= TICK_NS && !is_told) {
            show_progress(sweep, index, now_ns - start_ns);
            shown_ns = now_ns;
        }
    }
    sweep->results.runs[index].wall_s = (double)(mono_now_ns() - start_ns) / (double)MONO_NS_PER_S;
}

/* What a run that was interrupted left behind goes. */
static enum exit_code clear_folder(const struct sweep *sweep, const struct saved_sweep_run *run,
                                   struct error *error)
{
    char path[SWEEP_PATH_BYTES];
    path_of(sweep, run, "", path);
    struct stat about;
    if (lstat(path, &about) != 0) {
        return EXIT_CODE_OK;
    }
    if (!sweep->given.is_quiet) {
        notice_print("%s: incomplete: removing its folder and rerunning", run->name);
    }
    const int number = file_remove_folder(path);
    if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL, "cannot remove '%.160s': %s", path,
                  strerror(number));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* Whether a run did not begin because the disk is full: then none of those to come would. */
static bool is_disk_full(const struct sweep *sweep, const struct saved_sweep_run *run)
{
    char path[SWEEP_PATH_BYTES];
    struct statvfs disk;
    path_of(sweep, run, "/run.json", path);
    return run->state == SAVED_FAILED && run->exit_code == EXIT_CODE_CLIENT_LIMIT &&
           access(path, F_OK) != 0 && statvfs(sweep->results.folder, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize < RUN_FILES_ROOM_BYTES;
}

static enum exit_code run_one(struct sweep *sweep, size_t index, struct error *error)
{
    struct saved_sweep_run *run = &sweep->results.runs[index];
    const bool is_recreate = sweep->table == SWEEP_TABLE_RECREATED ||
                             (sweep->table == SWEEP_TABLE_MADE && sweep->has_begun);
    enum exit_code code = clear_folder(sweep, run, error);
    if (code == EXIT_CODE_OK && !sweep->has_begun) {
        sweep->has_begun = true;
        code = sweep_write_files(sweep, "running", error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    pid_t pid;
    struct child_end end;
    if (start_run(sweep, run, is_recreate, &pid, error) != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    wait_for(sweep, index, pid, &end);
    settle(sweep, run, &end);
    end_progress(sweep, index);
    if (is_disk_full(sweep, run)) {
        run->state = SAVED_PENDING;
        error_set(error, ERROR_SYSTEM, ENOSPC, NULL, "%s: cannot write to '%.120s': %s", run->name,
                  sweep->results.folder, strerror(ENOSPC));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return sweep_write_files(sweep, "running", error);
}

static enum exit_code run_all(struct sweep *sweep, struct error *error)
{
    enum exit_code code = EXIT_CODE_OK;
    child_prepare_waits();
    begin_progress(sweep);
    for (size_t i = 0;
         i < sweep->results.run_count && code == EXIT_CODE_OK && !interrupt_requested(); i++) {
        if (sweep->results.runs[i].state == SAVED_PENDING) {
            code = run_one(sweep, i, error);
        }
    }
    const bool is_over = saved_sweep_count(&sweep->results, SAVED_PENDING) == 0;
    return code == EXIT_CODE_OK
               ? sweep_write_files(sweep, is_over ? "finished" : "interrupted", error)
               : code;
}

/* What weighs most comes first, as within a run: a defect, rows that are short, whose limit it was.
 */
static size_t rank(int code)
{
    static const enum exit_code order[] = {
        EXIT_CODE_INTERNAL, EXIT_CODE_SHORT,   EXIT_CODE_CLIENT_LIMIT, EXIT_CODE_SERVER,
        EXIT_CODE_USAGE,    EXIT_CODE_INVALID, EXIT_CODE_EXPECTATION,
    };
    const size_t known = sizeof order / sizeof order[0];
    size_t place = 0;
    while (place < known && (int)order[place] != code) {
        place++;
    }
    return place;
}

const struct saved_sweep_run *sweep_worst(const struct saved_sweep *sweep)
{
    const struct saved_sweep_run *worst = NULL;
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        if (run->state != SAVED_PENDING && run->exit_code != EXIT_CODE_OK &&
            (worst == NULL || rank(run->exit_code) < rank(worst->exit_code))) {
            worst = run;
        }
    }
    return worst;
}

/* Prints the report; the exit code is that of the run that weighs most. */
static enum exit_code report(const struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    const size_t pending = saved_sweep_count(results, SAVED_PENDING);
    const size_t failed = saved_sweep_count(results, SAVED_FAILED);
    if (!sweep->given.is_json) {
        sweep_write_text(stdout, sweep);
    } else if (!sweep_write_json(stdout, sweep, pending == 0 ? "finished" : "interrupted") &&
               !ferror(stdout)) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the report");
    }
    struct error report_error;
    error_clear(&report_error);
    const enum exit_code reported =
        sweep->given.is_report
            ? command_write_report(results->folder, sweep->given.is_json, &report_error)
            : EXIT_CODE_OK;
    const enum exit_code written = command_finish_output();
    if (written != EXIT_CODE_OK) {
        return written;
    }
    const struct saved_sweep_run *worst = sweep_worst(results);
    char line[SAVED_SWEEP_REASON_BYTES + SWEEP_PATH_BYTES + 300], no_page[200] = "";
    if (reported != EXIT_CODE_OK) {
        snprintf(no_page, sizeof no_page, "; also there is no report: %.150s", report_error.text);
    }
    if (pending > 0) {
        snprintf(line, sizeof line,
                 "interrupted: %zu of %zu runs have ended; resume with: append sweep --resume %s%s",
                 results->run_count - pending, results->run_count, results->folder, no_page);
        return command_say(EXIT_CODE_INTERRUPTED, line);
    }
    if (worst == NULL) {
        return reported == EXIT_CODE_OK ? reported : command_fail(reported, &report_error);
    }
    if (failed > 0) {
        snprintf(line, sizeof line, "%zu of %zu runs failed: %s: %s%s", failed, results->run_count,
                 worst->name, worst->reason, no_page);
    } else {
        snprintf(line, sizeof line, "%s missed an expectation: %s%s", worst->name, worst->reason,
                 no_page);
    }
    return command_say((enum exit_code)worst->exit_code, line);
}

/* A new sweep has a new folder; one that resumes has what it had. */
static enum exit_code prepare(struct sweep *sweep, struct error *error)
{
    enum exit_code code = sweep_ask(sweep, error);
    if (code == EXIT_CODE_OK && sweep->is_resumed) {
        code = sweep_lock(sweep, error);
    }
    if (code == EXIT_CODE_OK && saved_sweep_count(&sweep->results, SAVED_PENDING) > 0) {
        code = sweep_ask_table(sweep, error);
    }
    return code == EXIT_CODE_OK && !sweep->is_resumed ? sweep_create_files(sweep, error) : code;
}

static enum exit_code sweep_all(struct sweep *sweep)
{
    struct error error;
    error_clear(&error);
    enum exit_code code = prepare(sweep, &error);
    if (code != EXIT_CODE_OK) {
        return command_refuse(sweep->given.is_json, code, &error);
    }
    code = run_all(sweep, &error);
    if (code != EXIT_CODE_OK) {
        char line[ERROR_TEXT_BYTES + SWEEP_PATH_BYTES + 60];
        snprintf(line, sizeof line, "%s; then resume with: append sweep --resume %s", error.text,
                 sweep->results.folder);
        return command_say(code, line);
    }
    return report(sweep);
}

enum exit_code command_sweep(int argc, char **argv)
{
    struct sweep *sweep = calloc(1, sizeof *sweep);
    enum exit_code code;
    if (sweep == NULL) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for a sweep");
    }
    sweep->lock = -1;
    if (!command_begin(&sweep->given, COMMAND_SWEEP, argc, argv, &code)) {
        free(sweep);
        return code;
    }
    interrupt_install();
    notice_init(&sweep->notice, STDERR_FILENO);
    const locale_t before = units_use_point();
    code = sweep_all(sweep);
    uselocale(before);
    for (size_t i = 0; i < sweep->word_count; i++) {
        free(sweep->words[i]);
    }
    for (size_t i = 0; sweep->argv != NULL && sweep->argv[i] != NULL; i++) {
        free(sweep->argv[i]);
    }
    free(sweep->argv);
    plan_fini(&sweep->plan);
    saved_sweep_free(&sweep->results);
    if (sweep->lock >= 0) {
        close(sweep->lock);
    }
    free(sweep);
    return code;
}
