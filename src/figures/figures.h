/*
 * The table of figures. A figure is a number or text in the result of a run.
 *
 * A row of FIGURE_TABLE defines a figure: its key, its places in run.json, its unit and, for a
 * figure that the page shows, its label and group. All code for summary.csv, run.json, the page,
 * the metrics, --expect, compare, sweep and find-max reads this table and has no list of its own.
 * The rows are in the order of the columns of summary.csv. A new figure needs a row here and a line
 * in report/figures.c that sets its value.
 *
 * A row of OPERATION_TABLE defines an operation whose duration the sessions measure. Each
 * operation has a histogram, the columns NAME_p50_ms …, members of "latencies" and "histograms", a
 * metric and a file NAME.hgrm. A script adds its own operations, for which there are also counts.
 *
 * A struct figure_set is not changed after it has been filled. Its values borrow their texts.
 */
#ifndef FIGURES_FIGURES_H
#define FIGURES_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "append/adapter.h"

enum {
    /* longest key: "transaction." + a name from a script + ".retries_serialization" */
    FIGURE_KEY_BYTES = 96,
    FIGURE_TEXT_BYTES = 352, /* longest text: the largest double has 309 digits before the point */
    OPERATIONS_MAX = 67,
    FIGURE_POINTS_MAX = 24,
};

/* In a bound, the beginning of a name that stands for a script's metric. */
#define METRIC_PREFIX "metric."

/* The unit of a figure. It determines how the figure's key ends, and the number of decimals in a
 * CSV file. */
enum figure_unit {
    FIGURE_UNIT_COUNT,
    FIGURE_UNIT_ID, /* a number that is not a quantity, so that medians and ratios of it make no
                       sense */
    FIGURE_UNIT_TEXT,
    FIGURE_UNIT_WORD, /* a word that stands for a number, such as VALID */
    FIGURE_UNIT_FLAG,
    FIGURE_UNIT_MOMENT, /* a time in seconds with six decimals */
    FIGURE_UNIT_ROWS_PER_S,
    FIGURE_UNIT_MIB_PER_S,
    /* number per second. Must follow the units with the longer endings "_rows_per_s" and
     * "_mib_per_s", because the first ending that fits a key determines the unit */
    FIGURE_UNIT_PER_S,
    FIGURE_UNIT_MS,
    FIGURE_UNIT_US_PER_ROW,
    FIGURE_UNIT_S,
    FIGURE_UNIT_MIB,
    FIGURE_UNIT_PERCENT,
    FIGURE_UNIT_BYTES_PER_ROW,
    FIGURE_UNIT_RATIO, /* a number without a unit */
    FIGURE_UNIT_VALUE, /* a value of a script's metric, shown with all its digits */
    FIGURE_UNITS,
};

/* Groups of figures that the page shows together. If the first figure of a group has FIGURE_TOTAL,
 * it is the total of the others. */
enum figure_group {
    FIGURE_GROUP_NONE,
    FIGURE_GROUP_HEADLINE, /* main figures, shown for every run that has them */
    FIGURE_GROUP_SESSIONS,
    FIGURE_GROUP_ROWS,
    FIGURE_GROUP_BATCHES,
    FIGURE_GROUP_TRANSACTIONS, /* counts of transactions, with a script */
    FIGURE_GROUP_VERIFIED, /* counts of the checks that the rows are in the table and were visible
                              to reads */
};

/* The direction in which a figure is better. */
enum figure_better {
    FIGURE_NEITHER,
    FIGURE_HIGH,
    FIGURE_LOW,
    FIGURE_TOTAL, /* a total of other counts */
};

/*
 * F(id, key, path, unit, better)            a figure
 * H(id, key, path, label, unit, better)     a headline
 * L(id, key, path, label, group, better)    a count that a page shows in a group
 *   key    column of summary.csv; NULL: the figure is in run.json only
 *   path   members of run.json that have the figure, "section.name", separated by blanks; "section"
 *          alone if the name is the key; "": the figure is in summary.csv only
 * C(id, where, name, metric[, help[, selector]])
 *   a counter of the recorder (RECORDER_id), the member `name` of "counters"
 *   where  COLUMN: `name` is also the key; MEMBER: the counter has no key
 *   metric, help, selector: name, help and labels of the counter in Prometheus; help NULL: the help
 *          of the row above
 * K(id, key, path, label, group, better, metric[, help[, selector]])
 *   a figure whose value is a counter; no other code fills it
 */
