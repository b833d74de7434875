/*
 * Compares the needs of a number of sessions with the limits of this machine, of the server's
 * process and of the database. Reads /proc and /sys. Opens no session and changes nothing, except,
 * on request, the soft limit of open files.
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

/* Files and threads of a run in addition to the files and threads of its sessions. */
enum {
    /* files of the sampler, and files that are open only for a moment: files in /proc, and the
     * files of one connection */
    LIMITS_SAMPLER_FILES = 7,
    LIMITS_EMBEDDED_FILES = 1, /* files of an embedded database, which all sessions share */
    /* sockets of --metrics: the listening sockets and the connections being served */
    LIMITS_METRICS_FILES = 21,
    /* sockets of the live page: the listening sockets and the connections being served */
    LIMITS_LIVE_FILES = 135,
    LIMITS_OTHER_THREADS = 1, /* the thread of the sampler */
};

/* The needs that are compared with the limits. Strings are borrowed. */
struct limits_question {
    uint64_t sessions; /* number of sessions of all ranks (processes of the run), including idle
                          sessions */
    uint64_t in_other_processes; /* part of `sessions`: number of sessions of other ranks */
    /* part of `sessions`: number of sessions of ranks on other machines */
    uint64_t on_other_machines;
    unsigned hosts;             /* number of hosts that share the sessions; 0 or 1: one host */
    size_t stack_bytes;         /* stack size of a session's thread */
    unsigned files_per_session; /* files that this program opens for each session */
    /* true: compare the needs with the limits of this machine and of the server; false: with the
     * limits of this machine only */
    bool has_server;
    bool is_embedded; /* the database runs inside this program */
    bool is_remote;   /* the server is on another machine */
    bool has_script;  /* each session has a Lua state */
    bool uses_tcp;    /* sessions are TCP connections, as far as is known */
    const char *host; /* the server's host; NULL = unknown; a path = Unix socket or its folder */
    uint16_t port;    /* port of the server; 0 = unknown */
    const struct server_place *places; /* servers on this machine, if there are several hosts */
    size_t place_count;
    pid_t server_pid;          /* pid that the user gave; 0 = find the process by the port */
    const char *server_cgroup; /* cgroup folder that the user gave; NULL = use the cgroup of the
                                  server's process */
    /* limits that the database reported; NULL if the database was not asked */
    const struct server_limits *server;
    unsigned other_files; /* files that this program opens in addition to the sessions' files */
    /* threads that this program starts in addition to the sessions' threads */
    unsigned other_threads;
};

/* Fills *question for a plan: the needs of its sessions, and the files and threads of this program.
 * If `connection` is NULL, the needs are compared with this machine only. The caller must then add
 * the number of files that the run's output will need (run_files_count_open) to other_files. If
 * `connection` is not NULL, these files are already open. The caller sets is_remote. Strings point
 * into the arguments. */
void limits_question_init(struct limits_question *question, const struct plan *plan,
                          const struct connection_info *connection,
                          const struct server_limits *server);

/* Raises this process's soft limit of open files to the hard limit if the soft limit is too low for
 * the files of the question plus `spare`. limits_read reports whether the hard limit is high
 * enough. */
void limits_allow_files(const struct limits_question *question, uint64_t spare);

/* Fills *list, in the order client, server, database. A limit that this machine does not have is
 * left out. A limit that cannot be read has the grade WARN and a note. */
void limits_read(const struct limits_question *question, struct limit_list *list);

/* Fills *list as limits_read does, from another /proc: `proc` is an open folder in which `self` is
 * this program's process. */
void limits_read_at(int proc, pid_t self, const struct limits_question *question,
                    struct limit_list *list);

/* Returns the number of sessions that all limits together allow, and sets *first to the limit that
 * is reached first. If the sessions are not limited, returns LIMIT_NONE and sets *first to NULL.
 * Limits that are estimates are ignored unless with_estimates is true. */
uint64_t limits_sessions(const struct limit_list *list, bool with_estimates,
                         const struct limit **first);

