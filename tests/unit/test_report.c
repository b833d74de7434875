/* The reports of a hand-made run: one screen of text, and run.json. */
#include "unit/unit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/mono.h"
#include "base/text.h"
#include "plan/facts.h"
#include "report/json.h"
#include "report/screen.h"
#include "report/text.h"
#include "unit/recorded.h"

enum {
    CELLS_MAX = 128
};

static void write_client_version(char *text, size_t size)
{
    snprintf(text, size, "libpq 15.4");
}

static const struct adapter adapter = {.name = "postgresql",
                                       .client_version = write_client_version};
static struct result result; /* too large for the stack */
static struct histogram histograms[OPERATIONS];
static struct facts facts;
static struct plan plan;
static struct table table;
static struct column columns[2];

static void fill_latency(enum operation_id which, int64_t from_ns, size_t count)
{
    struct histogram *histogram = &result.totals.histograms[which];
    histogram_clear(histogram);
    for (size_t i = 0; i < count; i++) {
        histogram_record(histogram, from_ns + (int64_t)(i * i % 1009) * from_ns / 500);
    }
}

static void fill_plan(void)
{
    memset(&plan, 0, sizeof plan);
    plan.adapter = &adapter;
    plan.facts = &facts;
    snprintf(facts.target, sizeof facts.target, "postgresql://bench@127.0.0.1:5432/test");
    plan.target = (struct target){.scheme = "postgresql",
                                  .url = "postgresql://bench:secret@127.0.0.1/test",
                                  .host = "127.0.0.1",
                                  .port = 5432,
                                  .user = "bench",
                                  .password = "secret",
                                  .database = "test",
                                  .method = "copy",
                                  .connect_timeout_s = 10};
    plan.sessions = 1000;
    plan.records = 10000000;
    plan.batch_rows = 100;
    plan.read_every = 1;
    facts.seed = UINT64_MAX;
    plan.table_name = "syslog_table";
    plan.sample_interval_ns = 3 * MONO_NS_PER_S;
    snprintf(plan.out_folder, sizeof plan.out_folder,
             "append-runs/20260131T235959Z-postgresql-1000x10000000");
}

static void fill_resources(void)
{
    result.resources = (struct resource_summary){
        .max_cpu.host = 51.2,
        .max_cpu.server = 43,
        .max_cpu.client = 6.1,
        .cpu_at_max.server = 43,
        .cpu_at_max.client = 6.1,
        .max_server_memory_bytes = INT64_C(1057) << 20,
        .max_client_memory_bytes = UINT64_C(34) << 20,
        .client_cpu_s = 6.31,
        .memory_source = MEMORY_PSS,
        .max_server_processes = 1007,
        .server_pid = 4242,
        .server_name = "postgres",
        .cpus = 8,
    };
}

static int set_up(void **state)
{
    (void)state;
    fill_plan();
    memset(&result, 0, sizeof result);
    memset(histograms, 0, sizeof histograms);
    result.totals.operations = OPERATIONS;
    result.totals.histograms = histograms;
    fill_resources();
    result.started_wall_ns = INT64_C(1769903999123000000);
    result.start_mono_ns = 500 * MONO_NS_PER_S;
    result.elapsed_ns = INT64_C(105012345678);
    result.connect_ns = INT64_C(2410000000);
    result.append_ns = result.elapsed_ns - result.connect_ns;
    result.throughput_rows_per_s = 95226.8;
    result.sessions =
        (struct session_ledger){.requested = 1000, .connected = 1000, .finished = 1000};
    result.rows = (struct row_ledger){.planned = 10000000, .acknowledged = 10000000};
    result.verification =
        (struct verification){.state = VERIFICATION_DONE, .rows_before = 0, .rows_after = 10000000};
    result.totals.counters[RECORDER_APPENDS] = 100000;
    result.totals.counters[RECORDER_READS] = 100000;
    result.totals.counters[RECORDER_FRESH_CHECKS] = 100000;
    fill_latency(OPERATION_CONNECT, 1200000, 1000);
    fill_latency(OPERATION_APPEND, 870000, 100000);
    fill_latency(OPERATION_READ, 4300000, 100000);
    snprintf(result.server.version, sizeof result.server.version, "PostgreSQL 15.4");
    result.server.count = 1;
    result.server.sessions[0].allowed = 1200;
    snprintf(result.verdict_reason, sizeof result.verdict_reason,
             "every row was acknowledged and counted");
    columns[0] = (struct column){
        .name = "tm", .type_name = "timestamptz", .type = COLUMN_TIMESTAMP, .is_nullable = true};
    columns[1] = (struct column){
        .name = "bad \xff name", .type_name = "varchar(512)", .type = COLUMN_TEXT, .size = 512};
    table = (struct table){.name = "syslog_table", .column_count = 2, .columns = columns};
    return 0;
}

