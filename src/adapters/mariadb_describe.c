/* What the information schema says about a table. */
#include "adapters/mariadb_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char table_sql[] = "select table_type, engine from information_schema.tables"
                                " where table_schema = database() and table_name = ";

static const char columns_sql[] =
    "select column_name, column_type, data_type, is_nullable = 'NO',"
    " column_default is not null and column_default <> 'NULL', extra,"
    " character_maximum_length, numeric_precision, numeric_scale, datetime_precision,"
    " column_comment from information_schema.columns"
    " where table_schema = database() and table_name = ";

/* The indexes of one column, with the characters of it that they hold. */
static const char indexes_sql[] =
    "select min(column_name), max(sub_part) from information_schema.statistics"
    " where non_unique = 0 and table_schema = database() and table_name = ";

static const char json_sql[] = "select check_clause from information_schema.check_constraints"
                               " where constraint_schema = database() and table_name = ";

enum field {
    FIELD_NAME,
    FIELD_TYPE_NAME,
    FIELD_TYPE,
    FIELD_IS_REQUIRED,
    FIELD_HAS_DEFAULT,
    FIELD_EXTRA,
    FIELD_LENGTH,
    FIELD_PRECISION,
    FIELD_SCALE,
    FIELD_FRACTION,
    FIELD_COMMENT,
};

enum {
    UTF8_BYTES_MAX = 4, /* of one character */
    PRECISION_MAX = 18,
};

struct type_meaning {
    const char *name;
    enum column_type type;
};

static const struct type_meaning type_meanings[] = {
    {"smallint", COLUMN_INT16},     {"int", COLUMN_INT32},           {"bigint", COLUMN_INT64},
    {"float", COLUMN_FLOAT32},      {"double", COLUMN_FLOAT64},      {"decimal", COLUMN_DECIMAL},
    {"char", COLUMN_TEXT},          {"varchar", COLUMN_TEXT},        {"tinytext", COLUMN_TEXT},
    {"text", COLUMN_TEXT},          {"mediumtext", COLUMN_TEXT},     {"longtext", COLUMN_TEXT},
    {"binary", COLUMN_BYTES},       {"varbinary", COLUMN_BYTES},     {"tinyblob", COLUMN_BYTES},
    {"blob", COLUMN_BYTES},         {"mediumblob", COLUMN_BYTES},    {"longblob", COLUMN_BYTES},
    {"json", COLUMN_JSON},          {"date", COLUMN_DATE},           {"time", COLUMN_TIME},
    {"datetime", COLUMN_TIMESTAMP}, {"timestamp", COLUMN_TIMESTAMP}, {"uuid", COLUMN_UUID},
    {"inet4", COLUMN_IP4},          {"inet6", COLUMN_IP6},
};

/* Databases without types for these hold them in columns of text or bytes; a comment tells. */
static const struct type_meaning comment_meanings[] = {
    {"ipv4", COLUMN_IP4}, {"ipv6", COLUMN_IP6}, {"uuid", COLUMN_UUID}};

static enum column_type find_type(const struct type_meaning *meanings, size_t count,
                                  const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(meanings[i].name, name) == 0) {
            return meanings[i].type;
        }
    }
    return COLUMN_UNSUPPORTED;
}

static unsigned long number_of(MYSQL_ROW row, enum field field)
{
    return row[field] != NULL ? strtoul(row[field], NULL, 10) : 0;
}

static const char *text_of(MYSQL_ROW row, enum field field)
{
    return row[field] != NULL ? row[field] : "";
}

/* Integers that are narrower than a type of append, or not signed, are decimals that fit. */
static bool set_integer(struct column *column, const char *type)
{
    const bool is_unsigned = strstr(column->type_name, "unsigned") != NULL;
    const char *const name = column->type_name;
    column->type = COLUMN_DECIMAL;
    if (strcmp(type, "tinyint") == 0) {
        column->type =
            strncmp(name, "tinyint(1)", strlen("tinyint(1)")) == 0 ? COLUMN_BOOL : COLUMN_DECIMAL;
        column->precision = 2;
    } else if (strcmp(type, "smallint") == 0 && is_unsigned) {
        column->precision = 4;
    } else if (strcmp(type, "mediumint") == 0) {
        column->precision = 6;
    } else {
        return false;
    }
    return true;
}

