#include "script/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <lualib.h>

#include "base/process.h"

enum {
    STATE_BYTES_MAX = 8 << 20, /* maximum memory of one state, in bytes */
    HOOK_INSTRUCTIONS = 10000, /* number of Lua instructions between two calls to check_time */
    ELEMENTS_MAX = 1000000,    /* maximum number of elements that one table function may visit */
    GC_PAUSE = 110, /* pause of Lua's garbage collector, in percent; the low value makes a state a
                       third smaller */
};

/* CPU time that a function may use, later than ENDING_NS after the end of the run, without calling
 * a function that this program provides. A function that uses more is considered endless. */
#define ENDING_CPU_NS (10 * MONO_NS_PER_MS)

/* Number of bytes that C functions may process between two calls to check_time. This takes some
 * milliseconds. */
#define BYTES_BETWEEN 1e7

/* Only the addresses of these variables are used: `signal` is the error object of sandbox_end, and
 * `table_sort` is the key of table.sort in the registry. */
static char signal, table_sort;

static const char *const object_names[OBJECT_KINDS] = {"generator", "dataset", "counter", "metric",
                                                       "statement"};

/* Does the same as luaL_error, but is declared as _Noreturn. */
_Noreturn void sandbox_fail(lua_State *lua, const char *format, ...)
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
        state->is_machine_out_of_memory = false;
        return NULL;
    }
    void *moved = realloc(old, bytes);
    if (moved == NULL) {
        state->is_machine_out_of_memory = true;
        return NULL;
    }
    state->used_bytes += bytes - had;
    return moved;
}

void *sandbox_grow(lua_State *lua, void *array, size_t count, size_t size)
{
    void *grown =
        (count & (count + 1)) == 0 || count == 0 ? realloc(array, (2 * count + 1) * size) : array;
    DEMAND_MEMORY(lua, grown != NULL);
    return grown;
}

struct object *object_push(lua_State *lua, enum object_kind kind, int number)
{
    struct object *object = lua_newuserdatauv(lua, sizeof *object, 1);
    *object = (struct object){.kind = kind, .number = number};
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &object_names[kind]);
    lua_setmetatable(lua, -2);
    return object;
}

struct object *object_check(lua_State *lua, int index, enum object_kind kind)
{
    struct object *object = object_get(lua, index, kind);
    const bool is_method = index == 1 && kind != OBJECT_DRAW;
    DEMAND(lua, object != NULL, "a %s is needed here, not a %s%s", object_names[kind],
           luaL_typename(lua, index), is_method ? ": call methods with ':', not with '.'" : "");
    return object;
}

void object_class(lua_State *lua, enum object_kind kind, const luaL_Reg *methods,
                  const luaL_Reg *meta)
{
    lua_newtable(lua);
    lua_newtable(lua);
    luaL_setfuncs(lua, methods, 0);
    lua_setfield(lua, -2, "__index");
    lua_pushstring(lua, object_names[kind]);
    lua_setfield(lua, -2, "__name");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    if (meta != NULL) {
        luaL_setfuncs(lua, meta, 0);
    }
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &object_names[kind]);
}

int64_t argument_integer(lua_State *lua, int index, const char *what)
{
    int is_whole;
    const lua_Integer value = lua_tointegerx(lua, index, &is_whole);
    DEMAND(lua, is_whole, "%s must be a whole number, not %s", what,
           luaL_tolstring(lua, index, NULL));
    return value;
}

/* Pushes and returns the names, separated by commas. */
static const char *push_names(lua_State *lua, const char *const *names)
{
    luaL_Buffer text;
    luaL_buffinit(lua, &text);
    for (size_t i = 0; names[i] != NULL; i++) {
        luaL_addstring(&text, i == 0 ? "" : ", ");
        luaL_addstring(&text, names[i]);
    }
    luaL_pushresult(&text);
    return lua_tostring(lua, -1);
}

