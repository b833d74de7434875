/*
 * The subject: the server that is certified, and what can be done to it.
 *
 * append makes its own server in an empty folder, on a disk of its own if the faults cut its power,
 * and the server ends with append. The user's server is found by its port and started again with
 * the user's command. An embedded database has no process: its writers are killed instead. Main
 * thread, while it is the only one.
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

/* The words of a command. Each word is owned. */
struct subject_words {
    char *words[SUBJECT_WORDS_MAX + 1];
    size_t count;
};

struct subject {
    const struct plan *plan;
    struct fault_counts faults;  /* the faults that are planned */
    const struct recipe *recipe; /* recipe for append's own server; NULL: the subject is the user's
                                    server, or embedded */
    char folder[SUBJECT_PATH_BYTES]; /* folder of append's own server; "" for the user's server */
    char *target;                    /* host or path in the target of append's own server; owned */
    struct disk disk;
    bool has_disk;
    struct subject_words make, start;
    struct keeper_server kept;
    struct keeper keeper;
    /* SQL for each new connection, with the options of an embedded database */
    struct buffer session_sql;
    /* writers whose process may end and be reaped like any other child; may be NULL */
    struct writers *writers;
    pid_t pid;     /* process of the user's server */
    pid_t starter; /* the command that starts the user's server; 0: it has ended */
    bool is_down;  /* a fault was to end the server, and it has not been started again yet; if the
                      fault failed, `pid` may still run */
    int starter_status; /* status of the starter that waitpid returned, valid after the starter has
                           ended */
};

/* Chooses the subject, before plan_make. For a server of append's own, makes a folder and fills
 * *target with a socket or path in this folder, user and database; these texts are valid until
 * subject_fini. */
enum exit_code subject_choose(struct subject *subject, const struct fault_counts *faults,
                              const struct plan *plan, struct target *target, struct error *error);

/* Makes and starts append's own server with the settings `options`, each "name=value", or finds the
 * user's server. The server does not yet accept sessions when this returns. */
enum status subject_begin(struct subject *subject, const struct plan *plan,
                          const struct plan_texts *options, struct error *error);

/* Takes the disk of the user's server, if its power is to be cut: see disk_adopt. Called before the
 * first fault. `data_folder` is the data directory that the server reports; --data-directory takes
 * precedence. */
enum status subject_adopt_disk(struct subject *subject, const char *data_folder,
                               struct error *error);

/* Returns the settings with which append's own server must lose acknowledged rows when the planned
 * faults strike: "name=value", with blanks between them. Returns NULL if append knows no such
 * settings. */
const char *subject_unsafe(const struct subject *subject);

/* Returns the SQL to run once on append's own server; NULL if there is nothing to run. */
const char *subject_first_sql(const struct subject *subject);

/* Adds the facts about what the server's data lies on, as far as they can be found: file system,
 * mount options, device and its write cache, kernel. */
void subject_describe(const struct subject *subject, const char *data_folder,
                      struct certificate *certificate);

/* Carries out a fault. Afterwards the server is down (KILL, POWER, RESTART) or goes on (STOP).
 * *at_ns is the moment of the fault. With an embedded database, kills `writers`. */
enum status subject_break(struct subject *subject, const struct fault *fault,
                          struct writers *writers, int64_t *at_ns, struct error *error);

/* Starts the server after a fault has ended it. */
enum status subject_start(struct subject *subject, struct error *error);

/* Fails if append's own server has ended, or if the command that starts the user's server has ended
 * with an error. */
enum status subject_check(struct subject *subject, struct error *error);

/* Ends and removes append's own server. subject_end may be followed by subject_begin; subject_fini
 * also removes the folder. */
void subject_end(struct subject *subject);
void subject_fini(struct subject *subject);

#endif
