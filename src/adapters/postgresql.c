/*
 * PostgreSQL through libpq.
 *
 * append_open costs one round trip and append_close another: libpq lets COPY begin only when the
 * server has agreed to it. With the method "insert" append_close is the only one.
 */
#include "adapters/postgresql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/postgresql_conn.h"
#include "base/buffer.h"
#include "base/limit_sql.h"

static void client_version(char *text, size_t size)
{
    const int version = PQlibVersion();
    snprintf(text, size, "libpq %d.%d", version / 10000, version % 10000);
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    const enum status status =
        postgresql_finish(conn, PQsendQuery(conn->connection, sql), NULL, error);
    return postgresql_end_transaction(conn, status, error);
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    conn->uses_insert |= table->has_no_bulk_path;
    const enum status status = conn->uses_insert ? postgresql_insert_open(conn, table, error)
                                                 : postgresql_copy_open(conn, table, error);
    conn->is_append_open = status == STATUS_OK;
    return status;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch,
                               struct error *error)
{
    const enum status status = conn->uses_insert ? postgresql_insert_rows(conn, batch, error)
                                                 : postgresql_copy_rows(conn, batch, error);
    conn->is_append_open = status == STATUS_OK;
    return status;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    *accepted = 0;
    conn->is_append_open = false;
    return conn->uses_insert ? postgresql_insert_close(conn, accepted, error)
                             : postgresql_copy_close(conn, accepted, error);
}

static bool write_count(struct buffer *sql, const struct table *table, struct error *error)
{
    buffer_init(sql);
    buffer_add_text(sql, "select count(*) from ");
    buffer_add_identifier(sql, table->name, '"');
    if (buffer_failed(sql)) {
        postgresql_memory_error(error);
        buffer_fini(sql);
        return false;
    }
    return true;
}

/* The first count of a connection may be its only one, so it is sent in one round trip, unprepared;
 * the second one prepares it for all further ones. A pooler may have prepared it in another
 * session. */
static enum status send_count(struct adapter_conn *conn, const struct table *table, int *was_sent,
                              struct error *error)
{
    char name[32];
    struct buffer sql;
    if (conn->count_table == table && conn->is_count_prepared) {
        snprintf(name, sizeof name, "count_%u", conn->count_generation);
        *was_sent = PQsendQueryPrepared(conn->connection, name, 0, NULL, NULL, NULL, 1);
        return STATUS_OK;
    }
    if (!write_count(&sql, table, error)) {
        return STATUS_FATAL;
    }
    enum status status = STATUS_OK;
    if (conn->count_table != table || table->is_pooled) {
        conn->count_table = table;
        conn->is_count_prepared = false;
        *was_sent =
            PQsendQueryParams(conn->connection, buffer_text(&sql), 0, NULL, NULL, NULL, NULL, 1);
    } else {
        snprintf(name, sizeof name, "count_%u", ++conn->count_generation);
        const int prepare = PQsendPrepare(conn->connection, name, buffer_text(&sql), 0, NULL);
        status = postgresql_finish(conn, prepare, NULL, error);
        conn->is_count_prepared = status == STATUS_OK;
        if (status == STATUS_OK) {
            *was_sent = PQsendQueryPrepared(conn->connection, name, 0, NULL, NULL, NULL, 1);
        }
    }
    buffer_fini(&sql);
    return status;
}

static enum status count(struct adapter_conn *conn, const struct table *table, uint64_t *rows,
                         struct error *error)
{
    PGresult *result = NULL;
    unsigned char wire[8];
    int was_sent = 0;
    const enum status sent = send_count(conn, table, &was_sent, error);
    if (sent != STATUS_OK) {
        return sent;
    }
    enum status status = postgresql_finish(conn, was_sent, &result, error);
    if (status == STATUS_OK && PQgetlength(result, 0, 0) == (int)sizeof wire) {
        memcpy(wire, PQgetvalue(result, 0, 0), sizeof wire);
        *rows = 0;
        for (size_t i = 0; i < sizeof wire; i++) {
            *rows = *rows << 8 | wire[i];
        }
    } else if (status == STATUS_OK) {
        error_set(error, ERROR_SERVER, 0, NULL, "count(*) came without a number");
        status = STATUS_REJECTED;
    }
    PQclear(result);
    return status;
}

