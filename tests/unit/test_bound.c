/* Bounds as written, the names of figures, and their units. */
#include <math.h>
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

/* The share of a class of waits, of an operation of append or of one that a script names. */
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
        assert_int_equal(bound_name_column(&bound, &operations), cases[i].is_column);
        assert_string_equal(bound.name, cases[i].name);
    }
}
