#include "certify/certificate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"

const struct finding_words finding_words[FINDING_COUNT] = {
#define FINDING_WORDS(id, key, title, what) [FINDING_##id] = {key, title, what},
    FINDINGS(FINDING_WORDS)
#undef FINDING_WORDS
};

const struct fault_nouns fault_nouns[FAULT_KINDS] = {
    [FAULT_KILL] = {"kill", "kills"},
    [FAULT_POWER] = {"power loss", "power losses"},
    [FAULT_STOP] = {"stop", "stops"},
    [FAULT_RESTART] = {"restart", "restarts"},
    [FAULT_NETWORK] = {"network cut", "network cuts"},
};

/* The words that follow a count in a sentence about a finding: singular and plural. */
static const struct {
    const char *one, *many;
} phrases[FINDING_COUNT] = {
    [FINDING_LOST] = {"acknowledged rows was lost", "acknowledged rows were lost"},
    [FINDING_DUPLICATE] = {"row was stored more than once", "rows were stored more than once"},
    [FINDING_FOREIGN] = {"row in the tables was not sent by append",
                         "rows in the tables were not sent by append"},
    [FINDING_REJECTED] = {"row was stored although the server had refused its transaction",
                          "rows were stored although the server had refused their transactions"},
    [FINDING_TORN] = {"row did not match its checksum", "rows did not match their checksums"},
    [FINDING_HALF] = {"transaction was stored only in part",
                      "transactions were stored only in part"},
    [FINDING_HOLE] = {"lost transaction was followed by a stored transaction",
                      "lost transactions were followed by stored transactions"},
    [FINDING_DAMAGE] = {"table or index was damaged", "tables and indexes were damaged"},
};

static void fini_series(struct fault_series *series)
{
    free(series->results);
    buffer_fini(&series->options);
}

void certificate_fini(struct certificate *certificate)
{
    fini_series(&certificate->proof);
    fini_series(&certificate->series);
    buffer_fini(&certificate->command);
}

bool certificate_has(const struct fault_result *result, enum fault_finding finding)
{
    const bool is_checked =
        finding != FINDING_DAMAGE || (result->unchecked[0] == '\0' && result->failure[0] == '\0');
    return result->findings[finding] > 0 || (result->is_read && is_checked);
}

bool certificate_has_sum(const struct fault_series *series, enum fault_finding finding)
{
    bool has = false;
    for (size_t i = 0; i < series->count && !has; i++) {
        has = certificate_has(&series->results[i], finding);
    }
    return has;
}

uint64_t certificate_sum(const struct fault_series *series, enum fault_finding finding)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < series->count; i++) {
        sum += series->results[i].findings[finding];
    }
    return sum;
}

bool certificate_is_broken(const struct fault_result *result)
{
    bool is_broken = result->failure[0] != '\0';
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        is_broken |= result->findings[i] > 0;
    }
    return is_broken;
}

bool certificate_could_show_loss(const struct fault_series *series, size_t number)
{
    const struct fault_result *result = &series->results[number];
    const uint64_t before = number == 0 ? 0 : result[-1].acknowledged;
    return result->is_read && result->acknowledged > before;
}

bool certificate_is_proof(const struct fault_result *result)
{
    return result->findings[FINDING_LOST] > 0 || result->failure[0] != '\0';
}

double certificate_bound(size_t faults)
{
    return faults < 3 ? 1 : 3 / (double)faults;
}

struct fault_tally certificate_count(const struct fault_series *series, enum fault_kind kind)
{
    struct fault_tally tally = {0};
    for (size_t i = 0; i < series->count; i++) {
        const struct fault_result *result = &series->results[i];
        const uint64_t doubted = i == 0 ? 0 : result[-1].in_doubt;
        if (kind == FAULT_KINDS || result->fault.kind == kind) {
            tally.done++;
            tally.telling += certificate_could_show_loss(series, i) ? 1 : 0;
            tally.broken += certificate_is_broken(result) ? 1 : 0;
            tally.failed += result->failure[0] != '\0' ? 1 : 0;
            tally.proving += certificate_is_proof(result) ? 1 : 0;
            tally.in_flight += result->in_doubt > doubted ? 1 : 0;
            tally.down_ns = result->down_ns > tally.down_ns ? result->down_ns : tally.down_ns;
        }
    }
    return tally;
}

bool certificate_is_certified(const struct certificate *certificate)
{
    return certificate->verdict == CERTIFICATE_CLEAN &&
           certificate_count(&certificate->series, FAULT_KINDS).telling > 0;
}

const char *certificate_percent(size_t faults, char text[CERTIFICATE_PERCENT_BYTES])
{
    /* two digits, rounded up, so that the text never shows less than the bound */
    size_t scale = 1;
    while (300 * scale < 10 * faults) {
        scale *= 10;
    }
    const size_t whole = (300 * scale + faults - 1) / (faults > 0 ? faults : 1);
    const locale_t before = units_use_point();
    snprintf(text, CERTIFICATE_PERCENT_BYTES, "%g %%",
             faults < 3 ? 100 : (double)whole / (double)scale);
    uselocale(before);
    return text;
}

