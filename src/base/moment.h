/*
 * A moment of a run as users write it: seconds since its start ("90", "90.5"), or UTC as from
 * date -u +%FT%TZ ("2026-01-31T12:00:00Z", with a fraction of a second if need be).
 */
#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MOMENT_TEXT_BYTES = 40
};

struct moment {
    bool is_utc;
    int64_t ns; /* since the run's start, or since 1970 UTC */
};

/* What would be right, for error messages: "--mark 'x' is not " MOMENT_FORM. */
#define MOMENT_FORM "seconds since the run's start (90) or a time in UTC (2026-01-31T12:00:00Z)"

/* Reads the whole text, whatever the locale. False: it is no moment. */
bool moment_parse(const char *text, struct moment *moment);

/* Writes it so that moment_parse reads it again, to the millisecond. */
void moment_format(const struct moment *moment, char text[MOMENT_TEXT_BYTES]);

/* Nanoseconds since the start of a run that began at `started_wall_ns` (1970 UTC); negative: it was
 * before that. */
int64_t moment_since_start_ns(const struct moment *moment, int64_t started_wall_ns);

#endif
