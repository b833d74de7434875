/* The table of commands, the help, and the functions with which all commands print. */
#include "commands/command.h"
#include "ranks/ranks.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "plan/command_line.h"
#include "report/json.h"
#include "report/report.h"

/* Time limit for writing a message to stderr, because a pipe that is not read must not block the
 * exit. */
#define PATIENCE_NS MONO_NS_PER_S

enum {
    /* width of the help's first column, which shows the names and arguments of options */
    FORM_COLUMNS = 25
};

static enum exit_code command_help(int argc, char **argv);

const struct command_entry command_table[] = {
    {
        .form = {COMMAND_RUN, NULL, "append SESSIONS RECORDS [TARGET]", 0, 0, false},
        .line = "make one run",
        .about =
            "append opens SESSIONS sessions to a database, and each session appends its share\n"
            "of RECORDS rows. The report shows CPU, memory, time and throughput, and the\n"
            "limit, if any, that stopped sessions.\n",
        .example = "append 10 20k\n"
                   "append 100 1M 5432 --user app --database logs",
        .target =
            "TARGET: a port of this machine, HOST:PORT, the URL of a database, or nothing for\n"
            "an embedded database in the run's folder\n",
        .exits = "0 all rows acknowledged and counted, 1 rows or sessions are missing,\n"
                 "2 usage, 3 limit of this machine, 4 server refused or not reached,\n"
                 "5 expectation missed, 6 append was the bottleneck, 70 internal error,\n"
                 "130 interrupted\n",
        .run = command_run,
    },
    {
        .form = {COMMAND_CHECK, "check", "append check SESSIONS [TARGET]", 0, 0, false},
        .line = "check the limits that a run would hit",
        .about = "append check compares what SESSIONS sessions need with what this machine, the\n"
                 "server and the database allow. It does not open the sessions.\n",
        .example = "append check 1000\n"
                   "append check 1000 5432 --user app --database logs",
        .target =
            "TARGET: a port of this machine, HOST:PORT, the URL of a database, or nothing to\n"
            "check this machine only\n",
        .exits = "0 the sessions fit, 2 usage, 3 a limit of this machine is too low,\n"
                 "4 a limit of the server is too low, or the server was not reached,\n"
                 "70 internal error, 130 interrupted\n",
        .run = command_check,
    },
    {
        .form = {COMMAND_FIND_MAX, "find-max", "append find-max [TARGET]", 0, 0, false},
        .line = "find the largest number of sessions",
        .about =
            "append find-max tries more and more sessions, level by level. A level is held if\n"
            "all its sessions connect and append without errors. The report shows the highest\n"
            "level that was held, and the limit that stopped the next level.\n",
        .example = "append find-max --max-sessions 20\n"
                   "append find-max 5432 --user app --database logs --p99 100ms",
        .target =
            "TARGET: a port of this machine, HOST:PORT, the URL of a database, or nothing for\n"
            "an embedded database in the run's folder\n",
        .exits = "0 a level was held and the acknowledged rows are in the table, 1 rows are\n"
                 "missing, 2 usage, 3 no level was held because of this machine,\n"
                 "4 no level was held because of the server, or the server was lost,\n"
                 "70 internal error, 130 interrupted\n",
        .run = command_find_max,
    },
    {
        .form = {COMMAND_REPORT, "report", "append report DIR...", 1, REPORT_FOLDERS_MAX, false},
        .line = "make a page with charts of runs",
        .about =
            "append report makes one page, report.html, from the folders of finished runs and\n"
            "sweeps: figures, charts, ledgers, limits, errors, environment. The page needs no\n"
            "network. It is written to DIR; with several DIR, to the current folder. --text\n"
            "and --png draw with gnuplot.\n",
        .example = "append 10 20k --out first\n"
                   "append report first",
        .exits = "0 written, 2 wrong use or no finished run in DIR, 3 the page cannot be\n"
                 "written or gnuplot is missing (--text, --png), 70 internal error\n",
        .run = command_report,
    },
    {
        .form = {COMMAND_COMPARE, "compare", "append compare A B", 2, 2, false},
        .line = "compare two runs or two sweeps",
        .about = "append compare compares two finished runs or sweeps, whose folders are A and B.\n"
                 "It shows how their settings differ, and the ratio B/A of every figure. For\n"
                 "sweeps with repeated runs it also says whether B is slower or faster by more\n"
                 "than the figures vary.\n",
        .example = "append 10 20k --out before\n"
                   "append 10 20k --out after\n"
                   "append compare before after --fail-if 'throughput<0.1'",
        .exits = "0 compared, 2 usage, or a folder has no finished run or sweep, 3 out of\n"
                 "memory or the report cannot be written, 5 a bound of --fail-if is crossed\n",
        .run = command_compare,
    },
    {
        .form = {COMMAND_CONTROL, "control", "append control DIR CHANGE", 2, 2, true},
        .line = "change a run in progress",
        .about = "append control changes the run in the folder DIR, which must have been started\n"
                 "with --control. CHANGE is rate=N (per second), sessions=N (at work), pause,\n"
                 "resume, stop, or mark=TEXT (a mark in the charts).\n",
        .example = "append control append-runs/1 rate=20k\n"
                   "append control append-runs/1 'mark=index dropped'",
        .exits = "0 the run has taken the change, 2 usage, or DIR has no run with\n"
                 "--control, 3 no answer, 4 the run refused the change, or has ended\n",
        .run = command_control,
    },
    {
        .form = {COMMAND_SWEEP, "sweep", "append sweep --sessions N,N --records N,N [TARGET]", 0, 0,
                 false},
        .line = "make a run for each size",
        .about = "append sweep makes a run for every pair of --sessions and --records, and with\n"
                 "--vary for each value of a parameter. It prints a table for each of: maximum\n"
                 "CPU, maximum memory, elapsed time, throughput, and the p99 of append.\n",
        .example = "append sweep --sessions 1,10 --records 10k,20k\n"
                   "append sweep --sessions 100,1000 --records 1M,10M 5432 --recreate",
        .target =
            "TARGET: a port of this machine, HOST:PORT, the URL of a database, or nothing for\n"
            "an embedded database in the folder of each run\n",
        .exits = "0 all runs ended with 0; else the code of the most serious run, in this\n"
                 "order: 70 internal error, 1 rows or sessions are missing, 3 limit of this\n"
                 "machine, 4 server, 2 usage, 6 append was the bottleneck, 5 expectation\n"
                 "missed; 130 interrupted, to be resumed with --resume\n",
        .run = command_sweep,
    },
    {
        .form = {COMMAND_PREPARE, "prepare", "append prepare [SESSIONS] TARGET", 0, 0, false},
        .line = "create and load a workload's tables",
        .about = "append prepare creates the tables that the script of --workload declares, loads\n"
                 "them with SESSIONS sessions (by default one for each CPU), builds their indexes\n"
                 "and counts their rows. Tables that already hold their rows stay as they are.\n",
        .example = "append prepare sqlite:test.db --workload oltp\n"
                   "append 10 sqlite:test.db --workload oltp --duration 5s\n"
                   "append cleanup sqlite:test.db --workload oltp",
        .target = "TARGET: a port of this machine, HOST:PORT, or the URL of a database\n",
        .exits = "0 the tables hold their rows, 2 usage, or a table differs from what the\n"
                 "script declares, 3 limit of this machine, 4 server, 70 internal error,\n"
                 "130 interrupted (the same command continues)\n",
        .run = command_prepare,
    },
    {
        .form = {COMMAND_DRY_RUN, "dry-run", "append dry-run TARGET", 0, 0, false},
        .line = "show what a workload's transactions do",
        .about = "append dry-run runs each transaction of the script of --workload once and rolls\n"
                 "it back. It shows every statement with its values, its rows and its time. The\n"
                 "tables must exist: append prepare creates them.\n",
        .example = "append prepare sqlite:test.db --workload tpcb\n"
                   "append dry-run sqlite:test.db --workload tpcb\n"
                   "append cleanup sqlite:test.db --workload tpcb",
        .target = "TARGET: a port of this machine, HOST:PORT, or the URL of a database\n",
        .exits = "0 every transaction succeeded, 1 a transaction or a check failed, 2 usage,\n"
                 "or a mistake in the script, 3 limit of this machine, 4 server,\n"
                 "70 internal error, 130 interrupted\n",
        .run = command_dry_run,
    },
    {
        .form = {COMMAND_CLEANUP, "cleanup", "append cleanup [TARGET]", 0, 0, false},
        .line = "drop a workload's tables",
        .about = "append cleanup drops the tables that the script of --workload declares, and\n"
                 "nothing else.\n",
        .example = "append prepare sqlite:test.db --workload oltp\n"
                   "append cleanup sqlite:test.db --workload oltp",
        .target = "TARGET: a port of this machine, HOST:PORT, or the URL of a database\n",
        .exits = "0 the tables are dropped, 2 usage, 3 limit of this machine, 4 server,\n"
                 "70 internal error, 130 interrupted\n",
        .run = command_cleanup,
    },
    {
        .form = {COMMAND_CERTIFY, "certify", "append certify SESSIONS [TARGET]", 0, 0, false},
        .line = "break a server and prove what it keeps",
        .about = "append certify breaks a server again and again while SESSIONS sessions write,\n"
                 "and reads everything back after each fault: every acknowledged row must be\n"
                 "stored, once and whole. append breaks a server that it makes (--server), or a\n"
                 "server of yours (TARGET, --server-start and --yes).\n",
        .example = "append certify 4 --server sqlite --faults kill:2\n"
                   "append certify 50 --server postgresql --faults kill:5,power:20\n"
                   "append certify 50 5432 --faults kill:5 --yes \\\n"
                   "    --server-start 'pg_ctlcluster 15 main start'",
        .target = "TARGET: a port of this machine, or the URL of a database on this machine\n",
        .exits = "0 certified, 1 acknowledged rows were lost or damaged, 2 usage,\n"
                 "3 limit of this machine, 4 server, 6 --prove: the unsafe setting lost nothing,\n"
                 "70 internal error, 130 interrupted\n",
        .run = command_certify,
    },
    {
        .form = {COMMAND_HELP, "help", "append help [COMMAND|WORKLOAD]", 0, 0, false},
        .line = "describe a command or a workload",
        .about = "append help prints what a command does, its options and its exit codes. Without\n"
                 "a name, or with 'run', it describes 'append SESSIONS RECORDS'. For a workload,\n"
                 "built in or a file, it prints the purpose, parameters, tables, transactions and\n"
                 "statements.\n",
        .example = "append help find-max\n"
                   "append help oltp",
        .exits = "0 printed, 2 unknown command or workload, or an error in its script\n",
        .run = command_help,
    },
};
const size_t command_table_size = sizeof command_table / sizeof command_table[0];

