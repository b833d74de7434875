/*
 * What catalogues say about a table: ODBC's own functions for every database, and for those that
 * are known a query that tells what drivers hide (lengths beneath a driver's limits, types beneath
 * domains, generated columns, indexes over some rows only).
 */
#include "adapters/odbc_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/odbc_bind.h"
#include "adapters/odbc_types.h"

enum {
    PATTERN_BYTES = 2 * ROW_NAME_BYTES
};

/* Both read the names of columns in the order of the table. Columns of the answer: see field. */
static const char *const detail_sql[] = {
    [ODBC_POSTGRESQL] =
        "select c.column_name, c.udt_name, coalesce(c.character_maximum_length,"
        "  case when c.udt_name = 'numeric' then c.numeric_precision end,"
        "  case when c.udt_name = 'name' then 63 end),"
        " coalesce(c.numeric_scale, c.datetime_precision),"
        " case when c.is_nullable = 'NO' then 1 else 0 end,"
        " case when c.column_default is not null or c.is_identity = 'YES' then 1 else 0 end,"
        " case when c.is_generated = 'ALWAYS' or c.identity_generation = 'ALWAYS' then 1 else 0"
        " end,"
        " case when exists (select from pg_catalog.pg_index i join pg_catalog.pg_attribute a"
        "   on a.attrelid = i.indrelid and a.attnum = i.indkey[0]"
        "  where i.indrelid = r.oid and i.indisunique and i.indpred is null and i.indnkeyatts = 1"
        "   and a.attname = c.column_name) then 1 else 0 end,"
        " '', 0"
        " from pg_catalog.pg_class r join pg_catalog.pg_namespace n on n.oid = r.relnamespace"
        " join information_schema.columns c on c.table_schema = n.nspname"
        "  and c.table_name = r.relname"
        " where r.oid = pg_catalog.to_regclass(pg_catalog.quote_ident(?))"
        " order by c.ordinal_position",
    [ODBC_MARIADB] =
        "select c.column_name, case"
        " when c.data_type like '%binary' and lower(c.column_comment) in ('ipv4', 'ipv6', 'uuid')"
        "  then concat('raw ', lower(c.column_comment))"
        " when c.data_type like '%char' and lower(c.column_comment) in ('ipv4', 'ipv6', 'uuid')"
        "  then lower(c.column_comment)"
        " when c.column_type like 'tinyint(1)%' then 'bool'"
        " when c.data_type = 'tinyint' then 'decimal(2,0)'"
        " when c.data_type = 'smallint' and c.column_type like '%unsigned%' then 'decimal(4,0)'"
        " when c.data_type = 'mediumint' then 'decimal(6,0)'"
        " when exists (select 1 from information_schema.check_constraints k"
        "  where k.constraint_schema = c.table_schema and k.table_name = c.table_name"
        "  and k.check_clause = concat('json_valid(`', c.column_name, '`)')) then 'json'"
        " else c.data_type end,"
        " case when c.data_type like '%text' then floor(c.character_maximum_length / 4)"
        "  when c.data_type = 'decimal' then c.numeric_precision"
        "  else c.character_maximum_length end,"
        " case when c.data_type = 'decimal' then c.numeric_scale else c.datetime_precision end,"
        " case when c.is_nullable = 'NO' then 1 else 0 end,"
        " case when c.extra like '%auto_increment%'"
        "  or (c.column_default is not null and c.column_default <> 'NULL') then 1 else 0 end,"
        " case when c.is_generated = 'ALWAYS' then 1 else 0 end,"
        " case when exists (select 1 from information_schema.statistics s"
        "  where s.table_schema = c.table_schema and s.table_name = c.table_name"
        "  and s.non_unique = 0 group by s.index_name"
        "  having count(*) = 1 and max(s.column_name) = c.column_name) then 1 else 0 end,"
        " t.engine, case when e.transactions = 'NO' then 1 else 0 end"
        " from information_schema.columns c join information_schema.tables t"
        "  on t.table_schema = c.table_schema and t.table_name = c.table_name"
        " left join information_schema.engines e on e.engine = t.engine"
        " where c.table_schema = database() and c.table_name = ? order by c.ordinal_position",
    [ODBC_SQLITE] =
        "select c.name, c.type, null, null, case when \"notnull\" or pk > 0 then 1 else 0 end,"
        " case when dflt_value is not null or (pk = 1 and lower(type) = 'integer') then 1 else 0"
        " end, case when hidden > 1 then 1 else 0 end,"
        " case when (pk > 0 and (select count(*) from pragma_table_xinfo(t.n) where pk > 0) = 1)"
        "  or exists (select 1 from pragma_index_list(t.n) l join pragma_index_info(l.name) i"
        "   where l.\"unique\" = 1 and l.partial = 0 group by l.name"
        "   having count(*) = 1 and max(i.name) = c.name) then 1 else 0 end, '', 0"
        " from (select ? as n) t join pragma_table_xinfo(t.n) c where hidden <> 1 order by cid",
};

