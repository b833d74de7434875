#include "measure/waits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "base/text.h"

const struct wait_class_text wait_class_texts[WAIT_CLASSES] = {
    [WAIT_CPU] = {"CPU*", "work of the server, or waiting for a CPU of the server",
                  "more or faster CPUs help, or less work for a row (fewer indexes and triggers)"},
    [WAIT_LOG] = {"log write", "the log that makes commits durable",
                  "a faster log device helps, and more rows in a commit; more sessions do not"},
    [WAIT_EXTENSION] = {"file extension",
                        "extending the table's file, which one session does at a time",
                        "fewer sessions help, or several tables or partitions"},
    [WAIT_LOCK] = {"row or table lock", "locks that other sessions held",
                   "shorter transactions help; more sessions do not"},
    [WAIT_BUFFER] = {"buffer", "pages in memory that other sessions used",
                     "fewer sessions on the same pages help: partitions, or fewer indexes"},
    [WAIT_LOCK_MANAGER] = {"lock manager", "the server's list of locks",
                           "fewer tables, partitions and indexes in a transaction help"},
    [WAIT_DATA_IO] = {"data files", "reads and writes of data files",
                      "more memory for the server's cache helps, or a faster data disk"},
    [WAIT_COMMIT] = {"commit bookkeeping", "bookkeeping of transactions",
                     "fewer and larger transactions help"},
    [WAIT_REPLICATION] = {"replication", "confirmations by other servers",
                          "a faster network to them helps, or commits that do not wait for them"},
    [WAIT_CLIENT] = {"client or network", "the client or the network",
                     "the server waited for append: a faster client or network helps, or larger "
                     "batches"},
    [WAIT_OTHER] = {"other", "other waits", "waits.csv has their names"},
};

/* Numbers of sessions that polls saw in calls of one operation, or in one wait during such calls.
 * Each poll has a weight. */
struct sums {
    double batches[WAIT_BATCHES];
    double interval; /* sum since the latest call of waits_take_interval */
};

struct entry {
    size_t operation;
    unsigned event;
    struct sums waiting;
    double time;   /* sum of the times that waits_note_time added */
    double latest; /* mean number of sessions in this wait, in the latest interval with polls */
};

struct waits {
    pthread_mutex_t lock;
    size_t operations;
    const struct wait_meaning *meanings;
    struct sums *in_flight; /* one entry for each operation */
    struct entry *entries;
    size_t entry_room;
    struct wait_counter *counters; /* array of WAIT_COUNTERS_MAX entries */
    size_t slot_mask;
    struct slot {
        uint64_t server_session; /* the server's number for the session; 0: the slot is empty */
        unsigned event;
    } * slots; /* hash table of the sessions of one poll */

    /* waits_copy copies this struct by one assignment; it copies the other members separately. */
    struct {
        size_t entry_count, counter_count;
        unsigned event_count;
        struct wait_event events[WAIT_EVENTS_MAX];
        unsigned batch;       /* index of the batch to which the next poll belongs */
        unsigned batch_polls; /* number of polls that this batch has so far */
        unsigned batch_size;  /* number of polls in a full batch */
        unsigned interval_polls;
        double interval_s;                    /* sum of the weights of the polls in the interval */
        double weight_s, elapsed_ns, cost_ns; /* sums over all polls */
        double calls, unseen; /* weighted sums over the polls: `calls` counts the sessions in calls,
                                 `unseen` those of them that the server did not show */
        uint64_t polls, failures;
        uint64_t costed; /* number of polls whose cost is known */
        char why[200];
        const char *missing;
        size_t blocker_count;
        struct wait_blocker blockers[WAIT_BLOCKERS_MAX];
        uint64_t more_blockers;
    } sum;
};

enum {
    EVENT_UNSEEN, /* the server does not show the session */
    EVENT_IDLE,   /* the server has not received the call yet, or has answered it */
    EVENT_READY,  /* as EVENT_IDLE, but the server's process for the session waits for a CPU or uses
                     one */
    EVENT_CPU,
    EVENT_FURTHER, /* all further waits, when WAIT_EVENTS_MAX waits are known */
    EVENT_QUERY,
    EVENT_REST, /* the part of EVENT_QUERY for which waits_note_time noted no wait */
    FIXED_EVENTS
};

