/*
 * The stand-in for a Machbase server (tests/standin/machbase_standin.py). The tests connect through
 * the vendor's client library, which APPEND_TEST_MACHBASE_LIB names. Without the library the
 * tests are skipped. The rows that arrived are read from the stand-in's own list.
 */
#include "observer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    LINE_BYTES = 512,
    COLUMNS_MAX = 32,
};

static struct observer place;
static char dump_path[] = "/tmp/append_contract_XXXXXX";

/* Reads one field of a CSV file, truncated to `size`. Returns false if it was the last field of its
 * line. An empty field without quotes is NULL. */
static bool read_field(FILE *file, char *text, size_t size, bool *is_null)
{
    size_t used = 0;
    bool is_quoted = false;
    int c = getc(file);
    *is_null = c != '"';
    for (; c != EOF; c = getc(file)) {
        if (c == '"') {
            const int next = is_quoted ? getc(file) : '\0';
            if (is_quoted && next != '"') {
                ungetc(next, file);
                is_quoted = false;
                continue;
            }
            if (!is_quoted) {
                is_quoted = true;
                continue;
            }
        } else if (!is_quoted && (c == ',' || c == '\n')) {
            break;
        }
        *is_null = false;
        if (used + 1 < size) {
            text[used++] = (char)c;
        }
    }
    text[used] = '\0';
    return c == ',';
}

/* A query for one value of a table: a column of the row with `id`, or the number of rows whose
 * column is not NULL. */
struct search {
    char column[64];
    char table[64];
    char id[16]; /* "" stands for all rows */
    unsigned not_null;
    bool is_found;
};

static bool parse(struct search *search, const char *sql)
{
    *search = (struct search){.not_null = 0};
    return sscanf(sql, "select count(%63[A-Za-z0-9_*]) from %63s", search->column, search->table) ==
               2 ||
           sscanf(sql, "select %63s from %63s where id = %15s", search->column, search->table,
                  search->id) == 3;
}

static void search_rows(struct search *search, FILE *file, char *text)
{
    static char field[FIXTURE_TEXT_BYTES];
    static char wanted[FIXTURE_TEXT_BYTES];
    size_t id = COLUMNS_MAX;
    size_t column = COLUMNS_MAX;
    bool is_null = false;
    bool has_more = true;
    for (size_t i = 0; has_more; i++) {
        has_more = read_field(file, field, sizeof field, &is_null);
        id = strcasecmp(field, "id") == 0 ? i : id;
        column = strcasecmp(field, search->column) == 0 ? i : column;
    }
    while (!search->is_found && !feof(file)) {
        bool is_row = false;
        bool is_wanted_null = true;
        has_more = true;
        for (size_t i = 0; has_more; i++) {
            has_more = read_field(file, field, sizeof field, &is_null);
            is_row = is_row || (i == id && strcmp(field, search->id) == 0);
            if (i == column) {
                is_wanted_null = is_null;
                memcpy(wanted, field, sizeof field);
            }
        }
        search->not_null += is_wanted_null ? 0 : 1;
        search->is_found = search->id[0] != '\0' && is_row;
        if (search->is_found) {
            snprintf(text, FIXTURE_TEXT_BYTES, "%s", is_wanted_null ? "(null)" : wanted);
        }
    }
}

static bool read_text(const char *sql, char text[FIXTURE_TEXT_BYTES])
{
    char command[LINE_BYTES];
    struct search search;
    if (!parse(&search, sql)) {
        return false;
    }
    snprintf(command, sizeof command, "dump %s %s", search.table, dump_path);
    FILE *file = observer_command(command) ? fopen(dump_path, "r") : NULL;
    if (file == NULL) {
        return false;
    }
    search_rows(&search, file, text);
    fclose(file);
    if (search.id[0] == '\0') {
        snprintf(text, FIXTURE_TEXT_BYTES, "%u", search.not_null);
        return true;
    }
    return search.is_found;
}

/* Makes the stand-in refuse the next `rows` rows. */
static bool refuse_rows(unsigned rows)
{
    char command[LINE_BYTES];
    bool is_done = observer_command("norules");
    for (unsigned i = 1; is_done && i <= rows && i <= 9; i++) {
        snprintf(command, sizeof command, "rule error=row@%u:1003:Duplicate primary key.", i);
        is_done = observer_command(command);
    }
    return is_done;
}

