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
#include "base/limit_sql.h"

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

static enum status take_facts(struct adapter_conn *conn, const char *sql, struct limit_facts *facts,
                              struct error *error)
{
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    const enum status status = mariadb_fetch(conn, sql, &result, error);
    while (status == STATUS_OK && (row = mysql_fetch_row(result)) != NULL) {
        limit_facts_take(facts, row[0], row[1]);
    }
    if (status == STATUS_OK) {
        mysql_free_result(result);
    }
    return status;
}

static enum status server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                 struct error *error)
{
    struct limit_facts facts = {0};

    memset(limits, 0, sizeof *limits);
    for (size_t i = 0; limit_sql_mariadb[i] != NULL; i++) {
        struct error failure;
        error_clear(&failure);
        const enum status status = take_facts(conn, limit_sql_mariadb[i], &facts, &failure);
        if (status == STATUS_LOST || (status != STATUS_OK && i == 0)) {
            *error = failure;
            return status;
        }
    }
    write_version(limits, facts.version, facts.version_comment);
    limit_facts_conclude(&facts, conn->method == MARIADB_BULK, conn->statement_table != NULL,
                         limits);
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
