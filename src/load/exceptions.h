/*
 * The rows of one session that were begun and not all acknowledged, in the order of their numbers.
 * Belongs to the session's thread; holds no memory while there are none.
 */
#ifndef LOAD_EXCEPTIONS_H
#define LOAD_EXCEPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "measure/session_summary.h"

/* Zeroed at first. */
struct exceptions {
    struct row_exception *list;
    size_t count;
    size_t capacity;
    bool is_short; /* memory ran out: one is missing */
};

/* `exception` begins behind all others. Rows that follow those of the last one, with nothing
 * acknowledged in either, make that one longer. */
void exceptions_add(struct exceptions *exceptions, const struct row_exception *exception);

/* The list goes to the caller, who frees it. */
void exceptions_hand_over(struct exceptions *exceptions, struct session_summary *summary);

#endif
