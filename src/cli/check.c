#include <stdlib.h>

#include "base/interrupt.h"
#include "cli/command.h"
#include "cli/options.h"
#include "limits/limits.h"
#include "plan/plan.h"
#include "report/check.h"

/* A session of a network database, when none is named. */
enum {
    USUAL_STACK_BYTES = 256 * 1024,
    USUAL_FILES = 1
};

static enum exit_code finish(struct check_report *report, bool is_json)
{
    const struct limit *failed = NULL;
    report->fitting = limits_sessions(report->list, true, &report->first);
    if (limits_sessions(report->list, false, &failed) < report->sessions && failed != NULL) {
        report->code = failed->side == LIMIT_CLIENT ? EXIT_CODE_CLIENT_LIMIT : EXIT_CODE_SERVER;
    }
    if (is_json) {
        check_write_json(stdout, report);
    } else {
        check_write_text(stdout, report);
    }
    const enum exit_code code = command_finish_output();
    if (code != EXIT_CODE_OK || report->code == EXIT_CODE_OK) {
        return code;
    }
    char line[CHECK_LINE_BYTES];
    check_conclusion(limits_sessions(report->list, false, &failed), failed, line);
    return command_say(report->code, line);
}

static enum exit_code check_machine(const struct config *config)
{
    const struct limits_question question = {
        .sessions = config->sessions + config->idle_sessions,
        .connect_concurrency = (unsigned)config->connect_concurrency,
        .stack_bytes = config->stack_bytes > 0 ? config->stack_bytes : USUAL_STACK_BYTES,
        .files_per_session = USUAL_FILES,
        .other_files = LIMITS_OTHER_FILES,
        .other_threads = LIMITS_OTHER_THREADS,
    };
    struct limit_list list;
    limits_read(&question, &list);
    struct check_report report = {.sessions = question.sessions, .list = &list};
    return finish(&report, config->is_json);
}

enum exit_code command_check(int argc, char **argv)
{
    struct options options;
    struct error error;
    error_clear(&error);
    if (options_parse(&options, COMMAND_CHECK, argc, argv, &error) != STATUS_OK) {
        return command_fail(EXIT_CODE_USAGE, &error);
    }
    if (options.is_help) {
        options_print_help(COMMAND_CHECK, stdout);
        return command_finish_output();
    }
    interrupt_install();
    return check_machine(&options.config);
}
