/*
 * Errors as values: a kind, the database's own codes, and one line of text.
 *
 * A struct error has a fixed size, and recording an error cannot fail. The caller owns the struct,
 * which belongs to one thread at a time.
 */
#ifndef APPEND_ERROR_H
#define APPEND_ERROR_H

#include <stdbool.h>

#include "append/api.h"

enum {
    ERROR_TEXT_BYTES = 240,
    ERROR_SQLSTATE_BYTES = 6
};

/* The result of a call. */
enum status {
    STATUS_OK,
    STATUS_REJECTED, /* this call failed, the connection is still good */
    STATUS_LOST,     /* the connection is lost */
    STATUS_FATAL,    /* continuing is pointless: wrong password, no such table, out of memory */
};

/* The reason why a call failed. Reports, exit codes and retries depend on the kind of an error. */
enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,       /* the request makes no sense */
    ERROR_UNREACHABLE, /* nothing listens at the address, the host is unknown, or the network is
                          down */
    ERROR_TIMEOUT,     /* no answer within the time limit */
    ERROR_AUTH,        /* wrong user or password */
    ERROR_LIMIT,       /* the server has no room for one more session */
    ERROR_NOT_FOUND,   /* no such database, schema, table or column */
    ERROR_BUSY,        /* a lock was not granted in time: the call may be retried */
    ERROR_DEADLOCK, /* the server rolled back to end a deadlock: the transaction may be retried */
    ERROR_SERIALIZATION, /* the server rolled back because of a conflict with another transaction:
                            the transaction may be retried */
    ERROR_READ_ONLY,     /* the server does not accept writes, because it is a standby or read-only,
                            perhaps temporarily */
    ERROR_DUPLICATE,     /* the server refused the rows: a unique key already exists */
    ERROR_DATA,          /* the server refused the rows for another reason */
    ERROR_EXISTS,        /* an index with this name already exists */
    ERROR_UNSUPPORTED,   /* the adapter or the server cannot do this */
    ERROR_CONNECTION,    /* an open connection was lost */
    ERROR_SERVER,        /* the server failed in another way; see sqlstate and text */
    ERROR_CANCELLED,     /* the call was given up because the program is ending */
    ERROR_MEMORY,        /* this program is out of memory */
    ERROR_SYSTEM,        /* a system call of this program failed; native_code is errno */
};

struct error {
    enum error_kind kind;
    int native_code;                     /* the database's own number or errno; 0 = unknown */
    char sqlstate[ERROR_SQLSTATE_BYTES]; /* SQLSTATE: five characters, or empty */
    char text[ERROR_TEXT_BYTES]; /* message: one line, without line breaks, truncated if too long */

    /* The limit that was reached, as a static string: the name of the server's setting
     * (session_limit.name), "" for an unknown setting, or one of the constants ERROR_LIMIT_...
     * below. NULL: no limit was reached. */
    const char *limit;
};

/* Values of error.limit. TASKS: the server could not create a process or thread for one more
 * session. TASKS_LIKELY: this is likely, but the server did not report it. */
#define ERROR_LIMIT_TASKS "tasks"
#define ERROR_LIMIT_TASKS_LIKELY "tasks?"

void error_clear(struct error *error) APPEND_API(error_clear);

/* Records an error, unless `error` already holds an earlier error. Returns true if this call
 * recorded its error. `error` and `sqlstate` may be NULL. In the text, each run of blanks, tabs and
 * line breaks becomes one blank; other control characters become '?'. */
bool error_set(struct error *error, enum error_kind kind, int native_code, const char *sqlstate,
               const char *format, ...) APPEND_API(error_set) __attribute__((format(printf, 5, 6)));

/* Puts a prefix before the text of the recorded error, "PREFIX: TEXT", and truncates the end if the
 * result is too long. */
void error_prefix(struct error *error, const char *format, ...) APPEND_API(error_prefix)
    __attribute__((format(printf, 2, 3)));

/* Returns true when `error` holds an error. */
bool error_is_set(const struct error *error) APPEND_API(error_is_set);

/* Returns true when the failed call may succeed if it is repeated, for example after a deadlock. */
bool error_is_transient(const struct error *error) APPEND_API(error_is_transient);

/* Returns the kind as one lower-case word ("limit", "timeout"), never NULL. */
const char *error_kind_name(enum error_kind kind) APPEND_API(error_kind_name);

#endif
