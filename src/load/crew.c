#include "load/crew.h"

#include <stdlib.h>

#include "load/driver_parts.h"

struct crew_member {
    struct session session;
    bool is_live;
    atomic_bool has_ended; /* the thread's last word */
};

static void *run_member(void *argument)
{
    struct crew_member *member = argument;
    session_run(&member->session);
    atomic_store_explicit(&member->has_ended, true, memory_order_release);
    return NULL;
}

bool crew_init(struct crew *crew, struct load *load)
{
    *crew = (struct crew){.load = load, .capacity = load->plan->sessions};
    /* calloc: what is never used takes no memory */
    crew->members = calloc(crew->capacity, sizeof *crew->members);
    if (crew->members == NULL || !recorder_watch(load->recorder, crew->capacity)) {
        free(crew->members);
        crew->members = NULL;
        return false;
    }
    pthread_attr_init(&crew->attributes);
    pthread_attr_setstacksize(&crew->attributes, load->plan->stack_bytes);
    return true;
}

void crew_fini(struct crew *crew)
{
    pthread_attr_destroy(&crew->attributes);
    free(crew->members);
}

/* The rows of the place go on; everything else is as new. */
static void renew(struct crew *crew, unsigned index)
{
    struct session *session = &crew->members[index].session;
    session->load = crew->load;
    session->index = index;
    session->quota = plan_quota(crew->load->plan, index);
    session->outcome = SESSION_NOT_STARTED;
    session->last_count = 0;
    pthread_mutex_lock(&crew->load->connections_lock);
    session->was_interrupted = false;
    pthread_mutex_unlock(&crew->load->connections_lock);
    atomic_store(&session->is_leaving, false);
    session->first_ack_ns = 0;
    session->last_ack_ns = 0;
    session->work_end_ns = 0;
    atomic_store(&crew->members[index].has_ended, false);
}

int crew_start(struct crew *crew)
{
    unsigned index = crew->first_free;
    while (crew->members[index].is_live) {
        index++;
    }
    struct crew_member *member = &crew->members[index];
    renew(crew, index);
    gate_session_begins(&crew->load->gate);
    const int rc = pthread_create(&member->session.thread, &crew->attributes, run_member, member);
    if (rc != 0) {
        gate_session_never_was(&crew->load->gate);
        return rc;
    }
    member->is_live = true;
    crew->first_free = index + 1;
    crew->used = index + 1 > crew->used ? index + 1 : crew->used;
    crew->live++;
    return 0;
}

void crew_dismiss(struct crew *crew, unsigned count)
{
    for (unsigned i = crew->used; i > 0 && count > 0; i--) {
        struct crew_member *member = &crew->members[i - 1];
        if (member->is_live && !atomic_load(&member->session.is_leaving)) {
            atomic_store(&member->session.is_leaving, true);
            crew->leaving++;
            count--;
        }
    }
}

void crew_interrupt(struct crew *crew, bool only_leaving)
{
    for (unsigned i = 0; i < crew->used; i++) {
        struct crew_member *member = &crew->members[i];
        if (member->is_live && (!only_leaving || atomic_load(&member->session.is_leaving))) {
            session_interrupt(&member->session);
        }
    }
}

static void join(struct crew *crew, struct crew_member *member, struct session_ledger *ledger)
{
    struct session *session = &member->session;
    pthread_join(session->thread, NULL);
    const bool is_leaving = atomic_load(&session->is_leaving);
    member->is_live = false;
    crew->live--;
    crew->leaving -= is_leaving ? 1 : 0;
    crew->cut += session->was_interrupted ? 1 : 0;
    crew->total.requested++;
    driver_add_outcome(&crew->total, session->outcome);
    if (!is_leaving) {
        driver_add_outcome(ledger, session->outcome);
    }
}

void crew_reap(struct crew *crew, struct session_ledger *ledger)
{
    for (unsigned i = 0; i < crew->used; i++) {
        struct crew_member *member = &crew->members[i];
        if (member->is_live && atomic_load_explicit(&member->has_ended, memory_order_acquire)) {
            join(crew, member, ledger);
            crew->first_free = i < crew->first_free ? i : crew->first_free;
        }
    }
    crew->total.connected = crew->total.finished + crew->total.stopped + crew->total.dropped;
}

void crew_sum_up(const struct crew *crew, struct row_ledger *rows, uint64_t *worst_lag)
{
    for (unsigned i = 0; i < crew->used; i++) {
        const struct session *session = &crew->members[i].session;
        driver_add_rows(rows, session);
        *worst_lag = session->worst_lag > *worst_lag ? session->worst_lag : *worst_lag;
    }
}
