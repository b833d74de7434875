#include "load/search.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/types.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "load/fleet_state.h"
#include "load/gate.h"
#include "measure/procfs.h"
#include "ranks/merge.h"

/* Interval at which the memory is checked, and minimum time between two sums of written rows. The
 * sums are not made more often, because each sum reads the counters of every session. */
#define MEMORY_NS (250 * MONO_NS_PER_MS)
#define ROWS_NS (10 * MONO_NS_PER_MS)

/* The hold of a level is the time for which all its sessions work and are measured. It is extended
 * by at most this time so that it includes a sample of the sampler. */
#define SAMPLE_LIMIT_NS (5 * MONO_NS_PER_S)

/* The search ends if sessions that were asked to leave have not left after this time. Their
 * connections are cut earlier, after SESSION_GRACE_NS. */
#define LEAVE_LIMIT_NS (3 * SESSION_GRACE_NS)

/* Minimum duration of a hold, even if it writes more rows than HOLD_SHARE allows. */
#define HOLD_LEAST_NS MONO_NS_PER_S

/* If the server drops several sessions at once, their losses are noticed one after the other. The
 * wait for further losses ends after CALM_NS without a loss, and at the latest after
 * CALM_LIMIT_NS. */
#define CALM_NS (300 * MONO_NS_PER_MS)
#define CALM_LIMIT_NS (5 * MONO_NS_PER_S)

/* After the server has dropped all sessions, the search waits for at most RETURN_LIMIT_NS until the
 * server accepts a session again. It tries to connect every RETURN_PAUSE_NS. */
#define RETURN_LIMIT_NS (60 * MONO_NS_PER_S)
#define RETURN_PAUSE_NS MONO_NS_PER_S

enum {
    HOLD_PARTS = 5, /* number of parts of a hold; rows/s are measured for each part */
    HOLD_SHARE = 8, /* a hold may write 1/8 of the rows that --max-rows still allows */
    STEP_SHARE = 16 /* between two holds, sessions may write 1/16 of these rows */
};

/* Indexes of the snapshots of a level. */
enum {
    AT_START,
    AT_HOLD,
    AT_END,
    SNAPSHOTS,
};

/* The state of a search, level by level. */
struct search_state {
    struct fleet fleet;
    const struct search_task *task;
    struct search *search; /* task->search */
    unsigned level;        /* number of the current level */
    enum ranks_stage stage;
    bool has_failed;        /* the current level has failed here */
    uint64_t failed_before; /* number of failed calls that do not count against this level: calls
                               before it, and calls of sessions that had to leave for it */
    struct causes causes;   /* failures at the current level */
    struct recorder_snapshot snapshots[SNAPSHOTS]; /* snapshots of the current level: at its start,
                                                      and at the start and the end of its hold */
    uint64_t rest_at_rows; /* sessions begin no further batch when rows_written reaches this number;
                              UINT64_MAX = never */

    int64_t deadline_ns;
    uint64_t max_rows;    /* this process's share of search->max_rows; 0 = unlimited */
    int64_t next_rows_ns; /* moment from which rows_written is out of date */
    uint64_t rows_written;
    struct search_memory memory;
    int64_t next_memory_ns; /* moment of the next check of the memory */
    struct level_room room; /* room in memory after the latest level */
    uint64_t up_everywhere; /* number of sessions of all ranks that were up at the end of the latest
                               level */
    bool has_ended;         /* search->end has the reason */
    enum search_end requested_end; /* on a rank other than 0: reason for which this rank asks rank 0
                                      to end the search */
};

