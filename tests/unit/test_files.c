/* The folder of a run: its files, errors before the run, and a full disk. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/facts.h"
#include "report/files.h"

enum {
    TEXT_BYTES = 4 << 20
};

static const struct adapter adapter = {.name = "null"};
static const struct interval interval = {.end_ns = 1000000000, .sessions_alive = 3};
static const struct sample sample = {.end_ns = 3000000000, .sessions_alive = 3};
static const char many_operations[] =
    "dataset('t', 3, {{'i', 'int32', row(), key = true}})\n"
    "local all = {}\n"
    "for i = 1, 39 do\n"
    "    all[i] = statement('a_name_that_is_rather_long_' .. i, 'SELECT 1')\n"
    "end\n"
    "transaction('move', function() all[1]:run() end)\n";
static struct result result; /* too large for the stack */
static struct table table;
static struct facts facts;
static struct plan plan;
static char base[512];
static char text[TEXT_BYTES];

static const char *path_of(const char *name)
{
    static char path[PLAN_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", plan.out_folder, name);
    return path;
}

static const char *content_of(const char *name)
{
    FILE *stream = fopen(path_of(name), "r");
    assert_non_null(stream);
    const size_t length = fread(text, 1, sizeof text - 1, stream);
    text[length] = '\0';
    fclose(stream);
    return text;
}

static size_t count_lines(const char *name)
{
    size_t lines = 0;
    for (const char *byte = content_of(name); *byte != '\0'; byte++) {
        lines += *byte == '\n';
    }
    return lines;
}

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count - 2; /* . and .. */
}

/* Returns the disk space of the files in a folder, in blocks of 512 bytes. */
static size_t blocks_of_folder(const char *path)
{
    size_t blocks = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat about;
        assert_int_equal(fstatat(dirfd(folder), entry->d_name, &about, 0), 0);
        blocks += S_ISREG(about.st_mode) ? (size_t)about.st_blocks : 0;
    }
    closedir(folder);
    return blocks;
}

static int set_up(void **state)
{
    (void)state;
    const char *root = getenv("TMPDIR");
    snprintf(base, sizeof base, "%s/append-files-XXXXXX", root == NULL ? "/tmp" : root);
    if (mkdtemp(base) == NULL) {
        return -1;
    }
    memset(&plan, 0, sizeof plan);
    memset(&result, 0, sizeof result);
    memset(&table, 0, sizeof table);
    memset(&facts, 0, sizeof facts);
    plan.adapter = &adapter;
    plan.table_name = "t";
    plan.sessions = 3;
    plan.records = 30;
    plan.facts = &facts;
    snprintf(facts.target, sizeof facts.target, "null:");
    snprintf(plan.out_folder, sizeof plan.out_folder, "%s/runs/one", base);
    snprintf(result.verdict_reason, sizeof result.verdict_reason, "said \"no\", twice");
    result.resources.memory_source = MEMORY_UNKNOWN;
    signal(SIGXFSZ, SIG_IGN);
    return 0;
}

static bool write_outcome(struct run_files *files)
{
    const struct run_outcome outcome = {.plan = &plan, .table = &table, .result = &result};
    return run_files_write_outcome(files, &outcome);
}

static void finish(struct run_files *files)
{
    run_files_finish(files, &result);
    write_outcome(files);
}

static int tear_down(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    return system(command);
}

static struct run_files *create(void)
{
    struct run_files *files = NULL;
    struct error error;
    error_clear(&error);
    if (run_files_create(&files, &plan, &error) != EXIT_CODE_OK) {
        fail_msg("%s", error.text);
    }
    assert_non_null(files);
    return files;
}

/* Loads a script from its source. The caller destroys the script. */
static struct script *load(const char *source, const char *const *sets, size_t set_count)
{
    static char path[sizeof base + 16]; /* the script keeps a pointer to the path */
    struct error error = {0};
    snprintf(path, sizeof path, "%s/x.lua", base);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(source, stream);
    assert_int_equal(fclose(stream), 0);
    struct script *script = script_load(path, sets, set_count, &error);
    if (script == NULL) {
        fail_msg("%s", error.text);
    }
    return script;
}

