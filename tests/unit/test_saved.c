/* Reading back the folder of a run: its files, its figures, and folders without a run. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figures/saved.h"

static char folder[] = "/tmp/append-unit-XXXXXX";
static struct saved_run run;
static struct error error;

static const char *path_of(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-unit-XXXXXX");
    error_clear(&error);
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"run.json",           "find-max.json", "summary.csv",
                                        "levels.csv",         "intervals.csv", "samples.csv",
                                        "hosts_intervals.csv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(path_of(names[i]));
    }
    return rmdir(folder);
}

static const char json[] =
    "{\"format\": 2, \"resources\": {\"cpus\": 4, \"mean_host_cpu_percent\": 12.5, "
    "\"client_bound\": \"at nice 9\", \"server_name\": null}, \"sessions\": {\"balances\": true}, "
    "\"rows\": {\"balances\": false, \"are_at_least\": true}}";
static const char summary[] = "verdict,verdict_reason,elapsed_s,rows_acknowledged,lost\n"
                              "DEGRADED,\"7 bad, rows\",2.5,1000,\n";

static void write_run(void)
{
    write_file("run.json", json);
    write_file("summary.csv", summary);
    write_file("intervals.csv", "a\n1\n2\n");
    write_file("samples.csv", "b\n1\n2\n3\n");
}

static const struct figure_value *value_of(enum figure_id id)
{
    return &run.figures.values[id];
}

static enum figure_id find_key(const char *key)
{
    for (int id = 0; id < FIGURES; id++) {
        if (figure_table[id].key != NULL && strcmp(figure_table[id].key, key) == 0) {
            return (enum figure_id)id;
        }
    }
    fail_msg("there is no figure %s", key);
    return FIGURES;
}

TEST_BETWEEN(test_a_run, make_folder, remove_folder)
{
    double number = -1;
    char slashes[64];
    write_run();
    snprintf(slashes, sizeof slashes, "%s///", folder);
    assert_int_equal(saved_run_read(&run, slashes, false, &error), STATUS_OK);
    assert_string_equal(run.folder, folder);
    assert_false(run.is_unfinished || run.is_running || run.is_search);
    assert_int_equal(run.intervals.rows, 2);
    assert_int_equal(run.samples.rows, 3);
    assert_int_equal(run.levels.columns, 0);
    assert_int_equal(run.hosts_intervals.columns, 0);
    /* figures of summary.csv */
    assert_string_equal(saved_run_text(&run, "verdict"), "DEGRADED");
    assert_string_equal(saved_run_text(&run, "nothing"), "");
    assert_true(saved_run_figure(&run, "elapsed_s", &number));
    assert_true(number == 2.5);
    assert_false(saved_run_figure(&run, "lost", &number));
    const struct figure_value *value = value_of(find_key("verdict"));
    assert_true(value->is_known);
    assert_true(value->number == 1); /* the second word of the verdicts */
    value = value_of(find_key("verdict_reason"));
    assert_true(value->is_known);
    assert_string_equal(value->text, "7 bad, rows");
    assert_int_equal(value->count, 7);
    value = value_of(find_key("elapsed_s"));
    assert_true(value->is_known && value->number == 2.5);
    value = value_of(find_key("rows_acknowledged"));
    assert_true(value->is_known && value->number == 1000);
    assert_int_equal(value->count, 1000);
    value = value_of(find_key("rows_rejected")); /* summary.csv does not have it */
    assert_false(value->is_known);
    assert_int_equal(value->count, 0);
    /* figures of run.json */
    value = value_of(FIGURE_CPUS);
    assert_true(value->is_known);
    assert_int_equal(value->count, 4);
    assert_true(value_of(FIGURE_MEAN_HOST_CPU_PERCENT)->number == 12.5);
    assert_string_equal(value_of(FIGURE_CLIENT_BOUND)->text, "at nice 9");
    assert_false(value_of(FIGURE_SERVER_NAME)->is_known);
    assert_false(value_of(FIGURE_SERVER_NOTE)->is_known);
    assert_int_equal(value_of(FIGURE_SESSIONS_BALANCE)->count, 1);
    assert_true(value_of(FIGURE_ROWS_BALANCE)->is_known);
    assert_int_equal(value_of(FIGURE_ROWS_BALANCE)->count, 0);
    assert_int_equal(value_of(FIGURE_ROWS_AT_LEAST)->count, 1); /* the first of two places */
    assert_int_equal(json_integer_value(saved_run_json(&run, "resources.cpus")), 4);
    assert_null(saved_run_json(&run, "resources.cpus.x"));
    assert_null(saved_run_json(&run, "resources.server_name"));
    assert_null(saved_run_json(&run, "resource.cpus"));
    assert_true(json_is_object(saved_run_json(&run, "resources")));
    assert_ptr_equal(saved_run_json(&run, ""), run.json);
    saved_run_free(&run);
    assert_null(run.json);
    write_file("hosts_intervals.csv", "a\n1\n");
    assert_int_equal(saved_run_read(&run, folder, true, &error), STATUS_OK);
    assert_int_equal(run.hosts_intervals.rows, 1);
    assert_false(run.is_unfinished);
    saved_run_free(&run);
}

TEST_BETWEEN(test_a_search, make_folder, remove_folder)
{
    write_run();
    unlink(path_of("run.json"));
    write_file("find-max.json", json);
    assert_int_equal(saved_run_read(&run, folder, false, &error), STATUS_REJECTED);
    assert_int_equal(error.kind, ERROR_SYSTEM); /* without levels.csv */
    error_clear(&error);
    write_file("levels.csv", "a\n1\n2\n3\n4\n");
    assert_int_equal(saved_run_read(&run, folder, false, &error), STATUS_OK);
    assert_true(run.is_search);
    assert_int_equal(run.levels.rows, 4);
    saved_run_free(&run);
}

