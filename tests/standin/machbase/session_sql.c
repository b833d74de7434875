/* Statements: PREPARE, EXECUTE, EXECDIRECT, FETCH, FREE. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SQL_BYTES_MAX = 64 * 1024,
    /* what a statement is [src]; of DDL any number up to 255 */
    TYPE_DDL = 1,
    TYPE_SELECT = 512,
};

/* Takes the SQL of a message apart; NULL = the error is in the reply. */
static struct sql_statement *parse(struct session *session, const struct wire_message *message)
{
    const enum wire_protocol protocol = (enum wire_protocol)message->protocol;
    struct wire_unit_value unit;
    const uint32_t id = protocol == WIRE_PREPARE ? WIRE_SQL : WIRE_DIRECT_SQL;
    if (!wire_find(message, id, false, &unit) || unit.length > SQL_BYTES_MAX) {
        session_add_error(session, protocol, SERVER_PROTOCOL,
                          "Protocol message error in connection.");
        return NULL;
    }
    char *text = strndup((const char *)unit.bytes, unit.length);
    struct sql_statement *sql = malloc(sizeof *sql);
    const char *near = "";
    if (text == NULL || sql == NULL) {
        session_add_error(session, protocol, SERVER_MEMORY, "Error in allocating memory.");
    } else if (sql_parse(sql, text, &near)) {
        free(text);
        return sql;
    } else {
        char error[150];
        snprintf(error, sizeof error, "Syntax error: near token (%.100s).", near);
        session_add_error(session, protocol, SERVER_SYNTAX, error);
    }
    free(text);
    free(sql);
    return NULL;
}

