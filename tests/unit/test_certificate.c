/* The certificate of append certify: its statement, bounds and files. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mono.h"
#include "base/sha256.h"
#include "base/text.h"
#include "report/report.h"
#include "unit/unit.h"

#include "certify/certificate.h"

enum {
    RESULTS_MAX = 2000
};

static struct fault_result results[RESULTS_MAX], proof_results[4];
static struct plan plan;
static struct certificate certificate;
static char folder[64];

/* Fills a result: 100 rows were acknowledged since the previous fault, and all were read. */
static void fill_result(struct fault_result *result, size_t number, enum fault_kind kind)
{
    *result = (struct fault_result){
        .fault = {.kind = kind, .after_ns = 1500 * MONO_NS_PER_MS},
        .at_ns = (int64_t)(number + 1) * 10 * MONO_NS_PER_S,
        .after_ack_ns = 2100000,
        .acknowledged = 100 * (number + 1),
        .in_doubt = 5,
        .down_ns = 1200 * MONO_NS_PER_MS,
        .recover_ns = 1100 * MONO_NS_PER_MS,
        .read_ns = 30 * MONO_NS_PER_MS,
        .rows_read = 100 * (number + 1) + 5,
        .is_read = true,
    };
}

/* Begins a certificate with clean faults: first `kills` kills of the server, then `powers` power
 * cuts. */
static void fill(size_t kills, size_t powers)
{
    memset(&plan, 0, sizeof plan);
    plan.sessions = 50;
    plan.seed = 18446744073709551615U;
    certificate.series.results = certificate.proof.results = NULL; /* not of the heap */
    certificate_fini(&certificate);
    certificate = (struct certificate){
        .plan = &plan,
        .start_wall_ns = INT64_C(1769903999123000000),
        .elapsed_ns = 125 * MONO_NS_PER_S,
        .server = "PostgreSQL 15.4",
        .place = "a server of append's own",
        .places = {{"file system", "ext4"}, {"mount options", "rw,relatime"}},
        .place_count = 2,
        .series = {.results = results,
                   .count = kills + powers,
                   .planned = kills + powers,
                   .settings = {.count = 1, .entries = {{"fsync", "on"}}}},
    };
    buffer_add_text(&certificate.command, "append certify 50 --server postgresql --seed 7");
    for (size_t i = 0; i < kills + powers; i++) {
        fill_result(&results[i], i, i < kills ? FAULT_KILL : FAULT_POWER);
    }
}

/* Adds a proof run that lost 90 of 200 rows in its second fault. */
static void fill_proof(void)
{
    fill_result(&proof_results[0], 0, FAULT_POWER);
    fill_result(&proof_results[1], 1, FAULT_POWER);
    proof_results[1].findings[FINDING_LOST] = 90;
    buffer_fini(&certificate.proof.options);
    certificate.proof = (struct fault_series){
        .results = proof_results,
        .count = 2,
        .planned = 5,
        .settings = {.count = 1, .entries = {{"fsync", "off"}}},
    };
    buffer_add_text(&certificate.proof.options, "fsync=off");
}

static void expect_statement(const char *expected)
{
    char text[CERTIFICATE_STATEMENT_BYTES];
    certificate_state(&certificate, text, sizeof text);
    assert_string_equal(text, expected);
}

TEST(test_bound)
{
    static const struct {
        size_t faults;
        double bound;
        const char *percent;
    } cases[] = {
        {0, 1, "100 %"},           {1, 1, "100 %"},         {2, 1, "100 %"},
        {3, 1, "100 %"},           {4, 0.75, "75 %"},       {7, 3.0 / 7, "43 %"},
        {10, 0.3, "30 %"},         {20, 0.15, "15 %"},      {22, 3.0 / 22, "14 %"},
        {30, 0.1, "10 %"},         {31, 3.0 / 31, "9.7 %"}, {100, 0.03, "3 %"},
        {300, 0.01, "1 %"},        {301, 3.0 / 301, "1 %"}, {700, 3.0 / 700, "0.43 %"},
        {100000, 3e-5, "0.003 %"},
    };
    EACH_CASE (i, cases, "%zu faults", cases[i].faults) {
        char percent[CERTIFICATE_PERCENT_BYTES];
        assert_true(fabs(certificate_bound(cases[i].faults) - cases[i].bound) < 1e-12);
        assert_string_equal(certificate_percent(cases[i].faults, percent), cases[i].percent);
    }
    /* the percentage in the text is never below the bound, and the bound is never below its exact
     * value */
    for (size_t faults = 1; faults <= 100000; faults++) {
        char percent[CERTIFICATE_PERCENT_BYTES];
        const double shown = strtod(certificate_percent(faults, percent), NULL) / 100;
        assert_true(shown >= certificate_bound(faults) * (1 - 1e-12));
        assert_true(shown <= certificate_bound(faults) * 1.1);
        assert_true(certificate_bound(faults) >= 1 - pow(0.05, 1 / (double)faults));
    }
}

