/*
 * The result of one run. The reports read it. Ledgers, counters, histograms and causes are sums, so
 * the results of several machines can be merged.
 */
#ifndef MEASURE_RESULT_H
#define MEASURE_RESULT_H

#include "append/adapter.h"
#include "base/process.h"
#include "figures/bound.h"
#include "measure/ledger.h"
#include "measure/limit.h"
#include "measure/metric.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "measure/transaction_log.h"
#include "measure/waits.h"

enum {
    EVENT_TEXT_BYTES = 200,
    EVENTS_MAX = 1000, /* maximum number of events; more events would fill a chart with lines */
    EXPECTATIONS_MAX = 32,
    PROBLEM_BYTES = 900,
    RESULT_LOST_BYTES = 64,
    RESULT_CHANGE_BYTES = 280,
    RESULT_CONDITION_BYTES = 200 /* size of the text of a condition and the value that met it */
};

/* An event during or after the run that the user reports, for example that a node was added or a
 * rebalance began. Events are read from events.csv, written into run.json, and drawn as lines in
 * the charts over time. */
struct event {
    int64_t at_ns; /* moment since the start of the run, as in intervals.csv; not negative; may be
                      after the end of the run */
    char text[EVENT_TEXT_BYTES]; /* the text as the user wrote it: any bytes except line breaks; may
                                    be "" */
};

enum {
    CHANGE_VALUE_BYTES = 24,
    CHANGE_TEXT_BYTES = 200,
};

/* A change that the user made during the run (load/control.h). */
struct change {
    int64_t at_ns;    /* moment of the change, since the start of the run */
    const char *what; /* kind of change: "mark", "rate", "sessions", "pause", "resume", "stop" */
    char from[CHANGE_VALUE_BYTES]; /* value before the change; "" if the change has no value */
    char to[CHANGE_VALUE_BYTES];
    char text[CHANGE_TEXT_BYTES]; /* text of the event: the user's note for "mark", otherwise
                                      what was changed: "rate 500/s" */
    char by[16];                  /* origin of the change: "page", "append control" */
};

/* A list of events. An empty list is all zeros. */
struct event_list {
    struct event *entries; /* events, sorted by time; owned */
    size_t count;
    unsigned bad_lines; /* number of lines that were ignored, because they are not events or the
                           list was full */
    char note[200];     /* the first bad line and what is wrong with it; "" if bad_lines is 0 */
};

/* Adds an event after the events with the same or an earlier time. The end of a text that is too
 * long is cut off, but no UTF-8 character is split. Returns false when out of memory or when the
 * list has EVENTS_MAX entries. */
bool event_list_add(struct event_list *list, int64_t at_ns, const char *text);

void event_list_fini(struct event_list *list);

/* A bound that a figure of the run is expected to meet (--expect). The bound is read before the run
 * begins, and checked when the run has ended. */
struct expectation {
    struct bound bound;
    unsigned stage;              /* number of the stage whose figure is checked; 0: the whole run */
    struct figure_choice choice; /* columns of summary.csv, or of stages.csv */
    double limit;                /* the number of the bound, in the unit of the columns */
    size_t chosen; /* index in `choice` of the column whose value is used; 0 if no value is known */
    bool is_known; /* the value is known; false before the run has ended */
    double value;
    bool is_met; /* the value meets the bound; false when the value is unknown */
};

struct expectations {
    const struct ramp *stages;   /* stages of the run; borrowed; NULL if the run has no stages */
    const struct script *script; /* script of the run; borrowed; NULL if the run has no script */
    size_t count;
    struct expectation entries[EXPECTATIONS_MAX];
};

