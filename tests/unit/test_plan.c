#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "base/mono.h"
#include "base/text.h"
#include "base/url.h"
#include "plan/command_line.h"
#include "plan/facts.h"
#include "plan/options.h"
#include "script/script.h"

static struct facts facts;

static struct plan ask(unsigned sessions, uint64_t records)
{
    struct plan plan;
    options_init(&plan, COMMAND_RUN);
    plan.sessions = sessions;
    plan.records = records;
    plan.target_given = "null:";
    return plan;
}

/* Checks that a plan is refused, with an error that contains `words`. */
static void expect_refused(const struct plan *asked, const char *words)
{
    struct error error = {.kind = ERROR_NONE};
    struct plan plan = *asked;
    if (plan_make(&plan, &facts, &error) != EXIT_CODE_USAGE) {
        fail_msg("not refused with '%s'", words);
    }
    assert_true(error_is_set(&error));
    assert_part(error.text, words);
}

TEST(test_quotas_lose_no_row)
{
    static const uint64_t cases[][2] = {{7, 100}, {1, 1},    {3, 3},           {1000, 10000000},
                                        {7, 7},   {64, 100}, {999, 1000000007}};
    EACH_CASE (c, cases, "%d sessions, %d rows", (int)cases[c][0], (int)cases[c][1]) {
        struct plan plan = ask((unsigned)cases[c][0], cases[c][1]);
        assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_OK);
        uint64_t sum = 0, least = UINT64_MAX, most = 0;
        for (unsigned s = 0; s < plan.sessions; s++) {
            const uint64_t quota = plan_quota(&plan, s);
            sum += quota;
            least = quota < least ? quota : least;
            most = quota > most ? quota : most;
        }
        assert_int_equal(sum, cases[c][1]);
        assert_true(most - least <= 1);
        plan_fini(&plan);
    }
}

TEST(test_quotas_of_seven_sessions)
{
    struct plan plan = ask(7, 100);
    assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_OK);
    static const uint64_t expected[] = {15, 15, 14, 14, 14, 14, 14};
    for (unsigned s = 0; s < 7; s++) {
        assert_int_equal(plan_quota(&plan, s), expected[s]);
    }
    plan_fini(&plan);
}

TEST(test_duration_has_no_quota)
{
    struct plan plan = ask(5, 0);
    plan.duration_ns = MONO_NS_PER_S;
    assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_OK);
    assert_true(plan_quota(&plan, 4) == UINT64_MAX);
    plan_fini(&plan);
    plan = ask(5, 15); /* with a duration, a number of records still sets a quota */
    plan.duration_ns = MONO_NS_PER_S;
    assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_OK);
    assert_int_equal(plan_quota(&plan, 4), 3);
    plan_fini(&plan);
    plan = ask(5, 4);
    plan.duration_ns = MONO_NS_PER_S;
    assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_USAGE);
}

TEST(test_refusals)
{
    struct plan plan = ask(8, 7);
    expect_refused(&plan, "is less than SESSIONS 8");
    plan = ask(1, 1);
    plan.target_given = "oracle://h/d";
    expect_refused(&plan, "unknown adapter 'oracle'");
    plan.target_given = "localhost:5432/app";
    expect_refused(&plan, "a whole URL, such as postgresql://localhost:PORT/");
    plan.target_given = "nonsense";
    expect_refused(&plan, "is not a port");
    plan.target_given = "70000";
    expect_refused(&plan, "70000");
    plan.target_given = "null:";
    plan.target.host = "h";
    expect_refused(&plan, "--host does not apply");
    plan.target.host = NULL;
    plan.target.method = "copy";
    expect_refused(&plan, "no method 'copy'");
    plan.target.method = NULL;
    plan.table_name = "mine";
    plan.is_recreate = true;
    expect_refused(&plan, "--recreate does not apply");
    plan.is_recreate = false;
    plan.target_given = "null:path";
    expect_refused(&plan, "takes no path");
    plan = ask(1, 1);
    plan.adapter_name = "nothing";
    plan.target_given = NULL;
    expect_refused(&plan, "unknown adapter 'nothing'");
    plan = ask(1, 1);
    plan.schema_file = "/nonexistent/ddl.sql";
    expect_refused(&plan, "/nonexistent/ddl.sql");
    plan = ask(1, 1);
    plan.stack_bytes = 4096;
    expect_refused(&plan, "--stack-size");
}

