/*
 * CSV as RFC 4180 has it: a header, CRLF line ends, quotes where a value needs them.
 *
 * Header and rows are written by the same calls: a function that names each column together with
 * its value is called once with is_header set and once for every row, so that the two cannot drift
 * apart. An unknown value is an empty cell. Errors are left in the stream (ferror).
 *
 * Decimals follow LC_NUMERIC: the caller sees to it that the point is a point.
 *
 * The same functions can be walked through for the figures alone: see csv_visit.
 */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Takes the number of a column, rounded as it would be written; `value` counts when it is known. */
typedef void csv_visitor(void *context, const char *column, bool is_known, double value);

struct csv {
    FILE *stream; /* borrowed; NULL: nothing is written, the numbers go to `visitor` */
    bool is_header;
    bool is_begun; /* the line has a cell */
    csv_visitor *visitor;
    void *context; /* of the visitor */
};

/* Begins a line: of column names, or of values. */
void csv_begin(struct csv *csv, FILE *stream, bool is_header);

/* Begins a line that is not written: each cell that holds a number, known or not, is handed to
 * `visitor`; texts are left out. */
void csv_visit(struct csv *csv, csv_visitor *visitor, void *context);

/* One cell each. `text` may be NULL: empty. A decimal that is not finite is an empty cell. */
void csv_text(struct csv *csv, const char *column, const char *text);
void csv_count(struct csv *csv, const char *column, uint64_t value);
void csv_decimal(struct csv *csv, const char *column, double value, int decimals);
/* A word that stands for a number: a visitor gets the number. */
void csv_word(struct csv *csv, const char *column, const char *word, int number);
void csv_empty(struct csv *csv, const char *column);

/* The value when it is known, an empty cell otherwise. */
void csv_count_if(struct csv *csv, const char *column, bool is_known, uint64_t value);
void csv_decimal_if(struct csv *csv, const char *column, bool is_known, double value, int decimals);

void csv_end(struct csv *csv);

#endif
