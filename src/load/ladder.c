#include "load/ladder.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/units.h"
#include "load/fleet.h"
#include "measure/procfs.h"

/* The snapshots of a level. */
enum {
    AT_START,
    AT_HOLD,
    AT_END,
    SNAPSHOTS,
};

struct ladder {
    const struct ladder_config *config;
    struct load *load;
    struct search *search;
    struct fleet fleet;
    struct causes causes; /* of the level that is being tried */
    struct ladder_memory memory;
    int64_t deadline_ns;
    int64_t next_memory_ns; /* when to look at the memory again */
    uint64_t rest_at_rows;  /* sessions rest when so many are written; UINT64_MAX = never */
    bool is_over;           /* search->end says why */
    uint64_t failed_before; /* calls that failed before this level, or of sessions cut for it */

    struct recorder_snapshot snapshots[SNAPSHOTS]; /* of the level: its start, its hold's start
                                                      and end */
    struct histogram *difference;
};

/* How often to look at the memory. */
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

/* How long a server that lost all sessions may take to let one in again, and how often it is asked.
 */
#define RETURN_LIMIT_NS (60 * MONO_NS_PER_S)
#define RETURN_PAUSE_NS MONO_NS_PER_S

enum {
    HOLD_PARTS = 5, /* of a hold, for the spread of its rows/s */
    HOLD_SHARE = 8, /* one part in so many of the rows that are left is for one hold */
    STEP_SHARE = 16 /* and one for the time until the next one */
};

unsigned ladder_next(const struct search *search, unsigned first)
{
    const unsigned held = search->held, failed = search->failed, bound = search->bound;
    if (failed == 0) {
        const unsigned next = held == 0 ? first : held > bound / 2 ? bound : 2 * held;
        return held >= bound ? 0 : next < bound ? next : bound;
    }
    if (failed == held + 1) {
        const struct level *last = &search->levels[search->count - 1];
        const bool is_confirmed = search->count > 1 && last->sessions == failed &&
                                  (last[-1].sessions == held || last[-1].sessions == failed);
        return is_confirmed ? 0 : failed;
    }
    const struct level *level = &search->levels[search->failure];
    const bool was_kept_out = level->reason == LEVEL_REFUSED || level->reason == LEVEL_TIMED_OUT ||
                              level->reason == LEVEL_NO_THREAD;
    const unsigned let_in = was_kept_out ? (unsigned)level->up : 0;
    if (let_in > held && let_in < failed) {
        return let_in;
    }
    return let_in == held && held > 0 ? held + 1 : held + (failed - held) / 2;
}

/* Bytes of this machine in use, what the kernel can take back at once not counted; 0 = not known.
 * /proc is not kept open: a descriptor is what a session may be short of. */
static uint64_t memory_used(uint64_t *total_bytes)
{
    char text[4096];
    uint64_t total_kib, available_kib;
    const ssize_t length = procfs_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    if (length <= 0 || !procfs_parse_named(text, (size_t)length, "MemTotal:", &total_kib) ||
        !procfs_parse_named(text, (size_t)length, "MemAvailable:", &available_kib) ||
        total_kib > UINT64_MAX / 1024 || available_kib > total_kib) {
        return 0;
    }
    *total_bytes = total_kib * 1024;
    return (total_kib - available_kib) * 1024;
}

unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes)
{
    if (used_bytes > memory->limit_bytes) {
        return 0;
    }
    if (memory->limit_bytes == UINT64_MAX || up == 0 || used_bytes <= memory->base_bytes) {
        return UINT32_MAX;
    }
    const double each = (double)(used_bytes - memory->base_bytes) / up;
    const double more = (double)(memory->limit_bytes - used_bytes) / each;
    return more >= (double)(UINT32_MAX - up) ? UINT32_MAX : up + (unsigned)more;
}

/* The first reason stays. */
static void end_search(struct ladder *ladder, enum search_end end)
{
    if (!ladder->is_over) {
        ladder->is_over = true;
        ladder->search->end = end;
    }
}

static uint64_t rows_written(const struct ladder *ladder)
{
    return recorder_read(ladder->load->recorder, RECORDER_ROWS_ACKNOWLEDGED);
}

