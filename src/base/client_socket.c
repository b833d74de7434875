#include "append/client_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"

enum {
    TICK_MS = 100,
    SILENCE_S = 5, /* time after which a missing greeting is suspicious; many servers first look up
                      the client's name */
    ANSWER_BYTES = 1100, /* size of the buffer for an answer; no server's greeting is longer */
};
#define STACK_BYTES ((size_t)64 * 1024)

/* A connect in progress that has a time limit; an element of the list `attempts`. */
struct attempt {
    struct client_socket *socket;
    const struct target *target;
    int64_t until_ns;
    enum error_kind ended; /* why the watching thread ended the connect; ERROR_NONE = the thread has
                              not ended it */
    struct attempt *next;
};

/* Writable statics: the connects in progress and the state of the thread that enforces their time
 * limits. One thread for all connects saves a thread or descriptor for each connect. The thread
 * ends when the list is empty. */
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct attempt *attempts;
static bool is_watching;

/* A writable static for each thread: the socket that this thread is connecting. A client library
 * calls connect itself, so client_socket_hook can find the socket only by the calling thread. */
static _Thread_local struct client_socket *watched;

/* Returns a number that identifies the socket and is made of its descriptor and inode. Returns 0 if
 * the descriptor is not a socket. */
static uint64_t identity_of(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        return 0;
    }
    return (uint64_t)descriptor << 32 | (uint32_t)about.st_ino;
}

/* Replaces the C library's connect in the whole program, including its client libraries. In C the
 * function has a different name, because the prototype of connect depends on which extensions of
 * the C library are enabled. */
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

void client_socket_note(struct client_socket *socket, int descriptor)
{
    atomic_store(&socket->identity, descriptor < 0 ? 0 : identity_of(descriptor));
}

bool client_socket_is_known(const struct client_socket *socket)
{
    return atomic_load(&socket->identity) != 0;
}

int client_socket_descriptor(const struct client_socket *socket)
{
    const uint64_t identity = atomic_load(&socket->identity);
    const int descriptor = (int)(identity >> 32);
    return identity != 0 && identity_of(descriptor) == identity ? descriptor : -1;
}

void client_socket_shut(const struct client_socket *socket, int direction)
{
    const uint64_t identity = atomic_load(&socket->identity);
    /* use a duplicate, because the library may close its descriptor at any moment, and a new
     * connection may then get the same number */
    const int own = identity == 0 ? -1 : fcntl((int)(identity >> 32), F_DUPFD_CLOEXEC, 0);
    if (own >= 0) {
        if ((uint32_t)identity_of(own) == (uint32_t)identity) {
            shutdown(own, direction);
        }
        close(own);
    } else if (identity != 0 && errno == EMFILE) {
        shutdown(client_socket_descriptor(socket), direction);
    }
}

bool client_socket_set_no_delay(const struct client_socket *socket)
{
    static const int yes = 1;
    const int descriptor = client_socket_descriptor(socket);
    return descriptor >= 0 &&
           setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0;
}

uint16_t client_socket_own_port(int descriptor)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof own;
    char port[8];
    return getsockname(descriptor, (struct sockaddr *)&own, &length) == 0 &&
                   (own.ss_family == AF_INET || own.ss_family == AF_INET6) &&
                   getnameinfo((struct sockaddr *)&own, length, NULL, 0, port, sizeof port,
                               NI_NUMERICSERV) == 0
               ? (uint16_t)strtoul(port, NULL, 10)
               : 0;
}

void client_socket_name_peer(int descriptor, char *text, size_t size)
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof peer;
    text[0] = '\0';
    if (getpeername(descriptor, (struct sockaddr *)&peer, &length) == 0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) &&
        getnameinfo((struct sockaddr *)&peer, length, text, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        text[0] = '\0';
    }
}

bool client_socket_is_ended(const struct client_socket *socket)
{
    char byte;
    const int descriptor = client_socket_descriptor(socket);
    if (descriptor < 0) {
        return client_socket_is_known(socket);
    }
    const ssize_t length = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR);
}

/* The thread that watches the connects: ends each connect that is cancelled or past its time limit,
 * until the list is empty. Shuts the socket down again at every tick, because the library may open
 * a new socket for a second server. */
static void *watch_over(void *unused)
{
    (void)unused;
    for (bool is_over = false; !is_over;) {
        poll(NULL, 0, TICK_MS);
        pthread_mutex_lock(&watch_lock);
        for (struct attempt *attempt = attempts; attempt != NULL; attempt = attempt->next) {
            bool (*const is_cancelled)(void) = attempt->target->is_cancelled;
            if (attempt->ended == ERROR_NONE && is_cancelled != NULL && is_cancelled()) {
                attempt->ended = ERROR_CANCELLED;
            } else if (attempt->ended == ERROR_NONE && mono_now_ns() >= attempt->until_ns) {
                attempt->ended = ERROR_TIMEOUT;
            }
            if (attempt->ended != ERROR_NONE) {
                client_socket_shut(attempt->socket, SHUT_RDWR);
            }
        }
        is_over = attempts == NULL;
        is_watching = !is_over;
        pthread_mutex_unlock(&watch_lock);
    }
    return NULL;
}

