/*
 * The plan of a call: what the command line asks for, resolved and checked as a whole.
 *
 * command_line_read stores the given options, and plan_make completes and checks the plan. After
 * that the plan is const and shared by all threads; values that become known later are the plan's
 * facts (plan/facts.h). Strings that the plan does not own point into argv.
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
#include "base/ramp.h"
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
    PLAN_STAGES_BYTES = 40,
};
#define SEARCH_FIRST_SESSIONS 10 /* first level of find-max, unless --first sets it */
#define PLAN_RECORDS_MAX UINT64_C(1000000000000)
#define PLAN_DEFAULT_TABLE "syslog_table"

/* One bit for each command, so that an option can name all commands that take it. */
enum command {
    COMMAND_RUN = 1,
    COMMAND_CHECK = 2,
    COMMAND_FIND_MAX = 4,
    COMMAND_SWEEP = 8,
    COMMAND_REPORT = 16,
    COMMAND_COMPARE = 32,
    COMMAND_RUN_ALONE = 64, /* with COMMAND_RUN: a sweep does not take the option for its runs */
    COMMAND_HELP = 128,
    COMMAND_PREPARE = 256,
    COMMAND_CLEANUP = 512,
    COMMAND_DRY_RUN = 1024,
    COMMAND_CONTROL = 2048,
    COMMAND_CERTIFY = 4096,
};

/* The query that a session runs after an append. */
enum read_mode {
    READ_COUNT, /* count(*) of the table */
    READ_NONE,
    READ_QUERY, /* the user's own query */
};

enum data_mode {
    DATA_VARIED,   /* text like real log lines, different in every row */
    DATA_CONSTANT, /* the same text in every row, except for the row's identity */
};

enum arrival_mode {
    ARRIVALS_FIXED, /* arrivals are evenly spaced; the sessions take turns */
    ARRIVALS_POISSON,
};

enum drop_policy {
    DROP_CONTINUE,  /* a dropped session ends alone */
    DROP_STOP,      /* the first dropped session ends the run */
    DROP_RECONNECT, /* a dropped session connects again and continues */
};

/* How a session chooses the first host among several hosts. The session tries the other hosts after
 * the first host, in the order of the list. */
enum host_policy {
    HOST_SPREAD, /* session i connects to host i mod n */
    HOST_FIRST,
    HOST_RANDOM, /* a host drawn from the seed */
};

enum verify_mode {
    VERIFY_COUNT, /* counts the rows before and after */
    VERIFY_ROWS,  /* counts as VERIFY_COUNT does, and also reads every row back and checks the row's
                     identity */
};

/* Tracing of the server's I/O (trace/trace.h). */
enum io_trace {
    IO_TRACE_OFF,
    IO_TRACE_FULL,     /* traces system calls and requests */
    IO_TRACE_REQUESTS, /* traces requests alone */
    IO_TRACE_TRY,      /* IO_TRACE_FULL, or off if this machine does not allow tracing */
};

/* How append finds what the sessions wait for at the server: by polls of the server
 * (measure/waits.h), or by what the kernel sees of the server's threads (trace/switches.h). */
enum wait_mode {
    WAITS_OFF,
    WAITS_ON,
    WAITS_SQL, /* polls as WAITS_ON does, and also shows the statements of sessions that block
                  others */
    WAITS_KERNEL,
    WAITS_TRY, /* WAITS_ON, or WAITS_KERNEL if the database does not show waits, or off */
};

/* An event of --mark. The text is one line. */
struct mark {
    struct moment moment;
    const char *text;
};

/* The values of an option that can be given several times. */
struct plan_texts {
    const char *texts[PLAN_TEXTS_MAX];
    size_t count;
};

/* A list of numbers in a sweep: distinct whole numbers, in the order that the user gave. */
struct sweep_list {
    uint64_t values[SWEEP_LIST_MAX];
    size_t count; /* number of values; 0 = the list was not given */
};

