#include "report/expectations.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/conditions.h"
#include "report/figures.h"
#include "report/tables.h"

enum {
    OPERATION_NAME_BYTES = SCRIPT_NAME_BYTES - 1,
    REASON_BYTES = 160,
    OPERATION_FIGURE_BYTES = FIGURE_KEY_BYTES - SCRIPT_NAME_BYTES - sizeof OPERATION_PREFIX - 1,
};

/* Finds the next figure of an operation. The key in *cell includes the operation:
 * "operation.insert.p99_ms". *at must be 0 at first. Returns false after the last figure. */
static bool next_operation_cell(const struct figure_set *set, size_t operation, size_t *at,
                                struct figure_cell *cell)
{
    char key[FIGURE_KEY_BYTES];
    if (!figure_next_operation_cell(set, operation, at, cell)) {
        return false;
    }
    snprintf(key, sizeof key, OPERATION_PREFIX "%.*s.%.*s", OPERATION_NAME_BYTES,
             set->operations.entries[operation].name, OPERATION_FIGURE_BYTES, cell->key);
    memcpy(cell->key, key, sizeof key);
    return true;
}

/* Explains how a bound names a wait. */
static void explain_wait(const struct bound *bound, bool has_waits, struct error *error)
{
    struct buffer list = {0};
    for (size_t i = 0; i < WAIT_CLASSES; i++) {
        buffer_add_format(&list, "%s%s", i > 0 ? ", " : "", figure_wait_keys[i]);
    }
    error_clear(error);
    if (has_waits) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "bound '%s': a wait is named waits.OPERATION.CLASS, as in waits.append.log; the "
                  "classes are %s",
                  bound->text, buffer_text(&list));
    } else {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "bound '%s': waits are measured only with --waits: add it", bound->text);
    }
    buffer_fini(&list);
}

/* Adds the columns of the operation that a bound names. Returns REJECTED if the script does not
 * have this operation. */
static enum status add_operation(struct figure_columns *columns, const struct bound *bound,
                                 const struct operation_list *operations, struct error *error)
{
    static const uint64_t nothing[OPERATIONS_MAX][OPERATION_COUNTS];
    const struct figure_set set = {.operations = *operations, .counts = nothing};
    const bool is_prefixed = strncmp(bound->name, OPERATION_PREFIX, strlen(OPERATION_PREFIX)) == 0;
    char name[BOUND_NAME_BYTES];
    const char *begin = bound->name + (is_prefixed ? strlen(OPERATION_PREFIX) : 0);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "."), begin);
    struct nearest nearest = {.word = name};
    for (size_t i = is_prefixed ? OPERATIONS : 0; i < operations->count; i++) {
        const char *own = operations->entries[i].name;
        struct figure_cell cell;
        nearest_offer(&nearest, own);
        for (size_t at = 0; i >= OPERATIONS && strcmp(own, name) == 0 &&
                            next_operation_cell(&set, i, &at, &cell);) {
            if (cell.value.is_known || cell.unit != FIGURE_UNIT_COUNT) {
                figure_columns_add(columns, cell.key);
            }
        }
    }
    if (columns->count > 0) {
        return STATUS_OK;
    }
    const bool lacks_script = is_prefixed && operations->count == OPERATIONS;
    error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': %s%s%s", bound->text,
              lacks_script ? "'operation.' is only for runs with a script: give --workload NAME"
                           : "no operation is called '",
              lacks_script ? "" : name, lacks_script ? "" : "'");
    if (nearest.name != NULL) {
        const size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, ": did you mean '%s%s'?",
                 is_prefixed ? OPERATION_PREFIX : "", nearest.name);
    }
    return STATUS_REJECTED;
}

/* Returns the script's metric that a bound names; NULL if the bound does not name a metric. */
static const struct script_metric *find_metric(const struct expectations *expectations,
                                               const struct bound *bound)
{
    const struct script *script = expectations->script;
    const size_t length = strcspn(bound->name, ".");
    for (size_t i = 0; script != NULL && i < script->metric_count; i++) {
        const char *own = script->metrics[i].name;
        if (strlen(own) == length && strncmp(own, bound->name, length) == 0) {
            return &script->metrics[i];
        }
    }
    return NULL;
}