const char *certificate_describe_moment(const struct fault_result *result,
                                        char text[CERTIFICATE_MOMENT_BYTES])
{
    const char *words = fault_aim_words[result->fault.aim];
    if (result->fault.aim == FAULT_AFTER_COMMIT && result->after_ack_ns >= 0) {
        snprintf(text, CERTIFICATE_MOMENT_BYTES, "%s %s", UNITS_NS(result->after_ack_ns), words);
    } else {
        snprintf(text, CERTIFICATE_MOMENT_BYTES, "%s", words);
    }
    return text;
}

/* Adds "20 faults (10 kills, 10 power losses)", with the kinds of the faults that were done. */
static void add_faults(struct buffer *text, const struct fault_series *series)
{
    buffer_add_format(text, "%s %s", UNITS_COUNT(series->count),
                      units_plural(series->count, "fault", "faults"));
    const char *separator = " (";
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        const size_t done = certificate_count(series, (enum fault_kind)kind).done;
        if (done > 0) {
            buffer_add_format(text, "%s%s %s", separator, UNITS_COUNT(done),
                              units_plural(done, fault_nouns[kind].one, fault_nouns[kind].many));
            separator = ", ";
        }
    }
    buffer_add_text(text, series->count > 0 ? ")" : "");
}

/* Adds all findings: "5 of 70 acknowledged rows were lost and 2 rows ...". */
static void add_findings(struct buffer *text, const struct fault_series *series)
{
    const struct fault_tally tally = certificate_count(series, FAULT_KINDS);
    size_t left = tally.failed > 0 ? 1 : 0;
    for (int i = 0; i < FINDING_COUNT; i++) {
        left += certificate_sum(series, (enum fault_finding)i) > 0 ? 1 : 0;
    }
    const size_t all = left;
    for (int i = 0; i < FINDING_COUNT; i++) {
        const uint64_t sum = certificate_sum(series, (enum fault_finding)i);
        if (sum > 0) {
            const char *separator = left == 1 ? " and " : ", ";
            buffer_add_format(text, "%s%s ", left == all ? "" : separator, UNITS_COUNT(sum));
            if (i == FINDING_LOST) {
                buffer_add_format(text, "of %s ",
                                  UNITS_COUNT(series->results[series->count - 1].acknowledged));
            }
            buffer_add_text(text, units_plural(sum, phrases[i].one, phrases[i].many));
            left--;
        }
    }
    if (tally.failed > 0) {
        buffer_add_format(text,
                          "%sthe server did not start again or a table could not be read (%s %s)",
                          all > 1 ? " and " : "", UNITS_COUNT(tally.failed),
                          units_plural(tally.failed, "time", "times"));
    }
}

/* Adds a sentence about the first fault with a finding or a failure: " The first finding was after
 * fault 3, a kill at random: ...". */
static void add_first(struct buffer *text, const struct fault_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        const struct fault_result *result = &series->results[i];
        if (certificate_is_broken(result)) {
            char moment[CERTIFICATE_MOMENT_BYTES];
            const char *words = result->first[0] != '\0' ? result->first : result->failure;
            buffer_add_format(text, " The first finding was after fault %s, a %s %s%s%s.",
                              UNITS_COUNT(i + 1), fault_nouns[result->fault.kind].one,
                              certificate_describe_moment(result, moment),
                              words[0] != '\0' ? ": " : "", words);
            return;
        }
    }
}

/* Adds the number of faults after which a check was not complete, and the reason for the first of
 * them. */
static void add_unchecked(struct buffer *text, const struct fault_series *series)
{
    const char *first = "";
    size_t count = 0;
    for (size_t i = series->count; i-- > 0;) {
        if (series->results[i].unchecked[0] != '\0') {
            first = series->results[i].unchecked;
            count++;
        }
    }
    if (count > 0) {
        buffer_add_format(text, " After %s %s not everything was checked: %s.", UNITS_COUNT(count),
                          units_plural(count, "fault", "faults"), first);
    }
}

