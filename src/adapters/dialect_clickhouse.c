/*
 * ClickHouse: the meaning of its error codes, its types and its catalogue.
 *
 * The types differ between versions. Tables that this program creates use only types that all
 * versions have, and a column's comment names the intended type ('ipv4' for a UInt32,
 * 'varchar(128)' for a String).
 */
#include <stdio.h>
#include <string.h>

#include "adapters/dialect.h"
#include "base/ask.h"
#include "base/text.h"

enum {
    FIXED_PRECISION_MAX = 18,
    NS_DIGITS = 9,
    CODE_TOO_MANY_PARTS = 252,
};

/* Meanings of error codes; src/Common/ErrorCodes.cpp in ClickHouse's source lists the codes. */
static const struct {
    struct dialect_meaning meaning;
    uint16_t codes[16]; /* numbers of the errors; ends with 0 */
} meanings[] = {
    {{STATUS_FATAL, ERROR_AUTH, NULL}, {192, 193, 194, 195, 291, 497, 516}},
    {{STATUS_FATAL, ERROR_NOT_FOUND, NULL}, {10, 16, 47, 60, 81}},
    {{STATUS_FATAL, ERROR_READ_ONLY, NULL}, {164, 242}},
    {{STATUS_FATAL, ERROR_USAGE, NULL}, {36, 42, 44, 45, 50, 56, 115, 119}},
    /* nothing was stored, because the table has too many parts or too few live replicas, or the
     * server or this user has too many simultaneous queries or connections */
    {{STATUS_REJECTED, ERROR_BUSY, NULL}, {202, 203, 252, 285}},
    {{STATUS_REJECTED, ERROR_TIMEOUT, NULL}, {159, 160}},
    {{STATUS_REJECTED, ERROR_DATA, NULL},
     {6, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 131, 321, 349, 469}},
    /* it is unknown whether the rows were inserted */
    {{STATUS_LOST, ERROR_CONNECTION, NULL}, {319}},
};

static bool classify_error(const struct dialect_failure *failure, struct dialect_meaning *meaning)
{
    bool is_known = false;
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        for (const uint16_t *code = meanings[i].codes; *code != 0; code++) {
            *meaning = *code == failure->number ? meanings[i].meaning : *meaning;
            is_known = is_known || *code == failure->number;
        }
    }
    return is_known;
}

static void write_text(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size)
{
    /* the message is shortened: it ends before the first of these texts, because the rest differs
     * from row to row or is not useful */
    static const char *const ends[] = {
        ", e.what()", " (version ", ". Expected one of", "Stack trace", ": would use", " before: ",
        " (at row ",  ": (at row ", ": elapsed",         "\n",          ". Merges are"};
    const char *const message = failure->text;
    size_t kept = strlen(message);
    (void)user;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const char *end = strstr(message, ends[i]);
        kept = end != NULL && (size_t)(end - message) < kept ? (size_t)(end - message) : kept;
    }
    /* remove the number of parts from "Too many parts (301)", because it differs in every error */
    const char *const bracket = memchr(message, '(', kept);
    if (failure->number == CODE_TOO_MANY_PARTS && bracket != NULL) {
        kept = (size_t)(bracket - message);
    }
    while (kept > 0 && strchr(" .:", message[kept - 1]) != NULL) {
        kept--;
    }
    snprintf(text, size, "%.*s", (int)kept, message);
}

/* ClickHouse's types. enum column_type has no types like Int8 and UInt16, so columns of these types
 * are described as decimals. Each decimal has so few digits that all its values fit into the
 * column. UInt8 is the boolean type of old versions. */