/* Returns whether the metric in `row` has a figure with this key. */
static bool has_figure(const struct report_row *row, const char *key)
{
    const struct report_cell *cell = report_row_find(row, key);
    return cell != NULL && cell->unit == FIGURE_UNIT_VALUE && cell->place == IN_CSV_AND_JSON;
}

/* Sets the column and the limit of an expectation about a metric of the script, for example
 * "lock_wait.p95". The name of a metric without a figure stands for the sum of a count, or for the
 * latest value of a gauge. */
static enum status find_in_metric(const struct script_metric *metric, struct expectation *new,
                                  const struct operation_list *operations, struct error *error)
{
    static const char *const alone[] = {
        [SCRIPT_COUNT] = "count", [SCRIPT_TREND] = "", [SCRIPT_GAUGE] = "last"};
    const struct metric_sum sum = {.metric = metric};
    struct report_row row = {.operations = operations};
    struct bound *bound = &new->bound;
    report_metrics.fill(&row, &(struct metric_row){.sum = &sum});
    bound_resolve_name(bound, operations); /* the key of p99.9 is p999 */
    const char *point = strchr(bound->name, '.');
    const char *key = point == NULL ? alone[metric->kind] : point + 1;
    if (!has_figure(&row, key)) {
        char known[REASON_BYTES] = "";
        for (size_t i = 0; i < row.count; i++) {
            const size_t used = strlen(known);
            if (has_figure(&row, row.cells[i].key)) {
                snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ",
                         row.cells[i].key);
            }
        }
        error_set(error, ERROR_USAGE, 0, NULL,
                  "bound '%s': use, for example, %s.%s: the %s has the figures %s", bound->text,
                  metric->name, metric->kind == SCRIPT_TREND ? "p95" : alone[metric->kind],
                  script_metric_kinds[metric->kind], known);
        return STATUS_REJECTED;
    }
    new->choice.count = 1;
    snprintf(new->choice.names[0], sizeof new->choice.names[0], METRIC_PREFIX "%s.%.12s",
             metric->name, key);
    if (bound->unit[0] != '\0' && !bound->is_word && strcmp(bound->unit, metric->unit) == 0) {
        new->limit = bound->number;
        return STATUS_OK;
    }
    return figure_scale(bound, new->choice.names[0], &new->limit, error);
}

/* Returns whether the column exists only in a run with a script. */
static bool needs_script(const char *column)
{
    const struct figure *figure = figure_of_key(column);
    return figure != NULL && figure_needs_script((enum figure_id)(figure - figure_table));
}

/* Removes "stage2." from the name of a bound, unless the script has an operation "stage2". Returns
 * the number of the stage; 0 if the name does not begin with a stage. */
static unsigned take_stage(struct bound *bound, const struct operation_list *operations)
{
    static const char prefix[] = "stage";
    char *digits = bound->name + strlen(prefix);
    char *end;
    if (strncmp(bound->name, prefix, strlen(prefix)) != 0 || *digits < '0' || *digits > '9') {
        return 0;
    }
    const unsigned long number = strtoul(digits, &end, 10);
    if (*end != '.' || number == 0) {
        return 0;
    }
    for (size_t i = OPERATIONS; i < operations->count; i++) {
        const char *own = operations->entries[i].name;
        if (strlen(own) == (size_t)(end - bound->name) &&
            strncmp(own, bound->name, strlen(own)) == 0) {
            return 0;
        }
    }
    memmove(bound->name, end + 1, strlen(end + 1) + 1);
    return number > UINT_MAX ? UINT_MAX : (unsigned)number;
}

