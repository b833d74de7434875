/*
 * What the contract suite needs to know about a database besides its adapter: its target, its DDL,
 * and how to read it and break its connections without the adapter. Installed as append/fixture.h,
 * for adapters outside the tree.
 */
#ifndef CONTRACT_FIXTURE_H
#define CONTRACT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "append/adapter.h"

enum {
    FIXTURE_TEXT_BYTES = 32768
};

/* The row of a batch of samples decides which of these samples its values are. */
enum sample {
    SAMPLE_ORDINARY,
    SAMPLE_SMALLEST,
    SAMPLE_LARGEST,
    SAMPLE_ODD,
    SAMPLE_COUNT,
};

/* A target that cannot be opened, and the error that open must return. */
struct bad_target {
    const char *label;
    struct target target; /* an unset host, port, user, password or database is taken from the
                             fixture's target */
    enum status status;
    enum error_kind kind;
    const char *sqlstate; /* NULL: not checked */
};

/* A column of table `every_type`, and its samples as text. */
struct value_case {
    const char *column;
    enum column_type type;
    const char *expression;             /* SQL expression that returns the text */
    const char *expected[SAMPLE_COUNT]; /* NULL: the sample's own text, bytes in hexadecimal */
};

/* The samples as most databases write them. */
#define INT16_TEXTS "1234", "-32768", "32767", "0"
#define INT32_TEXTS "123456", "-2147483648", "2147483647", "-1"
#define INT64_TEXTS "1234567890123", "-9223372036854775808", "9223372036854775807", "-1"
#define DATE_TEXTS "2024-02-29", "0001-01-01", "9999-12-31", "1969-12-31"
#define TIME_TEXTS "12:34:56.789012", "00:00:00.000000", "23:59:59.999999", "00:00:00.000001"
#define TIMESTAMP_TEXTS                                                                            \
    "2024-02-29 12:34:56.789012", "1677-09-21 00:12:43.145224", "2262-04-11 23:47:16.854775",      \
        "1969-12-31 23:59:59.999999"
#define UUID_TEXTS                                                                                 \
    "01234567-89ab-cdef-fedc-ba9876543210", "00000000-0000-0000-0000-000000000000",                \
        "ffffffff-ffff-ffff-ffff-ffffffffffff", "01000000-0000-0000-0000-000000000000"
#define IP4_TEXTS "192.0.2.7", "0.0.0.0", "255.255.255.255", "10.0.0.1"
#define IP6_TEXTS "2001:db8::1", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::1"

/* A statement of the tests, translated for a database that has its own language instead of SQL. */
struct phrase {
    const char *sql, *translation;
};

struct fixture {
    struct target target;
    const char *missing_method; /* a method of the adapter that this database does not support;
                                   NULL: none */
    const struct bad_target *bad_targets;
    size_t bad_target_count;
    const char *every_type_sql; /* create table every_type, with id first; NULL: the database keeps
                                   nothing */
    const char *special_sql;    /* create table special: see test_describe_special */
    const char *ignoring_sql;   /* create table ignoring (id int): a second row with the same id is
                                   left out without an error; NULL: not possible */
    const struct value_case *cases;
    size_t case_count;

