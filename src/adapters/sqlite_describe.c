/* What SQLite knows of a table. Its declared types are free text: known names are taken at their
 * word, others by the affinity that SQLite itself derives from them. */
#include "adapters/sqlite_conn.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HIDDEN_NONE = 0,
    HIDDEN_VIRTUAL_TABLE = 1
};

static const char columns_sql[] =
    "select name, type, \"notnull\", dflt_value is not null, pk, hidden,"
    " exists (select 1 from pragma_index_list(?1) l join pragma_index_info(l.name) i"
    "  where l.\"unique\" = 1 and l.partial = 0 group by l.name having count(*) = 1 and "
    "max(i.name) = c.name),"
    " (select count(*) from pragma_table_xinfo(?1) where pk > 0) = 1,"
    " (select wr from pragma_table_list where schema = 'main' and name = ?1 collate nocase)"
    " from pragma_table_xinfo(?1) c"
    " where exists (select 1 from sqlite_schema where type = 'table' and name = ?1 collate nocase)"
    " order by cid";

enum field {
    FIELD_NAME,
    FIELD_TYPE,
    FIELD_IS_REQUIRED,
    FIELD_HAS_DEFAULT,
    FIELD_KEY,
    FIELD_HIDDEN,
    FIELD_IS_UNIQUE,
    FIELD_IS_ONLY_KEY,
    FIELD_HAS_NO_ROWID,
};

struct type_meaning {
    const char *name;
    enum column_type type;
};

static const struct type_meaning type_meanings[] = {
    {"boolean", COLUMN_BOOL},
    {"bool", COLUMN_BOOL},
    {"smallint", COLUMN_INT16},
    {"int2", COLUMN_INT16},
    {"short", COLUMN_INT16},
    {"int", COLUMN_INT32},
    {"int4", COLUMN_INT32},
    {"mediumint", COLUMN_INT32},
    {"integer", COLUMN_INT64},
    {"bigint", COLUMN_INT64},
    {"int8", COLUMN_INT64},
    {"long", COLUMN_INT64},
    {"float", COLUMN_FLOAT32},
    {"float4", COLUMN_FLOAT32},
    {"real", COLUMN_FLOAT64},
    {"double", COLUMN_FLOAT64},
    {"double precision", COLUMN_FLOAT64},
    {"float8", COLUMN_FLOAT64},
    {"decimal", COLUMN_DECIMAL},
    {"numeric", COLUMN_DECIMAL},
    {"string", COLUMN_TEXT},
    {"bytea", COLUMN_BYTES},
    {"binary", COLUMN_BYTES},
    {"varbinary", COLUMN_BYTES},
    {"json", COLUMN_JSON},
    {"json text", COLUMN_JSON},
    {"date", COLUMN_DATE},
    {"date text", COLUMN_DATE},
    {"time", COLUMN_TIME},
    {"time text", COLUMN_TIME},
    {"timestamp", COLUMN_TIMESTAMP},
    {"timestamp text", COLUMN_TIMESTAMP},
    {"datetime", COLUMN_TIMESTAMP},
    {"datetime text", COLUMN_TIMESTAMP},
    {"uuid", COLUMN_UUID},
    {"uuid text", COLUMN_UUID},
    {"ipv4", COLUMN_IP4},
    {"ipv4 text", COLUMN_IP4},
    {"ipv6", COLUMN_IP6},
    {"ipv6 text", COLUMN_IP6},
};

/* https://sqlite.org/datatype3.html, 3.1: the rules in their order. */
static enum column_type type_by_affinity(const char *name)
{
    if (strstr(name, "int") != NULL) {
        return COLUMN_INT64;
    }
    if (strstr(name, "char") != NULL || strstr(name, "clob") != NULL ||
        strstr(name, "text") != NULL || name[0] == '\0') {
        return COLUMN_TEXT;
    }
    if (strstr(name, "blob") != NULL) {
        return COLUMN_BYTES;
    }
    if (strstr(name, "real") != NULL || strstr(name, "floa") != NULL ||
        strstr(name, "doub") != NULL) {
        return COLUMN_FLOAT64;
    }
    return COLUMN_DECIMAL;
}

