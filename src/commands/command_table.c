/* The commands: how each is called, what --help says of it, and help itself. */
#include <stdio.h>
#include <string.h>

#include "adapters/registry.h"
#include "base/text.h"
#include "commands/command.h"
#include "report/report.h"

static enum exit_code command_help(int argc, char **argv);

const struct command_entry command_table[] = {
    {
        .form = {COMMAND_RUN, NULL, "append SESSIONS RECORDS [TARGET]", 0, 0},
        .line = "one run",
        .about = "append holds SESSIONS sessions open while each appends its share of RECORDS\n"
                 "rows, and reports what that costs and what stops it.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing for an embedded database in the run's folder\n",
        .exits = "0 all rows acknowledged and counted, 1 ledger short, 2 usage, 3 client\n"
                 "limit, 4 server refused, 5 expectation missed, 6 client-bound, 70 internal\n"
                 "error, 130 interrupted\n",
        .example = "append 1000 10000000 5432 --user app --database logs",
        .run = command_run,
    },
    {
        .form = {COMMAND_CHECK, "check", "append check SESSIONS [TARGET]", 0, 0},
        .line = "what would limit such a run",
        .about = "append check compares what SESSIONS sessions need with what this machine, the\n"
                 "server and the database allow, without opening them.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing to check this machine only\n",
        .exits = "0 no limit is in the way, 2 usage, 3 one of this machine is, 4 one of the\n"
                 "server, or it was not reached, 70 internal error, 130 interrupted\n",
        .example = "append check 10000 5432 --user app --database logs",
        .run = command_check,
    },
    {
        .form = {COMMAND_FIND_MAX, "find-max", "append find-max [TARGET]", 0, 0},
        .line = "how many sessions there can be",
        .about = "append find-max adds sessions that append until no more can be held, and\n"
                 "reports the most that could, and the limit that stopped the next.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing for an embedded database in the folder of the files\n",
        .exits = "0 some level held and the acknowledged rows are there, 1 they are not,\n"
                 "2 usage, 3 no level held for this machine's limit, 4 for the server's, or the\n"
                 "server is gone, 70 internal error, 130 interrupted\n",
        .example = "append find-max 5432 --user app --database logs --p99 100ms",
        .run = command_find_max,
    },
    {
        .form = {COMMAND_REPORT, "report", "append report DIR...", 1, REPORT_FOLDERS_MAX},
        .line = "runs as a page with charts",
        .about =
            "append report makes one page, report.html, of the folders of finished runs and\n"
            "sweeps: figures, charts, ledgers, limits, errors, environment. The page needs no\n"
            "network. It is put into DIR; with several DIR, into this folder. --text and\n"
            "--png draw with gnuplot.\n",
        .exits = "0 written, 2 usage, or DIR has no finished run, 3 the page cannot be\n"
                 "written, or there is no gnuplot for --text or --png, 70 internal error\n",
        .example = "append report append-runs/*-postgresql-* --out page.html",
        .run = command_report,
    },
    {
        .form = {COMMAND_COMPARE, "compare", "append compare A B", 2, 2},
        .line = "two runs or sweeps side by side",
        .about = "append compare compares B with A, folders of two finished runs or sweeps: what\n"
                 "they differ in, the ratio of every figure, and whether B is slower or faster\n"
                 "beyond what the figures vary by.\n",
        .exits = "0 compared, 2 usage, or a folder has no finished run or sweep, 3 out of\n"
                 "memory or the report cannot be written, 5 a bound of --fail-if is crossed\n",
        .example = "append compare before after --fail-if 'throughput<0.95'",
        .run = command_compare,
    },
    {
        .form = {COMMAND_SWEEP, "sweep", "append sweep --sessions N,N --records N,N [TARGET]", 0,
                 0},
        .line = "a run for each size",
        .about = "append sweep makes a run for every pair of --sessions and --records, and puts\n"
                 "maximum CPU, maximum memory, elapsed time and throughput into four tables.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing for an embedded database in the folder of each run\n",
        .exits = "0 all runs ended with 0; else the code of the run that weighs most: 70\n"
                 "internal error, 1 ledger short, 3 client limit, 4 server, 2 usage, 6\n"
                 "client-bound, 5 expectation; 130 interrupted: go on with --resume\n",
        .example = "append sweep --sessions 100,1000 --records 1M,10M 5432 --recreate",
        .run = command_sweep,
    },
    {
        .form = {COMMAND_HELP, "help", "append help [COMMAND]", 0, 0},
        .line = "what a command does and takes",
        .about = "append help prints what a command does, its options and its exit codes; of\n"
                 "'append SESSIONS RECORDS', which needs no name and is also 'run', without one.\n",
        .exits = "0 printed, 2 there is no such command\n",
        .example = "append help sweep",
        .run = command_help,
    },
};
const size_t command_table_size = sizeof command_table / sizeof command_table[0];

static const struct command_entry *find(enum command command)
{
    for (size_t i = 0; i < command_table_size; i++) {
        if (command_table[i].form.command == command) {
            return &command_table[i];
        }
    }
    return &command_table[0];
}

