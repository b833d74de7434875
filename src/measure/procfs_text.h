/* Reading words and numbers from a piece of text with a hard end. For the parsers of /proc only. */
#ifndef MEASURE_PROCFS_TEXT_H
#define MEASURE_PROCFS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left to read. */
struct procfs_text {
    const char *at;
    const char *end;
};

struct procfs_text procfs_text_of(const char *text, size_t length);

/* Takes the next whole line, without its line break, off `text`. False at the end, and when the
 * rest has no line break. */
bool procfs_text_line(struct procfs_text *text, struct procfs_text *line);

/* Takes the next word, with blanks, tabs as separators. False when there is none. */
bool procfs_text_word(struct procfs_text *text, struct procfs_text *word);

/* True when the two are the same. */
bool procfs_text_equals(struct procfs_text word, const char *expected);

/* The whole of `word` as a number. False: other characters, or too large. */
bool procfs_text_number(struct procfs_text word, unsigned base, uint64_t *value);

/* Takes the next word as a decimal number. */
bool procfs_text_take(struct procfs_text *text, uint64_t *value);

/* The number of the first line that begins with the word `name`: "name number ...". False: there is
 * no such line, or no number. */
bool procfs_text_find(struct procfs_text text, const char *name, uint64_t *value);

/* Takes the next word as a decimal number that may be negative. */
bool procfs_text_take_signed(struct procfs_text *text, int64_t *value);

#endif
