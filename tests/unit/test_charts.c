/* The charts of a report: the data of their lines, and their drawing in the page. */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "report/report.h"

static void parse(struct csv_table *table, const char *text)
{
    struct error error;
    error_clear(&error);
    assert_int_equal(csv_table_parse(table, "x.csv", strdup(text), &error), STATUS_OK);
}

/* Makes a report of one run from the texts of the run's files. `operations` is the text of
 * operations_intervals.csv, or NULL. */
static void make_report_of(struct report *report, const char *intervals, const char *samples,
                           const char *operations, const char *json, bool is_over_rows)
{
    *report = (struct report){.run_count = 1, .has_run_charts = true, .is_over_rows = is_over_rows};
    report->runs = calloc(1, sizeof *report->runs);
    assert_non_null(report->runs);
    struct saved_run *run = &report->runs[0].run;
    snprintf(run->folder, sizeof run->folder, "/nonexistent");
    parse(&run->summary, "elapsed_s,adapter\n3.5,null\n");
    run->figures.values[FIGURE_ELAPSED_S] = (struct figure_value){.is_known = true, .number = 3.5};
    run->figures.values[FIGURE_SERVER_NOTE].text = "it is elsewhere";
    parse(&run->intervals, intervals);
    parse(&run->samples, samples);
    if (operations != NULL) {
        parse(&run->operations_intervals, operations);
    }
    run->json = json_loads(json, 0, NULL);
    assert_non_null(run->json);
    assert_true(charts_make(report));
}

static void make_report_across(struct report *report, const char *intervals, const char *samples,
                               const char *json, bool is_over_rows)
{
    make_report_of(report, intervals, samples, NULL, json, is_over_rows);
}

static void make_report(struct report *report, const char *intervals, const char *samples,
                        const char *json)
{
    make_report_across(report, intervals, samples, json, false);
}

static const struct chart *find(const struct report *report, const char *name)
{
    for (size_t i = 0; i < report->charts.count; i++) {
        if (strcmp(report->charts.entries[i].name, name) == 0) {
            return &report->charts.entries[i];
        }
    }
    return NULL;
}

static const char *absent(const struct report *report)
{
    return buffer_text(&report->runs[0].absent);
}

/* Each row is a level from its start to its end; a row without a value is a gap. */
TEST(test_levels)
{
    struct report report;
    make_report(&report, "start_s,end_s,append_p50_ms,append_p99_ms\n0,1,5,\n1,2,,\n2,3.5,7,\n",
                "start_s,end_s\n", "{}");
    const struct chart *chart = find(&report, "append-latency");
    assert_string_equal(chart->title, "Append latency each second");
    assert_int_equal(chart->series_count, 1);
    const struct chart_series *series = &chart->series[0];
    assert_int_equal(series->count, 3);
    assert_true(series->points[0].from == 0 && series->points[0].to == 1);
    assert_true(series->points[0].y == 5);
    assert_true(isnan(series->points[1].y));
    assert_true(series->points[2].to == 3.5 && series->points[2].y == 7);
    struct buffer html;
    buffer_init(&html);
    svg_add_chart(&html, chart, 1);
    assert_non_null(strstr(buffer_text(&html), "d=\"M0 5H1M2 7H3.5\"")); /* the values themselves */
    assert_non_null(strstr(buffer_text(&html), "viewBox=\"0 -8 3.5 8\""));
    buffer_fini(&html);
    report_free(&report);
}

/* A long run has more rows than a chart can show. Each point then stands for several rows: it shows
 * the mean of their rates and the highest of their latencies. */