/* Why the sessions stopped working. */
enum stop_reason {
    STOP_COMPLETED,   /* every session ended by itself */
    STOP_DURATION,    /* the time was over */
    STOP_INTERRUPTED, /* SIGINT, SIGTERM or SIGHUP */
    STOP_DROP,        /* a session was dropped and --on-drop stop was given */
    STOP_NO_SESSION,  /* no session could connect */
    STOP_TOO_FEW,     /* fewer sessions were up than --min-sessions requires */
    STOP_RANK,        /* a rank was lost: one of several processes that share the load */
    STOP_SCRIPT,      /* an error in the script, see CAUSE_SCRIPT */
    STOP_CONDITION,   /* a condition of --stop-when was met */
    STOP_CONTROL,     /* the user stopped the run on the live page or with `append control` */
    STOP_NOT_YET,     /* the sessions are still at work: the result shows one moment of the run */
};

/* Returns whether the run stopped as planned: its time was over, or the user stopped it. After a
 * planned stop, work that had not begun does not count as missing. */
bool stop_is_planned(enum stop_reason reason);

enum verdict {
    VERDICT_VALID,
    VERDICT_DEGRADED, /* sessions or rows are missing, or something else went wrong */
    VERDICT_INVALID,  /* the client was the bottleneck, or was suspended for a time */
    VERDICT_RUNNING,  /* the run has not ended: the result shows one moment of the run */
};

/* The kinds of problems of a run, the most severe kind first. struct result keeps the first problem
 * of each kind. The most severe problem sets the exit code. The exit reason names all problems. */
enum problem_kind {
    PROBLEM_RANK, /* a rank was lost */
    PROBLEM_RUN,  /* missing sessions, lost rows, an early stop, a client at its limit, ... */
    PROBLEM_INTERRUPTED, /* a signal arrived after all sessions had ended */
    PROBLEM_EXPECTATION, /* a bound of --expect was missed */
    PROBLEM_FILES,       /* files of the run are incomplete or missing */
    PROBLEM_PAGE,        /* report.html could not be made */
    PROBLEM_OUTPUT,      /* standard output could not be written */
    PROBLEM_YCSB,        /* the YCSB text could not be written */
    PROBLEM_JUNIT,       /* the JUnit file could not be written */
    PROBLEM_KINDS,
};

struct problem {
    enum exit_code code; /* EXIT_CODE_OK: no problem of this kind */
    char text[PROBLEM_BYTES];
};

/* The numbers of rows that one table had at one host before and after the run. The rows were
 * counted with count(*). */
struct table_count {
    bool is_counted; /* both counts are known */
    uint64_t before, after;
};

enum {
    /* maximum number of settings that are kept; the queries for the settings return at most 64 */
    SERVER_SETTINGS_MAX = 96
};

/* The settings that a server reported. */
struct server_settings {
    size_t count;
    struct server_setting {
        char name[64], value[96];
    } entries[SERVER_SETTINGS_MAX];
};

struct host_result {
    char name[280];                  /* the host as host:port; "" if there is only one host */
    int64_t elapsed_ns, measured_ns; /* elapsed and measured time of the run */
    const uint64_t *counters;        /* counters of this host; a part of result.totals */
    struct recorder_latency latencies[OPERATIONS];
    struct table_count *tables; /* counts of the tables, indexed by number of the table; owned */
    bool is_counted;            /* all tables were counted before and after the run */
    char reason[240];           /* reason why is_counted is false */
    struct server_settings settings; /* settings that the server reported before the run */
    /* settings that changed during the run, with their values after the run; the value is "" if the
     * server no longer reports the setting */
    struct server_settings settings_changed;
};

/* The result of checking one of the claims that a script makes about its tables. */
struct invariant_result {
    const char *claim;             /* text of the claim; borrowed from the script */
    enum verification_state state; /* NONE: the database keeps no rows; FAILED: the claim could not
                                      be checked */
    uint64_t rows; /* number of rows that break the claim; if there are several hosts, the number at
                      the first host where rows break the claim */
    char first[160];  /* the values of the first row that breaks the claim: "1, 300.00" */
    char reason[240]; /* reason why the state is VERIFICATION_FAILED */
};

/*
 * The numbers, except the counters, that are kept both for the whole run and for each rank.
 *
 * X(type, name, rule): a member of struct result and of struct rank_result. `rule` says how the
 * values of two ranks are joined: SUM, MAX, or REASON (the more important stop_reason is kept).
 */
