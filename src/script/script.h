/*
 * Scripted workloads: what a Lua script declares, and its functions while sessions run.
 *
 * The top level of a script runs once for the main thread, in script_load: parameters, tables,
 * statements and transactions are declared there, and known before anything is connected. It runs
 * again in a state of its own for each session, so that its functions have what they refer to; a
 * state belongs to one thread.
 *
 * A script can compute, and reach the database by what it declared; nothing else (the libraries
 * base, table, string, math and utf8 without what loads code or tells the time). What it allocates
 * is bounded, and an endless loop ends when the host says so.
 *
 * docs/workloads-reference.md says what the names in a script do.
 */
#ifndef SCRIPT_SCRIPT_H
#define SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"
#include "script/draw.h"

enum {
    SCRIPT_NAME_BYTES = 48, /* of a statement, transaction or parameter */
    SCRIPT_NO_DATASET = -1,
    SCRIPT_STACK_BYTES = 512 << 10, /* of a thread: functions of C that call the script's, as gsub
                                       does, 200 deep */
};

/* A text for each dialect; an entry without one is the default. */
struct script_text {
    const char *dialect; /* "mariadb"; NULL: all others */
    const char *text;
};
struct script_texts {
    size_t count;
    struct script_text *entries;
};

/* The text for a dialect: its own, else for mysql and singlestore that for mariadb, else the
 * default; NULL: there is none. */
const char *script_text_for(const struct script_texts *texts, const char *dialect);

struct script_param {
    const char *name;
    const char *help;    /* "" = none */
    const char *usual;   /* when it is not set */
    const char *allowed; /* "a, b or c", "at least 1", "0 to 9"; "" = anything of its type */
    const char *value;
    bool is_set; /* by --set */
};

struct script_column {
    const struct draw *value; /* NULL: the load leaves the column out */
    unsigned key;             /* place in the primary key, from 1; 0: it is not in it */
    bool is_numbered;         /* by the database, where a statement leaves it out */
};

/* A table. */
struct script_dataset {
    const char *name;
    bool is_declared;              /* false: it has no columns here; it is there, or built in */
    uint64_t rows;                 /* to load */
    struct table table;            /* its columns; is_unique: alone the key */
    size_t column_count;           /* table.column_count */
    struct script_column *columns; /* as many */
    struct script_texts create;  /* CREATE TABLE in place of what the columns make; may be empty */
    struct script_texts options; /* behind the closing bracket of that; may be empty */
    size_t index_count;
    const char **indexes; /* columns of an index each, "a, b", made after the load */
    uint64_t number;      /* of its draws: a hash of the name */
    int line;
};

enum script_statement_kind {
    SCRIPT_READ,
    SCRIPT_WRITE,
    SCRIPT_OTHER,
};

/* What is run; several can share a name, and so an operation. */
struct script_statement {
    const char *name;
    size_t operation; /* place in script.operations */
    struct script_texts sql;
    struct table parameters;
    enum script_statement_kind kind; /* by the first word */
    int adds_to, takes_from; /* number of a dataset, or SCRIPT_NO_DATASET: rows that the statement
                                matched were added to it or taken from it */
    bool is_prepared;
    bool has_session;          /* its text is another one in each session */
    bool controls_transaction; /* it has a BEGIN, COMMIT or ROLLBACK of its own */
    int line;
};

struct script_transaction {
    const char *name;
    size_t operation;
    double weight; /* 0: never chosen */
    bool is_autocommit;
    uint64_t tries;         /* 0: until it is through */
    bool retries_duplicate; /* also after a unique key that was there already */
    const char *isolation;  /* NULL: the server's choice */
    int line;
};

/* Operations: the transactions, and each name of statements. */
struct script_operation {
    const char *name;
    bool is_transaction;
    enum script_statement_kind kind; /* of statements: of the first of the name */
};

/* Read-only when it was loaded. */
struct script {
    const char *name;  /* as it was given */
    char hash[17];     /* of the text and of the parameters: 16 hexadecimal digits */
    uint64_t shape;    /* a hash of the tables as they are declared, but for their values */
    bool names_append; /* somewhere: else no dataset is appended to */
    size_t param_count;
    struct script_param *params;
    size_t dataset_count;
    struct script_dataset *datasets;
    size_t statement_count;
    struct script_statement *statements;
    size_t transaction_count;
    struct script_transaction *transactions;
    size_t operation_count;
    struct script_operation *operations;
    size_t counter_count;
    struct counter **counters; /* shared by all states; the only part that changes */
    struct script_source *source;
};

/* Scripts that are built into the program; written by the build. Ends with a NULL name. */
struct script_built_in {
    const char *name, *text;
};
extern const struct script_built_in script_built_ins[];

