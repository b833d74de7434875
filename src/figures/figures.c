#include "figures/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum {
    NO_COUNTER = -1,
};

#define COLUMN(name) name
#define MEMBER(name) NULL
#define ROW(id, key_, path_, label_, unit_, group_, better_)                                       \
    [FIGURE_##id] = {.key = key_,                                                                  \
                     .path = path_,                                                                \
                     .label = label_,                                                              \
                     .unit = FIGURE_UNIT_##unit_,                                                  \
                     .group = FIGURE_GROUP_##group_,                                               \
                     .better = FIGURE_##better_,                                                   \
                     .counter = NO_COUNTER},
#define PLAIN(id, key, path, unit, better) ROW(id, key, path, NULL, unit, NONE, better)
#define HEADLINE(id, key, path, label, unit, better)                                               \
    ROW(id, key, path, label, unit, HEADLINE, better)
#define LEDGER(id, key, path, label, group, better) ROW(id, key, path, label, COUNT, group, better)
#define COUNTER(id, where, name, ...)                                                              \
    [FIGURE_COUNTER_##id] = {.key = where(name),                                                   \
                             .path = "counters." name,                                             \
                             .counter = RECORDER_##id,                                             \
                             .metric = __VA_ARGS__},
#define COUNTED(id, key_, path_, label_, group_, better_, ...)                                     \
    [FIGURE_##id] = {.key = key_,                                                                  \
                     .path = path_,                                                                \
                     .label = label_,                                                              \
                     .group = FIGURE_GROUP_##group_,                                               \
                     .better = FIGURE_##better_,                                                   \
                     .counter = RECORDER_##id,                                                     \
                     .metric = __VA_ARGS__},
const struct figure figure_table[FIGURES] = {
    FIGURE_TABLE(PLAIN, HEADLINE, LEDGER, COUNTER, COUNTED)};

#define TOTALS false
#define INTERVALS true
#define OPERATION_ROW(id, name_, place_, when_, series, metric_, help)                             \
    [OPERATION_##id] = {.name = name_,                                                             \
                        .place = place_,                                                           \
                        .when = OPERATION_##when_,                                                 \
                        .is_series = series,                                                       \
                        .metric = metric_,                                                         \
                        .metric_help = help},
static const struct operation operations[OPERATIONS] = {OPERATION_TABLE(OPERATION_ROW)};

static const struct {
    const char *suffix;       /* end of the keys */
    const char *after_number; /* the unit as written after a number, " rows/s" */
    int decimals;
} units[FIGURE_UNITS] = {
    [FIGURE_UNIT_MOMENT] = {NULL, NULL, 6},
    [FIGURE_UNIT_ROWS_PER_S] = {"_rows_per_s", " rows/s", 1},
    [FIGURE_UNIT_MIB_PER_S] = {"_mib_per_s", " MiB/s", 3},
    [FIGURE_UNIT_PER_S] = {"_per_s", " /s", 1},
    [FIGURE_UNIT_MS] = {"_ms", " ms", 6},
    [FIGURE_UNIT_US_PER_ROW] = {"_us_per_row", " us", 3},
    [FIGURE_UNIT_S] = {"_s", " s", 3},
    [FIGURE_UNIT_MIB] = {"_mib", " MiB", 2},
    [FIGURE_UNIT_PERCENT] = {"_percent", " %", 2},
    [FIGURE_UNIT_BYTES_PER_ROW] = {"_bytes_per_row", " B", 1},
    [FIGURE_UNIT_RATIO] = {NULL, NULL, 3},
    [FIGURE_UNIT_VALUE] = {NULL, NULL, 0},
};

#define COUNT_OF_STATEMENT(id, name) [COUNT_##id] = name,
#define COUNT_OF_TRANSACTION(id, name, counter) [COUNT_##id] = name,
const char *const operation_count_names[OPERATION_COUNTS] = {
    COUNT_TABLE(COUNT_OF_STATEMENT, COUNT_OF_TRANSACTION)};

#define NO_SUM(id, name)
#define SUM(id, name, counter) [COUNT_##id] = RECORDER_##counter,
const enum recorder_counter operation_count_sums[OPERATION_COUNTS] = {COUNT_TABLE(NO_SUM, SUM)};

