#include "measure/ledger.h"

bool session_ledger_balances(const struct session_ledger *ledger)
{
    return ledger->requested ==
               ledger->connected + ledger->refused + ledger->timed_out + ledger->not_started &&
           ledger->connected == ledger->finished + ledger->stopped + ledger->dropped;
}

bool row_ledger_balances(const struct row_ledger *ledger)
{
    return ledger->planned ==
           ledger->acknowledged + ledger->rejected + ledger->in_doubt + ledger->not_sent;
}

void session_ledger_add(struct session_ledger *into, const struct session_ledger *from)
{
    into->requested += from->requested;
    into->connected += from->connected;
    into->refused += from->refused;
    into->timed_out += from->timed_out;
    into->not_started += from->not_started;
    into->finished += from->finished;
    into->stopped += from->stopped;
    into->dropped += from->dropped;
}

void row_ledger_add(struct row_ledger *into, const struct row_ledger *from)
{
    into->planned += from->planned;
    into->acknowledged += from->acknowledged;
    into->rejected += from->rejected;
    into->in_doubt += from->in_doubt;
    into->not_sent += from->not_sent;
}

/* Moves as many as possible of *available to an account that can take `wanted`. */
static uint64_t credit(uint64_t *available, uint64_t wanted)
{
    const uint64_t credited = *available < wanted ? *available : wanted;
    *available -= credited;
    return credited;
}

void verification_settle(struct verification *verification, const struct row_ledger *rows)
{
    const uint64_t before = verification->rows_before;
    const uint64_t after = verification->rows_after;
    uint64_t there = after;
    verification->lost = rows->acknowledged - credit(&there, rows->acknowledged);
    verification->is_shrunk = after < before;
    uint64_t arrived = after > before ? after - before : 0;
    verification->lost_at_most = rows->acknowledged - credit(&arrived, rows->acknowledged);
    verification->in_doubt_arrived = credit(&arrived, rows->in_doubt);
    verification->rejected_arrived = credit(&arrived, rows->rejected);
    verification->surplus = arrived;
}