/* clang-format off */
#define FIGURE_TABLE(F, H, L, C, K) \
    F(ADAPTER, "adapter", "", TEXT, NEITHER) \
    F(TARGET, "target", "", TEXT, NEITHER) \
    L(SESSIONS, "sessions", "", "requested", SESSIONS, TOTAL) \
    F(RECORDS, "records", "", COUNT, NEITHER) \
    F(CPUS, NULL, "resources.cpus", COUNT, NEITHER) \
    H(MAX_CPU_PERCENT, "max_cpu_percent", "figures resources.max_host_cpu_percent", "Maximum CPU", \
      PERCENT, LOW) \
    H(MAX_MEMORY_MIB, "max_memory_mib", "figures", "Maximum memory", MIB, LOW) \
    H(ELAPSED_S, "elapsed_s", "figures times", "Elapsed time", S, LOW) \
    H(THROUGHPUT_ROWS_PER_S, "throughput_rows_per_s", "figures", "Throughput", ROWS_PER_S, HIGH) \
    F(CONNECT_S, "connect_s", "times", S, LOW) \
    F(APPEND_S, "append_s", "times", S, LOW) \
    F(DISCONNECT_S, "disconnect_s", "times", S, LOW) \
    F(APPEND_ROWS_PER_S, "append_rows_per_s", "figures", ROWS_PER_S, HIGH) \
    F(MAX_SERVER_CPU_PERCENT, "max_server_cpu_percent", "resources", PERCENT, LOW) \
    F(MAX_CLIENT_CPU_PERCENT, "max_client_cpu_percent", "resources", PERCENT, LOW) \
    F(SERVER_CPU_PERCENT_AT_MAX, "server_cpu_percent_at_max", "resources", PERCENT, NEITHER) \
    F(CLIENT_CPU_PERCENT_AT_MAX, "client_cpu_percent_at_max", "resources", PERCENT, NEITHER) \
    F(OTHER_CPU_PERCENT_AT_MAX, "other_cpu_percent_at_max", "resources", PERCENT, NEITHER) \
    F(MEAN_HOST_CPU_PERCENT, NULL, "resources.mean_host_cpu_percent", PERCENT, LOW) \
    F(MEAN_SERVER_CPU_PERCENT, NULL, "resources.mean_server_cpu_percent", PERCENT, LOW) \
    F(MEAN_CLIENT_CPU_PERCENT, NULL, "resources.mean_client_cpu_percent", PERCENT, LOW) \
    F(MEAN_OTHER_CPU_PERCENT, NULL, "resources.mean_other_cpu_percent", PERCENT, LOW) \
    F(CLIENT_BOUND, NULL, "resources.client_bound", TEXT, NEITHER) \
    F(MEMORY_SOURCE, "memory_source", "", TEXT, NEITHER) \
    F(MEMORY_KIND, NULL, "resources.memory_source", TEXT, NEITHER) \
    F(MAX_SERVER_MEMORY_BYTES, NULL, "resources.max_server_memory_bytes", COUNT, LOW) \
    F(MAX_SERVER_PROCESSES, NULL, "resources.max_server_processes", COUNT, NEITHER) \
    F(SERVER_PID, NULL, "resources.server_pid", ID, NEITHER) \
    F(SERVER_NAME, NULL, "resources.server_name", TEXT, NEITHER) \
    F(SERVER_NOTE, NULL, "resources.server_note", TEXT, NEITHER) \
    F(MAX_CLIENT_MEMORY_MIB, "max_client_memory_mib", "", MIB, LOW) \
    F(MAX_CLIENT_MEMORY_BYTES, NULL, "resources.max_client_memory_bytes", COUNT, LOW) \
    F(CLIENT_CPU_S, "client_cpu_s", "resources", S, LOW) \
    F(SERVER_CPU_S, "server_cpu_s", "resources", S, LOW) \
    F(SERVER_CPU_US_PER_ROW, "server_cpu_us_per_row", "resources", US_PER_ROW, LOW) \
    F(SUSPENDED_S, "suspended_s", "resources", S, LOW) \
    /* DEVICE_...: I/O of the data directory's device, from the start of the sessions' work to the
     * last answer (measure/io.h) */ \
    /* SERVER_...: system calls of the server's processes and the bytes in them; STORAGE_...: the
     * bytes that reached storage */ \
    F(DATA_DIRECTORY, "data_directory", "io", TEXT, NEITHER) \
    F(DEVICE, "device", "io", TEXT, NEITHER) \
    F(DEVICE_READ_MIB, "device_read_mib", "io", MIB, LOW) \
    F(DEVICE_WRITTEN_MIB, "device_written_mib", "io", MIB, LOW) \
    F(DEVICE_READS, "device_reads", "io", COUNT, LOW) \
    F(DEVICE_WRITES, "device_writes", "io", COUNT, LOW) \
    F(DEVICE_FLUSHES, "device_flushes", "io", COUNT, LOW) \
    F(DEVICE_READ_MS, "device_read_ms", "io", MS, LOW) \
    F(DEVICE_WRITE_MS, "device_write_ms", "io", MS, LOW) \
    F(DEVICE_FLUSH_MS, "device_flush_ms", "io", MS, LOW) \
    F(DEVICE_QUEUE, "device_queue", "io", RATIO, NEITHER) \
    F(DEVICE_BUSY_PERCENT, "device_busy_percent", "io", PERCENT, LOW) \
    F(MAX_DEVICE_BUSY_PERCENT, "max_device_busy_percent", "io", PERCENT, LOW) \
    F(SERVER_READ_MIB, "server_read_mib", "io", MIB, LOW) \
    F(SERVER_WRITTEN_MIB, "server_written_mib", "io", MIB, LOW) \
    F(SERVER_READ_CALLS, "server_read_calls", "io", COUNT, LOW) \
    F(SERVER_WRITE_CALLS, "server_write_calls", "io", COUNT, LOW) \
    F(STORAGE_SOURCE, "storage_source", "io", TEXT, NEITHER) \
    F(STORAGE_READ_MIB, "storage_read_mib", "io", MIB, LOW) \
    F(STORAGE_WRITTEN_MIB, "storage_written_mib", "io", MIB, LOW) \
    F(IOWAIT_PERCENT, "iowait_percent", "io", PERCENT, LOW) \
    F(IO_PRESSURE_PERCENT, "io_pressure_percent", "io", PERCENT, LOW) \
    F(CPU_PRESSURE_PERCENT, "cpu_pressure_percent", "io", PERCENT, LOW) \
    F(MEMORY_PRESSURE_PERCENT, "memory_pressure_percent", "io", PERCENT, LOW) \
    F(IO_NOTE, NULL, "io.note", TEXT, NEITHER) \
    /* TABLE_MIB_...: size of the run's tables and indexes; DISK_BYTES_PER_ROW: this size divided by
     * the number of rows in the tables */ \
    /* WRITE_AMPLIFICATION: bytes written to the device / bytes of the values of acknowledged rows */ \
    F(TABLE_MIB_BEFORE, "table_mib_before", "io", MIB, NEITHER) \
    F(TABLE_MIB_AFTER, "table_mib_after", "io", MIB, LOW) \
    F(DISK_BYTES_PER_ROW, "disk_bytes_per_row", "io", BYTES_PER_ROW, LOW) \
    F(WRITE_AMPLIFICATION, "write_amplification", "io", RATIO, LOW) \
    F(SESSIONS_REQUESTED, NULL, "sessions.requested", COUNT, TOTAL) \
    L(SESSIONS_CONNECTED, "sessions_connected", "sessions.connected", "connected", SESSIONS, \
      TOTAL) \
    L(SESSIONS_REFUSED, "sessions_refused", "sessions.refused", "refused", SESSIONS, LOW) \
    L(SESSIONS_TIMED_OUT, "sessions_timed_out", "sessions.timed_out", "timed out", SESSIONS, LOW) \
    L(SESSIONS_NOT_STARTED, "sessions_not_started", "sessions.not_started", "not started", \
      SESSIONS, NEITHER) \
    L(SESSIONS_FINISHED, "sessions_finished", "sessions.finished", "finished", SESSIONS, HIGH) \
    L(SESSIONS_STOPPED, "sessions_stopped", "sessions.stopped", "stopped", SESSIONS, NEITHER) \
    L(SESSIONS_DROPPED, "sessions_dropped", "sessions.dropped", "dropped", SESSIONS, LOW) \
    F(SESSIONS_BALANCE, NULL, "sessions.balances", FLAG, NEITHER) \
    L(ROWS_PLANNED, "rows_planned", "rows.planned", "planned", ROWS, TOTAL) \
    L(ROWS_ACKNOWLEDGED, "rows_acknowledged", "rows.acknowledged", "acknowledged", ROWS, HIGH) \
    L(ROWS_REJECTED, "rows_rejected", "rows.rejected", "rejected", ROWS, LOW) \
    L(ROWS_IN_DOUBT, "rows_in_doubt", "rows.in_doubt", "in doubt", ROWS, LOW) \
    L(ROWS_NOT_SENT, "rows_not_sent", "rows.not_sent", "not sent", ROWS, NEITHER) \
    F(ROWS_BALANCE, NULL, "rows.balances", FLAG, NEITHER) \
    /* true = ROWS and TRANSACTIONS are lower bounds, because a lost process (rank) did not report
     * its last work */ \
    F(ROWS_AT_LEAST, NULL, "rows.are_at_least transactions.are_at_least", FLAG, NEITHER) \
    F(VERIFICATION, "verification", "verification.state", TEXT, NEITHER) \
    F(VERIFICATION_REASON, NULL, "verification.reason", TEXT, NEITHER) \
    L(ROWS_BEFORE, "rows_before", "verification", "in the table before", VERIFIED, NEITHER) \
    L(ROWS_AFTER, "rows_after", "verification", "in the table after", VERIFIED, NEITHER) \
    L(ROWS_LOST, "rows_lost", "verification.lost", "acknowledged rows lost, at least", VERIFIED, \
      LOW) \
    L(ROWS_LOST_AT_MOST, "rows_lost_at_most", "verification.lost_at_most", \
      "acknowledged rows lost, at most", VERIFIED, LOW) \
    L(ROWS_IN_DOUBT_ARRIVED, "rows_in_doubt_arrived", "verification.in_doubt_arrived", \
      "rows in doubt that arrived", VERIFIED, NEITHER) \
    L(ROWS_REJECTED_ARRIVED, "rows_rejected_arrived", "verification.rejected_arrived", \
      "rejected rows that arrived", VERIFIED, LOW) \
    L(ROWS_SURPLUS, "rows_surplus", "verification.surplus", "rows of another writer", VERIFIED, \
      LOW) \
    F(IS_SHRUNK, NULL, "verification.is_shrunk", FLAG, NEITHER) \
    F(VERIFICATION_NOTE, NULL, "verification.note", TEXT, NEITHER) \
    F(ROW_VERIFICATION, "row_verification", "row_verification.state", TEXT, NEITHER) \
    F(ROW_VERIFICATION_REASON, NULL, "row_verification.reason", TEXT, NEITHER) \
    F(VERIFIED_READ, NULL, "row_verification.read", COUNT, NEITHER) \
    L(VERIFIED_PRESENT, "verified_present", "row_verification.present", \
      "read back: acknowledged and present", VERIFIED, NEITHER) \
    L(VERIFIED_LOST, "verified_lost", "row_verification.lost", "read back: acknowledged and lost", \
      VERIFIED, LOW) \
    F(VERIFIED_SESSIONS_LOST, NULL, "row_verification.sessions_lost", COUNT, LOW) \
    L(VERIFIED_IN_DOUBT_PRESENT, "verified_in_doubt_present", "row_verification.in_doubt_present", \
      "read back: in doubt and present", VERIFIED, NEITHER) \
    L(VERIFIED_REJECTED_PRESENT, "verified_rejected_present", "row_verification.rejected_present", \
      "read back: rejected and present", VERIFIED, LOW) \
    L(VERIFIED_DUPLICATES, "verified_duplicates", "row_verification.duplicates", \
      "read back: duplicates", VERIFIED, LOW) \
    L(VERIFIED_FOREIGN, "verified_foreign", "row_verification.foreign", "read back: foreign", \
      VERIFIED, LOW) \
    /* CONNECTED: sessions that connected at least once; ENDED: those of them that have ended */ \
    /* DROPPED: ended by a lost connection or a fatal error; FAILED: sessions refused or timed
     * out */ \
    C(SESSIONS_CONNECTED, MEMBER, "sessions_connected", "append_sessions_connected_total", \
      "Sessions that connected.") \
    C(SESSIONS_ENDED, MEMBER, "sessions_ended", NULL) \
    C(SESSIONS_DROPPED, MEMBER, "sessions_dropped", "append_sessions_dropped_total", \
      "Sessions that ended by a lost connection or a fatal error.") \
    C(SESSIONS_FAILED, MEMBER, "sessions_failed", "append_sessions_failed_total", \
      "Sessions that were refused or timed out.") \
    /* failed tries to connect: first connects, and reconnects after a loss or with --churn */ \
    C(CONNECTS_FAILED, MEMBER, "connects_failed", NULL) \
    /* OPENED: connections opened by first connects and reconnects; CLOSED: connections closed by
     * this program, or lost */ \
    C(CONNECTIONS_OPENED, MEMBER, "connections_opened", NULL) \
    C(CONNECTIONS_CLOSED, MEMBER, "connections_closed", NULL) \
    C(ROWS_ACKNOWLEDGED, MEMBER, "rows_acknowledged", "append_rows_total", \
      "Rows by outcome.", "outcome=\"acknowledged\"") \
    C(ROWS_REJECTED, MEMBER, "rows_rejected", "append_rows_total", NULL, "outcome=\"rejected\"") \
    C(ROWS_IN_DOUBT, MEMBER, "rows_in_doubt", "append_rows_total", NULL, "outcome=\"in_doubt\"") \
    /* bytes of acknowledged values, estimated from the mean row of each session's first batch */ \
    C(ROW_BYTES, MEMBER, "row_bytes", NULL) \
    /* CHECKS: reads whose count of rows was compared with the number of the session's own rows */ \
    /* BEHIND: checks with fewer rows than the rows before the run plus the session's acknowledged
     * rows */ \
    /* BACKWARD: checks with fewer rows than an earlier check of the session */ \
    K(FRESH_CHECKS, "fresh_checks", "freshness.checks counters", "reads checked against rows of their own session", \
      VERIFIED, NEITHER, NULL) \
    K(FRESH_BEHIND, "fresh_behind", "freshness.behind counters", "reads that missed rows of their own session", VERIFIED, \
      LOW, NULL) \
    K(FRESH_BACKWARD, "fresh_backward", "freshness.backward counters", \
      "reads that went backwards", VERIFIED, LOW, NULL) \
    F(WORST_LAG_ROWS, "worst_lag_rows", "freshness", COUNT, LOW) \
    /* answered batches: acknowledged or rejected */ \
    C(APPENDS, COLUMN, "appends", "append_batches_total", "Batches that were answered.") \
    C(APPENDS_FAILED, COLUMN, "appends_failed", "append_batches_failed_total", \
      "Batches that were rejected or lost.") \
    C(APPENDS_LOST, MEMBER, "appends_lost", NULL) /* batches without an answer; also counted in APPENDS_FAILED */ \
    C(READS, COLUMN, "reads", "append_reads_total", "Reads that succeeded.") \
    C(READS_FAILED, COLUMN, "reads_failed", "append_reads_failed_total", "Reads that failed.") \
    C(BUSY_RETRIES, COLUMN, "busy_retries", "append_busy_retries_total", \
      "Batches begun again because the database was busy.") \
    /* connections that ended without being closed by this program, and failed reconnects of
     * --churn */ \
    C(CONNECTIONS_LOST, COLUMN, "connections_lost", "append_connections_lost_total", \
      "Connections that were lost.") \
    C(RECONNECTS, COLUMN, "reconnects", "append_reconnects_total", \
      "Reconnects after a lost connection.") \
    C(RECONNECTS_FAILED, COLUMN, "reconnects_failed", "append_reconnects_failed_total", \
      "Failed tries to reconnect after a loss.") \
    C(CHURNS, COLUMN, "churns", "append_churns_total", \
      "Connections that append closed and opened again: --churn, --stage-disconnect.") \
    /* batches that a read-only server refused and that were then sent again */ \
    C(REFUSALS, COLUMN, "refusals", "append_refusals_total", \
      "Batches refused by a read-only server and sent again.") \
    C(TIMEOUTS, COLUMN, "timeouts", "append_timeouts_total", "Calls cut off by --timeout.") \
    F(BATCHES_LATE, "batches_late", "counters", COUNT, LOW) \
    L(BATCHES_DUE, "batches_due", "batches.due", "due", BATCHES, TOTAL) \
    L(BATCHES_SENT, "batches_sent", "batches.sent", "sent", BATCHES, HIGH) \
    L(BATCHES_NOT_SENT, "batches_not_sent", "batches.not_sent", "not sent", BATCHES, LOW) \
    /* batches without an answer: their response time is a lower bound */ \
    C(RESPONSES_UNANSWERED, COLUMN, "responses_unanswered", NULL) \
    /* ON_CPU, RUN_QUEUE: time that session threads ran on a CPU, and waited for a CPU; added when
     * the session ends */ \
    /* SESSION_NS: time from the common start of all sessions to the session's end; added when the
     * session ends */ \
    C(ON_CPU_NS, MEMBER, "on_cpu_ns", NULL) \
    C(RUN_QUEUE_NS, MEMBER, "run_queue_ns", NULL) \
    C(SESSION_NS, MEMBER, "session_ns", NULL) \
    F(RATE_ACHIEVED_PERCENT, "rate_achieved_percent", "figures", PERCENT, HIGH) \
    /* The figures from here to SCRIPT_PERCENT are unknown without a script. */ \
    /* WORKLOAD to PARAMS describe the script; the other figures are counts and times of
     * transactions. */ \
    F(WORKLOAD, "workload", "workload.name", TEXT, NEITHER) \
    F(WORKLOAD_HASH, "workload_hash", "workload.hash", TEXT, NEITHER) \
    F(PARAMS, "params", "", TEXT, NEITHER) \
    /* from here to SCRIPT_PERCENT: figures of transactions (see figure_needs_script) */ \
    K(TRANSACTIONS_BEGUN, "transactions_begun", "transactions.begun counters", "begun", \
      TRANSACTIONS, TOTAL, "append_transactions_begun_total", \
      "Transactions that were begun; retries do not count.") \
    K(TRANSACTIONS_COMMITTED, "transactions_committed", "transactions.committed counters", \
      "committed", TRANSACTIONS, HIGH, "append_transactions_total", \
      "Transactions by outcome.", "outcome=\"committed\"") \
    /* transactions that the script rolled back */ \
    K(TRANSACTIONS_ROLLED_BACK, "transactions_rolled_back", "transactions.rolled_back counters", \
      "rolled back", TRANSACTIONS, NEITHER, "append_transactions_total", NULL, \
      "outcome=\"rolled_back\"") \
    K(TRANSACTIONS_FAILED, "transactions_failed", "transactions.failed counters", "failed", \
      TRANSACTIONS, LOW, "append_transactions_total", NULL, "outcome=\"failed\"") \
    K(TRANSACTIONS_IN_DOUBT, "transactions_in_doubt", "transactions.in_doubt counters", "in doubt", \
      TRANSACTIONS, LOW, "append_transactions_total", NULL, "outcome=\"in_doubt\"") \
    /* transactions that the end of the run interrupted; neither the database nor the script caused
     * this */ \
    K(TRANSACTIONS_UNFINISHED, "transactions_unfinished", "transactions.unfinished counters", \
      "unfinished", TRANSACTIONS, NEITHER, "append_transactions_total", NULL, \
      "outcome=\"unfinished\"") \
    /* failed = exhausted + refused + lost; exhausted: failed in each of the allowed tries */ \
    /* refused: failed with an error that a retry does not help; lost: the connection was lost
     * before COMMIT was sent */ \
    K(TRANSACTIONS_EXHAUSTED, NULL, "transactions.exhausted", NULL, NONE, LOW, NULL) \
    K(TRANSACTIONS_REFUSED, NULL, "transactions.refused", NULL, NONE, LOW, NULL) \
    K(TRANSACTIONS_LOST, NULL, "transactions.lost", NULL, NONE, LOW, NULL) \
    /* failed transactions with an acknowledged write that cannot be undone */ \
    K(TRANSACTIONS_PARTIAL, "transactions_partial", "transactions.partial counters", NULL, NONE, \
      LOW, NULL) \
    F(TRANSACTIONS_BALANCE, NULL, "transactions.balances", FLAG, NEITHER) \
    /* tries = begun + retries; there is a count of retries for each reason why the previous try
     * failed */ \
    K(TRIES, "tries", "transactions counters", NULL, NONE, NEITHER, \
      "append_transaction_tries_total", "Tries of transactions.") \
    F(RETRIES, "retries", "transactions", COUNT, LOW) \
    K(RETRIES_DEADLOCK, "retries_deadlock", "transactions counters", NULL, NONE, LOW, \
      "append_transaction_retries_total", "Retries of transactions by cause.", \
      "cause=\"deadlock\"") \
    K(RETRIES_SERIALIZATION, "retries_serialization", "transactions counters", NULL, NONE, LOW, \
      "append_transaction_retries_total", NULL, "cause=\"serialization\"") \
    K(RETRIES_BUSY, "retries_busy", "transactions counters", NULL, NONE, LOW, \
      "append_transaction_retries_total", NULL, "cause=\"busy\"") \
    /* retries after a violation of a unique key, if the script asks for such retries */ \
    K(RETRIES_DUPLICATE, "retries_duplicate", "transactions counters", NULL, NONE, LOW, \
      "append_transaction_retries_total", NULL, "cause=\"duplicate\"") \
    /* with a rate: due + not due = begun + skipped + not begun; SKIPPED: not begun because of
     * --late */ \
    /* NOT_DUE: transactions begun without a due time, if only some transactions have a rate */ \
    /* LATE: transactions begun more than 100 ms after their due time; BATCHES_LATE: the same count
     * of batches, for runs without a script */ \
    K(TRANSACTIONS_DUE, NULL, "transactions.due", NULL, NONE, NEITHER, NULL) \
    K(TRANSACTIONS_NOT_DUE, NULL, "transactions.not_due", NULL, NONE, NEITHER, NULL) \
    K(SKIPPED, "skipped", "transactions counters.transactions_skipped", NULL, NONE, LOW, \
      "append_transactions_skipped_total", "Transactions skipped by --late.") \
    K(TRANSACTIONS_NOT_BEGUN, NULL, "transactions.not_begun", NULL, NONE, LOW, NULL) \
    K(LATE, "late", "transactions counters.transactions_late", NULL, NONE, LOW, NULL) \
    /* committed transactions / working time after the warm-up */ \
    H(TRANSACTIONS_PER_S, "transactions_per_s", "figures", "Transactions", PER_S, HIGH) \
    F(STATEMENTS_PER_S, "statements_per_s", "figures", PER_S, HIGH) \
    /* WRITES, OTHERS: answered statements that are not reads, divided by their first word */ \
    /* OTHERS includes BEGIN, COMMIT and ROLLBACK */ \
    K(WRITES, "writes", "transactions counters", NULL, NONE, NEITHER, "append_writes_total", \
      "Successful writes by a script.") \
    K(OTHERS, "others", "transactions counters", NULL, NONE, NEITHER, \
      "append_other_statements_total", \
      "Other statements by a script, BEGIN and COMMIT included.") \
    K(CHECKS, NULL, "transactions.checks counters.checks", NULL, NONE, NEITHER, \
      "append_checks_total", "Checks that a script made.") \
    K(CHECKS_FAILED, "checks_failed", "transactions counters", NULL, NONE, LOW, \
      "append_checks_failed_total", "Failed checks of scripts.") \
    /* the invariants that the script declares for its tables; unknown if it declares no
     * invariants */ \
    F(INVARIANTS_CHECKED, "invariants_checked", "transactions", COUNT, NEITHER) \
    F(INVARIANTS_BROKEN, "invariants_broken", "transactions", COUNT, LOW) \
    C(FOUND, MEMBER, "found", NULL) \
    C(NOT_FOUND, MEMBER, "not_found", NULL) \
    F(FOUND_PERCENT, "found_percent", "transactions", PERCENT, HIGH) \
    /* rows that committed transactions added and removed, also during the warm-up */ \
    F(ROWS_ADDED, "rows_added", "transactions", COUNT, NEITHER) \
    F(ROWS_TAKEN, "rows_taken", "transactions", COUNT, NEITHER) \
    /* TRY_NS: time of all tries; SCRIPT_NS: this time without adapter calls and think time */ \
    C(TRY_NS, MEMBER, "try_ns", NULL) \
    C(SCRIPT_NS, MEMBER, "script_ns", NULL) \
    F(SCRIPT_PERCENT, "script_percent", "transactions", PERCENT, LOW) \
    /* summary.csv has the columns of the operations between SCRIPT_PERCENT and IDLE_SESSIONS */ \
    F(IDLE_SESSIONS, "idle_sessions", "", COUNT, NEITHER) \
    F(FAIRNESS_SESSIONS, NULL, "fairness.sessions", COUNT, NEITHER) \
    F(SLOWEST_SESSION, "slowest_session", "fairness", ID, NEITHER) \
    F(SLOWEST_ROWS_PER_S, "slowest_rows_per_s", "fairness", ROWS_PER_S, HIGH) \
    F(FASTEST_SESSION, "fastest_session", "fairness", ID, NEITHER) \
    F(FASTEST_ROWS_PER_S, "fastest_rows_per_s", "fairness", ROWS_PER_S, HIGH) \
    F(LONGEST_GAP_SESSION, "longest_gap_session", "fairness", ID, NEITHER) \
    F(LONGEST_GAP_MS, "longest_gap_ms", "fairness", MS, LOW) \
    /* figures of --io-trace. With TRACE_LEVEL "requests", READS and WRITES count block requests,
     * and FSYNCS counts flushes */ \
    F(TRACE_LEVEL, "trace_level", "io_trace.level", TEXT, NEITHER) \
    F(TRACE_NOTE, NULL, "io_trace.note", TEXT, NEITHER) \
    F(TRACE_READS, "trace_reads", "io_trace.reads", COUNT, NEITHER) \
    F(TRACE_WRITES, "trace_writes", "io_trace.writes", COUNT, NEITHER) \
    F(TRACE_FSYNCS, "trace_fsyncs", "io_trace.fsyncs", COUNT, NEITHER) \
    F(TRACE_WAL_FSYNCS, "trace_wal_fsyncs", "io_trace.wal_fsyncs", COUNT, NEITHER) \
    F(TRACE_READ_MIB, "trace_read_mib", "io_trace.read_mib", MIB, LOW) \
    F(TRACE_WRITTEN_MIB, "trace_written_mib", "io_trace.written_mib", MIB, LOW) \
    F(TRACE_READ_P99_MS, "trace_read_p99_ms", "io_trace.read_p99_ms", MS, LOW) \
    F(TRACE_WRITE_P99_MS, "trace_write_p99_ms", "io_trace.write_p99_ms", MS, LOW) \
    F(TRACE_FSYNC_P99_MS, "trace_fsync_p99_ms", "io_trace.fsync_p99_ms", MS, LOW) \
    F(TRACE_FSYNC_MEAN_MS, "trace_fsync_mean_ms", "io_trace.fsync_mean_ms", MS, LOW) \
    /* the parts of the mean time of an fsync: mean = vfs + queue + device */ \
    F(TRACE_FSYNC_VFS_MS, "trace_fsync_vfs_ms", "io_trace.fsync_vfs_ms", MS, LOW) \
    F(TRACE_FSYNC_QUEUE_MS, "trace_fsync_queue_ms", "io_trace.fsync_queue_ms", MS, LOW) \
    F(TRACE_FSYNC_DEVICE_MS, "trace_fsync_device_ms", "io_trace.fsync_device_ms", MS, LOW) \
    F(TRACE_REQUESTS, "trace_requests", "io_trace.requests", COUNT, NEITHER) \
    F(TRACE_WRITEBACK_REQUESTS, "trace_writeback_requests", "io_trace.writeback_requests", COUNT, \
      NEITHER) \
    F(TRACE_WRITEBACK_MIB, "trace_writeback_mib", "io_trace.writeback_mib", MIB, LOW) \
    F(TRACE_JOURNAL_REQUESTS, "trace_journal_requests", "io_trace.journal_requests", COUNT, \
      NEITHER) \
    F(TRACE_LOST, "trace_lost", "io_trace.lost", COUNT, LOW) \
    F(TRACE_OPEN, "trace_open", "io_trace.open", COUNT, NEITHER) \
    /* cost of the trace: CPU time of the thread that reads the trace, and of the BPF programs in
     * the kernel */ \
    F(TRACE_CPU_S, "trace_cpu_s", "io_trace.cpu_s", S, LOW) \
    F(TRACE_KERNEL_CPU_S, "trace_kernel_cpu_s", "io_trace.kernel_cpu_s", S, LOW) \
    F(METHOD, "method", "", TEXT, NEITHER) \
    F(ENGINE, "engine", "", TEXT, NEITHER) \
    F(NOTE, "note", "", TEXT, NEITHER) \
    F(STOP_REASON, "stop_reason", "outcome", TEXT, NEITHER) \
    F(VERDICT, "verdict", "outcome", WORD, LOW) \
    F(VERDICT_REASON, "verdict_reason", "outcome", TEXT, NEITHER) \
    F(EXIT_CODE, "exit_code", "outcome", ID, NEITHER) \
    F(EXIT_REASON, "exit_reason", "outcome", TEXT, NEITHER) \
    F(FIRST_LIMIT, "first_limit", "", TEXT, NEITHER) \
    F(FIRST_LIMIT_SIDE, "first_limit_side", "", TEXT, NEITHER) \
    F(FIRST_LIMIT_SESSIONS, "first_limit_sessions", "", COUNT, LOW) \
    F(STARTED_UTC, "started_utc", "times", TEXT, NEITHER)

