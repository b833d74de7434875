/*
 * What the tracers have in common: whether this machine allows programs in the kernel, and the map
 * of the processes that the programs trace.
 *
 * `option` is the option that asks for the tracer; it begins the text of each error.
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

/* Says why programs could not be loaded or attached. `number` is the errno; `needs` says what the
 * programs need of the kernel. Returns STATUS_REJECTED. */
enum status kernel_report(const char *option, struct error *error, int number, const char *needs);

/* Counts that the kernel keeps of a tracer's programs, added up over all CPUs. */
struct kernel_counts {
    uint64_t run_ns; /* run time of the programs, for the time in which the kernel measured it */
    /* number of events that no program saw, because the program was already running */
    uint64_t skipped;
};

struct bpf_object;
struct kernel_counts kernel_read_counts(const struct bpf_object *programs);

/* Returns how far this program's clock is ahead of the kernel's; 0 outside of a time namespace. */
int64_t kernel_clock_offset_ns(void);

enum {
    KERNEL_ROOTS_MAX = 64
};

/* The server's processes in a map of the programs, from pid to one byte. The programs add the
 * children that a process forks, and remove processes that exit. */
struct kernel_processes {
    /* the server's processes; owned; NULL if the database is embedded */
    struct server_process *server;
    int map; /* descriptor of the map */
    bool is_of_cgroup;
    pid_t roots[KERNEL_ROOTS_MAX]; /* root processes of the server; all processes are in the map */
    size_t root_count;
    /* true if the latest scan found a process; true if the latest scan added a process */
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
