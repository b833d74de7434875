#include "report/web.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/process.h"

enum {
    CLIENT_TIME_S = 5,
    BACKLOG = 128,
    PAUSE_MS = 1000,      /* pause after a failed accept */
    SEND_BYTES = 1 << 20, /* size of a socket's send buffer; the buffer can take a whole answer, so
                             the thread does not wait for a slow client */
    TOO_LONG = 413, /* HTTP's code for a body that is too long; the library's name for it depends on
                       the version */
    LAST_ROUNDS_MAX = 200, /* greatest number of rounds in which the last answers are sent */
};

struct client {
    int sock;
    /* connection of the client if its request waits for web_resume; else NULL */
    struct MHD_Connection *held;
};

struct web {
    struct web_site site;
    int listeners[WEB_LISTENERS_MAX];
    size_t listener_count;
    int folder; /* descriptor of the Unix socket's folder; -1: not open */
    int wake;   /* descriptor of an eventfd that wakes the thread */
    atomic_bool is_stopping;
    pthread_t thread;
    struct MHD_Daemon *daemon;
    /* The members below are only for `thread`. */
    struct client *clients; /* the clients, the oldest first; owned */
    size_t client_count;
    size_t held;
    bool is_ending;   /* the server is ending, and requests can no longer wait */
    bool has_resumed; /* requests were resumed in this turn; the library must then run again at
                         once, but MHD_get_timeout does not report this */
};

/* The state of a request that is being received. */
struct arrival {
    char *body; /* the body so far; owned; NULL without a body */
    size_t bytes;
    bool was_held;
};

