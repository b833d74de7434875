/* SQL of the user's, split into statements: many drivers take one at a time, and some ignore the
 * rest without a word. */
#ifndef ADAPTERS_ODBC_SCRIPT_H
#define ADAPTERS_ODBC_SCRIPT_H

#include <stdbool.h>

#include "base/buffer.h"

enum odbc_script_kind {
    ODBC_SCRIPT_OTHER,
    ODBC_SCRIPT_BEGIN,
    ODBC_SCRIPT_COMMIT,
    ODBC_SCRIPT_ROLLBACK, /* of all, not to a savepoint */
};

struct odbc_script {
    const char *rest;
    struct buffer statement; /* the current one, without its semicolon */
    enum odbc_script_kind kind;
};

void odbc_script_init(struct odbc_script *script, const char *sql);
void odbc_script_fini(struct odbc_script *script);

/* Goes to the next statement that is not empty; false at the end. */
bool odbc_script_next(struct odbc_script *script);

#endif
