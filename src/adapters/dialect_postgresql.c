/* PostgreSQL: the meaning of its SQLSTATEs and messages, its catalogue and its limits. */
#include <stdio.h>
#include <string.h>

#include "adapters/dialect.h"
#include "base/ask.h"

struct state_meaning {
    const char *sqlstate; /* SQLSTATE: five characters, or the beginning of a class */
    struct dialect_meaning meaning;
};

/* Parts of messages, and the limit that each message names. They are needed if the SQLSTATE does
 * not show which limit was reached: errors before TLS begins have no SQLSTATE, pgbouncer uses the
 * same SQLSTATE for all refusals, and some drivers use SQLSTATEs of their own. A server that cannot
 * fork reports this error before TLS begins; newer versions of libpq then report an error during
 * SSL instead of the server's message. */
static const struct {
    const char *part;
    const char *limit;
} full[] = {
    {"max_client_conn", "max_client_conn"},
    {"could not fork", ERROR_LIMIT_TASKS},
    {"an error response during SSL", ERROR_LIMIT_TASKS_LIKELY},
    {"too many connections for role", "rolconnlimit"},
    {"too many connections for database", "datconnlimit"},
    {"too many clients already", "max_connections"},
    {"remaining connection slots", "max_connections"},
};

static const struct state_meaning connect_meanings[] = {
    {"28", {STATUS_FATAL, ERROR_AUTH, NULL}},      /* wrong password or role; pg_hba.conf */
    {"42501", {STATUS_FATAL, ERROR_AUTH, NULL}},   /* no CONNECT privilege */
    {"3D", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}}, /* unknown database */
    {"3F", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}},
    {"53300", {STATUS_LOST, ERROR_LIMIT, ""}}, /* the message is in an unknown language */
    {"53", {STATUS_LOST, ERROR_LIMIT, NULL}},
    {"57014", {STATUS_LOST, ERROR_TIMEOUT, NULL}}, /* authentication took too long */
    {"57", {STATUS_LOST, ERROR_SERVER, NULL}},     /* starting up, shutting down */
    {"08P01", {STATUS_FATAL, ERROR_UNSUPPORTED, NULL}},
    {"08", {STATUS_LOST, ERROR_CONNECTION, NULL}},
    {"22", {STATUS_FATAL, ERROR_USAGE, NULL}}, /* a setting that the server rejects */
    {"42", {STATUS_FATAL, ERROR_USAGE, NULL}},
    {"0A", {STATUS_FATAL, ERROR_UNSUPPORTED, NULL}},
    {"55000", {STATUS_FATAL, ERROR_UNSUPPORTED, NULL}}, /* database accepts no connections */
    {.sqlstate = NULL},
};

static const struct state_meaning call_meanings[] = {
    {"22", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"23505", {STATUS_REJECTED, ERROR_DUPLICATE, NULL}},
    {"23", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"44", {STATUS_REJECTED, ERROR_DATA, NULL}},      /* WITH CHECK OPTION */
    {"P0001", {STATUS_REJECTED, ERROR_DATA, NULL}},   /* raised by a trigger */
    {"40003", {STATUS_LOST, ERROR_CONNECTION, NULL}}, /* the statement may have been executed */
    {"08007", {STATUS_LOST, ERROR_CONNECTION, NULL}}, /* the commit may have succeeded */
    {"40P01", {STATUS_REJECTED, ERROR_DEADLOCK, NULL}},
    {"40", {STATUS_REJECTED, ERROR_SERIALIZATION, NULL}},
    {"55P03", {STATUS_REJECTED, ERROR_BUSY, NULL}}, /* lock_timeout */
    {"57014", {STATUS_REJECTED, ERROR_TIMEOUT, NULL}},
    {"42501", {STATUS_FATAL, ERROR_AUTH, NULL}},
    {"42P01", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}},
    {"42703", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}},
    {"3F", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}},
    {"42809", {STATUS_FATAL, ERROR_UNSUPPORTED, NULL}}, /* the table is a view */
    {"25006", {STATUS_FATAL, ERROR_READ_ONLY, NULL}},
    {"0A", {STATUS_FATAL, ERROR_UNSUPPORTED, NULL}},
    {"53300", {STATUS_REJECTED, ERROR_LIMIT, ""}},
    {.sqlstate = NULL},
};

