/* What ODBC's own functions say about a table, for databases without a dialect. */
#include "adapters/odbc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    PATTERN_BYTES = 2 * ROW_NAME_BYTES,
    PRECISION_MAX = 255,
    FRACTION_DIGITS = 6,
    SIZE_MAX_KNOWN = 1 << 20, /* beyond it a length is the type's own, and no limit of the column */
};

/* Of a type whose name says nothing. */
static const struct {
    enum column_type type;
    int numbers[7]; /* ends with 0 */
} types[] = {
    {COLUMN_BOOL, {SQL_BIT, SQL_TINYINT}},
    {COLUMN_INT16, {SQL_SMALLINT}},
    {COLUMN_INT32, {SQL_INTEGER}},
    {COLUMN_INT64, {SQL_BIGINT}},
    {COLUMN_FLOAT32, {SQL_REAL}},
    {COLUMN_FLOAT64, {SQL_FLOAT, SQL_DOUBLE}},
    {COLUMN_DECIMAL, {SQL_DECIMAL, SQL_NUMERIC}},
    {COLUMN_TEXT,
     {SQL_CHAR, SQL_VARCHAR, SQL_LONGVARCHAR, SQL_WCHAR, SQL_WVARCHAR, SQL_WLONGVARCHAR}},
    {COLUMN_BYTES, {SQL_BINARY, SQL_VARBINARY, SQL_LONGVARBINARY}},
    {COLUMN_DATE, {SQL_TYPE_DATE, SQL_DATE}},
    {COLUMN_TIME, {SQL_TYPE_TIME, SQL_TIME}},
    {COLUMN_TIMESTAMP, {SQL_TYPE_TIMESTAMP, SQL_TIMESTAMP}},
    {COLUMN_UUID, {SQL_GUID}},
};

/* What a catalogue says about a type. */
struct type {
    char name[ROW_TYPE_NAME_BYTES]; /* may carry its numbers: decimal(10,2) */
    int sql_type;                   /* SQL_... of ODBC; 0: not known */
    int64_t size;                   /* characters, bytes or digits; 0: not known */
    int64_t digits;                 /* behind the point or the second; -1: not known */
};

struct description {
    struct table *table;
    enum status status;
    struct error *error;
    char schema[ROW_NAME_BYTES]; /* the first one that has the table; "" = there are none */
    char index[ROW_NAME_BYTES];  /* that is being read */
    size_t index_columns;        /* of it, so far */
    struct column *index_first;
};

static enum column_type type_of(const char *name, int sql_type)
{
    enum column_type type = dialect_type_of(name);
    for (size_t i = 0; i < sizeof types / sizeof *types && type == COLUMN_UNSUPPORTED; i++) {
        for (const int *number = types[i].numbers; *number != 0; number++) {
            type = *number == sql_type ? types[i].type : type;
        }
    }
    return type;
}

static int64_t clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* Sets type, size, precision, scale and native_type of a column. */
static void set_type(struct column *column, const struct type *type)
{
    char name[ROW_TYPE_NAME_BYTES];
    unsigned long found[2] = {0, 0};
    const int count = dialect_split_type(type->name, name, sizeof name, found);
    const int64_t size = type->size > 0 || count < 1 ? type->size : (int64_t)found[0];
    int64_t digits = type->digits;

    snprintf(column->type_name, sizeof column->type_name, "%s", type->name);
    column->type = type_of(name, type->sql_type);
    if (column->type == COLUMN_DECIMAL && size > 0) {
        digits = digits < 0 && count > 1 ? (int64_t)found[1] : digits;
        column->precision = (uint8_t)clamp(size, PRECISION_MAX);
        column->scale = (uint8_t)clamp(digits, PRECISION_MAX);
    } else if ((column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) &&
               size < SIZE_MAX_KNOWN) {
        column->size = (uint32_t)clamp(size, SIZE_MAX_KNOWN);
    }
    column->native_type = (uint32_t)clamp(digits < 0 ? FRACTION_DIGITS : digits, FRACTION_DIGITS);
}

/* MariaDB's times have no digits behind the second where the type's name says none. */
void odbc_set_native_type(const struct dialect *dialect, struct column *column)
{
    char name[ROW_TYPE_NAME_BYTES];
    unsigned long digits[2] = {dialect == &dialect_mysql ? 0 : FRACTION_DIGITS, 0};
    const bool is_time = column->type == COLUMN_TIME || column->type == COLUMN_TIMESTAMP;
    const bool is_bytes =
        (column->type == COLUMN_IP4 || column->type == COLUMN_IP6 || column->type == COLUMN_UUID) &&
        strstr(column->type_name, "binary") != NULL;
    dialect_split_type(column->type_name, name, sizeof name, digits);
    column->native_type = is_time ? (uint32_t)clamp((int64_t)digits[0], FRACTION_DIGITS) : 0;
    column->native_type |= dialect != &dialect_postgresql ? ODBC_TIMES_AS_TEXT : 0;
    column->native_type |= is_bytes ? ODBC_AS_BYTES : 0;
}

static struct column *find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, name) == 0) {
            return &table->columns[i];
        }
    }
    return NULL;
}

