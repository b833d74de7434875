#include "report/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "plan/facts.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/json.h"
#include "trace/trace.h"

enum {
    FILE_IO_HGRM = FILE_HGRM + OPERATIONS_MAX, /* histograms of the I/O trace */
    FILES = FILE_IO_HGRM + TRACE_HISTOGRAMS,
    REASON_BYTES = 160,    /* the reason why a file is incomplete */
    NAMES_BYTES = 6 << 10, /* the names of all files, and some reasons */
};

static const char *const file_names[FILE_HGRM] = {[FILE_SUMMARY] = "summary.csv",
                                                  [FILE_RUN] = "run.json",
                                                  [FILE_SEARCH] = "find-max.json",
                                                  [FILE_OPERATIONS] = "operations.csv",
                                                  [FILE_METRICS] = "metrics.csv",
                                                  [FILE_IO] = "io.csv",
#define X(id, name, ...) [CSV_##id] = (name),
                                                  CSV_TABLE
#undef X
};

static const unsigned csv_kinds[CSV_FILES] = {
#define X(id, name, table, type, condition, kind) [CSV_##id] = (kind),
    CSV_TABLE
#undef X
};

/* Incomplete files and the reasons: "a.csv, b.csv: No space left on device; c.csv: …". */
struct file_list {
    char text[NAMES_BYTES];
    size_t reason_at; /* offset of the last reason in the text */
};

struct run_files {
    struct operation_list operations;
    enum io_trace io_trace;
    int folder;   /* descriptor of the folder, which stays valid when the folder is renamed */
    int reserved; /* descriptor of an unlinked file that reserves disk space; -1: no file */
    off_t reserved_bytes; /* size of that file */
    off_t outcome_bytes;  /* space for the files of the outcome */
    char path[PLAN_PATH_BYTES];
    bool is_own;          /* the folder was made here and may be removed */
    FILE *streams[FILES]; /* streams of the files; NULL if the file was not made, is incomplete, or
                             was closed */
    bool is_made[FILES];
    off_t whole_bytes[FILES]; /* end of the last whole row */
    pthread_mutex_t lock;     /* guards `failure` and `shortage` */
    int failure;              /* errno of the first failed write; 0: no write has failed */
    struct file_list shortage;
    struct file_list outdated; /* files that the last run_files_write_outcome could not replace */
    char said[2 * NAMES_BYTES + 2]; /* text that run_files_shortage returns */
};

static const char *name_of(const struct run_files *files, int file, char text[NAME_MAX])
{
    if (file < FILE_HGRM) {
        return file_names[file];
    }
    char key[FIGURE_KEY_BYTES], name[TRACE_NAME_BYTES];
    if (file >= FILE_IO_HGRM) {
        trace_histogram(NULL, files->io_trace, (size_t)(file - FILE_IO_HGRM), name);
        snprintf(text, NAME_MAX, "%s.hgrm", name);
        return text;
    }
    snprintf(text, NAME_MAX, "%s.hgrm",
             operation_key(&files->operations.entries[file - FILE_HGRM], key));
    return text;
}

static enum exit_code fail(struct error *error, int number, const char *what, const char *path)
{
    error_set(error, number == ENOMEM ? ERROR_MEMORY : ERROR_SYSTEM, number, NULL,
              "cannot %s output folder '%.140s': %s", what, path, strerror(number));
    return file_is_out_of_resources(number) ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_USAGE;
}

enum exit_code report_make_folder(const char *path, const char *choice, struct error *error)
{
    int number = file_make_parents(path);
    number = number == 0 && mkdir(path, 0777) != 0 ? errno : number;
    if (number == EEXIST) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "output folder '%.130s' exists already: name another with --out%s", path, choice);
        return EXIT_CODE_USAGE;
    }
    return number == 0 ? EXIT_CODE_OK : fail(error, number, "make", path);
}

/* Adds a file to a list. `reason` begins with ": ". If the last file in the list has the same
 * reason, the list has the reason only once, after both names. */
