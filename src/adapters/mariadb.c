/*
 * MariaDB, MySQL and compatible servers (SingleStore, Percona Server) through MariaDB Connector/C.
 *
 * An append of fewer than ROW_BATCH_MAX rows needs one round trip. A query that counts rows needs
 * one round trip.
 */
#include "adapters/mariadb.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

#include "adapters/dialect.h"
#include "append/client_socket.h"
#include "append/value_text.h"
#include "base/ask.h"
#include "base/mono.h"
#include "base/text.h"
#include "base/url.h"

struct mariadb_append {
    bool is_open;
    bool is_pending;     /* a statement was sent and not answered yet */
    bool in_transaction; /* the append began a transaction */
    const struct table *table;
    bool keeps_failed_rows;
    uint64_t kept; /* number of rows that the server keeps, even if the rest of the append fails */
    /* number of rows in the append's transaction, which is not committed yet */
    uint64_t provisional;
    size_t sent; /* number of rows of the latest statement */
    unsigned statements;
};

/* The encoding of a result column's values. */
struct result_column {
    uint8_t type; /* type of the column, of enum enum_field_types */
    uint8_t decimals;
    bool is_unsigned;
};

/* A prepared statement of the server. */
struct adapter_prepared {
    bool is_kept; /* the server still has the statement */
    unsigned long id;
    unsigned column_count; /* number of columns of the result; 0: the statement returns no rows */
    struct result_column *columns; /* columns of the result; owned */
};

/* A connection. It uses little memory, because there are thousands of connections: it stores no
 * rows, and the text of a statement is freed after it was sent, before the session waits for the
 * answer. */
struct adapter_conn {
    MYSQL mysql;
    bool uses_insert;     /* the connection uses the method "insert" */
    bool is_method_given; /* the user chose the method, so no other method may be used */
    bool is_lost;
    bool is_utc;       /* the session's time zone was set to UTC */
    bool has_no_notes; /* the server was asked to keep no notes for this session */
    bool has_created_database;
    struct client_socket socket; /* the connection's socket, for interrupt_connection in another
                                    thread */
    const char *why_no_bulk; /* reason why bulk is not in use; static; NULL = bulk is in use or was
                                not requested */
    struct mariadb_append append;
    unsigned long statement;             /* id of the prepared bulk statement */
    const struct table *statement_table; /* table of the bulk statement; NULL if the bulk statement
                                            is not prepared */
    const struct server_facts *facts;    /* the target's facts, or `learned`; may be NULL */
    struct server_facts *learned;        /* facts from a call of `describe`; owned; may be NULL */
    unsigned kept_statements; /* number of script statements that a session keeps prepared */
    bool sends_text;          /* script statements are sent as text: see choose_method */
    bool has_begun;           /* a transaction that adapter.begin has begun is open */
    bool shows_transactions;  /* the server's status showed a transaction after BEGIN */
    unsigned prepared_count;  /* number of prepared statements on the server */
    struct buffer packet;     /* the statement to send; its memory is kept for the next statement */
};

/* A connect in progress, including the set-up of its session. Strings are borrowed from the target
 * or point into this struct. */
struct connect_attempt {
    struct adapter_conn *conn;
    const struct target *target;
    const char *host;
    const char *socket;
    char socket_path[256];
    bool needs_tls;                  /* a connection without TLS is an error */
    bool may_use_tls;                /* TLS may be used; option files are not considered */
    struct client_deadline deadline; /* time limit of all steps of the connect together */
};

enum {
    TLS_BY_DEFAULT = 30400, /* first version of Connector/C that uses TLS by default */
    INET4_VERSION = 101000, /* first version of MariaDB with the types inet4, inet6 and uuid */
    FRACTION_DIGITS = 6,    /* maximum number of digits that the server stores */
    YEAR_MAX = 9999,
    FLAG_TYPES = 128, /* the types of the parameters are in the packet */
    ID_BYTES = 4,     /* bytes of a statement's id */
    HEADER_BYTES = 4, /* the packet's length (3 bytes) and its number */
    PROTOCOL = 10,
    ERROR_PACKET = 0xff, /* sent instead of a greeting: too many connections, host blocked */
    ERROR_NUMBER_MIN = 1000,
    ERROR_NUMBER_MAX = 4999,
};

/* The connect that this thread is making; NULL at all other times. Connector/C passes only the
 * socket to its wait callback, so the callback finds the connect in this thread-local variable. */
static _Thread_local struct connect_attempt *connecting;

static const char *const methods[] = {"bulk", "insert", NULL};

static const char character_set[] = "utf8mb4";

static const char packet_advice[] =
    "an append exceeds the server's max_allowed_packet: use a smaller --batch";

/* Returns the bytes of a value: the batch's own bytes, or text written to `text`
 * (VALUE_TEXT_BYTES). */
static struct text_value bytes_of(const struct column *column, union column_values values,
                                  size_t row, char *text)
{
    struct civil_time civil;
    int length = -1;
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        return values.text[row];
    case COLUMN_UUID:
    case COLUMN_IP4:
    case COLUMN_IP6:
        if (dialect_mysql_is_binary(column)) {
            const uint32_t width = column->type == COLUMN_IP4 ? 4 : 16;
            return (struct text_value){(const char *)values.any + row * width, width};
        }
        break;
    case COLUMN_FLOAT32:
        if (fabsf(values.float32[row]) > FLT_MAX / 2) {
            /* near the largest float, the shortest digits may mean a number above the largest
             * float */
            length = (int)value_text_real(text, (double)values.float32[row], false);
        }
        break;
    case COLUMN_DATE:
    case COLUMN_TIMESTAMP:
        civil_time_of(column, values, row, &civil);
        if (civil.year < 0 || civil.year > YEAR_MAX) {
            /* write a date that the server refuses, because the server would misread the real
             * date */
            length = snprintf(text, VALUE_TEXT_BYTES, "%d-%02u-%02u", YEAR_MAX + 1, civil.month,
                              civil.day);
        }
        break;
    default:
        break;
    }
    const size_t bytes =
        length >= 0 ? (size_t)length : value_text_write(text, column, values, row, column->scale);
    return (struct text_value){text, (uint32_t)bytes};
}

void mariadb_add_literal(struct buffer *sql, const struct column *column,
                         const struct column_data *data, size_t row, bool has_escapes)
{
    static const char digits[] = "0123456789abcdef";
    char text[VALUE_TEXT_BYTES];
    if (column_is_null(data, row)) {
        buffer_add(sql, "NULL", 4);
        return;
    }
    const struct text_value value = bytes_of(column, data->values, row, text);
    if (column->type <= COLUMN_DECIMAL) {
        buffer_add(sql, value.bytes, value.length);
        return;
    }
    if (dialect_mysql_is_binary(column)) {
        char piece[256];
        size_t used = 0;
        buffer_add(sql, "x'", 2);
        for (uint32_t i = 0; i < value.length; i++) {
            const unsigned char byte = (unsigned char)value.bytes[i];
            piece[used++] = digits[byte >> 4];
            piece[used++] = digits[byte & 15];
            if (used == sizeof piece || i + 1 == value.length) {
                buffer_add(sql, piece, used);
                used = 0;
            }
        }
    } else {
        uint32_t done = 0;
        buffer_add(sql, "'", 1);
        for (uint32_t i = 0; i < value.length; i++) {
            if (value.bytes[i] == '\'' || (value.bytes[i] == '\\' && has_escapes)) {
                buffer_add(sql, value.bytes + done, i - done);
                buffer_add(sql, &value.bytes[i], 1); /* adds the character a second time */
                done = i;
            }
        }
        buffer_add(sql, value.bytes + done, value.length - done);
    }
    buffer_add(sql, "'", 1);
}

/* Writes the lowest `bytes` bytes of a number; returns `bytes`. */
static size_t put_number(unsigned char *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (unsigned char)(value >> (8 * i));
    }
    return bytes;
}

/* Writes a length byte and the fields of a time; returns the number of bytes. */
static size_t put_time(unsigned char *out, const struct column *column, union column_values values,
                       size_t row)
{
    struct civil_time civil;
    size_t at = 1;
    civil_time_of(column, values, row, &civil);
    if (column->type == COLUMN_TIME) {
        at += put_number(out + at, 0, 5); /* a positive time without days */
    } else {
        /* a year that the server cannot store is replaced by a year that the server refuses */
        const bool is_out = civil.year < 0 || civil.year > YEAR_MAX;
        at += put_number(out + at, is_out ? YEAR_MAX + 1 : (uint64_t)civil.year, 2);
        out[at++] = (unsigned char)civil.month;
        out[at++] = (unsigned char)civil.day;
    }
    if (column->type != COLUMN_DATE) {
        unsigned long unit = 1; /* truncate the fraction to the column's digits */
        for (unsigned digits = column->scale; digits < FRACTION_DIGITS; digits++) {
            unit *= 10;
        }
        const unsigned long microseconds = civil.nanosecond / 1000;
        out[at++] = (unsigned char)civil.hour;
        out[at++] = (unsigned char)civil.minute;
        out[at++] = (unsigned char)civil.second;
        at += put_number(out + at, microseconds - microseconds % unit, 4);
    }
    out[0] = (unsigned char)(at - 1);
    return at;
}

/* Writes a length: one byte, or a marker and 2, 3 or 8 bytes. Returns the number of bytes. */
static size_t put_length(unsigned char *out, size_t length)
{
    size_t bytes = 8;
    if (length < 251) {
        return put_number(out, length, 1);
    }
    if (length < 1U << 24) {
        bytes = length <= UINT16_MAX ? 2 : 3;
    }
    out[0] = (unsigned char)(bytes == 8 ? 254 : 250 + bytes);
    return 1 + put_number(out + 1, length, bytes);
}

