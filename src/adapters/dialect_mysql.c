/* MariaDB, MySQL and their kin: what their error numbers mean, their information schema, their
 * limits. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/dialect.h"
#include "base/ask.h"

/* Error numbers that mean the same; those from 2000 to 2999 are the client library's. */
struct number_meaning {
    struct dialect_meaning meaning;
    uint16_t numbers[20]; /* ends with 0 */
};

static const struct number_meaning connect_meanings[] = {
    {{STATUS_LOST, ERROR_LIMIT, "max_connections"}, {1040}},
    {{STATUS_LOST, ERROR_LIMIT, "max_user_connections"}, {1203}},
    {{STATUS_LOST, ERROR_LIMIT, ""}, {1226}}, /* a resource limit of the user: see resources */
    {{STATUS_LOST, ERROR_LIMIT, ERROR_LIMIT_TASKS}, {1135}},
    {{STATUS_LOST, ERROR_LIMIT, NULL}, {1041}}, /* out of memory */
    /* the server cannot resolve this host; the client library not the server's */
    {{STATUS_LOST, ERROR_UNREACHABLE, NULL}, {1042, 2005}},
    {{STATUS_LOST, ERROR_CONNECTION, NULL}, {1043, 2006, 2013}}, /* bad handshake, gone, lost */
    {{STATUS_LOST, ERROR_SERVER, NULL}, {1053}},                 /* shutting down */
    /* no rights in this database or to create it, password wrong, expired or to be changed first,
     * host blocked or not allowed, account locked, TLS only, TLS and authentication that fail */
    {{STATUS_FATAL, ERROR_AUTH, NULL},
     {1044, 1045, 1129, 1130, 1142, 1227, 1396, 1698, 1820, 1862, 3118, 3159, 3955, 4151, 2026,
      2061}},
    {{STATUS_FATAL, ERROR_NOT_FOUND, NULL}, {1049}}, /* no such database */
    /* ways of authentication, protocol version, answers that make no sense */
    {{STATUS_FATAL, ERROR_UNSUPPORTED, NULL}, {1251, 1290, 1524, 2007, 2027, 2059}},
    {{STATUS_FATAL, ERROR_MEMORY, NULL}, {2008}},
};

/* Numbers that no SQLSTATE tells apart, or that have one of no use. */
static const struct number_meaning call_meanings[] = {
    /* files and disks of the server, its memory, its storage engine; syntax of the user's */
    {{STATUS_REJECTED, ERROR_SERVER, NULL}, {1016, 1021, 1023, 1030, 1037, 1041, 1064, 1114}},
    {{STATUS_REJECTED, ERROR_DUPLICATE, NULL}, {1062}},
    /* NULL, out of range, cut, no default, foreign keys, no partition, a trigger, a check */
    {{STATUS_REJECTED, ERROR_DATA, NULL},
     {1048, 1264, 1265, 1364, 1366, 1406, 1451, 1452, 1470, 1526, 1644, 3819, 4025}},
    {{STATUS_REJECTED, ERROR_BUSY, NULL}, {1099, 1205, 3572}}, /* waited for a lock */
    {{STATUS_REJECTED, ERROR_DEADLOCK, NULL}, {1213}},
    /* the row has changed since it was read; TiDB's two */
    {{STATUS_REJECTED, ERROR_SERIALIZATION, NULL}, {1020, 8028, 9007}},
    {{STATUS_REJECTED, ERROR_TIMEOUT, NULL}, {1317, 1969, 3024}},
    {{STATUS_REJECTED, ERROR_LIMIT, "max_user_connections"}, {1203}},
    {{STATUS_REJECTED, ERROR_LIMIT, ""}, {1226}},
    {{STATUS_FATAL, ERROR_LIMIT, "max_prepared_stmt_count"}, {1461}},
    {{STATUS_FATAL, ERROR_AUTH, NULL}, {1044, 1045, 1142, 1143, 1227, 1370}},
    {{STATUS_FATAL, ERROR_USAGE, NULL}, {1046, 1136, 1171}}, /* no database chosen; the table */
    {{STATUS_FATAL, ERROR_NOT_FOUND, NULL}, {1049, 1054, 1146}},
    /* read-only tables, views, engines, generated columns */
    {{STATUS_FATAL, ERROR_UNSUPPORTED, NULL}, {1036, 1148, 1286, 1347, 1394, 1471, 3105}},
    {{STATUS_FATAL, ERROR_READ_ONLY, NULL}, {1290, 1792, 1836}},
    {{STATUS_FATAL, ERROR_DATA, NULL}, {1153, 2020}}, /* max_allowed_packet */
    {{STATUS_FATAL, ERROR_MEMORY, NULL}, {2008}},
    /* shut down, killed, aborted, idle too long; an answer that makes no sense, or none */
    {{STATUS_LOST, ERROR_CONNECTION, NULL},
     {1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1927, 4031, 2000, 2006, 2013, 2014, 2026,
      2027, 2055}},
};