static const char schema_sql[] =
    "select n.nspname from pg_catalog.pg_class r join pg_catalog.pg_namespace n"
    " on n.oid = r.relnamespace where r.oid = pg_catalog.to_regclass(pg_catalog.quote_ident(?))"
    " and r.relkind in ('r', 'p', 'f')";

static const char has_schema_sql[] = "select case when current_schema() is null then 0 else 1 end";

enum field {
    FIELD_NAME = 1,
    FIELD_TYPE,
    FIELD_SIZE,
    FIELD_DIGITS,
    FIELD_IS_REQUIRED,
    FIELD_HAS_DEFAULT,
    FIELD_IS_GENERATED,
    FIELD_IS_UNIQUE,
    FIELD_ENGINE,
    FIELD_KEEPS_FAILED_ROWS,
};

struct description {
    struct table *table;
    enum status status;
    struct error *error;
    enum odbc_dialect dialect;
    char schema[ROW_NAME_BYTES]; /* the first one that has the table; "" = there are none */
    char index[ROW_NAME_BYTES];  /* that is being read */
    size_t index_columns;        /* of it, so far */
    struct column *index_first;
};

static struct column *find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].name, name) == 0) {
            return &table->columns[i];
        }
    }
    return NULL;
}

/* Columns of SQLColumns: ODBC's numbers. */
static bool take_column(SQLHSTMT statement, void *context)
{
    struct description *description = context;
    struct column column;
    struct odbc_type type;
    char name[ROW_NAME_BYTES];
    char schema[ROW_NAME_BYTES];
    char text[ODBC_VALUE_BYTES];

    memset(&column, 0, sizeof column);
    memset(&type, 0, sizeof type);
    odbc_get_text(statement, 2, schema, sizeof schema);
    odbc_get_text(statement, 3, name, sizeof name);
    odbc_get_text(statement, 4, column.name, sizeof column.name);
    type.sql_type = (int)odbc_get_number(statement, 5);
    odbc_get_text(statement, 6, type.name, sizeof type.name);
    type.size = odbc_get_number(statement, 7);
    type.digits = odbc_get_text(statement, 9, text, sizeof text) ? strtol(text, NULL, 10) : -1;
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
    snprintf(column.type_name, sizeof column.type_name, "%s", type.name);
    odbc_set_type(&column, &type);
    description->status = table_add_column(description->table, &column, description->error);
    return description->status == STATUS_OK;
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

static bool take_detail(SQLHSTMT statement, void *context)
{
    struct description *description = context;
    struct column added;
    struct odbc_type type;
    char text[ODBC_VALUE_BYTES];

    memset(&added, 0, sizeof added);
    memset(&type, 0, sizeof type);
    odbc_get_text(statement, FIELD_NAME, added.name, sizeof added.name);
    struct column *column = find_column(description->table, added.name);
    if (column == NULL) {
        column = &added;
    }
    odbc_get_text(statement, FIELD_TYPE, type.name, sizeof type.name);
    type.size = odbc_get_number(statement, FIELD_SIZE);
    type.digits =
        odbc_get_text(statement, FIELD_DIGITS, text, sizeof text) ? strtol(text, NULL, 10) : -1;
    column->is_nullable = odbc_get_number(statement, FIELD_IS_REQUIRED) == 0;
    column->has_default = odbc_get_number(statement, FIELD_HAS_DEFAULT) != 0;
    column->is_generated = odbc_get_number(statement, FIELD_IS_GENERATED) != 0;
    column->is_unique = odbc_get_number(statement, FIELD_IS_UNIQUE) != 0;
    snprintf(column->type_name, sizeof column->type_name, "%s", type.name);
    odbc_set_type(column, &type);
    if (description->dialect == ODBC_SQLITE || description->dialect == ODBC_MARIADB) {
        odbc_send_text(column);
    }
    odbc_get_text(statement, FIELD_ENGINE, description->table->engine,
                  sizeof description->table->engine);
    description->table->keeps_failed_rows = odbc_get_number(statement, FIELD_KEEPS_FAILED_ROWS);
    if (column == &added) {
        description->status = table_add_column(description->table, &added, description->error);
    }
    return description->status == STATUS_OK;
}

static bool take_schema(SQLHSTMT statement, void *context)
{
    struct description *description = context;
    odbc_get_text(statement, 1, description->schema, sizeof description->schema);
    return false;
}

static bool take_flag(SQLHSTMT statement, void *context)
{
    bool *flag = context;
    *flag = odbc_get_number(statement, 1) != 0;
    return false;
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

static enum status read_catalogue(struct adapter_conn *conn, struct description *description)
{
    char pattern[PATTERN_BYTES];
    SQLHSTMT statement = NULL;
    SQLCHAR *name = (SQLCHAR *)description->table->name;
    SQLCHAR *schema = description->schema[0] != '\0' ? (SQLCHAR *)description->schema : NULL;

    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, conn->connection, &statement))) {
        return odbc_call_error(conn, NULL, description->error);
    }
    make_pattern(conn, description->table->name, pattern);
    enum status status = odbc_take_rows(
        conn, statement,
        SQLColumns(statement, NULL, 0, schema, SQL_NTS, (SQLCHAR *)pattern, SQL_NTS, NULL, 0),
        take_column, description, description->error);
    status = status == STATUS_OK ? description->status : status;
    if (status == STATUS_OK && description->table->column_count > 0 &&
        detail_sql[conn->dialect] == NULL) {
        SQLFreeStmt(statement, SQL_CLOSE);
        schema = description->schema[0] != '\0' ? (SQLCHAR *)description->schema : NULL;
        status = odbc_take_rows(conn, statement,
                                SQLStatistics(statement, NULL, 0, schema, SQL_NTS, name, SQL_NTS,
                                              SQL_INDEX_UNIQUE, SQL_QUICK),
                                take_index, description, description->error);
        end_index(description);
    }
    SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return status;
}

