/* A client library's connect that would wait forever is ended in time, and other sockets of the
 * process are not touched. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "append/client_socket.h"
#include "base/mono.h"

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

/* A client's socket, connected to a listener that never answers. */
struct silence {
    int listener;
    int client;
    bool is_waited_for;
    struct client_socket socket;
};

/* Connects as a client library does. */
static enum status connect_to_silence(void *context, struct error *error)
{
    struct silence *silence = context;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char byte;
    silence->listener = socket(AF_INET, SOCK_STREAM, 0);
    silence->client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(silence->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silence->listener, 1), 0);
    assert_int_equal(getsockname(silence->listener, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(connect(silence->client, (struct sockaddr *)&address, sizeof address), 0);
    assert_true(client_socket_is_known(&silence->socket));
    assert_false(client_socket_is_ended(&silence->socket));
    if (silence->is_waited_for) {
        assert_int_equal(recv(silence->client, &byte, 1, 0), 0);
        error_set(error, ERROR_SERVER, 0, NULL, "what the library says");
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static void leave(struct silence *silence)
{
    close(silence->client);
    close(silence->listener);
    assert_true(client_socket_is_ended(&silence->socket));
}

static enum error_kind end_of_connect(struct silence *silence, unsigned timeout_s,
                                      bool (*is_cancelled)(void))
{
    const struct target target = {.connect_timeout_s = timeout_s, .is_cancelled = is_cancelled};
    struct error error;
    error_clear(&error);
    assert_false(client_socket_is_known(&silence->socket));
    assert_false(client_socket_is_ended(&silence->socket));
    const enum status status =
        client_socket_connect(&silence->socket, &target, connect_to_silence, silence, &error);
    assert_int_equal(status, error.kind == ERROR_NONE ? STATUS_OK : STATUS_LOST);
    return error.kind;
}

TEST(test_ends)
{
    struct silence passed = {.is_waited_for = true};
    struct silence cancelled = {.is_waited_for = true};
    struct silence kept = {0};
    (void)state;
    assert_int_equal(end_of_connect(&passed, 1, no), ERROR_TIMEOUT);
    leave(&passed);
    assert_int_equal(end_of_connect(&cancelled, 3600, yes), ERROR_CANCELLED);
    leave(&cancelled);
    assert_int_equal(end_of_connect(&kept, 3600, NULL), ERROR_NONE);
    assert_false(client_socket_is_ended(&kept.socket));
    leave(&kept);
}

/* One thread watches any number of connects and opens no descriptor for them. */
enum {
    MANY = 12
};

static void *connect_in_a_thread(void *context)
{
    struct silence *silence = context;
    struct error error = {.kind = ERROR_NONE};
    const struct target target = {.connect_timeout_s = 1, .is_cancelled = no};
    client_socket_connect(&silence->socket, &target, connect_to_silence, silence, &error);
    return error.kind == ERROR_TIMEOUT ? silence : NULL;
}

static unsigned count_threads(void)
{
    char line[200];
    unsigned threads = 0;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "Threads:", 8) == 0) {
            threads = (unsigned)strtoul(line + 8, NULL, 10);
        }
    }
    fclose(status);
    return threads;
}

TEST(test_cost)
{
    struct silence one = {0}, many[MANY] = {0};
    pthread_t threads[MANY];
    (void)state;
    const int lowest = dup(STDIN_FILENO);
    close(lowest);
    assert_int_equal(end_of_connect(&one, 3600, no), ERROR_NONE);
    assert_int_equal(one.listener, lowest);
    leave(&one);
    for (size_t i = 0; i < MANY; i++) {
        many[i].is_waited_for = true;
        assert_int_equal(pthread_create(&threads[i], NULL, connect_in_a_thread, &many[i]), 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        while (!client_socket_is_known(&many[i].socket)) {
            sched_yield();
        }
    }
    assert_true(count_threads() <= 1 + MANY + 1);
    for (size_t i = 0; i < MANY; i++) {
        void *has_timed_out;
        assert_int_equal(pthread_join(threads[i], &has_timed_out), 0);
        assert_non_null(has_timed_out);
        leave(&many[i]);
    }
}

/* Another socket may get the number of a closed descriptor. Shutting the first socket down must not
 * touch it. */
TEST(test_another_socket)
{
    struct silence first = {0};
    struct silence second = {0};
    char byte;
    (void)state;
    assert_int_equal(end_of_connect(&first, 3600, NULL), ERROR_NONE);
    const int number = first.client;
    leave(&first);
    assert_int_equal(end_of_connect(&second, 3600, NULL), ERROR_NONE);
    if (second.client != number) {
        assert_int_equal(dup2(second.client, number), number);
    }
    client_socket_shut(&first.socket, SHUT_RDWR);
    assert_true(recv(second.client, &byte, 1, MSG_DONTWAIT) < 0);
    assert_false(client_socket_is_ended(&second.socket));
    assert_false(client_socket_set_no_delay(&first.socket));
    assert_true(client_socket_set_no_delay(&second.socket));
    if (second.client != number) {
        close(number);
    }
    leave(&second);
}

TEST(test_wait)
{
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    const int64_t start_ns = mono_now_ns();
    assert_int_equal(client_socket_wait(ends[0], POLLIN, start_ns + 300 * MONO_NS_PER_MS, no), 0);
    assert_true(mono_now_ns() - start_ns >= 300 * MONO_NS_PER_MS);
    assert_int_equal(client_socket_wait(ends[0], POLLIN, INT64_MAX, yes), CLIENT_SOCKET_CANCELLED);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(client_socket_wait(ends[0], POLLIN, 0, NULL), 1);
    close(ends[0]);
    close(ends[1]);
}

static void *write_later(void *context)
{
    const int *end = context;
    mono_sleep(300 * MONO_NS_PER_MS);
    return write(*end, "x", 1) == 1 ? context : NULL;
}

TEST(test_wait_without_end)
{
    bool (*const asked[])(void) = {NULL, no};
    int ends[2];
    pthread_t thread;
    void *written = NULL;
    char byte;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, write_later, &ends[1]), 0);
        assert_int_equal(client_socket_wait(ends[0], POLLIN, CLIENT_SOCKET_FOREVER, asked[i]), 1);
        pthread_join(thread, &written);
        assert_non_null(written);
        assert_int_equal(read(ends[0], &byte, 1), 1);
    }
    close(ends[0]);
    close(ends[1]);
}