static const struct value_case cases[] = {
    {"c_int16", COLUMN_INT16, "c_int16", {"1234", "-32767", "32767", "0"}},
    {"c_int32", COLUMN_INT32, "c_int32", {"123456", "-2147483647", "2147483647", "-1"}},
    {"c_int64",
     COLUMN_INT64,
     "c_int64",
     {"1234567890123", "-9223372036854775807", "9223372036854775807", "-1"}},
    {"c_float32",
     COLUMN_FLOAT32,
     "c_float32",
     {"1.5", "-3.40282347e+38", "1.70141173e+38", "0.100000001"}},
    {"c_float64",
     COLUMN_FLOAT64,
     "c_float64",
     {"0.10000000000000001", "-1.7976931348623157e+308", "8.9884656743115785e+307", "-2.5"}},
    {"c_varchar", COLUMN_TEXT, "c_varchar", {NULL, "(null)", NULL, NULL}},
    {"c_text", COLUMN_TEXT, "c_text", {NULL, "(null)", NULL, NULL}},
    {"c_binary", COLUMN_BYTES, "c_binary", {NULL, "(null)", NULL, NULL}},
    {"c_json", COLUMN_JSON, "c_json", {0}},
    {"c_datetime",
     COLUMN_TIMESTAMP,
     "c_datetime",
     {"1709210096789012345", "-9223372036854775808", "9223372036854775807", "1"}},
    {"c_ip4", COLUMN_IP4, "c_ip4", {IP4_TEXTS}},
    {"c_ip6", COLUMN_IP6, "c_ip6", {IP6_TEXTS}},
};

static const struct bad_target bad_targets[] = {
    {BAD_HOST},
    {BAD_PASSWORD},
    {BAD_PARAMETER},
    {"port", {.port = 1}, STATUS_LOST, ERROR_UNREACHABLE, "08001"},
    {"user", {.user = "NOBODY"}, STATUS_FATAL, ERROR_AUTH, NULL},
    {"password that the library cannot send", {.password = "a;b"}, STATUS_FATAL, ERROR_USAGE, NULL},
    {"database", {.database = "x"}, STATUS_FATAL, ERROR_USAGE, NULL},
};

static struct fixture fixture = {
    .target = {.scheme = "machbase", .host = "127.0.0.1", .connect_timeout_s = 5},
    .bad_targets = bad_targets,
    .bad_target_count = sizeof bad_targets / sizeof bad_targets[0],
    .every_type_sql =
        "create table every_type (id int, c_int16 short, c_int32 integer, c_int64 long,"
        " c_float32 float, c_float64 double, c_varchar varchar(40), c_text text,"
        " c_binary binary, c_json json, c_datetime datetime, c_ip4 ipv4, c_ip6 ipv6)",
    .cases = cases,
    .case_count = sizeof cases / sizeof cases[0],
    .read_text = read_text,
    .break_connections = observer_kick,
    .session_limit = "MAX_SESSION_COUNT",
    .keyed_sql = "create table keyed (id int, v varchar(60))",
    .one_row_sql = "select value from v$property where name = 'MAX_SESSION_COUNT'",
    .usable_sql = "select 11, -12 from v$property where name = 'MAX_SESSION_COUNT'",
    .refuse_rows = refuse_rows,
    .has_no_deferred = true,
    .has_no_rules = true,
    .has_no_rollback = true,
    .has_no_empty_text = true,
    .folds_names = true,
    .measures_bytes = true,
    .has_null_values = true,
};

static const struct fixture *open_fixture(void)
{
    const char *library = getenv("APPEND_TEST_MACHBASE_LIB");
    const char *const arguments[] = {"--max-sessions", "1000", NULL};
    if (library == NULL || library[0] == '\0') {
        fprintf(stderr, "contract: APPEND_TEST_MACHBASE_LIB does not name the client library\n");
        return NULL;
    }
    const int file = mkstemp(dump_path);
    if (file < 0) {
        return NULL;
    }
    close(file);
    if (!observer_start(&place, "machbase", arguments)) {
        return NULL;
    }
    fixture.target.client_lib = library;
    fixture.target.port = (uint16_t)strtoul(place.port, NULL, 10);
    return &fixture;
}

static void close_fixture(void)
{
    observer_stop();
    unlink(dump_path);
}

const struct fixture_place fixture_machbase = {open_fixture, close_fixture};
