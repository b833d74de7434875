#include "measure/ledger.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mono.h"

bool session_ledger_balances(const struct session_ledger *ledger)
{
    struct session_ledger sums = {.connected = 0};
#define ADD_TO_TOTAL(member, figure, id, total) sums.total += ledger->member;
    SESSION_OUTCOMES(ADD_TO_TOTAL)
#undef ADD_TO_TOTAL
    return ledger->requested == ledger->connected + sums.requested &&
           ledger->connected == sums.connected;
}

void session_ledger_count(struct session_ledger *ledger, enum session_outcome outcome)
{
#define AS_ENTRY(member, figure, id, total) [SESSION_##id] = &ledger->member,
    uint64_t *const entries[] = {SESSION_OUTCOMES(AS_ENTRY)};
#undef AS_ENTRY
    ++*entries[outcome];
}

bool row_ledger_balances(const struct row_ledger *ledger)
{
    return ledger->planned ==
           ledger->acknowledged + ledger->rejected + ledger->in_doubt + ledger->not_sent;
}

void ledger_add(void *into, const void *from, size_t bytes)
{
    uint64_t *const sums = into;
    const uint64_t *const more = from;
    for (size_t i = 0; i < bytes / sizeof *sums; i++) {
        sums[i] += more[i];
    }
}

uint64_t transactions_retries(const uint64_t counters[RECORDER_COUNTERS])
{
    uint64_t retries = 0;
    for (size_t i = COUNTS_OF_RETRIES; i < OPERATION_COUNTS; i++) {
        retries += counters[operation_count_sums[i]];
    }
    return retries;
}

bool operation_counts_balance(const uint64_t counts[OPERATION_COUNTS])
{
    uint64_t ended = 0, retries = 0;
    for (size_t i = COUNTS_OF_ENDS; i <= COUNTS_OF_ENDS_LAST; i++) {
        ended += counts[i];
    }
    for (size_t i = COUNTS_OF_RETRIES; i < OPERATION_COUNTS; i++) {
        retries += counts[i];
    }
    return counts[COUNT_SENT] ==
               counts[COUNT_ANSWERED] + counts[COUNT_REFUSED] + counts[COUNT_UNANSWERED] &&
           counts[COUNT_BEGUN] == ended && counts[COUNT_TRIES] == ended + retries &&
           counts[COUNT_PARTIAL] <= counts[COUNT_FAILED];
}

bool transactions_balance(const uint64_t counters[RECORDER_COUNTERS])
{
    const uint64_t begun = counters[RECORDER_TRANSACTIONS_BEGUN];
    const uint64_t due = counters[RECORDER_TRANSACTIONS_DUE];
    uint64_t counts[OPERATION_COUNTS] = {0};
    for (size_t i = COUNTS_OF_TRANSACTIONS; i < OPERATION_COUNTS; i++) {
        counts[i] = counters[operation_count_sums[i]];
    }
    return operation_counts_balance(counts) &&
           counters[RECORDER_TRANSACTIONS_FAILED] == counters[RECORDER_TRANSACTIONS_EXHAUSTED] +
                                                         counters[RECORDER_TRANSACTIONS_REFUSED] +
                                                         counters[RECORDER_TRANSACTIONS_LOST] &&
           (due == 0 ||
            due + counters[RECORDER_TRANSACTIONS_NOT_DUE] ==
                begun + counters[RECORDER_SKIPPED] + counters[RECORDER_TRANSACTIONS_NOT_BEGUN]);
}

/* Takes up to `wanted` rows from *available, and returns how many rows it took. */
static uint64_t credit(uint64_t *available, uint64_t wanted)
{
    const uint64_t credited = MIN(*available, wanted);
    *available -= credited;
    return credited;
}

void verification_evaluate(struct verification *verification, const struct row_ledger *rows)
{
    const uint64_t before = verification->rows_before;
    const uint64_t after = verification->rows_after;
    uint64_t there = after;
    verification->lost = rows->acknowledged - credit(&there, rows->acknowledged);
    verification->is_shrunk = after < before;
    uint64_t arrived = after - MIN(after, before);
    verification->lost_at_most = rows->acknowledged - credit(&arrived, rows->acknowledged);
    verification->in_doubt_arrived = credit(&arrived, rows->in_doubt);
    verification->rejected_arrived = credit(&arrived, rows->rejected);
    verification->surplus = arrived;
}

