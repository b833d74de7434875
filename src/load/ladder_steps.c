#include "load/ladder_steps.h"

static unsigned lower(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned ladder_steps_next(const struct ladder_steps *steps)
{
    const unsigned held = steps->held;
    const unsigned failed = steps->failed;
    if (failed == 0) {
        if (held >= steps->bound) {
            return 0;
        }
        if (held == 0) {
            return lower(steps->first, steps->bound);
        }
        return held > steps->bound / 2 ? steps->bound : 2 * held;
    }
    if (failed == held + 1) {
        return steps->is_confirmed ? 0 : failed;
    }
    if (steps->hint > held && steps->hint < failed) {
        return steps->hint;
    }
    if (steps->hint == held && held > 0) {
        return held + 1;
    }
    return held + (failed - held) / 2;
}

void ladder_steps_note(struct ladder_steps *steps, unsigned sessions, bool has_held,
                       unsigned let_in)
{
    if (has_held) {
        steps->held = sessions > steps->held ? sessions : steps->held;
        if (steps->failed != 0 && steps->failed <= steps->held) {
            steps->failed = 0;
        }
    } else if (sessions > steps->held) {
        const bool is_after_held = steps->last_held && steps->last == steps->held;
        const bool is_again = !steps->last_held && steps->last == sessions;
        steps->is_confirmed = sessions == steps->held + 1 && (is_after_held || is_again);
        steps->failed = sessions;
        steps->hint = let_in;
    }
    steps->last = sessions;
    steps->last_held = has_held;
}
