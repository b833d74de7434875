#include "script/draw.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
    COUNTER_WINDOW = 1 << 20,
    WORD_BITS = 64,
    FORMAT_WIDTH_MAX = 255,
    NUMBER_BYTES = 24, /* length of the longest number: a sign or prefix and 22 octal digits */
    TEXT_BYTES_MAX = 16 << 20,
    ZETA_DIRECT = 16, /* number of terms that zeta_direct adds before the formula takes over */
};

#define YCSB_ITEMS UINT64_C(10000000000)
#define LN_20 2.995732273553991 /* -ln(0.05) */
/* fraction of the n keys that gets 95 % of the draws in YCSB's exponential distribution
 * (exponential.frac) */
#define YCSB_RANGE_SHARE 0.8571428571
#define BELOW_RANGE 0.03034811154484251 /* exp(-LN_20 / YCSB_RANGE_SHARE) */

/* Counters. */

struct counter {
    uint64_t start;
    /* the n-th number (from 0) of this process is start + n × stride + place */
    uint64_t place, stride;
    _Atomic uint64_t known; /* the lowest n that is pending or not taken; written under `lock` */
    pthread_mutex_t lock;   /* lock for known, next and ended */
    uint64_t next;
    /* a bit for each n from `known` on; 1: the transaction of the number has ended */
    uint64_t ended[COUNTER_WINDOW / WORD_BITS];
};

struct counter *counter_create(uint64_t start)
{
    struct counter *const counter = calloc(1, sizeof *counter);
    if (counter == NULL) {
        return NULL;
    }
    counter->start = start;
    counter->stride = 1;
    atomic_init(&counter->known, 0);
    pthread_mutex_init(&counter->lock, NULL);
    return counter;
}

void counter_destroy(struct counter *counter)
{
    if (counter != NULL) {
        pthread_mutex_destroy(&counter->lock);
        free(counter);
    }
}

void counter_share(struct counter *counter, uint64_t place, uint64_t stride)
{
    counter->place = place;
    counter->stride = stride;
}

bool counter_next(struct counter *counter, uint64_t *number)
{
    pthread_mutex_lock(&counter->lock);
    const uint64_t known = atomic_load_explicit(&counter->known, memory_order_relaxed);
    const bool has_room = counter->next - known < COUNTER_WINDOW;
    if (has_room) {
        *number = counter->start + counter->next++ * counter->stride + counter->place;
    }
    pthread_mutex_unlock(&counter->lock);
    return has_room;
}