static const struct wait_event fixed_events[FIXED_EVENTS] = {
    [EVENT_UNSEEN] = {"", "session not seen", WAIT_OTHER},
    [EVENT_IDLE] = {"", "call on its way", WAIT_CLIENT},
    [EVENT_READY] = {"", "waiting for a CPU", WAIT_CPU},
    [EVENT_CPU] = {"", "CPU*", WAIT_CPU},
    [EVENT_FURTHER] = {"", "further waits", WAIT_OTHER},
    [EVENT_QUERY] = {"", WAIT_QUERY, WAIT_OTHER},
    [EVENT_REST] = {"", WAIT_REST, WAIT_OTHER},
};

struct waits *waits_create(unsigned sessions, size_t operations,
                           const struct wait_meaning *meanings)
{
    size_t slots = 16;
    while (slots < 4 * (size_t)sessions) {
        slots *= 2;
    }
    struct waits *waits = calloc(1, sizeof *waits);
    if (waits == NULL) {
        return NULL;
    }
    pthread_mutex_init(&waits->lock, NULL);
    waits->operations = operations;
    waits->meanings = meanings;
    waits->sum.batch_size = 1;
    waits->in_flight = calloc(operations, sizeof *waits->in_flight);
    waits->slots = calloc(slots, sizeof *waits->slots);
    waits->slot_mask = slots - 1;
    memcpy(waits->sum.events, fixed_events, sizeof fixed_events);
    waits->sum.event_count = FIXED_EVENTS;
    waits->counters = calloc(WAIT_COUNTERS_MAX, sizeof *waits->counters);
    if (waits->in_flight == NULL || waits->slots == NULL || waits->counters == NULL) {
        waits_destroy(waits);
        return NULL;
    }
    return waits;
}

void waits_destroy(struct waits *waits)
{
    if (waits != NULL) {
        pthread_mutex_destroy(&waits->lock);
        free(waits->in_flight);
        free(waits->entries);
        free(waits->slots);
        free(waits->counters);
        free(waits);
    }
}

struct waits *waits_copy(struct waits *waits)
{
    struct waits *copy = waits_create(0, waits->operations, waits->meanings);
    if (copy == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&waits->lock);
    copy->entry_room = waits->sum.entry_count;
    copy->entries = calloc(copy->entry_room + 1, sizeof *copy->entries);
    const bool has_room = copy->entries != NULL;
    if (has_room) {
        copy->sum = waits->sum;
        for (size_t i = 0; i < waits->sum.entry_count; i++) {
            copy->entries[i] = waits->entries[i];
        }
        memcpy(copy->in_flight, waits->in_flight, waits->operations * sizeof *copy->in_flight);
        memcpy(copy->counters, waits->counters, WAIT_COUNTERS_MAX * sizeof *copy->counters);
    }
    pthread_mutex_unlock(&waits->lock);
    if (!has_room) {
        waits_destroy(copy);
        return NULL;
    }
    return copy;
}

static bool fits(const char *pattern, const char *text)
{
    if (pattern == NULL) {
        return true;
    }
    const size_t length = strlen(pattern);
    return length > 0 && pattern[length - 1] == '*' ? strncasecmp(pattern, text, length - 1) == 0
                                                    : strcasecmp(pattern, text) == 0;
}

enum wait_class waits_class(const struct waits *waits, const struct wait_seen *seen)
{
    const struct wait_meaning *at = waits->meanings;
    while ((at->type != NULL || at->event != NULL) &&
           !(fits(at->type, seen->type) && fits(at->event, seen->event))) {
        at++;
    }
    return at->type != NULL || at->event != NULL ? at->class : WAIT_OTHER;
}

/* Returns the index of the session's wait in waits->sum.events. Adds the wait if it is new. */
static unsigned event_of(struct waits *waits, const struct wait_seen *seen)
{
    if (!seen->is_at_work) {
        return seen->is_ready ? EVENT_READY : EVENT_IDLE;
    }
    if (seen->type[0] == '\0' && seen->event[0] == '\0') {
        return EVENT_CPU;
    }
    for (unsigned i = EVENT_QUERY; i < waits->sum.event_count; i++) {
        if (strcmp(waits->sum.events[i].type, seen->type) == 0 &&
            strcmp(waits->sum.events[i].event, seen->event) == 0) {
            return i;
        }
    }
    if (waits->sum.event_count == WAIT_EVENTS_MAX) {
        return EVENT_FURTHER;
    }
    struct wait_event *event = &waits->sum.events[waits->sum.event_count];
    memcpy(event->type, seen->type, sizeof event->type);
    memcpy(event->event, seen->event, sizeof event->event);
    event->class = waits_class(waits, seen);
    return waits->sum.event_count++;
}

