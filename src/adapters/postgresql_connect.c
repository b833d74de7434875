/* Connecting to PostgreSQL, and disconnecting. */
#include "adapters/postgresql_conn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buffer.h"
#include "base/deadline.h"

enum {
    PARAMETERS_MAX = 24,
    USER_TIMEOUT_MS = 10000
};

/* The arguments of PQconnectStartParams. Of repeated keywords the last one wins. */
struct parameters {
    size_t count;
    const char *keywords[PARAMETERS_MAX];
    const char *values[PARAMETERS_MAX];
    char port[8];
    char user_timeout[16];
    struct buffer options;
};

static void add_parameter(struct parameters *parameters, const char *keyword, const char *value)
{
    if (value != NULL && parameters->count + 1 < PARAMETERS_MAX) {
        parameters->keywords[parameters->count] = keyword;
        parameters->values[parameters->count] = value;
        parameters->count++;
        parameters->keywords[parameters->count] = NULL;
        parameters->values[parameters->count] = NULL;
    }
}

/* A server option: blanks and backslashes are escaped, for the server splits at blanks. */
static void add_search_path(struct buffer *options, const char *schema)
{
    struct buffer quoted;
    buffer_init(&quoted);
    buffer_add_identifier(&quoted, schema, '"');
    options->has_failed = options->has_failed || buffer_failed(&quoted);
    buffer_add_text(options, options->length > 0 ? " -c search_path=" : "-c search_path=");
    for (const char *at = buffer_text(&quoted); *at != '\0'; at++) {
        if (*at == ' ' || *at == '\\' || (*at >= '\t' && *at <= '\r')) {
            buffer_add(options, "\\", 1);
        }
        buffer_add(options, at, 1);
    }
    buffer_fini(&quoted);
}

/* The options that would be in force without ours: those of the URL, or else PGOPTIONS. */
static void add_given_options(struct buffer *options, const char *url)
{
    const char *given = getenv("PGOPTIONS");
    PQconninfoOption *parsed = url != NULL ? PQconninfoParse(url, NULL) : NULL;
    for (PQconninfoOption *option = parsed; option != NULL && option->keyword != NULL; option++) {
        if (strcmp(option->keyword, "options") == 0 && option->val != NULL) {
            given = option->val;
        }
    }
    if (given != NULL) {
        buffer_add_text(options, given);
    }
    PQconninfoFree(parsed);
}

/* In front of the URL what it may change, behind it what it may not. */
static void fill_parameters(struct parameters *parameters, const struct target *target)
{
    parameters->count = 0;
    buffer_init(&parameters->options);
    add_parameter(parameters, "fallback_application_name", "append");
    add_parameter(parameters, "keepalives", "1");
    add_parameter(parameters, "keepalives_idle", "5");
    add_parameter(parameters, "keepalives_interval", "2");
    add_parameter(parameters, "keepalives_count", "3");
    snprintf(parameters->user_timeout, sizeof parameters->user_timeout, "%u",
             target->answer_timeout_ms > 0 ? target->answer_timeout_ms : USER_TIMEOUT_MS);
    add_parameter(parameters, "tcp_user_timeout", parameters->user_timeout);
    if (getenv("PGGSSENCMODE") == NULL) {
        /* Asking for Kerberos costs a round trip and a library's memory in each session. */
        add_parameter(parameters, "gssencmode", "disable");
    }
    add_parameter(parameters, "dbname", target->url);
    add_parameter(parameters, "host", target->host);
    if (target->port != 0) {
        snprintf(parameters->port, sizeof parameters->port, "%u", (unsigned)target->port);
        add_parameter(parameters, "port", parameters->port);
    }
    add_parameter(parameters, "user", target->user);
    add_parameter(parameters, "password", target->password);
    add_parameter(parameters, "dbname", target->database);
    add_parameter(parameters, "client_encoding", "UTF8");
    if (target->schema != NULL) {
        add_given_options(&parameters->options, target->url);
        add_search_path(&parameters->options, target->schema);
        add_parameter(parameters, "options", buffer_text(&parameters->options));
    }
}

static const char *text_or(const char *text, const char *otherwise)
{
    return text != NULL && text[0] != '\0' ? text : otherwise;
}