/* PostgreSQL: the table is the one that the search path finds. */
static enum status find_schema(struct adapter_conn *conn, struct description *description)
{
    bool has_schema = true;
    enum status status = STATUS_OK;
    if (conn->schema != NULL) {
        status = odbc_run(conn, has_schema_sql, NULL, take_flag, &has_schema, description->error);
    }
    if (status == STATUS_OK && !has_schema) {
        error_set(description->error, ERROR_NOT_FOUND, 0, NULL,
                  "schema '%s' does not exist, or this user may not use it", conn->schema);
        return STATUS_FATAL;
    }
    if (status == STATUS_OK) {
        status = odbc_run(conn, schema_sql, description->table->name, take_schema, description,
                          description->error);
    }
    return status;
}

static enum status read_table(struct adapter_conn *conn, struct description *description)
{
    const char *name = description->table->name;
    enum status status = STATUS_OK;
    bool is_there = true;
    if (conn->dialect == ODBC_POSTGRESQL) {
        status = find_schema(conn, description);
        is_there = description->schema[0] != '\0';
    }
    if (status == STATUS_OK && is_there) {
        status = read_catalogue(conn, description);
        is_there = description->table->column_count > 0;
    }
    if (status == STATUS_OK && is_there && detail_sql[conn->dialect] != NULL) {
        status = odbc_run(conn, detail_sql[conn->dialect], name, take_detail, description,
                          description->error);
        status = status == STATUS_OK ? description->status : status;
    }
    if (status == STATUS_OK && !is_there) {
        error_set(description->error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", name);
        status = STATUS_REJECTED;
    }
    return status;
}

enum status odbc_describe(struct adapter_conn *conn, const char *table_name, struct table *table,
                          struct error *error)
{
    struct description description = {
        .table = table, .status = STATUS_OK, .error = error, .dialect = conn->dialect};

    memset(table, 0, sizeof *table);
    enum status status = table_init(table, table_name, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = read_table(conn, &description);
    status = odbc_end(conn, status, error);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}
