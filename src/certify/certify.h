/*
 * The faults, one after the other: load, fault, start, reading back.
 *
 * New writers are started for each fault, because an embedded database is part of the writers'
 * process. After a kill or a power loss the writers end with the server; after any other fault the
 * writers go on for a while and then finish their transactions. Then everything is read back while
 * no session writes. All functions run in the main thread.
 */
#ifndef CERTIFY_CERTIFY_H
#define CERTIFY_CERTIFY_H

#include "append/adapter.h"
#include "base/process.h"
#include "certify/account.h"
#include "certify/certificate.h"
#include "certify/rows.h"
#include "certify/subject.h"
#include "load/setup.h"
#include "plan/plan.h"

/* Makes or finds the server and breaks it as planned. With --prove, first breaks it with an unsafe
 * setting, to show that the faults find a loss. Fills *certificate: series, proof, verdict, code
 * and reason. */
void certify_run(struct certificate *certificate, struct subject *subject, const struct plan *plan);

/* The tables of append certify: made before the first fault, dropped after the last. append does
 * not touch a table of the same name that it did not make, unless --recreate names it. */
/* Makes and marks both tables. The first table gets an index if the database can check indexes. An
 * existing table is refused unless --recreate allows append to drop it. */
enum status tables_make(const struct plan *plan, struct adapter_conn *conn,
                        const struct connection_info *connection, struct error *error);

/* Drops the tables that carry append's mark. */
enum status tables_drop(const struct plan *plan, struct adapter_conn *conn,
                        const struct connection_info *connection, struct error *error);

/* Names the tables in *setup, for code that asks about the tables of a run. The names are static.
 */
void tables_fill_setup(struct setup *setup);
void tables_free_setup(struct setup *setup);

/*
 * Reading everything back after a fault, and comparing it with the account.
 *
 * Each table is read once, in any order, with 16 bytes of memory for each transaction. A row counts
 * as found only if append sent a row with its identity and its checksum matches its values. The
 * audit stores its results in the account: a transaction in doubt that was found must stay, a
 * transaction in doubt that was not found must not appear later, and a transaction with a finding
 * is not judged again. So each finding belongs to one fault.
 */
/* The rows that were found: one bit for each row of every transaction. */
struct audit {
    struct account *account;
    struct fault_result *result; /* result that receives the findings */
    /* counts of the findings that earlier faults caused and that are still in the tables; NULL: no
     * such findings */
    const uint64_t *known;
    /* The server has ended after the writers ended, so a transaction in doubt can no longer be
     * committed. Otherwise a transaction in doubt stays in doubt unless all of its rows are found.
     */
    bool is_settled;
    uint64_t (*seen)[2]; /* bits of the rows that were found, by session and number; owned */
    size_t *first;       /* index in `seen` of transaction 0 of each session; owned */
};

/* Allocates an audit of the account in its present state. Fails when out of memory. */
enum status audit_begin(struct audit *audit, struct account *account, struct fault_result *result,
                        struct error *error);
void audit_end(struct audit *audit);

/* Takes one row that was read; `text` need not be terminated. A row is foreign if no transaction of
 * the account has a row with this identity, even if the checksum is right. Any other row is torn if
 * its text does not match its checksum. */
void audit_take(struct audit *audit, const struct rows_id *id, const char *text, size_t length,
                int64_t checksum);

/* Judges all transactions, once all tables have been read, and updates the account. */
void audit_judge(struct audit *audit);

/* The arguments of the functions below; `conn` is open. */
struct audit_reading {
    struct audit *audit;
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const struct connection_info *connection;
};

/* Reads both tables. Fails if a table cannot be read. */
enum status audit_read(const struct audit_reading *reading, struct error *error);

/* Runs the database's own check of both tables, or sets result->unchecked. Fails only if the
 * connection is lost. */
enum status audit_check(const struct audit_reading *reading, struct error *error);

#endif
