#include "load/table_load.h"

#include <string.h>

uint64_t table_load_chunk_rows(const struct table_load *work, uint64_t chunk)
{
    const uint64_t left = work->dataset->rows - chunk * CHUNK_ROWS;
    return left < CHUNK_ROWS ? left : CHUNK_ROWS;
}

const char *table_load_script_name(const struct script *script)
{
    const char *slash = strrchr(script->name, '/');
    return slash == NULL ? script->name : slash + 1;
}

/* Returns where the mark of a script's table is kept. The result borrows `what`, into which this
 * function writes the part of the mark for people: the script's name and parameters. */
static struct table_mark_place mark_place(const struct plan *plan, const struct setup *setup,
                                          struct adapter_conn *conn, const char *table_name,
                                          struct buffer *what)
{
    const struct script *script = plan->script;
    buffer_add_text(what, table_load_script_name(script));
    for (size_t i = 0; i < script->param_count; i++) {
        const struct script_param *param = &script->params[i];
        if (param->is_set) {
            buffer_add_format(what, " %s=%s", param->name, param->value);
        }
    }
    return (struct table_mark_place){.adapter = plan->adapter,
                                     .conn = conn,
                                     .connection = &setup->connection,
                                     .table_name = table_name,
                                     .what = buffer_text(what),
                                     .rows = script->hash};
}

enum status table_load_read_mark(const struct plan *plan, const struct setup *setup,
                                 struct adapter_conn *conn, const char *table_name,
                                 struct table_mark *mark, struct error *error)
{
    struct buffer what = {0};
    const struct table_mark_place place = mark_place(plan, setup, conn, table_name, &what);
    const enum status status = table_mark_read(&place, mark, error);
    buffer_fini(&what);
    return status;
}

enum status table_load_write_mark(const struct plan *plan, const struct setup *setup,
                                  struct adapter_conn *conn, const struct script_dataset *dataset,
                                  bool is_new, struct error *error)
{
    const bool is_loading = is_new && dataset->rows > 0;
    struct buffer what = {0};
    const struct table_mark_place place = mark_place(plan, setup, conn, dataset->name, &what);
    const enum status status =
        table_mark_write(&place, dataset->table.columns[0].name, is_new, is_loading, error);
    buffer_fini(&what);
    return status;
}

enum status table_load_execute(const struct plan *plan, struct adapter_conn *conn,
                               struct buffer *sql, struct error *error)
{
    return buffer_failed(sql) ? table_load_no_memory(error)
                              : plan->adapter->execute(conn, buffer_text(sql), error);
}

enum status table_load_no_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for the tables of the script");
    return STATUS_FATAL;
}