/* What class of SQLSTATE a number without a meaning of its own belongs to. */
static const struct {
    const char *start;
    struct dialect_meaning meaning;
} state_meanings[] = {
    {"22", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"23", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"45", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"40003", {STATUS_LOST, ERROR_CONNECTION, NULL}}, /* nobody knows whether it was done */
    {"40", {STATUS_REJECTED, ERROR_SERIALIZATION, NULL}},
    {"08", {STATUS_LOST, ERROR_CONNECTION, NULL}},
    {"28", {STATUS_FATAL, ERROR_AUTH, NULL}},
    {"42S", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}},
};

/* What is full, where a driver has a number of its own. The longer name is the first one. */
static const struct {
    const char *words;
    const char *limit;
} full[] = {
    {"max_user_connections", "max_user_connections"},
    {"max_connections_per_hour", "max_connections_per_hour"},
    {"Too many connections", "max_connections"},
    {"create a new thread", ERROR_LIMIT_TASKS},
};

static bool find_number(const struct number_meaning *meanings, size_t count, int number,
                        struct dialect_meaning *meaning)
{
    for (size_t i = 0; i < count; i++) {
        for (const uint16_t *at = meanings[i].numbers; *at != 0; at++) {
            if (*at == number) {
                *meaning = meanings[i].meaning;
                return true;
            }
        }
    }
    return false;
}

static bool explain(const struct dialect_failure *failure, struct dialect_meaning *meaning)
{
    const bool is_known =
        failure->is_connecting
            ? find_number(connect_meanings, COUNT_OF(connect_meanings), failure->number, meaning)
            : find_number(call_meanings, COUNT_OF(call_meanings), failure->number, meaning);
    const bool may_be_full = failure->is_connecting && !is_known;
    if (may_be_full || (is_known && meaning->limit != NULL && meaning->limit[0] == '\0')) {
        for (size_t i = 0; i < COUNT_OF(full); i++) {
            if (strstr(failure->text, full[i].words) != NULL) {
                const enum status status = may_be_full ? STATUS_LOST : meaning->status;
                *meaning = (struct dialect_meaning){status, ERROR_LIMIT, full[i].limit};
                return true;
            }
        }
    }
    for (size_t i = 0; !is_known && i < COUNT_OF(state_meanings); i++) {
        const char *const start = state_meanings[i].start;
        if ((!failure->is_connecting || strcmp(start, "28") == 0) &&
            strncmp(start, failure->sqlstate, strlen(start)) == 0) {
            *meaning = state_meanings[i].meaning;
            return true;
        }
    }
    return is_known;
}

/* Cuts out what stands between the end of `before` and the last `after`, with the quotes. */
static void cut_value(char *text, const char *before, const char *open, const char *after)
{
    char *const found = strstr(text, before);
    char *const start = found != NULL ? found + strlen(before) : NULL;
    const char *last = NULL;
    if (start == NULL || strncmp(start, open, strlen(open)) != 0) {
        return;
    }
    for (const char *at = strstr(start, after); at != NULL; at = strstr(at + 1, after)) {
        last = at;
    }
    if (last != NULL) {
        memmove(start, last + 1, strlen(last + 1) + 1); /* from behind the closing quote */
    }
}

