#include "figures/bound.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
    DIGITS_MAX = 18
};

const char *const bound_relation_texts[] = {
    [BOUND_BELOW] = "<",     [BOUND_AT_MOST] = "<=", [BOUND_ABOVE] = ">",
    [BOUND_AT_LEAST] = ">=", [BOUND_EQUAL] = "==",   [BOUND_UNEQUAL] = "!=",
};

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

enum status bound_parse(struct bound *bound, const char **rest, struct error *error)
{
    const char *begin = skip_blanks(*rest), *what = NULL;
    size_t length = strcspn(begin, ",");
    *bound = (struct bound){.number = 1};
    *rest = begin[length] == ',' ? begin + length + 1 : NULL;
    while (length > 0 && strchr(" \t\r\n", begin[length - 1]) != NULL) {
        length--;
    }
    snprintf(bound->text, sizeof bound->text, "%.*s", (int)length, begin);
    if (length == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a bound is empty: use NAME>=NUMBER, and separate bounds with commas");
        return STATUS_REJECTED;
    }
    /* a name with a point may contain the name of a script's operation, which may have capitals and
     * "-" */
    static const char of_figures[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t name = strspn(bound->text, "abcdefghijklmnopqrstuvwxyz0123456789_"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-");
    name = memchr(bound->text, '.', name) == NULL ? strspn(bound->text, of_figures) : name;
    const char *at = skip_blanks(bound->text + name);
    size_t relation = 0;
    for (enum bound_relation i = BOUND_BELOW; i <= BOUND_UNEQUAL; i++) {
        const size_t own = strlen(bound_relation_texts[i]);
        if (strncmp(at, bound_relation_texts[i], own) == 0 && own > relation) {
            relation = own; /* the longest match: "<=" is not "<" */
            bound->relation = i;
        }
    }
    at = skip_blanks(at + relation);
    bound->is_word = *at >= 'A' && *at <= 'Z';
    /* let strtod see only digits and points, because it would also accept signs, "0x10", "1e3" and
     * "inf" */
    const size_t digits = bound->is_word ? 0 : strspn(at, "0123456789.");
    char number[DIGITS_MAX + 1], *end = number;
    snprintf(number, sizeof number, "%.*s", (int)digits, at);
    bound->number = bound->is_word ? 1 : strtod(number, &end);
    const bool is_number = *at >= '0' && *at <= '9' && digits <= DIGITS_MAX && *end == '\0';
    at = skip_blanks(at + digits);
    if (length >= sizeof bound->text) {
        what = "is too long";
    } else if (name == 0 || name >= sizeof bound->name) {
        what = "does not begin with the name of a figure";
    } else if (relation == 0) {
        what = "has no comparison after the name";
    } else if (!bound->is_word && !is_number) {
        what = "has no number after the comparison";
    } else if (strlen(at) >= sizeof bound->unit || strpbrk(at, "<>=!") != NULL) {
        what = "has more than a unit after the number";
    }
    if (what != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "bound '%.60s' %s: use NAME, then one of < <= > >= == !=, and a number with its "
                  "unit",
                  bound->text, what);
        return STATUS_REJECTED;
    }
    snprintf(bound->name, sizeof bound->name, "%.*s", (int)name, bound->text);
    snprintf(bound->unit, sizeof bound->unit, "%s", at);
    return STATUS_OK;
}

/* Finds the percentile at the end of a name such as "append_p97" or "try_p999_ms". Returns a
 * pointer to its "p" and fills *point. Returns NULL if the name does not end with a percentile. */
static char *find_percentile(char *name, struct figure_point *point)
{
    char number[BOUND_NAME_BYTES];
    const char *suffix = figure_suffix(name);
    char *at = name + strlen(name) - strlen(suffix);
    size_t digits = 0;
    while (at > name && (at[-1] == '.' || (at[-1] >= '0' && at[-1] <= '9'))) {
        at--;
        digits++;
    }
    if ((suffix[0] != '\0' && strcmp(suffix, "_ms") != 0) || at - name < 2 || at[-1] != 'p' ||
        (at[-2] != '_' && at[-2] != '.')) {
        return NULL;
    }
    /* the key of 99.9 is p999 */
    const bool is_key = digits > 2 && memchr(at, '.', digits) == NULL;
    if (is_key && at[digits - 1] == '0') {
        return NULL; /* p100 is not p10.0 */
    }
    snprintf(number, sizeof number, "%.*s%s%.*s", is_key ? 2 : (int)digits, at, is_key ? "." : "",
             is_key ? (int)digits - 2 : 0, at + 2);
    return figure_point_parse(number, point) > 0 ? at - 1 : NULL;
}

bool bound_percentile(const struct bound *bound, struct figure_point *point)
{
    char name[sizeof bound->name];
    memcpy(name, bound->name, sizeof name);
    return find_percentile(name, point) != NULL;
}

/* Replaces a name such as "waits.append.log" with "append.waits_log". The part between the points
 * may also be the name of a statement, with or without "statement." before the name. */
static void name_wait(char name[BOUND_NAME_BYTES])
{
    static const char prefix[] = "waits.", kind[] = "statement.";
    const char *begin = name + strlen(prefix);
    char turned[BOUND_NAME_BYTES];
    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        return;
    }
    begin += strncmp(begin, kind, strlen(kind)) == 0 ? strlen(kind) : 0;
    const char *point = strchr(begin, '.');
    if (point != NULL && figure_wait_class(point + 1) != WAIT_CLASSES) {
        /* the new name is not longer */
        snprintf(turned, sizeof turned, "%.*s.waits_%s", (int)(point - begin), begin, point + 1);
        memcpy(name, turned, sizeof turned);
    }
}

