/*
 * What the run's tables take on disk: with their indexes, as the server tells it; of an embedded
 * database the size of its file and journal. A part of the set-up, and a reading that goes on while
 * the sessions work, on a connection of its own: it is opened when the gate has opened, so that it
 * takes no place from a session, and read once for each sample.
 */
#ifndef LOAD_STORAGE_H
#define LOAD_STORAGE_H

#include "append/adapter.h"
#include "plan/plan.h"

struct storage {
    char directory[256];    /* where the server keeps its files, as it tells; "" = not known */
    bool is_where_it_works; /* otherwise they are in its process's working directory */
    char note[160];         /* why the sizes are not known; "" = they are */
    size_t count;           /* of tables whose size it tells */
    char **statements;      /* that ask for it, one each; owned */
    int64_t bytes_before;
};

/* Asks where the files are, and how the sizes are told. Leaves out what the server refuses. */
void storage_find(struct storage *storage, const struct plan *plan,
                  const struct connection_info *connection, struct adapter_conn *conn);
void storage_fini(struct storage *storage);

/* Bytes of all tables; -1 = not known. Without a connection: of a database that is a file. */
int64_t storage_read(const struct storage *storage, const struct plan *plan,
                     struct adapter_conn *conn, struct error *error);

struct storage_watch;

/* Of several hosts at this one. Borrows both. NULL: out of memory. */
struct storage_watch *storage_watch_start(const struct storage *storage, const struct plan *plan,
                                          unsigned host);

/* Asks for the size, while the sessions work; any thread, does not wait. Takes NULL. */
void storage_watch_ask(struct storage_watch *watch);

/* The size since it was asked for last; -1 = it is not known, or not yet after some milliseconds.
 * Takes NULL. */
int64_t storage_watch_take(struct storage_watch *watch);

/* Takes NULL. */
void storage_watch_stop(struct storage_watch *watch);

#endif
