/*
 * Text: numbers with units, and cleaning of text that comes from outside. Buffers are declared in
 * append/buffer.h.
 *
 * A server's error text may contain anything: another encoding, escape sequences, line breaks. Such
 * a text must not reach a terminal unchanged and must not make a file unreadable.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "append/buffer.h"

/* The number of elements of an array. */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The 100 pairs of digits "00" to "99", one after the other. */
extern const char value_digit_pairs[];

enum {
    UNITS_TEXT_BYTES = 32
};

/* The functions units_parse_... read numbers with units. The whole text must be a number in range,
 * without sign or separators. */

/* Parses a whole number with an optional k, M or G (powers of 1,000; "10M" = 10,000,000). Returns
 * false if the text is not such a number, or if the number is above `max`. */
bool units_parse_count(const char *text, uint64_t max, uint64_t *value);

/* Parses a number of bytes with an optional K, M or G (powers of 1,024; also KiB, MiB, GiB). */
bool units_parse_bytes(const char *text, uint64_t max, uint64_t *value);

/* Parses a duration in seconds, or with one of the units ms, s, m, min and h ("1.5", "200ms",
 * "3m"), into nanoseconds. Returns false if the text is not such a duration, or if the duration is
 * above `max_ns`, or above 0 but below 1 ns. */
bool units_parse_duration(const char *text, int64_t max_ns, int64_t *value_ns);

/* Writes a count with separators: 1,234,567. Returns `text`. */
const char *units_format_count(uint64_t value, char text[UNITS_TEXT_BYTES]);

/* Return the formatted value in a buffer that is valid until the end of the enclosing block. For
 * use as arguments of printf. */
#define UNITS_COUNT(value) units_format_count((value), (char[UNITS_TEXT_BYTES]){0})
#define UNITS_NS(ns) units_format_ns((ns), (char[UNITS_TEXT_BYTES]){0})
#define UNITS_BYTES(bytes) units_format_bytes((bytes), (char[UNITS_TEXT_BYTES]){0})
#define UNITS_SECONDS(seconds) units_format_seconds((seconds), (char[UNITS_TEXT_BYTES]){0})

/* Writes nanoseconds in a suitable unit with three digits: 870 ns, 1.23 ms, 45.6 s. */
const char *units_format_ns(int64_t ns, char text[UNITS_TEXT_BYTES]);

/* Writes bytes in a suitable unit, from B to TiB: 12.3 MiB, 4096 MiB. */
const char *units_format_bytes(uint64_t bytes, char text[UNITS_TEXT_BYTES]);

/* Writes whole seconds as 59s, 4m05s or 2h03m. */
const char *units_format_seconds(uint64_t seconds, char text[UNITS_TEXT_BYTES]);

/* Returns `one` for a count of 1, else `many`. */
static inline const char *units_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Makes this thread write and read numbers with a decimal point, whatever locale a client library
 * has set for the program. Returns the previous locale, for uselocale. */
static inline locale_t units_use_point(void)
{
    /* the "C" locale is static and need not be freed */
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* The known name that is most similar to a misspelt word. */
struct nearest {
    const char *word;
    const char *name; /* the most similar of the names offered so far; NULL if no name is similar */
    size_t changes;   /* number of letters that differ between word and name */
};

/* Compares `name` with the word, and keeps the most similar name so far. Begin with
 * {.word = ...} and offer the names one by one. A name is similar if it begins with the word, or if
 * few letters of the word must be changed, added, removed or swapped with their neighbour. */
void nearest_offer(struct nearest *nearest, const char *name);

/* Parses two numbers with `mark` between them at the beginning of `text`: "254:0", "10.11.8".
 * Returns false if the text does not begin with two numbers; `numbers` is then unchanged. */
bool text_parse_two(const char *text, char mark, unsigned numbers[2]);

/* Parses text[0 … length-1] as a whole number: an optional '-' and digits, as databases write whole
 * numbers. Returns false if the text is not a whole number, or if the number is out of the range of
 * int64_t. */
bool text_parse_integer(const char *text, size_t length, int64_t *number);

/* Writes a cell of a CSV file (RFC 4180): `before` followed by `text`. The cell is quoted if `text`
 * has a comma, a quote or a line break. Invalid UTF-8 is replaced as by text_add_utf8. */
void text_write_cell(FILE *stream, const char *before, const char *text);

/* Appends `text` as valid UTF-8: replaces each invalid byte with U+FFFD. */
void text_add_utf8(struct buffer *buffer, const char *text);

/* Copies `text` for a terminal. Control characters, characters that change the direction of writing
 * and bytes that are not UTF-8 become '?'. A text wider than `columns` ends in "...". A text longer
 * than `size` is cut between characters. */
void text_clean_line(char *line, size_t size, const char *text, unsigned columns);

/* Returns the number of columns that `text` takes on a terminal. The text must come from
 * text_clean_line. */
unsigned text_width(const char *text);

/* Returns the length in bytes of the longest prefix of `text` that is at most `columns` wide. The
 * text must come from text_clean_line. */
size_t text_fit(const char *text, unsigned columns);

#endif
