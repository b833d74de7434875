/* The manual page, in the mdoc language. */
#include <string.h>

#include "adapters/registry.h"
#include "base/buffer.h"
#include "docs/docs.h"

enum {
    LINE_BYTES = 512
};

/* Text as it is to be read: what the language would take for its own is escaped, and a sentence
 * begins a line, as it asks for. */
static void put_text(FILE *stream, const char *text, bool is_line_start)
{
    for (const char *byte = text; *byte != '\0'; byte++) {
        if (is_line_start && (*byte == '.' || *byte == '\'')) {
            fputs("\\&", stream);
        }
        is_line_start = *byte == '\n';
        if (*byte == '\\') {
            fputs("\\e", stream);
        } else if (byte[0] == '.' && byte[1] == ' ' && byte[2] >= 'A' && byte[2] <= 'Z') {
            fputs(".\n", stream);
            byte++;
        } else {
            fputc(*byte, stream);
        }
    }
}

/* Lines that stay as they are. */
static void put_literal(FILE *stream, const char *text)
{
    fputs(".Bd -literal -offset indent\n", stream);
    put_text(stream, text, true);
    fputs(text[0] != '\0' && text[strlen(text) - 1] == '\n' ? ".Ed\n" : "\n.Ed\n", stream);
}

/* A macro line for each word of a usage: "[TARGET]" is optional, capitals are arguments, the rest
 * are commands. */
static void put_usage(FILE *stream, const char *usage)
{
    fputs(".Nm\n", stream);
    const char *word = usage + strcspn(usage, " ");
    while (*word != '\0') {
        word += strspn(word, " ");
        const size_t length = strcspn(word, " ");
        const int shown = (int)length;
        if (length > 2 && word[0] == '[' && word[length - 1] == ']') {
            fprintf(stream, ".Op Ar %.*s\n", shown - 2, word + 1);
        } else if (length > 2 && word[0] == '-' && word[1] == '-') {
            fprintf(stream, ".Fl %.*s\n", shown - 1, word + 1);
        } else if (length > 0) {
            const bool is_command = word[0] >= 'a' && word[0] <= 'z';
            fprintf(stream, ".%s %.*s\n", is_command ? "Cm" : "Ar", shown, word);
        }
        word += length;
    }
}

static void put_synopsis(FILE *stream)
{
    for (size_t i = 0; i < command_table_size; i++) {
        put_usage(stream, command_table[i].usage);
        fputs(command_table[i].command == COMMAND_HELP ? "" : ".Op Ar options\n", stream);
        if (command_table[i].command == COMMAND_RUN) {
            put_usage(stream, "append SESSIONS [RECORDS] [TARGET] --duration T");
            fputs(".Op Ar options\n", stream);
        }
    }
}

static void put_targets(FILE *stream)
{
    put_text(stream, command_table[0].target, true);
    fputs(".Bl -tag -width Ds\n", stream);
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        fprintf(stream, ".It Ar %s : Ns Ar ...\n", (*a)->name);
        put_text(stream, (*a)->summary, true);
        fputc('\n', stream);
    }
    fputs(".El\n", stream);
}

static void put_commands(FILE *stream)
{
    fputs(".Bl -tag -width Ds\n", stream);
    for (size_t i = 0; i < command_table_size; i++) {
        char name[64];
        docs_command_name(&command_table[i], name, sizeof name);
        fprintf(stream, ".It Ic %s\n", name);
        put_text(stream, command_table[i].about, true);
    }
    fputs(".El\n", stream);
}

struct option_list {
    FILE *stream;
    const char *title; /* of the group that is open; NULL: none */
};

/* "[append, find-max]", unless it is one of all commands that connect. */
static void put_takers(FILE *stream, const struct option_entry *entry)
{
    if ((entry->commands & COMMANDS_ALL) == COMMANDS_ALL) {
        return;
    }
    const char *before = " [";
    for (size_t i = 0; i < command_table_size; i++) {
        if (option_is_of(entry, command_table[i].command)) {
            fprintf(stream, "%s%s", before,
                    command_table[i].name == NULL ? "append" : command_table[i].name);
            before = ", ";
        }
    }
    fputs(before[0] == ',' ? "]" : "", stream);
}

static void put_option(const struct option_entry *entry, const char *title, void *context)
{
    struct option_list *list = context;
    FILE *stream = list->stream;
    if (list->title == NULL || strcmp(list->title, title) != 0) {
        fprintf(stream, "%s.Ss %s\n.Bl -tag -width Ds\n", list->title == NULL ? "" : ".El\n",
                title);
        list->title = title;
    }
    fprintf(stream, ".It Fl -%s", entry->name);
    if (entry->argument != NULL) {
        fprintf(stream, " Ar %s", entry->argument);
    }
    if (option_letter(entry) != '\0') {
        fprintf(stream, " , Fl %c", option_letter(entry));
    }
    fputc('\n', stream);
    put_text(stream, entry->help, true);
    put_takers(stream, entry);
    fputc('\n', stream);
}

static void put_options(FILE *stream)
{
    struct option_list list = {.stream = stream};
    docs_visit_options(put_option, &list);
    fputs(".El\n", stream);
}

static void put_exits(FILE *stream)
{
    fputs(".Bl -tag -width Ds\n", stream);
    for (size_t i = 0; i < command_table_size; i++) {
        const char *text = command_table[i].exits;
        text += strncmp(text, "Exit: ", 6) == 0 ? 6 : 0;
        char name[64];
        docs_command_name(&command_table[i], name, sizeof name);
        fprintf(stream, ".It Ic %s\n", name);
        put_text(stream, text, true);
    }
    fputs(".El\n", stream);
}

static void put_examples(FILE *stream)
{
    for (size_t i = 0; i < command_table_size; i++) {
        char about[LINE_BYTES];
        snprintf(about, sizeof about, "%s:\n", command_table[i].line);
        about[0] = (char)(about[0] >= 'a' && about[0] <= 'z' ? about[0] - 'a' + 'A' : about[0]);
        fputs(i == 0 ? "" : ".Pp\n", stream);
        put_text(stream, about, true);
        put_literal(stream, command_table[i].example);
    }
}

static bool put_part(FILE *stream, const char *name)
{
    static const struct {
        const char *name;
        void (*put)(FILE *stream);
    } parts[] = {{"@SYNOPSIS@\n", put_synopsis}, {"@TARGETS@\n", put_targets},
                 {"@COMMANDS@\n", put_commands}, {"@OPTIONS@\n", put_options},
                 {"@EXITS@\n", put_exits},       {"@EXAMPLES@\n", put_examples}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            parts[i].put(stream);
            return true;
        }
    }
    return false;
}

bool docs_write_man(FILE *stream, const char *template_path)
{
    FILE *page = fopen(template_path, "re");
    if (page == NULL) {
        perror(template_path);
        return false;
    }
    char line[LINE_BYTES];
    bool is_good = true;
    while (is_good && fgets(line, sizeof line, page) != NULL) {
        if (line[0] != '@') {
            fputs(line, stream);
        } else if (!put_part(stream, line)) {
            fprintf(stderr, "%s: nothing is known of %s", template_path, line);
            is_good = false;
        }
    }
    is_good = is_good && !ferror(page);
    fclose(page);
    return is_good;
}
