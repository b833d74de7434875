#include "report/metrics_http.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mono.h"

enum {
    REQUEST_BYTES = 8192,
    WAITED_MAX = 1 + METRICS_HTTP_LISTENERS_MAX + METRICS_HTTP_CLIENTS_MAX,
    BACKLOG = 16,
    STACK_BYTES = 128 * 1024
};
#define CLIENT_TIME_NS (5 * MONO_NS_PER_S)
#define PAUSE_NS MONO_NS_PER_S /* after a connection could not be taken */
#define POLL_PAUSE_NS (100 * MONO_NS_PER_MS)

struct client {
    int sock; /* -1 = free */
    int64_t deadline_ns;
    size_t request_length;
    bool is_answered; /* all was sent: the end of the client's stream is waited for */
    struct buffer answer;
    size_t sent;
    char request[REQUEST_BYTES];
};

struct metrics_http {
    int listeners[METRICS_HTTP_LISTENERS_MAX];
    size_t listener_count;
    int wake; /* eventfd: the thread is to end */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the text */
    struct buffer text;
    int64_t pause_until_ns; /* the rest is the thread's own */
    struct client clients[METRICS_HTTP_CLIENTS_MAX];
};

static void drop(struct client *client)
{
    close(client->sock);
    client->sock = -1;
    buffer_fini(&client->answer);
}

static void add_head(struct buffer *answer, const char *status, const char *more, size_t length)
{
    buffer_add_format(answer,
                      "HTTP/1.1 %s\r\n"
                      "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                      "Content-Length: %zu\r\n%s"
                      "Connection: close\r\n\r\n",
                      status, length, more);
}

static void add_page(struct buffer *answer, const char *status, const char *more, const char *text)
{
    add_head(answer, status, more, strlen(text));
    buffer_add_text(answer, text);
}

