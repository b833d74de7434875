/* MariaDB, MySQL and compatible servers: the meaning of their error numbers, their information
 * schema and their limits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/dialect.h"
#include "base/ask.h"

/* Error numbers that have the same meaning. Numbers from 2000 to 2999 are errors of the client
 * library. */
struct number_meaning {
    struct dialect_meaning meaning;
    uint16_t numbers[20]; /* numbers of the errors; ends with 0 */
};

static const struct number_meaning connect_meanings[] = {
    {{STATUS_LOST, ERROR_LIMIT, "max_connections"}, {1040}},
    {{STATUS_LOST, ERROR_LIMIT, "max_user_connections"}, {1203}},
    {{STATUS_LOST, ERROR_LIMIT, ""}, {1226}}, /* the user's limit, found by `full` */
    {{STATUS_LOST, ERROR_LIMIT, ERROR_LIMIT_TASKS}, {1135}},
    {{STATUS_LOST, ERROR_LIMIT, NULL}, {1041}}, /* out of memory */
    /* the server cannot resolve this machine's name, or the client library cannot resolve the
     * server's name */
    {{STATUS_LOST, ERROR_UNREACHABLE, NULL}, {1042, 2005}},
    {{STATUS_LOST, ERROR_CONNECTION, NULL}, {1043, 2006, 2013}}, /* bad handshake; server lost */
    {{STATUS_LOST, ERROR_SERVER, NULL}, {1053}},                 /* shutting down */
    /* no privilege to use or create the database; password wrong or expired, or must be changed
     * first; host blocked or not allowed; account locked; TLS required; TLS or authentication
     * failed */
    {{STATUS_FATAL, ERROR_AUTH, NULL},
     {1044, 1045, 1129, 1130, 1142, 1227, 1396, 1698, 1820, 1862, 3118, 3159, 3955, 4151, 2026,
      2061}},
    {{STATUS_FATAL, ERROR_NOT_FOUND, NULL}, {1049}}, /* unknown database */
    /* unsupported authentication method or protocol version; malformed answer */
    {{STATUS_FATAL, ERROR_UNSUPPORTED, NULL}, {1251, 1290, 1524, 2007, 2027, 2059}},
    {{STATUS_FATAL, ERROR_MEMORY, NULL}, {2008}},
};

/* Meanings of error numbers on an open connection, for numbers whose SQLSTATE is missing or too
 * general. */
static const struct number_meaning call_meanings[] = {
    /* failures of the server's files, disks, memory and storage engines; wrong syntax in the user's
     * SQL */
    {{STATUS_REJECTED, ERROR_SERVER, NULL}, {1016, 1021, 1023, 1030, 1037, 1041, 1064, 1114}},
    {{STATUS_REJECTED, ERROR_DUPLICATE, NULL}, {1062}},
    /* values that are NULL, out of range or truncated; missing defaults; foreign keys, partitions,
     * triggers, checks */
    {{STATUS_REJECTED, ERROR_DATA, NULL},
     {1048, 1264, 1265, 1364, 1366, 1406, 1451, 1452, 1470, 1526, 1644, 3819, 4025}},
    {{STATUS_REJECTED, ERROR_EXISTS, NULL}, {1061}},
    {{STATUS_REJECTED, ERROR_BUSY, NULL}, {1099, 1205, 3572}}, /* the table or row is locked */
    {{STATUS_REJECTED, ERROR_DEADLOCK, NULL}, {1213}},
    /* the row has changed since it was read; 8028 and 9007 are TiDB's numbers */
    {{STATUS_REJECTED, ERROR_SERIALIZATION, NULL}, {1020, 8028, 9007}},
    {{STATUS_REJECTED, ERROR_TIMEOUT, NULL}, {1317, 1969, 3024}},
    {{STATUS_REJECTED, ERROR_LIMIT, "max_user_connections"}, {1203}},
    {{STATUS_REJECTED, ERROR_LIMIT, ""}, {1226}},
    {{STATUS_FATAL, ERROR_LIMIT, "max_prepared_stmt_count"}, {1461}},
    {{STATUS_FATAL, ERROR_AUTH, NULL}, {1044, 1045, 1142, 1143, 1227, 1370}},
    /* no database is selected; the number of values is wrong; a primary key has a nullable
     * column */
    {{STATUS_FATAL, ERROR_USAGE, NULL}, {1046, 1136, 1171}},
    {{STATUS_FATAL, ERROR_NOT_FOUND, NULL}, {1049, 1054, 1146}},
    /* writes to read-only tables, views, engines and generated columns */
    {{STATUS_FATAL, ERROR_UNSUPPORTED, NULL}, {1036, 1286, 1347, 1394, 1471, 3105}},
    {{STATUS_FATAL, ERROR_READ_ONLY, NULL}, {1290, 1792, 1836}},
    {{STATUS_FATAL, ERROR_DATA, NULL}, {1153, 2020}}, /* max_allowed_packet */
    {{STATUS_FATAL, ERROR_MEMORY, NULL}, {2008}},
    /* the server shut down; the session was killed, aborted or idle for too long; the answer is
     * malformed or missing */
    {{STATUS_LOST, ERROR_CONNECTION, NULL},
     {1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1927, 4031, 2000, 2006, 2013, 2014, 2026,
      2027, 2055}},
};

