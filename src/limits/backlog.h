/* The queue of connections that a listening socket has not accepted yet. */
#ifndef LIMITS_BACKLOG_H
#define LIMITS_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

struct backlog {
    uint64_t allowed; /* as the kernel holds it: never above net.core.somaxconn */
    uint64_t waiting; /* now */
};

/* Asks the kernel (sock_diag) about the sockets of this network namespace that listen on `port`, or
 * with a path on that Unix socket or on the port's socket in that folder. Of several that with the
 * smallest queue. False: there is none, or the kernel does not tell. */
bool backlog_read(struct backlog *backlog, uint16_t port, const char *path);

#endif