/* Returns the syntax of the part of a target that follows "adapter:". */
static const char *target_form(unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *form;
    } forms[] = {{ADAPTER_STRING, "DSN=name or connection string"},
                 {ADAPTER_FILE, "path"},
                 {ADAPTER_ONE_DATABASE, "//user@host:port"},
                 {ADAPTER_EMBEDDED, ""}};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if ((flags & forms[i].flag) != 0) {
            return forms[i].form;
        }
    }
    return "//user@host:port/database";
}

static enum exit_code print_help(const struct command_entry *entry)
{
    enum {
        CALL_WIDTH = 33
    };
    const enum command command = entry->form.command;
    printf("%s\nExample:\n", entry->about);
    for (const char *line = entry->example; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    printf("\nUsage: %s%s\n", entry->form.usage, command == COMMAND_HELP ? "" : " [options]");
    if (command == COMMAND_RUN) {
        puts("       append SESSIONS [RECORDS] [TARGET] --duration T [options]");
    }
    for (size_t i = 1; i < command_table_size && command == COMMAND_RUN; i++) {
        /* if the usage is wider than its column, the description begins on the next line */
        const char *usage = command_table[i].form.usage;
        const bool is_long = strlen(usage) > CALL_WIDTH;
        printf("       %-*s%s%*s %s\n", CALL_WIDTH, usage, is_long ? "\n       " : "",
               is_long ? CALL_WIDTH : 0, "", command_table[i].line);
    }
    if (entry->target != NULL) {
        printf("\n%s", entry->target);
    }
    for (const struct adapter *const *a = registry_adapters; entry->target != NULL && *a != NULL;
         a++) {
        char form[80];
        snprintf(form, sizeof form, "%s:%s", (*a)->name, target_form((*a)->flags));
        printf("  %-38s %s\n", form, (*a)->summary);
    }
    const char *group = NULL, *shown = NULL;
    for (const struct option_entry *option = option_table; option->name != NULL; option++) {
        group = option->group == NULL ? group : option->group;
        if (option_is_of(option, command)) {
            char form[48], letter[] = " (-?)", initial[OPTION_DEFAULT_BYTES];
            option_describe_default(option, initial);
            letter[3] = option->letter;
            snprintf(form, sizeof form, "--%s%s%s%s", option->name,
                     option_may_stand_alone(option) ? "" : " ",
                     option->argument == NULL ? "" : option->argument,
                     option->letter == '\0' ? "" : letter);
            if (group != shown) {
                printf("\n%s\n", group);
            }
            if (strlen(form) > FORM_COLUMNS) {
                printf("  %s\n", form);
                /* the form is too wide for its column: print the description on the next line */
                form[0] = '\0';
            }
            printf("  %-*s %s%s%s%s\n", FORM_COLUMNS, form, option->help,
                   initial[0] == '\0' ? "" : " (", initial, initial[0] == '\0' ? "" : ")");
            shown = group;
        }
    }
    if (entry->target != NULL) {
        puts("\n"
             "Defaults are in parentheses. Counts take k, M and G (10M = 10,000,000); T is a\n"
             "number of seconds or 500ms, 30s, 5m, 1h. The password comes from\n"
             "--password-file, APPEND_PASSWORD or the client library (PGPASSWORD, ~/.pgpass).");
    }
    printf("\nExit: %s", entry->exits);
    return command_finish_output();
}

/* Prints the comment with which a script begins. */
static void print_comment(const char *text)
{
    while (strncmp(text, "--", 2) == 0) {
        const size_t length = strcspn(text, "\n");
        const size_t mark = text[2] == ' ' ? 3 : 2;
        printf("%.*s\n", (int)(length - mark), text + mark);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

/* Prints a name and its description in 80 columns. A word longer than a line is not broken. */
static void print_entry(const char *name, const struct buffer *text)
{
    enum {
        NAME_COLUMNS = 28,
        COLUMNS = 80
    };
    size_t used = (size_t)printf("  %-*s", NAME_COLUMNS - 3, name);
    const char *word = buffer_text(text);
    while (*word != '\0') {
        const size_t length = strcspn(word, " ");
        if (used + 1 + length > COLUMNS && used >= NAME_COLUMNS) {
            used = (size_t)printf("\n%*s", NAME_COLUMNS - 1, "") - 1;
        }
        used += (size_t)printf(" %.*s", (int)length, word);
        word += length + strspn(word + length, " ");
    }
    puts("");
}

static void print_params(const struct script *script, struct buffer *text)
{
    for (size_t i = 0; i < script->param_count; i++) {
        const struct script_param *param = &script->params[i];
        const char *allowed = strcmp(param->allowed, "at least 0") == 0 ? "" : param->allowed;
        char form[2 * SCRIPT_NAME_BYTES + 2];
        snprintf(form, sizeof form, "%s=%s", param->name, param->default_text);
        text->length = 0;
        buffer_add_format(text, "%s%s%s", param->help,
                          param->help[0] != '\0' && allowed[0] != '\0' ? ": " : "", allowed);
        if (i == 0) {
            puts("\nParameters (--set NAME=VALUE,...)");
        }
        print_entry(form, text);
    }
}

static void print_tables(const struct script *script, struct buffer *text)
{
    for (size_t i = 0; i < script->dataset_count; i++) {
        const struct script_dataset *dataset = &script->datasets[i];
        text->length = 0;
        if (dataset->is_declared) {
            buffer_add_format(text, "%s %s:", UNITS_COUNT(dataset->rows),
                              units_plural(dataset->rows, "row", "rows"));
        } else {
            buffer_add_text(text, "the existing table, or the built-in one");
        }
        for (size_t c = 0; c < dataset->column_count; c++) {
            buffer_add_format(text, "%s %s", c == 0 ? "" : ",", dataset->table.columns[c].name);
        }
        if (i == 0) {
            puts("\nTables");
        }
        print_entry(dataset->name, text);
    }
}

static void print_transactions(const struct script *script, struct buffer *text)
{
    puts("\nTransactions");
    for (size_t i = 0; i < script->transaction_count; i++) {
        const struct script_transaction *transaction = &script->transactions[i];
        text->length = 0;
        if (transaction->sessions > 0 && transaction->is_share) {
            buffer_add_format(text, "%g %% of the sessions, ", transaction->sessions * 100);
        } else if (transaction->sessions > 0) {
            buffer_add_format(text, "%s %s of its own, ",
                              UNITS_COUNT((uint64_t)transaction->sessions),
                              units_plural((uint64_t)transaction->sessions, "session", "sessions"));
        } else {
            buffer_add_format(text, "weight %g, ", transaction->weight);
        }
        if (transaction->rate > 0) {
            buffer_add_format(text, "%g/s, ", transaction->rate);
        }
        buffer_add_format(text, "%s, ",
                          transaction->is_autocommit ? "each statement by itself"
                                                     : "begun and committed");
        if (transaction->tries == 0) {
            buffer_add_text(text, "tried until it succeeds");
        } else {
            buffer_add_format(text, "%s %s", UNITS_COUNT(transaction->tries),
                              units_plural(transaction->tries, "try", "tries"));
        }
        buffer_add_text(text, transaction->pause == NULL ? "" : ", after a pause");
        print_entry(transaction->name, text);
    }
}

/* Prints the first statement with each name, and the number of other statements with this name. */
static void print_statements(const struct script *script, struct buffer *text)
{
    if (script->statement_count > 0) {
        puts("\nStatements");
    }
    for (size_t o = 0; o < script->operation_count; o++) {
        const struct script_statement *first = NULL;
        size_t count = 0;
        for (size_t i = 0; i < script->statement_count; i++) {
            if (script->statements[i].operation == o) {
                first = first == NULL ? &script->statements[i] : first;
                count++;
            }
        }
        if (first != NULL) {
            const char *sql = script_text_for(&first->sql, "");
            text->length = 0;
            buffer_add_text(text, sql == NULL ? first->sql.entries[0].text : sql);
            if (count > 1) {
                buffer_add_format(text, " (and %zu more)", count - 1);
            }
            print_entry(first->name, text);
        }
    }
}

static void print_metrics(const struct script *script, struct buffer *text)
{
    if (script->metric_count > 0) {
        puts("\nMetrics");
    }
    for (size_t i = 0; i < script->metric_count; i++) {
        const struct script_metric *metric = &script->metrics[i];
        text->length = 0;
        buffer_add_format(text, "%s%s%s", script_metric_kinds[metric->kind],
                          metric->unit[0] == '\0' ? "" : ", ", metric->unit);
        print_entry(metric->name, text);
    }
}

static void print_invariants(const struct script *script, struct buffer *text)
{
    if (script->invariant_count > 0) {
        puts("\nInvariants, checked after the run");
    }
    for (size_t i = 0; i < script->invariant_count; i++) {
        char number[UNITS_TEXT_BYTES];
        snprintf(number, sizeof number, "%zu", i + 1);
        text->length = 0;
        buffer_add_text(text, script->invariants[i].claim);
        print_entry(number, text);
    }
}

static enum exit_code print_workload(const char *name)
{
    struct error error = {.kind = ERROR_NONE};
    struct script *script = script_load(name, NULL, 0, &error);
    if (script == NULL) {
        return command_fail(EXIT_CODE_USAGE, &error);
    }
    print_comment(script_text(script));
    struct buffer text = {0};
    print_params(script, &text);
    print_tables(script, &text);
    print_transactions(script, &text);
    print_statements(script, &text);
    print_metrics(script, &text);
    print_invariants(script, &text);
    buffer_fini(&text);
    script_destroy(script);
    return command_finish_output();
}

static enum exit_code run_entry(const struct command_entry *entry, int argc, char **argv)
{
    struct error error = {.kind = ERROR_NONE};
    const unsigned alone = COMMAND_PREPARE | COMMAND_CLEANUP | COMMAND_DRY_RUN | COMMAND_CERTIFY;
    const enum exit_code code =
        (entry->form.command & alone) != 0 ? ranks_forbid(entry->form.name, &error) : EXIT_CODE_OK;
    if (code == EXIT_CODE_OK) {
        return entry->run(argc, argv);
    }
    /* If the text is empty, rank 0 reports the error. This rank then returns 0, because mpirun ends
     * all ranks when one rank fails, possibly before rank 0 has printed the error. */
    return error.text[0] == '\0' ? EXIT_CODE_OK : command_fail(code, &error);
}

/* Runs the command with this name, or prints its help if `is_help`. The first command of the table
 * has the name "run" here. */
static enum exit_code run_named(const char *name, bool is_help, int argc, char **argv)
{
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < command_table_size; i++) {
        const char *command = i == 0 ? "run" : command_table[i].form.name;
        if (strcmp(name, command) == 0) {
            return is_help ? print_help(&command_table[i])
                           : run_entry(&command_table[i], argc, argv);
        }
        nearest_offer(&nearest, command);
    }
    if (!ranks_speaks()) {
        /* rank 0 reports the unknown command, and then mpirun ends this rank */
        mono_sleep(5 * MONO_NS_PER_S);
    }
    bool is_workload = script_is_file(name);
    for (const struct script_built_in *script = script_built_ins; script->name != NULL; script++) {
        is_workload = is_workload || strcmp(name, script->name) == 0;
        nearest_offer(&nearest, script->name);
    }
    if (is_workload) {
        return is_help ? print_workload(name)
                       : command_say(EXIT_CODE_USAGE,
                                     "'%.40s' is a workload: use append SESSIONS [TARGET] "
                                     "--workload %.40s --duration T",
                                     name, name);
    }
    return nearest.name != NULL
               ? command_say(EXIT_CODE_USAGE, "unknown command '%.40s': did you mean '%s'?", name,
                             nearest.name)
               : command_say(EXIT_CODE_USAGE,
                             "'%.40s' is not a command: for a run use append SESSIONS RECORDS; "
                             "see append help",
                             name);
}

static enum exit_code command_help(int argc, char **argv)
{
    if (!ranks_speaks()) {
        return EXIT_CODE_OK;
    }
    if (argc > 2) {
        return command_say(EXIT_CODE_USAGE,
                           "too many operands: use append help [COMMAND|WORKLOAD]");
    }
    static const char *const own[] = {"--help", "-h", "-?"};
    const char *name = argc == 2 ? argv[1] : "run";
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        name = strcmp(name, own[i]) == 0 ? "help" : name;
    }
    if (name[0] == '-') { /* the message omits the text after '=', which may be a password */
        return command_say(EXIT_CODE_USAGE,
                           "unknown option '%.*s': use append help [COMMAND|WORKLOAD]",
                           (int)strcspn(name, "="), name);
    }
    return run_named(name, true, 0, NULL);
}

static const struct command_entry *find_entry(enum command command)
{
    const struct command_entry *entry = command_table;
    while (entry->form.command != command) {
        entry++;
    }
    return entry;
}

const struct command_form *command_form(enum command command)
{
    return &find_entry(command)->form;
}

bool command_is_done(const struct plan *plan, enum exit_code *code, const struct error *error)
{
    if (*code != EXIT_CODE_OK) {
        *code = command_refuse(plan->is_json, *code, error);
        return true;
    }
    if (plan->is_help) {
        *code = print_help(find_entry(plan->command));
    } else if (plan->is_version) {
        printf("append %s\n", APPEND_VERSION);
        for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
            char version[120] = "built in";
            if ((*a)->client_version != NULL) {
                (*a)->client_version(version, sizeof version);
            }
            printf("  %-12s %s\n", (*a)->name, version);
        }
        *code = command_finish_output();
    } else if (plan->is_print_options) {
        struct error why = {0};
        *code = command_line_print(plan, stdout, &why);
        *code = *code == EXIT_CODE_OK ? command_finish_output()
                                      : command_refuse(plan->is_json, *code, &why);
    }
    return plan->is_help || plan->is_version || plan->is_print_options;
}