static void add_file(struct file_list *list, const char *name, const char *reason)
{
    const size_t size = sizeof list->text, used = strlen(list->text);
    const bool is_same = used > 0 && strcmp(list->text + list->reason_at, reason) == 0;
    const size_t end = is_same ? list->reason_at : used;
    const char *before = is_same ? ", " : "; ";
    snprintf(list->text + end, size - end, "%s%s", used > 0 ? before : "", name);
    list->reason_at = strlen(list->text);
    snprintf(list->text + list->reason_at, size - list->reason_at, "%s", reason);
}

/* Notes that a file is incomplete. Cuts the file after its last whole row, because half a row would
 * make the file unreadable. Closes the file, because later rows would follow a gap. `number` is the
 * errno of the write, or 0 if unknown. `machine` is the machine whose rows are missing, or NULL. */
static void mark_short_of(struct run_files *files, int file, int number, const char *machine)
{
    char name[NAME_MAX], reason[REASON_BYTES];
    const int known = number == 0 ? EIO : number;
    snprintf(reason, sizeof reason, ": %s%.60s%s%.60s", machine == NULL ? "" : "rows of machine ",
             machine == NULL ? "" : machine, machine == NULL ? "" : " are missing: ",
             number == 0 ? "write failed" : strerror(number));
    pthread_mutex_lock(&files->lock);
    files->failure = files->failure == 0 ? known : files->failure;
    add_file(&files->shortage, name_of(files, file, name), reason);
    pthread_mutex_unlock(&files->lock);
    FILE *stream = files->streams[file];
    if (stream == NULL) {
        return;
    }
    __fpurge(stream);
    /* a failure here needs no message, because files->shortage already names the file */
    if (ftruncate(fileno(stream), files->whole_bytes[file]) != 0) {
        clearerr(stream);
    }
    fclose(stream);
    files->streams[file] = NULL;
}

static void mark_incomplete(struct run_files *files, int file, int number)
{
    mark_short_of(files, file, number, NULL);
}

/* Flushes a stream to its file. If this fails, marks the file as incomplete. */
static void flush_file(struct run_files *files, int file)
{
    FILE *stream = files->streams[file];
    const bool has_failed = ferror(stream) != 0;
    const int number = has_failed ? errno : 0;
    errno = 0;
    if (fflush(stream) != 0 || has_failed) {
        mark_incomplete(files, file, errno != 0 ? errno : number);
    } else if (ftello(stream) > 0) {
        files->whole_bytes[file] = ftello(stream);
    }
}

/* Returns whether a file is written under a temporary name and then renamed. Such a file is open
 * only during the write. */
static bool is_replaced_whole(int file)
{
    return file >= FILE_RUN && file <= FILE_METRICS;
}

/* Returns whether a run or search with this plan has a file. `operations` are the operations of the
 * plan. A run has a histogram for each operation that it uses. */
static bool is_wanted(const struct plan *plan, const struct operation_list *operations, int file)
{
    const size_t operation = (size_t)(file > FILE_HGRM ? file - FILE_HGRM : 0);
    char histogram[TRACE_NAME_BYTES];
    if (file >= FILE_IO_HGRM) {
        return trace_histogram(NULL, plan->io_trace, (size_t)(file - FILE_IO_HGRM), histogram) !=
               NULL;
    }
    if (file >= FILE_HGRM) {
        return !plan->is_search && operation < operations->count &&
               operation_is_used(operations, operation);
    }
    const bool has_script = plan->script != NULL, is_run = !plan->is_search;
    const bool wanted[] = {
#define X(id, name, table, type, condition, kind) [CSV_##id] = (condition),
        CSV_TABLE
#undef X
            [FILE_IO] = plan->io_trace != IO_TRACE_OFF,
        [FILE_OPERATIONS] = is_run && has_script,
        [FILE_METRICS] = is_run && has_script && plan->script->metric_count > 0,
        [FILE_SUMMARY] = true,
        [FILE_SEARCH] = plan->is_search,
        [FILE_RUN] = is_run,
    };
    return wanted[file];
}