TEST(test_seed_decides_run_tag)
{
    int16_t tags[3];
    static const uint64_t seeds[] = {42, 42, 43};
    for (size_t i = 0; i < 3; i++) {
        struct plan plan = ask(1, 1);
        plan.is_seed_given = true;
        plan.seed = seeds[i];
        assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_OK);
        tags[i] = facts.run_tag;
        plan_fini(&plan);
    }
    assert_int_equal(tags[0], tags[1]);
    assert_int_not_equal(tags[0], tags[2]);
    assert_true(tags[0] >= 1 && tags[2] >= 1);
}

TEST(test_url_parts)
{
    struct url url;
    assert_int_equal(url_parse(&url, "db://us%65r:p%40ss:w@[::1]:5433/my%20db?x=y@z", false, NULL),
                     STATUS_OK);
    assert_string_equal(url.scheme, "db");
    assert_string_equal(url.user, "user");
    assert_string_equal(url.password, "p@ss:w");
    assert_string_equal(url.host, "::1");
    assert_int_equal(url.port, 5433);
    assert_string_equal(url.database, "my db");
    url_fini(&url);

    assert_int_equal(url_parse(&url, "db://host", false, NULL), STATUS_OK);
    assert_string_equal(url.host, "host");
    assert_int_equal(url.port, 0);
    assert_null(url.user);
    assert_null(url.database);
    url_fini(&url);

    assert_int_equal(url_parse(&url, "db:///only", false, NULL), STATUS_OK);
    assert_null(url.host);
    assert_string_equal(url.database, "only");
    url_fini(&url);

    assert_int_equal(url_parse(&url, "file:rel/path.db", true, NULL), STATUS_OK);
    assert_string_equal(url.path, "rel/path.db");
    url_fini(&url);
    assert_int_equal(url_parse(&url, "file:///abs.db", true, NULL), STATUS_OK);
    assert_string_equal(url.path, "/abs.db");
    url_fini(&url);
}

TEST(test_bad_urls)
{
    /* the passwords of the last URLs look like a port, a database or a parameter */
    static const char *const bad[] = {
        "db://h:port/d",   "db://h:0/d",        "db://[::1/d",      "db://h/%zz",
        "db://h/%00",      "db:host",           "db://h:99999/d",   "db://u:12#secret@h/d",
        "db://u:12/34@h",  "db://u:12?34@h/d",  "db://u:1/2?3@h/d", "db://u:12#secret@h/d?a=b@c",
        "db://u:12@3/4@h", "db://u:12/3@h?a=b",
    };
    EACH_CASE (i, bad, "%s", bad[i]) {
        struct url url;
        struct error error;
        error_clear(&error);
        assert_int_equal(url_parse(&url, bad[i], false, &error), STATUS_REJECTED);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_null(strstr(error.text, "12"));
        assert_null(strstr(error.text, "secret"));
    }
    /* an @ in the value of a parameter does not end a password */
    struct url url;
    assert_int_equal(url_parse(&url, "db://h:1/d?user=me@there", false, NULL), STATUS_OK);
    assert_int_equal(url.port, 1);
    url_fini(&url);
    /* a # is part of a value, as in libpq; elsewhere it is not allowed */
    assert_int_equal(url_parse(&url, "db://h:1/d?password=a#b@c", false, NULL), STATUS_OK);
    assert_string_equal(url.query, "password=a#b@c");
    url_fini(&url);
    struct error error = {0};
    assert_int_equal(url_parse(&url, "db://u@h:1/d#x?a=b", false, &error), STATUS_REJECTED);
    assert_string_equal(error.text,
                        "target 'db://u@h:1/d#x?a=b': a '#' is not allowed (write %23 for # in "
                        "a name): write db://user@host:port/database");
}

