/*
 * Limits on the number of sessions: limits that are known before a run, and limits that a run hit.
 * src/limits finds them, and the reports show them.
 */
#ifndef MEASURE_LIMIT_H
#define MEASURE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIMITS_MAX = 48,
    FINDINGS_MAX = 12,
    LIMIT_WHERE_BYTES = 544, /* enough for the path of a file of a cgroup */
    LIMIT_FIX_BYTES = 600
};
#define LIMIT_NONE UINT64_MAX /* no limit, or a limit that does not depend on the sessions */

/* The side that sets a limit. */
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
    LIMIT_PORTS,         /* ephemeral ports for connections to one address */
    LIMIT_SESSIONS,      /* a setting of the database: max_connections and the like */
    LIMIT_BACKLOG,       /* only in findings: connections that wait to be accepted */
    LIMIT_GONE,          /* only in findings: the server's process ended or was killed for memory */
    LIMIT_IDS,
};

enum limit_grade {
    LIMIT_PASS,
    LIMIT_WARN, /* too low according to an estimate, or a risk without a number */
    LIMIT_FAIL, /* too low for the requested number of sessions */
};

struct limit {
    enum limit_id id;
    enum limit_side side;
    enum limit_grade grade;
    char name[64];                 /* name as in manuals: "RLIMIT_NPROC", "max_connections" */
    char where[LIMIT_WHERE_BYTES]; /* place where the limit is set or read */
    const char *unit;          /* unit of the numbers, static: "threads", "files", "bytes", ... */
    uint64_t allowed;          /* value of the limit; LIMIT_NONE: no limit */
    uint64_t used;             /* part of `allowed` that was in use before the run */
    uint64_t needed;           /* amount that all requested sessions need, in addition to `used` */
    uint64_t each;             /* part of `needed` for one session */
    uint64_t sessions;         /* number of sessions that fit; LIMIT_NONE: any number */
    bool is_estimate;          /* `needed` is only an estimate */
    bool is_unknown;           /* `allowed` is unknown */
    char note[200];            /* note for the user; may be empty */
    char fix[LIMIT_FIX_BYTES]; /* command, or line of a configuration file, that raises the limit;
                                  "" for LIMIT_PASS */
};

struct limit_list {
    size_t count;
    struct limit entries[LIMITS_MAX];
};

/* A limit that was hit, with the evidence. */
struct finding {
    enum limit_id id;
    enum limit_side side;
    char name[64];
    uint64_t sessions; /* number of sessions that were not started, refused, timed out or dropped
                          because of the limit */
    uint64_t tries;    /* number of failed tries to reconnect, including tries of sessions that
                          reconnected later */
    char evidence[300];
    char fix[LIMIT_FIX_BYTES];
};

struct findings {
    size_t count;
    struct finding entries[FINDINGS_MAX];
};

/* Sorts the findings by their numbers of sessions, highest first. Findings with equal numbers keep
 * their order. */
void findings_sort(struct finding *findings, size_t count);

/* names of the sides: "client", "server", "database" */
extern const char *const limit_side_names[];
extern const char *const limit_id_names[];    /* names of the limits for JSON: "open_files", ... */
extern const char *const limit_grade_names[]; /* names of the grades: "PASS", "WARN", "FAIL" */

#endif
