/*
 * What is made from the tables of commands and options beside --help: the manual page, in the mdoc
 * language, and completions for bash and zsh. A program of the build, not part of append.
 */
#include <ctype.h>
#include <string.h>

#include "adapters/registry.h"
#include "commands/command.h"

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
        put_usage(stream, command_table[i].form.usage);
        fputs(command_table[i].form.command == COMMAND_HELP ? "" : ".Op Ar options\n", stream);
        if (command_table[i].form.command == COMMAND_RUN) {
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

/* A text for each command. */
static void put_list(FILE *stream, bool is_of_exits)
{
    fputs(".Bl -tag -width Ds\n", stream);
    for (size_t i = 0; i < command_table_size; i++) {
        const struct command_entry *entry = &command_table[i];
        fprintf(stream, ".It Ic append%s%s\n", i == 0 ? "" : " ", i == 0 ? "" : entry->form.name);
        put_text(stream, is_of_exits ? entry->exits : entry->about, true);
    }
    fputs(".El\n", stream);
}

static void put_commands(FILE *stream)
{
    put_list(stream, false);
}

static void put_exits(FILE *stream)
{
    put_list(stream, true);
}

/* "[append, find-max]", unless it is one of all commands that connect. */
static void put_takers(FILE *stream, const struct option_entry *entry)
{
    if ((entry->commands & COMMANDS_ALL) == COMMANDS_ALL) {
        return;
    }
    const char *before = " [";
    for (size_t i = 0; i < command_table_size; i++) {
        const struct command_form *form = &command_table[i].form;
        if (option_is_of(entry, form->command)) {
            fprintf(stream, "%s%s", before, form->name == NULL ? "append" : form->name);
            before = ", ";
        }
    }
    fputs(before[0] == ',' ? "]" : "", stream);
}

static void put_options(FILE *stream)
{
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (entry->group != NULL) {
            fprintf(stream, "%s.Ss %s\n.Bl -tag -width Ds\n", entry == option_table ? "" : ".El\n",
                    entry->group);
        }
        fprintf(stream, ".It Fl -%s", entry->name);
        if (entry->argument != NULL) {
            fprintf(stream, " Ar %s", entry->argument);
        }
        if (entry->letter != '\0') {
            fprintf(stream, " , Fl %c", entry->letter);
        }
        fputc('\n', stream);
        put_text(stream, entry->help, true);
        put_takers(stream, entry);
        fputc('\n', stream);
    }
    fputs(".El\n", stream);
}

static void put_examples(FILE *stream)
{
    for (size_t i = 0; i < command_table_size; i++) {
        const char *line = command_table[i].line;
        fprintf(stream, "%s%c", i == 0 ? "" : ".Pp\n", toupper((unsigned char)line[0]));
        put_text(stream, line + 1, false);
        fputs(":\n.Bd -literal -offset indent\n", stream);
        put_text(stream, command_table[i].example, true);
        fputs("\n.Ed\n", stream);
    }
}

/* What a shell offers for the value of an option. */
enum offer {
    OFFER_NOTHING,
    OFFER_FILES,
    OFFER_FOLDERS,
    OFFER_WORDS, /* adapters, or what is in small letters in its argument: count|none|SQL */
};

static enum offer offer_of(const struct option_entry *entry)
{
    const char *argument = entry->argument;
    const bool has_words = islower((unsigned char)argument[0]) && strchr(argument, '|') != NULL;
    return strcmp(argument, "FILE") == 0                      ? OFFER_FILES
           : strcmp(argument, "DIR") == 0                     ? OFFER_FOLDERS
           : has_words || strcmp(entry->name, "adapter") == 0 ? OFFER_WORDS
                                                              : OFFER_NOTHING;
}

/* Each with a blank behind it. */
static void put_words(FILE *stream, const struct option_entry *entry)
{
    if (strcmp(entry->name, "adapter") == 0) {
        for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
            fprintf(stream, "%s ", (*a)->name);
        }
        return;
    }
    for (const char *word = entry->argument; *word != '\0';) {
        const size_t length = strcspn(word, "|");
        if (strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length) {
            fprintf(stream, "%.*s ", (int)length, word);
        }
        word += length;
        word += *word == '|';
    }
}

static void put_bash_commands(FILE *stream)
{
    for (size_t i = 1; i < command_table_size; i++) {
        fprintf(stream, "    %s) command=%u ;;\n", command_table[i].form.name,
                (unsigned)command_table[i].form.command);
    }
}

/* What is offered behind an option, up to the end of the branch. */
static void put_bash_value(FILE *stream, const struct option_entry *entry)
{
    const enum offer offer = offer_of(entry);
    if (offer == OFFER_WORDS) {
        fputs(" words='", stream);
        put_words(stream, entry);
        fputs("' ;;\n", stream);
    } else if (offer == OFFER_NOTHING) {
        fputs(" return ;;\n", stream);
    } else {
        fprintf(stream,
                " compopt -o filenames; COMPREPLY=($(compgen -%c -- \"$current\")); return ;;\n",
                offer == OFFER_FILES ? 'f' : 'd');
    }
}

