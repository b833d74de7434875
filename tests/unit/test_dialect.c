/* The meaning of databases' answers: limits on sessions from the rows of a simulated server, and
 * the limit that an error names. */
#include <string.h>

#include "unit/unit.h"

#include "adapters/dialect.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The rows of the server. A row has a name and a value; for PostgreSQL it has five columns. */
enum {
    ROWS_MAX = 32,
    CELLS_MAX = 5
};

static const char *rows[ROWS_MAX][CELLS_MAX];
static size_t row_count;
static size_t cell_count;
static struct server_limits limits;

/* Every statement returns all rows. */
static enum status run(struct adapter_conn *conn, const struct statement *statement,
                       const struct batch *parameters, struct answer *answer, struct error *error)
{
    (void)conn;
    (void)statement;
    (void)parameters;
    (void)error;
    for (size_t row = 0; row < row_count; row++) {
        struct cell cells[CELLS_MAX];
        for (size_t i = 0; i < cell_count; i++) {
            const char *text = rows[row][i];
            cells[i] = (struct cell){.type = COLUMN_TEXT,
                                     .is_null = text == NULL,
                                     .as.text = {text, text != NULL ? (uint32_t)strlen(text) : 0}};
        }
        if (!answer->take(answer->context, cells, cell_count)) {
            break;
        }
    }
    return STATUS_OK;
}

static const struct adapter server = {.name = "server", .run = run};

static void add_row(const char *name, const char *value)
{
    rows[row_count][0] = name;
    rows[row_count++][1] = value;
}

static void ask(const struct dialect *dialect, bool prepares)
{
    const struct dialect_asker asker = {.adapter = &server, .prepares = prepares};
    struct error error;
    error_clear(&error);
    memset(&limits, 0, sizeof limits);
    assert_int_equal(dialect->limits(&asker, &limits, &error), STATUS_OK);
}

static int set_up(void **state)
{
    (void)state;
    row_count = 0;
    cell_count = 2;
    add_row("version", "10.11.6-MariaDB");
    add_row("max_connections", "151");
    add_row("Max_User_Connections", "0");
    add_row("thread_handling", "one-thread-per-connection");
    add_row("Threads_connected", "3");
    add_row("max_prepared_stmt_count", "16382");
    add_row("Prepared_stmt_count", "20");
    add_row("account_sessions", "2");
    add_row("account", "'u'@'%'");
    add_row("unheard_of", "7");
    add_row("max_connections", NULL);
    add_row(NULL, "1");
    return 0;
}

TEST_BETWEEN(test_plain_server, set_up, NULL)
{
    ask(&dialect_mysql, true);
    assert_string_equal(limits.version, "MariaDB 10.11.6");
    assert_int_equal(limits.count, 2);
    assert_string_equal(limits.sessions[0].name, "max_connections");
    assert_int_equal(limits.sessions[0].allowed, 151);
    assert_int_equal(limits.sessions[0].used, 3);
    assert_string_equal(limits.sessions[1].name, "max_prepared_stmt_count");
    assert_int_equal(limits.sessions[1].allowed, 16382);
    assert_int_equal(limits.sessions[1].used, 21); /* one of them is for this session */
    assert_int_equal(limits.tasks_per_session, 1);
    assert_int_equal(limits.files_per_session, 1);
}

