/* SQL of the user's, split into statements: many drivers take one at a time, and some ignore the
 * rest without a word. */
#ifndef BASE_SQL_SCRIPT_H
#define BASE_SQL_SCRIPT_H

#include <stdbool.h>

#include "base/buffer.h"

enum sql_script_kind {
    SQL_SCRIPT_OTHER,
    SQL_SCRIPT_BEGIN,
    SQL_SCRIPT_COMMIT,
    SQL_SCRIPT_ROLLBACK, /* of all, not to a savepoint */
};

struct sql_script {
    const char *rest;
    struct buffer statement; /* the current one, without its semicolon */
    enum sql_script_kind kind;
};

void sql_script_init(struct sql_script *script, const char *sql);
void sql_script_fini(struct sql_script *script);

/* The first ? outside quotes and comments, or the end of the text. */
const char *sql_script_find_parameter(const char *sql);

/* Goes to the next statement that is not empty; false at the end. */
bool sql_script_next(struct sql_script *script);

#endif
