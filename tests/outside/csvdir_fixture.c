/* The fixture with which append-contract tests csvdir. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "append/fixture.h"

static char folder[] = "/tmp/append_csvdir_XXXXXX";

/* Copies one field from the file, without its quotes. Returns the byte that ends the field, or
 * EOF. */
static int read_field(FILE *file, char *text, bool *is_null)
{
    bool is_quoted = false;
    char before = '\0';
    int byte;
    size_t length = 0;
    *is_null = true;
    while ((byte = getc(file)) != EOF && (is_quoted || (byte != ',' && byte != '\n'))) {
        is_quoted = is_quoted != (byte == '"');
        /* two quotes within a text stand for one quote: the first is skipped, the second is kept */
        if (byte != '"' || (is_quoted && before == '"')) {
            text[length++] = (char)byte;
        }
        before = (char)byte;
        *is_null = false;
    }
    text[length] = '\0';
    return byte;
}

/* Reads "select COLUMN from TABLE where id = N" or "select count(COLUMN) from TABLE". */
static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    static char field[FIXTURE_TEXT_BYTES], value[FIXTURE_TEXT_BYTES];
    char column[80] = "", table[80] = "", path[200];
    int id = -1, key = -1, wanted = -1, count = 0, end = ',';
    bool is_null = false, is_found = false;
    const bool is_count = sscanf(sql, "select count(%79[^)]) from %79s", column, table) == 2;
    if (!is_count && sscanf(sql, "select %79s from %79s where id = %d", column, table, &id) != 3) {
        return false;
    }
    snprintf(path, sizeof path, "%s/%s.csv", folder, table);
    FILE *file = fopen(path, "r");
    for (int i = 0; file != NULL && end == ','; i++) {
        end = read_field(file, field, &is_null);
        field[strcspn(field, ":")] = '\0';
        wanted = strcmp(field, column) == 0 ? i : wanted;
        key = strcmp(field, "id") == 0 ? i : key;
    }
    while (file != NULL && wanted >= 0 && end != EOF) {
        bool is_row = false;
        end = ',';
        for (int i = 0; end == ','; i++) {
            end = read_field(file, field, &is_null);
            is_row = is_row || (i == key && strtol(field, NULL, 10) == id);
            count += i == wanted && !is_null;
            if (i == wanted) {
                snprintf(value, sizeof value, "%s", is_null ? "(null)" : field);
            }
        }
        if (is_row && end != EOF) {
            snprintf(text, FIXTURE_TEXT_BYTES, "%s", value);
            is_found = true;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    if (is_count) {
        snprintf(text, FIXTURE_TEXT_BYTES, "%d", count);
    }
    return is_found || is_count;
}

static const struct value_case cases[] = {
    {"c_bool", COLUMN_BOOL, "c_bool", {"1", "0", "1", "1"}},
    {"c_int16", COLUMN_INT16, "c_int16", {INT16_TEXTS}},
    {"c_int32", COLUMN_INT32, "c_int32", {INT32_TEXTS}},
    {"c_int64", COLUMN_INT64, "c_int64", {INT64_TEXTS}},
    {"c_decimal", COLUMN_DECIMAL, "c_decimal", {"12345.67", "-99999999.99", "99999999.99", "0.00"}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_json", COLUMN_JSON, "c_json", {0}},
    {"c_date", COLUMN_DATE, "c_date", {DATE_TEXTS}},
    {"c_time", COLUMN_TIME, "c_time", {TIME_TEXTS}},
    {"c_timestamp", COLUMN_TIMESTAMP, "c_timestamp", {TIMESTAMP_TEXTS}},
    {"c_uuid", COLUMN_UUID, "c_uuid", {UUID_TEXTS}},
    {"c_ip4", COLUMN_IP4, "c_ip4", {IP4_TEXTS}},
    {"c_ip6", COLUMN_IP6, "c_ip6", {IP6_TEXTS}},
};

static const struct bad_target bad_targets[] = {
    {"no such folder",
     {.path = "/nonexistent/folder", .creates_nothing = true},
     STATUS_FATAL,
     ERROR_NOT_FOUND,
     NULL},
};

static const struct phrase phrases[] = {{"select 1", "nothing"}, {NULL, NULL}};

static const struct fixture fixture = {
    .target = {.scheme = "csvdir", .path = folder, .connect_timeout_s = 5},
    .bad_targets = bad_targets,
    .bad_target_count = sizeof bad_targets / sizeof bad_targets[0],
    .every_type_sql = "create every_type id:int32,c_bool:bool,c_int16:int16,c_int32:int32,"
                      "c_int64:int64,c_decimal:decimal,c_text:text:60,c_json:json,c_date:date,"
                      "c_time:time,c_timestamp:timestamp,c_uuid:uuid,c_ip4:ip4,c_ip6:ip6",
    .cases = cases,
    .case_count = sizeof cases / sizeof cases[0],
    .read_text = read_text,
    .keyed_sql = "create keyed id:int32,v:text:60",
    .keyed_with_more_sql = "create keyed w:int32,id:int32,v:text:60",
    .keyed_with_less_sql = "create keyed id:int32,w:text:60",
    .phrases = phrases,
    .has_no_deferred = true,
    .has_no_rules = true,
};

static const struct fixture *open_fixture(void)
{
    return mkdtemp(folder) != NULL ? &fixture : NULL;
}

static void close_fixture(void)
{
    static const char *const tables[] = {"syslog_table", "keyed", "every_type"};
    char path[200];
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, tables[i]);
        unlink(path);
    }
    rmdir(folder);
}

const struct fixture_module append_fixture_module = {FIXTURE_STRUCT_BYTES,
                                                     {open_fixture, close_fixture}};
