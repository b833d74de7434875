#include "measure/result.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/text.h"

const char *const stop_reason_names[] = {[STOP_COMPLETED] = "completed",
                                         [STOP_DURATION] = "duration",
                                         [STOP_INTERRUPTED] = "interrupted",
                                         [STOP_DROP] = "drop",
                                         [STOP_NO_SESSION] = "no_session",
                                         [STOP_TOO_FEW] = "too_few_sessions",
                                         [STOP_RANK] = "rank_lost",
                                         [STOP_SCRIPT] = "script",
                                         [STOP_CONDITION] = "condition",
                                         [STOP_CONTROL] = "control",
                                         [STOP_NOT_YET] = NULL};

bool stop_is_planned(enum stop_reason reason)
{
    return reason == STOP_DURATION || reason == STOP_CONTROL;
}

const char *const verdict_names[] = {[VERDICT_VALID] = "VALID",
                                     [VERDICT_DEGRADED] = "DEGRADED",
                                     [VERDICT_INVALID] = "INVALID",
                                     [VERDICT_RUNNING] = "RUNNING"};

/* How the values of two ranks (processes of the run) are combined. */
enum rule {
    RULE_SUM,
    RULE_MAX,
    RULE_REASON,
};

static const struct {
    size_t whole, part, bytes; /* offsets in struct result and struct rank_result, and the size */
    enum rule rule;
} parts[] = {
#define AS_ROW(type, name, rule)                                                                   \
    {offsetof(struct result, name), offsetof(struct rank_result, name), sizeof(type), RULE_##rule},
    RESULT_PARTS(AS_ROW){offsetof(struct result, totals.counters),
                         offsetof(struct rank_result, counters),
                         RECORDER_COUNTERS * sizeof(uint64_t), RULE_SUM},
    {offsetof(struct result, totals.warm_up), offsetof(struct rank_result, warm_up),
     RECORDER_COUNTERS * sizeof(uint64_t), RULE_SUM},
};

void result_copy_part(const struct result *result, struct rank_result *part)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        memcpy((char *)part + parts[i].part, (const char *)result + parts[i].whole, parts[i].bytes);
    }
    part->start_mono_ns = result->start_mono_ns;
}

/* Returns the more important of the reasons why two ranks (processes of the run) ended. A lost rank
 * is the most important reason, then any other early end, then the end of the duration. */
static enum stop_reason join_reasons(enum stop_reason a, enum stop_reason b)
{
    const bool is_weaker = a == STOP_COMPLETED || (a == STOP_DURATION && b != STOP_COMPLETED);
    return b == STOP_RANK || is_weaker ? b : a;
}

void result_add_part(struct result *result, const struct rank_result *part)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        void *const into = (char *)result + parts[i].whole;
        const void *const from = (const char *)part + parts[i].part;
        switch (parts[i].rule) {
        case RULE_SUM:
            ledger_add(into, from, parts[i].bytes);
            break;
        case RULE_MAX: /* the time of a rank without sessions may be negative */
            *(int64_t *)into = MAX(*(int64_t *)into, *(const int64_t *)from);
            break;
        case RULE_REASON:
            result->stop_reason = join_reasons(result->stop_reason, part->stop_reason);
            break;
        }
    }
}

bool result_allocate_tables(struct result *result, size_t hosts, size_t tables, bool has_script)
{
    bool has_memory = true;
    if (has_script) {
        result->datasets = calloc(tables + 1, sizeof *result->datasets);
        has_memory = result->datasets != NULL;
        result->dataset_count = has_memory ? tables : 0;
    }
    result->hosts = calloc(hosts, sizeof *result->hosts);
    result->host_count = result->hosts == NULL ? 0 : hosts;
    result->table_count = tables;
    has_memory = has_memory && result->hosts != NULL;
    for (size_t i = 0; i < result->host_count; i++) {
        result->hosts[i].tables = calloc(tables + 1, sizeof *result->hosts[i].tables);
        has_memory = has_memory && result->hosts[i].tables != NULL;
    }
    return has_memory;
}

bool result_allocate_metrics(struct result *result, const struct script *script)
{
    result->metrics = metric_sums_create(script);
    result->metric_count = result->metrics == NULL ? 0 : script->metric_count;
    return result->metrics != NULL;
}

