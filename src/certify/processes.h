/* Process trees, as /proc shows them. */
#ifndef CERTIFY_PROCESSES_H
#define CERTIFY_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends a signal to all descendants of the process `root` and, if `with_root` is true, first to
 * `root`. `root` may be this process, if `with_root` is false. Does nothing if `root` is an
 * ancestor of this process. */
void processes_signal(pid_t root, bool with_root, int number);

/* Kills a process and all of its descendants. First stops all of them, so that they cannot start
 * other processes. Returns false if one of them still runs after `limit_ns`, or if `root` is an
 * ancestor of this process. */
bool processes_kill(pid_t root, int64_t limit_ns);

/* Called in a new child process of this program. Makes the kernel kill the child when its parent
 * ends. Makes the child ignore the signals that a terminal sends, because the parent decides when
 * the child ends. */
void processes_serve(void);

/* Waits for the end of a child. */
void processes_reap(pid_t pid);

/* Returns whether process `pid` is `root` or one of its descendants. */
bool processes_is_of(pid_t pid, pid_t root);

/* Returns the time at which a process started, in clock ticks since boot, or 0 if the process does
 * not run. The time shows whether a pid has been given to a new process. A process runs until its
 * last thread has ended, because other threads can still hold its files and ports after the first
 * thread has become a zombie. */
uint64_t processes_started(pid_t pid);

#endif