    /* Runs SQL through the client library and copies the first value; false: it failed. */
    bool (*read_text)(const char *sql, char text[FIXTURE_TEXT_BYTES]);
    /* Ends every connection of the adapter from the server's side. NULL: there is no server. */
    bool (*break_connections)(void);
    const char *broken_sqlstate;    /* NULL: not checked */
    const char *duplicate_sqlstate; /* of a second row with the same key; NULL: not checked */
    const char *endless_sql;        /* a query that runs for a minute */
    const char *port_sql;           /* queries the server's port; NULL: the server has no port */
    const char *indexes_sql; /* create table indexed (a, b, c, d, e), where only e alone is unique;
                                NULL: the suite's own SQL */
    const char *generated_sql; /* create table computed (id int, g, which is id * 2, v varchar(40));
                                  NULL: the suite's own SQL */
    const struct phrase
        *phrases; /* ends with a zeroed entry; a statement that is not listed has no translation */
    const struct column *time; /* a column of every table that distinguishes its rows; NULL: none */
    const char *session_limit; /* name of the server's first limit; NULL: max_connections */
    const char *keyed_sql;     /* create table keyed (id int, v varchar(60)), for databases without
                                  keys; NULL: with a primary key */
    const char *no_rollback_sql;     /* create table keyed, with a key, whose engine keeps the rows
                                        before a refused row; NULL: there is no such engine */
    const char *keyed_with_more_sql; /* keyed with a column w before the others, and ... */
    const char *keyed_with_less_sql; /* ... with w instead of v; NULL: as with keyed_sql */
    const char *numbers_sql; /* create table numbers, see test_numbers.c; NULL: the suite's */
    const char *one_row_sql; /* a query of one row, if it needs a table; NULL: select 1 */
    const char *usable_sql;  /* returns 11 and -12, if it needs a table; NULL: select 11, -12 */
    /* Makes the server refuse the next 1 to 9 rows and keep the rows after them. NULL: the server
     * refuses whole appends. */
    bool (*refuse_rows)(unsigned rows);
    bool sends_small_batches; /* fewer than ROW_BATCH_MAX rows are sent before append_close */
    bool holds_results;       /* the client library holds a whole result before its first row */
    bool opens_silently;      /* append_open sends nothing to the server */
    bool reconnects_idle;     /* an idle connection that has ended is replaced without a loss */
    bool has_no_columns;   /* until there are rows, tables have no columns: every_type and keyed are
                              not declared */
    bool has_no_deferred;  /* constraints are not deferred to the end of a transaction */
    bool has_no_rules;     /* no keys, ALTER, INSERT or joins that tests can use */
    bool takes_parameters; /* despite has_no_rules, statements with ? can be tested */
    bool fills_columns;    /* each column has a default */
    bool is_modern;        /* dates and times lie between 1970 and 2105 */
    bool hides_limits;     /* the server does not report its limits */
    bool locks_database;   /* a transaction that writes blocks all other writers */
    bool sees_conflicts;   /* "repeatable read" refuses to change rows that another transaction has
                              changed */
    bool has_no_rollback;  /* rows that were sent stay */
    bool has_no_empty_text; /* "" is NULL */
    bool folds_names;       /* column names are upper-case */
    bool measures_bytes;    /* the size of a text column is in bytes */
    bool needs_type;        /* a parameter whose type the statement does not determine is refused */
    bool keeps_columns;     /* a prepared query may keep the columns that its table had when it was
                               prepared */
    bool truncates_floats;  /* floats of 32 bits are read with six digits */
};

/* How to open and close a database: fixture_NAME of fixture_NAME.c. */
struct fixture_place {
    /* returns NULL when this database cannot be tested here, after printing the reason */
    const struct fixture *(*open)(void);
    void (*close)(void); /* NULL: nothing to close */
};

/* The fixtures of all adapters that are built, made by tests/CMakeLists.txt; ends with a zeroed
 * entry. */
struct fixture_entry {
    const char *name; /* ADAPTER or ADAPTER-DATABASE */
    const struct fixture_place *place;
};
extern const struct fixture_entry fixture_entries[];

/* The symbol that the fixture of an adapter outside the tree, a shared library, exports:
 *
 *     const struct fixture_module append_fixture_module = {
 *         FIXTURE_STRUCT_BYTES, {open_fixture, NULL}}; */
#define FIXTURE_STRUCT_BYTES (sizeof(struct fixture) + ADAPTER_STRUCT_BYTES)
struct fixture_module {
    size_t struct_bytes;
    struct fixture_place place;
};
#define FIXTURE_MODULE_SYMBOL "append_fixture_module"
extern const struct fixture_module append_fixture_module __attribute__((visibility("default")));

#endif
