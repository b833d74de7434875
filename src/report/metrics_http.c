#include "report/metrics.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mono.h"

enum {
    CLIENT_TIME_S = 5,
    BACKLOG = 16,
    PAUSE_MS = 1000, /* after a connection could not be accepted */
    STACK_BYTES = 256 * 1024
};

struct metrics_http {
    int listeners[METRICS_HTTP_LISTENERS_MAX];
    size_t listener_count;
    int wake; /* eventfd: the thread is to end */
    pthread_t thread;
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock; /* guards the text */
    struct MHD_Response *text;
    struct MHD_Response *index, *not_found, *wrong_method; /* the rest is the thread's own */
    int clients[METRICS_HTTP_CLIENTS_MAX];                 /* sockets, the oldest first */
    size_t client_count;
};

/* NULL without memory. */
static struct MHD_Response *make_response(const char *text, size_t length)
{
    const union {
        const char *given;
        void *taken; /* and only read: MUST_COPY */
    } bytes = {.given = text};
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, bytes.taken, MHD_RESPMEM_MUST_COPY);
    if (response != NULL) {
        MHD_add_response_header(response, "Content-Type",
                                "text/plain; version=0.0.4; charset=utf-8");
        MHD_add_response_header(response, "Connection", "close");
    }
    return response;
}

static enum MHD_Result answer_request(void *context, struct MHD_Connection *connection,
                                      const char *url, const char *method, const char *version,
                                      const char *body, size_t *body_bytes, void **state)
{
    (void)version;
    (void)body;
    struct metrics_http *http = context;
    if (*state == NULL) { /* of the head; what comes of a body is dropped before the answer */
        *state = http;
        return MHD_YES;
    }
    if (*body_bytes > 0) {
        *body_bytes = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        return MHD_queue_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, http->wrong_method);
    }
    if (strcmp(url, "/") == 0) {
        return MHD_queue_response(connection, MHD_HTTP_OK, http->index);
    }
    if (strcmp(url, "/metrics") != 0) {
        return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, http->not_found);
    }
    pthread_mutex_lock(&http->lock);
    const enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, http->text);
    pthread_mutex_unlock(&http->lock);
    return result;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    (void)state;
    struct metrics_http *http = context;
    const int sock =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        http->clients[http->client_count++] = sock;
        return;
    }
    for (size_t i = 0; i < http->client_count; i++) {
        if (http->clients[i] == sock) {
            http->client_count--;
            memmove(http->clients + i, http->clients + i + 1,
                    (http->client_count - i) * sizeof http->clients[0]);
            return;
        }
    }
}

/* False: there is no descriptor for the client; the sessions may have them all. */
static bool take_client(struct metrics_http *http, int listener)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    const int sock =
        accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (sock < 0) {
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    }
    if (http->client_count == METRICS_HTTP_CLIENTS_MAX) {
        shutdown(http->clients[0], SHUT_RDWR);
        MHD_run(http->daemon);
    }
    if (http->client_count == METRICS_HTTP_CLIENTS_MAX) {
        close(sock);
    } else {
        MHD_add_connection(http->daemon, sock, (struct sockaddr *)&address, length);
    }
    return true;
}

/* The library does not listen itself: without a descriptor for a client it would spin until there
 * is one, and with all places taken let the next client wait. */
static void *serve(void *argument)
{
    struct metrics_http *http = argument;
    const int epoll_fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int64_t pause_until_ns = 0;
    for (;;) {
        const bool is_pausing = mono_now_ns() < pause_until_ns;
        struct pollfd wanted[2 + METRICS_HTTP_LISTENERS_MAX] = {
            {.fd = http->wake, .events = POLLIN}, {.fd = epoll_fd, .events = POLLIN}};
        for (size_t i = 0; i < http->listener_count; i++) {
            wanted[2 + i] =
                (struct pollfd){.fd = is_pausing ? -1 : http->listeners[i], .events = POLLIN};
        }
        MHD_UNSIGNED_LONG_LONG wait_ms;
        if (MHD_get_timeout(http->daemon, &wait_ms) != MHD_YES || wait_ms > PAUSE_MS) {
            wait_ms = PAUSE_MS;
        }
        if (poll(wanted, 2 + http->listener_count, (int)wait_ms) < 0 && errno != EINTR) {
            mono_sleep(MONO_NS_PER_S); /* no memory, or a lower limit of descriptors by now */
            continue;
        }
        if (wanted[0].revents != 0) {
            return NULL;
        }
        for (size_t i = 0; i < http->listener_count; i++) {
            if (wanted[2 + i].revents != 0 && !take_client(http, http->listeners[i])) {
                pause_until_ns = mono_now_ns() + PAUSE_MS * MONO_NS_PER_MS;
            }
        }
        MHD_run(http->daemon);
    }
}

