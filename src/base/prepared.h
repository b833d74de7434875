/*
 * The prepared statements of a connection, indexed by their slots. A statement is prepared at its
 * first run or earlier, and again after the server has forgotten the statement or a table has
 * changed.
 *
 * A set belongs to one connection and to that connection's thread. Initialize it with
 * {.adapter = …, .conn = …}.
 */
#ifndef BASE_PREPARED_H
#define BASE_PREPARED_H

#include "append/adapter.h"

struct prepared_slot;

struct prepared_set {
    const struct adapter *adapter;
    struct adapter_conn *conn;   /* an open connection */
    struct prepared_slot *slots; /* statements by slot; owned */
    unsigned count;
};

/* Prepares a statement in slot statement->slot (from 1), in place of the slot's previous statement.
 * Does nothing when the adapter cannot prepare. */
enum status prepared_make(struct prepared_set *set, const struct statement *statement,
                          struct error *error);

/* Runs a statement like adapter.run. Prepares the statement first if it has a slot and is not
 * prepared yet. Returns REJECTED with ERROR_SERIALIZATION if a table has changed since the
 * statement was prepared and the server has rolled the transaction back; the caller should then
 * retry the transaction. */
enum status prepared_run(struct prepared_set *set, const struct statement *statement,
                         const struct batch *parameters, struct answer *answer,
                         struct error *error);

/* Frees the set. Called before its connection is closed. A zeroed set is allowed. */
void prepared_end(struct prepared_set *set);

#endif
