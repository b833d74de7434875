#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/interrupt.h"
#include "base/mono.h"
#include "base/notice.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/report_end.h"
#include "cli/sweep_ask.h"
#include "sweep/run_process.h"
#include "sweep/sweep_files.h"
#include "sweep/sweep_json.h"
#include "sweep/sweep_progress.h"
#include "sweep/sweep_text.h"

#define TICK_NS MONO_NS_PER_S
#define HASTY_TICK_NS (50 * MONO_NS_PER_MS)

enum {
    LOG_TAIL_BYTES = 4096,
    OWN_WORDS = 10 /* of a run's command line, beside the options */
};

struct work {
    struct sweep_ask ask;
    struct sweep sweep;
    struct sweep_files files;
    struct sweep_progress progress;
};

static void path_of(const struct sweep *sweep, const struct sweep_run *run, const char *end,
                    char path[SWEEP_PATH_BYTES])
{
    snprintf(path, SWEEP_PATH_BYTES, "%s/%s%s", sweep->folder, run->name, end);
}

/* The last line that the program said of itself, else the last line of all. */
static void read_reason(const char *log_path, char reason[SWEEP_REASON_BYTES])
{
    static const char own[] = "append: ";
    char text[LOG_TAIL_BYTES + 1];
    reason[0] = '\0';
    FILE *file;
    if (folder_open_file(log_path, &file, NULL) != STATUS_OK) {
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
            snprintf(reason, SWEEP_REASON_BYTES, "%s", line + (is_own ? strlen(own) : 0));
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
static void settle(const struct sweep *sweep, struct sweep_run *run,
                   const struct run_process_end *end)
{
    char log_path[SWEEP_PATH_BYTES], path[SWEEP_PATH_BYTES], said[SWEEP_REASON_BYTES];
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
    run->exit_code = (enum exit_code)end->code;
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
    run->state = is_good ? SAVED_DONE : SAVED_FAILED;
    if (run->state == SAVED_FAILED && interrupt_requested()) {
        run->state = SAVED_PENDING;
    }
    if (!has_summary || run->state == SAVED_PENDING) {
        csv_table_free(&run->summary);
    }
}

/* The command line of a run. NULL: out of memory. The caller frees the array; `texts` has the words
 * that are made here. */
struct run_texts {
    char sessions[24];
    char records[24];
    char out[SWEEP_PATH_BYTES + 8];
};
static const char **make_argv(const struct work *work, const struct sweep_run *run,
                              bool is_recreate, struct run_texts *texts)
{
    const struct sweep_ask *ask = &work->ask;
    const char **argv = calloc(ask->word_count + OWN_WORDS, sizeof *argv);
    if (argv == NULL) {
        return NULL;
    }
    snprintf(texts->sessions, sizeof texts->sessions, "%llu", (unsigned long long)run->sessions);
    snprintf(texts->records, sizeof texts->records, "%llu", (unsigned long long)run->records);
    snprintf(texts->out, sizeof texts->out, "--out=%s/%s", work->sweep.folder, run->name);
    size_t count = 0;
    argv[count++] = "append";
    argv[count++] = "--quiet";
    argv[count++] = texts->out;
    for (size_t i = 0; i < ask->word_count; i++) {
        if (ask->is_for_runs[i]) {
            argv[count++] = ask->words[i];
        }
    }
    if (is_recreate) {
        argv[count++] = "--recreate";
    }
    argv[count++] = "--";
    argv[count++] = texts->sessions;
    argv[count++] = texts->records;
    if (ask->options.config.target != NULL) {
        argv[count++] = ask->options.config.target;
    }
    return argv;
}

static void wait_for(struct work *work, size_t index, pid_t pid, struct run_process_end *end)
{
    const int64_t start_ns = mono_now_ns();
    int64_t shown_ns = start_ns;
    bool is_told = false;
    sweep_progress_show(&work->progress, index, 0);
    for (;;) {
        /* a signal that comes just before the wait does not end it */
        if (run_process_wait(pid, is_told ? HASTY_TICK_NS : TICK_NS / 4, end)) {
            break;
        }
        if (interrupt_requested() && !is_told) {
            is_told = true;
            run_process_interrupt(pid);
        }
        const int64_t now_ns = mono_now_ns();
        if (now_ns - shown_ns >= TICK_NS && !is_told) {
            sweep_progress_show(&work->progress, index, now_ns - start_ns);
            shown_ns = now_ns;
        }
    }
    work->sweep.runs[index].wall_s = (double)(mono_now_ns() - start_ns) / (double)MONO_NS_PER_S;
}

/* What a run that was interrupted left behind goes. */
static enum exit_code clear_folder(struct work *work, const struct sweep_run *run,
                                   struct error *error)
{
    char path[SWEEP_PATH_BYTES];
    path_of(&work->sweep, run, "", path);
    struct stat about;
    if (lstat(path, &about) != 0) {
        return EXIT_CODE_OK;
    }
    if (!work->ask.options.config.is_quiet) {
        notice_print("%s: begun before and not over: its folder is removed, and it is run anew",
                     run->name);
    }
    const int number = folder_remove(path);
    if (number != 0) {
        error_set(error, ERROR_SYSTEM, number, NULL, "cannot remove '%.160s': %s", path,
                  strerror(number));
        return EXIT_CODE_CLIENT_LIMIT;
    }
    return EXIT_CODE_OK;
}

static enum exit_code run_one(struct work *work, size_t index, struct error *error)
{
    struct sweep *sweep = &work->sweep;
    struct sweep_run *run = &sweep->runs[index];
    const bool is_recreate = sweep->table == SWEEP_TABLE_RECREATED ||
                             (sweep->table == SWEEP_TABLE_MADE && sweep->has_begun);
    enum exit_code code = clear_folder(work, run, error);
    if (code == EXIT_CODE_OK && !sweep->has_begun) {
        sweep->has_begun = true;
        code = sweep_files_write(&work->files, sweep, "running", error);
    }
    if (code != EXIT_CODE_OK) {
        return code;
    }
    struct run_texts texts;
    char log_path[SWEEP_PATH_BYTES];
    path_of(sweep, run, ".log", log_path);
    const char **argv = make_argv(work, run, is_recreate, &texts);
    pid_t pid;
    enum status status = STATUS_REJECTED;
    if (argv == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a run");
    } else {
        status = run_process_start(&pid, argv, log_path, work->files.folder, error);
    }
    free(argv);
    if (status != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    struct run_process_end end;
    wait_for(work, index, pid, &end);
    settle(sweep, run, &end);
    sweep_progress_ended(&work->progress, index);
    return sweep_files_write(&work->files, sweep, "running", error);
}

static enum exit_code run_all(struct work *work, struct error *error)
{
    struct sweep *sweep = &work->sweep;
    enum exit_code code = EXIT_CODE_OK;
    run_process_prepare();
    sweep_progress_begin(&work->progress);
    for (size_t i = 0; i < sweep->run_count && code == EXIT_CODE_OK && !interrupt_requested();
         i++) {
        if (sweep->runs[i].state == SAVED_PENDING) {
            code = run_one(work, i, error);
        }
    }
    if (code == EXIT_CODE_OK) {
        const bool is_over = sweep_count(sweep, SAVED_PENDING) == 0;
        code = sweep_files_write(&work->files, sweep, is_over ? "finished" : "interrupted", error);
    }
    return code;
}

/* Prints the report; the exit code is that of the run that weighs most. */
static enum exit_code report(const struct work *work)
{
    const struct sweep *sweep = &work->sweep;
    const size_t pending = sweep_count(sweep, SAVED_PENDING);
    const size_t failed = sweep_count(sweep, SAVED_FAILED);
    const bool is_json = work->ask.options.config.is_json;
    if (!is_json) {
        sweep_text_write(stdout, sweep);
    } else if (!sweep_json_write(stdout, sweep, pending == 0 ? "finished" : "interrupted") &&
               !ferror(stdout)) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the report");
    }
    struct error report_error;
    error_clear(&report_error);
    const enum exit_code reported = work->ask.options.is_report
                                        ? report_end_write(sweep->folder, is_json, &report_error)
                                        : EXIT_CODE_OK;
    const enum exit_code written = command_finish_output();
    if (written != EXIT_CODE_OK) {
        return written;
    }
    const struct sweep_run *worst = sweep_worst(sweep);
    char line[SWEEP_REASON_BYTES + SWEEP_PATH_BYTES + 300], no_page[200] = "";
    if (reported != EXIT_CODE_OK) {
        snprintf(no_page, sizeof no_page, "; also there is no report: %.150s", report_error.text);
    }
    if (pending > 0) {
        snprintf(line, sizeof line,
                 "interrupted: %zu of %zu runs are over; go on with: append sweep --resume %s%s",
                 sweep->run_count - pending, sweep->run_count, sweep->folder, no_page);
        return command_say(EXIT_CODE_INTERRUPTED, line);
    }
    if (worst == NULL) {
        return reported == EXIT_CODE_OK ? reported : command_fail(reported, &report_error);
    }
    if (failed > 0) {
        snprintf(line, sizeof line, "%zu of %zu runs failed: %s: %s%s", failed, sweep->run_count,
                 worst->name, worst->reason, no_page);
    } else {
        snprintf(line, sizeof line, "%s missed an expectation: %s%s", worst->name, worst->reason,
                 no_page);
    }
    return command_say(worst->exit_code, line);
}

/* A new sweep has a new folder; one that goes on has what it had. */
static enum exit_code prepare(struct work *work, struct error *error)
{
    struct sweep_ask *ask = &work->ask;
    struct sweep *sweep = &work->sweep;
    const struct options *options = &ask->options;
    if (sweep_init(sweep, &options->sweep_sessions, &options->sweep_records,
                   (unsigned)options->sweep_repeat, error) != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    snprintf(sweep->folder, sizeof sweep->folder, "%s", ask->folder);
    sweep->adapter = ask->plan.adapter->name;
    sweep->display_target =
        ask->plan.owned_path != NULL ? sweep->adapter : ask->plan.display_target;
    sweep->target = options->config.target == NULL ? NULL : ask->target;
    sweep->has_secret = ask->has_secret;
    sweep->has_server = (ask->plan.adapter->flags & ADAPTER_EMBEDDED) == 0;
    sweep->words = (const char *const *)ask->words;
    sweep->word_count = ask->word_count;
    mono_format_utc(mono_wall_ns(), sweep->started_utc, sizeof sweep->started_utc);
    if (getcwd(sweep->working_folder, sizeof sweep->working_folder) == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "this folder cannot be named: it is gone, or its "
                  "path is too long");
        return EXIT_CODE_USAGE;
    }
    sweep_progress_init(&work->progress, sweep, options->config.is_quiet);
    if (!ask->is_resumed) {
        const enum exit_code code = sweep_ask_table(ask, sweep, error);
        return code == EXIT_CODE_OK
                   ? sweep_files_create(&work->files, sweep, ask->plan.adapter, error)
                   : code;
    }
    enum exit_code code = sweep_files_open(&work->files, sweep->folder, error);
    if (code == EXIT_CODE_OK) {
        code = sweep_files_set_columns(&work->files, ask->plan.adapter, error);
    }
    if (code == EXIT_CODE_OK &&
        sweep_resume(sweep, &ask->saved, options->is_retrying_failed, error) != STATUS_OK) {
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK && sweep_count(sweep, SAVED_PENDING) > 0) {
        code = sweep_ask_table(ask, sweep, error);
    }
    return code;
}

static enum exit_code sweep_all(struct work *work)
{
    struct error error;
    error_clear(&error);
    enum exit_code code = report_end_check(work->ask.options.is_report, &error);
    if (code == EXIT_CODE_OK) {
        code = sweep_ask(&work->ask, &error);
    }
    if (code == EXIT_CODE_OK) {
        code = prepare(work, &error);
    }
    if (code != EXIT_CODE_OK) {
        return command_refuse(work->ask.options.config.is_json, code, &error);
    }
    code = run_all(work, &error);
    if (code != EXIT_CODE_OK) {
        char line[ERROR_TEXT_BYTES + SWEEP_PATH_BYTES + 60];
        snprintf(line, sizeof line, "%s; then go on with: append sweep --resume %s", error.text,
                 work->sweep.folder);
        return command_say(code, line);
    }
    return report(work);
}

enum exit_code command_sweep(int argc, char **argv)
{
    struct work work = {.files = {.folder = -1}};
    struct error error;
    error_clear(&error);
    if (options_parse(&work.ask.options, COMMAND_SWEEP, argc, argv, &error) != STATUS_OK) {
        return command_refuse(work.ask.options.config.is_json, EXIT_CODE_USAGE, &error);
    }
    if (work.ask.options.is_help) {
        help_print(COMMAND_SWEEP, stdout);
        return command_finish_output();
    }
    interrupt_install();
    /* a client library may set the program's locale: numbers of files have a point */
    const locale_t point = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(point);
    const enum exit_code code = sweep_all(&work);
    uselocale(before);
    if (point != (locale_t)0) {
        freelocale(point);
    }
    sweep_files_close(&work.files);
    sweep_fini(&work.sweep);
    sweep_ask_fini(&work.ask);
    return code;
}
