/* Reading back the folder of a sweep: its runs, its figures, and folders that no sweep has made. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "figures/saved.h"

static char folder[] = "/tmp/append-unit-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-unit-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/sweep.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/sweep.csv", folder);
    unlink(path);
    return rmdir(folder);
}

#define RUN(sessions, repeat, name, state, rest)                                                   \
    "{\"sessions\":" sessions ",\"records\":100,\"repeat\":" repeat ",\"folder\":\"" name          \
    "\",\"state\":\"" state "\"" rest "}"
#define HEAD                                                                                       \
    "{\"format\":1,\"state\":\"interrupted\",\"sessions\":[2,4],\"records\":[100],\"repeat\":2,"

#define LISTS "{\"format\":1,\"sessions\":[1],\"records\":[1],\"repeat\":1,"

#define TEXT_31 "0123456789012345678901234567890"

static const char good[] =
    HEAD "\"runs\":[" RUN("2", "1", "2x100-1", "done", ",\"exit_code\":0,\"wall_s\":1.5") "," RUN(
        "4", "1", "4x100-1", "failed",
        ",\"exit_code\":4,\"reason\":\"no room\"") "," RUN("2", "2", "2x100-2", "done",
                                                           "") "," RUN("4", "2", "4x100-2",
                                                                       "pending", "") "]}";
static const char table[] = "statistic,repeat,folder,state,elapsed_s,verdict\r\n"
                            "run,1,2x100-1,done,3.5,VALID\r\n"
                            "run,1,4x100-1,failed,9,DEGRADED\r\n"
                            "run,2,2x100-2,done,1.5,VALID\r\n"
                            "median,,,,2.5,VALID\r\n";

TEST_BETWEEN(test_a_sweep, make_folder, remove_folder)
{
    write_file("sweep.json", good);
    write_file("sweep.csv", table);
    struct saved_sweep sweep;
    struct error error;
    error_clear(&error);
    char name[64];
    snprintf(name, sizeof name, "%s//", folder);
    assert_true(saved_has_file(name, "sweep.json"));
    assert_int_equal(saved_sweep_read(&sweep, name, &error), STATUS_OK);
    assert_string_equal(sweep.folder, folder);
    assert_int_equal(sweep.run_count, 4);
    assert_int_equal(sweep.repeat, 2);
    const struct saved_sweep_run *run = &sweep.runs[1];
    assert_int_equal(run->sessions, 4);
    assert_int_equal(run->state, SAVED_FAILED);
    assert_int_equal(run->exit_code, 4);
    assert_string_equal(run->reason, "no room");
    double value;
    assert_true(saved_sweep_number(&sweep, run, "elapsed_s", &value));
    assert_true(value == 9);
    assert_string_equal(saved_sweep_text(&sweep, run, "verdict"), "DEGRADED");
    struct spread figure;
    assert_false(saved_sweep_figure(&sweep, 1, 0, "elapsed_s", &figure));
    assert_true(saved_sweep_figure(&sweep, 0, 0, "elapsed_s", &figure));
    assert_true(figure.median == 2.5 && figure.lowest == 1.5 && figure.highest == 3.5);
    assert_int_equal(figure.count, 2);
    assert_false(saved_sweep_figure(&sweep, 0, 0, "verdict", &figure));
    assert_false(saved_sweep_figure(&sweep, 0, 0, "nothing", &figure));
    assert_int_equal(sweep.runs[3].state, SAVED_PENDING);
    assert_false(saved_sweep_number(&sweep, &sweep.runs[3], "elapsed_s", &value));
    assert_int_equal(saved_sweep_count(&sweep, SAVED_DONE), 2);
    char path[SAVED_RUN_PATH_BYTES + SAVED_SWEEP_NAME_BYTES], expected[64];
    saved_sweep_run_folder(&sweep, run, path);
    snprintf(expected, sizeof expected, "%s/4x100-1", folder);
    assert_string_equal(path, expected);
    saved_sweep_free(&sweep);
}

TEST_BETWEEN(test_not_a_sweep, make_folder, remove_folder)
{
    static const struct {
        const char *json;
        const char *why;
    } cases[] = {
        {NULL, "not the folder of a sweep"},
        {"{", "sweep.json"},
        {"{\"format\":2}", "format 1"},
        {"{\"format\":1}", "its lists of sessions, records and variants are missing or wrong"},
        {"{\"format\":1,\"sessions\":[1,1],\"records\":[1],\"repeat\":1}",
         "its lists of sessions, records and variants are missing or wrong"},
        {"{\"format\":1,\"sessions\":[1,2,2],\"records\":[1],\"repeat\":1}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[\"a=1\",\"a=2\",\"a=2\"]}",
         "its lists of sessions, records and variants are missing or wrong"},
        {"{\"format\":1,\"sessions\":[0],\"records\":[1],\"repeat\":1}",
         "its lists of sessions, records and variants are missing or wrong"},
        {"{\"format\":1,\"sessions\":[1],\"records\":[1],\"repeat\":101}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[\"a=1\",\"a=1\"]}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[\"../a\"]}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[\"\"]}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[\"a=" TEXT_31 TEXT_31 "\"]}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[\"a=" TEXT_31 TEXT_31 "b\"]}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[1]}",
         "its lists of sessions, records and variants are missing or wrong"},
        {LISTS "\"variants\":[\"a=1\",\"a=2\"],\"runs\":[]}", "its runs"},
        {"{\"format\":1,\"sessions\":[2],\"records\":[100],\"repeat\":1,\"runs\":[]}", "its runs"},
        {"{\"format\":1,\"sessions\":[2],\"records\":[100],\"repeat\":1,\"runs\":[" RUN(
             "2", "1", "../x", "done", "") "]}",
         "its runs"},
        {"{\"format\":1,\"sessions\":[2],\"records\":[100],\"repeat\":1,\"runs\":[" RUN(
             "3", "1", "2x100", "done", "") "]}",
         "its runs"},
        {"{\"format\":1,\"sessions\":[2],\"records\":[100],\"repeat\":1,\"runs\":[" RUN(
             "2", "1", "2x100", "odd", "") "]}",
         "its runs"},
        {"{\"format\":1,\"sessions\":[2],\"records\":[100],\"repeat\":1,\"runs\":[" RUN(
             "2", "1", "x", "done", "") "]}",
         "its runs"},
        {"{\"format\":1,\"sessions\":[2],\"records\":[100],\"repeat\":1,\"runs\":[" RUN(
             "2", "1", "2x100", "done", "") "]}",
         "sweep.csv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].json != NULL) {
            write_file("sweep.json", cases[i].json);
        }
        struct saved_sweep sweep;
        struct error error;
        error_clear(&error);
        assert_int_equal(saved_sweep_read(&sweep, folder, &error), STATUS_REJECTED);
        if (cases[i].json == NULL) {
            assert_int_equal(error.kind, ERROR_NOT_FOUND);
        } else {
            assert_int_equal(error.kind, i + 1 < COUNT_OF(cases) ? ERROR_DATA : ERROR_SYSTEM);
        }
        if (strstr(error.text, cases[i].why) == NULL) {
            fail_msg("case %zu: '%s' does not contain '%s'", i, error.text, cases[i].why);
        }
    }
}

/* A setting that changes is reported once, with the first run that reported settings and the first
 * that reported another value. Runs that failed and runs without settings change nothing. */
