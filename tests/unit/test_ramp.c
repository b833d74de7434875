/* Values that change with time in stages. */
#include "base/ramp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "unit.h"

#define S MONO_NS_PER_S

static struct ramp read(const char *list)
{
    struct ramp ramp = {0};
    char wrong[RAMP_TEXT_BYTES];
    assert_true(ramp_add(&ramp, list, 1000000, wrong));
    return ramp;
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected));
}

TEST(test_lists)
{
    static const struct {
        const char *list;
        size_t stages;    /* 0: refused */
        const char *text; /* the duration in s and the highest target, or a part of the message */
    } cases[] = {
        {"30s:50,1m:50,30s:0", 3, "120 50"},
        {"0s:10,500ms:1k", 2, "0.5 1000"},
        {"0:10,5:20", 2, "5 20"},
        {"0ms:10,0.0m:5,5:20", 3, "5 20"},
        {"0x:10", 0, "'0x:10' is not a stage"},
        {"0nim:10", 0, "'0nim:10' is not a stage"},
        {"0..0:10", 0, "'0..0:10' is not a stage"},
        {"", 0, "'' is not a stage"},
        {"30s", 0, "'30s' is not a stage"},
        {"30s:", 0, "'30s:' is not a stage"},
        {":50", 0, "':50' is not a stage"},
        {"30s:50,", 0, "'' is not a stage"},
        {"30s:50;1m:50", 0, "'30s:50;1m:50' is not a stage"},
        {"30s:-1", 0, "'30s:-1' is not a stage"},
        {"-30s:1", 0, "'-30s:1' is not a stage"},
        {"30s:1000001", 0, "is not a stage"},
        {"30s:nan", 0, "is not a stage"},
        {"16d:1", 0, "is not a stage"},
        {"700h:1,700h:1", 0, "more than 30 days"},
    };
    EACH_CASE (i, cases, "%s", cases[i].list) {
        struct ramp ramp = {0};
        char text[RAMP_TEXT_BYTES] = "";
        const bool is_read = ramp_add(&ramp, cases[i].list, 1000000, text);
        assert_int_equal(is_read, cases[i].stages > 0);
        if (is_read) {
            assert_int_equal(ramp.count, cases[i].stages);
            snprintf(text, sizeof text, "%g %g", (double)ramp_duration_ns(&ramp, ramp.count) / S,
                     ramp_highest(&ramp));
        }
        assert_non_null(strstr(text, cases[i].text));
    }
    struct ramp full = {0};
    char wrong[RAMP_TEXT_BYTES];
    for (size_t i = 0; i < RAMP_STAGES_MAX; i++) {
        assert_true(ramp_add(&full, "1s:1", 1, wrong));
    }
    assert_false(ramp_add(&full, "1s:1", 1, wrong));
    assert_string_equal(wrong, "more than 100 stages");
}

TEST(test_values)
{
    const struct ramp ramp = read("10s:50,20s:50,0s:20,10s:0");
    static const struct {
        double at_s, value;
    } cases[] = {{0, 0},   {1, 5},     {9.999, 49.995}, {10, 50}, {29.999, 50},
                 {30, 20}, {32.5, 15}, {40, 0},         {1e6, 0}};
    EACH_CASE (i, cases, "%g s", cases[i].at_s) {
        assert_true(is_near(ramp_value(&ramp, (int64_t)(cases[i].at_s * S)), cases[i].value));
    }
}

/* ramp_above_ns finds the first moment above a level: just before that moment the value is not
 * above the level. */
TEST(test_above)
{
    const struct ramp ramp = read("10s:50,10s:50,10s:0,10s:10,5s:10");
    static const struct {
        double level, from_s, at_s; /* negative: never */
    } cases[] = {{0, 0, 0},   {49, 0, 9.8},  {49, 15, 15},  {49, 20.3, -1},
                 {5, 25, 25}, {5, 29.5, 35}, {9, 29.5, 39}, {10, 29.5, -1},
                 {0, 30, 30}, {50, 0, -1},   {9.5, 44, 44}, {9.5, 1e6, 1e6}};
    EACH_CASE (i, cases, "above %g from %g s", cases[i].level, cases[i].from_s) {
        const int64_t at_ns = ramp_above_ns(&ramp, cases[i].level, (int64_t)(cases[i].from_s * S));
        if (cases[i].at_s < 0) {
            assert_int_equal(at_ns, INT64_MAX);
            continue;
        }
        assert_true(is_near((double)at_ns / S, cases[i].at_s));
        assert_true(ramp_value(&ramp, at_ns) > cases[i].level);
        assert_true(at_ns - 2 < (int64_t)(cases[i].from_s * S) ||
                    ramp_value(&ramp, at_ns - 2) <= cases[i].level);
    }
}

/* The work due by time t is the area under the ramp up to t. The time at which a given amount of
 * work is due is the inverse of that function. */
TEST(test_sums)
{
    const struct ramp ramp = read("10s:1000,0s:100,10s:100,5s:0,5s:0,10s:2000");
    static const struct {
        double at_s, sum;
    } cases[] = {{1, 50},    {5, 1250},      {10, 5000},  {15, 5500},
                 {20, 6000}, {22.5, 6187.5}, {40, 16250}, {45, 26250}};
    EACH_CASE (i, cases, "%g s", cases[i].at_s) {
        assert_true(is_near(ramp_sum(&ramp, (int64_t)(cases[i].at_s * S)), cases[i].sum));
        assert_true(is_near(ramp_due_ns(&ramp, cases[i].sum) / S, cases[i].at_s));
    }
    assert_true(is_near(ramp_sum(&ramp, 28 * S), 6250)); /* nothing is due in the fifth stage */
    assert_true(ramp_due_ns(&ramp, 6251) / S > 30);
    const struct ramp over = read("10s:100,10s:0");
    assert_true(isinf(ramp_due_ns(&over, 1001)));
    assert_true(is_near(ramp_due_ns(&over, 999.99) / S, 20 - sqrt(2 * 0.01 / 10)));
    const struct ramp late = read("5s:0,5s:100");
    assert_true(is_near(ramp_due_ns(&late, 0) / S, 5));
    double before_ns = 0;
    for (int i = 0; i <= 1000; i++) { /* later work is not due before earlier work */
        const double due_ns = ramp_due_ns(&over, i);
        assert_true(due_ns >= before_ns);
        before_ns = due_ns;
    }
}

TEST(test_constant)
{
    const struct ramp ramp = {.first = 200};
    assert_true(ramp_value(&ramp, 5 * S) == 200);
    assert_true(ramp_sum(&ramp, 5 * S) == 1000);
    assert_true(ramp_due_ns(&ramp, 1000) == 5.0 * S);
    assert_true(ramp_mean(&ramp, S, 3 * S) == 200);
    assert_int_equal(ramp_above_ns(&ramp, 199, 7), 7);
    assert_true(isinf(ramp_due_ns(&(struct ramp){0}, 1)));
}

TEST(test_means)
{
    const struct ramp ramp = read("10s:100,10s:300");
    assert_true(is_near(ramp_mean(&ramp, 0, 20 * S), 125));
    assert_true(is_near(ramp_mean(&ramp, 5 * S, 10 * S), 75));
    assert_true(is_near(ramp_mean(&ramp, 20 * S, 30 * S), 300));
    assert_true(is_near(ramp_mean(&ramp, 10 * S, 10 * S), 100));
}
