#include "unit/unit.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "script/draw.h"
#include "unit/usage.h"

enum {
    DRAWS = 200000,
    BINS_MAX = 1000,
    WINDOW = 1 << 20,
};

static uint64_t observed[BINS_MAX];
static double expected[BINS_MAX]; /* expected shares */

/* Checks the shares of the draws. The seeds are fixed, so a correct distribution always passes, and
 * a statistic beyond 4 standard deviations (by Wilson and Hilferty's approximation) is a defect. A
 * bin with fewer than 8 draws is joined with the next bin. */
static void check_shares(const char *name, size_t bins)
{
    double draws = 0;
    double shares = 0;
    for (size_t i = 0; i < bins; i++) {
        draws += (double)observed[i];
        shares += expected[i];
    }
    assert_true(fabs(shares - 1) < 1e-6);
    double statistic = 0;
    double freedom = -1;
    double seen = 0;
    double meant = 0;
    for (size_t i = 0; i < bins; i++) {
        seen += (double)observed[i];
        meant += expected[i] * draws;
        if (meant >= 8 || (i + 1 == bins && meant > 0)) {
            statistic += (seen - meant) * (seen - meant) / meant;
            freedom++;
            seen = 0;
            meant = 0;
        }
    }
    assert_true(seen == 0);
    if (freedom < 1) {
        assert_true(statistic == 0);
        return;
    }
    const double part = 2 / (9 * freedom);
    const double deviation = (cbrt(statistic / freedom) - (1 - part)) / sqrt(part);
    if (fabs(deviation) > 4) {
        fail_msg("%s: chi-square %.1f with %.0f degrees of freedom, %.1f deviations off", name,
                 statistic, freedom, deviation);
    }
}

static struct draw *make_keys(enum keys_kind kind, int64_t a, int64_t b, const struct counter *last,
                              const struct keys_options *options)
{
    struct error error = {0};
    struct draw *const draw = draw_keys(kind, a, b, last, options, &error);
    if (draw == NULL) {
        fail_msg("%s: %s", keys_kind_names[kind], error.text);
    }
    return draw;
}

static int64_t draw_number(const struct draw *draw, struct draw_stream *stream)
{
    struct draw_value value;
    assert_int_equal(draw_room(draw), 0);
    draw_value(draw, stream, NULL, &value);
    assert_int_equal(value.type, DRAW_IS_INTEGER);
    return value.integer;
}

/* Draws many keys from a … a + n - 1, counts them in `observed` and checks their shares. */
static void check_keys(enum keys_kind kind, int64_t a, size_t n, const struct keys_options *options)
{
    struct draw *const draw = make_keys(kind, a, a + (int64_t)n - 1, NULL, options);
    memset(observed, 0, sizeof observed);
    struct draw_stream stream = {.base = 20240501};
    for (unsigned i = 0; i < DRAWS; i++) {
        const int64_t key = draw_number(draw, &stream);
        assert_in_range(key - a, 0, n - 1);
        observed[key - a]++;
    }
    draw_destroy(draw);
    check_shares(keys_kind_names[kind], n);
}

TEST(uniform_keys)
{
    static const size_t sizes[] = {1, 2, 3, 10, 1000};
    EACH_CASE (s, sizes, "%zu keys", sizes[s]) {
        for (size_t i = 0; i < sizes[s]; i++) {
            expected[i] = 1 / (double)sizes[s];
        }
        check_keys(KEYS_UNIFORM, -7, sizes[s], NULL);
    }

    /* the range has three quarters of all 64-bit numbers: 64 random bits modulo the size of the
     * range would be far from uniform */
    const int64_t quarter = INT64_C(1) << 62;
    struct draw *const draw = make_keys(KEYS_UNIFORM, INT64_MIN, quarter - 1, NULL, NULL);
    memset(observed, 0, sizeof observed);
    struct draw_stream stream = {.base = 5};
    for (unsigned i = 0; i < DRAWS; i++) {
        observed[(draw_number(draw, &stream) >> 62) + 2]++;
    }
    draw_destroy(draw);
    for (size_t i = 0; i < 3; i++) {
        expected[i] = 1.0 / 3;
    }
    check_shares("uniform over 3 x 2^62", 3);
}

TEST(sequential_keys)
{
    struct draw *draw = make_keys(KEYS_SEQUENTIAL, -1, 1, NULL, NULL);
    struct draw_stream stream = {.base = 1};
    for (; stream.row < 10; stream.row++) {
        assert_int_equal(draw_number(draw, &stream), (int64_t)(stream.row % 3) - 1);
    }
    assert_int_equal(stream.count, 0);
    draw_destroy(draw);
    draw = make_keys(KEYS_SEQUENTIAL, INT64_MIN, INT64_MAX, NULL, NULL);
    stream.row = UINT64_MAX;
    assert_int_equal(draw_number(draw, &stream), INT64_MAX);
    draw_destroy(draw);
}

/* Returns the probability that a sum of 12 uniform numbers is at most x (Irwin and Hall). */
static double sum_of_12(double x)
{
    if (x > 6) {
        return 1 - sum_of_12(12 - x);
    }
    double sum = 0;
    double choices = 1; /* (-1)^j × 12 over j */
    for (int j = 0; j <= 12 && j < x; j++) {
        sum += choices * pow(x - j, 12);
        choices *= -(12.0 - j) / (j + 1);
    }
    return sum / 479001600;
}

TEST(gaussian_keys)
{
    const size_t n = 200;
    for (size_t i = 0; i < n; i++) {
        expected[i] =
            sum_of_12(12 * ((double)i + 1) / (double)n) - sum_of_12(12 * (double)i / (double)n);
    }
    check_keys(KEYS_GAUSSIAN, 1, n, NULL);
}

TEST(pareto_keys)
{
    static const double hs[] = {0, 0.1, 0.5, 0.7};
    const size_t n = 500;
    EACH_CASE (s, hs, "h = %g", hs[s]) {
        const double h = hs[s] == 0 ? 0.2 : hs[s];
        const double inverse = log(1 - h) / log(h);
        for (size_t i = 0; i < n; i++) {
            expected[i] =
                pow(((double)i + 1) / (double)n, inverse) - pow((double)i / (double)n, inverse);
        }
        check_keys(KEYS_PARETO, 1, n, &(struct keys_options){.h = hs[s]});
        if (s == 0) { /* the meaning of h = 0.2: four fifths of the draws are in the first fifth */
            double head = 0;
            for (size_t i = 0; i < n / 5; i++) {
                head += (double)observed[i];
            }
            assert_true(fabs(head / DRAWS - 0.8) < 0.005);
        }
    }
}

