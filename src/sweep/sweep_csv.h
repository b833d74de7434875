/* The CSV files of a sweep, see runs/saved_sweep.h. */
#ifndef SWEEP_SWEEP_CSV_H
#define SWEEP_SWEEP_CSV_H

#include <stdio.h>

#include "sweep/sweep.h"

/* sweep.csv: every figure of every run that has ended, and of every cell when there are repeats.
 * `columns` is a table whose header names the columns of a run's summary.csv. */
void sweep_csv_write_all(FILE *stream, const struct sweep *sweep, const struct csv_table *columns);

/* One of the four tables: sessions down, records across. */
void sweep_csv_write_table(FILE *stream, const struct sweep *sweep, const char *column);

/* The header of a summary.csv, for an adapter; ended by csv_table_free. */
enum status sweep_csv_columns(struct csv_table *columns, const struct adapter *adapter,
                              struct error *error);

#endif
