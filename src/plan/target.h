/* From --adapter, TARGET and the connection options to an adapter and struct target. */
#ifndef PLAN_TARGET_H
#define PLAN_TARGET_H

#include "plan/plan.h"

/* Fills plan->adapter, plan->display_target, and in plan->target what no option said. With only a
 * port, asks who listens there. */
enum exit_code target_resolve(struct plan *plan, struct error *error);

/* The adapter for the protocol that is spoken where the target is, if it is not the plan's own;
 * NULL: not found out. Takes 0.5 s for each protocol that nobody answers. */
const struct adapter *target_find_other(const struct plan *plan);

/* After a connect that failed for a reason that may pass (STATUS_LOST): with --wait, and as long as
 * there is time, pauses and returns true: it is to be tried once more. When the time is over *error
 * says so. */
bool target_wait(const struct plan *plan, struct error *error);

/* Writes what may be shown of a text that was given as a target, whatever its shape: no password.
 */
void target_redact(const char *text, char *out, size_t size);

/* Puts a file database that was not named into the run's folder (known only by then). */
enum exit_code target_settle_path(struct plan *plan, struct error *error);

/* What is known about connections before there is one: from the target, and the adapter's defaults.
 * The adapter's inspect may know better. */
void target_fill_connection(const struct plan *plan, struct connection_info *connection);

/* Lets reports show where the connections really go: host, user and database may have been the
 * client library's choice. */
void target_show_connection(struct plan *plan, const struct connection_info *connection);

#endif
