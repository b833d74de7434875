#include "plan/command_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"

enum {
    DEPTH_MAX = 8,
    WORDS_MAX = 2 * PLAN_GIVEN_MAX + 8
};

/* The words of the command line, and those that are made of files. */
struct expansion {
    struct plan *plan;
    const struct command_form *form;
    struct plan trial;  /* takes each option of a file, to find wrong values */
    struct buffer text; /* all texts of the new words, each with its end */
    size_t starts[WORDS_MAX];
    size_t count;
    const struct option_entry *given[PLAN_GIVEN_MAX]; /* options of the command line */
    size_t given_count;
    size_t records, target; /* operands of files: where they start in `text`, plus 1; 0: none */
    bool is_placed;         /* the error names a file and a line */
    bool has_sessions;      /* the command line has operands, so those of files do not count */
};

static bool add_word(struct expansion *all, const char *prefix, const char *name, const char *value)
{
    if (all->count == WORDS_MAX) {
        return false;
    }
    all->starts[all->count++] = all->text.length;
    buffer_add_format(&all->text, "%s%s%s%s", prefix, name, value == NULL ? "" : "=",
                      value == NULL ? "" : value);
    buffer_add(&all->text, "", 1);
    return true;
}

/* Returns whether each value of an option is added to those before it. */
static bool adds_up(const struct option_entry *entry)
{
    return entry->type == OPTION_TEXTS;
}

static bool is_given(const struct expansion *all, const struct option_entry *entry)
{
    for (size_t i = 0; i < all->given_count; i++) {
        if (all->given[i] == entry) {
            return true;
        }
    }
    return false;
}

/* Stores an operand of a file; a later one replaces it. */
static void set_operand(struct expansion *all, size_t *operand, const char *value)
{
    *operand = all->text.length + 1;
    buffer_add(&all->text, value, strlen(value) + 1);
}

/* Takes an option or an operand of a file. `value` is NULL if the line has none. */
static enum exit_code take(struct expansion *all, const char *name, const char *value,
                           struct error *error)
{
    const struct option_entry *entry = option_find(name, all->form->command);
    const bool is_target = strcmp(name, "target") == 0;
    if (entry == NULL && (is_target || strcmp(name, "records") == 0)) {
        if (value == NULL) {
            return usage_refuse(error, "'%s' needs a value: write %s = VALUE", name, name);
        }
        if (!is_target && all->form->command != COMMAND_RUN) {
            return EXIT_CODE_OK; /* of another command */
        }
        set_operand(all, is_target ? &all->target : &all->records, value);
        return EXIT_CODE_OK;
    }
    if (entry == NULL) {
        struct nearest nearest = {.word = name};
        for (entry = option_table; entry->name != NULL; entry++) {
            if (strcmp(entry->name, name) == 0) {
                return EXIT_CODE_OK; /* of another command */
            }
            nearest_offer(&nearest, entry->name);
        }
        return usage_refuse(error, "unknown option '%s'%s%s%s", name,
                            nearest.name == NULL ? ": see append --help" : ": did you mean '",
                            nearest.name == NULL ? "" : nearest.name,
                            nearest.name == NULL ? "" : "'?");
    }
    if (strcmp(name, "options") == 0 || strcmp(name, "help") == 0 || strcmp(name, "version") == 0) {
        return usage_refuse(error, "'%s' is for the command line only%s", name,
                            name[0] == 'o' ? ": write include FILE" : "");
    }
    if (entry->argument == NULL && value != NULL) {
        return usage_refuse(error, "'%s' takes no value", name);
    }
    if (value == NULL && !option_may_stand_alone(entry)) {
        return usage_refuse(error, "'%s' needs a value: write %s = VALUE", name, name);
    }
    const bool is_operand = strcmp(name, "sessions") == 0 && all->form->command != COMMAND_SWEEP;
    if ((is_given(all, entry) && !adds_up(entry)) || (is_operand && all->has_sessions)) {
        return EXIT_CODE_OK;
    }
    const enum exit_code code = option_take(&all->trial, entry, value, error);
    return code == EXIT_CODE_OK && !add_word(all, "--", name, value)
               ? usage_refuse(error, "more than %d options are given", PLAN_GIVEN_MAX)
               : code;
}

