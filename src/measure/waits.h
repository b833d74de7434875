/*
 * The waits of the sessions' calls at the server (--waits).
 *
 * One connection polls the server. Each poll notes, for every session whose call is under way, the
 * operation of the call and the wait that the server shows for the session. The share of a wait in
 * the time of an operation's calls is the number of sessions seen in the wait, divided by the
 * number of sessions seen in a call of the operation. The weight of a poll in these numbers is the
 * time since the previous poll.
 *
 * The server answers at an unknown moment between the beginning and the end of a poll. So this
 * program reads at both moments which calls are under way, and each reading counts for one half.
 *
 * The sessions of one poll are not independent: at one instant all of them may wait for the same
 * lock. So confidence intervals are computed from batches (groups of successive polls), see
 * statistics_share. When all WAIT_BATCHES batches are full, each pair of batches is joined into one
 * batch, and WAIT_BATCHES / 2 batches remain.
 *
 * Any thread may call the functions whose struct waits is not const, because they take a lock. The
 * other functions may be called only after the polls have ended, except waits_class, which does not
 * read the polls.
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
    WAIT_POLLS_MIN = 100, /* minimum number of polls for confidence intervals and waits_answer */
    WAIT_EVENTS_MAX = 96, /* maximum number of different waits; all further waits count as one */
    WAIT_TYPE_BYTES = 24,
    WAIT_EVENT_BYTES = 64,
    WAIT_ANSWER_BYTES = 320,
    WAIT_COUNTERS_MAX = 400,
    WAIT_BLOCKERS_MAX = 12 /* maximum number of different blockers; others are only counted */
};

/* Texts for a class of waits: its name ("log write"), a noun for waits_answer, and advice on how to
 * reduce these waits. */
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
    uint64_t server_session; /* the server's number for the session; 0: this entry is for all
                                sessions without their own entry */
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

/* Allocates memory for polls. `sessions` is the maximum number of sessions in a poll. Returns NULL
 * when out of memory. */
struct waits *waits_create(unsigned sessions, size_t operations,
                           const struct wait_meaning *meanings);
void waits_destroy(struct waits *waits); /* `waits` may be NULL */

/* Copies the results of the polls so far. Functions whose struct waits is const can then read the
 * copy while polls continue. No poll may be added to the copy. Returns NULL when out of memory. */
struct waits *waits_copy(struct waits *waits);

void waits_add_poll(struct waits *waits, const struct wait_poll *poll);

/* Adds cost_ns, CPU time of the server, to the cost of the latest poll. */
void waits_add_cost(struct waits *waits, int64_t cost_ns);

/* Returns whether the server's session belonged to this program at the latest poll. */
bool waits_is_ours(struct waits *waits, uint64_t server_session);

/* Returns the class of the wait in *seen. */
enum wait_class waits_class(const struct waits *waits, const struct wait_seen *seen);

/* A session at the server that held a lock for which one of this program's sessions waited. */
struct wait_blocker {
    bool is_ours;            /* the blocker is one of this program's own sessions */
    uint64_t server_session; /* the server's number for the session; if several blockers count as
                                one, the number of the first */
    char who[64];            /* name of the application or the user */
    char state[32]; /* the session's state as the database names it: "idle in transaction" */
    char sql[200];  /* the session's statement; "" if the user did not ask for statements */
    uint64_t seen;  /* number of times that the blocker was seen */
};

/* Adds a blocker that was seen. Blockers with the same is_ours, name, state and statement count as
 * one. */
void waits_add_blocker(struct waits *waits, const struct wait_blocker *blocker);

/* Returns the blockers, the most frequent first, and sets *count to their number. Sets *more to the
 * number of times that further blockers were seen, for which there was no room. */
const struct wait_blocker *waits_blockers(const struct waits *waits, size_t *count, uint64_t *more);

/* A counter of the server, with its values before and after the run. */
struct wait_counter {
    char name[96];
    double before, after;
    bool has_before, has_after;
};

/* Notes the value of a counter. Does nothing if there is no room for a new counter. */
void waits_note_counter(struct waits *waits, const char *name, double value, bool is_after);

/* Returns the next counter that grew during the run, or NULL after the last one. The caller sets
 * *at to 0 before the first call. */
const struct wait_counter *waits_next_counter(const struct waits *waits, size_t *at);