TEST(test_what_breaks_a_fault)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        struct fault_result result = {.is_read = true};
        assert_false(certificate_is_broken(&result));
        result.findings[i] = 1;
        assert_true(certificate_is_broken(&result));
        assert_int_equal(certificate_is_proof(&result), i == FINDING_LOST);
    }
    const struct fault_result failed = {.failure = "no answer"};
    assert_true(certificate_is_broken(&failed));
    assert_true(certificate_is_proof(&failed));
}

TEST(test_clean)
{
    fill(10, 10);
    expect_statement("No acknowledged row was lost, doubled or changed in 20 faults (10 kills, 10 "
                     "power losses): "
                     "with 95 % confidence fewer than 15 % of such faults lose a row; counting "
                     "only power losses, fewer than 30 %.");
    assert_true(certificate_is_certified(&certificate));
    fill(0, 300);
    expect_statement(
        "No acknowledged row was lost, doubled or changed in 300 faults (300 power losses): with "
        "95 % confidence fewer than 1 % of such faults lose a row.");
    fill(18, 2);
    expect_statement(
        "No acknowledged row was lost, doubled or changed in 20 faults (18 kills, 2 power losses): "
        "with 95 % confidence fewer than 15 % of such faults lose a row; the power losses are "
        "too few for a bound of their own.");
    fill(0, 1);
    expect_statement("No acknowledged row was lost, doubled or changed in 1 fault (1 power loss). "
                     "These are too few faults to bound the share of faults that lose a row.");
}

TEST(test_clean_without_a_power_loss)
{
    fill(4, 0);
    results[1].fault.kind = FAULT_STOP;
    results[2].fault.kind = FAULT_RESTART;
    results[3].fault.kind = FAULT_NETWORK;
    expect_statement(
        "No acknowledged row was lost, doubled or changed in 4 faults (1 kill, 1 stop, 1 restart, "
        "1 "
        "network cut): with 95 % confidence fewer than 75 % of such faults lose a row. No power "
        "loss was tested: rows that the server had not yet written to the disk were not in "
        "danger.");
}

/* A fault proves nothing if no row was acknowledged before it or nothing was read after it. */
TEST(test_clean_with_faults_that_show_nothing)
{
    fill(0, 10);
    results[3].acknowledged = results[2].acknowledged;
    results[9].is_read = false;
    expect_statement(
        "No acknowledged row was lost, doubled or changed in 10 faults (10 power losses): with 95 "
        "% "
        "confidence fewer than 38 % of such faults lose a row. 2 of the faults are left out of "
        "the bound: no row had been acknowledged since the previous fault, or not all rows were "
        "read "
        "back.");
    fill(0, 2);
    results[0].acknowledged = results[1].acknowledged = 0;
    expect_statement("NOT certified: 2 faults (2 power losses) could not have shown a loss, "
                     "because the server had acknowledged no row. Nothing is proven.");
    assert_false(certificate_is_certified(&certificate));
    fill(0, 1);
    results[0].is_read = false;
    expect_statement("NOT certified: 1 fault (1 power loss) could not have shown a loss, because "
                     "not all rows were read back. Nothing is proven.");
    fill(0, 0);
    certificate.series.planned = 3;
    assert_false(certificate_is_certified(&certificate));
}

TEST(test_clean_after_a_proof)
{
    fill(0, 10);
    fill_proof();
    expect_statement(
        "No acknowledged row was lost, doubled or changed in 10 faults (10 power losses): with 95 "
        "% "
        "confidence fewer than 30 % of such faults lose a row. The check is proven: with unsafe "
        "settings (fsync=off), 90 of 200 acknowledged rows were lost in 2 faults (2 power "
        "losses).");
    proof_results[1].findings[FINDING_LOST] = 0;
    proof_results[1].findings[FINDING_HALF] = 1; /* proves nothing */
    expect_statement("No acknowledged row was lost, doubled or changed in 10 faults (10 power "
                     "losses): with 95 % confidence fewer than 30 % of such faults lose a row.");
}