void result_allocate_invariants(struct result *result, size_t count)
{
    free(result->invariants);
    result->invariants = calloc(count + 1, sizeof *result->invariants);
    result->invariant_count = result->invariants == NULL ? 0 : count;
    result->lacks_invariants = result->invariants == NULL;
}

/* How the number of rows of a table changed during the run, counted at each host. */
struct host_changes {
    size_t hosts;                       /* number of hosts that were counted */
    bool is_same_before, is_same_after; /* the hosts had the same number of rows */
    int64_t sum;
    int64_t nearest;  /* the change that is nearest to the number of rows that the run wrote */
    bool has_changed; /* the number of rows changed at one host at least */
};

/* What the numbers of rows of a table show about the hosts: whether they are separate databases or
 * one database. */
enum hosts_are {
    HOSTS_SEPARATE,
    HOSTS_ONE,
    HOSTS_UNCLEAR,
};

/* Returns how far `change` (of the number of rows) is outside of the range `written`; 0 if `change`
 * is within the range. */
static int64_t distance(int64_t change, const struct row_change *written)
{
    return MAX(MAX(written->least - change, change - written->most), (int64_t)0);
}

/*
 * Decides whether the hosts are one database. If they are, each host shows all changes of the run,
 * perhaps with a delay. If they are separate databases, the changes at the hosts add up to the
 * changes of the run. If neither is exactly true, rows were lost or another client wrote rows; the
 * function then returns the case that fits much better, or HOSTS_UNCLEAR. If the changes add up to
 * less than the run wrote, rows are missing in both cases, and the function returns HOSTS_SEPARATE.
 */
static enum hosts_are compare_hosts(const struct host_changes *changes,
                                    const struct row_change *written)
{
    const int64_t of_sum = distance(changes->sum, written);
    const int64_t of_one = distance(changes->nearest, written);
    const int64_t size = MAX(llabs(written->least), llabs(written->most));
    const bool is_short = (changes->sum >= 0 && changes->sum < written->least) ||
                          (changes->sum <= 0 && changes->sum > written->most);
    if (!changes->is_same_before) {
        return HOSTS_SEPARATE;
    }
    if (of_one == 0 && changes->is_same_after) {
        return HOSTS_ONE;
    }
    if (changes->hosts < 2 || is_short || of_sum <= MAX(of_one / 4, size / 100)) {
        return HOSTS_SEPARATE;
    }
    const bool is_shown_twice = changes->is_same_after || of_sum >= size / 4;
    return of_one <= of_sum / 2 && is_shown_twice ? HOSTS_ONE : HOSTS_UNCLEAR;
}

void result_join_hosts(struct result *result, size_t table, const struct row_change *written,
                       struct verification *verification)
{
    struct table_count first = {.is_counted = false};
    const struct host_result *unknown = NULL;
    struct host_changes changes = {.is_same_before = true, .is_same_after = true};
    uint64_t highest = 0, lowest = UINT64_MAX, before = 0, after = 0;
    for (size_t i = 0; i < result->host_count; i++) {
        const struct host_result *host = &result->hosts[i];
        const struct table_count *count = &host->tables[table];
        if (!count->is_counted) {
            const bool has_written =
                host->counters[RECORDER_ROWS_ACKNOWLEDGED] + host->counters[RECORDER_WRITES] > 0;
            unknown = has_written ? host : unknown;
            continue;
        }
        const int64_t change = (int64_t)(count->after - count->before);
        if (!first.is_counted || distance(change, written) < distance(changes.nearest, written)) {
            changes.nearest = change;
        }
        first = first.is_counted ? first : *count;
        highest = MAX(highest, count->after);
        lowest = MIN(lowest, count->after);
        changes.is_same_before = changes.is_same_before && count->before == first.before;
        changes.is_same_after = changes.is_same_after && count->after == first.after;
        changes.has_changed = changes.has_changed || change != 0;
        changes.sum += change;
        changes.hosts++;
        before += count->before;
        after += count->after;
    }
    const enum hosts_are are = first.is_counted ? compare_hosts(&changes, written) : HOSTS_SEPARATE;
    const bool is_one = are == HOSTS_ONE;
    const bool is_written = written->least != 0 || written->most != 0;
    if (is_written && changes.has_changed) { /* an unchanged table shows nothing */
        result->are_hosts_one = is_one && (result->are_hosts_one || !result->are_hosts_known);
        result->are_hosts_known = true;
    }
    verification->state = VERIFICATION_DONE;
    verification->rows_before = is_one ? first.before : before;
    verification->rows_after = is_one ? (written->most < 0 ? lowest : highest) : after;
    if (!is_one && (!first.is_counted || unknown != NULL)) {
        const struct host_result *host = unknown == NULL ? &result->hosts[0] : unknown;
        verification->state = VERIFICATION_FAILED;
        char place[120] = "";
        if (result->host_count > 1) {
            snprintf(place, sizeof place, "host %.100s: ", host->name);
        }
        snprintf(verification->reason, sizeof verification->reason, "%s%.*s", place,
                 place[0] == '\0' ? (int)sizeof verification->reason : 120, host->reason);
    } else if (are == HOSTS_UNCLEAR) {
        verification->state = VERIFICATION_FAILED;
        snprintf(verification->reason, sizeof verification->reason,
                 "append cannot determine whether the hosts are one database: rows changed by %s "
                 "on all hosts, by %s on one; run again with one host",
                 UNITS_COUNT((uint64_t)llabs(changes.sum)),
                 UNITS_COUNT((uint64_t)llabs(changes.nearest)));
    }
}

