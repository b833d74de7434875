/* A sweep: its runs, its files, its report, and its estimate of the time left. */
#include "unit/memory_stream.h"

#include <string.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/file.h"
#include "commands/sweep.c"       // NOLINT(bugprone-suspicious-include)
#include "commands/sweep_files.c" // NOLINT(bugprone-suspicious-include)
#include "commands/sweep_plan.c"  // NOLINT(bugprone-suspicious-include)

static struct sweep sweep;

static void make(unsigned repeat)
{
    struct error error;
    error_clear(&error);
    sweep = (struct sweep){.table = TABLE_NONE, .lock = -1, .words = json_array()};
    sweep.results = (struct saved_sweep){.sessions = {1000, 2000},
                                         .sessions_count = 2,
                                         .records = {10000000, 50000000},
                                         .records_count = 2,
                                         .variants.count = 1,
                                         .repeat = repeat};
    sweep.plan.adapter = registry_find("null");
    snprintf(sweep.plan.display_target, sizeof sweep.plan.display_target, "null:");
    assert_int_equal(saved_sweep_make_runs(&sweep.results, &error), STATUS_OK);
}

static void release(void)
{
    saved_sweep_free(&sweep.results);
    json_decref(sweep.words);
}

/* Gives the run a summary, as if it had ended. */
static void leave(struct saved_sweep_run *run, const char *summary)
{
    struct error error;
    error_clear(&error);
    assert_int_equal(csv_table_parse(&run->summary, "summary.csv", strdup(summary), &error),
                     STATUS_OK);
    run->state = SAVED_DONE;
}

static void finish(struct saved_sweep_run *run, const char *elapsed, const char *verdict)
{
    char text[200];
    snprintf(text, sizeof text,
             "sessions,records,elapsed_s,slowest_session,verdict,verdict_reason\r\n"
             "%llu,%llu,%s,%u,%s,\"because, so\"\r\n",
             (unsigned long long)run->sessions, (unsigned long long)run->records, elapsed,
             run->repeat, verdict);
    leave(run, text);
}

static void fail_run(struct saved_sweep_run *run, enum exit_code code, const char *reason)
{
    run->state = SAVED_FAILED;
    run->exit_code = code;
    snprintf(run->reason, sizeof run->reason, "%s", reason);
}

TEST(test_runs)
{
    make(1);
    assert_int_equal(sweep.results.run_count, 4);
    assert_string_equal(sweep.results.runs[2].name, "1000x50000000");
    assert_int_equal(saved_sweep_count(&sweep.results, SAVED_PENDING), 4);
    release();
    make(3);
    assert_int_equal(sweep.results.run_count, 12);
    assert_string_equal(sweep.results.runs[7].name, "2000x50000000-2");
    release();
}

/* The runs of a sweep with --vary. */
TEST(test_variants)
{
    const struct plan given = {
        .sweep.varied = {.texts = {"table=normal,compressed", "batch=1,10"}, .count = 2}};
    static const char *const expected[] = {
        "1000x10000000-table=normal,batch=1-1",     "2000x10000000-table=normal,batch=1-1",
        "1000x10000000-table=normal,batch=10-1",    "2000x10000000-table=normal,batch=10-1",
        "1000x10000000-table=compressed,batch=1-1", "2000x10000000-table=compressed,batch=1-1",
    };
    struct error error;
    error_clear(&error);
    make(2);
    free(sweep.results.runs);
    assert_int_equal(make_variants(&sweep.results.variants, &given, &error), EXIT_CODE_OK);
    assert_int_equal(saved_sweep_make_runs(&sweep.results, &error), STATUS_OK);
    assert_int_equal(sweep.results.run_count, 2 * 2 * 4 * 2);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_string_equal(sweep.results.runs[i].name, expected[i]);
    }
    assert_string_equal(sweep.results.runs[31].name, "2000x50000000-table=compressed,batch=10-2");
    char title[SAVED_SWEEP_NAME_BYTES];
    assert_string_equal(saved_sweep_column(&sweep.results, 5, "50M", title),
                        "table=normal,batch=10 50M");
    sweep.results.records_count = 1;
    assert_string_equal(saved_sweep_column(&sweep.results, 1, "10M", title),
                        "table=normal,batch=10");
    release();
}