TEST(test_broken)
{
    fill(2, 3);
    certificate.verdict = CERTIFICATE_BROKEN;
    results[2].fault.aim = FAULT_AFTER_COMMIT;
    results[2].acknowledged = results[3].acknowledged = results[4].acknowledged = 18530;
    results[2].findings[FINDING_LOST] = 4876;
    snprintf(results[2].first, sizeof results[2].first, "session 3, transaction 17: lost");
    expect_statement(
        "NOT certified: 4,876 of 18,530 acknowledged rows were lost in 1 of 5 faults (2 kills, 3 "
        "power losses). The first finding was after fault 3, a power loss 2.10 ms after an "
        "acknowledgement: "
        "session 3, transaction 17: lost.");
    assert_false(certificate_is_certified(&certificate));
    results[4].findings[FINDING_LOST] = 1;
    for (int i = FINDING_DUPLICATE; i < FINDING_COUNT; i++) {
        results[4].findings[i] = (uint64_t)i;
    }
    snprintf(results[4].failure, sizeof results[4].failure, "cannot read");
    expect_statement(
        "NOT certified: 4,877 of 18,530 acknowledged rows were lost, 1 row was stored more than "
        "once, 2 rows in the tables were not sent by append, 3 rows were stored although the "
        "server had refused their transactions, 4 rows did not match their checksums, 5 "
        "transactions were stored only in part, 6 lost transactions were followed by stored "
        "transactions, 7 tables and indexes were damaged and the server did not start again or a "
        "table could not be read (1 time) in 2 of 5 faults (2 kills, 3 power losses). The first "
        "finding was after fault 3, a power loss 2.10 ms after an acknowledgement: session 3, "
        "transaction 17: "
        "lost.");
}

TEST(test_broken_by_a_failure)
{
    fill(1, 0);
    certificate.verdict = CERTIFICATE_BROKEN;
    results[0].is_read = false;
    snprintf(results[0].failure, sizeof results[0].failure, "no answer within 60 s");
    expect_statement(
        "NOT certified: the server did not start again or a table could not be read "
        "(1 time) in 1 of 1 fault (1 kill). The first finding was after fault 1, a kill at random: "
        "no answer within 60 s.");
}

TEST(test_unproven)
{
    fill(0, 0);
    fill_proof();
    proof_results[1].findings[FINDING_LOST] = 0;
    certificate.verdict = CERTIFICATE_UNPROVEN;
    certificate.series.planned = 20;
    expect_statement(
        "NOT certified: with unsafe settings (fsync=off), which are known to lose rows, no "
        "acknowledged row was lost in 2 faults (2 power losses). So it is not proven "
        "that these faults find a loss on this machine.");
}

TEST(test_unfinished)
{
    fill(0, 7);
    certificate.verdict = CERTIFICATE_UNFINISHED;
    certificate.series.planned = 20;
    snprintf(certificate.reason, sizeof certificate.reason, "interrupted");
    expect_statement("NOT certified: only 7 of 20 faults were done: interrupted. No acknowledged "
                     "row was lost, doubled or changed until then.");
    results[6].findings[FINDING_DUPLICATE] = 1;
    snprintf(results[6].first, sizeof results[6].first, "session 1, transaction 2");
    expect_statement(
        "NOT certified: only 7 of 20 faults were done: interrupted. Until then, 1 row "
        "was stored more than once. The first finding was after fault 7, a power loss at random: "
        "session 1, transaction 2.");
    certificate.series.count = 0;
    expect_statement("NOT certified: only 0 of 20 faults were done: interrupted.");
    certificate.series.count = 1;
    snprintf(certificate.reason, sizeof certificate.reason, "the disk is full.");
    results[0].acknowledged = 0;
    expect_statement("NOT certified: only 1 of 20 faults was done: the disk is full.");
    fill_proof();
    certificate.series.count = 0;
    proof_results[1].findings[FINDING_LOST] = 0;
    proof_results[1].findings[FINDING_HALF] = 1;
    expect_statement("NOT certified: only 2 of 5 faults of the proof run were done: the disk is "
                     "full.");
}