TEST(exponential_keys)
{
    const size_t n = 300;
    const double gamma = -log(0.05) / (0.8571428571 * (double)n);
    const double within = 1 - exp(-gamma * (double)n);
    for (size_t i = 0; i < n; i++) {
        expected[n - 1 - i] = (exp(-gamma * (double)i) - exp(-gamma * ((double)i + 1))) / within;
    }
    check_keys(KEYS_EXPONENTIAL, 0, n, NULL);
}

/* Returns the share of those u in 1/4 … 1 for which middle + u × width is within low … high. */
static double share_of_middle(double low, double high, double middle, double width)
{
    const double from = fmax(0.25, (low - middle) / width);
    const double to = fmin(1, (high - middle) / width);
    return to > from ? to - from : 0;
}

TEST(special_keys)
{
    static const size_t sizes[] = {2, 10, 101, 1000};
    EACH_CASE (s, sizes, "%zu keys", sizes[s]) {
        const double t = (double)sizes[s] - 1;
        for (size_t i = 0; i < sizes[s]; i++) {
            const double k = (double)i;
            const double bell =
                i + 1 == sizes[s] ? 0 : sum_of_12(12 * (k + 1) / t) - sum_of_12(12 * k / t);
            expected[i] = bell / 4 + share_of_middle(k, k + 1, t / 2 - t / 200, t / 100 + 1);
        }
        check_keys(KEYS_SPECIAL, 1, sizes[s], NULL);
    }
}

static void expect_zipf(double theta, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        expected[i] = pow((double)i + 1, -theta);
        sum += expected[i];
    }
    for (size_t i = 0; i < n; i++) {
        expected[i] /= sum;
    }
}

TEST(zipfian_keys)
{
    static const double thetas[] = {0, 1e-9, 0.5, 0.99, 1, 1 + 1e-9, 1.5, 3, 30, 1000};
    static const size_t sizes[] = {1, 2, 3, 50, 1000};
    EACH_CASE (t, thetas, "theta = %g", thetas[t]) {
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            expect_zipf(thetas[t] == 0 ? 0.8 : thetas[t], sizes[s]);
            check_keys(KEYS_ZIPFIAN, 1, sizes[s], &(struct keys_options){.theta = thetas[t]});
        }
    }
}

/* Takes the next number of a counter and marks it as no longer pending. Returns the number. */
static uint64_t pass_number(struct counter *counter)
{
    uint64_t number = 0;
    assert_true(counter_next(counter, &number));
    counter_end(counter, number);
    return number;
}

/* places[i] becomes the scrambled key that belongs to the zipfian key i, or -1 if key i was never
 * drawn. */
static void find_places(int64_t *places, int64_t n, struct counter *last)
{
    const struct keys_options options = {
        .theta = 1e-3}; /* nearly uniform, so that all keys are soon drawn */
    struct draw *const plain = make_keys(KEYS_ZIPFIAN, 0, n - 1, NULL, &options);
    struct draw *const scrambled = make_keys(KEYS_SCRAMBLED, 0, n - 1, last, &options);
    for (int64_t i = 0; i < n; i++) {
        places[i] = -1;
    }
    struct draw_stream stream = {.base = 3};
    for (int64_t i = 0; i < 20 * n; i++) {
        struct draw_stream again = stream;
        const int64_t rank = draw_number(plain, &stream);
        const int64_t key = draw_number(scrambled, &again);
        assert_int_equal(again.count, stream.count);
        assert_in_range(key, 0, n - 1);
        assert_true(places[rank] == -1 || places[rank] == key);
        places[rank] = key;
    }
    draw_destroy(plain);
    draw_destroy(scrambled);
}

TEST(scrambled_keys_are_a_permutation_of_zipfian_ones)
{
    static const int64_t sizes[] = {1, 2, 3, 8, 9, 500, 512, 1000};
    static int64_t places[BINS_MAX];
    EACH_CASE (s, sizes, "%d keys", (int)sizes[s]) {
        bool is_taken[BINS_MAX] = {false};
        int64_t neighbours = 0;
        find_places(places, sizes[s], NULL);
        for (int64_t i = 0; i < sizes[s]; i++) {
            assert_true(places[i] >= 0);
            assert_false(is_taken[places[i]]);
            is_taken[places[i]] = true;
            neighbours += i > 0 && llabs(places[i] - places[i - 1]) <= 10;
        }
        if (sizes[s] >= 500) { /* in a random order about 20 neighbours would be that close */
            assert_true(neighbours < 60);
        }
    }
}

TEST(scrambled_keys_stay_where_they_are_while_a_range_grows)
{
    static int64_t before[BINS_MAX], after[BINS_MAX];
    struct counter *const counter = counter_create(600);
    find_places(before, 600, counter);
    for (unsigned i = 0; i < 10; i++) {
        pass_number(counter);
    }
    find_places(after, 610, counter);
    unsigned moved = 0;
    for (size_t i = 0; i < 600; i++) {
        moved += before[i] != after[i];
    }
    assert_in_range(moved, 0, 10);
    counter_destroy(counter);
}

TEST(hotspot_keys)
{
    static const struct {
        struct keys_options options;
        size_t n, hot;
        double share;
    } cases[] = {
        {{0}, 100, 20, 0.8},
        {{.hot_set = 0.1, .hot_share = 0.5}, 99, 9, 0.5},
        {{.hot_set = 0.01}, 10, 1, 0.8},
        {{.hot_set = 1}, 10, 10, 1},
        {{.hot_share = 1}, 10, 2, 1},
    };
    EACH_CASE (c, cases, "%zu of %zu keys are hot", cases[c].hot, cases[c].n) {
        const double hot = (double)cases[c].hot;
        const double cold = (double)cases[c].n - hot;
        for (size_t i = 0; i < cases[c].n; i++) {
            expected[i] = i < cases[c].hot ? cases[c].share / hot : (1 - cases[c].share) / cold;
        }
        check_keys(KEYS_HOTSPOT, 5, cases[c].n, &cases[c].options);
    }
}

/* Returns the share of draws below k in YCSB's zipfian distribution over 0 … n-1. */
static double gray_below(double k, double n, double theta, double zeta)
{
    if (k <= 0 || k >= n) {
        return k <= 0 ? 0 : 1;
    }
    if (k <= 2) {
        return (k == 2 ? 1 + pow(2, -theta) : 1) / zeta;
    }
    const double eta = (1 - pow(2 / n, 1 - theta)) / (1 - (1 + pow(2, -theta)) / zeta);
    return 1 - (1 - pow(k / n, 1 - theta)) / eta;
}

