/*
 * A CSV file (RFC 4180) read whole: a header and rows of cells. What a run that was cut off leaves,
 * a last line without its end, is left out.
 */
#ifndef FIGURES_CSV_TABLE_H
#define FIGURES_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"

struct csv_table {
    char *text;   /* owned: the cells point into it */
    char **cells; /* owned: the header, then the rows, `columns` cells each */
    size_t columns;
    size_t rows; /* without the header */
};

/* Reads `text` (ended by NUL; owned by *table from now on, also when it fails). `name` is for the
 * error. REJECTED: a row has another number of cells than the header, or a quote is not closed. */
enum status csv_table_parse(struct csv_table *table, const char *name, char *text,
                            struct error *error);

/* Reads a file of at most 1 GiB; its columns have the names of today, also where an older version
 * wrote it. REJECTED: ERROR_SYSTEM with errno when it cannot be read, ERROR_DATA when it is no CSV.
 */
enum status csv_table_read(struct csv_table *table, const char *path, struct error *error);

void csv_table_free(struct csv_table *table);

/* Place of a column in each row; table->columns when there is none of this name. */
size_t csv_table_column(const struct csv_table *table, const char *name);

/* A cell, "" when it is empty or there is no such column. */
const char *csv_table_text(const struct csv_table *table, size_t row, size_t column);

/* False: there is no such column, or the cell is empty or no number. */
bool csv_table_number(const struct csv_table *table, size_t row, size_t column, double *value);

#endif
