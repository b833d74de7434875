/* The faults of the certify command: their kinds, order and moments, and the option --faults. */
#ifndef CERTIFY_FAULT_H
#define CERTIFY_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

/* The kinds of faults. Each entry: enumerator, name in --faults, description in the certificate. */
#define FAULTS(X)                                                                                  \
    X(KILL, "kill", "SIGKILL of all of the server's processes")                                    \
    X(POWER, "power",                                                                              \
      "power loss of the host: everything that the file system had not yet sent "                  \
      "to the disk is gone, then SIGKILL")                                                         \
    X(STOP, "stop", "SIGSTOP of all of the server's processes for 1 to 5 s")                       \
    X(RESTART, "restart", "clean shutdown, and start")                                             \
    X(NETWORK, "network", "the connections of all sessions cut")

enum fault_kind {
#define FAULT_ID(id, name, what) FAULT_##id,
    FAULTS(FAULT_ID)
#undef FAULT_ID
    FAULT_KINDS
};

struct fault_words {
    const char *name, *what;
};
extern const struct fault_words fault_words[FAULT_KINDS];

/* The event in the server's work after which a fault strikes. */
enum fault_aim {
    FAULT_AT_RANDOM,
    FAULT_AFTER_COMMIT,  /* at most 5 ms after an acknowledgement */
    FAULT_IN_CHECKPOINT, /* at most 20 ms after the request of a checkpoint */
};
/* the aims in words: "at random", "after an acknowledgement", ... */
extern const char *const fault_aim_words[];

struct fault {
    enum fault_kind kind;
    enum fault_aim aim;
    int64_t after_ns; /* time for which the sessions write before the fault */
    int64_t aimed_ns; /* planned time from an acknowledgement, or from the request of a checkpoint,
                         to the fault */
    int64_t stop_ns;  /* time for which the server stays stopped, for FAULT_STOP */
};

enum {
    /* greatest number of faults for which ROWS_MAX of certify.c allows a whole transaction before
     * each fault */
    FAULTS_MAX = 60000
};

struct fault_counts {
    unsigned counts[FAULT_KINDS];
};

/* Reads the numbers of faults from a text such as "kill:5,power:20". Returns REJECTED with
 * ERROR_USAGE if the text is wrong. */
enum status fault_parse(const char *text, struct fault_counts *counts, struct error *error);

size_t fault_total(const struct fault_counts *counts);

/* Fills `faults`, which has fault_total entries, with the faults of a series in random order. The
 * same seed gives the same faults. Half of the faults strike after an acknowledgement, a quarter in
 * a checkpoint, and a quarter at random. */
void fault_draw(const struct fault_counts *counts, uint64_t seed, struct fault *faults);

#endif
