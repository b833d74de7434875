#include "load/create_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ask.h"

/* Writes the names of the primary key's columns, or nothing if the table has no primary key. */
static void write_key(struct buffer *sql, const struct script_dataset *dataset, char quote)
{
    for (unsigned place = 1; place <= dataset->column_count; place++) {
        for (size_t c = 0; c < dataset->column_count; c++) {
            if (dataset->columns[c].key == place) {
                buffer_add_text(sql, place == 1 ? "" : ", ");
                buffer_add_identifier(sql, dataset->table.columns[c].name, quote);
            }
        }
    }
}

static void write_foreign_keys(struct buffer *sql, const struct script *script,
                               const struct script_dataset *dataset, char quote)
{
    for (size_t i = 0; i < dataset->foreign_key_count; i++) {
        const struct script_foreign_key *key = &dataset->foreign_keys[i];
        const struct script_dataset *to = &script->datasets[key->dataset];
        buffer_add_text(sql, ", foreign key (");
        buffer_add_identifier(sql, dataset->table.columns[key->column].name, quote);
        buffer_add_text(sql, ") references ");
        buffer_add_identifier(sql, to->name, quote);
        buffer_add_text(sql, " (");
        buffer_add_identifier(sql, to->table.columns[key->to_column].name, quote);
        buffer_add_text(sql, ")");
    }
}

/* Writes the part of CREATE TABLE that follows the columns. */
static void write_end(struct buffer *sql, const struct plan *plan,
                      const struct connection_info *connection,
                      const struct script_dataset *dataset)
{
    const char *const tail = connection->create_tail == NULL ? "" : connection->create_tail;
    const size_t length = strlen(tail);
    const bool takes_key = length > 2 && strcmp(tail + length - 2, "()") == 0;
    struct buffer key = {0}, whole = {0};
    write_key(&key, dataset, connection->identifier_quote);
    if (takes_key) {
        buffer_add(&whole, tail, length - 1);
        buffer_add_format(&whole, "%s)", buffer_text(&key));
    } else if (key.length > 0) {
        buffer_add_format(sql, ", primary key (%s)", buffer_text(&key));
    }
    write_foreign_keys(sql, plan->script, dataset, connection->identifier_quote);
    buffer_add_text(sql, ")");
    ask_write_engine(sql, takes_key ? buffer_text(&whole) : tail, plan->adapter->engine_clause,
                     plan->engine);
    sql->has_failed = sql->has_failed || buffer_failed(&key) || buffer_failed(&whole);
    buffer_fini(&key);
    buffer_fini(&whole);
}

/* A partitioned table, and one of its partitions. */
struct divided {
    const struct script_dataset *dataset;
    const struct partition_statements *statements;
    char quote;
    unsigned part; /* number of the partition, from 0 */
};

/* Writes the lower bound of partition number `part` or, if `part` is the number of partitions, the
 * upper bound of the last partition. If at_end is not NULL, the first and the last bound are
 * replaced by the text at_end. */
static void write_bound(struct buffer *sql, const struct divided *of, unsigned part,
                        const char *at_end)
{
    const struct script_partitions *partitions = &of->dataset->partitions;
    const uint64_t rows = of->dataset->rows;
    const uint64_t parts = partitions->count > 0 ? partitions->count : 1;
    const uint64_t each = (rows + parts - 1) / parts;
    const bool is_end = part == 0 || part == partitions->count;
    if (is_end && at_end != NULL) {
        buffer_add_text(sql, at_end);
    } else {
        buffer_add_format(sql, "%" PRId64,
                          partitions->first + (int64_t)((each > 0 ? each : 1) * part));
    }
}

/* Writes a template of struct partition_statements, and replaces its placeholders. */
static void write_divided(struct buffer *sql, const char *sql_template, const struct divided *of)
{
    const struct script_dataset *dataset = of->dataset;
    const struct script_partitions *partitions = &dataset->partitions;
    for (; *sql_template != '\0'; sql_template++) {
        if (*sql_template != '$') {
            buffer_add(sql, sql_template, 1);
            continue;
        }
        struct buffer name = {0};
        struct divided part = *of;
        switch (*++sql_template) {
        case '0':
            buffer_add_identifier(sql, dataset->name, of->quote);
            break;
        case '2':
            buffer_add_identifier(sql, dataset->table.columns[partitions->column].name, of->quote);
            break;
        case '3':
            buffer_add_format(sql, "%u", partitions->count);
            break;
        case '4':
        case '5':
            buffer_add_format(sql, "%u", of->part + (*sql_template == '4' ? 1 : 0));
            break;
        case '6':
            write_bound(sql, of, of->part, of->statements->least);
            break;
        case '7':
            write_bound(sql, of, of->part + 1, of->statements->most);
            break;
        case '8':
            buffer_add_format(&name, "%s_%u", dataset->name, of->part + 1);
            buffer_add_identifier(sql, buffer_text(&name), of->quote);
            sql->has_failed = sql->has_failed || buffer_failed(&name);
            buffer_fini(&name);
            break;
        case '9':
            for (part.part = 0; part.part < partitions->count; part.part++) {
                buffer_add_text(sql, part.part == 0 ? "" : ", ");
                write_divided(sql, of->statements->range_part, &part);
            }
            break;
        default:
            break;
        }
    }
}

