#include "report/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"

int64_t figures_point_ns(const struct histogram *histogram, const struct figure_point *point)
{
    return point->quantile >= 1 ? histogram->max_ns
                                : histogram_quantile_ns(histogram, point->quantile);
}

uint64_t figures_errors(const uint64_t counters[RECORDER_COUNTERS])
{
    return counters[RECORDER_SESSIONS_FAILED] + counters[RECORDER_RECONNECTS_FAILED] +
           counters[RECORDER_APPENDS_FAILED] + counters[RECORDER_READS_FAILED];
}

double figures_seconds(int64_t ns)
{
    return (double)ns / (double)MONO_NS_PER_S;
}

double figures_ms(int64_t ns)
{
    return (double)ns / (double)MONO_NS_PER_MS;
}

double figures_mib(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0);
}

static void fill_texts(struct figure_set *set, const struct plan *plan, const struct result *result)
{
    static const char *const states[] = {[VERIFICATION_NONE] = "none",
                                         [VERIFICATION_FAILED] = "failed",
                                         [VERIFICATION_DONE] = "done"};
    const struct verification *v = &result->verification;
    const struct row_verification *r = &result->row_verification;
    const struct resource_summary *resources = &result->resources;
    const char *source = memory_source_names[resources->memory_source];
    const bool has_memory = set->values[FIGURE_MAX_MEMORY_MIB].is_known;
    const struct finding *first = result->findings.count > 0 ? &result->findings.entries[0] : NULL;
    mono_format_utc(result->started_wall_ns, set->started_utc, sizeof set->started_utc);
    if (v->state == VERIFICATION_DONE && v->rows_before > 0 && !v->is_shrunk &&
        result->totals.counters[RECORDER_READS] > 0) {
        snprintf(set->note, sizeof set->note,
                 "%s rows were there before, and reads cost more the more there are: --recreate "
                 "starts from an empty table",
                 UNITS_COUNT(v->rows_before));
    }
    const struct {
        enum figure_id id;
        const char *text;
    } texts[] = {{FIGURE_ADAPTER, plan->adapter->name},
                 {FIGURE_TARGET, plan->display_target},
                 {FIGURE_METHOD, result->connection.method},
                 {FIGURE_ENGINE, result->engine},
                 {FIGURE_NOTE, result->connection.note},
                 {FIGURE_STARTED_UTC, set->started_utc},
                 {FIGURE_MEMORY_SOURCE, has_memory ? source : NULL},
                 {FIGURE_MEMORY_KIND, source},
                 {FIGURE_SERVER_NAME, resources->server_name},
                 {FIGURE_SERVER_NOTE, resources->server_note},
                 {FIGURE_VERIFICATION, states[v->state]},
                 {FIGURE_VERIFICATION_REASON, v->state == VERIFICATION_DONE ? NULL : v->reason},
                 {FIGURE_VERIFICATION_NOTE, set->note},
                 {FIGURE_ROW_VERIFICATION, states[r->state]},
                 {FIGURE_ROW_VERIFICATION_REASON, r->state == VERIFICATION_DONE ? NULL : r->reason},
                 {FIGURE_STOP_REASON, stop_reason_names[result->stop_reason]},
                 {FIGURE_VERDICT_REASON, result->verdict_reason},
                 {FIGURE_EXIT_REASON, result->exit_reason},
                 {FIGURE_FIRST_LIMIT, first == NULL ? NULL : first->name},
                 {FIGURE_FIRST_LIMIT_SIDE, first == NULL ? NULL : limit_side_names[first->side]}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        figure_put_text(set, texts[i].id, texts[i].text);
    }
    set->values[FIGURE_VERDICT] = (struct figure_value){.is_known = true,
                                                        .number = (double)result->verdict,
                                                        .text = verdict_names[result->verdict]};
    figure_put_count(set, FIGURE_FIRST_LIMIT_SESSIONS, first != NULL,
                     first == NULL ? 0 : first->sessions);
}

