/*
 * Machbase through its client library, which is loaded at run time.
 *
 * An append calls SQLAppendOpen, then SQLAppendDataV2 for each row, then SQLAppendClose. The
 * library collects rows into packets. During the append, the server reports only the rows that it
 * refuses; at the end, it reports how many rows it stored and refused. Machbase has no
 * transactions, so rows that were sent stay stored even if the append fails later. Every append
 * uses a new statement, because the server cannot read rows that a reused statement sends.
 */
#include "adapters/machbase.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "adapters/dialect.h"
#include "append/client_socket.h"
#include "append/value_text.h"
#include "base/ask.h"
#include "base/text.h"
#include "base/url.h"

/* The library relies on the sizes and offsets that are checked here. */
_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8, "the library is for 64-bit Linux");
_Static_assert(sizeof(struct tm) == 56, "struct tm as the library has it");
_Static_assert(sizeof(union machbase_value) == 80 && _Alignof(union machbase_value) == 8,
               "a value");
_Static_assert(sizeof(struct machbase_address) == 32 &&
                   offsetof(struct machbase_address, bytes) == 1 &&
                   offsetof(struct machbase_address, text) == 24,
               "an address");
_Static_assert(sizeof(struct machbase_variable) == 16 &&
                   offsetof(struct machbase_variable, data) == 8,
               "a variable value");
_Static_assert(offsetof(struct machbase_time, parts) == 8 &&
                   offsetof(struct machbase_time, text) == 64 &&
                   offsetof(struct machbase_time, format) == 72,
               "a time");

/* A handle of an environment, a connection or a statement. */
typedef void *handle;

/* Called for a row that the server refuses, from within the call that reads the server's answer. */
typedef void (*on_error_function)(handle statement, int code, void *message, long length, void *row,
                                  long row_length);

/* The library's functions, under their own names. The declarations take writable strings, but the
 * functions do not write to them. Only the low 16 bits of a result are defined. */
#define FUNCTIONS(FUNCTION)                                                                        \
    FUNCTION(SQLAllocEnv, handle *environment)                                                     \
    FUNCTION(SQLAllocConnect, handle environment, handle *connection)                              \
    FUNCTION(SQLAllocStmt, handle connection, handle *statement)                                   \
    FUNCTION(SQLFreeStmt, handle statement, unsigned short how)                                    \
    FUNCTION(SQLFreeConnect, handle connection)                                                    \
    FUNCTION(SQLFreeEnv, handle environment)                                                       \
    FUNCTION(SQLDriverConnect, handle connection, void *window, const char *text, short length,    \
             char *completed, short size, short *completed_length, unsigned short prompt)          \
    FUNCTION(SQLDisconnect, handle connection)                                                     \
    FUNCTION(SQLError, handle environment, handle connection, handle statement, char *state,       \
             int *code, char *message, short size, short *length)                                  \
    FUNCTION(SQLPrepare, handle statement, const char *sql, int length)                            \
    FUNCTION(SQLExecute, handle statement)                                                         \
    FUNCTION(SQLExecDirect, handle statement, const char *sql, int length)                         \
    FUNCTION(SQLRowCount, handle statement, long *rows)                                            \
    FUNCTION(SQLNumResultCols, handle statement, short *columns)                                   \
    FUNCTION(SQLDescribeCol, handle statement, unsigned short column, char *name, short size,      \
             short *length, short *type, unsigned long *column_size, short *digits,                \
             short *nullable)                                                                      \
    FUNCTION(SQLBindCol, handle statement, unsigned short column, short type, void *buffer,        \
             long size, long *indicator)                                                           \
    FUNCTION(SQLFetch, handle statement)                                                           \
    FUNCTION(SQLAppendOpen, handle statement, const char *table, int check_every)                  \
    FUNCTION(SQLAppendDataV2, handle statement, union machbase_value *row)                         \
    FUNCTION(SQLAppendClose, handle statement, long *successes, long *failures)                    \
    FUNCTION(SQLAppendSetErrorCallback, handle statement, on_error_function on_error)

struct functions {
#define FUNCTION_POINTER(name, ...) short (*name)(__VA_ARGS__);
    FUNCTIONS(FUNCTION_POINTER)
};

/* The library's results and arguments. */
enum {
    DONE = 0,
    DONE_WITH_INFO = 1,
    END_OF_ROWS = 100,
    TERMINATED = -3, /* value for a text's length if the text ends with '\0' */
    DROP = 1,        /* option of SQLFreeStmt that frees a statement */
    NO_PROMPT = 0,
    AS_TEXT = 1,    /* C type with which result columns are bound */
    NULL_DATA = -1, /* length that the library stores for a NULL */
};

/* The server's error numbers, and one number of the library. */
enum {
    NO_SUCH_TABLE = 2025,
    NO_SUCH_COLUMN = 2030,
    NO_USER = 2080,
    WRONG_PASSWORD = 2081,
    LINK_LOST = 9003,
};

enum {
    PATH_BYTES = 512,
    CELL_BYTES = 256,  /* smallest buffer of a result column */
    CHECK_EVERY = 100, /* rows after which the library checks whether the server has refused rows */
    HELLO_BYTES = 9,
    VARCHAR_BYTES_MAX = 32767,
    VARIABLE_BYTES_MAX = 64 * 1024 * 1024, /* the library truncates longer values */
};

/* Read-only, shared by all threads. */
struct adapter_library {
    struct functions call;
    void *handle;
    char path[PATH_BYTES]; /* path of the loaded file */
};

struct append {
    handle statement; /* statement of the current append; NULL if no append is open */
    uint64_t rows;    /* number of rows that append_rows has received */
    uint64_t sent;    /* number of rows that the library took */
    /* number of refused rows whose error code differs from that of the first refused row */
    uint64_t other_codes;
    struct error failure; /* failure of the first row that this adapter or the server refused */
    struct append_loss loss;
};

struct adapter_conn {
    const struct functions *call;
    const struct adapter_library *library;
    handle environment;
    handle connection;
    bool is_connected;
    bool has_no_delay; /* TCP_NODELAY is set */
    struct client_socket socket;
    struct append append;
    size_t row_value_count;           /* number of columns that the table has on the server */
    union machbase_value *row_values; /* values of one row; owned */
    uint16_t *columns; /* for each value, the index of its column in the described table, or that
                          table's column count if the column is not in the table; owned */
    const char *text;  /* the connection string, valid while connecting */
    char host[256];
    uint16_t port;
    char user[128];
};

/* The append that this thread is sending or closing; NULL at all other times. on_error finds the
 * append in this thread-local variable, because the library passes only the statement to on_error.
 * The library calls on_error in the same thread. */
static _Thread_local struct append *callback_append;

