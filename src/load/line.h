/*
 * A line to a server: the connection of one thread, which other threads may cut.
 *
 * The thread that owns the line opens and closes it, and says when a call begins that waits for the
 * server, and when it has ended; another thread may say that the call begins again, when a part of
 * a long answer has come. Any other thread may cut the line: the call under way then returns as
 * LOST, or has just been answered. A cut reaches the connection that the line has at that moment
 * and never one that is opened later.
 */
#ifndef LOAD_LINE_H
#define LOAD_LINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/mono.h"

/* How often a thread that watches lines looks at signals and deadlines. */
#define LINE_TICK_NS (50 * MONO_NS_PER_MS)
/* How long after Ctrl-C a call that serves no session may go on before its line is cut. */
#define LINE_GRACE_NS (3 * MONO_NS_PER_S)

/* Decides whether a call that a busy database refused is made again: until a minute has passed,
 * after pauses from a millisecond to a quarter of a second, each twice as long as the one before.
 */
struct busy_retry {
    int64_t limit_ns; /* the last moment */
    int64_t pause_ns; /* the next pause */
};

void busy_retry_init(struct busy_retry *retry);

/* Returns true while a call with this result may be made again. */
bool busy_retry_may_go_on(const struct busy_retry *retry, enum status status,
                          const struct error *error);

/* Returns the pause before the next call, and doubles the one after it. */
int64_t busy_retry_pause_ns(struct busy_retry *retry);

struct line {
    const struct adapter *adapter; /* borrowed */
    int64_t limit_ns;              /* that a call may take; 0: any time */
    pthread_mutex_t lock;
    struct adapter_conn *conn; /* what can be cut; under lock; NULL: nothing */
    _Atomic int64_t call_ns;   /* when the call under way began; negative: minus the moment of its
                                  latest cut; 0: no call with a limit is under way */
};

void line_init(struct line *line, const struct adapter *adapter, int64_t limit_ns);
void line_fini(struct line *line);

/* Opens a connection, or shows one that the owner has opened: from now on it can be cut. */
enum status line_open(struct line *line, const struct target *target, struct adapter_conn **conn,
                      struct error *error);
void line_show(struct line *line, struct adapter_conn *conn);

/* Hides the connection from other threads, closes it and sets *conn to NULL; nothing when *conn is
 * NULL. */
void line_close(struct line *line, struct adapter_conn **conn);

/* Around each call that waits for the server. Calling line_begin_call again restarts the limit.
 * True: the call was cut because it took too long; whatever it returned, the connection is of no
 * more use. */
void line_begin_call(struct line *line);
bool line_end_call(struct line *line);

/* Other threads: makes the call under way return. False: there is no connection, or the adapter
 * cannot. Unless `name` is NULL, it becomes the session as the server knows it, number 0 where the
 * adapter cannot say that; unless `was_cut` is NULL, it becomes true before the call can return. */
bool line_cut(struct line *line, struct session_name *name, atomic_bool *was_cut);

/* The same to a call that has taken longer than its limit; again every second until it returns. */
bool line_cut_overdue(struct line *line, int64_t now_ns, struct session_name *name);

#endif
