/* A sweep: its lists, its runs, its tables, and how long it takes. */
#include "unit/memory_stream.h"

#include <string.h>

#include "adapters/registry.h"
#include "sweep/sweep_csv.h"
#include "sweep/sweep_json.h"
#include "sweep/sweep_progress.h"
#include "sweep/sweep_resume.h"
#include "sweep/sweep_text.h"

static void test_lists(void **state)
{
    (void)state;
    struct sweep_list list;
    struct error error;
    error_clear(&error);
    assert_int_equal(sweep_list_parse(&list, "sessions", "4000,2k,1", 1000000, &error), STATUS_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.values[0], 4000);
    assert_int_equal(list.values[1], 2000);
    assert_int_equal(list.values[2], 1);
    static const char *const wrong[] = {
        "",        ",",         "1,",
        "1,,2",    "1;2",       "0",
        "-1",      "1, 2",      "1,1",
        "1k,1000", "1-4",       "1.5",
        "1000001", "1,1000001", "1,99999999999999999999999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error_clear(&error);
        if (sweep_list_parse(&list, "sessions", wrong[i], 1000000, &error) == STATUS_OK) {
            fail_msg("'%s' was taken for a list", wrong[i]);
        }
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_non_null(strstr(error.text, "--sessions"));
    }
    char text[4 * SWEEP_LIST_MAX + 8] = "";
    for (int i = 0; i <= SWEEP_LIST_MAX; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%d", i == 0 ? "" : ",", i + 1);
    }
    assert_int_equal(sweep_list_parse(&list, "records", text, 1000000, &error), STATUS_REJECTED);
    *strrchr(text, ',') = '\0';
    assert_int_equal(sweep_list_parse(&list, "records", text, 1000000, &error), STATUS_OK);
    assert_int_equal(list.count, SWEEP_LIST_MAX);
}

static void make(struct sweep *sweep, unsigned repeat)
{
    struct error error;
    error_clear(&error);
    const struct sweep_list sessions = {{1000, 2000}, 2};
    const struct sweep_list records = {{10000000, 50000000}, 2};
    assert_int_equal(sweep_init(sweep, &sessions, &records, repeat, &error), STATUS_OK);
    sweep->adapter = "null";
    sweep->display_target = "null:";
    sweep->table = SWEEP_TABLE_NONE;
}

/* As if the run had left this summary. */
static void finish(struct sweep_run *run, const char *elapsed, const char *verdict)
{
    char text[200];
    struct error error;
    error_clear(&error);
    snprintf(text, sizeof text,
             "sessions,records,elapsed_s,slowest_session,verdict,verdict_reason\r\n"
             "%llu,%llu,%s,%u,%s,\"because, so\"\r\n",
             (unsigned long long)run->sessions, (unsigned long long)run->records, elapsed,
             run->repeat, verdict);
    assert_int_equal(csv_table_parse(&run->summary, "summary.csv", strdup(text), &error),
                     STATUS_OK);
    run->state = SAVED_DONE;
}

static void fail_run(struct sweep_run *run, enum exit_code code, const char *reason)
{
    run->state = SAVED_FAILED;
    run->exit_code = code;
    snprintf(run->reason, sizeof run->reason, "%s", reason);
}

static void test_runs(void **state)
{
    (void)state;
    struct sweep sweep;
    make(&sweep, 1);
    assert_int_equal(sweep.run_count, 4);
    assert_string_equal(sweep.runs[2].name, "1000x50000000");
    assert_ptr_equal(sweep_run_of(&sweep, 0, 1, 1), &sweep.runs[2]);
    assert_int_equal(sweep_rows(&sweep), 120000000);
    assert_int_equal(sweep_count(&sweep, SAVED_PENDING), 4);
    sweep_fini(&sweep);
    make(&sweep, 3);
    assert_int_equal(sweep.run_count, 12);
    assert_string_equal(sweep.runs[7].name, "2000x50000000-2");
    assert_ptr_equal(sweep_run_of(&sweep, 1, 1, 2), &sweep.runs[7]);
    sweep_fini(&sweep);
}

/* What weighs most decides, whenever it happened. */
static void test_worst(void **state)
{
    (void)state;
    struct sweep sweep;
    make(&sweep, 1);
    assert_null(sweep_worst(&sweep));
    fail_run(&sweep.runs[0], EXIT_CODE_INVALID, "");
    assert_ptr_equal(sweep_worst(&sweep), &sweep.runs[0]);
    fail_run(&sweep.runs[1], EXIT_CODE_SERVER, "");
    assert_ptr_equal(sweep_worst(&sweep), &sweep.runs[1]);
    fail_run(&sweep.runs[2], EXIT_CODE_SHORT, "");
    assert_ptr_equal(sweep_worst(&sweep), &sweep.runs[2]);
    fail_run(&sweep.runs[3], EXIT_CODE_SHORT, "");
    assert_ptr_equal(sweep_worst(&sweep), &sweep.runs[2]);
    fail_run(&sweep.runs[3], EXIT_CODE_INTERNAL, "");
    assert_ptr_equal(sweep_worst(&sweep), &sweep.runs[3]);
    sweep_fini(&sweep);
}

