#include "load/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/random.h"
#include "base/text.h"
#include "load/generator.h"
#include "load/server.h"
#include "load/task.h"

enum {
    TAGS = INT16_MAX + 1
};

/* A scan of the table, row by row. A run's rows are identified by run tag, session and row
 * number (n1, n2, n3, see load/generator.h). The scan needs one bit of memory for each row that
 * was sent. */
struct scan {
    const struct setup *setup;
    struct buffer sql;
    struct result *result;
    struct row_map *map; /* the rows that were found; NULL if only tags are read */
    bool is_used[TAGS];  /* for each tag, whether rows of the table have the tag */
};

static bool take_numbers(void *context, const int64_t *values)
{
    struct task *task = context;
    struct scan *scan = task->context;
    task_note_answer(task);
    if (scan->map != NULL) {
        row_map_add(scan->map, values[0], values[1], scan->result->session_list,
                    &scan->result->row_verification);
    } else if (values[0] > 0 && values[0] < TAGS) {
        scan->is_used[values[0]] = true;
    }
    return true;
}

static enum status read_numbers(struct task *task, struct adapter_conn *conn, struct error *error)
{
    const struct scan *scan = task->context;
    const struct ask_numbers numbers = {scan->map == NULL ? 1 : 2, take_numbers, task};
    return ask_numbers(task->plan->adapter, conn, buffer_text(&scan->sql), &numbers, error);
}

/* Reads the rows of the table on `host`. If is_of_host is true, no other host may be used
 * instead. */
static enum status read_table(const struct plan *plan, struct scan *scan, unsigned host,
                              bool is_of_host, const char *notice, struct error *error)
{
    const struct task task = {.work = read_numbers,
                              .host = host,
                              .is_of_host = is_of_host,
                              .context = scan,
                              .what = "the rows",
                              .notice = notice};
    const bool is_hasty = scan->result != NULL && scan->result->sessions_cut > 0;
    return task_run_again(task, scan->setup, plan, is_hasty, error);
}

enum exit_code verify_prepare(const struct setup *setup, const struct plan *plan,
                              struct facts *facts, struct error *error)
{
    enum {
        TRIES = 50 * TAGS /* number of random tags to try; if only one tag is free, all of them miss
                             it with probability e^-50 */
    };
    if (plan->verify_mode != VERIFY_ROWS) {
        return EXIT_CODE_OK;
    }
    if (ask_templates(&setup->connection)->tags == NULL) {
        return usage_refuse(
            error, "--verify rows: append cannot read rows back from %s: use --verify count",
            setup->connection.dialect);
    }
    if (!generator_identifies_rows(plan, &setup->own->table)) {
        return usage_refuse(
            error,
            "--verify rows identifies a row by the columns n1 smallint, n2 int and n3 bigint; "
            "table "
            "'%.100s' does not have them, or --values fills them: use --verify count",
            plan->table_name);
    }
    if (!setup_had_rows(setup)) {
        return EXIT_CODE_OK;
    }
    struct scan scan = {.setup = setup};
    enum status status = STATUS_FATAL;
    ask_write(&scan.sql, ask_templates(&setup->connection)->tags, &setup->connection,
              setup->own->table.name, &setup->own->table, facts->run_tag);
    if (buffer_failed(&scan.sql)) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a statement");
    } else {
        status = STATUS_OK;
        for (unsigned i = 0; i < setup->host_count && status == STATUS_OK; i++) {
            if (setup->hosts[i].rows_before[0] > 0) {
                status = read_table(plan, &scan, i, true,
                                    "looking for rows of earlier runs in the table", error);
            }
        }
    }
    buffer_fini(&scan.sql);
    const enum exit_code code = task_conclude(status, "the first session", error);
    if (code == EXIT_CODE_OK && plan->is_seed_given && scan.is_used[facts->run_tag]) {
        return usage_refuse(
            error,
            "--verify rows: table '%.100s' already has rows with the run tag of --seed "
            "%" PRIu64 " (n1 = %d): use another --seed, or --recreate",
            plan->table_name, facts->seed, facts->run_tag);
    }
    for (int i = 0; code == EXIT_CODE_OK && scan.is_used[facts->run_tag] && i < TRIES; i++) {
        facts_set_seed(facts, random_seed());
    }
    if (code == EXIT_CODE_OK && scan.is_used[facts->run_tag]) {
        return usage_refuse(
            error,
            "--verify rows: table '%.100s' has rows of every run tag (n1), so this run's rows "
            "cannot be distinguished: use --recreate",
            plan->table_name);
    }
    return code;
}

