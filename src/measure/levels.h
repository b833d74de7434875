/*
 * The result of a search for the greatest number of sessions: the levels that were tried, and the
 * figures computed from them.
 *
 * A level is a number of sessions that must be connected and append rows at the same time. The
 * search in src/load fills the levels, and the reports show them.
 */
#ifndef MEASURE_LEVELS_H
#define MEASURE_LEVELS_H

#include "measure/ledger.h"
#include "measure/limit.h"
#include "measure/recorder.h"
#include "measure/sampler.h"

enum level_outcome {
    LEVEL_HELD, /* all sessions were connected during the whole hold (the time of measurement), and
                   each of them appended rows */
    LEVEL_FAILED,     /* some sessions were not connected, or appended no rows */
    LEVEL_UNFINISHED, /* the search ended during the level */
};

/* The first reason for which a level failed. */
enum level_reason {
    LEVEL_NO_REASON,
    LEVEL_NO_THREAD,     /* this machine could not create a thread for a session */
    LEVEL_REFUSED,       /* a session's connect was refused */
    LEVEL_TIMED_OUT,     /* a session's connect was not answered in time */
    LEVEL_DROPPED,       /* a session lost its connection */
    LEVEL_APPEND_FAILED, /* an append or a read failed, or a transaction failed or is in doubt */
    LEVEL_NO_PROGRESS,   /* no append of a session was acknowledged */
    LEVEL_ENDED,         /* the search ended during the level; enum search_end has the reasons */
};

enum {
    LEVEL_PARTS_MAX = 64
};

struct level {
    unsigned sessions; /* number of sessions that must be up */
    enum level_outcome outcome;
    enum level_reason reason;
    int64_t reason_ns;  /* time from the start of the search until the reason was seen */
    int64_t start_ns;   /* time from the start of the search until this level began to add or remove
                           sessions */
    int64_t connect_ns; /* time from start_ns until all sessions were connected or had failed */
    int64_t hold_ns;    /* duration of the hold; 0 = no hold, because sessions were missing */
    uint64_t added;     /* number of sessions that connected for this level */
    uint64_t up;      /* number of sessions that were connected at the end of the level, or when the
                         level failed */
    uint64_t stalled; /* number of sessions without an acknowledged append in the hold */
    uint64_t failed; /* number of appends and reads that failed from the level's start to the hold's
                        end */

    /* `requested` equals `sessions`. `connected` includes sessions that were connected before the
     * level. `finished` counts the sessions that were still connected at the end of the level. */
    struct session_ledger ledger;

    /* Figures of the hold. If is_scripted is true, `rows`, rows_per_s and `append` describe the
     * script's committed transactions. */
    bool is_scripted;
    uint64_t rows;
    double rows_per_s; /* rows/s during the hold; negative = unknown, because there was no hold */
    double parts_rows_per_s[LEVEL_PARTS_MAX]; /* rows/s of each part of the hold: of its fifths, and
                                                 of each extension of the hold */
    unsigned part_count;
    double lowest_rows_per_s, highest_rows_per_s; /* rates of the slowest and the fastest part;
                                                     negative = unknown */
    struct recorder_latency append;
    struct recorder_latency connect; /* latency of the connects of the added sessions */
    struct cpu_shares cpu;           /* mean shares during the hold */
    int64_t server_memory_bytes;     /* highest server memory in the hold; negative = unknown */
    int64_t client_memory_bytes;

    /* The kind of wait that took the largest part of the calls' time during the hold. */
    struct level_wait {
        bool is_known; /* the wait is known: --waits was given, and at least one poll saw a call */
        size_t operation;
        enum wait_class class;
        double percent; /* share of the wait in the time of the operation's calls */
        uint64_t polls; /* number of polls in the hold */
    } wait;

    /* causes of a failed level; owned; NULL = no causes, or no memory for them */
    struct causes *causes;
    /* limits on this process's machine that a failed level hit; owned; NULL = the level did not
     * fail, or memory ran out */
    struct findings *findings;

    /* In a run of several processes (ranks): memory at the end of the level, on the machine whose
     * memory has room for the fewest sessions. */
    struct level_room {
        /* how many times the level's sessions fit into the memory of the machine; infinite:
         * unknown */
        double times;
        uint64_t used_bytes, limit_bytes;
        char machine[64];
    } room;
};