TEST(latest_keys)
{
    static const double thetas[] = {0, 0.2, 0.8};
    static const size_t sizes[] = {1, 2, 3, 4, 10, 17, 1000};
    EACH_CASE (t, thetas, "theta = %g", thetas[t]) {
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            const double theta = thetas[t] == 0 ? 0.99 : thetas[t];
            const size_t n = sizes[s];
            double zeta = 0;
            for (size_t i = 1; i <= n; i++) {
                zeta += pow((double)i, -theta);
            }
            for (size_t i = 0; i < n; i++) {
                expected[n - 1 - i] = gray_below((double)i + 1, (double)n, theta, zeta) -
                                      gray_below((double)i, (double)n, theta, zeta);
            }
            check_keys(KEYS_LATEST, 1, n, &(struct keys_options){.theta = thetas[t]});
        }
    }
}

TEST(ycsb_zipfian_keys)
{
    static const size_t sizes[] = {7, 100, 1000};
    const double items = 1e10;
    const double zeta = 26.46902820178302;
    /* the keys of smaller numbers are counted one by one; all other keys count as uniform */
    const unsigned apart = 300000;
    EACH_CASE (s, sizes, "%zu keys", sizes[s]) {
        const size_t n = sizes[s];
        for (size_t i = 0; i < n; i++) {
            expected[i] = (1 - gray_below(apart, items, 0.99, zeta)) / (double)n;
        }
        for (unsigned z = 0; z < apart; z++) {
            expected[draw_fnv(z) % n] +=
                gray_below(z + 1.0, items, 0.99, zeta) - gray_below(z, items, 0.99, zeta);
        }
        check_keys(KEYS_YCSB_ZIPFIAN, 0, n, NULL);
    }
}

TEST(ycsb_zipfian_keys_stay_hot_while_a_range_grows)
{
    struct counter *const counter = counter_create(1000);
    struct draw *const draw = make_keys(KEYS_YCSB_ZIPFIAN, 0, 0, counter, NULL);
    static int64_t before[1000];
    for (unsigned i = 0; i < 500; i++) {
        if (i == 100) {
            for (unsigned j = 0; j < COUNT_OF(before); j++) {
                before[j] = draw_number(draw, &(struct draw_stream){.base = j});
            }
        }
        pass_number(counter);
    }
    unsigned new = 0;
    for (unsigned j = 0; j < COUNT_OF(before); j++) {
        const int64_t key = draw_number(draw, &(struct draw_stream){.base = j});
        assert_true(key == before[j] || (key >= 1100 && key < 1500));
        new += key >= 1100;
    }
    assert_in_range(new, 100, 500);
    draw_destroy(draw);
    counter_destroy(counter);
}

/* Processes that share a counter never take the same number, and each draws only from the numbers
 * that it took. */
TEST(counters_are_shared)
{
    enum {
        PROCESSES = 3,
        TAKEN = 50,
        START = 10
    };
    bool is_taken[PROCESSES * TAKEN] = {false};
    for (uint64_t place = 0; place < PROCESSES; place++) {
        struct counter *const counter = counter_create(START);
        struct draw *const draw = make_keys(KEYS_UNIFORM, 0, 0, counter, NULL);
        uint64_t number, own[TAKEN];
        counter_share(counter, place, PROCESSES);
        for (size_t i = 0; i < TAKEN; i++) {
            assert_true(counter_next(counter, &number));
            assert_false(is_taken[number - START]);
            is_taken[number - START] = true;
            own[i] = number;
        }
        counter_end(counter, own[1]);
        assert_int_equal(counter_known(counter), START);
        counter_end(counter, own[0]);
        assert_int_equal(counter_known(counter), START + 2 * PROCESSES);
        bool is_drawn[2] = {false, false};
        for (uint64_t i = 0; i < 500; i++) {
            struct draw_stream stream = {.base = i};
            const int64_t key = draw_number(draw, &stream);
            assert_in_range(key, 0, own[1]);
            assert_true(key < START || key == (int64_t)own[0] || key == (int64_t)own[1]);
            is_drawn[0] = is_drawn[0] || key == (int64_t)own[0];
            is_drawn[1] = is_drawn[1] || key == (int64_t)own[1];
        }
        assert_true(is_drawn[0] && is_drawn[1]);
        draw_destroy(draw);
        counter_destroy(counter);
    }
    for (size_t i = 0; i < PROCESSES * TAKEN; i++) {
        assert_true(is_taken[i]);
    }
}

/* A range that ends at a counter draws the same keys as a fixed range of the same size. */
TEST(a_counter_ends_a_range)
{
    static const uint64_t starts[] = {1, 2, 12, 400, 100000};
    EACH_CASE (s, starts, "from %d on", (int)starts[s]) {
        for (enum keys_kind kind = 0; kind < KEYS_KINDS; kind++) {
            struct counter *const counter = counter_create(starts[s]);
            struct draw *const open = make_keys(kind, 0, -99, counter, NULL);
            for (unsigned grown = 0; grown < 50; grown++) {
                const int64_t b = (int64_t)counter_known(counter) - 1;
                struct draw *const closed = make_keys(kind, 0, b, NULL, NULL);
                for (unsigned i = 0; i < 50 && !(kind == KEYS_YCSB_ZIPFIAN && grown > 0); i++) {
                    struct draw_stream one = {.base = i * 77, .row = i};
                    struct draw_stream other = one;
                    assert_int_equal(draw_number(open, &one), draw_number(closed, &other));
                    assert_int_equal(one.count, other.count);
                }
                draw_destroy(closed);
                assert_int_equal(pass_number(counter), b + 1);
            }
            draw_destroy(open);
            counter_destroy(counter);
        }
    }
}

TEST(an_empty_range_gives_its_beginning)
{
    for (enum keys_kind kind = 0; kind < KEYS_KINDS; kind++) {
        struct counter *const counter = counter_create(0);
        struct draw *const draw = make_keys(kind, 5, 0, counter, NULL);
        struct draw_stream stream = {.base = 9, .row = 3};
        for (unsigned i = 0; i < 6; i++) {
            assert_int_equal(draw_number(draw, &stream), 5);
            pass_number(counter);
        }
        draw_destroy(draw);
        counter_destroy(counter);
    }
}

static uint64_t undo_shift(uint64_t value, unsigned shift)
{
    uint64_t undone = value;
    for (unsigned i = 0; i < 64; i += shift) {
        undone = value ^ undone >> shift;
    }
    return undone;
}

static uint64_t undo_factor(uint64_t factor)
{
    uint64_t inverse = factor;
    for (unsigned i = 0; i < 6; i++) {
        inverse *= 2 - factor * inverse;
    }
    return inverse;
}

/* Returns the base of a stream whose first draw has these bits. */
static uint64_t base_for(uint64_t bits)
{
    bits = undo_shift(bits, 31) * undo_factor(UINT64_C(0x94D049BB133111EB));
    bits = undo_shift(bits, 27) * undo_factor(UINT64_C(0xBF58476D1CE4E5B9));
    return undo_shift(bits, 30) - 2 * RANDOM_STEP;
}

