/*
 * The plan of a call of the program: the options and operands of the command line, completed and
 * checked.
 *
 * command_line_read stores the given options, and plan_make completes and checks the plan. The
 * plan is then const, and all threads share it. Values that become known later are in struct facts
 * (plan/facts.h). Strings that the plan does not own point into argv.
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
#define SEARCH_FIRST_SESSIONS 10 /* sessions of the first step of find-max; --first changes it */
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
    COMMAND_RUN_ALONE = 64, /* with COMMAND_RUN: a run takes the option, but a sweep does not */
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
    DATA_CONSTANT, /* the same text in every row, except for the columns that identify the row */
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

/* How a session chooses, among several hosts, the first host to connect to. If the connect fails,
 * the session tries the other hosts in the order of the list. */
enum host_policy {
    HOST_SPREAD, /* session i connects to host i mod n */
    HOST_FIRST,
    HOST_RANDOM, /* a random host that depends on the seed */
};

enum verify_mode {
    VERIFY_COUNT, /* counts the rows before and after */
    VERIFY_ROWS,  /* counts rows as VERIFY_COUNT does, then also reads back every row and checks its
                     identity */
};

/* Tracing of the server's I/O (trace/trace.h). */
enum io_trace {
    IO_TRACE_OFF,
    IO_TRACE_FULL,     /* traces system calls and requests */
    IO_TRACE_REQUESTS, /* traces only requests */
    IO_TRACE_TRY,      /* IO_TRACE_FULL, or off if this machine does not allow tracing */
};

/* How this program finds out what the sessions wait for in the server: it polls the server
 * (measure/waits.h), or traces the server's threads in the kernel (trace/switches.h). */
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

/* The values of an option that may be given several times. */
struct plan_texts {
    const char *texts[PLAN_TEXTS_MAX];
    size_t count;
};

/* A list of a sweep: different whole numbers, in the user's order. */
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
    unsigned max_sessions; /* maximum number of sessions to try; 0 = the maximum that this machine
                              allows */
    int64_t hold_ns;       /* duration of each step of the search */
    int64_t max_time_ns;   /* time after which the search ends */
    /* Memory in use on this machine, in bytes, above which the search ends; 0 = 90 % of the
     * memory. */
    uint64_t max_memory_bytes;
    uint64_t max_rows;  /* number of rows after which the search ends; 0 = any number */
    uint64_t max_bytes; /* number of bytes of values after which the search ends; 0 = the default */
    int64_t p99_bound_ns; /* maximum acceptable p99 of the time of a batch or, with a script, of a
                             transaction; 0 = no maximum */
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
    /* adapter of the server that this program starts; NULL = the server is TARGET */
    const char *server;
    struct plan_texts options; /* settings of the server that this program starts, "name=value" */
    const char *faults;        /* the faults, "kill:5,power:20"; NULL = the default */
    const char *start;         /* shell command that starts the user's server; NULL = not given */
    bool is_confirmed;         /* the user allows this program to break the user's server */
    bool wants_proof; /* a first test shows that the faults can find a loss; it uses a setting that
                         is known to lose rows */
    bool is_keeping_on; /* the test continues after the first finding */
    enum certify_disk {
        CERTIFY_EXT4,
        CERTIFY_XFS,
    } disk;
};

struct compare_options {
    /* bounds on ratios; the comparison fails if one of them holds */
    struct bound fail_if[PLAN_BOUNDS_MAX];
    size_t fail_if_count;
    double threshold; /* smaller relative differences are ignored; 0.05 = 5 % */
};

/* The sessions of one rank (one of several processes of a run). Their numbers are those of the
 * whole run. */
struct plan_share {
    unsigned first, count;
    unsigned first_idle, idle;
};

struct facts;       /* the facts of a call, see plan/facts.h */
struct group_place; /* a session's group and number in the group, see plan/groups.h */
struct plan_group;

