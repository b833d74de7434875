#include "script/script.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/ask.h"
#include "base/mono.h"
#include "base/process.h"
#include "base/text.h"
#include "script/scalar.h"

enum {
    SOURCE_BYTES_MAX = 1 << 20,
    STATE_BYTES_MAX = 8 << 20,  /* that one state may allocate */
    ANSWER_BYTES_MAX = 4 << 20, /* that :all may read */
    HOOK_INSTRUCTIONS = 10000,  /* between two looks at whether the run has ended */
    ELEMENTS_MAX = 1000000,     /* of a table, that a function of the library goes through */
    GC_PAUSE = 110,             /* percent: a state that is collected early is a third smaller */
    OPERATION_NAMES_MAX = 40,
    COLUMN_NAME_BYTES = 64,
    DISTINCT_MAX = 10000,
    DISTINCT_TRIES = 1000, /* draws for each value */
};

/* CPU time of a function where there is no run to end it: of the top level, of one that makes a
 * value. */
#define ALONE_NS (10 * MONO_NS_PER_S)

/* A function that goes on for so long after the run has ended is cut off at its next call of the
 * host; where it computed for so long meanwhile without one, it does not return. */
#define ENDING_NS MONO_NS_PER_S
#define ENDING_CPU_NS (10 * MONO_NS_PER_MS)

/* How often it is looked whether the top level has to end. */
#define LOOK_NS (20 * MONO_NS_PER_MS)

/* That functions of C go through between two looks at the time: some milliseconds' worth. */
#define BYTES_BETWEEN 1e7

/* Their addresses: what a function of the script is ended with where it is no message, null, and
 * names in the registry. */
static char signal, null_value, table_sort;

/* Full userdata: only made here, so that its first member tells what it is. */
enum object_kind {
    OBJECT_DRAW,
    OBJECT_DATASET,
    OBJECT_COUNTER,
    OBJECT_STATEMENT,
    OBJECT_KINDS,
};
struct object {
    enum object_kind kind;
    int number;        /* of all but a draw */
    struct draw *draw; /* owned */
};
static const char *const object_names[OBJECT_KINDS] = {"generator", "dataset", "counter",
                                                       "statement"};

struct script_source {
    char *text; /* owned, as are all below */
    size_t length;
    char *chunk_name;          /* "@oltp.lua" */
    struct buffer code;        /* the chunk as sessions load it */
    struct script_state *main; /* it declared: draws and functions live in it */
    struct buffer *strings;    /* names and texts, a block each */
    size_t string_count;
    struct table *load_tables; /* of datasets: the columns that the load writes */
    char **sets;               /* of --set; copies: a thread that is left behind may read them */
    size_t set_count;
    bool *has_used;       /* each set's name was a parameter: by place of its comma */
    atomic_bool is_left;  /* nobody waits any more for the thread that runs the top level */
    pthread_mutex_t lock; /* of the two below, and of slow_place of `main` while it declares */
    char *dialect;
    struct statement *statements; /* for that dialect */
};

/* A statement with ${session} in it. */
struct own_statement {
    size_t number;
    struct statement statement;
    char *sql; /* owned */
};

struct taken {
    struct counter *counter;
    uint64_t number;
};

struct script_state {
    lua_State *lua;
    const struct script *script; /* borrowed */
    struct script *made;         /* the same while it is being declared, else NULL */
    struct script_place place;
    size_t used_bytes;                /* by Lua */
    int64_t alone_cpu_ns;             /* when the top level or a batch of rows was begun */
    bool is_ending;                   /* the run has ended, and this goes on */
    int64_t ending_ns, ending_cpu_ns; /* when that was seen */
    bool is_declaring;                /* the top level runs */
    bool is_connecting;               /* on_session: the run may not have begun */
    enum script_end end; /* what ended the try, be it that pcall caught it; DONE: nothing yet */
    char why[ERROR_TEXT_BYTES]; /* of a rollback, or of SCRIPT_WRONG */
    double bytes_seen;          /* by functions of C, since the time was looked at */
    char slow_place[80];        /* "x.lua:3", of the call of a pattern that may take long */

    /* What was declared so far; in a session it must be the same again. */
    size_t params, datasets, counters, statement_count, transactions, functions, hooks_of_session;
    int *function_refs;    /* of derive */
    int *transaction_refs; /* of bodies */
    int *session_refs;     /* of on_session */

    const struct statement *statements; /* shared */
    struct own_statement *own;          /* owned */
    size_t own_count;

    struct draw_stream stream;
    struct taken *taken; /* numbers of counters, in the order in which this turn took them */
    size_t taken_count, taken_capacity, taken_at;

    union scalar *scalars; /* of the parameters of a call: one block with the three below */
    struct column_data *columns;
    char (*numbers)[SCALAR_NUMBER_BYTES]; /* for texts */
    uint8_t *nulls;
    char *room; /* for the longest text that is drawn */
    size_t room_bytes;
    struct buffer cells; /* of an answer: struct cell, then their texts */
    size_t cell_count, cell_rows;
    bool is_answer_full;
};

static struct script_state *state_of(lua_State *lua)
{
    return *(struct script_state **)lua_getextraspace(lua);
}

/* luaL_error, for a compiler that does not know that it never returns. */
static _Noreturn void refuse(lua_State *lua, const char *format, ...)
{
    va_list arguments;
    luaL_where(lua, 1);
    va_start(arguments, format);
    lua_pushvfstring(lua, format, arguments);
    va_end(arguments);
    lua_concat(lua, 2);
    lua_error(lua);
    abort();
}

/* Ends the script's function, if `is_good` does not hold. */
#define DEMAND(lua, is_good, ...)                                                                  \
    do {                                                                                           \
        if (!(is_good)) {                                                                          \
            refuse((lua), __VA_ARGS__);                                                            \
        }                                                                                          \
    } while (0)

static void *allocate(void *context, void *old, size_t old_bytes, size_t bytes)
{
    struct script_state *state = context;
    const size_t had = old == NULL ? 0 : old_bytes;
    if (bytes == 0) {
        free(old);
        state->used_bytes -= had;
        return NULL;
    }
    if (bytes > had && state->used_bytes + (bytes - had) > STATE_BYTES_MAX) {
        return NULL;
    }
    void *made = realloc(old, bytes);
    state->used_bytes += made == NULL ? 0 : bytes - had;
    return made;
}

/* One more element at the end of an array of the builder's; never NULL. */
static void *grow(lua_State *lua, void *array, size_t count, size_t size)
{
    void *grown =
        (count & (count + 1)) == 0 || count == 0 ? realloc(array, (2 * count + 1) * size) : array;
    DEMAND(lua, grown != NULL, "not enough memory");
    return grown;
}
#define GROW(lua, array, count)                                                                    \
    do {                                                                                           \
        (array) = grow((lua), (array), (count), sizeof *(array));                                  \
        memset(&(array)[(count)], 0, sizeof *(array));                                             \
    } while (0)

/* A copy that lives as long as the script. */
static const char *keep(lua_State *lua, struct script *script, const char *text)
{
    struct script_source *source = script->source;
    GROW(lua, source->strings, source->string_count);
    struct buffer *copy = &source->strings[source->string_count++];
    buffer_add_text(copy, text);
    DEMAND(lua, !buffer_failed(copy), "not enough memory");
    return buffer_text(copy);
}

static const char *check_name(lua_State *lua, int index, const char *what)
{
    const char *name = luaL_checkstring(lua, index);
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    DEMAND(lua,
           name[0] != '\0' && strlen(name) < SCRIPT_NAME_BYTES &&
               strspn(name, allowed) == strlen(name),
           "'%s' is no name of a %s: letters, digits, _ and -, at most %d", name, what,
           SCRIPT_NAME_BYTES - 1);
    return name;
}

static void check_top_level(lua_State *lua, const char *what)
{
    DEMAND(lua, state_of(lua)->is_declaring,
           "%s belongs to the top level of the script, not into a function that runs later", what);
}

/* In a session's state what is declared must be there already, under the same name. */
static void check_again(lua_State *lua, bool is_same, const char *what, const char *name)
{
    DEMAND(lua, is_same,
           "%s '%s' is declared otherwise in a session than before the run: the top level must "
           "not depend on the session",
           what, name);
}

static struct object *push_object(lua_State *lua, enum object_kind kind, int number)
{
    struct object *object = lua_newuserdatauv(lua, sizeof *object, 1);
    *object = (struct object){.kind = kind, .number = number};
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &object_names[kind]);
    lua_setmetatable(lua, -2);
    return object;
}

static struct object *to_object(lua_State *lua, int index, enum object_kind kind)
{
    struct object *object =
        lua_type(lua, index) == LUA_TUSERDATA ? lua_touserdata(lua, index) : NULL;
    return object != NULL && object->kind == kind ? object : NULL;
}

static struct object *check_object(lua_State *lua, int index, enum object_kind kind)
{
    struct object *object = to_object(lua, index, kind);
    DEMAND(lua, object != NULL, "a %s is needed here, not a %s", object_names[kind],
           luaL_typename(lua, index));
    return object;
}

static bool is_null(lua_State *lua, int index)
{
    return lua_type(lua, index) == LUA_TLIGHTUSERDATA && lua_touserdata(lua, index) == &null_value;
}

/* A whole number, be it a float. */
static int64_t check_integer(lua_State *lua, int index, const char *what)
{
    int is_whole;
    const lua_Integer value = lua_tointegerx(lua, index, &is_whole);
    DEMAND(lua, is_whole, "%s is a whole number, not %s", what, luaL_tolstring(lua, index, NULL));
    return value;
}

/* The options at `index`, nil or a table with nothing but `known` (ends with NULL) beside its first
 * `places` entries; what is misspelt would do nothing. True: there is a table. */
static bool check_options(lua_State *lua, int index, const char *what, const char *const *known,
                          lua_Integer places)
{
    if (lua_isnoneornil(lua, index)) {
        return false;
    }
    DEMAND(lua, lua_istable(lua, index), "the options of %s are a table, not a %s", what,
           luaL_typename(lua, index));
    for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
        bool is_known = lua_isinteger(lua, -2) && lua_tointeger(lua, -2) >= 1 &&
                        lua_tointeger(lua, -2) <= places;
        for (size_t i = 0; known[i] != NULL && lua_type(lua, -2) == LUA_TSTRING; i++) {
            is_known = is_known || strcmp(known[i], lua_tostring(lua, -2)) == 0;
        }
        DEMAND(lua, is_known, "%s has no option '%s'", what, luaL_tolstring(lua, -2, NULL));
    }
    return true;
}

/* An option that is true or false; nil is `usual`. */
static bool check_flag(lua_State *lua, int index, const char *name, bool usual)
{
    const int type = lua_getfield(lua, index, name);
    DEMAND(lua, type == LUA_TNIL || type == LUA_TBOOLEAN, "option '%s' is true or false, not %s",
           name, luaL_tolstring(lua, -1, NULL));
    const bool value = type == LUA_TNIL ? usual : lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return value;
}

/* The first end stays: pcall does not hide it. */
static int end_by(lua_State *lua, enum script_end end)
{
    struct script_state *state = state_of(lua);
    state->end = state->end == SCRIPT_DONE ? end : state->end;
    lua_pushlightuserdata(lua, &signal);
    return lua_error(lua);
}

/* A call of the host came to `status`. */
static void demand_call(lua_State *lua, enum status status)
{
    if (status != STATUS_OK) {
        end_by(lua, SCRIPT_FAILED);
    }
}

static const struct script_host *check_running(lua_State *lua, const char *what)
{
    struct script_state *state = state_of(lua);
    DEMAND(lua, !state->is_declaring && state->place.host != NULL,
           "%s works in a transaction's function, not at the top level", what);
    if (state->end != SCRIPT_DONE ||
        (state->is_ending && mono_now_ns() - state->ending_ns > ENDING_NS)) {
        end_by(lua, SCRIPT_STOPPED);
    }
    return state->place.host;
}

/* Ends the script for a mistake that pcall does not hide, at the line of the function at `level`.
 */
static void end_wrongly(lua_State *lua, int level, const char *text)
{
    struct script_state *state = state_of(lua);
    luaL_where(lua, level);
    snprintf(state->why, sizeof state->why, "%s%s", lua_tostring(lua, -1), text);
    end_by(lua, SCRIPT_WRONG);
}

