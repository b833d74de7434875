/*
 * Scripted workloads: reads the declarations of a Lua script, and calls the script's functions
 * while sessions run.
 *
 * script_load runs the script's top level (the code outside functions) once, for the main thread.
 * The top level declares the parameters, tables, statements and transactions, so that all of them
 * are known before the first connection. Each session runs the top level again in its own state,
 * because the functions of the script refer to the objects that the top level made. A state belongs
 * to one thread.
 *
 * A script can only compute, and use the statements and tables that it declared. It has the
 * libraries base, table, string, math and utf8, but not their functions that load code or read the
 * time. The memory of a state is limited, and the host (struct script_host) can end an endless
 * loop.
 *
 * docs/workloads-reference.md documents the names that a script can use.
 */
#ifndef SCRIPT_SCRIPT_H
#define SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "append/buffer.h"
#include "script/draw.h"

enum {
    SCRIPT_PLACE_BYTES = 80, /* size of a text such as "x.lua:3"; a longer text is cut off */
    /* size of the longest name of a statement, transaction or parameter, including the NUL */
    SCRIPT_NAME_BYTES = 48,
    SCRIPT_NO_DATASET = -1,
    /* Stack of a thread that runs scripts. C functions that call functions of the script, as gsub
     * does, are nested up to 200 deep. */
    SCRIPT_STACK_BYTES = 512 << 10,
};

/* A text for one dialect. The text without a dialect is the default. */
struct script_text {
    /* name of the dialect, "mariadb"; NULL for every dialect without its own entry */
    const char *dialect;
    const char *text;
};
struct script_texts {
    size_t count;
    struct script_text *entries;
};

/* Returns the text for `dialect`: the dialect's own text, else the default. mysql and singlestore
 * use the text for mariadb before the default. Returns NULL if the script has none of these
 * texts. */
const char *script_text_for(const struct script_texts *texts, const char *dialect);

/* Sets *line to the first line of *lines, and moves *lines to the next line. Returns false at the
 * end of the text. The line is valid as long as the text. */
bool script_next_line(const char **lines, struct text_value *line);

struct script_param {
    const char *name;
    const char *help;         /* help text; "" if the script gives no help text */
    const char *default_text; /* the default value, as text */
    /* description of the allowed values: "a, b or c", "at least 1", "0 to 9"; "" if any value of
     * the type is allowed */
    const char *allowed;
    const char *value; /* the value given by --set, else the default */
    bool is_set;       /* --set has set the value */
};

struct script_column {
    const struct draw *value; /* generator; NULL if the load does not write the column */
    unsigned key; /* position of the column in the primary key, from 1; 0: not in the key */
    /* key = "auto": if a statement leaves the column out, the database fills it with a number */
    bool is_numbered;
};

/* The division of a table into parts. */
struct script_partitions {
    unsigned count; /* number of parts; 0: the table is not divided */
    bool is_range;  /* true: each part is a range of the rows to load, and all ranges have the same
                       size; false: a hash decides a row's part */
    size_t column;
    int64_t first; /* if is_range is true: value of the column in the first row */
};

/* A foreign key: every value of a column is a primary key of another table. */
struct script_foreign_key {
    size_t column;
    size_t dataset;   /* index of the other table, which is declared before this table */
    size_t to_column; /* index of the primary key in the other table */
};

/* A table that a script declares. */
struct script_dataset {
    const char *name;
    /* true: the script declares columns; false: the table exists already or is built in */
    bool is_declared;
    uint64_t rows;       /* number of rows to load */
    struct table table;  /* the table's columns; if is_unique is true, a column alone is the key */
    size_t column_count; /* number of columns, the same as table.column_count */
    struct script_column *columns; /* array of column_count elements */
    struct script_texts create;    /* replacement for the generated CREATE TABLE; may be empty */
    /* Text after the closing bracket of the generated CREATE TABLE; may be empty. */
    struct script_texts options;
    struct script_partitions partitions;
    size_t foreign_key_count;
    struct script_foreign_key *foreign_keys;
    /* The columns of the indexes that are made after the load, one line for each index: "a\nb,
     * c". */
    struct script_texts indexes;
    bool varies; /* true: transactions change the number of rows, so any number of rows is accepted
                    in a loaded table */
    uint64_t number; /* hash of the name; a part of the seed for the values that are loaded */
    int line;        /* line of the declaration in the script */
};

/* A claim about the tables that must be true after the run. */
struct script_invariant {
    const char *claim;
    struct script_texts sql; /* a query that returns the rows for which the claim is false */
    int line;                /* line of the declaration in the script */
};

enum script_statement_kind {
    SCRIPT_READ,
    SCRIPT_WRITE,
    SCRIPT_OTHER,
};

/* script_kind returns the kind of an SQL text, which depends on the first word.
 * script_controls_transaction returns whether the text contains BEGIN, COMMIT or ROLLBACK. `lexis`:
 * the flags of the dialect (append/sql.h). */
