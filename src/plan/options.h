/*
 * The table of options. Parsing, --help, the manual page, docs/options.md, the completions, the
 * plan in run.json and the settings in the report's page all read this table. A sweep finds in the
 * table which options are passed on to the runs, and which options must stay the same when the
 * sweep resumes.
 */
#ifndef PLAN_OPTIONS_H
#define PLAN_OPTIONS_H

#include <string.h>

#include "plan/plan.h"

enum {
    /* The commands that connect to a database. */
    COMMANDS_ALL = COMMAND_RUN | COMMAND_CHECK | COMMAND_FIND_MAX | COMMAND_PREPARE |
                   COMMAND_CLEANUP | COMMAND_DRY_RUN | COMMAND_CERTIFY,
    OPTION_DEFAULT_BYTES = 64,
};

enum option_type {
    OPTION_FLAG,   /* a bool */
    OPTION_COUNT,  /* an unsigned integer of any width: 1 to max */
    OPTION_BYTES,  /* a uint64_t or size_t: 1 to max */
    OPTION_TIME,   /* an int64_t in nanoseconds: at least min and above 0, at most max */
    OPTION_CHOICE, /* an enum: the index of the chosen word, from 0 */
    OPTION_TEXT,   /* a const char *: not empty, shorter than max bytes; max 0: of any length */
    OPTION_TEXTS,  /* a struct plan_texts */
    OPTION_OTHER,  /* a value of any other type; the entry has a store function */
};

/* The scope of an option. The scope decides whether a sweep passes the option on to the runs, and
 * whether the sweep saves the option. */
enum option_scope {
    OPTION_OF_RUN,   /* the option is passed on to the runs, and must stay the same when the sweep
                        resumes */
    OPTION_OF_SWEEP, /* the option is not passed on; it must stay the same when the sweep resumes */
    /* the option says where the target and files are: it is passed on to the runs, and may change
     * when the sweep resumes */
    OPTION_OF_PLACE,
    OPTION_OF_CALL, /* the option concerns only this call, as --quiet does: it is neither passed on
                       nor saved */
};

/* The kinds of work that an option can be combined with. */
enum option_work {
    OPTION_WITH_ANY,
    OPTION_WITHOUT_SCRIPT,
    OPTION_WITH_OWN_ROWS, /* the option applies without a script, or with a script whose rows append
                             makes */
    OPTION_WITH_SCRIPT,
};

struct option_entry {
    unsigned commands; /* commands that take the option: bits of enum command */
    const char *name;
    const char *argument; /* name of the value in help; NULL if the option takes no value; "[=...]":
                             the value is optional */
    const char *help;     /* a few words, for a line of --help and for the completions */
    enum option_type type;
    uint16_t offset; /* offset of the value in struct plan */
    uint16_t bytes;  /* size of the value */
    uint64_t min;
    uint64_t max;
    uint64_t default_number;  /* the default as a number; 0: the value stays 0 unless the option is
                                 given */
    const char *default_text; /* the default in words; may be NULL, see option_describe_default */
    const char *const *words; /* words of a CHOICE; the list ends with NULL */
    enum exit_code (*store)(const struct option_entry *entry, struct plan *plan, const char *value,
                            struct error *error); /* function that stores the value; NULL: `type`
                                                     decides how the value is stored */
    enum option_scope scope;
    enum option_work work;
    char letter; /* short option, with the meaning that pgbench gives it; '\0': no short option */
    /* name in the plan of run.json, where "target.host" is in the object "target"; NULL if run.json
     * leaves the option out */
    const char *key;
    const char *label; /* name in the report's page; NULL if the page leaves the option out */
    const char *group; /* heading in --help; NULL for the heading of the previous entry */
    bool shows_zero;   /* run.json shows 0 as a value, not as null */
    bool is_of_server; /* the option does not apply to an embedded database */
    /* Whole sentences that follow `help` in the manual page and in docs/options.md, with literal
     * text in `backquotes`. NULL if there is nothing to add. */
    const char *details;
    const char *page; /* file of docs that says more, "faults.md#a-section"; may be NULL */
};

