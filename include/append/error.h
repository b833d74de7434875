/*
 * Errors as values: what kind, the database's own codes, and one line of text.
 *
 * A struct error is owned by the caller, has fixed size, and recording into it cannot fail.
 * It belongs to one thread at a time.
 */
#ifndef APPEND_ERROR_H
#define APPEND_ERROR_H

#include <stdbool.h>

#include "append/api.h"

enum {
    ERROR_TEXT_BYTES = 240,
    ERROR_SQLSTATE_BYTES = 6
};

/* What a call came to. The same four answers everywhere. */
enum status {
    STATUS_OK,
    STATUS_REJECTED, /* this call failed, the connection is good */
    STATUS_LOST,     /* the connection is gone */
    STATUS_FATAL,    /* no point in going on: wrong password, no such table, out of memory */
};

/* Why it failed: the grouping that ledgers, exit codes and retries go by. */
enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,         /* what was asked for makes no sense */
    ERROR_UNREACHABLE,   /* nobody listens, host unknown, network down */
    ERROR_TIMEOUT,       /* no answer in the time allowed */
    ERROR_AUTH,          /* wrong user or password */
    ERROR_LIMIT,         /* the server has no room for one more session */
    ERROR_NOT_FOUND,     /* no such database, schema, table or column */
    ERROR_BUSY,          /* a lock was not granted in time: the same call may be tried again */
    ERROR_DEADLOCK,      /* the transaction was undone to end a deadlock: it may be tried again */
    ERROR_SERIALIZATION, /* it was undone because it met another one: it may be tried again */
    ERROR_READ_ONLY,   /* the server takes no writes: a standby, or set read-only; this can pass */
    ERROR_DUPLICATE,   /* the server refused the rows: a unique key was there already */
    ERROR_DATA,        /* the server refused the rows for another reason */
    ERROR_UNSUPPORTED, /* the adapter or the server cannot do this */
    ERROR_CONNECTION,  /* an open connection was lost */
    ERROR_SERVER,      /* the server failed in another way; see sqlstate and text */
    ERROR_CANCELLED,   /* given up because the program is to end */
    ERROR_MEMORY,      /* this program could not get memory */
    ERROR_SYSTEM,      /* a system call of this program failed: native_code is errno */
};

struct error {
    enum error_kind kind;
    int native_code; /* the database's own number or errno; 0 when there is none */
    char sqlstate[ERROR_SQLSTATE_BYTES]; /* five characters, or empty */
    char text[ERROR_TEXT_BYTES];         /* one line, no line breaks, cut if too long */

    /* What has no room for one more, static: the server's setting by the name in its manual
     * (session_limit.name), "" = one of its settings, ERROR_LIMIT_..., or NULL = no such thing.
     */
    const char *limit;
};

/* In error.limit: the server's system gave it no process or thread for one more session; and the
 * same where the server only behaves as if it were so. */
#define ERROR_LIMIT_TASKS "tasks"
#define ERROR_LIMIT_TASKS_LIKELY "tasks?"

/* Makes `error` hold nothing. */
void error_clear(struct error *error) APPEND_API(error_clear);

/* Records an error unless one is held already: the first one wins, and true says that this one is.
 * `error` may be NULL, `sqlstate` may be NULL. Line breaks and tabs in the text become single
 * blanks. */
bool error_set(struct error *error, enum error_kind kind, int native_code, const char *sqlstate,
               const char *format, ...) APPEND_API(error_set) __attribute__((format(printf, 5, 6)));

/* Puts words in front of the text of the error that is held: "WORDS: TEXT", the end of which is cut
 * where there is no room for it. */
void error_prefix(struct error *error, const char *format, ...) APPEND_API(error_prefix)
    __attribute__((format(printf, 2, 3)));

/* True when an error is held. */
bool error_is_set(const struct error *error) APPEND_API(error_is_set);

/* True when the call that failed may succeed when it is made again: a lock, a deadlock. */
bool error_is_passing(const struct error *error) APPEND_API(error_is_passing);

/* The kind as one lower-case word ("limit", "timeout"), never NULL. */
const char *error_kind_name(enum error_kind kind) APPEND_API(error_kind_name);

#endif
