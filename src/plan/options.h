/*
 * The table of options. Parsing, --help, the manual page, docs/options.md, the completions, the
 * plan in run.json and the settings in the report's page all read this table. The table also
 * determines which options a sweep passes on to its runs, and which options must stay the same when
 * the sweep resumes.
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
    OPTION_TIME,   /* an int64_t in nanoseconds, above 0 and from min to max */
    OPTION_CHOICE, /* an enum: the index of the chosen word, from 0 */
    OPTION_TEXT,   /* a const char *: not empty, shorter than max bytes; max 0 = any length */
    OPTION_TEXTS,  /* a struct plan_texts */
    OPTION_OTHER,  /* a value of any other type; the entry has a store function */
};

/* The scope of an option: whether a sweep passes the option on to its runs, and whether the option
 * may change when the sweep resumes. */
enum option_scope {
    OPTION_OF_RUN,   /* the option is passed on to the runs, and must stay the same when the sweep
                        resumes */
    OPTION_OF_SWEEP, /* the option is not passed on; it must stay the same when the sweep resumes */
    /* the option gives the place of the target or of files; it is passed on to the runs, and may
     * change when the sweep resumes */
    OPTION_OF_PLACE,
    OPTION_OF_CALL, /* the option affects only this call of the program, such as --quiet; it is
                       neither passed on nor saved */
};

/* The kinds of work that an option can be combined with. */
enum option_work {
    OPTION_WITH_ANY,
    OPTION_WITHOUT_SCRIPT,
    OPTION_WITH_OWN_ROWS, /* the option applies without a script, or with a script whose rows this
                             program generates */
    OPTION_WITH_SCRIPT,
};

struct option_entry {
    unsigned commands; /* commands that take the option: bits of enum command */
    const char *name;
    const char *argument; /* name of the value in help; NULL if the option takes no value; begins
                             with "[=" if the value is optional */
    const char *help;     /* a few words, for a line of --help and for the completions */
    enum option_type type;
    uint16_t offset; /* offset of the value in struct plan */
    uint16_t bytes;  /* size of the value */
    uint64_t min;
    uint64_t max;
    /* the default of a number; 0 = the value is 0 if the option is not given */
    uint64_t default_number;
    const char *default_text; /* the default in words; may be NULL, see option_describe_default */
    const char *const *words; /* words of a CHOICE; the list ends with NULL */
    enum exit_code (*store)(const struct option_entry *entry, struct plan *plan, const char *value,
                            struct error *error); /* function that checks and stores the value; NULL
                                                     = the value is stored according to `type` */
    enum option_scope scope;
    enum option_work work;
    /* short option, which has the same meaning as in pgbench; '\0' = no short option */
    char letter;
    /* name in the plan of run.json, where "target.host" is in the object "target"; NULL if run.json
     * leaves the option out */
    const char *key;
    const char *label; /* name in the report's page; NULL if the page leaves the option out */
    const char *group; /* heading in --help; NULL for the heading of the previous entry */
    bool shows_zero;   /* run.json has 0 instead of null when the value is 0 */
    bool is_of_server; /* the option does not apply to an embedded database */
    /* Whole sentences that follow `help` in the manual page and in docs/options.md, with literal
     * text in `backquotes`. NULL if there is nothing to add. */
    const char *details;
    /* file of docs with more about the option, "faults.md#a-section"; may be NULL */
    const char *page;
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

/* Checks and stores a value, and adds the option to plan->given. `value` is NULL for an option
 * without a value. On EXIT_CODE_USAGE, *error says which values are valid. */
enum exit_code option_take(struct plan *plan, const struct option_entry *entry, const char *value,
                           struct error *error);

/* Adds an option to plan->given without storing its value. */
enum exit_code option_record(struct plan *plan, const struct option_entry *entry, const char *value,
                             struct error *error);

/* Returns whether the option names the file of the password. The file may be a pipe, which can be
 * read only once, so option_take reads the password into plan->password. */
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

/* Returns the first of the given options that does not apply to an embedded database, or NULL if
 * all of them apply. */
const struct option_entry *option_of_server(const struct plan *plan);

/* The form of a command's command line. */
struct command_form {
    enum command command;
    const char *name;  /* first word on the command line; NULL for a run, which needs no word */
    const char *usage; /* the command line without options: "append check SESSIONS [TARGET]" */
    /* minimum number of folders of runs, for a command that takes folders instead of a target */
    size_t folders_least;
    size_t folders_most; /* maximum number of folders; 0 = the command takes a target */
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

/* Reads the options of a command line into *given, without storing them in a plan. Skips argv[0].
 * Moves the operands to the end of argv, and makes *operands point to them. On EXIT_CODE_USAGE,
 * *error says why. */
enum exit_code options_read(const struct command_form *form, int argc, char **argv,
                            struct given_list *given, struct words *operands, struct error *error);

/* Reads the operands into *plan: SESSIONS, RECORDS and TARGET, or folders. The caller must have
 * stored all options before. The plan may already have RECORDS and TARGET from an option file. On
 * EXIT_CODE_USAGE, *error says why. */
enum exit_code options_read_operands(struct plan *plan, const struct command_form *form,
                                     const struct words *given, struct error *error);

/* Reads RECORDS into *plan. On EXIT_CODE_USAGE, *error says which values are valid. */
enum exit_code options_read_records(struct plan *plan, const char *value, struct error *error);

#endif
