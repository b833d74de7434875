/*
 * The socket that a client library opened for a connection.
 *
 * Some libraries have no call that gives it, and none that surely ends a blocked call: ODBC's
 * SQLCancel asks the server through a second connection, which hangs like the first one when the
 * server does, and in SQLite's driver frees what the blocked thread is using. Shutting the socket
 * down works for all.
 */
#ifndef BASE_CLIENT_SOCKET_H
#define BASE_CLIENT_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The descriptor, and below it the inode of the socket that it was: libraries close descriptors,
 * and the number may be another connection's by now. */
struct client_socket {
    _Atomic uint64_t identity;
};

/* None is known. */
void client_socket_init(struct client_socket *socket);

/* From now on the last stream socket that this thread connects is noted in *socket. */
void client_socket_watch(struct client_socket *socket);

/* Ends that. */
void client_socket_unwatch(void);

/* False: the library has a connect of its own, or connected to no socket. */
bool client_socket_is_known(const struct client_socket *socket);

/* Ends both directions of the socket, if it is still open: what waits for the server fails. Any
 * thread. */
void client_socket_shutdown(const struct client_socket *socket);

/* Ends reading only: the server can still be told good-bye, and nobody waits for what it says. */
void client_socket_stop_reading(const struct client_socket *socket);

/* Small packets are sent at once (TCP_NODELAY). False: not possible. */
bool client_socket_set_no_delay(const struct client_socket *socket);

/* True when a socket that is known was closed, or either side has ended the connection. */
bool client_socket_is_ended(const struct client_socket *socket);

#endif