/* Sessions may keep several prepared statements each; this session already keeps some. */
TEST_BETWEEN(test_statements_of_a_session, set_up, NULL)
{
    static const struct {
        struct dialect_asker asker;
        uint64_t allowed, used;
    } cases[] = {
        {{.prepares = true, .has_prepared = true}, 16382, 20},
        {{.prepares = true, .statements = 10}, 1489, 3},
        {{.prepares = true, .has_prepared = true, .statements = 10, .has_statements = 10}, 1489, 2},
        {{.prepares = false, .statements = 4, .has_statements = 4}, 4095, 5},
        {{.prepares = true, .statements = 40000}, 0, 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dialect_asker asker = cases[i].asker;
        struct error error = {0};
        asker.adapter = &server;
        memset(&limits, 0, sizeof limits);
        assert_int_equal(dialect_mysql.limits(&asker, &limits, &error), STATUS_OK);
        assert_int_equal(limits.count, 2);
        assert_int_equal(limits.sessions[1].allowed, cases[i].allowed);
        assert_int_equal(limits.sessions[1].used, cases[i].used);
    }
    assert_non_null(strstr(limits.sessions[1].note, "keeps 40001"));
    assert_non_null(strstr(limits.sessions[1].fix, "max_prepared_stmt_count = N*40001;"));
}

TEST_BETWEEN(test_thread_pool, set_up, NULL)
{
    add_row("thread_handling", "pool-of-threads");
    ask(&dialect_mysql, false);
    assert_int_equal(limits.count, 1);
    assert_int_equal(limits.tasks_per_session, 0);
}

/* In MariaDB up to 10.11 the privilege SUPER includes CONNECTION ADMIN. */
TEST_BETWEEN(test_administrators, set_up, NULL)
{
    add_row("SUPER", "yes");
    ask(&dialect_mysql, false);
    assert_int_equal(limits.sessions[0].allowed, 152);
    add_row("version", "11.4.2-MariaDB");
    ask(&dialect_mysql, false);
    assert_int_equal(limits.sessions[0].allowed, 151);
    add_row("CONNECTION ADMIN", "yes");
    ask(&dialect_mysql, false);
    assert_int_equal(limits.sessions[0].allowed, 152);
}

TEST_BETWEEN(test_accounts, set_up, NULL)
{
    add_row("max_user_connections", "9");
    add_row("max_user_connections_global", "9");
    ask(&dialect_mysql, true);
    assert_int_equal(limits.count, 3);
    assert_int_equal(limits.sessions[1].allowed, 9);
    assert_int_equal(limits.sessions[1].used, 2);
    assert_string_equal(limits.sessions[1].note, "for every account, here 'u'@'%'");
    add_row("CONNECTION ADMIN", "yes");
    ask(&dialect_mysql, false);
    assert_int_equal(limits.count, 1);
    add_row("max_user_connections", "-1");
    ask(&dialect_mysql, false);
    assert_int_equal(limits.count, 1);
}

TEST_BETWEEN(test_more_limits_than_fit, set_up, NULL)
{
    static const char *const row[CELLS_MAX] = {"some_limit", "-5", "2", NULL, NULL};
    (void)state;
    cell_count = CELLS_MAX;
    for (row_count = 0; row_count < 2 * (size_t)SESSION_LIMITS_MAX; row_count++) {
        memcpy(rows[row_count], row, sizeof row);
    }
    ask(&dialect_postgresql, false);
    assert_int_equal(limits.count, SESSION_LIMITS_MAX);
    assert_int_equal(limits.sessions[0].allowed, 0);
    assert_int_equal(limits.sessions[0].used, 2);
    assert_string_equal(limits.sessions[0].note, "");
}

/* The error of a refused connect names the limit that was reached. A driver's error may have the
 * driver's own number, but the server's text. */
TEST(test_limits_that_errors_name)
{
    static const struct {
        const struct dialect *dialect;
        int number;
        const char *sqlstate;
        const char *text;
        const char *limit; /* NULL if the error names no limit */
    } cases[] = {
        {&dialect_postgresql, 0, "53300", "sorry, too many clients already", "max_connections"},
        {&dialect_postgresql, 0, "53300", "remaining connection slots are reserved",
         "max_connections"},
        {&dialect_postgresql, 0, "53300", "too many connections for role \"a\"", "rolconnlimit"},
        {&dialect_postgresql, 0, "53300", "too many connections for database \"a\"",
         "datconnlimit"},
        {&dialect_postgresql, 101, "08001", "FATAL: sorry, too many clients already",
         "max_connections"},
        {&dialect_postgresql, 0, "53300", "zu viele Verbindungen", ""},
        {&dialect_postgresql, 0, "53200", "out of memory", NULL},
        {&dialect_postgresql, 0, "08P01", "no more connections allowed (max_client_conn)",
         "max_client_conn"},
        {&dialect_postgresql, 0, "", "could not fork new process for connection: x",
         ERROR_LIMIT_TASKS},
        {&dialect_postgresql, 0, "", "server sent an error response during SSL exchange",
         ERROR_LIMIT_TASKS_LIKELY},
        {&dialect_mysql, 1040, "08004", "Trop de connexions", "max_connections"},
        {&dialect_mysql, 1203, "42000", "User a already has more", "max_user_connections"},
        {&dialect_mysql, 1226, "42000", "has exceeded the 'max_user_connections' resource",
         "max_user_connections"},
        {&dialect_mysql, 1226, "42000", "a dépassé 'max_connections_per_hour'",
         "max_connections_per_hour"},
        {&dialect_mysql, 1226, "42000", "has exceeded something else", ""},
        {&dialect_mysql, 0, "08S01", "Too many connections", "max_connections"},
        {&dialect_mysql, 1135, "HY000", "Can't create a new thread", ERROR_LIMIT_TASKS},
        {&dialect_mysql, 1041, "HY000", "Out of memory", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct dialect_failure failure = {.is_connecting = true,
                                                .number = cases[i].number,
                                                .sqlstate = cases[i].sqlstate,
                                                .text = cases[i].text};
        struct dialect_meaning meaning;
        assert_true(cases[i].dialect->classify_error(&failure, &meaning));
        assert_int_equal(meaning.status, STATUS_LOST);
        assert_int_equal(meaning.kind, ERROR_LIMIT);
        if (cases[i].limit == NULL) {
            assert_null(meaning.limit);
        } else {
            assert_string_equal(meaning.limit, cases[i].limit);
        }
    }
}

/* Errors show whether a call may be repeated. */
TEST(test_calls_that_may_be_repeated)
{
    static const struct {
        const struct dialect *dialect;
        int number;
        const char *sqlstate;
        enum status status;
        enum error_kind kind;
    } cases[] = {
        {&dialect_postgresql, 0, "40P01", STATUS_REJECTED, ERROR_DEADLOCK},
        {&dialect_postgresql, 0, "40001", STATUS_REJECTED, ERROR_SERIALIZATION},
        {&dialect_postgresql, 0, "40003", STATUS_LOST, ERROR_CONNECTION},
        {&dialect_postgresql, 0, "08007", STATUS_LOST, ERROR_CONNECTION},
        {&dialect_postgresql, 0, "55P03", STATUS_REJECTED, ERROR_BUSY},
        {&dialect_postgresql, 0, "23505", STATUS_REJECTED, ERROR_DUPLICATE},
        {&dialect_postgresql, 0, "23502", STATUS_REJECTED, ERROR_DATA},
        {&dialect_mysql, 1213, "40001", STATUS_REJECTED, ERROR_DEADLOCK},
        {&dialect_mysql, 1020, "HY000", STATUS_REJECTED, ERROR_SERIALIZATION},
        {&dialect_mysql, 9999, "40001", STATUS_REJECTED, ERROR_SERIALIZATION},
        {&dialect_mysql, 9999, "40003", STATUS_LOST, ERROR_CONNECTION},
        {&dialect_mysql, 1205, "HY000", STATUS_REJECTED, ERROR_BUSY},
        {&dialect_mysql, 1062, "23000", STATUS_REJECTED, ERROR_DUPLICATE},
        {&dialect_mysql, 1452, "23000", STATUS_REJECTED, ERROR_DATA},
        {&dialect_mysql, 1061, "42000", STATUS_REJECTED, ERROR_EXISTS},
        {&dialect_mysql, 9999, "42S11", STATUS_REJECTED, ERROR_EXISTS},
        {&dialect_singlestore, 1061, "", STATUS_REJECTED, ERROR_EXISTS},
        {&dialect_mysql, 1051, "42S02", STATUS_FATAL, ERROR_NOT_FOUND},
        {&dialect_sqlite, 5, "", STATUS_REJECTED, ERROR_BUSY},
        {&dialect_sqlite, 517, "", STATUS_REJECTED, ERROR_SERIALIZATION},
        {&dialect_sqlite, 2067, "", STATUS_REJECTED, ERROR_DUPLICATE},
        {&dialect_sqlite, 1299, "", STATUS_REJECTED, ERROR_DATA}, /* CONSTRAINT_NOTNULL */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct dialect_failure failure = {
            .number = cases[i].number, .sqlstate = cases[i].sqlstate, .text = "refused"};
        struct dialect_meaning meaning;
        assert_true(cases[i].dialect->classify_error(&failure, &meaning));
        assert_int_equal(meaning.status, cases[i].status);
        assert_int_equal(meaning.kind, cases[i].kind);
    }
    /* a table that exists already is not a missing table */
    const struct dialect_failure failure = {.number = 1050, .sqlstate = "42S01", .text = "refused"};
    assert_false(dialect_mysql.classify_error(&failure, &(struct dialect_meaning){STATUS_OK}));
}
