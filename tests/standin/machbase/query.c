#include "query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "wire.h"

enum {
    CONSTANT = -1, /* in place of a column's index */
};

/* A column of the result. */
struct output {
    struct row_column column;
    int source; /* index of the table's column, or CONSTANT */
    const struct sql_item *item;
};

struct query {
    struct sql_statement statement; /* without the columns of a create */
    struct store_table *table;
    struct output outputs[ROW_TABLE_COLUMNS_MAX];
    size_t output_count;
    int condition_sources[SQL_CONDITIONS_MAX];
    struct store_cursor cursor;
    uint64_t given;
    bool is_count;
    struct row_value values[ROW_TABLE_COLUMNS_MAX];
    struct buffer row;
    struct buffer seen; /* of a select distinct: each row with its length before it */
};

/* The text is before, name, after. */
static void fail(struct query_error *error, uint32_t code, const char *before, const char *name,
                 const char *after)
{
    error->code = code;
    snprintf(error->text, sizeof error->text, "%s%.100s%s", before, name, after);
}

static int find_column(const struct store_table *table, const char *name)
{
    for (size_t c = 0; c < table->column_count; c++) {
        if (strcmp(table->columns[c].name, name) == 0) {
            return (int)c;
        }
    }
    return CONSTANT;
}

static bool resolve_item(struct query *query, const struct sql_item *item,
                         struct query_error *error)
{
    struct output *output = &query->outputs[query->output_count++];
    *output = (struct output){.source = CONSTANT, .item = item};
    output->column.type = ROW_INT64;
    switch (item->kind) {
    case SQL_COUNT:
        query->is_count = true;
        memcpy(output->column.name, "COUNT(*)", sizeof "COUNT(*)");
        return true;
    case SQL_NUMBER:
        snprintf(output->column.name, sizeof output->column.name, "%lld", (long long)item->number);
        return true;
    case SQL_TEXT:
        output->column.type = ROW_VARCHAR;
        output->column.size = (uint32_t)strlen(item->text);
        memcpy(output->column.name, item->text, sizeof output->column.name - 1);
        return true;
    case SQL_COLUMN:
        break;
    }
    output->source = find_column(query->table, item->text);
    if (output->source == CONSTANT) {
        fail(error, SERVER_NO_COLUMN, "Column name (", item->text, ") not found.");
        return false;
    }
    output->column = query->table->columns[output->source];
    return true;
}

static bool resolve(struct query *query, struct query_error *error)
{
    const struct sql_statement *s = &query->statement;
    for (size_t c = 1; s->is_star && c < query->table->column_count; c++) {
        query->outputs[query->output_count++] =
            (struct output){.column = query->table->columns[c], .source = (int)c};
    }
    for (size_t i = 0; i < s->item_count; i++) {
        if (!resolve_item(query, &s->items[i], error)) {
            return false;
        }
    }
    for (size_t i = 0; i < s->condition_count; i++) {
        query->condition_sources[i] = find_column(query->table, s->conditions[i].column);
        if (query->condition_sources[i] == CONSTANT) {
            fail(error, SERVER_NO_COLUMN, "Column name (", s->conditions[i].column, ") not found.");
            return false;
        }
    }
    if (query->is_count && s->item_count > 1) {
        fail(error, SERVER_SYNTAX, "Syntax error: near token (", ",", ").");
        return false;
    }
    return true;
}

struct query *query_open(struct server *server, const struct sql_statement *statement,
                         struct query_error *error)
{
    struct query *query = calloc(1, sizeof *query);
    if (query == NULL) {
        fail(error, SERVER_MEMORY, "Error in allocating memory.", "", "");
        return NULL;
    }
    query->statement = *statement;
    query->statement.columns = NULL;
    query->table = catalog_is_name(statement->table) ? catalog_make(server, statement->table)
                                                     : store_find(&server->store, statement->table);
    if (query->table == NULL) {
        fail(error, SERVER_NO_TABLE, "Table ", statement->table, " does not exist.");
    } else if (resolve(query, error)) {
        return query;
    }
    query_close(server, query);
    return NULL;
}

void query_close(struct server *server, struct query *query)
{
    if (query == NULL) {
        return;
    }
    store_release(&server->store, query->table);
    buffer_fini(&query->row);
    buffer_fini(&query->seen);
    free(query);
}

void query_describe(const struct query *query, struct buffer *body)
{
    wire_add_number(body, WIRE_COLUMNS, WIRE_UINT64, query->output_count);
    for (size_t i = 0; i < query->output_count; i++) {
        wire_add_text(body, WIRE_NAME, query->outputs[i].column.name);
        wire_add_number(body, WIRE_TYPE, WIRE_UINT64, row_column_word(&query->outputs[i].column));
    }
}

static int compare(const struct row_value *value, const struct sql_item *operand)
{
    if (row_type_is_variable(value->type)) {
        const size_t length = strlen(operand->text);
        const size_t common = length < value->length ? length : value->length;
        const int order = memcmp(value->bytes, operand->text, common);
        return order != 0 ? order : (value->length > length) - (value->length < length);
    }
    if (value->type == ROW_FLOAT || value->type == ROW_DOUBLE) {
        const double other = (double)operand->number;
        return (value->number > other) - (value->number < other);
    }
    return (value->integer > operand->number) - (value->integer < operand->number);
}

