/* The charts of a run: levels over time, gaps, rows put together, percentiles, what is absent. */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/run_charts.h"
#include "chart/time_charts.h"

static void parse(struct csv_table *table, const char *text)
{
    struct error error;
    error_clear(&error);
    assert_int_equal(csv_table_parse(table, "x.csv", strdup(text), &error), STATUS_OK);
}

static void test_levels(void **state)
{
    (void)state;
    struct csv_table table;
    struct chart chart;
    parse(&table, "start_s,end_s,a,b\n0,1,5,\n1,2,,\n2,3.5,7,\n");
    chart_init(&chart, "n", "t");
    assert_true(time_charts_add(&chart, &table, "a", "a", TIME_MEAN));
    assert_false(time_charts_add(&chart, &table, "b", "b", TIME_MEAN));
    assert_false(time_charts_add(&chart, &table, "c", "c", TIME_MEAN));
    assert_int_equal(chart.series_count, 1);
    const struct chart_series *series = &chart.series[0];
    assert_int_equal(series->count, 5); /* two levels of two points, and a gap */
    assert_true(series->points[1].x == 1 && series->points[1].y == 5);
    assert_true(isnan(series->points[2].y));
    assert_true(series->points[4].x == 3.5 && series->points[4].y == 7);

    struct event events[] = {{.at_ns = 500000000}, {.at_ns = 9000000000}};
    const struct event_list list = {.entries = events, .count = 2};
    time_charts_finish_x(&chart, 3.5, &list);
    assert_string_equal(chart.x.label, "time since the start, s");
    assert_int_equal(chart.mark_count, 1); /* the other is behind the end */
    assert_true(chart.marks[0].x == 0.5 && chart.marks[0].number == 1);
    chart_fini(&chart);
    csv_table_free(&table);
}

static void test_units_of_time(void **state)
{
    (void)state;
    static const struct {
        double end_s, end;
        const char *label;
    } cases[] = {{0.2, 200, "time since the start, ms"},
                 {299, 299, "time since the start, s"},
                 {600, 10, "time since the start, min"},
                 {7200 * 2, 4, "time since the start, h"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chart chart;
        const struct event_list none = {0};
        chart_init(&chart, "n", "t");
        chart_add_point(&chart, chart_add_series(&chart, "s"), cases[i].end_s, 1);
        time_charts_finish_x(&chart, cases[i].end_s, &none);
        assert_string_equal(chart.x.label, cases[i].label);
        assert_true(fabs(chart.x.high - cases[i].end) < 1e-9);
        assert_true(fabs(chart.series[0].points[0].x - cases[i].end) < 1e-9);
        chart_fini(&chart);
    }
}

/* A long run has more rows than a chart has room for. */
static void test_merged(void **state)
{
    (void)state;
    enum {
        ROWS = 2 * TIME_LEVELS_MAX
    };
    struct buffer text;
    buffer_init(&text);
    buffer_add_text(&text, "start_s,end_s,v\n");
    for (int i = 0; i < ROWS; i++) {
        buffer_add_format(&text, "%d,%d,%d\n", i, i + 1, i % 2 == 0 ? 10 : 30);
    }
    struct csv_table table;
    struct chart chart;
    parse(&table, buffer_text(&text));
    chart_init(&chart, "n", "t");
    assert_true(time_charts_add(&chart, &table, "v", "mean", TIME_MEAN));
    assert_true(time_charts_add(&chart, &table, "v", "highest", TIME_HIGHEST));
    assert_int_equal(chart.series[0].count, 2 * TIME_LEVELS_MAX);
    assert_true(chart.series[0].points[0].y == 20);
    assert_true(chart.series[1].points[0].y == 30);
    assert_true(chart.series[1].points[2 * TIME_LEVELS_MAX - 1].x == ROWS);
    chart_fini(&chart);
    csv_table_free(&table);
    buffer_fini(&text);
}

static const struct chart *find(const struct chart_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->entries[i].name, name) == 0) {
            return &list->entries[i];
        }
    }
    return NULL;
}

static void make_run(struct saved_run *run, const char *intervals, const char *samples,
                     const char *json)
{
    *run = (struct saved_run){.folder = "/nonexistent"};
    parse(&run->summary, "elapsed_s,adapter\n2.5,null\n");
    parse(&run->intervals, intervals);
    parse(&run->samples, samples);
    run->json = json_loads(json, 0, NULL);
    assert_non_null(run->json);
}

