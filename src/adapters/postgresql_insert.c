/*
 * Multi-row INSERT with binary parameters: the path of programs that do not COPY.
 *
 * One append is one pipeline, which the server runs as one transaction and answers at its end: one
 * round trip, however many statements. Statements are prepared within it at their first use.
 */
#include "adapters/postgresql_conn.h"

#include <stdio.h>
#include <stdlib.h>

#include "adapters/postgresql_encode.h"
#include "base/buffer.h"

enum {
    PARAMETERS_MAX = 65535,
    NAME_BYTES = 48
};

/* Parameters of one statement, borrowed from the batch where its bytes are already right. */
struct parameters {
    int count;
    const char **values;
    int *lengths;
    int *formats;
    unsigned char *fixed; /* POSTGRESQL_FIXED_MAX bytes for each */
};

static size_t written_columns(const struct table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        count += !table->columns[i].is_generated;
    }
    return count;
}

/* The server casts json to jsonb by itself, and json needs no byte in front of the text. */
static Oid parameter_type(const struct column *column)
{
    return column->native_type == POSTGRESQL_JSONB ? POSTGRESQL_JSON : column->native_type;
}

static void build_insert(struct buffer *sql, const struct table *table, size_t rows)
{
    const size_t columns = written_columns(table);
    const char *separator = " (";

    buffer_add_text(sql, "insert into ");
    buffer_add_identifier(sql, table->name, '"');
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            buffer_add_text(sql, separator);
            buffer_add_identifier(sql, table->columns[i].name, '"');
            separator = ", ";
        }
    }
    buffer_add_text(sql, ") values ");
    for (size_t parameter = 0; parameter < rows * columns; parameter++) {
        const char *before = parameter % columns > 0 ? "," : parameter > 0 ? "),(" : "(";
        buffer_add_format(sql, "%s$%zu", before, parameter + 1);
    }
    buffer_add_text(sql, ")");
}

static void statement_name(const struct postgresql_inserts *inserts, size_t rows, char *name)
{
    snprintf(name, NAME_BYTES, "append_%u_%zu", inserts->generation, rows);
}

static bool is_prepared(const struct postgresql_inserts *inserts, size_t rows)
{
    for (unsigned i = 0; i < inserts->sent_count; i++) {
        if (inserts->rows[i] == rows) {
            return true;
        }
    }
    return false;
}

/* Sends PARSE for a new number of rows, or the whole as an unnamed statement when there are
 * prepared ones enough. */
static int send_new(struct adapter_conn *conn, const struct table *table, size_t rows,
                    const struct parameters *parameters)
{
    struct postgresql_inserts *inserts = &conn->inserts;
    Oid *types = malloc((size_t)parameters->count * sizeof *types);
    char name[NAME_BYTES];
    struct buffer sql;
    int was_sent = 0;
    size_t at = 0;

    buffer_init(&sql);
    build_insert(&sql, table, rows);
    if (types == NULL || buffer_failed(&sql)) {
        goto out;
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                types[at++] = parameter_type(&table->columns[i]);
            }
        }
    }
    if (!table->is_pooled && inserts->sent_count < POSTGRESQL_PREPARED_MAX) {
        statement_name(inserts, rows, name);
        was_sent =
            PQsendPrepare(conn->connection, name, buffer_text(&sql), parameters->count, types) &&
            PQsendQueryPrepared(conn->connection, name, parameters->count, parameters->values,
                                parameters->lengths, parameters->formats, 1);
        inserts->rows[inserts->sent_count++] = (uint16_t)rows;
    } else {
        was_sent =
            PQsendQueryParams(conn->connection, buffer_text(&sql), parameters->count, types,
                              parameters->values, parameters->lengths, parameters->formats, 1);
    }
out:
    buffer_fini(&sql);
    free(types);
    return was_sent;
}

static bool parameters_init(struct parameters *parameters, size_t count)
{
    parameters->count = 0;
    parameters->values = calloc(count, sizeof *parameters->values);
    parameters->lengths = calloc(count, sizeof *parameters->lengths);
    parameters->formats = calloc(count, sizeof *parameters->formats);
    parameters->fixed = malloc(count * POSTGRESQL_FIXED_MAX);
    return parameters->values != NULL && parameters->lengths != NULL &&
           parameters->formats != NULL && parameters->fixed != NULL;
}

static void parameters_fini(struct parameters *parameters)
{
    free(parameters->values);
    free(parameters->lengths);
    free(parameters->formats);
    free(parameters->fixed);
}

