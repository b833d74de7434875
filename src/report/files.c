#include "report/files.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "report/csv_files.h"
#include "report/csv_levels.h"
#include "report/csv_sessions.h"
#include "report/figures.h"
#include "report/hgrm.h"
#include "report/json.h"

enum run_file {
    FILE_SUMMARY,
    FILE_SAMPLES,
    FILE_INTERVALS,
    FILE_SESSIONS,
    FILE_EVENTS,
    FILE_RUN,
    FILE_CONNECT_HGRM,
    FILE_APPEND_HGRM,
    FILE_RESPONSE_HGRM,
    FILE_COUNT_HGRM,
    FILE_LEVELS,
    FILE_SEARCH,
    FILE_RECONNECT_HGRM,
    FILE_RECOVER_HGRM,
    FILES,
};

static const char *const file_names[FILES] = {
    [FILE_SUMMARY] = "summary.csv",
    [FILE_SAMPLES] = "samples.csv",
    [FILE_INTERVALS] = "intervals.csv",
    [FILE_SESSIONS] = "sessions.csv",
    [FILE_EVENTS] = "events.csv",
    [FILE_RUN] = "run.json",
    [FILE_CONNECT_HGRM] = "connect.hgrm",
    [FILE_APPEND_HGRM] = "append.hgrm",
    [FILE_RESPONSE_HGRM] = "response.hgrm",
    [FILE_COUNT_HGRM] = "count.hgrm",
    [FILE_RECONNECT_HGRM] = "reconnect.hgrm",
    [FILE_RECOVER_HGRM] = "recover.hgrm",
    [FILE_LEVELS] = "levels.csv",
    [FILE_SEARCH] = "find-max.json",
};

static const struct {
    enum run_file file;
    enum recorder_histogram histogram;
} hgrm_files[] = {
    {FILE_CONNECT_HGRM, RECORDER_CONNECT},     {FILE_APPEND_HGRM, RECORDER_APPEND},
    {FILE_RESPONSE_HGRM, RECORDER_RESPONSE},   {FILE_COUNT_HGRM, RECORDER_COUNT},
    {FILE_RECONNECT_HGRM, RECORDER_RECONNECT}, {FILE_RECOVER_HGRM, RECORDER_RECOVER},
};
enum {
    HGRM_FILES = sizeof hgrm_files / sizeof hgrm_files[0]
};

/* Proof of room: as much as the files of a long run may take at their end. */
enum {
    ROOM_BYTES = 1 << 20
};
static const char room_name[] = ".room";

struct run_files {
    int folder; /* descriptor, so that the files are the ones that were made whatever is renamed */
    char path[PLAN_PATH_BYTES];
    FILE *streams[FILES]; /* NULL: not made, short, or closed */
    bool is_made[FILES];
    off_t whole_bytes[FILES]; /* up to here a file has whole rows */
    pthread_mutex_t lock;     /* guards shortage while two threads write */
    char shortage[1024];
    locale_t locale; /* with a decimal point: client libraries may set the program's locale */
};

static enum exit_code fail(struct error *error, int number, const char *what, const char *path)
{
    char text[128];
    const char *reason = strerror_r(number, text, sizeof text);
    if (number == EEXIST) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "output folder '%.160s' exists already: name another with --out", path);
        return EXIT_CODE_USAGE;
    }
    error_set(error, number == ENOMEM ? ERROR_MEMORY : ERROR_SYSTEM, number, NULL,
              "cannot %s output folder '%.140s': %s", what, path, reason);
    return folder_is_no_room(number) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

/* Remembers that a file is short, and keeps its rows up to the last whole one: a half row would
 * make the file unreadable. Nothing more is written to it, so that it has no hole either. */
