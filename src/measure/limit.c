#include "measure/limit.h"

const char *const limit_side_names[] = {
    [LIMIT_CLIENT] = "client", [LIMIT_SERVER] = "server", [LIMIT_DATABASE] = "database"};

const char *const limit_grade_names[] = {
    [LIMIT_PASS] = "PASS", [LIMIT_WARN] = "WARN", [LIMIT_FAIL] = "FAIL"};

const char *const limit_id_names[LIMIT_IDS] = {[LIMIT_OPEN_FILES] = "open_files",
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
                                               [LIMIT_SESSIONS] = "sessions",
                                               [LIMIT_BACKLOG] = "backlog",
                                               [LIMIT_GONE] = "gone"};

void findings_sort(struct finding *findings, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct finding moved = findings[i];
        size_t to = i;
        for (; to > 0 && findings[to - 1].sessions < moved.sessions; to--) {
            findings[to] = findings[to - 1];
        }
        findings[to] = moved;
    }
}
