#include "script/internal.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"

enum {
    ANSWER_BYTES_MAX = 4 << 20, /* maximum size of an answer that :all may read */
    PRINT_LINES_MAX = 100,      /* maximum number of printed lines in a second, for all sessions */
    PRINT_BYTES = 1000,         /* maximum length of a printed line; the rest is cut off */
};

/* A number that the current transaction took from a counter. */
struct taken {
    struct counter *counter;
    uint64_t number;
};

/* Ends the current call of the script if a call of the host failed. */
static void require_ok(lua_State *lua, enum status status)
{
    if (status != STATUS_OK) {
        sandbox_end(lua, SCRIPT_FAILED);
    }
}

/* Converts the arguments from 2 on to a batch of one row. If argument 2 is a table and the last
 * argument, converts the table's entries instead. A drawn value replaces its generator on the
 * stack, so that its text stays alive. */
static void bind_values(lua_State *lua, struct script_state *state, size_t number,
                        struct batch *batch)
{
    const struct script_statement *statement = &state->script->statements[number];
    const struct table *types = &statement->parameters;
    if (lua_gettop(lua) == 2 && lua_istable(lua, 2)) {
        const lua_Integer count = (lua_Integer)lua_rawlen(lua, 2);
        luaL_checkstack(lua, (int)count + 8, "too many values");
        for (lua_Integer i = 1; i <= count; i++) {
            lua_rawgeti(lua, 2, i);
        }
        lua_remove(lua, 2);
    }
    const int given = lua_gettop(lua) - 1, count = (int)types->column_count;
    DEMAND(lua, given == count, "statement '%s' takes %d value%s, got %d", statement->name, count,
           count == 1 ? "" : "s", given);
    for (int at = 2; at < count + 2; at++) {
        const struct object *object = object_get(lua, at, OBJECT_DRAW);
        if (object != NULL) {
            value_push_drawn(lua, object->draw, &state->stream);
            lua_replace(lua, at);
        }
    }
    for (int i = 0; i < count; i++) {
        struct draw_value value;
        state->nulls[i] = value_is_null(lua, i + 2);
        /* discard the value of an earlier statement */
        memset(&state->scalars[i], 0, sizeof state->scalars[i]);
        if (!state->nulls[i]) {
            const struct column *column = &types->columns[i];
            DEMAND(lua, value_get(lua, i + 2, &value), "statement '%s': value %d is a %s%s",
                   statement->name, i + 1, luaL_typename(lua, i + 2), value_type_hint(lua, i + 2));
            DEMAND(lua, scalar_store(column, &value, &state->scalars[i], state->numbers[i]),
                   "statement '%s': value %d is %s, not %s %s%s", statement->name, i + 1,
                   value_push_shown(lua, &value), column->type_name[0] == 'i' ? "an" : "a",
                   column->type_name, value_whole_hint(column, &value));
        }
    }
    *batch = (struct batch){.table = types, .row_count = 1, .columns = state->columns};
}

/* Copies the cells of a row. Must not call Lua, because the adapter calls this function and a Lua
 * error would jump over the adapter's code. */
static bool copy_cells(void *context, const struct cell *cells, size_t count)
{
    struct script_state *state = context;
    struct buffer *kept = &state->cells;
    state->is_answer_full = kept->length > ANSWER_BYTES_MAX;
    state->is_answer_uneven = state->cell_rows > 0 && count != state->cell_count;
    if (state->is_answer_full || state->is_answer_uneven) {
        return false;
    }
    state->cell_count = count;
    state->cell_rows++;
    for (size_t i = 0; i < count; i++) {
        buffer_add(kept, &cells[i], sizeof cells[i]);
        if (!cells[i].is_null && cells[i].type != COLUMN_INT64) {
            buffer_add(kept, cells[i].as.text.bytes, cells[i].as.text.length);
        }
    }
    return true;
}

static bool copy_first_row(void *context, const struct cell *cells, size_t count)
{
    struct script_state *state = context;
    return state->cell_rows > 0 || copy_cells(context, cells, count);
}

/* Runs the statement and returns the number of rows. `take` receives the rows of the answer; if
 * `take` is NULL, the rows are discarded. If the statement failed because of a duplicate key and
 * host->forgive returns true, sets *is_duplicate and returns 0. If is_duplicate is NULL, a
 * duplicate key ends the current call of the script. */