static bool holds(const struct sql_condition *condition, const struct row_value *value)
{
    if (condition->comparison == SQL_IS_NULL || condition->comparison == SQL_IS_NOT_NULL) {
        return value->is_null == (condition->comparison == SQL_IS_NULL);
    }
    if (value->is_null) {
        return false;
    }
    const int order = compare(value, &condition->operand);
    switch (condition->comparison) {
    case SQL_EQUAL:
        return order == 0;
    case SQL_UNEQUAL:
        return order != 0;
    case SQL_LESS:
        return order < 0;
    case SQL_LESS_EQUAL:
        return order <= 0;
    case SQL_MORE:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* The next row of the table for which all conditions hold. */
static bool next_row(struct query *query)
{
    while (store_next(query->table, &query->cursor, query->values)) {
        bool is_wanted = true;
        for (size_t i = 0; i < query->statement.condition_count && is_wanted; i++) {
            is_wanted =
                holds(&query->statement.conditions[i], &query->values[query->condition_sources[i]]);
        }
        if (is_wanted) {
            return true;
        }
    }
    return false;
}

static uint64_t count_rows(struct query *query)
{
    if (query->statement.condition_count == 0) {
        return store_count(query->table);
    }
    uint64_t rows = 0;
    while (next_row(query)) {
        rows++;
    }
    return rows;
}

/* The bits that mean NULL in a fixed type. */
static uint64_t null_bits(enum row_type type)
{
    switch (type) {
    case ROW_INT16:
        return UINT64_C(0x8000);
    case ROW_INT32:
        return UINT64_C(0x80000000);
    case ROW_INT64:
        return UINT64_C(0x8000000000000000);
    case ROW_FLOAT:
        return UINT64_C(0x7F7FFFFF);
    case ROW_DOUBLE:
        return UINT64_C(0x7FEFFFFFFFFFFFFF);
    case ROW_IP4:
    case ROW_IP6:
        return 0;
    default:
        return UINT64_MAX;
    }
}

static uint64_t number_bits(const struct row_value *value)
{
    uint64_t bits = (uint64_t)value->integer;
    if (value->is_null) {
        bits = null_bits(value->type);
    } else if (value->type == ROW_DOUBLE) {
        memcpy(&bits, &value->number, sizeof bits);
    } else if (value->type == ROW_FLOAT) {
        const float single = (float)value->number;
        uint32_t low;
        memcpy(&low, &single, sizeof low);
        bits = low;
    }
    return bits;
}

static void add_output(struct buffer *row, const struct row_value *value)
{
    uint8_t bytes[17] = {0};
    if (row_type_is_variable(value->type)) {
        const uint32_t length = value->is_null ? 0 : value->length;
        wire_put_be(bytes, length, 4);
        buffer_add(row, bytes, 4);
        buffer_add(row, value->bytes, length);
    } else if (value->type == ROW_IP4 || value->type == ROW_IP6) {
        if (!value->is_null) {
            bytes[0] = value->type == ROW_IP4 ? 4 : 6;
            memcpy(bytes + 1, value->bytes, value->length);
        }
        buffer_add(row, bytes, row_type_width(value->type));
    } else {
        wire_put_be(bytes, number_bits(value), row_type_width(value->type));
        buffer_add(row, bytes, row_type_width(value->type));
    }
}

static struct row_value output_value(const struct query *query, const struct output *output)
{
    const struct sql_item *item = output->item;
    struct row_value value = {.type = output->column.type};
    if (output->source != CONSTANT) {
        value = query->values[output->source];
        if (value.is_null && item != NULL && item->has_default) {
            value.is_null = false;
            value.integer = item->number;
            value.number = (double)item->number;
        }
    } else if (item->kind == SQL_TEXT) {
        value.bytes = (const uint8_t *)item->text;
        value.length = (uint32_t)strlen(item->text);
    } else {
        value.integer = item->number;
    }
    return value;
}

/* Of a select distinct: was this row given before? If not it is noted. */
static bool was_seen(struct query *query)
{
    const struct buffer *row = &query->row;
    size_t at = 0;
    while (at < query->seen.length) {
        size_t length;
        memcpy(&length, query->seen.bytes + at, sizeof length);
        at += sizeof length;
        if (length == row->length && memcmp(query->seen.bytes + at, row->bytes, length) == 0) {
            return true;
        }
        at += length;
    }
    buffer_add(&query->seen, &row->length, sizeof row->length);
    buffer_add(&query->seen, row->bytes, row->length);
    return false;
}

/* Puts the next row of the result into query->row. */
static bool make_row(struct query *query)
{
    if (query->given >= query->statement.limit) {
        return false;
    }
    do {
        buffer_clear(&query->row);
        if (query->is_count) {
            if (query->given > 0) {
                return false;
            }
            const struct row_value value = {.type = ROW_INT64,
                                            .integer = (int64_t)count_rows(query)};
            add_output(&query->row, &value);
            continue;
        }
        if (!next_row(query)) {
            return false;
        }
        for (size_t i = 0; i < query->output_count; i++) {
            const struct row_value value = output_value(query, &query->outputs[i]);
            add_output(&query->row, &value);
        }
    } while (query->statement.is_distinct && was_seen(query));
    query->given++;
    return !buffer_failed(&query->row) && !buffer_failed(&query->seen);
}

bool query_fetch(struct query *query, uint64_t most, struct buffer *body)
{
    for (uint64_t i = 0; i < most && body->length < WIRE_PIECE_BYTES; i++) {
        if (!make_row(query)) {
            return false;
        }
        wire_add_bytes(body, WIRE_FETCH_ROW, WIRE_ROWS, query->row.bytes, query->row.length);
    }
    return true;
}
