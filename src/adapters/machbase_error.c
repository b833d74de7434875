/* What the client library says about a failed call. */
#include "adapters/machbase_conn.h"

#include <string.h>
#include <strings.h>

enum {
    STATE_BYTES = 16,
    MESSAGE_BYTES = 512,
    NO_USER = 2080, /* of the server */
    WRONG_PASSWORD = 2081,
    LINK_LOST = 9003, /* of the library */
};

struct record {
    char state[STATE_BYTES];
    int code;
    char message[MESSAGE_BYTES];
};

/* The library gives the same record again and again, so it is asked once. */
static void read_record(struct adapter_conn *conn, machbase_handle statement, struct record *record)
{
    unsigned char state[STATE_BYTES] = "";
    unsigned char message[MESSAGE_BYTES] = "";
    short length = 0;
    memset(record, 0, sizeof *record);
    const machbase_result result =
        conn->call->SQLError(conn->environment, conn->connection, statement, state, &record->code,
                             message, MESSAGE_BYTES, &length);
    if (!machbase_succeeded(result)) {
        memcpy(record->message, "the client library gives no reason",
               sizeof "the client library gives no reason");
        record->code = 0;
        return;
    }
    memcpy(record->state, state, sizeof state - 1);
    memcpy(record->message, message, sizeof message - 1);
}

static void set(struct error *error, enum error_kind kind, const struct record *record)
{
    error_set(error, kind, record->code, record->state, "%s", record->message);
}

static bool is_about_room(const char *message)
{
    static const char *const words[] = {"too many", "exceed", "maximum number of sessions",
                                        "session limit", "max_session"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasestr(message, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

enum status machbase_connect_error(struct adapter_conn *conn, struct error *error)
{
    struct record record;
    read_record(conn, NULL, &record);
    if (record.code == NO_USER || record.code == WRONG_PASSWORD) {
        set(error, ERROR_AUTH, &record);
        return STATUS_FATAL;
    }
    if (strcmp(record.state, "01S00") == 0) {
        set(error, ERROR_USAGE, &record);
        return STATUS_FATAL;
    }
    if (is_about_room(record.message)) {
        set(error, ERROR_LIMIT, &record);
        return STATUS_LOST;
    }
    if (record.state[0] == '\0' && record.code != 0) {
        set(error, ERROR_SERVER, &record); /* the server's own words */
        return STATUS_LOST;
    }
    error_set(error, strncmp(record.state, "08S", 3) == 0 ? ERROR_CONNECTION : ERROR_UNREACHABLE,
              record.code, record.state, "%.100s:%u: %s", conn->host, (unsigned)conn->port,
              record.message);
    return STATUS_LOST;
}

/* A statement after which nothing is heard of the server gets many different records. */
static bool is_lost(const struct adapter_conn *conn, const struct record *record)
{
    return strncmp(record->state, "08", 2) == 0 || record->code == LINK_LOST ||
           client_socket_is_ended(&conn->socket);
}

enum status machbase_call_error(struct adapter_conn *conn, machbase_handle statement,
                                struct error *error)
{
    struct record record;
    read_record(conn, statement, &record);
    if (is_lost(conn, &record)) {
        error_set(error, ERROR_CONNECTION, record.code, record.state, "connection lost: %s",
                  record.message);
        return STATUS_LOST;
    }
    if (record.code == MACHBASE_NO_SUCH_TABLE || record.code == MACHBASE_NO_SUCH_COLUMN) {
        set(error, ERROR_NOT_FOUND, &record);
        return STATUS_FATAL;
    }
    set(error, ERROR_SERVER, &record);
    return STATUS_REJECTED;
}

enum status machbase_memory_error(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory in the machbase adapter");
    return STATUS_FATAL;
}
