#include "base/figure.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

struct unit {
    const char *text;
    double factor; /* to the column's unit */
};

enum {
    UNITS_MAX = 12
};

/* What the end of a column's name says of its figure. */
struct kind {
    const char *suffix;
    const char *behind; /* a number, for people */
    const char *right;  /* what may be written */
    bool needs_unit;    /* where the name does not say it: there are several that are usual */
    bool is_word;       /* the figure is written as its unit: 1 of it */
    struct unit units[UNITS_MAX];
};

static const struct kind kinds[] = {
    {"_rows_per_s",
     " rows/s",
     "rows/s: a number with an optional k, M or G (50000, 50k)",
     false,
     false,
     {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"rows/s", 1}}},
    {"_ms",
     " ms",
     "a time with us, ms, s, m or h (20ms, 1.5s)",
     true,
     false,
     {{"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"min", 6e4}, {"h", 3.6e6}}},
    {"_s",
     " s",
     "a time with ms, s, m or h (20s, 500ms, 3m)",
     true,
     false,
     {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}}},
    {"_mib",
     " MiB",
     "a size with K, M, G or KiB, MiB, GiB (512MiB, 2GiB)",
     true,
     false,
     {{"K", 0x1p-10},
      {"KiB", 0x1p-10},
      {"M", 1},
      {"MiB", 1},
      {"G", 0x1p10},
      {"GiB", 0x1p10},
      {"T", 0x1p20},
      {"TiB", 0x1p20}}},
    {"_percent",
     " %",
     "percent: a number with an optional % (90, 90%)",
     false,
     false,
     {{"", 1}, {"%", 1}}},
    {"verdict",
     "",
     "VALID, DEGRADED or INVALID, with == or !=",
     true,
     true,
     {{"VALID", 0}, {"DEGRADED", 1}, {"INVALID", 2}}},
    {"",
     "",
     "a count: a number with an optional k, M or G (0, 10k)",
     false,
     false,
     {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}}},
};

const struct figure_alias figure_aliases[] = {
    /* reading every row tells for sure; a count of the table only while nobody else writes */
    {"lost", {"verified_lost", "rows_lost_at_most"}},
    {"dropped", {"sessions_dropped", NULL}},
    {"refused", {"sessions_refused", NULL}},
    {"timed_out", {"sessions_timed_out", NULL}},
    {"finished", {"sessions_finished", NULL}},
    {"acknowledged", {"rows_acknowledged", NULL}},
    {"rejected", {"rows_rejected", NULL}},
    {"in_doubt", {"rows_in_doubt", NULL}},
    {"duplicates", {"verified_duplicates", NULL}},
};
const size_t figure_aliases_count = sizeof figure_aliases / sizeof figure_aliases[0];

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static const struct kind *kind_of(const char *column)
{
    const struct kind *kind = kinds;
    while (!ends_with(column, kind->suffix)) {
        kind++; /* the last one fits every name */
    }
    return kind;
}

static size_t short_length(const char *column)
{
    return strlen(column) - strlen(kind_of(column)->suffix);
}

void figure_columns_add(struct figure_columns *columns, const char *name)
{
    if (columns->count < FIGURE_COLUMNS_MAX && name[0] != '\0' &&
        strlen(name) < FIGURE_NAME_BYTES) {
        snprintf(columns->names[columns->count++], FIGURE_NAME_BYTES, "%s", name);
    }
}

