/*
 * The facts of a call: values that become known after the call's plan was made, from the server,
 * from the container and from other ranks.
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
    /* the adapter's library; owned; NULL if the adapter loads no library */
    struct adapter_library *library;
    char target[PLAN_TARGET_BYTES]; /* target of the connections, without its password */

    pid_t server_pid; /* pid of the server, from --server-pid or the server's container; 0: append
                         finds the server by its port */
    /* cgroup folder of the server, from --server-cgroup or the server's container; borrowed; NULL:
     * append finds the folder by the server's process */
    const char *server_cgroup;

    /* the plan's seed, or another seed if the table already has rows made with the plan's seed; all
     * ranks use rank 0's seed */
    uint64_t seed;
    /* value of n1 that marks the rows of the run: a hash of the seed, 1 … 32,767 */
    int16_t run_tag;

    unsigned ranks;            /* number of ranks; 0: this process runs alone */
    struct plan_share share;   /* sessions of this rank */
    unsigned machine_sessions; /* number of sessions of all ranks on this rank's machine */
};

/* Sets the seed and its run tag. */
void facts_set_seed(struct facts *facts, uint64_t seed);

/* Sets the target that reports show, from the connection. This target can differ from the plan's
 * target, because the client library may have chosen the host, the user and the database. */
void facts_set_target(struct facts *facts, const struct plan *plan,
                      const struct connection_info *place);

#endif
