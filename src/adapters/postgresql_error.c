/* From libpq's results and messages to struct error. */
#include "adapters/postgresql_conn.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct meaning {
    const char *sqlstate; /* five characters, or the two of a class */
    enum status status;
    enum error_kind kind;
};

/* While connecting nothing is REJECTED: either there may be room later, or never. */
static const struct meaning connect_meanings[] = {
    {"28", STATUS_FATAL, ERROR_AUTH},      /* password, role, pg_hba.conf */
    {"42501", STATUS_FATAL, ERROR_AUTH},   /* no CONNECT privilege */
    {"3D", STATUS_FATAL, ERROR_NOT_FOUND}, /* no such database */
    {"3F", STATUS_FATAL, ERROR_NOT_FOUND},      {"53", STATUS_LOST, ERROR_LIMIT},
    {"57014", STATUS_LOST, ERROR_TIMEOUT}, /* authentication took too long */
    {"57", STATUS_LOST, ERROR_SERVER},     /* starting up, shutting down */
    {"08P01", STATUS_FATAL, ERROR_UNSUPPORTED}, {"08", STATUS_LOST, ERROR_CONNECTION},
    {"22", STATUS_FATAL, ERROR_USAGE}, /* a setting that the server does not take */
    {"42", STATUS_FATAL, ERROR_USAGE},          {"0A", STATUS_FATAL, ERROR_UNSUPPORTED},
    {"55000", STATUS_FATAL, ERROR_UNSUPPORTED}, /* database accepts no connections */
};

/* pgbouncer has one number for whatever it refuses. */
static const struct meaning pooler_is_full = {"08P01", STATUS_LOST, ERROR_LIMIT};

static const struct meaning result_meanings[] = {
    {"22", STATUS_REJECTED, ERROR_DATA},
    {"23", STATUS_REJECTED, ERROR_DATA},
    {"44", STATUS_REJECTED, ERROR_DATA},    /* WITH CHECK OPTION */
    {"P0001", STATUS_REJECTED, ERROR_DATA}, /* a trigger says no */
    {"40", STATUS_REJECTED, ERROR_BUSY},    /* deadlock, serialization */
    {"55P03", STATUS_REJECTED, ERROR_BUSY}, /* lock_timeout */
    {"57014", STATUS_REJECTED, ERROR_TIMEOUT},
    {"42501", STATUS_FATAL, ERROR_AUTH},
    {"42P01", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42703", STATUS_FATAL, ERROR_NOT_FOUND},
    {"3F", STATUS_FATAL, ERROR_NOT_FOUND},
    {"42809", STATUS_FATAL, ERROR_UNSUPPORTED}, /* a view */
    {"25006", STATUS_FATAL, ERROR_READ_ONLY},
    {"0A", STATUS_FATAL, ERROR_UNSUPPORTED},
    {"53300", STATUS_REJECTED, ERROR_LIMIT},
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct meaning *find_meaning(const struct meaning *meanings, size_t count,
                                          const char *sqlstate)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(meanings[i].sqlstate, sqlstate, strlen(meanings[i].sqlstate)) == 0) {
            return &meanings[i];
        }
    }
    return NULL;
}

enum status postgresql_memory_error(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
    return STATUS_FATAL;
}

bool postgresql_is_foreign(const struct error *failure)
{
    const char *const state = failure->sqlstate;
    return strncmp(state, "00", 2) == 0 || strncmp(state, "0A", 2) == 0 ||
           (strncmp(state, "42", 2) == 0 && strcmp(state, "42501") != 0);
}

enum status postgresql_catalogue_error(enum status status, const struct error *failure,
                                       const char *what, struct error *error)
{
    if (status == STATUS_LOST || !postgresql_is_foreign(failure)) {
        error_set(error, failure->kind, failure->native_code, failure->sqlstate, "%s",
                  failure->text);
        return status;
    }
    error_set(error, ERROR_UNSUPPORTED, 0, failure->sqlstate,
              "this server speaks PostgreSQL's protocol, but does not know its catalogue: asked %s "
              "it said \"%.100s\"",
              what, failure->text);
    return STATUS_FATAL;
}

/* Finds `:  53300: ` in a verbose message: severities are translated, the layout is not. */
static const char *find_sqlstate(const char *message)
{
    const char *found = NULL;
    for (const char *at = strstr(message, ":  "); at != NULL; at = strstr(at + 1, ":  ")) {
        size_t length = 0;
        while (length < 5 &&
               (isdigit((unsigned char)at[3 + length]) || isupper((unsigned char)at[3 + length]))) {
            length++;
        }
        if (length == 5 && strncmp(at + 8, ": ", 2) == 0) {
            found = at + 3;
        }
    }
    return found;
}

