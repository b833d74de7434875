#include "compare/compare_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/units.h"
#include "report/clean.h"
#include "report/screen.h"

enum {
    TEXT_BYTES = 1024,
    VALUE_BYTES = 48,
    DIFFERENCES_SHOWN = 20,
};

/* What is shown of two runs, in this order; --json has every figure. */
static const struct shown {
    const char *figure;
    const char *title;
} of_runs[] = {
    {COMPARE_PACE, "Pace"},
    {"throughput_rows_per_s", "Throughput"},
    {"elapsed_s", "Elapsed time"},
    {"append_p50_ms", "append p50"},
    {"append_p99_ms", "append p99"},
    {"append_max_ms", "append max"},
    {"count_p50_ms", "count p50"},
    {"count_p99_ms", "count p99"},
    {"max_cpu_percent", "Maximum CPU"},
    {"max_memory_mib", "Maximum memory"},
    {"sessions_dropped", "Dropped"},
    {"rows_lost", "Lost"},
};
/* And of each cell of two sweeps. */
static const struct shown of_cells[] = {
    {"throughput_rows_per_s", "Throughput"}, {"append_p50_ms", "append p50"},
    {"append_p99_ms", "append p99"},         {"elapsed_s", "Elapsed time"},
    {"max_cpu_percent", "Maximum CPU"},      {"max_memory_mib", "Maximum memory"},
};

static void write_wrapped(FILE *stream, const char *label, const char *text)
{
    screen_add_wrapped(stream, label, SCREEN_LABEL_COLUMNS, text);
}

static void write_side(FILE *stream, const char *label, const struct compare_side *side)
{
    char folder[COMPARE_PATH_BYTES], about[TEXT_BYTES];
    clean_line(folder, sizeof folder, side->folder, COMPARE_PATH_BYTES);
    fprintf(stream, "%-*s%s\n", SCREEN_LABEL_COLUMNS, label, folder);
    snprintf(about, sizeof about, "%s, %s, %s", side->target, side->started_utc, side->verdict);
    write_wrapped(stream, "", about);
}

static void add_value(struct buffer *text, const char *name, const json_t *value);

/* What a list or an object has, of named objects their names; what is null or false goes without
 * saying. */
static void add_members(struct buffer *text, json_t *value)
{
    const size_t before = text->length;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *entry = json_array_get(value, i);
        const json_t *name = json_object_get(entry, "name");
        buffer_add_text(text, text->length > before ? ", " : "");
        add_value(text, "", name != NULL ? name : entry);
    }
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at)) {
        const json_t *member = json_object_iter_value(at);
        if (!json_is_null(member) && !json_is_false(member)) {
            buffer_add_format(text, "%s%s ", text->length > before ? ", " : "",
                              json_object_iter_key(at));
            add_value(text, json_object_iter_key(at), member);
        }
    }
    buffer_add_text(text, text->length > before ? "" : "none");
}

/* A value of JSON in words; `name` is its path, or its last part. */
static void add_value(struct buffer *text, const char *name, const json_t *value)
{
    const char *part = strrchr(name, '.') == NULL ? name : strrchr(name, '.') + 1;
    const bool is_identifier = strcmp(part, "port") == 0 || strcmp(part, "server_pid") == 0;
    if (json_is_string(value)) {
        buffer_add_text(text, json_string_value(value));
    } else if (json_is_real(value)) {
        buffer_add_format(text, "%.9g", json_real_value(value));
    } else if (json_is_integer(value) && (is_identifier || json_integer_value(value) < 0)) {
        buffer_add_format(text, "%lld", (long long)json_integer_value(value));
    } else if (json_is_integer(value)) {
        buffer_add_text(text, UNITS_COUNT((uint64_t)json_integer_value(value)));
    } else if (json_is_boolean(value)) {
        buffer_add_text(text, json_is_true(value) ? "yes" : "no");
    } else {
        json_t *members = json_deep_copy(value); /* the library walks along no const object */
        add_members(text, members);
        json_decref(members);
    }
}

static void write_difference(FILE *stream, const char *label, const json_t *entry)
{
    struct buffer text;
    buffer_init(&text);
    const char *name = json_string_value(json_object_get(entry, "name"));
    buffer_add_format(&text, "%s: ", name);
    add_value(&text, name, json_object_get(entry, "a"));
    buffer_add_text(&text, " in A, ");
    add_value(&text, name, json_object_get(entry, "b"));
    buffer_add_text(&text, " in B");
    write_wrapped(stream, label, buffer_text(&text));
    buffer_fini(&text);
}