void counter_end(struct counter *counter, uint64_t number)
{
    pthread_mutex_lock(&counter->lock);
    uint64_t known = atomic_load_explicit(&counter->known, memory_order_relaxed);
    const uint64_t ended = (number - counter->start) / counter->stride;
    if (ended - known < counter->next - known) {
        uint64_t at = ended % COUNTER_WINDOW;
        counter->ended[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
        for (at = known % COUNTER_WINDOW;
             (counter->ended[at / WORD_BITS] >> at % WORD_BITS & 1) != 0;
             at = ++known % COUNTER_WINDOW) {
            counter->ended[at / WORD_BITS] &= ~(UINT64_C(1) << at % WORD_BITS);
        }
        atomic_store_explicit(&counter->known, known, memory_order_release);
    }
    pthread_mutex_unlock(&counter->lock);
}

uint64_t counter_known(const struct counter *counter)
{
    const uint64_t known = atomic_load_explicit(&counter->known, memory_order_acquire);
    return counter->start + known * counter->stride;
}

/* Returns the number of this process that lies in the same group of `stride` numbers as `number`.
 * Numbers below `start` are returned unchanged. */
static uint64_t own_number(const struct counter *counter, uint64_t number)
{
    return number < counter->start || counter->stride == 1
               ? number
               : number - (number - counter->start) % counter->stride + counter->place;
}

/* Functions for sums of powers. */

/* Return (e^x - 1) / x and ln(1 + x) / x. Both also work for an x at or near 0. */
static double expm1_ratio(double x)
{
    return fabs(x) < 1e-8 ? 1 + x / 2 : expm1(x) / x;
}

static double log1p_ratio(double x)
{
    return fabs(x) < 1e-8 ? 1 - x / 2 : log1p(x) / x;
}

/* Return the integral of t^-theta over 1 … x, and the inverse of that function. */
static double power_integral(double x, double theta)
{
    const double log_x = log(x);
    return log_x * expm1_ratio((1 - theta) * log_x);
}

static double power_integral_inverse(double y, double theta)
{
    return exp(y * log1p_ratio(fmax(-1, y * (1 - theta))));
}

/* Returns the sum of k^-theta over 1 … n without its constant term (Euler and Maclaurin). */
static double zeta_open(double n, double theta)
{
    const double log_n = log(n);
    const double integral = log_n * expm1_ratio((1 - theta) * log_n);
    const double power = (1 + (1 - theta) * integral) / n; /* equals n^-theta */
    const double step = 1 / (n * n);
    double term = theta / (12 * n);
    double sum = 0.5 - term;
    term *= (theta + 1) * (theta + 2) * step / 60;
    sum += term;
    term *= (theta + 3) * (theta + 4) * step / 42;
    sum -= term;
    term *= (theta + 5) * (theta + 6) * step / 40;
    return integral + power * (sum + term);
}

static double zeta_direct(uint64_t n, double theta)
{
    double sum = 0;
    for (uint64_t k = n; k > 0; k--) {
        sum += pow((double)k, -theta);
    }
    return sum;
}

static double zeta_constant(double theta)
{
    return zeta_direct(ZETA_DIRECT, theta) - zeta_open(ZETA_DIRECT, theta);
}

double draw_zeta(uint64_t n, double theta)
{
    return n <= ZETA_DIRECT ? zeta_direct(n, theta)
                            : zeta_constant(theta) + zeta_open((double)n, theta);
}

/* Draws. */

struct conversion {
    const struct draw *inner;
    size_t before; /* number of bytes of text between the previous conversion and this one */
    int width;
    char type;
    bool is_left_aligned, has_sign, has_blank, has_zeros, has_prefix;
};

struct format {
    size_t count;
    struct conversion *conversions;
    char *text; /* the text before, between and after the conversions */
    size_t length;
};

/* Constants of Gray's approximation of zipfian over 0 … n-1. */
struct gray {
    double theta;
    double second; /* the value zeta(2) */
    double constant;
    double zeta, eta; /* constants of the approximation; valid only if the range is fixed */
};

/* Constants of rejection-inversion over 1 … n. */
struct zipf {
    double theta;
    double enough; /* largest distance of x from k at which k is accepted without another test */
    double low;    /* the integral at 1.5, minus 1^-theta */
    double high;   /* the integral at n + 0.5, if the range is fixed */
};

struct keys {
    enum keys_kind kind;
    const struct counter *last; /* the range ends before counter_known(last), or at b if `last` is
                                   NULL */
    int64_t a, b;
    union {
        double power; /* exponent of KEYS_PARETO */
        struct {
            double set, share;
        } hot;
        struct gray gray;
        struct zipf zipf;
    } as;
};

struct draw {
    enum draw_kind kind;
    union {
        int64_t row;
        struct format format;
        struct {
            uint64_t min, max;
        } text;
        struct {
            char *text;
            size_t length;
        } pattern;
        struct keys keys;
        struct {
            double a, b;
        } real;
        struct {
            struct draw *inner;
            int function;
        } derive;
    } as;
};

const char *const keys_kind_names[] = {
    [KEYS_UNIFORM] = "uniform", [KEYS_SEQUENTIAL] = "sequential",     [KEYS_GAUSSIAN] = "gaussian",
    [KEYS_PARETO] = "pareto",   [KEYS_EXPONENTIAL] = "exponential",   [KEYS_SPECIAL] = "special",
    [KEYS_ZIPFIAN] = "zipfian", [KEYS_SCRAMBLED] = "scrambled",       [KEYS_HOTSPOT] = "hotspot",
    [KEYS_LATEST] = "latest",   [KEYS_YCSB_ZIPFIAN] = "ycsb_zipfian", [KEYS_KINDS] = NULL,
};

static struct draw *draw_create(enum draw_kind kind, struct error *error)
{
    struct draw *const draw = calloc(1, sizeof *draw);
    if (draw == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a generator");
        return NULL;
    }
    draw->kind = kind;
    return draw;
}

void draw_destroy(struct draw *draw)
{
    if (draw == NULL) {
        return;
    }
    if (draw->kind == DRAW_FORMAT) {
        free(draw->as.format.conversions);
        free(draw->as.format.text);
    } else if (draw->kind == DRAW_PATTERN) {
        free(draw->as.pattern.text);
    }
    free(draw);
}

enum draw_kind draw_kind(const struct draw *draw)
{
    return draw->kind;
}

struct draw *draw_inner(const struct draw *draw)
{
    return draw->as.derive.inner;
}

int draw_function(const struct draw *draw)
{
    return draw->as.derive.function;
}

/* Draws a number in 0 … last, uniformly. */
static uint64_t draw_below(struct draw_stream *stream, uint64_t last)
{
    const uint64_t n = last + 1;
    if (n == 0) {
        return draw_bits(stream);
    }
    for (;;) {
        const uint64_t bits = draw_bits(stream);
        const uint64_t rest = bits % n;
        if (bits - rest <= 0 - n) { /* not in the last, incomplete group of n numbers */
            return rest;
        }
    }
}

/* Random bits from which several small random numbers are made. `bits` is a fraction, in units of
 * 2^-56. The next number is the whole part of the fraction times n, and the rest is the next
 * fraction. */
struct fraction {
    uint64_t bits;
    unsigned left;
};

static unsigned fraction_below(struct fraction *fraction, struct draw_stream *stream, unsigned n)
{
    enum {
        BITS = 56,
        USES = 7 /* after 6 numbers with n = 92, the last number still has nearly 17 bits */
    };
    if (fraction->left == 0) {
        *fraction = (struct fraction){draw_bits(stream) >> (WORD_BITS - BITS), USES};
    }
    fraction->left--;
    const uint64_t product = fraction->bits * n;
    fraction->bits = product & ((UINT64_C(1) << BITS) - 1);
    return (unsigned)(product >> BITS);
}

/* Keys. */

uint64_t draw_fnv(int64_t number)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (unsigned i = 0; i < 8; i++) {
        hash = (hash ^ ((uint64_t)number >> 8 * i & 0xFF)) * UINT64_C(1099511628211);
    }
    return hash >> 63 != 0 ? 0 - hash : hash;
}

