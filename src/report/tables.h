/*
 * The tables of a report. tables.c describes each table once. A description has a function that
 * adds every cell of a row with name and value, and a list of the columns that the text report and
 * the page show. Some descriptions also have a function that finds the records of a run. The
 * writers (csv.c, json.c, text.c, page.c) use these descriptions.
 *
 * CSV files and JSON objects have all cells of a row, in the order in which the function adds them.
 * The text report and the page have the columns of the list, in the order of the list. A column has
 * a key. The text report takes the value from the cell with this key. The page takes the value from
 * the files of the run, by the same key.
 *
 * The descriptions are constant. A row borrows its texts from the record.
 */
#ifndef REPORT_TABLES_H
#define REPORT_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mono.h"
#include "figures/figures.h"
#include "measure/result.h"
#include "report/page_table.h"

enum {
    REPORT_CELLS_MAX = 80, /* greatest number of cells in a row */
    REPORT_TEXT_BYTES = FIGURE_KEY_BYTES + SCRIPT_NAME_BYTES + BOUND_UNIT_BYTES
};

/* The files that have a cell. */
enum report_place {
    IN_CSV_AND_JSON,
    IN_CSV,
    IN_JSON,
    IN_TEXT, /* no file has the cell, because the cell is made of other cells */
};

struct report_cell {
    char key[FIGURE_KEY_BYTES]; /* name of the cell, and of its column in the CSV file */
    enum figure_unit unit;
    struct figure_value value;
    enum report_place place;
    const char *object; /* name of the object that has the cell in JSON, a member of the row's
                           object; NULL: the row's object itself has the cell */
    const char *member; /* name of the cell in JSON; NULL: the name is the key */
};

struct report_row {
    const struct operation_list *operations; /* operations of the run */
    struct report_cell cells[REPORT_CELLS_MAX];
    size_t count;
    char text[REPORT_TEXT_BYTES]; /* memory for the text of one cell, if the record does not have
                                     this text */
};

/* Returns the cell of a key, or NULL if the row does not have the cell. */
const struct report_cell *report_row_find(const struct report_row *row, const char *key);

/* The runs that have a column. */
enum report_runs {
    ALL_RUNS,
    WITHOUT_SCRIPT,
    WITH_SCRIPT,
};

/* A column of the text report, the page, or both. */
struct report_column {
    const char *key;         /* key of the cell; on the page the path of a member of run.json
                                ("io_trace.reads") */
    struct page_column page; /* the column on the page; the title is NULL if the page does not have
                                the column */
    const char *text; /* title in the text report, "append\np50" with two lines; NULL if the text
                         report does not have the column */
    int width;        /* width in the text report; a negative width aligns to the left (printf) */
    enum report_runs runs;
};

/* The ended run from which the rows of the tables are made. */
struct report_source {
    const struct plan *plan;
    const struct result *result;
    const struct figure_set *set;
};

union report_record;

struct report_table {
    /* adds every cell of a record to the row */
    void (*fill)(struct report_row *row, const void *record);
    /* Returns record `i` of a run, or NULL after the last record. The record may be stored in
     * *room. The pointer `record` is NULL if the writers find the records themselves. */
    const void *(*record)(const struct report_source *source, size_t i, union report_record *room);
    const struct report_column *columns;
    size_t column_count;

    const char *list;    /* path in run.json to the array whose objects are the rows, or to an
                            object that is the only row */
    const char *heading; /* heading of the table on the page */

    /* The page shows an object of the list if the object has the member `wanted` (a path) and this
     * member is not the text `unwanted`. If `unwanted` is NULL, the member may have any text. The
     * text report shows the same rows if `record` is not NULL. */
    const char *wanted, *unwanted;

    const char *gap;      /* text between two columns of the text report; NULL for "" */
    bool has_points;      /* the table has more columns for the points of a distribution: the mean,
                             the percentiles of --percentiles, the maximum */
    bool has_no_decimals; /* the text report shows rates and percentages without decimals */
    bool is_optional;     /* if the table has no rows, run.json leaves out the list */
    const char *figure;   /* name of the member that has the key of a figure; the page shows the
                             column "value" in the unit of this figure. NULL if the keys of the
                             columns show the units */
};