/* An option as the user gave it. An option that is given twice has two entries. */
struct given_option {
    const struct option_entry *entry; /* entry of the option in the table (plan/options.h) */
    const char *value;                /* the value; NULL if the option was given without a value */
};

/* The options of find-max. */
struct search_options {
    unsigned first;        /* number of sessions of the lowest level */
    unsigned max_sessions; /* most sessions to try; 0 = as many as this machine allows */
    int64_t hold_ns;       /* time for which a level is held */
    int64_t max_time_ns;   /* time after which the search ends */
    /* Memory in use on this machine, in bytes, above which the search ends; 0 = 90 % of the
     * memory. */
    uint64_t max_memory_bytes;
    uint64_t max_rows;  /* number of rows after which the search ends; 0 = any number */
    uint64_t max_bytes; /* number of bytes of values after which the search ends; 0 = the default */
    int64_t p99_bound_ns; /* highest acceptable p99 of appends or a script's transactions; 0 = no
                             bound */
};

struct sweep_options {
    struct sweep_list sessions, records;
    struct plan_texts varied; /* texts of --vary, "name=value,value" */
    uint64_t repeat;
    bool is_keeping_rows, is_retrying_failed;
    const char *resume; /* folder of the sweep to resume; NULL = a new sweep */
};

/* The options of report. */
struct chart_options {
    bool is_text, is_png, is_all;
    enum chart_axis {
        AXIS_TIME,
        AXIS_ROWS,
    } x_axis;
};

struct certify_options {
    const char *server;        /* append makes a server of this adapter; NULL: the target is used */
    struct plan_texts options; /* settings of append's own server, "name=value" */
    const char *faults;        /* the faults, "kill:5,power:20"; NULL = the default */
    const char *start;         /* shell command that starts the user's server; NULL = not given */
    bool is_confirmed;         /* the user allows append to break the user's server */
    bool wants_proof;          /* first show, with a setting that is known to lose rows, that
                                the faults find a loss */
    bool is_keeping_on;        /* the faults go on after the first finding */
    enum certify_disk {
        CERTIFY_EXT4,
        CERTIFY_XFS,
    } disk;
};

struct compare_options {
    /* bounds on ratios; the comparison fails if a bound holds */
    struct bound fail_if[PLAN_BOUNDS_MAX];
    size_t fail_if_count;
    double threshold; /* smaller relative differences are ignored; 0.05 = 5 % */
};

/* The sessions of one rank, numbered as in the whole run. */
struct plan_share {
    unsigned first, count;
    unsigned first_idle, idle;
};

struct facts;       /* the facts of a call, see plan/facts.h */
struct group_place; /* the place of a session, see plan/groups.h */
struct plan_group;

struct plan {
    const struct facts *facts; /* facts of the call, which the command owns */
    size_t steps;              /* number of steps that plan_try has done */
    enum command command;
    struct given_option given[PLAN_GIVEN_MAX];
    size_t given_count;
    struct plan_texts options;           /* names of the files of options */
    char options_files[PLAN_PATH_BYTES]; /* names and hashes of the files of options that were read,
                                            "FILE HASH, ...", for run.json */
    bool is_print_options;
    bool is_sessions_operand; /* SESSIONS was given as an operand */
    char *const *folders;     /* operands of report and compare; point into argv */
    size_t folder_count;

    const char *target_given; /* operand TARGET: port, HOST:PORT or URL; NULL = not given */
    /* name given with --adapter; NULL = the target determines the adapter */
    const char *adapter_name;
    const char *adapter_folder; /* folder of adapters that are not built in; NULL = the default */
    const struct adapter *adapter;
    struct target target; /* target of the connections; options take precedence over the URL */
    size_t host_count;    /* number of hosts in the URL if there are several, else 0 */
    /* hosts of the URL; the first is also target.host and target.port */
    struct url_host hosts[URL_HOSTS_MAX];
    enum host_policy host_policy;
    char display_target[PLAN_TARGET_BYTES]; /* the target as given, without its password */
    char password[256];                     /* password from --password-file; "" if not given */
    int64_t connect_timeout_ns;
    unsigned connect_concurrency;
    int64_t timeout_ns; /* time limit of one call; 0 = no limit */
    /* time of --wait, and the moment at which the wait ends; 0 = no waiting */
    int64_t wait_ns, wait_until_ns;

