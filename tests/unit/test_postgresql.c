/* What a server does that breaks off while connecting: no real one can be made to do it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/registry.h"

extern const struct adapter adapter_postgresql;

/* Answers one request of each connection with `answer`, and hangs up. */
struct stand_in {
    int listener;
    const char *answer;
    int connections; /* to answer */
};

static void *hang_up(void *argument)
{
    const struct stand_in *stand_in = argument;
    for (int i = 0; i < stand_in->connections; i++) {
        const int client = accept(stand_in->listener, NULL, NULL);
        char request[512];
        if (recv(client, request, sizeof request, 0) > 0) {
            (void)send(client, stand_in->answer, strlen(stand_in->answer), MSG_NOSIGNAL);
        }
        close(client);
    }
    return NULL;
}

static enum status open_stand_in(const char *answer, const char *sslmode, struct error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct stand_in stand_in = {socket(AF_INET, SOCK_STREAM, 0), answer, 1};
    assert_int_equal(bind(stand_in.listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(stand_in.listener, 4), 0);
    assert_int_equal(getsockname(stand_in.listener, (struct sockaddr *)&address, &size), 0);

    char url[128];
    snprintf(url, sizeof url, "postgresql://somebody@127.0.0.1:%u/x?sslmode=%s",
             (unsigned)ntohs(address.sin_port), sslmode);
    const struct target target = {.url = url, .connect_timeout_s = 20};
    struct adapter_conn *conn = NULL;
    pthread_t thread;
    error_clear(error);
    assert_int_equal(pthread_create(&thread, NULL, hang_up, &stand_in), 0);
    const enum status status = adapter_postgresql.open(&adapter_postgresql, &target, &conn, error);
    pthread_join(thread, NULL);
    close(stand_in.listener);
    assert_null(conn);
    return status;
}

/* An overloaded server resets connections: that is no fault of certificates or passwords. */
static void test_tls_that_breaks_off(void **state)
{
    (void)state;
    struct error error;
    const enum status status = open_stand_in("S", "require", &error);
    print_message("%s\n", error.text);
    assert_int_equal(status, STATUS_LOST);
    assert_int_equal(error.kind, ERROR_CONNECTION);
}

static void test_no_tls_there(void **state)
{
    (void)state;
    struct error error;
    const enum status status = open_stand_in("N", "require", &error);
    print_message("%s\n", error.text);
    assert_int_equal(status, STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_AUTH);
}

static void test_hang_up_without_tls(void **state)
{
    (void)state;
    struct error error;
    const enum status status = open_stand_in("", "disable", &error);
    print_message("%s\n", error.text);
    assert_int_equal(status, STATUS_LOST);
    assert_int_equal(error.kind, ERROR_CONNECTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_that_breaks_off),
        cmocka_unit_test(test_no_tls_there),
        cmocka_unit_test(test_hang_up_without_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
