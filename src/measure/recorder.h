/*
 * Counts what sessions do while they run.
 *
 * Each session has its own cache lines for its counters, sums, maxima and the moment of its last
 * progress, and only this session writes them. The buckets of the histograms are shared by many
 * sessions, in a few shards, because a histogram for each of 14,000 sessions would take hundreds of
 * MiB. Any thread may take a snapshot at any time. Snapshots are cumulative; an interval is the
 * difference of two snapshots. A snapshot taken during the run may contain only a part of the
 * counts of a batch. After the threads of the sessions are joined, snapshots are exact.
 */
#ifndef MEASURE_RECORDER_H
#define MEASURE_RECORDER_H

#include "append/error.h"
#include "figures/figures.h"
#include "measure/histogram.h"

/* The cumulative state of all sessions at one moment. */
struct recorder_snapshot {
    int64_t taken_ns; /* time of the snapshot, by the monotonic clock */
    uint64_t counters[RECORDER_COUNTERS];
    uint64_t warm_up[RECORDER_COUNTERS]; /* counts in the warm-up, which is excluded from all
                                            figures */
    size_t operations;                   /* number of operations with a histogram */
    /* histograms, indexed by number of the operation; 19 KiB each; owned */
    struct histogram *histograms;
    uint64_t (*counts)[OPERATION_COUNTS]; /* counts of each operation of the script; 0 for other
                                             operations; owned */
    size_t hosts;                         /* number of hosts; 0 if the run has one host */
    uint64_t (*hosts_counters)[RECORDER_COUNTERS]; /* `counters` of each host; owned */
};

/* Makes an empty snapshot. Returns false when out of memory. fini also takes a zeroed snapshot. */
bool recorder_snapshot_init(struct recorder_snapshot *snapshot, size_t operations);
void recorder_snapshot_fini(struct recorder_snapshot *snapshot);

/* Makes room for the counters of several hosts. Returns false when out of memory. */
bool recorder_snapshot_add_hosts(struct recorder_snapshot *snapshot, size_t hosts);

/* Returns the histogram of an operation; an empty histogram when the snapshot lacks the
 * operation. */
const struct histogram *recorder_histogram(const struct recorder_snapshot *snapshot,
                                           size_t operation);

/* Returns a count of an operation; 0 when the snapshot lacks the operation. */
uint64_t recorder_count_of(const struct recorder_snapshot *snapshot, size_t operation,
                           enum operation_count count);

/* The latency of an operation. If `count` is 0, the other members are also 0. */
struct recorder_latency {
    uint64_t count;
    int64_t p50_ns;
    int64_t p99_ns;
    int64_t max_ns;
};

/* Returns the latency of an operation between two snapshots. */
struct recorder_latency recorder_latency_between(const struct recorder_snapshot *earlier,
                                                 const struct recorder_snapshot *later,
                                                 size_t operation);

/* Returns the latency of all values of a histogram. */
struct recorder_latency histogram_latency(const struct histogram *histogram);

struct recorder;

/* Creates a recorder for sessions 0 … sessions-1 and operations 0 … operations-1. `shards` is the
 * minimum number of shards; `hosts` is at least 1. If `hosts` is above 1, each session has counters
 * for every host, and the shards are divided among the hosts. The number of shards of a host is a
 * power of two. Returns NULL when out of memory. */
struct recorder *recorder_create(unsigned sessions, unsigned shards, size_t operations,
                                 size_t hosts);
void recorder_destroy(struct recorder *recorder);
size_t recorder_operations(const struct recorder *recorder);

/* These functions add to the counters and histograms of a session. They are called by the session's
 * thread, or by the main thread after the session's thread has ended or was abandoned. Counts of
 * the warm-up are separate. recorder_count takes only scripted operations, whose numbers begin at
 * OPERATIONS. */
void recorder_add(struct recorder *recorder, unsigned session, enum recorder_counter counter,
                  uint64_t n);
void recorder_add_warm_up(struct recorder *recorder, unsigned session,
                          enum recorder_counter counter, uint64_t n);
void recorder_count(struct recorder *recorder, unsigned session, size_t operation,
                    enum operation_count count, uint64_t n);
void recorder_record(struct recorder *recorder, unsigned session, size_t operation, int64_t ns);
void recorder_record_times(struct recorder *recorder, unsigned session, size_t operation,
                           int64_t ns, uint64_t times);

/* Sets the host to which the session's next counts belong. The host is 0 at first. Called by the
 * session. */
void recorder_set_host(struct recorder *recorder, unsigned session, unsigned host);

/* Return the latency and the histogram of an operation at one host. The maximum is given as the
 * high end of its bucket. */
struct recorder_latency recorder_latency_at(struct recorder *recorder, unsigned host,
                                            size_t operation);
void recorder_histogram_at(struct recorder *recorder, unsigned host, size_t operation,
                           struct histogram *histogram);

