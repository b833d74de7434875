/*
 * Before the sessions the server is asked, the run's tables are made ready and counted; after them
 * the rows are counted again or read back. Each on a connection of its own: load/task.h. Main
 * thread.
 */
#ifndef LOAD_SETUP_H
#define LOAD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "append/adapter.h"
#include "base/process.h"
#include "base/text.h"
#include "load/storage.h"
#include "measure/result.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "ranks/ranks.h"

/* A table of the run: the plan's own, or one of its script. */
struct setup_table {
    const char *name;       /* borrowed */
    struct table table;     /* the columns that are written; owned */
    struct statement count; /* select count(*) from it */
    char *count_sql;        /* owned */
};

/* What set-up did to the tables of a script. */
struct setup_made {
    size_t tables;
    size_t indexes;
    uint64_t rows;
    int64_t load_ns;
};

/* How far the load of a script's tables is. */
struct load_counts {
    uint64_t rows, all; /* of all tables: that are there, and that there are to be */
    uint64_t loaded;    /* by this load */
    int64_t elapsed_ns;
    const char *table; /* that was taken up last; NULL: none yet */
    enum load_step {
        LOAD_ROWS,
        LOAD_INDEXES,
        LOAD_FINISH, /* statistics and count */
    } step;
};

/* Sessions whose calls were cut on this side: the server may be at work on them still. */
struct cut_list {
    struct cut_session {
        struct session_name name;
        unsigned host; /* of several */
    } * entries;       /* owned */
    size_t count, room;
    uint64_t ended; /* of these, at the server */
};

/* A host, of which there may be one. */
struct setup_host {
    bool is_known;         /* it answered, and: */
    uint64_t *rows_before; /* of each table, by number; owned */
    struct server_settings settings;
};

struct setup {
    struct ranks *
        ranks; /* borrowed; this rank sends beats to the others while it waits; NULL: it is alone */
    size_t table_count;         /* 1, or with a script as many as it has, perhaps none */
    struct setup_table *tables; /* by number, and an empty one; owned */
    struct setup_table *own; /* the table whose columns come from the database; the empty one if the
                                script declares the columns of every table */
    bool has_made_table;     /* `own` was missing, or was to be recreated */
    struct statement nothing;          /* shows that a connection is still there */
    int64_t count_ns;                  /* counting them took so long */
    struct server_limits server;       /* version "" when the server did not say */
    struct connection_info connection; /* how this connection, and so all of them, work */
    bool is_remote;                    /* the server is on another machine */
    struct datasets *datasets;         /* with a script, until its tables are loaded; owned */
    struct setup_made made;
    struct storage storage;
    unsigned host;            /* the first that answered */
    size_t host_count;        /* one or several */
    struct setup_host *hosts; /* by number; owned */
    struct cut_list *cut;     /* when rows are counted again these are ended; NULL: none */
};

/* Asks a server to which nobody may have connected yet about its limits. Makes nothing. Fills only
 * `server`, `connection` and `is_remote`: nothing is owned. Else than OK: *error is the line to
 * print, and the latter two are as far as they are known without a connection. */
enum exit_code setup_inquire(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                             struct error *error);

/* What is found of a table before any run. */
struct setup_found {
    bool is_there;
    bool
        has_marks; /* the database keeps the mark of a table that append makes: load/table_mark.h */
};

/* Looks for the table of the plan. Else than OK: *error is the line to print. A database file that
 * does not exist has no table, and is not made; a default database that the runs would make is. */
enum exit_code setup_find_table(const struct plan *plan, struct setup_found *found,
                                struct error *error);

/* The first step of setup_prepare: makes room for the tables of the plan and its hosts. Else than
 * OK: out of memory; setup_fini frees what there is. */
enum exit_code setup_make_room(struct setup *setup, const struct plan *plan, struct error *error);

/* Three steps, with whatever the caller has to do while it waits: setup_prepare; setup_waits, each
 * time for a moment, until it returns false; setup_complete.
 *
 * Connects, creates the table where it is missing (or is to be recreated), learns its columns,
 * counts its rows, and runs the user's query once, if there is one. With a script, its tables are
 * made and loaded, and its statements prepared once. On OK the caller ends it with setup_fini; else
 * *error is the line to print.
 *
 * Of several hosts the first that answers is set up. Each of the others that answers is looked at
 * afterwards: where the table is missing, or has rows after --recreate, it is a database of its
 * own, and the table is made there, too. Tables of a script are not. */
enum exit_code setup_prepare(struct setup *setup, const struct plan *plan, struct ranks *ranks,
                             struct error *error);
bool setup_waits(struct setup *setup, struct load_counts *counts);
enum exit_code setup_complete(struct setup *setup, const struct plan *plan, struct error *error);
void setup_fini(struct setup *setup);

/* The rows that a table had before the run, where it was set up. */
static inline uint64_t *setup_rows_before(const struct setup *setup,
                                          const struct setup_table *table)
{
    return &setup->hosts[setup->host].rows_before[table - setup->tables];
}

/* Whether the run's own table had rows before the run, at some host. */
bool setup_had_rows(const struct setup *setup);

/* What other ranks of the run have to know of it, and their taking it over: the seed, the rows that
 * are there before the run, and the sessions that others have. */
void setup_tell(const struct setup *setup, const struct plan *plan, struct buffer *text);
void setup_learn(struct setup *setup, struct facts *facts, const char *text);

/* What prepare did, in a line. */
void setup_describe_made(const struct setup *setup, const struct plan *plan, char *line,
                         size_t size);

/* Writes what removes what the run leaves behind: its rows, its table, its database; "" when
 * nothing stays. */
void setup_describe_removal(const struct setup *setup, const struct plan *plan, char *text,
                            size_t size);

/* Drops the tables that the plan's script declares. *line says which they were; else than OK:
 * *error does, too. A database file that does not exist is not made. */
enum exit_code setup_cleanup(const struct plan *plan, char *line, size_t size, struct error *error);

/* Before the first connection: starts the adapter's client library, as facts->library. On OK the
 * caller stops it after the last one. */
enum exit_code setup_start_library(struct facts *facts, const struct plan *plan,
                                   struct error *error);
void setup_stop_library(const struct plan *plan);

/* verify.c */

/* For --verify rows, between the set-up and the generator: rows that carry this run's tag already
 * would be taken for its own. Then the run gets another seed, or, when the user gave that, it is
 * refused. Also refused: a table whose rows cannot be told apart. */
enum exit_code verify_prepare(const struct setup *setup, const struct plan *plan,
                              struct facts *facts, struct error *error);

/* When the sessions have left: counts the rows again, settles the acknowledged ones against it, and
 * reads them back with --verify rows. Fills result->verification, result->row_verification and what
 * was verified of each session. With a script: counts the tables that it changes, and settles what
 * was added and taken against that, in result->datasets.
 *
 * Reads the size of the tables again, into result->table_bytes_after.
 *
 * Several hosts are all counted, and put together by result_join_hosts. */
void verify_not(struct result *result, const char *reason); /* there is no time for it */
void verify_result(const struct setup *setup, const struct plan *plan, struct result *result);

#endif