    unsigned sessions;
    uint64_t records; /* number of rows to append; 0: only an option ends the run */
    uint64_t batch_rows;
    enum read_mode read_mode;
    const char *read_sql;
    uint64_t read_every; /* a session reads after every n-th batch */
    enum data_mode data_mode;
    uint64_t seed; /* seed that the user gave, or a random seed; the rows of the run are made with
                      facts.seed */
    bool is_seed_given;
    uint64_t rate_rows_per_s; /* rate of the run, in transactions/s with a script; 0 = as fast as
                                 possible */
    /* rate_rows_per_s as a ramp, or the stages of --rate-stage; see plan_has_rate */
    struct ramp rate;
    struct ramp stages; /* sessions of --stage; `count` is 0 if all sessions work all the time */
    struct plan_texts stage_texts, rate_stage_texts;
    struct group_place *places; /* place of each session, indexed by number of the session; owned;
                                   NULL without groups */
    struct plan_group *groups;  /* groups of sessions; owned; NULL without groups */
    bool has_group_rates;       /* a transaction has a rate of its own */
    bool is_stage_disconnect;   /* sessions that a stage does not need have no connection */
    int64_t duration_ns;        /* longest time of the run; 0 = no limit */

    const char *workload;   /* name given with --workload; if NULL, sessions append and then read */
    struct plan_texts sets; /* texts of --set, "name=value,name=value" */
    struct script *script;  /* script of --workload; owned; NULL without --workload */
    uint64_t transactions;  /* number of transactions of all sessions together after which the run
                               ends; 0: no bound */
    int64_t warm_up_ns;     /* time after the gate opens that is excluded from all figures */
    uint64_t tries;         /* most tries of a transaction; UINT64_MAX: the script decides */
    /* lateness beyond which a transaction is skipped, with a rate; 0: all transactions are begun */
    int64_t late_ns;
    uint64_t max_failed;         /* transactions that may fail without exit code 1 */
    unsigned max_failed_percent; /* max_failed as a percentage of begun transactions; 0:
                                    not given */
    bool is_unprepared;          /* statements are sent as text, with --prepared no */

    const char *table_name;
    bool is_default_table; /* the built-in table, which append creates if it is missing */
    const char *schema_file;
    const char *ddl;    /* content of schema_file; NULL = not given */
    const char *engine; /* storage engine of a new table; NULL = the server's choice */
    bool is_recreate;
    /* tables that are dropped even if append did not create them, "a,b"; NULL = not given */
    const char *recreate_names;
    const char *skip_columns; /* text of --skip-columns, see column_item below; NULL = not given */
    const char *values;       /* text of --values, see column_item below; NULL = not given */

    int64_t sample_interval_ns;
    enum io_trace io_trace;
    enum wait_mode waits;
    pid_t server_pid;
    bool is_server_pid_forced; /* the server_pid need not hold the target's port */
    const char *server_cgroup;
    const char *data_directory; /* data directory of the server; NULL = ask the server */
    const char *container; /* container in which append finds the server's process and cgroup */
    enum arrival_mode arrival_mode;
    enum drop_policy drop_policy;
    unsigned reconnect_tries; /* number of tries in a row before giving up, with DROP_RECONNECT */
    enum verify_mode verify_mode;
    unsigned idle_sessions; /* number of sessions that append nothing; numbered after the other
                               sessions */
    uint64_t churn_batches; /* number of batches for each connection; 0 = sessions keep their
                               connection */
    unsigned min_sessions; /* number of sessions, idle or not, that must be up for the run to go on;
                              >= 1 */
    unsigned min_percent;  /* min_sessions as a percentage of the sessions; 0 = not given */
    bool has_min_sessions; /* min_sessions or min_percent was given */
    bool is_unchecked;     /* the run starts even if a limit is certain to be hit */
    size_t stack_bytes;    /* size of the stack of a session's thread */

