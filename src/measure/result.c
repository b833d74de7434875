#include "measure/result.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 16
};

static bool has_room(struct event_list *list)
{
    if (list->count < list->capacity) {
        return true;
    }
    if (list->count >= EVENTS_MAX) {
        return false;
    }
    const size_t capacity = list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
    struct event *entries = realloc(list->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    list->entries = entries;
    list->capacity = capacity;
    return true;
}

/* UTF-8 continues a character with 10xxxxxx. */
static size_t cut_length(const char *text)
{
    size_t length = strlen(text);
    if (length < EVENT_TEXT_BYTES) {
        return length;
    }
    length = EVENT_TEXT_BYTES - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xC0U) == 0x80U) {
        length--;
    }
    return length;
}

bool event_list_add(struct event_list *list, int64_t at_ns, const char *text)
{
    if (list->count >= EVENTS_MAX || !has_room(list)) {
        return false;
    }
    size_t place = list->count;
    while (place > 0 && list->entries[place - 1].at_ns > at_ns) {
        place--;
    }
    struct event *event = &list->entries[place];
    memmove(event + 1, event, (list->count - place) * sizeof *event);
    list->count++;
    *event = (struct event){.at_ns = at_ns};
    memcpy(event->text, text, cut_length(text));
    return true;
}

void event_list_fini(struct event_list *list)
{
    free(list->entries);
    *list = (struct event_list){0};
}
