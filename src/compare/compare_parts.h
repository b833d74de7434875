/* What compare_read is made of. */
#ifndef COMPARE_COMPARE_PARTS_H
#define COMPARE_COMPARE_PARTS_H

#include "compare/compare.h"
#include "runs/csv_table.h"

/* Gives *comparison its only cell, or its cells; differences and cautions are there and empty. */
enum status compare_read_runs(struct comparison *comparison, const char *a, const char *b,
                              struct error *error);
enum status compare_read_sweeps(struct comparison *comparison, const char *a, const char *b,
                                struct error *error);

/* Room for a figure for each column of two tables and the pace. False: out of memory. */
bool compare_init_cell(struct compare_cell *cell, const struct csv_table *a,
                       const struct csv_table *b);

/* Adds a figure whose values, where they are known, are set; derives its ratio. */
struct compare_figure *compare_add_figure(struct compare_cell *cell,
                                          const struct compare_figure *figure);

/* Marks the tested figure when it is a regression. */
void compare_mark(struct compare_figure *figure, bool is_clouded);

/* Takes back what was found of a cell whose sides began with other numbers of rows and read: reads
 * cost more the more rows there are. */
void compare_check_rows(struct comparison *comparison, struct compare_cell *cell);

enum status compare_out_of_memory(struct error *error);

#endif