/* Adds a value that is not NULL. */
static void add_value(struct buffer *packet, const struct column *column,
                      union column_values values, size_t row)
{
    unsigned char out[32];
    char text[VALUE_TEXT_BYTES];
    size_t used = 0;
    uint32_t bits;
    uint64_t long_bits;
    switch (column->type) {
    case COLUMN_BOOL:
        out[used++] = values.boolean[row] != 0;
        break;
    case COLUMN_INT16:
        used += put_number(out, (uint16_t)values.int16[row], 2);
        break;
    case COLUMN_INT32:
        used += put_number(out, (uint32_t)values.int32[row], 4);
        break;
    case COLUMN_INT64:
        used += put_number(out, (uint64_t)values.int64[row], 8);
        break;
    case COLUMN_FLOAT32:
        memcpy(&bits, &values.float32[row], sizeof bits);
        used += put_number(out, bits, sizeof bits);
        break;
    case COLUMN_FLOAT64:
        memcpy(&long_bits, &values.float64[row], sizeof long_bits);
        used += put_number(out, long_bits, sizeof long_bits);
        break;
    case COLUMN_DATE:
    case COLUMN_TIME:
    case COLUMN_TIMESTAMP:
        used += put_time(out, column, values, row);
        break;
    default: {
        const struct text_value value = bytes_of(column, values, row, text);
        used += put_length(out, value.length);
        buffer_add(packet, out, used);
        buffer_add(packet, value.bytes, value.length);
        return;
    }
    }
    buffer_add(packet, out, used);
}

/* Adds the type of a parameter's values in the packet (2 bytes). */
static void add_type(struct buffer *packet, const struct column *column)
{
    static const uint8_t types[COLUMN_TYPE_COUNT] = {
        [COLUMN_BOOL] = MYSQL_TYPE_TINY,          [COLUMN_INT16] = MYSQL_TYPE_SHORT,
        [COLUMN_INT32] = MYSQL_TYPE_LONG,         [COLUMN_INT64] = MYSQL_TYPE_LONGLONG,
        [COLUMN_FLOAT32] = MYSQL_TYPE_FLOAT,      [COLUMN_FLOAT64] = MYSQL_TYPE_DOUBLE,
        [COLUMN_DECIMAL] = MYSQL_TYPE_NEWDECIMAL, [COLUMN_DATE] = MYSQL_TYPE_DATE,
        [COLUMN_TIME] = MYSQL_TYPE_TIME,          [COLUMN_TIMESTAMP] = MYSQL_TYPE_DATETIME,
    };
    unsigned char out[2];
    const unsigned of_bytes =
        dialect_mysql_is_binary(column) ? MYSQL_TYPE_BLOB : MYSQL_TYPE_VAR_STRING;
    put_number(out, types[column->type] != 0 ? types[column->type] : of_bytes, sizeof out);
    buffer_add(packet, out, sizeof out);
}

void mariadb_add_bulk(struct buffer *packet, unsigned long statement, const struct batch *batch)
{
    const struct table *table = batch->table;
    unsigned char head[ID_BYTES + 2];
    put_number(head, statement, ID_BYTES);
    put_number(head + ID_BYTES, FLAG_TYPES, 2);
    buffer_add(packet, head, sizeof head);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table->columns[i].is_generated) {
            add_type(packet, &table->columns[i]);
        }
    }
    for (size_t row = 0; row < batch->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            const struct column_data *data = &batch->columns[i];
            const unsigned char indicator =
                column_is_null(data, row) ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
            if (table->columns[i].is_generated) {
                continue;
            }
            buffer_add(packet, &indicator, 1);
            if (indicator == STMT_INDICATOR_NONE) {
                add_value(packet, &table->columns[i], data->values, row);
            }
        }
    }
}

void mariadb_add_execute(struct buffer *packet, unsigned long statement, const struct batch *batch)
{
    const size_t count = batch != NULL ? batch->table->column_count : 0;
    unsigned char head[ID_BYTES + 1 + 4] = {0};
    put_number(head, statement, ID_BYTES);
    put_number(head + ID_BYTES + 1, 1, 4);
    buffer_add(packet, head, sizeof head);
    for (size_t i = 0; i < count; i += 8) {
        unsigned char nulls = 0;
        for (size_t j = i; j < count && j < i + 8; j++) {
            nulls |= (unsigned char)(column_is_null(&batch->columns[j], 0) ? 1U << (j - i) : 0);
        }
        buffer_add(packet, &nulls, 1);
    }
    if (count > 0) {
        buffer_add(packet, "\1", 1); /* says that the types follow */
    }
    for (size_t i = 0; i < count; i++) {
        add_type(packet, &batch->table->columns[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (!column_is_null(&batch->columns[i], 0)) {
            add_value(packet, &batch->table->columns[i], batch->columns[i].values, 0);
        }
    }
}

/* Recognises a greeting: packet 0, with the protocol's number and the server's version as text. */
enum probe_answer mariadb_recognise(const unsigned char *bytes, size_t length)
{
    if (length < HEADER_BYTES) {
        return PROBE_MORE;
    }
    const size_t packet = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;
    const size_t rest = length - HEADER_BYTES;
    const enum probe_answer unfinished = rest < packet ? PROBE_MORE : PROBE_NO;
    if (bytes[3] != 0 || packet < 3 || packet > 1024) {
        return PROBE_NO;
    }
    if (rest < 3) {
        return unfinished;
    }
    const unsigned char *version = bytes + HEADER_BYTES + 1;
    if (bytes[HEADER_BYTES] == ERROR_PACKET) {
        const unsigned number = version[0] | (unsigned)version[1] << 8;
        return number >= ERROR_NUMBER_MIN && number <= ERROR_NUMBER_MAX ? PROBE_YES : PROBE_NO;
    }
    if (bytes[HEADER_BYTES] != PROTOCOL || version[0] < '0' || version[0] > '9') {
        return PROBE_NO;
    }
    return memchr(version, '\0', rest - 1) != NULL ? PROBE_YES : unfinished;
}

/* Records a failure with the dialect's meaning; *meaning is the default when the dialect does not
 * know the failure. */
static void record(const struct dialect_failure *failure, struct dialect_meaning *meaning,
                   struct error *error)
{
    char text[ERROR_TEXT_BYTES];
    dialect_mysql.classify_error(failure, meaning);
    dialect_mysql.write_text(failure, "", text, sizeof text);
    dialect_record(meaning, failure, text, error);
}

/* Records why a connection attempt failed. */
static enum status connect_error(struct adapter_conn *conn, struct error *error)
{
    const unsigned number = mysql_errno(&conn->mysql);
    struct dialect_failure failure = {
        .is_connecting = true,
        .number = (int)number,
        /* a server sends this SQLSTATE only after its greeting; before the greeting it sends the
         * same error without an SQLSTATE */
        .sqlstate = number == ER_CON_COUNT_ERROR ? "08004" : mysql_sqlstate(&conn->mysql),
        .text = mysql_error(&conn->mysql)};
    struct dialect_meaning meaning = {STATUS_LOST, ERROR_SERVER, NULL};
    if (number == CR_SOCKET_CREATE_ERROR || number == CR_CONNECTION_ERROR ||
        number == CR_CONN_HOST_ERROR || number == CR_IPSOCK_ERROR) {
        /* Connector/C puts the system's error number at the end: `(111)`, `system error: 110` */
        const char *end = failure.text + strlen(failure.text);
        while (end > failure.text && !isdigit((unsigned char)end[-1])) {
            end--;
        }
        while (end > failure.text && isdigit((unsigned char)end[-1])) {
            end--;
        }
        const int reason = (int)strtol(end, NULL, 10);
        meaning.kind = reason == ETIMEDOUT ? ERROR_TIMEOUT : ERROR_UNREACHABLE;
        if (reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM ||
            reason == EADDRNOTAVAIL) {
            failure.number = reason; /* this machine has no socket or port left */
            meaning.kind = ERROR_SYSTEM;
        }
    }
    record(&failure, &meaning, error);
    conn->is_lost = true;
    return meaning.status;
}

static enum status record_failure(struct adapter_conn *conn, unsigned number, const char *sqlstate,
                                  const char *message, struct error *error)
{
    struct dialect_failure failure = {.number = (int)number, .sqlstate = sqlstate, .text = message};
    struct dialect_meaning meaning = {STATUS_REJECTED, ERROR_SERVER, NULL};
    if (number == ER_NET_PACKET_TOO_LARGE || number == CR_NET_PACKET_TOO_LARGE) {
        failure.text = packet_advice;
    } else if (number == 0) { /* Connector/C rejects some answers without setting an error number */
        failure =
            (struct dialect_failure){.sqlstate = "", .text = "the server's answer is malformed"};
        meaning = (struct dialect_meaning){STATUS_LOST, ERROR_CONNECTION, NULL};
    }
    record(&failure, &meaning, error);
    if (mysql_get_socket(&conn->mysql) < 0) {
        conn->is_lost = true;
    }
    conn->is_lost = conn->is_lost || meaning.status == STATUS_LOST;
    return conn->is_lost && meaning.status != STATUS_FATAL ? STATUS_LOST : meaning.status;
}

/* Records why the latest call on the connection failed. */
static enum status call_error(struct adapter_conn *conn, struct error *error)
{
    return record_failure(conn, mysql_errno(&conn->mysql), mysql_sqlstate(&conn->mysql),
                          mysql_error(&conn->mysql), error);
}

/* Converts the text of an integer to a number, so that the cell is the same as with a prepared
 * statement. */
static void make_number(struct cell *cell, enum enum_field_types type)
{
    const struct text_value text = cell->as.text;
    int64_t number;
    const bool is_whole = type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT ||
                          type == MYSQL_TYPE_INT24 || type == MYSQL_TYPE_LONG ||
                          type == MYSQL_TYPE_LONGLONG || type == MYSQL_TYPE_YEAR;
    if (is_whole && !cell->is_null && text_parse_integer(text.bytes, text.length, &number)) {
        cell->type = COLUMN_INT64;
        cell->as.int64 = number;
    }
}

/* Runs statements. Passes each row to answer->take when it is read, because thousands of sessions
 * cannot keep large results in memory. After answer->take has returned false, mysql_free_result
 * reads the remaining rows, so that the next statement can be sent. */
static enum status run_bytes(struct adapter_conn *conn, const char *sql, size_t length,
                             struct answer *answer, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    uint64_t matched = 0;
    bool has_rows = false;
    if (mysql_real_query(mysql, sql, (unsigned long)length) != 0) {
        return call_error(conn, error); /* the error number may be 0 */
    }
    int more = 0;
    for (; more == 0; more = mysql_next_result(mysql)) {
        const size_t columns = mysql_field_count(mysql);
        if (columns == 0) {
            matched += mysql_affected_rows(mysql);
            continue;
        }
        has_rows = true;
        MYSQL_RES *const result = mysql_use_result(mysql);
        const MYSQL_FIELD *const fields = result == NULL ? NULL : mysql_fetch_fields(result);
        struct cell *const cells = calloc(columns, sizeof *cells);
        bool is_wanted = result != NULL && cells != NULL;
        MYSQL_ROW row = NULL;
        while (is_wanted && (row = mysql_fetch_row(result)) != NULL) {
            const unsigned long *lengths = mysql_fetch_lengths(result);
            answer->rows++;
            for (size_t i = 0; i < columns && answer->take != NULL; i++) {
                cells[i] = (struct cell){.type = COLUMN_TEXT,
                                         .is_null = row[i] == NULL,
                                         .as.text = {row[i], (uint32_t)lengths[i]}};
                make_number(&cells[i], fields[i].type);
            }
            is_wanted = answer->take == NULL || answer->take(answer->context, cells, columns);
        }
        const bool has_failed = result == NULL || (row == NULL && mysql_errno(mysql) != 0);
        enum status status = STATUS_OK;
        if (cells == NULL) {
            status = dialect_memory_error(error);
        } else if (has_failed) {
            status = call_error(conn, error);
        }
        free(cells);
        mysql_free_result(result);
        if (status != STATUS_OK) {
            return status;
        }
    }
    answer->rows += has_rows ? 0 : matched;
    return more > 0 || mysql_errno(mysql) != 0 ? call_error(conn, error) : STATUS_OK;
}

static enum status run_query(struct adapter_conn *conn, const char *sql, struct answer *answer,
                             struct error *error)
{
    return run_bytes(conn, sql, strlen(sql), answer, error);
}

/* Runs one or more statements and drops their rows. */
static enum status run_text(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return run_query(conn, sql, &(struct answer){.take = NULL}, error);
}

/* Rolls back a transaction that a user's statement has left open. Between adapter.begin and the end
 * of its transaction, only checks that the transaction is still open. If init_connect, which runs
 * after the greeting, has turned autocommit off, every statement leaves a transaction open. In this
 * case, turns autocommit on, which commits the transaction. */
static enum status end_transaction(struct adapter_conn *conn, enum status status,
                                   struct error *error)
{
    const unsigned state = conn->mysql.server_status;
    const bool is_open = (state & SERVER_STATUS_IN_TRANS) != 0;
    if (conn->has_begun) {
        return dialect_check_transaction(status, is_open || !conn->shows_transactions, error);
    }
    if (status == STATUS_LOST || !is_open) {
        return status;
    }
    if (status == STATUS_OK && (state & SERVER_STATUS_AUTOCOMMIT) == 0) {
        return run_text(conn, "set autocommit = 1", error);
    }
    status = dialect_refuse_transaction(status, error);
    return run_text(conn, "rollback", error) == STATUS_LOST ? STATUS_LOST : status;
}

static enum status set_socket(struct connect_attempt *attempt, const char *path,
                              struct error *error)
{
    static const char *const names[] = {"mysqld.sock", "mysql.sock", "mariadb.sock"};
    const size_t size = sizeof attempt->socket_path;
    struct stat info;
    int length = snprintf(attempt->socket_path, size, "%s", path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            length = snprintf(attempt->socket_path, size, "%s/%s", path, names[i]);
            if (access(attempt->socket_path, F_OK) == 0) {
                break;
            }
        }
    }
    if (length < 0 || (size_t)length >= size) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path of the Unix socket is too long: %.160s",
                  path);
        return STATUS_FATAL;
    }
    attempt->socket = attempt->socket_path;
    attempt->host = "localhost"; /* Connector/C's name for a Unix socket */
    return STATUS_OK;
}

