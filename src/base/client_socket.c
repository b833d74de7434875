#include "base/client_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_SOCKET UINT64_MAX

/* A writable static, one a thread: a library calls connect by itself, and nothing but the thread
 * tells for which connection. */
static _Thread_local struct client_socket *watched;

/* What tells this socket from all others; NO_SOCKET: it is none. */
static uint64_t identity_of(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        return NO_SOCKET;
    }
    return (uint64_t)descriptor << 32 | (uint32_t)about.st_ino;
}

/* Stands before the C library's connect for the whole program, its client libraries included. Under
 * a name of its own, because the C library's prototype differs with its extensions. */
int client_socket_connect(int descriptor, const struct sockaddr *address,
                          socklen_t length) __asm__("connect")
    __attribute__((visibility("default")));

int client_socket_connect(int descriptor, const struct sockaddr *address, socklen_t length)
{
    if (watched != NULL) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM) {
            atomic_store(&watched->identity, identity_of(descriptor));
        }
    }
    return (int)syscall(SYS_connect, descriptor, address, length);
}

void client_socket_init(struct client_socket *socket)
{
    atomic_init(&socket->identity, NO_SOCKET);
}

void client_socket_watch(struct client_socket *socket)
{
    atomic_store(&socket->identity, NO_SOCKET);
    watched = socket;
}

void client_socket_unwatch(void)
{
    watched = NULL;
}

bool client_socket_is_known(const struct client_socket *socket)
{
    return atomic_load(&socket->identity) != NO_SOCKET;
}

/* -1: it is not open any more. */
static int descriptor_of(const struct client_socket *socket)
{
    const uint64_t identity = atomic_load(&socket->identity);
    const int descriptor = (int)(identity >> 32);
    return identity != NO_SOCKET && identity_of(descriptor) == identity ? descriptor : -1;
}

static void shut(const struct client_socket *socket, int direction)
{
    const int descriptor = descriptor_of(socket);
    if (descriptor >= 0) {
        shutdown(descriptor, direction);
    }
}

void client_socket_shutdown(const struct client_socket *socket)
{
    shut(socket, SHUT_RDWR);
}

void client_socket_stop_reading(const struct client_socket *socket)
{
    shut(socket, SHUT_RD);
}

bool client_socket_set_no_delay(const struct client_socket *socket)
{
    static const int yes = 1;
    const int descriptor = descriptor_of(socket);
    return descriptor >= 0 &&
           setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0;
}

bool client_socket_is_ended(const struct client_socket *socket)
{
    char byte;
    const int descriptor = descriptor_of(socket);
    if (descriptor < 0) {
        return client_socket_is_known(socket);
    }
    const ssize_t length = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR);
}