bool argument_options(lua_State *lua, int index, const char *what, const char *const *known,
                      lua_Integer places)
{
    if (lua_isnoneornil(lua, index)) {
        return false;
    }
    DEMAND(lua, lua_istable(lua, index), "the options of %s must be a table, not a %s", what,
           luaL_typename(lua, index));
    for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
        bool is_known = lua_isinteger(lua, -2) && lua_tointeger(lua, -2) >= 1 &&
                        lua_tointeger(lua, -2) <= places;
        for (size_t i = 0; known[i] != NULL && lua_type(lua, -2) == LUA_TSTRING; i++) {
            is_known = is_known || strcmp(known[i], lua_tostring(lua, -2)) == 0;
        }
        if (!is_known) {
            const char *name = luaL_tolstring(lua, -2, NULL);
            sandbox_fail(lua, "%s has no option '%s'; use %s", what, name, push_names(lua, known));
        }
    }
    return true;
}

void sandbox_check_top_level(lua_State *lua, const char *what)
{
    DEMAND(lua, state_of(lua)->is_declaring,
           "%s must be called at the top level of the script, not in a function that runs later",
           what);
}

int sandbox_end(lua_State *lua, enum script_end end)
{
    struct script_state *state = state_of(lua);
    state->end = state->end == SCRIPT_DONE ? end : state->end;
    lua_pushlightuserdata(lua, &signal);
    return lua_error(lua);
}

const struct script_host *sandbox_check_running(lua_State *lua, const char *what)
{
    struct script_state *state = state_of(lua);
    DEMAND(lua, !state->is_declaring && state->place.host != NULL,
           "%s works only in a transaction's function, not at the top level", what);
    if (state->end != SCRIPT_DONE ||
        (state->is_ending && mono_now_ns() - state->ending_ns > ENDING_NS)) {
        sandbox_end(lua, SCRIPT_STOPPED);
    }
    return state->place.host;
}

/* Ends the current call of the script with SCRIPT_WRONG. The error message is `text`, after the
 * line in the script of the function at `level` of Lua's stack. pcall cannot catch the error. */
static void end_with_mistake(lua_State *lua, int level, const char *text)
{
    struct script_state *state = state_of(lua);
    luaL_where(lua, level);
    snprintf(state->why, sizeof state->why, "%s%s", lua_tostring(lua, -1), text);
    state->why_kind = ERROR_USAGE;
    sandbox_end(lua, SCRIPT_WRONG);
}

/* Ends the current call of the script if the call takes too long or must end for another reason.
 * Called regularly while the script computes. */
static void check_time(lua_State *lua, int level)
{
    struct script_state *state = state_of(lua);
    const struct script_host *host = state->is_declaring ? NULL : state->place.host;
    if (state->end != SCRIPT_DONE) {
        sandbox_end(lua, state->end);
    }
    if (state->declaring != NULL &&
        (interrupt_requested() || atomic_load(&state->script->source->is_abandoned))) {
        luaL_where(lua, level);
        snprintf(state->why, sizeof state->why, "%s", lua_tostring(lua, -1));
        sandbox_end(lua, SCRIPT_STOPPED);
    }
    const bool is_stopped = host != NULL && host->is_stopped(host->context);
    const bool is_alone = host == NULL || state->is_connecting;
    if (!is_stopped && !is_alone) {
        return;
    }
    const int64_t cpu_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = mono_now_ns();
    if (is_alone && cpu_ns - state->alone_cpu_ns > ALONE_NS) {
        end_with_mistake(lua, level, TEXT_ENDLESS);
    }
    if (!is_stopped) {
        return;
    }
    if (!state->is_ending) {
        state->is_ending = true;
        state->ending_ns = now_ns;
        state->ending_cpu_ns = INT64_MAX;
    } else if (now_ns - state->ending_ns > ENDING_NS && state->ending_cpu_ns == INT64_MAX) {
        /* a function that calls a function of this program also ends: see sandbox_check_running */
        state->ending_cpu_ns = cpu_ns + ENDING_CPU_NS;
    } else if (cpu_ns > state->ending_cpu_ns) {
        end_with_mistake(
            lua, level,
            "this code was still running after the run had ended: is there an endless loop?");
    }
}

/* Lua calls the hook after every HOOK_INSTRUCTIONS instructions. */
static void on_hook(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    check_time(lua, 0); /* level 0, because a hook adds no level to Lua's stack */
}

/* Compares two keys of a table. Numbers come before texts, both in ascending order. Keys of
 * other types have no order. */
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

/* Replaces pairs: visits the keys in the order of compare_keys. The reason: Lua's own order differs
 * between states, and a run could not be repeated exactly. */
static int call_pairs(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &table_sort); /* pushes table.sort */
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

