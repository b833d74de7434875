/*
 * MariaDB, MySQL and their kin (SingleStore, Percona Server) through MariaDB Connector/C.
 *
 * An append of less than ROW_BATCH_MAX rows costs one round trip, and so does a count.
 */
#include "adapters/mariadb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/mariadb_conn.h"

const char *const mariadb_methods[MARIADB_METHOD_COUNT + 1] = {
    [MARIADB_BULK] = "bulk", [MARIADB_INSERT] = "insert", [MARIADB_LOAD] = "load"};

/* The buffer of each connection, one size for all. Answers are short, and statements that are
 * longer than it are sent as they are. */
static enum status init(struct error *error)
{
    static const size_t net_buffer_bytes = 1024;
    MYSQL mysql;
    if (mysql_library_init(0, NULL, NULL) != 0 || mysql_init(&mysql) == NULL) {
        return mariadb_memory_error(error);
    }
    mysql_optionsv(&mysql, MYSQL_OPT_NET_BUFFER_LENGTH, &net_buffer_bytes);
    mysql_close(&mysql);
    return STATUS_OK;
}

static void fini(void)
{
    mysql_library_end();
}

static void client_version(char *text, size_t size)
{
    snprintf(text, size, "MariaDB Connector/C %s", mysql_get_client_info());
}

static bool is_mariadb_with_addresses(MYSQL *mysql)
{
    enum {
        INET4_VERSION = 101000
    };
    return mariadb_connection(mysql) && mysql_get_server_version(mysql) >= INET4_VERSION;
}

static void inspect(struct adapter_conn *conn, struct connection_info *info)
{
    MYSQL *const mysql = &conn->mysql;
    const char *host = mysql->unix_socket != NULL ? mysql->unix_socket : mysql->host;
    snprintf(info->host, sizeof info->host, "%s", host != NULL ? host : "");
    info->port = mysql->unix_socket != NULL ? 0 : (uint16_t)mysql->port;
    snprintf(info->user, sizeof info->user, "%s", mysql->user != NULL ? mysql->user : "");
    snprintf(info->database, sizeof info->database, "%s", mysql->db != NULL ? mysql->db : "");
    snprintf(info->dialect, sizeof info->dialect, "%s",
             is_mariadb_with_addresses(mysql) ? "mariadb" : "mysql");
    info->identifier_quote = '`';
    info->method = mariadb_methods[conn->method];
    info->note[0] = '\0';
    if (conn->why_no_bulk != NULL) {
        snprintf(info->note, sizeof info->note, "%s: rows go in as multi-row INSERT",
                 conn->why_no_bulk);
    }
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return mariadb_end_transaction(conn, mariadb_run(conn, sql, error), error);
}

static enum status query(struct adapter_conn *conn, const char *sql, uint64_t *rows,
                         struct error *error)
{
    *rows = 0;
    return mariadb_end_transaction(conn, mariadb_drain(conn, sql, rows, error), error);
}

static enum status count(struct adapter_conn *conn, const struct table *table, uint64_t *rows,
                         struct error *error)
{
    MYSQL_RES *result = NULL;
    struct buffer sql;
    enum status status;

    buffer_init(&sql);
    buffer_add_text(&sql, "select count(*) from ");
    buffer_add_identifier(&sql, table->name, '`');
    if (buffer_failed(&sql)) {
        status = mariadb_memory_error(error);
    } else {
        status = mariadb_fetch(conn, buffer_text(&sql), &result, error);
    }
    buffer_fini(&sql);
    if (status != STATUS_OK) {
        return status;
    }
    MYSQL_ROW row = mysql_fetch_row(result);
    if (row != NULL && row[0] != NULL) {
        *rows = strtoull(row[0], NULL, 10);
    } else {
        error_set(error, ERROR_SERVER, 0, NULL, "count(*) came without a number");
        status = STATUS_REJECTED;
    }
    mysql_free_result(result);
    return status;
}

/* The name of the product and the number in front of the first '-'. */
static void write_version(struct server_limits *limits, const char *version, const char *comment)
{
    const char *name = "MySQL";
    if (strstr(version, "MariaDB") != NULL || strstr(comment, "MariaDB") != NULL ||
        strstr(comment, "mariadb") != NULL) {
        name = "MariaDB";
    } else if (strstr(comment, "MemSQL") != NULL || strstr(comment, "SingleStore") != NULL) {
        name = "SingleStore, MySQL";
    }
    snprintf(limits->version, sizeof limits->version, "%s %.*s", name, (int)strcspn(version, "-"),
             version);
}

static enum status server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                 struct error *error)
{
    static const char sql[] = "select @@version, @@version_comment, @@max_connections";
    MYSQL_RES *result = NULL;
    struct error ignored;

    memset(limits, 0, sizeof *limits);
    enum status status = mariadb_fetch(conn, sql, &result, error);
    if (status != STATUS_OK) {
        return status;
    }
    MYSQL_ROW row = mysql_fetch_row(result);
    if (row != NULL && row[0] != NULL && row[1] != NULL && row[2] != NULL) {
        write_version(limits, row[0], row[1]);
        limits->count = 1;
        snprintf(limits->sessions[0].name, sizeof limits->sessions[0].name, "max_connections");
        limits->sessions[0].allowed = strtoull(row[2], NULL, 10);
    }
    mysql_free_result(result);
    error_clear(&ignored);
    status = mariadb_fetch(conn, "show global status like 'Threads_connected'", &result, &ignored);
    if (status == STATUS_OK) {
        row = mysql_fetch_row(result);
        limits->sessions[0].used = row != NULL && row[1] != NULL ? strtoull(row[1], NULL, 10) : 0;
        mysql_free_result(result);
    }
    return STATUS_OK;
}

const struct adapter adapter_mariadb = {
    .name = "mariadb",
    .summary = "MariaDB, MySQL: bulk, insert, load",
    .default_port = 3306,
    .identifier_quote = '`',
    .engine_clause = " engine=",
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 1,
    .methods = mariadb_methods,
    .init = init,
    .fini = fini,
    .client_version = client_version,
    .recognise = mariadb_recognise,
    .open = mariadb_open,
    .close = mariadb_close,
    .interrupt = mariadb_interrupt,
    .inspect = inspect,
    .execute = execute,
    .describe = mariadb_describe,
    .get_ready = mariadb_get_ready,
    .append_open = mariadb_append_open,
    .append_rows = mariadb_append_rows,
    .append_close = mariadb_append_close,
    .count = count,
    .query = query,
    .server_limits = server_limits,
};
