/* The table of figures: its rows are consistent, and all of them are visited. */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/figures.h"

static bool has_end(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Every key ends in its unit, and no two figures share a key. */
TEST(test_rows)
{
    for (size_t i = 0; i < FIGURES; i++) {
        const struct figure *figure = &figure_table[i];
        assert_int_equal(figure->label != NULL, figure->group != FIGURE_GROUP_NONE);
        assert_true(figure->key != NULL || figure->path[0] != '\0');
        if (figure->key == NULL) {
            continue;
        }
        assert_ptr_equal(figure_of_key(figure->key), figure);
        assert_true(strlen(figure->key) < FIGURE_KEY_BYTES);
        assert_true(strlen(figure->path) == 0 || figure->path[0] != ' ');
        if (figure->unit != FIGURE_UNIT_PERCENT && figure->unit != FIGURE_UNIT_TEXT) {
            static const char *const ends[] = {"_rows_per_s", "_ms", "_s", "_mib"};
            bool says_unit = figure_suffix(figure->key)[0] != '\0';
            for (size_t end = 0; end < sizeof ends / sizeof ends[0]; end++) {
                if (has_end(figure->key, ends[end]) && !says_unit) {
                    fail_msg("%s does not have the unit that its key ends in", figure->key);
                }
            }
        }
    }
}

/* "section" stands for "section.key". */
static size_t full_path(const struct figure *figure, const char *path, char full[100])
{
    const int length = (int)strcspn(path, " ");
    const bool is_short = memchr(path, '.', (size_t)length) == NULL;
    assert_true(!is_short || figure->key != NULL);
    snprintf(full, 100, "%.*s%s%s", length, path, is_short ? "." : "", is_short ? figure->key : "");
    return (size_t)length + strspn(path + length, " ");
}

/* No two figures share a member of run.json. */
TEST(test_members)
{
    static char paths[2 * FIGURES][100];
    size_t count = 0;
    for (size_t i = 0; i < FIGURES; i++) {
        for (const char *path = figure_table[i].path; *path != '\0'; count++) {
            path += full_path(&figure_table[i], path, paths[count]);
            for (size_t j = 0; j < count; j++) {
                assert_string_not_equal(paths[j], paths[count]);
            }
        }
    }
    assert_true(count > FIGURES / 2);
}

/* All columns appear with their values. The columns of the operations are before those of the idle
 * sessions. */
TEST(test_cells)
{
    static struct figure_set set;
    set = (struct figure_set){.operations = operation_list_all()};
    set.values[FIGURE_ELAPSED_S] = (struct figure_value){.is_known = true, .number = 1.23456};
    set.values[FIGURE_ROWS_LOST].count = 7;
    set.values[FIGURE_NOTE].text = "a note";
    set.latencies[OPERATION_APPEND] = (struct figure_latency){.count = 3, .points_ms = {0.7, 0.5}};
    struct figure_cell cell;
    size_t count = 0, columns = OPERATIONS * figure_points_default().count;
    for (size_t i = 0; i < FIGURES; i++) {
        columns += figure_table[i].key == NULL ? 0 : 1;
    }
    const char *before = "";
    char last[FIGURE_KEY_BYTES];
    for (size_t at = 0; figure_next_cell(&set, &at, &cell); count++) {
        char text[FIGURE_TEXT_BYTES];
        const char *value = figure_format(cell.unit, &cell.value, text);
        if (strcmp(cell.key, "elapsed_s") == 0) {
            assert_string_equal(value, "1.235");
        } else if (strcmp(cell.key, "note") == 0) {
            assert_string_equal(value, "a note");
        } else if (strcmp(cell.key, "append_mean_ms") == 0) {
            assert_string_equal(value, "0.700000");
            assert_string_equal(before, "script_percent");
        } else if (strcmp(cell.key, "append_p50_ms") == 0) {
            assert_string_equal(value, "0.500000");
        } else if (strcmp(cell.key, "idle_sessions") == 0) {
            assert_string_equal(before, "rollback_max_ms");
        } else {
            assert_false(strcmp(cell.key, "rows_lost") == 0 && value[0] != '\0');
        }
        snprintf(last, sizeof last, "%s", cell.key);
        before = last;
    }
    assert_int_equal(count, columns);
    double value;
    assert_true(figure_get(&set, FIGURE_ELAPSED_S, &value) && value == 1.23456);
    assert_false(figure_get(&set, FIGURE_ROWS_LOST, &value));
    assert_false(figure_get(&set, FIGURE_NOTE, &value));
    assert_string_equal(figure_text(&set, FIGURE_NOTE), "a note");
    assert_string_equal(figure_text(&set, FIGURE_TARGET), "");
}

/* A percentile is a number from 1 to 99.9999; equal percentiles have one key. */
TEST(test_percentiles)
{
    static const struct {
        const char *text, *key, *title; /* NULL if the text is refused */
        double quantile;
    } cases[] = {
        {"50", "p50", "p50", 0.5},
        {"5", "p5", "p5", 0.05},
        {"99.9", "p999", "p99.9", 0.999},
        {"99.90", "p999", "p99.9", 0.999},
        {"50.0", "p50", "p50", 0.5},
        {"99.9999,1", "p999999", "p99.9999", 0.999999},
        {"0", NULL, NULL, 0},
        {"05", NULL, NULL, 0},
        {"5.5", NULL, NULL, 0},
        {"100", NULL, NULL, 0},
        {"99.", NULL, NULL, 0},
        {"99.99999", NULL, NULL, 0},
        {"p50", NULL, NULL, 0},
        {"-1", NULL, NULL, 0},
        {"", NULL, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct figure_point point = {.key = ""};
        const size_t length = figure_point_parse(cases[i].text, &point);
        if ((length > 0) != (cases[i].key != NULL) ||
            (length > 0 &&
             (length != strcspn(cases[i].text, ",") || strcmp(point.key, cases[i].key) != 0 ||
              strcmp(point.title, cases[i].title) != 0 || point.quantile != cases[i].quantile))) {
            fail_msg("%s: %s %s %.9g", cases[i].text, point.key, point.title, point.quantile);
        }
    }
}

/* The listed percentiles are shown in ascending order. The default percentiles that are not listed
 * are only in the files. */
TEST(test_points)
{
    struct figure_points points = figure_points_default();
    const char *wrong;
    assert_true(figure_points_show(&points, "99,75,99.99", &wrong));
    char keys[200] = "", shown[200] = "";
    for (size_t i = 0; i < points.count; i++) {
        char *to = points.entries[i].is_in_files_only ? keys : shown;
        snprintf(to + strlen(to), sizeof keys - strlen(to), "%s ", points.entries[i].key);
    }
    assert_string_equal(shown, "mean p75 p99 p9999 max ");
    assert_string_equal(keys, "p50 p90 p95 p999 ");
    assert_false(figure_points_show(&points, "50,,90", &wrong));
    assert_string_equal(wrong, ",90");
    char number[8];
    size_t added = points.count;
    for (int i = 1; i < 99; i++) {
        struct figure_point point;
        snprintf(number, sizeof number, "%d", i);
        assert_true(figure_point_parse(number, &point) > 0);
        added += figure_points_add(&points, &point) && points.count > added ? 1 : 0;
    }
    assert_int_equal(points.count, FIGURE_POINTS_MAX);
    assert_int_equal(added, FIGURE_POINTS_MAX);
}

TEST(test_units)
{
    assert_int_equal(figure_unit_of("exit_code"), FIGURE_UNIT_ID);
    assert_int_equal(figure_unit_of("append_p99_ms"), FIGURE_UNIT_MS);
    assert_int_equal(figure_unit_of("pace_rows_per_s"), FIGURE_UNIT_ROWS_PER_S);
    assert_string_equal(figure_unit("server_cpu_percent_at_max"), " %");
    assert_string_equal(figure_suffix("server_cpu_percent_at_max"), "");
    assert_string_equal(figure_unit("rows_lost"), "");
    assert_int_equal(figure_unit_of("transactions_per_s"), FIGURE_UNIT_PER_S);
    assert_string_equal(figure_unit("transactions_per_s"), " /s");
}

/* Scripted operations come after append's own, have no columns, and are limited in number. */
TEST(test_operations)
{
    static struct figure_set set;
    set = (struct figure_set){.operations = operation_list_all()};
    struct figure_cell cell;
    size_t columns = 0, all = 0;
    assert_int_equal(set.operations.count, OPERATIONS);
    for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
        columns++;
    }
    while (operation_list_add(&set.operations, "find", OPERATION_IS_READ)) {
        const struct operation *added = &set.operations.entries[set.operations.count - 1];
        assert_string_equal(added->name, "find");
        assert_int_equal(added->kind, OPERATION_IS_READ);
        assert_false(operation_is_used(&set.operations, set.operations.count - 1));
    }
    assert_int_equal(set.operations.count, OPERATIONS_MAX);
    set.operations.when |= OPERATION_WITH_SCRIPT;
    assert_true(operation_is_used(&set.operations, OPERATIONS_MAX - 1));
    for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
        all++;
    }
    assert_int_equal(all, columns);
    for (size_t i = 0; i < OPERATION_COUNTS; i++) {
        assert_non_null(operation_count_names[i]);
    }
}

