/*
 * Implements the connection of http.h. libcurl resolves names, connects and does TLS
 * (CURLOPT_CONNECT_ONLY); this file writes requests and reads answers. libcurl could also send the
 * requests, but it would need several times as much CPU time, and would silently send a request
 * again when a reused connection ends without an answer.
 */
#include "adapters/http.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <curl/curl.h>

#include "append/client_socket.h"
#include "base/mono.h"
#include "base/url.h"

enum {
    IN_BYTES = 2 * 1024,    /* size of each session's buffer for reading */
    IDLE_BYTES = 16 * 1024, /* a larger buffer is freed between requests */
    /* maximum number of bytes that are read and skipped after `take` has returned false; if the
     * answer has more bytes, the connection is closed */
    SKIPPED_MAX = 64 * 1024,
    REFUSAL_BYTES = 1 << 20, /* maximum number of bytes that are read of an error's body */
};

enum auth {
    AUTH_BASIC,
    AUTH_BEARER,
    AUTH_HEADER
};

/* Why no more bytes of a body are kept; BODY_OPEN means that bytes are still kept. */
enum body_end {
    BODY_OPEN,
    BODY_ENOUGH,
    BODY_TOO_LONG,
    BODY_NO_MEMORY
};

/* A connection. It belongs to one session's thread; other threads may use only `socket` and
 * is_interrupted. */
struct http {
    const struct http_database *database;
    unsigned connect_timeout_s, answer_timeout_ms; /* the target's limits */
    bool (*is_cancelled)(void);
    char place[300]; /* host:port, in messages */
    char *url;       /* the server's URL; owned, like ca_file */
    char *ca_file;
    CURL *easy; /* libcurl's handle, or NULL. With TLS it lasts as long as the connection (16 KiB,
                   two descriptors); without TLS it exists only while connecting */
    bool is_tls, is_verified;
    enum auth auth;
    int64_t until_ns; /* moment at which open must end; 0: no limit */
    /* moment at which connecting must end; 0: connecting has not started */
    int64_t connected_by_ns;

    int sock;                    /* the connection's socket; -1: not connected */
    struct client_socket socket; /* the same socket, for http_interrupt in another thread */
    atomic_bool is_interrupted;
    int socket_errno; /* errno of the latest failure to create a socket */
    bool is_kept;     /* true while libcurl's handle is freed and its socket must stay open */

    struct buffer fixed; /* header lines that are the same in every request */
    struct buffer head;  /* head of the current request */
    struct http_answer answer;
    struct buffer body; /* the kept body, or the beginning of a line that is not complete yet */
    const struct http_request *current; /* the current request; borrowed */
    size_t written;                     /* bytes of the request that may have reached the server */
    struct append_loss loss;            /* numbers of refused rows and rows in doubt of the current
                                           append */
    enum body_end body_end;
    struct http_splitter splitter;
    enum http_place at; /* whether the latest byte of the answer is inside an element, between
                           elements or outside the array */
    size_t around;      /* bytes in `body` that precede the element that is being read */
    size_t skipped;     /* bytes of the answer that were skipped after `take` had returned false */
    char in[IN_BYTES];
};

static enum status lost(struct http *http, enum error_kind kind, int code, const char *what,
                        struct error *error);

/*
 * The connection
 */

/* Stores the socket and then reads is_interrupted. http_interrupt sets is_interrupted and then uses
 * the socket, so at least one of the two threads sees the other's change. */
static void keep_socket(struct http *http, int sock)
{
    http->sock = sock;
    client_socket_note(&http->socket, sock);
    if (atomic_load(&http->is_interrupted)) {
        client_socket_shut(&http->socket, SHUT_RDWR);
    }
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http *http = context;
    (void)purpose;
    const int sock = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (sock < 0) {
        http->socket_errno = errno;
        return CURL_SOCKET_BAD;
    }
    client_socket_watch_peer(sock, http->answer_timeout_ms);
    keep_socket(http, sock);
    client_socket_set_no_delay(&http->socket);
    return sock;
}

static int close_socket(void *context, curl_socket_t sock)
{
    struct http *http = context;
    if (http->is_kept && sock == http->sock) {
        return 0; /* libcurl's handle is being freed, but the socket stays open */
    }
    if (http->sock == sock) {
        http->sock = -1;
        client_socket_note(&http->socket, -1);
    }
    return close(sock);
}

static bool is_given_up(const struct http *http)
{
    return atomic_load(&http->is_interrupted) ||
           (http->is_cancelled != NULL && http->is_cancelled());
}

static int check_given_up(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return is_given_up(context) ? 1 : 0;
}

static void disconnect(struct http *http)
{
    curl_easy_cleanup(http->easy);
    http->easy = NULL;
    if (http->sock >= 0) {
        close_socket(http, http->sock);
    }
}

