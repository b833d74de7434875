#include "base/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/interrupt.h"

static int wait_for(int sock, short events, unsigned timeout_s)
{
    struct pollfd wanted = {.fd = sock, .events = events};
    int ready;
    do {
        ready = poll(&wanted, 1, (int)(timeout_s > 0 ? timeout_s : 1) * 1000);
    } while (ready < 0 && errno == EINTR && !interrupt_requested());
    return ready;
}

/* Connects to one address; returns the socket, or -1 with the reason in errno. */
static int connect_to(const struct sockaddr *address, socklen_t length, unsigned timeout_s)
{
    int reason = 0;
    socklen_t size = sizeof reason;
    const int sock = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sock < 0) {
        return -1;
    }
    if (connect(sock, address, length) != 0) {
        reason = errno;
        if (reason == EINPROGRESS) {
            reason = ETIMEDOUT;
            if (wait_for(sock, POLLOUT, timeout_s) > 0) {
                getsockopt(sock, SOL_SOCKET, SO_ERROR, &reason, &size);
            }
        }
    }
    if (reason != 0) {
        close(sock);
        errno = reason;
        return -1;
    }
    return sock;
}

static int connect_to_path(const char *path, const char *socket_name, unsigned timeout_s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    const bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    const int length = snprintf(address.sun_path, sizeof address.sun_path, "%s%s%s", path,
                                is_folder ? "/" : "", is_folder ? socket_name : "");
    if (length < 0 || (size_t)length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return connect_to((const struct sockaddr *)&address, sizeof address, timeout_s);
}

static int connect_to_any(const struct addrinfo *addresses, unsigned timeout_s)
{
    int sock = -1;
    for (const struct addrinfo *at = addresses; at != NULL && sock < 0; at = at->ai_next) {
        sock = connect_to(at->ai_addr, at->ai_addrlen, timeout_s);
    }
    return sock;
}

static enum status explain(int reason, const char *place, struct error *error)
{
    char text[128];
    if (reason == ETIMEDOUT) {
        error_set(error, ERROR_TIMEOUT, reason, NULL, "no answer from %s", place);
    } else if (reason == ECONNREFUSED || reason == ENOENT) {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "nothing listens on %s", place);
    } else {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "%s cannot be reached: %s", place,
                  strerror_r(reason, text, sizeof text));
    }
    return STATUS_LOST;
}

enum status probe_connect(const char *host, uint16_t port, const char *socket_name,
                          unsigned timeout_s, int *sock, struct error *error)
{
    char service[8];
    char place[128];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    snprintf(place, sizeof place, "%.110s:%s", host, service);
    if (host[0] == '/') {
        *sock = connect_to_path(host, socket_name, timeout_s);
        return *sock >= 0 ? STATUS_OK : explain(errno, place, error);
    }
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    const int failure = getaddrinfo(host, service, &hints, &addresses);
    if (failure != 0) {
        error_set(error, ERROR_UNREACHABLE, failure, NULL, "host %.100s does not resolve: %s", host,
                  gai_strerror(failure));
        return STATUS_LOST;
    }
    *sock = connect_to_any(addresses, timeout_s);
    const int reason = errno;
    freeaddrinfo(addresses);
    return *sock >= 0 ? STATUS_OK : explain(reason, place, error);
}

size_t probe_ask(int sock, const void *bytes, size_t length, void *answer, size_t size,
                 unsigned timeout_s)
{
    if (length > 0 && send(sock, bytes, length, MSG_NOSIGNAL) != (ssize_t)length) {
        return 0;
    }
    if (wait_for(sock, POLLIN, timeout_s) <= 0) {
        return 0;
    }
    const ssize_t received = recv(sock, answer, size, 0);
    return received > 0 ? (size_t)received : 0;
}
