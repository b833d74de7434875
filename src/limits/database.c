/* Settings of the database, as it told them. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "limits/reading.h"

void database_read(struct reading *reading)
{
    const struct server_limits *server = reading->question->server;
    if (server == NULL) {
        return;
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
            snprintf(entry->fix, sizeof entry->fix, "%s", session->fix);
        }
    }
}