bool bound_resolve_name(struct bound *bound, const struct operation_list *operations)
{
    struct figure_point point;
    name_wait(bound->name);
    const bool is_prefixed = strncmp(bound->name, OPERATION_PREFIX, strlen(OPERATION_PREFIX)) == 0;
    char *at = find_percentile(bound->name, &point);
    if (at != NULL) { /* the key is without the decimal point */
        char suffix[8];
        snprintf(suffix, sizeof suffix, "%s", figure_suffix(bound->name));
        snprintf(at, sizeof bound->name - (size_t)(at - bound->name), "%s%s", point.key, suffix);
    }
    const size_t length = strcspn(bound->name, ".");
    for (size_t i = 0; i < operations->count && bound->name[length] == '.' && !is_prefixed; i++) {
        const char *own = operations->entries[i].name;
        if (strlen(own) == length && strncmp(own, bound->name, length) == 0) {
            char name[sizeof bound->name];
            memcpy(name, bound->name, sizeof name);
            if (i < OPERATIONS) {
                bound->name[length] = '_';
                return true;
            }
            snprintf(bound->name, sizeof bound->name, OPERATION_PREFIX "%.*s",
                     (int)(sizeof name - sizeof OPERATION_PREFIX), name);
            return false;
        }
    }
    return bound->name[length] == '\0';
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

const char *bound_format(const struct bound *bound, double limit, double value,
                         char text[UNITS_TEXT_BYTES])
{
    const bool is_met = bound_holds(bound->relation, value, limit);
    int digits = fabs(value) < 100 ? 2 : (int)log10(fabs(value));
    double shown;
    do {
        digits++;
        snprintf(text, UNITS_TEXT_BYTES, "%.*g", digits, value);
        shown = strtod(text, NULL);
    } while (digits < DBL_DECIMAL_DIG && bound_holds(bound->relation, shown, limit) != is_met);
    const bool is_whole = shown >= 0 && shown < (double)INT64_MAX && shown == floor(shown);
    return is_whole ? units_format_count((uint64_t)shown, text) : text;
}

/* Returns whether a name is "operation", or the name of a stage, "stage2". */
static bool is_prefix(const char *name)
{
    static const char stage[] = "stage";
    const char *number = name + sizeof stage - 1;
    const bool is_stage = strncmp(name, stage, sizeof stage - 1) == 0 && *number != '\0' &&
                          strspn(number, "0123456789") == strlen(number);
    return is_stage || strcmp(name, "operation") == 0;
}

/* Returns whether a name is the name of an operation ("append") or of a percentile of an operation
 * ("append_p97"). */
static bool is_of_operation(const char *name)
{
    const struct operation_list operations = operation_list_all();
    struct bound bound = {.number = 1};
    struct figure_point point;
    snprintf(bound.name, sizeof bound.name, "%s", name);
    const bool is_percentile = bound_percentile(&bound, &point);
    for (size_t i = 0; i < OPERATIONS; i++) {
        const size_t length = strlen(operations.entries[i].name);
        if (strncmp(name, operations.entries[i].name, length) == 0 &&
            (name[length] == '\0' || (name[length] == '_' && is_percentile))) {
            return true;
        }
    }
    return false;
}

bool bound_is_reserved(const char *name)
{
    const struct figure_set set = {.operations = operation_list_all()};
    struct figure_columns columns = {.count = 0};
    struct figure_choice choice;
    struct figure_cell cell;
    for (size_t at = 0; figure_next_cell(&set, &at, &cell);) {
        figure_columns_add(&columns, cell.key);
    }
    return is_prefix(name) || is_of_operation(name) ||
           figure_find(&columns, name, &choice, NULL) == STATUS_OK;
}

/* The valid numbers of each unit. */
static const char *const forms[FIGURE_UNITS] = {
    [FIGURE_UNIT_COUNT] = "a count, with an optional k, M or G (0, 10k)",
    [FIGURE_UNIT_ROWS_PER_S] = "a number of rows/s, with an optional k, M or G (50000, 50k)",
    [FIGURE_UNIT_PER_S] = "a number per second, with an optional k, M or G (4000, 4k)",
    [FIGURE_UNIT_MS] = "a time with us, ms, s, m or h (20ms, 1.5s)",
    [FIGURE_UNIT_US_PER_ROW] = "a time with ns, us or ms (2us, 0.5ms)",
    [FIGURE_UNIT_S] = "a time with ms, s, m or h (20s, 500ms, 3m)",
    [FIGURE_UNIT_MIB] = "a size with K, M, G or KiB, MiB, GiB (512MiB, 2GiB)",
    [FIGURE_UNIT_MIB_PER_S] = "a number of MiB/s (12.5)",
    [FIGURE_UNIT_BYTES_PER_ROW] = "a number of bytes (120, 120B)",
    [FIGURE_UNIT_RATIO] = "a number (1.5)",
    [FIGURE_UNIT_VALUE] = "a number, with an optional k, M or G (0.5, 10k)",
    [FIGURE_UNIT_PERCENT] = "a percentage, with an optional % (90, 90%)",
    [FIGURE_UNIT_WORD] = "VALID, DEGRADED or INVALID, with == or !=",
};

/* clang-format off */
static const struct {
    enum figure_unit unit;
    const char *text;
    double factor; /* converts into the column's unit */
} spellings[] = {
    {FIGURE_UNIT_COUNT, "", 1}, {FIGURE_UNIT_COUNT, "k", 1e3}, {FIGURE_UNIT_COUNT, "K", 1e3},
    {FIGURE_UNIT_COUNT, "M", 1e6}, {FIGURE_UNIT_COUNT, "G", 1e9},
    {FIGURE_UNIT_ROWS_PER_S, "", 1}, {FIGURE_UNIT_ROWS_PER_S, "k", 1e3},
    {FIGURE_UNIT_ROWS_PER_S, "K", 1e3}, {FIGURE_UNIT_ROWS_PER_S, "M", 1e6},
    {FIGURE_UNIT_ROWS_PER_S, "G", 1e9}, {FIGURE_UNIT_ROWS_PER_S, "rows/s", 1},
    {FIGURE_UNIT_PER_S, "", 1}, {FIGURE_UNIT_PER_S, "k", 1e3}, {FIGURE_UNIT_PER_S, "K", 1e3},
    {FIGURE_UNIT_PER_S, "M", 1e6}, {FIGURE_UNIT_PER_S, "G", 1e9}, {FIGURE_UNIT_PER_S, "/s", 1},
    {FIGURE_UNIT_MS, "us", 1e-3}, {FIGURE_UNIT_MS, "ms", 1}, {FIGURE_UNIT_MS, "s", 1e3},
    {FIGURE_UNIT_MS, "m", 6e4}, {FIGURE_UNIT_MS, "min", 6e4}, {FIGURE_UNIT_MS, "h", 3.6e6},
    {FIGURE_UNIT_US_PER_ROW, "ns", 1e-3}, {FIGURE_UNIT_US_PER_ROW, "us", 1},
    {FIGURE_UNIT_US_PER_ROW, "ms", 1e3}, {FIGURE_UNIT_US_PER_ROW, "s", 1e6},
    {FIGURE_UNIT_S, "us", 1e-6}, {FIGURE_UNIT_S, "ms", 1e-3}, {FIGURE_UNIT_S, "s", 1},
    {FIGURE_UNIT_S, "m", 60}, {FIGURE_UNIT_S, "min", 60}, {FIGURE_UNIT_S, "h", 3600},
    {FIGURE_UNIT_MIB, "K", 0x1p-10}, {FIGURE_UNIT_MIB, "KiB", 0x1p-10}, {FIGURE_UNIT_MIB, "M", 1},
    {FIGURE_UNIT_MIB, "MiB", 1}, {FIGURE_UNIT_MIB, "G", 0x1p10}, {FIGURE_UNIT_MIB, "GiB", 0x1p10},
    {FIGURE_UNIT_MIB, "T", 0x1p20}, {FIGURE_UNIT_MIB, "TiB", 0x1p20},
    {FIGURE_UNIT_MIB_PER_S, "", 1}, {FIGURE_UNIT_BYTES_PER_ROW, "", 1},
    {FIGURE_UNIT_BYTES_PER_ROW, "B", 1}, {FIGURE_UNIT_RATIO, "", 1},
    {FIGURE_UNIT_VALUE, "", 1}, {FIGURE_UNIT_VALUE, "k", 1e3}, {FIGURE_UNIT_VALUE, "K", 1e3},
    {FIGURE_UNIT_VALUE, "M", 1e6}, {FIGURE_UNIT_VALUE, "G", 1e9},
    {FIGURE_UNIT_PERCENT, "", 1}, {FIGURE_UNIT_PERCENT, "%", 1},
    {FIGURE_UNIT_WORD, "VALID", 0}, {FIGURE_UNIT_WORD, "DEGRADED", 1},
    {FIGURE_UNIT_WORD, "INVALID", 2},
};
/* clang-format on */
enum {
    SPELLINGS = sizeof spellings / sizeof spellings[0]
};

/* Short names of columns. A short name can stand for two columns; the first of these with a known
 * figure is used. */
static const char *const aliases[][2] = {
    /* the check that reads back every row comes first, because a count of the table's rows is right
     * only if no other program writes to the table */
    {"lost", "verified_lost"},
    {"lost", "rows_lost_at_most"},
    {"dropped", "sessions_dropped"},
    {"refused", "sessions_refused"},
    {"timed_out", "sessions_timed_out"},
    {"finished", "sessions_finished"},
    {"acknowledged", "rows_acknowledged"},
    {"rejected", "rows_rejected"},
    /* with a script, "in_doubt" is the number of transactions in doubt, which include the script's
     * rows in doubt */
    {"in_doubt", "transactions_in_doubt"},
    {"in_doubt", "rows_in_doubt"},
    {"throughput", "rows_per_s"}, /* the column's name in intervals.csv */
    {"failed", "transactions_failed"},
    {"committed", "transactions_committed"},
    {"rolled_back", "transactions_rolled_back"},
    {"unfinished", "transactions_unfinished"},
    {"duplicates", "verified_duplicates"},
};

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

static void choose(struct figure_choice *choice, const struct figure_columns *columns,
                   const char *name)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->names[i], name) == 0) {
            snprintf(choice->names[choice->count++], FIGURE_KEY_BYTES, "%s", name);
            return;
        }
    }
}