    /* this rank follows rank 0, which prepares the tables and counts rows */
    bool is_follower;
    const char *weights;           /* weights of the ranks, "2,1,1"; NULL = equal */
    struct plan_texts sample_only; /* machines whose ranks carry no sessions */

    const char *log_transactions; /* share of the transactions in the log; NULL = not given */
    double log_share; /* log_transactions as a number: above 0, at most 1; 0 = not given */

    struct mark marks[PLAN_TEXTS_MAX];
    size_t mark_count;
    struct plan_texts mark_texts;
    const char *metrics; /* text of --metrics; NULL = metrics are not served */
    char metrics_host[PLAN_HOST_BYTES];
    uint16_t metrics_port;
    const char *metrics_file; /* file of --metrics-file; NULL = not given */
    const char *live;         /* text of --live; NULL = there is no live page */
    char live_host[PLAN_HOST_BYTES];
    uint16_t live_port;
    bool is_control;      /* a Unix socket in the run's folder takes changes of the run */
    bool is_live_control; /* the live page can change the run */

    const char *out;                  /* folder given with --out; NULL = not given */
    char out_folder[PLAN_PATH_BYTES]; /* folder of the run's files */
    int64_t progress_ns; /* time between two lines of progress; 0 = the default for the kind of
                            output */
    bool is_quiet, is_json, is_help, is_version;
    bool is_plan_only;          /* the plan is printed; append connects only to recognise a port */
    bool is_report;             /* report.html is written at the end */
    const char *junit;          /* file for the outcome as JUnit XML; NULL = not given */
    const char *ycsb;           /* file for the figures in YCSB's format; NULL = not given */
    struct plan_texts expected; /* texts of --expect */
    struct plan_texts stop_when;
    const char
        *percentiles; /* percentiles to show, "50,90,99.9"; NULL for the default percentiles */

    bool is_search; /* find-max: `sessions` is the largest number, duration_ns the longest time */
    struct search_options search;
    struct sweep_options sweep;
    struct chart_options charts;
    struct compare_options compare;
    struct certify_options certify;

    /* Owned texts: the URL in parts, the path of a database file in the run's folder, the schema
     * file. */
    char *url_text, *owned_path, *ddl_text;
};

/* Completes and checks a plan that command_line_read has filled, and initialises *facts, to which
 * the plan then points. If the target is only a port, asks the server on this port which database
 * the server is. With --wait, repeats the question until the server answers. On any code but
 * EXIT_CODE_OK, *error has the line to print and the plan owns nothing. The caller must not move
 * the plan, because the plan has pointers into itself. */
enum exit_code plan_make(struct plan *plan, struct facts *facts, struct error *error);

/* Make the plan as plan_make does, but in steps, for a caller that has other work during the wait.
 * plan_try asks the server once. plan_waits pauses, and returns true if the caller must call
 * plan_try again. */
enum exit_code plan_try(struct plan *plan, struct facts *facts, struct error *error);
bool plan_waits(struct plan *plan, enum exit_code *code, struct error *error);

/* The data that rank 0 sends to the other ranks, so that all ranks make the same plan. The texts
 * are borrowed. */
struct plan_lead {
    int count;
    char **words;      /* rank 0's options, after a first word that is skipped */
    unsigned sessions; /* number of sessions, from rank 0's operands or files of options */
    uint64_t records;
    const char *target;       /* the target of rank 0; NULL = not given */
    uint64_t seed;            /* seed of rank 0 */
    const char *adapter_name; /* the adapter that rank 0 recognised; NULL: see `words` */
    const char *workload;     /* file with the script; NULL: see `words` */
    const char *out;          /* folder of this rank's files */
};

