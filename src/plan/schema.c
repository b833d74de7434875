#include "plan/schema.h"

#include <stddef.h>
#include <string.h>

const char *schema_find(const char *schema, const char *database)
{
    for (const struct schema_text *text = schema_texts; text->schema != NULL; text++) {
        if (strcmp(text->schema, schema) == 0 && strcmp(text->database, database) == 0) {
            return text->sql;
        }
    }
    return NULL;
}
