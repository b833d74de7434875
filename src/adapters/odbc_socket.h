/*
 * The socket that a driver opened for a connection.
 *
 * ODBC has no call that gives it, and none that surely ends a blocked call: SQLCancel asks the
 * server through a second connection, which hangs like the first one when the server does, and in
 * SQLite's driver frees what the blocked thread is using. Shutting the socket down works for all.
 */
#ifndef ADAPTERS_ODBC_SOCKET_H
#define ADAPTERS_ODBC_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

struct odbc_socket {
    int descriptor; /* -1: none is known */
    dev_t device;   /* with the inode: whether the descriptor still is that socket */
    ino_t inode;
};

/* From now on the last stream socket that this thread connects is noted in *socket. */
void odbc_socket_watch(struct odbc_socket *socket);

/* Ends that. */
void odbc_socket_unwatch(struct odbc_socket *socket);

/* Ends both directions of the socket, if it is still open: what waits for the server fails. Any
 * thread. */
void odbc_socket_shutdown(const struct odbc_socket *socket);

/* Ends reading only: the server can still be told good-bye, and nobody waits for what it says. */
void odbc_socket_stop_reading(const struct odbc_socket *socket);

#endif