static enum status set_parameter(struct connect_attempt *attempt, const char *key,
                                 const char *value, struct error *error)
{
    static const char *const modes[] = {"off", "prefer", "require", "verify"};
    static const struct {
        const char *key;
        enum mysql_option option;
    } files[] = {{"ssl-ca", MYSQL_OPT_SSL_CA},
                 {"ssl-cert", MYSQL_OPT_SSL_CERT},
                 {"ssl-key", MYSQL_OPT_SSL_KEY}};
    MYSQL *const mysql = &attempt->conn->mysql;
    attempt->may_use_tls |= strncmp(key, "ssl", 3) == 0;
    if (strcmp(key, "socket") == 0) {
        return set_socket(attempt, value, error);
    }
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (strcmp(key, files[i].key) == 0) {
            mysql_optionsv(mysql, files[i].option, value);
            return STATUS_OK;
        }
    }
    for (size_t i = 0; i < COUNT_OF(modes) && strcmp(key, "ssl") == 0; i++) {
        if (strcmp(modes[i], value) == 0) {
            const my_bool is_wanted = i > 0 ? 1 : 0;
            const my_bool is_verified = i == 3 ? 1 : 0;
            mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &is_wanted);
            mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &is_verified);
            /* Connector/C 3.3 continues without TLS when the server has no TLS; the connection is
             * checked later */
            attempt->needs_tls = i >= 2;
            return STATUS_OK;
        }
    }
    const bool is_ssl = strcmp(key, "ssl") == 0;
    error_set(error, ERROR_USAGE, 0, NULL,
              is_ssl ? "unknown value ssl=%.60s; use off, prefer, require or verify"
                     : "unknown parameter '%.60s'; use one of ssl, ssl-ca, ssl-cert, ssl-key "
                       "and socket",
              is_ssl ? value : key);
    return STATUS_FATAL;
}

/* Sets members of *attempt and options of the client library as the target requires. */
static enum status set_options(struct connect_attempt *attempt, const struct target *target,
                               struct error *error)
{
    /* Connector/C calls wait_for_socket only if a time-out is set. The limit that applies is
     * attempt->deadline. */
    const unsigned timeout_s = 1;
    const unsigned tcp = MYSQL_PROTOCOL_TCP;
    MYSQL *const mysql = &attempt->conn->mysql;
    const char *query = target->query;
    struct url_parameter parameter;
    bool is_valid = true;
    enum status status = STATUS_OK;
    attempt->may_use_tls = mysql_get_client_version() >= TLS_BY_DEFAULT;
    mysql_optionsv(mysql, MYSQL_READ_DEFAULT_GROUP, "append");
    mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, character_set);
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "append");
    if (target->host != NULL && target->host[0] == '/') {
        status = set_socket(attempt, target->host, error);
    } else if (target->host != NULL && target->host[0] != '\0') {
        attempt->host = target->host;
    }
    while (status == STATUS_OK && url_query_next(&query, &parameter, &is_valid)) {
        if (!is_valid) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "a parameter of the URL is too long or badly encoded");
            return STATUS_FATAL;
        }
        status = set_parameter(attempt, parameter.key, parameter.value, error);
    }
    if (attempt->socket == NULL &&
        (target->port != 0 || (attempt->host != NULL && strcmp(attempt->host, "localhost") != 0))) {
        mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    }
    return status;
}

/*
 * Prepared statements: script statements, and bulk statements, which are an INSERT of one row that
 * is executed for all rows of a batch at once (COM_STMT_BULK_EXECUTE). The server parses and plans
 * them once.
 *
 * Connector/C's own functions keep 10 to 26 KiB in each connection for a statement, its parameters
 * and its result. This file therefore prepares a statement with Connector/C, keeps only the
 * statement's id, and frees the handle. To execute the statement, it sends the packet as a command
 * of its own and reads the answer packet by packet. For this, it uses four members and functions
 * that are in Connector/C's headers but not documented; it uses them for nothing else:
 *
 *   mysql->methods->db_command   sends a command; every call of the library uses it
 *   handle->stmt_id              the server's id of the statement
 *   mysql->stmts, handle->mysql  cleared, as the library itself does when it loses a connection
 *   mysql_net_read_packet        reads a packet, which begins at mysql->net.read_pos
 *
 * When the library in use is not of the same series as these headers, choose_method makes the
 * connection send all statements as text instead.
 */