static bool set_up(struct http *http, char *reason)
{
    CURL *const easy = http->easy;
    const int64_t left_ms = (http->connected_by_ns - mono_now_ns()) / MONO_NS_PER_MS;
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_CONNECT_ONLY, 1},
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_NOPROGRESS, 0},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        /* a time of 0 would mean the library's default */
        {CURLOPT_CONNECTTIMEOUT_MS, left_ms > 0 ? (long)left_ms : 1},
        {CURLOPT_BUFFERSIZE, 1024},
        {CURLOPT_SSL_VERIFYPEER, http->is_verified ? 1 : 0},
        {CURLOPT_SSL_VERIFYHOST, http->is_verified ? 2 : 0},
    };
    bool is_ok = curl_easy_setopt(easy, CURLOPT_URL, http->url) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, http) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, http) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, check_given_up) == CURLE_OK &&
                 curl_easy_setopt(easy, CURLOPT_XFERINFODATA, http) == CURLE_OK;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        is_ok = is_ok && curl_easy_setopt(easy, numbers[i].option, numbers[i].value) == CURLE_OK;
    }
    return is_ok && (http->ca_file == NULL ||
                     curl_easy_setopt(easy, CURLOPT_CAINFO, http->ca_file) == CURLE_OK);
}

/* Records why a connect failed; `reason` is the library's message. */
static enum status record_connect_error(struct http *http, CURLcode code, const char *reason,
                                        struct error *error)
{
    const char *const place = http->place;
    long reached = 0;
    curl_easy_getinfo(http->easy, CURLINFO_OS_ERRNO, &reached);
    reason = reason[0] != '\0' ? reason : curl_easy_strerror(code);
    if (http->socket_errno != 0) {
        error_set(error, ERROR_SYSTEM, http->socket_errno, NULL,
                  "cannot create a socket for %s: %s", place, strerror(http->socket_errno));
        return STATUS_FATAL;
    }
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
        return STATUS_LOST;
    case CURLE_OPERATION_TIMEDOUT:
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer from %s within %u s", place,
                  http->connect_timeout_s);
        return STATUS_LOST;
    case CURLE_COULDNT_CONNECT:
        if (reached == ECONNREFUSED) {
            error_set(error, ERROR_UNREACHABLE, (int)reached, NULL, "nothing listens on %s", place);
        } else {
            error_set(error, ERROR_UNREACHABLE, (int)reached, NULL, "%s cannot be reached: %s",
                      place, reached != 0 ? strerror((int)reached) : reason);
        }
        return STATUS_LOST;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        error_set(error, ERROR_AUTH, (int)code, NULL,
                  "the certificate of %s is not accepted: %.80s; add ca=FILE with the authority's "
                  "certificate to the URL",
                  place, reason);
        return STATUS_FATAL;
    case CURLE_SSL_CONNECT_ERROR:
        error_set(error, ERROR_UNREACHABLE, (int)code, NULL,
                  "the TLS connection to %s failed: %.100s%s", place, reason,
                  strstr(reason, "wrong version number") != NULL ? "; try tls=off" : "");
        return strstr(reason, "wrong version number") != NULL ? STATUS_FATAL : STATUS_LOST;
    case CURLE_OUT_OF_MEMORY:
        return dialect_memory_error(error);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        error_set(error, ERROR_USAGE, (int)code, NULL, "%s cannot be used: %s", place, reason);
        return STATUS_FATAL;
    default:
        error_set(error, ERROR_UNREACHABLE, (int)code, NULL, "%s cannot be reached: %s", place,
                  reason);
        return STATUS_LOST;
    }
}

/* Connects; an existing connection is closed first. */
static enum status reconnect(struct http *http, struct error *error)
{
    char reason[CURL_ERROR_SIZE] = "";
    curl_socket_t sock = CURL_SOCKET_BAD;
    disconnect(http);
    http->socket_errno = 0;
    if (http->connected_by_ns == 0) {
        http->connected_by_ns = mono_now_ns() + http->connect_timeout_s * MONO_NS_PER_S;
    }
    http->easy = curl_easy_init();
    if (http->easy == NULL || !set_up(http, reason)) {
        disconnect(http);
        return dialect_memory_error(error);
    }
    const CURLcode code = curl_easy_perform(http->easy);
    enum status status = STATUS_OK;
    if (code != CURLE_OK) {
        status = record_connect_error(http, code, reason, error);
    } else if (curl_easy_getinfo(http->easy, CURLINFO_ACTIVESOCKET, &sock) != CURLE_OK ||
               sock == CURL_SOCKET_BAD) {
        status = lost(http, ERROR_CONNECTION, 0, "the connection was closed at once", error);
    }
    if (status != STATUS_OK) {
        disconnect(http);
        return status;
    }
    curl_easy_setopt(http->easy, CURLOPT_ERRORBUFFER, NULL);
    keep_socket(http, sock); /* if several sockets were tried, `sock` is the connected socket */
    if (!http->is_tls) {
        /* make the socket blocking, so that recv itself waits for data */
        fcntl(sock, F_SETFL, fcntl(sock, F_GETFL) & ~O_NONBLOCK);
        http->is_kept = true;
        curl_easy_cleanup(http->easy);
        http->easy = NULL;
        http->is_kept = false;
    }
    return STATUS_OK;
}