TEST(keys_are_in_their_range_whatever_is_drawn)
{
    static const struct {
        int64_t a, b;
    } ranges[] = {
        {0, 0},
        {INT64_MIN, INT64_MIN},
        {INT64_MAX, INT64_MAX},
        {-1, 0},
        {-5, 5},
        {INT64_MAX - 2, INT64_MAX},
        {INT64_MIN, INT64_MIN + 99},
        {0, INT64_C(1) << 53},
        {-1, (INT64_C(1) << 53) + 1},
        {0, INT64_MAX},
        {INT64_MIN, INT64_MAX},
        {INT64_MIN, INT64_MAX - 1},
    };
    static const uint64_t bits[] = {0,
                                    1,
                                    UINT64_C(1) << 11,
                                    UINT64_C(1) << 32,
                                    UINT64_C(1) << 62,
                                    INT64_MAX,
                                    UINT64_C(1) << 63,
                                    UINT64_MAX - 2048,
                                    UINT64_MAX - 1,
                                    UINT64_MAX};
    static const struct keys_options options[] = {{0},
                                                  {1e-300, 1e-300, 1e-300, 1e-300},
                                                  {0.999999, 0.999999, 0.999999, 0.999999},
                                                  {1e6, 0.5, 1, 1}};
    struct draw_stream first = {.base = base_for(12345)};
    assert_int_equal(draw_bits(&first), 12345);
    for (size_t o = 0; o < COUNT_OF(options); o++) {
        for (enum keys_kind kind = 0; kind < KEYS_KINDS; kind++) {
            if (options[o].theta > 1 && (kind == KEYS_LATEST || kind == KEYS_YCSB_ZIPFIAN)) {
                continue;
            }
            for (size_t r = 0; r < COUNT_OF(ranges); r++) {
                struct draw *const draw =
                    make_keys(kind, ranges[r].a, ranges[r].b, NULL, &options[o]);
                for (unsigned i = 0; i < COUNT_OF(bits) + 100; i++) {
                    struct draw_stream stream = {.base = i < COUNT_OF(bits) ? base_for(bits[i]) : i,
                                                 .row = UINT64_MAX - i};
                    const int64_t key = draw_number(draw, &stream);
                    assert_true(key >= ranges[r].a && key <= ranges[r].b);
                }
                draw_destroy(draw);
            }
        }
    }
}

TEST(the_ends_of_a_range_are_drawn)
{
    static const enum keys_kind kinds[] = {KEYS_UNIFORM, KEYS_PARETO, KEYS_ZIPFIAN, KEYS_LATEST};
    EACH_CASE (k, kinds, "%s", keys_kind_names[kinds[k]]) {
        struct draw *const draw = make_keys(kinds[k], -3, 3, NULL, NULL);
        bool has_low = false;
        bool has_high = false;
        struct draw_stream stream = {.base = 8};
        for (unsigned i = 0; i < DRAWS && !(has_low && has_high); i++) {
            const int64_t key = draw_number(draw, &stream);
            has_low = has_low || key == -3;
            has_high = has_high || key == 3;
        }
        assert_true(has_low && has_high);
        draw_destroy(draw);
    }
}

TEST(invalid_keys_are_refused)
{
    static const struct {
        enum keys_kind kind;
        int64_t a, b;
        struct keys_options options;
        const char *text;
    } cases[] = {
        {KEYS_UNIFORM,
         2,
         1,
         {.theta = 0},
         "keys uniform: the first key, 2, is above the last key, 1"},
        {KEYS_ZIPFIAN, 1, 9, {.theta = -1}, "theta must be above 0"},
        {KEYS_ZIPFIAN, 1, 9, {.theta = (double)NAN}, "theta must be above 0"},
        {KEYS_SCRAMBLED, 1, 9, {.theta = (double)INFINITY}, "theta must be above 0"},
        {KEYS_LATEST, 1, 9, {.theta = 1}, "theta must lie between 0 and 1"},
        {KEYS_YCSB_ZIPFIAN, 1, 9, {.theta = 1.2}, "theta must lie between 0 and 1"},
        {KEYS_PARETO, 1, 9, {.h = 1}, "h must lie between 0 and 1"},
        {KEYS_PARETO, 1, 9, {.h = -0.5}, "h must lie between 0 and 1"},
        {KEYS_HOTSPOT, 1, 9, {.hot_set = 1.5}, "hot_set must be above 0"},
        {KEYS_HOTSPOT, 1, 9, {.hot_share = -1}, "hot_share must be above 0"},
    };
    EACH_CASE (i, cases, "%s", cases[i].text) {
        struct error error = {0};
        assert_null(
            draw_keys(cases[i].kind, cases[i].a, cases[i].b, NULL, &cases[i].options, &error));
        assert_usage(&error);
        assert_part(error.text, cases[i].text);
        assert_part(error.text, keys_kind_names[cases[i].kind]);
    }
    assert_null(keys_kind_names[KEYS_KINDS]);
}

TEST(zeta_is_the_sum)
{
    static const double thetas[] = {0.01, 0.5, 0.8, 0.99, 1, 1.5};
    EACH_CASE (t, thetas, "theta = %g", thetas[t]) {
        double sum = 0;
        for (uint64_t n = 1; n <= 2000; n++) {
            sum += pow((double)n, -thetas[t]);
            assert_true(fabs(draw_zeta(n, thetas[t]) / sum - 1) < 1e-13);
        }
    }
    assert_true(fabs(draw_zeta(UINT64_C(10000000000), 0.99) - 26.46902820178302) < 1e-10);
}

/* The expected values were computed in Python from the definition of FNV-1a. */
TEST(fnv_is_that_of_ycsb)
{
    assert_int_equal(draw_fnv(0), UINT64_C(6284781860667377211));
    assert_int_equal(draw_fnv(1), UINT64_C(8517097267634966620));
    assert_int_equal(draw_fnv(2), UINT64_C(1820151046732198393));
    assert_int_equal(draw_fnv(999), UINT64_C(2071219101098386137));
    assert_int_equal(draw_fnv(INT64_C(9999999999)), UINT64_C(3605131173811637474));
    assert_int_equal(draw_fnv(-1), UINT64_C(8289690350564177859));
    assert_int_equal(draw_fnv(INT64_MAX), UINT64_C(8289549613075766851));
    assert_int_equal(draw_fnv(INT64_MIN), UINT64_C(6284922598155788219));
}