/* Ends what takes too long; called now and then while the script computes. */
static void check_time(lua_State *lua, int level)
{
    struct script_state *state = state_of(lua);
    const struct script_host *host = state->is_declaring ? NULL : state->place.host;
    if (state->end != SCRIPT_DONE) {
        end_by(lua, state->end);
    }
    if (state->made != NULL &&
        (interrupt_requested() || atomic_load(&state->script->source->is_left))) {
        luaL_where(lua, level);
        snprintf(state->why, sizeof state->why, "%s", lua_tostring(lua, -1));
        end_by(lua, SCRIPT_STOPPED);
    }
    const bool is_stopped = host != NULL && host->is_stopped(host->context);
    const bool is_alone = host == NULL || state->is_connecting;
    if (!is_stopped && !is_alone) {
        return;
    }
    const int64_t cpu_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = mono_now_ns();
    if (is_alone && cpu_ns - state->alone_cpu_ns > ALONE_NS) {
        end_wrongly(lua, level, "this does not come to an end");
    }
    if (!is_stopped) {
        return;
    }
    if (!state->is_ending) {
        state->is_ending = true;
        state->ending_ns = now_ns;
        state->ending_cpu_ns = cpu_ns;
    } else if (now_ns - state->ending_ns > ENDING_NS &&
               cpu_ns - state->ending_cpu_ns > ENDING_CPU_NS) {
        end_wrongly(lua, level, "this did not return when the run had ended");
    }
}

/* Every HOOK_INSTRUCTIONS. */
static void on_hook(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    check_time(lua, 0); /* a hook is no function of its own */
}

/* Draws. */

/* Converts a value of Lua; false: it is neither a number nor a text, true or false. */
static bool to_value(lua_State *lua, int index, struct draw_value *value)
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

/* What a message adds about what cannot be a value. */
static const char *hint_for(lua_State *lua, int index)
{
    return lua_isnil(lua, index) ? ": write null for NULL" : "";
}

static void check_value(lua_State *lua, int index, struct draw_value *value)
{
    DEMAND(lua, to_value(lua, index, value), "a %s cannot be a value%s", luaL_typename(lua, index),
           hint_for(lua, index));
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

/* Pushes and returns a value as messages show it: 5000000000, the text 'abc'. */
static const char *push_shown(lua_State *lua, const struct draw_value *value)
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

/* What a message adds about a value that does not fit. */
static const char *hint_for_whole(const struct column *column, const struct draw_value *value)
{
    return value->type == DRAW_IS_REAL && column->type != COLUMN_DECIMAL &&
                   value->real != floor(value->real)
               ? ": uniform draws whole numbers between whole numbers, as 1 and 5, not 1.0 and 5.0"
               : "";
}

/* Pushes what is drawn: a function of the script that makes it may draw, too, in the same room. */
static void push_drawn(lua_State *lua, const struct draw *draw, struct draw_stream *stream)
{
    struct script_state *state = state_of(lua);
    struct draw_value value;
    luaL_checkstack(lua, 4, "too many values");
    if (draw_kind(draw) == DRAW_DERIVE) {
        lua_rawgeti(lua, LUA_REGISTRYINDEX, state->function_refs[draw_function(draw)]);
        push_drawn(lua, draw_inner(draw), stream);
        lua_call(lua, 1, 1);
        check_value(lua, -1, &value); /* it must be one */
        return;
    }
    draw_value(draw, stream, state->room, &value);
    push_value(lua, &value);
}

static int draw_call(lua_State *lua)
{
    const struct object *object = check_object(lua, 1, OBJECT_DRAW);
    (void)check_running(lua, "drawing");
    push_drawn(lua, object->draw, &state_of(lua)->stream);
    return 1;
}

static int draw_collect(lua_State *lua)
{
    struct object *object = lua_touserdata(lua, 1);
    draw_destroy(object->draw);
    object->draw = NULL;
    return 0;
}

static bool reserve_room(struct script_state *state, size_t bytes)
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

/* Makes a draw the object on top of the stack; NULL: why is in *error. */
static int push_draw(lua_State *lua, struct draw *draw, const struct error *error)
{
    struct script_state *state = state_of(lua);
    DEMAND(lua, draw != NULL, "%s", error->text);
    /* it could be lost when there is no memory for the object: then so is the state */
    push_object(lua, OBJECT_DRAW, 0)->draw = draw;
    DEMAND(lua, reserve_room(state, draw_room(draw)), "not enough memory");
    return 1;
}

static int make_row(lua_State *lua)
{
    struct error error = {.kind = ERROR_NONE};
    check_top_level(lua, "row()");
    return push_draw(
        lua, draw_row(lua_isnoneornil(lua, 1) ? 1 : check_integer(lua, 1, "row: base"), &error),
        &error);
}

static int make_text(lua_State *lua)
{
    struct error error = {.kind = ERROR_NONE};
    check_top_level(lua, "text()");
    const int64_t min = check_integer(lua, 1, "text: length");
    const int64_t max = lua_isnoneornil(lua, 2) ? min : check_integer(lua, 2, "text: length");
    DEMAND(lua, min >= 0 && max >= min, "text: lengths are MIN, MAX, from 0");
    return push_draw(lua, draw_text((uint64_t)min, (uint64_t)max, &error), &error);
}

static int make_pattern(lua_State *lua)
{
    struct error error = {.kind = ERROR_NONE};
    check_top_level(lua, "pattern()");
    return push_draw(lua, draw_pattern(luaL_checkstring(lua, 1), &error), &error);
}

static int make_format(lua_State *lua)
{
    enum {
        INNER_MAX = 8
    };
    struct error error = {.kind = ERROR_NONE};
    struct draw *inner[INNER_MAX];
    const int count = lua_gettop(lua) - 1;
    check_top_level(lua, "format()");
    DEMAND(lua, count <= INNER_MAX, "format takes at most %d generators", INNER_MAX);
    for (int i = 0; i < count; i++) {
        inner[i] = check_object(lua, i + 2, OBJECT_DRAW)->draw;
        DEMAND(lua, draw_kind(inner[i]) != DRAW_DERIVE, "format takes no derived generator");
    }
    push_draw(lua,
              draw_format(luaL_checkstring(lua, 1), inner, count < 0 ? 0 : (size_t)count, &error),
              &error);
    /* inner ones live as long */
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
    check_top_level(lua, "derive()");
    struct draw *inner = check_object(lua, 1, OBJECT_DRAW)->draw;
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    GROW(lua, state->function_refs, state->functions);
    lua_pushvalue(lua, 2);
    state->function_refs[state->functions] = luaL_ref(lua, LUA_REGISTRYINDEX);
    push_draw(lua, draw_derive(inner, (int)state->functions++, &error), &error);
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
               "keys: option '%s' is a number", name);
        value = lua_tonumber(lua, -1);
        DEMAND(lua, lua_isnil(lua, -1) || value > 0, "keys: option '%s' is above 0", name);
        lua_pop(lua, 1);
    }
    return value;
}

static int make_keys(lua_State *lua)
{
    const char *name = luaL_checkstring(lua, 1);
    struct error error = {.kind = ERROR_NONE};
    int kind = 0;
    check_top_level(lua, "keys()");
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
        return luaL_error(lua, "keys: '%s' is none of %s", name, lua_tostring(lua, -1));
    }
    static const char *const known[] = {"theta", "h", "hot_set", "hot_share", NULL};
    check_options(lua, 4, "keys", known, 0);
    const struct keys_options options = {.theta = option_number(lua, 4, "theta"),
                                         .h = option_number(lua, 4, "h"),
                                         .hot_set = option_number(lua, 4, "hot_set"),
                                         .hot_share = option_number(lua, 4, "hot_share")};
    const struct object *counter = to_object(lua, 3, OBJECT_COUNTER);
    const int64_t from = check_integer(lua, 2, "keys: the first key");
    const int64_t to = counter != NULL ? 0 : check_integer(lua, 3, "keys: the last key");
    return push_draw(
        lua,
        draw_keys((enum keys_kind)kind, from, to,
                  counter != NULL ? state_of(lua)->script->counters[counter->number] : NULL,
                  &options, &error),
        &error);
}

static int make_uniform(lua_State *lua)
{
    struct error error = {.kind = ERROR_NONE};
    const double a = luaL_checknumber(lua, 1), b = luaL_checknumber(lua, 2);
    const bool is_whole = lua_isinteger(lua, 1) && lua_isinteger(lua, 2); /* 1, not 1.0 */
    check_top_level(lua, "uniform()");
    return push_draw(lua,
                     is_whole
                         ? draw_keys(KEYS_UNIFORM, lua_tointeger(lua, 1), lua_tointeger(lua, 2),
                                     NULL, &(struct keys_options){0}, &error)
                         : draw_real(a, b, &error),
                     &error);
}