enum status figure_find(const struct figure_columns *columns, const char *name,
                        struct figure_choice *choice, struct error *error)
{
    choice->count = 0;
    choose(choice, columns, name);
    const bool is_column = choice->count > 0;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0] && !is_column; i++) {
        if (strcmp(aliases[i][0], name) == 0) {
            choose(choice, columns, aliases[i][1]);
        }
    }
    /* find the column whose name without the unit is `name`, unless two columns have this name */
    const char *shortened = NULL;
    size_t found = 0;
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < columns->count && choice->count == 0; i++) {
        const char *column = columns->names[i], *before = nearest.name;
        char shorter[FIGURE_KEY_BYTES];
        snprintf(shorter, sizeof shorter, "%.*s", (int)short_length(column), column);
        if (strcmp(shorter, name) == 0) {
            shortened = column;
            found++;
        }
        nearest_offer(&nearest, column);
        nearest_offer(&nearest, shorter);
        nearest.name = nearest.name == before ? before : column;
    }
    if (found == 1) {
        choose(choice, columns, shortened);
    }
    if (choice->count > 0) {
        return STATUS_OK;
    }
    error_set(error, ERROR_USAGE, 0, NULL, "no figure is called '%s': %s%s%s", name,
              nearest.name == NULL ? "use the name of a numeric column of summary.csv, such as "
                                     "throughput, elapsed, append_p99, max_memory or lost"
                                   : "did you mean '",
              nearest.name == NULL ? "" : nearest.name, nearest.name == NULL ? "" : "'?");
    return STATUS_REJECTED;
}

