#include "script/internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    DISTINCT_MAX = 10000,
    DISTINCT_TRIES = 1000, /* maximum number of draws per value that `distinct` must return */
};

char value_null;

bool value_get(lua_State *lua, int index, struct draw_value *value)
{
    *value = (struct draw_value){.type = DRAW_IS_TEXT};
    if (lua_isinteger(lua, index)) {
        value->type = DRAW_IS_INTEGER;
        value->integer = lua_tointeger(lua, index);
    } else if (lua_type(lua, index) == LUA_TNUMBER) {
        value->type = DRAW_IS_REAL;
        value->real = lua_tonumber(lua, index);
    } else if (lua_type(lua, index) == LUA_TSTRING) {
        value->text = lua_tolstring(lua, index, &value->length);
    } else if (lua_type(lua, index) == LUA_TBOOLEAN) {
        value->type = DRAW_IS_INTEGER;
        value->integer = lua_toboolean(lua, index);
    } else {
        return false;
    }
    return true;
}

const char *value_type_hint(lua_State *lua, int index)
{
    return lua_isnil(lua, index) ? ": write null for NULL"
                                 : ": give a number, a text, true, false or null";
}

void value_check(lua_State *lua, int index, struct draw_value *value)
{
    DEMAND(lua, value_get(lua, index, value),
           "a %s cannot be a value: give a number, a text, true or false",
           value_is_null(lua, index) ? "null" : luaL_typename(lua, index));
}

static void push_value(lua_State *lua, const struct draw_value *value)
{
    switch (value->type) {
    case DRAW_IS_INTEGER:
        lua_pushinteger(lua, value->integer);
        break;
    case DRAW_IS_REAL:
        lua_pushnumber(lua, value->real);
        break;
    case DRAW_IS_TEXT:
        lua_pushlstring(lua, value->text, value->length);
        break;
    }
}

const char *value_push_shown(lua_State *lua, const struct draw_value *value)
{
    enum {
        SHOWN_MAX = 40
    };
    push_value(lua, value);
    if (value->type != DRAW_IS_TEXT) {
        return luaL_tolstring(lua, -1, NULL);
    }
    const bool is_long = value->length > SHOWN_MAX;
    lua_pushlstring(lua, value->text, is_long ? SHOWN_MAX : value->length);
    return lua_pushfstring(lua, "the text '%s%s'", lua_tostring(lua, -1), is_long ? "..." : "");
}

const char *value_whole_hint(const struct column *column, const struct draw_value *value)
{
    return value->type == DRAW_IS_REAL && column->type != COLUMN_DECIMAL &&
                   value->real != floor(value->real)
               ? ": uniform draws whole numbers only between whole numbers (1 and 5, not 1.0 and "
                 "5.0)"
               : "";
}

/* Draws a value and pushes it. For a generator made by derive, the inner value is pushed first and
 * then the script's function is called, because a drawn text is in state->room, which the function
 * may overwrite. */
void value_push_drawn(lua_State *lua, const struct draw *draw, struct draw_stream *stream)
{
    struct script_state *state = state_of(lua);
    struct draw_value value;
    luaL_checkstack(lua, 4, "too many values");
    if (draw_kind(draw) == DRAW_DERIVE) {
        lua_rawgeti(lua, LUA_REGISTRYINDEX, state->function_refs[draw_function(draw)]);
        value_push_drawn(lua, draw_inner(draw), stream);
        const bool was_deriving = state->is_deriving;
        state->is_deriving = true;
        const int result = lua_pcall(lua, 1, 1, 0);
        state->is_deriving = was_deriving;
        if (result != LUA_OK) {
            lua_error(lua);
        }
        if (!value_is_null(lua, -1)) {
            value_check(lua, -1, &value); /* raises a Lua error if the function returned something
                                             that is not a value */
        }
        return;
    }
    draw_value(draw, stream, state->room, &value);
    push_value(lua, &value);
}

static int draw_call(lua_State *lua)
{
    const struct object *object = object_check(lua, 1, OBJECT_DRAW);
    (void)sandbox_check_running(lua, "drawing");
    value_push_drawn(lua, object->draw, &state_of(lua)->stream);
    return 1;
}

static int draw_collect(lua_State *lua)
{
    struct object *object = lua_touserdata(lua, 1);
    draw_destroy(object->draw);
    object->draw = NULL;
    return 0;
}

bool value_reserve_room(struct script_state *state, size_t bytes)
{
    if (bytes > state->room_bytes || state->room == NULL) {
        char *grown = realloc(state->room, bytes + 1);
        if (grown == NULL) {
            return false;
        }
        state->room = grown;
        state->room_bytes = bytes;
    }
    return true;
}

