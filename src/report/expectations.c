#include "report/expectations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/csv_files.h"

static void add_column(void *context, const char *column, bool is_known, double value)
{
    (void)is_known;
    (void)value;
    figure_columns_add(context, column);
}

/* The columns are said by what writes them: a run of nothing has them all. False: out of memory. */
static bool list_columns(struct figure_columns *columns)
{
    static const struct adapter nobody = {.name = ""};
    struct plan *plan = calloc(1, sizeof *plan);
    struct result *result = calloc(1, sizeof *result);
    const bool has_memory = plan != NULL && result != NULL;
    if (has_memory) {
        struct csv csv;
        plan->adapter = &nobody;
        csv_visit(&csv, add_column, columns);
        csv_files_summary(&csv, plan, result);
    }
    free(result);
    free(plan);
    return has_memory;
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
    struct figure_columns columns = {0};
    if (!list_columns(&columns)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for what is expected");
        return STATUS_REJECTED;
    }
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

/* Where a name stands for two columns, the first that is known counts. */
static void take_value(void *context, const char *column, bool is_known, double value)
{
    struct expectations *expectations = context;
    for (size_t i = 0; i < expectations->count; i++) {
        struct expectation *expectation = &expectations->entries[i];
        for (size_t j = 0; j < expectation->choice.count; j++) {
            const bool is_better = !expectation->is_known || j < expectation->chosen;
            if (is_known && is_better && strcmp(expectation->choice.names[j], column) == 0) {
                expectation->is_known = true;
                expectation->chosen = j;
                expectation->value = value;
            }
        }
    }
}

void expectations_judge(struct expectations *expectations, const struct plan *plan,
                        const struct result *result)
{
    for (size_t i = 0; i < expectations->count; i++) {
        expectations->entries[i].is_known = false;
        expectations->entries[i].chosen = 0;
    }
    struct csv csv;
    csv_visit(&csv, take_value, expectations);
    csv_files_summary(&csv, plan, result);
    for (size_t i = 0; i < expectations->count; i++) {
        struct expectation *expectation = &expectations->entries[i];
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
    char *line = result->exit_reason;
    const size_t bytes = sizeof result->exit_reason;
    const bool is_first = result->exit_code == EXIT_CODE_OK;
    size_t used = strlen(line);
    snprintf(line + used, bytes - used,
             "%s%zu of %zu expectations not met: ", is_first ? "" : "; also ", missed,
             expectations->count);
    used = strlen(line);
    if (!add_missed(expectations, true, line, bytes)) {
        line[used] = '\0';
        if (!add_missed(expectations, false, line, bytes)) {
            memcpy(line + bytes - sizeof "...", "...", sizeof "...");
        }
    }
    if (is_first) {
        result->exit_code = EXIT_CODE_EXPECTATION;
    }
}
