#include "report/text_ledger.h"

#include <stdbool.h>
#include <string.h>

#include "base/units.h"
#include "report/figures.h"

enum {
    LEDGER_TERMS_MAX = 4
};

struct term {
    uint64_t value;
    const char *name;
};

struct sum {
    uint64_t total;
    size_t count;
    struct term terms[LEDGER_TERMS_MAX];
};

/* How terms of 0 are shown. Each form is shorter than the one before. */
enum zero_form {
    ZERO_EACH,   /* + 0 refused + 0 timed out */
    ZERO_JOINED, /* + 0 refused/timed out */
    ZERO_NONE,
};

/* Writes "total = term + term". The first term is always shown, so that the sum has two sides. */
static void format_sum(char *text, size_t size, const struct sum *sum, enum zero_form form)
{
    char count[UNITS_TEXT_BYTES];
    snprintf(text, size, "%s =", units_format_count(sum->total, count));
    bool has_zero = false;
    for (size_t i = 0; i < sum->count; i++) {
        const struct term *term = &sum->terms[i];
        const bool is_zero = i > 0 && term->value == 0;
        const size_t used = strlen(text);
        if (!is_zero || form == ZERO_EACH) {
            snprintf(text + used, size - used, "%s %s %s", i == 0 ? "" : " +",
                     units_format_count(term->value, count), term->name);
        }
        has_zero = has_zero || is_zero;
    }
    const char *lead = " + 0 ";
    for (size_t i = 1; has_zero && form == ZERO_JOINED && i < sum->count; i++) {
        if (sum->terms[i].value == 0) {
            const size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s", lead, sum->terms[i].name);
            lead = "/";
        }
    }
}

static void add_sum(FILE *stream, const char *label, const struct sum *sum)
{
    char text[256] = "";
    for (int form = ZERO_EACH; form <= ZERO_NONE; form++) {
        format_sum(text, sizeof text, sum, (enum zero_form)form);
        if (strlen(text) <= SCREEN_COLUMNS - SCREEN_LABEL_COLUMNS) {
            break;
        }
    }
    screen_add_wrapped(stream, label, SCREEN_LABEL_COLUMNS, text);
}

static void add_imbalance(FILE *stream, bool balances)
{
    if (!balances) {
        screen_add_wrapped(stream, "", SCREEN_LABEL_COLUMNS,
                           "DOES NOT BALANCE: a defect of append, do not trust this run");
    }
}

/* A count does not say whose the rows are that are left. */
static void add_lost(char *text, size_t size, const struct verification *verification)
{
    char least[UNITS_TEXT_BYTES];
    char most[UNITS_TEXT_BYTES];
    const size_t used = strlen(text);
    const bool is_range = verification->lost < verification->lost_at_most;
    snprintf(text + used, size - used, ": %s%s%s %s",
             is_range ? units_format_count(verification->lost, least) : "", is_range ? " to " : "",
             units_format_count(verification->lost_at_most, most),
             verification->lost_at_most > 0 ? "LOST" : "lost");
}

static void add_terms(char *text, size_t size, const struct term *terms, size_t terms_count)
{
    char count[UNITS_TEXT_BYTES];
    for (size_t i = 0; i < terms_count; i++) {
        const size_t used = strlen(text);
        if (terms[i].value > 0) {
            snprintf(text + used, size - used, ", %s %s", units_format_count(terms[i].value, count),
                     terms[i].name);
        }
    }
}

static void add_verification(FILE *stream, const struct result *result)
{
    const struct verification *verification = &result->verification;
    char text[SCREEN_TEXT_BYTES];
    if (verification->state != VERIFICATION_DONE) {
        const bool is_failed = verification->state == VERIFICATION_FAILED;
        snprintf(text, sizeof text, "%s%s",
                 is_failed ? "NO, the rows could not be counted: "
                           : "nothing: this database keeps no rows to count",
                 is_failed ? verification->reason : "");
        screen_add_wrapped(stream, "Verified", SCREEN_LABEL_COLUMNS, text);
        return;
    }
    char before[UNITS_TEXT_BYTES];
    char after[UNITS_TEXT_BYTES];
    snprintf(text, sizeof text, "count(*) %s before, %s after",
             units_format_count(verification->rows_before, before),
             units_format_count(verification->rows_after, after));
    if (result->row_verification.state != VERIFICATION_DONE) {
        add_lost(text, sizeof text, verification);
        if (result->rows.in_doubt > 0) {
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, ", %s in doubt arrived",
                     units_format_count(verification->in_doubt_arrived, after));
        }
        add_terms(text, sizeof text,
                  &(struct term){verification->rejected_arrived, "REJECTED are there"}, 1);
    }
    add_terms(text, sizeof text,
              &(struct term){result_surplus(result), "more than this run can have written"}, 1);
    if (verification->is_shrunk) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ", the table SHRANK");
    }
    screen_add_wrapped(stream, "Verified", SCREEN_LABEL_COLUMNS, text);
}

