/* append certify: breaks a server again and again under load, and checks that the server keeps
 * every acknowledged row. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "certify/certify.h"
#include "commands/command.h"
#include "commands/job.h"
#include "plan/command_line.h"
#include "plan/facts.h"
#include "report/files.h"
#include "report/report.h"

/* Returns whether `text`, a word of the command line, is the value of --out. */
static bool is_out(const struct plan *plan, const char *text)
{
    for (size_t i = 0; i < plan->given_count && text != NULL; i++) {
        const struct given_option *given = &plan->given[i];
        if (given->value == text && strcmp(given->entry->name, "out") == 0) {
            return true;
        }
    }
    return false;
}

/* Writes the command that repeats the run: the words of the command line, quoted for a shell, and
 * the seed. Omits --out, because its folder exists already. */
static void write_command(const struct plan *plan, int argc, char **argv, struct buffer *line)
{
    buffer_add_text(line, "append certify");
    for (int i = 1; i < argc; i++) {
        char shown[PLAN_TARGET_BYTES];
        const char *equals = strchr(argv[i], '=');
        if (is_out(plan, i + 1 < argc ? argv[i + 1] : NULL)) { /* --out DIR */
            i++;
            continue;
        }
        if (equals != NULL && is_out(plan, equals + 1)) { /* --out=DIR */
            continue;
        }
        target_redact(argv[i], shown, sizeof shown);
        buffer_add_text(line, " ");
        report_add_word(line, option_is_target(argv[i]) ? shown : argv[i]);
    }
    if (!plan->is_seed_given) {
        buffer_add_format(line, " --seed %" PRIu64, plan->seed);
    }
}

/* Refuses settings that are not NAME=VALUE. Each text has one or more settings, separated by
 * blanks. */
static enum exit_code check_settings(const struct plan_texts *settings, struct error *error)
{
    for (size_t i = 0; i < settings->count; i++) {
        const char *text = settings->texts[i];
        for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
            const size_t length = strcspn(text, " ");
            const size_t name_length = strcspn(text, "= ");
            if (name_length == 0 || name_length == length) {
                return usage_refuse(error,
                                    "--server-option '%.*s' is not NAME=VALUE: write the setting "
                                    "as in the server's manual, for example fsync=off",
                                    (int)MIN(length, (size_t)80), text);
            }
            text += length;
        }
    }
    return EXIT_CODE_OK;
}

/* The options that have an effect only with some servers or some faults. */
static const struct use {
    const char *name;
    enum {
        OWN_SERVER, /* the option needs --server */
        USERS_SERVER
    } server;
    /* kinds of fault with which the option has an effect, as bits 1 << kind; 0: all kinds */
    unsigned faults;
} uses[] = {
    {"server-option", OWN_SERVER, 0},
    {"prove", OWN_SERVER, 0},
    {"file-system", OWN_SERVER, 1U << FAULT_POWER},
    {"server-start", USERS_SERVER, 1U << FAULT_KILL | 1U << FAULT_POWER | 1U << FAULT_RESTART},
    {"server-pid", USERS_SERVER, 0},
    {"data-directory", USERS_SERVER, 1U << FAULT_POWER},
    {"adapter", USERS_SERVER, 0},
    {"host", USERS_SERVER, 0},
    {"user", USERS_SERVER, 0},
    {"password-file", USERS_SERVER, 0},
    {"database", USERS_SERVER, 0},
    {"client-lib", USERS_SERVER, 0},
};

/* Refuses an option that has no effect because the planned faults are of other kinds. */
static enum exit_code check_kinds(const struct use *use, const struct fault_counts *faults,
                                  struct error *error)
{
    static const char *const separators[] = {"", " or ", ", "};
    struct buffer kinds = {0};
    bool has_effect = use->faults == 0;
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        if ((use->faults & 1U << kind) != 0) {
            const int left = __builtin_popcount(use->faults >> kind) - 1;
            has_effect = has_effect || faults->counts[kind] > 0;
            buffer_add_format(&kinds, "%s%s", fault_words[kind].name, separators[MIN(left, 2)]);
        }
    }
    const enum exit_code code =
        has_effect ? EXIT_CODE_OK
                   : usage_refuse(error, "--%s has no effect without %s in --faults", use->name,
                                  buffer_text(&kinds));
    buffer_fini(&kinds);
    return code;
}

