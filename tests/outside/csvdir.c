/*
 * csvdir: a folder is a database, and each table is a CSV file in it.
 *
 * The first line of a file declares the columns, NAME:TYPE or NAME:TYPE:SIZE. The statements are
 * "create TABLE COLUMNS", "drop TABLE", "count TABLE" and "nothing". NULL is an empty field, an
 * empty text is "". The rows of an append are written when the append ends, all or none; they are
 * not synced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "append/adapter.h"
#include "append/buffer.h"
#include "append/value_text.h"

struct adapter_conn {
    char folder[4096];
    const struct table *table;      /* table of the open append */
    size_t width;                   /* columns of its file */
    size_t places[ROW_COLUMNS_MAX]; /* for each column of the file, its place in a row; a place
                                       after the row's columns means NULL */
    struct buffer rows;
    uint64_t row_count;
};

static const char *const type_names[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = "bool",       [COLUMN_INT16] = "int16",         [COLUMN_INT32] = "int32",
    [COLUMN_INT64] = "int64",     [COLUMN_FLOAT32] = "float32",     [COLUMN_FLOAT64] = "float64",
    [COLUMN_DECIMAL] = "decimal", [COLUMN_TEXT] = "text",           [COLUMN_JSON] = "json",
    [COLUMN_DATE] = "date",       [COLUMN_TIME] = "time",           [COLUMN_UUID] = "uuid",
    [COLUMN_IP4] = "ip4",         [COLUMN_TIMESTAMP] = "timestamp", [COLUMN_IP6] = "ip6",
};

/* Records a failed system call: FATAL when the table or folder does not exist. */
static enum status system_error(const char *name, int number, struct error *error)
{
    error_set(error, number == ENOENT ? ERROR_NOT_FOUND : ERROR_SYSTEM, number, NULL, "%s: %s",
              name, strerror(number));
    return number == ENOENT || number == ENOMEM ? STATUS_FATAL : STATUS_REJECTED;
}

/* Opens a table's file or, with flags -1, removes it. Returns the descriptor, 0 or -errno. Names
 * come from users: a name must not lead to another folder. */
static int open_table(const struct adapter_conn *conn, const char *name, int flags)
{
    char path[sizeof conn->folder + ROW_NAME_BYTES + 8];
    if (strchr(name, '/') != NULL || strlen(name) >= ROW_NAME_BYTES) {
        return -ENOENT;
    }
    snprintf(path, sizeof path, "%s/%s.csv", conn->folder, name);
    const int file = flags == -1 ? unlink(path) : open(path, flags | O_CLOEXEC, 0666);
    return file < 0 ? -errno : file;
}

static void csv_close(struct adapter_conn *conn)
{
    if (conn != NULL) {
        buffer_fini(&conn->rows);
    }
    free(conn);
}

static enum status csv_open(const struct adapter *adapter, const struct target *target,
                            struct adapter_conn **conn, struct error *error)
{
    *conn = NULL;
    const char *const folder = target->path != NULL ? target->path : "";
    const bool is_made = target->creates_nothing || mkdir(folder, 0777) == 0 || errno == EEXIST;
    if (!is_made || access(folder, R_OK | W_OK | X_OK) != 0) {
        system_error(folder, errno, error);
        return STATUS_FATAL;
    }
    *conn = calloc(1, sizeof **conn);
    if (*conn == NULL) {
        return system_error("a connection", ENOMEM, error);
    }
    snprintf((*conn)->folder, sizeof(*conn)->folder, "%s", folder);
    return STATUS_OK;
}

static enum status csv_execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    char name[ROW_NAME_BYTES] = "", columns[4096] = "";
    int result = -EINVAL, end = 0;
    if (sscanf(sql, "create %259s %4095[^\n]", name, columns) == 2) {
        const int file = open_table(conn, name, O_WRONLY | O_CREAT | O_EXCL);
        result = file >= 0 && dprintf(file, "%s\n", columns) < 0 ? -errno : file;
        if (file >= 0) {
            close(file);
        }
    } else if (sscanf(sql, "drop %259s%n", name, &end) == 1 && sql[end] == '\0') {
        result = open_table(conn, name, -1);
        result = result == -ENOENT ? 0 : result;
    }
    return result >= 0 ? STATUS_OK : system_error(sql, -result, error);
}

