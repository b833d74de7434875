#include "plan/command_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"

enum {
    DEPTH_MAX = 8
};

/* Files of options that are being read, for a command line that was read before. */
struct reading {
    struct plan *plan;
    const struct command_form *form;
    const struct given_list *line; /* options of the command line */
    bool has_operands;             /* the command line's operands replace all of the files */
    bool is_placed;                /* the error names a file and a line */
};

/* Returns a copy of a text that is kept until the program ends. NULL: out of memory. */
static const char *keep(const char *text)
{
    struct kept {
        struct kept *next;
        char text[];
    };
    static struct kept *all;
    const size_t bytes = strlen(text) + 1;
    struct kept *made = malloc(sizeof *made + bytes);
    if (made == NULL) {
        return NULL;
    }
    memcpy(made->text, text, bytes);
    made->next = all;
    all = made;
    return made->text;
}

static enum exit_code out_of_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the options of a file");
    return EXIT_CODE_CLIENT_LIMIT;
}

static bool is_given(const struct reading *reading, const struct option_entry *entry)
{
    for (size_t i = 0; i < reading->line->count; i++) {
        if (reading->line->entries[i].entry == entry) {
            return true;
        }
    }
    return false;
}

/* Takes a line whose name is not an option of this command. */
static enum exit_code take_other(struct reading *reading, const char *name, const char *value,
                                 struct error *error)
{
    const bool is_target = strcmp(name, "target") == 0;
    if (is_target || strcmp(name, "records") == 0) {
        if (value == NULL || value[0] == '\0') {
            return usage_refuse(error, "'%s' needs a value: write %s = VALUE", name, name);
        }
        if (reading->has_operands || (!is_target && reading->form->command != COMMAND_RUN)) {
            return EXIT_CODE_OK;
        }
        if (!is_target) {
            return options_read_records(reading->plan, value, error);
        }
        reading->plan->target_given = keep(value);
        return reading->plan->target_given == NULL ? out_of_memory(error) : EXIT_CODE_OK;
    }
    struct nearest nearest = {.word = name};
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0) {
            return EXIT_CODE_OK; /* of another command */
        }
        nearest_offer(&nearest, entry->name);
    }
    return usage_refuse(error, "unknown option '%s'%s%s%s", name,
                        nearest.name == NULL ? ": see append --help" : ": did you mean '",
                        nearest.name == NULL ? "" : nearest.name, nearest.name == NULL ? "" : "'?");
}

/* Takes an option or an operand of a file. `value` is NULL if the line has none. */
static enum exit_code take(struct reading *reading, const char *name, const char *value,
                           struct error *error)
{
    const struct option_entry *entry = option_find(name, reading->form->command);
    if (entry == NULL) {
        return take_other(reading, name, value, error);
    }
    if (strcmp(name, "options") == 0 || strcmp(name, "help") == 0 || strcmp(name, "version") == 0 ||
        strcmp(name, "print-options") == 0) {
        return usage_refuse(error, "'%s' is for the command line only%s", name,
                            name[0] == 'o' ? ": write include FILE" : "");
    }
    if (entry->argument == NULL && value != NULL) {
        return usage_refuse(error, "'%s' takes no value", name);
    }
    if (value == NULL && !option_may_stand_alone(entry)) {
        return usage_refuse(error, "'%s' needs a value: write %s = VALUE", name, name);
    }
    const bool adds_up = entry->type == OPTION_TEXTS;
    const bool is_operand =
        strcmp(name, "sessions") == 0 && reading->form->command != COMMAND_SWEEP;
    if ((is_given(reading, entry) && !adds_up) || (is_operand && reading->has_operands)) {
        return EXIT_CODE_OK;
    }
    const char *kept = value == NULL ? NULL : keep(value);
    return value != NULL && kept == NULL ? out_of_memory(error)
                                         : option_take(reading->plan, entry, kept, error);
}

static enum exit_code read_file(struct reading *reading, const char *path, int depth,
                                struct error *error);

