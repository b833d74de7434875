/*
 * MariaDB, or another server with its protocol, at the URL in APPEND_TEST_MARIADB:
 * mariadb://user@host:port/database. The user must be allowed to create and drop databases and to
 * end connections.
 */
#include "fixture.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The database of this process. Other tests can use the server at the same time. */
static char database[40];
static char url_text[512];
static char password_text[512];
static MYSQL *observer;

struct place {
    const char *host;
    unsigned port;
    const char *user;
    const char *password;
};

/* Splits scheme://user[:password]@host[:port][/database], without decoding. Modifies `text`. */
static bool split_url(char *text, struct place *place)
{
    memset(place, 0, sizeof *place);
    char *user = strstr(text, "://");
    char *host = user != NULL ? strchr(user, '@') : NULL;
    if (host == NULL) {
        return false;
    }
    user += 3;
    *host++ = '\0';
    host[strcspn(host, "/?")] = '\0';
    char *port = strrchr(host, ':');
    if (port != NULL) {
        *port++ = '\0';
        place->port = (unsigned)strtoul(port, NULL, 10);
    }
    char *password = strchr(user, ':');
    if (password != NULL) {
        *password++ = '\0';
    }
    place->host = host;
    place->user = user;
    place->password = password;
    return true;
}

static bool run(const char *sql, char *text)
{
    bool is_good = mysql_query(observer, sql) == 0;
    MYSQL_RES *result = is_good ? mysql_store_result(observer) : NULL;
    if (result != NULL && text != NULL) {
        MYSQL_ROW row = mysql_fetch_row(result);
        is_good = row != NULL;
        if (is_good) {
            snprintf(text, FIXTURE_TEXT_BYTES, "%s", row[0] != NULL ? row[0] : "(null)");
        }
    }
    mysql_free_result(result);
    if (!is_good) {
        fprintf(stderr, "contract: %s: %s\n", sql, mysql_error(observer));
    }
    return is_good;
}

static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    return run(sql, text);
}

/* Ends the sessions and waits until they are not listed any more: a session ends some time after
 * KILL. */
static bool break_connections(void)
{
    static const char list[] = "select coalesce(group_concat(id), '') from"
                               " information_schema.processlist where db = database()"
                               " and id <> connection_id()";
    const struct timespec pause = {.tv_nsec = 10000000};
    char text[FIXTURE_TEXT_BYTES];
    char sql[64];
    bool was_any = false;

    while (run(list, text) && text[0] != '\0') {
        for (const char *id = text; id != NULL; id = strchr(id, ',')) {
            id += *id == ',';
            snprintf(sql, sizeof sql, "kill connection %lu", strtoul(id, NULL, 10));
            mysql_query(observer, sql); /* fails if the session has ended already */
            was_any = true;
        }
        nanosleep(&pause, NULL);
    }
    return was_any;
}

