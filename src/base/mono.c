#include "base/mono.h"

#include <errno.h>
#include <stdio.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * MONO_NS_PER_S + now.tv_nsec;
}

int64_t mono_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void mono_sleep(int64_t ns)
{
    const struct timespec until = mono_timespec(mono_now_ns() + ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

struct timespec mono_timespec(int64_t moment_ns)
{
    return (struct timespec){.tv_sec = (time_t)(moment_ns / MONO_NS_PER_S),
                             .tv_nsec = (long)(moment_ns % MONO_NS_PER_S)};
}

int64_t mono_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void mono_format_utc(int64_t wall_ns, char *text, size_t size)
{
    const time_t seconds = (time_t)(wall_ns / MONO_NS_PER_S);
    const int millis = (int)(wall_ns % MONO_NS_PER_S / MONO_NS_PER_MS);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, size, "%s.%03dZ", date, millis);
}
