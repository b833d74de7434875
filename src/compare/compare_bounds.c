#include <math.h>
#include <stdio.h>

#include "compare/compare.h"
#include "compare/compare_parts.h"

/* A null number for what is not finite: JSON has none. */
static json_t *number(bool is_known, double value)
{
    return is_known && isfinite(value) ? json_real(value) : json_null();
}

const char *compare_crossed_ratio(const json_t *entry, char text[COMPARE_RATIO_BYTES])
{
    const json_t *ratio = json_object_get(entry, "ratio");
    if (json_is_real(ratio)) {
        snprintf(text, COMPARE_RATIO_BYTES, "%.4g", json_real_value(ratio));
    } else if (json_is_real(json_object_get(entry, "a")) &&
               json_is_real(json_object_get(entry, "b"))) {
        snprintf(text, COMPARE_RATIO_BYTES, "%.4g to 0",
                 json_real_value(json_object_get(entry, "b")));
    } else {
        snprintf(text, COMPARE_RATIO_BYTES, "not known");
    }
    return text;
}

static bool add_crossed(struct comparison *comparison, const struct compare_cell *cell,
                        const struct bound *bound, const struct compare_figure *figure)
{
    json_t *entry = json_object();
    bool is_made =
        json_object_set_new(entry, "bound", json_string(bound->text)) == 0 &&
        json_object_set_new(entry, "figure", json_string(figure->name)) == 0 &&
        json_object_set_new(entry, "a", number(figure->is_known_a, figure->a)) == 0 &&
        json_object_set_new(entry, "b", number(figure->is_known_b, figure->b)) == 0 &&
        json_object_set_new(entry, "ratio", number(figure->has_ratio, figure->ratio)) == 0;
    if (is_made && comparison->is_sweep) {
        is_made =
            json_object_set_new(entry, "sessions", json_integer((json_int_t)cell->sessions)) == 0 &&
            json_object_set_new(entry, "records", json_integer((json_int_t)cell->records)) == 0;
    }
    if (!is_made) {
        json_decref(entry);
        return false;
    }
    comparison->crossed_count++;
    return json_array_append_new(comparison->crossed, entry) == 0;
}

/* Of the columns that a name stands for, the first whose ratio is known. */
static const struct compare_figure *choose(const struct compare_cell *cell,
                                           const struct figure_choice *choice)
{
    const struct compare_figure *figure = compare_find(cell, choice->names[0]);
    for (size_t i = 1; i < choice->count && (figure == NULL || !figure->has_ratio); i++) {
        const struct compare_figure *other = compare_find(cell, choice->names[i]);
        figure = other != NULL && other->has_ratio ? other : figure;
    }
    return figure;
}

static enum status check_cell(struct comparison *comparison, const struct compare_cell *cell,
                              const struct bound *bound, struct error *error)
{
    struct figure_columns columns = {0};
    for (size_t i = 0; i < cell->count; i++) {
        figure_columns_add(&columns, cell->figures[i].name);
    }
    struct figure_choice choice;
    if (figure_find(&columns, bound->name, &choice, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    const struct compare_figure *figure = choose(cell, &choice);
    const bool is_crossed =
        !figure->has_ratio || bound_holds(bound->relation, figure->ratio, bound->number);
    if (is_crossed && !add_crossed(comparison, cell, bound, figure)) {
        return compare_out_of_memory(error);
    }
    return STATUS_OK;
}

enum status compare_check_bounds(struct comparison *comparison, const struct bound *bounds,
                                 size_t count, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < comparison->cell_count && status == STATUS_OK; j++) {
            status = check_cell(comparison, &comparison->cells[j], &bounds[i], error);
        }
    }
    return status;
}