static const struct {
    const char *name;
    enum column_type type;
    enum clickhouse_wire wire;
    uint8_t width;
    uint8_t precision;
} natives[] = {
    {"int8", COLUMN_DECIMAL, CLICKHOUSE_INT, 1, 2},
    {"int16", COLUMN_INT16, CLICKHOUSE_INT, 2, 0},
    {"int32", COLUMN_INT32, CLICKHOUSE_INT, 4, 0},
    {"int64", COLUMN_INT64, CLICKHOUSE_INT, 8, 0},
    {"bool", COLUMN_BOOL, CLICKHOUSE_UINT, 1, 0},
    {"uint8", COLUMN_BOOL, CLICKHOUSE_UINT, 1, 0},
    {"uint16", COLUMN_DECIMAL, CLICKHOUSE_UINT, 2, 4},
    {"uint32", COLUMN_INT32, CLICKHOUSE_UINT, 4, 0},
    {"uint64", COLUMN_INT64, CLICKHOUSE_UINT, 8, 0},
    {"float32", COLUMN_FLOAT32, CLICKHOUSE_FLOAT, 4, 0},
    {"float64", COLUMN_FLOAT64, CLICKHOUSE_FLOAT, 8, 0},
    {"string", COLUMN_TEXT, CLICKHOUSE_STRING, 0, 0},
    {"fixedstring", COLUMN_BYTES, CLICKHOUSE_FIXED, 0, 0},
    {"date", COLUMN_DATE, CLICKHOUSE_UINT, 2, 0},
    {"date32", COLUMN_DATE, CLICKHOUSE_INT, 4, 0},
    {"datetime", COLUMN_TIMESTAMP, CLICKHOUSE_UINT, 4, 0},
    {"datetime64", COLUMN_TIMESTAMP, CLICKHOUSE_INT, 8, 0},
    {"decimal", COLUMN_DECIMAL, CLICKHOUSE_INT, 0, 0},
    {"uuid", COLUMN_UUID, CLICKHOUSE_UUID, 16, 0},
    {"ipv4", COLUMN_IP4, CLICKHOUSE_IP4, 4, 0},
    {"ipv6", COLUMN_IP6, CLICKHOUSE_IP6, 16, 0},
};

/* The types and comments with which columns are created that a script declares. describe finds the
 * column's type from both. */
static const struct {
    const char *type, *comment;
} declared[COLUMN_TYPE_COUNT] = {
    [COLUMN_BOOL] = {"UInt8", NULL},         [COLUMN_INT16] = {"Int16", NULL},
    [COLUMN_INT32] = {"Int32", NULL},        [COLUMN_INT64] = {"Int64", NULL},
    [COLUMN_FLOAT32] = {"Float32", NULL},    [COLUMN_FLOAT64] = {"Float64", NULL},
    [COLUMN_DECIMAL] = {"Decimal", NULL},    [COLUMN_TEXT] = {"String", "text"},
    [COLUMN_BYTES] = {"String", "blob"},     [COLUMN_JSON] = {"String", "json text"},
    [COLUMN_DATE] = {"Date", NULL},          [COLUMN_TIME] = {"String", "time text"},
    [COLUMN_TIMESTAMP] = {"DateTime", NULL}, [COLUMN_UUID] = {"UUID", NULL},
    [COLUMN_IP4] = {"UInt32", "ipv4"},       [COLUMN_IP6] = {"FixedString(16)", "ipv6"},
};

/* Returns the number of bytes in a decimal with this precision. */
static uint32_t width_of_decimal(unsigned long precision)
{
    if (precision <= 9) {
        return 4;
    }
    if (precision <= 18) {
        return 8;
    }
    return precision <= 38 ? 16 : 32;
}

