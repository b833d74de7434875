/*
 * One connection to a database that speaks HTTP, and what the databases behind it share.
 *
 * A request is sent at most once: what has been written and was not answered is in doubt, and is
 * not sent again. A connection that the server ended while nothing was asked is made anew before
 * the next request, which costs no row. Redirects are not followed. Bodies are borrowed for the
 * length of a request.
 *
 * The parameters of a target's URL that are read here:
 *   tls=off|require|verify   off (default): http; require: https, whoever answers; verify: https,
 *                            and the certificate is checked against the host's name
 *   ca=FILE                  the authorities that verify trusts, instead of the system's
 *   auth=basic|bearer|header how user and password are shown; bearer: the password is the token;
 *                            header: in headers of the database's own, where it has some
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
    HTTP_KEPT_MAX = 64 << 20, /* bytes of an answer that is kept whole */
    HTTP_LINE_MAX = 16 << 20, /* of one line of an answer that is read by lines */
    HTTP_STACK_BYTES = 192 * 1024,
    HTTP_LIBRARY_FILES = 2, /* that the library keeps while it connects, and with TLS */
};

/* Of each of these databases the first member of struct adapter_conn is `struct http *http`: what
 * takes an adapter_conn here is the adapter's operation of that name. */
struct http;

/* What a database's adapter says of itself. Static. */
struct http_database {
    size_t conn_bytes; /* of its struct adapter_conn */
    uint16_t default_port;
    const char *user_header, *password_header; /* of auth=header; NULL: there are none */
    const char *default_user;                  /* NULL: without a user no credentials are shown */
    const char *ping; /* path of a harmless GET, which tells that the server is there */

    /* How it is recognised by the answer to a GET of `question`; `protocol`, "ClickHouse's", is for
     * the message. */
    const char *question, *protocol;
    bool (*is_it)(unsigned status, const char *headers, const char *body);

    /* Optional. The same of an answer that says "busy", which a program in front of the database
     * may have given. NULL: each is taken for the database's. */
    bool (*is_own)(unsigned status, const char *headers, const char *body);

    /* Optional. Begins a connection, which is zeroed but for its http, by its target. */
    enum status (*begin)(struct adapter_conn *conn, const struct target *target,
                         struct error *error);
    void (*end)(struct adapter_conn *conn); /* gives back what it owns beside its http */

    /* Optional. Asks what a ping does not tell, behind it and within the same time. */
    enum status (*greet)(struct adapter_conn *conn, const struct target *target,
                         struct error *error);

    /* Optional. Takes a parameter of the URL that is not http's; false: it is unknown, or its value
     * is wrong, and *error may say what would be right. */
    bool (*set)(struct adapter_conn *conn, const char *key, const char *value, struct error *error);

    /* Reads an answer with an error: a status from 400 on, or an error within another one. Fills
     * failure->number and *meaning as far as it knows better, and failure->text, in `text`, with
     * the server's words. *meaning holds what the status alone means. */
    void (*explain)(unsigned status, const char *body, size_t length,
                    struct dialect_failure *failure, struct dialect_meaning *meaning,
                    char text[ERROR_TEXT_BYTES]);
};

struct http_request {
    const char *method; /* "GET", "POST", "DELETE" ... */
    const char *path;   /* with its query, encoded: "/write?db=x" */
    const char *type;   /* of the body; NULL: there is none */
    const void *body;   /* borrowed */
    size_t length;
    struct buffer *spent; /* the buffer that the body is in, if it can go as soon as it is written:
                             a thousand sessions that wait would keep a thousand; or NULL */
    const char *accept;   /* type of the answer; NULL: any */

    /* Takes the body of an answer of status 2xx line by line, without the line break, which is
     * '\0' there; false = enough, the rest is passed over. NULL: the body is kept. The body of
     * another status is always kept. With `rows` it is JSON, and what is taken in place of lines
     * are the elements of the array of this member; what is around them is kept. */
    const char *rows;
    bool (*take)(void *context, char *line, size_t length);
    void *context;
};

