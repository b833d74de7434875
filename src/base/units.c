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

static bool find_factor(const struct suffix *suffixes, const char *text, uint64_t *factor)
{
    for (const struct suffix *s = suffixes; s->text != NULL; s++) {
        if (strcmp(s->text, text) == 0) {
            *factor = s->factor;
            return true;
        }
    }
    return false;
}

static bool parse_scaled(const char *text, const struct suffix *suffixes, uint64_t max,
                         uint64_t *value)
{
    /* strtoull would take blanks and a minus sign */
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    uint64_t factor = 1;
    if (errno != 0 || !find_factor(suffixes, end, &factor) || number > max / factor) {
        return false;
    }
    *value = number * factor;
    return true;
}

bool units_parse_count(const char *text, uint64_t max, uint64_t *value)
{
    static const struct suffix suffixes[] = {{"", 1},           {"k", 1000},    {"K", 1000},
                                             {"m", 1000000},    {"M", 1000000}, {"g", 1000000000},
                                             {"G", 1000000000}, {NULL, 0}};
    return parse_scaled(text, suffixes, max, value);
}

bool units_parse_bytes(const char *text, uint64_t max, uint64_t *value)
{
    static const struct suffix suffixes[] = {{"", 1},           {"k", 1u << 10}, {"K", 1u << 10},
                                             {"KiB", 1u << 10}, {"m", 1u << 20}, {"M", 1u << 20},
                                             {"MiB", 1u << 20}, {"g", 1u << 30}, {"G", 1u << 30},
                                             {"GiB", 1u << 30}, {NULL, 0}};
    return parse_scaled(text, suffixes, max, value);
}

bool units_parse_duration(const char *text, int64_t max_ns, int64_t *value_ns)
{
    static const struct suffix suffixes[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                                             {"m", 60000}, {"min", 60000}, {"h", 3600000},
                                             {NULL, 0}};
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    /* strtod would take "0x10" and "1e3" */
    const size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    errno = 0;
    const double number = strtod(text, &end);
    uint64_t factor_ms = 1;
    if (errno != 0 || end != text + digits || !find_factor(suffixes, end, &factor_ms)) {
        return false;
    }
    const double ns = number * (double)factor_ms * (double)MONO_NS_PER_MS;
    if (!(ns >= 1.0) || ns >= 0x1p63 || llround(ns) > max_ns) {
        return false;
    }
    *value_ns = llround(ns);
    return true;
}

const char *units_format_count(uint64_t value, char text[UNITS_TEXT_BYTES])
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

/* Three significant digits, or more where the number is larger than that. */
static void format_three(double value, const char *unit, char text[UNITS_TEXT_BYTES])
{
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text, UNITS_TEXT_BYTES, "%.*f %s", decimals, value, unit);
}

const char *units_format_ns(int64_t ns, char text[UNITS_TEXT_BYTES])
{
    const double value = (double)ns;
    if (ns < 1000) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRId64 " ns", ns);
    } else if (value < 999.5e3) {
        format_three(value / 1e3, "us", text);
    } else if (value < 999.5e6) {
        format_three(value / 1e6, "ms", text);
    } else {
        format_three(value / 1e9, "s", text);
    }
    return text;
}

const char *units_format_bytes(uint64_t bytes, char text[UNITS_TEXT_BYTES])
{
    const double value = (double)bytes;
    if (bytes < 1024) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 " B", bytes);
    } else if (value < 999.5 * 1024) {
        format_three(value / 1024, "KiB", text);
    } else if (value < 9999.5 * 1024 * 1024) {
        format_three(value / (1024 * 1024), "MiB", text);
    } else {
        format_three(value / (1024.0 * 1024 * 1024), "GiB", text);
    }
    return text;
}

const char *units_format_seconds(uint64_t seconds, char text[UNITS_TEXT_BYTES])
{
    const uint64_t minutes = seconds / 60;
    if (minutes == 0) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "s", seconds);
    } else if (minutes < 60) {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "m%02" PRIu64 "s", minutes, seconds % 60);
    } else {
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 "h%02" PRIu64 "m", minutes / 60, minutes % 60);
    }
    return text;
}
