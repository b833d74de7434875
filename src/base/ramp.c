#include "base/ramp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"

#define LONGEST_NS (30 * 24 * 3600 * MONO_NS_PER_S) /* maximum duration of all stages together */

/* A stage, or the time after the last stage. */
struct piece {
    int64_t begin_ns;
    int64_t duration_ns; /* INT64_MAX: the piece has no end */
    double from, to;     /* values at the beginning and the end */
};

static struct piece first_piece(const struct ramp *ramp)
{
    if (ramp->count == 0) {
        return (struct piece){0, INT64_MAX, ramp->first, ramp->first};
    }
    return (struct piece){0, ramp->stages[0].duration_ns, ramp->first, ramp->stages[0].target};
}

/* Returns the piece after piece number `number` (from 0), which must not be the last. */
static struct piece next_piece(const struct ramp *ramp, const struct piece *piece, size_t number)
{
    const int64_t begin_ns = piece->begin_ns + piece->duration_ns;
    if (number + 1 >= ramp->count) {
        return (struct piece){begin_ns, INT64_MAX, piece->to, piece->to};
    }
    const struct ramp_stage *stage = &ramp->stages[number + 1];
    return (struct piece){begin_ns, stage->duration_ns, piece->to, stage->target};
}

/* Returns whether the piece has ended by `at_ns`. */
static bool ends_before(const struct piece *piece, int64_t at_ns)
{
    return piece->duration_ns != INT64_MAX && at_ns - piece->begin_ns >= piece->duration_ns;
}

static double value_in(const struct piece *piece, int64_t at_ns)
{
    const double part = (double)(at_ns - piece->begin_ns) / (double)piece->duration_ns;
    return piece->from + (piece->to - piece->from) * part;
}

/* Reads one stage, "30s:50". */
static bool read_stage(const char *text, uint64_t most, struct ramp_stage *stage)
{
    char time[RAMP_TEXT_BYTES];
    uint64_t target;
    const char *colon = strchr(text, ':');
    const size_t length = colon == NULL ? sizeof time : (size_t)(colon - text);
    if (length >= sizeof time) {
        return false;
    }
    snprintf(time, sizeof time, "%.*s", (int)length, text);
    if (!units_parse_duration(time, LONGEST_NS, &stage->duration_ns)) { /* 0 is a jump */
        return false;
    }
    const bool is_number = units_parse_count(colon + 1, most, &target);
    stage->target = is_number ? (double)target : 0;
    return is_number;
}

bool ramp_add(struct ramp *ramp, const char *list, uint64_t most, char wrong[RAMP_TEXT_BYTES])
{
    for (const char *next = list; next != NULL;) {
        char one[RAMP_TEXT_BYTES];
        const size_t length = strcspn(next, ",");
        struct ramp_stage stage;
        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1),
                 next);
        next = next[length] == ',' ? next + length + 1 : NULL;
        if (ramp->count == RAMP_STAGES_MAX) {
            snprintf(wrong, RAMP_TEXT_BYTES, "more than %d stages", RAMP_STAGES_MAX);
            return false;
        }
        if (length >= sizeof one || !read_stage(one, most, &stage)) {
            snprintf(wrong, RAMP_TEXT_BYTES, "'%.20s' is not a stage", one);
            return false;
        }
        ramp->stages[ramp->count++] = stage;
        if (ramp_duration_ns(ramp, ramp->count) > LONGEST_NS) {
            snprintf(wrong, RAMP_TEXT_BYTES, "the stages together last more than 30 days");
            return false;
        }
    }
    return true;
}

double ramp_highest(const struct ramp *ramp)
{
    double highest = ramp->first;
    for (size_t i = 0; i < ramp->count; i++) {
        highest = fmax(highest, ramp->stages[i].target);
    }
    return highest;
}

int64_t ramp_duration_ns(const struct ramp *ramp, size_t count)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < count; i++) {
        sum_ns += ramp->stages[i].duration_ns;
    }
    return sum_ns;
}

double ramp_value(const struct ramp *ramp, int64_t at_ns)
{
    struct piece piece = first_piece(ramp);
    for (size_t i = 0; ends_before(&piece, at_ns); i++) {
        piece = next_piece(ramp, &piece, i);
    }
    return value_in(&piece, at_ns);
}

int64_t ramp_above_ns(const struct ramp *ramp, double level, int64_t from_ns)
{
    struct piece piece = first_piece(ramp);
    for (size_t i = 0;; i++) {
        const bool is_last = piece.duration_ns == INT64_MAX;
        if (!ends_before(&piece, from_ns)) {
            const int64_t start_ns = from_ns > piece.begin_ns ? from_ns : piece.begin_ns;
            if (value_in(&piece, start_ns) > level) {
                return start_ns;
            }
            if (!is_last && piece.to > level) { /* the value rises through the level */
                const double part = (level - piece.from) / (piece.to - piece.from);
                const int64_t crossed_ns =
                    piece.begin_ns + (int64_t)(part * (double)piece.duration_ns) + 1;
                return crossed_ns > start_ns ? crossed_ns : start_ns;
            }
        }
        if (is_last) {
            return INT64_MAX;
        }
        piece = next_piece(ramp, &piece, i);
    }
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)MONO_NS_PER_S;
}

double ramp_sum(const struct ramp *ramp, int64_t until_ns)
{
    double sum = 0;
    struct piece piece = first_piece(ramp);
    for (size_t i = 0; ends_before(&piece, until_ns); i++) {
        sum += (piece.from + piece.to) / 2 * seconds(piece.duration_ns);
        piece = next_piece(ramp, &piece, i);
    }
    return sum + (piece.from + value_in(&piece, until_ns)) / 2 * seconds(until_ns - piece.begin_ns);
}

double ramp_due_ns(const struct ramp *ramp, double sum)
{
    double left = sum;
    struct piece piece = first_piece(ramp);
    for (size_t i = 0; piece.duration_ns != INT64_MAX; i++) {
        const double length = seconds(piece.duration_ns);
        const double own = (piece.from + piece.to) / 2 * length;
        if (left < own) {
            /* solves from * t + (to - from) / length / 2 * t * t = left */
            const double growth = (piece.to - piece.from) / length;
            const double root = sqrt(fmax(piece.from * piece.from + 2 * growth * left, 0));
            const double at = left > 0 ? 2 * left / (piece.from + root) : 0;
            return (double)piece.begin_ns + fmin(at, length) * (double)MONO_NS_PER_S;
        }
        left -= own;
        piece = next_piece(ramp, &piece, i);
    }
    return piece.from > 0
               ? (double)piece.begin_ns + fmax(left, 0) / piece.from * (double)MONO_NS_PER_S
               : INFINITY;
}

double ramp_mean(const struct ramp *ramp, int64_t from_ns, int64_t until_ns)
{
    if (ramp->count == 0 || until_ns <= from_ns) {
        return ramp_value(ramp, from_ns);
    }
    return (ramp_sum(ramp, until_ns) - ramp_sum(ramp, from_ns)) / seconds(until_ns - from_ns);
}