unsigned search_next(const struct search *search, unsigned first)
{
    const unsigned held = search->held, failed = search->failed, bound = search->bound;
    if (failed == 0) {
        if (held >= bound) {
            return 0;
        }
        return MIN(held == 0 ? first : held + MIN(held, bound - held), bound);
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

/* Ends the search, unless it has already ended. `end` is the reason. */
static void note_end(struct search_state *state, enum search_end end)
{
    if (!state->has_ended) {
        state->has_ended = true;
        state->search->end = end;
        gate_rest(&state->fleet.load->gate, true);
    }
}

/* Ends the search. A rank other than 0 only asks rank 0 to end it. */
static void end_search(struct search_state *state, enum search_end end)
{
    if (!ranks_follows(state->fleet.load->ranks)) {
        note_end(state, end);
    } else if (state->requested_end == SEARCH_GOES_ON) {
        state->requested_end = end;
    }
}

/* Sends the state of this rank to the other ranks, and carries out the orders of rank 0. */
static void exchange(struct search_state *state, bool is_work_done)
{
    struct fleet *fleet = &state->fleet;
    struct ranks_state own = fleet->state;
    own.is_done = is_work_done;
    own.is_over = fleet->have_ended;
    own.search.level = state->level;
    own.search.stage = state->stage;
    own.search.has_failed = state->has_failed;
    own.search.end = state->has_ended ? state->search->end : state->requested_end;
    const bool is_waiting =
        state->stage != STAGE_RETIRES || fleet->orders.search.noted == state->level;
    if (fleet_exchange(fleet, &own, is_waiting, LINE_TICK_NS) &&
        fleet->orders.search.end != SEARCH_GOES_ON) {
        note_end(state, fleet->orders.search.end);
    }
}

/* Returns how many bytes of memory are in use on this machine, or 0 if it is unknown. Does not
 * count memory that the kernel can reclaim at once. Does not keep /proc open, because a session may
 * need the file descriptor. */
static uint64_t memory_used(uint64_t *total_bytes)
{
    char text[4096];
    struct procfs_memory memory;
    const ssize_t length = procfs_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    if (length <= 0 || !procfs_parse_memory(text, (size_t)length, &memory) ||
        memory.available > memory.total) {
        return 0;
    }
    *total_bytes = memory.total;
    return memory.total - memory.available;
}

unsigned search_memory_fits(const struct search_memory *memory, unsigned up, uint64_t used_bytes)
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

/* Returns the number of acknowledged rows of this process. The number is at most ROWS_NS old. */
static uint64_t rows_written(struct search_state *state)
{
    const int64_t now_ns = mono_now_ns();
    if (now_ns >= state->next_rows_ns) {
        state->next_rows_ns = now_ns + ROWS_NS;
        state->rows_written =
            recorder_read(state->fleet.load->recorder, RECORDER_ROWS_ACKNOWLEDGED);
    }
    return state->rows_written;
}

/* Returns the number of rows written by all ranks, as far as this rank knows it. */
static uint64_t rows_everywhere(struct search_state *state)
{
    struct ranks *ranks = state->fleet.load->ranks;
    return rows_written(state) +
           (ranks == NULL ? 0 : ranks_read_others(ranks, RECORDER_ROWS_ACKNOWLEDGED));
}

static uint64_t work_done(const struct search_state *state)
{
    return recorder_read(state->fleet.load->recorder, plan_work(state->fleet.load->plan)->done);
}

/* Returns whether the script has a mistake. The sessions then do nothing more. */
static bool has_mistake(const struct search_state *state)
{
    return gate_reason(&state->fleet.load->gate) == STOP_SCRIPT;
}

/* Checks signals, the script, time, rows and memory, and ends the search if necessary. Returns
 * whether the search has ended. */
static bool check_search_end(struct search_state *state)
{
    const int64_t now_ns = mono_now_ns();
    const uint64_t max_rows = state->search->max_rows;
    uint64_t total;
    if (interrupt_requested()) {
        end_search(state, SEARCH_INTERRUPTED);
    } else if (has_mistake(state)) {
        end_search(state, SEARCH_SCRIPT);
    } else if (now_ns >= state->deadline_ns) {
        end_search(state, SEARCH_TIME);
    } else if (max_rows > 0 && !ranks_follows(state->fleet.load->ranks) &&
               rows_everywhere(state) >= max_rows) {
        end_search(state, SEARCH_ROWS);
    } else if (now_ns >= state->next_memory_ns) {
        state->next_memory_ns = now_ns + MEMORY_NS;
        if (memory_used(&total) > state->memory.limit_bytes) {
            end_search(state, SEARCH_MEMORY);
        }
    }
    return state->has_ended;
}

/* Returns how many rows this process will have written in total when it has written 1/`divisor` of
 * the rows that max_rows still allows. Returns UINT64_MAX if the number of rows is unlimited. */
static uint64_t rows_after_part(struct search_state *state, unsigned divisor)
{
    const uint64_t most = state->max_rows, written = rows_written(state);
    if (most == 0) {
        return UINT64_MAX;
    }
    return written < most ? written + (most - written) / divisor : written;
}

/* Sleeps until something has changed, or for a short time; joins sessions that have ended and
 * counts them in *ledger, which belongs to a level or is ignored by the caller. Returns the number
 * of sessions that are up. */
static unsigned tick(struct search_state *state, struct session_ledger *ledger)
{
    const bool has_ranks = state->fleet.load->ranks != NULL;
    const int64_t deadline_ns = mono_now_ns() + LINE_TICK_NS;
    state->fleet.numbers =
        gate_wait_change(&state->fleet.load->gate,
                         has_ranks ? MIN(state->fleet.next_exchange_ns, deadline_ns) : deadline_ns);
    if (state->fleet.numbers.running < state->fleet.live) {
        fleet_join_ended(&state->fleet, ledger);
    }
    if (state->rest_at_rows < UINT64_MAX && rows_written(state) >= state->rest_at_rows) {
        gate_rest(&state->fleet.load->gate, true);
        state->rest_at_rows = UINT64_MAX;
    }
    if (has_ranks) {
        exchange(state, false);
    }
    return state->fleet.numbers.working;
}

/* Notes why the level failed, unless an earlier reason is noted. Calls on_shortage at once, because
 * the cause can be observed only while the failure lasts. */
static void note_failure(struct search_state *state, struct level *level, enum level_reason reason)
{
    if (level->reason == LEVEL_NO_REASON) {
        level->reason = reason;
        level->reason_ns = mono_now_ns() - state->fleet.load->start_ns;
        state->has_failed = true;
    }
    fleet_report_shortage(&state->fleet);
}

/* Returns whether the level failed on this rank or on another rank. */
static bool has_failed_anywhere(const struct search_state *state, const struct level *level)
{
    return level->reason != LEVEL_NO_REASON || (state->fleet.orders.search.level == state->level &&
                                                state->fleet.orders.search.has_failed);
}

/* Fails the level if one of its sessions was refused, timed out or was dropped. Returns whether the
 * level failed on any rank. */
static bool check_failed(struct search_state *state, struct level *level)
{
    const struct session_ledger *ledger = &level->ledger;
    if (ledger->refused > 0) {
        note_failure(state, level, LEVEL_REFUSED);
    } else if (ledger->timed_out > 0) {
        note_failure(state, level, LEVEL_TIMED_OUT);
    } else if (ledger->dropped > 0) {
        note_failure(state, level, LEVEL_DROPPED);
    }
    return has_failed_anywhere(state, level);
}

/* Notes the stage that this rank has reached. Returns whether all ranks have reached the stage. */
static bool reach_stage(struct search_state *state, enum ranks_stage stage)
{
    state->stage = stage;
    return state->fleet.load->ranks == NULL || state->fleet.orders.search.stage >= stage;
}

static uint64_t calls_failed(struct search_state *state)
{
    struct recorder *recorder = state->fleet.load->recorder;
    return recorder_read(recorder, RECORDER_APPENDS_FAILED) +
           recorder_read(recorder, RECORDER_READS_FAILED) +
           recorder_read(recorder, RECORDER_TRANSACTIONS_FAILED) +
           recorder_read(recorder, RECORDER_TRANSACTIONS_IN_DOUBT);
}

/* Asks sessions to leave until level->sessions remain, and waits until they have left. The sessions
 * at the last places leave first. */
static void retire(struct search_state *state, struct level *level)
{
    const uint64_t cut_before = state->fleet.cut;
    const int64_t start_ns = mono_now_ns();
    state->fleet.next_interrupt_ns = start_ns + SESSION_GRACE_NS;
    for (unsigned i = state->fleet.used;
         i > 0 && state->fleet.live - state->fleet.leaving > level->sessions; i--) {
        struct session *session = &state->fleet.sessions[i - 1];
        if (session_is_live(session) && !atomic_load(&session->is_leaving)) {
            atomic_store(&session->is_leaving, true);
            state->fleet.leaving++;
        }
    }
    gate_wake(&state->fleet.load->gate);
    while (state->fleet.leaving > 0 && !check_search_end(state)) {
        tick(state, &level->ledger);
        if (mono_now_ns() >= start_ns + LEAVE_LIMIT_NS) {
            end_search(state, SEARCH_STUCK);
        }
        fleet_interrupt(&state->fleet, true);
    }
    if (state->fleet.cut > cut_before || state->fleet.load->plan->script != NULL) {
        /* calls and transactions that had to be cut have failed, but must not count against this
         * level */
        state->failed_before = calls_failed(state);
        causes_clear(&state->causes);
    }
}

/* Waits until the surplus sessions of every rank have left. Only then may a rank add sessions. */
static void wait_for_others(struct search_state *state, struct level *level, bool has_retired)
{
    /* until gone_ns the server may not have noticed that the sessions have left */
    const int64_t gone_ns = mono_now_ns() + (has_retired ? CALM_NS : 0);
    while ((mono_now_ns() < gone_ns || !reach_stage(state, STAGE_LEFT)) &&
           !check_failed(state, level) && !check_search_end(state)) {
        tick(state, &level->ledger);
    }
}

/* Starts the missing sessions, then waits until every session is up or has ended. After the first
 * failure it starts no more sessions, because the server is full. */
static void add_sessions(struct search_state *state, struct level *level)
{
    while (state->fleet.live < level->sessions && !check_failed(state, level) &&
           !check_search_end(state)) {
        if (state->fleet.numbers.connecting >= state->fleet.load->plan->connect_concurrency) {
            tick(state, &level->ledger);
        } else if (!fleet_start(&state->fleet)) {
            note_failure(state, level, LEVEL_NO_THREAD);
        }
    }
    do {
        level->up = tick(state, &level->ledger);
        check_failed(state, level);
    } while (level->up < state->fleet.live && !check_search_end(state));
}

/* After sessions were lost, waits for further losses, because they belong to the same level. */
static void wait_for_drops(struct search_state *state, struct level *level)
{
    const int64_t limit_ns = mono_now_ns() + CALM_LIMIT_NS;
    int64_t calm_ns = mono_now_ns() + CALM_NS;
    unsigned live = state->fleet.live;
    while (mono_now_ns() < calm_ns && mono_now_ns() < limit_ns && !check_search_end(state)) {
        level->up = tick(state, &level->ledger);
        if (state->fleet.live != live) {
            live = state->fleet.live;
            calm_ns = mono_now_ns() + CALM_NS;
        }
    }
}

/* Ends the polling of the server's waits at the end of a hold. Notes in *level the kind of wait
 * that took the greatest part of the calls' time. */
static void note_waits(const struct search_task *task, struct level *level)
{
    struct wait_share share;
    wait_watch_end(task->waits);
    if (task->waited != NULL && waits_largest(task->waited, &share)) {
        level->wait = (struct level_wait){.is_known = true,
                                          .operation = share.operation,
                                          .class = share.class,
                                          .percent = 100 * share.share.share,
                                          .polls = waits_polls(task->waited).polls};
    }
    if (task->waited != NULL) {
        waits_reset(task->waited);
    }
}

static void hold(struct search_state *state, struct level *level)
{
    struct recorder *recorder = state->fleet.load->recorder;
    struct sampler *sampler = state->fleet.load->sampler;
    const int64_t hold_ns = state->search->hold_ns;
    const int64_t start_ns = state->snapshots[AT_HOLD].taken_ns;
    const uint64_t share_rows = rows_after_part(state, HOLD_SHARE);
    int64_t part_ns = start_ns; /* start of the current part */
    uint64_t part_rows = work_done(state);
    sampler_begin_hold(sampler, start_ns - state->fleet.load->start_ns);
    wait_watch_begin(state->task->waits, start_ns);
    for (;;) {
        level->up = tick(state, &level->ledger);
        if (calls_failed(state) > state->failed_before && !check_failed(state, level) &&
            !check_search_end(state)) {
            /* if the call failed because its session was lost, that session is about to end */
            wait_for_drops(state, level);
            if (!check_failed(state, level) && !has_mistake(state)) {
                note_failure(state, level, LEVEL_APPEND_FAILED);
            }
        }
        if (check_failed(state, level) || check_search_end(state)) {
            break;
        }
        const int64_t now_ns = mono_now_ns();
        const int64_t held_ns = now_ns - start_ns;
        const uint64_t rows = work_done(state);
        if (now_ns - part_ns >= hold_ns / HOLD_PARTS) {
            const double rows_per_s =
                (double)(rows - part_rows) * (double)MONO_NS_PER_S / (double)(now_ns - part_ns);
            part_ns = now_ns;
            part_rows = rows;
            if (level->part_count < LEVEL_PARTS_MAX) {
                level->parts_rows_per_s[level->part_count++] = rows_per_s;
            }
        }
        if (held_ns < hold_ns && (held_ns < HOLD_LEAST_NS || rows_written(state) < share_rows)) {
            continue;
        }
        uint64_t reading;
        level->stalled = recorder_count_stalled(recorder, start_ns, &reading);
        if (level->stalled > 0 && held_ns >= hold_ns + state->task->patience_ns) {
            note_failure(state, level, LEVEL_NO_PROGRESS);
        }
        /* the sampler needs some time to read the memory of many processes, so the hold lasts until
         * the sample is complete */
        if (level->stalled == 0 &&
            (sampler_hold_has_sample(sampler) || held_ns >= hold_ns + SAMPLE_LIMIT_NS) &&
            reach_stage(state, STAGE_HELD)) {
            break;
        }
    }
    recorder_take_snapshot(recorder, &state->snapshots[AT_END]);
    level->hold_ns = state->snapshots[AT_END].taken_ns - start_ns;
    level->failed = calls_failed(state) - state->failed_before;
    sampler_end_hold(sampler, level);
    note_waits(state->task, level);
}

/* Computes the level's results and outcome. Completes the ledger of the level, so that its outcomes
 * add up to the number of requested sessions. Moves the error causes into the level if it failed,
 * and drops them otherwise. */
static void finish_level(struct search_state *state, struct level *level)
{
    const struct recorder_snapshot *start = &state->snapshots[AT_START];
    const struct recorder_snapshot *hold_start = &state->snapshots[AT_HOLD];
    const struct recorder_snapshot *end = &state->snapshots[AT_END];
    level->connect = recorder_latency_between(start, hold_start, OPERATION_CONNECT);
    level->connect_ns = hold_start->taken_ns - start->taken_ns;
    level->added = level->connect.count;
    if (level->hold_ns > 0) {
        const struct plan_work *work = plan_work(state->fleet.load->plan);
        level->append = recorder_latency_between(hold_start, end, work->operation);
        level->rows = end->counters[work->done] - hold_start->counters[work->done];
        level_compute_rates(level);
    }
    struct session_ledger *ledger = &level->ledger;
    ledger->finished = level->up;
    ledger->stopped = 0;
    ledger->connected = ledger->finished + ledger->dropped;
    const uint64_t known = ledger->connected + ledger->refused + ledger->timed_out;
    /* `known` may be greater than level->sessions, because some sessions may not have left */
    ledger->requested = known > level->sessions ? known : level->sessions;
    ledger->not_started = ledger->requested - known;
    if (has_failed_anywhere(state, level)) {
        level->outcome = LEVEL_FAILED;
    } else {
        level->outcome = state->has_ended ? LEVEL_UNFINISHED : LEVEL_HELD;
        level->reason = state->has_ended ? LEVEL_ENDED : LEVEL_NO_REASON;
    }
    if (level->outcome == LEVEL_FAILED) {
        level->causes = malloc(sizeof *level->causes);
    }
    if (level->causes != NULL) {
        causes_init(level->causes);
        causes_copy(level->causes, &state->causes);
    }
    causes_clear(&state->causes);
}

/* Brings the number of sessions to level->sessions, lets them all work for the hold, and fills
 * *level. */
static void run_level(struct search_state *state, struct level *level)
{
    struct recorder *recorder = state->fleet.load->recorder;
    state->fleet.is_shortage_reported = false;
    recorder_take_snapshot(recorder, &state->snapshots[AT_START]);
    state->failed_before = calls_failed(state);
    level->start_ns = state->snapshots[AT_START].taken_ns - state->fleet.load->start_ns;
    const bool has_too_many = state->fleet.live > level->sessions;
    retire(state, level);
    if (state->fleet.load->ranks != NULL) {
        wait_for_others(state, level, has_too_many);
    }
    state->rest_at_rows = rows_after_part(state, STEP_SHARE);
    add_sessions(state, level);
    while (!reach_stage(state, STAGE_UP) && !check_failed(state, level) &&
           !check_search_end(state)) {
        level->up = tick(state, &level->ledger);
    }
    state->rest_at_rows = UINT64_MAX;
    gate_rest(&state->fleet.load->gate, state->has_ended);
    recorder_take_snapshot(recorder, &state->snapshots[AT_HOLD]);
    if (!check_failed(state, level) && !state->has_ended) {
        hold(state, level);
    }
    if (level->ledger.dropped > 0 ||
        (state->fleet.load->ranks != NULL && has_failed_anywhere(state, level))) {
        wait_for_drops(state, level);
    }
    finish_level(state, level);
}

/* Returns how much memory of this machine is in use, and how many sessions the memory limit allows,
 * as a multiple of the live sessions. */
static struct level_room find_room(const struct search_state *state)
{
    uint64_t total;
    const uint64_t used = memory_used(&total);
    const unsigned fits = search_memory_fits(&state->memory, state->fleet.live, used);
    struct level_room room = {.times =
                                  state->fleet.live == 0 ? 0 : (double)fits / state->fleet.live,
                              .used_bytes = used,
                              .limit_bytes = state->memory.limit_bytes};
    if (fits == UINT32_MAX) {
        room.times = INFINITY;
    }
    return room;
}

/* Encodes this rank's results of a level in *bytes. Returns false if memory runs out. */
static bool pack_level(const struct search_state *state, const struct level *part,
                       struct buffer *bytes)
{
    const struct recorder_snapshot *at = state->snapshots;
    const size_t work = plan_work(state->fleet.load->plan)->operation;
    struct histogram connect, append = {.total = 0};
    histogram_subtract(recorder_histogram(&at[AT_HOLD], OPERATION_CONNECT),
                       recorder_histogram(&at[AT_START], OPERATION_CONNECT), &connect);
    if (part->hold_ns > 0) {
        histogram_subtract(recorder_histogram(&at[AT_END], work),
                           recorder_histogram(&at[AT_HOLD], work), &append);
    }
    return merge_pack_level(bytes, part, &connect, &append, state->fleet.load->start_ns);
}

/* Runs a level with this rank's share of the sessions, and encodes the results in *bytes. Returns
 * false if memory runs out. */
static bool run_rank_level(struct search_state *state, struct level *part, struct buffer *bytes)
{
    part->sessions = ranks_sessions_here(state->fleet.load->ranks, part->sessions, false);
    state->stage = STAGE_RETIRES;
    state->has_failed = false;
    state->level = state->fleet.orders.search.level;
    run_level(state, part);
    exchange(state, false); /* other ranks may wait for this stage */
    part->room = find_room(state);
    return pack_level(state, part, bytes);
}

/* Waits a moment for new orders of rank 0, between two levels. Sessions that end now are counted at
 * the next level. */
static void wait_for_orders(struct search_state *state)
{
    mono_sleep(WAIT_NS);
    exchange(state, false);
}

/* Rank 0: adds up the results of all ranks for a level. `bytes` has the results of rank 0, and is
 * empty afterwards. */
static void gather(struct search_state *state, struct level *level, struct buffer *bytes)
{
    struct load *load = state->fleet.load;
    const struct operation_list operations = plan_operations(load->plan);
    struct level_sum sum = {.level = level};
    unsigned rank = 0;
    size_t size = bytes->length;
    void *taken = bytes->bytes;
    bool is_whole = true;
    *bytes = (struct buffer){.bytes = NULL};
    level->outcome = LEVEL_HELD;
    /* sessions begin no batches during the wait, which is long if another rank is lost */
    gate_rest(&load->gate, true);
    for (bool are_all = false; taken != NULL || !are_all;) {
        if (taken == NULL) {
            wait_for_orders(state);
        } else if (!merge_add_level(&sum, ranks_machine(load->ranks, rank), taken, size,
                                    &operations, load->start_ns)) {
            is_whole = false;
        }
        free(taken);
        taken = ranks_take_level(load->ranks, &rank, &size, &are_all);
    }
    gate_rest(&load->gate, state->has_ended);
    for (unsigned i = 1; i < ranks_count(load->ranks); i++) {
        is_whole = is_whole && ranks_lost(load->ranks, i) == NULL;
    }
    merge_finish_level(&sum);
    if (!is_whole) {
        end_search(state, SEARCH_RANK_LOST);
    }
    if (!is_whole && level->outcome == LEVEL_HELD) {
        level->outcome = LEVEL_UNFINISHED;
        level->reason = LEVEL_ENDED;
    }
    state->up_everywhere = level->up;
    state->room = level->room;
}

/* Tries a level, and fills *level. */
static void try_level(struct search_state *state, struct level *level)
{
    struct load *load = state->fleet.load;
    struct level part = *level;
    state->task->on_begin(load->context, level);
    if (load->ranks == NULL) {
        run_level(state, level);
        search_note_level(state->search);
        state->task->on_level(load->context, level, level);
        return;
    }
    struct buffer bytes = {0};
    ranks_begin_level(load->ranks, level->sessions, &state->fleet.orders);
    const bool is_packed = run_rank_level(state, &part, &bytes);
    level->start_ns = part.start_ns;
    level->wait = part.wait; /* only this rank polls the waits */
    if (is_packed) {
        gather(state, level, &bytes);
    } else {
        end_search(state, SEARCH_MEMORY);
    }
    buffer_fini(&bytes);
    search_note_level(state->search);
    ranks_note_level(load->ranks, level->outcome);
    part.outcome = level->outcome;
    state->task->on_level(load->context, level, &part);
    level_fini(&part);
}

/* Runs the search on a rank other than 0: tries each level that rank 0 orders, until the search has
 * ended. */
static void follow_levels(struct search_state *state)
{
    struct load *load = state->fleet.load;
    for (;;) {
        while (state->fleet.orders.search.level == state->level && !check_search_end(state)) {
            wait_for_orders(state);
        }
        if (state->fleet.orders.search.level == state->level) {
            return;
        }
        struct buffer bytes = {0};
        struct level *level = search_add_level(state->search);
        if (level == NULL) {
            /* memory has run out: send an empty result, so that rank 0 ends the search */
            state->level = state->fleet.orders.search.level;
            ranks_give_level(load->ranks, &bytes);
            end_search(state, SEARCH_MEMORY);
            continue;
        }
        causes_clear(&state->causes);
        level->sessions = state->fleet.orders.search.sessions;
        level->is_scripted = load->plan->script != NULL;
        struct level part = *level;
        state->task->on_begin(load->context, level);
        if (!run_rank_level(state, &part, &bytes)) {
            buffer_fini(&bytes);
        }
        ranks_give_level(load->ranks, &bytes);
        gate_rest(&load->gate, true);
        while (state->fleet.orders.search.noted < state->level &&
               state->fleet.orders.search.end != SEARCH_RANK_LOST) {
            wait_for_orders(state);
        }
        gate_rest(&load->gate, state->has_ended);
        const unsigned sessions = level->sessions;
        *level = part;
        level->sessions = sessions;
        if (state->fleet.orders.search.noted == state->level) {
            level->outcome = state->fleet.orders.search.outcome;
        } else if (level->outcome == LEVEL_HELD) {
            /* this rank's sessions did not fail, but the results of the other ranks are unknown */
            level->outcome = LEVEL_UNFINISHED;
            level->reason = LEVEL_ENDED;
        }
        search_note_level(state->search);
        state->task->on_level(load->context, level, level);
    }
}

/* After a level in which every session was lost, waits until the server accepts a connection again.
 * Starts one session at a time. A rank without sessions opens a separate connection instead. These
 * connects do not count in any level. */
static void await_server(struct search_state *state)
{
    const struct plan *plan = state->fleet.load->plan;
    const int64_t limit_ns = mono_now_ns() + RETURN_LIMIT_NS;
    int64_t next_ns = mono_now_ns();
    struct session_ledger ignored = {0};
    bool is_back = false;
    while (tick(state, &ignored) == 0 && !is_back && !check_search_end(state)) {
        const int64_t now_ns = mono_now_ns();
        if (now_ns >= limit_ns) {
            end_search(state, SEARCH_GONE);
        } else if (state->fleet.live == 0 && now_ns >= next_ns) {
            struct setup asked;
            struct error error = {.kind = ERROR_NONE};
            next_ns = now_ns + RETURN_PAUSE_NS;
            if (state->fleet.capacity > 0) {
                fleet_start(&state->fleet); /* if no thread starts, the next try follows after the
                                               pause */
            } else {
                is_back = setup_query_limits(&asked, plan, state->fleet.load->ranks, &error) ==
                          EXIT_CODE_OK;
            }
        }
    }
    causes_clear(&state->causes);
}

/* Returns how many of the `next` sessions fit into memory, or 0 if a level with the sessions that
 * fit would bring little. */
static unsigned fit_memory(struct search_state *state, unsigned next)
{
    struct search *search = state->search;
    const bool has_ranks = state->fleet.load->ranks != NULL;
    const struct level_room room = has_ranks ? state->room : find_room(state);
    const unsigned held = search->held;
    const unsigned live = has_ranks ? (unsigned)state->up_everywhere : state->fleet.live;
    const double most = room.times * live + 0.5; /* a NaN means that nothing is known yet */
    if (next <= live || !(most < next)) {
        return next;
    }
    const unsigned fits = (unsigned)most;
    snprintf(search->end_note, sizeof search->end_note,
             "%s in use on %s%.60s with %s %s; %s sessions would exceed %s",
             UNITS_BYTES(room.used_bytes), has_ranks ? "machine " : "this machine", room.machine,
             UNITS_COUNT(live), units_plural(live, "session", "sessions"), UNITS_COUNT(next),
             UNITS_BYTES(room.limit_bytes));
    /* do not try a level less than 5 % higher: the search would take many such small steps,
     * although the memory bound is only an estimate */
    return fits > held + held / 20 ? fits : 0;
}

static void try_levels(struct search_state *state)
{
    struct load *load = state->fleet.load;
    struct search *search = state->search;
    while (!state->has_ended) {
        const unsigned next = search_next(search, load->plan->search.first);
        search->end_note[0] = '\0';
        if (next == 0) {
            end_search(state, search->failed == 0 ? SEARCH_BOUND : SEARCH_FOUND);
        }
        if (check_search_end(state)) {
            break;
        }
        const unsigned fitting = fit_memory(state, next);
        struct level *level = fitting == 0 ? NULL : search_add_level(search);
        if (level == NULL) {
            end_search(state, SEARCH_MEMORY);
            break;
        }
        level->sessions = fitting;
        level->is_scripted = load->plan->script != NULL;
        try_level(state, level);
        if (level->outcome == LEVEL_FAILED && level->up == 0 && level->ledger.dropped > 0) {
            await_server(state);
        }
    }
    if (search->end == SEARCH_MEMORY && search->end_note[0] == '\0') {
        /* with several machines, state->room is the memory of the fullest machine */
        const bool is_known = state->room.machine[0] != '\0';
        const struct level_room room = is_known ? state->room : find_room(state);
        snprintf(search->end_note, sizeof search->end_note, "%s in use on %s%.60s; the limit is %s",
                 UNITS_BYTES(room.used_bytes), is_known ? "machine " : "this machine", room.machine,
                 UNITS_BYTES(room.limit_bytes));
    }
}

/* Tries all levels, then waits until all sessions have ended. */
static void search_all(struct search_state *state)
{
    struct fleet *fleet = &state->fleet;
    struct load *load = fleet->load;
    gate_open(&load->gate, mono_now_ns());
    sampler_wake(load->sampler, SAMPLER_WORK_BEGUN);
    if (ranks_follows(load->ranks)) {
        follow_levels(state);
    } else {
        try_levels(state);
    }
    /* stop all sessions; the loop below cuts the connections of late sessions */
    gate_stop(&load->gate,
              state->search->end == SEARCH_INTERRUPTED ? STOP_INTERRUPTED : STOP_DURATION);
    fleet->next_interrupt_ns = mono_now_ns() + SESSION_GRACE_NS;
    struct session_ledger ignored = {0};
    while (fleet->live > 0) {
        if (tick(state, &ignored) == 0 && !fleet->is_end_reported) {
            fleet->is_end_reported = true;
            sampler_wake(load->sampler, SAMPLER_WORK_DONE);
        }
        fleet_interrupt(fleet, false);
    }
    fleet->have_ended = true;
    if (load->ranks != NULL) {
        exchange(state, true);
    }
}

enum status search_run(struct load *load, const struct search_task *task, struct result *result,
                       struct error *error)
{
    const struct plan *plan = load->plan;
    const uint64_t limit_bytes = plan->search.max_memory_bytes;
    uint64_t total = 0;
    struct search_state state = {.task = task,
                                 .search = task->search,
                                 .room = {.times = INFINITY},
                                 .deadline_ns = load->start_ns + plan->search.max_time_ns,
                                 .rest_at_rows = UINT64_MAX,
                                 .max_rows = task->search->max_rows};
    struct fleet *fleet = &state.fleet;
    if (fleet_init(fleet, load, result, &state.causes, error) != STATUS_OK) {
        return STATUS_FATAL;
    }
    causes_init(&state.causes);
    state.memory.base_bytes = memory_used(&total);
    state.memory.limit_bytes = limit_bytes > 0 ? limit_bytes : total / 10 * 9;
    if (total == 0) {
        state.memory.limit_bytes = UINT64_MAX;
    }
    if (load->ranks != NULL && state.max_rows > 0) {
        state.max_rows = (uint64_t)((double)state.max_rows * fleet->capacity / plan->sessions) + 1;
    }
    bool has_memory = true;
    for (int i = 0; i < SNAPSHOTS; i++) {
        has_memory &=
            recorder_snapshot_init(&state.snapshots[i], recorder_operations(load->recorder));
    }
    if (has_memory) {
        search_all(&state);
        fleet_sum_up(fleet);
        task->search->elapsed_ns = result->elapsed_ns;
    } else {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the figures of a level");
    }
    for (int i = 0; i < SNAPSHOTS; i++) {
        recorder_snapshot_fini(&state.snapshots[i]);
    }
    causes_fini(&state.causes);
    fleet_fini(fleet);
    return has_memory ? STATUS_OK : STATUS_FATAL;
}