/* Returns the whole part of x, limited to 0 … last; 0 for a NaN. */
static uint64_t to_offset(double x, uint64_t last)
{
    if (!(x > 0)) {
        return 0;
    }
    if (x >= (double)last) {
        return last;
    }
    const uint64_t offset = (uint64_t)x;
    return offset < last ? offset : last;
}

static double mean_of_12(struct draw_stream *stream)
{
    double sum = 0;
    for (unsigned i = 0; i < 12; i++) {
        sum += draw_unit(stream);
    }
    return sum / 12;
}

static double special(struct draw_stream *stream, double t)
{
    const double u = draw_unit(stream);
    return u < 0.25 ? t * mean_of_12(stream) : t / 2 - t / 200 + u * (t / 100 + 1);
}

static double gray_zeta(const struct gray *gray, double n)
{
    return n <= ZETA_DIRECT ? zeta_direct((uint64_t)n, gray->theta)
                            : gray->constant + zeta_open(n, gray->theta);
}

static double gray_eta(const struct gray *gray, double n, double zeta)
{
    return (1 - pow(2 / n, 1 - gray->theta)) / (1 - gray->second / zeta);
}

static void gray_init(struct gray *gray, double theta, double n)
{
    gray->theta = theta;
    gray->second = 1 + pow(0.5, theta);
    gray->constant = zeta_constant(theta);
    gray->zeta = gray_zeta(gray, n);
    gray->eta = gray_eta(gray, n, gray->zeta);
}

/* Draws a number in 0 … last. */
static uint64_t draw_gray(const struct gray *gray, struct draw_stream *stream, uint64_t last,
                          bool is_fixed)
{
    const double n = (double)last + 1;
    const double zeta = is_fixed ? gray->zeta : gray_zeta(gray, n);
    const double u = draw_unit(stream);
    if (u * zeta < 1) {
        return 0;
    }
    if (u * zeta < gray->second || last <= 1) {
        return last > 0 ? 1 : 0;
    }
    const double eta = is_fixed ? gray->eta : gray_eta(gray, n, zeta);
    return to_offset(n * pow(eta * u - eta + 1, 1 / (1 - gray->theta)), last);
}

