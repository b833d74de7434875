/*
 * What is made from the tables of commands and options beside --help: the manual page, in the mdoc
 * language, and completions for bash and zsh. A program of the build, not part of append: it writes
 * a template in which a line "@NAME@" stands for what is made from the tables.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "adapters/registry.h"
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

static void put_man_option(const struct option_entry *entry)
{
    if (entry->group != NULL) {
        printf("%s.Ss %s\n.Bl -tag -width Ds\n", entry == option_table ? "" : ".El\n",
               entry->group);
    }
    printf(".It Fl -%s", entry->name);
    if (entry->argument != NULL) {
        printf(" %sAr %s", option_may_stand_alone(entry) ? "Ns " : "", entry->argument);
    }
    if (entry->letter != '\0') {
        printf(" , Fl %c", entry->letter);
    }
    puts("");
    put_text(entry->help, true);
    /* "[append, find-max]", unless it is one of all commands that connect */
    const char *before = "\n["; /* a line of its own: none is longer than 80 columns */
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

/* What a part of the manual page stands for. False: it has none of that name. */
static bool put_man(const char *part)
{
    const struct command_entry *const end = command_table + command_table_size;
    const bool is_of_exits = strcmp(part, "@EXITS@\n") == 0;
    if (strcmp(part, "@SYNOPSIS@\n") == 0) {
        for (const struct command_entry *entry = command_table; entry < end; entry++) {
            put_usage(entry->form.usage);
            printf("%s", entry->form.command == COMMAND_HELP ? "" : ".Op Ar options\n");
            if (entry->form.command == COMMAND_RUN) {
                put_usage("append SESSIONS [RECORDS] [TARGET] --duration T");
                puts(".Op Ar options");
            }
        }
    } else if (strcmp(part, "@TARGETS@\n") == 0) {
        put_text(command_table[0].target, true);
        puts(".Bl -tag -width Ds");
        for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
            printf(".It Ar %s : Ns Ar ...\n", (*a)->name);
            put_text((*a)->summary, true);
            puts("");
        }
        puts(".El");
    } else if (is_of_exits || strcmp(part, "@COMMANDS@\n") == 0) {
        puts(".Bl -tag -width Ds");
        for (const struct command_entry *entry = command_table; entry < end; entry++) {
            const char *name = entry->form.name;
            printf(".It Ic append%s%s\n", name == NULL ? "" : " ", name == NULL ? "" : name);
            put_text(is_of_exits ? entry->exits : entry->about, true);
        }
        puts(".El");
    } else if (strcmp(part, "@OPTIONS@\n") == 0) {
        for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
            put_man_option(entry);
        }
        puts(".El");
    } else if (strcmp(part, "@EXAMPLES@\n") == 0) {
        for (const struct command_entry *entry = command_table; entry < end; entry++) {
            printf("%s%c", entry == command_table ? "" : ".Pp\n",
                   toupper((unsigned char)entry->line[0]));
            put_text(entry->line + 1, false);
            puts(":\n.Bd -literal -offset indent");
            put_text(entry->example, true);
            puts("\n.Ed");
        }
    } else {
        return false;
    }
    return true;
}

/* What a shell offers for the value of an option: files, folders, adapters, workloads, what is in
 * small letters in its argument (count|none|SQL), or nothing. */
