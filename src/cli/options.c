#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/mono.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cli/command_table.h"
#include "cli/option_table.h"
#include "plan/plan.h"
#include "plan/target.h"
#include "plan/url.h"

enum {
    PASSWORD_OPTION = 256, /* --password: there is none */
    FIRST_LONG,
    SHOWN_BYTES = 60
};

/* The options that the command takes: getopt's view of them, and their entries. */
struct known {
    struct option longs[OPTION_MAX + 2];
    char letters[2 * OPTION_MAX + 4];
    const struct option_entry *entries[OPTION_MAX];
    size_t count;
};

static void know_options(struct known *known, enum command command)
{
    known->count = 0;
    char *letter = known->letters;
    *letter++ = ':'; /* a value that is missing is told apart */
    for (const struct option_group *const *group = option_groups; *group != NULL; group++) {
        for (size_t i = 0; i < (*group)->count && known->count < OPTION_MAX; i++) {
            const struct option_entry *entry = &(*group)->entries[i];
            if (!option_is_of(entry, command)) {
                continue;
            }
            known->longs[known->count] = (struct option){
                .name = entry->name,
                .has_arg = entry->argument == NULL ? no_argument : required_argument,
                .val = FIRST_LONG + (int)known->count,
            };
            known->entries[known->count++] = entry;
            if (option_letter(entry) != '\0') {
                *letter++ = option_letter(entry);
                *letter = ':';
                letter += entry->argument == NULL ? 0 : 1;
            }
        }
    }
    *letter = '\0';
    /* else getopt takes it for an abbreviation, and the password for the name of a file */
    known->longs[known->count] =
        (struct option){"password", optional_argument, NULL, PASSWORD_OPTION};
    known->longs[known->count + 1] = (struct option){0};
}

/* The entry behind a code of getopt; NULL: none. */
static const struct option_entry *entry_of(const struct known *known, int code)
{
    if (code >= FIRST_LONG) {
        return known->entries[code - FIRST_LONG];
    }
    for (size_t i = 0; i < known->count; i++) {
        if (option_letter(known->entries[i]) == code) {
            return known->entries[i];
        }
    }
    return NULL;
}

/* An option that no command or only another one has. What stands behind its '=' may be a password.
 */
static void refuse_name(const struct known *known, enum command command, const char *word,
                        struct error *error)
{
    char name[SHOWN_BYTES];
    struct nearest nearest = {.word = name};
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t i = 0; i < known->count; i++) {
        nearest_offer(&nearest, known->entries[i]->name);
    }
    bool is_of_another = false;
    for (const struct option_group *const *group = option_groups; *group != NULL; group++) {
        for (size_t i = 0; i < (*group)->count; i++) {
            is_of_another = is_of_another || strcmp((*group)->entries[i].name, name) == 0;
        }
    }
    if (is_of_another) {
        error_set(error, ERROR_USAGE, 0, NULL, "--%s is no option of '%s': see append help%s%s",
                  name, command_table_find(command)->usage, command == COMMAND_RUN ? "" : " ",
                  command == COMMAND_RUN ? "" : command_table_find(command)->name);
    } else if (nearest.name != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown option '--%s': did you mean --%s?", name,
                  nearest.name);
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown option '--%s': see append --help", name);
    }
}

static enum status refuse_option(const struct known *known, enum command command, int code,
                                 char *const *argv, struct error *error)
{
    const char *word = argv[optind > 0 ? optind - 1 : 0];
    if (code == PASSWORD_OPTION || strncmp(word, "--pass", strlen("--pass")) == 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "a password does not belong on the command line, where everybody can read it: "
                  "use --password-file FILE or APPEND_PASSWORD");
    } else if (code == ':') {
        error_set(error, ERROR_USAGE, 0, NULL, "%s needs a value: see append --help", word);
    } else if (optopt >= '0' && optopt <= '9') {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "'-%c…' is no count: SESSIONS and RECORDS are whole numbers from 1", optopt);
    } else if (optopt >= FIRST_LONG) {
        error_set(error, ERROR_USAGE, 0, NULL, "%.*s takes no value", (int)strcspn(word, "="),
                  word);
    } else if (optopt != 0) {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown option '-%c': see append --help", optopt);
    } else {
        refuse_name(known, command, word, error);
    }
    return STATUS_REJECTED;
}

