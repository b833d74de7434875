/* Tests the HTTP transport with a server in this file that follows the test's instructions: what is
 * sent, how often, and what happens for each way in which an answer can go wrong. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/http.h"
#include "base/mono.h"

extern const struct adapter adapter_clickhouse, adapter_influxdb, adapter_singlestore,
    adapter_arangodb;

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/*
 * The reader of answers
 */

static bool collect(void *context, char *bytes, size_t length)
{
    buffer_add(context, bytes, length);
    return true;
}

/* Reads `text` in parts that end at `first` and `second`. */
static void read_cut(struct http_answer *answer, struct buffer *body, const char *text,
                     size_t length, const size_t cuts[2])
{
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, text, length + 1);
    *answer = (struct http_answer){.take = collect, .context = body};
    buffer_init(body);
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        const size_t end = i < 2 ? cuts[i] : length;
        while (at < end && answer->phase < HTTP_WHOLE) {
            at += http_answer_read(answer, copy + at, end - at);
        }
    }
    free(copy);
}

static void end_reading(struct http_answer *answer, struct buffer *body)
{
    http_answer_fini(answer);
    buffer_fini(body);
}

static const struct {
    const char *text;
    unsigned status;
    const char *body;
    bool ends_connection;
} answers[] = {
    {OK_ANSWER, 200, "ok", false},
    {"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", 204, "", false},
    {"HTTP/1.1 200\nContent-length:2 \nConnection: close\n\nok", 200, "ok", true},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true},
    {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" OK_ANSWER, 200, "ok", false},
    {"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0a;x=y\r\n0123456789\r\n"
     "0\r\nTrailer: t\r\n\r\n",
     500, "abc0123456789", false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n", 200, "ok", false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nB\r\n0123456789a\r\na\r\n0123456789\r\n"
     "0\r\n\r\n",
     200, "0123456789a0123456789", false},
    {"HTTP/1.1 200 OK\r\nContent-Lengthy: 7\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
    {"HTTP/1.1 200 OK\r\nConnection: not-closed\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
    {"HTTP/1.1 200 OK\r\nConnection: upgrade, close\r\nContent-Length: 2\r\n\r\nok", 200, "ok",
     true},
};

/* An answer that is cut in any two places is read the same. */
TEST(test_cut_anywhere)
{
    EACH_CASE (i, answers, "%s", answers[i].text) {
        const size_t length = strlen(answers[i].text);
        for (size_t first = 0; first <= length; first++) {
            for (size_t second = first; second <= length; second++) {
                struct http_answer answer;
                struct buffer body;
                read_cut(&answer, &body, answers[i].text, length, (size_t[2]){first, second});
                assert_int_equal(answer.phase, HTTP_WHOLE);
                assert_int_equal(answer.status, answers[i].status);
                assert_string_equal(buffer_text(&body), answers[i].body);
                assert_int_equal(answer.ends_connection, answers[i].ends_connection);
                end_reading(&answer, &body);
            }
        }
    }
}

/* An answer that ends too early is incomplete, wherever it ends. */
TEST(test_ends_early)
{
    EACH_CASE (i, answers, "%s", answers[i].text) {
        for (size_t length = 0; length < strlen(answers[i].text); length++) {
            struct http_answer answer;
            struct buffer body;
            read_cut(&answer, &body, answers[i].text, length, (size_t[2]){0, 0});
            assert_true(answer.phase < HTTP_WHOLE);
            assert_false(http_answer_end(&answer));
            end_reading(&answer, &body);
        }
    }
}

TEST(test_body_to_the_end)
{
    static const char text[] = "HTTP/1.1 200 OK\r\n\r\nsome\nlines";
    struct http_answer answer;
    struct buffer body;
    read_cut(&answer, &body, text, sizeof text - 1, (size_t[2]){20, 25});
    assert_int_equal(answer.phase, HTTP_TO_END);
    assert_true(http_answer_end(&answer));
    assert_true(answer.ends_connection);
    assert_string_equal(buffer_text(&body), "some\nlines");
    end_reading(&answer, &body);
}

TEST(test_no_answer)
{
    static const char *const texts[] = {
        "R",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00000000000000001\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n",
    };
    EACH_CASE (i, texts, "%s", texts[i]) {
        struct http_answer answer;
        struct buffer body;
        read_cut(&answer, &body, texts[i], strlen(texts[i]), (size_t[2]){0, 0});
        assert_int_equal(answer.phase, HTTP_CUT);
        assert_non_null(answer.fault);
        end_reading(&answer, &body);
    }
}

/* The length of a head, of a chunk's line and of a trailer is limited. */
TEST(test_bounded)
{
    static const char *const beginnings[] = {
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    };
    EACH_CASE (i, beginnings, "%s", beginnings[i]) {
        struct http_answer answer;
        struct buffer body;
        char more[] = "X: y";
        read_cut(&answer, &body, beginnings[i], strlen(beginnings[i]), (size_t[2]){0, 0});
        unsigned rounds = 0;
        while (answer.phase < HTTP_WHOLE && rounds < 100000) {
            http_answer_read(&answer, more, sizeof more - 1);
            rounds++;
        }
        assert_non_null(answer.fault);
        assert_true(rounds < 20000);
        end_reading(&answer, &body);
    }
}

/*
 * A server
 */

enum then {
    STAY,
    CLOSE,
    RESET,
    FLOOD, /* the answer is followed by 1 GiB, or as much as the client reads */
    /* the answer is followed by MANY_ROWS elements of an array; then the connection is closed */
    ROWS,
    HEAD_ONLY /* the body of the request is not read, and the connection is closed */
};

enum {
    MANY_ROWS = 80 * 1024 /* elements of 1 KiB */
};

struct turn {
    const char *answer; /* NULL if the server does not answer */
    enum then then;
    size_t cut; /* the answer is sent in parts of this size; 0: as a whole */
};

#define OK_TURN OK_ANSWER, STAY, 0

static struct server {
    const struct turn *turns; /* a turn for each request; a zeroed turn ends the list */
    int listener;
    int queue[8]; /* connections that the server does not accept: see fill_queue */
    size_t queued;
    uint16_t port;
    pthread_t thread;
    atomic_int sock;                         /* the connection's socket; -1 if not connected */
    atomic_uint connections, requests, done; /* `done` counts turns */
    atomic_size_t body_bytes;                /* received bytes of the bodies of all requests */
    char latest[4096];                       /* the latest request; valid when its turn is done */
} server;

/* Reads one request; returns false if the client has closed the connection. */
static bool read_request(int sock, bool is_head_only)
{
    char text[sizeof server.latest];
    size_t used = 0, body = 0, wanted = 0;
    char *end = NULL;
    char rest[65536];
    text[0] = '\0';
    while ((end = strstr(text, "\r\n\r\n")) == NULL) {
        const ssize_t got = recv(sock, text + used, sizeof text - 1 - used, 0);
        if (got <= 0) {
            return false;
        }
        used += (size_t)got;
        text[used] = '\0';
    }
    const char *length = strstr(text, "Content-Length: ");
    wanted = length == NULL ? 0 : strtoul(length + 16, NULL, 10);
    body = used - (size_t)(end + 4 - text);
    while (body < wanted && !is_head_only) {
        const ssize_t got = recv(sock, rest, sizeof rest, 0);
        if (got <= 0) {
            return false;
        }
        body += (size_t)got;
    }
    memcpy(server.latest, text, used + 1);
    atomic_fetch_add(&server.body_bytes, body);
    atomic_fetch_add(&server.requests, 1);
    return true;
}

static void send_answer(int sock, const struct turn *turn)
{
    const size_t length = turn->answer == NULL ? 0 : strlen(turn->answer);
    for (size_t at = 0; at < length;) {
        const size_t part = turn->cut == 0 || turn->cut > length - at ? length - at : turn->cut;
        if (send(sock, turn->answer + at, part, MSG_NOSIGNAL) != (ssize_t)part) {
            return;
        }
        at += part;
    }
    static char flood[1 << 20];
    memset(flood, 'x', sizeof flood);
    for (size_t i = 0; turn->then == ROWS && i < sizeof flood; i += 1024) {
        flood[i] = flood[i + 1022] = '"';
        flood[i + 1023] = ',';
    }
    const int rows = turn->then == ROWS ? MANY_ROWS / 1024 : 0;
    const int parts = turn->then == FLOOD ? 1024 : rows;
    for (int i = 0; i < parts; i++) {
        if (send(sock, flood, sizeof flood, MSG_NOSIGNAL) < 0) {
            return;
        }
    }
    if (turn->then == ROWS) {
        send(sock, "null]}", 6, MSG_NOSIGNAL);
    }
}

static void *serve(void *unused)
{
    (void)unused;
    int sock = -1;
    for (const struct turn *turn = server.turns; turn->answer != NULL || turn->then != STAY;) {
        if (sock < 0) {
            sock = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
            if (sock < 0) {
                return NULL;
            }
            const int yes = 1;
            setsockopt(sock, IPPROTO_TCP, 1 /* TCP_NODELAY */, &yes, sizeof yes);
            atomic_store(&server.sock, sock);
            atomic_fetch_add(&server.connections, 1);
        }
        if (!read_request(sock, turn->then == HEAD_ONLY)) {
            close(sock);
            sock = -1;
            continue;
        }
        send_answer(sock, turn);
        if (turn->then == RESET) {
            const struct linger now = {.l_onoff = 1};
            setsockopt(sock, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        if (turn->then != STAY) {
            close(sock);
            sock = -1;
        }
        turn++;
        atomic_fetch_add(&server.done, 1);
    }
    if (sock >= 0) {
        char byte;
        while (recv(sock, &byte, 1, 0) > 0) {
        }
        close(sock);
    }
    return NULL;
}

static void start_server(const struct turn *turns)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    server = (struct server){.turns = turns};
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server.listener, 8), 0);
    assert_int_equal(getsockname(server.listener, (struct sockaddr *)&address, &length), 0);
    server.port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void stop_server(void)
{
    shutdown(server.listener, SHUT_RDWR);
    assert_int_equal(pthread_join(server.thread, NULL), 0);
    close(server.listener);
    while (server.queued > 0) {
        close(server.queue[--server.queued]);
    }
}

/* Drops the latest connection. With `ends` the server also stops accepting connections, as if it
 * had ended. */
static void drop_connection(bool ends)
{
    shutdown(atomic_load(&server.sock), SHUT_RDWR);
    if (ends) {
        stop_server();
    }
}

/* Waits until the server has finished `turns` turns, so that the connections of these turns are
 * closed. */
static void wait_for_turns(unsigned turns)
{
    while (atomic_load(&server.done) < turns) {
        mono_sleep(MONO_NS_PER_MS);
    }
}

/* Checks that every connected client was served. */
static void check_no_client_waits(void)
{
    struct pollfd listener = {.fd = server.listener, .events = POLLIN};
    assert_int_equal(poll(&listener, 1, 50), 0);
}

/*
 * The client
 */

static void explain_by_words(unsigned status, const char *body, size_t length,
                             struct dialect_failure *failure, struct dialect_meaning *meaning,
                             char text[ERROR_TEXT_BYTES])
{
    (void)status;
    if (strncmp(body, "duplicate", 9) == 0) {
        failure->number = 1062;
        meaning->kind = ERROR_DUPLICATE;
        meaning->status = STATUS_REJECTED;
        snprintf(text, ERROR_TEXT_BYTES, "%.*s!", (int)length, body);
    }
}

static bool set_shards(struct adapter_conn *conn, const char *key, const char *value,
                       struct error *error)
{
    (void)conn;
    if (strcmp(key, "shards") == 0 && value[0] == 'x') {
        error_set(error, ERROR_USAGE, 0, NULL, "use a number");
    }
    return strcmp(key, "shards") == 0 && value[0] != 'x';
}

struct adapter_conn {
    struct http *http;
};

static void end(struct adapter_conn *conn)
{
    assert_non_null(conn->http);
}

/* Whether opening a connection sends a request (is_greeting), and whether it first waits until the
 * connect timeout is over (is_late). */
static bool is_greeting, is_late;

/* Connects until the server's queue is full, so that the next client waits forever. These
 * connections end when the server is stopped. */
static void fill_queue(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(server.port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct pollfd one = {.events = POLLOUT};
    listen(server.listener, 0);
    do {
        assert_true(server.queued < COUNT_OF(server.queue));
        one.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        server.queue[server.queued++] = one.fd;
        (void)connect(one.fd, (const struct sockaddr *)&address, sizeof address);
    } while (poll(&one, 1, 200) > 0);
}

static enum status greet(struct adapter_conn *conn, const struct target *target,
                         struct error *failure)
{
    const struct http_request request = {.method = "GET", .path = "/version"};
    if (is_late) {
        fill_queue();
        mono_sleep(target->connect_timeout_s * MONO_NS_PER_S);
    }
    return is_greeting ? http_send(conn->http, &request, failure) : STATUS_OK;
}

/* Recognises an answer of the server in this file. */
static bool is_own(unsigned status, const char *headers, const char *body)
{
    (void)status;
    (void)headers;
    return strcmp(body, "words") == 0;
}

static const struct http_database database = {
    .conn_bytes = sizeof(struct adapter_conn),
    .default_port = 8123,
    .user_header = "X-User",
    .password_header = "X-Key",
    .ping = "/ping",
    .is_own = is_own,
    .end = end,
    .set = set_shards,
    .greet = greet,
    .classify_error = explain_by_words,
};

static const struct adapter served = {.own = &database};

static struct error error;

/* Opens the server; a timeout of 0 becomes 20 s. */
static enum status open_with(struct adapter_conn **conn, struct target *target)
{
    error_clear(&error);
    target->host = "127.0.0.1";
    target->port = server.port;
    if (target->connect_timeout_s == 0) {
        target->connect_timeout_s = 20;
    }
    return http_open(&served, target, conn, &error);
}

static struct target plain;

static struct adapter_conn *open_plain(void)
{
    struct adapter_conn *conn = NULL;
    plain = (struct target){0};
    assert_int_equal(open_with(&conn, &plain), STATUS_OK);
    assert_string_equal(error.text, "");
    return conn;
}

static enum status post(struct adapter_conn *conn, const char *body)
{
    const struct http_request request = {.method = "POST",
                                         .path = "/rows?x=1",
                                         .type = "text/plain",
                                         .body = body,
                                         .length = strlen(body)};
    error_clear(&error);
    return http_send(conn->http, &request, &error);
}

TEST(test_request)
{
    static const struct turn turns[] = {
        {"HTTP/1.1 200 OK\r\nA: b\r\nX-Version: 1.8 \r\nLast: z\r\nContent-Length: 2\r\n\r\nok",
         STAY, 0},
        {OK_ANSWER, STAY, 1},
        {0}};
    start_server(turns);
    struct target target = {.user = "me", .password = "s:c"};
    struct adapter_conn *conn = NULL;
    assert_int_equal(open_with(&conn, &target), STATUS_OK);
    assert_string_equal(http_header(conn->http, "x-version"), "1.8");
    assert_string_equal(http_header(conn->http, "last"), "z");
    assert_string_equal(http_header(conn->http, "A"), "b");
    assert_null(http_header(conn->http, "B"));
    wait_for_turns(1);
    assert_part(server.latest, "GET /ping HTTP/1.1\r\n");
    const struct http_request request = {.method = "POST",
                                         .path = "/rows?x=1",
                                         .type = "text/plain",
                                         .accept = "application/json",
                                         .agent = " (agent)",
                                         .body = "a\0b",
                                         .length = 3};
    assert_int_equal(http_send(conn->http, &request, &error), STATUS_OK);
    wait_for_turns(2);
    char wanted[512];
    snprintf(wanted, sizeof wanted,
             "POST /rows?x=1 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Basic bWU6czpj\r\n"
             "User-Agent: append/" APPEND_VERSION " (agent)\r\nAccept: application/json\r\n"
             "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\na",
             server.port);
    assert_string_equal(server.latest, wanted);
    size_t length = 0;
    assert_string_equal(http_body(conn->http, &length), "ok");
    assert_int_equal(length, 2);
    http_close(conn);
    stop_server();
    assert_int_equal(server.connections, 1);
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    for (int i = 0; i < 1024; i++) {
        count += fcntl(i, F_GETFD) >= 0 ? 1 : 0;
    }
    return count;
}

/* Without TLS a connection is one socket, and the library keeps nothing open. */
TEST(test_descriptors)
{
    static const struct turn turns[] = {{OK_TURN}, {OK_TURN}, {0}};
    static const struct {
        const char *query;
        unsigned files, opening;
    } targets[] = {
        {NULL, 1, 2}, {"x=1&tls=off", 1, 2}, {"tls=require&x=1", 3, 0}, {"tls=verify", 3, 0}};
    EACH_CASE (i, targets, "%s", targets[i].query != NULL ? targets[i].query : "no query") {
        unsigned opening = 9;
        const struct target target = {.query = targets[i].query};
        assert_int_equal(http_count_files(&target, &opening), targets[i].files);
        assert_int_equal(opening, targets[i].opening);
    }
    start_server(turns);
    const unsigned before = count_descriptors();
    struct adapter_conn *conn = open_plain();
    assert_int_equal(post(conn, "row"), STATUS_OK);
    /* the server's end of the connection is also a socket of this process */
    assert_int_equal(count_descriptors(), before + 2);
    http_close(conn);
    stop_server();
    assert_int_equal(count_descriptors(), before - 1);
}

TEST(test_credentials)
{
    static const struct turn turns[] = {{OK_TURN}, {OK_TURN}, {OK_TURN}, {0}};
    static const struct {
        struct target target;
        const char *there;
    } ways[] = {
        {{.query = "auth=bearer", .password = "token"}, "\r\nAuthorization: Bearer token\r\n"},
        {{.query = "auth=header&shards=3", .user = "u", .password = "p"},
         "\r\nX-User: u\r\nX-Key: p\r\n"},
        {{.query = ""}, "\r\nAccept: */*\r\n"},
    };
    start_server(turns);
    EACH_CASE (i, ways, "%s", ways[i].target.query) {
        struct target target = ways[i].target;
        struct adapter_conn *conn = NULL;
        assert_int_equal(open_with(&conn, &target), STATUS_OK);
        wait_for_turns((unsigned)i + 1);
        assert_part(server.latest, ways[i].there);
        assert_int_equal(strstr(server.latest, "Authorization") != NULL, i == 0);
        http_close(conn);
    }
    stop_server();
}

TEST(test_wrong_parameters)
{
    static const struct {
        struct target target;
        const char *words;
    } wrong[] = {
        {{.query = "tls=on"}, "off, require or verify"},
        {{.query = "ca=/nonexistent"}, "No such file"},
        {{.query = "ca=/dev/null"}, "does nothing without tls=verify"},
        {{.query = "auth=digest"}, "basic, bearer or header"},
        {{.query = "auth=bearer"}, "needs a token"},
        {{.query = "auth=bearer", .password = "a\r\nX: y"}, "characters that a header cannot"},
        {{.query = "shards=x"}, "shards of the URL: use a number"},
        {{.query = "colour=red"}, "colour of the URL: unknown parameter"},
        {{.query = "tls=%zz"}, "wrongly encoded"},
    };
    EACH_CASE (i, wrong, "%s", wrong[i].target.query) {
        struct target target = wrong[i].target;
        struct adapter_conn *conn = NULL;
        assert_int_equal(open_with(&conn, &target), STATUS_FATAL);
        assert_null(conn);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_part(error.text, wrong[i].words);
    }
    struct target target = {.host = "a b", .connect_timeout_s = 1};
    struct adapter_conn *conn = NULL;
    error_clear(&error);
    assert_int_equal(http_open(&served, &target, &conn, &error), STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_USAGE);
}

static bool always(void)
{
    return true;
}

TEST(test_open_fails)
{
    static const struct turn none[] = {{0}};
    struct target target = {0};
    struct adapter_conn *conn = NULL;
    start_server(none);
    stop_server();
    assert_int_equal(open_with(&conn, &target), STATUS_LOST);
    assert_int_equal(error.kind, ERROR_UNREACHABLE);
    assert_part(error.text, "nothing listens on 127.0.0.1:");
    start_server(none); /* the kernel accepts the connection, but the server does not */
    target.is_cancelled = always;
    assert_int_equal(open_with(&conn, &target), STATUS_LOST);
    assert_int_equal(error.kind, ERROR_CANCELLED);
    target = (struct target){.connect_timeout_s = 1};
    assert_int_equal(open_with(&conn, &target), STATUS_LOST);
    assert_int_equal(error.kind, ERROR_TIMEOUT);
    assert_null(conn);
    stop_server();
}

TEST(test_failures)
{
#define STATUS_ANSWER(line) "HTTP/1.1 " line "\r\nContent-Length: 5\r\n\r\nwords"
    static const struct {
        const char *answer;
        enum then then;
        enum status status;
        enum error_kind kind;
        int number;
        const char *text;
    } cases[] = {
        {STATUS_ANSWER("400 Bad"), STAY, STATUS_REJECTED, ERROR_SERVER, 400,
         "HTTP status 400 Bad: words"},
        {STATUS_ANSWER("401 No"), STAY, STATUS_FATAL, ERROR_AUTH, 401,
         "401 No: words: give --user and its password (--password-file FILE)"},
        {STATUS_ANSWER("403 No"), STAY, STATUS_FATAL, ERROR_AUTH, 403, "words"},
        {STATUS_ANSWER("404 No"), STAY, STATUS_REJECTED, ERROR_NOT_FOUND, 404, "words"},
        {STATUS_ANSWER("408 No"), STAY, STATUS_LOST, ERROR_TIMEOUT, 408, "words"},
        {STATUS_ANSWER("413 No"), STAY, STATUS_REJECTED, ERROR_DATA, 413,
         "413 No: words: use a smaller --batch"},
        {STATUS_ANSWER("429 No"), STAY, STATUS_REJECTED, ERROR_BUSY, 429, "words"},
        {STATUS_ANSWER("500 No"), STAY, STATUS_REJECTED, ERROR_SERVER, 500, "words"},
        {STATUS_ANSWER("502 No"), STAY, STATUS_LOST, ERROR_CONNECTION, 502, "words"},
        {STATUS_ANSWER("503 No"), STAY, STATUS_REJECTED, ERROR_BUSY, 503, "words"},
        {STATUS_ANSWER("504 No"), STAY, STATUS_LOST, ERROR_TIMEOUT, 504, "words"},
        {"HTTP/1.1 301 Moved\r\nLocation: https://other/x\r\nContent-Length: 0\r\n\r\n", STAY,
         STATUS_FATAL, ERROR_UNSUPPORTED, 301, "https://other/x"},
        {"HTTP/1.1 500 No\r\nContent-Length: 6\r\n\r\n<html>", STAY, STATUS_LOST, ERROR_CONNECTION,
         500, "HTTP status 500 No"},
        {"HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nwait", STAY, STATUS_LOST, ERROR_CONNECTION,
         503, "503 No: wait"},
        {"HTTP/1.1 429 No\r\nContent-Length: 4\r\n\r\nwait", STAY, STATUS_LOST, ERROR_CONNECTION,
         429, "429 No: wait"},
        {"HTTP/1.1 400 No\r\nContent-Length: 13\r\n\r\nduplicate key", STAY, STATUS_REJECTED,
         ERROR_DUPLICATE, 1062, "duplicate key!"},
        {"HTTP/1.1 200 OK\r\nContent-Le", CLOSE, STATUS_LOST, ERROR_CONNECTION, 0,
         "in the middle of its answer"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", CLOSE, STATUS_LOST, ERROR_CONNECTION, 0,
         "in the middle of its answer"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok", CLOSE, STATUS_LOST,
         ERROR_CONNECTION, 0, "in the middle of its answer"},
        {"", CLOSE, STATUS_LOST, ERROR_CONNECTION, 0, "instead of answering"},
        {"\x15\x03\x01", CLOSE, STATUS_LOST, ERROR_SERVER, 0, "add ?tls=require"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", FLOOD, STATUS_LOST, ERROR_SERVER,
         0, "longer than 64 MiB"},
        {"HTTP/1.1 200 OK\r\n\r\n", FLOOD, STATUS_LOST, ERROR_SERVER, 0, "longer than 64 MiB"},
    };
    struct turn turns[2 * COUNT_OF(cases) + 1] = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        turns[2 * i] = (struct turn){OK_TURN};
        turns[2 * i + 1] = (struct turn){cases[i].answer, cases[i].then, 3};
    }
    start_server(turns);
    EACH_CASE (i, cases, "%s", cases[i].answer) {
        struct adapter_conn *conn = open_plain();
        assert_int_equal(post(conn, "a row"), cases[i].status);
        assert_int_equal(error.kind, cases[i].kind);
        assert_int_equal(error.native_code, cases[i].number);
        assert_part(error.text, cases[i].text);
        http_close(conn);
    }
    stop_server();
    assert_int_equal(server.requests, 2 * COUNT_OF(cases));
}

TEST(test_no_schemas)
{
    struct target target = {.schema = "aside"};
    struct adapter_conn *conn = NULL;
    assert_int_equal(open_with(&conn, &target), STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_part(error.text, "--schema: this database has no schemas");
    assert_null(conn);
}

/* An HTTP status while opening never results in REJECTED: the error is either temporary (LOST) or
 * final (FATAL). */
TEST(test_statuses_of_open)
{
    static const struct {
        struct turn turns[2];
        enum status status;
    } cases[] = {
        {{{STATUS_ANSWER("404 No"), STAY, 0}}, STATUS_FATAL},
        {{{STATUS_ANSWER("503 No"), STAY, 0}}, STATUS_LOST},
        {{{STATUS_ANSWER("401 No"), STAY, 0}}, STATUS_FATAL},
    };
    EACH_CASE (i, cases, "%s", cases[i].turns[0].answer) {
        struct target target = {0};
        struct adapter_conn *conn = NULL;
        start_server(cases[i].turns);
        assert_int_equal(open_with(&conn, &target), cases[i].status);
        assert_null(conn);
        stop_server();
    }
}

/* A reused connection ends after the server has read the whole next request. The server has the
 * rows once, and the client reports that it does not know whether they were stored. */
TEST(test_never_twice)
{
    static const enum then ends[] = {CLOSE, RESET};
    EACH_CASE (i, ends, "then %d", (int)ends[i]) {
        const struct turn turns[] = {{OK_TURN}, {OK_TURN}, {NULL, ends[i], 0}, {OK_TURN}, {0}};
        start_server(turns);
        struct adapter_conn *conn = open_plain();
        assert_int_equal(post(conn, "first"), STATUS_OK);
        assert_int_equal(post(conn, "second row"), STATUS_LOST);
        assert_int_equal(error.kind, ERROR_CONNECTION);
        check_no_client_waits();
        http_close(conn);
        stop_server();
        assert_int_equal(server.requests, 3);
        assert_int_equal(server.body_bytes, strlen("first") + strlen("second row"));
        assert_int_equal(server.connections, 1);
    }
}

/* The connection of an append ends before the request. The rows are in doubt if the request was
 * sent on another connection, and not sent if no other connection could be opened. */
TEST(test_lost_before_and_after_the_request)
{
    static const struct {
        const struct adapter *adapter;
        const char *method, *ping, *greeting;
    } databases[] = {
        {&adapter_clickhouse, "tsv", OK_ANSWER,
         "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n18.1\tdef\n"},
        {&adapter_influxdb, NULL, "HTTP/1.1 204 No\r\nServer: questDB/1.0\r\n\r\n", NULL},
        {&adapter_singlestore, NULL, OK_ANSWER,
         "HTTP/1.1 200 OK\r\nContent-Length: 31\r\n\r\n{\"results\": [{\"rows\": [[1]]}]}\r\n"},
        {&adapter_arangodb, NULL, OK_ANSWER, NULL},
    };
    struct table table;
    error_clear(&error);
    assert_int_equal(table_init(&table, "t", &error), STATUS_OK);
    const struct column column = {.name = "n", .type_name = "Int64", .type = COLUMN_INT64};
    assert_int_equal(table_add_column(&table, &column, &error), STATUS_OK);
    const struct column_data data = {.values.int64 = (int64_t[]){1, 2, 3}};
    const struct batch batch = {.table = &table, .columns = &data, .row_count = 3};
    EACH_CASE (i, databases, "%s", databases[i].adapter->name) {
        for (unsigned round = 0; round < 2; round++) {
            const bool ends = round == 1;
            const struct adapter *const adapter = databases[i].adapter;
            const char *const greeting = databases[i].greeting;
            const unsigned greetings = greeting != NULL ? 2 : 1;
            struct turn turns[4] = {{databases[i].ping, STAY, 0}, {greeting, STAY, 0}};
            turns[greetings] = (struct turn){NULL, CLOSE, 0};
            start_server(turns);
            const struct target target = {.host = "127.0.0.1",
                                          .port = server.port,
                                          .method = databases[i].method,
                                          .connect_timeout_s = 20};
            struct adapter_conn *conn = NULL;
            struct append_loss loss = {0};
            uint64_t accepted = 9;
            error_clear(&error);
            assert_int_equal(adapter->open(adapter, &target, &conn, &error), STATUS_OK);
            assert_int_equal(adapter->append_open(conn, &table, &error), STATUS_OK);
            wait_for_turns(greetings);
            drop_connection(ends);
            assert_int_equal(adapter->append_rows(conn, &batch, &accepted, &error), STATUS_OK);
            assert_int_equal(adapter->append_close(conn, &accepted, &error), STATUS_LOST);
            assert_int_equal(error.kind, ends ? ERROR_UNREACHABLE : ERROR_CONNECTION);
            adapter->append_lost(conn, &loss);
            assert_int_equal(accepted, 0);
            assert_int_equal(loss.refused, 0);
            assert_int_equal(loss.in_doubt, ends ? 0 : 3);
            adapter->close(conn);
            if (!ends) {
                stop_server();
            }
        }
    }
    table_fini(&table);
}

/* A server that closes idle connections causes no error. */
TEST(test_idle_connection_ends)
{
    static const struct turn turns[] = {
        {OK_ANSWER, CLOSE, 0},
        {OK_ANSWER, RESET, 0},
        {OK_ANSWER "HTTP/1.1 408 too late", STAY, 0}, /* the server sends this without a request */
        {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", CLOSE, 0},
        {OK_TURN},
        {0}};
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    for (unsigned i = 1; i < COUNT_OF(turns) - 1; i++) {
        wait_for_turns(i);
        assert_int_equal(http_begin_append(conn->http, &error), STATUS_OK);
        assert_int_equal(post(conn, "row"), STATUS_OK);
        assert_string_equal(http_body(conn->http, NULL), i == 3 ? "to the end" : "ok");
    }
    http_close(conn);
    stop_server();
    assert_int_equal(server.connections, 5);
    assert_int_equal(server.requests, 5);
    assert_int_equal(server.body_bytes, 4 * strlen("row"));
}

/* An error may have any length; its beginning is the message. */
TEST(test_endless_error)
{
    static const struct turn turns[] = {
        {OK_TURN},
        {"HTTP/1.1 400 Bad\r\nContent-Length: 1073741824\r\n\r\n", FLOOD, 0},
        {OK_TURN},
        {0}};
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    assert_int_equal(post(conn, "a row"), STATUS_REJECTED);
    assert_part(error.text, "400 Bad: xxx");
    assert_int_equal(post(conn, "a row"), STATUS_OK);
    http_close(conn);
    stop_server();
}

/* The server answers that it has done what was requested, but memory for the answer is missing: the
 * rows are in doubt. */
TEST(test_no_memory_for_an_answer)
{
#ifdef APPEND_IS_SANITIZED
    skip(); /* the allocators of sanitizers end the program */
#endif
    static const struct turn turns[] = {
        {OK_TURN}, {"HTTP/1.1 200 OK\r\nContent-Length: 60000000\r\n\r\n", FLOOD, 0}, {0}};
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    struct rlimit before;
    unsigned long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit tight = {.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16 << 20),
                                 .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    const enum status status = post(conn, "a row");
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, STATUS_LOST);
    assert_int_equal(error.kind, ERROR_MEMORY);
    http_close(conn);
    stop_server();
}

/* A server may refuse a body without reading it; the client receives the refusal. */
TEST(test_refused_early)
{
    static const struct turn turns[] = {
        {OK_TURN}, {STATUS_ANSWER("413 Too large"), HEAD_ONLY, 0}, {OK_TURN}, {0}};
    enum {
        LARGE = 32 << 20
    };
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    char *body = calloc(1, LARGE);
    assert_non_null(body);
    const struct http_request request = {
        .method = "POST", .path = "/", .type = "text/plain", .body = body, .length = LARGE};
    const enum status status = http_send(conn->http, &request, &error);
    /* unread data may reset the connection before the client has read the answer */
    assert_int_not_equal(status, STATUS_OK);
    assert_int_equal(status, error.kind == ERROR_DATA ? STATUS_REJECTED : STATUS_LOST);
    free(body);
    http_close(conn);
    stop_server();
}

/* The requests that opening a connection sends share its deadline, and their status is not
 * REJECTED. */
TEST(test_greet)
{
    static const struct {
        struct turn turns[3];
        unsigned timeout_s; /* 0: 20 s */
        enum status status;
        enum error_kind kind;
    } cases[] = {
        {{{OK_TURN}, {OK_TURN}}, 0, STATUS_OK, ERROR_NONE},
        {{{OK_TURN}, {STATUS_ANSWER("404 No"), STAY, 0}}, 0, STATUS_FATAL, ERROR_NOT_FOUND},
        {{{OK_TURN}, {"HTTP/1.1 200 OK\r\n", STAY, 0}}, 1, STATUS_LOST, ERROR_TIMEOUT},
    };
    is_greeting = true;
    EACH_CASE (i, cases, "%s", cases[i].turns[1].answer) {
        struct target target = {.connect_timeout_s = cases[i].timeout_s};
        struct adapter_conn *conn = NULL;
        start_server(cases[i].turns);
        assert_int_equal(open_with(&conn, &target), cases[i].status);
        assert_int_equal(error.kind, cases[i].kind);
        assert_int_equal(conn != NULL, cases[i].status == STATUS_OK);
        http_close(conn);
        stop_server();
    }
    is_greeting = false;
}

/* A reconnect during opening has only the time that is left of the deadline. */
TEST(test_reconnect_while_opening)
{
    static const struct turn turns[] = {{OK_ANSWER, CLOSE, 0}, {0}};
    const int64_t start_ns = mono_now_ns();
    start_server(turns);
    struct target target = {.connect_timeout_s = 3};
    struct adapter_conn *conn = NULL;
    is_greeting = is_late = true;
    assert_int_equal(open_with(&conn, &target), STATUS_LOST);
    is_greeting = is_late = false;
    assert_int_equal(error.kind, ERROR_TIMEOUT);
    assert_in_range((mono_now_ns() - start_ns) / MONO_NS_PER_S, 3, 4);
    stop_server();
}

struct lines {
    char text[256];
    unsigned count, enough;
};

static bool take_line(void *context, char *line, size_t length)
{
    struct lines *lines = context;
    assert_int_equal(strlen(line), length);
    const size_t used = strlen(lines->text);
    snprintf(lines->text + used, sizeof lines->text - used, "%s|", line);
    return ++lines->count != lines->enough;
}

TEST(test_lines)
{
#define LINES_ANSWER                                                                               \
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: "                                                       \
    "chunked\r\n\r\n6\r\none\ntw\r\n7\r\no\n\nlast\r\n0\r\n\r\n"
#define FLOOD_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 1073741833\r\n\r\none\ntwo\n\n"
    static const struct turn turns[] = {{OK_TURN},
                                        {LINES_ANSWER, STAY, 0},
                                        {LINES_ANSWER, STAY, 1},
                                        {LINES_ANSWER, STAY, 0},
                                        {LINES_ANSWER, STAY, 1},
                                        {FLOOD_ANSWER, FLOOD, 0},
                                        {OK_TURN},
                                        {0}};
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    for (unsigned i = 0; i < 5; i++) {
        struct lines lines = {.enough = i < 2 ? 0 : 2};
        const struct http_request request = {
            .method = "GET", .path = "/", .take = take_line, .context = &lines};
        assert_int_equal(http_send(conn->http, &request, &error), STATUS_OK);
        assert_string_equal(lines.text, i < 2 ? "one|two||last|" : "one|two|");
        assert_string_equal(http_body(conn->http, NULL), "");
    }
    assert_int_equal(post(conn, "row"), STATUS_OK);
    http_close(conn);
    stop_server();
    assert_int_equal(server.connections,
                     2); /* once an answer is sufficient, its long rest is not read */
}

/* The elements of an array, and the text around them, are the same however the answer is divided
 * into parts. */
TEST(test_elements)
{
    static const char body[] =
        "{\"a\":[1,[\"rows\"],{\"rows\":\"[\\\"]\"}],\"rows\" : [ [1,\"x],\\\"\"] ,\n"
        "{\"rows\":[2]}, 3,\"]\",null],\"rows\":[],\"rowset\":[4],\"n\":5}";
    static const char around[] = "{\"a\":[1,[\"rows\"],{\"rows\":\"[\\\"]\"}],\"rows\" : [],"
                                 "\"rows\":[],\"rowset\":[4],\"n\":5}";
    struct turn turns[sizeof body + 2] = {{OK_TURN}};
    char *text = NULL;
    assert_true(asprintf(&text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body),
                         body) > 0);
    for (size_t i = 1; i < COUNT_OF(turns) - 1; i++) {
        turns[i] = (struct turn){text, STAY, i};
    }
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    for (size_t i = 1; i < COUNT_OF(turns) - 1; i++) {
        struct lines lines = {.text = ""};
        const struct http_request request = {
            .method = "GET", .path = "/", .take = take_line, .rows = "rows", .context = &lines};
        assert_int_equal(http_send(conn->http, &request, &error), STATUS_OK);
        assert_string_equal(lines.text, "[1,\"x],\\\"\"] |{\"rows\":[2]}|3|\"]\"|null|");
        assert_string_equal(http_body(conn->http, NULL), around);
    }
    http_close(conn);
    stop_server();
    free(text);
    assert_int_equal(server.connections, 1);
}

static bool count_wide(void *context, const struct cell *cells, size_t count)
{
    uint64_t *wide = context;
    *wide += count == 1 && !cells[0].is_null && cells[0].as.text.length == 1021;
    return true;
}

/* An answer that is too long to keep is passed on row by row. */
TEST(test_many_rows)
{
    static const struct turn turns[] = {
        {OK_TURN}, {"HTTP/1.1 200 OK\r\n\r\n{\"rows\":[", ROWS, 0}, {0}};
    uint64_t wide = 0;
    struct answer answer = {.take = count_wide, .context = &wide};
    struct http_reading reading = {.answer = &answer, .error = &error};
    const struct http_request request = {
        .method = "GET", .path = "/", .take = http_take_row, .rows = "rows", .context = &reading};
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    assert_int_equal(http_send(conn->http, &request, &error), STATUS_OK);
    assert_string_equal(http_body(conn->http, NULL), "{\"rows\":[]}");
    assert_int_equal(wide, MANY_ROWS);
    assert_int_equal(answer.rows, MANY_ROWS + 1);
    http_close(conn);
    stop_server();
}

static void *interrupt_it(void *conn)
{
    wait_for_turns(1);
    while (atomic_load(&server.requests) < 2) {
        mono_sleep(MONO_NS_PER_MS);
    }
    http_interrupt(conn);
    return NULL;
}

TEST(test_interrupt)
{
    static const struct turn turns[] = {
        {OK_TURN}, {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", STAY, 0}, {OK_TURN}, {0}};
    pthread_t thread;
    start_server(turns);
    struct adapter_conn *conn = open_plain();
    assert_int_equal(pthread_create(&thread, NULL, interrupt_it, conn), 0);
    /* the connection is lost while the client waits for the rest of the body */
    assert_int_equal(post(conn, "row"), STATUS_LOST);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(post(conn, "row"), STATUS_LOST);
    assert_int_equal(http_begin_append(conn->http, &error), STATUS_LOST);
    http_interrupt(conn);
    http_close(conn);
    http_close(NULL);
    stop_server();
    assert_int_equal(server.connections, 1);
}

static bool is_influx(unsigned status, const char *headers, const char *body)
{
    return status == 200 && strstr(headers, "\r\nX-Version: 9\r\n") != NULL &&
           strcmp(body, "ready") == 0;
}

TEST(test_recognise)
{
    static const struct {
        const char *text;
        enum status status;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nX-Version: 9\r\nContent-Length: 5\r\n\r\nready", STATUS_OK},
        {"HTTP/1.1 200 OK\r\nX-Version: 9\r\n\r\nready", STATUS_OK},
        {"HTTP/1.1 200 OK\r\nX-Version: 9\r\nTransfer-Encoding: "
         "chunked\r\n\r\n5\r\nready\r\n0\r\n\r\n",
         STATUS_OK},
        {"HTTP/1.1 200 OK\r\nX-Version: 9\r\nContent-Length: 6\r\n\r\nready", STATUS_REJECTED},
        {"HTTP/1.1 200 OK\r\nX-Version: 8\r\nContent-Length: 5\r\n\r\nready", STATUS_REJECTED},
        {"220 smtp\r\n", STATUS_REJECTED},
    };
    static const struct http_database influx = {
        .question = "/ping", .protocol = "Influx's", .recognises_answer = is_influx};
    static const struct adapter like_influx = {.own = &influx};
    EACH_CASE (i, cases, "%s", cases[i].text) {
        for (size_t cut = 0; cut < 4; cut++) {
            const struct turn turns[] = {{cases[i].text, CLOSE, cut}, {0}};
            start_server(turns);
            error_clear(&error);
            assert_int_equal(http_recognise(&like_influx, "127.0.0.1", server.port, 20000, &error),
                             cases[i].status);
            wait_for_turns(1);
            assert_part(server.latest, "GET /ping HTTP/1.1\r\nHost: 127.0.0.1:");
            stop_server();
        }
    }
}

/*
 * Values
 */

static bool take_row(void *context, const struct cell *cells, size_t count)
{
    struct buffer *text = context;
    for (size_t i = 0; i < count; i++) {
        if (cells[i].is_null) {
            buffer_add_text(text, "NULL ");
        } else if (cells[i].type == COLUMN_INT64) {
            buffer_add_format(text, "%lld ", (long long)cells[i].as.int64);
        } else {
            buffer_add_format(text, "'%.*s' ", (int)cells[i].as.text.length,
                              cells[i].as.text.bytes);
        }
    }
    buffer_add_text(text, "| ");
    return strstr(buffer_text(text), "enough") == NULL;
}

TEST(test_take_rows)
{
    struct buffer text;
    buffer_init(&text);
    bool take_stopped = false;
    struct answer answer = {.take = take_row, .context = &text};
    json_t *rows = json_loads("[[1, \"a\", null, true, 9007199254740993], {\"x\": 0.1, \"y\": [1, "
                              "{\"z\": 2}]}, 7, [], [\"enough\"], [1]]",
                              0, NULL);
    assert_int_equal(http_take_rows(rows, &answer, &take_stopped, &error), STATUS_OK);
    assert_string_equal(buffer_text(&text), "1 'a' NULL 1 9007199254740993 | '0.1' '[1,{\"z\":2}]' "
                                            "| 7 | | 'enough' | ");
    assert_int_equal(answer.rows, 5);
    assert_true(take_stopped);
    take_stopped = false;
    answer = (struct answer){0};
    assert_int_equal(http_take_rows(rows, &answer, &take_stopped, &error), STATUS_OK);
    assert_int_equal(answer.rows, 6);
    json_decref(rows);
    rows = json_object();
    assert_int_equal(http_take_rows(rows, &answer, &take_stopped, &error), STATUS_REJECTED);
    json_decref(rows);
    buffer_fini(&text);
}

/* Numbers are passed on as the server wrote them, to the last digit. */
TEST(test_large_numbers)
{
    static const char rows[] =
        "[[9223372036854775807, -9223372036854775808, 9007199254740993],"
        " [9223372036854775808, 18446744073709551615, -9223372036854775809],"
        " [1e999, \"1e999, 18446744073709551615 \\\" 18446744073709551615\", 1e3],"
        " [{\"a\": 18446744073709551615}, 1.5, 0]]";
    struct buffer text;
    buffer_init(&text);
    bool take_stopped = false;
    struct answer answer = {.take = take_row, .context = &text};
    error_clear(&error);
    json_t *const json = http_parse(rows, strlen(rows), &error);
    assert_string_equal(error.text, "");
    assert_int_equal(http_take_rows(json, &answer, &take_stopped, &error), STATUS_OK);
    assert_string_equal(buffer_text(&text),
                        "9223372036854775807 -9223372036854775808 9007199254740993 | "
                        "'9223372036854775808' '18446744073709551615' '-9223372036854775809' | "
                        "'1e999' '1e999, 18446744073709551615 \" 18446744073709551615' '1000' | "
                        "'{\"a\":\"18446744073709551615\"}' '1.5' 0 | ");
    json_decref(json);
    static const char *const wrong[] = {"",
                                        "[1",
                                        "{\"a\": 18446744073709551615",
                                        "99999999999999999999x",
                                        "[1e999, 1-2]",
                                        "[99999999999999999999-5]",
                                        "[-099999999999999999999]",
                                        "[1e999e]",
                                        "\"\\",
                                        "[1] 99999999999999999999"};
    EACH_CASE (i, wrong, "%s", wrong[i]) {
        error_clear(&error);
        assert_null(http_parse(wrong[i], strlen(wrong[i]), &error));
        assert_part(error.text, "the answer is not JSON: ");
    }
    buffer_fini(&text);
}

static void check_json(struct column column, const void *values, const char *wanted)
{
    struct buffer text;
    buffer_init(&text);
    const struct column_data data = {.values.any = values};
    http_add_json(&text, &column, &data, 0);
    assert_string_equal(buffer_text(&text), wanted);
    buffer_fini(&text);
}

TEST(test_add_json)
{
    static const struct text_value odd = {"a\"\\\n\x01é", 7}, json = {"{\"a\":1}", 7};
    check_json((struct column){.type = COLUMN_BOOL}, &(uint8_t){1}, "true");
    check_json((struct column){.type = COLUMN_INT16}, &(int16_t){-7}, "-7");
    check_json((struct column){.type = COLUMN_INT64}, &(int64_t){INT64_MIN},
               "-9223372036854775808");
    check_json((struct column){.type = COLUMN_FLOAT32}, &(float){0.1f}, "0.1");
    check_json((struct column){.type = COLUMN_FLOAT64}, &(double){0.1}, "0.1");
    check_json((struct column){.type = COLUMN_FLOAT64}, &(double){1.0 / 3}, "0.3333333333333333");
    check_json((struct column){.type = COLUMN_FLOAT64}, &(double){1.0 / 0.0}, "null");
    check_json((struct column){.type = COLUMN_DECIMAL, .scale = 2}, &(int64_t){-1234}, "-12.34");
    check_json((struct column){.type = COLUMN_TEXT}, &odd, "\"a\\\"\\\\\\u000a\\u0001é\"");
    check_json((struct column){.type = COLUMN_BYTES}, &(struct text_value){"\xff\x00z", 3},
               "\"/wB6\"");
    check_json((struct column){.type = COLUMN_JSON}, &json, "{\"a\":1}");
    check_json((struct column){.type = COLUMN_TIMESTAMP},
               &(int64_t){1769860800 * MONO_NS_PER_S + 123456789},
               "\"2026-01-31 12:00:00.123456\"");
    check_json((struct column){.type = COLUMN_DATE}, &(int32_t){0}, "\"1970-01-01\"");
    check_json((struct column){.type = COLUMN_IP4}, (uint8_t[4]){10, 0, 0, 1}, "\"10.0.0.1\"");
    struct buffer text;
    buffer_init(&text);
    const struct column_data null = {.values.any = &odd, .is_null = (uint8_t[1]){1}};
    http_add_json(&text, &(struct column){.type = COLUMN_TEXT}, &null, 0);
    assert_string_equal(buffer_text(&text), "null");
    buffer_fini(&text);
}

TEST(test_encodings)
{
    static const char *const base64[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}};
    EACH_CASE (i, base64, "%s", base64[i][0]) {
        struct buffer text;
        buffer_init(&text);
        http_add_base64(&text, base64[i][0], strlen(base64[i][0]));
        assert_string_equal(buffer_text(&text), base64[i][1]);
        buffer_fini(&text);
    }
    struct buffer text;
    buffer_init(&text);
    http_add_encoded(&text, "aZ09-._~ /?&=+%\xc3\xa9");
    assert_string_equal(buffer_text(&text), "aZ09-._~%20%2F%3F%26%3D%2B%25%C3%A9");
    buffer_fini(&text);
}

int group_set_up(void **state)
{
    (void)state;
    struct adapter_library *library = NULL;
    return http_start(NULL, &library, &error) == STATUS_OK ? 0 : -1;
}

int group_tear_down(void **state)
{
    (void)state;
    http_stop(NULL);
    return 0;
}
