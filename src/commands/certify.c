/* append certify: breaks a server again and again under load, and proves what it keeps. */
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
#include "report/report.h"

/* Writes the command that repeats the run: the words of the command line, quoted for a shell, and
 * the seed. Leaves out --out, because the folder exists now. */
static void write_command(const struct plan *plan, int argc, char **argv,
                          struct certificate *certificate)
{
    struct buffer line = {0};
    buffer_add_text(&line, "append certify");
    for (int i = 1; i < argc; i++) {
        char shown[PLAN_TARGET_BYTES];
        if (strcmp(argv[i], "--out") == 0) {
            i++;
            continue;
        }
        if (strncmp(argv[i], "--out=", strlen("--out=")) == 0) {
            continue;
        }
        target_redact(argv[i], shown, sizeof shown);
        buffer_add_text(&line, " ");
        report_add_word(&line, option_is_target(argv[i]) ? shown : argv[i]);
    }
    if (!plan->is_seed_given) {
        buffer_add_format(&line, " --seed %" PRIu64, plan->seed);
    }
    snprintf(certificate->command, sizeof certificate->command, "%s", buffer_text(&line));
    buffer_fini(&line);
}

/* Refuses a setting that is not NAME=VALUE. A text may have several settings, with blanks between
 * them. */
static enum exit_code check_settings(const struct plan_texts *settings, struct error *error)
{
    for (size_t i = 0; i < settings->count; i++) {
        const char *text = settings->texts[i];
        for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
            const size_t length = strcspn(text, " ");
            const size_t name_length = strcspn(text, "= ");
            if (name_length == 0 || name_length == length) {
                return usage_refuse(error,
                                    "--server-option '%.*s' is not NAME=VALUE: write it as in the "
                                    "server's manual, fsync=off",
                                    (int)MIN(length, (size_t)80), text);
            }
            text += length;
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
    if (options->server != NULL && (options->start != NULL || plan->server_pid != 0)) {
        return usage_refuse(error, "%s is for your own server: leave it out with --server",
                            options->start != NULL ? "--server-start" : "--server-pid");
    }
    if (options->is_proven && options->options.count == PLAN_TEXTS_MAX) {
        return usage_refuse(error, "--prove adds a setting: give at most %d with --server-option",
                            PLAN_TEXTS_MAX - 1);
    }
    if (options->server != NULL) {
        return check_settings(&options->options, error);
    }
    if (options->options.count > 0 || options->is_proven) {
        return usage_refuse(error,
                            "%s needs a server of append's own (--server): append does not "
                            "change the settings of yours",
                            options->is_proven ? "--prove" : "--server-option");
    }
    if (starts > 0 && options->start == NULL) {
        return usage_refuse(error,
                            "--faults kill, power and restart need --server-start COMMAND, which "
                            "starts your server again");
    }
    return options->is_confirmed
               ? EXIT_CODE_OK
               : usage_refuse(error, "append certify would break this server on purpose: add --yes "
                                     "if no one else needs it");
}

/* Reads --faults, or chooses them. */
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

/* Makes the folder of the run. */
static enum exit_code make_folder(const struct plan *plan, struct error *error)
{
    const char *path = plan->out_folder;
    int number = file_make_parents(path);
    number = number == 0 && mkdir(path, 0777) != 0 ? errno : number;
    if (number == 0) {
        return EXIT_CODE_OK;
    }
    if (number == EEXIST) {
        return usage_refuse(error, "the folder %.300s exists already: name a new one with --out",
                            path);
    }
    error_set(error, ERROR_SYSTEM, number, NULL, "cannot make the folder %.300s: %s", path,
              strerror(number));
    return EXIT_CODE_CLIENT_LIMIT;
}

/* Refuses the user's server if it is on another machine, or is part of this program. */
static enum exit_code check_target(const struct plan *plan, struct error *error)
{
    struct connection_info named = {.host = ""};
    target_fill_connection(plan, &named);
    if (plan->certify.server == NULL &&
        (plan->adapter->flags & (ADAPTER_EMBEDDED | ADAPTER_DISCARDS | ADAPTER_STRING)) != 0) {
        return usage_refuse(error,
                            "append certify needs a server with processes of its own, which "
                            "%s is not: for SQLite use --server sqlite",
                            plan->adapter->name);
    }
    if (plan->certify.server == NULL && (plan->host_count > 0 || !address_is_local(named.host))) {
        return usage_refuse(error,
                            "append certify breaks a server on this machine, not on %.100s: "
                            "run append there",
                            named.host);
    }
    return EXIT_CODE_OK;
}

/* Runs the faults of a complete plan, writes the certificate and prints the statement. */
static enum exit_code certify(struct subject *subject, const struct plan *plan,
                              struct certificate *certificate, struct error *error)
{
    static char statement[CERTIFICATE_STATEMENT_BYTES];
    /* mounts of this process end with it, even if it is killed */
    if (plan->certify.server != NULL && subject->faults.counts[FAULT_POWER] > 0 &&
        disk_enter_namespace(error) != STATUS_OK) {
        return EXIT_CODE_CLIENT_LIMIT;
    }
    enum exit_code code = make_folder(plan, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    snprintf(certificate->place, sizeof certificate->place, "%.255s",
             plan->certify.server != NULL ? "a server of append's own" : plan->facts->target);
    certify_run(certificate, subject, plan);
    const bool is_written = certificate_write(certificate, plan->out_folder, error) == STATUS_OK;
    certificate_state(certificate, statement, sizeof statement);
    printf("%s\nfiles: %s\n", statement, plan->out_folder);
    code = command_finish_output();
    if (!is_written) {
        return certificate->code == EXIT_CODE_OK ? EXIT_CODE_CLIENT_LIMIT : certificate->code;
    }
    if (certificate->code == EXIT_CODE_OK || code != EXIT_CODE_OK) {
        return code;
    }
    error_set(error, ERROR_SERVER, 0, NULL, "%.480s",
              certificate->reason[0] != '\0' ? certificate->reason : statement);
    return certificate->code;
}

enum exit_code command_certify(int argc, char **argv)
{
    struct plan plan;
    struct facts facts;
    struct container container;
    struct subject subject;
    struct fault_counts faults = {.counts = {0}};
    struct certificate certificate = {.plan = &plan};
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code =
        command_line_read(&plan, command_form(COMMAND_CERTIFY), argc, argv, &error);
    if (command_is_done(&plan, &code, &error)) {
        return code;
    }
    interrupt_install();
    code = choose_faults(&plan, &faults, &error);
    code = code == EXIT_CODE_OK ? check_options(&plan, &faults, &error) : code;
    if (code == EXIT_CODE_OK) {
        code = subject_choose(&subject, &faults, &plan, &plan.target, &error);
        plan.adapter_name = plan.certify.server != NULL ? plan.certify.server : plan.adapter_name;
    }
    if (code != EXIT_CODE_OK) {
        return command_fail(code, &error);
    }
    code = plan_make(&plan, &facts, &error);
    if (code == EXIT_CODE_OK) {
        write_command(&plan, argc, argv, &certificate);
        code = check_target(&plan, &error);
        code = code == EXIT_CODE_OK ? job_begin_client(&container, &plan, &facts, &error) : code;
        if (code == EXIT_CODE_OK) {
            code = certify(&subject, &plan, &certificate, &error);
            setup_stop_library(&plan);
        }
        plan_fini(&plan);
    }
    subject_fini(&subject);
    free(certificate.proof.results);
    free(certificate.series.results);
    return code == EXIT_CODE_OK ? code : command_fail(code, &error);
}
