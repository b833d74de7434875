/*
 * Writes the documents that are made from the tables of commands, options, adapters and figures:
 * the manual page, in the mdoc language, docs/options.md, and the completions for bash and zsh.
 *
 * This is a separate program that only the build uses. It reads a template and replaces every line
 * "@NAME@" with the part of the document that has this name.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "adapters/registry.h"
#include "base/text.h"
#include "commands/command.h"
#include "figures/figures.h"

enum {
    LINE_COLUMNS = 74, /* longest line of running text */
    BOLD_BYTES = 3,    /* bytes of the mdoc escape that changes the font */
    TEXT_BYTES = 1024,
    COMMANDS_BYTES = 128,
};

/* The text of the manual page. */

/* Writes text in the mdoc language. Escapes characters that are markup in mdoc, sets `quoted` words
 * in bold, begins each sentence on a new line, and breaks long lines. */
static void put_text(const char *text, bool is_line_start)
{
    size_t column = 0;
    bool is_bold = false;
    for (const char *byte = text; *byte != '\0'; byte++) {
        const bool ends_sentence =
            byte[0] == '.' && byte[1] == ' ' && byte[2] >= 'A' && byte[2] <= 'Z';
        const bool is_full = *byte == ' ' && column + 1 + strcspn(byte + 1, " \n") > LINE_COLUMNS;
        if (is_line_start && (*byte == '.' || *byte == '\'')) {
            printf("\\&");
        }
        is_line_start = *byte == '\n' || is_full || ends_sentence;
        column = is_line_start ? 0 : column + 1;
        if (*byte == '`') {
            is_bold = !is_bold;
            column += BOLD_BYTES - 1;
            printf(is_bold ? "\\fB" : "\\fR");
        } else if (*byte == '\\') {
            printf("\\e");
        } else if (ends_sentence) {
            puts(".");
            byte++;
        } else {
            putchar(is_full ? '\n' : *byte);
        }
    }
}

/* Writes an mdoc macro for each word of a usage, each on its own line. "[TARGET]" is optional, a
 * word in capitals is an argument, and any other word is part of the command. */
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

/* Returns the option at position `place` of the documents, or NULL after the last option. The
 * options of `sweep` and `certify` are last in the documents, although they are first in
 * option_table. */
static const struct option_entry *option_at_place(size_t place)
{
    size_t first = 0, count = 0;
    while (option_table[first].commands == COMMAND_SWEEP ||
           option_table[first].commands == COMMAND_CERTIFY) {
        first++;
    }
    while (option_table[count].name != NULL) {
        count++;
    }
    return place < count ? &option_table[(first + place) % count] : NULL;
}

/* Writes an option's help, default and details: "rows in one append (100). DETAILS". */
static void describe(const struct option_entry *entry, char text[TEXT_BYTES])
{
    char initial[OPTION_DEFAULT_BYTES];
    option_describe_default(entry, initial);
    snprintf(text, TEXT_BYTES, "%s%s%s%s%s%s", entry->help, initial[0] == '\0' ? "" : " (", initial,
             initial[0] == '\0' ? "" : ")", entry->details == NULL ? "" : ". ",
             entry->details == NULL ? "" : entry->details);
}

/* Lists the commands that take an option, as "run, find-max". The list is empty if all commands
 * that connect to a database take the option. */
static void list_commands(const struct option_entry *entry, char text[COMMANDS_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < command_table_size; i++) {
        const struct command_form *form = &command_table[i].form;
        if ((entry->commands & COMMANDS_ALL) != COMMANDS_ALL &&
            option_is_of(entry, form->command)) {
            used +=
                (size_t)snprintf(text + used, COMMANDS_BYTES - used, "%s%s", used == 0 ? "" : ", ",
                                 form->name == NULL ? "run" : form->name);
        }
    }
}

static void put_man_option(const struct option_entry *entry, bool is_first)
{
    if (entry->group != NULL) {
        printf("%s.Ss %s\n.Bl -tag -width Ds\n", is_first ? "" : ".El\n", entry->group);
    }
    printf(".It Fl -%s", entry->name);
    if (entry->argument != NULL) {
        printf(" %sAr %s", option_may_stand_alone(entry) ? "Ns " : "", entry->argument);
    }
    if (entry->letter != '\0') {
        printf(" , Fl %c", entry->letter);
    }
    puts("");
    char text[TEXT_BYTES], commands[COMMANDS_BYTES];
    describe(entry, text);
    put_text(text, true);
    puts("");
    if (entry->page != NULL) {
        printf("See\n.Pa docs/%.*s .\n", (int)strcspn(entry->page, "#"), entry->page);
    }
    list_commands(entry, commands);
    if (commands[0] != '\0') {
        printf("[%s]\n", commands);
    }
}