/* recorder_set_working notes that the session has worked since since_ns; 0 means that the session
 * has finished or given up. recorder_note_progress notes that an append was acknowledged at now_ns.
 * Called by the session. */
void recorder_set_working(struct recorder *recorder, unsigned session, int64_t since_ns);
void recorder_note_progress(struct recorder *recorder, unsigned session, int64_t now_ns);

/* The call that a session is making at one moment. */
#define RECORDER_NO_CALL SIZE_MAX
struct recorder_call {
    uint64_t server_session; /* the server's number for the session; 0: unknown or not connected */
    size_t operation; /* number of the operation of the call; RECORDER_NO_CALL: the session does not
                         wait for the server */
};

/* recorder_note_call notes the operation of a call that begins, or RECORDER_NO_CALL when the call
 * ends. recorder_note_server_session notes the server's number for the session, or 0 when the
 * session has no connection. Called by the session. */
void recorder_note_call(struct recorder *recorder, unsigned session, size_t operation);
void recorder_note_server_session(struct recorder *recorder, unsigned session, uint64_t number);

/* Reads the call of every session; `calls` has an entry for each session. Any thread may call this
 * function. */
void recorder_read_calls(const struct recorder *recorder, struct recorder_call *calls);
unsigned recorder_sessions(const struct recorder *recorder);

/* Returns the number of working sessions that began to work at since_ns or earlier, and have had no
 * append acknowledged since then. Sets *reading to the number of these sessions that are
 * running a read. */
uint64_t recorder_count_stalled(struct recorder *recorder, int64_t since_ns, uint64_t *reading);

/* Returns one counter summed over the sessions. */
uint64_t recorder_read(struct recorder *recorder, enum recorder_counter counter);

/* Returns all counters, each summed over the sessions. */
void recorder_read_all(struct recorder *recorder, uint64_t counters[RECORDER_COUNTERS]);

/* Fills *snapshot with the sums over all sessions. *snapshot must have been made for the same
 * number of operations. */
void recorder_take_snapshot(struct recorder *recorder, struct recorder_snapshot *snapshot);

/* The figures of one second of the run (a row of intervals.csv; the last interval ends with the
 * run), or of one stage of the run (a row of stages.csv). */
struct interval {
    int64_t start_ns; /* moment since the start of the run */
    int64_t end_ns;
    uint64_t sessions_alive; /* number of sessions that are connected at end_ns */
    uint64_t rows_held; /* number of rows before the run, plus number of rows acknowledged until
                           end_ns */
    uint64_t sessions_working;          /* number of sessions at work at end_ns */
    uint64_t sessions_without_progress; /* number of sessions that worked for the whole interval
                                           without an acknowledged append, and are not in a read */
    uint64_t sessions_reading; /* number of sessions that worked for the whole interval without an
                                  acknowledged append, and are in a read at end_ns */
    /* the interval is a stage of the run (--stage, --rate-stage), and not a second */
    bool is_stage;
    unsigned stage; /* number of the stage (at end_ns, if the interval is a second); 0 = no stage */
    uint64_t target; /* number of sessions, or the rate, at the end of the stage */
    uint64_t counters[RECORDER_COUNTERS];
    struct recorder_latency latencies[OPERATIONS_MAX]; /* latencies of the interval, indexed by
                                                          number of the operation */
    const struct recorder_snapshot *from, *to; /* states at start_ns and end_ns; borrowed until the
                                                  next interval */
    size_t hosts;                              /* number of hosts; 0 if the run has one host */
    const uint64_t (*hosts_counters)[RECORDER_COUNTERS]; /* `counters` of each host; borrowed */
};

/* Takes intervals: the differences of consecutive snapshots. Used by one thread. The first interval
 * begins at the start of the run, when all counts are 0, so all intervals add up to the last
 * snapshot. */
struct intervals {
    struct recorder *recorder; /* recorder that is read; borrowed */
    int64_t run_start_ns;
    struct recorder_snapshot snapshots[2];         /* the two latest snapshots; owned */
    unsigned later;                                /* index of the snapshot to take next */
    uint64_t (*hosts_counters)[RECORDER_COUNTERS]; /* counters of the interval by host; owned; NULL
                                                      if the run has one host */
};

/* Begins to take intervals from a recorder. Returns false when out of memory. */
bool intervals_init(struct intervals *intervals, struct recorder *recorder, int64_t run_start_ns);
void intervals_fini(struct intervals *intervals);

/* Moves the beginning of the first interval to begin_ns. The interval still includes all counts
 * since the start of the run. */
void intervals_begin_at(struct intervals *intervals, int64_t begin_ns);

/* Ends an interval now, and fills *interval. Returns false when no time has passed. */
bool intervals_take(struct intervals *intervals, struct interval *interval);

/* Returns the state at the end of the last interval. */
const struct recorder_snapshot *intervals_total(const struct intervals *intervals);

#endif
