#include "report/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/mono.h"
#include "plan/facts.h"
#include "report/expectations.h"
#include "report/figures.h"
#include "report/report.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Adds a text as the value of an attribute or between tags. Characters that XML 1.0 does not allow
 * even when escaped are replaced. */
static void add_escaped(struct buffer *buffer, const char *text)
{
    static const char *const escapes[] = {"&&amp;",  "<&lt;",  ">&gt;",   "\"&quot;",
                                          "'&apos;", "\t&#9;", "\n&#10;", "\r&#13;"};
    struct buffer clean = {0};
    text_add_utf8(&clean, text);
    buffer->has_failed = buffer->has_failed || buffer_failed(&clean);
    for (const char *at = buffer_text(&clean); *at != '\0'; at++) {
        const bool is_invalid = /* XML does not allow U+FFFE and U+FFFF */
            strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
        const char *piece = is_invalid || (unsigned char)*at < 0x20 ? REPLACEMENT : NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
            piece = escapes[i][0] == *at ? escapes[i] + 1 : piece;
        }
        buffer_add(buffer, piece == NULL ? at : piece, piece == NULL ? 1 : strlen(piece));
        at += is_invalid ? 2 : 0;
    }
    buffer_fini(&clean);
}

/* Adds the text `form`. Each '%' is replaced by the next argument, a string, after escaping. */
static void add(struct buffer *buffer, const char *form, ...)
{
    va_list texts;
    va_start(texts, form);
    for (; *form != '\0'; form++) {
        if (*form == '%') {
            add_escaped(buffer, va_arg(texts, const char *));
        } else {
            buffer_add(buffer, form, 1);
        }
    }
    va_end(texts);
}

void junit_add_case(struct junit_suite *suite, const char *group, const char *name,
                    const char *kind, const char *type, const char *message)
{
    struct buffer *cases = &suite->cases;
    suite->tests++;
    add(cases, "    <testcase classname=\"%\" name=\"%\" time=\"0\">\n", group, name);
    if (kind != NULL) {
        const bool is_failure = strcmp(kind, "failure") == 0;
        suite->failures += is_failure ? 1 : 0;
        suite->errors += is_failure ? 0 : 1;
        add(cases, "      <% type=\"%\" message=\"%\"/>\n", kind, type, message);
    } else {
        add(cases, "      <system-out>%</system-out>\n", message);
    }
    buffer_add_text(cases, "    </testcase>\n");
}

bool junit_write_suite(FILE *stream, struct junit_suite *suite)
{
    char started[40] = "", sums[128];
    struct buffer buffer = {0};
    /* %f is not used, because its decimal point follows the locale */
    snprintf(sums, sizeof sums,
             " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%" PRId64 ".%03" PRId64 "\"",
             suite->tests, suite->failures, suite->errors, suite->elapsed_ns / MONO_NS_PER_S,
             suite->elapsed_ns % MONO_NS_PER_S / MONO_NS_PER_MS);
    buffer_add_format(&buffer,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<testsuites name=\"append\"%s>\n",
                      sums);
    add(&buffer, "  <testsuite name=\"%\"", suite->name);
    buffer_add_format(&buffer, "%s skipped=\"0\"", sums);
    if (suite->started_wall_ns != 0) {
        mono_format_utc(suite->started_wall_ns, started, sizeof started);
        started[strcspn(started, ".")] = '\0'; /* readers disagree on fractions of a second */
        add(&buffer, " timestamp=\"%\"", started);
    }
    add(&buffer,
        ">\n    <properties>\n"
        "      <property name=\"target\" value=\"%\"/>\n"
        "      <property name=\"folder\" value=\"%\"/>\n"
        "    </properties>\n",
        suite->target, suite->folder);
    buffer_add_text(&buffer, buffer_text(&suite->cases));
    buffer_add_text(&buffer, "  </testsuite>\n</testsuites>\n");
    const bool is_whole = !buffer_failed(&buffer) && !buffer_failed(&suite->cases);
    errno = is_whole ? 0 : ENOMEM;
    const bool is_written = is_whole &&
                            fwrite(buffer.bytes, 1, buffer.length, stream) == buffer.length &&
                            fflush(stream) == 0;
    const int number = errno;
    buffer_fini(&buffer);
    buffer_fini(&suite->cases);
    errno = number;
    return is_written;
}