/* Returns true when the server has ended an idle connection or sent unrequested data. */
static bool has_ended(struct http *http)
{
    char byte;
    size_t got = 0;
    const ssize_t length = recv(http->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (length < 0) {
        return errno != EAGAIN && errno != EINTR;
    }
    /* with TLS, the data may be a message of TLS itself, not of the server */
    return length == 0 || !http->is_tls ||
           curl_easy_recv(http->easy, &byte, 1, &got) != CURLE_AGAIN;
}

static enum status ensure_connected(struct http *http, struct error *error)
{
    if (atomic_load(&http->is_interrupted)) {
        return lost(http, ERROR_CONNECTION, 0, "interrupted", error);
    }
    http->connected_by_ns = http->until_ns;
    return http->sock >= 0 && !has_ended(http) ? STATUS_OK : reconnect(http, error);
}

enum status http_begin_append(struct http *http, struct error *error)
{
    http->loss = (struct append_loss){0};
    return ensure_connected(http, error);
}

static struct http *http_of(const struct adapter_conn *conn)
{
    return *(struct http *const *)(const void *)conn; /* `http` is the first member */
}

void http_interrupt(struct adapter_conn *conn)
{
    struct http *const http = http_of(conn);
    atomic_store(&http->is_interrupted, true);
    client_socket_shut(&http->socket, SHUT_RDWR);
}

void http_inspect(const struct adapter *adapter, struct adapter_conn *conn,
                  struct connection_info *info)
{
    client_socket_name_peer(http_of(conn)->sock, info->address, sizeof info->address);
    if (adapter->dialect != NULL) {
        dialect_inspect(adapter->dialect, info);
        snprintf(info->dialect, sizeof info->dialect, "%s", adapter->dialect->name);
    }
}

/* Records that the connection is lost, and closes it. */
static enum status lost(struct http *http, enum error_kind kind, int code, const char *what,
                        struct error *error)
{
    if (atomic_load(&http->is_interrupted)) {
        error_set(error, ERROR_CONNECTION, 0, NULL, "interrupted while waiting for an answer");
    } else if (code != 0) {
        error_set(error, kind, code, NULL, "%s: %s: %s", http->place, what, strerror(code));
    } else {
        error_set(error, kind, 0, NULL, "%s: %s", http->place, what);
    }
    disconnect(http);
    return STATUS_LOST;
}

/*
 * Requests and answers
 */

/* Waits until the socket is ready. Otherwise returns false, with the reason in errno. */
static bool wait_for(struct http *http, short events)
{
    const bool is_limited = http->until_ns != 0;
    const int ready =
        client_socket_wait(http->sock, events, is_limited ? http->until_ns : CLIENT_SOCKET_FOREVER,
                           is_limited ? http->is_cancelled : NULL);
    if (ready == 0) {
        errno = ETIMEDOUT;
    } else if (ready == CLIENT_SOCKET_CANCELLED) {
        errno = ECANCELED;
    }
    return ready > 0;
}

/* Writes as much as the socket takes. Returns the number of bytes, or -1 with the reason in
 * errno. */
static ssize_t send_some(struct http *http, struct iovec *parts, size_t count)
{
    if (!http->is_tls) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        return sendmsg(http->sock, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    size_t sent = 0;
    const CURLcode code = curl_easy_send(http->easy, parts[0].iov_base, parts[0].iov_len, &sent);
    errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
    return code == CURLE_OK ? (ssize_t)sent : -1;
}

/* Returns the events to wait for before the rest of a request can be written. Without TLS they
 * include an early answer, because a server may answer without reading the rest. Returns 0 if the
 * early answer, or the end of the connection, has already arrived. */
static short events_of(struct http *http)
{
    char start[10];
    const ssize_t length =
        http->is_tls ? -1 : recv(http->sock, start, sizeof start, MSG_PEEK | MSG_DONTWAIT);
    if (length == (ssize_t)sizeof start && (start[9] == '1' || start[9] == '2')) {
        /* continue to write the request: a status 1xx is not the final answer, and a server that
         * answers 2xx still expects the body */
        return POLLOUT;
    }
    if (length >= 0) {
        return 0;
    }
    if (http->is_tls) {
        return POLLOUT;
    }
    return POLLOUT | POLLIN;
}

/* Writes the head and the body of the request. Returns false if not everything was written; errno
 * then has the reason, or is 0 if an answer has already arrived. */
static bool send_request(struct http *http)
{
    const struct http_request *request = http->current;
    struct iovec parts[2] = {{.iov_base = http->head.bytes, .iov_len = http->head.length},
                             {.iov_len = request->length}};
    /* iov_base is not const, but sendmsg only reads it */
    memcpy(&parts[1].iov_base, &request->body, sizeof request->body);
    size_t first = 0;
    const size_t count = request->length > 0 ? 2 : 1;
    while (first < count) {
        const ssize_t sent = send_some(http, parts + first, count - first);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && errno != EAGAIN) {
            return false;
        }
        size_t left = sent < 0 ? 0 : (size_t)sent;
        http->written += left;
        while (first < count && left >= parts[first].iov_len) {
            left -= parts[first++].iov_len;
        }
        if (first < count) {
            parts[first].iov_base = (char *)parts[first].iov_base + left;
            parts[first].iov_len -= left;
            const short events = events_of(http);
            errno = events == 0 ? 0 : errno;
            if (events == 0 || !wait_for(http, events)) {
                return false;
            }
        }
    }
    return true;
}

/* Waits for bytes, reads them and returns their number. Returns 0 if the connection has ended, or
 * -1 with the reason in errno. */
static ssize_t receive(struct http *http)
{
    if (http->is_tls) {
        size_t got = 0;
        CURLcode code;
        while ((code = curl_easy_recv(http->easy, http->in, IN_BYTES, &got)) == CURLE_AGAIN) {
            if (!wait_for(http, POLLIN)) {
                return -1;
            }
        }
        errno = ECONNRESET;
        return code == CURLE_OK ? (ssize_t)got : -1;
    }
    ssize_t got = -1;
    if (http->until_ns == 0 || wait_for(http, POLLIN)) {
        while ((got = recv(http->sock, http->in, IN_BYTES, 0)) < 0 && errno == EINTR) {
        }
    }
    return got;
}

static bool keep(struct http *http, const char *bytes, size_t length, size_t max)
{
    if (http->body.length + length >= max) {
        http->body_end = BODY_TOO_LONG;
        return false;
    }
    buffer_add(&http->body, bytes, length);
    if (buffer_failed(&http->body)) {
        http->body_end = BODY_NO_MEMORY;
    }
    return http->body_end == BODY_OPEN;
}

/* Makes take_body skip the rest of the body. Returns true. */
static bool skip_rest(struct http *http)
{
    http->body_end = BODY_ENOUGH;
    buffer_clear(&http->body);
    return true;
}

/* Passes a line to the request's `take`. The line's beginning may be in http->body. */
static bool take_line(struct http *http, char *bytes, size_t length)
{
    if (http->body.length > 0) {
        if (!keep(http, bytes, length, HTTP_LINE_MAX)) {
            return false;
        }
        bytes = http->body.bytes;
        length = http->body.length;
    }
    bytes[length] = '\0';
    const bool wants_more = http->current->take(http->current->context, bytes, length);
    buffer_clear(&http->body);
    return wants_more || skip_rest(http);
}

/* Adds bytes to http->body, except bytes between two elements of the array. Returns false if the
 * limit is exceeded or memory runs out. */
static bool keep_run(struct http *http, const char *bytes, size_t length)
{
    const size_t max =
        http->at == HTTP_ELEMENT ? http->around + HTTP_LINE_MAX : (size_t)HTTP_KEPT_MAX;
    return http->at == HTTP_BETWEEN || keep(http, bytes, length, max);
}

/* Passes each element of the array to the request's `take`, and keeps the text before and after the
 * array. */
static bool take_elements(struct http *http, const char *bytes, size_t length)
{
    size_t done = 0;
    for (size_t i = 0; i < length; i++) {
        const enum http_place place = http_split(&http->splitter, bytes[i]);
        if (place == http->at) {
            continue;
        }
        if (!keep_run(http, bytes + done, i - done)) {
            return false;
        }
        done = i;
        if (http->at == HTTP_ELEMENT) {
            char *const element = http->body.bytes + http->around;
            if (!http->current->take(http->current->context, element,
                                     http->body.length - http->around)) {
                return skip_rest(http);
            }
            http->body.length = http->around;
        }
        http->around = http->body.length;
        http->at = place;
    }
    return keep_run(http, bytes + done, length - done);
}

static bool take_body(void *context, char *bytes, size_t length)
{
    struct http *http = context;
    const bool is_ok = http->answer.status / 100 == 2;
    if (!is_ok || http->current->take == NULL) {
        return keep(http, bytes, length, is_ok ? HTTP_KEPT_MAX : REFUSAL_BYTES);
    }
    if (http->body_end == BODY_ENOUGH) {
        http->skipped += length;
        return http->skipped <= SKIPPED_MAX;
    }
    if (http->current->rows != NULL) {
        return take_elements(http, bytes, length);
    }
    char *end;
    while (http->body_end != BODY_ENOUGH && (end = memchr(bytes, '\n', length)) != NULL) {
        const size_t line = (size_t)(end - bytes);
        if (!take_line(http, bytes, line)) {
            return false;
        }
        bytes = end + 1;
        length -= line + 1;
    }
    return length == 0 || http->body_end == BODY_ENOUGH || keep(http, bytes, length, HTTP_LINE_MAX);
}

/* Reads the answer to its end, or until the request needs no more of it. */
static enum status read_answer(struct http *http, struct error *error)
{
    struct http_answer *answer = &http->answer;
    while (answer->phase < HTTP_WHOLE) {
        const ssize_t got = receive(http);
        if (got > 0) {
            if (http_answer_read(answer, http->in, (size_t)got) < (size_t)got) {
                answer->ends_connection = true; /* the server has sent more than one answer */
            }
        } else if (http->body_end == BODY_ENOUGH) {
            answer->phase = HTTP_CUT; /* the rest of the answer is not wanted */
        } else if (got < 0) {
            const bool is_late = errno == ETIMEDOUT;
            const enum error_kind other = errno == ECANCELED ? ERROR_CANCELLED : ERROR_CONNECTION;
            return lost(http, is_late ? ERROR_TIMEOUT : other, errno, "no answer", error);
        } else if (atomic_load(&http->is_interrupted) || !http_answer_end(answer)) {
            return lost(http, ERROR_CONNECTION, 0,
                        answer->head.length == 0
                            ? "the server ended the connection instead of answering"
                            : "the server ended the connection in the middle of its answer",
                        error);
        }
    }
    const bool is_ok = answer->status / 100 == 2;
    const bool takes_lines = http->current->take != NULL && http->current->rows == NULL;
    if (answer->phase == HTTP_WHOLE && is_ok && takes_lines && http->body.length > 0) {
        take_line(http, http->in, 0); /* the last line may lack a line break */
    }
    if (answer->fault != NULL) {
        error_set(error, ERROR_SERVER, 0, NULL, "%s: the answer cannot be read: %s%s", http->place,
                  answer->fault,
                  answer->status == 0 && !http->is_tls
                      ? "; if the server uses TLS, add ?tls=require"
                      : "");
        disconnect(http);
        return STATUS_LOST;
    }
    if (http->body_end == BODY_NO_MEMORY) {
        disconnect(http);
        dialect_memory_error(error);
        return STATUS_LOST; /* the request may have been carried out */
    }
    if (http->body_end == BODY_TOO_LONG && is_ok) {
        return lost(http, ERROR_SERVER, 0,
                    takes_lines || http->at == HTTP_ELEMENT
                        ? "a line or row of the answer is longer than 16 MiB"
                        : "the answer is longer than 64 MiB",
                    error);
    }
    if (answer->phase == HTTP_CUT || answer->ends_connection) {
        disconnect(http);
    }
    return STATUS_OK;
}

static void write_head(struct http *http, const struct http_request *request)
{
    struct buffer *head = &http->head;
    const char *const parts[] = {request->method, " ", request->path, " HTTP/1.1\r\n"};
    buffer_clear(head);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        buffer_add_text(head, parts[i]);
    }
    buffer_add(head, http->fixed.bytes, http->fixed.length);
    buffer_add_text(head, "User-Agent: append/" APPEND_VERSION);
    buffer_add_text(head, request->agent != NULL ? request->agent : "");
    buffer_add_text(head, "\r\nAccept: ");
    buffer_add_text(head, request->accept != NULL ? request->accept : "*/*");
    if (request->type != NULL) {
        buffer_add_text(head, "\r\nContent-Type: ");
        buffer_add_text(head, request->type);
    }
    if (request->type != NULL || strcmp(request->method, "GET") != 0) {
        buffer_add_format(head, "\r\nContent-Length: %zu", request->length);
    }
    buffer_add(head, "\r\n\r\n", 4);
}

