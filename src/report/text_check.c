#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/check.h"
#include "report/screen.h"

enum {
    NAME_COLUMNS = 21,
    FIGURE_COLUMNS = 11,
    INDENT_COLUMNS = 6,
    WHERE_COLUMNS = 18 /* what is left of a line */
};

static const struct limit *find_unknown(const struct limit_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].is_unknown) {
            return &list->entries[i];
        }
    }
    return NULL;
}

static void conclude(uint64_t sessions, uint64_t fitting, const struct limit *first,
                     const char *known, char line[CHECK_LINE_BYTES])
{
    if (first == NULL || fitting == LIMIT_NONE) {
        snprintf(line, CHECK_LINE_BYTES, "no %slimit was found", known);
        return;
    }
    size_t used;
    if (fitting == 0) {
        used = (size_t)snprintf(line, CHECK_LINE_BYTES, "no session fits");
    } else if (fitting < sessions && !first->is_estimate) {
        used = (size_t)snprintf(line, CHECK_LINE_BYTES, "%s sessions do not fit, %s do",
                                UNITS_COUNT(sessions), UNITS_COUNT(fitting));
    } else {
        used = (size_t)snprintf(line, CHECK_LINE_BYTES, "1 to %s%s session%s",
                                first->is_estimate ? "about " : "", UNITS_COUNT(fitting),
                                fitting == 1 ? "" : "s");
    }
    snprintf(line + used, CHECK_LINE_BYTES - used, "; the first %slimit is %s (%s%s%s)", known,
             first->name, limit_side_names[first->side], first->where[0] == '\0' ? "" : ", ",
             first->is_estimate ? "an estimate" : first->where);
}

void check_conclusion(uint64_t sessions, uint64_t fitting, const struct limit *first,
                      char line[CHECK_LINE_BYTES])
{
    conclude(sessions, fitting, first, "", line);
}

void check_conclude(const struct check_report *report, char line[CHECK_LINE_BYTES])
{
    const struct limit *unknown = find_unknown(report->list);
    conclude(report->sessions, report->fitting, report->first, unknown == NULL ? "" : "known ",
             line);
    if (unknown != NULL) {
        const size_t used = strlen(line);
        snprintf(line + used, CHECK_LINE_BYTES - used, "; the %s are not known", unknown->name);
    }
}

/* Bytes with a unit, all else with separators. */
static const char *format(const struct limit *limit, uint64_t value, char text[UNITS_TEXT_BYTES])
{
    if (value == LIMIT_NONE) {
        snprintf(text, UNITS_TEXT_BYTES, limit->is_unknown ? "not known" : "no limit");
        return text;
    }
    return strcmp(limit->unit, "bytes") == 0 ? units_format_bytes(value, text)
                                             : units_format_count(value, text);
}

static void write_details(FILE *stream, const struct limit *limit)
{
    if (limit->where[0] != '\0' && strlen(limit->where) > WHERE_COLUMNS) {
        screen_add_wrapped(stream, "", INDENT_COLUMNS, limit->where);
    }
    if (limit->note[0] != '\0') {
        screen_add_wrapped(stream, "", INDENT_COLUMNS, limit->note);
    }
    if (limit->fix[0] != '\0') {
        screen_add_wrapped(stream, "   -> ", INDENT_COLUMNS, limit->fix);
    }
}

static void write_limit(FILE *stream, const struct limit *limit)
{
    char needed[UNITS_TEXT_BYTES];
    char left[UNITS_TEXT_BYTES];
    char sessions[UNITS_TEXT_BYTES];
    uint64_t rest = LIMIT_NONE;
    if (limit->allowed != LIMIT_NONE) {
        rest = limit->allowed > limit->used ? limit->allowed - limit->used : 0;
    }
    screen_add(stream, "%s  %-*s%*s%*s%*s  %s", limit_grade_names[limit->grade], NAME_COLUMNS,
               limit->name, FIGURE_COLUMNS,
               limit->needed == 0 && rest == LIMIT_NONE ? "-"
                                                        : format(limit, limit->needed, needed),
               FIGURE_COLUMNS, format(limit, rest, left), FIGURE_COLUMNS,
               limit->sessions == LIMIT_NONE ? "-" : units_format_count(limit->sessions, sessions),
               strlen(limit->where) > WHERE_COLUMNS ? "" : limit->where);
    write_details(stream, limit);
}

static void write_head(FILE *stream, const struct check_report *report)
{
    char text[SCREEN_TEXT_BYTES];
    /* without the packager's own part */
    const char *version = report->version == NULL ? "" : report->version;
    const size_t length = strcspn(version, "(");
    const int shown = (int)(length > 1 && version[length] == '(' ? length - 1 : length);
    snprintf(text, sizeof text, "%s session%s, %s%s%.*s%s", UNITS_COUNT(report->sessions),
             report->sessions == 1 ? "" : "s",
             report->target == NULL ? "this machine only" : report->target, shown > 0 ? " (" : "",
             shown, version, shown > 0 ? ")" : "");
    screen_add_wrapped(stream, "Check", SCREEN_LABEL_COLUMNS, text);
    if (report->note != NULL && report->note[0] != '\0') {
        screen_add_wrapped(stream, "Note", SCREEN_LABEL_COLUMNS, report->note);
    }
}

static void write_side(FILE *stream, const struct check_report *report, enum limit_side side)
{
    static const char *const titles[] = {
        [LIMIT_CLIENT] = "Client", [LIMIT_SERVER] = "Server", [LIMIT_DATABASE] = "Database"};
    bool has_title = false;
    for (size_t i = 0; i < report->list->count; i++) {
        const struct limit *limit = &report->list->entries[i];
        if (limit->side != side) {
            continue;
        }
        if (!has_title) {
            fprintf(stream, "\n%-*s%*s%*s%*s  %s\n", INDENT_COLUMNS + NAME_COLUMNS, titles[side],
                    FIGURE_COLUMNS, "needed", FIGURE_COLUMNS, "free", FIGURE_COLUMNS, "sessions",
                    "set in");
            has_title = true;
        }
        write_limit(stream, limit);
    }
}

void check_write_text(FILE *stream, const struct check_report *report)
{
    write_head(stream, report);
    write_side(stream, report, LIMIT_CLIENT);
    write_side(stream, report, LIMIT_SERVER);
    write_side(stream, report, LIMIT_DATABASE);
    if (report->is_short) {
        return;
    }
    char line[CHECK_LINE_BYTES];
    check_conclude(report, line);
    fputc('\n', stream);
    screen_add_wrapped(stream, "", 0, line);
}