TEST(test_lists_of_hosts)
{
    struct url url;
    assert_int_equal(url_parse(&url, "db://u:p@a:1,[::1]:2,%2Frun%2Fx,b/d?x=y", false, NULL),
                     STATUS_OK);
    static const struct url_host expected[] = {{"a", 1}, {"::1", 2}, {"/run/x", 0}, {"b", 0}};
    assert_null(url.host);
    assert_int_equal(url.port, 0);
    assert_int_equal(url.host_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(url.hosts[i].name, expected[i].name);
        assert_int_equal(url.hosts[i].port, expected[i].port);
    }
    assert_string_equal(url.user, "u");
    assert_string_equal(url.database, "d");
    url_fini(&url);
    assert_int_equal(url_parse(&url, "db://a:1,a:2/d", false, NULL),
                     STATUS_OK); /* the two hosts are different */
    url_fini(&url);

    static const char *const bad[][2] = {
        {"db://a,,b/d", "host 2 of the list has no name"},
        {"db://,b/d", "host 1 of the list has no name"},
        {"db://a,b,/d", "host 3 of the list has no name"},
        {"db://a,:5/d", "host 2 of the list has no name"},
        {"db://a:0,b/d", "'a:0' in the list"},
        {"db://a,b:99999/d", "'b:99999' in the list"},
        {"db://a,[::1/d", "'[::1' in the list"},
        {"db://a,%zz/d", "'%zz' in the list"},
    };
    EACH_CASE (i, bad, "%s", bad[i][0]) {
        struct error error = {0};
        assert_int_equal(url_parse(&url, bad[i][0], false, &error), STATUS_REJECTED);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_part(error.text, bad[i][1]);
    }
    char many[8 * (URL_HOSTS_MAX + 1) + 8] = "db://";
    for (int i = 0; i <= URL_HOSTS_MAX; i++) {
        const size_t used = strlen(many);
        snprintf(many + used, sizeof many - used, "%sh:%d", i == 0 ? "" : ",", i + 1);
    }
    struct error error = {0};
    assert_int_equal(url_parse(&url, many, false, &error), STATUS_REJECTED);
    assert_part(error.text, "more than 64 hosts");
}

#if APPEND_HAVE_POSTGRESQL
TEST(test_hosts_of_a_plan)
{
    char name[64];
    struct plan plan = {
        .facts = &facts, .target_given = "postgresql://u@a,[::1]:7/d", .connect_timeout_ns = 1};
    assert_int_equal(target_resolve(&plan, NULL), EXIT_CODE_OK);
    assert_int_equal(plan.host_count, 2);
    assert_string_equal(plan.display_target, "postgresql://u@a,[::1]:7/d");
    assert_string_equal(plan.target.host, "a");
    assert_int_equal(plan.target.port, 5432);
    assert_string_equal(target_at(&plan, 1).host, "::1");
    assert_int_equal(target_at(&plan, 1).port, 7);
    target_name_host(&plan, 1, name, sizeof name);
    assert_string_equal(name, "[::1]:7");
    plan_fini(&plan);

    /* options take precedence: --host replaces the list, and --port the ports in it */
    plan = (struct plan){
        .facts = &facts, .target_given = "postgresql://a:1,b:2/d", .target = {.port = 9}};
    assert_int_equal(target_resolve(&plan, NULL), EXIT_CODE_OK);
    assert_int_equal(target_at(&plan, 0).port, 9);
    assert_int_equal(target_at(&plan, 1).port, 9);
    plan_fini(&plan);
    plan = (struct plan){
        .facts = &facts, .target_given = "postgresql://a:1,b:2/d", .target = {.host = "c"}};
    assert_int_equal(target_resolve(&plan, NULL), EXIT_CODE_OK);
    assert_int_equal(plan.host_count, 0);
    assert_string_equal(plan.target.host, "c");
    plan_fini(&plan);
}
#endif

TEST(test_redaction)
{
    static const char *const cases[][2] = {
        {"db://user:secret@host:1/d?x=1", "db://user@host:1/d?x=1"},
        {"db://user:sec/ret@host/d", "db://user@host/d"},
        {"db://user:sec@ret@host/d", "db://user@host/d"},
        {"db://host/d?password=secret&a=b", "db://host/d?password=***&a=b"},
        {"db://host/d?a=b&password=secret", "db://host/d?a=b&password=***"},
        {"db:///d?password=sec:r@t&a=b", "db:///d?password=***&a=b"},
        {"db://h1:1,h2:2/d?password=sec@ret", "db://h1"},
        {"db://host/d?password=sec#ret", "db://host/d?password=***"},
        {"db://host/d?pass%77ord=secret", "db://host/d?pass%77ord=***"},
        {"db://user@host/d", "db://user@host/d"},
        {"db://host/d?Pwd=secret", "db://host/d?Pwd=***"},
        {"db://host=h password=secret", "db://host=***"},
        {"host=h password=secret", "host=***"},
        {"host=h password=se:cr@et", "host=***"},
        {"DSN=x;PWD=secret", "DSN=***"},
        {"user:secret@host:1", "user@host:1"},
        {"plain", "plain"},
    };
    EACH_CASE (i, cases, "%s", cases[i][0]) {
        char out[160];
        url_redact(cases[i][0], out, sizeof out);
        assert_string_equal(out, cases[i][1]);
    }
    char small[30];
    url_redact("db://host/a-very-long-database-name-that-does-not-fit", small, sizeof small);
    assert_true(strlen(small) < sizeof small);
}

