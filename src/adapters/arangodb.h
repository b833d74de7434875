/*
 * The parts of the adapter for ArangoDB: arangodb.c connects and appends, arangodb_statement.c runs
 * statements, arangodb_words.c has what both say to the server and hear from it.
 *
 * It has no SQL. A statement is AQL, or a request in words, which also makes and drops things:
 * METHOD PATH [JSON] on one line, the path relative to the database:
 *     POST /_api/collection {"name": "c"}
 * In both, a ? outside quotes is the next parameter, and ?2 the second one.
 */
#ifndef ADAPTERS_ARANGODB_H
#define ADAPTERS_ARANGODB_H

#include <stdbool.h>
#include <stddef.h>

#include "adapters/http.h"
#include "append/adapter.h"
#include "base/text.h"

/* The server's errorNum. */
enum {
    ARANGODB_NO_DOCUMENT = 1202,
    ARANGODB_NO_COLLECTION = 1203,
    ARANGODB_IS_THERE = 1207,
    ARANGODB_DUPLICATE = 1210,
    ARANGODB_NO_DATABASE = 1228,
};

/* As http_database.explain. */
void arangodb_explain(unsigned status, const char *body, size_t length,
                      struct dialect_failure *failure, struct dialect_meaning *meaning,
                      char text[ERROR_TEXT_BYTES]);

struct adapter_conn {
    struct http *http;
    struct buffer root, path; /* "/_db/NAME"; of the request under way */
    json_t *properties;       /* of collections that are made, from the URL */
    bool waits_for_sync, sends_array, has_made_database;
    const char *database; /* the target's */

    /* The open append. What was stored stays, whatever follows. */
    const struct table *table;
    struct buffer labels; /* what stands before the values of a row; each ends with '\0' */
    struct buffer body;
    uint64_t rows, accepted; /* in the body; of those that were sent */
};

/* Begins conn->path with a path of the database. */
void arangodb_begin_path(struct adapter_conn *conn, const char *path);

/* Sends a request to conn->path; `body` may be NULL. */
enum status arangodb_send(struct adapter_conn *conn, const char *method, const struct buffer *body,
                          struct error *error);

/* Posts the body of AQL to `path`; *page is the answer, to be given back by json_decref. */
enum status arangodb_ask(struct adapter_conn *conn, const char *path, const struct buffer *body,
                         json_t **page, struct error *error);

/* Operations of the adapter. */
enum status arangodb_execute(struct adapter_conn *conn, const char *sql, struct error *error);
enum status arangodb_run(struct adapter_conn *conn, const struct statement *statement,
                         const struct batch *parameters, struct answer *answer,
                         struct error *error);
enum status arangodb_prepare(struct adapter_conn *conn, const struct statement *statement,
                             struct adapter_prepared **prepared, struct error *error);

/* Adds columns to the table of a collection, which has none: those of append's own table, or what
 * its documents, an array, have. */
enum status arangodb_guess_columns(struct table *table, const json_t *documents,
                                   struct error *error);

/* The column that is written as a document's _key: the only one that is a key and text; NULL: there
 * is none. */
const struct column *arangodb_find_key(const struct table *table);

#endif