static bool classify_error(const struct dialect_failure *failure, struct dialect_meaning *meaning)
{
    const struct state_meaning *at = failure->is_connecting ? connect_meanings : call_meanings;
    for (size_t i = 0; failure->is_connecting && i < COUNT_OF(full); i++) {
        if (strstr(failure->text, full[i].part) != NULL) {
            *meaning = (struct dialect_meaning){STATUS_LOST, ERROR_LIMIT, full[i].limit};
            return true;
        }
    }
    while (at->sqlstate != NULL &&
           strncmp(at->sqlstate, failure->sqlstate, strlen(at->sqlstate)) != 0) {
        at++;
    }
    *meaning = at->sqlstate != NULL ? at->meaning : *meaning;
    return at->sqlstate != NULL;
}

/* Writes the server's message without detail and context, which name single rows. Adds advice: the
 * missing privilege on a schema, or the setting of a pooler. (describe reports missing privileges
 * on tables.) */
static void write_text(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size)
{
    static const char refusal[] = "permission denied for schema ";
    static const struct {
        const char *part, *advice;
    } of_poolers[] = {
        {"query_wait_timeout",
         "with pool_mode = session, pgbouncer's default_pool_size must cover all sessions"},
        {"startup parameter: options",
         "with pgbouncer, set the role's search_path instead of using --schema"},
        {"not allowed in statement pooling", "pgbouncer needs pool_mode = transaction"},
    };
    const char *schema = strstr(failure->text, refusal);
    snprintf(text, size, "%s", failure->text);
    for (size_t i = 0; i < COUNT_OF(of_poolers); i++) {
        if (strstr(failure->text, of_poolers[i].part) != NULL) {
            const size_t length = strlen(text);
            snprintf(text + length, size - length, ": %s", of_poolers[i].advice);
        }
    }
    if (schema != NULL) {
        const size_t length = strlen(text);
        snprintf(text + length, size - length, ": GRANT USAGE, CREATE ON SCHEMA %.60s TO \"%.60s\"",
                 schema + sizeof refusal - 1, user);
    }
}

bool dialect_postgresql_is_foreign(const struct error *failure)
{
    const char *const state = failure->sqlstate;
    return strncmp(state, "00", 2) == 0 || strncmp(state, "0A", 2) == 0 ||
           (strncmp(state, "42", 2) == 0 && strcmp(state, "42501") != 0);
}

enum status dialect_postgresql_foreign(enum status status, const char *query, struct error *error)
{
    if (status == STATUS_OK || status == STATUS_LOST || !dialect_postgresql_is_foreign(error)) {
        return status;
    }
    const struct error refusal = *error;
    error_clear(error);
    error_set(error, ERROR_UNSUPPORTED, 0, refusal.sqlstate,
              "this server speaks PostgreSQL's protocol but does not have PostgreSQL's catalogue: "
              "the query %s failed: %.100s",
              query, refusal.text);
    return STATUS_FATAL;
}

/* Lists the columns of a table of any kind that rows can be inserted into. If a column's type is a
 * domain, follows the chain of domains to the base type; the innermost length applies, and so does
 * the NOT NULL of every domain in the chain. A column is unique if a unique index contains only
 * this column; partial indexes do not count. */
static const char columns_sql[] =
    "with recursive relation as ("
    " select oid from pg_catalog.pg_class"
    " where oid = pg_catalog.to_regclass(pg_catalog.quote_ident(?)) and relkind in ('r','p','f')"
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
    " select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),"
    "  d.is_required::int, d.has_default::int,"
    "  (a.attidentity = 'a' or a.attgenerated <> '')::int,"
    "  exists (select from pg_catalog.pg_index i where i.indrelid = a.attrelid and i.indisunique"
    "   and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)::int,"
    "  d.type::pg_catalog.int8, d.modifier"
    " from resolved d"
    " join pg_catalog.pg_type t on t.oid = d.type and t.typtype <> 'd'"
    " join pg_catalog.pg_attribute a on a.attnum = d.number"
    " join relation r on a.attrelid = r.oid"
    " order by a.attnum";

static const char place_sql[] =
    "select (pg_catalog.current_schema() is not null)::int, relkind::text,"
    " pg_catalog.has_any_column_privilege(oid, 'select')::int,"
    " pg_catalog.has_any_column_privilege(oid, 'insert')::int"
    " from (select) x left join pg_catalog.pg_class"
    " on oid = pg_catalog.to_regclass(pg_catalog.quote_ident(?))";

enum {
    FIELD_TYPE = DIALECT_COMMON_FIELDS,
    FIELD_MODIFIER,
    FIELD_COUNT,
};

