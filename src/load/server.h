/*
 * What the server says of itself, before and after the sessions: its settings, the size of the
 * run's tables, what it counted of its I/O. A server that does not tell is loaded all the same.
 * Main thread, but for what a task does on its own.
 */
#ifndef LOAD_SERVER_H
#define LOAD_SERVER_H

#include "load/setup.h"
#include "load/task.h"
#include "measure/result.h"
#include "plan/plan.h"
#include "trace/trace.h"

/* Asks, as a part of a task, for the settings that this session has, and for those of the run's
 * tables. */
void server_ask_settings(struct task *task, struct adapter_conn *conn,
                         struct server_settings *settings);

/* The same on a connection of its own: what the server, or this one of several, is set to. Leaves
 * *settings alone where it does not answer. `is_hasty` as for task_run_again. */
void server_read_settings(const struct setup *setup, const struct plan *plan, bool is_hasty,
                          unsigned host, struct server_settings *settings);

/* Bytes of the run's tables on disk; -1 = not known. */
int64_t server_measure_tables(const struct setup *setup, const struct plan *plan, bool is_hasty);

/* For --io-trace: what the server has counted of its writes and syncs, once it has counted all that
 * is over. Nothing where it does not tell, or where there are several. */
void server_count_io(const struct setup *setup, const struct plan *plan,
                     struct trace_counters *counters);

#endif