struct plan {
    const struct facts *facts; /* facts of the call; the command owns them */
    size_t steps;              /* number of steps that plan_try has done */
    enum command command;
    struct given_option given[PLAN_GIVEN_MAX];
    size_t given_count;
    struct plan_texts options;           /* names of the files of options */
    char options_files[PLAN_PATH_BYTES]; /* names and hashes of the option files that were read,
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
    /* target of the connections: parts from options, other parts from the URL */
    struct target target;
    size_t host_count; /* number of hosts in the URL; 0 = the URL does not have several hosts */
    /* hosts of the URL; the first is also target.host and target.port */
    struct url_host hosts[URL_HOSTS_MAX];
    enum host_policy host_policy;
    char display_target[PLAN_TARGET_BYTES]; /* the target as given, without its password */
    char password[256];                     /* password from --password-file; "" if not given */
    int64_t connect_timeout_ns;
    unsigned connect_concurrency;
    int64_t timeout_ns; /* time limit of one call; 0 = no limit */
    /* duration of --wait and the moment at which this wait ends; 0 = no wait */
    int64_t wait_ns, wait_until_ns;

    unsigned sessions;
    uint64_t records; /* number of rows to append; 0 = an option ends the run instead */
    uint64_t batch_rows;
    enum read_mode read_mode;
    const char *read_sql;
    uint64_t read_every; /* a session reads after every n-th batch */
    enum data_mode data_mode;
    uint64_t seed; /* seed that the user gave, or a random seed; the rows are generated from
                      facts.seed, which can be different */
    bool is_seed_given;
    uint64_t rate_rows_per_s; /* rate of the run; in transactions/s if the run has a script; 0 = as
                                 fast as possible */
    /* the rate as a ramp: constant rate_rows_per_s, or the stages of --rate-stage; see
     * plan_has_rate */
    struct ramp rate;
    struct ramp stages; /* number of sessions according to --stage; `count` is 0 if all sessions
                           work during the whole run */
    struct plan_texts stage_texts, rate_stage_texts;
    struct group_place *places; /* group and member number of each session, indexed by the session's
                                   number; owned; NULL without groups */
    struct plan_group *groups;  /* groups of sessions; owned; NULL without groups */
    bool has_group_rates;       /* at least one transaction has its own rate */
    bool is_stage_disconnect;   /* sessions disconnect during a stage that does not need them */
    int64_t duration_ns;        /* maximum duration of the run; 0 = no limit */

    const char *workload;   /* script given with --workload; NULL = no script: each session appends
                               and reads in turn */
    struct plan_texts sets; /* texts of --set, "name=value,name=value" */
    struct script *script;  /* script of --workload; owned; NULL without --workload */
    uint64_t transactions;  /* the run ends after this number of transactions of all sessions
                               together; 0 = no limit */
    int64_t warm_up_ns; /* time at the beginning of the run, from the common start of the sessions,
                           that is excluded from all figures */
    uint64_t tries; /* maximum number of tries of a transaction; UINT64_MAX = as the script says */
    /* with a rate, a transaction that is later than this is skipped; 0 = transactions are never
     * skipped */
    int64_t late_ns;
    uint64_t max_failed;         /* number of transactions that may fail without exit code 1 */
    unsigned max_failed_percent; /* max_failed as a percentage of the transactions that were begun;
                                    0 = not given */
    bool is_unprepared;          /* statements are sent as text and not prepared (--prepared no) */

    const char *table_name;
    bool is_default_table; /* the table is the built-in table, which this program creates if it is
                              missing */
    const char *schema_file;
    const char *ddl;    /* content of schema_file; NULL = not given */
    const char *engine; /* storage engine of a new table; NULL = the server's default */
    bool is_recreate;
    /* tables that are dropped even if this program did not create them, "a,b"; NULL = not given */
    const char *recreate_names;
    const char *skip_columns; /* text of --skip-columns, see column_item below; NULL = not given */
    const char *values;       /* text of --values, see column_item below; NULL = not given */

