/*
 * A report for a terminal: lines that are never wider than SCREEN_COLUMNS, never more than
 * SCREEN_LINES, and free of control characters whatever they were made of.
 *
 * Needs no memory but its own, so that a report can be shown when there is none.
 */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

#include <stddef.h>
#include <stdio.h>

enum {
    SCREEN_COLUMNS = 80,
    SCREEN_LINES = 41, /* the folder of the files stands below */
    SCREEN_LABEL_COLUMNS = 10,
    SCREEN_LINE_BYTES = SCREEN_COLUMNS * 4 + 1,
    SCREEN_TEXT_BYTES = 2048, /* longest text of one call */
};

struct screen {
    size_t count;
    size_t blanks;
    char lines[SCREEN_LINES + 16][SCREEN_LINE_BYTES];
};

void screen_init(struct screen *screen);

/* Adds one line; what is too wide is cut and ends in "...". */
void screen_add(struct screen *screen, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds an empty line, which is left out when room is short. */
void screen_add_blank(struct screen *screen);

/* Adds a label and a text beside it, broken between words into at most `lines` lines, the last of
 * them cut. `column` is where the text begins. */
void screen_add_wrapped(struct screen *screen, const char *label, unsigned column, size_t lines,
                        const char *text);

/* Writes all lines. */
void screen_write(const struct screen *screen, FILE *stream);

#endif
