/*
 * What is made from the tables of commands and options beside --help: the manual page, in the mdoc
 * language, and completions for bash and zsh. A program of the build, not part of append: it writes
 * a template in which a line "@NAME@" stands for what is made from the tables.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "adapters/registry.h"
#include "base/text.h"
#include "commands/command.h"

/* Text as it is to be read: what the language would take for its own is escaped, and a sentence
 * begins a line, as it asks for. */
static void put_text(const char *text, bool is_line_start)
{
    for (const char *byte = text; *byte != '\0'; byte++) {
        if (is_line_start && (*byte == '.' || *byte == '\'')) {
            printf("\\&");
        }
        is_line_start = *byte == '\n';
        if (*byte == '\\') {
            printf("\\e");
        } else if (byte[0] == '.' && byte[1] == ' ' && byte[2] >= 'A' && byte[2] <= 'Z') {
            puts(".");
            byte++;
        } else {
            putchar(*byte);
        }
    }
}

/* A macro line for each word of a usage: "[TARGET]" is optional, capitals are arguments, the rest
 * are commands. */
static void put_usage(const char *usage)
{
    puts(".Nm");
    for (const char *word = usage + strcspn(usage, " "); *word != '\0';) {
        word += strspn(word, " ");
        const int length = (int)strcspn(word, " ");
        if (word[0] == '[') {
            printf(".Op Ar %.*s\n", length - 2, word + 1);
        } else if (word[0] == '-') {
            printf(".Fl %.*s\n", length - 1, word + 1);
        } else {
            printf(".%s %.*s\n", islower((unsigned char)word[0]) ? "Cm" : "Ar", length, word);
        }
        word += length;
    }
}

static void put_synopsis(void)
{
    for (size_t i = 0; i < command_table_size; i++) {
        put_usage(command_table[i].form.usage);
        printf("%s", command_table[i].form.command == COMMAND_HELP ? "" : ".Op Ar options\n");
        if (command_table[i].form.command == COMMAND_RUN) {
            put_usage("append SESSIONS [RECORDS] [TARGET] --duration T");
            puts(".Op Ar options");
        }
    }
}

static void put_targets(void)
{
    put_text(command_table[0].target, true);
    puts(".Bl -tag -width Ds");
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        printf(".It Ar %s : Ns Ar ...\n", (*a)->name);
        put_text((*a)->summary, true);
        puts("");
    }
    puts(".El");
}

/* A text for each command. */
static void put_list(bool is_of_exits)
{
    puts(".Bl -tag -width Ds");
    for (size_t i = 0; i < command_table_size; i++) {
        const struct command_entry *entry = &command_table[i];
        printf(".It Ic append%s%s\n", i == 0 ? "" : " ", i == 0 ? "" : entry->form.name);
        put_text(is_of_exits ? entry->exits : entry->about, true);
    }
    puts(".El");
}

static void put_commands(void)
{
    put_list(false);
}

static void put_exits(void)
{
    put_list(true);
}

static void put_options(void)
{
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (entry->group != NULL) {
            printf("%s.Ss %s\n.Bl -tag -width Ds\n", entry == option_table ? "" : ".El\n",
                   entry->group);
        }
        printf(".It Fl -%s", entry->name);
        if (entry->argument != NULL) {
            printf(" Ar %s", entry->argument);
        }
        if (entry->letter != '\0') {
            printf(" , Fl %c", entry->letter);
        }
        puts("");
        put_text(entry->help, true);
        /* "[append, find-max]", unless it is one of all commands that connect */
        const char *before = " [";
        for (size_t i = 0; i < command_table_size; i++) {
            const struct command_form *form = &command_table[i].form;
            if ((entry->commands & COMMANDS_ALL) != COMMANDS_ALL &&
                option_is_of(entry, form->command)) {
                printf("%s%s", before, form->name == NULL ? "append" : form->name);
                before = ", ";
            }
        }
        puts(before[0] == ',' ? "]" : "");
    }
    puts(".El");
}

static void put_examples(void)
{
    for (size_t i = 0; i < command_table_size; i++) {
        const char *line = command_table[i].line;
        printf("%s%c", i == 0 ? "" : ".Pp\n", toupper((unsigned char)line[0]));
        put_text(line + 1, false);
        puts(":\n.Bd -literal -offset indent");
        put_text(command_table[i].example, true);
        puts("\n.Ed");
    }
}