static enum column_type type_of(uint32_t native_type)
{
    static const struct {
        enum column_type type;
        uint32_t numbers[4];
    } types[] = {
        {COLUMN_BOOL, {16}},
        {COLUMN_INT16, {21}},
        {COLUMN_INT32, {23}},
        {COLUMN_INT64, {20}},
        {COLUMN_FLOAT32, {700}},
        {COLUMN_FLOAT64, {701}},
        {COLUMN_DECIMAL, {1700}},
        {COLUMN_TEXT, {POSTGRESQL_NAME, 25, 1042, 1043}}, /* text, bpchar, varchar */
        {COLUMN_BYTES, {17}},
        {COLUMN_JSON, {POSTGRESQL_JSON, POSTGRESQL_JSONB}},
        {COLUMN_DATE, {1082}},
        {COLUMN_TIME, {1083, POSTGRESQL_TIMETZ}},
        {COLUMN_TIMESTAMP, {1114, 1184}}, /* without a time zone, with a time zone */
        {COLUMN_UUID, {2950}},
        {COLUMN_IP4, {POSTGRESQL_CIDR, 869}}, /* inet */
    };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        for (size_t j = 0; j < COUNT_OF(types[i].numbers); j++) {
            if (types[i].numbers[j] == native_type && native_type != 0) {
                return types[i].type;
            }
        }
    }
    return COLUMN_UNSUPPORTED;
}

/* The modifier of varchar(n), char(n) and numeric(p,s) includes a header of four bytes. */
enum {
    MODIFIER_HEADER = 4,
    NAME_BYTES = 63,
};

static void read_column(struct column *column, const struct cell *cells)
{
    const int modifier = (int)ask_number(&cells[FIELD_MODIFIER]);
    dialect_read_common(column, cells);
    column->native_type = (uint32_t)ask_number(&cells[FIELD_TYPE]);
    column->type = type_of(column->native_type);
    if (column->type == COLUMN_IP4 && strchr(column->name, '6') != NULL) {
        /* inet can hold IPv4 and IPv6; a 6 in the column's name selects IPv6 */
        column->type = COLUMN_IP6;
    }
    if (column->native_type == POSTGRESQL_NAME) {
        column->size = NAME_BYTES;
    } else if (column->type == COLUMN_TEXT && modifier > MODIFIER_HEADER) {
        column->size = (uint32_t)(modifier - MODIFIER_HEADER);
    } else if (column->type == COLUMN_DECIMAL && modifier > MODIFIER_HEADER) {
        /* A scale may be negative, or larger than column->scale can hold. The column is then
         * described as a narrower type, so that every value of this type fits into the column. */
        int precision = ((modifier - MODIFIER_HEADER) >> 16) & 0xffff;
        int scale = (modifier - MODIFIER_HEADER) & 0x7ff;
        scale = scale >= 0x400 ? 0 : scale;
        if (scale > UINT8_MAX) {
            precision -= scale - UINT8_MAX;
            scale = UINT8_MAX;
        }
        if (precision < 1) {
            column->type = COLUMN_UNSUPPORTED; /* only zero fits */
            return;
        }
        column->precision = (uint8_t)(precision > UINT8_MAX ? UINT8_MAX : precision);
        column->scale = (uint8_t)scale;
    }
}

/* Indexes into a string with one character for each column of place_sql. The character is the first
 * character of the column's value, or '\0' if the relation does not exist and the value is
 * therefore NULL. */
enum place {
    PLACE_HAS_SCHEMA,
    PLACE_KIND,
    PLACE_MAY_SELECT,
    PLACE_MAY_INSERT,
    PLACE_FIELDS
};

static bool take_place(void *context, const struct cell *cells, size_t count)
{
    char *place = context;
    for (size_t i = 0; count == PLACE_FIELDS && i < count; i++) {
        char letter[2];
        ask_text(&cells[i], letter, sizeof letter);
        place[i] = letter[0];
    }
    return false;
}

