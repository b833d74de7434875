#include "ranks/ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "ranks/merge.h"
#include "ranks/ranks_internal.h"

/* Rank 0 sends the moment at which sessions may start to work this long in advance, so that the
 * message arrives at all ranks in time. */
#define GO_LEAD_NS (30 * MONO_NS_PER_MS)

/* The longest time for which ranks_end waits until all messages are sent, if a rank is lost. */
#define END_LIMIT_NS MONO_NS_PER_S

/* The longest wait for the programs of the other ranks after the program of rank 0 has ended. */
#define CLOSE_NS (60 * MONO_NS_PER_S)

enum {
    VERSION_BYTES = 120,
};

/* A rank's introduction to rank 0. */
struct hello {
    char version[VERSION_BYTES];
    uint64_t command; /* hash of the arguments; 0: this process runs one run of a sweep */
    char machine[MACHINE_BYTES];
};

/* What a rank reports to rank 0 in ranks_agree. */
struct ready {
    enum exit_code code;
    bool is_tracing;
    char version[VERSION_BYTES];
    struct error error;
};

/* The greatest number of sessions that a rank can have, and the limit that prevents more
 * sessions. */
struct most {
    unsigned sessions, rank;
    struct limit limit;
};

unsigned ranks_number(const struct ranks *ranks)
{
    return ranks == NULL ? 0 : ranks->number;
}

unsigned ranks_count(const struct ranks *ranks)
{
    return ranks == NULL ? 1 : ranks->count;
}

const char *ranks_machine(const struct ranks *ranks, unsigned rank)
{
    return ranks == NULL ? "" : ranks->peers[rank].machine;
}

bool ranks_is_first_here(const struct ranks *ranks)
{
    for (unsigned i = 0; i < ranks_number(ranks); i++) {
        if (strcmp(ranks->peers[i].machine, ranks->peers[ranks->number].machine) == 0) {
            return false;
        }
    }
    return true;
}

enum exit_code ranks_report_loss(const struct ranks *ranks, struct error *error)
{
    if (ranks->number > 0 && !ranks_is_silent_before_run(ranks, 0)) {
        return EXIT_CODE_INTERRUPTED;
    }
    unsigned lost = 0, awaited = 0;
    for (unsigned i = ranks->count - 1; i > 0; i--) {
        lost = ranks->peers[i].stage == PEER_LOST ? i : lost;
        awaited = ranks->peers[i].is_awaited ? i : awaited;
    }
    const unsigned rank = lost > 0 ? lost : awaited;
    if (interrupt_requested()) {
        error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted before all ranks were ready");
        return EXIT_CODE_INTERRUPTED;
    }
    error_set(error, ERROR_SYSTEM, 0, NULL, "rank %u%s%.60s was lost", rank,
              ranks->peers[rank].machine[0] == '\0' ? "" : " on machine ",
              ranks->peers[rank].machine);
    return EXIT_CODE_SHORT;
}

static void fini(struct ranks *ranks)
{
    if (ranks != NULL) {
        while (ranks->first != NULL) {
            struct message *message = ranks->first;
            ranks->first = message->next;
            ranks_free_message(message);
        }
        pthread_mutex_destroy(&ranks->lock);
        free(ranks->peers);
        free(ranks);
    }
}

void ranks_end(struct ranks *ranks, bool is_merged)
{
    if (ranks == NULL) {
        return;
    }
    struct wait wait = {.sleep_ns = 0};
    if (ranks->number == 0) {
        for (unsigned i = 1; i < ranks->count; i++) {
            const bool is_refused = ranks->peers[i].stage == PEER_REFUSED;
            const struct ranks_end end = {is_merged && !is_refused, ranks->is_broken};
            if (ranks_is_alive(ranks, i)) {
                ranks_post(ranks, i, KIND_END, &end, sizeof end);
            }
        }
    } else if (!ranks_have_ended(ranks)) {
        ranks_free_message(ranks_wait_for(ranks, 0, KIND_END));
    }
    const int64_t limit_ns = mono_now_ns() + END_LIMIT_NS;
    while (!ranks->module->is_idle() && (!ranks->is_broken || mono_now_ns() < limit_ns) &&
           ranks_wait_on(ranks, &wait)) {
    }
    const struct ranks_module *module = ranks->module;
    const bool are_all_there = !ranks->is_broken;
    fini(ranks);
    module->end(are_all_there);
}

