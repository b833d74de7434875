#include "report/expectations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures.h"

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
        struct error why;
        error_clear(&why);
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