/* Makes a connection: begins it, connects, sends a ping with the credentials and greets, all within
 * connect_timeout_s. Nothing is REJECTED here: what cannot pass is FATAL, what can is LOST. LOST:
 * not reachable, timed out; FATAL: the credentials, a parameter of the URL, or the certificate.
 * adapter->own is its struct http_database. */
enum status http_open(const struct adapter *adapter, const struct target *target,
                      struct adapter_conn **conn, struct error *error);
void http_close(struct adapter_conn *conn);

unsigned http_count_files(const struct target *target, unsigned *opening);

/* The request under way, and later ones, come to LOST. */
void http_interrupt(struct adapter_conn *conn);

/* To be called before rows are handed over: begins an append's account, and where the server has
 * ended the idle connection, makes another one. LOST: it cannot be made. */
enum status http_begin_append(struct http *http, struct error *error);

/* Sends a request and waits until its answer is whole. OK: its status is 2xx. Other statuses:
 * *error holds what the server says, and the result is what it means, unless explain knows better:
 * 401, 403 FATAL (ERROR_AUTH); 404 REJECTED (ERROR_NOT_FOUND); 429, 503 REJECTED (ERROR_BUSY), as
 * nothing was stored; 413 REJECTED (ERROR_DATA); 408, 502, 504 LOST, in doubt; 3xx FATAL, with the
 * place that the server names; others REJECTED (ERROR_SERVER). LOST: the connection is gone, and
 * whether the request was carried out is not known. */
enum status http_send(struct http *http, const struct http_request *request, struct error *error);

/* Adds rows that the latest request did not get acknowledged to the append's account, by what it
 * came to: in doubt are those that may have reached the server. */
void http_add_loss(struct http *http, enum status status, uint64_t rows);
void http_append_lost(const struct adapter_conn *conn, struct append_loss *loss);

/* The kept body of the latest answer, terminated; valid until the next request. */
const char *http_body(const struct http *http, size_t *length);

/* Where its connection goes, and its dialect, if it has one. */
void http_inspect(const struct adapter *adapter, struct adapter_conn *conn,
                  struct connection_info *info);

/* The status of the latest answer. */
unsigned http_status(const struct http *http);

/* Records that the latest answer, whose status is 2xx, is not one that the database gives to
 * `what`: LOST, as some other program may have given it. */
enum status http_mistrust(struct http *http, const char *what, struct error *error);

/* A header of the latest answer; NULL: it has none of that name. Valid until the next request. */
const char *http_header(const struct http *http, const char *name);

/* Records an error that an answer of 2xx holds, as database->explain reads it; returns what it
 * means. */
enum status http_refuse(struct http *http, const char *body, size_t length, struct error *error);

/* A text, terminated at its length, as JSON, to be given back by json_decref. Whole numbers that
 * int64_t holds are such; numbers that are too large for it, or for a double, are strings. NULL: it
 * is none, *error says so, and the request is REJECTED. */
json_t *http_parse(const char *text, size_t length, struct error *error);

/* The kept body as JSON, in the same way. */
json_t *http_json(const struct http *http, struct error *error);

/* Counts the rows of a JSON array and hands them to answer->take, if there is one, until that has
 * enough, which sets *has_enough. A row is an array or an object of values, or one value. Whole
 * numbers are numbers, true and false 1 and 0, null NULL, other numbers and strings text; arrays
 * and objects as JSON. */
enum status http_take_rows(const json_t *rows, struct answer *answer, bool *has_enough,
                           struct error *error);

/* As http_request.take with `rows`: takes one row, in the same way. */
struct http_reading {
    struct answer *answer;
    struct error *error;
    enum status status;
    bool has_enough;
};
bool http_take_row(void *reading, char *text, size_t length);

/* Adds a value of a batch as JSON: NULL, numbers and booleans as such (not a number: null), JSON as
 * it is, bytes in base64, all others as strings; a timestamp in UTC, "2026-01-31 12:00:00.123456".
 */
