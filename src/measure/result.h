/*
 * Everything that one run came to. Filled by the fleet and the job, read by the reports.
 * Ledgers, counters, histograms and causes are sums, so results of several machines can be merged.
 */
#ifndef MEASURE_RESULT_H
#define MEASURE_RESULT_H

#include "append/adapter.h"
#include "base/process.h"
#include "figures/bound.h"
#include "measure/ledger.h"
#include "measure/limit.h"
#include "measure/recorder.h"
#include "measure/sampler.h"

enum {
    EVENT_TEXT_BYTES = 200,
    EVENTS_MAX = 1000, /* more would be a curve, not lines in a chart */
    EXPECTATIONS_MAX = 32,
    PROBLEM_BYTES = 900,
    RESULT_LOST_BYTES = 64,
    RESULT_CHANGE_BYTES = 280
};

/* What happened around a run, as its user says: a node was added, a rebalance began. Read from
 * events.csv, written into run.json, drawn as lines in charts over time. */
struct event {
    int64_t at_ns; /* since the start of the run, on the scale of intervals.csv; not negative; can
                      be later than its end */
    char text[EVENT_TEXT_BYTES]; /* as the user wrote it: any bytes but line breaks; may be "" */
};

/* All zero: empty. */
struct event_list {
    struct event *entries; /* owned; by time */
    size_t count;
    unsigned bad_lines; /* lines that say no event, or one too many; they are left out */
    char note[200];     /* the first of them and what is wrong with it; "" when there is none */
};

/* Adds an event behind those of the same time or earlier; text that is too long is cut between
 * characters. False: out of memory, or there are EVENTS_MAX already. */
bool event_list_add(struct event_list *list, int64_t at_ns, const char *text);

void event_list_fini(struct event_list *list);

/* What was expected of a run, and what became of it: bounds on its figures. Read before the run
 * begins, judged at its end. */
struct expectation {
    struct bound bound;
    struct figure_choice choice; /* columns of summary.csv */
    double limit;                /* in the unit of these columns */
    size_t chosen;               /* column that was known at the end; 0 when none was */
    bool is_known;               /* false, too, before the run has ended */
    double value;
    bool is_met; /* never when the figure is not known */
};

struct expectations {
    size_t count;
    struct expectation entries[EXPECTATIONS_MAX];
};

/* Why the sessions stopped working. */
enum stop_reason {
    STOP_COMPLETED,   /* every session ended by itself */
    STOP_DURATION,    /* the time asked for was over */
    STOP_INTERRUPTED, /* SIGINT, SIGTERM or SIGHUP */
    STOP_DROP,        /* a session was dropped and --on-drop stop was given */
    STOP_NO_SESSION,  /* no session could connect */
    STOP_TOO_FEW,     /* fewer sessions were up than --min-sessions asks for */
    STOP_RANK,        /* one of several ranks was lost */
    STOP_SCRIPT,      /* a mistake in the script: CAUSE_SCRIPT says which */
};

enum verdict {
    VERDICT_VALID,
    VERDICT_DEGRADED, /* sessions or rows short, or something was not as it should be */
    VERDICT_INVALID,  /* the client was the bottleneck, or stood still */
};

/* What makes a run less than it was asked to be. Whoever notices it adds it to the list, of each
 * kind the first; the outcome is judged from the whole list. The kinds are in the order of their
 * weight: the first that is there gives the exit code, all of them make the reason. */
enum problem_kind {
    PROBLEM_RANK,        /* one of several ranks was lost */
    PROBLEM_RUN,         /* ledgers, lost rows, limits, a client that was the bottleneck */
    PROBLEM_INTERRUPTED, /* a signal, when the sessions had ended already */
    PROBLEM_EXPECTATION, /* a bound of --expect that was missed */
    PROBLEM_FILES,       /* files of the run are short or gone */
    PROBLEM_PAGE,        /* report.html could not be made */
    PROBLEM_OUTPUT,      /* standard output could not be written */
    PROBLEM_YCSB,        /* nor YCSB's text */
    PROBLEM_JUNIT,       /* nor the JUnit file */
    PROBLEM_KINDS,
};

struct problem {
    enum exit_code code; /* OK: there is none */
    char text[PROBLEM_BYTES];
};

/* count(*) of a table at a host, before and after the run. */
struct table_count {
    bool is_counted; /* both are known */
    uint64_t before, after;
};