TEST(a_draw_is_a_function_of_its_stream)
{
    struct error error = {0};
    enum {
        count = KEYS_KINDS + 3
    };
    struct draw *draws[count];
    for (enum keys_kind kind = 0; kind < KEYS_KINDS; kind++) {
        draws[kind] = make_keys(kind, 1, 100000, NULL, NULL);
    }
    draws[KEYS_KINDS] = draw_text(0, 40, &error);
    draws[KEYS_KINDS + 1] = draw_pattern("##-@@", &error);
    draws[KEYS_KINDS + 2] = draw_real(0, 1, &error);
    for (size_t i = 0; i < count; i++) {
        struct draw_stream one = {.base = 42, .count = 7, .row = 3};
        struct draw_stream two = one;
        struct draw_stream other = {.base = 43, .row = 4};
        unsigned same = 0;
        for (unsigned j = 0; j < 100; j++) {
            char rooms[3][64];
            struct draw_value values[3];
            draw_value(draws[i], &one, rooms[0], &values[0]);
            draw_value(draws[(i + j) % count], &(struct draw_stream){.base = j}, rooms[1],
                       &values[1]); /* another stream makes no difference */
            draw_value(draws[i], &two, rooms[1], &values[1]);
            draw_value(draws[i], &other, rooms[2], &values[2]);
            assert_int_equal(one.count, two.count);
            assert_int_equal(values[0].integer, values[1].integer);
            assert_true(values[0].real == values[1].real);
            assert_int_equal(values[0].length, values[1].length);
            assert_memory_equal(rooms[0], rooms[1], values[0].length);
            same += values[0].integer == values[2].integer && values[0].real == values[2].real &&
                    values[0].length == values[2].length &&
                    memcmp(rooms[0], rooms[2], values[0].length) == 0;
        }
        assert_in_range(same, 0, i == KEYS_LATEST || i == KEYS_ZIPFIAN ? 20 : 8);
    }
    for (size_t i = 0; i < count; i++) {
        draw_destroy(draws[i]);
    }
}

TEST(rows)
{
    struct error error = {0};
    struct draw *const draw = draw_row(-2, &error);
    assert_int_equal(draw_kind(draw), DRAW_ROW);
    struct draw_stream stream = {.row = 5};
    assert_int_equal(draw_number(draw, &stream), 3);
    assert_int_equal(stream.count, 0);
    draw_destroy(draw);
}

/* The expected texts were made by a shell's printf. */
TEST(formats)
{
    static const struct {
        const char *format;
        int64_t number;
        const char *text;
    } cases[] = {
        {"[%d]", -7, "[-7]"},
        {"[%5d]", -7, "[   -7]"},
        {"[%-5d]", -7, "[-7   ]"},
        {"[%05d]", -42, "[-0042]"},
        {"[%+d]", 5, "[+5]"},
        {"[% d]", 5, "[ 5]"},
        {"[%+d]", -5, "[-5]"},
        {"[%u]", -1, "[18446744073709551615]"},
        {"[%x]", -1, "[ffffffffffffffff]"},
        {"[%X]", 48879, "[BEEF]"},
        {"[%#x]", 255, "[0xff]"},
        {"[%#X]", 255, "[0XFF]"},
        {"[%#08x]", 255, "[0x0000ff]"},
        {"[%#x]", 0, "[0]"},
        {"[%#o]", 8, "[010]"},
        {"[%#o]", 0, "[0]"},
        {"[%o]", -1, "[1777777777777777777777]"},
        {"%#o", -1, "01777777777777777777777"},
        {"[%-08d]", 7, "[7       ]"},
        {"[%+06d]", 42, "[+00042]"},
        {"[%3d]", 12345, "[12345]"},
        {"%d", INT64_MIN, "-9223372036854775808"},
        {"%%%d%%", 1, "%1%"},
        {"%30d", 1, "                             1"},
        {"emp%06d", 41, "emp000041"},
    };
    EACH_CASE (i, cases, "%s of %lld", cases[i].format, (long long)cases[i].number) {
        struct error error = {0};
        struct draw *const row = draw_row(cases[i].number, &error);
        struct draw *const draw = draw_format(cases[i].format, &row, 1, &error);
        assert_non_null(draw);
        const size_t room = draw_room(draw);
        char *const text = malloc(room); /* so that sanitizers notice a write past the end */
        struct draw_value value;
        draw_value(draw, &(struct draw_stream){0}, text, &value);
        assert_int_equal(value.type, DRAW_IS_TEXT);
        assert_int_equal(value.length, strlen(cases[i].text));
        assert_true(value.length <= room);
        assert_memory_equal(value.text, cases[i].text, value.length);
        free(text);
        draw_destroy(draw);
        draw_destroy(row);
    }
}

TEST(a_format_draws_from_left_to_right)
{
    struct error error = {0};
    struct draw *const inner[] = {make_keys(KEYS_UNIFORM, 0, 1000, NULL, NULL),
                                  draw_row(100, &error), NULL};
    struct draw *const three[] = {inner[0], inner[1], inner[0]};
    struct draw *const draw = draw_format("a%db%dc%dd", three, 3, &error);
    char room[128];
    char text[64];
    struct draw_value value;
    struct draw_stream stream = {.base = 6, .row = 1};
    struct draw_stream again = stream;
    draw_value(draw, &stream, room, &value);
    const int first = (int)draw_number(inner[0], &again);
    const int last = (int)draw_number(inner[0], &again);
    assert_int_equal(stream.count, again.count);
    const int length = snprintf(text, sizeof text, "a%db101c%dd", first, last);
    assert_int_equal(value.length, length);
    assert_memory_equal(value.text, text, value.length);
    draw_destroy(draw);
    draw_destroy(inner[0]);
    draw_destroy(inner[1]);
}

TEST(bad_formats_are_refused)
{
    static const struct {
        const char *format;
        size_t count;
        const char *text;
    } cases[] = {
        {"x%dy%d", 1, "'x%dy%d' has 2 conversions, but 1 generator is given"},
        {"x%d", 2, "'x%d' has 1 conversion, but 2 generators are given"},
        {"x%d", 0, "'x%d' has 1 conversion, but 0 generators are given"},
        {"plain", 0, "'plain' has 0 conversions"},
        {"100%%", 1, "'100%%' has 0 conversions"},
        {"", 0, "'' has 0 conversions"},
        {"%s", 1, "'%s' is not a conversion for a whole number"},
        {"%d: %5.2f rows", 1, "'%5.2f' is not a conversion for a whole number"},
        {"%n", 1, "'%n' is not"},
        {"a%5fb", 1, "'%5fb' is not"},
        {"%", 1, "'%' is not"},
        {"%5", 1, "'%5' is not"},
        {"%*d", 1, "'%*d' is not"},
        {"%.3d", 1, "'%.3d' is not"},
        {"%ld", 1, "'%ld' is not"},
        {"%256d", 1, "'%256d' is not"},
        {"%99999999999999999999d", 1, "is not"},
    };
    struct error error = {0};
    struct draw *const row = draw_row(1, &error);
    struct draw *const two[] = {row, row};
    EACH_CASE (i, cases, "%s", cases[i].format) {
        error_clear(&error);
        assert_null(draw_format(cases[i].format, two, cases[i].count, &error));
        assert_usage(&error);
        assert_part(error.text, cases[i].text);
    }
    error_clear(&error);
    struct draw *const real = draw_real(0, 1, &error);
    assert_null(draw_format("%d", &real, 1, &error));
    assert_string_equal(error.text,
                        "format: generator 1 does not draw whole numbers: use row, keys "
                        "or uniform with bounds that are whole numbers");
    draw_destroy(real);
    draw_destroy(row);
}