void ranks_prefix_error(const struct ranks *ranks, struct error *error)
{
    if (ranks != NULL && ranks->number == 0) {
        const struct error why = *error;
        error_clear(error);
        error_set(error, why.kind, why.native_code, why.sqlstate, "machine %.60s, rank 0: %s",
                  ranks->peers[0].machine, why.text);
    }
}

/* The beginning. */

static const char *const number_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

/* Returns the number of this process from the environment of mpirun or srun, or NULL if neither has
 * started this process. */
static const char *number_of(void)
{
    const char *number = NULL;
    for (size_t i = 0; i < COUNT_OF(number_names) && number == NULL; i++) {
        number = getenv(number_names[i]);
    }
    return number;
}

/* Returns whether mpirun or srun has started this process as one of several. Also checks the number
 * of processes, because a single process has a rank number too. */
static bool is_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    const char *size = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && size == NULL; i++) {
        size = getenv(names[i]);
    }
    return number_of() != NULL && (size == NULL || strcmp(size, "1") != 0);
}

bool ranks_speaks(void)
{
    return !is_rank() || strcmp(number_of(), "0") == 0;
}

enum exit_code ranks_forbid(const char *what, struct error *error)
{
    if (!is_rank()) {
        return EXIT_CODE_OK;
    }
    if (ranks_speaks()) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s is for one process: start it without mpirun or srun", what);
    }
    return EXIT_CODE_USAGE;
}

static const struct ranks_module *load_module(struct error *error)
{
    char path[PATH_MAX];
    if (!file_find_module(RANKS_MODULE, path, sizeof path)) {
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "started by mpirun or srun as one of several ranks, but %s is neither in %.60s nor in "
            "its folder %s: build append with -D APPEND_MPI=ON, or start a single process",
            RANKS_MODULE, path, APPEND_MODULE_FOLDER);
        return NULL;
    }
    /* with RTLD_GLOBAL, because the plugins of MPI need the symbols of MPI's library */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    const struct ranks_module *module =
        library == NULL ? NULL : dlsym(library, RANKS_MODULE_SYMBOL);
    if (module == NULL) {
        error_set(error, ERROR_SYSTEM, 0, NULL, "%s cannot be loaded: %s", path, dlerror());
    } else if (strcmp(module->version, APPEND_VERSION) != 0) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s is from append %.40s, but this is append " APPEND_VERSION
                  ": install both from the same version",
                  path, module->version);
        module = NULL;
    }
    return module;
}

/* Returns a hash of the command line. All ranks use the options of rank 0, so different options on
 * another rank would be ignored silently. */
static uint64_t hash_command(void)
{
    uint64_t hash = 1;
    size_t arguments = 0;
    FILE *line = fopen("/proc/self/cmdline", "re");
    if (line == NULL) {
        return 0;
    }
    for (int byte; (byte = getc(line)) != EOF;) {
        hash = arguments > 0 ? random_mix(hash + (unsigned)byte) : hash;
        arguments += byte == '\0' ? 1 : 0;
    }
    fclose(line);
    return hash;
}

/* Compares the version and options of another rank with those of rank 0. Called at rank 0. Fills
 * *error unless the code is OK. */
static enum exit_code check_hello(unsigned rank, const struct hello *hello, const struct hello *own,
                                  struct error *error)
{
    if (strcmp(hello->version, own->version) != 0) {
        return usage_refuse(error,
                            "machine %s has a different version (%s) from rank 0 (%s, on machine "
                            "%s): install the same version everywhere",
                            hello->machine, hello->version, own->version, own->machine);
    }
    if (hello->command != own->command) {
        return usage_refuse(error,
                            "rank %u on machine %s was started with different options from rank "
                            "0 on %s: start all ranks with the same command line",
                            rank, hello->machine, own->machine);
    }
    return EXIT_CODE_OK;
}

