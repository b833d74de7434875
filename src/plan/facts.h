/*
 * The facts of a call of the program: values that become known after the plan was made. They come
 * from the server, from the container and from other ranks (processes of the same run).
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

    pid_t server_pid; /* pid of the server, from --server-pid or the server's container; 0 = the
                         server is searched for by its port */
    /* cgroup folder of the server, from --server-cgroup or the server's container; borrowed; NULL =
     * the cgroup of the server's process */
    const char *server_cgroup;

    /* the plan's seed, or a new seed if the table already has rows made with the plan's seed; all
     * ranks use rank 0's seed */
    uint64_t seed;
    /* value of n1 that marks the rows of the run: a hash of the seed, 1 … 32,767 */
    int16_t run_tag;

    unsigned ranks;            /* number of processes (ranks) of the run; 0 = only this process */
    struct plan_share share;   /* sessions of this rank */
    unsigned machine_sessions; /* number of sessions of all ranks on this rank's machine */
};

/* Sets the seed and its run tag. */
void facts_set_seed(struct facts *facts, uint64_t seed);

/* Sets facts->target, which reports show, from the data of a connection. It can differ from the
 * plan's target, because the client library may have chosen the host, the user and the database. */
void facts_set_target(struct facts *facts, const struct plan *plan,
                      const struct connection_info *place);

#endif