static unsigned looks; /* how often the probe was called */
static bool speaks_another_protocol;

static bool look(void *context)
{
    assert_ptr_equal(context, &looks);
    looks++;
    return speaks_another_protocol;
}

/* A server that is silent at first is probed once; a server that has sent something is not. */
TEST(test_deadline)
{
    struct target target = {
        .connect_timeout_s = 1, .speaks_another_protocol = look, .silence_context = &looks};
    struct client_deadline deadline;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    looks = 0;
    client_deadline_begin(&deadline, &target, true);
    assert_int_equal(client_deadline_wait(&deadline, ends[0], POLLIN), 0);
    assert_int_equal(deadline.ended, ERROR_TIMEOUT);
    assert_int_equal(looks, 0); /* the deadline has only one part */
    target.is_cancelled = yes;
    client_deadline_begin(&deadline, &target, true);
    assert_int_equal(client_deadline_wait(&deadline, ends[0], POLLIN), 0);
    assert_int_equal(deadline.ended, ERROR_CANCELLED);
    target.is_cancelled = NULL;
    for (int i = 0; i < 4; i++) {
        const bool has_spoken = i == 2, is_first = i != 3;
        target.connect_timeout_s = 20;
        client_deadline_begin(&deadline, &target, is_first);
        assert_int_equal(deadline.rest_s > 0, is_first);
        looks = 0;
        speaks_another_protocol = i == 0;
        if (has_spoken) {
            assert_int_equal(write(ends[1], "x", 1), 1);
            assert_int_equal(client_deadline_wait(&deadline, ends[0], POLLIN), 1);
            assert_int_equal(read(ends[0], &(char){0}, 1), 1);
        }
        deadline.until_ns = mono_now_ns();  /* the first part is over */
        deadline.rest_s = is_first ? 1 : 0; /* the second part is short */
        assert_int_equal(client_deadline_wait(&deadline, ends[0], POLLIN), 0);
        assert_int_equal(deadline.ended, i == 0 ? ERROR_CANCELLED : ERROR_TIMEOUT);
        assert_int_equal(looks, i < 2 ? 1 : 0);
    }
    close(ends[0]);
    close(ends[1]);
}

static int option_of(int descriptor, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(descriptor, level, option, &value, &size), 0);
    return value;
}

TEST(test_watch_peer)
{
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(descriptor >= 0);
    client_socket_watch_peer(descriptor, 0);
    assert_int_not_equal(option_of(descriptor, SOL_SOCKET, SO_KEEPALIVE), 0);
    assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_KEEPIDLE), CLIENT_SOCKET_IDLE_S);
    assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_KEEPINTVL), CLIENT_SOCKET_INTERVAL_S);
    assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_KEEPCNT), CLIENT_SOCKET_PROBES);
    assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), CLIENT_SOCKET_ANSWER_MS);
    client_socket_watch_peer(descriptor, 1234);
    assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 1234);
    close(descriptor);
}

/* Number of consecutive receives that fail, and the errno that they set. */
static int recv_failures, recv_number;

/* Replaces the library's function, whose declaration has reserved parameter names. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
ssize_t recv(int descriptor, void *bytes, size_t size, int flags)
{
    if (recv_failures > 0) {
        recv_failures--;
        errno = recv_number;
        return -1;
    }
    return recvfrom(descriptor, bytes, size, flags, NULL, NULL);
}

static enum probe_answer judge_x(const unsigned char *answer, size_t length)
{
    return length > 0 && answer[0] == 'x' ? PROBE_YES : PROBE_NO;
}

static void *answer_with_x(void *context)
{
    const int *listener = context;
    const int client = accept(*listener, NULL, NULL);
    return client >= 0 && write(client, "x", 1) == 1 && close(client) == 0 ? context : NULL;
}

/* A receive that must be repeated (EINTR) does not end the answer; a failed receive does. */
TEST(test_interrupted_answer)
{
    static const struct {
        int number;
        enum status status;
    } cases[] = {{EINTR, STATUS_OK}, {EAGAIN, STATUS_OK}, {ECONNRESET, STATUS_REJECTED}};
    const struct probe probe = {.protocol = "X's", .recognise = judge_x};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        pthread_t thread;
        void *has_answered;
        struct error error = {.kind = ERROR_NONE};
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
        assert_int_equal(pthread_create(&thread, NULL, answer_with_x, &listener), 0);
        recv_failures = 2;
        recv_number = cases[i].number;
        const enum status status =
            probe_recognise(&probe, "127.0.0.1", ntohs(address.sin_port), 5000, &error);
        recv_failures = 0;
        assert_int_equal(status, cases[i].status);
        pthread_join(thread, &has_answered);
        assert_non_null(has_answered);
        close(listener);
    }
}