/* Sends the version, command line and machine of each rank to rank 0. Rank 0 compares them with its
 * own, and sends the names of all machines to all ranks. */
static enum exit_code meet(struct ranks *ranks, bool is_of_sweep, struct error *error)
{
    struct hello own = {.command = is_of_sweep ? 0 : hash_command()};
    snprintf(own.version, sizeof own.version, "append %s, layout %zu", APPEND_VERSION,
             merge_layout());
    gethostname(own.machine, sizeof own.machine - 1);
    memcpy(ranks->peers[ranks->number].machine, own.machine, MACHINE_BYTES);
    struct buffer names = {0};
    enum exit_code code = EXIT_CODE_OK;
    if (ranks->number > 0) {
        ranks_post(ranks, 0, KIND_HELLO, &own, sizeof own);
    } else {
        ranks_await_all(ranks);
        for (unsigned i = 1; i < ranks->count; i++) {
            struct hello hello;
            const unsigned from = ranks_receive(ranks, ANY_RANK, KIND_HELLO, &hello, sizeof hello);
            if (from == NO_RANK) {
                return ranks_report_loss(ranks, error);
            }
            memcpy(ranks->peers[from].machine, hello.machine, MACHINE_BYTES);
            code = code == EXIT_CODE_OK ? check_hello(from, &hello, &own, error) : code;
        }
        for (unsigned i = 0; i < ranks->count; i++) {
            buffer_add(&names, ranks->peers[i].machine, MACHINE_BYTES);
        }
    }
    if (code == EXIT_CODE_OK && ranks_give_text(ranks, &names)) {
        for (unsigned i = 0; i < ranks->count && (i + 1) * MACHINE_BYTES <= names.length; i++) {
            memcpy(ranks->peers[i].machine, names.bytes + i * (size_t)MACHINE_BYTES, MACHINE_BYTES);
        }
    } else if (code == EXIT_CODE_OK) {
        code = ranks_report_loss(ranks, error);
    }
    buffer_fini(&names);
    return code;
}

static enum exit_code begin(struct ranks **made, bool runs_programs, struct error *error)
{
    char why[ERROR_TEXT_BYTES] = "";
    const struct ranks_module *module = relay_of_program();
    const bool is_of_sweep = module != NULL;
    *made = NULL;
    if (module == NULL && !is_rank()) {
        return EXIT_CODE_OK;
    }
    interrupt_install(); /* mpirun ends all ranks by a signal */
    module = module == NULL ? load_module(error) : module;
    if (module == NULL) {
        return EXIT_CODE_USAGE;
    }
    module = runs_programs ? relay_through(module) : module;
    struct ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks == NULL || !module->start(&ranks->number, &ranks->count, why, sizeof why)) {
        free(ranks);
        error_set(error, ERROR_SYSTEM, 0, NULL, "the other ranks cannot be reached: %s",
                  why[0] == '\0' ? "out of memory" : why);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    ranks->module = module;
    ranks->last = &ranks->first;
    ranks->lines = -1;
    ranks->runs_programs = runs_programs;
    ranks->polled_ns = ranks->sent_ns = mono_now_ns();
    pthread_mutex_init(&ranks->lock, NULL);
    ranks->peers = calloc(ranks->count, sizeof *ranks->peers);
    if (ranks->peers == NULL || ranks->count > RANKS_MAX) {
        if (ranks->count > RANKS_MAX) {
            error_set(error, ERROR_MEMORY, 0, NULL, "%u ranks are too many: start at most %d",
                      ranks->count, RANKS_MAX);
        } else {
            error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the state of %u ranks",
                      ranks->count);
        }
        fini(ranks);
        module->end(false);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    if (ranks->count == 1) {
        fini(ranks);
        module->end(true);
        for (size_t i = 0; i < COUNT_OF(number_names); i++) {
            unsetenv(number_names[i]); /* the program of a run inherits it, and would start MPI */
        }
        return EXIT_CODE_OK;
    }
    *made = ranks;
    return meet(ranks, is_of_sweep, error);
}

