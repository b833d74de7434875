#include "script/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/ask.h"

/* A session's own copy of a statement with ${session} in its text. */
struct session_statement {
    size_t number;
    struct statement statement;
    char *sql; /* text of the statement; owned */
};

enum status state_out_of_memory(struct error *error)
{
    error_set(error, ERROR_MEMORY, 0, NULL, "out of memory for a script");
    return STATUS_FATAL;
}

void state_set_interrupted(struct error *error, const char *place, size_t length)
{
    error_set(error, ERROR_CANCELLED, 0, NULL, "interrupted while loading the script%s%.*s",
              length == 0 ? "" : ", at ", (int)length, place);
}

/* Adds the functions of the other files and the table `session` to the globals. */
static int open_rest(lua_State *lua)
{
    const struct script_place *place = &state_of(lua)->place;
    values_open(lua);
    declare_open(lua);
    run_open(lua);
    lua_createtable(lua, 0, 3);
    lua_pushinteger(lua, place->session);
    lua_setfield(lua, -2, "id");
    lua_pushinteger(lua, place->sessions);
    lua_setfield(lua, -2, "sessions");
    lua_pushstring(lua, place->dialect == NULL ? "" : place->dialect);
    lua_setfield(lua, -2, "dialect");
    lua_setglobal(lua, "session");
    return 0;
}

struct script_state *state_create(const struct script *script, struct script *declaring,
                                  const struct script_place *place)
{
    struct script_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->script = script;
    state->declaring = declaring;
    state->place = *place;
    if (!sandbox_open(state, open_rest)) {
        script_state_destroy(state);
        return NULL;
    }
    return state;
}

static int write_code(lua_State *lua, const void *bytes, size_t length, void *context)
{
    (void)lua;
    buffer_add(context, bytes, length);
    return buffer_failed(context) ? 1 : 0;
}

/* Allocates memory for the parameters of the statement with the greatest number of parameters, and
 * for the longest text that a generator of this state or of the main state draws. */
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
    return state->scalars != NULL &&
           value_reserve_room(state, state->script->source->main->room_bytes);
}

enum status state_run_script(struct script_state *state, struct error *error)
{
    lua_State *lua = state->lua;
    struct script_source *source = state->script->source;
    const bool is_first = state->declaring != NULL;
    int result = luaL_loadbufferx(lua, is_first ? source->text : source->code.bytes,
                                  is_first ? source->length : source->code.length,
                                  source->chunk_name, is_first ? "t" : "b");
    if (result == LUA_OK && is_first && lua_dump(lua, write_code, &source->code, 0) != 0) {
        return state_out_of_memory(error);
    }
    if (result == LUA_OK) {
        state->is_declaring = true;
        state->alone_cpu_ns = mono_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        result = lua_pcall(lua, 0, 0, 0);
        state->is_declaring = false;
    }
    enum script_end end = sandbox_finish(state, result, error);
    if (end == SCRIPT_DONE) {
        lua_pushcfunction(lua, sandbox_freeze);
        end = sandbox_finish(state, lua_pcall(lua, 0, 0, 0), error);
    }
    if (end == SCRIPT_STOPPED) {
        /* state->why is only a place, "x.lua:3: " or ""; the ": " at the end is cut off */
        const size_t length = strlen(state->why);
        state_set_interrupted(error, state->why, length > 2 ? length - 2 : 0);
    }
    if (end == SCRIPT_DONE && !make_room(state)) {
        return state_out_of_memory(error);
    }
    return end == SCRIPT_DONE ? STATUS_OK : STATUS_FATAL;
}

void script_state_destroy(struct script_state *state)
{
    if (state == NULL) {
        return;
    }
    if (state->script != NULL) {
        script_transaction_ended(state);
    }
    if (state->lua != NULL) {
        lua_close(state->lua);
    }
    for (size_t i = 0; i < state->session_statement_count; i++) {
        free(state->session_statements[i].sql);
    }
    free(state->session_statements);
    free(state->function_refs);
    free(state->transaction_refs);
    free(state->session_refs);
    free(state->taken);
    free(state->scalars);
    free(state->room);
    buffer_fini(&state->cells);
    free(state);
}

bool script_next_line(const char **lines, struct text_value *line)
{
    const char *begin = *lines;
    if (begin == NULL || *begin == '\0') {
        return false;
    }
    const size_t length = strcspn(begin, "\n");
    *line = (struct text_value){.bytes = begin, .length = (uint32_t)length};
    *lines = begin + length + (begin[length] == '\n' ? 1 : 0);
    return true;
}

