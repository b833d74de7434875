#include "report/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mono.h"
#include "figures/csv_table.h"

enum {
    FILE_BYTES_MAX = 1 << 20
};
/* `date -u` knows whole seconds: what it says at the start is up to a second before it. */
#define BEFORE_START_NS MONO_NS_PER_S
#define START_UNKNOWN INT64_MIN

static void note_bad(struct event_list *list, size_t line, const char *text, const char *what)
{
    if (list->bad_lines++ == 0) {
        snprintf(list->note, sizeof list->note, EVENTS_FILE " line %zu: '%.60s' %s", line, text,
                 what);
    }
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    return text;
}

/* Adds an event whose text is in quotes as CSV has it. False: the quotes are not closed, or
 * something follows them. */
static bool add_quoted(struct event_list *list, int64_t at_ns, const char *text)
{
    struct csv_table table;
    struct error error;
    error_clear(&error);
    char *line = NULL;
    if (asprintf(&line, "%s\n", text) < 0) {
        return false;
    }
    /* one line is a header */
    if (csv_table_parse(&table, EVENTS_FILE, line, &error) != STATUS_OK) {
        return false;
    }
    const bool is_added = table.columns == 1 && event_list_add(list, at_ns, table.cells[0]);
    csv_table_free(&table);
    return is_added;
}

static void parse_line(struct event_list *list, char *line, size_t number, int64_t started_wall_ns)
{
    char shown[64];
    snprintf(shown, sizeof shown, "%s", line);
    char *comma = strchr(line, ',');
    if (comma == NULL) {
        note_bad(list, number, shown, "is not TIME,TEXT");
        return;
    }
    *comma = '\0';
    struct moment moment;
    if (!moment_parse(trim(line), &moment)) {
        note_bad(list, number, shown, "does not begin with " MOMENT_FORM);
        return;
    }
    if (moment.is_utc && started_wall_ns == START_UNKNOWN) {
        note_bad(list, number, shown, "has a time in UTC, and when the run began is not known");
        return;
    }
    int64_t at_ns = moment_since_start_ns(&moment, started_wall_ns);
    if (at_ns < -BEFORE_START_NS) {
        note_bad(list, number, shown, "is before the start of the run");
        return;
    }
    at_ns = at_ns < 0 ? 0 : at_ns;
    const char *text = trim(comma + 1);
    if (list->count >= EVENTS_MAX) {
        note_bad(list, number, shown, "is one event too many");
    } else if (text[0] == '"' ? !add_quoted(list, at_ns, text)
                              : !event_list_add(list, at_ns, text)) {
        note_bad(list, number, shown, "has quotes that are not closed, or text behind them");
    }
}

void events_parse(struct event_list *list, char *text, int64_t started_wall_ns)
{
    *list = (struct event_list){0};
    size_t number = 0;
    for (char *line = text; line != NULL;) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        line = trim(line);
        number++;
        if (line[0] != '\0' && (number > 1 || strcmp(line, "time,text") != 0)) {
            parse_line(list, line, number, started_wall_ns);
        }
        line = next;
    }
    if (list->bad_lines > 1) {
        const size_t used = strlen(list->note);
        snprintf(list->note + used, sizeof list->note - used, "; %u more lines are bad",
                 list->bad_lines - 1);
    }
}

static char *read_text(const char *path, struct error *error)
{
    /* a pipe in its place would be waited for */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) {
        error_set(error, ERROR_SYSTEM, errno, NULL, EVENTS_FILE ": %s", strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    char *text = NULL;
    if (!S_ISREG(about.st_mode) || about.st_size > FILE_BYTES_MAX) {
        error_set(error, ERROR_DATA, 0, NULL, EVENTS_FILE " is no file of at most 1 MiB");
    } else if ((text = malloc((size_t)about.st_size + 1)) == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for " EVENTS_FILE);
    } else {
        const ssize_t length = read(fd, text, (size_t)about.st_size);
        if (length < 0) {
            error_set(error, ERROR_SYSTEM, errno, NULL, EVENTS_FILE ": %s", strerror(errno));
            free(text);
            text = NULL;
        } else {
            text[length] = '\0';
            for (ssize_t i = 0; i < length; i++) {
                if (text[i] == '\0') {
                    text[i] = '?'; /* else the rest would go unread */
                }
            }
        }
    }
    close(fd);
    return text;
}

enum status events_read(struct event_list *list, const char *folder, int64_t started_wall_ns,
                        struct error *error)
{
    *list = (struct event_list){0};
    char path[SAVED_RUN_PATH_BYTES + 16];
    if ((size_t)snprintf(path, sizeof path, "%s/" EVENTS_FILE, folder) >= sizeof path) {
        error_set(error, ERROR_USAGE, 0, NULL, "the path '%.60s…' is too long", folder);
        return STATUS_REJECTED;
    }
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        return STATUS_OK;
    }
    char *text = read_text(path, error);
    if (text == NULL) {
        return STATUS_REJECTED;
    }
    events_parse(list, text, started_wall_ns);
    free(text);
    return STATUS_OK;
}

enum status events_read_saved(struct event_list *list, const struct saved_run *run,
                              struct error *error)
{
    const char *utc = json_string_value(saved_run_json(run, "times.started_utc"));
    struct moment started;
    const bool is_known = utc != NULL && moment_parse(utc, &started) && started.is_utc;
    return events_read(list, run->folder, is_known ? started.ns : START_UNKNOWN, error);
}