static void begin_run(struct junit_suite *suite, const struct plan *plan)
{
    const char *adapter = plan->adapter == NULL ? "unknown" : plan->adapter->name;
    *suite = (struct junit_suite){.target = plan->facts->target, .folder = plan->out_folder};
    if (plan->command == COMMAND_CERTIFY) {
        snprintf(suite->name, sizeof suite->name, "append certify %s %u sessions", adapter,
                 plan->sessions);
    } else if (plan->duration_ns > 0) {
        snprintf(suite->name, sizeof suite->name, "append %s %u sessions %" PRId64 " ms", adapter,
                 plan->sessions, plan->duration_ns / MONO_NS_PER_MS);
    } else if (plan->records == 0 && plan->transactions > 0) {
        snprintf(suite->name, sizeof suite->name, "append %s %u sessions %" PRIu64 " transactions",
                 adapter, plan->sessions, plan->transactions);
    } else {
        snprintf(suite->name, sizeof suite->name, "append %s %u sessions %" PRIu64 " rows", adapter,
                 plan->sessions, plan->records);
    }
}

/* Adds a test case for a ledger, which is a total and its parts. `ids` has the figure of the total,
 * the figures of the parts, and FIGURES as the end. The test case passes if `is_whole` is true.
 * `rest` is the end of the message. */
static void add_ledger(struct junit_suite *suite, const struct figure_set *set, const char *name,
                       const enum figure_id *ids, bool is_whole, const char *rest)
{
    char text[400];
    size_t used =
        (size_t)snprintf(text, sizeof text, "%" PRIu64 " %s:", set->values[ids[0]].count, name);
    for (size_t i = 1; ids[i] != FIGURES; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %" PRIu64 " %s",
                                 i == 1 ? "" : ",", set->values[ids[i]].count,
                                 figure_table[ids[i]].label);
    }
    snprintf(text + used, sizeof text - used, "%s", rest);
    junit_add_case(suite, "append.ledger", name, is_whole ? NULL : "failure", "ledger", text);
}

bool junit_write(FILE *stream, const struct plan *plan, const struct result *result)
{
    static const enum figure_id sessions[] = {
        FIGURE_SESSIONS_REQUESTED,   FIGURE_SESSIONS_FINISHED,
        FIGURE_SESSIONS_REFUSED,     FIGURE_SESSIONS_TIMED_OUT,
        FIGURE_SESSIONS_NOT_STARTED, FIGURE_SESSIONS_STOPPED,
        FIGURE_SESSIONS_DROPPED,     FIGURES};
    static const enum figure_id rows[] = {FIGURE_ROWS_PLANNED,  FIGURE_ROWS_ACKNOWLEDGED,
                                          FIGURE_ROWS_REJECTED, FIGURE_ROWS_IN_DOUBT,
                                          FIGURE_ROWS_NOT_SENT, FIGURES};
    struct junit_suite suite;
    struct figure_set set;
    char text[1200], range[RESULT_LOST_BYTES], lost[RESULT_LOST_BYTES + 8] = "; not verified";
    begin_run(&suite, plan);
    suite.elapsed_ns = result->elapsed_ns;
    suite.started_wall_ns = result->started_wall_ns;
    figures_of_result(&set, plan, result);
    if (result->verification.state == VERIFICATION_DONE ||
        result->row_verification.state == VERIFICATION_DONE) {
        snprintf(lost, sizeof lost, "; %s lost", result_describe_lost(result, range));
    }
    add_ledger(&suite, &set, "sessions", sessions,
               result->sessions.finished == result->sessions.requested, "");
    add_ledger(&suite, &set, "rows", rows,
               result->rows.acknowledged == result->rows.planned &&
                   result_lost_at_most(result) == 0,
               lost);
    /* a missed expectation fails its own test case, not this one */
    const bool is_own =
        result->exit_code != EXIT_CODE_OK && result->exit_code != EXIT_CODE_EXPECTATION;
    char type[32], reason[sizeof result->exit_reason + 32] = "";
    snprintf(type, sizeof type, "exit-code-%d", (int)result->exit_code);
    if (is_own) {
        snprintf(reason, sizeof reason, "; exit code %d: %s", (int)result->exit_code,
                 result->exit_reason);
    }
    snprintf(text, sizeof text, "%s: %s%s", verdict_names[result->verdict], result->verdict_reason,
             reason);
    junit_add_case(&suite, "append", "outcome", is_own ? "failure" : NULL, type, text);
    const struct expectations *expectations = result->expectations;
    for (size_t i = 0; expectations != NULL && i < expectations->count; i++) {
        const struct expectation *expectation = &expectations->entries[i];
        junit_add_case(&suite, "append.expect", expectation->bound.text,
                       expectation->is_met ? NULL : "failure", "expectation",
                       expectations_describe(expectation, text));
    }
    return junit_write_suite(stream, &suite);
}

bool junit_write_error(FILE *stream, const struct plan *plan, enum exit_code code, const char *why)
{
    struct junit_suite suite;
    char type[32];
    begin_run(&suite, plan);
    snprintf(type, sizeof type, "exit-code-%d", (int)code);
    junit_add_case(&suite, "append", "outcome", "error", type, why);
    return junit_write_suite(stream, &suite);
}