static enum status choose_method(struct adapter_conn *conn, struct error *error)
{
    static const char built_for[] = MARIADB_PACKAGE_VERSION;
    MYSQL *const mysql = &conn->mysql;
    /* Compares major and minor version as text, because the version number that some libraries
     * report is the version of a server. */
    const char *const patch = strrchr(built_for, '.');
    const char *const in_use = mysql_get_client_info();
    unsigned long capabilities = 0;
    const char *why_not = NULL;
    conn->sends_text = patch == NULL || in_use == NULL ||
                       strncmp(built_for, in_use, (size_t)(patch - built_for) + 1) != 0 ||
                       mysql->methods == NULL || mysql->methods->db_command == NULL;
    if (mariadb_get_infov(mysql, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &capabilities) !=
            0 ||
        (capabilities & (unsigned long)(MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32)) == 0) {
        why_not = "the server has no bulk statements";
    } else if (conn->sends_text) {
        why_not = "this MariaDB Connector/C is not of the series that append was built for";
    }
    if (conn->uses_insert || why_not == NULL) {
        return STATUS_OK;
    }
    if (conn->is_method_given) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "%s (server version %.60s): use --method insert", why_not,
                  mysql_get_server_info(mysql));
        return STATUS_FATAL;
    }
    conn->uses_insert = true;
    conn->why_no_bulk = why_not;
    return STATUS_OK;
}

/* Sends a command without waiting for an answer. */
static enum status send_command(struct adapter_conn *conn, enum enum_server_command command,
                                const void *body, size_t length, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    return mysql->methods->db_command(mysql, command, body, length, 1, NULL) == 0
               ? STATUS_OK
               : call_error(conn, error);
}

static enum status close_statement(struct adapter_conn *conn, unsigned long statement,
                                   struct error *error)
{
    unsigned char id[ID_BYTES];
    put_number(id, statement, sizeof id);
    /* the server does not answer COM_STMT_CLOSE */
    return send_command(conn, COM_STMT_CLOSE, id, sizeof id, error);
}

/* Returns the encodings of the result's columns, owned by the caller, or NULL if memory runs
 * out. */
static struct result_column *copy_columns(const MYSQL_STMT *handle)
{
    struct result_column *columns = calloc(handle->field_count + 1U, sizeof *columns);
    for (unsigned i = 0; columns != NULL && i < handle->field_count; i++) {
        const MYSQL_FIELD *field = &handle->fields[i];
        columns[i] = (struct result_column){.type = (uint8_t)field->type,
                                            .decimals = (uint8_t)field->decimals,
                                            .is_unsigned = (field->flags & UNSIGNED_FLAG) != 0};
    }
    return columns;
}

/* Prepares a statement. On OK the caller owns made->columns. */
static enum status prepare_text(struct adapter_conn *conn, const char *sql,
                                struct adapter_prepared *made, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    enum status status = STATUS_OK;
    MYSQL_STMT *const handle = mysql_stmt_init(mysql);
    *made = (struct adapter_prepared){.is_kept = false};
    if (handle == NULL) {
        return dialect_memory_error(error);
    }
    if (mysql_stmt_prepare(handle, sql, (unsigned long)strlen(sql)) != 0) {
        status = record_failure(conn, mysql_stmt_errno(handle), mysql_stmt_sqlstate(handle),
                                mysql_stmt_error(handle), error);
    } else if (handle->mysql != mysql || mysql->stmts == NULL || mysql->stmts->data != handle ||
               mysql->stmts->next != NULL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "prepared statements do not work with MariaDB Connector/C %.20s: use "
                  "--method insert",
                  mysql_get_client_info());
        status = STATUS_FATAL;
    } else {
        made->id = handle->stmt_id;
        made->column_count = handle->field_count;
        made->columns = copy_columns(handle);
        if (made->columns == NULL) {
            status = dialect_memory_error(error);
        }
    }
    if (status == STATUS_OK) {
        /* after this, closing the handle does not close the statement on the server */
        mysql->stmts = NULL;
        handle->mysql = NULL;
        made->is_kept = true;
    }
    mysql_stmt_close(handle);
    return status;
}

/* Prepares the bulk statement for a table, unless it is already prepared. A connection keeps one
 * bulk statement. */
static enum status bulk_prepare(struct adapter_conn *conn, const struct table *table,
                                struct error *error)
{
    struct adapter_prepared made = {.is_kept = false};
    struct buffer sql = {0};
    if (conn->statement_table == table) {
        return STATUS_OK;
    }
    if (conn->statement_table != NULL) {
        conn->statement_table = NULL;
        const enum status status = close_statement(conn, conn->statement, error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    ask_write_insert(&sql, table, '`', 1);
    const enum status status = buffer_failed(&sql)
                                   ? dialect_memory_error(error)
                                   : prepare_text(conn, buffer_text(&sql), &made, error);
    if (status == STATUS_OK) {
        conn->statement = made.id;
        conn->statement_table = table;
        free(made.columns);
    }
    buffer_fini(&sql);
    return status;
}

static bool has_escapes(const struct adapter_conn *conn)
{
    return (conn->mysql.server_status & SERVER_STATUS_NO_BACKSLASH_ESCAPES) == 0;
}

static unsigned lexis_of(const struct adapter_conn *conn)
{
    return has_escapes(conn) ? SQL_BACKSLASHES | SQL_HASHES : SQL_HASHES;
}

/* Sends the rows in one statement, without waiting for the answer. */
static enum status send_rows(struct adapter_conn *conn, const struct batch *batch,
                             struct error *error)
{
    const struct table *table = batch->table;
    const uint64_t most = conn->facts != NULL ? conn->facts->statement_bytes_max : 0;
    const bool is_escaped = has_escapes(conn);
    struct buffer out = {0};
    enum status status = conn->uses_insert ? STATUS_OK : bulk_prepare(conn, table, error);
    if (status != STATUS_OK) {
        return status;
    }
    if (!conn->uses_insert) {
        mariadb_add_bulk(&out, conn->statement, batch);
    } else { /* a multi-row INSERT as text, which every server of this protocol supports */
        buffer_add_text(&out, "insert into ");
        ask_write_target(&out, table, '`');
        buffer_add_text(&out, " values ");
    }
    for (size_t row = 0; conn->uses_insert && row < batch->row_count; row++) {
        const char *separator = row == 0 ? "(" : ",(";
        for (size_t i = 0; i < table->column_count; i++) {
            if (!table->columns[i].is_generated) {
                buffer_add_text(&out, separator);
                mariadb_add_literal(&out, &table->columns[i], &batch->columns[i], row, is_escaped);
                separator = ",";
            }
        }
        buffer_add(&out, ")", 1);
    }
    if (buffer_failed(&out)) {
        status = dialect_memory_error(error);
    } else if (most != 0 && out.length > most) {
        /* Do not send a statement that is too long, because the server would end the connection
         * while the statement is being sent, and the server's answer could be lost. */
        error_set(error, ERROR_DATA, ER_NET_PACKET_TOO_LARGE, "08S01", "%s", packet_advice);
        status = STATUS_FATAL;
    } else if (!conn->uses_insert) {
        status = send_command(conn, COM_STMT_BULK_EXECUTE, out.bytes, out.length, error);
    } else if (mysql_send_query(&conn->mysql, out.bytes, (unsigned long)out.length) != 0) {
        status = call_error(conn, error);
    }
    buffer_fini(&out);
    return status;
}

/*
 * An append of fewer than ROW_BATCH_MAX rows is one statement, which the server commits by itself,
 * in one round trip. A longer append consists of several statements in a transaction, which begins
 * with the first full batch. If the table's engine cannot roll back, the statements are sent
 * without a transaction, and the rows of each statement stay stored. After adapter.begin, the rows
 * belong to the transaction of adapter.begin.
 */

/* Sets the session's time zone to UTC if the table has a column of the server's type timestamp,
 * because this program sends times in UTC, and only such columns use the session's time zone. If
 * is_of_parameters is true, `table` describes parameters. The time zone is then set for any
 * parameter of type timestamp, because the type of the column that it is compared with is
 * unknown. */
static enum status use_utc(struct adapter_conn *conn, const struct table *table,
                           bool is_of_parameters, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < table->column_count && !conn->is_utc && status == STATUS_OK; i++) {
        const struct column *column = &table->columns[i];
        if (column->native_type == MYSQL_NATIVE_TIMESTAMP ||
            (is_of_parameters && column->type == COLUMN_TIMESTAMP)) {
            status = run_text(conn, "set time_zone = '+00:00'", error);
            conn->is_utc = status == STATUS_OK;
        }
    }
    return status;
}

/* Sets up the session for appends into the table. Turns notes off, because the server shows only
 * the first max_error_count of all notes, warnings and errors, and many notes could hide a
 * warning. */
static enum status set_up_appends(struct adapter_conn *conn, const struct table *table,
                                  struct error *error)
{
    struct error unknown = {0};
    if (!conn->has_no_notes && run_text(conn, "set sql_notes = 0", &unknown) == STATUS_LOST) {
        *error = unknown;
        return STATUS_LOST;
    }
    conn->has_no_notes = true;
    return use_utc(conn, table, false, error);
}

static void prepare_appends(struct adapter_conn *conn, const struct table *table)
{
    struct error ignored = {0};
    if (set_up_appends(conn, table, &ignored) == STATUS_OK && !conn->uses_insert) {
        bulk_prepare(conn, table, &ignored);
    }
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    memset(&conn->append, 0, sizeof conn->append);
    const enum status status = set_up_appends(conn, table, error);
    conn->append.table = table;
    conn->append.keeps_failed_rows =
        conn->facts != NULL && ask_keeps_failed_rows(conn->facts, table);
    conn->append.is_open = status == STATUS_OK;
    return status;
}

/* Ends an append that failed with `status`. Unless the result is LOST, append->kept is then the
 * number of rows that stay stored. Returns the resulting status. */
static enum status fail_append(struct adapter_conn *conn, enum status status)
{
    struct mariadb_append *append = &conn->append;
    struct error ignored = {0};
    append->is_open = false;
    append->is_pending = false;
    append->provisional = 0;
    if (status == STATUS_LOST) {
        return status;
    }
    if (append->in_transaction) {
        append->in_transaction = false;
        return run_text(conn, "rollback", &ignored) == STATUS_LOST ? STATUS_LOST : status;
    }
    if (conn->has_begun && !append->keeps_failed_rows) {
        append->kept = 0; /* the caller that began the transaction rolls it back */
    }
    if (append->keeps_failed_rows && append->sent > 0) {
        /* the rows before the failed row are kept; only MariaDB 10.7 and later report the number of
         * the failed row */
        int64_t failed = 0;
        struct answer answer = {.take = ask_take_number, .context = &failed};
        if (run_text(conn, "get diagnostics condition 1 @append_row = row_number", &ignored) ==
                STATUS_OK &&
            run_query(conn, "select @append_row", &answer, &ignored) == STATUS_OK && failed > 0 &&
            (uint64_t)failed <= append->sent) {
            append->kept += (uint64_t)failed - 1;
        }
        return conn->is_lost ? STATUS_LOST : status;
    }
    return status;
}

/* Takes a row of SHOW WARNINGS (level, number, text) and records it as an error, unless it is a
 * note. Only the first error is kept. */
static bool take_warning(void *context, const struct cell *cells, size_t count)
{
    static const struct {
        int64_t number;
        const char *sqlstate;
    } states[] = {{ER_DUP_ENTRY, "23000"}, {1048, "23000"}, {1452, "23000"}, {4025, "23000"},
                  {1264, "22003"},         {1406, "22001"}, {1265, "01000"}, {1292, "22007"}};
    const char *sqlstate = "HY000"; /* SHOW WARNINGS returns no SQLSTATE */
    char level[16];
    char message[2 * ERROR_TEXT_BYTES];
    char text[ERROR_TEXT_BYTES];
    if (count != 3 || cells[0].is_null || cells[1].is_null || cells[2].is_null) {
        return true;
    }
    ask_text(&cells[0], level, sizeof level);
    ask_text(&cells[2], message, sizeof message);
    const int64_t number = ask_number(&cells[1]);
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        sqlstate = states[i].number == number ? states[i].sqlstate : sqlstate;
    }
    if (strcmp(level, "Note") != 0) {
        const struct dialect_failure failure = {
            .number = (int)number, .sqlstate = sqlstate, .text = message};
        dialect_mysql.write_text(&failure, "", text, sizeof text);
        error_set(context, number == ER_DUP_ENTRY ? ERROR_DUPLICATE : ERROR_DATA, (int)number,
                  sqlstate, "%s", text);
    }
    return true;
}

