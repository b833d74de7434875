/* From the numbers and messages of servers and Connector/C to struct error. */
#include "adapters/mariadb_conn.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errmsg.h>
#include <mysqld_error.h>

struct meaning {
    unsigned number;
    enum status status;
    enum error_kind kind;
};

/* While connecting nothing is REJECTED: either there may be room later, or never. */
static const struct meaning connect_meanings[] = {
    {1040, STATUS_LOST, ERROR_LIMIT},       /* too many connections */
    {1041, STATUS_LOST, ERROR_LIMIT},       /* out of memory */
    {1042, STATUS_LOST, ERROR_UNREACHABLE}, /* the server cannot resolve this host */
    {1043, STATUS_LOST, ERROR_CONNECTION},  /* bad handshake */
    {1044, STATUS_FATAL, ERROR_AUTH},       /* no rights in this database */
    {1045, STATUS_FATAL, ERROR_AUTH},       /* password */
    {1049, STATUS_FATAL, ERROR_NOT_FOUND},  /* no such database */
    {1053, STATUS_LOST, ERROR_SERVER},      /* shutting down */
    {1129, STATUS_FATAL, ERROR_AUTH},       /* host blocked */
    {1130, STATUS_FATAL, ERROR_AUTH},       /* host not allowed */
    {1135, STATUS_LOST, ERROR_LIMIT},       /* no thread for it */
    {1142, STATUS_FATAL, ERROR_AUTH},       /* no right to create the database */
    {1203, STATUS_LOST, ERROR_LIMIT},       /* max_user_connections */
    {1226, STATUS_LOST, ERROR_LIMIT},       /* a resource limit of the user */
    {1227, STATUS_FATAL, ERROR_AUTH},
    {1251, STATUS_FATAL, ERROR_UNSUPPORTED}, /* authentication protocol */
    {1290, STATUS_FATAL, ERROR_UNSUPPORTED},
    {1396, STATUS_FATAL, ERROR_AUTH},
    {1524, STATUS_FATAL, ERROR_UNSUPPORTED}, /* authentication plugin not loaded */
    {1698, STATUS_FATAL, ERROR_AUTH},
    {1820, STATUS_FATAL, ERROR_AUTH}, /* password has to be changed first */
    {1862, STATUS_FATAL, ERROR_AUTH}, /* password expired */
    {3118, STATUS_FATAL, ERROR_AUTH}, /* account locked */
    {3159, STATUS_FATAL, ERROR_AUTH}, /* the server takes TLS only */
    {3955, STATUS_FATAL, ERROR_AUTH}, /* account blocked after wrong passwords */
    {4151, STATUS_FATAL, ERROR_AUTH}, /* account locked */
    {CR_SERVER_GONE_ERROR, STATUS_LOST, ERROR_CONNECTION},
    {CR_SERVER_LOST, STATUS_LOST, ERROR_CONNECTION},
    {CR_UNKNOWN_HOST, STATUS_LOST, ERROR_UNREACHABLE},
    {CR_OUT_OF_MEMORY, STATUS_FATAL, ERROR_MEMORY},
    {CR_VERSION_ERROR, STATUS_FATAL, ERROR_UNSUPPORTED},
    {CR_MALFORMED_PACKET, STATUS_FATAL, ERROR_UNSUPPORTED},
    {CR_SSL_CONNECTION_ERROR, STATUS_FATAL, ERROR_AUTH},
    {CR_AUTH_PLUGIN_CANNOT_LOAD, STATUS_FATAL, ERROR_UNSUPPORTED},
    {CR_AUTH_PLUGIN_ERR, STATUS_FATAL, ERROR_AUTH},
};

