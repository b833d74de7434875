/*
 * The generators that scripts can use. They draw keys from eleven distributions, and values of
 * columns.
 *
 * A drawn value depends only on its stream. While a script runs, the stream depends on seed,
 * session, transaction and number of the draw; while the script's tables are loaded, on seed,
 * table, row and column. Therefore a run with the same seed draws the same values, and a retry of a
 * transaction draws the same keys.
 *
 * A struct draw is read-only after its creation and belongs to one Lua state. A struct counter is
 * shared by all sessions.
 */
#ifndef SCRIPT_DRAW_H
#define SCRIPT_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/random.h"

/* A source of random numbers. Set all members to 0, then set `base`, which must be different for
 * each transaction and for each value of a table. */
struct draw_stream {
    uint64_t base;
    uint64_t count; /* number of random numbers drawn so far */
    /* While a table is loaded: the number of the row, from 0. While a script runs: a number that is
     * different for each transaction of the run. This number is turn × sessions + session, where
     * `turn` is the number of the transaction within its session; all numbers count from 0. */
    uint64_t row;
};

/* Returns 64 uniformly distributed bits. */
static inline uint64_t draw_bits(struct draw_stream *stream)
{
    return random_mix(stream->base + RANDOM_STEP * ++stream->count);
}

/* Returns a number from 0 (included) to 1 (excluded), in steps of 2^-53. */
static inline double draw_unit(struct draw_stream *stream)
{
    return (double)(draw_bits(stream) >> 11) * 0x1p-53;
}

/*
 * A counter returns each number from `start` on once. A number is pending from the call of
 * counter_next that takes it until the call of counter_end, after its transaction has ended.
 * counter_known is the lowest number that is pending or not yet taken: every lower number either is
 * in the table already or will never be inserted. Any thread may call these functions.
 */
struct counter;
struct counter *counter_create(uint64_t start); /* returns NULL if memory runs out */
void counter_destroy(struct counter *counter);

/* Divides the numbers among `stride` processes: this process takes start + place and every
 * stride-th number after it. Must be called before the first number is taken. From then on
 * counter_known considers only the numbers of this process. */
void counter_share(struct counter *counter, uint64_t place, uint64_t stride);

/* Takes the next number. Returns false if this process has taken 2^20 numbers since it took its
 * oldest pending number, that number included. */
bool counter_next(struct counter *counter, uint64_t *number);
void counter_end(struct counter *counter, uint64_t number);
uint64_t counter_known(const struct counter *counter);

/*
 * Distributions of keys between a and b (both included). n = b - a + 1, u is uniform in 0 … 1, and
 * results are rounded down. Every key is in the range, however doubles are rounded.
 *
 * zipfian and scrambled: the shares are exact except for rounding, by rejection-inversion
 * (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
 * distributions", ACM TOMACS 6, 1996) with the integral (x^(1-theta) - 1) / (1-theta), which has a
 * limit at theta = 1: ln x.
 *
 * latest and ycsb_zipfian: the approximation of YCSB's ZipfianGenerator (J. Gray et al., "Quickly
 * generating billion-record synthetic databases", SIGMOD 1994), for theta below 1. Let
 * zeta = draw_zeta and eta = (1 - (2/n)^(1-theta)) / (1 - zeta(2) / zeta(n)). The number drawn is
 * 0 if u zeta(n) < 1; 1 if 1 <= u zeta(n) < zeta(2); otherwise
 * n (eta u - eta + 1)^(1 / (1-theta)). ycsb_zipfian draws this number with n = 10^10 and hashes
 * it: the key is a + draw_fnv(number) mod n, with the n of the range.
 *
 * A range can end before the value of counter_known; while the range is empty, the key is a. Hot
 * keys stay hot while the counter grows: scrambled moves most keys only when n passes a power of
 * two. If the range ends at a counter, ycsb_zipfian takes the hash mod m instead of mod n: m is the
 * number of keys when the counter started, doubled until m >= n. A key above b is drawn again.
 */
