/*
 * Declarations that the files of src/script share and that are not in script.h. The files, in order
 * from the lowest layer to the highest:
 *
 *     sandbox.c  the Lua state: its libraries, the bounds on memory and time, objects, arguments
 *     values.c   conversion of values between Lua and columns, and the generators of values
 *     declare.c  the declarations of the top level
 *     run.c      the functions of a transaction
 *     rows.c     the rows of a load
 *     state.c    the state of a session: the script in a sandbox, and the text of its statements
 *     script.c   loads a script
 *
 * A function that raises a Lua error (lua_error) does not return. Only C functions that Lua calls
 * may call such a function.
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

/* Maximum CPU time of code that continues after the end of a run: the script's top level,
 * on_session, and functions that make values of rows. */
#define ALONE_NS (10 * MONO_NS_PER_S)

/* Time that a function may continue after the run has ended. After that time the function ends when
 * it next calls a function that this program provides. */
#define ENDING_NS MONO_NS_PER_S

/* The error of a function that runs longer than ALONE_NS. */
#define TEXT_ENDLESS "this code ran for 10 s without finishing: is there an endless loop?"

#define SESSION_MARK "${session}"

/* A text NAME=VALUE of --set. */
struct script_set {
    const char *name;
    const char *value; /* the value; NULL if the text has no '=' */
    bool is_used;      /* the script declares a parameter of this name */
};

/* The kinds of full userdata. Only src/script makes full userdata, so every full userdata is a
 * struct object. */
enum object_kind {
    OBJECT_DRAW,
    OBJECT_DATASET,
    OBJECT_COUNTER,
    OBJECT_METRIC,
    OBJECT_STATEMENT,
    OBJECT_KINDS,
};
struct object {
    enum object_kind kind;
    int number;        /* index in the script's array; unused for OBJECT_DRAW */
    struct draw *draw; /* the generator; owned; only for OBJECT_DRAW */
};

struct script_source {
    char *text; /* the source text; owned, as are the members that follow */
    size_t length;
    char *chunk_name;          /* Lua's name of the chunk, "@oltp.lua" */
    struct buffer code;        /* the compiled chunk that sessions load */
    struct script_state *main; /* the state of script_load; owns the generators */
    struct buffer *strings;    /* names and texts of the declarations, one block for each */
    size_t string_count;
    struct table *load_tables; /* a table for each dataset, with the columns that the load writes */
    char *set_text; /* copy of the texts of --set, because an abandoned thread may still read the
                       texts */
    struct script_set *sets; /* the settings of --set, whose members point into set_text */
    size_t set_count;
    atomic_bool is_abandoned; /* script_load no longer waits for the thread of the top level */
    /* lock for `main`, `dialect` and `statements`, and for slow_place of all states of the
     * script */
    pthread_mutex_t lock;
    char *dialect;
    struct statement *statements; /* the statements for `dialect` */
};

struct script_state {
    lua_State *lua;
    const struct script *script; /* script that the state runs; borrowed */
    struct script *declaring;    /* `script` while script_load runs the top level; else NULL */
    struct script_place place;
    size_t used_bytes;             /* number of bytes that Lua has allocated */
    bool is_machine_out_of_memory; /* the latest allocation that failed was within the state's
                                      limit, so this machine has no memory left */
    int64_t alone_cpu_ns;  /* CPU time at the moment when the top level, on_session or a batch of
                              rows began */
    bool is_ending;        /* the run has ended, but the function still runs */
    int64_t ending_ns;     /* moment at which is_ending became true */
    int64_t ending_cpu_ns; /* CPU time after which the function counts as endless; INT64_MAX until
                              the function has run for ENDING_NS after the end of the run */
    bool is_declaring;     /* the top level runs */
    bool is_connecting;    /* a function of on_session is running, perhaps before the run begins */
    bool is_deriving;      /* a function given to derive() is running */
    /* reason why the function must end, even if pcall caught the error; SCRIPT_DONE: the function
     * may continue */
    enum script_end end;
    char why[ERROR_TEXT_BYTES]; /* the error text of SCRIPT_ROLLBACK or SCRIPT_WRONG */
    enum error_kind why_kind;   /* kind of the error of SCRIPT_WRONG */
    double bytes_seen; /* number of bytes that C functions have processed since the last check of
                          the time */
    char slow_place[SCRIPT_PLACE_BYTES]; /* place in the script, "x.lua:3", of a call whose pattern
                                            may take long */