/* Reads the answer to the statement sent last. */
static enum status read_append_answer(struct adapter_conn *conn, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    append->is_pending = false;
    if (mysql_read_query_result(&conn->mysql) != 0) {
        return fail_append(conn, call_error(conn, error));
    }
    if (mysql_field_count(&conn->mysql) > 0) {
        conn->is_lost = true;
        error_set(error, ERROR_CONNECTION, 0, NULL,
                  "the server answered an INSERT with rows instead of the number of inserted rows");
        return fail_append(conn, STATUS_LOST);
    }
    const uint64_t rows = mysql_affected_rows(&conn->mysql);
    /* init_connect runs after the greeting, so only an answer shows whether init_connect has turned
     * autocommit off */
    const bool is_uncommitted = !append->in_transaction && !conn->has_begun &&
                                (conn->mysql.server_status & SERVER_STATUS_AUTOCOMMIT) == 0;
    enum status status = STATUS_OK;
    const unsigned warnings = mysql_warning_count(&conn->mysql);
    if (warnings > 0) {
        /* A server that is not strict changes values that do not fit and reports the change only as
         * a warning. The stored rows then differ from the rows that were sent. */
        struct error warning;
        struct answer answer = {.take = take_warning, .context = &warning};
        error_clear(&warning);
        status = run_query(conn, "show warnings", &answer, error);
        if (status == STATUS_OK && answer.rows < warnings) {
            error_set(&warning, ERROR_DATA, 0, "01000",
                      "the server has %u warnings but shows only %u (max_error_count): values may "
                      "have been changed",
                      warnings, (unsigned)answer.rows);
        }
        if (status == STATUS_OK && error_is_set(&warning)) {
            *error = warning;
            status = STATUS_REJECTED;
        }
    }
    if (is_uncommitted) {
        const enum status committed = run_text(conn, "set autocommit = 1", error);
        if (committed != STATUS_OK) {
            return fail_append(conn, committed);
        }
    }
    append->provisional += append->in_transaction ? rows : 0;
    append->kept += append->in_transaction ? 0 : rows;
    if (status != STATUS_OK) {
        append->sent = 0; /* the statement did not fail, so its rows stay stored */
        return fail_append(conn, status);
    }
    return STATUS_OK;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    struct mariadb_append *append = &conn->append;
    enum status status = STATUS_OK;
    if (append->is_pending) {
        status = read_append_answer(conn, error);
    }
    if (status == STATUS_OK) {
        append->sent = 0;
        if (!append->in_transaction && !conn->has_begun && !append->keeps_failed_rows &&
            (append->statements > 0 || batch->row_count == ROW_BATCH_MAX)) {
            status = run_text(conn, "start transaction", error);
            append->in_transaction = status == STATUS_OK;
        }
        status = status == STATUS_OK ? send_rows(conn, batch, error) : status;
        status = status == STATUS_OK ? STATUS_OK : fail_append(conn, status);
    }
    if (status == STATUS_OK) {
        append->sent = batch->row_count;
        append->statements++;
        append->is_pending = true;
    } else {
        *kept = append->kept;
    }
    return status;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    struct mariadb_append *append = &conn->append;
    enum status status = STATUS_OK;
    if (append->is_pending) {
        status = read_append_answer(conn, error);
    }
    if (status == STATUS_OK && append->in_transaction) {
        status = run_text(conn, "commit", error);
        if (status == STATUS_OK) {
            append->kept += append->provisional;
        } else {
            /* a refused commit may have left the transaction open */
            status = fail_append(conn, status);
        }
    }
    append->is_open = false;
    *accepted = append->kept;
    return status;
}

/* Waits until a socket is ready, in place of Connector/C's own function. While connecting, checks
 * is_cancelled from time to time, and applies one time limit to all steps together. After the
 * connect, timeout_ms is -1 or 0, and the wait has no limit. */
static int wait_for_socket(my_socket sock, my_bool is_read, int timeout_ms)
{
    const short events = is_read ? POLLIN : POLLOUT;
    const int64_t until_ns =
        timeout_ms > 0 ? mono_now_ns() + timeout_ms * MONO_NS_PER_MS : CLIENT_SOCKET_FOREVER;
    const int ready = connecting != NULL ? client_deadline_wait(&connecting->deadline, sock, events)
                                         : client_socket_wait(sock, events, until_ns, NULL);
    if (ready == 0) {
        errno = ETIMEDOUT;
    }
    return ready;
}

/* Connects and sets up the session; usually the set-up sends nothing. */
static enum status connect_and_set_up(void *context, struct error *error)
{
    const struct connect_attempt *attempt = context;
    struct adapter_conn *const conn = attempt->conn;
    const struct target *target = attempt->target;
    MYSQL *const mysql = &conn->mysql;
    const my_bool is_reconnecting = 0;
    enum status status = STATUS_OK;
    if (mysql_real_connect(mysql, attempt->host, target->user, target->password, target->database,
                           target->port, attempt->socket,
                           CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS) == NULL) {
        return connect_error(conn, error);
    }
    if (attempt->needs_tls && mysql_get_ssl_cipher(mysql) == NULL) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "the server offers no TLS, which ssl=require and ssl=verify need");
        return STATUS_FATAL;
    }
    /* Option files are read while connecting and override earlier settings. Two settings are made
     * again: no automatic reconnect, which would hide lost rows, and UTF-8 as the character set. */
    mysql_optionsv(mysql, MYSQL_OPT_RECONNECT, &is_reconnecting);
    if (strcmp(mysql_character_set_name(mysql), character_set) != 0 &&
        mysql_set_character_set(mysql, character_set) != 0) {
        status = call_error(conn, error);
    }
    /* a session without a database uses the database `append`, which is created if it is missing */
    bool has_database = (mysql->db != NULL && mysql->db[0] != '\0') || target->creates_nothing;
    for (bool is_made = false; status == STATUS_OK && !has_database; is_made = true) {
        has_database = mysql_select_db(mysql, "append") == 0;
        conn->has_created_database = has_database && is_made;
        if (!has_database) {
            status = !is_made && mysql_errno(mysql) == ER_BAD_DB_ERROR
                         ? run_text(conn, "create database if not exists append", error)
                         : call_error(conn, error);
        }
        if (status != STATUS_OK && status != STATUS_LOST) {
            const struct error refused = *error;
            error_clear(error);
            error_set(error, refused.kind, refused.native_code, refused.sqlstate,
                      "%.130s: name a database with --database or in the URL", refused.text);
            error->limit = refused.limit;
            return STATUS_FATAL;
        }
    }
    if (status == STATUS_OK && (mysql->server_status & SERVER_STATUS_AUTOCOMMIT) == 0) {
        status = run_text(conn, "set autocommit = 1", error);
    }
    return status == STATUS_OK ? choose_method(conn, error) : status;
}

/* Refuses LOAD DATA LOCAL, which an option file could allow. Opens no file, so Connector/C never
 * calls the handler that reads a file; explain_no_file is passed in its place. */
static int open_no_file(void **file, const char *name, void *data)
{
    (void)name;
    (void)data;
    *file = NULL;
    return 1;
}

static void close_no_file(void *file)
{
    (void)file;
}

static int explain_no_file(void *file, char *text, unsigned size)
{
    (void)file;
    snprintf(text, size, "the server requested a file of this machine, which append never sends");
    return CR_UNKNOWN_ERROR;
}