static void read_type(struct column *column, const char *comment)
{
    static const char *const wrappers[] = {"LowCardinality(", "Nullable("};
    char name[ROW_TYPE_NAME_BYTES], inner[ROW_TYPE_NAME_BYTES];
    unsigned long numbers[2] = {0, 0};
    column->is_nullable = false;
    snprintf(inner, sizeof inner, "%s", column->type_name);
    for (size_t i = 0; i < COUNT_OF(wrappers); i++) {
        const size_t length = strlen(wrappers[i]);
        if (strncmp(inner, wrappers[i], length) == 0) {
            column->is_nullable = i > 0;
            memmove(inner, inner + length, strlen(inner + length) + 1);
            inner[inner[0] != '\0' ? strlen(inner) - 1 : 0] = '\0';
        }
    }
    const int count = dialect_split_type(inner, name, sizeof name, numbers);
    for (size_t i = 0; i < COUNT_OF(natives); i++) {
        if (strcmp(natives[i].name, name) != 0) {
            continue;
        }
        uint32_t width = natives[i].width;
        column->type = natives[i].type;
        column->precision = natives[i].precision;
        if (natives[i].wire == CLICKHOUSE_FIXED) {
            width = column->size = (uint32_t)numbers[0];
        } else if (width == 0 && column->type == COLUMN_DECIMAL) {
            width = width_of_decimal(numbers[0]);
            column->precision = (uint8_t)(numbers[0] < 18 ? numbers[0] : 18);
            column->scale = (uint8_t)(count > 1 ? numbers[1] : 0);
        } else if (column->type == COLUMN_TIMESTAMP) {
            column->scale = (uint8_t)(numbers[0] <= NS_DIGITS ? numbers[0] : NS_DIGITS);
        }
        column->native_type = CLICKHOUSE_NATIVE(natives[i].wire, width);
    }
    const enum clickhouse_wire wire = CLICKHOUSE_WIRE(column->native_type);
    const int comment_count = dialect_split_type(comment, name, sizeof name, numbers);
    const enum column_type meant = dialect_type_of(name);
    const bool is_text = column_kinds[meant].is == COLUMN_IS_TEXT || meant == COLUMN_TIME;
    if ((wire == CLICKHOUSE_STRING && is_text) ||
        (column->native_type == CLICKHOUSE_NATIVE(CLICKHOUSE_UINT, 4) && meant == COLUMN_IP4) ||
        (column->native_type == CLICKHOUSE_NATIVE(CLICKHOUSE_FIXED, 16) && meant == COLUMN_IP6)) {
        column->type = meant;
        column->size = wire == CLICKHOUSE_STRING && comment_count > 0 ? (uint32_t)numbers[0] : 0;
    }
}

static bool declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    const char *const type = declared[column->type].type;
    const char *const comment = declared[column->type].comment;
    char numbers[32] = "", marked[48] = "";
    if (type == NULL || is_numbered) {
        return false;
    }
    if (column->type == COLUMN_DECIMAL) {
        snprintf(numbers, sizeof numbers, "(%d,%d)", column->precision > 0 ? column->precision : 18,
                 column->scale);
    }
    if (comment != NULL && column->type == COLUMN_TEXT && column->size > 0) {
        snprintf(marked, sizeof marked, " comment 'varchar(%u)'", column->size);
    } else if (comment != NULL) {
        snprintf(marked, sizeof marked, " comment '%s'", comment);
    }
    snprintf(text, size, "%s%s%s%s%s", column->is_nullable ? "Nullable(" : "", type, numbers,
             column->is_nullable ? ")" : "", marked);
    return true;
}

const struct unsupported *dialect_clickhouse_unsupported(const char *version)
{
    enum {
        FIRST_WITH_DELETE = 2208,
        FIRST_WITH_UPDATE = 2507
    };
    static const struct unsupported lacks[] = {
        {"delete", "ClickHouse has no DELETE before 22.8, only ALTER TABLE ... DELETE, which "
                   "rewrites the stored data some time later"},
        {"update", "ClickHouse has no UPDATE before 25.7, only ALTER TABLE ... UPDATE, which "
                   "rewrites the stored data some time later"},
        {"create index", "ClickHouse has no secondary indexes that find single rows"},
        {"create temporary", "ClickHouse drops a temporary table at the end of the request that "
                             "created it"},
        {0}};
    unsigned year_month[2] = {0};
    text_parse_two(version, '.', year_month);
    const unsigned number = 100 * year_month[0] + year_month[1];
    return &lacks[(number >= FIRST_WITH_DELETE) + (number >= FIRST_WITH_UPDATE)];
}

/* Every column has a default: a column that a statement leaves out gets its own default or the
 * default of its type. */
static const char columns_sql[] =
    "select c.name, c.type, 0, 1,"
    " c.default_kind in ('MATERIALIZED', 'ALIAS'), 0, c.comment"
    " from system.columns as c where c.database = currentDatabase() and c.table = ?";

static void read_column(struct column *column, const struct cell *cells)
{
    char comment[ROW_TYPE_NAME_BYTES];
    dialect_read_common(column, cells);
    ask_text(&cells[DIALECT_COMMON_FIELDS], comment, sizeof comment);
    char *const mark = strstr(comment, TABLE_MARK_PREFIX);
    if (mark != NULL) {
        *mark = '\0';
    }
    read_type(column, comment);
}

static bool take_engine(void *context, const struct cell *cells, size_t count)
{
    struct table *table = context;
    if (count > 0) {
        ask_text(&cells[0], table->engine, sizeof table->engine);
    }
    return true;
}