unsigned run_files_count_open(const struct plan *plan)
{
    const struct operation_list operations = plan_operations(plan);
    unsigned count = 2; /* the folder and the reserved space */
    for (int file = 0; file < FILES; file++) {
        const bool is_open = !is_replaced_whole(file) && file != CSV_EVENTS;
        count += is_open && is_wanted(plan, &operations, file) ? 1 : 0;
    }
    count += plan->junit != NULL ? 1 : 0;
    return count + (plan->ycsb != NULL ? 1 : 0);
}

/* Returns an upper estimate of the bytes that the files of the outcome need. */
static off_t outcome_room(const struct plan *plan)
{
    enum {
        BASE_BYTES = 512 << 10,
        /* a histogram in run.json: 1,000 buckets with a value, each with up to 64 bytes */
        HISTOGRAM_BYTES = 64000,
        ENTRY_BYTES = 4 << 10 /* a rank, host, stage or metric in run.json */
    };
    const struct operation_list operations = plan_operations(plan);
    const size_t ranks = plan->is_follower ? 0 : plan->facts->ranks;
    const size_t metrics = plan->script == NULL ? 0 : plan->script->metric_count;
    const size_t entries = ranks + plan->host_count + plan_stages(plan)->count + metrics;
    off_t bytes = BASE_BYTES + (off_t)entries * ENTRY_BYTES;
    for (size_t i = 0; i < operations.count; i++) {
        bytes += operation_is_used(&operations, i) ? HISTOGRAM_BYTES : 0;
    }
    for (int file = FILE_IO_HGRM; file < FILES; file++) {
        bytes += is_wanted(plan, &operations, file) ? HISTOGRAM_BYTES : 0;
    }
    return bytes;
}

/* Returns an upper estimate of the bytes that the files written by run_files_finish need. */
static off_t finish_room(const struct plan *plan)
{
    enum {
        SESSION_BYTES = 256,      /* a row of sessions.csv */
        HISTOGRAM_BYTES = 8 << 10 /* a .hgrm file: its 100 rows, in blocks of the file system */
    };
    const struct operation_list operations = plan_operations(plan);
    const struct plan_share share = plan_share(plan);
    const size_t sessions =
        plan->is_follower ? (size_t)share.count + share.idle : plan_sessions_all(plan);
    off_t bytes = plan->is_search ? 0 : (off_t)sessions * SESSION_BYTES;
    for (int file = FILE_HGRM; file < FILES; file++) {
        bytes += is_wanted(plan, &operations, file) ? HISTOGRAM_BYTES : 0;
    }
    return bytes;
}

/* The outcome counts twice, because the disk has both the old and the new content while a file is
 * replaced. */
size_t run_files_room(const struct plan *plan)
{
    return (size_t)(finish_room(plan) + 2 * outcome_room(plan));
}

/* Creates the files of the plan. Returns 0 or errno. */
static int open_files(struct run_files *files, const struct plan *plan)
{
    for (int file = 0; file < FILES; file++) {
        if (!is_wanted(plan, &files->operations, file)) {
            continue;
        }
        char name[NAME_MAX];
        const int fd = openat(files->folder, name_of(files, file, name),
                              O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0) {
            return errno;
        }
        files->is_made[file] = true;
        files->streams[file] = is_replaced_whole(file) ? NULL : fdopen(fd, "a");
        if (files->streams[file] == NULL) {
            const int number = is_replaced_whole(file) ? 0 : errno;
            close(fd);
            if (number != 0) {
                return number;
            }
        }
    }
    return 0;
}

/* Returns whether the folder was removed. */
static bool is_gone(const struct run_files *files)
{
    struct stat own;
    return fstat(files->folder, &own) == 0 && own.st_nlink == 0;
}

/* A file whose content is being replaced. */
struct joining {
    FILE *stream;      /* the file itself */
    off_t whole_bytes; /* end of the last whole row in the file */
    struct buffer content;
};

