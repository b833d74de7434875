/*
 * Connections of a session that are opened while the run goes on: after a loss, and for --churn.
 *
 * Before each try after a loss the session sleeps for a random time of up to RECONNECT_FIRST_NS,
 * doubled with every try to RECONNECT_MOST_NS: "full jitter", which spreads those that lost their
 * connections at the same moment (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
 * Blog, 2015). Tries count from the last batch that was answered, by anything but
 * "read-only", so that a server which takes
 * connections and then drops them does not keep the session for ever. No more sessions connect at a
 * time than --connect-concurrency allows. Every wait ends at STOP.
 *
 * Called by the session's own thread.
 */
#ifndef LOAD_RECONNECT_H
#define LOAD_RECONNECT_H

#include "load/session.h"

#define RECONNECT_FIRST_NS (INT64_C(50) * 1000000)
#define RECONNECT_MOST_NS (INT64_C(5) * 1000000000)

/* The connection is gone and nobody on this side has cut it: counts that, and closes what is left
 * of it. One to a read-only server is closed, too: another try may reach the new primary. OK: with
 * --on-drop reconnect the session is connected again and ready to append. LOST: it has to end: not
 * asked for, too many tries, or the run ended first (*is_stopped). FATAL: the server does not want
 * this session any more. */
enum status reconnect_after_loss(struct session *session, bool *is_stopped);

/* With --churn, when a connection has had its batches and there is work left: closes it and opens
 * another one. OK also when STOP came first: then the session has no connection. Otherwise it could
 * not be had, which counts as a loss to come. */
enum status reconnect_churn(struct session *session);

/* How long session number `session` sleeps before try number `tries` (from 0) since an answer;
 * `nonce` is another one for each sleep. */
int64_t reconnect_pause_ns(uint64_t seed, unsigned session, unsigned tries, uint64_t nonce);

#endif