/* Returns whether the limit applies to each process separately, so that each rank has its own
 * limit. */
bool limits_is_of_process(const struct limit *limit);

/* Returns the part of a limit that is not used. */
static inline uint64_t limits_room(uint64_t allowed, uint64_t used)
{
    return allowed > used ? allowed - used : 0;
}

/* Returns whether the server runs on this machine, as a process of its own. */
bool limits_has_server_here(const struct limits_question *question);

/*
 * Evidence that a limit was reached: readings of limits, counters and the server's process.
 * Readings are taken before the sessions connect, when the first session fails, and after the
 * sessions have ended. Main thread only. Reading never fails: a value that cannot be read gives no
 * evidence.
 *
 * A finding needs both a cause of failed sessions and evidence of the limit. The server's own error
 * (SQLSTATE 53300) or an errno with one meaning (EMFILE) proves which kind of limit was reached. If
 * there are several limits of this kind, the readings must show which of them was reached.
 */

/* Kernel counters of refused requests and killed processes. Only growth between two readings is
 * evidence. */
enum evidence_counter {
    EVIDENCE_LISTEN_OVERFLOWS, /* number of times that an accept queue was full (TcpExt of the
                                  server's network namespace) */
    /* connections that the kernel dropped before a listener accepted them (TcpExt of the server's
     * network namespace) */
    EVIDENCE_LISTEN_DROPS,
    EVIDENCE_OOM_KILLS, /* processes of this machine that the kernel killed when memory ran out */
    EVIDENCE_SERVER_OOM_KILLS, /* part of EVIDENCE_OOM_KILLS: processes of the server's cgroup */
    EVIDENCE_CLIENT_FORKS,     /* tasks refused by the client's cgroup: pids.events */
    EVIDENCE_SERVER_FORKS,     /* tasks refused by the server's cgroup */
    EVIDENCE_COUNTERS,
};

/* A server on this machine. */
struct evidence_server {
    struct procfs_process process; /* the server's process; pid 0: not found */
    uint16_t port;
    bool was_listening; /* some process listened on the port */
    bool is_gone;       /* the server ran before the sessions connected, and has ended since */
};

struct evidence {
    const struct limits_question *question;
    struct limit_list before;   /* limits as read before the first session connects */
    struct limit_list shortage; /* limits as read while sessions failed; empty: not read */
    bool has_server_after;      /* the caller has filled server_after */
    /* limits that the server reported after the sessions had ended */
    struct server_limits server_after;
    size_t server_count;
    /* the servers; the first entry is the server in the limits_question */
    struct evidence_server servers[1 + URL_HOSTS_MAX];
    int64_t counters[EVIDENCE_COUNTERS]; /* values before the first session; negative: unknown */
    uint64_t growth[EVIDENCE_COUNTERS];  /* growth during the run; 0: no growth, or unknown */
};

/* Takes the readings before the first session. The question and its strings must outlive the
 * evidence, which the caller frees with free. Returns NULL when out of memory. */
struct evidence *evidence_begin(const struct limits_question *question);

/* Reads the limits again. Call this function while sessions fail for lack of a resource: see
 * on_shortage in load/load.h. */
void evidence_capture(struct evidence *evidence);

/* Returns whether sessions that reconnected were refused because a setting of the server was
 * reached. The server may have been restarted with another value since, so the caller should ask
 * for the settings again. */
bool evidence_needs_settings(const struct result *result);

/* Call this function after the sessions have ended. Takes the last readings, then fills *findings
 * with the limits that made sessions fail, beginning with the limit that made the greatest number
 * fail. Uses the causes, the counts of sessions and the start time in *result. */
void evidence_find_limits(struct evidence *evidence, const struct result *result,
                          struct findings *findings);

/* Fills *findings from readings that were taken before: the second half of evidence_find_limits. */
void evidence_name_limits(const struct evidence *evidence, const struct result *result,
                          struct findings *findings);

#endif
