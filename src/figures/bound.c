#include "figures/bound.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define NUMBER_CHARACTERS "0123456789."

enum {
    DIGITS_MAX = 18
};

/* Those of two characters first, so that "<=" is not read as "<". */
static const struct {
    const char *text;
    enum bound_relation relation;
} relations[] = {
    {"<=", BOUND_AT_MOST}, {">=", BOUND_AT_LEAST}, {"==", BOUND_EQUAL},
    {"!=", BOUND_UNEQUAL}, {"<", BOUND_BELOW},     {">", BOUND_ABOVE},
};
enum {
    RELATIONS = sizeof relations / sizeof relations[0]
};

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static enum status refuse(const char *text, const char *what, struct error *error)
{
    error_set(error, ERROR_USAGE, 0, NULL,
              "bound '%.*s' %s: use NAME, then one of < <= > >= == !=, and a number with its unit",
              60, text, what);
    return STATUS_REJECTED;
}

/* Copies one bound without the blanks around it and moves *rest behind its comma. */
static bool take_text(char text[BOUND_TEXT_BYTES], const char **rest)
{
    const char *begin = skip_blanks(*rest);
    size_t length = strcspn(begin, ",");
    *rest = begin[length] == ',' ? begin + length + 1 : NULL;
    while (length > 0 && strchr(" \t\r\n", begin[length - 1]) != NULL) {
        length--;
    }
    const bool fits = length < BOUND_TEXT_BYTES;
    length = fits ? length : BOUND_TEXT_BYTES - 1;
    memcpy(text, begin, length);
    text[length] = '\0';
    return fits;
}

static bool take_relation(const char **at, enum bound_relation *relation)
{
    for (size_t i = 0; i < RELATIONS; i++) {
        const size_t length = strlen(relations[i].text);
        if (strncmp(*at, relations[i].text, length) == 0) {
            *relation = relations[i].relation;
            *at += length;
            return true;
        }
    }
    return false;
}

/* Digits with at most one point: strtod alone would take signs, "0x10", "1e3" and "inf". */
static bool take_number(const char **at, double *number)
{
    const size_t length = strspn(*at, NUMBER_CHARACTERS);
    if (**at < '0' || **at > '9' || length > DIGITS_MAX) {
        return false;
    }
    char digits[DIGITS_MAX + 1];
    memcpy(digits, *at, length);
    digits[length] = '\0';
    char *end = NULL;
    *number = strtod(digits, &end);
    *at += length;
    return *end == '\0' && isfinite(*number);
}

enum status bound_parse(struct bound *bound, const char **rest, struct error *error)
{
    *bound = (struct bound){0};
    if (!take_text(bound->text, rest)) {
        return refuse(bound->text, "is too long", error);
    }
    if (bound->text[0] == '\0') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a bound is empty: use NAME>=NUMBER, bounds apart by commas");
        return STATUS_REJECTED;
    }
    const char *at = bound->text;
    const size_t length = strspn(at, NAME_CHARACTERS);
    if (length == 0 || length >= sizeof bound->name) {
        return refuse(bound->text, "does not begin with the name of a figure", error);
    }
    memcpy(bound->name, at, length);
    at = skip_blanks(at + length);
    if (!take_relation(&at, &bound->relation)) {
        return refuse(bound->text, "has no relation after the name", error);
    }
    at = skip_blanks(at);
    bound->is_word = *at >= 'A' && *at <= 'Z';
    bound->number = 1;
    if (!bound->is_word && !take_number(&at, &bound->number)) {
        return refuse(bound->text, "has no number that can be read", error);
    }
    at = skip_blanks(at);
    if (strlen(at) >= sizeof bound->unit || strpbrk(at, "<>=!") != NULL) {
        return refuse(bound->text, "has text after the number that is no unit", error);
    }
    memcpy(bound->unit, at, strlen(at));
    return STATUS_OK;
}

bool bound_holds(enum bound_relation relation, double value, double limit)
{
    switch (relation) {
    case BOUND_BELOW:
        return value < limit;
    case BOUND_AT_MOST:
        return value <= limit;
    case BOUND_ABOVE:
        return value > limit;
    case BOUND_AT_LEAST:
        return value >= limit;
    case BOUND_EQUAL:
        return value == limit;
    case BOUND_UNEQUAL:
        return !isnan(value) && value != limit;
    }
    return false;
}

const char *bound_relation_text(enum bound_relation relation)
{
    for (size_t i = 0; i < RELATIONS; i++) {
        if (relations[i].relation == relation) {
            return relations[i].text;
        }
    }
    return "?";
}

struct spelling {
    const char *text;
    double factor; /* to the column's unit */
};

enum {
    SPELLINGS_MAX = 12
};

/* How a number of each unit may be written. */
struct way {
    const char *right; /* what may be written */
    bool needs_unit;   /* where the name does not say it: there are several that are usual */
    struct spelling spellings[SPELLINGS_MAX];
};