/* A run without a result: run.json is empty until the end. */
TEST_BETWEEN(test_an_unfinished_run, make_folder, remove_folder)
{
    char message[200];
    write_run();
    write_file("run.json", "");
    unlink(path_of("summary.csv"));
    assert_int_equal(saved_run_read(&run, folder, false, &error), STATUS_REJECTED);
    snprintf(message, sizeof message,
             "'%s' is not the folder of a finished run: %s/run.json is "
             "empty",
             folder, folder);
    assert_string_equal(error.text, message);
    assert_int_equal(error.kind, ERROR_NOT_FOUND);
    assert_int_equal(error.native_code, 0);
    error_clear(&error);
    assert_int_equal(saved_run_read(&run, folder, true, &error), STATUS_OK);
    assert_true(run.is_unfinished);
    assert_string_equal(saved_run_text(&run, "verdict"), "UNFINISHED");
    assert_string_equal(saved_run_text(&run, "verdict_reason"),
                        "the run has not ended, or was ended before it could write its result: "
                        "only its per-second figures are known");
    assert_int_equal(run.intervals.rows, 2);
    saved_run_free(&run);
    /* while it runs, the caller knows the result so far */
    assert_int_equal(saved_run_read_running(&run, folder, json, summary, &error), STATUS_OK);
    assert_true(run.is_running && !run.is_search);
    assert_string_equal(saved_run_text(&run, "verdict"), "DEGRADED");
    assert_int_equal(value_of(FIGURE_CPUS)->count, 4);
    assert_int_equal(run.samples.rows, 3);
    saved_run_free(&run);
    assert_int_equal(saved_run_read_running(&run, folder, json, "verdict\n", &error),
                     STATUS_REJECTED);
    snprintf(message, sizeof message, "%s/summary.csv has 0 rows instead of 1", folder);
    assert_string_equal(error.text, message);
    assert_int_equal(error.native_code, 0);
}

/* The exact messages about files that a folder lacks. A % stands for the path of the folder. */
TEST_BETWEEN(test_no_run, make_folder, remove_folder)
{
    static const struct {
        const char *name, *text; /* a file to write; text NULL: to remove */
        enum error_kind kind;
        const char *message;
    } cases[] = {
        {"run.json", NULL, ERROR_NOT_FOUND,
         "'%' is not the folder of a finished run: it has no run.json"},
        {"run.json", "{\"format\": 3}", ERROR_DATA,
         "%/run.json does not have format 2, the only format that this version of append reads"},
        {"run.json", "{\"format\": \"2\"}", ERROR_DATA,
         "%/run.json does not have format 2, the only format that this version of append reads"},
        {"run.json", "\n{", ERROR_DATA,
         "%/run.json line 2: string or '}' expected near end of file"},
        {"summary.csv", NULL, ERROR_SYSTEM, "%/summary.csv: No such file or directory"},
        {"summary.csv", "a\n1\n2\n", ERROR_DATA, "%/summary.csv has 2 rows instead of 1"},
        {"intervals.csv", NULL, ERROR_SYSTEM, "%/intervals.csv: No such file or directory"},
        {"intervals.csv", "", ERROR_DATA, "%/intervals.csv line 1: there is no header"},
        {"samples.csv", NULL, ERROR_SYSTEM, "%/samples.csv: No such file or directory"},
        {"hosts_intervals.csv", "a,b\n1\n", ERROR_DATA,
         "%/hosts_intervals.csv line 2: the row and the header have different numbers of cells"},
    };
    EACH_CASE (i, cases, "%s", cases[i].message) {
        char message[256] = "";
        write_run();
        unlink(path_of("hosts_intervals.csv"));
        unlink(path_of(cases[i].name));
        if (cases[i].text != NULL) {
            write_file(cases[i].name, cases[i].text);
        }
        error_clear(&error);
        assert_int_equal(saved_run_read(&run, folder, false, &error), STATUS_REJECTED);
        const char *mark = strchr(cases[i].message, '%');
        snprintf(message, sizeof message, "%.*s%s%s", (int)(mark - cases[i].message),
                 cases[i].message, folder, mark + 1);
        assert_string_equal(error.text, message);
        assert_int_equal(error.kind, cases[i].kind);
        assert_int_equal(error.native_code != 0, cases[i].kind == ERROR_SYSTEM);
        assert_null(run.json);
        assert_null(run.summary.cells);
    }
    char path[SAVED_RUN_PATH_BYTES + 1], message[256];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    error_clear(&error);
    assert_int_equal(saved_run_read(&run, path, false, &error), STATUS_REJECTED);
    snprintf(message, sizeof message, "the path '%.60s…' is too long", path);
    assert_string_equal(error.text, message);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_int_equal(error.native_code, 0);
    error_clear(&error);
    path[sizeof path - 2] = '/'; /* a slash at the end does not count */
    assert_int_equal(saved_run_read(&run, path, false, &error), STATUS_REJECTED);
    assert_int_equal(error.kind, ERROR_NOT_FOUND);
    error_clear(&error);
    assert_int_equal(saved_run_read_running(&run, path, "{", summary, &error), STATUS_REJECTED);
    assert_int_equal(error.kind, ERROR_MEMORY);
    assert_false(saved_has_file(path, "run.json"));
}
