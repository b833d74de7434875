/* The files of a certificate. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mono.h"
#include "base/sha256.h"
#include "base/text.h"
#include "certify/certificate.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/files.h"
#include "report/report.h"
#include "report/tree.h"

/* Version of the format of certificate.json. To be raised when a member is removed or changes its
 * meaning, but not when a member is added. */
enum {
    CERTIFICATE_FORMAT = 1
};

static const char *const verdict_words[] = {[CERTIFICATE_CLEAN] = "clean",
                                            [CERTIFICATE_BROKEN] = "broken",
                                            [CERTIFICATE_UNPROVEN] = "unproven",
                                            [CERTIFICATE_UNFINISHED] = "unfinished"};

/* seconds_of and ms_of convert a time to seconds and to milliseconds. They return NaN for an
 * unknown time, which is negative. */
static double seconds_of(int64_t ns)
{
    return ns < 0 ? (double)NAN : figures_seconds(ns);
}

static double ms_of(int64_t ns)
{
    return ns < 0 ? (double)NAN : figures_ms(ns);
}

/* Returns the planned time in ns from an acknowledgement or a checkpoint to the fault; -1 for a
 * fault at a random moment. */
static int64_t aimed_ns_of(const struct fault *fault)
{
    return fault->aim == FAULT_AT_RANDOM ? -1 : fault->aimed_ns;
}

static int64_t stop_ns_of(const struct fault *fault)
{
    return fault->kind == FAULT_STOP ? fault->stop_ns : -1;
}

/* Writes the line of faults.csv for fault `number` (from 0), or the header line if `series` is
 * NULL. */
static void write_fault(FILE *stream, const char *run, const struct fault_series *series,
                        size_t number)
{
    static const struct fault_result none;
    const struct fault_result *result = series == NULL ? &none : &series->results[number];
    const struct fault *fault = &result->fault;
    struct csv csv;
    csv_begin(&csv, stream, series == NULL);
    csv_text(&csv, "run", run);
    csv_count(&csv, "fault", number + 1);
    csv_text(&csv, "kind", fault_words[fault->kind].name);
    csv_text(&csv, "moment", fault_aim_words[fault->aim]);
    csv_decimal(&csv, "load_s", figures_seconds(fault->after_ns), 3);
    csv_decimal(&csv, "aimed_ms", ms_of(aimed_ns_of(fault)), 3);
    csv_decimal(&csv, "stop_s", seconds_of(stop_ns_of(fault)), 3);
    csv_decimal(&csv, "at_s", figures_seconds(result->at_ns), 6);
    csv_decimal(&csv, "after_ack_ms", ms_of(result->after_ack_ns), 3);
    csv_count(&csv, "rows_acknowledged", result->acknowledged);
    csv_count(&csv, "rows_in_doubt", result->in_doubt);
    csv_count(&csv, "rows_rejected", result->rejected);
    csv_decimal(&csv, "down_s", seconds_of(result->down_ns), 3);
    csv_decimal(&csv, "recover_s", seconds_of(result->recover_ns), 3);
    csv_decimal(&csv, "read_s", seconds_of(result->read_ns), 3);
    csv_count(&csv, "rows_read", result->rows_read);
    csv_count(&csv, "is_read", result->is_read ? 1 : 0);
    csv_count(&csv, "is_telling",
              series != NULL && certificate_could_show_loss(series, number) ? 1 : 0);
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        char column[40];
        snprintf(column, sizeof column, "found_%s", finding_words[i].key);
        if (certificate_has(result, (enum fault_finding)i)) {
            csv_count(&csv, column, result->findings[i]);
        } else {
            csv_text(&csv, column, NULL);
        }
    }
    csv_text(&csv, "first_finding", result->first);
    csv_text(&csv, "failure", result->failure);
    csv_text(&csv, "unchecked", result->unchecked);
    csv_end(&csv);
}

static bool write_csv(FILE *stream, const struct certificate *certificate)
{
    write_fault(stream, "", NULL, 0);
    for (size_t i = 0; i < certificate->proof.count; i++) {
        write_fault(stream, "proof", &certificate->proof, i);
    }
    for (size_t i = 0; i < certificate->series.count; i++) {
        write_fault(stream, "certified", &certificate->series, i);
    }
    return ferror(stream) == 0;
}