static int call_distinct(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const int64_t count = check_integer(lua, 1, "distinct: how many");
    const struct draw *draw = check_object(lua, 2, OBJECT_DRAW)->draw;
    (void)check_running(lua, "distinct");
    DEMAND(lua, count >= 0 && count <= DISTINCT_MAX, "distinct: at most %d values", DISTINCT_MAX);
    lua_createtable(lua, (int)count, 0); /* 3: the values */
    lua_createtable(lua, 0, (int)count); /* 4: which there are */
    int64_t left = count * DISTINCT_TRIES;
    for (int64_t i = 1; i <= count;) {
        DEMAND(lua, left-- > 0, "distinct: the generator does not give %I different values",
               (LUAI_UACINT)count);
        push_drawn(lua, draw, &state->stream);
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

/* Counters. */

static int make_counter(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "counter");
    const int64_t start = check_integer(lua, 2, "counter: the first number");
    check_top_level(lua, "counter()");
    DEMAND(lua, start >= 0, "counter '%s' begins below 0", name);
    const size_t number = state->counters++;
    struct script *made = state->made;
    if (made != NULL) {
        made->counters = grow(lua, made->counters, made->counter_count, sizeof(struct counter *));
        struct counter *counter = counter_create((uint64_t)start);
        DEMAND(lua, counter != NULL, "not enough memory");
        made->counters[made->counter_count++] = counter;
    }
    check_again(lua, number < state->script->counter_count, "counter", name);
    push_object(lua, OBJECT_COUNTER, (int)number);
    return 1;
}

/* The same transaction takes the same numbers when it is tried again. */
static int counter_call_next(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    struct counter *counter = state->script->counters[check_object(lua, 1, OBJECT_COUNTER)->number];
    (void)check_running(lua, "a counter");
    struct taken *taken = state->taken;
    if (state->taken_at < state->taken_count && taken[state->taken_at].counter == counter) {
        lua_pushinteger(lua, (lua_Integer)taken[state->taken_at++].number);
        return 1;
    }
    if (state->taken_count == state->taken_capacity) {
        const size_t capacity = 2 * state->taken_capacity + 4;
        taken = realloc(taken, capacity * sizeof *taken);
        DEMAND(lua, taken != NULL, "not enough memory");
        state->taken = taken;
        state->taken_capacity = capacity;
    }
    uint64_t value;
    DEMAND(lua, counter_next(counter, &value),
           "a counter waits for a transaction that took a number long ago and has not ended");
    taken[state->taken_count++] = (struct taken){counter, value};
    state->taken_at = state->taken_count;
    lua_pushinteger(lua, (lua_Integer)value);
    return 1;
}

/* Declarations. */

static void check_type(lua_State *lua, const char *text, struct column *column)
{
    if (!scalar_parse_type(text, column)) {
        luaL_error(lua,
                   "unknown type '%s'; use one of bool, int16, int32, int64, float32, float64, "
                   "decimal(P,S) up to 18 digits, text, text(N), char(N), bytes, bytes(N), json, "
                   "date, time, timestamp, timestamp(0 to 9)",
                   text);
    }
}

/* The value of --set NAME=…; NULL: it was not set. The last one counts. */
static const char *find_set(lua_State *lua, struct script *script, const char *name)
{
    struct script_source *source = script->source;
    const char *found = NULL;
    size_t place = 0;
    for (size_t i = 0; i < source->set_count; i++) {
        for (const char *at = source->sets[i]; at != NULL; place++) {
            const char *comma = strchr(at, ',');
            const size_t length = comma == NULL ? strlen(at) : (size_t)(comma - at);
            const size_t known = strlen(name);
            if (length > known && strncmp(at, name, known) == 0 && at[known] == '=') {
                lua_pushlstring(lua, at + known + 1, length - known - 1);
                found = keep(lua, script, lua_tostring(lua, -1));
                lua_pop(lua, 1);
                source->has_used[place] = true;
            }
            at = comma == NULL ? NULL : comma + 1;
        }
    }
    return found;
}

/* What was set must be of the default's type: pushes it. */
static void push_param(lua_State *lua, const char *name, const char *text)
{
    char *end;
    uint64_t count;
    const bool is_negative = text[0] == '-';
    switch (lua_type(lua, 2)) {
    case LUA_TBOOLEAN:
        DEMAND(lua, strcmp(text, "true") == 0 || strcmp(text, "false") == 0,
               "parameter '%s' is true or false, not '%s'", name, text);
        lua_pushboolean(lua, text[0] == 't');
        return;
    case LUA_TNUMBER:
        if (lua_isinteger(lua, 2)) {
            DEMAND(lua, units_parse_count(text + (is_negative ? 1 : 0), INT64_MAX, &count),
                   "parameter '%s' is a whole number (10000, 10k, 1M), not '%s'", name, text);
            lua_pushinteger(lua, is_negative ? -(lua_Integer)count : (lua_Integer)count);
            return;
        }
        lua_pushnumber(lua, strtod(text, &end));
        DEMAND(lua, text[0] != '\0' && *end == '\0' && isfinite(lua_tonumber(lua, -1)),
               "parameter '%s' is a number, not '%s'", name, text);
        return;
    default:
        lua_pushstring(lua, text);
    }
}

/* What the fourth argument allows, a list of values or {min =, max =}, in words; "" = anything. */
static void push_allowed(lua_State *lua)
{
    const lua_Integer count = lua_istable(lua, 4) ? (lua_Integer)lua_rawlen(lua, 4) : 0;
    luaL_Buffer text;
    luaL_buffinit(lua, &text);
    for (lua_Integer i = 1; i <= count; i++) {
        luaL_addstring(&text, i == 1 ? "" : i == count ? " or " : ", ");
        lua_rawgeti(lua, 4, i);
        luaL_tolstring(lua, -1, NULL);
        lua_remove(lua, -2);
        luaL_addvalue(&text);
    }
    luaL_pushresult(&text);
    if (lua_istable(lua, 4) && count == 0) {
        const bool has_min = lua_getfield(lua, 4, "min") == LUA_TNUMBER;
        const bool has_max = lua_getfield(lua, 4, "max") == LUA_TNUMBER;
        const char *max = luaL_tolstring(lua, -1, NULL), *min = luaL_tolstring(lua, -3, NULL);
        lua_pushfstring(lua, "%s%s%s%s",
                        has_min && has_max ? ""
                        : has_min          ? "at least "
                        : has_max          ? "at most "
                                           : "",
                        has_min ? min : "", has_min && has_max ? " to " : "", has_max ? max : "");
    }
}

/* The value is on top. */
static void check_allowed(lua_State *lua, const char *name)
{
    const int value = lua_gettop(lua);
    if (!lua_istable(lua, 4)) {
        return;
    }
    const lua_Integer count = (lua_Integer)lua_rawlen(lua, 4);
    bool is_allowed = count == 0;
    for (lua_Integer i = 1; i <= count && !is_allowed; i++) {
        lua_rawgeti(lua, 4, i);
        is_allowed = lua_compare(lua, -1, value, LUA_OPEQ);
        lua_pop(lua, 1);
    }
    if (lua_getfield(lua, 4, "min") == LUA_TNUMBER) {
        is_allowed = is_allowed && lua_compare(lua, -1, value, LUA_OPLE);
    }
    if (lua_getfield(lua, 4, "max") == LUA_TNUMBER) {
        is_allowed = is_allowed && lua_compare(lua, value, -1, LUA_OPLE);
    }
    if (!is_allowed) {
        push_allowed(lua);
        const char *allowed = lua_tostring(lua, -1);
        luaL_error(lua, "parameter '%s' is %s, not '%s'", name, allowed,
                   luaL_tolstring(lua, value, NULL));
    }
    lua_settop(lua, value);
}

static int declare_param(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "parameter");
    const int type = lua_type(lua, 2);
    lua_settop(lua, 4); /* what is left out is nil */
    check_top_level(lua, "param()");
    DEMAND(lua, type == LUA_TBOOLEAN || type == LUA_TNUMBER || type == LUA_TSTRING,
           "parameter '%s' needs a default: a number, a text, true or false", name);
    const size_t number = state->params++;
    struct script *made = state->made;
    if (made != NULL) {
        for (size_t i = 0; i < made->param_count; i++) {
            DEMAND(lua, strcmp(made->params[i].name, name) != 0, "parameter '%s' is declared twice",
                   name);
        }
        GROW(lua, made->params, made->param_count);
        struct script_param *param = &made->params[made->param_count++];
        param->name = keep(lua, made, name);
        param->help = keep(lua, made, luaL_optstring(lua, 3, ""));
        param->usual = keep(lua, made, luaL_tolstring(lua, 2, NULL));
        push_allowed(lua);
        param->allowed = keep(lua, made, lua_tostring(lua, -1));
        lua_settop(lua, 4);
        const char *value = find_set(lua, made, name);
        param->is_set = value != NULL;
        param->value = value == NULL ? param->usual : value;
    }
    check_again(lua,
                number < state->script->param_count &&
                    strcmp(state->script->params[number].name, name) == 0,
                "parameter", name);
    const struct script_param *param = &state->script->params[number];
    if (param->is_set) {
        push_param(lua, name, param->value);
    } else {
        lua_pushvalue(lua, 2);
    }
    check_allowed(lua, name);
    return 1;
}

#define SESSION_MARK "${session}"

/* Writes `text` with the parameters of the script; ${session} is left as it is. False: there is no
 * such parameter, whose name is in *unknown. */
static bool fill_in(const struct script *script, const char *text, struct buffer *out,
                    char unknown[SCRIPT_NAME_BYTES])
{
    for (const char *at; (at = strstr(text, "${")) != NULL;) {
        const size_t length = strcspn(at + 2, "}");
        const char *value = NULL;
        snprintf(unknown, SCRIPT_NAME_BYTES, "%.*s", (int)(length < 48 ? length : 48), at + 2);
        for (size_t i = 0; i < script->param_count; i++) {
            value = strcmp(script->params[i].name, unknown) == 0 ? script->params[i].value : value;
        }
        value = strcmp(unknown, "session") == 0 ? SESSION_MARK : value;
        if (at[2 + length] == '\0' || value == NULL) {
            return false;
        }
        buffer_add(out, text, (size_t)(at - text));
        buffer_add_text(out, value);
        text = at + 2 + length + 1;
    }
    buffer_add_text(out, text);
    return true;
}

static const char *keep_filled(lua_State *lua, struct script *script, const char *text)
{
    struct script_source *source = script->source;
    char unknown[SCRIPT_NAME_BYTES] = "";
    GROW(lua, source->strings, source->string_count);
    struct buffer *out = &source->strings[source->string_count++];
    DEMAND(lua, fill_in(script, text, out, unknown),
           "${%s} is no parameter of this script that is declared before", unknown);
    DEMAND(lua, !buffer_failed(out), "not enough memory");
    return buffer_text(out);
}

/* A text, or a table of one for each dialect, at `index`; nil: none. */
static void take_texts(lua_State *lua, struct script *script, int index, struct script_texts *texts)
{
    if (lua_isnoneornil(lua, index)) {
        return;
    }
    if (lua_type(lua, index) == LUA_TSTRING) {
        GROW(lua, texts->entries, texts->count);
        texts->entries[texts->count].text = keep_filled(lua, script, lua_tostring(lua, index));
        texts->count++;
        return;
    }
    index = lua_absindex(lua, index);
    luaL_checktype(lua, index, LUA_TTABLE);
    for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
        DEMAND(lua, lua_type(lua, -2) == LUA_TSTRING && lua_type(lua, -1) == LUA_TSTRING,
               "texts by dialect are {default = \"…\", mariadb = \"…\"}");
        const char *dialect = lua_tostring(lua, -2);
        GROW(lua, texts->entries, texts->count);
        struct script_text *entry = &texts->entries[texts->count++];
        entry->dialect = strcmp(dialect, "default") == 0 ? NULL : keep(lua, script, dialect);
        entry->text = keep_filled(lua, script, lua_tostring(lua, -1));
    }
}

const char *script_text_for(const struct script_texts *texts, const char *dialect)
{
    const bool is_kin = strcmp(dialect, "mysql") == 0 || strcmp(dialect, "singlestore") == 0;
    const char *wanted[] = {dialect, is_kin ? "mariadb" : NULL, NULL};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        for (size_t j = 0; j < texts->count; j++) {
            const char *has = texts->entries[j].dialect;
            if (wanted[i] == NULL ? has == NULL && i == 2
                                  : has != NULL && strcmp(has, wanted[i]) == 0) {
                return texts->entries[j].text;
            }
        }
    }
    return NULL;
}

static int line_of(lua_State *lua)
{
    lua_Debug debug;
    return lua_getstack(lua, 1, &debug) && lua_getinfo(lua, "l", &debug) ? debug.currentline : 0;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = random_mix(hash ^ (unsigned char)*text);
    }
    return random_mix(hash);
}

/* The same whatever the order. */
static uint64_t hash_texts(const struct script_texts *texts)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < texts->count; i++) {
        const struct script_text *entry = &texts->entries[i];
        hash += hash_text(hash_text(0, entry->dialect == NULL ? "" : entry->dialect), entry->text);
    }
    return hash;
}

static uint64_t hash_shape(const struct script *script)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < script->dataset_count; i++) {
        const struct script_dataset *dataset = &script->datasets[i];
        hash = hash_text(hash, dataset->name) ^ random_mix(dataset->rows);
        for (size_t c = 0; c < dataset->column_count; c++) {
            const struct column *column = &dataset->table.columns[c];
            const struct script_column *own = &dataset->columns[c];
            char text[160];
            snprintf(text, sizeof text, "%d %u %u %u %d %u %d", (int)column->type,
                     (unsigned)column->size, column->precision, column->scale, column->is_nullable,
                     own->key, own->is_numbered);
            hash = hash_text(hash_text(hash, column->name), text);
        }
        for (size_t j = 0; j < dataset->index_count; j++) {
            hash = hash_text(hash, dataset->indexes[j]);
        }
        hash = random_mix(random_mix(hash + hash_texts(&dataset->create)) +
                          hash_texts(&dataset->options));
    }
    return hash;
}

/* One column, the table on top of the stack. */
static void declare_column(lua_State *lua, struct table *load, struct script_dataset *dataset)
{
    const int at = lua_gettop(lua);
    struct column column = {.name = ""};
    struct error error = {.kind = ERROR_NONE};
    struct script_column *own = &dataset->columns[dataset->column_count];
    static const char *const known[] = {"key", "required", NULL};
    DEMAND(lua, lua_istable(lua, at), "a column is {\"name\", \"type\", generator, key = …}");
    check_options(lua, at, "a column", known, 3);
    lua_rawgeti(lua, at, 1);
    const char *name = lua_tostring(lua, -1);
    DEMAND(lua, name != NULL && name[0] != '\0' && strlen(name) < COLUMN_NAME_BYTES,
           "a column of '%s' has no name, or a long one", dataset->name);
    snprintf(column.name, sizeof column.name, "%s", name);
    name = column.name; /* the stack may have the only copy */
    lua_rawgeti(lua, at, 2);
    DEMAND(lua, lua_type(lua, -1) == LUA_TSTRING, "column '%s' of '%s' has no type", name,
           dataset->name);
    check_type(lua, lua_tostring(lua, -1), &column);
    lua_rawgeti(lua, at, 3);
    if (lua_type(lua, -1) == LUA_TNUMBER) {
        int is_whole;
        const lua_Integer value = lua_tointegerx(lua, -1, &is_whole);
        push_draw(lua,
                  is_whole ? draw_keys(KEYS_UNIFORM, value, value, NULL, &(struct keys_options){0},
                                       &error)
                           : draw_real(lua_tonumber(lua, -1), lua_tonumber(lua, -1), &error),
                  &error);
    }
    if (!lua_isnil(lua, -1)) {
        own->value = check_object(lua, -1, OBJECT_DRAW)->draw;
        luaL_ref(lua, LUA_REGISTRYINDEX); /* it lives as long as the script */
    }
    lua_settop(lua, at);
    switch (lua_getfield(lua, at, "key")) {
    case LUA_TNIL:
        break;
    case LUA_TBOOLEAN:
        own->key = lua_toboolean(lua, -1) ? 1 : 0;
        break;
    case LUA_TNUMBER:
        own->key = (unsigned)lua_tointeger(lua, -1);
        break;
    default:
        own->is_numbered =
            lua_tostring(lua, -1) != NULL && strcmp(lua_tostring(lua, -1), "auto") == 0;
        own->key = 1;
        DEMAND(lua, own->is_numbered, "column '%s': key is true, a place from 1, or \"auto\"",
               name);
    }
    DEMAND(lua, own->key <= 16, "column '%s': key is a place from 1 to 16", name);
    column.is_nullable = !check_flag(lua, at, "required", false) && own->key == 0;
    column.has_default = own->is_numbered;
    DEMAND(lua, table_add_column(&dataset->table, &column, &error) == STATUS_OK, "%s", error.text);
    dataset->column_count++;
    if (own->value != NULL) {
        DEMAND(lua, table_add_column(load, &column, &error) == STATUS_OK, "%s", error.text);
    }
    lua_settop(lua, at - 1);
}

