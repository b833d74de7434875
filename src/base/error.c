#include "append/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [ERROR_NONE] = "none",
    [ERROR_USAGE] = "usage",
    [ERROR_UNREACHABLE] = "unreachable",
    [ERROR_TIMEOUT] = "timeout",
    [ERROR_AUTH] = "auth",
    [ERROR_LIMIT] = "limit",
    [ERROR_NOT_FOUND] = "not_found",
    [ERROR_BUSY] = "busy",
    [ERROR_DEADLOCK] = "deadlock",
    [ERROR_SERIALIZATION] = "serialization",
    [ERROR_READ_ONLY] = "read_only",
    [ERROR_DUPLICATE] = "duplicate",
    [ERROR_DATA] = "data",
    [ERROR_EXISTS] = "exists",
    [ERROR_UNSUPPORTED] = "unsupported",
    [ERROR_CONNECTION] = "connection",
    [ERROR_SERVER] = "server",
    [ERROR_CANCELLED] = "cancelled",
    [ERROR_MEMORY] = "memory",
    [ERROR_SYSTEM] = "system",
};

void error_clear(struct error *error)
{
    memset(error, 0, sizeof *error);
}

/* Returns the number of bytes of the character at `text` if the character is a control character
 * for terminals or changes the direction of the text around it, else 0. */
static size_t control_length(const unsigned char *text)
{
    const bool is_control = text[0] < 0x20 || text[0] == 0x7f;
    const bool is_c1 = text[0] == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f;
    /* the characters U+202A to U+202E and U+2066 to U+2069 */
    const bool is_direction =
        text[0] == 0xe2 && ((text[1] == 0x80 && text[2] >= 0xaa && text[2] <= 0xae) ||
                            (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9));
    if (is_control) {
        return 1;
    }
    if (is_c1) {
        return 2;
    }
    return is_direction ? 3 : 0;
}

/* Replaces control characters with '?', because the text may come from a server and is written to
 * terminals and files. */
static void remove_controls(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        const size_t length = control_length((const unsigned char *)from);
        *to = *from;
        if (length > 0) {
            *to = '?';
        }
        to++;
        from += length > 0 ? length : 1;
    }
    *to = '\0';
}

bool error_set(struct error *error, enum error_kind kind, int native_code, const char *sqlstate,
               const char *format, ...)
{
    static const char blanks[] = " \t\r\n";
    if (error == NULL || error->kind != ERROR_NONE) {
        return false;
    }
    error->kind = kind;
    error->native_code = native_code;
    snprintf(error->sqlstate, sizeof error->sqlstate, "%s", sqlstate == NULL ? "" : sqlstate);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    /* make the text one line: messages of client libraries end with a line break, and may have
     * hints on further lines */
    char *to = error->text;
    for (char *from = to + strspn(to, blanks); *from != '\0'; from += strspn(from, blanks)) {
        const size_t length = strcspn(from, blanks);
        if (to > error->text) {
            *to++ = ' ';
        }
        memmove(to, from, length);
        to += length;
        from += length;
    }
    *to = '\0';
    remove_controls(error->text);
    return true;
}

void error_prefix(struct error *error, const char *format, ...)
{
    const struct error inner = *error;
    char what[ERROR_TEXT_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const int room = (int)sizeof error->text - 3 - (int)strlen(what);
    snprintf(error->text, sizeof error->text, "%s: %.*s", what, room, inner.text);
}

bool error_is_set(const struct error *error)
{
    return error->kind != ERROR_NONE;
}

bool error_is_transient(const struct error *error)
{
    return error->kind == ERROR_BUSY || error->kind == ERROR_DEADLOCK ||
           error->kind == ERROR_SERIALIZATION;
}

const char *error_kind_name(enum error_kind kind)
{
    return (size_t)kind < sizeof kind_names / sizeof *kind_names ? kind_names[kind] : "unknown";
}
