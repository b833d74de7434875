/*
 * Verifies a run: counts the rows of its tables again, reads them back, and checks the invariants
 * of the script. Main thread.
 */
#ifndef LOAD_VERIFY_H
#define LOAD_VERIFY_H

#include "load/setup.h"
#include "measure/result.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Prepares --verify rows. Called after the set-up and before the generator is created. Rows that
 * already have this run's tag (n1, see load/generator.h) would be mistaken for rows of this run. If
 * there are such rows, the run gets a new seed or, if the user gave the seed, is refused. Also
 * refuses a table without the columns that identify rows. */
enum exit_code verify_prepare(const struct setup *setup, const struct plan *plan,
                              struct facts *facts, struct error *error);

/* Verifies the run after the sessions have ended: counts the rows again, compares the count with
 * the acknowledged rows, and with --verify rows reads the rows back. Fills result->verification,
 * result->row_verification and the sessions' verified rows. With a script, counts the tables that
 * the script changes, compares the counts with the rows added and taken (result->datasets), and
 * runs the query of each invariant once (result->invariants). Also measures the size of the tables
 * (result->table_bytes_after).
 *
 * With several hosts, the rows are counted at every host; result_join_hosts combines the counts of
 * the hosts. verify_skip notes that the run was not verified, and why. */
void verify_skip(const struct plan *plan, struct result *result, const char *reason);
void verify_result(const struct setup *setup, const struct plan *plan, struct result *result);

#endif