static enum status describe(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error)
{
    static const struct dialect_columns columns = {FIELD_COUNT, read_column};
    char place[PLACE_FIELDS] = "";
    struct answer answer = {.take = take_place, .context = place};
    enum status status = table_init(table, table_name, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = ask_rows(asker->adapter, asker->conn, place_sql, table_name, &answer, error);
    status = dialect_postgresql_foreign(status, "for the table's kind", error);
    if (status != STATUS_OK) {
        return status;
    }
    const char kind = place[PLACE_KIND];
    if (asker->schema != NULL && place[PLACE_HAS_SCHEMA] != '1') {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "schema '%s' does not exist, or this user lacks USAGE on it", asker->schema);
        return STATUS_FATAL;
    }
    if (kind == '\0') {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        return STATUS_REJECTED;
    }
    if (strchr("rpf", kind) == NULL) {
        const char *what = "not a table";
        if (kind == 'v' || kind == 'm') {
            what = kind == 'v' ? "a view" : "a materialized view";
        }
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "\"%.160s\" is %s: append writes to tables only", table_name, what);
        return STATUS_FATAL;
    }
    const bool may_select = place[PLACE_MAY_SELECT] == '1';
    if (!may_select || place[PLACE_MAY_INSERT] != '1') {
        error_set(error, ERROR_AUTH, 0, "42501",
                  "permission denied to %s table \"%.60s\": GRANT %s ON \"%.60s\" TO \"%.60s\"",
                  may_select ? "insert into" : "count the rows of", table_name,
                  may_select ? "INSERT" : "SELECT", table_name, asker->user);
        return STATUS_FATAL;
    }
    status =
        dialect_postgresql_foreign(dialect_read_columns(asker, columns_sql, &columns, table, error),
                                   "for the table's columns", error);
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* Users without the privilege to see details of other users' sessions still see the user and the
 * database of each session. The limits depend on the user who connected, even if another role was
 * set later. */
static const char limits_sql[] =
    "with me as ("
    " select r.oid as role, r.rolname, r.rolconnlimit, r.rolsuper, d.oid as base, d.datname,"
    "  d.datconnlimit, current_setting('max_connections')::int as most,"
    "  case when r.rolsuper then 0"
    "   else current_setting('superuser_reserved_connections')::int end as kept,"
    "  case when r.rolsuper or exists (select from pg_roles p"
    "    where p.rolname = 'pg_use_reserved_connections' and pg_has_role(r.oid, p.oid, 'usage'))"
    "   then 0"
    "   else coalesce(current_setting('reserved_connections', true), '0')::int end as reserved"
    " from pg_roles r, pg_database d"
    " where r.rolname = session_user and d.datname = current_database()),"
    " them as (select usesysid, datid from pg_stat_activity where datid is not null"
    "  and usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend')"
    " select 'max_connections', (most - kept - reserved)::text, (select count(*) from them)::text,"
    "  case when kept + reserved > 0 then most || ' less ' || kept ||"
    "   ' of superuser_reserved_connections' ||"
    "   case when reserved > 0 then ' and ' || reserved || ' of reserved_connections' else '' end"
    "   else '' end,"
    "  'max_connections = N' || case when kept + reserved > 0 then '+' || (kept + reserved)"
    "   else '' end || ' in postgresql.conf, then restart the server' from me"
    " union all select 'rolconnlimit', rolconnlimit::text,"
    "  (select count(*) from them where usesysid = role)::text, 'of role ' || rolname,"
    "  'ALTER ROLE ' || quote_ident(rolname) || ' CONNECTION LIMIT N'"
    "  from me where rolconnlimit >= 0 and not rolsuper"
    " union all select 'datconnlimit', datconnlimit::text,"
    "  (select count(*) from them where datid = base)::text, 'of database ' || datname,"
    "  'ALTER DATABASE ' || quote_ident(datname) || ' CONNECTION LIMIT N'"
    "  from me where datconnlimit >= 0 and not rolsuper";

static bool take_limit(void *context, const struct cell *cells, size_t count)
{
    char name[64];
    if (count != 5) {
        return false;
    }
    ask_text(&cells[0], name, sizeof name);
    struct session_limit *limit =
        dialect_add_limit(context, name, ask_number(&cells[1]), ask_number(&cells[2]));
    if (limit != NULL) {
        ask_text(&cells[3], limit->note, sizeof limit->note);
        ask_text(&cells[4], limit->fix, sizeof limit->fix);
    }
    return limit != NULL;
}

static enum status ask_limits(const struct dialect_asker *asker, struct server_limits *limits,
                              struct error *error)
{
    struct answer answer = {.take = take_limit, .context = limits};
    limits->tasks_per_session = 1;
    /* each session has its own process, so the listening process keeps no descriptors for
     * sessions */
    limits->files_per_session = 0;
    return ask_rows(asker->adapter, asker->conn, limits_sql, NULL, &answer, error);
}

/* Recognises a server by its answer to a TLS request. PostgreSQL answers with a single letter; a
 * longer answer may be another server's greeting that begins with the same byte. PostgreSQL may
 * also answer with an error: 'E', the error's length, and the error's fields, of which the first
 * begins with 'S'. Older servers send 'E' and a text. */