TEST(texts)
{
    struct error error = {0};
    struct draw *const draw = draw_text(3, 12, &error);
    assert_int_equal(draw_room(draw), 12);
    uint64_t lengths[10] = {0};
    memset(observed, 0, sizeof observed);
    struct draw_stream stream = {.base = 11};
    for (unsigned i = 0; i < 40000; i++) {
        char room[12];
        struct draw_value value;
        draw_value(draw, &stream, room, &value);
        assert_int_equal(value.type, DRAW_IS_TEXT);
        assert_in_range(value.length, 3, 12);
        lengths[value.length - 3]++;
        for (size_t c = 0; c < value.length; c++) {
            assert_true(value.text[c] >= 0x20 && value.text[c] <= 0x7e);
            observed[value.text[c] - 0x20]++;
        }
    }
    draw_destroy(draw);
    for (size_t i = 0; i < 0x7f - 0x20; i++) {
        expected[i] = strchr("\"'\\", (int)i + 0x20) != NULL ? 0 : 1.0 / 92;
        assert_true(expected[i] > 0 || observed[i] == 0);
    }
    check_shares("characters of texts", 0x7f - 0x20);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        observed[i] = lengths[i];
        expected[i] = 0.1;
    }
    check_shares("lengths of texts", COUNT_OF(lengths));
}

TEST(texts_of_one_length)
{
    static const uint64_t lengths[] = {0, 1, 100};
    EACH_CASE (i, lengths, "%d characters", (int)lengths[i]) {
        struct error error = {0};
        struct draw *const draw = draw_text(lengths[i], lengths[i], &error);
        assert_int_equal(draw_room(draw), lengths[i]);
        char room[100];
        struct draw_value value;
        draw_value(draw, &(struct draw_stream){.base = 2}, room, &value);
        assert_int_equal(value.length, lengths[i]);
        draw_destroy(draw);
    }
    struct error error = {0};
    assert_null(draw_text(3, 2, &error));
    assert_string_equal(error.text, "text: the shortest length, 3, is above the longest length, 2");
    assert_usage(&error);
    error_clear(&error);
    assert_null(draw_text(1, UINT64_MAX, &error));
    assert_usage(&error);
    error_clear(&error);
    assert_null(draw_text(1, 16777217, &error));
    assert_string_equal(error.text, "text: lengths of 1 to 16777217 bytes are too long: at most "
                                    "16777216 bytes are allowed");
    struct draw *const longest = draw_text(1, 16777216, &error);
    assert_non_null(longest);
    assert_int_equal(draw_room(longest), 16777216);
    draw_destroy(longest);
}

TEST(patterns)
{
    struct error error = {0};
    struct draw *const draw = draw_pattern("#-@@%d ####", &error);
    assert_int_equal(draw_room(draw), 11);
    uint64_t letters[26] = {0};
    memset(observed, 0, sizeof observed);
    struct draw_stream stream = {.base = 13};
    for (unsigned i = 0; i < 20000; i++) {
        char room[11];
        struct draw_value value;
        draw_value(draw, &stream, room, &value);
        assert_int_equal(value.length, 11);
        assert_int_equal(room[1], '-');
        assert_memory_equal(room + 4, "%d ", 3);
        for (size_t c = 0; c < 11; c = c == 0 ? 7 : c + 1) {
            assert_true(room[c] >= '0' && room[c] <= '9');
            observed[room[c] - '0']++;
        }
        for (size_t c = 2; c < 4; c++) {
            assert_true(room[c] >= 'a' && room[c] <= 'z');
            letters[room[c] - 'a']++;
        }
    }
    draw_destroy(draw);
    for (size_t i = 0; i < 10; i++) {
        expected[i] = 0.1;
    }
    check_shares("digits of patterns", 10);
    for (size_t i = 0; i < COUNT_OF(letters); i++) {
        observed[i] = letters[i];
        expected[i] = 1.0 / 26;
    }
    check_shares("letters of patterns", COUNT_OF(letters));
}

TEST(reals)
{
    static const struct {
        double a, b;
    } ranges[] = {{-5, 20}, {-DBL_MAX, DBL_MAX}, {1.0 / 3, 1.0 / 3}, {0.1, 0.3}};
    EACH_CASE (r, ranges, "%g to %g", ranges[r].a, ranges[r].b) {
        struct error error = {0};
        struct draw *const draw = draw_real(ranges[r].a, ranges[r].b, &error);
        const double middle = ranges[r].a / 2 + ranges[r].b / 2;
        struct draw_stream stream = {.base = 17};
        memset(observed, 0, sizeof observed);
        for (unsigned i = 0; i < DRAWS; i++) {
            struct draw_value value;
            draw_value(draw, &stream, NULL, &value);
            assert_int_equal(value.type, DRAW_IS_REAL);
            assert_true(value.real >= ranges[r].a && value.real <= ranges[r].b);
            const double half = ranges[r].b / 2 - ranges[r].a / 2;
            /* place in the range, from -1 to 1 */
            const double place = half > 0 ? (value.real - middle) / half : 0;
            observed[(size_t)fmin(9, (place + 1) * 5)]++;
        }
        for (size_t i = 0; i < 10; i++) {
            expected[i] = ranges[r].a < ranges[r].b ? 0.1 : i == 5;
        }
        check_shares("reals", 10);
        draw_destroy(draw);
    }
    static const struct {
        double a, b;
    } bad[] = {{1, 0}, {0, (double)INFINITY}, {-(double)INFINITY, 0}, {(double)NAN, 1}};
    EACH_CASE (i, bad, "%g to %g", bad[i].a, bad[i].b) {
        struct error error = {0};
        assert_null(draw_real(bad[i].a, bad[i].b, &error));
        assert_usage(&error);
    }
}

TEST(derived_values_name_their_function)
{
    struct error error = {0};
    struct draw *const inner = draw_pattern("user####", &error);
    struct draw *const draw = draw_derive(inner, 12, &error);
    assert_int_equal(draw_kind(draw), DRAW_DERIVE);
    assert_ptr_equal(draw_inner(draw), inner);
    assert_int_equal(draw_function(draw), 12);
    assert_int_equal(draw_room(draw), 8);
    assert_null(draw_derive(draw, 1, &error));
    assert_usage(&error);
    draw_destroy(draw);
    draw_destroy(inner);
    draw_destroy(NULL);
}

