#include <string.h>

#include "cli/command.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check") == 0) {
        return command_check(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "find-max") == 0) {
        return command_find_max(argc - 1, argv + 1);
    }
    return command_run(argc, argv);
}
