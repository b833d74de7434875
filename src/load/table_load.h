/*
 * State of the load of a script's tables, and functions for these tables. Shared by datasets.c,
 * which checks, creates and drops the tables, and loader.c, which fills them.
 */
#ifndef LOAD_TABLE_LOAD_H
#define LOAD_TABLE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "load/datasets.h"
#include "load/table_mark.h"

enum {
    CHUNK_ROWS = 10000
};

/* The work that a table needs next. */
enum phase {
    PHASE_CHUNKS, /* load all chunks except the last, with any number of loaders */
    PHASE_INDEXES,
    PHASE_LAST, /* load the last chunk */
    PHASE_FINISH,
    PHASE_DONE,
};

/* A table that the script declares. */
struct table_load {
    const struct script_dataset *dataset;
    size_t number;
    struct buffer create; /* the statement that creates the table */
    const char *indexes;  /* columns of the indexes to create, one line for each index; NULL: no
                             index, or `create` creates them */
    bool is_missing;
    bool is_made;           /* datasets_make created the table */
    struct table_mark mark; /* mark of the existing table: see load/table_mark.h */
    uint64_t rows;          /* number of rows that were in the table before the load */
    uint64_t chunks;
    bool *there;      /* whether each chunk is in the table; NULL if all chunks are missing */
    const char *key;  /* the primary-key column that holds the row number, or NULL */
    int64_t key_from; /* value of `key` in row 0 */

    /* The members below are guarded by the lock of struct loading. */
    enum phase phase;
    uint64_t next;    /* number of the next chunk to load */
    unsigned running; /* number of steps in progress */
    uint64_t loaded;  /* number of rows loaded by this load */
};

/* What became of the tables that datasets_make created, after the script's load failed. */
enum undone {
    UNDONE_NONE,    /* no table was new */
    UNDONE_STAY,    /* not all of the tables were dropped */
    UNDONE_SHARED,  /* the tables stay: one of them may have rows that the load did not store */
    UNDONE_DROPPED, /* all new tables were dropped */
};

struct datasets {
    size_t count; /* number of declared tables */
    struct table_load *works;
    size_t statement_count;
    struct statement *statements;
    char **texts;            /* texts of the statements */
    bool is_script_wrong;    /* the load failed because of the script, and would fail again */
    enum undone undone;      /* what became of the new tables */
    struct loading *loading; /* the load in progress; owned; NULL at other times */
};

/* Returns the number of rows in a chunk: CHUNK_ROWS, or fewer for the last chunk. */
uint64_t table_load_chunk_rows(const struct table_load *work, uint64_t chunk);

/* Returns the script's name without folders, short enough for a message. */
const char *table_load_script_name(const struct script *script);

/* Reads this program's mark on a table. */
enum status table_load_read_mark(const struct plan *plan, const struct setup *setup,
                                 struct adapter_conn *conn, const char *table_name,
                                 struct table_mark *mark, struct error *error);

/* Writes this program's mark on a table. is_loading is true if the table's rows are still to be
 * loaded, and false if all rows are loaded or the script declares no rows. */
enum status table_load_write_mark(const struct plan *plan, const struct setup *setup,
                                  struct adapter_conn *conn, const struct table_load *work,
                                  bool is_loading, struct error *error);

/* Executes the statement in *sql. */
enum status table_load_execute(const struct plan *plan, struct adapter_conn *conn,
                               struct buffer *sql, struct error *error);

/* Sets *error to "out of memory"; returns STATUS_FATAL. */
enum status table_load_no_memory(struct error *error);

#endif