/* The options in the order of --help. The last entry's name is NULL. */
extern const struct option_entry option_table[];

/* The names of enum io_trace: "off", "full", "requests", "try". */
extern const char *const io_trace_words[];

/* The names of enum wait_mode: "off", "on", "sql", "kernel", "try". */
extern const char *const wait_mode_words[];

/* Returns whether the command takes the option. A sweep also takes the options of its runs. */
bool option_is_of(const struct option_entry *entry, enum command command);

/* Returns whether the option can be given without a value. */
bool option_may_stand_alone(const struct option_entry *entry);

/* Returns the command's option with this name, or NULL if the command has no such option. */
const struct option_entry *option_find(const char *name, enum command command);

/* Writes the default as --help shows it, "64" or "30 s"; "" when there is nothing to show. */
void option_describe_default(const struct option_entry *entry, char text[OPTION_DEFAULT_BYTES]);

/* Resets *plan to the defaults of all options. */
void options_init(struct plan *plan, enum command command);

/* Checks and stores a value, and records the option in plan->given. `value` is NULL for an option
 * without a value. On EXIT_CODE_USAGE, *error says what would be right. */
enum exit_code option_take(struct plan *plan, const struct option_entry *entry, const char *value,
                           struct error *error);

/* Records an option in plan->given without storing its value. */
enum exit_code option_record(struct plan *plan, const struct option_entry *entry, const char *value,
                             struct error *error);

/* Returns whether the option names the file of the password. The file may be a pipe, which can be
 * read only once: option_take reads it into plan->password. */
bool option_is_password(const struct option_entry *entry);

/* Returns whether the user gave the option of this name. */
static inline bool option_is_given(const struct plan *plan, const char *name)
{
    size_t i = 0;
    while (i < plan->given_count && strcmp(plan->given[i].entry->name, name) != 0) {
        i++;
    }
    return i < plan->given_count;
}

/* Returns the value of a FLAG, COUNT, BYTES, TIME or CHOICE option. */
uint64_t option_number(const struct option_entry *entry, const struct plan *plan);

/* Returns the address of the option's value in *plan. */
const void *option_at(const struct option_entry *entry, const struct plan *plan);

/* Returns the first given option that does not apply to an embedded database, or NULL if all given
 * options apply. */
const struct option_entry *option_of_server(const struct plan *plan);

/* The form of a command's call. */
struct command_form {
    enum command command;
    const char *name;  /* first word on the command line; NULL for a run, which needs no word */
    const char *usage; /* form of the command, "append check SESSIONS [TARGET]", without options */
    /* fewest folders of runs that the command takes instead of a target */
    size_t folders_least;
    size_t folders_most; /* most folders of runs that the command takes; 0: the command takes a
                            target */
    bool ends_with_text; /* the last operand is a text instead of a folder */
};

/* Words of a command line. */
struct words {
    int count;
    char **at;
};

/* Options as given, in their order. */
struct given_list {
    size_t count;
    struct given_option entries[PLAN_GIVEN_MAX];
    /* --help or --version was given; the options after it were not read */
    bool is_help, is_version;
};

/* Returns whether a word can only be a target: a URL, "adapter:...", or HOST:PORT. */
bool option_is_target(const char *word);

/* Reads the options among a command's words into *given, without storing them in a plan. argv[0] is
 * skipped. Moves the operands to the end of argv, and makes *operands point to them. On
 * EXIT_CODE_USAGE, *error says why. */
enum exit_code options_read(const struct command_form *form, int argc, char **argv,
                            struct given_list *given, struct words *operands, struct error *error);

/* Reads the operands into *plan: SESSIONS, RECORDS and TARGET, or folders. All options must have
 * been stored before. RECORDS and TARGET may be in the plan already, from a file of options. On
 * EXIT_CODE_USAGE, *error says why. */
enum exit_code options_read_operands(struct plan *plan, const struct command_form *form,
                                     const struct words *given, struct error *error);

/* Reads RECORDS into *plan. On EXIT_CODE_USAGE, *error says what would be right. */
enum exit_code options_read_records(struct plan *plan, const char *value, struct error *error);

#endif