void sandbox_note_memory(struct script_state *state)
{
    const char *name = state->script->source->chunk_name + 1;
    if (state->is_machine_out_of_memory) {
        state->why_kind = ERROR_MEMORY;
        snprintf(state->why, sizeof state->why, "%s: out of memory for a script", name);
    } else {
        state->why_kind = ERROR_USAGE;
        snprintf(state->why, sizeof state->why,
                 "%s: the script needs more than the %d MiB that each session may use", name,
                 STATE_BYTES_MAX >> 20);
    }
}

_Noreturn void sandbox_fail_memory(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    state->is_machine_out_of_memory = true;
    sandbox_note_memory(state);
    sandbox_end(lua, SCRIPT_WRONG);
    abort();
}

/* Replaces pcall: does not catch sandbox_end or an out-of-memory error. */
static int call_pcall(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    luaL_checkany(lua, 1);
    const int result = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    if (result == LUA_ERRMEM && state->end == SCRIPT_DONE) {
        state->end = SCRIPT_WRONG;
        sandbox_note_memory(state);
    }
    if (state->end != SCRIPT_DONE) {
        return sandbox_end(lua, state->end);
    }
    luaL_checkstack(lua, 1, "too many results");
    lua_pushboolean(lua, result == LUA_OK);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/* Counts bytes that a C function processes, and calls check_time every BYTES_BETWEEN bytes, because
 * the hook does not run in C functions. */
static void note_bytes(lua_State *lua, double bytes)
{
    struct script_state *state = state_of(lua);
    state->bytes_seen += bytes > 0 ? bytes : 0;
    if (state->bytes_seen > BYTES_BETWEEN) {
        state->bytes_seen = 0;
        check_time(lua, 1);
    }
}

/* Calls the first upvalue, a function of the table library, unless the function would visit more
 * than ELEMENTS_MAX elements. The second upvalue is the index of the function's argument FROM,
 * which the argument TO follows. If the second upvalue is 0, the function visits the whole
 * table. */
static int call_bounded(lua_State *lua)
{
    const lua_CFunction function = lua_tocfunction(lua, lua_upvalueindex(1));
    const int from_at = (int)lua_tointeger(lua, lua_upvalueindex(2)), to_at = from_at + 1;
    const bool has_range = from_at > 0;
    const lua_Integer from = has_range ? luaL_optinteger(lua, from_at, 1) : 1;
    lua_Integer to = 0;
    if (has_range && !lua_isnoneornil(lua, to_at)) {
        to = luaL_checkinteger(lua, to_at);
    } else if (lua_istable(lua, 1)) {
        to = luaL_len(lua, 1);
    }
    DEMAND(lua, to < from || (lua_Unsigned)to - (lua_Unsigned)from < ELEMENTS_MAX,
           "more than %d elements in one call: use a smaller table", ELEMENTS_MAX);
    note_bytes(lua, to < from ? 0 : (double)(to - from) * (double)sizeof(lua_Number));
    /* the function is called directly, not by lua_call, so that its messages name the line of the
     * script */
    return function(lua);
}

/* Replaces string.rep. Repeating an empty text returns at once, whatever the number of repeats. */
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

/* Maximum number of steps that a match may need. The steps are computed for the worst case: each
 * repetition in the pattern is tried at each position of the text, for each try of the previous
 * repetition. Most patterns need far fewer steps. */
#define PATTERN_STEPS_MAX 1e20
#define PATTERN_STEPS_LONG 1e8 /* steps that take about a second */
#define PLAIN_STEPS_MAX 1e12

/* Returns the end of the item of a pattern (a character, a class or a set) that begins at `at`. */
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

/* Stores the current place in the script, which script_place_of returns, because the next call may
 * never return. */
static void keep_place(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    struct script_source *source =
        state->declaring != NULL ? state->declaring->source : state->script->source;
    luaL_where(lua, 1);
    const char *place = lua_tostring(lua, -1);
    pthread_mutex_lock(&source->lock);
    /* copies the place without the ": " after "x.lua:3" */
    snprintf(state->slow_place, sizeof state->slow_place, "%.*s",
             place[0] == '\0' ? 0 : (int)strlen(place) - 2, place);
    pthread_mutex_unlock(&source->lock);
    lua_pop(lua, 1);
}

/* Replaces find, match, gmatch and gsub. A match runs in C and cannot be interrupted. Therefore
 * this function refuses a match that might never finish. If a match continues after the end of the
 * run, the program stops waiting for the match's thread. The upvalues are the library's function
 * and whether the function has the argument PLAIN. */
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
                          "a pattern of %d bytes with %d repetitions may never finish on a text of "
                          "%d bytes: match a shorter text",
                          (int)pattern_length, (int)repetitions, (int)length);
    }
    note_bytes(lua, bytes);
    const bool is_long = steps * bytes > PATTERN_STEPS_LONG; /* a match is tried at each byte */
    if (is_long) {
        keep_place(lua);
        check_time(lua, 1); /* do not begin a match after the run has ended */
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
    if (is_long) {
        check_time(lua, 1); /* the run may have ended, or this thread may have been abandoned */
    }
    return lua_gettop(lua);
}