/* From this call on, run_files_add collects the file's rows in memory. */
static void begin_joining(struct run_files *files, enum csv_file file, struct joining *joining)
{
    *joining =
        (struct joining){.stream = files->streams[file], .whole_bytes = files->whole_bytes[file]};
    if (joining->stream != NULL) {
        files->streams[file] = buffer_open(&joining->content);
        run_files_add(files, file, NULL);
    }
}

/* Replaces the content of the file by the rows in memory. The stream to memory is NULL if
 * begin_joining ran out of memory. */
static void end_joining(struct run_files *files, enum csv_file file, struct joining *joining)
{
    FILE *const memory = files->streams[file];
    int number = memory == NULL || fclose(memory) != 0 ? ENOMEM : 0;
    files->streams[file] = joining->stream;
    files->whole_bytes[file] = joining->whole_bytes;
    if (joining->stream != NULL && number == 0 && !is_gone(files)) {
        number = file_replace(files->folder, file_names[file], &joining->content, false);
    }
    if (joining->stream != NULL && number != 0) {
        mark_incomplete(files, (int)file, number);
    } else if (joining->stream != NULL) {
        fclose(joining->stream); /* the replaced file, which gets no more rows */
        files->streams[file] = NULL;
    }
    buffer_fini(&joining->content);
}

void run_files_join(struct run_files *files, const struct merge *merge, const struct result *result)
{
    struct joining joined[CSV_FILES];
    for (int file = 0; file < CSV_FILES; file++) {
        if ((csv_kinds[file] & CSV_JOINED) != 0) {
            begin_joining(files, (enum csv_file)file, &joined[file]);
        }
    }
    for (size_t i = 0; i < merge_interval_count(merge); i++) {
        struct interval interval;
        merge_interval(merge, i, &interval);
        run_files_add(files, CSV_INTERVALS, &interval);
        for (size_t host = 0; host < interval.hosts; host++) {
            run_files_add(files, CSV_HOSTS_INTERVALS,
                          &(struct host_interval){&interval, result->hosts[host].name, host});
        }
    }
    for (size_t i = 0; i < result->stage_count; i++) {
        run_files_add(files, CSV_STAGES, &result->stages[i]);
    }
    for (size_t i = 0; i < merge_sample_count(merge); i++) {
        run_files_add(files, CSV_RANKS_SAMPLES, merge_sample(merge, i));
    }
    for (size_t i = 0; i < merge_joined_count(merge); i++) {
        run_files_add(files, CSV_SAMPLES, merge_joined(merge, i));
    }
    for (size_t i = 0; i < result->rank_count; i++) {
        const struct rank_row rank = {.number = (unsigned)i, .rank = &result->ranks[i]};
        run_files_add(files, CSV_RANKS, &rank);
    }
    for (int file = 0; file < CSV_FILES; file++) {
        if ((csv_kinds[file] & CSV_JOINED) != 0) {
            end_joining(files, (enum csv_file)file, &joined[file]);
        }
    }
}

/* Reserves disk space. Writes bytes and waits for the disk, because some file systems allow a
 * reservation without checking the free space. Returns 0 or errno. */
static int reserve_room(struct run_files *files, const struct plan *plan)
{
    static const char block[4096] = {'r', 'o', 'o', 'm'};
    static const char name[] = ".room";
    const int fd = openat(files->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return errno;
    }
    files->reserved = fd;
    files->reserved_bytes = (off_t)run_files_room(plan);
    files->outcome_bytes = outcome_room(plan);
    unlinkat(files->folder, name, 0);
    int number = 0;
    for (off_t done = 0; done < files->reserved_bytes && number == 0;) {
        const ssize_t written = write(fd, block, sizeof block);
        if (written > 0) {
            done += written;
        } else if (written == 0 || errno != EINTR) {
            number = written == 0 ? EIO : errno;
        }
    }
    if (number == 0 && fsync(fd) != 0 && errno != EINVAL && errno != EINTR) {
        number = errno;
    }
    return number;
}