/* Sets the column and the limit of an expectation about a stage. */
static enum status find_in_stage(const struct expectations *expectations, struct expectation *new,
                                 const struct operation_list *operations, struct error *error)
{
    char text[UNITS_TEXT_BYTES];
    const size_t stages = expectations->stages == NULL ? 0 : expectations->stages->count;
    if (new->stage > stages) {
        snprintf(text, sizeof text, "%zu stage%s", stages, stages == 1 ? "" : "s");
        error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': the run has %s", new->bound.text,
                  stages == 0 ? "no stages: give --stage or --rate-stage" : text);
        return STATUS_REJECTED;
    }
    if (expectations->stages->stages[new->stage - 1].duration_ns == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "bound '%s': stage %u takes no time and has no figures: use stage%u",
                  new->bound.text, new->stage, new->stage + 1);
        return STATUS_REJECTED;
    }
    new->choice.count = 1;
    return interval_bound(&new->bound, operations, new->choice.names[0], &new->limit, error);
}

/* Sets the column and the limit of an expectation about the whole run. */
static enum status find_in_run(struct expectation *new, const struct operation_list *operations,
                               struct error *error)
{
    static const char of_waits[] = "waits.";
    const struct figure_set set = {.operations = *operations};
    const bool has_script = operation_is_used(operations, OPERATION_TRANSACTION);
    const bool is_about_wait = strncmp(new->bound.text, of_waits, strlen(of_waits)) == 0;
    struct figure_columns columns = {.count = 0};
    struct figure_cell cell;
    struct figure_point point;
    const char *why = NULL;
    enum status status = STATUS_OK;
    if (!bound_resolve_name(&new->bound, operations)) {
        status = add_operation(&columns, &new->bound, operations, error);
    } else {
        /* adds every numeric column of summary.csv, even if this plan does not use it */
        for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
            if (figure_is_number(cell.unit)) {
                figure_columns_add(&columns, cell.key);
            }
        }
    }
    const bool is_found = status == STATUS_OK &&
                          figure_find(&columns, new->bound.name, &new->choice, error) == STATUS_OK;
    if (!is_found && is_about_wait) {
        explain_wait(&new->bound, operations->has_waits, error);
        return STATUS_REJECTED;
    }
    if (!is_found && (status != STATUS_OK || operations->points.count < FIGURE_POINTS_MAX ||
                      !bound_percentile(&new->bound, &point))) {
        return STATUS_REJECTED;
    }
    if (!is_found) {
        error_clear(error);
        why = "the run has too many percentiles already: name fewer in --percentiles and --expect";
    } else if (strcmp(new->choice.names[0], "exit_code") == 0) {
        why = "the exit code depends on the bounds, so a bound cannot test it: test "
              "the verdict, for example verdict==VALID";
    } else if (!has_script && needs_script(new->choice.names[new->choice.count - 1])) {
        why = "only a script has transactions: give --workload NAME";
    }
    if (why != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': %s", new->bound.text, why);
        return STATUS_REJECTED;
    }
    return figure_scale(&new->bound, new->choice.names[0], &new->limit, error);
}

/* Sets the stage, the column and the limit of an expectation whose bound is already read. */
static enum status complete(const struct expectations *expectations, struct expectation *new,
                            const struct operation_list *operations, struct error *error)
{
    new->stage = take_stage(&new->bound, operations);
    if (new->stage > 0) {
        return find_in_stage(expectations, new, operations, error);
    }
    const struct script_metric *metric = find_metric(expectations, &new->bound);
    return metric != NULL ? find_in_metric(metric, new, operations, error)
                          : find_in_run(new, operations, error);
}