/* Adds the connect to the list and starts the watching thread if necessary. Returns 0, or errno
 * when the thread cannot be started. */
static int begin_watch(struct attempt *attempt)
{
    pthread_t thread;
    int code = 0;
    pthread_mutex_lock(&watch_lock);
    if (!is_watching) {
        code = thread_start(&thread, STACK_BYTES, watch_over, NULL);
        is_watching = code == 0;
        if (is_watching) {
            pthread_detach(thread);
        }
    }
    if (is_watching) {
        attempt->next = attempts;
        attempts = attempt;
    }
    pthread_mutex_unlock(&watch_lock);
    return code;
}

static void end_watch(const struct attempt *attempt)
{
    pthread_mutex_lock(&watch_lock);
    struct attempt **at = &attempts;
    while (*at != attempt) {
        at = &(*at)->next;
    }
    *at = attempt->next;
    pthread_mutex_unlock(&watch_lock);
}

enum status client_socket_connect(struct client_socket *socket, const struct target *target,
                                  enum status (*connect)(void *context, struct error *error),
                                  void *context, struct error *error)
{
    struct attempt attempt = {
        .socket = socket,
        .target = target,
        .until_ns = mono_now_ns() + target->connect_timeout_s * MONO_NS_PER_S,
    };
    struct error failure = {0};
    const int code = begin_watch(&attempt);
    if (code != 0) {
        error_set(error, ERROR_SYSTEM, code, NULL,
                  "cannot start the thread that enforces the connect timeout: %s", strerror(code));
        return STATUS_FATAL;
    }
    watched = socket;
    const enum status status = connect(context, &failure);
    watched = NULL;
    end_watch(&attempt);
    if (attempt.ended == ERROR_CANCELLED) {
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
    } else if (attempt.ended == ERROR_TIMEOUT) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer within %u s",
                  target->connect_timeout_s);
    } else if (status != STATUS_OK) {
        *error = failure;
    }
    return attempt.ended == ERROR_NONE ? status : STATUS_LOST;
}

unsigned client_socket_answer_ms(unsigned answer_timeout_ms)
{
    return answer_timeout_ms > 0 ? answer_timeout_ms : CLIENT_SOCKET_ANSWER_MS;
}

void client_socket_watch_peer(int descriptor, unsigned answer_timeout_ms)
{
    const int options[][3] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, CLIENT_SOCKET_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, CLIENT_SOCKET_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, CLIENT_SOCKET_PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, (int)client_socket_answer_ms(answer_timeout_ms)},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        setsockopt(descriptor, options[i][0], options[i][1], &options[i][2], sizeof options[i][2]);
    }
}

int client_socket_wait(int descriptor, short events, int64_t until_ns, bool (*is_cancelled)(void))
{
    struct pollfd wanted = {.fd = descriptor, .events = events};
    for (;;) {
        if (is_cancelled != NULL && is_cancelled()) {
            return CLIENT_SOCKET_CANCELLED;
        }
        const bool is_endless = until_ns == CLIENT_SOCKET_FOREVER;
        const int64_t left_ns = is_endless ? INT64_MAX / 2 : until_ns - mono_now_ns();
        const int64_t left_ms = left_ns > 0 ? (left_ns + MONO_NS_PER_MS - 1) / MONO_NS_PER_MS : 0;
        int tick_ms = left_ms < 2 * TICK_MS ? (int)left_ms : 2 * TICK_MS;
        if (is_endless && is_cancelled == NULL) {
            tick_ms = -1;
        }
        const int ready = poll(&wanted, 1, tick_ms);
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return ready;
        }
        if (left_ms == 0) {
            return 0;
        }
    }
}

void client_deadline_begin(struct client_deadline *deadline, const struct target *target,
                           bool server_speaks_first)
{
    const unsigned all_s = target->connect_timeout_s;
    const unsigned first_s = server_speaks_first && all_s > SILENCE_S ? SILENCE_S : all_s;
    *deadline = (struct client_deadline){.target = target,
                                         .until_ns = mono_now_ns() + first_s * MONO_NS_PER_S,
                                         .rest_s = all_s - first_s};
}