static void declare_columns(lua_State *lua, struct table *load, struct script_dataset *dataset)
{
    const lua_Integer count = (lua_Integer)lua_rawlen(lua, 3);
    unsigned keys = 0;
    DEMAND(lua, count > 0 && count <= ROW_COLUMNS_MAX, "dataset '%s' has no columns",
           dataset->name);
    dataset->is_declared = true;
    dataset->columns = calloc((size_t)count, sizeof *dataset->columns);
    DEMAND(lua, dataset->columns != NULL, "not enough memory");
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(lua, 3, i);
        declare_column(lua, load, dataset);
    }
    for (size_t i = 0; i < dataset->column_count; i++) {
        keys += dataset->columns[i].key > 0 ? 1 : 0;
        for (size_t j = 0; j < i; j++) {
            DEMAND(lua, strcmp(dataset->table.columns[i].name, dataset->table.columns[j].name) != 0,
                   "dataset '%s' has column '%s' twice", dataset->name,
                   dataset->table.columns[i].name);
            DEMAND(lua,
                   dataset->columns[i].key == 0 ||
                       dataset->columns[i].key != dataset->columns[j].key,
                   "dataset '%s' has two columns in place %d of its key", dataset->name,
                   (int)dataset->columns[i].key);
        }
    }
    for (size_t i = 0; i < dataset->column_count; i++) {
        DEMAND(lua, dataset->columns[i].key <= keys, "dataset '%s': the key has no place %d",
               dataset->name, (int)keys);
        dataset->table.columns[i].is_unique = keys == 1 && dataset->columns[i].key == 1;
    }
    for (size_t i = 0, j = 0; i < dataset->column_count; i++) {
        if (dataset->columns[i].value != NULL) {
            load->columns[j++].is_unique = dataset->table.columns[i].is_unique;
        } else {
            DEMAND(lua,
                   dataset->rows == 0 || dataset->columns[i].is_numbered ||
                       dataset->table.columns[i].is_nullable,
                   "dataset '%s' is to be loaded, and column '%s' has no generator", dataset->name,
                   dataset->table.columns[i].name);
        }
    }
    DEMAND(lua, dataset->rows == 0 || load->column_count > 0,
           "dataset '%s' is to be loaded, and has no generator", dataset->name);
}

static int declare_dataset(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "dataset");
    check_top_level(lua, "dataset()");
    const size_t number = state->datasets++;
    struct script *made = state->made;
    if (made != NULL) {
        struct error error = {.kind = ERROR_NONE};
        for (size_t i = 0; i < made->dataset_count; i++) {
            DEMAND(lua, strcmp(made->datasets[i].name, name) != 0, "dataset '%s' is declared twice",
                   name);
        }
        GROW(lua, made->datasets, made->dataset_count);
        GROW(lua, made->source->load_tables, made->dataset_count);
        struct script_dataset *dataset = &made->datasets[made->dataset_count];
        struct table *load = &made->source->load_tables[made->dataset_count++];
        dataset->name = keep(lua, made, name);
        dataset->number = hash_text(0, name);
        dataset->line = line_of(lua);
        DEMAND(lua,
               table_init(&dataset->table, name, &error) == STATUS_OK &&
                   table_init(load, name, &error) == STATUS_OK,
               "%s", error.text);
        const int64_t rows = lua_isnoneornil(lua, 2) ? 0 : check_integer(lua, 2, "dataset: rows");
        DEMAND(lua, rows >= 0, "dataset '%s' has fewer than 0 rows", name);
        dataset->rows = (uint64_t)rows;
        if (!lua_isnoneornil(lua, 3)) {
            luaL_checktype(lua, 3, LUA_TTABLE);
            declare_columns(lua, load, dataset);
        }
        DEMAND(lua, dataset->is_declared || rows == 0,
               "dataset '%s' has rows to load and no columns", name);
        static const char *const known[] = {"create", "options", "index", NULL};
        if (check_options(lua, 4, "a dataset", known, 0)) {
            lua_getfield(lua, 4, "create");
            take_texts(lua, made, -1, &dataset->create);
            lua_getfield(lua, 4, "options");
            take_texts(lua, made, -1, &dataset->options);
            DEMAND(lua, lua_getfield(lua, 4, "index") == LUA_TNIL || lua_istable(lua, -1),
                   "dataset '%s': index is a list of columns, {\"a\", \"b, c\"}", name);
            const lua_Integer count = lua_istable(lua, -1) ? (lua_Integer)lua_rawlen(lua, -1) : 0;
            for (lua_Integer i = 1; i <= count; i++) {
                lua_rawgeti(lua, -1, i);
                DEMAND(lua, lua_type(lua, -1) == LUA_TSTRING,
                       "dataset '%s': index is a list of columns, {\"a\", \"b, c\"}", name);
                GROW(lua, dataset->indexes, dataset->index_count);
                dataset->indexes[dataset->index_count] = keep(lua, made, lua_tostring(lua, -1));
                dataset->index_count++;
                lua_pop(lua, 1);
            }
        }
    }
    check_again(lua,
                number < state->script->dataset_count &&
                    strcmp(state->script->datasets[number].name, name) == 0,
                "dataset", name);
    push_object(lua, OBJECT_DATASET, (int)number);
    return 1;
}

static enum script_statement_kind kind_of(const char *sql)
{
    static const struct {
        const char *word;
        enum script_statement_kind kind;
    } words[] = {
        {"select", SCRIPT_READ},  {"with", SCRIPT_READ},    {"values", SCRIPT_READ},
        {"show", SCRIPT_READ},    {"table", SCRIPT_READ},   {"insert", SCRIPT_WRITE},
        {"update", SCRIPT_WRITE}, {"delete", SCRIPT_WRITE}, {"replace", SCRIPT_WRITE},
        {"merge", SCRIPT_WRITE},  {"upsert", SCRIPT_WRITE},
    };
    sql += strspn(sql, " \t\r\n(");
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const size_t length = strlen(words[i].word);
        if (strncasecmp(sql, words[i].word, length) == 0 &&
            strchr(" \t\r\n(*", sql[length]) != NULL) {
            return words[i].kind;
        }
    }
    return SCRIPT_OTHER;
}

static bool controls_transaction(const char *sql, unsigned lexis)
{
    struct sql_script script = {.rest = sql, .lexis = lexis};
    bool has_found = false;
    while (!has_found && sql_script_next(&script)) {
        has_found = script.kind != SQL_SCRIPT_OTHER;
    }
    buffer_fini(&script.statement);
    return has_found;
}

static size_t find_operation(lua_State *lua, struct script *made, const char *name,
                             bool is_transaction, enum script_statement_kind kind)
{
    for (size_t i = 0; i < made->operation_count; i++) {
        if (strcmp(made->operations[i].name, name) == 0) {
            DEMAND(
                lua, made->operations[i].is_transaction == is_transaction,
                "'%s' is the name of a transaction and of a statement: one of them needs another",
                name);
            DEMAND(lua, !is_transaction, "transaction '%s' is declared twice", name);
            return i;
        }
    }
    DEMAND(lua, made->operation_count < OPERATION_NAMES_MAX,
           "transactions and names of statements are at most %d: statements can share a name",
           OPERATION_NAMES_MAX);
    GROW(lua, made->operations, made->operation_count);
    made->operations[made->operation_count] =
        (struct script_operation){keep(lua, made, name), is_transaction, kind};
    return made->operation_count++;
}

static int option_dataset(lua_State *lua, int index, const char *name)
{
    int number = SCRIPT_NO_DATASET;
    if (lua_getfield(lua, index, name) != LUA_TNIL) {
        number = check_object(lua, -1, OBJECT_DATASET)->number;
    }
    lua_pop(lua, 1);
    return number;
}

static int declare_statement(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "statement");
    check_top_level(lua, "statement()");
    const size_t number = state->statement_count++;
    struct script *made = state->made;
    if (made != NULL) {
        struct error error = {.kind = ERROR_NONE};
        DEMAND(lua, made->statement_count < STATEMENT_SLOTS_MAX,
               "a script has at most %d statements", STATEMENT_SLOTS_MAX);
        GROW(lua, made->statements, made->statement_count);
        struct script_statement *new = &made->statements[made->statement_count];
        new->adds_to = new->takes_from = SCRIPT_NO_DATASET;
        new->is_prepared = true;
        new->line = line_of(lua);
        DEMAND(lua, table_init(&new->parameters, name, &error) == STATUS_OK, "%s", error.text);
        made->statement_count++;
        new->name = keep(lua, made, name);
        take_texts(lua, made, 2, &new->sql);
        DEMAND(lua, new->sql.count > 0, "statement '%s' has no SQL", name);
        DEMAND(lua, lua_isnoneornil(lua, 3) || lua_istable(lua, 3),
               "statement '%s': its types are a list, {\"int32\", \"text(20)\"}", name);
        const lua_Integer count = lua_istable(lua, 3) ? (lua_Integer)lua_rawlen(lua, 3) : 0;
        for (lua_Integer i = 1; i <= count; i++) {
            struct column column = {.name = ""};
            lua_rawgeti(lua, 3, i);
            check_type(lua, luaL_checkstring(lua, -1), &column);
            lua_pop(lua, 1);
            DEMAND(lua, table_add_column(&new->parameters, &column, &error) == STATUS_OK, "%s",
                   error.text);
        }
        new->kind = SCRIPT_OTHER; /* by the dialect whose first word tells */
        for (size_t i = 0; i < new->sql.count; i++) {
            const struct script_text *text = &new->sql.entries[i];
            new->kind = new->kind == SCRIPT_OTHER ? kind_of(text->text) : new->kind;
            const unsigned lexis = text->dialect == NULL ? 0 : sql_lexis_of(text->dialect);
            const size_t marks = sql_script_count_parameters(text->text, lexis);
            new->controls_transaction =
                new->controls_transaction || controls_transaction(text->text, lexis);
            /* a default is for any dialect: resolve counts again */
            DEMAND(lua,
                   marks == (size_t)count ||
                       (text->dialect == NULL &&
                        sql_script_count_parameters(text->text, SQL_BACKSLASHES | SQL_HASHES) ==
                            (size_t)count),
                   "statement '%s' has %I ? and %I types", name, (LUAI_UACINT)marks,
                   (LUAI_UACINT)count);
            new->has_session =
                new->has_session || strstr(new->sql.entries[i].text, SESSION_MARK) != NULL;
        }
        static const char *const known[] = {"adds_to", "takes_from", "prepared", NULL};
        if (check_options(lua, 4, "a statement", known, 0)) {
            new->adds_to = option_dataset(lua, 4, "adds_to");
            new->takes_from = option_dataset(lua, 4, "takes_from");
            new->is_prepared = check_flag(lua, 4, "prepared", true);
        }
        new->operation = find_operation(lua, made, name, false, new->kind);
    }
    check_again(lua,
                number < state->script->statement_count &&
                    strcmp(state->script->statements[number].name, name) == 0,
                "statement", name);
    push_object(lua, OBJECT_STATEMENT, (int)number);
    return 1;
}

static int declare_transaction(lua_State *lua)
{
    static const char *const levels[] = {"serializable", "repeatable read", "read committed",
                                         "read uncommitted"};
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "transaction");
    check_top_level(lua, "transaction()");
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    const size_t number = state->transactions;
    struct script *made = state->made;
    if (made != NULL) {
        GROW(lua, made->transactions, made->transaction_count);
        struct script_transaction *new = &made->transactions[made->transaction_count];
        *new = (struct script_transaction){.weight = 1, .tries = 10, .line = line_of(lua)};
        new->operation = find_operation(lua, made, name, true, SCRIPT_OTHER);
        new->name = made->operations[new->operation].name;
        static const char *const known[] = {"weight", "autocommit", "retry_duplicate",
                                            "tries",  "isolation",  NULL};
        if (check_options(lua, 3, "a transaction", known, 0)) {
            lua_getfield(lua, 3, "weight");
            new->weight = luaL_optnumber(lua, -1, 1);
            DEMAND(lua, new->weight >= 0 && isfinite(new->weight),
                   "transaction '%s': weight is a number from 0", name);
            new->is_autocommit = check_flag(lua, 3, "autocommit", false);
            new->retries_duplicate = check_flag(lua, 3, "retry_duplicate", false);
            lua_getfield(lua, 3, "tries");
            const int64_t tries = lua_isnil(lua, -1) ? 10 : check_integer(lua, -1, "tries");
            DEMAND(lua, tries >= 0, "transaction '%s': tries is a number from 0", name);
            new->tries = (uint64_t)tries;
            lua_getfield(lua, 3, "isolation");
            if (!lua_isnil(lua, -1)) {
                const char *level = luaL_checkstring(lua, -1);
                for (size_t i = 0; i < COUNT_OF(levels); i++) {
                    new->isolation = strcmp(levels[i], level) == 0 ? levels[i] : new->isolation;
                }
                DEMAND(lua, new->isolation != NULL,
                       "transaction '%s': isolation is serializable, repeatable read, read "
                       "committed or read uncommitted",
                       name);
            }
        }
        made->transaction_count++;
    }
    check_again(lua,
                number < state->script->transaction_count &&
                    strcmp(state->script->transactions[number].name, name) == 0,
                "transaction", name);
    GROW(lua, state->transaction_refs, state->transactions);
    lua_pushvalue(lua, 2);
    state->transaction_refs[state->transactions++] = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