static enum status wait_error(int ready, const PGconn *connection, unsigned timeout_s,
                              struct error *error)
{
    if (ready == 0) {
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer from \"%s\", port %s, within %u s",
                  text_or(PQhost(connection), "the server"), PQport(connection), timeout_s);
    } else if (ready == DEADLINE_WAIT_CANCELLED) {
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
    } else {
        error_set(error, ERROR_SYSTEM, errno, NULL, "poll: error %d", errno);
    }
    return STATUS_LOST;
}

static enum status connect_in_time(PGconn *connection, const struct target *target,
                                   struct error *error)
{
    const unsigned timeout_s = target->connect_timeout_s > 0 ? target->connect_timeout_s : 1;
    struct timespec left = {.tv_sec = (time_t)timeout_s, .tv_nsec = 0};
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    bool was_reached = false;

    while (step != PGRES_POLLING_OK) {
        const ConnStatusType state = PQstatus(connection);
        if (step == PGRES_POLLING_FAILED || state == CONNECTION_BAD) {
            return postgresql_connect_error(connection, was_reached, error);
        }
        was_reached = was_reached || (state != CONNECTION_STARTED && state != CONNECTION_NEEDED);
        struct pollfd wanted = {.fd = PQsocket(connection),
                                .events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        const int ready = deadline_wait(&wanted, &left, target->is_cancelled);
        if (ready <= 0) {
            return wait_error(ready, connection, timeout_s, error);
        }
        step = PQconnectPoll(connection);
    }
    return STATUS_OK;
}

/* Before libpq has looked up a host nothing can be wrong but the parameters and its memory. */
static enum status start_error(PGconn *connection, struct error *error)
{
    const char *message = PQerrorMessage(connection);
    if (strstr(message, "could not translate host name") != NULL ||
        strstr(message, "connection to server ") != NULL) {
        return postgresql_connect_error(connection, false, error);
    }
    if (strncmp(message, "out of memory", 13) == 0) {
        return postgresql_memory_error(error);
    }
    error_set(error, ERROR_USAGE, 0, NULL, "%.*s", (int)strcspn(message, "\n"), message);
    return STATUS_FATAL;
}

/* Notices are not printed. One that ends the session tells why it was lost. */
static void keep_last_words(void *context, const PGresult *notice)
{
    struct adapter_conn *conn = context;
    const char *level = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *sqlstate = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    if (level != NULL && sqlstate != NULL &&
        (strcmp(level, "FATAL") == 0 || strcmp(level, "PANIC") == 0)) {
        snprintf(conn->last_sqlstate, sizeof conn->last_sqlstate, "%s", sqlstate);
    }
}

enum status postgresql_open(const struct target *target, struct adapter_conn **conn,
                            struct error *error)
{
    struct parameters parameters;
    enum status status = STATUS_OK;

    *conn = NULL;
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return postgresql_memory_error(error);
    }
    made->schema = target->schema;
    made->is_method_given = target->method != NULL;
    made->uses_insert = target->method != NULL && strcmp(target->method, "insert") == 0;

    fill_parameters(&parameters, target);
    if (!buffer_failed(&parameters.options)) {
        made->connection = PQconnectStartParams(parameters.keywords, parameters.values, 1);
    }
    buffer_fini(&parameters.options);
    if (made->connection == NULL) {
        status = postgresql_memory_error(error);
    } else if (PQstatus(made->connection) == CONNECTION_BAD) {
        status = start_error(made->connection, error);
    } else {
        /* Only the verbose layout carries the SQLSTATE of a connect that fails. */
        PQsetErrorVerbosity(made->connection, PQERRORS_VERBOSE);
        PQsetNoticeReceiver(made->connection, keep_last_words, made);
        status = connect_in_time(made->connection, target, error);
    }
    if (status != STATUS_OK) {
        postgresql_close(made);
        return status;
    }
    PQsetErrorVerbosity(made->connection, PQERRORS_DEFAULT);
    *conn = made;
    return STATUS_OK;
}

void postgresql_interrupt(struct adapter_conn *conn)
{
    const int socket = PQsocket(conn->connection);
    if (socket >= 0) {
        shutdown(socket, SHUT_RDWR);
    }
}

void postgresql_close(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->is_append_open) {
        /* PQfinish would first wait until the server has taken the rows that nobody wants. */
        postgresql_interrupt(conn);
    }
    PQfinish(conn->connection);
    free(conn->copy_sql);
    free(conn);
}