/*
 * X(id, name, place, when, series, metric, help)
 *   place   position of the operation's columns among the columns of all operations, from 0
 *   series  INTERVALS: intervals.csv has the operation's percentiles for each interval; TOTALS:
 *           intervals.csv does not have the operation's percentiles
 */
#define OPERATION_TABLE(X) \
    /* a session's first open, if successful: from call to return */ \
    X(CONNECT, "connect", 2, ALWAYS, TOTALS, \
      "append_connect_duration_seconds", "Time of a session's first connect.") \
    /* an acknowledged batch: from the start of the first try to the acknowledgement, including the
     * pauses between tries */ \
    X(APPEND, "append", 0, ALWAYS, INTERVALS, "append_batch_duration_seconds", \
      "Time from opening an append of one batch to its acknowledgement.") \
    /* a batch: from its due time to its acknowledgement, or until this program gave the batch up
     * (the true response time is then longer); with a script, a committed transaction: from its due
     * time to the answer to COMMIT, without think time */ \
    X(RESPONSE, "response", 3, WITH_RATE, TOTALS, "append_response_duration_seconds", \
      "Time from when a batch or transaction was due until its answer, or until append gave up.") \
    /* a count or query that succeeds: from call to return */ \
    X(READ, "read", 1, ALWAYS, INTERVALS, "append_read_duration_seconds", "Time of a read.") \
    /* a successful open after a loss or with --churn: from call to return */ \
    /* The first connects are timed separately, as CONNECT, because all sessions make them at the
     * same time. */ \
    X(RECONNECT, "reconnect", 4, RECONNECTING, TOTALS, "append_reconnect_duration_seconds", \
      "Time of a connect after a loss or a churn.") \
    /* from the detection of a lost connection until the session can append again */ \
    /* Includes pauses and failed tries to reconnect. */ \
    X(RECOVER, "recover", 5, RECOVERING, TOTALS, "append_recover_duration_seconds", \
      "Time from the loss of a connection until the session could append again.") \
    /* a committed transaction: from the call of its first BEGIN to the answer to COMMIT */ \
    /* Includes all tries and back-off, but no think time. */ \
    X(TRANSACTION, "transaction", 6, WITH_SCRIPT, INTERVALS, \
      "append_transaction_duration_seconds", \
      "Time from a transaction's first begin to its commit.") \
    /* a committed transaction: from its last try's BEGIN to COMMIT's answer, without think time */ \
    X(TRY, "try", 7, WITH_SCRIPT, TOTALS, "append_try_duration_seconds", \
      "Time from the beginning of a transaction's latest try to its commit.") \
    /* BEGIN, COMMIT and ROLLBACK that this program sends for a script's transaction: until the
     * answer */ \
    /* Only calls that succeed are timed. */ \
    X(BEGIN, "begin", 8, WITH_SCRIPT, TOTALS, "append_begin_duration_seconds", \
      "Time of a transaction's BEGIN.") \
    X(COMMIT, "commit", 9, WITH_SCRIPT, TOTALS, "append_commit_duration_seconds", \
      "Time of a transaction's COMMIT.") \
    X(ROLLBACK, "rollback", 10, WITH_SCRIPT, TOTALS, "append_rollback_duration_seconds", \
      "Time of a transaction's ROLLBACK.")
