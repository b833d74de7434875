/*
 * Why sessions and batches failed, grouped.
 *
 * One entry per (where it happened, status, kind, native code, SQLSTATE) with a count, the first
 * and the last time and the first text. Any thread may add; a mutex guards the table. When it is
 * full, further causes are counted in `others`.
 */
#ifndef MEASURE_CAUSES_H
#define MEASURE_CAUSES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

enum {
    CAUSES_MAX = 64
};

enum cause_phase {
    CAUSE_THREAD,    /* the session's thread could not be created */
    CAUSE_CONNECT,   /* open */
    CAUSE_APPEND,    /* append_open, append_rows, append_close */
    CAUSE_READ,      /* count or query */
    CAUSE_RECONNECT, /* open, after the connection was lost or closed by --churn */
    CAUSE_IDLE,      /* the proof that an idle session is still connected */
};

struct cause {
    enum cause_phase phase;
    enum status
        status; /* REJECTED: the session went on; otherwise it ended, or had to connect again */
    struct error error; /* of the first one */
    uint64_t count;
    int64_t first_ns; /* monotonic */
    int64_t last_ns;
};

struct causes {
    pthread_mutex_t lock;
    size_t count;
    struct cause entries[CAUSES_MAX];
    uint64_t others;
};

void causes_init(struct causes *causes);
void causes_fini(struct causes *causes);
void causes_add(struct causes *causes, enum cause_phase phase, enum status status,
                const struct error *error, int64_t now_ns);

/* "connect", "append", ... never NULL. */
const char *cause_phase_name(enum cause_phase phase);

#endif
