/* The lines of the CSV files of a run: which columns, in which order, and their values. */
#ifndef REPORT_CSV_FILES_H
#define REPORT_CSV_FILES_H

#include "measure/result.h"
#include "plan/plan.h"
#include "report/csv.h"

/* Each adds the cells of one line to a line that was begun; of a header, the values do not matter
 * but must be readable. */
void csv_files_summary(struct csv *csv, const struct plan *plan, const struct result *result);
void csv_files_interval(struct csv *csv, const struct interval *interval);
void csv_files_event(struct csv *csv, const struct mark *mark);
void csv_files_sample(struct csv *csv, const struct sample *sample);

#endif
