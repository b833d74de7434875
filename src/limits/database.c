/* Settings of the database, as it told them. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits/reading.h"

/* What `N` or `N+3` at the beginning of the text stands for; 0 bytes: it is another word. */
static size_t take_number(const char *text, uint64_t sessions, uint64_t *number)
{
    char *end = NULL;
    *number = sessions;
    if (text[0] != 'N') {
        return 0;
    }
    const char *rest = text + 1;
    if (rest[0] == '+') {
        *number += strtoull(rest + 1, &end, 10);
        rest = end;
    }
    return *rest == '\0' || strchr(" ;,", *rest) != NULL ? (size_t)(rest - text) : 0;
}

void database_fill_fix(char *fix, size_t size, const char *text, uint64_t sessions)
{
    char quote = '\0'; /* names may have a word N of their own */
    size_t used = 0;
    fix[0] = '\0';
    for (bool is_word = false; *text != '\0' && used + 1 < size; is_word = *text++ == ' ') {
        uint64_t number;
        const size_t length = is_word && quote == '\0' ? take_number(text, sessions, &number) : 0;
        if (length > 0) {
            used += (size_t)snprintf(fix + used, size - used, "%" PRIu64, number);
            text += length - 1;
            continue;
        }
        if (quote == '\0' && strchr("'\"`", *text) != NULL) {
            quote = *text;
        } else if (*text == quote) {
            quote = '\0';
        }
        fix[used++] = *text;
        fix[used] = '\0';
    }
}

void database_read(struct reading *reading)
{
    const struct server_limits *server = reading->question->server;
    if (server == NULL) {
        return;
    }
    if (server->is_pooled) {
        struct limit limit = {.id = LIMIT_SESSIONS,
                              .side = LIMIT_DATABASE,
                              .unit = "sessions",
                              .allowed = LIMIT_NONE,
                              .is_unknown = true};
        snprintf(limit.name, sizeof limit.name, "limits of the pooler");
        snprintf(limit.note, sizeof limit.note,
                 "not known: a pooler stands in front of the server; see its own settings "
                 "(pgbouncer: max_client_conn, default_pool_size)");
        reading_warn(reading, &limit);
    }
    for (size_t i = 0; i < server->count; i++) {
        const struct session_limit *session = &server->sessions[i];
        /* the connection that asked is closed before the sessions open */
        struct limit limit = {
            .id = LIMIT_SESSIONS,
            .side = LIMIT_DATABASE,
            .unit = "sessions",
            .allowed = session->allowed,
            .used = session->used > 0 ? session->used - 1 : 0,
        };
        snprintf(limit.name, sizeof limit.name, "%s", session->name);
        snprintf(limit.where, sizeof limit.where, "%.*s", (int)strcspn(server->version, " "),
                 server->version);
        snprintf(limit.note, sizeof limit.note, "%" PRIu64 " of %" PRIu64 " in use now%s%.100s",
                 limit.used, limit.allowed, session->note[0] == '\0' ? "" : "; ", session->note);
        struct limit *entry = reading_add(reading, &limit, (struct need){.each = 1});
        if (entry != NULL) {
            database_fill_fix(entry->fix, sizeof entry->fix, session->fix,
                              entry->used + entry->needed);
        }
    }
}
