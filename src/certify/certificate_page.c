/* certificate.html: a page for managers, and for engineers who want to repeat the test. */
#include <inttypes.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "certify/certificate.h"
#include "report/page_table.h"
#include "report/report.h"

/* What the faults of the certify command do not test. Each entry: title, explanation. */
static const char *const uncovered[][2] = {
    {"Disks that lie",
     "The disk under the file system is assumed to be honest: what the file system has sent to the "
     "disk stays there. A disk or controller that confirms a flush without doing it, or that loses "
     "its write cache, can lose rows that survived this check."},
    {"Torn pages",
     "A block that the file system sends to the disk is written whole or not at all. Blocks that a "
     "power loss leaves half written on the disk itself were not simulated."},
    {"Reordering", "A disk that reorders writes was not simulated."},
    {"Other damage",
     "Not tested: bits that change on the disk, errors from reads, writes and flushes, "
     "and a full disk."},
    {"Replicas", "One server was tested. Replicas, backups and failover to another server were "
                 "not tested."},
    {"Other work", "Only the rows that append wrote were checked, with the settings and on the "
                   "disk named here."},
};

/* Returns the text of a time, or "–" if the time is unknown. The text is valid until the end of the
 * caller's block. */
#define TIME_OR_DASH(ns) ((ns) < 0 ? "–" : UNITS_NS(ns))

/* Returns the text of a finding's sum, or "–" if the sum is unknown. The text is valid until the
 * end of the caller's block. */
#define SUM_OR_DASH(series, finding)                                                               \
    (certificate_has_sum(series, finding) ? UNITS_COUNT(certificate_sum(series, finding)) : "–")

/* Returns the label of the verdict, its CSS class and its symbol. */
static const char *const *style_of(const struct certificate *certificate)
{
    static const char *const given[] = {"CERTIFIED", "valid", "✓"},
                             *const open[] = {"NOT CERTIFIED", "degraded", "!"},
                             *const broken[] = {"NOT CERTIFIED", "invalid", "✕"};
    const char *const *others = certificate->verdict == CERTIFICATE_BROKEN ? broken : open;
    return certificate_is_certified(certificate) ? given : others;
}

static const struct fault_result *last_of(const struct fault_series *series)
{
    static const struct fault_result none;
    return series->count == 0 ? &none : &series->results[series->count - 1];
}

static void add_tile(struct buffer *html, const char *label, const char *value, const char *words)
{
    buffer_add_format(html,
                      "<div class=\"tile\"><p>%s</p><p class=\"value\">%s</p><p>%s</p></div>\n",
                      label, value, REPORT_ESCAPED(words));
}

static void add_header(struct buffer *html, const struct certificate *certificate)
{
    const struct fault_series *series = &certificate->series;
    const struct fault_tally all = certificate_count(series, FAULT_KINDS);
    const char *const *style = style_of(certificate);
    char statement[CERTIFICATE_STATEMENT_BYTES], words[200], started[40];
    certificate_state(certificate, statement, sizeof statement);
    mono_format_utc(certificate->start_wall_ns, started, sizeof started);
    buffer_add_format(html,
                      "<p class=\"brand\">append certify</p>\n"
                      "<div class=\"verdict %s\"><b>%s&nbsp;%s</b></div>\n<h1>%s</h1>\n"
                      "<p class=\"sub\">%s</p>\n<p class=\"sub\">%s · %.10s %.8s UTC</p>\n"
                      "<h3>In short</h3>\n<div class=\"tiles\">\n",
                      style[1], style[2], style[0], REPORT_ESCAPED(statement),
                      REPORT_ESCAPED(certificate->server), REPORT_ESCAPED(certificate->place),
                      started, started + 11);
    snprintf(words, sizeof words, "%s planned; in %s", UNITS_COUNT(series->planned),
             UNITS_SECONDS((uint64_t)(certificate->elapsed_ns / MONO_NS_PER_S)));
    add_tile(html, "Faults", UNITS_COUNT(series->count), words);
    snprintf(words, sizeof words, "rows, from %s %s", UNITS_COUNT(certificate->plan->sessions),
             units_plural(certificate->plan->sessions, "session", "sessions"));
    add_tile(html, "Acknowledged", UNITS_COUNT(last_of(series)->acknowledged), words);
    snprintf(words, sizeof words, "rows; %s of %s faults with findings", UNITS_COUNT(all.broken),
             UNITS_COUNT(all.done));
    add_tile(html, "Lost", SUM_OR_DASH(series, FINDING_LOST), words);
    add_tile(html, "Longest downtime", all.down_ns > 0 ? UNITS_NS(all.down_ns) : "–",
             "from a fault until the server accepted a session again");
    buffer_add_text(html, "</div>\n");
}