/* Returns the content of a file in the folder; the caller frees it. */
static char *read_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    struct stat about;
    assert_int_equal(fstat(fileno(file), &about), 0);
    char *text = calloc(1, (size_t)about.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)about.st_size, file), about.st_size);
    fclose(file);
    return text;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/append-certificate-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_folder(folder);
}

static void write_all(void)
{
    struct error error = {0};
    const enum status status = certificate_write(&certificate, folder, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, STATUS_OK);
}

TEST_BETWEEN(test_csv, make_folder, remove_folder)
{
    fill(1, 2);
    fill_proof();
    certificate.proof.count = 1;
    proof_results[0].findings[FINDING_LOST] = 90;
    results[0].fault.kind = FAULT_STOP;
    results[0].fault.stop_ns = 2500 * MONO_NS_PER_MS;
    results[0].down_ns = results[0].recover_ns = -1;
    results[1].fault.aim = FAULT_AFTER_COMMIT;
    results[1].fault.aimed_ns = 2050 * MONO_NS_PER_MS / 1000;
    results[1].rejected = 7;
    results[1].findings[FINDING_LOST] = 3;
    results[1].findings[FINDING_HOLE] = 1;
    snprintf(results[1].first, sizeof results[1].first, "session 3, \"t\"");
    results[2].fault.aim = FAULT_IN_CHECKPOINT;
    results[2].fault.aimed_ns = 20 * MONO_NS_PER_MS;
    results[2].after_ack_ns = results[2].down_ns = results[2].recover_ns = -1;
    results[2].is_read = false;
    results[2].rows_read = 0;
    results[2].findings[FINDING_DUPLICATE] = 2; /* before the server ended */
    snprintf(results[0].unchecked, sizeof results[0].unchecked, "no amcheck");
    snprintf(results[2].failure, sizeof results[2].failure, "=no answer");
    write_all();
    char *text = read_file("faults.csv");
    assert_string_equal(
        text,
        "run,fault,kind,moment,load_s,aimed_ms,stop_s,at_s,after_ack_ms,rows_acknowledged,"
        "rows_in_doubt,rows_rejected,down_s,recover_s,read_s,rows_read,is_read,is_telling,"
        "found_lost,found_duplicate,found_foreign,found_rejected,found_torn,found_half,"
        "found_holes,found_damage,first_finding,failure,unchecked\r\n"
        "proof,1,power,at random,1.500,,,10.000000,2.100,100,5,0,1.200,1.100,0.030,105,1,1,"
        "90,0,0,0,0,0,0,0,,,\r\n"
        "certified,1,stop,at random,1.500,,2.500,10.000000,2.100,100,5,0,,,0.030,105,1,1,"
        "0,0,0,0,0,0,0,,,,no amcheck\r\n"
        "certified,2,power,after an acknowledgement,1.500,2.050,,20.000000,2.100,200,5,7,1.200,"
        "1.100,0.030,205,1,1,3,0,0,0,0,0,1,0,\"session 3, \"\"t\"\"\",,\r\n"
        "certified,3,power,in a checkpoint,1.500,20.000,,30.000000,,300,5,0,,,0.030,0,0,0,"
        ",2,,,,,,,,'=no answer,\r\n");
    free(text);
}

static void expect_json(const json_t *json, const char *expected)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

