/*
 * SQLite: the meaning of its result codes, and its catalogue; also functions that all dialects
 * share. The declared type of a SQLite column is free text. If the text is a type name that
 * dialect_type_of knows, also one of another database, the column has this type. Otherwise the
 * column has the affinity that SQLite derives from the text.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/dialect.h"
#include "base/ask.h"

/* Meanings of SQLite's result codes (https://sqlite.org/rescode.html). Extended codes are listed
 * before their primary code, which is the lowest byte of an extended code. `part` is a text within
 * the message. It distinguishes failures with the same code, because some drivers report only the
 * primary code, and because the code ERROR (1) covers many failures. */
static const struct {
    int code; /* SQLite's code; 0: any code */
    const char *part;
    enum status status;
    enum error_kind kind;
} meanings[] = {
    {19, "UNIQUE constraint failed", STATUS_REJECTED, ERROR_DUPLICATE},
    {517, "", STATUS_REJECTED, ERROR_SERIALIZATION}, /* BUSY_SNAPSHOT */
    {1555, "", STATUS_REJECTED, ERROR_DUPLICATE},    /* CONSTRAINT_PRIMARYKEY */
    {2067, "", STATUS_REJECTED, ERROR_DUPLICATE},    /* CONSTRAINT_UNIQUE */
    {2579, "", STATUS_REJECTED, ERROR_DUPLICATE},    /* CONSTRAINT_ROWID */
    {3, "", STATUS_FATAL, ERROR_AUTH},               /* PERM */
    {5, "", STATUS_REJECTED, ERROR_BUSY},            /* BUSY */
    {6, "", STATUS_REJECTED, ERROR_BUSY},            /* LOCKED */
    {7, "", STATUS_FATAL, ERROR_MEMORY},             /* NOMEM */
    {8, "", STATUS_FATAL, ERROR_AUTH},               /* READONLY */
    {9, "", STATUS_LOST, ERROR_CONNECTION},          /* INTERRUPT */
    {10, "", STATUS_REJECTED, ERROR_SYSTEM},         /* a failure of this machine's disk */
    {11, "", STATUS_FATAL, ERROR_SERVER},            /* CORRUPT */
    {13, "", STATUS_REJECTED, ERROR_SYSTEM},         /* FULL, for example this machine's disk */
    {14, "", STATUS_FATAL, ERROR_NOT_FOUND},         /* CANTOPEN */
    {18, "", STATUS_REJECTED, ERROR_DATA},           /* TOOBIG */
    {19, "", STATUS_REJECTED, ERROR_DATA},           /* CONSTRAINT */
    {20, "", STATUS_REJECTED, ERROR_DATA},           /* MISMATCH */
    {23, "", STATUS_FATAL, ERROR_AUTH},              /* AUTH */
    {26, "", STATUS_FATAL, ERROR_UNSUPPORTED},       /* NOTADB */
    {0, "no such ", STATUS_FATAL, ERROR_NOT_FOUND},
    {0, " has no column named ", STATUS_FATAL, ERROR_NOT_FOUND},
};

static bool classify_error(const struct dialect_failure *failure, struct dialect_meaning *meaning)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        const int code = meanings[i].code;
        if ((code == 0 || code == failure->number || code == (failure->number & 0xff)) &&
            strstr(failure->text, meanings[i].part) != NULL) {
            *meaning = (struct dialect_meaning){meanings[i].status, meanings[i].kind, NULL};
            return true;
        }
    }
    return false;
}

static void write_text(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size)
{
    (void)user;
    snprintf(text, size, "%s", failure->text);
}

enum column_type dialect_type_of(const char *name)
{
    static const struct {
        enum column_type type;
        const char *names[12]; /* names of the type; ends with NULL */
    } types[] = {
        {COLUMN_BOOL, {"boolean", "bool"}},
        {COLUMN_INT16, {"smallint", "int2", "short"}},
        {COLUMN_INT32, {"int", "int4", "mediumint"}},
        {COLUMN_INT64, {"integer", "bigint", "int8", "long"}},
        {COLUMN_FLOAT32, {"float", "float4"}},
        {COLUMN_FLOAT64, {"real", "double", "double precision", "float8"}},
        {COLUMN_DECIMAL, {"decimal", "numeric"}},
        {COLUMN_TEXT,
         {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "string", "bpchar"}},
        {COLUMN_BYTES,
         {"bytea", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}},
        {COLUMN_JSON, {"json", "json text", "jsonb"}},
        {COLUMN_DATE, {"date", "date text"}},
        {COLUMN_TIME, {"time", "time text"}},
        {COLUMN_TIMESTAMP, {"timestamp", "timestamp text", "datetime", "datetime text"}},
        {COLUMN_UUID, {"uuid", "uuid text"}},
        {COLUMN_IP4, {"ipv4", "ipv4 text", "inet4"}},
        {COLUMN_IP6, {"ipv6", "ipv6 text", "inet6"}},
    };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        for (const char *const *at = types[i].names; *at != NULL; at++) {
            if (strcasecmp(*at, name) == 0) {
                return types[i].type;
            }
        }
    }
    return COLUMN_UNSUPPORTED;
}

