/*
 * PostgreSQL through libpq.
 *
 * append_open and append_close need one round trip each, because libpq begins a COPY only after the
 * server has agreed to it. With the method "insert", only append_close needs a round trip.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libpq-fe.h>

#include "adapters/dialect.h"
#include "append/client_socket.h"
#include "append/url.h"
#include "base/ask.h"
#include "base/mono.h"
#include "base/text.h"

enum {
    /* Size of a piece of COPY data. With its header of 5 bytes, a piece has 4 KiB, which is half of
     * the data that libpq collects before it sends. With pieces of exactly this size, libpq uses
     * less of its buffer, which saves memory with thousands of sessions. Larger pieces are not
     * faster. */
    PIECE_BYTES = 4096 - 5,

    /* maximum size of a value of any type except text, bytes and JSON; the largest is a numeric of
     * 19 decimal digits */
    FIXED_BYTES = 24,

    PARAMETERS_MAX = 65535, /* maximum number of parameters of a statement */

    /* Maximum number of prepared INSERTs. A session writes to few tables and uses few batch sizes:
     * the full size, and smaller sizes at the end of an append. INSERTs for further tables and
     * sizes are sent unprepared. */
    PREPARED_MAX = 8,
    NAME_BYTES = 48,
};

/* The prepared multi-row INSERT statements, append_0, append_1, ... */
struct postgresql_inserts {
    unsigned prepared_count; /* number of statements that the server has confirmed */
    unsigned sent_count; /* number of statements that were sent, including confirmed statements */
    struct {
        const struct table *table;
        size_t rows;
    } statements[PREPARED_MAX];
};

/* The sizes of a statement's earlier answers. They determine how the next answer is read: row by
 * row or as a whole. When libpq reads row by row, it creates a result for each row; for a query of
 * a single row, this takes a tenth of the client's CPU time. When libpq reads an answer as a whole,
 * it keeps the whole answer in memory. */
struct answers {
    unsigned small; /* number of answers of at most SMALL_BYTES, counted up to SMALL_ANSWERS */
    bool is_large;  /* an answer was larger than SMALL_BYTES: answers are read row by row */
};

/* A prepared statement of the server. */
struct adapter_prepared {
    const struct statement *statement;
    char name[16];             /* the statement's name on the server: s1, s2, ... */
    bool is_kept;              /* the server has a statement with this name */
    uint64_t typed_parameters; /* type_bit of each parameter that is sent with its declared type */
    struct answers answers;
};

/* A connection. It uses little memory, because there are thousands of connections: it stores no
 * rows. */
struct adapter_conn {
    PGconn *connection;
    struct client_socket socket; /* the connection's socket, for interrupt_connection in another
                                    thread */
    int backend;        /* number of the server's process, which another thread reads; 0: unknown */
    const char *schema; /* the target's schema, or NULL; borrowed */
    bool uses_insert;   /* the connection uses the method "insert" */
    bool is_method_given; /* the user chose the method, so no other method may be used */
    bool has_no_copy;     /* the server has no COPY, as probe_copy or an earlier connection found */
    bool is_pooled;       /* the server is a pooler, as init_asker or an earlier connection found */
    char last_sqlstate[ERROR_SQLSTATE_BYTES]; /* the reason that the server gave before it
                                                 disconnected */
    bool has_begun;                           /* a transaction of adapter.begin is open */
    bool has_stale_plan;              /* the latest statement failed as stale: see is_stale */
    const struct statement *run_last; /* the latest statement with is_prepared that was run */
    struct answers run_answers;       /* the sizes of run_last's answers */
    bool is_run_prepared;             /* run_last is prepared, as "run_<run_generation>" */
    unsigned run_generation;
    unsigned names;                 /* number of names that were given to prepared statements */
    const struct table *copy_table; /* the table for which copy_sql was written */
    char *copy_sql;                 /* COPY statement for copy_table; owned */
    struct postgresql_inserts inserts;
};

/* Meanings of connect failures that neither an SQLSTATE nor the dialect classifies, by parts of
 * their messages. libpq does not reveal errno. */
static const struct {
    enum {
        ALWAYS,
        ONCE_REACHED, /* only if the server's port accepted a connection */
        UNREACHED,
    } when;
    enum status status;
    enum error_kind kind;
    int number; /* errno of the failure */
    /* texts, one of which is part of libpq's message; ends with NULL */
    const char *parts[9];
} connect_messages[] = {
    {ALWAYS, STATUS_LOST, ERROR_TIMEOUT, 0, {"timed out", "timeout expired"}},
    {ALWAYS,
     STATUS_FATAL,
     ERROR_UNSUPPORTED,
     0,
     {"invalid response to SSL", "expected authentication"}},
    {ONCE_REACHED, STATUS_LOST, ERROR_CONNECTION, 0, {"SSL SYSCALL error", "closed unexpectedly"}},
    {ONCE_REACHED,
     STATUS_FATAL,
     ERROR_AUTH,
     0,
     {"authentication", "SCRAM", "SSL", "certificate", "GSS", "channel binding", "password",
      "protocol"}},
    {ONCE_REACHED, STATUS_LOST, ERROR_CONNECTION, 0, {""}},
    {UNREACHED, STATUS_LOST, ERROR_SYSTEM, ENFILE, {"Too many open files in system"}},
    {UNREACHED, STATUS_LOST, ERROR_SYSTEM, EMFILE, {"Too many open files"}},
    {UNREACHED, STATUS_LOST, ERROR_SYSTEM, EADDRNOTAVAIL, {"Cannot assign requested address"}},
    {UNREACHED, STATUS_LOST, ERROR_SYSTEM, ENOBUFS, {"No buffer space available"}},
    /* the backlog of a Unix socket is full */
    {UNREACHED, STATUS_LOST, ERROR_SYSTEM, EAGAIN, {"Resource temporarily unavailable"}},
    {UNREACHED, STATUS_LOST, ERROR_UNREACHABLE, 0, {""}},
};

/* Records why a connection attempt failed; PQERRORS_VERBOSE must have been set. */
static enum status connect_error(PGconn *connection, bool was_reached, struct error *error)
{
    static const char start[] = "connection to server ";
    const char *message = PQerrorMessage(connection);
    const char *found = NULL;
    char sqlstate[ERROR_SQLSTATE_BYTES] = "";
    char text[ERROR_TEXT_BYTES], advised[ERROR_TEXT_BYTES];
    struct dialect_failure failure = {.is_connecting = true, .sqlstate = sqlstate, .text = text};
    struct dialect_meaning meaning = {STATUS_LOST, ERROR_SERVER, NULL};
    /* find the SQLSTATE in a verbose message, `FATAL:  53300: text`; the severity may be
     * translated, but the layout is always the same */
    for (const char *at = strstr(message, ":  "); at != NULL; at = strstr(at + 1, ":  ")) {
        const size_t length = strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        found = length == 5 && strncmp(at + 8, ": ", 2) == 0 ? at + 3 : found;
    }
    if (found != NULL) {
        /* the server's message, without the SQLSTATE, which is reported apart from the text */
        const char *severity = found - 3;
        while (severity > message && severity[-1] != ' ' && severity[-1] != '\n') {
            severity--;
        }
        memcpy(sqlstate, found, 5);
        snprintf(text, sizeof text, "%.*s  %.*s", (int)(found - 2 - severity), severity,
                 (int)strcspn(found + 7, "\n"), found + 7);
        dialect_postgresql.classify_error(&failure, &meaning);
        dialect_postgresql.write_text(&failure, PQuser(connection), advised, sizeof advised);
        return dialect_record(&meaning, &failure, advised, error);
    }
    /* The message has a paragraph for each address that was tried. Use the last paragraph. */
    const char *line = message;
    for (const char *at = strstr(line, start); at != NULL; at = strstr(at + 1, start)) {
        line = at;
    }
    if (strstr(line, "out of memory") != NULL) {
        return dialect_memory_error(error);
    }
    if (PQconnectionNeedsPassword(connection)) {
        error_set(error, ERROR_AUTH, 0, NULL,
                  "the server requires a password for user \"%.80s\": give it with "
                  "--password-file FILE, in APPEND_PASSWORD or in libpq's way (~/.pgpass, "
                  "PGPASSWORD)",
                  PQuser(connection));
        return STATUS_FATAL;
    }
    failure.text = line;
    bool is_known = dialect_postgresql.classify_error(&failure, &meaning);
    for (size_t i = 0; !is_known; i++) {
        const char *const *parts = connect_messages[i].parts;
        while (*parts != NULL && strstr(line, *parts) == NULL) {
            parts++;
        }
        is_known =
            *parts != NULL && connect_messages[i].when != (was_reached ? UNREACHED : ONCE_REACHED);
        meaning =
            (struct dialect_meaning){connect_messages[i].status, connect_messages[i].kind, NULL};
        failure.number = connect_messages[i].number;
    }
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    return dialect_record(&meaning, &failure, text, error);
}

