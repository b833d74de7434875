/*
 * The subject: the server that is certified, and what can be done to it.
 *
 * append makes its own server in an empty folder, on a disk of its own if the faults cut its power,
 * and the server ends with append. The user's server is found by its port and started again with
 * the user's command. An embedded database has no process: its writers are killed instead. To be
 * called in the main thread, while there are no other threads.
 */
#ifndef CERTIFY_SUBJECT_H
#define CERTIFY_SUBJECT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "certify/certificate.h"
#include "certify/fault.h"
#include "certify/own_server.h"
#include "certify/writers.h"
#include "plan/plan.h"

enum {
    SUBJECT_WORDS_MAX = 96,
    SUBJECT_PATH_BYTES = 160,
};

struct recipe;
struct subject;

/* The words of a command. Each word is owned. */
struct subject_words {
    char *words[SUBJECT_WORDS_MAX + 1];
    size_t count;
};

/* A kind of server, with the functions that append calls for this kind. */
struct subject_kind {
    bool is_own;      /* append makes the server, and removes it at the end */
    unsigned refused; /* faults that the server cannot have: bits 1 << kind */

    /* Makes and starts append's own server with the settings `options`, each "name=value", or finds
     * the user's server. The server does not yet accept sessions when this returns. */
    enum status (*begin)(struct subject *subject, const struct plan_texts *options,
                         struct error *error);

    /* Carries out an order. */
    enum status (*order)(struct subject *subject, enum server_order order, struct error *error);

    /* Removes append's own server, or makes sure that the user's server runs. Also called if
     * `begin` failed or was not called. */
    void (*end)(struct subject *subject);
};

struct subject {
    const struct subject_kind *kind;
    const struct plan *plan;
    struct fault_counts faults; /* the faults that are planned */
    struct writers *writers;    /* the process of the writers may end, and is reaped like any other
                                   child */
    int log;                    /* descriptor for the output of the server; negative: not open */
    struct disk disk;
    /* SQL for each new connection, with the options of an embedded database */
    struct buffer session_sql;
    const char *first_sql; /* SQL to run once on the server; NULL: nothing to run */
    bool is_down; /* a fault that ends the server has begun, and the user's server has not been
                     started again yet; if the fault failed, `pid` may still run */

    /* only for append's own server */
    const struct recipe *recipe;
    char folder[SUBJECT_PATH_BYTES];
    char *target; /* host or path in the target; owned */
    struct subject_words make, start;
    struct keeper_server kept;
    struct keeper keeper;

    /* only for the user's server */
    pid_t pid;          /* process of the server */
    bool is_ending;     /* append asked the process to end, but the process did not end in time */
    uint64_t started;   /* processes_started of `pid`, when it was found */
    uint64_t since;     /* moment of `begin`, in the unit of processes_started: a process that
                           started earlier is not the restarted server */
    pid_t starter;      /* process of the command that starts the server; 0: that command has
                           ended */
    int starter_status; /* status of the starter that waitpid returned, valid after the starter has
                           ended */
    pid_t guard;        /* the process that continues a stopped server when `guarding` is closed */
    int guarding;       /* descriptor of a pipe to the guard */
};

/* The kind of the user's server. */
extern const struct subject_kind subject_theirs;

/* Chooses the subject, before plan_make. For a server of append's own, makes a folder and fills
 * *target with a socket or path in this folder, user and database; these texts are valid until
 * subject_fini. A subject that could not be chosen owns nothing. */
enum exit_code subject_choose(struct subject *subject, const struct fault_counts *faults,
                              const struct plan *plan, struct target *target, struct error *error);

/* The part of subject_choose for a server of append's own. */
enum exit_code subject_choose_own(struct subject *subject, struct target *target,
                                  struct error *error);

/* Calls `begin` of the subject's kind. The server's output goes to server.log in the folder of the
 * run. On failure subject_begin has already called subject_end. */
enum status subject_begin(struct subject *subject, struct writers *writers,
                          const struct plan_texts *options, struct error *error);

/* Returns the signal that makes the server shut down cleanly. */
static inline int subject_shut_signal(const struct subject *subject)
{
    const int number = subject->plan->adapter->shut_signal;
    return number != 0 ? number : SIGTERM;
}

/* Gives the server an order: calls `order` of the subject's kind. */
enum status subject_order(struct subject *subject, enum server_order order, struct error *error);

/* Takes the disk of the user's server if a power loss is planned: see disk_adopt. Called before the
 * first fault. `data_folder` is the data directory that the server reports; --data-directory takes
 * precedence. Does nothing for append's own server. */
enum status subject_adopt_disk(struct subject *subject, const char *data_folder,
                               struct error *error);

/* Returns the settings with which append's own server must lose acknowledged rows when the planned
 * faults strike: "name=value", with blanks between them. Returns NULL if append knows no such
 * settings. */
const char *subject_unsafe(const struct subject *subject);

/* Adds the known facts about the storage of the server's data: file system, mount options, device,
 * write cache of the device, kernel. `data_folder` is the data directory that the server reports.
 */
void subject_describe(const struct subject *subject, const char *data_folder,
                      struct certificate *certificate);

/* Carries out a fault. Afterwards the server is down (KILL, POWER, RESTART) or goes on (STOP,
 * NETWORK). *at_ns is the moment of the fault. */
enum status subject_break(struct subject *subject, const struct fault *fault, int64_t *at_ns,
                          struct error *error);

/* Calls `end` of the subject's kind. subject_end may be followed by subject_begin; subject_fini
 * also removes the folder of append's own server. */
void subject_end(struct subject *subject);
void subject_fini(struct subject *subject);

#endif
