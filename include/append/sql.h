/* Splits users' SQL into statements and finds their parameters. Used by adapters whose databases
 * accept only one statement at a time or do not know the placeholder ?. */
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
    SQL_SCRIPT_ROLLBACK, /* a rollback that ends the transaction; a rollback to a savepoint is
                            SQL_SCRIPT_OTHER */
};

/* Flags that can be or-ed. Each flag is syntax that a dialect has in addition to 'it''s', E'it\'s',
 * $$it's$$ and the comments of standard SQL. */
enum sql_lexis {
    SQL_BACKSLASHES = 1, /* a backslash escapes a quote within a text: 'it\'s' */
    SQL_HASHES = 2,      /* # begins a comment */
};

/* Returns the enum sql_lexis flags of the dialect with this name ("mariadb"); 0 if the dialect is
 * unknown. */
unsigned sql_lexis_of(const char *dialect) APPEND_API(sql_lexis_of);

/* A user's SQL text and the statement that was read last. The text is split into statements because
 * many drivers accept only one statement at a time, and some silently ignore the others. Initialise
 * the struct as {.rest = sql, .lexis = …}. */
struct sql_script {
    const char *rest;
    unsigned lexis;
    struct buffer statement; /* the current statement without its semicolon; the caller frees it */
    enum sql_script_kind kind;
};

/* Returns the first ? outside quotes and comments, or the end of the text. */
const char *sql_script_find_parameter(const char *sql, unsigned lexis)
    APPEND_API(sql_script_find_parameter);

/* Counts the ? outside quotes and comments. */
size_t sql_script_count_parameters(const char *sql, unsigned lexis)
    APPEND_API(sql_script_count_parameters);

/* Advances to the next non-empty statement. Returns false at the end of the text. */
bool sql_script_next(struct sql_script *script) APPEND_API(sql_script_next);

#endif
