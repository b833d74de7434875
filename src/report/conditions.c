#include "report/conditions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "report/tables.h"

#define FOR " for "
#define LEAST_MAX_NS (24 * 3600 * MONO_NS_PER_S)

/* Adds the numeric columns of intervals.csv that have values in a run with these operations. */
static void add_columns(struct figure_columns *columns, const struct operation_list *operations)
{
    struct interval full = {.end_ns = MONO_NS_PER_S};
    struct report_row row = {.operations = operations};
    for (size_t i = 0; i < RECORDER_COUNTERS; i++) {
        full.counters[i] = 1;
    }
    for (size_t i = 0; i < OPERATIONS; i++) {
        full.latencies[i].count = operation_is_used(operations, i) ? 1 : 0;
    }
    report_intervals.fill(&row, &full);
    for (size_t i = 0; i < row.count; i++) {
        const struct report_cell *cell = &row.cells[i];
        /* the columns in seconds are the start and end of the interval, not figures */
        const bool is_time = cell->unit == FIGURE_UNIT_S;
        if (figure_is_number(cell->unit) && !is_time && cell->value.is_known) {
            figure_columns_add(columns, cell->key);
        }
    }
}

enum status interval_bound(struct bound *bound, const struct operation_list *operations,
                           char column[FIGURE_KEY_BYTES], double *limit, struct error *error)
{
    struct figure_columns columns = {.count = 0};
    struct figure_choice choice;
    bound_resolve_name(bound, operations);
    add_columns(&columns, operations);
    if (figure_find(&columns, bound->name, &choice, error) != STATUS_OK) {
        error_clear(error);
        error_set(error, ERROR_USAGE, 0, NULL,
                  "bound '%s': '%s' is not a figure of an interval of this run: use a column of "
                  "intervals.csv, such as append.p99, errors, error_percent or rows_per_s",
                  bound->text, bound->name);
        return STATUS_REJECTED;
    }
    snprintf(column, FIGURE_KEY_BYTES, "%s", choice.names[0]);
    return figure_scale(bound, column, limit, error);
}

/* Gives the value of a column in the row of an interval. */
static bool value_in(const struct report_row *row, const char *column, double *value)
{
    const struct report_cell *cell = report_row_find(row, column);
    if (cell == NULL || !cell->value.is_known) {
        return false;
    }
    *value = figure_is_whole(cell->unit) ? (double)cell->value.count : cell->value.number;
    return true;
}

bool interval_value(const struct interval *interval, const struct operation_list *operations,
                    const char *column, double *value)
{
    struct report_row row = {.operations = operations};
    report_intervals.fill(&row, interval);
    return value_in(&row, column, value);
}

/* Reads the condition in `text`, which has no comma. */
static enum status parse_one(struct condition *condition, const char *text,
                             const struct operation_list *operations, struct error *error)
{
    const char *wait = strstr(text, FOR), *rest;
    const char *time = wait == NULL ? "" : wait + strlen(FOR);
    time += strspn(time, " ");
    char bound[BOUND_TEXT_BYTES];
    *condition = (struct condition){.since_ns = -1};
    snprintf(condition->text, sizeof condition->text, "%s", text);
    snprintf(bound, sizeof bound, "%.*s",
             (int)(wait == NULL ? strlen(text) : (size_t)(wait - text)), text);
    if (wait != NULL && (!units_parse_duration(time, LEAST_MAX_NS, &condition->least_ns) ||
                         condition->least_ns == 0)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "condition '%s': '%s' is not a time up to 24 h: write, for example, "
                  "append.p99>1s for 10s",
                  text, wait + strlen(FOR));
        return STATUS_REJECTED;
    }
    rest = bound;
    if (bound_parse(&condition->bound, &rest, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    return interval_bound(&condition->bound, operations, condition->column, &condition->limit,
                          error);
}

enum status conditions_parse(struct conditions *conditions, const struct plan *plan,
                             struct error *error)
{
    *conditions = (struct conditions){.operations = plan_operations(plan)};
    for (size_t i = 0; i < plan->stop_when.count; i++) {
        const char *text = plan->stop_when.texts[i];
        while (text != NULL) {
            char one[BOUND_TEXT_BYTES];
            struct error why = {0};
            text += strspn(text, " ");
            size_t length = strcspn(text, ",");
            const char *next = text[length] == ',' ? text + length + 1 : NULL;
            while (length > 0 && text[length - 1] == ' ') {
                length--;
            }
            snprintf(one, sizeof one, "%.*s", (int)length, text);
            text = next;
            if (length >= sizeof one) {
                error_set(&why, ERROR_USAGE, 0, NULL, "condition '%.60s...' is too long", one);
            } else if (conditions->count == CONDITIONS_MAX) {
                error_set(&why, ERROR_USAGE, 0, NULL, "a run takes at most %d conditions",
                          CONDITIONS_MAX);
            } else if (parse_one(&conditions->entries[conditions->count], one,
                                 &conditions->operations, &why) == STATUS_OK) {
                conditions->count++;
                continue;
            }
            error_set(error, ERROR_USAGE, 0, NULL, "--stop-when: %s", why.text);
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

bool conditions_check(struct conditions *conditions, const struct interval *interval,
                      char text[RESULT_CONDITION_BYTES])
{
    struct report_row row = {.operations = &conditions->operations};
    if (conditions->count == 0) {
        return false;
    }
    report_intervals.fill(&row, interval);
    for (size_t i = 0; i < conditions->count; i++) {
        struct condition *condition = &conditions->entries[i];
        double value;
        if (!value_in(&row, condition->column, &value)) {
            continue;
        }
        if (!bound_holds(condition->bound.relation, value, condition->limit)) {
            condition->since_ns = -1;
            continue;
        }
        condition->since_ns = condition->since_ns < 0 ? interval->start_ns : condition->since_ns;
        if (interval->end_ns - condition->since_ns >= condition->least_ns) {
            char number[UNITS_TEXT_BYTES];
            snprintf(text, RESULT_CONDITION_BYTES, "%s: %s%s", condition->text,
                     bound_format(&condition->bound, condition->limit, value, number),
                     figure_unit(condition->column));
            return true;
        }
    }
    return false;
}
