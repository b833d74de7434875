/* ClickHouse's values, as they are written for it. */
#ifndef ADAPTERS_CLICKHOUSE_H
#define ADAPTERS_CLICKHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/row.h"
#include "base/text.h"

/* How an append is sent. */
enum clickhouse_method {
    CLICKHOUSE_ROWBINARY,
    CLICKHOUSE_TSV,
    CLICKHOUSE_JSON,
};

/* Adds the rows of a batch. Not NULL: this column cannot hold its value, and what was added is of
 * no use. */
const struct column *clickhouse_add_rows(struct buffer *out, const struct batch *batch,
                                         enum clickhouse_method method);

/* Adds the one value of a column as it stands in SQL, in an INSERT or elsewhere. */
void clickhouse_add_literal(struct buffer *sql, const struct column *column,
                            const struct column_data *data, bool is_inserted);

/* In the text of an error, before its words. */
#define CLICKHOUSE_EXCEPTION "DB::Exception: "

/* An answer that is being read, in TabSeparated. The cells are for the caller to free. */
struct clickhouse_reading {
    struct answer *answer;
    struct cell *cells;
    size_t room;
    bool has_failed;                      /* no memory */
    char exception[2 * ERROR_TEXT_BYTES]; /* "": none came */
};

/* As http_request.take, for one of these: hands a row to the answer. */
bool clickhouse_take_line(void *reading, char *line, size_t length);

/* Rows in the text of an INSERT ... VALUES; 0: it is another statement. */
uint64_t clickhouse_count_values(const char *sql);

#endif
