#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/process.h"
#include "commands/command.h"

/* Opens those of the standard streams that are closed when the program starts. Otherwise a file of
 * the run would get the descriptor of a standard stream, and messages would go into this file. The
 * streams opened here can be neither read nor written. */
static void keep_stream_numbers(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) < 0) {
            (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    keep_stream_numbers();
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
