/*
 * The command line of a command that connects to a database.
 *
 * One table holds every option: its name, what --help says of it, and the function that checks and
 * stores its value. What --help says of a command itself stands in its row of the command table.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "append/error.h"
#include "measure/expectation.h"
#include "plan/config.h"
#include "sweep/list.h"

/* A bit each, so that an option can name all that take it. */
enum command {
    COMMAND_RUN = 1,
    COMMAND_CHECK = 2,
    COMMAND_FIND_MAX = 4,
    COMMAND_SWEEP = 8,
    COMMAND_REPORT = 16,
    COMMAND_COMPARE = 32,
    COMMAND_HELP = 128,
    COMMAND_RUN_ALONE = 64, /* beside COMMAND_RUN: an option that the runs of a sweep do not take */
};
enum {
    COMMANDS_LOAD = COMMAND_RUN | COMMAND_FIND_MAX,
    COMMANDS_ALL = COMMAND_RUN | COMMAND_CHECK | COMMAND_FIND_MAX,
};

enum {
    OPTIONS_GIVEN_MAX = 128
};

/* An option as it was given; one that is given twice is there twice. */
struct given_option {
    const char *name;  /* in full, without dashes */
    const char *value; /* NULL: it takes none */
};

/* What the command line asks for beside the run itself. */
struct options {
    enum command command;
    struct config config;
    struct given_option given[OPTIONS_GIVEN_MAX];
    size_t given_count;
    struct sweep_list sweep_sessions;
    struct sweep_list sweep_records;
    uint64_t sweep_repeat;
    bool is_keeping_rows;
    const char *resume; /* folder of a sweep to go on with; NULL = none */
    bool is_retrying_failed;
    bool is_help;
    bool is_version;
    bool is_plan_only;    /* print the plan; nothing is connected to but a port to be recognised */
    char *const *folders; /* of runs, for a command that takes them; in argv */
    size_t folder_count;
    bool is_report;      /* --report: report.html is written when the run has ended */
    bool is_text_charts; /* --text */
    bool is_png_charts;  /* --png */
    bool is_all_charts;  /* --all */
    char password[256];
    struct expectations expectations;       /* of a run */
    const char *junit;                      /* file for the outcome as JUnit XML; NULL: none */
    struct bound fail_if[EXPECTATIONS_MAX]; /* compare: on ratios; what holds is a failure */
    size_t fail_if_count;
    double compare_threshold; /* compare: a share of 1; what differs by less does not matter */
};

/* Reads the argv of a command into *options; argv[0] is not looked at. REJECTED: *error is the line
 * to print. Strings in config point into argv, the environment and *options. */
enum status options_parse(struct options *options, enum command command, int argc, char **argv,
                          struct error *error);

#endif
