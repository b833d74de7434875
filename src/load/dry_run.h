/*
 * The dry run: runs each transaction of the script once, shows every statement, and rolls back.
 *
 * The dry run leaves no change in any table. So it needs a database with transactions, runs only
 * statements that a rollback undoes, and refuses a script that writes to a table whose storage
 * engine cannot roll back. Main thread.
 */
#ifndef LOAD_DRY_RUN_H
#define LOAD_DRY_RUN_H

#include "base/process.h"
#include "base/text.h"
#include "plan/plan.h"

/* Runs each transaction of the plan's script once and rolls it back. Adds lines to `text` that show
 * what the transactions do, even if the dry run fails. Creates no database and no table. Returns
 * EXIT_CODE_SHORT if a transaction or a check failed. For every result except EXIT_CODE_OK, *error
 * has the message for the user. */
enum exit_code dry_run(const struct plan *plan, struct buffer *text, struct error *error);

#endif