static const char limit_name[] = "MAX_SESSION_COUNT";

/* Records a fault of the target as a usage error; returns FATAL. */
static enum status refuse(struct error *error, const char *text)
{
    error_set(error, ERROR_USAGE, 0, NULL, "%s", text);
    return STATUS_FATAL;
}

/* File names in a server's installation and in the vendor's Python package. */
static const char *const file_names[] = {
    "libmachbasecli_dll.so",
#if defined(__aarch64__)
    "libmachbaseAPI_arm64.so",
#else
    "libmachbaseAPI_x64.so",
#endif
};

static mode_t kind_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_mode & S_IFMT : 0;
}

/* Loads the library that `given` names or, if `given` is NULL, searches for the library. Writes the
 * file's path to `path`. Returns dlopen's handle, or NULL and the reason in *error. */
static void *load(const char *given, char path[PATH_BYTES], struct error *error)
{
    const char *home = getenv("MACHBASE_HOME");
    const bool is_folder = given != NULL && kind_of(given) == S_IFDIR;
    const bool is_somewhere = given != NULL || (home != NULL && home[0] != '\0');
    bool is_found = false;
    for (size_t i = 0; is_somewhere && !is_found && i < COUNT_OF(file_names); i++) {
        int length;
        if (given == NULL) {
            length = snprintf(path, PATH_BYTES, "%s/lib/%s", home, file_names[i]);
        } else if (is_folder) {
            length = snprintf(path, PATH_BYTES, "%s/%s", given, file_names[i]);
        } else { /* "./", because the loader would search other folders for a name without '/' */
            length = snprintf(path, PATH_BYTES, "%s%s", strchr(given, '/') ? "" : "./", given);
        }
        is_found = length < PATH_BYTES && kind_of(path) == S_IFREG;
    }
    if (is_folder && !is_found) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--client-lib %s: the folder contains neither %s nor %s", given, file_names[0],
                  file_names[1]);
        return NULL;
    }
    if (given != NULL && !is_found) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "--client-lib %s: no such file; give %s or its folder", given, file_names[0]);
        return NULL;
    }
    for (size_t i = 0; i < (is_found ? 1 : COUNT_OF(file_names)); i++) {
        if (!is_found) {
            snprintf(path, PATH_BYTES, "%s", file_names[i]); /* the loader searches its path */
        }
        /* the library stays mapped, because threads that used it may still run its functions when
         * they end */
        void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        const char *why = loaded == NULL ? dlerror() : NULL;
        if (loaded != NULL) {
            error_clear(error);
            return loaded;
        }
        /* the loader's message begins with `path` if the file was not found, else with another
         * file's name */
        if (is_found || (why != NULL && strncmp(why, path, strlen(path)) != 0)) {
            error_set(error, ERROR_USAGE, 0, NULL, "the client library cannot be loaded: %s",
                      why != NULL ? why : path);
        }
    }
    error_set(error, ERROR_USAGE, 0, NULL,
              "Machbase's client library was not found: neither %s nor %s is in "
              "$MACHBASE_HOME/lib or the loader's search path; give --client-lib FILE",
              file_names[0], file_names[1]);
    return NULL;
}

static void stop(struct adapter_library *library)
{
    if (library != NULL && library->handle != NULL) {
        dlclose(library->handle);
    }
    free(library);
}

static enum status start(const char *client_lib, struct adapter_library **library,
                         struct error *error)
{
    static const struct {
        const char *name;
        size_t offset; /* offset of the function's pointer in struct functions */
    } symbols[] = {
#define FUNCTION_SYMBOL(name, ...) {#name, offsetof(struct functions, name)},
        FUNCTIONS(FUNCTION_SYMBOL)};
    *library = NULL;
    struct adapter_library *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return dialect_memory_error(error);
    }
    made->handle = load(client_lib, made->path, error);
    for (size_t i = 0; made->handle != NULL && i < COUNT_OF(symbols); i++) {
        void *address = dlsym(made->handle, symbols[i].name);
        if (address == NULL) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%s is not Machbase's client library, or is too old: it has no %s",
                      made->path, symbols[i].name);
            stop(made);
            return STATUS_FATAL;
        }
        memcpy((char *)&made->call + symbols[i].offset, &address, sizeof address);
    }
    if (made->handle == NULL) {
        free(made);
        return STATUS_FATAL;
    }
    *library = made;
    return STATUS_OK;
}

/* Returns the largest value of an unsigned whole-number column. */
static int64_t largest_unsigned(uint32_t native_type)
{
    switch (native_type) {
    case MACHBASE_UINT16:
        return UINT16_MAX - 1; /* the largest value of the type stands for NULL */
    case MACHBASE_UINT32:
        return UINT32_MAX - 1;
    default:
        return INT64_MAX;
    }
}

static void client_version(char *text, size_t size)
{
    struct error error = {0};
    struct adapter_library *library = NULL;
    const bool is_loaded = start(NULL, &library, &error) == STATUS_OK;
    snprintf(text, size, "client library loaded at run time: %s",
             is_loaded ? library->path : "none found (--client-lib)");
    stop(library);
}

void machbase_set_type(struct column *column, int type, unsigned long size)
{
    /* unsigned numbers are described as decimals with so few digits that every value of the decimal
     * fits into the column */
    static const struct {
        int type;
        enum column_type column;
        uint8_t precision;
        const char *name;
        bool has_size;
    } types[] = {
        {MACHBASE_INT16, COLUMN_INT16, 0, "short", false},
        {MACHBASE_INT32, COLUMN_INT32, 0, "integer", false},
        {MACHBASE_INT64, COLUMN_INT64, 0, "long", false},
        {MACHBASE_UINT16, COLUMN_DECIMAL, 4, "ushort", false},
        {MACHBASE_UINT32, COLUMN_DECIMAL, 9, "uinteger", false},
        {MACHBASE_UINT64, COLUMN_DECIMAL, 18, "ulong", false},
        {MACHBASE_FLOAT, COLUMN_FLOAT32, 0, "float", false},
        {MACHBASE_REAL, COLUMN_FLOAT32, 0, "float", false},
        {MACHBASE_DOUBLE, COLUMN_FLOAT64, 0, "double", false},
        {MACHBASE_VARCHAR, COLUMN_TEXT, 0, "varchar", true},
        {MACHBASE_DATETIME, COLUMN_TIMESTAMP, 0, "datetime", false},
        {MACHBASE_TEXT, COLUMN_TEXT, 0, "text", true},
        {MACHBASE_JSON, COLUMN_JSON, 0, "json", true},
        {MACHBASE_BINARY, COLUMN_BYTES, 0, "binary", true},
        {MACHBASE_IP4, COLUMN_IP4, 0, "ipv4", false},
        {MACHBASE_IP6, COLUMN_IP6, 0, "ipv6", false},
    };
    column->type = COLUMN_UNSUPPORTED;
    column->native_type = (uint32_t)type;
    snprintf(column->type_name, sizeof column->type_name, "type %d", type);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (types[i].type != type) {
            continue;
        }
        column->type = types[i].column;
        column->precision = types[i].precision;
        snprintf(column->type_name, sizeof column->type_name, "%s", types[i].name);
        if (types[i].has_size) {
            column->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
            /* The library truncates values longer than the column's size, and for some types writes
             * beyond the size. A column without a size can therefore not be written. */
            column->type = size > 0 ? column->type : COLUMN_UNSUPPORTED;
        }
        if (type == MACHBASE_VARCHAR || (types[i].has_size && size == 0)) {
            snprintf(column->type_name, sizeof column->type_name, "%s(%lu)", types[i].name, size);
        }
    }
}

