/*
 * A limit on how long a client library may block: one time for all of its waits together.
 *
 * Where the library lets its caller wait, deadline_wait does. Where it waits by itself, a thread
 * watches over the call: when the time is over, or the program is to end, it shuts down the socket
 * that the library uses, and the call fails.
 */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "append/error.h"
#include "base/client_socket.h"

enum deadline_result {
    DEADLINE_KEPT,
    DEADLINE_PASSED,
    DEADLINE_CANCELLED,
};

struct deadline {
    const struct client_socket *socket;
    unsigned timeout_s;
    bool (*is_cancelled)(void); /* may be NULL */
    int wake;                   /* an eventfd */
    _Atomic int result;         /* enum deadline_result */
    pthread_t thread;
};

/* Begins to watch over the socket, which may change meanwhile. FATAL with ERROR_SYSTEM: this
 * machine has no thread or descriptor left. */
enum status deadline_begin(struct deadline *deadline, const struct client_socket *socket,
                           unsigned timeout_s, bool (*is_cancelled)(void), struct error *error);

/* Ends it. Anything but DEADLINE_KEPT: the socket has been shut down. */
enum deadline_result deadline_end(struct deadline *deadline);

/* What deadline_wait returns beside the result of poll. */
enum {
    DEADLINE_WAIT_CANCELLED = -2
};

/* Waits as poll does for one descriptor, but at most *left, off which it takes the time that it
 * waited: 0 = nothing is left. Looks up now and then; `is_cancelled` may be NULL. */
int deadline_wait(struct pollfd *wanted, struct timespec *left, bool (*is_cancelled)(void));

#endif