static uint64_t run_statement(lua_State *lua, bool (*take)(void *, const struct cell *, size_t),
                              bool *is_duplicate)
{
    struct script_state *state = state_of(lua);
    const size_t number = (size_t)object_check(lua, 1, OBJECT_STATEMENT)->number;
    const struct script_host *host = sandbox_check_running(lua, "a statement");
    struct batch batch;
    struct answer answer = {.take = take, .context = state};
    bind_values(lua, state, number, &batch);
    buffer_clear(&state->cells);
    state->cell_rows = state->cell_count = 0;
    state->is_answer_full = state->is_answer_uneven = false;
    const bool has_values = batch.table->column_count > 0;
    const enum status status =
        host->run(host->context, number, has_values ? &batch : NULL, &answer);
    if (is_duplicate != NULL && status == STATUS_REJECTED && host->forgive != NULL &&
        host->forgive(host->context)) {
        *is_duplicate = true;
        return 0;
    }
    require_ok(lua, status);
    DEMAND_MEMORY(lua, !buffer_failed(&state->cells));
    DEMAND(lua, !state->is_answer_uneven,
           "statement '%s' returns rows with different numbers of columns: use :run, which "
           "discards the rows",
           state->script->statements[number].name);
    DEMAND(lua, !state->is_answer_full,
           "statement '%s' returns more than %d MiB: read fewer rows, or use :run, which discards "
           "the rows",
           state->script->statements[number].name, ANSWER_BYTES_MAX >> 20);
    return answer.rows;
}

/* Pushes the cells of the row at *at and moves *at to the next row. */
static void push_cells(lua_State *lua, const struct script_state *state, size_t *at)
{
    luaL_checkstack(lua, (int)state->cell_count + 4, "too many columns");
    for (size_t i = 0; i < state->cell_count; i++) {
        struct cell cell;
        memcpy(&cell, state->cells.bytes + *at, sizeof cell);
        *at += sizeof cell;
        if (cell.is_null) {
            lua_pushlightuserdata(lua, &value_null);
        } else if (cell.type == COLUMN_INT64) {
            lua_pushinteger(lua, cell.as.int64);
        } else {
            lua_pushlstring(lua, state->cells.bytes + *at, cell.as.text.length);
            *at += cell.as.text.length;
        }
    }
}

static int statement_run(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)run_statement(lua, NULL, NULL));
    return 1;
}

static int statement_one(lua_State *lua)
{
    const struct script_state *state = state_of(lua);
    size_t at = 0;
    run_statement(lua, copy_first_row, NULL);
    if (state->cell_rows == 0) {
        return 0;
    }
    push_cells(lua, state, &at);
    return (int)state->cell_count;
}

static int statement_all(lua_State *lua)
{
    const struct script_state *state = state_of(lua);
    size_t at = 0;
    run_statement(lua, copy_cells, NULL);
    lua_createtable(lua, (int)state->cell_rows, 0);
    for (size_t row = 1; row <= state->cell_rows; row++) {
        lua_createtable(lua, (int)state->cell_count, 0);
        push_cells(lua, state, &at);
        for (size_t i = state->cell_count; i > 0; i--) {
            lua_rawseti(lua, -1 - (int)i, (lua_Integer)i);
        }
        lua_rawseti(lua, -2, (lua_Integer)row);
    }
    return 1;
}

static int statement_try(lua_State *lua)
{
    bool is_duplicate = false;
    const uint64_t rows = run_statement(lua, NULL, &is_duplicate);
    if (is_duplicate) {
        lua_pushnil(lua);
        lua_pushliteral(lua, "duplicate");
        return 2;
    }
    lua_pushinteger(lua, (lua_Integer)rows);
    return 1;
}

static int dataset_append(lua_State *lua)
{
    const struct object *dataset = object_check(lua, 1, OBJECT_DATASET);
    const struct script_host *host = sandbox_check_running(lua, "append");
    const int64_t rows = argument_integer(lua, 2, "append: rows");
    DEMAND(lua, rows > 0, "append: the number of rows must be 1 or more, not %I",
           (LUAI_UACINT)rows);
    require_ok(lua, host->append(host->context, (size_t)dataset->number, (uint64_t)rows));
    return 0;
}

static int dataset_count(lua_State *lua)
{
    const struct object *dataset = object_check(lua, 1, OBJECT_DATASET);
    const struct script_host *host = sandbox_check_running(lua, "count");
    uint64_t rows = 0;
    require_ok(lua, host->count(host->context, (size_t)dataset->number, &rows));
    lua_pushinteger(lua, (lua_Integer)rows);
    return 1;
}

