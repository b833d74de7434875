#include "cli/help.h"

#include <string.h>

#include "adapters/registry.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/option_table.h"

/* What stands behind the scheme of a target. */
static const char *target_form(const struct adapter *adapter)
{
    if ((adapter->flags & ADAPTER_STRING) != 0) {
        return "DSN=name or connection string";
    }
    if ((adapter->flags & ADAPTER_FILE) != 0) {
        return "path";
    }
    if ((adapter->flags & ADAPTER_ONE_DATABASE) != 0) {
        return "//user@host:port";
    }
    return (adapter->flags & ADAPTER_EMBEDDED) != 0 ? "" : "//user@host:port/database";
}

/* Every way to call the program, for the command that needs no name. What a command does stands
 * below a call that is too long to have it beside. */
static void print_commands(FILE *stream)
{
    enum {
        CALL_WIDTH = 33
    };
    fputs("       append SESSIONS [RECORDS] [TARGET] --duration T [options]\n", stream);
    for (size_t i = 1; i < command_table_size; i++) {
        const char *usage = command_table[i].usage;
        const bool is_long = strlen(usage) > CALL_WIDTH;
        fprintf(stream, "       %-*s%s%*s %s\n", CALL_WIDTH, usage, is_long ? "\n       " : "",
                is_long ? CALL_WIDTH : 0, "", command_table[i].line);
    }
}

static void print_target(const char *target, FILE *stream)
{
    fprintf(stream, "\n%s", target);
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        char form[80];
        snprintf(form, sizeof form, "%s:%s", (*a)->name, target_form(*a));
        fprintf(stream, "  %-38s %s\n", form, (*a)->summary);
    }
}

static void print_group(const struct option_group *group, enum command command, FILE *stream)
{
    bool has_title = false;
    for (size_t i = 0; i < group->count; i++) {
        const struct option_entry *entry = &group->entries[i];
        if (!option_is_of(entry, command)) {
            continue;
        }
        if (!has_title) {
            fprintf(stream, "\n%s\n", group->title);
        }
        has_title = true;
        char form[48], letter[] = " (-?)";
        letter[3] = option_letter(entry);
        snprintf(form, sizeof form, "--%s%s%s%s", entry->name, entry->argument == NULL ? "" : " ",
                 entry->argument == NULL ? "" : entry->argument, letter[3] == '\0' ? "" : letter);
        fprintf(stream, "  %-25s %s\n", form, entry->help);
    }
}

void help_print(enum command command, FILE *stream)
{
    const struct command_entry *entry = command_table_find(command);
    fprintf(stream, "%s\nUsage: %s%s\n", entry->about, entry->usage,
            command == COMMAND_HELP ? "" : " [options]");
    if (command == COMMAND_RUN) {
        print_commands(stream);
    }
    if (entry->target != NULL) {
        print_target(entry->target, stream);
    }
    for (const struct option_group *const *group = option_groups; *group != NULL; group++) {
        print_group(*group, command, stream);
    }
    if (entry->target != NULL) {
        fputs("\n"
              "Counts take k, M and G (10M = 10,000,000); T is seconds or 500ms, 30s, 5m, 1h.\n",
              stream);
        fputs("The password comes from APPEND_PASSWORD, --password-file or the client\n"
              "library's own means (PGPASSWORD, ~/.pgpass).\n",
              stream);
    }
    fprintf(stream, "\n%sExample: %s\n", entry->exits, entry->example);
}

enum exit_code command_help(int argc, char **argv)
{
    struct error error;
    error_clear(&error);
    const struct command_entry *entry = &command_table[0];
    if (argc > 2) {
        error_set(&error, ERROR_USAGE, 0, NULL, "too many operands: use %s",
                  command_table_find(COMMAND_HELP)->usage);
        return command_fail(EXIT_CODE_USAGE, &error);
    }
    if (argc == 2) {
        const bool is_own = argv[1][0] == '-'; /* append help --help */
        entry = command_table_find_name(is_own ? "help" : argv[1], &error);
    }
    if (entry == NULL) {
        return command_fail(EXIT_CODE_USAGE, &error);
    }
    help_print(entry->command, stdout);
    return command_finish_output();
}