TEST(test_merged)
{
    enum {
        ROWS = 2 * CHART_STEPS_MAX
    };
    struct buffer text;
    buffer_init(&text);
    buffer_add_text(&text, "start_s,end_s,rows_per_s,append_p50_ms\n");
    for (int i = 0; i < ROWS; i++) {
        const int value = i % 2 == 0 ? 10 : 30;
        buffer_add_format(&text, "%d,%d,%d,%d\n", i, i + 1, value, value);
    }
    struct report report;
    make_report(&report, buffer_text(&text), "start_s,end_s\n", "{}");
    const struct chart_series *rows = &find(&report, "rows-per-second")->series[0];
    assert_int_equal(rows->count, CHART_STEPS_MAX);
    assert_true(rows->points[0].y == 20);
    assert_true(rows->points[CHART_STEPS_MAX - 1].to == ROWS);
    assert_string_equal(find(&report, "rows-per-second")->note,
                        "Each step of the line is the mean of 2 intervals.");
    assert_true(find(&report, "append-latency")->series[0].points[0].y == 30);
    report_free(&report);
    buffer_fini(&text);
}

/* Makes operations_intervals.csv: in each interval a row for each of `count` transactions and a row
 * for a statement. Transaction i commits i + 1 times in each interval. */
static void write_operations(struct buffer *text, int intervals, int count)
{
    buffer_init(text);
    buffer_add_text(text, "start_s,end_s,operation,kind,count,p99_ms\n");
    for (int i = 0; i < intervals; i++) {
        buffer_add_format(text, "%d,%d,s,write,1000,900\n", i, i + 1);
        for (int k = 0; k < count; k++) {
            buffer_add_format(text, "%d,%d,t%d,transaction,%d,%d\n", i, i + 1, k, k + 1,
                              i % 2 == 0 ? 10 * k + 1 : 10 * k + 2);
        }
    }
}

/* The chart has the transactions with the most commits, and its note names the others. */
TEST(test_transactions)
{
    static const char intervals[] = "start_s,end_s,errors,retries,checks_failed\n0,1,0,7,0\n";
    struct buffer text;
    struct report report;
    write_operations(&text, 2, CHART_SERIES_MAX + 2);
    make_report_of(&report, intervals, "start_s,end_s\n", buffer_text(&text), "{}", false);
    const struct chart *chart = find(&report, "transactions-p99");
    assert_int_equal(chart->series_count, CHART_SERIES_MAX);
    assert_string_equal(chart->series[0].name, "t9");
    assert_string_equal(chart->series[CHART_SERIES_MAX - 1].name, "t2");
    assert_int_equal(chart->series[0].count, 2);
    assert_true(chart->series[0].points[0].y == 91 && chart->series[0].points[1].y == 92);
    assert_true(chart->series[0].points[1].from == 1 && chart->series[0].points[1].to == 2);
    assert_string_equal(chart->note,
                        "The 8 transactions with the most commits. Not drawn: t1, t0.");
    assert_true(find(&report, "retries")->series[0].points[0].y == 7);
    assert_null(find(&report, "errors"));
    assert_null(find(&report, "checks-failed"));
    report_free(&report);
    buffer_fini(&text);

    write_operations(&text, 2, 1);
    make_report_of(&report, intervals, "start_s,end_s\n", buffer_text(&text), "{}", false);
    assert_null(
        find(&report, "transactions-p99")); /* the chart of all transactions has this line */
    report_free(&report);
    buffer_fini(&text);
}

/* In a long run a level shows the highest p99 of its intervals, and ignores other operations. */
TEST(test_merged_transactions)
{
    struct buffer text;
    struct report report;
    write_operations(&text, 2 * CHART_STEPS_MAX, 2);
    make_report_of(&report, "start_s,end_s\n", "start_s,end_s\n", buffer_text(&text), "{}", false);
    const struct chart *chart = find(&report, "transactions-p99");
    assert_int_equal(chart->series_count, 2);
    assert_string_equal(chart->series[1].name, "t0");
    assert_int_equal(chart->series[1].count, CHART_STEPS_MAX);
    assert_true(chart->series[1].points[5].from == 10 && chart->series[1].points[5].to == 12);
    assert_true(chart->series[1].points[5].y == 2);
    assert_string_equal(chart->note, "Each step of the line is the highest of 2 intervals.");
    report_free(&report);
    buffer_fini(&text);
}