static enum status describe(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error)
{
    static const struct dialect_columns columns = {DIALECT_COMMON_FIELDS + 1, read_column};
    static const char engine_sql[] =
        "select engine from system.tables where database = currentDatabase() and name = ?";
    struct answer answer = {.take = take_engine, .context = table};
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = dialect_read_columns(asker, columns_sql, &columns, table, error);
    }
    if (status == STATUS_OK && table->column_count == 0) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    }
    if (status == STATUS_OK) {
        status = ask_rows(asker->adapter, asker->conn, engine_sql, table_name, &answer, error);
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

static bool take_limit(void *context, const struct cell *cells, size_t count)
{
    if (count == 2) {
        struct session_limit *limit = dialect_add_limit(
            context, "max_connections", ask_number(&cells[0]), ask_number(&cells[1]));
        if (limit != NULL) {
            snprintf(limit->fix, sizeof limit->fix,
                     "set max_connections to N+8 in config.xml, then restart the server");
        }
    }
    return true;
}

/* Reads the limit on connections. Old servers, which lack system.server_settings, do not report
 * it. */
static enum status limits(const struct dialect_asker *asker, struct server_limits *limits,
                          struct error *error)
{
    int64_t has_settings = 0;
    struct answer number = {.take = ask_take_number, .context = &has_settings};
    struct answer answer = {.take = take_limit, .context = limits};
    limits->tasks_per_session = 1;
    limits->files_per_session = 1;
    const enum status status =
        ask_rows(asker->adapter, asker->conn,
                 "select count(*) from system.tables where database = 'system'"
                 " and name = 'server_settings'",
                 NULL, &number, error);
    return status != STATUS_OK || has_settings == 0
               ? status
               : ask_rows(asker->adapter, asker->conn,
                          "select value, (select sum(value) from system.metrics where metric in"
                          " ('HTTPConnection', 'TCPConnection')) from system.server_settings"
                          " where name = 'max_connections' and value <> '0'",
                          NULL, &answer, error);
}

/* `directory` is on the disk that contains the server's metadata. A storage policy may keep the
 * data of a table on other disks. */
static const struct storage_queries storage = {
    .directory = "select metadata_path from system.tables where database = currentDatabase() and "
                 "metadata_path != '' limit 1",
    .sizes = (const char *const[]){"select toInt64(sum(bytes_on_disk)) from system.parts where "
                                   "active and database = currentDatabase() and table = $5",
                                   NULL},
};

/* The mark by which this program recognises a table that it created is in the comment of the first
 * column, because ClickHouse 18.16 has no comments on tables. */
static const struct table_mark_statements table_mark = {
    .read = "select comment from system.columns"
            " where database = currentDatabase() and table = ? limit 1",
    .place = "select concat(currentDatabase(), '.', ?)",
    .others = (const char *const[]){"select concat(arrayJoin(dependencies_table),"
                                    " ' is a view that keeps its rows') from system.tables where"
                                    " database = currentDatabase() and name = ? limit 1",
                                    NULL},
    .write = "alter table $0 comment column $7 $6",
};

static const struct settings_queries settings = {
    .queries = (const char *const[]){"select name, value from system.settings where changed = 1 or"
                                     " name in ('async_insert', 'wait_for_async_insert',"
                                     " 'insert_quorum', 'insert_distributed_sync') union all"
                                     " select name, value from system.merge_tree_settings where"
                                     " changed = 1 or name like 'fsync%'",
                                     NULL},
    .weak = (const struct weak_setting[]){
        {"wait_for_async_insert", "0", "rows are acknowledged before they are written"}, {0}}};

/* Extract the session's number and the statement's name from User-Agent (see clickhouse.c). A proxy
 * may have added words to User-Agent. */
#define SESSION "toUInt64OrZero(extract(http_user_agent, '[(]session ([0-9]+); '))"
#define STATEMENT "extract(http_user_agent, '[(]session [0-9]+; ([^)]*)[)]')"

/* Divides the time of a query's threads (RealTime) among the waits that the server counts. Leaves
 * out OSIOWait, because the times of reads and writes include this wait. */
#define TIMES_OF(log)                                                                              \
    "with ? as own, now() - ? as since select " STATEMENT " as operation,"                         \
    " if(counter = 'RealTimeMicroseconds', '',"                                                    \
    " replaceRegexpOne(counter, 'M[a-z]+seconds$', '')) as wait,"                                  \
    " toString(sum(time * if(counter like '%Milliseconds', 1000, 1)))"                             \
    " from " log " array join ProfileEvents.Names as counter, ProfileEvents.Values as time"        \
    " where event_date >= toDate(since) and event_time >= since and query_start_time >= since"     \
    " and toInt8(type) in (2, 4) and " SESSION " <> own"                                           \
    " and bitShiftRight(" SESSION ", 24) = bitShiftRight(toUInt64(own), 24)"                       \
    " and counter in ('RealTimeMicroseconds', 'UserTimeMicroseconds', 'SystemTimeMicroseconds',"   \
    " 'OSCPUWaitMicroseconds', 'DiskReadElapsedMicroseconds', 'DiskWriteElapsedMicroseconds',"     \
    " 'FileSyncElapsedMicroseconds', 'DirectorySyncElapsedMicroseconds', 'S3ReadMicroseconds',"    \
    " 'S3WriteMicroseconds', 'RWLockReadersWaitMilliseconds', 'RWLockWritersWaitMilliseconds',"    \
    " 'PartsLockWaitMicroseconds', 'ContextLockWaitMicroseconds', 'DelayedInsertsMilliseconds',"   \
    " 'DelayedMutationsMilliseconds', 'ThrottlerSleepMicroseconds',"                               \
    " 'NetworkReceiveElapsedMicroseconds', 'NetworkSendElapsedMicroseconds',"                      \
    " 'ZooKeeperWaitMicroseconds') group by operation, wait"

/* The server shows a query while it runs. Most of a query's counters are in the query log after the
 * query has ended. The server does not list sessions, so a session without a running query counts
 * as idle. */
static const struct wait_queries waits = {
    .polls =
        (const char *const[]){"select " SESSION ", 1, '', '" WAIT_QUERY "', 0 from system.processes"
                              " union all select toUInt64(0), 0, '', '', 0",
                              NULL},
    .times = (const char *const[]){"system flush logs; " TIMES_OF("system.query_log"),
                                   TIMES_OF("system.query_log"), NULL},
    .no_times = "the time in queries is not divided into waits, because the server's query log "
                "does not show the queries: use the setting log_queries, for example "
                "clickhouse://…?log_queries=1, and GRANT SELECT ON system.query_log to this user",
    .counters = (const char *const[]){"select concat('system.events.', event), toString(value)"
                                      " from system.events where event like '%seconds' or event"
                                      " in ('Query', 'InsertQuery', 'SelectQuery', 'FailedQuery',"
                                      " 'FailedInsertQuery', 'InsertedRows', 'InsertedBytes',"
                                      " 'DelayedInserts', 'RejectedInserts', 'Merge',"
                                      " 'MergedRows', 'MergedUncompressedBytes', 'FileSync',"
                                      " 'ReadBufferFromFileDescriptorReadBytes',"
                                      " 'WriteBufferFromFileDescriptorWriteBytes')",
                                      NULL},
    .meanings = (const struct wait_meaning[]){{NULL, "UserTime", WAIT_CPU},
                                              {NULL, "SystemTime", WAIT_CPU},
                                              {NULL, "OSCPUWait", WAIT_CPU},
                                              {NULL, "Disk*", WAIT_DATA_IO},
                                              {NULL, "FileSync*", WAIT_DATA_IO},
                                              {NULL, "DirectorySync*", WAIT_DATA_IO},
                                              {NULL, "S3*", WAIT_DATA_IO},
                                              {NULL, "RWLock*", WAIT_LOCK},
                                              {NULL, "PartsLock*", WAIT_LOCK},
                                              {NULL, "ContextLock*", WAIT_LOCK},
                                              {NULL, "Network*", WAIT_CLIENT},
                                              {NULL, "ZooKeeper*", WAIT_REPLICATION},
                                              {0}}};

const struct dialect dialect_clickhouse = {
    .name = "clickhouse",
    .waits = &waits,
    .settings = &settings,
    .integrity = &(const struct integrity_statements){.uptime = "select uptime()"},
    .table_mark = &table_mark,
    .classify_error = classify_error,
    .write_text = write_text,
    .describe = describe,
    .limits = limits,
    .declare_column = declare_column,
    .create_tail = " ENGINE = MergeTree() ORDER BY tuple()",
    .storage = &storage,
};
