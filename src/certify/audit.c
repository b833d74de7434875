#include "certify/certify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ask.h"
#include "base/text.h"

/* A transaction has 128 bits, one for each of its rows: first the rows of the first table, then the
 * rows of the second table. */
enum {
    SECOND_FIRST_BIT = ROWS_FIRST_MAX,
    WORD_BITS = 64
};
_Static_assert(ROWS_FIRST_MAX + ROWS_SECOND_MAX <= 2 * WORD_BITS, "16 bytes for a transaction");

enum status audit_begin(struct audit *audit, struct account *account, struct fault_result *result,
                        struct error *error)
{
    size_t transactions = 0;
    *audit = (struct audit){.account = account, .result = result};
    audit->first = calloc(account->sessions + 1, sizeof *audit->first);
    for (unsigned s = 0; s < account->sessions && audit->first != NULL; s++) {
        audit->first[s] = transactions;
        transactions += account->each[s].next;
    }
    audit->seen = calloc(transactions + 1, sizeof *audit->seen);
    if (audit->first == NULL || audit->seen == NULL) {
        audit_end(audit);
        error_set(error, ERROR_MEMORY, 0, NULL,
                  "client limit: not enough memory to read %zu transactions back (16 bytes each)",
                  transactions);
        return STATUS_FATAL;
    }
    return STATUS_OK;
}

void audit_end(struct audit *audit)
{
    free(audit->seen);
    free(audit->first);
    *audit = (struct audit){.account = NULL};
}

/* Adds `count` to the count of a finding, and describes the first finding in result->first. `id`
 * names a row or, if id->size is 0, a whole transaction. */
static void add_finding(struct audit *audit, enum fault_finding finding, uint64_t count,
                        const struct rows_id *id)
{
    struct fault_result *result = audit->result;
    result->findings[finding] += count;
    if (result->first[0] == '\0' &&
        (audit->known == NULL || result->findings[finding] > audit->known[finding])) {
        snprintf(result->first, sizeof result->first, "%s: session %u, transaction %" PRIu64 "%s%s",
                 finding_words[finding].key, id->session, id->number,
                 id->size > 0 ? ", table " : "", id->size > 0 ? rows_table_names[id->table] : "");
    }
}

void audit_take(struct audit *audit, const struct rows_id *id, const char *text, size_t length,
                int64_t checksum)
{
    const struct account *account = audit->account;
    unsigned sizes[ROWS_TABLES];
    audit->result->rows_read++;
    rows_sizes(account->seed, id->session, id->number, account->has_transactions, sizes);
    if (id->session >= account->sessions || id->number >= account->each[id->session].next ||
        id->place >= id->size || id->size != sizes[id->table]) {
        add_finding(audit, FINDING_FOREIGN, 1, id);
        return;
    }
    if (length > ROWS_TEXT_MAX ||
        rows_checksum(account->seed, id, text, (unsigned)length) != checksum) {
        add_finding(audit, FINDING_TORN, 1, id);
        return;
    }
    const unsigned bit = id->place + (id->table > 0 ? SECOND_FIRST_BIT : 0);
    uint64_t *words = audit->seen[audit->first[id->session] + id->number];
    const uint64_t mask = UINT64_C(1) << bit % WORD_BITS;
    if ((words[bit / WORD_BITS] & mask) != 0) {
        add_finding(audit, FINDING_DUPLICATE, 1, id);
    }
    words[bit / WORD_BITS] |= mask;
}

/* Checks a transaction with `rows` rows, of which `there` rows were found in the tables. Returns
 * the new outcome. */
static enum outcome judge(struct audit *audit, enum outcome outcome, unsigned there, unsigned rows,
                          const struct rows_id *id)
{
    const bool is_half = there > 0 && there < rows;
    const bool is_owed = outcome == OUTCOME_KEPT;
    if (outcome == OUTCOME_SENT && !audit->is_settled && there < rows) {
        return OUTCOME_SENT;
    }
    if (is_owed && there < rows) {
        add_finding(audit, FINDING_LOST, rows - there, id);
    }
    if (is_half) {
        add_finding(audit, FINDING_HALF, 1, id);
    }
    if (outcome == OUTCOME_REJECTED && there > 0) {
        add_finding(audit, FINDING_REJECTED, there, id);
        return OUTCOME_BROKEN;
    }
    if (is_half || (is_owed && there < rows)) {
        return OUTCOME_BROKEN;
    }
    return there > 0 ? OUTCOME_KEPT : OUTCOME_REJECTED;
}

