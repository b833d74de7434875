#include <stdio.h>

#include "base/interrupt.h"
#include "cli/client_library.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"
#include "limits/container.h"
#include "limits/limits.h"
#include "limits/open_files.h"
#include "load/inquiry.h"
#include "plan/plan.h"
#include "plan/target.h"
#include "report/check.h"

/* A session of a network database, when none is named. */
enum {
    USUAL_STACK_BYTES = 256 * 1024,
    USUAL_FILES = 1
};

/* Exit code and line of stderr: what limits the sessions, else why the database was not asked, as
 * a run would not get further. */
static enum exit_code finish(struct check_report *report, bool is_json)
{
    const struct limit *failed = NULL;
    const uint64_t certain = limits_sessions(report->list, false, &failed);
    report->fitting = limits_sessions(report->list, true, &report->first);
    char line[CHECK_LINE_BYTES + ERROR_TEXT_BYTES]; /* shown with a code other than OK */
    snprintf(line, sizeof line, "the database was not asked: %s",
             report->failure == NULL ? "" : report->failure);
    if (failed != NULL && certain < report->sessions) {
        report->code = failed->side == LIMIT_CLIENT ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER;
        report->is_short = true;
        check_conclusion(report->sessions, certain, failed, line);
    }
    if (is_json && !check_write_json(stdout, report) && ferror(stdout) == 0) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the JSON of the limits");
    }
    if (!is_json) {
        check_write_text(stdout, report);
    }
    const enum exit_code code = command_finish_output();
    return code != EXIT_CODE_OK || report->code == EXIT_CODE_OK ? code
                                                                : command_say(report->code, line);
}

static enum exit_code check_machine(const struct config *config)
{
    const struct limits_question question = {
        .sessions = config->sessions + config->idle_sessions,
        .connect_concurrency = (unsigned)config->connect_concurrency,
        .stack_bytes = config->stack_bytes > 0 ? config->stack_bytes : USUAL_STACK_BYTES,
        .files_per_session = USUAL_FILES,
        .other_files = LIMITS_RUN_FILES - 1 + LIMITS_SAMPLER_FILES, /* no --rate here */
        .other_threads = LIMITS_OTHER_THREADS,
        .uses_tcp = true,
    };
    struct limit_list list;
    limits_read(&question, &list);
    struct check_report report = {.sessions = question.sessions, .list = &list};
    return finish(&report, config->is_json);
}

/* Options of a connection have nothing to apply to without a target. */
static enum exit_code refuse_options(const struct config *config)
{
    const struct {
        const char *option;
        bool is_given;
    } options[] = {
        {"--host", config->host != NULL},
        {"--user", config->user != NULL},
        {"--database", config->database != NULL},
        {"--password-file", config->password != NULL},
        {"--server-pid", config->server_pid != 0},
        {"--server-cgroup", config->server_cgroup != NULL},
        {"--container", config->container != NULL},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].is_given) {
            struct error error;
            error_clear(&error);
            error_set(&error, ERROR_USAGE, 0, NULL, "%s needs a TARGET: see append check --help",
                      options[i].option);
            return command_refuse(config->is_json, EXIT_CODE_USAGE, &error);
        }
    }
    return EXIT_CODE_OK;
}

/* Why the database was not asked. One that is full already has no room for a session. */
static void note_failure(struct limit_list *list, const struct error *error)
{
    if (list->count == LIMITS_MAX) {
        return;
    }
    const bool is_full = error->kind == ERROR_LIMIT;
    struct limit *limit = &list->entries[list->count++];
    *limit = (struct limit){
        .id = LIMIT_SESSIONS,
        .side = LIMIT_DATABASE,
        .grade = is_full ? LIMIT_FAIL : LIMIT_WARN,
        .unit = "sessions",
        .allowed = is_full ? 0 : LIMIT_NONE,
        .is_unknown = !is_full,
        .sessions = is_full ? 0 : LIMIT_NONE,
    };
    snprintf(limit->name, sizeof limit->name, is_full ? "session limits" : "database's limits");
    snprintf(limit->note, sizeof limit->note, "not asked: %.140s", error->text);
}

static enum exit_code check_target(struct plan *plan)
{
    struct limits_question question;
    limits_ask(&question, plan, NULL, NULL);
    open_files_allow(question.sessions * question.files_per_session + question.other_files);
    const unsigned run_files = question.other_files;
    const bool is_embedded = question.is_embedded;
    struct inquiry inquiry = {.is_remote = false};
    struct error error;
    error_clear(&error);
    enum exit_code code = EXIT_CODE_OK;
    if (!is_embedded) {
        code = inquiry_make(&inquiry, plan, &error);
        if (code == EXIT_CODE_INTERRUPTED) {
            return command_refuse(plan->is_json, code, &error);
        }
        limits_ask(&question, plan, &inquiry.connection, &inquiry.server);
        question.is_remote = inquiry.is_remote;
        question.other_files = run_files;
        target_show_connection(plan, &inquiry.connection);
    }
    struct limit_list list;
    limits_read(&question, &list);
    if (code != EXIT_CODE_OK) {
        note_failure(&list, &error);
    }
    struct check_report report = {.sessions = question.sessions,
                                  .target = plan->display_target,
                                  .version = inquiry.server.version,
                                  .note = inquiry.connection.note,
                                  .list = &list,
                                  .failure = error.text,
                                  .code = code};
    return finish(&report, plan->is_json);
}

static enum exit_code check_config(struct config *config)
{
    if (config->target == NULL && config->port == 0 && config->adapter == NULL) {
        const enum exit_code code = refuse_options(config);
        return code == EXIT_CODE_OK ? check_machine(config) : code;
    }
    struct plan plan;
    struct error error;
    error_clear(&error);
    config->records = config->sessions; /* a plan has some; none is appended */
    enum exit_code code = plan_make(&plan, config, &error);
    if (code != EXIT_CODE_OK) {
        return command_refuse(config->is_json, code, &error);
    }
    struct container container;
    struct client_library library = {0};
    code = container_settle(&container, &plan, &error);
    if (code == EXIT_CODE_OK) {
        code = client_library_begin(&library, &plan, &error);
    }
    code = code == EXIT_CODE_OK ? check_target(&plan) : command_refuse(plan.is_json, code, &error);
    client_library_end(&library);
    plan_fini(&plan);
    return code;
}

enum exit_code command_check(int argc, char **argv)
{
    struct options options;
    struct error error;
    error_clear(&error);
    if (options_parse(&options, COMMAND_CHECK, argc, argv, &error) != STATUS_OK) {
        return command_refuse(options.config.is_json, EXIT_CODE_USAGE, &error);
    }
    if (options.is_help) {
        help_print(COMMAND_CHECK, stdout);
        return command_finish_output();
    }
    interrupt_install();
    return check_config(&options.config);
}