/* Meanings of error numbers that are not listed above, by the beginning of their SQLSTATE. */
static const struct {
    const char *start;
    struct dialect_meaning meaning;
} state_meanings[] = {
    {"22", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"23", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"45", {STATUS_REJECTED, ERROR_DATA, NULL}},
    {"40003", {STATUS_LOST, ERROR_CONNECTION, NULL}}, /* may have been executed */
    {"40", {STATUS_REJECTED, ERROR_SERIALIZATION, NULL}},
    {"08", {STATUS_LOST, ERROR_CONNECTION, NULL}},
    {"28", {STATUS_FATAL, ERROR_AUTH, NULL}},
    {"42S02", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}}, /* unknown table */
    {"42S11", {STATUS_REJECTED, ERROR_EXISTS, NULL}}, /* the index exists */
    {"42S22", {STATUS_FATAL, ERROR_NOT_FOUND, NULL}}, /* unknown column */
};

/* Parts of messages, and the limit that each message names. They are needed for error 1226, which
 * covers several limits, and for drivers that do not report the server's error number. */
static const struct {
    const char *part;
    const char *limit;
} full[] = {
    {"max_user_connections", "max_user_connections"},
    {"max_connections_per_hour", "max_connections_per_hour"},
    {"Too many connections", "max_connections"},
    {"create a new thread", ERROR_LIMIT_TASKS},
};

static bool classify_error(const struct dialect_failure *failure, struct dialect_meaning *meaning)
{
    const bool is_connecting = failure->is_connecting;
    const struct number_meaning *meanings = is_connecting ? connect_meanings : call_meanings;
    const size_t count = is_connecting ? COUNT_OF(connect_meanings) : COUNT_OF(call_meanings);
    bool is_known = false;
    for (size_t i = 0; i < count; i++) {
        for (const uint16_t *at = meanings[i].numbers; *at != 0; at++) {
            if (*at == failure->number) {
                *meaning = meanings[i].meaning;
                is_known = true;
            }
        }
    }
    const bool may_be_full = is_connecting && !is_known;
    if (may_be_full || (is_known && meaning->limit != NULL && meaning->limit[0] == '\0')) {
        for (size_t i = 0; i < COUNT_OF(full); i++) {
            if (strstr(failure->text, full[i].part) != NULL) {
                const enum status status = may_be_full ? STATUS_LOST : meaning->status;
                *meaning = (struct dialect_meaning){status, ERROR_LIMIT, full[i].limit};
                return true;
            }
        }
    }
    for (size_t i = 0; !is_known && i < COUNT_OF(state_meanings); i++) {
        const char *const start = state_meanings[i].start;
        if ((!is_connecting || strcmp(start, "28") == 0) &&
            strncmp(start, failure->sqlstate, strlen(start)) == 0) {
            *meaning = state_meanings[i].meaning;
            return true;
        }
    }
    return is_known;
}

/* Removes a quoted value from `text`. The value begins directly after `before`, with the characters
 * `open`. It ends with its closing quote, which is the first character of the last `after` in
 * `text`. If `text` does not have this form, removes nothing. */
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
        memmove(start, last + 1, strlen(last + 1) + 1); /* keeps the text after the closing quote */
    }
}

static void write_text(const struct dialect_failure *failure, const char *user, char *text,
                       size_t size)
{
    static const char denied_database[] = "Access denied for user %99s to database '%99[^']'";
    static const char denied_table[] = "%39[A-Z ] command denied to user %99s for table %99[^\n]";
    const int number = failure->number;
    const char *const message = failure->text;
    char right[40], account[100], object[100];
    (void)user;
    snprintf(text, size, "%s", message);
    /* remove values and row numbers, because they differ from row to row */
    char *const row = strstr(text, " at row ");
    if (row != NULL && row[strcspn(row, "0123456789")] != '\0') {
        const char *const digits = row + strlen(" at row ");
        const char *const end = digits + strspn(digits, "0123456789");
        memmove(row, end, strlen(end) + 1);
    }
    cut_value(text, "Duplicate entry", " '", "' for key");
    cut_value(text, " value", ": '", "' for column");
    /* add advice: the missing privilege, or how to give a password */
    const size_t length = strlen(text);
    if (number == 1698 || (number == 1045 && strstr(message, "(using password: NO)") != NULL)) {
        snprintf(text + length, size - length,
                 ": give a password with --password-file FILE, in APPEND_PASSWORD or in the client "
                 "library's ~/.my.cnf");
    } else if (number == 1142 && sscanf(message, denied_table, right, account, object) == 3) {
        snprintf(text + length, size - length, ": GRANT %s ON %s TO %s", right, object, account);
    } else if (number == 1044 && sscanf(message, denied_database, account, object) == 2) {
        snprintf(text + length, size - length,
                 ": GRANT SELECT, INSERT, CREATE, DROP ON `%s`.* TO %s", object, account);
    }
}

static const char table_sql[] = "select table_type, engine from information_schema.tables"
                                " where table_schema = database() and table_name = ?";