/* Checks the transactions of a session, beginning with the latest. If an acknowledged transaction
 * has lost all rows but a later transaction was found, the lost transaction is a hole. */
static void judge_session(struct audit *audit, unsigned session)
{
    const struct account *account = audit->account;
    bool has_later = false;
    for (uint64_t n = account->each[session].next; n-- > 0;) {
        _Atomic uint8_t *outcome = account_outcome(account, session, n);
        const uint64_t *words = audit->seen[audit->first[session] + n];
        const unsigned there =
            (unsigned)(__builtin_popcountll(words[0]) + __builtin_popcountll(words[1]));
        const struct rows_id id = {.session = session, .number = n};
        unsigned sizes[ROWS_TABLES];
        if (*outcome == OUTCOME_BROKEN) {
            continue;
        }
        rows_sizes(account->seed, session, n, account->has_transactions, sizes);
        const bool is_owed = *outcome == OUTCOME_KEPT;
        *outcome = (uint8_t)judge(audit, *outcome, there, sizes[0] + sizes[1], &id);
        if (is_owed && there == 0 && has_later) {
            add_finding(audit, FINDING_HOLE, 1, &id);
        }
        has_later = has_later || there > 0;
    }
}

void audit_judge(struct audit *audit)
{
    for (unsigned s = 0; s < audit->account->sessions; s++) {
        judge_session(audit, s);
    }
}

/* The state of reading one table. */
struct reading {
    const struct audit_reading *of;
    unsigned table;
    bool is_odd; /* a row has an unexpected number of cells */
};

/* Returns whether the cell is a whole number from 0 to `most`. */
static bool fits(const struct cell *cell, int64_t most)
{
    const int64_t value = ask_number(cell);
    return !cell->is_null && value >= 0 && value <= most;
}

static bool take_row(void *context, const struct cell *cells, size_t count)
{
    struct reading *reading = context;
    const struct audit_reading *of = reading->of;
    struct rows_id id = {.table = reading->table};
    if (count != ROWS_COLUMNS) {
        reading->is_odd = true;
        return false;
    }
    if (!fits(&cells[ROWS_SESSION], INT32_MAX) || !fits(&cells[ROWS_NUMBER], INT64_MAX) ||
        !fits(&cells[ROWS_PLACE], INT32_MAX) || !fits(&cells[ROWS_SIZE], INT32_MAX)) {
        of->audit->result->rows_read++;
        add_finding(of->audit, FINDING_FOREIGN, 1, &id);
        return true;
    }
    id.session = (unsigned)ask_number(&cells[ROWS_SESSION]);
    id.number = (uint64_t)ask_number(&cells[ROWS_NUMBER]);
    id.place = (unsigned)ask_number(&cells[ROWS_PLACE]);
    id.size = (unsigned)ask_number(&cells[ROWS_SIZE]);
    const struct cell *content = &cells[ROWS_TEXT];
    const bool is_text = !content->is_null && content->type == COLUMN_TEXT;
    audit_take(of->audit, &id, is_text ? content->as.text.bytes : NULL,
               is_text ? content->as.text.length : SIZE_MAX, ask_number(&cells[ROWS_CHECKSUM]));
    return true;
}

static enum status read_table(const struct audit_reading *of, unsigned number, struct error *error)
{
    struct table table;
    struct buffer sql = {0};
    struct reading reading = {.of = of, .table = number};
    struct answer answer = {.take = take_row, .context = &reading};
    const char quote = of->connection->identifier_quote;
    enum status status = rows_describe(&table, number, error);
    for (size_t i = 0; i < table.column_count; i++) {
        buffer_add_text(&sql, i == 0 ? "select " : ", ");
        buffer_add_identifier(&sql, table.columns[i].name, quote);
    }
    buffer_add_text(&sql, " from ");
    buffer_add_identifier(&sql, table.name, quote);
    if (status == STATUS_OK) {
        status = ask_rows(of->adapter, of->conn, buffer_text(&sql), NULL, &answer, error);
    }
    if (status == STATUS_OK && reading.is_odd) {
        error_set(error, ERROR_DATA, 0, NULL, "table %s does not have append's columns",
                  table.name);
        status = STATUS_REJECTED;
    }
    if (status != STATUS_OK) {
        error_prefix(error, "table %s cannot be read", table.name);
    }
    buffer_fini(&sql);
    table_fini(&table);
    return status;
}