/* Makes the plan of a rank other than 0, without the work that rank 0 does for all ranks. */
enum exit_code plan_follow(struct plan *plan, struct facts *facts, enum command command,
                           const struct plan_lead *lead, struct error *error);

/* Copies a complete plan with another number of sessions. The copy owns nothing, and is valid as
 * long as the original. */
void plan_with_sessions(const struct plan *plan, unsigned sessions, struct plan *copy);

void plan_fini(struct plan *plan);

/* Does the same as plan_fini, but keeps the script, because threads that have not ended may use the
 * script.
 */
void plan_fini_in_use(struct plan *plan);

/* Does the first step of plan_make: loads the script of --workload, and refuses options that do not
 * apply to the script or, without --workload, to a run without a script. */
enum exit_code plan_load_script(struct plan *plan, struct error *error);

/* Returns whether append itself makes the rows: there is no script, or the script has tables but
 * declares no columns. */
bool plan_has_own_rows(const struct plan *plan);

/* Returns whether the work of at least some sessions has due times (--rate, --rate-stage, or the
 * rate of a transaction). */
static inline bool plan_has_rate(const struct plan *plan)
{
    return ramp_highest(&plan->rate) > 0 || plan->has_group_rates;
}

/* Returns whether append asks the server what the run's sessions wait for. */
static inline bool plan_polls_waits(const struct plan *plan)
{
    return plan->waits != WAITS_OFF && plan->waits != WAITS_KERNEL;
}

/* Returns whether all sessions of the run do the same work, so that the sessions can
 * be compared. */
static inline bool plan_has_fairness(const struct plan *plan)
{
    return plan->script == NULL && !plan->is_search && plan->stages.count == 0;
}

/* Returns the stages of the run: the stages of sessions or the stages of the rate. In a run without
 * stages the `count` of the result is 0. */
static inline const struct ramp *plan_stages(const struct plan *plan)
{
    return plan->stages.count > 0 ? &plan->stages : &plan->rate;
}

/* Returns " at most, in 3 stages", or "" for a ramp without stages. */
const char *plan_describe_stages(const struct ramp *ramp, char text[PLAN_STAGES_BYTES]);

/* The unit of the sessions' work: rows of appends, or transactions with a script. */
struct plan_work {
    /* the nouns for the work: "append", "rows"; "transaction", "transactions" */
    const char *one, *many;
    enum recorder_counter done;
    size_t operation; /* number of the operation whose calls are timed */
};
const struct plan_work *plan_work(const struct plan *plan);

/* Return the number of tables and the name of a table. The tables are the plan's table, or the
 * tables of the script. A script can have no tables. */
size_t plan_table_count(const struct plan *plan);
const char *plan_table_name(const struct plan *plan, size_t number);

/* Returns the first dataset, from number `first` on, for which the script declares no columns.
 * Returns NULL if all these datasets have columns. The script may be NULL. */
const struct script_dataset *plan_find_undeclared(const struct script *script, size_t first);

/* Returns the script's name, or the end of a name that is too long for a message. */
const char *plan_script_shown(const struct script *script);

/* Fills plan->adapter, plan->display_target and the missing parts of plan->target from --adapter,
 * TARGET and the connection options. If the target is only a port, asks the server on this port
 * which database the server is. */
enum exit_code target_resolve(struct plan *plan, struct error *error);

/* Returns a copy of plan->target that also names the client library. If the plan has several hosts,
 * the copy has the address of the host with number `host`. */
struct target target_at(const struct plan *plan, unsigned host);

/* Writes a host with its port: "a:5432", "[::1]:5432", "/run/x:5432". */
void target_name_host(const struct plan *plan, unsigned host, char *name, size_t size);

/* Tries all adapters except plan->adapter. Returns the adapter whose protocol the target's server
 * speaks, or NULL if no protocol is recognised. Waits up to 0.5 s for an answer in
 * each protocol. */
const struct adapter *target_find_other(const struct plan *plan);

/* Called after a connect failed for a reason that may be temporary (STATUS_LOST). With --wait,
 * pauses and returns true while there is time for another try. When the time is over, returns false
 * and adds to *error that the wait is over. */