static void zipf_init(struct zipf *zipf, double theta, double n)
{
    zipf->theta = theta;
    zipf->enough = 2 - power_integral_inverse(power_integral(2.5, theta) - pow(2, -theta), theta);
    zipf->low = power_integral(1.5, theta) - 1;
    zipf->high = power_integral(n + 0.5, theta);
}

/* Draws a number in 0 … last. */
static uint64_t draw_zipf(const struct zipf *zipf, struct draw_stream *stream, uint64_t last,
                          bool is_fixed)
{
    const double n = (double)last + 1;
    const double high = is_fixed ? zipf->high : power_integral(n + 0.5, zipf->theta);
    for (;;) {
        const double y = high + draw_unit(stream) * (zipf->low - high);
        const double x = power_integral_inverse(y, zipf->theta);
        const double k = fmin(fmax(floor(x + 0.5), 1), n);
        if (k - x <= zipf->enough ||
            y >= power_integral(k + 0.5, zipf->theta) - pow(k, -zipf->theta)) {
            return to_offset(k - 1, last);
        }
    }
}

/* Maps 0 … last to itself by a bijection: permutes the numbers that have no more bits than `last`,
 * and repeats the permutation until the result is at most `last`. When `last` grows by one, nearly
 * all numbers are still mapped to the same number. */
static uint64_t scramble(uint64_t number, uint64_t last)
{
    if (last == 0) {
        return 0;
    }
    const unsigned bits = WORD_BITS - (unsigned)__builtin_clzll(last);
    const uint64_t mask = UINT64_MAX >> (WORD_BITS - bits);
    const unsigned shift = (bits + 1) / 2;
    do {
        number = (number + RANDOM_STEP) & mask;
        number = ((number ^ number >> shift) * UINT64_C(0xBF58476D1CE4E5B9)) & mask;
        number = ((number ^ number >> shift) * UINT64_C(0x94D049BB133111EB)) & mask;
        number ^= number >> shift;
    } while (number > last);
    return number;
}

static uint64_t draw_hot(const struct keys *keys, struct draw_stream *stream, uint64_t last)
{
    /* the hot keys are the first hot_set × n keys, at least one key */
    const double end = ((double)last + 1) * keys->as.hot.set;
    const uint64_t hot_last = to_offset(end - 1, last);
    if (hot_last == last || draw_unit(stream) < keys->as.hot.share) {
        return draw_below(stream, hot_last);
    }
    return hot_last + 1 + draw_below(stream, last - hot_last - 1);
}

/* Draws as YCSB does. YCSB draws from all keys that its run may insert, and draws again if the
 * record does not exist yet, so that hot keys stay hot. In this function, the number of keys at the
 * counter's start, doubled until it covers the range, stands for the number of all keys. */
static uint64_t draw_ycsb(const struct keys *keys, struct draw_stream *stream, uint64_t last)
{
    uint64_t n = last + 1;
    if (keys->last != NULL) {
        const uint64_t start = keys->last->start;
        n = (int64_t)start > keys->a ? start - (uint64_t)keys->a : 1;
        while (n <= last && n <= INT64_MAX) {
            n *= 2;
        }
    }
    for (;;) {
        const uint64_t z = draw_gray(&keys->as.gray, stream, YCSB_ITEMS - 1, true);
        const uint64_t hash = draw_fnv((int64_t)z);
        const uint64_t offset = n != 0 ? hash % n : hash;
        if (offset <= last) {
            return offset;
        }
    }
}

static int64_t keys_end(const struct keys *keys)
{
    if (keys->last == NULL) {
        return keys->b;
    }
    const uint64_t known = counter_known(keys->last);
    const int64_t b = known > INT64_MAX ? INT64_MAX : (int64_t)known - 1;
    return b > keys->a ? b : keys->a;
}

