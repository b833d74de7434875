/*
 * What the files of this room share, apart from script.h. From the lowest:
 *
 *     sandbox.c  the Lua state: its libraries, the bounds on memory and time, objects, arguments
 *     values.c   values between Lua and columns, and the generators that draw them
 *     declare.c  what the top level declares
 *     run.c      the functions of a transaction
 *     rows.c     rows of a load
 *     state.c    the state of a session: the script in a sandbox, and its statements' words
 *     script.c   loads a script
 *
 * "Ends the function" means lua_error: only for functions of C that Lua calls.
 */
#ifndef SCRIPT_INTERNAL_H
#define SCRIPT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/mono.h"
#include "base/text.h"
#include "script/scalar.h"
#include "script/script.h"

/* CPU time of a function where no run can end it: of the top level, of a function that makes a
 * value. */
#define ALONE_NS (10 * MONO_NS_PER_S)

/* A function that goes on for so long after the run has ended is cut off at its next call of the
 * host. */
#define ENDING_NS MONO_NS_PER_S

#define SESSION_MARK "${session}"

/* NAME=VALUE of --set. */
struct script_set {
    const char *name;
    const char *value; /* NULL: there is no '=' */
    bool is_used;      /* the name is a parameter's */
};

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

struct script_source {
    char *text; /* owned, as are all below */
    size_t length;
    char *chunk_name;          /* "@oltp.lua" */
    struct buffer code;        /* the chunk as sessions load it */
    struct script_state *main; /* it declared: draws and functions live in it */
    struct buffer *strings;    /* names and texts, a block each */
    size_t string_count;
    struct table *load_tables; /* of datasets: the columns that the load writes */
    char *set_text;            /* a copy: a thread that is left behind may read it */
    struct script_set *sets;   /* their texts are in set_text */
    size_t set_count;
    atomic_bool is_left;  /* nobody waits any more for the thread that runs the top level */
    pthread_mutex_t lock; /* of the two below, and of slow_place of `main` while it declares */
    char *dialect;
    struct statement *statements; /* for that dialect */
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

/* sandbox.c */

static inline struct script_state *state_of(lua_State *lua)
{
    return *(struct script_state **)lua_getextraspace(lua);
}

/* Ends the function with an error at its line. */
_Noreturn void sandbox_refuse(lua_State *lua, const char *format, ...);

/* Ends the function unless `is_good`. */
#define DEMAND(lua, is_good, ...)                                                                  \
    do {                                                                                           \
        if (!(is_good)) {                                                                          \
            sandbox_refuse((lua), __VA_ARGS__);                                                    \
        }                                                                                          \
    } while (0)

/* Makes place in an array for one more element, all zero. Ends the function without memory. */
#define GROW(lua, array, count)                                                                    \
    do {                                                                                           \
        (array) = sandbox_grow((lua), (array), (count), sizeof *(array));                          \
        memset(&(array)[(count)], 0, sizeof *(array));                                             \
    } while (0)
void *sandbox_grow(lua_State *lua, void *array, size_t count, size_t size);

/* Makes the Lua state with its libraries; `open_rest` adds the names of the other files. False: out
 * of memory. */
bool sandbox_open(struct script_state *state, lua_CFunction open_rest);

/* Adds functions to the global names. */
void sandbox_add(lua_State *lua, const luaL_Reg *functions);

/* Moves the global names to where no assignment reaches them. */
int sandbox_freeze(lua_State *lua);

/* Says how lua_pcall ended, and empties the stack. `result` is what it returned, with the error on
 * top of the stack. */
enum script_end sandbox_conclude(struct script_state *state, int result, struct error *error);

/* Ends the function; pcall does not hide it. The first end counts. */
int sandbox_end(lua_State *lua, enum script_end end);

/* End the function where `what` does not work. */
void sandbox_check_top_level(lua_State *lua, const char *what);
const struct script_host *sandbox_check_running(lua_State *lua, const char *what);

/* Makes the class of a kind of objects; `meta` may be NULL. */
void object_class(lua_State *lua, enum object_kind kind, const luaL_Reg *methods,
                  const luaL_Reg *meta);
struct object *object_push(lua_State *lua, enum object_kind kind, int number);
struct object *object_check(lua_State *lua, int index, enum object_kind kind);

/* Returns the object at `index`; NULL when there is something else. */
static inline struct object *object_get(lua_State *lua, int index, enum object_kind kind)
{
    struct object *object =
        lua_type(lua, index) == LUA_TUSERDATA ? lua_touserdata(lua, index) : NULL;
    return object != NULL && object->kind == kind ? object : NULL;
}

/* Returns a whole number, also one that is stored as a float. */
int64_t argument_integer(lua_State *lua, int index, const char *what);

/* Checks the options at `index`, nil or a table with nothing but `known` (ends with NULL) beside
 * its first `places` entries: a misspelt name would do nothing. True: there is a table. */
bool argument_options(lua_State *lua, int index, const char *what, const char *const *known,
                      lua_Integer places);

/* values.c */

void values_open(lua_State *lua);

/* The `null` of scripts is light userdata with this address. */
extern char value_null;
static inline bool value_is_null(lua_State *lua, int index)
{
    return lua_type(lua, index) == LUA_TLIGHTUSERDATA && lua_touserdata(lua, index) == &value_null;
}

/* Converts a value of Lua; false: it is not a number, a text, true or false. */
bool value_get(lua_State *lua, int index, struct draw_value *value);
void value_check(lua_State *lua, int index, struct draw_value *value);

/* Hints that a message ends with, or "": for what cannot be a value, and for a value that does not
 * fit its column. */
const char *value_nil_hint(lua_State *lua, int index);
const char *value_whole_hint(const struct column *column, const struct draw_value *value);

/* Pushes and returns a value as messages show it: 5000000000, the text 'abc'. */
const char *value_push_shown(lua_State *lua, const struct draw_value *value);

/* Pushes what is drawn. */
void value_push_drawn(lua_State *lua, const struct draw *draw, struct draw_stream *stream);

/* Pushes a generator that always gives the number at `index`. */
void value_push_constant(lua_State *lua, int index);

/* Makes room for a text of so many bytes that is drawn. False: out of memory. */
bool value_reserve_room(struct script_state *state, size_t bytes);

/* declare.c */

void declare_open(lua_State *lua);

/* Fills hash and shape when everything is declared. */
void declare_hash(struct script *script);

/* run.c */

void run_open(lua_State *lua);

/* state.c */

/* Makes a state with everything in it but the script; `made` is the script, while it is being
 * declared, else NULL. NULL: out of memory. */
struct script_state *state_create(const struct script *script, struct script *made,
                                  const struct script_place *place);

/* Loads the script and runs its top level. */
enum status state_run_script(struct script_state *state, struct error *error);

/* Fill *error. `place` is "x.lua:3", or empty. */
enum status state_lack_memory(struct error *error);
void state_explain_interrupt(struct error *error, const char *place, size_t length);

#endif