/* Values and numbers of rows differ from row to row: without them equal causes have equal texts. */
static void make_equal(char *text)
{
    char *const row = strstr(text, " at row ");
    if (row != NULL && row[strcspn(row, "0123456789")] != '\0') {
        char *end = row + strlen(" at row ");
        while (isdigit((unsigned char)*end)) {
            end++;
        }
        memmove(row, end, strlen(end) + 1);
    }
    cut_value(text, "Duplicate entry", " '", "' for key");
    cut_value(text, " value", ": '", "' for column");
}

/* Which right is missing, or how a password is given. */
static void write_hint(int number, const char *message, char *hint, size_t size)
{
    char right[40], user[100], table[100];
    if (number == 1698 || (number == 1045 && strstr(message, "(using password: NO)") != NULL)) {
        snprintf(hint, size,
                 ": give a password in a file (--password-file FILE), in APPEND_PASSWORD, or as "
                 "the client library has it (~/.my.cnf)");
    } else if (number == 1142 && sscanf(message,
                                        "%39[A-Z ] command denied to user %99s for table "
                                        "%99[^\n]",
                                        right, user, table) == 3) {
        snprintf(hint, size, ": GRANT %s ON %s TO %s", right, table, user);
    } else if (number == 1044 &&
               sscanf(message, "Access denied for user %99s to database '%99[^']'", user, table) ==
                   2) {
        snprintf(hint, size, ": GRANT SELECT, INSERT, CREATE, DROP ON `%s`.* TO %s", table, user);
    }
}

static void write_text(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size)
{
    char hint[260] = "";
    (void)user;
    write_hint(failure->number, failure->text, hint, sizeof hint);
    snprintf(text, size, "%s", failure->text);
    make_equal(text);
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s", hint);
}

static const char table_sql[] = "select table_type, engine from information_schema.tables"
                                " where table_schema = database() and table_name = ?";

static const char columns_sql[] =
    "select column_name, column_type, data_type, is_nullable = 'NO',"
    " column_default is not null and column_default <> 'NULL', extra,"
    " character_maximum_length, numeric_precision, numeric_scale, datetime_precision,"
    " column_comment from information_schema.columns"
    " where table_schema = database() and table_name = ? order by ordinal_position";

/* The indexes of one column, with the characters of it that they hold. */
static const char indexes_sql[] =
    "select min(column_name), max(sub_part) from information_schema.statistics"
    " where non_unique = 0 and table_schema = database() and table_name = ?"
    " group by index_name having count(*) = 1";

/* MariaDB's JSON is text with a check. MySQL has no such column here. */
static const char json_sql[] = "select check_clause from information_schema.check_constraints"
                               " where constraint_schema = database() and table_name = ?";

/* How long a statement can be: with the byte that tells the command it has to be shorter than what
 * the server calls its packet. */
static const char length_sql[] = "select greatest(@@max_allowed_packet, @@net_buffer_length) - 2";

static const char engine_sql[] =
    "select transactions from information_schema.engines where engine = ?";

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
    FIELD_COUNT,
};

enum {
    UTF8_BYTES_MAX = 4, /* of one character */
};

/* Integers that are narrower than a type of append, or not signed, are decimals that fit. */
static bool set_integer(struct column *column, const char *type)
{
    const bool is_unsigned = strstr(column->type_name, "unsigned") != NULL;
    column->type = COLUMN_DECIMAL;
    if (strcmp(type, "tinyint") == 0) {
        column->type =
            strncmp(column->type_name, "tinyint(1)", 10) == 0 ? COLUMN_BOOL : COLUMN_DECIMAL;
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

/* Databases without types for these hold them in columns of text or bytes; a comment tells. */
static bool set_commented(struct column *column, const char *comment)
{
    static const struct {
        const char *comment;
        enum column_type type;
    } types[] = {{"ipv4", COLUMN_IP4}, {"ipv6", COLUMN_IP6}, {"uuid", COLUMN_UUID}};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcasecmp(types[i].comment, comment) == 0) {
            column->native_type =
                column->type == COLUMN_TEXT ? MYSQL_NATIVE_TEXT : MYSQL_NATIVE_OTHER;
            column->type = types[i].type;
            return true;
        }
    }
    return false;
}

