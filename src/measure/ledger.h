/*
 * The counts of a run (the ledgers), the outcome of each session, the causes of failures, and the
 * numbers of rows in the tables after the run.
 *
 * A ledger counts sessions, rows or batches by their outcomes. These sums must hold; see
 * transactions_balance for transactions:
 *
 *   sessions: requested = connected + refused + timed_out + not_started
 *             connected = finished + stopped + dropped
 *   rows:     planned   = acknowledged + rejected + in_doubt + not_sent
 *
 * A session is `stopped` if the run ended early, before the session had done its share: because of
 * a signal, --on-drop stop, --stop-when, --min-sessions, an error in a script or a lost rank. A
 * session is also `stopped` if it was reconnecting at the end of the run, or if it still waited for
 * an answer and this program cut its connection. A row is in doubt when the connection died between
 * sending the row and the answer. Ledgers of several machines are merged by addition.
 */
#ifndef MEASURE_LEDGER_H
#define MEASURE_LEDGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "figures/figures.h"

/*
 * X(member, FIGURE): a count of a ledger, and the figure that shows it. SESSION_OUTCOMES calls X
 * with two more arguments, X(member, FIGURE, ID, total): SESSION_ID is the outcome of a session,
 * and `total` is the count that includes `member`.
 *
 * BATCH_LEDGER is used only with --rate. It counts the batches that were due before the run ended:
 * due = sent + not_sent. If a lost connection splits a batch, its two parts count as two batches.
 */
/* clang-format off */
#define SESSION_OUTCOMES(X) \
    /* no thread was available, or the run ended first */ \
    X(not_started, SESSIONS_NOT_STARTED, NOT_STARTED, requested) \
    /* open failed for any reason except a timeout */ \
    X(refused, SESSIONS_REFUSED, REFUSED, requested) \
    /* open got no answer in time */ \
    X(timed_out, SESSIONS_TIMED_OUT, TIMED_OUT, requested) \
    /* appended its whole share, or appended until the duration was over */ \
    X(finished, SESSIONS_FINISHED, FINISHED, connected) \
    /* ended early on request, or still waited for an answer or a connection at the end */ \
    X(stopped, SESSIONS_STOPPED, STOPPED, connected) \
    /* lost the connection, or had a fatal error */ \
    X(dropped, SESSIONS_DROPPED, DROPPED, connected)
#define SESSION_LEDGER(X, OUTCOME) \
    X(requested, SESSIONS_REQUESTED) \
    X(connected, SESSIONS_CONNECTED) \
    SESSION_OUTCOMES(OUTCOME)
#define ROW_LEDGER(X) \
    X(planned, ROWS_PLANNED) /* if the run has a duration: rows of begun batches */ \
    X(acknowledged, ROWS_ACKNOWLEDGED) \
    X(rejected, ROWS_REJECTED) \
    X(in_doubt, ROWS_IN_DOUBT) \
    X(not_sent, ROWS_NOT_SENT)
#define BATCH_LEDGER(X) \
    X(due, BATCHES_DUE) \
    X(sent, BATCHES_SENT) \
    X(not_sent, BATCHES_NOT_SENT)
/* clang-format on */
#define LEDGER_AS_MEMBER(member, ...) uint64_t member;

#define OUTCOME_AS_ID(member, figure, id, total) SESSION_##id,
enum session_outcome {
    SESSION_OUTCOMES(OUTCOME_AS_ID)
};

struct session_ledger {
    SESSION_LEDGER(LEDGER_AS_MEMBER, LEDGER_AS_MEMBER)
};

struct row_ledger {
    ROW_LEDGER(LEDGER_AS_MEMBER)
};

struct batch_ledger {
    BATCH_LEDGER(LEDGER_AS_MEMBER)
};