static const struct value_case cases[] = {
    {"c_bool", COLUMN_BOOL, "c_bool", {BOOL_NUMBERS}},
    {"c_int8", COLUMN_DECIMAL, "c_int8", {INT8_TEXTS}},
    {"c_int16", COLUMN_INT16, "c_int16", {INT16_TEXTS}},
    {"c_int24", COLUMN_DECIMAL, "c_int24", {INT24_TEXTS}},
    {"c_int32", COLUMN_INT32, "c_int32", {INT32_TEXTS}},
    {"c_int64", COLUMN_INT64, "c_int64", {INT64_TEXTS}},
    {"c_float32",
     COLUMN_FLOAT32,
     "cast(c_float32 as double)",
     {"1.5", "-3.4028234663852886e38", "3.4028234663852886e38", "0.10000000149011612"}},
    {"c_float64", COLUMN_FLOAT64, "c_float64", {FLOAT64_TEXTS}},
    {"c_decimal", COLUMN_DECIMAL, "c_decimal", {DECIMAL_TEXTS}},
    {"c_decimal5", COLUMN_DECIMAL, "c_decimal5", {DECIMAL5_TEXTS}},
    {"c_decimal20", COLUMN_DECIMAL, "c_decimal20", {DECIMAL20_TEXTS}},
    {"c_char", COLUMN_TEXT, "c_char", {0}},
    {"c_varchar", COLUMN_TEXT, "c_varchar", {0}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_utf16", COLUMN_TEXT, "c_utf16", {0}},
    {"c_varbinary", COLUMN_BYTES, "lower(hex(c_varbinary))", {0}},
    {"c_blob", COLUMN_BYTES, "lower(hex(c_blob))", {0}},
    {"c_json", COLUMN_JSON, "c_json", {"{\"a\": [1, \"x\"]}", "0", NULL, "null"}},
    {"c_date", COLUMN_DATE, "c_date", {DATE_TEXTS}},
    {"c_time", COLUMN_TIME, "c_time", {TIME_TEXTS}},
    {"c_time0", COLUMN_TIME, "c_time0", {"12:34:56", "00:00:00", "23:59:59", "00:00:00"}},
    {"c_datetime", COLUMN_TIMESTAMP, "c_datetime", {TIMESTAMP_TEXTS}},
    {"c_datetime3",
     COLUMN_TIMESTAMP,
     "c_datetime3",
     {"2024-02-29 12:34:56.789", "1677-09-21 00:12:43.145", "2262-04-11 23:47:16.854",
      "1969-12-31 23:59:59.999"}},
    {"c_uuid", COLUMN_UUID, "c_uuid", {UUID_TEXTS}},
    {"c_ip4", COLUMN_IP4, "c_ip4", {IP4_TEXTS}},
    {"c_ip6", COLUMN_IP6, "c_ip6", {IP6_TEXTS}},
    {"c_raw4", COLUMN_IP4, "inet6_ntoa(c_raw4)", {IP4_TEXTS}},
    {"c_raw6", COLUMN_IP6, "inet6_ntoa(c_raw6)", {IP6_TEXTS}},
    {"c_text4", COLUMN_IP4, "c_text4", {IP4_TEXTS}},
    {"c_text6", COLUMN_IP6, "c_text6", {IP6_TEXTS}},
    {"c_text_uuid", COLUMN_UUID, "c_text_uuid", {UUID_TEXTS}},
};

static const char every_type_sql[] =
    "create table every_type (id int not null, c_bool boolean, c_int8 tinyint, c_int16 smallint,"
    " c_int24 mediumint, c_int32 int, c_int64 bigint, c_float32 float, c_float64 double,"
    " c_decimal decimal(10,2), c_decimal5 decimal(18,5), c_decimal20 decimal(30,20),"
    " c_char char(40), c_varchar varchar(40), c_text text,"
    " c_utf16 varchar(50) character set utf16 not null, c_varbinary varbinary(300), c_blob blob,"
    " c_json json, c_date date, c_time time(6), c_time0 time, c_datetime datetime(6),"
    " c_datetime3 datetime(3), c_uuid uuid, c_ip4 inet4, c_ip6 inet6,"
    " c_raw4 varbinary(4) comment 'ipv4', c_raw6 varbinary(16) comment 'ipv6',"
    " c_text4 varchar(15) comment 'ipv4', c_text6 varchar(39) comment 'IPv6',"
    " c_text_uuid char(36) comment 'uuid')";

static const char special_sql[] =
    "create table special (id int auto_increment primary key, u int unique not null,"
    " d int default 7, g int generated always as (d + 1) stored, p point,"
    " a int generated always as (d + 2) virtual, s int not null default 3)";

static const char indexes_sql[] = "create table indexed (a int, b int, c int, d varchar(9), e int);"
                                  "create unique index indexed_ab on indexed (a, b);"
                                  "create index indexed_c on indexed (c);"
                                  "create unique index indexed_dc on indexed (d(3), c);"
                                  "create unique index indexed_e on indexed (e)";

/* The last target is another user of the server, with a password. */
static struct bad_target bad_targets[] = {
    {BAD_PORT},
    {BAD_HOST},
    {BAD_SCHEMA},
    {"socket", {.host = "/no/such/folder"}, STATUS_LOST, ERROR_UNREACHABLE, NULL},
    {"database", {.database = "append_no_such_database"}, STATUS_FATAL, ERROR_NOT_FOUND, "42000"},
    {"user", {.user = "no_such_user", .password = "wrong"}, STATUS_FATAL, ERROR_AUTH, "28000"},
    {"parameter", {.query = "no_such_option=1"}, STATUS_FATAL, ERROR_USAGE, NULL},
    {"ssl", {.query = "ssl=perhaps"}, STATUS_FATAL, ERROR_USAGE, NULL},
    {"encoding", {.query = "ssl=%zz"}, STATUS_FATAL, ERROR_USAGE, NULL},
    {"password", {.password = "wrong"}, STATUS_FATAL, ERROR_AUTH, "28000"},
};

static bool connect_observer(const struct place *place)
{
    char sql[128];
    observer = mysql_init(NULL);
    mysql_optionsv(observer, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(observer, place->host, place->user, place->password, NULL, place->port,
                           NULL, 0) == NULL) {
        fprintf(stderr, "contract: %s\n", mysql_error(observer));
        return false;
    }
    snprintf(database, sizeof database, "append contract %d", (int)getpid());
    snprintf(sql, sizeof sql, "create database `%s` character set utf8mb4", database);
    if (!run(sql, NULL)) {
        return false;
    }
    return mysql_select_db(observer, database) == 0;
}

static const struct fixture *open_fixture(void)
{
    static struct fixture fixture = {
        .bad_targets = bad_targets,
        .bad_target_count = sizeof bad_targets / sizeof bad_targets[0],
        .every_type_sql = every_type_sql,
        .special_sql = special_sql,
        .indexes_sql = indexes_sql,
        .no_rollback_sql = "create table keyed (id int primary key, v varchar(60)) engine=MyISAM",
        .cases = cases,
        .case_count = sizeof cases / sizeof cases[0],
        .read_text = read_text,
        .break_connections = break_connections,
        .duplicate_sqlstate = "23000",
        .endless_sql = "select sleep(60)",
        .port_sql = "select @@port",
        .sends_small_batches = true,
        .opens_silently = true,
        .has_no_deferred = true,
    };
    static struct place place;
    static struct place password;
    const char *url = getenv("APPEND_TEST_MARIADB");
    const char *password_url = getenv("APPEND_TEST_MARIADB_PASSWORD_URL");

    if (url == NULL || url[0] == '\0') {
        fprintf(stderr, "contract: APPEND_TEST_MARIADB is not set (a connection URL)\n");
        return NULL;
    }
    snprintf(url_text, sizeof url_text, "%s", url);
    snprintf(password_text, sizeof password_text, "%s", password_url != NULL ? password_url : "");
    if (!split_url(url_text, &place)) {
        fprintf(stderr, "contract: APPEND_TEST_MARIADB is not mariadb://user@host:port/database\n");
        return NULL;
    }
    if (split_url(password_text, &password)) {
        struct target *const last = &bad_targets[fixture.bad_target_count - 1].target;
        last->host = password.host;
        last->port = (uint16_t)password.port;
        last->user = password.user;
    } else {
        fixture.bad_target_count--;
    }
    if (!connect_observer(&place)) {
        return NULL;
    }
    fixture.target = (struct target){.scheme = "mariadb",
                                     .url = url,
                                     .host = place.host,
                                     .port = (uint16_t)place.port,
                                     .user = place.user,
                                     .password = place.password,
                                     .database = database,
                                     .connect_timeout_s = 5};
    return &fixture;
}

static void close_fixture(void)
{
    char sql[128];
    snprintf(sql, sizeof sql, "drop database `%s`", database);
    run(sql, NULL);
    mysql_close(observer);
}

const struct fixture_place fixture_mariadb = {open_fixture, close_fixture};