/* Samples lack the number of rows, so the chart takes the number from the interval at the time of
 * the sample, also in a long run. An interval without the number is skipped. */
TEST(test_over_rows)
{
    enum {
        LINES = 40000
    };
    struct buffer intervals, samples;
    buffer_init(&intervals);
    buffer_init(&samples);
    buffer_add_text(&intervals, "start_s,end_s,rows,rows_held\n");
    buffer_add_text(&samples, "start_s,end_s,client_memory_mib\n");
    for (int i = 0; i < LINES; i++) {
        buffer_add_format(&intervals, i % 3 == 1 ? "%d,%d,10,\n" : "%d,%d,10,%d\n", i, i + 1,
                          10 * i + 110);
        buffer_add_format(&samples, "%d,%d,5\n", i, i + 1);
    }
    struct report report;
    make_report_across(&report, buffer_text(&intervals), buffer_text(&samples), "{}", true);
    const struct chart *chart = find(&report, "memory");
    assert_non_null(chart);
    const struct chart_series *series = &chart->series[0];
    assert_true(series->points[0].from == 100);
    for (size_t i = 1; i < series->count; i++) {
        assert_true(series->points[i].from == series->points[i - 1].to);
    }
    assert_true(fabs(series->points[0].to - (100 + 10 * 67)) < 1e-6);
    assert_true(series->points[series->count - 1].to == 100 + 10 * LINES);
    report_free(&report);
    buffer_fini(&intervals);
    buffer_fini(&samples);
}

TEST(test_run)
{
    struct report report;
    make_report(&report,
                "start_s,end_s,rows_per_s,sessions_alive,sessions_without_progress,errors,"
                "append_p50_ms,append_p99_ms,count_p50_ms,count_p99_ms\n"
                "0,1,100,4,0,0,1,200,,\n1,2.5,300,4,2,0,2,90,,\n",
                "start_s,end_s,server_cpu_percent,client_cpu_percent,host_cpu_percent,"
                "server_memory_mib,client_memory_mib\n0,2.5,,7,80,20480,12\n",
                "{\"histograms\": {\"append\": {\"overflow\": 0, \"max_ns\": 30000000,"
                " \"low_ns_count\": [[1000000, 90], [20000000, 9], [30000000, 1]]},"
                " \"count\": {\"low_ns_count\": []}},"
                " \"resources\": {\"server_note\": \"it is elsewhere\"}}");

    assert_int_equal(find(&report, "rows-per-second")->series_count, 1);
    assert_true(find(&report, "append-latency")->is_log); /* values from 1 to 200 */
    assert_null(find(&report, "count-latency"));
    assert_int_equal(find(&report, "sessions")->series_count, 2);
    assert_null(find(&report, "errors"));
    assert_int_equal(find(&report, "cpu")->series_count, 2);
    assert_non_null(strstr(find(&report, "cpu")->note, "it is elsewhere"));
    assert_string_equal(find(&report, "memory")->unit, "GiB");
    assert_true(find(&report, "memory")->series[0].points[0].y == 20);
    assert_non_null(strstr(absent(&report), "no count ended"));
    assert_non_null(strstr(absent(&report), "sessions.csv"));

    const struct chart *percentiles = find(&report, "latency-by-percentile");
    assert_int_equal(percentiles->series_count, 1);
    const struct chart_series *series = &percentiles->series[0];
    assert_int_equal(series->count, 3);
    assert_true(series->points[0].from == 1);            /* 0 % */
    assert_true(fabs(series->points[0].to - 10) < 1e-9); /* 90 % took 1 ms */
    assert_true(series->points[0].y >= 1 &&
                series->points[0].y < 1.017);             /* within the width of a bucket */
    assert_true(fabs(series->points[1].to - 100) < 1e-9); /* 99 % */
    assert_true(series->points[2].to == 100 && series->points[2].y == 30); /* the exact maximum */
    report_free(&report);
}

