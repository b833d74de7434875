#include "load/calls.h"

#include <stdlib.h>
#include <sys/param.h>

#include "base/mono.h"
#include "load/account.h"

/* Adds a session to the list of sessions whose connection was cut, because the server may still
 * work on the session's call. Does nothing if the session's number at the server is unknown or if
 * memory runs out. Only the main thread calls this function, because only the main thread cuts
 * connections. */
static void note_cut(const struct session *session, const struct session_name *name)
{
    struct cut_list *list = session->load->cut;
    if (list == NULL || name->number == 0) {
        return;
    }
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 16;
        struct cut_session *more = reallocarray(list->entries, room, sizeof *more);
        if (more == NULL) {
            return;
        }
        list->entries = more;
        list->room = room;
    }
    list->entries[list->count++] = (struct cut_session){.host = session->host, .name = *name};
}

void session_interrupt(struct session *session)
{
    struct session_name name;
    const bool is_first = !atomic_load(&session->was_cut); /* only this thread sets was_cut */
    if (line_cut(&session->line, &name, &session->was_cut) && is_first) {
        note_cut(session, &name);
    }
}

void session_begin_call(struct session *session, size_t operation)
{
    recorder_note_call(session->load->recorder, session->place, operation);
    line_begin_call(&session->line);
}

void session_end_call(struct session *session)
{
    recorder_note_call(session->load->recorder, session->place, RECORDER_NO_CALL);
    if (line_end_call(&session->line)) {
        session->is_overdue = true;
        session_add(session, RECORDER_TIMEOUTS, 1);
    }
}

void session_cut_overdue(struct session *session, int64_t now_ns)
{
    struct session_name name;
    if (line_cut_overdue(&session->line, now_ns, &name)) {
        note_cut(session, &name);
    }
}

bool session_note_refused(struct session *session, enum status status, const struct error *error)
{
    session->is_refused = (status == STATUS_REJECTED || status == STATUS_FATAL) &&
                          error->kind == ERROR_READ_ONLY &&
                          session->load->plan->drop_policy == DROP_RECONNECT;
    session_add(session, RECORDER_REFUSALS, session->is_refused ? 1 : 0);
    return session->is_refused;
}

enum status session_after(struct session *session, enum cause_phase phase, enum status status,
                          const struct error *error)
{
    if (session->is_refused) {
        return STATUS_LOST;
    }
    if (status != STATUS_LOST) {
        session->tries = 0;
    }
    if (!session->is_overdue) {
        return status;
    }
    if (!error_is_set(error)) {
        session_blame(session, phase, NULL, STATUS_LOST, error);
    }
    return session_goes_on(status) && !session_has_work(session) ? status : STATUS_LOST;
}

static const struct batch *generate(void *context, uint64_t from, size_t rows, struct error *error)
{
    struct generated_rows *generated = context;
    struct session *session = generated->session;
    struct generator *generator = session->load->generator;
    struct row_buffer *buffer = generated->buffer = generator_borrow(generator);
    if (buffer == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a batch of rows");
        return NULL;
    }
    generator_fill(generator, buffer, session->index, generated->first + from, rows);
    session_note_row_bytes(session, buffer->batch.table, &buffer->batch);
    return &buffer->batch;
}

static void give_back(void *context)
{
    const struct generated_rows *generated = context;
    generator_give_back(generated->session->load->generator, generated->buffer);
}

struct row_source generated_source(struct generated_rows *rows)
{
    return (struct row_source){generate, give_back, rows,
                               generator_buffer_rows(rows->session->load->generator)};
}

enum status session_send(struct session *session, struct append *append, bool *is_begun,
                         struct error *error)
{
    struct busy_retry retry;
    busy_retry_init(&retry);
    *is_begun = true;
    for (;;) {
        session_begin_call(session, OPERATION_APPEND);
        const enum status status =
            append_send(session->load->plan->adapter, session->conn, append, error);
        session_end_call(session);
        if (session->is_overdue && status == STATUS_REJECTED && append->accepted == 0 &&
            error_is_transient(error)) {
            /* the database stored no rows, and the cut connection cannot be used for another try */
            append->rows = append->handed = 0;
            return STATUS_LOST;
        }
        append->accepted = MIN(append->accepted, append->rows);
        if (status == STATUS_OK && append->accepted < append->rows) {
            error_set(error, ERROR_DATA, 0, NULL,
                      "the server acknowledged fewer rows than append sent");
            return STATUS_REJECTED;
        }
        if (!busy_retry_may_go_on(&retry, status, error) || append->accepted > 0 ||
            session->is_overdue) {
            return status;
        }
        session_blame(session, CAUSE_BUSY, NULL, status, error);
        *is_begun =
            gate_sleep_until(&session->load->gate, mono_now_ns() + busy_retry_pause_ns(&retry),
                             &session->is_leaving);
        if (!*is_begun) {
            return status;
        }
        session_add(session, RECORDER_BUSY_RETRIES, 1);
    }
}
