#include "script/internal.h"

#include <stdlib.h>

struct script_rows {
    const struct script *script;
    size_t dataset;
    size_t most_rows;
    struct batch batch;
    struct column_data *columns;
    char **values;       /* for each column, the values of most_rows rows */
    uint8_t **nulls;     /* for each column and row, whether the value is NULL */
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
    rows->nulls = calloc(table->column_count + 1, sizeof *rows->nulls);
    bool has_memory = rows->columns != NULL && rows->values != NULL && rows->nulls != NULL;
    for (size_t i = 0; i < table->column_count && has_memory; i++) {
        rows->values[i] = calloc(most_rows, column_kinds[table->columns[i].type].bytes);
        rows->nulls[i] = calloc(most_rows, sizeof *rows->nulls[i]);
        rows->columns[i].values.any = rows->values[i];
        has_memory = rows->values[i] != NULL && rows->nulls[i] != NULL;
    }
    rows->batch = (struct batch){.table = table, .columns = rows->columns};
    if (!has_memory) {
        script_rows_destroy(rows);
        return NULL;
    }
    const struct script_dataset *declared = &script->datasets[dataset];
    for (size_t i = 0, c = 0; i < declared->column_count; i++) {
        const struct draw *draw = declared->columns[i].value;
        /* only a generator with a function of the script makes NULLs */
        if (draw != NULL && draw_kind(draw) == DRAW_DERIVE && table->columns[c].is_nullable) {
            rows->columns[c].is_null = rows->nulls[c];
        }
        c += draw != NULL ? 1 : 0;
    }
    return rows;
}

void script_rows_destroy(struct script_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    const size_t count = script_load_table(rows->script, rows->dataset)->column_count;
    for (size_t i = 0; i < count; i++) {
        free(rows->values == NULL ? NULL : rows->values[i]);
        free(rows->nulls == NULL ? NULL : rows->nulls[i]);
    }
    free(rows->columns);
    free(rows->values);
    free(rows->nulls);
    buffer_fini(&rows->texts);
    free(rows);
}

/* Draws the value of a column. Returns false if the value is NULL. */
static bool draw_cell(lua_State *lua, const struct draw *draw, struct draw_stream *stream,
                      struct draw_value *value)
{
    if (draw_kind(draw) != DRAW_DERIVE) {
        draw_value(draw, stream, state_of(lua)->room, value);
        return true;
    }
    value_push_drawn(lua, draw, stream);
    if (value_is_null(lua, -1)) {
        return false;
    }
    value_check(lua, -1, value);
    return true;
}

/* The arguments of fill_rows, which runs under lua_pcall because a function of the script may
 * fail. */
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
            union scalar scalar = {.int64 = 0};
            char number[SCALAR_NUMBER_BYTES];
            const struct column *column = &table->columns[c];
            const size_t bytes = column_kinds[column->type].bytes;
            const bool is_null = !draw_cell(lua, draw, &stream, &value);
            DEMAND(lua, !is_null || column->is_nullable, "row %I: column '%s' cannot be NULL",
                   (LUAI_UACINT)row, column->name);
            DEMAND(lua, is_null || scalar_store(column, &value, &scalar, number),
                   "row %I: %s does not fit column '%s' (%s)%s", (LUAI_UACINT)row,
                   value_push_shown(lua, &value), column->name, column->type_name,
                   value_whole_hint(column, &value));
            if (is_null) {
                memset(&scalar, 0, sizeof scalar);
            } else if (column_kinds[column->type].is == COLUMN_IS_TEXT) {
                buffer_add(&rows->texts, scalar.text.bytes, scalar.text.length);
            }
            rows->nulls[c][r] = is_null;
            memcpy(rows->values[c++] + r * bytes, &scalar, bytes);
            lua_settop(lua, 1);
        }
    }
    DEMAND_MEMORY(lua, !buffer_failed(&rows->texts));
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
    /* greater than 0 if a function of the script called append(), which called this function */
    const int top = lua_gettop(lua);
    lua_pushcfunction(lua, fill_rows);
    lua_pushlightuserdata(lua, &filling);
    const int result = lua_pcall(lua, 1, 0, 0);
    if (result != LUA_OK) {
        const char *text = "the script failed";
        enum error_kind kind = ERROR_USAGE;
        if (result == LUA_ERRMEM && state->end == SCRIPT_DONE) {
            sandbox_note_memory(state);
        }
        if (result == LUA_ERRMEM || state->end == SCRIPT_WRONG) {
            text = state->why;
            kind = state->why_kind;
        } else if (lua_type(lua, -1) == LUA_TSTRING) {
            text = lua_tostring(lua, -1);
        }
        const char *name = state->script->source->chunk_name + 1;
        if (strncmp(text, name, strlen(name)) == 0) {
            error_set(error, kind, 0, NULL, "%s", text);
        } else {
            error_set(error, kind, 0, NULL, "%s: dataset '%s': %s", name,
                      rows->script->datasets[rows->dataset].name, text);
        }
        lua_settop(lua, top);
        return NULL;
    }
    rows->batch.row_count = count;
    return &rows->batch;
}
