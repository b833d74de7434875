/*
 * The parts of the ArangoDB adapter: arangodb.c connects and appends, arangodb_statement.c runs
 * statements, arangodb_words.c has the functions that both use.
 *
 * ArangoDB has no SQL. A statement is AQL, or a plain request on one line: METHOD PATH [JSON]. The
 * path is relative to the database. A plain request can also create and drop collections:
 *
 *     POST /_api/collection {"name": "c"}
 *
 * In AQL and in requests, a ? outside quotes stands for the next parameter, and ?2 stands for the
 * second parameter.
 */
#ifndef ADAPTERS_ARANGODB_H
#define ADAPTERS_ARANGODB_H

#include <stdbool.h>
#include <stddef.h>

#include "adapters/http.h"
#include "append/adapter.h"
#include "base/text.h"

/* Values of the server's errorNum. */
enum {
    ARANGODB_NO_DOCUMENT = 1202,
    ARANGODB_NO_COLLECTION = 1203,
    ARANGODB_IS_THERE = 1207,
    ARANGODB_DUPLICATE = 1210,
    ARANGODB_NO_DATABASE = 1228,
};

/* Implements http_database.classify_error. */
void arangodb_classify_error(unsigned status, const char *body, size_t length,
                             struct dialect_failure *failure, struct dialect_meaning *meaning,
                             char text[ERROR_TEXT_BYTES]);

struct adapter_conn {
    struct http *http;
    struct buffer root, path; /* `root`: "/_db/NAME", the beginning of all paths; `path`: path of
                                 the current request */
    json_t *properties;       /* properties for new collections, from the target's URL */
    bool waits_for_sync, sends_array, has_created_database;
    const char *database; /* the target's database */

    /* State of the append that is in progress. If one of its requests fails, the documents that
     * earlier requests have stored stay in the database. */
    const struct table *table;
    struct buffer labels; /* the texts before the values of a row, each terminated by '\0' */
    struct buffer body;
    /* `rows`: number of rows in the body; `accepted`: number of rows that earlier requests of the
     * append have stored */
    uint64_t rows, accepted;
};

/* Sets conn->path to "/_db/NAME" followed by `path`. */
void arangodb_begin_path(struct adapter_conn *conn, const char *path);

/* Sends a request to conn->path; `body` may be NULL. */
enum status arangodb_send(struct adapter_conn *conn, const char *method, const struct buffer *body,
                          struct error *error);

/* Sends a POST request to `path`; `body` may be NULL. Sets *page to the parsed answer, or to NULL
 * if the request failed. The caller frees *page with json_decref. */
enum status arangodb_post(struct adapter_conn *conn, const char *path, const struct buffer *body,
                          json_t **page, struct error *error);

enum status arangodb_execute(struct adapter_conn *conn, const char *sql, struct error *error);
enum status arangodb_run(struct adapter_conn *conn, const struct statement *statement,
                         const struct batch *parameters, struct answer *answer,
                         struct error *error);
enum status arangodb_prepare(struct adapter_conn *conn, const struct statement *statement,
                             struct adapter_prepared **prepared, struct error *error);

/* Adds a collection's columns to `table`. syslog_table, this program's own table, has fixed
 * columns. For any other table, the columns are the members of `documents`, a JSON array of
 * documents. */
enum status arangodb_guess_columns(struct table *table, const json_t *documents,
                                   struct error *error);

/* Returns the column that is stored as a document's _key: the only unique text column. Returns NULL
 * if the table has no unique text column or more than one. */
const struct column *arangodb_find_key(const struct table *table);

#endif