const char *const operation_kind_names[] = {
    [OPERATION_IS_CALL] = "call",   [OPERATION_IS_TRANSACTION] = "transaction",
    [OPERATION_IS_READ] = "read",   [OPERATION_IS_WRITE] = "write",
    [OPERATION_IS_OTHER] = "other",
};

struct figure_points figure_points_default(void)
{
    return (struct figure_points){.count = 7,
                                  .entries = {{"mean", "mean", 0, false},
                                              {"p50", "p50", 0.5, false},
                                              {"p90", "p90", 0.9, true},
                                              {"p95", "p95", 0.95, false},
                                              {"p99", "p99", 0.99, false},
                                              {"p999", "p99.9", 0.999, false},
                                              {"max", "max", 1, false}}};
}

size_t figure_point_parse(const char *text, struct figure_point *point)
{
    enum {
        DECIMALS_MAX = 4
    };
    static const char digits[] = "0123456789";
    const size_t whole = strspn(text, digits);
    const bool has_point = whole == 2 && text[whole] == '.';
    const size_t decimals = has_point ? strspn(text + whole + 1, digits) : 0;
    const size_t length = whole + (has_point ? 1 + decimals : 0);
    if (whole < 1 || whole > 2 || text[0] == '0' || (has_point && decimals == 0) ||
        decimals > DECIMALS_MAX || (text[length] != '\0' && text[length] != ',')) {
        return 0;
    }
    size_t kept = decimals; /* drops zeros at the end: 99.90 is 99.9 */
    while (kept > 0 && text[whole + kept] == '0') {
        kept--;
    }
    uint64_t number = 0, scale = 100;
    for (size_t i = 0; i < whole; i++) {
        number = 10 * number + (uint64_t)(text[i] - '0');
    }
    for (size_t i = 0; i < kept; i++, scale *= 10) {
        number = 10 * number + (uint64_t)(text[whole + 1 + i] - '0');
    }
    *point = (struct figure_point){.quantile = (double)number / (double)scale};
    snprintf(point->key, sizeof point->key, "p%.*s%.*s", (int)whole, text, (int)kept,
             text + whole + 1);
    snprintf(point->title, sizeof point->title, "p%.*s", (int)(whole + (kept > 0 ? 1 + kept : 0)),
             text);
    return length;
}

bool figure_points_add(struct figure_points *points, const struct figure_point *point)
{
    size_t at = 0;
    while (at < points->count && points->entries[at].quantile < point->quantile) {
        at++;
    }
    if (at < points->count && strcmp(points->entries[at].key, point->key) == 0) {
        points->entries[at].is_in_files_only &= point->is_in_files_only;
        return true;
    }
    if (points->count == FIGURE_POINTS_MAX) {
        return false;
    }
    memmove(points->entries + at + 1, points->entries + at,
            (points->count - at) * sizeof *points->entries);
    points->entries[at] = *point;
    points->count++;
    return true;
}

bool figure_points_show(struct figure_points *points, const char *list, const char **wrong)
{
    for (size_t i = 0; i < points->count; i++) {
        const double quantile = points->entries[i].quantile;
        points->entries[i].is_in_files_only = quantile > 0 && quantile < 1;
    }
    for (const char *text = list;; text++) {
        struct figure_point point;
        const size_t length = figure_point_parse(text, &point);
        *wrong = text;
        if (length == 0 || !figure_points_add(points, &point)) {
            return false;
        }
        text += length;
        if (*text == '\0') {
            return true;
        }
    }
}

struct operation_list operation_list_all(void)
{
    struct operation_list list = {
        .count = OPERATIONS, .when = OPERATION_ALWAYS, .points = figure_points_default()};
    memcpy(list.entries, operations, sizeof operations);
    return list;
}

bool operation_list_add(struct operation_list *list, const char *name, enum operation_kind kind)
{
    if (list->count == OPERATIONS_MAX) {
        return false;
    }
    list->entries[list->count++] =
        (struct operation){.name = name, .kind = kind, .when = OPERATION_WITH_SCRIPT};
    return true;
}

bool operation_is_used(const struct operation_list *list, size_t operation)
{
    return (list->entries[operation].when & list->when) != 0;
}

const char *operation_key(const struct operation *operation, char key[FIGURE_KEY_BYTES])
{
    static const char *const prefixes[] = {
        [OPERATION_IS_CALL] = "",
        [OPERATION_IS_TRANSACTION] = "transaction.",
        [OPERATION_IS_READ] = "statement.",
        [OPERATION_IS_WRITE] = "statement.",
        [OPERATION_IS_OTHER] = "statement.",
    };
    snprintf(key, FIGURE_KEY_BYTES, "%s%s", prefixes[operation->kind], operation->name);
    return key;
}

