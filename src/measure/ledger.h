/*
 * The accounts of a run: the ledgers, what each session came to, why something failed, and what the
 * table says afterwards.
 *
 * The ledgers of sessions, rows and transactions must balance:
 *
 *   sessions: requested = connected + refused + timed_out + not_started
 *             connected = finished + stopped + dropped
 *   rows:     planned   = acknowledged + rejected + in_doubt + not_sent
 *
 * `stopped` sessions ended early because the run was told to end (a signal, or --on-drop stop),
 * were cut because the server did not answer when the run ended, or had no connection then and
 * waited for their next try. In doubt = the connection died between sending and the answer. Ledgers
 * of several machines are merged by addition.
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
 * X(member, FIGURE): an account of a ledger, and the figure that shows it. The accounts of sessions
 * that say how a session ended have two words more: X(member, FIGURE, ID, total), with SESSION_ID
 * the outcome, and `total` the account that they are a part of.
 *
 * Batches, with --rate: those whose moment came before the run ended. due = sent + not_sent: a
 * batch that a lost connection cuts in two counts as two.
 */
/* clang-format off */
#define SESSION_OUTCOMES(X) \
    /* no thread could be had, or the run ended before */ \
    X(not_started, SESSIONS_NOT_STARTED, NOT_STARTED, requested) \
    /* open failed in any way but a timeout */ \
    X(refused, SESSIONS_REFUSED, REFUSED, requested) \
    /* open got no answer in time */ \
    X(timed_out, SESSIONS_TIMED_OUT, TIMED_OUT, requested) \
    /* appended the whole share, or until the time was over */ \
    X(finished, SESSIONS_FINISHED, FINISHED, connected) \
    /* ended early on request, or without answer or connection at the end */ \
    X(stopped, SESSIONS_STOPPED, STOPPED, connected) \
    /* lost the connection, or had a fatal error */ \
    X(dropped, SESSIONS_DROPPED, DROPPED, connected)
#define SESSION_LEDGER(X, OUTCOME) \
    X(requested, SESSIONS_REQUESTED) \
    X(connected, SESSIONS_CONNECTED) \
    SESSION_OUTCOMES(OUTCOME)
#define ROW_LEDGER(X) \
    X(planned, ROWS_PLANNED) /* with a duration: rows that were begun */ \
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
 * A script's transactions are counted in the recorder only (figures/figures.h), once each, however
 * often they were tried; those of the warm-up apart:
 *
 *   begun  = committed + rolled back + failed + in doubt + unfinished
 *   tries  = begun + retries
 *   failed = exhausted + refused + lost
 *   due    = begun + skipped + not begun, with --rate
 *
 * In doubt = the connection died between sending COMMIT, or a write that is a transaction of its
 * own, and the answer; one that was lost before that has failed.
 */
bool transactions_balance(const uint64_t counters[RECORDER_COUNTERS]);

/* The same identities of one transaction by its name, and of one statement. */
bool operation_counts_balance(const uint64_t counts[OPERATION_COUNTS]);

/* Tries after the first, whatever made them necessary. */
uint64_t transactions_retries(const uint64_t counters[RECORDER_COUNTERS]);

/* What count(*) before and after the run says about a table. */
enum verification_state {
    VERIFICATION_NONE,   /* not asked for, or the adapter keeps no rows */
    VERIFICATION_FAILED, /* the count after the run could not be had */
    VERIFICATION_DONE,
};

struct verification {
    enum verification_state state; /* of a script's table also NONE: nothing was to change it */
    uint64_t rows_before;
    uint64_t rows_after;
    uint64_t lost;    /* acknowledged and not there, were all that are there of this run; of a
                         script's table, were all in doubt taken and none of them added */
    uint64_t surplus; /* more than this run can have written: another writer's; of a script's table,
                         were none in doubt taken and all of them added */
    char reason[240]; /* VERIFICATION_FAILED: why */

    /* of a run without a script: */
    uint64_t lost_at_most;     /* were all that were there before still there */
    uint64_t in_doubt_arrived; /* rows in doubt that are there */
    uint64_t rejected_arrived; /* rejected rows that are there */
    bool is_shrunk;            /* fewer rows than before: somebody deleted */

    /* of a script's table: before + added - taken = after, but for what is in doubt */
    uint64_t added, taken;                   /* by what was committed, warm-up included */
    uint64_t added_in_doubt, taken_in_doubt; /* by what may have been */
};

/* Counts a session that ended so; `connected` is counted when sessions connect. */
void session_ledger_count(struct session_ledger *ledger, enum session_outcome outcome);

bool session_ledger_balances(const struct session_ledger *ledger);
bool row_ledger_balances(const struct row_ledger *ledger);

/* Adds a ledger to another of its kind, of so many bytes: all members are uint64_t. */
void ledger_add(void *into, const void *from, size_t bytes);

/* Fills the figures from the two counts and the ledger. Rows that came are credited to acknowledged
 * ones first, then to those in doubt, then to rejected ones, the rest is surplus; so one that is
 * lost may hide behind one of another kind or of another writer. */
void verification_settle(struct verification *verification, const struct row_ledger *rows);

/* The same of a script's table: `lost` and `surplus`. */
void verification_settle_table(struct verification *verification);

enum cause_phase {
    CAUSE_THREAD,    /* the session's thread could not be created */
    CAUSE_CONNECT,   /* open */
    CAUSE_HOST,      /* open at one of several hosts, before another one was tried */
    CAUSE_APPEND,    /* append_open, append_rows, append_close */
    CAUSE_BUSY,      /* an append that was put off: nothing of it was kept, and it was sent again */
    CAUSE_READ,      /* count or query */
    CAUSE_RECONNECT, /* open, after the connection was lost or closed by --churn */
    CAUSE_IDLE,      /* the proof that an idle session is still connected */
    CAUSE_STATEMENT, /* of a script, with its name; begin, commit and rollback, too */
    CAUSE_SCRIPT,    /* a mistake in the script, which ends the run; and checks that failed */
    CAUSE_PHASES     /* how many there are */
};

