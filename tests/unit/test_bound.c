/* Parsing of bounds, the names of figures, and their units. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unit/unit.h"

#include "figures/bound.h"

static enum status parse(struct bound *bound, const char *text, struct error *error)
{
    error_clear(error);
    return bound_parse(bound, &text, error);
}

static void expect_bound(const char *text, const char *name, enum bound_relation relation,
                         double number, const char *unit)
{
    struct bound bound;
    struct error error;
    assert_int_equal(parse(&bound, text, &error), STATUS_OK);
    assert_string_equal(bound.name, name);
    assert_int_equal(bound.relation, relation);
    assert_true(bound.number == number);
    assert_string_equal(bound.unit, unit);
}

TEST(test_form)
{
    expect_bound("throughput>=50k", "throughput", BOUND_AT_LEAST, 50, "k");
    expect_bound("append_p99_ms <= 20", "append_p99_ms", BOUND_AT_MOST, 20, "");
    expect_bound("\t lost==0 \n", "lost", BOUND_EQUAL, 0, "");
    expect_bound("a!=1.5", "a", BOUND_UNEQUAL, 1.5, "");
    expect_bound("a_1<0.5 s", "a_1", BOUND_BELOW, 0.5, "s");
    expect_bound("a>00012.", "a", BOUND_ABOVE, 12, "");
}

TEST(test_list)
{
    const char *rest = "a>1, b<2ms ,c==0";
    struct bound bound;
    struct error error;
    error_clear(&error);
    static const char *const texts[] = {"a>1", "b<2ms", "c==0"};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(rest);
        assert_int_equal(bound_parse(&bound, &rest, &error), STATUS_OK);
        assert_string_equal(bound.text, texts[i]);
    }
    assert_null(rest);
}

TEST(test_junk)
{
    static const char *const junk[] = {
        "",
        " ",
        "a",
        "a>",
        ">1",
        "a>x",
        "a=1",
        "a=>1",
        "a>-1",
        "a>+1",
        "a>1e3x>",
        "a>1.2.3",
        "a>0x10<",
        "a>inf",
        "a>nan",
        "1a>1 2 <",
        "A>1",
        "a b>1",
        "a>1>2",
        "a>.5",
        "a>1234567890123456789",
        "a><1",
        "\x80>1",
        "a>1 is a long unit",
        "this_name_is_longer_than_any_name_of_a_figure_there_is_and_longer_than_any_that_a_script_"
        "can_give_to_one>1",
        "a>1                                                                                       "
        "                                                                             b",
    };
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        struct bound bound;
        struct error error;
        if (parse(&bound, junk[i], &error) == STATUS_OK) {
            fail_msg("'%s' was accepted", junk[i]);
        }
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_non_null(strstr(error.text, "NAME"));
    }
}

TEST(test_holds)
{
    static const struct {
        enum bound_relation relation;
        const char *text;
        bool below, equal, above;
    } cases[] = {
        {BOUND_BELOW, "<", true, false, false},  {BOUND_AT_MOST, "<=", true, true, false},
        {BOUND_ABOVE, ">", false, false, true},  {BOUND_AT_LEAST, ">=", false, true, true},
        {BOUND_EQUAL, "==", false, true, false}, {BOUND_UNEQUAL, "!=", true, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(bound_relation_texts[cases[i].relation], cases[i].text);
        assert_int_equal(bound_holds(cases[i].relation, 1, 2), cases[i].below);
        assert_int_equal(bound_holds(cases[i].relation, 2, 2), cases[i].equal);
        assert_int_equal(bound_holds(cases[i].relation, 3, 2), cases[i].above);
        assert_false(bound_holds(cases[i].relation, (double)NAN, 2));
    }
}

static const char *const names[] = {"throughput_rows_per_s", "append_p99_ms",   "append_s",
                                    "max_memory_mib",        "max_cpu_percent", "rows_lost_at_most",
                                    "verified_lost",         "two_ms",          "two_s"};

static void fill(struct figure_columns *columns)
{
    columns->count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        figure_columns_add(columns, names[i]);
    }
}

TEST(test_names)
{
    static const char *const found[][2] = {
        {"throughput", "throughput_rows_per_s"},    {"append_p99", "append_p99_ms"},
        {"append_p99_ms", "append_p99_ms"},         {"append", "append_s"},
        {"max_memory", "max_memory_mib"},           {"max_cpu", "max_cpu_percent"},
        {"rows_lost_at_most", "rows_lost_at_most"}, {"two_s", "two_s"},
    };
    struct figure_columns columns;
    struct figure_choice choice;
    struct error error;
    fill(&columns);
    error_clear(&error);
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        assert_int_equal(figure_find(&columns, found[i][0], &choice, &error), STATUS_OK);
        assert_int_equal(choice.count, 1);
        assert_string_equal(choice.names[0], found[i][1]);
    }
    assert_int_equal(figure_find(&columns, "lost", &choice, &error), STATUS_OK);
    assert_int_equal(choice.count, 2);
    assert_string_equal(choice.names[0], "verified_lost");
    assert_string_equal(choice.names[1], "rows_lost_at_most");
}

TEST(test_wrong_names)
{
    static const char *const wrong[][2] = {{"thruput", "throughput_rows_per_s"},
                                           {"append_p98_ms", "append_p99_ms"},
                                           {"two", "lost"}, /* two figures have this name */
                                           {"dropped", "throughput"},
                                           {"zzz", "max_memory"}};
    struct figure_columns columns;
    fill(&columns);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct figure_choice choice;
        struct error error;
        error_clear(&error);
        assert_int_equal(figure_find(&columns, wrong[i][0], &choice, &error), STATUS_REJECTED);
        if (strcmp(wrong[i][0], "two") != 0 && strstr(error.text, wrong[i][1]) == NULL) {
            fail_msg("'%s' does not contain '%s'", error.text, wrong[i][1]);
        }
    }
}

