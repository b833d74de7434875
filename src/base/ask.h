/* Queries that this program runs for itself, such as the count of a table's rows, and functions
 * that read the answers. The queries work with every adapter. */
#ifndef BASE_ASK_H
#define BASE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/sql.h"
#include "base/mono.h"
#include "base/text.h"

/* Runs one statement and passes its rows to *answer. `text` is the value for the ? of the
 * statement, or NULL if the statement has no ?. */
enum status ask_rows(const struct adapter *adapter, struct adapter_conn *conn, const char *sql,
                     const char *text, struct answer *answer, struct error *error);

/* Writes a cell as a string to `text`, cut to `size` bytes including the NUL. A cell without a
 * value becomes "". */
void ask_text(const struct cell *cell, char *text, size_t size);

/* Returns the number in a cell; 0 when the cell is NULL or not a whole number. */
int64_t ask_number(const struct cell *cell);

/* For use as answer.take: writes the number from the first cell to *context, an int64_t. */
bool ask_take_number(void *context, const struct cell *cells, size_t count);

/* Returns connection->templates or, if connection->templates is NULL, templates in standard SQL. */
const struct sql_templates *ask_templates(const struct connection_info *connection);

/* Appends `sql_template` to `sql`, with the placeholders of struct sql_templates replaced.
 * `columns` is used for $1 to $3, and `tag` for $4. $5 becomes the table's name as a quoted text;
 * the name must not contain quotes or backslashes. */
void ask_write(struct buffer *sql, const char *sql_template,
               const struct connection_info *connection, const char *table_name,
               const struct table *columns, int tag);

/* Appends the CREATE TABLE statement `create` to `sql`, with `engine` in place of the storage
 * engine that the statement names. `clause` is adapter.engine_clause. When `clause` or `engine` is
 * NULL, the statement is appended unchanged. */
void ask_write_engine(struct buffer *sql, const char *create, const char *clause,
                      const char *engine);

/* Appends `"table" ("a", "b")`: the table's name and the names of its columns, except generated
 * columns. Returns the number of columns written. */
size_t ask_write_target(struct buffer *sql, const struct table *table, char quote);

/* Appends an INSERT of `rows` rows with a ? for each value. */
void ask_write_insert(struct buffer *sql, const struct table *table, char quote, size_t rows);

/* Runs the statement *count and stores the number from the answer in *rows. Returns REJECTED also
 * when the answer is not a single number. */
enum status ask_count(const struct adapter *adapter, struct adapter_conn *conn,
                      const struct statement *count, uint64_t *rows, struct error *error);

/* Writes to *sql, which must be empty, the text of a statement that counts the rows of a table.
 * Returns the statement, whose text belongs to *sql. The statement is prepared unless the
 * connection goes through a pooler. */
struct statement ask_write_count(struct buffer *sql, const struct connection_info *connection,
                                 const char *table_name);

/* Counts the rows of a table, without waiting for acknowledged rows to become visible. */
enum status ask_count_table(const struct adapter *adapter, struct adapter_conn *conn,
                            const struct connection_info *connection, const char *table_name,
                            uint64_t *rows, struct error *error);

enum status ask_drop_table(const struct adapter *adapter, struct adapter_conn *conn,
                           const struct connection_info *connection, const char *table_name,
                           struct error *error);

/* Runs the statement in *sql without reading an answer, and frees *sql. */
enum status ask_execute(const struct adapter *adapter, struct adapter_conn *conn,
                        struct buffer *sql, struct error *error);

/* How ask_count_shown waits until the server shows all acknowledged rows. */
#define ASK_UNREAD_NS (60 * MONO_NS_PER_S)
struct ask_wait {
    const char *unread;               /* sql_templates.unread; NULL = do not wait */
    int64_t limit_ns;                 /* maximum wait; the rows are then counted anyway */
    void (*on_answer)(void *context); /* called after each query during the wait; may be NULL */
    void *context;
};

/* Waits as *wait says, then calls ask_count. An interrupt ends the wait. */
enum status ask_count_shown(const struct adapter *adapter, struct adapter_conn *conn,
                            const struct statement *count, const struct ask_wait *wait,
                            uint64_t *rows, struct error *error);

enum {
    ASK_NUMBERS_MAX = 4
};

/* A receiver for the rows of a query whose columns are whole numbers. */
struct ask_numbers {
    size_t columns; /* number of columns: 1 … ASK_NUMBERS_MAX */
    /* takes a row; returns false to skip all further rows */
    bool (*take)(void *context, const int64_t *values);
    void *context;
};

/* Runs a query with columns of whole numbers and passes each row to `take` as it arrives. Returns
 * REJECTED also when a value is NULL or not a whole number, or when the number of columns is not
 * numbers->columns. */
enum status ask_numbers(const struct adapter *adapter, struct adapter_conn *conn, const char *sql,
                        const struct ask_numbers *numbers, struct error *error);

/* Returns whether the table's storage engine cannot roll back (facts->lasting_engines). Such an
 * engine keeps the rows of failed statements. */
bool ask_keeps_failed_rows(const struct server_facts *facts, const struct table *table);

#endif
