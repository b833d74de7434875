/*
 * Waiting for a server, recognising a server's protocol, and the socket that a client library
 * opened for a connection. Any thread may call the functions.
 *
 * Some client libraries do not reveal their socket, and some have no function that reliably ends a
 * blocked call. ODBC's SQLCancel asks the server through a second connection, which also hangs if
 * the server hangs; in SQLite's ODBC driver, SQLCancel frees memory that the blocked thread is
 * using. Shutting the socket down works with all libraries. The libraries' own time limits cover
 * only some steps of connecting: Machbase's library and OpenSSL wait forever for a server that
 * accepts the connection and stays silent.
 */
#ifndef APPEND_CLIENT_SOCKET_H
#define APPEND_CLIENT_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/api.h"

/* A descriptor (upper 32 bits) and the inode of its socket (lower 32 bits). The inode shows whether
 * the descriptor still refers to the same socket: client libraries close descriptors, and another
 * connection may get the same descriptor. 0 means that the socket is unknown. */
struct client_socket {
    _Atomic uint64_t identity;
};

/* Runs connect(context) of a client library within target->connect_timeout_s. *socket receives the
 * last stream socket that this thread connects during the call. At the time limit, or when the
 * target is cancelled, that socket is shut down, and the result is LOST with ERROR_TIMEOUT or
 * ERROR_CANCELLED. The result is FATAL with ERROR_SYSTEM if the thread that watches all running
 * connects cannot be created. */
enum status client_socket_connect(struct client_socket *socket, const struct target *target,
                                  enum status (*connect)(void *context, struct error *error),
                                  void *context, struct error *error)
    APPEND_API(client_socket_connect);

/* Records the socket of an open connection, as the client library reports it; `descriptor` is -1
 * when the socket is closed. */
void client_socket_note(struct client_socket *socket, int descriptor)
    APPEND_API(client_socket_note);

/* Returns the descriptor; -1 when it is unknown or no longer open. */
int client_socket_descriptor(const struct client_socket *socket)
    APPEND_API(client_socket_descriptor);

/* Returns the socket's local port; 0 when it has no port. */
uint16_t client_socket_own_port(int descriptor) APPEND_API(client_socket_own_port);

/* Writes the address of the socket's peer, "10.0.0.7"; "" when the peer has no address. */
void client_socket_name_peer(int descriptor, char *text, size_t size)
    APPEND_API(client_socket_name_peer);

/* Returns whether the socket is known. It is unknown when the library does not use the C library's
 * connect, or has connected no stream socket. */
bool client_socket_is_known(const struct client_socket *socket) APPEND_API(client_socket_is_known);

/* Shuts one or both directions (SHUT_...) of the socket if it is still open, so that a call that
 * waits for the server fails. With SHUT_RD the library can still send a last message. Any
 * thread. */
void client_socket_shut(const struct client_socket *socket, int direction)
    APPEND_API(client_socket_shut);

/* Makes the socket send small packets at once (TCP_NODELAY). Returns false on failure. */
bool client_socket_set_no_delay(const struct client_socket *socket)
    APPEND_API(client_socket_set_no_delay);

/* Returns true if the socket is known and was closed, or if the client or the server has ended the
 * connection. */
bool client_socket_is_ended(const struct client_socket *socket) APPEND_API(client_socket_is_ended);

enum {
    CLIENT_SOCKET_CANCELLED = -2,

    /* TCP notices a silent peer within about 10 s, unless the target sets another time. IDLE_S:
     * seconds of idleness before the first probe. INTERVAL_S: seconds between probes. PROBES:
     * number of probes. ANSWER_MS: ms for which data may stay unacknowledged. */
    CLIENT_SOCKET_IDLE_S = 5,
    CLIENT_SOCKET_INTERVAL_S = 2,
    CLIENT_SOCKET_PROBES = 3,
    CLIENT_SOCKET_ANSWER_MS = 10000,
};
#define CLIENT_SOCKET_FOREVER INT64_MAX

