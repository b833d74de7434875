/*
 * A line: the connection of one thread, the owner. Other threads can cut the connection.
 *
 * The owner of a line opens and closes the connection, and marks the beginning and the end of each
 * call that waits for the server. Another thread may restart the time limit of the call in progress
 * when a part of a long answer has arrived. Any other thread may cut the line: the call in progress
 * then returns LOST, unless its answer arrives at that moment. A cut affects only the connection
 * that is open at the time of the cut, never a connection that is opened later.
 */
#ifndef LOAD_LINE_H
#define LOAD_LINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/mono.h"

/* Interval at which a thread that watches lines checks signals and deadlines. */
#define LINE_TICK_NS (50 * MONO_NS_PER_MS)
/* A call outside of sessions may still run for this time after Ctrl-C before its line is cut. */
#define LINE_GRACE_NS (3 * MONO_NS_PER_S)

/* The retries of a call that a busy database refuses. They go on for up to a minute. The first
 * pause is a millisecond, and each pause is twice as long as the previous one, up to a quarter of a
 * second. */
struct busy_retry {
    int64_t limit_ns; /* no retry begins after this moment */
    int64_t pause_ns; /* length of the next pause */
};

void busy_retry_init(struct busy_retry *retry);

/* Returns whether a call with this result may be retried. */
bool busy_retry_may_go_on(const struct busy_retry *retry, enum status status,
                          const struct error *error);

/* Returns the pause before the next try. The next call returns twice this pause, up to the
 * maximum. */
int64_t busy_retry_pause_ns(struct busy_retry *retry);

#define RECONNECT_FIRST_NS (50 * MONO_NS_PER_MS)
#define RECONNECT_MOST_NS (5 * MONO_NS_PER_S)

/* Returns how long session number `session` waits (back-off) before it tries to reconnect. `tries`
 * is the number of earlier tries since its last answered batch. The wait is a random time from 0 to
 * a limit, which begins at RECONNECT_FIRST_NS and doubles with every try up to RECONNECT_MOST_NS.
 * This "full jitter" spreads sessions that lost their connections at the same moment (M. Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). `nonce` differs for each back-off
 * of the session. */
int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce);

struct line {
    const struct adapter *adapter; /* adapter of the connection; borrowed */
    int64_t limit_ns;              /* longest time of a call; 0: unlimited */
    pthread_mutex_t lock;
    struct adapter_conn *conn; /* the connection to cut; guarded by `lock`; NULL if not open */
    /* moment at which the call in progress began; if the call was cut, minus the moment of the
     * latest cut; 0: no call with a limit is in progress */
    _Atomic int64_t call_ns;
};

void line_init(struct line *line, const struct adapter *adapter, int64_t limit_ns);
void line_fini(struct line *line);

/* line_open opens a connection. line_register registers a connection that the owner has opened.
 * After either function, other threads can cut the connection. */
enum status line_open(struct line *line, const struct target *target, struct adapter_conn **conn,
                      struct error *error);
void line_register(struct line *line, struct adapter_conn *conn);

/* Hides the connection from other threads, closes it and sets *conn to NULL. Does nothing when
 * *conn is NULL. */
void line_close(struct line *line, struct adapter_conn **conn);

/* The owner calls line_begin_call before each call that waits for the server, and line_end_call
 * after it. A second line_begin_call restarts the time limit. line_end_call returns true when the
 * call was cut because it took too long; the connection is then unusable, whatever the call
 * returned. */
void line_begin_call(struct line *line);
bool line_end_call(struct line *line);

/* Called by other threads: makes the call in progress return. Returns false if no connection is
 * open, or if the adapter cannot interrupt calls. If `name` is not NULL, *name receives the
 * session's identity on the server; its number is 0 if the adapter does not know the identity. If
 * `was_cut` is not NULL, *was_cut becomes true before the call can return. */
bool line_cut(struct line *line, struct session_name *name, atomic_bool *was_cut);

/* Called repeatedly by other threads: cuts the call in progress if it has taken longer than the
 * limit, and again every second until it returns. Returns whether the call was cut now. */
bool line_cut_overdue(struct line *line, int64_t now_ns, struct session_name *name);

#endif
