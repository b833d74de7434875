#include "load/ladder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mono.h"
#include "base/units.h"
#include "load/driver_parts.h"
#include "load/ladder_level.h"
#include "load/ladder_steps.h"

/* How long a server that lost all sessions may take to let one in again, and how often it is asked.
 */
#define RETURN_LIMIT_NS (60 * MONO_NS_PER_S)
#define RETURN_PAUSE_NS MONO_NS_PER_S

enum {
    SNAPSHOTS = 3
};

static enum status init(struct ladder *ladder, struct error *error)
{
    const struct driver_config *driver = ladder->config->driver;
    causes_init(&ladder->causes);
    driver_init_load(&ladder->load, driver, &ladder->causes);
    ladder_memory_init(&ladder->memory, ladder->config->max_memory_bytes);
    ladder->deadline_ns = driver->start_ns + ladder->config->max_time_ns;
    ladder->snapshots = calloc(SNAPSHOTS, sizeof *ladder->snapshots);
    ladder->difference = calloc(1, sizeof *ladder->difference);
    const bool has_crew = crew_init(&ladder->crew, &ladder->load);
    if (ladder->snapshots != NULL && ladder->difference != NULL && has_crew) {
        return STATUS_OK;
    }
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for %s sessions",
              UNITS_COUNT(driver->plan->sessions));
    return STATUS_FATAL;
}

static void fini(struct ladder *ladder)
{
    if (ladder->crew.members != NULL) {
        crew_fini(&ladder->crew);
    }
    free(ladder->snapshots);
    free(ladder->difference);
    driver_fini_load(&ladder->load);
    causes_fini(&ladder->causes);
}

/* After a level at which every session was lost: one session at a time asks whether the server lets
 * anyone in again. What that one is told is no part of a level. */
static void await_server(struct ladder *ladder)
{
    const int64_t limit_ns = mono_now_ns() + RETURN_LIMIT_NS;
    int64_t next_ns = mono_now_ns();
    struct session_ledger ignored = {0};
    while (ladder_tick(ladder, &ignored, NULL) == 0 && !ladder_is_over(ladder)) {
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= limit_ns) {
            ladder->is_over = true;
            ladder->search->end = SEARCH_GONE;
        } else if (ladder->crew.live == 0 && now_ns >= next_ns) {
            next_ns = now_ns + RETURN_PAUSE_NS;
            crew_start(&ladder->crew); /* without a thread: again after the pause */
        }
    }
    ladder_forget_causes(ladder);
}

/* What of the next level fits into the memory; 0: nothing that would be a step. */
static unsigned fit_memory(struct ladder *ladder, unsigned next)
{
    const unsigned live = ladder->crew.live;
    const uint64_t used = ladder_memory_used(&ladder->memory);
    const unsigned fits = ladder_memory_fits(&ladder->memory, live, used);
    if (next <= live || fits >= next) {
        return next;
    }
    char used_text[UNITS_TEXT_BYTES];
    char limit_text[UNITS_TEXT_BYTES];
    snprintf(ladder->search->end_note, sizeof ladder->search->end_note,
             "%s of this machine in use with %s sessions, %s would pass %s",
             units_format_bytes(used, used_text), UNITS_COUNT(live), UNITS_COUNT(next),
             units_format_bytes(ladder->memory.limit_bytes, limit_text));
    const unsigned held = ladder->search->held;
    /* steps of less than a twentieth would only creep up to a bound that is an estimate */
    return fits > held + held / 20 ? fits : 0;
}

static void note_memory(struct ladder *ladder)
{
    struct search *search = ladder->search;
    if (search->end != SEARCH_MEMORY || search->end_note[0] != '\0') {
        return;
    }
    char used_text[UNITS_TEXT_BYTES];
    char limit_text[UNITS_TEXT_BYTES];
    snprintf(search->end_note, sizeof search->end_note, "%s of this machine in use, %s may be",
             units_format_bytes(ladder_memory_used(&ladder->memory), used_text),
             units_format_bytes(ladder->memory.limit_bytes, limit_text));
}

/* The next level; NULL: the search is over. */
static struct level *next_level(struct ladder *ladder, const struct ladder_steps *steps)
{
    struct search *search = ladder->search;
    const unsigned next = ladder_steps_next(steps);
    search->end_note[0] = '\0';
    if (next == 0) {
        ladder->is_over = true;
        search->end = search->failed == 0 ? SEARCH_BOUND : SEARCH_FOUND;
        return NULL;
    }
    if (ladder_is_over(ladder)) {
        return NULL;
    }
    const unsigned fitting = fit_memory(ladder, next);
    struct level *level = fitting == 0 ? NULL : search_add_level(search);
    if (level == NULL) {
        ladder->is_over = true;
        search->end = SEARCH_MEMORY;
        return NULL;
    }
    level->sessions = fitting;
    return level;
}

static void climb_all(struct ladder *ladder)
{
    const struct ladder_config *config = ladder->config;
    struct ladder_steps steps = {.first = config->first, .bound = config->driver->plan->sessions};
    struct level *level = NULL;
    while (!ladder->is_over && (level = next_level(ladder, &steps)) != NULL) {
        if (config->on_begin != NULL) {
            config->on_begin(config->context, level);
        }
        ladder_climb(ladder, level);
        search_note_level(ladder->search);
        if (config->on_level != NULL) {
            config->on_level(config->context, level);
        }
        if (level->outcome == LEVEL_UNFINISHED) {
            break;
        }
        const bool was_kept_out = level->reason == LEVEL_REFUSED ||
                                  level->reason == LEVEL_TIMED_OUT ||
                                  level->reason == LEVEL_NO_THREAD;
        ladder_steps_note(&steps, level->sessions, level->outcome == LEVEL_HELD,
                          was_kept_out ? (unsigned)level->up : 0);
        if (level->outcome == LEVEL_FAILED && ladder->crew.live == 0 && level->ledger.dropped > 0) {
            await_server(ladder);
        }
    }
    note_memory(ladder);
}

/* Every session ends; those that do not in time lose their connection. */
static void stop_all(struct ladder *ladder)
{
    gate_stop(&ladder->load.gate,
              ladder->search->end == SEARCH_INTERRUPTED ? STOP_INTERRUPTED : STOP_DURATION);
    int64_t interrupt_ns = mono_now_ns() + SESSION_GRACE_NS;
    struct session_ledger ignored = {0};
    while (ladder->crew.live > 0) {
        ladder_tick(ladder, &ignored, NULL);
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= interrupt_ns) {
            crew_interrupt(&ladder->crew, false);
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
}

enum status ladder_run(const struct ladder_config *config, struct search *search,
                       struct result *result, struct error *error)
{
    struct ladder ladder = {.config = config, .search = search, .rest_at_rows = UINT64_MAX};
    const enum status status = init(&ladder, error);
    if (status == STATUS_OK) {
        gate_open(&ladder.load.gate, mono_now_ns());
        sampler_mark_work(config->driver->sampler);
        climb_all(&ladder);
        stop_all(&ladder);
        result->sessions = ladder.crew.total;
        result->sessions_cut = ladder.crew.cut;
        crew_sum_up(&ladder.crew, &result->rows, &result->worst_lag_rows);
        driver_sum_up_times(&ladder.load, config->driver, result);
        search->elapsed_ns = result->elapsed_ns;
    }
    fini(&ladder);
    return status;
}
