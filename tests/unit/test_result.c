/* The parts of a result, and how the results of ranks and hosts are joined. */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/result.h"

static struct result *make_result(void)
{
    struct result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    return result;
}

/* The joined result has the sums, the largest times and the most important reason of its parts. */
TEST(test_parts)
{
    struct result *own = make_result(), *all = make_result();
    struct rank_result parts[2] = {{.machine = "a"}, {.machine = "b"}};
    own->start_mono_ns = 77;
    own->sessions = (struct session_ledger){.requested = 5, .connected = 4, .refused = 1};
    own->rows = (struct row_ledger){.planned = 10, .acknowledged = 9, .rejected = 1};
    own->batches.due = 3;
    own->elapsed_ns = 100;
    own->append_ns = -5;
    own->worst_lag_rows = 6;
    own->sessions_cut = 2;
    own->stop_reason = STOP_DURATION;
    own->totals.counters[RECORDER_READS] = 8;
    own->totals.warm_up[RECORDER_READS] = 9;
    result_copy_part(own, &parts[0]);
    assert_int_equal(parts[0].start_mono_ns, 77);
    assert_int_equal(parts[0].rows.planned, 10);
    assert_int_equal(parts[0].counters[RECORDER_READS], 8);
    assert_int_equal(parts[0].warm_up[RECORDER_READS], 9);
    assert_int_equal(parts[0].elapsed_ns, 100);
    assert_int_equal(parts[0].stop_reason, STOP_DURATION);
    assert_string_equal(parts[0].machine, "a");
    own->elapsed_ns = 90;
    own->append_ns = 7;
    own->worst_lag_rows = 5;
    result_copy_part(own, &parts[1]);
    for (size_t i = 0; i < 2; i++) {
        result_add_part(all, &parts[i]);
    }
    assert_int_equal(all->sessions.requested, 10);
    assert_int_equal(all->sessions.refused, 2);
    assert_int_equal(all->rows.acknowledged, 18);
    assert_int_equal(all->batches.due, 6);
    assert_int_equal(all->sessions_cut, 4);
    assert_int_equal(all->elapsed_ns, 100);
    assert_int_equal(all->append_ns, 7);
    assert_int_equal(all->worst_lag_rows, 6);
    assert_int_equal(all->totals.counters[RECORDER_READS], 16);
    assert_int_equal(all->totals.warm_up[RECORDER_READS], 18);
    assert_int_equal(all->stop_reason, STOP_DURATION);
    result_free(own);
    result_free(all);
    result_free(NULL);
}

TEST(test_joined_reasons)
{
    static const struct {
        enum stop_reason a, b, joined;
    } cases[] = {
        {STOP_COMPLETED, STOP_COMPLETED, STOP_COMPLETED},
        {STOP_COMPLETED, STOP_DURATION, STOP_DURATION},
        {STOP_DURATION, STOP_COMPLETED, STOP_DURATION},
        {STOP_DURATION, STOP_DROP, STOP_DROP},
        {STOP_DROP, STOP_DURATION, STOP_DROP},
        {STOP_DROP, STOP_INTERRUPTED, STOP_DROP},
        {STOP_DROP, STOP_COMPLETED, STOP_DROP},
        {STOP_DROP, STOP_RANK, STOP_RANK},
        {STOP_RANK, STOP_DROP, STOP_RANK},
        {STOP_COMPLETED, STOP_SCRIPT, STOP_SCRIPT},
    };
    struct result *result = make_result();
    EACH_CASE (i, cases, "case %zu", i) {
        const struct rank_result part = {.stop_reason = cases[i].b};
        result->stop_reason = cases[i].a;
        result_add_part(result, &part);
        assert_int_equal(result->stop_reason, cases[i].joined);
    }
    result_free(result);
}

TEST(test_names)
{
    static const char *const reasons[] = {"completed",  "duration",         "interrupted", "drop",
                                          "no_session", "too_few_sessions", "rank_lost",   "script",
                                          "condition",  "control"};
    static const char *const verdicts[] = {"VALID", "DEGRADED", "INVALID", "RUNNING"};
    EACH_CASE (i, reasons, "%s", reasons[i]) {
        assert_string_equal(stop_reason_names[i], reasons[i]);
    }
    assert_null(stop_reason_names[STOP_NOT_YET]);
    EACH_CASE (i, verdicts, "%s", verdicts[i]) {
        assert_string_equal(verdict_names[i], verdicts[i]);
    }
}