enum status figure_scale(const struct bound *bound, const char *column, double *limit,
                         struct error *error)
{
    const enum figure_unit own = figure_unit_of(column);
    const enum figure_unit unit = own == FIGURE_UNIT_ID ? FIGURE_UNIT_COUNT : own;
    const bool is_word = unit == FIGURE_UNIT_WORD;
    const bool is_order = bound->relation != BOUND_EQUAL && bound->relation != BOUND_UNEQUAL;
    if (bound->is_word != is_word || (is_word && is_order)) {
        error_set(error, ERROR_USAGE, 0, NULL, "bound '%s': %s is %s", bound->text, bound->name,
                  forms[unit]);
        return STATUS_REJECTED;
    }
    *limit = bound->number;
    if (bound->unit[0] == '\0' && strcmp(bound->name, column) == 0) {
        return STATUS_OK; /* the name includes the unit */
    }
    for (size_t i = 0; i < SPELLINGS; i++) {
        if (spellings[i].unit == unit && strcmp(spellings[i].text, bound->unit) == 0) {
            *limit = bound->number * spellings[i].factor;
            return STATUS_OK;
        }
    }
    const char *what = bound->unit[0] == '\0' ? "has no unit" : "has the wrong unit";
    error_set(error, ERROR_USAGE, 0, NULL, "bound '%s' %s: %s is %s", bound->text,
              is_word ? "has the wrong value" : what, bound->name, forms[unit]);
    return STATUS_REJECTED;
}

const char *figure_word(const char *column, double value)
{
    const bool is_word = figure_unit_of(column) == FIGURE_UNIT_WORD;
    for (size_t i = 0; i < SPELLINGS && is_word; i++) {
        if (spellings[i].unit == FIGURE_UNIT_WORD && spellings[i].factor == value) {
            return spellings[i].text;
        }
    }
    return NULL;
}
