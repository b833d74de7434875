#include "report/expectations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/figures.h"

enum {
    OPERATION_NAME_BYTES = SCRIPT_NAME_BYTES - 1,
    OPERATION_FIGURE_BYTES = FIGURE_KEY_BYTES - SCRIPT_NAME_BYTES - sizeof OPERATION_PREFIX - 1,
};

/* Finds the next figure of an operation, with the operation in its key: "operation.insert.p99_ms".
 * *at is 0 at first. Returns false if there are no more. */
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
              lacks_script ? "operation. needs a script with operations: give --workload NAME"
                           : "no operation is called '",
              lacks_script ? "" : name, lacks_script ? "" : "'");
    if (nearest.name != NULL) {
        const size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, ": did you mean '%s%s'?",
                 is_prefixed ? OPERATION_PREFIX : "", nearest.name);
    }
    return STATUS_REJECTED;
}

/* Returns whether only a run with a script has a column. */
static bool needs_script(const char *column)
{
    const struct figure *figure = figure_of_key(column);
    return figure != NULL && figure_needs_script((enum figure_id)(figure - figure_table));
}

enum status expectations_add(struct expectations *expectations, const char *text,
                             const struct operation_list *operations, struct error *error)
{
    const struct figure_set set = {.operations = *operations};
    const bool has_script = operation_is_used(operations, OPERATION_TRANSACTION);
    while (text != NULL) {
        struct expectation new = {.limit = 0};
        struct figure_columns columns = {.count = 0};
        struct figure_cell cell;
        const char *why = NULL;
        if (bound_parse(&new.bound, &text, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (!bound_name_column(&new.bound, operations)) {
            if (add_operation(&columns, &new.bound, operations, error) != STATUS_OK) {
                return STATUS_REJECTED;
            }
        } else {
            /* every numeric column of summary.csv, even if this plan does not use it
             */
            for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
                if (figure_is_number(cell.unit)) {
                    figure_columns_add(&columns, cell.key);
                }
            }
        }
        if (expectations->count == EXPECTATIONS_MAX) {
            why = "a run takes at most 32 bounds";
        } else if (figure_find(&columns, new.bound.name, &new.choice, error) != STATUS_OK) {
            struct figure_point point;
            if (operations->points.count < FIGURE_POINTS_MAX ||
                !bound_percentile(&new.bound, &point)) {
                return STATUS_REJECTED;
            }
            error_clear(error);
            why = "the run has too many percentiles already: name fewer in --percentiles and "
                  "--expect";
        } else if (strcmp(new.choice.names[0], "exit_code") == 0) {
            why = "the exit code itself depends on the expectations";
        } else if (!has_script && needs_script(new.choice.names[new.choice.count - 1])) {
            why = "only a script has transactions: give --workload NAME";
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

enum status expectations_parse(struct expectations *expectations, const struct plan *plan,
                               struct error *error)
{
    const struct operation_list operations = plan_operations(plan);
    *expectations = (struct expectations){0};
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

/* Takes the value of a cell if the expectation is about this cell. When a name stands for two
 * columns, the first column with a known value is used. */
static void offer(struct expectation *expectation, const struct figure_cell *cell)
{
    const struct figure_choice *choice = &expectation->choice;
    char text[FIGURE_TEXT_BYTES];
    for (size_t i = 0; i < choice->count && cell->value.is_known; i++) {
        if (strcmp(choice->names[i], cell->key) == 0 &&
            (!expectation->is_known || i < expectation->chosen)) {
            expectation->is_known = true;
            expectation->chosen = i;
            /* rounded as in summary.csv */
            expectation->value = cell->unit == FIGURE_UNIT_WORD
                                     ? cell->value.number
                                     : strtod(figure_format(cell->unit, &cell->value, text), NULL);
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
        for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
            offer(expectation, &cell);
        }
        for (size_t operation = OPERATIONS; operation < set.operations.count; operation++) {
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
