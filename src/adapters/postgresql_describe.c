/* What PostgreSQL's catalogue says about a table. */
#include "adapters/postgresql_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/postgresql_encode.h"

/* Tables of any kind that take rows. Domains are followed down to the type beneath them; the
 * innermost length, and every NOT NULL on the way, hold. Unique is a column that an index of it
 * alone makes so for all rows: a partial index does not. */
static const char describe_sql[] =
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

static const char schema_sql[] = "select pg_catalog.current_schema() is not null";

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

static enum status check_schema(struct adapter_conn *conn, struct error *error)
{
    PGresult *result = NULL;
    enum status status =
        postgresql_finish(conn, PQsendQuery(conn->connection, schema_sql), &result, error);
    if (status == STATUS_OK && strcmp(PQgetvalue(result, 0, 0), "t") != 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "schema '%s' does not exist, or this user may not use it", conn->schema);
        status = STATUS_FATAL;
    }
    PQclear(result);
    return status;
}

enum status postgresql_describe(struct adapter_conn *conn, const char *table_name,
                                struct table *table, struct error *error)
{
    PGresult *result = NULL;
    enum status status = STATUS_OK;

    memset(table, 0, sizeof *table);
    if (conn->schema != NULL) {
        status = check_schema(conn, error);
    }
    if (status == STATUS_OK) {
        const int was_sent =
            PQsendQueryParams(conn->connection, describe_sql, 1, NULL, &table_name, NULL, NULL, 0);
        status = postgresql_finish(conn, was_sent, &result, error);
    }
    if (status == STATUS_OK && PQntuples(result) == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    }
    if (status == STATUS_OK) {
        status = table_init(table, table_name, error);
    }
    for (int row = 0; status == STATUS_OK && row < PQntuples(result); row++) {
        struct column column;
        read_column(&column, result, row);
        status = table_add_column(table, &column, error);
    }
    PQclear(result);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}
