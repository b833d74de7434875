/* SQL of users, split into statements, and the parameters in it: for adapters whose databases take
 * one statement at a time, or none with ?. */
#ifndef APPEND_SQL_H
#define APPEND_SQL_H

#include <stdbool.h>
#include <stddef.h>

#include "append/api.h"
#include "append/buffer.h"

enum sql_script_kind {
    SQL_SCRIPT_OTHER,
    SQL_SCRIPT_BEGIN,
    SQL_SCRIPT_COMMIT,
    SQL_SCRIPT_ROLLBACK, /* of the whole transaction, not to a savepoint */
};

/* What a dialect has beyond 'it''s', E'it\'s', $$it's$$ and the comments of SQL; or-ed. */
enum sql_lexis {
    SQL_BACKSLASHES = 1, /* a backslash keeps the next quote within its text: 'it\'s' */
    SQL_HASHES = 2,      /* # begins a comment */
};

/* Returns the enum sql_lexis flags of a dialect by its name ("mariadb"); 0 for an unknown one. */
unsigned sql_lexis_of(const char *dialect) APPEND_API(sql_lexis_of);

/* SQL of the user's, split into statements: many drivers take one at a time, and some ignore the
 * rest without a word. Begins as {.rest = sql, .lexis = …}. */
struct sql_script {
    const char *rest;
    unsigned lexis;
    struct buffer statement; /* the current one, without its semicolon; the caller's to end */
    enum sql_script_kind kind;
};

/* The first ? outside quotes and comments, or the end of the text. */
const char *sql_script_find_parameter(const char *sql, unsigned lexis)
    APPEND_API(sql_script_find_parameter);

/* How many ? there are outside quotes and comments. */
size_t sql_script_count_parameters(const char *sql, unsigned lexis)
    APPEND_API(sql_script_count_parameters);

/* Goes to the next statement that is not empty; false at the end. */
bool sql_script_next(struct sql_script *script) APPEND_API(sql_script_next);

#endif
