/*
 * Numbers with units, read from arguments and written for people.
 *
 * Reading is strict: the whole text must be a number in range, nothing is guessed.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNITS_TEXT_BYTES = 32
};

/* Reads a whole number with an optional k, M or G (powers of 1,000; "10M" = 10,000,000). Digits may
 * not have signs or separators. False: not such a number, or above `max`. */
bool units_parse_count(const char *text, uint64_t max, uint64_t *value);

/* Reads bytes with an optional K, M or G (powers of 1,024; also KiB, MiB, GiB). */
bool units_parse_bytes(const char *text, uint64_t max, uint64_t *value);

/* Reads a duration in seconds with an optional ms, s, m or h ("1.5", "200ms", "3m") into
 * nanoseconds. False: not a duration, not above 0, or above `max_ns`. */
bool units_parse_duration(const char *text, int64_t max_ns, int64_t *value_ns);

/* Writes a count with separators: 1,234,567. Returns `text`. */
const char *units_format_count(uint64_t value, char text[UNITS_TEXT_BYTES]);

/* In a text of its own, valid to the end of the block: for arguments of a format. */
#define UNITS_COUNT(value) units_format_count((value), (char[UNITS_TEXT_BYTES]){0})
#define UNITS_NS(ns) units_format_ns((ns), (char[UNITS_TEXT_BYTES]){0})
#define UNITS_BYTES(bytes) units_format_bytes((bytes), (char[UNITS_TEXT_BYTES]){0})
#define UNITS_SECONDS(seconds) units_format_seconds((seconds), (char[UNITS_TEXT_BYTES]){0})

/* Writes nanoseconds with a fitting unit and three digits: 870 ns, 1.23 ms, 45.6 s. */
const char *units_format_ns(int64_t ns, char text[UNITS_TEXT_BYTES]);

/* Writes bytes as KiB, MiB or GiB with three digits: 12.3 MiB. */
const char *units_format_bytes(uint64_t bytes, char text[UNITS_TEXT_BYTES]);

/* Writes whole seconds as 59s, 4m05s or 2h03m. */
const char *units_format_seconds(uint64_t seconds, char text[UNITS_TEXT_BYTES]);

/* `one` for 1, else `many`. */
static inline const char *units_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Numbers that this thread writes and reads have a decimal point from now on, whatever locale a
 * client library has set for the program. Returns what uselocale restores. */
static inline locale_t units_use_point(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* static, never to be freed */
}

#endif