/* Returns the slot that has the session or, if no slot has it, the empty slot for it. The hash
 * table is at most half full, so there is always an empty slot. */
static struct slot *slot_of(struct waits *waits, uint64_t server_session)
{
    size_t at = (size_t)(server_session * UINT64_C(0x9e3779b97f4a7c15) >> 32) & waits->slot_mask;
    while (waits->slots[at].server_session != 0 &&
           waits->slots[at].server_session != server_session) {
        at = (at + 1) & waits->slot_mask;
    }
    return &waits->slots[at];
}

/* Fills the slots with this program's sessions, and sets the wait that the server shows for each of
 * them. */
static void fill_slots(struct waits *waits, const struct wait_poll *poll)
{
    unsigned others = EVENT_UNSEEN;
    for (size_t i = 0; i < poll->seen_count; i++) {
        others = poll->seen[i].server_session == 0 ? event_of(waits, &poll->seen[i]) : others;
    }
    memset(waits->slots, 0, (waits->slot_mask + 1) * sizeof *waits->slots);
    for (unsigned i = 0; i < poll->sessions; i++) {
        const uint64_t numbers[] = {poll->before[i].server_session, poll->after[i].server_session};
        for (size_t j = 0; j < COUNT_OF(numbers); j++) {
            if (numbers[j] != 0) {
                *slot_of(waits, numbers[j]) = (struct slot){numbers[j], others};
            }
        }
    }
    for (size_t i = 0; i < poll->seen_count; i++) {
        struct slot *slot = slot_of(waits, poll->seen[i].server_session);
        if (poll->seen[i].server_session != 0 && slot->server_session != 0) {
            slot->event = event_of(waits, &poll->seen[i]);
        }
    }
}

/* Returns the entry of an operation and a wait, or NULL if there is no such entry. */
static struct entry *find_entry(const struct waits *waits, size_t operation, unsigned event)
{
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        if (waits->entries[i].operation == operation && waits->entries[i].event == event) {
            return &waits->entries[i];
        }
    }
    return NULL;
}

/* Returns the entry of an operation and a wait; adds the entry if it is missing. Returns NULL when
 * out of memory. */