TEST(test_connection_string_redaction)
{
    static const char *const cases[][2] = {
        {"odbc:DSN=x", "odbc:DSN=x"},
        {"odbc:DSN=x;PWD=secret;UID=me", "odbc:DSN=x;PWD=***;UID=me"},
        {"odbc:pwd={a;b}}c};Server=h", "odbc:pwd=***;Server=h"},
        {"odbc:Driver={P;Q};Password =s", "odbc:Driver={P;Q};Password =***"},
        {"odbc:PWD=", "odbc:PWD=***"},
        {"odbc:PWD= {a;Server=b};Port=5", "odbc:PWD=***;Port=5"},
        {"odbc:x;y;", "odbc:x;y;"},
        {"odbc:PWD={open", "odbc:PWD=***"},
        {"odbc:Driver={open;Pwd=s;Server=x", "odbc:Driver=***"},
        {"odbc:Token=s;pqopt={password=s};Port=5", "odbc:Token=***;pqopt=***;Port=5"},
        {"odbc:mariadb://u:s@h/d", "odbc:***"},
    };
    char out[128];
    EACH_CASE (i, cases, "%s", cases[i][0]) {
        url_redact_string(cases[i][0], out, sizeof out);
        assert_string_equal(out, cases[i][1]);
    }
    char small[12];
    url_redact_string("odbc:DSN=longer;PWD=s", small, sizeof small);
    assert_int_equal(strlen(small), sizeof small - 1);
}

