#include "base/sql_script.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    WORD_BYTES = 16
};

/* Semicolons within the body of a routine or a trigger do not end its CREATE statement. */
struct body {
    unsigned words;  /* of the statement so far */
    bool is_create;  /* the first was CREATE */
    bool is_routine; /* and one of the next ones names something that has a body */
    unsigned depth;  /* of BEGIN or CASE without their END */
    bool is_end;     /* the last word was END */
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool equals(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && strncasecmp(word, wanted, length) == 0;
}

static const char *skip_quoted(const char *at)
{
    const char quote = *at++;
    while (*at != '\0' && *at != quote) {
        at++;
    }
    return *at == '\0' ? at : at + 1; /* a doubled quote begins the next one */
}

/* PostgreSQL's $tag$ ... $tag$. */
static const char *skip_dollars(const char *at)
{
    const char *end = at + 1;
    while (is_word(*end)) {
        end++;
    }
    if (*end != '$') {
        return at + 1;
    }
    const size_t length = (size_t)(end + 1 - at);
    for (const char *close = strchr(end + 1, '$'); close != NULL; close = strchr(close + 1, '$')) {
        if (strncmp(close, at, length) == 0) {
            return close + length;
        }
    }
    return at + strlen(at);
}

static const char *skip_comment(const char *at)
{
    if (at[0] == '-') {
        return at + strcspn(at, "\n");
    }
    const char *end = strstr(at + 2, "*/");
    return end != NULL ? end + 2 : at + strlen(at);
}

static void note_word(struct body *body, const char *word, size_t length)
{
    static const char *const routines[] = {"trigger", "function", "procedure", "event"};
    const bool was_end = body->is_end;

    body->words++;
    body->is_end = false;
    if (body->words == 1) {
        body->is_create = equals(word, length, "create");
    }
    for (size_t i = 0; i < 4 && body->is_create && body->words < 8; i++) {
        body->is_routine = body->is_routine || equals(word, length, routines[i]);
    }
    if (!body->is_routine) {
        return;
    }
    /* END IF and its like end what was not counted: they were taken for another's END. */
    const bool is_other_end =
        was_end && (equals(word, length, "if") || equals(word, length, "loop") ||
                    equals(word, length, "while") || equals(word, length, "repeat"));
    body->is_end = equals(word, length, "end");
    if (is_other_end ||
        (!was_end && (equals(word, length, "begin") || equals(word, length, "case")))) {
        body->depth++;
    }
    if (body->is_end && body->depth > 0) {
        body->depth--;
    }
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
    if (*at == '\'' || *at == '"' || *at == '`') {
        return skip_quoted(at);
    }
    if ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*')) {
        return skip_comment(at);
    }
    return *at == '$' ? skip_dollars(at) : at + 1;
}

const char *sql_script_find_parameter(const char *sql)
{
    while (*sql != '\0' && *sql != '?') {
        sql = skip_token(sql);
    }
    return sql;
}

/* The end of the statement that begins at `at`: its semicolon or the end of the text. */
static const char *find_end(const char *at)
{
    struct body body = {0};
    while (*at != '\0' && (*at != ';' || body.depth > 0)) {
        const char *behind = skip_token(at);
        if (is_word(*at)) {
            note_word(&body, at, (size_t)(behind - at));
        }
        at = behind;
    }
    return at;
}

static const char *skip_blanks(const char *at)
{
    for (;;) {
        if ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*')) {
            at = skip_comment(at);
        } else if (isspace((unsigned char)*at) || *at == ';') {
            at++;
        } else {
            return at;
        }
    }
}

/* Lower-cases the first words, of which at most three tell what the statement is. */
static size_t read_words(const char *at, const char *end, char words[3][WORD_BYTES])
{
    size_t count = 0;
    memset(words, 0, (size_t)3 * WORD_BYTES);
    while (count < 3 && at < end && is_word(*at)) {
        for (size_t i = 0; at < end && is_word(*at); at++) {
            if (i + 1 < WORD_BYTES) {
                words[count][i++] = (char)tolower((unsigned char)*at);
            }
        }
        count++;
        while (at < end && isspace((unsigned char)*at)) {
            at++;
        }
    }
    return count;
}

static enum sql_script_kind kind_of(const char *at, const char *end)
{
    char words[3][WORD_BYTES];
    const size_t count = read_words(at, end, words);

    if (count > 0 && strcmp(words[0], "begin") == 0) {
        return SQL_SCRIPT_BEGIN;
    }
    if (count > 1 && strcmp(words[0], "start") == 0 && strcmp(words[1], "transaction") == 0) {
        return SQL_SCRIPT_BEGIN;
    }
    if (count > 0 && (strcmp(words[0], "commit") == 0 || strcmp(words[0], "end") == 0)) {
        return SQL_SCRIPT_COMMIT;
    }
    if (count > 0 && strcmp(words[0], "rollback") == 0 && strcmp(words[1], "to") != 0 &&
        strcmp(words[2], "to") != 0) {
        return SQL_SCRIPT_ROLLBACK;
    }
    return SQL_SCRIPT_OTHER;
}

void sql_script_init(struct sql_script *script, const char *sql)
{
    script->rest = sql;
    script->kind = SQL_SCRIPT_OTHER;
    buffer_init(&script->statement);
}

void sql_script_fini(struct sql_script *script)
{
    buffer_fini(&script->statement);
}

bool sql_script_next(struct sql_script *script)
{
    const char *start = skip_blanks(script->rest);
    if (*start == '\0') {
        return false;
    }
    const char *end = find_end(start);
    buffer_clear(&script->statement);
    buffer_add(&script->statement, start, (size_t)(end - start));
    script->kind = kind_of(start, end);
    script->rest = end;
    return true;
}
