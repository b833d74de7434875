/*
 * Reads events.csv in the folder of a run: "time,text" and a line for each event. The run writes
 * the events of --mark; the user appends further lines (echo >>) during the run or later. A text
 * with commas needs no quotes.
 */
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include <stdint.h>

#include "append/adapter.h"
#include "measure/result.h"

#define EVENTS_FILE "events.csv"
#define EVENTS_START_UNKNOWN INT64_MIN

/* Reads the file of a run that began at `started_wall_ns` (since 1970 UTC); with
 * EVENTS_START_UNKNOWN a time in UTC is a bad line. A bad line is left out and named in the list's
 * note. A missing file is an empty list. Returns REJECTED if the file cannot be read; the list is
 * then empty. */
enum status events_read(struct event_list *list, const char *folder, int64_t started_wall_ns,
                        struct error *error);

#endif
