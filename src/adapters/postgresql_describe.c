/* What PostgreSQL's catalogue says about a table. */
#include "adapters/postgresql_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/postgresql_encode.h"

/* Tables of any kind that take rows. Domains are followed down to the type beneath them; the
 * innermost length, and every NOT NULL on the way, hold. Unique is a column that an index of it
 * alone makes so for all rows: a partial index does not. */
static const char columns_sql[] =
    "with recursive relation as ("
    " select oid from pg_catalog.pg_class"
    " where oid = pg_catalog.to_regclass(pg_catalog.quote_ident($1)) and relkind in ('r','p','f')"
    "), resolved(number, type, modifier, is_required, has_default) as ("
    " select a.attnum, a.atttypid, a.atttypmod, a.attnotnull, a.atthasdef or a.attidentity <> ''"
    " from pg_catalog.pg_attribute a join relation r on a.attrelid = r.oid"
    " where a.attnum > 0 and not a.attisdropped"
    " union all"
    " select d.number, t.typbasetype,"
    "  case when t.typtypmod = -1 then d.modifier else t.typtypmod end,"
    "  d.is_required or t.typnotnull, d.has_default or t.typdefault is not null"
    " from resolved d join pg_catalog.pg_type t on t.oid = d.type where t.typtype = 'd'"
    ")"
    " select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), d.type::pg_catalog.int8,"
    "  d.modifier, d.is_required::int, d.has_default::int,"
    "  (a.attidentity = 'a' or a.attgenerated <> '')::int,"
    "  exists (select from pg_catalog.pg_index i where i.indrelid = a.attrelid and i.indisunique"
    "   and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)::int"
    " from resolved d"
    " join pg_catalog.pg_type t on t.oid = d.type and t.typtype <> 'd'"
    " join pg_catalog.pg_attribute a on a.attnum = d.number"
    " join relation r on a.attrelid = r.oid"
    " order by a.attnum";

/* A question to the catalogue, and what it is about. */
struct question {
    const char *what;
    const char *sql;
};

static const struct question pooler_question = {"for the number of its session",
                                                "select pg_catalog.pg_backend_pid()"};

static const struct question place_question = {
    "what the table is", "select pg_catalog.current_schema() is not null, relkind,"
                         " pg_catalog.has_any_column_privilege(oid, 'select'),"
                         " pg_catalog.has_any_column_privilege(oid, 'insert')"
                         " from (select) x left join pg_catalog.pg_class"
                         " on oid = pg_catalog.to_regclass(pg_catalog.quote_ident($1))"};

enum field {
    FIELD_NAME,
    FIELD_TYPE_NAME,
    FIELD_TYPE,
    FIELD_MODIFIER,
    FIELD_IS_REQUIRED,
    FIELD_HAS_DEFAULT,
    FIELD_IS_GENERATED,
    FIELD_IS_UNIQUE,
};

struct type_meaning {
    uint32_t oid;
    enum column_type type;
};

static const struct type_meaning type_meanings[] = {
    {POSTGRESQL_BOOL, COLUMN_BOOL},
    {POSTGRESQL_BYTEA, COLUMN_BYTES},
    {POSTGRESQL_NAME, COLUMN_TEXT},
    {POSTGRESQL_INT8, COLUMN_INT64},
    {POSTGRESQL_INT2, COLUMN_INT16},
    {POSTGRESQL_INT4, COLUMN_INT32},
    {POSTGRESQL_TEXT, COLUMN_TEXT},
    {POSTGRESQL_JSON, COLUMN_JSON},
    {POSTGRESQL_CIDR, COLUMN_IP4},
    {POSTGRESQL_FLOAT4, COLUMN_FLOAT32},
    {POSTGRESQL_FLOAT8, COLUMN_FLOAT64},
    {POSTGRESQL_INET, COLUMN_IP4},
    {POSTGRESQL_BPCHAR, COLUMN_TEXT},
    {POSTGRESQL_VARCHAR, COLUMN_TEXT},
    {POSTGRESQL_DATE, COLUMN_DATE},
    {POSTGRESQL_TIME, COLUMN_TIME},
    {POSTGRESQL_TIMESTAMP, COLUMN_TIMESTAMP},
    {POSTGRESQL_TIMESTAMPTZ, COLUMN_TIMESTAMP},
    {POSTGRESQL_TIMETZ, COLUMN_TIME},
    {POSTGRESQL_NUMERIC, COLUMN_DECIMAL},
    {POSTGRESQL_UUID, COLUMN_UUID},
    {POSTGRESQL_JSONB, COLUMN_JSON},
};

/* A modifier of varchar(n), char(n) and numeric(p,s) counts four bytes of header in. */
enum {
    MODIFIER_HEADER = 4,
    NAME_BYTES = 63,
    UINT8_LIMIT = 255
};

/* A scale may be negative (rounding in front of the point) or far beyond what a column holds;
 * what is described is a narrower type whose every value fits. */
static void set_decimal(struct column *column, int modifier)
{
    int precision = ((modifier - MODIFIER_HEADER) >> 16) & 0xffff;
    int scale = (modifier - MODIFIER_HEADER) & 0x7ff;
    scale = scale >= 0x400 ? 0 : scale;
    if (scale > UINT8_LIMIT) {
        precision -= scale - UINT8_LIMIT;
        scale = UINT8_LIMIT;
    }
    if (precision < 1) {
        column->type = COLUMN_UNSUPPORTED; /* nothing but zero fits */
        return;
    }
    column->precision = (uint8_t)(precision > UINT8_LIMIT ? UINT8_LIMIT : precision);
    column->scale = (uint8_t)scale;
}