TEST_BETWEEN(test_json, make_folder, remove_folder)
{
    fill(1, 9);
    fill_proof();
    results[4].after_ack_ns = -1;
    results[4].in_doubt = 6;
    results[9].down_ns = 1300 * MONO_NS_PER_MS;
    buffer_add_text(&certificate.series.options, "a=\xff");
    write_all();
    char *text = read_file("certificate.json"), *csv = read_file("faults.csv");
    char hash[SHA256_TEXT_BYTES], statement[CERTIFICATE_STATEMENT_BYTES];
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    static const struct {
        const char *key, *value;
    } cases[] = {
        {"format", "1"},
        {"program", "\"append\""},
        {"version", "\"" APPEND_VERSION "\""},
        {"is_certified", "true"},
        {"verdict", "\"clean\""},
        {"exit_code", "0"},
        {"reason", "null"},
        {"times", "{\"started_utc\":\"2026-01-31T23:59:59.123Z\",\"elapsed_s\":125.0}"},
        {"server", "\"PostgreSQL 15.4\""},
        {"place", "\"a server of append's own\""},
        {"conditions", "{\"file system\":\"ext4\",\"mount options\":\"rw,relatime\"}"},
        {"sessions", "50"},
        {"seed", "\"18446744073709551615\""},
        {"command", "\"append certify 50 --server postgresql --seed 7\""},
    };
    EACH_CASE (i, cases, "%s", cases[i].key) {
        expect_json(json_object_get(json, cases[i].key), cases[i].value);
    }
    certificate_state(&certificate, statement, sizeof statement);
    assert_string_equal(json_string_value(json_object_get(json, "statement")), statement);
    const json_t *series = json_object_get(json, "certified");
    expect_json(json_object_get(series, "planned"), "10");
    expect_json(json_object_get(series, "faults"),
                "{\"done\":10,\"telling\":10,\"broken\":0,\"failed\":0,\"in_flight\":2,"
                "\"loss_share_below\":0.3,\"longest_down_s\":1.3}");
    expect_json(json_object_get(series, "kinds"),
                "{\"kill\":{\"done\":1,\"telling\":1,\"broken\":0,\"failed\":0,\"in_flight\":1,"
                "\"loss_share_below\":1.0,\"longest_down_s\":1.2},"
                "\"power\":{\"done\":9,\"telling\":9,\"broken\":0,\"failed\":0,\"in_flight\":1,"
                "\"loss_share_below\":0.333333333,\"longest_down_s\":1.3}}");
    expect_json(json_object_get(series, "options"), "\"a=\xef\xbf\xbd\"");
    expect_json(json_object_get(series, "settings"), "{\"fsync\":\"on\"}");
    assert_int_equal(json_array_size(json_object_get(series, "results")), 10);
    expect_json(json_array_get(json_object_get(series, "results"), 4),
                "{\"fault\":5,\"kind\":\"power\",\"moment\":\"at random\",\"load_s\":1.5,"
                "\"aimed_ms\":null,\"stop_s\":null,\"at_s\":50.0,\"after_ack_ms\":null,"
                "\"rows_acknowledged\":500,\"rows_in_doubt\":6,\"rows_rejected\":0,\"down_s\":1.2,"
                "\"recover_s\":1.1,\"read_s\":0.03,\"rows_read\":505,\"is_read\":true,"
                "\"is_telling\":true,\"found\":{\"lost\":0,\"duplicate\":0,\"foreign\":0,"
                "\"rejected\":0,\"torn\":0,\"half\":0,\"holes\":0,\"damage\":0},"
                "\"first_finding\":null,\"failure\":null,\"unchecked\":null}");
    const json_t *proof = json_object_get(json, "proof");
    expect_json(json_object_get(proof, "planned"), "5");
    expect_json(json_object_get(proof, "found"),
                "{\"lost\":90,\"duplicate\":0,\"foreign\":0,\"rejected\":0,\"torn\":0,\"half\":0,"
                "\"holes\":0,\"damage\":0}");
    expect_json(json_object_get(json_object_get(proof, "faults"), "loss_share_below"), "null");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "sha256"), "faults.csv")),
        sha256_text(csv, strlen(csv), hash));
    json_decref(json);
    free(text);
    free(csv);
}

