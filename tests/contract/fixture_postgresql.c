#include "fixture.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every test works in a schema of its own, so that a server in use may be given. */
static char schema[40];
static char application[40];
static PGconn *observer;

static bool run(const char *sql, char *text)
{
    PGresult *result = PQexec(observer, sql);
    const ExecStatusType status = PQresultStatus(result);
    const bool is_good =
        status == PGRES_COMMAND_OK || (status == PGRES_TUPLES_OK && PQntuples(result) > 0);
    if (is_good && text != NULL) {
        snprintf(text, FIXTURE_TEXT_BYTES, "%s",
                 PQgetisnull(result, 0, 0) ? "(null)" : PQgetvalue(result, 0, 0));
    }
    if (!is_good) {
        fprintf(stderr, "contract: %s%s\n", sql, PQerrorMessage(observer));
    }
    PQclear(result);
    return is_good;
}

static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    return run(sql, text);
}

/* Waits until they are gone from the list, for a backend ends some time after it is told to. */
static bool break_connections(void)
{
    char sql[256];
    char text[FIXTURE_TEXT_BYTES];
    snprintf(sql, sizeof sql,
             "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity"
             " where application_name = '%s' and pid <> pg_backend_pid()",
             application);
    return run(sql, text) && strcmp(text, "0") != 0;
}

