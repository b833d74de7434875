#include "base/url_query.h"

#include <ctype.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const int lower = tolower((unsigned char)c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool url_decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        const int high = hex_digit(from[1]);
        const int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0 || high * 16 + low == 0) {
            return false;
        }
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

static bool take(char *to, size_t size, const char *from, size_t length)
{
    if (length >= size) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return url_decode(to);
}

bool url_query_next(const char **rest, struct url_parameter *parameter, bool *is_good)
{
    if (*rest == NULL) {
        return false;
    }
    const char *start = *rest + strspn(*rest, "&");
    const size_t length = strcspn(start, "&#");
    if (length == 0) {
        return false;
    }
    *rest = start + length;
    const char *equals = memchr(start, '=', length);
    const size_t key_length = equals == NULL ? length : (size_t)(equals - start);
    const char *value = equals == NULL ? start + length : equals + 1;
    parameter->value[0] = '\0';
    *is_good =
        take(parameter->key, sizeof parameter->key, start, key_length) &&
        take(parameter->value, sizeof parameter->value, value, (size_t)(start + length - value));
    return true;
}