TEST_BETWEEN(test_settings_that_change, make_folder, remove_folder)
{
    static const char *const servers[] = {
        "{\"server\":{}}",
        "{\"server\":{\"settings\":{\"fsync\":\"on\",\"cache\":\"1\",\"old\":\"x\"}}}",
        "{\"server\":{\"settings\":{\"fsync\":\"failed\"}}}",
        "{\"server\":{\"settings\":{\"fsync\":\"off\",\"cache\":\"1\",\"new\":\"y\"}}}",
        "{\"server\":{\"settings\":{}}}",
        "{\"server\":{\"settings\":{\"fsync\":\"maybe\",\"cache\":\"1\",\"old\":\"x\"}}}",
        "{\"server\":{\"settings\":{\"late\":\"z\"}}}",
    };
    struct saved_sweep_run runs[COUNT_OF(servers)] = {{.repeat = 0}};
    char path[64];
    for (size_t i = 0; i < COUNT_OF(servers); i++) {
        snprintf(runs[i].name, sizeof runs[i].name, "run-%zu", i);
        snprintf(path, sizeof path, "%s/run-%zu", folder, i);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "run-%zu/run.json", i);
        write_file(path, servers[i]);
        runs[i].state = i == 2 ? SAVED_FAILED : SAVED_DONE;
    }
    struct saved_sweep sweep = {.runs = runs, .run_count = COUNT_OF(servers)};
    snprintf(sweep.folder, sizeof sweep.folder, "%s", folder);
    json_t *changes = saved_sweep_changes(&sweep);
    static const char *const expected[] = {
        "setting fsync of the server changed: on in run-1, off in run-3",
        "setting old of the server changed: x in run-1, unknown in run-3",
        "setting new of the server changed: unknown in run-1, y in run-3",
        "setting cache of the server changed: 1 in run-1, unknown in run-6",
        "setting late of the server changed: unknown in run-1, z in run-6",
    };
    const size_t count = json_array_size(changes);
    for (size_t i = 0; i < COUNT_OF(servers); i++) {
        snprintf(path, sizeof path, "%s/run-%zu/run.json", folder, i);
        unlink(path);
        *strrchr(path, '/') = '\0';
        rmdir(path);
    }
    EACH_CASE (i, expected, "%s", expected[i]) {
        char text[200];
        saved_sweep_describe_change(json_array_get(changes, i), text, sizeof text);
        assert_string_equal(text, expected[i]);
    }
    assert_int_equal(count, COUNT_OF(expected));
    json_decref(changes);
}

