/*
 * A connection to a database over HTTP, and helpers that the adapters of such databases share.
 *
 * A request is never sent twice: if bytes of it were written but the answer is missing, it is
 * unknown whether the server carried it out. If the server has ended an idle connection, the next
 * request opens a new connection; this loses no row. Redirects are not followed. The caller keeps a
 * request's body valid until the request ends.
 *
 * These parameters of a target's URL are read here:
 *
 *   tls=off|require|verify   off (default): http; require: https with any server; verify: https,
 *                            and the certificate is checked against the host's name
 *   ca=FILE                  certificates of the authorities that tls=verify trusts, instead of the
 *                            system's authorities
 *   auth=basic|bearer|header how user and password are sent; bearer: the password is the token;
 *                            header: in the database's own headers, if it has any
 */
#ifndef ADAPTERS_HTTP_H
#define ADAPTERS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "adapters/dialect.h"
#include "append/adapter.h"
#include "base/text.h"

enum {
    HTTP_KEPT_MAX = 64 << 20, /* longest answer that is kept whole, in bytes */
    HTTP_LINE_MAX = 16 << 20, /* longest line of an answer that is read line by line, in bytes */
    HTTP_STACK_BYTES = 192 * 1024,
    HTTP_LIBRARY_FILES = 2, /* descriptors that libcurl uses: with TLS as long as the connection
                               lasts, without TLS while connecting */
};

/* In each adapter that uses this file, struct adapter_conn begins with `struct http *http`.
 * Functions here that take an adapter_conn implement the adapter's operation of the same name. */
struct http;

/* The part of an adapter that is specific to its database. Each instance is static. */
struct http_database {
    size_t conn_bytes; /* size of the database's struct adapter_conn */
    uint16_t default_port;
    const char *user_header, *password_header; /* names of the headers for auth=header; NULL if
                                                  auth=header is not supported */
    const char *default_user; /* user name to send if the target has no user; NULL: send no
                                 credentials in this case */
    const char *ping;         /* path of a GET request without side effects, to check that the
                                 server answers */

    /* For probing a server: recognises_answer returns whether the answer to a GET request for the
     * path `question` is from this database. `protocol` is part of an error message, for example
     * "ClickHouse's". */
    const char *question, *protocol;
    bool (*recognises_answer)(unsigned status, const char *headers, const char *body);

    /* Optional. Called for an answer with status 429, or 500 or higher, if classify_error did not
     * find an error in it. Returns whether the database itself, and not a proxy in front of it,
     * sent the answer. NULL if classify_error reads every error of the database. */
    bool (*is_own)(unsigned status, const char *headers, const char *body);

    /* Optional. Initialises a connection from its target; the connection is zeroed except for its
     * http. */
    enum status (*begin)(struct adapter_conn *conn, const struct target *target,
                         struct error *error);
    void (*end)(struct adapter_conn *conn); /* frees the connection's own members, except http */

    /* Optional. Runs further queries after the ping, within the same time limit. */
    enum status (*greet)(struct adapter_conn *conn, const struct target *target,
                         struct error *error);

    /* Optional. Takes a parameter of the URL that http does not know. Returns false if the
     * parameter is unknown or its value is wrong; *error may contain the valid values. */
    bool (*set)(struct adapter_conn *conn, const char *key, const char *value, struct error *error);

    /* Reads an error answer: a status of 400 or higher, or an error within an answer with status
     * 2xx. *meaning already contains the meaning of the status; the function changes it if the body
     * is more specific. Sets failure->number. Writes the server's message to `text`, and sets
     * failure->text to `text`. */
    void (*classify_error)(unsigned status, const char *body, size_t length,
                           struct dialect_failure *failure, struct dialect_meaning *meaning,
                           char text[ERROR_TEXT_BYTES]);
};

struct http_request {
    const char *method; /* "GET", "POST", "DELETE" ... */
    const char *path;   /* path with its query, encoded: "/write?db=x" */
    const char *type;   /* content type of the body; NULL if there is no body */
    const void *body;   /* the body; borrowed */
    size_t length;
    struct buffer *body_buffer; /* the body's buffer, which is freed when the body has been written,
                                   so that waiting sessions do not keep their buffers; NULL if
                                   nothing is to be freed */
    const char *accept;         /* content type that the answer should have; NULL for any type */
    const char *agent; /* text for the User-Agent header, after this program's name and version;
                          NULL for no text */