/* Returns errno. */
static int listen_on(struct metrics_http *http, const struct addrinfo *address)
{
    const int on = 1;
    const int sock = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sock < 0) {
        return errno;
    }
    setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) {
        setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(sock, address->ai_addr, address->ai_addrlen) != 0 || listen(sock, BACKLOG) != 0) {
        const int reason = errno;
        close(sock);
        return reason;
    }
    http->listeners[http->listener_count++] = sock;
    return 0;
}

static enum status open_listeners(struct metrics_http *http, const char *host, uint16_t port,
                                  struct error *error)
{
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *addresses = NULL;
    const int failure = getaddrinfo(host, service, &hints, &addresses);
    if (failure != 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "--metrics: host '%.60s' is not known: %s", host,
                  gai_strerror(failure));
        return STATUS_REJECTED;
    }
    int reason = 0;
    const struct addrinfo *address = addresses;
    for (; address != NULL && http->listener_count < METRICS_HTTP_LISTENERS_MAX;
         address = address->ai_next) {
        const int own = listen_on(http, address);
        /* "localhost" has an address of IPv6 where there is none */
        reason = own != 0 && own != EADDRNOTAVAIL && own != EAFNOSUPPORT ? own : reason;
    }
    freeaddrinfo(addresses);
    if (reason != 0 || http->listener_count == 0) {
        error_set(error, ERROR_USAGE, reason, NULL, "--metrics: cannot listen on %.60s port %u: %s",
                  host, (unsigned)port, strerror(reason == 0 ? EADDRNOTAVAIL : reason));
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static void release(struct metrics_http *http)
{
    if (http->daemon != NULL) {
        MHD_stop_daemon(http->daemon);
    }
    struct MHD_Response *responses[] = {http->text, http->index, http->not_found,
                                        http->wrong_method};
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++) {
        if (responses[i] != NULL) {
            MHD_destroy_response(responses[i]);
        }
    }
    for (size_t i = 0; i < http->listener_count; i++) {
        close(http->listeners[i]);
    }
    if (http->wake >= 0) {
        close(http->wake);
    }
    pthread_mutex_destroy(&http->lock);
    free(http);
}

/* Returns errno; of the library, which tells none: ENOMEM, or EMFILE for its epoll. */
static int start_daemon(struct metrics_http *http)
{
    static const char index[] = "append: see /metrics\n", not_found[] = "not found: see /metrics\n",
                      wrong_method[] = "only GET and HEAD\n";
    http->text = make_response("", 0);
    http->index = make_response(index, sizeof index - 1);
    http->not_found = make_response(not_found, sizeof not_found - 1);
    http->wrong_method = make_response(wrong_method, sizeof wrong_method - 1);
    if (http->text == NULL || http->index == NULL || http->not_found == NULL ||
        http->wrong_method == NULL) {
        return ENOMEM;
    }
    MHD_add_response_header(http->wrong_method, "Allow", "GET, HEAD");
    errno = 0;
    http->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, answer_request,
                         http, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CLIENT_TIME_S,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)METRICS_HTTP_CLIENTS_MAX,
                         MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_END);
    return http->daemon != NULL ? 0 : errno == 0 ? ENOMEM : errno;
}

struct metrics_http *metrics_http_start(const char *host, uint16_t port, struct error *error)
{
    struct metrics_http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for --metrics");
        return NULL;
    }
    pthread_mutex_init(&http->lock, NULL);
    http->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int failure = http->wake < 0 ? errno : 0;
    if (failure == 0 && open_listeners(http, host, port, error) != STATUS_OK) {
        release(http);
        return NULL;
    }
    failure = failure == 0 ? start_daemon(http) : failure;
    failure = failure == 0 ? thread_start(&http->thread, STACK_BYTES, serve, http) : failure;
    if (failure != 0) {
        error_set(error, ERROR_SYSTEM, failure, NULL, "--metrics cannot be served: %s",
                  strerror(failure));
        release(http);
        return NULL;
    }
    return http;
}

void metrics_http_publish(struct metrics_http *http, const char *text, size_t length)
{
    struct MHD_Response *next = make_response(text, length);
    if (next == NULL) {
        return;
    }
    pthread_mutex_lock(&http->lock);
    struct MHD_Response *old = http->text;
    http->text = next;
    pthread_mutex_unlock(&http->lock);
    MHD_destroy_response(old);
}

void metrics_http_stop(struct metrics_http *http)
{
    if (http == NULL) {
        return;
    }
    eventfd_write(http->wake, 1);
    pthread_join(http->thread, NULL);
    release(http);
}