static int64_t draw_key(const struct keys *keys, struct draw_stream *stream)
{
    const bool is_fixed = keys->last == NULL;
    const uint64_t last = (uint64_t)keys_end(keys) - (uint64_t)keys->a;
    const double t = (double)last;
    uint64_t offset = 0;
    switch (keys->kind) {
    case KEYS_SEQUENTIAL:
        offset = last == UINT64_MAX ? stream->row : stream->row % (last + 1);
        break;
    case KEYS_GAUSSIAN:
        offset = to_offset((t + 1) * mean_of_12(stream), last);
        break;
    case KEYS_PARETO:
        offset = to_offset((t + 1) * pow(draw_unit(stream), keys->as.power), last);
        break;
    case KEYS_EXPONENTIAL: {
        /* YCSB draws again if a key is below the range; limiting u results in the same shares */
        const double u = 1 - draw_unit(stream) * (1 - BELOW_RANGE);
        offset = last - to_offset(-log(u) * YCSB_RANGE_SHARE * (t + 1) / LN_20, last);
        break;
    }
    case KEYS_SPECIAL:
        offset = to_offset(special(stream, t), last);
        break;
    case KEYS_ZIPFIAN:
        offset = draw_zipf(&keys->as.zipf, stream, last, is_fixed);
        break;
    case KEYS_SCRAMBLED:
        offset = scramble(draw_zipf(&keys->as.zipf, stream, last, is_fixed), last);
        break;
    case KEYS_HOTSPOT:
        offset = draw_hot(keys, stream, last);
        break;
    case KEYS_LATEST:
        offset = last - draw_gray(&keys->as.gray, stream, last, is_fixed);
        break;
    case KEYS_YCSB_ZIPFIAN:
        offset = draw_ycsb(keys, stream, last);
        break;
    case KEYS_UNIFORM:
    case KEYS_KINDS:
        offset = draw_below(stream, last);
        break;
    }
    const uint64_t key = (uint64_t)keys->a + offset;
    return (int64_t)(is_fixed || keys->a < 0 ? key : own_number(keys->last, key));
}

struct draw *draw_row(int64_t base, struct error *error)
{
    struct draw *const draw = draw_create(DRAW_ROW, error);
    if (draw != NULL) {
        draw->as.row = base;
    }
    return draw;
}

/* Sets *value to `option`, or to `default_value` if `option` is 0. Returns whether *value is above
 * 0 and at most `most`. */
static bool choose_option(double *value, double option, double default_value, double most)
{
    *value = option == 0 ? default_value : option;
    return *value > 0 && *value <= most;
}

static bool keys_set(struct keys *keys, const struct keys_options *options, struct error *error)
{
    static const struct keys_options none;
    const struct keys_options *const set = options != NULL ? options : &none;
    const char *const name = keys_kind_names[keys->kind];
    const double n = (double)((uint64_t)keys_end(keys) - (uint64_t)keys->a) + 1;
    double theta, h;
    switch (keys->kind) {
    case KEYS_PARETO:
        if (!choose_option(&h, set->h, 0.2, 1) || h >= 1) {
            error_set(error, ERROR_USAGE, 0, NULL, "keys %s: h must lie between 0 and 1, but is %g",
                      name, set->h);
            return false;
        }
        keys->as.power = log(h) / log1p(-h);
        return true;
    case KEYS_ZIPFIAN:
    case KEYS_SCRAMBLED:
        if (!choose_option(&theta, set->theta, 0.8, 1e6)) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "keys %s: theta must be above 0 and at most 1000000, but is %g", name,
                      set->theta);
            return false;
        }
        zipf_init(&keys->as.zipf, theta, n);
        return true;
    case KEYS_LATEST:
    case KEYS_YCSB_ZIPFIAN:
        if (!choose_option(&theta, set->theta, 0.99, 1) || theta >= 1) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "keys %s: theta must lie between 0 and 1 as in YCSB, but is %g: use zipfian "
                      "or scrambled for a larger theta",
                      name, set->theta);
            return false;
        }
        gray_init(&keys->as.gray, theta, keys->kind == KEYS_LATEST ? n : (double)YCSB_ITEMS);
        return true;
    case KEYS_HOTSPOT:
        if (!choose_option(&keys->as.hot.set, set->hot_set, 0.2, 1)) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "keys %s: hot_set must be above 0 and at most 1, but is %g", name,
                      set->hot_set);
            return false;
        }
        if (!choose_option(&keys->as.hot.share, set->hot_share, 0.8, 1)) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "keys %s: hot_share must be above 0 and at most 1, but is %g", name,
                      set->hot_share);
            return false;
        }
        return true;
    case KEYS_UNIFORM:
    case KEYS_SEQUENTIAL:
    case KEYS_GAUSSIAN:
    case KEYS_EXPONENTIAL:
    case KEYS_SPECIAL:
    case KEYS_KINDS:
        return true;
    }
    return true;
}