TEST(test_units)
{
    static const struct {
        const char *text, *column;
        double limit;
    } good[] = {
        {"throughput>=50k", "throughput_rows_per_s", 50000},
        {"throughput>=1.5M", "throughput_rows_per_s", 1500000},
        {"throughput>=7 rows/s", "throughput_rows_per_s", 7},
        {"append_p99_ms<=20", "append_p99_ms", 20},
        {"read_p99_ms<=20", "read_p99_ms", 20},
        {"append_p99<=20ms", "append_p99_ms", 20},
        {"append_p99<=1.5s", "append_p99_ms", 1500},
        {"append_p99<=250us", "append_p99_ms", 0.25},
        {"append_p99<=2m", "append_p99_ms", 120000},
        {"append_p99<=2h", "append_p99_ms", 7200000},
        {"elapsed<=50us", "elapsed_s", 50e-6},
        {"elapsed<=2h", "elapsed_s", 7200},
        {"elapsed_s<=20", "elapsed_s", 20},
        {"elapsed<=3m", "elapsed_s", 180},
        {"max_memory<=2GiB", "max_memory_mib", 2048},
        {"max_memory<=512M", "max_memory_mib", 512},
        {"max_memory_mib<=512", "max_memory_mib", 512},
        {"max_cpu<=90%", "max_cpu_percent", 90},
        {"max_cpu<=90", "max_cpu_percent", 90},
        {"rows_lost_at_most==0", "rows_lost_at_most", 0},
        {"appends>10k", "appends", 10000},
        {"some_us_per_row<=2", "some_us_per_row", 2},
        {"some<=500ns", "some_us_per_row", 0.5},
    };
    static const char *const bad[][3] = {
        {"throughput>=5ms", "throughput_rows_per_s", "rows/s"},
        {"append_p99<=20", "append_p99_ms", "20ms"}, /* without a unit */
        {"append_p99<=20MiB", "append_p99_ms", "20ms"},
        {"elapsed<=20", "elapsed_s", "20s"},
        {"max_memory<=2", "max_memory_mib", "2GiB"},
        {"max_memory<=2GB", "max_memory_mib", "2GiB"},
        {"max_cpu<=1s", "max_cpu_percent", "90%"},
        {"rows_lost==0ms", "rows_lost", "10k"},
        {"rows_lost<=5m", "rows_lost", "10k"}, /* ambiguous: millions or minutes */
        {"verdict>=VALID", "verdict", "with == or !="},
        {"verdict<INVALID", "verdict", "with == or !="},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct bound bound;
        struct error error;
        double limit = -1;
        assert_int_equal(parse(&bound, good[i].text, &error), STATUS_OK);
        assert_int_equal(figure_scale(&bound, good[i].column, &limit, &error), STATUS_OK);
        assert_true(fabs(limit - good[i].limit) < 1e-9);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct bound bound;
        struct error error;
        double limit;
        assert_int_equal(parse(&bound, bad[i][0], &error), STATUS_OK);
        assert_int_equal(figure_scale(&bound, bad[i][1], &limit, &error), STATUS_REJECTED);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_non_null(strstr(error.text, bad[i][2]));
    }
    assert_string_equal(figure_unit("append_p99_ms"), " ms");
    assert_string_equal(figure_unit("append_s"), " s");
    assert_string_equal(figure_unit("throughput_rows_per_s"), " rows/s");
    assert_string_equal(figure_unit("rows_lost"), "");
}

