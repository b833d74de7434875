/*
 * What the contract suite needs to know about a database, in addition to its adapter: its target,
 * its DDL, and how to read it and to break its connections without the adapter. Installed as
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

/* The kinds of sample values. The row of a batch decides which kind its values have. */
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
    /* If URL, host, port, user, password, database or query is not set, it is taken from the
     * fixture's target. */
    struct target target;
    enum status status;
    enum error_kind kind;
    const char *sqlstate; /* NULL if not checked */
};

/* A column of table `every_type`, and its samples as text. */
struct value_case {
    const char *column;
    enum column_type type;
    const char *expression; /* SQL expression that returns the text */
    /* The expected texts. NULL stands for the sample itself, with bytes as hexadecimal digits. */
    const char *expected[SAMPLE_COUNT];
};

/* The samples in the form in which most databases write them. */
#define BOOL_TEXTS "true", "false", "true", "true"
#define BOOL_NUMBERS "1", "0", "1", "1"
#define INT8_TEXTS "67", "-99", "99", "0" /* a decimal of 2 digits */
#define INT16_TEXTS "1234", "-32768", "32767", "0"
#define INT24_TEXTS "234567", "-999999", "999999", "0" /* a decimal of 6 digits */
#define INT32_TEXTS "123456", "-2147483648", "2147483647", "-1"
#define INT64_TEXTS "1234567890123", "-9223372036854775808", "9223372036854775807", "-1"
#define FLOAT32_TEXTS "1.5", "-3.4028235e38", "3.4028235e38", "0.1"
#define FLOAT64_TEXTS "0.1", "-1.7976931348623157e308", "1.7976931348623157e308", "-2.5"
#define DECIMAL_TEXTS "12345.67", "-99999999.99", "99999999.99", "0.00"
#define DECIMAL5_TEXTS "12.34567", "-9999999999999.99999", "9999999999999.99999", "0.00000"
#define DECIMAL20_TEXTS                                                                            \
    "0.00000000000001234567", "-0.00999999999999999999", "0.00999999999999999999",                 \
        "0.00000000000000000000"
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
#define IP6_BYTES                                                                                  \
    "20010db8000000000000000000000001", "00000000000000000000000000000000",                        \
        "ffffffffffffffffffffffffffffffff", "00000000000000000000000000000001"

/* Targets that most databases refuse, with the same error. */
#define BAD_PORT "port", {.port = 1}, STATUS_LOST, ERROR_UNREACHABLE, NULL
#define BAD_HOST "host", {.host = "no-such-host.invalid"}, STATUS_LOST, ERROR_UNREACHABLE, NULL
#define BAD_USER "user", {.user = "no_such_user"}, STATUS_FATAL, ERROR_AUTH, NULL
#define BAD_PASSWORD "password", {.password = "wrong"}, STATUS_FATAL, ERROR_AUTH, NULL
#define BAD_PARAMETER "parameter", {.query = "nonsense=1"}, STATUS_FATAL, ERROR_USAGE, NULL
#define BAD_SCHEMA "schema", {.schema = "public"}, STATUS_FATAL, ERROR_USAGE, NULL

/* A statement of the tests, and its translation for a database that has its own language, not
 * SQL. */
struct phrase {
    const char *sql, *translation;
};

struct fixture {
    struct target target;
    /* A method of the adapter that this database does not support, or NULL. */
    const char *missing_method;
    const struct bad_target *bad_targets;
    size_t bad_target_count;
    /* Creates the table "every_type", with the column id first. NULL if the database keeps no
     * rows. */
    const char *every_type_sql;
    const char *special_sql; /* creates the table "special": see test_describe_special */
    /* Creates the table "ignoring" (id int), which silently leaves out a second row with the same
     * id. NULL if no table of the database does so. */
    const char *ignoring_sql;
    const struct value_case *cases;
    size_t case_count;

