/*
 * ODBC: the other fixtures' databases, with their tables, values and observers, through an ODBC
 * driver. If the driver is not registered (odbcinst -q -d), the test is skipped.
 */
#include "fixture.h"

#include <odbcinst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/url.h"

static struct fixture fixture;
static struct bad_target bad_targets[6];
static char connection_string[512];
static char bad_strings[2][512];

static bool has_driver(const char *name)
{
    char library[256] = "";
    SQLGetPrivateProfileString(name, "Driver", "", library, sizeof library, "odbcinst.ini");
    if (library[0] == '\0') {
        fprintf(stderr, "contract: no ODBC driver is registered as \"%s\"\n", name);
    }
    return library[0] != '\0';
}

static void add_bad(const char *label, const char *path, enum status status, enum error_kind kind)
{
    struct bad_target *bad = &bad_targets[fixture.bad_target_count++];
    *bad = (struct bad_target){.label = label, .status = status, .kind = kind};
    bad->target.path = path;
    bad->target.connect_timeout_s = 2;
}

/* Copies the fixture of a database and gives the copy the target of this adapter. */
static const struct fixture *take_over(const struct fixture *other)
{
    const char *schema = other->target.schema;
    const char *database = other->target.database;
    fixture = *other;
    fixture.target = (struct target){.scheme = "odbc",
                                     .path = connection_string,
                                     .schema = schema,
                                     .database = database,
                                     .connect_timeout_s = 5};
    fixture.bad_targets = bad_targets;
    fixture.bad_target_count = 0;
    add_bad("no text", NULL, STATUS_FATAL, ERROR_USAGE);
    add_bad("no data source", "no_such_data_source", STATUS_FATAL, ERROR_USAGE);
    add_bad("no driver", "Driver={no such driver};Server=x", STATUS_FATAL, ERROR_USAGE);
    return &fixture;
}

/* Writes the connection string for the server, port, user and database of a test's URL. */
static bool use_server(const char *driver, const char *variable, const char *extra)
{
    const char *text = getenv(variable);
    struct url url;
    struct error error;

    error_clear(&error);
    if (text == NULL || url_parse(&url, text, false, &error) != STATUS_OK) {
        fprintf(stderr, "contract: %s is not set to a URL\n", variable);
        return false;
    }
    snprintf(connection_string, sizeof connection_string,
             "Driver={%s};Server=%s;Port=%u;Database=%s;UID=%s;PWD=%s;%s", driver, url.host,
             (unsigned)url.port, url.database, url.user, url.password != NULL ? url.password : "",
             extra);
    snprintf(bad_strings[0], sizeof bad_strings[0],
             "Driver={%s};Server=%s;Port=1;Database=%s;UID=%s", driver, url.host, url.database,
             url.user);
    snprintf(bad_strings[1], sizeof bad_strings[1],
             "Driver={%s};Server=no-such-host.invalid;Port=%u;Database=%s;UID=%s", driver,
             (unsigned)url.port, url.database, url.user);
    url_fini(&url);
    return true;
}

static void add_bad_server(void)
{
    add_bad("port", bad_strings[0], STATUS_LOST, ERROR_UNREACHABLE);
    add_bad("host", bad_strings[1], STATUS_LOST, ERROR_UNREACHABLE);
    add_bad("role", connection_string, STATUS_FATAL, ERROR_AUTH);
    bad_targets[fixture.bad_target_count - 1].target.user = "no_such_role";
}

#if APPEND_HAVE_POSTGRESQL
extern const struct fixture_place fixture_postgresql;

static const struct fixture *open_postgresql(void)
{
    static const char driver[] = "PostgreSQL Unicode";
    const struct fixture *other = has_driver(driver) ? fixture_postgresql.open() : NULL;
    if (other == NULL || !use_server(driver, "APPEND_TEST_POSTGRESQL", "")) {
        return NULL;
    }
    take_over(other);
    add_bad_server();
    fixture.broken_sqlstate = NULL;
    fixture.needs_type = true; /* psqlODBC sends no type for texts and floats of 32 bits */
    return &fixture;
}

static void close_postgresql(void)
{
    fixture_postgresql.close();
}

const struct fixture_place fixture_odbc_postgresql = {open_postgresql, close_postgresql};
#endif

#if APPEND_HAVE_MARIADB
extern const struct fixture_place fixture_mariadb;

static const struct fixture *open_mariadb(void)
{
    static const char driver[] = "MariaDB Unicode";
    const struct fixture *other = has_driver(driver) ? fixture_mariadb.open() : NULL;
    if (other == NULL || !use_server(driver, "APPEND_TEST_MARIADB", "")) {
        return NULL;
    }
    take_over(other);
    fixture.holds_results = true;
    fixture.truncates_floats = true; /* this driver sends floats with six digits */
    add_bad_server();
    fixture.broken_sqlstate = NULL;
    return &fixture;
}

static void close_mariadb(void)
{
    fixture_mariadb.close();
}

const struct fixture_place fixture_odbc_mariadb = {open_mariadb, close_mariadb};
#endif

#if APPEND_HAVE_SQLITE
/* SQLite through its driver. The driver cannot be interrupted, so there is no test with an endless
 * query. */
extern const struct fixture_place fixture_sqlite;

static const struct fixture *open_sqlite(void)
{
    static const char driver[] = "SQLite3";
    const struct fixture *other = has_driver(driver) ? fixture_sqlite.open() : NULL;
    if (other == NULL) {
        return NULL;
    }
    snprintf(connection_string, sizeof connection_string,
             "Driver={%s};Database=%s;JournalMode=WAL;FKSupport=1", driver, other->target.path);
    snprintf(bad_strings[0], sizeof bad_strings[0], "Driver={%s};Database=/nonexistent/x.db",
             driver);
    take_over(other);
    add_bad("no such folder", bad_strings[0], STATUS_FATAL, ERROR_NOT_FOUND);
    fixture.endless_sql = NULL;
    fixture.missing_method = "array";
    fixture.keeps_columns = true; /* the driver checks for changes before SQLite does */
    return &fixture;
}

static void close_sqlite(void)
{
    fixture_sqlite.close();
}

const struct fixture_place fixture_odbc_sqlite = {open_sqlite, close_sqlite};
#endif
