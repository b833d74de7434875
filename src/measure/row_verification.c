#include "measure/row_verification.h"

#include <stdlib.h>

enum {
    WORD_BITS = 64
};

struct row_map {
    size_t count;      /* sessions */
    uint64_t *words;   /* bits of all sessions, one behind the other */
    uint64_t firsts[]; /* bit of each session's first row; `count` + 1 entries */
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
        free(map);
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

/* Bits that are set among `rows` ones from `bit` on. */
static uint64_t count_bits(const struct row_map *map, uint64_t bit, uint64_t rows)
{
    uint64_t found = 0;
    while (rows > 0) {
        const uint64_t shift = bit % WORD_BITS;
        const uint64_t length = rows < WORD_BITS - shift ? rows : WORD_BITS - shift;
        const uint64_t mask = length == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << length) - 1;
        found += (uint64_t)__builtin_popcountll(map->words[bit / WORD_BITS] >> shift & mask);
        bit += length;
        rows -= length;
    }
    return found;
}

static void settle_session(const struct row_map *map, struct session_summary *session,
                           uint64_t first_bit, struct row_verification *verification)
{
    uint64_t acknowledged = session->begun;
    session->present = count_bits(map, first_bit, session->begun);
    for (size_t i = 0; i < session->exception_count; i++) {
        const struct row_exception *exception = &session->exceptions[i];
        const uint64_t there = count_bits(map, first_bit + exception->first, exception->rows);
        const uint64_t more = there > exception->accepted ? there - exception->accepted : 0;
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
}

void row_map_settle(const struct row_map *map, struct session_summary *sessions,
                    struct row_verification *verification)
{
    for (size_t i = 0; i < map->count; i++) {
        settle_session(map, &sessions[i], map->firsts[i], verification);
        verification->present += sessions[i].present;
        verification->lost += sessions[i].lost;
        verification->sessions_lost += sessions[i].lost > 0 ? 1 : 0;
    }
}