/* The library is little-endian, so a value set as uint64 is also right for narrower types. For
 * addresses and variable-length types, a length of 0 means NULL. */
void machbase_encode_null(const struct column *column, union machbase_value *value)
{
    static const union machbase_value nulls[COLUMN_TYPE_COUNT] = {
        [COLUMN_INT16] = {.uint64 = (uint64_t)INT16_MAX + 1},
        [COLUMN_INT32] = {.uint64 = (uint64_t)INT32_MAX + 1},
        [COLUMN_INT64] = {.uint64 = (uint64_t)INT64_MAX + 1},
        [COLUMN_DECIMAL] = {.uint64 = UINT64_MAX},
        [COLUMN_FLOAT32] = {.float32 = FLT_MAX},
        [COLUMN_FLOAT64] = {.float64 = DBL_MAX},
        [COLUMN_TIMESTAMP] = {.time.ns = -1},
    };
    *value = nulls[column->type];
}

bool machbase_encode(const struct column *column, union column_values values, size_t row,
                     union machbase_value *value)
{
    switch (column->type) {
    case COLUMN_INT16:
        value->int16 = values.int16[row];
        return value->int16 != INT16_MIN; /* stands for NULL, like the other excluded values */
    case COLUMN_INT32:
        value->int32 = values.int32[row];
        return value->int32 != INT32_MIN;
    case COLUMN_INT64:
        value->int64 = values.int64[row];
        return value->int64 != INT64_MIN;
    case COLUMN_DECIMAL:
        value->int64 = values.int64[row];
        return value->int64 >= 0 && value->int64 <= largest_unsigned(column->native_type);
    case COLUMN_FLOAT32:
        value->float32 = values.float32[row];
        return value->float32 < FLT_MAX || value->float32 > FLT_MAX;
    case COLUMN_FLOAT64:
        value->float64 = values.float64[row];
        return value->float64 < DBL_MAX || value->float64 > DBL_MAX;
    case COLUMN_TIMESTAMP:
        value->time.ns = values.int64[row];
        /* -4 to -1 are codes of the library */
        return value->time.ns < -4 || value->time.ns > -1;
    case COLUMN_IP4:
        value->address.length = 4;
        memcpy(value->address.bytes, values.ip4[row], sizeof values.ip4[row]);
        return true;
    case COLUMN_IP6:
        value->address.length = 6;
        memcpy(value->address.bytes, values.ip6[row], sizeof values.ip6[row]);
        return true;
    case COLUMN_TEXT:
    case COLUMN_BYTES:
    case COLUMN_JSON:
        /* a value that would be truncated is not sent; a column's size is in bytes */
        value->variable.length = values.text[row].length;
        value->variable.data = values.text[row].bytes;
        return value->variable.length <= column->size &&
               value->variable.length <= VARIABLE_BYTES_MAX;
    default:
        machbase_encode_null(column, value);
        return false;
    }
}

/* Returns true when the value is not empty and contains no character at which the library splits
 * its connection string (it ignores quotes). */
static bool is_plain(const char *value)
{
    return value[0] != '\0' && strpbrk(value, ";= \t\r\n") == NULL;
}

enum status machbase_target_read(struct machbase_target *place, const struct target *target,
                                 struct error *error)
{
    const char *default_text = getenv("MACHBASE_PORT_NO"); /* the library's own default */
    const unsigned long number = default_text != NULL ? strtoul(default_text, NULL, 10) : 0;
    const uint16_t default_port =
        number > 0 && number <= UINT16_MAX ? (uint16_t)number : adapter_machbase.default_port;
    const char *query = target->query;
    struct url_parameter parameter;
    bool is_valid = true;
    *place = (struct machbase_target){
        .host = target->host != NULL ? target->host : "127.0.0.1",
        .port = target->port != 0 ? target->port : default_port,
        .user = target->user != NULL ? target->user : "SYS",
        .password = target->password != NULL ? target->password : "MANAGER",
    };
    if (target->schema != NULL || target->database != NULL) {
        return refuse(error, "Machbase has a single database, without a name or schemas: "
                             "write machbase://user@host:port");
    }
    if (place->host[0] == '/') {
        return refuse(error, "Machbase uses TCP only: give a host and a port");
    }
    if (target->host == NULL && target->url != NULL && strchr(target->url, ',') != NULL &&
        strchr(target->url, '?') == NULL) {
        return refuse(error, "give Machbase one host, and further servers as "
                             "?alternative_servers=HOST:PORT,HOST:PORT");
    }
    while (url_query_next(&query, &parameter, &is_valid)) {
        if (!is_valid) {
            return refuse(error, "a URL parameter is too long or badly encoded");
        }
        if (strcmp(parameter.key, "alternative_servers") == 0) {
            snprintf(place->alternatives, sizeof place->alternatives, "%s", parameter.value);
        } else if (strcmp(parameter.key, "nodelay") == 0 &&
                   (strcmp(parameter.value, "0") == 0 || strcmp(parameter.value, "1") == 0)) {
            place->has_delay = parameter.value[0] == '0';
        } else {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "unknown URL parameter %.60s=%.60s; use "
                      "alternative_servers=HOST:PORT,HOST:PORT or nodelay=0|1",
                      parameter.key, parameter.value);
            return STATUS_FATAL;
        }
    }
    if (!is_plain(place->user) || !is_plain(place->password)) {
        return refuse(error, "user and password for Machbase must not be empty or contain a blank, "
                             "';' or '='");
    }
    if (place->alternatives[0] != '\0' && !is_plain(place->alternatives)) {
        return refuse(error, "alternative_servers must be HOST:PORT,HOST:PORT");
    }
    return STATUS_OK;
}

/* Writes every key, because some defaults differ between the library's versions. The library
 * ignores DSN, although its manual documents it as the host. COMPRESS is off, because rows that the
 * library has compressed cannot be read. */