/* What a host came to, of which there may be one. */
struct host_result {
    char name[280];                  /* host:port; "" where there is one */
    int64_t elapsed_ns, measured_ns; /* of the run */
    const uint64_t *counters;        /* of the recorder, in result.totals */
    struct recorder_latency latencies[OPERATIONS];
    struct table_count *tables;              /* by number; owned */
    bool is_counted;                         /* all tables, before and after the run; else: */
    char reason[240];                        /* why not */
    struct server_settings settings;         /* before the run */
    struct server_settings settings_changed; /* those that were others after it, as they were then;
                                                value "": not set any more */
};

/*
 * The numbers that a result has in all and of each rank, beside the counters of its totals.
 *
 * X(type, name, rule): a member of struct result and of struct rank_result. The rule says how those
 * of two ranks make one: SUM, MAX, or REASON of an early end.
 */
/* clang-format off */
#define RESULT_PARTS(X) \
    X(struct session_ledger, sessions, SUM) \
    X(struct row_ledger, rows, SUM) \
    X(struct batch_ledger, batches, SUM) /* all 0 without a rate */ \
    X(int64_t, elapsed_ns, MAX)          /* first thread started -> last session ended */ \
    X(int64_t, connect_ns, MAX)          /* first thread started -> gate opened */ \
    X(int64_t, append_ns, MAX)           /* gate opened -> last session had its last answer */ \
    X(int64_t, measured_ns, MAX)         /* end of the warm-up -> last answer; without a warm-up */ \
                                         /* append_ns */ \
    X(uint64_t, sessions_cut, SUM)       /* sessions whose connection append cut: no end in time */ \
                                         /* after STOP */ \
    X(uint64_t, worst_lag_rows, MAX)     /* most rows that a count was behind the session's own */ \
    X(enum stop_reason, stop_reason, REASON)
/* clang-format on */
#define RESULT_AS_MEMBER(type, name, rule) type name;

/* A rank's part of a result: a row of ranks.csv. */
struct rank_result {
    char machine[64];
    bool is_known; /* false: its result did not come; of its counts there is what it told last */
    RESULT_PARTS(RESULT_AS_MEMBER)
    uint64_t counters[RECORDER_COUNTERS], warm_up[RECORDER_COUNTERS]; /* of its totals */
    int64_t start_mono_ns;                                            /* on its own clock */
    int64_t gate_late_ns; /* its gate opened so long after the moment agreed on */
    int64_t
        clock_offset_ns; /* its clock against that of rank 0, at the end, and at most so wrong */
    int64_t clock_error_ns;
    int64_t clock_drift_ns; /* by how much that has changed since the start, and at most so wrong */
    int64_t clock_drift_error_ns;
    unsigned hosts_here; /* servers on its machine, at which it looked */
    struct resource_summary resources;
    struct trace_sum *trace; /* owned; NULL: it traced nothing. Moments are on rank 0's clock */
    enum verdict verdict;    /* of its own sessions and its own machine */
    char verdict_reason[240];
};

struct result {
    int64_t started_wall_ns; /* 1970 UTC */
    int64_t start_mono_ns;   /* monotonic: causes count from here */
    RESULT_PARTS(RESULT_AS_MEMBER)
    int64_t disconnect_ns;        /* last session had its last answer -> last session ended */
    double throughput_rows_per_s; /* acknowledged / elapsed */
    double rate_achieved_percent; /* of --rate, while appending; -1 = none, or too short to tell */

    struct verification verification;
    struct row_verification row_verification;
    size_t dataset_count;          /* of the script; then `verification` says nothing */
    struct verification *datasets; /* by number, owned: free. The fleet fills what was added and
                                      taken, verify_result the rest */
    size_t rank_count;             /* of several ranks, else 0 */
    struct rank_result *ranks;     /* by number, owned */
    unsigned resource_rank;        /* whose CPU and I/O `resources` has */
    int64_t gate_late_ns;          /* as in struct rank_result, of this process */
    uint64_t sessions_left;  /* whose threads were left behind in their script, and read it still */
    uint64_t sessions_ended; /* that append cut, and ended at the server, which was at work still */

    int64_t table_bytes_before; /* of the run's tables on disk; -1 = not known, as the next */
    int64_t table_bytes_after;

