/* Before a run: is it certain to hit a limit? */
#ifndef CLI_PREFLIGHT_H
#define CLI_PREFLIGHT_H

#include "append/error.h"
#include "base/exit_code.h"
#include "load/setup.h"
#include "plan/plan.h"

/* Before anything is opened: this machine. Raises the soft limit of open files as far as it goes.
 * Else than OK: *error is the line to print. Both functions let every plan pass that is_unchecked.
 */
enum exit_code preflight_client(const struct plan *plan, struct error *error);

/* When set-up has connected: the server and the database too. A database that is full is asked
 * again for up to 2 s: sessions of an earlier run may be leaving. */
enum exit_code preflight_server(const struct plan *plan, struct setup *setup, struct error *error);

#endif