void machbase_string_build(struct buffer *text, const struct machbase_target *place,
                           const char *address, unsigned timeout_s)
{
    buffer_add_format(text, "SERVER=%s;PORT_NO=%u;UID=%s;PWD=%s;CONNTYPE=1;CONNECTION_TIMEOUT=%u;",
                      address, (unsigned)place->port, place->user, place->password, timeout_s);
    if (place->alternatives[0] != '\0') {
        buffer_add_format(text, "ALTERNATIVE_SERVERS=%s;", place->alternatives);
    }
}

static bool succeeded(short result)
{
    return result == DONE || result == DONE_WITH_INFO;
}

struct record {
    char state[16];
    int code;
    char message[512];
};

/* Reads only one error record, because the library returns the same record repeatedly. */
static void read_record(struct adapter_conn *conn, handle statement, struct record *record)
{
    *record = (struct record){.code = 0};
    if (!succeeded(conn->call->SQLError(conn->environment, conn->connection, statement,
                                        record->state, &record->code, record->message,
                                        sizeof record->message, &(short){0}))) {
        *record = (struct record){.message = "the client library gives no reason"};
    }
    record->state[sizeof record->state - 1] = '\0';
    record->message[sizeof record->message - 1] = '\0';
}

static enum status report(struct error *error, enum status status, enum error_kind kind,
                          const struct record *record)
{
    error_set(error, kind, record->code, record->state, "%s", record->message);
    return status;
}

/* Returns the status of a call and records its error. `statement` is NULL for a call on the
 * connection. Also checks the socket, because the error record does not always show that the
 * connection has ended. */
static enum status check(struct adapter_conn *conn, handle statement, short result,
                         struct error *error)
{
    struct record record;
    if (succeeded(result)) {
        return STATUS_OK;
    }
    read_record(conn, statement, &record);
    if (strncmp(record.state, "08", 2) == 0 || record.code == LINK_LOST ||
        client_socket_is_ended(&conn->socket)) {
        error_set(error, ERROR_CONNECTION, record.code, record.state, "connection lost: %s",
                  record.message);
        return STATUS_LOST;
    }
    return record.code == NO_SUCH_TABLE || record.code == NO_SUCH_COLUMN
               ? report(error, STATUS_FATAL, ERROR_NOT_FOUND, &record)
               : report(error, STATUS_REJECTED, ERROR_SERVER, &record);
}

/* Calls SQLDriverConnect. The library's own time limit covers only the first TCP packet. After
 * that, the library waits without a limit for a server that does not answer. */
static enum status driver_connect(void *context, struct error *error)
{
    static const char *const full_messages[] = {"too many", "exceed", "maximum number of sessions",
                                                "session limit", "max_session"};
    struct adapter_conn *const conn = context;
    struct record record;
    conn->is_connected = succeeded(conn->call->SQLDriverConnect(
        conn->connection, NULL, conn->text, TERMINATED, NULL, 0, &(short){0}, NO_PROMPT));
    if (conn->is_connected) {
        return STATUS_OK;
    }
    read_record(conn, NULL, &record);
    if (record.code == NO_USER || record.code == WRONG_PASSWORD) {
        return report(error, STATUS_FATAL, ERROR_AUTH, &record);
    }
    if (strcmp(record.state, "01S00") == 0) {
        return report(error, STATUS_FATAL, ERROR_USAGE, &record);
    }
    for (size_t i = 0; i < COUNT_OF(full_messages); i++) {
        if (strcasestr(record.message, full_messages[i]) != NULL) {
            report(error, STATUS_LOST, ERROR_LIMIT, &record);
            error->limit = limit_name;
            return STATUS_LOST;
        }
    }
    if (record.state[0] == '\0' && record.code != 0) {
        return report(error, STATUS_LOST, ERROR_SERVER, &record); /* the server's own message */
    }
    error_set(error, strncmp(record.state, "08S", 3) == 0 ? ERROR_CONNECTION : ERROR_UNREACHABLE,
              record.code, record.state, "%.100s:%u: %s", conn->host, (unsigned)conn->port,
              record.message);
    return STATUS_LOST;
}

static enum status connect_to(struct adapter_conn *conn, const struct target *target,
                              struct error *error)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct machbase_target place;
    struct sockaddr_in first;
    char address[INET_ADDRSTRLEN];
    struct buffer text = {0};
    enum status status = machbase_target_read(&place, target, error);
    if (status != STATUS_OK) {
        return status;
    }
    /* the library supports only IPv4, and resolves names with a function that is not thread-safe */
    const int code = getaddrinfo(place.host, NULL, &wanted, &found);
    if (code != 0) {
        error_set(error, ERROR_UNREACHABLE, 0, NULL, "host '%.100s' does not resolve to IPv4: %s",
                  place.host, gai_strerror(code));
        return STATUS_LOST;
    }
    memcpy(&first, found->ai_addr, sizeof first);
    freeaddrinfo(found);
    inet_ntop(AF_INET, &first.sin_addr, address, sizeof address);
    if (!succeeded(conn->call->SQLAllocEnv(&conn->environment)) ||
        !succeeded(conn->call->SQLAllocConnect(conn->environment, &conn->connection))) {
        return dialect_memory_error(error);
    }
    snprintf(conn->host, sizeof conn->host, "%s", place.host);
    snprintf(conn->user, sizeof conn->user, "%s", place.user);
    conn->port = place.port;
    machbase_string_build(&text, &place, address, target->connect_timeout_s);
    conn->text = buffer_text(&text);
    status = buffer_failed(&text)
                 ? dialect_memory_error(error)
                 : client_socket_connect(&conn->socket, target, driver_connect, conn, error);
    buffer_fini(&text);
    conn->has_no_delay = !place.has_delay && client_socket_set_no_delay(&conn->socket);
    return status;
}

static void close_connection(struct adapter_conn *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->append.statement != NULL) {
        /* rows that were not sent yet are dropped */
        client_socket_shut(&conn->socket, SHUT_RDWR);
        conn->call->SQLFreeStmt(conn->append.statement, DROP);
    }
    /* without this shutdown, SQLDisconnect would wait for the server's answer */
    client_socket_shut(&conn->socket, SHUT_RD);
    if (conn->is_connected) {
        conn->call->SQLDisconnect(conn->connection);
    }
    if (conn->connection != NULL) {
        conn->call->SQLFreeConnect(conn->connection);
    }
    if (conn->environment != NULL) {
        conn->call->SQLFreeEnv(conn->environment);
    }
    free(conn->row_values);
    free(conn->columns);
    free(conn);
}