static void put_offer(const struct option_entry *entry, bool is_zsh)
{
    const char *argument = entry->argument;
    const bool is_file = strcmp(argument, "FILE") == 0;
    const bool is_adapter = strcmp(entry->name, "adapter") == 0;
    const bool is_workload = strcmp(entry->name, "workload") == 0;
    if (is_file || strcmp(argument, "DIR") == 0) {
        printf(is_zsh ? "_files%s"
                      : " compopt -o filenames; COMPREPLY=($(compgen -%s -- \"$current\")); return "
                        ";;\n",
               is_zsh ? (is_file ? "" : " -/") : (is_file ? "f" : "d"));
    } else if (is_workload) {
        /* or a file of one's own */
        printf("%s", is_zsh ? "{compadd" : " COMPREPLY=($(compgen -f -W '");
        for (const struct script_built_in *script = script_built_ins; script->name != NULL;
             script++) {
            printf(" %s", script->name);
        }
        printf("%s", is_zsh ? "; _files}" : "' -- \"$current\")); return ;;\n");
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

/* The names of the options of a command, or what is offered behind each. */
static void put_bash_options(enum command command, bool is_names)
{
    printf(is_names ? "        %u:-*) words='" : "", (unsigned)command);
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (!option_is_of(entry, command)) {
            continue;
        }
        if (is_names) {
            printf("--%s ", entry->name);
            printf(entry->letter != '\0' ? "-%c " : "", entry->letter);
        } else if (!option_may_stand_alone(entry)) {
            printf("    %u:--%s", (unsigned)command, entry->name);
            printf(entry->letter != '\0' ? "|%u:-%c)" : ")", (unsigned)command, entry->letter);
            put_offer(entry, false);
        }
    }
    printf("%s", is_names ? "' ;;\n" : "");
}

/* Text in a specification of _arguments, within single quotes. */
static void put_zsh_text(const char *text)
{
    for (const char *byte = text; *byte != '\0'; byte++) {
        printf(*byte == '\'' ? "'\\'" : strchr("[]:\\", *byte) != NULL ? "\\" : "");
        putchar(*byte);
    }
}

static void put_zsh_options(const struct command_entry *command)
{
    printf("    %s)\n        options=(\n", command == command_table ? "*" : command->form.name);
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        if (!option_is_of(entry, command->form.command)) {
            continue;
        }
        if (entry->letter == '\0') {
            printf("            '*--%s[", entry->name);
        } else {
            printf("            '*'{-%c,--%s}'[", entry->letter, entry->name);
        }
        put_zsh_text(entry->help);
        putchar(']');
        if (!option_may_stand_alone(entry)) {
            putchar(':');
            put_zsh_text(entry->argument);
            putchar(':');
            put_offer(entry, true);
        }
        puts("'");
    }
    puts("        )\n        ;;");
}

/* What a part of the completions stands for. False: they have none of that name. */
static bool put_completion(const char *part)
{
    const struct command_entry *const end = command_table + command_table_size;
    const struct command_entry *const named = command_table + 1;
    if (strcmp(part, "@BASH_COMMANDS@\n") == 0) {
        for (const struct command_entry *entry = named; entry < end; entry++) {
            printf("    %s) command=%u ;;\n", entry->form.name, (unsigned)entry->form.command);
        }
    } else if (strcmp(part, "@BASH_WORDS@\n") == 0) {
        printf("            words='");
        for (const struct command_entry *entry = named; entry < end; entry++) {
            printf("%s ", entry->form.name);
        }
        puts("'");
    } else if (strcmp(part, "@BASH_VALUES@\n") == 0 || strcmp(part, "@BASH_NAMES@\n") == 0) {
        const bool is_names = strstr(part, "NAMES") != NULL;
        for (const struct command_entry *entry = command_table; entry < end; entry++) {
            put_bash_options(entry->form.command, is_names);
        }
    } else if (strcmp(part, "@ZSH_COMMANDS@\n") == 0) {
        for (const struct command_entry *entry = named; entry < end; entry++) {
            printf("        '%s:", entry->form.name);
            put_zsh_text(entry->line);
            puts("'");
        }
    } else if (strcmp(part, "@ZSH_OPTIONS@\n") == 0) {
        for (const struct command_entry *entry = end; entry-- > command_table;) {
            put_zsh_options(entry);
        }
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    char line[512];
    FILE *template = argc == 2 ? fopen(argv[1], "re") : NULL;
    if (template == NULL) {
        fputs("usage: append_docs TEMPLATE\n", stderr);
        return 2;
    }
    bool is_good = true;
    while (is_good && fgets(line, sizeof line, template) != NULL) {
        if (line[0] != '@') {
            fputs(line, stdout);
        } else if (!put_man(line) && !put_completion(line)) {
            fprintf(stderr, "%s: nothing is known of %s", argv[1], line);
            is_good = false;
        }
    }
    is_good = is_good && !ferror(template) && fflush(stdout) == 0 && !ferror(stdout);
    fclose(template);
    return is_good ? 0 : 1;
}