/* Looks at signals, time and memory: true when the search is to end. */
static bool is_over(struct ladder *ladder)
{
    const int64_t now_ns = mono_now_ns();
    const uint64_t max_rows = ladder->search->max_rows;
    uint64_t total;
    if (interrupt_requested()) {
        end_search(ladder, SEARCH_INTERRUPTED);
    } else if (now_ns >= ladder->deadline_ns) {
        end_search(ladder, SEARCH_TIME);
    } else if (max_rows > 0 && rows_written(ladder) >= max_rows) {
        end_search(ladder, SEARCH_ROWS);
    } else if (now_ns >= ladder->next_memory_ns) {
        ladder->next_memory_ns = now_ns + MEMORY_NS;
        if (memory_used(&total) > ladder->memory.limit_bytes) {
            end_search(ladder, SEARCH_MEMORY);
        }
    }
    return ladder->is_over;
}

/* The rows that are written when one part in `share` of those that are left has been. */
static uint64_t rows_at_share(const struct ladder *ladder, unsigned share)
{
    const uint64_t most = ladder->search->max_rows, written = rows_written(ladder);
    return most == 0 ? UINT64_MAX : written < most ? written + (most - written) / share : written;
}

/* Sleeps until something has changed, or for a short time; joins what has ended. `ledger` may be
 * that of a level. */
static struct gate_numbers tick(struct ladder *ladder, struct session_ledger *ledger)
{
    const struct gate_numbers numbers = fleet_wait(&ladder->fleet);
    fleet_join_ended(&ladder->fleet, ledger);
    if (ladder->rest_at_rows < UINT64_MAX && rows_written(ladder) >= ladder->rest_at_rows) {
        gate_rest(&ladder->load->gate, true);
        ladder->rest_at_rows = UINT64_MAX;
    }
    return numbers;
}

/* The first reason stays. Evidence is taken while what was short still is. */
static void fail(struct ladder *ladder, struct level *level, enum level_reason reason)
{
    if (level->reason == LEVEL_NO_REASON) {
        level->reason = reason;
    }
    fleet_report_shortage(&ladder->fleet);
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
    struct recorder *recorder = ladder->load->recorder;
    return recorder_read(recorder, RECORDER_APPENDS_FAILED) +
           recorder_read(recorder, RECORDER_READS_FAILED);
}

/* The causes of what went on between two levels are nobody's. */
static void forget_causes(struct ladder *ladder)
{
    pthread_mutex_lock(&ladder->causes.lock);
    ladder->causes.count = 0;
    ladder->causes.others = 0;
    pthread_mutex_unlock(&ladder->causes.lock);
}