/* Empties a buffer, and frees it if it has grown large. */
static void empty_buffer(struct buffer *buffer)
{
    if (buffer->capacity > IDLE_BYTES) {
        buffer_fini(buffer);
    } else {
        buffer_clear(buffer);
    }
}

static void explain_status(unsigned status, struct dialect_meaning *meaning)
{
    static const struct {
        unsigned status;
        enum status result;
        enum error_kind kind;
    } known[] = {
        {401, STATUS_FATAL, ERROR_AUTH},         {403, STATUS_FATAL, ERROR_AUTH},
        {404, STATUS_REJECTED, ERROR_NOT_FOUND}, {408, STATUS_LOST, ERROR_TIMEOUT},
        {413, STATUS_REJECTED, ERROR_DATA},      {429, STATUS_REJECTED, ERROR_BUSY},
        {502, STATUS_LOST, ERROR_CONNECTION},    {503, STATUS_REJECTED, ERROR_BUSY},
        {504, STATUS_LOST, ERROR_TIMEOUT},
    };
    *meaning = (struct dialect_meaning){STATUS_REJECTED, ERROR_SERVER, NULL};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (known[i].status == status) {
            meaning->status = known[i].result;
            meaning->kind = known[i].kind;
        }
    }
    if (status / 100 == 3) {
        *meaning = (struct dialect_meaning){STATUS_FATAL, ERROR_UNSUPPORTED, NULL};
    }
}

