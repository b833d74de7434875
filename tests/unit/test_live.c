/* The live page before and after the sessions, as a browser gets it from the server. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plan/facts.h"
#include "report/live.h"

enum {
    ANSWER_BYTES = 1 << 16
};

static struct plan plan;
static struct live *live;
static char answer[ANSWER_BYTES];

/* Opens a socket bound to a port of the loopback address; port 0 means any. Sets *port. */
static int bind_port(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(file >= 0);
    assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return file;
}

static int set_up(void **state)
{
    (void)state;
    struct error error = {0};
    memset(&plan, 0, sizeof plan);
    plan.live = "a port";
    snprintf(plan.live_host, sizeof plan.live_host, "127.0.0.1");
    close(bind_port(&plan.live_port));
    if (live_begin(&live, &plan, NULL, &error) != EXIT_CODE_OK) {
        fail_msg("%s", error.text);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    live_end(live);
    return 0;
}

/* Asks for the state after `seq`, and returns the whole answer. */
static const char *ask(uint64_t seq)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(plan.live_port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[256];
    const int length = snprintf(request, sizeof request,
                                "GET /live.json?after=%llu HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                                "Connection: close\r\n\r\n",
                                (unsigned long long)seq, (unsigned)plan.live_port);
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(file >= 0);
    assert_int_equal(connect(file, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(file, request, (size_t)length), length);
    size_t used = 0;
    ssize_t got;
    while ((got = read(file, answer + used, sizeof answer - 1 - used)) > 0) {
        used += (size_t)got;
    }
    answer[used] = '\0';
    close(file);
    return answer;
}

static void expect_page(const char *words)
{
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK"));
    assert_non_null(strstr(answer, "\"state\":\"running\""));
    assert_non_null(strstr(answer, words));
}

TEST_BETWEEN(test_before_the_sessions, set_up, tear_down)
{
    ask(0);
    expect_page("The run has not begun: append is preparing the tables");
}

/* A browser may ask first when the sessions have ended, while the rows are counted. */
TEST_BETWEEN(test_first_asked_after_the_sessions, set_up, tear_down)
{
    live_end_run(live);
    ask(0);
    expect_page("The sessions have ended; append is counting the rows.");
}
