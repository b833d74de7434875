/* Formats the numbers, times and texts of a run for people. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "plan/options.h"
#include "report/report.h"

#define UNKNOWN "–"
/* smallest number that is not shown with all digits, because a double may lose digits */
#define COUNT_MAX 1e15

const char *report_format(double value, char text[REPORT_WORDS_BYTES])
{
    if (fabs(value) >= COUNT_MAX) {
        snprintf(text, REPORT_WORDS_BYTES, "%.3g", value);
    } else if (fabs(value) >= 1000) {
        snprintf(text, REPORT_WORDS_BYTES, "%s%s", value < 0 ? "-" : "",
                 UNITS_COUNT((uint64_t)llround(fabs(value))));
    } else if (value == 0 || fabs(value) >= 99.95) {
        snprintf(text, REPORT_WORDS_BYTES, "%.0f", value);
    } else {
        snprintf(text, REPORT_WORDS_BYTES, fabs(value) >= 1 ? "%#.3g" : "%.3g", value);
    }
    return text;
}

const char *report_format_count(double value, char text[REPORT_WORDS_BYTES])
{
    static const char *const units[] = {"", "k", "M", "G"};
    size_t unit = 0;
    while (value >= 1000 && unit < 3) {
        value /= 1000;
        unit++;
    }
    snprintf(text, REPORT_WORDS_BYTES, "%.4g%s", value, units[unit]);
    return text;
}

const char *report_format_time(const json_t *value, double unit_ns, char text[REPORT_WORDS_BYTES])
{
    const double ns = json_number_value(value) * unit_ns;
    const bool is_known = json_is_number(value) && ns >= 0 && ns < 9e18;
    return is_known ? units_format_ns((int64_t)llround(ns), text) : UNKNOWN;
}

const char *report_value(const struct saved_run *run, const char *column,
                         char text[REPORT_WORDS_BYTES])
{
    double value;
    return saved_run_figure(run, column, &value) ? report_format(value, text) : UNKNOWN;
}

/* Writes the duration of a run. Returns false if the run has a number of rows, or does not have a
 * duration. */
static bool duration_of(const struct saved_run *run, char text[UNITS_TEXT_BYTES])
{
    double records;
    const json_t *duration = saved_run_json(run, "plan.duration_s");
    const double seconds = json_number_value(duration);
    if (saved_run_figure(run, "records", &records) || !json_is_number(duration) ||
        !(seconds >= 0 && seconds < 1e9)) {
        return false;
    }
    const uint64_t whole = (uint64_t)llround(seconds);
    if (whole >= 60 && whole % 60 == 0) {
        const bool is_hours = whole % 3600 == 0;
        snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 " %s", whole / (is_hours ? 3600 : 60),
                 is_hours ? "h" : "min");
    } else if (whole >= 60) {
        units_format_seconds(whole, text);
    } else {
        snprintf(text, UNITS_TEXT_BYTES, "%.3g s", seconds);
    }
    return true;
}

/* Returns a count of the run; 0 when it is unknown. */
static uint64_t count_of(const struct saved_run *run, const char *column)
{
    double value = 0;
    saved_run_figure(run, column, &value);
    return value > 0 && value < COUNT_MAX ? (uint64_t)value : 0;
}

const char *report_title(const struct saved_run *run, char text[REPORT_WORDS_BYTES])
{
    char duration[UNITS_TEXT_BYTES];
    const json_int_t held = json_integer_value(saved_run_json(run, "search.held"));
    const uint64_t most = held > 0 ? (uint64_t)held : 0;
    const uint64_t sessions = run->is_search ? most : count_of(run, "sessions");
    const char *plural = sessions == 1 ? "" : "s";
    const char *workload = figure_text(&run->figures, FIGURE_WORKLOAD);
    const char *const slash = strrchr(workload, '/');
    char script[32] = "";
    if (workload[0] != '\0') {
        snprintf(script, sizeof script, "%.28s: ", slash == NULL ? workload : slash + 1);
    }
    const json_int_t transactions = json_integer_value(saved_run_json(run, "plan.transactions"));
    if (run->is_unfinished) {
        snprintf(text, REPORT_WORDS_BYTES, "an unfinished run");
    } else if (run->is_search) {
        snprintf(text, REPORT_WORDS_BYTES, "find-max: %s session%s held", UNITS_COUNT(sessions),
                 plural);
    } else if (duration_of(run, duration)) {
        snprintf(text, REPORT_WORDS_BYTES, "%s%.9s session%s for %.12s", script,
                 UNITS_COUNT(sessions), plural, duration);
    } else if (transactions > 0) {
        snprintf(text, REPORT_WORDS_BYTES, "%s%.9s session%s, %.20s transactions", script,
                 UNITS_COUNT(sessions), plural, UNITS_COUNT((uint64_t)transactions));
    } else if (saved_run_text(run, "records")[0] == '\0') {
        snprintf(text, REPORT_WORDS_BYTES, "%.20s session%s", UNITS_COUNT(sessions), plural);
    } else {
        snprintf(text, REPORT_WORDS_BYTES, "%.20s session%s, %.20s rows", UNITS_COUNT(sessions),
                 plural, UNITS_COUNT(count_of(run, "records")));
    }
    return text;
}