/* A report of a run without figures has no empty chart: all charts are listed as absent. */
TEST(test_nothing)
{
    struct report report;
    make_report(&report, "start_s,end_s,rows_per_s,sessions_alive,append_p50_ms\n0,0,0,0,\n",
                "start_s,end_s\n", "{}");
    assert_int_equal(report.charts.count, 0);
    static const char *const words[] = {
        "rows over time", "append latency", "percentile", "of sessions",
        "of CPU",         "memory",         "pace"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_non_null(strstr(absent(&report), words[i]));
    }
    report_free(&report);
}

/* The first and the last second of an I/O trace are incomplete. */
TEST(test_layers)
{
    struct report report;
    make_report(&report, "start_s,end_s\n", "start_s,end_s\n",
                "{\"io_trace\": {\"slot_s\": 1, \"slots_from_s\": 1.5, \"slots_to_s\": 3.25,"
                " \"slots_ns\": [[0, 0, 0], [1e9, 0, 5e8], [1e9, 0, 0], [0, 5e8, 5e8]]}}");
    const struct chart *chart = find(&report, "io-layers");
    assert_non_null(chart);
    static const struct chart_point all[] = {
        {1.5, 2, 3, 3, 3}, {2, 3, 1, 1, 1}, {3, 3.25, 4, 4, 4}};
    assert_int_equal(chart->series[0].count, COUNT_OF(all));
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const struct chart_point *point = &chart->series[0].points[i];
        assert_true(point->from == all[i].from && point->to == all[i].to && point->y == all[i].y);
    }
    report_free(&report);
}

/* Two scripted transactions have more statements than a chart has lines. The transactions are
 * first, statements that equal another statement to the last digit are not drawn, and statements
 * that do not fit are named, as far as the note has room. */
TEST(test_latencies_in_order)
{
    static const char *const drawn[] = {"transaction", "order", "look", "commit",
                                        "credit",      "pay",   "new",  "line"};
    struct buffer json;
    buffer_init(&json);
    buffer_add_text(&json, "{\"histograms\": {\"empty\": {\"low_ns_count\": []}");
    static const char *const names[] = {"connect",
                                        "transaction",
                                        "try",
                                        "commit",
                                        "statement.credit",
                                        "statement.pay",
                                        "statement.new",
                                        "statement.line",
                                        "statement.log",
                                        "statement.late_orders_of_today",
                                        "statement.an_order_with_every_line_and_its_item_in_it",
                                        "statement.the_stock_of_every_item_in_every_warehouse_now",
                                        "io.read.total",
                                        "transaction.order",
                                        "transaction.look"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const unsigned ms = strcmp(names[i], "try") == 0 ? 2 : (unsigned)i + 1; /* no retries */
        buffer_add_format(&json,
                          ", \"%s\": {\"overflow\": 0, \"max_ns\": %u000000, \"low_ns_count\":"
                          " [[%u000000, 7]]}",
                          names[i], ms, ms);
    }
    buffer_add_text(&json, "}}");
    struct report report;
    make_report(&report, "start_s,end_s,rows_per_s\n0,1,100\n1,2,100\n", "start_s,end_s\n",
                buffer_text(&json));
    const struct chart *chart = find(&report, "latency-by-percentile");
    assert_int_equal(chart->series_count, sizeof drawn / sizeof drawn[0]);
    for (size_t i = 0; i < chart->series_count; i++) {
        assert_string_equal(chart->series[i].name, drawn[i]);
    }
    assert_string_equal(
        chart->note,
        "Not drawn: log, late_orders_of_today, an_order_with_every_line_and_its_item_in_it, "
        "the_stock_of_every_item_in_every_warehouse_now and 1 more; the table of "
        "latencies has them.");
    report_free(&report);
    buffer_fini(&json);
}