static void write_differences(FILE *stream, const json_t *differences)
{
    const size_t count = json_array_size(differences);
    for (size_t i = 0; i < count && i < DIFFERENCES_SHOWN; i++) {
        write_difference(stream, i == 0 ? "Differs" : "", json_array_get(differences, i));
    }
    if (count > DIFFERENCES_SHOWN) {
        fprintf(stream, "%-*s%zu differences more: see --json\n", SCREEN_LABEL_COLUMNS, "",
                count - DIFFERENCES_SHOWN);
    }
    if (count == 0) {
        write_wrapped(stream, "Differs", "nothing but what was measured");
    }
}

static void write_cautions(FILE *stream, const json_t *cautions)
{
    for (size_t i = 0; i < json_array_size(cautions); i++) {
        write_wrapped(stream, "CAUTION", json_string_value(json_array_get(cautions, i)));
    }
}

static const char *show_number(bool is_known, double value, const char *figure,
                               char text[VALUE_BYTES])
{
    char count[UNITS_TEXT_BYTES];
    if (!is_known) {
        snprintf(text, VALUE_BYTES, "not known");
    } else if (fabs(value) >= 1000 && value < 1e18) {
        snprintf(text, VALUE_BYTES, "%s%s", units_format_count((uint64_t)llround(value), count),
                 figure_unit(figure));
    } else {
        snprintf(text, VALUE_BYTES, "%.4g%s", value, figure_unit(figure));
    }
    return text;
}

static void write_figure(FILE *stream, const struct compare_figure *figure, const char *title)
{
    char a[VALUE_BYTES], b[VALUE_BYTES], ratio[32] = "-", found[64] = "not tested";
    if (figure->has_ratio) {
        snprintf(ratio, sizeof ratio, "%.3f", figure->ratio);
    }
    const struct compare_test *test = &figure->test;
    if (test->has_ratio) {
        const char *mark = figure->is_regression            ? " WORSE"
                           : test->finding == COMPARE_LESS  ? " less"
                           : test->finding == COMPARE_MORE  ? " more"
                           : test->finding == COMPARE_ALIKE ? " alike"
                                                            : " unsure";
        snprintf(found, sizeof found, "%.3f to %.3f%s", test->ratio.low, test->ratio.high, mark);
    } else if (test->finding == COMPARE_UNSURE) {
        snprintf(found, sizeof found, "unsure");
    }
    fprintf(stream, "%-14s %16s %16s %7s  %s\n", title,
            show_number(figure->is_known_a, figure->a, figure->name, a),
            show_number(figure->is_known_b, figure->b, figure->name, b), ratio, found);
}

static void write_cell(FILE *stream, const struct compare_cell *cell, const struct shown *shown,
                       size_t count)
{
    fprintf(stream, "%-14s %16s %16s %7s  %.0f %% interval\n", "", "A", "B", "B/A",
            100 * STATISTICS_CONFIDENCE);
    for (size_t i = 0; i < count; i++) {
        const struct compare_figure *figure = compare_find(cell, shown[i].figure);
        if (figure != NULL && (figure->is_known_a || figure->is_known_b)) {
            write_figure(stream, figure, shown[i].title);
        }
    }
}

/* One sentence for a figure that was tested; false when there is nothing to say of it. */
static bool describe_finding(const struct comparison *comparison,
                             const struct compare_figure *figure, const char *title,
                             char text[TEXT_BYTES])
{
    const struct compare_test *test = &figure->test;
    const double percent = 100 * comparison->threshold;
    switch (test->finding) {
    case COMPARE_NOT_TESTED:
        return false;
    case COMPARE_UNSURE:
        snprintf(text, TEXT_BYTES, "%s: cannot tell: %s", title, test->why);
        return true;
    case COMPARE_ALIKE:
        snprintf(text, TEXT_BYTES, "%s: B is as A, within %g %%", title, percent);
        return true;
    case COMPARE_LESS:
    case COMPARE_MORE:
        break;
    }
    const bool is_less = test->finding == COMPARE_LESS;
    snprintf(text, TEXT_BYTES, "%s: B has %s than A, by %.1f %% (%.1f to %.1f %%)%s", title,
             is_less ? "less" : "more", 100 * fabs(test->ratio.ratio - 1),
             100 * fmin(fabs(test->ratio.low - 1), fabs(test->ratio.high - 1)),
             100 * fmax(fabs(test->ratio.low - 1), fabs(test->ratio.high - 1)),
             figure->is_regression    ? ": REGRESSION"
             : comparison->is_clouded ? ": see CAUTION before blaming the server"
                                      : "");
    return true;
}

