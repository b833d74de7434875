/*
 * InfluxDB 1.x at the URL in APPEND_TEST_INFLUXDB: influxdb://host:port/..., without a password.
 */
#include "observer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/influxdb.h"

/* The database of this process. Other tests can use the server at the same time. */
static char database[40];
static struct observer place;

/* Runs one statement and reads the second value of its first row; the first value is the time. */
static bool ask(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    char request[80], body[512] = "q=";
    for (size_t used = 2; *sql != '\0' && used + 4 < sizeof body; sql++) {
        const bool is_plain = isalnum((unsigned char)*sql);
        used += (size_t)snprintf(body + used, 4, is_plain ? "%c" : "%%%02X", (unsigned char)*sql);
    }
    snprintf(request, sizeof request, "POST /query?db=%s", database);
    return observer_request_json(&place, request,
                                 "Content-Type: application/x-www-form-urlencoded\r\n", body,
                                 "results/0/series/0/values/0/1", text);
}

static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    /* only fields are counted, and the time is not a field */
    if (!ask(strcmp(sql, "select count(time) from every_type") == 0
                 ? "select count(id) from every_type"
                 : sql,
             text)) {
        return false;
    }
    if (strncmp(sql, "select count", 12) == 0 && strcmp(text, "(null)") == 0) {
        snprintf(text, FIXTURE_TEXT_BYTES, "0");
    }
    return true;
}

static const struct value_case cases[] = {
    {"c_bool", COLUMN_BOOL, "c_bool", {BOOL_TEXTS}},
    {"c_int16", COLUMN_INT16, "c_int16", {INT16_TEXTS}},
    {"c_int32", COLUMN_INT32, "c_int32", {INT32_TEXTS}},
    {"c_int64", COLUMN_INT64, "c_int64", {INT64_TEXTS}},
    {"c_float32", COLUMN_FLOAT32, "c_float32", {FLOAT32_TEXTS}},
    {"c_float64",
     COLUMN_FLOAT64,
     "c_float64",
     {"0.1", "-1.79769313486232e308", "1.79769313486232e308", "-2.5"}},
    {"c_decimal", COLUMN_DECIMAL, "c_decimal", {"12345.67", "-99999999.99", "99999999.99", "0"}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_json", COLUMN_JSON, "c_json", {0}},
    {"c_date", COLUMN_DATE, "c_date", {"2024-02-29", "1970-01-01", "2105-12-31", "1970-01-02"}},
    {"c_time", COLUMN_TIME, "c_time", {TIME_TEXTS}},
    {"c_uuid", COLUMN_UUID, "c_uuid", {UUID_TEXTS}},
    {"c_ip4", COLUMN_IP4, "c_ip4", {IP4_TEXTS}},
    {"c_ip6", COLUMN_IP6, "c_ip6", {IP6_TEXTS}},
};

static const struct phrase phrases[] = {
    {"select 1", "select a from usable"},
    {"select 11, -12", "select a, b from usable"},
    {"select id, id from keyed", "select id, id from keyed"},
    {"select id from keyed", "select id from keyed"},
    {"select id, v from keyed where id = 0", "select id, v from keyed where id = 0"},
    {"select id, v from keyed where id = 1", "select id, v from keyed where id = 1"},
    {0},
};

static const struct bad_target bad_targets[] = {
    {BAD_PORT},
    {BAD_HOST},
    {BAD_PARAMETER},
    {BAD_SCHEMA},
};

static const struct column time_column = {
    .name = "time", .type = COLUMN_TIMESTAMP, .native_type = INFLUXDB_TIME};

static const struct fixture *open_fixture(void)
{
    static struct fixture fixture = {
        .bad_targets = bad_targets,
        .bad_target_count = sizeof bad_targets / sizeof *bad_targets,
        .cases = cases,
        .case_count = sizeof cases / sizeof *cases,
        .phrases = phrases,
        .time = &time_column,
        .read_text = read_text,
        .has_no_columns = true,
        .has_no_deferred = true,
        .is_modern = true,
        .hides_limits = true,
    };
    static char text[FIXTURE_TEXT_BYTES];
    char sql[80];
    const char *url = getenv("APPEND_TEST_INFLUXDB");
    if (url == NULL || sscanf(url, "influxdb://%127[^:]:%7[0-9]", place.host, place.port) != 2) {
        fprintf(stderr, "contract: APPEND_TEST_INFLUXDB is not influxdb://host:port/...\n");
        return NULL;
    }
    snprintf(database, sizeof database, "append_contract_%d", (int)getpid());
    snprintf(sql, sizeof sql, "create database %s", database);
    if (!ask(sql, text)) {
        return NULL;
    }
    snprintf(sql, sizeof sql, "POST /write?db=%s", database);
    if (!observer_request(&place, sql, "", "usable a=11i,b=-12i 1", text)) {
        return NULL;
    }
    fixture.target = (struct target){.scheme = "influxdb",
                                     .host = place.host,
                                     .port = (uint16_t)strtoul(place.port, NULL, 10),
                                     .database = database,
                                     .connect_timeout_s = 5};
    return &fixture;
}

static void close_fixture(void)
{
    static char text[FIXTURE_TEXT_BYTES];
    char sql[80];
    snprintf(sql, sizeof sql, "drop database %s", database);
    ask(sql, text);
}

const struct fixture_place fixture_influxdb = {open_fixture, close_fixture};
