#include "report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "report/expectations.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Adds one byte, or the replacement of what may not stand in XML 1.0 even when escaped. */
static void add_byte(struct buffer *buffer, char byte)
{
    static const struct {
        char byte;
        const char *text;
    } escapes[] = {{'&', "&amp;"},   {'<', "&lt;"},  {'>', "&gt;"},   {'"', "&quot;"},
                   {'\'', "&apos;"}, {'\t', "&#9;"}, {'\n', "&#10;"}, {'\r', "&#13;"}};
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (escapes[i].byte == byte) {
            buffer_add_text(buffer, escapes[i].text);
            return;
        }
    }
    if ((unsigned char)byte < 0x20) {
        buffer_add_text(buffer, REPLACEMENT);
    } else {
        buffer_add(buffer, &byte, 1);
    }
}

void junit_add_escaped(struct buffer *buffer, const char *text)
{
    struct buffer clean;
    buffer_init(&clean);
    text_add_utf8(&clean, text);
    buffer->has_failed = buffer->has_failed || buffer_failed(&clean);
    for (const char *at = buffer_text(&clean); *at != '\0'; at++) {
        if (strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0) {
            buffer_add_text(buffer, REPLACEMENT); /* U+FFFE and U+FFFF are no characters of XML */
            at += 2;
        } else {
            add_byte(buffer, *at);
        }
    }
    buffer_fini(&clean);
}

static void add_attribute(struct buffer *buffer, const char *name, const char *value)
{
    buffer_add_format(buffer, " %s=\"", name);
    junit_add_escaped(buffer, value);
    buffer_add_text(buffer, "\"");
}

/* `kind`: "failure" or "error", NULL when it passed; `message`: what was found, or went wrong. */
static void add_testcase(struct buffer *buffer, const char *group, const char *name,
                         const char *kind, const char *type, const char *message)
{
    buffer_add_text(buffer, "    <testcase");
    add_attribute(buffer, "classname", group);
    add_attribute(buffer, "name", name);
    add_attribute(buffer, "time", "0");
    buffer_add_text(buffer, ">\n");
    if (kind != NULL) {
        buffer_add_format(buffer, "      <%s", kind);
        add_attribute(buffer, "type", type);
        add_attribute(buffer, "message", message);
        buffer_add_text(buffer, "/>\n");
    } else {
        buffer_add_text(buffer, "      <system-out>");
        junit_add_escaped(buffer, message);
        buffer_add_text(buffer, "</system-out>\n");
    }
    buffer_add_text(buffer, "    </testcase>\n");
}

/* Sums that both the root and the only suite have. */
struct sums {
    size_t tests, failures, errors;
    int64_t elapsed_ns;
    int64_t started_wall_ns; /* 0: the run did not begin */
};

static void add_sums(struct buffer *buffer, const struct sums *sums)
{
    /* not as a decimal: those follow the locale */
    buffer_add_format(
        buffer, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%" PRId64 ".%03" PRId64 "\"",
        sums->tests, sums->failures, sums->errors, sums->elapsed_ns / MONO_NS_PER_S,
        sums->elapsed_ns % MONO_NS_PER_S / MONO_NS_PER_MS);
}

static void begin(struct buffer *buffer, const struct plan *plan, const struct sums *sums)
{
    char name[128], started[40] = "";
    const char *adapter = plan->adapter == NULL ? "unknown" : plan->adapter->name;
    if (plan->duration_ns > 0) {
        snprintf(name, sizeof name, "append %s %u sessions %" PRId64 " ms", adapter, plan->sessions,
                 plan->duration_ns / MONO_NS_PER_MS);
    } else {
        snprintf(name, sizeof name, "append %s %u sessions %" PRIu64 " rows", adapter,
                 plan->sessions, plan->records);
    }
    buffer_add_text(buffer,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"append\"");
    add_sums(buffer, sums);
    buffer_add_text(buffer, ">\n  <testsuite");
    add_attribute(buffer, "name", name);
    add_sums(buffer, sums);
    buffer_add_text(buffer, " skipped=\"0\"");
    if (sums->started_wall_ns != 0) {
        mono_format_utc(sums->started_wall_ns, started, sizeof started);
        started[strcspn(started, ".")] = '\0'; /* readers disagree on fractions */
        add_attribute(buffer, "timestamp", started);
    }
    buffer_add_text(buffer, ">\n    <properties>\n      <property name=\"target\"");
    add_attribute(buffer, "value", plan->display_target);
    buffer_add_text(buffer, "/>\n      <property name=\"folder\"");
    add_attribute(buffer, "value", plan->out_folder);
    buffer_add_text(buffer, "/>\n    </properties>\n");
}