/* Writes the message for an error answer if the database's classify_error found no message in
 * it. */
static void describe_status(const struct http *http, const char *body, size_t length,
                            char text[ERROR_TEXT_BYTES])
{
    const struct http_answer *answer = &http->answer;
    size_t place_length = 0;
    const char *place = http_answer_header(answer, "Location", &place_length);
    const size_t blank = strspn(body, " \t\r\n");
    const bool has_words = blank < length && body[blank] != '<';
    const char *const reason = answer->head.bytes + 9;
    if (answer->status / 100 == 3) {
        snprintf(text, ERROR_TEXT_BYTES,
                 "HTTP status %u: the server redirects, and append does not follow; put the new "
                 "address into the URL: %.*s",
                 answer->status, (int)place_length, place != NULL ? place : "");
    } else {
        snprintf(text, ERROR_TEXT_BYTES, "HTTP status %.*s%s%.160s", (int)strcspn(reason, "\r\n"),
                 reason, has_words ? ": " : "", has_words ? body + blank : "");
    }
}

/* Adds advice for the statuses 413 and 401; for 401 only if the server's message does not mention a
 * password. */
static void add_advice(unsigned status, const char *message, char text[ERROR_TEXT_BYTES])
{
    const char *advice = status == 413 ? "use a smaller --batch" : NULL;
    if (status == 401 && strcasestr(message, "password") == NULL) {
        advice = "give --user and its password (--password-file FILE)";
    }
    if (advice != NULL) {
        const size_t room = ERROR_TEXT_BYTES - strlen(advice) - sizeof ": ";
        char whole[ERROR_TEXT_BYTES];
        snprintf(whole, sizeof whole, "%.*s: %s", (int)room, message, advice);
        memcpy(text, whole, sizeof whole);
    }
}