    struct recorder_snapshot totals;
    struct causes causes;
    struct event_list events;  /* owned: event_list_fini */
    char metrics_note[200];    /* why --metrics-file is not up to date; "" when it is */
    struct findings findings;  /* the limits that were hit */
    size_t host_count;         /* one or several */
    struct host_result *hosts; /* by number, owned */
    unsigned host;             /* the one that was set up first */
    size_t table_count;        /* that each host has */
    bool are_hosts_one;        /* as far as is known they show one database */
    size_t session_count;
    struct session_summary *session_list; /* by index, owned; NULL before the sessions ended */
    struct fairness fairness;
    uint64_t least_sessions; /* that had to be up for the run to go on */
    uint64_t sessions_up;    /* STOP_TOO_FEW: so many were */
    struct resource_summary resources;
    struct trace_sum *trace;     /* trace/trace.h; owned: free; NULL: --io-trace was not given. Of
                                    several ranks the sum of theirs */
    struct server_limits server; /* version "" when the server did not say */
    struct connection_info connection;
    char engine[ROW_TYPE_NAME_BYTES]; /* of the table; "" where there is only one */
    char removal[320]; /* what removes what the run leaves behind; "" when nothing stays */

    enum verdict verdict;
    char verdict_reason[240]; /* one line, never empty */
    struct problem problems[PROBLEM_KINDS];
    enum exit_code exit_code;
    char exit_reason[PROBLEM_BYTES];         /* one line for stderr; empty when exit_code is 0 */
    const struct expectations *expectations; /* judged; borrowed; NULL: nothing was expected */
};

extern const char *const stop_reason_names[];
extern const char *const verdict_names[]; /* "VALID", ... */

/* Copies what a rank's result has of a part; and adds a part to the result of all ranks. */
void result_take_part(const struct result *result, struct rank_result *part);
void result_add_part(struct result *result, const struct rank_result *part);

/* Every row was read back, which tells for sure. */
bool result_is_read_back(const struct result *result);

/* How many acknowledged rows are lost: by the rows that were read back, else by the counts. */
uint64_t result_lost_at_most(const struct result *result);

/* The same in words, as far as is known: "3", "up to 3", "2 to 3". */
const char *result_describe_lost(const struct result *result, char text[RESULT_LOST_BYTES]);

/* The value of a setting; NULL: it is not among them. */
const char *server_setting(const struct server_settings *settings, const char *name);

/* The first setting of the server, or of one of several, that was changed during the run; "": none
 * was. */
const char *result_describe_change(const struct result *result, char text[RESULT_CHANGE_BYTES]);

/* Rows in the table that this run cannot have written, as far as is known. */
uint64_t result_surplus(const struct result *result);

/* What the judgement needs to know of the run beside its result. */
struct judge_context {
    bool is_embedded;       /* the database's share of the CPUs is this program's */
    bool is_local;          /* the server shares this machine's CPUs */
    double rate_rows_per_s; /* asked for; with a script, transactions; 0 = none */
    const char *out_folder; /* to which a rank's own adds .rankN */
    bool has_script;
    bool keeps_nothing;  /* the database throws rows away: what is measured is the client */
    uint64_t max_failed; /* transactions that may fail */
    unsigned max_failed_percent;
    const char *traced;   /* how the server's I/O was; NULL: it was not */
    uint64_t untraced;    /* calls that the server counted, where not one of them was traced */
    bool was_interrupted; /* by the user, be it after the sessions had ended */
    bool was_signalled;   /* it may have been mpirun */
};

/* Sets verdict, verdict_reason and PROBLEM_RUN from the rest, and concludes; the rules are in
 * verdict.c. */
void result_judge(struct result *result, const struct judge_context *context);

/* Makes room for the hosts, the counts of so many tables at each, and, with a script, what is
 * verified of each table. False: out of memory; result_free frees what there is. */
bool result_make_tables(struct result *result, size_t hosts, size_t tables, bool has_script);

/* Puts together what all hosts show of table number `table`, which the run changed by `least` to
 * `most` rows: fills rows_before, rows_after, and the state, with the reason where it is
 * VERIFICATION_FAILED: a host that has rows of the run was not counted.
 *
 * Says in result->are_hosts_one whether the hosts are one database. They are when they showed the
 * same number before, and now all show what was added, or together more than that: then the highest
 * count holds. Else the counts are added up. */
void result_join_hosts(struct result *result, size_t table, uint64_t least, uint64_t most,
                       struct verification *verification);

/* Frees it with all that it owns; takes NULL. */
void result_free(struct result *result);

/* Adds a problem, unless there is one of its kind. */
__attribute__((format(printf, 4, 5))) void result_add_problem(struct result *result,
                                                              enum problem_kind kind,
                                                              enum exit_code code,
                                                              const char *format, ...);

/* Sets exit_code and exit_reason from the problems. A run that was VALID is DEGRADED where files
 * are short. */
void result_conclude(struct result *result);

#endif