/* Histograms in a run.json that someone has edited. */
TEST(test_bad_histograms)
{
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
        struct report report;
        make_report(&report, "start_s,end_s\n", "start_s,end_s\n", bad[i]);
        assert_int_equal(report.charts.count, 0);
        report_free(&report);
    }
}

/* Draws a chart whose line runs from `from` to `to` at the height `y`. */
static char *draw(struct chart *chart, double from, double to, double y)
{
    struct chart_point point = {from, to, y, y, y};
    struct buffer html;
    buffer_init(&html);
    chart->series_count = 1;
    chart->series[0].points = &point;
    chart->series[0].count = 1;
    svg_add_chart(&html, chart, 7);
    assert_false(buffer_failed(&html));
    return html.bytes;
}

/* Checks the labels of the ticks of axis 'x' or 'y', separated by blanks. */
static void assert_ticks(const char *html, char axis, const char *wanted)
{
    char begin[] = "<g class=\"?\">", labels[600] = "";
    begin[10] = axis;
    const char *at = strstr(html, begin);
    assert_non_null(at);
    const char *end = strstr(at, "</g>");
    while ((at = strstr(at, "<text")) != NULL && at < end) {
        at = strchr(at, '>') + 1;
        const size_t used = strlen(labels);
        snprintf(labels + used, sizeof labels - used, "%s%.*s", used == 0 ? "" : " ",
                 (int)strcspn(at, "<"), at);
    }
    assert_string_equal(labels, wanted);
}