static enum exit_code read_file(struct expansion *all, const char *path, int depth,
                                struct error *error);

/* Takes a line without the blanks around it. */
static enum exit_code take_line(struct expansion *all, char *line, const char *path, int depth,
                                struct error *error)
{
    static const char blanks[] = " \t";
    const size_t length = strcspn(line, " \t=");
    char *value = line + length + strspn(line + length, blanks);
    if (length == strlen("include") && strncmp(line, "include", length) == 0 && *value != '=') {
        char included[PLAN_PATH_BYTES];
        const char *slash = strrchr(path, '/');
        const size_t folder = slash == NULL || value[0] == '/' ? 0 : (size_t)(slash - path) + 1;
        if (folder + strlen(value) >= sizeof included || depth == DEPTH_MAX) {
            return usage_refuse(error, "include %.60s: %s", value,
                                depth == DEPTH_MAX ? "files include each other, or are nested more "
                                                     "than 8 deep"
                                                   : "the path is too long");
        }
        snprintf(included, sizeof included, "%.*s%s", (int)folder, path, value);
        return read_file(all, included, depth + 1, error);
    }
    if (*value == '=') {
        value += 1 + strspn(value + 1, blanks);
    } else if (*value != '\0') {
        return usage_refuse(error, "'%.60s' has no = after its name: write NAME = VALUE", line);
    } else {
        value = NULL;
    }
    line[length] = '\0';
    return take(all, line, value, error);
}

static enum exit_code read_file(struct expansion *all, const char *path, int depth,
                                struct error *error)
{
    enum exit_code code = EXIT_CODE_OK;
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length = -1;
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, 64 bits */
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
        char *begin = line + strspn(line, " \t");
        if (code == EXIT_CODE_OK && *begin != '\0' && *begin != '#') {
            code = take_line(all, begin, path, depth, &why);
        }
        if (code != EXIT_CODE_OK) {
            if (all->is_placed) { /* in an included file */
                *error = why;
            } else {
                error_set(error, ERROR_USAGE, 0, NULL, "%.200s: line %zu: %s", path, number,
                          why.text);
                all->is_placed = true;
            }
        }
    }
    const int failure = file == NULL || ferror(file) ? errno : 0;
    if (code == EXIT_CODE_OK && failure != 0) {
        error_set(error, ERROR_USAGE, failure, NULL,
                  "the file of options %.200s cannot be read: %s", path, strerror(failure));
        code = EXIT_CODE_USAGE;
    }
    if (file != NULL) {
        fclose(file);
    }
    free(line);
    struct plan *plan = all->plan;
    const size_t used = strlen(plan->options_files);
    snprintf(plan->options_files + used, sizeof plan->options_files - used, "%s%s %016" PRIx64,
             used == 0 ? "" : ", ", path, hash);
    return code;
}

/* Returns whether the words of a command line name a file of options. */
static bool names_file(const struct words *words)
{
    static const char option[] = "--options";
    for (int i = 1; i < words->count; i++) {
        const char *word = words->at[i];
        if (strncmp(word, option, strlen(option)) == 0 &&
            (word[strlen(option)] == '\0' || word[strlen(option)] == '=')) {
            return true;
        }
    }
    return false;
}

/* Reads the named files into plan->words, which then have the options of the files in place of the
 * files' names. Also notes the names of the files, with hashes, in the plan. */