/* The database's own check of one table. */
struct checking {
    struct audit *audit;
    char note[160]; /* reason why the database did not check the table; "" if it did */
};

/* Stores a result row of the database's own check of a table. */
static bool take_check(void *context, const struct cell *cells, size_t count)
{
    struct checking *checking = context;
    const struct audit *audit = checking->audit;
    char text[160] = "";
    char kind[8] = "";
    if (count > 1) {
        ask_text(&cells[count - 2], kind, sizeof kind);
    }
    if (count > 0) {
        ask_text(&cells[count - 1], text, sizeof text);
    }
    if (strcasecmp(kind, "note") == 0) {
        memcpy(checking->note, text, sizeof text);
    } else if (strcasecmp(text, "ok") == 0) {
        checking->note[0] = '\0';
    } else if (text[0] != '\0') {
        struct fault_result *result = audit->result;
        result->findings[FINDING_DAMAGE]++;
        if (result->first[0] == '\0' &&
            (audit->known == NULL ||
             result->findings[FINDING_DAMAGE] > audit->known[FINDING_DAMAGE])) {
            snprintf(result->first, sizeof result->first, "the server's check: %s", text);
        }
    }
    return true;
}

static bool take_reason(void *context, const struct cell *cells, size_t count)
{
    struct checking *checking = context;
    if (count > 0) {
        ask_text(&cells[0], checking->note, sizeof checking->note);
    }
    return false;
}

/* Runs the database's own check of a table and its indexes. If the check cannot run, writes the
 * reason to checking->note. */
static enum status check_table(const struct audit_reading *of, unsigned number,
                               struct checking *checking, struct error *error)
{
    const struct integrity_statements *words = of->connection->integrity;
    struct buffer sql = {0};
    struct answer reason = {.take = take_reason, .context = checking};
    struct answer answer = {.take = take_check, .context = checking};
    enum status status = STATUS_OK;
    if (words == NULL || words->check == NULL) {
        snprintf(checking->note, sizeof checking->note, "append does not know a check for %s",
                 of->connection->dialect);
        return STATUS_OK;
    }
    if (words->unavailable != NULL) {
        status = ask_rows(of->adapter, of->conn, words->unavailable, NULL, &reason, error);
    }
    if (status == STATUS_OK && checking->note[0] == '\0') {
        ask_write(&sql, words->check, of->connection, rows_table_names[number], NULL, 0);
        status = ask_rows(of->adapter, of->conn, buffer_text(&sql), NULL, &answer, error);
        buffer_fini(&sql);
    }
    if (status == STATUS_OK || status == STATUS_LOST) {
        return status;
    }
    if (error->kind == ERROR_SERVER &&
        (error->sqlstate[0] == '\0' || strncmp(error->sqlstate, "XX", 2) == 0)) {
        const struct cell cell = {.type = COLUMN_TEXT,
                                  .as.text = {error->text, (uint32_t)strlen(error->text)}};
        take_check(checking, &cell, 1);
    } else {
        snprintf(checking->note, sizeof checking->note, "%.159s", error->text);
    }
    error_clear(error);
    return STATUS_OK;
}

enum status audit_read(const struct audit_reading *reading, struct error *error)
{
    enum status status = STATUS_OK;
    for (unsigned t = 0; t < ROWS_TABLES && status == STATUS_OK; t++) {
        status = read_table(reading, t, error);
    }
    return status;
}

enum status audit_check(const struct audit_reading *reading, struct error *error)
{
    enum status status = STATUS_OK;
    for (unsigned t = 0; t < ROWS_TABLES && status == STATUS_OK; t++) {
        struct checking checking = {.audit = reading->audit};
        status = check_table(reading, t, &checking, error);
        if (checking.note[0] != '\0') {
            struct fault_result *result = reading->audit->result;
            snprintf(result->unchecked, sizeof result->unchecked,
                     "the server's own check did not run: %s", checking.note);
        }
    }
    return status;
}