enum exit_code ranks_begin(struct ranks **made, struct error *error)
{
    return begin(made, false, error);
}

enum exit_code ranks_begin_runs(struct ranks **made, struct error *error)
{
    return begin(made, true, error);
}

/* Runs that are programs. */

bool ranks_open_run(struct ranks *ranks, struct buffer *order, int *in)
{
    *in = -1;
    if (!ranks_give_text(ranks, order)) {
        return false;
    }
    *in = ranks == NULL ? *in : relay_open();
    return true;
}

void ranks_carry(struct ranks *ranks, int64_t limit_ns)
{
    if (ranks != NULL) {
        ranks_poll(ranks);
        relay_wait(limit_ns);
    }
}

enum exit_code ranks_close_run(struct ranks *ranks, enum exit_code code, struct error *error)
{
    if (ranks == NULL) {
        return code;
    }
    relay_close();
    struct wait wait = {.sleep_ns = 0};
    const int64_t limit_ns = mono_now_ns() + RANKS_LOST_NS;
    while (!ranks->module->is_idle() && !ranks->is_broken && mono_now_ns() < limit_ns &&
           ranks_wait_on(ranks, &wait)) {
    } /* the program's bulk messages must be sent first: relay_tell_end would overtake them */
    for (unsigned i = 0; i < ranks->count; i++) {
        if (ranks_is_partner(ranks, i) && ranks_is_alive(ranks, i) && !relay_tell_end(i)) {
            ranks_lose(ranks, i);
        }
    }
    ranks->limit_ns = ranks->number == 0 ? mono_now_ns() + CLOSE_NS : 0;
    code = ranks_agree(ranks, code, NULL, error);
    ranks->limit_ns = 0;
    return code;
}

bool ranks_give_text(struct ranks *ranks, struct buffer *text)
{
    if (ranks_number(ranks) == 0) {
        if (ranks != NULL) {
            ranks_post_all(ranks, KIND_TEXT, buffer_text(text), text->length);
        }
        return true;
    }
    struct message *message = ranks_wait_for(ranks, 0, KIND_TEXT);
    if (message == NULL) {
        return false;
    }
    buffer_clear(text);
    buffer_add(text, message->bytes + HEAD_BYTES, message->size);
    ranks_free_message(message);
    return !buffer_failed(text);
}

/* Waits at rank 0 for the next report of another rank. Returns the exit code in the report, or
 * EXIT_CODE_USAGE if the rank has a different version of the client library. Fills *error unless
 * the code is OK. */
static enum exit_code receive_ready(struct ranks *ranks, const char *version, struct error *error)
{
    struct ready ready;
    const unsigned from = ranks_receive(ranks, ANY_RANK, KIND_READY, &ready, sizeof ready);
    if (from == NO_RANK) {
        return ranks_report_loss(ranks, error);
    }
    const char *machine = ranks->peers[from].machine;
    ranks->is_tracing = ranks->is_tracing || ready.is_tracing;
    if (ready.code != EXIT_CODE_OK) {
        error_set(error, ready.error.kind, ready.error.native_code, ready.error.sqlstate,
                  "machine %.60s, rank %u: %s", machine, from, ready.error.text);
        return ready.code;
    }
    if (version != NULL && strcmp(ready.version, version) != 0) {
        return usage_refuse(error,
                            "machine %.40s has a different client library (%.30s) from rank 0 "
                            "(%.30s, on machine %.40s): install the same version everywhere",
                            machine, ready.version, version, ranks->peers[0].machine);
    }
    return EXIT_CODE_OK;
}

void ranks_set_tracing(struct ranks *ranks)
{
    if (ranks != NULL) {
        ranks->is_tracing = true;
    }
}