/* SQL condition that is true for a computed column. It uses the catalogue's column EXTRA. The word
 * DEFAULT_GENERATED in EXTRA does not match, because it means that only the default is computed.
 * The case of EXTRA differs between servers, and some servers compare case-sensitively. */
#define IS_COMPUTED                                                                                \
    "lower(extra) regexp 'stored generated|virtual|persistent|computed|invisible system|row "      \
    "start|row end'"

static const char columns_sql[] =
    "select column_name, column_type, is_nullable = 'NO',"
    " (column_default is not null and column_default <> 'NULL') or " IS_COMPUTED
    " or lower(extra) regexp 'auto_increment|default_generated', " IS_COMPUTED ", 0, data_type,"
    " character_maximum_length, numeric_precision, numeric_scale, datetime_precision,"
    " column_comment from information_schema.columns"
    " where table_schema = database() and table_name = ? order by ordinal_position";

/* Unique indexes that contain a single column, and the number of the column's characters that each
 * index covers (NULL: all characters). */
static const char indexes_sql[] =
    "select min(column_name), max(sub_part) from information_schema.statistics"
    " where non_unique = 0 and table_schema = database() and table_name = ?"
    " group by index_name having count(*) = 1";

/* MariaDB's JSON is text with a check. In MySQL this query fails, because MySQL's check_constraints
 * lacks the column table_name. */
static const char json_sql[] = "select check_clause from information_schema.check_constraints"
                               " where constraint_schema = database() and table_name = ?";

/* The maximum length of a statement, in bytes. A packet consists of a command byte and the
 * statement, and must be shorter than the server's limit. */
static const char length_sql[] = "select greatest(@@max_allowed_packet, @@net_buffer_length) - 2";

static const char engines_sql[] =
    "select engine from information_schema.engines where transactions = 'NO'";

enum field {
    FIELD_TYPE = DIALECT_COMMON_FIELDS,
    FIELD_LENGTH,
    FIELD_PRECISION,
    FIELD_SCALE,
    FIELD_FRACTION,
    FIELD_COMMENT,
    FIELD_COUNT,
};

enum {
    UTF8_BYTES_MAX = 4, /* maximum size of one character */
};

static void read_column(struct column *column, const struct cell *cells)
{
    /* integers for which enum column_type has no type (unsigned or narrow) are described as
     * decimals with so few digits that every value of the decimal fits into the column */
    static const struct {
        const char *type;
        const char *part; /* text to find within the column's type */
        enum column_type column;
        uint8_t precision;
    } integers[] = {{"tinyint", "tinyint(1)", COLUMN_BOOL, 2},
                    {"tinyint", "", COLUMN_DECIMAL, 2},
                    {"smallint", "unsigned", COLUMN_DECIMAL, 4},
                    {"mediumint", "", COLUMN_DECIMAL, 6}};
    /* databases without types for addresses and UUIDs store them as text or bytes; the column's
     * comment names the type */
    static const struct {
        const char *comment;
        enum column_type type;
    } commented[] = {{"ipv4", COLUMN_IP4}, {"ipv6", COLUMN_IP6}, {"uuid", COLUMN_UUID}};
    char comment[16];
    char type[ROW_TYPE_NAME_BYTES];
    dialect_read_common(column, cells);
    ask_text(&cells[FIELD_TYPE], type, sizeof type);
    for (size_t i = 0; i < COUNT_OF(integers); i++) {
        if (strcmp(type, integers[i].type) == 0 &&
            strstr(column->type_name, integers[i].part) != NULL) {
            column->type = integers[i].column;
            column->precision = integers[i].precision;
            return;
        }
    }
    column->type = dialect_type_of(type);
    if (column->type == COLUMN_TEXT || column->type == COLUMN_BYTES) {
        const bool is_text = column->type == COLUMN_TEXT;
        ask_text(&cells[FIELD_COMMENT], comment, sizeof comment);
        for (size_t i = 0; i < COUNT_OF(commented); i++) {
            if (strcasecmp(commented[i].comment, comment) == 0) {
                column->native_type = is_text ? MYSQL_NATIVE_TEXT : MYSQL_NATIVE_OTHER;
                column->type = commented[i].type;
                return;
            }
        }
        /* for the large text types the length is in bytes */
        const bool is_large = is_text && strstr(type, "text") != NULL;
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

bool dialect_mysql_is_binary(const struct column *column)
{
    const bool is_id =
        column->type == COLUMN_UUID || column->type == COLUMN_IP4 || column->type == COLUMN_IP6;
    return column->type == COLUMN_BYTES || (is_id && column->native_type != MYSQL_NATIVE_TEXT);
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
            column->size = (uint32_t)part; /* the index covers only the first `part` characters */
        }
    }
    return true;
}

static bool take_check(void *context, const struct cell *cells, size_t count)
{
    char clause[ROW_NAME_BYTES + 32] = "";
    char name[ROW_NAME_BYTES] = "";
    if (count == 1) {
        ask_text(&cells[0], clause, sizeof clause);
    }
    sscanf(clause, "json_valid(`%259[^`]`)", name);
    struct column *column = find_column(context, name);
    if (column != NULL && column->type == COLUMN_TEXT) {
        column->type = COLUMN_JSON;
        column->size = 0;
    }
    return true;
}

