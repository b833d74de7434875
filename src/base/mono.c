#include "base/mono.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t mono_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * MONO_NS_PER_S + now.tv_nsec;
}

int64_t mono_now_ns(void)
{
    return mono_clock_ns(CLOCK_MONOTONIC);
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
    return mono_clock_ns(CLOCK_REALTIME);
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

/* A century. Longer times are mistakes, and int64_t nanoseconds hold only 292 years. */
#define SECONDS_MAX (INT64_C(100) * 366 * 24 * 3600)

bool moment_parse(const char *text, struct moment *moment)
{
    const char *end = text;
    int64_t seconds = 0, fraction_ns = 0;
    moment->is_utc = strchr(text, 'T') != NULL;
    if (moment->is_utc) {
        struct tm given = {0};
        end = strptime(text, "%Y-%m-%dT%H:%M:%S", &given);
        struct tm made = given;
        seconds = timegm(&made);
        /* timegm converts 31 February to 3 March */
        if (end == NULL || made.tm_mday != given.tm_mday || seconds < 0 ||
            seconds > 2 * SECONDS_MAX) {
            return false;
        }
    } else {
        for (; *end >= '0' && *end <= '9' && seconds <= SECONDS_MAX; end++) {
            seconds = 10 * seconds + (*end - '0');
        }
        if (end == text || seconds > SECONDS_MAX) {
            return false;
        }
    }
    if (*end == '.') { /* digits after the ninth are ignored */
        const char *const first = ++end;
        for (int64_t unit = MONO_NS_PER_S / 10; *end >= '0' && *end <= '9'; end++, unit /= 10) {
            fraction_ns += (*end - '0') * unit;
        }
        if (end == first) {
            return false;
        }
    }
    moment->ns = seconds * MONO_NS_PER_S + fraction_ns;
    return strcmp(end, moment->is_utc ? "Z" : "") == 0;
}

void moment_format(const struct moment *moment, char text[MOMENT_TEXT_BYTES])
{
    if (moment->is_utc) {
        mono_format_utc(moment->ns, text, MOMENT_TEXT_BYTES);
        return;
    }
    snprintf(text, MOMENT_TEXT_BYTES, "%" PRId64 ".%03" PRId64, moment->ns / MONO_NS_PER_S,
             moment->ns % MONO_NS_PER_S / MONO_NS_PER_MS);
}
