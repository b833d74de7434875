#include "cli/command.h"
#include "cli/options.h"

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
    error_set(&error, ERROR_UNSUPPORTED, 0, NULL, "not there yet");
    return command_fail(EXIT_CODE_INTERNAL, &error);
}
