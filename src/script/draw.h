/*
 * What scripts draw: keys by eleven distributions, and values of columns.
 *
 * A draw is a pure function of its stream: of (seed, session, transaction, number of the draw)
 * while a script runs, and of (seed, table, row, column) while its tables are loaded. So a run
 * repeats with its seed, and a transaction that is tried again meets the same keys.
 *
 * A struct draw is read-only after it was made and belongs to one Lua state; a struct counter is
 * shared by all sessions.
 */
#ifndef SCRIPT_DRAW_H
#define SCRIPT_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "base/random.h"

/* Where draws come from. A zeroed stream with a base of its own for each transaction or value. */
struct draw_stream {
    uint64_t base;
    uint64_t count; /* drawn so far */
    uint64_t row;   /* of a value of a table: from 0; while a script runs, the number of the
                       transaction among those of all sessions, which take turns */
};

/* Of 64 bits, all alike. */
static inline uint64_t draw_bits(struct draw_stream *stream)
{
    return random_mix(stream->base + RANDOM_STEP * ++stream->count);
}

/* From 0 up to and without 1, in steps of 2^-53. */
static inline double draw_unit(struct draw_stream *stream)
{
    return (double)(draw_bits(stream) >> 11) * 0x1p-53;
}

/*
 * Numbers that are given out once each, beginning with `start`. A number is pending from when it
 * was taken until its transaction has ended; known is the lowest number that is pending or was not
 * taken: all below it are in the table, or never will be. Any thread.
 */
struct counter;
struct counter *counter_create(uint64_t start); /* NULL: out of memory */
void counter_destroy(struct counter *counter);

/* Before the first number is taken: of `stride` processes that share the numbers this one takes
 * every stride-th, from start + place on. What is known is then known of its own numbers. */
void counter_share(struct counter *counter, uint64_t place, uint64_t stride);

/* False: 2^20 numbers are pending behind the oldest one. */
bool counter_next(struct counter *counter, uint64_t *number);
void counter_end(struct counter *counter, uint64_t number);
uint64_t counter_known(const struct counter *counter);

/*
 * How keys between a and b (both included) are chosen; n = b - a + 1, u is uniform in 0 … 1, and
 * whole parts are taken. Whatever u and the rounding of doubles, a key is in the range.
 *
 * Zipfian and scrambled: the shares are exact but for rounding, by rejection-inversion
 * (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
 * distributions", ACM TOMACS 6, 1996) with the integral (x^(1-theta) - 1) / (1-theta), which has a
 * limit at theta = 1: ln x.
 *
 * Latest and ycsb_zipfian: the approximation of YCSB's ZipfianGenerator (J. Gray et al., "Quickly
 * generating billion-record synthetic databases", SIGMOD 1994), theta below 1: with
 * zeta = draw_zeta and eta = (1 - (2/n)^(1-theta)) / (1 - zeta(2) / zeta(n)), 0 if
 * u zeta(n) < 1; else 1 if u zeta(n) < zeta(2); else n (eta u - eta + 1)^(1 / (1-theta)).
 * YCSB's scrambled one hashes such a number below 10^10: a + draw_fnv(number) mod n.
 *
 * Where a counter ends the range and it is empty, a is drawn. The keys that are hot stay so while
 * it grows: scrambled moves most keys only where n passes a power of two, and ycsb_zipfian, mod the
 * number of keys at the counter's start, doubled as often as needed, draws again above b.
 */
