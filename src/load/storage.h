/*
 * Disk space of the run's tables, including their indexes, as the server reports it; for an
 * embedded database the size of its file and journal. The space is measured at the set-up, and once
 * for each sample while the sessions work. The samples use a connection that is opened after all
 * sessions have connected. If the server limits the number of connections, it does not take the
 * place of a session.
 */
#ifndef LOAD_STORAGE_H
#define LOAD_STORAGE_H

#include <stdint.h>

#include "append/adapter.h"
#include "plan/plan.h"

struct storage {
    char directory[256]; /* folder of the server's files, as the server reports it; "" = unknown */
    bool is_working_directory; /* the files are in the working directory of the server's process */
    char note[160];            /* reason why the sizes are unknown; "" = they are known */
    size_t count;              /* number of tables whose size the server reports */
    char **statements;         /* queries for the size, one for each table; owned */
    int64_t bytes_before;
};

/* Asks for the folder of the server's files, and finds the queries that measure the tables. Leaves
 * out facts that the server refuses to report. */
void storage_find(struct storage *storage, const struct plan *plan,
                  const struct connection_info *connection, struct adapter_conn *conn);
void storage_fini(struct storage *storage);

/* Returns the size of all tables in bytes, or -1 if unknown. `conn` may be NULL for a database that
 * is a file. */
int64_t storage_read(const struct storage *storage, const struct plan *plan,
                     struct adapter_conn *conn, struct error *error);

struct storage_watch;

/* Starts a thread that measures the tables. If there are several hosts, `host` is the number of the
 * host to measure. Borrows `storage` and `plan`. Returns NULL if memory runs out. */
struct storage_watch *storage_watch_start(const struct storage *storage, const struct plan *plan,
                                          unsigned host);

/* Requests a measurement and does not wait for the result. Called while the sessions work. Any
 * thread may call this function. `watch` may be NULL. */
void storage_watch_ask(struct storage_watch *watch);

/* Returns the size in bytes that the latest request has measured. Waits some milliseconds if the
 * measurement is not finished. Returns -1 if it is not finished then, or if the size is unknown.
 * `watch` may be NULL. */
int64_t storage_watch_take(struct storage_watch *watch);

/* Ends the thread and frees `watch`, which may be NULL. */
void storage_watch_stop(struct storage_watch *watch);

#endif
