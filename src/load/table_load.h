/*
 * What is known of the loading of a script's tables. For datasets.c, which examines, makes and
 * drops the tables, and loader.c, which fills them.
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

enum chunk_state {
    CHUNK_MISSING,
    CHUNK_CUT, /* some of its rows are there */
    CHUNK_THERE,
};

/* What is to be done next with a table. */
enum phase {
    PHASE_CHUNKS, /* all but the last, by any number of loaders */
    PHASE_INDEXES,
    PHASE_LAST, /* chunk */
    PHASE_FINISH,
    PHASE_DONE,
};

/* One table. */
struct table_load {
    const struct script_dataset *dataset;
    size_t number;
    struct buffer create; /* the statement that makes it */
    size_t index_count;   /* to be made; 0: none is, or `create` has its own */
    bool is_missing;
    bool is_made;           /* by datasets_make */
    struct table_mark mark; /* of the table that is there */
    uint64_t rows;          /* that are there, in chunks that need not be loaded */
    uint64_t chunks;        /* in all */
    uint8_t *states;        /* enum chunk_state of each; NULL: all are missing */
    const char *key;  /* column of the primary key that is the number of the row; NULL: none is */
    int64_t key_from; /* of row 0 */

    /* Under the lock of struct loading. */
    enum phase phase;
    uint64_t next;    /* chunk */
    unsigned running; /* steps */
    uint64_t loaded;  /* rows, by this call */
};

struct datasets {
    size_t count; /* those that are declared */
    struct table_load *works;
    size_t statement_count;
    struct statement *statements;
    char **texts;            /* of the statements */
    bool is_wrong;           /* the load failed for a reason that will be there again */
    struct loading *loading; /* while they are loaded; owned */
};

/* Rows of a chunk: CHUNK_ROWS, but the last may have fewer. */
uint64_t table_load_chunk_rows(const struct table_load *work, uint64_t chunk);

/* Writes append's mark on a table: `is_new` when it was just made and its rows are still to be
 * loaded, else when all of them are in. */
enum status table_load_write_mark(const struct plan *plan, const struct setup *setup,
                                  struct adapter_conn *conn, const struct script_dataset *dataset,
                                  bool is_new, struct error *error);

/* Runs the statement in *sql. */
enum status table_load_execute(const struct plan *plan, struct adapter_conn *conn,
                               struct buffer *sql, struct error *error);

/* Takes the next column of an index "a, b"; returns what follows it. */
const char *table_load_take_column(const char *columns, char *name, size_t size);

/* Returns STATUS_FATAL. */
enum status table_load_lack_memory(struct error *error);

#endif
