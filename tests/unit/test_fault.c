/* The faults of append certify: the option --faults, and the random order and moments of the
 * faults. */
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "unit/unit.h"

#include "certify/fault.h"

TEST(test_parse)
{
    static const struct {
        const char *text;
        unsigned counts[FAULT_KINDS];
    } cases[] = {
        {"kill:1", {[FAULT_KILL] = 1}},
        {"kill:5,power:20", {[FAULT_KILL] = 5, [FAULT_POWER] = 20}},
        {"power:20,kill:5", {[FAULT_KILL] = 5, [FAULT_POWER] = 20}},
        {" stop : 3 , restart:2,network:1 ",
         {[FAULT_STOP] = 3, [FAULT_RESTART] = 2, [FAULT_NETWORK] = 1}},
        {"power:60k", {[FAULT_POWER] = 60000}},
    };
    EACH_CASE (i, cases, "'%s'", cases[i].text) {
        struct error error = {0};
        struct fault_counts counts;
        memset(&counts, 0xff, sizeof counts);
        assert_int_equal(fault_parse(cases[i].text, &counts, &error), STATUS_OK);
        assert_false(error_is_set(&error));
        assert_memory_equal(counts.counts, cases[i].counts, sizeof counts.counts);
    }
}

TEST(test_parse_refuses)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "--faults: an item is empty: write KIND:NUMBER, as in kill:5,power:20"},
        {"kill:5,", "--faults: an item is empty: write KIND:NUMBER, as in kill:5,power:20"},
        {",kill:5", "--faults: an item is empty: write KIND:NUMBER, as in kill:5,power:20"},
        {"kill", "--faults: the number of 'kill' is missing: write kill:5 for 5 faults"},
        {"kill:", "--faults: '' is not a number of faults: write kill:N with N from 1 to 60,000"},
        {"kill:0", "--faults: '0' is not a number of faults: write kill:N with N from 1 to 60,000"},
        {"kill:-1",
         "--faults: '-1' is not a number of faults: write kill:N with N from 1 to 60,000"},
        {"kill:1.5",
         "--faults: '1.5' is not a number of faults: write kill:N with N from 1 to 60,000"},
        {"power:60001",
         "--faults: '60001' is not a number of faults: write power:N with N from 1 to 60,000"},
        {"power:99999999999999999999999999999999999999",
         "--faults: '9999999999999999999999999999999' is not a number of faults: write power:N "
         "with N from 1 to 60,000"},
        {"kill:5;power:3",
         "--faults: '5;power:3' is not a number of faults: write kill:N with N from 1 to 60,000"},
        {"powr:5", "--faults: unknown fault 'powr': did you mean 'power'?"},
        {"fire:5", "--faults: unknown fault 'fire': use kill, power, stop, restart or network"},
        {":5", "--faults: unknown fault '': use kill, power, stop, restart or network"},
        {"5", "--faults: unknown fault '5': use kill, power, stop, restart or network"},
        {"KILL:5", "--faults: unknown fault 'KILL': use kill, power, stop, restart or network"},
        {"kill:5,power:1,kill:5", "--faults: 'kill' is given twice: give it once"},
        {"kill:60000,power:1", "--faults: 60,001 faults are too many: at most 60,000"},
    };
    EACH_CASE (i, cases, "'%s'", cases[i].text) {
        struct error error = {0};
        struct fault_counts counts;
        assert_int_equal(fault_parse(cases[i].text, &counts, &error), STATUS_REJECTED);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_string_equal(error.text, cases[i].message);
    }
}

/* The shares of the aims are exact among all faults, and nearly exact among the faults of each
 * kind.
 */
