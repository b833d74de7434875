#include "ranks/ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/mono.h"
#include "base/random.h"
#include "plan/facts.h"
#include "ranks/merge.h"
#include "ranks/module.h"

/* Who was asked for its clock does not sleep for so long: the next question is on its way. */
#define ALERT_NS (100 * MONO_NS_PER_MS)
#define PING_LIMIT_NS (2 * MONO_NS_PER_S)

/* From the moment at which all are told of another one until then: time enough for the message and,
 * before the run, for the first readings of the sampler. */
#define START_LEAD_NS (150 * MONO_NS_PER_MS)
#define GO_LEAD_NS (30 * MONO_NS_PER_MS)

/* Of rank 0 and, before the run, of all: what they do may keep them from beating for long. */
#define SLOW_BEAT_NS (15 * MONO_NS_PER_S)
#define SLOW_LOST_NS (4 * SLOW_BEAT_NS)
#define BEAT_NS (100 * MONO_NS_PER_MS)
#define BEATS_PER_S 5000 /* of all ranks together */
#define LOST_NS (15 * MONO_NS_PER_S)

/* The same once the run was told to stop: mpirun ends what is left of it soon after a signal. */
#define STOP_BEAT_NS (50 * MONO_NS_PER_MS)
#define STOP_LOST_NS (400 * MONO_NS_PER_MS)

#define LOOK_MOST_NS (200 * MONO_NS_PER_MS)

/* After a signal: how long to wait for what others have to say. */
#define END_LIMIT_NS MONO_NS_PER_S
#define PATIENCE_NS (20 * MONO_NS_PER_S)

/* When the program of rank 0 has ended: how long those of the others may take. */
#define CLOSE_NS (60 * MONO_NS_PER_S)

enum {
    MACHINE_BYTES = sizeof(((struct rank_result *)0)->machine),
    PINGS = 20,
    PINGED_AT_ONCE = 16,
    VERSION_BYTES = 120,
    LINES_BYTES = 1 << 20, /* that are given at once */
    WEIGHT_MAX = 1000000,
};

enum kind {
    KIND_HELLO, /* struct hello: who a rank is */
    KIND_BEAT,  /* before the run: the rank lives */
    KIND_TEXT,
    KIND_READY,  /* struct ready: what a rank came to */
    KIND_AGREED, /* enum exit_code, from rank 0 */
    KIND_PING,   /* int64_t: when it was sent */
    KIND_PONG,   /* two of them: the same, and when it was answered */
    KIND_START,  /* int64_t: when the run begins */
    KIND_STATE,  /* struct ranks_state */
    KIND_ORDERS, /* struct ranks_orders */
    KIND_MOST,   /* struct most */
    KIND_LEVEL,  /* what a rank came to at a level of a search */
    KIND_RESULT,
    KIND_MORE,  /* rank 0 wants more lines */
    KIND_LINES, /* some; none: there are no more */
    KIND_CUT,   /* they cannot be read */
    KIND_END,   /* struct end: rank 0 lets go */
};

struct end {
    bool is_merged; /* it has what the others gave away */
    bool is_broken; /* some rank is lost: nobody can wait for all */
};

struct hello {
    char version[VERSION_BYTES];
    uint64_t command; /* a hash of its command line, without the program; 0: a run of a sweep */
    char machine[MACHINE_BYTES];
};

struct ready {
    enum exit_code code;
    bool does_claim;
    char version[VERSION_BYTES];
    struct error error;
};

/* How many sessions a rank can have, and why not more. */
struct most {
    unsigned sessions, rank;
    struct limit limit;
};

struct message {
    struct message *next;
    unsigned from;
    size_t size; /* of the payload */
    char *bytes; /* owned: the kind, then the payload */
};

enum {
    HEAD_BYTES = 8 /* of the kind: the payload is aligned */
};

/* Another rank, as rank 0 sees it, or the leader, as the others do. */
struct peer {
    char machine[MACHINE_BYTES];
    uint64_t weight;
    struct plan_share share;
    unsigned part;            /* of the sessions that were shared out last */
    struct ranks_clock clock; /* the latest; drift against the first */
    int64_t first_offset_ns, first_error_ns;
    int64_t trip_ns;   /* shortest round trip of this measurement */
    unsigned pings;    /* answered in this measurement */
    int64_t pinged_ns; /* 0: no answer is due */
    int64_t heard_ns;  /* on the clock of looking, */
    int64_t lost_ns;   /* … where it is lost */
    bool has_come;     /* to what rank 0 waits for */
    bool has_result, is_lost;
    bool is_refused; /* its result came damaged */
    bool is_behind;  /* it was not told the latest orders */
    unsigned levels; /* of a search, whose results it gave */
    struct ranks_state state;
};

