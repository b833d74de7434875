#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/process.h"
#include "commands/command.h"

int main(int argc, char **argv)
{
    /* an inherited SIG_IGN would make waitpid() lose the exit statuses of children */
    signal(SIGCHLD, SIG_DFL);
    struct error error = {0};
    if (stack_prepare(&error) != STATUS_OK) {
        return command_fail(EXIT_CODE_CLIENT_LIMIT, &error);
    }
    char **words = command_take_words(argc, argv);
    if (words == NULL) {
        return command_say(EXIT_CODE_CLIENT_LIMIT, "out of memory for the command line");
    }
    const enum exit_code code = command_table_run(argc, words);
    free(words);
    return code;
}
