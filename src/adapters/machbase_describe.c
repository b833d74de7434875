/* The columns of a table, as the server tells them when an append into it is opened: these, in this
 * order, are what the library takes a row for. */
#include "adapters/machbase_conn.h"

#include <stdio.h>
#include <string.h>

#include "adapters/machbase_encode.h"

enum status machbase_describe_column(struct adapter_conn *conn, machbase_handle statement,
                                     size_t index, struct column *column, struct error *error)
{
    unsigned char name[ROW_NAME_BYTES] = "";
    short length = 0;
    short type = 0;
    unsigned long size = 0;
    short digits = 0;
    short nullable = 0;
    const machbase_result result =
        conn->call->SQLDescribeCol(statement, (unsigned short)(index + 1), name, sizeof name,
                                   &length, &type, &size, &digits, &nullable);
    if (!machbase_succeeded(result)) {
        return machbase_call_error(conn, statement, error);
    }
    *column = (struct column){.is_nullable = true}; /* the library does not say */
    memcpy(column->name, name, sizeof name - 1);
    machbase_set_type(column, type, size);
    return STATUS_OK;
}

static enum status add_columns(struct adapter_conn *conn, machbase_handle statement,
                               struct table *table, struct error *error)
{
    short count = 0;
    if (!machbase_succeeded(conn->call->SQLNumResultCols(statement, &count))) {
        return machbase_call_error(conn, statement, error);
    }
    enum status status = STATUS_OK;
    /* the first is the time of arrival, which the server or the library fills */
    for (short i = 1; status == STATUS_OK && i < count; i++) {
        struct column column;
        status = machbase_describe_column(conn, statement, (size_t)i, &column, error);
        if (status == STATUS_OK) {
            status = table_add_column(table, &column, error);
        }
    }
    return status;
}

/* Names are not quoted, and a name that is none could be read as something else. */
static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";
    return name[0] != '\0' && strspn(name, letters) == strlen(name);
}

static enum status no_table(const char *name, struct error *error)
{
    error_set(error, ERROR_NOT_FOUND, MACHBASE_NO_SUCH_TABLE, NULL, "table '%.100s' does not exist",
              name);
    return STATUS_REJECTED;
}

enum status machbase_describe(struct adapter_conn *conn, const char *table_name,
                              struct table *table, struct error *error)
{
    machbase_handle statement = NULL;
    struct error reason;
    long successes = 0;
    long failures = 0;
    if (!is_name(table_name)) {
        return no_table(table_name, error);
    }
    error_clear(&reason);
    enum status status = machbase_begin(conn, table_name, &statement, &reason);
    if (status != STATUS_OK) {
        if (status == STATUS_FATAL && reason.kind == ERROR_NOT_FOUND) {
            return no_table(table_name, error);
        }
        *error = reason;
        return status;
    }
    status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = add_columns(conn, statement, table, error);
    }
    const machbase_result result = conn->call->SQLAppendClose(statement, &successes, &failures);
    if (status == STATUS_OK && !machbase_succeeded(result)) {
        status = machbase_call_error(conn, statement, error);
    }
    conn->call->SQLFreeStmt(statement, MACHBASE_DROP);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}