/* What a shell offers for the value of an option: files, folders, adapters, what is in small
 * letters in its argument (count|none|SQL), or nothing. */
static void put_offer(const struct option_entry *entry, bool is_zsh)
{
    const char *argument = entry->argument;
    const bool is_file = strcmp(argument, "FILE") == 0;
    const bool is_adapter = strcmp(entry->name, "adapter") == 0;
    if (is_file || strcmp(argument, "DIR") == 0) {
        printf(is_zsh ? "_files%s"
                      : " compopt -o filenames; COMPREPLY=($(compgen -%s -- \"$current\")); return "
                        ";;\n",
               is_zsh ? (is_file ? "" : " -/") : (is_file ? "f" : "d"));
    } else if (!is_adapter &&
               (!islower((unsigned char)*argument) || strchr(argument, '|') == NULL)) {
        printf("%s", is_zsh ? " " : " return ;;\n");
    } else {
        printf("%s", is_zsh ? "(" : " words='");
        for (const struct adapter *const *a = registry_adapters; is_adapter && *a != NULL; a++) {
            printf("%s ", (*a)->name);
        }
        for (const char *word = argument; !is_adapter && *word != '\0';) {
            const size_t length = strcspn(word, "|");
            if (strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length) {
                printf("%.*s ", (int)length, word);
            }
            word += length;
            word += *word == '|';
        }
        printf("%s", is_zsh ? ")" : "' ;;\n");
    }
}

static void put_bash_commands(void)
{
    for (size_t i = 1; i < command_table_size; i++) {
        const struct command_form *form = &command_table[i].form;
        printf("    %s) command=%u ;;\n", form->name, (unsigned)form->command);
    }
}

static void put_bash_values(void)
{
    for (size_t i = 0; i < command_table_size; i++) {
        const unsigned command = command_table[i].form.command;
        for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
            if (entry->argument != NULL && option_is_of(entry, command)) {
                printf("    %u:--%s", command, entry->name);
                if (entry->letter != '\0') {
                    printf("|%u:-%c", command, entry->letter);
                }
                putchar(')');
                put_offer(entry, false);
            }
        }
    }
}

static void put_bash_names(void)
{
    for (size_t i = 0; i < command_table_size; i++) {
        const unsigned command = command_table[i].form.command;
        printf("        %u:-*) words='", command);
        for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
            if (option_is_of(entry, command)) {
                printf("--%s ", entry->name);
                printf(entry->letter != '\0' ? "-%c " : "", entry->letter);
            }
        }
        puts("' ;;");
    }
}

static void put_bash_words(void)
{
    printf("            words='");
    for (size_t i = 1; i < command_table_size; i++) {
        printf("%s ", command_table[i].form.name);
    }
    puts("'");
}

/* Text in a specification of _arguments, within single quotes. */
static void put_zsh_text(const char *text)
{
    for (const char *byte = text; *byte != '\0'; byte++) {
        printf(*byte == '\'' ? "'\\'" : strchr("[]:\\", *byte) != NULL ? "\\" : "");
        putchar(*byte);
    }
}

static void put_zsh_commands(void)
{
    for (size_t i = 1; i < command_table_size; i++) {
        printf("        '%s:", command_table[i].form.name);
        put_zsh_text(command_table[i].line);
        puts("'");
    }
}

static void put_zsh_options(void)
{
    for (size_t i = command_table_size; i-- > 0;) {
        printf("    %s)\n        options=(\n", i == 0 ? "*" : command_table[i].form.name);
        for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
            if (!option_is_of(entry, command_table[i].form.command)) {
                continue;
            }
            if (entry->letter == '\0') {
                printf("            '*--%s[", entry->name);
            } else {
                printf("            '*'{-%c,--%s}'[", entry->letter, entry->name);
            }
            put_zsh_text(entry->help);
            putchar(']');
            if (entry->argument != NULL) {
                putchar(':');
                put_zsh_text(entry->argument);
                putchar(':');
                put_offer(entry, true);
            }
            puts("'");
        }
        puts("        )\n        ;;");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*put)(void);
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
        while (part < COUNT_OF(parts) && strcmp(parts[part].name, line) != 0) {
            part++;
        }
        if (part < COUNT_OF(parts)) {
            parts[part].put();
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
