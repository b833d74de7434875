/* certificate.html: a page that a manager can read and an engineer can repeat. */
#include <inttypes.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "certify/certificate.h"
#include "report/report.h"

/* Defects of a server that no fault of append certify can show. Each entry: title, sentences. */
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
     "Bits that change on the disk, errors that a read, a write or a flush returns, "
     "and a disk that is full were not tested."},
    {"Replicas", "One server was tested. Replicas, backups and failover to another server were "
                 "not tested."},
    {"Other work", "Only the rows that append wrote were checked, with the settings and on the "
                   "disk named here."},
};

/* Returns a time, or "–" if it is unknown. The text is valid to the end of the block. */
#define TIME_OR_DASH(ns) ((ns) < 0 ? "–" : UNITS_NS(ns))

/* Returns the label of the verdict, its CSS class and its symbol. */
static const char *const *style_of(const struct certificate *certificate)
{
    static const char *const given[] = {"CERTIFIED", "valid", "✓"},
                             *const open[] = {"NOT CERTIFIED", "degraded", "!"},
                             *const broken[] = {"NOT CERTIFIED", "invalid", "✕"};
    const char *const *others = certificate->verdict == CERTIFICATE_BROKEN ? broken : open;
    return certificate_is_given(certificate) ? given : others;
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
    const uint64_t lost = certificate_sum(series, FINDING_LOST);
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
    add_tile(html, "Lost", UNITS_COUNT(lost), words);
    add_tile(html, "Longest downtime", all.down_ns > 0 ? UNITS_NS(all.down_ns) : "–",
             "from a fault until the server accepted a session again");
    buffer_add_text(html, "</div>\n");
}

/* Adds a count of the certified run and, if there is a proof run, the count of the proof run. */
static void add_count(const struct page_table *table, const char *title, uint64_t count,
                      uint64_t of_proof, const char *words)
{
    if (table->columns[3] == NULL) {
        PAGE_ROW(table, title, UNITS_COUNT(count), words);
    } else {
        PAGE_ROW(table, title, UNITS_COUNT(count), UNITS_COUNT(of_proof), words);
    }
}

static void add_counts(struct buffer *html, const struct certificate *certificate)
{
    static const char *const plain[] = {"*count", "#number", "+meaning", NULL};
    static const char *const both[] = {"*count", "#number", "#proof run", "+meaning", NULL};
    const struct fault_series *series = &certificate->series, *proof = &certificate->proof;
    const struct fault_result *last = last_of(series), *of_proof = last_of(proof);
    const struct page_table table =
        page_open_table(html, "Counts", proof->planned > 0 ? both : plain);
    add_count(&table, "Acknowledged", last->acknowledged, of_proof->acknowledged,
              "rows that the server had acknowledged before the last fault");
    add_count(&table, "In doubt", last->in_doubt, of_proof->in_doubt,
              "rows sent but not answered before a fault: they may be there or not");
    add_count(&table, "Rejected", last->rejected, of_proof->rejected,
              "rows of transactions that the server refused");
    add_count(&table, "Read back", last->rows_read, of_proof->rows_read,
              "rows in the tables after the last fault");
    for (int i = 0; i < FINDING_COUNT; i++) {
        add_count(&table, finding_words[i].title, certificate_sum(series, (enum fault_finding)i),
                  certificate_sum(proof, (enum fault_finding)i), finding_words[i].what);
    }
    add_count(&table, "Failures", certificate_count(series, FAULT_KINDS).failed,
              certificate_count(proof, FAULT_KINDS).failed,
              "faults after which the server did not start again, or a table could not be read");
    add_count(&table, "Faults in flight", certificate_count(series, FAULT_KINDS).in_flight,
              certificate_count(proof, FAULT_KINDS).in_flight,
              "faults that struck while rows had been sent but not yet answered");
    page_close_table(&table, NULL);
}

