/*
 * What the kernel counts when it refuses something. A single value says little, the growth between
 * two readings is evidence.
 */
#ifndef LIMITS_EVIDENCE_COUNTERS_H
#define LIMITS_EVIDENCE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "measure/limit.h"

enum evidence_counter {
    EVIDENCE_LISTEN_OVERFLOWS, /* TcpExt of the server's network namespace: accept queue was full */
    EVIDENCE_LISTEN_DROPS,     /* likewise: connections to listeners that were dropped */
    EVIDENCE_OOM_KILLS,        /* processes of this machine that the kernel ended for memory */
    EVIDENCE_SERVER_OOM_KILLS, /* of these, of the server's cgroup */
    EVIDENCE_CLIENT_FORKS,     /* tasks refused by the client's cgroup: pids.events */
    EVIDENCE_SERVER_FORKS,     /* by the server's */
    EVIDENCE_COUNTERS,
};

struct evidence_counters {
    bool is_known[EVIDENCE_COUNTERS];
    uint64_t values[EVIDENCE_COUNTERS];
};

/* Where they are read: the cgroups are those whose limits stand in the list. */
struct evidence_places {
    pid_t server_pid; /* 0: not known; then the listeners are looked for in our own namespace */
    bool is_remote;   /* nothing here is the server's */
    const struct limit_list *limits;
};

void evidence_counters_read(const struct evidence_places *places,
                            struct evidence_counters *counters);

/* 0 when one of the readings is missing. */
uint64_t evidence_growth(const struct evidence_counters *before,
                         const struct evidence_counters *after, enum evidence_counter counter);

/* /proc/net/netstat: a line of names and a line of values for each group. */
bool evidence_parse_netstat(const char *text, size_t length, const char *name, uint64_t *value);

#endif
