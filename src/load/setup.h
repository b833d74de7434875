/*
 * The work before the sessions connect: this program asks the server for its properties, prepares
 * the run's tables and counts their rows. Each step has its own connection: see load/task.h. Only
 * the main thread calls these functions. load/verify.h has the work after the sessions have ended.
 */
#ifndef LOAD_SETUP_H
#define LOAD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/process.h"
#include "base/text.h"
#include "load/loader.h"
#include "load/storage.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "ranks/ranks.h"

/* A table of the run: the table of the plan, or a table that the plan's script declares. */
struct setup_table {
    const char *name;       /* name of the table; borrowed */
    struct table table;     /* the columns that are written; owned */
    struct statement count; /* statement that counts the rows of the table */
    char *count_sql;        /* text of `count`; owned */
};

/* The changes that set-up made to the script's tables. */
struct setup_made {
    size_t tables;
    size_t indexes;
    uint64_t rows;
    int64_t load_ns;
};

/* Sessions whose connections this program has cut. The server may still work on the calls of these
 * sessions. */
struct cut_list {
    struct cut_session {
        struct session_name name;
        unsigned host; /* number of the session's host, if there are several */
    } * entries;       /* sessions that were cut; owned */
    size_t count, room;
    uint64_t ended; /* number of sessions that this program has ended at the server */
};

/* A host of the run. There is at least one. */
struct setup_host {
    bool is_known; /* the host has answered; the members below are valid */
    /* number of rows that each table had before the run, indexed by number of the table; owned */
    uint64_t *rows_before;
    struct server_settings settings;
};

struct setup {
    struct ranks *ranks; /* the ranks (processes) of the run; while this rank waits, it signals the
                            other ranks that it is alive; borrowed; NULL if there is only this
                            process */
    size_t table_count; /* number of tables: 1, or with a script the number of its tables, which may
                           be 0 */
    /* tables of the run, indexed by number of the table, followed by an empty entry; owned */
    struct setup_table *tables;
    struct setup_table *own;  /* the table whose columns are read from the database; the empty entry
                                 of `tables` if the script declares the columns of every table */
    bool has_made_table;      /* the set-up created `own` */
    struct statement nothing; /* a statement without effect, to check a connection */
    int64_t count_ns;         /* duration of the count of `own` */
    struct server_limits server; /* facts that the server reports about itself; version "" when the
                                    server does not report its version */
    struct connection_info connection; /* facts about the set-up's connection, which also hold for
                                          the sessions' connections */
    bool is_remote;                    /* the server is on another machine */
    struct datasets *datasets; /* datasets of the script; owned; NULL without a script or after its
                                  tables are loaded */
    struct setup_made made;
    struct storage storage;
    char waits_note[240]; /* reason why the server's waits cannot be polled; "" = the waits can be
                             polled */
    unsigned host;        /* number of the first host that answered */
    size_t host_count;    /* number of hosts, at least 1 */
    struct setup_host *hosts; /* hosts of the run, indexed by number of the host; owned */
    struct cut_list *cut;     /* the sessions to end before rows are counted again; may be NULL */
};

/* Asks the server about its limits, and creates nothing. May be called before any other connection
 * exists. Waits at most TASK_HASTY_NS for each answer. Fills only `server`, `connection` and
 * `is_remote`, which own nothing. On failure, *error is the line to print, and `connection` and
 * `is_remote` hold the facts that are known without a connection. */
enum exit_code setup_query_limits(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                                  struct error *error);

/* State of a table before any run. */
struct setup_found {
    bool is_there;
    bool has_marks; /* this program can mark tables in this database: see load/table_mark.h */
};

/* Looks for the table of the plan. On failure, *error is the line to print. If the database file is
 * missing, the table counts as missing and no file is created. If the default database is missing
 * and a run would create it, this function creates it. */
enum exit_code setup_find_table(const struct plan *plan, struct setup_found *found,
                                struct error *error);

/* The first step of setup_prepare: allocates memory for the tables of the plan and for its hosts.
 * Fails only when out of memory; setup_fini then frees what was allocated. */
enum exit_code setup_allocate(struct setup *setup, const struct plan *plan, struct error *error);

/* The set-up has three steps. The caller calls setup_prepare, then setup_wait until it returns
 * false, and then setup_complete. Each call of setup_wait waits for a short time; the caller may do
 * other work between the calls.
 *
 * Together the steps connect, create the table if it is missing or --recreate is given, read the
 * table's columns, count its rows, and run the user's query once, if there is one. With a script,
 * they create and load the script's tables, and prepare the script's statements once. On OK the
 * caller ends the set-up with setup_fini. Otherwise *error is the line to print.
 *
 * With several hosts, the first host that answers is set up. After that, each other host that
 * answers is checked. If the table is missing there, or still has rows although --recreate has
 * replaced the table on the first host, the other host has a database of its own, and the table is
 * also created there. A script's tables are created only at the first host. */
enum exit_code setup_prepare(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                             struct error *error);
bool setup_wait(struct setup *setup, struct load_counts *counts);
enum exit_code setup_complete(struct setup *setup, const struct plan *plan, struct error *error);
void setup_fini(struct setup *setup);

/* Returns a pointer to the number of rows that a table had before the run, at the host that was set
 * up. */
static inline uint64_t *setup_rows_before(const struct setup *setup,
                                          const struct setup_table *table)
{
    return &setup->hosts[setup->host].rows_before[table - setup->tables];
}

/* Returns whether the run's own table had rows on any host before the run. */
bool setup_had_rows(const struct setup *setup);

/* setup_pack writes the facts that the other ranks of the run need: the seed, the rows before the
 * run, and the numbers of sessions that other clients have open. setup_unpack reads these facts on
 * another rank. */
void setup_pack(const struct setup *setup, const struct plan *plan, struct buffer *text);
void setup_unpack(struct setup *setup, struct facts *facts, const char *text);

/* Drops the tables that the plan's script declares. `line` receives a line that lists the dropped
 * tables. On failure *error is the line to print. A missing database file is not created. */
enum exit_code setup_cleanup(const struct plan *plan, char *line, size_t size, struct error *error);

/* Starts the adapter's client library, before the first connection, and sets facts->library. On OK
 * the caller calls setup_stop_library after the last connection. */
enum exit_code setup_start_library(struct facts *facts, const struct plan *plan,
                                   struct error *error);
void setup_stop_library(const struct plan *plan);

#endif