/* Adds `time` to the time that queries of an operation spent in the wait `event`. If `event` is "",
 * adds `time` to the whole time of these queries. Does nothing if the polls have seen no query of
 * the operation. */
void waits_note_time(struct waits *waits, size_t operation, const char *event, double time);

/* Divides the wait WAIT_QUERY of each operation among the waits that waits_note_time noted, in
 * proportion to their times. The rest becomes WAIT_REST. The rows of waits_take_interval still have
 * WAIT_QUERY. */
void waits_divide(struct waits *waits);

/* Notes that data are hidden because a privilege is missing. `missing` is a static text that names
 * the data. */
void waits_note_missing(struct waits *waits, const char *missing);

/* Notes that a poll failed, and why. */
void waits_add_failure(struct waits *waits, const char *why);

/* A row of waits.csv: how many calls of one operation were in one wait during an interval. */
struct wait_row {
    int64_t start_ns, end_ns; /* bounds of the interval */
    size_t operation;
    const struct wait_event *event;
    double in_flight; /* mean number of sessions in a call of the operation */
    double waiting;   /* mean number of sessions in a call of the operation that had this wait */
    unsigned polls;
};

/* Calls `take` with one row for each wait that an operation had since the previous call of
 * waits_take_interval. If no session was in a call, the rows have zeros. */
void waits_take_interval(struct waits *waits, int64_t start_ns, int64_t end_ns,
                         void (*take)(void *context, const struct wait_row *row), void *context);

/* Returns the mean number of sessions that were in a call of the operation and in a wait of the
 * class, in the latest interval with polls; -1 if no poll has seen such a wait yet. */
double waits_latest(struct waits *waits, size_t operation, enum wait_class class);

/* Figures about the polls of a run. */
struct wait_polls {
    uint64_t polls, failures;
    double period_s;  /* mean time between two polls */
    double answer_ms; /* mean duration of a poll */
    bool is_cost_known;
    double cost_ms;        /* CPU time of the server for a poll */
    double server_percent; /* CPU time of the server for all polls, in percent of one CPU */
    double unseen_percent; /* percentage of the sessions in a call that the server did not show */
    char why[200];         /* why the first failed poll failed; "" if no poll failed */
    const char *missing;   /* data that are hidden because a privilege is missing; "" = no data */
};
struct wait_polls waits_polls(const struct waits *waits);

/* A line of the report: the share of the time of an operation's calls that was spent in waits of
 * one class. */
struct wait_share {
    size_t operation;
    enum wait_class class;
    double in_flight; /* mean number of sessions in a call of the operation */
    /* the share, 0 to 1; if has_interval is false, only share.share is known */
    struct statistics_share share;
    bool has_interval;
    char events[200];  /* waits of the class with their shares: "LWLock:WALWrite 41 %, IO:WALSync 21
                          %" */
    char largest[104]; /* the first wait in `events` */
    bool is_first;     /* this is the first share of the operation that waits_next_share returned */
};

/* Fills *share with the next share of an operation and class that is above 0. The order is by
 * number of the operation and, within an operation, by share, the largest first. The caller sets
 * *at to 0 before the first call. Returns false after the last share. */
bool waits_next_share(const struct waits *waits, size_t *at, struct wait_share *share);

/* Fills *share with the share of a class of waits in the time of an operation's calls. Returns
 * false if no poll saw a call of the operation. */
bool waits_share(const struct waits *waits, size_t operation, enum wait_class class,
                 struct wait_share *share);

/* Returns the share of the time of an operation's calls that was spent in those waits of a class
 * whose type begins with `type` ("" for all waits of the class); 0 if no poll saw a call of the
 * operation. Takes much less time than waits_share. */
double waits_type_share(const struct waits *waits, size_t operation, enum wait_class class,
                        const char *type);

/* Finds the operation and class with the most time in calls. Returns false if no call was seen. */
bool waits_largest(const struct waits *waits, struct wait_share *largest);

/* Removes the shares of all polls so far. Keeps failed polls, blockers and counters. */
void waits_reset(struct waits *waits);

/* Writes a sentence about the operation and class with the most time in calls, and what helps; ""
 * if there are too few polls. */
void waits_answer(const struct waits *waits, const struct operation_list *operations,
                  char answer[WAIT_ANSWER_BYTES]);

#endif