TEST(test_url_parameters)
{
    const char *rest = "&ssl=verify&ssl-ca=%2Ftmp%2Fa%26b&empty=&flag&bad=%4#ignored";
    static const char *const expected[][2] = {
        {"ssl", "verify"}, {"ssl-ca", "/tmp/a&b"}, {"empty", ""}, {"flag", ""}};
    struct url_parameter parameter;
    bool is_good = false;
    for (size_t i = 0; i < 4; i++) {
        assert_true(url_query_next(&rest, &parameter, &is_good));
        assert_true(is_good);
        assert_string_equal(parameter.key, expected[i][0]);
        assert_string_equal(parameter.value, expected[i][1]);
    }
    assert_true(url_query_next(&rest, &parameter, &is_good));
    assert_false(is_good);
    assert_false(url_query_next(&rest, &parameter, &is_good));
    const char *nothing = NULL;
    assert_false(url_query_next(&nothing, &parameter, &is_good));
    char longer[URL_KEY_BYTES + 8];
    memset(longer, 'k', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    rest = longer;
    assert_true(url_query_next(&rest, &parameter, &is_good));
    assert_false(is_good);
}

TEST(test_schemas_are_built_in)
{
    assert_null(schema_find("syslog", "nothing"));
    for (const struct schema_text *text = schema_texts; text->schema != NULL; text++) {
        assert_ptr_equal(schema_find(text->schema, text->database), text->sql);
        assert_part(text->sql, "syslog_table");
    }
}

/* An argument of --set changes what a built-in script declares. */
TEST(test_workloads_are_loaded)
{
    static const struct {
        const char *workload, *set;
        unsigned prepared, datasets, transactions;
    } cases[] = {
        {"append-then-count", "batch=5", 0, 1, 1},
        {"batch", "how=in_select", 1, 1, 1},
        {"batch", "how=temp_select", 0, 1, 1},
        {"batch", "how=temp_update", 0, 1, 1},
        {"batch", "how=row_update", 1, 1, 1},
        {"mass-insert", "partitions=0,compressed=true", 0, 1, 1},
        {"oltp", "tables=3", 27, 3, 1},
        {"oltp", "mode=read_only", 5, 1, 1},
        {"oltp", "mode=write_only", 4, 1, 1},
        {"oltp", "mode=point_select", 1, 1, 1},
        {"oltp", "extra_update=true,index_updates=0", 9, 1, 1},
        {"select-insert", "select_only=true", 2, 2, 1},
        {"tpcb", "scale=10", 5, 4, 1},
        {"tpcb", "mode=simple-update", 3, 4, 1},
        {"tpcb", "mode=select-only", 1, 4, 1},
        {"tpcc", "warehouses=10,keying=true", 41, 9, 5},
        {"ycsb", "preset=a", 11, 1, 2},
        {"ycsb", "preset=b", 11, 1, 2},
        {"ycsb", "preset=c", 1, 1, 1},
        {"ycsb", "preset=d", 2, 1, 2},
        {"ycsb", "preset=e", 2, 1, 2},
        {"ycsb", "preset=f,fields=3", 4, 1, 2},
        {"ycsb", "preset=cache", 11, 1, 2},
        {"ycsb", "preset=messenger", 3, 1, 3},
        {"ycsb", "preset=recommend", 11, 1, 2},
    };
    EACH_CASE (i, cases, "%s, %s", cases[i].workload, cases[i].set) {
        struct error error = {.kind = ERROR_NONE};
        struct plan plan = ask(4, 0);
        plan.duration_ns = MONO_NS_PER_S;
        plan.workload = cases[i].workload;
        plan.sets = (struct plan_texts){.texts = {cases[i].set}, .count = 1};
        if (plan_make(&plan, &facts, &error) != EXIT_CODE_OK) {
            fail_msg("%s", error.text);
        }
        assert_int_equal(plan.target.prepared_statements, cases[i].prepared);
        assert_int_equal(plan.script->dataset_count, cases[i].datasets);
        assert_int_equal(plan.script->transaction_count, cases[i].transactions);
        assert_true(plan_has_own_rows(&plan) == (i == 0));
        plan_fini(&plan);
        assert_null(plan.script);
        plan = ask(4, 0);
        plan.duration_ns = MONO_NS_PER_S;
        plan.workload = cases[i].workload;
        plan.is_unprepared = true;
        assert_int_equal(plan_make(&plan, &facts, &error), EXIT_CODE_OK);
        assert_int_equal(plan.target.prepared_statements, 0);
        plan_fini(&plan);
    }
}

/* Gives an option with or without a script, and expects its error. */
TEST(test_options_with_a_workload)
{
    static const struct {
        const char *workload, *option, *value, *wrong; /* `wrong`: the expected error, or NULL */
    } cases[] = {
        {NULL, "set", "a=1", "--set needs --workload"},
        {NULL, "tries", "3", "--tries needs --workload"},
        {NULL, "batch", "5", NULL},
        {"oltp", "set", "mode=none",
         "parameter 'mode' must be read_write, read_only, write_only or"},
        {"oltp", "set", "tables=0", "parameter 'tables' must be at least 1, not '0'"},
        {"oltp", "set", "tabels=1", "did you mean tables"},
        {"oltp", "set", "tables", "is not NAME=VALUE"},
        {"oltp", "read", "none", "--read does not apply to --workload oltp"},
        {"oltp", "table", "mine", "--table does not apply to --workload oltp"},
        {"oltp", "values", "n4=1..2",
         "--values does not apply to --workload oltp: the script declares"},
        {"oltp", "verify", "rows", "--verify rows does not apply to --workload oltp"},
        {"oltp", "verify", "count", NULL},
        {"oltp", "late", "1s", "--late needs --rate or --rate-stage"},
        {"oltp", "warm-up", "1s", "--warm-up (1.00 s) must be shorter than the run (1.00 s)"},
        {"oltp", "warm-up", "900ms", NULL},
        {"mass-insert", "batch", "5", "use the script's parameter, --set batch=VALUE"},
        {"append-then-count", "batch", "5", "use the script's parameter, --set batch=VALUE"},
        {"append-then-count", "data", "constant", NULL},
        {"append-then-count", "verify", "rows",
         "--verify rows does not apply to --workload append-then-count: append can read back only"},
        {"olpt", "prepared", "no", "unknown workload 'olpt' (did you mean oltp?)"},
        {"/", "prepared", "no", "script '/' is a folder: name a Lua file"},
        {"./no.lua", "prepared", "no", "script './no.lua': No such file or directory"},
    };
    EACH_CASE (i, cases, "--%s %s", cases[i].option, cases[i].value) {
        struct plan plan = ask(4, cases[i].workload == NULL ? 100 : 0);
        const struct option_entry *entry = option_find(cases[i].option, COMMAND_RUN);
        assert_non_null(entry);
        plan.duration_ns = MONO_NS_PER_S;
        plan.workload = cases[i].workload;
        assert_int_equal(option_take(&plan, entry, cases[i].value, NULL), EXIT_CODE_OK);
        if (cases[i].wrong != NULL) {
            expect_refused(&plan, cases[i].wrong);
        } else {
            assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_OK);
            plan_fini(&plan);
        }
    }
    struct plan plan = ask(4, 0);
    plan.workload = "oltp";
    expect_refused(&plan, "--workload oltp would run forever");
    plan.transactions = 3;
    assert_int_equal(plan_make(&plan, &facts, NULL), EXIT_CODE_OK);
    assert_part(plan.out_folder, "-null-oltp-4x3");
    plan_fini(&plan);
}