/* Returns true when the server must prepare a statement again, because a table has changed or the
 * server has forgotten the statement. The server has then not executed the statement. */
static bool is_stale(const PGresult *result, const char *sqlstate)
{
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (sqlstate == NULL || strcmp(sqlstate, "0A000") != 0) {
        return sqlstate != NULL && strcmp(sqlstate, "26000") == 0;
    }
    return (function != NULL && strcmp(function, "RevalidateCachedQuery") == 0) ||
           (message != NULL && strncmp(message, "cached plan", 11) == 0);
}

/* Records a failed result or, if `result` is NULL, the connection's own message. */
static enum status result_error(struct adapter_conn *conn, const PGresult *result,
                                struct error *error)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *level = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = result != NULL ? PQresultErrorMessage(result) : "";
    bool is_lost = PQstatus(conn->connection) == CONNECTION_BAD;
    char message[ERROR_TEXT_BYTES];
    char line[ERROR_TEXT_BYTES + 48];
    struct dialect_failure failure = {.sqlstate = sqlstate, .text = primary};
    struct dialect_meaning meaning = {STATUS_REJECTED, ERROR_SERVER, NULL};
    conn->has_stale_plan = conn->has_stale_plan || is_stale(result, sqlstate);
    if (sqlstate != NULL && primary != NULL) {
        is_lost = is_lost || (level != NULL && strcmp(level, "ERROR") != 0);
        dialect_postgresql.write_text(&failure, PQuser(conn->connection), message, sizeof message);
        snprintf(line, sizeof line, "%.40s:  %s", severity != NULL ? severity : "ERROR", message);
        dialect_postgresql.classify_error(&failure, &meaning);
    } else {
        text = text[0] == '\0' ? PQerrorMessage(conn->connection) : text;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
        if (is_lost && sqlstate == NULL && conn->last_sqlstate[0] != '\0') {
            /* The server's reason for disconnecting explains more than the broken pipe that
             * followed; it may have arrived as a notice between two commands. */
            failure.sqlstate = conn->last_sqlstate;
        }
    }
    if (is_lost) {
        meaning = (struct dialect_meaning){STATUS_LOST, ERROR_CONNECTION, NULL};
    }
    return dialect_record(&meaning, &failure, line, error);
}

enum {
    FEW_CELLS = 16,
    SMALL_BYTES = 1 << 20,
    SMALL_ANSWERS = 3,
    BOOL_OID = 16, /* the numbers of types are from pg_type.dat of PostgreSQL */
    BYTEA_OID = 17,
    INT8_OID = 20,
    INT2_OID = 21,
    INT4_OID = 23,
};

/* The receiver of a statement's results. */
struct reading {
    struct answer *answer;
    struct cell *cells; /* cells of one row: `few`, or owned memory */
    size_t columns;
    bool is_done;  /* no more rows are wanted */
    bool has_rows; /* a statement returned rows */
    uint64_t affected;
    size_t bytes; /* size of the results in libpq's memory */
    struct cell few[FEW_CELLS];
};

/* Leaves the cells uninitialised, because they are large. */
static void reading_init(struct reading *reading, struct answer *answer)
{
    reading->answer = answer;
    reading->cells = NULL;
    reading->columns = 0;
    reading->is_done = false;
    reading->has_rows = false;
    reading->affected = 0;
    reading->bytes = 0;
}

/* Chooses how to read the answer to a statement that was just sent: row by row, unless earlier
 * answers were small. `was_sent` is the result of PQsend.... */
static void choose_mode(struct adapter_conn *conn, const struct answers *answers, int was_sent)
{
    if (was_sent && (answers->is_large || answers->small < SMALL_ANSWERS)) {
        PQsetSingleRowMode(conn->connection);
    }
}

static void note_answer(struct answers *answers, const struct reading *reading)
{
    answers->is_large = answers->is_large || reading->bytes > SMALL_BYTES;
    answers->small += answers->small < SMALL_ANSWERS ? 1 : 0;
}

static void free_cells(struct reading *reading)
{
    if (reading->cells != reading->few) {
        free(reading->cells);
    }
}

static enum status make_cells(struct reading *reading, int columns, struct error *error)
{
    if (reading->answer->take == NULL || (size_t)columns == reading->columns) {
        return STATUS_OK;
    }
    free_cells(reading);
    reading->columns = (size_t)columns;
    reading->cells = reading->columns <= FEW_CELLS
                         ? reading->few
                         : calloc(reading->columns, sizeof *reading->cells);
    return reading->cells != NULL ? STATUS_OK : dialect_memory_error(error);
}

/* Converts the text of an integer or boolean to a number, because other adapters return numbers. */
static void make_number(struct cell *cell, Oid type)
{
    int64_t number;
    const struct text_value text = cell->as.text;
    if (cell->is_null ||
        (type != BOOL_OID && type != INT2_OID && type != INT4_OID && type != INT8_OID)) {
        return;
    }
    if (type == BOOL_OID) {
        *cell = (struct cell){.type = COLUMN_INT64, .as.int64 = text.bytes[0] == 't'};
    } else if (text_parse_integer(text.bytes, text.length, &number)) {
        *cell = (struct cell){.type = COLUMN_INT64, .as.int64 = number};
    }
}