TEST(test_tables_and_claims)
{
    struct result *result = make_result();
    assert_true(result_allocate_tables(result, 2, 3, true));
    assert_int_equal(result->host_count, 2);
    assert_int_equal(result->table_count, 3);
    assert_int_equal(result->dataset_count, 3);
    for (size_t i = 0; i < 2; i++) {
        for (size_t table = 0; table < 3; table++) {
            assert_false(result->hosts[i].tables[table].is_counted);
        }
    }
    result_allocate_invariants(result, 2);
    assert_int_equal(result->invariant_count, 2);
    assert_false(result->lacks_invariants);
    assert_int_equal(result->invariants[1].state, VERIFICATION_NONE);
    result->invariants[0].rows = 1;
    result_allocate_invariants(result, 1); /* replaces the earlier results */
    assert_int_equal(result->invariant_count, 1);
    assert_int_equal(result->invariants[0].rows, 0);
    result_free(result);
    result = make_result();
    assert_true(result_allocate_tables(result, 1, 0, false));
    assert_int_equal(result->dataset_count, 0);
    assert_null(result->datasets);
    result_free(result);
}

/* Three hosts with their counts of one table before and after; 100 to 120 rows were written. */
TEST(test_joined_hosts)
{
    static const struct {
        uint64_t before[3], after[3];
        bool is_one;
        uint64_t joined_before, joined_after;
    } cases[] = {
        {{5, 5, 5}, {105, 105, 105}, true, 5, 105},
        {{5, 5, 5}, {104, 104, 104}, true, 5, 104},   /* their changes exceed what was written */
        {{5, 5, 5}, {35, 35, 35}, false, 15, 105},    /* each host has a third */
        {{5, 6, 5}, {105, 105, 105}, false, 16, 315}, /* before the run they differed */
        {{6, 5, 5}, {105, 105, 105}, false, 16, 315},
        {{5, 5, 6}, {105, 105, 105}, false, 16, 315},
        {{5, 5, 5}, {45, 45, 45}, false, 15, 135}, /* 120: all that was written */
        {{5, 5, 5}, {45, 46, 45}, false, 15, 136}, /* 121: another client has added a row */
        {{5, 5, 5}, {84, 84, 84}, true, 5, 84},    /* 237 */
        {{5, 5, 5}, {5, 105, 5}, false, 15, 115},
        {{5, 5, 5}, {105, 5, 5}, false, 15, 115},
        {{5, 5, 5}, {5, 5, 105}, false, 15, 115},
    };
    static const uint64_t none[RECORDER_COUNTERS] = {0};
    static const uint64_t writes[RECORDER_COUNTERS] = {[RECORDER_WRITES] = 1};
    static const uint64_t rows[RECORDER_COUNTERS] = {[RECORDER_ROWS_ACKNOWLEDGED] = 1};
    const struct row_change written = {100, 120};
    struct result *r = make_result();
    struct verification view = {.state = VERIFICATION_NONE};
    assert_true(result_allocate_tables(r, 3, 2, false));
    for (size_t i = 0; i < 3; i++) {
        snprintf(r->hosts[i].name, sizeof r->hosts[i].name, "h%zu:1", i);
        snprintf(r->hosts[i].reason, sizeof r->hosts[i].reason, "reason %zu", i);
        r->hosts[i].counters = none;
    }
    EACH_CASE (k, cases, "case %zu", k) {
        for (size_t i = 0; i < 3; i++) {
            r->hosts[i].tables[1] =
                (struct table_count){true, cases[k].before[i], cases[k].after[i]};
        }
        r->are_hosts_known = false;
        result_join_hosts(r, 1, &written, &view);
        assert_int_equal(view.state, VERIFICATION_DONE);
        assert_int_equal(r->are_hosts_one, cases[k].is_one);
        assert_int_equal(view.rows_before, cases[k].joined_before);
        assert_int_equal(view.rows_after, cases[k].joined_after);
    }
    /* rows were removed from one database, and the last host does not show all removals yet */
    for (size_t i = 0; i < 3; i++) {
        r->hosts[i].tables[1] = (struct table_count){true, 105, i == 2 ? 15 : 5};
    }
    r->are_hosts_known = false;
    result_join_hosts(r, 1, &(struct row_change){-100, -100}, &view);
    assert_true(r->are_hosts_one);
    assert_int_equal(view.rows_after, 5);
    /* separate databases, in one of which rows were removed */
    for (size_t i = 0; i < 3; i++) {
        r->hosts[i].tables[1] = (struct table_count){true, 105, i == 0 ? 135 : 100};
    }
    r->are_hosts_known = false;
    result_join_hosts(r, 1, &(struct row_change){20, 20}, &view);
    assert_false(r->are_hosts_one);
    assert_int_equal(view.rows_after - view.rows_before, 20);
    /* a table that the run does not write to shows nothing about the hosts */
    r->are_hosts_one = true;
    result_join_hosts(r, 1, &(struct row_change){0, 0}, &view);
    assert_true(r->are_hosts_one);
    /* the hosts share one database only if every changed table shows this */
    for (size_t i = 0; i < 3; i++) {
        r->hosts[i].tables[1] = (struct table_count){true, 5, 105};
    }
    r->are_hosts_one = false;
    result_join_hosts(r, 1, &written, &view);
    assert_int_equal(view.rows_after, 105);
    assert_false(r->are_hosts_one);
    for (size_t i = 0; i < 3; i++) {
        r->hosts[i].tables[1] = (struct table_count){true, 5, i == 2 ? 105 : 5};
    }
    /* a host without rows of the run need not be counted */
    r->hosts[2].tables[1].is_counted = false;
    result_join_hosts(r, 1, &written, &view);
    assert_int_equal(view.state, VERIFICATION_DONE);
    assert_int_equal(view.rows_after, 10);
    r->hosts[2].counters = writes;
    result_join_hosts(r, 1, &written, &view);
    assert_int_equal(view.state, VERIFICATION_FAILED);
    assert_string_equal(view.reason, "host h2:1: reason 2");
    r->hosts[2].counters = rows;
    r->hosts[1].tables[1].is_counted = false;
    r->hosts[1].counters = none;
    result_join_hosts(r, 1, &written, &view);
    assert_int_equal(view.state, VERIFICATION_FAILED);
    assert_string_equal(view.reason, "host h2:1: reason 2");
    r->hosts[2].counters = none;
    r->hosts[0].tables[1].is_counted = false; /* no host was counted */
    result_join_hosts(r, 1, &written, &view);
    assert_int_equal(view.state, VERIFICATION_FAILED);
    assert_string_equal(view.reason, "host h0:1: reason 0");
    r->host_count = 1;
    result_join_hosts(r, 1, &written, &view);
    assert_string_equal(view.reason, "reason 0");
    r->host_count = 3;
    result_free(r);
}