static void set_text_size(struct column *column, const char *type, unsigned long length)
{
    /* of the large texts the length is one of bytes */
    const size_t name_length = strlen(type);
    const bool is_large = name_length >= 4 && strcmp(type + name_length - 4, "text") == 0;
    const unsigned long size =
        is_large && column->type == COLUMN_TEXT ? length / UTF8_BYTES_MAX : length;
    column->size = size > UINT32_MAX ? 0 : (uint32_t)size;
}

static void set_type(struct column *column, MYSQL_ROW row)
{
    const char *type = text_of(row, FIELD_TYPE);
    if (set_integer(column, type)) {
        return;
    }
    column->type = find_type(type_meanings, sizeof type_meanings / sizeof *type_meanings, type);
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) {
        const enum column_type told =
            find_type(comment_meanings, sizeof comment_meanings / sizeof *comment_meanings,
                      text_of(row, FIELD_COMMENT));
        if (told != COLUMN_UNSUPPORTED) {
            column->native_type =
                column->type == COLUMN_TEXT ? MARIADB_NATIVE_TEXT : MARIADB_NATIVE_OTHER;
            column->type = told;
            return;
        }
        set_text_size(column, type, number_of(row, FIELD_LENGTH));
    } else if (column->type == COLUMN_DECIMAL) {
        const unsigned long precision = number_of(row, FIELD_PRECISION);
        column->precision = (uint8_t)(precision < UINT8_MAX ? precision : UINT8_MAX);
        column->scale = (uint8_t)number_of(row, FIELD_SCALE);
    } else if (column->type == COLUMN_TIME || column->type == COLUMN_TIMESTAMP) {
        column->scale = (uint8_t)number_of(row, FIELD_FRACTION);
        column->native_type =
            strcasecmp(type, "timestamp") == 0 ? MARIADB_NATIVE_TIMESTAMP : MARIADB_NATIVE_OTHER;
    }
}

/* EXTRA also says how a default is made, which is not the same as a column that is computed. */
static bool is_computed(const char *extra)
{
    return strstr(extra, "STORED GENERATED") != NULL || strstr(extra, "VIRTUAL") != NULL ||
           strstr(extra, "PERSISTENT") != NULL || strstr(extra, "computed") != NULL ||
           strstr(extra, "INVISIBLE SYSTEM") != NULL || strstr(extra, "ROW START") != NULL ||
           strstr(extra, "ROW END") != NULL;
}

static void read_column(struct column *column, MYSQL_ROW row)
{
    const char *extra = text_of(row, FIELD_EXTRA);
    memset(column, 0, sizeof *column);
    snprintf(column->name, sizeof column->name, "%s", text_of(row, FIELD_NAME));
    snprintf(column->type_name, sizeof column->type_name, "%s", text_of(row, FIELD_TYPE_NAME));
    column->is_nullable = number_of(row, FIELD_IS_REQUIRED) == 0;
    column->is_generated = is_computed(extra);
    column->has_default = number_of(row, FIELD_HAS_DEFAULT) != 0 || column->is_generated ||
                          strstr(extra, "auto_increment") != NULL ||
                          strstr(extra, "DEFAULT_GENERATED") != NULL;
    set_type(column, row);
}

/* Runs `sql`, the table's name as a literal, `rest`. */
static enum status ask(struct adapter_conn *conn, const char *sql, const char *table_name,
                       const char *rest, MYSQL_RES **result, struct error *error)
{
    struct buffer text;
    enum status status;
    *result = NULL;
    buffer_init(&text);
    buffer_add_text(&text, sql);
    mariadb_add_literal(conn, &text, table_name, strlen(table_name));
    buffer_add_text(&text, rest);
    if (buffer_failed(&text)) {
        status = mariadb_memory_error(error);
    } else {
        status = mariadb_fetch(conn, buffer_text(&text), result, error);
    }
    buffer_fini(&text);
    return status;
}

/* Whether the engine undoes a statement that fails. Servers that do not say so are taken to. */
static enum status ask_engine(struct adapter_conn *conn, struct table *table)
{
    MYSQL_RES *result = NULL;
    struct error ignored;
    error_clear(&ignored);
    const enum status status = ask(
        conn, "select transactions from information_schema.engines where engine = ", table->engine,
        "", &result, &ignored);
    MYSQL_ROW row = result != NULL ? mysql_fetch_row(result) : NULL;
    table->keeps_failed_rows = row != NULL && row[0] != NULL && strcasecmp(row[0], "NO") == 0;
    mysql_free_result(result);
    return status == STATUS_LOST ? STATUS_LOST : STATUS_OK;
}

/* How long a statement can be: with the byte that tells the command it has to be shorter than what
 * the server calls its packet. */
