/*
 * The dry run: runs each transaction of the script once, shows every statement, and rolls back.
 *
 * Nothing that the dry run does to tables stays. So it needs a database with transactions, it runs
 * only statements that a rollback undoes, and it refuses a script that writes to a table whose
 * storage engine cannot roll back. Main thread.
 */
#ifndef LOAD_DRY_RUN_H
#define LOAD_DRY_RUN_H

#include "base/process.h"
#include "base/text.h"
#include "plan/plan.h"

/* Runs each transaction of the plan's script in a transaction of its own, and adds lines to
 * `text` that show what the transaction does, even if it fails. Creates no database and no table.
 * Unless the result is EXIT_CODE_OK, *error is the line to print. EXIT_CODE_SHORT: a transaction or
 * a check failed. */
enum exit_code dry_run(const struct plan *plan, struct buffer *text, struct error *error);

#endif