/* Pushes an object that owns `draw`. Raises *error as a Lua error if `draw` is NULL. */
static int push_generator(lua_State *lua, struct draw *draw, const struct error *error)
{
    struct script_state *state = state_of(lua);
    DEMAND_DONE(lua, draw != NULL, error);
    /* if memory runs out here, `draw` is never freed; but then the Lua state cannot be used any
     * more */
    object_push(lua, OBJECT_DRAW, 0)->draw = draw;
    DEMAND_MEMORY(lua, value_reserve_room(state, draw_room(draw)));
    return 1;
}

static int make_row(lua_State *lua)
{
    struct error error = {.kind = ERROR_NONE};
    sandbox_check_top_level(lua, "row()");
    return push_generator(
        lua, draw_row(lua_isnoneornil(lua, 1) ? 1 : argument_integer(lua, 1, "row: base"), &error),
        &error);
}

static int make_text(lua_State *lua)
{
    struct error error = {.kind = ERROR_NONE};
    sandbox_check_top_level(lua, "text()");
    const int64_t min = argument_integer(lua, 1, "text: length");
    const int64_t max = lua_isnoneornil(lua, 2) ? min : argument_integer(lua, 2, "text: length");
    DEMAND(lua, min >= 0 && max >= min, "text: the lengths must be MIN, MAX with 0 <= MIN <= MAX");
    return push_generator(lua, draw_text((uint64_t)min, (uint64_t)max, &error), &error);
}

static int make_pattern(lua_State *lua)
{
    struct error error = {.kind = ERROR_NONE};
    sandbox_check_top_level(lua, "pattern()");
    return push_generator(lua, draw_pattern(luaL_checkstring(lua, 1), &error), &error);
}

static int make_format(lua_State *lua)
{
    enum {
        INNER_MAX = 8
    };
    struct error error = {.kind = ERROR_NONE};
    struct draw *inner[INNER_MAX];
    const int count = lua_gettop(lua) - 1;
    sandbox_check_top_level(lua, "format()");
    DEMAND(lua, count <= INNER_MAX, "format takes at most %d generators", INNER_MAX);
    for (int i = 0; i < count; i++) {
        inner[i] = object_check(lua, i + 2, OBJECT_DRAW)->draw;
        DEMAND(lua, draw_kind(inner[i]) != DRAW_DERIVE,
               "format cannot use a generator made by derive");
    }
    push_generator(
        lua, draw_format(luaL_checkstring(lua, 1), inner, count < 0 ? 0 : (size_t)count, &error),
        &error);
    /* the table keeps the inner generators alive as long as the new generator */
    lua_createtable(lua, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushvalue(lua, i + 2);
        lua_rawseti(lua, -2, i + 1);
    }
    lua_setiuservalue(lua, -2, 1);
    return 1;
}

static int make_derive(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    struct error error = {.kind = ERROR_NONE};
    sandbox_check_top_level(lua, "derive()");
    struct draw *inner = object_check(lua, 1, OBJECT_DRAW)->draw;
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    GROW(lua, state->function_refs, state->functions);
    lua_pushvalue(lua, 2);
    state->function_refs[state->functions] = luaL_ref(lua, LUA_REGISTRYINDEX);
    push_generator(lua, draw_derive(inner, (int)state->functions++, &error), &error);
    lua_pushvalue(lua, 1);
    lua_setiuservalue(lua, -2, 1);
    return 1;
}

static double option_number(lua_State *lua, int index, const char *name)
{
    double value = 0;
    if (lua_istable(lua, index)) {
        lua_getfield(lua, index, name);
        DEMAND(lua, lua_isnil(lua, -1) || lua_type(lua, -1) == LUA_TNUMBER,
               "keys: option '%s' must be a number", name);
        value = lua_tonumber(lua, -1);
        DEMAND(lua, lua_isnil(lua, -1) || value > 0, "keys: option '%s' must be above 0", name);
        lua_pop(lua, 1);
    }
    return value;
}