static void set_type(struct column *column, const char *type, const struct cell *cells)
{
    char comment[16];
    if (set_integer(column, type)) {
        return;
    }
    column->type = dialect_type_of(type);
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) {
        ask_text(&cells[FIELD_COMMENT], comment, sizeof comment);
        if (set_commented(column, comment)) {
            return;
        }
        /* of the large texts the length is one of bytes */
        const bool is_large = column->type == COLUMN_TEXT && strstr(type, "text") != NULL;
        const int64_t size = ask_number(&cells[FIELD_LENGTH]) / (is_large ? UTF8_BYTES_MAX : 1);
        column->size = size > UINT32_MAX ? 0 : (uint32_t)size;
    } else if (column->type == COLUMN_DECIMAL) {
        const int64_t precision = ask_number(&cells[FIELD_PRECISION]);
        column->precision = (uint8_t)(precision < UINT8_MAX ? precision : UINT8_MAX);
        column->scale = (uint8_t)ask_number(&cells[FIELD_SCALE]);
    } else if (column->type == COLUMN_TIME || column->type == COLUMN_TIMESTAMP) {
        column->scale = (uint8_t)ask_number(&cells[FIELD_FRACTION]);
        column->native_type =
            strcasecmp(type, "timestamp") == 0 ? MYSQL_NATIVE_TIMESTAMP : MYSQL_NATIVE_OTHER;
    }
}

