#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/registry.h"
#include "base/mono.h"
#include "base/units.h"
#include "cli/option_table.h"
#include "plan/plan.h"

enum {
    FIRST_LONG = 256
};

/* getopt's view of the options that the command takes. */
static void make_long_options(struct option *longs, enum command command)
{
    size_t count = 0;
    for (size_t i = 0; i < option_table_size; i++) {
        if ((option_table[i].commands & command) != 0) {
            longs[count++] = (struct option){
                .name = option_table[i].name,
                .has_arg = option_table[i].argument == NULL ? no_argument : required_argument,
                .val = FIRST_LONG + (int)i,
            };
        }
    }
    longs[count] = (struct option){0};
}

static enum status refuse_option(int code, char *const *argv, struct error *error)
{
    const char *word = argv[optind > 0 ? optind - 1 : 0];
    if (code == ':') {
        error_set(error, ERROR_USAGE, 0, NULL, "%s needs a value: see append --help", word);
    } else if (optopt >= '0' && optopt <= '9') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "'-%c…' is no count: SESSIONS and RECORDS are whole numbers from 1", optopt);
    } else if (optopt >= FIRST_LONG) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s takes no value", word);
    } else if (optopt != 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown option '-%c': see append --help", optopt);
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown option '%s': see append --help", word);
    }
    return STATUS_REJECTED;
}

static enum status parse_count(const char *name, const char *text, uint64_t max, uint64_t *value,
                               struct error *error)
{
    if (units_parse_count(text, max, value) && *value > 0) {
        return STATUS_OK;
    }
    char shown[UNITS_TEXT_BYTES];
    error_set(error, ERROR_USAGE, 0, NULL,
              "%s '%.40s' is not a whole number from 1 to %s (10000000 or 10M)", name, text,
              units_format_count(max, shown));
    return STATUS_REJECTED;
}

/* What a command takes beside its options. The target, always last, may be left out. */
static const char *operands_of(const struct options *options)
{
    switch (options->command) {
    case COMMAND_CHECK:
        return "append check SESSIONS [TARGET]";
    case COMMAND_FIND_MAX:
        return "append find-max [TARGET]";
    case COMMAND_RUN:
        break;
    }
    return options->config.duration_ns == 0 ? "append SESSIONS RECORDS [TARGET]"
                                            : "append SESSIONS [TARGET] --duration T";
}

static enum status parse_operands(struct options *options, int count, char *const *operands,
                                  struct error *error)
{
    struct config *config = &options->config;
    const bool has_sessions = options->command != COMMAND_FIND_MAX;
    const bool has_records = options->command == COMMAND_RUN && config->duration_ns == 0;
    const int least = (has_sessions ? 1 : 0) + (has_records ? 1 : 0);
    if (count < least || count > least + 1) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s operands: use %s, see append --help",
                  count < least ? "too few" : "too many", operands_of(options));
        return STATUS_REJECTED;
    }
    enum status status = STATUS_OK;
    if (has_sessions) {
        status = parse_count("SESSIONS", operands[0], PLAN_SESSIONS_MAX, &config->sessions, error);
    }
    if (status == STATUS_OK && has_records) {
        status = parse_count("RECORDS", operands[1], PLAN_RECORDS_MAX, &config->records, error);
    }
    config->target = count > least ? operands[least] : NULL;
    return status;
}

enum status options_parse(struct options *options, enum command command, int argc, char **argv,
                          struct error *error)
{
    *options = (struct options){.command = command};
    config_init(&options->config);
    options->config.default_password = getenv("APPEND_PASSWORD");
    if (command == COMMAND_FIND_MAX) {
        /* count(*) gets slower as the table grows, which is not for the number of sessions */
        options->config.read_mode = READ_NONE;
        options->config.is_search = true;
        options->config.sample_interval_ns = 0; /* by the length of a hold */
    }