static void add_cause(enum cause_phase phase, uint64_t count, const char *sqlstate,
                      const char *words)
{
    struct cause *cause = &result.causes.entries[result.causes.count++];
    *cause = (struct cause){.phase = phase,
                            .status = STATUS_LOST,
                            .count = count,
                            .first_ns = 501500 * MONO_NS_PER_MS,
                            .last_ns = 503250 * MONO_NS_PER_MS};
    cause->error.kind = ERROR_SERVER;
    cause->error.native_code = 7;
    snprintf(cause->error.sqlstate, sizeof cause->error.sqlstate, "%s", sqlstate);
    snprintf(cause->error.text, sizeof cause->error.text, "%s", words);
}

/* Makes a run in which much went wrong. */
static void spoil(void)
{
    result.sessions = (struct session_ledger){.requested = 1000,
                                              .connected = 897,
                                              .refused = 97,
                                              .timed_out = 6,
                                              .finished = 880,
                                              .dropped = 17};
    result.rows = (struct row_ledger){.planned = 10000000,
                                      .acknowledged = 8861200,
                                      .rejected = 300,
                                      .in_doubt = 1700,
                                      .not_sent = 1136800};
    result.verification = (struct verification){.state = VERIFICATION_DONE,
                                                .rows_before = 500,
                                                .rows_after = 8861400,
                                                .lost = 300,
                                                .lost_at_most = 300};
    result.totals.counters[RECORDER_FRESH_BEHIND] = 41;
    result.totals.counters[RECORDER_FRESH_BACKWARD] = 3;
    result.worst_lag_rows = 1200;
    result.resources.max_server_memory_bytes = -1;
    result.resources.memory_source = MEMORY_UNKNOWN;
    result.resources.max_cpu.server = -1;
    result.resources.cpu_at_max.server = -1;
    snprintf(result.resources.server_note, sizeof result.resources.server_note,
             "no process of this machine listens on port 5432");
    add_cause(CAUSE_CONNECT, 97, "53300", "sorry, too many clients already");
    add_cause(CAUSE_APPEND, 17, "57P01", "shut down by an administrator\x1b[31m");
    add_cause(CAUSE_APPEND, 3, "", "value too long for type character varying(128)");
    result.stop_reason = STOP_COMPLETED;
    result.verdict = VERDICT_DEGRADED;
    result.exit_code = EXIT_CODE_SHORT;
    snprintf(result.verdict_reason, sizeof result.verdict_reason,
             "103 of 1,000 sessions did not connect, 17 were dropped; 300 acknowledged rows are "
             "lost");
}

static char *text_of(const char *shortage)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    report_write_text(stream, &plan, &result, shortage);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static size_t count_lines(const char *line)
{
    size_t lines = 0;
    for (; *line != '\0'; line += strcspn(line, "\n") + 1) {
        lines++;
    }
    return lines;
}

/* Fails unless every line has printable characters only and fits the screen, or has a word that is
 * too long for it. Also fails unless the four figures and the text after them fit a small
 * terminal. */