static bool is_unsure_alike(const struct compare_figure *a, const struct compare_figure *b)
{
    return b != NULL && a->test.finding == COMPARE_UNSURE && b->test.finding == COMPARE_UNSURE &&
           strcmp(a->test.why, b->test.why) == 0;
}

/* What one reason keeps from being told is one sentence. */
static void write_findings(FILE *stream, const struct comparison *comparison,
                           const struct compare_cell *cell, const struct shown *shown, size_t count)
{
    struct buffer titles;
    buffer_init(&titles);
    const char *label = "Found";
    for (size_t i = 0; i < count; i++) {
        const struct compare_figure *figure = compare_find(cell, shown[i].figure);
        char text[TEXT_BYTES];
        buffer_clear(&titles);
        buffer_add_text(&titles, shown[i].title);
        while (figure != NULL && i + 1 < count &&
               is_unsure_alike(figure, compare_find(cell, shown[i + 1].figure))) {
            buffer_add_format(&titles, ", %s", shown[++i].title);
        }
        if (figure != NULL && describe_finding(comparison, figure, buffer_text(&titles), text)) {
            write_wrapped(stream, label, text);
            label = "";
        }
    }
    buffer_fini(&titles);
}

static void write_test(FILE *stream, const struct comparison *comparison)
{
    char text[TEXT_BYTES];
    if (comparison->is_sweep) {
        snprintf(text, sizeof text,
                 "Welch's t on the logarithms of throughput and append latency of a cell's runs: "
                 "it takes the runs for independent and the machine for the same. A and B are "
                 "medians. A difference counts when its whole interval is beyond %g %%. Other "
                 "figures are not tested.",
                 100 * comparison->threshold);
    } else {
        snprintf(text, sizeof text,
                 "Student's t on the pace in slices of equal time, paired, a smooth course taken "
                 "out, widened where neighbours are alike: it takes the machine for the same in "
                 "both, and cannot see what changes from run to run (sweep --repeat does). A "
                 "difference counts when its whole interval is beyond %g %%. Other figures are "
                 "not tested: one run says nothing of how they vary.",
                 100 * comparison->threshold);
    }
    write_wrapped(stream, "Test", text);
}

static void write_crossed(FILE *stream, const json_t *crossed)
{
    for (size_t i = 0; i < json_array_size(crossed); i++) {
        const json_t *entry = json_array_get(crossed, i);
        const json_t *sessions = json_object_get(entry, "sessions");
        char cell[64] = "", value[COMPARE_RATIO_BYTES], text[TEXT_BYTES];
        if (sessions != NULL) {
            snprintf(cell, sizeof cell, " with %lld sessions, %lld records",
                     (long long)json_integer_value(sessions),
                     (long long)json_integer_value(json_object_get(entry, "records")));
        }
        snprintf(text, sizeof text, "%s%s: B/A is %s",
                 json_string_value(json_object_get(entry, "bound")), cell,
                 compare_crossed_ratio(entry, value));
        write_wrapped(stream, "CROSSED", text);
    }
}

void compare_write_text(FILE *stream, const struct comparison *comparison)
{
    const struct shown *shown = comparison->is_sweep ? of_cells : of_runs;
    const size_t count = comparison->is_sweep ? sizeof of_cells / sizeof of_cells[0]
                                              : sizeof of_runs / sizeof of_runs[0];
    write_side(stream, "A", &comparison->sides[0]);
    write_side(stream, "B", &comparison->sides[1]);
    if (!comparison->is_sweep) {
        write_findings(stream, comparison, &comparison->cells[0], shown, count);
    }
    write_differences(stream, comparison->differences);
    write_cautions(stream, comparison->cautions);
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct compare_cell *cell = &comparison->cells[i];
        fputc('\n', stream);
        if (comparison->is_sweep) {
            char sessions[UNITS_TEXT_BYTES], records[UNITS_TEXT_BYTES];
            fprintf(stream, "%s sessions, %s records (%zu and %zu runs)\n",
                    units_format_count(cell->sessions, sessions),
                    units_format_count(cell->records, records), cell->a_runs, cell->b_runs);
            write_findings(stream, comparison, cell, shown, count);
        }
        write_cell(stream, cell, shown, count);
    }
    fputc('\n', stream);
    if (comparison->cells_alone > 0) {
        fprintf(stream, "%-*s%zu cells that only one of the sweeps has\n", SCREEN_LABEL_COLUMNS,
                "Left out", comparison->cells_alone);
    }
    write_test(stream, comparison);
    write_crossed(stream, comparison->crossed);
}