struct ranks {
    const struct ranks_module *module;
    unsigned number, count;
    struct peer *peers; /* by rank */
    struct message *first, **last;
    bool has_ended; /* rank 0 let go, or there is no point in waiting for it */
    bool is_merged;
    bool is_broken;  /* some rank cannot take part in the end */
    bool is_of_runs; /* each a program of its own */
    bool does_claim, is_claimed;
    int lines;         /* descriptor; -1: none are offered */
    off_t lines_given; /* bytes */
    int64_t alert_ns;
    int64_t limit_ns;              /* of waits; 0: none */
    int64_t signal_ns;             /* on the clock of looking; 0: no signal has come */
    int64_t looked_ns, patient_ns; /* latest look for messages; time spent looking, all in all */
    struct ranks_orders orders;    /* the latest */
    struct ranks_orders told;      /* the same as rank 0 told them last */
    int64_t told_ns;               /* when they, or the own state, were sent last */
    pthread_mutex_t lock;          /* guards the counters */
    uint64_t others[RECORDER_COUNTERS], shown[RECORDER_COUNTERS];
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

/* Messages. */

static void lose(struct ranks *ranks, unsigned rank)
{
    struct peer *peer = &ranks->peers[rank];
    ranks->is_broken = true;
    peer->lost_ns = peer->is_lost ? peer->lost_ns : ranks->patient_ns;
    peer->is_lost = !peer->has_result;
    if (rank == 0) {
        ranks->has_ended = true;
    }
}

static void post(struct ranks *ranks, unsigned to, enum kind kind, const void *payload, size_t size)
{
    char *bytes = ranks->peers[to].is_lost ? NULL : malloc(HEAD_BYTES + size);
    bool is_sent = false;
    if (bytes != NULL) {
        memset(bytes, 0, HEAD_BYTES);
        memcpy(bytes, &kind, sizeof kind);
        memcpy(bytes + HEAD_BYTES, payload, size);
        const bool is_bulk = kind == KIND_RESULT || kind == KIND_LEVEL || kind == KIND_LINES;
        is_sent = ranks->module->send(to, bytes, HEAD_BYTES + size, is_bulk);
    }
    if (!is_sent) {
        lose(ranks, to);
    }
}

static int64_t beat_ns(const struct ranks *ranks)
{
    const int64_t least_ns = ranks->count * (MONO_NS_PER_S / BEATS_PER_S);
    return MAX(least_ns, interrupt_requested() ? STOP_BEAT_NS : BEAT_NS);
}

/* To write to a dead rank may end this one, as Open MPI has it. A signal can be what mpirun does
 * when a rank has died. */
static bool is_alive(const struct ranks *ranks, unsigned rank)
{
    const struct peer *peer = &ranks->peers[rank];
    return !peer->is_lost && (ranks->signal_ns == 0 || peer->heard_ns >= ranks->signal_ns);
}

/* The same while sessions live, when every rank beats: what is not sent now is sent later. */
static bool is_beating(const struct ranks *ranks, unsigned rank)
{
    return is_alive(ranks, rank) &&
           ranks->patient_ns - ranks->peers[rank].heard_ns <= 3 * beat_ns(ranks);
}

static void post_all(struct ranks *ranks, enum kind kind, const void *payload, size_t size)
{
    for (unsigned i = 1; i < ranks->count; i++) {
        if (is_alive(ranks, i)) {
            post(ranks, i, kind, payload, size);
        }
    }
}

static enum kind kind_of(const struct message *message)
{
    enum kind kind;
    memcpy(&kind, message->bytes, sizeof kind);
    return kind;
}

/* Of a payload of a known size. */
static void open_message(const struct message *message, void *payload, size_t size)
{
    memset(payload, 0, size);
    memcpy(payload, message->bytes + HEAD_BYTES, MIN(size, message->size));
}

/* Nothing was heard of a rank for too long. */
static bool is_silent(const struct ranks *ranks, unsigned rank)
{
    const int64_t heard_ns = ranks->peers[rank].heard_ns;
    return ranks->signal_ns > 0 && !ranks->peers[rank].state.is_over
               ? ranks->patient_ns - MAX(heard_ns, ranks->signal_ns) >
                     MAX(STOP_LOST_NS, 4 * beat_ns(ranks))
               : ranks->patient_ns - heard_ns > LOST_NS;
}

static void free_message(struct message *message)
{
    if (message != NULL) {
        free(message->bytes);
        free(message);
    }
}

static void note_pong(struct peer *peer, const int64_t moments_ns[2])
{
    const int64_t now_ns = mono_now_ns();
    if (moments_ns[0] != peer->pinged_ns) {
        return; /* given up */
    }
    const int64_t trip_ns = now_ns - moments_ns[0];
    peer->pinged_ns = 0;
    peer->pings++;
    if (trip_ns < peer->trip_ns) {
        peer->trip_ns = trip_ns;
        peer->clock.offset_ns = moments_ns[1] - (moments_ns[0] + trip_ns / 2);
        peer->clock.error_ns = trip_ns / 2 + 1;
    }
}

static void note_state(struct ranks *ranks, unsigned from, const struct message *message)
{
    struct peer *peer = &ranks->peers[from];
    struct ranks_state state;
    open_message(message, &state, sizeof state);
    pthread_mutex_lock(&ranks->lock);
    for (size_t i = 0; i < RECORDER_COUNTERS; i++) {
        ranks->others[i] += state.counters[i] - peer->state.counters[i];
    }
    peer->state = state;
    pthread_mutex_unlock(&ranks->lock);
}

/* Whole lines, none of which is longer than the room for them. */
static void give_lines(struct ranks *ranks)
{
    char *lines = malloc(LINES_BYTES);
    ssize_t size = lines == NULL ? -1 : pread(ranks->lines, lines, LINES_BYTES, ranks->lines_given);
    if (size < 0) {
        post(ranks, 0, KIND_CUT, "", 0);
    } else {
        while (size > 0 && lines[size - 1] != '\n') {
            size--;
        }
        ranks->lines_given += size;
        post(ranks, 0, KIND_LINES, lines, (size_t)size);
    }
    free(lines);
}

/* What is answered or noted at once. False: somebody waits for it. */
static bool handle(struct ranks *ranks, const struct message *message)
{
    struct end end;
    int64_t moments_ns[2];
    switch (kind_of(message)) {
    case KIND_PING:
        open_message(message, moments_ns, sizeof moments_ns[0]);
        moments_ns[1] = mono_now_ns();
        post(ranks, message->from, KIND_PONG, moments_ns, sizeof moments_ns);
        ranks->alert_ns = moments_ns[1] + ALERT_NS;
        return true;
    case KIND_PONG:
        open_message(message, moments_ns, sizeof moments_ns);
        note_pong(&ranks->peers[message->from], moments_ns);
        return true;
    case KIND_BEAT:
        return true;
    case KIND_MORE:
        give_lines(ranks);
        return true;
    case KIND_STATE:
        note_state(ranks, message->from, message);
        return true;
    case KIND_ORDERS:
        open_message(message, &ranks->orders, sizeof ranks->orders);
        return true;
    case KIND_END:
        open_message(message, &end, sizeof end);
        ranks->is_merged = end.is_merged;
        ranks->is_broken = ranks->is_broken || end.is_broken;
        ranks->has_ended = true;
        return true;
    default:
        return false;
    }
}

/* Takes all messages that have come. */
static void look(struct ranks *ranks)
{
    const int64_t now_ns = mono_now_ns();
    ranks->patient_ns += MIN(now_ns - ranks->looked_ns, LOOK_MOST_NS);
    ranks->looked_ns = now_ns;
    if (ranks->signal_ns == 0 && interrupt_requested()) {
        ranks->signal_ns = ranks->patient_ns;
    }
    unsigned from;
    size_t size;
    char *bytes;
    while ((bytes = ranks->module->take(&from, &size)) != NULL) {
        struct message *message = malloc(sizeof *message);
        if (message == NULL || size < HEAD_BYTES || from >= ranks->count) {
            lose(ranks, from < ranks->count ? from : 0);
            free(message);
            free(bytes);
            continue;
        }
        *message = (struct message){.from = from, .size = size - HEAD_BYTES, .bytes = bytes};
        ranks->peers[from].heard_ns = ranks->patient_ns;
        if (handle(ranks, message)) {
            free_message(message);
        } else {
            *ranks->last = message;
            ranks->last = &message->next;
        }
    }
}

static struct message *find_message(struct ranks *ranks, enum kind kind)
{
    for (struct message **at = &ranks->first; *at != NULL; at = &(*at)->next) {
        struct message *message = *at;
        if (kind_of(message) == kind) {
            *at = message->next;
            if (ranks->last == &message->next) {
                ranks->last = at;
            }
            return message;
        }
    }
    return NULL;
}

/* A wait for messages. */
struct wait {
    int64_t sleep_ns;
    int64_t limit_ns; /* from a signal on; 0: none came */
};

/* Sleeps for a moment, and looks. False: there was a signal long ago. */
static bool wait_on(struct ranks *ranks, struct wait *wait)
{
    const int64_t now_ns = mono_now_ns();
    if (interrupt_requested() && wait->limit_ns == 0) {
        wait->limit_ns = now_ns + PATIENCE_NS;
    }
    if (now_ns < ranks->alert_ns) {
        sched_yield();
    } else {
        wait->sleep_ns = ranks_sleep_ns(wait->sleep_ns);
        mono_sleep(wait->sleep_ns);
    }
    look(ranks);
    return (wait->limit_ns == 0 || now_ns < wait->limit_ns) &&
           (ranks->limit_ns == 0 || now_ns < ranks->limit_ns);
}

void ranks_beat(struct ranks *ranks)
{
    const int64_t now_ns = mono_now_ns();
    if (ranks != NULL && now_ns - ranks->told_ns >= SLOW_BEAT_NS) {
        ranks->told_ns = now_ns;
        if (ranks->number > 0) {
            post(ranks, 0, KIND_BEAT, &now_ns, sizeof now_ns);
        } else {
            post_all(ranks, KIND_BEAT, &now_ns, sizeof now_ns);
        }
        look(ranks);
    }
}

/* Before the run: it does not beat. */
static bool is_mute(const struct ranks *ranks, unsigned rank)
{
    return ranks->patient_ns - ranks->peers[rank].heard_ns > SLOW_LOST_NS;
}

static void lose_mute(struct ranks *ranks)
{
    const unsigned first = ranks->number > 0 ? 0 : 1;
    for (unsigned i = first; i < (ranks->number > 0 ? 1 : ranks->count); i++) {
        if (is_mute(ranks, i)) {
            lose(ranks, i);
        }
    }
}

/* NULL: rank 0 has let go, a rank that it waits for is lost, or nobody answers for too long. */
static struct message *wait_for(struct ranks *ranks, enum kind kind)
{
    struct wait wait = {.sleep_ns = 0};
    look(ranks);
    struct message *message;
    while ((message = find_message(ranks, kind)) == NULL && !ranks->has_ended &&
           !ranks->is_broken) {
        if (!wait_on(ranks, &wait)) {
            ranks->is_broken = true;
        }
        /* the whole is written, and runs of a sweep go on, for as long as they do */
        if (kind != KIND_END && !ranks->is_of_runs) {
            ranks_beat(ranks);
            lose_mute(ranks);
        }
    }
    if (message != NULL) {
        ranks->peers[message->from].has_come = true;
    }
    return message;
}

enum exit_code ranks_explain(const struct ranks *ranks, struct error *error)
{
    if (ranks->number > 0 && !is_mute(ranks, 0)) {
        return EXIT_CODE_INTERRUPTED;
    }
    unsigned rank = ranks->number > 0 ? 0 : 1;
    for (unsigned i = ranks->count - 1; i > 0 && ranks->number == 0; i--) {
        if (ranks->peers[i].is_lost || (!ranks->peers[i].has_come && !ranks->peers[rank].is_lost)) {
            rank = i;
        }
    }
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
            free_message(message);
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
            const struct end end = {is_merged && !ranks->peers[i].is_refused, ranks->is_broken};
            if (is_alive(ranks, i)) {
                post(ranks, i, KIND_END, &end, sizeof end);
            }
        }
    } else if (!ranks->has_ended) {
        free_message(wait_for(ranks, KIND_END));
    }
    const int64_t limit_ns = mono_now_ns() + END_LIMIT_NS;
    while (!ranks->module->is_idle() && (!ranks->is_broken || mono_now_ns() < limit_ns) &&
           wait_on(ranks, &wait)) {
    }
    const struct ranks_module *module = ranks->module;
    const bool are_all_there = !ranks->is_broken;
    fini(ranks);
    module->end(are_all_there);
}