static void set_type(struct column *column, int modifier)
{
    column->type = COLUMN_UNSUPPORTED;
    for (size_t i = 0; i < sizeof type_meanings / sizeof *type_meanings; i++) {
        if (type_meanings[i].oid == column->native_type) {
            column->type = type_meanings[i].type;
        }
    }
    if (column->type == COLUMN_IP4 && strchr(column->name, '6') != NULL) {
        column->type = COLUMN_IP6; /* inet holds both kinds: the name is all there is to go by */
    }
    if (column->native_type == POSTGRESQL_NAME) {
        column->size = NAME_BYTES;
    } else if (column->type == COLUMN_TEXT && modifier > MODIFIER_HEADER) {
        column->size = (uint32_t)(modifier - MODIFIER_HEADER);
    } else if (column->type == COLUMN_DECIMAL && modifier > MODIFIER_HEADER) {
        set_decimal(column, modifier);
    }
}

static bool is_true(const PGresult *result, int row, enum field field)
{
    return PQgetvalue(result, row, (int)field)[0] == '1';
}

static void read_column(struct column *column, const PGresult *result, int row)
{
    memset(column, 0, sizeof *column);
    snprintf(column->name, sizeof column->name, "%s", PQgetvalue(result, row, FIELD_NAME));
    snprintf(column->type_name, sizeof column->type_name, "%s",
             PQgetvalue(result, row, FIELD_TYPE_NAME));
    column->native_type = (uint32_t)strtoul(PQgetvalue(result, row, FIELD_TYPE), NULL, 10);
    column->is_nullable = !is_true(result, row, FIELD_IS_REQUIRED);
    column->has_default = is_true(result, row, FIELD_HAS_DEFAULT);
    column->is_generated = is_true(result, row, FIELD_IS_GENERATED);
    column->is_unique = is_true(result, row, FIELD_IS_UNIQUE);
    set_type(column, (int)strtol(PQgetvalue(result, row, FIELD_MODIFIER), NULL, 10));
}

/* Asks the catalogue; `parameter` may be NULL. On OK the caller clears *result. */
static enum status ask(struct adapter_conn *conn, const struct question *question,
                       const char *parameter, PGresult **result, struct error *error)
{
    struct error failure;
    error_clear(&failure);
    const int was_sent =
        PQsendQueryParams(conn->connection, question->sql, parameter != NULL ? 1 : 0, NULL,
                          &parameter, NULL, NULL, 0);
    const enum status status = postgresql_finish(conn, was_sent, result, &failure);
    return status == STATUS_OK
               ? status
               : postgresql_catalogue_error(status, &failure, question->what, error);
}

/* A pooler tells its clients a number of its own, and they may get another backend with each
 * transaction. Servers that only speak the protocol have no such number, or 0 or less. */
enum status postgresql_find_pooler(struct adapter_conn *conn, struct error *error)
{
    PGresult *result = NULL;
    const enum status status = ask(conn, &pooler_question, NULL, &result, error);
    if (status == STATUS_OK) {
        const long backend = strtol(PQgetvalue(result, 0, 0), NULL, 10);
        const int told = PQbackendPID(conn->connection);
        conn->is_pooled = backend > 0 && told != 0 && told != backend;
    }
    PQclear(result);
    return status;
}

static enum status check_place(struct adapter_conn *conn, const char *table_name,
                               struct error *error)
{
    PGresult *result = NULL;
    enum status status = ask(conn, &place_question, table_name, &result, error);
    if (status != STATUS_OK) {
        return status;
    }
    const char kind = PQgetvalue(result, 0, 1)[0];
    if (conn->schema != NULL && PQgetvalue(result, 0, 0)[0] != 't') {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "schema '%s' does not exist, or this user may not use it", conn->schema);
        status = STATUS_FATAL;
    } else if (kind == '\0') {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    } else if (strchr("rpf", kind) == NULL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "\"%.160s\" is %s: rows go to tables",
                  table_name,
                  kind == 'v'   ? "a view"
                  : kind == 'm' ? "a materialized view"
                                : "no table");
        status = STATUS_FATAL;
    }
    for (int i = 0; status == STATUS_OK && i < 2; i++) {
        if (PQgetvalue(result, 0, 2 + i)[0] != 't') {
            const char *right = i == 0 ? "SELECT" : "INSERT";
            error_set(error, ERROR_AUTH, 0, "42501",
                      "permission denied to %s table \"%.60s\": GRANT %s ON \"%.60s\" TO \"%.60s\"",
                      i == 0 ? "count the rows of" : "insert into", table_name, right, table_name,
                      PQuser(conn->connection));
            status = STATUS_FATAL;
        }
    }
    PQclear(result);
    return status;
}

static enum status read_columns(struct adapter_conn *conn, struct table *table, struct error *error)
{
    static const struct question question = {"for the columns of the table", columns_sql};
    PGresult *result = NULL;
    enum status status = ask(conn, &question, table->name, &result, error);
    for (int row = 0; status == STATUS_OK && row < PQntuples(result); row++) {
        struct column column;
        read_column(&column, result, row);
        status = table_add_column(table, &column, error);
    }
    PQclear(result);
    return status;
}

enum status postgresql_describe(struct adapter_conn *conn, const char *table_name,
                                struct table *table, struct error *error)
{
    memset(table, 0, sizeof *table);
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = postgresql_find_pooler(conn, error);
    }
    if (status == STATUS_OK) {
        status = check_place(conn, table_name, error);
    }
    if (status == STATUS_OK) {
        status = read_columns(conn, table, error);
    }
    if (status == STATUS_OK && !conn->uses_insert && table->column_count > 0) {
        status = postgresql_copy_probe(conn, table, error);
    }
    table->is_pooled = conn->is_pooled;
    table->has_no_bulk_path = conn->has_no_copy;
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}
