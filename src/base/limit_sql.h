/*
 * What SQL asks a server about its limits on sessions, and what the answers mean: one place for
 * all adapters that reach the same server in different ways. Needs no rights beyond connecting.
 */
#ifndef BASE_LIMIT_SQL_H
#define BASE_LIMIT_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"

/* PostgreSQL: one statement, each row of whose result is a limit in these columns. */
enum {
    LIMIT_SQL_COLUMNS = 5 /* name, allowed, used, note, fix */
};
extern const char limit_sql_postgresql[];

/* Adds the limit of one row; a value that is NULL or missing is "". */
void limit_sql_add(struct server_limits *limits, const char *const values[LIMIT_SQL_COLUMNS]);

/* What a PostgreSQL server keeps for each session beside its limits. */
void limit_sql_conclude_postgresql(struct server_limits *limits);

/* MariaDB and MySQL: several statements, each row of whose results is a fact: name, value. One that
 * a server of this kind does not know is passed over, but for the first. Ends with NULL. */
extern const char *const limit_sql_mariadb[];

struct limit_facts {
    char version[64];
    char version_comment[80];
    char account[200];       /* 'user'@'host' of the session, quoted */
    int64_t max_connections; /* of all of these, 0 or less: not known, or no limit */
    int64_t max_user_connections;
    int64_t max_user_connections_global;
    int64_t max_prepared;
    int64_t connected;
    int64_t prepared;
    int64_t account_sessions;
    bool has_max_prepared; /* known, be it 0 */
    bool has_thread_pool;
    bool has_super;
    bool has_connection_admin;
};

/* `facts` is zeroed before the first; names that mean nothing here are passed over. */
void limit_facts_take(struct limit_facts *facts, const char *name, const char *value);

/* Adds the limits that apply to this user. `prepares`: each session keeps one prepared statement on
 * the server; `has_prepared`: this one does already. */
void limit_facts_conclude(const struct limit_facts *facts, bool prepares, bool has_prepared,
                          struct server_limits *limits);

#endif
