/*
 * What happened around a run, as its user says: a node was added, a rebalance began. Read from
 * events.csv, written into run.json, drawn as lines in charts over time.
 */
#ifndef MEASURE_EVENT_LIST_H
#define MEASURE_EVENT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EVENT_TEXT_BYTES = 200,
    EVENTS_MAX = 1000 /* more would be a curve, not lines in a chart */
};

struct event {
    int64_t at_ns; /* since the start of the run, on the scale of intervals.csv; not negative. It
                      may be later than the run's end. */
    char text[EVENT_TEXT_BYTES]; /* as the user wrote it: any bytes but line breaks; may be "" */
};

/* All zero: empty. */
struct event_list {
    struct event *entries; /* owned; by time */
    size_t count;
    size_t capacity;
    unsigned bad_lines; /* lines that say no event, or one too many; they are left out */
    char note[200];     /* the first of them and what is wrong with it; "" when there is none */
};

/* Adds an event behind those of the same time or earlier; text that is too long is cut between
 * characters. False: out of memory, or there are EVENTS_MAX already. */
bool event_list_add(struct event_list *list, int64_t at_ns, const char *text);

void event_list_fini(struct event_list *list);

#endif