/* The first row of a result. */
struct first {
    bool is_found;
    char texts[2][ROW_TYPE_NAME_BYTES];
};

static bool take_first(void *context, const struct cell *cells, size_t count)
{
    struct first *first = context;
    first->is_found = true;
    for (size_t i = 0; i < count && i < 2; i++) {
        ask_text(&cells[i], first->texts[i], sizeof first->texts[i]);
    }
    return false;
}

/* Adds an engine's name to facts->lasting_engines. */
static bool take_engine(void *context, const struct cell *cells, size_t count)
{
    struct server_facts *const facts = context;
    const size_t used = strlen(facts->lasting_engines);
    char name[ROW_TYPE_NAME_BYTES];
    if (count == 1 && !cells[0].is_null) {
        ask_text(&cells[0], name, sizeof name);
        snprintf(facts->lasting_engines + used, sizeof facts->lasting_engines - used, "%s%s",
                 used > 0 ? "," : "", name);
    }
    return true;
}

/* A query to the catalogue. If the server refuses the query, the error is ignored unless is_needed
 * is set. */
struct catalogue_query {
    const char *sql;
    const char *name;
    bool is_needed;
    struct answer answer;
};

static enum status run_catalogue_query(const struct dialect_asker *asker,
                                       const struct catalogue_query *query, struct error *error)
{
    struct answer answer = query->answer;
    const enum status status =
        ask_rows(asker->adapter, asker->conn, query->sql, query->name, &answer, error);
    if (status == STATUS_OK || status == STATUS_LOST || query->is_needed) {
        return status;
    }
    error_clear(error);
    return STATUS_OK;
}

/* Describes a table. If the server does not report a fact, the fact keeps its default. For example,
 * if the server does not list its storage engines, all engines are assumed to roll back failed
 * statements. */