enum probe_answer dialect_postgresql_recognise(const unsigned char *answer, size_t length)
{
    if (length == 1) {
        return answer[0] == 'S' || answer[0] == 'N' || answer[0] == 'E' ? PROBE_YES : PROBE_NO;
    }
    if (length == 0 || answer[0] != 'E') {
        return length == 0 ? PROBE_MORE : PROBE_NO;
    }
    if (length <= 6) {
        return PROBE_MORE;
    }
    return (answer[5] == 'S' && answer[6] > ' ') || answer[1] > ' ' ? PROBE_YES : PROBE_NO;
}

static bool declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    enum {
        FRACTION_DIGITS = 6 /* maximum number of digits that the server stores */
    };
    static const char *const names[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = "boolean",
        [COLUMN_INT16] = "smallint",
        [COLUMN_INT32] = "integer",
        [COLUMN_INT64] = "bigint",
        [COLUMN_FLOAT32] = "real",
        [COLUMN_FLOAT64] = "double precision",
        [COLUMN_DECIMAL] = "numeric",
        [COLUMN_TEXT] = "text",
        [COLUMN_BYTES] = "bytea",
        [COLUMN_JSON] = "json",
        [COLUMN_DATE] = "date",
        [COLUMN_TIME] = "time",
        [COLUMN_TIMESTAMP] = "timestamp",
        [COLUMN_UUID] = "uuid",
        [COLUMN_IP4] = "inet",
        [COLUMN_IP6] = "inet",
    };
    const enum column_type type = column->type;
    const bool is_char = strncmp(column->type_name, "char", 4) == 0;
    const unsigned digits = column->scale < FRACTION_DIGITS ? column->scale : FRACTION_DIGITS;
    char sizes[32] = "";
    if (names[type] == NULL ||
        (is_numbered && type != COLUMN_INT16 && type != COLUMN_INT32 && type != COLUMN_INT64)) {
        return false;
    }
    if (type == COLUMN_DECIMAL && column->precision > 0) {
        snprintf(sizes, sizeof sizes, "(%u,%u)", column->precision, column->scale);
    } else if (type == COLUMN_TIME || type == COLUMN_TIMESTAMP) {
        snprintf(sizes, sizeof sizes, "(%u)", digits);
    } else if (type == COLUMN_TEXT && column->size > 0) {
        snprintf(sizes, sizeof sizes, "(%u)", (unsigned)column->size);
    }
    const char *const of_size = is_char ? "char" : "varchar";
    snprintf(text, size, "%s%s%s%s",
             type != COLUMN_TEXT || sizes[0] == '\0' ? names[type] : of_size, sizes,
             column->is_nullable && !is_numbered ? "" : " not null",
             is_numbered ? " generated by default as identity" : "");
    return true;
}

/* Adds a text, doubling each `quote` in it. */
static void add_doubled(struct buffer *sql, const char *text, char quote)
{
    for (; *text != '\0'; text++) {
        buffer_add(sql, text, 1);
        if (*text == quote) {
            buffer_add(sql, text, 1);
        }
    }
}

static void number_from(const char *table_name, const char *column_name, char *sql, size_t size)
{
    struct buffer table = {0};
    struct buffer text = {0};
    buffer_add_identifier(&table, table_name, '"');
    buffer_add_text(&text, "select pg_catalog.setval(pg_catalog.pg_get_serial_sequence('");
    add_doubled(&text, buffer_text(&table), '\'');
    buffer_add_text(&text, "', '");
    add_doubled(&text, column_name, '\'');
    buffer_add_text(&text, "'), coalesce(max(");
    buffer_add_identifier(&text, column_name, '"');
    buffer_add_format(&text, "), 0) + 1, false) from %s", buffer_text(&table));
    snprintf(sql, size, "%s", buffer_failed(&table) ? "" : buffer_text(&text));
    buffer_fini(&table);
    buffer_fini(&text);
}

/* The rows of a partitioned table are in its partitions, so the sizes of the partitions are
 * added. */
