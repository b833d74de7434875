#include "cli/command_table.h"

#include <string.h>

#include "base/nearest.h"
#include "chart/report_set.h"
#include "cli/command.h"

const struct command_entry command_table[] = {
    {
        .command = COMMAND_RUN,
        .usage = "append SESSIONS RECORDS [TARGET]",
        .line = "one run",
        .about = "append holds SESSIONS sessions open while each appends its share of RECORDS\n"
                 "rows, and reports what that costs and what stops it.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing for an embedded database in the run's folder\n",
        .exits = "Exit: 0 all rows acknowledged and counted, 1 ledger short, 2 usage, 3 client\n"
                 "limit, 4 server refused, 5 expectation missed, 6 client-bound, 70 internal\n"
                 "error, 130 interrupted\n",
        .example = "append 1000 10000000 5432 --user app --database logs",
        .run = command_run,
    },
    {
        .command = COMMAND_CHECK,
        .name = "check",
        .usage = "append check SESSIONS [TARGET]",
        .line = "what would limit such a run",
        .about = "append check compares what SESSIONS sessions need with what this machine, the\n"
                 "server and the database allow, without opening them.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing to check this machine only\n",
        .exits = "Exit: 0 no limit is in the way, 2 usage, 3 one of this machine is, 4 one of the\n"
                 "server, or it was not reached, 70 internal error, 130 interrupted\n",
        .example = "append check 10000 5432 --user app --database logs",
        .run = command_check,
    },
    {
        .command = COMMAND_FIND_MAX,
        .name = "find-max",
        .usage = "append find-max [TARGET]",
        .line = "how many sessions there can be",
        .about = "append find-max adds sessions that append until no more can be held, and\n"
                 "reports the most that could, and the limit that stopped the next.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing for an embedded database in the folder of the files\n",
        .exits = "Exit: 0 some level held and the acknowledged rows are there, 1 they are not,\n"
                 "2 usage, 3 no level held for this machine's limit, 4 for the server's, or the\n"
                 "server is gone, 70 internal error, 130 interrupted\n",
        .example = "append find-max 5432 --user app --database logs --p99 100ms",
        .run = command_find_max,
    },
    {
        .command = COMMAND_REPORT,
        .name = "report",
        .usage = "append report DIR...",
        .line = "runs as a page with charts",
        .about =
            "append report makes one page, report.html, of the folders of finished runs and\n"
            "sweeps: figures, charts, ledgers, limits, errors, environment. The page needs no\n"
            "network. It is put into DIR; with several DIR, into this folder. Charts are\n"
            "drawn by gnuplot.\n",
        .folders_least = 1,
        .folders_most = REPORT_FOLDERS_MAX,
        .exits = "Exit: 0 written, 2 usage, or DIR has no finished run, 3 there is no gnuplot, or\n"
                 "the page cannot be written, 70 internal error\n",
        .example = "append report append-runs/*-postgresql-* --out page.html",
        .run = command_report,
    },
    {
        .command = COMMAND_COMPARE,
        .name = "compare",
        .usage = "append compare A B",
        .line = "two runs or sweeps side by side",
        .about = "append compare holds B against A, folders of two finished runs or sweeps: what\n"
                 "they differ in, the ratio of every figure, and whether B is slower or faster\n"
                 "beyond what the figures vary by.\n",
        .folders_least = 2,
        .folders_most = 2,
        .exits = "Exit: 0 compared, 2 usage, or a folder has no finished run or sweep, 3 out of\n"
                 "memory or the report cannot be written, 5 a bound of --fail-if is crossed\n",
        .example = "append compare before after --fail-if 'throughput<0.95'",
        .run = command_compare,
    },
    {
        .command = COMMAND_SWEEP,
        .name = "sweep",
        .usage = "append sweep --sessions N,N --records N,N [TARGET]",
        .line = "a run for each size",
        .about = "append sweep makes a run for every pair of --sessions and --records, and puts\n"
                 "maximum CPU, maximum memory, elapsed time and throughput into four tables.\n",
        .target = "TARGET: port of a server on this machine, HOST:PORT, URL of a database, or\n"
                  "nothing for an embedded database in the folder of each run\n",
        .exits = "Exit: 0 all runs ended with 0; else the code of the run that weighs most: 70\n"
                 "internal error, 1 ledger short, 3 client limit, 4 server, 2 usage, 6\n"
                 "client-bound, 5 expectation; 130 interrupted: go on with --resume\n",
        .example = "append sweep --sessions 100,1000 --records 1M,10M 5432 --recreate",
        .run = command_sweep,
    },
    {
        .command = COMMAND_HELP,
        .name = "help",
        .usage = "append help [COMMAND]",
        .line = "what a command does and takes",
        .about = "append help prints what a command does, its options and its exit codes; of\n"
                 "'append SESSIONS RECORDS', which needs no name and is also 'run', without one.\n",
        .exits = "Exit: 0 printed, 2 there is no such command\n",
        .example = "append help sweep",
        .run = command_help,
    },
};
const size_t command_table_size = sizeof command_table / sizeof command_table[0];

const struct command_entry *command_table_find(enum command command)
{
    for (size_t i = 0; i < command_table_size; i++) {
        if (command_table[i].command == command) {
            return &command_table[i];
        }
    }
    return &command_table[0];
}

const struct command_entry *command_table_find_name(const char *name, struct error *error)
{
    struct nearest nearest = {.word = name};
    if (strcmp(name, "run") == 0) {
        return &command_table[0];
    }
    nearest_offer(&nearest, "run");
    for (size_t i = 1; i < command_table_size; i++) {
        if (strcmp(name, command_table[i].name) == 0) {
            return &command_table[i];
        }
        nearest_offer(&nearest, command_table[i].name);
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

enum exit_code command_table_run(int argc, char **argv)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";
    const char *word = argc > 1 ? argv[1] : "";
    if (word[0] < 'a' || word[0] > 'z' || word[strspn(word, letters)] != '\0') {
        return command_table[0].run(argc, argv);
    }
    struct error error;
    error_clear(&error);
    const struct command_entry *entry = command_table_find_name(word, &error);
    return entry == NULL ? command_fail(EXIT_CODE_USAGE, &error) : entry->run(argc - 1, argv + 1);
}