static enum status connect_to(struct adapter_conn *conn, const struct target *target,
                              struct error *error)
{
    static const unsigned is_allowed = 0;
    MYSQL *const mysql = &conn->mysql;
    struct connect_attempt attempt = {.conn = conn, .target = target};
    client_deadline_begin(&attempt.deadline, target, true);
    enum status status = set_options(&attempt, target, error);
    if (status != STATUS_OK) {
        return status;
    }
    mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &is_allowed);
    mysql_set_local_infile_handler(mysql, open_no_file, explain_no_file, close_no_file,
                                   explain_no_file, NULL);
    mysql_optionsv(mysql, MARIADB_OPT_IO_WAIT, wait_for_socket);
    connecting = &attempt;
    /* OpenSSL does not wait through wait_for_socket, so another thread watches a connect with
     * TLS */
    status = attempt.may_use_tls
                 ? client_socket_connect(&conn->socket, target, connect_and_set_up, &attempt, error)
                 : connect_and_set_up(&attempt, error);
    connecting = NULL;
    if (status == STATUS_OK) {
        /* free the connection attributes, which take 8 KiB; the server has received them */
        mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_RESET, NULL);
        const int sock = mysql_get_socket(mysql);
        client_socket_note(&conn->socket, sock);
        if (attempt.socket == NULL) {
            client_socket_watch_peer(sock, target->answer_timeout_ms);
        }
    } else if (attempt.deadline.ended == ERROR_CANCELLED) {
        error_clear(error);
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while connecting");
        return STATUS_LOST;
    } else if (attempt.deadline.ended == ERROR_TIMEOUT ||
               /* the thread that watches the deadline recorded the time-out */
               (error->kind == ERROR_TIMEOUT && error->native_code == 0)) {
        error_clear(error);
        error_set(error, ERROR_TIMEOUT, 0, NULL, "no answer from \"%.150s\" within %u s",
                  target->host != NULL ? target->host : "the server", target->connect_timeout_s);
        return STATUS_LOST;
    }
    return status;
}

/* Implements adapter.interrupt, without Connector/C, whose socket the session's thread may be
 * closing at this moment. */
static void interrupt_connection(struct adapter_conn *conn)
{
    client_socket_shut(&conn->socket, SHUT_RDWR);
}

static void name_session(struct adapter_conn *conn, struct session_name *name)
{
    *name = (struct session_name){
        .number = mysql_thread_id(&conn->mysql),
        .port = client_socket_own_port(client_socket_descriptor(&conn->socket))};
}

struct found_sessions {
    int64_t numbers[SESSION_NAMES_MAX];
    size_t count;
};

static bool take_session(void *context, const struct cell *cells, size_t count)
{
    struct found_sessions *found = context;
    found->numbers[found->count++] = count > 0 ? ask_number(&cells[0]) : 0;
    return found->count < SESSION_NAMES_MAX;
}

/* Implements adapter.end_sessions. A session's number and port must both match, because with a
 * proxy another session may have the same number or the same port. The list of sessions, which may
 * be long, is read once for all names. */
static enum status end_sessions(struct adapter_conn *conn, const struct session_name *names,
                                size_t count, int64_t until_ns, uint64_t *ended,
                                struct error *error)
{
    struct found_sessions found = {.count = 0};
    struct answer answer = {.take = take_session, .context = &found};
    struct buffer sql = {0};
    buffer_add_text(&sql, "select id from information_schema.processlist where user ="
                          " substring_index(user(), '@', 1) and concat(id, ':', if(instr(host, ':')"
                          " > 0, substring_index(host, ':', -1), '0')) in (");
    dialect_add_sessions(&sql, names, count, 0);
    buffer_add_text(&sql, ")");
    enum status status = buffer_failed(&sql) ? dialect_memory_error(error)
                                             : run_query(conn, buffer_text(&sql), &answer, error);
    buffer_fini(&sql);
    for (size_t i = 0; i < found.count && status == STATUS_OK && mono_now_ns() < until_ns; i++) {
        char kill[40];
        snprintf(kill, sizeof kill, "kill %" PRId64, found.numbers[i]);
        status = run_text(conn, kill, error);
        const bool is_gone = status == STATUS_REJECTED && error->native_code == ER_NO_SUCH_THREAD;
        *ended += status == STATUS_OK ? 1 : 0;
        if (is_gone) {
            error_clear(error);
            status = STATUS_OK;
        }
    }
    return status;
}

static void close_connection(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    const int sock = mysql_get_socket(&conn->mysql);
    if (sock >= 0 && (conn->is_lost || conn->append.is_open)) {
        /* mysql_close sends a farewell, which could block if the server does not read */
        client_socket_note(&conn->socket, sock);
        client_socket_shut(&conn->socket, SHUT_RDWR);
    }
    mysql_close(&conn->mysql);
    free(conn->learned);
    buffer_fini(&conn->packet);
    free(conn);
}

static enum status open_connection(const struct adapter *adapter, const struct target *target,
                                   struct adapter_conn **conn, struct error *error)
{
    (void)adapter;
    *conn = NULL;
    if (target->schema != NULL &&
        (target->database == NULL || strcmp(target->schema, target->database) != 0)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "in MariaDB and MySQL a schema is a database: use --database %.100s instead of "
                  "--schema",
                  target->schema);
        return STATUS_FATAL;
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL || mysql_init(&made->mysql) == NULL) {
        free(made);
        return dialect_memory_error(error);
    }
    made->is_method_given = target->method != NULL;
    made->kept_statements = target->prepared_statements;
    made->facts = target->facts;
    made->uses_insert = target->method != NULL && strcmp(target->method, "insert") == 0;
    const enum status status = connect_to(made, target, error);
    if (status != STATUS_OK) {
        /* an error during set-up counts as a failed connect */
        close_connection(made);
        return status == STATUS_REJECTED ? STATUS_LOST : status;
    }
    *conn = made;
    return STATUS_OK;
}

static const struct probe probe = {
    .protocol = "MySQL's", .socket_name = "mysqld.sock", .recognise = mariadb_recognise};

/* Implements adapter.start. Makes the buffer of each connection small, because answers are short,
 * and statements longer than the buffer are sent directly. */
static enum status start(const char *client_lib, struct adapter_library **library,
                         struct error *error)
{
    static const size_t net_buffer_bytes = 1024;
    MYSQL mysql;
    (void)client_lib;
    (void)library;
    if (mysql_library_init(0, NULL, NULL) != 0 || mysql_init(&mysql) == NULL) {
        return dialect_memory_error(error);
    }
    mysql_optionsv(&mysql, MYSQL_OPT_NET_BUFFER_LENGTH, &net_buffer_bytes);
    mysql_close(&mysql);
    return STATUS_OK;
}

static void stop(struct adapter_library *library)
{
    (void)library;
    mysql_library_end();
}

static void client_version(char *text, size_t size)
{
    snprintf(text, size, "MariaDB Connector/C %s", mysql_get_client_info());
}

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    (void)adapter;
    MYSQL *const mysql = &conn->mysql;
    const char *host = mysql->unix_socket != NULL ? mysql->unix_socket : mysql->host;
    const bool has_addresses =
        mariadb_connection(mysql) && mysql_get_server_version(mysql) >= INET4_VERSION;
    snprintf(info->host, sizeof info->host, "%s", host != NULL ? host : "");
    client_socket_name_peer(mysql_get_socket(mysql), info->address, sizeof info->address);
    info->port = mysql->unix_socket != NULL ? 0 : (uint16_t)mysql->port;
    snprintf(info->user, sizeof info->user, "%s", mysql->user != NULL ? mysql->user : "");
    snprintf(info->database, sizeof info->database, "%s", mysql->db != NULL ? mysql->db : "");
    snprintf(info->dialect, sizeof info->dialect, "%s", has_addresses ? "mariadb" : "mysql");
    info->identifier_quote = '`';
    info->method = methods[conn->uses_insert ? 1 : 0];
    info->note[0] = '\0';
    if (conn->why_no_bulk != NULL) {
        snprintf(info->note, sizeof info->note, "%s: rows are sent as multi-row INSERT%s",
                 conn->why_no_bulk, conn->sends_text ? ", statements as text" : "");
    }
    dialect_inspect(&dialect_mysql, info);
    info->can_skip_index = has_addresses; /* unlike MySQL */
    info->has_created_database = conn->has_created_database;
    if (conn->facts != NULL) {
        info->facts = *conn->facts;
    }
    if (has_addresses) {
        info->declare_column = dialect_mariadb_declare;
    }
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return end_transaction(conn, run_text(conn, sql, error), error);
}

/*
 * The answer to a prepared statement. https://mariadb.com/kb/en/result-set-packets/
 */

enum {
    OK_PACKET = 0,
    EOF_PACKET = 0xfe,
    EOF_BYTES_MAX = 8,
    FEW_CELLS = 16,
    CELL_TEXT_BYTES = 40, /* room for a number or a time as text */
    TAIL_BYTES = 6,       /* bytes of a column definition from the type to the end */
    DIGITS_UNKNOWN = 31,  /* from this value on, `decimals` is not a number of digits */
};

/* The unread part of a packet. */
struct packet {
    const unsigned char *at, *end;
};

static enum status malformed_answer(struct adapter_conn *conn, struct error *error)
{
    conn->is_lost = true;
    return record_failure(conn, 0, "", "", error);
}

/* Reads the next packet of an answer; an error packet is recorded as an error. */
static enum status read_packet(struct adapter_conn *conn, struct packet *packet,
                               struct error *error)
{
    const unsigned long length = mysql_net_read_packet(&conn->mysql);
    *packet = (struct packet){conn->mysql.net.read_pos, conn->mysql.net.read_pos};
    if (length == packet_error) {
        return call_error(conn, error);
    }
    packet->at = conn->mysql.net.read_pos;
    packet->end = packet->at + length;
    return length > 0 ? STATUS_OK : malformed_answer(conn, error);
}