static void mark_short(struct run_files *files, enum run_file file, int number)
{
    char text[128];
    const char *reason = number == 0 ? "write failed" : strerror_r(number, text, sizeof text);
    pthread_mutex_lock(&files->lock);
    const size_t used = strlen(files->shortage);
    snprintf(files->shortage + used, sizeof files->shortage - used, "%s%s: %s",
             used > 0 ? "; " : "", file_names[file], reason);
    pthread_mutex_unlock(&files->lock);
    FILE *stream = files->streams[file];
    if (stream == NULL) {
        return;
    }
    __fpurge(stream);
    /* On a full disk even this may fail; the mark stands all the same. */
    if (ftruncate(fileno(stream), files->whole_bytes[file]) != 0) {
        clearerr(stream);
    }
    fclose(stream);
    files->streams[file] = NULL;
}

/* Brings what was written to the disk's care, or marks the file. `is_written`: as far as known. */
static void settle(struct run_files *files, enum run_file file, bool is_written)
{
    FILE *stream = files->streams[file];
    const bool has_failed = !is_written || ferror(stream) != 0;
    const int number = has_failed ? errno : 0;
    errno = 0;
    if (fflush(stream) != 0 || has_failed) {
        mark_short(files, file, errno != 0 ? errno : number);
        return;
    }
    const off_t end = ftello(stream);
    if (end > 0) {
        files->whole_bytes[file] = end;
    }
}

static int open_file(struct run_files *files, enum run_file file)
{
    const int fd = openat(files->folder, file_names[file],
                          O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        return errno;
    }
    files->is_made[file] = true;
    files->streams[file] = fdopen(fd, "a");
    if (files->streams[file] == NULL) {
        const int number = errno;
        close(fd);
        return number;
    }
    return 0;
}

/* A search has levels instead of sessions; a run does not have every histogram. */
static bool is_wanted(enum run_file file, const struct plan *plan)
{
    if (file == FILE_SUMMARY || file == FILE_SAMPLES || file == FILE_INTERVALS) {
        return true;
    }
    for (size_t i = 0; i < HGRM_FILES; i++) {
        if (hgrm_files[i].file == file && !figures_has_histogram(plan, hgrm_files[i].histogram)) {
            return false;
        }
    }
    return plan->is_search == (file == FILE_LEVELS || file == FILE_SEARCH);
}

static int open_files(struct run_files *files, const struct plan *plan)
{
    for (int file = 0; file < FILES; file++) {
        if (!is_wanted((enum run_file)file, plan)) {
            continue;
        }
        const int number = open_file(files, (enum run_file)file);
        if (number != 0) {
            return number;
        }
    }
    return 0;
}

