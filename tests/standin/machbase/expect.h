/*
 * Holds every row that arrives against the one that append's generator makes for it: all columns
 * of syslog_table, by session (n2) and row number (n3). A value that the client put in a wrong
 * place or cut or rounded is found, whatever the number of rows. Any thread.
 */
#ifndef MACHBASE_STANDIN_EXPECT_H
#define MACHBASE_STANDIN_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "store.h"

struct expect;

/* For rows of a run with this --seed and number of sessions, --data varied. NULL = no memory. */
struct expect *expect_create(uint64_t seed, unsigned sessions);
void expect_destroy(struct expect *expect);

/* Looks at one row of a table; tables without n2 int and n3 long are left alone. */
void expect_row(struct expect *expect, const struct store_table *table,
                const struct row_value *values);

/* Adds lines name=value: rows (looked at), distinct (rows of the run, each counted once),
 * duplicates, foreign (n2 or n3 is not of this run), wrong (rows with a value that differs), for
 * each column wrong.NAME, and first: what was wrong first. */
void expect_report(struct expect *expect, struct buffer *text);

#endif