static void close_descriptor(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

/* Gives the reserved space back to the disk, except `kept` bytes. */
static void give_back(struct run_files *files, off_t kept)
{
    if (kept >= files->reserved_bytes) {
        return;
    }
    files->reserved_bytes = kept;
    if (ftruncate(files->reserved, kept) != 0) {
        close_descriptor(&files->reserved);
    }
}

void run_files_add(struct run_files *files, enum csv_file file, const void *record)
{
    if (files->streams[file] != NULL) {
        const locale_t before = units_use_point();
        csv_write(files->streams[file], file, &files->operations, record);
        flush_file(files, (int)file);
        uselocale(before);
    }
}

size_t run_files_add_logged(struct run_files *files, const struct transaction_log_row *rows,
                            size_t count)
{
    FILE *stream = files->streams[CSV_TRANSACTIONS];
    if (stream == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        csv_write_logged(stream, &rows[i]);
    }
    flush_file(files, CSV_TRANSACTIONS);
    return files->streams[CSV_TRANSACTIONS] == NULL ? 0 : count;
}

void run_files_note_missing(struct run_files *files, uint64_t rows)
{
    const bool has_failed = files->streams[CSV_TRANSACTIONS] == NULL;
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, ": %s %s missing%s", UNITS_COUNT(rows),
             units_plural(rows, "row is", "rows are"),
             has_failed ? "" : " (writing was too slow: log a smaller share of the transactions)");
    pthread_mutex_lock(&files->lock);
    add_file(&files->shortage, file_names[CSV_TRANSACTIONS], reason);
    pthread_mutex_unlock(&files->lock);
}

/* Writes events.csv, and the headers of the CSV_GROWS files. Returns 0 or errno. */
static int begin_files(struct run_files *files, const struct plan *plan)
{
    for (int file = 0; file < CSV_FILES; file++) {
        if ((csv_kinds[file] & CSV_GROWS) != 0) {
            run_files_add(files, (enum csv_file)file, NULL);
        }
    }
    FILE *events = files->streams[CSV_EVENTS];
    if (events != NULL && files->failure == 0) {
        csv_write(events, CSV_EVENTS, &files->operations, NULL);
        for (size_t i = 0; i < plan->mark_count; i++) {
            csv_write(events, CSV_EVENTS, &files->operations, &plan->marks[i]);
        }
        flush_file(files, CSV_EVENTS);
    }
    if (files->streams[CSV_EVENTS] != NULL && files->failure == 0) {
        files->streams[CSV_EVENTS] = NULL; /* from here on, the user and load/control.c add lines */
        files->failure = fclose(events) != 0 ? errno : 0;
    }
    return files->failure;
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
    made->reserved = -1;
    made->operations = plan_operations(plan);
    made->io_trace = plan->io_trace;
    pthread_mutex_init(&made->lock, NULL);
    snprintf(made->path, sizeof made->path, "%s", path);
    enum exit_code code = report_make_folder(path, "", error);
    made->is_own = code == EXIT_CODE_OK;
    if (made->is_own) {
        made->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int number = made->folder < 0 ? errno : open_files(made, plan);
        number = number == 0 ? reserve_room(made, plan) : number;
        number = number == 0 ? begin_files(made, plan) : number;
        code = number == 0 ? EXIT_CODE_OK : fail(error, number, "write to", path);
    }
    if (code != EXIT_CODE_OK) {
        run_files_destroy(made, true);
        return code;
    }
    *files = made;
    return EXIT_CODE_OK;
}

/* Checks whether the folder or an open file was removed during the run, and notes the loss. Does
 * not check events.csv, which is closed, because the user may remove this file. */