TEST(numbers_are_known_when_all_below_have_ended)
{
    struct counter *const counter = counter_create(10);
    uint64_t number;
    assert_int_equal(counter_known(counter), 10);
    for (uint64_t i = 10; i < 16; i++) {
        assert_true(counter_next(counter, &number));
        assert_int_equal(number, i);
    }
    assert_int_equal(counter_known(counter), 10);
    counter_end(counter, 12);
    counter_end(counter, 11);
    assert_int_equal(counter_known(counter), 10);
    counter_end(counter, 10);
    assert_int_equal(counter_known(counter), 13);
    counter_end(counter, 15);
    counter_end(counter, 15);
    counter_end(counter, 16); /* this number was not taken */
    counter_end(counter, 3);
    assert_int_equal(counter_known(counter), 13);
    counter_end(counter, 13);
    counter_end(counter, 14);
    assert_int_equal(counter_known(counter), 16);
    assert_true(counter_next(counter, &number));
    assert_int_equal(number, 16);
    assert_int_equal(counter_known(counter), 16);
    counter_destroy(counter);
    counter_destroy(NULL);
}

TEST(a_window_of_numbers_can_be_pending)
{
    struct counter *const counter = counter_create(77);
    uint64_t number;
    for (unsigned round = 0; round < 2; round++) {
        const uint64_t first = counter_known(counter);
        for (uint64_t i = 0; i < WINDOW; i++) {
            assert_true(counter_next(counter, &number));
        }
        assert_int_equal(number, first + WINDOW - 1);
        assert_false(counter_next(counter, &number));
        for (uint64_t i = WINDOW - 1; i > 0; i--) {
            counter_end(counter, first + i);
        }
        assert_int_equal(counter_known(counter), first);
        assert_false(counter_next(counter, &number));
        counter_end(counter, first);
        assert_int_equal(counter_known(counter), first + WINDOW);
    }
    counter_destroy(counter);
}

enum {
    THREADS = 4,
    TAKEN = 20000, /* numbers that each thread takes */
    HELD = 50,
};

static struct counter *shared;
static _Atomic unsigned char times_taken[THREADS * TAKEN];

struct taker {
    pthread_t thread;
    uint64_t seed;
    unsigned wrong; /* errors: the counter had no number left, or counter_known was above a pending
                       number */
};

/* Takes numbers, and calls counter_end for them later in a random order. */
static void *take_numbers(void *context)
{
    struct taker *const taker = context;
    struct draw_stream stream = {.base = taker->seed};
    uint64_t held[HELD];
    size_t count = 0;
    for (unsigned i = 0; i < TAKEN || count > 0;) {
        if (count < HELD && i < TAKEN) {
            taker->wrong += !counter_next(shared, &held[count]);
            times_taken[held[count]]++;
            count++;
            i++;
        }
        if (count == HELD || i == TAKEN) {
            const size_t at = (size_t)(draw_bits(&stream) % count);
            taker->wrong += counter_known(shared) > held[at];
            counter_end(shared, held[at]);
            held[at] = held[--count];
        }
    }
    return NULL;
}

TEST(many_threads_share_a_counter)
{
    shared = counter_create(0);
    struct taker takers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.seed = i};
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_numbers, &takers[i]), 0);
    }
    uint64_t known = 0;
    bool has_gone_back = false;
    while (known < THREADS * TAKEN / 2) {
        const uint64_t now = counter_known(shared);
        has_gone_back = has_gone_back || now < known;
        known = now;
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(takers[i].thread, NULL);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(takers[i].wrong, 0);
    }
    assert_false(has_gone_back);
    assert_int_equal(counter_known(shared), THREADS * TAKEN);
    for (size_t i = 0; i < THREADS * TAKEN; i++) {
        assert_int_equal(times_taken[i], 1);
    }
    counter_destroy(shared);
}

/* Writes eight draws of a generator: the streams of rows 0 … 3, two draws each. */
static void write_draws(const struct draw *draw, char *text, size_t size)
{
    char room[300];
    size_t used = 0;
    assert_true(draw_room(draw) < sizeof room);
    for (uint64_t row = 0; row < 4; row++) {
        struct draw_stream stream = {.base = random_mix(12345 + row), .row = row};
        for (int i = 0; i < 2; i++) {
            struct draw_value value;
            draw_value(draw, &stream, room, &value);
            if (value.type == DRAW_IS_INTEGER) {
                used +=
                    (size_t)snprintf(text + used, size - used, "%lld ", (long long)value.integer);
            } else if (value.type == DRAW_IS_REAL) {
                used += (size_t)snprintf(text + used, size - used, "%.9g ", value.real);
            } else {
                used += (size_t)snprintf(text + used, size - used, "%.*s ", (int)value.length,
                                         value.text);
            }
            assert_true(used < size);
        }
    }
}