/* Numbers that no SQLSTATE tells apart, or that have one of no use. */
static const struct meaning call_meanings[] = {
    {1016, STATUS_REJECTED, ERROR_SERVER}, /* the server cannot open a file: see its errno */
    {1021, STATUS_REJECTED, ERROR_SERVER}, /* disk full */
    {1023, STATUS_REJECTED, ERROR_SERVER},
    {1030, STATUS_REJECTED, ERROR_SERVER},   /* the storage engine's own number */
    {1036, STATUS_FATAL, ERROR_UNSUPPORTED}, /* the table is read only */
    {1037, STATUS_REJECTED, ERROR_SERVER},   /* the server has no memory */
    {1041, STATUS_REJECTED, ERROR_SERVER},
    {1044, STATUS_FATAL, ERROR_AUTH},
    {1045, STATUS_FATAL, ERROR_AUTH},
    {1046, STATUS_FATAL, ERROR_USAGE},   /* no database chosen */
    {1048, STATUS_REJECTED, ERROR_DATA}, /* NULL */
    {1049, STATUS_FATAL, ERROR_NOT_FOUND},
    {1053, STATUS_LOST, ERROR_CONNECTION},
    {1054, STATUS_FATAL, ERROR_NOT_FOUND}, /* no such column */
    {1062, STATUS_REJECTED, ERROR_DATA},
    {1064, STATUS_REJECTED, ERROR_SERVER}, /* a query of the user */
    {1077, STATUS_LOST, ERROR_CONNECTION},
    {1079, STATUS_LOST, ERROR_CONNECTION},
    {1099, STATUS_REJECTED, ERROR_BUSY},
    {1114, STATUS_REJECTED, ERROR_SERVER}, /* table full */
    {1136, STATUS_FATAL, ERROR_USAGE},
    {1142, STATUS_FATAL, ERROR_AUTH},
    {1143, STATUS_FATAL, ERROR_AUTH},
    {1146, STATUS_FATAL, ERROR_NOT_FOUND},
    {1148, STATUS_FATAL, ERROR_UNSUPPORTED}, /* LOAD DATA LOCAL is switched off */
    {1152, STATUS_LOST, ERROR_CONNECTION},
    {1153, STATUS_FATAL, ERROR_DATA}, /* max_allowed_packet */
    {1158, STATUS_LOST, ERROR_CONNECTION},
    {1159, STATUS_LOST, ERROR_CONNECTION},
    {1160, STATUS_LOST, ERROR_CONNECTION},
    {1161, STATUS_LOST, ERROR_CONNECTION},
    {1171, STATUS_FATAL, ERROR_USAGE},
    {1203, STATUS_REJECTED, ERROR_LIMIT},
    {1205, STATUS_REJECTED, ERROR_BUSY}, /* lock wait */
    {1213, STATUS_REJECTED, ERROR_BUSY}, /* deadlock */
    {1226, STATUS_REJECTED, ERROR_LIMIT},
    {1227, STATUS_FATAL, ERROR_AUTH},
    {1264, STATUS_REJECTED, ERROR_DATA},
    {1265, STATUS_REJECTED, ERROR_DATA},
    {1286, STATUS_FATAL, ERROR_UNSUPPORTED}, /* no such engine */
    {1290, STATUS_FATAL, ERROR_READ_ONLY},
    {1317, STATUS_REJECTED, ERROR_TIMEOUT},  /* interrupted */
    {1347, STATUS_FATAL, ERROR_UNSUPPORTED}, /* not a base table */
    {1364, STATUS_REJECTED, ERROR_DATA},     /* a column without default was left out */
    {1366, STATUS_REJECTED, ERROR_DATA},
    {1370, STATUS_FATAL, ERROR_AUTH},
    {1394, STATUS_FATAL, ERROR_UNSUPPORTED},
    {1406, STATUS_REJECTED, ERROR_DATA},
    {1451, STATUS_REJECTED, ERROR_DATA},
    {1452, STATUS_REJECTED, ERROR_DATA},
    {1461, STATUS_FATAL, ERROR_LIMIT}, /* max_prepared_stmt_count */
    {1470, STATUS_REJECTED, ERROR_DATA},
    {1471, STATUS_FATAL, ERROR_UNSUPPORTED}, /* not insertable */
    {1526, STATUS_REJECTED, ERROR_DATA},     /* no partition for it */
    {1644, STATUS_REJECTED, ERROR_DATA},     /* a trigger says no */
    {1792, STATUS_FATAL, ERROR_READ_ONLY},   /* in a read-only transaction */
    {1836, STATUS_FATAL, ERROR_READ_ONLY},
    {1927, STATUS_LOST, ERROR_CONNECTION},   /* KILL CONNECTION */
    {1969, STATUS_REJECTED, ERROR_TIMEOUT},  /* max_statement_time */
    {3024, STATUS_REJECTED, ERROR_TIMEOUT},  /* max_execution_time */
    {3105, STATUS_FATAL, ERROR_UNSUPPORTED}, /* a generated column */
    {3572, STATUS_REJECTED, ERROR_BUSY},
    {3819, STATUS_REJECTED, ERROR_DATA},               /* check constraint */
    {3948, STATUS_FATAL, ERROR_UNSUPPORTED},           /* LOAD DATA LOCAL is switched off */
    {4025, STATUS_REJECTED, ERROR_DATA},               /* check constraint */
    {4031, STATUS_LOST, ERROR_CONNECTION},             /* idle too long */
    {4166, STATUS_FATAL, ERROR_UNSUPPORTED},           /* LOAD DATA LOCAL is switched off */
    {CR_UNKNOWN_ERROR, STATUS_LOST, ERROR_CONNECTION}, /* an answer that makes no sense */
    {CR_SERVER_GONE_ERROR, STATUS_LOST, ERROR_CONNECTION},
    {CR_SERVER_LOST, STATUS_LOST, ERROR_CONNECTION},
    {CR_OUT_OF_MEMORY, STATUS_FATAL, ERROR_MEMORY},
    {CR_COMMANDS_OUT_OF_SYNC, STATUS_LOST, ERROR_CONNECTION},
    {CR_NET_PACKET_TOO_LARGE, STATUS_FATAL, ERROR_DATA},
    {CR_SSL_CONNECTION_ERROR, STATUS_LOST, ERROR_CONNECTION},
    {CR_MALFORMED_PACKET, STATUS_LOST, ERROR_CONNECTION},
    {CR_SERVER_LOST_EXTENDED, STATUS_LOST, ERROR_CONNECTION},
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct meaning *find_meaning(const struct meaning *meanings, size_t count,
                                          unsigned number)
{
    for (size_t i = 0; i < count; i++) {
        if (meanings[i].number == number) {
            return &meanings[i];
        }
    }
    return NULL;
}

/* What class of SQLSTATE a number without a meaning of its own belongs to. */
static struct meaning meaning_of_state(unsigned number, const char *sqlstate)
{
    static const struct {
        const char *start;
        enum status status;
        enum error_kind kind;
    } states[] = {
        {"22", STATUS_REJECTED, ERROR_DATA},    {"23", STATUS_REJECTED, ERROR_DATA},
        {"45", STATUS_REJECTED, ERROR_DATA},    {"40", STATUS_REJECTED, ERROR_BUSY},
        {"08", STATUS_LOST, ERROR_CONNECTION},  {"28", STATUS_FATAL, ERROR_AUTH},
        {"42S", STATUS_FATAL, ERROR_NOT_FOUND},
    };
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (strncmp(states[i].start, sqlstate, strlen(states[i].start)) == 0) {
            return (struct meaning){number, states[i].status, states[i].kind};
        }
    }
    return (struct meaning){number, STATUS_REJECTED, ERROR_SERVER};
}