const char *report_size(const struct saved_run *run, char text[REPORT_WORDS_BYTES])
{
    double sessions = 0, records = 0;
    char left[REPORT_WORDS_BYTES], right[REPORT_WORDS_BYTES], duration[UNITS_TEXT_BYTES];
    saved_run_figure(run, "sessions", &sessions);
    saved_run_figure(run, "records", &records);
    if (run->is_unfinished) {
        return memcpy(text, "unfinished", sizeof "unfinished");
    }
    snprintf(text, REPORT_WORDS_BYTES, "%.20s × %.30s", report_format_count(sessions, left),
             duration_of(run, duration) ? duration : report_format_count(records, right));
    return text;
}

/* Returns the HTML escape of a character; NULL if the character does not need an escape. */
static const char *escape_of(char character)
{
    static const char *const escapes[] = {"&&amp;", "<&lt;", ">&gt;", "\"&quot;", "'&#39;"};
    for (size_t i = 0; i < COUNT_OF(escapes); i++) {
        if (escapes[i][0] == character) {
            return escapes[i] + 1;
        }
    }
    return NULL;
}

const char *report_escape(const char *text, char escaped[REPORT_ESCAPED_BYTES])
{
    char copy[REPORT_ESCAPED_BYTES / 4], clean[REPORT_ESCAPED_BYTES / 4];
    size_t used = 0;
    snprintf(copy, sizeof copy, "%s", text == NULL ? "" : text);
    for (char *at = strpbrk(copy, "\t\r\n"); at != NULL; at = strpbrk(at, "\t\r\n")) {
        *at = ' '; /* a query may have several lines */
    }
    text_clean_line(clean, sizeof clean, copy, sizeof clean);
    for (const char *at = clean; *at != '\0' && used + 8 < REPORT_ESCAPED_BYTES; at++) {
        const char *piece = escape_of(*at);
        used += (size_t)snprintf(escaped + used, REPORT_ESCAPED_BYTES - used, "%.*s",
                                 piece == NULL ? 1 : 6, piece == NULL ? at : piece);
    }
    escaped[used] = '\0';
    return escaped;
}

void report_add_escaped(struct buffer *html, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = strdup(text), *clean = malloc(size);
    html->has_failed = html->has_failed || copy == NULL || clean == NULL;
    for (char *line = copy; !html->has_failed && line != NULL;) {
        char *const end = strpbrk(line, "\t\n");
        char separator = '\0';
        if (end != NULL) {
            separator = *end;
            *end = '\0';
        }
        text_clean_line(clean, size, line, UINT_MAX);
        for (const char *at = clean; *at != '\0'; at++) {
            const char *escape = escape_of(*at);
            buffer_add(html, escape == NULL ? at : escape, escape == NULL ? 1 : strlen(escape));
        }
        buffer_add(html, &separator, end == NULL ? 0 : 1);
        line = end == NULL ? NULL : end + 1;
    }
    free(copy);
    free(clean);
}

const char *report_stop_words(const char *stop_reason)
{
    static const char *const texts[] = {
        [STOP_COMPLETED] = "all sessions had ended",
        [STOP_DURATION] = "the time of the run was over",
        [STOP_INTERRUPTED] = "INTERRUPTED by a signal: the figures cover only a part of the run",
        [STOP_DROP] = "a session was dropped, and --on-drop stop was given",
        [STOP_NO_SESSION] = "no session could connect",
        [STOP_TOO_FEW] = "fewer sessions were up than --min-sessions requires",
        [STOP_RANK] = "a rank was lost",
        [STOP_SCRIPT] = "stopped by an error in the script",
        [STOP_CONDITION] = "a condition of --stop-when held",
        [STOP_CONTROL] = "stopped by hand"};
    if (stop_reason == NULL) {
        return "";
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (strcmp(stop_reason_names[i], stop_reason) == 0) {
            return texts[i];
        }
    }
    return stop_reason;
}

void report_add_word(struct buffer *line, const char *word)
{
    static const char plain[] = "%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                "abcdefghijklmnopqrstuvwxyz";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        buffer_add_text(line, word);
        return;
    }
    buffer_add_text(line, "'");
    for (; *word != '\0'; word++) {
        buffer_add(line, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    }
    buffer_add_text(line, "'");
}

static void add_option(struct buffer *line, const char *name, const char *value)
{
    buffer_add_format(line, " --%s=", name);
    report_add_word(line, value);
}

/* Returns whether the value of an option in run.json is the option's default. */
static bool is_default(const struct option_entry *option, const json_t *value)
{
    const double unit = option->type == OPTION_TIME ? (double)MONO_NS_PER_S : 1;
    const char *text = json_string_value(value);
    switch (option->type) {
    case OPTION_FLAG:
        return !json_is_true(value);
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_TIME:
        return !json_is_number(value) ||
               fabs(json_number_value(value) - (double)option->default_number / unit) < 1e-9;
    case OPTION_CHOICE:
        return text == NULL || strcmp(text, option->words[option->default_number]) == 0;
    case OPTION_TEXT:
        return text == NULL ||
               (option->default_text != NULL && strcmp(text, option->default_text) == 0);
    case OPTION_TEXTS:
        return json_array_size(value) == 0;
    case OPTION_OTHER:
        break;
    }
    return !json_is_number(value);
}

