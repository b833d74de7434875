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

/* A century: what is longer is a mistake, and would not fit in nanoseconds for long. */
#define SECONDS_MAX (INT64_C(100) * 366 * 24 * 3600)

/* ".5" -> 500,000,000; at most nine digits count. Returns what follows; NULL: no digit is there. */
static const char *parse_fraction(const char *text, int64_t *ns)
{
    *ns = 0;
    if (*text != '.') {
        return text;
    }
    const char *digit = text + 1;
    for (int64_t unit = MONO_NS_PER_S / 10; *digit >= '0' && *digit <= '9'; digit++, unit /= 10) {
        *ns += (*digit - '0') * unit;
    }
    return digit == text + 1 ? NULL : digit;
}

static bool parse_seconds(const char *text, int64_t *ns)
{
    int64_t seconds = 0;
    const char *digit = text;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        seconds = 10 * seconds + (*digit - '0');
        if (seconds > SECONDS_MAX) {
            return false;
        }
    }
    int64_t fraction_ns;
    const char *const end = digit == text ? NULL : parse_fraction(digit, &fraction_ns);
    if (end == NULL || *end != '\0') {
        return false;
    }
    *ns = seconds * MONO_NS_PER_S + fraction_ns;
    return true;
}

static bool parse_utc(const char *text, int64_t *ns)
{
    struct tm given = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &given);
    int64_t fraction_ns;
    end = end == NULL ? NULL : parse_fraction(end, &fraction_ns);
    if (end == NULL || strcmp(end, "Z") != 0) {
        return false;
    }
    struct tm made = given;
    const time_t seconds = timegm(&made);
    /* timegm makes 3 March of 31 February */
    if (made.tm_mday != given.tm_mday || seconds < 0 || seconds > 2 * SECONDS_MAX) {
        return false;
    }
    *ns = (int64_t)seconds * MONO_NS_PER_S + fraction_ns;
    return true;
}

bool moment_parse(const char *text, struct moment *moment)
{
    moment->is_utc = strchr(text, 'T') != NULL;
    return moment->is_utc ? parse_utc(text, &moment->ns) : parse_seconds(text, &moment->ns);
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

int64_t moment_since_start_ns(const struct moment *moment, int64_t started_wall_ns)
{
    return moment->is_utc ? moment->ns - started_wall_ns : moment->ns;
}