/* Reads the rows back. If the hosts are separate databases, reads from each host that was
 * counted. */
static enum status read_rows(const struct setup *setup, const struct plan *plan, struct scan *scan,
                             struct error *error)
{
    static const char notice[] = "reading back the rows of the run";
    const struct result *result = scan->result;
    if (result->host_count == 1 || result->are_hosts_one) {
        return read_table(plan, scan, setup->host, false, notice, error);
    }
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < result->host_count && status == STATUS_OK; i++) {
        if (result->hosts[i].is_counted) {
            status = read_table(plan, scan, i, true, notice, error);
        }
    }
    return status;
}

/* After the loss of a rank it is unknown which rows that rank has written. */
static const char unreported[] = "a rank was lost before it reported all rows that it wrote";

static void verify_rows(const struct setup *setup, const struct plan *plan, struct result *result)
{
    struct row_verification *verification = &result->row_verification;
    struct error error = {.kind = ERROR_NONE};
    verification->state = VERIFICATION_FAILED;
    if (result->stop_reason == STOP_RANK) {
        snprintf(verification->reason, sizeof verification->reason, "%s", unreported);
        return;
    }
    if (result->verification.state != VERIFICATION_DONE) {
        /* do not read rows back from a server that could not count them */
        memcpy(verification->reason, result->verification.reason, sizeof verification->reason);
        return;
    }
    bool lacks_exceptions = false;
    for (size_t i = 0; i < result->session_count; i++) {
        lacks_exceptions = lacks_exceptions || result->session_list[i].lacks_exceptions;
    }
    struct scan scan = {.setup = setup, .result = result};
    scan.map = row_map_create(result->session_list, result->session_count);
    /* a NULL is read as -1, which is not the number of a session, so such rows count as rows of
     * other writers */
    ask_write(&scan.sql, ask_templates(&setup->connection)->rows, &setup->connection,
              setup->own->table.name, &setup->own->table, plan->facts->run_tag);
    if (scan.map == NULL || buffer_failed(&scan.sql) || lacks_exceptions) {
        error_set(&error, ERROR_MEMORY, 0, NULL,
                  "out of memory for the map of the rows (1 bit a row)");
    } else if (read_rows(setup, plan, &scan, &error) == STATUS_OK) {
        row_map_evaluate(scan.map, result->session_list, verification);
        verification->state = VERIFICATION_DONE;
    }
    snprintf(verification->reason, sizeof verification->reason, "%s", error.text);
    row_map_destroy(scan.map);
    buffer_fini(&scan.sql);
}

/* Maximum time for the server to end sessions. It may be long, because MariaDB waits for the thread
 * of each session. */
#define END_CUT_NS (2 * MONO_NS_PER_S)

/* Ends at the server the sessions whose connections were cut. Tries each session once. A session
 * that cannot be ended in time is left to end by itself. */
static void end_cut_sessions(struct task *task, struct adapter_conn *conn)
{
    struct cut_list *list = task->setup->cut;
    struct session_name names[SESSION_NAMES_MAX];
    size_t count = 0;
    const int64_t limit_ns = task->limit_ns;
    const int64_t until_ns =
        mono_now_ns() + (limit_ns > 0 ? MIN(END_CUT_NS, limit_ns / 2) : END_CUT_NS);
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        struct cut_session *entry = &list->entries[i];
        if (entry->name.number > 0 && entry->host == task->host) {
            names[count++] = entry->name;
            entry->name.number = 0;
        }
        if ((count == SESSION_NAMES_MAX || (count > 0 && i + 1 == list->count)) &&
            mono_now_ns() < until_ns) {
            task->plan->adapter->end_sessions(conn, names, count, until_ns, &list->ended,
                                              &(struct error){.kind = ERROR_NONE});
            task_note_answer(task);
        }
        count = count == SESSION_NAMES_MAX ? 0 : count;
    }
}

/* Returns whether the run may have changed the script's table. */
static bool is_changed(const struct script *script, size_t number,
                       const struct verification *verification)
{
    bool is = verification->added + verification->taken + verification->added_in_doubt +
                  verification->taken_in_doubt >
              0;
    for (size_t i = 0; i < script->statement_count; i++) {
        is = is || script->statements[i].adds_to == (int)number ||
             script->statements[i].takes_from == (int)number;
    }
    return is;
}

/* Ends cut sessions at one host, and then counts the tables that the run may have changed there;
 * with several hosts, counts all tables. */