    int64_t sample_interval_ns;
    enum io_trace io_trace;
    enum wait_mode waits;
    pid_t server_pid;
    bool is_server_pid_forced; /* server_pid is accepted even if that process does not listen on the
                                  target's port */
    const char *server_cgroup;
    const char *data_directory; /* data directory of the server; NULL = ask the server */
    const char *container; /* container in which the server's process and cgroup are searched for */
    enum arrival_mode arrival_mode;
    enum drop_policy drop_policy;
    unsigned reconnect_tries; /* with DROP_RECONNECT, maximum number of consecutive failed tries to
                                 reconnect */
    enum verify_mode verify_mode;
    unsigned idle_sessions; /* number of sessions that only keep a connection open; their numbers
                               follow those of the other sessions */
    uint64_t churn_batches; /* a session reconnects after this number of batches; 0 = sessions keep
                               their connection */
    unsigned min_sessions;  /* minimum number of sessions that are up, including idle and
                               reconnecting sessions; with fewer, the run ends; >= 1 */
    unsigned min_percent;   /* min_sessions as a percentage of the sessions; 0 = not given */
    bool has_min_sessions;  /* min_sessions or min_percent was given */
    bool is_unchecked;  /* the run starts even if it is certain to reach a limit of the machine */
    size_t stack_bytes; /* size of the stack of a session's thread */

    /* this process is not rank 0; rank 0 prepares the tables and counts rows for all ranks */
    bool is_follower;
    const char *weights; /* relative numbers of sessions of the ranks, "2,1,1"; NULL = equal */
    struct plan_texts sample_only; /* machines whose ranks have no sessions and only measure */

    /* share of the transactions that are logged, as text; NULL = not given */
    const char *log_transactions;
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
    bool is_control;      /* the run can be changed through a Unix socket in its folder */
    bool is_live_control; /* the live page can change the run */

    const char *out;                  /* folder given with --out; NULL = not given */
    char out_folder[PLAN_PATH_BYTES]; /* folder of the run's files */
    int64_t progress_ns; /* time between two lines of progress; 0 = the default for the kind of
                            output */
    bool is_quiet, is_json, is_help, is_version;
    bool is_plan_only; /* the program only prints the plan; it connects only to find the database of
                          a port */
    bool is_report;    /* report.html is written at the end */
    const char *junit; /* file for the result as JUnit XML; NULL = not given */
    const char *ycsb;  /* file for the figures in YCSB's format; NULL = not given */
    struct plan_texts expected; /* texts of --expect */
    struct plan_texts stop_when;
    /* percentiles to show, "50,90,99.9"; NULL for the default percentiles */
    const char *percentiles;

    bool is_search; /* find-max; `sessions` is then the maximum number of sessions, and duration_ns
                       the maximum duration */
    struct search_options search;
    struct sweep_options sweep;
    struct chart_options charts;
    struct compare_options compare;
    struct certify_options certify;

    /* Owned texts to which other members point: the URL divided into parts, the path of a database
     * file in the run's folder, the content of the schema file. */
    char *url_text, *owned_path, *ddl_text;
};

/* Completes and checks a plan that command_line_read has filled. Initialises *facts, and makes the
 * plan point to it. If the target is only a port, finds the database by asking the server on this
 * port; with --wait, repeats this until the server answers. On any code except EXIT_CODE_OK, *error
 * has the message to print and the plan owns nothing. The caller must not move the plan, because
 * the plan has pointers into itself. */
enum exit_code plan_make(struct plan *plan, struct facts *facts, struct error *error);

/* Together do the same as plan_make, for a caller that has other work during --wait. plan_try asks
 * the server once. plan_waits pauses, and returns true if the caller must call plan_try again. */
enum exit_code plan_try(struct plan *plan, struct facts *facts, struct error *error);
bool plan_waits(struct plan *plan, enum exit_code *code, struct error *error);

/* The data that rank 0 sends to the other ranks, so that all ranks make the same plan. The texts
 * are borrowed. */
