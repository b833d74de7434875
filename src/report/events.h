/*
 * Reads events.csv in the folder of a run: the header "time,text" and a line for each event. The
 * run writes the events of --mark, and of changes by `append control` or the live page. The user
 * can add more lines (echo >>) during the run or later. A text with commas does not need quotes.
 */
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include <stdint.h>

#include "append/adapter.h"
#include "measure/result.h"

#define EVENTS_FILE "events.csv"
#define EVENTS_START_UNKNOWN INT64_MIN

/* Reads the file of a run that began at `started_wall_ns` (since 1970 UTC). If this start is
 * EVENTS_START_UNKNOWN, a line with a time in UTC is bad. Leaves out bad lines; the list's note
 * names the first bad line. If the file is missing, the list is empty. Returns REJECTED if the file
 * cannot be read; the list is then empty. */
enum status events_read(struct event_list *list, const char *folder, int64_t started_wall_ns,
                        struct error *error);

#endif