void result_free(struct result *result)
{
    if (result == NULL) {
        return;
    }
    for (size_t i = 0; i < result->host_count; i++) {
        free(result->hosts[i].tables);
    }
    free(result->hosts);
    session_list_free(result->session_list, result->session_count);
    event_list_fini(&result->events);
    recorder_snapshot_fini(&result->totals);
    causes_fini(&result->causes);
    free(result->datasets);
    free(result->invariants);
    metric_sums_destroy(result->metrics, result->metric_count);
    for (size_t i = 0; i < result->rank_count; i++) {
        free(result->ranks[i].trace);
    }
    free(result->ranks);
    free(result->stages);
    free(result->changes);
    free(result->trace);
    waits_destroy(result->waits);
    free(result->kernel_waits);
    free(result);
}

size_t result_count_steered(const struct result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->change_count; i++) {
        count += strcmp(result->changes[i].what, "mark") != 0 ? 1 : 0;
    }
    return count;
}

void result_add_stage(struct result *result, const struct interval *stage)
{
    struct interval *stages = reallocarray(result->stages, result->stage_count + 1, sizeof *stages);
    if (stages == NULL) {
        return;
    }
    result->stages = stages;
    stages[result->stage_count] = *stage;
    stages[result->stage_count].from = stages[result->stage_count].to = NULL;
    stages[result->stage_count].hosts_counters = NULL;
    stages[result->stage_count].hosts = 0;
    result->stage_count++;
}

void result_add_problem(struct result *result, enum problem_kind kind, enum exit_code code,
                        const char *format, ...)
{
    struct problem *problem = &result->problems[kind];
    va_list arguments;
    va_start(arguments, format);
    if (problem->code == EXIT_CODE_OK && code != EXIT_CODE_OK) {
        vsnprintf(problem->text, sizeof problem->text, format, arguments);
        problem->code = code;
    }
    va_end(arguments);
}

/* Writes the exit line. The first problem sets the exit code. If the first problem is about the
 * output of the run, and all rows were acknowledged, the line begins with "all rows were
 * acknowledged, but". The function compares the numbers of planned and acknowledged rows, because a
 * search may succeed with unacknowledged rows. */
void result_set_exit(struct result *result)
{
    const struct row_ledger *rows = &result->rows;
    const struct problem *files = &result->problems[PROBLEM_FILES];
    char *line = result->exit_reason;
    const size_t bytes = sizeof result->exit_reason;
    size_t used = 0;
    char *valid = result->valid_reason;
    if (valid[0] != '\0') { /* the previous call lowered the verdict because files were incomplete;
                               restore it */
        result->verdict = VERDICT_VALID;
        memcpy(result->verdict_reason, valid, sizeof result->verdict_reason);
        valid[0] = '\0';
    }
    if (files->code != EXIT_CODE_OK && result->verdict == VERDICT_VALID) {
        memcpy(valid, result->verdict_reason, sizeof result->valid_reason);
        result->verdict = VERDICT_DEGRADED;
        snprintf(result->verdict_reason, sizeof result->verdict_reason, "%.120s; %.110s",
                 files->text, valid);
    }
    line[0] = '\0';
    result->exit_code = EXIT_CODE_OK;
    for (size_t kind = 0; kind < PROBLEM_KINDS && used < bytes; kind++) {
        const struct problem *problem = &result->problems[kind];
        if (problem->code == EXIT_CODE_OK) {
            continue;
        }
        const bool is_first = result->exit_code == EXIT_CODE_OK;
        const bool is_rest =
            kind >= PROBLEM_FILES && rows->planned > 0 && rows->acknowledged == rows->planned;
        const char *before = "; also ";
        if (is_first) {
            before = is_rest ? "all rows were acknowledged, but " : "";
        }
        used += (size_t)snprintf(line + used, bytes - used, "%s%s", before, problem->text);
        result->exit_code = is_first ? problem->code : result->exit_code;
    }
    if (used >= bytes) {
        memcpy(line + bytes - sizeof "...", "...", sizeof "...");
    }
}