static void make_answer(struct metrics_http *http, struct client *client,
                        enum metrics_http_answer answer)
{
    struct buffer *to = &client->answer;
    switch (answer) {
    case METRICS_HTTP_MORE:
        return;
    case METRICS_HTTP_TEXT:
    case METRICS_HTTP_HEAD:
        pthread_mutex_lock(&http->lock);
        add_head(to, "200 OK", "", http->text.length);
        if (answer == METRICS_HTTP_TEXT) {
            buffer_add(to, buffer_text(&http->text), http->text.length);
        }
        pthread_mutex_unlock(&http->lock);
        break;
    case METRICS_HTTP_INDEX:
        add_page(to, "200 OK", "", "append: see /metrics\n");
        break;
    case METRICS_HTTP_NOT_FOUND:
        add_page(to, "404 Not Found", "", "not found: see /metrics\n");
        break;
    case METRICS_HTTP_METHOD:
        add_page(to, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", "only GET and HEAD\n");
        break;
    case METRICS_HTTP_BAD:
        add_page(to, "400 Bad Request", "", "no HTTP request\n");
        break;
    }
    if (buffer_failed(to)) {
        drop(client);
    }
}

static bool is_temporary(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* What comes behind a request is read and dropped: to close a socket with unread bytes would take
 * the answer from the client. */
static void discard(struct client *client)
{
    char bytes[4096];
    const ssize_t length = recv(client->sock, bytes, sizeof bytes, 0);
    if (length == 0 || (length < 0 && !is_temporary())) {
        drop(client);
    }
}

static void read_request(struct metrics_http *http, struct client *client)
{
    const ssize_t length = recv(client->sock, client->request + client->request_length,
                                REQUEST_BYTES - client->request_length, 0);
    if (length == 0 || (length < 0 && !is_temporary())) {
        drop(client);
        return;
    }
    client->request_length += length > 0 ? (size_t)length : 0;
    enum metrics_http_answer answer =
        metrics_http_understand(client->request, client->request_length);
    if (answer == METRICS_HTTP_MORE && client->request_length == REQUEST_BYTES) {
        answer = METRICS_HTTP_BAD;
    }
    make_answer(http, client, answer);
}

static void send_answer(struct client *client)
{
    const ssize_t length = send(client->sock, client->answer.bytes + client->sent,
                                client->answer.length - client->sent, MSG_NOSIGNAL);
    if (length < 0 && !is_temporary()) {
        drop(client);
        return;
    }
    client->sent += length > 0 ? (size_t)length : 0;
    if (client->sent == client->answer.length) {
        client->is_answered = true;
        shutdown(client->sock, SHUT_WR);
    }
}

/* A free place; where there is none, the client that has had the most time gives up its own. */
static struct client *make_place(struct metrics_http *http)
{
    struct client *oldest = &http->clients[0];
    for (size_t i = 0; i < METRICS_HTTP_CLIENTS_MAX; i++) {
        struct client *client = &http->clients[i];
        if (client->sock < 0) {
            return client;
        }
        oldest = client->deadline_ns < oldest->deadline_ns ? client : oldest;
    }
    drop(oldest);
    return oldest;
}

static void take_client(struct metrics_http *http, int listener)
{
    const int sock = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (sock < 0) {
        /* the sessions may have all descriptors: it is tried again, but not at once */
        if (!is_temporary() && errno != ECONNABORTED) {
            http->pause_until_ns = mono_now_ns() + PAUSE_NS;
        }
        return;
    }
    struct client *client = make_place(http);
    client->sock = sock;
    client->deadline_ns = mono_now_ns() + CLIENT_TIME_NS;
    client->request_length = 0;
    client->is_answered = false;
    client->sent = 0;
    buffer_init(&client->answer);
}

static void serve_client(struct metrics_http *http, struct client *client, int64_t now_ns,
                         bool is_ready)
{
    if (is_ready && client->is_answered) {
        discard(client);
    } else if (is_ready && client->answer.length > 0) {
        send_answer(client);
    } else if (is_ready) {
        read_request(http, client);
    }
    if (client->sock >= 0 && now_ns >= client->deadline_ns) {
        drop(client);
    }
}

/* Fills what is waited for: the wake-up, the listeners, the clients; nothing else, as poll refuses
 * more entries than descriptors that a process may have. Returns their number. */
static nfds_t prepare_wait(const struct metrics_http *http, struct pollfd wanted[WAITED_MAX],
                           int *wait_ms)
{
    const int64_t now_ns = mono_now_ns();
    const bool is_pausing = now_ns < http->pause_until_ns;
    int64_t next_ns = is_pausing ? http->pause_until_ns : now_ns + 3600 * MONO_NS_PER_S;
    nfds_t count = 0;
    wanted[count++] = (struct pollfd){.fd = http->wake, .events = POLLIN};
    for (size_t i = 0; i < http->listener_count; i++) {
        wanted[count++] =
            (struct pollfd){.fd = is_pausing ? -1 : http->listeners[i], .events = POLLIN};
    }
    for (size_t i = 0; i < METRICS_HTTP_CLIENTS_MAX; i++) {
        const struct client *client = &http->clients[i];
        if (client->sock >= 0) {
            const bool is_sending = client->answer.length > 0 && !client->is_answered;
            wanted[count++] =
                (struct pollfd){.fd = client->sock, .events = is_sending ? POLLOUT : POLLIN};
            next_ns = client->deadline_ns < next_ns ? client->deadline_ns : next_ns;
        }
    }
    *wait_ms = next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / MONO_NS_PER_MS) + 1;
    return count;
}

static void *serve(void *argument)
{
    struct metrics_http *http = argument;
    struct pollfd wanted[WAITED_MAX];
    for (;;) {
        int wait_ms;
        const nfds_t count = prepare_wait(http, wanted, &wait_ms);
        if (poll(wanted, count, wait_ms) < 0) {
            if (errno != EINTR) {
                mono_sleep(POLL_PAUSE_NS); /* no memory, or a lower limit of descriptors by now */
            }
            continue;
        }
        if (wanted[0].revents != 0) {
            return NULL;
        }
        const int64_t now_ns = mono_now_ns();
        const struct pollfd *ready = wanted + 1 + http->listener_count;
        for (size_t i = 0; i < METRICS_HTTP_CLIENTS_MAX; i++) {
            struct client *client = &http->clients[i];
            if (client->sock >= 0) {
                serve_client(http, client, now_ns, (ready++)->revents != 0);
            }
        }
        for (size_t i = 0; i < http->listener_count; i++) {
            if (wanted[1 + i].revents != 0) {
                take_client(http, http->listeners[i]);
            }
        }
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

/* Signals are for the main thread. */
static int start_thread(struct metrics_http *http)
{
    sigset_t all;
    sigset_t before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&http->thread, &attributes, serve, http);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failure;
}

static void release(struct metrics_http *http)
{
    for (size_t i = 0; i < http->listener_count; i++) {
        close(http->listeners[i]);
    }
    for (size_t i = 0; i < METRICS_HTTP_CLIENTS_MAX; i++) {
        if (http->clients[i].sock >= 0) {
            drop(&http->clients[i]);
        }
    }
    if (http->wake >= 0) {
        close(http->wake);
    }
    buffer_fini(&http->text);
    pthread_mutex_destroy(&http->lock);
    free(http);
}

struct metrics_http *metrics_http_start(const char *host, uint16_t port, struct error *error)
{
    struct metrics_http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for --metrics");
        return NULL;
    }
    for (size_t i = 0; i < METRICS_HTTP_CLIENTS_MAX; i++) {
        http->clients[i].sock = -1;
    }
    pthread_mutex_init(&http->lock, NULL);
    buffer_init(&http->text);
    http->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (http->wake >= 0 && open_listeners(http, host, port, error) != STATUS_OK) {
        release(http);
        return NULL;
    }
    const int failure = http->wake < 0 ? errno : start_thread(http);
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
    struct buffer next;
    buffer_init(&next);
    buffer_add(&next, text, length);
    pthread_mutex_lock(&http->lock);
    const struct buffer old = http->text;
    const bool is_whole = !buffer_failed(&next);
    if (is_whole) {
        http->text = next;
    }
    pthread_mutex_unlock(&http->lock);
    struct buffer unused = is_whole ? old : next;
    buffer_fini(&unused);
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
