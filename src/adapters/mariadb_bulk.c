/*
 * Bulk statements: one prepared INSERT of one row, executed for all rows of a batch at once
 * (COM_STMT_BULK_EXECUTE). The server reads no text and plans nothing.
 *
 * The packet is written here, out of the batch: Connector/C's own way to it keeps 26 KiB in each
 * connection for the statement and its parameters. https://mariadb.com/kb/en/com_stmt_bulk_execute/
 */
#include "adapters/mariadb_conn.h"

#include <string.h>

#include "adapters/mariadb_encode.h"

enum {
    FLAG_TYPES = 128, /* the types of the parameters are in the packet */
    ID_BYTES = 4,
};

static enum enum_field_types wire_type(const struct column *column)
{
    switch (column->type) {
    case COLUMN_BOOL:
        return MYSQL_TYPE_TINY;
    case COLUMN_INT16:
        return MYSQL_TYPE_SHORT;
    case COLUMN_INT32:
        return MYSQL_TYPE_LONG;
    case COLUMN_INT64:
        return MYSQL_TYPE_LONGLONG;
    case COLUMN_FLOAT32:
        return MYSQL_TYPE_FLOAT;
    case COLUMN_FLOAT64:
        return MYSQL_TYPE_DOUBLE;
    case COLUMN_DECIMAL:
        return MYSQL_TYPE_NEWDECIMAL;
    case COLUMN_DATE:
        return MYSQL_TYPE_DATE;
    case COLUMN_TIME:
        return MYSQL_TYPE_TIME;
    case COLUMN_TIMESTAMP:
        return MYSQL_TYPE_DATETIME;
    default:
        break;
    }
    const enum mariadb_form form = mariadb_form(column);
    return form == MARIADB_FORM_RAW || form == MARIADB_FORM_BYTES ? MYSQL_TYPE_BLOB
                                                                  : MYSQL_TYPE_VAR_STRING;
}

/* Numbers go over the wire with their lowest byte first. */
static size_t put(unsigned char *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (unsigned char)(value >> (8 * i));
    }
    return bytes;
}

static size_t put_length(unsigned char *out, uint64_t length)
{
    if (length < 251) {
        return put(out, length, 1);
    }
    const size_t bytes = length <= UINT16_MAX ? 2 : length < 1U << 24 ? 3 : 8;
    out[0] = (unsigned char)(bytes == 8 ? 254 : 250 + bytes);
    return 1 + put(out + 1, length, bytes);
}

static size_t put_float(unsigned char *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put(out, bits, sizeof bits);
}

static size_t put_double(unsigned char *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put(out, bits, sizeof bits);
}

/* A length byte, and as much as is not zero at the end. */
static size_t put_time(unsigned char *out, const struct column *column, union column_values values,
                       size_t row)
{
    MYSQL_TIME time;
    size_t at = 1;
    mariadb_time_value(column, values, row, &time);
    if (column->type == COLUMN_TIME) {
        at += put(out + at, 0, 5); /* positive, no days */
    } else {
        at += put(out + at, time.year, 2);
        at += put(out + at, time.month, 1);
        at += put(out + at, time.day, 1);
    }
    if (column->type != COLUMN_DATE) {
        at += put(out + at, time.hour, 1);
        at += put(out + at, time.minute, 1);
        at += put(out + at, time.second, 1);
        at += put(out + at, time.second_part, 4);
    }
    out[0] = (unsigned char)(at - 1);
    return at;
}

static void add_bytes(struct buffer *packet, const void *bytes, size_t length)
{
    unsigned char prefix[10] = {STMT_INDICATOR_NONE};
    buffer_add(packet, prefix, 1 + put_length(prefix + 1, length));
    buffer_add(packet, bytes, length);
}

/* A value of fixed size, in the way its bytes stand in the batch. */
static size_t put_value(unsigned char *out, const struct column *column, union column_values values,
                        size_t row)
{
    switch (column->type) {
    case COLUMN_BOOL:
        return put(out, values.boolean[row] != 0, 1);
    case COLUMN_INT16:
        return put(out, (uint16_t)values.int16[row], 2);
    case COLUMN_INT32:
        return put(out, (uint32_t)values.int32[row], 4);
    case COLUMN_INT64:
        return put(out, (uint64_t)values.int64[row], 8);
    case COLUMN_FLOAT32:
        return put_float(out, values.float32[row]);
    case COLUMN_FLOAT64:
        return put_double(out, values.float64[row]);
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        return put_time(out, column, values, row);
    default:
        return 0;
    }
}

