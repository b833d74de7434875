/*
 * The plan of a call: what the command line asks for, resolved and checked as a whole.
 *
 * options_parse writes what was given, plan_make adds what follows from it. From then on the plan
 * is const and shared by all threads; what is learned later are its facts (plan/facts.h). Strings
 * that are not owned point into argv.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "append/adapter.h"
#include "append/row.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/url.h"
#include "figures/bound.h"
#include "figures/figures.h"
#include "script/script.h"

enum {
    PLAN_SESSIONS_MAX = 1000000,
    PLAN_BATCH_ROWS_MAX = 1000000,
    PLAN_PATH_BYTES = 1024,
    PLAN_HOST_BYTES = 256,
    PLAN_TARGET_BYTES = 640,
    PLAN_TEXTS_MAX = 64,
    PLAN_BOUNDS_MAX = 32,
    SWEEP_LIST_MAX = 100,
    PLAN_GIVEN_MAX = 128,
};
#define PLAN_RECORDS_MAX UINT64_C(1000000000000)
#define PLAN_DEFAULT_TABLE "syslog_table"

/* A bit each, so that an option can name all that take it. */
enum command {
    COMMAND_RUN = 1,
    COMMAND_CHECK = 2,
    COMMAND_FIND_MAX = 4,
    COMMAND_SWEEP = 8,
    COMMAND_REPORT = 16,
    COMMAND_COMPARE = 32,
    COMMAND_RUN_ALONE = 64, /* beside COMMAND_RUN: an option that the runs of a sweep do not take */
    COMMAND_HELP = 128,
    COMMAND_PREPARE = 256,
    COMMAND_CLEANUP = 512,
};

/* After an append: select count(*), nothing, or the user's own query. */
enum read_mode {
    READ_COUNT,
    READ_NONE,
    READ_QUERY,
};

enum data_mode {
    DATA_VARIED,   /* text like real log lines, different in every row */
    DATA_CONSTANT, /* the same in every row, but for what identifies it */
};

enum drop_policy {
    DROP_CONTINUE,  /* a dropped session ends alone */
    DROP_STOP,      /* the first dropped session ends the run */
    DROP_RECONNECT, /* it connects again and goes on */
};

/* Which of several hosts a session connects to first; the others follow in the order of the list.
 */
enum host_policy {
    HOST_SPREAD, /* session i to host i mod n */
    HOST_FIRST,
    HOST_RANDOM, /* drawn from the seed */
};

enum verify_mode {
    VERIFY_COUNT, /* count(*) before and after */
    VERIFY_ROWS,  /* and every row is read back and told by its identity */
};

/* Tracing of the server's I/O (trace/trace.h). */
enum io_trace {
    IO_TRACE_OFF,
    IO_TRACE_FULL,     /* system calls and requests */
    IO_TRACE_REQUESTS, /* requests alone */
    IO_TRACE_TRY,      /* IO_TRACE_FULL, or without where that cannot be */
};

/* An event that is known beforehand, in one line. */
struct mark {
    struct moment moment;
    const char *text;
};

/* Values of an option that can be given several times. */
struct plan_texts {
    const char *texts[PLAN_TEXTS_MAX];
    size_t count;
};

/* The lists of a sweep: whole numbers, each once, in the order in which they were given. */
struct sweep_list {
    uint64_t values[SWEEP_LIST_MAX];
    size_t count; /* 0 = not given */
};

/* An option as it was given; one that is given twice is there twice. */
struct given_option {
    const struct option_entry *entry; /* plan/options.h */
    const char *value;                /* NULL: it takes none */
};

/* find-max */
struct search_options {
    unsigned first;            /* sessions of the lowest level */
    unsigned max_sessions;     /* never more; 0 = what this machine allows */
    int64_t hold_ns;           /* how long a level is held */
    int64_t max_time_ns;       /* the search ends then */
    uint64_t max_memory_bytes; /* of this machine in use, never more; 0 = all but 10 % */
    uint64_t max_rows;         /* the search ends when it wrote so many; 0 = any number */
    uint64_t max_bytes;        /* or so many bytes of values; 0 = what is usual */
    int64_t p99_bound_ns;      /* append p99 that is still good; 0 = none given */
};

/* sweep */
struct sweep_options {
    struct sweep_list sessions, records;
    struct plan_texts varied; /* --vary: "name=value,value" */
    uint64_t repeat;
    bool is_keeping_rows, is_retrying_failed;
    const char *resume; /* folder of a sweep to go on with; NULL = none */
};

