/*
 * ClickHouse at the URL in APPEND_TEST_CLICKHOUSE: clickhouse://user@host:port/database. The user
 * must be allowed to create and drop databases.
 */
#include "observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The database of this process. Other tests can use the server at the same time. */
static char database[40];
static char user[64];
static struct observer place;

static bool ask(const char *sql, char body[FIXTURE_TEXT_BYTES])
{
    char request[160];
    snprintf(request, sizeof request, "POST /?database=%s&user=%s", database, user);
    return observer_request(&place, request, "", sql, body);
}

static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s format TabSeparatedRaw", sql);
    if (!ask(whole, text)) {
        return false;
    }
    const size_t length = strlen(text);
    if (length > 0) {
        text[length - 1] = '\0';
    }
    return length > 0;
}

static const struct value_case cases[] = {
    {"c_bool", COLUMN_BOOL, "c_bool", {BOOL_NUMBERS}},
    {"c_int8", COLUMN_DECIMAL, "c_int8", {INT8_TEXTS}},
    {"c_int16", COLUMN_INT16, "c_int16", {INT16_TEXTS}},
    {"c_int32", COLUMN_INT32, "c_int32", {INT32_TEXTS}},
    {"c_int64", COLUMN_INT64, "c_int64", {INT64_TEXTS}},
    {"c_float32", COLUMN_FLOAT32, "c_float32", {FLOAT32_TEXTS}},
    {"c_float64", COLUMN_FLOAT64, "c_float64", {FLOAT64_TEXTS}},
    {"c_decimal", COLUMN_DECIMAL, "c_decimal", {DECIMAL_TEXTS}},
    {"c_varchar", COLUMN_TEXT, "c_varchar", {0}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_blob", COLUMN_BYTES, "lower(hex(c_blob))", {0}},
    {"c_json", COLUMN_JSON, "c_json", {0}},
    {"c_date", COLUMN_DATE, "toUInt16(c_date)", {"19782", "0", "49672", "1"}},
    {"c_timestamp",
     COLUMN_TIMESTAMP,
     "toUnixTimestamp(c_timestamp)",
     {"1709210096", "0", "4291747199", "0"}},
    {"c_time", COLUMN_TIME, "c_time", {TIME_TEXTS}},
    {"c_uuid", COLUMN_UUID, "c_uuid", {UUID_TEXTS}},
    {"c_ip4", COLUMN_IP4, "IPv4NumToString(c_ip4)", {IP4_TEXTS}},
    {"c_ip6", COLUMN_IP6, "lower(hex(c_ip6))", {IP6_BYTES}},
};

static const char every_type_sql[] =
    "create table every_type (id Int32, c_bool Nullable(UInt8), c_int8 Nullable(Int8),"
    " c_int16 Nullable(Int16), c_int32 Nullable(Int32), c_int64 Nullable(Int64),"
    " c_float32 Nullable(Float32), c_float64 Nullable(Float64), c_decimal Nullable(Decimal(10, 2)),"
    " c_varchar Nullable(String) comment 'varchar(40)', c_text String,"
    " c_blob Nullable(String) comment 'blob', c_json Nullable(String) comment 'json',"
    " c_date Nullable(Date), c_timestamp Nullable(DateTime),"
    " c_time Nullable(String) comment 'time', c_uuid Nullable(UUID),"
    " c_ip4 Nullable(UInt32) comment 'ipv4', c_ip6 Nullable(FixedString(16)) comment 'ipv6')"
    " ENGINE = MergeTree() ORDER BY id";

static const struct bad_target bad_targets[] = {
    {BAD_PORT},
    {BAD_HOST},
    {BAD_USER},
    {BAD_PASSWORD},
    {BAD_SCHEMA},
    {"database", {.database = "append_no_such_database"}, STATUS_FATAL, ERROR_NOT_FOUND, NULL},
    {"setting", {.query = "no_such_setting=1"}, STATUS_FATAL, ERROR_USAGE, NULL},
    {"parameter", {.query = "session_id=1"}, STATUS_FATAL, ERROR_USAGE, NULL},
};

static const struct fixture *open_fixture(void)
{
    static struct fixture fixture = {
        .bad_targets = bad_targets,
        .bad_target_count = sizeof bad_targets / sizeof bad_targets[0],
        .every_type_sql = every_type_sql,
        .cases = cases,
        .case_count = sizeof cases / sizeof cases[0],
        .read_text = read_text,
        .endless_sql = "select count(*) from (select sleep(1) from system.numbers limit 60)"
                       " settings max_block_size = 1",
        .keyed_sql = "create table keyed (id Int32, v Nullable(String) comment 'varchar(60)')"
                     " ENGINE = MergeTree() ORDER BY id",
        .keyed_with_more_sql = "create table keyed (w Int32, id Int32, v Nullable(String))"
                               " ENGINE = MergeTree() ORDER BY id",
        .keyed_with_less_sql = "create table keyed (id Int32, w String)"
                               " ENGINE = MergeTree() ORDER BY id",
        .generated_sql = "create table computed (id Int32, g Int32 materialized id * 2, v String)"
                         " ENGINE = Memory",
        .numbers_sql = "create table numbers (id Int32, small Int16, big Nullable(Int64),"
                       " word String) ENGINE = Memory",
        .has_no_deferred = true,
        .has_no_rules = true,
        .takes_parameters = true,
        .fills_columns = true,
        .is_modern = true,
        .hides_limits = true,
    };
    static char body[FIXTURE_TEXT_BYTES], sql[80];
    const char *url = getenv("APPEND_TEST_CLICKHOUSE");
    if (url == NULL || url[0] == '\0') {
        fprintf(stderr, "contract: APPEND_TEST_CLICKHOUSE is not set (a connection URL)\n");
        return NULL;
    }
    if (sscanf(url, "clickhouse://%63[^@:]@%127[^:]:%7[0-9]", user, place.host, place.port) != 3) {
        fprintf(stderr,
                "contract: APPEND_TEST_CLICKHOUSE is not clickhouse://user@host:port/...\n");
        return NULL;
    }
    snprintf(sql, sizeof sql, "create database append_contract_%d", (int)getpid());
    snprintf(database, sizeof database, "default");
    if (!ask(sql, body)) {
        return NULL;
    }
    snprintf(database, sizeof database, "append_contract_%d", (int)getpid());
    fixture.target = (struct target){.scheme = "clickhouse",
                                     .host = place.host,
                                     .port = (uint16_t)strtoul(place.port, NULL, 10),
                                     .user = user,
                                     .database = database,
                                     .connect_timeout_s = 5};
    return &fixture;
}

static void close_fixture(void)
{
    static char body[FIXTURE_TEXT_BYTES];
    char sql[80];
    snprintf(sql, sizeof sql, "drop database %s", database);
    ask(sql, body);
}

const struct fixture_place fixture_clickhouse = {open_fixture, close_fixture};
