/* Declarations that the files of the contract suite share. */
#ifndef CONTRACT_CONTRACT_H
#define CONTRACT_CONTRACT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above and setjmp.h. */
#include <setjmp.h>

#include <cmocka.h>

#include "append/adapter.h"
#include "fixture.h"
#include "samples.h"

/* The state of each cmocka test. */
struct contract {
    const struct adapter *adapter;
    const struct fixture *fixture;
    struct adapter_library *library; /* main owns it; NULL if the adapter loads no library */
    struct target target;            /* the fixture's target, with the method under test */
    struct adapter_conn *conn; /* open; a test may replace it, or close it and set it to NULL */
    struct error error;        /* cleared before each test */
};

/* Fails the test if `status` is not `wanted`, or if the error text is not a single line. */
void contract_expect(struct contract *contract, enum status status, enum status wanted);

/* Fills *info with the adapter's description of the connection. */
void contract_inspect(const struct contract *contract, struct connection_info *info);

/* Translates a test's SQL for the database. Returns NULL if there is no translation. */
const char *contract_translate(const struct contract *contract, const char *sql);

/* Returns whether the database has SQL's keys, ALTER, INSERT and joins. */
bool contract_has_rules(const struct contract *contract);

/* Drops a table if it exists. */
void contract_drop(struct contract *contract, const char *name);

/* Drops table `name`, creates it with `sql`, and describes it. `sql` may be NULL if the table needs
 * no CREATE. */
void contract_make_table(struct contract *contract, const char *name, const char *sql,
                         struct table *table);

/* Creates the default table from schemas/syslog. */
void contract_make_syslog(struct contract *contract, struct table *table);

/* Creates the table "keyed" (id int primary key, v varchar), which refuses a second row with the
 * same id. */
void contract_make_keyed(struct contract *contract, struct table *table);

/* Count the table's rows. contract_count fails the test if counting fails. */
enum status contract_ask_count(struct contract *contract, const struct table *table,
                               uint64_t *rows);
uint64_t contract_count(struct contract *contract, const struct table *table);

/* Runs a user's query, and sets *rows to the number of rows that it returns. */
enum status contract_query(struct contract *contract, const char *sql, uint64_t *rows);

/* Appends `rows` rows with ids from `first_id` on. Stops at the first call whose status is not
 * OK. */
enum status contract_append(struct contract *contract, const struct table *table, size_t rows,
                            int first_id, uint64_t *accepted);

/* Run and prepare a statement on a connection of the test. Statements with slots stay prepared.
 * Several threads may call these functions, each with a connection of its own. */
enum status contract_run(const struct contract *contract, struct adapter_conn *conn,
                         const struct statement *statement, const struct batch *parameters,
                         struct answer *answer, struct error *error);
enum status contract_prepare(struct contract *contract, const struct statement *statement);

/* Closes a connection; accepts NULL. */
void contract_close(const struct contract *contract, struct adapter_conn *conn);

/* Returns whether the adapter discards all rows, so that no row can be counted or read back. */
bool contract_discards(const struct contract *contract);

int contract_setup(void **state);
int contract_teardown(void **state);

/* The tests of each file. Each list ends with a zeroed entry. */
extern const struct CMUnitTest contract_open_tests[];
extern const struct CMUnitTest contract_append_tests[];
extern const struct CMUnitTest contract_value_tests[];
extern const struct CMUnitTest contract_numbers_tests[];
extern const struct CMUnitTest contract_lost_tests[];
extern const struct CMUnitTest contract_statement_tests[];
extern const struct CMUnitTest contract_transaction_tests[];

#endif
