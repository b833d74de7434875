#include <stdio.h>

#include "base/process.h"
#include "commands/command.h"
#include "commands/job.h"
#include "plan/command_line.h"
#include "plan/facts.h"
#include "report/check.h"
#include "report/files.h"

/* What one session is assumed to need if `append check` is called without a target. */
enum {
    DEFAULT_STACK_BYTES = 256 * 1024,
    DEFAULT_FILES = 1
};

static enum exit_code check(const struct plan *plan, bool has_target)
{
    struct setup inquiry = {.is_remote = false};
    struct error error = {.kind = ERROR_NONE};
    struct tracer *tracer;
    char traced[ERROR_TEXT_BYTES] = "can be traced on this machine";
    enum exit_code code = job_begin_trace(&tracer, plan, traced, &error);
    trace_destroy(tracer);
    if (code != EXIT_CODE_OK) {
        return command_refuse(plan->is_json, code, &error);
    }
    struct limits_question question = {
        .sessions = plan_sessions_all(plan),
        .stack_bytes = plan->stack_bytes > 0 ? plan->stack_bytes : DEFAULT_STACK_BYTES,
        .files_per_session = DEFAULT_FILES,
        .other_files = LIMITS_SAMPLER_FILES + run_files_count_open(plan),
        .other_threads = LIMITS_OTHER_THREADS,
        .has_script = plan->script != NULL,
        .uses_tcp = true,
    };
    struct facts shown = {.ranks = 0};
    if (has_target) {
        shown = *plan->facts;
        limits_question_init(&question, plan, NULL, NULL);
        question.other_files += run_files_count_open(plan);
        limits_allow_files(&question, 0);
    }
    if (has_target && !question.is_embedded) {
        const unsigned run_files = question.other_files;
        code = setup_query_limits(&inquiry, plan, NULL, &error);
        if (code == EXIT_CODE_INTERRUPTED) {
            return command_refuse(plan->is_json, code, &error);
        }
        limits_question_init(&question, plan, &inquiry.connection, &inquiry.server);
        question.is_remote = inquiry.is_remote;
        question.other_files = run_files;
        facts_set_target(&shown, plan, &inquiry.connection);
    }
    struct limit_list list;
    limits_read(&question, &list);
    if (code != EXIT_CODE_OK && list.count < LIMITS_MAX) {
        /* If the database did not answer, its limit is unknown. If it is full, it has room for 0
         * sessions. */
        const bool is_full = error.kind == ERROR_LIMIT;
        struct limit *limit = &list.entries[list.count++];
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
        snprintf(limit->note, sizeof limit->note, "could not be queried: %.130s", error.text);
    }
    struct check_report report = {.sessions = question.sessions,
                                  .list = &list,
                                  .code = code,
                                  .workload = plan->workload,
                                  .io_trace = plan->io_trace == IO_TRACE_OFF ? NULL : traced,
                                  .prepared_statements = plan->target.prepared_statements};
    if (has_target) {
        report.target = shown.target;
        report.version = inquiry.server.version;
        report.note = inquiry.connection.note;
        report.failure = error.text;
    }
    /* If a limit is too low for the sessions, the exit code and the line for stderr report this
     * limit. Otherwise they report why the database could not be queried, because a run would fail
     * for the same reason. */
    const struct limit *failed = NULL;
    const uint64_t certain = limits_sessions(&list, false, &failed);
    report.fitting = limits_sessions(&list, true, &report.first);
    char line[CHECK_LINE_BYTES + ERROR_TEXT_BYTES];
    snprintf(line, sizeof line, "could not query the database: %s", error.text);
    if (failed != NULL && certain < report.sessions) {
        report.code = failed->side == LIMIT_CLIENT ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER;
        report.is_short = true;
        check_describe_fit(report.sessions, certain, failed, line);
    }
    if (plan->is_json && !check_write_json(stdout, &report) && ferror(stdout) == 0) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the JSON of the limits");
    }
    if (!plan->is_json) {
        check_write_text(stdout, &report);
    }
    code = command_finish_output();
    return code != EXIT_CODE_OK || report.code == EXIT_CODE_OK
               ? code
               : command_say(report.code, "%s", line);
}

enum exit_code command_check(int argc, char **argv)
{
    struct plan plan;
    struct container container;
    struct facts facts;
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code = command_line_read(&plan, command_form(COMMAND_CHECK), argc, argv, &error);
    if (command_is_done(&plan, &code, &error)) {
        return code;
    }
    interrupt_install();
    if (plan.target_given == NULL && plan.target.port == 0 && plan.adapter_name == NULL) {
        /* options of a connection need a target */
        const struct option_entry *of_server = option_of_server(&plan);
        if (of_server == NULL && plan.password[0] == '\0') {
            facts = (struct facts){.ranks = 0};
            plan.facts = &facts;
            code = plan_load_script(&plan, &error);
            code = code == EXIT_CODE_OK ? check(&plan, false)
                                        : command_refuse(plan.is_json, code, &error);
            plan_fini(&plan);
            return code;
        }
        code = usage_refuse(&error, "--%s needs a TARGET: see append check --help",
                            of_server == NULL ? "password-file" : of_server->name);
        return command_refuse(plan.is_json, code, &error);
    }
    code = plan_make(&plan, &facts, &error);
    if (code == EXIT_CODE_OK) {
        code = job_begin_client(&container, &plan, &facts, &error);
    }
    if (code != EXIT_CODE_OK) {
        code = command_refuse(plan.is_json, code, &error);
    } else {
        code = check(&plan, true);
        setup_stop_library(&plan);
    }
    plan_fini(&plan);
    return code;
}
