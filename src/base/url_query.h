/* Percent-encoded parts of a URL, and its parameters: key=value&key=value. */
#ifndef BASE_URL_QUERY_H
#define BASE_URL_QUERY_H

#include <stdbool.h>
#include <stddef.h>

enum {
    URL_KEY_BYTES = 64,
    URL_VALUE_BYTES = 1024
};

struct url_parameter {
    char key[URL_KEY_BYTES];
    char value[URL_VALUE_BYTES]; /* "" when there is no '=' */
};

/* Decodes %XX in place. False: a % without two hex digits, or an encoded NUL. */
bool url_decode(char *text);

/* Takes the next parameter off *rest, decoded; empty ones are passed over. *is_good is false when
 * it is too long or badly encoded. Returns false at the end (and for NULL). */
bool url_query_next(const char **rest, struct url_parameter *parameter, bool *is_good);

#endif
