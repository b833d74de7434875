/* What the text report does with texts that are long, and with figures that are not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/clean.h"
#include "report/screen.h"
#include "report/text.h"

static const struct adapter server = {.name = "postgresql"};
static struct result result; /* too large for a stack */
static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    memset(&result, 0, sizeof result);
    plan.adapter = &server;
    plan.sessions = 2;
    plan.records = 200;
    plan.batch_rows = 100;
    plan.read_every = 1;
    snprintf(plan.out_folder, sizeof plan.out_folder, "runs");
    result.resources.cpus = 8;
    result.resources.max_host_cpu_percent = 51.2;
    result.resources.max_server_memory_bytes = INT64_C(1057) << 20;
    result.resources.memory_source = MEMORY_PSS;
    return 0;
}

/* The caller frees it. */
static char *report(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    report_write_text(stream, &plan, &result, "");
    assert_int_equal(fclose(stream), 0);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(clean_fit(line, SCREEN_COLUMNS) >= strcspn(line, "\n"));
    }
    return text;
}

static void check_contains(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL) {
        fail_msg("missing: %s\nin:\n%s", wanted, text);
    }
}

/* What explains a figure or a failure is broken into lines, not cut. */
static void test_long_texts_are_whole(void **state)
{
    (void)state;
    struct cause *cause = &result.causes.entries[result.causes.count++];
    *cause = (struct cause){.phase = CAUSE_APPEND, .count = 3};
    cause->error.kind = ERROR_DATA;
    snprintf(cause->error.sqlstate, sizeof cause->error.sqlstate, "23505");
    snprintf(cause->error.text, sizeof cause->error.text,
             "ERROR:  duplicate key value violates unique constraint "
             "\"orders_customer_id_created_at_key\" of a table, its_last_word");
    snprintf(result.server.version, sizeof result.server.version,
             "PostgreSQL 15.20 (Debian 15.20-0+deb12u1)");
    result.connection.method = "copy";
    snprintf(result.engine, sizeof result.engine, "heap");
    snprintf(plan.display_target, sizeof plan.display_target,
             "postgresql://somebody@database.example.org:5432/application");
    snprintf(result.resources.server_note, sizeof result.resources.server_note,
             "the memory of 12 processes could not be read, and was taken from others in the ratio "
             "of resident memory, last of all these words");
    char *text = report();
    check_contains(text, "\n         3 x append, data 23505: ERROR:  duplicate key value");
    check_contains(text, "its_last_word\n");
    check_contains(text, "(PostgreSQL 15.20, copy, heap)\n");
    check_contains(text, "these words\n");
    assert_null(strstr(text, "..."));
    free(text);
}

static void test_unknown_is_not_a_number(void **state)
{
    (void)state;
    result.connection.is_embedded = true;
    result.resources.client_cpu_percent_at_max = -1;
    result.resources.max_server_memory_bytes = -1;
    char *text = report();
    check_contains(text, "51.2 %  all 8 CPUs\n");
    check_contains(text, "\nMaximum memory          unknown  ");
    free(text);
}

static void add_finding(const char *name, uint64_t sessions)
{
    struct finding *finding = &result.findings.entries[result.findings.count++];
    finding->side = LIMIT_SERVER;
    finding->sessions = sessions;
    snprintf(finding->name, sizeof finding->name, "%s", name);
    snprintf(finding->evidence, sizeof finding->evidence, "all were in use");
    snprintf(finding->fix, sizeof finding->fix, "sysctl -w %s=9", name);
}

static void test_limits_are_named(void **state)
{
    (void)state;
    char *text = report();
    assert_null(strstr(text, "Limit"));
    free(text);
    add_finding("first", 1200);
    add_finding("second", 1);
    add_finding("third", 1);
    text = report();
    check_contains(text, "\nLimit     first (server), 1,200 sessions: all were in use\n"
                         "          to raise it: sysctl -w first=9\n"
                         "Limit     second (server), 1 session: all were in use\n");
    check_contains(text, "\n          1 more: see findings in the JSON file\n");
    assert_null(strstr(text, "third"));
    free(text);
    result.findings.entries[0].sessions = 0;
    result.findings.entries[0].tries = 1200;
    text = report();
    check_contains(text, "\nLimit     first (server), delayed 1,200 tries: all were in use\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_limits_are_named, set_up),
        cmocka_unit_test_setup(test_long_texts_are_whole, set_up),
        cmocka_unit_test_setup(test_unknown_is_not_a_number, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
