/* The clock of the program: CLOCK_MONOTONIC in nanoseconds. Wall-clock time is only for names and
 * reports. */
#ifndef BASE_MONO_H
#define BASE_MONO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MONO_NS_PER_S INT64_C(1000000000)
#define MONO_NS_PER_MS INT64_C(1000000)

/* Returns the nanoseconds since an arbitrary start; never goes back. */
int64_t mono_now_ns(void);

/* Returns the time of `clock` in nanoseconds. */
int64_t mono_clock_ns(clockid_t clock);

/* Sleeps for `ns`; signals do not shorten the sleep. */
void mono_sleep(int64_t ns);

/* Converts a moment of mono_now_ns to a timespec, for timed waits. */
struct timespec mono_timespec(int64_t moment_ns);

/* Returns the wall-clock nanoseconds since 1970-01-01 UTC. */
int64_t mono_wall_ns(void);

/* Writes a wall-clock moment as ISO 8601 UTC with milliseconds: 2026-01-31T23:59:59.123Z. */
void mono_format_utc(int64_t wall_ns, char *text, size_t size);

enum {
    MOMENT_TEXT_BYTES = 40
};

/* A moment of a run as users write it: seconds since the run's start ("90", "90.5"), or a time in
 * UTC as `date -u +%FT%TZ` prints it ("2026-01-31T12:00:00Z"), optionally with a fraction of a
 * second. */
struct moment {
    bool is_utc;
    int64_t ns; /* time since the run's start or, with is_utc, since 1970-01-01 UTC */
};

/* The accepted forms, for error messages: "--mark 'x' is not " MOMENT_FORM. */
#define MOMENT_FORM                                                                                \
    "seconds since the run's start, as 90, or a time in UTC, as 2026-01-31T12:00:00Z"

/* Parses the whole of `text`, independently of the locale. Returns false if the text is not a
 * moment. */
bool moment_parse(const char *text, struct moment *moment);

/* Writes the moment, to the millisecond, in a form that moment_parse reads. */
void moment_format(const struct moment *moment, char text[MOMENT_TEXT_BYTES]);

#endif