enum status expectations_add(struct expectations *expectations, const char *text,
                             const struct operation_list *operations, struct error *error)
{
    while (text != NULL) {
        struct expectation new = {.limit = 0};
        if (bound_parse(&new.bound, &text, error) != STATUS_OK ||
            complete(expectations, &new, operations, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (expectations->count == EXPECTATIONS_MAX) {
            error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': a run takes at most %d bounds",
                      new.bound.text, (int)EXPECTATIONS_MAX);
            return STATUS_REJECTED;
        }
        expectations->entries[expectations->count++] = new;
    }
    return STATUS_OK;
}

enum status expectations_parse(struct expectations *expectations, const struct plan *plan,
                               struct error *error)
{
    const struct operation_list operations = plan_operations(plan);
    *expectations = (struct expectations){.stages = plan_stages(plan), .script = plan->script};
    for (size_t i = 0; i < plan->expected.count; i++) {
        struct error why = {0};
        if (expectations_add(expectations, plan->expected.texts[i], &operations, &why) !=
            STATUS_OK) {
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
        char value[UNITS_TEXT_BYTES];
        snprintf(text, EXPECTATIONS_TEXT_BYTES, "%s: %s%s", expectation->bound.text,
                 bound_format(&expectation->bound, expectation->limit, expectation->value, value),
                 figure_unit(column));
    } else {
        snprintf(text, EXPECTATIONS_TEXT_BYTES, "%s: not known", expectation->bound.text);
    }
    return text;
}

/* Adds the missed bounds to a line, with or without their values. Returns false if the line is
 * full. */
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

/* Copies the value of a cell into the expectation if the expectation is about this cell. If a name
 * stands for two columns, the expectation gets the value of the first of these columns that is
 * known. */
static void offer(struct expectation *expectation, const struct figure_cell *cell)
{
    const struct figure_choice *choice = &expectation->choice;
    char text[FIGURE_TEXT_BYTES];
    const bool is_known =
        cell->value.is_known && (figure_is_whole(cell->unit) || isfinite(cell->value.number));
    for (size_t i = 0; i < choice->count && is_known; i++) {
        if (strcmp(choice->names[i], cell->key) == 0 &&
            (!expectation->is_known || i < expectation->chosen)) {
            expectation->is_known = true;
            expectation->chosen = i;
            /* the value is rounded as in summary.csv */
            expectation->value = cell->unit == FIGURE_UNIT_WORD
                                     ? cell->value.number
                                     : strtod(figure_format(cell->unit, &cell->value, text), NULL);
        }
    }
}

/* Copies the value into the expectation if the expectation is about a metric of the run. */
static void offer_metrics(struct expectation *expectation, const struct operation_list *operations,
                          const struct result *result)
{
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct metric_row metric = {&result->metrics[i], result->measured_ns};
        struct report_row row = {.operations = operations};
        report_metrics.fill(&row, &metric);
        for (size_t k = 0; k < row.count; k++) {
            struct figure_cell cell = {.unit = row.cells[k].unit, .value = row.cells[k].value};
            snprintf(cell.key, sizeof cell.key, METRIC_PREFIX "%s.%.12s", metric.sum->metric->name,
                     row.cells[k].key);
            offer(expectation, &cell);
        }
    }
}

/* Copies the value into an expectation about a stage. The value stays unknown if the run did not
 * reach the stage. */
static void offer_stages(struct expectation *expectation, const struct operation_list *operations,
                         const struct result *result)
{
    for (size_t i = 0; i < result->stage_count; i++) {
        if (result->stages[i].stage == expectation->stage) {
            expectation->is_known = interval_value(
                &result->stages[i], operations, expectation->choice.names[0], &expectation->value);
        }
    }
}

void expectations_judge(struct expectations *expectations, const struct plan *plan,
                        struct result *result)
{
    struct figure_set set;
    figures_of_result(&set, plan, result);
    for (size_t i = 0; i < expectations->count; i++) {
        struct expectation *expectation = &expectations->entries[i];
        struct figure_cell cell;
        expectation->is_known = false;
        expectation->chosen = 0;
        if (expectation->stage > 0) {
            offer_stages(expectation, &set.operations, result);
        }
        offer_metrics(expectation, &set.operations, result);
        for (size_t at = 0; expectation->stage == 0 && figure_next_cell(&set, &at, &cell);) {
            offer(expectation, &cell);
        }
        for (size_t operation = OPERATIONS;
             expectation->stage == 0 && operation < set.operations.count; operation++) {
            for (size_t at = 0; next_operation_cell(&set, operation, &at, &cell);) {
                offer(expectation, &cell);
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
    result_set_exit(result);
}