static int declare_on_session(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    check_top_level(lua, "on_session()");
    luaL_checktype(lua, 1, LUA_TFUNCTION);
    GROW(lua, state->session_refs, state->hooks_of_session);
    lua_pushvalue(lua, 1);
    state->session_refs[state->hooks_of_session++] = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

/* Statements. */

/* The arguments from 2 on, or the entries of the only one, a table, as a batch of one row. What is
 * drawn takes the place of its generator: texts live as long as the stack has them. */
static void take_values(lua_State *lua, struct script_state *state, size_t number,
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
        const struct object *object = to_object(lua, at, OBJECT_DRAW);
        if (object != NULL) {
            push_drawn(lua, object->draw, &state->stream);
            lua_replace(lua, at);
        }
    }
    for (int i = 0; i < count; i++) {
        struct draw_value value;
        state->nulls[i] = is_null(lua, i + 2);
        if (!state->nulls[i]) {
            const struct column *column = &types->columns[i];
            DEMAND(lua, to_value(lua, i + 2, &value), "statement '%s': value %d is a %s%s",
                   statement->name, i + 1, luaL_typename(lua, i + 2), hint_for(lua, i + 2));
            DEMAND(lua, scalar_store(column, &value, &state->scalars[i], state->numbers[i]),
                   "statement '%s': value %d is %s, not %s %s%s", statement->name, i + 1,
                   push_shown(lua, &value), column->type_name[0] == 'i' ? "an" : "a",
                   column->type_name, hint_for_whole(column, &value));
        }
    }
    *batch = (struct batch){.table = types, .row_count = 1, .columns = state->columns};
}

/* Keeps a copy of the cells. Nothing of Lua may be called here: its errors would jump over the
 * adapter. */
static bool take_cells(void *context, const struct cell *cells, size_t count)
{
    struct script_state *state = context;
    struct buffer *kept = &state->cells;
    if (kept->length > ANSWER_BYTES_MAX || (state->cell_rows > 0 && count != state->cell_count)) {
        state->is_answer_full = true;
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

static bool take_first(void *context, const struct cell *cells, size_t count)
{
    struct script_state *state = context;
    return state->cell_rows > 0 || take_cells(context, cells, count);
}

/* Runs the statement; rows go to `take`. Returns the number of rows. */
static uint64_t run_statement(lua_State *lua, bool (*take)(void *, const struct cell *, size_t),
                              bool *is_duplicate)
{
    struct script_state *state = state_of(lua);
    const size_t number = (size_t)check_object(lua, 1, OBJECT_STATEMENT)->number;
    const struct script_host *host = check_running(lua, "a statement");
    struct batch batch;
    struct answer answer = {.take = take, .context = state};
    take_values(lua, state, number, &batch);
    buffer_clear(&state->cells);
    state->cell_rows = state->cell_count = 0;
    state->is_answer_full = false;
    const bool has_values = batch.table->column_count > 0;
    const enum status status =
        host->run(host->context, number, has_values ? &batch : NULL, &answer);
    if (is_duplicate != NULL && status == STATUS_REJECTED && host->forgive != NULL &&
        host->forgive(host->context)) {
        *is_duplicate = true;
        return 0;
    }
    demand_call(lua, status);
    DEMAND(lua, !state->is_answer_full && !buffer_failed(&state->cells),
           "statement '%s' returns more than %d MiB: read less, or use :run, which keeps nothing",
           state->script->statements[number].name, ANSWER_BYTES_MAX >> 20);
    return answer.rows;
}

/* Pushes the cells of a row, and goes behind them. */
static void push_cells(lua_State *lua, const struct script_state *state, size_t *at)
{
    luaL_checkstack(lua, (int)state->cell_count + 4, "too many columns");
    for (size_t i = 0; i < state->cell_count; i++) {
        struct cell cell;
        memcpy(&cell, state->cells.bytes + *at, sizeof cell);
        *at += sizeof cell;
        if (cell.is_null) {
            lua_pushlightuserdata(lua, &null_value);
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
    run_statement(lua, take_first, NULL);
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
    run_statement(lua, take_cells, NULL);
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
    const struct object *dataset = check_object(lua, 1, OBJECT_DATASET);
    const struct script_host *host = check_running(lua, "append");
    const int64_t rows = check_integer(lua, 2, "append: rows");
    DEMAND(lua, rows > 0, "append: at least one row");
    demand_call(lua, host->append(host->context, (size_t)dataset->number, (uint64_t)rows));
    return 0;
}

static int dataset_count(lua_State *lua)
{
    const struct object *dataset = check_object(lua, 1, OBJECT_DATASET);
    const struct script_host *host = check_running(lua, "count");
    uint64_t rows = 0;
    demand_call(lua, host->count(host->context, (size_t)dataset->number, &rows));
    lua_pushinteger(lua, (lua_Integer)rows);
    return 1;
}

/* Functions. */

static int call_check(lua_State *lua)
{
    const struct script_host *host = check_running(lua, "check");
    const char *text = luaL_optstring(lua, 2, "");
    host->check(host->context, lua_toboolean(lua, 1), text);
    lua_settop(lua, 1);
    return 1;
}

static int call_found(lua_State *lua)
{
    const struct script_host *host = check_running(lua, "found");
    host->found(host->context, lua_toboolean(lua, 1));
    lua_settop(lua, 1);
    return 1;
}

static int call_think(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const struct script_host *host = check_running(lua, "think");
    const struct object *object = to_object(lua, 1, OBJECT_DRAW);
    double seconds = 0;
    struct draw_value value;
    if (object != NULL) {
        push_drawn(lua, object->draw, &state->stream);
        lua_replace(lua, 1);
    }
    check_value(lua, 1, &value);
    DEMAND(lua, scalar_to_real(&value, &seconds) && seconds >= 0 && seconds <= 86400,
           "think takes seconds, from 0 to 86400");
    if (host->think(host->context, (int64_t)(seconds * (double)MONO_NS_PER_S)) != STATUS_OK) {
        return end_by(lua, SCRIPT_STOPPED);
    }
    return 0;
}

static int call_rollback(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const struct script_host *host = check_running(lua, "rollback");
    DEMAND(lua, host->can_roll_back(host->context),
           "rollback: with autocommit nothing undoes what the transaction has written");
    snprintf(state->why, sizeof state->why, "%s", luaL_optstring(lua, 1, "rollback"));
    return end_by(lua, SCRIPT_ROLLBACK);
}

static int call_list(lua_State *lua)
{
    const int64_t count = check_integer(lua, 1, "list: how many");
    const char *text = luaL_checkstring(lua, 2);
    luaL_Buffer buffer;
    DEMAND(lua, count >= 1 && count <= 65535, "list: 1 to 65535 items");
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
    lua_pushinteger(lua, (lua_Integer)draw_fnv(check_integer(lua, 1, "fnv: the number")));
    return 1;
}

/* Numbers before texts, each in its order; other kinds of keys have none. */
static int compare_keys(lua_State *lua)
{
    const int a = lua_type(lua, 1), b = lua_type(lua, 2);
    lua_pushboolean(lua, a == b && (a == LUA_TNUMBER || a == LUA_TSTRING)
                             ? lua_compare(lua, 1, 2, LUA_OPLT)
                             : a < b);
    return 1;
}

static int next_pair(lua_State *lua)
{
    const lua_Integer at = lua_tointeger(lua, lua_upvalueindex(2)) + 1;
    lua_pushinteger(lua, at);
    lua_replace(lua, lua_upvalueindex(2));
    if (lua_rawgeti(lua, lua_upvalueindex(1), at) == LUA_TNIL) {
        return 1;
    }
    lua_pushvalue(lua, -1);
    lua_rawget(lua, 1);
    return 2;
}

/* Lua's own order of keys is another one in each state, and a run would not repeat. */
static int call_pairs(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &table_sort); /* table.sort */
    lua_newtable(lua);
    lua_Integer count = 0;
    for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
        lua_pushvalue(lua, -2);
        lua_rawseti(lua, -4, ++count);
    }
    lua_pushvalue(lua, -2);
    lua_pushvalue(lua, -2);
    lua_pushcfunction(lua, compare_keys);
    lua_call(lua, 2, 0);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, next_pair, 2);
    lua_pushvalue(lua, 1);
    lua_pushnil(lua);
    return 3;
}

static void write_memory(const struct script_state *state, char *text, size_t size)
{
    snprintf(text, size, "%s: a session's script may use %d MiB, and needs more",
             state->script->source->chunk_name + 1, STATE_BYTES_MAX >> 20);
}

/* pcall, which does not hide what ended the script, nor that it has no memory. */
static int call_pcall(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    luaL_checkany(lua, 1);
    const int result = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    if (result == LUA_ERRMEM && state->end == SCRIPT_DONE) {
        state->end = SCRIPT_WRONG;
        write_memory(state, state->why, sizeof state->why);
    }
    if (state->end != SCRIPT_DONE) {
        return end_by(lua, state->end);
    }
    luaL_checkstack(lua, 1, "too many results");
    lua_pushboolean(lua, result == LUA_OK);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/* Functions of C that go through many bytes look at the time as instructions do. */
static void note_bytes(lua_State *lua, double bytes)
{
    struct script_state *state = state_of(lua);
    state->bytes_seen += bytes > 0 ? bytes : 0;
    if (state->bytes_seen > BYTES_BETWEEN) {
        state->bytes_seen = 0;
        check_time(lua, 1);
    }
}

/* A function of the table library, the first upvalue, which goes through the elements from the
 * argument `from` to the argument `to`, or through all of the table: not for ever. */
static int call_bounded(lua_State *lua)
{
    const lua_CFunction function = lua_tocfunction(lua, lua_upvalueindex(1));
    const int from_at = (int)lua_tointeger(lua, lua_upvalueindex(2)), to_at = from_at + 1;
    const bool has_range = from_at > 0;
    const lua_Integer from = has_range ? luaL_optinteger(lua, from_at, 1) : 1;
    const lua_Integer to = has_range && !lua_isnoneornil(lua, to_at) ? luaL_checkinteger(lua, to_at)
                           : lua_istable(lua, 1)                     ? luaL_len(lua, 1)
                                                                     : 0;
    DEMAND(lua, to < from || (lua_Unsigned)to - (lua_Unsigned)from < ELEMENTS_MAX,
           "more than %d elements", ELEMENTS_MAX);
    note_bytes(lua, to < from ? 0 : (double)(to - from) * (double)sizeof(lua_Number));
    return function(lua); /* as itself, so that its messages name the line of the script */
}

/* string.rep: nothing, however often, is nothing. */
static int call_rep(lua_State *lua)
{
    size_t length, between;
    luaL_checklstring(lua, 1, &length);
    luaL_optlstring(lua, 3, "", &between);
    if (length + between == 0) {
        luaL_checkinteger(lua, 2);
        lua_pushliteral(lua, "");
        return 1;
    }
    note_bytes(lua, (double)(length + between) * (double)luaL_checkinteger(lua, 2));
    return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

/* Steps that a match may take before it is hopeless: each repetition of a pattern can be tried at
 * each place of the text for each try of the one before. Most patterns take far fewer. */
#define PATTERN_STEPS_MAX 1e20
#define PATTERN_STEPS_LONG 1e8 /* about a second's */
#define PLAIN_STEPS_MAX 1e12

/* The end of the set or item of a pattern that begins at `at`. */
static const char *skip_item(const char *at, const char *end)
{
    if (*at == '%') {
        return end - at > 2 ? at + 2 : end;
    }
    const char *const first = at + 1 + (end - at > 1 && at[1] == '^' ? 1 : 0);
    const char *const close =
        *at == '[' && end - first > 1 ? memchr(first + 1, ']', (size_t)(end - first - 1)) : NULL;
    return close != NULL ? close + 1 : at + 1;
}

/* Keeps the line for script_place_of, which another thread may ask for when this does not end. */
static void note_place(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    luaL_where(lua, 1);
    const char *place = lua_tostring(lua, -1);
    if (state->made != NULL) {
        pthread_mutex_lock(&state->made->source->lock);
    }
    snprintf(state->slow_place, sizeof state->slow_place, "%.*s",
             place[0] == '\0' ? 0 : (int)strlen(place) - 2, place); /* "x.lua:3: " */
    if (state->made != NULL) {
        pthread_mutex_unlock(&state->made->source->lock);
    }
    lua_pop(lua, 1);
}

/* find, match, gmatch and gsub, whose time in C nothing ends: what would never return is refused,
 * and what is slower than the run leaves its thread behind. The upvalues are the library's function
 * and whether it takes PLAIN. */
static int call_pattern(lua_State *lua)
{
    size_t length, pattern_length;
    luaL_checklstring(lua, 1, &length);
    const char *pattern = luaL_checklstring(lua, 2, &pattern_length);
    const char *const end = pattern + pattern_length;
    const bool is_plain = lua_toboolean(lua, lua_upvalueindex(2)) && lua_toboolean(lua, 4);
    const double bytes = (double)length;
    double steps = is_plain ? bytes * (double)pattern_length : 1;
    unsigned repetitions = 0;
    for (const char *at = pattern; !is_plain && at < end; at = skip_item(at, end)) {
        const bool is_balance = at[0] == '%' && end - at > 1 && at[1] == 'b';
        if (is_balance || (at > pattern && strchr("*+-?", *at) != NULL && *at != '\0')) {
            repetitions++;
            steps *= bytes / repetitions;
        }
    }
    if (steps > (is_plain ? PLAIN_STEPS_MAX : PATTERN_STEPS_MAX)) {
        return luaL_error(lua,
                          "a pattern of %d bytes with %d repetitions may never be done with a text "
                          "of %d bytes: match a shorter text",
                          (int)pattern_length, (int)repetitions, (int)length);
    }
    note_bytes(lua, bytes);
    const bool is_long = steps * bytes > PATTERN_STEPS_LONG; /* from each place of the text */
    if (is_long) {
        note_place(lua);
        check_time(lua, 1); /* and so the place is known to others */
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
    if (is_long) {
        check_time(lua, 1); /* nobody may wait for the rest of the script any more */
    }
    return lua_gettop(lua);
}

/* A function, the upvalue, that goes through its texts once. */
static int call_text(lua_State *lua)
{
    double bytes = 0;
    for (int i = lua_gettop(lua); i > 0; i--) {
        bytes += lua_type(lua, i) == LUA_TSTRING ? (double)lua_rawlen(lua, i) : 0;
    }
    note_bytes(lua, bytes);
    return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

/* Makes functions of the libraries end: those that compute in C see no hook. */
static void bound_libraries(lua_State *lua)
{
    static const struct {
        const char *name;
        int from; /* place of the arguments FROM, TO; 0: it has none */
    } of_tables[] = {{"concat", 3}, {"move", 2}, {"insert", 0}, {"remove", 0}, {"sort", 0}};
    lua_getglobal(lua, LUA_TABLIBNAME);
    for (size_t i = 0; i < COUNT_OF(of_tables); i++) {
        lua_getfield(lua, -1, of_tables[i].name);
        lua_pushinteger(lua, of_tables[i].from);
        lua_pushcclosure(lua, call_bounded, 2);
        lua_setfield(lua, -2, of_tables[i].name);
    }
    lua_getglobal(lua, LUA_STRLIBNAME);
    lua_getfield(lua, -1, "rep");
    lua_pushcclosure(lua, call_rep, 1);
    lua_setfield(lua, -2, "rep");
    static const char *const of_patterns[] = {"find", "match", "gmatch", "gsub"};
    for (size_t i = 0; i < COUNT_OF(of_patterns); i++) {
        lua_getfield(lua, -1, of_patterns[i]);
        lua_pushboolean(lua, i == 0);
        lua_pushcclosure(lua, call_pattern, 2);
        lua_setfield(lua, -2, of_patterns[i]);
    }
    static const struct {
        const char *library, *name;
    } of_texts[] = {{LUA_STRLIBNAME, "format"}, {LUA_STRLIBNAME, "lower"},
                    {LUA_STRLIBNAME, "pack"},   {LUA_STRLIBNAME, "reverse"},
                    {LUA_STRLIBNAME, "upper"},  {LUA_UTF8LIBNAME, "codepoint"},
                    {LUA_UTF8LIBNAME, "len"},   {LUA_UTF8LIBNAME, "offset"}};
    for (size_t i = 0; i < COUNT_OF(of_texts); i++) {
        lua_getglobal(lua, of_texts[i].library);
        lua_getfield(lua, -1, of_texts[i].name);
        lua_pushcclosure(lua, call_text, 1);
        lua_setfield(lua, -2, of_texts[i].name);
    }
    lua_settop(lua, 0);
}

/* A finalizer runs when the collector likes, and nothing ends it. */
static int call_setmetatable(lua_State *lua)
{
    if (lua_istable(lua, 2)) {
        lua_pushliteral(lua, "__gc");
        DEMAND(lua, lua_rawget(lua, 2) == LUA_TNIL, "setmetatable: a script has no __gc");
        lua_pop(lua, 1);
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

/* NULL; and what ends a function, where pcall caught it. */
static int light_to_string(lua_State *lua)
{
    lua_pushstring(lua, is_null(lua, 1) ? "NULL" : "end of the transaction");
    return 1;
}

static int refuse_global(lua_State *lua)
{
    return luaL_error(lua,
                      "'%s' is not local: what is global is fixed when the top level has ended",
                      luaL_tolstring(lua, 2, NULL));
}

/* States. */

static void make_class(lua_State *lua, enum object_kind kind, const luaL_Reg *methods)
{
    lua_newtable(lua);
    lua_newtable(lua);
    luaL_setfuncs(lua, methods, 0);
    lua_setfield(lua, -2, "__index");
    lua_pushstring(lua, object_names[kind]);
    lua_setfield(lua, -2, "__name");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    if (kind == OBJECT_DRAW) {
        lua_pushcfunction(lua, draw_call);
        lua_setfield(lua, -2, "__call");
        lua_pushcfunction(lua, draw_collect);
        lua_setfield(lua, -2, "__gc");
    }
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &object_names[kind]);
}

/* Everything that a script sees. Protected: memory may run out. */
static int open_state(lua_State *lua)
{
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_UTF8LIBNAME, luaopen_utf8}};
    /* what loads code, knows the time or the order of memory, or gets around what is fixed, or
     * around the hook (it does not see a loop in xpcall's handler) */
    static const char *const removed[] = {"load", "loadfile", "dofile", "collectgarbage", "print",
                                          "next", "rawset",   "warn",   "xpcall",         "_G"};
    static const luaL_Reg functions[] = {
        {"param", declare_param},
        {"dataset", declare_dataset},
        {"statement", declare_statement},
        {"transaction", declare_transaction},
        {"on_session", declare_on_session},
        {"counter", make_counter},
        {"row", make_row},
        {"text", make_text},
        {"pattern", make_pattern},
        {"format", make_format},
        {"derive", make_derive},
        {"uniform", make_uniform},
        {"keys", make_keys},
        {"distinct", call_distinct},
        {"check", call_check},
        {"found", call_found},
        {"think", call_think},
        {"rollback", call_rollback},
        {"list", call_list},
        {"fnv", call_fnv},
        {"pairs", call_pairs},
        {"pcall", call_pcall},
        {NULL, NULL},
    };
    static const luaL_Reg of_draw[] = {{NULL, NULL}};
    static const luaL_Reg of_dataset[] = {
        {"append", dataset_append}, {"count", dataset_count}, {NULL, NULL}};
    static const luaL_Reg of_counter[] = {{"next", counter_call_next}, {NULL, NULL}};
    static const luaL_Reg of_statement[] = {{"run", statement_run},
                                            {"one", statement_one},
                                            {"all", statement_all},
                                            {"try", statement_try},
                                            {NULL, NULL}};
    static const luaL_Reg *const methods[] = {of_draw, of_dataset, of_counter, of_statement};
    const struct script_state *state = state_of(lua);
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
        lua_pop(lua, 1);
    }
    lua_getglobal(lua, LUA_TABLIBNAME);
    lua_getfield(lua, -1, "sort");
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &table_sort);
    bound_libraries(lua);
    lua_getglobal(lua, LUA_STRLIBNAME);
    lua_pushnil(lua);
    lua_setfield(lua, -2, "dump");
    lua_getglobal(lua, LUA_MATHLIBNAME);
    lua_pushnil(lua);
    lua_setfield(lua, -2, "random");
    lua_pushnil(lua);
    lua_setfield(lua, -2, "randomseed");
    lua_settop(lua, 0);
    lua_pushglobaltable(lua);
    for (size_t i = 0; i < COUNT_OF(removed); i++) {
        lua_pushnil(lua);
        lua_setfield(lua, -2, removed[i]);
    }
    luaL_setfuncs(lua, functions, 0);
    lua_getfield(lua, -1, "setmetatable");
    lua_pushcclosure(lua, call_setmetatable, 1);
    lua_setfield(lua, -2, "setmetatable");
    for (int kind = 0; kind < OBJECT_KINDS; kind++) {
        make_class(lua, (enum object_kind)kind, methods[kind]);
    }
    lua_pushlightuserdata(lua, &null_value);
    lua_createtable(lua, 0, 2); /* the metatable of all light userdata */
    lua_pushcfunction(lua, light_to_string);
    lua_setfield(lua, -2, "__tostring");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_setfield(lua, -2, "null");
    lua_createtable(lua, 0, 3);
    lua_pushinteger(lua, state->place.session);
    lua_setfield(lua, -2, "id");
    lua_pushinteger(lua, state->place.sessions);
    lua_setfield(lua, -2, "sessions");
    lua_pushstring(lua, state->place.dialect == NULL ? "" : state->place.dialect);
    lua_setfield(lua, -2, "dialect");
    lua_setfield(lua, -2, "session");
    return 0;
}

/* Globals move to where no assignment reaches them. */
static int freeze(lua_State *lua)
{
    lua_pushglobaltable(lua); /* 1 */
    lua_newtable(lua);        /* 2: what was there */
    for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
        lua_pushvalue(lua, -2);
        lua_pushvalue(lua, -2);
        lua_rawset(lua, 2);
    }
    for (lua_pushnil(lua); lua_next(lua, 2) != 0; lua_pop(lua, 1)) {
        lua_pushvalue(lua, -2);
        lua_pushnil(lua);
        lua_rawset(lua, 1);
    }
    lua_createtable(lua, 0, 3);
    lua_pushvalue(lua, 2);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, refuse_global);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, 1);
    lua_gc(lua, LUA_GCCOLLECT);
    return 0;
}