const struct command_form *command_form_of(enum command command)
{
    return &find(command)->form;
}

/* The command of that name; "run" is the first one's. NULL: *error says so, and which one is meant
 * most likely. */
static const struct command_entry *find_name(const char *name, struct error *error)
{
    struct nearest nearest = {.word = name};
    if (strcmp(name, "run") == 0) {
        return &command_table[0];
    }
    nearest_offer(&nearest, "run");
    for (size_t i = 1; i < command_table_size; i++) {
        if (strcmp(name, command_table[i].form.name) == 0) {
            return &command_table[i];
        }
        nearest_offer(&nearest, command_table[i].form.name);
    }
    if (nearest.name != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown command '%.40s': did you mean '%s'?", name,
                  nearest.name);
    } else {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "'%.40s' is no command; a run is append SESSIONS RECORDS: see append help", name);
    }
    return NULL;
}

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
        const char *usage = command_table[i].form.usage;
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

static void print_option(const struct option_entry *entry, FILE *stream)
{
    char form[48], letter[] = " (-?)";
    letter[3] = entry->letter;
    snprintf(form, sizeof form, "--%s%s%s%s", entry->name, entry->argument == NULL ? "" : " ",
             entry->argument == NULL ? "" : entry->argument, letter[3] == '\0' ? "" : letter);
    fprintf(stream, "  %-25s %s\n", form, entry->help);
}

static void print_options(enum command command, FILE *stream)
{
    const char *title = NULL, *shown = NULL;
    for (const struct option_entry *entry = option_table; entry->name != NULL; entry++) {
        title = entry->group == NULL ? title : entry->group;
        if (!option_is_of(entry, command)) {
            continue;
        }
        if (title != shown) {
            fprintf(stream, "\n%s\n", title);
        }
        shown = title;
        print_option(entry, stream);
    }
}

static void print_help(const struct command_entry *entry, FILE *stream)
{
    const enum command command = entry->form.command;
    fprintf(stream, "%s\nUsage: %s%s\n", entry->about, entry->form.usage,
            command == COMMAND_HELP ? "" : " [options]");
    if (command == COMMAND_RUN) {
        print_commands(stream);
    }
    if (entry->target != NULL) {
        print_target(entry->target, stream);
    }
    print_options(command, stream);
    if (entry->target != NULL) {
        fputs("\n"
              "Counts take k, M and G (10M = 10,000,000); T is seconds or 500ms, 30s, 5m, 1h.\n",
              stream);
        fputs("The password comes from APPEND_PASSWORD, --password-file or the client\n"
              "library's own means (PGPASSWORD, ~/.pgpass).\n",
              stream);
    }
    fprintf(stream, "\nExit: %sExample: %s\n", entry->exits, entry->example);
}

static enum exit_code command_help(int argc, char **argv)
{
    struct error error;
    error_clear(&error);
    const struct command_entry *entry = &command_table[0];
    if (argc > 2) {
        error_set(&error, ERROR_USAGE, 0, NULL, "too many operands: use %s",
                  find(COMMAND_HELP)->form.usage);
        return command_fail(EXIT_CODE_USAGE, &error);
    }
    if (argc == 2) {
        const bool is_own = argv[1][0] == '-'; /* append help --help */
        entry = find_name(is_own ? "help" : argv[1], &error);
    }
    if (entry == NULL) {
        return command_fail(EXIT_CODE_USAGE, &error);
    }
    print_help(entry, stdout);
    return command_finish_output();
}

static void print_versions(void)
{
    printf("append %s\n", APPEND_VERSION);
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        char version[120] = "built in";
        if ((*a)->client_version != NULL) {
            (*a)->client_version(version, sizeof version);
        }
        printf("  %-12s %s\n", (*a)->name, version);
    }
}

bool command_begin(struct plan *plan, enum command command, int argc, char **argv,
                   enum exit_code *code)
{
    const struct command_entry *entry = find(command);
    struct error error;
    error_clear(&error);
    if (options_parse(plan, &entry->form, argc, argv, &error) != EXIT_CODE_OK) {
        *code = command_refuse(plan->is_json, EXIT_CODE_USAGE, &error);
        return false;
    }
    if (!plan->is_help && !plan->is_version) {
        return true;
    }
    if (plan->is_help) {
        print_help(entry, stdout);
    } else {
        print_versions();
    }
    *code = command_finish_output();
    return false;
}

enum exit_code command_table_run(int argc, char **argv)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";
    const char *word = argc > 1 ? argv[1] : "";
    if (word[0] < 'a' || word[0] > 'z' || word[strspn(word, letters)] != '\0') {
        return command_table[0].run(argc, argv);
    }
    struct error error;
    error_clear(&error);
    const struct command_entry *entry = find_name(word, &error);
    return entry == NULL ? command_fail(EXIT_CODE_USAGE, &error) : entry->run(argc - 1, argv + 1);
}