static const struct value_case cases[] = {
    {"c_bool", COLUMN_BOOL, "c_bool::text", {"true", "false", "true", "true"}},
    {"c_int16", COLUMN_INT16, "c_int16::text", {"1234", "-32768", "32767", "0"}},
    {"c_int32", COLUMN_INT32, "c_int32::text", {"123456", "-2147483648", "2147483647", "-1"}},
    {"c_int64",
     COLUMN_INT64,
     "c_int64::text",
     {"1234567890123", "-9223372036854775808", "9223372036854775807", "-1"}},
    {"c_float32",
     COLUMN_FLOAT32,
     "c_float32::text",
     {"1.5", "-3.4028235e+38", "3.4028235e+38", "0.1"}},
    {"c_float64",
     COLUMN_FLOAT64,
     "c_float64::text",
     {"0.1", "-1.7976931348623157e+308", "1.7976931348623157e+308", "-2.5"}},
    {"c_decimal",
     COLUMN_DECIMAL,
     "c_decimal::text",
     {"12345.67", "-99999999.99", "99999999.99", "0.00"}},
    {"c_decimal5",
     COLUMN_DECIMAL,
     "c_decimal5::text",
     {"12.34567", "-9999999999999.99999", "9999999999999.99999", "0.00000"}},
    {"c_decimal20",
     COLUMN_DECIMAL,
     "c_decimal20::text",
     {"0.00000000000001234567", "-0.00999999999999999999", "0.00999999999999999999",
      "0.00000000000000000000"}},
    {"c_numeric",
     COLUMN_DECIMAL,
     "c_numeric::text",
     {"1234567", "-999999999999999999", "999999999999999999", "0"}},
    {"c_char", COLUMN_TEXT, "c_char::text", {0}},
    {"c_varchar", COLUMN_TEXT, "c_varchar::text", {0}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_domain", COLUMN_TEXT, "c_domain::text", {0}},
    {"c_bytea", COLUMN_BYTES, "encode(c_bytea, 'hex')", {0}},
    {"c_json", COLUMN_JSON, "c_json::text", {0}},
    {"c_jsonb", COLUMN_JSON, "c_jsonb::text", {0}},
    {"c_date",
     COLUMN_DATE,
     "c_date::text",
     {"2024-02-29", "0001-01-01", "9999-12-31", "1969-12-31"}},
    {"c_time",
     COLUMN_TIME,
     "c_time::text",
     {"12:34:56.789012", "00:00:00", "23:59:59.999999", "00:00:00.000001"}},
    {"c_timetz",
     COLUMN_TIME,
     "c_timetz::text",
     {"12:34:56.789012+00", "00:00:00+00", "23:59:59.999999+00", "00:00:00.000001+00"}},
    {"c_timestamp",
     COLUMN_TIMESTAMP,
     "c_timestamp::text",
     {"2024-02-29 12:34:56.789012", "1677-09-21 00:12:43.145224", "2262-04-11 23:47:16.854775",
      "1969-12-31 23:59:59.999999"}},
    {"c_timestamptz",
     COLUMN_TIMESTAMP,
     "(c_timestamptz at time zone 'UTC')::text",
     {"2024-02-29 12:34:56.789012", "1677-09-21 00:12:43.145224", "2262-04-11 23:47:16.854775",
      "1969-12-31 23:59:59.999999"}},
    {"c_uuid",
     COLUMN_UUID,
     "c_uuid::text",
     {"01234567-89ab-cdef-fedc-ba9876543210", "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff", "01000000-0000-0000-0000-000000000000"}},
    {"c_ip4",
     COLUMN_IP4,
     "c_ip4::text",
     {"192.0.2.7/32", "0.0.0.0/32", "255.255.255.255/32", "10.0.0.1/32"}},
    {"c_ip6",
     COLUMN_IP6,
     "host(c_ip6)",
     {"2001:db8::1", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::1"}},
    {"c_net",
     COLUMN_IP4,
     "c_net::text",
     {"192.0.2.7/32", "0.0.0.0/32", "255.255.255.255/32", "10.0.0.1/32"}},
};

static const char every_type_sql[] =
    "drop domain if exists short_text cascade;"
    "create domain short_text as varchar(44) not null check (value <> 'x');"
    "create table every_type (id int not null, c_bool boolean, c_int16 smallint, c_int32 int,"
    " c_int64 bigint, c_float32 real, c_float64 double precision, c_decimal numeric(10,2),"
    " c_decimal5 numeric(18,5), c_decimal20 numeric(30,20), c_numeric numeric, c_char char(40),"
    " c_varchar varchar(40), c_text text, c_domain short_text, c_bytea bytea, c_json json,"
    " c_jsonb jsonb, c_date date, c_time time, c_timetz timetz, c_timestamp timestamp,"
    " c_timestamptz timestamptz, c_uuid uuid, c_ip4 inet, c_ip6 inet, c_net cidr)";

static const char special_sql[] =
    "create table special (id int generated by default as identity, u int unique not null,"
    " d int default 7, g int generated always as (d + 1) stored, p point,"
    " a int generated always as identity, s serial, primary key (id))";

static const char ignoring_sql[] =
    "create table ignoring (id int);"
    "create or replace function leave_out() returns trigger language plpgsql as $$ begin"
    "  return case when exists (select from ignoring where id = new.id) then null else new end;"
    " end $$;"
    "create trigger leave_out before insert on ignoring for each row execute function leave_out()";

static struct bad_target bad_targets[8];

static size_t make_bad_targets(const char *url)
{
    const struct target base = {.url = url, .connect_timeout_s = 5};
    const char *password_url = getenv("APPEND_TEST_POSTGRESQL_PASSWORD_URL");
    size_t count = 0;
    struct bad_target *bad = bad_targets;

    bad[count] = (struct bad_target){"port", base, STATUS_LOST, ERROR_UNREACHABLE, NULL};
    bad[count].target.host = "127.0.0.1";
    bad[count++].target.port = 1;
    bad[count] = (struct bad_target){"host", base, STATUS_LOST, ERROR_UNREACHABLE, NULL};
    bad[count++].target.host = "no-such-host.invalid";
    bad[count] = (struct bad_target){"database", base, STATUS_FATAL, ERROR_NOT_FOUND, "3D000"};
    bad[count++].target.database = "no_such_database";
    bad[count] = (struct bad_target){"role", base, STATUS_FATAL, ERROR_AUTH, "28000"};
    bad[count++].target.user = "no_such_role";
    bad[count] = (struct bad_target){"url", base, STATUS_FATAL, ERROR_USAGE, NULL};
    bad[count++].target.url = "postgresql://localhost/x?no_such_option=1";
    if (password_url != NULL) {
        bad[count] = (struct bad_target){"no password", base, STATUS_FATAL, ERROR_AUTH, NULL};
        bad[count++].target.url = password_url;
        bad[count] = (struct bad_target){"password", base, STATUS_FATAL, ERROR_AUTH, "28P01"};
        bad[count].target.url = password_url;
        bad[count++].target.password = "wrong";
    }
    return count;
}

const struct fixture *fixture_postgresql_open(void)
{
    static struct fixture fixture = {
        .bad_targets = bad_targets,
        .every_type_sql = every_type_sql,
        .special_sql = special_sql,
        .ignoring_sql = ignoring_sql,
        .cases = cases,
        .case_count = sizeof cases / sizeof cases[0],
        .read_text = read_text,
        .break_connections = break_connections,
        .broken_sqlstate = "57P01",
        .duplicate_sqlstate = "23505",
        .port_sql = "select inet_server_port()",
        .endless_sql = "select pg_sleep(60)",
        .sees_conflicts = true,
    };
    const char *url = getenv("APPEND_TEST_POSTGRESQL");
    char sql[160];

    if (url == NULL || url[0] == '\0') {
        fprintf(stderr, "contract: APPEND_TEST_POSTGRESQL is not set (a connection URL)\n");
        return NULL;
    }
    observer = PQconnectdb(url);
    if (PQstatus(observer) != CONNECTION_OK) {
        fprintf(stderr, "contract: %s", PQerrorMessage(observer));
        return NULL;
    }
    /* Blanks and quotes: a schema's name may hold any character. */
    snprintf(schema, sizeof schema, "Contract \"%d\"\\", (int)getpid());
    snprintf(application, sizeof application, "append_contract_%d", (int)getpid());
    setenv("PGAPPNAME", application, 1);
    char *quoted = PQescapeIdentifier(observer, schema, strlen(schema));
    snprintf(sql, sizeof sql, "create schema %s; set search_path = %s", quoted, quoted);
    PQfreemem(quoted);
    if (!run(sql, NULL)) {
        return NULL;
    }
    fixture.target = (struct target){
        .scheme = "postgresql", .url = url, .schema = schema, .connect_timeout_s = 5};
    fixture.bad_target_count = make_bad_targets(url);
    return &fixture;
}

void fixture_postgresql_close(void)
{
    char sql[160];
    char *quoted = PQescapeIdentifier(observer, schema, strlen(schema));
    snprintf(sql, sizeof sql, "set client_min_messages = error; drop schema %s cascade", quoted);
    run(sql, NULL);
    PQfreemem(quoted);
    PQfinish(observer);
}