static enum status open_connection(const struct adapter *adapter, const struct target *target,
                                   struct adapter_conn **conn, struct error *error)
{
    (void)adapter;
    *conn = NULL;
    if (target->library == NULL) {
        return refuse(error, "Machbase's client library was not loaded");
    }
    struct adapter_conn *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return dialect_memory_error(error);
    }
    made->library = target->library;
    made->call = &target->library->call;
    const enum status status = connect_to(made, target, error);
    if (status != STATUS_OK) {
        close_connection(made);
        return status;
    }
    *conn = made;
    return STATUS_OK;
}

static void interrupt_connection(struct adapter_conn *conn)
{
    client_socket_shut(&conn->socket, SHUT_RDWR);
}

static void inspect(const struct adapter *adapter, struct adapter_conn *conn,
                    struct connection_info *info)
{
    (void)adapter;
    snprintf(info->host, sizeof info->host, "%s", conn->host);
    client_socket_name_peer(client_socket_descriptor(&conn->socket), info->address,
                            sizeof info->address);
    info->port = conn->port;
    snprintf(info->user, sizeof info->user, "%s", conn->user);
    info->declare_column = machbase_declare_column;
    snprintf(info->note, sizeof info->note, "client library %.150s; %s", conn->library->path,
             conn->has_no_delay ? "append set TCP_NODELAY on the connection's socket"
                                : "the socket has no TCP_NODELAY: packets may wait for 40 ms");
}

/* One column of a result's current row. */
struct bound {
    char *text;         /* text of the cell; owned */
    unsigned long size; /* size of `text`: the maximum length of a value, one byte to detect a
                           longer value, and a NUL */
    long length;        /* length of the value, or NULL_DATA */
};

static bool write_value(struct buffer *text, const struct column *column,
                        const struct column_data *data)
{
    const union column_values values = data->values;
    char written[VALUE_TEXT_BYTES];
    struct text_value quoted = {written, 0};
    if (column_is_null(data, 0)) {
        buffer_add_text(text, "NULL");
        return true;
    }
    switch (column->type) {
    case COLUMN_BOOL:
    case COLUMN_INT16:
    case COLUMN_INT32:
    case COLUMN_INT64:
    case COLUMN_DECIMAL:
        buffer_add(text, written, value_text_write(written, column, values, 0, 0));
        return true;
    case COLUMN_FLOAT32:
        buffer_add_format(text, "%.*g", FLT_DECIMAL_DIG, (double)values.float32[0]);
        return true;
    case COLUMN_FLOAT64:
        buffer_add_format(text, "%.*g", DBL_DECIMAL_DIG, values.float64[0]);
        return true;
    case COLUMN_TIMESTAMP:
        /* a time as text would be read in the library's time zone */
        buffer_add_format(text, "FROM_TIMESTAMP(%" PRId64 ")", values.int64[0]);
        return true;
    case COLUMN_TEXT:
    case COLUMN_JSON:
        quoted = values.text[0];
        break;
    default:
        quoted.length = (uint32_t)value_text_write(written, column, values, 0, 9);
        if (quoted.length == 0) {
            return false;
        }
    }
    if (memchr(quoted.bytes, '\0', quoted.length) != NULL) {
        return false; /* would end the statement */
    }
    buffer_add_text(text, "'");
    for (uint32_t i = 0; i < quoted.length; i++) {
        buffer_add(text, &quoted.bytes[i], quoted.bytes[i] == '\'' ? 1 : 0);
        buffer_add(text, &quoted.bytes[i], 1);
    }
    buffer_add_text(text, "'");
    return true;
}

bool machbase_write_values(struct buffer *text, const char *sql, const struct batch *values)
{
    const char *mark = sql_script_find_parameter(sql, 0);
    size_t count = 0;
    for (; *mark != '\0'; count++) {
        buffer_add(text, sql, (size_t)(mark - sql));
        if (count == values->table->column_count ||
            !write_value(text, &values->table->columns[count], &values->columns[count])) {
            return false;
        }
        sql = mark + 1;
        mark = sql_script_find_parameter(sql, 0);
    }
    buffer_add_text(text, sql);
    return count == values->table->column_count;
}

bool machbase_declare_column(const struct column *column, bool is_numbered, char *text, size_t size)
{
    static const char *const names[COLUMN_TYPE_COUNT] = {
        [COLUMN_INT16] = "short",   [COLUMN_INT32] = "integer",  [COLUMN_INT64] = "long",
        [COLUMN_FLOAT32] = "float", [COLUMN_FLOAT64] = "double", [COLUMN_TEXT] = "text",
        [COLUMN_BYTES] = "binary",  [COLUMN_JSON] = "json",      [COLUMN_TIMESTAMP] = "datetime",
        [COLUMN_IP4] = "ipv4",      [COLUMN_IP6] = "ipv6",
    };
    const char *name = names[column->type];
    if (name == NULL || is_numbered) {
        return false;
    }
    if (column->type == COLUMN_TEXT && column->size > 0 && column->size <= VARCHAR_BYTES_MAX) {
        snprintf(text, size, "varchar(%" PRIu32 ")", column->size);
    } else {
        snprintf(text, size, "%s", name);
    }
    return true;
}

static enum status make_statement(struct adapter_conn *conn, handle *statement, struct error *error)
{
    const short result = conn->call->SQLAllocStmt(conn->connection, statement);
    *statement = succeeded(result) ? *statement : NULL;
    return check(conn, NULL, result, error);
}

/* Binds a column to a buffer that is long enough for all values except long values of text and clob
 * columns. */
static enum status bind_column(struct adapter_conn *conn, handle statement, size_t number,
                               struct bound *bound, struct error *error)
{
    const unsigned short column = (unsigned short)(number + 1);
    char name[ROW_NAME_BYTES];
    unsigned long size = 0;
    short result = conn->call->SQLDescribeCol(statement, column, name, sizeof name, &(short){0},
                                              &(short){0}, &size, &(short){0}, &(short){0});
    bound->size = MAX(CELL_BYTES, MIN(size, VARCHAR_BYTES_MAX)) + 2;
    bound->text = calloc(bound->size, 1);
    if (bound->text == NULL) {
        return dialect_memory_error(error);
    }
    if (succeeded(result)) {
        result = conn->call->SQLBindCol(statement, column, AS_TEXT, bound->text, (long)bound->size,
                                        &bound->length);
    }
    return check(conn, statement, result, error);
}

/* Fills the cells from the fetched row. Returns REJECTED if a value is too long, because the
 * library truncates values that do not fit, mostly without reporting it. */