struct plan_lead {
    int count;
    char **words;      /* rank 0's options; the first word is skipped */
    unsigned sessions; /* number of sessions, from rank 0's operands or files of options */
    uint64_t records;
    const char *target; /* the target of rank 0; NULL = not given */
    uint64_t seed;      /* seed of rank 0 */
    /* adapter of the server that rank 0 recognised; NULL = as in `words` */
    const char *adapter_name;
    const char *workload; /* file with the script; NULL = as in `words` */
    const char *out;      /* folder of this rank's files */
};

/* Makes the plan of a rank other than 0, without the work that rank 0 does for all ranks. */
enum exit_code plan_follow(struct plan *plan, struct facts *facts, enum command command,
                           const struct plan_lead *lead, struct error *error);

/* Copies a complete plan and changes the number of sessions in the copy. The copy owns nothing, and
 * is valid as long as the original. */
void plan_with_sessions(const struct plan *plan, unsigned sessions, struct plan *copy);

void plan_fini(struct plan *plan);

/* Does the same as plan_fini, but does not free the script, because threads that are still running
 * may use it. */
void plan_fini_in_use(struct plan *plan);

/* Does the first step of plan_make: loads the script of --workload, and refuses options that do not
 * apply to the script. Without --workload, refuses options that need a script. */
enum exit_code plan_load_script(struct plan *plan, struct error *error);

/* Returns whether this program generates the rows: the run has no script, or the script has tables
 * and declares no columns for any of them. */
bool plan_has_own_rows(const struct plan *plan);

/* Returns whether the work of at least some sessions has due times (--rate, --rate-stage, or the
 * rate of a transaction). */
static inline bool plan_has_rate(const struct plan *plan)
{
    return ramp_highest(&plan->rate) > 0 || plan->has_group_rates;
}

/* Returns whether this program polls the server for the waits of the run's sessions. */
static inline bool plan_polls_waits(const struct plan *plan)
{
    return plan->waits != WAITS_OFF && plan->waits != WAITS_KERNEL;
}

/* Returns whether all sessions do the same work, so that they can be compared. */
static inline bool plan_has_fairness(const struct plan *plan)
{
    return plan->script == NULL && !plan->is_search && plan->stages.count == 0;
}

/* Returns the stages of the number of sessions or of the rate. In a run without stages, `count` of
 * the result is 0. */
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
    size_t operation; /* index of the operation that measures the time of one piece of work */
};
const struct plan_work *plan_work(const struct plan *plan);

/* Return the number of tables and the name of a table. The tables are the plan's table, or the
 * tables of the script. A script can have no tables. */
size_t plan_table_count(const struct plan *plan);
const char *plan_table_name(const struct plan *plan, size_t number);

/* Returns the first dataset with the number `first` or higher for which the script declares no
 * columns. Returns NULL if there is no such dataset. The script may be NULL. */
const struct script_dataset *plan_find_undeclared(const struct script *script, size_t first);

/* Returns the script's name, or the end of a name that is too long for a message. */
const char *plan_script_shown(const struct script *script);

/* Fills plan->adapter, plan->display_target and the missing parts of plan->target from --adapter,
 * TARGET and the connection options. If the target is only a port, finds the database by asking the
 * server on this port. */
enum exit_code target_resolve(struct plan *plan, struct error *error);

/* Returns a copy of plan->target with the client library added. If the plan has several hosts, the
 * copy has the address of host number `host`. */
struct target target_at(const struct plan *plan, unsigned host);

/* Writes a host with its port: "a:5432", "[::1]:5432", "/run/x:5432". */
void target_name_host(const struct plan *plan, unsigned host, char *name, size_t size);

/* Tries the protocols of all adapters except plan->adapter. Returns the adapter whose protocol the
 * target's server speaks, or NULL if the server speaks none of them. Waits at most 0.5 s for an
 * answer in each protocol. */
const struct adapter *target_find_other(const struct plan *plan);

/* Called after a connect failed for a reason that may be temporary (STATUS_LOST). With --wait,
 * pauses and returns true if there is time for a new try. When the time is over, returns false and
 * adds to *error that the wait is over. */