static uint8_t hex_digit(char digit)
{
    return (uint8_t)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

/* Replaces the text "\x…" of a bytea value by the value's bytes, so that the value can become a
 * parameter of another statement. */
static void make_bytes(struct cell *cell, Oid type, char *text)
{
    const uint32_t length = cell->as.text.length;
    if (cell->is_null || type != BYTEA_OID || length < 2 || text[0] != '\\' || text[1] != 'x') {
        return; /* with bytea_output = escape, backslashes are doubled, so no text begins with \x */
    }
    for (uint32_t i = 0; i < length / 2 - 1; i++) {
        text[i] = (char)(hex_digit(text[2 * i + 2]) << 4 | hex_digit(text[2 * i + 3]));
    }
    cell->as.text.length = length / 2 - 1;
}

static enum status take_rows(struct reading *reading, const PGresult *result, struct error *error)
{
    struct answer *const answer = reading->answer;
    const int rows = PQntuples(result);
    const enum status status = make_cells(reading, PQnfields(result), error);
    answer->rows += (uint64_t)rows;
    reading->bytes += PQresultMemorySize(result);
    reading->has_rows = true;
    reading->is_done = reading->is_done || status != STATUS_OK || answer->take == NULL;
    for (int row = 0; row < rows && !reading->is_done; row++) {
        for (int i = 0; i < (int)reading->columns; i++) {
            reading->cells[i] = (struct cell){
                .type = COLUMN_TEXT,
                .is_null = PQgetisnull(result, row, i) != 0,
                .as.text = {PQgetvalue(result, row, i), (uint32_t)PQgetlength(result, row, i)}};
            make_number(&reading->cells[i], PQftype(result, i));
            make_bytes(&reading->cells[i], PQftype(result, i), PQgetvalue(result, row, i));
        }
        reading->is_done = !answer->take(answer->context, reading->cells, reading->columns);
    }
    return status;
}

/* Reads all rows of the COPY TO STDOUT that has begun; skips rows that are no longer wanted. In a
 * line, tabs separate the values, and \N means NULL. All values are numbers, so no escapes need to
 * be decoded. */
static enum status take_lines(struct adapter_conn *conn, struct reading *reading,
                              const PGresult *result, struct error *error)
{
    struct answer *const answer = reading->answer;
    const enum status status = make_cells(reading, PQnfields(result), error);
    char *line = NULL;
    int length;
    reading->has_rows = true;
    reading->is_done = reading->is_done || status != STATUS_OK || answer->take == NULL;
    while ((length = PQgetCopyData(conn->connection, &line, 0)) > 0) {
        const char *const end = line + length - (line[length - 1] == '\n');
        const char *at = line;
        answer->rows++;
        for (size_t i = 0; i < reading->columns && !reading->is_done; i++) {
            const char *tab = memchr(at, '\t', (size_t)(end - at));
            const size_t bytes = (size_t)((tab != NULL ? tab : end) - at);
            reading->cells[i] = (struct cell){.type = COLUMN_TEXT,
                                              .is_null = bytes == 2 && memcmp(at, "\\N", 2) == 0,
                                              .as.text = {at, (uint32_t)bytes}};
            at = tab != NULL ? tab + 1 : end;
        }
        reading->is_done =
            reading->is_done || !answer->take(answer->context, reading->cells, reading->columns);
        PQfreemem(line);
    }
    /* record the error now, because libpq's later message would be about the socket, which libpq
     * has closed */
    return length < -1 ? result_error(conn, NULL, error) : status;
}

/* Reads the rest of the current command; `was_sent` is the result of PQsend.... If `reading` is
 * NULL, drops all results. */
static enum status finish(struct adapter_conn *conn, int was_sent, struct reading *reading,
                          struct error *error)
{
    struct answer none = {.take = NULL};
    struct reading unread;
    if (reading == NULL) {
        reading_init(&unread, &none);
    }
    struct reading *const to = reading != NULL ? reading : &unread;
    enum status status = STATUS_OK;
    PGresult *result;

    /* Read at once, because the answer may already have arrived. This saves the system call of a
     * poll. */
    if (was_sent) {
        PQconsumeInput(conn->connection);
    }
    while ((result = PQgetResult(conn->connection)) != NULL) {
        enum status one = STATUS_OK;
        switch (PQresultStatus(result)) {
        case PGRES_SINGLE_TUPLE:
        case PGRES_TUPLES_OK:
            one = take_rows(to, result, error);
            break;
        case PGRES_COPY_OUT:
            one = take_lines(conn, to, result, error);
            break;
        case PGRES_COPY_IN:
            PQputCopyEnd(
                conn->connection,
                reading != NULL
                    ? "append cannot send rows for COPY FROM STDIN: write INSERT, or a query"
                    : "append cannot send rows for COPY FROM STDIN: write INSERT");
            break;
        case PGRES_FATAL_ERROR:
        case PGRES_BAD_RESPONSE:
        case PGRES_NONFATAL_ERROR:
        case PGRES_PIPELINE_ABORTED:
            one = result_error(conn, result, error);
            break;
        default:
            to->affected += strtoull(PQcmdTuples(result), NULL, 10);
        }
        status = status == STATUS_OK ? one : status;
        to->is_done = to->is_done || status != STATUS_OK;
        PQclear(result);
    }
    free_cells(to);
    const bool is_lost = PQstatus(conn->connection) == CONNECTION_BAD;
    if (status == STATUS_OK && (is_lost || !was_sent)) {
        status = result_error(conn, NULL, error);
    }
    return is_lost ? STATUS_LOST : status;
}

/* Rolls back a transaction that the user's SQL has left open, because rows that are inserted later
 * would be acknowledged within this transaction and lost with the connection. Between adapter.begin
 * and the end of its transaction, only checks that the transaction is still open. `status` is the
 * status of the SQL; returns the resulting status. */
static enum status end_transaction(struct adapter_conn *conn, enum status status,
                                   struct error *error)
{
    const PGTransactionStatusType state = PQtransactionStatus(conn->connection);
    if (conn->has_begun) {
        return dialect_check_transaction(status, state != PQTRANS_IDLE, error);
    }
    if (state != PQTRANS_INTRANS && state != PQTRANS_INERROR) {
        return status;
    }
    status = dialect_refuse_transaction(status, error);
    const enum status undone = finish(conn, PQsendQuery(conn->connection, "rollback"), NULL, error);
    return undone == STATUS_LOST ? STATUS_LOST : status;
}

/* Changes one of libpq's options. An empty value or NULL leaves the option as it is. */
static enum status set_option(PQconninfoOption *options, const char *keyword, const char *value,
                              struct error *error)
{
    PQconninfoOption *option = options;
    while (option->keyword != NULL && strcmp(option->keyword, keyword) != 0) {
        option++;
    }
    if (option->keyword == NULL) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "the URL has the parameter '%.60s', which libpq does not know: correct or remove it",
            keyword);
        return STATUS_FATAL;
    }
    if (value == NULL || value[0] == '\0') {
        return STATUS_OK;
    }
    PQfreemem(option->val);
    option->val = strdup(value);
    return option->val != NULL ? STATUS_OK : dialect_memory_error(error);
}

/* Sets the options that the URL's parameters name. libpq does not receive the URL itself, because
 * it would end a password at the first '@' and could show a part of the password in a message. */
static enum status set_query(PQconninfoOption *options, const char *query, struct error *error)
{
    struct url_parameter parameter;
    bool is_good = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && url_query_next(&query, &parameter, &is_good)) {
        /* libpq also accepts ssl=true in a URL, for compatibility with JDBC */
        const bool is_ssl =
            strcmp(parameter.key, "ssl") == 0 && strcmp(parameter.value, "true") == 0;
        if (!is_good) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "a parameter of the URL is too long or badly encoded");
            return STATUS_FATAL;
        }
        status = set_option(options, is_ssl ? "sslmode" : parameter.key,
                            is_ssl ? "require" : parameter.value, error);
    }
    return status;
}

/* Sets libpq's option `options`, which contains options for the server. Its value is the value in
 * the URL, or the value of PGOPTIONS if the URL has no such value, followed by the search path. */
static enum status set_schema(PQconninfoOption *options, const char *schema, struct error *error)
{
    const char *given = getenv("PGOPTIONS");
    struct buffer text = {0};
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        given =
            strcmp(option->keyword, "options") == 0 && option->val != NULL ? option->val : given;
    }
    buffer_add_text(&text, given != NULL ? given : "");
    buffer_add_text(&text, text.length > 0 ? " -c search_path=\"" : "-c search_path=\"");
    for (const char *at = schema; *at != '\0'; at++) {
        /* escape blanks and backslashes, because the server splits the options at blanks */
        buffer_add_text(&text, strchr(" \\\t\n\v\f\r", *at) != NULL ? "\\" : "");
        buffer_add_text(&text, *at == '"' ? "\"" : "");
        buffer_add(&text, at, 1);
    }
    buffer_add_text(&text, "\"");
    const enum status status = buffer_failed(&text)
                                   ? dialect_memory_error(error)
                                   : set_option(options, "options", buffer_text(&text), error);
    buffer_fini(&text);
    return status;
}

/* Sets libpq's options for a target. The URL's parameters override this program's defaults, and the
 * other members of the target override the URL's parameters. */
static enum status set_options(PQconninfoOption *options, const struct target *target,
                               struct error *error)
{
    char user_timeout[16], idle[8], interval[8], probes[8];
    char port[8];
    snprintf(user_timeout, sizeof user_timeout, "%u",
             client_socket_answer_ms(target->answer_timeout_ms));
    snprintf(idle, sizeof idle, "%d", CLIENT_SOCKET_IDLE_S);
    snprintf(interval, sizeof interval, "%d", CLIENT_SOCKET_INTERVAL_S);
    snprintf(probes, sizeof probes, "%d", CLIENT_SOCKET_PROBES);
    snprintf(port, sizeof port, "%u", (unsigned)target->port);
    const struct {
        const char *keyword; /* name of an option; NULL: set the options in the URL's parameters */
        const char *value;
    } settings[] = {
        {"fallback_application_name", "append"},
        {"keepalives", "1"},
        /* client_socket_watch_peer is not used, because it would override the URL's parameters */
        {"keepalives_idle", idle},
        {"keepalives_interval", interval},
        {"keepalives_count", probes},
        {"tcp_user_timeout", user_timeout},
        /* Trying Kerberos costs a round trip and a library's memory in each session. */
        {"gssencmode", getenv("PGGSSENCMODE") == NULL ? "disable" : NULL},
        {NULL, target->query},
        {"host", target->host},
        {"port", target->port != 0 ? port : NULL},
        {"user", target->user},
        {"password", target->password},
        {"dbname", target->database},
        {"client_encoding", "UTF8"},
    };
    enum status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(settings) && status == STATUS_OK; i++) {
        status = settings[i].keyword == NULL
                     ? set_query(options, settings[i].value, error)
                     : set_option(options, settings[i].keyword, settings[i].value, error);
    }
    return status == STATUS_OK && target->schema != NULL
               ? set_schema(options, target->schema, error)
               : status;
}

/* Begins to connect. *connection is NULL unless the result is OK. */
static enum status start_connect(const struct target *target, PGconn **connection,
                                 struct error *error)
{
    PQconninfoOption *const options = PQconninfoParse("", NULL); /* every option, without a value */
    size_t count = 0;
    while (options != NULL && options[count].keyword != NULL) {
        count++;
    }
    const char **const keywords = calloc(2 * (count + 1), sizeof *keywords);
    if (options == NULL || keywords == NULL) {
        free(keywords);
        PQconninfoFree(options);
        return dialect_memory_error(error);
    }
    enum status status = set_options(options, target, error);
    if (status == STATUS_OK) {
        const char **const values = keywords + count + 1;
        for (size_t i = 0; i < count; i++) {
            keywords[i] = options[i].keyword;
            values[i] = options[i].val;
        }
        *connection = PQconnectStartParams(keywords, values, 0);
        status = *connection != NULL ? STATUS_OK : dialect_memory_error(error);
    }
    free(keywords);
    PQconninfoFree(options);
    return status;
}

static enum status connect_in_time(PGconn *connection, const struct target *target,
                                   struct error *error)
{
    struct client_deadline deadline;
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    bool was_reached = false;

