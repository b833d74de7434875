/*
 * The statements that a connection keeps prepared, by their slots: prepared at their first run or
 * earlier, and again after the server has forgotten them or their tables have changed.
 *
 * A set belongs to one connection, and to the connection's thread. It begins as
 * {.adapter = …, .conn = …}.
 */
#ifndef BASE_PREPARED_H
#define BASE_PREPARED_H

#include "append/adapter.h"

struct prepared_slot;

struct prepared_set {
    const struct adapter *adapter;
    struct adapter_conn *conn;   /* open */
    struct prepared_slot *slots; /* owned */
    unsigned count;
};

/* Prepares a statement that has a slot, in place of what was prepared there. Nothing where the
 * adapter prepares none. */
enum status prepared_make(struct prepared_set *set, const struct statement *statement,
                          struct error *error);

/* As adapter.run, for a statement with or without a slot. REJECTED with ERROR_SERIALIZATION: a
 * table has changed, and the transaction is to be tried again. */
enum status prepared_run(struct prepared_set *set, const struct statement *statement,
                         const struct batch *parameters, struct answer *answer,
                         struct error *error);

/* Ends the set, before its connection is closed. Takes a zeroed one. */
void prepared_end(struct prepared_set *set);

#endif
