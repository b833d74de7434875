#include "report/expectations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures.h"

/* The columns of summary.csv that hold numbers, of a run of any plan. */
static void list_columns(struct figure_columns *columns)
{
    const struct figure_set set = {.operations = operation_list_all()};
    struct figure_cell cell;
    columns->count = 0;
    for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
        if (figure_is_number(cell.unit)) {
            figure_columns_add(columns, cell.key);
        }
    }
}

static enum status refuse(const struct bound *bound, const char *why, struct error *error)
{
    error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': %s", bound->text, why);
    return STATUS_REJECTED;
}

static enum status add_one(struct expectations *expectations, const struct figure_columns *columns,
                           const struct bound *bound, struct error *error)
{
    if (expectations->count == EXPECTATIONS_MAX) {
        return refuse(bound, "it is one too many: a run takes 32 bounds", error);
    }
    struct expectation *expectation = &expectations->entries[expectations->count];
    *expectation = (struct expectation){.bound = *bound};
    if (figure_find(columns, bound->name, &expectation->choice, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    const char *column = expectation->choice.names[0];
    if (strcmp(column, "exit_code") == 0) {
        return refuse(bound, "the exit code follows from what is expected", error);
    }
    if (figure_scale(bound, column, &expectation->limit, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    expectations->count++;
    return STATUS_OK;
}

enum status expectations_add(struct expectations *expectations, const char *text,
                             struct error *error)
{
    struct figure_columns columns;
    list_columns(&columns);
    enum status status = STATUS_OK;
    while (text != NULL && status == STATUS_OK) {
        struct bound bound;
        status = bound_parse(&bound, &text, error);
        if (status == STATUS_OK) {
            status = add_one(expectations, &columns, &bound, error);
        }
    }
    return status;
}

enum status expectations_parse(struct expectations *expectations, const struct plan_texts *texts,
                               struct error *error)
{
    *expectations = (struct expectations){0};
    for (size_t i = 0; i < texts->count; i++) {
        struct error why;
        error_clear(&why);
        if (expectations_add(expectations, texts->texts[i], &why) != STATUS_OK) {
            error_set(error, why.kind, 0, NULL, "--expect: %s", why.text);
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

/* The value of a column as the file has it, rounded. Where a name stands for two columns, the first
 * that is known counts. */
static void take_value(struct expectation *expectation, const struct figure_cell *cell)
{
    char text[FIGURE_TEXT_BYTES];
    for (size_t i = 0; i < expectation->choice.count; i++) {
        const bool is_better = !expectation->is_known || i < expectation->chosen;
        if (cell->value.is_known && is_better &&
            strcmp(expectation->choice.names[i], cell->key) == 0) {
            expectation->is_known = true;
            expectation->chosen = i;
            expectation->value = cell->unit == FIGURE_UNIT_WORD
                                     ? cell->value.number
                                     : strtod(figure_format(cell->unit, &cell->value, text), NULL);
        }
    }
}

void expectations_judge(struct expectations *expectations, const struct plan *plan,
                        const struct result *result)
{
    struct figure_set set;
    figures_of_result(&set, plan, result);
    for (size_t i = 0; i < expectations->count; i++) {
        struct expectation *expectation = &expectations->entries[i];
        struct figure_cell cell;
        expectation->is_known = false;
        expectation->chosen = 0;
        for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
            take_value(expectation, &cell);
        }
        expectation->is_met =
            expectation->is_known &&
            bound_holds(expectation->bound.relation, expectation->value, expectation->limit);
    }
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
    for (size_t i = 0; i < expectations->count; i++) {
        const struct expectation *expectation = &expectations->entries[i];
        if (expectation->is_met) {
            continue;
        }
        char text[EXPECTATIONS_TEXT_BYTES];
        const int added = snprintf(line + used, bytes - used, "%s%s", comma,
                                   has_values ? expectations_describe(expectation, text)
                                              : expectation->bound.text);
        if (added < 0 || (size_t)added >= bytes - used) {
            return false;
        }
        used += (size_t)added;
        comma = ", ";
    }
    return true;
}

void expectations_conclude(const struct expectations *expectations, struct result *result)
{
    const size_t missed = expectations_count_missed(expectations);
    if (missed == 0) {
        return;
    }
    struct problem *problem = &result->problems[PROBLEM_EXPECTATION];
    char *line = problem->text;
    const size_t bytes = sizeof problem->text;
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
