#include <stdio.h>

#include "base/process.h"
#include "commands/command.h"
#include "commands/job.h"
#include "plan/command_line.h"
#include "report/conditions.h"
#include "report/expectations.h"

/* Runs the command: in rank 0, or in the only process if the run has no ranks. */
static enum exit_code lead(struct job *job, int argc, char **argv)
{
    const struct plan *plan = job->plan;
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code =
        command_line_read(&job->given, command_form(COMMAND_RUN), argc, argv, &error);
    if (command_is_done(plan, &code, &error)) {
        return code;
    }
    interrupt_install();
    code = plan->is_plan_only ? EXIT_CODE_OK : job_open_junit(job, true, &error);
    if (code == EXIT_CODE_OK) {
        code = job_make_plan(job, &error);
    }
    if (code == EXIT_CODE_OK && expectations_parse(&job->expectations, plan, &error) != STATUS_OK) {
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK && conditions_parse(&job->conditions, plan, &error) != STATUS_OK) {
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK) {
        code = ranks_divide_sessions(job->ranks, plan, &job->facts, &error);
    }
    if (code == EXIT_CODE_OK && plan->is_plan_only) {
        plan_print(plan, stdout);
        return command_finish_output();
    }
    if (code == EXIT_CODE_OK) {
        code = rank_exchange_send_plan(job->ranks, plan, &error);
    }
    code = code == EXIT_CODE_OK ? job_begin(job, &error) : code;
    return job_finish(job, code, &error);
}

enum exit_code command_run(int argc, char **argv)
{
    struct job job = {.search = NULL};
    return job_do(&job, COMMAND_RUN, argc, argv, lead);
}
