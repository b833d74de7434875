#include "fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/append_contract_XXXXXX";
static char path[64];
static char foreign_path[64];
static char missing_path[64];

static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    bool is_read = false;
    if (sqlite3_open(path, &database) == SQLITE_OK &&
        sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        const unsigned char *value = sqlite3_column_text(statement, 0);
        snprintf(text, FIXTURE_TEXT_BYTES, "%s", value == NULL ? "(null)" : (const char *)value);
        is_read = true;
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return is_read;
}

static const struct value_case cases[] = {
    {"c_bool", COLUMN_BOOL, "c_bool", {BOOL_NUMBERS}},
    {"c_int16", COLUMN_INT16, "c_int16", {INT16_TEXTS}},
    {"c_int32", COLUMN_INT32, "c_int32", {INT32_TEXTS}},
    {"c_int64", COLUMN_INT64, "c_int64", {INT64_TEXTS}},
    {"c_float32",
     COLUMN_FLOAT32,
     "printf('%.7g', c_float32)",
     {"1.5", "-3.402823e+38", "3.402823e+38", "0.1"}},
    {"c_float64",
     COLUMN_FLOAT64,
     "printf('%!.15g', c_float64)",
     {"0.1", "-1.79769313486232e+308", "1.79769313486232e+308", "-2.5"}},
    {"c_decimal", COLUMN_DECIMAL, "printf('%.2f', c_decimal)", {DECIMAL_TEXTS}},
    {"c_varchar", COLUMN_TEXT, "c_varchar", {0}},
    {"c_text", COLUMN_TEXT, "c_text", {0}},
    {"c_blob", COLUMN_BYTES, "lower(hex(c_blob))", {0}},
    {"c_json", COLUMN_JSON, "c_json", {0}},
    {"c_date", COLUMN_DATE, "c_date", {DATE_TEXTS}},
    {"c_time", COLUMN_TIME, "c_time", {TIME_TEXTS}},
    {"c_timestamp", COLUMN_TIMESTAMP, "c_timestamp", {TIMESTAMP_TEXTS}},
    {"c_uuid", COLUMN_UUID, "c_uuid", {UUID_TEXTS}},
    {"c_ip4", COLUMN_IP4, "c_ip4", {IP4_TEXTS}},
    {"c_ip6", COLUMN_IP6, "c_ip6", {IP6_TEXTS}},
};

static const struct bad_target bad_targets[] = {
    {"no such folder", {.path = "/nonexistent/folder/x.db"}, STATUS_FATAL, ERROR_NOT_FOUND, NULL},
    {"not a database", {.path = foreign_path}, STATUS_FATAL, ERROR_UNSUPPORTED, NULL},
    {"no file",
     {.path = missing_path, .creates_nothing = true},
     STATUS_FATAL,
     ERROR_NOT_FOUND,
     NULL},
    {"no path", {0}, STATUS_FATAL, ERROR_USAGE, NULL},
};

static const struct fixture *open_fixture(void)
{
    static const struct fixture fixture = {
        .target = {.scheme = "sqlite", .path = path, .connect_timeout_s = 5},
        .bad_targets = bad_targets,
        .bad_target_count = sizeof bad_targets / sizeof bad_targets[0],
        .every_type_sql =
            "create table every_type (id int not null, c_bool boolean, c_int16 smallint,"
            " c_int32 int, c_int64 bigint, c_float32 float, c_float64 double,"
            " c_decimal decimal(10,2), c_varchar varchar(40), c_text text, c_blob blob,"
            " c_json json text, c_date date, c_time time, c_timestamp timestamp, c_uuid uuid,"
            " c_ip4 ipv4 text, c_ip6 ipv6 text)",
        .special_sql = "create table special (id integer primary key, u int unique not null,"
                       " d int default 7, g int generated always as (d + 1) stored)",
        .ignoring_sql = "create table ignoring (id int unique on conflict ignore)",
        .cases = cases,
        .case_count = sizeof cases / sizeof cases[0],
        .read_text = read_text,
        .locks_database = true,
        .endless_sql = "with recursive n(i) as (select 1 union all select i + 1 from n)"
                       " select count(*) from n where i < 0",
    };
    if (mkdtemp(folder) == NULL) {
        fprintf(stderr, "contract: no temporary folder\n");
        return NULL;
    }
    snprintf(path, sizeof path, "%s/test.db", folder);
    snprintf(foreign_path, sizeof foreign_path, "%s/foreign", folder);
    snprintf(missing_path, sizeof missing_path, "%s/missing", folder);
    FILE *file = fopen(foreign_path, "w");
    if (file == NULL) {
        return NULL;
    }
    for (int i = 0; i < 200; i++) {
        fputs("this is not a database\n", file);
    }
    fclose(file);
    return &fixture;
}

static void close_fixture(void)
{
    static const char *const names[] = {"test.db", "test.db-wal", "test.db-shm", "foreign"};
    char name[80];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        unlink(name);
    }
    rmdir(folder);
}

const struct fixture_place fixture_sqlite = {open_fixture, close_fixture};
