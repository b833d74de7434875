/*
 * Waiting for a server, recognising it, and the socket that a client library opened for a
 * connection. Any thread.
 *
 * Some libraries have no call that gives it, and none that surely ends a blocked call: ODBC's
 * SQLCancel asks the server through a second connection, which hangs like the first one when the
 * server does, and in SQLite's driver frees what the blocked thread is using. Shutting the socket
 * down works for all. Their own time-outs cover some steps of a connect only: Machbase's library
 * and OpenSSL wait for ever for a server that accepts and is silent.
 */
#ifndef APPEND_CLIENT_SOCKET_H
#define APPEND_CLIENT_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/api.h"

/* The descriptor, and below it the inode of the socket that it was: libraries close descriptors,
 * and the number may be another connection's by now. 0: none is known. */
struct client_socket {
    _Atomic uint64_t identity;
};

/* Runs connect(context) of a client library within target->connect_timeout_s. The last stream
 * socket that this thread connects meanwhile is noted in *socket; when the time is over, or the
 * target is cancelled, it is shut down, and the result is LOST with ERROR_TIMEOUT or
 * ERROR_CANCELLED. FATAL with ERROR_SYSTEM: this machine has no thread left. One watches
 * over all connects that are under way. */
enum status client_socket_connect(struct client_socket *socket, const struct target *target,
                                  enum status (*connect)(void *context, struct error *error),
                                  void *context, struct error *error)
    APPEND_API(client_socket_connect);

/* Notes the socket of an open connection, which the library tells; -1: there is none any more. */
void client_socket_note(struct client_socket *socket, int descriptor)
    APPEND_API(client_socket_note);

/* -1: it is not known, or not open any more. */
int client_socket_descriptor(const struct client_socket *socket)
    APPEND_API(client_socket_descriptor);

/* The port of this side; 0: it has none. */
uint16_t client_socket_own_port(int descriptor) APPEND_API(client_socket_own_port);

/* The address that a socket is connected to, "10.0.0.7"; "" where it has none. */
void client_socket_name_peer(int descriptor, char *text, size_t size)
    APPEND_API(client_socket_name_peer);

/* False: the library has a connect of its own, or connected to no socket. */
bool client_socket_is_known(const struct client_socket *socket) APPEND_API(client_socket_is_known);

/* Ends one or both directions (SHUT_...) of the socket, if it is still open: what waits for the
 * server fails. With SHUT_RD it can still be sent a last message. Any thread. */
void client_socket_shut(const struct client_socket *socket, int direction)
    APPEND_API(client_socket_shut);

/* Small packets are sent at once (TCP_NODELAY). False: not possible. */
bool client_socket_set_no_delay(const struct client_socket *socket)
    APPEND_API(client_socket_set_no_delay);

/* True when a socket that is known was closed, or either side has ended the connection. */
bool client_socket_is_ended(const struct client_socket *socket) APPEND_API(client_socket_is_ended);

enum {
    CLIENT_SOCKET_CANCELLED = -2,

    /* A peer that is gone without a word is noticed within some 10 s, unless the target says
     * otherwise: the seconds of idleness before the first probe, the seconds between probes, the
     * number of probes; and the time for data that is not acknowledged. */
    CLIENT_SOCKET_IDLE_S = 5,
    CLIENT_SOCKET_INTERVAL_S = 2,
    CLIENT_SOCKET_PROBES = 3,
    CLIENT_SOCKET_ANSWER_MS = 10000,
};
#define CLIENT_SOCKET_FOREVER INT64_MAX

/* How long TCP waits for a peer that acknowledges nothing: target.answer_timeout_ms, or the choice
 * of all adapters where that is 0. */
unsigned client_socket_answer_ms(unsigned answer_timeout_ms) APPEND_API(client_socket_answer_ms);

/* Has TCP look after the peer of a socket, as above. */
void client_socket_watch_peer(int descriptor, unsigned answer_timeout_ms)
    APPEND_API(client_socket_watch_peer);

/* Waits as poll does for one descriptor, until a moment of CLOCK_MONOTONIC in ns, or
 * CLIENT_SOCKET_FOREVER. Asks is_cancelled, which may be NULL, now and then:
 * CLIENT_SOCKET_CANCELLED. */
int client_socket_wait(int descriptor, short events, int64_t until_ns, bool (*is_cancelled)(void))
    APPEND_API(client_socket_wait);

/* The time that a connect has, where the client library lets its adapter wait for the socket. */
struct client_deadline {
    const struct target *target;
    int64_t until_ns;
    unsigned rest_s; /* a second part of that time, after a server has been silent in the first */
    bool has_answered;
    enum error_kind ended; /* why waiting was given up: ERROR_TIMEOUT or ERROR_CANCELLED */
};

/* Begins now. Where servers of the protocol speak first, one that is silent for some seconds is
 * looked at by target.is_another. */
void client_deadline_begin(struct client_deadline *deadline, const struct target *target,
                           bool server_speaks_first) APPEND_API(client_deadline_begin);

/* Waits as client_socket_wait does; 0: the time is over, or the target was cancelled. */
int client_deadline_wait(struct client_deadline *deadline, int descriptor, short events)
    APPEND_API(client_deadline_wait);

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
    bool is_port_in_name;    /* the port follows in the socket's name */
    const void *question;    /* sent first; NULL: the server speaks first */
    size_t question_bytes;
    enum probe_answer (*judge)(const unsigned char *answer, size_t length);

    /* Instead of judge, for answers of any length: takes each part as it comes, which may be
     * written to; length 0: the server has ended the connection, and there is no more. */
    enum probe_answer (*hear)(void *context, char *part, size_t length);
    void *context;
};

/* Asks who listens on host:port, or, when host begins with '/', on the Unix socket of that path;
 * where it is a folder, on the socket of the protocol's name within it. Reads until the answer is
 * whole, `timeout_ms` for connecting and reading together. OK: it is the protocol.
 * REJECTED with ERROR_UNSUPPORTED: it is not. LOST with ERROR_UNREACHABLE or ERROR_TIMEOUT: no
 * connection. Resolving names takes as long as it takes. */
enum status probe_recognise(const struct probe *probe, const char *host, uint16_t port,
                            unsigned timeout_ms, struct error *error) APPEND_API(probe_recognise);

/* As adapter.recognise, by adapter->probe. */
enum status client_socket_recognise(const struct adapter *adapter, const char *host, uint16_t port,
                                    unsigned timeout_ms, struct error *error)
    APPEND_API(client_socket_recognise);

#endif