/*
 * A script's transactions are counted only in the recorder (figures/figures.h). Each transaction
 * counts once, however often it was tried. Transactions of the warm-up are counted separately.
 * transactions_balance returns whether these identities hold:
 *
 *   begun  = committed + rolled back + failed + in doubt + unfinished
 *   tries  = begun + retries
 *   failed = exhausted + refused + lost
 *   due + not due = begun + skipped + not begun  (only with a rate)
 *
 * `not due` counts the transactions that were begun without a due time.
 *
 * A transaction is in doubt when the connection died between sending COMMIT (or a write that is a
 * transaction by itself) and the answer. A transaction whose connection died earlier has failed.
 */
bool transactions_balance(const uint64_t counters[RECORDER_COUNTERS]);

/* Returns whether the counts of one named transaction or one statement balance: the first two
 * identities above, and sent = answered + refused + unanswered. */
bool operation_counts_balance(const uint64_t counts[OPERATION_COUNTS]);

/* Returns the number of retries of transactions, for any reason. */
uint64_t transactions_retries(const uint64_t counters[RECORDER_COUNTERS]);

/* The result of counting the rows of a table with count(*) before and after the run. */
enum verification_state {
    VERIFICATION_NONE,   /* no count was requested, or the adapter stores no rows */
    VERIFICATION_FAILED, /* the rows could not be counted after the run */
    VERIFICATION_DONE,
};

struct verification {
    /* with a script, NONE also means that the script does not change the table */
    enum verification_state state;
    uint64_t rows_before;
    uint64_t rows_after;
    /* Number of acknowledged rows that are missing even if every row in the table belongs to this
     * run. With a script: number of rows that are missing even if every removal in doubt was
     * committed and no insertion in doubt was committed. */
    uint64_t lost;
    /* Number of rows that this run cannot have written. With a script: number of rows that the run
     * cannot have written even if every insertion in doubt was committed and no removal in doubt
     * was committed. */
    uint64_t surplus;
    char reason[240]; /* reason why the state is VERIFICATION_FAILED */

    /* The members from here to is_shrunk are known only without a script. */
    uint64_t lost_at_most;     /* number of lost rows if all rows from before the run still exist */
    uint64_t in_doubt_arrived; /* rows in doubt that are in the table */
    uint64_t rejected_arrived; /* rejected rows that are in the table */
    bool is_shrunk; /* the table has fewer rows than before, because another client deleted rows */

    /* With a script, rows_before + added - taken = rows_after, except for rows in doubt. */
    /* numbers of rows that committed statements added and removed, warm-up included */
    uint64_t added, taken;
    /* numbers of rows that statements in doubt added and removed if they were committed */
    uint64_t added_in_doubt, taken_in_doubt;
};

/* Counts a session's outcome. `connected` is not changed: it is counted when sessions connect. */
void session_ledger_count(struct session_ledger *ledger, enum session_outcome outcome);

bool session_ledger_balances(const struct session_ledger *ledger);
bool row_ledger_balances(const struct row_ledger *ledger);

/* Adds the ledger *from to the ledger *into. Both have the same type, whose size is `bytes` and
 * whose members are all uint64_t. */
void ledger_add(void *into, const void *from, size_t bytes);

/* Computes the figures from the two counts of the table's rows and from the ledger. The rows that
 * the table gained count as acknowledged rows first, then as rows in doubt, then as rejected rows;
 * the rest is surplus. So a row in doubt, a rejected row or a row of another client can hide a lost
 * row. */
void verification_evaluate(struct verification *verification, const struct row_ledger *rows);

/* Computes `lost` and `surplus` of a script's table. */
void verification_evaluate_table(struct verification *verification);