static void note_removed(struct run_files *files)
{
    struct stat named, own;
    if (stat(files->path, &named) != 0 || fstat(files->folder, &own) != 0 ||
        named.st_dev != own.st_dev || named.st_ino != own.st_ino) {
        add_file(&files->shortage, "the folder was removed or renamed during the run", "");
        return;
    }
    for (int file = 0; file < FILES; file++) {
        FILE *stream = files->streams[file];
        if (stream != NULL && fstat(fileno(stream), &own) == 0 && own.st_nlink == 0) {
            mark_incomplete(files, file, ENOENT);
        }
    }
}

static void close_files(struct run_files *files)
{
    for (int file = 0; file < FILES; file++) {
        FILE *stream = files->streams[file];
        files->streams[file] = NULL;
        if (stream != NULL && fclose(stream) != 0) {
            mark_incomplete(files, file, errno);
        }
    }
}

void run_files_finish(struct run_files *files, const struct result *result)
{
    const locale_t before = units_use_point();
    const struct report_source source = {.result = result};
    give_back(files, 2 * files->outcome_bytes);
    for (int file = 0; file < CSV_FILES; file++) {
        if (files->streams[file] != NULL && csv_tables[file]->record != NULL) {
            csv_write_table(files->streams[file], csv_tables[file], &files->operations, &source);
            flush_file(files, file);
        }
    }
    for (int i = 0; i < (int)files->operations.count; i++) {
        FILE *stream = files->streams[FILE_HGRM + i];
        if (stream != NULL) {
            hgrm_write(stream, recorder_histogram(&result->totals, (size_t)i));
            flush_file(files, FILE_HGRM + i);
        }
    }
    const bool is_untraced = result->trace == NULL || result->trace->level == IO_TRACE_OFF;
    for (int file = FILE_IO; file < FILES && is_untraced; file++) {
        char name[NAME_MAX];
        if ((file == FILE_IO || file >= FILE_IO_HGRM) && files->streams[file] != NULL) {
            unlinkat(files->folder, name_of(files, file, name), 0);
            fclose(files->streams[file]);
            files->streams[file] = NULL;
        }
    }
    for (int i = 0; i < TRACE_HISTOGRAMS && result->trace != NULL; i++) {
        FILE *stream = files->streams[FILE_IO_HGRM + i];
        char name[TRACE_NAME_BYTES];
        if (stream != NULL) {
            hgrm_write(stream, trace_histogram(result->trace, files->io_trace, (size_t)i, name));
            flush_file(files, FILE_IO_HGRM + i);
        }
    }
    note_removed(files);
    close_files(files);
    uselocale(before);
}

int run_files_descriptor(const struct run_files *files, enum run_file file)
{
    return fileno(files->streams[file]);
}

void run_files_mark_short(struct run_files *files, enum run_file file, int number,
                          const char *machine)
{
    if (files->streams[file] != NULL) {
        files->whole_bytes[file] = lseek(fileno(files->streams[file]), 0, SEEK_END);
    }
    mark_short_of(files, (int)file, number, machine);
}