bool ranks_is_any_tracing(const struct ranks *ranks)
{
    return ranks == NULL || ranks->is_tracing;
}

enum exit_code ranks_agree(struct ranks *ranks, enum exit_code code, const char *version,
                           struct error *error)
{
    if (ranks == NULL) {
        return code;
    }
    if (ranks->number > 0) {
        struct ready ready = {.code = code, .is_tracing = ranks->is_tracing, .error = *error};
        snprintf(ready.version, sizeof ready.version, "%s", version == NULL ? "" : version);
        ranks_post(ranks, 0, KIND_READY, &ready, sizeof ready);
        code = EXIT_CODE_INTERRUPTED;
        ranks_receive(ranks, 0, KIND_AGREED, &code, sizeof code);
        return code;
    }
    ranks_await_all(ranks);
    for (unsigned i = 1; i < ranks->count && code == EXIT_CODE_OK; i++) {
        code = receive_ready(ranks, version, error);
    }
    ranks_post_all(ranks, KIND_AGREED, &code, sizeof code);
    return code;
}

unsigned ranks_agree_most(struct ranks *ranks, unsigned most, struct limit *limit,
                          unsigned *binding)
{
    struct most least = {.sessions = most, .rank = ranks_number(ranks), .limit = *limit};
    if (ranks == NULL) {
        *binding = 0;
        return most;
    }
    if (ranks->number > 0) {
        ranks_post(ranks, 0, KIND_MOST, &least, sizeof least);
        least = (struct most){.sessions = 0};
        ranks_receive(ranks, 0, KIND_MOST, &least, sizeof least);
    } else {
        ranks_await_all(ranks);
        for (unsigned i = 1; i < ranks->count; i++) {
            struct most other = {.sessions = 0};
            ranks_receive(ranks, ANY_RANK, KIND_MOST, &other, sizeof other);
            least = other.sessions < least.sessions ? other : least;
        }
        ranks_post_all(ranks, KIND_MOST, &least, sizeof least);
    }
    *binding = least.rank;
    *limit = least.limit;
    limit->unit = NULL; /* a pointer of another process is not valid here */
    return least.sessions;
}

/* While sessions live. */

/* Does not compare the counters, because a change of the counters is not sent immediately. */
bool ranks_states_differ(const struct ranks_state *a, const struct ranks_state *b)
{
    const struct ranks_level_state *in_a = &a->search, *in_b = &b->search;
    return a->is_up != b->is_up || a->is_done != b->is_done || a->is_over != b->is_over ||
           a->is_stopped != b->is_stopped || in_a->has_failed != in_b->has_failed ||
           in_a->level != in_b->level || in_a->stage != in_b->stage || in_a->end != in_b->end;
}

static bool orders_differ(const struct ranks_orders *a, const struct ranks_orders *b)
{
    const struct ranks_level_orders *in_a = &a->search, *in_b = &b->search;
    return a->go_ns != b->go_ns || a->is_stopped != b->is_stopped || a->is_done != b->is_done ||
           in_a->level != in_b->level || in_a->has_failed != in_b->has_failed ||
           in_a->stage != in_b->stage || in_a->noted != in_b->noted || in_a->end != in_b->end;
}

/* Decides the orders for the level of a search from the states of all ranks, at rank 0. */
static void decide_level(const struct ranks *ranks, bool has_lost,
                         struct ranks_level_orders *orders)
{
    enum ranks_stage least = STAGE_HELD;
    for (unsigned i = 0; i < ranks->count; i++) {
        const struct ranks_level_state *state = &ranks->peers[i].state.search;
        if (ranks->peers[i].stage == PEER_LOST) {
            continue;
        }
        const bool is_there = state->level == orders->level;
        least = MIN(least, is_there ? state->stage : STAGE_RETIRES);
        orders->has_failed = orders->has_failed || (is_there && state->has_failed);
        orders->end = orders->end == SEARCH_GOES_ON ? state->end : orders->end;
    }
    orders->stage = least;
    orders->end = orders->end == SEARCH_GOES_ON && has_lost ? SEARCH_RANK_LOST : orders->end;
}

