/* SingleStore: MySQL's dialect, except for the limits, some types and SingleStore's own error
 * numbers. */
#include <stdio.h>

#include "adapters/dialect.h"
#include "base/ask.h"

static bool classify_error(const struct dialect_failure *failure, struct dialect_meaning *meaning)
{
    enum {
        TOO_MANY_CONNECTIONS = 1040,
        OWN_NUMBERS = 1700, /* lowest number of SingleStore's own errors; MySQL uses some of the
                               numbers for other errors */
    };
    if (failure->number == TOO_MANY_CONNECTIONS) {
        const enum status status = failure->is_connecting ? STATUS_LOST : STATUS_REJECTED;
        *meaning = (struct dialect_meaning){status, ERROR_BUSY, "max_connections"};
        return true;
    }
    return failure->number < OWN_NUMBERS && dialect_mysql.classify_error(failure, meaning);
}

static void write_text(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size)
{
    dialect_mysql.write_text(failure, user, text, size);
}

static enum status describe(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error)
{
    return dialect_mysql.describe(asker, table_name, table, error);
}

static bool take_limits(void *context, const struct cell *cells, size_t count)
{
    struct server_limits *const limits = context;
    char version[32] = "";
    if (count == 2) {
        ask_text(&cells[0], version, sizeof version);
        snprintf(limits->version, sizeof limits->version, "SingleStore %s", version);
        struct session_limit *const limit =
            dialect_add_limit(limits, "max_connection_threads", ask_number(&cells[1]), 1);
        if (limit != NULL) {
            snprintf(limit->note, sizeof limit->note, "concurrent requests on an aggregator");
            snprintf(limit->fix, sizeof limit->fix, "SET GLOBAL max_connection_threads = N");
        }
    }
    return false;
}

/* Queries the version and the limit on concurrent requests. This limit also limits the number of
 * sessions, because a session of the Data API sends one request at a time. */
static enum status ask_limits(const struct dialect_asker *asker, struct server_limits *limits,
                              struct error *error)
{
    static const char sql[] = "select @@memsql_version, @@max_connection_threads";
    struct answer answer = {.take = take_limits, .context = limits};
    limits->files_per_session = 1;
    return ask_rows(asker->adapter, asker->conn, sql, NULL, &answer, error);
}

/* Declares a column as MySQL does, except that SingleStore's times have six fraction digits or
 * none, and its auto-increment columns are BIGINT. */
static bool declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    enum {
        FRACTION_DIGITS = 6
    };
    struct column declared = *column;
    const bool is_time = declared.type == COLUMN_TIME || declared.type == COLUMN_TIMESTAMP;
    const bool is_narrow = declared.type == COLUMN_INT16 || declared.type == COLUMN_INT32;
    declared.scale = is_time && declared.scale > 0 ? FRACTION_DIGITS : declared.scale;
    declared.type = is_numbered && is_narrow ? COLUMN_INT64 : declared.type;
    return dialect_mysql.declare_column(&declared, is_numbered, text, size);
}

const struct dialect dialect_singlestore = {
    .name = "singlestore",
    .classify_error = classify_error,
    .write_text = write_text,
    .describe = describe,
    .limits = ask_limits,
    .declare_column = declare_column,
};
