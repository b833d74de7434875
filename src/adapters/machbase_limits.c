/* What the server says about itself, in tables that describe it. A server that has them not, or
 * this user may not read, says nothing: that keeps nobody from loading it. */
#include "adapters/machbase_conn.h"

#include <stdio.h>
#include <string.h>

#include "base/number_text.h"

static const char version_sql[] = "select binary_signature from v$version";
static const char allowed_sql[] = "select value from v$property where name = 'MAX_SESSION_COUNT'";
static const char used_sql[] = "select count(*) from v$session where closed = 0";

/* False: the connection is lost. An answer that is no answer leaves "". */
static bool ask(struct adapter_conn *conn, const char *sql, char *text, size_t size,
                struct error *error)
{
    struct error reason;
    error_clear(&reason);
    if (machbase_read_text(conn, sql, text, size, &reason) != STATUS_LOST) {
        return true;
    }
    *error = reason;
    return false;
}

enum status machbase_server_limits(struct adapter_conn *conn, struct server_limits *limits,
                                   struct error *error)
{
    char version[60];
    char allowed[32];
    char used[32];
    int64_t most = 0;
    int64_t now = 0;
    memset(limits, 0, sizeof *limits);
    if (!ask(conn, version_sql, version, sizeof version, error) ||
        !ask(conn, allowed_sql, allowed, sizeof allowed, error) ||
        !ask(conn, used_sql, used, sizeof used, error)) {
        return STATUS_LOST;
    }
    snprintf(limits->version, sizeof limits->version, "Machbase %s", version);
    if (number_text_parse(allowed, strlen(allowed), &most) && most > 0 &&
        number_text_parse(used, strlen(used), &now) && now >= 0) {
        struct session_limit *limit = &limits->sessions[limits->count++];
        snprintf(limit->name, sizeof limit->name, "MAX_SESSION_COUNT");
        limit->allowed = (uint64_t)most;
        limit->used = (uint64_t)now;
        snprintf(limit->fix, sizeof limit->fix,
                 "MAX_SESSION_COUNT = N in $MACHBASE_HOME/conf/machbase.conf, then restart the "
                 "server");
    }
    return STATUS_OK;
}