    client_deadline_begin(&deadline, target, false);
    while (step != PGRES_POLLING_OK) {
        const ConnStatusType state = PQstatus(connection);
        if (step == PGRES_POLLING_FAILED || state == CONNECTION_BAD) {
            return connect_error(connection, was_reached, error);
        }
        was_reached = was_reached || (state != CONNECTION_STARTED && state != CONNECTION_NEEDED);
        const short events = step == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        const int ready = client_deadline_wait(&deadline, PQsocket(connection), events);
        if (deadline.ended == ERROR_TIMEOUT) {
            const char *host = PQhost(connection);
            error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer from \"%s\", port %s, within %u s",
                      host != NULL && host[0] != '\0' ? host : "the server", PQport(connection),
                      target->connect_timeout_s);
        } else if (deadline.ended == ERROR_CANCELLED) {
            error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
        } else if (ready < 0) {
            error_set(error, ERROR_SYSTEM, errno, NULL,
                      "cannot wait for the server's answer: poll failed with error %d", errno);
        }
        if (ready <= 0) {
            return STATUS_LOST;
        }
        step = PQconnectPoll(connection);
    }
    return STATUS_OK;
}

/* Receives libpq's notices. Prints nothing, but keeps the SQLSTATE of a notice that ends the
 * session, because this SQLSTATE explains the loss. */
static void keep_last_sqlstate(void *context, const PGresult *notice)
{
    struct adapter_conn *conn = context;
    const char *level = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *sqlstate = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    if (level != NULL && sqlstate != NULL &&
        (strcmp(level, "FATAL") == 0 || strcmp(level, "PANIC") == 0)) {
        snprintf(conn->last_sqlstate, sizeof conn->last_sqlstate, "%s", sqlstate);
    }
}

static void interrupt_connection(struct adapter_conn *conn)
{
    client_socket_shut(&conn->socket, SHUT_RDWR);
}

static void name_session(struct adapter_conn *conn, struct session_name *name)
{
    *name = (struct session_name){
        .number = (uint64_t)conn->backend,
        .port = client_socket_own_port(client_socket_descriptor(&conn->socket))};
}

static void close_connection(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (PQtransactionStatus(conn->connection) == PQTRANS_ACTIVE) {
        /* PQfinish would first wait until the server has taken the rows, which are no longer
         * needed. */
        interrupt_connection(conn);
    }
    PQfinish(conn->connection);
    free(conn->copy_sql);
    free(conn);
}

static enum status open_connection(const struct adapter *adapter, const struct target *target,
                                   struct adapter_conn **conn, struct error *error)
{
    (void)adapter;
    *conn = NULL;
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return dialect_memory_error(error);
    }
    made->schema = target->schema;
    made->is_method_given = target->method != NULL;
    made->has_no_copy = target->facts != NULL && target->facts->has_no_bulk_path;
    made->is_pooled = target->facts != NULL && target->facts->is_pooled;
    made->uses_insert = target->method != NULL && strcmp(target->method, "insert") == 0;

    enum status status = start_connect(target, &made->connection, error);
    if (status == STATUS_OK && PQstatus(made->connection) == CONNECTION_BAD) {
        /* If libpq fails before it looks up a host, the reason is a wrong parameter or lack of
         * memory. */
        const char *message = PQerrorMessage(made->connection);
        if (strstr(message, "could not translate host name") != NULL ||
            strstr(message, "connection to server ") != NULL) {
            status = connect_error(made->connection, false, error);
        } else if (strncmp(message, "out of memory", 13) == 0) {
            status = dialect_memory_error(error);
        } else {
            error_set(error, ERROR_USAGE, 0, NULL, "%.*s", (int)strcspn(message, "\n"), message);
            status = STATUS_FATAL;
        }
    } else if (status == STATUS_OK) {
        /* Only verbose messages contain the SQLSTATE of a failed connect. */
        PQsetErrorVerbosity(made->connection, PQERRORS_VERBOSE);
        PQsetNoticeReceiver(made->connection, keep_last_sqlstate, made);
        status = connect_in_time(made->connection, target, error);
    }
    if (status != STATUS_OK) {
        close_connection(made);
        return status;
    }
    PQsetErrorVerbosity(made->connection, PQERRORS_DEFAULT);
    client_socket_note(&made->socket, PQsocket(made->connection));
    made->backend = PQbackendPID(made->connection);
    *conn = made;
    return STATUS_OK;
}

static const unsigned char tls_request[8] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};
static const struct probe probe = {.protocol = "PostgreSQL's",
                                   .socket_name = ".s.PGSQL.",
                                   .is_port_in_name = true,
                                   .question = tls_request,
                                   .question_bytes = sizeof tls_request,
                                   .recognise = dialect_postgresql_recognise};

/*

 * COPY ... FROM STDIN (FORMAT binary): PostgreSQL's fastest path for rows.
 *
 * Rows are written into a piece on the stack. libpq collects pieces and sends them when it has 8
 * KiB. The connection does not store rows, so that thousands of connections use little memory.
 */

/* Stores the lowest `bytes` bytes of a value, big-endian; returns `bytes`. */
static inline size_t put(unsigned char *out, uint64_t value, size_t bytes)
{
    const uint64_t wire = htobe64(value << (64 - 8 * bytes));
    memcpy(out, &wire, bytes);
    return bytes;
}

/* Writes a numeric. Its digits have base 10000, and the decimal point must be between two of these
 * digits. If the scale is not a multiple of four, the last digit of base 10000 has fewer than four
 * decimal digits. These decimal digits are split off first and padded with zeros on the right. */
static size_t put_numeric(unsigned char *out, int64_t unscaled, unsigned scale)
{
    enum {
        BASE = 10000,
        BASE_DIGITS = 4,
        NEGATIVE = 0x4000,
        GROUPS_MAX = 6 /* 19 decimal digits, the last group partly used */
    };
    static const unsigned powers[BASE_DIGITS] = {BASE, 10, 100, 1000};
    const bool is_negative = unscaled < 0;
    const unsigned power = powers[scale % BASE_DIGITS];
    uint64_t rest = is_negative ? 0 - (uint64_t)unscaled : (uint64_t)unscaled;
    uint16_t groups[GROUPS_MAX];
    int count = 0;
    int position = -(int)((scale + BASE_DIGITS - 1) / BASE_DIGITS);
    unsigned group = (unsigned)(rest % power) * (BASE / power);
    rest /= power;
    while (rest > 0 || group > 0) {
        if (count > 0 || group > 0) {
            groups[count++] = (uint16_t)group;
        }
        group = (unsigned)(rest % BASE);
        rest /= BASE;
        position++;
    }

    size_t at = put(out, (uint64_t)count, 2);
    at += put(out + at, (uint64_t)(count > 0 ? position - 1 : 0), 2);
    at += put(out + at, is_negative && count > 0 ? NEGATIVE : 0, 2);
    at += put(out + at, scale, 2);
    while (count > 0) {
        at += put(out + at, groups[--count], 2);
    }
    return at;
}

/* Writes one value of any type except TEXT, BYTES and JSON in PostgreSQL's binary format, without
 * its length word; returns its length, at most FIXED_BYTES. */
static size_t encode(const struct column *column, union column_values values, size_t row,
                     unsigned char *out)
{
    enum {
        EPOCH_DAYS = 10957, /* days from 1970-01-01 to PostgreSQL's epoch, 2000-01-01 */
        FAMILY_IP4 = 2,     /* PGSQL_AF_INET: the same on every platform */
        FAMILY_IP6 = 3
    };
    const bool is_ip4 = column->type == COLUMN_IP4;
    const size_t bytes = is_ip4 ? 4 : 16; /* number of bytes of an address */
    uint32_t bits32;
    uint64_t bits64;
    int64_t us;
    switch (column->type) {
    case COLUMN_BOOL:
        return put(out, values.boolean[row] != 0, 1);
    case COLUMN_INT16:
        return put(out, (uint64_t)values.int16[row], 2);
    case COLUMN_INT32:
        return put(out, (uint64_t)values.int32[row], 4);
    case COLUMN_INT64:
        return put(out, (uint64_t)values.int64[row], 8);
    case COLUMN_FLOAT32:
        memcpy(&bits32, &values.float32[row], sizeof bits32);
        return put(out, bits32, 4);
    case COLUMN_FLOAT64:
        memcpy(&bits64, &values.float64[row], sizeof bits64);
        return put(out, bits64, 8);
    case COLUMN_DECIMAL:
        return put_numeric(out, values.int64[row], column->scale);
    case COLUMN_DATE: {
        /* Replace a date that PostgreSQL cannot store by a date that PostgreSQL refuses. Do not use
         * the two extreme values, because they mean infinity and would be stored without an
         * error. */
        const int64_t days = (int64_t)values.int32[row] - EPOCH_DAYS;
        const int64_t lowest = (int64_t)INT32_MIN + 1;
        return put(out, (uint64_t)(days < lowest ? lowest : days), 4);
    }
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        /* round down, so that a time before 1970 does not move to the next microsecond */
        us = values.int64[row] / 1000 - (values.int64[row] % 1000 < 0);
        if (column->type == COLUMN_TIMESTAMP) {
            return put(out, (uint64_t)(us - EPOCH_DAYS * INT64_C(86400000000)), 8);
        }
        put(out, (uint64_t)us, 8);
        /* the time zone, which is UTC */
        return 8 + (column->native_type == POSTGRESQL_TIMETZ ? put(out + 8, 0, 4) : 0);
    case COLUMN_UUID:
        memcpy(out, values.uuid[row], 16);
        return 16;
    case COLUMN_IP4:
    case COLUMN_IP6:
        out[0] = is_ip4 ? FAMILY_IP4 : FAMILY_IP6;
        out[1] = (unsigned char)(bytes * 8); /* netmask of a single host */
        out[2] = column->native_type == POSTGRESQL_CIDR;
        out[3] = (unsigned char)bytes;
        memcpy(out + 4, is_ip4 ? values.ip4[row] : values.ip6[row], bytes);
        return 4 + bytes;
    default:
        return 0;
    }
}