static enum status count_again(struct task *task, struct adapter_conn *conn, struct error *error)
{
    const struct setup *setup = task->setup;
    const struct result *result = task->context;
    struct table_count *counts = result->hosts[task->host].tables;
    enum status status = STATUS_OK;
    end_cut_sessions(task, conn);
    for (size_t i = 0; i < setup->table_count && status == STATUS_OK; i++) {
        if (setup->host_count == 1 && result->dataset_count > 0 &&
            !is_changed(task->plan->script, i, &result->datasets[i])) {
            continue;
        }
        status = task_count_rows(task, conn, &setup->tables[i].count, &counts[i].after, error);
        counts[i].is_counted = status == STATUS_OK && setup->hosts[task->host].is_known;
        task_note_answer(task);
    }
    return status;
}

/* Returns whether there is a table to count, or a session to end. */
static bool has_to_ask(const struct setup *setup, const struct plan *plan,
                       const struct result *result)
{
    bool has = plan->script == NULL || setup->host_count > 1 ||
               (setup->cut != NULL && setup->cut->count > 0);
    for (size_t i = 0; i < result->dataset_count && !has; i++) {
        has = is_changed(plan->script, i, &result->datasets[i]);
    }
    return has;
}

/* Fills the counts of every host. Returns false if a host did not answer. */
static bool count_hosts(const struct setup *setup, const struct plan *plan, struct result *result)
{
    bool have_answered = true;
    const char *notice =
        plan->script == NULL ? "counting the rows of the table" : "counting the rows of the tables";
    if (setup->host_count > 1) {
        notice = "counting the rows at every host";
    }
    for (unsigned i = 0; i < setup->host_count; i++) {
        struct host_result *host = &result->hosts[i];
        struct error error = {.kind = ERROR_NONE};
        for (size_t t = 0; t < setup->table_count; t++) {
            host->tables[t] = (struct table_count){.before = setup->hosts[i].rows_before[t]};
        }
        const struct task task = {.work = count_again,
                                  .host = i,
                                  .is_of_host = true,
                                  .context = result,
                                  .what = "the count",
                                  .notice = notice};
        const bool is_counted =
            task_run_again(task, setup, plan, result->sessions_cut > 0, &error) == STATUS_OK;
        have_answered = have_answered && is_counted;
        host->is_counted = is_counted && setup->hosts[i].is_known;
        snprintf(host->reason, sizeof host->reason, "%s",
                 is_counted ? "the table was not counted before the run" : error.text);
    }
    return have_answered;
}

static void verify_count(struct result *result)
{
    const struct row_ledger *rows = &result->rows;
    const int64_t acknowledged = (int64_t)rows->acknowledged;
    const struct row_change written = {acknowledged,
                                       acknowledged + (int64_t)(rows->in_doubt + rows->rejected)};
    result_join_hosts(result, 0, &written, &result->verification);
    if (result->verification.state == VERIFICATION_DONE) {
        verification_evaluate(&result->verification, rows);
    }
}

static void verify_datasets(const struct plan *plan, struct result *result)
{
    for (size_t i = 0; i < result->dataset_count; i++) {
        struct verification *verification = &result->datasets[i];
        const int64_t net = (int64_t)(verification->added - verification->taken);
        const struct row_change written = {net - (int64_t)verification->taken_in_doubt,
                                           net + (int64_t)verification->added_in_doubt};
        if (is_changed(plan->script, i, verification)) {
            result_join_hosts(result, i, &written, verification);
        }
        if (verification->state == VERIFICATION_DONE) {
            verification_evaluate_table(verification);
        }
    }
}

/* Keeps in *after only settings whose value differs from `before`; the value is "" if the server no
 * longer reports the setting. */
static void keep_changes(const struct server_settings *before, struct server_settings *after)
{
    const struct server_settings now = *after;
    after->count = 0;
    for (size_t i = 0; i < now.count; i++) {
        const char *was = server_setting(before, now.entries[i].name);
        if (was == NULL || strcmp(was, now.entries[i].value) != 0) {
            after->entries[after->count++] = now.entries[i];
        }
    }
    for (size_t i = 0; i < before->count && after->count < SERVER_SETTINGS_MAX; i++) {
        if (server_setting(&now, before->entries[i].name) == NULL) {
            after->entries[after->count] = before->entries[i];
            after->entries[after->count++].value[0] = '\0';
        }
    }
}