/* Orders a stop of the run if `is_due`. An earlier order, with its reason, stays. */
static void stop(struct ranks_orders *orders, bool is_due, enum stop_reason reason)
{
    if (is_due && !orders->is_stopped) {
        orders->is_stopped = true;
        orders->reason = reason;
    }
}

/* Decides, at rank 0, the orders for all ranks from the states of the ranks. Ignores the states of
 * lost ranks, so that the other ranks do not wait for them. */
static void decide(struct ranks *ranks, unsigned min_sessions, struct ranks_orders *orders)
{
    bool are_up = true, are_done = true;
    uint64_t up = 0;
    for (unsigned i = 0; i < ranks->count; i++) {
        const struct ranks_state *state = &ranks->peers[i].state;
        if (i > 0 && ranks_is_silent(ranks, i)) {
            ranks_lose(ranks, i);
        }
        if (ranks->peers[i].stage == PEER_LOST) {
            orders->has_lost = true;
            continue;
        }
        are_up = are_up && state->is_up;
        are_done = are_done && state->is_done;
        up += state->counters[RECORDER_SESSIONS_CONNECTED] -
              MIN(state->counters[RECORDER_SESSIONS_DROPPED],
                  state->counters[RECORDER_SESSIONS_CONNECTED]);
        stop(orders, state->is_stopped, state->reason);
    }
    orders->up = up;
    stop(orders, orders->has_lost, STOP_RANK);
    stop(orders, are_up && up == 0 && orders->go_ns == 0, STOP_NO_SESSION);
    stop(orders, are_up && min_sessions > 1 && up < min_sessions && !are_done, STOP_TOO_FEW);
    if (are_up && orders->go_ns == 0) {
        orders->go_ns = mono_now_ns() + GO_LEAD_NS;
    }
    orders->is_done = are_done;
    decide_level(ranks, orders->has_lost, &orders->search);
}

void ranks_begin_level(struct ranks *ranks, unsigned sessions, struct ranks_orders *orders)
{
    ranks->orders.search.level++;
    ranks->orders.search.sessions = sessions;
    ranks->orders.search.stage = STAGE_RETIRES;
    ranks->orders.search.has_failed = false;
    *orders = ranks->orders;
    ranks_await_all(ranks); /* each rank will send its packed level */
}

void ranks_note_level(struct ranks *ranks, enum level_outcome outcome)
{
    ranks->orders.search.noted = ranks->orders.search.level;
    ranks->orders.search.outcome = outcome;
}

/* Returns whether a rank that can be reached lacks the latest orders. */
static bool any_lacks_orders(const struct ranks *ranks)
{
    bool has = false;
    for (unsigned i = 1; i < ranks->count; i++) {
        has = has || (ranks->peers[i].lacks_orders && ranks_is_beating(ranks, i));
    }
    return has;
}

static void give_orders(struct ranks *ranks)
{
    for (unsigned i = 1; i < ranks->count; i++) {
        struct ranks_orders orders = ranks->orders;
        ranks->peers[i].lacks_orders = !ranks_is_beating(ranks, i);
        if (ranks->peers[i].lacks_orders) {
            continue;
        }
        orders.go_ns += orders.go_ns == 0 ? 0 : ranks->peers[i].clock.offset_ns;
        ranks_post(ranks, i, KIND_ORDERS, &orders, sizeof orders);
    }
}

/* Sends the state of this rank to rank 0, if the state has changed or a beat is due. */
static void give_state(struct ranks *ranks, bool has_changed)
{
    const int64_t now_ns = mono_now_ns();
    if (has_changed || now_ns - ranks->sent_ns >= ranks_beat_ns(ranks)) {
        const struct ranks_state *own = &ranks->peers[ranks->number].state;
        ranks->sent_ns = now_ns;
        ranks_post(ranks, 0, KIND_STATE, own, sizeof *own);
    }
}

