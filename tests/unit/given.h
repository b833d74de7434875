/* Fixed answers to SQL statements, which replace a server in tests of append's queries. */
#ifndef UNIT_GIVEN_H
#define UNIT_GIVEN_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "append/adapter.h"

enum {
    GIVEN_ROWS_MAX = 8
};

/* The answer to a statement. The cells of a row are divided by '|'. A cell is a number or a text;
 * "-" is NULL, "own" is the id of the thread that asks, "asleep" is the value of given_asleep. */
struct given {
    const char *sql; /* NULL ends a list */
    enum status status;
    const char *sqlstate;
    const char *rows[GIVEN_ROWS_MAX];
};

static atomic_int given_asleep;

/* Returns the answer to `sql`, or NULL if the list lacks the statement. */
static inline const struct given *given_find(const struct given *list, const char *sql)
{
    while (list->sql != NULL && strcmp(list->sql, sql) != 0) {
        list++;
    }
    return list->sql == NULL ? NULL : list;
}

/* Passes one row to answer->take and returns the result of that call; true if `take` is NULL. */
static inline bool given_pass(const char *row, struct answer *answer)
{
    char text[300], *rest = text;
    struct cell cells[8];
    size_t count = 0;
    snprintf(text, sizeof text, "%s", row);
    for (char *word = strsep(&rest, "|"); word != NULL; word = strsep(&rest, "|")) {
        char *end;
        struct cell *cell = &cells[count++];
        *cell = (struct cell){.type = COLUMN_INT64, .as.int64 = strtoll(word, &end, 10)};
        if (strcmp(word, "own") == 0) {
            cell->as.int64 = gettid();
        } else if (strcmp(word, "asleep") == 0) {
            cell->as.int64 = atomic_load(&given_asleep);
        } else if (strcmp(word, "-") == 0) {
            cell->is_null = true;
        } else if (*end != '\0' || word[0] == '\0') {
            *cell = (struct cell){.type = COLUMN_TEXT, .as.text = {word, (uint32_t)strlen(word)}};
        }
    }
    answer->rows++;
    return answer->take == NULL || answer->take(answer->context, cells, count);
}

/* Answers a statement from a list. A statement that the list lacks is refused. */
static inline enum status given_answer(const struct given *list, const char *sql,
                                       struct answer *answer, struct error *error)
{
    const struct given *found = given_find(list, sql);
    if (found == NULL || found->status != STATUS_OK) {
        error_set(error, ERROR_SERVER, 0, found == NULL ? NULL : found->sqlstate, "no %s", sql);
        return found == NULL ? STATUS_REJECTED : found->status;
    }
    for (size_t i = 0; i < GIVEN_ROWS_MAX && found->rows[i] != NULL; i++) {
        if (!given_pass(found->rows[i], answer)) {
            break;
        }
    }
    return STATUS_OK;
}

#endif