void verification_evaluate_table(struct verification *verification)
{
    const uint64_t added = verification->rows_before + verification->added;
    const uint64_t taken = verification->taken + verification->taken_in_doubt;
    const uint64_t least = added > taken ? added - taken : 0;
    const uint64_t all = added + verification->added_in_doubt;
    const uint64_t most = all > verification->taken ? all - verification->taken : 0;
    const uint64_t after = verification->rows_after;
    verification->lost = after < least ? least - after : 0;
    verification->surplus = after > most ? after - most : 0;
}

void causes_init(struct causes *causes)
{
    memset(causes, 0, sizeof(*causes));
    /* pthread_mutex_init cannot fail if the attributes are NULL */
    pthread_mutex_init(&causes->lock, NULL);
}

void causes_fini(struct causes *causes)
{
    if (causes != NULL) {
        pthread_mutex_destroy(&causes->lock);
    }
}

void causes_add(struct causes *causes, enum cause_phase phase, enum status status,
                const struct error *error, int64_t now_ns)
{
    causes_add_named(causes, phase, NULL, status, error, now_ns);
}

void causes_add_named(struct causes *causes, enum cause_phase phase, const char *name,
                      enum status status, const struct error *error, int64_t now_ns)
{
    static const struct error none = {.kind = ERROR_NONE};
    causes_merge_cause(causes, &(struct cause){phase, status, name, error != NULL ? *error : none,
                                               1, now_ns, now_ns});
}

void causes_merge_cause(struct causes *causes, const struct cause *more)
{
    const struct error *reason = &more->error;
    const char *name = more->name;
    pthread_mutex_lock(&causes->lock);
    for (size_t i = 0; i < causes->count; i++) {
        struct cause *cause = &causes->entries[i];
        /* causes with different statuses have separate entries, because the status shows whether
         * sessions went on or ended; the database may report the same code in both cases */
        const bool is_same_name = cause->name == name || (cause->name != NULL && name != NULL &&
                                                          strcmp(cause->name, name) == 0);
        if (is_same_name && cause->phase == more->phase && cause->status == more->status &&
            cause->error.kind == reason->kind && cause->error.native_code == reason->native_code &&
            strncmp(cause->error.sqlstate, reason->sqlstate, sizeof reason->sqlstate) == 0) {
            cause->count += more->count;
            /* threads read the clock before they take the lock, so times may be out of order */
            cause->first_ns = MIN(more->first_ns, cause->first_ns);
            cause->last_ns = MAX(more->last_ns, cause->last_ns);
            goto out;
        }
    }
    if (causes->count < CAUSES_MAX) {
        causes->entries[causes->count++] = *more;
    } else {
        causes->others += more->count;
    }
out:
    pthread_mutex_unlock(&causes->lock);
}

const struct cause *causes_most_frequent(const struct causes *causes, enum cause_phase phase)
{
    const struct cause *most = NULL;
    for (size_t i = 0; i < causes->count; i++) {
        const struct cause *cause = &causes->entries[i];
        const bool is_wanted = phase == CAUSE_PHASES || cause->phase == phase;
        most = is_wanted && (most == NULL || cause->count > most->count) ? cause : most;
    }
    return most;
}

void causes_clear(struct causes *causes)
{
    pthread_mutex_lock(&causes->lock);
    causes->count = 0;
    causes->others = 0;
    pthread_mutex_unlock(&causes->lock);
}

void causes_copy(struct causes *into, struct causes *from)
{
    pthread_mutex_lock(&from->lock);
    into->count = from->count;
    into->others = from->others;
    memcpy(into->entries, from->entries, sizeof into->entries);
    pthread_mutex_unlock(&from->lock);
}

const char *const cause_phase_names[] = {
    [CAUSE_THREAD] = "thread",       [CAUSE_CONNECT] = "connect", [CAUSE_HOST] = "host",
    [CAUSE_BUSY] = "busy",           [CAUSE_APPEND] = "append",   [CAUSE_READ] = "read",
    [CAUSE_RECONNECT] = "reconnect", [CAUSE_IDLE] = "idle",       [CAUSE_STATEMENT] = "statement",
    [CAUSE_SCRIPT] = "script"};

#define OUTCOME_AS_NAME(member, figure, id, total) [SESSION_##id] = #member,
const char *const session_outcome_names[] = {SESSION_OUTCOMES(OUTCOME_AS_NAME)};
#undef OUTCOME_AS_NAME

double session_rows_per_s(const struct session_summary *session)
{
    return session->worked_ns > 0 ? (double)session->rows.acknowledged /
                                        ((double)session->worked_ns / (double)MONO_NS_PER_S)
                                  : -1;
}

