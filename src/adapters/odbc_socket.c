#include "adapters/odbc_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The one writable static of the adapters, one a thread: a driver calls connect by itself, and
 * nothing but the thread tells for which connection. */
static _Thread_local struct odbc_socket *watched;

/* Stands before the C library's connect for the whole program, its client libraries included. Under
 * a name of its own, because the C library's prototype differs with its extensions. */
int odbc_socket_connect(int descriptor, const struct sockaddr *address,
                        socklen_t length) __asm__("connect") __attribute__((visibility("default")));

int odbc_socket_connect(int descriptor, const struct sockaddr *address, socklen_t length)
{
    if (watched != NULL) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM) {
            watched->descriptor = descriptor;
        }
    }
    return (int)syscall(SYS_connect, descriptor, address, length);
}

void odbc_socket_watch(struct odbc_socket *socket)
{
    socket->descriptor = -1;
    watched = socket;
}

void odbc_socket_unwatch(struct odbc_socket *socket)
{
    struct stat about;
    watched = NULL;
    if (socket->descriptor >= 0 && fstat(socket->descriptor, &about) == 0 &&
        S_ISSOCK(about.st_mode)) {
        socket->device = about.st_dev;
        socket->inode = about.st_ino;
    } else {
        socket->descriptor = -1;
    }
}

/* A driver may have closed the socket, and its number may be another connection's by now. */
static void shut(const struct odbc_socket *socket, int direction)
{
    struct stat about;
    if (socket->descriptor >= 0 && fstat(socket->descriptor, &about) == 0 &&
        about.st_dev == socket->device && about.st_ino == socket->inode) {
        shutdown(socket->descriptor, direction);
    }
}

void odbc_socket_shutdown(const struct odbc_socket *socket)
{
    shut(socket, SHUT_RDWR);
}

void odbc_socket_stop_reading(const struct odbc_socket *socket)
{
    shut(socket, SHUT_RD);
}