static enum exit_code expand(struct plan *plan, const struct command_form *form,
                             struct error *error)
{
    static struct expansion all;
    all = (struct expansion){.plan = plan, .form = form};
    options_init(&all.trial, form->command);
    struct plan line; /* the command line alone */
    options_init(&line, form->command);
    struct words operands;
    enum exit_code code = options_read(&line, form, &plan->words, &operands, error);
    for (size_t i = 0; i < line.given_count; i++) {
        all.given[all.given_count++] = line.given[i].entry;
    }
    const bool is_target_only = operands.count == 1 && option_is_target(operands.at[0]);
    all.has_sessions = operands.count > 0 && !is_target_only;
    add_word(&all, "", plan->words.at[0], NULL);
    for (size_t i = 0; i < line.options.count && code == EXIT_CODE_OK; i++) {
        code = read_file(&all, line.options.texts[i], 0, error);
    }
    for (size_t i = 0; i < line.given_count && code == EXIT_CODE_OK; i++) {
        const struct given_option *given = &line.given[i];
        if (strcmp(given->entry->name, "options") != 0 &&
            !add_word(&all, "--", given->entry->name, given->value)) {
            code = usage_refuse(error, "more than %d options are given", PLAN_GIVEN_MAX);
        }
    }
    if (code != EXIT_CODE_OK) {
        buffer_fini(&all.text);
        return code;
    }
    const size_t of_file[] = {all.records, all.target};
    for (size_t i = 0; i < COUNT_OF(of_file) && !all.has_sessions; i++) {
        if (of_file[i] > 0 && !(i == 1 && is_target_only)) {
            all.starts[all.count++] = of_file[i] - 1;
        }
    }
    for (int i = 0; i < operands.count && all.count < WORDS_MAX; i++) {
        add_word(&all, "", operands.at[i], NULL);
    }
    plan->words.at = calloc(all.count + 1, sizeof *plan->words.at);
    if (plan->words.at == NULL || buffer_failed(&all.text)) {
        buffer_fini(&all.text);
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the options");
        return EXIT_CODE_CLIENT_LIMIT;
    }
    for (size_t i = 0; i < all.count; i++) {
        plan->words.at[i] = all.text.bytes + all.starts[i];
    }
    plan->words.count = (int)all.count;
    plan->owned_words = all.text.bytes;
    return EXIT_CODE_OK;
}

enum exit_code command_line_read(struct plan *plan, const struct command_form *form, int argc,
                                 char **argv, struct error *error)
{
    struct words operands;
    enum exit_code code = EXIT_CODE_OK;
    options_init(plan, form->command);
    plan->words = (struct words){.count = argc, .at = argv};
    if (names_file(&plan->words)) {
        code = expand(plan, form, error);
    }
    if (code == EXIT_CODE_OK) {
        code = options_read(plan, form, &plan->words, &operands, error);
    }
    if (code == EXIT_CODE_OK && !plan->is_help && !plan->is_version) {
        code = options_read_operands(plan, form, &operands, error);
    }
    for (int i = 1; i < argc && code != EXIT_CODE_OK; i++) {
        /* --json counts even if it follows the wrong option */
        plan->is_json = plan->is_json || strcmp(argv[i], "--json") == 0;
    }
    return code;
}

void command_line_print(const struct plan *plan, FILE *stream)
{
    for (size_t i = 0; i < plan->given_count; i++) {
        const struct given_option *given = &plan->given[i];
        if (strcmp(given->entry->name, "print-options") == 0) {
            continue;
        }
        fprintf(stream, given->value == NULL ? "%s\n" : "%s = %s\n", given->entry->name,
                given->value);
    }
    bool has_sessions = plan->command == COMMAND_SWEEP || plan->sessions == 0;
    for (size_t i = 0; i < plan->given_count; i++) {
        has_sessions = has_sessions || strcmp(plan->given[i].entry->name, "sessions") == 0;
    }
    if (!has_sessions) {
        fprintf(stream, "sessions = %u\n", plan->sessions);
    }
    if (plan->records > 0) {
        fprintf(stream, "records = %" PRIu64 "\n", plan->records);
    }
    if (plan->target_given != NULL) {
        char shown[PLAN_PATH_BYTES]; /* without a password */
        target_redact(plan->target_given, shown, sizeof shown);
        fprintf(stream, "target = %s\n", shown);
    }
}