/* Finds settings that changed during the run. A server that does not answer counts as unchanged. */
static void find_changes(const struct setup *setup, const struct plan *plan, struct result *result)
{
    for (unsigned i = 0; i < setup->host_count; i++) {
        const struct server_settings *before = &setup->hosts[i].settings;
        struct server_settings *after = &result->hosts[i].settings_changed;
        after->count = 0;
        if (before->count > 0 && !interrupt_requested()) {
            server_read_settings(setup, plan, result->sessions_cut > 0, i, after);
        }
        if (after->count > 0) {
            keep_changes(before, after);
        }
    }
}

/* Allocates the results of the invariants that the script declares. */
static void list_invariants(const struct plan *plan, struct result *result)
{
    const struct script *script = plan->script;
    result_allocate_invariants(result, script == NULL ? 0 : script->invariant_count);
    for (size_t i = 0; script != NULL && i < result->invariant_count; i++) {
        result->invariants[i].claim = script->invariants[i].claim;
    }
}

/* Notes that the invariants from number `first` on were not checked, and why. */
static void skip_invariants(struct result *result, size_t first, const char *reason)
{
    for (size_t i = first; i < result->invariant_count; i++) {
        struct invariant_result *invariant = &result->invariants[i];
        if (invariant->state != VERIFICATION_FAILED) {
            invariant->state = VERIFICATION_FAILED;
            snprintf(invariant->reason, sizeof invariant->reason, "%s", reason);
        }
    }
}

/* A check of all invariants on one host. */
struct invariant_check {
    struct result *result;
    size_t next; /* number of the invariant that is checked next */
};

/* A row that violates an invariant. */
struct broken_row {
    struct task *task;
    struct invariant_result *invariant;
};

/* Counts a row that violates an invariant, and keeps the values of the first such row. */
static bool take_broken(void *context, const struct cell *cells, size_t count)
{
    const struct broken_row *row = context;
    struct invariant_result *invariant = row->invariant;
    char *const text = invariant->first;
    task_note_answer(row->task);
    for (size_t i = 0, used = 0; invariant->rows == 0 && i < count; i++) {
        const size_t room = sizeof invariant->first - used;
        char value[sizeof invariant->first];
        ask_text(&cells[i], value, sizeof value);
        snprintf(text + used, room, "%s%s", i > 0 ? ", " : "", cells[i].is_null ? "NULL" : value);
        used = strlen(text);
    }
    invariant->rows++;
    return true;
}

/* Asks for the rows that violate an invariant. If the database has transactions, runs the query in
 * a transaction and rolls it back, because the query must change nothing. */
static enum status ask_claim(const struct task *task, struct adapter_conn *conn, const char *sql,
                             struct answer *answer, struct error *error)
{
    const struct adapter *adapter = task->plan->adapter;
    const struct transaction reading = {.writes = false};
    struct error ignored = {.kind = ERROR_NONE};
    enum status status = adapter->begin == NULL ? STATUS_OK : adapter->begin(conn, &reading, error);
    if (status != STATUS_OK) {
        return status;
    }
    status = ask_rows(adapter, conn, sql, NULL, answer, error);
    if (adapter->begin == NULL || status == STATUS_LOST) {
        return status;
    }
    const enum status undone = adapter->rollback(conn, &ignored);
    if (undone != STATUS_OK && status == STATUS_OK) {
        *error = ignored;
    }
    return undone == STATUS_OK ? status : undone;
}

/* Runs the queries of the invariants. Skips an invariant if an earlier host had rows that violate
 * it, because the hosts may share a database. Continues with the next query if the server refuses a
 * query. */
static enum status run_invariants(struct task *task, struct adapter_conn *conn, struct error *error)
{
    struct invariant_check *check = task->context;
    const struct script *script = task->plan->script;
    for (; check->next < check->result->invariant_count; check->next++) {
        struct invariant_result *invariant = &check->result->invariants[check->next];
        if (invariant->rows > 0) {
            continue;
        }
        struct broken_row row = {task, invariant};
        struct answer answer = {.take = take_broken, .context = &row};
        const char *sql =
            script_text_for(&script->invariants[check->next].sql, task->setup->connection.dialect);
        const enum status status = ask_claim(task, conn, sql, &answer, error);
        task_note_answer(task);
        if (status == STATUS_LOST) {
            return status;
        }
        if (status == STATUS_OK && invariant->state == VERIFICATION_NONE) {
            invariant->state = VERIFICATION_DONE;
        } else if (status != STATUS_OK) {
            invariant->state = VERIFICATION_FAILED;
            snprintf(invariant->reason, sizeof invariant->reason, "%s", error->text);
            error_clear(error);
        }
    }
    return STATUS_OK;
}

