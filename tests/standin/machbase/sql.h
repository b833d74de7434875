/*
 * The little SQL that the stand-in takes. Names are without regard to case, as in Machbase.
 *
 *     create [tag | log | volatile | lookup] table T (column type [(size)] [words …], …) [words …]
 *     drop table T
 *     select [distinct] items from T [where condition [and condition] …] [limit N]
 *
 * items: *, or columns, numbers, texts, count(*), coalesce(column, number), nvl(column, number).
 * condition: column = | <> | < | <= | > | >= number or text, column is [not] null.
 * What a real Machbase makes of each is not known here; nothing else is taken.
 */
#ifndef MACHBASE_STANDIN_SQL_H
#define MACHBASE_STANDIN_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "row.h"

enum {
    SQL_ITEMS_MAX = 64,
    SQL_CONDITIONS_MAX = 8,
    SQL_TEXT_BYTES = 512,
};

enum sql_kind {
    SQL_CREATE,
    SQL_DROP,
    SQL_SELECT,
};

enum sql_item_kind {
    SQL_COLUMN,
    SQL_COUNT,
    SQL_NUMBER,
    SQL_TEXT,
};

enum sql_comparison {
    SQL_EQUAL,
    SQL_UNEQUAL,
    SQL_LESS,
    SQL_LESS_EQUAL,
    SQL_MORE,
    SQL_MORE_EQUAL,
    SQL_IS_NULL,
    SQL_IS_NOT_NULL,
};

/* A column, or a constant. */
struct sql_item {
    enum sql_item_kind kind;
    char text[SQL_TEXT_BYTES]; /* the column's name in upper case, or the text */
    int64_t number;            /* the number, or what stands in for NULL */
    bool has_default;
};

struct sql_condition {
    char column[ROW_COLUMN_NAME_BYTES];
    enum sql_comparison comparison;
    struct sql_item operand;
};

struct sql_statement {
    enum sql_kind kind;
    char table[ROW_COLUMN_NAME_BYTES]; /* upper case */

    /* create table; the arrival time is not among them */
    struct row_column *columns; /* owned: sql_fini */
    size_t column_count;

    /* select */
    bool is_distinct;
    bool is_star;
    struct sql_item items[SQL_ITEMS_MAX];
    size_t item_count;
    struct sql_condition conditions[SQL_CONDITIONS_MAX];
    size_t condition_count;
    uint64_t limit; /* UINT64_MAX = none */
};

/* Takes a statement apart. On false `near` is where it was not understood, "" at its end. */
bool sql_parse(struct sql_statement *statement, const char *sql, const char **near);
void sql_fini(struct sql_statement *statement);

#endif