/* Refuses options that have no effect. */
static enum exit_code check_uses(const struct plan *plan, const struct fault_counts *faults,
                                 struct error *error)
{
    const bool is_own = plan->certify.server != NULL;
    for (const struct use *use = uses; use < uses + COUNT_OF(uses); use++) {
        if (!option_is_given(plan, use->name)) {
            continue;
        }
        if (is_own && use->server == USERS_SERVER) {
            return usage_refuse(error,
                                "--%s is for your own server, but --server makes a new server: "
                                "leave out one of the two options",
                                use->name);
        }
        if (!is_own && use->server == OWN_SERVER) {
            return usage_refuse(error,
                                "--%s needs a server of append's own (--server): append does not "
                                "change the settings or the disk of your server",
                                use->name);
        }
        if (check_kinds(use, faults, error) != EXIT_CODE_OK) {
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

/* Refuses combinations of options that make no sense. */
static enum exit_code check_options(const struct plan *plan, const struct fault_counts *faults,
                                    struct error *error)
{
    const struct certify_options *options = &plan->certify;
    const bool has_target = plan->target_given != NULL || plan->target.port != 0;
    const unsigned starts =
        faults->counts[FAULT_KILL] + faults->counts[FAULT_POWER] + faults->counts[FAULT_RESTART];
    if (options->server != NULL && has_target) {
        return usage_refuse(error, "--server makes a server: leave out TARGET, or --server");
    }
    if (options->server == NULL && !has_target) {
        return usage_refuse(
            error, "which server? Let append make one with --server postgresql, mariadb or "
                   "sqlite, or name your TARGET");
    }
    if (check_uses(plan, faults, error) != EXIT_CODE_OK) {
        return EXIT_CODE_USAGE;
    }
    if (options->wants_proof && options->options.count == PLAN_TEXTS_MAX) {
        return usage_refuse(error, "--prove adds a setting: give --server-option at most %d times",
                            PLAN_TEXTS_MAX - 1);
    }
    if (options->server != NULL) {
        return check_settings(&options->options, error);
    }
    if (starts > 0 && options->start == NULL) {
        return usage_refuse(error,
                            "--faults kill, power and restart need --server-start COMMAND, which "
                            "starts your server again");
    }
    return options->is_confirmed
               ? EXIT_CODE_OK
               : usage_refuse(error, "append certify would break this server on purpose: add --yes "
                                     "if no one else needs the server");
}

/* Reads --faults, or chooses the faults. */
static enum exit_code choose_faults(const struct plan *plan, struct fault_counts *faults,
                                    struct error *error)
{
    const bool has_power = plan->certify.server != NULL && geteuid() == 0;
    const char *text = plan->certify.faults;
    if (text == NULL) {
        text = has_power ? "kill:5,power:5" : "kill:10";
    }
    return fault_parse(text, faults, error) == STATUS_OK ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

/* Refuses the user's server if it is on another machine, or if it has no processes of its own. */
static enum exit_code check_target(const struct plan *plan, struct error *error)
{
    struct connection_info named = {.host = ""};
    target_fill_connection(plan, &named);
    if (plan->certify.server == NULL &&
        (plan->adapter->flags & (ADAPTER_EMBEDDED | ADAPTER_DISCARDS | ADAPTER_STRING)) != 0) {
        return usage_refuse(error,
                            "append certify needs a server with processes of its own, and %s is "
                            "not such a server: for SQLite use --server sqlite",
                            plan->adapter->name);
    }
    if (plan->certify.server == NULL && (plan->host_count > 0 || !address_is_local(named.host))) {
        return usage_refuse(error,
                            "append certify breaks a server on this machine, not on %.100s: "
                            "run append on the server's machine",
                            named.host);
    }
    return EXIT_CODE_OK;
}

/* Reports an error that happened before the first fault, on stderr and in the JUnit file. */
static enum exit_code fail(FILE **junit, const struct plan *plan, enum exit_code code,
                           const struct error *error)
{
    job_fail_junit(junit, plan, code, error);
    return command_fail(code, error);
}

/* Runs the faults of a complete plan. */
static enum exit_code certify(struct subject *subject, const struct plan *plan, FILE **junit,
                              struct certificate *certificate, struct error *error)
{
    /* enter a namespace: its mounts disappear when this process ends, even if it is killed */
    if (subject->kind->is_own && subject->faults.counts[FAULT_POWER] > 0 &&
        disk_enter_namespace(error) != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    enum exit_code code = report_make_folder(plan->out_folder, "", error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    code = report_open_file(junit, "junit", plan->junit, false, error);
    if (code != EXIT_CODE_OK) {
        rmdir(plan->out_folder);
        return code;
    }
    snprintf(certificate->place, sizeof certificate->place, "%.255s",
             subject->kind->is_own ? "a server of append's own" : plan->facts->target);
    certify_run(certificate, subject, plan);
    return EXIT_CODE_OK;
}

/* Writes the files, prints the statement and the reason for the exit code, and returns the code.
 * Prints the statement even if a file cannot be written. */
static enum exit_code conclude(const struct certificate *certificate, FILE **junit)
{
    static char statement[CERTIFICATE_STATEMENT_BYTES];
    const struct plan *plan = certificate->plan;
    struct error unwritten = {.kind = ERROR_NONE};
    certificate_write(certificate, plan->out_folder, &unwritten);
    if (*junit != NULL) {
        const int number = report_close_file(
            junit, certificate_write_junit(*junit, certificate, plan->out_folder, unwritten.text));
        if (number != 0 && !error_is_set(&unwritten)) {
            error_set(&unwritten, ERROR_SYSTEM, number, NULL,
                      "--junit '%.120s' cannot be written: %s", plan->junit, strerror(number));
        }
    }
    certificate_state(certificate, statement, sizeof statement);
    printf("%s\nfiles: %s\n", statement, plan->out_folder);
    if (certificate->code == EXIT_CODE_OK) {
        return error_is_set(&unwritten) ? command_fail(EXIT_CODE_CLIENT_LIMIT, &unwritten)
                                        : command_finish_output();
    }
    const char *reason = certificate->reason[0] != '\0' ? certificate->reason : statement;
    return error_is_set(&unwritten)
               ? command_say(certificate->code, "%s (%s)", reason, unwritten.text)
               : command_say(certificate->code, "%s", reason);
}

enum exit_code command_certify(int argc, char **argv)
{
    struct plan plan;
    struct facts facts = {.library = NULL};
    struct container container;
    struct subject subject;
    struct fault_counts faults = {.counts = {0}};
    struct certificate certificate = {.plan = &plan};
    struct error error = {.kind = ERROR_NONE};
    FILE *junit = NULL;
    enum exit_code code =
        command_line_read(&plan, command_form(COMMAND_CERTIFY), argc, argv, &error);
    if (command_is_done(&plan, &code, &error)) {
        return code;
    }
    interrupt_install();
    plan.facts = &facts;
    code = report_open_file(&junit, "junit", plan.junit, true, &error);
    code = code == EXIT_CODE_OK ? choose_faults(&plan, &faults, &error) : code;
    code = code == EXIT_CODE_OK ? check_options(&plan, &faults, &error) : code;
    if (code == EXIT_CODE_OK) {
        code = subject_choose(&subject, &faults, &plan, &plan.target, &error);
        plan.adapter_name = plan.certify.server != NULL ? plan.certify.server : plan.adapter_name;
    }
    if (code != EXIT_CODE_OK) {
        return fail(&junit, &plan, code, &error);
    }
    code = plan_make(&plan, &facts, &error);
    const bool has_plan = code == EXIT_CODE_OK;
    if (has_plan) {
        write_command(&plan, argc, argv, &certificate.command);
        code = check_target(&plan, &error);
        code = code == EXIT_CODE_OK ? job_begin_client(&container, &plan, &facts, &error) : code;
        if (code == EXIT_CODE_OK) {
            code = certify(&subject, &plan, &junit, &certificate, &error);
            setup_stop_library(&plan);
        }
    }
    code =
        code == EXIT_CODE_OK ? conclude(&certificate, &junit) : fail(&junit, &plan, code, &error);
    if (has_plan) {
        plan_fini(&plan);
    }
    subject_fini(&subject);
    certificate_fini(&certificate);
    return code;
}
