/*
 * Code that the tracers share. It checks whether this machine allows eBPF programs, which run in
 * the kernel, and manages the map of the processes that the programs trace.
 *
 * In all functions `option` is the command-line option that requested the tracer. The text of each
 * error begins with this option.
 */
#ifndef TRACE_KERNEL_H
#define TRACE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/error.h"
#include "measure/sampler.h"

/* Sets *error to `option` and `text`, with the errno `number`. Returns STATUS_REJECTED. */
enum status kernel_reject(const char *option, struct error *error, int number, const char *text);

/* Checks, before programs are loaded, whether the privileges, the namespaces and the kernel allow
 * them. If it returns REJECTED, *error says what is missing and how to get it. */
enum status kernel_allows(const char *option, struct error *error);

/* Sets *error to the reason why programs could not be loaded or attached. `number` is the errno;
 * `needs` names what the kernel must have, and says how to get it. Returns STATUS_REJECTED. */
enum status kernel_report(const char *option, struct error *error, int number, const char *needs);

/* The sums, over all eBPF programs of a tracer, of the counts that the kernel keeps. */
struct kernel_counts {
    uint64_t run_ns; /* run time; grows only while the kernel measures it */
    /* number of events that a program missed because it was already running on the same CPU */
    uint64_t skipped;
};

struct bpf_object;
struct kernel_counts kernel_read_counts(const struct bpf_object *programs);

/* Returns the monotonic clock of this process minus the clock of the eBPF programs. The two clocks
 * differ only in a time namespace. */
int64_t kernel_clock_offset_ns(void);

enum {
    KERNEL_ROOTS_MAX = 64
};

/* The processes of the server. They are kept in a map of the eBPF programs, whose key is the pid;
 * the value is not used. The programs add a child when a process in the map forks, and remove a
 * process when it exits. */
struct kernel_processes {
    /* the server's processes; owned; NULL if the database is embedded */
    struct server_process *server;
    int map; /* descriptor of the map */
    bool is_of_cgroup;
    pid_t roots[KERNEL_ROOTS_MAX]; /* the root processes of the server, which are also in the map */
    size_t root_count;
    /* whether the latest scan has found a process, and has added a process to the map */
    bool has_processes, is_added;
};

/* Finds the server's processes and adds them to the map. Called after the programs are attached. */
enum status kernel_processes_find(struct kernel_processes *processes, int map,
                                  const struct server_selector *selector, const char *option,
                                  struct error *error);
void kernel_processes_fini(struct kernel_processes *processes);

/* Finds the processes again if a root process has ended, because the server may have been
 * restarted. If the server is given as a cgroup, always finds its processes again. */
void kernel_processes_check(struct kernel_processes *processes);

/* Returns whether a root process has ended. */
bool kernel_processes_lack_root(const struct kernel_processes *processes);

#endif
