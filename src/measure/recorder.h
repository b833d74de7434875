/*
 * What sessions count while they run.
 *
 * The sessions share a few shards (a histogram for each of 14,000 sessions would take hundreds of
 * MiB). Shards are cache-line aligned and made of relaxed atomics: a session adds to the shard of
 * its number, any thread may take a snapshot at any time. Snapshots are cumulative; an interval is
 * the difference of two. A snapshot taken during the run may be torn between two counters of one
 * batch; after the sessions are joined it is exact.
 *
 * Beside the shards each session has a cache line of its own, which only it writes, with the time
 * of its latest progress: who stands still cannot be told from sums.
 */
#ifndef MEASURE_RECORDER_H
#define MEASURE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/error.h"
#include "measure/histogram.h"

enum recorder_histogram {
    RECORDER_CONNECT,   /* a session's first open called -> returned, successful ones */
    RECORDER_APPEND,    /* append_open called -> append_close returned, acknowledged ones */
    RECORDER_RESPONSE,  /* intended start -> append_close returned, acknowledged ones, only with a
                           rate; -> given up where no answer came, which is a lower bound */
    RECORDER_COUNT,     /* count or query called -> returned, successful ones */
    RECORDER_RECONNECT, /* a later open called -> returned, successful ones: after a loss, and with
                           --churn. Apart from the first, which all sessions make at once */
    RECORDER_RECOVER,   /* loss of a connection noticed -> the session can append again: pauses and
                           failed tries included */
    RECORDER_HISTOGRAMS,
};

enum recorder_counter {
    RECORDER_SESSIONS_CONNECTED, /* sessions that ever connected */
    RECORDER_SESSIONS_ENDED,     /* of these, ended for whatever reason */
    RECORDER_SESSIONS_DROPPED,   /* of these, by a lost connection or a fatal error */
    RECORDER_SESSIONS_FAILED,    /* never connected: refused or timed out */
    RECORDER_CONNECTIONS_OPENED, /* first, after a loss, and with --churn */
    RECORDER_CONNECTIONS_CLOSED, /* of these, lost or closed */
    RECORDER_CONNECTIONS_LOST,   /* of these, not by this side; a churn that failed included */
    RECORDER_RECONNECTS,         /* connections had again after a loss */
    RECORDER_RECONNECTS_FAILED,  /* tries to connect after a loss that failed */
    RECORDER_CHURNS,             /* connections closed in good order and opened anew */
    RECORDER_ROWS_ACKNOWLEDGED,
    RECORDER_ROWS_REJECTED,
    RECORDER_ROWS_IN_DOUBT,
    RECORDER_APPENDS,        /* ended with an answer: acknowledged or rejected */
    RECORDER_APPENDS_FAILED, /* rejected or lost */
    RECORDER_COUNTS,         /* reads that succeeded */
    RECORDER_COUNTS_FAILED,
    RECORDER_BUSY_RETRIES,   /* appends begun again because the database was busy */
    RECORDER_REFUSALS,       /* appends refused by a read-only server, to be sent again */
    RECORDER_TIMEOUTS,       /* calls that --timeout cut, and their connections with them */
    RECORDER_UNANSWERED,     /* batches whose response time is a lower bound: no answer came */
    RECORDER_FRESH_CHECKS,   /* counts that were held against the session's own rows */
    RECORDER_FRESH_BEHIND,   /* count below rows before the run + own acknowledged rows */
    RECORDER_FRESH_BACKWARD, /* count below an earlier count of the same session */
    RECORDER_ON_CPU_NS,      /* session threads: time on a CPU, added when a session ends */
    RECORDER_RUN_QUEUE_NS,   /* session threads: time runnable but waiting for a CPU, likewise */
    RECORDER_SESSION_NS,     /* session threads: gate opened -> session ended, likewise */
    RECORDER_COUNTERS,
};

/* A cumulative state of all shards. About 114 KiB: not for a session's stack. */
struct recorder_snapshot {
    int64_t taken_ns; /* monotonic */
    uint64_t counters[RECORDER_COUNTERS];
    struct histogram histograms[RECORDER_HISTOGRAMS];
};

struct recorder;

/* `shards` is rounded up to a power of two. NULL: out of memory. */
struct recorder *recorder_create(unsigned shards);
void recorder_destroy(struct recorder *recorder);

/* Called by sessions; `session` picks the shard. */
void recorder_add(struct recorder *recorder, unsigned session, enum recorder_counter counter,
                  uint64_t n);
void recorder_record(struct recorder *recorder, unsigned session, enum recorder_histogram histogram,
                     int64_t ns);
/* As often as `times` says. */
void recorder_record_times(struct recorder *recorder, unsigned session,
                           enum recorder_histogram histogram, int64_t ns, uint64_t times);

/* Prepares room for the progress of each session, 0 … count-1: once a recorder, before the first
 * session, also while another thread takes snapshots. False: out of memory. */
bool recorder_watch(struct recorder *recorder, unsigned count);

/* Called by the session itself, when the recorder watches: the session begins to work at now_ns,
 * had an acknowledged append, has done its share or given up. */
void recorder_begin_work(struct recorder *recorder, unsigned session, int64_t now_ns);
void recorder_note_progress(struct recorder *recorder, unsigned session, int64_t now_ns);
void recorder_end_work(struct recorder *recorder, unsigned session);

/* Called by the session itself, before and after a read. */
void recorder_note_reading(struct recorder *recorder, unsigned session, bool is_reading);

/* Sessions that work, did so at since_ns already, and had no acknowledged append since then;
 * *reading: those of them that are in a read. */
uint64_t recorder_count_stalled(struct recorder *recorder, int64_t since_ns, uint64_t *reading);

/* One counter summed over the shards. */
uint64_t recorder_read(struct recorder *recorder, enum recorder_counter counter);

/* Sums all shards into *snapshot, taken_ns included. */
void recorder_take_snapshot(struct recorder *recorder, struct recorder_snapshot *snapshot);

#endif
