/*
 * COPY ... FROM STDIN (FORMAT binary): the fastest path that PostgreSQL has for rows.
 *
 * Rows are encoded into a piece of stack and handed to libpq, which sends whenever 8 KiB are
 * together. Nothing of a batch stays in the connection, so thousands of them stay small.
 */
#include "adapters/postgresql_conn.h"

#include <stdlib.h>
#include <string.h>

#include "adapters/postgresql_encode.h"
#include "base/buffer.h"

/* With its 5 bytes of header a piece is half of what libpq collects before it sends. Pieces of
 * exactly this size keep libpq from touching more than that of its buffer, which counts with
 * thousands of sessions; larger ones measure no faster. */
enum {
    PIECE_BYTES = 4096 - 5
};

/* Room that one value of fixed size needs: length word, value. */
enum {
    FIXED_BYTES = 4 + POSTGRESQL_FIXED_MAX
};

struct piece {
    PGconn *connection;
    bool has_failed; /* libpq refused a piece: the rest is not sent */
    size_t used;
    unsigned char bytes[PIECE_BYTES + FIXED_BYTES];
};

static void send_piece(struct piece *piece, size_t length)
{
    if (!piece->has_failed && length > 0) {
        piece->has_failed =
            PQputCopyData(piece->connection, (const char *)piece->bytes, (int)length) != 1;
    }
}

/* Room for one value of fixed size: at most PIECE_BYTES are in use before it. */
static unsigned char *piece_room(struct piece *piece)
{
    if (piece->used > PIECE_BYTES) {
        send_piece(piece, PIECE_BYTES);
        piece->used -= PIECE_BYTES;
        memmove(piece->bytes, piece->bytes + PIECE_BYTES, piece->used);
    }
    return piece->bytes + piece->used;
}

static void add_bytes(struct piece *piece, const char *bytes, size_t length)
{
    while (length > 0) {
        unsigned char *to = piece_room(piece);
        const size_t room = PIECE_BYTES + 1 - piece->used;
        const size_t part = length < room ? length : room;
        memcpy(to, bytes, part);
        piece->used += part;
        bytes += part;
        length -= part;
    }
}

static void add_text(struct piece *piece, const struct column *column,
                     const struct text_value *text)
{
    const bool has_version = column->native_type == POSTGRESQL_JSONB;
    unsigned char *out = piece_room(piece);
    size_t at = postgresql_put32(out, text->length + has_version);
    if (has_version) {
        out[at++] = 1;
    }
    piece->used += at;
    add_bytes(piece, text->bytes, text->length);
}

static void add_value(struct piece *piece, const struct column *column,
                      const struct column_data *data, size_t row)
{
    if (data->is_null != NULL && data->is_null[row]) {
        piece->used += postgresql_put32(piece_room(piece), UINT32_MAX);
        return;
    }
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES ||
        column->type == COLUMN_JSON) {
        add_text(piece, column, &data->values.text[row]);
        return;
    }
    unsigned char *out = piece_room(piece);
    const size_t length = postgresql_encode(column, data->values, row, out + 4);
    postgresql_put32(out, (uint32_t)length);
    piece->used += 4 + length;
}

static void add_copy(struct buffer *sql, const struct table *table)
{
    const char *separator = " (";

    buffer_add_text(sql, "copy ");
    buffer_add_identifier(sql, table->name, '"');
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].is_generated) {
            continue;
        }
        buffer_add_text(sql, separator);
        buffer_add_identifier(sql, table->columns[i].name, '"');
        separator = ", ";
    }
    buffer_add_text(sql, ") from stdin (format binary)");
}

enum status postgresql_copy_probe(struct adapter_conn *conn, const struct table *table,
                                  struct error *error)
{
    struct buffer sql;
    struct error failure;