/* What there is in place of a name that a script does not have, and that an error of Lua's names;
 * "": nothing is known. */
static const char *hint_for_error(const char *text)
{
    static const struct {
        const char *name, *hint;
    } hints[] = {
        {"'random')", ": use uniform or keys"},
        {"'randomseed')", ": use --seed"},
        {"'print')", ": use error(text) or check(false, text)"},
        {"'next')", ": use pairs"},
        {"'io')", ": a script reaches only the database"},
        {"'os')", ": a script reaches only the database"},
        {"'require')", ": a script is one file"},
    };
    for (size_t i = 0; i < COUNT_OF(hints); i++) {
        if (strstr(text, hints[i].name) != NULL && strstr(text, "a nil value") != NULL) {
            return hints[i].hint;
        }
    }
    return "";
}

/* What lua_pcall came to; the error is on top of the stack and popped. */
static enum script_end conclude(struct script_state *state, int result, struct error *error)
{
    lua_State *lua = state->lua;
    if (state->end == SCRIPT_ROLLBACK) {
        snprintf(error->text, sizeof error->text, "%s", state->why);
    } else if (state->end == SCRIPT_WRONG) {
        error_set(error, ERROR_USAGE, 0, NULL, "%s", state->why);
    }
    if (state->end != SCRIPT_DONE || result == LUA_OK) {
        lua_settop(lua, 0);
        return state->end;
    }
    /* a number is not made a text: nobody would catch that there is no memory for it */
    const char *text = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : NULL;
    if (result == LUA_ERRMEM) {
        write_memory(state, state->why, sizeof state->why);
        error_set(error, ERROR_USAGE, 0, NULL, "%s", state->why);
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "%s%s",
                  text == NULL ? "the script raised an error that is no text" : text,
                  text == NULL ? "" : hint_for_error(text));
    }
    lua_settop(lua, 0);
    return SCRIPT_WRONG;
}

/* A state with everything in it but the script. NULL: out of memory. */
static struct script_state *create_state(const struct script *script, struct script *made,
                                         const struct script_place *place)
{
    struct script_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->script = script;
    state->made = made;
    state->place = *place;
    state->lua = lua_newstate(allocate, state);
    if (state->lua != NULL) {
        *(struct script_state **)lua_getextraspace(state->lua) = state;
        lua_gc(state->lua, LUA_GCINC, GC_PAUSE, 0, 0);
        lua_pushcfunction(state->lua, open_state);
    }
    if (state->lua == NULL || lua_pcall(state->lua, 0, 0, 0) != LUA_OK) {
        script_state_destroy(state);
        return NULL;
    }
    return state;
}