static const struct storage_queries storage = {
    .directory = "show data_directory", /* needs the role pg_read_all_settings */
    .is_working_directory = true,
    .sizes =
        (const char *const[]){"select sum(pg_total_relation_size(relid))::bigint from "
                              "pg_partition_tree(to_regclass(quote_ident($5)))",
                              "select pg_total_relation_size(to_regclass(quote_ident($5)))", NULL},
    .counters =
        (const char *const[]){
            /* query for versions 14 to 17 */
            "select key, value::bigint from pg_catalog.pg_stat_wal s, jsonb_each_text(to_jsonb(s))"
            " where key in ('wal_write', 'wal_sync')",
            /* query for version 18 and later; leaves out the context 'init', which counts the
             * creation of WAL segments */
            "select name, sum(number)::bigint from pg_catalog.pg_stat_io,"
            " lateral (values ('wal_write', writes), ('wal_sync', fsyncs)) v(name, number)"
            " where object = 'wal' and context = 'normal' group by name",
            NULL},
};

static const struct table_mark_statements table_mark = {
    .read = "select pg_catalog.obj_description(pg_catalog.to_regclass(pg_catalog.quote_ident(?)),"
            " 'pg_class')",
    .place = "select pg_catalog.current_database() || '.' || c.relnamespace || '.' || c.oid from"
             " pg_catalog.pg_class c where c.oid ="
             " pg_catalog.to_regclass(pg_catalog.quote_ident(?))",
    .others =
        (const char *const[]){
            /* the mark on a partition contains the partition's OID and name, so that a copy of the
             * mark is not valid for another table; a foreign key may refer to a partition instead
             * of the table */
            "with recursive own(id) as (select"
            " pg_catalog.to_regclass(pg_catalog.quote_ident(?))::oid), part(id) as (select"
            " i.inhrelid from pg_catalog.pg_inherits i join own on i.inhparent = own.id union"
            " select i.inhrelid from pg_catalog.pg_inherits i join part on i.inhparent = part.id),"
            " whole(id) as (select id from own union all select id from part),"
            " other(id, does) as (select i.inhparent, ' has it as a part' from"
            " pg_catalog.pg_inherits i join own on i.inhrelid = own.id union all"
            " select c.conrelid, ' refers to it' from pg_catalog.pg_constraint c join whole on"
            " c.confrelid = whole.id where c.contype = 'f' and c.conparentid = 0 and c.conrelid"
            " not in (select id from whole))"
            " select other.id::pg_catalog.regclass || other.does, case when"
            " pg_catalog.obj_description(other.id, 'pg_class') like '%made by append: %' and"
            " pg_catalog.pg_table_is_visible(other.id) then (select r.relname::text from"
            " pg_catalog.pg_class r where r.oid = other.id) end from other"
            " union all select r.oid::pg_catalog.regclass || ' is a part of it', null from part"
            " join pg_catalog.pg_class r on r.oid = part.id where"
            " pg_catalog.obj_description(r.oid, 'pg_class') is distinct from"
            " 'made by append: a part, ' || r.oid || '.' || r.relname"
            " union all select t.tgname || ' is a trigger of it', null from pg_catalog.pg_trigger "
            "t join "
            "whole"
            " on t.tgrelid = whole.id where not t.tgisinternal"
            " union all select r.rulename || ' is a rule of it', null from pg_catalog.pg_rewrite r "
            "join "
            "whole"
            " on r.ev_class = whole.id where r.rulename <> '_RETURN'"
            " union all select p.polname || ' is a policy of it', null from pg_catalog.pg_policy p "
            "join"
            " whole on p.polrelid = whole.id",
            "with own(id) as (select pg_catalog.to_regclass(pg_catalog.quote_ident(?))::oid)"
            " select p.pubname || ' publishes it' from pg_catalog.pg_publication_rel r join"
            " pg_catalog.pg_publication p on p.oid = r.prpubid join own on r.prrelid = own.id",
            NULL},
    .write = "comment on table $0 is $6",
    .write_parts =
        "do $$$$ declare one pg_catalog.pg_class; begin for one in with recursive part(id) as"
        " (select inhrelid from pg_catalog.pg_inherits where inhparent = $1::regclass union select"
        " i.inhrelid from pg_catalog.pg_inherits i join part on i.inhparent = part.id) select r.*"
        " from part join pg_catalog.pg_class r on r.oid = part.id loop execute"
        " pg_catalog.format('comment on table %s is %L', one.oid::regclass,"
        " 'made by append: a part, ' || one.oid || '.' || one.relname); end loop; end $$$$",
};

/* Queries for the server's settings: a fixed list of settings, and all settings that differ from
 * their defaults. Settings that describe a single installation or may contain a secret are left
 * out. */