/* EXTRA also says how a default is made, which is not the same as a column that is computed. */
static bool is_computed(const char *extra)
{
    static const char *const words[] = {"STORED GENERATED", "VIRTUAL",   "PERSISTENT", "computed",
                                        "INVISIBLE SYSTEM", "ROW START", "ROW END"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strstr(extra, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void read_column(struct column *column, const struct cell *cells)
{
    char extra[160];
    char type[ROW_TYPE_NAME_BYTES];
    ask_text(&cells[FIELD_NAME], column->name, sizeof column->name);
    ask_text(&cells[FIELD_TYPE_NAME], column->type_name, sizeof column->type_name);
    ask_text(&cells[FIELD_TYPE], type, sizeof type);
    ask_text(&cells[FIELD_EXTRA], extra, sizeof extra);
    column->is_nullable = ask_number(&cells[FIELD_IS_REQUIRED]) == 0;
    column->is_generated = is_computed(extra);
    column->has_default = ask_number(&cells[FIELD_HAS_DEFAULT]) != 0 || column->is_generated ||
                          strstr(extra, "auto_increment") != NULL ||
                          strstr(extra, "DEFAULT_GENERATED") != NULL;
    set_type(column, type, cells);
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

static bool take_index(void *context, const struct cell *cells, size_t count)
{
    char name[ROW_NAME_BYTES] = "";
    if (count == 2) {
        ask_text(&cells[0], name, sizeof name); /* "": an index of an expression */
    }
    struct column *column = find_column(context, name);
    if (column != NULL) {
        const int64_t part = ask_number(&cells[1]);
        column->is_unique = true;
        if (part > 0 && (column->size == 0 || part < column->size)) {
            column->size = (uint32_t)part; /* only so much of the value is looked at */
        }
    }
    return true;
}

static bool take_check(void *context, const struct cell *cells, size_t count)
{
    char clause[ROW_NAME_BYTES + 32] = "";
    char name[ROW_NAME_BYTES];
    if (count == 1) {
        ask_text(&cells[0], clause, sizeof clause);
    }
    if (sscanf(clause, "json_valid(`%259[^`]`)", name) == 1) {
        struct column *column = find_column(context, name);
        if (column != NULL && column->type == COLUMN_TEXT) {
            column->type = COLUMN_JSON;
            column->size = 0;
        }
    }
    return true;
}

/* The first row of a result. */
struct first {
    bool is_there;
    char texts[2][ROW_TYPE_NAME_BYTES];
};

static bool take_first(void *context, const struct cell *cells, size_t count)
{
    struct first *first = context;
    first->is_there = true;
    for (size_t i = 0; i < count && i < 2; i++) {
        ask_text(&cells[i], first->texts[i], sizeof first->texts[i]);
    }
    return false;
}

static enum status read_kind(const struct dialect_asker *asker, struct table *table,
                             struct error *error)
{
    struct first first = {0};
    struct answer answer = {.take = take_first, .context = &first};
    const enum status status =
        ask_rows(asker->adapter, asker->conn, table_sql, table->name, &answer, error);
    if (status != STATUS_OK) {
        return status;
    }
    const bool is_view = strstr(first.texts[0], "VIEW") != NULL;
    if (!first.is_there) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table->name);
        return STATUS_REJECTED;
    }
    if (is_view || strstr(first.texts[0], "SEQUENCE") != NULL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "\"%.160s\" is a %s: rows go to tables",
                  table->name, is_view ? "view" : "sequence");
        return STATUS_FATAL;
    }
    snprintf(table->engine, sizeof table->engine, "%s", first.texts[1]);
    return STATUS_OK;
}

/* What servers do not say is left as it is: an engine is taken to undo a statement that fails. */
static enum status ask_beside(const struct dialect_asker *asker, const char *sql, const char *name,
                              struct answer *answer, struct error *error)
{
    struct error failure;
    error_clear(&failure);
    const enum status status = ask_rows(asker->adapter, asker->conn, sql, name, answer, &failure);
    if (status == STATUS_LOST) {
        *error = failure;
        return status;
    }
    return STATUS_OK;
}

static enum status read_table(const struct dialect_asker *asker, struct table *table,
                              struct error *error)
{
    static const struct dialect_columns columns = {FIELD_COUNT, read_column};
    struct first engine = {0};
    struct first length = {0};
    struct answer answer = {.take = take_first, .context = &engine};
    enum status status = read_kind(asker, table, error);
    if (status == STATUS_OK) {
        status = ask_beside(asker, engine_sql, table->engine, &answer, error);
        answer.context = &length;
    }
    if (status == STATUS_OK) {
        status = ask_beside(asker, length_sql, NULL, &answer, error);
    }
    table->keeps_failed_rows = strcasecmp(engine.texts[0], "NO") == 0;
    table->statement_bytes_max = strtoull(length.texts[0], NULL, 10);
    if (status == STATUS_OK) {
        status = dialect_read_columns(asker, columns_sql, &columns, table, error);
    }
    if (status == STATUS_OK) {
        answer = (struct answer){.take = take_index, .context = table};
        status = ask_rows(asker->adapter, asker->conn, indexes_sql, table->name, &answer, error);
    }
    if (status == STATUS_OK) {
        answer.take = take_check;
        status = ask_beside(asker, json_sql, table->name, &answer, error);
    }
    return status;
}

static enum status describe(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error)
{
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = read_table(asker, table, error);
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* The scope of SHOW VARIABLES is the session, where max_user_connections is what holds for the
 * account: its own limit, or else the global one. */
static const char *const limits_sql[] = {
    "show variables where variable_name in ('version', 'version_comment', 'max_connections',"
    " 'max_user_connections', 'max_prepared_stmt_count', 'thread_handling')",
    "show global status where variable_name in ('Threads_connected', 'Prepared_stmt_count')",
    "select 'max_user_connections_global', @@global.max_user_connections",
    "select 'account_sessions', count(*) from information_schema.processlist"
    " where user = left(user(), char_length(user()) -"
    " char_length(substring_index(user(), '@', -1)) - 1)",
    "select 'account', concat('''', left(current_user(), char_length(current_user()) -"
    " char_length(substring_index(current_user(), '@', -1)) - 1), '''@''',"
    " substring_index(current_user(), '@', -1), '''')",
    "select replace(privilege_type, '_', ' '), 'yes' from information_schema.user_privileges"
    " where privilege_type in ('SUPER', 'CONNECTION ADMIN', 'CONNECTION_ADMIN') and grantee ="
    " concat('''', left(current_user(), char_length(current_user()) -"
    " char_length(substring_index(current_user(), '@', -1)) - 1), '''@''',"
    " substring_index(current_user(), '@', -1), '''')",
};

/* Each row of the answers is a fact: its name, its value. */
enum fact {
    VERSION,
    VERSION_COMMENT,
    ACCOUNT, /* 'user'@'host' of the session, quoted */
    THREAD_HANDLING,
    MAX_CONNECTIONS,
    MAX_USER_CONNECTIONS,
    MAX_USER_CONNECTIONS_GLOBAL,
    MAX_PREPARED,
    CONNECTED,
    PREPARED,
    ACCOUNT_SESSIONS,
    SUPER,
    CONNECTION_ADMIN,
    FACTS,
};

static const char *const fact_names[FACTS] = {
    [VERSION] = "version",
    [VERSION_COMMENT] = "version_comment",
    [ACCOUNT] = "account",
    [THREAD_HANDLING] = "thread_handling",
    [MAX_CONNECTIONS] = "max_connections",
    [MAX_USER_CONNECTIONS] = "max_user_connections",
    [MAX_USER_CONNECTIONS_GLOBAL] = "max_user_connections_global",
    [MAX_PREPARED] = "max_prepared_stmt_count",
    [CONNECTED] = "threads_connected",
    [PREPARED] = "prepared_stmt_count",
    [ACCOUNT_SESSIONS] = "account_sessions",
    [SUPER] = "SUPER",
    [CONNECTION_ADMIN] = "CONNECTION ADMIN",
};

struct facts {
    char texts[FACTS][200]; /* "" = not known */
};

static bool take_fact(void *context, const struct cell *cells, size_t count)
{
    struct facts *facts = context;
    char name[64] = "";
    if (count == 2 && !cells[1].is_null) {
        ask_text(&cells[0], name, sizeof name);
    }
    for (size_t i = 0; i < FACTS; i++) {
        if (strcasecmp(name, fact_names[i]) == 0) {
            ask_text(&cells[1], facts->texts[i], sizeof facts->texts[i]);
        }
    }
    return true;
}

/* 0 or less: not known, or no limit. */
static int64_t number_of(const struct facts *facts, enum fact fact)
{
    return strtoll(facts->texts[fact], NULL, 10);
}

/* Since MariaDB 11.0 SUPER does not contain the right any more. */
static bool is_admin(const struct facts *facts)
{
    return facts->texts[CONNECTION_ADMIN][0] != '\0' ||
           (facts->texts[SUPER][0] != '\0' && number_of(facts, VERSION) < 11);
}

/* "pool-of-threads", and "loaded-dynamically" by the plug-in that has one. */
static bool has_thread_pool(const struct facts *facts)
{
    const char *handling = facts->texts[THREAD_HANDLING];
    return strncasecmp(handling, "pool", 4) == 0 || strncasecmp(handling, "loaded", 6) == 0;
}

static void add_connections(const struct facts *facts, struct server_limits *limits)
{
    const int64_t most = number_of(facts, MAX_CONNECTIONS);
    const int64_t extra = is_admin(facts) ? 1 : 0;
    struct session_limit *limit =
        dialect_add_limit(limits, "max_connections", most + extra, number_of(facts, CONNECTED));
    if (limit == NULL) {
        return;
    }
    if (extra > 0) {
        snprintf(limit->note, sizeof limit->note,
                 "%" PRId64 " and one for users with CONNECTION ADMIN or SUPER", most);
    }
    snprintf(limit->fix, sizeof limit->fix,
             "SET GLOBAL max_connections = N; to keep it, max_connections = N under [mysqld] in "
             "my.cnf");
}

static void add_user_connections(const struct facts *facts, struct server_limits *limits)
{
    const int64_t most = number_of(facts, MAX_USER_CONNECTIONS);
    /* the global limit does not hold for those who may pass over max_connections */
    const bool is_own = most != number_of(facts, MAX_USER_CONNECTIONS_GLOBAL);
    if (most <= 0 || (is_admin(facts) && !is_own)) {
        return;
    }
    struct session_limit *limit =
        dialect_add_limit(limits, "max_user_connections", most, number_of(facts, ACCOUNT_SESSIONS));
    if (limit != NULL) {
        snprintf(limit->note, sizeof limit->note, "%.30s account %.80s",
                 is_own ? "of the" : "of every account, so of", facts->texts[ACCOUNT]);
        snprintf(limit->fix, sizeof limit->fix, "ALTER USER %.140s WITH MAX_USER_CONNECTIONS N",
                 facts->texts[ACCOUNT]);
    }
}

/* The name of the product and the number in front of the first '-'. */
static void write_version(const struct facts *facts, struct server_limits *limits)
{
    const char *name = "MySQL";
    const char *version = facts->texts[VERSION];
    const char *comment = facts->texts[VERSION_COMMENT];
    if (strstr(version, "MariaDB") != NULL || strcasestr(comment, "mariadb") != NULL) {
        name = "MariaDB";
    } else if (strstr(comment, "MemSQL") != NULL || strstr(comment, "SingleStore") != NULL) {
        name = "SingleStore, MySQL";
    }
    snprintf(limits->version, sizeof limits->version, "%s %.*s", name, (int)strcspn(version, "-"),
             version);
}

static void add_prepared(const struct facts *facts, bool has_prepared, struct server_limits *limits)
{
    struct session_limit *limit =
        dialect_add_limit(limits, "max_prepared_stmt_count", number_of(facts, MAX_PREPARED),
                          number_of(facts, PREPARED) + (has_prepared ? 0 : 1));
    if (limit != NULL) {
        snprintf(limit->note, sizeof limit->note,
                 "prepared statements of all sessions; each session keeps one");
        snprintf(limit->fix, sizeof limit->fix,
                 "SET GLOBAL max_prepared_stmt_count = N; to keep it, max_prepared_stmt_count "
                 "= N under [mysqld] in my.cnf");
    }
}

/* A statement that a server of this kind does not know is passed over, but for the first. */
static enum status ask_limits(const struct dialect_asker *asker, struct server_limits *limits,
                              struct error *error)
{
    struct facts facts = {0};
    for (size_t i = 0; i < COUNT_OF(limits_sql); i++) {
        struct answer answer = {.take = take_fact, .context = &facts};
        struct error failure;
        error_clear(&failure);
        const enum status status =
            ask_rows(asker->adapter, asker->conn, limits_sql[i], NULL, &answer, &failure);
        if (status == STATUS_LOST || (status != STATUS_OK && i == 0)) {
            *error = failure;
            return status;
        }
    }
    if (limits->version[0] == '\0') {
        write_version(&facts, limits);
    }
    if (number_of(&facts, MAX_CONNECTIONS) > 0) {
        add_connections(&facts, limits);
    }
    add_user_connections(&facts, limits);
    if (asker->prepares && facts.texts[MAX_PREPARED][0] != '\0') {
        add_prepared(&facts, asker->has_prepared, limits);
    }
    limits->tasks_per_session = has_thread_pool(&facts) ? 0 : 1;
    limits->files_per_session = 1;
    return STATUS_OK;
}

const struct dialect dialect_mysql = {
    .name = "mariadb",
    .explain = explain,
    .write_text = write_text,
    .describe = describe,
    .limits = ask_limits,
};
