#include "session.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mono.h"

enum {
    STACK_BYTES = 512 * 1024,
    STATEMENTS_MAX = 1024,
    SLICE_MS = 100, /* how often who waits looks whether the server stops */
};

/* What LIB sends and this server answers: 4.0.0, with which clients keep to simple metadata [src]
 */
#define PROTOCOL_VERSION (UINT64_C(4) << 48)

void session_add_reply(struct session *session, enum wire_protocol protocol, uint32_t statement)
{
    wire_add_message(&session->out, protocol, statement, &session->body);
    buffer_clear(&session->body);
}

void session_add_error(struct session *session, enum wire_protocol protocol, uint32_t code,
                       const char *text)
{
    buffer_clear(&session->body);
    wire_add_result(&session->body, WIRE_ERROR, code);
    wire_add_text(&session->body, WIRE_MESSAGE, text);
    session_add_reply(session, protocol, 0);
}

struct session_statement *session_statement(struct session *session, uint32_t id)
{
    struct session_statement **link = &session->statements;
    size_t count = 0;
    while (*link != NULL && (*link)->id != id) {
        link = &(*link)->next;
        count++;
    }
    if (*link == NULL && count < STATEMENTS_MAX) {
        *link = calloc(1, sizeof **link);
        if (*link != NULL) {
            (*link)->id = id;
        }
    }
    return *link;
}

void session_clear_statement(struct session *session, struct session_statement *statement)
{
    query_close(session->server, statement->query);
    store_release(&session->server->store, statement->table);
    free(statement->sql);
    *statement = (struct session_statement){.next = statement->next, .id = statement->id};
}

/* Waits until the client hangs up or the time is over; in between what it sends is left unread.
 * -1 = any time. False = the connection is to end. */
static bool wait_idle(const struct session *session, int64_t milliseconds)
{
    const int64_t end_ns = mono_now_ns() + milliseconds * MONO_NS_PER_MS;
    while (!atomic_load(&session->server->is_stopping)) {
        const int64_t left_ns = end_ns - mono_now_ns();
        if (milliseconds >= 0 && left_ns <= 0) {
            return true;
        }
        const bool is_short = milliseconds >= 0 && left_ns < SLICE_MS * MONO_NS_PER_MS;
        const int slice = is_short ? (int)(left_ns / MONO_NS_PER_MS) + 1 : SLICE_MS;
        struct pollfd client = {.fd = session->socket, .events = POLLRDHUP};
        if (poll(&client, 1, slice) > 0) {
            return false;
        }
    }
    return false;
}

static void reset_connection(const struct session *session)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(session->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* Meets a step. False = the connection ends here; what is left to do is in session->hit. */
static bool meet(struct session *session, enum rule_step step)
{
    session->hit = rules_meet(&session->server->rules, step);
    if (session->hit.action != ACTION_NONE) {
        atomic_fetch_add(&session->server->faults, 1);
    }
    switch (session->hit.action) {
    case ACTION_RESET:
        reset_connection(session);
        return false;
    case ACTION_DROP:
        return false;
    case ACTION_STALL:
        return wait_idle(session, -1);
    case ACTION_DELAY:
        return wait_idle(session, session->hit.number);
    default:
        return true;
    }
}

static bool send_bytes(const struct session *session, const char *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        const ssize_t sent = send(session->socket, bytes + done, length - done, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        done += (size_t)sent;
    }
    return true;
}

static bool send_chopped(const struct session *session, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!send_bytes(session, bytes + i, 1)) {
            return false;
        }
    }
    return true;
}

/* Sends the reply as the rule that applies wants it. False = the connection ends. */
static bool send_reply(struct session *session)
{
    struct buffer *out = &session->out;
    const enum rule_action action = session->hit.action;
    session->hit.action = ACTION_NONE;
    if (buffer_failed(out) || action == ACTION_PARTIAL) {
        (void)send_bytes(session, out->bytes, out->length / 2);
        return false;
    }
    if (action == ACTION_GARBAGE && out->length > 0) {
        memset(out->bytes, 0xA5, out->length);
    }
    const bool is_sent = action == ACTION_CHOP ? send_chopped(session, out->bytes, out->length)
                                               : send_bytes(session, out->bytes, out->length);
    buffer_clear(out);
    return is_sent;
}