static struct entry *entry_of(struct waits *waits, size_t operation, unsigned event)
{
    struct entry *const found = find_entry(waits, operation, event);
    if (found != NULL) {
        return found;
    }
    if (waits->sum.entry_count == waits->entry_room) {
        const size_t room = 2 * waits->entry_room + 16;
        struct entry *more = reallocarray(waits->entries, room, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        waits->entries = more;
        waits->entry_room = room;
    }
    struct entry *entry = &waits->entries[waits->sum.entry_count++];
    *entry = (struct entry){.operation = operation, .event = event};
    return entry;
}

static void add_to(struct waits *waits, struct sums *sums, double weight)
{
    sums->batches[waits->sum.batch] += weight;
    sums->interval += weight;
}

static void add_calls(struct waits *waits, const struct recorder_call *calls, unsigned count,
                      double weight)
{
    for (unsigned i = 0; i < count; i++) {
        const struct recorder_call *call = &calls[i];
        if (call->operation >= waits->operations) {
            continue;
        }
        const unsigned event =
            call->server_session == 0 ? EVENT_UNSEEN : slot_of(waits, call->server_session)->event;
        struct entry *entry = entry_of(waits, call->operation, event);
        if (entry == NULL) {
            continue;
        }
        add_to(waits, &waits->in_flight[call->operation], weight);
        add_to(waits, &entry->waiting, weight);
        waits->sum.calls += weight;
        waits->sum.unseen += event == EVENT_UNSEEN ? weight : 0;
    }
}

static void join_pairs(struct sums *sums)
{
    for (unsigned i = 0; i < WAIT_BATCHES; i++) {
        sums->batches[i] =
            i < WAIT_BATCHES / 2 ? sums->batches[2 * i] + sums->batches[2 * i + 1] : 0;
    }
}

/* Ends the poll, and perhaps its batch. */
static void end_poll(struct waits *waits)
{
    waits->sum.batch_polls++;
    if (waits->sum.batch_polls < waits->sum.batch_size) {
        return;
    }
    waits->sum.batch_polls = 0;
    waits->sum.batch++;
    if (waits->sum.batch == WAIT_BATCHES) {
        for (size_t i = 0; i < waits->operations; i++) {
            join_pairs(&waits->in_flight[i]);
        }
        for (size_t i = 0; i < waits->sum.entry_count; i++) {
            join_pairs(&waits->entries[i].waiting);
        }
        waits->sum.batch = WAIT_BATCHES / 2;
        waits->sum.batch_size *= 2;
    }
}

void waits_add_poll(struct waits *waits, const struct wait_poll *poll)
{
    pthread_mutex_lock(&waits->lock);
    fill_slots(waits, poll);
    add_calls(waits, poll->before, poll->sessions, poll->weight_s / 2);
    add_calls(waits, poll->after, poll->sessions, poll->weight_s / 2);
    waits->sum.polls++;
    waits->sum.interval_polls++;
    waits->sum.interval_s += poll->weight_s;
    waits->sum.weight_s += poll->weight_s;
    waits->sum.elapsed_ns += (double)poll->elapsed_ns;
    if (poll->cost_ns >= 0) {
        waits->sum.cost_ns += (double)poll->cost_ns;
        waits->sum.costed++;
    }
    end_poll(waits);
    pthread_mutex_unlock(&waits->lock);
}

void waits_add_cost(struct waits *waits, int64_t cost_ns)
{
    pthread_mutex_lock(&waits->lock);
    waits->sum.cost_ns += (double)cost_ns;
    pthread_mutex_unlock(&waits->lock);
}

bool waits_is_ours(struct waits *waits, uint64_t server_session)
{
    pthread_mutex_lock(&waits->lock);
    const bool is_ours =
        server_session != 0 && slot_of(waits, server_session)->server_session == server_session;
    pthread_mutex_unlock(&waits->lock);
    return is_ours;
}

void waits_add_failure(struct waits *waits, const char *why)
{
    pthread_mutex_lock(&waits->lock);
    if (waits->sum.failures++ == 0) {
        snprintf(waits->sum.why, sizeof waits->sum.why, "%s", why);
    }
    pthread_mutex_unlock(&waits->lock);
}

void waits_add_blocker(struct waits *waits, const struct wait_blocker *blocker)
{
    pthread_mutex_lock(&waits->lock);
    size_t at = 0;
    while (at < waits->sum.blocker_count &&
           (waits->sum.blockers[at].is_ours != blocker->is_ours ||
            strcmp(waits->sum.blockers[at].who, blocker->who) != 0 ||
            strcmp(waits->sum.blockers[at].state, blocker->state) != 0 ||
            strcmp(waits->sum.blockers[at].sql, blocker->sql) != 0)) {
        at++;
    }
    if (at == WAIT_BLOCKERS_MAX) {
        waits->sum.more_blockers++;
    } else if (at == waits->sum.blocker_count) {
        waits->sum.blockers[at] = *blocker;
        waits->sum.blockers[at].seen = 1;
        waits->sum.blocker_count++;
    } else {
        waits->sum.blockers[at].seen++;
    }
    for (; at > 0 && at < waits->sum.blocker_count &&
           waits->sum.blockers[at].seen > waits->sum.blockers[at - 1].seen;
         at--) {
        const struct wait_blocker before = waits->sum.blockers[at - 1];
        waits->sum.blockers[at - 1] = waits->sum.blockers[at];
        waits->sum.blockers[at] = before;
    }
    pthread_mutex_unlock(&waits->lock);
}

const struct wait_blocker *waits_blockers(const struct waits *waits, size_t *count, uint64_t *more)
{
    *count = waits->sum.blocker_count;
    *more = waits->sum.more_blockers;
    return waits->sum.blockers;
}

void waits_note_counter(struct waits *waits, const char *name, double value, bool is_after)
{
    pthread_mutex_lock(&waits->lock);
    size_t at = 0;
    while (at < waits->sum.counter_count && strcmp(waits->counters[at].name, name) != 0) {
        at++;
    }
    if (at < WAIT_COUNTERS_MAX) {
        struct wait_counter *counter = &waits->counters[at];
        if (at == waits->sum.counter_count) {
            waits->sum.counter_count++;
            snprintf(counter->name, sizeof counter->name, "%s", name);
        }
        *(is_after ? &counter->after : &counter->before) = value;
        *(is_after ? &counter->has_after : &counter->has_before) = true;
    }
    pthread_mutex_unlock(&waits->lock);
}

const struct wait_counter *waits_next_counter(const struct waits *waits, size_t *at)
{
    while (*at < waits->sum.counter_count) {
        const struct wait_counter *counter = &waits->counters[(*at)++];
        if (counter->has_before && counter->has_after && counter->after > counter->before) {
            return counter;
        }
    }
    return NULL;
}

void waits_note_time(struct waits *waits, size_t operation, const char *event, double time)
{
    struct wait_seen seen = {.is_at_work = true};
    snprintf(seen.event, sizeof seen.event, "%s", event[0] == '\0' ? WAIT_REST : event);
    pthread_mutex_lock(&waits->lock);
    struct entry *entry = find_entry(waits, operation, EVENT_QUERY) == NULL
                              ? NULL
                              : entry_of(waits, operation, event_of(waits, &seen));
    if (entry != NULL) {
        entry->time += time;
    }
    pthread_mutex_unlock(&waits->lock);
}

/* Divides the wait WAIT_QUERY of an operation among the waits for which waits_note_time noted
 * times. These times may overlap, so their sum may exceed the time of the queries. */
static void divide(struct waits *waits, size_t operation)
{
    struct entry *const query = find_entry(waits, operation, EVENT_QUERY);
    double all = 0, counted = 0;
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        const struct entry *entry = &waits->entries[i];
        const bool is_rest = entry->event == EVENT_REST;
        all += entry->operation == operation && is_rest ? entry->time : 0;
        counted += entry->operation == operation && !is_rest ? entry->time : 0;
    }
    const double whole = MAX(all, counted);
    if (query == NULL || whole <= 0) {
        return;
    }
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        struct entry *entry = &waits->entries[i];
        const double time = entry->event == EVENT_REST ? whole - counted : entry->time;
        for (unsigned b = 0; b < WAIT_BATCHES && entry->operation == operation; b++) {
            entry->waiting.batches[b] += query->waiting.batches[b] * time / whole;
        }
        entry->time = entry->operation == operation ? 0 : entry->time;
    }
    memset(query->waiting.batches, 0, sizeof query->waiting.batches);
}

