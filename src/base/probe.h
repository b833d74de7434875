/*
 * A look at who listens somewhere: one socket, opened, written and read within a time. Any thread;
 * for recognising protocols, not for work.
 */
#ifndef BASE_PROBE_H
#define BASE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

/* Connects to host:port, or, when host begins with '/', to the Unix socket of that path; where it
 * is a folder, to the socket `socket_name` within it. On OK *sock is the caller's to close. Else
 * LOST, with ERROR_UNREACHABLE or ERROR_TIMEOUT. Resolving names takes as long as it takes. */
enum status probe_connect(const char *host, uint16_t port, const char *socket_name,
                          unsigned timeout_s, int *sock, struct error *error);

/* Sends `length` bytes if there are any, and waits for an answer. Returns the bytes of the first
 * piece of it, 0 when there was none. */
size_t probe_ask(int sock, const void *bytes, size_t length, void *answer, size_t size,
                 unsigned timeout_s);

#endif
