/* Questions to a database through adapter.run, and what their answers mean: the same for whichever
 * adapter is asked. */
#ifndef BASE_ASK_H
#define BASE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/sql.h"
#include "base/mono.h"
#include "base/text.h"

/* Runs one statement with `text` in place of its only ?, or, where `text` is NULL, without any, and
 * hands out its rows. */
enum status ask_rows(const struct adapter *adapter, struct adapter_conn *conn, const char *sql,
                     const char *text, struct answer *answer, struct error *error);

/* Reads a cell as text, terminated and cut to `size`; NULL is "". */
void ask_text(const struct cell *cell, char *text, size_t size);

/* Reads a cell as a number; what is none is 0. */
int64_t ask_number(const struct cell *cell);

/* An answer.take: leaves the number of the first cell in *context, an int64_t. */
bool ask_take_number(void *context, const struct cell *cells, size_t count);

/* The words of a connection; those of SQL where it has no others. */
const struct words *ask_words(const struct connection_info *connection);

/* Writes one of them about a table; `columns` is needed for $1 to $3, `tag` for $4; $5 is the name
 * as a text, for which it must have neither quotes nor backslashes. */
void ask_write(struct buffer *sql, const char *words, const struct connection_info *connection,
               const char *table_name, const struct table *columns, int tag);

/* Writes a CREATE TABLE with the engine that is asked for in place of its own, if it has one;
 * `clause` is adapter.engine_clause. Either may be NULL: as it is. */
void ask_write_engine(struct buffer *sql, const char *create, const char *clause,
                      const char *engine);

/* Writes `"table" ("a", "b")`, a table with its columns that are written; returns how many. */
size_t ask_write_target(struct buffer *sql, const struct table *table, char quote);

/* Writes an INSERT of so many rows, whose values are ?. */
void ask_write_insert(struct buffer *sql, const struct table *table, char quote, size_t rows);

/* Runs a count of rows. A result without a number: REJECTED. */
enum status ask_count(const struct adapter *adapter, struct adapter_conn *conn,
                      const struct statement *count, uint64_t *rows, struct error *error);

/* Counts the rows of a table once. */
enum status ask_count_table(const struct adapter *adapter, struct adapter_conn *conn,
                            const struct connection_info *connection, const char *table_name,
                            uint64_t *rows, struct error *error);

/* Drops a table. */
enum status ask_drop_table(const struct adapter *adapter, struct adapter_conn *conn,
                           const struct connection_info *connection, const char *table_name,
                           struct error *error);

/* Runs the statement in *sql, without an answer, and frees it. */
enum status ask_execute(const struct adapter *adapter, struct adapter_conn *conn,
                        struct buffer *sql, struct error *error);

/* How a count waits until the server shows what it has acknowledged. */
#define ASK_UNREAD_NS (60 * MONO_NS_PER_S)
struct ask_wait {
    const char *unread;               /* of struct words */
    int64_t limit_ns;                 /* then it is counted as it is */
    void (*on_answer)(void *context); /* may be NULL: it goes on */
    void *context;
};

/* ask_count, beside the sessions: behind such a wait, unless the program is to end. */
enum status ask_count_shown(const struct adapter *adapter, struct adapter_conn *conn,
                            const struct statement *count, const struct ask_wait *wait,
                            uint64_t *rows, struct error *error);

enum {
    ASK_NUMBERS_MAX = 4
};

/* What takes the rows of a query of numbers. */
struct ask_numbers {
    size_t columns;                                     /* 1 … ASK_NUMBERS_MAX */
    bool (*take)(void *context, const int64_t *values); /* false = enough */
    void *context;
};

/* Runs one query whose columns are whole numbers, and hands each row to take, row by row as they
 * come. A value that is NULL or no number, or another number of columns: REJECTED. */
enum status ask_numbers(const struct adapter *adapter, struct adapter_conn *conn, const char *sql,
                        const struct ask_numbers *numbers, struct error *error);

/* Whether the storage engine of the table cannot undo: see struct server_facts. */
bool ask_keeps_failed_rows(const struct server_facts *facts, const struct table *table);

#endif