enum status mariadb_memory_error(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory");
    return STATUS_FATAL;
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
static void write_hint(unsigned number, const char *message, char *hint, size_t size)
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

static void copy_message(char *text, size_t size, unsigned number, const char *message)
{
    char hint[260] = "";
    write_hint(number, message, hint, sizeof hint);
    snprintf(text, size, "%s", message);
    make_equal(text);
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s", hint);
}

/* Connector/C puts the number of the system's error at the end: `(111)`, `system error: 110`. */
static int system_error(const char *message)
{
    size_t end = strlen(message);
    while (end > 0 && !isdigit((unsigned char)message[end - 1])) {
        end--;
    }
    size_t start = end;
    while (start > 0 && isdigit((unsigned char)message[start - 1])) {
        start--;
    }
    return start < end ? (int)strtol(message + start, NULL, 10) : 0;
}

/* What keeps a socket from being opened: the other side, or this one. */
static struct meaning socket_meaning(unsigned number, const char *message)
{
    const int reason = system_error(message);
    switch (reason) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL:
        return (struct meaning){(unsigned)reason, STATUS_LOST, ERROR_SYSTEM};
    case ETIMEDOUT:
        return (struct meaning){number, STATUS_LOST, ERROR_TIMEOUT};
    default:
        return (struct meaning){number, STATUS_LOST, ERROR_UNREACHABLE};
    }
}

static bool is_socket_error(unsigned number)
{
    return number == CR_SOCKET_CREATE_ERROR || number == CR_CONNECTION_ERROR ||
           number == CR_CONN_HOST_ERROR || number == CR_IPSOCK_ERROR;
}