/* Writes the clause of CREATE TABLE that partitions the table. If the database makes each partition
 * a table, also writes a statement for each partition. All statements are in one text, because some
 * servers run one text as one transaction and so create nothing if a statement fails. */
static void write_partitions(struct buffer *sql, const struct connection_info *connection,
                             const struct script_dataset *dataset)
{
    const struct script_partitions *partitions = &dataset->partitions;
    const struct partition_statements *statements = connection->partitions;
    struct divided of = {dataset, statements, connection->identifier_quote, 0};
    if (partitions->count == 0) {
        return;
    }
    const char *part = partitions->is_range ? statements->range_part : statements->hash_part;
    buffer_add_text(sql, " ");
    write_divided(sql, partitions->is_range ? statements->range : statements->hash, &of);
    for (; of.part < partitions->count && statements->are_tables; of.part++) {
        buffer_add_text(sql, "; ");
        write_divided(sql, part, &of);
    }
}

void create_table_write(struct buffer *sql, const struct plan *plan,
                        const struct connection_info *connection,
                        const struct script_dataset *dataset)
{
    const char *options = script_text_for(&dataset->options, connection->dialect);
    buffer_add_text(sql, "create table ");
    buffer_add_identifier(sql, dataset->name, connection->identifier_quote);
    for (size_t c = 0; c < dataset->column_count; c++) {
        const struct column *column = &dataset->table.columns[c];
        char type[CREATE_TABLE_TYPE_BYTES] = "";
        connection->declare_column(column, dataset->columns[c].is_numbered, type, sizeof type);
        buffer_add_text(sql, c == 0 ? " (" : ", ");
        buffer_add_identifier(sql, column->name, connection->identifier_quote);
        buffer_add_format(sql, " %s", type);
    }
    write_end(sql, plan, connection, dataset);
    buffer_add_format(sql, "%s%s", options == NULL ? "" : " ", options == NULL ? "" : options);
    write_partitions(sql, connection, dataset);
}

const char *create_table_take_column(const char *columns, char *name, size_t size)
{
    columns += strspn(columns, ", ");
    size_t length = strcspn(columns, ",\n");
    const char *next = columns + length;
    while (length > 0 && columns[length - 1] == ' ') {
        length--;
    }
    snprintf(name, size, "%.*s", (int)length, columns);
    return next + strspn(next, ", ");
}

/* Writes the columns of an index as a list, or as a part of the index's name. */
static void write_index_columns(struct buffer *sql, const struct script_dataset *dataset,
                                const char *columns, char quote, bool is_name)
{
    for (bool is_first = true; *columns != '\0'; is_first = false) {
        char name[ROW_NAME_BYTES];
        columns = create_table_take_column(columns, name, sizeof name);
        if (is_name) {
            buffer_add_text(sql, "_");
            for (const char *c = name; *c != '\0'; c++) {
                buffer_add(sql, isalnum((unsigned char)*c) ? c : "_", 1);
            }
        } else {
            buffer_add_text(sql, is_first ? "" : ", ");
            if (column_find(&dataset->table, name, strlen(name)) != NULL) {
                buffer_add_identifier(sql, name, quote);
            } else {
                buffer_add_text(sql, name);
            }
        }
    }
}

void create_table_write_index(struct buffer *sql, const struct connection_info *connection,
                              const struct script_dataset *dataset, const char *columns)
{
    const char quote = connection->identifier_quote;
    struct buffer name = {0};
    buffer_add_text(&name, dataset->name);
    write_index_columns(&name, dataset, columns, quote, true);
    buffer_add_format(sql, "create index %s", connection->can_skip_index ? "if not exists " : "");
    buffer_add_identifier(sql, buffer_text(&name), quote);
    buffer_add_text(sql, " on ");
    buffer_add_identifier(sql, dataset->name, quote);
    buffer_add_text(sql, " (");
    write_index_columns(sql, dataset, columns, quote, false);
    buffer_add_text(sql, ")");
    sql->has_failed = sql->has_failed || buffer_failed(&name);
    buffer_fini(&name);
}