struct draw *draw_keys(enum keys_kind kind, int64_t a, int64_t b, const struct counter *last,
                       const struct keys_options *options, struct error *error)
{
    if (last == NULL && a > b) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "keys %s: the first key, %" PRId64 ", is above the last key, %" PRId64,
                  keys_kind_names[kind], a, b);
        return NULL;
    }
    struct draw *const draw = draw_create(DRAW_KEYS, error);
    if (draw == NULL) {
        return NULL;
    }
    draw->as.keys = (struct keys){.kind = kind, .last = last, .a = a, .b = b};
    if (!keys_set(&draw->as.keys, options, error)) {
        draw_destroy(draw);
        return NULL;
    }
    return draw;
}

/* Values. */

/* Reads a conversion from `text`, which begins after the '%'. Returns the end of the conversion, or
 * NULL if the text does not begin with a conversion for a whole number. */
static const char *read_conversion(const char *text, struct conversion *conversion)
{
    for (;; text++) {
        switch (*text) {
        case '-':
            conversion->is_left_aligned = true;
            continue;
        case '+':
            conversion->has_sign = true;
            continue;
        case ' ':
            conversion->has_blank = true;
            continue;
        case '0':
            conversion->has_zeros = true;
            continue;
        case '#':
            conversion->has_prefix = true;
            continue;
        default:
            break;
        }
        break;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        conversion->width = conversion->width * 10 + (*text - '0');
        if (conversion->width > FORMAT_WIDTH_MAX) {
            return NULL;
        }
    }
    conversion->type = *text;
    return *text != '\0' && strchr("duxXo", *text) != NULL ? text + 1 : NULL;
}

/* Fills format->text and up to format->count conversions. Returns the number of conversions in
 * `text`, or SIZE_MAX if a conversion is wrong. */
static size_t read_format(struct format *format, const char *text, struct error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t found = 0;
    size_t before = 0;
    for (const char *at = text; *at != '\0';) {
        if (at[0] != '%' || at[1] == '%') {
            format->text[format->length++] = *at;
            before++;
            at += at[0] == '%' ? 2 : 1;
            continue;
        }
        struct conversion conversion = {.before = before};
        const char *const next = read_conversion(at + 1, &conversion);
        if (next == NULL) {
            const size_t flags = 1 + strspn(at + 1, "-+ #.*0123456789");
            const size_t end = flags + strspn(at + flags, letters);
            error_set(
                error, ERROR_USAGE, 0, NULL,
                "format: '%.*s' is not a conversion for a whole number: use %%d, %%u, %%x, %%X or "
                "%%o, with a width of at most %d",
                end > flags ? (int)end : (int)flags + 1, at, FORMAT_WIDTH_MAX);
            return SIZE_MAX;
        }
        if (found < format->count) {
            conversion.inner = format->conversions[found].inner;
            format->conversions[found] = conversion;
        }
        found++;
        before = 0;
        at = next;
    }
    return found;
}

static bool format_set(struct format *format, const char *text, struct draw *const *inner,
                       struct error *error)
{
    format->conversions = calloc(format->count + 1, sizeof *format->conversions);
    format->text = malloc(strlen(text) + 1);
    if (format->conversions == NULL || format->text == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a generator");
        return false;
    }
    for (size_t i = 0; i < format->count; i++) {
        if (inner[i]->kind != DRAW_ROW && inner[i]->kind != DRAW_KEYS) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "format: generator %zu does not draw whole numbers: use row, keys or uniform "
                      "with bounds that are whole numbers",
                      i + 1);
            return false;
        }
        format->conversions[i].inner = inner[i];
    }
    const size_t found = read_format(format, text, error);
    if (found == SIZE_MAX) {
        return false;
    }
    if (found == 0 || found != format->count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "format: '%.60s' has %zu conversion%s, but %zu generator%s %s given: give as "
                  "many generators as conversions, and at least one",
                  text, found, units_plural(found, "", "s"), format->count,
                  units_plural(format->count, "", "s"), units_plural(format->count, "is", "are"));
        return false;
    }
    return true;
}