#define A_COUNT                                                                                    \
    {                                                                                              \
        "a count: a number with an optional k, M or G (0, 10k)", false,                            \
        {                                                                                          \
            {"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6},                                           \
            {                                                                                      \
                "G", 1e9                                                                           \
            }                                                                                      \
        }                                                                                          \
    }
static const struct way ways[FIGURE_UNITS] = {
    [FIGURE_UNIT_COUNT] = A_COUNT,
    [FIGURE_UNIT_ID] = A_COUNT,
    [FIGURE_UNIT_ROWS_PER_S] =
        {"rows/s: a number with an optional k, M or G (50000, 50k)",
         false,
         {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"rows/s", 1}}},
    [FIGURE_UNIT_MS] =
        {"a time with us, ms, s, m or h (20ms, 1.5s)",
         true,
         {{"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"min", 6e4}, {"h", 3.6e6}}},
    [FIGURE_UNIT_US_PER_ROW] = {"a time with ns, us or ms (2us, 0.5ms)",
                                true,
                                {{"ns", 1e-3}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}}},
    [FIGURE_UNIT_S] = {"a time with ms, s, m or h (20s, 500ms, 3m)",
                       true,
                       {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}}},
    [FIGURE_UNIT_MIB] = {"a size with K, M, G or KiB, MiB, GiB (512MiB, 2GiB)",
                         true,
                         {{"K", 0x1p-10},
                          {"KiB", 0x1p-10},
                          {"M", 1},
                          {"MiB", 1},
                          {"G", 0x1p10},
                          {"GiB", 0x1p10},
                          {"T", 0x1p20},
                          {"TiB", 0x1p20}}},
    [FIGURE_UNIT_PERCENT] = {"percent: a number with an optional % (90, 90%)",
                             false,
                             {{"", 1}, {"%", 1}}},
    [FIGURE_UNIT_WORD] = {"VALID, DEGRADED or INVALID, with == or !=",
                          true,
                          {{"VALID", 0}, {"DEGRADED", 1}, {"INVALID", 2}}},
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

static size_t short_length(const char *column)
{
    return strlen(column) - strlen(figure_suffix(column));
}

void figure_columns_add(struct figure_columns *columns, const char *name)
{
    if (columns->count < FIGURE_COLUMNS_MAX && name[0] != '\0' && strlen(name) < FIGURE_KEY_BYTES) {
        snprintf(columns->names[columns->count++], FIGURE_KEY_BYTES, "%s", name);
    }
}

static bool has_column(const struct figure_columns *columns, const char *name)
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
    snprintf(choice->names[choice->count++], FIGURE_KEY_BYTES, "%s", column);
}

static void choose_alias(const struct figure_columns *columns, const char *name,
                         struct figure_choice *choice)
{
    for (size_t i = 0; i < figure_aliases_count; i++) {
        if (strcmp(figure_aliases[i].name, name) != 0) {
            continue;
        }
        for (size_t j = 0; j < FIGURE_CHOICES && figure_aliases[i].columns[j] != NULL; j++) {
            if (has_column(columns, figure_aliases[i].columns[j])) {
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
        char shorter[FIGURE_KEY_BYTES];
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
    char modern[FIGURE_KEY_BYTES];
    snprintf(modern, sizeof modern, "%s", name);
    figure_modernise(modern);
    choice->count = 0;
    if (has_column(columns, modern)) {
        choose(choice, modern);
    } else {
        choose_alias(columns, modern, choice);
    }
    if (choice->count == 0) {
        choose_short(columns, modern, choice);
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
    const enum figure_unit unit = figure_unit_of(column);
    const struct way *way = &ways[unit];
    const bool is_word = unit == FIGURE_UNIT_WORD;
    const bool is_order = bound->relation != BOUND_EQUAL && bound->relation != BOUND_UNEQUAL;
    if (bound->is_word != is_word || (is_word && is_order)) {
        error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': %s is %s", bound->text, bound->name,
                  way->right);
        return STATUS_REJECTED;
    }
    if (bound->unit[0] == '\0' && way->needs_unit && strcmp(bound->name, column) == 0) {
        *limit = bound->number;
        return STATUS_OK;
    }
    for (size_t i = 0; i < SPELLINGS_MAX && way->spellings[i].text != NULL; i++) {
        if (strcmp(way->spellings[i].text, bound->unit) == 0) {
            *limit = bound->number * way->spellings[i].factor;
            return STATUS_OK;
        }
    }
    error_set(error, ERROR_USAGE, 0, NULL, "bound '%s' %s: %s is %s", bound->text,
              is_word                  ? "has the wrong value"
              : bound->unit[0] == '\0' ? "has no unit"
                                       : "has the wrong unit",
              bound->name, way->right);
    return STATUS_REJECTED;
}

const char *figure_word(const char *column, double value)
{
    const enum figure_unit unit = figure_unit_of(column);
    const struct spelling *words = ways[unit].spellings;
    for (size_t i = 0; unit == FIGURE_UNIT_WORD && words[i].text != NULL; i++) {
        if (words[i].factor == value) {
            return words[i].text;
        }
    }
    return NULL;
}
