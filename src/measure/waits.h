/*
 * The waits of the sessions' calls at the server (--waits).
 *
 * One connection polls the server. For every session whose call is under way, each poll sees the
 * operation of the call and the wait of the session at the server. The share of a wait is a part of
 * the time in which calls of the operation were under way: the number of sessions seen in the wait,
 * divided by the number of sessions seen in a call of the operation. Each poll is weighted by the
 * time since the previous poll.
 *
 * The server answers at an unknown moment between the beginning and the end of a poll. So the calls
 * of the sessions are read at the beginning and at the end, and each reading counts for one half.
 *
 * The sessions of one poll are not independent: at one instant all of them may wait for the same
 * lock. So confidence intervals are computed from batches of successive polls (statistics_share).
 * When all WAIT_BATCHES batches are full, each pair of batches is joined into one batch, so
 * WAIT_BATCHES / 2 batches remain.
 *
 * Any thread may call the functions whose struct waits is not const: they take a lock. The other
 * functions may be called only after the polls have ended, except waits_class, which does not read
 * the polls.
 */
#ifndef MEASURE_WAITS_H
#define MEASURE_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "figures/figures.h"
#include "figures/statistics.h"
#include "measure/recorder.h"

enum {
    WAIT_BATCHES = 40,
    WAIT_POLLS_MIN = 100, /* fewest polls for confidence intervals and for an answer */
    WAIT_EVENTS_MAX = 96, /* most different waits; further waits count as one */
    WAIT_TYPE_BYTES = 24,
    WAIT_EVENT_BYTES = 64,
    WAIT_ANSWER_BYTES = 320,
    WAIT_COUNTERS_MAX = 400,
    WAIT_BLOCKERS_MAX = 12 /* most different blockers; further blockers are only counted */
};

/* Words for a class of waits: its name ("log write"), the noun in the answer, and advice on what
 * helps against the waits. */
struct wait_class_text {
    const char *name, *noun, *advice;
};
extern const struct wait_class_text wait_class_texts[WAIT_CLASSES];

/* A wait as the database names it. */
struct wait_event {
    char type[WAIT_TYPE_BYTES], event[WAIT_EVENT_BYTES];
    enum wait_class class;
};

/* A session of the server in one poll. */
struct wait_seen {
    uint64_t server_session; /* 0: the entry is for all sessions that have no entry of their own */
    bool is_at_work;
    bool is_ready; /* the session is not at work, but its process waits for a CPU or uses one */
    char type[WAIT_TYPE_BYTES], event[WAIT_EVENT_BYTES]; /* type and event of the session's wait; ""
                                                            if the session does not wait */
};

struct wait_poll {
    double weight_s;    /* time since the previous poll */
    int64_t elapsed_ns; /* duration of the poll */
    int64_t cost_ns;    /* CPU time of the server; -1: unknown */
    unsigned sessions;
    const struct recorder_call *before, *after; /* one entry for each session */
    const struct wait_seen *seen;
    size_t seen_count;
};

struct waits;

/* Makes room for polls; `sessions` is the largest number of sessions in a poll. Returns NULL when
 * out of memory. */
struct waits *waits_create(unsigned sessions, size_t operations,
                           const struct wait_meaning *meanings);
void waits_destroy(struct waits *waits); /* `waits` may be NULL */

/* Copies the polls so far, so that functions whose struct waits is const can read the copy while
 * polls go on. No poll may be added to the copy. Returns NULL when out of memory. */
struct waits *waits_copy(struct waits *waits);

void waits_add_poll(struct waits *waits, const struct wait_poll *poll);

/* Adds CPU time of the server to the cost of the latest poll. */
void waits_add_cost(struct waits *waits, int64_t cost_ns);

/* Returns whether a session of the server is one of append's sessions, as of the latest poll. */
bool waits_is_ours(struct waits *waits, uint64_t server_session);

/* Returns the class of the wait of a session of the server. */
enum wait_class waits_class(const struct waits *waits, const struct wait_seen *seen);

/* A session that held a lock for which one of append's sessions waited. */
struct wait_blocker {
    bool is_ours;            /* the blocker is one of append's own sessions */
    uint64_t server_session; /* the server's number for the session; for several blockers that are
                                alike, the number of the first blocker */
    char who[64];            /* name of the application or the user */
    char state[32]; /* the session's state as the database names it: "idle in transaction" */
    char sql[200];  /* the session's statement; "" unless the user wants to see it */
    uint64_t seen;  /* number of times that the blocker was seen */
};

/* Adds a blocker that was seen. Blockers of the same kind, name, state and statement count as
 * one. */
void waits_add_blocker(struct waits *waits, const struct wait_blocker *blocker);

/* Returns the blockers, the most frequent first, and sets *count to their number. Sets *more to the
 * number of times that blockers without an entry were seen. */
