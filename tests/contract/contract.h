/* What the files of the contract suite share. */
#ifndef CONTRACT_CONTRACT_H
#define CONTRACT_CONTRACT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above and setjmp.h. */
#include <setjmp.h>

#include <cmocka.h>

#include "append/adapter.h"
#include "fixture.h"
#include "samples.h"

/* The state of each cmocka test. */
struct contract {
    const struct adapter *adapter;
    const struct fixture *fixture;
    struct adapter_library *library; /* owned by main; NULL: the adapter loads none */
    struct target target;            /* the fixture's, with the method under test */
    struct adapter_conn *conn;       /* open; may be replaced or closed and set to NULL */
    struct error error;              /* cleared before each test */
};

/* Fails the test when `status` is not what is wanted, or its error is not one line. */
void contract_expect(struct contract *contract, enum status status, enum status wanted);

/* What the connection says of itself. */
void contract_inspect(const struct contract *contract, struct connection_info *info);

/* How the database says what a test says in SQL; NULL: it cannot. */
const char *contract_say(const struct contract *contract, const char *sql);

/* Whether it has keys, ALTER, INSERT and joins as SQL has them. */
bool contract_has_rules(const struct contract *contract);

/* Drops a table if it is there. */
void contract_drop(struct contract *contract, const char *name);

/* Drops and creates `name` by `sql`, and describes it; NULL: it is one without a CREATE. */
void contract_make_table(struct contract *contract, const char *name, const char *sql,
                         struct table *table);

/* The default table, from schemas/syslog. */
void contract_make_syslog(struct contract *contract, struct table *table);

/* create table keyed (id int primary key, v varchar): a second row of an id is refused. */
void contract_make_keyed(struct contract *contract, struct table *table);

/* Rows that the database counts; contract_count fails the test where it does not. */
enum status contract_ask_count(struct contract *contract, const struct table *table,
                               uint64_t *rows);
uint64_t contract_count(struct contract *contract, const struct table *table);

/* Runs a query of a user's; *rows = rows that it returns. */
enum status contract_query(struct contract *contract, const char *sql, uint64_t *rows);

/* One whole append of `rows` rows with ids from `first_id`; stops at the first result but OK. */
enum status contract_append(struct contract *contract, const struct table *table, size_t rows,
                            int first_id, uint64_t *accepted);

/* As adapter.run on a connection of the test's, which keeps its statements with slots prepared; and
 * prepares one. Several threads may do so, each on a connection of its own. */
enum status contract_run(const struct contract *contract, struct adapter_conn *conn,
                         const struct statement *statement, const struct batch *parameters,
                         struct answer *answer, struct error *error);
enum status contract_prepare(struct contract *contract, const struct statement *statement);

/* Closes a connection; takes NULL. */
void contract_close(const struct contract *contract, struct adapter_conn *conn);

bool contract_discards(const struct contract *contract);

int contract_setup(void **state);
int contract_teardown(void **state);

/* Each file's tests; ends with a zeroed entry. */
extern const struct CMUnitTest contract_open_tests[];
extern const struct CMUnitTest contract_append_tests[];
extern const struct CMUnitTest contract_value_tests[];
extern const struct CMUnitTest contract_numbers_tests[];
extern const struct CMUnitTest contract_lost_tests[];
extern const struct CMUnitTest contract_statement_tests[];
extern const struct CMUnitTest contract_transaction_tests[];

#endif