int run_files_read_io(const struct run_files *files)
{
    const int fd = openat(files->folder, file_names[FILE_IO], O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void run_files_add_io(struct run_files *files, const char *lines, size_t size, bool is_first)
{
    FILE *stream = files->streams[FILE_IO];
    const char *end = is_first ? memchr(lines, '\n', size) : NULL;
    struct stat about;
    if (stream == NULL) {
        return;
    }
    files->whole_bytes[FILE_IO] = fstat(fileno(stream), &about) == 0 ? about.st_size : 0;
    const bool has_header = files->whole_bytes[FILE_IO] > 0;
    const size_t skipped = has_header && end != NULL ? (size_t)(end + 1 - lines) : 0;
    fwrite(lines + skipped, 1, size - skipped, stream);
    flush_file(files, FILE_IO);
}

/* Replaces one of the files of the outcome. Returns 0 or errno. */
static int replace(struct run_files *files, int file, const struct run_outcome *outcome)
{
    struct buffer content = {0};
    FILE *stream = buffer_open(&content);
    bool is_written = stream != NULL;
    if (is_written && file >= FILE_SUMMARY) {
        struct figure_set set;
        figures_of_result(&set, outcome->plan, outcome->result);
        if (file == FILE_SUMMARY) {
            csv_write_summary(stream, &set);
        } else {
            csv_write_table(stream, file == FILE_METRICS ? &report_metrics : &report_statements,
                            &set.operations,
                            &(struct report_source){outcome->plan, outcome->result, &set});
        }
    } else if (is_written) {
        is_written = report_write_json(stream, outcome->plan, outcome->table, outcome->result,
                                       outcome->search);
    }
    is_written = stream != NULL && fclose(stream) == 0 && is_written;
    const int number =
        is_written ? file_replace(files->folder, file_names[file], &content, false) : ENOMEM;
    buffer_fini(&content);
    return number;
}

bool run_files_write_outcome(struct run_files *files, const struct run_outcome *outcome)
{
    const locale_t before = units_use_point();
    bool is_written = true;
    /* keeps the second half of the space for the next call, so that other files cannot use it */
    give_back(files, files->reserved_bytes > files->outcome_bytes ? files->outcome_bytes : 0);
    files->outdated.text[0] = '\0';
    for (int file = FILE_RUN; file <= FILE_METRICS; file++) {
        const int number = files->is_made[file] ? replace(files, file, outcome) : 0;
        is_written = is_written && number == 0;
        if (number != 0 && !is_gone(files)) { /* files->shortage names a removed folder */
            char reason[REASON_BYTES];
            snprintf(reason, sizeof reason, ": %s", strerror(number));
            add_file(&files->outdated, file_names[file], reason);
        }
    }
    uselocale(before);
    return is_written;
}

const char *run_files_shortage(struct run_files *files)
{
    const char *outdated = files->outdated.text, *shortage = files->shortage.text;
    const bool has_both = shortage[0] != '\0' && outdated[0] != '\0';
    snprintf(files->said, sizeof files->said, "%s%s%s", outdated, has_both ? "; " : "", shortage);
    return files->said;
}

void run_files_destroy(struct run_files *files, bool is_failed)
{
    if (files == NULL) {
        return;
    }
    close_files(files);
    for (int file = 0; file < FILES && is_failed; file++) {
        char name[NAME_MAX];
        if (files->is_made[file]) {
            unlinkat(files->folder, name_of(files, file, name), 0);
        }
    }
    if (is_failed && files->is_own) {
        rmdir(files->path);
    }
    close_descriptor(&files->reserved);
    close_descriptor(&files->folder);
    pthread_mutex_destroy(&files->lock);
    free(files);
}

enum exit_code report_open_file(FILE **stream, const char *option, const char *path, bool may_wait,
                                struct error *error)
{
    if (path == NULL || *stream != NULL) {
        return EXIT_CODE_OK;
    }
    /* O_NONBLOCK: a pipe without a reader must not block, now or at the end. O_NOFOLLOW: a link may
     * lead to a file of another user. */
    struct stat about;
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0666);
    int number = fd < 0 ? errno : 0;
    if (may_wait && number == ENOENT) {
        return EXIT_CODE_OK;
    }
    const bool is_pipe =
        fd < 0 ? number == ENXIO : fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
    *stream = fd < 0 || is_pipe ? NULL : fdopen(fd, "w");
    if (*stream != NULL) {
        return EXIT_CODE_OK;
    }
    number = fd < 0 ? number : errno;
    const char *why = number == ELOOP ? "it is a link: name the file itself" : strerror(number);
    error_set(error, ERROR_USAGE, is_pipe ? 0 : number, NULL, "--%s '%.120s' cannot be written: %s",
              option, path, is_pipe ? "it is a pipe: give the name of a file" : why);
    if (fd >= 0) {
        close(fd);
    }
    return EXIT_CODE_USAGE;
}

int report_close_file(FILE **stream, bool is_written)
{
    const int number = is_written ? 0 : errno;
    const bool is_closed = fclose(*stream) == 0;
    *stream = NULL;
    return number == 0 && !is_closed ? errno : number;
}