bool target_wait(const struct plan *plan, struct error *error);

/* Copies a target in any form to `out`, without its password. */
void target_redact(const char *text, char *out, size_t size);

/* If the target is a file database without a path, sets the path to a file in the run's folder. */
enum exit_code target_default_path(struct plan *plan, struct error *error);

/* Fills *connection from the target and the adapter's defaults. Called before the connect; the
 * adapter's inspect may then correct these values. */
void target_fill_connection(const struct plan *plan, struct connection_info *connection);

/* Prints the plan, for --plan. */
void plan_print(const struct plan *plan, FILE *stream);

/* Returns why this program cannot poll the server's waits, or NULL if the plan has no reason
 * against it. */
const char *plan_why_no_waits(const struct plan *plan);

/* Returns the number of sessions, including idle sessions. */
static inline unsigned plan_sessions_all(const struct plan *plan)
{
    return plan->sessions + plan->idle_sessions;
}

/* Returns the sessions of this process: the share of this rank, or all sessions. */
struct plan_share plan_share(const struct plan *plan);

/* Returns the number of rows that a session appends. `session` is 0 … plan->sessions - 1. All
 * sessions get the same number of records, and the first sessions get one more if there is a
 * remainder. Returns UINT64_MAX if the number of records is not set. */
uint64_t plan_quota(const struct plan *plan, unsigned session);

/* Returns the number of transactions of a session, distributed as the rows in plan_quota. */
uint64_t plan_transaction_quota(const struct plan *plan, unsigned session);

/* Returns the operations whose calls are timed. Operation OPERATIONS + i is the script's operation
 * i. */
struct operation_list plan_operations(const struct plan *plan);

/* An item of --skip-columns a,b or --values 'a=1..9, b=ok|failed'. Items are separated by commas.
 * Blanks around an item, its name and its values are ignored. `name` and `values` point into the
 * list. */
struct column_item {
    struct text_value name;
    struct text_value values; /* text after the '='; length 0 = the item has no values */
};

/* Reads the next item of *list and moves *list after it. Returns false if *list has no more items.
 * If *list is NULL, the list is empty. */
bool column_item_next(const char **list, struct column_item *item);

/* Checks the form of `list`, the value of `option`. If `with_values` is true, every item must have
 * values; otherwise no item may have values. On EXIT_CODE_USAGE, *error names the wrong item and
 * the right form. */
enum exit_code column_items_check(const char *option, const char *list, bool with_values,
                                  struct error *error);

/* Returns the column whose name equals the `length` bytes at `name`. If there is no such column,
 * returns the first column with this name in different case, or NULL. */
const struct column *column_find(const struct table *table, const char *name, size_t length);

/* Returns the column that the item names, as column_find does. */
const struct column *column_item_find(const struct column_item *item, const struct table *table);

/* Finds the item of `list` for the column `column` of `table`. Returns false if the list has no
 * item for the column. */
bool column_item_of(const char *list, const struct table *table, const struct column *column,
                    struct column_item *item);

/* Returns whether the values are a range of whole numbers, FROM..TO. */
bool column_item_range(const struct column_item *item, int64_t *from, int64_t *to);

/* Reads the next word of a list "a|b" and moves *values after it. Returns false if *values has no
 * more words. */
bool column_word_next(struct text_value *values, struct text_value *word);

/* A CREATE TABLE script that is built into the program, from schemas/SCHEMA/DATABASE.sql. The build
 * writes the array; `schema` of its last entry is NULL. */
struct schema_text {
    const char *schema, *database, *sql;
};
extern const struct schema_text schema_texts[];

/* Returns the DDL of a schema for a database, or NULL if the program does not have it. */
const char *schema_find(const char *schema, const char *database);

/* Returns the DDL of the default table: the adapter's own DDL, or the DDL of the schema
 * "syslog". */
const char *schema_of_syslog(const struct adapter *adapter, const char *database);

#endif
