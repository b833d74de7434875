#include <signal.h>

#include "cli/command_table.h"

int main(int argc, char **argv)
{
    /* whoever ignores it hands that on, and then nobody is told how a child ended */
    signal(SIGCHLD, SIG_DFL);
    return command_table_run(argc, argv);
}