static void add_result(struct tree array, const struct fault_series *series, size_t number)
{
    const struct fault_result *result = &series->results[number];
    const struct fault *fault = &result->fault;
    const struct tree tree = tree_append_object(array);
    tree_count(tree, "fault", number + 1);
    tree_text(tree, "kind", fault_words[fault->kind].name);
    tree_text(tree, "moment", fault_aim_words[fault->aim]);
    tree_number(tree, "load_s", figures_seconds(fault->after_ns));
    tree_number(tree, "aimed_ms", ms_of(aimed_ns_of(fault)));
    tree_number(tree, "stop_s", seconds_of(stop_ns_of(fault)));
    tree_number(tree, "at_s", figures_seconds(result->at_ns));
    tree_number(tree, "after_ack_ms", ms_of(result->after_ack_ns));
    tree_count(tree, "rows_acknowledged", result->acknowledged);
    tree_count(tree, "rows_in_doubt", result->in_doubt);
    tree_count(tree, "rows_rejected", result->rejected);
    tree_number(tree, "down_s", seconds_of(result->down_ns));
    tree_number(tree, "recover_s", seconds_of(result->recover_ns));
    tree_number(tree, "read_s", seconds_of(result->read_ns));
    tree_count(tree, "rows_read", result->rows_read);
    tree_bool(tree, "is_read", result->is_read);
    tree_bool(tree, "is_telling", certificate_could_show_loss(series, number));
    const struct tree found = tree_object(tree, "found");
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        tree_count_if(found, finding_words[i].key, certificate_has(result, (enum fault_finding)i),
                      result->findings[i]);
    }
    tree_text(tree, "first_finding", result->first);
    tree_text(tree, "failure", result->failure);
    tree_text(tree, "unchecked", result->unchecked);
}

/* Adds the counts for one kind of fault, as the member `key` of `parent`. */
static void add_tally(struct tree parent, const char *key, const struct fault_tally *tally)
{
    const struct tree tree = tree_object(parent, key);
    tree_count(tree, "done", tally->done);
    tree_count(tree, "telling", tally->telling);
    tree_count(tree, "broken", tally->broken);
    tree_count(tree, "failed", tally->failed);
    tree_count(tree, "in_flight", tally->in_flight);
    tree_number_if(tree, "loss_share_below", tally->broken == 0, certificate_bound(tally->telling));
    tree_number_if(tree, "longest_down_s", tally->down_ns > 0, figures_seconds(tally->down_ns));
}

static void add_series(struct tree root, const char *key, const struct fault_series *series)
{
    if (series->planned == 0) {
        tree_put(root, key, json_null());
        return;
    }
    const struct tree tree = tree_object(root, key);
    const struct fault_tally all = certificate_count(series, FAULT_KINDS);
    tree_count(tree, "planned", series->planned);
    add_tally(tree, "faults", &all);
    const struct tree kinds = tree_object(tree, "kinds");
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        const struct fault_tally tally = certificate_count(series, (enum fault_kind)kind);
        if (tally.done > 0) {
            add_tally(kinds, fault_words[kind].name, &tally);
        }
    }
    const struct tree found = tree_object(tree, "found");
    for (int i = 0; i < FINDING_COUNT; i++) {
        const enum fault_finding finding = (enum fault_finding)i;
        tree_count_if(found, finding_words[i].key, certificate_has_sum(series, finding),
                      certificate_sum(series, finding));
    }
    tree_text(tree, "options", buffer_text(&series->options));
    const struct tree settings = tree_object(tree, "settings");
    for (size_t i = 0; i < series->settings.count; i++) {
        const struct server_setting *setting = &series->settings.entries[i];
        tree_put(settings, setting->name, tree_string(setting->value));
    }
    const struct tree results = tree_array(tree, "results");
    for (size_t i = 0; i < series->count; i++) {
        add_result(results, series, i);
    }
}

