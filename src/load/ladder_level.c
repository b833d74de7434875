#include "load/ladder_level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mono.h"
#include "load/driver_parts.h"

/* How often the main thread looks around, and how often at the memory. */
#define TICK_NS (50 * MONO_NS_PER_MS)
#define MEMORY_NS (250 * MONO_NS_PER_MS)

/* How much longer a hold may be, so that a sample falls into it. */
#define SAMPLE_LIMIT_NS (5 * MONO_NS_PER_S)

/* How long sessions may take to leave, the last part of it without their connection. */
#define LEAVE_LIMIT_NS (3 * SESSION_GRACE_NS)

/* A hold that takes too large a share of the rows that may be written still lasts as long. */
#define HOLD_LEAST_NS MONO_NS_PER_S

/* Sessions that were lost together are seen one after the other. */
#define CALM_NS (300 * MONO_NS_PER_MS)
#define CALM_LIMIT_NS (5 * MONO_NS_PER_S)

enum {
    AT_START,
    AT_HOLD,
    AT_END
};

enum {
    HOLD_PARTS = 5, /* of a hold, for the spread of its rows/s */
    HOLD_SHARE = 8, /* one part in so many of the rows that are left is for one hold */
    STEP_SHARE = 16 /* and one for the time until the next one */
};

/* The course of a hold. */
struct course {
    int64_t from_ns; /* of the part that goes on */
    uint64_t from_rows;
    uint64_t share_rows; /* with so many rows the hold is over early */
};

static void end_search(struct ladder *ladder, enum search_end end)
{
    if (!ladder->is_over) {
        ladder->is_over = true;
        ladder->search->end = end;
    }
}

static uint64_t rows_written(const struct ladder *ladder)
{
    return recorder_read(ladder->config->driver->recorder, RECORDER_ROWS_ACKNOWLEDGED);
}

bool ladder_is_over(struct ladder *ladder)
{
    const int64_t now_ns = mono_now_ns();
    if (interrupt_requested()) {
        end_search(ladder, SEARCH_INTERRUPTED);
    } else if (now_ns >= ladder->deadline_ns) {
        end_search(ladder, SEARCH_TIME);
    } else if (ladder->config->max_rows > 0 && rows_written(ladder) >= ladder->config->max_rows) {
        end_search(ladder, SEARCH_ROWS);
    } else if (now_ns >= ladder->next_memory_ns) {
        ladder->next_memory_ns = now_ns + MEMORY_NS;
        if (ladder_memory_is_passed(&ladder->memory, ladder_memory_used(&ladder->memory))) {
            end_search(ladder, SEARCH_MEMORY);
        }
    }
    return ladder->is_over;
}

/* The rows that are written when one part in `share` of those that are left has been. */
static uint64_t rows_at_share(const struct ladder *ladder, unsigned share)
{
    const uint64_t most = ladder->config->max_rows, written = rows_written(ladder);
    return most == 0 ? UINT64_MAX : written < most ? written + (most - written) / share : written;
}

unsigned ladder_tick(struct ladder *ladder, struct session_ledger *ledger, unsigned *connecting)
{
    const struct gate_numbers numbers =
        gate_wait_change(&ladder->load.gate, mono_now_ns() + TICK_NS);
    crew_reap(&ladder->crew, ledger);
    if (ladder->rest_at_rows < UINT64_MAX && rows_written(ladder) >= ladder->rest_at_rows) {
        gate_rest(&ladder->load.gate, true);
        ladder->rest_at_rows = UINT64_MAX;
    }
    if (connecting != NULL) {
        *connecting = numbers.connecting;
    }
    return numbers.working;
}

/* The first reason stays. Evidence is taken while what was short still is. */
static void fail(struct ladder *ladder, struct level *level, enum level_reason reason)
{
    if (level->reason == LEVEL_NO_REASON) {
        level->reason = reason;
    }
    const struct driver_config *driver = ladder->config->driver;
    if (!ladder->is_shortage_told && driver->on_shortage != NULL) {
        ladder->is_shortage_told = true;
        driver->on_shortage(driver->context);
    }
}

/* Judges by what has ended. */
static bool has_failed(struct ladder *ladder, struct level *level)
{
    const struct session_ledger *ledger = &level->ledger;
    if (ledger->refused > 0) {
        fail(ladder, level, LEVEL_REFUSED);
    } else if (ledger->timed_out > 0) {
        fail(ladder, level, LEVEL_TIMED_OUT);
    } else if (ledger->dropped > 0) {
        fail(ladder, level, LEVEL_DROPPED);
    }
    return level->reason != LEVEL_NO_REASON;
}

static uint64_t calls_failed(struct ladder *ladder)
{
    struct recorder *recorder = ladder->config->driver->recorder;
    return recorder_read(recorder, RECORDER_APPENDS_FAILED) +
           recorder_read(recorder, RECORDER_COUNTS_FAILED);
}

void ladder_forget_causes(struct ladder *ladder)
{
    pthread_mutex_lock(&ladder->causes.lock);
    ladder->causes.count = 0;
    ladder->causes.others = 0;
    pthread_mutex_unlock(&ladder->causes.lock);
}

