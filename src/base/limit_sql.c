#include "base/limit_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Those who may not look at other people's sessions still see to whom they belong, and where. What
 * the server allows is decided by the user who connected, not by a role that was set since. */
const char limit_sql_postgresql[] =
    "with me as ("
    " select r.oid as role, r.rolname, r.rolconnlimit, r.rolsuper, d.oid as base, d.datname,"
    "  d.datconnlimit, current_setting('max_connections')::int as most,"
    "  case when r.rolsuper then 0"
    "   else current_setting('superuser_reserved_connections')::int end as kept,"
    "  case when r.rolsuper or exists (select from pg_roles p"
    "    where p.rolname = 'pg_use_reserved_connections' and pg_has_role(r.oid, p.oid, 'usage'))"
    "   then 0"
    "   else coalesce(current_setting('reserved_connections', true), '0')::int end as reserved"
    " from pg_roles r, pg_database d"
    " where r.rolname = session_user and d.datname = current_database()),"
    " them as (select usesysid, datid from pg_stat_activity where datid is not null"
    "  and usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend')"
    " select 'max_connections', (most - kept - reserved)::text, (select count(*) from them)::text,"
    "  case when kept + reserved > 0 then most || ' less ' || kept ||"
    "   ' of superuser_reserved_connections' ||"
    "   case when reserved > 0 then ' and ' || reserved || ' of reserved_connections' else '' end"
    "   else '' end,"
    "  'max_connections = N' || case when kept + reserved > 0 then '+' || (kept + reserved)"
    "   else '' end || ' in postgresql.conf, then restart the server' from me"
    " union all select 'rolconnlimit', rolconnlimit::text,"
    "  (select count(*) from them where usesysid = role)::text, 'of role ' || rolname,"
    "  'ALTER ROLE ' || quote_ident(rolname) || ' CONNECTION LIMIT N'"
    "  from me where rolconnlimit >= 0 and not rolsuper"
    " union all select 'datconnlimit', datconnlimit::text,"
    "  (select count(*) from them where datid = base)::text, 'of database ' || datname,"
    "  'ALTER DATABASE ' || quote_ident(datname) || ' CONNECTION LIMIT N'"
    "  from me where datconnlimit >= 0 and not rolsuper";

/* A count of sessions or statements; "-1" and the like are no limit. */
static int64_t read_number(const char *text)
{
    return text == NULL ? 0 : strtoll(text, NULL, 10);
}

static struct session_limit *add_limit(struct server_limits *limits, const char *name,
                                       int64_t allowed, int64_t used)
{
    if (limits->count == SESSION_LIMITS_MAX) {
        return NULL;
    }
    struct session_limit *limit = &limits->sessions[limits->count++];
    memset(limit, 0, sizeof *limit);
    snprintf(limit->name, sizeof limit->name, "%s", name);
    limit->allowed = allowed > 0 ? (uint64_t)allowed : 0;
    limit->used = used > 0 ? (uint64_t)used : 0;
    return limit;
}

void limit_sql_add(struct server_limits *limits, const char *const values[LIMIT_SQL_COLUMNS])
{
    struct session_limit *limit = add_limit(limits, values[0] != NULL ? values[0] : "",
                                            read_number(values[1]), read_number(values[2]));
    if (limit != NULL) {
        snprintf(limit->note, sizeof limit->note, "%s", values[3] != NULL ? values[3] : "");
        snprintf(limit->fix, sizeof limit->fix, "%s", values[4] != NULL ? values[4] : "");
    }
}

/* The process that listens hands the socket to the new one and closes its own. */
void limit_sql_conclude_postgresql(struct server_limits *limits)
{
    limits->tasks_per_session = 1;
    limits->files_per_session = 0;
}

/* The scope of SHOW VARIABLES is the session, where max_user_connections is what holds for the
 * account: its own limit, or else the global one. */
const char *const limit_sql_mariadb[] = {
    "show variables where variable_name in ('version', 'version_comment', 'max_connections',"
    " 'max_user_connections', 'max_prepared_stmt_count', 'thread_handling')",
    "show global status where variable_name in ('Threads_connected', 'Prepared_stmt_count')",
    "select 'max_user_connections_global', @@global.max_user_connections",
    "select 'account_sessions', count(*) from information_schema.processlist"
    " where user = left(user(), char_length(user()) -"
    " char_length(substring_index(user(), '@', -1)) - 1)",
    "select 'account', concat('''', left(current_user(), char_length(current_user()) -"
    " char_length(substring_index(current_user(), '@', -1)) - 1), '''@''',"
    " substring_index(current_user(), '@', -1), '''')",
    "select 'privilege', privilege_type from information_schema.user_privileges"
    " where privilege_type in ('SUPER', 'CONNECTION ADMIN', 'CONNECTION_ADMIN') and grantee ="
    " concat('''', left(current_user(), char_length(current_user()) -"
    " char_length(substring_index(current_user(), '@', -1)) - 1), '''@''',"
    " substring_index(current_user(), '@', -1), '''')",
    NULL,
};

