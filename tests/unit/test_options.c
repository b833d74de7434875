/* The table of options, and the values of its types. */
#include <string.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "plan/options.h"

static const enum command commands[] = {COMMAND_RUN,     COMMAND_CHECK,   COMMAND_FIND_MAX,
                                        COMMAND_REPORT,  COMMAND_COMPARE, COMMAND_SWEEP,
                                        COMMAND_PREPARE, COMMAND_CLEANUP};

static const struct option_entry *entry_of(const char *name, enum command command)
{
    const struct option_entry *entry = option_find(name, command);
    assert_non_null(entry);
    return entry;
}

TEST(test_a_command_has_an_option_once)
{
    for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++) {
        for (const struct option_entry *a = option_table; a->name != NULL; a++) {
            for (const struct option_entry *b = a + 1; b->name != NULL; b++) {
                if (!option_is_of(a, commands[c]) || !option_is_of(b, commands[c])) {
                    continue;
                }
                assert_string_not_equal(a->name, b->name);
                assert_true(a->letter == 0 || a->letter != b->letter);
                assert_true(a->key == NULL || b->key == NULL || strcmp(a->key, b->key) != 0);
            }
        }
    }
}

/* Every option of a run must be recorded in run.json, because otherwise two different runs would
 * look alike. */
TEST(test_options_of_runs_are_recorded)
{
    static const char *const others[] = {
        "adapter",      "connect-timeout", "out",     "plan", "version",
        "help",         "password-file",   "options", /* run.json has their names and hashes */
        "print-options"};
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        bool is_other = false;
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            is_other = is_other || strcmp(others[i], entry->name) == 0;
        }
        if ((entry->commands & COMMAND_RUN) != 0 && !is_other) {
            assert_non_null(entry->key);
        }
        assert_true(strstr(entry->name, "password") == NULL || entry->key == NULL);
    }
}

TEST(test_lists)
{
    struct plan plan;
    struct error error;
    error_clear(&error);
    options_init(&plan, COMMAND_SWEEP);
    const struct option_entry *entry = entry_of("sessions", COMMAND_SWEEP);
    const struct sweep_list *list = &plan.sweep.sessions;
    assert_int_equal(option_take(&plan, entry, "4000,2k,1", &error), EXIT_CODE_OK);
    assert_int_equal(list->count, 3);
    assert_int_equal(list->values[0], 4000);
    assert_int_equal(list->values[1], 2000);
    assert_int_equal(list->values[2], 1);
    static const char *const wrong[] = {
        "",        ",",         "1,",
        "1,,2",    "1;2",       "0",
        "-1",      "1, 2",      "1,1",
        "1k,1000", "1-4",       "1.5",
        "1000001", "1,1000001", "1,99999999999999999999999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error_clear(&error);
        if (option_take(&plan, entry, wrong[i], &error) == EXIT_CODE_OK) {
            fail_msg("'%s' was accepted as a list", wrong[i]);
        }
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_non_null(strstr(error.text, "--sessions"));
    }
    char text[4 * SWEEP_LIST_MAX + 8] = "";
    for (int i = 0; i <= SWEEP_LIST_MAX; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%d", i == 0 ? "" : ",", i + 1);
    }
    assert_int_equal(option_take(&plan, entry, text, &error), EXIT_CODE_USAGE);
    *strrchr(text, ',') = '\0';
    assert_int_equal(option_take(&plan, entry, text, &error), EXIT_CODE_OK);
    assert_int_equal(list->count, SWEEP_LIST_MAX);
}

TEST(test_values)
{
    static const struct {
        const char *name, *value, *wrong;
    } cases[] = {
        {"batch", "5k", "--batch '5x' is not a whole number from 1 to 1,000,000"},
        {"timeout", "200ms", "--timeout '99ms' is not a time of at least 100 ms"},
        {"connect-timeout", "2", "--connect-timeout '0' is not a time above 0 and up to 86400 s"},
        {"data", "constant", "--data 'random' is not varied or constant"},
        {"on-drop", "reconnect:7", "--on-drop 'reconnect:0' is not continue, stop, reconnect or"},
        {"stack-size", "64K", "--stack-size '2G' is not a size up to"},
        {"engine", "x", "--engine '' is not allowed to be empty"},
        {"min-sessions", "99%", "--min-sessions '101%' is not a number of sessions or a share"},
        {"mark", "1.5=here", "--mark 'x=y' is not TIME=TEXT"},
        {"tries", "0", "--tries '-1' is not a whole number from 0 (no limit) to 1,000"},
        {"max-failed", "5%", "--max-failed '0%' is not a number of transactions or a share"},
        {"max-failed", "7", "--max-failed '1.5' is not a number of transactions or a share"},
        {"prepared", "no", "--prepared 'true' is not yes or no"},
        {"transactions", "200k", "--transactions '0' is not a whole number from 1 to"},
        {"warm-up", "5s", "--warm-up '0' is not a time above 0"},
        {"workload", "oltp", "--workload '' is not allowed to be empty"},
        {"metrics", "[::1]:9464", "--metrics 'x' is not PORT or HOST:PORT"},
    };
    struct plan plan;
    options_init(&plan, COMMAND_RUN);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct option_entry *entry = entry_of(cases[i].name, COMMAND_RUN);
        char wrong[40];
        struct error error;
        error_clear(&error);
        const char *quote = strchr(cases[i].wrong, '\'') + 1;
        snprintf(wrong, sizeof wrong, "%.*s", (int)strcspn(quote, "'"), quote);
        assert_int_equal(option_take(&plan, entry, wrong, &error), EXIT_CODE_USAGE);
        assert_ptr_equal(strstr(error.text, cases[i].wrong), error.text);
        assert_int_equal(option_take(&plan, entry, cases[i].value, &error), EXIT_CODE_OK);
    }
    assert_int_equal(plan.batch_rows, 5000);
    assert_int_equal(plan.timeout_ns, 200 * MONO_NS_PER_MS);
    assert_int_equal(plan.connect_timeout_ns, 2 * MONO_NS_PER_S);
    assert_int_equal(plan.data_mode, DATA_CONSTANT);
    assert_int_equal(plan.drop_policy, DROP_RECONNECT);
    assert_int_equal(plan.reconnect_tries, 7);
    assert_int_equal(plan.stack_bytes, 65536);
    assert_string_equal(plan.engine, "x");
    assert_int_equal(plan.min_percent, 99);
    assert_int_equal(plan.mark_count, 1);
    assert_int_equal(plan.tries, 0);
    assert_int_equal(plan.max_failed, 7);
    assert_int_equal(plan.max_failed_percent, 0);
    assert_true(plan.is_unprepared);
    assert_int_equal(plan.transactions, 200000);
    assert_int_equal(plan.warm_up_ns, 5 * MONO_NS_PER_S);
    assert_string_equal(plan.metrics_host, "::1");
}