size_t operation_at(const struct operation_list *list, size_t place)
{
    size_t operation = place;
    for (size_t i = 0; i < OPERATIONS; i++) {
        operation = list->entries[i].place == place ? i : operation;
    }
    return operation;
}

bool figure_get(const struct figure_set *set, enum figure_id id, double *value)
{
    const struct figure_value *from = &set->values[id];
    const enum figure_unit unit = figure_table[id].unit;
    *value = figure_is_whole(unit) ? (double)from->count : from->number;
    return from->is_known && figure_is_number(unit);
}

const char *figure_text(const struct figure_set *set, enum figure_id id)
{
    return set->values[id].text == NULL ? "" : set->values[id].text;
}

bool figure_has_rows(const struct figure_set *set)
{
    double rows;
    return figure_text(set, FIGURE_WORKLOAD)[0] == '\0' ||
           (figure_get(set, FIGURE_ROWS_ACKNOWLEDGED, &rows) && rows > 0);
}

const char *const figure_wait_keys[WAIT_CLASSES] = {
    [WAIT_CPU] = "cpu",         [WAIT_LOG] = "log",       [WAIT_EXTENSION] = "extension",
    [WAIT_LOCK] = "lock",       [WAIT_BUFFER] = "buffer", [WAIT_LOCK_MANAGER] = "lock_manager",
    [WAIT_DATA_IO] = "data_io", [WAIT_COMMIT] = "commit", [WAIT_REPLICATION] = "replication",
    [WAIT_CLIENT] = "client",   [WAIT_OTHER] = "other",
};

enum wait_class figure_wait_class(const char *key)
{
    unsigned number = 0;
    while (number < WAIT_CLASSES && strcmp(figure_wait_keys[number], key) != 0) {
        number++;
    }
    return (enum wait_class)number;
}

/* Fills the members of a cell, except the key, with the share of a class of waits. */
static void fill_wait(const struct figure_set *set, size_t operation, size_t class,
                      struct figure_cell *cell)
{
    const struct figure_waits *waits = &set->waits[operation];
    *cell = (struct figure_cell){
        .unit = FIGURE_UNIT_PERCENT,
        .value = {.is_known = waits->is_known, .number = waits->percents[class]}};
}

bool figure_next_cell(const struct figure_set *set, size_t *at, struct figure_cell *cell)
{
    const struct figure_points *points = &set->operations.points;
    const size_t latencies = OPERATIONS * points->count;
    for (size_t i = (*at)++; i < FIGURES + latencies; i = (*at)++) {
        const size_t id = i < FIGURE_IDLE_SESSIONS ? i : i - latencies;
        if (i >= FIGURE_IDLE_SESSIONS && i < FIGURE_IDLE_SESSIONS + latencies) {
            const size_t place = i - FIGURE_IDLE_SESSIONS, point = place % points->count;
            const size_t operation = operation_at(&set->operations, place / points->count);
            const struct figure_latency *latency = &set->latencies[operation];
            *cell = (struct figure_cell){
                .unit = FIGURE_UNIT_MS,
                .value = {.is_known = latency->count > 0, .number = latency->points_ms[point]}};
            snprintf(cell->key, sizeof cell->key, "%.*s_%s_ms",
                     (int)(sizeof cell->key - sizeof points->entries->key - sizeof "__ms"),
                     set->operations.entries[operation].name, points->entries[point].key);
            return true;
        }
        if (figure_table[id].key != NULL) {
            *cell = (struct figure_cell){.unit = figure_table[id].unit, .value = set->values[id]};
            snprintf(cell->key, sizeof cell->key, "%s", figure_table[id].key);
            return true;
        }
    }
    /* the operations that are single calls to the server; all other operations consist of such
     * calls */
    static const enum operation_id calls[] = {OPERATION_APPEND, OPERATION_READ, OPERATION_BEGIN,
                                              OPERATION_COMMIT, OPERATION_ROLLBACK};
    const size_t wait = *at - 1 - (FIGURES + latencies);
    if (!set->operations.has_waits || wait >= COUNT_OF(calls) * WAIT_CLASSES) {
        return false;
    }
    const size_t operation = calls[wait / WAIT_CLASSES], class = wait % WAIT_CLASSES;
    fill_wait(set, operation, class, cell);
    snprintf(cell->key, sizeof cell->key, "%.40s_waits_%s_percent",
             set->operations.entries[operation].name, figure_wait_keys[class]);
    return true;
}

