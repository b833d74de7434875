/*
 * What append asks the server while the sessions work, on threads and connections of its own: the
 * size of the tables, and what the sessions' calls wait for.
 */
#ifndef LOAD_WATCH_H
#define LOAD_WATCH_H

#include <stdint.h>

#include "append/adapter.h"
#include "base/mono.h"
#include "measure/waits.h"
#include "plan/plan.h"

/*
 * Disk space of the run's tables, including their indexes, as the server reports it; for an
 * embedded database the size of its file and journal. The space is measured at the set-up, and once
 * for each sample while the sessions work. The samples use a connection that is opened after the
 * gate has opened, so that it takes no place from a session.
 */
struct storage {
    char directory[256]; /* folder of the server's files, as the server reports it; "" = unknown */
    bool is_where_it_works; /* the files are in the working directory of the server's process */
    char note[160];         /* reason why the sizes are unknown; "" = they are known */
    size_t count;           /* number of tables whose size the server reports */
    char **statements;      /* queries for the size, one for each table; owned */
    int64_t bytes_before;
};

/* Asks for the folder of the server's files, and for a way to measure the tables. Leaves out facts
 * that the server refuses to report. */
void storage_find(struct storage *storage, const struct plan *plan,
                  const struct connection_info *connection, struct adapter_conn *conn);
void storage_fini(struct storage *storage);

/* Returns the bytes of all tables, or -1 if unknown. `conn` may be NULL for a database that is a
 * file. */
int64_t storage_read(const struct storage *storage, const struct plan *plan,
                     struct adapter_conn *conn, struct error *error);

struct storage_watch;

/* Starts a thread that measures the tables; `host`: with several hosts, the host to measure.
 * Borrows `storage` and `plan`. Returns NULL if memory runs out. */
struct storage_watch *storage_watch_start(const struct storage *storage, const struct plan *plan,
                                          unsigned host);

/* Requests a measurement, while the sessions work, and does not wait for it. Any thread may call
 * it. `watch` may be NULL. */
void storage_watch_ask(struct storage_watch *watch);

/* Returns the size that was requested last, or -1 if it is unknown or is not measured within some
 * milliseconds. `watch` may be NULL. */
int64_t storage_watch_take(struct storage_watch *watch);

/* Ends the thread and frees `watch`, which may be NULL. */
void storage_watch_stop(struct storage_watch *watch);

/*
 * Polls what the sessions' calls wait for (--waits; see measure/waits.h), on a thread and a
 * connection of its own.
 *
 * A poll takes time of the server's CPUs. So the pause after it follows its cost: polls take at
 * most WAIT_CPU_SHARE of one CPU, but their interval stays between WAIT_GAP_MIN_NS and
 * WAIT_GAP_MAX_NS. The cost is the CPU time of the connection's process or thread at the server,
 * plus the CPU time of the polling thread, if this machine shows the server's CPU time; else the
 * cost is the duration of the poll. A poll that fails is counted, and is not repeated before the
 * next interval; a lost connection is opened again.
 */
#define WAIT_CPU_SHARE 0.02
#define WAIT_GAP_MIN_NS (100 * MONO_NS_PER_MS)
#define WAIT_GAP_MAX_NS (2 * MONO_NS_PER_S)

struct setup;
struct wait_watch;

/* Connects and polls once, before the sessions connect. Then starts the thread, which polls only
 * between wait_watch_begin and wait_watch_end. Everything is borrowed. Returns NULL with *error set
 * when the database does not show what its sessions wait for. */
struct wait_watch *wait_watch_start(struct waits *waits, const struct setup *setup,
                                    const struct plan *plan, const struct recorder *recorder,
                                    struct error *error);

/* Let polling begin at the monotonic moment begin_ns, and let it end at once. A poll that is under
 * way at the end does not count. Polling can begin again. Any thread may call them. `watch` may be
 * NULL.
 */
void wait_watch_begin(struct wait_watch *watch, int64_t begin_ns);
void wait_watch_end(struct wait_watch *watch);

/* Ends the thread and frees `watch`, which may be NULL. */
void wait_watch_stop(struct wait_watch *watch);

#endif