TEST_BETWEEN(test_page, make_folder, remove_folder)
{
    fill(1, 3);
    fill_proof();
    for (size_t i = 0; i < certificate.series.count; i++) {
        snprintf(results[i].unchecked, sizeof results[i].unchecked, "no amcheck");
    }
    snprintf(certificate.server, sizeof certificate.server, "<b>&\"'\x1b");
    buffer_clear(&certificate.command);
    buffer_add_text(&certificate.command, "append --server-start '<a>\n\tb\x1b\xff");
    for (size_t i = 0; i < 1000; i++) {
        buffer_add_text(&certificate.command, "0123456789");
    }
    buffer_add_text(&certificate.command, " end'");
    snprintf(results[1].first, sizeof results[1].first, "<script>");
    results[1].findings[FINDING_LOST] = 12;
    results[2].acknowledged = results[1].acknowledged;
    certificate.verdict = CERTIFICATE_BROKEN;
    write_all();
    char *page = read_file("certificate.html"), *csv = read_file("faults.csv");
    char *json = read_file("certificate.json"), part[1000], hash[SHA256_TEXT_BYTES];
    assert_int_equal(strncmp(page, REPORT_PAGE_BEGIN, strlen(REPORT_PAGE_BEGIN)), 0);
    snprintf(part, sizeof part,
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
             "'%s'\">",
             page_css_hash);
    assert_part(page, part);
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "<b>&\""));
    assert_null(strchr(page, '\x1b'));
    assert_part(page, "<p class=\"sub\">&lt;b&gt;&amp;&quot;&#39;?</p>");
    assert_part(page, "<code>append --server-start &#39;&lt;a&gt;\n\tb??0123456789");
    assert_part(page, "0123456789 end&#39;</code>");
    assert_part(page, "Seed 18446744073709551615 decides");
    assert_part(page, "<div class=\"verdict invalid\"><b>✕&nbsp;NOT CERTIFIED</b></div>\n"
                      "<h1>NOT certified: 12 of 400 acknowledged rows were lost in 1 of 4 faults");
    assert_part(page, " After 4 faults not everything was checked: no amcheck.</h1>");
    assert_part(page, "<th scope=\"row\">Damaged objects</th>"
                      "<td class=\"n\" data-name=\"number\">–</td>"
                      "<td class=\"n\" data-name=\"proof run\">0</td>");
    assert_part(page, "<th scope=\"row\">Lost</th><td class=\"n\" data-name=\"number\">12</td>"
                      "<td class=\"n\" data-name=\"proof run\">90</td>");
    assert_part(page, "<td class=\"n\" data-name=\"share of faults that lose a row\">–</td>");
    assert_part(page, "<th scope=\"row\">mount options</th>"
                      "<td class=\"words\" data-name=\"value\">rw,relatime</td>");
    assert_part(page, "<th scope=\"row\">fsync</th><td class=\"words\" data-name=\"value\">on</td>"
                      "<td class=\"words\" data-name=\"in the proof run\">off</td>");
    assert_part(page, "<span class=\"chip invalid\">lost 12</span></td>"
                      "<td class=\"words\" data-name=\"first finding\">&lt;script&gt;</td>");
    assert_part(page, "<span class=\"chip degraded\">shows nothing</span>");
    assert_part(page, "<span class=\"chip valid\">clean</span>");
    static const char *const uncovered[] = {"Disks that lie", "Torn pages", "Reordering",
                                            "Replicas"};
    EACH_CASE (i, uncovered, "%s", uncovered[i]) {
        snprintf(part, sizeof part, "<tr><th scope=\"row\">%s</th>", uncovered[i]);
        assert_part(page, part);
    }
    assert_null(strstr(page, "No power loss was tested"));
    snprintf(part, sizeof part,
             "<th scope=\"row\">faults.csv</th>"
             "<td class=\"words\" data-name=\"SHA-256\">%s</td>",
             sha256_text(csv, strlen(csv), hash));
    assert_part(page, part);
    snprintf(part, sizeof part,
             "<th scope=\"row\">certificate.json</th>"
             "<td class=\"words\" data-name=\"SHA-256\">%s</td>",
             sha256_text(json, strlen(json), hash));
    assert_part(page, part);
    free(page);
    free(csv);
    free(json);
}

TEST_BETWEEN(test_page_of_a_certificate, make_folder, remove_folder)
{
    fill(4, 0);
    write_all();
    write_all(); /* replaces its own page */
    char *page = read_file("certificate.html");
    assert_part(page, "<div class=\"verdict valid\"><b>✓&nbsp;CERTIFIED</b></div>\n"
                      "<h1>No acknowledged row was lost");
    assert_part(page,
                "<td class=\"n\" data-name=\"share of faults that lose a row\">below 75 %</td>");
    assert_part(page, "<tr class=\"bad\"><th scope=\"row\">Power loss</th>");
    assert_part(page, "There was no proof run.");
    free(page);
}

TEST_BETWEEN(test_page_of_an_unproven_run, make_folder, remove_folder)
{
    fill(0, 0);
    fill_proof();
    certificate.verdict = CERTIFICATE_UNPROVEN;
    certificate.series = (struct fault_series){.planned = 20};
    write_all();
    char *page = read_file("certificate.html");
    assert_part(page, "<div class=\"verdict degraded\"><b>!&nbsp;NOT CERTIFIED</b></div>");
    assert_part(page, "<th scope=\"row\">fsync</th><td class=\"words\" data-name=\"value\">–</td>"
                      "<td class=\"words\" data-name=\"in the proof run\">off</td>");
    assert_null(strstr(page, "<h3>Each fault</h3>"));
    assert_part(page, "<h3>Proof run: each fault");
    free(page);
}