/* clang-format off */
#define RESULT_PARTS(X) \
    X(struct session_ledger, sessions, SUM) \
    X(struct row_ledger, rows, SUM) \
    X(struct batch_ledger, batches, SUM) /* all 0 without a rate */ \
    /* time from the first thread's start to the last session's end */ \
    X(int64_t, elapsed_ns, MAX) \
    /* time from the first thread's start until the gate opened; connected sessions wait for this \
     * moment, so that they begin to work together */ \
    X(int64_t, connect_ns, MAX) \
    /* time from the opening of the gate to the last answer */ \
    X(int64_t, append_ns, MAX) \
    /* time from the opening of the gate or, if there is a warm-up, from its end to the last \
     * answer */ \
    X(int64_t, measured_ns, MAX) \
    X(uint64_t, sessions_cut, SUM) /* sessions whose connections were cut after a stop */ \
    /* time from the opening of the gate to the last arrival that was due; 0 if arrivals are not \
     * random */ \
    X(int64_t, last_due_ns, MAX) \
    /* sessions count their own acknowledged rows with count(*); this is the greatest number of \
     * rows that one count missed */ \
    X(uint64_t, worst_lag_rows, MAX) \
    X(enum stop_reason, stop_reason, REASON)
/* clang-format on */
#define RESULT_AS_MEMBER(type, name, rule) type name;

/* The result of one rank: a row of ranks.csv. */
struct rank_result {
    char machine[64];
    bool is_known; /* false: the rank was lost, and the counts are from its last report */
    RESULT_PARTS(RESULT_AS_MEMBER)
    uint64_t counters[RECORDER_COUNTERS],
        warm_up[RECORDER_COUNTERS]; /* sums over the rank's sessions: `counters` for the whole run,
                                       `warm_up` for the warm-up only */
    int64_t start_mono_ns;          /* monotonic start of the run, on the rank's own clock */
    int64_t gate_late_ns;    /* how much later than agreed between the ranks the gate of this rank
                                opened; 0 = in time */
    int64_t clock_offset_ns; /* difference of the rank's clock from rank 0's clock, at the end */
    int64_t clock_error_ns;  /* the largest possible error of clock_offset_ns */
    int64_t clock_drift_ns;  /* change of clock_offset_ns since the start */
    int64_t clock_drift_error_ns; /* the largest possible error of clock_drift_ns */
    unsigned hosts_here; /* number of servers whose addresses are on the rank's machine; the rank
                            looked for their processes */
    struct resource_summary resources;
    struct trace_sum *trace; /* the I/O trace of the rank, with times on rank 0's clock; owned; NULL
                                if nothing was traced */
    enum verdict verdict;    /* verdict on the rank's own sessions and machine */
    char verdict_reason[240];
};

struct result {
    int64_t started_wall_ns; /* start of the run, since 1970-01-01 UTC */
    /* monotonic start of the run; reports show the times of causes relative to this moment */
    int64_t start_mono_ns;
    RESULT_PARTS(RESULT_AS_MEMBER)
    int64_t disconnect_ns;        /* time from the last answer to the end of the last session */
    double throughput_rows_per_s; /* acknowledged rows / elapsed time */
    double rate_achieved_percent; /* share of --rate that was reached; -1 = the run had no rate or
                                     was too short */

