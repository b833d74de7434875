#include "commands/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/mono.h"
#include "base/text.h"
#include "commands/command.h"
#include "load/setup.h"
#include "plan/command_line.h"
#include "report/files.h"

#define TICK_NS MONO_NS_PER_S
#define HASTY_TICK_NS (50 * MONO_NS_PER_MS)
#define PLAIN_LINE_NS (30 * MONO_NS_PER_S)
/* Rank 0 orders the other ranks to start a run. The order consists of the run's folder, a 0 byte
 * and, if the sweep is resumed, this word. */
#define RESUMED "resumed"

enum {
    LOG_TAIL_BYTES = 4096,
    /* maximum number of words in a run's command line that are not options of the user */
    OWN_WORDS = 11,
    LINE_BYTES = 1024,
    SIZE_BYTES = LINE_BYTES / 4,
    WIDEST = 1000,
};

/* Looks for the table and decides which rows each run finds in it. The sweep changes a table that
 * existed before the sweep only with --recreate or --keep-rows. A sweep that resumes does not
 * decide again. */
static enum exit_code choose_table(struct sweep *sweep, struct error *error)
{
    struct plan plan = sweep->plan;
    const bool discards = (plan.adapter->flags & ADAPTER_DISCARDS) != 0;
    if (discards || plan.owned_path != NULL) {
        sweep->table = discards ? TABLE_NONE : TABLE_OWN;
        return sweep->given.sweep.is_keeping_rows
                   ? usage_refuse(error, "--keep-rows does not apply: %s",
                                  sweep_tables[sweep->table].phrase)
                   : EXIT_CODE_OK;
    }
    const struct script *script = plan_has_own_rows(&plan) ? NULL : plan.script;
    if (script != NULL && (sweep->given.sweep.varied.count == 0 || script->dataset_count == 0)) {
        sweep->table = sweep->given.is_recreate ? TABLE_RECREATED : TABLE_SCRIPT;
        return EXIT_CODE_OK;
    }
    struct setup_found found = {.is_there = false};
    /* whether a run can create the table that the loop looked for last */
    bool can_make = true;
    enum exit_code code = setup_start_library(&sweep->facts, &plan, error);
    if (code == EXIT_CODE_OK) {
        const size_t count = script == NULL ? 1 : script->dataset_count;
        for (size_t i = 0; i < count && can_make && !found.is_there && code == EXIT_CODE_OK; i++) {
            const bool is_declared = script != NULL && script->datasets[i].is_declared;
            plan.table_name = script == NULL ? plan.table_name : script->datasets[i].name;
            can_make = is_declared || plan.is_default_table || plan.ddl != NULL;
            code = setup_find_table(&plan, &found, error);
        }
        setup_stop_library(&plan);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    sweep->table = sweep->given.sweep.is_keeping_rows ? TABLE_KEPT : TABLE_MADE;
    if (sweep->given.is_recreate) {
        sweep->table = TABLE_RECREATED;
    }
    sweep->has_marks = found.has_marks;
    if (sweep->table == TABLE_MADE && sweep->has_begun && !found.has_marks) {
        if (found.is_there) {
            return usage_refuse(error,
                                "this database keeps no mark that shows who made table '%.60s': if "
                                "the sweep made it, add --recreate=%.60s to --resume",
                                plan.table_name, plan.table_name);
        }
        sweep->has_made = true; /* the next run makes it again */
    }
    /* without --recreate the sweep drops a table only if the sweep has created it */
    if (sweep->table != TABLE_MADE || sweep->has_begun) {
        return EXIT_CODE_OK;
    }
    if (found.is_there) {
        return usage_refuse(error, "table '%.60s' already exists: %s%s%s", plan.table_name,
                            can_make ? "add --recreate to drop it before each run" : "",
                            can_make && sweep->other_shape == 0 ? ", or " : "",
                            sweep->other_shape == 0 ? "add --keep-rows to append to it" : "");
    }
    if (!can_make) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "table '%.60s' does not exist: add --schema-file FILE to create it",
                  plan.table_name);
        return EXIT_CODE_SERVER;
    }
    return EXIT_CODE_OK;
}

/* Progress on stderr. At the end of each run a line about it is printed. During a run, a terminal
 * shows a line that is overwritten again and again. Any other output gets one line at the start of
 * the run and one every 30 s. */