/* clang-format on */

#define FIGURE_AS_ID(id, ...) FIGURE_##id,
#define FIGURE_AS_COUNTER_ID(id, ...) FIGURE_COUNTER_##id,
enum figure_id {
    FIGURE_TABLE(FIGURE_AS_ID, FIGURE_AS_ID, FIGURE_AS_ID, FIGURE_AS_COUNTER_ID, FIGURE_AS_ID)
    FIGURES,
};

#define FIGURE_AS_NOTHING(...)
#define FIGURE_AS_COUNTER(id, ...) RECORDER_##id,
enum recorder_counter {
    FIGURE_TABLE(FIGURE_AS_NOTHING, FIGURE_AS_NOTHING, FIGURE_AS_NOTHING, FIGURE_AS_COUNTER,
                 FIGURE_AS_COUNTER)
    RECORDER_COUNTERS,
};

#define OPERATION_AS_ID(id, ...) OPERATION_##id,
enum operation_id {
    OPERATION_TABLE(OPERATION_AS_ID) OPERATIONS,
};

struct figure {
    const char *key;
    const char *path;
    const char *label; /* the name in reports; NULL if the figure is in no group */
    enum figure_unit unit;
    enum figure_group group;
    enum figure_better better;
    int counter; /* the counter with the figure's value (enum recorder_counter); -1 = the figure is
                    not a counter */
    const char *metric; /* name of the metric in Prometheus; NULL if the figure is not exported */
    const char *metric_help;
    const char *metric_selector;
};
extern const struct figure figure_table[FIGURES];

