#include "base/prepared.h"

#include <stdlib.h>
#include <string.h>

struct prepared_slot {
    const struct statement *statement; /* the prepared statement; NULL if the slot is empty */
    /* the adapter's data for the statement, freed by adapter.drop; NULL if the adapter keeps no
     * data */
    struct adapter_prepared *made;
    bool is_ready;
};

/* Returns slot `number` (from 1), and enlarges the array if necessary. Returns NULL if out of
 * memory. */
static struct prepared_slot *find_slot(struct prepared_set *set, unsigned number)
{
    if (number > set->count) {
        const unsigned wanted = number + number / 2 + 6;
        struct prepared_slot *const more = reallocarray(set->slots, wanted, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        memset(more + set->count, 0, (wanted - set->count) * sizeof *more);
        set->slots = more;
        set->count = wanted;
    }
    return &set->slots[number - 1];
}

enum status prepared_make(struct prepared_set *set, const struct statement *statement,
                          struct error *error)
{
    if (set->adapter->prepare == NULL) {
        return STATUS_OK;
    }
    struct prepared_slot *const slot = find_slot(set, statement->slot);
    if (slot == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a prepared statement");
        return STATUS_FATAL;
    }
    slot->is_ready = false;
    slot->statement = statement;
    const enum status status = set->adapter->prepare(set->conn, statement, &slot->made, error);
    slot->is_ready = status == STATUS_OK;
    return status;
}

/* Replaces *error when a statement must be prepared again and the server has rolled the transaction
 * back. The new kind, ERROR_SERIALIZATION, makes the caller retry the transaction. */
static enum status report_stale(struct error *error)
{
    const struct error said = *error;
    error_clear(error);
    error_set(error, ERROR_SERIALIZATION, 0, said.sqlstate,
              "a table has changed since the statement was prepared: %.160s", said.text);
    return STATUS_REJECTED;
}

enum status prepared_run(struct prepared_set *set, const struct statement *statement,
                         const struct batch *parameters, struct answer *answer, struct error *error)
{
    const struct adapter *const adapter = set->adapter;
    struct adapter_conn *const conn = set->conn;
    const unsigned number = statement->slot;
    if (number == 0 || !statement->is_prepared || adapter->prepare == NULL) {
        return adapter->run(conn, statement, parameters, answer, error);
    }
    for (bool is_retry = false;; is_retry = true) {
        if (number > set->count || set->slots[number - 1].statement != statement ||
            !set->slots[number - 1].is_ready) {
            const enum status status = prepared_make(set, statement, error);
            if (status != STATUS_OK) {
                answer->rows = 0;
                return status;
            }
        }
        struct prepared_slot *const slot = &set->slots[number - 1];
        if (slot->made == NULL) {
            return adapter->run(conn, statement, parameters, answer, error);
        }
        enum staleness stale = STALE_NOT;
        const enum status status =
            adapter->run_prepared(conn, slot->made, parameters, answer, &stale, error);
        slot->is_ready = stale == STALE_NOT;
        if (stale == STALE_UNDONE) {
            return report_stale(error);
        }
        if (stale == STALE_NOT || is_retry) {
            return status;
        }
        error_clear(error);
    }
}

void prepared_end(struct prepared_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        if (set->slots[i].made != NULL) {
            set->adapter->drop(set->conn, set->slots[i].made);
        }
    }
    free(set->slots);
    *set = (struct prepared_set){.slots = NULL};
}
