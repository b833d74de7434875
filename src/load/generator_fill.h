/*
 * How one column is filled: the kinds of values and the loop of each.
 *
 * Private to the generator. A column is filled for all rows of a batch at a time.
 */
#ifndef LOAD_GENERATOR_FILL_H
#define LOAD_GENERATOR_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/row.h"
#include "load/generator_text.h"
#include "plan/columns.h"

/* The rows of one batch. With constant data `step` is 0: every row is the first one. */
struct fill_rows {
    const struct text_source *text;
    uint64_t first_row;
    uint64_t step;
    size_t count;
    uint64_t session;
    uint64_t sessions; /* of the run: row r of session s has number r × sessions + s in it */
    uint64_t run_hash;
    int16_t run_tag;
};

struct fill_column {
    void (*fill)(const struct fill_column *column, const struct fill_rows *rows, void *values,
                 char *text);
    uint64_t key;         /* differs for each column and seed */
    uint64_t limit;       /* decimals: values stay below it; text: longest value */
    bool is_identity;     /* tells rows apart: differs in constant data, too */
    size_t value_bytes;   /* of one entry of the value array */
    size_t text_bytes;    /* memory for the text of one row; 0 = none */
    size_t values_offset; /* in a row buffer */
    size_t text_offset;

    /* of --values */
    bool is_in_turn;       /* the rows take them one after the other, so that they differ */
    uint64_t choice_count; /* 0 = 2^64 */
    int64_t from;          /* of a range of numbers */
    int64_t unit;          /* that a decimal column makes of 1 */
    void *choices;         /* words, as the value array holds them; owned */
};

/* Picks the kind for a column by its type; `identity`: 1, 2 or 3 when it is n1, n2 or n3 of a table
 * shaped like syslog_table, else 0. REJECTED: no values of that type can be made. */
enum status fill_column_choose(struct fill_column *fill, const struct column *column,
                               unsigned identity);

/* The same for a column whose values the user has said, in `item`, whose text is borrowed and
 * outlives the generator. REJECTED: *error says which value the column cannot hold. */
enum status fill_column_choose_values(struct fill_column *fill, const struct column *column,
                                      const struct column_item *item, struct error *error);

/* Frees what the column owns. */
void fill_column_fini(struct fill_column *fill);

#endif