/* Takes a number of the counter. A retry takes the same numbers as the first try. */
static int counter_call_next(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    struct counter *counter = state->script->counters[object_check(lua, 1, OBJECT_COUNTER)->number];
    (void)sandbox_check_running(lua, "a counter");
    struct taken *taken = state->taken;
    if (state->taken_at < state->taken_count && taken[state->taken_at].counter == counter) {
        lua_pushinteger(lua, (lua_Integer)taken[state->taken_at++].number);
        return 1;
    }
    if (state->taken_count == state->taken_capacity) {
        const size_t capacity = 2 * state->taken_capacity + 4;
        taken = realloc(taken, capacity * sizeof *taken);
        DEMAND_MEMORY(lua, taken != NULL);
        state->taken = taken;
        state->taken_capacity = capacity;
    }
    uint64_t value;
    DEMAND(lua, counter_next(counter, &value),
           "this counter has no free number, because a transaction that took a number long ago "
           "still runs: call next later in that transaction");
    taken[state->taken_count++] = (struct taken){counter, value};
    state->taken_at = state->taken_count;
    lua_pushinteger(lua, (lua_Integer)value);
    return 1;
}

static int call_check(lua_State *lua)
{
    const struct script_host *host = sandbox_check_running(lua, "check");
    const char *text = luaL_optstring(lua, 2, "");
    host->check(host->context, lua_toboolean(lua, 1), text);
    lua_settop(lua, 1);
    return 1;
}

static int call_found(lua_State *lua)
{
    const struct script_host *host = sandbox_check_running(lua, "found");
    host->found(host->context, lua_toboolean(lua, 1));
    lua_settop(lua, 1);
    return 1;
}

/* metric:add(value): without a value a count grows by 1. */
static int metric_add(lua_State *lua)
{
    const struct script_state *state = state_of(lua);
    const size_t number = (size_t)object_check(lua, 1, OBJECT_METRIC)->number;
    const struct script_metric *metric = &state->script->metrics[number];
    const char *kind = script_metric_kinds[metric->kind];
    DEMAND(lua, !state->is_deriving,
           "%s '%s': add() works only in a transaction's function, not in the function of a "
           "derive()",
           kind, metric->name);
    const struct script_host *host = sandbox_check_running(lua, "add");
    int is_number = 1;
    const double value =
        lua_isnone(lua, 2) && metric->kind == SCRIPT_COUNT ? 1 : lua_tonumberx(lua, 2, &is_number);
    const char *given = lua_istable(lua, 2) ? "a table" : "nothing";
    if (!lua_isnone(lua, 2) && !lua_istable(lua, 2)) {
        given = luaL_tolstring(lua, 2, NULL);
    }
    DEMAND(lua, is_number, "%s '%s': add takes a number, not %s", kind, metric->name, given);
    DEMAND(lua, isfinite(value), "%s '%s': add takes a finite number, not %f", kind, metric->name,
           (LUAI_UACNUMBER)value);
    DEMAND(lua, metric->kind != SCRIPT_COUNT || value >= 0,
           "count '%s': add takes 0 or more, not %f: a count only grows; use a gauge", metric->name,
           (LUAI_UACNUMBER)value);
    host->measure(host->context, number, value);
    return 0;
}

/* Converts the Lua value at `index`, a number of seconds from 0 to 86400, to ns. Raises a Lua error
 * for any other value. */
static int64_t check_seconds(lua_State *lua, int index, const char *what)
{
    double seconds = 0;
    struct draw_value value;
    value_check(lua, index, &value);
    DEMAND(lua, scalar_to_real(&value, &seconds) && seconds >= 0 && seconds <= 86400,
           "%s must be a number of seconds from 0 to 86400", what);
    return (int64_t)(seconds * (double)MONO_NS_PER_S);
}

static int call_think(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const struct script_host *host = sandbox_check_running(lua, "think");
    const struct object *object = object_get(lua, 1, OBJECT_DRAW);
    if (object != NULL) {
        value_push_drawn(lua, object->draw, &state->stream);
        lua_replace(lua, 1);
    }
    if (host->think(host->context, check_seconds(lua, 1, "think: the argument")) != STATUS_OK) {
        return sandbox_end(lua, SCRIPT_STOPPED);
    }
    return 0;
}