enum status http_record_error(struct http *http, const char *body, size_t length,
                              struct error *error)
{
    char text[ERROR_TEXT_BYTES] = "";
    const unsigned status = http->answer.status;
    const bool is_opening = http->until_ns != 0;
    struct dialect_failure failure = {
        .is_connecting = is_opening, .number = (int)status, .sqlstate = "", .text = text};
    struct dialect_meaning meaning;
    explain_status(status, &meaning);
    if (http->database->classify_error != NULL && status / 100 != 3) {
        http->database->classify_error(status, body, length, &failure, &meaning, text);
    }
    if (failure.text[0] == '\0') {
        describe_status(http, body, length, text);
        failure.text = text;
        if (meaning.status == STATUS_REJECTED && (status == 429 || status >= 500) && !is_opening &&
            (http->database->is_own == NULL ||
             !http->database->is_own(status, buffer_text(&http->answer.head), body))) {
            /* A proxy in front of the database may have sent the answer. The proxy does not know
             * what the database did. */
            meaning = (struct dialect_meaning){STATUS_LOST, ERROR_CONNECTION, NULL};
        }
    }
    if (status == 401 || status == 413) {
        add_advice(status, failure.text, text);
        failure.text = text[0] != '\0' ? text : failure.text;
    }
    if (is_opening && meaning.status == STATUS_REJECTED) {
        const bool can_pass = meaning.kind == ERROR_BUSY || meaning.kind == ERROR_SERVER ||
                              meaning.kind == ERROR_LIMIT;
        meaning.status = can_pass ? STATUS_LOST : STATUS_FATAL;
    }
    if (meaning.status == STATUS_LOST) {
        disconnect(http);
    }
    return dialect_record(&meaning, &failure, failure.text, error);
}

enum status http_send(struct http *http, const struct http_request *request, struct error *error)
{
    http->current = request;
    http->written = 0;
    http->body_end = BODY_OPEN;
    http->splitter = (struct http_splitter){.name = request->rows};
    http->at = HTTP_AROUND;
    http->skipped = 0;
    empty_buffer(&http->body);
    empty_buffer(&http->answer.head);
    http_answer_clear(&http->answer);
    write_head(http, request);
    if (buffer_failed(&http->head)) {
        return dialect_memory_error(error);
    }
    enum status status = ensure_connected(http, error);
    if (status != STATUS_OK) {
        return status;
    }
    bool is_sent = send_request(http);
    if (!is_sent && http->written == 0 && errno != ETIMEDOUT && errno != ECANCELED) {
        /* the idle connection ended and no byte was sent, so the request can be sent on a new
         * connection */
        status = reconnect(http, error);
        is_sent = status == STATUS_OK && send_request(http);
    }
    if (request->body_buffer != NULL) {
        buffer_fini(request->body_buffer);
    }
    if (status == STATUS_OK) {
        /* read the answer even if the request was not sent completely, because the answer may
         * contain the reason */
        http->answer.ends_connection = !is_sent;
        status = read_answer(http, error);
    }
    empty_buffer(&http->head);
    if (status == STATUS_OK && !is_sent && http->answer.status / 100 == 2) {
        return lost(http, ERROR_CONNECTION, 0,
                    "the server answered before the request was sent completely", error);
    }
    if (status != STATUS_OK || http->answer.status / 100 == 2) {
        return status;
    }
    return http_record_error(http, buffer_text(&http->body), http->body.length, error);
}

void http_add_loss(struct http *http, enum status status, uint64_t rows)
{
    if (status != STATUS_LOST) {
        http->loss.refused += rows;
    } else if (http->written > 0) {
        http->loss.in_doubt += rows;
    }
}

void http_append_lost(const struct adapter_conn *conn, struct append_loss *loss)
{
    *loss = http_of(conn)->loss;
}

const char *http_body(const struct http *http, size_t *length)
{
    if (length != NULL) {
        *length = http->body.length;
    }
    return buffer_text(&http->body);
}

unsigned http_status(const struct http *http)
{
    return http->answer.status;
}

