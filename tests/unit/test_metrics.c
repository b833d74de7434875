/* Metrics: the text that Prometheus reads, and the thread that serves it. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mono.h"
#include "limits/limits.h"
#include "plan/facts.h"
#include "report/live.h"
#include "report/metrics.h"
#include "unit/recorded.h"

_Static_assert((int)LIMITS_METRICS_FILES == (int)METRICS_HTTP_FILES_MAX, "what the limits count");
_Static_assert((int)LIMITS_LIVE_FILES == (int)LIVE_FILES_MAX, "what the limits count");

static const struct adapter adapter = {.name = "null"};
static struct recorder_snapshot total;
static struct histogram histograms[OPERATIONS];
static struct facts facts;
static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    memset(histograms, 0, sizeof histograms);
    total = (struct recorder_snapshot){.operations = OPERATIONS, .histograms = histograms};
    plan.adapter = &adapter;
    plan.table_name = "t";
    plan.sessions = 3;
    plan.idle_sessions = 2;
    return 0;
}

static void check_has(const struct buffer *text, const char *line)
{
    if (strstr(buffer_text(text), line) == NULL) {
        fail_msg("no '%s' in\n%s", line, buffer_text(text));
    }
}

TEST_BETWEEN(test_text, set_up, NULL)
{
    plan.facts = &facts;
    snprintf(facts.target, sizeof facts.target, "a\"b\\c\nd\xff");
    total.counters[RECORDER_ROWS_ACKNOWLEDGED] = UINT64_C(10000000000000000001);
    total.counters[RECORDER_ROWS_IN_DOUBT] = 7;
    const int64_t values[] = {0,       (1 << 14) - 1,    1 << 14,
                              3000000, INT64_C(1) << 36, HISTOGRAM_LIMIT_NS};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        histogram_record(&total.histograms[OPERATION_APPEND], values[i]);
    }
    const struct metrics_state now = {.is_running = true,
                                      .started_wall_ns = INT64_C(1769860800250000000),
                                      .elapsed_ns = 1500000000,
                                      .sessions_alive = 4,
                                      .has_sample = true,
                                      .sample = {.cpu.host = 50,
                                                 .cpu.server = -1,
                                                 .server_memory_bytes = -1,
                                                 .client_memory_bytes = 4096}};
    struct buffer text;
    buffer_init(&text);
    metrics_text_add(&text, &plan, &now, &total);
    check_has(&text, "target=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"");
    check_has(&text, "\nappend_start_time_seconds 1769860800.250\n");
    check_has(&text, "\nappend_elapsed_seconds 1.500\n");
    check_has(&text, "\nappend_sessions_requested 5.000\n");
    check_has(&text, "\nappend_sessions 4.000\n");
    check_has(&text, "\nappend_rows_total{outcome=\"acknowledged\"} 10000000000000000001\n");
    check_has(&text, "\nappend_rows_total{outcome=\"in_doubt\"} 7\n");
    check_has(&text, "\nappend_batch_duration_seconds_bucket{le=\"1.6384e-05\"} 2\n");
    check_has(&text, "\nappend_batch_duration_seconds_bucket{le=\"2.4576e-05\"} ");
    check_has(&text, "\nappend_batch_duration_seconds_bucket{le=\"3.2768e-05\"} 3\n");
    check_has(&text, "\nappend_batch_duration_seconds_bucket{le=\"0.002097152\"} 3\n");
    check_has(&text, "\nappend_batch_duration_seconds_bucket{le=\"0.004194304\"} 4\n");
    check_has(&text, "\nappend_batch_duration_seconds_bucket{le=\"68.71947674\"} 4\n");
    check_has(&text, "\nappend_batch_duration_seconds_bucket{le=\"+Inf\"} 6\n");
    check_has(&text, "\nappend_batch_duration_seconds_count 6\n");
    check_has(&text, "\nappend_cpu_ratio{of=\"machine\"} 0.50000\n");
    check_has(&text, "\nappend_memory_bytes{of=\"append\"} 4096\n");
    assert_null(strstr(buffer_text(&text), "of=\"server\""));
    assert_null(strstr(buffer_text(&text), "append_rows_planned"));
    assert_null(strstr(buffer_text(&text), "append_response"));
    assert_int_equal(buffer_text(&text)[text.length - 1], '\n');
    buffer_fini(&text);
}

/* Starts a server on a port that was free a moment ago. */
static struct metrics_http *start(uint16_t *port)
{
    for (unsigned attempt = 0; attempt < 50; attempt++) {
        struct error error;
        error_clear(&error);
        *port = (uint16_t)(20000 + ((unsigned)getpid() * 31 + attempt * 101) % 12000);
        struct metrics_http *http = metrics_http_start("127.0.0.1", *port, &error);
        if (http != NULL) {
            return http;
        }
    }
    fail_msg("no free port");
    return NULL;
}

static int connect_to(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(sock >= 0);
    assert_int_equal(connect(sock, (const struct sockaddr *)&address, sizeof address), 0);
    const struct timeval patience = {.tv_sec = 60};
    assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    return sock;
}