static enum status take_cells(const struct bound *bound, size_t columns, struct cell *cells,
                              struct error *error)
{
    for (size_t i = 0; i < columns; i++) {
        const size_t length = strnlen(bound[i].text, bound[i].size);
        if (length + 1 >= bound[i].size) {
            error_set(
                error, ERROR_UNSUPPORTED, 0, NULL,
                "column %zu of the result has a value longer than %zu bytes, the most that append "
                "reads from Machbase: select a part of it",
                i + 1, length - 1);
            return STATUS_REJECTED;
        }
        cells[i] = (struct cell){.type = COLUMN_TEXT,
                                 .is_null = bound[i].length == NULL_DATA,
                                 .as.text = {bound[i].text, (uint32_t)length}};
    }
    return STATUS_OK;
}

/* Runs one statement. `answer` is NULL if the statement returns no rows. */
static enum status run_one(struct adapter_conn *conn, const char *sql, struct answer *answer,
                           struct error *error)
{
    const struct functions *call = conn->call;
    handle statement = NULL;
    short count = 0;
    long changed = 0;
    enum status status = make_statement(conn, &statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    if (answer == NULL) {
        status = check(conn, statement, call->SQLExecDirect(statement, sql, TERMINATED), error);
    } else {
        short result = call->SQLPrepare(statement, sql, TERMINATED);
        if (succeeded(result)) {
            result = call->SQLExecute(statement);
        }
        if (succeeded(result)) {
            result = call->SQLNumResultCols(statement, &count);
        }
        status = check(conn, statement, result, error);
        if (status == STATUS_OK && count == 0 &&
            succeeded(call->SQLRowCount(statement, &changed)) && changed > 0) {
            answer->rows += (uint64_t)changed;
        }
    }
    const size_t columns = status == STATUS_OK && count > 0 ? (size_t)count : 0;
    struct bound *const bound = calloc(columns + 1, sizeof *bound);
    struct cell *const cells = calloc(columns + 1, sizeof *cells);
    bool is_wanted = columns > 0 && bound != NULL && cells != NULL;
    if (columns > 0 && !is_wanted) {
        status = dialect_memory_error(error);
    }
    for (size_t i = 0; is_wanted && status == STATUS_OK && i < columns; i++) {
        status = bind_column(conn, statement, i, &bound[i], error);
    }
    while (status == STATUS_OK && is_wanted) {
        const short result = call->SQLFetch(statement);
        if (result == END_OF_ROWS) {
            break;
        }
        status = check(conn, statement, result, error);
        answer->rows += status == STATUS_OK ? 1 : 0;
        if (status == STATUS_OK && answer->take != NULL) {
            status = take_cells(bound, columns, cells, error);
            is_wanted = status == STATUS_OK && answer->take(answer->context, cells, columns);
        }
    }
    for (size_t i = 0; bound != NULL && i < columns; i++) {
        free(bound[i].text);
    }
    free(bound);
    free(cells);
    call->SQLFreeStmt(statement, DROP);
    return status;
}

/* If the first word of `text` is `word`, returns the rest of `text` after this word and the
 * following blanks. Otherwise, and if `text` is NULL, returns NULL. */
static const char *skip_word(const char *text, const char *word)
{
    static const char blanks[] = " \t\r\n";
    const size_t length = strlen(word);
    if (text == NULL || strncasecmp(text, word, length) != 0 ||
        strspn(text + length, blanks) == 0) {
        return NULL;
    }
    return text + length + strspn(text + length, blanks);
}

static enum status run_script(struct adapter_conn *conn, const char *sql, struct answer *answer,
                              struct error *error)
{
    struct sql_script script = {.rest = sql};
    struct buffer drop = {0};
    enum status status = STATUS_OK;
    while (status == STATUS_OK && sql_script_next(&script)) {
        const char *one = buffer_text(&script.statement);
        const char *const table =
            skip_word(skip_word(skip_word(skip_word(one, "drop"), "table"), "if"), "exists");
        if (table != NULL) { /* Machbase does not support IF EXISTS */
            buffer_clear(&drop);
            buffer_add_format(&drop, "drop table %s", table);
            one = buffer_text(&drop);
        }
        status = buffer_failed(&script.statement) || buffer_failed(&drop)
                     ? dialect_memory_error(error)
                     : run_one(conn, one, table == NULL ? answer : NULL, error);
        if (table != NULL && status == STATUS_FATAL && error->native_code == NO_SUCH_TABLE) {
            error_clear(error);
            status = STATUS_OK;
        }
    }
    buffer_fini(&script.statement);
    buffer_fini(&drop);
    return status;
}

static enum status execute(struct adapter_conn *conn, const char *sql, struct error *error)
{
    return run_script(conn, sql, NULL, error);
}

/* Implements adapter.run. Writes the values into the SQL, because the library's binding of values
 * could not be tested without a server. */
static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    answer->rows = 0;
    if (parameters == NULL) {
        return run_script(conn, statement->sql, answer, error);
    }
    struct buffer sql = {0};
    enum status status = STATUS_OK;
    if (!machbase_write_values(&sql, statement->sql, parameters)) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL,
                  "the statement has more or fewer ? than values, or one of the values is bytes "
                  "or contains a NUL byte, which Machbase's SQL cannot write: \"%.100s\"",
                  statement->sql);
        status = STATUS_FATAL;
    } else if (buffer_failed(&sql)) {
        status = dialect_memory_error(error);
    }
    status = status == STATUS_OK ? run_one(conn, buffer_text(&sql), answer, error) : status;
    buffer_fini(&sql);
    return status;
}

/* Counts a failure in other_codes if its code differs from the code of the first failure. */
static void count_failure(struct append *append, bool is_first, int code)
{
    append->other_codes += !is_first && code != append->failure.native_code ? 1 : 0;
}

static int shown_length(const void *text, long length, long most)
{
    most = length < most ? length : most;
    return text == NULL || most < 0 ? 0 : (int)strnlen(text, (size_t)most);
}

static void on_error(handle statement, int code, void *message, long length, void *row,
                     long row_length)
{
    const int row_bytes = shown_length(row, row_length, 60);
    const int message_bytes = shown_length(message, length, 150);
    if (callback_append == NULL || callback_append->statement != statement) {
        return;
    }
    const bool is_first =
        error_set(&callback_append->failure, ERROR_DATA, code, NULL, "%.*s%s%.*s",
                  message_bytes > 0 ? message_bytes : INT_MAX,
                  message_bytes > 0 ? (const char *)message : "refused without a reason",
                  row_bytes > 0 ? "; row: " : "", row_bytes, row != NULL ? (const char *)row : "");
    count_failure(callback_append, is_first, code);
}

