/* The workloads: what a session does in one turn of its loop. */
#ifndef LOAD_WORKLOAD_H
#define LOAD_WORKLOAD_H

#include "load/session.h"

/* Appends one batch, then counts the table's rows or runs the user's query. */
extern const struct workload workload_append_then_read;

/* Of a session that has ended: the batches that were due before end_ns and never sent. Each goes
 * into the response times with what it had waited until waited_until_ns, a lower bound. Only with a
 * rate. */
uint64_t workload_count_unsent(struct session *session, int64_t end_ns, int64_t waited_until_ns);

#endif
