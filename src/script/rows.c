#include "script/internal.h"

#include <stdlib.h>

struct script_rows {
    const struct script *script;
    size_t dataset;
    size_t most_rows;
    struct batch batch;
    struct column_data *columns;
    char **values;       /* for each column, values of most_rows rows */
    struct buffer texts; /* the texts in all rows */
};

const struct table *script_load_table(const struct script *script, size_t dataset)
{
    return &script->source->load_tables[dataset];
}

struct script_rows *script_rows_create(const struct script *script, size_t dataset,
                                       size_t most_rows)
{
    const struct table *table = script_load_table(script, dataset);
    struct script_rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL) {
        return NULL;
    }
    rows->script = script;
    rows->dataset = dataset;
    rows->most_rows = most_rows;
    rows->columns = calloc(table->column_count + 1, sizeof *rows->columns);
    rows->values = calloc(table->column_count + 1, sizeof *rows->values);
    bool has_memory = rows->columns != NULL && rows->values != NULL;
    for (size_t i = 0; i < table->column_count && has_memory; i++) {
        rows->values[i] = calloc(most_rows, column_kinds[table->columns[i].type].bytes);
        rows->columns[i].values.any = rows->values[i];
        has_memory = rows->values[i] != NULL;
    }
    rows->batch = (struct batch){.table = table, .columns = rows->columns};
    if (!has_memory) {
        script_rows_destroy(rows);
        return NULL;
    }
    return rows;
}

void script_rows_destroy(struct script_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    for (size_t i = 0; rows->values != NULL && i < rows->batch.table->column_count; i++) {
        free(rows->values[i]);
    }
    free(rows->columns);
    free(rows->values);
    buffer_fini(&rows->texts);
    free(rows);
}

/* The arguments of fill_rows, which runs under lua_pcall because a function of the script may fail.
 */
struct filling {
    struct script_rows *rows;
    struct script_state *state;
    uint64_t first, step;
    size_t count;
};

static int fill_rows(lua_State *lua)
{
    const struct filling *filling = lua_touserdata(lua, 1);
    struct script_rows *rows = filling->rows;
    const struct script_dataset *dataset = &rows->script->datasets[rows->dataset];
    const struct table *table = rows->batch.table;
    const uint64_t seed = random_mix(filling->state->place.seed ^ dataset->number);
    buffer_clear(&rows->texts);
    for (size_t r = 0; r < filling->count; r++) {
        const uint64_t row = filling->first + r * filling->step;
        const uint64_t base = random_mix(seed + row);
        for (size_t i = 0, c = 0; i < dataset->column_count; i++) {
            const struct draw *draw = dataset->columns[i].value;
            if (draw == NULL) {
                continue;
            }
            struct draw_stream stream = {.base = random_mix(base + i), .row = row};
            struct draw_value value;
            union scalar scalar;
            char number[SCALAR_NUMBER_BYTES];
            if (draw_kind(draw) == DRAW_DERIVE) {
                value_push_drawn(lua, draw, &stream);
                value_check(lua, -1, &value);
            } else {
                draw_value(draw, &stream, filling->state->room, &value);
            }
            DEMAND(lua, scalar_store(&table->columns[c], &value, &scalar, number),
                   "row %I: %s does not fit column '%s' (%s)%s", (LUAI_UACINT)row,
                   value_push_shown(lua, &value), table->columns[c].name,
                   table->columns[c].type_name, value_whole_hint(&table->columns[c], &value));
            const size_t bytes = column_kinds[table->columns[c].type].bytes;
            if (column_kinds[table->columns[c].type].is == COLUMN_IS_TEXT) {
                buffer_add(&rows->texts, scalar.text.bytes, scalar.text.length);
            }
            memcpy(rows->values[c++] + r * bytes, &scalar, bytes);
            lua_settop(lua, 1);
        }
    }
    DEMAND(lua, !buffer_failed(&rows->texts), "not enough memory");
    /* set the addresses last, because the buffer moves while it grows */
    const char *at = buffer_text(&rows->texts);
    for (size_t r = 0; r < filling->count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (column_kinds[table->columns[c].type].is == COLUMN_IS_TEXT) {
                struct text_value *text = &((struct text_value *)(void *)rows->values[c])[r];
                text->bytes = at;
                at += text->length;
            }
        }
    }
    return 0;
}

const struct batch *script_rows_fill(struct script_rows *rows, struct script_state *state,
                                     uint64_t first, uint64_t step, size_t count,
                                     struct error *error)
{
    lua_State *lua = state->lua;
    struct filling filling = {rows, state, first, step, count};
    if (state->place.host == NULL) {
        state->alone_cpu_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        state->end = SCRIPT_DONE;
    }
    const int top = lua_gettop(lua); /* above 0 if a function of the script appends these rows */
    lua_pushcfunction(lua, fill_rows);
    lua_pushlightuserdata(lua, &filling);
    const int result = lua_pcall(lua, 1, 0, 0);
    if (result != LUA_OK) {
        const char *text = "the script failed";
        if (state->end == SCRIPT_WRONG) {
            text = state->why;
        } else if (lua_type(lua, -1) == LUA_TSTRING) {
            text = lua_tostring(lua, -1);
        }
        const char *name = state->script->source->chunk_name + 1;
        if (strncmp(text, name, strlen(name)) == 0) {
            error_set(error, ERROR_USAGE, 0, NULL, "%s", text);
        } else {
            error_set(error, ERROR_USAGE, 0, NULL, "%s: dataset '%s': %s", name,
                      rows->script->datasets[rows->dataset].name, text);
        }
        lua_settop(lua, top);
        return NULL;
    }
    rows->batch.row_count = count;
    return &rows->batch;
}