TEST(test_lost_rows)
{
    static const struct {
        uint64_t least, most;
        const char *text;
    } cases[] = {{3, 3, "3"},
                 {0, 3, "up to 3"},
                 {1, 3, "1 to 3"},
                 {0, 0, "0"},
                 {1000, 2000, "1,000 to 2,000"}};
    struct result *result = make_result();
    char text[RESULT_LOST_BYTES];
    EACH_CASE (i, cases, "%s", cases[i].text) {
        result->verification.lost = cases[i].least;
        result->verification.lost_at_most = cases[i].most;
        assert_int_equal(result_lost_at_most(result), cases[i].most);
        assert_string_equal(result_describe_lost(result, text), cases[i].text);
    }
    result->row_verification = (struct row_verification){.state = VERIFICATION_FAILED, .lost = 5};
    assert_false(result_is_read_back(result));
    assert_string_equal(result_describe_lost(result, text), "1,000 to 2,000");
    result->row_verification.state = VERIFICATION_DONE;
    assert_true(result_is_read_back(result));
    assert_int_equal(result_lost_at_most(result), 5);
    assert_string_equal(result_describe_lost(result, text), "5");
    result_free(result);
}

TEST(test_surplus)
{
    struct result *result = make_result();
    result->verification = (struct verification){.rows_before = 10, .rows_after = 30, .surplus = 7};
    assert_int_equal(result_surplus(result), 7);
    result->row_verification = (struct row_verification){.state = VERIFICATION_DONE, .read = 15};
    assert_int_equal(result_surplus(result), 5);
    result->row_verification.read = 20;
    assert_int_equal(result_surplus(result), 0);
    result->row_verification.read = 21;
    assert_int_equal(result_surplus(result), 0);
    result->row_verification.read = 0;
    result->verification.is_shrunk = true;
    assert_int_equal(result_surplus(result), 0);
    result_free(result);
}