/* The cells of one operation: its counts, its percentiles and, with waits, the share of each
 * class. */
TEST(test_operation_cells)
{
    static struct figure_set set;
    static uint64_t counts[OPERATIONS_MAX][OPERATION_COUNTS];
    set = (struct figure_set){.operations = operation_list_all(),
                              .counts = (const uint64_t(*)[OPERATION_COUNTS])counts};
    const size_t points = set.operations.points.count;
    set.latencies[OPERATION_READ] = (struct figure_latency){.count = 3, .points_ms = {0.7, 0.5}};
    set.waits[OPERATION_READ].is_known = true;
    for (size_t i = 0; i < WAIT_CLASSES; i++) {
        set.waits[OPERATION_READ].percents[i] = (double)i + 1;
    }
    for (size_t i = 0; i < OPERATION_COUNTS; i++) {
        counts[OPERATION_READ][i] = 100 + i;
    }
    for (int has_waits = 0; has_waits < 2; has_waits++) {
        struct figure_cell cell;
        size_t count = 0;
        set.operations.has_waits = has_waits != 0;
        for (size_t at = 0; figure_next_operation_cell(&set, OPERATION_READ, &at, &cell); count++) {
            char key[FIGURE_KEY_BYTES];
            if (count < OPERATION_COUNTS) {
                assert_string_equal(cell.key, operation_count_names[count]);
                assert_true(cell.value.is_known ? cell.value.count == 100 + count
                                                : cell.value.count == 0);
                assert_int_equal(cell.unit, FIGURE_UNIT_COUNT);
            } else if (count < OPERATION_COUNTS + points) {
                const size_t point = count - OPERATION_COUNTS;
                snprintf(key, sizeof key, "%s_ms", set.operations.points.entries[point].key);
                assert_string_equal(cell.key, key);
                assert_true(cell.value.is_known && cell.unit == FIGURE_UNIT_MS);
                assert_true(cell.value.number == set.latencies[OPERATION_READ].points_ms[point]);
            } else {
                const size_t class = count - OPERATION_COUNTS - points;
                snprintf(key, sizeof key, "waits_%s_percent", figure_wait_keys[class]);
                assert_string_equal(cell.key, key);
                assert_int_equal(figure_wait_class(figure_wait_keys[class]), class);
                assert_true(cell.value.is_known && cell.unit == FIGURE_UNIT_PERCENT);
                assert_true(cell.value.number == (double)class + 1);
            }
        }
        assert_int_equal(count, OPERATION_COUNTS + points + (has_waits ? WAIT_CLASSES : 0));
    }
    assert_int_equal(figure_wait_class("nothing"), WAIT_CLASSES);
    size_t at = OPERATION_COUNTS + points;
    struct figure_cell cell;
    assert_true(figure_next_operation_cell(&set, OPERATION_APPEND, &at, &cell));
    assert_false(cell.value.is_known);
}