enum status http_malformed_answer(struct http *http, const char *what, struct error *error)
{
    error_set(error, ERROR_CONNECTION, (int)http->answer.status, NULL,
              "the answer to %s is not in the database's format (HTTP status %u, %zu bytes): it is "
              "unknown whether the request was carried out",
              what, http->answer.status, http->body.length);
    disconnect(http);
    return STATUS_LOST;
}

const char *http_header(const struct http *http, const char *name)
{
    size_t length = 0;
    const char *value = http_answer_header(&http->answer, name, &length);
    if (value == NULL) {
        return NULL;
    }
    char *const start = http->answer.head.bytes;
    start[(size_t)(value - start) + length] = '\0'; /* the '\0' replaces a blank or '\r' */
    return value;
}

json_t *http_json(const struct http *http, struct error *error)
{
    return http_parse(buffer_text(&http->body), http->body.length, error);
}

/*
 * Opening
 */

static enum status refuse_parameter(struct error *error, const char *key, const char *right)
{
    error_set(error, ERROR_USAGE, 0, NULL, "parameter %s of the URL: %s", key, right);
    return STATUS_FATAL;
}

static enum status set_parameter(struct http *http, const struct url_parameter *parameter,
                                 struct adapter_conn *conn, struct error *error)
{
    static const char *const ways[] = {
        [AUTH_BASIC] = "basic", [AUTH_BEARER] = "bearer", [AUTH_HEADER] = "header"};
    const char *const key = parameter->key, *const value = parameter->value;
    if (strcmp(key, "tls") == 0) {
        http->is_verified = strcmp(value, "verify") == 0;
        http->is_tls = http->is_verified || strcmp(value, "require") == 0;
        return http->is_tls || strcmp(value, "off") == 0
                   ? STATUS_OK
                   : refuse_parameter(error, key, "use off, require or verify");
    }
    if (strcmp(key, "ca") == 0) {
        free(http->ca_file);
        http->ca_file = strdup(value);
        if (access(value, R_OK) != 0) {
            char text[ERROR_TEXT_BYTES];
            snprintf(text, sizeof text, "%.150s: %s", value, strerror(errno));
            return refuse_parameter(error, key, text);
        }
        return http->ca_file == NULL ? dialect_memory_error(error) : STATUS_OK;
    }
    if (strcmp(key, "auth") == 0) {
        for (size_t i = 0; i < COUNT_OF(ways); i++) {
            if (strcmp(value, ways[i]) == 0) {
                http->auth = (enum auth)i;
                return http->auth != AUTH_HEADER || http->database->user_header != NULL
                           ? STATUS_OK
                           : refuse_parameter(error, key,
                                              "this database has no headers for user and password: "
                                              "use basic or bearer");
            }
        }
        return refuse_parameter(error, key, "use basic, bearer or header");
    }
    struct error reason = {0};
    if (http->database->set != NULL && http->database->set(conn, key, value, &reason)) {
        return STATUS_OK;
    }
    return refuse_parameter(error, key, error_is_set(&reason) ? reason.text : "unknown parameter");
}

static enum status read_parameters(struct http *http, const char *query, struct adapter_conn *conn,
                                   struct error *error)
{
    const char *rest = query;
    struct url_parameter parameter;
    bool is_ok = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && url_query_next(&rest, &parameter, &is_ok)) {
        status = is_ok ? set_parameter(http, &parameter, conn, error)
                       : refuse_parameter(error, parameter.key, "too long or wrongly encoded");
    }
    if (status == STATUS_OK && http->ca_file != NULL && !http->is_verified) {
        status = refuse_parameter(error, "ca", "ca does nothing without tls=verify");
    }
    return status;
}

unsigned http_count_files(const struct target *target, unsigned *opening)
{
    const char *rest = target->query;
    struct url_parameter parameter;
    bool is_ok = true, is_tls = false;
    while (url_query_next(&rest, &parameter, &is_ok)) {
        if (is_ok && strcmp(parameter.key, "tls") == 0) {
            is_tls = strcmp(parameter.value, "off") != 0;
        }
    }
    *opening = is_tls ? 0 : HTTP_LIBRARY_FILES;
    return is_tls ? 1 + HTTP_LIBRARY_FILES : 1;
}

static void add_header(struct buffer *to, const char *name, const char *value)
{
    buffer_add_text(to, name);
    buffer_add_text(to, ": ");
    buffer_add_text(to, value);
    buffer_add_text(to, "\r\n");
}

static bool is_clean(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ' && *text != 0x7f) {
        text++;
    }
    return *text == '\0';
}

