/* Files of /proc, /proc/sys and cgroups with limits. A truncated file is refused, and no limit is
 * absurd. */
#include "fuzz/surface.h"

#include "measure/procfs.h"

static bool parse_rlimits(const char *text, size_t length)
{
    struct procfs_rlimits out;
    return procfs_parse_rlimits(text, length, &out);
}

static bool parse_status(const char *text, size_t length)
{
    struct procfs_status out;
    if (!procfs_parse_status(text, length, &out)) {
        return false;
    }
    fuzz_require(out.size_bytes % 1024 == 0, "sizes are in KiB");
    return true;
}

static bool parse_tasks(const char *text, size_t length)
{
    uint64_t tasks;
    return procfs_parse_tasks(text, length, &tasks);
}

static bool parse_uid_map(const char *text, size_t length)
{
    bool is_initial;
    return procfs_parse_uid_map(text, length, &is_initial);
}

static bool parse_number(const char *text, size_t length)
{
    uint64_t value;
    return procfs_parse_number(text, length, &value);
}

static bool parse_memory(const char *text, size_t length)
{
    struct procfs_memory out;
    if (!procfs_parse_memory(text, length, &out)) {
        return false;
    }
    fuzz_require(out.total % 1024 == 0 && out.available % 1024 == 0, "sizes are in KiB");
    return true;
}

static bool parse_cache(const char *text, size_t length)
{
    uint64_t bytes;
    return procfs_parse_cgroup_cache(text, length, &bytes);
}

static void check_path(const char path[PROCFS_PATH_BYTES])
{
    fuzz_require(path[0] == '/' && strnlen(path, PROCFS_PATH_BYTES) < PROCFS_PATH_BYTES,
                 "a path is absolute, and has an end");
}

static const char *const controllers[] = {"", "pids", "memory"};

static bool parse_cgroup(const char *text, size_t length)
{
    bool is_any = false;
    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        char path[PROCFS_PATH_BYTES];
        if (procfs_parse_cgroup(text, length, controllers[i], path)) {
            check_path(path);
            is_any = true;
        }
    }
    return is_any;
}

static bool parse_mount(const char *text, size_t length)
{
    bool is_any = false;
    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        struct procfs_mount out;
        if (procfs_parse_mount(text, length, controllers[i], &out)) {
            check_path(out.root);
            check_path(out.point);
            is_any = true;
        }
    }
    return is_any;
}

static bool parse_port_range(const char *text, size_t length)
{
    struct procfs_port_range out;
    if (!procfs_parse_port_range(text, length, &out)) {
        return false;
    }
    fuzz_require(out.low <= out.high, "a range is not reversed");
    return true;
}

static bool parse_reserved(const char *text, size_t length)
{
    struct procfs_ports ports = {0};
    return procfs_parse_reserved(text, length, &ports);
}

static bool parse_sockets(const char *text, size_t length)
{
    static const struct procfs_destination destinations[] = {
        {.port = 5432, .address = 0x0100007f, .is_wait_reused = true},
        {.port = 5432, .address = 0, .is_wait_reused = false}};
    bool is_good = true;
    for (size_t i = 0; i < sizeof destinations / sizeof destinations[0]; i++) {
        struct procfs_ports ports = {0};
        uint64_t waiting = 0;
        is_good = procfs_parse_sockets(text, length, &destinations[i], &ports, &waiting);
        uint64_t held = 0;
        for (uint32_t port = 0; port <= UINT16_MAX && waiting > 0; port++) {
            held += procfs_ports_hold(&ports, (uint16_t)port) ? 1 : 0;
        }
        fuzz_require(waiting <= held, "a port in TIME_WAIT is also a taken port");
    }
    return is_good;
}

static bool count_lines(const char *text, size_t length)
{
    uint64_t lines;
    const bool is_good = procfs_count_lines(text, length, &lines);
    fuzz_require(lines <= length, "a line has at least one byte");
    return is_good;
}

static bool parse_value(const char *text, size_t length)
{
    uint64_t value;
    return procfs_parse_named(text, length, "oom_kill", &value) ||
           procfs_parse_named(text, length, "max", &value);
}

static bool parse_netstat(const char *text, size_t length)
{
    uint64_t value;
    return procfs_parse_netstat(text, length, "ListenOverflows", &value) ||
           procfs_parse_netstat(text, length, "ListenDrops", &value);
}

static const struct surface surfaces[] = {
    {parse_rlimits, READS_ALL},         {parse_status, READS_ALL},
    {parse_tasks, READS_SOME_LINES},    {parse_uid_map, READS_SOME_LINES},
    {parse_number, READS_SOME_LINES},   {parse_memory, READS_ALL},
    {parse_cache, READS_ALL},           {parse_cgroup, READS_ALL},
    {parse_mount, READS_SOME_LINES},    {parse_port_range, READS_SOME_LINES},
    {parse_reserved, READS_SOME_LINES}, {parse_sockets, READS_ALL},
    {count_lines, READS_ALL},           {parse_value, READS_ALL},
    {parse_netstat, READS_SOME_LINES},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    surface_run(surfaces, sizeof surfaces / sizeof surfaces[0], data, size);
    return 0;
}