/* The names and numbers of the default points of a latency. */
TEST(test_usual_points)
{
    static const struct figure_point expected[] = {
        {"mean", "mean", 0, false},  {"p50", "p50", 0.5, false},  {"p90", "p90", 0.9, true},
        {"p95", "p95", 0.95, false}, {"p99", "p99", 0.99, false}, {"p999", "p99.9", 0.999, false},
        {"max", "max", 1, false},
    };
    const struct figure_points points = figure_points_default();
    assert_int_equal(points.count, sizeof expected / sizeof *expected);
    EACH_CASE (i, expected, "%s", expected[i].key) {
        assert_string_equal(points.entries[i].key, expected[i].key);
        assert_string_equal(points.entries[i].title, expected[i].title);
        assert_true(points.entries[i].quantile == expected[i].quantile);
        assert_int_equal(points.entries[i].is_in_files_only, expected[i].is_in_files_only);
    }
    /* adding an equal point shows the point if either of the two is shown */
    struct figure_points own = points;
    struct figure_point point = {"p90", "p90", 0.9, false};
    assert_true(figure_points_add(&own, &point));
    assert_int_equal(own.count, points.count);
    assert_false(own.entries[2].is_in_files_only);
    point = (struct figure_point){"p1", "p1", 0.01, true};
    assert_true(figure_points_add(&own, &point));
    assert_string_equal(own.entries[1].key, "p1");
    assert_string_equal(own.entries[2].key, "p50");
    assert_int_equal(own.count, points.count + 1);
    own = (struct figure_points){.count = 0};
    assert_true(figure_points_add(&own, &point));
    assert_int_equal(own.count, 1);
}