/* Whether the name of a script is that of a file: it has a '/' or ends in ".lua". */
bool script_is_file(const char *name);

/* Loads a script: the name of a built-in one, or a file (script_is_file). `sets` are texts
 * "name=value,name=value". The caller ends it with script_destroy. NULL: *error says what is wrong
 * (ERROR_USAGE), with script and line. */
struct script *script_load(const char *name, const char *const *sets, size_t set_count,
                           struct error *error);
void script_destroy(struct script *script);

/* Before it runs: it is the one at `place` of `ranks` processes whose counters have no number in
 * common. */
void script_share(struct script *script, unsigned place, unsigned ranks);

/* The text of the script. */
const char *script_text(const struct script *script);

/* What a session's script works on. Each may be called from script_try only; `context` is the
 * host's. Else than OK: the statement failed, the try is over, and the host remembers why. */
struct script_host {
    void *context;
    enum status (*run)(void *context, size_t statement, const struct batch *parameters,
                       struct answer *answer);
    /* Optional. True: the failure of the latest run was a unique key that was there already, and
     * what came before in the transaction still stands; the host forgets the failure. */
    bool (*forgive)(void *context);
    enum status (*append)(void *context, size_t dataset, uint64_t rows);
    enum status (*count)(void *context, size_t dataset, uint64_t *rows);
    enum status (*think)(void *context, int64_t ns);              /* REJECTED: the run ends */
    void (*check)(void *context, bool is_good, const char *text); /* text: "" = none */
    void (*found)(void *context, bool is_found);
    bool (*can_roll_back)(void *context); /* false: what was written stays written */
    bool (*is_stopped)(void *context);    /* the run has ended: the script is ended, too */
};

/* Where a state runs. */
struct script_place {
    unsigned session; /* from 0 */
    unsigned sessions;
    uint64_t seed;
    const char *dialect;
    const struct script_host *host; /* NULL: it only makes rows */
};

struct script_state;

/* Runs the top level again. FATAL: no memory, or the script declares something else now. */
enum status script_state_create(struct script_state **state, const struct script *script,
                                const struct script_place *place, struct error *error);
void script_state_destroy(struct script_state *state);

/* A statement in this session's words, with slot number + 1 when it is prepared. Lives as long as
 * the state. */
const struct statement *script_state_statement(const struct script_state *state, size_t number);

/* The same without a state, for session 0: to have it prepared before the sessions begin. The
 * caller frees `sql`. REJECTED: the script has no text for this dialect. */
enum status script_resolve(const struct script *script, size_t number,
                           const struct script_place *place, struct statement *statement,
                           char **sql, struct error *error);

/* What a call of a function of the script came to. */
enum script_end {
    SCRIPT_DONE,
    SCRIPT_ROLLBACK, /* it called rollback; *error has its words */
    SCRIPT_FAILED,   /* a call of the host did: it knows why */
    SCRIPT_STOPPED,  /* host.is_stopped, or think was cut short */
    SCRIPT_WRONG,    /* a mistake in the script: *error (ERROR_USAGE) has script and line */
};

/* Which transaction is number `turn` of this session: by weight, the same in each run. */
size_t script_choose(const struct script_state *state, uint64_t turn);

/* Calls the function of a transaction; for the same `turn` it draws the same again. */
enum script_end script_try(struct script_state *state, size_t transaction, uint64_t turn,
                           struct error *error);

/* The transaction of the latest try has ended for good: what it took of counters is known now. */
void script_settle(struct script_state *state);

/* "x.lua:3", the place of the latest call that may compute for very long, else the script's name.
 * For another thread, while that call goes on. */
const char *script_place_of(const struct script_state *state);

/* After each connect: the functions given to on_session. */
enum script_end script_connected(struct script_state *state, struct error *error);

/* Rows of a declared dataset, and their memory. */
struct script_rows;
struct script_rows *script_rows_create(const struct script *script, size_t dataset,
                                       size_t most_rows); /* NULL: out of memory */
void script_rows_destroy(struct script_rows *rows);

/* The columns that the load writes, in the dataset's order: to open an append with. Lives as long
 * as the script. */
const struct table *script_load_table(const struct script *script, size_t dataset);

/* Fills rows first, first + step, … of a dataset: `count` of them, at most most_rows. What is
 * returned is valid until the next call. NULL: a function of the script failed, or a value does not
 * fit its column; *error says which. */
const struct batch *script_rows_fill(struct script_rows *rows, struct script_state *state,
                                     uint64_t first, uint64_t step, size_t count,
                                     struct error *error);

#endif