static enum status lack_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a script");
    return STATUS_FATAL;
}

static void explain_interrupt(struct error *error, const char *place, size_t length)
{
    error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while loading the script%s%.*s",
              length == 0 ? "" : ", at ", (int)length, place);
}

/* Runs what is on top of the stack as the top level of the script. */
static enum status run_top_level(struct script_state *state, struct error *error)
{
    state->is_declaring = true;
    state->alone_cpu_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    lua_sethook(state->lua, on_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    enum script_end end = conclude(state, lua_pcall(state->lua, 0, 0, 0), error);
    state->is_declaring = false;
    if (end == SCRIPT_DONE) {
        lua_pushcfunction(state->lua, freeze);
        end = conclude(state, lua_pcall(state->lua, 0, 0, 0), error);
    }
    if (end == SCRIPT_STOPPED) {
        const size_t length = strlen(state->why); /* "x.lua:3: ", or "" */
        explain_interrupt(error, state->why, length > 2 ? length - 2 : 0);
    }
    return end == SCRIPT_DONE ? STATUS_OK : STATUS_FATAL;
}

/* For the values of any statement, and a text of any draw of the main state. */
static bool make_room(struct script_state *state)
{
    size_t count = 1;
    for (size_t i = 0; i < state->script->statement_count; i++) {
        const size_t values = state->script->statements[i].parameters.column_count;
        count = values > count ? values : count;
    }
    const size_t each = sizeof *state->scalars + sizeof *state->columns + sizeof *state->numbers +
                        sizeof *state->nulls;
    state->scalars = calloc(count, each);
    state->columns = (struct column_data *)(void *)(state->scalars + count);
    state->numbers = (char(*)[SCALAR_NUMBER_BYTES])(void *)(state->columns + count);
    state->nulls = (uint8_t *)(state->numbers + count);
    for (size_t i = 0; i < count && state->scalars != NULL; i++) {
        state->columns[i].values.any = &state->scalars[i];
        state->columns[i].is_null = &state->nulls[i];
    }
    return state->scalars != NULL && reserve_room(state, state->script->source->main->room_bytes);
}

void script_state_destroy(struct script_state *state)
{
    if (state == NULL) {
        return;
    }
    if (state->script != NULL) {
        script_settle(state);
    }
    if (state->lua != NULL) {
        lua_close(state->lua);
    }
    for (size_t i = 0; i < state->own_count; i++) {
        free(state->own[i].sql);
    }
    free(state->own);
    free(state->function_refs);
    free(state->transaction_refs);
    free(state->session_refs);
    free(state->taken);
    free(state->scalars);
    free(state->room);
    buffer_fini(&state->cells);
    free(state);
}

/* Loading. */

static int write_code(lua_State *lua, const void *bytes, size_t length, void *context)
{
    (void)lua;
    buffer_add(context, bytes, length);
    return buffer_failed(context) ? 1 : 0;
}

/* Reads a file whole, owned by the caller; NULL: *error says why. */
static char *read_source(const char *path, size_t *length, struct error *error)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    if (fd < 0 || fstat(fd, &about) != 0) {
        error_set(error, ERROR_USAGE, errno, NULL, "script '%s': %s", path, strerror(errno));
    } else if (!S_ISREG(about.st_mode)) {
        error_set(error, ERROR_USAGE, 0, NULL, "script '%s' is %s: name a file of Lua", path,
                  S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
    } else if (about.st_size > SOURCE_BYTES_MAX) {
        error_set(error, ERROR_USAGE, 0, NULL, "script '%s' is larger than %s", path,
                  UNITS_BYTES(SOURCE_BYTES_MAX));
    } else {
        text = calloc(1, (size_t)about.st_size + 1);
        ssize_t got = 1;
        for (*length = 0;
             text != NULL && got > 0 && *length<(size_t)about.st_size; *length += got> 0
                 ? (size_t)got
                 : 0) {
            got = read(fd, text + *length, (size_t)about.st_size - *length);
        }
        if (text == NULL || got < 0) {
            error_set(error, ERROR_USAGE, errno, NULL, "script '%s': %s", path, strerror(errno));
            free(text);
            text = NULL;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

bool script_is_file(const char *name)
{
    const size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 4 && strcmp(name + length - 4, ".lua") == 0);
}

/* Fills the source's text and chunk_name. */
static enum status find_source(struct script_source *source, const char *name, struct error *error)
{
    struct buffer chunk = {0};
    struct nearest nearest = {.word = name};
    if (script_is_file(name)) {
        buffer_add_format(&chunk, "@%s", name);
        source->text = read_source(name, &source->length, error);
    } else {
        char names[ERROR_TEXT_BYTES / 2] = "";
        buffer_add_format(&chunk, "@%s.lua", name);
        for (const struct script_built_in *entry = script_built_ins; entry->name != NULL; entry++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ", entry->name);
            nearest_offer(&nearest, entry->name);
            if (strcmp(entry->name, name) == 0) {
                source->text = strdup(entry->text);
                source->length = strlen(entry->text);
            }
        }
        if (source->text == NULL) {
            error_set(error, ERROR_USAGE, 0, NULL,
                      "no workload is named '%.40s'%s%s%s: there are %s, or the path of a script "
                      "(./mine.lua)",
                      name, nearest.name == NULL ? "" : " (did you mean ",
                      nearest.name == NULL ? "" : nearest.name, nearest.name == NULL ? "" : "?)",
                      names);
        }
    }
    source->chunk_name = chunk.bytes;
    if (source->text == NULL || source->chunk_name == NULL) {
        lack_memory(error);
        return STATUS_REJECTED;
    }
    if (source->text[0] == LUA_SIGNATURE[0]) {
        error_set(error, ERROR_USAGE, 0, NULL, "script '%s' is compiled: append takes its text",
                  name);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* True: some method or field in the text is named append. */
static bool names_append(const char *text)
{
    const char *at = text;
    while ((at = strstr(at, "append")) != NULL) {
        if (at > text && strchr(":.\"'[", at[-1]) != NULL) {
            return true;
        }
        at++;
    }
    return false;
}

/* Every name=value of --set has been taken by a parameter. */
static enum status check_sets(const struct script *script, struct error *error)
{
    const struct script_source *source = script->source;
    size_t place = 0;
    for (size_t i = 0; i < source->set_count; i++) {
        for (const char *at = source->sets[i]; at != NULL; place++) {
            const size_t length = strcspn(at, ",");
            const size_t name_length = strcspn(at, "=,");
            if (!source->has_used[place]) {
                char name[SCRIPT_NAME_BYTES];
                snprintf(name, sizeof name, "%.*s", name_length < 40 ? (int)name_length : 40, at);
                struct nearest nearest = {.word = name};
                for (size_t p = 0; p < script->param_count; p++) {
                    nearest_offer(&nearest, script->params[p].name);
                }
                if (name_length == length) {
                    error_set(error, ERROR_USAGE, 0, NULL,
                              "--set '%s' is not NAME=VALUE (see append help %s)", name,
                              script->name);
                } else {
                    error_set(error, ERROR_USAGE, 0, NULL,
                              "%s has no parameter '%s'%s%s%s: see append help %s", script->name,
                              name, nearest.name == NULL ? "" : " (did you mean ",
                              nearest.name == NULL ? "" : nearest.name,
                              nearest.name == NULL ? "" : "?)", script->name);
                }
                return STATUS_REJECTED;
            }
            at = at[length] == ',' ? at + length + 1 : NULL;
        }
    }
    return STATUS_OK;
}

static enum status declare(struct script *script, struct error *error)
{
    struct script_source *source = script->source;
    const struct script_place place = {.sessions = 1, .dialect = ""};
    size_t places = 1;
    for (size_t i = 0; i < source->set_count; i++) {
        places++;
        for (const char *at = source->sets[i]; (at = strchr(at, ',')) != NULL; at++) {
            places++;
        }
    }
    source->has_used = calloc(places, sizeof *source->has_used);
    struct script_state *state = create_state(script, script, &place);
    pthread_mutex_lock(&source->lock);
    source->main = state; /* who waits for this thread looks at it */
    pthread_mutex_unlock(&source->lock);
    if (source->has_used == NULL || state == NULL) {
        return lack_memory(error);
    }
    lua_State *lua = state->lua;
    const int result = luaL_loadbufferx(lua, source->text, source->length, source->chunk_name, "t");
    if (result != LUA_OK) {
        conclude(state, result, error);
        return STATUS_REJECTED;
    }
    if (lua_dump(lua, write_code, &source->code, 0) != 0) {
        return lack_memory(error);
    }
    if (run_top_level(state, error) != STATUS_OK || check_sets(script, error) != STATUS_OK) {
        return STATUS_REJECTED;
    }
    double weight = 0;
    for (size_t i = 0; i < script->transaction_count; i++) {
        weight += script->transactions[i].weight;
    }
    if (!(weight > 0)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  script->transaction_count == 0 ? "%s: the script declares no transaction"
                                                 : "%s: no transaction has a weight above 0",
                  source->chunk_name + 1);
        return STATUS_REJECTED;
    }
    if (!make_room(state)) {
        return lack_memory(error);
    }
    script->names_append = names_append(source->text);
    uint64_t hash = hash_text(0, source->text);
    for (size_t i = 0; i < script->param_count; i++) {
        hash = hash_text(hash_text(hash, script->params[i].name), script->params[i].value);
    }
    snprintf(script->hash, sizeof script->hash, "%016" PRIx64, hash);
    script->shape = hash_shape(script);
    state->made = NULL;
    return STATUS_OK;
}

/*
 * The top level is run by a thread of its own, because a function of C that never returns cannot be
 * stopped: then the thread and its memory are left behind, and script_load fails. The thread
 * changes nothing that others see, and ends when it looks at the time.
 */
struct loading {
    struct script *script;
    struct error error; /* of the thread, until it has ended */
    enum status status;
    pthread_mutex_t lock; /* of has_ended */
    pthread_cond_t ended;
    bool has_ended;
};

static void *run_loading(void *argument)
{
    struct loading *loading = argument;
    struct script *script = loading->script;
    loading->status = find_source(script->source, script->name, &loading->error);
    if (loading->status == STATUS_OK) {
        loading->status = declare(script, &loading->error);
    }
    pthread_mutex_lock(&loading->lock);
    loading->has_ended = true;
    pthread_cond_signal(&loading->ended);
    pthread_mutex_unlock(&loading->lock);
    return NULL;
}

/* Waits until the thread has ended. False: the user interrupts, or it has had its time, and it does
 * not come to an end. */
static bool await_loading(struct loading *loading, pthread_t thread)
{
    clockid_t clock;
    const bool has_clock = pthread_getcpuclockid(thread, &clock) == 0;
    int64_t asked_ns = 0;
    bool is_waited_for = true;
    pthread_mutex_lock(&loading->lock);
    while (!loading->has_ended && is_waited_for) {
        const int64_t now_ns = mono_now_ns();
        const struct timespec until = mono_timespec(now_ns + LOOK_NS);
        asked_ns = asked_ns == 0 && interrupt_requested() ? now_ns : asked_ns;
        /* what runs instructions of Lua, or calls functions of C now and then, ends by itself */
        is_waited_for = asked_ns > 0 ? now_ns - asked_ns < ENDING_NS
                                     : !has_clock || mono_clock_ns(clock) < ALONE_NS + ENDING_NS;
        if (is_waited_for) {
            pthread_cond_timedwait(&loading->ended, &loading->lock, &until);
        }
    }
    const bool has_ended = loading->has_ended;
    pthread_mutex_unlock(&loading->lock);
    return has_ended;
}

/* Leaves the thread behind: what it may touch is never freed. */
static void leave_loading(struct loading *loading, pthread_t thread, struct error *error)
{
    struct script_source *source = loading->script->source;
    char place[80] = "";
    atomic_store(&source->is_left, true);
    pthread_detach(thread);
    pthread_mutex_lock(&source->lock);
    if (source->main != NULL) {
        snprintf(place, sizeof place, "%s", source->main->slow_place);
    }
    pthread_mutex_unlock(&source->lock);
    if (interrupt_requested()) {
        explain_interrupt(error, place, strlen(place));
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "%s: this does not come to an end",
                  place[0] == '\0' ? loading->script->name : place);
    }
}

static void loading_free(struct loading *loading)
{
    if (loading != NULL) {
        pthread_cond_destroy(&loading->ended);
        pthread_mutex_destroy(&loading->lock);
        free(loading);
    }
}

/* Frees texts that end with NULL; takes NULL. */
static void free_texts(char **texts)
{
    for (char **text = texts; text != NULL && *text != NULL; text++) {
        free(*text);
    }
    free(texts);
}

/* Copies of texts, a block each. NULL: out of memory. */
static char **copy_texts(const char *const *texts, size_t count)
{
    char **copies = calloc(count + 1, sizeof *copies);
    for (size_t i = 0; copies != NULL && i < count; i++) {
        copies[i] = strdup(texts[i]);
        if (copies[i] == NULL) {
            free_texts(copies);
            return NULL;
        }
    }
    return copies;
}

struct script *script_load(const char *name, const char *const *sets, size_t set_count,
                           struct error *error)
{
    struct script *script = calloc(1, sizeof *script);
    struct script_source *source = calloc(1, sizeof *source);
    struct loading *loading = calloc(1, sizeof *loading);
    if (script == NULL || source == NULL || loading == NULL) {
        free(script);
        free(source);
        free(loading);
        lack_memory(error);
        return NULL;
    }
    pthread_mutex_init(&source->lock, NULL);
    pthread_mutex_init(&loading->lock, NULL);
    thread_cond_init(&loading->ended);
    script->name = name;
    script->source = source;
    source->sets = copy_texts(sets, set_count);
    source->set_count = source->sets == NULL ? 0 : set_count;
    loading->script = script;
    pthread_t thread;
    if (source->sets == NULL) {
        loading->status = lack_memory(&loading->error);
    } else if (thread_start(&thread, 0, run_loading, loading) != 0) {
        run_loading(loading); /* no thread to be had: then nothing but a second Ctrl-C ends it */
    } else if (await_loading(loading, thread)) {
        pthread_join(thread, NULL);
    } else {
        leave_loading(loading, thread, error);
        return NULL;
    }
    const enum status status = loading->status;
    if (status != STATUS_OK) {
        *error = loading->error;
        script_destroy(script);
        script = NULL;
    }
    loading_free(loading);
    return script;
}

void script_share(struct script *script, unsigned place, unsigned ranks)
{
    for (size_t i = 0; i < script->counter_count; i++) {
        counter_share(script->counters[i], place, ranks);
    }
}

const char *script_text(const struct script *script)
{
    return script->source->text;
}

void script_destroy(struct script *script)
{
    if (script == NULL) {
        return;
    }
    struct script_source *source = script->source;
    script_state_destroy(source->main);
    for (size_t i = 0; i < script->dataset_count; i++) {
        table_fini(&script->datasets[i].table);
        table_fini(&source->load_tables[i]);
        free(script->datasets[i].columns);
        free(script->datasets[i].create.entries);
        free(script->datasets[i].options.entries);
        free(script->datasets[i].indexes);
    }
    for (size_t i = 0; i < script->statement_count; i++) {
        table_fini(&script->statements[i].parameters);
        free(script->statements[i].sql.entries);
    }
    for (size_t i = 0; i < script->counter_count; i++) {
        counter_destroy(script->counters[i]);
    }
    for (size_t i = 0; i < source->string_count; i++) {
        buffer_fini(&source->strings[i]);
    }
    free(script->params);
    free(script->datasets);
    free(script->statements);
    free(script->transactions);
    free(script->operations);
    free(script->counters);
    free(source->text);
    free(source->chunk_name);
    buffer_fini(&source->code);
    free(source->strings);
    free(source->load_tables);
    free(source->has_used);
    free_texts(source->sets);
    free(source->dialect);
    free(source->statements);
    pthread_mutex_destroy(&source->lock);
    free(source);
    free(script);
}

/* What a statement is for a dialect; its sql is borrowed from the script, with ${session} in it.
 * REJECTED: the script has no text for this dialect. */
static enum status resolve(const struct script *script, size_t number, const char *dialect,
                           struct statement *statement, struct error *error)
{
    const struct script_statement *of = &script->statements[number];
    *statement = (struct statement){
        .sql = script_text_for(&of->sql, dialect),
        .name = of->name,
        .is_prepared = of->is_prepared,
        .slot = of->is_prepared ? (unsigned)number + 1 : 0,
        .parameters = of->parameters.column_count > 0 ? &of->parameters : NULL,
    };
    if (statement->sql == NULL) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s:%d: statement '%s' has no SQL for %s, and no default",
                  script->source->chunk_name + 1, of->line, of->name, dialect);
        return STATUS_REJECTED;
    }
    const size_t marks = sql_script_count_parameters(statement->sql, sql_lexis_of(dialect));
    if (marks != of->parameters.column_count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s:%d: statement '%s' has %zu ? in %s, and %zu types",
                  script->source->chunk_name + 1, of->line, of->name, marks, dialect,
                  of->parameters.column_count);
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* Puts the session's number into the text: a copy, owned by the caller. NULL: out of memory. */
static char *put_session(const char *sql, unsigned session)
{
    struct buffer out = {0};
    for (const char *at; (at = strstr(sql, SESSION_MARK)) != NULL;
         sql = at + sizeof SESSION_MARK - 1) {
        buffer_add(&out, sql, (size_t)(at - sql));
        buffer_add_format(&out, "%u", session);
    }
    buffer_add_text(&out, sql);
    if (buffer_failed(&out)) {
        buffer_fini(&out);
    }
    return out.bytes;
}

enum status script_resolve(const struct script *script, size_t number,
                           const struct script_place *place, struct statement *statement,
                           char **sql, struct error *error)
{
    *sql = NULL;
    const enum status status = resolve(script, number, place->dialect, statement, error);
    if (status == STATUS_OK) {
        *sql = put_session(statement->sql, place->session);
        statement->sql = *sql;
        if (*sql == NULL) {
            return lack_memory(error);
        }
    }
    return status;
}

/* The statements of all sessions, made by the first of them. */
static enum status share_statements(struct script_state *state, struct error *error)
{
    const struct script *script = state->script;
    struct script_source *source = script->source;
    const char *dialect = state->place.dialect;
    enum status status = STATUS_OK;
    pthread_mutex_lock(&source->lock);
    if (source->statements == NULL || strcmp(source->dialect, dialect) != 0) {
        free(source->dialect);
        free(source->statements);
        source->dialect = strdup(dialect);
        source->statements = calloc(script->statement_count + 1, sizeof *source->statements);
        if (source->dialect == NULL || source->statements == NULL) {
            status = lack_memory(error);
        }
        for (size_t i = 0; i < script->statement_count && status == STATUS_OK; i++) {
            status = resolve(script, i, dialect, &source->statements[i], error);
        }
        if (status != STATUS_OK) {
            free(source->statements);
            source->statements = NULL;
        }
    }
    state->statements = source->statements;
    pthread_mutex_unlock(&source->lock);
    return status;
}

static enum status make_own_statements(struct script_state *state, struct error *error)
{
    const struct script *script = state->script;
    size_t count = 0;
    for (size_t i = 0; i < script->statement_count; i++) {
        count += script->statements[i].has_session ? 1 : 0;
    }
    if (count == 0) {
        return STATUS_OK;
    }
    state->own = calloc(count, sizeof *state->own);
    for (size_t i = 0; i < script->statement_count && state->own != NULL; i++) {
        if (script->statements[i].has_session) {
            struct own_statement *own = &state->own[state->own_count];
            own->number = i;
            own->statement = state->statements[i];
            own->sql = put_session(own->statement.sql, state->place.session);
            own->statement.sql = own->sql;
            state->own_count += own->sql != NULL ? 1 : 0;
        }
    }
    if (state->own_count < count) {
        return lack_memory(error);
    }
    return STATUS_OK;
}

enum status script_state_create(struct script_state **state, const struct script *script,
                                const struct script_place *place, struct error *error)
{
    const struct script_source *source = script->source;
    *state = NULL;
    struct script_state *made = create_state(script, NULL, place);
    if (made == NULL || !make_room(made)) {
        script_state_destroy(made);
        return lack_memory(error);
    }
    const int result = luaL_loadbufferx(made->lua, source->code.bytes, source->code.length,
                                        source->chunk_name, "b");
    enum status status = result == LUA_OK ? run_top_level(made, error) : STATUS_FATAL;
    if (result != LUA_OK) {
        conclude(made, result, error);
    }
    if (status == STATUS_OK &&
        (made->params != script->param_count || made->datasets != script->dataset_count ||
         made->statement_count != script->statement_count ||
         made->transactions != script->transaction_count ||
         made->functions != source->main->functions)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s: the script declares less in a session than before the run: the top level "
                  "must not depend on the session",
                  source->chunk_name + 1);
        status = STATUS_FATAL;
    }
    if (status == STATUS_OK && place->host != NULL) {
        status = share_statements(made, error);
        if (status == STATUS_OK) {
            status = make_own_statements(made, error);
        }
    }
    if (status != STATUS_OK) {
        script_state_destroy(made);
        return STATUS_FATAL;
    }
    *state = made;
    return STATUS_OK;
}

const struct statement *script_state_statement(const struct script_state *state, size_t number)
{
    if (state->own_count > 0 && state->script->statements[number].has_session) {
        for (size_t i = 0; i < state->own_count; i++) {
            if (state->own[i].number == number) {
                return &state->own[i].statement;
            }
        }
    }
    return &state->statements[number];
}

/* Running. */

static uint64_t base_of(const struct script_state *state, uint64_t turn)
{
    return random_mix(random_mix(state->place.seed + RANDOM_STEP * (state->place.session + 1)) +
                      turn);
}

size_t script_choose(const struct script_state *state, uint64_t turn)
{
    const struct script *script = state->script;
    /* a stream of its own, apart from the draws of the function */
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
    return conclude(state, lua_pcall(state->lua, 0, 0, 0), error);
}

enum script_end script_try(struct script_state *state, size_t transaction, uint64_t turn,
                           struct error *error)
{
    state->taken_at = 0;
    state->stream = (struct draw_stream){
        .base = base_of(state, turn), .row = turn * state->place.sessions + state->place.session};
    return call(state, state->transaction_refs[transaction], error);
}

const char *script_place_of(const struct script_state *state)
{
    return state->slow_place[0] != '\0' ? state->slow_place : state->script->name;
}

void script_settle(struct script_state *state)
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
    script_settle(state); /* no transaction: none is to take the same numbers */
    return end;
}

