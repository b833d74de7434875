/* Multi-row INSERT as text: what every server of this protocol can do. */
#include "adapters/mariadb_conn.h"

#include <string.h>

#include "adapters/mariadb_encode.h"

static void add_hex(struct buffer *sql, const void *bytes, size_t length)
{
    char piece[256];
    const unsigned char *from = bytes;
    buffer_add(sql, "x'", 2);
    while (length > 0) {
        const size_t part = length < sizeof piece / 2 ? length : sizeof piece / 2;
        mariadb_write_hex(from, part, piece);
        buffer_add(sql, piece, 2 * part);
        from += part;
        length -= part;
    }
    buffer_add(sql, "'", 1);
}

static void add_value(const struct adapter_conn *conn, struct buffer *sql,
                      const struct column *column, const struct column_data *data, size_t row)
{
    char text[MARIADB_VALUE_BYTES + 2];
    const uint8_t *raw;
    size_t length;

    if (data->is_null != NULL && data->is_null[row]) {
        buffer_add(sql, "NULL", 4);
        return;
    }
    switch (mariadb_form(column)) {
    case MARIADB_FORM_NUMBER:
        length = mariadb_write_value(column, data->values, row, text);
        buffer_add(sql, text, length);
        break;
    case MARIADB_FORM_QUOTED:
        length = mariadb_write_value(column, data->values, row, text + 1);
        text[0] = '\'';
        text[length + 1] = '\'';
        buffer_add(sql, text, length + 2);
        break;
    case MARIADB_FORM_RAW:
        length = mariadb_raw_value(column, data->values, row, &raw);
        add_hex(sql, raw, length);
        break;
    case MARIADB_FORM_TEXT:
        mariadb_add_literal(conn, sql, data->values.text[row].bytes, data->values.text[row].length);
        break;
    case MARIADB_FORM_BYTES:
        add_hex(sql, data->values.text[row].bytes, data->values.text[row].length);
        break;
    }
}

static void add_rows(const struct adapter_conn *conn, struct buffer *sql, const struct batch *batch)
{
    const struct table *table = batch->table;
    for (size_t row = 0; row < batch->row_count; row++) {
        const char *separator = row == 0 ? "(" : ",(";
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                buffer_add_text(sql, separator);
                add_value(conn, sql, &table->columns[i], &batch->columns[i], row);
                separator = ",";
            }
        }
        buffer_add(sql, ")", 1);
    }
}

enum status mariadb_insert_send(struct adapter_conn *conn, const struct batch *batch,
                                struct error *error)
{
    struct buffer sql;
    enum status status = STATUS_OK;

    buffer_init(&sql);
    buffer_add_text(&sql, "insert into ");
    buffer_add_identifier(&sql, batch->table->name, '`');
    mariadb_add_columns(&sql, batch->table);
    buffer_add_text(&sql, " values ");
    add_rows(conn, &sql, batch);
    if (buffer_failed(&sql)) {
        status = mariadb_memory_error(error);
    } else {
        status = mariadb_check_length(batch->table, sql.length, error);
    }
    if (status == STATUS_OK &&
        mysql_send_query(&conn->mysql, buffer_text(&sql), (unsigned long)sql.length) != 0) {
        status = mariadb_call_error(conn, error);
    }
    buffer_fini(&sql);
    return status;
}
