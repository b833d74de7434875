/* The workloads: what a session does in one turn of its loop. */
#ifndef LOAD_WORKLOAD_H
#define LOAD_WORKLOAD_H

#include "load/session.h"

/* Appends one batch, then counts the table's rows or runs the user's query. */
extern const struct workload workload_append_then_read;

#endif