/* Columns for the share of a class of waits, in append's own operations and in a script's. */
TEST(test_names_of_waits)
{
    static const struct {
        const char *written, *name;
        bool is_column;
    } cases[] = {
        {"waits.append.log<1", "append_waits_log", true},
        {"waits.commit.lock<1", "commit_waits_lock", true},
        {"waits.put.lock_manager<1", "operation.put.waits_lock_manager", false},
        {"waits.statement.put.cpu<1", "operation.put.waits_cpu", false},
        {"waits.nothing.cpu<1", "nothing.waits_cpu", false},
        {"waits<1", "waits", true},
    };
    struct operation_list operations = operation_list_all();
    assert_true(operation_list_add(&operations, "put", OPERATION_IS_WRITE));
    EACH_CASE (i, cases, "%s", cases[i].written) {
        struct bound bound;
        struct error error = {.kind = ERROR_NONE};
        const char *rest = cases[i].written;
        assert_int_equal(bound_parse(&bound, &rest, &error), STATUS_OK);
        assert_int_equal(bound_resolve_name(&bound, &operations), cases[i].is_column);
        assert_string_equal(bound.name, cases[i].name);
    }
}

static void expect_refused(const char *text, const char *message)
{
    struct bound bound;
    struct error error;
    assert_int_equal(parse(&bound, text, &error), STATUS_REJECTED);
    assert_string_equal(error.text, message);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_int_equal(error.native_code, 0);
}

/* The exact messages about malformed bounds. */
TEST(test_words_about_junk)
{
#define FORM ": use NAME, then one of < <= > >= == !=, and a number with its unit"
    static const char name[] = "does not begin with the name of a figure";
    static const char relation[] = "has no comparison after the name";
    static const char number[] = "has no number after the comparison";
    static const char unit[] = "has more than a unit after the number";
    static const char long_text[] = "is too long";
    static const struct {
        const char *text, *what;
    } cases[] = {
        {">1", name},         {"A>1", name},
        {"+a>1", name},       {"a", relation},
        {"a=1", relation},    {"a>", number},
        {"a>=-1", number},    {"a>.5", number},
        {"a>1.2.3", number},  {"a>1234567890123456789", number},
        {"a>@VALID", number}, {"a>[VALID", number},
        {"a>1ms>", unit},     {"a>1 <", unit},
        {"a>1 =", unit},      {"a>1 !", unit},
        {"a>VALID!", unit},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        char message[300];
        snprintf(message, sizeof message, "bound '%.60s' %s" FORM, cases[i].text, cases[i].what);
        expect_refused(cases[i].text, message);
    }
    struct bound bound;
    char text[sizeof bound.text + 1], message[300];
    memset(text, 'a', sizeof text);
    text[sizeof bound.text] = '\0';
    snprintf(message, sizeof message, "bound '%.60s' %s" FORM, text, long_text);
    expect_refused(text, message);
    text[sizeof bound.text - 1] = '\0';
    snprintf(message, sizeof message, "bound '%.60s' %s" FORM, text, name);
    expect_refused(text, message);
    expect_refused(" \t\r\n",
                   "a bound is empty: use NAME>=NUMBER, and separate bounds with commas");
    expect_refused(" ,a>1", "a bound is empty: use NAME>=NUMBER, and separate bounds with commas");
#undef FORM
}

