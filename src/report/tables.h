/*
 * The tables of a report. Each table is described once, in tables.c, by a function that adds every
 * cell of a row with its name and value, and by the list of the columns that people see. The
 * writers (csv.c, json.c, text.c, page.c) walk these descriptions.
 *
 * CSV files and JSON objects have all cells of a row, in the order of the function. Text and page
 * have the columns of the list, in its order. The text takes a value from the cell of a column. The
 * page is made from files that were read back: it finds a value by the column's key.
 *
 * Read-only. A row borrows its texts from the record.
 */
#ifndef REPORT_TABLES_H
#define REPORT_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mono.h"
#include "figures/figures.h"
#include "measure/result.h"

enum {
    REPORT_CELLS_MAX = 64 /* of a row */
};

/* Which files have a cell. */
enum report_place {
    IN_CSV_AND_JSON,
    IN_CSV,
    IN_JSON,
    IN_TEXT, /* no file has it: it is made of other cells */
};

struct report_cell {
    char key[FIGURE_KEY_BYTES]; /* column of the CSV file */
    enum figure_unit unit;
    struct figure_value value;
    enum report_place place;
    const char *object; /* of JSON that has the cell, inside the row's own; NULL: the row's own */
    const char *member; /* name of the cell in JSON; NULL: the key */
};

struct report_row {
    const struct operation_list *operations; /* of the run */
    struct report_cell cells[REPORT_CELLS_MAX];
    size_t count;
    char text[MOMENT_TEXT_BYTES]; /* of a cell for which the record has no text to borrow */
};

/* The cell of a key; NULL: the row has no such cell. */
const struct report_cell *report_row_find(const struct report_row *row, const char *key);

/* The runs that have a column. */
enum report_runs {
    ALL_RUNS,
    WITHOUT_SCRIPT,
    WITH_SCRIPT,
};

/* A column that people see. */
struct report_column {
    const char *key;  /* of the cell; on the page the path of a member ("io_trace.reads") */
    const char *page; /* title on the page, after a mark that says how cells are shown (page.c);
                         NULL: the page does not have the column */
    const char *text; /* title in the text, "append\np50" with two lines; NULL: the text does not
                         have the column */
    int width;        /* in the text, as printf takes it: a negative width aligns to the left */
    enum report_runs runs;
};

struct report_table {
    void (*fill)(struct report_row *row, const void *record); /* adds every cell */
    const struct report_column *columns;
    size_t column_count;

    const char *list;    /* of run.json, whose objects are the rows */
    const char *heading; /* on the page */

    /* The page has the objects that have the member `wanted` (a path), unless the member is the
     * text `unwanted` (NULL: no text is unwanted). */
    const char *wanted, *unwanted;

    const char *gap;      /* in the text, between two columns; NULL: nothing */
    bool has_no_decimals; /* in the text: rates and percentages */
};

/* Whether the text (else the page) of a run with or without a script has a column. */
bool report_column_is_shown(const struct report_column *column, bool is_text, bool has_script);

/* What happened at one of several hosts in an interval. */
struct host_interval {
    const struct interval *interval;
    const char *name;
    size_t host;
};

/* One of several ranks. In the text it stands for all ranks of a machine, added up. */
struct rank_row {
    unsigned number;
    const struct rank_result *rank;
    unsigned ranks;     /* of the machine */
    bool is_clock_ours; /* the machine's only rank is rank 0, whose clock the others follow */
};

/* A transaction of a script, or the statements of one name. */
struct operation_row {
    const struct figure_set *set;
    size_t operation;            /* its number in the set */
    const struct causes *causes; /* of the run; NULL: the first error is left out */
};

/* A table of a script. */
struct dataset_row {
    const char *name;
    const struct verification *verification;
};

/* The tables, with the records that they are made of. */
extern const struct report_table report_levels;          /* struct level */
extern const struct report_table report_samples;         /* struct sample */
extern const struct report_table report_intervals;       /* struct interval */
extern const struct report_table report_sessions;        /* struct session_summary */
extern const struct report_table report_marks;           /* struct mark */
extern const struct report_table report_hosts;           /* struct host_result */
extern const struct report_table report_hosts_intervals; /* struct host_interval */
extern const struct report_table report_ranks;           /* struct rank_row */
extern const struct report_table report_ranks_samples;   /* struct rank_sample */
extern const struct report_table report_transactions;    /* struct operation_row */
extern const struct report_table report_statements;      /* struct operation_row, the same cells */
extern const struct report_table report_datasets;        /* struct dataset_row */
extern const struct report_table report_findings;        /* struct finding */
extern const struct report_table report_expectations;    /* struct expectation */
extern const struct report_table report_nodes;           /* ranks that traced; only on the page */

#endif