struct draw *draw_format(const char *format, struct draw *const *inner, size_t count,
                         struct error *error)
{
    struct draw *const draw = draw_create(DRAW_FORMAT, error);
    if (draw == NULL) {
        return NULL;
    }
    draw->as.format.count = count;
    if (!format_set(&draw->as.format, format, inner, error)) {
        draw_destroy(draw);
        return NULL;
    }
    return draw;
}

struct draw *draw_text(uint64_t min, uint64_t max, struct error *error)
{
    if (min > max || max > TEXT_BYTES_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  min > max ? "text: the shortest length, %" PRIu64
                              ", is above the longest length, %" PRIu64
                            : "text: lengths of %" PRIu64 " to %" PRIu64
                              " bytes are too long: at most 16777216 bytes are allowed",
                  min, max);
        return NULL;
    }
    struct draw *const draw = draw_create(DRAW_TEXT, error);
    if (draw != NULL) {
        draw->as.text.min = min;
        draw->as.text.max = max;
    }
    return draw;
}

struct draw *draw_pattern(const char *pattern, struct error *error)
{
    struct draw *const draw = draw_create(DRAW_PATTERN, error);
    if (draw == NULL) {
        return NULL;
    }
    draw->as.pattern.text = strdup(pattern);
    if (draw->as.pattern.text == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a generator");
        draw_destroy(draw);
        return NULL;
    }
    draw->as.pattern.length = strlen(pattern);
    return draw;
}

struct draw *draw_real(double a, double b, struct error *error)
{
    if (!(a <= b) || isinf(a) || isinf(b)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "uniform: %g to %g is not a range: give two finite numbers, the lower one first",
                  a, b);
        return NULL;
    }
    struct draw *const draw = draw_create(DRAW_REAL, error);
    if (draw != NULL) {
        draw->as.real.a = a;
        draw->as.real.b = b;
    }
    return draw;
}

struct draw *draw_derive(struct draw *inner, int function, struct error *error)
{
    if (inner->kind == DRAW_DERIVE) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "derive: the generator was itself made by derive: do both steps in one function");
        return NULL;
    }
    struct draw *const draw = draw_create(DRAW_DERIVE, error);
    if (draw != NULL) {
        draw->as.derive.inner = inner;
        draw->as.derive.function = function;
    }
    return draw;
}

static size_t format_room(const struct format *format)
{
    size_t room = format->length;
    for (size_t i = 0; i < format->count; i++) {
        const size_t width = (size_t)format->conversions[i].width;
        room += width > NUMBER_BYTES ? width : NUMBER_BYTES;
    }
    return room;
}

size_t draw_room(const struct draw *draw)
{
    switch (draw->kind) {
    case DRAW_FORMAT:
        return format_room(&draw->as.format);
    case DRAW_TEXT:
        return (size_t)draw->as.text.max;
    case DRAW_PATTERN:
        return draw->as.pattern.length;
    case DRAW_DERIVE:
        return draw_room(draw->as.derive.inner);
    case DRAW_ROW:
    case DRAW_KEYS:
    case DRAW_REAL:
        return 0;
    }
    return 0;
}

static char *add_fill(char *at, char fill, size_t count)
{
    memset(at, fill, count);
    return at + count;
}

/* Writes `number` as printf does: %u, %x and %o write the two's complement of a negative number.
 * Returns the end of the text. */