int client_deadline_wait(struct client_deadline *deadline, int descriptor, short events)
{
    const struct target *target = deadline->target;
    const bool is_read = (events & POLLIN) != 0;
    int ready = client_socket_wait(descriptor, events, deadline->until_ns, target->is_cancelled);
    if (ready == 0 && deadline->rest_s > 0) {
        const bool speaks_another_protocol =
            is_read && !deadline->has_answered && target->speaks_another_protocol != NULL &&
            target->speaks_another_protocol(target->silence_context);
        deadline->until_ns = mono_now_ns() + deadline->rest_s * MONO_NS_PER_S;
        deadline->rest_s = 0;
        ready = speaks_another_protocol ? CLIENT_SOCKET_CANCELLED
                                        : client_socket_wait(descriptor, events, deadline->until_ns,
                                                             target->is_cancelled);
    }
    deadline->has_answered |= ready > 0 && is_read;
    if (ready == CLIENT_SOCKET_CANCELLED) {
        deadline->ended = ERROR_CANCELLED;
        ready = 0;
    } else if (ready == 0 && deadline->ended == ERROR_NONE) {
        deadline->ended = ERROR_TIMEOUT;
    }
    return ready;
}

/* Connects to one address; returns 0 or errno. */
static int connect_to(const struct addrinfo *place, int64_t until_ns, int *sock)
{
    int reason = 0;
    socklen_t size = sizeof reason;
    *sock = socket(place->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*sock < 0 || connect(*sock, place->ai_addr, place->ai_addrlen) != 0) {
        reason = errno;
    }
    if (*sock >= 0 && reason == EINPROGRESS) {
        reason = ETIMEDOUT;
        if (client_socket_wait(*sock, POLLOUT, until_ns, interrupt_requested) > 0) {
            getsockopt(*sock, SOL_SOCKET, SO_ERROR, &reason, &size);
        }
    }
    if (*sock >= 0 && reason != 0) {
        close(*sock);
    }
    return reason;
}

static enum status connect_by(const char *host, uint16_t port, const struct probe *probe,
                              int64_t until_ns, int *sock, struct error *error)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct addrinfo on_path = {.ai_family = AF_UNIX, .ai_addrlen = sizeof path};
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[8];
    int reason = 0;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    if (host[0] == '/') {
        struct stat status;
        const bool is_folder = stat(host, &status) == 0 && S_ISDIR(status.st_mode);
        const int length = snprintf(path.sun_path, sizeof path.sun_path, "%s%s%s%s", host,
                                    is_folder ? "/" : "", is_folder ? probe->socket_name : "",
                                    is_folder && probe->is_port_in_name ? service : "");
        on_path.ai_addr = (struct sockaddr *)&path;
        reason = (size_t)length >= sizeof path.sun_path ? ENAMETOOLONG
                                                        : connect_to(&on_path, until_ns, sock);
    } else {
        const int failure = getaddrinfo(host, service, &hints, &found);
        if (failure != 0) {
            error_set(error, ERROR_UNREACHABLE, failure, NULL, "host %.100s does not resolve: %s",
                      host, gai_strerror(failure));
            return STATUS_LOST;
        }
        reason = ENOENT;
        for (const struct addrinfo *at = found; at != NULL && reason != 0; at = at->ai_next) {
            reason = connect_to(at, until_ns, sock);
        }
        freeaddrinfo(found);
    }
    if (reason == ETIMEDOUT) {
        error_set(error, ERROR_TIMEOUT, reason, NULL, "no answer from %.110s:%s", host, service);
    } else if (reason == ECONNREFUSED || reason == ENOENT) {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "nothing listens on %.110s:%s", host,
                  service);
    } else if (reason != 0) {
        error_set(error, ERROR_UNREACHABLE, reason, NULL, "%.110s:%s cannot be reached: %s", host,
                  service, strerror(reason));
    }
    return reason == 0 ? STATUS_OK : STATUS_LOST;
}

enum status probe_recognise(const struct probe *probe, const char *host, uint16_t port,
                            unsigned timeout_ms, struct error *error)
{
    const int64_t until_ns = mono_now_ns() + timeout_ms * MONO_NS_PER_MS;
    unsigned char answer[ANSWER_BYTES];
    size_t length = 0;
    int sock = -1;
    const enum status status = connect_by(host, port, probe, until_ns, &sock, error);
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
        if (received < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        const size_t part = received > 0 ? (size_t)received : 0;
        if (probe->parse_part != NULL) {
            judged = probe->parse_part(probe->context, (char *)answer, part);
            judged = judged == PROBE_MORE && part == 0 ? PROBE_NO : judged;
            continue;
        }
        length += part;
        judged = received > 0 ? probe->recognise(answer, length) : PROBE_NO;
    }
    close(sock);
    if (judged == PROBE_YES) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, NULL, "%.110s:%u does not speak %s protocol", host,
              (unsigned)port, probe->protocol);
    return STATUS_REJECTED;
}

enum status client_socket_recognise(const struct adapter *adapter, const char *host, uint16_t port,
                                    unsigned timeout_ms, struct error *error)
{
    return probe_recognise(adapter->probe, host, port, timeout_ms, error);
}