static const struct page_column count_columns[] = {
    {"count", AS_NAME}, {"number", AS_NUMBER}, {"meaning", AS_WORDS}};
static const struct page_column proof_count_columns[] = {
    {"count", AS_NAME}, {"number", AS_NUMBER}, {"proof run", AS_NUMBER}, {"meaning", AS_WORDS}};

/* Adds a row to the table of counts: `count` is the count of the certified run, `of_proof` the
 * count of the proof run. Without a proof run, `of_proof` is ignored. */
static void add_count(struct buffer *html, bool has_proof, const char *title, const char *count,
                      const char *of_proof, const char *words)
{
    if (has_proof) {
        PAGE_TABLE_ROW(html, proof_count_columns, title, count, of_proof, words);
    } else {
        PAGE_TABLE_ROW(html, count_columns, title, count, words);
    }
}

static void add_counts(struct buffer *html, const struct certificate *certificate)
{
    const struct fault_series *series = &certificate->series, *proof = &certificate->proof;
    const struct fault_result *last = last_of(series), *of_proof = last_of(proof);
    const bool has_proof = proof->planned > 0;
    page_table_begin(html, "Counts", has_proof ? proof_count_columns : count_columns,
                     has_proof ? COUNT_OF(proof_count_columns) : COUNT_OF(count_columns));
    add_count(html, has_proof, "Acknowledged", UNITS_COUNT(last->acknowledged),
              UNITS_COUNT(of_proof->acknowledged),
              "rows that the server had acknowledged before the last fault");
    add_count(html, has_proof, "In doubt", UNITS_COUNT(last->in_doubt),
              UNITS_COUNT(of_proof->in_doubt),
              "rows sent but not answered before a fault: they may or may not be stored");
    add_count(html, has_proof, "Rejected", UNITS_COUNT(last->rejected),
              UNITS_COUNT(of_proof->rejected), "rows of transactions that the server refused");
    add_count(html, has_proof, "Read back", UNITS_COUNT(last->rows_read),
              UNITS_COUNT(of_proof->rows_read), "rows in the tables after the last fault");
    for (int i = 0; i < FINDING_COUNT; i++) {
        add_count(html, has_proof, finding_words[i].title,
                  SUM_OR_DASH(series, (enum fault_finding)i),
                  SUM_OR_DASH(proof, (enum fault_finding)i), finding_words[i].what);
    }
    add_count(html, has_proof, "Failures",
              UNITS_COUNT(certificate_count(series, FAULT_KINDS).failed),
              UNITS_COUNT(certificate_count(proof, FAULT_KINDS).failed),
              "faults after which the server did not start again, or a table could not be read");
    add_count(html, has_proof, "Faults in flight",
              UNITS_COUNT(certificate_count(series, FAULT_KINDS).in_flight),
              UNITS_COUNT(certificate_count(proof, FAULT_KINDS).in_flight),
              "faults that struck while rows had been sent but not yet answered");
    page_table_end(html, NULL);
}

static void add_kinds(struct buffer *html, const struct fault_series *series)
{
    static const struct page_column columns[] = {
        {"fault", AS_NAME},           {"what append did", AS_WORDS},
        {"done", AS_NUMBER},          {"could show a loss", AS_NUMBER},
        {"with findings", AS_NUMBER}, {"share of faults that lose a row", AS_NUMBER}};
    page_table_begin(html, "Fault model", columns, COUNT_OF(columns));
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        const struct fault_tally tally = certificate_count(series, (enum fault_kind)kind);
        char percent[CERTIFICATE_PERCENT_BYTES], bound[40] = "–";
        if (tally.broken == 0 && certificate_bound(tally.telling) < 1) {
            snprintf(bound, sizeof bound, "below %s", certificate_percent(tally.telling, percent));
        }
        PAGE_TABLE_ROW(html, columns, fault_nouns[kind].many, fault_words[kind].what,
                       tally.done == 0 ? "none" : UNITS_COUNT(tally.done),
                       UNITS_COUNT(tally.telling), UNITS_COUNT(tally.broken), bound);
    }
    page_table_end(
        html, "A fault could show a loss if rows were acknowledged since the previous fault "
              "and all rows were read back afterwards. After n such faults without a loss, "
              "with 95 % confidence fewer than 3/n of such faults lose a row (rule of three).");
}

