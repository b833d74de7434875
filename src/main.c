#include <signal.h>
#include <string.h>

#include "cli/command_table.h"

int main(int argc, char **argv)
{
    /* whoever ignores it hands that on, and then nobody is told how a child ended */
    signal(SIGCHLD, SIG_DFL);
    for (size_t i = 1; i < command_table_size && argc > 1; i++) {
        if (strcmp(argv[1], command_table[i].name) == 0) {
            return command_table[i].run(argc - 1, argv + 1);
        }
    }
    return command_table[0].run(argc, argv);
}