void waits_divide(struct waits *waits)
{
    pthread_mutex_lock(&waits->lock);
    for (size_t i = 0; i < waits->operations; i++) {
        divide(waits, i);
    }
    pthread_mutex_unlock(&waits->lock);
}

void waits_note_missing(struct waits *waits, const char *missing)
{
    pthread_mutex_lock(&waits->lock);
    waits->sum.missing = missing;
    pthread_mutex_unlock(&waits->lock);
}

void waits_take_interval(struct waits *waits, int64_t start_ns, int64_t end_ns,
                         void (*take)(void *context, const struct wait_row *row), void *context)
{
    pthread_mutex_lock(&waits->lock);
    double calls = 0;
    for (size_t i = 0; i < waits->operations; i++) {
        calls += waits->in_flight[i].interval;
    }
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        struct entry *entry = &waits->entries[i];
        if (waits->sum.interval_polls > 0) {
            entry->latest = entry->waiting.interval / waits->sum.interval_s;
        }
        /* an interval without calls gets rows of zeros, because a mean over several intervals must
         * include it */
        if (entry->waiting.interval > 0 || (waits->sum.interval_polls > 0 && calls <= 0)) {
            const struct wait_row row = {.start_ns = start_ns,
                                         .end_ns = end_ns,
                                         .operation = entry->operation,
                                         .event = &waits->sum.events[entry->event],
                                         .in_flight = waits->in_flight[entry->operation].interval /
                                                      waits->sum.interval_s,
                                         .waiting = entry->latest,
                                         .polls = waits->sum.interval_polls};
            take(context, &row);
        }
        entry->waiting.interval = 0;
    }
    for (size_t i = 0; i < waits->operations; i++) {
        waits->in_flight[i].interval = 0;
    }
    waits->sum.interval_polls = 0;
    waits->sum.interval_s = 0;
    pthread_mutex_unlock(&waits->lock);
}