/* Reads a number of `bytes` bytes, lowest byte first; missing bytes are 0. */
static uint64_t get_number(struct packet *packet, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && packet->at < packet->end; i++) {
        value |= (uint64_t)*packet->at++ << (8 * i);
    }
    return value;
}

/* Reads a number preceded by its size: one byte, or a marker and 2, 3 or 8 bytes. */
static uint64_t get_length(struct packet *packet)
{
    const uint64_t first = get_number(packet, 1);
    if (first < 251) {
        return first;
    }
    if (first == 252 || first == 253) {
        return get_number(packet, first == 252 ? 2 : 3);
    }
    return get_number(packet, 8);
}

static bool is_end(const struct packet *packet)
{
    return *packet->at == EOF_PACKET && packet->end - packet->at <= EOF_BYTES_MAX;
}

/* Reads the server's state from the packet at the end of rows. */
static void take_end(struct adapter_conn *conn, struct packet packet)
{
    packet.at++;
    conn->mysql.warning_count = (unsigned)get_number(&packet, 2);
    conn->mysql.server_status = (unsigned)get_number(&packet, 2);
}

/* Reads the definitions of a result's columns. A server may leave out definitions that have not
 * changed since it sent them. */
static enum status read_columns(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                unsigned count, struct error *error)
{
    struct packet packet;
    enum status status = STATUS_OK;
    if (count > prepared->column_count) {
        struct result_column *more = realloc(prepared->columns, count * sizeof *more);
        if (more == NULL) {
            conn->is_lost = true; /* the rest of the answer stays unread */
            dialect_memory_error(error);
            return STATUS_FATAL;
        }
        prepared->columns = more;
    }
    prepared->column_count = count;
    for (unsigned i = 0; i < count; i++) {
        status = read_packet(conn, &packet, error);
        if (status == STATUS_OK && packet.end - packet.at <= TAIL_BYTES) {
            status = malformed_answer(conn, error);
        }
        if (status != STATUS_OK) {
            return status;
        }
        packet.at = packet.end - TAIL_BYTES;
        struct result_column *const column = &prepared->columns[i];
        column->type = (uint8_t)get_number(&packet, 1);
        column->is_unsigned = (get_number(&packet, 2) & UNSIGNED_FLAG) != 0;
        column->decimals = (uint8_t)get_number(&packet, 1);
    }
    return STATUS_OK;
}

/* Adds the fraction of a second with as many digits as the column has. */
static int write_fraction(char *text, size_t size, const struct result_column *column,
                          unsigned microseconds)
{
    unsigned digits = column->decimals < DIGITS_UNKNOWN ? column->decimals : FRACTION_DIGITS;
    if (digits == 0 || (column->decimals >= DIGITS_UNKNOWN && microseconds == 0)) {
        return 0;
    }
    digits = digits < FRACTION_DIGITS ? digits : FRACTION_DIGITS;
    for (unsigned i = digits; i < FRACTION_DIGITS; i++) {
        microseconds /= 10;
    }
    return snprintf(text, size, ".%0*u", (int)digits, microseconds);
}

/* Writes a time as the server does; parts that were not sent are 0. */
static int write_time(char *text, const struct result_column *column, struct packet packet)
{
    int length;
    if (column->type == MYSQL_TYPE_TIME) {
        const bool is_negative = get_number(&packet, 1) != 0;
        const unsigned days = (unsigned)get_number(&packet, 4);
        const unsigned hours = (unsigned)get_number(&packet, 1);
        const unsigned minutes = (unsigned)get_number(&packet, 1);
        const unsigned seconds = (unsigned)get_number(&packet, 1);
        length = snprintf(text, CELL_TEXT_BYTES, "%s%02u:%02u:%02u", is_negative ? "-" : "",
                          24 * (days % 1000) + hours, minutes, seconds);
    } else {
        const unsigned year = (unsigned)get_number(&packet, 2);
        const unsigned month = (unsigned)get_number(&packet, 1);
        const unsigned day = (unsigned)get_number(&packet, 1);
        length = snprintf(text, CELL_TEXT_BYTES, "%04u-%02u-%02u", year, month, day);
        if (column->type == MYSQL_TYPE_DATE || column->type == MYSQL_TYPE_NEWDATE) {
            return length;
        }
        const unsigned hour = (unsigned)get_number(&packet, 1);
        const unsigned minute = (unsigned)get_number(&packet, 1);
        const unsigned second = (unsigned)get_number(&packet, 1);
        length += snprintf(text + length, CELL_TEXT_BYTES - (size_t)length, " %02u:%02u:%02u", hour,
                           minute, second);
    }
    return length + write_fraction(text + length, CELL_TEXT_BYTES - (size_t)length, column,
                                   (unsigned)get_number(&packet, 4));
}

/* Writes a number with the fewest digits from which the same number is read again. */
static int write_double(char *text, double value, int digits)
{
    int length = 0;
    for (bool is_same = false; !is_same; digits++) {
        length = snprintf(text, CELL_TEXT_BYTES, "%.*g", digits, value);
        is_same = digits >= 17 || strtod(text, NULL) == value;
    }
    return length;
}

static int write_float(char *text, float value)
{
    int length = 0;
    for (int digits = 6; length == 0 || (digits <= 9 && strtof(text, NULL) != value); digits++) {
        length = snprintf(text, CELL_TEXT_BYTES, "%.*g", digits, (double)value);
    }
    return length;
}

/* Reads one value; `text` has CELL_TEXT_BYTES. Returns false if the packet is too short. */
static bool get_cell(struct packet *packet, const struct result_column *column, struct cell *cell,
                     char *text)
{
    static const uint8_t widths[UINT8_MAX + 1] = {
        [MYSQL_TYPE_TINY] = 1,     [MYSQL_TYPE_SHORT] = 2, [MYSQL_TYPE_YEAR] = 2,
        [MYSQL_TYPE_LONG] = 4,     [MYSQL_TYPE_INT24] = 4, [MYSQL_TYPE_FLOAT] = 4,
        [MYSQL_TYPE_LONGLONG] = 8, [MYSQL_TYPE_DOUBLE] = 8};
    const size_t width = widths[column->type];
    const uint64_t bytes = width > 0 ? width : get_length(packet);
    int length = 0;
    if (bytes > (uint64_t)(packet->end - packet->at)) {
        return false;
    }
    const struct packet value = {packet->at, packet->at + bytes};
    packet->at = value.end;
    cell->type = COLUMN_TEXT;
    cell->as.text = (struct text_value){(const char *)value.at, (uint32_t)bytes};
    switch (column->type) {
    case MYSQL_TYPE_FLOAT: {
        float number;
        const uint32_t bits = (uint32_t)get_number(&(struct packet){value.at, value.end}, 4);
        memcpy(&number, &bits, sizeof number);
        length = write_float(text, number);
        break;
    }
    case MYSQL_TYPE_DOUBLE: {
        double number;
        const uint64_t bits = get_number(&(struct packet){value.at, value.end}, 8);
        memcpy(&number, &bits, sizeof number);
        length = write_double(text, number, 15);
        break;
    }
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP:
    case MYSQL_TYPE_TIME:
        length = write_time(text, column, value);
        break;
    default: {
        if (width == 0) {
            return true;
        }
        uint64_t number = get_number(&(struct packet){value.at, value.end}, width);
        const uint64_t sign = UINT64_C(1) << (8 * width - 1);
        if (column->is_unsigned && number > INT64_MAX) {
            length = snprintf(text, CELL_TEXT_BYTES, "%" PRIu64, number);
            break;
        }
        number = column->is_unsigned ? number : (number ^ sign) - sign;
        cell->type = COLUMN_INT64;
        cell->as.int64 = (int64_t)number;
        return true;
    }
    }
    cell->as.text = (struct text_value){text, (uint32_t)length};
    return true;
}

/* Reads one row; `texts` has CELL_TEXT_BYTES for each column. Returns false if the packet is too
 * short. */
static bool get_cells(struct packet packet, const struct adapter_prepared *prepared,
                      struct cell *cells, char *texts)
{
    enum {
        FIRST_BIT = 2 /* bit of the first column in the NULL bitmap */
    };
    const size_t bitmap = (prepared->column_count + FIRST_BIT + 7) / 8;
    if ((size_t)(packet.end - packet.at) < 1 + bitmap) {
        return false;
    }
    const unsigned char *const nulls = packet.at + 1;
    packet.at += 1 + bitmap;
    for (unsigned i = 0; i < prepared->column_count; i++) {
        const unsigned bit = i + FIRST_BIT;
        cells[i].is_null = (nulls[bit / 8] & (1U << bit % 8)) != 0;
        if (cells[i].is_null) {
            cells[i].type = COLUMN_TEXT;
            cells[i].as.text = (struct text_value){NULL, 0};
        } else if (!get_cell(&packet, &prepared->columns[i], &cells[i],
                             texts + (size_t)i * CELL_TEXT_BYTES)) {
            return false;
        }
    }
    return true;
}