static bool is_text(const struct column *column)
{
    return column_kinds[column->type].is == COLUMN_IS_TEXT;
}

struct piece {
    PGconn *connection;
    bool has_failed; /* libpq refused a piece, so the rest is not sent */
    size_t used;
    unsigned char bytes[PIECE_BYTES + 4 + FIXED_BYTES]; /* a piece, a length word, a value */
};

static void send_piece(struct piece *piece, size_t length)
{
    if (!piece->has_failed && length > 0) {
        piece->has_failed =
            PQputCopyData(piece->connection, (const char *)piece->bytes, (int)length) != 1;
    }
}

/* Returns where to write the next value, with room for a length word and FIXED_BYTES. If the piece
 * is full, sends it first. */
static unsigned char *piece_room(struct piece *piece)
{
    if (piece->used > PIECE_BYTES) {
        send_piece(piece, PIECE_BYTES);
        piece->used -= PIECE_BYTES;
        memmove(piece->bytes, piece->bytes + PIECE_BYTES, piece->used);
    }
    return piece->bytes + piece->used;
}

static void add_copied_value(struct piece *piece, const struct column *column,
                             const struct column_data *data, size_t row)
{
    if (column_is_null(data, row)) {
        piece->used += put(piece_room(piece), UINT32_MAX, 4);
        return;
    }
    unsigned char *out = piece_room(piece);
    if (!is_text(column)) {
        const size_t length = encode(column, data->values, row, out + 4);
        piece->used += put(out, length, 4) + length;
        return;
    }
    const struct text_value *text = &data->values.text[row];
    const bool has_version = column->native_type == POSTGRESQL_JSONB;
    put(out, (uint64_t)text->length + has_version, 4);
    out[4] = 1;
    piece->used += 4U + has_version;
    for (size_t done = 0; done < text->length;) {
        unsigned char *to = piece_room(piece);
        const size_t room = PIECE_BYTES + 1 - piece->used;
        const size_t left = text->length - done;
        const size_t part = left < room ? left : room;
        memcpy(to, text->bytes + done, part);
        piece->used += part;
        done += part;
    }
}

static enum status build_copy(struct adapter_conn *conn, const struct table *table,
                              struct error *error)
{
    struct buffer sql = {0};
    buffer_add_text(&sql, "copy ");
    ask_write_target(&sql, table, '"');
    buffer_add_text(&sql, " from stdin (format binary)");
    free(conn->copy_sql);
    conn->copy_sql = buffer_failed(&sql) ? NULL : strdup(buffer_text(&sql));
    conn->copy_table = conn->copy_sql != NULL ? table : NULL;
    buffer_fini(&sql);
    return conn->copy_sql != NULL ? STATUS_OK : dialect_memory_error(error);
}

/* Checks whether the server supports COPY, and sets conn->has_no_copy. The check takes no locks and
 * fires no triggers. */
static enum status probe_copy(struct adapter_conn *conn, const struct table *table,
                              struct error *error)
{
    enum status status = build_copy(conn, table, error);
    conn->copy_table = NULL; /* the caller may move `table` in memory */
    if (status != STATUS_OK) {
        return status;
    }
    const int was_sent = PQsendPrepare(conn->connection, "", conn->copy_sql, 0, NULL);
    status = finish(conn, was_sent, NULL, error);
    conn->has_no_copy =
        status != STATUS_OK && status != STATUS_LOST && dialect_postgresql_is_foreign(error);
    if (!conn->has_no_copy) {
        return status;
    }
    const struct error refusal = *error;
    error_clear(error);
    if (!conn->is_method_given) {
        return STATUS_OK;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, refusal.sqlstate,
              "the server does not know COPY ... FROM STDIN (FORMAT binary): use --method insert "
              "(%.120s)",
              refusal.text);
    return STATUS_FATAL;
}

/* Calls PQputCopyEnd and reads the answer even after a failed write, because libpq reads the
 * server's last message only then. */
static enum status copy_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    static const char trailer[] = "\377\377";
    const bool was_written = PQputCopyData(conn->connection, trailer, 2) == 1;
    struct answer none = {.take = NULL};
    struct reading reading;

    reading_init(&reading, &none);
    PQputCopyEnd(conn->connection, was_written ? NULL : "rows could not be sent");
    const enum status status = finish(conn, 1, &reading, error);
    *accepted = status == STATUS_OK ? reading.affected : 0;
    return status;
}

static enum status copy_open(struct adapter_conn *conn, const struct table *table,
                             struct error *error)
{
    static const char header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* flags, extension: 0 */

    if (conn->copy_table != table) {
        const enum status status = build_copy(conn, table, error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    const int was_sent = PQsendQuery(conn->connection, conn->copy_sql);
    PGresult *result = was_sent ? PQgetResult(conn->connection) : NULL;
    const bool is_open = PQresultStatus(result) == PGRES_COPY_IN;
    const enum status status =
        result != NULL && !is_open ? result_error(conn, result, error) : STATUS_OK;
    PQclear(result);
    if (is_open) {
        return PQputCopyData(conn->connection, header, sizeof header) == 1
                   ? STATUS_OK
                   : copy_close(conn, &(uint64_t){0}, error);
    }
    const enum status rest = finish(conn, was_sent, NULL, error);
    return status != STATUS_OK && rest != STATUS_LOST ? status : rest;
}

static size_t written_columns(const struct table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        count += !table->columns[i].is_generated;
    }
    return count;
}

static enum status copy_rows(struct adapter_conn *conn, const struct batch *batch,
                             struct error *error)
{
    const struct table *table = batch->table;
    const size_t written = written_columns(table);
    struct piece piece; /* not cleared, because it is large */
    piece.connection = conn->connection;
    piece.has_failed = false;
    piece.used = 0;
    for (size_t row = 0; row < batch->row_count && !piece.has_failed; row++) {
        piece.used += put(piece_room(&piece), written, 2);
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                add_copied_value(&piece, &table->columns[i], &batch->columns[i], row);
            }
        }
    }
    piece_room(&piece);
    send_piece(&piece, piece.used);
    if (!piece.has_failed) {
        return STATUS_OK;
    }
    if (PQstatus(conn->connection) == CONNECTION_OK) {
        dialect_memory_error(error); /* libpq has no other reason to refuse a piece */
    }
    const enum status status = copy_close(conn, &(uint64_t){0}, error);
    return status == STATUS_LOST ? STATUS_LOST : STATUS_FATAL;
}

/*
 * Multi-row INSERT with binary parameters, as in programs that do not use COPY.
 *
 * An append is one pipeline. The server runs the pipeline as one transaction and answers at its
 * end, so that any number of statements needs only one round trip. A statement is prepared within
 * the pipeline when it is first used.
 */

/* Parameters of one statement. A value points into the batch if its bytes already have the right
 * form there. */
struct parameters {
    int count;
    const char **values; /* values of the parameters; in one allocation with `lengths`, `formats`
                            and `fixed` */
    int *lengths;
    int *formats;
    unsigned char *fixed; /* memory for values of fixed size: FIXED_BYTES for each parameter */
};

static bool parameters_init(struct parameters *parameters, size_t count)
{
    parameters->count = 0;
    parameters->values = malloc(count * (sizeof(char *) + 2 * sizeof(int) + FIXED_BYTES));
    parameters->lengths = (int *)(parameters->values + count);
    parameters->formats = parameters->lengths + count;
    parameters->fixed = (unsigned char *)(parameters->formats + count);
    return parameters->values != NULL;
}