static bool write_json(FILE *stream, const struct certificate *certificate, const char *csv_hash)
{
    bool has_failed = false;
    json_t *json = json_object();
    const struct tree root = {json, &has_failed};
    char text[CERTIFICATE_STATEMENT_BYTES];
    tree_count(root, "format", CERTIFICATE_FORMAT);
    tree_text(root, "program", "append");
    tree_text(root, "version", APPEND_VERSION);
    tree_bool(root, "is_certified", certificate_is_certified(certificate));
    tree_text(root, "verdict", verdict_words[certificate->verdict]);
    certificate_state(certificate, text, sizeof text);
    tree_text(root, "statement", text);
    tree_count(root, "exit_code", (uint64_t)certificate->code);
    tree_text(root, "reason", certificate->reason);
    const struct tree times = tree_object(root, "times");
    mono_format_utc(certificate->start_wall_ns, text, sizeof text);
    tree_text(times, "started_utc", text);
    tree_number(times, "elapsed_s", figures_seconds(certificate->elapsed_ns));
    tree_text(root, "server", certificate->server);
    tree_text(root, "place", certificate->place);
    const struct tree places = tree_object(root, "conditions");
    for (size_t i = 0; i < certificate->place_count; i++) {
        tree_put(places, certificate->places[i].name, tree_string(certificate->places[i].value));
    }
    tree_count(root, "sessions", certificate->plan->sessions);
    /* the seed is written as text, because it has 64 bits, and most JSON parsers keep only 53 bits
     * of a number */
    snprintf(text, sizeof text, "%" PRIu64, certificate->plan->seed);
    tree_text(root, "seed", text);
    tree_text(root, "command", buffer_text(&certificate->command));
    add_series(root, "proof", &certificate->proof);
    add_series(root, "certified", &certificate->series);
    tree_text(tree_object(root, "sha256"), CERTIFICATE_CSV, csv_hash);
    return tree_write(stream, json, has_failed);
}

/* Adds the test case of a fault of the certified run. */
static void add_case(struct junit_suite *suite, const struct fault_series *series, size_t number)
{
    const struct fault_result *result = &series->results[number];
    const char *type = "failure", *kind = certificate_is_broken(result) ? "failure" : NULL;
    char name[120], moment[CERTIFICATE_MOMENT_BYTES];
    struct buffer text = {0};
    for (size_t i = FINDING_COUNT; i-- > 0;) {
        if (result->findings[i] > 0) {
            type = finding_words[i].key;
        }
    }
    if (kind == NULL && !result->is_read) {
        kind = "error";
        type = "not-read";
    }
    snprintf(name, sizeof name, "%zu %s %s", number + 1, fault_words[result->fault.kind].name,
             fault_aim_words[result->fault.aim]);
    buffer_add_format(&text, "%s %s: %s rows acknowledged, %s read back",
                      fault_nouns[result->fault.kind].one,
                      certificate_describe_moment(result, moment),
                      UNITS_COUNT(result->acknowledged), UNITS_COUNT(result->rows_read));
    if (result->down_ns >= 0) {
        buffer_add_format(&text, ", down %s", UNITS_NS(result->down_ns));
    }
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        if (result->findings[i] > 0) {
            buffer_add_format(&text, "; %s %s", finding_words[i].key,
                              UNITS_COUNT(result->findings[i]));
        }
    }
    buffer_add_format(&text, "%s%s%s%s", result->first[0] != '\0' ? "; " : "", result->first,
                      result->failure[0] != '\0' ? "; " : "", result->failure);
    junit_add_case(suite, "append.certify", name, kind, type, buffer_text(&text));
    suite->cases.has_failed |= text.has_failed;
    buffer_fini(&text);
}