static void add_parameter(struct parameters *parameters, const struct column *column,
                          const struct column_data *data, size_t row)
{
    const size_t at = (size_t)parameters->count++;
    parameters->formats[at] = 1;
    parameters->lengths[at] = 0;
    parameters->values[at] = NULL;
    if (data->is_null != NULL && data->is_null[row]) {
        return;
    }
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES ||
        column->type == COLUMN_JSON) {
        const struct text_value *text = &data->values.text[row];
        parameters->values[at] = text->length > 0 ? text->bytes : "";
        parameters->lengths[at] = (int)text->length;
        return;
    }
    unsigned char *out = parameters->fixed + at * POSTGRESQL_FIXED_MAX;
    parameters->lengths[at] = (int)postgresql_encode(column, data->values, row, out);
    parameters->values[at] = (const char *)out;
}

static int send_rows(struct adapter_conn *conn, const struct batch *batch, size_t first,
                     size_t rows, struct parameters *parameters)
{
    const struct table *table = batch->table;
    char name[NAME_BYTES];

    parameters->count = 0;
    for (size_t row = first; row < first + rows; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                add_parameter(parameters, &table->columns[i], &batch->columns[i], row);
            }
        }
    }
    if (!is_prepared(&conn->inserts, rows)) {
        return send_new(conn, table, rows, parameters);
    }
    statement_name(&conn->inserts, rows, name);
    return PQsendQueryPrepared(conn->connection, name, parameters->count, parameters->values,
                               parameters->lengths, parameters->formats, 1);
}

enum status postgresql_insert_open(struct adapter_conn *conn, const struct table *table,
                                   struct error *error)
{
    if (conn->inserts.table != table) {
        conn->inserts.table = table;
        conn->inserts.generation++;
        conn->inserts.prepared_count = 0;
        conn->inserts.sent_count = 0;
    }
    if (PQstatus(conn->connection) != CONNECTION_OK || !PQenterPipelineMode(conn->connection)) {
        return postgresql_finish(conn, 0, NULL, error);
    }
    return STATUS_OK;
}

enum status postgresql_insert_rows(struct adapter_conn *conn, const struct batch *batch,
                                   struct error *error)
{
    const size_t columns = written_columns(batch->table);
    struct parameters parameters;
    int was_sent = 0;

    if (columns == 0 || columns > PARAMETERS_MAX) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "no column of %.200s can be written",
                  batch->table->name);
        PQexitPipelineMode(conn->connection); /* nothing was sent in it */
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
    parameters_fini(&parameters);
    if (was_sent) {
        return STATUS_OK;
    }
    if (PQstatus(conn->connection) == CONNECTION_BAD) {
        return postgresql_insert_close(conn, &(uint64_t){0}, error);
    }
    /* A pipeline that is half sent can only be undone by leaving. */
    postgresql_interrupt(conn);
    return postgresql_memory_error(error);
}

/* Notes one result of a pipeline; a statement was prepared when its answer carries no tag. */
static enum status take_result(struct adapter_conn *conn, PGresult *result, uint64_t *rows,
                               struct error *error)
{
    struct postgresql_inserts *inserts = &conn->inserts;
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
        if (PQcmdStatus(result)[0] == '\0') {
            inserts->prepared_count++;
        } else {
            *rows += strtoull(PQcmdTuples(result), NULL, 10);
        }
        return STATUS_OK;
    case PGRES_PIPELINE_SYNC:
    case PGRES_PIPELINE_ABORTED:
        return STATUS_OK; /* the statement before it says why */
    default:
        return postgresql_result_error(conn, result, error);
    }
}

enum status postgresql_insert_close(struct adapter_conn *conn, uint64_t *accepted,
                                    struct error *error)
{
    enum status status = STATUS_OK;
    uint64_t rows = 0;
    bool is_synced = false;
    unsigned silent = 0;

    if (!PQpipelineSync(conn->connection) && PQstatus(conn->connection) == CONNECTION_OK) {
        /* Without memory for the end of the pipeline nothing but leaving ends it. */
        postgresql_interrupt(conn);
        return postgresql_memory_error(error);
    }
    /* A NULL ends each statement's results; two in a row mean that nothing more will come. */
    while (!is_synced && silent < 2) {
        PGresult *result = PQgetResult(conn->connection);
        if (result == NULL) {
            silent++;
            continue;
        }
        silent = 0;
        is_synced = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        const enum status one = take_result(conn, result, &rows, error);
        status = status == STATUS_OK ? one : status;
        PQclear(result);
    }
    conn->inserts.sent_count = conn->inserts.prepared_count;
    if (PQstatus(conn->connection) == CONNECTION_BAD) {
        if (status == STATUS_OK) {
            postgresql_result_error(conn, NULL, error);
        }
        return STATUS_LOST;
    }
    if (!PQexitPipelineMode(conn->connection) && status == STATUS_OK) {
        status = postgresql_result_error(conn, NULL, error);
    }
    *accepted = status == STATUS_OK ? rows : 0;
    return status;
}
