#include "load/setup_describe.h"

#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/text.h"
#include "load/generator.h"

void setup_describe_made(const struct setup *setup, const struct plan *plan, char *line,
                         size_t size)
{
    const struct setup_made *made = &setup->made;
    const double seconds = (double)made->load_ns / (double)MONO_NS_PER_S;
    const uint64_t tables = setup->table_count;
    uint64_t rows = 0;
    for (size_t i = 0; i < setup->table_count; i++) {
        rows += *setup_rows_before(setup, &setup->tables[i]);
    }
    if ((plan->adapter->flags & ADAPTER_DISCARDS) != 0) {
        snprintf(line, size, "nothing to prepare: %s keeps no rows", plan->adapter->name);
        return;
    }
    if (made->load_ns == 0) {
        snprintf(line, size, "nothing to do: %s %s with %s %s already %s", UNITS_COUNT(tables),
                 units_plural(tables, "table", "tables"), UNITS_COUNT(rows),
                 units_plural(rows, "row", "rows"), units_plural(tables, "exists", "exist"));
        return;
    }
    struct buffer text = {0};
    if (made->tables > 0) {
        buffer_add_format(&text, "%s %s created, ", UNITS_COUNT(made->tables),
                          units_plural(made->tables, "table", "tables"));
    }
    buffer_add_format(&text, "%s %s loaded in %s", UNITS_COUNT(made->rows),
                      units_plural(made->rows, "row", "rows"), UNITS_NS(made->load_ns));
    if (made->rows > 0) {
        buffer_add_format(&text, ", %s rows/s",
                          UNITS_COUNT((uint64_t)((double)made->rows / seconds)));
    }
    if (made->indexes > 0) {
        buffer_add_format(&text, ", %s %s created", UNITS_COUNT(made->indexes),
                          units_plural(made->indexes, "index", "indexes"));
    }
    snprintf(line, size, "%s; %s %s with %s %s in total", buffer_text(&text), UNITS_COUNT(tables),
             units_plural(tables, "table", "tables"), UNITS_COUNT(rows),
             units_plural(rows, "row", "rows"));
    buffer_fini(&text);
}

/* Writes a name, in quotes if SQL needs them. Without quotes a name with special characters, or in
 * PostgreSQL with capital letters, would name another table. */
static void write_name(struct buffer *sql, const struct setup *setup, const char *name)
{
    const char quote = setup->connection.identifier_quote;
    const bool is_plain = strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(name) &&
                          strspn(name, "0123456789") == 0;
    if (is_plain || quote == '\0') {
        buffer_add_text(sql, name);
    } else {
        buffer_add_identifier(sql, name, quote);
    }
}

void setup_describe_removal(const struct setup *setup, const struct plan *plan, char *text,
                            size_t size)
{
    struct buffer table = {0};
    text[0] = '\0';
    if ((plan->adapter->flags & ADAPTER_DISCARDS) != 0) {
        return;
    }
    if (plan->target.schema != NULL) {
        write_name(&table, setup, plan->target.schema);
        buffer_add_text(&table, ".");
    }
    write_name(&table, setup, plan->table_name);
    if (plan->owned_path != NULL) {
        snprintf(text, size, "remove %.280s", plan->out_folder);
    } else if (!plan_has_own_rows(plan)) {
        snprintf(text, size, "append cleanup --workload %.200s", plan->workload);
    } else if (setup->has_made_table) {
        snprintf(text, size, "drop table %.200s /* made by this run */", buffer_text(&table));
    } else if (generator_identifies_rows(plan, &setup->own->table)) {
        /* earlier rows may have the same tag, unless the table was empty or --verify rows has
         * excluded this */
        const bool is_unsure = setup_had_rows(setup) && plan->verify_mode != VERIFY_ROWS;
        snprintf(text, size, "delete from %.200s where n1 = %d%s", buffer_text(&table),
                 plan->facts->run_tag,
                 is_unsure ? " /* also deletes rows that had this n1 before the run */" : "");
    } else {
        snprintf(text, size, "not possible: no column of %.200s identifies the rows of this run",
                 plan->table_name);
    }
    buffer_fini(&table);
    if (setup->connection.has_created_database) {
        const size_t length = strlen(text);
        snprintf(text + length, size - length, "; drop database %.60s /* made by this run */",
                 setup->connection.database);
    }
}
