/*
 * One connection to the stand-in: greets, logs in, answers. A thread each.
 */
#ifndef MACHBASE_STANDIN_SESSION_H
#define MACHBASE_STANDIN_SESSION_H

#include <stdint.h>

#include "base/buffer.h"
#include "query.h"
#include "rules.h"
#include "server.h"
#include "wire.h"

/* What a statement handle of the client is doing. */
struct session_statement {
    struct session_statement *next;
    uint32_t id;
    struct sql_statement *sql; /* prepared; owned; NULL = none */
    struct query *query;       /* a select that runs; owned; NULL = none */
    struct store_table *table; /* an append that is open: held; NULL = none */
    uint64_t successes;
    uint64_t failures;
};

struct session {
    struct session *next; /* in the server's list */
    struct server *server;
    int socket;
    uint64_t number;
    bool is_logged_in;
    bool is_over; /* nothing more is read */
    struct session_statement *statements;
    struct rule_hit hit; /* what applies to the reply of now */

    struct buffer in;   /* the message */
    struct buffer body; /* units of the reply */
    struct buffer out;  /* packets of the reply */
    struct buffer rows; /* rows of a packet on their way into the table */
};

/* Begins to serve a connection, whose socket it closes. False = no thread; the socket is closed. */
bool session_start(struct server *server, int socket);

/* Hangs up on every client. */
void session_kick_all(struct server *server);

/* Ends every session and waits until all are gone. */
void session_end_all(struct server *server);

/* Adds an error to the reply: what the client library takes as one [run]. */
void session_add_error(struct session *session, enum wire_protocol protocol, uint32_t code,
                       const char *text);

/* Finishes the units in session->body as a message of the reply. */
void session_add_reply(struct session *session, enum wire_protocol protocol, uint32_t statement);

/* The statement of the id, made when it is new; NULL = no memory or too many. */
struct session_statement *session_statement(struct session *session, uint32_t id);

/* Ends what a statement is doing. */
void session_clear_statement(struct session *session, struct session_statement *statement);

/* Answers a message that a client which is logged in may send. session_sql.c, session_append.c */
void session_answer_sql(struct session *session, const struct wire_message *message);
void session_answer_append(struct session *session, const struct wire_message *message);

#endif