/* report */
struct chart_options {
    bool is_text, is_png, is_all;
    enum chart_axis {
        AXIS_TIME,
        AXIS_ROWS,
    } x_axis;
};

/* compare */
struct compare_options {
    struct bound fail_if[PLAN_BOUNDS_MAX]; /* on ratios; what holds is a failure */
    size_t fail_if_count;
    double threshold; /* a share of 1; what differs by less does not matter */
};

/* The sessions of one of several ranks, by their numbers in the whole run. */
struct plan_share {
    unsigned first, count;
    unsigned first_idle, idle;
};

struct facts; /* plan/facts.h */

struct plan {
    const struct facts *facts; /* what is learned later; the command's */
    size_t steps;              /* of plan_try, that are done */
    enum command command;
    struct given_option given[PLAN_GIVEN_MAX];
    size_t given_count;
    char *const *folders; /* of runs, for a command that takes them; in argv */
    size_t folder_count;

    const char *target_given;   /* operand TARGET: port, place or URL; NULL = none */
    const char *adapter_name;   /* --adapter; NULL = from the target */
    const char *adapter_folder; /* where adapters that are not built in are; may be NULL */
    const struct adapter *adapter;
    struct target target;                 /* options win over the parts of a URL */
    size_t host_count;                    /* of a list of hosts in the URL, else 0 */
    struct url_host hosts[URL_HOSTS_MAX]; /* the first is target.host and target.port, too */
    enum host_policy host_policy;
    char display_target[PLAN_TARGET_BYTES]; /* as asked for, without the password */
    char password[256];                     /* of --password-file; "": not given */
    int64_t connect_timeout_ns;
    unsigned connect_concurrency;
    int64_t timeout_ns;             /* that one call may take; 0 = any time */
    int64_t wait_ns, wait_until_ns; /* how long until the server lets a session in; 0 = it does */

    unsigned sessions;
    uint64_t records; /* 0: a duration alone */
    uint64_t batch_rows;
    enum read_mode read_mode;
    const char *read_sql;
    uint64_t read_every; /* batches */
    enum data_mode data_mode;
    uint64_t seed; /* drawn when it is not given; facts.seed is the one of the run's rows */
    bool is_seed_given;
    uint64_t rate_rows_per_s; /* with a script, transactions; 0 = as fast as it goes */
    int64_t duration_ns;      /* at most; 0 = until the rows are in */

    const char *workload;   /* --workload; NULL: append, then read */
    struct plan_texts sets; /* --set: "name=value,name=value" */
    struct script *script;  /* owned; NULL: append, then read */
    uint64_t transactions;  /* of all sessions together; 0: no such bound */
    int64_t warm_up_ns;     /* from the opened gate: what begins in it is in no figure */
    uint64_t tries;         /* of a transaction, in place of the script's; UINT64_MAX: not given */
    int64_t late_ns;        /* with a rate: what is due for longer is skipped; 0: nothing is */
    uint64_t max_failed;    /* transactions that may fail without an exit code of 1 */
    unsigned max_failed_percent; /* the same as a share of those begun; 0: not given */
    bool is_unprepared;          /* --prepared no: statements are sent as text */

    const char *table_name;
    bool is_default_table; /* made from the built-in DDL when it is missing */
    const char *schema_file;
    const char *ddl;    /* what creates the table, from the user's file; NULL = none */
    const char *engine; /* storage engine of a table that is made; NULL = the server's choice */
    bool is_recreate;
    const char *recreate_names; /* tables that are dropped whoever made them: "a,b"; NULL: none */
    const char *skip_columns;   /* --skip-columns and --values, see below; NULL = none */
    const char *values;

    int64_t sample_interval_ns;
    enum io_trace io_trace;
    pid_t server_pid;
    bool is_server_pid_forced; /* it need not hold the target's port */
    const char *server_cgroup;
    const char *data_directory; /* of the server; NULL: it is asked */
    const char *container;      /* of the server: its process and cgroup are looked up */
    enum drop_policy drop_policy;
    unsigned reconnect_tries; /* with DROP_RECONNECT: connects in a row that may fail */
    enum verify_mode verify_mode;
    unsigned idle_sessions; /* their numbers follow those of the others; they append nothing */
    uint64_t churn_batches; /* 0 = sessions keep their connection */
    unsigned min_sessions;  /* that must be up, idle ones included, for the run to go on; >= 1 */
    unsigned min_percent;   /* the same as a share of the sessions; 0 = not given */
    bool has_min_sessions;  /* either was given */
    bool is_unchecked;      /* go on although a limit is certain to be hit */
    size_t stack_bytes;     /* of a session's thread */