/* Writes the headers that every request has: host and credentials. */
static enum status write_fixed(struct http *http, const struct target *target, struct error *error)
{
    const struct http_database *database = http->database;
    const char *const user = target->user != NULL ? target->user : database->default_user;
    const char *const password = target->password != NULL ? target->password : "";
    struct buffer *const fixed = &http->fixed;
    add_header(fixed, "Host", http->place);
    if (http->auth == AUTH_BEARER) {
        if (password[0] == '\0') {
            return refuse_parameter(error, "auth",
                                    "bearer needs a token as the password (--password-file FILE)");
        }
        buffer_add_text(fixed, "Authorization: Bearer ");
        buffer_add_text(fixed, password);
        buffer_add_text(fixed, "\r\n");
    } else if (http->auth == AUTH_HEADER && user != NULL) {
        add_header(fixed, database->user_header, user);
        add_header(fixed, database->password_header, password);
    } else if (user != NULL) {
        struct buffer pair;
        buffer_init(&pair);
        buffer_add_format(&pair, "%s:%s", user, password);
        buffer_add_text(fixed, "Authorization: Basic ");
        http_add_base64(fixed, pair.bytes, pair.length);
        buffer_add_text(fixed, "\r\n");
        fixed->has_failed |= buffer_failed(&pair);
        buffer_fini(&pair);
    }
    if (http->auth != AUTH_BASIC && (!is_clean(password) || (user != NULL && !is_clean(user)))) {
        return refuse_parameter(
            error, "auth", "user or password contains characters that a header cannot contain");
    }
    return buffer_failed(fixed) ? dialect_memory_error(error) : STATUS_OK;
}

static enum status write_places(struct http *http, const struct target *target, struct error *error)
{
    const char *const host = target->host != NULL ? target->host : "127.0.0.1";
    const unsigned port = target->port != 0 ? target->port : http->database->default_port;
    const bool is_ipv6 = strchr(host, ':') != NULL;
    if (host[strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-:%")] !=
            '\0' ||
        strlen(host) > 253) {
        error_set(error, ERROR_USAGE, 0, NULL, "'%.150s' is not the name or address of a host",
                  host);
        return STATUS_FATAL;
    }
    snprintf(http->place, sizeof http->place, "%s%s%s:%u", is_ipv6 ? "[" : "", host,
             is_ipv6 ? "]" : "", port);
    if (asprintf(&http->url, "%s://%s/", http->is_tls ? "https" : "http", http->place) < 0) {
        http->url = NULL;
        return dialect_memory_error(error);
    }
    return STATUS_OK;
}

static enum status ping(struct http *http, struct error *error)
{
    const struct http_request request = {.method = "GET", .path = http->database->ping};
    return http_send(http, &request, error);
}

static void destroy(struct http *http)
{
    disconnect(http);
    buffer_fini(&http->fixed);
    buffer_fini(&http->head);
    buffer_fini(&http->body);
    http_answer_fini(&http->answer);
    free(http->url);
    free(http->ca_file);
    free(http);
}

enum status http_open(const struct adapter *adapter, const struct target *target,
                      struct adapter_conn **conn, struct error *error)
{
    const struct http_database *const database = adapter->own;
    *conn = NULL;
    if (target->schema != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--schema: this database has no schemas; name the database in the URL or with "
                  "--database");
        return STATUS_FATAL;
    }
    struct adapter_conn *const made = calloc(1, database->conn_bytes);
    struct http *const http = calloc(1, sizeof *http);
    if (made == NULL || http == NULL) {
        free(made);
        free(http);
        return dialect_memory_error(error);
    }
    *(struct http **)made = http;
    http->database = database;
    http->connect_timeout_s = target->connect_timeout_s;
    http->answer_timeout_ms = target->answer_timeout_ms;
    http->is_cancelled = target->is_cancelled;
    http->sock = -1;
    http->answer.take = take_body;
    http->answer.context = http;
    enum status status = database->begin != NULL ? database->begin(made, target, error) : STATUS_OK;
    status = status == STATUS_OK ? read_parameters(http, target->query, made, error) : status;
    status = status == STATUS_OK ? write_places(http, target, error) : status;
    status = status == STATUS_OK ? write_fixed(http, target, error) : status;
    http->until_ns = mono_now_ns() + target->connect_timeout_s * MONO_NS_PER_S;
    status = status == STATUS_OK ? ping(http, error) : status;
    if (status == STATUS_OK && database->greet != NULL) {
        status = database->greet(made, target, error);
        status = status == STATUS_REJECTED ? STATUS_FATAL : status;
    }
    http->until_ns = 0;
    if (status == STATUS_OK) {
        *conn = made;
    } else {
        http_close(made);
    }
    return status;
}

void http_close(struct adapter_conn *conn)
{
    if (conn != NULL) {
        struct http *const http = http_of(conn);
        http->database->end(conn);
        destroy(http);
        free(conn);
    }
}

/*
 * The library
 */

void http_client_version(char *text, size_t size)
{
    const curl_version_info_data *about = curl_version_info(CURLVERSION_NOW);
    snprintf(text, size, "libcurl %s (%s)", about->version,
             about->ssl_version != NULL ? about->ssl_version : "without TLS");
}

enum status http_start(const char *client_lib, struct adapter_library **library,
                       struct error *error)
{
    (void)client_lib;
    (void)library;
    const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        error_set(error, ERROR_SYSTEM, (int)code, NULL, "libcurl cannot be initialised: %s",
                  curl_easy_strerror(code));
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

void http_stop(struct adapter_library *library)
{
    (void)library;
    curl_global_cleanup();
}