static enum status describe(const struct dialect_asker *asker, const char *table_name,
                            struct table *table, struct error *error)
{
    static const struct dialect_columns columns = {FIELD_COUNT, read_column};
    struct first kind = {0}, length = {0};
    struct server_facts facts = {0};
    const struct catalogue_query first = {table_sql, table_name, true, {take_first, &kind, 0}};
    const struct catalogue_query others[] = {
        {engines_sql, NULL, false, {take_engine, &facts, 0}},
        {length_sql, NULL, false, {take_first, &length, 0}},
        {indexes_sql, table_name, true, {take_index, table, 0}},
        {json_sql, table_name, false, {take_check, table, 0}},
    };
    enum status status = table_init(table, table_name, error);
    if (status == STATUS_OK) {
        status = run_catalogue_query(asker, &first, error);
    }
    const bool is_view = strstr(kind.texts[0], "VIEW") != NULL;
    if (status == STATUS_OK && !kind.is_found) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL, "no table \"%.180s\"", table_name);
        status = STATUS_REJECTED;
    } else if (status == STATUS_OK && (is_view || strstr(kind.texts[0], "SEQUENCE") != NULL)) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "\"%.160s\" is a %s: append writes to tables only", table_name,
                  is_view ? "view" : "sequence");
        status = STATUS_FATAL;
    }
    snprintf(table->engine, sizeof table->engine, "%s", kind.texts[1]);
    if (status == STATUS_OK) {
        status = dialect_read_columns(asker, columns_sql, &columns, table, error);
    }
    for (size_t i = 0; status == STATUS_OK && i < COUNT_OF(others); i++) {
        status = run_catalogue_query(asker, &others[i], error);
    }
    facts.statement_bytes_max = strtoull(length.texts[0], NULL, 10);
    if (status == STATUS_OK && asker->facts != NULL) {
        *asker->facts = facts;
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* SHOW VARIABLES shows session values, so max_user_connections is the account's own limit, or the
 * global limit if the account has no limit of its own. */
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

enum {
    FACTS_MAX = 20, /* the last entry stays empty */
    FACT_BYTES = 200,
};

/* Facts about the server. Each row of an answer contains the name and the value of one fact. */
struct facts {
    char names[FACTS_MAX][40]; /* names of the facts; "" ends the list */
    char texts[FACTS_MAX][FACT_BYTES];
};

/* Returns the index of a fact or, if the fact is unknown, of the next free entry. */
static size_t find_fact(const struct facts *facts, const char *name)
{
    size_t i = 0;
    while (i < FACTS_MAX - 1 && facts->names[i][0] != '\0' &&
           strcasecmp(facts->names[i], name) != 0) {
        i++;
    }
    return i;
}

static bool take_fact(void *context, const struct cell *cells, size_t count)
{
    struct facts *facts = context;
    char name[sizeof facts->names[0]] = "";
    if (count == 2 && !cells[1].is_null) {
        ask_text(&cells[0], name, sizeof name);
    }
    const size_t place = find_fact(facts, name);
    if (name[0] != '\0' && place < FACTS_MAX - 1) {
        snprintf(facts->names[place], sizeof facts->names[place], "%s", name);
        ask_text(&cells[1], facts->texts[place], FACT_BYTES);
    }
    return true;
}

/* Returns a fact's text; "" when the fact is unknown. */
static const char *text_of(const struct facts *facts, const char *name)
{
    return facts->texts[find_fact(facts, name)];
}

/* Returns a fact's number; 0 or less when the fact is unknown or means that there is no limit. */
static int64_t number_of(const struct facts *facts, const char *name)
{
    return strtoll(text_of(facts, name), NULL, 10);
}

static void add_limit(struct server_limits *limits, const char *name, int64_t allowed, int64_t used,
                      const char *note, const char *fix)
{
    struct session_limit *limit = dialect_add_limit(limits, name, allowed, used);
    if (limit != NULL) {
        snprintf(limit->note, sizeof limit->note, "%s", note);
        snprintf(limit->fix, sizeof limit->fix, "%s", fix);
    }
}

/* Queries the version and the limits. Only the first query must succeed, because some compatible
 * servers do not support all other queries. */
static enum status ask_limits(const struct dialect_asker *asker, struct server_limits *limits,
                              struct error *error)
{
    struct facts facts = {0};
    char note[sizeof limits->sessions[0].note] = "";
    char fix[sizeof limits->sessions[0].fix];
    for (size_t i = 0; i < COUNT_OF(limits_sql); i++) {
        const struct catalogue_query query = {limits_sql[i], NULL, i == 0, {take_fact, &facts, 0}};
        const enum status status = run_catalogue_query(asker, &query, error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    /* the version is the product's name and the number up to the first '-' */
    const char *version = text_of(&facts, "version");
    const char *comment = text_of(&facts, "version_comment");
    if (limits->version[0] == '\0') {
        const char *name = "MySQL";
        if (strstr(version, "MariaDB") != NULL || strcasestr(comment, "mariadb") != NULL) {
            name = "MariaDB";
        } else if (strstr(comment, "MemSQL") != NULL || strstr(comment, "SingleStore") != NULL) {
            name = "SingleStore, MySQL";
        }
        snprintf(limits->version, sizeof limits->version, "%s %.*s", name,
                 (int)strcspn(version, "-"), version);
    }
    /* SUPER includes the privilege CONNECTION ADMIN before MariaDB 11.0 */
    const bool is_admin =
        text_of(&facts, "CONNECTION ADMIN")[0] != '\0' ||
        (text_of(&facts, "SUPER")[0] != '\0' && number_of(&facts, "version") < 11);
    int64_t most = number_of(&facts, "max_connections");
    if (is_admin) {
        snprintf(note, sizeof note, "%" PRId64 " plus one for users with CONNECTION ADMIN or SUPER",
                 most);
    }
    if (most > 0) {
        add_limit(limits, "max_connections", most + (is_admin ? 1 : 0),
                  number_of(&facts, "threads_connected"), note,
                  "SET GLOBAL max_connections = N; to keep it, max_connections = N under [mysqld] "
                  "in my.cnf");
    }
    /* the global limit does not apply to users who may exceed max_connections */
    most = number_of(&facts, "max_user_connections");
    const bool is_own = most != number_of(&facts, "max_user_connections_global");
    if (most > 0 && (is_own || !is_admin)) {
        const char *account = text_of(&facts, "account"); /* the account as 'user'@'host', quoted */
        snprintf(note, sizeof note, "%.30s%.80s",
                 is_own ? "for account " : "for every account, here ", account);
        snprintf(fix, sizeof fix, "ALTER USER %.140s WITH MAX_USER_CONNECTIONS N", account);
        add_limit(limits, "max_user_connections", most, number_of(&facts, "account_sessions"), note,
                  fix);
    }
    /* the limit on prepared statements also limits the number of sessions, because each session
     * keeps its statements prepared */
    const int64_t each = (asker->prepares ? 1 : 0) + (int64_t)asker->statements;
    if (each > 0 && text_of(&facts, "max_prepared_stmt_count")[0] != '\0') {
        static const char setting[] = "max_prepared_stmt_count";
        const int64_t others = number_of(&facts, "prepared_stmt_count") -
                               (asker->has_prepared ? 1 : 0) - (int64_t)asker->has_statements;
        char number[24] = "one";
        char value[24] = "N";
        if (each > 1) {
            snprintf(number, sizeof number, "%" PRId64, each);
            snprintf(value, sizeof value, "N*%" PRId64, each);
        }
        snprintf(note, sizeof note,
                 "%" PRId64 " prepared statements in all sessions; each session keeps %s",
                 number_of(&facts, setting), number);
        snprintf(fix, sizeof fix,
                 "SET GLOBAL %s = %s; to keep it, %s = %s under [mysqld] in my.cnf", setting, value,
                 setting, value);
        add_limit(
            limits, setting, number_of(&facts, setting) / each, (others + each - 1) / each + 1,
            each > 1 ? note : "prepared statements of all sessions; each session keeps one", fix);
    }
    /* a server with a thread pool reports "pool-of-threads" or, if the pool is a plug-in,
     * "loaded-dynamically" */
    const char *handling = text_of(&facts, "thread_handling");
    const bool has_pool =
        strncasecmp(handling, "pool", 4) == 0 || strncasecmp(handling, "loaded", 6) == 0;
    limits->tasks_per_session = has_pool ? 0 : 1;
    limits->files_per_session = 1;
    return STATUS_OK;
}

/* Implements declare_column. If has_types is false, the server has no types for addresses and
 * UUIDs. Such a column is declared as bytes, and its comment names the type, so that describe can
 * read it. Timestamps are declared as datetime, because the session's time zone does not change the
 * values of a datetime column. */
static bool declare(const struct column *column, bool is_numbered, bool has_types, char *text,
                    size_t size)
{
    enum {
        FRACTION_DIGITS = 6,
        CHAR_MAX_SIZE = 255,
        VARCHAR_MAX_SIZE = 16383, /* longest VARCHAR, in characters of 4 bytes */
        TEXT_MAX_BYTES = 65535,
        PRECISION_MAX = 38,
    };
    static const char *const names[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = "boolean",       [COLUMN_INT16] = "smallint",
        [COLUMN_INT32] = "int",          [COLUMN_INT64] = "bigint",
        [COLUMN_FLOAT32] = "float",      [COLUMN_FLOAT64] = "double",
        [COLUMN_DECIMAL] = "decimal",    [COLUMN_TEXT] = "text",
        [COLUMN_BYTES] = "blob",         [COLUMN_JSON] = "json",
        [COLUMN_DATE] = "date",          [COLUMN_TIME] = "time",
        [COLUMN_TIMESTAMP] = "datetime", [COLUMN_UUID] = "binary(16)",
        [COLUMN_IP4] = "varbinary(4)",   [COLUMN_IP6] = "varbinary(16)",
    };
    static const struct {
        const char *name, *comment;
    } others[COLUMN_TYPE_COUNT] = {[COLUMN_UUID] = {"uuid", " comment 'uuid'"},
                                   [COLUMN_IP4] = {"inet4", " comment 'ipv4'"},
                                   [COLUMN_IP6] = {"inet6", " comment 'ipv6'"}};
    const enum column_type type = column->type;
    const bool is_other = others[type].name != NULL;
    const char *name = is_other && has_types ? others[type].name : names[type];
    char numbers[32] = "";
    if (name == NULL ||
        (is_numbered && type != COLUMN_INT16 && type != COLUMN_INT32 && type != COLUMN_INT64)) {
        return false;
    }
    if (type == COLUMN_DECIMAL) {
        snprintf(numbers, sizeof numbers, "(%d,%d)",
                 column->precision > 0 ? column->precision : PRECISION_MAX, column->scale);
    } else if (type == COLUMN_TIME || type == COLUMN_TIMESTAMP) {
        snprintf(numbers, sizeof numbers, "(%d)",
                 column->scale < FRACTION_DIGITS ? column->scale : FRACTION_DIGITS);
    } else if (type == COLUMN_TEXT && column->size > VARCHAR_MAX_SIZE) {
        name = column->size > TEXT_MAX_BYTES ? "longtext" : "mediumtext";
    } else if (type == COLUMN_BYTES && column->size > VARCHAR_MAX_SIZE) {
        name = column->size > TEXT_MAX_BYTES ? "longblob" : "blob";
    } else if ((type == COLUMN_TEXT || type == COLUMN_BYTES) && column->size > 0) {
        const bool is_char =
            strncmp(column->type_name, "char", 4) == 0 && column->size <= CHAR_MAX_SIZE;
        const char *const of_text = is_char ? "char" : "varchar";
        name = type == COLUMN_BYTES ? "varbinary" : of_text;
        snprintf(numbers, sizeof numbers, "(%u)", (unsigned)column->size);
    }
    snprintf(text, size, "%s%s%s%s%s", name, numbers,
             column->is_nullable && !is_numbered ? "" : " not null",
             is_numbered ? " auto_increment" : "",
             is_other && !has_types ? others[type].comment : "");
    return true;
}

static bool declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    return declare(column, is_numbered, false, text, size);
}

bool dialect_mariadb_declare(const struct column *column, bool is_numbered, char *text, size_t size)
{
    return declare(column, is_numbered, true, text, size);
}

/* The size of an InnoDB table is the sum of the sizes of its files, because the size in the
 * catalogue may be minutes old. MariaDB and MySQL list the files in tables with different names.
 * For MyISAM and Aria the size in the catalogue is exact. */
#define SIZE_OF_FILES(table)                                                                       \
    "select cast(sum(allocated_size) as signed) from information_schema." table                    \
    " where name = concat(database(), '/', $5) or left(name, char_length(database()) + "           \
    "char_length($5) + 4) = concat(database(), '/', $5, '#P#')"
static const struct storage_queries storage = {
    .directory = "select @@datadir",
    .is_working_directory = true,
    .sizes =
        (const char *const[]){
            SIZE_OF_FILES("innodb_sys_tablespaces"), SIZE_OF_FILES("innodb_tablespaces"),
            "select cast(data_length + index_length as signed) from information_schema.tables "
            "where table_schema = database() and table_name = $5 and engine in ('MyISAM', 'Aria')",
            NULL},
    .privilege_note =
        "InnoDB table sizes are visible only with the PROCESS privilege (GRANT PROCESS)",
    .counters = (const char *const[]){"show global status where Variable_name in"
                                      " ('Innodb_log_writes', 'Innodb_data_fsyncs')",
                                      NULL},
};

static const struct table_mark_statements table_mark = {
    .read = "select table_comment from information_schema.tables"
            " where table_schema = database() and table_name = ?",
    .place = "select concat(database(), '.', ?)",
    .others =
        (const char *const[]){
            "select concat(k.table_schema, '.', k.table_name, ' refers to it'), case when"
            " t.table_comment like '%made by append: %' and k.table_schema = database() then"
            " k.table_name end from information_schema.key_column_usage k join"
            " information_schema.tables t on t.table_schema = k.table_schema and"
            " t.table_name = k.table_name where k.referenced_table_schema = database() and"
            " k.referenced_table_name = ?",
            "select concat(trigger_name, ' is a trigger of it') from information_schema.triggers"
            " where event_object_schema = database() and event_object_table = ? limit 1",
            NULL},
    .write = "alter table $0 comment = $6",
};

#define NAMED_SETTINGS                                                                             \
    " ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'innodb_flush_method',"         \
    " 'innodb_doublewrite', 'innodb_buffer_pool_size', 'innodb_log_file_size',"                    \
    " 'innodb_redo_log_capacity', 'default_storage_engine', 'autocommit', 'tx_isolation',"         \
    " 'transaction_isolation')"
/* MariaDB reports which settings the user has changed. MySQL does not report this, so only a fixed
 * list of MySQL's settings is queried. */
static const struct settings_queries settings = {
    .queries =
        (const char *const[]){
            "select lower(variable_name), coalesce(session_value, global_value)"
            " from information_schema.system_variables where lower(variable_name) in" NAMED_SETTINGS
            " or global_value_origin in ('CONFIG', 'SQL', 'COMMAND-LINE', 'ENV')"
            " and global_value not like '%/%' and lower(variable_name) not in"
            " ('port', 'server_id', 'bind_address', 'hostname', 'init_connect', 'sql_select_limit')"
            " and variable_name not like '%password%' and variable_name not like '%ssl%'"
            " order by variable_name limit 64",
            "show variables where variable_name in" NAMED_SETTINGS, NULL},
    .table_queries =
        (const char *const[]){
            "select 'tables_in_memory', table_name from information_schema.tables where"
            " table_schema = database() and table_name = ? and engine in ('MEMORY', 'BLACKHOLE')",
            "select 'tables_not_synced', table_name from information_schema.tables where"
            " table_schema = database() and table_name = ? and engine in"
            " ('MyISAM', 'MRG_MyISAM', 'Aria', 'CSV', 'ARCHIVE')",
            "select concat('indexes of ', min(table_name)), concat(count(distinct"
            " index_name), ': ', group_concat(distinct index_name order by index_name separator ', "
            "'))"
            " from information_schema.statistics where table_schema = database() and table_name = ?"
            " having count(*) > 0",
            "select concat('triggers of ', min(event_object_table)), concat(count(*), ': ',"
            " group_concat(trigger_name order by trigger_name separator ', '))"
            " from information_schema.triggers where event_object_schema = database() and"
            " event_object_table = ? having count(*) > 0",
            "select concat('foreign keys of ', min(table_name)), concat(count(*), ': ',"
            " group_concat(constraint_name order by constraint_name separator ', '))"
            " from information_schema.table_constraints where constraint_type = 'FOREIGN KEY' and"
            " table_schema = database() and table_name = ? having count(*) > 0",
            NULL},
    .weak = (const struct weak_setting[]){
        {"tables_in_memory", NULL, "the rows of such tables are lost when the server stops"},
        {"tables_not_synced", NULL, "a crash of the machine can lose acknowledged rows"},
        {"innodb_flush_method", "nosync", "a crash of the machine can lose or corrupt all data"},
        {"innodb_flush_log_at_trx_commit", "0", "a crash can lose the commits of the last second"},
        {"innodb_flush_log_at_trx_commit", "2", "a crash of the machine can lose commits"},
        {"innodb_doublewrite", "OFF", "a crash of the machine can corrupt pages"},
        {0}}};

static const struct partition_statements partitions = {
    .hash = "partition by hash ($2) partitions $3",
    .range = "partition by range ($2) ($9)",
    .range_part = "partition p$4 values less than ($7)",
    .most = "maxvalue",
    .count = "select count(partition_name) from information_schema.partitions where table_schema ="
             " database() and table_name = ?",
    .excludes_foreign_keys = true,
};

static const struct foreign_key_statements foreign_keys = {
    .engine = "InnoDB",
    .count = "select count(*) from information_schema.referential_constraints where"
             " constraint_schema = database() and table_name = ?",
};

/* The server's list of sessions shows the stage of each session's work, not its wait: a session in
 * the stage "Updating status", for example, may be committing a statement. Waits for row locks are
 * only in innodb_trx, which needs the privilege PROCESS. While the server fills the list, no
 * session can connect. The list is therefore queried at most four times a second. */
static const struct wait_queries waits = {
    .polls =
        (const char *const[]){
            "select p.ID, p.COMMAND <> 'Sleep',"
            " case when t.trx_state = 'LOCK WAIT' then 'Lock' else p.STATE end,"
            " case when t.trx_state = 'LOCK WAIT' then 'row' end, p.TID"
            " from information_schema.processlist p"
            " left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.ID",
            "select p.ID, p.COMMAND <> 'Sleep',"
            " case when t.trx_state = 'LOCK WAIT' then 'Lock' else p.STATE end,"
            " case when t.trx_state = 'LOCK WAIT' then 'row' end, null"
            " from information_schema.processlist p"
            " left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.ID",
            "select ID, COMMAND <> 'Sleep', STATE, null, TID from information_schema.processlist",
            "select ID, COMMAND <> 'Sleep', STATE, null, null from information_schema.processlist",
            NULL},
    .counters =
        (const char *const[]){
            "select lower(VARIABLE_NAME), VARIABLE_VALUE from information_schema.GLOBAL_STATUS"
            " where VARIABLE_NAME in ('Innodb_log_writes', 'Innodb_log_waits',"
            " 'Innodb_log_write_requests', 'Innodb_os_log_written', 'Innodb_os_log_fsyncs',"
            " 'Innodb_row_lock_time', 'Innodb_row_lock_waits', 'Innodb_buffer_pool_wait_free',"
            " 'Innodb_data_fsyncs', 'Innodb_data_reads', 'Innodb_data_writes', 'Innodb_data_read',"
            " 'Innodb_data_written', 'Innodb_deadlocks', 'Innodb_dblwr_writes',"
            " 'Innodb_pages_created', 'Innodb_pages_read', 'Innodb_pages_written',"
            " 'Binlog_commits', 'Binlog_group_commits', 'Table_locks_waited',"
            " 'Key_write_requests', 'Key_writes', 'Aria_pagecache_writes',"
            " 'Handler_write', 'Handler_commit')",
            NULL},
    .blocker = "select b.trx_mysql_thread_id, p.USER, p.COMMAND, left(coalesce(p.INFO, ''), 190)"
               " from information_schema.innodb_lock_waits w"
               " join information_schema.innodb_trx r on r.trx_id = w.requesting_trx_id"
               " join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id"
               " left join information_schema.processlist p on p.ID = b.trx_mysql_thread_id"
               " where r.trx_mysql_thread_id = ? limit 1",
    .privilege =
        "lock waits cannot be distinguished from other waits: GRANT PROCESS ON *.* to this user",
    .has_stages = true,
    .least_gap_ms = 250,
    .meanings = (const struct wait_meaning[]){{"Lock", "row", WAIT_LOCK},
                                              {"Waiting for table*", NULL, WAIT_LOCK},
                                              {"Waiting for stored*", NULL, WAIT_LOCK},
                                              {"Waiting for schema*", NULL, WAIT_LOCK},
                                              {"Waiting for backup*", NULL, WAIT_LOCK},
                                              {"User lock", NULL, WAIT_LOCK},
                                              {"System lock", NULL, WAIT_LOCK},
                                              {"User sleep", NULL, WAIT_OTHER},
                                              {"Reading from net", NULL, WAIT_CLIENT},
                                              {"Writing to net", NULL, WAIT_CLIENT},
                                              {NULL, "poll_schedule_timeout*", WAIT_CLIENT},
                                              {"Commit*", NULL, WAIT_LOG},
                                              {"Updating status", NULL, WAIT_LOG},
                                              {"Waiting for prior transaction to*", NULL, WAIT_LOG},
                                              {"Waiting for semi-sync*", NULL, WAIT_REPLICATION},
                                              {NULL, "submit_bio*", WAIT_DATA_IO},
                                              {NULL, "folio_wait*", WAIT_DATA_IO},
                                              {NULL, "wait_on_page*", WAIT_DATA_IO},
                                              {NULL, "io_schedule*", WAIT_DATA_IO},
                                              {NULL, "jbd2*", WAIT_DATA_IO},
                                              {NULL, "__sync_dirty*", WAIT_DATA_IO},
                                              {NULL, "futex*", WAIT_BUFFER},
                                              {0}}};

const struct dialect dialect_mysql = {
    .name = "mariadb",
    .settings = &settings,
    .integrity = &(const struct integrity_statements){.checkpoint = "flush tables $0 for export",
                                                      .checkpoint_end = "unlock tables",
                                                      .uptime = "show global status like 'uptime'",
                                                      .check = "check table $0 extended"},
    .lasting_tables = "select table_name, engine, table_schema <=> database() from "
                      "information_schema.tables where engine in "
                      "(select engine from information_schema.engines where transactions = 'NO') "
                      "and table_schema not in ('mysql', 'information_schema', "
                      "'performance_schema', 'sys')",
    .lift_row_limit = "set sql_select_limit = 18446744073709551615", /* the setting's default */
    .table_mark = &table_mark,
    .waits = &waits,
    .classify_error = classify_error,
    .write_text = write_text,
    .describe = describe,
    .limits = ask_limits,
    .declare_column = declare_column,
    .can_skip_index = true,
    .analyze = "analyze table $0",
    .partitions = &partitions,
    .foreign_keys = &foreign_keys,
    .storage = &storage,
};