bool result_is_read_back(const struct result *result)
{
    return result->row_verification.state == VERIFICATION_DONE;
}

uint64_t result_lost_at_most(const struct result *result)
{
    return result_is_read_back(result) ? result->row_verification.lost
                                       : result->verification.lost_at_most;
}

const char *result_describe_lost(const struct result *result, char text[RESULT_LOST_BYTES])
{
    const uint64_t most = result_lost_at_most(result);
    const uint64_t least = result_is_read_back(result) ? most : result->verification.lost;
    if (least == most) {
        snprintf(text, RESULT_LOST_BYTES, "%s", UNITS_COUNT(most));
    } else if (least == 0) {
        snprintf(text, RESULT_LOST_BYTES, "up to %s", UNITS_COUNT(most));
    } else {
        snprintf(text, RESULT_LOST_BYTES, "%s to %s", UNITS_COUNT(least), UNITS_COUNT(most));
    }
    return text;
}

uint64_t result_surplus(const struct result *result)
{
    const struct verification *v = &result->verification;
    if (!result_is_read_back(result)) {
        return v->surplus;
    }
    const uint64_t arrived = v->is_shrunk ? 0 : v->rows_after - v->rows_before;
    return arrived - MIN(arrived, result->row_verification.read);
}

const char *server_setting(const struct server_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->entries[i].name, name) == 0) {
            return settings->entries[i].value;
        }
    }
    return NULL;
}

const char *result_describe_change(const struct result *result, char text[RESULT_CHANGE_BYTES])
{
    const struct host_result *host = NULL;
    for (size_t i = 0; i < result->host_count && host == NULL; i++) {
        host = result->hosts[i].settings_changed.count > 0 ? &result->hosts[i] : NULL;
    }
    text[0] = '\0';
    if (host != NULL) {
        const struct server_setting *is = &host->settings_changed.entries[0];
        const char *was = server_setting(&host->settings, is->name);
        snprintf(text, RESULT_CHANGE_BYTES,
                 "%.64s changed%s%.60s during the run: %.40s before, %.40s after", is->name,
                 result->host_count == 1 ? "" : " at host ", host->name,
                 was == NULL ? "not set" : was, is->value[0] == '\0' ? "not set" : is->value);
    }
    return text;
}

bool event_list_add(struct event_list *list, int64_t at_ns, const char *text)
{
    if (list->entries == NULL) {
        /* allocate all entries at once: the kernel allocates a page only when the page is
         * written */
        list->entries = calloc(EVENTS_MAX, sizeof *list->entries);
    }
    if (list->entries == NULL || list->count == EVENTS_MAX) {
        return false;
    }
    size_t place = list->count++;
    for (; place > 0 && list->entries[place - 1].at_ns > at_ns; place--) {
        list->entries[place] = list->entries[place - 1];
    }
    struct event *event = &list->entries[place];
    *event = (struct event){.at_ns = at_ns};
    size_t length = strnlen(text, EVENT_TEXT_BYTES);
    if (length == EVENT_TEXT_BYTES) {
        /* go back to the beginning of a UTF-8 character: a byte 10xxxxxx continues a character */
        do {
            length--;
        } while (length > 0 && ((unsigned char)text[length] & 0xC0U) == 0x80U);
    }
    memcpy(event->text, text, length);
    return true;
}

void event_list_fini(struct event_list *list)
{
    free(list->entries);
    *list = (struct event_list){0};
}
