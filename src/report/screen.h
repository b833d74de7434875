/*
 * Reports for a terminal: lines of at most SCREEN_COLUMNS columns, without control characters. A
 * longer text is broken between words; a word that is wider than a line (a path, a URL) stays
 * whole.
 */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

#include <stdio.h>

enum {
    SCREEN_COLUMNS = 80,
    SCREEN_LABEL_COLUMNS = 10,
    SCREEN_TEXT_BYTES = 8192, /* longest text of one call */
};

/* Writes one line. */
void screen_add(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a label and a text after it. The text begins at `column` and is broken into lines. */
void screen_add_wrapped(FILE *stream, const char *label, unsigned column, const char *text);

/* Writes the folder of the run's files, and whether the folder is gone. The path is never broken,
 * so that the user can copy the path. */
void screen_add_files(FILE *stream, const char *folder);

#endif