/* The longest names, numbers and units, and words instead of numbers. */
TEST(test_longest_parts)
{
    struct bound bound;
    struct error error;
    char text[2 * BOUND_NAME_BYTES];
    memset(text, 'a', BOUND_NAME_BYTES - 1);
    memcpy(text + BOUND_NAME_BYTES - 1, ">1", 3);
    assert_int_equal(parse(&bound, text, &error), STATUS_OK);
    assert_int_equal(strlen(bound.name), BOUND_NAME_BYTES - 1);
    assert_false(bound.is_word);
    memset(text, 'a', BOUND_NAME_BYTES);
    memcpy(text + BOUND_NAME_BYTES, ">1", 3);
    assert_int_equal(parse(&bound, text, &error), STATUS_REJECTED);
    expect_bound("a>123456789012345678", "a", BOUND_ABOVE, 123456789012345678.0, "");
    expect_bound("a\t>\n1\r", "a", BOUND_ABOVE, 1, "");
    expect_bound("Put.p99_ms<1", "Put.p99_ms", BOUND_BELOW, 1,
                 ""); /* the name of a statement may contain capitals */
    assert_int_equal(parse(&bound, "verdict==VALID", &error), STATUS_OK);
    assert_true(bound.is_word && bound.number == 1);
    assert_string_equal(bound.unit, "VALID");
    assert_int_equal(parse(&bound, "verdict==ZZZ", &error), STATUS_OK);
    assert_true(bound.is_word);
    char unit[sizeof bound.unit + 1];
    memset(unit, 'x', sizeof unit - 1);
    unit[sizeof unit - 1] = '\0';
    snprintf(text, sizeof text, "a>1%s", unit);
    assert_int_equal(parse(&bound, text, &error), STATUS_REJECTED);
    text[strlen(text) - 1] = '\0';
    assert_int_equal(parse(&bound, text, &error), STATUS_OK);
}

/* Every spelling of every unit. */
TEST(test_every_unit)
{
    static const struct {
        const char *column, *form;
        const char *spellings[8];
        double factors[8];
    } units[] = {
        {"appends",
         "a count, with an optional k, M or G (0, 10k)",
         {"", "k", "K", "M", "G"},
         {1, 1e3, 1e3, 1e6, 1e9}},
        {"x_rows_per_s",
         "a number of rows/s, with an optional k, M or G (50000, 50k)",
         {"", "k", "K", "M", "G", "rows/s"},
         {1, 1e3, 1e3, 1e6, 1e9, 1}},
        {"x_per_s",
         "a number per second, with an optional k, M or G (4000, 4k)",
         {"", "k", "K", "M", "G", "/s"},
         {1, 1e3, 1e3, 1e6, 1e9, 1}},
        {"x_ms",
         "a time with us, ms, s, m or h (20ms, 1.5s)",
         {"us", "ms", "s", "m", "min", "h"},
         {1e-3, 1, 1e3, 6e4, 6e4, 3.6e6}},
        {"x_us_per_row",
         "a time with ns, us or ms (2us, 0.5ms)",
         {"ns", "us", "ms", "s"},
         {1e-3, 1, 1e3, 1e6}},
        {"x_s",
         "a time with ms, s, m or h (20s, 500ms, 3m)",
         {"us", "ms", "s", "m", "min", "h"},
         {1e-6, 1e-3, 1, 60, 60, 3600}},
        {"x_mib",
         "a size with K, M, G or KiB, MiB, GiB (512MiB, 2GiB)",
         {"K", "KiB", "M", "MiB", "G", "GiB", "T", "TiB"},
         {1.0 / 1024, 1.0 / 1024, 1, 1, 1024, 1024, 1048576, 1048576}},
        {"x_mib_per_s", "a number of MiB/s (12.5)", {""}, {1}},
        {"x_bytes_per_row", "a number of bytes (120, 120B)", {"", "B"}, {1, 1}},
        {"x_percent", "a percentage, with an optional % (90, 90%)", {"", "%"}, {1, 1}},
        {"verdict",
         "VALID, DEGRADED or INVALID, with == or !=",
         {"VALID", "DEGRADED", "INVALID"},
         {0, 1, 2}},
    };
    EACH_CASE (i, units, "%s", units[i].column) {
        struct bound bound;
        struct error error;
        double limit;
        char text[64];
        const bool is_word = i + 1 == sizeof units / sizeof units[0];
        size_t count = 0;
        for (; count < 8 && units[i].spellings[count] != NULL; count++) {
            snprintf(text, sizeof text, "f==%s%s", is_word ? "" : "3", units[i].spellings[count]);
            assert_int_equal(parse(&bound, text, &error), STATUS_OK);
            assert_int_equal(figure_scale(&bound, units[i].column, &limit, &error), STATUS_OK);
            assert_true(fabs(limit - (is_word ? 1 : 3) * units[i].factors[count]) < 1e-12);
        }
        snprintf(text, sizeof text, "f==%s", is_word ? "XX" : "3xx");
        assert_int_equal(parse(&bound, text, &error), STATUS_OK);
        assert_int_equal(figure_scale(&bound, units[i].column, &limit, &error), STATUS_REJECTED);
        char message[300];
        snprintf(message, sizeof message, "bound '%s' has the wrong %s: f is %s", text,
                 is_word ? "value" : "unit", units[i].form);
        assert_string_equal(error.text, message);
        assert_int_equal(error.native_code, 0);
        if (!is_word && units[i].spellings[0][0] != '\0') {
            assert_int_equal(parse(&bound, "f>3", &error), STATUS_OK);
            assert_int_equal(figure_scale(&bound, units[i].column, &limit, &error),
                             STATUS_REJECTED);
            snprintf(message, sizeof message, "bound 'f>3' has no unit: f is %s", units[i].form);
            assert_string_equal(error.text, message);
        }
        /* a word where the column has numbers, or a number where the column has words */
        snprintf(text, sizeof text, "f==%s", is_word ? "3" : "VALID");
        assert_int_equal(parse(&bound, text, &error), STATUS_OK);
        assert_int_equal(figure_scale(&bound, units[i].column, &limit, &error), STATUS_REJECTED);
        snprintf(message, sizeof message, "bound '%s': f is %s", text, units[i].form);
        assert_string_equal(error.text, message);
        assert_int_equal(error.kind, ERROR_USAGE);
    }
    struct bound bound;
    struct error error;
    double limit;
    assert_int_equal(parse(&bound, "verdict!=INVALID", &error), STATUS_OK);
    assert_int_equal(figure_scale(&bound, "verdict", &limit, &error), STATUS_OK);
    assert_int_equal(parse(&bound, "verdict<=INVALID", &error), STATUS_OK);
    assert_int_equal(figure_scale(&bound, "verdict", &limit, &error), STATUS_REJECTED);
    assert_int_equal(parse(&bound, "x_ms<=3s", &error),
                     STATUS_OK); /* the bound has a unit, and so has the column's name */
    assert_int_equal(figure_scale(&bound, "x_ms", &limit, &error), STATUS_OK);
    assert_true(limit == 3000);
    assert_string_equal(figure_word("verdict", 0), "VALID");
    assert_string_equal(figure_word("verdict", 1), "DEGRADED");
    assert_string_equal(figure_word("verdict", 2), "INVALID");
    assert_null(figure_word("verdict", 3));
    assert_null(figure_word("x_ms", 1));
}