/* Returns the value of a setting; "–" if the server did not report the setting. */
static const char *find_setting(const struct server_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->entries[i].name, name) == 0) {
            return settings->entries[i].value;
        }
    }
    return "–";
}

static void add_conditions(struct buffer *html, const struct certificate *certificate)
{
    static const struct page_column columns[] = {{"what", AS_NAME}, {"value", AS_WORDS}};
    static const struct page_column plain[] = {{"setting", AS_NAME}, {"value", AS_WORDS}};
    static const struct page_column both[] = {
        {"setting", AS_NAME}, {"value", AS_WORDS}, {"in the proof run", AS_WORDS}};
    const struct fault_series *series = &certificate->series, *proof = &certificate->proof;
    page_table_begin(html, "What was tested", columns, COUNT_OF(columns));
    PAGE_TABLE_ROW(html, columns, "server", certificate->server);
    PAGE_TABLE_ROW(html, columns, "place", certificate->place);
    for (size_t i = 0; i < certificate->place_count; i++) {
        PAGE_TABLE_ROW(html, columns, certificate->places[i].name, certificate->places[i].value);
    }
    if (series->options.length > 0) {
        PAGE_TABLE_ROW(html, columns, "options of the server", buffer_text(&series->options));
    }
    if (proof->options.length > 0) {
        PAGE_TABLE_ROW(html, columns, "options in the proof run", buffer_text(&proof->options));
    }
    PAGE_TABLE_ROW(html, columns, "append", APPEND_VERSION);
    page_table_end(html, NULL);
    /* if the certified run was not started, show the settings of the proof run */
    const struct server_settings *settings =
        series->settings.count > 0 ? &series->settings : &proof->settings;
    if (settings->count == 0) {
        return;
    }
    const bool has_proof = proof->planned > 0;
    page_table_begin(html, "Settings of the server", has_proof ? both : plain,
                     has_proof ? COUNT_OF(both) : COUNT_OF(plain));
    for (size_t i = 0; i < settings->count; i++) {
        const char *name = settings->entries[i].name;
        const char *value = find_setting(&series->settings, name);
        if (has_proof) {
            PAGE_TABLE_ROW(html, both, name, value, find_setting(&proof->settings, name));
        } else {
            PAGE_TABLE_ROW(html, plain, name, value);
        }
    }
    page_table_end(html, "Settings that decide durability, and others that do not have their "
                         "default values, as the server reported them before the first fault.");
}

static void add_model(struct buffer *html, const struct certificate *certificate)
{
    const size_t power = certificate_count(&certificate->series, FAULT_POWER).done;
    buffer_add_text(html, "<h3>What the faults do not cover</h3>\n<div class=\"card\"><table "
                          "class=\"pairs\"><tbody>\n");
    if (power == 0) {
        buffer_add_text(html,
                        "<tr class=\"bad\"><th scope=\"row\">Power loss</th><td>No power loss "
                        "was tested. Rows that the server has given to the operating system, "
                        "but not yet flushed to the disk, survive all faults that were "
                        "tested.</td></tr>\n");
    }
    for (size_t i = 0; i < COUNT_OF(uncovered); i++) {
        buffer_add_format(html, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", uncovered[i][0],
                          uncovered[i][1]);
    }
    buffer_add_text(html, "</tbody></table></div>\n");
}

static void add_repeat(struct buffer *html, const struct certificate *certificate)
{
    buffer_add_text(html, "<h3>How to repeat this test</h3>\n<div class=\"card\"><code>");
    report_add_escaped(html, buffer_text(&certificate->command));
    buffer_add_format(html,
                      "</code>\n"
                      "<p class=\"note\">Seed %" PRIu64
                      " decides the order and the moments of the faults. The server's work at the "
                      "moment of a fault differs a little from run to run.</p></div>\n",
                      certificate->plan->seed);
}

/* Adds the result of fault `number` (from 0), in words, to `text`. Returns the CSS class of the
 * result. */
