/*
 * A limit on how long a client library may block in one call: when the time is over, or the program
 * is to end, the socket that the library uses is shut down, and the call fails. For libraries that
 * wait for ever. A thread of its own does it, as long as the call lasts.
 */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

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

#endif
