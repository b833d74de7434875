/*
 * LOAD DATA LOCAL INFILE: the server asks for a file and gets rows from memory.
 *
 * The file is text in utf8mb4; bytes come in hexadecimal, so that none is changed on its way.
 */
#include "adapters/mariadb_conn.h"

#include <stdio.h>
#include <string.h>

#include "adapters/mariadb_encode.h"

/* What the client library reads from. */
struct file {
    const char *bytes;
    size_t left;
};

static int file_open(void **file, const char *name, void *data)
{
    (void)name;
    *file = data;
    return data == NULL;
}

static int file_read(void *file, char *out, unsigned size)
{
    struct file *const from = file;
    const unsigned part = from->left < size ? (unsigned)from->left : size;
    memcpy(out, from->bytes, part);
    from->bytes += part;
    from->left -= part;
    return (int)part;
}

static void file_close(void *file)
{
    (void)file;
}

static int file_error(void *file, char *text, unsigned size)
{
    (void)file;
    snprintf(text, size, "the server asked for a file, and gets none");
    return 2000; /* CR_UNKNOWN_ERROR */
}

void mariadb_load_install(MYSQL *mysql, bool is_wanted)
{
    const unsigned is_allowed = is_wanted;
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &is_allowed);
    mysql_set_local_infile_handler(mysql, file_open, file_read, file_close, file_error, NULL);
}

static void add_escaped(struct buffer *out, const char *text, size_t length)
{
    size_t done = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\t' || text[i] == '\n' || text[i] == '\\' || text[i] == '\0') {
            buffer_add(out, text + done, i - done);
            buffer_add(out, "\\", 1);
            done = i;
            if (text[i] == '\0') {
                buffer_add(out, "0", 1);
                done = i + 1;
            }
        }
    }
    buffer_add(out, text + done, length - done);
}

static void add_hex(struct buffer *out, const void *bytes, size_t length)
{
    char piece[256];
    const unsigned char *from = bytes;
    while (length > 0) {
        const size_t part = length < sizeof piece / 2 ? length : sizeof piece / 2;
        mariadb_write_hex(from, part, piece);
        buffer_add(out, piece, 2 * part);
        from += part;
        length -= part;
    }
}

static void add_field(struct buffer *out, const struct column *column,
                      const struct column_data *data, size_t row)
{
    char text[MARIADB_VALUE_BYTES];
    const uint8_t *raw;
    size_t length;

    if (data->is_null != NULL && data->is_null[row]) {
        buffer_add(out, "\\N", 2);
        return;
    }
    switch (mariadb_form(column)) {
    case MARIADB_FORM_NUMBER:
    case MARIADB_FORM_QUOTED:
        length = mariadb_write_value(column, data->values, row, text);
        buffer_add(out, text, length);
        break;
    case MARIADB_FORM_RAW:
        length = mariadb_raw_value(column, data->values, row, &raw);
        add_hex(out, raw, length);
        break;
    case MARIADB_FORM_TEXT:
        add_escaped(out, data->values.text[row].bytes, data->values.text[row].length);
        break;
    case MARIADB_FORM_BYTES:
        add_hex(out, data->values.text[row].bytes, data->values.text[row].length);
        break;
    }
}

static void add_lines(struct buffer *out, const struct batch *batch)
{
    const struct table *table = batch->table;
    for (size_t row = 0; row < batch->row_count; row++) {
        bool is_first = true;
        for (size_t i = 0; i < table->column_count; i++) {
            if (table->columns[i].is_generated) {
                continue;
            }
            if (!is_first) {
                buffer_add(out, "\t", 1);
            }
            is_first = false;
            add_field(out, &table->columns[i], &batch->columns[i], row);
        }
        buffer_add(out, "\n", 1);
    }
}

static bool is_hex(const struct column *column)
{
    const enum mariadb_form form = mariadb_form(column);
    return form == MARIADB_FORM_RAW || form == MARIADB_FORM_BYTES;
}

/* Bytes go through a user variable, out of their hexadecimal digits. */
static void add_statement(struct buffer *sql, const struct table *table)
{
    const char *separator = " (";
    buffer_add_text(sql, "load data local infile 'append' into table ");
    buffer_add_identifier(sql, table->name, '`');
    buffer_add_text(sql, " character set utf8mb4 fields terminated by 0x09 escaped by 0x5c"
                         " lines terminated by 0x0a");
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].is_generated) {
            continue;
        }
        buffer_add_text(sql, separator);
        if (is_hex(&table->columns[i])) {
            buffer_add_format(sql, "@append_%zu", i);
        } else {
            buffer_add_identifier(sql, table->columns[i].name, '`');
        }
        separator = ", ";
    }
    buffer_add_text(sql, ")");
    separator = " set ";
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated && is_hex(&table->columns[i])) {
            buffer_add_text(sql, separator);
            buffer_add_identifier(sql, table->columns[i].name, '`');
            buffer_add_format(sql, " = unhex(@append_%zu)", i);
            separator = ", ";
        }
    }
}

/* The server's request for the file comes as an answer, so all of it happens here. */
enum status mariadb_load_send(struct adapter_conn *conn, const struct batch *batch,
                              struct error *error)
{
    struct buffer sql;
    struct buffer lines;
    enum status status = STATUS_OK;

    buffer_init(&sql);
    buffer_init(&lines);
    add_statement(&sql, batch->table);
    add_lines(&lines, batch);
    if (buffer_failed(&sql) || buffer_failed(&lines)) {
        status = mariadb_memory_error(error);
    } else {
        struct file file = {lines.bytes, lines.length};
        mysql_set_local_infile_handler(&conn->mysql, file_open, file_read, file_close, file_error,
                                       &file);
        if (mysql_real_query(&conn->mysql, buffer_text(&sql), (unsigned long)sql.length) != 0) {
            status = mariadb_call_error(conn, error);
        }
        mysql_set_local_infile_handler(&conn->mysql, file_open, file_read, file_close, file_error,
                                       NULL);
    }
    buffer_fini(&sql);
    buffer_fini(&lines);
    return status;
}
