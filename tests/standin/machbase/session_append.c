/* Appends: APPEND_OPEN, APPEND_DATA, APPEND_CLOSE. */
#include "session.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum {
    LENGTH_BYTES = 4,
};

/* The table of the name as the client gives it: any case, perhaps with an owner. */
static struct store_table *find_table(struct server *server, const struct wire_unit_value *unit)
{
    char name[2 * ROW_COLUMN_NAME_BYTES] = "";
    if (unit->length >= sizeof name) {
        return NULL;
    }
    for (size_t i = 0; i < unit->length; i++) {
        name[i] = (char)toupper(unit->bytes[i]);
    }
    const char *dot = strrchr(name, '.');
    return store_find(&server->store, dot != NULL ? dot + 1 : name);
}

/* The columns, the arrival time first: the client library fills that one itself [run]. */
static void describe(struct session *session, const struct session_statement *statement)
{
    const struct store_table *table = statement->table;
    wire_add_result(&session->body, WIRE_OK, 0);
    wire_add_number(&session->body, WIRE_STATEMENT, WIRE_UINT64, statement->id);
    wire_add_number(&session->body, WIRE_COLUMNS, WIRE_UINT64, table->column_count);
    for (size_t c = 0; c < table->column_count; c++) {
        wire_add_text(&session->body, WIRE_NAME, table->columns[c].name);
        wire_add_number(&session->body, WIRE_TYPE, WIRE_UINT64,
                        row_column_word(&table->columns[c]));
    }
    session_add_reply(session, WIRE_APPEND_OPEN, statement->id);
}

static void open_append(struct session *session, const struct wire_message *message,
                        struct session_statement *statement)
{
    struct wire_unit_value name = {.length = 0};
    session_clear_statement(session, statement);
    if (wire_find(message, WIRE_TABLE, false, &name)) {
        statement->table = find_table(session->server, &name);
    }
    if (statement->table != NULL) {
        describe(session, statement);
        return;
    }
    char text[150];
    snprintf(text, sizeof text, "Table %.*s does not exist.",
             (int)(name.length < 100 ? name.length : 100),
             name.bytes != NULL ? (const char *)name.bytes : "");
    session_add_error(session, WIRE_APPEND_OPEN, SERVER_NO_TABLE, text);
}

/* The row as text, for the message that refuses it. */
static void describe_row(const struct store_table *table, const struct row_value *values,
                         struct buffer *text)
{
    for (size_t c = 1; c < table->column_count; c++) {
        buffer_add(text, ",", c > 1 ? 1 : 0);
        row_add_text(text, &values[c]);
    }
}

/* A refused row: the client library hands number, text and row to the program [run]. */
static void refuse_row(struct session *session, struct session_statement *statement, uint32_t code,
                       const char *text, const struct row_value *values)
{
    struct buffer row;
    buffer_init(&row);
    if (values != NULL) {
        describe_row(statement->table, values, &row);
    }
    statement->failures++;
    atomic_fetch_add(&session->server->rows_refused, 1);
    wire_add_result(&session->body, WIRE_ERROR, code);
    wire_add_text(&session->body, WIRE_MESSAGE, text);
    wire_add_text(&session->body, WIRE_MORE, buffer_text(&row));
    buffer_fini(&row);
    session_add_reply(session, WIRE_APPEND_DATA, statement->id);
}

/* Takes a row apart. False = it was refused. */
static bool read_row(struct session *session, struct session_statement *statement,
                     const struct wire_unit_value *unit, struct row_value *values)
{
    const struct store_table *table = statement->table;
    const char *why = "the row is compressed";
    struct row_reader reader = {.left = 0};
    bool is_good = unit->length > 0 && unit->bytes[0] == 0 &&
                   row_begin(&reader, unit->bytes + 1, unit->length - 1, table->column_count, &why);
    for (size_t c = 0; c < table->column_count && is_good; c++) {
        is_good = row_take(&reader, &table->columns[c], &values[c], &why);
    }
    if (is_good && reader.left > 0) {
        is_good = false;
        why = "the row has more bytes than its columns";
    }
    if (!is_good) {
        char text[150];
        snprintf(text, sizeof text, "Invalid append protocol data (%s).", why);
        atomic_fetch_add(&session->server->rows_malformed, 1);
        refuse_row(session, statement, SERVER_BAD_ROW, text, NULL);
    }
    return is_good;
}

