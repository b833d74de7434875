#include "load/line.h"

#include <sys/param.h>

#include "base/random.h"

/* Maximum time for retries of a call that a busy database refuses, and maximum pause between two
 * tries. */
#define BUSY_LIMIT_NS (60 * MONO_NS_PER_S)
#define BUSY_PAUSE_MAX_NS (250 * MONO_NS_PER_MS)

void line_init(struct line *line, const struct adapter *adapter, int64_t limit_ns)
{
    *line = (struct line){.adapter = adapter, .limit_ns = limit_ns};
    /* without attributes pthread_mutex_init cannot fail */
    pthread_mutex_init(&line->lock, NULL);
}

void line_fini(struct line *line)
{
    pthread_mutex_destroy(&line->lock);
}

void line_register(struct line *line, struct adapter_conn *conn)
{
    pthread_mutex_lock(&line->lock);
    line->conn = conn;
    pthread_mutex_unlock(&line->lock);
}

enum status line_open(struct line *line, const struct target *target, struct adapter_conn **conn,
                      struct error *error)
{
    const enum status status = line->adapter->open(line->adapter, target, conn, error);
    if (status == STATUS_OK) {
        line_register(line, *conn);
    }
    return status;
}

void line_close(struct line *line, struct adapter_conn **conn)
{
    if (*conn != NULL) {
        line_register(line, NULL);
        line->adapter->close(*conn);
        *conn = NULL;
    }
}

void line_begin_call(struct line *line)
{
    if (line->limit_ns > 0) {
        atomic_store_explicit(&line->call_ns, mono_now_ns(), memory_order_relaxed);
    }
}

bool line_end_call(struct line *line)
{
    return line->limit_ns > 0 && atomic_exchange(&line->call_ns, 0) < 0;
}

/* The caller holds the lock. */
static bool cut(struct line *line, struct session_name *name, atomic_bool *was_cut)
{
    if (line->conn == NULL || line->adapter->interrupt == NULL) {
        return false;
    }
    if (name != NULL) {
        *name = (struct session_name){.number = 0};
        if (line->adapter->end_sessions != NULL) {
            line->adapter->name_session(line->conn, name);
        }
    }
    if (was_cut != NULL) {
        /* the flag is set before the cut, because the owner reads it as soon as the call returns */
        atomic_store(was_cut, true);
    }
    line->adapter->interrupt(line->conn);
    return true;
}

bool line_cut(struct line *line, struct session_name *name, atomic_bool *was_cut)
{
    pthread_mutex_lock(&line->lock);
    const bool is_cut = cut(line, name, was_cut);
    pthread_mutex_unlock(&line->lock);
    return is_cut;
}

/* Marks the call as cut with an atomic exchange, which fails if the call has ended meanwhile. The
 * lock is held from the exchange to the cut, so the owner cannot close the connection and open
 * another one in between. */
bool line_cut_overdue(struct line *line, int64_t now_ns, struct session_name *name)
{
    int64_t call_ns = atomic_load_explicit(&line->call_ns, memory_order_relaxed);
    const int64_t limit_ns = call_ns > 0 ? call_ns + line->limit_ns : MONO_NS_PER_S - call_ns;
    if (call_ns == 0 || now_ns < limit_ns || line->adapter->interrupt == NULL) {
        return false;
    }
    pthread_mutex_lock(&line->lock);
    const bool is_cut = line->conn != NULL &&
                        atomic_compare_exchange_strong(&line->call_ns, &call_ns, -now_ns) &&
                        cut(line, name, NULL);
    pthread_mutex_unlock(&line->lock);
    return is_cut;
}

void busy_retry_init(struct busy_retry *retry)
{
    *retry = (struct busy_retry){mono_now_ns() + BUSY_LIMIT_NS, MONO_NS_PER_MS};
}

bool busy_retry_may_go_on(const struct busy_retry *retry, enum status status,
                          const struct error *error)
{
    return status == STATUS_REJECTED && error_is_transient(error) &&
           mono_now_ns() < retry->limit_ns;
}

int64_t busy_retry_pause_ns(struct busy_retry *retry)
{
    const int64_t pause_ns = retry->pause_ns;
    retry->pause_ns = MIN(2 * pause_ns, BUSY_PAUSE_MAX_NS);
    return pause_ns;
}

int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce)
{
    /* RECONNECT_FIRST_NS doubled seven times exceeds RECONNECT_MOST_NS */
    const int64_t most_ns = tries < 7 ? RECONNECT_FIRST_NS << tries : RECONNECT_MOST_NS;
    const uint64_t mixed = random_mix(random_mix(seed + session) + nonce);
    return (int64_t)(mixed % ((uint64_t)most_ns + 1));
}
