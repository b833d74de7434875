/*
 * The stand-in for ArangoDB (tests/standin/arangodb_standin.py). Tests that pass here prove nothing
 * about a real server.
 */
#include "observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static struct observer place;

/* Runs "select EXPRESSION from TABLE where id = N" and "select count(COLUMN) from TABLE". */
static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    char name[64], table[64], id[16], query[200];
    const bool is_count = sscanf(sql, "select count(%63[^)]) from %63s", name, table) == 2;
    if (is_count) {
        snprintf(query, sizeof query, "FOR d IN %s FILTER d.%s != null RETURN 1", table, name);
    } else if (sscanf(sql, "select %63s from %63s where id = %15s", name, table, id) == 3) {
        snprintf(query, sizeof query, "FOR d IN %s FILTER d.id == %s RETURN d.%s", table, id, name);
    } else {
        return false;
    }
    json_t *const request = json_pack("{s:s}", "query", query);
    char *const body = json_dumps(request, 0);
    const bool is_good = observer_request_json(&place, "POST /_db/contract/_api/cursor",
                                               "Authorization: Basic cm9vdDpzZWNyZXQ=\r\n", body,
                                               is_count ? "result" : "result/0", text);
    free(body);
    json_decref(request);
    if (is_good && is_count) {
        json_t *const rows = json_loads(text, 0, NULL);
        snprintf(text, FIXTURE_TEXT_BYTES, "%zu", json_array_size(rows));
        json_decref(rows);
    }
    return is_good;
}

static bool refuse_rows(unsigned rows)
{
    char command[16];
    snprintf(command, sizeof command, "%u", rows);
    return observer_command(command);
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
    {"c_decimal", COLUMN_DECIMAL, "c_decimal", {"12345.67", "-99999999.99", "99999999.99", "0.0"}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_date", COLUMN_DATE, "c_date", {DATE_TEXTS}},
    {"c_time", COLUMN_TIME, "c_time", {TIME_TEXTS}},
    {"c_timestamp", COLUMN_TIMESTAMP, "c_timestamp", {TIMESTAMP_TEXTS}},
    {"c_uuid", COLUMN_UUID, "c_uuid", {UUID_TEXTS}},
    {"c_ip4", COLUMN_IP4, "c_ip4", {IP4_TEXTS}},
    {"c_ip6", COLUMN_IP6, "c_ip6", {IP6_TEXTS}},
};

static const struct phrase phrases[] = {
    {"select 1", "RETURN 1"},
    {"select 11, -12", "RETURN [11, -12]"},
    {"select id, id from no_such_table", "FOR d IN no_such_table RETURN [d.id, d.id]"},
    {"select id, id from keyed", "FOR d IN keyed RETURN [d.id, d.id]"},
    {"select id from keyed", "FOR d IN keyed RETURN [d.id]"},
    {"select id, v from keyed where id = 0", "FOR d IN keyed FILTER d.id == 0 RETURN [d.id, d.v]"},
    {"select id, v from keyed where id = 1", "FOR d IN keyed FILTER d.id == 1 RETURN [d.id, d.v]"},
    {"insert into keyed (v, id) values (?, ?)", "INSERT {v: ?, id: ?} INTO keyed"},
    {"select v, id from keyed where id = ? and '?' <> 'x'",
     "FOR d IN keyed FILTER d.id == ? RETURN [d.v, d.id]"},
    {0},
};

static const struct bad_target bad_targets[] = {
    {BAD_PORT},
    {BAD_HOST},
    {BAD_USER},
    {BAD_PASSWORD},
    {BAD_PARAMETER},
    {BAD_SCHEMA},
    {"value of a parameter", {.query = "shards=0"}, STATUS_FATAL, ERROR_USAGE, NULL},
};

static const struct fixture *open_fixture(void)
{
    static struct fixture fixture = {
        .bad_targets = bad_targets,
        .bad_target_count = sizeof bad_targets / sizeof *bad_targets,
        .cases = cases,
        .case_count = sizeof cases / sizeof *cases,
        .phrases = phrases,
        .read_text = read_text,
        .break_connections = observer_kick,
        .refuse_rows = refuse_rows,
        .endless_sql = "RETURN SLEEP(60)",
        .holds_results = true,
        .reconnects_idle = true,
        .has_no_columns = true,
        .has_no_deferred = true,
        .takes_parameters = true,
        .hides_limits = true,
    };
    const char *const arguments[] = {"--user", "root", "--password", "secret", NULL};
    if (!observer_start(&place, "arangodb", arguments)) {
        return NULL;
    }
    fixture.target = (struct target){.scheme = "arangodb",
                                     .host = place.host,
                                     .port = (uint16_t)strtoul(place.port, NULL, 10),
                                     .user = "root",
                                     .password = "secret",
                                     .database = "contract",
                                     .connect_timeout_s = 5};
    return &fixture;
}

const struct fixture_place fixture_arangodb = {open_fixture, observer_stop};
