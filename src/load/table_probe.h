/* Asks a database whether a table is there. */
#ifndef LOAD_TABLE_PROBE_H
#define LOAD_TABLE_PROBE_H

#include <stdbool.h>

#include "append/error.h"
#include "base/exit_code.h"
#include "plan/plan.h"

/* Connects, looks for the table of the plan, and disconnects. Else than OK: *error is the line to
 * print. A database file that does not exist has no table, and is not made; a default database that
 * the runs would make is. */
enum exit_code table_probe(const struct plan *plan, bool *is_there, struct error *error);

#endif
