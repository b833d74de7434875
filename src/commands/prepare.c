/* append prepare and append cleanup: create, load and drop the tables of the script. */
#include <stdio.h>

#include "base/process.h"
#include "commands/command.h"
#include "commands/job.h"
#include "plan/command_line.h"
#include "plan/facts.h"

enum {
    LINE_BYTES = 4096
};

static enum exit_code prepare(const struct plan *plan, char *line, struct error *error)
{
    struct setup setup;
    const enum exit_code code = job_prepare_tables(&setup, plan, NULL, error);
    if (code == EXIT_CODE_OK) {
        setup_describe_made(&setup, plan, line, LINE_BYTES);
        setup_fini(&setup);
    }
    return code;
}

static enum exit_code clean_up(const struct plan *plan, char *line, struct error *error)
{
    return setup_cleanup(plan, line, LINE_BYTES, error);
}

/* Runs `work` on the database that the command line names, and prints the line that `work` wrote.
 */
static enum exit_code work_on(enum command command, int argc, char **argv,
                              enum exit_code (*work)(const struct plan *plan, char *line,
                                                     struct error *error))
{
    struct plan plan;
    struct container container;
    struct facts facts;
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code = command_line_read(&plan, command_form(command), argc, argv, &error);
    if (command_is_done(&plan, &code, &error)) {
        return code;
    }
    interrupt_install();
    code = plan_make(&plan, &facts, &error);
    if (code != EXIT_CODE_OK) {
        return command_refuse(plan.is_json, code, &error);
    }
    code = job_begin_client(&container, &plan, &facts, &error);
    if (code == EXIT_CODE_OK) {
        char line[LINE_BYTES] = "";
        code = work(&plan, line, &error);
        if (line[0] != '\0') {
            puts(line);
        }
        setup_stop_library(&plan);
    }
    code =
        code == EXIT_CODE_OK ? command_finish_output() : command_refuse(plan.is_json, code, &error);
    plan_fini(&plan);
    return code;
}

enum exit_code command_prepare(int argc, char **argv)
{
    return work_on(COMMAND_PREPARE, argc, argv, prepare);
}

enum exit_code command_cleanup(int argc, char **argv)
{
    return work_on(COMMAND_CLEANUP, argc, argv, clean_up);
}
