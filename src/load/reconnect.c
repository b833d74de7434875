#include "load/reconnect.h"

#include "base/mono.h"
#include "base/random.h"

int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce)
{
    int64_t most_ns = RECONNECT_FIRST_NS;
    for (unsigned i = 0; i < tries && most_ns < RECONNECT_MOST_NS; i++) {
        most_ns *= 2;
    }
    most_ns = most_ns < RECONNECT_MOST_NS ? most_ns : RECONNECT_MOST_NS;
    const uint64_t mixed = random_mix(random_mix(seed + session) + nonce);
    return (int64_t)(mixed % ((uint64_t)most_ns + 1));
}

/* One connect under the run's bound for connects at a time. *is_stopped: the run ended first. */
static enum status connect_once(struct session *session, bool *is_stopped)
{
    struct load *load = session->load;
    struct error error;
    error_clear(&error);
    *is_stopped = !gate_take_slot(&load->gate, load->plan->connect_concurrency);
    if (*is_stopped) {
        return STATUS_LOST;
    }
    const enum status status = session_open(session, CAUSE_RECONNECT, &error);
    gate_release_slot(&load->gate);
    if (status != STATUS_OK && error.kind == ERROR_CANCELLED) {
        /* the signal was seen here before the main thread has looked */
        gate_stop(&load->gate, STOP_INTERRUPTED);
        *is_stopped = true;
    }
    return status;
}

enum status reconnect_after_loss(struct session *session, bool *is_stopped)
{
    struct load *load = session->load;
    const struct plan *plan = load->plan;
    const int64_t lost_ns = mono_now_ns();
    const bool is_lost = !session->is_refused;
    if (is_lost) {
        session_count_loss(session);
    }
    session->is_refused = false;
    *is_stopped = false;
    session_close(session);
    if (plan->drop_policy != DROP_RECONNECT) {
        return STATUS_LOST;
    }
    while (session->tries < plan->reconnect_tries) {
        const int64_t pause_ns =
            reconnect_pause_ns(plan->seed, session->index, session->tries, session->tries_total);
        *is_stopped = !gate_sleep_until(&load->gate, mono_now_ns() + pause_ns);
        if (*is_stopped) {
            return STATUS_LOST;
        }
        const enum status status = connect_once(session, is_stopped);
        if (*is_stopped) {
            return STATUS_LOST;
        }
        session->tries++;
        session->tries_total++;
        if (status == STATUS_OK && is_lost) {
            session->reconnects++;
            session_add(session, RECORDER_RECONNECTS, 1);
            recorder_record(load->recorder, session->index, RECORDER_RECOVER,
                            mono_now_ns() - lost_ns);
        }
        if (status == STATUS_OK) {
            return STATUS_OK;
        }
        session_add(session, RECORDER_RECONNECTS_FAILED, 1);
        if (status == STATUS_FATAL) {
            return STATUS_FATAL;
        }
    }
    return STATUS_LOST;
}

enum status reconnect_churn(struct session *session)
{
    const uint64_t every = session->load->plan->churn_batches;
    if (every == 0 || session->batches % every != 0 || session->begun >= session->quota) {
        return STATUS_OK;
    }
    session_close(session);
    bool is_stopped;
    const enum status status = connect_once(session, &is_stopped);
    if (is_stopped) {
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        session->churns++;
        session_add(session, RECORDER_CHURNS, 1);
    }
    return status;
}