    struct verification verification;
    struct row_verification row_verification;
    /* number of the script's tables; 0 without a script. A run with a script fills `datasets` and
     * not `verification`. */
    size_t dataset_count;
    /* verifications of the script's tables, indexed by number of the table; owned. The fleet sets
     * the numbers of added and removed rows, and verify_result sets the rest. */
    struct verification *datasets;
    size_t invariant_count; /* number of the script's claims; 0 before verify_result is called */
    bool lacks_invariants;  /* the claims were not checked because this program was out of memory */
    /* results for the claims, indexed by number of the claim; owned */
    struct invariant_result *invariants;
    size_t metric_count;        /* number of the script's metrics; 0 in a search */
    struct metric_sum *metrics; /* sums of the metrics, indexed by number of the metric; owned */
    size_t rank_count;          /* number of ranks; 0 in a run without ranks */
    struct rank_result *ranks;  /* results of the ranks, indexed by number of the rank; owned */
    unsigned resource_rank;     /* number of the rank that `resources` describes */
    int64_t gate_late_ns; /* how much later than agreed between the ranks the gate of this process
                             opened; 0 = in time */
    /* number of sessions whose threads did not end: they still run the script, so the plan must not
     * be freed */
    uint64_t sessions_left;
    uint64_t sessions_ended; /* number of cut sessions whose work still ran at the server, and was
                                ended there by this program */

    int64_t table_bytes_before; /* size of the run's tables on disk before the run; -1 = unknown */
    int64_t table_bytes_after;  /* size of the run's tables on disk after the run; -1 = unknown */

    struct recorder_snapshot totals;
    struct causes causes;
    struct event_list events; /* events of the run; event_list_fini frees them */
    char metrics_note[200]; /* reason why --metrics-file is out of date; "" when it is up to date */
    struct transaction_log_counts log; /* numbers of rows in the log of transactions */
    struct findings findings;          /* the limits that were hit */
    size_t host_count;                 /* number of hosts, at least 1 */
    struct host_result *hosts; /* results of the hosts, indexed by number of the host; owned */
    unsigned host;             /* number of the host that was set up first */
    size_t table_count;        /* number of tables at each host */
    bool are_hosts_known; /* the counts of a table have shown whether the hosts are one database */
    bool are_hosts_one;   /* the hosts seem to be one database */
    size_t session_count;
    /* results of the sessions, indexed by number of the session; owned; NULL until all sessions
     * have ended */
    struct session_summary *session_list;
    struct fairness fairness;
    size_t stage_count;      /* number of stages; 0 in a run without stages */
    struct interval *stages; /* the stages that the run reached, in order of time; owned */
    size_t change_count;     /* number of changes that the user made during the run */
    struct change *changes;  /* these changes, in order of time; owned */
    /* mean of the requested rate, per second; used if the user changed the run */
    double changed_rate;
    uint64_t least_sessions; /* number of --min-sessions: the run stops when fewer are up */
    /* for STOP_CONDITION: the condition that was met, and the value that met it */
    char stop_condition[RESULT_CONDITION_BYTES];
    uint64_t sessions_up; /* for STOP_TOO_FEW: number of sessions that were up */
    struct resource_summary resources;
    struct trace_sum *trace; /* the I/O trace (trace/trace.h); in a run with ranks, the sum of their
                                traces; owned, freed with free; NULL without --io-trace */
    struct waits *waits;     /* waits of the sessions; in a run with ranks, only those of rank 0's
                                sessions; owned; NULL: the waits were not polled */
    char waits_note[240];    /* reason why the waits were not polled although the user asked for
                                them; else "" */
    struct kernel_waits *kernel_waits; /* the waits of the server's threads (trace/switches.h);
                                          owned, freed with free; NULL without --waits=kernel */
    struct server_limits server; /* facts that the server reports about itself; `version` is "" if
                                    the version is unknown */
    struct connection_info connection;
    char engine[ROW_TYPE_NAME_BYTES]; /* storage engine; "" where the database has only one */
    char removal[320]; /* commands that remove what the run leaves in the database; "" = the run
                          leaves nothing */

    enum verdict verdict;
    char verdict_reason[240]; /* reason for the verdict: one line, never empty */
    /* while the verdict is DEGRADED only because files are incomplete: the reason for VALID, which
     * becomes the verdict when the files are complete; otherwise "" */
    char valid_reason[240];
    struct problem problems[PROBLEM_KINDS];
    enum exit_code exit_code;
    char exit_reason[PROBLEM_BYTES]; /* reason for the exit code: one line for stderr; empty when
                                        exit_code is 0 */
    /* the expectations, already checked; borrowed; NULL without --expect */
    const struct expectations *expectations;
};