/* Names that end with a percentile, and the columns that these names stand for. */
TEST(test_names_of_percentiles)
{
    static const struct {
        const char *written, *name;
        bool is_percentile, is_column;
    } cases[] = {
        {"append_p97<1", "append_p97", true, true},
        {"append_p99.9_ms<1", "append_p999_ms", true, true},
        {"append_p999<1", "append_p999", true, true},
        {"append_p99.90<1", "append_p999", true, true},
        {"append.p99.5_ms<1", "append_p995_ms", true, true},
        {"put.p99.9<1", "operation.put.p999", true, false},
        {"operation.put.p99.9<1", "operation.put.p999", true, false},
        {"append_p5<1", "append_p5", true, true},
        {"append_p100<1", "append_p100", false, true},
        {"append_p0<1", "append_p0", false, true},
        {"append_p99_s<1", "append_p99_s", false, true},
        {"append_q99<1", "append_q99", false, true},
        {"p99<1", "p99", false, true},
        {"appendp99<1", "appendp99", false, true},
        {"append_p<1", "append_p", false, true},
        {"append_mean<1", "append_mean", false, true},
        {"append<1", "append", false, true},
        {"waits.append<1", "waits.append", false, false},
        {"waits.append.none<1", "waits.append.none", false, false},
        {"pu.p99<1", "pu.p99", true, false},
        {"puts.p99<1", "puts.p99", true, false},
    };
    struct operation_list operations = operation_list_all();
    assert_true(operation_list_add(&operations, "put", OPERATION_IS_WRITE));
    EACH_CASE (i, cases, "%s", cases[i].written) {
        struct bound bound;
        struct error error;
        struct figure_point point;
        assert_int_equal(parse(&bound, cases[i].written, &error), STATUS_OK);
        assert_int_equal(bound_percentile(&bound, &point), cases[i].is_percentile);
        assert_int_equal(bound_resolve_name(&bound, &operations), cases[i].is_column);
        assert_string_equal(bound.name, cases[i].name);
    }
}