    /* `take` takes the body of an answer with status 2xx line by line; '\0' replaces the line
     * break. If `take` returns false, the rest is skipped. If `take` is NULL, the body is kept. The
     * body of any other status is always kept. If `rows` is not NULL, the body is JSON, and `take`
     * takes the elements of the array that is the member `rows`, instead of lines; the text before
     * and after the array is kept. */
    const char *rows;
    bool (*take)(void *context, char *line, size_t length);
    void *context;
};

/* Opens a connection: initialises it, connects, sends a ping with the credentials and calls greet,
 * all within connect_timeout_s. Never returns REJECTED: permanent failures are FATAL (credentials,
 * a parameter of the URL, the certificate), failures that may be temporary are LOST (unreachable,
 * timed out). adapter->own points to the adapter's struct http_database. */
enum status http_open(const struct adapter *adapter, const struct target *target,
                      struct adapter_conn **conn, struct error *error);
void http_close(struct adapter_conn *conn);

unsigned http_count_files(const struct target *target, unsigned *opening);

/* Makes the request in progress, and later requests, return LOST. */
void http_interrupt(struct adapter_conn *conn);

/* Sets the counts of lost rows to 0, and reconnects if the server has ended the idle connection. An
 * adapter calls it at the beginning of an append. Returns LOST if reconnecting failed. */
enum status http_begin_append(struct http *http, struct error *error);

/*

 * Sends a request and waits for its complete answer. Returns OK if the HTTP status is 2xx. With any
 * other HTTP status, *error has the server's message, and the result depends on the HTTP status,
 * unless classify_error changes the result:
 *
 *   3xx            FATAL; *error names the address to which the server redirects
 *   401, 403       FATAL (ERROR_AUTH)
 *   404            REJECTED (ERROR_NOT_FOUND)
 *   413            REJECTED (ERROR_DATA)
 *   429, 503       REJECTED (ERROR_BUSY): nothing was stored
 *   408, 502, 504  LOST: it is unknown whether the request was carried out
 *   others         REJECTED (ERROR_SERVER)
 *
 * The result is also LOST if a proxy, and not the database, sent a status of 429, or 500 or higher
 * (see is_own), and if the connection is lost.
 */
enum status http_send(struct http *http, const struct http_request *request, struct error *error);

/* Adds the unacknowledged rows of the latest request to the losses of this append. If `status` is
 * LOST, rows that may have reached the server are in doubt; with any other status, the rows were
 * refused. */
void http_add_loss(struct http *http, enum status status, uint64_t rows);
void http_append_lost(const struct adapter_conn *conn, struct append_loss *loss);

/* Returns the kept body of the latest answer, terminated by '\0'; valid until the next request. */
const char *http_body(const struct http *http, size_t *length);

/* Sets info->address and, if the adapter has a dialect, the members that the dialect defines. */
void http_inspect(const struct adapter *adapter, struct adapter_conn *conn,
                  struct connection_info *info);

/* Returns the status of the latest answer. */
unsigned http_status(const struct http *http);

/* Records that the latest answer has a status 2xx but cannot be the database's answer to `what`.
 * Returns LOST, because another program may have sent the answer. */
enum status http_malformed_answer(struct http *http, const char *what, struct error *error);

/* Returns the value of a header of the latest answer, valid until the next request, or NULL if the
 * answer lacks this header. */
const char *http_header(const struct http *http, const char *name);

/* Records an error that the latest answer contains, as database->classify_error reads it; returns
 * the error's status. */
enum status http_record_error(struct http *http, const char *body, size_t length,
                              struct error *error);

/* Parses JSON; text[length] must be '\0'. The caller frees the result with json_decref. Integers
 * that fit int64_t are integers; numbers too large for int64_t or double become strings. If the
 * text is not JSON, records an error and returns NULL. */
json_t *http_parse(const char *text, size_t length, struct error *error);

/* Parses the kept body like http_parse. */
json_t *http_json(const struct http *http, struct error *error);

/* Counts the rows of a JSON array and passes them to answer->take, which may be NULL. Stops and
 * sets *take_stopped when take returns false. A row is an array or object of values, or one value.
 * Integers stay integers, true and false become 1 and 0, null becomes NULL, other numbers and
 * strings become text, and arrays and objects become JSON text. */
enum status http_take_rows(const json_t *rows, struct answer *answer, bool *take_stopped,
                           struct error *error);

/* The context of http_take_row, which is a callback for http_request.take if http_request.rows is
 * set. http_take_row passes one row to the answer, as http_take_rows does. */