void ranks_exchange(struct ranks *ranks, const struct ranks_state *own, unsigned min_sessions,
                    struct ranks_orders *orders)
{
    const int64_t now_ns = mono_now_ns();
    struct peer *self = &ranks->peers[ranks->number];
    const bool has_changed = ranks_states_differ(own, &self->state);
    ranks_poll(ranks);
    self->state = *own;
    if (ranks->number == 0) {
        decide(ranks, min_sessions, &ranks->orders);
        if (orders_differ(&ranks->sent_orders, &ranks->orders) || any_lacks_orders(ranks) ||
            now_ns - ranks->sent_ns >= RANKS_SLOW_BEAT_NS) {
            ranks->sent_ns = now_ns;
            ranks->sent_orders = ranks->orders;
            give_orders(ranks);
        }
    } else {
        give_state(ranks, has_changed);
        if (ranks_is_silent_before_run(ranks, 0)) {
            ranks_lose(ranks, 0);
        }
        if (ranks_have_ended(ranks)) {
            ranks->orders.is_stopped = true;
            ranks->orders.reason = STOP_RANK;
            ranks->orders.is_done = true;
            ranks->orders.search.end = SEARCH_RANK_LOST;
        }
    }
    *orders = ranks->orders;
}

void ranks_add_others(struct ranks *ranks, uint64_t total[RECORDER_COUNTERS],
                      uint64_t interval[RECORDER_COUNTERS])
{
    pthread_mutex_lock(&ranks->lock);
    for (size_t i = 0; i < RECORDER_COUNTERS; i++) {
        total[i] += ranks->others[i];
        interval[i] += ranks->others[i] - ranks->shown[i];
        ranks->shown[i] = ranks->others[i];
    }
    pthread_mutex_unlock(&ranks->lock);
}

uint64_t ranks_read_others(struct ranks *ranks, enum recorder_counter counter)
{
    pthread_mutex_lock(&ranks->lock);
    const uint64_t count = ranks->others[counter];
    pthread_mutex_unlock(&ranks->lock);
    return count;
}

/* The end. */

/* Sends the content of *blob to rank 0. The content may be large, so the message uses the memory of
 * *blob. If the content cannot be sent, sends an empty message; otherwise rank 0 would wait for the
 * content. */
static void give(struct ranks *ranks, enum kind kind, struct buffer *blob)
{
    const size_t size = blob->length;
    char *bytes = size == 0 || buffer_failed(blob) ? NULL : realloc(blob->bytes, HEAD_BYTES + size);
    bool is_given = false;
    if (bytes != NULL) {
        *blob = (struct buffer){.bytes = NULL};
        memmove(bytes + HEAD_BYTES, bytes, size);
        is_given = ranks_hand_over(ranks, 0, kind, bytes, size);
    }
    buffer_fini(blob);
    if (!is_given) {
        ranks_post(ranks, 0, kind, "", 0);
    }
}

void ranks_give_level(struct ranks *ranks, struct buffer *blob)
{
    give(ranks, KIND_LEVEL, blob);
}

void ranks_give_result(struct ranks *ranks, struct buffer *blob)
{
    give(ranks, KIND_RESULT, blob);
}

bool ranks_await_merge(struct ranks *ranks, int64_t limit_ns)
{
    struct wait wait = {.sleep_ns = 0};
    const int64_t until_ns = mono_now_ns() + limit_ns;
    while (!ranks_have_ended(ranks)) {
        give_state(ranks, false);
        if (limit_ns > 0 && mono_now_ns() >= until_ns) {
            return false;
        }
        if (!ranks_wait_on(ranks, &wait)) {
            ranks->is_broken = true;
            break;
        }
    }
    return ranks->peers[0].stage == PEER_MERGED;
}

/* Frees a message, except for its payload. Returns the payload, which the caller frees. Returns
 * NULL if `message` is NULL. */
static void *keep_payload(struct message *message, unsigned *from, size_t *size)
{
    if (message == NULL) {
        return NULL;
    }
    char *bytes = message->bytes;
    *from = message->from;
    *size = message->size;
    memmove(bytes, bytes + HEAD_BYTES, message->size);
    free(message);
    return bytes;
}

