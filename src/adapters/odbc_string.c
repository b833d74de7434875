/* Connection strings. */
#include "adapters/odbc.h"

#include <string.h>
#include <strings.h>

struct pair {
    const char *start; /* of the key */
    size_t key_length;
    const char *value; /* with its braces */
    size_t value_length;
};

static const char *const user_keys[] = {"UID", "User", "Username", NULL};
static const char *const password_keys[] = {"PWD", "Password", NULL};
static const char *const database_keys[] = {"Database", "DB", NULL};

/* The brace that ends a value in braces; NULL when there is none. */
static const char *closing_brace(const char *at)
{
    for (at++; *at != '\0'; at++) {
        if (*at == '}' && at[1] == '}') {
            at++;
        } else if (*at == '}') {
            return at;
        }
    }
    return NULL;
}

static const char *end_of_value(const char *at)
{
    if (*at == '{') {
        const char *brace = closing_brace(at);
        at = brace != NULL ? brace + 1 : at + strlen(at);
    }
    return at + strcspn(at, ";");
}

/* Takes the next pair off *rest. */
static bool next_pair(const char **rest, struct pair *pair)
{
    const char *at = *rest;
    at += strspn(at, "; \t");
    if (*at == '\0') {
        return false;
    }
    const size_t length = strcspn(at, "=;");
    pair->start = at;
    pair->key_length = length;
    while (pair->key_length > 0 && at[pair->key_length - 1] == ' ') {
        pair->key_length--;
    }
    pair->value = at + length;
    if (*pair->value == '=') {
        pair->value += 1 + strspn(pair->value + 1, " ");
    }
    *rest = end_of_value(pair->value);
    pair->value_length = (size_t)(*rest - pair->value);
    return true;
}

static bool is_one_of(const struct pair *pair, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (strlen(*keys) == pair->key_length &&
            strncasecmp(*keys, pair->start, pair->key_length) == 0) {
            return true;
        }
    }
    return false;
}

bool odbc_string_find(const char *text, const char *const *keys, char *value, size_t size)
{
    struct pair pair;
    value[0] = '\0';
    while (next_pair(&text, &pair)) {
        if (!is_one_of(&pair, keys)) {
            continue;
        }
        const bool has_braces = pair.value[0] == '{';
        size_t length = 0;
        for (size_t i = has_braces ? 1 : 0; i < pair.value_length && length + 1 < size; i++) {
            if (has_braces && pair.value[i] == '}' && pair.value[++i] != '}') {
                break;
            }
            value[length++] = pair.value[i];
        }
        value[length] = '\0';
        return true;
    }
    return false;
}

const char *odbc_string_fault(const char *text)
{
    static const char *const no_place[] = {"Driver", "UID",      "User", "Username",
                                           "PWD",    "Password", NULL};
    struct pair pair;
    bool has_place = strchr(text, '=') == NULL;
    while (next_pair(&text, &pair)) {
        /* without its end a value would swallow the password that is put behind it */
        if (pair.value[0] == '{' && closing_brace(pair.value) == NULL) {
            return "a { has no }";
        }
        has_place = has_place || !is_one_of(&pair, no_place);
    }
    return has_place ? NULL : "it names no DSN, Server or Database";
}

/* Braces only where nothing else will do: some drivers take them for a part of the value. */
static bool needs_braces(const char *value)
{
    const size_t length = strlen(value);
    return strchr(value, ';') != NULL || value[0] == '{' ||
           (length > 0 && (value[0] == ' ' || value[length - 1] == ' '));
}

static void add_pair(struct buffer *text, const char *key, const char *value)
{
    buffer_add_text(text, key);
    if (!needs_braces(value)) {
        buffer_add_format(text, "=%s;", value);
        return;
    }
    buffer_add_text(text, "={");
    for (; *value != '\0'; value++) {
        buffer_add(text, value, 1);
        if (*value == '}') {
            buffer_add(text, value, 1);
        }
    }
    buffer_add_text(text, "};");
}

/* Of repeated keys some drivers take the first, others the last: the text's own are left out. */
void odbc_string_build(struct buffer *text, const struct target *target)
{
    const struct {
        const char *const *keys;
        const char *value;
    } given[] = {{user_keys, target->user},
                 {password_keys, target->password},
                 {database_keys, target->database}};
    const char *rest = target->path;
    struct pair pair;

    if (strchr(rest, '=') == NULL) {
        add_pair(text, "DSN", rest);
        rest = "";
    }
    while (next_pair(&rest, &pair)) {
        bool is_replaced = false;
        for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
            is_replaced =
                is_replaced || (given[i].value != NULL && is_one_of(&pair, given[i].keys));
        }
        if (!is_replaced) {
            buffer_add(text, pair.start, pair.key_length);
            buffer_add_text(text, "=");
            buffer_add(text, pair.value, pair.value_length);
            buffer_add_text(text, ";");
        }
    }
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i].value != NULL) {
            add_pair(text, given[i].keys[0], given[i].value);
        }
    }
}
