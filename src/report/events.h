/*
 * events.csv in the folder of a run, read back: "time,text" and a line an event, written by the run
 * for its --mark options and by its user, who appends lines with echo while it goes on or later.
 *
 * Each line is read for itself: one that is bad is told in the list's note and left out. A text
 * with commas needs no quotes.
 */
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include <stdint.h>

#include "append/error.h"
#include "figures/saved_run.h"
#include "measure/result.h"

#define EVENTS_FILE "events.csv"
#define EVENTS_START_UNKNOWN INT64_MIN

/* Reads the file of a run that began at `started_wall_ns` (1970 UTC); with EVENTS_START_UNKNOWN a
 * time in UTC is a bad line. No file: an empty list. REJECTED: it cannot be read; the list is
 * empty.
 */
enum status events_read(struct event_list *list, const char *folder, int64_t started_wall_ns,
                        struct error *error);

#endif