void session_list_free(struct session_summary *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++) {
        free(list[i].exceptions);
    }
    free(list);
}

void fairness_compute(struct fairness *fairness, const struct session_summary *list, size_t count)
{
    *fairness = (struct fairness){0};
    for (size_t i = 0; i < count; i++) {
        const double rows_per_s = session_rows_per_s(&list[i]);
        if (list[i].is_idle || rows_per_s < 0) {
            continue;
        }
        if (fairness->sessions == 0 || rows_per_s < fairness->slowest_rows_per_s) {
            fairness->slowest_rows_per_s = rows_per_s;
            fairness->slowest_session = list[i].index;
        }
        if (fairness->sessions == 0 || rows_per_s > fairness->fastest_rows_per_s) {
            fairness->fastest_rows_per_s = rows_per_s;
            fairness->fastest_session = list[i].index;
        }
        if (fairness->sessions == 0 || list[i].longest_gap_ns > fairness->longest_gap_ns) {
            fairness->longest_gap_ns = list[i].longest_gap_ns;
            fairness->longest_gap_session = list[i].index;
        }
        fairness->sessions++;
    }
}

enum {
    WORD_BITS = 64
};

struct row_map {
    size_t count;      /* number of sessions */
    uint64_t *words;   /* the bits of all sessions, one session after the other */
    uint64_t firsts[]; /* index of the first bit of each session; the last entry is the number of
                          all bits */
};

struct row_map *row_map_create(const struct session_summary *sessions, size_t count)
{
    struct row_map *map = calloc(1, sizeof *map + (count + 1) * sizeof map->firsts[0]);
    if (map == NULL) {
        return NULL;
    }
    map->count = count;
    for (size_t i = 0; i < count; i++) {
        map->firsts[i + 1] = map->firsts[i] + sessions[i].begun;
    }
    map->words = calloc((size_t)(map->firsts[count] / WORD_BITS) + 1, sizeof map->words[0]);
    if (map->words == NULL) {
        row_map_destroy(map);
        return NULL;
    }
    return map;
}

void row_map_destroy(struct row_map *map)
{
    if (map != NULL) {
        free(map->words);
        free(map);
    }
}

void row_map_add(struct row_map *map, int64_t session, int64_t row,
                 struct session_summary *sessions, struct row_verification *verification)
{
    verification->read++;
    if (session < 0 || (uint64_t)session >= map->count || row < 0 ||
        (uint64_t)row >= map->firsts[session + 1] - map->firsts[session]) {
        verification->foreign++;
        return;
    }
    const uint64_t bit = map->firsts[session] + (uint64_t)row;
    const uint64_t mask = UINT64_C(1) << bit % WORD_BITS;
    uint64_t *word = &map->words[bit / WORD_BITS];
    if ((*word & mask) != 0) {
        sessions[session].duplicates++;
        verification->duplicates++;
    }
    *word |= mask;
}

/* Returns the number of bits set among the `rows` bits from `bit` on. */
static uint64_t count_bits(const struct row_map *map, uint64_t bit, uint64_t rows)
{
    uint64_t found = 0;
    while (rows > 0) {
        const uint64_t shift = bit % WORD_BITS;
        const uint64_t length = MIN(rows, WORD_BITS - shift);
        const uint64_t mask = length == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << length) - 1;
        found += (uint64_t)__builtin_popcountll(map->words[bit / WORD_BITS] >> shift & mask);
        bit += length;
        rows -= length;
    }
    return found;
}

void row_map_evaluate(const struct row_map *map, struct session_summary *sessions,
                      struct row_verification *verification)
{
    for (size_t i = 0; i < map->count; i++) {
        struct session_summary *session = &sessions[i];
        uint64_t acknowledged = session->begun;
        session->present = count_bits(map, map->firsts[i], session->begun);
        for (size_t k = 0; k < session->exception_count; k++) {
            const struct row_exception *exception = &session->exceptions[k];
            const uint64_t there =
                count_bits(map, map->firsts[i] + exception->first, exception->rows);
            const uint64_t more = there - MIN(there, exception->accepted);
            acknowledged -= exception->rows - exception->accepted;
            session->present -= more;
            session->unacknowledged_present += more;
            if (exception->is_in_doubt) {
                verification->in_doubt_present += more;
            } else {
                verification->rejected_present += more;
            }
        }
        session->lost = acknowledged - session->present;
        session->is_verified = true;
        verification->present += session->present;
        verification->lost += session->lost;
        verification->sessions_lost += session->lost > 0 ? 1 : 0;
    }
}
