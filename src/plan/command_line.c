/* From words to the plan: getopt over the table of options, and the operands. */
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "adapters/registry.h"
#include "base/text.h"
#include "base/units.h"
#include "base/url.h"
#include "plan/options.h"
#include "plan/target.h"

enum {
    OPTIONS_MAX = 128,     /* that one command takes */
    PASSWORD_OPTION = 256, /* --password: there is none */
    FIRST_LONG,
    SHOWN_BYTES = 60
};

/* The options that the command takes, as getopt wants them. */
struct known {
    const struct command_form *form;
    struct option longs[OPTIONS_MAX + 2];
    char letters[2 * OPTIONS_MAX + 4];
    const struct option_entry *entries[OPTIONS_MAX];
    size_t count;
};

static void know_options(struct known *known, const struct command_form *form)
{
    known->form = form;
    known->count = 0;
    char *letter = known->letters;
    *letter++ = ':'; /* a value that is missing is told apart */
    for (const struct option_entry *entry = option_table;
         entry->name != NULL && known->count < OPTIONS_MAX; entry++) {
        if (!option_is_of(entry, form->command)) {
            continue;
        }
        known->longs[known->count] = (struct option){
            .name = entry->name,
            .has_arg = entry->argument == NULL ? no_argument : required_argument,
            .val = FIRST_LONG + (int)known->count,
        };
        known->entries[known->count++] = entry;
        if (entry->letter != '\0') {
            *letter++ = entry->letter;
            *letter = ':';
            letter += entry->argument == NULL ? 0 : 1;
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
        if (known->entries[i]->letter == code) {
            return known->entries[i];
        }
    }
    return NULL;
}

/* An option that no command or only another one has. What stands behind its '=' may be a password.
 */
static void refuse_name(const struct known *known, const char *word, struct error *error)
{
    const struct command_form *form = known->form;
    char name[SHOWN_BYTES];
    struct nearest nearest = {.word = name};
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t i = 0; i < known->count; i++) {
        nearest_offer(&nearest, known->entries[i]->name);
    }
    const struct option_entry *other = option_table;
    while (other->name != NULL && strcmp(other->name, name) != 0) {
        other++;
    }
    if (other->name != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "--%s is no option of '%s': see append help%s%s",
                  name, form->usage, form->name == NULL ? "" : " ",
                  form->name == NULL ? "" : form->name);
    } else if (nearest.name != NULL) {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown option '--%s': did you mean --%s?", name,
                  nearest.name);
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "unknown option '--%s': see append --help", name);
    }
}

static enum status refuse_option(const struct known *known, int code, char *const *argv,
                                 struct error *error)
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
        refuse_name(known, word, error);
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

static enum status parse_folders(struct plan *plan, const struct command_form *form, size_t count,
                                 char *const *operands, struct error *error)
{
    if (count < form->folders_least) {
        error_set(error, ERROR_USAGE, 0, NULL, "too few operands: use %s, see append --help",
                  form->usage);
        return STATUS_REJECTED;
    }
    if (count > form->folders_most) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "too many operands: use %s (at most %zu), see append --help", form->usage,
                  form->folders_most);
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
    plan->folders = operands;
    plan->folder_count = count;
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
static enum status parse_records(struct plan *plan, const char *text, bool is_last,
                                 struct error *error)
{
    if (is_last && plan->target.port == 0 && refuse_usual_port(text, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    return parse_count("RECORDS", text, PLAN_RECORDS_MAX, &plan->records, error);
}

static enum status parse_operands(struct plan *plan, const struct command_form *form, int count,
                                  char *const *operands, struct error *error)
{
    if (form->folders_most > 0) {
        return parse_folders(plan, form, (size_t)count, operands, error);
    }
    const bool is_run = form->command == COMMAND_RUN;
    const bool has_sessions = (is_run || form->command == COMMAND_CHECK) && plan->sessions == 0;
    const int first = has_sessions ? 1 : 0;
    const bool can_lack_records = !is_run || plan->duration_ns != 0;
    uint64_t number;
    const bool has_records =
        is_run && (!can_lack_records || count > first + 1 ||
                   (count == first + 1 && units_parse_count(operands[first], UINT64_MAX, &number)));
    const int least = first + (can_lack_records ? 0 : 1);
    const int most = first + (has_records ? 1 : 0) + 1;
    if (count < least || count > most) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s operands: use %s, see append --help",
                  count < least ? "too few" : "too many",
                  plan->duration_ns != 0 && is_run
                      ? "append SESSIONS [RECORDS] [TARGET] --duration T"
                      : form->usage);
        return STATUS_REJECTED;
    }
    enum status status = STATUS_OK;
    if (has_sessions) {
        status = parse_count("SESSIONS", operands[0], PLAN_SESSIONS_MAX, &number, error);
        plan->sessions = status == STATUS_OK ? (unsigned)number : 0;
    }
    if (status == STATUS_OK && has_records) {
        status = parse_records(plan, operands[first], count < most, error);
    }
    plan->target_given = count > most - 1 ? operands[most - 1] : NULL;
    return status;
}

static enum status take_option(struct plan *plan, const struct option_entry *entry,
                               struct error *error)
{
    if (plan->given_count == PLAN_GIVEN_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "more than %d options", PLAN_GIVEN_MAX);
        return STATUS_REJECTED;
    }
    plan->given[plan->given_count++] = (struct given_option){entry, optarg};
    return option_store(entry, plan, optarg, error);
}

static enum status parse(struct plan *plan, const struct command_form *form, int argc, char **argv,
                         struct error *error)
{
    struct known known;
    know_options(&known, form);
    opterr = 0;
    optind = 0; /* getopt forgets the words of an earlier call, which 1 does not make it do */
    int code;
    while ((code = getopt_long(argc, argv, known.letters, known.longs, NULL)) != -1) {
        const bool is_error = code == '?' || code == ':';
        const struct option_entry *entry = is_error ? NULL : entry_of(&known, code);
        /* -h HOST is pgbench's and psql's; without a host, or where none is taken, it asks for
         * help, and so does their -? */
        if (is_error && (optopt == 'h' || optopt == '?')) {
            plan->is_help = true;
        } else if (entry == NULL) {
            return refuse_option(&known, code, argv, error);
        } else if (take_option(plan, entry, error) != STATUS_OK) {
            return STATUS_REJECTED;
        }
        if (plan->is_help || plan->is_version) {
            return STATUS_OK;
        }
    }
    return parse_operands(plan, form, argc - optind, argv + optind, error);
}

enum status options_parse(struct plan *plan, const struct command_form *form, int argc, char **argv,
                          struct error *error)
{
    options_init(plan, form->command);
    const enum status status = parse(plan, form, argc, argv, error);
    for (int i = 1; i < argc && status != STATUS_OK; i++) {
        /* also behind the option that is wrong */
        plan->is_json = plan->is_json || strcmp(argv[i], "--json") == 0;
    }
    return status;
}
