#include "load/table_load.h"

#include <inttypes.h>
#include <string.h>

#include "plan/facts.h"

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

/* The texts that struct table_mark_place borrows. */
struct mark_texts {
    struct buffer what; /* for the user: the script's name and parameters */
    struct buffer rows; /* the script's hash, and the seed if the user gave it */
};

static void free_texts(struct mark_texts *texts)
{
    buffer_fini(&texts->what);
    buffer_fini(&texts->rows);
}

/* Returns the data for reading and writing the mark of a script's table. Writes the texts of the
 * mark to *texts, which the caller frees. A seed that the user did not give is not part of the
 * mark, because a resumed load chooses a different seed. */
static struct table_mark_place mark_place(const struct plan *plan, const struct setup *setup,
                                          struct adapter_conn *conn, const char *table_name,
                                          struct mark_texts *texts)
{
    struct buffer *const what = &texts->what;
    const struct script *script = plan->script;
    buffer_add_text(what, table_load_script_name(script));
    for (size_t i = 0; i < script->param_count; i++) {
        const struct script_param *param = &script->params[i];
        if (param->is_set) {
            buffer_add_format(what, " %s=%s", param->name, param->value);
        }
    }
    buffer_add_text(&texts->rows, script->hash);
    if (plan->is_seed_given) {
        buffer_add_format(&texts->rows, " seed %" PRIu64, plan->facts->seed);
    }
    return (struct table_mark_place){.adapter = plan->adapter,
                                     .conn = conn,
                                     .connection = &setup->connection,
                                     .table_name = table_name,
                                     .what = buffer_text(what),
                                     .rows = buffer_text(&texts->rows)};
}

enum status table_load_read_mark(const struct plan *plan, const struct setup *setup,
                                 struct adapter_conn *conn, const char *table_name,
                                 struct table_mark *mark, struct error *error)
{
    struct mark_texts texts = {.what = {0}};
    const struct table_mark_place place = mark_place(plan, setup, conn, table_name, &texts);
    const enum status status = table_mark_read(&place, mark, error);
    free_texts(&texts);
    return status;
}

enum status table_load_write_mark(const struct plan *plan, const struct setup *setup,
                                  struct adapter_conn *conn, const struct table_load *work,
                                  bool is_loading, struct error *error)
{
    const struct script_dataset *dataset = work->dataset;
    const bool is_new = work->is_made && (is_loading || dataset->rows == 0);
    struct mark_texts texts = {.what = {0}};
    const struct table_mark_place place = mark_place(plan, setup, conn, dataset->name, &texts);
    const enum status status =
        table_mark_write(&place, dataset->table.columns[0].name, is_new, is_loading, error);
    free_texts(&texts);
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