enum exit_code command_table_run(int argc, char **argv)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";
    const char *word = argc > 1 ? argv[1] : "";
    if (word[0] < 'a' || word[0] > 'z' || word[strspn(word, letters)] != '\0') {
        return command_table[0].run(argc, argv);
    }
    return run_named(word, false, argc - 1, argv + 1);
}

char **command_take_words(int argc, char **argv)
{
    const size_t pointers = ((size_t)argc + 1) * sizeof *argv;
    size_t size = pointers;
    for (int i = 0; i < argc; i++) {
        size += strlen(argv[i]) + 1;
    }
    char **words = calloc(1, size);
    char *shown = malloc(size);
    char *to = (char *)words + pointers;
    for (int i = 0; i < argc && words != NULL && shown != NULL; i++) {
        const size_t length = strlen(argv[i]) + 1;
        words[i] = memcpy(to, argv[i], length);
        to += length;
        /* a target, or a connection string in an option's value, may hold a password */
        char *value = argv[i];
        if (strncmp(value, "--", 2) == 0) {
            value += strcspn(value, "=");
            value += *value == '=' ? 1 : 0;
        }
        if (strpbrk(value, "@;?") != NULL || strcasestr(value, "password") != NULL) {
            const size_t value_length = strlen(value);
            target_redact(value, shown, value_length + 1);
            memset(value, 0, value_length);
            memcpy(value, shown, strlen(shown));
        }
    }
    if (shown == NULL) {
        free(words);
        words = NULL;
    }
    free(shown);
    return words;
}

