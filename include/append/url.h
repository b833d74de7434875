/* The parameters of a target's URL (target.query). */
#ifndef APPEND_URL_H
#define APPEND_URL_H

#include <stdbool.h>

#include "append/api.h"

enum {
    URL_KEY_BYTES = 64,
    URL_VALUE_BYTES = 1024
};

struct url_parameter {
    char key[URL_KEY_BYTES];
    char value[URL_VALUE_BYTES]; /* the value; "" if the parameter has no '=' */
};

/* Takes the next parameter from *rest and decodes it; skips empty parameters. *is_good is set to
 * false when the parameter is too long or badly encoded. Returns false at the end of the text, or
 * if *rest is NULL. */
bool url_query_next(const char **rest, struct url_parameter *parameter, bool *is_good)
    APPEND_API(url_query_next);

#endif