struct http_reading {
    struct answer *answer;
    struct error *error;
    enum status status;
    bool take_stopped;
};
bool http_take_row(void *reading, char *text, size_t length);

/* Adds a value of a batch as JSON. NULL, numbers and booleans are written as such (NaN and infinity
 * as null), JSON is copied, bytes are written in base64, and all other types as strings. A
 * timestamp is in UTC, for example "2026-01-31 12:00:00.123456". */
void http_add_json(struct buffer *buffer, const struct column *column,
                   const struct column_data *data, size_t row);

/* Adds a JSON string. */
void http_add_string(struct buffer *buffer, const char *bytes, size_t length);

/* Adds text, percent-encoding the characters that are special in a URL. */
void http_add_encoded(struct buffer *buffer, const char *text);

void http_add_base64(struct buffer *buffer, const void *bytes, size_t length);

/* State of http_split, which finds the elements of an array in JSON that it reads byte by byte. The
 * array is the member `name` of any object. Initialise this struct with zeros except for `name`. */
struct http_splitter {
    const char *name;
    /* `depth` is the number of open brackets. `array_depth` is `depth` directly within the array,
     * or 0 outside the array */
    unsigned depth, array_depth;
    size_t matched; /* number of bytes of the latest string that match `name`; SIZE_MAX: the string
                       differs from `name` */
    bool is_in_string, is_escaped, is_name, is_in_element;
};
enum http_place {
    HTTP_AROUND,
    HTTP_BETWEEN, /* between two elements */
    HTTP_ELEMENT,
};
enum http_place http_split(struct http_splitter *splitter, char byte);

/* An answer of HTTP/1.0 or 1.1 that is being received. Initialised with zeros; http_answer_clear
 * prepares it for the next answer. The server is not trusted: numbers are checked, the head is
 * limited, and a malformed answer is reported as soon as possible. */
struct http_answer {
    struct buffer head;   /* status line, headers and the empty line after them; owned */
    unsigned status;      /* status of the answer; 0: the head is not complete yet */
    bool ends_connection; /* no further request can be sent on this connection */
    const char *fault; /* reason why the answer is malformed, static; NULL if no fault was found */

    /* Takes a part of the body, and may overwrite `bytes`. If it returns false, the rest of
     * the body is not passed to it. */
    bool (*take)(void *context, char *bytes, size_t length);
    void *context;

    enum http_phase {
        HTTP_HEAD,
        HTTP_LENGTH,     /* a body with `left` more bytes */
        HTTP_TO_END,     /* a body that ends with the connection */
        HTTP_CHUNK_SIZE, /* before a chunk: a line with the length of the chunk */
        HTTP_CHUNK,
        HTTP_CHUNK_END, /* the line break after a chunk */
        HTTP_TRAILER,   /* lines after the last chunk */
        HTTP_WHOLE,
        HTTP_CUT, /* take returned false, or there is a fault */
    } phase;
    uint64_t left;
    unsigned line_bytes; /* length of the current line */
    bool is_extension;   /* the rest of the chunk's line is skipped */
};

/* Reads the next bytes; returns how many of them belong to this answer. */
size_t http_answer_read(struct http_answer *answer, char *bytes, size_t length);

/* Notes that the connection has ended. Returns false if the answer is incomplete. */
bool http_answer_end(struct http_answer *answer);

/* Returns a header's value and its length in *length, or NULL if the answer lacks this header. */
const char *http_answer_header(const struct http_answer *answer, const char *name, size_t *length);

void http_answer_clear(struct http_answer *answer);
void http_answer_fini(struct http_answer *answer);

/* Implements adapter.recognise: reads the answer, in any number of parts, until it is complete or
 * its body exceeds 64 KiB. */
enum status http_recognise(const struct adapter *adapter, const char *host, uint16_t port,
                           unsigned timeout_ms, struct error *error);

/* Implement adapter.client_version, adapter.start and adapter.stop. */
void http_client_version(char *text, size_t size);
enum status http_start(const char *client_lib, struct adapter_library **library,
                       struct error *error);
void http_stop(struct adapter_library *library);

/* Members of struct adapter that are the same for all databases reached over HTTP. */
#define HTTP_OPERATIONS                                                                            \
    .stack_bytes = HTTP_STACK_BYTES, .count_files = http_count_files, .start = http_start,         \
    .stop = http_stop, .client_version = http_client_version, .recognise = http_recognise,         \
    .open = http_open, .close = http_close, .interrupt = http_interrupt,                           \
    .append_lost = http_append_lost

#endif
