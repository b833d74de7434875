/*
 * The subject: the server that is certified, and what can be done to it.
 *
 * A server of append's own is made in an empty folder, on a disk of its own if its power is to be
 * cut, and ends with append. The user's server is found by its port and started again with the
 * user's command. An embedded database has no process: its writers are killed instead. Main thread,
 * while it is the only one.
 */
#ifndef CERTIFY_SUBJECT_H
#define CERTIFY_SUBJECT_H

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

/* The words of a command; each is owned. */
struct subject_words {
    char *words[SUBJECT_WORDS_MAX + 1];
    size_t count;
};

struct subject {
    const struct plan *plan;
    struct fault_counts faults;      /* that are planned */
    const struct recipe *recipe;     /* how append makes its own server; NULL: the user's server */
    char folder[SUBJECT_PATH_BYTES]; /* the own server's folder; "" for the user's server */
    char *target;                    /* host or path of an own server's target; owned */
    struct disk disk;
    bool has_disk;
    struct subject_words make, start;
    struct keeper_server kept;
    struct keeper keeper;
    struct buffer session_sql; /* for each connection, with the options of an embedded database */
    struct writers *writers;   /* whose process may be reaped with others; may be NULL */
    pid_t pid;                 /* the user's server */
    pid_t starter;             /* the command that starts the user's server; 0: it has ended */
    bool is_down;              /* was ended by a fault, and not started again yet */
    int starter_status;        /* as waitpid says, once it has ended */
};

/* Chooses the subject, before plan_make. For a server of append's own makes a folder and fills
 * *target, whose texts are valid until subject_fini: socket or path in it, user, database. */
enum exit_code subject_choose(struct subject *subject, const struct fault_counts *faults,
                              const struct plan *plan, struct target *target, struct error *error);

/* Makes and starts an own server with these settings, "name=value" each; or finds the user's
 * server. The server does not yet accept sessions when this returns. */
enum status subject_begin(struct subject *subject, const struct plan *plan,
                          const struct plan_texts *options, struct error *error);

/* Takes the disk of the user's server, if its power is to be cut: see disk_adopt. Called before the
 * first fault. `data_folder` is the data directory that the server reports; --data-directory takes
 * precedence. */
enum status subject_adopt_disk(struct subject *subject, const char *data_folder,
                               struct error *error);

/* Returns the settings with which an own server must lose acknowledged rows when the planned faults
 * strike, "name=value" with blanks between them; NULL if append knows none. */
const char *subject_unsafe(const struct subject *subject);

/* SQL to run once on an own server; NULL for nothing. */
const char *subject_first_sql(const struct subject *subject);

/* Notes what is under the server's data, as far as it can be found: file system, mount options,
 * device and its write cache, kernel. */
void subject_describe(const struct subject *subject, const char *data_folder,
                      struct certificate *certificate);

/* Strikes. The server is then down (KILL, POWER, RESTART) or goes on (STOP). *at_ns is the moment
 * of the fault. `writers` are killed with an embedded database. */
enum status subject_break(struct subject *subject, const struct fault *fault,
                          struct writers *writers, int64_t *at_ns, struct error *error);

/* Starts the server after it was broken. */
enum status subject_start(struct subject *subject, struct error *error);

/* Fails if an own server, or the command that starts the user's, has ended with an error. */
enum status subject_check(struct subject *subject, struct error *error);

/* Ends an own server and removes it. subject_end may be followed by subject_begin; subject_fini
 * also removes the folder. */
void subject_end(struct subject *subject);
void subject_fini(struct subject *subject);

#endif
