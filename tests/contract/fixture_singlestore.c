/*
 * The stand-in for SingleStore's Data API (tests/standin/singlestore_standin.py). Tests that pass
 * here prove nothing about the SQL of a real server.
 */
#include "observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static struct observer place;

static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    json_t *const request = json_pack("{s:s, s:s}", "sql", sql, "database", "db");
    char *const body = json_dumps(request, 0);
    const bool is_good =
        observer_request_json(&place, "POST /api/v2/query/tuples",
                              "Authorization: Bearer secret\r\nContent-Type: application/json\r\n",
                              body, "results/0/rows/0/0", text);
    free(body);
    json_decref(request);
    return is_good;
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
     "printf('%.9g', c_float32)",
     {"1.5", "-3.4028235e+38", "3.4028235e+38", "0.1"}},
    {"c_float64",
     COLUMN_FLOAT64,
     "printf('%.16g', c_float64)",
     {"0.1", "-1.797693134862316e+308", "1.797693134862316e+308", "-2.5"}},
    {"c_decimal", COLUMN_DECIMAL, "c_decimal", {DECIMAL_TEXTS}},
    {"c_decimal20", COLUMN_DECIMAL, "c_decimal20", {DECIMAL20_TEXTS}},
    {"c_char", COLUMN_TEXT, "c_char", {0}},
    {"c_varchar", COLUMN_TEXT, "c_varchar", {0}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_varbinary", COLUMN_BYTES, "lower(hex(c_varbinary))", {0}},
    {"c_blob", COLUMN_BYTES, "lower(hex(c_blob))", {0}},
    {"c_json", COLUMN_JSON, "c_json", {0}},
    {"c_date", COLUMN_DATE, "c_date", {DATE_TEXTS}},
    {"c_time", COLUMN_TIME, "c_time", {TIME_TEXTS}},
    {"c_datetime", COLUMN_TIMESTAMP, "c_datetime", {TIMESTAMP_TEXTS}},
    {"c_raw4", COLUMN_IP4, "lower(hex(c_raw4))", {"c0000207", "00000000", "ffffffff", "0a000001"}},
    {"c_raw6", COLUMN_IP6, "lower(hex(c_raw6))", {IP6_BYTES}},
    {"c_text4", COLUMN_IP4, "c_text4", {IP4_TEXTS}},
    {"c_uuid", COLUMN_UUID, "c_uuid", {UUID_TEXTS}},
};

static const char every_type_sql[] =
    "create table every_type (id int not null, c_bool boolean, c_int8 tinyint, c_int16 smallint,"
    " c_int24 mediumint, c_int32 int, c_int64 bigint, c_float32 float, c_float64 double,"
    " c_decimal decimal(10,2), c_decimal20 decimal(30,20), c_char char(40), c_varchar varchar(40),"
    " c_text text, c_varbinary varbinary(300), c_blob blob, c_json json, c_date date,"
    " c_time time(6), c_datetime datetime(6), c_raw4 varbinary(4) comment 'ipv4',"
    " c_raw6 varbinary(16) comment 'ipv6', c_text4 varchar(15) comment 'ipv4',"
    " c_uuid char(36) comment 'uuid')";

static const struct bad_target bad_targets[] = {
    {BAD_PORT},
    {BAD_HOST},
    {BAD_USER},
    {BAD_PASSWORD},
    {BAD_PARAMETER},
    {BAD_SCHEMA},
    {"database", {.database = "no_such_database"}, STATUS_FATAL, ERROR_NOT_FOUND, NULL},
};

static const struct fixture *open_fixture(void)
{
    static struct fixture fixture = {
        .bad_targets = bad_targets,
        .bad_target_count = sizeof bad_targets / sizeof bad_targets[0],
        .every_type_sql = every_type_sql,
        .indexes_sql = "create table indexed (a int, b int, c int, d varchar(9), e int,"
                       " unique key (a, b), key (c), unique key (d, c), unique key (e))",
        .generated_sql =
            "create table computed (id int, g as id * 2 persisted bigint, v varchar(40))",
        .cases = cases,
        .case_count = sizeof cases / sizeof cases[0],
        .read_text = read_text,
        .break_connections = observer_kick,
        .endless_sql = "select sleep(60)",
        .session_limit = "max_connection_threads",
        .holds_results = true,
        .reconnects_idle = true,
        .has_no_deferred = true,
    };
    const char *const arguments[] = {"--password", "secret", NULL};
    if (!observer_start(&place, "singlestore", arguments)) {
        return NULL;
    }
    fixture.target = (struct target){.scheme = "singlestore+http",
                                     .host = place.host,
                                     .port = (uint16_t)strtoul(place.port, NULL, 10),
                                     .password = "secret",
                                     .database = "db",
                                     .connect_timeout_s = 5};
    return &fixture;
}

const struct fixture_place fixture_singlestore = {open_fixture, observer_stop};
