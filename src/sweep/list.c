#include "sweep/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static enum status refuse(const char *option, const char *text, size_t length, uint64_t max,
                          struct error *error)
{
    char most[UNITS_TEXT_BYTES];
    error_set(error, ERROR_USAGE, 0, NULL,
              "--%s: '%.*s' is not a whole number from 1 to %s: give them as 1000,2000,4k", option,
              (int)(length < 40 ? length : 40), text, units_format_count(max, most));
    return STATUS_REJECTED;
}

enum status sweep_list_parse(struct sweep_list *list, const char *option, const char *text,
                             uint64_t max, struct error *error)
{
    list->count = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        char word[UNITS_TEXT_BYTES];
        uint64_t value = 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), text);
        if (length >= sizeof word || !units_parse_count(word, max, &value) || value == 0) {
            return refuse(option, text, length, max, error);
        }
        for (size_t i = 0; i < list->count; i++) {
            if (list->values[i] == value) {
                char shown[UNITS_TEXT_BYTES];
                error_set(error, ERROR_USAGE, 0, NULL, "--%s has %s twice", option,
                          units_format_count(value, shown));
                return STATUS_REJECTED;
            }
        }
        if (list->count == SWEEP_LIST_MAX) {
            error_set(error, ERROR_USAGE, 0, NULL, "--%s has more than %d numbers", option,
                      SWEEP_LIST_MAX);
            return STATUS_REJECTED;
        }
        list->values[list->count++] = value;
        if (text[length] == '\0') {
            return STATUS_OK;
        }
        text += length + 1;
    }
}
