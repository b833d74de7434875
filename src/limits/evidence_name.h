/*
 * From the causes of a run and what was read around it to the limits that were hit. Reads nothing
 * by itself.
 *
 * A finding needs both: a cause, by which sessions failed, and what shows the limit. A server's own
 * word (SQLSTATE 53300) or an errno that has one meaning (EMFILE) names the kind of limit for
 * certain; which of several limits it was has to be seen in the readings.
 */
#ifndef LIMITS_EVIDENCE_NAME_H
#define LIMITS_EVIDENCE_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/adapter.h"
#include "limits/evidence_counters.h"
#include "measure/limit.h"
#include "measure/procfs.h"
#include "measure/result.h"

struct evidence_facts {
    const struct limit_list *before;    /* as read before the sessions */
    const struct limit_list *shortage;  /* while they were short of something; NULL: not read */
    const struct server_limits *server; /* NULL: the database was not asked */
    const struct server_limits *server_after; /* after the sessions; NULL: not asked once more */
    uint64_t growth[EVIDENCE_COUNTERS];       /* since before the sessions */
    bool is_server_here;                      /* on this machine, in a process of its own */
    bool is_server_gone;                      /* it was there before, and is not now */
    pid_t server_pid; /* 0: its process cannot be seen, but that it listened on `port` */
    uint16_t port;
    char server_name[PROCFS_NAME_BYTES];
};

/* Fills *findings, the one that cost the most sessions first. */
void evidence_name(const struct evidence_facts *facts, const struct result *result,
                   struct findings *findings);

#endif