/* Tells the sessions that are too many to leave, and waits until they have. */
static void retire(struct ladder *ladder, struct level *level)
{
    struct fleet *fleet = &ladder->fleet;
    if (fleet->live <= level->sessions) {
        return;
    }
    const uint64_t cut_before = fleet->cut;
    fleet_retire(fleet, fleet->live - level->sessions);
    const int64_t start_ns = mono_now_ns();
    int64_t interrupt_ns = start_ns + SESSION_GRACE_NS;
    while (fleet->leaving > 0 && !is_over(ladder)) {
        tick(ladder, &level->ledger);
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= start_ns + LEAVE_LIMIT_NS) {
            level->reason = LEVEL_STAYED;
            end_search(ladder, SEARCH_STUCK);
        } else if (now_ns >= interrupt_ns) {
            fleet_interrupt(fleet, true);
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
    if (fleet->cut > cut_before) {
        /* the call that was cut has failed: not by the level that comes */
        ladder->failed_before = calls_failed(ladder);
        forget_causes(ladder);
    }
}

/* A session that fails ends the start: the next ones are not asked for at a server that is full.
 * Then waits until every session is up or has ended. */
static void add_sessions(struct ladder *ladder, struct level *level)
{
    struct fleet *fleet = &ladder->fleet;
    unsigned connecting = 0;
    while (fleet->live < level->sessions && !has_failed(ladder, level) && !is_over(ladder)) {
        if (connecting >= ladder->load->plan->connect_concurrency) {
            connecting = tick(ladder, &level->ledger).connecting;
        } else if (fleet_start(fleet)) {
            connecting++;
        } else {
            fail(ladder, level, LEVEL_NO_THREAD);
        }
    }
    do {
        level->up = tick(ladder, &level->ledger).working;
        has_failed(ladder, level);
    } while (level->up < fleet->live && !is_over(ladder));
}

/* After sessions were lost: what else was lost with them belongs to this level. */
static void wait_for_drops(struct ladder *ladder, struct level *level)
{
    const int64_t limit_ns = mono_now_ns() + CALM_LIMIT_NS;
    int64_t calm_ns = mono_now_ns() + CALM_NS;
    unsigned live = ladder->fleet.live;
    while (mono_now_ns() < calm_ns && mono_now_ns() < limit_ns && !is_over(ladder)) {
        level->up = tick(ladder, &level->ledger).working;
        if (ladder->fleet.live != live) {
            live = ladder->fleet.live;
            calm_ns = mono_now_ns() + CALM_NS;
        }
    }
}

static void hold(struct ladder *ladder, struct level *level)
{
    struct recorder *recorder = ladder->load->recorder;
    struct hold_samples *samples = ladder->config->samples;
    const int64_t hold_ns = ladder->search->hold_ns;
    const int64_t start_ns = ladder->snapshots[AT_HOLD].taken_ns;
    const uint64_t share_rows = rows_at_share(ladder, HOLD_SHARE);
    int64_t part_ns = start_ns; /* the start of the part that goes on */
    uint64_t part_rows = rows_written(ladder);
    hold_samples_begin(samples, start_ns - ladder->load->start_ns);
    for (;;) {
        level->up = tick(ladder, &level->ledger).working;
        if (calls_failed(ladder) > ladder->failed_before && !has_failed(ladder, level)) {
            /* a session that was lost with the call is about to end */
            wait_for_drops(ladder, level);
            if (!has_failed(ladder, level)) {
                fail(ladder, level, LEVEL_APPEND_FAILED);
            }
        }
        if (has_failed(ladder, level) || is_over(ladder)) {
            break;
        }
        const int64_t now_ns = mono_now_ns();
        const int64_t held_ns = now_ns - start_ns;
        const uint64_t rows = rows_written(ladder);
        if (now_ns - part_ns >= hold_ns / HOLD_PARTS) {
            const double rows_per_s =
                (double)(rows - part_rows) * (double)MONO_NS_PER_S / (double)(now_ns - part_ns);
            part_ns = now_ns;
            part_rows = rows;
            if (level->lowest_rows_per_s < 0 || rows_per_s < level->lowest_rows_per_s) {
                level->lowest_rows_per_s = rows_per_s;
            }
            level->highest_rows_per_s = fmax(level->highest_rows_per_s, rows_per_s);
        }
        if (held_ns < hold_ns && (held_ns < HOLD_LEAST_NS || rows < share_rows)) {
            continue;
        }
        uint64_t reading;
        level->stalled = recorder_count_stalled(recorder, start_ns, &reading);
        if (level->stalled > 0 && held_ns >= hold_ns + ladder->config->patience_ns) {
            fail(ladder, level, LEVEL_NO_PROGRESS);
        }
        /* reading the memory of many processes takes a while: the hold lasts until it was done */
        if (level->stalled == 0 &&
            (ladder->load->sampler == NULL || hold_samples_has_one(samples) ||
             held_ns >= hold_ns + SAMPLE_LIMIT_NS)) {
            break;
        }
    }
    recorder_take_snapshot(recorder, &ladder->snapshots[AT_END]);
    level->hold_ns = ladder->snapshots[AT_END].taken_ns - start_ns;
    level->failed = calls_failed(ladder) - ladder->failed_before;
    hold_samples_end(samples, level);
}

/* The level's figures and outcome. Completes its ledger, so that it balances; the causes of one
 * that failed are moved into it. */
static void conclude(struct ladder *ladder, struct level *level)
{
    const struct recorder_snapshot *start = &ladder->snapshots[AT_START];
    const struct recorder_snapshot *hold_start = &ladder->snapshots[AT_HOLD];
    const struct recorder_snapshot *end = &ladder->snapshots[AT_END];
    level->connect =
        recorder_latency_between(start, hold_start, OPERATION_CONNECT, ladder->difference);
    level->connect_ns = hold_start->taken_ns - start->taken_ns;
    level->added = level->connect.count;
    if (level->hold_ns > 0) {
        level->append =
            recorder_latency_between(hold_start, end, OPERATION_APPEND, ladder->difference);
        level->rows = end->counters[RECORDER_ROWS_ACKNOWLEDGED] -
                      hold_start->counters[RECORDER_ROWS_ACKNOWLEDGED];
        level->rows_per_s = (double)level->rows / ((double)level->hold_ns / (double)MONO_NS_PER_S);
    }
    struct session_ledger *ledger = &level->ledger;
    ledger->finished = level->up;
    ledger->stopped = 0;
    ledger->connected = ledger->finished + ledger->dropped;
    const uint64_t known = ledger->connected + ledger->refused + ledger->timed_out;
    /* with sessions that did not leave there are more than were asked for */
    ledger->requested = known > level->sessions ? known : level->sessions;
    ledger->not_started = ledger->requested - known;
    if (level->reason != LEVEL_NO_REASON) {
        level->outcome = LEVEL_FAILED;
        level->causes = malloc(sizeof *level->causes);
    } else {
        level->outcome = ladder->is_over ? LEVEL_UNFINISHED : LEVEL_HELD;
        level->reason = ladder->is_over ? LEVEL_ENDED : LEVEL_NO_REASON;
    }
    if (level->causes != NULL) {
        causes_init(level->causes);
        pthread_mutex_lock(&ladder->causes.lock);
        level->causes->count = ladder->causes.count;
        level->causes->others = ladder->causes.others;
        memcpy(level->causes->entries, ladder->causes.entries, sizeof ladder->causes.entries);
        pthread_mutex_unlock(&ladder->causes.lock);
    }
    forget_causes(ladder);
}

/* Brings level->sessions up, holds them, and fills *level. */
static void climb(struct ladder *ladder, struct level *level)
{
    struct recorder *recorder = ladder->load->recorder;
    ladder->fleet.is_shortage_reported = false;
    recorder_take_snapshot(recorder, &ladder->snapshots[AT_START]);
    ladder->failed_before = calls_failed(ladder);
    level->start_ns = ladder->snapshots[AT_START].taken_ns - ladder->load->start_ns;
    retire(ladder, level);
    ladder->rest_at_rows = rows_at_share(ladder, STEP_SHARE);
    add_sessions(ladder, level);
    ladder->rest_at_rows = UINT64_MAX;
    gate_rest(&ladder->load->gate, false);
    recorder_take_snapshot(recorder, &ladder->snapshots[AT_HOLD]);
    if (level->reason == LEVEL_NO_REASON && !ladder->is_over) {
        hold(ladder, level);
    }
    if (level->ledger.dropped > 0) {
        wait_for_drops(ladder, level);
    }
    conclude(ladder, level);
}

/* After a level at which every session was lost: one session at a time asks whether the server lets
 * anyone in again. Its answer is no part of a level. */
static void await_server(struct ladder *ladder)
{
    const int64_t limit_ns = mono_now_ns() + RETURN_LIMIT_NS;
    int64_t next_ns = mono_now_ns();
    struct session_ledger ignored = {0};
    while (tick(ladder, &ignored).working == 0 && !is_over(ladder)) {
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= limit_ns) {
            end_search(ladder, SEARCH_GONE);
        } else if (ladder->fleet.live == 0 && now_ns >= next_ns) {
            next_ns = now_ns + RETURN_PAUSE_NS;
            fleet_start(&ladder->fleet); /* without a thread: again after the pause */
        }
    }
    forget_causes(ladder);
}

