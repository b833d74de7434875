/*
 * The tables of a report. Each is described once, in tables.c: a function that names every cell of
 * a row together with its value, and the list of the columns that people are shown. The writers
 * (csv.c, json.c, text.c, page.c) walk these descriptions and name no columns of their own.
 *
 * CSV files and JSON objects have all cells of a row, in the order of the function. The text has
 * those that the list of columns names, in its order. The page is made from files that were read
 * back, where there are no records: it looks the same columns up by their keys.
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
    IN_TEXT, /* in no file: it is put together from others */
};

struct report_cell {
    char key[FIGURE_KEY_BYTES]; /* column of the CSV file */
    enum figure_unit unit;
    struct figure_value value;
    enum report_place place;
    const char *object; /* in JSON, that the cell is a member of; NULL: of the row's own */
    const char *member; /* its name there; NULL: the key */
};

struct report_row {
    const struct operation_list *operations; /* of the run */
    struct report_cell cells[REPORT_CELLS_MAX];
    size_t count;
    char text[MOMENT_TEXT_BYTES]; /* of a cell that the record has not as a text */
};

/* The cell of a key; NULL: the row has no such cell. */
const struct report_cell *report_row_find(const struct report_row *row, const char *key);

/* Runs that have a column. */
enum report_runs {
    ALL_RUNS,
    WITHOUT_SCRIPT,
    WITH_SCRIPT,
};

/* A column for people. */
struct report_column {
    const char *key;  /* of the cell; of a member of run.json its path */
    const char *page; /* title on the page, after a mark that says how it is shown (page.c); NULL:
                         the page does not have the column */
    const char *text; /* title in the text, of two lines "append\np50"; NULL: the text does not have
                         the column */
    int width;        /* in the text, as printf takes it: negative is to the left */
    enum report_runs runs;
};

struct report_table {
    void (*fill)(struct report_row *row, const void *record); /* adds all cells */
    const struct report_column *columns;
    size_t column_count;

    /* On the page. Its rows are the objects of a list of run.json that have the member `wanted`,
     * but with another text than `unwanted`. */
    const char *heading;
    const char *list;
    const char *wanted;   /* a path */
    const char *unwanted; /* NULL: any text will do */

    /* In the text. */
    const char *gap;      /* between two columns; NULL: nothing */
    bool has_no_decimals; /* of rates and percentages */
};

/* Whether the text, or else the page, of a run with or without a script has a column. */
bool report_column_is_shown(const struct report_column *column, bool is_text, bool has_script);

/* What happened at one of several hosts in an interval. */
struct host_interval {
    const struct interval *interval;
    const char *name;
    size_t host;
};

/* One of several ranks; in the text those of a machine, added up. */
struct rank_row {
    unsigned number;
    const struct rank_result *rank;
    unsigned ranks;     /* of the machine */
    bool is_clock_ours; /* the machine's clock is that of rank 0 */
};

/* What a script names: a transaction or the statements of a name. */
struct operation_row {
    const struct figure_set *set;
    size_t operation;            /* its number in the set */
    const struct causes *causes; /* of the run; NULL: not asked for */
};

/* A table of a script. */
struct dataset_row {
    const char *name;
    const struct dataset_verification *verification;
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
extern const struct report_table report_transactions;    /* struct operation_row */
extern const struct report_table report_statements;      /* struct operation_row, the same cells */
extern const struct report_table report_ranks_samples;   /* struct rank_sample */
extern const struct report_table report_datasets;        /* struct dataset_row */
extern const struct report_table report_findings;        /* struct finding */
extern const struct report_table report_expectations;    /* struct expectation */

/* Of several ranks those that traced; on the page alone. */
extern const struct report_table report_nodes;

#endif
