/*
 * Before and after the sessions: the table is made ready and counted, and counted again.
 *
 * Each uses one connection of its own that is closed before it returns, so that it takes no place
 * from a session.
 */
#ifndef LOAD_SETUP_H
#define LOAD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/exit_code.h"
#include "measure/result.h"
#include "plan/plan.h"

struct setup {
    struct table table; /* the columns that are written; owned */
    uint64_t rows_before;
    int64_t count_ns;                  /* counting them took so long */
    struct server_limits server;       /* version "" when the server did not say */
    struct connection_info connection; /* how the set-up's connection, and so all of them, work */
    bool is_remote;                    /* the server is on another machine */
};

/* Connects, creates the table where it is missing (or is to be made anew), learns its columns,
 * counts its rows, and runs the user's query once, if there is one. On OK the caller ends it with
 * setup_fini; else *error is the line to print. */
enum exit_code setup_prepare(struct setup *setup, const struct plan *plan, struct error *error);
void setup_fini(struct setup *setup);

/* Connects once the sessions have left; also when the program was told to end, if it is soon. */
enum status setup_open_again(const struct plan *plan, struct adapter_conn **conn,
                             struct error *error);

/* Counts again and settles the acknowledged rows against it: fills result->verification. */
void setup_verify(const struct setup *setup, const struct plan *plan, struct result *result);

#endif