TEST(test_names_of_operations)
{
    static const struct {
        enum operation_kind kind;
        const char *name, *key;
    } cases[] = {
        {OPERATION_IS_CALL, "call", "x"},
        {OPERATION_IS_TRANSACTION, "transaction", "transaction.x"},
        {OPERATION_IS_READ, "read", "statement.x"},
        {OPERATION_IS_WRITE, "write", "statement.x"},
        {OPERATION_IS_OTHER, "other", "statement.x"},
    };
    EACH_CASE (i, cases, "%s", cases[i].name) {
        const struct operation operation = {.name = "x", .kind = cases[i].kind};
        char key[FIGURE_KEY_BYTES];
        assert_string_equal(operation_kind_names[cases[i].kind], cases[i].name);
        assert_string_equal(operation_key(&operation, key), cases[i].key);
    }
    /* each place in the order of the columns has exactly one operation */
    const struct operation_list list = operation_list_all();
    bool is_taken[OPERATIONS] = {false};
    for (size_t place = 0; place < OPERATIONS; place++) {
        const size_t operation = operation_at(&list, place);
        assert_true(operation < OPERATIONS && !is_taken[operation]);
        assert_int_equal(list.entries[operation].place, place);
        is_taken[operation] = true;
    }
    assert_int_equal(operation_at(&list, OPERATIONS + 1), OPERATIONS + 1);
}

/* How the figures of each unit are written. */
TEST(test_formats)
{
    static const struct {
        enum figure_unit unit;
        const char *text;
    } cases[] = {
        {FIGURE_UNIT_COUNT, "7"},
        {FIGURE_UNIT_ID, "7"},
        {FIGURE_UNIT_FLAG, "7"},
        {FIGURE_UNIT_MOMENT, "1234.567891"},
        {FIGURE_UNIT_ROWS_PER_S, "1234.6"},
        {FIGURE_UNIT_PER_S, "1234.6"},
        {FIGURE_UNIT_MIB_PER_S, "1234.568"},
        {FIGURE_UNIT_MS, "1234.567891"},
        {FIGURE_UNIT_US_PER_ROW, "1234.568"},
        {FIGURE_UNIT_S, "1234.568"},
        {FIGURE_UNIT_MIB, "1234.57"},
        {FIGURE_UNIT_PERCENT, "1234.57"},
        {FIGURE_UNIT_BYTES_PER_ROW, "1234.6"},
        {FIGURE_UNIT_RATIO, "1234.568"},
        {FIGURE_UNIT_VALUE, "1234.5678912345"},
        {FIGURE_UNIT_TEXT, "words"},
        {FIGURE_UNIT_WORD, "words"},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct figure_value value = {
            .is_known = true, .count = 7, .number = 1234.5678912345, .text = "words"};
        char text[FIGURE_TEXT_BYTES];
        const bool is_text = !figure_is_number(cases[i].unit) || cases[i].unit == FIGURE_UNIT_WORD;
        assert_string_equal(figure_format(cases[i].unit, &value, text), cases[i].text);
        value.is_known = false;
        value.text = NULL;
        assert_string_equal(figure_format(cases[i].unit, &value, text), "");
        value.is_known = true;
        value.number = (double)INFINITY;
        if (!is_text && !figure_is_whole(cases[i].unit)) {
            assert_string_equal(figure_format(cases[i].unit, &value, text), "");
        }
    }
    static const char *const units[][3] = {
        {"x_rows_per_s", "_rows_per_s", " rows/s"},
        {"x_mib_per_s", "_mib_per_s", " MiB/s"},
        {"x_per_s", "_per_s", " /s"},
        {"x_ms", "_ms", " ms"},
        {"x_us_per_row", "_us_per_row", " us"},
        {"x_s", "_s", " s"},
        {"x_mib", "_mib", " MiB"},
        {"x_percent", "_percent", " %"},
        {"x_bytes_per_row", "_bytes_per_row", " B"},
        {"x", "", ""},
        {"s", "", ""},
        {METRIC_PREFIX "x_ms", "", ""},
    };
    EACH_CASE (i, units, "%s", units[i][0]) {
        assert_string_equal(figure_suffix(units[i][0]), units[i][1]);
        assert_string_equal(figure_unit(units[i][0]), units[i][2]);
    }
    assert_int_equal(figure_unit_of(METRIC_PREFIX "x_ms"), FIGURE_UNIT_VALUE);
    assert_null(figure_of_key("nothing"));
    assert_string_equal(figure_of_key("elapsed_s")->key, "elapsed_s");
}