    bool is_follower;              /* rank 0 prepares the tables and counts them */
    const char *weights;           /* "2,1,1", of the ranks; NULL: alike */
    struct plan_texts sample_only; /* machines whose ranks carry no sessions */

    struct mark marks[PLAN_TEXTS_MAX]; /* events that are known beforehand */
    size_t mark_count;
    struct plan_texts mark_texts;
    const char *metrics; /* where metrics are served, as given; NULL = they are not */
    char metrics_host[PLAN_HOST_BYTES];
    uint16_t metrics_port;
    const char *metrics_file; /* NULL = none */

    const char *out;                  /* --out; NULL = not given */
    char out_folder[PLAN_PATH_BYTES]; /* folder of the run's files */
    int64_t progress_ns;              /* 0 = as is usual */
    bool is_quiet, is_json, is_help, is_version;
    bool is_plan_only; /* print the plan; nothing is connected to but to recognise a port */
    bool is_report;    /* report.html is written at the end */
    const char *junit; /* file for the outcome as JUnit XML; NULL: none */
    const char *ycsb;  /* file for the figures in YCSB's words; NULL: none */
    struct plan_texts expected; /* --expect */

    bool is_search; /* `sessions` is the most there may be, duration_ns the longest time */
    struct search_options search;
    struct sweep_options sweep;
    struct chart_options charts;
    struct compare_options compare;

    /* Owned: the URL taken apart, the database file in the run's folder, the schema file. */
    char *url_text, *owned_path, *ddl_text;
};

/* Completes what options_parse read, and begins the facts that the plan points to. On anything but
 * EXIT_CODE_OK the error has the one line to print and `plan` owns nothing. A target that is only a
 * port is recognised by asking the server that listens there, with --wait until it answers. The
 * plan must stay where it is: it points into itself. */
enum exit_code plan_make(struct plan *plan, struct facts *facts, struct error *error);

/* The same for whoever has more to do while it waits: plan_try asks the server once; while
 * plan_waits returns true, after a pause, it is to be tried again. */
enum exit_code plan_try(struct plan *plan, struct facts *facts, struct error *error);
bool plan_waits(struct plan *plan, enum exit_code *code, struct error *error);

/* A rank that follows rank 0: reads rank 0's words and makes the same plan, without what rank 0
 * does for all. The texts are borrowed. */
struct plan_lead {
    int count;
    char **words;             /* of the command line, from argv[0] on */
    uint64_t seed;            /* rank 0's */
    const char *adapter_name; /* that rank 0 found out; NULL: the words say it */
    const char *workload;     /* file that holds the script; NULL: the words say it */
    const char *out;          /* folder of this rank's own files */
};
enum exit_code plan_follow(struct plan *plan, struct facts *facts, enum command command,
                           const struct plan_lead *lead, struct error *error);

/* Copies a plan that was made, with another number of sessions. The copy owns nothing, and is good
 * as long as the original. */
void plan_with_sessions(const struct plan *plan, unsigned sessions, struct plan *copy);

void plan_fini(struct plan *plan);

/* Does the same but for the script, which threads that were left behind may still use. */
void plan_fini_in_use(struct plan *plan);

/* The part of plan_make that comes first: loads the script of --workload, and refuses the options
 * that do not go with it, or without one. */
enum exit_code plan_load_script(struct plan *plan, struct error *error);

/* The script leaves the rows of its tables to append: they are made like those of a run without a
 * script. */
bool plan_has_own_rows(const struct plan *plan);

/* What the sessions' work is counted in: rows that appends send, or a script's transactions. */
struct plan_work {
    const char *one, *many; /* "append", "rows"; "transaction", "transactions" */
    enum recorder_counter done;
    size_t operation; /* which times it */
};
const struct plan_work *plan_work(const struct plan *plan);

/* The tables of a run by number: the plan's own, or those of its script, which may be none. */
size_t plan_table_count(const struct plan *plan);
const char *plan_table_name(const struct plan *plan, size_t number);

/* The first dataset of the script without columns, from number `first`; NULL: there is none. The
 * script may be NULL. */
const struct script_dataset *plan_find_undeclared(const struct script *script, size_t first);