int dialect_split_type(const char *declared, char *name, size_t size, unsigned long numbers[2])
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

/* The arguments of a virtual table (hidden = 1) are not columns. */
static const char columns_sql[] =
    "select name, type, \"notnull\" or pk > 0, dflt_value is not null, hidden > 1,"
    " exists (select 1 from pragma_index_list(t.n) l join pragma_index_info(l.name) i"
    "  where l.\"unique\" = 1 and l.partial = 0 group by l.name having count(*) = 1 and "
    "max(i.name) = c.name),"
    " pk > 0 and (select count(*) from pragma_table_xinfo(t.n) where pk > 0) = 1,"
    " (select wr from pragma_table_list where schema = 'main' and name = t.n collate nocase)"
    " from (select ? as n) t join pragma_table_xinfo(t.n) c"
    " where hidden <> 1"
    " and exists (select 1 from sqlite_schema where type = 'table' and name = t.n collate nocase)"
    " order by cid";

enum {
    FIELD_IS_ONLY_KEY = DIALECT_COMMON_FIELDS,
    FIELD_HAS_NO_ROWID,
    FIELD_COUNT,
    PRECISION_MAX = 18
};

static void read_column(struct column *column, const struct cell *cells)
{
    /* the rules of https://sqlite.org/datatype3.html, section 3.1, in their order */
    static const struct {
        const char *part;
        enum column_type type;
    } affinities[] = {{"int", COLUMN_INT64},    {"char", COLUMN_TEXT},    {"clob", COLUMN_TEXT},
                      {"text", COLUMN_TEXT},    {"blob", COLUMN_BYTES},   {"real", COLUMN_FLOAT64},
                      {"floa", COLUMN_FLOAT64}, {"doub", COLUMN_FLOAT64}, {"", COLUMN_DECIMAL}};
    char name[ROW_TYPE_NAME_BYTES];
    unsigned long numbers[2] = {0, 0};
    dialect_read_common(column, cells);
    const int count = dialect_split_type(column->type_name, name, sizeof name, numbers);
    column->type = name[0] == '\0' ? COLUMN_TEXT : dialect_type_of(name);
    for (size_t i = 0; column->type == COLUMN_UNSUPPORTED; i++) {
        column->type = strstr(name, affinities[i].part) ? affinities[i].type : COLUMN_UNSUPPORTED;
    }
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) {
        column->size = count > 0 && numbers[0] <= UINT32_MAX ? (uint32_t)numbers[0] : 0;
    } else if (column->type == COLUMN_DECIMAL && count > 0) {
        column->precision = (uint8_t)(numbers[0] < PRECISION_MAX ? numbers[0] : PRECISION_MAX);
        column->scale = (uint8_t)(numbers[1] < PRECISION_MAX ? numbers[1] : PRECISION_MAX);
    }
    const bool is_only_key = ask_number(&cells[FIELD_IS_ONLY_KEY]) != 0;
    column->is_unique |= is_only_key;
    /* an INTEGER column that alone is the primary key is an alias of the rowid, to which SQLite
     * assigns a value */
    column->has_default |= is_only_key && ask_number(&cells[FIELD_HAS_NO_ROWID]) == 0 &&
                           strcasecmp(column->type_name, "integer") == 0;
}

static enum status describe(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error)
{
    static const struct dialect_columns columns = {FIELD_COUNT, read_column};
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = dialect_read_columns(asker, columns_sql, &columns, table, error);
    }
    if (status == STATUS_OK && table->column_count == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* Writes type names from which describe() finds the types again. The type names of times and
 * addresses contain "text", because SQLite would otherwise convert texts that look like numbers.
 * SQLite assigns numbers only to a column of type INTEGER that is the whole primary key, because
 * this column is the rowid. */
static bool declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    static const char *const names[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = "boolean",
        [COLUMN_INT16] = "smallint",
        [COLUMN_INT32] = "int",
        [COLUMN_INT64] = "bigint",
        [COLUMN_FLOAT32] = "float",
        [COLUMN_FLOAT64] = "double",
        [COLUMN_DECIMAL] = "decimal",
        [COLUMN_TEXT] = "text",
        [COLUMN_BYTES] = "blob",
        [COLUMN_JSON] = "json text",
        [COLUMN_DATE] = "date text",
        [COLUMN_TIME] = "time text",
        [COLUMN_TIMESTAMP] = "timestamp text",
        [COLUMN_UUID] = "uuid text",
        [COLUMN_IP4] = "ipv4 text",
        [COLUMN_IP6] = "ipv6 text",
    };
    const bool is_integer = column->type == COLUMN_INT16 || column->type == COLUMN_INT32 ||
                            column->type == COLUMN_INT64;
    const char *name = is_numbered ? "integer" : names[column->type];
    char numbers[32] = "";
    if (name == NULL || (is_numbered && !(is_integer && column->is_unique))) {
        return false;
    }
    if (column->type == COLUMN_DECIMAL && column->precision > 0) {
        snprintf(numbers, sizeof numbers, "(%u,%u)", column->precision, column->scale);
    } else if ((column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) && column->size > 0) {
        name = column->type == COLUMN_TEXT ? "varchar" : name;
        snprintf(numbers, sizeof numbers, "(%u)", column->size);
    }
    snprintf(text, size, "%s%s%s", name, numbers, column->is_nullable ? "" : " not null");
    return true;
}