static void add_kinds(struct buffer *html, const struct fault_series *series)
{
    static const char *const columns[] = {
        "*fault",         "+what append did",        "#done", "#could show a loss",
        "#with findings", "#share that loses a row", NULL};
    const struct page_table table = page_open_table(html, "Fault model", columns);
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        const struct fault_tally tally = certificate_count(series, (enum fault_kind)kind);
        char percent[CERTIFICATE_PERCENT_BYTES], bound[40] = "–";
        if (tally.broken == 0 && certificate_bound(tally.telling) < 1) {
            snprintf(bound, sizeof bound, "below %s", certificate_percent(tally.telling, percent));
        }
        PAGE_ROW(&table, fault_nouns[kind].many, fault_words[kind].what,
                 tally.done == 0 ? "none" : UNITS_COUNT(tally.done), UNITS_COUNT(tally.telling),
                 UNITS_COUNT(tally.broken), bound);
    }
    page_close_table(
        &table, "A fault could show a loss if rows were acknowledged since the previous fault "
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
    static const char *const columns[] = {"*what", "+value", NULL};
    static const char *const plain[] = {"*setting", "+value", NULL};
    static const char *const both[] = {"*setting", "+value", "+in the proof run", NULL};
    const struct fault_series *series = &certificate->series, *proof = &certificate->proof;
    struct page_table table = page_open_table(html, "What was tested", columns);
    PAGE_ROW(&table, "server", certificate->server);
    PAGE_ROW(&table, "place", certificate->place);
    for (size_t i = 0; i < certificate->place_count; i++) {
        PAGE_ROW(&table, certificate->places[i].name, certificate->places[i].value);
    }
    if (series->options.length > 0) {
        PAGE_ROW(&table, "options of the server", buffer_text(&series->options));
    }
    if (proof->options.length > 0) {
        PAGE_ROW(&table, "options in the proof run", buffer_text(&proof->options));
    }
    PAGE_ROW(&table, "append", APPEND_VERSION);
    page_close_table(&table, NULL);
    /* if the certified run did not take place, show the settings of the proof run */
    const struct server_settings *settings =
        series->settings.count > 0 ? &series->settings : &proof->settings;
    if (settings->count == 0) {
        return;
    }
    table = page_open_table(html, "Settings of the server", proof->planned > 0 ? both : plain);
    for (size_t i = 0; i < settings->count; i++) {
        const char *name = settings->entries[i].name;
        PAGE_ROW(&table, name, find_setting(&series->settings, name),
                 find_setting(&proof->settings, name));
    }
    page_close_table(&table, "Settings that decide durability, and others that were changed, as "
                             "the server reported them before the first fault.");
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
    buffer_add_text(html, "<h3>How to repeat it</h3>\n<div class=\"card\"><code>");
    report_add_escaped(html, buffer_text(&certificate->command));
    buffer_add_format(html,
                      "</code>\n"
                      "<p class=\"note\">Seed %" PRIu64
                      ": it decides the order of the faults and their "
                      "moments. Where a fault strikes the server's work differs a little from run "
                      "to run.</p></div>\n",
                      certificate->plan->seed);
}

/* Writes what a fault found, as HTML. Returns `chip`. */
static const char *describe_result(const struct fault_series *series, size_t number,
                                   char chip[REPORT_ESCAPED_BYTES])
{
    const struct fault_result *result = &series->results[number];
    struct buffer text = {0};
    const char *style = "invalid";
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (result->findings[i] > 0) {
            buffer_add_format(&text, "%s%s %s", text.length > 0 ? ", " : "", finding_words[i].key,
                              UNITS_COUNT(result->findings[i]));
        }
    }
    if (result->failure[0] != '\0') {
        buffer_add_format(&text, "%sfailure", text.length > 0 ? ", " : "");
    }
    if (text.length == 0) {
        const bool is_telling = certificate_is_telling(series, number);
        style = is_telling ? "valid" : "degraded";
        buffer_add_text(&text, is_telling ? "clean" : "shows nothing");
    }
    snprintf(chip, REPORT_ESCAPED_BYTES, "<span class=\"chip %s\">%s</span>", style,
             buffer_text(&text));
    buffer_fini(&text);
    return chip;
}

static void add_faults(struct buffer *html, const char *heading, const struct fault_series *series)
{
    static const char *const columns[] = {
        "*fault", " kind",     " moment",    "#at",     "#acknowledged",  "#in doubt",
        "#down",  "#recovery", "#read back", "<result", "+first finding", NULL};
    if (series->count == 0) {
        return;
    }
    const struct page_table table = page_open_table(html, heading, columns);
    for (size_t i = 0; i < series->count; i++) {
        const struct fault_result *result = &series->results[i];
        char moment[CERTIFICATE_MOMENT_BYTES], chip[REPORT_ESCAPED_BYTES], words[500];
        const bool has_both = result->first[0] != '\0' && result->failure[0] != '\0';
        snprintf(words, sizeof words, "%s%s%s", result->first, has_both ? "; " : "",
                 result->failure);
        PAGE_ROW(&table, UNITS_COUNT(i + 1), fault_nouns[result->fault.kind].one,
                 certificate_describe_moment(result, moment), UNITS_NS(result->at_ns),
                 UNITS_COUNT(result->acknowledged), UNITS_COUNT(result->in_doubt),
                 TIME_OR_DASH(result->down_ns), TIME_OR_DASH(result->recover_ns),
                 result->is_read ? UNITS_COUNT(result->rows_read) : "–",
                 describe_result(series, i, chip), words);
    }
    page_close_table(&table, NULL);
}

static void add_proof(struct buffer *html, const struct certificate *certificate)
{
    const struct fault_series *proof = &certificate->proof;
    if (proof->planned == 0) {
        buffer_add_text(html, "<h3>Proof run</h3>\n<p class=\"note\">There was no proof run. With "
                              "--prove, append first makes the server lose rows by an unsafe "
                              "setting, and so shows that these faults find a loss on this "
                              "machine.</p>\n");
        return;
    }
    add_faults(html, "Proof run: each fault, with unsafe settings that must lose rows", proof);
}

void certificate_add_page(struct buffer *html, const struct certificate *certificate,
                          const char *csv_hash, const char *json_hash)
{
    static const char *const columns[] = {"*file", "+SHA-256", NULL};
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
    const struct page_table table = page_open_table(html, "Files of this certificate", columns);
    PAGE_ROW(&table, CERTIFICATE_CSV, csv_hash);
    PAGE_ROW(&table, CERTIFICATE_JSON, json_hash);
    page_close_table(&table, "sha256sum prints the same hash for an unchanged file.");
    buffer_add_text(html, "<footer>Made by append " APPEND_VERSION ".</footer>\n"
                          "</main>\n</body>\n</html>\n");
}
