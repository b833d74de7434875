/* The commands prepare, dry-run and cleanup. `prepare` creates and loads the tables of the script,
 * `dry-run` shows what its transactions do, and `cleanup` drops the tables. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"
#include "commands/command.h"
#include "commands/job.h"
#include "load/dry_run.h"
#include "load/setup_describe.h"
#include "plan/command_line.h"
#include "plan/facts.h"

enum {
    LINE_BYTES = 4096
};

static enum exit_code prepare(const struct plan *plan, struct buffer *text, struct error *error)
{
    struct setup setup;
    char line[LINE_BYTES];
    const enum exit_code code = job_prepare_tables(&setup, plan, NULL, error);
    if (code == EXIT_CODE_OK) {
        setup_describe_made(&setup, plan, line, sizeof line);
        setup_fini(&setup);
        buffer_add_format(text, "%s\n", line);
    }
    return code;
}

static enum exit_code clean_up(const struct plan *plan, struct buffer *text, struct error *error)
{
    char line[LINE_BYTES] = "";
    const enum exit_code code = setup_cleanup(plan, line, sizeof line, error);
    if (line[0] != '\0') {
        buffer_add_format(text, "%s\n", line);
    }
    return code;
}

/* Runs `work` on the database of the command line, and prints the text that `work` has written. */
static enum exit_code work_on(enum command command, int argc, char **argv,
                              enum exit_code (*work)(const struct plan *plan, struct buffer *text,
                                                     struct error *error))
{
    struct plan plan;
    struct container container;
    struct facts facts;
    struct error error = {.kind = ERROR_NONE};
    struct buffer text = {0};
    int number = 0; /* errno of printing */
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
        code = work(&plan, &text, &error);
        number = buffer_failed(&text) ? ENOMEM : command_print(text.bytes, text.length);
        setup_stop_library(&plan);
    }
    if (code != EXIT_CODE_OK) {
        command_refuse(plan.is_json, code, &error);
    } else if (number == EINTR) {
        code = command_say(EXIT_CODE_INTERRUPTED, "interrupted while the result was printed");
    } else if (number != 0) {
        code = command_say(EXIT_CODE_CLIENT_LIMIT, "standard output cannot be written: %s",
                           strerror(number));
    }
    buffer_fini(&text);
    plan_fini(&plan);
    return code;
}

enum exit_code command_prepare(int argc, char **argv)
{
    return work_on(COMMAND_PREPARE, argc, argv, prepare);
}

enum exit_code command_dry_run(int argc, char **argv)
{
    return work_on(COMMAND_DRY_RUN, argc, argv, dry_run);
}

enum exit_code command_cleanup(int argc, char **argv)
{
    return work_on(COMMAND_CLEANUP, argc, argv, clean_up);
}