void *ranks_take_level(struct ranks *ranks, unsigned *rank, size_t *size, bool *are_all)
{
    struct message *message = ranks_find_message(ranks, ANY_RANK, KIND_LEVEL);
    *are_all = true;
    for (unsigned i = 1; i < ranks->count; i++) {
        const struct peer *peer = &ranks->peers[i];
        *are_all = *are_all && (!peer->is_awaited || peer->stage == PEER_LOST);
    }
    return keep_payload(message, rank, size);
}

/* Among the ranks whose result is missing, counts the silent ranks as lost or, if `may_wait` is
 * false, all of them. Returns whether a result can still arrive. */
static bool lacks_result(struct ranks *ranks, bool may_wait)
{
    bool lacks = false;
    for (unsigned i = 1; i < ranks->count; i++) {
        const struct peer *peer = &ranks->peers[i];
        if (peer->stage == PEER_TAKES_PART && (!may_wait || ranks_is_silent(ranks, i))) {
            ranks_lose(ranks, i);
        }
        lacks = lacks || peer->stage == PEER_TAKES_PART;
    }
    return lacks;
}

void *ranks_take_result(struct ranks *ranks, unsigned *rank, size_t *size)
{
    struct wait wait = {.sleep_ns = 0};
    for (;;) {
        ranks_poll(ranks);
        struct message *message = ranks_find_message(ranks, ANY_RANK, KIND_RESULT);
        if (message != NULL) {
            ranks_enter(ranks, message->from, PEER_HAS_RESULT);
            return keep_payload(message, rank, size);
        }
        if (any_lacks_orders(ranks)) {
            give_orders(ranks); /* a rank without the latest orders would not stop its sessions */
        }
        if (!lacks_result(ranks, true) ||
            (!ranks_wait_on(ranks, &wait) && !lacks_result(ranks, false))) {
            return NULL;
        }
    }
}

void ranks_refuse_result(struct ranks *ranks, unsigned rank)
{
    ranks_enter(ranks, rank, PEER_REFUSED);
}

void ranks_offer_lines(struct ranks *ranks, int fd)
{
    ranks->lines = fd;
}

void *ranks_take_lines(struct ranks *ranks, unsigned rank, size_t *size, bool *is_cut)
{
    struct wait wait = {.sleep_ns = 0};
    struct message *message = NULL;
    if (ranks_is_alive(ranks, rank)) {
        ranks_post(ranks, rank, KIND_MORE, "", 0);
        ranks_poll(ranks);
        while ((message = ranks_find_message(ranks, rank, KIND_LINES)) == NULL &&
               (message = ranks_find_message(ranks, rank, KIND_CUT)) == NULL &&
               !ranks_is_silent(ranks, rank) && ranks_wait_on(ranks, &wait)) {
        }
    }
    *is_cut = message == NULL || message->kind == KIND_CUT;
    if (message != NULL && message->size > 0) {
        return keep_payload(message, &rank, size);
    }
    ranks_free_message(message);
    *size = 0;
    return NULL;
}

bool ranks_may_signal(const struct ranks *ranks)
{
    if (ranks == NULL || !interrupt_requested()) {
        return false;
    }
    bool may = ranks->number > 0 && ranks->orders.reason == STOP_RANK;
    for (unsigned i = 1; i < ranks->count && ranks->number == 0 && ranks->signal_ns > 0; i++) {
        const struct peer *peer = &ranks->peers[i];
        may = may || (peer->stage == PEER_LOST && peer->lost_ns >= ranks->signal_ns &&
                      peer->heard_ns <= ranks->signal_ns);
    }
    return may;
}

const struct ranks_state *ranks_lost(const struct ranks *ranks, unsigned rank)
{
    const struct peer *peer = &ranks->peers[rank];
    return peer->stage == PEER_LOST || peer->stage == PEER_REFUSED ? &peer->state : NULL;
}
