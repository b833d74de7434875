/* What a new connection is told before it is used. */
#include "adapters/odbc_conn.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "adapters/odbc_string.h"

enum {
    SYNCHRONOUS_FULL = 2
};

void odbc_add_note(struct buffer *note, const char *format, ...)
{
    char text[ODBC_VALUE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buffer_add_format(note, "%s%s", note->length > 0 ? "; " : "", text);
}

struct durability {
    char journal[16];
    int64_t synchronous;
};

static bool take_journal(SQLHSTMT statement, void *context)
{
    struct durability *durability = context;
    odbc_get_text(statement, 1, durability->journal, sizeof durability->journal);
    return false;
}

static bool take_synchronous(SQLHSTMT statement, void *context)
{
    struct durability *durability = context;
    durability->synchronous = odbc_get_number(statement, 1);
    return false;
}

static bool says(const char *text, const char *key)
{
    const char *const keys[] = {key, NULL};
    char value[16];
    return odbc_string_find(text, keys, value, sizeof value) && value[0] != '\0';
}

/* The driver's own default, synchronous NORMAL, does not sync the log at a commit. As the adapter
 * for SQLite has it, unless the connection string wants it otherwise. */
static enum status set_up_sqlite(struct adapter_conn *conn, const char *text, struct buffer *note,
                                 struct error *error)
{
    const bool is_journal_given = says(text, "JournalMode");
    struct durability durability = {"", SYNCHRONOUS_FULL};
    enum status status = STATUS_OK;

    if (!says(text, "SyncPragma")) {
        status = odbc_run(conn, "pragma synchronous = full", NULL, NULL, NULL, error);
    }
    if (status == STATUS_OK) {
        status = odbc_run(conn, "pragma synchronous", NULL, take_synchronous, &durability, error);
    }
    if (status == STATUS_OK) {
        status =
            odbc_run(conn, is_journal_given ? "pragma journal_mode" : "pragma journal_mode = wal",
                     NULL, take_journal, &durability, error);
    }
    if (status == STATUS_OK && durability.synchronous < SYNCHRONOUS_FULL) {
        odbc_add_note(note, "commits are not always synced (SyncPragma)");
    }
    if (status == STATUS_OK && strcasecmp(durability.journal, "wal") != 0) {
        odbc_add_note(note, "the journal mode is %s, not wal", durability.journal);
    }
    return status;
}

/* Times are sent without a zone and mean UTC. */
static enum status set_up_postgresql(struct adapter_conn *conn, struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;

    buffer_init(&sql);
    buffer_add_text(&sql, "set time zone 'UTC'");
    if (conn->schema != NULL) {
        buffer_add_text(&sql, "; set search_path = ");
        buffer_add_identifier(&sql, conn->schema, '"');
    }
    status = buffer_failed(&sql) ? odbc_memory_error(error)
                                 : odbc_execute(conn, buffer_text(&sql), error);
    buffer_fini(&sql);
    return status;
}

enum status odbc_set_up(struct adapter_conn *conn, const char *text, struct buffer *note,
                        struct error *error)
{
    if (conn->schema != NULL && conn->dialect != ODBC_POSTGRESQL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "ODBC takes a schema for PostgreSQL only: name the database instead");
        return STATUS_FATAL;
    }
    switch (conn->dialect) {
    case ODBC_POSTGRESQL:
        return set_up_postgresql(conn, error);
    case ODBC_MARIADB:
        return odbc_execute(conn, "set time_zone = '+00:00'", error);
    case ODBC_SQLITE:
        return set_up_sqlite(conn, text, note, error);
    case ODBC_OTHER:
        break;
    }
    return STATUS_OK;
}