bool figure_next_operation_cell(const struct figure_set *set, size_t operation, size_t *at,
                                struct figure_cell *cell)
{
    const bool is_transaction = set->operations.entries[operation].kind == OPERATION_IS_TRANSACTION;
    const struct figure_latency *latency = &set->latencies[operation];
    const size_t i = (*at)++, point = i - OPERATION_COUNTS;
    if (i < OPERATION_COUNTS) {
        const bool is_known =
            set->counts != NULL && (i >= COUNTS_OF_TRANSACTIONS) == is_transaction;
        *cell = (struct figure_cell){
            .unit = FIGURE_UNIT_COUNT,
            .value = {.is_known = is_known, .count = is_known ? set->counts[operation][i] : 0}};
        snprintf(cell->key, sizeof cell->key, "%s", operation_count_names[i]);
        return true;
    }
    if (point < set->operations.points.count) {
        *cell = (struct figure_cell){
            .unit = FIGURE_UNIT_MS,
            .value = {.is_known = latency->count > 0, .number = latency->points_ms[point]}};
        snprintf(cell->key, sizeof cell->key, "%s_ms", set->operations.points.entries[point].key);
        return true;
    }
    const size_t class = point - set->operations.points.count;
    if (!set->operations.has_waits || class >= WAIT_CLASSES) {
        return false;
    }
    fill_wait(set, operation, class, cell);
    snprintf(cell->key, sizeof cell->key, "waits_%s_percent", figure_wait_keys[class]);
    return true;
}

bool figure_is_number(enum figure_unit unit)
{
    return unit != FIGURE_UNIT_TEXT;
}

bool figure_is_whole(enum figure_unit unit)
{
    return unit == FIGURE_UNIT_COUNT || unit == FIGURE_UNIT_ID || unit == FIGURE_UNIT_FLAG;
}

const char *figure_format(enum figure_unit unit, const struct figure_value *value,
                          char text[FIGURE_TEXT_BYTES])
{
    text[0] = '\0';
    if (unit == FIGURE_UNIT_TEXT || unit == FIGURE_UNIT_WORD) {
        return value->text == NULL ? text : value->text;
    }
    if (value->is_known && figure_is_whole(unit)) {
        snprintf(text, FIGURE_TEXT_BYTES, "%" PRIu64, value->count);
    } else if (value->is_known && unit == FIGURE_UNIT_VALUE && isfinite(value->number)) {
        snprintf(text, FIGURE_TEXT_BYTES, "%.15g", value->number);
    } else if (value->is_known && isfinite(value->number)) {
        snprintf(text, FIGURE_TEXT_BYTES, "%.*f", units[unit].decimals, value->number);
    }
    return text;
}

bool figure_needs_script(enum figure_id id)
{
    return id > FIGURE_PARAMS && id <= FIGURE_SCRIPT_PERCENT;
}

const struct figure *figure_of_key(const char *key)
{
    for (size_t i = 0; i < FIGURES; i++) {
        if (figure_table[i].key != NULL && strcmp(figure_table[i].key, key) == 0) {
            return &figure_table[i];
        }
    }
    return NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = end == NULL ? SIZE_MAX : strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

enum figure_unit figure_unit_of(const char *key)
{
    const struct figure *figure = figure_of_key(key);
    if (figure != NULL) {
        return figure->unit;
    }
    if (strncmp(key, METRIC_PREFIX, strlen(METRIC_PREFIX)) == 0) {
        return FIGURE_UNIT_VALUE;
    }
    for (int unit = 0; unit < FIGURE_UNITS; unit++) {
        if (ends_with(key, units[unit].suffix)) {
            return (enum figure_unit)unit;
        }
    }
    return FIGURE_UNIT_COUNT;
}

const char *figure_suffix(const char *key)
{
    const char *suffix = units[figure_unit_of(key)].suffix;
    return ends_with(key, suffix) ? suffix : "";
}

const char *figure_unit(const char *key)
{
    const char *text = units[figure_unit_of(key)].after_number;
    return text == NULL ? "" : text;
}