/* The message of a server: `SEVERITY:  53300: text`, of which the number goes elsewhere. */
static enum status report_refusal(const char *message, const char *found, struct error *error)
{
    char sqlstate[ERROR_SQLSTATE_BYTES] = "";
    const char *severity = found - 3;
    while (severity > message && severity[-1] != ' ' && severity[-1] != '\n') {
        severity--;
    }
    memcpy(sqlstate, found, 5);
    const struct meaning *meaning =
        strstr(found, "max_client_conn") != NULL
            ? &pooler_is_full
            : find_meaning(connect_meanings, COUNT_OF(connect_meanings), sqlstate);
    error_set(error, meaning != NULL ? meaning->kind : ERROR_SERVER, 0, sqlstate, "%.*s  %.*s",
              (int)(found - 2 - severity), severity, (int)strcspn(found + 7, "\n"), found + 7);
    return meaning != NULL ? meaning->status : STATUS_LOST;
}

static bool contains_any(const char *message, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strstr(message, *words) != NULL) {
            return true;
        }
    }
    return false;
}

/* What this machine lacks for one more socket, as libpq words it: it keeps errno to itself. */
static int find_own_shortage(const char *line)
{
    static const struct {
        const char *words;
        int number;
    } shortages[] = {
        {"Too many open files in system", ENFILE},          {"Too many open files", EMFILE},
        {"Cannot assign requested address", EADDRNOTAVAIL}, {"No buffer space available", ENOBUFS},
        {"Resource temporarily unavailable", EAGAIN}, /* a Unix socket whose backlog is full */
    };
    for (size_t i = 0; i < COUNT_OF(shortages); i++) {
        if (strstr(line, shortages[i].words) != NULL) {
            return shortages[i].number;
        }
    }
    return 0;
}

enum status postgresql_connect_error(PGconn *connection, bool was_reached, struct error *error)
{
    static const char *const credentials[] = {"authentication", "SCRAM",    "SSL",
                                              "certificate",    "GSS",      "channel binding",
                                              "password",       "protocol", NULL};
    static const char *const silence[] = {"timed out", "timeout expired", NULL};
    static const char *const foreign[] = {"invalid response to SSL", "expected authentication",
                                          NULL};
    /* A server that cannot fork says so even before TLS, and newer libraries hide its words. */
    static const char *const full[] = {"could not fork", "an error response during SSL", NULL};
    static const char *const broken[] = {"SSL SYSCALL error", "closed unexpectedly", NULL};
    static const char start[] = "connection to server ";
    const char *message = PQerrorMessage(connection);
    const char *found = find_sqlstate(message);
    enum error_kind kind = was_reached ? ERROR_CONNECTION : ERROR_UNREACHABLE;
    enum status status = STATUS_LOST;
    int number = 0;

    if (found != NULL) {
        return report_refusal(message, found, error);
    }
    /* One paragraph for each address that was tried: the last one tells how it ended. */
    const char *line = message;
    for (const char *at = strstr(line, start); at != NULL; at = strstr(at + 1, start)) {
        line = at;
    }
    if (strstr(line, "out of memory") != NULL) {
        return postgresql_memory_error(error);
    }
    if (contains_any(line, full)) {
        kind = ERROR_LIMIT;
    } else if (contains_any(line, silence)) {
        kind = ERROR_TIMEOUT;
    } else if (contains_any(line, foreign)) {
        kind = ERROR_UNSUPPORTED;
        status = STATUS_FATAL;
    } else if (PQconnectionNeedsPassword(connection)) {
        error_set(error, ERROR_AUTH, 0, NULL,
                  "the server asks user \"%.80s\" for a password: give it in a file "
                  "(--password-file FILE), in APPEND_PASSWORD, or as libpq has it (~/.pgpass, "
                  "PGPASSWORD)",
                  PQuser(connection));
        return STATUS_FATAL;
    } else if (was_reached && !contains_any(line, broken) && contains_any(line, credentials)) {
        kind = ERROR_AUTH;
        status = STATUS_FATAL;
    } else if (!was_reached && (number = find_own_shortage(line)) != 0) {
        kind = ERROR_SYSTEM;
    }
    error_set(error, kind, number, NULL, "%.*s", (int)strcspn(line, "\n"), line);
    return status;
}

/* The connection is gone. What the server said when it hung up is worth more than the broken
 * pipe that followed; it may have come as a notice between two commands. */
