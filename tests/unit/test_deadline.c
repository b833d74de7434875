/* A call of a client library that would wait for ever is ended in time, and others are left alone.
 */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/client_socket.h"
#include "base/deadline.h"

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

/* A client's socket, connected to a listener that never says anything. */
struct silence {
    int listener;
    int client;
    struct client_socket socket;
};

static void connect_to_silence(struct silence *silence)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    silence->listener = socket(AF_INET, SOCK_STREAM, 0);
    silence->client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(silence->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silence->listener, 1), 0);
    assert_int_equal(getsockname(silence->listener, (struct sockaddr *)&address, &length), 0);
    client_socket_init(&silence->socket);
    assert_false(client_socket_is_known(&silence->socket));
    assert_false(client_socket_is_ended(&silence->socket));
    client_socket_watch(&silence->socket);
    assert_int_equal(connect(silence->client, (struct sockaddr *)&address, sizeof address), 0);
    client_socket_unwatch();
    assert_true(client_socket_is_known(&silence->socket));
    assert_false(client_socket_is_ended(&silence->socket));
}

static void leave(struct silence *silence)
{
    close(silence->client);
    close(silence->listener);
    assert_true(client_socket_is_ended(&silence->socket));
}

static void test_passed(void **state)
{
    struct silence silence;
    struct deadline deadline;
    char byte;
    (void)state;
    connect_to_silence(&silence);
    assert_int_equal(deadline_begin(&deadline, &silence.socket, 1, no, NULL), STATUS_OK);
    assert_int_equal(recv(silence.client, &byte, 1, 0), 0);
    assert_int_equal(deadline_end(&deadline), DEADLINE_PASSED);
    leave(&silence);
}

static void test_cancelled(void **state)
{
    struct silence silence;
    struct deadline deadline;
    char byte;
    (void)state;
    connect_to_silence(&silence);
    assert_int_equal(deadline_begin(&deadline, &silence.socket, 3600, yes, NULL), STATUS_OK);
    assert_int_equal(recv(silence.client, &byte, 1, 0), 0);
    assert_int_equal(deadline_end(&deadline), DEADLINE_CANCELLED);
    leave(&silence);
}

static void test_kept(void **state)
{
    struct silence silence;
    struct deadline deadline;
    (void)state;
    connect_to_silence(&silence);
    assert_int_equal(deadline_begin(&deadline, &silence.socket, 3600, NULL, NULL), STATUS_OK);
    assert_int_equal(deadline_end(&deadline), DEADLINE_KEPT);
    assert_false(client_socket_is_ended(&silence.socket));
    leave(&silence);
}

/* The number of a descriptor that was closed belongs to another socket soon. */
static void test_another_socket(void **state)
{
    struct silence first;
    struct silence second;
    char byte;
    (void)state;
    connect_to_silence(&first);
    const int number = first.client;
    leave(&first);
    connect_to_silence(&second);
    if (second.client != number) {
        assert_int_equal(dup2(second.client, number), number);
    }
    client_socket_shutdown(&first.socket);
    assert_true(recv(second.client, &byte, 1, MSG_DONTWAIT) < 0);
    assert_false(client_socket_is_ended(&second.socket));
    assert_false(client_socket_set_no_delay(&first.socket));
    assert_true(client_socket_set_no_delay(&second.socket));
    if (second.client != number) {
        close(number);
    }
    leave(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_another_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
