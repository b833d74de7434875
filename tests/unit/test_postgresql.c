/* Tests with a server that ends connections during connecting, because a real server cannot be made
 * to do this. Also tests of the bytes of a COPY. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/registry.h"

extern const struct adapter adapter_postgresql;

/* A server that answers one request of each connection with `answer` and then closes the
 * connection. */
struct stand_in {
    int listener;
    const char *answer;
    int connections; /* number of connections to answer */
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

/* Returns a listening socket, and makes its address the target. */
static int listen_anywhere(const char *query, struct target *target)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    *target = (struct target){.host = "127.0.0.1",
                              .port = ntohs(address.sin_port),
                              .user = "somebody",
                              .database = "x",
                              .query = query,
                              .connect_timeout_s = 20};
    return listener;
}

static enum status open_stand_in(const char *answer, const char *query, struct error *error)
{
    struct target target;
    struct stand_in stand_in = {listen_anywhere(query, &target), answer, 1};
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

/* An overloaded server resets connections. The error must not blame certificates or passwords. */
TEST(test_tls_that_breaks_off)
{
    struct error error;
    const enum status status = open_stand_in("S", "sslmode=require", &error);
    print_message("%s\n", error.text);
    assert_int_equal(status, STATUS_LOST);
    assert_int_equal(error.kind, ERROR_CONNECTION);
}

TEST(test_server_without_tls)
{
    struct error error;
    const enum status status = open_stand_in("N", "ssl=true", &error);
    print_message("%s\n", error.text);
    assert_int_equal(status, STATUS_FATAL);
    assert_int_equal(error.kind, ERROR_AUTH);
}

TEST(test_hang_up_without_tls)
{
    struct error error;
    const enum status status = open_stand_in("", "sslmode=disable", &error);
    print_message("%s\n", error.text);
    assert_int_equal(status, STATUS_LOST);
    assert_int_equal(error.kind, ERROR_CONNECTION);
}

/* A server that accepts one COPY of rows and keeps the bytes. */
struct copy_server {
    int listener;
    size_t length;
    unsigned char data[1024];
};

static bool receive(int client, void *bytes, size_t length)
{
    return length == 0 || recv(client, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

static bool reply(int client, const void *bytes, size_t length)
{
    return send(client, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static void *take_copy(void *argument)
{
    /* The messages of the server. `welcome`: authentication is OK, ready for a query. `copy_in`:
     * COPY in, binary, no columns. `copied`: COPY 1, ready for a query. */
    static const char welcome[] = "R\0\0\0\10\0\0\0\0Z\0\0\0\5I", copy_in[] = "G\0\0\0\7\1\0\0",
                      copied[] = "C\0\0\0\13COPY 1\0Z\0\0\0\5I";
    struct copy_server *server = argument;
    const int client = accept(server->listener, NULL, NULL);
    unsigned char head[5] = {0}, body[1024];
    bool goes_on = true;
    for (bool is_first = true; goes_on; is_first = false) {
        /* the first message has no type letter */
        goes_on = receive(client, head + is_first, sizeof head - is_first);
        const size_t length = ((size_t)head[3] << 8) + head[4] - 4;
        goes_on = goes_on && length <= sizeof body && receive(client, body, length);
        if (is_first) {
            goes_on = goes_on && reply(client, welcome, sizeof welcome - 1);
        } else if (head[0] == 'Q') {
            goes_on = goes_on && reply(client, copy_in, sizeof copy_in - 1);
        } else if (head[0] == 'd' && goes_on && server->length + length <= sizeof server->data) {
            memcpy(server->data + server->length, body, length);
            server->length += length;
        } else if (head[0] == 'c') {
            goes_on = goes_on && reply(client, copied, sizeof copied - 1);
        } else {
            goes_on = false; /* an 'X' ends the connection */
        }
    }
    close(client);
    return NULL;
}

/* The expected bytes are in PostgreSQL's binary format: length words, numeric in base 10,000, times
 * in microseconds since 2000. */
TEST(test_values_of_a_copy)
{
    static const char expected[] = "5047434f50590aff0d0a0000000000000000000009"
                                   "0000000e000300004000000504d2162e2328"
                                   "0000000a0001ffff400000030032"
                                   "0000000c000200000000000204d215e0"
                                   "000000080000000000000000"
                                   "00000008fffca2fec4c81fff"
                                   "00000004fffffffe"
                                   "ffffffff"
                                   "000000026162"
                                   "00000004ffffd532"
                                   "ffff";
    static const int64_t decimals[] = {-123456789, -5, 123456},
                         moments[] = {INT64_C(946684800000000000), -1};
    static const int32_t number = -2, day = -1;
    static const uint8_t is_null = 1;
    static const struct text_value text = {"ab", 2};
    const struct column columns[] = {
        {.name = "a", .type = COLUMN_DECIMAL, .precision = 18, .scale = 5},
        {.name = "b", .type = COLUMN_DECIMAL, .precision = 18, .scale = 3},
        {.name = "c", .type = COLUMN_DECIMAL, .precision = 18, .scale = 2},
        {.name = "d", .type = COLUMN_TIMESTAMP},
        {.name = "e", .type = COLUMN_TIMESTAMP},
        {.name = "f", .type = COLUMN_INT32},
        {.name = "g", .type = COLUMN_INT32},
        {.name = "h", .type = COLUMN_TEXT},
        {.name = "i", .type = COLUMN_DATE},
    };
    const struct column_data data[] = {
        {.values.int64 = &decimals[0]},
        {.values.int64 = &decimals[1]},
        {.values.int64 = &decimals[2]},
        {.values.int64 = &moments[0]},
        {.values.int64 = &moments[1]},
        {.values.int32 = &number},
        {.values.int32 = &number, .is_null = &is_null},
        {.values.text = &text},
        {.values.int32 = &day},
    };
    struct table table;
    struct error error = {.kind = ERROR_NONE};
    assert_int_equal(table_init(&table, "t", NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        assert_int_equal(table_add_column(&table, &columns[i], NULL), STATUS_OK);
    }
    struct copy_server server = {.length = 0};
    struct target target;
    server.listener = listen_anywhere("sslmode=disable", &target);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_copy, &server), 0);
    const struct batch batch = {.table = &table, .row_count = 1, .columns = data};
    struct adapter_conn *conn = NULL;
    uint64_t kept = 0, accepted = 0;
    const struct adapter *adapter = &adapter_postgresql;
    assert_int_equal(adapter->open(adapter, &target, &conn, &error), STATUS_OK);
    assert_int_equal(adapter->append_open(conn, &table, &error), STATUS_OK);
    assert_int_equal(adapter->append_rows(conn, &batch, &kept, &error), STATUS_OK);
    assert_int_equal(adapter->append_close(conn, &accepted, &error), STATUS_OK);
    adapter->close(conn);
    pthread_join(thread, NULL);
    close(server.listener);
    table_fini(&table);
    assert_int_equal(accepted, 1);
    char sent[2 * sizeof server.data + 1] = "";
    for (size_t i = 0; i < server.length; i++) {
        snprintf(sent + 2 * i, 3, "%02x", (unsigned)server.data[i]);
    }
    assert_string_equal(sent, expected);
}
