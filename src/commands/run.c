#include <stdio.h>

#include "base/process.h"
#include "commands/command.h"
#include "commands/job.h"
#include "report/expectations.h"

static enum status run_fleet(struct load *load, void *context, struct error *error)
{
    struct job *job = context;
    return fleet_run(load, job->result, error);
}

static enum exit_code run(struct job *job, struct error *error)
{
    struct plan *plan = &job->plan;
    enum exit_code code = plan_make(plan, error);
    if (code != EXIT_CODE_OK) {
        return job_refuse(job, code, error);
    }
    if (plan->is_plan_only) {
        plan_print(plan, stdout);
        return command_finish_output();
    }
    code = job_begin(job, error);
    if (code == EXIT_CODE_OK) {
        code = job_load(job, run_fleet, job, error);
    }
    return code == EXIT_CODE_OK ? job_conclude(job) : job_refuse(job, code, error);
}

enum exit_code command_run(int argc, char **argv)
{
    struct job job = {.has_begun = false};
    struct plan *plan = &job.plan;
    enum exit_code code;
    if (!command_begin(plan, COMMAND_RUN, argc, argv, &code)) {
        return code;
    }
    interrupt_install();
    struct error error;
    error_clear(&error);
    if (expectations_parse(&job.expectations, &plan->expected, &error) != STATUS_OK) {
        return command_refuse(plan->is_json, EXIT_CODE_USAGE, &error);
    }
    code = plan->is_plan_only ? EXIT_CODE_OK : job_open_junit(&job, true, &error);
    if (code != EXIT_CODE_OK) {
        return command_refuse(plan->is_json, code, &error);
    }
    code = run(&job, &error);
    job_release(&job);
    return code;
}