/* Prints a line that later lines do not overwrite. */
static void keep_line(struct sweep *sweep, const char *text)
{
    char line[LINE_BYTES];
    text_clean_line(line, sizeof line, text, WIDEST);
    if (!sweep->given.is_quiet) {
        notice_keep(&sweep->notice, line);
    }
}

/* Writes the size of a run: "1 session x 1,000 rows (2 of 3)". Returns `text`. */
static const char *format_size(const struct sweep *sweep, const struct saved_sweep_run *run,
                               char text[SIZE_BYTES])
{
    char repeat[48] = "";
    if (sweep->results.repeat > 1) {
        snprintf(repeat, sizeof repeat, " (%u of %u)", run->repeat, sweep->results.repeat);
    }
    int length = snprintf(text, SIZE_BYTES, "%s session%s", UNITS_COUNT(run->sessions),
                          units_plural(run->sessions, "", "s"));
    if (run->records > 0) {
        length += snprintf(text + length, SIZE_BYTES - (size_t)length, " x %s row%s",
                           UNITS_COUNT(run->records), units_plural(run->records, "", "s"));
    }
    const char *variant = sweep_variant(&sweep->results, run);
    snprintf(text + length, SIZE_BYTES - (size_t)length, "%s%s%s", variant[0] == '\0' ? "" : ", ",
             variant, repeat);
    return text;
}

/* Returns the estimated seconds until the end of the sweep. The estimate uses the time per row so
 * far; a run without a number of rows counts as one row. Run `index` is in progress, and has
 * written `rows` in `elapsed_s`. Returns a negative number as long as no row is known. */
static double time_left(const struct saved_sweep *sweep, size_t index, uint64_t rows,
                        double elapsed_s)
{
    uint64_t rows_done = 0, rows_left = 0;
    double took_s = 0;
    for (size_t i = 0; i < sweep->run_count; i++) {
        const struct saved_sweep_run *run = &sweep->runs[i];
        const uint64_t size = run->records > 0 ? run->records : 1;
        if (i == index) {
            const uint64_t done = rows < run->records ? rows : run->records;
            rows_done += done;
            took_s += done > 0 ? elapsed_s : 0;
            rows_left += size - done;
        } else if (run->state == SAVED_DONE && run->wall_s > 0) {
            rows_done += size;
            took_s += run->wall_s;
        } else if (run->state == SAVED_PENDING) {
            rows_left += size;
        }
    }
    return rows_done > 0 ? took_s / (double)rows_done * (double)rows_left : -1;
}

/* Shows the progress of run `index`, which began elapsed_ns ago. */
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
    /* Read from intervals.csv how many rows the run has written, and the end of the last interval.
     * With several ranks both are unknown, because each rank writes a file of its own. */
    const bool is_one = sweep->ranks == NULL;
    double end_s = 0, rows = 0;
    char path[PATH_BYTES];
    sweep_path(sweep, run, "/intervals.csv", path);
    struct csv_table table;
    if (!is_first && is_one && csv_table_read(&table, path, NULL) == STATUS_OK) {
        const size_t column = csv_table_column(&table, "rows");
        for (size_t row = 0; row < table.rows; row++) {
            double count = 0;
            rows += csv_table_number(&table, row, column, &count) ? count : 0;
            csv_table_number(&table, row, csv_table_column(&table, "end_s"), &end_s);
        }
        csv_table_free(&table);
    }
    char size[SIZE_BYTES], text[LINE_BYTES], line[LINE_BYTES], done[2 * UNITS_TEXT_BYTES] = "";
    char left[2 * UNITS_TEXT_BYTES] = "time left unknown";
    const double left_s = time_left(&sweep->results, index, (uint64_t)rows, end_s);
    /* left_s is the time from the end of the last interval: subtract the time since this end */
    if (left_s >= 0) {
        const double rest_s = left_s - (rows >= 1 || !is_one ? elapsed_s - end_s : 0);
        snprintf(left, sizeof left, "about %s left",
                 UNITS_SECONDS((uint64_t)(fmin(fmax(rest_s, 0), 1e9) + 0.5)));
    }
    if (!is_first && (run->records == 0 || !is_one)) {
        snprintf(done, sizeof done, ", %s so far", UNITS_SECONDS((uint64_t)(elapsed_s + 0.5)));
    } else if (!is_first) {
        snprintf(done, sizeof done, ", %.1f%% after %s",
                 floor(1000 * rows / (double)run->records) / 10,
                 UNITS_SECONDS((uint64_t)(elapsed_s + 0.5)));
    }
    snprintf(text, sizeof text, "run %zu of %zu, %s: %s%s", index + 1, sweep->results.run_count,
             left, format_size(sweep, run, size), done);
    const unsigned columns = notice_columns(&sweep->notice);
    text_clean_line(line, sizeof line, text, columns > 0 ? columns : WIDEST);
    notice_show(&sweep->notice, line);
}

