#include "control.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "session.h"

enum {
    WORD_BYTES = 1024,
};

static void add_counter(struct buffer *answer, const char *name, uint64_t value)
{
    buffer_add_format(answer, "%s=%" PRIu64 "\n", name, value);
}

static void add_status(struct server *server, struct buffer *answer)
{
    add_counter(answer, "connections", atomic_load(&server->connections));
    add_counter(answer, "sessions", atomic_load(&server->sessions));
    add_counter(answer, "sessions_most", atomic_load(&server->sessions_most));
    add_counter(answer, "logins", atomic_load(&server->logins));
    add_counter(answer, "refused", atomic_load(&server->refused));
    add_counter(answer, "packets", atomic_load(&server->packets));
    add_counter(answer, "rows_kept", atomic_load(&server->rows_kept));
    add_counter(answer, "rows_refused", atomic_load(&server->rows_refused));
    add_counter(answer, "rows_malformed", atomic_load(&server->rows_malformed));
    add_counter(answer, "broken", atomic_load(&server->broken));
    add_counter(answer, "faults", atomic_load(&server->faults));
}

static void add_quoted(struct buffer *line, const struct row_value *value)
{
    struct buffer text;
    buffer_init(&text);
    row_add_text(&text, value);
    buffer_add(line, "\"", 1);
    for (size_t i = 0; i < text.length; i++) {
        buffer_add(line, text.bytes + i, 1);
        buffer_add(line, "\"", text.bytes[i] == '"' ? 1 : 0);
    }
    buffer_add(line, "\"", 1);
    buffer_fini(&text);
}

static bool write_rows(struct store_table *table, FILE *file)
{
    struct row_value values[ROW_TABLE_COLUMNS_MAX];
    struct store_cursor cursor = {.chunk = NULL};
    struct buffer line;
    buffer_init(&line);
    for (size_t c = 0; c < table->column_count; c++) {
        buffer_add_format(&line, "%s%s", c > 0 ? "," : "", table->columns[c].name);
    }
    do {
        buffer_add(&line, "\n", 1);
        if (buffer_failed(&line) || fwrite(line.bytes, line.length, 1, file) != 1) {
            break;
        }
        buffer_clear(&line);
        const bool is_row = store_next(table, &cursor, values);
        for (size_t c = 0; is_row && c < table->column_count; c++) {
            buffer_add(&line, ",", c > 0 ? 1 : 0);
            if (!values[c].is_null && row_type_is_variable(values[c].type)) {
                add_quoted(&line, &values[c]);
            } else {
                row_add_text(&line, &values[c]);
            }
        }
    } while (line.length > 0);
    const bool is_whole = !buffer_failed(&line) && line.length == 0;
    buffer_fini(&line);
    return is_whole;
}

static struct store_table *find_table(struct server *server, const char *name)
{
    char upper[ROW_COLUMN_NAME_BYTES] = "";
    for (size_t i = 0; name[i] != '\0' && i + 1 < sizeof upper; i++) {
        upper[i] = (char)toupper((unsigned char)name[i]);
    }
    return store_find(&server->store, upper);
}

static const char *dump(struct server *server, const char *name, const char *path)
{
    struct store_table *table = find_table(server, name);
    if (table == NULL) {
        return "there is no such table";
    }
    FILE *file = fopen(path, "w");
    bool is_written = file != NULL && write_rows(table, file);
    if (file != NULL && fclose(file) != 0) {
        is_written = false;
    }
    store_release(&server->store, table);
    return is_written ? NULL : "the file cannot be written";
}

static const char *count(struct server *server, const char *name, struct buffer *answer)
{
    struct store_table *table = find_table(server, name);
    if (table == NULL) {
        return "there is no such table";
    }
    add_counter(answer, "rows", store_count(table));
    store_release(&server->store, table);
    return NULL;
}

static const char *set_sessions(struct server *server, const char *text)
{
    char *end = NULL;
    const unsigned long most = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || most > UINT32_MAX) {
        return "sessions takes a number";
    }
    atomic_store(&server->max_sessions, (unsigned)most);
    return NULL;
}

/* NULL = done. */
static const char *run(struct server *server, char words[3][WORD_BYTES], const char *rest,
                       struct buffer *answer)
{
    if (strcmp(words[0], "status") == 0) {
        add_status(server, answer);
    } else if (strcmp(words[0], "dump") == 0) {
        return dump(server, words[1], words[2]);
    } else if (strcmp(words[0], "count") == 0) {
        return count(server, words[1], answer);
    } else if (strcmp(words[0], "expect") == 0 && server->expect != NULL) {
        expect_report(server->expect, answer);
    } else if (strcmp(words[0], "rule") == 0) {
        return rules_add(&server->rules, rest) ? NULL : "that is no rule, or one too many";
    } else if (strcmp(words[0], "norules") == 0) {
        rules_clear(&server->rules);
    } else if (strcmp(words[0], "sessions") == 0) {
        return set_sessions(server, words[1]);
    } else if (strcmp(words[0], "kick") == 0) {
        session_kick_all(server);
    } else {
        return "there is no such command";
    }
    return NULL;
}

bool control_run(struct server *server, const char *line, struct buffer *answer)
{
    char words[3][WORD_BYTES] = {"", "", ""};
    (void)sscanf(line, "%1023s %1023s %1023s", words[0], words[1], words[2]);
    if (strcmp(words[0], "stop") == 0) {
        buffer_add_text(answer, "ok\n");
        return false;
    }
    const char *space = strchr(line, ' ');
    const char *why = run(server, words, space != NULL ? space + 1 : "", answer);
    if (why == NULL) {
        buffer_add_text(answer, "ok\n");
    } else {
        buffer_add_format(answer, "error: %s\n", why);
    }
    return true;
}
