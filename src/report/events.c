#include "report/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mono.h"
#include "base/text.h"
#include "figures/saved.h"

enum {
    FILE_BYTES_MAX = 1 << 20
};
/* An event may have a time up to a second before the start of the run, because `date -u` prints
 * whole seconds. */
#define BEFORE_START_NS MONO_NS_PER_S

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    return text;
}

/* Removes the quotes of a CSV cell, in place. Returns false if the closing quote is missing or is
 * not the last character. */
static bool unquote(char *text)
{
    const char *at = text + 1;
    for (; *at != '\0' && (*at != '"' || at[1] == '"'); *text++ = *at++) {
        at += *at == '"' ? 1 : 0;
    }
    *text = '\0';
    return at[0] == '"' && at[1] == '\0';
}

/* Adds the event of a line. Returns NULL if the line is good, else the reason why it is bad. */
static const char *add_line(struct event_list *list, char *line, int64_t started_wall_ns)
{
    struct moment moment;
    char *comma = strchr(line, ',');
    if (comma == NULL) {
        return "is not TIME,TEXT";
    }
    *comma = '\0';
    if (!moment_parse(trim(line), &moment)) {
        return "does not begin with " MOMENT_FORM;
    }
    if (moment.is_utc && started_wall_ns == EVENTS_START_UNKNOWN) {
        return "has a time in UTC, but the start of the run is not known";
    }
    const int64_t at_ns = moment.ns - (moment.is_utc ? started_wall_ns : 0);
    if (at_ns < -BEFORE_START_NS) {
        return "is before the start of the run";
    }
    if (list->count >= EVENTS_MAX) {
        return "is one event too many";
    }
    char *text = trim(comma + 1);
    if (text[0] == '"' && !unquote(text)) {
        return "has an unclosed quote, or text after the closing quote";
    }
    return event_list_add(list, at_ns < 0 ? 0 : at_ns, text) ? NULL : "did not fit in memory";
}

enum status events_read(struct event_list *list, const char *folder, int64_t started_wall_ns,
                        struct error *error)
{
    *list = (struct event_list){0};
    char path[SAVED_RUN_PATH_BYTES + 16], shown[64], *text = NULL;
    size_t number = 0, room = 0;
    ssize_t length;
    FILE *file;
    struct error unread = {0};
    if ((size_t)snprintf(path, sizeof path, "%s/" EVENTS_FILE, folder) >= sizeof path) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", folder);
        return STATUS_REJECTED;
    }
    if (file_open(path, &file, &unread) != STATUS_OK) {
        if (unread.native_code == ENOENT) {
            return STATUS_OK;
        }
    } else if (fseek(file, 0, SEEK_END) != 0 || ftell(file) > FILE_BYTES_MAX) {
        fclose(file);
        error_set(error, ERROR_DATA, 0, NULL, EVENTS_FILE " is longer than 1 MiB");
        return STATUS_REJECTED;
    }
    if (error_is_set(&unread)) {
        const bool is_data = unread.kind == ERROR_DATA;
        error_set(error, unread.kind, unread.native_code, NULL, EVENTS_FILE "%s%s",
                  is_data ? " is not a regular file" : ": ",
                  is_data ? "" : strerror((int)unread.native_code));
        return STATUS_REJECTED;
    }
    rewind(file);
    while (errno = 0, (length = getline(&text, &room, file)) >= 0) {
        for (char *at = text; (at = memchr(at, '\0', (size_t)(text + length - at))) != NULL;) {
            *at = '?'; /* a 0 byte would end the text of the line */
        }
        char *line = trim(text);
        snprintf(shown, sizeof shown, "%s", line);
        number++;
        if (line[0] == '\0' || (number == 1 && strcmp(line, "time,text") == 0)) {
            continue;
        }
        const char *what = add_line(list, line, started_wall_ns);
        if (what != NULL && list->bad_lines++ == 0) {
            snprintf(list->note, sizeof list->note, EVENTS_FILE " line %zu: '%.60s' %s", number,
                     shown, what);
        }
    }
    const int reason = feof(file) ? 0 : errno;
    free(text);
    fclose(file);
    if (reason != 0) {
        error_set(error, ERROR_SYSTEM, reason, NULL, EVENTS_FILE ": %s", strerror(reason));
        event_list_fini(list);
        return STATUS_REJECTED;
    }
    if (list->bad_lines > 1) {
        const size_t used = strlen(list->note);
        snprintf(list->note + used, sizeof list->note - used, "; %u more %s bad",
                 list->bad_lines - 1, units_plural(list->bad_lines - 1, "line is", "lines are"));
    }
    return STATUS_OK;
}
