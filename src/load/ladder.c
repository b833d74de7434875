#include "load/ladder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/units.h"
#include "measure/procfs.h"

static unsigned lower(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned ladder_steps_next(const struct ladder_steps *steps)
{
    const unsigned held = steps->held;
    const unsigned failed = steps->failed;
    if (failed == 0) {
        if (held >= steps->bound) {
            return 0;
        }
        if (held == 0) {
            return lower(steps->first, steps->bound);
        }
        return held > steps->bound / 2 ? steps->bound : 2 * held;
    }
    if (failed == held + 1) {
        return steps->is_confirmed ? 0 : failed;
    }
    if (steps->hint > held && steps->hint < failed) {
        return steps->hint;
    }
    if (steps->hint == held && held > 0) {
        return held + 1;
    }
    return held + (failed - held) / 2;
}

void ladder_steps_note(struct ladder_steps *steps, unsigned sessions, bool has_held,
                       unsigned let_in)
{
    if (has_held) {
        steps->held = sessions > steps->held ? sessions : steps->held;
        if (steps->failed != 0 && steps->failed <= steps->held) {
            steps->failed = 0;
        }
    } else if (sessions > steps->held) {
        const bool is_after_held = steps->last_held && steps->last == steps->held;
        const bool is_again = !steps->last_held && steps->last == sessions;
        steps->is_confirmed = sessions == steps->held + 1 && (is_after_held || is_again);
        steps->failed = sessions;
        steps->hint = let_in;
    }
    steps->last = sessions;
    steps->last_held = has_held;
}

bool ladder_memory_parse(const char *text, size_t length, uint64_t *total_bytes,
                         uint64_t *available_bytes)
{
    uint64_t total_kib;
    uint64_t available_kib;
    if (!procfs_parse_named(text, length, "MemTotal:", &total_kib) ||
        !procfs_parse_named(text, length, "MemAvailable:", &available_kib) ||
        total_kib > UINT64_MAX / 1024 || available_kib > total_kib) {
        return false;
    }
    *total_bytes = total_kib * 1024;
    *available_bytes = available_kib * 1024;
    return true;
}

/* /proc is not kept open: a descriptor is what a session may be short of. */
static bool read_meminfo(uint64_t *total_bytes, uint64_t *available_bytes)
{
    char text[4096];
    const ssize_t length = procfs_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    return length > 0 && ladder_memory_parse(text, (size_t)length, total_bytes, available_bytes);
}

void ladder_memory_init(struct ladder_memory *memory, uint64_t limit_bytes)
{
    *memory = (struct ladder_memory){0};
    uint64_t available = 0;
    if (read_meminfo(&memory->total_bytes, &available)) {
        memory->base_bytes = memory->total_bytes - available;
        memory->limit_bytes = limit_bytes > 0 ? limit_bytes : memory->total_bytes / 10 * 9;
    }
}

uint64_t ladder_memory_used(const struct ladder_memory *memory)
{
    uint64_t total = 0;
    uint64_t available = 0;
    return memory->total_bytes > 0 && read_meminfo(&total, &available) ? total - available : 0;
}

bool ladder_memory_is_passed(const struct ladder_memory *memory, uint64_t used_bytes)
{
    return memory->total_bytes > 0 && used_bytes > memory->limit_bytes;
}

unsigned ladder_memory_fits(const struct ladder_memory *memory, unsigned up, uint64_t used_bytes)
{
    if (memory->total_bytes == 0 || used_bytes == 0) {
        return UINT32_MAX;
    }
    if (used_bytes > memory->limit_bytes) {
        return 0;
    }
    if (up == 0 || used_bytes <= memory->base_bytes) {
        return UINT32_MAX;
    }
    const double each = (double)(used_bytes - memory->base_bytes) / up;
    const double more = (double)(memory->limit_bytes - used_bytes) / each;
    return more >= (double)(UINT32_MAX - up) ? UINT32_MAX : up + (unsigned)more;
}

/* The snapshots of a level. */
enum {
    AT_START,
    AT_HOLD,
    AT_END,
    SNAPSHOTS,
};

struct ladder {
    const struct ladder_config *config;
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
    return recorder_read(ladder->config->fleet->recorder, RECORDER_ROWS_ACKNOWLEDGED);
}

/* Looks at signals, time and memory: true when the search is to end. */
static bool is_over(struct ladder *ladder)
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

/* Sleeps until something has changed, or for a short time; joins what has ended. `ledger` may be
 * that of a level. Returns the sessions that are up, and in *connecting those on their way. */
static unsigned tick(struct ladder *ladder, struct session_ledger *ledger, unsigned *connecting)
{
    const struct gate_numbers numbers = fleet_wait(&ladder->fleet);
    fleet_join_ended(&ladder->fleet, ledger);
    if (ladder->rest_at_rows < UINT64_MAX && rows_written(ladder) >= ladder->rest_at_rows) {
        gate_rest(&ladder->fleet.load.gate, true);
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
    struct recorder *recorder = ladder->config->fleet->recorder;
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

static void retire(struct ladder *ladder, struct level *level)
{
    if (ladder->fleet.live <= level->sessions) {
        return;
    }
    const uint64_t cut_before = ladder->fleet.cut;
    fleet_retire(&ladder->fleet, ladder->fleet.live - level->sessions);
    const int64_t start_ns = mono_now_ns();
    int64_t interrupt_ns = start_ns + SESSION_GRACE_NS;
    while (ladder->fleet.leaving > 0 && !is_over(ladder)) {
        tick(ladder, &level->ledger, NULL);
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= start_ns + LEAVE_LIMIT_NS) {
            level->reason = LEVEL_STAYED;
            end_search(ladder, SEARCH_STUCK);
        } else if (now_ns >= interrupt_ns) {
            fleet_interrupt(&ladder->fleet, true);
            interrupt_ns = now_ns + MONO_NS_PER_S;
        }
    }
    if (ladder->fleet.cut > cut_before) {
        /* the call that was cut has failed: not by the level that comes */
        ladder->failed_before = calls_failed(ladder);
        forget_causes(ladder);
    }
}

/* A level that sessions are added for. */
struct adding {
    struct ladder *ladder;
    struct level *level;
};

/* A session that fails ends the start: the next ones are not asked for at a server that is full. */
static bool may_add(void *context)
{
    struct adding *adding = context;
    return !has_failed(adding->ladder, adding->level) && !is_over(adding->ladder);
}

static unsigned wait_for_slot(void *context)
{
    struct adding *adding = context;
    unsigned connecting;
    tick(adding->ladder, &adding->level->ledger, &connecting);
    return connecting;
}

static void add_sessions(struct ladder *ladder, struct level *level)
{
    struct adding adding = {ladder, level};
    const struct fleet_pace pace = {may_add, wait_for_slot, &adding};
    if (!fleet_grow(&ladder->fleet, level->sessions, &pace)) {
        fail(ladder, level, LEVEL_NO_THREAD);
    }
}

/* Waits until every session is up or has ended. */
static void settle(struct ladder *ladder, struct level *level)
{
    for (;;) {
        const unsigned up = tick(ladder, &level->ledger, NULL);
        has_failed(ladder, level);
        level->up = up;
        if (up >= ladder->fleet.live || is_over(ladder)) {
            return;
        }
    }
}

/* After sessions were lost: what else was lost with them belongs to this level. */
static void wait_for_drops(struct ladder *ladder, struct level *level)
{
    const int64_t limit_ns = mono_now_ns() + CALM_LIMIT_NS;
    int64_t calm_ns = mono_now_ns() + CALM_NS;
    unsigned live = ladder->fleet.live;
    while (mono_now_ns() < calm_ns && mono_now_ns() < limit_ns && !is_over(ladder)) {
        level->up = tick(ladder, &level->ledger, NULL);
        if (ladder->fleet.live != live) {
            live = ladder->fleet.live;
            calm_ns = mono_now_ns() + CALM_NS;
        }
    }
}

static bool is_held(struct ladder *ladder, struct level *level)
{
    level->up = tick(ladder, &level->ledger, NULL);
    if (calls_failed(ladder) > ladder->failed_before && !has_failed(ladder, level)) {
        /* a session that was lost with the call is about to end */
        wait_for_drops(ladder, level);
        if (!has_failed(ladder, level)) {
            fail(ladder, level, LEVEL_APPEND_FAILED);
        }
    }
    return !has_failed(ladder, level) && !is_over(ladder);
}

/* Reading the memory of many processes takes a while: then the hold lasts until it was done. */
static bool is_sampled(const struct ladder *ladder, int64_t held_ns)
{
    return ladder->fleet.load.sampler == NULL || hold_samples_has_one(ladder->config->samples) ||
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
    hold_samples_begin(ladder->config->samples, start_ns - ladder->config->fleet->start_ns);
    while (is_held(ladder, level)) {
        const int64_t held_ns = mono_now_ns() - start_ns;
        note_part(ladder, level, &course);
        if (!is_long_enough(ladder, held_ns, &course)) {
            continue;
        }
        uint64_t reading;
        level->stalled = recorder_count_stalled(ladder->fleet.load.recorder, start_ns, &reading);
        if (level->stalled == 0 && is_sampled(ladder, held_ns)) {
            break;
        }
        if (level->stalled > 0 &&
            held_ns >= ladder->config->hold_ns + ladder->config->patience_ns) {
            fail(ladder, level, LEVEL_NO_PROGRESS);
        }
    }
    recorder_take_snapshot(ladder->config->fleet->recorder, &ladder->snapshots[AT_END]);
    level->hold_ns = ladder->snapshots[AT_END].taken_ns - start_ns;
    level->failed = calls_failed(ladder) - ladder->failed_before;
    hold_samples_end(ladder->config->samples, level);
}

static struct recorder_latency latency_between(struct ladder *ladder, enum operation_id operation,
                                               int from, int to)
{
    return recorder_latency_between(&ladder->snapshots[from], &ladder->snapshots[to], operation,
                                    ladder->difference);
}

static void fill_figures(struct ladder *ladder, struct level *level)
{
    const struct recorder_snapshot *start = &ladder->snapshots[AT_START];
    const struct recorder_snapshot *hold_start = &ladder->snapshots[AT_HOLD];
    level->connect = latency_between(ladder, OPERATION_CONNECT, AT_START, AT_HOLD);
    level->connect_ns = hold_start->taken_ns - start->taken_ns;
    level->added = level->connect.count;
    if (level->hold_ns > 0) {
        level->append = latency_between(ladder, OPERATION_APPEND, AT_HOLD, AT_END);
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
    forget_causes(ladder);
}

/* Brings level->sessions up, holds them, and fills *level; the causes of a level that failed are
 * moved into it. */
static void climb(struct ladder *ladder, struct level *level)
{
    struct recorder *recorder = ladder->config->fleet->recorder;
    ladder->fleet.is_shortage_reported = false;
    recorder_take_snapshot(recorder, &ladder->snapshots[AT_START]);
    ladder->failed_before = calls_failed(ladder);
    level->start_ns = ladder->snapshots[AT_START].taken_ns - ladder->config->fleet->start_ns;
    retire(ladder, level);
    ladder->rest_at_rows = rows_at_share(ladder, STEP_SHARE);
    add_sessions(ladder, level);
    settle(ladder, level);
    ladder->rest_at_rows = UINT64_MAX;
    gate_rest(&ladder->fleet.load.gate, false);
    recorder_take_snapshot(recorder, &ladder->snapshots[AT_HOLD]);
    if (level->reason == LEVEL_NO_REASON && !ladder->is_over) {
        hold(ladder, level);
    }
    if (level->ledger.dropped > 0) {
        wait_for_drops(ladder, level);
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

/* How long a server that lost all sessions may take to let one in again, and how often it is asked.
 */
#define RETURN_LIMIT_NS (60 * MONO_NS_PER_S)
#define RETURN_PAUSE_NS MONO_NS_PER_S

static enum status init(struct ladder *ladder, struct error *error)
{
    const struct fleet_config *fleet = ladder->config->fleet;
    causes_init(&ladder->causes);
    ladder_memory_init(&ladder->memory, ladder->config->max_memory_bytes);
    ladder->deadline_ns = fleet->start_ns + ladder->config->max_time_ns;
    ladder->difference = calloc(1, sizeof *ladder->difference);
    bool has_memory = ladder->difference != NULL;
    for (int i = 0; i < SNAPSHOTS; i++) {
        has_memory =
            recorder_snapshot_init(&ladder->snapshots[i], recorder_operations(fleet->recorder)) &&
            has_memory;
    }
    if (!has_memory) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of a level");
        return STATUS_FATAL;
    }
    return fleet_init(&ladder->fleet, fleet, fleet->plan->sessions, &ladder->causes, error);
}

static void fini(struct ladder *ladder)
{
    if (ladder->fleet.sessions != NULL) {
        fleet_fini(&ladder->fleet);
    }
    for (int i = 0; i < SNAPSHOTS; i++) {
        recorder_snapshot_fini(&ladder->snapshots[i]);
    }
    free(ladder->difference);
    causes_fini(&ladder->causes);
}

/* After a level at which every session was lost: one session at a time asks whether the server lets
 * anyone in again. Its answer is no part of a level. */
static void await_server(struct ladder *ladder)
{
    const int64_t limit_ns = mono_now_ns() + RETURN_LIMIT_NS;
    int64_t next_ns = mono_now_ns();
    struct session_ledger ignored = {0};
    while (tick(ladder, &ignored, NULL) == 0 && !is_over(ladder)) {
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= limit_ns) {
            ladder->is_over = true;
            ladder->search->end = SEARCH_GONE;
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
    const unsigned live = ladder->fleet.live;
    const uint64_t used = ladder_memory_used(&ladder->memory);
    const unsigned fits = ladder_memory_fits(&ladder->memory, live, used);
    if (next <= live || fits >= next) {
        return next;
    }
    snprintf(ladder->search->end_note, sizeof ladder->search->end_note,
             "%s of this machine in use with %s sessions, %s would pass %s", UNITS_BYTES(used),
             UNITS_COUNT(live), UNITS_COUNT(next), UNITS_BYTES(ladder->memory.limit_bytes));
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
    snprintf(search->end_note, sizeof search->end_note, "%s of this machine in use, %s may be",
             UNITS_BYTES(ladder_memory_used(&ladder->memory)),
             UNITS_BYTES(ladder->memory.limit_bytes));
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
    if (is_over(ladder)) {
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
    struct ladder_steps steps = {.first = config->first, .bound = config->fleet->plan->sessions};
    struct level *level = NULL;
    while (!ladder->is_over && (level = next_level(ladder, &steps)) != NULL) {
        if (config->on_begin != NULL) {
            config->on_begin(config->context, level);
        }
        climb(ladder, level);
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
        if (level->outcome == LEVEL_FAILED && ladder->fleet.live == 0 &&
            level->ledger.dropped > 0) {
            await_server(ladder);
        }
    }
    note_memory(ladder);
}

/* Every session ends; those that do not in time lose their connection. */
static void stop_all(struct ladder *ladder)
{
    gate_stop(&ladder->fleet.load.gate,
              ladder->search->end == SEARCH_INTERRUPTED ? STOP_INTERRUPTED : STOP_DURATION);
    int64_t interrupt_ns = mono_now_ns() + SESSION_GRACE_NS;
    struct session_ledger ignored = {0};
    bool is_work_done = false;
    while (ladder->fleet.live > 0) {
        if (tick(ladder, &ignored, NULL) == 0 && !is_work_done) {
            is_work_done = true;
            sampler_end_work(ladder->fleet.load.sampler);
        }
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= interrupt_ns) {
            fleet_interrupt(&ladder->fleet, false);
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
        gate_open(&ladder.fleet.load.gate, mono_now_ns());
        sampler_begin_work(config->fleet->sampler);
        climb_all(&ladder);
        stop_all(&ladder);
        fleet_sum_up(&ladder.fleet, result);
        search->elapsed_ns = result->elapsed_ns;
    }
    fini(&ladder);
    return status;
}
