/*
 * A look at who listens somewhere: one socket, opened, written and read within a time. Any thread;
 * for recognising protocols, not for work.
 */
#ifndef BASE_PROBE_H
#define BASE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "append/error.h"

/* What the bytes that have come so far say. */
enum probe_answer {
    PROBE_NO,
    PROBE_YES,
    PROBE_MORE, /* they are the beginning of an answer: TCP cuts where it likes */
};

/* One protocol, and how its servers are recognised. */
struct probe {
    const char *protocol;    /* "MySQL's": for the message */
    const char *socket_name; /* of its Unix socket in a folder */
    const void *question;    /* sent first; NULL: the server speaks first */
    size_t question_bytes;
    enum probe_answer (*judge)(const unsigned char *answer, size_t length);
};

/* Asks who listens on host:port, or, when host begins with '/', on the Unix socket of that path;
 * where it is a folder, on the socket of the protocol's name within it. Reads until the answer is
 * whole, `timeout_ms` for connecting and reading together. OK: it is the protocol.
 * REJECTED with ERROR_UNSUPPORTED: it is not. LOST with ERROR_UNREACHABLE or ERROR_TIMEOUT: no
 * connection. Resolving names takes as long as it takes. */
enum status probe_recognise(const struct probe *probe, const char *host, uint16_t port,
                            unsigned timeout_ms, struct error *error);

#endif
