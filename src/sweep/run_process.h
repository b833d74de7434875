/*
 * A run of a sweep: this program again, in a process of its own. Its memory and its CPU time are
 * then the run's alone, and a crash ends the run and not the sweep.
 *
 * The process has a group of its own, so that Ctrl-C reaches the sweep only, which passes it on
 * once; a terminal's Ctrl-Z stops both. It is told to end when the sweep is killed. Its stdout is
 * dropped, its stderr goes to a file. One child at a time, by the main thread.
 */
#ifndef SWEEP_RUN_PROCESS_H
#define SWEEP_RUN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/error.h"

struct run_process_end {
    int signal; /* that ended it; 0 = none */
    int code;   /* its exit code; -1: how it ended is not known */
};

/* From now on a child that ends wakes run_process_wait, and Ctrl-Z stops it too. Once, at first. */
void run_process_prepare(void);

/* Starts this program with argv (ended by NULL). It keeps the descriptor `lock` open: what is
 * locked stays so until the run is over too, when the sweep was killed. */
enum status run_process_start(pid_t *pid, const char *const argv[], const char *log_path, int lock,
                              struct error *error);

/* Waits for its end, but no longer than the time given or until a signal comes. True: it has ended.
 */
bool run_process_wait(pid_t pid, int64_t timeout_ns, struct run_process_end *end);

/* Asks it to end as Ctrl-C does. */
void run_process_interrupt(pid_t pid);

#endif