/* Reads the file of a line "include FILE" of the file at `path`. */
static enum exit_code include(struct reading *reading, const char *name, const char *path,
                              int depth, struct error *error)
{
    char included[PLAN_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    const size_t folder = slash == NULL || name[0] == '/' ? 0 : (size_t)(slash - path) + 1;
    if (name[0] == '\0') {
        return usage_refuse(error, "'include' needs the path of a file: write include FILE");
    }
    if (depth == DEPTH_MAX) {
        return usage_refuse(error,
                            "include %.60s: files include each other, or are nested more than %d "
                            "deep",
                            name, DEPTH_MAX);
    }
    if (folder + strlen(name) >= sizeof included) {
        return usage_refuse(error, "include %.60s: the path is too long", name);
    }
    snprintf(included, sizeof included, "%.*s%s", (int)folder, path, name);
    return read_file(reading, included, depth + 1, error);
}

/* Takes a line without the blanks around it. The messages do not show the line, which may have a
 * password. */
static enum exit_code take_line(struct reading *reading, char *line, const char *path, int depth,
                                struct error *error)
{
    static const char blanks[] = " \t";
    const size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789-");
    char *value = line + length + strspn(line + length, blanks);
    const bool has_end = line[length] == '\0' || strchr(" \t=", line[length]) != NULL;
    if (length == 0 || !has_end) {
        return usage_refuse(error, "the line does not begin with the name of an option: write "
                                   "NAME = VALUE");
    }
    if (length == strlen("include") && strncmp(line, "include", length) == 0 && *value != '=') {
        return include(reading, value, path, depth, error);
    }
    if (*value != '\0' && *value != '=') {
        return usage_refuse(error, "'%.*s' has no = after it: write NAME = VALUE", (int)length,
                            line);
    }
    const bool has_value = *value == '=';
    value += has_value ? 1 + strspn(value + 1, blanks) : 0;
    line[length] = '\0';
    return take(reading, line, has_value ? value : NULL, error);
}

/* Adds "PATH HASH" to the names of the files that were read. */
static void note_file(struct plan *plan, const char *path, uint64_t hash)
{
    char *const names = plan->options_files;
    const size_t used = strlen(names), room = sizeof plan->options_files - used;
    const int length =
        snprintf(names + used, room, "%s%s %016" PRIx64, used == 0 ? "" : ", ", path, hash);
    if (length < 0 || (size_t)length >= room) { /* no half names */
        snprintf(names + used, room, "%s", room > strlen(", ...") ? ", ..." : "");
    }
}

static enum exit_code read_file(struct reading *reading, const char *path, int depth,
                                struct error *error)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    enum exit_code code = EXIT_CODE_OK;
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length = -1;
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, 64 bits */
    errno = file == NULL ? errno : 0;
    while (file != NULL && code == EXIT_CODE_OK && (length = getline(&line, &room, file)) >= 0) {
        struct error why = {0};
        for (ssize_t i = 0; i < length; i++) {
            hash = (hash ^ (unsigned char)line[i]) * UINT64_C(1099511628211);
        }
        number++;
        if (strlen(line) != (size_t)length) {
            code = usage_refuse(&why, "the line has a NUL character");
        }
        while (length > 0 && strchr(" \t\r\n", line[length - 1]) != NULL) {
            line[--length] = '\0';
        }
        char *begin = line;
        if (number == 1 && strncmp(line, byte_order_mark, strlen(byte_order_mark)) == 0) {
            begin += strlen(byte_order_mark);
        }
        begin += strspn(begin, " \t");
        if (code == EXIT_CODE_OK && *begin != '\0' && *begin != '#') {
            code = take_line(reading, begin, path, depth, &why);
        }
        if (code != EXIT_CODE_OK && reading->is_placed) { /* in an included file */
            *error = why;
        } else if (code != EXIT_CODE_OK) {
            error_set(error, why.kind, 0, NULL, "%.200s: line %zu: %s", path, number, why.text);
            reading->is_placed = true;
        }
        errno = 0;
    }
    const int failure = file == NULL || (code == EXIT_CODE_OK && !feof(file)) ? errno : 0;
    if (code == EXIT_CODE_OK && failure != 0) {
        code = EXIT_CODE_USAGE;
        error_set(error, ERROR_USAGE, failure, NULL,
                  "the file of options %.200s cannot be read: %s", path, strerror(failure));
    }
    if (file != NULL) {
        fclose(file);
    }
    free(line);
    note_file(reading->plan, path, hash);
    return code;
}