enum script_statement_kind script_kind(const char *sql);
bool script_controls_transaction(const char *sql, unsigned lexis);

enum script_metric_kind {
    SCRIPT_COUNT, /* the metric is reported as the sum of the values, and the sum's growth per
                     second */
    SCRIPT_TREND, /* the metric is reported as a distribution: mean, percentiles, minimum and
                     maximum */
    SCRIPT_GAUGE, /* the metric is reported as the latest value, with minimum and maximum */
};
extern const char *const script_metric_kinds[]; /* names of the kinds: "count", … */

/* A metric that the script declares, and to which the script's transactions add values. */
struct script_metric {
    /* name: lowercase letters, digits and _; not the name of a figure or an operation */
    const char *name;
    const char *unit; /* unit of the values, for example "ms"; "" if the values have no unit */
    enum script_metric_kind kind;
};

/* A statement. Statements with the same name share an operation. */
struct script_statement {
    const char *name;
    size_t operation; /* index in script.operations */
    struct script_texts sql;
    struct table parameters;
    /* kind of the statement, derived from the first word of the SQL */
    enum script_statement_kind kind;
    /* Indexes of datasets, or SCRIPT_NO_DATASET. The rows that the statement matches are counted as
     * added to dataset adds_to, and as removed from dataset takes_from. */
    int adds_to, takes_from;
    bool is_prepared;
    bool has_session;          /* the text contains ${session}: each session has its own text */
    bool controls_transaction; /* the text contains BEGIN, COMMIT or ROLLBACK */
    int line;                  /* line of the declaration in the script */
};

struct script_transaction {
    const char *name;
    size_t operation; /* index in script.operations */
    double weight;    /* weight in the choice of transactions; 0: the transaction is never chosen */
    bool is_autocommit;
    uint64_t tries; /* maximum number of tries; 0: the transaction is tried until it succeeds */
    bool retries_duplicate; /* a duplicate key is also a reason to retry */
    const char *isolation;  /* isolation level; NULL for the server's default */
    double sessions; /* number of sessions that run only this transaction or, if is_share is true,
                        the share of these sessions in all sessions; 0: the sessions choose this
                        transaction by weight */
    bool is_share;
    double rate; /* target rate in transactions/s, for all sessions of this transaction together; 0:
                    no rate */
    const struct draw *pause; /* draws the pause before the transaction, in s; NULL: no pause */
    int line;                 /* line of the declaration in the script */
};

/* An operation: a transaction, or all statements with the same name. */
struct script_operation {
    const char *name;
    bool is_transaction;
    /* kind of the first statement of this name; not for transactions */
    enum script_statement_kind kind;
};

/* A loaded script. Only its counters change after loading. */
struct script {
    const char *name;  /* the name that the caller gave */
    char hash[17];     /* hash of the text and the parameters: 16 hexadecimal digits */
    uint64_t shape;    /* hash of the declared tables, without their generators */
    bool names_append; /* true: the script may call the method `append`; false: the script appends
                          no rows to datasets */
    size_t param_count;
    struct script_param *params;
    struct buffer param_list; /* the parameters and their values, "NAME=VALUE,NAME=VALUE" */
    size_t dataset_count;
    struct script_dataset *datasets;
    size_t statement_count;
    struct script_statement *statements;
    size_t transaction_count;
    struct script_transaction *transactions;
    size_t operation_count;
    struct script_operation *operations;
    size_t invariant_count;
    struct script_invariant *invariants;
    size_t metric_count;
    struct script_metric *metrics;
    size_t counter_count;
    struct counter **counters; /* counters of the script, which all states share */
    struct script_source *source;
};

/* A script that is built into the program. The build writes the array, which ends with a NULL
 * name. */
struct script_built_in {
    const char *name, *text;
};
extern const struct script_built_in script_built_ins[];

/* Returns whether `name` is a path: it contains a '/' or ends in ".lua". */
bool script_is_file(const char *name);

/* Loads the script `name`, which is a built-in script or a file (script_is_file). `name` must
 * outlive the script. Each of `sets` is a text "name=value,name=value". The caller frees the script
 * with script_destroy. On failure returns NULL and fills *error; for a mistake in the script
 * (ERROR_USAGE), *error names the script, the line and the mistake. */
struct script *script_load(const char *name, const char *const *sets, size_t set_count,
                           struct error *error);
void script_destroy(struct script *script);

/* Divides the numbers of all counters among `ranks` processes, of which this process is number
 * `place` (from 0), so that no two processes take the same number. Must be called before the script
 * runs. */
void script_share(struct script *script, unsigned place, unsigned ranks);

/* Returns the source text of the script. */
const char *script_text(const struct script *script);

/* The functions by which a script uses its session. Only script_try, script_pause and
 * script_connected call these functions, and pass `context` to each. If a function returns a status
 * other than OK, the current call of the script ends, unless `forgive` returns true. The host keeps
 * the reason. */
