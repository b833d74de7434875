#include "trace/kernel.h"

#include "measure/server_process.h"

enum status kernel_reject(const char *option, struct error *error, int number, const char *text)
{
    error_set(error, ERROR_UNSUPPORTED, number, NULL, "%s: %s", option, text);
    return STATUS_REJECTED;
}

#if APPEND_HAVE_IO_TRACE

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"

enum {
    LOG_BYTES = 256
};

/* The latest warning of libbpf. It is a static variable, because libbpf does not pass a context to
 * the callback. */
static char last_warning[LOG_BYTES];

static int keep_warning(enum libbpf_print_level level, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static int keep_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
    if (level != LIBBPF_WARN) {
        return 0;
    }
    return vsnprintf(last_warning, sizeof last_warning, format, arguments);
}

static bool has_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0) {
        return true; /* unknown: if privileges are missing, loading the programs will fail */
    }
    const uint64_t has = data[0].effective | (uint64_t)data[1].effective << 32;
    const uint64_t two = UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
    return (has & UINT64_C(1) << CAP_SYS_ADMIN) != 0 || (has & two) == two;
}

enum status kernel_allows(const char *option, struct error *error)
{
    if (!has_capabilities()) {
        return kernel_reject(
            option, error, EPERM,
            "not allowed: run append as root, or with CAP_BPF and CAP_PERFMON (sudo setcap "
            "cap_bpf,cap_perfmon+ep on the program)");
    }
    if (process_has_own_pid_namespace()) { /* the eBPF programs see other pids than this process */
        return kernel_reject(
            option, error, 0,
            "append runs in a container with its own pid namespace: use the machine's pid "
            "namespace (docker run --pid host --privileged)");
    }
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
        return kernel_reject(
            option, error, errno,
            "this kernel does not have type information (/sys/kernel/btf/vmlinux): use a "
            "kernel that was built with CONFIG_DEBUG_INFO_BTF");
    }
    libbpf_set_print(keep_warning);
    return STATUS_OK;
}

enum status kernel_report(const char *option, struct error *error, int number, const char *needs)
{
    char text[ERROR_TEXT_BYTES];
    if (number == EPERM || number == EACCES) {
        return kernel_reject(
            option, error, number,
            "the kernel refuses to load tracing programs (lockdown, or a container "
            "without CAP_BPF and CAP_PERFMON on the machine): run append on the machine "
            "itself, and check /sys/kernel/security/lockdown");
    }
    if (number == ESRCH) {
        snprintf(text, sizeof text, "this kernel does not have %s", needs);
        return kernel_reject(option, error, number, text);
    }
    if (number == ENOSYS) {
        return kernel_reject(
            option, error, number,
            "this kernel was built without BPF: use a kernel with CONFIG_BPF_SYSCALL");
    }
    last_warning[strcspn(last_warning, "\n")] = '\0';
    snprintf(text, sizeof text, "the kernel does not accept the tracing programs: %s (%.100s)",
             strerror(number), last_warning);
    return kernel_reject(option, error, number, text);
}

struct kernel_counts kernel_read_counts(const struct bpf_object *programs)
{
    struct kernel_counts counts = {0};
    struct bpf_program *program;
    bpf_object__for_each_program(program, programs)
    {
        struct bpf_prog_info info = {0};
        uint32_t bytes = sizeof info;
        const int fd = bpf_program__fd(program);
        if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0) {
            counts.run_ns += info.run_time_ns;
            counts.skipped += info.recursion_misses;
        }
    }
    return counts;
}

int64_t kernel_clock_offset_ns(void)
{
    static const char name[] = "monotonic";
    char line[100] = "", *end = line;
    FILE *offsets = fopen("/proc/self/timens_offsets", "re");
    const bool is_read = offsets != NULL && fgets(line, sizeof line, offsets) != NULL;
    if (offsets != NULL) {
        fclose(offsets);
    }
    if (!is_read || strncmp(line, name, strlen(name)) != 0) {
        return 0;
    }
    const int64_t seconds = strtoll(line + strlen(name), &end, 10);
    return seconds * MONO_NS_PER_S + strtoll(end, NULL, 10);
}

/* Adds a process of the server to the map of traced processes. */
static void add_process(void *context, pid_t pid, bool is_root)
{
    struct kernel_processes *processes = context;
    const uint32_t key = (uint32_t)pid;
    const unsigned char is_there = 1;
    if (is_root && processes->root_count < KERNEL_ROOTS_MAX) {
        processes->roots[processes->root_count++] = pid;
    }
    processes->has_processes = true;
    if (bpf_map_update_elem(processes->map, &key, &is_there, BPF_NOEXIST) != 0) {
        return;
    }
    /* The eBPF programs remove a process from the map when it exits. But if it exited before it was
     * added, it must be removed here; otherwise a restart of the server would not be noticed. */
    if (server_process_runs(processes->server, pid)) {
        processes->is_added = true;
    } else {
        bpf_map_delete_elem(processes->map, &key);
    }
}

/* Adds all processes of the server to the map. Scans again until a scan does not add a process,
 * because a process may have forked before it was added: the eBPF programs add only the children of
 * processes in the map. */
static void scan(struct kernel_processes *processes)
{
    do {
        processes->root_count = 0;
        processes->has_processes = processes->is_added = false;
        server_process_walk(processes->server, add_process, processes);
    } while (processes->is_added);
}

bool kernel_processes_lack_root(const struct kernel_processes *processes)
{
    bool is_gone = processes->root_count == 0;
    for (size_t i = 0; i < processes->root_count && !is_gone; i++) {
        const uint32_t key = (uint32_t)processes->roots[i];
        unsigned char is_there;
        is_gone = bpf_map_lookup_elem(processes->map, &key, &is_there) != 0;
    }
    return is_gone;
}

void kernel_processes_check(struct kernel_processes *processes)
{
    if (processes->is_of_cgroup || kernel_processes_lack_root(processes)) {
        scan(processes);
    }
}

enum status kernel_processes_find(struct kernel_processes *processes, int map,
                                  const struct server_selector *selector, const char *option,
                                  struct error *error)
{
    struct resource_summary found = {0};
    processes->map = map;
    processes->is_of_cgroup = selector->cgroup != NULL;
    processes->server = server_process_create(selector);
    if (processes->server == NULL) {
        return kernel_reject(option, error, ENOMEM, "out of memory");
    }
    scan(processes);
    if (processes->has_processes) {
        return STATUS_OK;
    }
    server_process_describe(processes->server, &found);
    return kernel_reject(option, error, 0, found.server_note);
}

void kernel_processes_fini(struct kernel_processes *processes)
{
    server_process_destroy(processes->server);
}

#else

enum status kernel_allows(const char *option, struct error *error)
{
    return kernel_reject(option, error, 0,
                         "append was built without tracing (the build lacked " APPEND_IO_TRACE_LACKS
                         "): install the packages with `scripts/setup.sh run`, and build append "
                         "again");
}

#endif
