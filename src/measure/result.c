#include "measure/result.h"

#include <stdlib.h>
#include <string.h>

bool event_list_add(struct event_list *list, int64_t at_ns, const char *text)
{
    if (list->entries == NULL) {
        /* room for all: memory that nobody writes to costs nothing */
        list->entries = calloc(EVENTS_MAX, sizeof *list->entries);
    }
    if (list->entries == NULL || list->count == EVENTS_MAX) {
        return false;
    }
    size_t place = list->count++;
    for (; place > 0 && list->entries[place - 1].at_ns > at_ns; place--) {
        list->entries[place] = list->entries[place - 1];
    }
    struct event *event = &list->entries[place];
    *event = (struct event){.at_ns = at_ns};
    size_t length = strnlen(text, EVENT_TEXT_BYTES);
    if (length == EVENT_TEXT_BYTES) {
        /* UTF-8 continues a character with 10xxxxxx */
        do {
            length--;
        } while (length > 0 && ((unsigned char)text[length] & 0xC0U) == 0x80U);
    }
    memcpy(event->text, text, length);
    return true;
}

void event_list_fini(struct event_list *list)
{
    free(list->entries);
    *list = (struct event_list){0};
}

const char *const limit_side_names[] = {
    [LIMIT_CLIENT] = "client", [LIMIT_SERVER] = "server", [LIMIT_DATABASE] = "database"};

const char *const limit_grade_names[] = {
    [LIMIT_PASS] = "PASS", [LIMIT_WARN] = "WARN", [LIMIT_FAIL] = "FAIL"};

/* in the order of the enum */
const char *const limit_id_names[LIMIT_IDS] = {
    "open_files",   "user_tasks",    "threads_max",   "pid_max", "map_count",
    "cgroup_tasks", "cgroup_memory", "address_space", "commit",  "memory",
    "ports",        "sessions",      "backlog",       "gone"};