/* Writes a part of the manual page. Returns false if the part is unknown. */
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
        const struct option_entry *entry;
        for (size_t i = 0; (entry = option_at_place(i)) != NULL; i++) {
            put_man_option(entry, i == 0);
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

/* The parts of docs/options.md. */

/* Writes the text of a cell of a table. Escapes `|` everywhere, and other markup only outside
 * `quoted` text. */
static void put_cell(const char *text)
{
    bool is_literal = false;
    for (const char *byte = text; *byte != '\0'; byte++) {
        is_literal = *byte == '`' ? !is_literal : is_literal;
        if (*byte == '|' || (!is_literal && strchr("*_<[]", *byte) != NULL)) {
            putchar('\\');
        }
        putchar(*byte);
    }
}

static void put_markdown_option(const struct option_entry *entry, bool is_first)
{
    char text[TEXT_BYTES], commands[COMMANDS_BYTES];
    describe(entry, text);
    list_commands(entry, commands);
    if (entry->group != NULL) {
        printf("%s### %s\n\n| option | meaning | commands |\n|---|---|---|\n", is_first ? "" : "\n",
               entry->group);
    }
    printf("| `--%s%s", entry->name,
           entry->argument == NULL || option_may_stand_alone(entry) ? "" : " ");
    for (const char *byte = entry->argument; byte != NULL && *byte != '\0'; byte++) {
        if (*byte == '|') {
            putchar('\\');
        }
        putchar(*byte);
    }
    printf("`");
    if (entry->letter != '\0') {
        printf(", `-%c`", entry->letter);
    }
    printf(" | ");
    put_cell(text);
    if (entry->page != NULL) {
        printf(" ([%.*s](%s))", (int)strcspn(entry->page, "#"), entry->page, entry->page);
    }
    const char *all = entry->commands == COMMANDS_ALL ? "all that connect" : "all";
    printf(" | %s%s |\n", commands, commands[0] == '\0' ? all : "");
}

/* Writes one word of a list, in code quotes. Begins a new line when the word would exceed
 * LINE_COLUMNS. */
static void put_word(const char *word, bool is_last, size_t *column)
{
    const size_t length = strlen(word) + strlen("``,");
    if (*column > 0 && *column + 1 + length > LINE_COLUMNS) {
        putchar('\n');
        *column = 0;
    }
    *column += (size_t)printf("%s`%s`%s", *column > 0 ? " " : "", word, is_last ? "" : ",");
}

/* Writes the names of all figures that are numbers: first a table of the figures with a label, then
 * a list of the other figures. */
static void put_figures(void)
{
    size_t column = 0, count = 0;
    puts("| figure | label in the report |\n|---|---|");
    for (size_t i = 0; i < FIGURES; i++) {
        const struct figure *figure = &figure_table[i];
        if (figure->key != NULL && figure->label != NULL) {
            printf("| `%s` | %s |\n", figure->key, figure->label);
        }
        count += figure->key != NULL && figure->label == NULL && figure_is_number(figure->unit);
    }
    puts("\nThe other figures:\n");
    for (size_t i = 0; i < FIGURES; i++) {
        const struct figure *figure = &figure_table[i];
        if (figure->key != NULL && figure->label == NULL && figure_is_number(figure->unit)) {
            put_word(figure->key, --count == 0, &column);
        }
    }
    puts(".\n\nLatencies are named `OPERATION_POINT_ms`, as in `append_p99_ms`. OPERATION is one "
         "of\n");
    const struct operation_list operations = operation_list_all();
    column = 0;
    for (size_t i = 0; i < operations.count; i++) {
        put_word(operations.entries[i].name, i + 1 == operations.count, &column);
    }
    puts(".\n\nPOINT is one of\n");
    column = 0;
    for (size_t i = 0; i < operations.points.count; i++) {
        put_word(operations.points.entries[i].key, i + 1 == operations.points.count, &column);
    }
    puts(",\nor another percentile that `--percentiles` or a bound of `--expect` names: `p75`, "
         "`p9999` for 99.99.");
}

/* Writes a part of docs/options.md. Returns false if the part is unknown. */
static bool put_markdown(const char *part)
{
    if (strcmp(part, "@MARKDOWN_OPTIONS@\n") == 0) {
        const struct option_entry *entry;
        for (size_t i = 0; (entry = option_at_place(i)) != NULL; i++) {
            put_markdown_option(entry, i == 0);
        }
    } else if (strcmp(part, "@MARKDOWN_FIGURES@\n") == 0) {
        put_figures();
    } else {
        return false;
    }
    return true;
}

/* The completions. */

/* Writes the shell code that offers values for an option: files, folders, adapters, workloads, or
 * the lower-case choices of the option's argument, such as "count" and "none" of "count|none|SQL".
 * For other options the code offers no values. */
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
        /* a workload may also be a file */
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

/* Writes bash code with the names of a command's options if `is_names`, else with the values to
 * offer for each option. */
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

/* Writes text inside a single-quoted argument of _arguments, a function of zsh. */
static void put_zsh_text(const char *text)
{
    for (const char *byte = text; *byte != '\0'; byte++) {
        if (*byte == '\'') {
            printf("'\\'");
        } else if (strchr("[]:\\", *byte) != NULL) {
            putchar('\\');
        }
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

/* Writes a part of the completions. Returns false if the part is unknown. */
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
    bool is_written = true;
    while (is_written && fgets(line, sizeof line, template) != NULL) {
        if (line[0] != '@') {
            fputs(line, stdout);
        } else if (!put_man(line) && !put_markdown(line) && !put_completion(line)) {
            fprintf(stderr, "%s: unknown part: %s", argv[1], line);
            is_written = false;
        }
    }
    is_written = is_written && !ferror(template) && fflush(stdout) == 0 && !ferror(stdout);
    fclose(template);
    return is_written ? 0 : 1;
}
