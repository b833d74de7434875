#include "measure/causes.h"

#include <stdbool.h>
#include <string.h>

void causes_init(struct causes *causes)
{
    memset(causes, 0, sizeof(*causes));
    /* Without attributes this cannot fail. */
    pthread_mutex_init(&causes->lock, NULL);
}

void causes_fini(struct causes *causes)
{
    if (causes != NULL) {
        pthread_mutex_destroy(&causes->lock);
    }
}

/* The status belongs to the key: whether sessions went on or ended is told apart, even when the
 * database gave both the same code. */
static bool is_same(const struct cause *cause, enum cause_phase phase, enum status status,
                    const struct error *error)
{
    return cause->phase == phase && cause->status == status && cause->error.kind == error->kind &&
           cause->error.native_code == error->native_code &&
           strncmp(cause->error.sqlstate, error->sqlstate, sizeof(error->sqlstate)) == 0;
}

static struct cause *find(struct causes *causes, enum cause_phase phase, enum status status,
                          const struct error *error)
{
    for (size_t i = 0; i < causes->count; i++) {
        if (is_same(&causes->entries[i], phase, status, error)) {
            return &causes->entries[i];
        }
    }
    return NULL;
}

void causes_add(struct causes *causes, enum cause_phase phase, enum status status,
                const struct error *error, int64_t now_ns)
{
    static const struct error none = {.kind = ERROR_NONE};
    const struct error *reason = error != NULL ? error : &none;
    pthread_mutex_lock(&causes->lock);
    struct cause *cause = find(causes, phase, status, reason);
    if (cause != NULL) {
        cause->count++;
        /* Threads read the clock before they get the lock, so times may come out of order. */
        cause->first_ns = now_ns < cause->first_ns ? now_ns : cause->first_ns;
        cause->last_ns = now_ns > cause->last_ns ? now_ns : cause->last_ns;
    } else if (causes->count < CAUSES_MAX) {
        causes->entries[causes->count] = (struct cause){
            .phase = phase,
            .status = status,
            .error = *reason,
            .count = 1,
            .first_ns = now_ns,
            .last_ns = now_ns,
        };
        causes->count++;
    } else {
        causes->others++;
    }
    pthread_mutex_unlock(&causes->lock);
}

const char *cause_phase_name(enum cause_phase phase)
{
    switch (phase) {
    case CAUSE_THREAD:
        return "thread";
    case CAUSE_CONNECT:
        return "connect";
    case CAUSE_APPEND:
        return "append";
    case CAUSE_READ:
        return "read";
    case CAUSE_RECONNECT:
        return "reconnect";
    case CAUSE_IDLE:
        return "idle";
    }
    return "unknown";
}
