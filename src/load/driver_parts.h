/* What the driver of a run and the ladder of a search have in common. Main thread. */
#ifndef LOAD_DRIVER_PARTS_H
#define LOAD_DRIVER_PARTS_H

#include "load/driver.h"

/* Fills *load, the gate at READY. Causes are borrowed and initialised. */
void driver_init_load(struct load *load, const struct driver_config *config, struct causes *causes);
void driver_fini_load(struct load *load);

/* Notes that session `number` (from 1) got no thread, for the reason `rc` of pthread_create. */
void driver_blame_thread(struct load *load, unsigned number, int rc);

/* Counts how a session ended, and its rows. */
void driver_add_outcome(struct session_ledger *sessions, enum session_outcome outcome);
void driver_add_rows(struct row_ledger *rows, const struct session *session);

/* The times of a run that has ended, its throughput and why it ended. */
void driver_sum_up_times(struct load *load, const struct driver_config *config,
                         struct result *result);

#endif