/* Checks the invariants of the script on one host or, if the hosts are separate databases, on each
 * host. */
static void check_invariants(const struct setup *setup, const struct plan *plan,
                             struct result *result)
{
    const bool is_one = result->host_count == 1 || result->are_hosts_one;
    for (unsigned i = 0; i < (is_one ? 1 : result->host_count); i++) {
        struct error error = {.kind = ERROR_NONE};
        struct invariant_check check = {.result = result};
        const struct task task = {.work = run_invariants,
                                  .host = is_one ? setup->host : i,
                                  .is_of_host = !is_one,
                                  .context = &check,
                                  .what = "the check of the invariants",
                                  .notice = "checking the invariants of the script"};
        if (task_run_again(task, setup, plan, result->sessions_cut > 0, &error) == STATUS_OK) {
            continue;
        }
        char reason[sizeof result->invariants->reason];
        snprintf(reason, sizeof reason, "%s%.100s%s%.120s", is_one ? "" : "host ",
                 is_one ? "" : result->hosts[i].name, is_one ? "" : ": ", error.text);
        /* with several hosts, no invariant has been checked on every host */
        skip_invariants(result, is_one ? check.next : 0, reason);
        return;
    }
}

void verify_skip(const struct plan *plan, struct result *result, const char *reason)
{
    list_invariants(plan, result);
    skip_invariants(result, 0, reason);
    result->verification = (struct verification){.state = VERIFICATION_FAILED};
    snprintf(result->verification.reason, sizeof result->verification.reason, "%s", reason);
    result->table_bytes_before = result->table_bytes_after = -1;
}

/* Fills result->invariants, after the tables were counted. `failure` is the reason why the
 * invariants cannot be checked, or NULL. */
static void verify_invariants(const struct setup *setup, const struct plan *plan,
                              const char *failure, struct result *result)
{
    list_invariants(plan, result);
    if (result->invariant_count == 0 || (plan->adapter->flags & ADAPTER_DISCARDS) != 0) {
        return;
    }
    for (size_t i = 0; i < result->dataset_count && failure == NULL; i++) {
        const struct verification *table = &result->datasets[i];
        failure = table->state == VERIFICATION_FAILED ? table->reason : NULL;
    }
    if (failure != NULL) { /* do not ask a server again that did not count its rows */
        skip_invariants(result, 0, failure);
    } else {
        check_invariants(setup, plan, result);
    }
}

void verify_result(const struct setup *setup, const struct plan *plan, struct result *result)
{
    memset(&result->verification, 0, sizeof result->verification);
    memset(&result->row_verification, 0, sizeof result->row_verification);
    const bool keeps_rows = (plan->adapter->flags & ADAPTER_DISCARDS) == 0;
    const bool is_unreported = plan->script != NULL && result->stop_reason == STOP_RANK;
    bool has_failed = false; /* a server that did not answer is not asked again */
    if (keeps_rows && !is_unreported && has_to_ask(setup, plan, result)) {
        has_failed = !count_hosts(setup, plan, result) && setup->host_count == 1;
    }
    for (unsigned i = 0; i < setup->host_count && is_unreported; i++) {
        snprintf(result->hosts[i].reason, sizeof result->hosts[i].reason, "%s", unreported);
    }
    if (keeps_rows && plan->script != NULL) {
        verify_datasets(plan, result);
    } else if (keeps_rows) {
        verify_count(result);
    }
    if (plan->verify_mode == VERIFY_ROWS) {
        verify_rows(setup, plan, result);
    }
    verify_invariants(setup, plan, is_unreported ? unreported : NULL, result);
    has_failed = has_failed || result->verification.state == VERIFICATION_FAILED;
    for (size_t i = 0; i < result->dataset_count; i++) {
        has_failed = has_failed || result->datasets[i].state == VERIFICATION_FAILED;
    }
    if (!has_failed) {
        find_changes(setup, plan, result);
    }
    result->table_bytes_before = setup->storage.bytes_before;
    result->table_bytes_after =
        has_failed ? -1 : server_measure_tables(setup, plan, result->sessions_cut > 0);
    struct io_description *of = &result->resources.io_of;
    if (result->table_bytes_before >= 0 && result->table_bytes_after < 0 && of->note[0] == '\0') {
        snprintf(of->note, sizeof of->note,
                 "the size of the tables after the run is unknown: the server did not report it");
    }
}