    /* Number of declarations of each kind so far; must become the same as in script_load. */
    size_t params, datasets, counters, statement_count, transactions, functions, hooks_of_session,
        invariants, metrics;
    int *function_refs;    /* registry references to the functions given to derive */
    int *transaction_refs; /* registry references to the functions of transactions */
    int *session_refs;     /* registry references to the functions given to on_session */

    const struct statement *statements;           /* the statements that all sessions share */
    struct session_statement *session_statements; /* the statements with ${session}; owned */
    size_t session_statement_count;

    struct draw_stream stream;
    /* numbers that the current transaction has taken from counters, in the order in which it took
     * them */
    struct taken *taken;
    size_t taken_count, taken_capacity;
    size_t taken_at; /* index in `taken` of the number that a retry takes next */

    /* values of a statement's parameters; `columns`, `numbers` and `nulls` are in the same block */
    union scalar *scalars;
    struct column_data *columns;
    char (*numbers)[SCALAR_NUMBER_BYTES]; /* texts of numbers that are bound as text */
    uint8_t *nulls;
    char *room; /* buffer for the longest text that a generator draws */
    size_t room_bytes;
    struct buffer cells; /* cells of an answer; each is a struct cell, followed by its text */
    size_t cell_count, cell_rows;
    bool is_answer_full;   /* the answer has too many bytes */
    bool is_answer_uneven; /* the rows of the answer have different numbers of cells */
};

/* Functions of sandbox.c. */

static inline struct script_state *state_of(lua_State *lua)
{
    return *(struct script_state **)lua_getextraspace(lua);
}

/* Raises a Lua error that names the script's line. */
_Noreturn void sandbox_fail(lua_State *lua, const char *format, ...);

/* Raises a Lua error unless `holds` is true. */
#define DEMAND(lua, holds, ...)                                                                    \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            sandbox_fail((lua), __VA_ARGS__);                                                      \
        }                                                                                          \
    } while (0)

/* Ends the current call of the script because this machine has no memory: see sandbox_end. */
_Noreturn void sandbox_fail_memory(lua_State *lua);

/* Unless `holds` is true, ends the current call of the script because this machine has no
 * memory. */
#define DEMAND_MEMORY(lua, holds)                                                                  \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            sandbox_fail_memory(lua);                                                              \
        }                                                                                          \
    } while (0)

/* Unless `holds` is true, raises *error as a Lua error. If the kind of *error is ERROR_MEMORY, ends
 * the current call of the script instead. */
#define DEMAND_DONE(lua, holds, error)                                                             \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            DEMAND_MEMORY((lua), (error)->kind != ERROR_MEMORY);                                   \
            sandbox_fail((lua), "%s", (error)->text);                                              \
        }                                                                                          \
    } while (0)

/* Makes room for one more element in an array, and zeroes the element. Ends the current call of the
 * script if memory runs out. */
#define GROW(lua, array, count)                                                                    \
    do {                                                                                           \
        (array) = sandbox_grow((lua), (array), (count), sizeof *(array));                          \
        memset(&(array)[(count)], 0, sizeof *(array));                                             \
    } while (0)
void *sandbox_grow(lua_State *lua, void *array, size_t count, size_t size);

/* Creates the Lua state with its libraries; `open_rest` adds the functions of the other files.
 * Returns false if memory runs out. */
bool sandbox_open(struct script_state *state, lua_CFunction open_rest);

/* Adds functions to the globals. */
void sandbox_add(lua_State *lua, const luaL_Reg *functions);

/* Makes the globals read-only. */
int sandbox_freeze(lua_State *lua);

/* Converts `result`, which lua_pcall returned, to a script_end and empties the stack. If `result`
 * is an error, the error object must be on top of the stack. Fills *error for SCRIPT_ROLLBACK and
 * SCRIPT_WRONG.
 */
enum script_end sandbox_finish(struct script_state *state, int result, struct error *error);

/* Sets the text and the kind of SCRIPT_WRONG after Lua ran out of memory: this machine has no
 * memory left, or the state's limit was reached. */
void sandbox_note_memory(struct script_state *state);