static void add_parameter(struct parameters *parameters, const struct column *column,
                          const struct column_data *data, size_t row)
{
    const size_t at = (size_t)parameters->count++;
    parameters->formats[at] = 1;
    parameters->lengths[at] = 0;
    parameters->values[at] = NULL;
    if (column_is_null(data, row)) {
        return;
    }
    if (is_text(column)) {
        const struct text_value *text = &data->values.text[row];
        parameters->values[at] = text->length > 0 ? text->bytes : "";
        parameters->lengths[at] = (int)text->length;
        return;
    }
    unsigned char *out = parameters->fixed + at * FIXED_BYTES;
    parameters->lengths[at] = (int)encode(column, data->values, row, out);
    parameters->values[at] = (const char *)out;
}

/* Replaces each ? by PostgreSQL's $1, $2, ...; returns the number of parameters. */
static size_t number_parameters(struct buffer *sql, const char *text)
{
    const char *mark = sql_script_find_parameter(text, 0);
    size_t count = 0;
    while (*mark != '\0') {
        buffer_add_format(sql, "%.*s$%zu", (int)(mark - text), text, ++count);
        text = mark + 1;
        mark = sql_script_find_parameter(text, 0);
    }
    buffer_add_text(sql, text);
    return count;
}

/* Sends an INSERT with `rows` rows of a batch. Uses the prepared statement for this number of rows,
 * or prepares it. Sends the INSERT unprepared if the server is a pooler, or if PREPARED_MAX
 * statements are already prepared. */
static int send_rows(struct adapter_conn *conn, const struct batch *batch, size_t first,
                     size_t rows, struct parameters *with)
{
    struct postgresql_inserts *inserts = &conn->inserts;
    const struct table *table = batch->table;
    char name[NAME_BYTES];
    unsigned at = 0;
    int was_sent = 0;

    with->count = 0;
    for (size_t row = first; row < first + rows; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                add_parameter(with, &table->columns[i], &batch->columns[i], row);
            }
        }
    }
    while (at < inserts->sent_count &&
           (inserts->statements[at].table != table || inserts->statements[at].rows != rows)) {
        at++;
    }
    snprintf(name, sizeof name, "append_%u", at);
    if (at < inserts->sent_count) {
        return PQsendQueryPrepared(conn->connection, name, with->count, with->values, with->lengths,
                                   with->formats, 1);
    }

    Oid *types = malloc(((size_t)with->count + 1) * sizeof *types);
    struct buffer text = {0};
    struct buffer sql = {0};
    ask_write_insert(&text, table, '"', rows);
    number_parameters(&sql, buffer_text(&text));
    if (types == NULL || buffer_failed(&text) || buffer_failed(&sql)) {
        goto out;
    }
    for (size_t count = 0, i = 0; count < (size_t)with->count; i++) {
        const struct column *column = &table->columns[i % table->column_count];
        if (!column->is_generated) {
            /* the server casts json to jsonb, and json needs no version byte before the text */
            types[count++] =
                column->native_type == POSTGRESQL_JSONB ? POSTGRESQL_JSON : column->native_type;
        }
    }
    if (!conn->is_pooled && inserts->sent_count < PREPARED_MAX) {
        was_sent = PQsendPrepare(conn->connection, name, buffer_text(&sql), with->count, types) &&
                   PQsendQueryPrepared(conn->connection, name, with->count, with->values,
                                       with->lengths, with->formats, 1);
        inserts->statements[at].table = table;
        inserts->statements[at].rows = rows;
        inserts->sent_count++;
    } else {
        was_sent = PQsendQueryParams(conn->connection, buffer_text(&sql), with->count, types,
                                     with->values, with->lengths, with->formats, 1);
    }
out:
    buffer_fini(&text);
    buffer_fini(&sql);
    free(types);
    return was_sent;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    enum status status = STATUS_OK;
    uint64_t rows = 0;
    bool is_synced = false;

    *accepted = 0;
    if (!conn->uses_insert) {
        return copy_close(conn, accepted, error);
    }
    if (!PQpipelineSync(conn->connection) && PQstatus(conn->connection) == CONNECTION_OK) {
        /* there is not enough memory for the message that ends the pipeline, so only disconnecting
         * can end the pipeline */
        interrupt_connection(conn);
        return dialect_memory_error(error);
    }
    /* A NULL ends each statement's results; two NULLs in a row mean the end of all results. */
    for (unsigned silent = 0; !is_synced && silent < 2;) {
        PGresult *result = PQgetResult(conn->connection);
        if (result == NULL) {
            silent++;
            continue;
        }
        const ExecStatusType kind = PQresultStatus(result);
        is_synced = kind == PGRES_PIPELINE_SYNC;
        if (kind == PGRES_COMMAND_OK && PQcmdStatus(result)[0] == '\0') {
            conn->inserts.prepared_count++; /* the answer to a Parse has no command tag */
        } else if (kind == PGRES_COMMAND_OK) {
            rows += strtoull(PQcmdTuples(result), NULL, 10);
        } else if (!is_synced && kind != PGRES_PIPELINE_ABORTED) {
            /* the result of the failed statement has the reason; the results of the aborted
             * statements follow */
            const enum status one = result_error(conn, result, error);
            status = status == STATUS_OK ? one : status;
        }
        PQclear(result);
        silent = 0;
    }
    conn->inserts.sent_count = conn->inserts.prepared_count;
    const bool is_lost = PQstatus(conn->connection) == CONNECTION_BAD;
    const bool has_left = !is_lost && PQexitPipelineMode(conn->connection);
    if (status == STATUS_OK && !has_left) {
        status = result_error(conn, NULL, error);
    }
    *accepted = status == STATUS_OK ? rows : 0;
    return is_lost ? STATUS_LOST : status;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    (void)kept;
    if (!conn->uses_insert) {
        return copy_rows(conn, batch, error);
    }
    const size_t columns = written_columns(batch->table);
    struct parameters parameters;
    int was_sent = 0;

    if (columns == 0 || columns > PARAMETERS_MAX) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "table %.200s has no column that can be written", batch->table->name);
        PQexitPipelineMode(conn->connection); /* nothing was sent */
        return STATUS_FATAL;
    }
    const size_t most = PARAMETERS_MAX / columns;
    if (parameters_init(&parameters, batch->row_count * columns)) {
        was_sent = 1;
        for (size_t first = 0; first < batch->row_count && was_sent; first += most) {
            const size_t left = batch->row_count - first;
            was_sent = send_rows(conn, batch, first, left < most ? left : most, &parameters);
        }
    }
    free(parameters.values);
    if (was_sent) {
        return STATUS_OK;
    }
    if (PQstatus(conn->connection) == CONNECTION_BAD) {
        return append_close(conn, &(uint64_t){0}, error);
    }
    /* A pipeline that was sent in part can only be undone by disconnecting. */
    interrupt_connection(conn);
    return dialect_memory_error(error);
}

/*
 * Statements other than appends, and their parameters.
 *
 * Text and JSON are sent as text without a type: the server gives them the type of the expression
 * next to the parameter, for example char(20), uuid or date, so that an index can be used.
 * Timestamps have no type either, because their bytes are the same with and without a time zone.
 * All other values have their declared type. If the server cannot determine a type (42P18), the
 * declared type is also sent for text, JSON and timestamps.
 */
enum {
    FEW_PARAMETERS = 32,
    TEXT_BYTES = 2048, /* maximum size of all texts together, with their terminators */
};

/* The arguments of a call, on the stack. They are not cleared, because they are large. If the
 * arguments do not fit here, they are in allocated memory. */
struct arguments {
    struct parameters with;
    char *text; /* few_texts, or owned memory if with.values is allocated */
    size_t text_used;
    const char *few_values[FEW_PARAMETERS];
    int few_numbers[2 * FEW_PARAMETERS];
    unsigned char few_fixed[FEW_PARAMETERS * FIXED_BYTES];
    char few_texts[TEXT_BYTES];
};

/* Returns the bit of a parameter (counted from 0) in adapter_prepared.typed_parameters. Parameters
 * after the first 63 share a bit. */
static uint64_t type_bit(size_t parameter)
{
    return UINT64_C(1) << (parameter < 63 ? parameter : 63);
}

static Oid type_of(const struct column *column, bool is_typed)
{
    static const Oid types[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = 16,        [COLUMN_INT16] = 21,
        [COLUMN_INT32] = 23,       [COLUMN_INT64] = 20,
        [COLUMN_FLOAT32] = 700,    [COLUMN_FLOAT64] = 701,
        [COLUMN_DECIMAL] = 1700,   [COLUMN_TEXT] = 25,
        [COLUMN_BYTES] = 17,       [COLUMN_JSON] = POSTGRESQL_JSON,
        [COLUMN_DATE] = 1082,      [COLUMN_TIME] = 1083,
        [COLUMN_TIMESTAMP] = 1114, [COLUMN_UUID] = 2950,
        [COLUMN_IP4] = 869,        [COLUMN_IP6] = 869,
    };
    const bool is_open = column->type == COLUMN_TEXT || column->type == COLUMN_JSON ||
                         column->type == COLUMN_TIMESTAMP;
    if (is_open && !is_typed) {
        return 0;
    }
    return column->native_type == POSTGRESQL_TIMETZ || column->native_type == POSTGRESQL_CIDR
               ? column->native_type
               : types[column->type];
}