enum exit_code command_say(enum exit_code code, const char *format, ...)
{
    char text[4096], clean[1024], line[sizeof clean + 16];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_clean_line(clean, sizeof clean, text, sizeof clean);
    const int length = snprintf(line, sizeof line, "append: %s\n", clean);
    fflush(stdout);
    notice_write(STDERR_FILENO, line, (size_t)length, PATIENCE_NS);
    return code;
}

enum exit_code command_fail(enum exit_code code, const struct error *error)
{
    return command_say(code, "%s", error->text[0] == '\0' ? "unknown error" : error->text);
}

enum exit_code command_refuse(bool is_json, enum exit_code code, const struct error *error)
{
    if (is_json) {
        report_write_json_failure(stdout, code, error); /* if this fails, `code` is still right */
    }
    return command_fail(code, error);
}

int command_print(const char *text, size_t length)
{
    enum {
        TICK_MS = 50
    };
    const bool was_interrupted = interrupt_requested();
    /* when poll reports that a pipe is writable, a write of PIPE_BUF bytes does not block */
    const size_t most = isatty(STDOUT_FILENO) == 1 ? 1 : PIPE_BUF;
    for (size_t done = 0; done < length;) {
        struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
        const int found = poll(&room, 1, TICK_MS);
        if (!was_interrupted && interrupt_requested()) {
            return EINTR;
        }
        const size_t left = length - done;
        const ssize_t written =
            found > 0 ? write(STDOUT_FILENO, text + done, left < most ? left : most) : 0;
        if (written < 0 && errno != EAGAIN && errno != EINTR) {
            return errno;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

enum exit_code command_finish_output(void)
{
    return fflush(stdout) == 0 && !ferror(stdout)
               ? EXIT_CODE_OK
               : command_say(EXIT_CODE_CLIENT_LIMIT, "standard output cannot be written: %s",
                             strerror(errno));
}