static void columns_of(struct csv_table *columns, const char *header)
{
    struct error error;
    error_clear(&error);
    assert_int_equal(csv_table_parse(columns, "summary.csv", strdup(header), &error), STATUS_OK);
}

static void test_csv(void **state)
{
    (void)state;
    struct sweep sweep;
    struct csv_table columns;
    struct memory memory;
    make(&sweep, 1);
    finish(&sweep.runs[0], "105.123", "VALID");
    fail_run(&sweep.runs[1], EXIT_CODE_SERVER, "no room, it said");
    columns_of(&columns, "sessions,elapsed_s,verdict_reason,exit_code\r\n");
    memory_open(&memory);
    sweep_csv_write_all(memory.stream, &sweep, &columns);
    memory_expect(&memory, "statistic,repeat,folder,state,reason,sessions,elapsed_s,"
                           "verdict_reason,exit_code\r\n"
                           "run,1,1000x10000000,done,,1000,105.123,\"because, so\",\r\n"
                           "run,1,2000x10000000,failed,\"no room, it said\",2000,,,4\r\n");
    memory_open(&memory);
    sweep_csv_write_table(memory.stream, &sweep, "elapsed_s");
    memory_expect(&memory, "sessions,10000000,50000000\r\n1000,105.123,\r\n2000,,\r\n");
    csv_table_free(&columns);
    sweep_fini(&sweep);
}

static void test_csv_of_repeats(void **state)
{
    (void)state;
    struct sweep sweep;
    struct csv_table columns;
    struct memory memory;
    make(&sweep, 3);
    finish(&sweep.runs[0], "3.5", "VALID");
    fail_run(&sweep.runs[4], EXIT_CODE_SHORT, "lost");
    finish(&sweep.runs[8], "1.25", "DEGRADED");
    columns_of(&columns, "records,elapsed_s,slowest_session,verdict\r\n");
    memory_open(&memory);
    sweep_csv_write_all(memory.stream, &sweep, &columns);
    memory_expect(&memory, "statistic,repeat,folder,state,reason,records,elapsed_s,slowest_session,"
                           "verdict\r\n"
                           "run,1,1000x10000000-1,done,,10000000,3.5,1,VALID\r\n"
                           "run,2,1000x10000000-2,failed,lost,10000000,,,\r\n"
                           "run,3,1000x10000000-3,done,,10000000,1.25,3,DEGRADED\r\n"
                           "median,,,,,10000000,2.375,,\r\n"
                           "lowest,,,,,10000000,1.25,,\r\n"
                           "highest,,,,,10000000,3.50,,\r\n");
    memory_open(&memory);
    sweep_csv_write_table(memory.stream, &sweep, "elapsed_s");
    memory_expect(&memory, "sessions,10000000,50000000\r\n1000,2.38,\r\n2000,,\r\n");
    csv_table_free(&columns);
    sweep_fini(&sweep);
}

/* Between 0 and an expectation that was missed there is no third exit code. */
static void test_csv_of_exit_codes(void **state)
{
    (void)state;
    struct sweep sweep;
    struct csv_table columns;
    struct memory memory;
    make(&sweep, 2);
    for (size_t i = 0; i < 8; i += 4) {
        struct error error;
        error_clear(&error);
        char *text =
            strdup(i == 0 ? "exit_code,appends\r\n0,3\r\n" : "exit_code,appends\r\n5,4\r\n");
        assert_int_equal(csv_table_parse(&sweep.runs[i].summary, "summary.csv", text, &error),
                         STATUS_OK);
        sweep.runs[i].state = SAVED_DONE;
    }
    columns_of(&columns, "exit_code,appends\r\n");
    memory_open(&memory);
    sweep_csv_write_all(memory.stream, &sweep, &columns);
    memory_expect(&memory, "statistic,repeat,folder,state,reason,exit_code,appends\r\n"
                           "run,1,1000x10000000-1,done,,0,3\r\n"
                           "run,2,1000x10000000-2,done,,5,4\r\n"
                           "median,,,,,,3.5\r\n"
                           "lowest,,,,,,3\r\n"
                           "highest,,,,,,4\r\n");
    csv_table_free(&columns);
    sweep_fini(&sweep);
}