/* The property of a plan with which an operation occurs. */
enum operation_when {
    OPERATION_ALWAYS = 1,
    OPERATION_WITH_RATE = 2,
    OPERATION_RECONNECTING = 4, /* sessions reconnect, after a loss or with --churn */
    OPERATION_RECOVERING = 8,
    OPERATION_WITH_SCRIPT = 16,
};

enum operation_kind {
    OPERATION_IS_CALL, /* an operation of OPERATION_TABLE */
    OPERATION_IS_TRANSACTION,
    OPERATION_IS_READ,  /* a statement of the script that begins with "select", "show", … */
    OPERATION_IS_WRITE, /* a statement of the script that begins with "insert", "update", … */
    OPERATION_IS_OTHER, /* any other statement of the script */
};

struct operation {
    const char *name;
    enum operation_kind kind;
    unsigned place;
    enum operation_when when;
    bool is_series; /* intervals.csv has the operation's percentiles */
    const char *metric;
    const char *metric_help;
};

/*
 * The counts of an operation that a script names.
 *
 * S(id, name)           a count of a statement: sent = answered + refused + unanswered. ROWS: rows
 *                       that were returned or matched. EMPTY: answered reads and writes without a
 *                       row.
 * T(id, name, counter)  a count of a transaction. The counter RECORDER_counter is the sum of this
 *                       count over all transactions; the comment at that counter defines the count.
 *
 * The outcomes of a transaction are consecutive, COMMITTED to UNFINISHED; retries are last.
 */