static int call_rollback(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const struct script_host *host = sandbox_check_running(lua, "rollback");
    DEMAND(lua, host->can_roll_back(host->context),
           "rollback: the transaction has written in autocommit mode, which cannot be undone: call "
           "rollback before the first write");
    snprintf(state->why, sizeof state->why, "%s", luaL_optstring(lua, 1, "rollback"));
    return sandbox_end(lua, SCRIPT_ROLLBACK);
}

static int call_list(lua_State *lua)
{
    const int64_t count = argument_integer(lua, 1, "list: how many");
    const char *text = luaL_checkstring(lua, 2);
    luaL_Buffer buffer;
    DEMAND(lua, count >= 1 && count <= 65535, "list: the number of items must be 1 to 65535");
    luaL_buffinit(lua, &buffer);
    for (int64_t i = 0; i < count; i++) {
        luaL_addstring(&buffer, i == 0 ? "" : ", ");
        luaL_addstring(&buffer, text);
    }
    luaL_pushresult(&buffer);
    return 1;
}

static int call_fnv(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)draw_fnv(argument_integer(lua, 1, "fnv: the number")));
    return 1;
}

/* The lines that print has written in the current second, for all sessions. */
static struct {
    pthread_mutex_t lock;
    int64_t second;
    unsigned lines;
    /* number of lines that were left out since the last report of this number */
    uint64_t left_out;
} printed = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns whether a line may be printed now. *left_out becomes the number of earlier lines that
 * were left out, or 0 if this line must not be printed. */
static bool may_print(uint64_t *left_out)
{
    const int64_t second = mono_now_ns() / MONO_NS_PER_S;
    pthread_mutex_lock(&printed.lock);
    printed.lines = second == printed.second ? printed.lines : 0;
    printed.second = second;
    const bool may = printed.lines < PRINT_LINES_MAX;
    *left_out = may ? printed.left_out : 0;
    printed.left_out = may ? 0 : printed.left_out + 1;
    printed.lines += may ? 1 : 0;
    pthread_mutex_unlock(&printed.lock);
    return may;
}

static void say_left_out(uint64_t left_out)
{
    if (left_out > 0) {
        notice_print("append: %" PRIu64 " %s of print left out: at most %d a second are shown",
                     left_out, units_plural(left_out, "line", "lines"), PRINT_LINES_MAX);
    }
}

void script_print_end(void)
{
    pthread_mutex_lock(&printed.lock);
    const uint64_t left_out = printed.left_out;
    printed.left_out = 0;
    pthread_mutex_unlock(&printed.lock);
    say_left_out(left_out);
}

/* print(...): writes its arguments to standard error, with the script's line and the session. */
static int call_print(lua_State *lua)
{
    const struct script_state *state = state_of(lua);
    const int count = lua_gettop(lua);
    uint64_t left_out;
    if (!may_print(&left_out)) {
        return 0;
    }
    say_left_out(left_out);
    luaL_Buffer buffer;
    luaL_buffinit(lua, &buffer);
    for (int i = 1; i <= count; i++) {
        luaL_addstring(&buffer, i == 1 ? "" : " ");
        luaL_tolstring(lua, i, NULL);
        luaL_addvalue(&buffer);
    }
    luaL_pushresult(&buffer);
    luaL_where(lua, 1);
    char text[PRINT_BYTES];
    snprintf(text, sizeof text, "%s", lua_tostring(lua, -2));
    for (char *at = text; *at != '\0'; at++) {
        /* replaces line breaks and control characters: the text stays one line, and cannot
         * control a terminal */
        if ((unsigned char)*at < ' ' || *at == 0x7F) {
            *at = ' ';
        }
    }
    const char *place = lua_tostring(lua, -1); /* the place in the form "folder/x.lua:3: " */
    const char *slash = strrchr(place, '/');
    notice_print("append: %.200ssession %u: %s", slash == NULL ? place : slash + 1,
                 state->place.session, text);
    return 0;
}

void run_open(lua_State *lua)
{
    static const luaL_Reg dataset_methods[] = {
        {"append", dataset_append}, {"count", dataset_count}, {NULL, NULL}};
    static const luaL_Reg counter_methods[] = {{"next", counter_call_next}, {NULL, NULL}};
    static const luaL_Reg metric_methods[] = {{"add", metric_add}, {NULL, NULL}};
    static const luaL_Reg statement_methods[] = {{"run", statement_run},
                                                 {"one", statement_one},
                                                 {"all", statement_all},
                                                 {"try", statement_try},
                                                 {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"check", call_check},       {"found", call_found}, {"think", call_think},
        {"rollback", call_rollback}, {"list", call_list},   {"fnv", call_fnv},
        {"print", call_print},       {NULL, NULL},
    };
    sandbox_add(lua, functions);
    object_class(lua, OBJECT_DATASET, dataset_methods, NULL);
    object_class(lua, OBJECT_COUNTER, counter_methods, NULL);
    object_class(lua, OBJECT_METRIC, metric_methods, NULL);
    object_class(lua, OBJECT_STATEMENT, statement_methods, NULL);
}