/* Receives everything that the server sends until it closes the connection. */
static size_t receive_all(int sock, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 && (got = recv(sock, text + length, size - 1 - length, 0)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(sock);
    return length;
}

static void ask(uint16_t port, const char *request, char *text, size_t size)
{
    const int sock = connect_to(port);
    assert_int_equal(send(sock, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    receive_all(sock, text, size);
}

TEST(test_served)
{
    uint16_t port;
    struct metrics_http *http = start(&port);
    char text[512];
    metrics_http_publish(http, "one 1\n", 6);
    ask(port, "GET /metrics HTTP/1.1\r\n\r\n", text, sizeof text);
    assert_memory_equal(text, "HTTP/1.1 200 OK\r\n", 17);
    assert_non_null(strstr(text, "Content-Type: text/plain; version=0.0.4"));
    assert_non_null(strstr(text, "Content-Length: 6\r\n"));
    assert_non_null(strstr(text, "\r\n\r\none 1\n"));
    metrics_http_publish(http, "two 2\n", 6);
    ask(port, "GET /metrics HTTP/1.1\r\n\r\n", text, sizeof text);
    assert_non_null(strstr(text, "\r\n\r\ntwo 2\n"));
    ask(port, "HEAD /metrics HTTP/1.1\r\n\r\n", text, sizeof text);
    assert_null(strstr(text, "two"));
    assert_non_null(strstr(text, "Content-Length: 6\r\n"));
    ask(port, "GET /x HTTP/1.1\r\n\r\n", text, sizeof text);
    assert_memory_equal(text, "HTTP/1.1 404 ", 13);
    ask(port, "PUT /metrics HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", text, sizeof text);
    assert_memory_equal(text, "HTTP/1.1 405 ", 13);
    assert_non_null(strstr(text, "Allow: GET, HEAD\r\n"));
    ask(port, "\x01garbage\r\n\r\n", text, sizeof text);
    assert_null(strstr(text, "two"));
    struct error error;
    error_clear(&error);
    assert_null(metrics_http_start("127.0.0.1", port, &error));
    assert_non_null(strstr(error.text, "Address already in use"));
    metrics_http_stop(http);
}

/* If silent clients have taken all places, a new client gets the place of the oldest client at
 * once. Stopping the server does not wait for silent clients. */
TEST(test_silent_clients)
{
    uint16_t port;
    struct metrics_http *http = start(&port);
    metrics_http_publish(http, "x 1\n", 4);
    int silent[METRICS_HTTP_CLIENTS_MAX];
    char text[512];
    for (size_t i = 0; i < METRICS_HTTP_CLIENTS_MAX; i++) {
        silent[i] = connect_to(port);
        assert_int_equal(send(silent[i], "GET /", 5, MSG_NOSIGNAL), 5);
    }
    ask(port, "GET /metrics HTTP/1.1\r\n\r\n", text, sizeof text);
    assert_non_null(strstr(text, "x 1\n"));
    assert_true(recv(silent[0], text, 1, 0) <= 0);
    assert_int_equal(recv(silent[METRICS_HTTP_CLIENTS_MAX - 1], text, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    metrics_http_stop(http);
    for (size_t i = 0; i < METRICS_HTTP_CLIENTS_MAX; i++) {
        close(silent[i]);
    }
}

/* One client slowly reads a text that is larger than any socket buffer. Another client never
 * reads. */
TEST(test_long_text)
{
    enum {
        BYTES = 8 << 20
    };
    uint16_t port;
    struct metrics_http *http = start(&port);
    char *text = malloc(BYTES + 1000);
    assert_non_null(text);
    memset(text, 'x', BYTES);
    metrics_http_publish(http, text, BYTES);
    static const char request[] = "GET /metrics HTTP/1.1\r\n\r\n";
    const int deaf = connect_to(port);
    assert_int_equal(send(deaf, request, sizeof request - 1, 0), (ssize_t)(sizeof request - 1));
    const int sock = connect_to(port);
    assert_int_equal(send(sock, request, sizeof request - 1, 0), (ssize_t)(sizeof request - 1));
    const size_t length = receive_all(sock, text, BYTES + 1000);
    assert_true(length > BYTES && length < BYTES + 1000);
    assert_int_equal(text[length - 1], 'x');
    metrics_http_stop(http);
    close(deaf);
    free(text);
}

/* An endless head is refused once it is too long. */
TEST(test_long_request)
{
    uint16_t port;
    struct metrics_http *http = start(&port);
    char request[40000];
    memset(request, 'A', sizeof request);
    memcpy(request, "GET /metrics HTTP/1.1\r\nX: ", 26);
    const int sock = connect_to(port);
    assert_true(send(sock, request, sizeof request, MSG_NOSIGNAL) > 0);
    char text[512];
    receive_all(sock, text, sizeof text);
    assert_memory_equal(text, "HTTP/1.1 4", 10);
    metrics_http_stop(http);
}