/* With waits, the columns end with the shares of the classes in the calls of a run. */
TEST(test_columns_of_waits)
{
    static const enum operation_id calls[] = {OPERATION_APPEND, OPERATION_READ, OPERATION_BEGIN,
                                              OPERATION_COMMIT, OPERATION_ROLLBACK};
    static struct figure_set set;
    struct figure_cell cell;
    set = (struct figure_set){.operations = operation_list_all()};
    size_t columns = 0;
    for (size_t at = 0; figure_next_cell(&set, &at, &cell); columns++) {
        assert_null(strstr(cell.key, "_waits_"));
    }
    set.operations.has_waits = true;
    set.waits[OPERATION_READ].is_known = true;
    set.waits[OPERATION_READ].percents[WAIT_LOG] = 12;
    size_t count = 0;
    for (size_t at = 0; figure_next_cell(&set, &at, &cell); count++) {
        if (count < columns) {
            continue;
        }
        const size_t call = (count - columns) / WAIT_CLASSES,
                     class = (count - columns) % WAIT_CLASSES;
        char key[2 * FIGURE_KEY_BYTES];
        assert_true(call < sizeof calls / sizeof *calls);
        snprintf(key, sizeof key, "%s_waits_%s_percent", set.operations.entries[calls[call]].name,
                 figure_wait_keys[class]);
        assert_string_equal(cell.key, key);
        assert_int_equal(cell.unit, FIGURE_UNIT_PERCENT);
        assert_int_equal(cell.value.is_known, calls[call] == OPERATION_READ);
        assert_true(cell.value.number ==
                    (calls[call] == OPERATION_READ && class == WAIT_LOG ? 12 : 0));
    }
    assert_int_equal(count, columns + WAIT_CLASSES * sizeof calls / sizeof *calls);
}

/* Transactions have only the counts of transactions. All other operations have only the counts of
 * statements. */
TEST(test_counts_of_operations)
{
    static struct figure_set set;
    static uint64_t counts[OPERATIONS_MAX][OPERATION_COUNTS];
    set = (struct figure_set){.operations = operation_list_all()};
    assert_true(operation_list_add(&set.operations, "t", OPERATION_IS_TRANSACTION));
    assert_true(operation_list_add(&set.operations, "s", OPERATION_IS_WRITE));
    for (int has_counts = 0; has_counts < 2; has_counts++) {
        set.counts = has_counts ? (const uint64_t(*)[OPERATION_COUNTS])counts : NULL;
        for (size_t operation = OPERATIONS; operation < OPERATIONS + 2; operation++) {
            struct figure_cell cell;
            size_t at = 0;
            for (size_t i = 0; i < OPERATION_COUNTS; i++) {
                assert_true(figure_next_operation_cell(&set, operation, &at, &cell));
                assert_int_equal(cell.value.is_known, has_counts && (i >= COUNTS_OF_TRANSACTIONS) ==
                                                                        (operation == OPERATIONS));
            }
        }
    }
}