const char *web_header(const struct web_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *web_parameter(const struct web_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct MHD_Response *web_response(const char *type, const char *text, size_t length)
{
    const union {
        const char *given;
        void *taken; /* the library copies the text and does not change it */
    } bytes = {.given = text};
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, bytes.taken, MHD_RESPMEM_MUST_COPY);
    if (response != NULL) {
        MHD_add_response_header(response, "Content-Type", type);
        MHD_add_response_header(response, "Connection", "close");
    }
    return response;
}

void web_reply(const struct web_request *request, unsigned code, struct MHD_Response *response)
{
    MHD_queue_response(request->connection, code, response);
}

static int socket_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct client *find_client(struct web *web, int sock)
{
    size_t i = 0;
    while (i < web->client_count && web->clients[i].sock != sock) {
        i++;
    }
    return i < web->client_count ? &web->clients[i] : NULL;
}

static void resume(struct web *web, struct client *client)
{
    if (client->held != NULL) {
        web->held--;
        web->has_resumed = true;
        MHD_resume_connection(client->held);
        client->held = NULL;
    }
}

void web_resume(struct web *web)
{
    for (size_t i = 0; i < web->client_count; i++) {
        resume(web, &web->clients[i]);
    }
}

size_t web_held(const struct web *web)
{
    return web->held;
}

/* Writes the address at which a request arrived. */
static void name_place(struct web_request *request)
{
    struct sockaddr_storage here = {0};
    socklen_t length = sizeof here;
    const int sock = socket_of(request->connection);
    const bool is_known = getsockname(sock, (struct sockaddr *)&here, &length) == 0;
    request->is_socket = is_known && here.ss_family == AF_UNIX;
    if (!is_known || request->is_socket ||
        getnameinfo((struct sockaddr *)&here, length, request->here, sizeof request->here, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        request->here[0] = '\0';
    }
    request->is_loopback =
        strncmp(request->here, "127.", 4) == 0 || strcmp(request->here, "::1") == 0;
}

/* Begins to receive a request. Refuses the request if its Content-Length is too large. */
static enum MHD_Result begin_arrival(struct MHD_Connection *connection, void **state)
{
    static const char text[] = "the body of the request is too long\n";
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    *state = calloc(1, sizeof(struct arrival));
    if (*state == NULL || length == NULL || strtoull(length, NULL, 10) <= WEB_BODY_BYTES) {
        return *state == NULL ? MHD_NO : MHD_YES;
    }
    struct MHD_Response *response = web_response("text/plain", text, sizeof text - 1);
    const enum MHD_Result result =
        response == NULL ? MHD_NO : MHD_queue_response(connection, TOO_LONG, response);
    if (response != NULL) {
        MHD_destroy_response(response);
    }
    return result;
}

/* Keeps a part of the body. Returns MHD_NO, which closes the connection, if the body is too
 * long. */
static enum MHD_Result keep_body(struct arrival *arrival, const char *body, size_t *bytes)
{
    if (arrival->body == NULL) {
        arrival->body = calloc(1, WEB_BODY_BYTES + 1);
    }
    if (arrival->body == NULL || *bytes > WEB_BODY_BYTES - arrival->bytes) {
        return MHD_NO;
    }
    memcpy(arrival->body + arrival->bytes, body, *bytes);
    arrival->bytes += *bytes;
    *bytes = 0;
    return MHD_YES;
}

static enum MHD_Result answer_request(void *context, struct MHD_Connection *connection,
                                      const char *url, const char *method, const char *version,
                                      const char *body, size_t *body_bytes, void **state)
{
    (void)version;
    struct web *web = context;
    struct arrival *arrival = *state;
    if (arrival == NULL) {
        return begin_arrival(connection, state);
    }
    if (*body_bytes > 0) {
        return keep_body(arrival, body, body_bytes);
    }
    struct web_request request = {.web = web,
                                  .connection = connection,
                                  .method = method,
                                  .path = url,
                                  .body = arrival->body == NULL ? "" : arrival->body,
                                  .body_bytes = arrival->bytes,
                                  .was_held = arrival->was_held};
    name_place(&request);
    if (!web->site.answer(web->site.context, &request) && !web->is_ending) {
        arrival->was_held = true;
        MHD_suspend_connection(connection);
        struct client *client = find_client(web, socket_of(connection));
        client->held = connection;
        web->held++;
    }
    return MHD_YES;
}

static void end_arrival(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode how)
{
    (void)context;
    (void)connection;
    (void)how;
    struct arrival *arrival = *state;
    if (arrival != NULL) {
        free(arrival->body);
        free(arrival);
        *state = NULL;
    }
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    (void)state;
    struct web *web = context;
    const int sock = socket_of(connection);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        web->clients[web->client_count++] = (struct client){.sock = sock};
        return;
    }
    struct client *client = find_client(web, sock);
    if (client != NULL) {
        web->held -= client->held != NULL ? 1 : 0;
        web->client_count--;
        memmove(client, client + 1,
                (web->client_count - (size_t)(client - web->clients)) * sizeof *client);
    }
}

/* Accepts a client. Returns false if no descriptor is free, for example because the sessions use
 * all descriptors. */
static bool accept_client(struct web *web, int listener)
{
    const int send_bytes = SEND_BYTES;
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    const int sock =
        accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (sock < 0) {
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    }
    if (web->client_count == web->site.clients_max) {
        shutdown(web->clients[0].sock, SHUT_RDWR);
        resume(web, &web->clients[0]);
        MHD_run(web->daemon);
    }
    if (web->client_count == web->site.clients_max) {
        close(sock);
    } else {
        setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
        MHD_add_connection(web->daemon, sock, (struct sockaddr *)&address, length);
    }
    return true;
}

/* The descriptors that the thread waits for: `wake`, the library's epoll, the listeners. */
struct wanted {
    struct pollfd files[2 + WEB_LISTENERS_MAX];
    size_t count;
};

static struct wanted want(const struct web *web, bool is_pausing)
{
    const int epoll_fd = MHD_get_daemon_info(web->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct wanted wanted = {
        .files = {{.fd = web->wake, .events = POLLIN}, {.fd = epoll_fd, .events = POLLIN}},
        .count = 2 + web->listener_count};
    for (size_t i = 0; i < web->listener_count; i++) {
        wanted.files[2 + i] =
            (struct pollfd){.fd = is_pausing ? -1 : web->listeners[i], .events = POLLIN};
    }
    return wanted;
}

/* Returns how long the thread may wait, in ms, before the library or the site's turn must run. */
static int waiting_ms(const struct web *web, int64_t turn_ns)
{
    MHD_UNSIGNED_LONG_LONG library_ms;
    int64_t wait_ms = PAUSE_MS;
    if (MHD_get_timeout(web->daemon, &library_ms) == MHD_YES && library_ms < PAUSE_MS) {
        wait_ms = (int64_t)library_ms;
    }
    const int64_t left_ns = turn_ns - mono_now_ns();
    const int64_t left_ms = left_ns <= 0 ? 0 : (left_ns - 1) / MONO_NS_PER_MS + 1;
    return (int)(left_ms < wait_ms ? left_ms : wait_ms);
}

static int64_t take_turn(struct web *web)
{
    return web->site.turn == NULL ? INT64_MAX : web->site.turn(web->site.context, web);
}

/* Accepts the clients that wait. Returns false if a client could not be accepted. */
static bool accept_clients(struct web *web, const struct wanted *wanted)
{
    bool is_well = true;
    for (size_t i = 0; i < web->listener_count; i++) {
        if (wanted->files[2 + i].revents != 0) {
            is_well = accept_client(web, web->listeners[i]) && is_well;
        }
    }
    return is_well;
}

/* Sends the last answers. Sends only the bytes that the kernel takes at once, and does not wait for
 * clients. */
static void send_last(struct web *web)
{
    take_turn(web);
    web_resume(web);
    bool has_more = true;
    for (int round = 0; has_more && round < LAST_ROUNDS_MAX; round++) {
        MHD_UNSIGNED_LONG_LONG library_ms;
        struct wanted wanted = want(web, false);
        wanted.files[0].fd = -1;
        MHD_run(web->daemon);
        has_more = poll(wanted.files, wanted.count, 0) > 0 ||
                   (MHD_get_timeout(web->daemon, &library_ms) == MHD_YES && library_ms == 0);
        has_more = (accept_clients(web, &wanted) && has_more) || round == 0;
    }
    web->is_ending = true; /* the library cannot stop while a request waits */
    web_resume(web);
    MHD_run(web->daemon);
}

/* Runs the thread. Accepts the connections itself, because the library's accept loop would spin
 * while there is no free descriptor, and would let a new client wait while clients_max clients are
 * connected. */
static void *serve(void *argument)
{
    struct web *web = argument;
    int64_t pause_until_ns = 0, turn_ns = INT64_MAX;
    while (!atomic_load(&web->is_stopping)) {
        struct wanted wanted = want(web, mono_now_ns() < pause_until_ns);
        eventfd_t events;
        if (poll(wanted.files, wanted.count, waiting_ms(web, turn_ns)) < 0 && errno != EINTR) {
            /* memory has run out, or the limit of descriptors was lowered */
            mono_sleep(MONO_NS_PER_S);
            continue;
        }
        if (wanted.files[0].revents != 0) {
            eventfd_read(web->wake, &events);
        }
        if (!accept_clients(web, &wanted)) {
            pause_until_ns = mono_now_ns() + PAUSE_MS * MONO_NS_PER_MS;
        }
        web->has_resumed = false;
        MHD_run(web->daemon);
        turn_ns = take_turn(web);
        turn_ns = web->has_resumed ? 0 : turn_ns;
    }
    send_last(web);
    return NULL;
}

static enum status open_listeners(struct web *web, struct error *error)
{
    const struct web_site *site = &web->site;
    const int on = 1;
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)site->port);
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *addresses = NULL;
    if (site->host == NULL) {
        return STATUS_OK;
    }
    const int failure = getaddrinfo(site->host, service, &hints, &addresses);
    if (failure != 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s: unknown host '%.60s': %s", site->option,
                  site->host, gai_strerror(failure));
        return STATUS_REJECTED;
    }
    int reason = 0;
    for (const struct addrinfo *address = addresses;
         address != NULL && web->listener_count < WEB_PLACES_MAX; address = address->ai_next) {
        const int sock = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (sock >= 0 && setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
            (address->ai_family != AF_INET6 ||
             setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
            bind(sock, address->ai_addr, address->ai_addrlen) == 0 && listen(sock, BACKLOG) == 0) {
            web->listeners[web->listener_count++] = sock;
            continue;
        }
        /* "localhost" may resolve to an IPv6 address on a machine without IPv6 */
        reason = errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT ? errno : reason;
        if (sock >= 0) {
            close(sock);
        }
    }
    freeaddrinfo(addresses);
    if (reason != 0 || web->listener_count == 0) {
        error_set(error, ERROR_USAGE, reason, NULL, "%s: cannot listen on %.60s port %u: %s",
                  site->option, site->host, (unsigned)site->port,
                  strerror(reason == 0 ? EADDRNOTAVAIL : reason));
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* Listens on the Unix socket. The address of the socket uses the folder's descriptor, because the
 * folder's path may be too long for an address. The mode of the socket is set before listen(), so
 * that only the user can connect. */
static enum status open_socket(struct web *web, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (web->site.folder == NULL) {
        return STATUS_OK;
    }
    web->folder = open(web->site.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" WEB_SOCKET_NAME,
             web->folder);
    const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (web->folder < 0 || sock < 0 ||
        bind(sock, (const struct sockaddr *)&address, sizeof address) != 0 ||
        fchmodat(web->folder, WEB_SOCKET_NAME, S_IRUSR | S_IWUSR, 0) != 0 ||
        listen(sock, BACKLOG) != 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, "%s: cannot listen on %.120s/%s: %s",
                  web->site.option, web->site.folder, WEB_SOCKET_NAME, strerror(errno));
        if (sock >= 0) {
            close(sock);
        }
        return STATUS_REJECTED;
    }
    web->listeners[web->listener_count++] = sock;
    return STATUS_OK;
}

static void release(struct web *web)
{
    if (web->daemon != NULL) {
        MHD_stop_daemon(web->daemon);
    }
    for (size_t i = 0; i < web->listener_count; i++) {
        close(web->listeners[i]);
    }
    if (web->folder >= 0) {
        unlinkat(web->folder, WEB_SOCKET_NAME, 0);
        close(web->folder);
    }
    if (web->wake >= 0) {
        close(web->wake);
    }
    free(web->clients);
    free(web);
}

/* Starts the library, without a thread of its own. Returns 0 or errno. */
static int start_daemon(struct web *web)
{
    errno = ENOMEM; /* the library may fail without setting errno; it sets EMFILE when epoll_create
                       fails */
    web->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        answer_request, web, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CLIENT_TIME_S,
        MHD_OPTION_CONNECTION_LIMIT, web->site.clients_max, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, web, MHD_OPTION_NOTIFY_COMPLETED, end_arrival, web, MHD_OPTION_END);
    return web->daemon == NULL ? errno : 0;
}

