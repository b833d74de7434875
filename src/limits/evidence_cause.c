#include "limits/evidence_cause.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Numbers of MariaDB and MySQL. */
enum {
    TOO_MANY_CONNECTIONS = 1040,
    CANNOT_CREATE_THREAD = 1135,
    TOO_MANY_USER_CONNECTIONS = 1203,
    USER_RESOURCE_USED_UP = 1226,
    TOO_MANY_STATEMENTS = 1461
};

static bool says(const struct cause *cause, const char *words)
{
    return strcasestr(cause->error.text, words) != NULL;
}

static enum shortage classify_system(const struct cause *cause)
{
    switch (cause->error.native_code) {
    case EMFILE:
        return SHORTAGE_FILES;
    case ENFILE:
        return SHORTAGE_MACHINE_FILES;
    case EADDRNOTAVAIL:
        return SHORTAGE_PORTS;
    case EAGAIN:
        return cause->phase == CAUSE_CONNECT ? SHORTAGE_SOCKET_BACKLOG : SHORTAGE_NONE;
    default:
        return SHORTAGE_NONE;
    }
}

/* Through ODBC the numbers may be the driver's own; the words are the server's. */
static enum shortage classify_limit(const struct cause *cause)
{
    if (cause->error.native_code == CANNOT_CREATE_THREAD || says(cause, "could not fork") ||
        says(cause, "error response during SSL") || says(cause, "create a new thread")) {
        return SHORTAGE_SERVER_TASK;
    }
    if (strcmp(cause->error.sqlstate, "53300") == 0 || says(cause, "too many c") ||
        says(cause, "remaining connection slots") || says(cause, "max_user_connections")) {
        return SHORTAGE_SETTING;
    }
    switch (cause->error.native_code) {
    case TOO_MANY_CONNECTIONS:
    case TOO_MANY_USER_CONNECTIONS:
    case USER_RESOURCE_USED_UP:
        return SHORTAGE_SETTING;
    default:
        return SHORTAGE_NONE;
    }
}

enum shortage evidence_classify(const struct cause *cause)
{
    if (cause->phase == CAUSE_THREAD) {
        return SHORTAGE_THREAD;
    }
    if (cause->status == STATUS_FATAL && cause->error.native_code == TOO_MANY_STATEMENTS) {
        return SHORTAGE_SETTING;
    }
    switch (cause->error.kind) {
    case ERROR_SYSTEM:
        return classify_system(cause);
    case ERROR_LIMIT:
        return classify_limit(cause);
    case ERROR_TIMEOUT:
        return cause->phase == CAUSE_CONNECT ? SHORTAGE_SILENCE : SHORTAGE_NONE;
    case ERROR_CONNECTION:
    case ERROR_UNREACHABLE:
    case ERROR_SERVER:
        return cause->status == STATUS_LOST ? SHORTAGE_LOST : SHORTAGE_NONE;
    default:
        return SHORTAGE_NONE;
    }
}

static const struct session_limit *find_named(const struct server_limits *server, const char *words)
{
    for (size_t i = 0; server != NULL && i < server->count; i++) {
        if (strcasestr(server->sessions[i].name, words) != NULL) {
            return &server->sessions[i];
        }
    }
    return NULL;
}

/* The words by which the setting's name can be found. NULL: the cause does not say which it is. */
static const char *find_words(const struct cause *cause)
{
    switch (cause->error.native_code) {
    case TOO_MANY_CONNECTIONS:
        return "max_connections";
    case TOO_MANY_USER_CONNECTIONS:
        return "max_user_connections";
    case TOO_MANY_STATEMENTS:
        return "max_prepared_stmt_count";
    default:
        break;
    }
    static const struct {
        const char *said;
        const char *name;
    } words[] = {
        {"max_user_connections", "max_user_connections"},
        {"max_connections_per_hour", "max_connections_per_hour"},
        {"for role", "rolconnlimit"},
        {"for database", "datconnlimit"},
        {"too many clients", "max_connections"},
        {"remaining connection slots", "max_connections"},
        {"too many connections", "max_connections"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (says(cause, words[i].said)) {
            return words[i].name;
        }
    }
    return NULL;
}

static uint64_t room_of(const struct session_limit *limit)
{
    return limit->allowed > limit->used ? limit->allowed - limit->used : 0;
}

const struct session_limit *evidence_find_setting(const struct cause *cause,
                                                  const struct server_limits *server,
                                                  const char **name)
{
    const char *words = find_words(cause);
    const struct session_limit *found = words == NULL ? NULL : find_named(server, words);
    *name = words;
    if (words == NULL) {
        /* In a language that is not known here: the first to be reached is the one with the least
         * room. */
        for (size_t i = 0; server != NULL && i < server->count; i++) {
            const struct session_limit *limit = &server->sessions[i];
            found = found == NULL || room_of(limit) < room_of(found) ? limit : found;
        }
    }
    if (found != NULL) {
        *name = found->name;
    }
    return found;
}
