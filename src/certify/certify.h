/*
 * The faults, one after the other: load, fault, start, reading back.
 *
 * Each fault has writers of its own, because an embedded database is part of their process. After a
 * kill or a power loss the writers end with the server; after the other faults they go on for a
 * while and then finish their transactions. Then everything is read back while no session writes.
 * Main thread.
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

/* Makes or finds the server, breaks it as planned, first for the proof if the plan asks for one,
 * and fills *certificate: series, verdict, code and reason. */
void certify_run(struct certificate *certificate, struct subject *subject, const struct plan *plan);

/* The tables of append certify: made before the first fault, dropped after the last. append does
 * not touch a table of the same name that it did not make, unless --recreate names it. */
/* Makes both tables, with an index on the first where the database can check one, and marks them.
 * An existing table is refused unless --recreate allows append to drop it. */
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
 * as there only if its checksum fits all of its values. After the audit the account has what was
 * found: a transaction in doubt that is there must stay, one that is not there must not appear, and
 * a transaction with a finding is not judged again. So each finding belongs to one fault.
 */
/* The rows of all transactions, a bit for each, and what was counted while they were read. */
struct audit {
    struct account *account;
    struct fault_result *result; /* receives the findings */
    /* findings of earlier faults, which are still there; NULL: none */
    const uint64_t *known;
    /* The server has ended since the writers did: a transaction in doubt cannot be committed any
     * more. Else such a transaction stays in doubt unless all of it is there. */
    bool is_settled;
    uint64_t (*seen)[2]; /* by session and number; owned */
    size_t *first;       /* place in `seen` of each session's transaction 0; owned */
};

/* Allocates an audit of the account as it is now. Fails when out of memory. */
enum status audit_begin(struct audit *audit, struct account *account, struct fault_result *result,
                        struct error *error);
void audit_end(struct audit *audit);

/* Takes one row as it was read; `text` need not be terminated. */
void audit_take(struct audit *audit, const struct rows_id *id, const char *text, size_t length,
                int64_t checksum);

/* Judges all transactions, once all tables have been read, and updates the account. */
void audit_judge(struct audit *audit);

/* Reads both tables and runs the database's own check, on an open connection. Fails if a table
 * cannot be read. */
struct audit_reading {
    struct audit *audit;
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const struct connection_info *connection;
};
enum status audit_read(const struct audit_reading *reading, struct error *error);

#endif