struct script_host {
    void *context; /* the host's own data */
    enum status (*run)(void *context, size_t statement, const struct batch *parameters,
                       struct answer *answer);
    /* Optional (may be NULL). May be called after `run` returned REJECTED. Returns true if the
     * statement failed because of a duplicate key and the earlier statements of the transaction are
     * still in effect; the host then forgets the failure. */
    bool (*forgive)(void *context);
    enum status (*append)(void *context, size_t dataset, uint64_t rows);
    enum status (*count)(void *context, size_t dataset, uint64_t *rows);
    enum status (*think)(void *context, int64_t ns); /* waits; REJECTED if the run has ended */
    /* counts a check; `text` may be "" */
    void (*check)(void *context, bool is_good, const char *text);
    void (*found)(void *context, bool is_found);
    /* adds a value to a metric; `value` is finite */
    void (*measure)(void *context, size_t metric, double value);
    /* returns false if the transaction has written something permanent */
    bool (*can_roll_back)(void *context);
    /* returns true if the run has ended, so that the script must end */
    bool (*is_stopped)(void *context);
};

/* The session that a state belongs to. */
struct script_place {
    unsigned session;  /* the session's number, from 0 */
    unsigned sessions; /* number of sessions of the whole run */
    uint64_t seed;
    const char *dialect;
    const struct script_host *host; /* functions of the host; NULL if the state only makes rows */
};

struct script_state;

/* Creates a state and runs the top level in it. Returns FATAL if memory runs out, if the top level
 * fails, or if its declarations differ from those in script_load. The caller frees the state with
 * script_state_destroy. */
enum status script_state_create(struct script_state **state, const struct script *script,
                                const struct script_place *place, struct error *error);
void script_state_destroy(struct script_state *state);

/* Returns the statement with this number as the session sends it: the text for the session's
 * dialect, with ${session} replaced. If the statement is prepared, its slot is number + 1. The
 * result is valid as long as the state. */
const struct statement *script_state_statement(const struct script_state *state, size_t number);

/* Fills *statement as script_state_statement does, but without a state, so that a statement can be
 * prepared before the sessions begin. The caller frees *sql, the text. Returns REJECTED if the
 * script has no text for this dialect, or if the text has the wrong number of parameters. */
enum status script_resolve(const struct script *script, size_t number,
                           const struct script_place *place, struct statement *statement,
                           char **sql, struct error *error);

/* The ways in which a call of a function in the script can end. */
enum script_end {
    SCRIPT_DONE,
    SCRIPT_ROLLBACK, /* the script called rollback; *error has its text */
    SCRIPT_FAILED,   /* a function of the host failed; the host keeps the reason */
    SCRIPT_STOPPED,  /* host.is_stopped was true, or think was interrupted */
    SCRIPT_WRONG,    /* the script is wrong: *error (ERROR_USAGE) names script and line; or this
                        machine has no memory for the script: *error is ERROR_MEMORY */
};

/* Chooses the transaction for `turn`, by weight. The turns of a session count from 0. The same
 * seed, session and turn always result in the same transaction. */
size_t script_choose(const struct script_state *state, uint64_t turn);

/* Draws the length of the pause before a transaction. *ns is 0 if the transaction has no pause.
 * Returns SCRIPT_DONE, SCRIPT_STOPPED or SCRIPT_WRONG. */
enum script_end script_pause(struct script_state *state, size_t transaction, uint64_t turn,
                             int64_t *ns, struct error *error);

/* Calls the function of a transaction. A retry with the same `turn` draws the same values again. */
enum script_end script_try(struct script_state *state, size_t transaction, uint64_t turn,
                           struct error *error);

/* Must be called when the transaction of the latest try will not be tried again. The numbers that
 * the transaction took from counters are then no longer pending. */
void script_transaction_ended(struct script_state *state);

/* Copies the place, such as "x.lua:3", of the latest call that may compute for very long. Copies
 * the script's name if there was no such call. Another thread may call this function while the
 * state is in use. */
void script_place_of(const struct script_state *state, char place[SCRIPT_PLACE_BYTES]);

/* Calls the functions that the script gave to on_session. Must be called after each connect. */
enum script_end script_connected(struct script_state *state, struct error *error);

/* Memory for rows of a declared dataset. Every call of script_rows_fill uses this memory again. */
struct script_rows;
struct script_rows *script_rows_create(const struct script *script, size_t dataset,
                                       size_t most_rows); /* returns NULL if memory runs out */
void script_rows_destroy(struct script_rows *rows);

/* Returns the columns that the load writes, in the dataset's order. append_open must be called with
 * this table. The result is valid as long as the script. */
const struct table *script_load_table(const struct script *script, size_t dataset);

/* Fills `count` rows, at most most_rows, with the rows first, first + step, … of the dataset. The
 * returned batch is valid until the next call. Returns NULL if a function of the script failed, or
 * a value does not fit its column; *error describes the mistake. */
const struct batch *script_rows_fill(struct script_rows *rows, struct script_state *state,
                                     uint64_t first, uint64_t step, size_t count,
                                     struct error *error);

#endif