/* Returns the time for which sent data or a probe may stay unacknowledged before TCP ends the
 * connection, in ms: answer_timeout_ms, or CLIENT_SOCKET_ANSWER_MS if answer_timeout_ms is 0. */
unsigned client_socket_answer_ms(unsigned answer_timeout_ms) APPEND_API(client_socket_answer_ms);

/* Makes TCP check whether the peer of a socket still answers, with CLIENT_SOCKET_IDLE_S,
 * CLIENT_SOCKET_INTERVAL_S and CLIENT_SOCKET_PROBES. An answer_timeout_ms other than 0 replaces
 * CLIENT_SOCKET_ANSWER_MS. */
void client_socket_watch_peer(int descriptor, unsigned answer_timeout_ms)
    APPEND_API(client_socket_watch_peer);

/* Waits for one descriptor, with the results of poll, until the moment `until_ns` (CLOCK_MONOTONIC,
 * ns); CLIENT_SOCKET_FOREVER means no time limit. Calls is_cancelled, which may be NULL, from time
 * to time, and returns CLIENT_SOCKET_CANCELLED when is_cancelled returns true. */
int client_socket_wait(int descriptor, short events, int64_t until_ns, bool (*is_cancelled)(void))
    APPEND_API(client_socket_wait);

/* The time limit of a connect, for client libraries that let the adapter wait for the socket. */
struct client_deadline {
    const struct target *target;
    int64_t until_ns;
    unsigned rest_s; /* length of the time limit's second part, which begins if the server was
                        silent in the first part */
    bool has_answered;
    enum error_kind ended; /* reason why waiting ended: ERROR_TIMEOUT or ERROR_CANCELLED */
};

/* Starts the time limit. If server_speaks_first is true and the server stays silent for some
 * seconds, target.speaks_another_protocol is called and checks whether the server speaks the
 * protocol of another database. */
void client_deadline_begin(struct client_deadline *deadline, const struct target *target,
                           bool server_speaks_first) APPEND_API(client_deadline_begin);

/* Waits like client_socket_wait. Returns 0 if the time is over or the target was cancelled. */
int client_deadline_wait(struct client_deadline *deadline, int descriptor, short events)
    APPEND_API(client_deadline_wait);

/* Whether the bytes received so far are an answer of the protocol. */
enum probe_answer {
    PROBE_NO,
    PROBE_YES,
    PROBE_MORE, /* the bytes are the beginning of a valid answer, and more bytes may arrive */
};

/* A protocol, and how to recognise its servers. */
struct probe {
    const char *protocol;    /* name of the protocol in messages: "MySQL's" */
    const char *socket_name; /* name of the server's Unix socket within its folder */
    bool is_port_in_name;    /* the socket's name ends in the port */
    const void *question;    /* bytes that are sent first; NULL if the server speaks first */
    size_t question_bytes;
    enum probe_answer (*recognise)(const unsigned char *answer, size_t length);

    /* Used in place of recognise if answers may have any length. Called with each part of the
     * answer when the part arrives; the function may change the bytes of the part. Length 0 means
     * that the server has ended the connection. */
    enum probe_answer (*parse_part)(void *context, char *part, size_t length);
    void *context;
};

/* Checks which program listens on host:port. A host that begins with '/' is the path of a Unix
 * socket, or of a folder with the protocol's socket. Reads until the answer is complete;
 * `timeout_ms` covers connecting and reading together. Returns OK if the protocol matches, REJECTED
 * with ERROR_UNSUPPORTED if it does not match, and LOST with ERROR_UNREACHABLE or ERROR_TIMEOUT if
 * no connection was made. Resolving the host's name has no time limit. */
enum status probe_recognise(const struct probe *probe, const char *host, uint16_t port,
                            unsigned timeout_ms, struct error *error) APPEND_API(probe_recognise);

/* Implements adapter.recognise with adapter->probe. */
enum status client_socket_recognise(const struct adapter *adapter, const char *host, uint16_t port,
                                    unsigned timeout_ms, struct error *error)
    APPEND_API(client_socket_recognise);

#endif
