/*
 * What a test may ask of the stand-in while it runs: a command a line, answered with lines that end
 * with "ok" or "error: …".
 *
 *     status             counters, a line name=value each
 *     dump TABLE FILE    writes the rows as CSV: a header, NULL as nothing, text always in quotes
 *     count TABLE        rows=N
 *     expect             what expect_report says
 *     rule RULE          adds a rule (rules.h)
 *     norules            takes all of them away
 *     sessions N         how many may be logged in from now on; 0 = any number
 *     kick               ends every connection
 *     stop               ends the stand-in
 */
#ifndef MACHBASE_STANDIN_CONTROL_H
#define MACHBASE_STANDIN_CONTROL_H

#include <stdbool.h>

#include "base/buffer.h"
#include "server.h"

/* Runs one command and adds its answer. False = stop. */
bool control_run(struct server *server, const char *line, struct buffer *answer);

#endif