static bool add_column(struct description *description, const struct column *column)
{
    description->status = table_add_column(description->table, column, description->error);
    return description->status == STATUS_OK;
}

/* A number that may be NULL, which is -1. */
static int64_t get_digits(SQLHSTMT statement, unsigned column)
{
    char text[24];
    return odbc_get_text(statement, column, text, sizeof text) ? strtol(text, NULL, 10) : -1;
}

/* Columns of SQLColumns: ODBC's numbers. Some drivers give the values of a row in this order only.
 */
static bool take_column(SQLHSTMT statement, void *context)
{
    struct description *description = context;
    struct column column = {0};
    struct type type = {0};
    char name[ROW_NAME_BYTES];
    char schema[ROW_NAME_BYTES];
    char text[ODBC_VALUE_BYTES];

    odbc_get_text(statement, 2, schema, sizeof schema);
    odbc_get_text(statement, 3, name, sizeof name);
    odbc_get_text(statement, 4, column.name, sizeof column.name);
    type.sql_type = (int)odbc_get_number(statement, 5);
    odbc_get_text(statement, 6, type.name, sizeof type.name);
    type.size = odbc_get_number(statement, 7);
    type.digits = get_digits(statement, 9);
    column.is_nullable = odbc_get_number(statement, 11) != SQL_NO_NULLS;
    column.has_default =
        odbc_get_text(statement, 13, text, sizeof text) && strcasecmp(text, "null") != 0;
    if (strcasecmp(name, description->table->name) != 0) {
        return true; /* the driver took a character of the name for a wildcard */
    }
    if (description->table->column_count == 0) {
        snprintf(description->schema, sizeof description->schema, "%s", schema);
    } else if (strcmp(schema, description->schema) != 0) {
        return true;
    }
    set_type(&column, &type);
    return add_column(description, &column);
}

/* Columns of SQLStatistics. An index of one column over all rows makes that column unique. */
static void end_index(struct description *description)
{
    if (description->index_columns == 1 && description->index_first != NULL) {
        description->index_first->is_unique = true;
    }
    description->index_columns = 0;
    description->index_first = NULL;
}

static bool take_index(SQLHSTMT statement, void *context)
{
    struct description *description = context;
    char index[ROW_NAME_BYTES];
    char name[ROW_NAME_BYTES];
    char text[ODBC_VALUE_BYTES];

    odbc_get_text(statement, 6, index, sizeof index);
    if (odbc_get_number(statement, 7) == SQL_TABLE_STAT) {
        return true;
    }
    odbc_get_text(statement, 9, name, sizeof name);
    if (strcmp(index, description->index) != 0) {
        end_index(description);
        snprintf(description->index, sizeof description->index, "%s", index);
    }
    description->index_first = find_column(description->table, name);
    if (odbc_get_text(statement, 13, text, sizeof text) && text[0] != '\0') {
        description->index_first = NULL; /* over some rows only */
    }
    description->index_columns++;
    return true;
}

/* The table's name as a search pattern that finds nothing else. */
static void make_pattern(struct adapter_conn *conn, const char *name, char *pattern)
{
    char escape[8] = "";
    SQLSMALLINT length = 0;
    SQLGetInfo(conn->connection, SQL_SEARCH_PATTERN_ESCAPE, escape, sizeof escape, &length);
    for (; *name != '\0'; name++) {
        if (escape[0] != '\0' && (*name == '_' || *name == '%' || *name == escape[0])) {
            *pattern++ = escape[0];
        }
        *pattern++ = *name;
    }
    *pattern = '\0';
}

/* By ODBC's functions. */
static enum status read_catalogue(struct adapter_conn *conn, struct description *description)
{
    char pattern[PATTERN_BYTES];
    SQLHSTMT statement = NULL;

    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &statement))) {
        return odbc_call_error(conn, NULL, description->error);
    }
    make_pattern(conn, description->table->name, pattern);
    enum status status = odbc_take_rows(
        conn, statement,
        SQLColumns(statement, NULL, 0, NULL, 0, (SQLCHAR *)pattern, SQL_NTS, NULL, 0), take_column,
        description, description->error);
    if (status == STATUS_OK && description->table->column_count > 0) {
        SQLCHAR *schema = description->schema[0] != '\0' ? (SQLCHAR *)description->schema : NULL;
        SQLFreeStmt(statement, SQL_CLOSE);
        status = odbc_take_rows(conn, statement,
                                SQLStatistics(statement, NULL, 0, schema, SQL_NTS,
                                              (SQLCHAR *)description->table->name, SQL_NTS,
                                              SQL_INDEX_UNIQUE, SQL_QUICK),
                                take_index, description, description->error);
        end_index(description);
    }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return status;
}

enum status odbc_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                          struct error *error)
{
    struct description description = {.table = table, .status = STATUS_OK, .error = error};

    memset(table, 0, sizeof *table);
    enum status status = table_init(table, table_name, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = read_catalogue(conn, &description);
    status = status == STATUS_OK ? description.status : status;
    if (status == STATUS_OK && table->column_count == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    }
    status = odbc_end(conn, status, error);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}