enum keys_kind {
    KEYS_UNIFORM,
    KEYS_SEQUENTIAL, /* a + stream.row; after b, the keys start again at a */
    KEYS_GAUSSIAN,   /* a + n × mean of 12 u (sysbench 1.0.20) */
    KEYS_PARETO,     /* a + n × u^(ln h / ln(1-h)) (sysbench); default h = 0.2 */
    /* b + ln(u) / gamma, gamma = -ln(0.05) / (0.8571428571 n) (YCSB); a key below a is drawn
     * again */
    KEYS_EXPONENTIAL,
    KEYS_SPECIAL,   /* t = n - 1; u < 1/4: a + t × mean of 12 u; else, with the same u,
                       a + t/2 - t/200 + u (t/100 + 1) (sysbench 1.0.20) */
    KEYS_ZIPFIAN,   /* P(a + k - 1) is proportional to k^-theta; exact; default theta = 0.8 */
    KEYS_SCRAMBLED, /* zipfian, then a bijection spreads the keys over the range */
    /* hot_share of the draws are uniform over the first hot_set × n keys, the other draws are
     * uniform over the other keys */
    KEYS_HOTSPOT,
    KEYS_LATEST,       /* b - (zipfian over 0 … n-1); default theta = 0.99 */
    KEYS_YCSB_ZIPFIAN, /* YCSB's ScrambledZipfianGenerator; default theta = 0.99 */
    KEYS_KINDS,
};
/* names of the kinds: "uniform", … "ycsb_zipfian"; ends with NULL */
extern const char *const keys_kind_names[];

struct keys_options {
    double theta;     /* exponent of the zipfian distributions; 0 stands for the default of the
                         distribution */
    double h;         /* parameter h of KEYS_PARETO; 0 stands for 0.2 */
    double hot_set;   /* share of the keys that are hot in KEYS_HOTSPOT; 0 stands for 0.2 */
    double hot_share; /* share of the draws that take hot keys in KEYS_HOTSPOT; 0 stands for 0.8 */
};

enum draw_kind {
    DRAW_ROW,    /* sum of `base` and stream.row */
    DRAW_FORMAT, /* a text with numbers of inner generators: %d, %06d, %x … */
    /* min … max bytes of printable ASCII (0x20 … 0x7e) except quotes and the backslash */
    DRAW_TEXT,
    DRAW_PATTERN, /* a copy of the pattern with '#' replaced by digits, '@' by lower-case letters */
    DRAW_KEYS,
    DRAW_REAL,   /* a real number, uniform in a … b */
    DRAW_DERIVE, /* a Lua function converts the value of an inner generator */
};

/* A generator. */
struct draw;

/* A drawn value. */
struct draw_value {
    enum draw_type {
        DRAW_IS_INTEGER,
        DRAW_IS_REAL,
        DRAW_IS_TEXT
    } type;
    int64_t integer;
    double real;
    /* the text, without a terminating NUL; borrowed from the caller's buffer or from Lua */
    const char *text;
    size_t length;
};

/* Each of these functions creates a generator, owned by the caller; inner generators are borrowed.
 * On failure the function returns NULL, and *error names the wrong argument (ERROR_USAGE) or
 * reports that memory ran out. */
struct draw *draw_row(int64_t base, struct error *error);
/* The format needs one conversion for a whole number (d, u, x, X or o, with flags and a width) for
 * each inner generator. */
struct draw *draw_format(const char *format, struct draw *const *inner, size_t count,
                         struct error *error);
struct draw *draw_text(uint64_t min, uint64_t max, struct error *error);
struct draw *draw_pattern(const char *pattern, struct error *error);
/* Creates a generator of keys. The last key is b, or, if `last` is not NULL, the number before
 * counter_known(last). `options` may be NULL. */
struct draw *draw_keys(enum keys_kind kind, int64_t a, int64_t b, const struct counter *last,
                       const struct keys_options *options, struct error *error);
struct draw *draw_real(double a, double b, struct error *error);
struct draw *draw_derive(struct draw *inner, int function, struct error *error);
void draw_destroy(struct draw *draw);

enum draw_kind draw_kind(const struct draw *draw);
struct draw *draw_inner(const struct draw *draw); /* the inner generator; only for DRAW_DERIVE */
int draw_function(const struct draw *draw);       /* number of the function; only for DRAW_DERIVE */

/* Returns the size of the buffer for draw_value: the number of bytes of the longest text that can
 * be drawn. Returns 0 if the generator draws numbers. */
size_t draw_room(const struct draw *draw);

/* Draws a value. A text is written to `room`, which has draw_room bytes. Must not be called for
 * DRAW_DERIVE: the caller must draw from draw_inner and then call the Lua function whose number
 * draw_function returns. */
void draw_value(const struct draw *draw, struct draw_stream *stream, char *room,
                struct draw_value *value);

/* Returns the sum of k^-theta over k = 1 … n, 0 < theta < 2: term by term up to n = 16, then by the
 * formula of Euler and Maclaurin, with a relative error of at most 1e-13. */
double draw_zeta(uint64_t n, double theta);

/* Returns YCSB's hash of a number: FNV-1a of its 8 bytes, the lowest first, then the absolute value
 * (site.ycsb.Utils.fnvhash64 and Math.abs). */
uint64_t draw_fnv(int64_t number);

#endif