/* Adds a row to those that go into the table together. */
static void keep_row(struct session *session, const struct session_statement *statement,
                     const struct wire_unit_value *unit, const struct row_value *values)
{
    static const uint8_t no_length[LENGTH_BYTES] = {0};
    struct buffer *rows = &session->rows;
    const struct store_table *table = statement->table;
    const size_t begin = rows->length;
    buffer_add(rows, no_length, sizeof no_length);
    if (table->keeps_all) {
        buffer_add(rows, unit->bytes + 1, unit->length - 1);
    } else {
        row_add(rows, values, table->column_count, table->keeps);
    }
    if (!buffer_failed(rows)) {
        wire_put_le((uint8_t *)rows->bytes + begin, rows->length - begin - LENGTH_BYTES,
                    LENGTH_BYTES);
    }
}

static void take_row(struct session *session, struct session_statement *statement,
                     const struct wire_unit_value *unit, uint64_t *count)
{
    struct row_value values[ROW_TABLE_COLUMNS_MAX];
    if (!read_row(session, statement, unit, values)) {
        return;
    }
    struct rule_hit hit = rules_meet(&session->server->rules, STEP_ROW);
    if (session->hit.action == ACTION_ERROR) {
        hit = session->hit;
    }
    if (hit.action != ACTION_NONE) {
        atomic_fetch_add(&session->server->faults, 1);
    }
    if (hit.action == ACTION_ERROR) {
        refuse_row(session, statement, hit.number, hit.text, values);
        return;
    }
    if (session->server->expect != NULL) {
        expect_row(session->server->expect, statement->table, values);
    }
    statement->successes++;
    for (int copies = hit.action == ACTION_LOSE     ? 0
                      : hit.action == ACTION_DOUBLE ? 2
                                                    : 1;
         copies > 0; copies--) {
        keep_row(session, statement, unit, values);
        (*count)++;
    }
}

static void take_rows(struct session *session, const struct wire_message *message,
                      struct session_statement *statement)
{
    struct wire_units units = wire_units(message);
    struct wire_unit_value unit;
    uint64_t count = 0;
    buffer_clear(&session->rows);
    atomic_fetch_add(&session->server->packets, 1);
    while (wire_next(&units, &unit)) {
        if (unit.id == WIRE_ROW && unit.bytes != NULL) {
            take_row(session, statement, &unit, &count);
        }
    }
    session->is_over = units.is_broken || buffer_failed(&session->rows) ||
                       !store_append(statement->table, &session->rows, count);
    if (!session->is_over) {
        atomic_fetch_add(&session->server->rows_kept, count);
    }
}

static void close_append(struct session *session, struct session_statement *statement)
{
    const uint64_t hidden = session->hit.action == ACTION_LIE ? session->hit.number : 0;
    const uint64_t successes = statement->successes;
    wire_add_result(&session->body, WIRE_OK, 0);
    wire_add_number(&session->body, WIRE_SUCCESSES, WIRE_UINT64,
                    successes > hidden ? successes - hidden : 0);
    wire_add_number(&session->body, WIRE_FAILURES, WIRE_UINT64, statement->failures);
    session_add_reply(session, WIRE_APPEND_CLOSE, statement->id);
    session_clear_statement(session, statement);
}

void session_answer_append(struct session *session, const struct wire_message *message)
{
    const enum wire_protocol protocol = (enum wire_protocol)message->protocol;
    struct wire_unit_value unit = {.number = message->statement};
    const bool has_id =
        protocol == WIRE_APPEND_DATA || wire_find(message, WIRE_STATEMENT, true, &unit);
    struct session_statement *statement =
        has_id ? session_statement(session, (uint32_t)unit.number) : NULL;
    if (statement == NULL || (protocol != WIRE_APPEND_OPEN && statement->table == NULL)) {
        session_add_error(session, protocol, SERVER_PROTOCOL,
                          "Protocol message error in connection.");
    } else if (protocol == WIRE_APPEND_OPEN) {
        open_append(session, message, statement);
    } else if (protocol == WIRE_APPEND_DATA) {
        take_rows(session, message, statement);
    } else {
        close_append(session, statement);
    }
}
