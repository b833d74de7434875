/* Functions that write values for ClickHouse and read its answers. */
#ifndef ADAPTERS_CLICKHOUSE_H
#define ADAPTERS_CLICKHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/row.h"
#include "base/text.h"

/* The format of an append. */
enum clickhouse_method {
    CLICKHOUSE_ROWBINARY,
    CLICKHOUSE_TSV,
    CLICKHOUSE_JSON,
};

/* Adds the rows of a batch to `out`. Returns NULL on success. If a column cannot hold one of its
 * values, returns this column, and `out` is incomplete. */
const struct column *clickhouse_add_rows(struct buffer *out, const struct batch *batch,
                                         enum clickhouse_method method);

/* Adds the first value of a column as a SQL literal. `is_inserted` is true if the literal is in an
 * INSERT. */
void clickhouse_add_literal(struct buffer *sql, const struct column *column,
                            const struct column_data *data, bool is_inserted);

/* The text that precedes the message in a server's error. */
#define CLICKHOUSE_EXCEPTION "DB::Exception: "

/* State of reading an answer in TabSeparated. The caller frees `cells`. */
struct clickhouse_reading {
    struct answer *answer;
    struct cell *cells;
    size_t room;
    bool has_failed;                      /* memory has run out */
    char exception[2 * ERROR_TEXT_BYTES]; /* error text that the answer contains; "": no error */
};

/* Implements http_request.take for a struct clickhouse_reading: passes a row to the answer. */
bool clickhouse_take_line(void *reading, char *line, size_t length);

/* Counts the rows in the text of an INSERT ... VALUES; returns 0 for any other statement. */
uint64_t clickhouse_count_values(const char *sql);

#endif
