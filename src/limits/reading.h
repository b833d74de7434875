/* What the readers of limits share. One thread; inside src/limits only. */
#ifndef LIMITS_READING_H
#define LIMITS_READING_H

#include <sys/types.h>

#include "base/buffer.h"
#include "limits/limits.h"
#include "limits/limits_text.h"
#include "limits/remedy.h"

enum {
    RESERVED_PIDS = 300,      /* lower ones are not given out again */
    MAPS_PER_THREAD = 2,      /* stack and guard */
    CAPABILITY_ADMIN = 21,    /* CAP_SYS_ADMIN */
    CAPABILITY_RESOURCE = 24, /* CAP_SYS_RESOURCE */
};

/* A process whose limits are read. */
struct subject {
    enum limit_side side;
    pid_t pid;
    char user[40];
    struct limits_status status;
    struct limits_rlimits rlimits;
    bool is_task_exempt; /* RLIMIT_NPROC does not apply */
    uint64_t user_tasks; /* of its user now */
    struct place place;
};

struct reading {
    const struct limits_question *question;
    struct limit_list *list;
    int proc;           /* /proc, open */
    struct buffer text; /* of the file read last */
    struct subject client;
    struct subject server; /* pid 0: not known, or not here */
    uint64_t low_tasks;    /* with a pid below those that are given out again */
};

/* What the sessions need of a limit. */
struct need {
    uint64_t each;  /* a session */
    uint64_t fixed; /* beside the sessions */
};

/* Adds a limit: works out `needed`, `sessions` and `grade` of what is filled in of *limit. Returns
 * the entry, for its fix, or NULL when it passes or there is no room. */
struct limit *reading_add(struct reading *reading, const struct limit *limit, struct need need);

/* Adds a risk that no number tells. */
void reading_warn(struct reading *reading, const struct limit *limit);

/* Loads /proc/PID/name (pid > 0) or /proc/name into reading->text. */
bool reading_load(struct reading *reading, pid_t pid, const char *name);

/* One number of a file below /proc. */
bool reading_number(struct reading *reading, const char *name, uint64_t *value);

/* All that is known of a process; false: it may not be seen, errno says why. */
bool subject_read(struct reading *reading, struct subject *subject, pid_t pid);

/* Counts tasks by user in one walk through /proc. */
void reading_count_tasks(struct reading *reading);

/* Counts the descriptors of a process that are open and numbered below `limit`: one at the limit or
 * above, as an inherited one may be, takes no place. Without those by which this program looks.
 * False: they may not be seen. */
bool subject_count_files(const struct reading *reading, const struct subject *subject,
                         uint64_t limit, uint64_t *count);

/* The server runs on this machine, as a process of its own. */
bool reading_has_server_here(const struct reading *reading);

/* What both sides take of something that they may share. */
struct demand {
    uint64_t client; /* a session, here */
    uint64_t server; /* for a session, by a server on this machine */
    uint64_t fixed;  /* this program, beside its sessions */
};
struct demand reading_task_demand(const struct reading *reading);

/* Finds the server's process into reading->server, or says why not. */
void server_find_process(struct reading *reading);

void client_read(struct reading *reading);
void server_read(struct reading *reading);
void database_read(struct reading *reading);

/* A session limit's fix with the number of sessions in it: see struct session_limit. */
void database_fill_fix(char *fix, size_t size, const char *text, uint64_t sessions);

void ports_read(struct reading *reading);
void memory_read_address_space(struct reading *reading);
void memory_read_machine(struct reading *reading);
struct demand memory_demand(const struct reading *reading); /* bytes, by estimate */
uint64_t memory_arenas(void);                               /* that the threads will make */
void cgroup_read_tasks(struct reading *reading, const struct subject *subject,
                       const struct demand *demand);
void cgroup_read_memory(struct reading *reading, const struct subject *subject,
                        const struct demand *demand);

#endif