const char *script_text_for(const struct script_texts *texts, const char *dialect)
{
    const bool speaks_mysql = strcmp(dialect, "mysql") == 0 || strcmp(dialect, "singlestore") == 0;
    const char *wanted[] = {dialect, speaks_mysql ? "mariadb" : NULL, NULL};
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

/* Fills *statement for a dialect. statement->sql is borrowed from the script and may contain
 * ${session}. Returns REJECTED if the script has no text for this dialect, or if the text has the
 * wrong number of parameters. */
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
        error_set(
            error, ERROR_USAGE, 0, NULL,
            "%s:%d: statement '%s' has no text for %s and no default text: add one of these texts",
            script->source->chunk_name + 1, of->line, of->name, dialect);
        return STATUS_REJECTED;
    }
    const size_t marks = sql_script_count_parameters(statement->sql, sql_lexis_of(dialect));
    if (marks != of->parameters.column_count) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s:%d: statement '%s' has %zu ? placeholder%s in %s, but lists %zu type%s: list "
                  "one type for each ? (write ?, not $1)",
                  script->source->chunk_name + 1, of->line, of->name, marks,
                  units_plural(marks, "", "s"), dialect, of->parameters.column_count,
                  units_plural(of->parameters.column_count, "", "s"));
        return STATUS_REJECTED;
    }
    return STATUS_OK;
}

/* Returns a copy of `sql` with ${session} replaced by the session's number. The caller frees the
 * copy. Returns NULL if memory runs out. */
static char *replace_session(const char *sql, unsigned session)
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
        *sql = replace_session(statement->sql, place->session);
        statement->sql = *sql;
        if (*sql == NULL) {
            return state_out_of_memory(error);
        }
    }
    return status;
}

/* Sets state->statements to the statements that all sessions share. The first session that uses a
 * dialect makes the statements. */
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
            status = state_out_of_memory(error);
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

static enum status make_session_statements(struct script_state *state, struct error *error)
{
    const struct script *script = state->script;
    size_t count = 0;
    for (size_t i = 0; i < script->statement_count; i++) {
        count += script->statements[i].has_session ? 1 : 0;
    }
    if (count == 0) {
        return STATUS_OK;
    }
    state->session_statements = calloc(count, sizeof *state->session_statements);
    for (size_t i = 0; i < script->statement_count && state->session_statements != NULL; i++) {
        if (script->statements[i].has_session) {
            struct session_statement *copy =
                &state->session_statements[state->session_statement_count];
            copy->number = i;
            copy->statement = state->statements[i];
            copy->sql = replace_session(copy->statement.sql, state->place.session);
            copy->statement.sql = copy->sql;
            state->session_statement_count += copy->sql != NULL ? 1 : 0;
        }
    }
    if (state->session_statement_count < count) {
        return state_out_of_memory(error);
    }
    return STATUS_OK;
}

enum status script_state_create(struct script_state **state, const struct script *script,
                                const struct script_place *place, struct error *error)
{
    const struct script_source *source = script->source;
    *state = NULL;
    struct script_state *created = state_create(script, NULL, place);
    if (created == NULL) {
        return state_out_of_memory(error);
    }
    enum status status = state_run_script(created, error);
    if (status == STATUS_OK &&
        (created->params != script->param_count || created->datasets != script->dataset_count ||
         created->counters != script->counter_count ||
         created->statement_count != script->statement_count ||
         created->transactions != script->transaction_count ||
         created->invariants != script->invariant_count ||
         created->metrics != script->metric_count ||
         created->functions != source->main->functions)) {
        error_set(error, ERROR_USAGE, 0, NULL,
                  "%s: the script declares less in a session than when append first ran the "
                  "script: the top level must make the same declarations in every session",
                  source->chunk_name + 1);
        status = STATUS_FATAL;
    }
    if (status == STATUS_OK && place->host != NULL) {
        status = share_statements(created, error);
        if (status == STATUS_OK) {
            status = make_session_statements(created, error);
        }
    }
    if (status != STATUS_OK) {
        script_state_destroy(created);
        return STATUS_FATAL;
    }
    *state = created;
    return STATUS_OK;
}

const struct statement *script_state_statement(const struct script_state *state, size_t number)
{
    if (state->session_statement_count > 0 && state->script->statements[number].has_session) {
        for (size_t i = 0; i < state->session_statement_count; i++) {
            if (state->session_statements[i].number == number) {
                return &state->session_statements[i].statement;
            }
        }
    }
    return &state->statements[number];
}

void script_place_of(const struct script_state *state, char place[SCRIPT_PLACE_BYTES])
{
    struct script_source *source = state->script->source;
    pthread_mutex_lock(&source->lock);
    snprintf(place, SCRIPT_PLACE_BYTES, "%s",
             state->slow_place[0] != '\0' ? state->slow_place : state->script->name);
    pthread_mutex_unlock(&source->lock);
}