static const struct settings_queries settings = {
    .queries =
        (const char *const[]){
            "select name, pg_catalog.current_setting(name) from pg_catalog.pg_settings where name "
            "in"
            " ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'wal_level',"
            " 'commit_delay', 'shared_buffers', 'max_wal_size', 'io_method',"
            " 'synchronous_standby_names', 'checkpoint_timeout') or source not in"
            " ('default', 'override') and (category like 'Write-Ahead Log%' or category like"
            " 'Resource Usage%' or category like 'Query Tuning%' or category like 'Autovacuum%'"
            " or category like 'Lock%' or category = 'Client Connection Defaults / Statement "
            "Behavior')"
            " and name not in ('restore_command', 'archive_command', 'archive_cleanup_command',"
            " 'recovery_end_command', 'archive_library', 'search_path') order by name limit 64",
            NULL},
    .table_queries =
        (const char *const[]){
            /* partitioned tables and inheritance parents have their rows in their children */
            "with recursive part(id) as (select"
            " pg_catalog.to_regclass(pg_catalog.quote_ident(?))::oid union select i.inhrelid from"
            " pg_catalog.pg_inherits i join part on i.inhparent = part.id) select"
            " 'unlogged_tables', string_agg(c.relname::text, ', ' order by c.relname) from"
            " pg_catalog.pg_class c join part on c.oid = part.id where c.relpersistence = 'u'"
            " having count(*) > 0",
            /* returns indexes, triggers and foreign keys, by name */
            "select what || ' of ' || relname, count(*) || ': ' || string_agg(name::text, ', '"
            " order by name) from (select oid, relname from pg_catalog.pg_class where oid ="
            " pg_catalog.to_regclass(pg_catalog.quote_ident(?))) t join (select 'indexes' as what,"
            " indrelid as of, i.relname as name from pg_catalog.pg_index join pg_catalog.pg_class i"
            " on i.oid = indexrelid union all select 'triggers', tgrelid, tgname from"
            " pg_catalog.pg_trigger where not tgisinternal union all select 'foreign keys',"
            " conrelid, conname from pg_catalog.pg_constraint where contype = 'f') hung on"
            " hung.of = t.oid group by what, relname order by what",
            NULL},
    .weak = (const struct weak_setting[]){
        {"unlogged_tables", NULL, "a crash empties unlogged tables"},
        {"synchronous_commit", "off", "a crash can lose acknowledged commits"},
        {"fsync", "off", "a crash of the machine can lose or corrupt all data"},
        {"full_page_writes", "off", "a crash of the machine can corrupt pages"},
        {0}}};

static const struct partition_statements partitions = {
    .hash = "partition by hash ($2)",
    .range = "partition by range ($2)",
    .hash_part = "create table $8 partition of $0 for values with (modulus $3, remainder $5)",
    .range_part = "create table $8 partition of $0 for values from ($6) to ($7)",
    .are_tables = true,
    .least = "minvalue",
    .most = "maxvalue",
    .count = "select count(*) from pg_catalog.pg_inherits where inhparent ="
             " pg_catalog.to_regclass(pg_catalog.quote_ident(?))",
};

static const struct foreign_key_statements foreign_keys = {
    .engine = "",
    .count = "select count(*) from pg_catalog.pg_constraint where contype = 'f' and conparentid = 0"
             " and conrelid = pg_catalog.to_regclass(pg_catalog.quote_ident(?))",
};

/* The polls call the function pg_stat_get_activity, because the view pg_stat_activity, which joins
 * it with the roles and databases, costs a third more. The names of events differ between versions
 * in upper and lower case and in prefixes: version 13 renamed buffer_content to BufferContent,
 * version 17 renamed WALWrite to WalWrite. */
