/* Whether PostgreSQL listens on a port, without being a user of it. */
#include "adapters/postgresql_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int wait_for(int socket, short events, unsigned timeout_s)
{
    struct pollfd wanted = {.fd = socket, .events = events};
    int ready;
    do {
        ready = poll(&wanted, 1, (int)(timeout_s > 0 ? timeout_s : 1) * 1000);
    } while (ready < 0 && errno == EINTR);
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

/* The socket of a server in a folder, as libpq names it. */
static int connect_in_folder(const char *folder, uint16_t port, unsigned timeout_s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.%u", folder,
                                (unsigned)port);
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

/* PostgreSQL answers a question for TLS with one letter. Others greet first, with packets that can
 * begin with the same byte, so the length counts too. */
static bool is_answer(const char *answer, size_t length)
{
    if (length == 1) {
        return answer[0] == 'S' || answer[0] == 'N' || answer[0] == 'E';
    }
    return length > 5 && answer[0] == 'E' && (answer[5] == 'S' || answer[1] > ' ');
}

static enum status ask(int sock, const char *place, unsigned timeout_s, struct error *error)
{
    static const unsigned char request[8] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}; /* SSLRequest */
    char answer[16];
    ssize_t length = -1;

    if (send(sock, request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request &&
        wait_for(sock, POLLIN, timeout_s) > 0) {
        length = recv(sock, answer, sizeof answer, 0);
    }
    if (length > 0 && is_answer(answer, (size_t)length)) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%s does not speak PostgreSQL's protocol", place);
    return STATUS_REJECTED;
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

enum status postgresql_recognise(const char *host, uint16_t port, unsigned timeout_s,
                                 struct error *error)
{
    char service[8];
    char place[128];
    int sock = -1;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    snprintf(place, sizeof place, "%.110s:%s", host, service);
    if (host[0] == '/') {
        sock = connect_in_folder(host, port, timeout_s);
    } else {
        const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
        struct addrinfo *addresses = NULL;
        const int failure = getaddrinfo(host, service, &hints, &addresses);
        if (failure != 0) {
            error_set(error, ERROR_UNREACHABLE, failure, NULL, "host %.100s does not resolve: %s",
                      host, gai_strerror(failure));
            return STATUS_LOST;
        }
        sock = connect_to_any(addresses, timeout_s);
        const int reason = errno;
        freeaddrinfo(addresses);
        errno = reason;
    }
    if (sock < 0) {
        return explain(errno, place, error);
    }
    const enum status status = ask(sock, place, timeout_s, error);
    close(sock);
    return status;
}
