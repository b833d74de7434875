#include "report/text_expectations.h"

#include <string.h>

#include "report/expectations.h"

void text_expectations_add(FILE *stream, const struct expectations *expectations)
{
    if (expectations == NULL || expectations->count == 0) {
        return;
    }
    const size_t missed = expectations_count_missed(expectations);
    char text[SCREEN_TEXT_BYTES];
    if (missed == 0) {
        snprintf(text, sizeof text, "all %zu met", expectations->count);
    } else {
        snprintf(text, sizeof text, "%zu of %zu NOT MET:", missed, expectations->count);
    }
    /* those that were missed first */
    const char *separator = missed == 0 ? ": " : " ";
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < expectations->count; i++) {
            const struct expectation *expectation = &expectations->entries[i];
            if (expectation->is_met != (pass == 1)) {
                continue;
            }
            char one[EXPECTATIONS_TEXT_BYTES];
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%s", separator,
                     expectations_describe(expectation, one));
            separator = ", ";
        }
        separator = missed > 0 && missed < expectations->count ? "; met: " : separator;
    }
    screen_add_wrapped(stream, "Expected", SCREEN_LABEL_COLUMNS, text);
}