static const char *describe_result(const struct fault_series *series, size_t number,
                                   struct buffer *text)
{
    const struct fault_result *result = &series->results[number];
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (result->findings[i] > 0) {
            buffer_add_format(text, "%s%s %s", text->length > 0 ? ", " : "", finding_words[i].key,
                              UNITS_COUNT(result->findings[i]));
        }
    }
    if (result->failure[0] != '\0') {
        buffer_add_format(text, "%sfailure", text->length > 0 ? ", " : "");
    }
    if (text->length > 0) {
        return "invalid";
    }
    const bool could_show_loss = certificate_could_show_loss(series, number);
    buffer_add_text(text, could_show_loss ? "clean" : "shows nothing");
    return could_show_loss ? "valid" : "degraded";
}

static void add_faults(struct buffer *html, const char *heading, const struct fault_series *series)
{
    static const struct page_column columns[] = {
        {"fault", AS_NAME},  {"kind", AS_TEXT},           {"moment", AS_TEXT},
        {"at", AS_NUMBER},   {"acknowledged", AS_NUMBER}, {"in doubt", AS_NUMBER},
        {"down", AS_NUMBER}, {"recovery", AS_NUMBER},     {"read back", AS_NUMBER},
        {"result", AS_TEXT}, {"first finding", AS_WORDS}};
    if (series->count == 0) {
        return;
    }
    page_table_begin(html, heading, columns, COUNT_OF(columns));
    for (size_t i = 0; i < series->count; i++) {
        const struct fault_result *result = &series->results[i];
        char moment[CERTIFICATE_MOMENT_BYTES], words[500];
        struct buffer found = {0};
        const char *style = describe_result(series, i, &found);
        const bool has_both = result->first[0] != '\0' && result->failure[0] != '\0';
        snprintf(words, sizeof words, "%s%s%s", result->first, has_both ? "; " : "",
                 result->failure);
        const struct page_cell cells[] = {
            {.text = UNITS_COUNT(i + 1)},
            {.text = fault_nouns[result->fault.kind].one},
            {.text = certificate_describe_moment(result, moment)},
            {.text = UNITS_NS(result->at_ns)},
            {.text = UNITS_COUNT(result->acknowledged)},
            {.text = UNITS_COUNT(result->in_doubt)},
            {.text = TIME_OR_DASH(result->down_ns)},
            {.text = TIME_OR_DASH(result->recover_ns)},
            {.text = result->is_read ? UNITS_COUNT(result->rows_read) : "–"},
            {.text = buffer_text(&found), .chip = style},
            {.text = words},
        };
        _Static_assert(COUNT_OF(cells) == COUNT_OF(columns), "a cell for each column");
        page_table_add_row(html, columns, COUNT_OF(columns), cells);
        buffer_fini(&found);
    }
    page_table_end(html, NULL);
}

static void add_proof(struct buffer *html, const struct certificate *certificate)
{
    const struct fault_series *proof = &certificate->proof;
    if (proof->planned == 0) {
        buffer_add_text(html,
                        "<h3>Proof run</h3>\n<p class=\"note\">There was no proof run. With "
                        "--prove, append first makes faults under unsafe settings, which must "
                        "lose rows. This shows that these faults find a loss on "
                        "this machine.</p>\n");
        return;
    }
    add_faults(html, "Proof run: each fault, with unsafe settings that must lose rows", proof);
}

void certificate_add_page(struct buffer *html, const struct certificate *certificate,
                          const char *csv_hash, const char *json_hash)
{
    static const struct page_column columns[] = {{"file", AS_NAME}, {"SHA-256", AS_WORDS}};
    char policy[200], title[REPORT_ESCAPED_BYTES];
    snprintf(policy, sizeof policy,
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src '%s'\">\n",
             page_css_hash);
    snprintf(title, sizeof title, "certificate, %.200s", REPORT_ESCAPED(certificate->server));
    page_add_head(html, policy, title);
    add_header(html, certificate);
    add_counts(html, certificate);
    add_kinds(html, &certificate->series);
    add_conditions(html, certificate);
    add_model(html, certificate);
    add_repeat(html, certificate);
    add_faults(html, "Each fault", &certificate->series);
    add_proof(html, certificate);
    page_table_begin(html, "Files of this certificate", columns, COUNT_OF(columns));
    PAGE_TABLE_ROW(html, columns, CERTIFICATE_CSV, csv_hash);
    PAGE_TABLE_ROW(html, columns, CERTIFICATE_JSON, json_hash);
    page_table_end(html, "sha256sum prints the same hash for an unchanged file.");
    buffer_add_text(html, "<footer>Made by append " APPEND_VERSION ".</footer>\n"
                          "</main>\n</body>\n</html>\n");
}
