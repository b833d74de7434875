/*
 * The one table of options. Parsing, --help, the manual page, completions, the plan in run.json,
 * the settings in the page and what a sweep passes on and compares when it resumes are read from
 * it.
 */
#ifndef PLAN_OPTIONS_H
#define PLAN_OPTIONS_H

#include "plan/plan.h"

enum {
    COMMANDS_ALL = COMMAND_RUN | COMMAND_CHECK | COMMAND_FIND_MAX | COMMAND_PREPARE |
                   COMMAND_CLEANUP, /* that connect */
};

enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_COUNT,  /* unsigned integer of any width: 1 to max */
    OPTION_BYTES,  /* uint64_t or size_t: 1 to max */
    OPTION_TIME,   /* int64_t, nanoseconds: min, or above 0, to max */
    OPTION_CHOICE, /* enum that counts the words from 0 */
    OPTION_TEXT,   /* const char *: not empty; shorter than max bytes, unless that is 0 */
    OPTION_TEXTS,  /* struct plan_texts */
    OPTION_OTHER,  /* a type of its own, with a function that stores it */
};

/* What an option is about, which decides what a sweep does with it. */
enum option_scope {
    OPTION_OF_RUN,   /* passed on to the runs; the same in all calls of a sweep */
    OPTION_OF_SWEEP, /* not passed on; the same in all calls */
    OPTION_OF_PLACE, /* where things are: passed on, and may be another when a sweep resumes */
    OPTION_OF_CALL,  /* how this call reports: neither passed on nor kept */
};

/* Whether an option goes with --workload. */
enum option_work {
    OPTION_WITH_ANY,
    OPTION_WITHOUT_SCRIPT,
    OPTION_WITH_OWN_ROWS, /* without a script, or with one that leaves its rows to append */
    OPTION_WITH_SCRIPT,
};

struct option_entry {
    unsigned commands; /* that take it: enum command, or-ed */
    const char *name;
    const char *argument; /* NULL: the option takes none; "[=...]": it may have none */
    const char *help;
    enum option_type type;
    uint16_t offset; /* in struct plan */
    uint16_t bytes;
    uint64_t min;
    uint64_t max;
    uint64_t usual; /* number when it is not given */
    const char *const *words;
    /* In place of what the type would do. */
    enum exit_code (*store)(const struct option_entry *entry, struct plan *plan, const char *value,
                            struct error *error);
    enum option_scope scope;
    enum option_work work;
    char letter;       /* pgbench's, with its meaning; '\0': none */
    const char *key;   /* in the plan of run.json, "target.host" in an object; NULL: not there */
    const char *label; /* in the page; NULL: not there */
    const char *group; /* heading in --help; NULL: that of the entry before */
    bool shows_zero;   /* in run.json 0 is a value, not null */
    bool is_of_server; /* has no meaning where there is none */
};

/* In the order of --help; ends with an entry whose name is NULL. */
extern const struct option_entry option_table[];

extern const char *const io_trace_words[]; /* "off", "full", "requests", "try" */

/* True when the command takes the option. A sweep takes what its runs do. */
bool option_is_of(const struct option_entry *entry, enum command command);

/* Whether it can be given without a value. */
bool option_may_stand_alone(const struct option_entry *entry);

/* The option of the command with this name; NULL: there is none. */
const struct option_entry *option_find(const char *name, enum command command);

/* The defaults of every option. */
void options_init(struct plan *plan, enum command command);

/* Checks and stores a value, NULL for an option that takes none, and remembers what was given.
 * EXIT_CODE_USAGE: *error says what would be right. */
enum exit_code option_take(struct plan *plan, const struct option_entry *entry, const char *value,
                           struct error *error);

/* The value of FLAG, COUNT, BYTES, TIME and CHOICE. */
uint64_t option_number(const struct option_entry *entry, const struct plan *plan);

/* Where the value is. */
const void *option_at(const struct option_entry *entry, const struct plan *plan);

/* The first option of a server that was given; NULL: none. */
const struct option_entry *option_of_server(const struct plan *plan);

/* How a command is called. */
struct command_form {
    enum command command;
    const char *name;     /* first word on the command line; NULL: none */
    const char *usage;    /* "append check SESSIONS [TARGET]", without options */
    size_t folders_least; /* of runs that it takes instead of a target */
    size_t folders_most;  /* 0: it takes a target */
};

/* Reads the argv of a command into *plan; argv[0] is not looked at. */
enum exit_code options_parse(struct plan *plan, const struct command_form *form, int argc,
                             char **argv, struct error *error);

#endif
