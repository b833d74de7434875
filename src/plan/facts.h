/*
 * The facts of a call: what is learned after its plan was made, from the server, from the container
 * and from other ranks.
 *
 * The command owns the facts and hands them to whoever learns something. Everybody else reads them
 * through the plan, which points to them. All of them are settled before the first session.
 */
#ifndef PLAN_FACTS_H
#define PLAN_FACTS_H

#include <stdint.h>
#include <sys/types.h>

#include "append/adapter.h"
#include "plan/plan.h"

struct facts {
    struct adapter_library *library; /* owned; NULL for adapters that load none */
    char target[PLAN_TARGET_BYTES];  /* where connections go, for reports: without the password */

    pid_t server_pid;          /* of the plan, or of its container; 0: found by the port */
    const char *server_cgroup; /* the same; borrowed; NULL: found by the process */

    uint64_t seed;   /* of the plan, unless rows of it are in the table; rank 0's */
    int16_t run_tag; /* marks the rows of the run: a hash of the seed, 1 … 32,767 */

    unsigned ranks;            /* that share the run; 0: there is this process alone */
    struct plan_share share;   /* of this rank */
    unsigned machine_sessions; /* of the ranks on its machine */
};

/* Sets the seed and its run tag. */
void facts_set_seed(struct facts *facts, uint64_t seed);

/* Shows in reports where the connections really go: host, user and database may have been the
 * client library's choice. */
void facts_set_target(struct facts *facts, const struct plan *plan,
                      const struct connection_info *place);

#endif