/* Returns the base of the stream for the session's transaction number `turn`. */
static uint64_t base_of(const struct script_state *state, uint64_t turn)
{
    return random_mix(random_mix(state->place.seed + RANDOM_STEP * (state->place.session + 1)) +
                      turn);
}

size_t script_choose(const struct script_state *state, uint64_t turn)
{
    const struct script *script = state->script;
    /* the choice has a stream of its own, different from the stream of the transaction's
     * function */
    struct draw_stream stream = {.base = ~base_of(state, turn)};
    double sum = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < script->transaction_count; i++) {
        sum += script->transactions[i].weight;
    }
    double at = script->transaction_count > 1 ? draw_unit(&stream) * sum : 0;
    for (size_t i = 0; i < script->transaction_count; i++) {
        if (script->transactions[i].weight > 0) {
            chosen = i;
            if (at < script->transactions[i].weight) {
                break;
            }
            at -= script->transactions[i].weight;
        }
    }
    return chosen;
}

static enum script_end call(struct script_state *state, int reference, struct error *error)
{
    state->end = SCRIPT_DONE;
    state->is_ending = false;
    lua_settop(state->lua, 0);
    lua_rawgeti(state->lua, LUA_REGISTRYINDEX, reference);
    return sandbox_finish(state, lua_pcall(state->lua, 0, 0, 0), error);
}

/* The arguments of draw_pause, which runs under lua_pcall because a function of the script may
 * fail. */
struct pausing {
    const struct script_transaction *transaction;
    int64_t ns;
};

static int draw_pause(lua_State *lua)
{
    struct pausing *pausing = lua_touserdata(lua, 1);
    char what[SCRIPT_NAME_BYTES + 40];
    snprintf(what, sizeof what, "transaction '%s': the pause", pausing->transaction->name);
    value_push_drawn(lua, pausing->transaction->pause, &state_of(lua)->stream);
    pausing->ns = check_seconds(lua, -1, what);
    return 0;
}

enum script_end script_pause(struct script_state *state, size_t transaction, uint64_t turn,
                             int64_t *ns, struct error *error)
{
    struct pausing pausing = {.transaction = &state->script->transactions[transaction]};
    enum script_end end = SCRIPT_DONE;
    if (pausing.transaction->pause != NULL) {
        /* the pause has a stream of its own, different from the stream of the transaction's
         * function */
        state->stream =
            (struct draw_stream){.base = random_mix(~base_of(state, turn)),
                                 .row = turn * state->place.sessions + state->place.session};
        state->end = SCRIPT_DONE;
        state->is_ending = false;
        lua_settop(state->lua, 0);
        lua_pushcfunction(state->lua, draw_pause);
        lua_pushlightuserdata(state->lua, &pausing);
        end = sandbox_finish(state, lua_pcall(state->lua, 1, 0, 0), error);
    }
    *ns = pausing.ns;
    return end;
}

enum script_end script_try(struct script_state *state, size_t transaction, uint64_t turn,
                           struct error *error)
{
    state->taken_at = 0;
    state->stream = (struct draw_stream){
        .base = base_of(state, turn), .row = turn * state->place.sessions + state->place.session};
    return call(state, state->transaction_refs[transaction], error);
}

void script_transaction_ended(struct script_state *state)
{
    for (size_t i = 0; i < state->taken_count; i++) {
        counter_end(state->taken[i].counter, state->taken[i].number);
    }
    state->taken_count = state->taken_at = 0;
}

enum script_end script_connected(struct script_state *state, struct error *error)
{
    enum script_end end = SCRIPT_DONE;
    state->stream = (struct draw_stream){.base = ~base_of(state, UINT64_MAX)};
    state->is_connecting = true;
    state->alone_cpu_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < state->hooks_of_session && end == SCRIPT_DONE; i++) {
        end = call(state, state->session_refs[i], error);
    }
    state->is_connecting = false;
    /* on_session is not retried, so the numbers that it took from counters need not be kept */
    script_transaction_ended(state);
    return end;
}