/* Reads the files of options that the command line names. */
static enum exit_code read_files(struct plan *plan, const struct command_form *form,
                                 const struct given_list *line, int operands, struct error *error)
{
    struct reading reading = {
        .plan = plan, .form = form, .line = line, .has_operands = operands > 1};
    enum exit_code code = EXIT_CODE_OK;
    for (size_t i = 0; i < line->count && code == EXIT_CODE_OK; i++) {
        if (strcmp(line->entries[i].entry->name, "options") == 0) {
            code = read_file(&reading, line->entries[i].value, 0, error);
        }
    }
    return code;
}

enum exit_code command_line_read(struct plan *plan, const struct command_form *form, int argc,
                                 char **argv, struct error *error)
{
    struct given_list line;
    struct words operands;
    options_init(plan, form->command);
    enum exit_code code = options_read(form, argc, argv, &line, &operands, error);
    const bool wants_run = !line.is_help && !line.is_version;
    plan->is_help = line.is_help;
    plan->is_version = line.is_version;
    if (code == EXIT_CODE_OK && wants_run) {
        code = read_files(plan, form, &line, operands.count, error);
    }
    for (size_t i = 0; i < line.count && code == EXIT_CODE_OK; i++) {
        code = option_take(plan, line.entries[i].entry, line.entries[i].value, error);
    }
    if (code == EXIT_CODE_OK && wants_run) {
        code = options_read_operands(plan, form, &operands, error);
    }
    for (int i = 1; i < argc && code != EXIT_CODE_OK; i++) {
        /* --json counts even if it follows the wrong option */
        plan->is_json = plan->is_json || strcmp(argv[i], "--json") == 0;
    }
    return code;
}

/* Returns whether a value, or a target, has a password in it. */
static bool has_password(const char *value)
{
    if (strpbrk(value, "@;?") == NULL && strcasestr(value, "password") == NULL) {
        return false; /* without these a text is neither a URL with a password nor a connection
                         string */
    }
    const size_t bytes = strlen(value) + 1;
    char *shown = malloc(bytes);
    bool has = true; /* out of memory: better too careful */
    if (shown != NULL) {
        target_redact(value, shown, bytes);
        has = strcmp(shown, value) != 0;
    }
    free(shown);
    return has;
}

static void print_value(FILE *stream, const char *name, const char *value)
{
    if (value != NULL && has_password(value)) {
        fprintf(stream, "# %s has a password, and is left out: give it on the command line\n",
                name);
    } else {
        fprintf(stream, value == NULL ? "%s\n" : "%s = %s\n", name, value);
    }
}

enum exit_code command_line_print(const struct plan *plan, FILE *stream, struct error *error)
{
    static const char *const not_of_files[] = {"print-options", "options"};
    for (size_t i = 0; i < plan->given_count; i++) {
        const char *value = plan->given[i].value;
        const size_t length = value == NULL ? 0 : strlen(value);
        if (length > 0 && (strpbrk(value, "\r\n") != NULL || strchr(" \t", value[0]) != NULL ||
                           strchr(" \t", value[length - 1]) != NULL)) {
            return usage_refuse(error,
                                "--%s has a line break, or a blank at an end, which a file of "
                                "options cannot hold",
                                plan->given[i].entry->name);
        }
    }
    bool has_sessions = false;
    for (size_t i = 0; i < plan->given_count; i++) {
        const char *name = plan->given[i].entry->name;
        bool is_shown = true;
        for (size_t k = 0; k < COUNT_OF(not_of_files); k++) {
            is_shown = is_shown && strcmp(not_of_files[k], name) != 0;
        }
        has_sessions = has_sessions || strcmp(name, "sessions") == 0;
        if (is_shown) {
            print_value(stream, name, plan->given[i].value);
        }
    }
    /* prepare chooses its sessions for the machine unless they are given */
    if (!has_sessions && (plan->command == COMMAND_RUN || plan->command == COMMAND_CHECK)) {
        fprintf(stream, "sessions = %u\n", plan->sessions);
    }
    if (plan->records > 0) {
        fprintf(stream, "records = %" PRIu64 "\n", plan->records);
    }
    if (plan->target_given != NULL) {
        print_value(stream, "target", plan->target_given);
    }
    return EXIT_CODE_OK;
}