/* The runs. */

/* Records the outcome of run `index`. The outcome depends on how the run's process ended (`end`),
 * and on the files of the run. */
static void record_outcome(struct sweep *sweep, size_t index, const struct child_end *end)
{
    struct saved_sweep_run *run = &sweep->results.runs[index];
    char log_path[PATH_BYTES], path[PATH_BYTES];
    struct error error = {0};
    struct stat log;
    sweep_path(sweep, run, ".log", log_path);
    sweep_path(sweep, run, "/summary.csv", path);
    /* find the last line in the log that begins with "append: "; if no line does, the last line */
    static const char prefix[] = "append: ";
    char text[LOG_TAIL_BYTES + 1] = "", said[SAVED_SWEEP_REASON_BYTES] = "", *rest = text;
    FILE *file;
    if (file_open(log_path, &file, NULL) == STATUS_OK) {
        if (fseek(file, -(long)LOG_TAIL_BYTES, SEEK_END) != 0) {
            rewind(file);
        }
        text[fread(text, 1, LOG_TAIL_BYTES, file)] = '\0';
        fclose(file);
    }
    bool has_message = false;
    for (char *word; (word = strsep(&rest, "\n")) != NULL;) {
        const bool is_message = strncmp(word, prefix, strlen(prefix)) == 0;
        if (is_message || (!has_message && word[0] != '\0')) {
            snprintf(said, sizeof said, "%s", word + (is_message ? strlen(prefix) : 0));
        }
        has_message = has_message || is_message;
    }
    if (stat(log_path, &log) == 0 && log.st_size == 0) {
        unlink(log_path);
    }
    const bool has_summary =
        csv_table_read(&run->summary, path, &error) == STATUS_OK && run->summary.rows == 1;
    const bool is_known = (end->code >= EXIT_CODE_OK && end->code <= EXIT_CODE_INVALID) ||
                          end->code == EXIT_CODE_INTERNAL || end->code == EXIT_CODE_INTERRUPTED;
    run->exit_code = EXIT_CODE_INTERNAL;
    if (end->signal != 0) {
        /* SIGKILL most likely came from the kernel, because memory was short */
        run->exit_code = end->signal == SIGKILL ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_INTERNAL;
        snprintf(run->reason, sizeof run->reason, "append was ended by signal %d (%s)%s%.300s",
                 end->signal, strsignal(end->signal), said[0] == '\0' ? "" : ": ", said);
    } else if (!is_known) {
        snprintf(run->reason, sizeof run->reason, "append ended with exit code %d: %.300s",
                 end->code, said);
    } else if (end->code == EXIT_CODE_OK && !has_summary) {
        snprintf(run->reason, sizeof run->reason, "append left no figures: %s", error.text);
    } else {
        run->exit_code = end->code;
        snprintf(run->reason, sizeof run->reason, "%s", end->code == EXIT_CODE_OK ? "" : said);
    }
    /* a run with figures is done even if it did not meet an expectation */
    const bool is_done =
        run->exit_code == EXIT_CODE_OK || (run->exit_code == EXIT_CODE_EXPECTATION && has_summary);
    run->state = sweep->is_stopped ? SAVED_PENDING : SAVED_FAILED;
    run->state = is_done ? SAVED_DONE : run->state;
    if (!has_summary || run->state == SAVED_PENDING) {
        csv_table_free(&run->summary);
    }
    const char *const shown[] = {"elapsed_s", sweep->given.workload == NULL
                                                  ? "throughput_rows_per_s"
                                                  : "transactions_per_s"};
    char size[SIZE_BYTES], line[LINE_BYTES], number[UNITS_TEXT_BYTES];
    static const char *const outcomes[] = {
        [SAVED_DONE] = "", [SAVED_FAILED] = "FAILED: ", [SAVED_PENDING] = "interrupted"};
    int length = snprintf(line, sizeof line, "run %zu of %zu: %s: %s%s", index + 1,
                          sweep->results.run_count, format_size(sweep, run, size),
                          outcomes[run->state], run->state == SAVED_FAILED ? run->reason : "");
    const char *comma = "";
    for (size_t i = 0; i < COUNT_OF(shown) && run->state == SAVED_DONE; i++) {
        double value;
        if (saved_sweep_number(&sweep->results, run, shown[i], &value)) {
            length += snprintf(line + length, sizeof line - (size_t)length, "%s%s%s", comma,
                               sweep_format_figure(value, number), figure_unit(shown[i]));
            comma = ", ";
        }
    }
    keep_line(sweep, line);
}