static void fill_numbers(struct figure_set *set, const struct plan *plan,
                         const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const struct cpu_shares *max = &resources->max_cpu, *at_max = &resources->cpu_at_max;
    const struct cpu_shares *mean = &resources->mean_cpu;
    const struct fairness *fairness = &result->fairness;
    const double append_s = figures_seconds(result->append_ns);
    const double rows = (double)result->rows.acknowledged;
    const bool has_memory =
        resources->memory_source != MEMORY_UNKNOWN && resources->max_server_memory_bytes >= 0;
    /* its readings are some milliseconds late: of a shorter run they would be too much of it */
    const bool has_server_cpu = resources->server_cpu_s >= 0 && result->append_ns >= MONO_NS_PER_S;
    const struct {
        enum figure_id id;
        bool is_known;
        double number;
    } numbers[] = {
        {FIGURE_ELAPSED_S, true, figures_seconds(result->elapsed_ns)},
        {FIGURE_THROUGHPUT_ROWS_PER_S, result->elapsed_ns > 0, result->throughput_rows_per_s},
        {FIGURE_CONNECT_S, true, figures_seconds(result->connect_ns)},
        {FIGURE_APPEND_S, true, append_s},
        {FIGURE_DISCONNECT_S, true, figures_seconds(result->disconnect_ns)},
        /* neither connecting nor leaving in it */
        {FIGURE_APPEND_ROWS_PER_S, result->append_ns > 0, rows / append_s},
        {FIGURE_MAX_CPU_PERCENT, max->host >= 0, max->host},
        {FIGURE_MAX_SERVER_CPU_PERCENT, max->server >= 0, max->server},
        {FIGURE_MAX_CLIENT_CPU_PERCENT, max->client >= 0, max->client},
        {FIGURE_SERVER_CPU_PERCENT_AT_MAX, at_max->server >= 0, at_max->server},
        {FIGURE_CLIENT_CPU_PERCENT_AT_MAX, at_max->client >= 0, at_max->client},
        {FIGURE_MEAN_HOST_CPU_PERCENT, mean->host >= 0, mean->host},
        {FIGURE_MEAN_SERVER_CPU_PERCENT, mean->server >= 0, mean->server},
        {FIGURE_MEAN_CLIENT_CPU_PERCENT, mean->client >= 0, mean->client},
        {FIGURE_MAX_MEMORY_MIB, has_memory,
         figures_mib((uint64_t)resources->max_server_memory_bytes)},
        {FIGURE_MAX_CLIENT_MEMORY_MIB, resources->max_client_memory_bytes > 0,
         figures_mib(resources->max_client_memory_bytes)},
        {FIGURE_CLIENT_CPU_S, true, resources->client_cpu_s},
        {FIGURE_SERVER_CPU_S, has_server_cpu, resources->server_cpu_s},
        {FIGURE_SERVER_CPU_US_PER_ROW, has_server_cpu && rows > 0,
         1e6 * resources->server_cpu_s / rows},
        {FIGURE_SUSPENDED_S, true, figures_seconds(resources->suspended_ns)},
        {FIGURE_RATE_ACHIEVED_PERCENT,
         plan->rate_rows_per_s > 0 && result->rate_achieved_percent >= 0,
         result->rate_achieved_percent},
        {FIGURE_SLOWEST_ROWS_PER_S, fairness->sessions > 0, fairness->slowest_rows_per_s},
        {FIGURE_FASTEST_ROWS_PER_S, fairness->sessions > 0, fairness->fastest_rows_per_s},
        {FIGURE_LONGEST_GAP_MS, fairness->sessions > 0, figures_ms(fairness->longest_gap_ns)}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        figure_put_number(set, numbers[i].id, numbers[i].is_known, numbers[i].number);
    }
    figure_put_count(set, FIGURE_MAX_SERVER_MEMORY_BYTES, has_memory,
                     (uint64_t)resources->max_server_memory_bytes);
}