/* Rows. */

struct script_rows {
    const struct script *script;
    size_t dataset;
    size_t most_rows;
    struct batch batch;
    struct column_data *columns;
    char **values; /* of a column each: most_rows of them */
    struct buffer texts;
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
    bool is_good = rows->columns != NULL && rows->values != NULL;
    for (size_t i = 0; i < table->column_count && is_good; i++) {
        rows->values[i] = calloc(most_rows, scalar_bytes(table->columns[i].type));
        rows->columns[i].values.any = rows->values[i];
        is_good = rows->values[i] != NULL;
    }
    rows->batch = (struct batch){.table = table, .columns = rows->columns};
    if (!is_good) {
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

/* What fill_rows works on, by Lua: a function of the script may fail. */
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
                push_drawn(lua, draw, &stream);
                check_value(lua, -1, &value);
            } else {
                draw_value(draw, &stream, filling->state->room, &value);
            }
            DEMAND(lua, scalar_store(&table->columns[c], &value, &scalar, number),
                   "row %I: %s does not fit column '%s' (%s)%s", (LUAI_UACINT)row,
                   push_shown(lua, &value), table->columns[c].name, table->columns[c].type_name,
                   hint_for_whole(&table->columns[c], &value));
            const size_t bytes = scalar_bytes(table->columns[c].type);
            if (scalar_is_text(table->columns[c].type)) {
                buffer_add(&rows->texts, scalar.text.bytes, scalar.text.length);
            }
            memcpy(rows->values[c++] + r * bytes, &scalar, bytes);
            lua_settop(lua, 1);
        }
    }
    DEMAND(lua, !buffer_failed(&rows->texts), "not enough memory");
    /* now they do not move any more */
    const char *at = buffer_text(&rows->texts);
    for (size_t r = 0; r < filling->count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (scalar_is_text(table->columns[c].type)) {
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
    const int top = lua_gettop(lua); /* it may be called from within a function of the script */
    lua_pushcfunction(lua, fill_rows);
    lua_pushlightuserdata(lua, &filling);
    const int result = lua_pcall(lua, 1, 0, 0);
    if (result != LUA_OK) {
        const char *text = state->end == SCRIPT_WRONG         ? state->why
                           : lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1)
                                                              : NULL;
        const char *name = state->script->source->chunk_name + 1;
        const bool is_placed = text != NULL && strncmp(text, name, strlen(name)) == 0;
        error_set(error, ERROR_USAGE, 0, NULL, "%s%s%s%s%s", is_placed ? "" : name,
                  is_placed ? "" : ": dataset '",
                  is_placed ? "" : rows->script->datasets[rows->dataset].name,
                  is_placed ? "" : "': ", text == NULL ? "the script failed" : text);
        lua_settop(lua, top);
        return NULL;
    }
    rows->batch.row_count = count;
    return &rows->batch;
}
