/*
 * Reports for a terminal: lines of SCREEN_COLUMNS, free of control characters whatever they were
 * made of. What is longer goes on in the next line, broken between words; a word that is wider than
 * a line (a path, a URL) stands whole. Nothing is cut.
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

/* Writes a label and a text beside it, which begins at `column` and is broken where it must be. */
void screen_add_wrapped(FILE *stream, const char *label, unsigned column, const char *text);

/* Writes where the files are, whole, however long: it is there to be copied; or that it is gone. */
void screen_add_files(FILE *stream, const char *folder);

#endif
