/*
 * The faults, one after the other. For each fault: sessions write rows, the fault strikes, the
 * server is started again if it has ended, and all tables are read back.
 *
 * New writers are started for each fault, because an embedded database is part of the writers'
 * process. After a kill or a power loss the writers are killed. After any other fault the writers
 * write for 1 s more and finish their transactions. No session writes while the tables are read
 * back. All functions run in the main thread.
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

/* Makes or finds the server and carries out the planned faults. With --prove, first carries out
 * faults under an unsafe setting, to show that a loss would be found. Fills *certificate: series,
 * proof, verdict, code and reason. */
void certify_run(struct certificate *certificate, struct subject *subject, const struct plan *plan);

/* The two tables of the certify command. They are made before the first fault. On the user's
 * server they are dropped after the last fault, unless there was a finding, an error or an
 * interrupt. This program does not touch an existing table that it did not make, unless --recreate
 * names the table. */
/* Makes both tables, and marks them as made by this program. Makes an index of the first table if
 * the database can check indexes. Refuses to continue if a table exists and --recreate does not
 * allow this program to drop it. */
enum status tables_make(const struct plan *plan, struct adapter_conn *conn,
                        const struct connection_info *connection, struct error *error);

/* Drops both tables. Fails if a table does not have this program's mark. */
enum status tables_drop(const struct plan *plan, struct adapter_conn *conn,
                        const struct connection_info *connection, struct error *error);

/* Stores the names of the tables in *setup, for functions that need a struct setup. The names are
 * static. */
void tables_fill_setup(struct setup *setup);
void tables_free_setup(struct setup *setup);

/*
 * The audit: reads all tables back after a fault, and compares their rows with the account.
 *
 * The audit reads each table once, in any order, and needs 16 bytes of memory for each transaction.
 * A row counts as found only if the account has a row with this identity and the row's checksum
 * matches its values. The audit updates the account: a transaction in doubt becomes KEPT if all
 * its rows were found, REJECTED if no row was found, and BROKEN if only some were; after a fault
 * that did not kill the server it stays in doubt if rows are missing. Lost, half and rejected
 * transactions that are found wrong become BROKEN and are not checked again, and `known` subtracts
 * the other findings of earlier faults. So each finding belongs to one fault.
 */
/* An audit, with one bit for each row of every transaction. */
struct audit {
    struct account *account;
    struct fault_result *result; /* result that receives the findings */
    /* counts of findings that earlier faults caused and that are still in the tables; NULL: no
     * earlier findings */
    const uint64_t *known;
    /* The server was killed, so it can no longer commit a transaction in doubt. If false, a
     * transaction in doubt stays in doubt until all of its rows are found. */
    bool is_settled;
    uint64_t (*seen)[2]; /* for each transaction, the bits of the rows that were found, ordered by
                            session and number; owned */
    size_t *first;       /* index in `seen` of transaction 0 of each session; owned */
};

/* Initialises an audit of the transactions that the account has now. Fails when out of memory.
 * audit_end frees the memory. */
enum status audit_begin(struct audit *audit, struct account *account, struct fault_result *result,
                        struct error *error);
void audit_end(struct audit *audit);

/* Takes one row that was read; `text` need not end with '\0'. The row is foreign if no transaction
 * of the account has a row with this identity, even if the checksum is right. Any other row is torn
 * if its text does not match its checksum. */
void audit_take(struct audit *audit, const struct rows_id *id, const char *text, size_t length,
                int64_t checksum);

/* Compares all transactions with the rows that were found, and updates the account. Called after
 * all tables have been read. */
void audit_judge(struct audit *audit);

/* The arguments of the functions below. `conn` is an open connection. */
struct audit_reading {
    struct audit *audit;
    const struct adapter *adapter;
    struct adapter_conn *conn;
    const struct connection_info *connection;
};

/* Reads both tables. Fails if a table cannot be read. */
enum status audit_read(const struct audit_reading *reading, struct error *error);

/* Runs the database's own check of both tables. If a check cannot run, writes the reason to
 * result->unchecked. Fails only if the connection is lost. */
enum status audit_check(const struct audit_reading *reading, struct error *error);

#endif