static void fill_counts(struct figure_set *set, const struct plan *plan,
                        const struct result *result)
{
    const struct resource_summary *resources = &result->resources;
    const struct session_ledger *sessions = &result->sessions;
    const struct row_ledger *rows = &result->rows;
    const struct batch_ledger *batches = &result->batches;
    const struct verification *v = &result->verification;
    const struct row_verification *r = &result->row_verification;
    const struct fairness *fairness = &result->fairness;
    const uint64_t *counters = result->totals.counters;
    const uint64_t client_bytes = resources->max_client_memory_bytes;
    const bool has_rate = plan->rate_rows_per_s > 0, is_checked = counters[RECORDER_FRESH_CHECKS];
    const bool is_counted = v->state == VERIFICATION_DONE, is_read = r->state == VERIFICATION_DONE;
    const bool is_fair = fairness->sessions > 0;
    const struct {
        enum figure_id id;
        bool is_known;
        uint64_t count;
    } counts[] = {{FIGURE_SESSIONS, true, plan->sessions},
                  {FIGURE_RECORDS, plan->records > 0, plan->records},
                  {FIGURE_IDLE_SESSIONS, true, plan->idle_sessions},
                  {FIGURE_CPUS, true, resources->cpus},
                  {FIGURE_MAX_SERVER_PROCESSES, resources->max_server_processes > 0,
                   resources->max_server_processes},
                  {FIGURE_SERVER_PID, resources->server_pid > 0, (uint64_t)resources->server_pid},
                  {FIGURE_MAX_CLIENT_MEMORY_BYTES, client_bytes > 0, client_bytes},
                  {FIGURE_SESSIONS_REQUESTED, true, sessions->requested},
                  {FIGURE_SESSIONS_CONNECTED, true, sessions->connected},
                  {FIGURE_SESSIONS_REFUSED, true, sessions->refused},
                  {FIGURE_SESSIONS_TIMED_OUT, true, sessions->timed_out},
                  {FIGURE_SESSIONS_NOT_STARTED, true, sessions->not_started},
                  {FIGURE_SESSIONS_FINISHED, true, sessions->finished},
                  {FIGURE_SESSIONS_STOPPED, true, sessions->stopped},
                  {FIGURE_SESSIONS_DROPPED, true, sessions->dropped},
                  {FIGURE_SESSIONS_BALANCE, true, session_ledger_balances(sessions)},
                  {FIGURE_ROWS_PLANNED, true, rows->planned},
                  {FIGURE_ROWS_ACKNOWLEDGED, true, rows->acknowledged},
                  {FIGURE_ROWS_REJECTED, true, rows->rejected},
                  {FIGURE_ROWS_IN_DOUBT, true, rows->in_doubt},
                  {FIGURE_ROWS_NOT_SENT, true, rows->not_sent},
                  {FIGURE_ROWS_BALANCE, true, row_ledger_balances(rows)},
                  {FIGURE_BATCHES_LATE, has_rate, result->batches_late},
                  {FIGURE_BATCHES_DUE, has_rate, batches->due},
                  {FIGURE_BATCHES_SENT, has_rate, batches->sent},
                  {FIGURE_BATCHES_NOT_SENT, has_rate, batches->not_sent},
                  {FIGURE_ROWS_BEFORE, is_counted, v->rows_before},
                  {FIGURE_ROWS_AFTER, is_counted, v->rows_after},
                  {FIGURE_ROWS_LOST, is_counted, v->lost},
                  {FIGURE_ROWS_LOST_AT_MOST, is_counted, v->lost_at_most},
                  {FIGURE_ROWS_IN_DOUBT_ARRIVED, is_counted, v->in_doubt_arrived},
                  {FIGURE_ROWS_REJECTED_ARRIVED, is_counted, v->rejected_arrived},
                  {FIGURE_ROWS_SURPLUS, is_counted, v->surplus},
                  {FIGURE_IS_SHRUNK, is_counted, v->is_shrunk},
                  {FIGURE_VERIFIED_READ, is_read, r->read},
                  {FIGURE_VERIFIED_PRESENT, is_read, r->present},
                  {FIGURE_VERIFIED_LOST, is_read, r->lost},
                  {FIGURE_VERIFIED_SESSIONS_LOST, is_read, r->sessions_lost},
                  {FIGURE_VERIFIED_IN_DOUBT_PRESENT, is_read, r->in_doubt_present},
                  {FIGURE_VERIFIED_REJECTED_PRESENT, is_read, r->rejected_present},
                  {FIGURE_VERIFIED_DUPLICATES, is_read, r->duplicates},
                  {FIGURE_VERIFIED_FOREIGN, is_read, r->foreign},
                  {FIGURE_FRESH_CHECKS, true, counters[RECORDER_FRESH_CHECKS]},
                  {FIGURE_FRESH_BEHIND, is_checked, counters[RECORDER_FRESH_BEHIND]},
                  {FIGURE_FRESH_BACKWARD, is_checked, counters[RECORDER_FRESH_BACKWARD]},
                  {FIGURE_WORST_LAG_ROWS, is_checked, result->worst_lag_rows},
                  {FIGURE_FAIRNESS_SESSIONS, true, fairness->sessions},
                  {FIGURE_SLOWEST_SESSION, is_fair, fairness->slowest_session},
                  {FIGURE_FASTEST_SESSION, is_fair, fairness->fastest_session},
                  {FIGURE_LONGEST_GAP_SESSION, is_fair, fairness->longest_gap_session},
                  {FIGURE_EXIT_CODE, true, (uint64_t)result->exit_code}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        figure_put_count(set, counts[i].id, counts[i].is_known, counts[i].count);
    }
    for (size_t id = 0; id < FIGURES; id++) {
        if (figure_table[id].counter >= 0) {
            figure_put_count(set, (enum figure_id)id, true, counters[figure_table[id].counter]);
        }
    }
    set->values[FIGURE_COUNTER_TIMEOUTS].is_known = plan->timeout_ns > 0;
    set->values[FIGURE_COUNTER_RESPONSES_UNANSWERED].is_known = has_rate;
}