double waits_latest(struct waits *waits, size_t operation, enum wait_class class)
{
    double sum = -1;
    pthread_mutex_lock(&waits->lock);
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        const struct entry *entry = &waits->entries[i];
        if (entry->operation == operation && waits->sum.events[entry->event].class == class) {
            sum = (sum < 0 ? 0 : sum) + entry->latest;
        }
    }
    pthread_mutex_unlock(&waits->lock);
    return sum;
}

struct wait_polls waits_polls(const struct waits *waits)
{
    const double polls = waits->sum.polls > 0 ? (double)waits->sum.polls : 1;
    const double weight_s = waits->sum.weight_s > 0 ? waits->sum.weight_s : 1;
    const double calls = waits->sum.calls > 0 ? waits->sum.calls : 1;
    struct wait_polls sum = {.polls = waits->sum.polls,
                             .failures = waits->sum.failures,
                             .period_s = waits->sum.weight_s / polls,
                             .answer_ms = waits->sum.elapsed_ns / polls / 1e6,
                             .is_cost_known = waits->sum.costed > 0,
                             .cost_ms =
                                 waits->sum.cost_ns / (double)MAX(waits->sum.costed, 1) / 1e6,
                             .server_percent = 100 * waits->sum.cost_ns / 1e9 / weight_s * polls /
                                               (double)MAX(waits->sum.costed, 1),
                             .unseen_percent = 100 * waits->sum.unseen / calls};
    memcpy(sum.why, waits->sum.why, sizeof sum.why);
    sum.missing = waits->sum.missing == NULL ? "" : waits->sum.missing;
    return sum;
}

static double total(const struct sums *sums)
{
    double all = 0;
    for (unsigned i = 0; i < WAIT_BATCHES; i++) {
        all += sums->batches[i];
    }
    return all;
}

/* Writes the waits of share's operation and class to share->events, each with its share of `whole`,
 * the largest share first. Writes the first of them to share->largest. */
static void list_events(const struct waits *waits, struct wait_share *share, double whole)
{
    static const char more[] = ", …";
    double bound = -1; /* time of the wait that was written last; -1: no wait was written */
    size_t last = waits->sum.entry_count, used = 0;
    for (size_t n = 0; n < waits->sum.entry_count; n++) {
        size_t best = waits->sum.entry_count;
        double largest = 0;
        for (size_t i = 0; i < waits->sum.entry_count; i++) {
            const struct entry *entry = &waits->entries[i];
            const double part = total(&entry->waiting);
            const bool is_later = bound < 0 || part < bound || (part == bound && i > last);
            if (entry->operation == share->operation &&
                waits->sum.events[entry->event].class == share->class && is_later &&
                part > largest) {
                largest = part;
                best = i;
            }
        }
        if (best == waits->sum.entry_count) {
            return;
        }
        const struct wait_event *event = &waits->sum.events[waits->entries[best].event];
        char text[WAIT_TYPE_BYTES + WAIT_EVENT_BYTES + 16];
        snprintf(text, sizeof text, "%s%s%s%s %.0f %%", used > 0 ? ", " : "", event->type,
                 event->type[0] != '\0' ? ":" : "", event->event, 100 * largest / whole);
        if (used + strlen(text) + sizeof more > sizeof share->events) {
            memcpy(share->events + used, more, sizeof more);
            return;
        }
        memcpy(share->events + used, text, strlen(text) + 1);
        used += strlen(text);
        if (n == 0) {
            snprintf(share->largest, sizeof share->largest, "%.100s", share->events);
        }
        bound = largest;
        last = best;
    }
}