enum keys_kind {
    KEYS_UNIFORM,
    KEYS_SEQUENTIAL,  /* a + stream.row, b followed by a */
    KEYS_GAUSSIAN,    /* a + n × mean of 12 u (sysbench 1.0.20) */
    KEYS_PARETO,      /* a + n × u^(ln h / ln(1-h)) (sysbench); h = 0.2 */
    KEYS_EXPONENTIAL, /* b + ln(u) / gamma, gamma = -ln(0.05) / (0.8571428571 n) (YCSB); again below
                         a */
    KEYS_SPECIAL,     /* t = n - 1; u < 1/4: a + t × mean of 12 u; else, with the same u,
                         a + t/2 - t/200 + u (t/100 + 1) (sysbench 1.0.20) */
    KEYS_ZIPFIAN,     /* key a + k - 1 has a share of k^-theta; exact; theta = 0.8 */
    KEYS_SCRAMBLED,   /* the same, the keys in an order by a bijection */
    KEYS_HOTSPOT,     /* hot_share of draws are uniform in the first hot_set of n */
    KEYS_LATEST,      /* b - (zipfian over 0 … n-1); theta = 0.99 */
    KEYS_YCSB_ZIPFIAN, /* YCSB's ScrambledZipfianGenerator; theta = 0.99 */
    KEYS_KINDS,
};
extern const char *const keys_kind_names[]; /* "uniform", … "ycsb_zipfian"; ends with NULL */

struct keys_options {
    double theta;     /* 0: the kind's own */
    double h;         /* 0: 0.2 */
    double hot_set;   /* 0: 0.2 */
    double hot_share; /* 0: 0.8 */
};

enum draw_kind {
    DRAW_ROW,     /* base + row of the table */
    DRAW_FORMAT,  /* a text of numbers: %d, %06d, %x … by inner draws */
    DRAW_TEXT,    /* printable ASCII, 0x20 … 0x7e but quotes and backslash, min … max long */
    DRAW_PATTERN, /* '#' a digit, '@' a lower-case letter, the rest as it is */
    DRAW_KEYS,
    DRAW_REAL,   /* uniform in a … b */
    DRAW_DERIVE, /* a function of Lua makes it of an inner draw */
};

struct draw;

/* What was drawn. */
struct draw_value {
    enum draw_type {
        DRAW_IS_INTEGER,
        DRAW_IS_REAL,
        DRAW_IS_TEXT
    } type;
    int64_t integer;
    double real;
    const char *text; /* not terminated; in the room that the caller gave, or of the draw */
    size_t length;
};

/* Each makes a draw, owned by the caller, inner ones borrowed. NULL: *error says what is wrong
 * (ERROR_USAGE) or that there is no memory. */
struct draw *draw_row(int64_t base, struct error *error);
/* Checks that the format has one conversion of a whole number (d, u, x, X, o with flags, width) for
 * each inner draw. */
struct draw *draw_format(const char *format, struct draw *const *inner, size_t count,
                         struct error *error);
struct draw *draw_text(uint64_t min, uint64_t max, struct error *error);
struct draw *draw_pattern(const char *pattern, struct error *error);
/* `last` NULL: up to b; else up to the number before counter_known(last). */
struct draw *draw_keys(enum keys_kind kind, int64_t a, int64_t b, const struct counter *last,
                       const struct keys_options *options, struct error *error);
struct draw *draw_real(double a, double b, struct error *error);
struct draw *draw_derive(struct draw *inner, int function, struct error *error);
void draw_destroy(struct draw *draw);

enum draw_kind draw_kind(const struct draw *draw);
struct draw *draw_inner(const struct draw *draw); /* of DRAW_DERIVE */
int draw_function(const struct draw *draw);       /* the same */

/* Most bytes that a value can have: the room that draw_value needs. 0: it needs none. */
size_t draw_room(const struct draw *draw);

/* Draws; not for DRAW_DERIVE, which the caller makes of draw_inner. `room` has draw_room bytes. */
void draw_value(const struct draw *draw, struct draw_stream *stream, char *room,
                struct draw_value *value);

/* The sum of k^-theta over k = 1 … n, 0 < theta < 2: by terms up to n = 16, then by the formula of
 * Euler and Maclaurin, 1e-13 of it off at most. */
double draw_zeta(uint64_t n, double theta);

/* YCSB's hash of a number: FNV-1a of its 8 bytes, the lowest first, as a number that is not
 * negative (site.ycsb.Utils.fnvhash64 and Math.abs). */
uint64_t draw_fnv(int64_t number);

#endif