/* The end of the script's name, which tells its file where a path is too long for a message. */
const char *plan_script_shown(const struct script *script);

/* From --adapter, TARGET and the connection options: fills plan->adapter, plan->display_target, and
 * in plan->target what no option said. With only a port, asks who listens there. */
enum exit_code target_resolve(struct plan *plan, struct error *error);

/* Where a connection to a host goes: plan->target, or of several hosts the one of that number; with
 * the client library. */
struct target target_at(const struct plan *plan, unsigned host);

/* "a:5432", "[::1]:5432", "/run/x:5432". */
void target_name_host(const struct plan *plan, unsigned host, char *name, size_t size);

/* The adapter for the protocol that is spoken where the target is, if it is not the plan's own;
 * NULL: not found out. Takes 0.5 s for each protocol that nobody answers. */
const struct adapter *target_find_other(const struct plan *plan);

/* After a connect that failed for a reason that may pass (STATUS_LOST): with --wait, and as long as
 * there is time, pauses and returns true: it is to be tried once more. When the time is over *error
 * says so. */
bool target_wait(const struct plan *plan, struct error *error);

/* Writes what may be shown of a text that was given as a target, whatever its shape: no password.
 */
void target_redact(const char *text, char *out, size_t size);

/* Puts a file database that was not named into the run's folder (known only by then). */
enum exit_code target_settle_path(struct plan *plan, struct error *error);

/* What is known about connections before there is one: from the target, and the adapter's defaults.
 * The adapter's inspect may know better. */
void target_fill_connection(const struct plan *plan, struct connection_info *connection);

/* For people, --plan. */
void plan_print(const struct plan *plan, FILE *stream);

/* Those that append, and the idle ones. */
static inline unsigned plan_sessions_all(const struct plan *plan)
{
    return plan->sessions + plan->idle_sessions;
}

/* The share of this process: its rank's, or all. */
struct plan_share plan_share(const struct plan *plan);

/* Rows that session 0 … sessions-1 appends: the records spread evenly, the first ones take one of
 * the remainder each. UINT64_MAX where no number of records is asked for. */
uint64_t plan_quota(const struct plan *plan, unsigned session);

/* The same of the transactions of a script. */
uint64_t plan_turn_quota(const struct plan *plan, unsigned session);

/* The operations that its sessions time; number OPERATIONS + i is number i of the script. */
struct operation_list plan_operations(const struct plan *plan);

/* What the user says of single columns, --skip-columns a,b and --values 'a=1..9, b=ok|failed':
 * lists whose items stand between commas; blanks around an item, and around the name and the values
 * in it, do not count. Everything found is a piece of the list, not a copy. */
struct column_item {
    struct text_value name;
    struct text_value values; /* what stands behind '='; length 0: nothing does */
};

/* Takes the next item off *list; false at its end. NULL is an empty list. */
bool column_item_next(const char **list, struct column_item *item);

/* Checks the form of a list of --option; with_values: every item has some. EXIT_CODE_USAGE: *error
 * says which item is wrong, and what would be right. */
enum exit_code column_items_check(const char *option, const char *list, bool with_values,
                                  struct error *error);

/* Returns the table's column with this name of `length` bytes: the one that is spelled so, or else
 * the first that differs in upper and lower case alone; NULL when the table has neither. */
const struct column *column_find(const struct table *table, const char *name, size_t length);

/* Returns the column that the item names, as column_find does. */
const struct column *column_item_find(const struct column_item *item, const struct table *table);

/* The item of `list` that names `column`, one of `table`; false: none does. */
bool column_item_of(const char *list, const struct table *table, const struct column *column,
                    struct column_item *item);

/* True when the values are a range of whole numbers, FROM..TO. */
bool column_item_range(const struct column_item *item, int64_t *from, int64_t *to);

/* Takes the next of the words between '|' off *values; false when none is left. */
bool column_word_next(struct text_value *values, struct text_value *word);

/* The DDL that is built into the program, schemas/SCHEMA/DATABASE.sql; written by the build. Ends
 * with an entry whose schema is NULL. */
struct schema_text {
    const char *schema, *database, *sql;
};
extern const struct schema_text schema_texts[];

/* The DDL of a schema for a database; NULL when there is none. */
const char *schema_find(const char *schema, const char *database);

/* The same of the default table: the adapter's own, or that of the schema "syslog". */
const char *schema_of_syslog(const struct adapter *adapter, const char *database);

#endif