/* What of the next level fits into the memory; 0: nothing that would be a step. */
static unsigned fit_memory(struct ladder *ladder, unsigned next)
{
    struct search *search = ladder->search;
    const unsigned live = ladder->fleet.live, held = search->held;
    uint64_t total;
    const uint64_t used = memory_used(&total);
    const unsigned fits = ladder_memory_fits(&ladder->memory, live, used);
    if (next <= live || fits >= next) {
        return next;
    }
    snprintf(search->end_note, sizeof search->end_note,
             "%s of this machine in use with %s sessions, %s would pass %s", UNITS_BYTES(used),
             UNITS_COUNT(live), UNITS_COUNT(next), UNITS_BYTES(ladder->memory.limit_bytes));
    /* steps of less than a twentieth would only creep up to a bound that is an estimate */
    return fits > held + held / 20 ? fits : 0;
}

static void climb_all(struct ladder *ladder)
{
    const struct ladder_config *config = ladder->config;
    struct search *search = ladder->search;
    while (!ladder->is_over) {
        const unsigned next = ladder_next(search, ladder->load->plan->first_sessions);
        search->end_note[0] = '\0';
        if (next == 0) {
            end_search(ladder, search->failed == 0 ? SEARCH_BOUND : SEARCH_FOUND);
        }
        if (is_over(ladder)) {
            break;
        }
        const unsigned fitting = fit_memory(ladder, next);
        struct level *level = fitting == 0 ? NULL : search_add_level(search);
        if (level == NULL) {
            end_search(ladder, SEARCH_MEMORY);
            break;
        }
        level->sessions = fitting;
        if (config->on_begin != NULL) {
            config->on_begin(config->context, level);
        }
        climb(ladder, level);
        search_note_level(search);
        if (config->on_level != NULL) {
            config->on_level(config->context, level);
        }
        if (level->outcome == LEVEL_FAILED && ladder->fleet.live == 0 &&
            level->ledger.dropped > 0) {
            await_server(ladder);
        }
    }
    uint64_t total;
    if (search->end == SEARCH_MEMORY && search->end_note[0] == '\0') {
        snprintf(search->end_note, sizeof search->end_note, "%s of this machine in use, %s may be",
                 UNITS_BYTES(memory_used(&total)), UNITS_BYTES(ladder->memory.limit_bytes));
    }
}