/* Functions that all dialects share. */

void dialect_read_common(struct column *column, const struct cell *cells)
{
    ask_text(&cells[0], column->name, sizeof column->name);
    ask_text(&cells[1], column->type_name, sizeof column->type_name);
    column->is_nullable = ask_number(&cells[2]) == 0;
    column->has_default = ask_number(&cells[3]) != 0;
    column->is_generated = ask_number(&cells[4]) != 0;
    column->is_unique = ask_number(&cells[5]) != 0;
}

struct reading {
    const struct dialect_columns *columns;
    struct table *table;
    enum status status;
    struct error *error;
};

static bool take_column(void *context, const struct cell *cells, size_t count)
{
    struct reading *reading = context;
    struct column column = {0};
    if (count < reading->columns->fields) {
        return false;
    }
    reading->columns->read(&column, cells);
    reading->status = table_add_column(reading->table, &column, reading->error);
    return reading->status == STATUS_OK;
}

enum status dialect_read_columns(const struct dialect_asker *asker, const char *sql,
                                 const struct dialect_columns *columns, struct table *table,
                                 struct error *error)
{
    struct reading reading = {columns, table, STATUS_OK, error};
    struct answer answer = {.take = take_column, .context = &reading};
    const enum status status =
        ask_rows(asker->adapter, asker->conn, sql, table->name, &answer, error);
    return status == STATUS_OK ? reading.status : status;
}

struct session_limit *dialect_add_limit(struct server_limits *limits, const char *name,
                                        int64_t allowed, int64_t used)
{
    if (limits->count == SESSION_LIMITS_MAX) {
        return NULL;
    }
    struct session_limit *limit = &limits->sessions[limits->count++];
    *limit = (struct session_limit){.allowed = allowed > 0 ? (uint64_t)allowed : 0,
                                    .used = used > 0 ? (uint64_t)used : 0};
    snprintf(limit->name, sizeof limit->name, "%s", name);
    return limit;
}

enum status dialect_record(const struct dialect_meaning *meaning,
                           const struct dialect_failure *failure, const char *text,
                           struct error *error)
{
    if (error_set(error, meaning->kind, failure->number, failure->sqlstate, "%s", text)) {
        error->limit = meaning->limit;
    }
    return meaning->status;
}

void dialect_inspect(const struct dialect *dialect, struct connection_info *info)
{
    info->declare_column = dialect->declare_column;
    info->create_tail = dialect->create_tail;
    info->number_from = dialect->number_from;
    info->can_skip_index = dialect->can_skip_index;
    info->analyze = dialect->analyze;
    info->partitions = dialect->partitions;
    info->foreign_keys = dialect->foreign_keys;
    info->storage = dialect->storage;
    info->table_mark = dialect->table_mark;
    info->settings = dialect->settings;
    info->integrity = dialect->integrity;
    info->waits = dialect->waits;
    info->lift_row_limit = dialect->lift_row_limit;
    info->lasting_tables = dialect->lasting_tables;
    info->has_schemas = dialect->has_schemas;
    info->undone = dialect->undone;
}

enum status dialect_describe(const struct adapter *adapter, struct adapter_conn *conn,
                             const char *table_name, struct table *table, struct error *error)
{
    const struct dialect_asker asker = {.adapter = adapter, .conn = conn};
    return adapter->dialect->describe(&asker, table_name, table, error);
}

enum status dialect_server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                  struct server_limits *limits, struct error *error)
{
    const struct dialect_asker asker = {.adapter = adapter, .conn = conn};
    memset(limits, 0, sizeof *limits);
    return adapter->dialect->limits(&asker, limits, error);
}

enum status dialect_memory_error(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
    return STATUS_FATAL;
}