/* A value is shown with enough digits to see whether it is within its limit. */
TEST(test_format)
{
    static const struct {
        const char *bound;
        double limit, value;
        const char *text;
    } cases[] = {
        {"a<=1", 20, 20.0001, "20.0001"},
        {"a<1", 20, 20.0001, "20"},
        {"a<1", 20, 19.5555, "19.6"},
        {"a<=1", 20, 20, "20"},
        {"a>1", 20, 1234567.4, "1,234,567"},
        {"a<1", 1, 0.00012345, "0.000123"},
        {"a>1", 99, 99.999, "100"},
        {"a>1", 100, 100.25, "100.2"},
        {"a>1", 5, -1234.5, "-1234"},
        {"a>=1", 1000, 999.99, "999.99"},
        {"a>1", 1, 1e19, "10000000000000000000"},
        {"a>1", 1, 0, "0"},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct bound bound;
        struct error error;
        char text[UNITS_TEXT_BYTES];
        assert_int_equal(parse(&bound, cases[i].bound, &error), STATUS_OK);
        assert_string_equal(bound_format(&bound, cases[i].limit, cases[i].value, text),
                            cases[i].text);
    }
}

/* Names that a script cannot give to its metrics. */
TEST(test_names_that_are_taken)
{
    static const struct {
        const char *name;
        bool is_taken;
    } cases[] = {
        {"append", true},  {"append_p97", true}, {"append_p97_ms", true}, {"append_x", false},
        {"appends", true}, {"stage2", true},     {"stage", false},        {"stage2x", false},
        {"stagex", false}, {"stages2", false},   {"operation", true},     {"operations", false},
        {"lost", true},    {"throughput", true}, {"elapsed", true},       {"elapsed_s", true},
        {"price", false},  {"p97", false},       {"read_p5", true},       {"connect", true},
        {"readx", false},
    };
    EACH_CASE (i, cases, "%s", cases[i].name) {
        assert_int_equal(bound_is_reserved(cases[i].name), cases[i].is_taken);
    }
}

/* Every short name of a column. */
TEST(test_short_names)
{
    static const char *const pairs[][2] = {
        {"lost", "rows_lost_at_most"},
        {"dropped", "sessions_dropped"},
        {"refused", "sessions_refused"},
        {"timed_out", "sessions_timed_out"},
        {"finished", "sessions_finished"},
        {"acknowledged", "rows_acknowledged"},
        {"rejected", "rows_rejected"},
        {"in_doubt", "transactions_in_doubt"},
        {"in_doubt", "rows_in_doubt"},
        {"throughput", "rows_per_s"},
        {"failed", "transactions_failed"},
        {"committed", "transactions_committed"},
        {"rolled_back", "transactions_rolled_back"},
        {"unfinished", "transactions_unfinished"},
        {"duplicates", "verified_duplicates"},
    };
    EACH_CASE (i, pairs, "%s", pairs[i][1]) {
        struct figure_columns columns = {.count = 0};
        struct figure_choice choice;
        struct error error;
        error_clear(&error);
        figure_columns_add(&columns, "");
        figure_columns_add(&columns, pairs[i][1]);
        assert_int_equal(columns.count, 1);
        assert_int_equal(figure_find(&columns, pairs[i][0], &choice, &error), STATUS_OK);
        assert_int_equal(choice.count, 1);
        assert_string_equal(choice.names[0], pairs[i][1]);
    }
    /* a column with exactly this name is preferred to the columns that the name abbreviates */
    struct figure_columns columns = {.count = 0};
    struct figure_choice choice;
    struct error error;
    error_clear(&error);
    figure_columns_add(&columns, "rows_rejected");
    figure_columns_add(&columns, "rejected");
    assert_int_equal(figure_find(&columns, "rejected", &choice, &error), STATUS_OK);
    assert_int_equal(choice.count, 1);
    assert_string_equal(choice.names[0], "rejected");
    assert_int_equal(figure_find(&columns, "rejectd", &choice, &error), STATUS_REJECTED);
    assert_string_equal(error.text, "no figure is called 'rejectd': did you mean 'rejected'?");
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_int_equal(error.native_code, 0);
    error_clear(&error);
    assert_int_equal(figure_find(&columns, "zzzzzz", &choice, &error), STATUS_REJECTED);
    assert_string_equal(error.text,
                        "no figure is called 'zzzzzz': use the name of a numeric column of "
                        "summary.csv, such as throughput, elapsed, append_p99, max_memory or lost");
}
