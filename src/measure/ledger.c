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

bool batch_ledger_balances(const struct batch_ledger *ledger)
{
    return ledger->due == ledger->sent + ledger->not_sent;
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
    verification->lost = 0;
    verification->in_doubt_arrived = 0;
    verification->surplus = 0;
    verification->is_shrunk = verification->rows_after < verification->rows_before;
    if (verification->is_shrunk) {
        return;
    }
    uint64_t arrived = verification->rows_after - verification->rows_before;
    verification->lost = rows->acknowledged - credit(&arrived, rows->acknowledged);
    verification->in_doubt_arrived = credit(&arrived, rows->in_doubt);
    verification->surplus = arrived;
}
