/* Process trees, as /proc shows them. */
#ifndef CERTIFY_PROCESSES_H
#define CERTIFY_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends a signal to all descendants of the process `root`. With `with_root`, first sends it to
 * `root` itself. Never signals this process or its ancestors: does nothing if `root` is one of
 * them. */
void processes_signal(pid_t root, bool with_root, int number);

/* Kills a process and all of its descendants; none of them can start another process meanwhile.
 * Returns false if any of these processes still runs after `limit_ns`. */
bool processes_kill(pid_t root, int64_t limit_ns);

/* Called in a new process that serves this program. Makes the process end when the program ends,
 * and ignore the signals that a terminal sends: the program decides when the process ends. */
void processes_serve(void);

/* Waits for the end of a child. */
void processes_reap(pid_t pid);

/* Returns whether a process is `root` or descends from it. */
bool processes_is_of(pid_t pid, pid_t root);

/* Returns when a process started, in clock ticks since boot, or 0 if it does not run. Another
 * process that later gets the same pid has another start. A process runs until its last thread has
 * ended: its first thread may end as a zombie before the others, which then still have the
 * process's files and ports. */
uint64_t processes_started(pid_t pid);

#endif