/* What was found of the rows that were not acknowledged; each only where there are some. */
static void add_others(char *text, size_t size, const struct result *result)
{
    const struct row_verification *v = &result->row_verification;
    const struct term terms[] = {
        {v->in_doubt_present, "in doubt are there"},
        {result->rows.in_doubt - v->in_doubt_present, "in doubt are not there"},
        {v->rejected_present, "REJECTED are there"},
        {v->duplicates, "DUPLICATES"},
        {v->foreign, "with this run's tag are FOREIGN"},
    };
    add_terms(text, size, terms, sizeof terms / sizeof terms[0]);
}

static void add_row_verification(FILE *stream, const struct result *result)
{
    const struct row_verification *v = &result->row_verification;
    char text[SCREEN_TEXT_BYTES];
    char present[UNITS_TEXT_BYTES];
    char lost[UNITS_TEXT_BYTES];
    char sessions[UNITS_TEXT_BYTES];
    if (v->state == VERIFICATION_NONE) {
        return;
    }
    if (v->state == VERIFICATION_FAILED) {
        snprintf(text, sizeof text, "NO, the rows could not be read: %s", v->reason);
    } else if (v->lost > 0) {
        snprintf(text, sizeof text,
                 "%s acknowledged are there, %s acknowledged are LOST, of %s sessions "
                 "(sessions.csv)",
                 units_format_count(v->present, present), units_format_count(v->lost, lost),
                 units_format_count(v->sessions_lost, sessions));
        add_others(text, sizeof text, result);
    } else {
        snprintf(text, sizeof text, "%s acknowledged are there, 0 lost",
                 units_format_count(v->present, present));
        add_others(text, sizeof text, result);
    }
    screen_add_wrapped(stream, "Rows read", SCREEN_LABEL_COLUMNS, text);
}

/* The batches that were due, and how many of the response times are no more than lower bounds. */
static void add_batches(FILE *stream, const struct result *result)
{
    const struct batch_ledger *batches = &result->batches;
    const uint64_t unanswered = result->totals.counters[RECORDER_UNANSWERED];
    char due[UNITS_TEXT_BYTES];
    char sent[UNITS_TEXT_BYTES];
    char not_sent[UNITS_TEXT_BYTES];
    char count[UNITS_TEXT_BYTES];
    char text[SCREEN_TEXT_BYTES];
    snprintf(text, sizeof text, "%s due = %s sent + %s not sent",
             units_format_count(batches->due, due), units_format_count(batches->sent, sent),
             units_format_count(batches->not_sent, not_sent));
    if (unanswered > 0) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used,
                 "; %s of the response times are lower bounds, for no answer came",
                 units_format_count(unanswered, count));
    }
    screen_add_wrapped(stream, "Batches", SCREEN_LABEL_COLUMNS, text);
}

void text_ledger_add(FILE *stream, const struct result *result)
{
    const struct session_ledger *sessions = &result->sessions;
    char note[FIGURES_NOTE_BYTES];
    add_sum(stream, "Sessions",
            &(struct sum){sessions->requested,
                          4,
                          {{sessions->connected, "connected"},
                           {sessions->refused, "refused"},
                           {sessions->timed_out, "timed out"},
                           {sessions->not_started, "not started"}}});
    add_sum(stream, "Connected",
            &(struct sum){sessions->connected,
                          3,
                          {{sessions->finished, "finished"},
                           {sessions->stopped, "stopped"},
                           {sessions->dropped, "dropped"}}});
    add_imbalance(stream, session_ledger_balances(sessions));
    const struct row_ledger *rows = &result->rows;
    add_sum(stream, "Rows",
            &(struct sum){rows->planned,
                          4,
                          {{rows->acknowledged, "acknowledged"},
                           {rows->rejected, "rejected"},
                           {rows->in_doubt, "in doubt"},
                           {rows->not_sent, "not sent"}}});
    add_imbalance(stream, row_ledger_balances(rows));
    if (result->batches.due > 0) {
        add_batches(stream, result);
    }
    add_verification(stream, result);
    add_row_verification(stream, result);
    if (figures_reads_note(result, note)[0] != '\0') {
        screen_add_wrapped(stream, "", SCREEN_LABEL_COLUMNS, note);
    }
}