static enum status add_column(struct table *table, const char *text, struct error *error)
{
    struct column column = {.is_nullable = true, .precision = 10, .scale = 2};
    if (sscanf(text, "%259[^:]:%79[^:]:%u", column.name, column.type_name, &column.size) < 2) {
        return system_error(text, EINVAL, error);
    }
    for (int type = 0; type < COLUMN_TYPE_COUNT; type++) {
        if (type_names[type] != NULL && strcmp(type_names[type], column.type_name) == 0) {
            column.type = (enum column_type)type;
        }
    }
    return table_add_column(table, &column, error);
}

static enum status csv_describe(const struct adapter *adapter, struct adapter_conn *conn,
                                const char *table_name, struct table *table, struct error *error)
{
    char line[4096] = "", *rest = NULL;
    const int file = open_table(conn, table_name, O_RDONLY);
    const ssize_t length = file < 0 ? 0 : read(file, line, sizeof line - 1);
    if (file < 0 || length < 0) {
        system_error(table_name, file < 0 ? -file : errno, error);
        return file == -ENOENT ? STATUS_REJECTED : STATUS_FATAL;
    }
    close(file);
    line[strcspn(line, "\n")] = '\0';
    enum status status = table_init(table, table_name, error);
    for (char *word = strtok_r(line, ",", &rest); word != NULL && status == STATUS_OK;
         word = strtok_r(NULL, ",", &rest)) {
        status = add_column(table, word, error);
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* Looks up the file's columns by name: the append may leave out columns, and the table may have
 * been created again. */
static enum status csv_append_open(struct adapter_conn *conn, const struct table *table,
                                   struct error *error)
{
    struct table now;
    size_t found = 0;
    if (csv_describe(NULL, conn, table->name, &now, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    for (size_t i = 0; i < now.column_count; i++) {
        size_t place = 0;
        const char *const name = now.columns[i].name;
        while (place < table->column_count && strcmp(table->columns[place].name, name) != 0) {
            place++;
        }
        conn->places[i] = place;
        found += place < table->column_count;
    }
    conn->width = now.column_count;
    table_fini(&now);
    if (found < table->column_count) {
        return system_error("a column that the table had", ENOENT, error);
    }
    conn->table = table;
    conn->row_count = 0;
    buffer_clear(&conn->rows);
    return STATUS_OK;
}

/* Adds the value of column `place` of a row; NULL for a column beyond the row's columns. */
static void add_value(struct buffer *rows, const struct batch *batch, size_t row, size_t place)
{
    const struct column *column = &batch->table->columns[place];
    const struct column_data *data = &batch->columns[place];
    char text[VALUE_TEXT_BYTES];
    if (place >= batch->table->column_count || (data->is_null != NULL && data->is_null[row])) {
        return;
    }
    if (column->type != COLUMN_TEXT && column->type != COLUMN_JSON) {
        buffer_add(rows, text, value_text_write(text, column, data->values, row, 6));
        return;
    }
    const struct text_value *value = &data->values.text[row];
    buffer_add(rows, "\"", 1);
    for (uint32_t i = 0; i < value->length; i++) {
        buffer_add(rows, "\"\"", value->bytes[i] == '"' ? 1 : 0);
        buffer_add(rows, &value->bytes[i], 1);
    }
    buffer_add(rows, "\"", 1);
}

static enum status csv_append_rows(struct adapter_conn *conn, const struct batch *batch,
                                   uint64_t *kept, struct error *error)
{
    for (size_t row = 0; row < batch->row_count; row++) {
        for (size_t i = 0; i < conn->width; i++) {
            add_value(&conn->rows, batch, row, conn->places[i]);
            buffer_add(&conn->rows, i + 1 < conn->width ? "," : "\n", 1);
        }
    }
    conn->row_count += batch->row_count;
    return buffer_failed(&conn->rows) ? system_error("rows", ENOMEM, error) : STATUS_OK;
}

/* Writes the rows of the open append, all or none. Returns 0 or errno. */
static int write_rows(const struct adapter_conn *conn)
{
    const size_t length = conn->rows.length;
    const int file = open_table(conn, conn->table->name, O_WRONLY | O_APPEND);
    if (file < 0) {
        return -file;
    }
    flock(file, LOCK_EX);
    const off_t end = lseek(file, 0, SEEK_END);
    const ssize_t written = write(file, buffer_text(&conn->rows), length);
    int number = written < 0 ? errno : 0;
    if (number == 0 && (size_t)written < length) {
        number = ftruncate(file, end) == 0 ? ENOSPC : errno;
    }
    close(file);
    return number;
}

static enum status csv_append_close(struct adapter_conn *conn, uint64_t *accepted,
                                    struct error *error)
{
    const int number = write_rows(conn);
    *accepted = number == 0 ? conn->row_count : 0;
    return number == 0 ? STATUS_OK : system_error(conn->table->name, number, error);
}

/* Counts the lines after the first; a line break within quotes does not end a line. Returns 0 or
 * errno. */
static int count_rows(struct adapter_conn *conn, const char *name, int64_t *rows)
{
    char bytes[16384];
    bool is_quoted = false;
    ssize_t length = 0;
    const int file = open_table(conn, name, O_RDONLY);
    if (file < 0) {
        return -file;
    }
    *rows = -1;
    flock(file, LOCK_SH);
    while ((length = read(file, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < length; i++) {
            is_quoted = is_quoted != (bytes[i] == '"');
            *rows += bytes[i] == '\n' && !is_quoted;
        }
    }
    close(file);
    return length < 0 ? EIO : 0;
}

static enum status csv_run(struct adapter_conn *conn, const struct statement *statement,
                           const struct batch *parameters, struct answer *answer,
                           struct error *error)
{
    char name[ROW_NAME_BYTES] = "";
    struct cell cell = {.type = COLUMN_INT64};
    int number = strcmp(statement->sql, "nothing") == 0 ? 0 : EINVAL;
    if (sscanf(statement->sql, "count %259s", name) == 1) {
        number = count_rows(conn, name, &cell.as.int64);
    }
    answer->rows = number == 0;
    if (number == 0 && answer->take != NULL) {
        answer->take(answer->context, &cell, 1);
    }
    return number == 0 ? STATUS_OK : system_error(statement->sql, number, error);
}

static void csv_inspect(const struct adapter *adapter, struct adapter_conn *conn,
                        struct connection_info *info)
{
    static const struct sql_templates templates = {
        .count = "count $0", .nothing = "nothing", .drop = "drop $0"};
    info->templates = &templates;
    info->not_in_names = "/ \n";
}

static const struct adapter adapter_csvdir = {
    .name = "csvdir",
    .summary = "CSV files in a folder",
    .flags = ADAPTER_EMBEDDED | ADAPTER_FILE,
    .syslog_sql = "create syslog_table tm:timestamp,n1:int16,n2:int32,n3:int64,n4:float32,"
                  "n5:float64,host:text:128,msg:text:512,ip4:ip4,ip6:ip6",
    .stack_bytes = (size_t)64 * 1024,
    .files_per_session = 1,
    .open = csv_open,
    .close = csv_close,
    .inspect = csv_inspect,
    .execute = csv_execute,
    .describe = csv_describe,
    .append_open = csv_append_open,
    .append_rows = csv_append_rows,
    .append_close = csv_append_close,
    .run = csv_run,
};

const struct adapter_module append_adapter_module = {ADAPTER_ABI, ADAPTER_STRUCT_BYTES,
                                                     &adapter_csvdir};
