/*
 * What limits the number of sessions: what is known before a run, and what was found to have
 * stopped one. Filled by src/limits, shown by the reports.
 */
#ifndef MEASURE_LIMIT_H
#define MEASURE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIMITS_MAX = 48,
    FINDINGS_MAX = 12,
    LIMIT_WHERE_BYTES = 544, /* the path of a cgroup's file fits */
    LIMIT_FIX_BYTES = 600
};
#define LIMIT_NONE UINT64_MAX /* no limit, or one that does not depend on the sessions */

/* Whose it is. */
enum limit_side {
    LIMIT_CLIENT,   /* this program, its user, the machine it runs on */
    LIMIT_SERVER,   /* the server's process, its user, its machine */
    LIMIT_DATABASE, /* a setting of the database */
};

enum limit_id {
    LIMIT_OPEN_FILES,    /* RLIMIT_NOFILE */
    LIMIT_USER_TASKS,    /* RLIMIT_NPROC: threads of one user */
    LIMIT_THREADS_MAX,   /* kernel.threads-max */
    LIMIT_PID_MAX,       /* kernel.pid_max */
    LIMIT_MAP_COUNT,     /* vm.max_map_count */
    LIMIT_CGROUP_TASKS,  /* pids.max of a cgroup */
    LIMIT_CGROUP_MEMORY, /* memory.max, memory.limit_in_bytes */
    LIMIT_ADDRESS_SPACE, /* RLIMIT_AS */
    LIMIT_COMMIT,        /* vm.overcommit_memory = 2 */
    LIMIT_MEMORY,        /* free memory of the machine */
    LIMIT_PORTS,         /* ephemeral ports towards one address */
    LIMIT_SESSIONS,      /* a setting of the database: max_connections and the like */
    LIMIT_BACKLOG,       /* findings only: connections that wait to be accepted */
    LIMIT_GONE,          /* findings only: the server's process ended, or was ended for memory */
    LIMIT_IDS,
};

enum limit_grade {
    LIMIT_PASS,
    LIMIT_WARN, /* not enough by an estimate, or a risk that no number tells */
    LIMIT_FAIL, /* not enough: the sessions asked for cannot all be held */
};

struct limit {
    enum limit_id id;
    enum limit_side side;
    enum limit_grade grade;
    char name[64]; /* as a user would look it up: "RLIMIT_NPROC", "max_connections" */
    char where[LIMIT_WHERE_BYTES]; /* where it is set or read */
    const char *unit;              /* static: "threads", "files", "bytes", ... */
    uint64_t allowed;              /* LIMIT_NONE: no limit */
    uint64_t used;                 /* of it, before the run */
    uint64_t needed;               /* beside `used`, by all sessions asked for */
    uint64_t each;                 /* of `needed`: by one session */
    uint64_t sessions;             /* the most sessions that fit; LIMIT_NONE: does not bind */
    bool is_estimate;              /* `needed` is: never certain to end a run */
    bool is_unknown;               /* what is allowed cannot be told */
    char note[160];                /* may be empty */
    char fix[LIMIT_FIX_BYTES];     /* exact command or line of a file; empty when it is a PASS */
};

struct limit_list {
    size_t count;
    struct limit entries[LIMITS_MAX];
};

/* A limit that was hit, with what shows it. */
struct finding {
    enum limit_id id;
    enum limit_side side;
    char name[64];
    uint64_t sessions; /* that it cost: not started, refused, timed out or dropped */
    uint64_t tries;    /* to connect again that it cost, of sessions that may have got in at last */
    char evidence[300];
    char fix[LIMIT_FIX_BYTES];
};

struct findings {
    size_t count;
    struct finding entries[FINDINGS_MAX];
};

extern const char *const limit_side_names[];  /* "client", "server", "database" */
extern const char *const limit_id_names[];    /* "open_files", ...: for JSON */
extern const char *const limit_grade_names[]; /* "PASS", "WARN", "FAIL" */

#endif
