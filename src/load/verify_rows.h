/*
 * --verify rows: reads every row of the run back and tells of each whether it was acknowledged.
 *
 * Rows are known by run tag, session and row number (n1, n2, n3, see load/generator.h). One scan of
 * the table, row by row; one bit of memory for each row that was sent.
 */
#ifndef LOAD_VERIFY_ROWS_H
#define LOAD_VERIFY_ROWS_H

#include "load/setup.h"

/* Between the set-up and the generator, when the plan asks for it: rows that carry this run's tag
 * already would be taken for its own. Then the plan gets another seed, or, when the user gave it,
 * the run is refused. Also refused: a table whose rows cannot be told apart. */
enum exit_code verify_rows_prepare(const struct setup *setup, struct plan *plan,
                                   struct error *error);

/* After setup_verify: fills result->row_verification and what was verified of each session. */
void verify_rows(const struct setup *setup, const struct plan *plan, struct result *result);

#endif
