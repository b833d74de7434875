#include "catalog.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    CATALOG_COLUMNS_MAX = 8,
    RID_COLUMN = 65534,
    LENGTH_OF_RID = 8,
    DATABASE = -1,
    OWNER = 1,
    DEFAULT_MOST_SESSIONS = 4096,
};

struct definition {
    const char *name;
    void (*fill)(struct server *, struct store_table *);
    struct row_column columns[CATALOG_COLUMNS_MAX]; /* behind the arrival time */
};

bool catalog_is_name(const char *name)
{
    return strncmp(name, "M$", 2) == 0 || strncmp(name, "V$", 2) == 0;
}

/* Adds a row: an int64_t for each column of a whole number, a const char * for the others. */
static void add(struct store_table *table, ...)
{
    struct row_value values[CATALOG_COLUMNS_MAX] = {{.type = ROW_DATETIME}};
    va_list arguments;
    va_start(arguments, table);
    for (size_t c = 1; c < table->column_count; c++) {
        values[c].type = table->columns[c].type;
        if (values[c].type == ROW_VARCHAR) {
            const char *text = va_arg(arguments, const char *);
            values[c].bytes = (const uint8_t *)text;
            values[c].length = (uint32_t)strlen(text);
        } else {
            values[c].integer = va_arg(arguments, int64_t);
        }
    }
    va_end(arguments);
    (void)store_add_row(table, values);
}

static void fill_tables(struct server *server, struct store_table *table)
{
    pthread_mutex_lock(&server->store.lock);
    for (const struct store_table *t = server->store.first; t != NULL; t = t->next) {
        add(table, t->name, INT64_C(0), (int64_t)DATABASE, (int64_t)t->id, (int64_t)OWNER,
            (int64_t)t->column_count, INT64_C(0));
    }
    pthread_mutex_unlock(&server->store.lock);
}

static void fill_columns(struct server *server, struct store_table *table)
{
    pthread_mutex_lock(&server->store.lock);
    for (const struct store_table *t = server->store.first; t != NULL; t = t->next) {
        for (size_t c = 0; c < t->column_count; c++) {
            const struct row_column *column = &t->columns[c];
            const uint32_t length = row_column_size(column);
            add(table, column->name, (int64_t)column->type, (int64_t)DATABASE, (int64_t)c,
                (int64_t)length, (int64_t)t->id, INT64_C(0));
        }
        add(table, "_RID", (int64_t)ROW_INT64, (int64_t)DATABASE, (int64_t)RID_COLUMN,
            (int64_t)LENGTH_OF_RID, (int64_t)t->id, INT64_C(0));
    }
    pthread_mutex_unlock(&server->store.lock);
}

static void fill_properties(struct server *server, struct store_table *table)
{
    const unsigned most_sessions = atomic_load(&server->max_sessions);
    char most[16];
    snprintf(most, sizeof most, "%u",
             most_sessions > 0 ? most_sessions : (unsigned)DEFAULT_MOST_SESSIONS);
    add(table, "MAX_SESSION_COUNT", most);
}

static void fill_sessions(struct server *server, struct store_table *table)
{
    const unsigned sessions = atomic_load(&server->sessions);
    for (unsigned i = 0; i < sessions; i++) {
        add(table, (int64_t)i + 1, INT64_C(0), server->user);
    }
}

static void fill_version(struct server *server, struct store_table *table)
{
    (void)server;
    add(table, INT64_C(0), INT64_C(0), "STANDIN");
}

static const struct definition definitions[] = {
    {"M$SYS_TABLES",
     fill_tables,
     {{"NAME", ROW_VARCHAR, 100},
      {"TYPE", ROW_INT32, 0},
      {"DATABASE_ID", ROW_INT64, 0},
      {"ID", ROW_INT64, 0},
      {"USER_ID", ROW_INT32, 0},
      {"COLCOUNT", ROW_INT32, 0},
      {"FLAG", ROW_INT32, 0}}},
    {"M$SYS_COLUMNS",
     fill_columns,
     {{"NAME", ROW_VARCHAR, 100},
      {"TYPE", ROW_INT32, 0},
      {"DATABASE_ID", ROW_INT64, 0},
      {"ID", ROW_INT64, 0},
      {"LENGTH", ROW_INT32, 0},
      {"TABLE_ID", ROW_INT64, 0},
      {"FLAG", ROW_INT32, 0}}},
    {"V$PROPERTY", fill_properties, {{"NAME", ROW_VARCHAR, 100}, {"VALUE", ROW_VARCHAR, 256}}},
    {"V$SESSION",
     fill_sessions,
     {{"ID", ROW_INT64, 0}, {"CLOSED", ROW_INT16, 0}, {"USER_NAME", ROW_VARCHAR, 100}}},
    {"V$VERSION",
     fill_version,
     {{"BINARY_DB_MAJOR_VERSION", ROW_INT32, 0},
      {"BINARY_DB_MINOR_VERSION", ROW_INT32, 0},
      {"BINARY_SIGNATURE", ROW_VARCHAR, 100}}},
};

struct store_table *catalog_make(struct server *server, const char *name)
{
    for (size_t i = 0; i < sizeof definitions / sizeof definitions[0]; i++) {
        const struct definition *definition = &definitions[i];
        if (strcmp(definition->name, name) != 0) {
            continue;
        }
        struct row_column columns[CATALOG_COLUMNS_MAX + 1] = {{"_ARRIVAL_TIME", ROW_DATETIME, 0}};
        size_t count = 1;
        while (count <= CATALOG_COLUMNS_MAX && definition->columns[count - 1].type != 0) {
            columns[count] = definition->columns[count - 1];
            count++;
        }
        struct store_table *table = store_make_table(name, columns, count);
        if (table != NULL) {
            definition->fill(server, table);
        }
        return table;
    }
    return NULL;
}