/* Returns the argument with which an option gets a value of run.json. The result is `text` or a
 * text of the plan. */
static const char *format_argument(const struct option_entry *option, const json_t *value,
                                   const json_t *plan, char text[UNITS_TEXT_BYTES])
{
    const json_int_t tries = json_integer_value(json_object_get(plan, "reconnect_tries"));
    const double number = json_number_value(value);
    const char *word = json_string_value(value);
    if (word == NULL && option->type == OPTION_TIME) {
        const bool is_whole = fabs(number - round(number)) < 1e-9;
        snprintf(text, UNITS_TEXT_BYTES, is_whole ? "%.0fs" : "%.9gms",
                 is_whole ? number : number * 1e3);
    } else if (word == NULL) {
        snprintf(text, UNITS_TEXT_BYTES, "%.0f", number);
    } else if (strcmp(option->name, "read") == 0 && strcmp(word, "query") == 0) {
        const char *query = json_string_value(json_object_get(plan, "read_sql"));
        return query == NULL ? word : query;
    } else if (strcmp(option->name, "on-drop") == 0 && tries > 0) {
        snprintf(text, UNITS_TEXT_BYTES, "%.10s:%" JSON_INTEGER_FORMAT, word, tries);
    } else {
        return word;
    }
    return text;
}

void report_add_command(struct buffer *line, const struct saved_run *run)
{
    /* Options that are not added. The target includes the first four options. The plan in run.json
     * has values for the other options even if the user did not give these options. */
    static const char *const passed[] = {"host",       "port",      "user",         "database",
                                         "sessions",   "seed",      "min-sessions", "server-pid",
                                         "stack-size", "max-failed"};
    const enum command command = run->is_search ? COMMAND_FIND_MAX : COMMAND_RUN;
    const json_t *plan = saved_run_json(run, "plan");
    const char *target = json_string_value(saved_run_json(run, "plan.target.display"));
    const json_int_t sessions = json_integer_value(saved_run_json(run, "plan.sessions"));
    const json_int_t records = json_integer_value(saved_run_json(run, "plan.records"));
    const double least = json_number_value(saved_run_json(run, "plan.min_sessions"));
    const double share = json_number_value(saved_run_json(run, "plan.max_failed_percent"));
    const double failed = json_number_value(saved_run_json(run, "plan.max_failed"));
    const char *folder = json_string_value(saved_run_json(run, "plan.out_folder"));
    if (target == NULL) {
        return;
    }
    buffer_add_text(line, run->is_search ? "append find-max" : "append");
    if (!run->is_search) {
        buffer_add_format(line, " %" JSON_INTEGER_FORMAT, sessions);
    }
    if (!run->is_search && records > 0) {
        buffer_add_format(line, " %" JSON_INTEGER_FORMAT, records);
    }
    /* leaves out a database in the run's folder, because the run itself made the database */
    const char *at = strchr(target, ':');
    const size_t length = folder == NULL ? 0 : strlen(folder);
    if (length == 0 || at == NULL || strncmp(at + 1, folder, length) != 0 ||
        at[1 + length] != '/') {
        buffer_add_text(line, " ");
        report_add_word(line, target);
    }
    for (const struct option_entry *option = option_table; option->name != NULL; option++) {
        bool is_passed = option->key == NULL || option->scope == OPTION_OF_CALL ||
                         (option->commands & (unsigned)command) == 0;
        for (size_t i = 0; i < COUNT_OF(passed); i++) {
            is_passed |= strcmp(option->name, passed[i]) == 0;
        }
        char path[REPORT_WORDS_BYTES];
        snprintf(path, sizeof path, "plan.%.80s", is_passed ? "" : option->key);
        const json_t *value = is_passed ? NULL : saved_run_json(run, path);
        const char *word = json_string_value(value);
        /* a search reads only on request */
        const bool is_unread = run->is_search && strcmp(option->name, "read") == 0 &&
                               word != NULL && strcmp(word, "none") == 0;
        if (value == NULL || is_unread || is_default(option, value)) {
            continue;
        }
        if (option->type == OPTION_FLAG) {
            buffer_add_format(line, " --%s", option->name);
        } else if (option->type == OPTION_TEXTS) {
            for (size_t i = 0; i < json_array_size(value); i++) {
                const char *text = json_string_value(json_array_get(value, i));
                add_option(line, option->name, text == NULL ? "" : text);
            }
        } else {
            char text[UNITS_TEXT_BYTES];
            add_option(line, option->name, format_argument(option, value, plan, text));
        }
    }
    if (least > 1) {
        buffer_add_format(line, " --min-sessions=%.0f", least);
    }
    if (share > 0 || failed > 0) {
        buffer_add_format(line, share > 0 ? " --max-failed=%.0f%%" : " --max-failed=%.0f",
                          share > 0 ? share : failed);
    }
}