/* A sweep of two sizes, two numbers of records, two variants and two repeats. */
TEST(test_names_of_runs)
{
    struct saved_sweep sweep = {.sessions = {1, 2},
                                .sessions_count = 2,
                                .records = {10, 20},
                                .records_count = 2,
                                .variants = {.texts = {"a=1", "a=2"}, .count = 2},
                                .repeat = 2};
    static const char *const names[] = {"1x10-a=1-1", "2x10-a=1-1", "1x10-a=2-1", "2x10-a=2-1",
                                        "1x20-a=1-1", "2x20-a=1-1", "1x20-a=2-1", "2x20-a=2-1",
                                        "1x10-a=1-2", "2x10-a=1-2", "1x10-a=2-2", "2x10-a=2-2",
                                        "1x20-a=1-2", "2x20-a=1-2", "1x20-a=2-2", "2x20-a=2-2"};
    struct error error;
    char text[SAVED_SWEEP_NAME_BYTES];
    error_clear(&error);
    assert_int_equal(saved_sweep_columns(&sweep), 4);
    assert_int_equal(saved_sweep_cells(&sweep), 8);
    assert_int_equal(saved_sweep_make_runs(&sweep, &error), STATUS_OK);
    assert_int_equal(sweep.run_count, COUNT_OF(names));
    EACH_CASE (i, names, "%s", names[i]) {
        const struct saved_sweep_run *run = &sweep.runs[i];
        assert_string_equal(run->name, names[i]);
        assert_int_equal(run->sessions, names[i][0] - '0');
        assert_int_equal(run->records, names[i][2] == '1' ? 10 : 20);
        assert_int_equal(run->variant, names[i][7] == '1' ? 0 : 1);
        assert_int_equal(run->repeat, names[i][9] - '0');
    }
    assert_string_equal(saved_sweep_column(&sweep, 1, "10", text), "a=2 10");
    assert_string_equal(saved_sweep_column(&sweep, 2, "20", text), "a=1 20");
    free(sweep.runs);
    sweep.records_count = sweep.repeat = 1;
    assert_string_equal(saved_sweep_column(&sweep, 1, "10", text), "a=2");
    sweep.variants = (struct saved_variants){.count = 1};
    sweep.records[0] = 0; /* without a number of records, variants and repeats */
    assert_string_equal(saved_sweep_column(&sweep, 0, "10", text), "10");
    assert_int_equal(saved_sweep_make_runs(&sweep, &error), STATUS_OK);
    assert_int_equal(sweep.run_count, 2);
    assert_string_equal(sweep.runs[1].name, "2");
    free(sweep.runs);
    /* the longest name */
    sweep = (struct saved_sweep){
        .sessions = {UINT64_MAX},
        .sessions_count = 1,
        .records = {UINT64_MAX},
        .records_count = 1,
        .variants = {.texts = {"a=" TEXT_31 "012345678901234567890123456789"}, .count = 1},
        .repeat = SAVED_SWEEP_LIST_MAX};
    assert_int_equal(strlen(sweep.variants.texts[0]), SAVED_SWEEP_VARIANT_BYTES - 1);
    assert_int_equal(saved_sweep_make_runs(&sweep, &error), STATUS_OK);
    assert_string_equal(sweep.runs[SAVED_SWEEP_LIST_MAX - 1].name,
                        "18446744073709551615x18446744073709551615-a=" TEXT_31
                        "012345678901234567890123456789-100");
    free(sweep.runs);
}