enum cause_phase {
    CAUSE_THREAD,    /* the session's thread (ERROR_LIMIT) or the state of its script (ERROR_MEMORY)
                        could not be created */
    CAUSE_CONNECT,   /* the adapter's open, at the first connect of a session */
    CAUSE_HOST,      /* the adapter's open at one of several hosts, before another host was tried */
    CAUSE_APPEND,    /* the adapter's append_open, append_rows and append_close */
    CAUSE_BUSY,      /* a batch of which the server stored no row, and which was sent again */
    CAUSE_READ,      /* count(*) or the query of --read */
    CAUSE_RECONNECT, /* the adapter's open, after the connection was lost or closed by --churn */
    CAUSE_IDLE,      /* the check that an idle session is still connected */
    CAUSE_STATEMENT, /* a script's named statement, or begin, commit or rollback */
    CAUSE_SCRIPT,    /* an error in the script, which ends the run, or a failed check */
    CAUSE_PHASES     /* the number of phases */
};

struct cause {
    enum cause_phase phase;
    enum status status; /* REJECTED: the session went on; otherwise it ended or reconnected */
    const char *name;   /* name of the statement or transaction, borrowed; NULL = no name */
    struct error error; /* the first error of this cause */
    uint64_t count;
    int64_t first_ns; /* time of the first error, by the monotonic clock */
    int64_t last_ns;
};

enum {
    CAUSES_MAX = 64
};

/* The causes of failed sessions and batches. Errors with the same phase, name, status, kind, native
 * code and SQLSTATE share one entry, with their number, the times of the first and the last error,
 * and the text of the first error. Any thread may add a cause; a mutex guards the table. When the
 * table is full, errors that need a new entry are only counted in `others`. */
struct causes {
    pthread_mutex_t lock;
    size_t count;
    struct cause entries[CAUSES_MAX];
    uint64_t others;
};

void causes_init(struct causes *causes);
void causes_fini(struct causes *causes);
void causes_add(struct causes *causes, enum cause_phase phase, enum status status,
                const struct error *error, int64_t now_ns);
void causes_add_named(struct causes *causes, enum cause_phase phase, const char *name,
                      enum status status, const struct error *error, int64_t now_ns);
/* Adds `more` with its count and times. */
void causes_merge_cause(struct causes *causes, const struct cause *more);

/* Returns the most frequent cause of `phase`, or of all phases if `phase` is CAUSE_PHASES; NULL if
 * *causes has no such cause. No thread may add causes during the call. */
const struct cause *causes_most_frequent(const struct causes *causes, enum cause_phase phase);

/* Copies the causes in *from to *into while it holds the mutex of *from. *into must be initialised,
 * keeps its own mutex, and must not be in use by other threads. */
void causes_copy(struct causes *into, struct causes *from);

/* Forgets all causes. */
void causes_clear(struct causes *causes);

extern const char *const cause_phase_names[]; /* names of the phases: "connect", "append", ... */

/* A range of rows of one session, from `first` to `first` + `rows` - 1. Their batch was begun, but
 * not all of these rows were acknowledged. */
struct row_exception {
    uint64_t first;
    uint64_t rows;
    /* number of acknowledged rows; the server did not say which rows these are */
    uint64_t accepted;
    bool is_in_doubt; /* the connection died before the answer; false: the rows were rejected */
};

/* The result of one session: a row of sessions.csv. The rows that the session appends are numbered
 * from 0. Every row of a begun batch was acknowledged, except for the rows in `exceptions`. */
struct session_summary {
    unsigned index; /* number of the session, stored in column n2 of syslog_table */
    bool is_idle;
    bool is_of_lost_rank; /* the results of the process (rank) that ran the session were lost: all
                             counts are unknown, except rows.planned if it is not 0 */
    enum session_outcome outcome;
    struct row_ledger rows;
    uint64_t begun; /* number of rows of begun batches; if a connection was lost during a batch,
                       only the rows of this batch that were handed to the adapter */
    uint64_t batches;
    uint64_t drops;       /* number of times that the connection was lost */
    uint64_t reconnects;  /* number of times that the session reconnected after a loss */
    uint64_t churns;      /* number of times that the session reconnected for --churn */
    int64_t first_ack_ns; /* time from the start of the load (the gate's opening) to the first
                             acknowledgement; negative = no acknowledgement */
    int64_t last_ack_ns;
    int64_t worked_ns; /* time from the start of the load to the last answer; 0 = the session never
                          worked */
    /* The longest time without an acknowledged append: from the start of the load to the first
     * acknowledgement, between two acknowledgements, or from the last acknowledgement to the end of
     * a session that ended before its share was done. */
    int64_t longest_gap_ns;
    size_t exception_count;
    /* ranges of rows that were begun but not all acknowledged; owned */
    struct row_exception *exceptions;
    bool lacks_exceptions; /* the list is incomplete, because memory ran out */