/* Row by row: a large result must not be held in thousands of sessions at once. */
static enum status query(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                         struct error *error)
{
    PGresult *result;
    enum status status = STATUS_OK;
    const int was_sent = PQsendQuery(conn->connection, sql);

    *rows = 0;
    if (was_sent) {
        PQsetSingleRowMode(conn->connection);
    }
    while (status == STATUS_OK && (result = PQgetResult(conn->connection)) != NULL) {
        const ExecStatusType kind = PQresultStatus(result);
        char *line = NULL;
        if (kind == PGRES_SINGLE_TUPLE) {
            ++*rows;
        } else if (kind == PGRES_COPY_OUT) {
            while (PQgetCopyData(conn->connection, &line, 0) > 0) {
                PQfreemem(line);
                ++*rows;
            }
        } else if (kind == PGRES_COPY_IN) {
            PQputCopyEnd(conn->connection, "a query has no rows to send");
        } else if (kind == PGRES_FATAL_ERROR || kind == PGRES_BAD_RESPONSE) {
            status = postgresql_result_error(conn, result, error);
        }
        PQclear(result);
    }
    const enum status rest = postgresql_finish(conn, was_sent, NULL, error);
    status = status == STATUS_OK || rest == STATUS_LOST ? rest : status;
    return postgresql_end_transaction(conn, status, error);
}

static enum status server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                 struct error *error)
{
    PGresult *result = NULL;

    memset(limits, 0, sizeof *limits);
    enum status status = postgresql_find_pooler(conn, error);
    if (status == STATUS_OK) {
        status = postgresql_finish(conn, PQsendQuery(conn->connection, limit_sql_postgresql),
                                   &result, error);
    }
    if (status == STATUS_OK) {
        const char *version = PQparameterStatus(conn->connection, "server_version");
        snprintf(limits->version, sizeof limits->version, "PostgreSQL %s",
                 version != NULL ? version : "");
        for (int row = 0; row < PQntuples(result); row++) {
            const char *values[LIMIT_SQL_COLUMNS];
            for (int i = 0; i < LIMIT_SQL_COLUMNS; i++) {
                values[i] = PQgetvalue(result, row, i);
            }
            limit_sql_add(limits, values);
        }
        limit_sql_conclude_postgresql(limits);
        if (conn->is_pooled) {
            /* its sessions are the pooler's own, few of which serve many clients */
            limits->count = 0;
            limits->tasks_per_session = 0;
            limits->files_per_session = 1;
            limits->is_pooled = true;
        }
    }
    PQclear(result);
    return status;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

static const char *const methods[] = {"copy", "insert", NULL};

static void inspect(struct adapter_conn *conn, struct connection_info *info)
{
    const char *port = PQport(conn->connection);
    copy_text(info->host, sizeof info->host, PQhost(conn->connection));
    copy_text(info->user, sizeof info->user, PQuser(conn->connection));
    copy_text(info->database, sizeof info->database, PQdb(conn->connection));
    info->port = (uint16_t)strtoul(port == NULL ? "0" : port, NULL, 10);
    info->method = methods[conn->uses_insert || conn->has_no_copy ? 1 : 0];
    snprintf(info->note, sizeof info->note, "%s%s%s",
             conn->is_pooled ? "a pooler stands in front of the server: statements are not prepared"
                             : "",
             conn->is_pooled && conn->has_no_copy ? "; " : "",
             conn->has_no_copy ? "the server does not know COPY: rows go in as multi-row INSERT"
                               : "");
}

const struct adapter adapter_postgresql = {
    .name = "postgresql",
    .summary = "PostgreSQL: copy, insert",
    .default_port = 5432,
    .identifier_quote = '"',
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 1,
    .methods = methods,
    .client_version = client_version,
    .recognise = postgresql_recognise,
    .open = postgresql_open,
    .close = postgresql_close,
    .interrupt = postgresql_interrupt,
    .inspect = inspect,
    .execute = execute,
    .describe = postgresql_describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .count = count,
    .query = query,
    .read_numbers = postgresql_read_numbers,
    .server_limits = server_limits,
};