static void set(struct server_settings *settings, const char *name, const char *value)
{
    struct server_setting *entry = &settings->entries[settings->count++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    snprintf(entry->value, sizeof entry->value, "%s", value);
}

TEST(test_changed_settings)
{
    struct result *result = make_result();
    char text[RESULT_CHANGE_BYTES];
    assert_true(result_allocate_tables(result, 2, 1, false));
    struct host_result *host = &result->hosts[1];
    snprintf(host->name, sizeof host->name, "b:1");
    assert_string_equal(result_describe_change(result, text), "");
    set(&host->settings, "other", "7");
    set(&host->settings, "fsync", "on");
    set(&host->settings_changed, "fsync", "off");
    set(&host->settings_changed, "other", "8");
    assert_string_equal(server_setting(&host->settings, "fsync"), "on");
    assert_null(server_setting(&host->settings, "fsyn"));
    assert_null(server_setting(&host->settings, "zzz"));
    assert_string_equal(result_describe_change(result, text),
                        "fsync changed at host b:1 during the run: on before, off after");
    host->settings_changed.entries[0].value[0] = '\0';
    host->settings.count = 1;
    assert_string_equal(result_describe_change(result, text),
                        "fsync changed at host b:1 during the run: not set before, not set after");
    set(&result->hosts[0].settings_changed, "first", "x");
    snprintf(result->hosts[0].name, sizeof result->hosts[0].name, "a:1");
    assert_string_equal(result_describe_change(result, text),
                        "first changed at host a:1 during the run: not set before, x after");
    result->host_count = 1;
    result->hosts[0].name[0] = '\0';
    assert_string_equal(result_describe_change(result, text),
                        "first changed during the run: not set before, x after");
    result->host_count = 2;
    result_free(result);
}

TEST(test_stages)
{
    struct result *result = make_result();
    const struct recorder_snapshot snapshot = {.operations = 0};
    const uint64_t counters[1][RECORDER_COUNTERS] = {{0}};
    for (int i = 0; i < 3; i++) {
        const struct interval stage = {.start_ns = i,
                                       .end_ns = 10 * i,
                                       .from = &snapshot,
                                       .to = &snapshot,
                                       .hosts_counters = counters};
        result_add_stage(result, &stage);
    }
    assert_int_equal(result->stage_count, 3);
    for (int i = 0; i < 3; i++) { /* stages keep no pointers to snapshots */
        assert_int_equal(result->stages[i].start_ns, i);
        assert_int_equal(result->stages[i].end_ns, 10 * i);
        assert_null(result->stages[i].from);
        assert_null(result->stages[i].to);
        assert_null(result->stages[i].hosts_counters);
    }
    result_free(result);
}

/* The kinds of problems that the exit line shows after "all rows were acknowledged". */
TEST(test_exit_line_of_each_problem)
{
    struct result *result = make_result();
    for (size_t kind = 0; kind < PROBLEM_KINDS; kind++) {
        memset(result->problems, 0, sizeof result->problems);
        result->rows = (struct row_ledger){.planned = 1, .acknowledged = 1};
        result_add_problem(result, (enum problem_kind)kind, EXIT_CODE_OK, "nothing");
        result_set_exit(result);
        assert_string_equal(result->exit_reason, "");
        assert_int_equal(result->exit_code, EXIT_CODE_OK);
        result_add_problem(result, (enum problem_kind)kind, EXIT_CODE_SHORT, "%d", 7);
        result_set_exit(result);
        assert_string_equal(result->exit_reason,
                            kind >= PROBLEM_FILES ? "all rows were acknowledged, but 7" : "7");
        result->rows.acknowledged = 0;
        result_set_exit(result);
        assert_string_equal(result->exit_reason, "7");
        assert_int_equal(result->exit_code, EXIT_CODE_SHORT);
    }
    result->rows = (struct row_ledger){0};
    result_set_exit(result);
    assert_string_equal(result->exit_reason, "7");
    result_free(result);
}
