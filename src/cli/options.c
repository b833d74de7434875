#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/units.h"
#include "cli/command_table.h"
#include "cli/option_table.h"
#include "plan/plan.h"

enum {
    FIRST_LONG = 256
};

/* The options that the command takes: getopt's view of them, and their entries. */
struct known {
    struct option longs[OPTION_MAX + 1];
    const struct option_entry *entries[OPTION_MAX];
    size_t count;
};

static void know_options(struct known *known, enum command command)
{
    known->count = 0;
    for (const struct option_group *const *group = option_groups; *group != NULL; group++) {
        for (size_t i = 0; i < (*group)->count && known->count < OPTION_MAX; i++) {
            const struct option_entry *entry = &(*group)->entries[i];
            if (option_is_of(entry, command)) {
                known->longs[known->count] = (struct option){
                    .name = entry->name,
                    .has_arg = entry->argument == NULL ? no_argument : required_argument,
                    .val = FIRST_LONG + (int)known->count,
                };
                known->entries[known->count++] = entry;
            }
        }
    }
    known->longs[known->count] = (struct option){0};
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

static enum status parse_folders(struct options *options, size_t count, char *const *operands,
                                 struct error *error)
{
    const struct command_entry *entry = command_table_find(options->command);
    if (count < entry->folders_least) {
        error_set(error, ERROR_USAGE, 0, NULL, "too few operands: use %s, see append --help",
                  entry->usage);
        return STATUS_REJECTED;
    }
    if (count > entry->folders_most) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "too many operands: use %s (at most %zu), see append --help", entry->usage,
                  entry->folders_most);
        return STATUS_REJECTED;
    }
    options->folders = operands;
    options->folder_count = count;
    return STATUS_OK;
}

static enum status parse_operands(struct options *options, int count, char *const *operands,
                                  struct error *error)
{
    if (command_table_find(options->command)->folders_most > 0) {
        return parse_folders(options, (size_t)count, operands, error);
    }
    struct config *config = &options->config;
    const bool has_sessions =
        options->command != COMMAND_FIND_MAX && options->command != COMMAND_SWEEP;
    const bool has_records = options->command == COMMAND_RUN && config->duration_ns == 0;
    const int least = (has_sessions ? 1 : 0) + (has_records ? 1 : 0);
    if (count < least || count > least + 1) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s operands: use %s, see append --help",
                  count < least ? "too few" : "too many",
                  config->duration_ns != 0 ? "append SESSIONS [TARGET] --duration T"
                                           : command_table_find(options->command)->usage);
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

static enum status store_option(struct options *options, const struct option_entry *entry,
                                struct error *error)
{
    if (options->given_count == OPTIONS_GIVEN_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "more than %d options", OPTIONS_GIVEN_MAX);
        return STATUS_REJECTED;
    }
    options->given[options->given_count++] =
        (struct given_option){.name = entry->name, .value = optarg};
    return entry->store(options, optarg, error);
}

static enum status parse(struct options *options, enum command command, int argc, char **argv,
                         struct error *error)
{
    *options = (struct options){.command = command, .sweep_repeat = 1, .compare_threshold = 0.05};
    config_init(&options->config);
    options->config.default_password = getenv("APPEND_PASSWORD");
    if (command == COMMAND_FIND_MAX) {
        /* count(*) gets slower as the table grows, which is not for the number of sessions */
        options->config.read_mode = READ_NONE;
        options->config.is_search = true;
        options->config.sample_interval_ns = 0; /* by the length of a hold */
    }

    struct known known;
    know_options(&known, command);
    opterr = 0;
    optind = 0; /* getopt forgets the words of an earlier call, which 1 does not make it do */
    int code;
    while ((code = getopt_long(argc, argv, ":hq", known.longs, NULL)) != -1) {
        if (code == '?' || code == ':') {
            return refuse_option(code, argv, error);
        }
        if (code == 'h') {
            options->is_help = true;
        } else if (code == 'q') {
            options->config.is_quiet = true;
        } else if (store_option(options, known.entries[code - FIRST_LONG], error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (options->is_help || options->is_version) {
            return STATUS_OK;
        }
    }
    return parse_operands(options, argc - optind, argv + optind, error);
}

enum status options_parse(struct options *options, enum command command, int argc, char **argv,
                          struct error *error)
{
    const enum status status = parse(options, command, argc, argv, error);
    for (int i = 1; i < argc && status != STATUS_OK; i++) {
        /* also behind the option that is wrong */
        options->config.is_json = options->config.is_json || strcmp(argv[i], "--json") == 0;
    }
    return status;
}
