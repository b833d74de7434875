/*
 * Disk space of the run's tables, including their indexes, as the server reports it; for an
 * embedded database the size of its file and journal. The space is measured at the set-up, and once
 * for each sample while the sessions work. The samples use a connection that is opened after the
 * gate has opened, so that it takes no place from a session.
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

/* Requests a measurement, while the sessions work, and does not wait for the result. Any thread may
 * call this function. `watch` may be NULL. */
void storage_watch_ask(struct storage_watch *watch);

/* Returns the size that the latest request has measured, or -1 if the size is unknown or the
 * measurement takes longer than some milliseconds. `watch` may be NULL. */
int64_t storage_watch_take(struct storage_watch *watch);

/* Ends the thread and frees `watch`, which may be NULL. */
void storage_watch_stop(struct storage_watch *watch);

#endif
