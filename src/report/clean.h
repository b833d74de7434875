/*
 * Text from servers and users made safe to show or to write.
 *
 * A server's error text may hold anything: another encoding, escape sequences, line breaks. None
 * of it may reach a terminal raw, and none of it may make a file unreadable.
 */
#ifndef REPORT_CLEAN_H
#define REPORT_CLEAN_H

#include <stddef.h>

#include "base/buffer.h"

/* Adds `text` to *buffer as valid UTF-8: each byte that is not part of it becomes U+FFFD. */
void clean_add_utf8(struct buffer *buffer, const char *text);

/* Copies `text` for a terminal, at most `columns` wide: control characters, characters that change
 * the direction of writing and bytes that are not UTF-8 become '?'; what is too wide ends in
 * "...". Cut between characters when `size` is too small. */
void clean_line(char *line, size_t size, const char *text, unsigned columns);

/* Columns that `text`, cleaned before, takes on a terminal. */
unsigned clean_width(const char *text);

/* Bytes of the longest beginning of `text`, cleaned before, that is at most `columns` wide. */
size_t clean_fit(const char *text, unsigned columns);

#endif