/* Returns whether the text report and the page show a row in a table: see `wanted`. */
bool report_row_is_of(const struct report_row *row, const struct report_table *table);

/* Returns whether the text report (`is_text`) or the page shows a column, for a run with or without
 * a script. */
bool report_column_is_shown(const struct report_column *column, bool is_text, bool has_script);

/* The counts of one of several hosts in an interval. */
struct host_interval {
    const struct interval *interval;
    const char *name;
    size_t host;
};

/* The calls of a scripted operation in an interval. The snapshots of the interval have the
 * counts. */
struct operation_interval {
    const struct interval *interval;
    size_t operation; /* index of the operation in the row's operations */
};

/* One of several ranks, which are the processes of a run. In the text report, a row is the sum of
 * all ranks of a machine. */
struct rank_row {
    unsigned number;
    const struct rank_result *rank;
    unsigned ranks;     /* number of ranks of the machine */
    bool is_clock_ours; /* the machine has only rank 0, whose clock the other ranks follow */
};

/* A transaction of the script, or the statements of one name. */
struct operation_row {
    const struct figure_set *set;
    size_t operation;            /* index of the operation in the set's operations */
    const struct causes *causes; /* errors of the run; NULL if the row has no first error */
};

/* A metric that the script declares. */
struct metric_row {
    const struct metric_sum *sum;
    int64_t measured_ns; /* time in which the values were added, in ns */
};

/* A table of the script. */
struct dataset_row {
    const char *name;
    const struct verification *verification;
};

/* Memory for a record that is not stored in the result of a run. */
union report_record {
    struct operation_row operation;
    struct metric_row metric;
    struct dataset_row dataset;
};

/* A setting of a server that weakens durability. */
struct weakened_row {
    const char *host; /* name of the host; NULL if the run has one host */
    const struct server_setting *setting;
    const char *why; /* loss that the setting can cause */
};

/* Returns the loss that a setting of a server can cause, or NULL if the setting does not weaken
 * durability. `words` has the weak settings that the adapter knows; NULL: none are known. */
const char *report_weakness(const struct settings_queries *words,
                            const struct server_setting *setting);

/* The tables. The comment of a table names the record that makes a row of the table. */
extern const struct report_table report_levels;               /* struct level */
extern const struct report_table report_samples;              /* struct sample */
extern const struct report_table report_intervals;            /* struct interval */
extern const struct report_table report_stages;               /* struct interval */
extern const struct report_table report_sessions;             /* struct session_summary */
extern const struct report_table report_logged;               /* struct transaction_log_row */
extern const struct report_table report_marks;                /* struct mark */
extern const struct report_table report_hosts;                /* struct host_result */
extern const struct report_table report_hosts_intervals;      /* struct host_interval */
extern const struct report_table report_operations_intervals; /* struct operation_interval */
extern const struct report_table report_waits;                /* struct wait_row */
extern const struct report_table report_kernel_waits;         /* struct kernel_wait */
extern const struct report_table report_wait_shares;          /* struct wait_share */
extern const struct report_table report_commit;               /* struct commit_part */
extern const struct report_table report_wait_counters;        /* struct wait_counter */
extern const struct report_table report_wait_blockers;        /* struct wait_blocker */
extern const struct report_table report_ranks;                /* struct rank_row */
extern const struct report_table report_ranks_samples;        /* struct rank_sample */
extern const struct report_table report_transactions;         /* struct operation_row */
extern const struct report_table report_statements;           /* struct operation_row */
extern const struct report_table report_retries;              /* struct operation_row */
extern const struct report_table report_trends;               /* struct metric_row */
extern const struct report_table report_metrics;              /* struct metric_row */
extern const struct report_table report_datasets;             /* struct dataset_row */
extern const struct report_table report_invariants;           /* struct invariant_result */
extern const struct report_table report_findings;             /* struct finding */
extern const struct report_table report_expectations;         /* struct expectation */
extern const struct report_table report_weakened;             /* struct weakened_row */
extern const struct report_table report_fairness;             /* its only row is made by the page */
/* the ranks with a trace; only the page has the table */
extern const struct report_table report_nodes;

/* The tables with `record` that the text report, run.json and the page have, in this order. The
 * writers need not be changed for a new table in this list. Ends with NULL. */
extern const struct report_table *const report_tables[];

#endif
