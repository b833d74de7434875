#include "plan/command_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"

enum {
    DEPTH_MAX = 8,
    FILES_MAX = 100,
    FILE_BYTES_MAX = 1 << 20,
    PATH_SHOWN_BYTES = 80
};

/* The state while reading the option files (--options) of a command line. The command line itself
 * has already been read. */
struct reading {
    struct plan *plan;
    const struct command_form *form;
    const struct given_list *line; /* options of the command line */
    const char *first_operand;     /* first operand of the command line, or NULL */
    int operands;
    size_t files;   /* number of files read so far */
    bool is_placed; /* the error names a file and a line */
};

/* Returns a copy of a text, which is valid until the program ends. Returns NULL if out of
 * memory. */
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
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory while reading options from a file");
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

static bool is_named(const struct reading *reading, const char *name)
{
    const struct option_entry *entry = option_find(name, reading->form->command);
    return entry != NULL && is_given(reading, entry);
}

/* Handles a line whose name is not an option of this command. */
static enum exit_code take_other(struct reading *reading, const char *name, const char *value,
                                 struct error *error)
{
    const bool is_target = strcmp(name, "target") == 0;
    if (is_target || strcmp(name, "records") == 0) {
        if (value == NULL || value[0] == '\0') {
            return usage_refuse(error, "'%s' needs a value: write %s = VALUE", name, name);
        }
        if (!is_target) {
            return reading->form->command == COMMAND_RUN
                       ? options_read_records(reading->plan, value, error)
                       : EXIT_CODE_OK;
        }
        reading->plan->target_given = keep(value);
        return reading->plan->target_given == NULL ? out_of_memory(error) : EXIT_CODE_OK;
    }
    struct nearest nearest = {.word = name};
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name) == 0) {
            return EXIT_CODE_OK; /* another command takes this option */
        }
        nearest_offer(&nearest, entry->name);
    }
    return usage_refuse(error, "unknown option '%s'%s%s%s", name,
                        nearest.name == NULL ? ": see append --help" : ": did you mean '",
                        nearest.name == NULL ? "" : nearest.name, nearest.name == NULL ? "" : "'?");
}

/* Handles an option or operand from a file. `value` is NULL if the line has only a name. */
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
    const bool is_resumed = strcmp(name, "out") == 0 && is_named(reading, "resume");
    if ((is_given(reading, entry) && !adds_up) || is_resumed) {
        return EXIT_CODE_OK;
    }
    if (strcmp(name, "sessions") == 0 && reading->form->command != COMMAND_SWEEP &&
        reading->first_operand != NULL && !option_is_target(reading->first_operand)) {
        /* if the command line has several operands, the first is SESSIONS and replaces the SESSIONS
         * of the file; a single operand may also be a port */
        return reading->operands > 1
                   ? EXIT_CODE_OK
                   : usage_refuse(error,
                                  "this file sets SESSIONS, and '%.40s' on the command line may be "
                                  "SESSIONS or a port: write -c N or localhost:PORT",
                                  reading->first_operand);
    }
    const char *kept = value == NULL ? NULL : keep(value);
    return value != NULL && kept == NULL ? out_of_memory(error)
                                         : option_take(reading->plan, entry, kept, error);
}

static enum exit_code read_file(struct reading *reading, const char *path, int depth,
                                struct error *error);

/* Reads the file that a line "include FILE" in the file `path` names. `name` is FILE. */
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

