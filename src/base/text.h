/*
 * Words and numbers in texts, and texts from servers and users made safe to show or to write.
 *
 * A server's error text may hold anything: another encoding, escape sequences, line breaks. None
 * of it may reach a terminal raw, and none of it may make a file unreadable.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* The name that a misspelt word is most likely meant to be. */
struct nearest {
    const char *word;
    const char *name; /* the best of the names that were offered; NULL: none is close */
    size_t changes;   /* letters that make the difference */
};

/* Names are offered one by one to {.word = ...}. A name is close when the word begins it, or when
 * it takes few letters changed, added, left out or swapped with their neighbour to make it. */
void nearest_offer(struct nearest *nearest, const char *name);

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