/* The most serious outcome decides the exit code, whenever it happened. */
TEST(test_worst)
{
    make(1);
    assert_null(find_worst(&sweep.results));
    fail_run(&sweep.results.runs[0], EXIT_CODE_INVALID, "");
    assert_ptr_equal(find_worst(&sweep.results), &sweep.results.runs[0]);
    fail_run(&sweep.results.runs[1], EXIT_CODE_SERVER, "");
    assert_ptr_equal(find_worst(&sweep.results), &sweep.results.runs[1]);
    fail_run(&sweep.results.runs[2], EXIT_CODE_SHORT, "");
    assert_ptr_equal(find_worst(&sweep.results), &sweep.results.runs[2]);
    fail_run(&sweep.results.runs[3], EXIT_CODE_SHORT, "");
    assert_ptr_equal(find_worst(&sweep.results), &sweep.results.runs[2]);
    fail_run(&sweep.results.runs[3], EXIT_CODE_INTERNAL, "");
    assert_ptr_equal(find_worst(&sweep.results), &sweep.results.runs[3]);
    release();
}

/* Writes the files of the sweep and reads one of them back. */
static void write_and_read(const char *name, struct csv_table *table)
{
    char folder[] = "/tmp/append-unit-XXXXXX", path[64];
    struct error error;
    error_clear(&error);
    assert_non_null(mkdtemp(folder));
    snprintf(sweep.results.folder, sizeof sweep.results.folder, "%s/a/sweep", folder);
    if (sweep_create_files(&sweep, &error) != EXIT_CODE_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(sweep_create_files(&sweep, &error), EXIT_CODE_USAGE);
    assert_non_null(strstr(error.text, "exists already"));
    snprintf(path, sizeof path, "%s/a/sweep/%s", folder, name);
    assert_int_equal(csv_table_read(table, path, &error), STATUS_OK);
    close(sweep.lock);
    assert_int_equal(file_remove_folder(folder), 0);
    release();
}

/* Checks some columns of a row, for example "run 1 1000x10000000". */
static void expect_row(const struct csv_table *table, size_t row, const char *columns,
                       const char *expected)
{
    char text[512] = "", name[64];
    for (const char *at = columns; *at != '\0'; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        const size_t column = csv_table_column(table, name), used = strlen(text);
        assert_true(column < table->columns);
        snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? "|" : "",
                 csv_table_text(table, row, column));
    }
    assert_string_equal(text, expected);
}

TEST(test_csv)
{
    static const char columns[] = "statistic repeat folder state reason adapter target sessions "
                                  "elapsed_s verdict_reason exit_code";
    struct csv_table table;
    make(1);
    finish(&sweep.results.runs[0], "105.123", "VALID");
    fail_run(&sweep.results.runs[1], EXIT_CODE_SERVER, "no room, it said");
    write_and_read("sweep.csv", &table);
    assert_int_equal(table.rows, 2);
    expect_row(&table, 0, columns, "run|1|1000x10000000|done||||1000|105.123|because, so|");
    expect_row(&table, 1, columns,
               "run|1|2000x10000000|failed|no room, it said|null|null:|2000|||4");
    csv_table_free(&table);
    make(1);
    finish(&sweep.results.runs[0], "105.123", "VALID");
    write_and_read("elapsed.csv", &table);
    expect_row(&table, 0, "sessions 10000000 50000000", "1000|105.123|");
    expect_row(&table, 1, "sessions 10000000 50000000", "2000||");
    csv_table_free(&table);
}

static void make_repeats(void)
{
    make(3);
    finish(&sweep.results.runs[0], "3.5", "VALID");
    fail_run(&sweep.results.runs[4], EXIT_CODE_SHORT, "lost");
    finish(&sweep.results.runs[8], "1.25", "DEGRADED");
}

TEST(test_csv_of_repeats)
{
    static const char columns[] =
        "statistic repeat folder state reason records elapsed_s slowest_session verdict";
    struct csv_table table;
    make_repeats();
    write_and_read("sweep.csv", &table);
    assert_int_equal(table.rows, 6);
    expect_row(&table, 0, columns, "run|1|1000x10000000-1|done||10000000|3.5|1|VALID");
    expect_row(&table, 1, columns, "run|2|1000x10000000-2|failed|lost|10000000|||");
    expect_row(&table, 2, columns, "run|3|1000x10000000-3|done||10000000|1.25|3|DEGRADED");
    expect_row(&table, 3, columns, "median|||||10000000|2.375||");
    expect_row(&table, 4, columns, "lowest|||||10000000|1.25||");
    expect_row(&table, 5, columns, "highest|||||10000000|3.50||");
    csv_table_free(&table);
    make_repeats();
    write_and_read("elapsed.csv", &table);
    expect_row(&table, 0, "sessions 10000000 50000000", "1000|2.38|");
    csv_table_free(&table);
}