/* Ends the current call of the script with `end`, by a Lua error that pcall cannot catch. If a call
 * is ended several times, the first `end` counts. */
int sandbox_end(lua_State *lua, enum script_end end);

/* sandbox_check_top_level raises a Lua error if `what` is called outside the top level of the
 * script; sandbox_check_running raises a Lua error if `what` is called outside a function of a
 * transaction. */
void sandbox_check_top_level(lua_State *lua, const char *what);
const struct script_host *sandbox_check_running(lua_State *lua, const char *what);

/* Makes the metatable for objects of `kind`; `meta` may be NULL. */
void object_class(lua_State *lua, enum object_kind kind, const luaL_Reg *methods,
                  const luaL_Reg *meta);
struct object *object_push(lua_State *lua, enum object_kind kind, int number);
struct object *object_check(lua_State *lua, int index, enum object_kind kind);

/* Returns the object at `index`, or NULL if the value there is not an object of `kind`. */
static inline struct object *object_get(lua_State *lua, int index, enum object_kind kind)
{
    struct object *object =
        lua_type(lua, index) == LUA_TUSERDATA ? lua_touserdata(lua, index) : NULL;
    return object != NULL && object->kind == kind ? object : NULL;
}

/* Returns the whole number at `index`, even if it is stored as a float. Raises a Lua error, which
 * names `what`, for any other value. */
int64_t argument_integer(lua_State *lua, int index, const char *what);

/* Raises a Lua error unless the options at `index` are nil, or a table whose only keys are the
 * numbers 1 to `places` and the names in `known` (which ends with NULL). The check is needed
 * because a misspelt name would otherwise be ignored. Returns true if the options are a table. */
bool argument_options(lua_State *lua, int index, const char *what, const char *const *known,
                      lua_Integer places);

/* Functions of values.c. */

void values_open(lua_State *lua);

/* The `null` of scripts is light userdata with this address. */
extern char value_null;
static inline bool value_is_null(lua_State *lua, int index)
{
    return lua_type(lua, index) == LUA_TLIGHTUSERDATA && lua_touserdata(lua, index) == &value_null;
}

/* Convert the Lua value at `index`. If the value is not a number, a text, true or false, value_get
 * returns false and value_check raises a Lua error. A text borrows Lua's memory. */
bool value_get(lua_State *lua, int index, struct draw_value *value);
void value_check(lua_State *lua, int index, struct draw_value *value);

/* Return a hint that is added to an error message, or "". value_type_hint explains why a Lua value
 * cannot be a parameter, value_whole_hint why a fraction does not fit a column of whole numbers. */
const char *value_type_hint(lua_State *lua, int index);
const char *value_whole_hint(const struct column *column, const struct draw_value *value);

/* Pushes and returns a value in the form that messages show, such as 5000000000 or the text
 * 'abc'. */
const char *value_push_shown(lua_State *lua, const struct draw_value *value);

/* Draws a value and pushes it. */
void value_push_drawn(lua_State *lua, const struct draw *draw, struct draw_stream *stream);

/* Pushes a generator that always gives the number at `index`. */
void value_push_constant(lua_State *lua, int index);

/* Makes state->room large enough for a drawn text of `bytes`. Returns false if memory runs out. */
bool value_reserve_room(struct script_state *state, size_t bytes);

/* Functions of declare.c. */

void declare_open(lua_State *lua);

/* Fills script->hash and script->shape after the top level has ended. */
void declare_hash(struct script *script);

/* Functions of run.c. */

void run_open(lua_State *lua);

/* Reports how many lines of print were left out since the last report. */
void script_print_end(void);

/* Functions of state.c. */

/* Creates a state into which no script is loaded yet. While script_load declares the script,
 * `declaring` is the same script; later `declaring` is NULL. Returns NULL if memory runs out. */
struct script_state *state_create(const struct script *script, struct script *declaring,
                                  const struct script_place *place);

/* Loads the script into the state and runs its top level. */
enum status state_run_script(struct script_state *state, struct error *error);

/* Fill *error. `place`, which has `length` bytes, is a place such as "x.lua:3" or empty.
 * state_out_of_memory returns STATUS_FATAL. */
enum status state_out_of_memory(struct error *error);
void state_set_interrupted(struct error *error, const char *place, size_t length);

#endif
