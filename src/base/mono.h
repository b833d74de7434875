/* The one clock: CLOCK_MONOTONIC in nanoseconds. Wall-clock time is only for names and reports. */
#ifndef BASE_MONO_H
#define BASE_MONO_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MONO_NS_PER_S INT64_C(1000000000)
#define MONO_NS_PER_MS INT64_C(1000000)

/* Nanoseconds since an arbitrary start; never goes back. */
int64_t mono_now_ns(void);

/* Sleeps, also through signals. */
void mono_sleep(int64_t ns);

/* A CLOCK_MONOTONIC moment as timespec, for timed waits. */
struct timespec mono_timespec(int64_t moment_ns);

/* Wall-clock nanoseconds since 1970-01-01 UTC. */
int64_t mono_wall_ns(void);

/* Writes a wall-clock moment as ISO 8601 UTC with milliseconds: 2026-01-31T23:59:59.123Z. */
void mono_format_utc(int64_t wall_ns, char *text, size_t size);

#endif