/* Writes real bytes and waits for the disk: reserving alone does not ask every file system. */
static int prove_room(struct run_files *files)
{
    static const char block[4096] = {'r', 'o', 'o', 'm'};
    const int fd = openat(files->folder, room_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return errno;
    }
    int number = 0;
    for (size_t done = 0; done < ROOM_BYTES && number == 0;) {
        const ssize_t written = write(fd, block, sizeof block);
        if (written > 0) {
            done += (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            number = written == 0 ? EIO : errno;
        }
    }
    if (number == 0 && fsync(fd) != 0 && errno != EINVAL && errno != EINTR) {
        number = errno;
    }
    if (close(fd) != 0 && number == 0 && errno != EINTR) {
        number = errno;
    }
    unlinkat(files->folder, room_name, 0);
    return number;
}

/* The user appends to this file: it is written once and let go of. */
static int write_events(struct run_files *files, const struct plan *plan)
{
    static const struct mark none;
    FILE *stream = files->streams[FILE_EVENTS];
    struct csv csv;
    csv_begin(&csv, stream, true);
    csv_files_event(&csv, &none);
    csv_end(&csv);
    for (size_t i = 0; i < plan->mark_count; i++) {
        csv_begin(&csv, stream, false);
        csv_files_event(&csv, &plan->marks[i]);
        csv_end(&csv);
    }
    files->streams[FILE_EVENTS] = NULL;
    const bool has_failed = ferror(stream) != 0;
    return fclose(stream) != 0 || has_failed ? ENOSPC : 0;
}

static int write_headers(struct run_files *files)
{
    static const struct interval interval;
    static const struct sample sample;
    struct csv csv;
    csv_begin(&csv, files->streams[FILE_INTERVALS], true);
    csv_files_interval(&csv, &interval);
    csv_end(&csv);
    settle(files, FILE_INTERVALS, true);
    csv_begin(&csv, files->streams[FILE_SAMPLES], true);
    csv_files_sample(&csv, &sample);
    csv_end(&csv);
    settle(files, FILE_SAMPLES, true);
    if (files->streams[FILE_LEVELS] != NULL) {
        static const struct level level;
        csv_begin(&csv, files->streams[FILE_LEVELS], true);
        csv_levels_level(&csv, &level);
        csv_end(&csv);
        settle(files, FILE_LEVELS, true);
    }
    return files->shortage[0] == '\0' ? 0 : ENOSPC;
}

enum exit_code run_files_create(struct run_files **files, const struct plan *plan,
                                struct error *error)
{
    const char *path = plan->out_folder;
    *files = NULL;
    struct run_files *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return fail(error, ENOMEM, "prepare", path);
    }
    made->folder = -1;
    pthread_mutex_init(&made->lock, NULL);
    snprintf(made->path, sizeof made->path, "%s", path);
    made->locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    int number = made->locale == (locale_t)0 ? ENOMEM : folder_make_parents(path);
    if (number == 0 && mkdir(path, 0777) != 0) {
        number = errno;
    }
    if (number != 0) {
        /* The folder is somebody else's or does not exist: nothing of it may be removed. */
        made->path[0] = '\0';
        run_files_destroy(made, true);
        return fail(error, number, "make", path);
    }
    made->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    number = made->folder < 0 ? errno : open_files(made, plan);
    if (number == 0) {
        number = prove_room(made);
    }
    if (number == 0) {
        number = write_headers(made);
    }
    if (number == 0 && made->streams[FILE_EVENTS] != NULL) {
        number = write_events(made, plan);
    }
    if (number != 0) {
        run_files_destroy(made, true);
        return fail(error, number, "write to", path);
    }
    *files = made;
    return EXIT_CODE_OK;
}

void run_files_add_interval(struct run_files *files, const struct interval *interval)
{
    if (files->streams[FILE_INTERVALS] == NULL) {
        return;
    }
    const locale_t before = uselocale(files->locale);
    struct csv csv;
    csv_begin(&csv, files->streams[FILE_INTERVALS], false);
    csv_files_interval(&csv, interval);
    csv_end(&csv);
    settle(files, FILE_INTERVALS, true);
    uselocale(before);
}

void run_files_add_sample(struct run_files *files, const struct sample *sample)
{
    if (files->streams[FILE_SAMPLES] == NULL) {
        return;
    }
    const locale_t before = uselocale(files->locale);
    struct csv csv;
    csv_begin(&csv, files->streams[FILE_SAMPLES], false);
    csv_files_sample(&csv, sample);
    csv_end(&csv);
    settle(files, FILE_SAMPLES, true);
    uselocale(before);
}

void run_files_add_level(struct run_files *files, const struct level *level)
{
    if (files->streams[FILE_LEVELS] == NULL) {
        return;
    }
    const locale_t before = uselocale(files->locale);
    struct csv csv;
    csv_begin(&csv, files->streams[FILE_LEVELS], false);
    csv_levels_level(&csv, level);
    csv_end(&csv);
    settle(files, FILE_LEVELS, true);
    uselocale(before);
}

static void write_summary(struct run_files *files, const struct plan *plan,
                          const struct result *result)
{
    FILE *stream = files->streams[FILE_SUMMARY];
    if (stream == NULL) {
        return;
    }
    struct csv csv;
    for (int line = 0; line < 2; line++) {
        csv_begin(&csv, stream, line == 0);
        csv_files_summary(&csv, plan, result);
        csv_end(&csv);
    }
    settle(files, FILE_SUMMARY, true);
}