    struct option longs[OPTION_TABLE_MAX + 1];
    make_long_options(longs, command);
    opterr = 0;
    optind = 0; /* getopt forgets the words of an earlier call, which 1 does not make it do */
    int code;
    while ((code = getopt_long(argc, argv, ":hq", longs, NULL)) != -1) {
        if (code == '?' || code == ':') {
            return refuse_option(code, argv, error);
        }
        if (code == 'h') {
            options->is_help = true;
        } else if (code == 'q') {
            options->config.is_quiet = true;
        } else if (option_table[code - FIRST_LONG].store(options, optarg, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (options->is_help || options->is_version) {
            return STATUS_OK;
        }
    }
    return parse_operands(options, argc - optind, argv + optind, error);
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
    return (adapter->flags & ADAPTER_EMBEDDED) != 0 ? "" : "//user@host:port/database";
}

static const char run_help[] =
    "append holds SESSIONS sessions open while each appends its share of RECORDS\n"
    "rows, and reports what that costs and what stops it.\n"
    "\n"
    "Usage: append SESSIONS RECORDS [TARGET] [options]\n"
    "       append SESSIONS [TARGET] --duration T [options]\n"
    "       append check SESSIONS [TARGET]    what would limit such a run\n"
    "       append find-max [TARGET]          how many sessions there can be\n"
    "\n"
    "TARGET: port of a server on this machine, URL of a database, or nothing for\n"
    "an embedded database in the run's folder\n";

static const char check_help[] =
    "append check compares what SESSIONS sessions need with what this machine, the\n"
    "server and the database allow, without opening them.\n"
    "\n"
    "Usage: append check SESSIONS [TARGET] [options]\n"
    "\n"
    "TARGET: port of a server on this machine, URL of a database, or nothing to\n"
    "check this machine only\n";

static const char find_max_help[] =
    "append find-max adds sessions that append until no more can be held, and\n"
    "reports the most that could, and the limit that stopped the next.\n"
    "\n"
    "Usage: append find-max [TARGET] [options]\n"
    "\n"
    "TARGET: port of a server on this machine, URL of a database, or nothing for\n"
    "an embedded database in the folder of the files\n";

static void print_usage(enum command command, FILE *stream)
{
    switch (command) {
    case COMMAND_RUN:
        fputs(run_help, stream);
        break;
    case COMMAND_CHECK:
        fputs(check_help, stream);
        break;
    case COMMAND_FIND_MAX:
        fputs(find_max_help, stream);
        break;
    }
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        char form[80];
        snprintf(form, sizeof form, "%s:%s", (*a)->name, target_form(*a));
        fprintf(stream, "  %-38s %s\n", form, (*a)->summary);
    }
}

static void print_options(enum command command, FILE *stream)
{
    const char *section = NULL;
    for (size_t i = 0; i < option_table_size; i++) {
        const struct option_entry *entry = &option_table[i];
        if ((entry->commands & command) == 0) {
            continue;
        }
        if (section == NULL || strcmp(section, entry->section) != 0) {
            fprintf(stream, "\n%s\n", entry->section);
        }
        section = entry->section;
        char form[48];
        snprintf(form, sizeof form, "--%s%s%s", entry->name, entry->argument == NULL ? "" : " ",
                 entry->argument == NULL ? "" : entry->argument);
        fprintf(stream, "  %-25s %s\n", form, entry->help);
    }
}

void options_print_help(enum command command, FILE *stream)
{
    print_usage(command, stream);
    print_options(command, stream);
    fputs("\n"
          "Counts take k, M and G (10M = 10,000,000); T is seconds or 500ms, 30s, 5m, 1h.\n"
          "The password comes from APPEND_PASSWORD, --password-file or the client\n"
          "library's own means (PGPASSWORD, ~/.pgpass).\n"
          "\n",
          stream);
    if (command == COMMAND_FIND_MAX) {
        fputs("Exit: 0 some level held and the acknowledged rows are there, 1 they are not,\n"
              "2 usage, 3 no level held for this machine's limit, 4 for the server's, or the\n"
              "server is gone, 70 internal error, 130 interrupted\n"
              "Example: append find-max 5432 --user app --database logs --p99 100ms\n",
              stream);
        return;
    }
    fputs("Exit: 0 all rows acknowledged and counted, 1 ledger short, 2 usage, 3 client\n"
          "limit, 4 server refused, 6 client-bound, 70 internal error, 130 interrupted\n"
          "Example: append 1000 10000000 5432 --user app --database logs\n",
          stream);
}