bool waits_share(const struct waits *waits, size_t operation, enum wait_class class,
                 struct wait_share *share)
{
    double parts[WAIT_BATCHES] = {0};
    const struct sums *in_flight = &waits->in_flight[operation];
    const double whole = total(in_flight);
    *share = (struct wait_share){.operation = operation, .class = class};
    if (whole <= 0) {
        return false;
    }
    double part = 0;
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        const struct entry *entry = &waits->entries[i];
        for (unsigned b = 0; b < WAIT_BATCHES && entry->operation == operation &&
                             waits->sum.events[entry->event].class == class;
             b++) {
            parts[b] += entry->waiting.batches[b];
            part += entry->waiting.batches[b];
        }
    }
    share->in_flight = whole / waits->sum.weight_s;
    /* the last batch may have fewer polls than the others */
    const size_t batches = waits->sum.batch + (waits->sum.batch_polls > 0 ? 1U : 0U);
    share->has_interval = waits->sum.polls >= WAIT_POLLS_MIN &&
                          statistics_share(parts, in_flight->batches, batches, &share->share);
    share->share.share = part / whole;
    list_events(waits, share, whole);
    return true;
}

double waits_type_share(const struct waits *waits, size_t operation, enum wait_class class,
                        const char *type)
{
    const double whole = total(&waits->in_flight[operation]);
    double part = 0;
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        const struct entry *entry = &waits->entries[i];
        const struct wait_event *event = &waits->sum.events[entry->event];
        if (entry->operation == operation && event->class == class &&
            strncmp(event->type, type, strlen(type)) == 0) {
            part += total(&entry->waiting);
        }
    }
    return whole > 0 ? part / whole : 0;
}

bool waits_next_share(const struct waits *waits, size_t *at, struct wait_share *share)
{
    /* *at counts operations and, within each operation, its classes in the order of their shares:
     * `rank` is 0 for the class with the largest share */
    for (; *at < waits->operations * WAIT_CLASSES; (*at)++) {
        const size_t operation = *at / WAIT_CLASSES, rank = *at % WAIT_CLASSES;
        double shares[WAIT_CLASSES];
        for (size_t i = 0; i < WAIT_CLASSES; i++) {
            shares[i] = waits_type_share(waits, operation, (enum wait_class)i, "");
        }
        for (size_t i = 0; i < WAIT_CLASSES; i++) {
            size_t before = 0;
            for (size_t j = 0; j < WAIT_CLASSES; j++) {
                before += j < i ? shares[j] >= shares[i] : shares[j] > shares[i];
            }
            if (before == rank && shares[i] > 0) {
                waits_share(waits, operation, (enum wait_class)i, share);
                share->is_first = rank == 0;
                (*at)++;
                return true;
            }
        }
    }
    return false;
}

bool waits_largest(const struct waits *waits, struct wait_share *largest)
{
    struct wait_share share;
    *largest = (struct wait_share){.in_flight = 0};
    for (size_t at = 0; waits_next_share(waits, &at, &share);) {
        if (share.in_flight * share.share.share > largest->in_flight * largest->share.share) {
            *largest = share;
        }
    }
    return largest->in_flight > 0;
}

void waits_reset(struct waits *waits)
{
    pthread_mutex_lock(&waits->lock);
    for (size_t i = 0; i < waits->operations; i++) {
        memset(waits->in_flight[i].batches, 0, sizeof waits->in_flight[i].batches);
    }
    for (size_t i = 0; i < waits->sum.entry_count; i++) {
        memset(waits->entries[i].waiting.batches, 0, sizeof waits->entries[i].waiting.batches);
    }
    waits->sum.batch = waits->sum.batch_polls = 0;
    waits->sum.batch_size = 1;
    waits->sum.polls = waits->sum.costed = 0;
    waits->sum.weight_s = waits->sum.calls = waits->sum.unseen = 0;
    waits->sum.elapsed_ns = waits->sum.cost_ns = 0;
    pthread_mutex_unlock(&waits->lock);
}

void waits_answer(const struct waits *waits, const struct operation_list *operations,
                  char answer[WAIT_ANSWER_BYTES])
{
    struct wait_share main;
    answer[0] = '\0';
    if (waits_largest(waits, &main) && main.has_interval) {
        char key[FIGURE_KEY_BYTES];
        const struct wait_class_text *text = &wait_class_texts[main.class];
        snprintf(answer, WAIT_ANSWER_BYTES, "%.0f %% ± %.0f of the time in %s was spent on %s: %s",
                 100 * main.share.share, 100 * main.share.half,
                 operation_key(&operations->entries[main.operation], key), text->noun,
                 text->advice);
    }
}
