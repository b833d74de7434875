/* The tables of a script, apart from a run: made and loaded, and dropped again. */
#include <stdio.h>

#include "base/process.h"
#include "commands/command.h"
#include "commands/job.h"

enum {
    LINE_BYTES = 4096
};

static enum exit_code prepare(struct plan *plan, char *line, struct error *error)
{
    struct setup setup;
    enum exit_code code = setup_name_table(plan, error);
    code = code == EXIT_CODE_OK ? setup_prepare(&setup, plan, error) : code;
    if (code == EXIT_CODE_OK) {
        setup_describe_made(&setup, plan, line, LINE_BYTES);
        setup_fini(&setup);
    }
    return code;
}

static enum exit_code clean_up(struct plan *plan, char *line, struct error *error)
{
    return setup_cleanup(plan, line, LINE_BYTES, error);
}

/* Runs `work` on the database that the words name; what it did is a line on standard output. */
static enum exit_code work_on(enum command command, int argc, char **argv,
                              enum exit_code (*work)(struct plan *plan, char *line,
                                                     struct error *error))
{
    struct plan plan;
    struct container container;
    struct adapter_library *library;
    struct error error = {.kind = ERROR_NONE};
    enum exit_code code;
    if (!command_begin(&plan, command, argc, argv, &code)) {
        return code;
    }
    interrupt_install();
    code = plan_make(&plan, &error);
    if (code != EXIT_CODE_OK) {
        return command_refuse(plan.is_json, code, &error);
    }
    code = job_begin_client(&container, &library, &plan, &error);
    if (code == EXIT_CODE_OK) {
        char line[LINE_BYTES] = "";
        code = work(&plan, line, &error);
        if (line[0] != '\0') {
            puts(line);
        }
        setup_stop_library(library, &plan);
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