/* A seed gives the same keys in every version of append. */
TEST(keys_of_a_seed)
{
    static const struct {
        enum keys_kind kind;
        int64_t a, b;
        /* with a counter, the range ends before this number; 0: without a counter, the range ends
         * at b */
        uint64_t last;
        struct keys_options options;
        const char *expected;
    } cases[] = {
        {KEYS_UNIFORM, 1, 1000, 0, {.theta = 0}, "665 205 384 110 481 706 311 313 "},
        {KEYS_UNIFORM,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "467550782 447647897 645402217 133932530 780397883 23041564 38603609 950963238 "},
        {KEYS_UNIFORM, 7, 9, 0, {.theta = 0}, "7 7 9 8 8 8 9 7 "},
        {KEYS_UNIFORM, 1, 100000, 777, {.theta = 0}, "153 85 240 510 209 746 391 625 "},
        {KEYS_SEQUENTIAL, 1, 1000, 0, {.theta = 0}, "1 1 2 2 3 3 4 4 "},
        {KEYS_SEQUENTIAL, -50, 1000000000, 0, {.theta = 0}, "-50 -50 -49 -49 -48 -48 -47 -47 "},
        {KEYS_SEQUENTIAL, 7, 9, 0, {.theta = 0}, "7 7 8 8 9 9 7 7 "},
        {KEYS_GAUSSIAN, 1, 1000, 0, {.theta = 0}, "612 566 535 410 499 386 586 477 "},
        {KEYS_GAUSSIAN,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "611764032 565733926 534347661 409147712 498182817 385250324 585791132 476341318 "},
        {KEYS_GAUSSIAN, 7, 9, 0, {.theta = 0}, "8 8 8 8 8 8 8 8 "},
        {KEYS_GAUSSIAN, 1, 100000, 777, {.theta = 0}, "475 440 415 318 387 299 455 370 "},
        {KEYS_PARETO, 1, 1000, 0, {.theta = 0}, "7 1 124 430 654 164 59 135 "},
        {KEYS_PARETO,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "6834627 3795 123524859 429217909 653402603 163310389 58951478 134121624 "},
        {KEYS_PARETO, 7, 9, 0, {.theta = 0}, "7 7 7 8 8 7 7 7 "},
        {KEYS_PARETO, 1, 100000, 777, {.theta = 0}, "6 1 96 334 508 127 46 105 "},
        {KEYS_EXPONENTIAL, 1, 1000, 0, {.theta = 0}, "810 946 631 433 298 599 696 622 "},
        {KEYS_EXPONENTIAL,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "809720311 945954005 630008845 432592281 297711983 598471286 695622215 621191714 "},
        {KEYS_EXPONENTIAL, 7, 9, 0, {.theta = 0}, "9 9 8 8 7 8 9 8 "},
        {KEYS_EXPONENTIAL, 1, 100000, 777, {.theta = 0}, "629 735 489 336 232 465 540 483 "},
        {KEYS_SPECIAL, 1, 1000, 0, {.theta = 0}, "501 628 503 505 505 504 502 503 "},
        {KEYS_SPECIAL,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "500009429 628584830 502482956 503893460 504427017 502778314 501753538 502568835 "},
        {KEYS_SPECIAL, 7, 9, 0, {.theta = 0}, "8 8 8 8 8 8 8 8 "},
        {KEYS_SPECIAL, 1, 100000, 777, {.theta = 0}, "389 488 391 392 392 391 390 391 "},
        {KEYS_ZIPFIAN, 1, 1000, 0, {.theta = 0}, "85 476 13 3 1 10 24 12 "},
        {KEYS_ZIPFIAN,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "33195679 382128793 1239013 28238 1692 687698 4163390 1051446 "},
        {KEYS_ZIPFIAN, 7, 9, 0, {.theta = 0}, "7 9 7 7 7 7 7 7 "},
        {KEYS_ZIPFIAN, 1, 100000, 777, {.theta = 0}, "69 374 11 3 1 8 20 10 "},
        {KEYS_SCRAMBLED, 1, 1000, 0, {.theta = 0}, "585 86 578 68 104 84 462 937 "},
        {KEYS_SCRAMBLED,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "182007741 540607598 793194474 215176587 652772668 380037727 839557905 365486747 "},
        {KEYS_SCRAMBLED, 7, 9, 0, {.theta = 0}, "9 8 9 9 9 9 9 9 "},
        {KEYS_SCRAMBLED, 1, 100000, 777, {.theta = 0}, "474 157 566 68 104 249 90 84 "},
        {KEYS_HOTSPOT, 1, 1000, 0, {.theta = 0}, "5 112 110 189 506 163 113 64 "},
        {KEYS_HOTSPOT,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "122149624 148537561 139513289 60697788 835916529 16348572 113043322 133284873 "},
        {KEYS_HOTSPOT, 7, 9, 0, {.theta = 0}, "7 7 7 7 9 7 7 7 "},
        {KEYS_HOTSPOT, 1, 100000, 777, {.theta = 0}, "70 22 150 49 754 108 128 49 "},
        {KEYS_LATEST, 1, 1000, 0, {.theta = 0}, "978 999 851 565 350 813 915 841 "},
        {KEYS_LATEST,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "999961907 999999972 993280095 885649184 672732958 987753528 998497259 991995920 "},
        {KEYS_LATEST, 7, 9, 0, {.theta = 0}, "9 9 8 7 7 8 8 8 "},
        {KEYS_LATEST, 1, 100000, 777, {.theta = 0}, "757 775 653 430 265 623 705 645 "},
        {KEYS_YCSB_ZIPFIAN, 1, 1000, 0, {.theta = 0}, "563 998 171 122 781 579 417 280 "},
        {KEYS_YCSB_ZIPFIAN,
         -50,
         1000000000,
         0,
         {.theta = 0},
         "310589243 473809085 768239296 556512108 160180628 857888574 966602702 432035167 "},
        {KEYS_YCSB_ZIPFIAN, 7, 9, 0, {.theta = 0}, "7 9 7 8 7 8 7 8 "},
        {KEYS_YCSB_ZIPFIAN, 1, 100000, 777, {.theta = 0}, "609 732 291 312 111 113 491 220 "},
        {KEYS_ZIPFIAN, 1, 1000, 0, {.theta = 0.2}, "421 784 180 65 29 154 247 172 "},
        {KEYS_ZIPFIAN, 1, 1000, 0, {.theta = 1}, "23 264 4 1 1 3 6 3 "},
        {KEYS_ZIPFIAN, 1, 1000, 0, {.theta = 1.5}, "2 15 1 1 1 1 1 1 "},
        {KEYS_SCRAMBLED, 1, 1000, 0, {.theta = 0.2}, "5 70 405 966 613 235 312 143 "},
        {KEYS_SCRAMBLED, 1, 1000, 0, {.theta = 1}, "207 491 69 104 104 68 863 68 "},
        {KEYS_SCRAMBLED, 1, 1000, 0, {.theta = 1.5}, "493 795 104 104 104 104 104 104 "},
        {KEYS_LATEST, 1, 1000, 0, {.theta = 0.5}, "741 964 434 206 110 389 537 421 "},
        {KEYS_YCSB_ZIPFIAN, 1, 1000, 0, {.theta = 0.5}, "788 938 267 170 316 808 95 321 "},
        {KEYS_PARETO, 1, 1000, 0, {.h = 0.4}, "290 46 595 811 900 638 495 607 "},
        {KEYS_HOTSPOT,
         1,
         1000,
         0,
         {.hot_set = 0.5, .hot_share = 0.1},
         "705 512 610 889 706 63 813 864 "},
        {KEYS_HOTSPOT, 1, 1000, 0, {.hot_share = 0.99}, "5 112 110 189 106 163 113 64 "},
    };
    EACH_CASE (i, cases, "row %zu, %s", i, keys_kind_names[cases[i].kind]) {
        char text[400];
        struct counter *const counter = counter_create(500);
        assert_non_null(counter);
        for (uint64_t n = 500, number; n < cases[i].last; n++) {
            assert_true(counter_next(counter, &number));
            counter_end(counter, number);
        }
        struct draw *draw = make_keys(cases[i].kind, cases[i].a, cases[i].b,
                                      cases[i].last > 0 ? counter : NULL, &cases[i].options);
        write_draws(draw, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
        draw_destroy(draw);
        counter_destroy(counter);
    }
}