#define COUNT_TABLE(S, T)                                                                          \
    S(SENT, "sent")                                                                                \
    S(ANSWERED, "answered")                                                                        \
    S(REFUSED, "refused")                                                                          \
    S(UNANSWERED, "unanswered")                                                                    \
    S(ROWS, "rows")                                                                                \
    S(EMPTY, "empty")                                                                              \
    T(BEGUN, "begun", TRANSACTIONS_BEGUN)                                                          \
    T(COMMITTED, "committed", TRANSACTIONS_COMMITTED)                                              \
    T(ROLLED_BACK, "rolled_back", TRANSACTIONS_ROLLED_BACK)                                        \
    T(FAILED, "failed", TRANSACTIONS_FAILED)                                                       \
    T(IN_DOUBT, "in_doubt", TRANSACTIONS_IN_DOUBT)                                                 \
    T(UNFINISHED, "unfinished", TRANSACTIONS_UNFINISHED)                                           \
    T(PARTIAL, "partial", TRANSACTIONS_PARTIAL)                                                    \
    T(TRIES, "tries", TRIES)                                                                       \
    T(RETRIES_DEADLOCK, "retries_deadlock", RETRIES_DEADLOCK)                                      \
    T(RETRIES_SERIALIZATION, "retries_serialization", RETRIES_SERIALIZATION)                       \
    T(RETRIES_BUSY, "retries_busy", RETRIES_BUSY)                                                  \
    T(RETRIES_DUPLICATE, "retries_duplicate", RETRIES_DUPLICATE)