/* The header is that of every run's summary.csv. */
static void test_columns(void **state)
{
    (void)state;
    struct csv_table columns;
    struct error error;
    error_clear(&error);
    assert_int_equal(sweep_csv_columns(&columns, registry_find("null"), &error), STATUS_OK);
    for (size_t i = 0; i < SWEEP_FIGURES; i++) {
        assert_true(csv_table_column(&columns, sweep_figures[i].column) < columns.columns);
    }
    assert_string_equal(columns.cells[0], "adapter");
    csv_table_free(&columns);
}

static void test_text(void **state)
{
    (void)state;
    struct sweep sweep;
    struct memory memory;
    make(&sweep, 1);
    snprintf(sweep.folder, sizeof sweep.folder, "x");
    sweep.has_server = true;
    finish(&sweep.runs[0], "1105.123", "VALID");
    fail_run(&sweep.runs[1], EXIT_CODE_SERVER, "no room");
    finish(&sweep.runs[2], "9.5", "DEGRADED");
    memory_open(&memory);
    sweep_text_write(memory.stream, &sweep);
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
        "Memory    the server is not restarted between runs: it may keep what earlier\n"
        "          ones made it take\n"
        "Runs      2 of 4 done, 1 failed, 1 not run\n"
        "Files     gone: x\n";
    assert_non_null(strstr(memory.text, notes));
    fclose(memory.stream);
    free(memory.text);
    sweep_fini(&sweep);
}

static void test_text_of_repeats(void **state)
{
    (void)state;
    struct sweep sweep;
    struct memory memory;
    make(&sweep, 3);
    finish(&sweep.runs[0], "40", "VALID");
    finish(&sweep.runs[4], "20", "VALID");
    finish(&sweep.runs[8], "30.5", "VALID");
    memory_open(&memory);
    sweep_text_write(memory.stream, &sweep);
    fflush(memory.stream);
    assert_non_null(strstr(memory.text, "\nElapsed time, s: median (lowest-highest)\n"));
    assert_non_null(strstr(memory.text, "\n          1,000  30.50 (20.00-40.00)     not run\n"));
    fclose(memory.stream);
    free(memory.text);
    sweep_fini(&sweep);
}

static void test_time_left(void **state)
{
    (void)state;
    struct sweep sweep;
    double left_s = -1;
    make(&sweep, 1);
    assert_false(sweep_progress_left(&sweep, 0, 0, 5, &left_s));
    /* a tenth of the first run in 1 s: 9 s more for it, 110 s for the others */
    assert_true(sweep_progress_left(&sweep, 0, 1000000, 1, &left_s));
    assert_true(left_s > 118.99 && left_s < 119.01);
    finish(&sweep.runs[0], "1", "VALID");
    sweep.runs[0].wall_s = 20;
    assert_true(sweep_progress_left(&sweep, 1, 0, 3, &left_s));
    assert_true(left_s > 219.99 && left_s < 220.01);
    /* what a run that failed took says nothing, and nothing is left of it */
    fail_run(&sweep.runs[1], EXIT_CODE_SERVER, "");
    sweep.runs[1].wall_s = 500;
    assert_true(sweep_progress_left(&sweep, 2, 0, 0, &left_s));
    assert_true(left_s > 199.99 && left_s < 200.01);
    sweep_fini(&sweep);
}

static void test_request(void **state)
{
    (void)state;
    struct saved_sweep saved = {.folder = "x", .is_own = true};
    struct sweep_request request;
    struct error error;
    error_clear(&error);
    saved.json = json_pack("{s:s, s:[s,s], s:n, s:s}", "append_version", APPEND_VERSION, "options",
                           "--sessions=1", "--recreate", "target_given", "working_folder", "/");
    assert_int_equal(sweep_request_read(&request, &saved, &error), STATUS_OK);
    assert_int_equal(request.word_count, 2);
    assert_string_equal(request.words[1], "--recreate");
    assert_null(request.target);
    assert_false(request.has_secret);
    free(request.words);
    json_object_set_new(saved.json, "options", json_pack("[i]", 1));
    assert_int_equal(sweep_request_read(&request, &saved, &error), STATUS_REJECTED);
    assert_null(request.words);
    json_object_set_new(saved.json, "append_version", json_string("0"));
    error_clear(&error);
    assert_int_equal(sweep_request_read(&request, &saved, &error), STATUS_REJECTED);
    assert_non_null(strstr(error.text, "of append 0, this is " APPEND_VERSION));
    json_decref(saved.json);
    assert_false(sweep_json_can_keep("\xff"));
    assert_true(sweep_json_can_keep("é"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),           cmocka_unit_test(test_runs),
        cmocka_unit_test(test_worst),           cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_of_repeats),  cmocka_unit_test(test_csv_of_exit_codes),
        cmocka_unit_test(test_columns),         cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_of_repeats), cmocka_unit_test(test_time_left),
        cmocka_unit_test(test_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
