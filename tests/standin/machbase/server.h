/*
 * The stand-in's server: what its connections share.
 */
#ifndef MACHBASE_STANDIN_SERVER_H
#define MACHBASE_STANDIN_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules.h"
#include "store.h"

/* Numbers of errors. Each is the place of its text in the client library's own table of messages,
 * whose places 2024, 2025 and 2080 are also known as numbers of errors [src]. Which of them a real
 * server answers with, and when, is not known. */
enum server_error {
    SERVER_MEMORY = 2005,
    SERVER_SYNTAX = 2010,
    SERVER_EXISTS = 2024,
    SERVER_NO_TABLE = 2025,
    SERVER_NO_COLUMN = 2056,
    SERVER_NO_USER = 2080,
    SERVER_PASSWORD = 2081,
    SERVER_BAD_ROW = 2446,
    SERVER_SESSIONS = 2471,
    SERVER_PROTOCOL = 2525,
};

struct expect;

struct server {
    const char *user; /* the only one there is, upper case */
    const char *password;
    const char *keep;         /* columns whose values are kept, separated by commas; NULL = all */
    atomic_uint max_sessions; /* that may be logged in; 0 = any number */

    struct store store;
    struct rules rules;
    struct expect *expect; /* what the rows are held against; NULL = nothing */

    atomic_uint_fast64_t connections; /* ever accepted */
    atomic_uint sessions;             /* logged in now */
    atomic_uint sessions_most;        /* logged in at once, ever */
    atomic_uint_fast64_t logins;      /* that succeeded */
    atomic_uint_fast64_t refused;     /* logins that did not */
    atomic_uint_fast64_t packets;     /* of rows */
    atomic_uint_fast64_t rows_kept;
    atomic_uint_fast64_t rows_refused; /* for whatever reason */
    atomic_uint_fast64_t rows_malformed;
    atomic_uint_fast64_t broken; /* connections ended because of what the client sent */
    atomic_uint_fast64_t faults; /* times that a rule applied */
    atomic_bool is_stopping;

    pthread_mutex_t lock; /* guards the list of connections */
    pthread_cond_t changed;
    struct session *first_session;
};

#endif