static enum status begin_append(struct adapter_conn *conn, const char *table_name,
                                handle *statement, struct error *error)
{
    enum status status = make_statement(conn, statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = check(conn, *statement, conn->call->SQLAppendOpen(*statement, table_name, CHECK_EVERY),
                   error);
    if (status == STATUS_OK) {
        /* the callback is set each time, because opening an append resets it */
        conn->call->SQLAppendSetErrorCallback(*statement, on_error);
        return STATUS_OK;
    }
    conn->call->SQLFreeStmt(*statement, DROP);
    *statement = NULL;
    return status;
}

/* Reads the table's columns from the statement of an open append. Skips the first column, the
 * arrival time, which the server or the library fills. */
static enum status read_table(struct adapter_conn *conn, handle statement, const char *name,
                              struct table *table, struct error *error)
{
    short count = 0;
    enum status status = table_init(table, name, error);
    if (status == STATUS_OK) {
        status = check(conn, statement, conn->call->SQLNumResultCols(statement, &count), error);
    }
    for (int i = 2; status == STATUS_OK && i <= count; i++) {
        struct column column = {.is_nullable = true}; /* the library does not report NOT NULL */
        short type = 0;
        unsigned long size = 0;
        status = check(conn, statement,
                       conn->call->SQLDescribeCol(statement, (unsigned short)i, column.name,
                                                  sizeof column.name, &(short){0}, &type, &size,
                                                  &(short){0}, &(short){0}),
                       error);
        if (status == STATUS_OK) {
            column.name[sizeof column.name - 1] = '\0';
            machbase_set_type(&column, type, size);
            status = table_add_column(table, &column, error);
        }
    }
    if (status != STATUS_OK) {
        table_fini(table);
    }
    return status;
}

/* Finds, for each value of a row, the column in `table`. A row has one value for each column that
 * the table now has on the server. If a column was added after the table was described, its value
 * is NULL. */
static enum status map_columns(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    struct table now;
    size_t found = 0;
    enum status status = read_table(conn, conn->append.statement, table->name, &now, error);
    if (status != STATUS_OK) {
        return status;
    }
    if (conn->row_values == NULL || now.column_count != conn->row_value_count) {
        free(conn->row_values);
        free(conn->columns);
        conn->row_values = calloc(now.column_count + 1, sizeof *conn->row_values);
        conn->columns = calloc(now.column_count + 1, sizeof *conn->columns);
        conn->row_value_count = now.column_count;
    }
    if (conn->row_values == NULL || conn->columns == NULL) {
        conn->row_value_count = 0;
        status = dialect_memory_error(error);
    }
    for (size_t i = 0; i < conn->row_value_count; i++) {
        conn->columns[i] = (uint16_t)table->column_count;
        machbase_encode_null(&now.columns[i], &conn->row_values[i]);
        for (size_t tried = 0; tried < table->column_count; tried++) {
            /* most columns still have the same position */
            const size_t place = (i + tried) % table->column_count;
            if (strcasecmp(table->columns[place].name, now.columns[i].name) == 0) {
                conn->columns[i] = (uint16_t)place;
                found += table->columns[place].native_type == now.columns[i].native_type ? 1 : 0;
                break;
            }
        }
    }
    if (status == STATUS_OK && (now.column_count == 0 || found < table->column_count)) {
        error_set(error, ERROR_NOT_FOUND, 0, NULL,
                  "table '%.100s' has changed: a column was removed or has another type",
                  table->name);
        status = STATUS_FATAL;
    }
    table_fini(&now);
    return status;
}

/* Ends the append without contacting the server. */
static void drop_append(struct adapter_conn *conn)
{
    conn->call->SQLFreeStmt(conn->append.statement, DROP);
    conn->append.statement = NULL;
}

/* Gives up the connection, because the server may still wait for rows or for the end of the append.
 * Records `in_doubt` rows as rows in doubt. Records the other rows of the append, except `accepted`
 * rows, as refused. */
static enum status lose_connection(struct adapter_conn *conn, uint64_t accepted, uint64_t in_doubt)
{
    conn->append.loss = (struct append_loss){.refused = conn->append.rows - accepted - in_doubt,
                                             .in_doubt = in_doubt};
    client_socket_shut(&conn->socket, SHUT_RDWR);
    drop_append(conn);
    return STATUS_LOST;
}

static enum status append_open(struct adapter_conn *conn, const struct table *table,
                               struct error *error)
{
    struct append *append = &conn->append;
    memset(append, 0, sizeof *append);
    enum status status = begin_append(conn, table->name, &append->statement, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = map_columns(conn, table, error);
    if (status == STATUS_LOST) {
        return lose_connection(conn, 0, 0);
    }
    if (status != STATUS_OK) {
        conn->call->SQLAppendClose(append->statement, &(long){0}, &(long){0});
        drop_append(conn);
    }
    return status;
}

/* Sets every value of the row. Returns false if a value cannot be sent unchanged. */
static bool encode_row(struct adapter_conn *conn, const struct batch *batch, size_t row)
{
    const struct table *table = batch->table;
    for (size_t i = 0; i < conn->row_value_count; i++) {
        const size_t place = conn->columns[i];
        if (place == table->column_count) {
            continue;
        }
        const struct column *column = &table->columns[place];
        const struct column_data *data = &batch->columns[place];
        if (column_is_null(data, row)) {
            machbase_encode_null(column, &conn->row_values[i]);
        } else if (!machbase_encode(column, data->values, row, &conn->row_values[i])) {
            const bool is_first = error_set(
                &conn->append.failure, ERROR_DATA, 0, NULL,
                "column %.60s %.60s cannot hold the value: it is too long, negative, or a "
                "value that the client library reserves; the row was not sent",
                column->name, column->type_name);
            count_failure(&conn->append, is_first, 0);
            return false;
        }
    }
    return true;
}

static enum status append_rows(struct adapter_conn *conn, const struct batch *batch, uint64_t *kept,
                               struct error *error)
{
    (void)kept;
    struct append *append = &conn->append;
    enum status status = STATUS_OK;
    callback_append = append;
    for (size_t row = 0; status != STATUS_LOST && row < batch->row_count; row++) {
        append->rows++;
        if (!encode_row(conn, batch, row)) {
            continue;
        }
        const short result = conn->call->SQLAppendDataV2(append->statement, conn->row_values);
        if (result == DONE_WITH_INFO) {
            error_set(error, ERROR_DATA, 0, "01004",
                      "the client library truncated a value of the row");
        } else if (result != DONE) {
            status = check(conn, append->statement, result, error);
        }
        append->sent += succeeded(result) || status == STATUS_LOST ? 1 : 0;
        if (result != DONE && status != STATUS_LOST) {
            const bool is_first = !error_is_set(&append->failure);
            append->failure = is_first ? *error : append->failure;
            count_failure(append, is_first, error->native_code);
            error_clear(error);
        }
    }
    callback_append = NULL;
    return status == STATUS_LOST ? lose_connection(conn, 0, append->sent) : STATUS_OK;
}

static enum status append_close(struct adapter_conn *conn, uint64_t *accepted, struct error *error)
{
    struct append *append = &conn->append;
    const struct error *first = &append->failure;
    long successes = -1; /* stays -1 when the server gives no answer */
    long failures = -1;
    *accepted = 0;
    callback_append = append;
    const short result = conn->call->SQLAppendClose(append->statement, &successes, &failures);
    callback_append = NULL;
    if (!succeeded(result) || successes < 0 || failures < 0) {
        struct error reason = {0};
        check(conn, append->statement, result, &reason);
        error_set(error, ERROR_CONNECTION, reason.native_code,
                  reason.sqlstate[0] != '\0' ? reason.sqlstate : "08S01",
                  "the append ended without the server's row counts: %.150s",
                  reason.text[0] != '\0' ? reason.text : "the client library gives no reason");
        return lose_connection(conn, 0, append->sent);
    }
    const uint64_t kept = (uint64_t)successes;
    *accepted = kept < append->sent ? kept : append->sent;
    if (kept + (uint64_t)failures != append->sent) {
        error_set(error, ERROR_SERVER, 0, NULL,
                  "the server counted %ld kept and %ld refused rows in an append of %" PRIu64
                  ": the other rows are in doubt",
                  successes, failures, append->sent);
        const uint64_t answered = kept + (uint64_t)failures;
        return lose_connection(conn, *accepted,
                               answered < append->sent ? append->sent - answered : 0);
    }
    drop_append(conn);
    if (error_is_set(first)) {
        char others[60] = "";
        if (append->other_codes > 0) {
            snprintf(others, sizeof others, ", %" PRIu64 " for other reasons", append->other_codes);
        }
        error_set(error, first->kind, first->native_code, first->sqlstate,
                  "%.150s (%" PRIu64 " of %" PRIu64 " rows refused%s)", first->text,
                  append->rows - *accepted, append->rows, others);
        return STATUS_REJECTED;
    }
    if (failures > 0) {
        error_set(error, ERROR_DATA, 0, NULL,
                  "the server refused %ld of %" PRIu64 " rows and gave no reason", failures,
                  append->sent);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

static void append_lost(const struct adapter_conn *conn, struct append_loss *loss)
{
    *loss = conn->append.loss;
}

static enum status describe(const struct adapter *adapter, struct adapter_conn *conn,
                            const char *table_name, struct table *table, struct error *error)
{
    (void)adapter;
    /* names are not quoted, so other characters in a name could change the meaning of the SQL */
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";
    const bool is_name = table_name[0] != '\0' && strspn(table_name, letters) == strlen(table_name);
    handle statement = NULL;
    enum status status = is_name ? begin_append(conn, table_name, &statement, error) : STATUS_FATAL;
    if (!is_name || (status == STATUS_FATAL && error->kind == ERROR_NOT_FOUND)) {
        error_clear(error);
        error_set(error, ERROR_NOT_FOUND, NO_SUCH_TABLE, NULL, "table '%.100s' does not exist",
                  table_name);
        return STATUS_REJECTED;
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = read_table(conn, statement, table_name, table, error);
    const short result = conn->call->SQLAppendClose(statement, &(long){0}, &(long){0});
    if (status == STATUS_OK) {
        status = check(conn, statement, result, error);
        if (status != STATUS_OK) {
            table_fini(table);
        }
    }
    conn->call->SQLFreeStmt(statement, DROP);
    return status;
}

enum {
    FACT_BYTES = 60
};

static bool take_text(void *context, const struct cell *cells, size_t count)
{
    if (count > 0) {
        ask_text(&cells[0], context, FACT_BYTES);
    }
    return false;
}

static enum status server_limits(const struct adapter *adapter, struct adapter_conn *conn,
                                 struct server_limits *limits, struct error *error)
{
    (void)adapter;
    static const char *const queries[] = {
        "select binary_signature from v$version",
        "select value from v$property where name = 'MAX_SESSION_COUNT'",
        "select count(*) from v$session where closed = 0",
    };
    /* stays "" when the server gives no answer */
    char facts[COUNT_OF(queries)][FACT_BYTES] = {""};
    int64_t most = 0;
    int64_t now = 0;
    memset(limits, 0, sizeof *limits);
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        struct answer answer = {.take = take_text, .context = facts[i]};
        if (run_one(conn, queries[i], &answer, error) == STATUS_LOST) {
            return STATUS_LOST;
        }
        error_clear(error);
    }
    snprintf(limits->version, sizeof limits->version, "Machbase %s", facts[0]);
    if (text_parse_integer(facts[1], strlen(facts[1]), &most) && most > 0 &&
        text_parse_integer(facts[2], strlen(facts[2]), &now) && now >= 0) {
        struct session_limit *limit = dialect_add_limit(limits, limit_name, most, now);
        snprintf(limit->fix, sizeof limit->fix,
                 "MAX_SESSION_COUNT = N in $MACHBASE_HOME/conf/machbase.conf, then restart the "
                 "server");
    }
    return STATUS_OK;
}

enum probe_answer machbase_recognise(const unsigned char *bytes, size_t length)
{
    if (memcmp(bytes, "CMI_READY", length < HELLO_BYTES ? length : HELLO_BYTES) != 0) {
        return PROBE_NO;
    }
    return length < HELLO_BYTES ? PROBE_MORE : PROBE_YES;
}

static const struct probe probe = {.protocol = "Machbase's",
                                   .socket_name = "",
                                   .question = "CMI_INET0", /* 0: little-endian */
                                   .question_bytes = HELLO_BYTES,
                                   .recognise = machbase_recognise};

const struct adapter adapter_machbase = {
    .name = "machbase",
    .summary = "Machbase: append (vendor's library)",
    .flags = ADAPTER_ONE_DATABASE | ADAPTER_LOADS | ADAPTER_WATCHED,
    .default_port = 5656,
    /* a quoted name would keep its case, but tables have upper-case names */
    .identifier_quote = '\0',
    .stack_bytes = (size_t)256 * 1024,
    .files_per_session = 2, /* a socket, and the library's epoll instance while the library waits */
    .start = start,
    .stop = stop,
    .client_version = client_version,
    .probe = &probe,
    .recognise = client_socket_recognise,
    .open = open_connection,
    .close = close_connection,
    .interrupt = interrupt_connection,
    .inspect = inspect,
    .execute = execute,
    .describe = describe,
    .append_open = append_open,
    .append_rows = append_rows,
    .append_close = append_close,
    .append_lost = append_lost,
    .run = run,
    .server_limits = server_limits,
};
