/*
 * What a search for the most sessions came to: its levels, and what is read from them.
 *
 * A level is a number of sessions that were to be up and to append at the same time. Filled by
 * load/fleet, shown by the reports.
 */
#ifndef MEASURE_LEVELS_H
#define MEASURE_LEVELS_H

#include "measure/ledger.h"
#include "measure/limit.h"
#include "measure/recorder.h"
#include "measure/sampler.h"

enum level_outcome {
    LEVEL_HELD,       /* all were up for the whole hold, and each of them appended */
    LEVEL_FAILED,     /* not so */
    LEVEL_UNFINISHED, /* the search ended before that was known */
};

/* Why a level did not hold: the first reason that was seen. */
enum level_reason {
    LEVEL_NO_REASON,
    LEVEL_NO_THREAD,     /* a session got no thread: this machine's limit */
    LEVEL_REFUSED,       /* a session was not let in */
    LEVEL_TIMED_OUT,     /* a session got no answer to its connect in time */
    LEVEL_DROPPED,       /* a session that was up lost its connection */
    LEVEL_APPEND_FAILED, /* an append, or a read after one, was refused */
    LEVEL_NO_PROGRESS,   /* a session had no append acknowledged */
    LEVEL_STAYED,        /* sessions that were told to leave did not */
    LEVEL_ENDED,         /* unfinished: see search_end */
};

enum {
    LEVEL_PARTS_MAX = 64
};

struct level {
    unsigned sessions; /* that were to be up */
    enum level_outcome outcome;
    enum level_reason reason;
    int64_t reason_ns;  /* when it was seen, since the start of the search */
    int64_t start_ns;   /* since the start of the search: the first session is added, or leaves */
    int64_t connect_ns; /* from there until all were up, or had failed */
    int64_t hold_ns;    /* from there; 0 = no hold: not all came up */
    uint64_t added;     /* sessions that came up for this level */
    uint64_t up;        /* sessions up at its end, or when it was seen to fail */
    uint64_t stalled;   /* of these, without an acknowledged append in the hold */
    uint64_t failed;    /* appends and reads that failed from the level's start to the hold's end */

    /* Of this level: requested = sessions; `connected` has those that were up before, too;
     * `finished` are those that were still up at its end. */
    struct session_ledger ledger;

    /* During the hold. */
    bool is_scripted; /* rows, rows_per_s and append are of committed transactions */
    uint64_t rows;
    double rows_per_s;                        /* negative = unknown: no hold */
    double parts_rows_per_s[LEVEL_PARTS_MAX]; /* of its fifths, and of what was added to it */
    unsigned part_count;
    double lowest_rows_per_s, highest_rows_per_s; /* of these; negative = unknown */
    struct recorder_latency append;
    struct recorder_latency connect; /* of the sessions added */
    struct cpu_shares cpu;           /* mean */
    int64_t server_memory_bytes;     /* highest; negative = unknown */
    int64_t client_memory_bytes;

    struct causes *causes; /* owned; of a level that failed; NULL = none or no memory */

    /* With several ranks: how many times its sessions the memory has room for, at its end, of the
     * machine that has the least. */
    struct level_room {
        double times; /* infinite: not known */
        uint64_t used_bytes, limit_bytes;
        char machine[64];
    } room;
};

/* What ended the search. */
enum search_end {
    SEARCH_GOES_ON,
    SEARCH_FOUND,       /* the next number was tried and failed */
    SEARCH_BOUND,       /* every level held, up to the bound on sessions */
    SEARCH_MEMORY,      /* the bound on memory */
    SEARCH_TIME,        /* the bound on time */
    SEARCH_ROWS,        /* the bound on rows written, or on their bytes */
    SEARCH_INTERRUPTED, /* a signal */
    SEARCH_SCRIPT,      /* a mistake in the script: CAUSE_SCRIPT of the result says which */
    SEARCH_GONE,        /* the server was gone and did not come back */
    SEARCH_STUCK,       /* sessions did not leave */
    SEARCH_RANK_LOST,   /* of several ranks one */
};

/* Who set the bound on sessions. */
enum search_bound {
    BOUND_USER,    /* --max-sessions */
    BOUND_CLIENT,  /* a limit of this machine: see bound_limit */
    BOUND_PROGRAM, /* the most sessions that this program can have */
};

struct result;

struct search {
    size_t count;
    struct level *levels; /* owned, in the order in which they were tried */
    unsigned held;        /* highest level that held; 0 = none */
    unsigned failed;      /* lowest level above it that failed; 0 = none did */
    size_t failure;       /* its index in `levels` */
    enum search_end end;
    char end_note[200];     /* figures of the bound that ended the search; may be empty */
    char figures_note[240]; /* why rows/s and latencies are not the server's; may be empty */

    unsigned bound; /* on sessions */
    enum search_bound bound_by;
    struct limit bound_limit; /* with BOUND_CLIENT */
    uint64_t max_rows;        /* that were to be written; 0 = any number */
    bool is_bound_by_bytes;   /* max_rows follows from --max-bytes */
    double row_bytes;         /* mean bytes of the values of a row */
    char removal[320];        /* how to be rid of the rows that stay; "" = none stay */
    int64_t hold_ns;
    int64_t p99_bound_ns; /* 0 = none */
    int64_t elapsed_ns;
};

#define SEARCH_KNEE_SHARE 0.05

/* Adds a level; NULL: no memory. The caller fills it, then notes it: held, failed and failure. */
struct level *search_add_level(struct search *search);

/* Its rows/s during the hold, and the lowest and highest of its parts. */
void level_find_rates(struct level *level);
void search_note_level(struct search *search);
void search_fini(struct search *search);
void level_fini(struct level *level);

/* The most frequent cause of a level that failed; NULL: there is none. */
const struct cause *level_main_cause(const struct level *level);

/* Of the levels that held the one with the most rows/s, and the one with the fewest sessions within
 * SEARCH_KNEE_SHARE of it; NULL: none held. */
const struct level *search_best(const struct search *search);
const struct level *search_knee(const struct search *search);

/* Why the knee may be noise: of the levels that held with fewer sessions the one with the fastest
 * part, where that part was no slower than the slowest of the knee's. NULL: there is none. */
const struct level *search_knee_rival(const struct search *search);

/* The lowest level whose append p99 was over the bound, and the highest level below it that held
 * within the bound; each NULL when there is none. */
void search_p99(const struct search *search, const struct level **over,
                const struct level **within);

/* By how many bytes the server's memory grew with each further session, from the lowest level that
 * held to the highest; what its caches grew by meanwhile is part of it. Negative = unknown, or not
 * grown. */
double search_session_bytes(const struct search *search);

extern const char *const level_outcome_names[]; /* "held", "failed", "unfinished" */
extern const char *const level_reason_names[];  /* "refused", ...; "" for none */
extern const char *const search_end_names[];    /* "found", ...; "" while it goes on */
extern const char *const search_bound_names[];  /* "user", "client", "program" */

/* Sets verdict, verdict_reason and PROBLEM_RUN of a search from the rest, and concludes; in
 * verdict.c. A limit that was found is a result, whoever's it is: exit code 0. So is a bound of the
 * user that was reached when some level had held. Nothing held: 3 or 4, by whose limit it was. Lost
 * or uncounted rows: 1. A server that is gone: 4. A signal: 130. */
void search_judge(const struct search *search, struct result *result, bool is_local,
                  bool was_interrupted);

#endif