/* Calls the upvalue, a function that reads each of its text arguments once. */
static int call_text(lua_State *lua)
{
    double bytes = 0;
    for (int i = lua_gettop(lua); i > 0; i--) {
        bytes += lua_type(lua, i) == LUA_TSTRING ? (double)lua_rawlen(lua, i) : 0;
    }
    note_bytes(lua, bytes);
    return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

/* Replaces the library functions that can run long in C, where the hook does not run. */
static void bound_libraries(lua_State *lua)
{
    static const struct {
        const char *name;
        int from; /* index of the argument FROM, which the argument TO follows; 0: the function has
                     no range */
    } table_functions[] = {{"concat", 3}, {"move", 2}, {"insert", 0}, {"remove", 0}, {"sort", 0}};
    lua_getglobal(lua, LUA_TABLIBNAME);
    for (size_t i = 0; i < COUNT_OF(table_functions); i++) {
        lua_getfield(lua, -1, table_functions[i].name);
        lua_pushinteger(lua, table_functions[i].from);
        lua_pushcclosure(lua, call_bounded, 2);
        lua_setfield(lua, -2, table_functions[i].name);
    }
    lua_getglobal(lua, LUA_STRLIBNAME);
    lua_getfield(lua, -1, "rep");
    lua_pushcclosure(lua, call_rep, 1);
    lua_setfield(lua, -2, "rep");
    static const char *const pattern_functions[] = {"find", "match", "gmatch", "gsub"};
    for (size_t i = 0; i < COUNT_OF(pattern_functions); i++) {
        lua_getfield(lua, -1, pattern_functions[i]);
        lua_pushboolean(lua, i == 0);
        lua_pushcclosure(lua, call_pattern, 2);
        lua_setfield(lua, -2, pattern_functions[i]);
    }
    static const struct {
        const char *library, *name;
    } text_functions[] = {{LUA_STRLIBNAME, "format"}, {LUA_STRLIBNAME, "lower"},
                          {LUA_STRLIBNAME, "pack"},   {LUA_STRLIBNAME, "reverse"},
                          {LUA_STRLIBNAME, "upper"},  {LUA_UTF8LIBNAME, "codepoint"},
                          {LUA_UTF8LIBNAME, "len"},   {LUA_UTF8LIBNAME, "offset"}};
    for (size_t i = 0; i < COUNT_OF(text_functions); i++) {
        lua_getglobal(lua, text_functions[i].library);
        lua_getfield(lua, -1, text_functions[i].name);
        lua_pushcclosure(lua, call_text, 1);
        lua_setfield(lua, -2, text_functions[i].name);
    }
    lua_settop(lua, 0);
}

/* Replaces setmetatable. Refuses __gc: a finalizer runs whenever the garbage collector runs, and
 * nothing could stop an endless finalizer. */
static int call_setmetatable(lua_State *lua)
{
    if (lua_istable(lua, 2)) {
        lua_pushliteral(lua, "__gc");
        DEMAND(lua, lua_rawget(lua, 2) == LUA_TNIL, "setmetatable: a script cannot use __gc");
        lua_pop(lua, 1);
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

static int refuse_global(lua_State *lua)
{
    return luaL_error(lua,
                      "'%s' is not local: globals cannot be changed after the top level has ended; "
                      "declare it with local",
                      luaL_tolstring(lua, 2, NULL));
}

void sandbox_add(lua_State *lua, const luaL_Reg *functions)
{
    lua_pushglobaltable(lua);
    luaL_setfuncs(lua, functions, 0);
    lua_pop(lua, 1);
}

/* Opens the libraries. lua_pcall calls this function, because memory may run out. */
static int open_libraries(lua_State *lua)
{
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_UTF8LIBNAME, luaopen_utf8}};
    /* Functions that scripts do not have: they load code, depend on the time or on addresses in
     * memory, change read-only globals, or escape the hook (the handler of xpcall runs without the
     * hook). */
    static const struct {
        const char *library, *name;
    } removed[] = {{LUA_GNAME, "load"},
                   {LUA_GNAME, "loadfile"},
                   {LUA_GNAME, "dofile"},
                   {LUA_GNAME, "collectgarbage"},
                   {LUA_GNAME, "next"},
                   {LUA_GNAME, "rawset"},
                   {LUA_GNAME, "warn"},
                   {LUA_GNAME, "xpcall"},
                   {LUA_STRLIBNAME, "dump"},
                   {LUA_MATHLIBNAME, "random"},
                   {LUA_MATHLIBNAME, "randomseed"},
                   {LUA_GNAME, LUA_GNAME}};
    static const luaL_Reg functions[] = {
        {"pairs", call_pairs}, {"pcall", call_pcall}, {NULL, NULL}};
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
        lua_pop(lua, 1);
    }
    lua_getglobal(lua, LUA_TABLIBNAME);
    lua_getfield(lua, -1, "sort");
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &table_sort);
    bound_libraries(lua);
    for (size_t i = 0; i < COUNT_OF(removed); i++) {
        lua_getglobal(lua, removed[i].library);
        lua_pushnil(lua);
        lua_setfield(lua, -2, removed[i].name);
    }
    lua_settop(lua, 0);
    sandbox_add(lua, functions);
    lua_getglobal(lua, "setmetatable");
    lua_pushcclosure(lua, call_setmetatable, 1);
    lua_setglobal(lua, "setmetatable");
    return 0;
}