void dialect_add_sessions(struct buffer *sql, const struct session_name *names, size_t count,
                          int no_port)
{
    for (size_t i = 0; i < count; i++) {
        buffer_add_format(sql, "%s'%" PRIu64 ":%d'", i > 0 ? ", " : "", names[i].number,
                          names[i].port > 0 ? (int)names[i].port : no_port);
    }
}

enum status dialect_check_parameters(const struct statement *statement, size_t marks,
                                     struct error *error)
{
    const size_t types = statement->parameters != NULL ? statement->parameters->column_count : 0;
    if (marks == types) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "the statement has %zu parameters, but lists %zu types: \"%.150s\"", marks, types,
              statement->sql);
    return STATUS_FATAL;
}

enum status dialect_refuse_transaction(enum status status, struct error *error)
{
    if (status != STATUS_OK) {
        return status;
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "the statement leaves a transaction open: end it with commit or rollback");
    return STATUS_FATAL;
}

enum status dialect_check_transaction(enum status status, bool is_open, struct error *error)
{
    if (status != STATUS_OK || is_open) {
        return status;
    }
    error_set(
        error, ERROR_USAGE, 0, NULL,
        "the statement ended the transaction: declare the transaction with {autocommit = true}");
    return STATUS_FATAL;
}

/* The mark by which this program recognises a table that it created is the name of an index that
 * contains no rows, because SQLite's tables have no comments. */
static const struct table_mark_statements table_mark = {
    .read = "select name from sqlite_schema where type = 'index' and tbl_name = ? collate nocase"
            " and name glob 'made by append:*'",
    .place = "select file || '.' || ? from pragma_database_list where name = 'main'",
    .others =
        (const char *const[]){
            "with own(name) as (select ?) select m.name || ' refers to it', (select m.name from"
            " sqlite_schema i where i.type = 'index' and i.tbl_name = m.name and i.name glob"
            " 'made by append:*') from own, sqlite_schema m, pragma_foreign_key_list(m.name) f"
            " where m.type = 'table' and f.\"table\" = own.name collate nocase and m.name <>"
            " own.name collate nocase union all select m.name || ' is a trigger of it', null from "
            "own,"
            " sqlite_schema m where m.type = 'trigger' and m.tbl_name = own.name collate nocase",
            NULL},
    .write = "create index $8 on $0 ($7) where 0",
    .erase = "drop index $9",
};

static const struct settings_queries settings = {
    .queries =
        (const char *const[]){
            "select 'synchronous', case synchronous when 0 then 'off' when 1 then 'normal'"
            " when 2 then 'full' else 'extra' end from pragma_synchronous"
            " union all select 'journal_mode', journal_mode from pragma_journal_mode"
            " union all select 'locking_mode', locking_mode from pragma_locking_mode"
            " union all select 'page_size', page_size from pragma_page_size"
            " union all select 'cache_size', cache_size from pragma_cache_size",
            NULL},
    .weak = (const struct weak_setting[]){
        {"synchronous", "off", "a crash of the machine can corrupt the database"},
        {"journal_mode", "off", "a crash can corrupt the database"},
        {"journal_mode", "memory", "a crash can corrupt the database"},
        {0}}};

static const struct foreign_key_statements foreign_keys = {
    .engine = "", .count = "select count(distinct id) from pragma_foreign_key_list(?)"};

/* The SQL function append_session, which sqlite.c defines, lists the adapter's sessions. The kernel
 * shows what a working session waits for. */
static const struct wait_queries waits = {
    .polls =
        (const char *const[]){
            "with recursive n(i) as (select 0 union all select i + 1 from n where"
            " append_session(i + 1) is not null),"
            " s(p) as materialized (select append_session(i) from n)"
            " select p >> 23, 1, iif(p & 1, 'Lock', 'work'), iif(p & 1, 'write lock', null),"
            " (p >> 1) & 4194303 from s where p is not null",
            NULL},
    .has_stages = true,
    .meanings = (const struct wait_meaning[]){{"Lock", NULL, WAIT_LOCK},
                                              {"work", "hrtimer_nanosleep*", WAIT_LOCK},
                                              {"work", "futex*", WAIT_BUFFER},
                                              {"work", "", WAIT_CPU},
                                              {"work", NULL, WAIT_DATA_IO},
                                              {0}}};

const struct dialect dialect_sqlite = {
    .name = "sqlite",
    .waits = &waits,
    .settings = &settings,
    .integrity = &(const struct integrity_statements){.checkpoint = "pragma wal_checkpoint",
                                                      .check = "pragma integrity_check($0)"},
    .table_mark = &table_mark,
    .classify_error = classify_error,
    .write_text = write_text,
    .describe = describe,
    .declare_column = declare_column,
    .can_skip_index = true,
    .analyze = "analyze $0",
    .undone = (const char *const[]){"alter", "create", "drop", "release", "savepoint", NULL},
    .foreign_keys = &foreign_keys,
};