/* Starts this program in a new process for run `index`, and waits for its end. In a process of its
 * own the memory and the CPU time of each run are measured separately, and a crash does not end the
 * sweep. The process inherits the lock of the folder, so the folder stays locked if the sweep is
 * killed. */
static enum exit_code run_program(struct sweep *sweep, size_t index, struct child_start start,
                                  struct child_end *end, struct error *error)
{
    pid_t pid = 0;
    const int in = start.in;
    start.program = "/proc/self/exe";
    start.out = -1;
    start.kept = sweep->lock;
    start.ends_with_us = true;
    const int number = sweep->ranks != NULL && in < 0 ? -in : child_start(&pid, &start);
    if (in >= 0) {
        close(in);
    }
    if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL, "cannot start a run: %s", strerror(number));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const int64_t start_ns = mono_now_ns();
    int64_t shown_ns = start_ns;
    bool is_signalled = false;
    const char *name = sweep->live != NULL ? sweep->results.runs[index].name : NULL;
    show_progress(sweep, index, 0);
    live_show_sweep(sweep->live, sweep->results.folder, name);
    /* wait only briefly, because a signal just before a wait does not end the wait */
    const int64_t tick_ns = sweep->ranks == NULL ? TICK_NS / 4 : 0;
    while (!child_wait(pid, is_signalled ? MIN(HASTY_TICK_NS, tick_ns) : tick_ns, end)) {
        ranks_carry(sweep->ranks, HASTY_TICK_NS);
        if (interrupt_requested() && !is_signalled) {
            is_signalled = true;
            kill(pid, SIGINT);
        }
        const int64_t now_ns = mono_now_ns();
        if (now_ns - shown_ns >= TICK_NS && !is_signalled) {
            show_progress(sweep, index, now_ns - start_ns);
            live_show_sweep(sweep->live, sweep->results.folder, name);
            shown_ns = now_ns;
        }
    }
    return EXIT_CODE_OK;
}

/* Writes --recreate=NAMES, with the tables that a run may drop without checking who created them.
 * These are the tables that the user named. Otherwise, if the database cannot mark the tables that
 * this program creates, they are the tables that were missing before the sweep's first run. Returns
 * false if no name was written or memory runs out; the run then checks the marks. */
static bool name_recreated(const struct sweep *sweep, struct buffer *text)
{
    const struct script *script = plan_has_own_rows(&sweep->plan) ? NULL : sweep->plan.script;
    buffer_add_text(text, "--recreate=");
    const size_t bare = text->length;
    if (sweep->given.recreate_names != NULL) {
        buffer_add_text(text, sweep->given.recreate_names);
    } else if (sweep->table == TABLE_MADE && sweep->has_made && !sweep->has_marks &&
               script == NULL) {
        buffer_add_text(text, sweep->plan.table_name);
    } else if (sweep->table == TABLE_MADE && sweep->has_made && !sweep->has_marks) {
        for (size_t i = 0; i < script->dataset_count; i++) {
            buffer_add_format(text, "%s%s", text->length > bare ? "," : "",
                              script->datasets[i].name);
        }
    }
    return !buffer_failed(text) && text->length > bare;
}