static void write_sessions(struct run_files *files, const struct result *result)
{
    static const struct session_summary none;
    FILE *stream = files->streams[FILE_SESSIONS];
    if (stream == NULL) {
        return;
    }
    struct csv csv;
    csv_begin(&csv, stream, true);
    csv_sessions_row(&csv, &none);
    csv_end(&csv);
    for (size_t i = 0; i < result->session_count && result->session_list != NULL; i++) {
        csv_begin(&csv, stream, false);
        csv_sessions_row(&csv, &result->session_list[i]);
        csv_end(&csv);
    }
    settle(files, FILE_SESSIONS, true);
}

/* What was removed while the run went on: its folder, or one of the files that are written to. The
 * user may do as he likes with events.csv. */
static void note_removed(struct run_files *files)
{
    struct stat there, own;
    if (stat(files->path, &there) != 0 || fstat(files->folder, &own) != 0 ||
        there.st_dev != own.st_dev || there.st_ino != own.st_ino) {
        const size_t used = strlen(files->shortage);
        snprintf(files->shortage + used, sizeof files->shortage - used,
                 "%sthe folder was removed or renamed meanwhile", used > 0 ? "; " : "");
        return;
    }
    for (int file = 0; file < FILES; file++) {
        FILE *stream = files->streams[file];
        if (stream != NULL && fstat(fileno(stream), &own) == 0 && own.st_nlink == 0) {
            mark_short(files, (enum run_file)file, ENOENT);
        }
    }
}

static void close_files(struct run_files *files)
{
    for (int file = 0; file < FILES; file++) {
        FILE *stream = files->streams[file];
        files->streams[file] = NULL;
        if (stream != NULL && fclose(stream) != 0) {
            mark_short(files, (enum run_file)file, errno);
        }
    }
}

void run_files_finish(struct run_files *files, const struct plan *plan, const struct table *table,
                      const struct result *result)
{
    const locale_t before = uselocale(files->locale);
    write_summary(files, plan, result);
    write_sessions(files, result);
    for (size_t i = 0; i < HGRM_FILES; i++) {
        FILE *stream = files->streams[hgrm_files[i].file];
        if (stream != NULL) {
            settle(files, hgrm_files[i].file,
                   hgrm_write(stream, &result->totals.histograms[hgrm_files[i].histogram]));
        }
    }
    if (files->streams[FILE_RUN] != NULL) {
        settle(files, FILE_RUN, report_write_json(files->streams[FILE_RUN], plan, table, result));
    }
    note_removed(files);
    close_files(files);
    uselocale(before);
}

void run_files_finish_search(struct run_files *files, const struct plan *plan,
                             const struct table *table, const struct result *result,
                             const struct search *search)
{
    const locale_t before = uselocale(files->locale);
    write_summary(files, plan, result);
    if (files->streams[FILE_SEARCH] != NULL) {
        settle(files, FILE_SEARCH,
               report_write_search_json(files->streams[FILE_SEARCH], plan, table, result, search));
    }
    note_removed(files);
    close_files(files);
    uselocale(before);
}

const char *run_files_shortage(const struct run_files *files)
{
    return files->shortage;
}

static void remove_files(struct run_files *files)
{
    for (int file = 0; file < FILES; file++) {
        if (files->is_made[file]) {
            unlinkat(files->folder, file_names[file], 0);
        }
    }
    rmdir(files->path);
}

void run_files_destroy(struct run_files *files, bool is_failed)
{
    if (files == NULL) {
        return;
    }
    close_files(files);
    if (is_failed && files->path[0] != '\0') {
        remove_files(files);
    }
    if (files->folder >= 0) {
        close(files->folder);
    }
    if (files->locale != (locale_t)0) {
        freelocale(files->locale);
    }
    pthread_mutex_destroy(&files->lock);
    free(files);
}
