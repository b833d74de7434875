/*
 * What the contract suite needs to know of one database beyond its adapter: where it is, its DDL,
 * and how to look at it and break it without going through the adapter. Installed as
 * append/fixture.h, for adapters outside the tree.
 */
#ifndef CONTRACT_FIXTURE_H
#define CONTRACT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "append/adapter.h"

enum {
    FIXTURE_TEXT_BYTES = 32768
};

/* The row of a batch of samples decides which of these its values are. */
enum sample {
    SAMPLE_ORDINARY,
    SAMPLE_SMALLEST,
    SAMPLE_LARGEST,
    SAMPLE_ODD,
    SAMPLE_COUNT,
};

/* A target that cannot be opened, and what open must say about it. */
struct bad_target {
    const char *label;
    struct target target; /* host, port, user, password and database: if none, the fixture's */
    enum status status;
    enum error_kind kind;
    const char *sqlstate; /* NULL: not looked at */
};

/* A column of table `every_type` and how its samples read back as text. */
struct value_case {
    const char *column;
    enum column_type type;
    const char *expression;             /* SQL that gives the text */
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

/* A statement of the tests in a database whose adapter has words of its own, instead of SQL. */
struct phrase {
    const char *sql, *own;
};

struct fixture {
    struct target target;
    const char *missing_method; /* of the adapter's, that this database cannot do; NULL: none */
    const struct bad_target *bad_targets;
    size_t bad_target_count;
    const char *every_type_sql; /* create table every_type: id first; NULL: nothing is kept */
    const char *special_sql;    /* create table special: see test_describe_special */
    const char *ignoring_sql;   /* create table ignoring (id int): a second row of an id is left out
                                   without an error; NULL: not possible */
    const struct value_case *cases;
    size_t case_count;

    /* Runs SQL by the client library itself and copies the first value; false: it failed. */
    bool (*read_text)(const char *sql, char text[FIXTURE_TEXT_BYTES]);
    /* Ends every connection of the adapter from the server's side. NULL: there is no server. */
    bool (*break_connections)(void);
    const char *broken_sqlstate;    /* NULL: not looked at */
    const char *duplicate_sqlstate; /* of a second row with the same key; NULL: not looked at */
    const char *endless_sql;        /* a query that runs for a minute */
    const char *port_sql;           /* asks the server for its port; NULL: it has none */
    const char *indexes_sql;   /* create table indexed (a, b, c, d, e), of which only e is unique by
                                  itself; NULL: as the others do */
    const char *generated_sql; /* create table computed (id int, g, which is id * 2, v varchar(40));
                                  NULL: as the others do */
    const struct phrase *phrases; /* ends with a zeroed one; what is not there cannot be said */
    const struct column *time;    /* of each table, and tells its rows apart; NULL: none does */
    const char *session_limit;    /* name of the server's first; NULL: max_connections */
    const char *keyed_sql;   /* create table keyed (id int, v varchar(60)), where there are no keys;
                                NULL:   with a primary key */
    const char *no_undo_sql; /* create table keyed, with a key, whose engine keeps the rows before
                                one that is refused; NULL: there is no such engine */
    const char *keyed_with_more_sql; /* keyed with a column w before the others, and one ... */
    const char *keyed_with_less_sql; /* ... with w in place of v; NULL: as with keyed_sql */
    const char *numbers_sql; /* create table numbers, see test_numbers.c; NULL: as the others do */
    const char *one_row_sql; /* a query of one row, where it needs a table; NULL: select 1 */
    const char *usable_sql;  /* 11 and -12, where it needs a table; NULL: select 11, -12 */
    /* Makes the server refuse the next rows, 1 to 9, and keep those that follow. NULL: it refuses a
     * whole append. */
    bool (*refuse_rows)(unsigned rows);
    bool sends_small_batches; /* less than ROW_BATCH_MAX rows are in before append_close */
    bool holds_results;       /* the client library has a whole result before its first row */
    bool opens_silently;      /* append_open asks the server nothing */
    bool opens_again;         /* what ended while nothing was asked is made anew, at no cost */
    bool has_no_columns;      /* before there are rows: nothing declares every_type and keyed */
    bool has_no_deferred;     /* no constraint is looked at when the transaction ends */
    bool has_no_rules;        /* no keys, ALTER, INSERT or joins that tests can use */
    bool takes_parameters;    /* although it has no rules, statements with ? can be tested */
    bool fills_columns;       /* each column has a default */
    bool is_modern;           /* its dates and moments are those of 1970 to 2105 */
    bool hides_limits;        /* the server does not tell them */
    bool locks_whole;         /* a transaction that writes keeps all others from writing */
    bool sees_conflicts;      /* "repeatable read" refuses to change what another one has changed */
    bool has_no_rollback;     /* rows that were sent stay */
    bool has_no_empty_text;   /* "" is NULL */
    bool folds_names;         /* names of columns are in upper case */
    bool measures_bytes;      /* the size of a column of text is one of bytes */
    bool needs_type; /* a parameter of which nothing in the statement tells the type is refused */
    bool keeps_columns; /* a prepared query may have the columns that its table had then */
    bool cuts_floats;   /* those of 32 bits are read with six digits */
};

/* Where a database is: fixture_NAME of fixture_NAME.c. */
struct fixture_place {
    const struct fixture *(*open)(void); /* gives NULL where this database cannot be tested here;
                                            the reason was printed */
    void (*close)(void);                 /* NULL: nothing is to be ended */
};

/* Those of all adapters that are built, made by tests/CMakeLists.txt; ends with a zeroed one. */
struct fixture_entry {
    const char *name; /* ADAPTER or ADAPTER-DATABASE */
    const struct fixture_place *place;
};
extern const struct fixture_entry fixture_entries[];

/* What the fixture of an adapter outside the tree, a shared library, exports under this name:
 *
 *     const struct fixture_module append_fixture_module = {
 *         FIXTURE_STRUCT_BYTES, {open_fixture, NULL}};
 */
#define FIXTURE_STRUCT_BYTES (sizeof(struct fixture) + ADAPTER_STRUCT_BYTES)
struct fixture_module {
    size_t struct_bytes;
    struct fixture_place place;
};
#define FIXTURE_MODULE_SYMBOL "append_fixture_module"
extern const struct fixture_module append_fixture_module __attribute__((visibility("default")));

#endif