static void test_run(void **state)
{
    (void)state;
    struct saved_run run;
    make_run(&run,
             "start_s,end_s,rows_per_s,sessions_alive,sessions_without_progress,errors,"
             "append_p50_ms,append_p99_ms,count_p50_ms\n"
             "0,1,100,4,0,0,1,200,\n1,2.5,300,4,2,0,2,90,\n",
             "start_s,end_s,server_cpu_percent,client_cpu_percent,host_cpu_percent,"
             "server_memory_mib,client_memory_mib\n0,2.5,,7,80,20000,12\n",
             "{\"histograms\": {\"append\": {\"overflow\": 0, \"max_ns\": 30000000,"
             " \"low_ns_count\": [[1000000, 90], [20000000, 9], [30000000, 1]]},"
             " \"count\": {\"low_ns_count\": []}},"
             " \"resources\": {\"server_note\": \"it is elsewhere\"}}");
    struct chart_list list = {0};
    struct buffer absent;
    const struct event_list none = {0};
    buffer_init(&absent);
    run_charts_add(&list, &absent, &run, &none);

    assert_int_equal(find(&list, "rows-per-second")->series_count, 1);
    assert_int_equal(find(&list, "append-latency")->y.scale, CHART_LOG); /* 1 to 200 */
    assert_null(find(&list, "count-latency"));
    assert_int_equal(find(&list, "sessions")->series_count, 2);
    assert_null(find(&list, "errors"));
    assert_int_equal(find(&list, "cpu")->series_count, 2);
    assert_non_null(strstr(find(&list, "cpu")->note, "it is elsewhere"));
    assert_string_equal(find(&list, "memory")->y.label, "memory, GiB");
    assert_true(find(&list, "memory")->series[0].points[0].y == 20000.0 / 1024);
    assert_non_null(strstr(buffer_text(&absent), "no count ended"));
    assert_non_null(strstr(buffer_text(&absent), "sessions.csv"));

    const struct chart *percentiles = find(&list, "latency-by-percentile");
    assert_int_equal(percentiles->series_count, 1);
    const struct chart_series *series = &percentiles->series[0];
    assert_int_equal(series->count, 6);
    assert_true(series->points[0].x == 1);                                /* 0 % */
    assert_true(fabs(series->points[1].x - 10) < 1e-9);                   /* 90 % took 1 ms */
    assert_true(series->points[1].y >= 1 && series->points[1].y < 1.017); /* a bucket's width */
    assert_true(fabs(series->points[3].x - 100) < 1e-9);                  /* 99 % */
    assert_true(series->points[5].x == 100 && series->points[5].y == 30); /* the exact maximum */
    chart_list_free(&list);
    buffer_fini(&absent);
    saved_run_free(&run);
}

/* A run of which nothing is known: no chart is empty, all are said to be absent. */
static void test_nothing(void **state)
{
    (void)state;
    struct saved_run run;
    make_run(&run, "start_s,end_s,rows_per_s,sessions_alive\n0,0,0,0\n", "start_s,end_s\n", "{}");
    struct chart_list list = {0};
    struct buffer absent;
    const struct event_list none = {0};
    buffer_init(&absent);
    run_charts_add(&list, &absent, &run, &none);
    assert_int_equal(list.count, 0);
    static const char *const words[] = {
        "rows over time", "append latency", "count latency", "percentile",
        "of sessions",    "of CPU",         "memory",        "pace"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_non_null(strstr(buffer_text(&absent), words[i]));
    }
    chart_list_free(&list);
    buffer_fini(&absent);
    saved_run_free(&run);
}

/* A run.json that somebody has changed. */
static void test_bad_histograms(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"histograms\": {\"append\": {\"max_ns\": 5, \"low_ns_count\": [[-1, 5]]}}}",
        "{\"histograms\": {\"append\": {\"max_ns\": 5, \"low_ns_count\": [[4398046511104, 5]]}}}",
        "{\"histograms\": {\"append\": {\"max_ns\": 5, \"low_ns_count\": [[3, -5]]}}}",
        "{\"histograms\": {\"append\": {\"max_ns\": 5, \"low_ns_count\": [[\"x\"], 7, null]}}}",
        "{\"histograms\": {\"append\": {\"low_ns_count\": [[3, 5]]}}}",
        "{\"histograms\": {\"append\": 5}}",
        "{\"histograms\": []}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct saved_run run;
        make_run(&run, "start_s,end_s\n", "start_s,end_s\n", bad[i]);
        struct chart_list list = {0};
        struct buffer absent;
        const struct event_list none = {0};
        buffer_init(&absent);
        run_charts_add(&list, &absent, &run, &none);
        assert_int_equal(list.count, 0);
        chart_list_free(&list);
        buffer_fini(&absent);
        saved_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),  cmocka_unit_test(test_units_of_time),
        cmocka_unit_test(test_merged),  cmocka_unit_test(test_run),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_bad_histograms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
