/* The lines of levels.csv: which columns, in which order, and their values. */
#ifndef REPORT_CSV_LEVELS_H
#define REPORT_CSV_LEVELS_H

#include "measure/levels.h"
#include "report/csv.h"

/* Adds the cells of one line; of a header, the values do not matter but must be readable. */
void csv_levels_level(struct csv *csv, const struct level *level);

#endif