struct web *web_start(const struct web_site *site, struct error *error)
{
    struct web *web = calloc(1, sizeof *web);
    struct client *clients = calloc(site->clients_max, sizeof *clients);
    if (web == NULL || clients == NULL) {
        free(web);
        free(clients);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %s", site->option);
        return NULL;
    }
    web->site = *site;
    web->clients = clients;
    atomic_init(&web->is_stopping, false);
    web->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int failure = web->wake < 0 ? errno : 0;
    web->folder = -1;
    const bool is_listening = failure == 0 && open_listeners(web, error) == STATUS_OK &&
                              open_socket(web, error) == STATUS_OK;
    if (is_listening) {
        failure = start_daemon(web);
    }
    if (is_listening && failure == 0) {
        failure = thread_start(&web->thread, site->stack_bytes, serve, web);
    }
    if (failure != 0) {
        error_set(error, ERROR_SYSTEM, failure, NULL, "%s cannot be served: %s", site->option,
                  strerror(failure));
    }
    if (!is_listening || failure != 0) {
        release(web);
        return NULL;
    }
    return web;
}

void web_wake(struct web *web)
{
    eventfd_write(web->wake, 1);
}

void web_stop(struct web *web)
{
    if (web != NULL) {
        atomic_store(&web->is_stopping, true);
        web_wake(web);
        pthread_join(web->thread, NULL);
        release(web);
    }
}
