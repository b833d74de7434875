/*
 * The facts of a call: values that become known after its plan was made, from the server, from the
 * container and from other ranks.
 *
 * The command owns the facts and passes them to the functions that set them. All other code reads
 * them through the plan, which points to them. No fact changes after the first session starts.
 */
#ifndef PLAN_FACTS_H
#define PLAN_FACTS_H

#include <stdint.h>
#include <sys/types.h>

#include "append/adapter.h"
#include "plan/plan.h"

struct facts {
    struct adapter_library *library; /* owned; NULL: the adapter loads no library */
    char target[PLAN_TARGET_BYTES];  /* where connections go, for reports; without the password */

    pid_t server_pid;          /* of the plan or its container; 0: found by the port */
    const char *server_cgroup; /* of the plan or its container; borrowed; NULL: by the process */

    uint64_t seed;   /* the plan's, or another if the table has rows with it; rank 0's */
    int16_t run_tag; /* marks the rows of the run: a hash of the seed, 1 … 32,767 */

    unsigned ranks;            /* number of ranks; 0: this process runs alone */
    struct plan_share share;   /* of this rank */
    unsigned machine_sessions; /* sessions of all ranks on this rank's machine */
};

/* Sets the seed and its run tag. */
void facts_set_seed(struct facts *facts, uint64_t seed);

/* Sets the target that reports show to where connections really go: the client library may have
 * chosen the host, the user and the database. */
void facts_set_target(struct facts *facts, const struct plan *plan,
                      const struct connection_info *place);

#endif
