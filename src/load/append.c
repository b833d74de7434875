#include "load/append.h"

#include <sys/param.h>

/* Removes the rows that were not handed to the adapter. */
static void shorten_to_handed(struct append *append)
{
    append->rows = append->handed;
}

void append_give_up(struct append *append)
{
    append->accepted = MIN(append->accepted, append->handed);
    append->in_doubt = append->handed - append->accepted;
    shorten_to_handed(append);
}

/* Finds out, after the connection was lost, which rows are in doubt and which were not sent. */
static void lose(const struct adapter *adapter, struct adapter_conn *conn, struct append *append)
{
    append_give_up(append);
    if (adapter->append_lost != NULL && append->handed > 0) {
        struct append_loss loss = {0};
        adapter->append_lost(conn, &loss);
        append->in_doubt = MIN(loss.in_doubt, append->in_doubt);
        append->handed = MIN(append->accepted + loss.refused + append->in_doubt, append->handed);
        shorten_to_handed(append);
    }
}

/* Makes the next rows and hands them to the adapter. */
static enum status hand_over(const struct adapter *adapter, struct adapter_conn *conn,
                             struct append *append, struct error *error)
{
    const struct row_source *source = &append->source;
    const size_t count = (size_t)MIN(append->rows - append->handed, source->most_rows);
    const struct batch *made = source->make(source->context, append->handed, count, error);
    if (made == NULL) {
        append_give_up(append);
        return STATUS_FATAL;
    }
    struct batch batch = *made;
    batch.table = append->table;
    append->handed += count;
    const enum status status = adapter->append_rows(conn, &batch, &append->accepted, error);
    if (source->done != NULL) {
        source->done(source->context);
    }
    return status;
}

enum status append_send(const struct adapter *adapter, struct adapter_conn *conn,
                        struct append *append, struct error *error)
{
    error_clear(error);
    append->handed = append->accepted = append->in_doubt = 0;
    append->tries++;
    enum status status = adapter->append_open(conn, append->table, error);
    while (status == STATUS_OK && append->handed < append->rows) {
        status = hand_over(adapter, conn, append, error);
    }
    if (status == STATUS_OK) {
        status = adapter->append_close(conn, &append->accepted, error);
    }
    if (status == STATUS_LOST) {
        lose(adapter, conn, append);
    } else if (status == STATUS_REJECTED && append->accepted > 0) {
        /* the server accepts or refuses each part of the rows independently */
        shorten_to_handed(append);
    }
    return status;
}
