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

/* Prepares --verify rows, between the set-up and the generator. Rows that already have this run's
 * tag would be taken for this run's rows. If there are such rows, the run gets another seed; if the
 * user gave the seed, the run is refused. A table whose rows have no identity is also refused. */
enum exit_code verify_prepare(const struct setup *setup, const struct plan *plan,
                              struct facts *facts, struct error *error);

/* Verifies the run after the sessions have ended: counts the rows again, compares the count with
 * the acknowledged rows, and with --verify rows reads the rows back. Fills result->verification,
 * result->row_verification and the sessions' verified rows. With a script: counts the tables that
 * the script changes, and compares them with the rows added and taken, in result->datasets; and
 * runs the query of each invariant once, with the result in result->invariants. Also measures the
 * tables into result->table_bytes_after.
 *
 * With several hosts, the rows are counted at every host; result_join_hosts combines the counts of
 * the hosts. verify_skip notes that the run was not verified, and why. */
void verify_skip(const struct plan *plan, struct result *result, const char *reason);
void verify_result(const struct setup *setup, const struct plan *plan, struct result *result);

#endif