#define COUNT_AS_ID(id, ...) COUNT_##id,
enum operation_count {
    COUNT_TABLE(COUNT_AS_ID, COUNT_AS_ID) OPERATION_COUNTS,
    COUNTS_OF_TRANSACTIONS = COUNT_BEGUN, /* the first count that only transactions have */
    COUNTS_OF_ENDS = COUNT_COMMITTED,     /* the first count of the outcomes of transactions;
                                             COUNTS_OF_ENDS_LAST is the last one */
    COUNTS_OF_ENDS_LAST = COUNT_UNFINISHED,
    COUNTS_OF_RETRIES = COUNT_RETRIES_DEADLOCK,
};
/* for each count from COUNT_BEGUN on, the counter that contains the sum of this count over all
 * transactions */
extern const enum recorder_counter operation_count_sums[OPERATION_COUNTS];
/* names of the counts: "sent", … */
extern const char *const operation_count_names[OPERATION_COUNTS];
extern const char *const operation_kind_names[]; /* names of the kinds: "transaction", "read", … */

/* A reported value of a latency distribution: a percentile, the mean or the maximum. */
struct figure_point {
    char key[12];          /* key in column names and JSON, "p999" */
    char title[12];        /* title for people, "p99.9" */
    double quantile;       /* 0 < quantile < 1; 0 = the mean; 1 = the maximum */
    bool is_in_files_only; /* the text report and the page do not show the point */
};

