#include "measure/limit.h"

const char *limit_side_name(enum limit_side side)
{
    static const char *const names[] = {"client", "server", "database"};
    return names[side];
}

const char *limit_id_name(enum limit_id id)
{
    static const char *const names[LIMIT_IDS] = {
        [LIMIT_OPEN_FILES] = "open_files",
        [LIMIT_USER_TASKS] = "user_tasks",
        [LIMIT_THREADS_MAX] = "threads_max",
        [LIMIT_PID_MAX] = "pid_max",
        [LIMIT_MAP_COUNT] = "map_count",
        [LIMIT_CGROUP_TASKS] = "cgroup_tasks",
        [LIMIT_CGROUP_MEMORY] = "cgroup_memory",
        [LIMIT_ADDRESS_SPACE] = "address_space",
        [LIMIT_COMMIT] = "commit",
        [LIMIT_MEMORY] = "memory",
        [LIMIT_PORTS] = "ports",
        [LIMIT_BACKLOG] = "backlog",
        [LIMIT_SESSIONS] = "sessions",
        [LIMIT_GONE] = "gone",
    };
    return id < LIMIT_IDS ? names[id] : "unknown";
}

const char *limit_grade_name(enum limit_grade grade)
{
    static const char *const names[] = {"PASS", "WARN", "FAIL"};
    return names[grade];
}