static void state_clean(struct buffer *text, const struct fault_series *series)
{
    const struct fault_tally all = certificate_count(series, FAULT_KINDS);
    const struct fault_tally power = certificate_count(series, FAULT_POWER);
    const size_t silent = all.done - all.telling;
    char percent[CERTIFICATE_PERCENT_BYTES];
    if (all.telling == 0) {
        const bool is_empty =
            series->count == 0 || series->results[series->count - 1].acknowledged == 0;
        buffer_add_text(text, "NOT certified: ");
        add_faults(text, series);
        buffer_add_format(text, " could not have shown a loss, because %s. Nothing is proven.",
                          is_empty ? "the server had acknowledged no row"
                                   : "not all rows were read back");
        return;
    }
    buffer_add_text(text, "No acknowledged row was lost, doubled or changed in ");
    add_faults(text, series);
    if (certificate_bound(all.telling) < 1) {
        buffer_add_format(text, ": with 95 %% confidence fewer than %s of such faults lose a row",
                          certificate_percent(all.telling, percent));
    } else {
        buffer_add_text(text, ". These are too few faults to bound the share of faults that lose "
                              "a row");
    }
    if (power.telling > 0 && power.telling < all.telling) {
        if (certificate_bound(power.telling) < 1) {
            buffer_add_format(text, "; counting only power losses, fewer than %s",
                              certificate_percent(power.telling, percent));
        } else {
            buffer_add_text(text, "; the power losses are too few for a bound of their own");
        }
    }
    buffer_add_text(text, ".");
    if (silent > 0) {
        buffer_add_format(text,
                          " %s of the faults %s left out of the bound: no row had been "
                          "acknowledged since the previous fault, or not all rows were read back.",
                          UNITS_COUNT(silent), units_plural(silent, "is", "are"));
    }
    if (power.telling == 0) {
        buffer_add_text(text, " No power loss was tested: rows that the server had not yet written "
                              "to the disk were not in danger.");
    }
    add_unchecked(text, series);
}

static void state_broken(struct buffer *text, const struct fault_series *series)
{
    buffer_add_text(text, "NOT certified: ");
    add_findings(text, series);
    buffer_add_format(text, " in %s of ",
                      UNITS_COUNT(certificate_count(series, FAULT_KINDS).broken));
    add_faults(text, series);
    buffer_add_text(text, ".");
    add_first(text, series);
    add_unchecked(text, series);
}

/* Ends a sentence with ": REASON.", or with "." if the reason is empty. */
static void add_reason(struct buffer *text, const char *reason)
{
    size_t length = strlen(reason);
    while (length > 0 && reason[length - 1] == '.') {
        length--;
    }
    buffer_add_format(text, "%s%.*s.", length > 0 ? ": " : "", (int)length, reason);
}

static void state_unfinished(struct buffer *text, const struct certificate *certificate)
{
    const struct fault_series *series = &certificate->series, *proof = &certificate->proof;
    const bool is_in_proof = series->count == 0 && proof->planned > 0 &&
                             certificate_count(proof, FAULT_KINDS).proving == 0;
    const struct fault_series *last = is_in_proof ? proof : series;
    buffer_add_format(text, "NOT certified: %s%s of %s %s%s %s done",
                      last->count < last->planned ? "only " : "", UNITS_COUNT(last->count),
                      UNITS_COUNT(last->planned), units_plural(last->planned, "fault", "faults"),
                      is_in_proof ? " of the proof run" : "",
                      last->count == 1 || last->planned == 1 ? "was" : "were");
    add_reason(text, certificate->reason);
    if (certificate_count(series, FAULT_KINDS).broken > 0) {
        buffer_add_text(text, " Until then, ");
        add_findings(text, series);
        buffer_add_text(text, ".");
        add_first(text, series);
    } else if (certificate_count(series, FAULT_KINDS).telling > 0) {
        buffer_add_text(text, " No acknowledged row was lost, doubled or changed until then.");
    }
}

/* Adds the settings of the proof run in brackets. */
static void add_options(struct buffer *text, const struct certificate *certificate)
{
    const char *options = buffer_text(&certificate->proof.options);
    buffer_add_format(text, "%s%s%s", options[0] != '\0' ? " (" : "", options,
                      options[0] != '\0' ? ")" : "");
}

static void state_unproven(struct buffer *text, const struct certificate *certificate)
{
    buffer_add_text(text, "NOT certified: with unsafe settings");
    add_options(text, certificate);
    buffer_add_text(text, ", which are known to lose rows, no acknowledged row was lost in ");
    add_faults(text, &certificate->proof);
    buffer_add_text(text, ". So it is not proven that these faults find a loss on this machine.");
}

void certificate_state(const struct certificate *certificate, char *text, size_t size)
{
    const struct fault_series *proof = &certificate->proof;
    struct buffer words = {0};
    switch (certificate->verdict) {
    case CERTIFICATE_CLEAN:
        state_clean(&words, &certificate->series);
        break;
    case CERTIFICATE_BROKEN:
        state_broken(&words, &certificate->series);
        break;
    case CERTIFICATE_UNPROVEN:
        state_unproven(&words, certificate);
        break;
    case CERTIFICATE_UNFINISHED:
        state_unfinished(&words, certificate);
        break;
    }
    if (certificate_is_certified(certificate) &&
        certificate_count(proof, FAULT_KINDS).proving > 0) {
        buffer_add_text(&words, " The check is proven: with unsafe settings");
        add_options(&words, certificate);
        buffer_add_text(&words, ", ");
        add_findings(&words, proof);
        buffer_add_text(&words, " in ");
        add_faults(&words, proof);
        buffer_add_text(&words, ".");
    }
    snprintf(text, size, "%s", buffer_text(&words));
    buffer_fini(&words);
}