static bool greet(struct session *session)
{
    char hello[WIRE_GREETING_BYTES];
    if (!meet(session, STEP_ACCEPT) || !wire_read(session->socket, hello, sizeof hello)) {
        return false;
    }
    if (memcmp(hello, WIRE_HELLO, sizeof hello) != 0) {
        atomic_fetch_add(&session->server->broken, 1);
        return false;
    }
    if (!meet(session, STEP_HANDSHAKE)) {
        return false;
    }
    buffer_add(&session->out, WIRE_READY, WIRE_GREETING_BYTES);
    return send_reply(session);
}

static bool is_text(const struct wire_unit_value *unit, const char *text, bool with_case)
{
    const char *bytes = (const char *)unit->bytes;
    return unit->length == strlen(text) &&
           (with_case ? strncmp(bytes, text, unit->length) == 0
                      : strncasecmp(bytes, text, unit->length) == 0);
}

/* Takes a place among the sessions, if there is one. */
static bool take_place(struct server *server)
{
    const unsigned allowed = atomic_load(&server->max_sessions);
    unsigned now = atomic_load(&server->sessions);
    do {
        if (allowed > 0 && now >= allowed) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&server->sessions, &now, now + 1));
    unsigned most = atomic_load(&server->sessions_most);
    while (now + 1 > most &&
           !atomic_compare_exchange_weak(&server->sessions_most, &most, now + 1)) {
    }
    return true;
}

static void refuse(struct session *session, uint32_t code, const char *text)
{
    atomic_fetch_add(&session->server->refused, 1);
    session_add_error(session, WIRE_CONNECT, code, text);
}

static void log_in(struct session *session, const struct wire_message *message)
{
    struct server *server = session->server;
    struct wire_unit_value user;
    struct wire_unit_value password;
    char text[100];
    if (!wire_find(message, WIRE_USER, false, &user) ||
        !wire_find(message, WIRE_PASSWORD, false, &password)) {
        refuse(session, SERVER_PROTOCOL, "Protocol message error in connection.");
    } else if (!is_text(&user, server->user, false)) {
        snprintf(text, sizeof text, "User (%.*s) does not exist.",
                 (int)(user.length < 40 ? user.length : 40), (const char *)user.bytes);
        refuse(session, SERVER_NO_USER, text);
    } else if (!is_text(&password, server->password, true)) {
        refuse(session, SERVER_PASSWORD, "Invalid username/password.");
    } else if (!take_place(server)) {
        snprintf(text, sizeof text, "Session count exceed: (maxcount =%u).",
                 atomic_load(&server->max_sessions));
        refuse(session, SERVER_SESSIONS, text);
    } else {
        session->is_logged_in = true;
        session->number = atomic_fetch_add(&server->logins, 1) + 1;
        wire_add_result(&session->body, WIRE_OK, 0);
        wire_add_number(&session->body, WIRE_VERSION, WIRE_UINT64, PROTOCOL_VERSION);
        wire_add_number(&session->body, WIRE_ENDIAN, WIRE_UINT64, 0);
        wire_add_number(&session->body, WIRE_DIRECT_SQL, WIRE_UINT64, session->number);
        session_add_reply(session, WIRE_CONNECT, 0);
    }
}

/* Which step of a rule a message is. */
static enum rule_step step_of(const struct wire_message *message)
{
    struct wire_unit_value sql;
    switch (message->protocol) {
    case WIRE_CONNECT:
        return STEP_LOGIN;
    case WIRE_DISCONNECT:
        return STEP_DISCONNECT;
    case WIRE_PREPARE:
    case WIRE_EXECDIRECT:
        return wire_find(message, message->protocol == WIRE_PREPARE ? WIRE_SQL : WIRE_DIRECT_SQL,
                         false, &sql) &&
                       memmem(sql.bytes, sql.length, "count(*)", strlen("count(*)")) != NULL
                   ? STEP_COUNT
                   : STEP_EXECUTE;
    case WIRE_FETCH:
        return STEP_FETCH;
    case WIRE_FREE:
        return STEP_FREE;
    case WIRE_APPEND_OPEN:
        return STEP_OPEN;
    case WIRE_APPEND_DATA:
        return STEP_DATA;
    case WIRE_APPEND_CLOSE:
        return STEP_CLOSE;
    default:
        return STEP_NONE;
    }
}