static int make_keys(lua_State *lua)
{
    const char *name = luaL_checkstring(lua, 1);
    struct error error = {.kind = ERROR_NONE};
    int kind = 0;
    sandbox_check_top_level(lua, "keys()");
    while (keys_kind_names[kind] != NULL && strcmp(keys_kind_names[kind], name) != 0) {
        kind++;
    }
    if (keys_kind_names[kind] == NULL) {
        luaL_Buffer text;
        luaL_buffinit(lua, &text);
        for (int i = 0; keys_kind_names[i] != NULL; i++) {
            luaL_addstring(&text, i == 0 ? "" : ", ");
            luaL_addstring(&text, keys_kind_names[i]);
        }
        luaL_pushresult(&text);
        return luaL_error(lua, "keys: unknown distribution '%s'; use one of %s", name,
                          lua_tostring(lua, -1));
    }
    static const char *const known[] = {"theta", "h", "hot_set", "hot_share", NULL};
    argument_options(lua, 4, "keys", known, 0);
    const struct keys_options options = {.theta = option_number(lua, 4, "theta"),
                                         .h = option_number(lua, 4, "h"),
                                         .hot_set = option_number(lua, 4, "hot_set"),
                                         .hot_share = option_number(lua, 4, "hot_share")};
    const struct object *counter = object_get(lua, 3, OBJECT_COUNTER);
    const int64_t from = argument_integer(lua, 2, "keys: the first key");
    const int64_t to = counter != NULL ? 0 : argument_integer(lua, 3, "keys: the last key");
    return push_generator(
        lua,
        draw_keys((enum keys_kind)kind, from, to,
                  counter != NULL ? state_of(lua)->script->counters[counter->number] : NULL,
                  &options, &error),
        &error);
}

/* Pushes a generator that draws uniformly from the range whose bounds are the numbers at the
 * indexes `first` and `last`. It draws whole numbers only if both bounds have Lua's integer type:
 * from 1 to 2, but not from 1.0 to 2. */
static int push_uniform(lua_State *lua, int first, int last)
{
    struct error error = {.kind = ERROR_NONE};
    const bool is_whole = lua_isinteger(lua, first) && lua_isinteger(lua, last);
    return push_generator(
        lua,
        is_whole ? draw_keys(KEYS_UNIFORM, lua_tointeger(lua, first), lua_tointeger(lua, last),
                             NULL, &(struct keys_options){0}, &error)
                 : draw_real(lua_tonumber(lua, first), lua_tonumber(lua, last), &error),
        &error);
}

static int make_uniform(lua_State *lua)
{
    luaL_checknumber(lua, 1);
    luaL_checknumber(lua, 2);
    sandbox_check_top_level(lua, "uniform()");
    return push_uniform(lua, 1, 2);
}

void value_push_constant(lua_State *lua, int index)
{
    int is_whole;
    const lua_Integer value = lua_tointegerx(lua, index, &is_whole);
    if (is_whole) {
        lua_pushinteger(lua, value); /* the argument becomes an integer: 5.0 becomes 5 */
        lua_replace(lua, index);
    }
    push_uniform(lua, index, index);
}

static int call_distinct(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const int64_t count = argument_integer(lua, 1, "distinct: how many");
    const struct draw *draw = object_check(lua, 2, OBJECT_DRAW)->draw;
    (void)sandbox_check_running(lua, "distinct");
    DEMAND(lua, count >= 0 && count <= DISTINCT_MAX,
           "distinct: the number of values must be 0 to %d", DISTINCT_MAX);
    lua_createtable(lua, (int)count, 0); /* list of the values, at index 3 */
    lua_createtable(lua, 0, (int)count); /* the same values as keys of a table, at index 4 */
    int64_t left = count * DISTINCT_TRIES;
    for (int64_t i = 1; i <= count;) {
        DEMAND(lua, left-- > 0,
               "distinct: the generator cannot draw %I different values: ask for fewer",
               (LUAI_UACINT)count);
        value_push_drawn(lua, draw, &state->stream);
        lua_pushvalue(lua, 5);
        if (lua_rawget(lua, 4) == LUA_TNIL) {
            lua_pushvalue(lua, 5);
            lua_rawseti(lua, 3, i++);
            lua_pushvalue(lua, 5);
            lua_pushboolean(lua, 1);
            lua_rawset(lua, 4);
        }
        lua_settop(lua, 4);
    }
    lua_settop(lua, 3);
    return 1;
}

/* Pushes the text of a light userdata. Scripts can see only two light userdata: null and the error
 * object of sandbox_end. */
static int light_to_string(lua_State *lua)
{
    lua_pushstring(lua, value_is_null(lua, 1) ? "NULL" : "end of the transaction");
    return 1;
}

void values_open(lua_State *lua)
{
    static const luaL_Reg methods[] = {{NULL, NULL}};
    static const luaL_Reg meta[] = {{"__call", draw_call}, {"__gc", draw_collect}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"row", make_row},       {"text", make_text},         {"pattern", make_pattern},
        {"format", make_format}, {"derive", make_derive},     {"uniform", make_uniform},
        {"keys", make_keys},     {"distinct", call_distinct}, {NULL, NULL},
    };
    sandbox_add(lua, functions);
    object_class(lua, OBJECT_DRAW, methods, meta);
    lua_pushlightuserdata(lua, &value_null);
    lua_createtable(lua, 0, 2); /* the metatable of all light userdata */
    lua_pushcfunction(lua, light_to_string);
    lua_setfield(lua, -2, "__tostring");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_setglobal(lua, "null");
}