static enum status parse_count(const char *name, const char *text, uint64_t max, uint64_t *value,
                               struct error *error)
{
    if (units_parse_count(text, max, value) && *value > 0) {
        return STATUS_OK;
    }
    char shown[SHOWN_BYTES], most[UNITS_TEXT_BYTES];
    target_redact(text, shown, sizeof shown); /* it may be a target out of its place */
    error_set(error, ERROR_USAGE, 0, NULL,
              "%s '%.40s' is not a whole number from 1 to %s (10000000 or 10M)", name, shown,
              units_format_count(max, most));
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
    for (size_t i = 0; i < count; i++) {
        char shown[SHOWN_BYTES];
        target_redact(operands[i], shown, sizeof shown);
        if (strncmp(shown, operands[i], strlen(shown)) != 0 && access(operands[i], F_OK) != 0) {
            error_set(error, ERROR_USAGE, 0, NULL, "'%s' is a target, not a folder of a run",
                      shown);
            return STATUS_REJECTED;
        }
    }
    options->folders = operands;
    options->folder_count = count;
    return STATUS_OK;
}

/* Where a port is most likely meant, a run of so many rows elsewhere would surprise. */
static enum status refuse_usual_port(const char *text, struct error *error)
{
    uint16_t port = 0;
    if (!url_parse_port(text, &port)) {
        return STATUS_OK;
    }
    for (const struct adapter *const *a = registry_adapters; *a != NULL; a++) {
        if (port != 0 && (*a)->default_port == port) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "%s stands where RECORDS does and is the port of %s: write localhost:%s for "
                      "the server, or RECORDS and then a target",
                      text, (*a)->name, text);
            return STATUS_REJECTED;
        }
    }
    return STATUS_OK;
}

/* RECORDS, which a duration can stand for. A number is never a port here: that comes behind. */
static enum status parse_records(struct config *config, const char *text, bool is_last,
                                 struct error *error)
{
    if (is_last && config->port == 0 && refuse_usual_port(text, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    return parse_count("RECORDS", text, PLAN_RECORDS_MAX, &config->records, error);
}

static enum status parse_operands(struct options *options, int count, char *const *operands,
                                  struct error *error)
{
    if (command_table_find(options->command)->folders_most > 0) {
        return parse_folders(options, (size_t)count, operands, error);
    }
    struct config *config = &options->config;
    const bool has_sessions = options->command != COMMAND_FIND_MAX &&
                              options->command != COMMAND_SWEEP && config->sessions == 0;
    const int first = has_sessions ? 1 : 0;
    const bool can_lack_records = options->command != COMMAND_RUN || config->duration_ns != 0;
    uint64_t number;
    const bool has_records =
        options->command == COMMAND_RUN &&
        (!can_lack_records || count > first + 1 ||
         (count == first + 1 && units_parse_count(operands[first], UINT64_MAX, &number)));
    const int least = first + (can_lack_records ? 0 : 1);
    const int most = first + (has_records ? 1 : 0) + 1;
    if (count < least || count > most) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s operands: use %s, see append --help",
                  count < least ? "too few" : "too many",
                  config->duration_ns != 0 && options->command == COMMAND_RUN
                      ? "append SESSIONS [RECORDS] [TARGET] --duration T"
                      : command_table_find(options->command)->usage);
        return STATUS_REJECTED;
    }
    enum status status = STATUS_OK;
    if (has_sessions) {
        status = parse_count("SESSIONS", operands[0], PLAN_SESSIONS_MAX, &config->sessions, error);
    }
    if (status == STATUS_OK && has_records) {
        status = parse_records(config, operands[first], count < most, error);
    }
    config->target = count > most - 1 ? operands[most - 1] : NULL;
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
    while ((code = getopt_long(argc, argv, known.letters, known.longs, NULL)) != -1) {
        const bool is_error = code == '?' || code == ':';
        const struct option_entry *entry = is_error ? NULL : entry_of(&known, code);
        /* -h HOST is pgbench's and psql's; without a host, or where none is taken, it asks for
         * help, and so does their -? */
        if (is_error && (optopt == 'h' || optopt == '?')) {
            options->is_help = true;
        } else if (entry == NULL) {
            return refuse_option(&known, command, code, argv, error);
        } else if (store_option(options, entry, error) != STATUS_OK) {
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
