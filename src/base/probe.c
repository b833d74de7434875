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

#include "base/client_socket.h"
#include "base/mono.h"
#include "base/process.h"

/* More than the greeting of any server. */
enum {
    ANSWER_BYTES = 1100
};

/* Connects to one address; returns the socket, or -1 with the reason in errno. */
static int connect_to(const struct sockaddr *address, socklen_t length, int64_t until_ns)
{
    socklen_t size = sizeof(int);
    const int sock = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sock < 0 || connect(sock, address, length) == 0) {
        return sock;
    }
    int reason = errno;
    if (reason == EINPROGRESS) {
        reason = ETIMEDOUT;
        if (client_socket_wait(sock, POLLOUT, until_ns, interrupt_requested) > 0) {
            getsockopt(sock, SOL_SOCKET, SO_ERROR, &reason, &size);
        }
    }
    if (reason == 0) {
        return sock;
    }
    close(sock);
    errno = reason;
    return -1;
}

static int connect_to_path(const char *path, const char *socket_name, int64_t until_ns)
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
    return connect_to((const struct sockaddr *)&address, sizeof address, until_ns);
}

static enum status connect_by(const char *host, uint16_t port, const char *socket_name,
                              int64_t until_ns, int *sock, struct error *error)
{
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    if (host[0] == '/') {
        *sock = connect_to_path(host, socket_name, until_ns);
    } else {
        const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
        struct addrinfo *addresses = NULL;
        const int failure = getaddrinfo(host, service, &hints, &addresses);
        if (failure != 0) {
            error_set(error, ERROR_UNREACHABLE, failure, NULL, "host %.100s does not resolve: %s",
                      host, gai_strerror(failure));
            return STATUS_LOST;
        }
        for (const struct addrinfo *at = addresses; at != NULL && *sock < 0; at = at->ai_next) {
            *sock = connect_to(at->ai_addr, at->ai_addrlen, until_ns);
        }
        const int reason = errno;
        freeaddrinfo(addresses);
        errno = reason;
    }
    if (*sock >= 0) {
        return STATUS_OK;
    }
    const int reason = errno;
    if (reason == ETIMEDOUT) {
        error_set(error, ERROR_TIMEOUT, reason, NULL, "no answer from %.110s:%s", host, service);
    } else if (reason == ECONNREFUSED || reason == ENOENT) {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "nothing listens on %.110s:%s", host,
                  service);
    } else {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "%.110s:%s cannot be reached: %s", host,
                  service, strerror(reason));
    }
    return STATUS_LOST;
}

enum status probe_recognise(const struct probe *probe, const char *host, uint16_t port,
                            unsigned timeout_ms, struct error *error)
{
    const int64_t until_ns = mono_now_ns() + timeout_ms * MONO_NS_PER_MS;
    unsigned char answer[ANSWER_BYTES];
    size_t length = 0;
    int sock = -1;
    const enum status status = connect_by(host, port, probe->socket_name, until_ns, &sock, error);
    if (status != STATUS_OK) {
        return status;
    }
    const bool is_asked = probe->question == NULL ||
                          send(sock, probe->question, probe->question_bytes, MSG_NOSIGNAL) ==
                              (ssize_t)probe->question_bytes;
    enum probe_answer judged = is_asked ? PROBE_MORE : PROBE_NO;
    while (judged == PROBE_MORE && length < sizeof answer &&
           client_socket_wait(sock, POLLIN, until_ns, interrupt_requested) > 0) {
        const ssize_t received = recv(sock, answer + length, sizeof answer - length, 0);
        length += received > 0 ? (size_t)received : 0;
        judged = received > 0 ? probe->judge(answer, length) : PROBE_NO;
    }
    close(sock);
    if (judged == PROBE_YES) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%.110s:%u does not speak %s protocol", host,
              (unsigned)port, probe->protocol);
    return STATUS_REJECTED;
}
