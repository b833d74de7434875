/*
 * What a number of sessions needs, compared with what this machine, the server's process and the
 * database allow. Reads /proc, /sys and the socket tables; opens no session and changes nothing.
 */
#ifndef LIMITS_LIMITS_H
#define LIMITS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "append/adapter.h"
#include "measure/limit.h"
#include "measure/recorder.h"
#include "plan/plan.h"

/* What a run has open and running beside its sessions. */
enum {
    LIMITS_RUN_FILES = 5 + RECORDER_HISTOGRAMS, /* folder, tables, run.json */
    LIMITS_SAMPLER_FILES = 5,
    LIMITS_EMBEDDED_FILES = 1, /* that all sessions of a file database share */
    LIMITS_METRICS_FILES = 20, /* those who listen and those who are served */
    LIMITS_OTHER_THREADS = 1,  /* the sampler */
};

/* What is asked. Strings are borrowed. */
struct limits_question {
    uint64_t sessions; /* idle ones included */
    unsigned connect_concurrency;
    size_t stack_bytes;                 /* of a session's thread */
    unsigned files_per_session;         /* of this program */
    bool has_server;                    /* false: only this machine is looked at */
    bool is_embedded;                   /* the database runs inside this program */
    bool is_remote;                     /* the server is on another machine */
    bool uses_tcp;                      /* sessions are TCP connections, as far as is known */
    const char *host;                   /* NULL = not known; a path = Unix socket or its folder */
    uint16_t port;                      /* 0 = not known */
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

/* Fills *list, in the order client, server, database. A limit that cannot be read is left out when
 * it does not exist here, and is a WARN with a note when it does. */
void limits_read(const struct limits_question *question, struct limit_list *list);

/* The most sessions that all limits together allow, and the limit that binds first; LIMIT_NONE and
 * NULL when none does. Estimates count only when `with_estimates`. */
uint64_t limits_sessions(const struct limit_list *list, bool with_estimates,
                         const struct limit **first);

#endif