/* Exit codes are not quantities: the median, lowest and highest rows leave them empty. */
TEST(test_csv_of_exit_codes)
{
    static const char columns[] = "statistic exit_code appends";
    struct csv_table table;
    make(2);
    leave(&sweep.results.runs[0], "exit_code,appends\r\n0,3\r\n");
    leave(&sweep.results.runs[4], "exit_code,appends\r\n5,4\r\n");
    write_and_read("sweep.csv", &table);
    expect_row(&table, 0, columns, "run|0|3");
    expect_row(&table, 1, columns, "run|5|4");
    expect_row(&table, 2, columns, "median||3.5");
    expect_row(&table, 3, columns, "lowest||3");
    expect_row(&table, 4, columns, "highest||4");
    csv_table_free(&table);
}

/* A stand-in for the adapter, which a build may lack. */
static const struct adapter server = {.name = "postgresql"};

TEST(test_text)
{
    struct memory memory;
    make(1);
    snprintf(sweep.results.folder, sizeof sweep.results.folder, "x");
    sweep.plan.adapter = &server;
    finish(&sweep.results.runs[0], "1105.123", "VALID");
    fail_run(&sweep.results.runs[1], EXIT_CODE_SERVER, "no room");
    finish(&sweep.results.runs[2], "9.5", "DEGRADED");
    memory_open(&memory);
    sweep_write_text(memory.stream, &sweep);
    fflush(memory.stream);
    const char *elapsed = strstr(memory.text, "Elapsed");
    assert_non_null(elapsed);
    const char expected[] = "Elapsed time, s\n"
                            "sessions \\ rows  10,000,000  50,000,000\n"
                            "          1,000       1,105       9.50*\n"
                            "          2,000     server*     not run\n"
                            "\n";
    assert_memory_equal(elapsed, expected, strlen(expected));
    const char notes[] =
        "* Failed  2,000 x 10,000,000, exit code 4: no room\n"
        "* Note    1,000 x 50,000,000: DEGRADED: because, so\n"
        "Target    null:\n"
        "Table     the adapter keeps no rows\n"
        "Memory    the server is not restarted between runs: it may still hold memory\n"
        "          that it allocated in earlier runs\n"
        "Runs      2 of 4 done, 1 failed, 1 not run\n"
        "Files     gone: x\n";
    assert_non_null(strstr(memory.text, notes));
    fclose(memory.stream);
    free(memory.text);
    release();
}

TEST(test_text_of_repeats)
{
    struct memory memory;
    make(3);
    finish(&sweep.results.runs[0], "40", "VALID");
    finish(&sweep.results.runs[4], "20", "VALID");
    finish(&sweep.results.runs[8], "30.5", "VALID");
    memory_open(&memory);
    sweep_write_text(memory.stream, &sweep);
    fflush(memory.stream);
    assert_non_null(strstr(memory.text, "\nElapsed time, s: median (lowest-highest)\n"));
    assert_non_null(strstr(memory.text, "\n          1,000  30.50 (20.00-40.00)     not run\n"));
    fclose(memory.stream);
    free(memory.text);
    release();
}

TEST(test_time_left)
{
    make(1);
    assert_true(time_left(&sweep.results, 0, 0, 5) < 0);
    /* the first run did a tenth in 1 s: 9 s more for this run, 110 s for the other runs */
    assert_int_equal(1000 * time_left(&sweep.results, 0, 1000000, 1) + 0.5, 1000 * 119);
    finish(&sweep.results.runs[0], "1", "VALID");
    sweep.results.runs[0].wall_s = 20;
    assert_int_equal(1000 * time_left(&sweep.results, 1, 0, 3) + 0.5, 1000 * 220);
    /* the duration of a failed run is ignored, and no time is expected for it */
    fail_run(&sweep.results.runs[1], EXIT_CODE_SERVER, "");
    sweep.results.runs[1].wall_s = 500;
    assert_int_equal(1000 * time_left(&sweep.results, 2, 0, 0) + 0.5, 1000 * 200);
    release();
}
