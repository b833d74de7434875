/* Charts as data: ticks, what becomes of texts in scripts and pages, and drawings made fit for a
 * page. */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chart/axis.h"
#include "chart/html.h"
#include "chart/script.h"
#include "chart/svg.h"

static void assert_labels(const struct chart_axis *axis, const char *wanted)
{
    char labels[600] = "";
    for (size_t i = 0; i < axis->tick_count; i++) {
        const size_t used = strlen(labels);
        snprintf(labels + used, sizeof labels - used, "%s%s", i == 0 ? "" : " ",
                 axis->ticks[i].label);
    }
    assert_string_equal(labels, wanted);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},        {0.003, "0.003"},     {1.5, "1.50"},
                 {24.56, "24.6"}, {99.96, "100"},       {100, "100"},
                 {999.6, "1000"}, {16286.46, "16,286"}, {1e9, "1,000,000,000"},
                 {3e20, "3e+20"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[AXIS_NUMBER_BYTES];
        assert_string_equal(axis_format_value(cases[i].value, text), cases[i].text);
    }
}

static void test_ticks_from_zero(void **state)
{
    (void)state;
    static const struct {
        double high;
        const char *labels;
    } cases[] = {{48956, "0 10,000 20,000 30,000 40,000 50,000"},
                 {0.7, "0.0 0.2 0.4 0.6 0.8"},
                 {200, "0 50 100 150 200"},
                 {1310000, "0 500,000 1,000,000 1,500,000"},
                 {3, "0 1 2 3"},
                 {0, "0.0 0.2 0.4 0.6 0.8 1.0"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chart_axis axis = {0};
        axis_fit_from_zero(&axis, cases[i].high);
        assert_labels(&axis, cases[i].labels);
        assert_true(axis.low == 0);
        assert_true(axis.high > cases[i].high); /* the line does not run along the border */
    }
}

static void test_other_ticks(void **state)
{
    (void)state;
    struct chart_axis axis = {0};
    axis_fit_span(&axis, 0, 24.6);
    assert_labels(&axis, "0 5 10 15 20");
    assert_true(axis.high == 24.6);

    axis = (struct chart_axis){0};
    axis_fit_log(&axis, 15, 3000);
    assert_true(axis.scale == CHART_LOG && axis.low == 10 && axis.high == 5000);
    assert_labels(&axis, "10 100 1,000");
    axis_fit_log(&axis, 0.3, 1.2);
    assert_labels(&axis, "0.2 0.5 1 2");
    axis_fit_log(&axis, 1e-4, 1e5);
    assert_labels(&axis, "0.0001 0.01 1 100 10,000");
    axis_fit_log(&axis, 7, 7);
    assert_true(axis.low < 7 && axis.high > 7);

    axis_fit_log_time(&axis, 3e-5, 4e4);
    assert_labels(&axis, "1 us 100 us 10 ms 1 s");
    axis_fit_log_time(&axis, 300, 6000);
    assert_labels(&axis, "200 ms 500 ms 1 s 2 s 5 s 10 s");

    axis_fit_percentile(&axis, 4000);
    assert_labels(&axis, "50 90 99 99.9");
    axis_fit_percentile(&axis, 3);
    assert_labels(&axis, "50 90");
}

static void test_too_many(void **state)
{
    (void)state;
    struct chart chart;
    chart_init(&chart, "name", "title");
    for (size_t i = 0; i < CHART_SERIES_MAX; i++) {
        assert_non_null(chart_add_series(&chart, "s"));
    }
    assert_null(chart_add_series(&chart, "s"));
    for (unsigned i = 0; i < CHART_MARKS_MAX; i++) {
        assert_true(chart_add_mark(&chart, i, i + 1));
    }
    assert_false(chart_add_mark(&chart, 1, 1));
    for (size_t i = 0; i < 2 * CHART_TICKS_MAX; i++) {
        axis_add_tick(&chart.y, (double)i, "t");
    }
    assert_int_equal(chart.y.tick_count, CHART_TICKS_MAX);
    assert_false(chart_has_data(&chart));
    chart_add_point(&chart, &chart.series[3], 1, NAN);
    assert_false(chart_has_data(&chart));
    chart_add_point(&chart, &chart.series[3], 1, 4);
    assert_true(chart_has_data(&chart));
    double low, high;
    assert_false(chart_span_y(&chart, 4, &low, &high));
    chart_fini(&chart);
}

/* gnuplot runs what stands in backquotes of a text in double quotes, and reads formats in labels
 * of ticks. */
static void test_script_quotes(void **state)
{
    (void)state;
    struct buffer script;
    buffer_init(&script);
    script_add_quoted(&script, "it's `id` \"x\"\nexit; @y 5 %\x01");
    assert_string_equal(buffer_text(&script), "'it''s `id` \"x\" exit; @y 5 % '");
    buffer_fini(&script);
}

static struct chart *make_chart(struct chart *chart)
{
    chart_init(chart, "x", "Title");
    struct chart_series *one = chart_add_series(chart, "o'ne");
    chart_add_point(chart, one, 0, 10);
    chart_add_point(chart, one, 1, NAN);
    chart_add_point(chart, one, 2, 30.5);
    chart_add_point(chart, chart_add_series(chart, "two"), 0, 1);
    axis_fit_span(&chart->x, 0, 2);
    chart->x.tick_count = 0;
    axis_add_tick(&chart->x, 1.5, "9 %");
    axis_fit_from_zero(&chart->y, 30.5);
    snprintf(chart->y.label, sizeof chart->y.label, "rows/s");
    chart_add_mark(chart, 1.25, 7);
    return chart;
}

static void test_script(void **state)
{
    (void)state;
    struct chart chart;
    struct buffer script;
    buffer_init(&script);
    script_add_chart(&script, make_chart(&chart), TERMINAL_SVG, 0);
    const char *text = buffer_text(&script);
    assert_non_null(strstr(text, "set terminal svg "));
    assert_non_null(strstr(text, "$s0 << EOD\n0 10\n\n2 30.5\nEOD\n")); /* with a gap */
    assert_non_null(strstr(text, "title 'o''ne'"));
    assert_non_null(strstr(text, "'9 %%' 1.5"));
    assert_non_null(strstr(text, "set ylabel 'rows/s'"));
    assert_non_null(strstr(text, "set arrow from 1.25, graph 0"));
    assert_non_null(strstr(text, "set label '7' at 1.25"));
    assert_non_null(strstr(text, "set key off")); /* the page has a legend */
    assert_non_null(strstr(text, "rgb '#000010'"));
    assert_null(strchr(text, '`'));

    buffer_clear(&script);
    script_add_chart(&script, &chart, TERMINAL_TEXT, 10);
    assert_non_null(strstr(buffer_text(&script), "set terminal dumb mono noenhanced size 40,"));
    assert_null(strstr(buffer_text(&script), "set key off"));
    buffer_clear(&script);
    script_add_chart(&script, &chart, TERMINAL_PNG, 0);
    assert_non_null(strstr(buffer_text(&script), "set title 'Title'"));
    assert_null(strstr(buffer_text(&script), "set print"));
    buffer_fini(&script);
    chart_fini(&chart);
}

/* Of labels that would stand on each other some are left out; their ticks and lines stay. */
static void test_labels_have_room(void **state)
{
    (void)state;
    struct chart chart;
    struct buffer script;
    buffer_init(&script);
    chart_init(&chart, "x", "Title");
    chart_add_point(&chart, chart_add_series(&chart, "one"), 0, 10);
    axis_fit_span(&chart.x, 0, 1000000);
    for (size_t i = 0; i < chart.x.tick_count; i++) {
        snprintf(chart.x.ticks[i].label, sizeof chart.x.ticks[i].label, "tick number %zu", i);
    }
    axis_fit_from_zero(&chart.y, 10);
    chart_add_mark(&chart, 500000, 1);
    chart_add_mark(&chart, 501000, 2);
    chart_add_mark(&chart, 600000, 3);
    script_add_chart(&script, &chart, TERMINAL_SVG, 0);
    const char *text = buffer_text(&script);
    assert_non_null(strstr(text, "'tick number 0' 0,'' 200000,'tick number 2' 400000,'' 600000"));
    assert_non_null(strstr(text, "set label '1'"));
    assert_non_null(strstr(text, "set arrow from 501000"));
    assert_null(strstr(text, "set label '2'"));
    assert_non_null(strstr(text, "set label '3'"));

    buffer_clear(&script);
    script_add_chart(&script, &chart, TERMINAL_PNG, 0);
    assert_non_null(strstr(buffer_text(&script), "'tick number 1' 200000"));
    buffer_fini(&script);
    chart_fini(&chart);
}

/* A bar at each point from the lowest to the highest, where they differ. */
static void test_spread(void **state)
{
    (void)state;
    struct chart chart;
    struct buffer script;
    buffer_init(&script);
    chart_init(&chart, "x", "Title");
    struct chart_series *series = chart_add_series(&chart, "one");
    series->has_dots = true;
    chart_add_point(&chart, series, 1, 10);
    axis_fit_span(&chart.x, 0, 3);
    axis_fit_from_zero(&chart.y, 10);
    script_add_chart(&script, &chart, TERMINAL_SVG, 0);
    assert_null(strstr(buffer_text(&script), "yerrorbars"));
    chart_add_spread(&chart, series, &(struct chart_point){2, 20, 15, 40});
    chart_scale_y(&chart, 2);
    double low, high;
    assert_true(chart_span_y(&chart, 0, &low, &high) && low == 20 && high == 80);
    buffer_clear(&script);
    script_add_chart(&script, &chart, TERMINAL_SVG, 0);
    assert_non_null(strstr(buffer_text(&script), "1 20 20 20\n2 40 30 80\n"));
    assert_non_null(strstr(buffer_text(&script), "using 1:2:3:4 with yerrorbars"));
    buffer_fini(&script);
    chart_fini(&chart);
}

static void test_html(void **state)
{
    (void)state;
    struct buffer page;
    buffer_init(&page);
    html_add_text(&page, "<b a=\"1\" b='2'> & \x1b[31m \xff\n");
    assert_string_equal(buffer_text(&page),
                        "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt; &amp; ?[31m ? ");
    buffer_clear(&page);
    html_add_text(&page, NULL);
    assert_string_equal(buffer_text(&page), "");
    html_add_short(&page, "abcdefghij", 6);
    assert_string_equal(buffer_text(&page), "abc...");
    buffer_clear(&page);
    html_add_pair(&page, "a", "");
    html_add_pair(&page, "a", NULL);
    assert_int_equal(page.length, 0);
    html_add_pair(&page, "a<", "b");
    assert_string_equal(buffer_text(&page), "<tr><th scope=\"row\">a&lt;</th><td>b</td></tr>\n");
    buffer_fini(&page);
}

static const char drawing[] =
    "<?xml version=\"1.0\"?>\n<svg \n width=\"1\" viewBox=\"0 0 460 255\"\n"
    " xmlns=\"http://www.w3.org/2000/svg\">\n\n<title>Gnuplot</title>\n<desc>by gnuplot </desc>\n"
    "<g id=\"gnuplot_canvas\">\n<defs>\n\t<circle id='gpDot' r='0.5'/>\n"
    "\t<use xlink:href='#gpPt5' id='gpPt6'/>\n</defs>\n"
    "<g fill=\"none\" color=\"black\">\n</g>\n"
    "<g fill=\"none\" color=\"black\">\n\t<path stroke='rgb(  0,   0,  17)'  d='M1,2 L3,4'/>"
    "<use xlink:href='#gpPt6' color='rgb(0,0,16)'/>\n"
    "\t<text fill=\"rgb(0,0,1)\"><tspan font-family=\"sans\" >a </tspan>"
    "<tspan> </tspan></text>\n</g>\n"
    "<g id=\"gnuplot_plot_1\" ><title>p50</title></g>\n"
    "<g id=\"gnuplot_plot_2\" ><title>gnuplot_plot_2</title></g>\n"
    "<path stroke='rgb(9, 0, 1)'/>\n</g>\n</svg>\n";

static void test_svg(void **state)
{
    (void)state;
    struct buffer page;
    buffer_init(&page);
    assert_true(svg_add(&page, drawing, strlen(drawing), "CPU <5>"));
    assert_string_equal(buffer_text(&page),
                        "<svg viewBox=\"0 0 460 255\" role=\"img\" aria-label=\"CPU &lt;5&gt;\"><g>"
                        "<g fill=\"none\"><path stroke='var(--s2)'  d='M1,2 L3,4'/>"
                        "<use href='#gpPt6' color='var(--s1)'/>"
                        "<text fill=\"var(--ink)\"><tspan >a </tspan><tspan> </tspan></text></g>"
                        "<g ><title>p50</title></g><path stroke='rgb(9, 0, 1)'/></g></svg>\n");
    buffer_clear(&page);
    svg_add_shapes(&page, drawing, strlen(drawing));
    assert_non_null(strstr(buffer_text(&page), "<circle id='gpDot'"));
    assert_non_null(strstr(buffer_text(&page), "<use href='#gpPt5' id='gpPt6'/>"));
    buffer_clear(&page);
    svg_add_shapes(&page, "none", 4);
    assert_int_equal(page.length, 0);
    buffer_fini(&page);
}

/* A drawing that was cut is refused, or is whole enough; nothing beyond it is read. */
static void test_torn_svg(void **state)
{
    (void)state;
    const size_t end = strlen(drawing) - strlen("</svg>\n");
    for (size_t length = 0; length < strlen(drawing); length++) {
        char *cut = test_malloc(length + 1);
        memcpy(cut, drawing, length);
        cut[length] = '\0';
        struct buffer page;
        buffer_init(&page);
        assert_int_equal(svg_add(&page, cut, length, ""), length >= end + strlen("</svg>"));
        svg_add_shapes(&page, cut, length);
        buffer_fini(&page);
        test_free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_ticks_from_zero),
        cmocka_unit_test(test_other_ticks),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_script_quotes),
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_labels_have_room),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_torn_svg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