/* Splits `VARCHAR (128)` into "varchar" and its numbers; returns how many numbers there are. */
static int split_type(const char *declared, char *name, size_t size, unsigned long numbers[2])
{
    const char *bracket = strchr(declared, '(');
    size_t length = bracket != NULL ? (size_t)(bracket - declared) : strlen(declared);
    int count = 0;

    length = length < size ? length : size - 1;
    for (size_t i = 0; i < length; i++) {
        name[i] = (char)tolower((unsigned char)declared[i]);
    }
    while (length > 0 && name[length - 1] == ' ') {
        length--;
    }
    name[length] = '\0';
    while (bracket != NULL && count < 2) {
        char *end;
        numbers[count] = strtoul(bracket + 1, &end, 10);
        count += end != bracket + 1;
        bracket = *end == ',' && end != bracket + 1 ? end : NULL;
    }
    return count;
}

static void set_type(struct column *column, const char *declared)
{
    enum {
        PRECISION_MAX = 18
    };
    char name[ROW_TYPE_NAME_BYTES];
    unsigned long numbers[2] = {0, 0};
    const int count = split_type(declared, name, sizeof name, numbers);

    column->type = type_by_affinity(name);
    for (size_t i = 0; i < sizeof type_meanings / sizeof *type_meanings; i++) {
        if (strcmp(type_meanings[i].name, name) == 0) {
            column->type = type_meanings[i].type;
        }
    }
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) {
        column->size = count > 0 && numbers[0] <= UINT32_MAX ? (uint32_t)numbers[0] : 0;
    } else if (column->type == COLUMN_DECIMAL && count > 0) {
        column->precision = (uint8_t)(numbers[0] < PRECISION_MAX ? numbers[0] : PRECISION_MAX);
        column->scale = (uint8_t)(numbers[1] < PRECISION_MAX ? numbers[1] : PRECISION_MAX);
    }
}

static const char *text_of(sqlite3_stmt *statement, enum field field)
{
    const unsigned char *text = sqlite3_column_text(statement, (int)field);
    return text != NULL ? (const char *)text : "";
}

static void read_column(struct column *column, sqlite3_stmt *statement)
{
    const char *declared = text_of(statement, FIELD_TYPE);
    const bool is_key = sqlite3_column_int(statement, FIELD_KEY) > 0;
    const bool is_only_key = is_key && sqlite3_column_int(statement, FIELD_IS_ONLY_KEY) != 0;
    const int hidden = sqlite3_column_int(statement, FIELD_HIDDEN);

    memset(column, 0, sizeof *column);
    snprintf(column->name, sizeof column->name, "%s", text_of(statement, FIELD_NAME));
    snprintf(column->type_name, sizeof column->type_name, "%s", declared);
    set_type(column, declared);
    column->is_nullable = !is_key && sqlite3_column_int(statement, FIELD_IS_REQUIRED) == 0;
    column->is_generated = hidden > HIDDEN_VIRTUAL_TABLE;
    column->has_default = sqlite3_column_int(statement, FIELD_HAS_DEFAULT) != 0;
    column->is_unique = is_only_key || sqlite3_column_int(statement, FIELD_IS_UNIQUE) != 0;
    if (is_only_key && sqlite3_column_int(statement, FIELD_HAS_NO_ROWID) == 0 &&
        sqlite3_stricmp(declared, "integer") == 0) {
        column->has_default = true; /* an alias of the rowid, which SQLite assigns */
    }
}

enum status sqlite_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                            struct error *error)
{
    sqlite3_stmt *statement = NULL;
    enum status status = STATUS_OK;

    memset(table, 0, sizeof *table);
    int code = sqlite3_prepare_v2(conn->database, columns_sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_text(statement, 1, table_name, -1, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        status = table_init(table, table_name, error);
        code = SQLITE_ROW;
    }
    while (status == STATUS_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct column column;
        if (sqlite3_column_int(statement, FIELD_HIDDEN) == HIDDEN_VIRTUAL_TABLE) {
            continue; /* an argument of a virtual table, not a column */
        }
        read_column(&column, statement);
        status = table_add_column(table, &column, error);
    }
    if (status == STATUS_OK && code != SQLITE_DONE) {
        status = sqlite_call_error(conn->database, code, error);
    }
    if (status == STATUS_OK && table->column_count == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    }
    sqlite3_finalize(statement);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}
