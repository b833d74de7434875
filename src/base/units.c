#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"

struct suffix {
    const char *text;
    uint64_t factor;
};

static const struct suffix counts[] = {
    {"", 1},        {"k", 1000},       {"K", 1000},       {"m", 1000000},
    {"M", 1000000}, {"g", 1000000000}, {"G", 1000000000}, {NULL, 0},
};
static const struct suffix bytes_of[] = {
    {"", 1},         {"k", 1u << 10},   {"K", 1u << 10},   {"KiB", 1u << 10},
    {"m", 1u << 20}, {"M", 1u << 20},   {"MiB", 1u << 20}, {"g", 1u << 30},
    {"G", 1u << 30}, {"GiB", 1u << 30}, {NULL, 0},
};
static const struct suffix milliseconds[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {NULL, 0},
};

/* 0: there is no such suffix. */
static uint64_t factor_of(const struct suffix *suffix, const char *text)
{
    while (suffix->text != NULL && strcmp(suffix->text, text) != 0) {
        suffix++;
    }
    return suffix->factor;
}

static bool parse_scaled(const char *text, const struct suffix *suffixes, uint64_t max,
                         uint64_t *value)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const uint64_t factor = factor_of(suffixes, end);
    /* strtoull would take blanks and a minus sign */
    if (text[0] < '0' || text[0] > '9' || errno != 0 || factor == 0 || number > max / factor) {
        return false;
    }
    *value = number * factor;
    return true;
}

bool units_parse_count(const char *text, uint64_t max, uint64_t *value)
{
    return parse_scaled(text, counts, max, value);
}

bool units_parse_bytes(const char *text, uint64_t max, uint64_t *value)
{
    return parse_scaled(text, bytes_of, max, value);
}

bool units_parse_duration(const char *text, int64_t max_ns, int64_t *value_ns)
{
    char *end = NULL;
    errno = 0;
    const double number = strtod(text, &end);
    const double ns = number * (double)factor_of(milliseconds, end) * (double)MONO_NS_PER_MS;
    /* strtod would take "0x10", "1e3" and what is no digit first */
    if (text[0] < '0' || text[0] > '9' || errno != 0 || end != text + strspn(text, "0123456789.") ||
        !(ns >= 1.0) || ns >= 0x1p63 || llround(ns) > max_ns) {
        return false;
    }
    *value_ns = llround(ns);
    return true;
}

const char *units_format_count(uint64_t value, char text[UNITS_TEXT_BYTES])
{
    char *to = text + snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64, value);
    for (char *at = to - 3; at > text; at -= 3) {
        memmove(at + 1, at, (size_t)(++to - at));
        *at = ',';
    }
    return text;
}

/* Three significant digits, or more where the number is larger than that. */
static const char *format_three(double value, const char *unit, char text[UNITS_TEXT_BYTES])
{
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text, UNITS_TEXT_BYTES, "%.*f %s", decimals, value, unit);
    return text;
}

const char *units_format_ns(int64_t ns, char text[UNITS_TEXT_BYTES])
{
    const double value = (double)ns;
    if (ns < 1000) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRId64 " ns", ns);
        return text;
    }
    return value < 999.5e3   ? format_three(value / 1e3, "us", text)
           : value < 999.5e6 ? format_three(value / 1e6, "ms", text)
                             : format_three(value / 1e9, "s", text);
}

const char *units_format_bytes(uint64_t bytes, char text[UNITS_TEXT_BYTES])
{
    const double kib = (double)bytes / 1024;
    if (bytes < 1024) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 " B", bytes);
        return text;
    }
    return kib < 999.5           ? format_three(kib, "KiB", text)
           : kib < 9999.5 * 1024 ? format_three(kib / 1024, "MiB", text)
                                 : format_three(kib / 1024 / 1024, "GiB", text);
}

const char *units_format_seconds(uint64_t seconds, char text[UNITS_TEXT_BYTES])
{
    const uint64_t minutes = seconds / 60;
    if (minutes == 0) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "s", seconds);
    } else {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "%s%02" PRIu64 "%s",
                 minutes < 60 ? minutes : minutes / 60, minutes < 60 ? "m" : "h",
                 minutes < 60 ? seconds % 60 : minutes % 60, minutes < 60 ? "s" : "m");
    }
    return text;
}