static void answer(struct session *session, const struct wire_message *message)
{
    if (session->hit.action == ACTION_ERROR && message->protocol != WIRE_APPEND_DATA) {
        session_add_error(session, (enum wire_protocol)message->protocol, session->hit.number,
                          session->hit.text);
        return;
    }
    if (message->protocol == WIRE_CONNECT && !session->is_logged_in) {
        log_in(session, message);
        return;
    }
    if (!session->is_logged_in) {
        session->is_over = true;
        return;
    }
    switch (message->protocol) {
    case WIRE_PREPARE:
    case WIRE_EXECUTE:
    case WIRE_EXECDIRECT:
    case WIRE_FETCH:
    case WIRE_FREE:
        session_answer_sql(session, message);
        break;
    case WIRE_APPEND_OPEN:
    case WIRE_APPEND_DATA:
    case WIRE_APPEND_CLOSE:
        session_answer_append(session, message);
        break;
    case WIRE_DISCONNECT:
        wire_add_result(&session->body, WIRE_OK, 0);
        session_add_reply(session, WIRE_DISCONNECT, 0);
        break;
    default:
        session->is_over = true;
        break;
    }
}

static void serve(struct session *session)
{
    if (!greet(session)) {
        return;
    }
    struct wire_message message = {.protocol = 0};
    while (!session->is_over) {
        const enum wire_end end = wire_receive(session->socket, &session->in, &message);
        if (end != WIRE_END_NONE) {
            session->is_over = end == WIRE_END_GARBAGE;
            break;
        }
        if (!meet(session, step_of(&message))) {
            return;
        }
        answer(session, &message);
        if (!send_reply(session)) {
            return;
        }
    }
    if (session->is_over) {
        atomic_fetch_add(&session->server->broken, 1);
    }
}

static void free_session(struct session *session)
{
    while (session->statements != NULL) {
        struct session_statement *next = session->statements->next;
        session_clear_statement(session, session->statements);
        free(session->statements);
        session->statements = next;
    }
    close(session->socket);
    buffer_fini(&session->in);
    buffer_fini(&session->body);
    buffer_fini(&session->out);
    buffer_fini(&session->rows);
    free(session);
}

/* Takes a session out of the server's list and frees it. */
static void leave(struct session *session)
{
    struct server *server = session->server;
    if (session->is_logged_in) {
        atomic_fetch_sub(&server->sessions, 1);
    }
    pthread_mutex_lock(&server->lock);
    struct session **link = &server->first_session;
    while (*link != session) {
        link = &(*link)->next;
    }
    *link = session->next;
    free_session(session);
    pthread_cond_signal(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void *run(void *context)
{
    serve(context);
    leave(context);
    return NULL;
}

bool session_start(struct server *server, int socket)
{
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        close(socket);
        return false;
    }
    session->server = server;
    session->socket = socket;
    pthread_mutex_lock(&server->lock);
    session->next = server->first_session;
    server->first_session = session;
    pthread_mutex_unlock(&server->lock);

    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    const bool is_started = pthread_create(&thread, &attributes, run, session) == 0;
    pthread_attr_destroy(&attributes);
    if (!is_started) {
        leave(session);
    }
    return is_started;
}

void session_kick_all(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    for (const struct session *s = server->first_session; s != NULL; s = s->next) {
        shutdown(s->socket, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->lock);
}

void session_end_all(struct server *server)
{
    atomic_store(&server->is_stopping, true);
    session_kick_all(server);
    pthread_mutex_lock(&server->lock);
    while (server->first_session != NULL) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
}
