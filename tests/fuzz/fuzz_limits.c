/* Files of /proc, /proc/sys and cgroups that say what the limits are: no limit comes from a file
 * that was cut, and none is absurd. */
#include "fuzz/surface.h"

#include "limits/evidence_counters.h"
#include "limits/limits_text.h"
#include "measure/procfs_text.h"

static bool parse_rlimits(const char *text, size_t length)
{
    struct limits_rlimits out;
    return limits_parse_rlimits(text, length, &out);
}

static bool parse_status(const char *text, size_t length)
{
    struct limits_status out;
    if (!limits_parse_status(text, length, &out)) {
        return false;
    }
    fuzz_require(out.size_bytes % 1024 == 0, "sizes are in KiB");
    return true;
}

static bool parse_tasks(const char *text, size_t length)
{
    uint64_t tasks;
    return limits_parse_tasks(text, length, &tasks);
}

static bool parse_uid_map(const char *text, size_t length)
{
    bool is_initial;
    return limits_parse_uid_map(text, length, &is_initial);
}

static bool parse_number(const char *text, size_t length)
{
    uint64_t value;
    return limits_parse_number(text, length, &value);
}

static bool parse_memory(const char *text, size_t length)
{
    struct limits_memory out;
    if (!limits_parse_memory(text, length, &out)) {
        return false;
    }
    fuzz_require(out.total % 1024 == 0 && out.available % 1024 == 0, "sizes are in KiB");
    return true;
}

static bool parse_cache(const char *text, size_t length)
{
    uint64_t bytes;
    return limits_parse_cache(text, length, &bytes);
}

static void check_path(const char path[LIMITS_PATH_BYTES])
{
    fuzz_require(path[0] == '/' && strnlen(path, LIMITS_PATH_BYTES) < LIMITS_PATH_BYTES,
                 "a path is absolute, and has an end");
}

static const char *const controllers[] = {"", "pids", "memory"};

static bool parse_cgroup(const char *text, size_t length)
{
    bool is_any = false;
    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        char path[LIMITS_PATH_BYTES];
        if (limits_parse_cgroup(text, length, controllers[i], path)) {
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
        struct limits_mount out;
        if (limits_parse_mount(text, length, controllers[i], &out)) {
            check_path(out.root);
            check_path(out.point);
            is_any = true;
        }
    }
    return is_any;
}

static bool parse_port_range(const char *text, size_t length)
{
    struct limits_port_range out;
    if (!limits_parse_port_range(text, length, &out)) {
        return false;
    }
    fuzz_require(out.low <= out.high, "a range goes upwards");
    return true;
}

static bool parse_reserved(const char *text, size_t length)
{
    struct limits_ports ports = {0};
    return limits_parse_reserved(text, length, &ports);
}

static bool parse_sockets(const char *text, size_t length)
{
    static const struct limits_destination destinations[] = {
        {.port = 5432, .address = 0x0100007f, .is_wait_reused = true},
        {.port = 5432, .address = 0, .is_wait_reused = false}};
    bool is_good = true;
    for (size_t i = 0; i < sizeof destinations / sizeof destinations[0]; i++) {
        struct limits_ports ports = {0};
        uint64_t waiting = 0;
        is_good = limits_parse_sockets(text, length, &destinations[i], &ports, &waiting);
        uint64_t held = 0;
        for (uint32_t port = 0; port <= UINT16_MAX && waiting > 0; port++) {
            held += limits_ports_hold(&ports, (uint16_t)port) ? 1 : 0;
        }
        fuzz_require(waiting <= held, "a port that waits is taken");
    }
    return is_good;
}

static bool count_lines(const char *text, size_t length)
{
    uint64_t lines;
    const bool is_good = limits_count_lines(text, length, &lines);
    fuzz_require(lines <= length, "a line has a byte");
    return is_good;
}

static bool parse_value(const char *text, size_t length)
{
    uint64_t value;
    const struct procfs_text all = procfs_text_of(text, length);
    return procfs_text_find(all, "oom_kill", &value) || procfs_text_find(all, "max", &value);
}

static bool parse_netstat(const char *text, size_t length)
{
    uint64_t value;
    return evidence_parse_netstat(text, length, "ListenOverflows", &value) ||
           evidence_parse_netstat(text, length, "ListenDrops", &value);
}

static const struct surface surfaces[] = {
    {parse_rlimits, READS_ALL},         {parse_status, READS_ALL},
    {parse_tasks, READS_SOME_LINES},    {parse_uid_map, READS_SOME_LINES},
    {parse_number, READS_SOME_LINES},   {parse_memory, READS_ALL},
    {parse_cache, READS_ALL},           {parse_cgroup, READS_SOME_LINES},
    {parse_mount, READS_SOME_LINES},    {parse_port_range, READS_SOME_LINES},
    {parse_reserved, READS_SOME_LINES}, {parse_sockets, READS_ALL},
    {count_lines, READS_ALL},           {parse_value, READS_SOME_LINES},
    {parse_netstat, READS_SOME_LINES},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    surface_run(surfaces, sizeof surfaces / sizeof surfaces[0], data, size);
    return 0;
}