static bool arguments_init(struct arguments *arguments, const struct batch *batch)
{
    const size_t count = batch != NULL ? batch->table->column_count : 0;
    size_t texts = 0;
    arguments->with.count = 0;
    arguments->text_used = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_text(&batch->table->columns[i]) && !column_is_null(&batch->columns[i], 0)) {
            texts += (size_t)batch->columns[i].values.text[0].length + 1;
        }
    }
    if (count <= FEW_PARAMETERS && texts <= TEXT_BYTES) {
        arguments->with.values = arguments->few_values;
        arguments->with.lengths = arguments->few_numbers;
        arguments->with.formats = arguments->few_numbers + FEW_PARAMETERS;
        arguments->with.fixed = arguments->few_fixed;
        arguments->text = arguments->few_texts;
    } else if (parameters_init(&arguments->with, count)) {
        arguments->text = malloc(texts + 1);
        if (arguments->text == NULL) {
            free(arguments->with.values);
            return false;
        }
    } else {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct column *column = &batch->table->columns[i];
        add_parameter(&arguments->with, column, &batch->columns[i], 0);
        const size_t length = (size_t)arguments->with.lengths[i];
        const char **const value = &arguments->with.values[i];
        if (*value == NULL || !is_text(column) || column->type == COLUMN_BYTES ||
            memchr(*value, '\0', length) != NULL) {
            continue; /* the server refuses a text that contains a NUL */
        }
        char *const copy = arguments->text + arguments->text_used;
        memcpy(copy, *value, length);
        copy[length] = '\0';
        arguments->text_used += length + 1;
        arguments->with.formats[i] = 0;
        *value = copy;
    }
    return true;
}

static void arguments_fini(struct arguments *arguments)
{
    if (arguments->with.values != arguments->few_values) {
        free(arguments->with.values);
        free(arguments->text);
    }
}

/* Returns the type bit of the parameter that a server's message names ($1, ...); 0 when it names no
 * parameter. */
static uint64_t find_type_bit(const char *message)
{
    const char *const mark = strchr(message, '$');
    const unsigned long number = mark != NULL ? strtoul(mark + 1, NULL, 10) : 0;
    return number > 0 ? type_bit(number - 1) : 0;
}

/* Prepares the statement under its name, which must not be in use on the server. With a pooler,
 * prepares the statement without a name and does not keep it, because the pooler may give the
 * server's session, with its named statements, to other clients. */
static enum status prepare_as(struct adapter_conn *conn, struct adapter_prepared *prepared,
                              struct error *error)
{
    const struct statement *const statement = prepared->statement;
    const char *const name = conn->is_pooled ? "" : prepared->name;
    const struct table *const parameters = statement->parameters;
    const size_t count = parameters != NULL ? parameters->column_count : 0;
    Oid *const types = malloc((count + 1) * sizeof *types);
    struct buffer sql = {0};
    enum status status =
        dialect_check_parameters(statement, number_parameters(&sql, statement->sql), error);
    if (buffer_failed(&sql) || types == NULL) {
        status = dialect_memory_error(error);
    }
    if (status != STATUS_OK || types == NULL) {
        goto out;
    }
    for (;;) {
        for (size_t i = 0; i < count; i++) {
            types[i] =
                type_of(&parameters->columns[i], (prepared->typed_parameters & type_bit(i)) != 0);
        }
        const int was_sent =
            PQsendPrepare(conn->connection, name, buffer_text(&sql), (int)count, types);
        status = finish(conn, was_sent, NULL, error);
        const uint64_t bit = strcmp(error->sqlstate, "42P18") == 0 ? find_type_bit(error->text) : 0;
        if (status == STATUS_OK || bit == 0 || (prepared->typed_parameters & bit) != 0) {
            break;
        }
        prepared->typed_parameters |= bit;
        if (conn->has_begun) {
            break; /* the server has rolled the transaction back by now */
        }
        error_clear(error);
    }
    prepared->is_kept = status == STATUS_OK && name[0] != '\0';
out:
    free(types);
    buffer_fini(&sql);
    return status;
}

static void drop(struct adapter_conn *conn, struct adapter_prepared *prepared)
{
    (void)conn;
    free(prepared);
}

static enum status prepare(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error)
{
    char sql[NAME_BYTES];
    if (*prepared == NULL) {
        *prepared = calloc(1, sizeof **prepared);
        if (*prepared == NULL) {
            return dialect_memory_error(error);
        }
        snprintf((*prepared)->name, sizeof(*prepared)->name, "s%u", ++conn->names);
    }
    struct adapter_prepared *const made = *prepared;
    if (made->statement != statement) {
        made->typed_parameters = 0;
        made->statement = statement;
    }
    if (made->is_kept) {
        snprintf(sql, sizeof sql, "deallocate %s", made->name);
        const enum status status = finish(conn, PQsendQuery(conn->connection, sql), NULL, error);
        if (status != STATUS_OK) {
            return status;
        }
        made->is_kept = false;
    }
    const enum status status = prepare_as(conn, made, error);
    if (status == STATUS_OK && !made->is_kept) {
        drop(conn, made); /* the statement was only checked */
        *prepared = NULL;
    }
    return status;
}

/* Implements adapter.run_prepared. Scripts use this function. It allocates memory only for many or
 * long parameters and for many columns. */
static enum status run_prepared(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                const struct batch *parameters, struct answer *answer,
                                enum staleness *stale, struct error *error)
{
    struct arguments arguments;
    struct reading reading;
    answer->rows = 0;
    if (!arguments_init(&arguments, parameters)) {
        return dialect_memory_error(error);
    }
    const struct parameters *const with = &arguments.with;
    reading_init(&reading, answer);
    conn->has_stale_plan = false;
    const int was_sent = PQsendQueryPrepared(conn->connection, prepared->name, with->count,
                                             with->values, with->lengths, with->formats, 0);
    choose_mode(conn, &prepared->answers, was_sent);
    const enum status status = finish(conn, was_sent, &reading, error);
    note_answer(&prepared->answers, &reading);
    answer->rows += reading.has_rows ? 0 : reading.affected;
    if (status != STATUS_OK && status != STATUS_LOST && conn->has_stale_plan) {
        *stale = conn->has_begun ? STALE_UNDONE : STALE_AGAIN;
        prepared->is_kept = strcmp(error->sqlstate, "26000") != 0;
    }
    arguments_fini(&arguments);
    return end_transaction(conn, status, error);
}

/* Runs a statement. If statement->is_prepared is true, the statement is run repeatedly: the first
 * run sends it unprepared in one round trip, because it may be the only run in this connection, and
 * the second run prepares it for all later runs. Otherwise the statement is sent as text. */
static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    const bool is_plain = !statement->is_prepared && parameters == NULL;
    const bool is_again = statement->is_prepared && conn->run_last == statement && !conn->is_pooled;
    struct answers once = {.small = 0};
    struct answers *const answers = is_again ? &conn->run_answers : &once;
    struct reading reading;
    struct arguments arguments;
    struct buffer sql = {0};
    Oid *types = NULL;
    enum status status = STATUS_OK;
    char name[NAME_BYTES];
    int was_sent = 0;

    answer->rows = 0;
    reading_init(&reading, answer);
    if (is_plain && statement->reads_numbers) {
        /* COPY (…) TO STDOUT takes a fifth of the client's CPU time that libpq's single-row mode
         * takes, because single-row mode creates a result for each row. The server takes the same
         * time either way. */
        buffer_add_format(&sql, "copy (%s) to stdout", statement->sql);
    } else if (!is_plain && (!is_again || !conn->is_run_prepared)) {
        number_parameters(&sql, statement->sql);
    }
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    types = count > 0 ? malloc(count * sizeof *types) : NULL;
    if (buffer_failed(&sql) || (count > 0 && types == NULL) ||
        !arguments_init(&arguments, parameters)) {
        status = dialect_memory_error(error);
        goto out;
    }
    const struct parameters *const with = &arguments.with;
    for (size_t i = 0; i < count; i++) {
        types[i] = type_of(&parameters->table->columns[i], false);
    }
    if (is_plain) {
        was_sent = PQsendQuery(conn->connection,
                               statement->reads_numbers ? buffer_text(&sql) : statement->sql);
    } else if (!is_again) {
        if (statement->is_prepared) {
            conn->run_last = statement;
            conn->run_answers = (struct answers){.small = 0};
            conn->is_run_prepared = false;
        }
        was_sent = PQsendQueryParams(conn->connection, buffer_text(&sql), with->count, types,
                                     with->values, with->lengths, with->formats, 0);
    } else {
        conn->run_generation += !conn->is_run_prepared;
        snprintf(name, sizeof name, "run_%u", conn->run_generation);
        if (!conn->is_run_prepared) {
            const int prepare =
                PQsendPrepare(conn->connection, name, buffer_text(&sql), with->count, types);
            status = finish(conn, prepare, NULL, error);
            conn->is_run_prepared = status == STATUS_OK;
        }
        was_sent = conn->is_run_prepared &&
                   PQsendQueryPrepared(conn->connection, name, with->count, with->values,
                                       with->lengths, with->formats, 0);
    }
    if (status == STATUS_OK) {
        if (!statement->reads_numbers) {
            choose_mode(conn, answers, was_sent);
        }
        status = end_transaction(conn, finish(conn, was_sent, &reading, error), error);
        note_answer(answers, &reading);
        answer->rows += reading.has_rows ? 0 : reading.affected;
    }
    arguments_fini(&arguments);