bool certificate_write_junit(FILE *stream, const struct certificate *certificate,
                             const char *folder, const char *unwritten)
{
    struct junit_suite suite = {.target = certificate->place,
                                .folder = folder,
                                .elapsed_ns = certificate->elapsed_ns,
                                .started_wall_ns = certificate->start_wall_ns};
    const struct fault_series *proof = &certificate->proof;
    char text[CERTIFICATE_STATEMENT_BYTES];
    snprintf(suite.name, sizeof suite.name, "append certify %.60s %u sessions %zu faults",
             certificate->server, certificate->plan->sessions, certificate->series.planned);
    if (proof->planned > 0) {
        const size_t proving = certificate_count(proof, FAULT_KINDS).proving;
        snprintf(text, sizeof text, "%s of %s faults with unsafe settings lost rows",
                 UNITS_COUNT(proving), UNITS_COUNT(proof->count));
        junit_add_case(&suite, "append.certify", "proof", proving == 0 ? "failure" : NULL,
                       "unproven", text);
    }
    for (size_t i = 0; i < certificate->series.count; i++) {
        add_case(&suite, &certificate->series, i);
    }
    const char *wrong = certificate->verdict == CERTIFICATE_UNFINISHED ? "error" : "failure";
    certificate_state(certificate, text, sizeof text);
    junit_add_case(&suite, "append.certify", "certificate",
                   certificate_is_certified(certificate) ? NULL : wrong,
                   verdict_words[certificate->verdict], text);
    if (unwritten[0] != '\0') {
        junit_add_case(&suite, "append.certify", "files", "error", "not-written", unwritten);
    }
    return junit_write_suite(stream, &suite);
}

static enum status refuse(struct error *error, int number, const char *path)
{
    error_set(error, ERROR_SYSTEM, number, NULL, "%.120s cannot be written: %s", path,
              strerror(number));
    return STATUS_REJECTED;
}

/* Writes the path of the file `name` in the folder. */
static enum status find_path(char path[REPORT_PATH_BYTES], const char *folder, const char *name,
                             struct error *error)
{
    if ((size_t)snprintf(path, REPORT_PATH_BYTES, "%s/%s", folder, name) >= REPORT_PATH_BYTES) {
        return refuse(error, ENAMETOOLONG, folder);
    }
    return STATUS_OK;
}

static enum status replace(const char *folder, const char *name, const struct buffer *content,
                           struct error *error)
{
    char path[REPORT_PATH_BYTES];
    if (find_path(path, folder, name, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    const int number = file_replace(AT_FDCWD, path, content, false);
    return number == 0 ? STATUS_OK : refuse(error, number, path);
}

static enum status write_page(const struct certificate *certificate, const char *folder,
                              const char *csv_hash, const char *json_hash, struct error *error)
{
    char path[REPORT_PATH_BYTES];
    struct buffer page = {0};
    enum status status = find_path(path, folder, CERTIFICATE_PAGE, error);
    if (status == STATUS_OK) {
        certificate_add_page(&page, certificate, csv_hash, json_hash);
        status = buffer_failed(&page)
                     ? refuse(error, ENOMEM, path)
                     : report_write_whole(path, REPORT_PAGE_BEGIN, "append certify", &page, error);
    }
    buffer_fini(&page);
    return status;
}

static enum status write_files(const struct certificate *certificate, const char *folder,
                               struct error *error)
{
    struct buffer csv = {0}, json = {0};
    char csv_hash[SHA256_TEXT_BYTES], json_hash[SHA256_TEXT_BYTES];
    enum status status = STATUS_REJECTED;
    FILE *stream = buffer_open(&csv);
    bool is_made = stream != NULL && write_csv(stream, certificate);
    is_made = stream != NULL && fclose(stream) == 0 && is_made && !buffer_failed(&csv);
    if (is_made) {
        sha256_text(csv.bytes, csv.length, csv_hash);
        stream = buffer_open(&json);
        is_made = stream != NULL && write_json(stream, certificate, csv_hash);
        is_made = stream != NULL && fclose(stream) == 0 && is_made && !buffer_failed(&json);
    }
    if (!is_made) {
        (void)refuse(error, ENOMEM, folder);
    } else {
        sha256_text(json.bytes, json.length, json_hash);
        status = replace(folder, CERTIFICATE_CSV, &csv, error);
    }
    if (status == STATUS_OK) {
        status = replace(folder, CERTIFICATE_JSON, &json, error);
    }
    if (status == STATUS_OK) {
        status = write_page(certificate, folder, csv_hash, json_hash, error);
    }
    buffer_fini(&csv);
    buffer_fini(&json);
    return status;
}

enum status certificate_write(const struct certificate *certificate, const char *folder,
                              struct error *error)
{
    const locale_t before = units_use_point();
    const enum status status = write_files(certificate, folder, error);
    uselocale(before);
    return status;
}