static void dismiss(struct ladder *ladder, struct level *level)
{
    if (ladder->crew.live <= level->sessions) {
        return;
    }
    const uint64_t cut_before = ladder->crew.cut;
    crew_dismiss(&ladder->crew, ladder->crew.live - level->sessions);
    const int64_t start_ns = mono_now_ns();
    int64_t interrupt_ns = start_ns + SESSION_GRACE_NS;
    while (ladder->crew.leaving > 0 && !ladder_is_over(ladder)) {
        ladder_tick(ladder, &level->ledger, NULL);
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= start_ns + LEAVE_LIMIT_NS) {
            level->reason = LEVEL_STAYED;
            end_search(ladder, SEARCH_STUCK);
        } else if (now_ns >= interrupt_ns) {
            crew_interrupt(&ladder->crew, true);
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
    if (ladder->crew.cut > cut_before) {
        /* the call that was cut has failed: not by the level that comes */
        ladder->failed_before = calls_failed(ladder);
        ladder_forget_causes(ladder);
    }
}

/* A session that fails ends the start: the next ones are not asked for at a server that is full. */
static void add_sessions(struct ladder *ladder, struct level *level)
{
    struct crew *crew = &ladder->crew;
    const unsigned concurrency = ladder->load.plan->connect_concurrency;
    unsigned connecting = 0;
    while (crew->live < level->sessions && !has_failed(ladder, level) && !ladder_is_over(ladder)) {
        if (connecting >= concurrency) {
            ladder_tick(ladder, &level->ledger, &connecting);
            continue;
        }
        const int rc = crew_start(crew);
        if (rc != 0) {
            driver_blame_thread(&ladder->load, crew->live + 1, rc);
            fail(ladder, level, LEVEL_NO_THREAD);
            return;
        }
        connecting++;
    }
}

/* Waits until every session is up or has ended. */
static void settle(struct ladder *ladder, struct level *level)
{
    for (;;) {
        const unsigned up = ladder_tick(ladder, &level->ledger, NULL);
        has_failed(ladder, level);
        level->up = up;
        if (up >= ladder->crew.live || ladder_is_over(ladder)) {
            return;
        }
    }
}

/* After sessions were lost: what else was lost with them belongs to this level. */
static void calm_down(struct ladder *ladder, struct level *level)
{
    const int64_t limit_ns = mono_now_ns() + CALM_LIMIT_NS;
    int64_t calm_ns = mono_now_ns() + CALM_NS;
    unsigned live = ladder->crew.live;
    while (mono_now_ns() < calm_ns && mono_now_ns() < limit_ns && !ladder_is_over(ladder)) {
        level->up = ladder_tick(ladder, &level->ledger, NULL);
        if (ladder->crew.live != live) {
            live = ladder->crew.live;
            calm_ns = mono_now_ns() + CALM_NS;
        }
    }
}

static bool is_held(struct ladder *ladder, struct level *level)
{
    level->up = ladder_tick(ladder, &level->ledger, NULL);
    if (calls_failed(ladder) > ladder->failed_before && !has_failed(ladder, level)) {
        /* a session that was lost with the call is about to end */
        calm_down(ladder, level);
        if (!has_failed(ladder, level)) {
            fail(ladder, level, LEVEL_APPEND_FAILED);
        }
    }
    return !has_failed(ladder, level) && !ladder_is_over(ladder);
}

/* Reading the memory of many processes takes a while: then the hold lasts until it was done. */
static bool is_sampled(const struct ladder *ladder, int64_t held_ns)
{
    return ladder->load.sampler == NULL || hold_samples_has_one(ladder->config->samples) ||
           held_ns >= ladder->config->hold_ns + SAMPLE_LIMIT_NS;
}

/* Takes note of the rows/s of a part that is over. */
static void note_part(struct ladder *ladder, struct level *level, struct course *course)
{
    const int64_t now_ns = mono_now_ns();
    if (now_ns - course->from_ns < ladder->config->hold_ns / HOLD_PARTS) {
        return;
    }
    const uint64_t rows = rows_written(ladder);
    const double rows_per_s = (double)(rows - course->from_rows) * (double)MONO_NS_PER_S /
                              (double)(now_ns - course->from_ns);
    course->from_ns = now_ns;
    course->from_rows = rows;
    if (level->lowest_rows_per_s < 0 || rows_per_s < level->lowest_rows_per_s) {
        level->lowest_rows_per_s = rows_per_s;
    }
    level->highest_rows_per_s = fmax(level->highest_rows_per_s, rows_per_s);
}

static bool is_long_enough(const struct ladder *ladder, int64_t held_ns,
                           const struct course *course)
{
    return held_ns >= ladder->config->hold_ns ||
           (held_ns >= HOLD_LEAST_NS && rows_written(ladder) >= course->share_rows);
}

static void hold(struct ladder *ladder, struct level *level)
{
    const int64_t start_ns = ladder->snapshots[AT_HOLD].taken_ns;
    struct course course = {
        .from_ns = start_ns,
        .from_rows = rows_written(ladder),
        .share_rows = rows_at_share(ladder, HOLD_SHARE),
    };
    hold_samples_begin(ladder->config->samples, start_ns - ladder->config->driver->start_ns);
    while (is_held(ladder, level)) {
        const int64_t held_ns = mono_now_ns() - start_ns;
        note_part(ladder, level, &course);
        if (!is_long_enough(ladder, held_ns, &course)) {
            continue;
        }
        uint64_t reading;
        level->stalled = recorder_count_stalled(ladder->load.recorder, start_ns, &reading);
        if (level->stalled == 0 && is_sampled(ladder, held_ns)) {
            break;
        }
        if (level->stalled > 0 &&
            held_ns >= ladder->config->hold_ns + ladder->config->patience_ns) {
            fail(ladder, level, LEVEL_NO_PROGRESS);
        }
    }
    recorder_take_snapshot(ladder->config->driver->recorder, &ladder->snapshots[AT_END]);
    level->hold_ns = ladder->snapshots[AT_END].taken_ns - start_ns;
    level->failed = calls_failed(ladder) - ladder->failed_before;
    hold_samples_end(ladder->config->samples, level);
}

static struct level_latency latency_between(struct ladder *ladder, enum recorder_histogram which,
                                            int from, int to)
{
    struct histogram *difference = ladder->difference;
    histogram_subtract(&ladder->snapshots[to].histograms[which],
                       &ladder->snapshots[from].histograms[which], difference);
    return (struct level_latency){
        .count = difference->total,
        .p50_ns = histogram_quantile_ns(difference, 0.5),
        .p99_ns = histogram_quantile_ns(difference, 0.99),
        .max_ns = difference->max_ns,
    };
}

static void fill_figures(struct ladder *ladder, struct level *level)
{
    const struct recorder_snapshot *start = &ladder->snapshots[AT_START];
    const struct recorder_snapshot *hold_start = &ladder->snapshots[AT_HOLD];
    level->connect = latency_between(ladder, RECORDER_CONNECT, AT_START, AT_HOLD);
    level->connect_ns = hold_start->taken_ns - start->taken_ns;
    level->added = level->connect.count;
    if (level->hold_ns > 0) {
        level->append = latency_between(ladder, RECORDER_APPEND, AT_HOLD, AT_END);
        level->rows = ladder->snapshots[AT_END].counters[RECORDER_ROWS_ACKNOWLEDGED] -
                      hold_start->counters[RECORDER_ROWS_ACKNOWLEDGED];
        level->rows_per_s = (double)level->rows / ((double)level->hold_ns / (double)MONO_NS_PER_S);
    }
}

/* Completes the level's ledger, so that it balances. */
static void balance(struct level *level)
{
    struct session_ledger *ledger = &level->ledger;
    ledger->requested = level->sessions;
    ledger->finished = level->up;
    ledger->stopped = 0;
    ledger->connected = ledger->finished + ledger->dropped;
    const uint64_t known = ledger->connected + ledger->refused + ledger->timed_out;
    /* with sessions that did not leave there are more than were asked for */
    ledger->requested = known > ledger->requested ? known : ledger->requested;
    ledger->not_started = ledger->requested - known;
}

static void keep_causes(struct ladder *ladder, struct level *level)
{
    pthread_mutex_lock(&ladder->causes.lock);
    if (level->outcome == LEVEL_FAILED) {
        level->causes = malloc(sizeof *level->causes);
        if (level->causes != NULL) {
            causes_init(level->causes);
            level->causes->count = ladder->causes.count;
            level->causes->others = ladder->causes.others;
            memcpy(level->causes->entries, ladder->causes.entries, sizeof ladder->causes.entries);
        }
    }
    pthread_mutex_unlock(&ladder->causes.lock);
    ladder_forget_causes(ladder);
}

void ladder_climb(struct ladder *ladder, struct level *level)
{
    struct recorder *recorder = ladder->config->driver->recorder;
    ladder->is_shortage_told = false;
    recorder_take_snapshot(recorder, &ladder->snapshots[AT_START]);
    ladder->failed_before = calls_failed(ladder);
    level->start_ns = ladder->snapshots[AT_START].taken_ns - ladder->config->driver->start_ns;
    dismiss(ladder, level);
    ladder->rest_at_rows = rows_at_share(ladder, STEP_SHARE);
    add_sessions(ladder, level);
    settle(ladder, level);
    ladder->rest_at_rows = UINT64_MAX;
    gate_rest(&ladder->load.gate, false);
    recorder_take_snapshot(recorder, &ladder->snapshots[AT_HOLD]);
    if (level->reason == LEVEL_NO_REASON && !ladder->is_over) {
        hold(ladder, level);
    }
    if (level->ledger.dropped > 0) {
        calm_down(ladder, level);
    }
    fill_figures(ladder, level);
    balance(level);
    if (level->reason != LEVEL_NO_REASON) {
        level->outcome = LEVEL_FAILED;
    } else {
        level->outcome = ladder->is_over ? LEVEL_UNFINISHED : LEVEL_HELD;
        level->reason = ladder->is_over ? LEVEL_ENDED : LEVEL_NO_REASON;
    }
    keep_causes(ladder, level);
}