/* Returns the size of the unnamed file that reserves disk space. */
static size_t reserved_bytes(void)
{
    for (int fd = 3; fd < 256; fd++) {
        char link[64], path[PLAN_PATH_BYTES + 64];
        struct stat about;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(link, path, sizeof path - 1);
        path[length < 0 ? 0 : length] = '\0';
        if (strstr(path, "/.room") != NULL && fstat(fd, &about) == 0) {
            return (size_t)about.st_size;
        }
    }
    fail_msg("no space is reserved");
    return 0;
}

/* Replaces an open file by a device that is always full. */
static void fill(const char *name)
{
    char wanted[PLAN_PATH_BYTES + 64];
    snprintf(wanted, sizeof wanted, "%s", path_of(name));
    for (int fd = 3; fd < 256; fd++) {
        char link[64];
        char path[PLAN_PATH_BYTES + 64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(link, path, sizeof path - 1);
        if (length < 0) {
            continue;
        }
        path[length] = '\0';
        if (strcmp(path, wanted) == 0) {
            const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
            assert_true(full >= 0);
            assert_int_equal(dup2(full, fd), fd);
            close(full);
            return;
        }
    }
    fail_msg("%s is not open", wanted);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST_BETWEEN(test_whole_run, set_up, tear_down)
{
    plan.rate.first = 10;
    plan.drop_policy = DROP_RECONNECT;
    static struct session_summary sessions[] = {{.outcome = SESSION_FINISHED,
                                                 .rows = {.planned = 70, .acknowledged = 70},
                                                 .batches = 7,
                                                 .drops = 2,
                                                 .reconnects = 1,
                                                 .churns = 3,
                                                 .first_ack_ns = 1500000,
                                                 .last_ack_ns = 2000000000,
                                                 .worked_ns = 2000000000,
                                                 .longest_gap_ns = 12345678},
                                                {.index = 1,
                                                 .is_idle = true,
                                                 .outcome = SESSION_DROPPED,
                                                 .first_ack_ns = -1,
                                                 .last_ack_ns = -1,
                                                 .is_verified = true,
                                                 .lost = 4},
                                                {.index = 2,
                                                 .is_of_lost_rank = true,
                                                 .outcome = SESSION_DROPPED,
                                                 .rows = {.planned = 30},
                                                 .first_ack_ns = -1,
                                                 .last_ack_ns = -1,
                                                 .is_verified = true},
                                                {.index = 3,
                                                 .is_of_lost_rank = true,
                                                 .outcome = SESSION_NOT_STARTED,
                                                 .first_ack_ns = -1,
                                                 .last_ack_ns = -1}};
    result.session_list = sessions;
    result.session_count = COUNT_OF(sessions);
    struct run_files *files = create();
    assert_int_equal(count_entries(plan.out_folder), 12);
    run_files_add(files, CSV_INTERVALS, &interval);
    assert_int_equal(count_lines("intervals.csv"), 2); /* rows are written to the disk at once */
    run_files_add(files, CSV_INTERVALS, &interval);
    run_files_add(files, CSV_SAMPLES, &sample);
    assert_int_equal(count_lines("samples.csv"), 2);
    finish(files);
    assert_string_equal(run_files_shortage(files), "");
    run_files_destroy(files, false);
    assert_int_equal(count_lines("intervals.csv"), 3);
    assert_int_equal(count_lines("summary.csv"), 2);
    assert_non_null(strstr(content_of("summary.csv"), "\"said \"\"no\"\", twice\""));
    assert_string_equal(content_of("events.csv"), "time,text\r\n");
    assert_memory_equal(content_of("summary.csv"), "adapter,target,sessions,records,max_cpu", 39);
    assert_string_equal(
        content_of("sessions.csv"),
        "session,kind,outcome,rows_planned,rows_acknowledged,rows_rejected,rows_in_doubt,"
        "rows_not_sent,batches,connections_lost,reconnects,churns,first_acknowledged_s,"
        "last_acknowledged_s,worked_s,rows_per_s,longest_gap_ms,verified_present,verified_lost,"
        "verified_unacknowledged_present,verified_duplicates\r\n"
        "0,active,finished,70,70,0,0,0,7,2,1,3,0.001500,2.000000,2.000000,35.0,12.345678,,,,\r\n"
        "1,idle,dropped,0,0,0,0,0,0,0,0,0,,,,,,0,4,0,0\r\n"
        "2,active,dropped,30,,,,,,,,,,,,,,,,,\r\n"
        "3,active,not_started,,,,,,,,,,,,,,,,,,\r\n");
    static const char *const histograms[] = {"connect.hgrm", "append.hgrm",  "response.hgrm",
                                             "read.hgrm",    "recover.hgrm", "reconnect.hgrm"};
    for (size_t i = 0; i < sizeof histograms / sizeof histograms[0]; i++) {
        assert_non_null(strstr(content_of(histograms[i]), "1/(1-Percentile)"));
    }
    json_t *json = json_loads(content_of("run.json"), 0, NULL);
    assert_non_null(json);
    json_decref(json);
}

TEST_BETWEEN(test_histograms_of_used_operations_only, set_up, tear_down)
{
    struct run_files *files = create();
    finish(files);
    run_files_destroy(files, false);
    assert_int_equal(count_entries(plan.out_folder), 9);
    assert_false(exists(path_of("response.hgrm")));
    assert_false(exists(path_of("recover.hgrm")));
    assert_false(exists(path_of("reconnect.hgrm")));
}

/* The files of a run with a script. A statement of the script has the same name as an operation of
 * append. */
TEST_BETWEEN(test_script, set_up, tear_down)
{
    static const char source[] =
        "dataset('t', 3, {{'i', 'int32', row(), key = true}})\n"
        "local a, b = statement('x', 'SELECT 1'), statement('append', 'DELETE FROM t')\n"
        "local n = param('n', 5)\n"
        "transaction('move', function() a:run(); b:run() end)\n";
    const char *const sets[] = {"n=7"};
    struct verification verification = {
        .state = VERIFICATION_DONE, .rows_before = 3, .added = 2, .rows_after = 4, .lost = 1};
    plan.script = load(source, sets, 1);
    result.dataset_count = 1;
    result.datasets = &verification;
    struct run_files *files = create();
    finish(files);
    run_files_destroy(files, false);
    static const char *const names[] = {"transaction.move.hgrm", "statement.x.hgrm",
                                        "statement.append.hgrm", "append.hgrm", "operations.csv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(exists(path_of(names[i])));
    }
    json_t *json = json_loads(content_of("run.json"), 0, NULL);
    const char *hash = NULL, *value = NULL, *dataset = NULL, *kind = NULL;
    json_int_t lost = 0;
    assert_int_equal(json_unpack(json,
                                 "{s:{s:s, s:{s:s}}, s:[{s:s, s:I}], s:[{s:s}, {}, {}], "
                                 "s:{s:{}, s:{}, s:{}}}",
                                 "workload", "hash", &hash, "parameters", "n", &value, "datasets",
                                 "name", &dataset, "lost", &lost, "operations", "kind", &kind,
                                 "histograms", "statement.x", "statement.append",
                                 "transaction.move"),
                     0);
    assert_string_equal(hash, plan.script->hash);
    assert_string_equal(value, "7");
    assert_string_equal(dataset, "t");
    assert_int_equal(lost, 1);
    assert_string_equal(kind, "read");
    json_decref(json);
    script_destroy(plan.script);
}

TEST_BETWEEN(test_existing_folder, set_up, tear_down)
{
    run_files_destroy(create(), false);
    struct run_files *files = NULL;
    struct error error;
    error_clear(&error);
    assert_int_equal(run_files_create(&files, &plan, &error), EXIT_CODE_USAGE);
    assert_null(files);
    char expected[ERROR_TEXT_BYTES + PLAN_PATH_BYTES + 64];
    snprintf(expected, sizeof expected,
             "output folder '%s' exists already: name another with --out", plan.out_folder);
    assert_string_equal(error.text, expected);
    assert_int_equal(count_entries(plan.out_folder), 9); /* existing files are left alone */
}

/* An existing empty folder is also refused: it is the user's, and must not be removed on
 * failure. */
TEST_BETWEEN(test_existing_empty_folder, set_up, tear_down)
{
    snprintf(plan.out_folder, sizeof plan.out_folder, "%s/empty", base);
    assert_int_equal(mkdir(plan.out_folder, 0700), 0);
    struct run_files *files = NULL;
    struct error error;
    error_clear(&error);
    assert_int_equal(run_files_create(&files, &plan, &error), EXIT_CODE_USAGE);
    assert_true(exists(plan.out_folder));
}

TEST_BETWEEN(test_trailing_slashes, set_up, tear_down)
{
    snprintf(plan.out_folder, sizeof plan.out_folder, "%s//a///b//", base);
    run_files_destroy(create(), false);
    assert_int_equal(count_entries(plan.out_folder), 9);
}

TEST_BETWEEN(test_unmakeable_folder, set_up, tear_down)
{
    char file[600];
    snprintf(file, sizeof file, "%s/file", base);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    snprintf(plan.out_folder, sizeof plan.out_folder, "%s/file/run", base);
    struct run_files *files = NULL;
    struct error error;
    error_clear(&error);
    assert_int_equal(run_files_create(&files, &plan, &error), EXIT_CODE_USAGE);
    assert_null(files);
    assert_non_null(strstr(error.text, "Not a directory"));
    assert_true(exists(file));
}

/* The disk has less space than the files may need: the run is refused before it begins, and no
 * files remain. */
TEST_BETWEEN(test_no_room_at_start, set_up, tear_down)
{
    struct run_files *files = NULL;
    struct error error;
    error_clear(&error);
    limit_file_size(65536);
    const enum exit_code code = run_files_create(&files, &plan, &error);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(code, EXIT_CODE_CLIENT_LIMIT);
    assert_null(files);
    assert_non_null(strstr(error.text, "File too large"));
    assert_false(exists(plan.out_folder));
}

/* A file that does not fit on the disk is named, with the reason. All other files are complete. */
TEST_BETWEEN(test_disk_full_later, set_up, tear_down)
{
    struct run_files *files = create();
    fill("intervals.csv");
    run_files_add(files, CSV_INTERVALS, &interval);
    run_files_add(files, CSV_INTERVALS, &interval);
    run_files_add(files, CSV_SAMPLES, &sample);
    assert_string_equal(run_files_shortage(files), "intervals.csv: No space left on device");
    fill("append.hgrm");
    run_files_finish(files, &result);
    limit_file_size(100);
    write_outcome(files);
    limit_file_size(RLIM_INFINITY);
    assert_string_equal(run_files_shortage(files),
                        "run.json, summary.csv: File too large; "
                        "intervals.csv, append.hgrm: No space left on device");
    run_files_destroy(files, false);
    assert_int_equal(count_lines("samples.csv"), 2);
    assert_non_null(strstr(content_of("read.hgrm"), "SubBuckets"));
}

/* The list of incomplete files has every name, even when no file of a large script fits. */
TEST_BETWEEN(test_names_of_all_files, set_up, tear_down)
{
    plan.script = load(many_operations, NULL, 0);
    struct run_files *files = create();
    limit_file_size(10);
    run_files_finish(files, &result);
    write_outcome(files);
    limit_file_size(RLIM_INFINITY);
    const char *shortage = run_files_shortage(files);
    assert_memory_equal(shortage, "run.json, summary.csv, operations.csv: File too large; ", 55);
    assert_non_null(strstr(shortage, "sessions.csv, "));
    for (int i = 1; i <= 39; i++) {
        char name[80];
        snprintf(name, sizeof name, ", statement.a_name_that_is_rather_long_%d.hgrm", i);
        assert_non_null(strstr(shortage, name));
    }
    run_files_destroy(files, false);
    script_destroy(plan.script);
}

/* The space that is reserved for the outcome is enough to write it twice. The other files and the
 * page of the report cannot use this space. */
TEST_BETWEEN(test_reserved_space_of_the_outcome, set_up, tear_down)
{
    plan.sessions = 14000;
    struct run_files *files = create();
    const size_t room = reserved_bytes();
    assert_in_range(room, run_files_room(&plan), run_files_room(&plan) + 4095);
    run_files_finish(files, &result);
    const size_t kept = reserved_bytes();
    assert_in_range(kept, 1 << 20, room - (size_t)14000 * 256);
    write_outcome(files);
    assert_int_equal(reserved_bytes(), kept / 2);
    write_outcome(files);
    assert_int_equal(reserved_bytes(), 0);
    run_files_destroy(files, false);
}

/* When mpirun ends the run, the outcome is written before the other files, and again after them. */
TEST_BETWEEN(test_reserved_space_of_an_early_outcome, set_up, tear_down)
{
    struct run_files *files = create();
    write_outcome(files);
    const size_t kept = reserved_bytes();
    assert_in_range(kept, 1 << 19, run_files_room(&plan) / 2);
    run_files_finish(files, &result);
    assert_int_equal(reserved_bytes(), kept);
    run_files_destroy(files, false);
}

/* The files of rank 0 contain the sessions of all ranks. The files of any other rank contain only
 * its own sessions. */
TEST_BETWEEN(test_reserved_space_of_ranks, set_up, tear_down)
{
    plan.sessions = 1000000;
    facts.ranks = 1000;
    facts.share = (struct plan_share){.first = 1000, .count = 1000};
    assert_true(run_files_room(&plan) > (size_t)256 * 1000000 + (size_t)8192 * 1000);
    plan.is_follower = true;
    assert_true(run_files_room(&plan) < 2 << 20);
}

/* The reserved space is enough for the last files of a run with many sessions and operations and
 * wide histograms. The outcome can then still be written again. */
TEST_BETWEEN(test_reserved_space, set_up, tear_down)
{
    enum {
        SESSIONS = 14000,
        BUCKETS = 1000,
    };
    plan.script = load(many_operations, NULL, 0);
    plan.sessions = SESSIONS;
    result.session_list = calloc(SESSIONS, sizeof *result.session_list);
    assert_non_null(result.session_list);
    result.session_count = SESSIONS;
    for (unsigned i = 0; i < SESSIONS; i++) {
        result.session_list[i] = (struct session_summary){.index = i,
                                                          .rows.planned = 123456789,
                                                          .rows.acknowledged = 123456789,
                                                          .batches = 1234567,
                                                          .first_ack_ns = 1234567890,
                                                          .last_ack_ns = 86400123456789,
                                                          .worked_ns = 86400123456789,
                                                          .longest_gap_ns = 1234567890,
                                                          .is_verified = true,
                                                          .present = 123456789};
    }
    const size_t operations = plan_operations(&plan).count;
    assert_true(recorder_snapshot_init(&result.totals, operations));
    for (size_t i = 0; i < operations; i++) {
        struct histogram *histogram = &result.totals.histograms[i];
        for (size_t bucket = 1000; bucket < 1000 + BUCKETS; bucket++) {
            histogram->counts[bucket] = 123456;
            histogram->total += 123456;
        }
    }
    struct run_files *files = create();
    const size_t blocks_before = blocks_of_folder(plan.out_folder);
    finish(files);
    assert_string_equal(run_files_shortage(files), "");
    assert_int_equal(count_lines("sessions.csv"), SESSIONS + 1);
    const size_t added = 512 * (blocks_of_folder(plan.out_folder) - blocks_before);
    assert_true(added > 1 << 20);
    assert_true(added + reserved_bytes() <= run_files_room(&plan));
    assert_true(strlen(content_of("run.json")) < reserved_bytes());
    run_files_destroy(files, false);
    recorder_snapshot_fini(&result.totals);
    free(result.session_list);
    script_destroy(plan.script);
}

/* A file of the outcome that cannot be rewritten keeps its previous content. */
TEST_BETWEEN(test_another_outcome, set_up, tear_down)
{
    struct run_files *files = create();
    finish(files);
    assert_non_null(strstr(content_of("run.json"), "\"exit_code\": 0"));
    result_add_problem(&result, PROBLEM_PAGE, EXIT_CODE_CLIENT_LIMIT, "there is no page");
    result_set_exit(&result);
    assert_true(write_outcome(files));
    assert_non_null(strstr(content_of("run.json"), "\"exit_code\": 3"));
    assert_non_null(strstr(content_of("summary.csv"), "there is no page"));
    result_add_problem(&result, PROBLEM_JUNIT, EXIT_CODE_CLIENT_LIMIT, "no more room");
    result_set_exit(&result);
    limit_file_size(100);
    assert_false(write_outcome(files));
    limit_file_size(RLIM_INFINITY);
    assert_string_equal(run_files_shortage(files), "run.json, summary.csv: File too large");
    assert_null(strstr(content_of("run.json"), "no more room"));
    assert_null(strstr(content_of("summary.csv"), "no more room"));
    limit_file_size(strlen(content_of("summary.csv")) + 100); /* run.json is longer */
    assert_false(write_outcome(files));
    limit_file_size(RLIM_INFINITY);
    assert_string_equal(run_files_shortage(files), "run.json: File too large");
    assert_null(strstr(content_of("run.json"), "no more room"));
    assert_non_null(strstr(content_of("summary.csv"), "no more room"));
    assert_true(write_outcome(files));
    assert_string_equal(run_files_shortage(files), "");
    run_files_destroy(files, false);
    assert_int_equal(count_entries(plan.out_folder), 9);
}

/* A row that does not fit is removed: the file ends with its last complete row. */
TEST_BETWEEN(test_short_file_has_whole_rows, set_up, tear_down)
{
    struct run_files *files = create();
    run_files_add(files, CSV_INTERVALS, &interval);
    const size_t room = strlen(content_of("intervals.csv")) + 10;
    limit_file_size(room);
    run_files_add(files, CSV_INTERVALS, &interval);
    limit_file_size(RLIM_INFINITY);
    /* the disk has space again, but the file must not continue after the missing row */
    run_files_add(files, CSV_INTERVALS, &interval);
    assert_string_equal(run_files_shortage(files), "intervals.csv: File too large");
    assert_int_equal(count_lines("intervals.csv"), 2);
    assert_int_equal(text[strlen(text) - 1], '\n');
    finish(files);
    run_files_destroy(files, false);
    assert_int_equal(count_lines("summary.csv"), 2);
}

/* Begins a run of two ranks and adds a row of this rank to two files. */
static struct run_files *create_rank(void)
{
    facts.ranks = 2;
    struct run_files *files = create();
    run_files_add(files, CSV_INTERVALS, &interval);
    run_files_add(files, CSV_SAMPLES, &sample);
    return files;
}

/* Joins the files of ranks that have no rows. */
static void join(struct run_files *files)
{
    const struct operation_list operations = operation_list_all();
    struct merge *merge = merge_create(&result, &operations);
    assert_non_null(merge);
    run_files_join(files, merge, &result);
    merge_destroy(merge);
}

TEST_BETWEEN(test_join, set_up, tear_down)
{
    struct run_files *files = create_rank();
    const size_t entries = count_entries(plan.out_folder);
    join(files);
    assert_int_equal(count_lines("intervals.csv"), 1);
    assert_int_equal(count_lines("samples.csv"), 1);
    assert_int_equal(count_lines("ranks.csv"), 1);
    finish(files);
    assert_string_equal(run_files_shortage(files), "");
    run_files_destroy(files, false);
    assert_int_equal(count_entries(plan.out_folder), entries);
}

/* When the rows of all ranks do not fit on the disk, the rows of this rank stay. */
TEST_BETWEEN(test_join_on_a_full_disk, set_up, tear_down)
{
    struct run_files *files = create_rank();
    const size_t entries = count_entries(plan.out_folder);
    limit_file_size(10);
    join(files);
    limit_file_size(RLIM_INFINITY);
    assert_string_equal(run_files_shortage(files),
                        "samples.csv, intervals.csv, ranks.csv, ranks_samples.csv: File too large");
    assert_int_equal(count_lines("intervals.csv"), 2);
    assert_int_equal(count_lines("samples.csv"), 2);
    run_files_destroy(files, false);
    assert_int_equal(count_entries(plan.out_folder), entries);
}

/* No row is lost when a signal kills the process while it joins the files. */
TEST_BETWEEN(test_killed_while_joining, set_up, tear_down)
{
    struct run_files *files = create_rank();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        limit_file_size(10);
        signal(SIGXFSZ, SIG_DFL); /* kills the process when it writes the first joined file */
        join(files);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    assert_int_equal(count_lines("intervals.csv"), 2);
    assert_int_equal(count_lines("samples.csv"), 2);
    run_files_destroy(files, false);
}

/* A run is refused with the reason of the first write that failed. */
TEST_BETWEEN(test_no_room_for_the_marks, set_up, tear_down)
{
    static char mark[2 << 20];
    struct run_files *files = NULL;
    struct error error;
    error_clear(&error);
    const size_t room = run_files_room(&plan);
    assert_true(room < sizeof mark);
    memset(mark, 'x', sizeof mark - 1);
    plan.marks[0].text = mark;
    plan.mark_count = 1;
    limit_file_size(room);
    const enum exit_code code = run_files_create(&files, &plan, &error);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(code, EXIT_CODE_CLIENT_LIMIT);
    assert_null(files);
    assert_non_null(strstr(error.text, "File too large"));
    assert_false(exists(plan.out_folder));
}

/* run_files_count_open returns the number of files that are open after the start. */
TEST_BETWEEN(test_open_files, set_up, tear_down)
{
    static struct script script = {.name = "s"};
    static const struct {
        const char *name;
        struct plan plan;
        unsigned count;
    } cases[] = {
        {"rows", {.records = 30}, 8}, /* 5, and connect, append and read */
        {"search", {.is_search = true}, 5},
        {"several hosts", {.host_count = 2}, 10},
        {"stages", {.stages.count = 2}, 9},
        {"log", {.log_share = 1}, 9},
        {"waits", {.waits = WAITS_ON}, 9},
        {"script", {.script = &script}, 14},
        {"trace", {.io_trace = IO_TRACE_FULL}, 8 + 1 + 12},
        {"requests", {.io_trace = IO_TRACE_REQUESTS}, 8 + 1 + 9},
        {"other files", {.junit = "x", .ycsb = "y"}, 10},
    };
    const struct plan usual = plan;
    EACH_CASE (i, cases, "%s", cases[i].name) {
        plan = cases[i].plan;
        plan.adapter = usual.adapter;
        plan.facts = usual.facts;
        snprintf(plan.out_folder, sizeof plan.out_folder, "%s/%zu", base, i);
        const size_t before = count_entries("/proc/self/fd");
        struct run_files *files = create();
        FILE *junit = NULL, *ycsb = NULL;
        char path[sizeof base + 16];
        struct error error;
        error_clear(&error);
        snprintf(path, sizeof path, "%s/other", base);
        report_open_file(&junit, "junit", plan.junit == NULL ? NULL : path, false, &error);
        report_open_file(&ycsb, "ycsb-out", plan.ycsb == NULL ? NULL : path, false, &error);
        assert_int_equal(count_entries("/proc/self/fd") - before, cases[i].count);
        assert_int_equal(run_files_count_open(&plan), cases[i].count);
        run_files_destroy(files, false);
        if (junit != NULL) {
            fclose(junit);
        }
        if (ycsb != NULL) {
            fclose(ycsb);
        }
    }
}

TEST_BETWEEN(test_failed_run_leaves_nothing, set_up, tear_down)
{
    run_files_destroy(create(), true);
    assert_false(exists(plan.out_folder));
    run_files_destroy(NULL, true);
}

TEST_BETWEEN(test_failed_run_keeps_the_files_of_others, set_up, tear_down)
{
    struct run_files *files = create();
    close(open(path_of("database.db"), O_CREAT | O_WRONLY, 0600));
    run_files_destroy(files, true);
    assert_int_equal(count_entries(plan.out_folder), 1);
    assert_true(exists(path_of("database.db")));
}