/* Is the name one of a list with commas, in any case? */
static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',' ? 1 : 0;
        if (strcspn(at, ",") == length && strncasecmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

static void choose_kept(struct store_table *table, const char *list)
{
    table->keeps_all = list == NULL;
    for (size_t c = 0; c < table->column_count && list != NULL; c++) {
        table->keeps[c] = is_listed(list, table->columns[c].name);
    }
}

static bool create_table(struct session *session, const struct sql_statement *sql,
                         struct query_error *error)
{
    static const struct row_column arrival = {.name = "_ARRIVAL_TIME", .type = ROW_DATETIME};
    struct row_column *columns = calloc(sql->column_count + 1, sizeof *columns);
    if (columns == NULL) {
        return false;
    }
    columns[0] = arrival;
    memcpy(columns + 1, sql->columns, sql->column_count * sizeof *columns);
    struct store_table *table = store_make_table(sql->table, columns, sql->column_count + 1);
    free(columns);
    if (table == NULL) {
        return false;
    }
    choose_kept(table, session->server->keep);
    if (!store_add(&session->server->store, table)) {
        store_release(&session->server->store, table);
        error->code = SERVER_EXISTS;
        snprintf(error->text, sizeof error->text, "Table %.100s already exists.", sql->table);
        return false;
    }
    return true;
}

/* Everything but select. */
static bool change(struct session *session, const struct sql_statement *sql,
                   struct query_error *error)
{
    *error = (struct query_error){SERVER_MEMORY, "Error in allocating memory."};
    if (sql->kind == SQL_CREATE) {
        return create_table(session, sql, error);
    }
    if (!store_drop(&session->server->store, sql->table)) {
        error->code = SERVER_NO_TABLE;
        snprintf(error->text, sizeof error->text, "Table %.100s does not exist.", sql->table);
        return false;
    }
    return true;
}

/* What a statement will give: the reply to PREPARE and EXECDIRECT. */
static void describe(struct session *session, enum wire_protocol protocol,
                     const struct session_statement *statement)
{
    wire_add_result(&session->body, WIRE_OK, 0);
    wire_add_number(&session->body, WIRE_STATEMENT, WIRE_UINT64, statement->id);
    wire_add_number(&session->body, WIRE_STATEMENT_TYPE, WIRE_INT32,
                    statement->query != NULL ? TYPE_SELECT : TYPE_DDL);
    if (statement->query != NULL) {
        wire_add_number(&session->body, WIRE_PARAMETERS, WIRE_UINT64, 0);
        query_describe(statement->query, &session->body);
    } else {
        wire_add_number(&session->body, WIRE_ROW, WIRE_UINT64, 0);
    }
    session_add_reply(session, protocol, statement->id);
}

/* Begins the select, or makes the change, of a statement. */
static bool begin(struct session *session, enum wire_protocol protocol,
                  struct session_statement *statement, const struct sql_statement *sql)
{
    struct query_error error;
    query_close(session->server, statement->query);
    statement->query = NULL;
    if (sql->kind == SQL_SELECT) {
        statement->query = query_open(session->server, sql, &error);
    }
    if (sql->kind == SQL_SELECT ? statement->query == NULL : !change(session, sql, &error)) {
        session_add_error(session, protocol, error.code, error.text);
        return false;
    }
    return true;
}

static void execute_direct(struct session *session, const struct wire_message *message,
                           struct session_statement *statement)
{
    struct sql_statement *sql = parse(session, message);
    session_clear_statement(session, statement);
    if (sql != NULL && begin(session, WIRE_EXECDIRECT, statement, sql)) {
        describe(session, WIRE_EXECDIRECT, statement);
    }
    if (sql != NULL) {
        sql_fini(sql);
        free(sql);
    }
}

/* A select is begun here already, to describe it; EXECUTE begins it anew. */
static void prepare(struct session *session, const struct wire_message *message,
                    struct session_statement *statement)
{
    session_clear_statement(session, statement);
    statement->sql = parse(session, message);
    if (statement->sql != NULL && (statement->sql->kind != SQL_SELECT ||
                                   begin(session, WIRE_PREPARE, statement, statement->sql))) {
        describe(session, WIRE_PREPARE, statement);
    }
}

static void execute(struct session *session, struct session_statement *statement)
{
    if (statement->sql == NULL) {
        session_add_error(session, WIRE_EXECUTE, SERVER_PROTOCOL,
                          "Protocol message error in connection.");
    } else if (begin(session, WIRE_EXECUTE, statement, statement->sql)) {
        wire_add_result(&session->body, WIRE_OK, 0);
        session_add_reply(session, WIRE_EXECUTE, statement->id);
    }
}

/* OK, a unit for each row, then LAST or a zero that says: ask again. */
static void fetch(struct session *session, const struct wire_message *message,
                  const struct session_statement *statement)
{
    struct wire_unit_value most;
    if (statement->query == NULL || !wire_find(message, WIRE_FETCH_ROWS, true, &most)) {
        session_add_error(session, WIRE_FETCH, SERVER_PROTOCOL,
                          "Protocol message error in connection.");
        return;
    }
    wire_add_result(&session->body, WIRE_OK, 0);
    if (query_fetch(statement->query, most.number, &session->body)) {
        wire_add_number(&session->body, WIRE_FETCH_ROWS, WIRE_INT64, 0);
    } else {
        wire_add_result(&session->body, WIRE_END, 0);
    }
    session_add_reply(session, WIRE_FETCH, statement->id);
}

void session_answer_sql(struct session *session, const struct wire_message *message)
{
    const enum wire_protocol protocol = (enum wire_protocol)message->protocol;
    const uint32_t id = protocol == WIRE_FETCH  ? WIRE_FETCH_STATEMENT
                        : protocol == WIRE_FREE ? WIRE_FREE_STATEMENT
                                                : WIRE_STATEMENT;
    struct wire_unit_value unit;
    struct session_statement *statement = NULL;
    if (wire_find(message, id, true, &unit)) {
        statement = session_statement(session, (uint32_t)unit.number);
    }
    if (statement == NULL) {
        session_add_error(session, protocol, SERVER_PROTOCOL,
                          "Protocol message error in connection.");
        return;
    }
    switch (protocol) {
    case WIRE_PREPARE:
        prepare(session, message, statement);
        break;
    case WIRE_EXECUTE:
        execute(session, statement);
        break;
    case WIRE_EXECDIRECT:
        execute_direct(session, message, statement);
        break;
    case WIRE_FETCH:
        fetch(session, message, statement);
        break;
    default:
        session_clear_statement(session, statement);
        wire_add_result(&session->body, WIRE_OK, 0);
        session_add_reply(session, protocol, statement->id);
        break;
    }
}