bool target_wait(const struct plan *plan, struct error *error);

/* Copies a text that was given as a target to `out`, without its password. The target may have any
 * form. */
void target_redact(const char *text, char *out, size_t size);

/* If the target is a file database without a path, sets the path to a file in the run's folder. */
enum exit_code target_default_path(struct plan *plan, struct error *error);

/* Fills *connection from the target and the adapter's defaults, before append connects. The
 * adapter's inspect may correct these values. */
void target_fill_connection(const struct plan *plan, struct connection_info *connection);

/* Prints the plan, for --plan. */
void plan_print(const struct plan *plan, FILE *stream);

/* Returns the reason why append cannot poll the server's waits, or NULL if the plan shows no such
 * reason. */
const char *plan_why_no_waits(const struct plan *plan);

/* Returns the number of all sessions, including the idle sessions. */
static inline unsigned plan_sessions_all(const struct plan *plan)
{
    return plan->sessions + plan->idle_sessions;
}

/* Returns the sessions of this process: the share of this rank, or all sessions. */
struct plan_share plan_share(const struct plan *plan);

/* Returns the number of rows that a session appends. `session` is 0 … plan->sessions - 1. The
 * records are spread evenly, and the first sessions take the remainder, one row each. Returns
 * UINT64_MAX if the number of records is not set. */
uint64_t plan_quota(const struct plan *plan, unsigned session);

/* Returns the number of transactions of a session, spread as the rows are in plan_quota. */
uint64_t plan_transaction_quota(const struct plan *plan, unsigned session);

/* Returns the operations that sessions time. Operation OPERATIONS + i is the script's operation i.
 */
struct operation_list plan_operations(const struct plan *plan);

/* An item of --skip-columns a,b or --values 'a=1..9, b=ok|failed'. Items are separated by commas;
 * blanks around an item, its name and its values are ignored. Names and values point into the
 * list. */
struct column_item {
    struct text_value name;
    struct text_value values; /* text after the '='; length 0: the item has no values */
};

/* Takes the next item off *list. Returns false if *list has no more items. NULL is an empty
 * list. */
bool column_item_next(const char **list, struct column_item *item);

/* Checks the form of the list that `option` has. If with_values, every item must have values;
 * otherwise no item may have values. On EXIT_CODE_USAGE, *error names the wrong item and says what
 * would be right. */
enum exit_code column_items_check(const char *option, const char *list, bool with_values,
                                  struct error *error);

/* Returns the column whose name equals the `length` bytes at `name`, or else the first column whose
 * name differs only in upper and lower case. Returns NULL if the table has no column of that
 * name. */
const struct column *column_find(const struct table *table, const char *name, size_t length);

/* Returns the column that the item names, as column_find does. */
const struct column *column_item_find(const struct column_item *item, const struct table *table);

/* Finds the item of `list` that names `column` of `table`. Returns false if no item names the
 * column. */
bool column_item_of(const char *list, const struct table *table, const struct column *column,
                    struct column_item *item);

/* Returns whether the values are a range of whole numbers, FROM..TO. */
bool column_item_range(const struct column_item *item, int64_t *from, int64_t *to);

/* Takes the next word of a list "a|b" off *values. Returns false if *values has no more words. */
bool column_word_next(struct text_value *values, struct text_value *word);

/* A DDL that is built into the program, from schemas/SCHEMA/DATABASE.sql. The build writes the
 * array of all DDLs, whose last entry has a NULL schema. */
struct schema_text {
    const char *schema, *database, *sql;
};
extern const struct schema_text schema_texts[];

/* Returns the DDL of a schema for a database, or NULL if the program has no DDL for the pair. */
const char *schema_find(const char *schema, const char *database);

/* Returns the DDL of the default table: the adapter's own DDL, or the DDL of the schema "syslog".
 */
const char *schema_of_syslog(const struct adapter *adapter, const char *database);

#endif
