/* Connection strings. */
#include "adapters/odbc.h"

#include <string.h>

#include "base/url.h"

static const char *const user_keys[] = {"UID", "User", "Username", NULL};
static const char *const password_keys[] = {"PWD", "Password", NULL};
static const char *const database_keys[] = {"Database", "DB", NULL};

bool odbc_string_find(const char *text, const char *const *keys, char *value, size_t size)
{
    struct url_pair pair;
    value[0] = '\0';
    while (url_pair_next(&text, &pair)) {
        if (!url_pair_is(&pair, keys)) {
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
    struct url_pair pair;
    bool has_place = strchr(text, '=') == NULL;
    while (url_pair_next(&text, &pair)) {
        /* without its end a value would swallow the password that is put behind it */
        if (!pair.is_closed) {
            return "a { has no }";
        }
        has_place = has_place || !url_pair_is(&pair, no_place);
    }
    return has_place ? NULL : "it names no DSN, Server or Database";
}

/* Braces only where nothing else will do: some drivers take them for a part of the value. */
static void add_pair(struct buffer *text, const char *key, const char *value)
{
    const size_t length = strlen(value);
    const bool has_braces = strchr(value, ';') != NULL || value[0] == '{' || value[0] == ' ' ||
                            (length > 0 && value[length - 1] == ' ');
    buffer_add_format(text, "%s=%s", key, has_braces ? "{" : "");
    for (; *value != '\0'; value++) {
        buffer_add(text, has_braces && *value == '}' ? "}}" : value,
                   has_braces && *value == '}' ? 2 : 1);
    }
    buffer_add_text(text, has_braces ? "};" : ";");
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
    struct url_pair pair;
    if (strchr(rest, '=') == NULL) {
        add_pair(text, "DSN", rest);
        rest = "";
    }
    while (url_pair_next(&rest, &pair)) {
        bool is_replaced = false;
        for (size_t i = 0; i < COUNT_OF(given); i++) {
            is_replaced =
                is_replaced || (given[i].value != NULL && url_pair_is(&pair, given[i].keys));
        }
        if (!is_replaced) {
            buffer_add_format(text, "%.*s=%.*s;", (int)pair.key_length, pair.key,
                              (int)pair.value_length, pair.value);
        }
    }
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        if (given[i].value != NULL) {
            add_pair(text, given[i].keys[0], given[i].value);
        }
    }
}
