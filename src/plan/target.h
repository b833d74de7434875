/* From --adapter, TARGET and the connection options to an adapter and struct target. */
#ifndef PLAN_TARGET_H
#define PLAN_TARGET_H

#include "plan/plan.h"

/* Fills plan->adapter, plan->target and plan->display_target. With only a port, asks who listens
 * there. */
enum exit_code target_resolve(struct plan *plan, const struct config *config, struct error *error);

/* Puts a file database that was not named into the run's folder (known only by then). */
enum exit_code target_settle_path(struct plan *plan, struct error *error);

/* Completes what reports show when the client library, not the user, chose the host. */
void target_show_endpoint(struct plan *plan, const char *host, uint16_t port);

#endif