static char *write_number(char *at, const struct conversion *conversion, int64_t number)
{
    const bool is_signed = conversion->type == 'd';
    const bool is_negative = is_signed && number < 0;
    unsigned base = is_signed || conversion->type == 'u' ? 10 : 16;
    if (conversion->type == 'o') {
        base = 8;
    }
    const char *const digits = conversion->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[NUMBER_BYTES];
    char *first = text + sizeof text;
    uint64_t rest = is_negative ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        *--first = digits[rest % base];
        rest /= base;
    } while (rest != 0);

    char prefix[2];
    size_t prefix_length = 0;
    if (is_negative) {
        prefix[prefix_length++] = '-';
    } else if (is_signed && conversion->has_sign) {
        prefix[prefix_length++] = '+';
    } else if (is_signed && conversion->has_blank) {
        prefix[prefix_length++] = ' ';
    } else if (conversion->has_prefix && number != 0 && base != 10) {
        prefix[prefix_length++] = '0';
        if (base == 16) {
            prefix[prefix_length++] = conversion->type;
        }
    }

    const size_t length = (size_t)(text + sizeof text - first);
    const size_t width = (size_t)conversion->width;
    const size_t fill = width > prefix_length + length ? width - prefix_length - length : 0;
    const bool has_zeros = conversion->has_zeros && !conversion->is_left_aligned;
    if (!has_zeros && !conversion->is_left_aligned) {
        at = add_fill(at, ' ', fill);
    }
    memcpy(at, prefix, prefix_length);
    at += prefix_length;
    if (has_zeros) {
        at = add_fill(at, '0', fill);
    }
    memcpy(at, first, length);
    at += length;
    return conversion->is_left_aligned ? add_fill(at, ' ', fill) : at;
}

static int64_t draw_integer(const struct draw *draw, struct draw_stream *stream)
{
    return draw->kind == DRAW_ROW ? (int64_t)((uint64_t)draw->as.row + stream->row)
                                  : draw_key(&draw->as.keys, stream);
}

static size_t write_format(const struct format *format, struct draw_stream *stream, char *room)
{
    char *at = room;
    const char *text = format->text;
    for (size_t i = 0; i < format->count; i++) {
        const struct conversion *const conversion = &format->conversions[i];
        memcpy(at, text, conversion->before);
        at += conversion->before;
        text += conversion->before;
        at = write_number(at, conversion, draw_integer(conversion->inner, stream));
    }
    const size_t rest = format->length - (size_t)(text - format->text);
    memcpy(at, text, rest);
    return (size_t)(at - room) + rest;
}

static size_t write_text(const struct draw *draw, struct draw_stream *stream, char *room)
{
    static const char characters[] = " !#$%&()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_"
                                     "`abcdefghijklmnopqrstuvwxyz{|}~";
    const uint64_t min = draw->as.text.min;
    const size_t length = (size_t)(min + draw_below(stream, draw->as.text.max - min));
    struct fraction fraction = {0};
    for (size_t i = 0; i < length; i++) {
        room[i] = characters[fraction_below(&fraction, stream, sizeof characters - 1)];
    }
    return length;
}

static size_t write_pattern(const struct draw *draw, struct draw_stream *stream, char *room)
{
    const size_t length = draw->as.pattern.length;
    struct fraction fraction = {0};
    for (size_t i = 0; i < length; i++) {
        room[i] = draw->as.pattern.text[i];
        if (room[i] == '#') {
            room[i] = "0123456789"[fraction_below(&fraction, stream, 10)];
        } else if (room[i] == '@') {
            room[i] = "abcdefghijklmnopqrstuvwxyz"[fraction_below(&fraction, stream, 26)];
        }
    }
    return length;
}

static double draw_between(const struct draw *draw, struct draw_stream *stream)
{
    const double u = draw_unit(stream);
    const double value = draw->as.real.a * (1 - u) + draw->as.real.b * u;
    return fmin(fmax(value, draw->as.real.a), draw->as.real.b);
}

void draw_value(const struct draw *draw, struct draw_stream *stream, char *room,
                struct draw_value *value)
{
    size_t length = 0;
    switch (draw->kind) {
    case DRAW_ROW:
    case DRAW_KEYS:
    case DRAW_DERIVE:
        *value =
            (struct draw_value){.type = DRAW_IS_INTEGER, .integer = draw_integer(draw, stream)};
        return;
    case DRAW_REAL:
        *value = (struct draw_value){.type = DRAW_IS_REAL, .real = draw_between(draw, stream)};
        return;
    case DRAW_FORMAT:
        length = write_format(&draw->as.format, stream, room);
        break;
    case DRAW_TEXT:
        length = write_text(draw, stream, room);
        break;
    case DRAW_PATTERN:
        length = write_pattern(draw, stream, room);
        break;
    }
    *value = (struct draw_value){.type = DRAW_IS_TEXT, .text = room, .length = length};
}