TEST_BETWEEN(test_other_pages_are_kept, make_folder, remove_folder)
{
    fill(1, 1);
    char path[128], message[ERROR_TEXT_BYTES];
    struct error error = {0};
    snprintf(path, sizeof path, "%s/certificate.html", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("<html>mine</html>", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(certificate_write(&certificate, folder, &error), STATUS_REJECTED);
    snprintf(message, sizeof message,
             "%s exists and was not made by append certify: give another name with --out", path);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_string_equal(error.text, message);
    char *page = read_file("certificate.html");
    assert_string_equal(page, "<html>mine</html>");
    free(page);
}

TEST(test_folder_that_is_gone)
{
    fill(1, 1);
    struct error error = {0};
    assert_int_equal(certificate_write(&certificate, "/nonexistent", &error), STATUS_REJECTED);
    assert_string_equal(error.text,
                        "/nonexistent/faults.csv cannot be written: No such file or directory");
}

TEST_BETWEEN(test_junit, make_folder, remove_folder)
{
    fill(1, 2);
    fill_proof();
    proof_results[0].findings[FINDING_HALF] = 1; /* proves nothing */
    char path[128], expected[3000], statement[CERTIFICATE_STATEMENT_BYTES];
    snprintf(path, sizeof path, "%s/junit.xml", folder);
    certificate.verdict = CERTIFICATE_BROKEN;
    results[1].findings[FINDING_LOST] = 3;
    results[1].findings[FINDING_HALF] = 1;
    snprintf(results[1].first, sizeof results[1].first, "session <3>");
    results[2].is_read = false;
    results[2].rows_read = 0;
    results[2].down_ns = -1;
    FILE *junit = fopen(path, "w");
    assert_non_null(junit);
    assert_true(certificate_write_junit(junit, &certificate, folder, "<no room>"));
    assert_int_equal(fclose(junit), 0);
    certificate_state(&certificate, statement, sizeof statement);
    char *text = read_file("junit.xml");
    snprintf(
        expected, sizeof expected,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"append\" tests=\"6\" failures=\"2\" errors=\"2\" time=\"125.000\">\n"
        "  <testsuite name=\"append certify PostgreSQL 15.4 50 sessions 3 faults\" tests=\"6\" "
        "failures=\"2\" errors=\"2\" time=\"125.000\" skipped=\"0\" "
        "timestamp=\"2026-01-31T23:59:59\">\n"
        "    <properties>\n"
        "      <property name=\"target\" value=\"a server of append&apos;s own\"/>\n"
        "      <property name=\"folder\" value=\"%s\"/>\n"
        "    </properties>\n"
        "    <testcase classname=\"append.certify\" name=\"proof\" time=\"0\">\n"
        "      <system-out>1 of 2 faults with unsafe settings lost rows</system-out>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.certify\" name=\"1 kill at random\" time=\"0\">\n"
        "      <system-out>kill at random: 100 rows acknowledged, 105 read back, down 1.20 s"
        "</system-out>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.certify\" name=\"2 power at random\" time=\"0\">\n"
        "      <failure type=\"lost\" message=\"power loss at random: 200 rows acknowledged, 205 "
        "read back, down 1.20 s; lost 3; half 1; session &lt;3&gt;\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.certify\" name=\"3 power at random\" time=\"0\">\n"
        "      <error type=\"not-read\" message=\"power loss at random: 300 rows acknowledged, 0 "
        "read back\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.certify\" name=\"certificate\" time=\"0\">\n"
        "      <failure type=\"broken\" message=\"NOT certified: 3 of 300 acknowledged rows were "
        "lost and 1 transaction was stored only in part in 1 of 3 faults (1 kill, 2 power losses). "
        "The first finding was after fault 2, a power loss at random: session &lt;3&gt;.\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"append.certify\" name=\"files\" time=\"0\">\n"
        "      <error type=\"not-written\" message=\"&lt;no room&gt;\"/>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n",
        folder);
    assert_string_equal(text, expected);
    free(text);
}

/* The page and the files list all of 2,000 faults. */
TEST_BETWEEN(test_many_faults, make_folder, remove_folder)
{
    fill(1000, 1000);
    write_all();
    char *page = read_file("certificate.html"), *csv = read_file("faults.csv");
    size_t lines = 0;
    for (const char *at = csv; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 2001);
    assert_part(page, "<th scope=\"row\">2,000</th>");
    assert_part(page, "</main>\n</body>\n</html>\n");
    free(page);
    free(csv);
}
