/* Files of /proc and of cgroups. A truncated file is refused, and no figure is absurd. */
#include "fuzz/surface.h"

#include "measure/procfs.h"

static bool parse_cpu(const char *text, size_t length)
{
    struct procfs_cpu out;
    if (!procfs_parse_cpu(text, length, &out)) {
        return false;
    }
    fuzz_require(out.busy_ticks <= out.total_ticks, "busy time is a part of all time");
    fuzz_require(out.cpus > 0, "there is a CPU");
    return true;
}

static bool parse_process(const char *text, size_t length)
{
    struct procfs_process out;
    if (!procfs_parse_process(text, length, &out)) {
        return false;
    }
    fuzz_require(out.pid > 0 && out.parent >= 0, "a process has a number");
    fuzz_require(out.own_ns >= 0 && out.reaped_ns >= 0, "a time is not negative");
    fuzz_require(strnlen(out.name, sizeof out.name) < sizeof out.name, "a name has an end");
    return true;
}

static bool parse_rollup(const char *text, size_t length)
{
    struct procfs_rollup out;
    if (!procfs_parse_rollup(text, length, &out)) {
        return false;
    }
    fuzz_require(out.has_pss_anon || out.pss_anon_bytes == 0, "a missing figure is 0");
    fuzz_require(out.pss_bytes % 1024 == 0 && out.private_huge_bytes % 1024 == 0,
                 "sizes are in KiB");
    return true;
}

static bool parse_statm(const char *text, size_t length)
{
    struct procfs_statm out;
    return procfs_parse_statm(text, length, &out);
}

static bool parse_schedstat(const char *text, size_t length)
{
    struct procfs_schedstat out;
    return procfs_parse_schedstat(text, length, &out);
}

static bool parse_peak(const char *text, size_t length)
{
    struct procfs_status out;
    return procfs_parse_status(text, length, &out);
}

static bool parse_listeners(const char *text, size_t length)
{
    struct procfs_inodes found = {0};
    const bool is_good = procfs_parse_listeners(text, length, 5432, &found);
    fuzz_require(found.count <= PROCFS_INODES_MAX, "sockets fit");
    return is_good;
}

static bool parse_unix_listeners(const char *text, size_t length)
{
    static const char *const paths[] = {"/run/postgresql", "/run/mysqld/mysqld.sock", ""};
    bool is_good = true;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct procfs_inodes found = {0};
        is_good = procfs_parse_unix_listeners(text, length, paths[i], 5432, &found);
        fuzz_require(found.count <= PROCFS_INODES_MAX, "sockets fit");
    }
    return is_good;
}

static bool parse_cgroup_memory(const char *text, size_t length)
{
    uint64_t bytes;
    return procfs_parse_cgroup_memory(text, length, &bytes);
}

static bool parse_cgroup_cpu(const char *text, size_t length)
{
    uint64_t usage_us;
    return procfs_parse_named(text, length, "usage_usec", &usage_us);
}

static bool parse_cgroup(const char *text, size_t length)
{
    static const char *const controllers[] = {"", "memory"};
    bool is_any = false;
    for (size_t i = 0; i < 2; i++) {
        char path[PROCFS_PATH_BYTES];
        if (procfs_parse_cgroup(text, length, controllers[i], path)) {
            fuzz_require(path[0] == '/' && memchr(path, '\n', strlen(path)) == NULL,
                         "a path is absolute and does not have line breaks");
            is_any = true;
        }
    }
    return is_any;
}

static bool parse_io(const char *text, size_t length)
{
    struct procfs_io out;
    return procfs_parse_io(text, length, &out);
}

static bool parse_disk(const char *text, size_t length)
{
    struct procfs_disk out;
    return procfs_parse_disk(text, length, 254, 0, &out);
}

static bool parse_pressure(const char *text, size_t length)
{
    uint64_t us;
    return procfs_parse_pressure(text, length, &us);
}

static bool parse_cgroup_io(const char *text, size_t length)
{
    uint64_t bytes[2] = {0};
    return procfs_parse_cgroup_io(text, length, 254, 0, &bytes[0], &bytes[1]);
}

static bool parse_source(const char *text, size_t length)
{
    char path[PROCFS_PATH_BYTES];
    const bool is_good = procfs_parse_source(text, length, 40, path);
    fuzz_require(!is_good || path[0] == '/', "a source is a path");
    return is_good;
}

static const struct surface surfaces[] = {
    {parse_cpu, READS_SOME_LINES},       {parse_process, READS_SOME_LINES},
    {parse_rollup, READS_ALL},           {parse_statm, READS_SOME_LINES},
    {parse_schedstat, READS_SOME_LINES}, {parse_peak, READS_ALL},
    {parse_listeners, READS_ALL},        {parse_unix_listeners, READS_ALL},
    {parse_cgroup_memory, READS_ALL},    {parse_cgroup_cpu, READS_ALL},
    {parse_cgroup, READS_ALL},           {parse_io, READS_ALL},
    {parse_disk, READS_SOME_LINES},      {parse_pressure, READS_SOME_LINES},
    {parse_cgroup_io, READS_ALL},        {parse_source, READS_SOME_LINES},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    surface_run(surfaces, sizeof surfaces / sizeof surfaces[0], data, size);
    return 0;
}