static enum status ask_length(struct adapter_conn *conn, struct table *table)
{
    MYSQL_RES *result = NULL;
    struct error ignored;
    error_clear(&ignored);
    const enum status status = mariadb_fetch(
        conn, "select greatest(@@max_allowed_packet, @@net_buffer_length) - 2", &result, &ignored);
    MYSQL_ROW row = result != NULL ? mysql_fetch_row(result) : NULL;
    table->statement_bytes_max = row != NULL && row[0] != NULL ? strtoull(row[0], NULL, 10) : 0;
    mysql_free_result(result);
    return status == STATUS_LOST ? STATUS_LOST : STATUS_OK;
}

static enum status read_kind(struct adapter_conn *conn, struct table *table, struct error *error)
{
    MYSQL_RES *result = NULL;
    enum status status = ask(conn, table_sql, table->name, "", &result, error);
    if (status != STATUS_OK) {
        return status;
    }
    MYSQL_ROW row = mysql_fetch_row(result);
    if (row == NULL) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table->name);
        status = STATUS_REJECTED;
    } else if (row[0] != NULL &&
               (strstr(row[0], "VIEW") != NULL || strstr(row[0], "SEQUENCE") != NULL)) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "\"%.160s\" is a %.20s: rows go to tables",
                  table->name, strstr(row[0], "VIEW") != NULL ? "view" : "sequence");
        status = STATUS_FATAL;
    } else {
        snprintf(table->engine, sizeof table->engine, "%s", row[1] != NULL ? row[1] : "");
    }
    mysql_free_result(result);
    return status;
}

static struct column *find_column(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcasecmp(table->columns[i].name, name) == 0) {
            return &table->columns[i];
        }
    }
    return NULL;
}

static enum status read_indexes(struct adapter_conn *conn, struct table *table, struct error *error)
{
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    const enum status status = ask(conn, indexes_sql, table->name,
                                   " group by index_name having count(*) = 1", &result, error);
    while (status == STATUS_OK && (row = mysql_fetch_row(result)) != NULL) {
        struct column *column = row[0] != NULL ? find_column(table, row[0]) : NULL;
        const unsigned long part = row[1] != NULL ? strtoul(row[1], NULL, 10) : 0;
        if (column == NULL) {
            continue; /* an index of an expression */
        }
        column->is_unique = true;
        if (part > 0 && (column->size == 0 || part < column->size)) {
            column->size = (uint32_t)part; /* only so much of the value is looked at */
        }
    }
    mysql_free_result(result);
    return status;
}

/* MariaDB's JSON is text with a check. */
static enum status read_checks(struct adapter_conn *conn, struct table *table)
{
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    struct error ignored;
    error_clear(&ignored);
    const enum status status = ask(conn, json_sql, table->name, "", &result, &ignored);
    while (status == STATUS_OK && (row = mysql_fetch_row(result)) != NULL) {
        char name[ROW_NAME_BYTES] = "";
        if (row[0] != NULL && sscanf(row[0], "json_valid(`%259[^`]`)", name) == 1) {
            struct column *column = find_column(table, name);
            if (column != NULL && column->type == COLUMN_TEXT) {
                column->type = COLUMN_JSON;
                column->size = 0;
            }
        }
    }
    mysql_free_result(result);
    return status == STATUS_LOST ? STATUS_LOST : STATUS_OK;
}

static enum status read_columns(struct adapter_conn *conn, struct table *table, struct error *error)
{
    MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    enum status status =
        ask(conn, columns_sql, table->name, " order by ordinal_position", &result, error);
    while (status == STATUS_OK && (row = mysql_fetch_row(result)) != NULL) {
        struct column column;
        read_column(&column, row);
        status = table_add_column(table, &column, error);
    }
    mysql_free_result(result);
    return status;
}

enum status mariadb_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                             struct error *error)
{
    memset(table, 0, sizeof *table);
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = read_kind(conn, table, error);
    }
    if (status == STATUS_OK) {
        status = ask_engine(conn, table);
    }
    if (status == STATUS_OK) {
        status = ask_length(conn, table);
    }
    if (status == STATUS_OK) {
        status = read_columns(conn, table, error);
    }
    if (status == STATUS_OK) {
        status = read_indexes(conn, table, error);
    }
    if (status == STATUS_OK && mariadb_connection(&conn->mysql)) {
        status = read_checks(conn, table);
    }
    if (status == STATUS_LOST && error != NULL && !error_is_set(error)) {
        status = mariadb_call_error(conn, error);
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}
