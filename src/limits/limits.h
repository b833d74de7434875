/*
 * What a number of sessions needs, compared with what this machine, the server's process and the
 * database allow. Reads /proc and /sys; opens no session and changes nothing but, where asked, the
 * soft limit of open files.
 */
#ifndef LIMITS_LIMITS_H
#define LIMITS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/adapter.h"
#include "measure/limit.h"
#include "measure/procfs.h"
#include "measure/recorder.h"
#include "measure/result.h"
#include "plan/plan.h"

/* What a run has open and running beside its sessions. */
enum {
    LIMITS_RUN_FILES = 5, /* folder, tables, the room that is held; one more for each operation */
    LIMITS_USUAL_OPERATIONS = 3, /* connect, append, read */
    LIMITS_SAMPLER_FILES = 5,
    LIMITS_EMBEDDED_FILES = 1, /* that all sessions of a file database share */
    LIMITS_METRICS_FILES = 21, /* those who listen and those who are served */
    LIMITS_OTHER_THREADS = 1,  /* the sampler */
};

/* What is asked. Strings are borrowed. */
struct limits_question {
    uint64_t sessions;                 /* idle ones included */
    uint64_t in_other_processes;       /* of these, with several ranks: not in this one; */
    uint64_t on_other_machines;        /* and not on this machine */
    unsigned hosts;                    /* that share them; 0 or 1: there is one */
    size_t stack_bytes;                /* of a session's thread */
    unsigned files_per_session;        /* of this program */
    bool has_server;                   /* false: only this machine is looked at */
    bool is_embedded;                  /* the database runs inside this program */
    bool is_remote;                    /* the server is on another machine */
    bool has_script;                   /* each session has a state of Lua */
    bool uses_tcp;                     /* sessions are TCP connections, as far as is known */
    const char *host;                  /* NULL = not known; a path = Unix socket or its folder */
    uint16_t port;                     /* 0 = not known */
    const struct server_place *places; /* of several hosts, those on this machine */
    size_t place_count;
    pid_t server_pid;                   /* given by the user; 0 = found by the port */
    const char *server_cgroup;          /* given by the user; NULL = found by the process */
    const struct server_limits *server; /* NULL: the database was not asked */
    unsigned other_files;   /* that this program will open and keep open beside the sessions' */
    unsigned other_threads; /* that it will start beside the sessions' */
};

/* The question of a plan: what the sessions need, and that this program will open its own files and
 * start its own threads. Without `connection` only this machine is looked at; with one, other_files
 * counts those of the sampler only, as the files of the run are open by then. The caller fills
 * is_remote. Strings point into the arguments. */
void limits_ask(struct limits_question *question, const struct plan *plan,
                const struct connection_info *connection, const struct server_limits *server);

/* Raises this process's soft limit of open files to the hard one when the question's files and
 * `spare` ones are more than it allows. Whether the hard one is enough is for limits_read to say.
 */
void limits_allow_files(const struct limits_question *question, uint64_t spare);

/* Fills *list, in the order client, server, database. A limit that cannot be read is left out when
 * it does not exist here, and is a WARN with a note when it does. */
void limits_read(const struct limits_question *question, struct limit_list *list);

/* The same from another /proc: an open folder, in which `self` is this program's process. */
void limits_read_at(int proc, pid_t self, const struct limits_question *question,
                    struct limit_list *list);

/* The most sessions that all limits together allow, and the limit that binds first; LIMIT_NONE and
 * NULL when none does. Estimates count only when `with_estimates`. */
uint64_t limits_sessions(const struct limit_list *list, bool with_estimates,
                         const struct limit **first);

/* With several ranks it is each process's own, and not for all of a machine together. */
bool limits_is_of_process(const struct limit *limit);

/* What is left of a limit. */
static inline uint64_t limits_room(uint64_t allowed, uint64_t used)
{
    return allowed > used ? allowed - used : 0;
}

/* The server runs on this machine, as a process of its own. */
bool limits_has_server_here(const struct limits_question *question);

/*
 * What shows that a limit was hit: limits, counters and the server's process as they were before
 * the sessions, when the first of them failed, and after. Main thread only; reading never fails,
 * what cannot be read is no evidence.
 *
 * A finding needs both: a cause, by which sessions failed, and what shows the limit. A server's own
 * word (SQLSTATE 53300) or an errno that has one meaning (EMFILE) names the kind of limit for
 * certain; which of several limits it was has to be seen in the readings.
 */

/* What the kernel counts when it refuses something. A single value says little, the growth between
 * two readings is evidence. */
enum evidence_counter {
    EVIDENCE_LISTEN_OVERFLOWS, /* TcpExt of the server's network namespace: accept queue was full */
    EVIDENCE_LISTEN_DROPS,     /* likewise: connections to listeners that were dropped */
    EVIDENCE_OOM_KILLS,        /* processes of this machine that the kernel ended for memory */
    EVIDENCE_SERVER_OOM_KILLS, /* of these, of the server's cgroup */
    EVIDENCE_CLIENT_FORKS,     /* tasks refused by the client's cgroup: pids.events */
    EVIDENCE_SERVER_FORKS,     /* by the server's */
    EVIDENCE_COUNTERS,
};

/* A server on this machine. */
struct evidence_server {
    struct procfs_process process; /* pid 0: not seen */
    uint16_t port;
    bool was_listening; /* somebody, on its port */
    bool is_gone;       /* it was there before, and is not now */
};

struct evidence {
    const struct limits_question *question;
    struct limit_list before;   /* as read before the sessions */
    struct limit_list shortage; /* while they were short of something; none: not read */
    bool has_server_after;      /* the caller asked the database once more, after the sessions */
    struct server_limits server_after;
    size_t server_count;
    struct evidence_server servers[1 + URL_HOSTS_MAX]; /* the question's own is the first */
    int64_t counters[EVIDENCE_COUNTERS]; /* before the sessions; negative: not known */
    uint64_t growth[EVIDENCE_COUNTERS];  /* since then; 0: none, or not known */
};

/* Before the first session. What the question points to outlives the evidence, which the caller
 * frees. NULL: no memory. */
struct evidence *evidence_begin(const struct limits_question *question);

/* While sessions fail for want of something: see on_shortage in load/fleet.h. */
void evidence_capture(struct evidence *evidence);

/* True when sessions that reconnected were refused for a setting: the server may have been started
 * with another value, and is worth asking once more. */
bool evidence_lacks_settings(const struct result *result);

/* After the sessions: the limits that the causes and the evidence name, the one that cost the most
 * sessions first. Reads the causes, the ledger of sessions and the start of the result. */
void evidence_conclude(struct evidence *evidence, const struct result *result,
                       struct findings *findings);

/* The second half of it, which reads nothing by itself. */
void evidence_name(const struct evidence *evidence, const struct result *result,
                   struct findings *findings);

#endif