static void add_value(struct buffer *packet, const struct column *column,
                      const struct column_data *data, size_t row)
{
    unsigned char out[32] = {STMT_INDICATOR_NONE};
    char text[MARIADB_VALUE_BYTES];
    const uint8_t *raw;
    size_t length;

    if (data->is_null != NULL && data->is_null[row]) {
        out[0] = STMT_INDICATOR_NULL;
        buffer_add(packet, out, 1);
        return;
    }
    length = put_value(out + 1, column, data->values, row);
    if (length > 0) {
        buffer_add(packet, out, 1 + length);
        return;
    }
    switch (mariadb_form(column)) {
    case MARIADB_FORM_TEXT:
    case MARIADB_FORM_BYTES:
        add_bytes(packet, data->values.text[row].bytes, data->values.text[row].length);
        break;
    case MARIADB_FORM_RAW:
        length = mariadb_raw_value(column, data->values, row, &raw);
        add_bytes(packet, raw, length);
        break;
    default:
        length = mariadb_write_value(column, data->values, row, text);
        add_bytes(packet, text, length);
    }
}

/* The types are sent each time: the server forgets them when the table has changed. */
static void write_packet(struct buffer *packet, unsigned long statement, const struct batch *batch)
{
    const struct table *table = batch->table;
    unsigned char head[ID_BYTES + 2];

    put(head, statement, ID_BYTES);
    put(head + ID_BYTES, FLAG_TYPES, 2);
    buffer_add(packet, head, sizeof head);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            put(head, (uint64_t)wire_type(&table->columns[i]), 2);
            buffer_add(packet, head, 2);
        }
    }
    for (size_t row = 0; row < batch->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                add_value(packet, &table->columns[i], &batch->columns[i], row);
            }
        }
    }
}

/* One statement at a time is kept. The server answers nothing to this. */
static enum status forget_statement(struct adapter_conn *conn, struct error *error)
{
    unsigned char id[ID_BYTES];
    if (conn->statement_table == NULL) {
        return STATUS_OK;
    }
    conn->statement_table = NULL;
    put(id, conn->statement, sizeof id);
    return conn->mysql.methods->db_command(&conn->mysql, COM_STMT_CLOSE, (const char *)id,
                                           sizeof id, 1, NULL) == 0
               ? STATUS_OK
               : mariadb_call_error(conn, error);
}

/* Frees the handle of a statement that the server is to keep: its number is all that is needed. */
static void detach(MYSQL *mysql, MYSQL_STMT *handle)
{
    mysql->stmts = NULL; /* there is no other one */
    handle->mysql = NULL;
    mysql_stmt_close(handle);
}

static enum status prepare_text(struct adapter_conn *conn, const struct buffer *sql,
                                const struct table *table, struct error *error)
{
    MYSQL_STMT *const handle = buffer_failed(sql) ? NULL : mysql_stmt_init(&conn->mysql);
    if (handle == NULL) {
        return mariadb_memory_error(error);
    }
    if (mysql_stmt_prepare(handle, buffer_text(sql), (unsigned long)sql->length) != 0) {
        const enum status status = mariadb_statement_error(conn, handle, error);
        mysql_stmt_close(handle);
        return status;
    }
    conn->statement = handle->stmt_id;
    conn->statement_table = table;
    detach(&conn->mysql, handle);
    return STATUS_OK;
}

enum status mariadb_bulk_prepare(struct adapter_conn *conn, const struct table *table,
                                 struct error *error)
{
    struct buffer sql;
    if (conn->statement_table == table) {
        return STATUS_OK;
    }
    enum status status = forget_statement(conn, error);
    if (status != STATUS_OK) {
        return status;
    }
    buffer_init(&sql);
    buffer_add_text(&sql, "insert into ");
    buffer_add_identifier(&sql, table->name, '`');
    const size_t count = mariadb_add_columns(&sql, table);
    buffer_add_text(&sql, " values (?");
    for (size_t i = 1; i < count; i++) {
        buffer_add_text(&sql, ",?");
    }
    buffer_add_text(&sql, ")");
    status = prepare_text(conn, &sql, table, error);
    buffer_fini(&sql);
    return status;
}

enum status mariadb_bulk_send(struct adapter_conn *conn, const struct batch *batch,
                              struct error *error)
{
    struct buffer packet;
    enum status status = mariadb_bulk_prepare(conn, batch->table, error);

    if (status != STATUS_OK) {
        return status;
    }
    buffer_init(&packet);
    write_packet(&packet, conn->statement, batch);
    if (buffer_failed(&packet)) {
        status = mariadb_memory_error(error);
    } else if (conn->mysql.methods->db_command(&conn->mysql, COM_STMT_BULK_EXECUTE, packet.bytes,
                                               packet.length, 1, NULL) != 0) {
        status = mariadb_call_error(conn, error);
    }
    buffer_fini(&packet);
    return status;
}