/* Handles a line without blanks at its beginning and end. Messages do not show the line, because it
 * may contain a password. */
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
    if (length == strlen("include") && strncmp(line, "include", length) == 0) {
        if (*value == '=') {
            return usage_refuse(error, "'include' is written without '=': include FILE");
        }
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

/* Adds "PATH HASH" to plan->options_files. */
static void note_file(struct plan *plan, const char *path, uint64_t hash)
{
    char *const names = plan->options_files;
    const size_t used = strlen(names), room = sizeof plan->options_files - used;
    const int length =
        snprintf(names + used, room, "%s%s %016" PRIx64, used == 0 ? "" : ", ", path, hash);
    if (length < 0 || (size_t)length >= room) {
        /* leave out a name that does not fit, because half a name would mislead */
        snprintf(names + used, room, "%s", room > strlen(", ...") ? ", ..." : "");
    }
}

/* Reads the bytes of a file into *text, which the caller frees. Returns 0 or errno. */
static int load(const char *path, struct buffer *text)
{
    FILE *file = fopen(path, "re");
    char bytes[4096];
    size_t length;
    if (file == NULL) {
        return errno;
    }
    errno = 0;
    while (text->length <= FILE_BYTES_MAX && (length = fread(bytes, 1, sizeof bytes, file)) > 0) {
        buffer_add(text, bytes, length);
    }
    int number = ferror(file) ? errno : 0;
    number = text->length > FILE_BYTES_MAX ? EFBIG : number;
    fclose(file);
    return buffer_failed(text) ? ENOMEM : number;
}

static uint64_t hash_of(const struct buffer *text)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, 64 bits */
    for (size_t i = 0; i < text->length; i++) {
        hash = (hash ^ (unsigned char)text->bytes[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

/* Returns the path or, if the path is too long for a message, the end of the path. */
static const char *shown(const char *path)
{
    const size_t length = strlen(path);
    return length > PATH_SHOWN_BYTES ? path + length - PATH_SHOWN_BYTES : path;
}

/* Takes the lines of a file. */
static enum exit_code take_lines(struct reading *reading, const char *path, char *text,
                                 size_t length, int depth, struct error *error)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    enum exit_code code = EXIT_CODE_OK;
    size_t number = 0;
    char *next = text;
    if (length >= strlen(byte_order_mark) &&
        memcmp(text, byte_order_mark, strlen(byte_order_mark)) == 0) {
        next += strlen(byte_order_mark);
    }
    while (code == EXIT_CODE_OK && next < text + length) {
        struct error why = {0};
        char *line = next, *end = memchr(line, '\n', (size_t)(text + length - line));
        end = end == NULL ? text + length : end;
        next = end + 1;
        number++;
        if (memchr(line, '\0', (size_t)(end - line)) != NULL) {
            code = usage_refuse(&why, "the line has a NUL character");
        }
        while (end > line && strchr(" \t\r", end[-1]) != NULL) {
            end--;
        }
        *end = '\0';
        line += strspn(line, " \t");
        if (code == EXIT_CODE_OK && *line != '\0' && *line != '#') {
            code = take_line(reading, line, path, depth, &why);
        }
        if (code != EXIT_CODE_OK && reading->is_placed) { /* the mistake is in an included file */
            *error = why;
        } else if (code != EXIT_CODE_OK) {
            error_set(error, why.kind, 0, NULL, "%s: line %zu: %s", shown(path), number, why.text);
            reading->is_placed = true;
        }
    }
    return code;
}

static enum exit_code read_file(struct reading *reading, const char *path, int depth,
                                struct error *error)
{
    struct buffer text = {0};
    if (reading->files++ == FILES_MAX) {
        return usage_refuse(
            error, "append reads at most %d files of options: join some of these files", FILES_MAX);
    }
    const int failure = load(path, &text);
    enum exit_code code = EXIT_CODE_OK;
    buffer_add(&text, "", 1);
    if (failure != 0 || buffer_failed(&text)) {
        code = EXIT_CODE_USAGE;
        error_set(error, ERROR_USAGE, failure, NULL, "the file of options %s %s", shown(path),
                  failure == EFBIG ? "is larger than 1 MiB" : "cannot be read");
        const size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, "%s%s",
                 failure == EFBIG ? "" : ": ", failure == EFBIG ? "" : strerror(failure));
    } else {
        text.length--; /* the NUL ends the last line, but is not part of the text */
        note_file(reading->plan, path, hash_of(&text));
        code = take_lines(reading, path, text.bytes, text.length, depth, error);
    }
    buffer_fini(&text);
    return code;
}

/* Reads all option files that the command line names. */
static enum exit_code read_files(struct plan *plan, const struct command_form *form,
                                 const struct given_list *line, const struct words *operands,
                                 struct error *error)
{
    struct reading reading = {.plan = plan,
                              .form = form,
                              .line = line,
                              .first_operand = operands->count > 0 ? operands->at[0] : NULL,
                              .operands = operands->count};
    enum exit_code code = EXIT_CODE_OK;
    for (size_t i = 0; i < line->count && code == EXIT_CODE_OK; i++) {
        if (strcmp(line->entries[i].entry->name, "options") == 0) {
            code = read_file(&reading, line->entries[i].value, 0, error);
        }
    }
    return code;
}

/* Stores the options of the command line. */
static enum exit_code take_all(struct plan *plan, const struct given_list *line,
                               struct error *error)
{
    enum exit_code code = EXIT_CODE_OK;
    for (size_t i = 0; i < line->count && code == EXIT_CODE_OK; i++) {
        code = option_take(plan, line->entries[i].entry, line->entries[i].value, error);
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
        code = read_files(plan, form, &line, &operands, error);
    }
    code = code == EXIT_CODE_OK ? take_all(plan, &line, error) : code;
    if (code == EXIT_CODE_OK && wants_run) {
        code = options_read_operands(plan, form, &operands, error);
    }
    for (int i = 1; i < argc && code != EXIT_CODE_OK; i++) {
        /* read --json even after the wrong option, so that the error is reported as JSON */
        plan->is_json = plan->is_json || strcmp(argv[i], "--json") == 0;
    }
    return code;
}

enum exit_code command_line_follow(struct plan *plan, const struct command_form *form,
                                   const struct plan_lead *lead, struct error *error)
{
    struct given_list line;
    struct words operands;
    options_init(plan, form->command);
    enum exit_code code = options_read(form, lead->count, lead->words, &line, &operands, error);
    code = code == EXIT_CODE_OK ? take_all(plan, &line, error) : code;
    plan->sessions = lead->sessions;
    plan->records = lead->records;
    plan->target_given = lead->target;
    return code;
}

/* Returns whether a value contains a password. Always checks the values of the options in `places`,
 * which may be connection strings. Checks other values only if they look like a URL or a connection
 * string. */
static bool has_password(const char *name, const char *value)
{
    static const char *const places[] = {"target", "host", "database", "user"};
    bool may_have = strstr(value, "://") != NULL || strcasestr(value, "password=") != NULL;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        may_have = may_have || strcmp(places[i], name) == 0;
    }
    if (!may_have) {
        return false;
    }
    const size_t bytes = strlen(value) + 1;
    char *redacted = malloc(bytes);
    bool has = true; /* if out of memory, assume that the value has a password */
    if (redacted != NULL) {
        target_redact(value, redacted, bytes);
        has = strcmp(redacted, value) != 0;
    }
    free(redacted);
    return has;
}

/* Returns whether the value can be written on a line of an option file. */
static bool fits_line(const char *value)
{
    const size_t length = strlen(value);
    return length == 0 || (strpbrk(value, "\r\n") == NULL && strchr(" \t", value[0]) == NULL &&
                           strchr(" \t", value[length - 1]) == NULL);
}

/* Prints a line of an option file. Leaves out a value with a password; the user then has to
 * complete the line. */
static void print_value(FILE *stream, const char *name, const char *value)
{
    if (value != NULL && has_password(name, value)) {
        fprintf(stream, "# %s has a password, which is left out: complete the next line\n%s =\n",
                name, name);
    } else {
        fprintf(stream, value == NULL ? "%s\n" : "%s = %s\n", name, value);
    }
}

enum exit_code command_line_print(const struct plan *plan, FILE *stream, struct error *error)
{
    static const char *const not_of_files[] = {"print-options", "options"};
    const char *wrong = "target";
    bool is_wrong = plan->target_given != NULL && !fits_line(plan->target_given);
    for (size_t i = 0; i < plan->given_count && !is_wrong; i++) {
        const char *value = plan->given[i].value;
        is_wrong = value != NULL && !fits_line(value);
        wrong = plan->given[i].entry->name;
    }
    if (is_wrong) {
        return usage_refuse(
            error,
            "the value of '%s' has a line break, or begins or ends with a blank: a file of options "
            "cannot hold such a value, so give it on the command line",
            wrong);
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
    if (!has_sessions && plan->is_sessions_operand) {
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