const struct wait_blocker *waits_blockers(const struct waits *waits, size_t *count, uint64_t *more);

/* A count that the server keeps, before and after the run. */
struct wait_counter {
    char name[96];
    double before, after;
    bool has_before, has_after;
};

/* Notes a count. A count for which there is no room is left out. */
void waits_note_counter(struct waits *waits, const char *name, double value, bool is_after);

/* Returns the next count that grew during the run, or NULL after the last count. The caller sets
 * *at to 0 before the first call. */
const struct wait_counter *waits_next_counter(const struct waits *waits, size_t *at);

/* Adds `time` to the time that queries of an operation spent in the wait `event`. If `event` is "",
 * adds `time` to the whole time of these queries. Does nothing if the polls have seen no query of
 * the operation. */
void waits_note_time(struct waits *waits, size_t operation, const char *event, double time);

/* Divides the wait WAIT_QUERY of each operation in proportion to the noted times. Time outside the
 * noted waits becomes WAIT_REST. The rows of intervals keep WAIT_QUERY. */
void waits_divide(struct waits *waits);

/* Notes that a missing privilege hides data. `missing` is a static text that names the data. */
void waits_note_missing(struct waits *waits, const char *missing);

/* Notes that a poll failed, and why. */
void waits_add_failure(struct waits *waits, const char *why);

/* The calls of one operation that had one wait, in an interval: a row of waits.csv. */
struct wait_row {
    int64_t start_ns, end_ns; /* bounds of the interval */
    size_t operation;
    const struct wait_event *event;
    double in_flight; /* mean number of sessions in a call of the operation */
    double waiting;   /* mean number of sessions in a call of the operation that had this wait */
    unsigned polls;
};

/* Calls `take` with a row for each operation and each of its waits since the previous call of this
 * function. */
void waits_take_interval(struct waits *waits, int64_t start_ns, int64_t end_ns,
                         void (*take)(void *context, const struct wait_row *row), void *context);

/* Returns the mean number of sessions that were in a call of the operation and waited for something
 * of the class, in the latest interval with polls; -1 if no poll has seen such a call yet. */
double waits_latest(struct waits *waits, size_t operation, enum wait_class class);

/* The polls of a run. */
struct wait_polls {
    uint64_t polls, failures;
    double period_s;  /* mean time between two polls */
    double answer_ms; /* mean duration of a poll */
    bool is_cost_known;
    double cost_ms;        /* CPU time of the server for a poll */
    double server_percent; /* CPU time of the server for polls, as a share of one CPU */
    double unseen_percent; /* percentage of the sessions in a call that were not found among the
                              server's sessions */
    char why[200];         /* reason why the first failed poll failed; "" without a failed poll */
    const char *missing;   /* data that a missing privilege hides; "" = no data is hidden */
};
struct wait_polls waits_polls(const struct waits *waits);

/* How much of the time in an operation's calls was spent in waits of one class: a line of the
 * report. */
struct wait_share {
    size_t operation;
    enum wait_class class;
    double in_flight; /* mean number of sessions in a call of the operation */
    /* the share, 0 to 1; without has_interval only `share` is known */
    struct statistics_share share;
    bool has_interval;
    char events[200];  /* waits of the class with their shares: "LWLock:WALWrite 41 %, IO:WALSync 21
                          %" */
    char largest[104]; /* the first wait in `events` */
    bool is_first;     /* this is the first share of the operation that waits_next_share returned */
};

/* Returns the next share of an operation and class that is above 0. The shares are ordered by
 * number of the operation and then by size, the largest first. The caller sets *at to 0 before the
 * first call. Returns false after the last share. */
bool waits_next_share(const struct waits *waits, size_t *at, struct wait_share *share);

/* Fills *share with the share of a class of waits in the time of an operation's calls. Returns
 * false if the operation was never seen. */
bool waits_share(const struct waits *waits, size_t operation, enum wait_class class,
                 struct wait_share *share);

/* Returns the share of an operation's time that went to those waits of a class whose type begins
 * with `type` ("" for the whole class); 0 if the operation was never seen. Much cheaper than
 * waits_share. */
double waits_type_share(const struct waits *waits, size_t operation, enum wait_class class,
                        const char *type);

/* Finds the operation and class with the most time in calls. Returns false if no call was seen. */
bool waits_largest(const struct waits *waits, struct wait_share *largest);

/* Forgets the shares of all polls so far; failed polls, blockers and counts stay. */
void waits_reset(struct waits *waits);

/* Writes a sentence about the operation and class with the most time in calls, and what helps; ""
 * if there are too few polls. */
void waits_answer(const struct waits *waits, const struct operation_list *operations,
                  char answer[WAIT_ANSWER_BYTES]);

#endif
