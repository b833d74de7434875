#include "load/exceptions.h"

#include <stdlib.h>

static bool extend_last(struct exceptions *exceptions, const struct row_exception *exception)
{
    if (exceptions->count == 0 || exception->accepted > 0) {
        return false;
    }
    struct row_exception *last = &exceptions->list[exceptions->count - 1];
    if (last->accepted > 0 || last->is_in_doubt != exception->is_in_doubt ||
        last->first + last->rows != exception->first) {
        return false;
    }
    last->rows += exception->rows;
    return true;
}

static bool has_room(struct exceptions *exceptions)
{
    if (exceptions->count < exceptions->capacity) {
        return true;
    }
    const size_t capacity = exceptions->capacity == 0 ? 2 : 2 * exceptions->capacity;
    struct row_exception *list = realloc(exceptions->list, capacity * sizeof *list);
    if (list == NULL) {
        return false;
    }
    exceptions->list = list;
    exceptions->capacity = capacity;
    return true;
}

void exceptions_add(struct exceptions *exceptions, const struct row_exception *exception)
{
    if (exception->rows == 0 || extend_last(exceptions, exception)) {
        return;
    }
    if (!has_room(exceptions)) {
        exceptions->is_short = true;
        return;
    }
    exceptions->list[exceptions->count++] = *exception;
}

void exceptions_hand_over(struct exceptions *exceptions, struct session_summary *summary)
{
    summary->exceptions = exceptions->list;
    summary->exception_count = exceptions->count;
    summary->lacks_exceptions = exceptions->is_short;
    *exceptions = (struct exceptions){0};
}