    buffer_init(&sql);
    add_copy(&sql, table);
    if (buffer_failed(&sql)) {
        buffer_fini(&sql);
        return postgresql_memory_error(error);
    }
    error_clear(&failure);
    const int was_sent = PQsendPrepare(conn->connection, "", buffer_text(&sql), 0, NULL);
    enum status status = postgresql_finish(conn, was_sent, NULL, &failure);
    buffer_fini(&sql);
    conn->has_no_copy =
        status != STATUS_OK && status != STATUS_LOST && postgresql_is_foreign(&failure);
    if (conn->has_no_copy && conn->is_method_given) {
        error_set(error, ERROR_UNSUPPORTED, 0, failure.sqlstate,
                  "the server does not know COPY ... FROM STDIN (FORMAT binary): use --method "
                  "insert; it says: %.120s",
                  failure.text);
        return STATUS_FATAL;
    }
    if (status != STATUS_OK && !conn->has_no_copy) {
        *error = failure;
        return status;
    }
    return STATUS_OK;
}

static enum status build_copy(struct adapter_conn *conn, const struct table *table,
                              struct error *error)
{
    struct buffer sql;

    buffer_init(&sql);
    add_copy(&sql, table);
    free(conn->copy_sql);
    conn->copy_table = NULL;
    conn->copy_sql = buffer_failed(&sql) ? NULL : strdup(buffer_text(&sql));
    buffer_fini(&sql);
    if (conn->copy_sql == NULL) {
        return postgresql_memory_error(error);
    }
    conn->copy_table = table;
    return STATUS_OK;
}

enum status postgresql_copy_open(struct adapter_conn *conn, const struct table *table,
                                 struct error *error)
{
    static const char header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* flags, extension: 0 */

    if (conn->copy_table != table) {
        const enum status status = build_copy(conn, table, error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    const int was_sent = PQsendQuery(conn->connection, conn->copy_sql);
    PGresult *result = was_sent ? PQgetResult(conn->connection) : NULL;
    if (PQresultStatus(result) == PGRES_COPY_IN) {
        PQclear(result);
        if (PQputCopyData(conn->connection, header, sizeof header) == 1) {
            return STATUS_OK;
        }
        return postgresql_copy_close(conn, &(uint64_t){0}, error);
    }
    enum status status = STATUS_OK;
    if (result != NULL) {
        status = postgresql_result_error(conn, result, error);
        PQclear(result);
    }
    const enum status rest = postgresql_finish(conn, was_sent, NULL, error);
    return status != STATUS_OK && rest != STATUS_LOST ? status : rest;
}

enum status postgresql_copy_rows(struct adapter_conn *conn, const struct batch *batch,
                                 struct error *error)
{
    const struct table *table = batch->table;
    struct piece piece;
    uint16_t written = 0;

    piece.connection = conn->connection;
    piece.has_failed = false;
    piece.used = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        written = (uint16_t)(written + !table->columns[i].is_generated);
    }
    for (size_t row = 0; row < batch->row_count && !piece.has_failed; row++) {
        piece.used += postgresql_put16(piece_room(&piece), written);
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                add_value(&piece, &table->columns[i], &batch->columns[i], row);
            }
        }
    }
    piece_room(&piece);
    send_piece(&piece, piece.used);
    if (!piece.has_failed) {
        return STATUS_OK;
    }
    if (PQstatus(conn->connection) == CONNECTION_OK) {
        postgresql_memory_error(error); /* libpq has no other reason to refuse a piece */
    }
    const enum status status = postgresql_copy_close(conn, &(uint64_t){0}, error);
    return status == STATUS_LOST ? STATUS_LOST : STATUS_FATAL;
}

/* PQputCopyEnd and the reading behind it come even after a failed write: only so does libpq look
 * at what the server said before it hung up. */
enum status postgresql_copy_close(struct adapter_conn *conn, uint64_t *accepted,
                                  struct error *error)
{
    static const char trailer[] = "\377\377";
    const bool was_written = PQputCopyData(conn->connection, trailer, 2) == 1;
    PGresult *result = NULL;

    PQputCopyEnd(conn->connection, was_written ? NULL : "rows could not be sent");
    const enum status status = postgresql_finish(conn, 1, &result, error);
    if (status == STATUS_OK) {
        *accepted = strtoull(PQcmdTuples(result), NULL, 10);
    }
    PQclear(result);
    return status;
}
