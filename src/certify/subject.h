/*
 * The subject: the server that is certified, with the functions that start, break and end it.
 *
 * There are three kinds. A server that this program makes is in an empty folder, which is on a
 * separate disk if power losses are planned; this program ends the server and removes it. The
 * user's server is found by its port, and started again with the user's command. An embedded
 * database has no process, so the process of the writers is killed instead. The functions are
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

/* The words of a command; the struct owns each word. */
struct subject_words {
    char *words[SUBJECT_WORDS_MAX + 1];
    size_t count;
};

/* A kind of server, with the functions for this kind. */
struct subject_kind {
    bool is_own;      /* this program makes the server, and removes it at the end */
    unsigned refused; /* faults that are impossible for the server: bits 1 << kind */

    /* Makes and starts a server with the settings `options`, each "name=value", or finds the user's
     * server. Does not wait until the server accepts sessions. */
    enum status (*begin)(struct subject *subject, const struct plan_texts *options,
                         struct error *error);

    /* Carries out an order. */
    enum status (*order)(struct subject *subject, enum server_order order, struct error *error);

    /* Removes the server that `begin` made, or starts the user's server again if a fault ended it.
     * Also called if `begin` failed or was not called. */
    void (*end)(struct subject *subject);
};

struct subject {
    const struct subject_kind *kind;
    const struct plan *plan;
    struct fault_counts faults; /* the faults that are planned */
    struct writers *writers;    /* their process is reaped like any other child */
    int log;                    /* descriptor for the output of the server; negative: not open */
    struct disk disk;
    /* SQL that sets the options of an embedded database on each new connection */
    struct buffer session_sql;
    const char *first_sql; /* SQL that is run once, before the tables are made; NULL: no SQL */
    bool is_down; /* a fault that ends the server has begun, and the user's server has not been
                     started again; if the fault failed, the process `pid` may still run */

    /* only for a server that this program makes */
    const struct recipe *recipe;
    char folder[SUBJECT_PATH_BYTES];
    char *target; /* host or path in the target; owned */
    struct subject_words make, start;
    struct keeper_server kept;
    struct keeper keeper;

    /* only for the user's server */
    pid_t pid;      /* process of the server */
    bool is_ending; /* this program tried to end the process, but the process did not end in time */
    uint64_t started; /* start of the process `pid`: see processes_started */
    uint64_t since; /* moment of `begin`, in clock ticks since boot; a process that started earlier
                       cannot be the restarted server */
    pid_t starter;  /* process of the command that starts the server; 0: the command does not run */
    int starter_status; /* status of `starter` from waitpid, or 0 while the command runs */
    pid_t guard;  /* process that continues a stopped server when `guarding` is closed, even if this
                     program is killed */
    int guarding; /* descriptor of a pipe to the guard */
};

/* The kind of the user's server. */
extern const struct subject_kind subject_theirs;

/* Chooses the kind of server. Called before plan_make. If this program is to make the server, makes
 * a folder, and fills *target with a socket or path in this folder, a port, a user and a database.
 * The texts are valid until subject_fini. On failure there is nothing to free. */
enum exit_code subject_choose(struct subject *subject, const struct fault_counts *faults,
                              const struct plan *plan, struct target *target, struct error *error);

/* The part of subject_choose for a server that this program makes. */
enum exit_code subject_choose_own(struct subject *subject, struct target *target,
                                  struct error *error);

/* Makes or finds the server: calls `begin` of the subject's kind. The server's output goes to
 * server.log in the folder of the run. On failure, subject_begin itself calls subject_end. */
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

/* If a power loss of the user's server is planned, calls disk_adopt for its disk. Otherwise does
 * nothing. Called before the first fault, and again before each power loss. `data_folder` is the
 * data directory that the server reports; --data-directory takes precedence. */
enum status subject_adopt_disk(struct subject *subject, const char *data_folder,
                               struct error *error);

/* Returns settings with which the server loses acknowledged rows in the planned faults:
 * "name=value", separated by blanks. Returns NULL if such settings are not known. Only for a server
 * that this program makes. */
const char *subject_unsafe(const struct subject *subject);

/* Adds facts about the storage of the server's data to the certificate: file system, mount options,
 * device, write cache of the device, kernel. Leaves out unknown facts. `data_folder` is the data
 * directory that the server reports. */
void subject_describe(const struct subject *subject, const char *data_folder,
                      struct certificate *certificate);

/* Carries out a fault, and sets *at_ns to its moment. Afterwards the server is down (KILL, POWER,
 * RESTART) or still runs (STOP, NETWORK). */
enum status subject_break(struct subject *subject, const struct fault *fault, int64_t *at_ns,
                          struct error *error);

/* subject_end calls `end` of the subject's kind; afterwards subject_begin may be called again.
 * subject_fini calls subject_end and frees the subject. It also removes the folder that
 * subject_choose made. */
void subject_end(struct subject *subject);
void subject_fini(struct subject *subject);

#endif