/* Removes the folder that an interrupted run has left. */
static enum exit_code remove_incomplete(const struct sweep *sweep,
                                        const struct saved_sweep_run *run, struct error *error)
{
    char path[PATH_BYTES];
    struct stat about;
    sweep_path(sweep, run, "", path);
    if (lstat(path, &about) != 0) {
        return EXIT_CODE_OK;
    }
    if (!sweep->given.is_quiet) {
        notice_print("%s: incomplete, removing its folder and running it again", run->name);
    }
    const int number = file_remove_folder(path);
    if (number != 0) {
        sweep_refuse_path(error, number, "remove", path);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* Returns whether the sweep passes its password to the runs. With several ranks it does not,
 * because each rank of a run reads the password file on its own machine. */
static bool hands_password(const struct sweep *sweep)
{
    return sweep->ranks == NULL && sweep->given.password[0] != '\0';
}

/* The command line of a run. The words in `argv` point to the other members, or to memory of the
 * sweep. */
struct run_arguments {
    const char *argv[PLAN_GIVEN_MAX + OWN_WORDS];
    char sessions[24], records[24], embedded[80], out[PATH_BYTES + 8];
    char set[SAVED_SWEEP_VARIANT_BYTES + 8];
    struct buffer recreate;
};

/* Fills *to, which must be zeroed. If `is_recreate`, the run drops its tables first. */
static void write_arguments(struct run_arguments *to, const struct sweep *sweep,
                            const struct saved_sweep_run *run, bool is_recreate)
{
    size_t count = 0, word = 0;
    snprintf(to->sessions, sizeof to->sessions, "%" PRIu64, run->sessions);
    snprintf(to->records, sizeof to->records, "%" PRIu64, run->records);
    snprintf(to->out, sizeof to->out, "--out=%s/%s", sweep->results.folder, run->name);
    snprintf(to->set, sizeof to->set, "--set=%s", sweep_variant(&sweep->results, run));
    to->argv[count++] = "append";
    to->argv[count++] = "--quiet";
    to->argv[count++] = to->out;
    for (size_t i = 0; i < sweep->given.given_count; i++) {
        const enum option_scope scope = sweep->given.given[i].entry->scope;
        const json_t *text = scope == OPTION_OF_CALL ? NULL : json_array_get(sweep->words, word++);
        const bool is_handed =
            hands_password(sweep) && option_is_password(sweep->given.given[i].entry);
        if (text != NULL && scope != OPTION_OF_SWEEP && !is_handed) {
            to->argv[count++] = json_string_value(text);
        }
    }
    if (hands_password(sweep)) {
        to->argv[count++] = "--password-file=/proc/self/fd/0";
    }
    if (is_recreate) {
        to->argv[count++] =
            name_recreated(sweep, &to->recreate) ? buffer_text(&to->recreate) : "--recreate";
    }
    if (sweep->given.sweep.varied.count > 0) {
        to->argv[count++] = to->set;
    }
    to->argv[count++] = "--";
    to->argv[count++] = to->sessions;
    if (run->records > 0) {
        to->argv[count++] = to->records;
    }
    /* for a database in the run's own folder name the adapter, because without a target the run
     * could take the records for a port */
    snprintf(to->embedded, sizeof to->embedded, "%s:", sweep->plan.adapter->name);
    to->argv[count] =
        sweep->plan.owned_path != NULL ? to->embedded : sweep->given.target_given; /* or NULL */
}

/* Creates the log file, which receives the text that a run prints on stderr. Returns its
 * descriptor, or -1. */
static int open_log(const struct sweep *sweep, const struct saved_sweep_run *run,
                    struct error *error)
{
    char path[PATH_BYTES];
    sweep_path(sweep, run, ".log", path);
    unlink(path); /* the file may be the log of an earlier run, or a pipe */
    const int log =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (log < 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "%.160s: %s", path, strerror(errno));
    }
    return log;
}

/* Orders the other ranks, if there are any, to begin the same run. *in is as for ranks_open_run. */
static enum exit_code order_ranks(const struct sweep *sweep, const struct saved_sweep_run *run,
                                  int *in, struct error *error)
{
    char path[PATH_BYTES];
    struct buffer order = {0};
    sweep_path(sweep, run, "", path);
    buffer_add(&order, path, strlen(path) + 1);
    buffer_add_text(&order, sweep->given.sweep.resume != NULL ? RESUMED : "");
    const bool has_order = !buffer_failed(&order);
    if (has_order) {
        ranks_open_run(sweep->ranks, &order, in);
    } else {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the orders to the ranks");
    }
    buffer_fini(&order);
    return has_order ? EXIT_CODE_OK : EXIT_CODE_CLIENT_LIMIT;
}

/* Makes a pipe for a run's standard input, and writes the password into it. Sets *in to the end
 * from which the run reads. The run cannot read --password-file itself, because that file may be a
 * pipe that the sweep has already read. With a pipe the password is in no file and on no command
 * line. */
static enum exit_code hand_password(const struct sweep *sweep, int *in, struct error *error)
{
    char line[sizeof sweep->given.password + 1];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "cannot make a pipe for the password: %s",
                  strerror(errno));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    const int length = snprintf(line, sizeof line, "%s\n", sweep->given.password);
    const ssize_t written = write(ends[1], line, (size_t)length); /* the empty pipe has room */
    close(ends[1]);
    *in = ends[0];
    if (written != length) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "cannot write the password to a pipe");
        close(ends[0]);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