void http_add_json(struct buffer *buffer, const struct column *column,
                   const struct column_data *data, size_t row);

/* Adds a string of JSON. */
void http_add_string(struct buffer *buffer, const char *bytes, size_t length);

/* Adds text with what has a meaning in a URL percent-encoded. */
void http_add_encoded(struct buffer *buffer, const char *text);

/* Adds bytes in base64. */
void http_add_base64(struct buffer *buffer, const void *bytes, size_t length);

/* Finds the elements of an array in JSON that comes byte by byte: of a member of this name,
 * wherever it is. Begins zeroed but for the name. */
struct http_splitter {
    const char *name;
    unsigned depth, array_depth; /* of brackets; of the array, 0: outside of it */
    size_t matched;              /* of the string that is the latest: letters that are the name's */
    bool is_in_string, is_escaped, is_name, is_in_element;
};
enum http_place {
    HTTP_AROUND,
    HTTP_BETWEEN, /* what stands between two elements */
    HTTP_ELEMENT,
};
enum http_place http_split(struct http_splitter *splitter, char byte);

/* An answer of HTTP/1.0 or 1.1 on its way in. Begins zeroed; one that is through begins again with
 * http_answer_clear. What a server sends is not to be trusted: numbers are checked, its head is
 * bounded, and what is no answer is told as soon as that is known. */
struct http_answer {
    struct buffer head;   /* status line and headers, and the empty line behind them; owned */
    unsigned status;      /* 0: the head is not whole yet */
    bool ends_connection; /* no other request can be sent behind this one */
    const char *fault;    /* static; why it is no answer */

    /* Takes a part of the body, which may be written to; false = the rest is not wanted, and no
     * more of it comes. */
    bool (*take)(void *context, char *bytes, size_t length);
    void *context;

    enum http_phase {
        HTTP_HEAD,
        HTTP_LENGTH,     /* a body of `left` more bytes */
        HTTP_TO_END,     /* a body that the end of the connection ends */
        HTTP_CHUNK_SIZE, /* chunks: a line with the length of the next one */
        HTTP_CHUNK,
        HTTP_CHUNK_END, /* the line break behind one */
        HTTP_TRAILER,   /* lines behind the last chunk */
        HTTP_WHOLE,
        HTTP_CUT, /* take had enough, or there is a fault */
    } phase;
    uint64_t left;
    unsigned line_bytes; /* of the line that is being read */
    bool is_extension;   /* the rest of a chunk's line is passed over */
};

/* Takes the next bytes; returns how many of them are of this answer. */
size_t http_answer_read(struct http_answer *answer, char *bytes, size_t length);

/* The connection has ended; false: the answer is not whole. */
bool http_answer_end(struct http_answer *answer);

/* The value of a header, its length in *length; NULL: there is none of that name. */
const char *http_answer_header(const struct http_answer *answer, const char *name, size_t *length);

void http_answer_clear(struct http_answer *answer);
void http_answer_fini(struct http_answer *answer);

/* Asks who listens, and reads the answer, however it is cut, until it is whole or its body longer
 * than 64 KiB. As adapter.recognise. */
enum status http_recognise(const struct adapter *adapter, const char *host, uint16_t port,
                           unsigned timeout_ms, struct error *error);

/* The library's name and version; as adapter.start and adapter.stop. */
void http_client_version(char *text, size_t size);
enum status http_start(const char *client_lib, struct adapter_library **library,
                       struct error *error);
void http_stop(struct adapter_library *library);

/* What is alike in the struct adapter of these databases. */
#define HTTP_OPERATIONS                                                                            \
    .stack_bytes = HTTP_STACK_BYTES, .count_files = http_count_files, .start = http_start,         \
    .stop = http_stop, .client_version = http_client_version, .recognise = http_recognise,         \
    .open = http_open, .close = http_close, .interrupt = http_interrupt,                           \
    .append_lost = http_append_lost

#endif
