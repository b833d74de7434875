/* Completions for bash and zsh. */
#include <ctype.h>
#include <string.h>

#include "adapters/registry.h"
#include "docs/docs.h"

/* What a shell offers for the value of an option. */
enum offer {
    OFFER_NOTHING,
    OFFER_FILES,
    OFFER_FOLDERS,
    OFFER_ADAPTERS,
    OFFER_WORDS, /* those of its argument that are in small letters: count|none|SQL */
};

static enum offer offer_of(const struct option_entry *entry)
{
    const char *argument = entry->argument;
    if (strcmp(entry->name, "adapter") == 0) {
        return OFFER_ADAPTERS;
    }
    if (strcmp(argument, "FILE") == 0) {
        return OFFER_FILES;
    }
    if (strcmp(argument, "DIR") == 0) {
        return OFFER_FOLDERS;
    }
    return islower((unsigned char)argument[0]) && strchr(argument, '|') != NULL ? OFFER_WORDS
                                                                                : OFFER_NOTHING;
}

/* The words of "count|none|SQL" that can be taken as they are, each with a blank behind it. */
static void put_words(FILE *stream, const char *argument)
{
    for (const char *word = argument; *word != '\0';) {
        const size_t length = strcspn(word, "|");
        const size_t small = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-");
        if (small == length || word[small] == '[') {
            fprintf(stream, "%.*s ", (int)small, word);
        }
        word += length;
        word += *word == '|';
    }
}

static void put_adapters(FILE *stream)
{
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        fprintf(stream, "%s ", (*a)->name);
    }
}

struct writer {
    FILE *stream;
    enum command command; /* whose options are wanted */
};

static void bash_value(const struct option_entry *entry, const char *title, void *context)
{
    const struct writer *writer = context;
    (void)title;
    if (entry->argument == NULL || !option_is_of(entry, writer->command)) {
        return;
    }
    FILE *stream = writer->stream;
    fprintf(stream, "    %u:--%s", (unsigned)writer->command, entry->name);
    if (option_letter(entry) != '\0') {
        fprintf(stream, "|%u:-%c", (unsigned)writer->command, option_letter(entry));
    }
    fputc(')', stream);
    switch (offer_of(entry)) {
    case OFFER_NOTHING:
        fputs(" return ;;\n", stream);
        return;
    case OFFER_FILES:
        fputs(" compopt -o filenames; COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n",
              stream);
        return;
    case OFFER_FOLDERS:
        fputs(" compopt -o filenames; COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n",
              stream);
        return;
    case OFFER_ADAPTERS:
        fputs(" words='", stream);
        put_adapters(stream);
        break;
    case OFFER_WORDS:
        fputs(" words='", stream);
        put_words(stream, entry->argument);
        break;
    }
    fputs("' ;;\n", stream);
}

static void bash_name(const struct option_entry *entry, const char *title, void *context)
{
    const struct writer *writer = context;
    (void)title;
    if (option_is_of(entry, writer->command)) {
        fprintf(writer->stream, "--%s ", entry->name);
    }
    if (option_is_of(entry, writer->command) && option_letter(entry) != '\0') {
        fprintf(writer->stream, "-%c ", option_letter(entry));
    }
}

void docs_write_bash(FILE *stream)
{
    fputs("# bash completion for append; made from its tables of commands and options\n"
          "_append() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=1 words=\n"
          "    COMPREPLY=()\n"
          "    case ${COMP_WORDS[1]} in\n",
          stream);
    for (size_t i = 1; i < command_table_size; i++) {
        fprintf(stream, "    %s) command=%u ;;\n", command_table[i].name,
                (unsigned)command_table[i].command);
    }
    fputs("    esac\n"
          "    [ \"$COMP_CWORD\" -gt 1 ] || command=1\n"
          "    case $command:$before in\n",
          stream);
    for (size_t i = 0; i < command_table_size; i++) {
        struct writer writer = {stream, command_table[i].command};
        docs_visit_options(bash_value, &writer);
    }
    fputs("    *)\n"
          "        case $command:$current in\n",
          stream);
    for (size_t i = 0; i < command_table_size; i++) {
        struct writer writer = {stream, command_table[i].command};
        fprintf(stream, "        %u:-*) words='", (unsigned)writer.command);
        docs_visit_options(bash_name, &writer);
        fputs("' ;;\n", stream);
    }
    fputs("        esac\n"
          "        [ \"$COMP_CWORD\" -ne 1 ] && [[ $before != help ]] || [[ $current == -* ]] ||\n"
          "            words='",
          stream);
    for (size_t i = 1; i < command_table_size; i++) {
        fprintf(stream, "%s ", command_table[i].name);
    }
    fputs("'\n"
          "        ;;\n"
          "    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "    if [ ${#COMPREPLY[@]} -eq 0 ] && [ -z \"$words\" ]; then\n"
          "        compopt -o filenames\n"
          "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
          "    fi\n"
          "}\n"
          "complete -F _append append\n",
          stream);
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

static void zsh_option(const struct option_entry *entry, const char *title, void *context)
{
    const struct writer *writer = context;
    FILE *stream = writer->stream;
    (void)title;
    if (!option_is_of(entry, writer->command)) {
        return;
    }
    if (option_letter(entry) == '\0') {
        fprintf(stream, "            '*--%s[", entry->name);
    } else {
        fprintf(stream, "            '*'{-%c,--%s}'[", option_letter(entry), entry->name);
    }
    zsh_text(stream, entry->help);
    fputc(']', stream);
    if (entry->argument != NULL) {
        fputc(':', stream);
        zsh_text(stream, entry->argument);
        fputc(':', stream);
        switch (offer_of(entry)) {
        case OFFER_NOTHING:
            fputc(' ', stream);
            break;
        case OFFER_FILES:
            fputs("_files", stream);
            break;
        case OFFER_FOLDERS:
            fputs("_files -/", stream);
            break;
        case OFFER_ADAPTERS:
            fputc('(', stream);
            put_adapters(stream);
            fputc(')', stream);
            break;
        case OFFER_WORDS:
            fputc('(', stream);
            put_words(stream, entry->argument);
            fputc(')', stream);
            break;
        }
    }
    fputs("'\n", stream);
}

void docs_write_zsh(FILE *stream)
{
    fputs("#compdef append\n"
          "# zsh completion for append; made from its tables of commands and options\n"
          "_append() {\n"
          "    local command=${words[2]}\n"
          "    local -a commands options\n"
          "    commands=(\n",
          stream);
    for (size_t i = 1; i < command_table_size; i++) {
        fprintf(stream, "        '%s:", command_table[i].name);
        zsh_text(stream, command_table[i].line);
        fputs("'\n", stream);
    }
    fputs("    )\n"
          "    case $command in\n",
          stream);
    for (size_t i = command_table_size; i-- > 0;) {
        struct writer writer = {stream, command_table[i].command};
        fprintf(stream, "    %s)\n        options=(\n", i == 0 ? "*" : command_table[i].name);
        docs_visit_options(zsh_option, &writer);
        fputs("        )\n        ;;\n", stream);
    }
    fputs("    esac\n"
          "    if (( CURRENT == 2 )) && [[ ${words[CURRENT]} != -* ]] || [[ $command == help ]]; "
          "then\n"
          "        _describe -t commands command commands\n"
          "        return\n"
          "    fi\n"
          "    _arguments -S $options '*: :_files'\n"
          "}\n"
          "_append \"$@\"\n",
          stream);
}