/* Returns whether the run could not begin because the disk is full. */
static bool had_no_room(const struct sweep *sweep, const struct saved_sweep_run *run)
{
    char path[PATH_BYTES];
    struct statvfs disk;
    struct plan plan = sweep->plan;
    plan.sessions = (unsigned)run->sessions;
    sweep_path(sweep, run, "/run.json", path);
    return run->state == SAVED_FAILED && run->exit_code == EXIT_CODE_CLIENT_LIMIT &&
           access(path, F_OK) != 0 && statvfs(sweep->results.folder, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize < run_files_room(&plan);
}

static enum exit_code run_one(struct sweep *sweep, size_t index, struct error *error)
{
    struct saved_sweep_run *run = &sweep->results.runs[index];
    const bool is_recreate =
        sweep->table == TABLE_RECREATED || (sweep->table == TABLE_MADE && sweep->has_begun);
    enum exit_code code = remove_incomplete(sweep, run, error);
    if (code == EXIT_CODE_OK && !sweep->has_begun) {
        sweep->has_begun = sweep->has_made = true;
        code = sweep_write_files(sweep, true, error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    const int log = open_log(sweep, run, error);
    if (log < 0) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    int in;
    code = order_ranks(sweep, run, &in, error);
    if (code == EXIT_CODE_OK && hands_password(sweep)) {
        code = hand_password(sweep, &in, error);
    }
    if (code != EXIT_CODE_OK) {
        close(log);
        return code;
    }
    struct run_arguments arguments = {.argv = {NULL}};
    struct child_end end;
    write_arguments(&arguments, sweep, run, is_recreate);
    const int64_t start_ns = mono_now_ns();
    code = run_program(sweep, index,
                       (struct child_start){.argv = arguments.argv, .in = in, .err = log}, &end,
                       error);
    close(log);
    buffer_fini(&arguments.recreate);
    const bool was_started = code == EXIT_CODE_OK;
    run->wall_s = (double)(mono_now_ns() - start_ns) / (double)MONO_NS_PER_S;
    code = ranks_close_run(sweep->ranks, code, error);
    if (!was_started) {
        return code;
    }
    sweep->is_stopped = code != EXIT_CODE_OK || interrupt_requested();
    record_outcome(sweep, index, &end);
    /* leave the run pending for --resume, and end the sweep */
    if (had_no_room(sweep, run)) {
        run->state = SAVED_PENDING;
        error_set(error, ERROR_SYSTEM, ENOSPC, NULL, "%s: cannot write to '%.120s': %s", run->name,
                  sweep->results.folder, strerror(ENOSPC));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    struct error unwritten = {0};
    const bool is_well = code == EXIT_CODE_OK || code == EXIT_CODE_INTERRUPTED;
    const enum exit_code written = sweep_write_files(sweep, true, is_well ? error : &unwritten);
    if (saved_sweep_count(&sweep->results, SAVED_PENDING) > 0) {
        live_show_sweep(sweep->live, sweep->results.folder, NULL);
    } else {
        /* this was the last run: the live page shows the outcome of the sweep next */
        live_end_run(sweep->live);
    }
    return is_well ? written : code;
}

/* Runs the sweep on a rank other than 0: starts this program for each run that rank 0 orders, until
 * rank 0 has no more runs. */
static void follow(struct sweep *sweep)
{
    struct buffer order = {0};
    int in;
    child_prepare_waits();
    while (ranks_open_run(sweep->ranks, &order, &in)) {
        struct error error = {0};
        struct child_end end = {0};
        const unsigned rank = ranks_number(sweep->ranks);
        const char *machine = ranks_machine(sweep->ranks, rank);
        char out[PATH_BYTES + 24];
        const char *folder = buffer_text(&order);
        snprintf(out, sizeof out, "--out=%s.rank%u", folder, rank);
        const char *const argv[] = {"append", "--quiet", out, NULL};
        /* A sweep that resumes removes the folder of an interrupted run. A new sweep does not,
         * because an existing folder belongs to an earlier sweep; the run refuses it. */
        const char *left = out + strlen("--out=");
        const bool is_resumed = strcmp(folder + strlen(folder) + 1, RESUMED) == 0;
        const int number = is_resumed ? file_remove_folder(left) : 0;
        enum exit_code code;
        if (number != 0) {
            code = sweep_refuse_path(&error, number, "remove", left);
            if (in >= 0) {
                close(in);
            }
        } else {
            code = run_program(sweep, 0,
                               (struct child_start){.argv = argv, .in = in, .err = STDERR_FILENO},
                               &end, &error);
        }
        if (end.signal != 0 && !interrupt_requested()) {
            notice_print("machine %.60s, rank %u: append was ended by signal %d (%s)", machine,
                         rank, end.signal, strsignal(end.signal));
        }
        if (code == EXIT_CODE_OK && interrupt_requested()) {
            error_set(&error, ERROR_CANCELLED, 0, NULL, "interrupted");
            code = EXIT_CODE_INTERRUPTED;
        }
        if (ranks_close_run(sweep->ranks, code, &error) != EXIT_CODE_OK) {
            break;
        }
    }
    /* the sweep's folder may be empty now, on a machine without rank 0: remove it if it is empty */
    char *slash = strrchr(order.length > 0 ? order.bytes : "", '/');
    if (slash != NULL) {
        *slash = '\0';
        rmdir(order.bytes);
    }
    buffer_fini(&order);
}

/* Returns the run whose exit code becomes the exit code of the sweep, or NULL if all runs that
 * ended have the exit code 0. A defect of this program is the most serious, then missing rows, then
 * limits. */
static const struct saved_sweep_run *find_worst(const struct saved_sweep *sweep)
{
    static const enum exit_code order[] = {
        EXIT_CODE_INTERNAL, EXIT_CODE_SHORT,   EXIT_CODE_CLIENT_LIMIT, EXIT_CODE_SERVER,
        EXIT_CODE_USAGE,    EXIT_CODE_INVALID, EXIT_CODE_EXPECTATION,
    };
    for (size_t c = 0; c <= COUNT_OF(order); c++) {
        for (size_t i = 0; i < sweep->run_count; i++) {
            const int code = sweep->runs[i].exit_code;
            if (sweep->runs[i].state != SAVED_PENDING &&
                (c == COUNT_OF(order) ? code != EXIT_CODE_OK : code == (int)order[c])) {
                return &sweep->runs[i];
            }
        }
    }
    return NULL;
}

static enum exit_code sweep_all(struct sweep *sweep)
{
    const struct saved_sweep *results = &sweep->results;
    struct error error = {0};
    enum exit_code code = sweep_make_plan(sweep, &error);
    const size_t left = saved_sweep_count(results, SAVED_PENDING);
    if (code == EXIT_CODE_OK) {
        code = live_begin(&sweep->live, &sweep->given, NULL, &error);
    }
    if (code == EXIT_CODE_OK && left > 0) {
        code = choose_table(sweep, &error);
    }
    if (code == EXIT_CODE_OK && sweep->given.sweep.resume == NULL) {
        code = sweep_create_files(sweep, &error);
    }
    if (code != EXIT_CODE_OK) {
        return command_refuse(sweep->given.is_json, code, &error);
    }
    uint64_t rows = 0;
    for (size_t i = 0; i < results->run_count; i++) {
        rows += results->runs[i].records;
    }
    char line[LINE_BYTES] = "sweep: nothing to do, all runs have ended";
    if (left > 0) {
        char rows_text[2 * UNITS_TEXT_BYTES] = "";
        if (rows > 0) {
            snprintf(rows_text, sizeof rows_text, ", %s rows in total", UNITS_COUNT(rows));
        }
        snprintf(line, sizeof line, "sweep: %zu run%s%s; %zu run%s to go; table: %s",
                 results->run_count, units_plural(results->run_count, "", "s"), rows_text, left,
                 units_plural(left, "", "s"), sweep_tables[sweep->table].phrase);
    }
    keep_line(sweep, line);
    live_announce(sweep->live);
    live_show_sweep(sweep->live, results->folder, NULL);
    child_prepare_waits();
    for (size_t i = 0; i < results->run_count && code == EXIT_CODE_OK; i++) {
        if (results->runs[i].state == SAVED_PENDING && !sweep->is_stopped &&
            !interrupt_requested()) {
            code = run_one(sweep, i, &error);
        }
    }
    if (code == EXIT_CODE_OK) {
        sweep->changes = saved_sweep_changes(results);
        code = sweep_write_files(sweep, false, &error);
    }
    if (code != EXIT_CODE_OK) {
        return command_say(code,
                           "%s; when the cause is removed, resume with: append sweep --resume %s",
                           error.text, results->folder);
    }
    /* write the report; the most serious run decides the exit code */
    error_clear(&error);
    const size_t pending = saved_sweep_count(results, SAVED_PENDING);
    const size_t failed = saved_sweep_count(results, SAVED_FAILED);
    if (!sweep->given.is_json) {
        sweep_write_text(stdout, sweep);
    } else if (!sweep_write_json(stdout, sweep, false) && !ferror(stdout)) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the report");
    }
    const enum exit_code reported =
        sweep->given.is_report ? command_write_report(results->folder, sweep->given.is_json, &error)
                               : EXIT_CODE_OK;
    live_show_outcome(sweep->live, results->folder);
    const enum exit_code written = command_finish_output();
    if (written != EXIT_CODE_OK) {
        return written;
    }
    const struct saved_sweep_run *worst = find_worst(results);
    char no_page[200] = "";
    if (reported != EXIT_CODE_OK) {
        snprintf(no_page, sizeof no_page, "; also the report was not written: %.150s", error.text);
    }
    if (pending > 0) {
        return command_say(
            EXIT_CODE_INTERRUPTED,
            "interrupted: %zu of %zu runs have ended; resume with: append sweep --resume %s%s",
            results->run_count - pending, results->run_count, results->folder, no_page);
    }
    if (worst == NULL) {
        return reported == EXIT_CODE_OK ? reported : command_fail(reported, &error);
    }
    code = (enum exit_code)worst->exit_code;
    return failed > 0 ? command_say(code, "%zu of %zu runs failed: %s: %s%s", failed,
                                    results->run_count, worst->name, worst->reason, no_page)
                      : command_say(code, "%s missed an expectation: %s%s", worst->name,
                                    worst->reason, no_page);
}

enum exit_code command_sweep(int argc, char **argv)
{
    struct sweep *sweep = calloc(1, sizeof *sweep);
    enum exit_code code;
    if (sweep == NULL) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for a sweep");
    }
    sweep->lock = -1;
    struct error error = {0};
    code = ranks_begin_runs(&sweep->ranks, &error);
    if (code != EXIT_CODE_OK) {
        code = error_is_set(&error) ? command_fail(code, &error) : EXIT_CODE_OK;
    } else if (ranks_follows(sweep->ranks)) {
        sweep->given.is_quiet = true;
        follow(sweep);
    } else {
        code = command_line_read(&sweep->given, command_form(COMMAND_SWEEP), argc, argv, &error);
        if (!command_is_done(&sweep->given, &code, &error)) {
            interrupt_install();
            notice_init(&sweep->notice, STDERR_FILENO);
            const locale_t before = units_use_point();
            code = sweep_all(sweep);
            uselocale(before);
        }
    }
    live_end(sweep->live);
    json_decref(sweep->words);
    json_decref(sweep->changes);
    plan_fini(&sweep->plan);
    saved_sweep_free(&sweep->results);
    if (sweep->lock >= 0) {
        close(sweep->lock);
    }
    ranks_end(sweep->ranks, false);
    free(sweep);
    return code;
}
