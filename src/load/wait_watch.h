/*
 * Asks the server at intervals (polls) what the sessions' calls wait for (--waits; see
 * measure/waits.h). The polls have a thread and a connection of their own.
 *
 * A poll takes time of the server's CPUs. So the interval between polls depends on their cost:
 * polls should take at most WAIT_CPU_SHARE of one CPU, but the interval stays between
 * WAIT_GAP_MIN_NS and WAIT_GAP_MAX_NS. If this machine shows the server's CPU time, the cost is the
 * CPU time of the connection's process or thread at the server, plus the CPU time of the polling
 * thread. Otherwise the cost is the duration of the poll. A poll that fails is counted, and is not
 * repeated before the next interval. A lost connection is opened again.
 */
#ifndef LOAD_WAIT_WATCH_H
#define LOAD_WAIT_WATCH_H

#include <stdint.h>

#include "append/error.h"
#include "base/mono.h"
#include "measure/waits.h"
#include "plan/plan.h"

#define WAIT_CPU_SHARE 0.02
#define WAIT_GAP_MIN_NS (100 * MONO_NS_PER_MS)
#define WAIT_GAP_MAX_NS (2 * MONO_NS_PER_S)

struct setup;
struct wait_watch;

/* Starts the thread, which connects and polls once before the sessions connect, and then polls only
 * between wait_watch_begin and wait_watch_end. Waits for the first poll. All arguments are
 * borrowed. Returns NULL with *error set when the database does not show what its sessions wait
 * for. */
struct wait_watch *wait_watch_start(struct waits *waits, const struct setup *setup,
                                    const struct plan *plan, const struct recorder *recorder,
                                    struct error *error);

/* wait_watch_begin lets polling begin at the monotonic moment begin_ns; wait_watch_end ends polling
 * at once. A poll that is in progress at the end does not count. Polling can begin again. Any
 * thread may call both functions. `watch` may be NULL. */
void wait_watch_begin(struct wait_watch *watch, int64_t begin_ns);
void wait_watch_end(struct wait_watch *watch);

/* Ends the thread and frees `watch`, which may be NULL. */
void wait_watch_stop(struct wait_watch *watch);

#endif