void limit_facts_take(struct limit_facts *facts, const char *name, const char *value)
{
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {
        {"max_connections", &facts->max_connections},
        {"max_user_connections", &facts->max_user_connections},
        {"max_user_connections_global", &facts->max_user_connections_global},
        {"max_prepared_stmt_count", &facts->max_prepared},
        {"threads_connected", &facts->connected},
        {"prepared_stmt_count", &facts->prepared},
        {"account_sessions", &facts->account_sessions},
    };
    if (name == NULL || value == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcasecmp(name, numbers[i].name) == 0) {
            *numbers[i].number = read_number(value);
        }
    }
    facts->has_max_prepared |= strcasecmp(name, "max_prepared_stmt_count") == 0;
    if (strcasecmp(name, "version") == 0) {
        snprintf(facts->version, sizeof facts->version, "%s", value);
    } else if (strcasecmp(name, "version_comment") == 0) {
        snprintf(facts->version_comment, sizeof facts->version_comment, "%s", value);
    } else if (strcasecmp(name, "account") == 0) {
        snprintf(facts->account, sizeof facts->account, "%s", value);
    } else if (strcasecmp(name, "thread_handling") == 0) {
        /* "pool-of-threads", and "loaded-dynamically" by the plug-in that has one */
        facts->has_thread_pool =
            strncasecmp(value, "pool", 4) == 0 || strncasecmp(value, "loaded", 6) == 0;
    } else if (strcasecmp(name, "privilege") == 0) {
        facts->has_super |= strcasecmp(value, "SUPER") == 0;
        facts->has_connection_admin |= strncasecmp(value, "CONNECTION", 10) == 0;
    }
}

/* Since MariaDB 11.0 SUPER does not contain the right any more. */
static bool is_admin(const struct limit_facts *facts)
{
    return facts->has_connection_admin || (facts->has_super && read_number(facts->version) < 11);
}

static void add_connections(const struct limit_facts *facts, struct server_limits *limits)
{
    const int64_t extra = is_admin(facts) ? 1 : 0;
    struct session_limit *limit =
        add_limit(limits, "max_connections", facts->max_connections + extra, facts->connected);
    if (limit == NULL) {
        return;
    }
    if (extra > 0) {
        snprintf(limit->note, sizeof limit->note,
                 "%" PRId64 " and one for users with CONNECTION ADMIN or SUPER",
                 facts->max_connections);
    }
    snprintf(limit->fix, sizeof limit->fix,
             "SET GLOBAL max_connections = N; to keep it, max_connections = N under [mysqld] in "
             "my.cnf");
}

static void add_user_connections(const struct limit_facts *facts, struct server_limits *limits)
{
    /* the global limit does not hold for those who may pass over max_connections */
    const bool is_own = facts->max_user_connections != facts->max_user_connections_global;
    if (facts->max_user_connections <= 0 || (is_admin(facts) && !is_own)) {
        return;
    }
    struct session_limit *limit = add_limit(limits, "max_user_connections",
                                            facts->max_user_connections, facts->account_sessions);
    if (limit != NULL) {
        snprintf(limit->note, sizeof limit->note, "%.30s account %.80s",
                 is_own ? "of the" : "of every account, so of", facts->account);
        snprintf(limit->fix, sizeof limit->fix, "ALTER USER %.140s WITH MAX_USER_CONNECTIONS N",
                 facts->account);
    }
}

void limit_facts_conclude(const struct limit_facts *facts, bool prepares, bool has_prepared,
                          struct server_limits *limits)
{
    if (facts->max_connections > 0) {
        add_connections(facts, limits);
    }
    add_user_connections(facts, limits);
    if (prepares && facts->has_max_prepared) {
        struct session_limit *limit =
            add_limit(limits, "max_prepared_stmt_count", facts->max_prepared,
                      facts->prepared + (has_prepared ? 0 : 1));
        if (limit != NULL) {
            snprintf(limit->note, sizeof limit->note,
                     "prepared statements of all sessions; each session keeps one");
            snprintf(limit->fix, sizeof limit->fix,
                     "SET GLOBAL max_prepared_stmt_count = N; to keep it, max_prepared_stmt_count "
                     "= N under [mysqld] in my.cnf");
        }
    }
    limits->tasks_per_session = facts->has_thread_pool ? 0 : 1;
    limits->files_per_session = 1;
}