void ranks_name_own(const struct ranks *ranks, struct error *error)
{
    if (ranks != NULL && ranks->number == 0) {
        const struct error why = *error;
        error_clear(error);
        error_set(error, why.kind, why.native_code, why.sqlstate, "machine %.60s, rank 0: %s",
                  ranks->peers[0].machine, why.text);
    }
}

/* The beginning. */

/* What the environment says of the number of this process among others; NULL: nothing. */
static const char *const number_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
static const char *number_of(void)
{
    const char *number = NULL;
    for (size_t i = 0; i < COUNT_OF(number_names) && number == NULL; i++) {
        number = getenv(number_names[i]);
    }
    return number;
}

/* As far as the environment tells: who is alone has a number, too. */
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
    char path[PATH_MAX], folder[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    static const char *const places[] = {"", "/" APPEND_MODULE_FOLDER};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (snprintf(path, sizeof path, "%s%s/%s", folder, places[i], RANKS_MODULE) >=
                (int)sizeof path ||
            access(path, F_OK) != 0) {
            continue;
        }
        /* its own plugins look for the symbols of the library */
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
        const struct ranks_module *module =
            library == NULL ? NULL : dlsym(library, RANKS_MODULE_SYMBOL);
        if (module == NULL) {
            error_set(error, ERROR_SYSTEM, 0, NULL, "%s cannot be loaded: %s", path, dlerror());
        } else if (strcmp(module->version, APPEND_VERSION) != 0) {
            error_set(error, ERROR_USAGE, 0, NULL, "%s is of append %.40s, this is " APPEND_VERSION,
                      path, module->version);
            module = NULL;
        }
        return module;
    }
    error_set(
        error, ERROR_USAGE, 0, NULL,
        "started by mpirun or srun as one of several, and there is no %s beside %.200s nor in "
        "its %s: build append with -D APPEND_MPI=ON, or start it alone",
        RANKS_MODULE, folder, APPEND_MODULE_FOLDER);
    return NULL;
}