bool sandbox_open(struct script_state *state, lua_CFunction open_rest)
{
    lua_State *lua = lua_newstate(allocate, state);
    state->lua = lua;
    if (lua == NULL) {
        return false;
    }
    *(struct script_state **)lua_getextraspace(lua) = state;
    lua_gc(lua, LUA_GCINC, GC_PAUSE, 0, 0);
    lua_sethook(lua, on_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    lua_pushcfunction(lua, open_libraries);
    lua_pushcfunction(lua, open_rest);
    lua_insert(lua, 1);
    bool is_open = true;
    for (int i = 0; i < 2 && is_open; i++) {
        is_open = lua_pcall(lua, 0, 0, 0) == LUA_OK;
    }
    return is_open;
}

int sandbox_freeze(lua_State *lua)
{
    lua_pushglobaltable(lua); /* the table of globals, at index 1 */
    /* index 2: a copy of the globals. The table of globals is emptied; reads of a global then use
     * the copy, and writes call refuse_global */
    lua_newtable(lua);
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

/* Returns a hint for an error message of Lua about a function that scripts do not have, or "". */
static const char *hint_for_error(const char *text)
{
    static const struct {
        const char *name, *hint;
    } hints[] = {
        {"'random')", ": use uniform or keys"},
        {"'randomseed')", ": use --seed"},
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

enum script_end sandbox_finish(struct script_state *state, int result, struct error *error)
{
    lua_State *lua = state->lua;
    if (state->end == SCRIPT_ROLLBACK) {
        snprintf(error->text, sizeof error->text, "%s", state->why);
    } else if (state->end == SCRIPT_WRONG) {
        error_set(error, state->why_kind, 0, NULL, "%s", state->why);
    }
    if (state->end != SCRIPT_DONE || result == LUA_OK) {
        lua_settop(lua, 0);
        return state->end;
    }
    /* Reads only a text. The conversion of a number to a text could run out of memory, and here no
     * pcall would catch the error. */
    const char *text = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : NULL;
    if (result == LUA_ERRMEM) {
        sandbox_note_memory(state);
        error_set(error, state->why_kind, 0, NULL, "%s", state->why);
    } else {
        error_set(error, ERROR_USAGE, 0, NULL, "%s%s",
                  text == NULL ? state->script->source->chunk_name + 1 : text,
                  text == NULL ? ": the script called error() with a value that is not a text"
                               : hint_for_error(text));
    }
    lua_settop(lua, 0);
    return SCRIPT_WRONG;
}