TEST(test_ticks_of_values)
{
    static const struct {
        const char *unit;
        bool is_log;
        double value;
        const char *ticks;
    } cases[] = {{"", false, 48956, "0 10,000 20,000 30,000 40,000 50,000"},
                 {"", false, 0.7, "0.0 0.2 0.4 0.6 0.8"},
                 {"", false, 200, "0 50 100 150 200"},
                 {"", false, 1310000, "0 500,000 1,000,000 1,500,000"},
                 {"", false, 3, "0 1 2 3"},
                 {"", false, 0, "0.0 0.2 0.4 0.6 0.8 1.0"},
                 {"%", false, 30, "0 20 40 60 80 100"},
                 {"ms", false, 3000, "0 1 s 2 s 3 s"},
                 {"ms", false, 0.0021, "0 500 ns 1 us 1.5 us 2 us 2.5 us"},
                 {"ms", true, 7, "5 ms 10 ms"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chart chart = {.unit = cases[i].unit, .label = "", .end = 10};
        chart.is_log = cases[i].is_log;
        char *html = draw(&chart, 0, 10, cases[i].value);
        assert_ticks(html, 'y', cases[i].ticks);
        free(html);
    }
}

TEST(test_ticks_across)
{
    static const struct {
        enum chart_across across;
        double end;
        const char *ticks;
    } cases[] = {{CHART_OVER_TIME, 24.6, "0 5 10 15 20"},
                 {CHART_OVER_TIME, 0.2, "0.00 0.05 0.10 0.15 0.20"},
                 {CHART_OVER_TIME, 299, "0 50 100 150 200 250"},
                 {CHART_OVER_TIME, 600, "0:00 2:00 4:00 6:00 8:00 10:00"},
                 {CHART_OVER_TIME, 7200, "0:00:00 0:30:00 1:00:00 1:30:00 2:00:00"},
                 {CHART_OVER_PERCENTILE, 4000, "50 90 99 99.9"},
                 {CHART_OVER_PERCENTILE, 10, "50 90"},
                 {CHART_OVER_SHARE, 100, "0 20 40 60 80 100"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chart chart = {
            .unit = "", .label = "", .across = cases[i].across, .end = cases[i].end};
        char *html = draw(&chart, 1, 2, 5);
        assert_ticks(html, 'x', cases[i].ticks);
        free(html);
    }
}

/* Foreign texts are escaped in the drawing. If labels would overlap, only the first is kept. */
TEST(test_drawing)
{
    struct chart chart = {.unit = "rows/s",
                          .label = "rows/s",
                          .end = 10,
                          .is_filled = true,
                          .marks = {{5, "<i>"}, {5.01, "later"}},
                          .mark_count = 2};
    snprintf(chart.title, sizeof chart.title, "<b>");
    snprintf(chart.note, sizeof chart.note, "a & b");
    snprintf(chart.series[0].name, sizeof chart.series[0].name, "'x'");
    char *html = draw(&chart, 0, 10, 40);
    assert_non_null(strstr(html, "<b id=\"c7\">&lt;b&gt;</b>"));
    assert_non_null(strstr(html, "<p>a &amp; b</p>"));
    assert_non_null(strstr(html, "<desc id=\"d7\">&#39;x&#39; from 40.0 to 40.0 rows/s</desc>"));
    assert_non_null(strstr(html, "class=\"line area\" d=\"M0 0V40H10V0\""));
    assert_non_null(strstr(html, "d=\"M5 0V45M5.01 0V45\""));
    assert_non_null(strstr(html, "data-at=\"5\""));
    assert_non_null(strstr(html, ">1<title>&lt;i&gt;</title></text>"));
    assert_null(strstr(html, "data-at=\"5.01\""));
    free(html);
}

/* The text of an event is beside its number when the chart has room for both. */
TEST(test_names_of_marks)
{
    struct chart chart = {.unit = "rows/s",
                          .label = "rows/s",
                          .end = 10,
                          .marks = {{0.1, "at the border"}, {3, "index made"}, {7, "restart"}},
                          .mark_count = 3};
    char *html = draw(&chart, 0, 10, 40);
    assert_non_null(strstr(html, ">1<title>at the border</title></text>"));
    assert_non_null(strstr(html, ">2 index made<title>index made</title></text>"));
    assert_non_null(strstr(html, ">3 restart<title>restart</title></text>"));
    free(html);
}

/* A dot for each number of sessions, and a bar from the lowest to the highest run. */
TEST(test_spread)
{
    struct chart_point points[] = {{1, 1, 10, 10, 10}, {2, 2, 20, 15, 40}};
    struct chart chart = {
        .unit = "", .label = "", .across = CHART_OVER_SESSIONS, .series_count = 1};
    chart.series[0].points = points;
    chart.series[0].count = 2;
    struct buffer html;
    buffer_init(&html);
    svg_add_chart(&html, &chart, 1);
    assert_non_null(strstr(buffer_text(&html), "class=\"line\" d=\"M1 10L2 20\""));
    assert_non_null(strstr(buffer_text(&html), "class=\"dots\" d=\"M1 10h0M2 20h0\""));
    assert_non_null(strstr(buffer_text(&html), "d=\"M1 10V10M2 15V40\""));
    assert_ticks(buffer_text(&html), 'y', "0 10 20 30 40");
    buffer_fini(&html);
}

TEST(test_texts)
{
    assert_string_equal(REPORT_ESCAPED("<b a=\"1\" b='2'> & \x1b[31m \xff\n"),
                        "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt; &amp; ?[31m ? ");
    assert_string_equal(REPORT_ESCAPED(NULL), "");

    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},        {0.003, "0.003"},     {1.5, "1.50"},
                 {24.56, "24.6"}, {99.96, "100"},       {100, "100"},
                 {999.6, "1000"}, {16286.46, "16,286"}, {1e9, "1,000,000,000"},
                 {3e20, "3e+20"}, {-1500, "-1,500"},    {-2.5, "-2.50"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[REPORT_WORDS_BYTES];
        assert_string_equal(report_format(cases[i].value, text), cases[i].text);
    }
}
