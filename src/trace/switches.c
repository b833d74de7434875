#include "trace/switches.h"

#include "trace/kernel.h"

#if APPEND_HAVE_IO_TRACE

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mono.h"
#include "measure/procfs.h"
#include "trace/switch.skel.h"

#define NEEDS "the tracepoint sched_switch: use a kernel that was built with CONFIG_DEBUG_INFO_BTF"

struct switch_tracer {
    struct switch_bpf *programs;
    struct kernel_processes processes;
    int64_t clock_offset_ns;
};

enum status switch_tracer_create(struct switch_tracer **tracer,
                                 const struct server_selector *selector, struct error *error)
{
    *tracer = NULL;
    if (selector->is_embedded) {
        return kernel_reject(SWITCHES_OPTION, error, 0,
                             "the database is part of append, and has no threads of its own");
    }
    if (kernel_allows(SWITCHES_OPTION, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    struct switch_tracer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return kernel_reject(SWITCHES_OPTION, error, ENOMEM, "out of memory");
    }
    made->clock_offset_ns = kernel_clock_offset_ns();
    made->programs = switch_bpf__open_and_load();
    int number = made->programs == NULL ? errno : 0;
    number = number == 0 ? -switch_bpf__attach(made->programs) : number;
    enum status status = number == 0 ? STATUS_OK : STATUS_REJECTED;
    if (number != 0) {
        kernel_report(SWITCHES_OPTION, error, number, NEEDS);
    } else {
        status =
            kernel_processes_find(&made->processes, bpf_map__fd(made->programs->maps.processes),
                                  selector, SWITCHES_OPTION, error);
    }
    if (status == STATUS_OK) {
        *tracer = made;
    } else {
        switch_tracer_destroy(made);
    }
    return status;
}

void switch_tracer_begin(struct switch_tracer *tracer, int64_t begin_ns)
{
    if (tracer != NULL) {
        __atomic_store_n(&tracer->programs->bss->begin_ns,
                         (unsigned long long)(begin_ns - tracer->clock_offset_ns),
                         __ATOMIC_RELAXED);
    }
}

void switch_tracer_end(struct switch_tracer *tracer, int64_t end_ns)
{
    if (tracer != NULL) {
        __atomic_store_n(&tracer->programs->bss->end_ns,
                         (unsigned long long)(end_ns - tracer->clock_offset_ns), __ATOMIC_RELAXED);
    }
}

/* The time between switch_tracer_begin and switch_tracer_end, on the kernel's clock. */
struct span {
    uint64_t begin_ns, end_ns;
};

static void charge(struct kernel_waits *waits, const struct span *span, unsigned place,
                   uint64_t since_ns)
{
    const uint64_t from_ns = MAX(since_ns, span->begin_ns);
    if (place < SWITCH_PLACES && span->end_ns > from_ns) {
        waits->sums[place].ns += span->end_ns - from_ns;
        waits->sums[place].count++;
    }
}

/* Adds up the sums of all CPUs. */
static void add_sums(const struct switch_tracer *tracer, struct kernel_waits *waits)
{
    const int cpus = libbpf_num_possible_cpus();
    struct switch_sum *of_cpus = cpus < 1 ? NULL : calloc((size_t)cpus, sizeof *of_cpus);
    for (uint32_t place = 0; of_cpus != NULL && place < SWITCH_PLACES; place++) {
        if (bpf_map_lookup_elem(bpf_map__fd(tracer->programs->maps.sums), &place, of_cpus) != 0) {
            continue;
        }
        for (int i = 0; i < cpus; i++) {
            waits->sums[place].ns += of_cpus[i].ns;
            waits->sums[place].count += of_cpus[i].count;
        }
    }
    free(of_cpus);
}

/* Returns the place of a thread that has not switched since the eBPF programs were attached, so
 * that they do not know it. Reads it from the thread's `folder` in /proc. */
static unsigned look_at(int proc, const char *folder)
{
    char path[64], text[64], *end;
    snprintf(path, sizeof path, "%s/syscall", folder);
    const ssize_t length = procfs_read(proc, path, text, sizeof text - 1);
    text[MAX(length, 0)] = '\0';
    if (strncmp(text, "running", strlen("running")) == 0) {
        return SWITCH_ON_CPU;
    }
    const long call = strtol(text, &end, 10);
    const bool is_call = end != text && call >= 0 && call < SWITCH_CALLS;
    return SWITCH_SLEEPS * SWITCH_CALLS + (is_call ? (unsigned)call : (unsigned)SWITCH_NO_CALL);
}

/* For each thread of a process, adds the time since its latest switch to the sum of its place. */
static void add_open(const struct switch_tracer *tracer, int proc, uint32_t pid,
                     const struct span *span, struct kernel_waits *waits)
{
    char folder[48];
    snprintf(folder, sizeof folder, "%u/task", pid);
    DIR *tasks = procfs_open_folder(proc, folder);
    const struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        const uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        struct switch_thread thread = {.since_ns = 0};
        if (tid == 0) {
            continue;
        }
        if (bpf_map_lookup_elem(bpf_map__fd(tracer->programs->maps.threads), &tid, &thread) != 0) {
            snprintf(folder, sizeof folder, "%u/task/%u", pid, tid);
            thread.place = look_at(proc, folder);
        }
        charge(waits, span, thread.place, thread.since_ns);
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
}

void switch_tracer_read(struct switch_tracer *tracer, struct kernel_waits *waits)
{
    const int map = bpf_map__fd(tracer->programs->maps.processes);
    struct switch_bpf__bss *bss = tracer->programs->bss;
    memset(waits, 0, sizeof *waits);
    waits->is_restarted =
        tracer->processes.root_count > 0 && kernel_processes_lack_root(&tracer->processes);
    switch_bpf__detach(tracer->programs);
    if (bss->end_ns == 0) { /* the run ended before switch_tracer_end was called */
        switch_tracer_end(tracer, mono_now_ns());
    }
    const struct span span = {bss->begin_ns, bss->end_ns};
    if (span.begin_ns == 0 || span.end_ns <= span.begin_ns) {
        return; /* the sessions did not begin to work, so there is nothing to add up */
    }
    waits->lost = bss->lost + kernel_read_counts(tracer->programs->obj).skipped;
    waits->elapsed_s = (double)(span.end_ns - span.begin_ns) / (double)MONO_NS_PER_S;
    add_sums(tracer, waits);
    const int proc = procfs_open();
    uint32_t pid, *before = NULL;
    while (proc >= 0 && bpf_map_get_next_key(map, before, &pid) == 0) {
        add_open(tracer, proc, pid, &span, waits);
        before = &pid;
    }
    if (proc >= 0) {
        close(proc);
    }
}

void switch_tracer_destroy(struct switch_tracer *tracer)
{
    if (tracer != NULL) {
        kernel_processes_fini(&tracer->processes);
        switch_bpf__destroy(tracer->programs);
        free(tracer);
    }
}

#else

enum status switch_tracer_create(struct switch_tracer **tracer,
                                 const struct server_selector *selector, struct error *error)
{
    (void)selector;
    *tracer = NULL;
    return kernel_allows(SWITCHES_OPTION, error);
}

void switch_tracer_begin(struct switch_tracer *tracer, int64_t begin_ns)
{
    (void)tracer;
    (void)begin_ns;
}

void switch_tracer_end(struct switch_tracer *tracer, int64_t end_ns)
{
    (void)tracer;
    (void)end_ns;
}

void switch_tracer_read(struct switch_tracer *tracer, struct kernel_waits *waits)
{
    (void)tracer;
    (void)waits;
}

void switch_tracer_destroy(struct switch_tracer *tracer)
{
    (void)tracer;
}

#endif