/* Reads all rows, including the rows after `take` has returned false. */
static enum status read_rows(struct adapter_conn *conn, const struct adapter_prepared *prepared,
                             struct answer *answer, struct error *error)
{
    const unsigned count = prepared->column_count;
    struct cell few[FEW_CELLS];
    char few_texts[FEW_CELLS * CELL_TEXT_BYTES];
    struct cell *cells = few;
    char *texts = few_texts;
    bool is_wanted = answer->take != NULL;
    struct packet packet;
    enum status status;
    if (is_wanted && count > FEW_CELLS) {
        cells = malloc(count * (sizeof *cells + CELL_TEXT_BYTES));
        if (cells == NULL) {
            conn->is_lost = true;
            return dialect_memory_error(error);
        }
        texts = (char *)(cells + count);
    }
    while ((status = read_packet(conn, &packet, error)) == STATUS_OK && !is_end(&packet)) {
        /* counts the rows that `take` received or, if `take` is NULL, all rows */
        answer->rows += is_wanted || answer->take == NULL;
        if (is_wanted && !get_cells(packet, prepared, cells, texts)) {
            status = malformed_answer(conn, error);
            break;
        }
        is_wanted = is_wanted && answer->take(answer->context, cells, count);
    }
    if (status == STATUS_OK) {
        take_end(conn, packet);
    }
    if (cells != few) {
        free(cells);
    }
    return status;
}

/* Reads the whole answer; a procedure may return several results. */
static enum status read_answer(struct adapter_conn *conn, struct adapter_prepared *prepared,
                               struct answer *answer, struct error *error)
{
    MYSQL *const mysql = &conn->mysql;
    uint64_t matched = 0;
    bool has_rows = false;
    do {
        struct packet packet;
        enum status status = read_packet(conn, &packet, error);
        if (status != STATUS_OK) {
            return status;
        }
        if (*packet.at == OK_PACKET) {
            packet.at++;
            matched += get_length(&packet);
            mysql->insert_id = get_length(&packet);
            mysql->server_status = (unsigned)get_number(&packet, 2);
            mysql->warning_count = (unsigned)get_number(&packet, 2);
            continue;
        }
        const uint64_t columns = *packet.at < 251 || *packet.at == 252 ? get_length(&packet) : 0;
        /* on a server that may leave out definitions, this byte shows whether the definitions
         * follow */
        const bool is_defined = packet.at == packet.end || *packet.at != 0;
        if (columns == 0 || (!is_defined && columns != prepared->column_count)) {
            return malformed_answer(conn, error);
        }
        has_rows = true;
        if (is_defined) {
            status = read_columns(conn, prepared, (unsigned)columns, error);
        }
        if (status == STATUS_OK) {
            status = read_packet(conn, &packet, error);
        }
        if (status == STATUS_OK && !is_end(&packet)) {
            status = malformed_answer(conn, error);
        }
        status = status == STATUS_OK ? read_rows(conn, prepared, answer, error) : status;
        if (status != STATUS_OK) {
            return status;
        }
    } while ((mysql->server_status & SERVER_MORE_RESULTS_EXIST) != 0);
    answer->rows += has_rows ? 0 : matched;
    return STATUS_OK;
}

/* Implements adapter.prepare. With sends_text, only checks the number of parameters. */
static enum status prepare(struct adapter_conn *conn, const struct statement *statement,
                           struct adapter_prepared **prepared, struct error *error)
{
    const size_t marks = sql_script_count_parameters(statement->sql, lexis_of(conn));
    enum status status = dialect_check_parameters(statement, marks, error);
    if (status != STATUS_OK || conn->sends_text) {
        return status;
    }
    if (*prepared == NULL) {
        *prepared = calloc(1, sizeof **prepared);
    }
    if (*prepared == NULL) {
        return dialect_memory_error(error);
    }
    struct adapter_prepared *const made = *prepared;
    free(made->columns);
    made->columns = NULL;
    if (made->is_kept) {
        made->is_kept = false;
        conn->prepared_count--;
        status = close_statement(conn, made->id, error);
    }
    if (status == STATUS_OK && statement->parameters != NULL) {
        status = use_utc(conn, statement->parameters, true, error);
    }
    if (status == STATUS_OK) {
        status = prepare_text(conn, statement->sql, made, error);
        conn->prepared_count += made->is_kept;
    }
    return status;
}

static void drop(struct adapter_conn *conn, struct adapter_prepared *prepared)
{
    (void)conn;
    free(prepared->columns);
    free(prepared);
}

/* Implements adapter.run_prepared. Scripts use this function. It allocates memory only for large
 * packets and for results with many columns. */
static enum status run_prepared(struct adapter_conn *conn, struct adapter_prepared *prepared,
                                const struct batch *parameters, struct answer *answer,
                                enum staleness *stale, struct error *error)
{
    enum {
        KEPT_BYTES = 4096
    };
    answer->rows = 0;
    buffer_clear(&conn->packet);
    mariadb_add_execute(&conn->packet, prepared->id, parameters);
    enum status status =
        buffer_failed(&conn->packet)
            ? dialect_memory_error(error)
            : send_command(conn, COM_STMT_EXECUTE, conn->packet.bytes, conn->packet.length, error);
    if (status == STATUS_OK) {
        status = read_answer(conn, prepared, answer, error);
    }
    if (conn->packet.capacity > KEPT_BYTES) {
        buffer_fini(&conn->packet);
    }
    if (status == STATUS_REJECTED && error->native_code == ER_UNKNOWN_STMT_HANDLER) {
        *stale = STALE_AGAIN; /* the server has forgotten the statement and done nothing */
        conn->prepared_count -= prepared->is_kept;
        prepared->is_kept = false;
        return status;
    }
    return end_transaction(conn, status, error);
}

/* Runs a statement as text with its parameters as literals, because a prepared statement would
 * count towards max_prepared_stmt_count. */
static enum status run_statement(struct adapter_conn *conn, const struct statement *statement,
                                 const struct batch *parameters, struct answer *answer,
                                 struct error *error)
{
    const size_t count = parameters != NULL ? parameters->table->column_count : 0;
    const char *text = statement->sql;
    struct buffer sql = {0};
    enum status status = STATUS_OK;
    answer->rows = 0;
    for (size_t i = 0; i < count; i++) {
        const char *mark = sql_script_find_parameter(text, lexis_of(conn));
        buffer_add(&sql, text, (size_t)(mark - text));
        text = mark;
        if (*mark != '\0') {
            mariadb_add_literal(&sql, &parameters->table->columns[i], &parameters->columns[i], 0,
                                has_escapes(conn));
            text++;
        }
    }
    if (count > 0) {
        buffer_add_text(&sql, text);
        text = buffer_text(&sql); /* may contain NUL bytes */
        status = use_utc(conn, parameters->table, true, error);
    }
    if (buffer_failed(&sql)) {
        status = dialect_memory_error(error);
    } else if (status == STATUS_OK) {
        const size_t length = count > 0 ? sql.length : strlen(text);
        status = end_transaction(conn, run_bytes(conn, text, length, answer, error), error);
    }
    buffer_fini(&sql);
    return status;
}

static enum status begin(struct adapter_conn *conn, const struct transaction *transaction,
                         struct error *error)
{
    char sql[96] = "start transaction";
    if (transaction->isolation != NULL) {
        snprintf(sql, sizeof sql, "set transaction isolation level %.30s; start transaction",
                 transaction->isolation);
    }
    const enum status status = run_text(conn, sql, error);
    conn->has_begun = status == STATUS_OK;
    conn->shows_transactions = (conn->mysql.server_status & SERVER_STATUS_IN_TRANS) != 0;
    return status;
}

/* Implements adapter.commit. Rolls back after a refused commit, which may leave the transaction
 * open. */
static enum status commit(struct adapter_conn *conn, struct error *error)
{
    struct error ignored = {0};
    const enum status status = run_text(conn, "commit", error);
    conn->has_begun = false;
    return status == STATUS_OK || status == STATUS_LOST ||
                   run_text(conn, "rollback", &ignored) != STATUS_LOST
               ? status
               : STATUS_LOST;
}

static enum status rollback(struct adapter_conn *conn, struct error *error)
{
    conn->has_begun = false;
    return run_text(conn, "rollback", error);
}

static struct dialect_asker asker_of(const struct adapter *adapter, struct adapter_conn *conn)
{
    return (struct dialect_asker){.adapter = adapter,
                                  .conn = conn,
                                  .prepares = !conn->uses_insert,
                                  .has_prepared = conn->statement_table != NULL,
                                  .statements = conn->sends_text ? 0 : conn->kept_statements,
                                  .facts = conn->learned,
                                  .has_statements = conn->prepared_count};
}

static enum status describe(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error)
{
    if (conn->learned == NULL) {
        conn->facts = conn->learned = calloc(1, sizeof *conn->learned);
        if (conn->learned == NULL) {
            return dialect_memory_error(error);
        }
    }
    const struct dialect_asker asker = asker_of(adapter, conn);
    return adapter->dialect->describe(&asker, table_name, table, error);
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    const struct dialect_asker asker = asker_of(adapter, conn);
    memset(limits, 0, sizeof *limits);
    return adapter->dialect->limits(&asker, limits, error);
}

static const char *const aliases[] = {"mysql", "maria", NULL};

const struct adapter adapter_mariadb = {
    .name = "mariadb",
    .aliases = aliases,
    .summary = "MariaDB, MySQL: bulk, insert",
    .default_port = 3306,
    .identifier_quote = '`',
    .flags = ADAPTER_WATCHED,
    .engine_clause = " engine=",
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 1,
    .dialect = &dialect_mysql,
    .methods = methods,
    .start = start,
    .stop = stop,
    .client_version = client_version,
    .probe = &probe,
    .recognise = client_socket_recognise,
    .open = open_connection,
    .close = close_connection,
    .interrupt = interrupt_connection,
    .name_session = name_session,
    .end_sessions = end_sessions,
    .inspect = inspect,
    .execute = execute,
    .describe = describe,
    .prepare_appends = prepare_appends,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .run = run_statement,
    .prepare = prepare,
    .run_prepared = run_prepared,
    .drop = drop,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .server_limits = server_limits,
};
