/*
 * Numbers of a query, row by row, as COPY (…) TO STDOUT: a fifth of the client's CPU time that
 * libpq's single row mode takes, which makes a result of each row. How long it takes is up to the
 * server, either way. In text, because there a number cannot be mistaken for a value of another
 * type and the same length.
 */
#include <stdlib.h>
#include <string.h>

#include "adapters/postgresql_conn.h"
#include "base/buffer.h"
#include "base/number_text.h"

struct reading {
    size_t columns;
    int64_t *values; /* of one row */
    bool (*take)(void *context, const int64_t *values);
    void *context;
    bool is_over; /* nothing more is wanted */
    enum status status;
};

/* One line of COPY: values between tabs, \N for NULL. */
static enum status read_line(const struct reading *reading, const char *line, size_t length,
                             struct error *error)
{
    const bool has_break = length > 0 && line[length - 1] == '\n';
    const char *const end = line + length - (has_break ? 1 : 0);
    const char *at = line;
    for (size_t i = 0; i < reading->columns; i++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab != NULL ? tab : end;
        const size_t bytes = (size_t)(stop - at);
        if ((tab == NULL) != (i + 1 == reading->columns)) {
            return number_text_refuse_columns(i + 1 + (tab != NULL ? 1 : 0), reading->columns,
                                              error);
        }
        if (!number_text_parse(at, bytes, &reading->values[i])) {
            const bool is_null = bytes == 2 && memcmp(at, "\\N", 2) == 0;
            return number_text_refuse(i, is_null ? NULL : at, bytes, error);
        }
        at = stop + 1;
    }
    return STATUS_OK;
}

/* Reads all rows of the COPY that has begun; those behind the last one wanted are passed over. */
static void read_rows(struct adapter_conn *conn, struct reading *reading, struct error *error)
{
    char *line = NULL;
    int length;
    while ((length = PQgetCopyData(conn->connection, &line, 0)) > 0) {
        if (!reading->is_over) {
            reading->status = read_line(reading, line, (size_t)length, error);
            reading->is_over =
                reading->status != STATUS_OK || !reading->take(reading->context, reading->values);
        }
        PQfreemem(line);
    }
    if (length < -1) {
        /* what libpq says later is about the socket, which it has closed */
        reading->status = postgresql_result_error(conn, NULL, error);
    }
}

static enum status send(struct adapter_conn *conn, const char *query, int *was_sent,
                        struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;
    buffer_init(&sql);
    buffer_add_text(&sql, "copy (");
    buffer_add_text(&sql, query);
    buffer_add_text(&sql, ") to stdout");
    if (buffer_failed(&sql)) {
        status = postgresql_memory_error(error);
    } else {
        *was_sent = PQsendQuery(conn->connection, buffer_text(&sql));
    }
    buffer_fini(&sql);
    return status;
}

enum status postgresql_read_numbers(struct adapter_conn *conn, const char *sql, size_t columns,
                                    bool (*take)(void *context, const int64_t *values),
                                    void *context, struct error *error)
{
    struct reading reading = {.columns = columns, .take = take, .context = context};
    struct error refused;
    int was_sent = 0;

    reading.values = calloc(columns, sizeof *reading.values);
    if (reading.values == NULL) {
        return postgresql_memory_error(error);
    }
    error_clear(&refused);
    enum status status = send(conn, sql, &was_sent, error);
    if (status == STATUS_OK) {
        PGresult *result = PQgetResult(conn->connection);
        if (PQresultStatus(result) == PGRES_COPY_OUT) {
            read_rows(conn, &reading, &refused);
        } else if (result != NULL) {
            reading.status = postgresql_result_error(conn, result, &refused);
        }
        PQclear(result);
        status = postgresql_finish(conn, was_sent, NULL, error);
    }
    free(reading.values);
    if (reading.status == STATUS_LOST || (status == STATUS_OK && reading.status != STATUS_OK)) {
        *error = refused;
        return reading.status;
    }
    return status;
}