static void check_screen(const char *text)
{
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const size_t length = strcspn(line, "\n");
        char copy[PLAN_PATH_BYTES + 16];
        assert_true(length < sizeof copy);
        memcpy(copy, line, length);
        copy[length] = '\0';
        const char *first = strrchr(copy, ' ');
        if (text_width(copy) > SCREEN_COLUMNS &&
            (first == NULL || text_width(first + 1) <= SCREEN_COLUMNS / 2)) {
            fail_msg("too wide: %s", copy);
        }
        for (size_t i = 0; i < length; i++) {
            assert_true((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
        }
        assert_int_equal(line[length], '\n');
    }
    const char *figures = strstr(text, "\nMaximum CPU");
    assert_non_null(figures);
    assert_in_range(count_lines(figures + 1), 1, 23);
    assert_null(strstr(text, "..."));
}

static void check_contains(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL) {
        fail_msg("missing: %s\nin:\n%s", wanted, text);
    }
}

TEST_BETWEEN(test_good_text, set_up, NULL)
{
    char *text = text_of("");
    check_screen(text);
    check_contains(text, "\nMaximum CPU              51.2 %");
    check_contains(text, "\nMaximum memory        1,057 MiB");
    check_contains(text, "\nElapsed time            105.0 s");
    check_contains(text, "connect 2.41 s, append 102.6 s, disconnect 0 ns\n");
    check_contains(text, "\nThroughput        95,227 rows/s");
    check_contains(text, "postgres (pid 4242): ");
    check_contains(text,
                   "\nSessions  1,000 = 1,000 connected + 0 refused + 0 timed out + 0 not started\n"
                   "Connected 1,000 = 1,000 finished + 0 stopped + 0 dropped\n"
                   "Rows      10,000,000 = 10,000,000 acknowledged + 0 rejected/in doubt/not sent\n"
                   "Verified  count(*) 0 before, 10,000,000 after: 0 lost\n");
    check_contains(text, "\nVALID     every row was acknowledged and counted\n"
                         "Files     gone: append-runs/20260131T235959Z-postgresql-1000x10000000\n");
    assert_null(strstr(text, "Errors"));
    assert_null(strstr(text, "Problem"));
    assert_null(strstr(text, "response"));
    assert_null(strstr(text, "secret"));
    free(text);
}

TEST_BETWEEN(test_bad_text, set_up, NULL)
{
    spoil();
    char *text = text_of("intervals.csv: No space left on device");
    check_screen(text);
    check_contains(text, "all 8 CPUs here: server unknown, append 6.1 %");
    check_contains(text, "\nMaximum memory          unknown  no process of this machine");
    check_contains(text, "\nSessions  1,000 = 897 connected + 97 refused + 6 timed out + 0 not "
                         "started\nConnected 897 = 880 finished + 0 stopped + 17 dropped\n");
    check_contains(text, "= 8,861,200 acknowledged + 300 rejected + 1,700 in doubt");
    check_contains(text, " 300 LOST, 0 in doubt arrived");
    check_contains(text, "100,000 reads: read-your-writes violations 41 (up to 1,200");
    check_contains(text, "97 x connect, server 53300: sorry, too many clients already");
    check_contains(text, "administrator?[31m\n");
    check_contains(text, "3 x append, server 7: value too long");
    check_contains(text, "\nProblem   intervals.csv: No space left on device\n");
    check_contains(text, "\nDEGRADED  103 of 1,000 sessions did not connect");
    free(text);
}