struct cause {
    enum cause_phase phase;
    enum status status; /* REJECTED: the session went on; else it ended, or had to reconnect */
    const char *name;   /* of the statement or transaction, borrowed; NULL: none */
    struct error error; /* of the first one */
    uint64_t count;
    int64_t first_ns; /* monotonic */
    int64_t last_ns;
};

enum {
    CAUSES_MAX = 64
};

/* Why sessions and batches failed, grouped: an entry for each (where it happened, name, status,
 * kind, native code, SQLSTATE) with a count, the first and the last time and the first text. Any
 * thread may add; a mutex guards the table. When it is full, further causes are counted in
 * `others`. */
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
void causes_add_cause(struct causes *causes, const struct cause *more); /* all that it counts */

/* Returns the most frequent cause of `phase`, of any phase when it is CAUSE_PHASES; NULL: there is
 * none. No thread may be adding causes. */
const struct cause *causes_most_frequent(const struct causes *causes, enum cause_phase phase);

/* Makes `into`, which is initialised and which no other thread uses, what `from` is at one moment;
 * each keeps its own mutex. */
void causes_copy(struct causes *into, struct causes *from);

extern const char *const cause_phase_names[]; /* "connect", "append", ... */

/* Rows first … first+rows-1 that were begun but not all acknowledged. */
struct row_exception {
    uint64_t first;
    uint64_t rows;
    uint64_t accepted; /* of these, acknowledged; the server did not say which */
    bool is_in_doubt;  /* the connection died before the answer; else they were rejected */
};

/* What one session came to: a row of sessions.csv. Its rows are numbered from 0. Every row of a
 * batch that was begun was acknowledged but for those in `exceptions`. */
struct session_summary {
    unsigned index; /* n2 of syslog_table */
    bool is_idle;
    enum session_outcome outcome;
    struct row_ledger rows;
    uint64_t begun; /* rows of batches that were begun; of one that a lost connection cut, those
                       that were handed over */
    uint64_t batches;
    uint64_t drops;       /* times that the connection was lost */
    uint64_t reconnects;  /* times that it reconnected after a loss */
    uint64_t churns;      /* times that it reconnected for --churn */
    int64_t first_ack_ns; /* since the gate opened; negative = none */
    int64_t last_ack_ns;
    int64_t worked_ns;      /* gate opened -> its last answer; 0 = it did not work */
    int64_t longest_gap_ns; /* between two acknowledged appends, the gate and the first, or the last
                               and the end of a session that ended before its share was done */
    size_t exception_count;
    struct row_exception *exceptions; /* owned */
    bool lacks_exceptions;            /* memory ran out for one */

    /* With --verify rows, when `is_verified`. */
    bool is_verified;
    uint64_t present;                /* acknowledged rows that are there */
    uint64_t lost;                   /* acknowledged rows that are not */
    uint64_t unacknowledged_present; /* rows in doubt or rejected that are there */
    uint64_t duplicates;             /* further rows of an identity that is there already */
};

extern const char *const session_outcome_names[]; /* "finished", ... */

/* Acknowledged rows a second of its own working time; negative = it did not work. */
double session_rows_per_s(const struct session_summary *session);

/* Frees a list with what its entries own; takes NULL. */
void session_list_free(struct session_summary *list, size_t count);

/* How evenly the server treated the sessions: who was slowest and fastest, and who stood still.
 * Idle sessions do not count, nor do those that did not come to work. */
struct fairness {
    uint64_t sessions; /* that worked; the rest is known when there is one */
    unsigned slowest_session;
    unsigned fastest_session;
    double slowest_rows_per_s; /* acknowledged, each over its own working time */
    double fastest_rows_per_s;
    unsigned longest_gap_session;
    int64_t longest_gap_ns; /* longest time without an acknowledged append */
};

void fairness_find(struct fairness *fairness, const struct session_summary *list, size_t count);

/* What reading every row of a run back says about each: --verify rows. acknowledged = present +
 * lost. Where the server acknowledged some rows of a batch without saying which, as many of those
 * that are there are taken for the acknowledged ones. */
struct row_verification {
    enum verification_state state; /* NONE: not asked for; FAILED: the rows could not be read */
    uint64_t read;                 /* rows with this run's tag */
    uint64_t present;              /* acknowledged rows that are there */
    uint64_t lost;                 /* acknowledged rows that are not */
    uint64_t sessions_lost;        /* sessions that have lost some */
    uint64_t in_doubt_present;     /* rows in doubt that are there */
    uint64_t rejected_present;     /* rows that were refused, and are there */
    uint64_t duplicates;           /* further rows of an identity that is there already */
    uint64_t foreign;              /* rows with this run's tag that it did not send */
    char reason[240];              /* FAILED: why */
};

/* Which rows of all sessions were found; one bit each. */
struct row_map;

/* For the rows that the sessions began. NULL: no memory. */
struct row_map *row_map_create(const struct session_summary *sessions, size_t count);
void row_map_destroy(struct row_map *map); /* takes NULL */
/* Notes one row that was read; sessions[i].duplicates and *verification count what has no bit. */
void row_map_add(struct row_map *map, int64_t session, int64_t row,
                 struct session_summary *sessions, struct row_verification *verification);

/* Settles what was found against what was acknowledged: fills the rest of every session and of
 * *verification. */
void row_map_settle(const struct row_map *map, struct session_summary *sessions,
                    struct row_verification *verification);

#endif
