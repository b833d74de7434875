#include <stdio.h>

#include "base/process.h"
#include "commands/command.h"
#include "commands/job.h"
#include "report/figures.h"

enum exit_code command_run(int argc, char **argv)
{
    struct job job = {.search = NULL};
    struct plan *plan = &job.plan;
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code;
    if (!command_begin(plan, COMMAND_RUN, argc, argv, &code)) {
        return code;
    }
    interrupt_install();
    code = plan->is_plan_only ? EXIT_CODE_OK : job_open_junit(&job, true, &error);
    if (code == EXIT_CODE_OK) {
        code = plan_make(plan, &error);
    }
    if (code == EXIT_CODE_OK && expectations_parse(&job.expectations, plan, &error) != STATUS_OK) {
        code = EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_OK && plan->is_plan_only) {
        plan_print(plan, stdout);
        code = command_finish_output();
    } else {
        code = code == EXIT_CODE_OK ? job_begin(&job, &error) : code;
        code = job_finish(&job, code, &error);
    }
    job_release(&job);
    return code;
}
