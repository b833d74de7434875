/*
 * What the user says of single columns: --skip-columns a,b and --values 'a=1..9, b=ok|failed'.
 *
 * Both are lists whose items stand between commas; blanks around an item, and around the name and
 * the values in it, do not count. Everything found is a piece of the list, not a copy.
 */
#ifndef PLAN_COLUMNS_H
#define PLAN_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/row.h"
#include "base/process.h"

struct column_item {
    struct text_value name;
    struct text_value values; /* what stands behind '='; length 0: nothing does */
};

/* Takes the next item off *list; false at its end. NULL is an empty list. */
bool column_item_next(const char **list, struct column_item *item);

/* Checks the form of a list of --option; with_values: every item has some. EXIT_CODE_USAGE: *error
 * says which item is wrong, and what would be right. */
enum exit_code column_items_check(const char *option, const char *list, bool with_values,
                                  struct error *error);

/* The column that the item names: exactly, or else whatever the case; NULL: none. */
const struct column *column_item_find(const struct column_item *item, const struct table *table);

/* The item of `list` that names `column`, one of `table`; false: none does. */
bool column_item_of(const char *list, const struct table *table, const struct column *column,
                    struct column_item *item);

/* True when the values are a range of whole numbers, FROM..TO. */
bool column_item_range(const struct column_item *item, int64_t *from, int64_t *to);

/* Takes the next of the words between '|' off *values; false when none is left. */
bool column_word_next(struct text_value *values, struct text_value *word);

#endif