/* With the longest possible texts nothing is missing, and the figures and the verdict are last. */
TEST_BETWEEN(test_worst_text_is_whole, set_up, NULL)
{
    spoil();
    plan.sessions = PLAN_SESSIONS_MAX;
    plan.records = PLAN_RECORDS_MAX;
    plan.batch_rows = PLAN_BATCH_ROWS_MAX;
    plan.read_every = UINT64_MAX;
    plan.rate_rows_per_s = UINT64_MAX;
    plan.rate.first = 1.8e19;
    memset(facts.target, 'x', sizeof facts.target - 1);
    memset(plan.out_folder, 'd', sizeof plan.out_folder - 1);
    memset(result.verdict_reason, 'w', sizeof result.verdict_reason - 1);
    memset(result.resources.server_note, '\x1b', sizeof result.resources.server_note - 1);
    result.resources.cpus = 4294967295U;
    result.resources.client_cpu_s = 1e9;
    result.throughput_rows_per_s = 1e12;
    result.elapsed_ns = INT64_MAX;
    result.connect_ns = INT64_MAX;
    result.sessions =
        (struct session_ledger){250001, 250000, 250000, 250000, 250000, 83334, 83333, 83333};
    result.rows =
        (struct row_ledger){1000000000001, 250000000000, 250000000000, 250000000000, 250000000000};
    result.batches = (struct batch_ledger){UINT64_MAX, UINT64_MAX - 1, 1};
    result.verification = (struct verification){.state = VERIFICATION_DONE,
                                                .rows_before = UINT64_MAX,
                                                .rows_after = UINT64_MAX,
                                                .lost = UINT64_MAX,
                                                .in_doubt_arrived = UINT64_MAX,
                                                .surplus = UINT64_MAX,
                                                .is_shrunk = true};
    for (int i = 0; i < RECORDER_COUNTERS; i++) {
        result.totals.counters[i] = UINT64_MAX;
    }
    result.worst_lag_rows = UINT64_MAX;
    for (int i = 0; i < OPERATIONS; i++) {
        struct histogram *histogram = &result.totals.histograms[i];
        histogram_clear(histogram);
        histogram_record(histogram, 999999 * MONO_NS_PER_S);
        histogram->total = 999999999999;
    }
    char words[ERROR_TEXT_BYTES] = "";
    memset(words, '\xff', sizeof words - 1);
    while (result.causes.count < CAUSES_MAX) {
        add_cause(CAUSE_CONNECT, UINT64_MAX, "XX000", words);
    }
    result.causes.others = 1;
    char shortage[1024] = "";
    memset(shortage, 's', sizeof shortage - 1);
    char *text = text_of(shortage);
    check_screen(text);
    check_contains(text, result.verdict_reason);
    check_contains(text, shortage);
    check_contains(text, facts.target);
    check_contains(text, "\nDEGRADED  wwww");
    check_contains(text, "\nFiles     dddd");
    check_contains(text, "other causes");
    free(text);
}

/* Returns run.json as text, or NULL if it could not be written. */
static char *json_text(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    const bool is_written = report_write_json(stream, &plan, &table, &result, NULL);
    assert_int_equal(fclose(stream), 0);
    if (!is_written) {
        free(text);
        text = NULL;
    }
    return text;
}

static json_t *json_of(void)
{
    char *text = json_text();
    assert_non_null(text);
    assert_null(strstr(text, "secret"));
    assert_null(strchr(text, '\x1b'));
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

/* Returns the value at a path of keys: "causes.0.text", with numbers for indexes of arrays. */
static json_t *at(json_t *json, const char *path)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", path);
    char *save = NULL;
    for (char *key = strtok_r(copy, ".", &save); key != NULL; key = strtok_r(NULL, ".", &save)) {
        json = json_is_array(json) ? json_array_get(json, strtoul(key, NULL, 10))
                                   : json_object_get(json, key);
    }
    if (json == NULL) {
        fail_msg("no %s", path);
    }
    return json;
}

static void check_number(json_t *json, const char *path, double expected)
{
    const double value = json_number_value(at(json, path));
    const double distance = value > expected ? value - expected : expected - value;
    if (!json_is_number(at(json, path)) || distance > 1e-9) {
        fail_msg("%s is %.12g, not %.12g", path, value, expected);
    }
}