/* The reported points: the mean, percentiles in ascending order, the maximum. */
struct figure_points {
    size_t count;
    struct figure_point entries[FIGURE_POINTS_MAX];
};

/* Returns the points that the files of every run contain. */
struct figure_points figure_points_default(void);

/* Reads a percentile with its decimals, "99.9", up to the end or a comma. Returns the number of
 * characters, or 0 if the text is not a percentile from 1 to 99.9999. A percentile below 10 must be
 * a whole number, because 5.5 would have the same key as 55. */
size_t figure_point_parse(const char *text, struct figure_point *point);

/* Adds a percentile. If the list already has the percentile and point->is_in_files_only is false,
 * clears is_in_files_only of the existing entry. Returns false if the list is full. */
bool figure_points_add(struct figure_points *points, const struct figure_point *point);

/* Makes reports show the percentiles of a list, "50,90,99.9", instead of the default percentiles.
 * The files still contain the default percentiles. Returns false if a percentile is wrong or does
 * not fit into *points; *wrong then points to this percentile. */
bool figure_points_show(struct figure_points *points, const char *list, const char **wrong);

/* The operations of a plan: first the operations of OPERATION_TABLE, indexed by enum operation_id,
 * then the operations of the plan's script. */
struct operation_list {
    size_t count;
    struct operation entries[OPERATIONS_MAX];
    unsigned when;               /* bits of enum operation_when that apply to the plan */
    struct figure_points points; /* the points that are reported for each operation */
    bool has_waits; /* this program polls the server for waits, so the figures of each call include
                       shares of waits */
};

/* Keys of the classes of waits: "log" in the column append_waits_log_percent. */
extern const char *const figure_wait_keys[WAIT_CLASSES];

/* Returns the class with this key; WAIT_CLASSES for any other text. */
enum wait_class figure_wait_class(const char *key);

/* Returns the operations of OPERATION_TABLE. Sets `when` to OPERATION_ALWAYS. */
struct operation_list operation_list_all(void);

/* Adds a script's operation; `name` is borrowed. Returns false if the list is full. */
bool operation_list_add(struct operation_list *list, const char *name, enum operation_kind kind);

/* Writes the unique name of an operation: "append", "statement.insert", "transaction.transfer".
 * Returns `key`. */
const char *operation_key(const struct operation *operation, char key[FIGURE_KEY_BYTES]);

/* Returns the index in list->entries of the operation whose columns are at position `place` (from
 * 0) among the columns of all operations. The order of the columns differs from the order of the
 * list; see OPERATION_TABLE. */
size_t operation_at(const struct operation_list *list, size_t place);

/* Returns whether the operation can occur in a run of this plan. */
bool operation_is_used(const struct operation_list *list, size_t operation);

struct figure_value {
    bool is_known;
    uint64_t count; /* value of a figure with unit COUNT, ID or FLAG; for a counter, valid even if
                       is_known is false */
    double number;  /* value of a figure with any other unit; for WORD, the number that the word
                       stands for */
    /* value of a figure with unit TEXT or WORD; borrowed; NULL and "" = no text */
    const char *text;
};

struct figure_latency {
    uint64_t count; /* number of calls that were timed; 0 = the points are unknown */
    double points_ms[FIGURE_POINTS_MAX];
};

/* For each class of waits, the percentage of the time of an operation's calls that was spent in
 * these waits. */
struct figure_waits {
    bool is_known;
    double percents[WAIT_CLASSES];
};

/* A value for every figure. In a zeroed set all figures are unknown. */
struct figure_set {
    struct figure_value values[FIGURES];
    struct operation_list operations;
    struct figure_latency latencies[OPERATIONS_MAX];
    struct figure_waits waits[OPERATIONS_MAX];
    /* counts of each operation, borrowed; NULL if unknown */
    const uint64_t (*counts)[OPERATION_COUNTS];
    char started_utc[40];
    char note[160];
};

/* Stores a figure as a number in *value; for the unit WORD, the number that the word stands for.
 * Returns false if the figure is unknown or a text. */
bool figure_get(const struct figure_set *set, enum figure_id id, double *value);

/* Returns the text of a figure; "" if the figure has no text. */
const char *figure_text(const struct figure_set *set, enum figure_id id);

/* Returns whether the run appended rows in batches; always true without a script. A script may
 * write only with statements; its run then has no throughput in rows and no method. */
bool figure_has_rows(const struct figure_set *set);

/* A value with its name: a cell of a CSV file or a member of a JSON object. */
struct figure_cell {
    char key[FIGURE_KEY_BYTES];
    enum figure_unit unit;
    struct figure_value value;
};

/* Fills *cell with the next column of summary.csv. The caller sets *at to 0 before the first call.
 * Returns false after the last column. */
bool figure_next_cell(const struct figure_set *set, size_t *at, struct figure_cell *cell);

/* Fills *cell with the next figure of a script's operation: "sent", "p99_ms". The caller sets *at
 * to 0 before the first call. For a statement the counts of transactions are unknown; for a
 * transaction the counts of statements are unknown. Returns false after the last figure. */
bool figure_next_operation_cell(const struct figure_set *set, size_t operation, size_t *at,
                                struct figure_cell *cell);

/* figure_is_number returns whether figures of this unit are numbers or words that stand for
 * numbers. figure_is_whole returns whether they are whole numbers. */
bool figure_is_number(enum figure_unit unit);
bool figure_is_whole(enum figure_unit unit);

/* Formats a value for a CSV file, without quotes; "" if the value is unknown. Returns value->text
 * or `text`. Uses the decimal point of LC_NUMERIC. */
const char *figure_format(enum figure_unit unit, const struct figure_value *value,
                          char text[FIGURE_TEXT_BYTES]);

/* Returns the figure of the table that has this key; NULL for an unknown key, and for the columns
 * of operations, which are not in the table. */
const struct figure *figure_of_key(const char *key);

/* Returns whether only runs with a script have the figure, because it is about transactions. */
bool figure_needs_script(enum figure_id id);

/* Returns the unit of the figure with this key. If the key is not in the table, derives the unit
 * from the end of the key. */
enum figure_unit figure_unit_of(const char *key);

/* Return the text of the unit at the end of the key ("_rows_per_s", ""), and the text of the unit
 * after a number (" rows/s", " ms", " %", ""). */
const char *figure_suffix(const char *key);
const char *figure_unit(const char *key);

#endif
