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
            if (client_socket_wait(sock, POLLOUT, until_ns, interrupt_requested) > 0) {
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

static int connect_to_any(const struct addrinfo *addresses, int64_t until_ns)
{
    int sock = -1;
    for (const struct addrinfo *at = addresses; at != NULL && sock < 0; at = at->ai_next) {
        sock = connect_to(at->ai_addr, at->ai_addrlen, until_ns);
    }
    return sock;
}

static enum status explain(int reason, const char *place, struct error *error)
{
    if (reason == ETIMEDOUT) {
        error_set(error, ERROR_TIMEOUT, reason, NULL, "no answer from %s", place);
    } else if (reason == ECONNREFUSED || reason == ENOENT) {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "nothing listens on %s", place);
    } else {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "%s cannot be reached: %s", place,
                  strerror(reason));
    }
    return STATUS_LOST;
}

static enum status connect_by(const char *host, uint16_t port, const char *socket_name,
                              int64_t until_ns, int *sock, struct error *error)
{
    char service[8];
    char place[128];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    snprintf(place, sizeof place, "%.110s:%s", host, service);
    if (host[0] == '/') {
        *sock = connect_to_path(host, socket_name, until_ns);
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
    *sock = connect_to_any(addresses, until_ns);
    const int reason = errno;
    freeaddrinfo(addresses);
    return *sock >= 0 ? STATUS_OK : explain(reason, place, error);
}

static enum probe_answer ask(int sock, const struct probe *probe, int64_t until_ns)
{
    unsigned char answer[ANSWER_BYTES];
    size_t length = 0;
    enum probe_answer judged = PROBE_MORE;
    if (probe->question != NULL && send(sock, probe->question, probe->question_bytes,
                                        MSG_NOSIGNAL) != (ssize_t)probe->question_bytes) {
        return PROBE_NO;
    }
    while (judged == PROBE_MORE && length < sizeof answer &&
           client_socket_wait(sock, POLLIN, until_ns, interrupt_requested) > 0) {
        const ssize_t received = recv(sock, answer + length, sizeof answer - length, 0);
        if (received <= 0) {
            return PROBE_NO;
        }
        length += (size_t)received;
        judged = probe->judge(answer, length);
    }
    return judged;
}

enum status probe_recognise(const struct probe *probe, const char *host, uint16_t port,
                            unsigned timeout_ms, struct error *error)
{
    const int64_t until_ns = mono_now_ns() + timeout_ms * MONO_NS_PER_MS;
    int sock = -1;
    const enum status status = connect_by(host, port, probe->socket_name, until_ns, &sock, error);
    if (status != STATUS_OK) {
        return status;
    }
    const enum probe_answer answer = ask(sock, probe, until_ns);
    close(sock);
    if (answer == PROBE_YES) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%.110s:%u does not speak %s protocol", host,
              (unsigned)port, probe->protocol);
    return STATUS_REJECTED;
}