enum status mariadb_connect_error(struct adapter_conn *conn, struct error *error)
{
    const unsigned number = mysql_errno(&conn->mysql);
    const char *message = mysql_error(&conn->mysql);
    const char *sqlstate = mysql_sqlstate(&conn->mysql);
    const struct meaning *found =
        find_meaning(connect_meanings, COUNT_OF(connect_meanings), number);
    struct meaning meaning = {number, STATUS_LOST, ERROR_SERVER};
    char text[ERROR_TEXT_BYTES];

    if (found != NULL) {
        meaning = *found;
    } else if (is_socket_error(number)) {
        meaning = socket_meaning(number, message);
    } else if (strncmp(sqlstate, "28", 2) == 0) {
        meaning = (struct meaning){number, STATUS_FATAL, ERROR_AUTH};
    }
    if (number == ER_CON_COUNT_ERROR) {
        /* before its greeting a server sends no SQLSTATE, behind it this one: one cause, not two */
        sqlstate = "08004";
    }
    copy_message(text, sizeof text, number, message);
    conn->is_lost = true;
    error_set(error, meaning.kind, (int)meaning.number, sqlstate, "%s", text);
    return meaning.status;
}

/* What the server's text does not say: which setting it is, and what would work. NULL = it does. */
static const char *remedy(unsigned number)
{
    switch (number) {
    case 1153:
    case CR_NET_PACKET_TOO_LARGE:
        return "one append is larger than the server's max_allowed_packet: make --batch smaller";
    case 1148:
    case 3948:
    case 4166:
        return "LOAD DATA LOCAL is switched off on this server (local_infile): use --method bulk "
               "or insert";
    default:
        return NULL;
    }
}

enum status mariadb_check_length(const struct table *table, size_t length, struct error *error)
{
    if (table->statement_bytes_max == 0 || length <= table->statement_bytes_max) {
        return STATUS_OK;
    }
    error_set(error, ERROR_DATA, ER_NET_PACKET_TOO_LARGE, "08S01", "%s",
              remedy(ER_NET_PACKET_TOO_LARGE));
    return STATUS_FATAL;
}

static enum status report(struct adapter_conn *conn, unsigned number, const char *sqlstate,
                          const char *message, struct error *error)
{
    const struct meaning *found = find_meaning(call_meanings, COUNT_OF(call_meanings), number);
    struct meaning meaning = found != NULL ? *found : meaning_of_state(number, sqlstate);
    char text[ERROR_TEXT_BYTES];

    if (number == 0) {
        /* Connector/C gave up on an answer without a word */
        meaning = (struct meaning){number, STATUS_LOST, ERROR_CONNECTION};
        sqlstate = NULL;
        message = "the server's answer makes no sense";
    }
    copy_message(text, sizeof text, number, remedy(number) != NULL ? remedy(number) : message);
    error_set(error, meaning.kind, (int)number, sqlstate, "%s", text);
    if (mysql_get_socket(&conn->mysql) < 0) {
        atomic_store(&conn->sock, -1);
        conn->is_lost = true;
    }
    conn->is_lost = conn->is_lost || meaning.status == STATUS_LOST;
    return conn->is_lost && meaning.status != STATUS_FATAL ? STATUS_LOST : meaning.status;
}

enum status mariadb_call_error(struct adapter_conn *conn, struct error *error)
{
    return report(conn, mysql_errno(&conn->mysql), mysql_sqlstate(&conn->mysql),
                  mysql_error(&conn->mysql), error);
}

enum status mariadb_statement_error(struct adapter_conn *conn, MYSQL_STMT *statement,
                                    struct error *error)
{
    return report(conn, mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                  mysql_stmt_error(statement), error);
}

enum status mariadb_warning_error(unsigned number, const char *message, struct error *error)
{
    static const struct {
        unsigned number;
        const char *sqlstate;
    } states[] = {{1062, "23000"}, {1048, "23000"}, {1452, "23000"}, {4025, "23000"},
                  {1264, "22003"}, {1406, "22001"}, {1265, "01000"}, {1292, "22007"}};
    const char *sqlstate = "HY000"; /* SHOW WARNINGS does not tell it */
    char text[ERROR_TEXT_BYTES];
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        sqlstate = states[i].number == number ? states[i].sqlstate : sqlstate;
    }
    copy_message(text, sizeof text, number, message);
    error_set(error, ERROR_DATA, (int)number, sqlstate, "%s", text);
    return STATUS_REJECTED;
}