TEST_BETWEEN(test_json_values, set_up, NULL)
{
    spoil();
    json_t *json = json_of();
    check_number(json, "format", 2);
    assert_string_equal(json_string_value(at(json, "version")), APPEND_VERSION);
    check_number(json, "figures.max_cpu_percent", 51.2);
    assert_true(json_is_null(at(json, "figures.max_memory_mib")));
    check_number(json, "figures.elapsed_s", 105.012345678);
    check_number(json, "figures.throughput_rows_per_s", 95226.8);
    check_number(json, "sessions.refused", 97);
    assert_true(json_is_true(at(json, "sessions.balances")));
    check_number(json, "rows.not_sent", 1136800);
    assert_true(json_is_true(at(json, "rows.balances")));
    check_number(json, "verification.lost", 300);
    check_number(json, "freshness.worst_lag_rows", 1200);
    assert_string_equal(json_string_value(at(json, "environment.client_library")), "libpq 15.4");
    assert_true(json_integer_value(at(json, "environment.cpus")) >= 1);
    assert_non_null(json_string_value(at(json, "environment.kernel")));
    check_number(json, "plan.sessions", 1000);
    assert_string_equal(json_string_value(at(json, "plan.seed")), "18446744073709551615");
    assert_string_equal(json_string_value(at(json, "plan.target.user")), "bench");
    assert_true(json_is_null(at(json, "plan.rate_rows_per_s")));
    assert_string_equal(json_string_value(at(json, "table.columns.1.name")),
                        "bad \xef\xbf\xbd name");
    assert_string_equal(json_string_value(at(json, "table.columns.0.type")), "timestamp");
    assert_string_equal(json_string_value(at(json, "resources.memory_source")), "unknown");
    check_number(json, "causes.0.count", 97);
    check_number(json, "causes.0.first_s", 1.5);
    check_number(json, "causes.0.last_s", 3.25);
    assert_string_equal(json_string_value(at(json, "causes.0.phase")), "connect");
    assert_string_equal(json_string_value(at(json, "causes.1.text")),
                        "shut down by an administrator\x1b[31m");
    assert_string_equal(json_string_value(at(json, "outcome.verdict")), "DEGRADED");
    check_number(json, "outcome.exit_code", EXIT_CODE_SHORT);
    assert_int_equal(json_array_size(at(json, "causes")), 3);
    json_decref(json);
}

/* run.json keeps a whole histogram, so that it can be rebuilt and merged. */
TEST_BETWEEN(test_json_histograms, set_up, NULL)
{
    static struct histogram again;
    histogram_record(&result.totals.histograms[OPERATION_APPEND], HISTOGRAM_LIMIT_NS + 1);
    json_t *json = json_of();
    json_t *entry = at(json, "histograms.append");
    histogram_clear(&again);
    again.total = (uint64_t)json_integer_value(at(entry, "total"));
    again.overflow = (uint64_t)json_integer_value(at(entry, "overflow"));
    again.sum_ns = (uint64_t)json_integer_value(at(entry, "sum_ns"));
    again.max_ns = json_integer_value(at(entry, "max_ns"));
    json_t *buckets = at(entry, "low_ns_count");
    for (size_t i = 0; i < json_array_size(buckets); i++) {
        json_t *bucket = json_array_get(buckets, i);
        again.counts[histogram_bucket(json_integer_value(json_array_get(bucket, 0)))] =
            (uint64_t)json_integer_value(json_array_get(bucket, 1));
    }
    assert_memory_equal(&again, &result.totals.histograms[OPERATION_APPEND], sizeof again);
    assert_null(json_object_get(at(json, "histograms"), "response"));
    check_number(json, "latencies.append.max_ms", (double)(HISTOGRAM_LIMIT_NS + 1) / 1e6);
    json_decref(json);
}

TEST_BETWEEN(test_json_write_failure, set_up, NULL)
{
    FILE *stream = fopen("/dev/full", "w");
    assert_non_null(stream);
    assert_false(report_write_json(stream, &plan, &table, &result, NULL));
    fclose(stream);
}

static size_t allocations_left;

/* Fails one allocation. The later allocations succeed, which must not hide the failure. */
static void *limited_malloc(size_t size)
{
    return allocations_left-- == 0 ? NULL : malloc(size);
}

/* Whichever allocation fails, there is no crash, no leak, and no partial file that looks
 * complete. */
TEST_BETWEEN(test_json_out_of_memory, set_up, NULL)
{
    spoil();
    char *whole = json_text();
    char *text = NULL;
    json_malloc_t before_malloc;
    json_free_t before_free;
    json_get_alloc_funcs(&before_malloc, &before_free);
    size_t failures = 0;
    for (size_t limit = 0; text == NULL && limit < 100000; limit += limit < 300 ? 1 : 97) {
        allocations_left = limit;
        json_set_alloc_funcs(limited_malloc, free);
        text = json_text();
        json_set_alloc_funcs(before_malloc, before_free);
        failures += text == NULL;
    }
    assert_true(failures > 300);
    assert_string_equal(text, whole);
    free(text);
    free(whole);
}