TEST(test_draw_shares)
{
    static const struct {
        struct fault_counts counts;
        unsigned aims[3]; /* at random, after an acknowledgement, in a checkpoint */
    } cases[] = {
        {{{[FAULT_KILL] = 1}}, {0, 1, 0}},
        {{{[FAULT_POWER] = 2}}, {0, 1, 1}},
        {{{[FAULT_POWER] = 1, [FAULT_STOP] = 2}}, {1, 1, 1}},
        {{{[FAULT_KILL] = 2, [FAULT_NETWORK] = 2}}, {1, 2, 1}},
        {{{[FAULT_KILL] = 10, [FAULT_POWER] = 10}}, {5, 10, 5}},
        {{{7, 20, 3, 1, 0}}, {8, 15, 8}},
        {{{[FAULT_POWER] = 1000}}, {250, 500, 250}},
    };
    EACH_CASE (i, cases, "case %zu", i) {
        const size_t total = fault_total(&cases[i].counts);
        struct fault *faults = calloc(total, sizeof *faults);
        assert_non_null(faults);
        fault_draw(&cases[i].counts, 42, faults);
        unsigned aims[3] = {0}, kinds[FAULT_KINDS] = {0}, both[FAULT_KINDS][3] = {0};
        for (size_t j = 0; j < total; j++) {
            aims[faults[j].aim]++;
            kinds[faults[j].kind]++;
            both[faults[j].kind][faults[j].aim]++;
        }
        assert_memory_equal(aims, cases[i].aims, sizeof aims);
        assert_memory_equal(kinds, cases[i].counts.counts, sizeof kinds);
        for (size_t kind = 0; kind < FAULT_KINDS; kind++) {
            assert_in_range(4 * both[kind][FAULT_AT_RANDOM] + 3, kinds[kind], kinds[kind] + 6);
            assert_in_range(4 * both[kind][FAULT_IN_CHECKPOINT] + 3, kinds[kind], kinds[kind] + 6);
            assert_in_range(2 * both[kind][FAULT_AFTER_COMMIT] + 2, kinds[kind], kinds[kind] + 4);
        }
        free(faults);
    }
}

TEST(test_draw_moments)
{
    enum {
        FAULTS_DRAWN = 4000
    };
    static const struct fault_counts counts = {{[FAULT_POWER] = 3000, [FAULT_STOP] = 1000}};
    static struct fault faults[FAULTS_DRAWN];
    int64_t least = INT64_MAX, most = 0, aimed[3] = {0}, stopped = 0;
    size_t runs = 1;
    fault_draw(&counts, 7, faults);
    for (size_t i = 0; i < FAULTS_DRAWN; i++) {
        const struct fault *fault = &faults[i];
        least = fault->after_ns < least ? fault->after_ns : least;
        most = fault->after_ns > most ? fault->after_ns : most;
        aimed[fault->aim] =
            fault->aimed_ns > aimed[fault->aim] ? fault->aimed_ns : aimed[fault->aim];
        assert_true(fault->aimed_ns >= 0);
        if (fault->kind == FAULT_STOP) {
            assert_true(fault->stop_ns >= MONO_NS_PER_S && fault->stop_ns <= 5 * MONO_NS_PER_S);
            stopped = fault->stop_ns > stopped ? fault->stop_ns : stopped;
        } else {
            assert_int_equal(fault->stop_ns, 0);
        }
        runs += i > 0 && fault->kind != faults[i - 1].kind ? 1 : 0;
    }
    /* within 1 % of the bounds, which are never exceeded */
    assert_true(least >= MONO_NS_PER_S && least < 1020 * MONO_NS_PER_MS);
    assert_true(most <= 3 * MONO_NS_PER_S && most > 2980 * MONO_NS_PER_MS);
    assert_int_equal(aimed[FAULT_AT_RANDOM], 0);
    assert_true(aimed[FAULT_AFTER_COMMIT] <= 5 * MONO_NS_PER_MS);
    assert_true(aimed[FAULT_AFTER_COMMIT] > 4950 * MONO_NS_PER_MS / 1000);
    assert_true(aimed[FAULT_IN_CHECKPOINT] <= 20 * MONO_NS_PER_MS);
    assert_true(aimed[FAULT_IN_CHECKPOINT] > 19800 * MONO_NS_PER_MS / 1000);
    assert_true(stopped > 4950 * MONO_NS_PER_MS);
    /* A random order of 3,000 and 1,000 faults is expected to have 2 × 3,000 × 1,000 / 4,000 + 1
     * sequences of equal kinds, with a standard deviation of 24. */
    assert_in_range(runs, 1400, 1600);
}

TEST(test_draw_depends_on_the_seed_alone)
{
    static const struct fault_counts counts = {{[FAULT_KILL] = 10, [FAULT_POWER] = 10}};
    struct fault first[20], again[20], other[20];
    memset(first, 0, sizeof first); /* padding */
    memset(again, 0xff, sizeof again);
    memset(other, 0, sizeof other);
    fault_draw(&counts, 1, first);
    fault_draw(&counts, 1, again);
    fault_draw(&counts, 2, other);
    size_t same_kinds = 0;
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(first[i].kind, again[i].kind);
        assert_int_equal(first[i].aim, again[i].aim);
        assert_int_equal(first[i].after_ns, again[i].after_ns);
        assert_int_equal(first[i].aimed_ns, again[i].aimed_ns);
        assert_int_equal(first[i].stop_ns, again[i].stop_ns);
        assert_int_not_equal(first[i].after_ns, other[i].after_ns);
        same_kinds += first[i].kind == other[i].kind ? 1 : 0;
    }
    assert_true(same_kinds < 20);
}