static void put_bash_values(FILE *stream)
{
    for (size_t i = 0; i < command_table_size; i++) {
        const unsigned command = command_table[i].form.command;
        for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
            if (entry->argument == NULL || !option_is_of(entry, command)) {
                continue;
            }
            fprintf(stream, "    %u:--%s", command, entry->name);
            if (entry->letter != '\0') {
                fprintf(stream, "|%u:-%c", command, entry->letter);
            }
            fputc(')', stream);
            put_bash_value(stream, entry);
        }
    }
}

static void put_bash_names(FILE *stream)
{
    for (size_t i = 0; i < command_table_size; i++) {
        const unsigned command = command_table[i].form.command;
        fprintf(stream, "        %u:-*) words='", command);
        for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
            if (option_is_of(entry, command)) {
                fprintf(stream, "--%s ", entry->name);
            }
            if (option_is_of(entry, command) && entry->letter != '\0') {
                fprintf(stream, "-%c ", entry->letter);
            }
        }
        fputs("' ;;\n", stream);
    }
}

static void put_bash_words(FILE *stream)
{
    fputs("            words='", stream);
    for (size_t i = 1; i < command_table_size; i++) {
        fprintf(stream, "%s ", command_table[i].form.name);
    }
    fputs("'\n", stream);
}

/* Text in a specification of _arguments, within single quotes. */
static void zsh_text(FILE *stream, const char *text)
{
    for (const char *byte = text; *byte != '\0'; byte++) {
        if (*byte == '\'') {
            fputs("'\\''", stream);
        } else {
            fputs(strchr("[]:\\", *byte) != NULL ? "\\" : "", stream);
            fputc(*byte, stream);
        }
    }
}

static void zsh_option(FILE *stream, const struct option_entry *entry)
{
    if (entry->letter == '\0') {
        fprintf(stream, "            '*--%s[", entry->name);
    } else {
        fprintf(stream, "            '*'{-%c,--%s}'[", entry->letter, entry->name);
    }
    zsh_text(stream, entry->help);
    fputc(']', stream);
    if (entry->argument != NULL) {
        fputc(':', stream);
        zsh_text(stream, entry->argument);
        fputc(':', stream);
        const enum offer offer = offer_of(entry);
        if (offer == OFFER_WORDS) {
            fputc('(', stream);
            put_words(stream, entry);
            fputc(')', stream);
        } else {
            fputs(offer == OFFER_FILES     ? "_files"
                  : offer == OFFER_FOLDERS ? "_files -/"
                                           : " ",
                  stream);
        }
    }
    fputs("'\n", stream);
}

static void put_zsh_commands(FILE *stream)
{
    for (size_t i = 1; i < command_table_size; i++) {
        fprintf(stream, "        '%s:", command_table[i].form.name);
        zsh_text(stream, command_table[i].line);
        fputs("'\n", stream);
    }
}

static void put_zsh_options(FILE *stream)
{
    for (size_t i = command_table_size; i-- > 0;) {
        fprintf(stream, "    %s)\n        options=(\n", i == 0 ? "*" : command_table[i].form.name);
        for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
            if (option_is_of(entry, command_table[i].form.command)) {
                zsh_option(stream, entry);
            }
        }
        fputs("        )\n        ;;\n", stream);
    }
}

/* Writes a template; a line "@NAME@" stands for what is made from the tables. */
int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*put)(FILE *stream);
    } parts[] = {{"@SYNOPSIS@\n", put_synopsis},
                 {"@TARGETS@\n", put_targets},
                 {"@COMMANDS@\n", put_commands},
                 {"@OPTIONS@\n", put_options},
                 {"@EXITS@\n", put_exits},
                 {"@EXAMPLES@\n", put_examples},
                 {"@BASH_COMMANDS@\n", put_bash_commands},
                 {"@BASH_VALUES@\n", put_bash_values},
                 {"@BASH_NAMES@\n", put_bash_names},
                 {"@BASH_WORDS@\n", put_bash_words},
                 {"@ZSH_COMMANDS@\n", put_zsh_commands},
                 {"@ZSH_OPTIONS@\n", put_zsh_options}};
    char line[512];
    FILE *template = argc == 2 ? fopen(argv[1], "re") : NULL;
    if (template == NULL) {
        fputs("usage: append_docs TEMPLATE\n", stderr);
        return 2;
    }
    bool is_good = true;
    while (is_good && fgets(line, sizeof line, template) != NULL) {
        size_t part = 0;
        while (part < sizeof parts / sizeof parts[0] && strcmp(parts[part].name, line) != 0) {
            part++;
        }
        if (part < sizeof parts / sizeof parts[0]) {
            parts[part].put(stdout);
        } else if (line[0] != '@') {
            fputs(line, stdout);
        } else {
            fprintf(stderr, "%s: nothing is known of %s", argv[1], line);
            is_good = false;
        }
    }
    is_good = is_good && !ferror(template) && fflush(stdout) == 0 && !ferror(stdout);
    fclose(template);
    return is_good ? 0 : 1;
}