static bool finish(struct buffer *buffer, FILE *stream)
{
    buffer_add_text(buffer, "  </testsuite>\n</testsuites>\n");
    const char *text = buffer_text(buffer);
    const size_t length = strlen(text);
    bool is_written = false;
    errno = ENOMEM;
    if (!buffer_failed(buffer)) {
        errno = 0;
        is_written = fwrite(text, 1, length, stream) == length && fflush(stream) == 0;
    }
    const int number = errno;
    buffer_fini(buffer);
    errno = number;
    return is_written;
}

static bool has_all_sessions(const struct result *result)
{
    return result->sessions.finished == result->sessions.requested;
}

static bool has_all_rows(const struct result *result)
{
    return result->rows.acknowledged == result->rows.planned && result_lost_at_most(result) == 0;
}

/* Without what was expected of the run, which has test cases of its own. */
static enum exit_code own_exit_code(const struct result *result)
{
    return result->exit_code == EXIT_CODE_EXPECTATION ? EXIT_CODE_OK : result->exit_code;
}

/* The ledgers, the outcome and what was expected. It passes when the run had no exit code of its
 * own: a run may be DEGRADED then. */
static void add_cases(struct buffer *buffer, const struct result *result)
{
    const struct session_ledger *s = &result->sessions;
    const struct row_ledger *r = &result->rows;
    char text[1200], range[RESULT_LOST_BYTES], lost[RESULT_LOST_BYTES + 8] = "not verified";
    snprintf(text, sizeof text,
             "%" PRIu64 " sessions: %" PRIu64 " finished, %" PRIu64 " refused, %" PRIu64
             " timed out, %" PRIu64 " not started, %" PRIu64 " stopped, %" PRIu64 " dropped",
             s->requested, s->finished, s->refused, s->timed_out, s->not_started, s->stopped,
             s->dropped);
    add_testcase(buffer, "append.ledger", "sessions", has_all_sessions(result) ? NULL : "failure",
                 "ledger", text);
    if (result->verification.state == VERIFICATION_DONE ||
        result->row_verification.state == VERIFICATION_DONE) {
        snprintf(lost, sizeof lost, "%s lost", result_describe_lost(result, range));
    }
    snprintf(text, sizeof text,
             "%" PRIu64 " rows: %" PRIu64 " acknowledged, %" PRIu64 " rejected, %" PRIu64
             " in doubt, %" PRIu64 " not sent; %s",
             r->planned, r->acknowledged, r->rejected, r->in_doubt, r->not_sent, lost);
    add_testcase(buffer, "append.ledger", "rows", has_all_rows(result) ? NULL : "failure", "ledger",
                 text);
    const enum exit_code own = own_exit_code(result);
    char type[32], reason[sizeof result->exit_reason + 32] = "";
    snprintf(type, sizeof type, "exit-code-%d", (int)own);
    if (own != EXIT_CODE_OK) {
        snprintf(reason, sizeof reason, "; exit code %d: %s", (int)own, result->exit_reason);
    }
    snprintf(text, sizeof text, "%s: %s%s", verdict_names[result->verdict], result->verdict_reason,
             reason);
    add_testcase(buffer, "append", "outcome", own == EXIT_CODE_OK ? NULL : "failure", type, text);
    const struct expectations *expectations = result->expectations;
    for (size_t i = 0; expectations != NULL && i < expectations->count; i++) {
        const struct expectation *expectation = &expectations->entries[i];
        add_testcase(buffer, "append.expect", expectation->bound.text,
                     expectation->is_met ? NULL : "failure", "expectation",
                     expectations_describe(expectation, text));
    }
}

bool junit_write(FILE *stream, const struct plan *plan, const struct result *result)
{
    const struct expectations *expectations = result->expectations;
    struct sums sums = {
        .tests = 3, .elapsed_ns = result->elapsed_ns, .started_wall_ns = result->started_wall_ns};
    sums.failures += has_all_sessions(result) ? 0 : 1;
    sums.failures += has_all_rows(result) ? 0 : 1;
    sums.failures += own_exit_code(result) == EXIT_CODE_OK ? 0 : 1;
    if (expectations != NULL) {
        sums.tests += expectations->count;
        sums.failures += expectations_count_missed(expectations);
    }
    struct buffer buffer;
    buffer_init(&buffer);
    begin(&buffer, plan, &sums);
    add_cases(&buffer, result);
    return finish(&buffer, stream);
}

bool junit_write_error(FILE *stream, const struct plan *plan, enum exit_code code, const char *why)
{
    const struct sums sums = {.tests = 1, .errors = 1};
    char type[32];
    snprintf(type, sizeof type, "exit-code-%d", (int)code);
    struct buffer buffer;
    buffer_init(&buffer);
    begin(&buffer, plan, &sums);
    add_testcase(&buffer, "append", "outcome", "error", type, why);
    return finish(&buffer, stream);
}
