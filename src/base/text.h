/*
 * Text: numbers with units, and words from outside made safe to show or to write; append/buffer.h
 * has the buffers that grow.
 *
 * A server's error text may hold anything: another encoding, escape sequences, line breaks. None
 * of it may reach a terminal raw, and none of it may make a file unreadable.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "append/buffer.h"

/* Entries of an array. */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* "00" to "99". */
extern const char value_digit_pairs[];

enum {
    UNITS_TEXT_BYTES = 32
};

/* Numbers with units. Reading is strict: the whole text must be a number in range. */

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

/* Writes bytes as KiB, MiB, GiB or TiB with three digits: 12.3 MiB. */
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

/* The name that a misspelt word is most likely meant to be. */
struct nearest {
    const char *word;
    const char *name; /* the best of the names that were offered; NULL: none is close */
    size_t changes;   /* letters that make the difference */
};

/* Names are offered one by one to {.word = ...}. A name is close when the word begins it, or when
 * it takes few letters changed, added, left out or swapped with their neighbour to make it. */
void nearest_offer(struct nearest *nearest, const char *name);

/* The two numbers that a text begins with, the mark between them: "254:0", "10.11.8". Leaves them
 * where it returns false. */
bool text_parse_two(const char *text, char mark, unsigned numbers[2]);

/* Reads text[0 … length-1], all of it: an optional '-' and digits, as databases write whole
 * numbers. False: no number, or one that int64_t does not hold. */
bool text_parse_integer(const char *text, size_t length, int64_t *number);

/* Adds `text` to *buffer as valid UTF-8: each byte that is not part of it becomes U+FFFD. */
void text_add_utf8(struct buffer *buffer, const char *text);

/* Copies `text` for a terminal, at most `columns` wide: control characters, characters that change
 * the direction of writing and bytes that are not UTF-8 become '?'; what is too wide ends in
 * "...". Cut between characters when `size` is too small. */
void text_clean_line(char *line, size_t size, const char *text, unsigned columns);

/* Columns that `text`, cleaned before, takes on a terminal. */
unsigned text_width(const char *text);

/* Bytes of the longest beginning of `text`, cleaned before, that is at most `columns` wide. */
size_t text_fit(const char *text, unsigned columns);

#endif
