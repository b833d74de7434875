#include "measure/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct level *search_add_level(struct search *search)
{
    /* the array grows by one level each time, because a search has few levels */
    struct level *levels = realloc(search->levels, (search->count + 1) * sizeof *levels);
    if (levels == NULL) {
        return NULL;
    }
    search->levels = levels;
    struct level *level = &levels[search->count++];
    *level = (struct level){
        .outcome = LEVEL_UNFINISHED,
        .rows_per_s = -1,
        .lowest_rows_per_s = -1,
        .highest_rows_per_s = -1,
        .cpu = {-1, -1, -1},
        .server_memory_bytes = -1,
        .client_memory_bytes = -1,
        .room = {.times = INFINITY},
    };
    return level;
}

void level_compute_rates(struct level *level)
{
    if (level->hold_ns > 0) {
        level->rows_per_s = 1e9 * (double)level->rows / (double)level->hold_ns;
    }
    for (unsigned i = 0; i < level->part_count; i++) {
        const double rows_per_s = level->parts_rows_per_s[i];
        level->lowest_rows_per_s = i == 0 ? rows_per_s : fmin(level->lowest_rows_per_s, rows_per_s);
        level->highest_rows_per_s = fmax(level->highest_rows_per_s, rows_per_s);
    }
}

void level_fini(struct level *level)
{
    if (level->causes != NULL) {
        causes_fini(level->causes);
        free(level->causes);
    }
    free(level->findings);
}

void search_fini(struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        level_fini(&search->levels[i]);
    }
    free(search->levels);
    search->levels = NULL;
    search->count = 0;
}

void search_note_level(struct search *search)
{
    const struct level *last = &search->levels[search->count - 1];
    if (last->outcome == LEVEL_HELD && last->sessions > search->held) {
        search->held = last->sessions;
    }
    /* a failed level does not count if a level with at least as many sessions held */
    search->failed = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        if (level->outcome == LEVEL_FAILED && level->sessions > search->held &&
            (search->failed == 0 || level->sessions <= search->failed)) {
            search->failed = level->sessions;
            search->failure = i;
        }
    }
}

const struct cause *level_main_cause(const struct level *level)
{
    return level->causes == NULL ? NULL : causes_most_frequent(level->causes, CAUSE_PHASES);
}

const struct level *search_best(const struct search *search)
{
    const struct level *best = NULL;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        if (level->outcome == LEVEL_HELD &&
            (best == NULL || level->rows_per_s > best->rows_per_s)) {
            best = level;
        }
    }
    return best;
}

const struct level *search_knee(const struct search *search)
{
    const struct level *const best = search_best(search);
    const struct level *knee = best;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        if (level->outcome == LEVEL_HELD && level->sessions < knee->sessions &&
            level->rows_per_s >= (1 - SEARCH_KNEE_SHARE) * best->rows_per_s) {
            knee = level;
        }
    }
    return knee;
}

const struct level *search_knee_rival(const struct search *search)
{
    const struct level *const knee = search_knee(search);
    const struct level *rival = NULL;
    const bool is_known = knee != NULL && knee->lowest_rows_per_s >= 0;
    for (size_t i = 0; is_known && i < search->count; i++) {
        const struct level *level = &search->levels[i];
        if (level->outcome == LEVEL_HELD && level->sessions < knee->sessions &&
            level->highest_rows_per_s >= knee->lowest_rows_per_s &&
            (rival == NULL || level->highest_rows_per_s > rival->highest_rows_per_s)) {
            rival = level;
        }
    }
    return rival;
}

void search_p99(const struct search *search, const struct level **over, const struct level **within)
{
    *over = NULL;
    *within = NULL;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        if (level->append.count > 0 && level->append.p99_ns > search->p99_bound_ns &&
            (*over == NULL || level->sessions < (*over)->sessions)) {
            *over = level;
        }
    }
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        if (level->outcome == LEVEL_HELD && level->append.p99_ns <= search->p99_bound_ns &&
            (*over == NULL || level->sessions < (*over)->sessions) &&
            (*within == NULL || level->sessions > (*within)->sessions)) {
            *within = level;
        }
    }
}

double search_session_bytes(const struct search *search)
{
    const struct level *low = NULL;
    const struct level *high = NULL;
    for (size_t i = 0; i < search->count; i++) {
        const struct level *level = &search->levels[i];
        if (level->outcome != LEVEL_HELD || level->server_memory_bytes < 0) {
            continue;
        }
        low = low == NULL || level->sessions < low->sessions ? level : low;
        high = high == NULL || level->sessions > high->sessions ? level : high;
    }
    if (low == NULL || high->sessions == low->sessions ||
        high->server_memory_bytes <= low->server_memory_bytes) {
        return -1;
    }
    return (double)(high->server_memory_bytes - low->server_memory_bytes) /
           (double)(high->sessions - low->sessions);
}

const char *const level_outcome_names[] = {
    [LEVEL_HELD] = "held", [LEVEL_FAILED] = "failed", [LEVEL_UNFINISHED] = "unfinished"};

const char *const level_reason_names[] = {[LEVEL_NO_REASON] = "",
                                          [LEVEL_NO_THREAD] = "no_thread",
                                          [LEVEL_REFUSED] = "refused",
                                          [LEVEL_TIMED_OUT] = "timed_out",
                                          [LEVEL_DROPPED] = "dropped",
                                          [LEVEL_APPEND_FAILED] = "append_failed",
                                          [LEVEL_NO_PROGRESS] = "no_progress",
                                          [LEVEL_ENDED] = "ended"};

const char *const search_end_names[] = {[SEARCH_GOES_ON] = "",
                                        [SEARCH_FOUND] = "found",
                                        [SEARCH_BOUND] = "bound",
                                        [SEARCH_MEMORY] = "memory",
                                        [SEARCH_TIME] = "time",
                                        [SEARCH_ROWS] = "rows",
                                        [SEARCH_INTERRUPTED] = "interrupted",
                                        [SEARCH_SCRIPT] = "script",
                                        [SEARCH_GONE] = "gone",
                                        [SEARCH_STUCK] = "stuck",
                                        [SEARCH_RANK_LOST] = "lost"};

const char *const search_end_texts[] = {
    [SEARCH_GOES_ON] = "by an error",
    [SEARCH_FOUND] = "by a level that failed",
    [SEARCH_BOUND] = "by the bound on sessions",
    [SEARCH_MEMORY] = "by --max-memory, not by the server",
    [SEARCH_TIME] = "by --max-time, not by the server",
    [SEARCH_ROWS] = "by the bound on rows, not by the server",
    [SEARCH_INTERRUPTED] = "by a signal, not by the server",
    [SEARCH_SCRIPT] = "by an error in the script, not by the server",
    [SEARCH_GONE] = "by the server, which accepted no connection for 60 s",
    [SEARCH_STUCK] = "by sessions that did not disconnect in time",
    [SEARCH_RANK_LOST] = "by the loss of a rank, not by the server",
};

const char *const search_bound_names[] = {
    [BOUND_USER] = "user", [BOUND_CLIENT] = "client", [BOUND_PROGRAM] = "program"};