/* Details of sweep.json at the bounds of their ranges. */
TEST_BETWEEN(test_details_of_runs, make_folder, remove_folder)
{
    static const struct {
        const char *rest;
        int exit_code;
        double wall_s;
    } cases[] = {
        {",\"exit_code\":255,\"wall_s\":0.5", 255, 0.5},
        {",\"exit_code\":256,\"wall_s\":-1", 0, 0},
        {",\"exit_code\":-1,\"wall_s\":2", 0, 2},
        {"", 0, 0},
    };
    struct saved_sweep sweep;
    struct error error;
    error_clear(&error);
    write_file("sweep.csv", "statistic,folder,elapsed_s\nrun,1x0,3\n");
    EACH_CASE (i, cases, "case %zu", i) {
        char json[400];
        snprintf(json, sizeof json,
                 LISTS "\"runs\":[{\"sessions\":1,\"records\":1,\"repeat\":1,\"folder\":\"1x1\","
                       "\"state\":\"pending\"%s}]}",
                 cases[i].rest);
        write_file("sweep.json", json);
        assert_int_equal(saved_sweep_read(&sweep, folder, &error), STATUS_OK);
        assert_int_equal(sweep.runs[0].exit_code, cases[i].exit_code);
        assert_true(sweep.runs[0].wall_s == cases[i].wall_s);
        assert_string_equal(sweep.runs[0].reason, "");
        assert_false(sweep.runs[0].has_row);
        assert_true(sweep.is_own);
        saved_sweep_free(&sweep);
        assert_null(sweep.runs);
    }
    /* records may be 0: the script says how many */
    write_file("sweep.json",
               "{\"format\":1,\"sessions\":[1],\"records\":[0],\"repeat\":1,\"runs\":[{"
               "\"sessions\":1,\"records\":0,\"repeat\":1,\"folder\":\"1\",\"state\":\"done\"}]}");
    write_file("sweep.csv", "statistic,folder,elapsed_s\nrun,other,4\nmedian,1,5\nrun,1,3\n");
    assert_int_equal(saved_sweep_read(&sweep, folder, &error), STATUS_OK);
    assert_true(sweep.runs[0].has_row);
    assert_int_equal(sweep.runs[0].row, 2);
    /* figures of a run that has just ended take the place of its row */
    struct csv_table summary;
    double value;
    assert_true(saved_sweep_number(&sweep, &sweep.runs[0], "elapsed_s", &value));
    assert_true(value == 3);
    assert_int_equal(csv_table_parse(&summary, "x", strdup("elapsed_s\n9\n"), &error), STATUS_OK);
    sweep.runs[0].summary = summary;
    assert_true(saved_sweep_number(&sweep, &sweep.runs[0], "elapsed_s", &value));
    assert_true(value == 9);
    assert_string_equal(saved_sweep_text(&sweep, &sweep.runs[0], "elapsed_s"), "9");
    saved_sweep_free(&sweep);
    /* a folder or a file of another user, which only root can make here */
    const uid_t own = geteuid();
    char path[64];
    snprintf(path, sizeof path, "%s/sweep.json", folder);
    for (int i = 0; own == 0 && i < 3; i++) {
        assert_int_equal(chown(folder, i == 0 ? 1 : own, (gid_t)-1), 0);
        assert_int_equal(chown(path, i == 1 ? 1 : own, (gid_t)-1), 0);
        assert_int_equal(saved_sweep_read(&sweep, folder, &error), STATUS_OK);
        assert_int_equal(sweep.is_own, i == 2);
        saved_sweep_free(&sweep);
    }
}

/* sweep.json must be a file: a pipe would block, and a folder cannot be read. */
TEST_BETWEEN(test_no_file, make_folder, remove_folder)
{
    char path[64], message[200];
    struct saved_sweep sweep;
    struct error error;
    snprintf(path, sizeof path, "%s/sweep.json", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    error_clear(&error);
    assert_int_equal(saved_sweep_read(&sweep, folder, &error), STATUS_REJECTED);
    snprintf(message, sizeof message,
             "'%s' is not the folder of a sweep: sweep.json: not a regular file", folder);
    assert_string_equal(error.text, message);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_int_equal(error.native_code, 0);
    assert_int_equal(unlink(path), 0);
    error_clear(&error);
    assert_int_equal(saved_sweep_read(&sweep, folder, &error), STATUS_REJECTED);
    snprintf(message, sizeof message,
             "'%s' is not the folder of a sweep: sweep.json: No such file or directory", folder);
    assert_string_equal(error.text, message);
    assert_int_equal(error.kind, ERROR_NOT_FOUND);
    write_file("sweep.json", "[");
    error_clear(&error);
    assert_int_equal(saved_sweep_read(&sweep, folder, &error), STATUS_REJECTED);
    snprintf(message, sizeof message, "%s/sweep.json: ']' expected near end of file", folder);
    assert_string_equal(error.text, message);
}
