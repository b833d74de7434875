/*
 * Facts that the server reports before and after the sessions' work: its settings, the size of the
 * run's tables, its I/O counters. A run does not need these facts, and a server may report none of
 * them. Only the main thread calls these functions, except for server_ask_settings, which runs as
 * part of a task.
 */
#ifndef LOAD_SERVER_H
#define LOAD_SERVER_H

#include "load/setup.h"
#include "load/task.h"
#include "measure/result.h"
#include "plan/plan.h"
#include "trace/trace.h"

/* Reads, as part of a task, the server's settings as they apply to `conn`, and the settings of the
 * run's tables. */
void server_ask_settings(struct task *task, struct adapter_conn *conn,
                         struct server_settings *settings);

/* Reads the settings of a server, or of host number `host` of several, on a separate connection.
 * Leaves *settings unchanged if the server does not answer. `is_hasty`: as for task_run_again. */
void server_read_settings(const struct setup *setup, const struct plan *plan, bool is_hasty,
                          unsigned host, struct server_settings *settings);

/* Returns the size of the run's tables on disk in bytes, or -1 if unknown. */
int64_t server_measure_tables(const struct setup *setup, const struct plan *plan, bool is_hasty);

/* For --io-trace: waits until the server's counters of writes and syncs include all finished work,
 * and reads them. *counters stays empty if the server does not report counters, or with several
 * hosts. */
void server_count_io(const struct setup *setup, const struct plan *plan,
                     struct trace_counters *counters);

#endif