    /* Figures of --verify rows. They are known if is_verified. */
    bool is_verified;
    uint64_t present;                /* number of acknowledged rows that were found in the table */
    uint64_t lost;                   /* number of acknowledged rows that were not found */
    uint64_t unacknowledged_present; /* number of rows in doubt and rejected rows that were found in
                                        the table */
    uint64_t duplicates;             /* number of further copies of rows that were already found */
};

extern const char *const session_outcome_names[]; /* names of the outcomes: "finished", ... */

/* Returns the acknowledged rows per second of the session's working time; negative if the session
 * did not work. */
double session_rows_per_s(const struct session_summary *session);

/* Frees a list and what its entries own. `list` may be NULL. */
void session_list_free(struct session_summary *list, size_t count);

/* How evenly the server treated the sessions: the slowest session, the fastest session, and the
 * longest pause of a session. Idle sessions and sessions that never began to work are excluded. */
struct fairness {
    /* number of sessions that worked; if it is 0, the other members are unknown */
    uint64_t sessions;
    unsigned slowest_session;
    unsigned fastest_session;
    double slowest_rows_per_s; /* rate of the slowest session: acknowledged rows per second of its
                                  working time */
    double fastest_rows_per_s;
    unsigned longest_gap_session;
    int64_t longest_gap_ns; /* longest time without an acknowledged append */
};

void fairness_compute(struct fairness *fairness, const struct session_summary *list, size_t count);

/* The result of reading back every row of a run (--verify rows). acknowledged = present + lost. If
 * the server acknowledged a number of rows of a batch without saying which rows, the rows of this
 * batch that were found count as acknowledged rows first, up to this number. */
struct row_verification {
    enum verification_state state; /* NONE: not requested; FAILED: the rows could not be read */
    uint64_t read;                 /* number of rows with this run's tag */
    uint64_t present;              /* number of acknowledged rows that were found in the table */
    uint64_t lost;                 /* number of acknowledged rows that were not found */
    uint64_t sessions_lost;        /* number of sessions with lost rows */
    uint64_t in_doubt_present;     /* number of rows in doubt that were found in the table */
    uint64_t rejected_present;     /* number of rejected rows that were found in the table */
    uint64_t duplicates;           /* number of further copies of rows that were already found */
    uint64_t foreign; /* number of rows with this run's tag that this run did not send */
    char reason[240]; /* reason why the state is FAILED */
};

/* The set of the rows that were found, with one bit for each row of each session. */
struct row_map;

/* Creates a map for the rows that the sessions began. Returns NULL when out of memory. */
struct row_map *row_map_create(const struct session_summary *sessions, size_t count);
void row_map_destroy(struct row_map *map); /* `map` may be NULL */
/* Notes one row that was read from the table. If the row was noted before, it is counted as a
 * duplicate in `sessions` and *verification. A row that no session has begun is counted as foreign
 * in *verification. */
void row_map_add(struct row_map *map, int64_t session, int64_t row,
                 struct session_summary *sessions, struct row_verification *verification);

/* Compares the rows found with the acknowledged rows: fills the remaining figures of --verify rows
 * in every session and in *verification. */
void row_map_evaluate(const struct row_map *map, struct session_summary *sessions,
                      struct row_verification *verification);

#endif
