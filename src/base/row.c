#include "append/row.h"

#include <stdlib.h>
#include <string.h>

enum status table_init(struct table *table, const char *name, struct error *error)
{
    memset(table, 0, sizeof *table);
    const size_t length = strlen(name);
    if (length == 0 || length >= sizeof table->name) {
        error_set(error, ERROR_USAGE, 0, NULL, "a table name has 1 to %zu bytes, this one has %zu",
                  sizeof table->name - 1, length);
        return STATUS_FATAL;
    }
    memcpy(table->name, name, length + 1);
    return STATUS_OK;
}

enum status table_add_column(struct table *table, const struct column *column, struct error *error)
{
    const size_t count = table->column_count;
    if (count >= ROW_COLUMNS_MAX) {
        error_set(error, ERROR_UNSUPPORTED, 0, NULL, "table %s has more than %d columns",
                  table->name, ROW_COLUMNS_MAX);
        return STATUS_FATAL;
    }
    struct column *columns = realloc(table->columns, (count + 1) * sizeof *columns);
    if (columns == NULL) {
        error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the columns of %s", table->name);
        return STATUS_FATAL;
    }
    columns[count] = *column;
    table->columns = columns;
    table->column_count = count + 1;
    return STATUS_OK;
}

void table_fini(struct table *table)
{
    if (table == NULL) {
        return;
    }
    free(table->columns);
    table->columns = NULL;
    table->column_count = 0;
}
