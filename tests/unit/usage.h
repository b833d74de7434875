/* A check of errors that report a mistake of the user. */
#ifndef UNIT_USAGE_H
#define UNIT_USAGE_H

#include "append/error.h"
#include "unit/unit.h"

/* Fails unless the error reports a mistake of the user. Such an error has no code of a database. */
static inline void assert_usage(const struct error *error)
{
    assert_int_equal(error->kind, ERROR_USAGE);
    assert_int_equal(error->native_code, 0);
    assert_string_equal(error->sqlstate, "");
}

#endif