out:
    free(types);
    buffer_fini(&sql);
    return status;
}

/* Implements adapter.end_sessions. A session's process number and port must both match, because a
 * pooler invents process numbers, and a server may reuse a process number. */
static enum status end_sessions(struct adapter_conn *conn, const struct session_name *names,
                                size_t count, int64_t until_ns, uint64_t *ended,
                                struct error *error)
{
    int64_t number = 0;
    struct answer answer = {.take = ask_take_number, .context = &number};
    struct buffer sql = {0};
    (void)until_ns; /* no time limit is needed, because the server only sends signals */
    buffer_add_text(&sql, "select count(*) from (select pg_catalog.pg_terminate_backend(pid) as"
                          " is_ended from pg_catalog.pg_stat_activity where usename = current_user"
                          " and pid || ':' || client_port in (");
    dialect_add_sessions(&sql, names, count, -1);
    buffer_add_text(&sql, ")) as ended where is_ended");
    const enum status status =
        buffer_failed(&sql)
            ? dialect_memory_error(error)
            : run(conn, &(struct statement){.sql = buffer_text(&sql)}, NULL, &answer, error);
    buffer_fini(&sql);
    *ended += status == STATUS_OK ? (uint64_t)number : 0;
    return status;
}

/* Runs a command that returns no rows. `tag` is the server's answer on success. */
static enum status command(struct adapter_conn *conn, const char *sql, const char *tag,
                           struct error *error)
{
    const int was_sent = PQsendQuery(conn->connection, sql);
    PGresult *const result = was_sent ? PQgetResult(conn->connection) : NULL;
    enum status status = STATUS_OK;
    if (result != NULL && PQresultStatus(result) != PGRES_COMMAND_OK) {
        status = result_error(conn, result, error);
    } else if (result != NULL && strcmp(PQcmdStatus(result), tag) != 0) {
        error_set(error, ERROR_SERVER, 0, NULL, "the server answered '%s' with '%.40s'", sql,
                  PQcmdStatus(result));
        status = STATUS_REJECTED;
    }
    PQclear(result);
    const enum status rest = finish(conn, was_sent, NULL, error);
    return rest == STATUS_OK || (status != STATUS_OK && rest != STATUS_LOST) ? status : rest;
}

static enum status begin(struct adapter_conn *conn, const struct transaction *transaction,
                         struct error *error)
{
    char sql[64] = "begin";
    if (transaction->isolation != NULL) {
        snprintf(sql, sizeof sql, "begin isolation level %.40s", transaction->isolation);
    }
    const enum status status = command(conn, sql, "BEGIN", error);
    conn->has_begun = status == STATUS_OK;
    return status;
}

/* Implements adapter.commit. The server answers ROLLBACK when it refuses the commit, or when a
 * statement of the transaction has failed. */
static enum status commit(struct adapter_conn *conn, struct error *error)
{
    conn->has_begun = false;
    return command(conn, "commit", "COMMIT", error);
}

static enum status rollback(struct adapter_conn *conn, struct error *error)
{
    conn->has_begun = false;
    return command(conn, "rollback", "ROLLBACK", error);
}

static void client_version(char *text, size_t size)
{
    const int version = PQlibVersion();
    snprintf(text, size, "libpq %d.%d", version / 10000, version % 10000);
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const enum status status = finish(conn, PQsendQuery(conn->connection, sql), NULL, error);
    return end_transaction(conn, status, error);
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    conn->uses_insert |= conn->has_no_copy;
    if (!conn->uses_insert) {
        return copy_open(conn, table, error);
    }
    const bool is_open = PQstatus(conn->connection) == CONNECTION_OK;
    return is_open && PQenterPipelineMode(conn->connection) ? STATUS_OK
                                                            : finish(conn, 0, NULL, error);
}

/* Fills *asker and checks for a pooler. A pooler reports its own process number to its clients, and
 * a client may get another backend with each transaction. Other servers with PostgreSQL's protocol
 * may report no process number, or a number of 0 or less. */
static enum status init_asker(const struct adapter *adapter, struct adapter_conn *conn,
                              struct dialect_asker *asker, struct error *error)
{
    int64_t backend = 0;
    struct answer answer = {.take = ask_take_number, .context = &backend};
    const enum status status =
        ask_rows(adapter, conn, "select pg_catalog.pg_backend_pid()", NULL, &answer, error);
    conn->is_pooled = backend > 0 && conn->backend != 0 && conn->backend != backend;
    *asker = (struct dialect_asker){
        .adapter = adapter, .conn = conn, .schema = conn->schema, .user = PQuser(conn->connection)};
    return dialect_postgresql_foreign(status, "for the session's process number", error);
}

static enum status describe(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error)
{
    struct dialect_asker asker;
    memset(table, 0, sizeof *table);
    enum status status = init_asker(adapter, conn, &asker, error);
    if (status == STATUS_OK) {
        status = adapter->dialect->describe(&asker, table_name, table, error);
    }
    if (status == STATUS_OK && !conn->uses_insert && table->column_count > 0) {
        status = probe_copy(conn, table, error);
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    struct dialect_asker asker;
    memset(limits, 0, sizeof *limits);
    enum status status = init_asker(adapter, conn, &asker, error);
    if (status == STATUS_OK) {
        status = adapter->dialect->limits(&asker, limits, error);
    }
    snprintf(limits->version, sizeof limits->version, "PostgreSQL %s",
             text_of(PQparameterStatus(conn->connection, "server_version")));
    if (conn->is_pooled) {
        /* the server's limits apply to the pooler's sessions, a few of which serve many clients */
        limits->count = 0;
        limits->tasks_per_session = 0;
        limits->files_per_session = 1;
        limits->is_pooled = true;
    }
    return status;
}

static const char *const methods[] = {"copy", "insert", NULL};

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    (void)adapter;
    snprintf(info->host, sizeof info->host, "%s", text_of(PQhost(conn->connection)));
    /* hostaddr, from the environment or a service file, overrides the host */
    client_socket_name_peer(PQsocket(conn->connection), info->address, sizeof info->address);
    snprintf(info->user, sizeof info->user, "%s", text_of(PQuser(conn->connection)));
    snprintf(info->database, sizeof info->database, "%s", text_of(PQdb(conn->connection)));
    info->port = (uint16_t)strtoul(text_of(PQport(conn->connection)), NULL, 10);
    info->method = methods[conn->uses_insert || conn->has_no_copy ? 1 : 0];
    dialect_inspect(&dialect_postgresql, info);
    info->facts.is_pooled = conn->is_pooled;
    info->facts.has_no_bulk_path = conn->has_no_copy;
    snprintf(info->note, sizeof info->note, "%s%s%s",
             conn->is_pooled
                 ? "a pooler is in front of the server: statements are not prepared; CPU and "
                   "memory are measured for the pooler (for another process: --server-pid PID!)"
                 : "",
             conn->is_pooled && conn->has_no_copy ? "; " : "",
             conn->has_no_copy ? "the server does not know COPY: rows are sent as multi-row INSERT"
                               : "");
}

static const char *const aliases[] = {"postgres", "pg", NULL};

const struct adapter adapter_postgresql = {
    .name = "postgresql",
    .aliases = aliases,
    .summary = "PostgreSQL: copy, insert",
    .default_port = 5432,
    .identifier_quote = '"',
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 1,
    .shut_signal = SIGINT,
    .dialect = &dialect_postgresql,
    .methods = methods,
    .client_version = client_version,
    .probe = &probe,
    .recognise = client_socket_recognise,
    .open = open_connection,
    .close = close_connection,
    .interrupt = interrupt_connection,
    .name_session = name_session,
    .end_sessions = end_sessions,
    .inspect = inspect,
    .execute = execute,
    .describe = describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = run,
    .prepare = prepare,
    .run_prepared = run_prepared,
    .drop = drop,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .server_limits = server_limits,
};