/* The reason why the search ended. */
enum search_end {
    SEARCH_GOES_ON,
    SEARCH_FOUND,       /* the next number of sessions was tried and failed */
    SEARCH_BOUND,       /* the level with the highest allowed number of sessions held */
    SEARCH_MEMORY,      /* the limit --max-memory was reached */
    SEARCH_TIME,        /* the limit --max-time was reached */
    SEARCH_ROWS,        /* the maximum number of rows to write, or of their bytes, was reached */
    SEARCH_INTERRUPTED, /* a signal arrived */
    SEARCH_SCRIPT,      /* the script had an error; the result contains it as a cause with the phase
                           CAUSE_SCRIPT */
    SEARCH_GONE,        /* all sessions were lost, and the server accepted no connection for 60 s */
    SEARCH_STUCK,       /* sessions did not disconnect in time */
    SEARCH_RANK_LOST,   /* one of the run's several processes (ranks) was lost */
};

/* The origin of the bound on sessions. */
enum search_bound {
    BOUND_USER,    /* the bound of --max-sessions */
    BOUND_CLIENT,  /* a limit of this machine, see bound_limit */
    BOUND_PROGRAM, /* the maximum number of sessions that this program supports */
};

struct search {
    size_t count;
    struct level *levels; /* levels in the order in which they were tried; owned */
    unsigned held;        /* number of sessions of the largest level that held; 0 = no level held */
    unsigned failed; /* number of sessions of the smallest failed level above `held`; 0 = no such
                        level */
    size_t failure;  /* index in `levels` of the level with `failed` sessions */
    enum search_end end;
    char end_note[200]; /* text with the values of the bound that ended the search; may be empty */
    char figures_note[240]; /* reason why rows/s and latencies may not describe the server; may be
                               empty */

    unsigned bound; /* maximum number of sessions to try */
    enum search_bound bound_by;
    /* the limit that set `bound`; valid only if bound_by is BOUND_CLIENT */
    struct limit bound_limit;
    uint64_t max_rows;      /* maximum number of rows to write; 0 = any number */
    bool is_bound_by_bytes; /* max_rows was computed from --max-bytes */
    double row_bytes;       /* mean size of the values of a row, in bytes */
    char removal[320]; /* commands that remove the rows that the search leaves in the database; "" =
                          the search leaves no rows */
    int64_t hold_ns;
    int64_t p99_bound_ns; /* highest allowed p99 latency of append; 0 = no bound */
    int64_t elapsed_ns;
};

#define SEARCH_KNEE_SHARE 0.05

/* Adds a level; returns NULL when out of memory. */
struct level *search_add_level(struct search *search);

/* Updates held, failed and failure after the caller has filled the level that was added last. */
void search_note_level(struct search *search);

void search_fini(struct search *search);

/* Sets the level's rows/s during the hold, and the lowest and the highest rows/s of its parts. */
void level_compute_rates(struct level *level);

/* Frees what the level owns; its pointers are invalid afterwards. */
void level_fini(struct level *level);

/* Returns the most frequent cause of a failed level; NULL when the level has no cause. */
const struct cause *level_main_cause(const struct level *level);

/* search_best returns the level with the highest rows/s among the levels that held. search_knee
 * returns the smallest level that held with at least (1 - SEARCH_KNEE_SHARE) times the rows/s of
 * the best level. Both functions return NULL when no level held. */
const struct level *search_best(const struct search *search);
const struct level *search_knee(const struct search *search);

/* Returns the level that makes the knee doubtful: a smaller level that held, and whose fastest part
 * was at least as fast as the slowest part of the knee. If there are several such levels, returns
 * the level with the fastest part. Returns NULL when no level makes the knee doubtful. */
const struct level *search_knee_rival(const struct search *search);

/* Sets *over to the smallest level whose append p99 exceeded the bound, or to NULL if no p99
 * exceeded the bound. Sets *within to the largest level below *over (any level if *over is NULL)
 * that held and whose p99 did not exceed the bound, or to NULL if the search has no such level. */
void search_p99(const struct search *search, const struct level **over,
                const struct level **within);

/* Returns by how many bytes per additional session the server's memory grew from the smallest level
 * that held to the largest level that held. The growth of the server's caches is included. Returns
 * a negative number if the growth is unknown or if the memory did not grow. */
double search_session_bytes(const struct search *search);

/* names of the outcomes: "held", "failed", "unfinished" */
extern const char *const level_outcome_names[];
/* names of the reasons: "refused", ...; "" for LEVEL_NO_REASON */
extern const char *const level_reason_names[];
/* names of the ends: "found", ...; "" for SEARCH_GOES_ON */
extern const char *const search_end_names[];
/* what stopped the search, as a text for the user: "by …" */
extern const char *const search_end_texts[];
/* names of the bounds: "user", "client", "program" */
extern const char *const search_bound_names[];

#endif