extern const char *const stop_reason_names[]; /* names of the reasons; NULL for STOP_NOT_YET */
extern const char *const verdict_names[];     /* names of the verdicts: "VALID", ... */

/* result_copy_part copies the members of RESULT_PARTS, the counters, and the start of the run from
 * a rank's own result to `part`. result_add_part adds the members of RESULT_PARTS and the counters
 * of `part` to the result of all ranks. */
void result_copy_part(const struct result *result, struct rank_result *part);
void result_add_part(struct result *result, const struct rank_result *part);

/* Returns how many changes the user made during the run, without marks, which change nothing. */
size_t result_count_steered(const struct result *result);

/* Adds a copy of the stage to the result. Does nothing when out of memory. */
void result_add_stage(struct result *result, const struct interval *stage);

/* Returns whether every row was read back, which makes the number of lost rows certain. */
bool result_is_read_back(const struct result *result);

/* Returns the greatest possible number of acknowledged rows that are lost. The number is known from
 * reading the rows back or, if they were not read back, is computed from the row counts. */
uint64_t result_lost_at_most(const struct result *result);

/* Describes the number of lost rows as far as it is known: "3", "up to 3", "2 to 3". */
const char *result_describe_lost(const struct result *result, char text[RESULT_LOST_BYTES]);

/* Returns the value of a setting; NULL when the list does not have it. */
const char *server_setting(const struct server_settings *settings, const char *name);

/* Describes a server setting that changed during the run: the first changed setting of the first
 * host that has one. Returns "" when no setting changed. */
const char *result_describe_change(const struct result *result, char text[RESULT_CHANGE_BYTES]);

/* Returns the number of rows in the table that this run cannot have written, as far as it is
 * known. */
uint64_t result_surplus(const struct result *result);

/* Allocates the results of `hosts` hosts, each with the counts of `tables` tables. If has_script,
 * also allocates a verification for each table. Returns false when out of memory; result_free frees
 * what was allocated. */
bool result_allocate_tables(struct result *result, size_t hosts, size_t tables, bool has_script);

/* Allocates empty sums for the metrics of the script. Returns false when out of memory. */
bool result_allocate_metrics(struct result *result, const struct script *script);

/* Allocates the results of `count` claims, in the state NONE and without the texts of the claims.
 * Replaces earlier results. When out of memory, sets invariant_count to 0 and lacks_invariants. */
void result_allocate_invariants(struct result *result, size_t count);

/* The number of rows by which a run changed a table: added rows minus removed rows. */
struct row_change {
    int64_t least, most; /* smallest and greatest possible number, because of rows in doubt */
};

/* Joins the row counts of all hosts for table number `table`. `written` is the number of rows by
 * which the run changed the table. Fills rows_before, rows_after, the state and, if the state is
 * VERIFICATION_FAILED, the reason.
 *
 * The function treats the hosts as one database if all hosts had the same count before the run, and
 * if the count of every host then changed by `written`, or the changes of all hosts add up to much
 * more than `written`. It then uses the count of the host with the greatest change. If the hosts
 * are separate databases, it adds up their counts; the state is VERIFICATION_FAILED if no host
 * was counted, or if a host to which the run wrote was not counted. If the counts fit neither case,
 * the state is VERIFICATION_FAILED. result->are_hosts_one becomes true if every table that changed
 * shows that the hosts are one database. */
void result_join_hosts(struct result *result, size_t table, const struct row_change *written,
                       struct verification *verification);

/* Frees the result and everything it owns. `result` may be NULL. */
void result_free(struct result *result);

/* Adds a problem unless the result already has a problem of its kind. */
__attribute__((format(printf, 4, 5))) void result_add_problem(struct result *result,
                                                              enum problem_kind kind,
                                                              enum exit_code code,
                                                              const char *format, ...);

/* Sets exit_code and exit_reason from the problems. A VALID run becomes DEGRADED if its files are
 * incomplete. If the files are complete at a later call, the run becomes VALID again. */
void result_set_exit(struct result *result);

#endif