bool figure_columns_has(const struct figure_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void choose(struct figure_choice *choice, const char *column)
{
    snprintf(choice->names[choice->count++], FIGURE_NAME_BYTES, "%s", column);
}

static void choose_alias(const struct figure_columns *columns, const char *name,
                         struct figure_choice *choice)
{
    for (size_t i = 0; i < figure_aliases_count; i++) {
        if (strcmp(figure_aliases[i].name, name) != 0) {
            continue;
        }
        for (size_t j = 0; j < FIGURE_CHOICES && figure_aliases[i].columns[j] != NULL; j++) {
            if (figure_columns_has(columns, figure_aliases[i].columns[j])) {
                choose(choice, figure_aliases[i].columns[j]);
            }
        }
    }
}

static void choose_short(const struct figure_columns *columns, const char *name,
                         struct figure_choice *choice)
{
    const size_t length = strlen(name);
    const char *found = NULL;
    for (size_t i = 0; i < columns->count; i++) {
        const char *column = columns->names[i];
        if (short_length(column) == length && strncmp(column, name, length) == 0) {
            if (found != NULL) {
                return; /* two columns: which one is meant cannot be told */
            }
            found = column;
        }
    }
    if (found != NULL) {
        choose(choice, found);
    }
}

/* The column that is written most like `name`, with or without its unit; NULL: none is. */
static const char *find_nearest(const struct figure_columns *columns, const char *name)
{
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < columns->count; i++) {
        const char *before = nearest.name;
        char shorter[FIGURE_NAME_BYTES];
        snprintf(shorter, sizeof shorter, "%.*s", (int)short_length(columns->names[i]),
                 columns->names[i]);
        nearest_offer(&nearest, columns->names[i]);
        nearest_offer(&nearest, shorter);
        if (nearest.name != before) {
            nearest.name = columns->names[i];
        }
    }
    return nearest.name;
}

enum status figure_find(const struct figure_columns *columns, const char *name,
                        struct figure_choice *choice, struct error *error)
{
    choice->count = 0;
    if (figure_columns_has(columns, name)) {
        choose(choice, name);
    } else {
        choose_alias(columns, name, choice);
    }
    if (choice->count == 0) {
        choose_short(columns, name, choice);
    }
    if (choice->count > 0) {
        return STATUS_OK;
    }
    const char *near = find_nearest(columns, name);
    error_set(error, ERROR_USAGE, 0, NULL, "no figure is called '%s': %s%s%s", name,
              near == NULL ? "names are the columns of summary.csv that hold numbers, such as "
                             "throughput, elapsed, append_p99, max_memory or lost"
                           : "did you mean '",
              near == NULL ? "" : near, near == NULL ? "" : "'?");
    return STATUS_REJECTED;
}

enum status figure_scale(const struct bound *bound, const char *column, double *limit,
                         struct error *error)
{
    const struct kind *kind = kind_of(column);
    const bool is_order = bound->relation != BOUND_EQUAL && bound->relation != BOUND_UNEQUAL;
    if (bound->is_word != kind->is_word || (kind->is_word && is_order)) {
        error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': %s is %s", bound->text, bound->name,
                  kind->right);
        return STATUS_REJECTED;
    }
    if (bound->unit[0] == '\0' && kind->needs_unit && ends_with(bound->name, kind->suffix)) {
        *limit = bound->number;
        return STATUS_OK;
    }
    for (size_t i = 0; i < UNITS_MAX && kind->units[i].text != NULL; i++) {
        if (strcmp(kind->units[i].text, bound->unit) == 0) {
            *limit = bound->number * kind->units[i].factor;
            return STATUS_OK;
        }
    }
    error_set(error, ERROR_USAGE, 0, NULL, "bound '%s' %s: %s is %s", bound->text,
              kind->is_word            ? "has the wrong value"
              : bound->unit[0] == '\0' ? "has no unit"
                                       : "has the wrong unit",
              bound->name, kind->right);
    return STATUS_REJECTED;
}

const char *figure_unit(const char *column)
{
    return kind_of(column)->behind;
}

const char *figure_word(const char *column, double value)
{
    const struct kind *kind = kind_of(column);
    for (size_t i = 0; kind->is_word && kind->units[i].text != NULL; i++) {
        if (kind->units[i].factor == value) {
            return kind->units[i].text;
        }
    }
    return NULL;
}