static const struct wait_queries waits = {
    .polls =
        (const char *const[]){
            "select pid, (state <> 'idle' and state not like 'idle in%')::int, wait_event_type,"
            " wait_event, pid from pg_catalog.pg_stat_get_activity(null)"
            " where backend_type = 'client backend'",
            NULL},
    .counters =
        (const char *const[]){
            "select 'pg_stat_wal.' || key, value from pg_catalog.pg_stat_wal s,"
            " jsonb_each_text(to_jsonb(s)) where value ~ '^[0-9.]+$'",
            "select 'pg_stat_io.' || object || '.' || context || '.' || key, sum(value::float8)"
            " from pg_catalog.pg_stat_io s, jsonb_each_text(to_jsonb(s))"
            " where value ~ '^[0-9.]+$' and key <> 'op_bytes' group by object, context, key",
            "select 'pg_stat_bgwriter.' || key, value from pg_catalog.pg_stat_bgwriter s,"
            " jsonb_each_text(to_jsonb(s)) where value ~ '^[0-9.]+$'",
            "select 'pg_stat_checkpointer.' || key, value from pg_catalog.pg_stat_checkpointer s,"
            " jsonb_each_text(to_jsonb(s)) where value ~ '^[0-9.]+$'",
            "select 'pg_stat_database.' || key, value from pg_catalog.pg_stat_database s,"
            " jsonb_each_text(to_jsonb(s)) where datname = current_database()"
            " and key not in ('datid', 'numbackends') and value ~ '^[0-9.]+$'",
            "select 'pg_stat_statements.' || key, sum(value::float8) from pg_stat_statements s,"
            " jsonb_each_text(to_jsonb(s)) where value ~ '^[0-9.]+$'"
            " and userid = (select oid from pg_catalog.pg_roles where rolname = current_user)"
            " and dbid = (select oid from pg_catalog.pg_database where datname = "
            "current_database())"
            " and key ~ '^(calls|rows|wal_|total_|.*blks_|.*blk_.*_time)' group by key",
            NULL},
    .blocker = "select a.pid, coalesce(nullif(a.application_name, ''), r.rolname::text, ''),"
               " coalesce(a.state, ''), left(coalesce(a.query, ''), 190)"
               " from (select unnest(pg_catalog.pg_blocking_pids(?::int)) as pid limit 1) b"
               " join pg_catalog.pg_stat_get_activity(null) a on a.pid = b.pid"
               " left join pg_catalog.pg_roles r on r.oid = a.usesysid",
    .meanings =
        (const struct wait_meaning[]){{"Client", NULL, WAIT_CLIENT},
                                      {NULL, "wal*", WAIT_LOG},
                                      {"Lock", "extend", WAIT_EXTENSION},
                                      {NULL, "DataFileExtend", WAIT_EXTENSION},
                                      {NULL, "LockManager", WAIT_LOCK_MANAGER},
                                      {NULL, "LockFastPath", WAIT_LOCK_MANAGER},
                                      {"Lock", NULL, WAIT_LOCK},
                                      {"BufferPin", NULL, WAIT_BUFFER},
                                      {NULL, "BufferIO", WAIT_DATA_IO},
                                      {NULL, "Buffer*", WAIT_BUFFER},
                                      {NULL, "DataFile*", WAIT_DATA_IO},
                                      {NULL, "Aio*", WAIT_DATA_IO},
                                      {NULL, "SyncRep", WAIT_REPLICATION},
                                      {NULL, "WaitForStandbyConfirmation", WAIT_REPLICATION},
                                      {NULL, "ProcArray*", WAIT_COMMIT},
                                      {NULL, "Xact*", WAIT_COMMIT},
                                      {NULL, "SLRU*", WAIT_COMMIT},
                                      {NULL, "CommitTs*", WAIT_COMMIT},
                                      {NULL, "MultiXact*", WAIT_COMMIT},
                                      {NULL, "Subtrans*", WAIT_COMMIT},
                                      {NULL, "XidGen", WAIT_COMMIT},
                                      {0}}};

/* The extension amcheck, if it is installed, compares indexes with their tables. */
static const struct integrity_statements integrity = {
    .checkpoint = "checkpoint",
    .uptime = "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::bigint",
    .unavailable =
        "select case when check_oid is null then 'bt_index_check of the extension amcheck was not"
        " found' when not has_function_privilege(check_oid, 'execute') then 'this user has no"
        " EXECUTE privilege on bt_index_check' end from"
        " (select to_regprocedure('bt_index_check(regclass, boolean)')::oid as check_oid) as found",
    .check = "select bt_index_check(indexrelid, true) from pg_index where indrelid = $5::regclass"};

static const char *const undone[] = {"alter",   "analyze", "call",     "comment", "create",
                                     "declare", "do",      "drop",     "fetch",   "grant",
                                     "lock",    "release", "reset",    "revoke",  "savepoint",
                                     "set",     "close",   "truncate", NULL};

const struct dialect dialect_postgresql = {
    .name = "postgresql",
    .settings = &settings,
    .integrity = &integrity,
    .waits = &waits,
    .table_mark = &table_mark,
    .classify_error = classify_error,
    .write_text = write_text,
    .describe = describe,
    .limits = ask_limits,
    .declare_column = declare_column,
    .create_tail = "",
    .can_skip_index = true,
    .analyze = "vacuum analyze $0",
    .has_schemas = true,
    .undone = undone,
    .number_from = number_from,
    .partitions = &partitions,
    .foreign_keys = &foreign_keys,
    .storage = &storage,
};