static enum status report_lost(struct adapter_conn *conn, const char *sqlstate, const char *text,
                               struct error *error)
{
    if (sqlstate == NULL && conn->last_sqlstate[0] != '\0') {
        sqlstate = conn->last_sqlstate;
    }
    error_set(error, ERROR_CONNECTION, 0, sqlstate, "%.*s", (int)strcspn(text, "\n"), text);
    return STATUS_LOST;
}

/* Which right is missing in a schema; for tables see postgresql_describe.c. */
static void write_hint(const struct adapter_conn *conn, const char *primary, char *hint,
                       size_t size)
{
    static const char refusal[] = "permission denied for schema ";
    if (strncmp(primary, refusal, sizeof refusal - 1) == 0) {
        snprintf(hint, size, ": GRANT USAGE, CREATE ON SCHEMA %.60s TO \"%.60s\"",
                 primary + sizeof refusal - 1, PQuser(conn->connection));
    }
}

enum status postgresql_result_error(struct adapter_conn *conn, const PGresult *result,
                                    struct error *error)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *text = result != NULL ? PQresultErrorMessage(result) : "";

    if (text[0] == '\0') {
        text = PQerrorMessage(conn->connection);
    }
    if (sqlstate == NULL || primary == NULL) {
        if (PQstatus(conn->connection) == CONNECTION_BAD) {
            return report_lost(conn, sqlstate, text, error);
        }
        error_set(error, ERROR_SERVER, 0, sqlstate, "%.*s", (int)strcspn(text, "\n"), text);
        return STATUS_REJECTED;
    }

    /* Detail and context name single rows: without them equal causes have equal texts. */
    const struct meaning *meaning =
        find_meaning(result_meanings, COUNT_OF(result_meanings), sqlstate);
    const char *level = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const bool is_end = level != NULL && strcmp(level, "ERROR") != 0;
    const bool is_lost = is_end || PQstatus(conn->connection) == CONNECTION_BAD;
    const enum error_kind kind = is_lost           ? ERROR_CONNECTION
                                 : meaning != NULL ? meaning->kind
                                                   : ERROR_SERVER;
    char hint[160] = "";
    write_hint(conn, primary, hint, sizeof hint);
    error_set(error, kind, 0, sqlstate, "%s:  %s%s", severity != NULL ? severity : "ERROR", primary,
              hint);
    if (is_lost) {
        return STATUS_LOST;
    }
    return meaning != NULL ? meaning->status : STATUS_REJECTED;
}

enum status postgresql_end_transaction(struct adapter_conn *conn, enum status status,
                                       struct error *error)
{
    const PGTransactionStatusType state = PQtransactionStatus(conn->connection);
    if (state != PQTRANS_INTRANS && state != PQTRANS_INERROR) {
        return status;
    }
    if (status == STATUS_OK) {
        error_set(error, ERROR_USAGE, 0, NULL, "the statement leaves a transaction open");
        status = STATUS_FATAL;
    }
    const enum status undone =
        postgresql_finish(conn, PQsendQuery(conn->connection, "rollback"), NULL, error);
    return undone == STATUS_LOST ? STATUS_LOST : status;
}

static bool is_failure(const PGresult *result)
{
    const ExecStatusType status = PQresultStatus(result);
    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE ||
           status == PGRES_NONFATAL_ERROR || status == PGRES_PIPELINE_ABORTED;
}

enum status postgresql_finish(struct adapter_conn *conn, int was_sent, PGresult **kept,
                              struct error *error)
{
    enum status status = STATUS_OK;
    PGresult *last = NULL;
    PGresult *result;

    while ((result = PQgetResult(conn->connection)) != NULL) {
        const ExecStatusType kind = PQresultStatus(result);
        if (is_failure(result) && status == STATUS_OK) {
            status = postgresql_result_error(conn, result, error);
        }
        PQclear(last);
        last = result;
        if (kind == PGRES_COPY_IN) {
            PQputCopyEnd(conn->connection, "no rows for this statement");
        } else if (kind == PGRES_COPY_OUT) {
            char *line = NULL;
            while (PQgetCopyData(conn->connection, &line, 0) > 0) {
                PQfreemem(line);
            }
        }
    }
    if (PQstatus(conn->connection) == CONNECTION_BAD) {
        if (status == STATUS_OK) {
            postgresql_result_error(conn, NULL, error);
        }
        status = STATUS_LOST;
    } else if (!was_sent && status == STATUS_OK) {
        status = postgresql_result_error(conn, NULL, error);
    }
    if (status == STATUS_OK && kept != NULL) {
        *kept = last;
    } else {
        PQclear(last);
    }
    return status;
}
