#include "base/client_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"

enum {
    TICK_MS = 100
};
#define STACK_BYTES ((size_t)64 * 1024)

/* A connect that is limited. */
struct attempt {
    struct client_socket *socket;
    const struct target *target;
    int64_t until_ns;
    int wake;              /* an eventfd: it is over */
    enum error_kind ended; /* why it was cut */
};

/* A writable static, one a thread: a library calls connect by itself, and nothing but the thread
 * tells for which connection. */
static _Thread_local struct client_socket *watched;

/* What tells this socket from all others; 0: it is none. */
static uint64_t identity_of(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        return 0;
    }
    return (uint64_t)descriptor << 32 | (uint32_t)about.st_ino;
}

/* Stands before the C library's connect for the whole program, its client libraries included. Under
 * a name of its own, because the C library's prototype differs with its extensions. */
int client_socket_hook(int descriptor, const struct sockaddr *address,
                       socklen_t length) __asm__("connect") __attribute__((visibility("default")));

int client_socket_hook(int descriptor, const struct sockaddr *address, socklen_t length)
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

bool client_socket_is_known(const struct client_socket *socket)
{
    return atomic_load(&socket->identity) != 0;
}

/* -1: it is not open any more. */
static int descriptor_of(const struct client_socket *socket)
{
    const uint64_t identity = atomic_load(&socket->identity);
    const int descriptor = (int)(identity >> 32);
    return identity != 0 && identity_of(descriptor) == identity ? descriptor : -1;
}

void client_socket_shut(const struct client_socket *socket, int direction)
{
    const int descriptor = descriptor_of(socket);
    if (descriptor >= 0) {
        shutdown(descriptor, direction);
    }
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

/* The socket is shut down again with every tick: a library may try a second server. */
static void *watch_over(void *argument)
{
    struct attempt *attempt = argument;
    const struct target *target = attempt->target;
    struct pollfd wake = {.fd = attempt->wake, .events = POLLIN};
    while (poll(&wake, 1, TICK_MS) <= 0) {
        if (attempt->ended == ERROR_NONE && target->is_cancelled != NULL &&
            target->is_cancelled()) {
            attempt->ended = ERROR_CANCELLED;
        } else if (attempt->ended == ERROR_NONE && mono_now_ns() >= attempt->until_ns) {
            attempt->ended = ERROR_TIMEOUT;
        }
        if (attempt->ended != ERROR_NONE) {
            client_socket_shut(attempt->socket, SHUT_RDWR);
        }
    }
    return NULL;
}

enum status client_socket_connect(struct client_socket *socket, const struct target *target,
                                  enum status (*connect)(void *context, struct error *error),
                                  void *context, struct error *error)
{
    struct attempt attempt = {
        .socket = socket,
        .target = target,
        .until_ns = mono_now_ns() + target->connect_timeout_s * MONO_NS_PER_S,
        .wake = eventfd(0, EFD_CLOEXEC),
    };
    struct error failure;
    pthread_t thread = 0;
    const int code =
        attempt.wake < 0 ? errno : thread_start(&thread, STACK_BYTES, watch_over, &attempt);
    if (code != 0) {
        if (attempt.wake >= 0) {
            close(attempt.wake);
        }
        error_set(error, ERROR_SYSTEM, code, NULL, "no thread to watch over the connect: %s",
                  strerror(code));
        return STATUS_FATAL;
    }
    error_clear(&failure);
    watched = socket;
    const enum status status = connect(context, &failure);
    watched = NULL;
    eventfd_write(attempt.wake, 1);
    pthread_join(thread, NULL);
    close(attempt.wake);
    if (attempt.ended == ERROR_NONE) {
        if (status != STATUS_OK) {
            *error = failure;
        }
        return status;
    }
    if (attempt.ended == ERROR_CANCELLED) {
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
    } else {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer within %u s",
                  target->connect_timeout_s);
    }
    return STATUS_LOST;
}

int client_socket_wait(int descriptor, short events, int64_t until_ns, bool (*is_cancelled)(void))
{
    struct pollfd wanted = {.fd = descriptor, .events = events};
    for (;;) {
        if (is_cancelled != NULL && is_cancelled()) {
            return CLIENT_SOCKET_CANCELLED;
        }
        const int64_t left_ns = until_ns - mono_now_ns();
        const int64_t left_ms = left_ns > 0 ? (left_ns + MONO_NS_PER_MS - 1) / MONO_NS_PER_MS : 0;
        const int ready = poll(&wanted, 1, left_ms < 2 * TICK_MS ? (int)left_ms : 2 * TICK_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return ready;
        }
        if (left_ms == 0) {
            return 0;
        }
    }
}