void figures_of_result(struct figure_set *set, const struct plan *plan, const struct result *result)
{
    *set = (struct figure_set){.operations = plan_operations(plan)};
    fill_counts(set, plan, result);
    fill_numbers(set, plan, result);
    fill_texts(set, plan, result);
    for (size_t i = 0; i < set->operations.count; i++) {
        const struct histogram *histogram = recorder_histogram(&result->totals, i);
        struct figure_latency *latency = &set->latencies[i];
        latency->count = histogram->total;
        latency->mean_ms = histogram_mean_ns(histogram) / (double)MONO_NS_PER_MS;
        for (size_t point = 0; point < FIGURE_POINTS; point++) {
            latency->points_ms[point] =
                figures_ms(figures_point_ns(histogram, &figure_points[point]));
        }
    }
}

enum status expectations_add(struct expectations *expectations, const char *text,
                             struct error *error)
{
    /* the columns of summary.csv that hold numbers, of a run of any plan */
    const struct figure_set set = {.operations = operation_list_all()};
    struct figure_columns columns = {.count = 0};
    struct figure_cell cell;
    for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
        if (figure_is_number(cell.unit)) {
            figure_columns_add(&columns, cell.key);
        }
    }
    while (text != NULL) {
        struct expectation new = {.limit = 0};
        const char *why = NULL;
        if (bound_parse(&new.bound, &text, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (expectations->count == EXPECTATIONS_MAX) {
            why = "it is one too many: a run takes 32 bounds";
        } else if (figure_find(&columns, new.bound.name, &new.choice, error) != STATUS_OK) {
            return STATUS_REJECTED;
        } else if (strcmp(new.choice.names[0], "exit_code") == 0) {
            why = "the exit code follows from what is expected";
        }
        if (why != NULL) {
            error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': %s", new.bound.text, why);
            return STATUS_REJECTED;
        }
        if (figure_scale(&new.bound, new.choice.names[0], &new.limit, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        expectations->entries[expectations->count++] = new;
    }
    return STATUS_OK;
}

enum status expectations_parse(struct expectations *expectations, const struct plan_texts *texts,
                               struct error *error)
{
    *expectations = (struct expectations){0};
    for (size_t i = 0; i < texts->count; i++) {
        struct error why = {0};
        if (expectations_add(expectations, texts->texts[i], &why) != STATUS_OK) {
            error_set(error, why.kind, 0, NULL, "--expect: %s", why.text);
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

size_t expectations_count_missed(const struct expectations *expectations)
{
    size_t missed = 0;
    for (size_t i = 0; i < expectations->count; i++) {
        missed += expectations->entries[i].is_met ? 0 : 1;
    }
    return missed;
}

const char *expectations_describe(const struct expectation *expectation,
                                  char text[EXPECTATIONS_TEXT_BYTES])
{
    const char *column = expectation->choice.names[expectation->chosen];
    if (expectation->bound.is_word) {
        snprintf(text, EXPECTATIONS_TEXT_BYTES, "%s: %s", expectation->bound.text,
                 figure_word(column, expectation->value));
    } else if (expectation->is_known) {
        snprintf(text, EXPECTATIONS_TEXT_BYTES, "%s: %.10g%s", expectation->bound.text,
                 expectation->value, figure_unit(column));
    } else {
        snprintf(text, EXPECTATIONS_TEXT_BYTES, "%s: not known", expectation->bound.text);
    }
    return text;
}

/* Adds the bounds that were missed to a line, with their values or without. False: it is full. */
static bool add_missed(const struct expectations *expectations, bool has_values, char *line,
                       size_t bytes)
{
    const char *comma = "";
    size_t used = strlen(line);
    for (size_t i = 0; i < expectations->count && used < bytes; i++) {
        const struct expectation *expectation = &expectations->entries[i];
        char text[EXPECTATIONS_TEXT_BYTES];
        if (!expectation->is_met) {
            used += (size_t)snprintf(line + used, bytes - used, "%s%s", comma,
                                     has_values ? expectations_describe(expectation, text)
                                                : expectation->bound.text);
            comma = ", ";
        }
    }
    return used < bytes;
}

void expectations_judge(struct expectations *expectations, const struct plan *plan,
                        struct result *result)
{
    struct figure_set set;
    figures_of_result(&set, plan, result);
    for (size_t i = 0; i < expectations->count; i++) {
        struct expectation *expectation = &expectations->entries[i];
        const struct figure_choice *choice = &expectation->choice;
        struct figure_cell cell;
        char text[FIGURE_TEXT_BYTES];
        expectation->is_known = false;
        expectation->chosen = 0;
        for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
            /* where a name stands for two columns, the first that is known counts */
            for (size_t j = 0; j < choice->count && cell.value.is_known; j++) {
                if (strcmp(choice->names[j], cell.key) == 0 &&
                    (!expectation->is_known || j < expectation->chosen)) {
                    expectation->is_known = true;
                    expectation->chosen = j;
                    /* as the file has it, rounded */
                    expectation->value =
                        cell.unit == FIGURE_UNIT_WORD
                            ? cell.value.number
                            : strtod(figure_format(cell.unit, &cell.value, text), NULL);
                }
            }
        }
        expectation->is_met =
            expectation->is_known &&
            bound_holds(expectation->bound.relation, expectation->value, expectation->limit);
    }
    const size_t missed = expectations_count_missed(expectations);
    if (missed == 0) {
        return;
    }
    char *line = result->problems[PROBLEM_EXPECTATION].text;
    const size_t bytes = sizeof result->problems[PROBLEM_EXPECTATION].text;
    result_add_problem(result, PROBLEM_EXPECTATION, EXIT_CODE_EXPECTATION,
                       "%zu of %zu expectations not met: ", missed, expectations->count);
    const size_t used = strlen(line);
    if (!add_missed(expectations, true, line, bytes)) {
        line[used] = '\0';
        if (!add_missed(expectations, false, line, bytes)) {
            memcpy(line + bytes - sizeof "...", "...", sizeof "...");
        }
    }
    result_conclude(result);
}