    /* Runs SQL through the client library and copies the first value. Returns false if the SQL
     * failed. */
    bool (*read_text)(const char *sql, char text[FIXTURE_TEXT_BYTES]);
    /* Ends all connections of the adapter at the server's side. NULL if there is no server. */
    bool (*break_connections)(void);
    const char *broken_sqlstate;    /* SQLSTATE of a broken connection; NULL if not checked */
    const char *duplicate_sqlstate; /* SQLSTATE of a duplicate key; NULL if not checked */
    const char *endless_sql;        /* a query that runs for a minute */
    /* A query for the server's port, used if the target has no port. NULL if the server has no
     * port. */
    const char *port_sql;
    /* Creates the table "indexed" (a, b, c, d, e), in which only e is unique by itself. NULL if the
     * suite's own SQL works. */
    const char *indexes_sql;
    /* Creates the table "computed" (id int, g, which is id * 2, v varchar(40)). NULL if the suite's
     * own SQL works. */
    const char *generated_sql;
    /* The list ends with a zeroed entry. A statement that is not listed has no translation. */
    const struct phrase *phrases;
    const struct column *time; /* column that distinguishes the rows of each table, or NULL */
    /* name of the first session limit that the adapter reports; NULL if it is max_connections */
    const char *session_limit;
    /* Creates the table "keyed" (id int, v varchar(60)) in a database without keys. NULL if the
     * suite creates it, with a primary key. */
    const char *keyed_sql;
    /* Creates the table "keyed" with a key, and with an engine that keeps the rows before a refused
     * row. NULL if the database has no such engine. */
    const char *no_rollback_sql;
    /* Creates the table "keyed" with a column w before the others. NULL if the suite's own SQL
     * works. */
    const char *keyed_with_more_sql;
    /* Creates the table "keyed" with a column w instead of v. NULL if the suite's own SQL works. */
    const char *keyed_with_less_sql;
    /* Creates the table "numbers", see test_numbers.c. NULL if the suite's own SQL works. */
    const char *numbers_sql;
    /* A query that returns one row. NULL if "select 1" works. */
    const char *one_row_sql;
    /* A query that returns 11 and -12. NULL if "select 11, -12" works. */
    const char *usable_sql;
    /* Makes the server refuse the next 1 to 9 rows and keep the rows after them. NULL if the server
     * refuses whole appends. */
    bool (*refuse_rows)(unsigned rows);
    /* a batch of fewer than ROW_BATCH_MAX rows may be sent before append_close */
    bool sends_small_batches;
    bool holds_results;   /* the client library holds a whole result before its first row */
    bool opens_silently;  /* append_open sends nothing to the server */
    bool reconnects_idle; /* an idle connection that ends is replaced, and no row is lost */
    /* Tables have no columns until they have rows, so every_type and keyed are not declared. */
    bool has_no_columns;
    bool has_no_deferred;  /* constraints are not deferred to the end of a transaction */
    bool has_no_rules;     /* keys, ALTER, INSERT or joins are missing, or tests cannot use them */
    bool takes_parameters; /* statements with ? can be tested although has_no_rules is true */
    bool fills_columns;    /* each column has a default */
    bool is_modern;        /* dates and times lie between 1970 and 2105 */
    bool has_null_values;  /* certain values stand for NULL, see samples_leave_out_extremes */
    bool hides_limits;     /* the server does not report its limits */
    bool locks_database;   /* a transaction that writes blocks all other writers */
    /* "repeatable read" refuses to change rows that another transaction has changed */
    bool sees_conflicts;
    bool has_no_rollback;   /* rows that were sent cannot be rolled back */
    bool has_no_empty_text; /* "" is stored as NULL */
    bool folds_names;       /* column names are upper-case */
    bool measures_bytes;    /* the size of a text column is in bytes */
    bool needs_type;        /* a parameter whose type the statement does not determine is refused */
    /* A prepared query may keep the columns that its table had when the query was prepared. */
    bool keeps_columns;
    bool truncates_floats; /* floats of 32 bits are read with six digits */
};

/* Opens and closes the database of a fixture. fixture_NAME.c defines the variable fixture_NAME. */
struct fixture_place {
    /* Returns NULL if this database cannot be tested here, after printing the reason. */
    const struct fixture *(*open)(void);
    void (*close)(void); /* NULL if there is nothing to close */
};

/* The fixtures of all adapters that are built. tests/CMakeLists.txt makes the list, which ends with
 * a zeroed entry. */
struct fixture_entry {
    const char *name; /* ADAPTER or ADAPTER-DATABASE */
    const struct fixture_place *place;
};
extern const struct fixture_entry fixture_entries[];

/* The symbol that the fixture of an adapter outside the tree exports. Such a fixture is a shared
 * library with the lines:
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
