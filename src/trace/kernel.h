/*
 * Code that the tracers share: checks whether this machine allows programs in the kernel, and
 * manages the map of the processes that the programs trace.
 *
 * `option` is the option with which the user asked for the tracer. The text of each error begins
 * with this option.
 */
#ifndef TRACE_KERNEL_H
#define TRACE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/error.h"
#include "measure/sampler.h"

/* Sets the error. Returns STATUS_REJECTED. */
enum status kernel_reject(const char *option, struct error *error, int number, const char *text);

/* Checks the privileges, the namespaces and the kernel, before programs are loaded. On REJECTED,
 * *error says what is missing and how to get it. */
enum status kernel_allows(const char *option, struct error *error);

/* Sets *error to the reason why programs could not be loaded or attached. `number` is the errno;
 * `needs` names what the kernel must have, and says how to get it. Returns STATUS_REJECTED. */
enum status kernel_report(const char *option, struct error *error, int number, const char *needs);

/* Counts that the kernel keeps for each program, added up over all programs of a tracer. */
struct kernel_counts {
    uint64_t run_ns; /* run time of the programs, only while the kernel measured it */
    /* number of times that a program missed an event because it was already running */
    uint64_t skipped;
};

struct bpf_object;
struct kernel_counts kernel_read_counts(const struct bpf_object *programs);

/* Returns how far this program's clock is ahead of the kernel's; 0 outside of a time namespace. */
int64_t kernel_clock_offset_ns(void);

enum {
    KERNEL_ROOTS_MAX = 64
};

/* The server's processes, in a map of the programs in the kernel. The map's key is the pid, its
 * value one byte. The programs add the children that a process forks, and remove processes that
 * exit. */
struct kernel_processes {
    /* the server's processes; owned; NULL if the database is embedded */
    struct server_process *server;
    int map; /* descriptor of the map */
    bool is_of_cgroup;
    pid_t roots[KERNEL_ROOTS_MAX]; /* root processes of the server; all processes are in the map */
    size_t root_count;
    /* has_processes: the latest scan found a process; is_added: the latest scan added a process to
     * the map */
    bool has_processes, is_added;
};

/* Finds the server's processes, and adds them to the map. Call after the programs are attached. */
enum status kernel_processes_find(struct kernel_processes *processes, int map,
                                  const struct server_selector *selector, const char *option,
                                  struct error *error);
void kernel_processes_fini(struct kernel_processes *processes);

/* Looks for the processes again if a root process has ended, because the server may have been
 * restarted. A cgroup is always scanned. */
void kernel_processes_check(struct kernel_processes *processes);

/* Returns whether a root process has ended. */
bool kernel_processes_lack_root(const struct kernel_processes *processes);

#endif
