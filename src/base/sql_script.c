#include "base/sql_script.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the word from `at` is one of the list, each of which ends with a blank. */
static bool is_in(const char *list, const char *at)
{
    size_t length = 0;
    while (is_word(at[length]) || (length > 0 && at[length] == '$')) {
        length++;
    }
    for (; length > 0 && *list != '\0'; list = strchr(list, ' ') + 1) {
        if (strncasecmp(list, at, length) == 0 && list[length] == ' ') {
            return true;
        }
    }
    return false;
}

static bool is_comment(const char *at)
{
    return (at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*');
}

static const char *behind(const char *at, size_t length, const char *from)
{
    return at != NULL ? at + length : from + strlen(from);
}

/* Skips a word, a quoted text, a comment or, where there is none, one character. */
static const char *skip_token(const char *at)
{
    const char *end = at;
    while (is_word(*end) || (end > at && *end == '$')) {
        end++;
    }
    if (end > at) {
        return end;
    }
    if (is_comment(at)) {
        return *at == '-' ? at + strcspn(at, "\n") : behind(strstr(at + 2, "*/"), 2, at);
    }
    if (*at == '\'' || *at == '"' || *at == '`') {
        return behind(strchr(at + 1, *at), 1, at); /* a doubled quote begins the next one */
    }
    if (*at != '$') {
        return at + 1;
    }
    /* PostgreSQL's $tag$ ... $tag$ */
    do {
        end++;
    } while (is_word(*end));
    const size_t length = (size_t)(end + 1 - at);
    const char *close = *end == '$' ? strchr(end + 1, '$') : NULL;
    while (close != NULL && strncmp(close, at, length) != 0) {
        close = strchr(close + 1, '$');
    }
    return *end == '$' ? behind(close, length, at) : at + 1;
}

const char *sql_script_find_parameter(const char *sql)
{
    while (*sql != '\0' && *sql != '?') {
        sql = skip_token(sql);
    }
    return sql;
}

/* The end of the statement that begins at `at`: its semicolon or the end of the text. Those within
 * the body of a routine or a trigger do not end its CREATE statement. */
static const char *find_end(const char *at)
{
    unsigned words = 0;
    unsigned depth = 0; /* of BEGIN or CASE without their END */
    bool is_create = false, is_routine = false, was_end = false;
    for (; *at != '\0' && (*at != ';' || depth > 0); at = skip_token(at)) {
        if (!is_word(*at)) {
            continue;
        }
        words++;
        is_create = words == 1 ? is_in("create ", at) : is_create;
        is_routine = is_routine ||
                     (is_create && words < 8 && is_in("trigger function procedure event ", at));
        if (!is_routine) {
            continue;
        }
        /* END IF and its like end what was not counted: they were taken for another's END */
        const bool is_end = is_in("end ", at);
        depth += is_in(was_end ? "if loop while repeat " : "begin case ", at) ? 1 : 0;
        depth -= is_end && depth > 0 ? 1 : 0;
        was_end = is_end;
    }
    return at;
}

static enum sql_script_kind kind_of(const char *at)
{
    const char *words[3] = {at, "", ""};
    for (size_t i = 1; i < 3; i++) {
        const char *next = words[i - 1];
        while (is_word(*next)) {
            next++;
        }
        words[i] = next + strspn(next, " \t\n\v\f\r");
    }
    if (is_in("begin ", at) || (is_in("start ", at) && is_in("transaction ", words[1]))) {
        return SQL_SCRIPT_BEGIN;
    }
    if (is_in("commit end ", at)) {
        return SQL_SCRIPT_COMMIT;
    }
    return is_in("rollback ", at) && !is_in("to ", words[1]) && !is_in("to ", words[2])
               ? SQL_SCRIPT_ROLLBACK
               : SQL_SCRIPT_OTHER;
}

void sql_script_init(struct sql_script *script, const char *sql)
{
    *script = (struct sql_script){.rest = sql};
}

void sql_script_fini(struct sql_script *script)
{
    buffer_fini(&script->statement);
}

bool sql_script_next(struct sql_script *script)
{
    const char *start = script->rest;
    while (is_comment(start) || isspace((unsigned char)*start) || *start == ';') {
        start = skip_token(start);
    }
    if (*start == '\0') {
        return false;
    }
    script->rest = find_end(start);
    buffer_clear(&script->statement);
    buffer_add(&script->statement, start, (size_t)(script->rest - start));
    script->kind = kind_of(start);
    return true;
}