/* Every session ends; those that do not in time lose their connection. */
static void stop_all(struct ladder *ladder)
{
    gate_stop(&ladder->load->gate,
              ladder->search->end == SEARCH_INTERRUPTED ? STOP_INTERRUPTED : STOP_DURATION);
    int64_t interrupt_ns = mono_now_ns() + SESSION_GRACE_NS;
    struct session_ledger ignored = {0};
    bool is_work_done = false;
    while (ladder->fleet.live > 0) {
        if (tick(ladder, &ignored).working == 0 && !is_work_done) {
            is_work_done = true;
            sampler_end_work(ladder->load->sampler);
        }
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= interrupt_ns) {
            fleet_interrupt(&ladder->fleet, false);
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
}

enum status ladder_run(const struct ladder_config *config, struct load *load, struct search *search,
                       struct result *result, struct error *error)
{
    const struct plan *plan = load->plan;
    struct ladder ladder = {
        .config = config,
        .load = load,
        .search = search,
        .memory = {.limit_bytes = UINT64_MAX},
        .deadline_ns = load->start_ns + plan->max_time_ns,
        .rest_at_rows = UINT64_MAX,
        .difference = calloc(1, sizeof *ladder.difference),
    };
    uint64_t total = 0;
    ladder.memory.base_bytes = memory_used(&total);
    if (total > 0) {
        ladder.memory.limit_bytes =
            plan->max_memory_bytes > 0 ? plan->max_memory_bytes : total / 10 * 9;
    }
    causes_init(&ladder.causes);
    bool has_memory = ladder.difference != NULL;
    for (int i = 0; i < SNAPSHOTS; i++) {
        has_memory =
            recorder_snapshot_init(&ladder.snapshots[i], recorder_operations(load->recorder)) &&
            has_memory;
    }
    enum status status = STATUS_FATAL;
    if (!has_memory) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of a level");
    } else {
        status = fleet_init(&ladder.fleet, load, plan->sessions, &ladder.causes, error);
    }
    if (status == STATUS_OK) {
        gate_open(&load->gate, mono_now_ns());
        sampler_begin_work(load->sampler);
        climb_all(&ladder);
        stop_all(&ladder);
        fleet_sum_up(&ladder.fleet, result);
        search->elapsed_ns = result->elapsed_ns;
        fleet_fini(&ladder.fleet);
    }
    for (int i = 0; i < SNAPSHOTS; i++) {
        recorder_snapshot_fini(&ladder.snapshots[i]);
    }
    free(ladder.difference);
    causes_fini(&ladder.causes);
    return status;
}