/* Options are rank 0's: others that were meant otherwise would be left out without a word. */
static uint64_t hash_command(bool is_of_sweep)
{
    uint64_t hash = 1;
    size_t words = 0;
    FILE *line = is_of_sweep ? NULL : fopen("/proc/self/cmdline", "re");
    if (line == NULL) {
        return 0;
    }
    for (int byte; (byte = getc(line)) != EOF;) {
        hash = words > 0 ? random_mix(hash + (unsigned)byte) : hash;
        words += byte == '\0' ? 1 : 0;
    }
    fclose(line);
    return hash;
}

/* Rank 0 hears of all, and says who they are. */
static enum exit_code meet(struct ranks *ranks, bool is_of_sweep, struct error *error)
{
    struct hello own = {.command = hash_command(is_of_sweep)};
    snprintf(own.version, sizeof own.version, "append %s, layout %zu", APPEND_VERSION,
             merge_layout());
    gethostname(own.machine, sizeof own.machine - 1);
    memcpy(ranks->peers[ranks->number].machine, own.machine, MACHINE_BYTES);
    struct buffer names = {0};
    enum exit_code code = EXIT_CODE_OK;
    if (ranks->number > 0) {
        post(ranks, 0, KIND_HELLO, &own, sizeof own);
    } else {
        for (unsigned i = 1; i < ranks->count; i++) {
            struct message *message = wait_for(ranks, KIND_HELLO);
            struct hello hello = {.machine = ""};
            if (message == NULL) {
                return ranks_explain(ranks, error);
            }
            open_message(message, &hello, sizeof hello);
            memcpy(ranks->peers[message->from].machine, hello.machine, MACHINE_BYTES);
            if (code == EXIT_CODE_OK && strcmp(hello.version, own.version) != 0) {
                code = usage_refuse(error,
                                    "machine %s has another version: %s there, %s here (%s): "
                                    "install the same one everywhere",
                                    hello.machine, hello.version, own.version, own.machine);
            }
            if (code == EXIT_CODE_OK && hello.command != own.command) {
                code =
                    usage_refuse(error,
                                 "rank %u on machine %s was started with other options than rank "
                                 "0 on %s: start all ranks with the same command line",
                                 message->from, hello.machine, own.machine);
            }
            free_message(message);
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
        code = ranks_explain(ranks, error);
    }
    buffer_fini(&names);
    return code;
}

static enum exit_code begin(struct ranks **made, bool is_of_runs, struct error *error)
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
    module = is_of_runs ? relay_through(module) : module;
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
    ranks->is_of_runs = is_of_runs;
    ranks->looked_ns = ranks->told_ns = mono_now_ns();
    pthread_mutex_init(&ranks->lock, NULL);
    ranks->peers = calloc(ranks->count, sizeof *ranks->peers);
    if (ranks->peers == NULL || ranks->count > RANKS_MAX) {
        const unsigned count = ranks->count;
        fini(ranks);
        module->end(false);
        error_set(error, ERROR_MEMORY, 0, NULL, "%u ranks are too many", count);
        return EXIT_CODE_CLIENT_LIMIT;
    }
    if (ranks->count == 1) {
        fini(ranks);
        module->end(true);
        for (size_t i = 0; i < COUNT_OF(number_names); i++) {
            unsetenv(number_names[i]); /* MPI cannot be started again by a program of a run */
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

bool ranks_open_run(struct ranks *ranks, struct buffer *path, int *in)
{
    *in = -1;
    if (!ranks_give_text(ranks, path)) {
        return false;
    }
    *in = ranks == NULL ? *in : relay_open();
    return true;
}

void ranks_carry(struct ranks *ranks, int64_t limit_ns)
{
    if (ranks != NULL) {
        look(ranks);
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
    const int64_t limit_ns = mono_now_ns() + LOST_NS;
    while (!ranks->module->is_idle() && !ranks->is_broken && mono_now_ns() < limit_ns &&
           wait_on(ranks, &wait)) {
    } /* the end would overtake what it said last, where that is bulk */
    for (unsigned i = 0; i < ranks->count; i++) {
        if ((i == 0) != (ranks->number == 0) && is_alive(ranks, i) && !relay_tell_end(i)) {
            lose(ranks, i);
        }
    }
    ranks->limit_ns = ranks->number == 0 ? mono_now_ns() + CLOSE_NS : 0;
    code = ranks_agree(ranks, code, NULL, error);
    ranks->limit_ns = 0;
    return code;
}

static bool has_machine(const struct ranks *ranks, const char *name)
{
    unsigned i = 0;
    while (i < ranks->count && strcmp(ranks->peers[i].machine, name) != 0) {
        i++;
    }
    return i < ranks->count;
}

/* The weight of every rank. */
static enum exit_code weigh(struct ranks *ranks, const struct plan *plan, struct error *error)
{
    const char *text = plan->weights;
    uint64_t all = 0;
    for (size_t k = 0; k < plan->sample_only.count; k++) {
        const char *name = plan->sample_only.texts[k];
        if (!has_machine(ranks, name)) {
            return usage_refuse(error,
                                "--sample-only '%.60s': no rank is on a machine of that name: "
                                "start one there, or give the name that hostname prints there",
                                name);
        }
    }
    for (unsigned i = 0; i < ranks->count; i++) {
        uint64_t *weight = &ranks->peers[i].weight;
        *weight = 1;
        if (plan->weights != NULL) {
            char word[UNITS_TEXT_BYTES];
            const size_t length = strcspn(text, ",");
            snprintf(word, sizeof word, "%.*s", (int)MIN(length, sizeof word - 1), text);
            const bool is_last = i + 1 == ranks->count;
            if (!units_parse_count(word, WEIGHT_MAX, weight) || is_last != (text[length] == '\0')) {
                return usage_refuse(error,
                                    "--weights '%.60s' is not a whole number up to %u for each of "
                                    "the %u ranks (2,1,1)",
                                    plan->weights, WEIGHT_MAX, ranks->count);
            }
            text += length + 1;
        }
        for (size_t k = 0; k < plan->sample_only.count; k++) {
            if (strcmp(plan->sample_only.texts[k], ranks->peers[i].machine) == 0) {
                *weight = 0;
            }
        }
        all += *weight;
    }
    return all > 0 ? EXIT_CODE_OK
                   : usage_refuse(error, "no rank is left to carry the sessions: see --weights and "
                                         "--sample-only");
}

/* Each further session goes to the rank that has the most weight for each of its sessions and that
 * one (V. D'Hondt, 1882): nobody's part gets smaller when there are more sessions. Nobody has less
 * than its weight's share without the remainder, where this begins. */
static void share(struct ranks *ranks, unsigned sessions)
{
    uint64_t all = 0;
    unsigned left = sessions;
    for (unsigned i = 0; i < ranks->count; i++) {
        all += ranks->peers[i].weight;
    }
    for (unsigned i = 0; i < ranks->count; i++) {
        ranks->peers[i].part = (unsigned)(sessions * ranks->peers[i].weight / all);
        left -= ranks->peers[i].part;
    }
    for (; left > 0; left--) {
        struct peer *best = ranks->peers;
        for (unsigned i = 1; i < ranks->count; i++) {
            struct peer *peer = &ranks->peers[i];
            best = peer->weight * (best->part + 1) > best->weight * (peer->part + 1) ? peer : best;
        }
        best->part++;
    }
}

static bool is_here(const struct ranks *ranks, unsigned rank)
{
    return strcmp(ranks->peers[rank].machine, ranks->peers[ranks->number].machine) == 0;
}

unsigned ranks_sessions_here(struct ranks *ranks, unsigned sessions, bool of_machine)
{
    if (ranks == NULL) {
        return sessions;
    }
    unsigned here = 0;
    share(ranks, sessions);
    for (unsigned i = 0; i < ranks->count; i++) {
        here += i == ranks->number || (of_machine && is_here(ranks, i)) ? ranks->peers[i].part : 0;
    }
    return here;
}

enum exit_code ranks_share_out(struct ranks *ranks, const struct plan *plan, struct facts *facts,
                               struct error *error)
{
    if (ranks == NULL) {
        return plan->weights == NULL && plan->sample_only.count == 0
                   ? EXIT_CODE_OK
                   : usage_refuse(error,
                                  "--%s is for several ranks: start append with mpirun or "
                                  "srun",
                                  plan->weights == NULL ? "sample-only" : "weights");
    }
    const enum exit_code code = weigh(ranks, plan, error);
    if (code != EXIT_CODE_OK) {
        return code;
    }
    struct plan_share next = {.first_idle = plan->sessions};
    facts->ranks = ranks->count;
    facts->machine_sessions = 0;
    share(ranks, plan->idle_sessions);
    for (unsigned i = 0; i < ranks->count; i++) {
        ranks->peers[i].share.idle = ranks->peers[i].part;
    }
    share(ranks, plan->sessions);
    for (unsigned i = 0; i < ranks->count; i++) {
        struct plan_share *share = &ranks->peers[i].share;
        share->count = ranks->peers[i].part;
        share->first = next.first;
        share->first_idle = next.first_idle;
        next.first += share->count;
        next.first_idle += share->idle;
        facts->machine_sessions += is_here(ranks, i) ? share->count + share->idle : 0;
    }
    facts->share = ranks->peers[ranks->number].share;
    if (plan->script != NULL) {
        script_share(plan->script, ranks->number, ranks->count);
    }
    return code;
}

struct plan_share ranks_share(const struct ranks *ranks, unsigned rank)
{
    return ranks->peers[rank].share;
}

bool ranks_give_text(struct ranks *ranks, struct buffer *text)
{
    if (ranks_number(ranks) == 0) {
        if (ranks != NULL) {
            post_all(ranks, KIND_TEXT, buffer_text(text), text->length);
        }
        return true;
    }
    struct message *message = wait_for(ranks, KIND_TEXT);
    if (message != NULL) {
        buffer_clear(text);
        buffer_add(text, message->bytes + HEAD_BYTES, message->size);
    }
    free_message(message);
    return message != NULL && !buffer_failed(text);
}

/* Rank 0: takes what one of the others came to. */
static enum exit_code settle_ready(struct ranks *ranks, const struct message *message,
                                   const char *version, struct error *error)
{
    const char *machine = ranks->peers[message->from].machine;
    struct ready ready;
    open_message(message, &ready, sizeof ready);
    ranks->is_claimed = ranks->is_claimed || ready.does_claim;
    if (ready.code != EXIT_CODE_OK) {
        error_set(error, ready.error.kind, ready.error.native_code, ready.error.sqlstate,
                  "machine %.60s, rank %u: %s", machine, message->from, ready.error.text);
        return ready.code;
    }
    if (version != NULL && strcmp(ready.version, version) != 0) {
        return usage_refuse(error,
                            "machine %.60s has another client library: %.100s there, %.100s here "
                            "(%.60s): install the same one everywhere",
                            machine, ready.version, version, ranks->peers[0].machine);
    }
    return EXIT_CODE_OK;
}

void ranks_claim(struct ranks *ranks)
{
    if (ranks != NULL) {
        ranks->does_claim = ranks->is_claimed = true;
    }
}

bool ranks_is_claimed(const struct ranks *ranks)
{
    return ranks == NULL || ranks->is_claimed;
}

enum exit_code ranks_agree(struct ranks *ranks, enum exit_code code, const char *version,
                           struct error *error)
{
    if (ranks == NULL) {
        return code;
    }
    if (ranks->number > 0) {
        struct ready ready = {.code = code, .does_claim = ranks->does_claim, .error = *error};
        snprintf(ready.version, sizeof ready.version, "%s", version == NULL ? "" : version);
        post(ranks, 0, KIND_READY, &ready, sizeof ready);
        struct message *message = wait_for(ranks, KIND_AGREED);
        if (message == NULL) {
            code = EXIT_CODE_INTERRUPTED;
        } else {
            open_message(message, &code, sizeof code);
        }
        free_message(message);
        return code;
    }
    for (unsigned i = 1; i < ranks->count; i++) {
        ranks->peers[i].has_come = false;
    }
    for (unsigned i = 1; i < ranks->count && code == EXIT_CODE_OK; i++) {
        struct message *message = wait_for(ranks, KIND_READY);
        code = message == NULL ? ranks_explain(ranks, error)
                               : settle_ready(ranks, message, version, error);
        free_message(message);
    }
    post_all(ranks, KIND_AGREED, &code, sizeof code);
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
        post(ranks, 0, KIND_MOST, &least, sizeof least);
    }
    for (unsigned i = 1; i < ranks->count && (i == 1 || ranks->number == 0); i++) {
        struct message *message = wait_for(ranks, KIND_MOST);
        struct most other = {.sessions = 0};
        if (message != NULL) {
            open_message(message, &other, sizeof other);
        }
        free_message(message);
        if (ranks->number > 0 || other.sessions < least.sessions) {
            least = other;
        }
    }
    if (ranks->number == 0) {
        post_all(ranks, KIND_MOST, &least, sizeof least);
    }
    *binding = least.rank;
    *limit = least.limit;
    limit->unit = NULL; /* another process's */
    return least.sessions;
}

/* Clocks. */

static void ask_clock(struct ranks *ranks, struct peer *peer)
{
    peer->pinged_ns = mono_now_ns();
    post(ranks, (unsigned)(peer - ranks->peers), KIND_PING, &peer->pinged_ns,
         sizeof peer->pinged_ns);
}

static void measure_clocks(struct ranks *ranks)
{
    for (unsigned first = 1; first < ranks->count; first += PINGED_AT_ONCE) {
        const unsigned end = MIN(first + PINGED_AT_ONCE, ranks->count);
        const int64_t limit_ns = mono_now_ns() + PING_LIMIT_NS, asked_ns = ranks->patient_ns;
        bool is_done = false;
        for (unsigned i = first; i < end; i++) {
            struct peer *peer = &ranks->peers[i];
            peer->trip_ns = INT64_MAX;
            peer->pings = peer->is_lost ? PINGS : 0;
            if (!peer->is_lost) {
                ask_clock(ranks, peer);
            }
        }
        while (!is_done && !interrupt_requested()) {
            const bool is_late = mono_now_ns() >= limit_ns;
            if (is_late) {
                mono_sleep(ranks_sleep_ns(0));
            } else {
                sched_yield();
            }
            look(ranks);
            is_done = true;
            for (unsigned i = first; i < end; i++) {
                struct peer *peer = &ranks->peers[i];
                if (peer->is_lost || peer->pings >= (is_late ? 1 : PINGS)) {
                    continue;
                }
                if (ranks->patient_ns - MAX(peer->heard_ns, asked_ns) > LOST_NS) {
                    lose(ranks, i);
                    peer->pings = PINGS; /* who has given its result is not lost */
                } else if (peer->pinged_ns == 0) {
                    ask_clock(ranks, peer);
                }
                is_done = false;
            }
        }
    }
}

struct ranks_clock ranks_clock(const struct ranks *ranks, unsigned rank)
{
    return ranks->peers[rank].clock;
}

void ranks_check_clocks(struct ranks *ranks)
{
    measure_clocks(ranks);
    for (unsigned i = 1; i < ranks->count; i++) {
        struct peer *peer = &ranks->peers[i];
        peer->clock.drift_ns = peer->clock.offset_ns - peer->first_offset_ns;
        peer->clock.drift_error_ns = peer->clock.error_ns + peer->first_error_ns;
    }
}

int64_t ranks_agree_start(struct ranks *ranks)
{
    int64_t start_ns = 0;
    if (ranks == NULL) {
        return mono_now_ns();
    }
    if (ranks->number > 0) {
        struct message *message = wait_for(ranks, KIND_START);
        if (message != NULL) {
            open_message(message, &start_ns, sizeof start_ns);
        }
        free_message(message);
        return MIN(start_ns, mono_now_ns() + START_LEAD_NS + LOST_NS / 2); /* as late as can be */
    }
    measure_clocks(ranks);
    start_ns = mono_now_ns() + START_LEAD_NS;
    for (unsigned i = 1; i < ranks->count; i++) {
        struct peer *peer = &ranks->peers[i];
        const int64_t there_ns = start_ns + peer->clock.offset_ns;
        peer->first_offset_ns = peer->clock.offset_ns;
        peer->first_error_ns = peer->clock.error_ns;
        if (is_alive(ranks, i)) {
            post(ranks, i, KIND_START, &there_ns, sizeof there_ns);
        }
    }
    return start_ns;
}

/* While sessions live. */

/* But for the counters, which are told now and then. */
bool ranks_states_differ(const struct ranks_state *a, const struct ranks_state *b)
{
    return a->is_up != b->is_up || a->is_done != b->is_done || a->is_over != b->is_over ||
           a->is_stopped != b->is_stopped || a->has_failed != b->has_failed ||
           a->level != b->level || a->stage != b->stage || a->end != b->end;
}

static bool orders_differ(const struct ranks_orders *a, const struct ranks_orders *b)
{
    return a->go_ns != b->go_ns || a->is_stopped != b->is_stopped || a->is_done != b->is_done ||
           a->level != b->level || a->has_failed != b->has_failed || a->stage != b->stage ||
           a->noted != b->noted || a->end != b->end;
}

/* Rank 0, in a search: the same of its level. */
static void decide_level(const struct ranks *ranks, struct ranks_orders *orders)
{
    enum ranks_stage least = STAGE_HELD;
    for (unsigned i = 0; i < ranks->count; i++) {
        const struct ranks_state *state = &ranks->peers[i].state;
        if (ranks->peers[i].is_lost) {
            continue;
        }
        const bool is_there = state->level == orders->level;
        least = MIN(least, is_there ? state->stage : STAGE_CLIMBS);
        orders->has_failed = orders->has_failed || (is_there && state->has_failed);
        orders->end = orders->end == SEARCH_GOES_ON ? state->end : orders->end;
    }
    orders->stage = least;
    orders->end =
        orders->end == SEARCH_GOES_ON && orders->has_lost ? SEARCH_RANK_LOST : orders->end;
}

/* Rank 0: what follows from what all told. Who is lost keeps nobody waiting. */
static void decide(struct ranks *ranks, unsigned min_sessions, struct ranks_orders *orders)
{
    bool are_up = true, are_done = true;
    uint64_t up = 0;
    for (unsigned i = 0; i < ranks->count; i++) {
        struct peer *peer = &ranks->peers[i];
        const struct ranks_state *state = &peer->state;
        if (i > 0 && !peer->has_result && is_silent(ranks, i)) {
            lose(ranks, i);
        }
        if (peer->is_lost) {
            orders->has_lost = true;
            continue;
        }
        are_up = are_up && state->is_up;
        are_done = are_done && (state->is_done || peer->has_result);
        up += state->counters[RECORDER_SESSIONS_CONNECTED] -
              MIN(state->counters[RECORDER_SESSIONS_DROPPED],
                  state->counters[RECORDER_SESSIONS_CONNECTED]);
        if (state->is_stopped && !orders->is_stopped) {
            orders->is_stopped = true;
            orders->reason = state->reason;
        }
    }
    orders->up = up;
    if (orders->has_lost && !orders->is_stopped) {
        orders->is_stopped = true;
        orders->reason = STOP_RANK;
    }
    const bool is_nobody = are_up && up == 0 && orders->go_ns == 0;
    const bool are_few = are_up && min_sessions > 1 && up < min_sessions && !are_done;
    if (!orders->is_stopped && (is_nobody || are_few)) {
        orders->is_stopped = true;
        orders->reason = is_nobody ? STOP_NO_SESSION : STOP_TOO_FEW;
    }
    if (are_up && orders->go_ns == 0) {
        orders->go_ns = mono_now_ns() + GO_LEAD_NS;
    }
    orders->is_done = are_done;
    decide_level(ranks, orders);
}

void ranks_begin_level(struct ranks *ranks, unsigned sessions, struct ranks_orders *orders)
{
    ranks->orders.level++;
    ranks->orders.sessions = sessions;
    ranks->orders.stage = STAGE_CLIMBS;
    ranks->orders.has_failed = false;
    *orders = ranks->orders;
}

void ranks_note_level(struct ranks *ranks, enum level_outcome outcome)
{
    ranks->orders.noted = ranks->orders.level;
    ranks->orders.outcome = outcome;
}

/* A rank has not been told the latest orders, and could be. */
static bool has_behind(const struct ranks *ranks)
{
    bool has = false;
    for (unsigned i = 1; i < ranks->count; i++) {
        has = has || (ranks->peers[i].is_behind && is_beating(ranks, i));
    }
    return has;
}

static void give_orders(struct ranks *ranks)
{
    for (unsigned i = 1; i < ranks->count; i++) {
        struct ranks_orders orders = ranks->orders;
        ranks->peers[i].is_behind = !is_beating(ranks, i);
        if (ranks->peers[i].is_behind) {
            continue;
        }
        orders.go_ns += orders.go_ns == 0 ? 0 : ranks->peers[i].clock.offset_ns;
        post(ranks, i, KIND_ORDERS, &orders, sizeof orders);
    }
}

void ranks_exchange(struct ranks *ranks, const struct ranks_state *own, unsigned min_sessions,
                    struct ranks_orders *orders)
{
    const int64_t now_ns = mono_now_ns();
    struct peer *self = &ranks->peers[ranks->number];
    const bool has_changed = ranks_states_differ(own, &self->state);
    look(ranks);
    self->state = *own;
    if (ranks->number == 0) {
        decide(ranks, min_sessions, &ranks->orders);
        if (orders_differ(&ranks->told, &ranks->orders) || has_behind(ranks) ||
            now_ns - ranks->told_ns >= SLOW_BEAT_NS) {
            ranks->told_ns = now_ns;
            ranks->told = ranks->orders;
            give_orders(ranks);
        }
    } else {
        if (has_changed || now_ns - ranks->told_ns >= beat_ns(ranks)) {
            ranks->told_ns = now_ns;
            post(ranks, 0, KIND_STATE, own, sizeof *own);
        }
        if (ranks->patient_ns - ranks->peers[0].heard_ns > SLOW_LOST_NS) {
            lose(ranks, 0);
        }
        if (ranks->has_ended) {
            ranks->orders.is_stopped = true;
            ranks->orders.reason = STOP_RANK;
            ranks->orders.is_done = true;
            ranks->orders.end = SEARCH_RANK_LOST;
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

static void give(struct ranks *ranks, enum kind kind, struct buffer *blob)
{
    post(ranks, 0, kind, buffer_text(blob), blob->length);
    buffer_fini(blob);
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
    while (!ranks->has_ended) {
        const int64_t now_ns = mono_now_ns();
        if (now_ns - ranks->told_ns >= beat_ns(ranks)) {
            ranks->told_ns = now_ns;
            post(ranks, 0, KIND_STATE, &ranks->peers[ranks->number].state,
                 sizeof(struct ranks_state));
        }
        if (limit_ns > 0 && now_ns >= until_ns) {
            return false;
        }
        if (!wait_on(ranks, &wait)) {
            ranks->is_broken = true;
            break;
        }
    }
    return ranks->is_merged;
}

/* One that has come; NULL: none has. */
static void *take_part(struct ranks *ranks, enum kind kind, unsigned *rank, size_t *size)
{
    struct message *message = find_message(ranks, kind);
    if (message == NULL) {
        return NULL;
    }
    char *bytes = message->bytes;
    *rank = message->from;
    *size = message->size;
    memmove(bytes, bytes + HEAD_BYTES, message->size);
    free(message);
    return bytes;
}

void *ranks_take_level(struct ranks *ranks, unsigned *rank, size_t *size, bool *are_all)
{
    void *bytes = take_part(ranks, KIND_LEVEL, rank, size);
    *are_all = true;
    if (bytes != NULL) {
        ranks->peers[*rank].levels++;
    }
    for (unsigned i = 1; i < ranks->count; i++) {
        const struct peer *peer = &ranks->peers[i];
        *are_all = *are_all && (peer->levels == ranks->orders.level || peer->is_lost);
    }
    return bytes;
}

void *ranks_take_result(struct ranks *ranks, unsigned *rank, size_t *size)
{
    struct wait wait = {.sleep_ns = 0};
    for (;;) {
        look(ranks);
        void *bytes = take_part(ranks, KIND_RESULT, rank, size);
        if (bytes != NULL) {
            ranks->peers[*rank].has_result = true;
            ranks->peers[*rank].is_lost = false;
            return bytes;
        }
        if (has_behind(ranks)) {
            give_orders(ranks); /* the last ones: it would work on */
        }
        bool is_complete = true;
        for (unsigned i = 1; i < ranks->count; i++) {
            struct peer *peer = &ranks->peers[i];
            if (!peer->has_result && is_silent(ranks, i)) {
                lose(ranks, i);
            }
            is_complete = is_complete && (peer->has_result || peer->is_lost);
        }
        if (is_complete) {
            return NULL;
        }
        if (!wait_on(ranks, &wait)) {
            for (unsigned i = 1; i < ranks->count; i++) {
                if (!ranks->peers[i].has_result) {
                    lose(ranks, i);
                }
            }
            return NULL;
        }
    }
}

void ranks_refuse_result(struct ranks *ranks, unsigned rank)
{
    ranks->peers[rank].is_refused = true;
}

void ranks_offer_lines(struct ranks *ranks, int fd)
{
    ranks->lines = fd;
}

void *ranks_take_lines(struct ranks *ranks, unsigned rank, size_t *size, bool *is_cut)
{
    struct wait wait = {.sleep_ns = 0};
    struct message *message = NULL;
    if (is_alive(ranks, rank)) {
        post(ranks, rank, KIND_MORE, "", 0);
        look(ranks);
        while ((message = find_message(ranks, KIND_LINES)) == NULL &&
               (message = find_message(ranks, KIND_CUT)) == NULL && !is_silent(ranks, rank) &&
               wait_on(ranks, &wait)) {
        }
    }
    *is_cut = message == NULL || kind_of(message) == KIND_CUT;
    *size = message == NULL ? 0 : message->size;
    char *lines = *size == 0 ? NULL : message->bytes;
    if (lines == NULL) {
        free_message(message);
    } else {
        memmove(lines, lines + HEAD_BYTES, *size);
        free(message);
    }
    return lines;
}

bool ranks_may_signal(const struct ranks *ranks)
{
    if (ranks == NULL || !interrupt_requested()) {
        return false;
    }
    bool may = ranks->number > 0 && ranks->orders.reason == STOP_RANK;
    for (unsigned i = 1; i < ranks->count && ranks->number == 0 && ranks->signal_ns > 0; i++) {
        const struct peer *peer = &ranks->peers[i];
        may = may || (peer->is_lost && peer->lost_ns >= ranks->signal_ns &&
                      peer->heard_ns <= ranks->signal_ns);
    }
    return may;
}

const struct ranks_state *ranks_lost(const struct ranks *ranks, unsigned rank)
{
    const struct peer *peer = &ranks->peers[rank];
    return peer->is_lost || peer->is_refused ? &peer->state : NULL;
}