/* Which operand of a run is RECORDS, and which is the target. */
TEST(test_operands_of_a_workload)
{
    static const struct {
        const char *words; /* operands and options after --workload oltp */
        uint64_t records;
        const char *target, *wrong;
    } cases[] = {
        {"100 3306 --duration 60s", 0, "3306", NULL},
        {"100 3306 --transactions 200k", 0, "3306", NULL},
        {"100 --duration 60s", 0, NULL, NULL},
        {"100 -c 7 --duration 60s", 0, "100", NULL},
        {"30 200M mariadb://h/db", 200000000, "mariadb://h/db", NULL},
        {"30 10M 5432 --duration 1", 10000000, "5432", NULL},
        {"50 100000", 100000, NULL, NULL},
        {"50 5k --port 5432", 5000, NULL, NULL},
        {"100 3306", 0, NULL, "3306 may be a port or RECORDS: if it is a port, add --duration T"},
        {"100 5k", 5000, NULL, NULL},
        {"100 3306 null: x --duration 1", 0, NULL, "too many operands"},
        {"--duration 1", 0, NULL,
         "too few operands: use append SESSIONS [RECORDS] [TARGET] --work"},
    };
    const struct command_form form = {COMMAND_RUN, NULL, "append SESSIONS RECORDS [TARGET]",
                                      0,           0,    false};
    EACH_CASE (i, cases, "%s", cases[i].words) {
        char words[100], *argv[16] = {(char[]){"append"}, (char[]){"--workload=oltp"}};
        int argc = 2;
        snprintf(words, sizeof words, "%s", cases[i].words);
        for (char *at = words, *word; (word = strsep(&at, " ")) != NULL;) {
            argv[argc++] = word;
        }
        struct plan plan;
        struct error error = {.kind = ERROR_NONE};
        const enum exit_code code = command_line_read(&plan, &form, argc, argv, &error);
        if (code != (cases[i].wrong == NULL ? EXIT_CODE_OK : EXIT_CODE_USAGE)) {
            fail_msg("%d, %s", (int)code, error.text);
        }
        if (cases[i].wrong != NULL) {
            assert_part(error.text, cases[i].wrong);
            continue;
        }
        assert_int_equal(plan.records, cases[i].records);
        assert_true((plan.target_given == NULL) == (cases[i].target == NULL));
        if (cases[i].target != NULL) {
            assert_string_equal(plan.target_given, cases[i].target);
        }
    }
}

TEST(test_workloads_are_built_in)
{
    static const char *const names[] = {"append-then-count", "batch", "mass-insert", "oltp",
                                        "select-insert",     "tpcb",  "tpcc",        "ycsb"};
    size_t count = 0;
    for (const struct script_built_in *script = script_built_ins; script->name != NULL; script++) {
        assert_true(count < COUNT_OF(names));
        assert_string_equal(script->name, names[count++]);
        assert_memory_equal(script->text, "-- ", strlen("-- "));
        assert_part(script->text, "transaction(");
    }
    assert_int_equal(count, COUNT_OF(names));
}
