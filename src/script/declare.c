#include "script/internal.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ask.h"
#include "figures/bound.h"

enum {
    OPERATION_NAMES_MAX = 40,
    COLUMN_NAME_BYTES = 64,
    CLAIM_BYTES = 160,
    METRICS_MAX = 40,
    PARTITIONS_MAX = 8192, /* maximum number of partitions of a table in MariaDB and MySQL */
};

const char *const script_metric_kinds[] = {
    [SCRIPT_COUNT] = "count", [SCRIPT_TREND] = "trend", [SCRIPT_GAUGE] = "gauge"};

/* Returns a copy of `text` that lives as long as the script. */
static const char *keep_text(lua_State *lua, struct script *script, const char *text)
{
    struct script_source *source = script->source;
    GROW(lua, source->strings, source->string_count);
    struct buffer *copy = &source->strings[source->string_count++];
    buffer_add_text(copy, text);
    DEMAND_MEMORY(lua, !buffer_failed(copy));
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
           "'%s' is not a valid %s name: use letters, digits, _ and -, at most %d bytes", name,
           what, SCRIPT_NAME_BYTES - 1);
    return name;
}

/* Raises a Lua error unless is_same is true: a session must make the same declarations as
 * script_load. */
static void check_same(lua_State *lua, bool is_same, const char *what, const char *name)
{
    DEMAND(lua, is_same,
           "%s '%s' is declared differently in a session: the top level must make the same "
           "declarations in every session",
           what, name);
}

/* Returns the option `name`, which is true or false. Returns `default_value` if the option is
 * nil. */
static bool check_flag(lua_State *lua, int index, const char *name, bool default_value)
{
    const int type = lua_getfield(lua, index, name);
    DEMAND(lua, type == LUA_TNIL || type == LUA_TBOOLEAN,
           "option '%s' must be true or false, not %s", name, luaL_tolstring(lua, -1, NULL));
    const bool value = type == LUA_TNIL ? default_value : lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return value;
}

/* Returns the value of the last --set NAME=VALUE for `name`, or NULL if --set does not name it. */
static const char *find_set(const struct script *script, const char *name)
{
    const struct script_source *source = script->source;
    const char *found = NULL;
    for (size_t i = 0; i < source->set_count; i++) {
        struct script_set *set = &source->sets[i];
        if (set->value != NULL && strcmp(set->name, name) == 0) {
            set->is_used = true;
            found = set->value;
        }
    }
    return found;
}

/* Pushes the value of --set, converted to the type of the default. */
static void push_param(lua_State *lua, const char *name, const char *text)
{
    char *end;
    uint64_t count;
    const bool is_negative = text[0] == '-';
    switch (lua_type(lua, 2)) {
    case LUA_TBOOLEAN:
        DEMAND(lua, strcmp(text, "true") == 0 || strcmp(text, "false") == 0,
               "parameter '%s' must be true or false, not '%s'", name, text);
        lua_pushboolean(lua, text[0] == 't');
        return;
    case LUA_TNUMBER:
        if (lua_isinteger(lua, 2)) {
            DEMAND(lua, units_parse_count(text + (is_negative ? 1 : 0), INT64_MAX, &count),
                   "parameter '%s' must be a whole number (10000, 10k, 1M), not '%s'", name, text);
            lua_pushinteger(lua, is_negative ? -(lua_Integer)count : (lua_Integer)count);
            return;
        }
        lua_pushnumber(lua, strtod(text, &end));
        DEMAND(lua, text[0] != '\0' && *end == '\0' && isfinite(lua_tonumber(lua, -1)),
               "parameter '%s' must be a number, not '%s'", name, text);
        return;
    default:
        lua_pushstring(lua, text);
    }
}

/* Pushes a description of the allowed values. The fourth argument is a list of the values, or {min
 * = …, max = …}. The description is "" if any value is allowed. */
static void push_allowed(lua_State *lua)
{
    const lua_Integer count = lua_istable(lua, 4) ? (lua_Integer)lua_rawlen(lua, 4) : 0;
    luaL_Buffer text;
    luaL_buffinit(lua, &text);
    for (lua_Integer i = 1; i <= count; i++) {
        if (i > 1) {
            luaL_addstring(&text, i == count ? " or " : ", ");
        }
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
        if (has_min && has_max) {
            lua_pushfstring(lua, "%s to %s", min, max);
        } else if (has_min) {
            lua_pushfstring(lua, "at least %s", min);
        } else if (has_max) {
            lua_pushfstring(lua, "at most %s", max);
        } else {
            lua_pushliteral(lua, "");
        }
    }
}

/* Raises a Lua error unless the fourth argument allows the value on top of the stack. */
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
        luaL_error(lua, "parameter '%s' must be %s, not '%s'", name, allowed,
                   luaL_tolstring(lua, value, NULL));
    }
    lua_settop(lua, value);
}

static int declare_param(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "parameter");
    const int type = lua_type(lua, 2);
    lua_settop(lua, 4); /* missing arguments become nil */
    sandbox_check_top_level(lua, "param()");
    DEMAND(lua, type == LUA_TBOOLEAN || type == LUA_TNUMBER || type == LUA_TSTRING,
           "parameter '%s' needs a default value: a number, a text, true or false", name);
    const size_t number = state->params++;
    struct script *declaring = state->declaring;
    if (declaring != NULL) {
        for (size_t i = 0; i < declaring->param_count; i++) {
            DEMAND(lua, strcmp(declaring->params[i].name, name) != 0,
                   "parameter '%s' is declared twice", name);
        }
        GROW(lua, declaring->params, declaring->param_count);
        struct script_param *param = &declaring->params[declaring->param_count++];
        param->name = keep_text(lua, declaring, name);
        param->help = keep_text(lua, declaring, luaL_optstring(lua, 3, ""));
        param->default_text = keep_text(lua, declaring, luaL_tolstring(lua, 2, NULL));
        push_allowed(lua);
        param->allowed = keep_text(lua, declaring, lua_tostring(lua, -1));
        lua_settop(lua, 4);
        const char *value = find_set(declaring, name);
        param->is_set = value != NULL;
        param->value = value == NULL ? param->default_text : value;
        buffer_add_format(&declaring->param_list, "%s%s=%s", number > 0 ? "," : "", name,
                          param->value);
        DEMAND_MEMORY(lua, !buffer_failed(&declaring->param_list));
    }
    check_same(lua,
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

/* Adds `text` to `out`. Replaces each ${name} by the value of the parameter, but leaves ${session}
 * as it is. Returns false if the script has not declared a parameter, and writes the parameter's
 * name to `unknown`. */
static bool expand_parameters(const struct script *script, const char *text, struct buffer *out,
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

static const char *keep_expanded(lua_State *lua, struct script *script, const char *text)
{
    struct script_source *source = script->source;
    char unknown[SCRIPT_NAME_BYTES] = "";
    GROW(lua, source->strings, source->string_count);
    struct buffer *out = &source->strings[source->string_count++];
    DEMAND(lua, expand_parameters(script, text, out, unknown),
           "unknown parameter ${%s}: declare it with param() before this text", unknown);
    DEMAND_MEMORY(lua, !buffer_failed(out));
    return buffer_text(out);
}

/* Reads the value at `index` into *texts: a text, a table with a text for each dialect, or nil. */
static void read_texts(lua_State *lua, struct script *script, int index, struct script_texts *texts)
{
    if (lua_isnoneornil(lua, index)) {
        return;
    }
    if (lua_type(lua, index) == LUA_TSTRING) {
        GROW(lua, texts->entries, texts->count);
        texts->entries[texts->count].text = keep_expanded(lua, script, lua_tostring(lua, index));
        texts->count++;
        return;
    }
    index = lua_absindex(lua, index);
    DEMAND(lua, lua_istable(lua, index),
           "a text, or a table {default = \"…\", mariadb = \"…\"}, is needed here, not a %s",
           luaL_typename(lua, index));
    for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
        DEMAND(lua, lua_type(lua, -2) == LUA_TSTRING && lua_type(lua, -1) == LUA_TSTRING,
               "texts for each dialect must be a table {default = \"…\", mariadb = \"…\"}");
        const char *dialect = lua_tostring(lua, -2);
        GROW(lua, texts->entries, texts->count);
        struct script_text *entry = &texts->entries[texts->count++];
        entry->dialect = strcmp(dialect, "default") == 0 ? NULL : keep_text(lua, script, dialect);
        entry->text = keep_expanded(lua, script, lua_tostring(lua, -1));
    }
}

/* Adds the indexes from the list at the top of the stack. `dialect` is the dialect that gets these
 * indexes; NULL: every dialect that has no list of its own. */
static void read_index_list(lua_State *lua, struct script_dataset *dataset, const char *dialect,
                            const char *name)
{
    struct script *declaring = state_of(lua)->declaring;
    luaL_Buffer lines;
    const int list = lua_gettop(lua);
    const lua_Integer count = (lua_Integer)lua_rawlen(lua, list);
    luaL_buffinit(lua, &lines);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(lua, list, i);
        DEMAND(
            lua, lua_type(lua, -1) == LUA_TSTRING && strchr(lua_tostring(lua, -1), '\n') == NULL,
            "dataset '%s': index must be a list of texts of one line, each with the columns of an "
            "index: {\"a\", \"b, c\"}",
            name);
        luaL_addvalue(&lines);
        luaL_addchar(&lines, '\n');
    }
    luaL_pushresult(&lines);
    GROW(lua, dataset->indexes.entries, dataset->indexes.count);
    dataset->indexes.entries[dataset->indexes.count++] =
        (struct script_text){.dialect = dialect == NULL ? NULL : keep_text(lua, declaring, dialect),
                             .text = keep_text(lua, declaring, lua_tostring(lua, -1))};
    lua_settop(lua, list);
}

/* Reads the option `index` at the top of the stack: a list of indexes, which can also contain a
 * list for a single dialect, as in {"a", "b, c", clickhouse = {}}. */
static void read_indexes(lua_State *lua, struct script_dataset *dataset, const char *name)
{
    DEMAND(lua, lua_istable(lua, -1),
           "dataset '%s': index must be a list of texts of one line, each with the columns of an "
           "index: {\"a\", \"b, c\"}",
           name);
    const int table = lua_gettop(lua);
    read_index_list(lua, dataset, NULL, name);
    for (lua_pushnil(lua); lua_next(lua, table) != 0; lua_pop(lua, 1)) {
        if (lua_type(lua, -2) == LUA_TSTRING) {
            DEMAND(lua, lua_istable(lua, -1),
                   "dataset '%s': the indexes of a dialect must be a list: clickhouse = {\"a\", "
                   "\"b\"}",
                   name);
            read_index_list(lua, dataset, lua_tostring(lua, -2), name);
        }
    }
}

static void read_type(lua_State *lua, const char *text, struct column *column)
{
    if (!scalar_parse_type(text, column)) {
        luaL_error(lua,
                   "unknown type '%s'; use one of bool, int16, int32, int64, float32, float64, "
                   "decimal(P,S) up to 18 digits, text, text(N), char(N), bytes, bytes(N), json, "
                   "date, time, timestamp, timestamp(0 to 9)",
                   text);
    }
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

/* Returns a hash that does not depend on the order of the texts, because lua_next visits the texts
 * in any order. */
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
            const struct script_column *details = &dataset->columns[c];
            char text[160];
            snprintf(text, sizeof text, "%d %u %u %u %d %u %d", (int)column->type,
                     (unsigned)column->size, column->precision, column->scale, column->is_nullable,
                     details->key, details->is_numbered);
            hash = hash_text(hash_text(hash, column->name), text);
        }
        hash = random_mix(hash + hash_texts(&dataset->indexes));
        const struct script_partitions *partitions = &dataset->partitions;
        if (partitions->count > 0) {
            hash = random_mix(hash ^ partitions->count) + 2 * partitions->column +
                   partitions->is_range;
        }
        for (size_t k = 0; k < dataset->foreign_key_count; k++) {
            hash = random_mix(hash + dataset->foreign_keys[k].column) ^
                   dataset->foreign_keys[k].dataset;
        }
        hash = random_mix(random_mix(hash + hash_texts(&dataset->create)) +
                          hash_texts(&dataset->options));
    }
    return hash;
}

void declare_hash(struct script *script)
{
    uint64_t hash = hash_text(0, script->source->text);
    for (size_t i = 0; i < script->param_count; i++) {
        hash = hash_text(hash_text(hash, script->params[i].name), script->params[i].value);
    }
    snprintf(script->hash, sizeof script->hash, "%016" PRIx64, hash);
    script->shape = hash_shape(script);
}

/* Declares a column from the table on top of the stack, and pops the table. */
static void declare_column(lua_State *lua, struct table *load, struct script_dataset *dataset)
{
    const int at = lua_gettop(lua);
    struct column column = {.name = ""};
    struct error error = {.kind = ERROR_NONE};
    struct script_column *details = &dataset->columns[dataset->column_count];
    static const char *const known[] = {"key", "required", NULL};
    DEMAND(lua, lua_istable(lua, at),
           "dataset '%s': a column must be a table {\"name\", \"type\", generator, key = …}",
           dataset->name);
    argument_options(lua, at, "a column", known, 3);
    lua_rawgeti(lua, at, 1);
    lua_Integer place;
    size_t length; /* length of the text; 0 if the value is not a text */
    const char *name = lua_tolstring(lua, -1, &length);
    DEMAND(lua, length > 0 && name[0] != '\0' && strlen(name) < COLUMN_NAME_BYTES,
           "dataset '%s': a column must begin with its name, a text of 1 to %d bytes",
           dataset->name, COLUMN_NAME_BYTES - 1);
    snprintf(column.name, sizeof column.name, "%s", name);
    name = column.name; /* use the copy, because Lua may free its own text when the text leaves the
                           stack */
    lua_rawgeti(lua, at, 2);
    DEMAND(lua, lua_type(lua, -1) == LUA_TSTRING,
           "dataset '%s': column '%s' has no type: write {\"%s\", \"int32\", …}", dataset->name,
           name, name);
    read_type(lua, lua_tostring(lua, -1), &column);
    lua_rawgeti(lua, at, 3);
    if (lua_type(lua, -1) == LUA_TNUMBER) {
        value_push_constant(lua, lua_gettop(lua));
    }
    if (!lua_isnil(lua, -1)) {
        details->value = object_check(lua, -1, OBJECT_DRAW)->draw;
        luaL_ref(lua, LUA_REGISTRYINDEX); /* prevents collection of the generator */
    }
    lua_settop(lua, at);
    switch (lua_getfield(lua, at, "key")) {
    case LUA_TNIL:
        break;
    case LUA_TBOOLEAN:
        details->key = lua_toboolean(lua, -1) ? 1 : 0;
        break;
    case LUA_TNUMBER:
        place = lua_isinteger(lua, -1) ? lua_tointeger(lua, -1) : 0; /* 0 for a fraction */
        details->key = place >= 1 && place <= 16 ? (unsigned)place : UINT_MAX; /* refused below */
        break;
    default:
        details->is_numbered =
            lua_tostring(lua, -1) != NULL && strcmp(lua_tostring(lua, -1), "auto") == 0;
        details->key = 1;
        DEMAND(lua, details->is_numbered,
               "column '%s': key must be true, \"auto\", or the column's place in the primary key "
               "(1 to 16)",
               name);
    }
    DEMAND(lua, details->key <= 16,
           "column '%s': key must be true, \"auto\", or the column's place in the primary key (1 "
           "to 16)",
           name);
    column.is_nullable = !check_flag(lua, at, "required", false) && details->key == 0;
    column.has_default = details->is_numbered;
    DEMAND_DONE(lua, table_add_column(&dataset->table, &column, &error) == STATUS_OK, &error);
    dataset->column_count++;
    if (details->value != NULL) {
        DEMAND_DONE(lua, table_add_column(load, &column, &error) == STATUS_OK, &error);
    }
    lua_settop(lua, at - 1);
}

static void declare_columns(lua_State *lua, struct table *load, struct script_dataset *dataset)
{
    const lua_Integer count = (lua_Integer)lua_rawlen(lua, 3);
    unsigned keys = 0;
    DEMAND(lua, count > 0 && count <= ROW_COLUMNS_MAX,
           "dataset '%s' has %I columns: declare 1 to %d, or leave the list out", dataset->name,
           (LUAI_UACINT)count, ROW_COLUMNS_MAX);
    dataset->is_declared = true;
    dataset->columns = calloc((size_t)count, sizeof *dataset->columns);
    DEMAND_MEMORY(lua, dataset->columns != NULL);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(lua, 3, i);
        declare_column(lua, load, dataset);
    }
    for (size_t i = 0; i < dataset->column_count; i++) {
        keys += dataset->columns[i].key > 0 ? 1 : 0;
        for (size_t j = 0; j < i; j++) {
            DEMAND(lua, strcmp(dataset->table.columns[i].name, dataset->table.columns[j].name) != 0,
                   "dataset '%s' declares column '%s' twice", dataset->name,
                   dataset->table.columns[i].name);
            DEMAND(lua,
                   dataset->columns[i].key == 0 ||
                       dataset->columns[i].key != dataset->columns[j].key,
                   "dataset '%s': columns '%s' and '%s' both have place %d in the key: number the "
                   "places 1, 2, …",
                   dataset->name, dataset->table.columns[j].name, dataset->table.columns[i].name,
                   (int)dataset->columns[i].key);
        }
    }
    for (size_t i = 0; i < dataset->column_count; i++) {
        DEMAND(lua, dataset->columns[i].key <= keys,
               "dataset '%s': column '%s' has place %d in a key of %d column%s: number the places "
               "1, 2, …",
               dataset->name, dataset->table.columns[i].name, (int)dataset->columns[i].key,
               (int)keys, units_plural(keys, "", "s"));
        dataset->table.columns[i].is_unique = keys == 1 && dataset->columns[i].key == 1;
    }
    for (size_t i = 0, j = 0; i < dataset->column_count; i++) {
        if (dataset->columns[i].value != NULL) {
            load->columns[j++].is_unique = dataset->table.columns[i].is_unique;
        } else {
            DEMAND(lua,
                   dataset->rows == 0 || dataset->columns[i].is_numbered ||
                       dataset->table.columns[i].is_nullable,
                   "dataset '%s': column '%s' has no generator, but cannot be NULL: add a "
                   "generator as the column's third entry, for example row()",
                   dataset->name, dataset->table.columns[i].name);
        }
    }
    DEMAND(lua, dataset->rows == 0 || load->column_count > 0,
           "dataset '%s' has rows to load, but no column has a generator: add a generator, for "
           "example row()",
           dataset->name);
}

/* Returns the number of the column with this name. Raises a Lua error if there is no such
 * column. */
static size_t find_column(lua_State *lua, const struct script_dataset *dataset, const char *option,
                          const char *name)
{
    size_t at = 0;
    while (at < dataset->column_count && strcmp(dataset->table.columns[at].name, name) != 0) {
        at++;
    }
    DEMAND(lua, at < dataset->column_count, "dataset '%s': %s names an unknown column '%s'",
           dataset->name, option, name);
    return at;
}

/* Reads the option `partitions` at the top of the stack, {by = "range", column = "id", count = 4}.
 * Both PostgreSQL and MariaDB demand that a primary key contains the column. */
static void read_partitions(lua_State *lua, struct script_dataset *dataset)
{
    static const char *const known[] = {"by", "column", "count", NULL};
    struct script_partitions *partitions = &dataset->partitions;
    const int at = lua_gettop(lua);
    argument_options(lua, at, "partitions", known, 0);
    lua_getfield(lua, at, "count");
    const int64_t count = argument_integer(lua, -1, "partitions: count");
    DEMAND(
        lua, count >= 0 && count <= PARTITIONS_MAX,
        "dataset '%s': the count of partitions must be 0 to %d; 0 makes a table without partitions",
        dataset->name, PARTITIONS_MAX);
    lua_getfield(lua, at, "by");
    const char *by = luaL_optstring(lua, -1, "");
    DEMAND(lua, strcmp(by, "range") == 0 || strcmp(by, "hash") == 0,
           "dataset '%s': partitions must have by = \"range\" or by = \"hash\"", dataset->name);
    partitions->is_range = strcmp(by, "range") == 0;
    lua_getfield(lua, at, "column");
    const char *column = luaL_optstring(lua, -1, "");
    partitions->column = find_column(lua, dataset, "partitions", column);
    partitions->count = (unsigned)count;
    bool has_key = false;
    for (size_t i = 0; i < dataset->column_count; i++) {
        has_key = has_key || dataset->columns[i].key > 0;
    }
    const struct script_column *details = &dataset->columns[partitions->column];
    const enum column_type type = dataset->table.columns[partitions->column].type;
    DEMAND(lua, !has_key || details->key > 0,
           "dataset '%s': the primary key must contain column '%s', which divides the table into "
           "partitions",
           dataset->name, column);
    DEMAND(lua, type == COLUMN_INT16 || type == COLUMN_INT32 || type == COLUMN_INT64,
           "dataset '%s': column '%s', which divides the table into partitions, must be int16, "
           "int32 or int64",
           dataset->name, column);
    if (partitions->is_range) {
        DEMAND(lua, details->value != NULL && draw_kind(details->value) == DRAW_ROW,
               "dataset '%s': partitions by range need the generator row() in column '%s'",
               dataset->name, column);
        struct draw_stream stream = {.row = 0};
        struct draw_value value;
        draw_value(details->value, &stream, NULL, &value);
        partitions->first = value.integer;
    }
}

/* Reads the foreign key of a column. The column refers to the primary key of the dataset at the top
 * of the stack. */
static void read_foreign_key(lua_State *lua, const struct script *declaring,
                             struct script_dataset *dataset, size_t column)
{
    const size_t number = (size_t)object_check(lua, -1, OBJECT_DATASET)->number;
    const struct script_dataset *to = &declaring->datasets[number];
    struct script_foreign_key key = {.column = column, .dataset = number};
    size_t keys = 0;
    for (size_t i = 0; i < to->column_count; i++) {
        keys += to->columns[i].key > 0 ? 1 : 0;
        key.to_column = to->columns[i].key > 0 ? i : key.to_column;
    }
    DEMAND(lua, keys == 1,
           "dataset '%s': column '%s' cannot refer to dataset '%s', which has no primary key of "
           "one column",
           dataset->name, dataset->table.columns[column].name, to->name);
    GROW(lua, dataset->foreign_keys, dataset->foreign_key_count);
    dataset->foreign_keys[dataset->foreign_key_count++] = key;
}

/* Reads the option `foreign_keys` at the top of the stack, {column = dataset}. Adds the foreign
 * keys in the order of the columns, because the order of lua_next is not defined. */
static void read_foreign_keys(lua_State *lua, const struct script *declaring,
                              struct script_dataset *dataset)
{
    const int at = lua_gettop(lua);
    DEMAND(lua, lua_istable(lua, at),
           "dataset '%s': foreign_keys must be a table, {column = dataset}", dataset->name);
    for (lua_pushnil(lua); lua_next(lua, at) != 0; lua_pop(lua, 1)) {
        DEMAND(lua, lua_type(lua, -2) == LUA_TSTRING,
               "dataset '%s': foreign_keys must be a table, {column = dataset}", dataset->name);
        find_column(lua, dataset, "foreign_keys", lua_tostring(lua, -2));
    }
    for (size_t i = 0; i < dataset->column_count; i++) {
        if (lua_getfield(lua, at, dataset->table.columns[i].name) != LUA_TNIL) {
            read_foreign_key(lua, declaring, dataset, i);
        }
        lua_pop(lua, 1);
    }
}

static int declare_dataset(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "dataset");
    sandbox_check_top_level(lua, "dataset()");
    const size_t number = state->datasets++;
    struct script *declaring = state->declaring;
    if (declaring != NULL) {
        struct error error = {.kind = ERROR_NONE};
        for (size_t i = 0; i < declaring->dataset_count; i++) {
            DEMAND(lua, strcmp(declaring->datasets[i].name, name) != 0,
                   "dataset '%s' is declared twice", name);
        }
        GROW(lua, declaring->datasets, declaring->dataset_count);
        GROW(lua, declaring->source->load_tables, declaring->dataset_count);
        struct script_dataset *dataset = &declaring->datasets[declaring->dataset_count];
        struct table *load = &declaring->source->load_tables[declaring->dataset_count++];
        dataset->name = keep_text(lua, declaring, name);
        dataset->number = hash_text(0, name);
        dataset->line = line_of(lua);
        DEMAND_DONE(lua,
                    table_init(&dataset->table, name, &error) == STATUS_OK &&
                        table_init(load, name, &error) == STATUS_OK,
                    &error);
        const int64_t rows =
            lua_isnoneornil(lua, 2) ? 0 : argument_integer(lua, 2, "dataset: rows");
        DEMAND(lua, rows >= 0, "dataset '%s': the number of rows must be 0 or more, not %I", name,
               (LUAI_UACINT)rows);
        dataset->rows = (uint64_t)rows;
        if (!lua_isnoneornil(lua, 3)) {
            luaL_checktype(lua, 3, LUA_TTABLE);
            declare_columns(lua, load, dataset);
        }
        DEMAND(
            lua, dataset->is_declared || rows == 0,
            "dataset '%s' has rows to load, but no columns: list the columns in the third argument",
            name);
        static const char *const known[] = {"create",     "options",      "index", "varies",
                                            "partitions", "foreign_keys", NULL};
        if (argument_options(lua, 4, "a dataset", known, 0)) {
            dataset->varies = check_flag(lua, 4, "varies", false);
            lua_getfield(lua, 4, "create");
            read_texts(lua, declaring, -1, &dataset->create);
            lua_getfield(lua, 4, "options");
            read_texts(lua, declaring, -1, &dataset->options);
            if (lua_getfield(lua, 4, "index") != LUA_TNIL) {
                read_indexes(lua, dataset, name);
            }
            if (lua_getfield(lua, 4, "partitions") != LUA_TNIL) {
                read_partitions(lua, dataset);
            }
            if (lua_getfield(lua, 4, "foreign_keys") != LUA_TNIL) {
                read_foreign_keys(lua, declaring, dataset);
            }
            DEMAND(lua,
                   dataset->create.count == 0 ||
                       (dataset->partitions.count == 0 && dataset->foreign_key_count == 0),
                   "dataset '%s': create replaces the whole CREATE TABLE statement: write the "
                   "partitions and foreign keys in the text of create",
                   name);
        }
    }
    check_same(lua,
               number < state->script->dataset_count &&
                   strcmp(state->script->datasets[number].name, name) == 0,
               "dataset", name);
    object_push(lua, OBJECT_DATASET, (int)number);
    return 1;
}

enum script_statement_kind script_kind(const char *sql)
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

bool script_controls_transaction(const char *sql, unsigned lexis)
{
    struct sql_script script = {.rest = sql, .lexis = lexis};
    bool has_found = false;
    while (!has_found && sql_script_next(&script)) {
        has_found = script.kind != SQL_SCRIPT_OTHER;
    }
    buffer_fini(&script.statement);
    return has_found;
}

/* Raises a Lua error if a metric has this name. */
static void check_no_metric(lua_State *lua, const struct script *declaring, const char *name)
{
    for (size_t i = 0; i < declaring->metric_count; i++) {
        DEMAND(lua, strcmp(declaring->metrics[i].name, name) != 0,
               "'%s' is already the name of a metric: use a different name", name);
    }
}

static size_t find_operation(lua_State *lua, struct script *declaring, const char *name,
                             bool is_transaction, enum script_statement_kind kind)
{
    check_no_metric(lua, declaring, name);
    for (size_t i = 0; i < declaring->operation_count; i++) {
        if (strcmp(declaring->operations[i].name, name) == 0) {
            DEMAND(lua, declaring->operations[i].is_transaction == is_transaction,
                   "'%s' is the name of a transaction and a statement: rename one of them", name);
            DEMAND(lua, !is_transaction, "transaction '%s' is declared twice", name);
            return i;
        }
    }
    DEMAND(lua, declaring->operation_count < OPERATION_NAMES_MAX,
           "a script can have at most %d names of transactions and statements: let statements "
           "share a name",
           OPERATION_NAMES_MAX);
    GROW(lua, declaring->operations, declaring->operation_count);
    declaring->operations[declaring->operation_count] =
        (struct script_operation){keep_text(lua, declaring, name), is_transaction, kind};
    return declaring->operation_count++;
}

static int option_dataset(lua_State *lua, int index, const char *name)
{
    int number = SCRIPT_NO_DATASET;
    if (lua_getfield(lua, index, name) != LUA_TNIL) {
        number = object_check(lua, -1, OBJECT_DATASET)->number;
    }
    lua_pop(lua, 1);
    return number;
}

static int declare_statement(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "statement");
    sandbox_check_top_level(lua, "statement()");
    const size_t number = state->statement_count++;
    struct script *declaring = state->declaring;
    if (declaring != NULL) {
        struct error error = {.kind = ERROR_NONE};
        DEMAND(lua, declaring->statement_count < STATEMENT_SLOTS_MAX,
               "a script can have at most %d statements", STATEMENT_SLOTS_MAX);
        GROW(lua, declaring->statements, declaring->statement_count);
        struct script_statement *new = &declaring->statements[declaring->statement_count];
        new->adds_to = new->takes_from = SCRIPT_NO_DATASET;
        new->is_prepared = true;
        new->line = line_of(lua);
        DEMAND_DONE(lua, table_init(&new->parameters, name, &error) == STATUS_OK, &error);
        declaring->statement_count++;
        new->name = keep_text(lua, declaring, name);
        read_texts(lua, declaring, 2, &new->sql);
        DEMAND(lua, new->sql.count > 0,
               "statement '%s' has no SQL: give the SQL as the second argument", name);
        DEMAND(
            lua, lua_isnoneornil(lua, 3) || lua_istable(lua, 3),
            "statement '%s': the types of its parameters must be a list, {\"int32\", \"text(20)\"}",
            name);
        const lua_Integer count = lua_istable(lua, 3) ? (lua_Integer)lua_rawlen(lua, 3) : 0;
        for (lua_Integer i = 1; i <= count; i++) {
            struct column column = {.name = ""};
            lua_rawgeti(lua, 3, i);
            read_type(lua, luaL_checkstring(lua, -1), &column);
            lua_pop(lua, 1);
            DEMAND_DONE(lua, table_add_column(&new->parameters, &column, &error) == STATUS_OK,
                        &error);
        }
        /* if the statement writes in one dialect, it counts as a write in all dialects */
        new->kind = SCRIPT_OTHER;
        for (size_t i = 0; i < new->sql.count; i++) {
            const struct script_text *text = &new->sql.entries[i];
            const enum script_statement_kind kind = script_kind(text->text);
            new->kind = kind == SCRIPT_WRITE || new->kind == SCRIPT_OTHER ? kind : new->kind;
            const unsigned lexis = text->dialect == NULL ? 0 : sql_lexis_of(text->dialect);
            const size_t marks = sql_script_count_parameters(text->text, lexis);
            new->controls_transaction =
                new->controls_transaction || script_controls_transaction(text->text, lexis);
            /* A backslash is an escape in some dialects only, so the default text may have two
             * different counts of parameters. The text is accepted here if one of the counts is
             * right. resolve() counts again for the dialect of the target. */
            DEMAND(lua,
                   marks == (size_t)count ||
                       (text->dialect == NULL &&
                        sql_script_count_parameters(text->text, SQL_BACKSLASHES | SQL_HASHES) ==
                            (size_t)count),
                   "statement '%s' has %I ? placeholder%s but lists %I type%s: list one type for "
                   "each ? (write ?, not $1)",
                   name, (LUAI_UACINT)marks, units_plural(marks, "", "s"), (LUAI_UACINT)count,
                   units_plural((uint64_t)count, "", "s"));
            new->has_session =
                new->has_session || strstr(new->sql.entries[i].text, SESSION_MARK) != NULL;
        }
        static const char *const known[] = {"adds_to", "takes_from", "prepared", NULL};
        if (argument_options(lua, 4, "a statement", known, 0)) {
            new->adds_to = option_dataset(lua, 4, "adds_to");
            new->takes_from = option_dataset(lua, 4, "takes_from");
            new->is_prepared = check_flag(lua, 4, "prepared", true);
        }
        new->operation = find_operation(lua, declaring, name, false, new->kind);
    }
    check_same(lua,
               number < state->script->statement_count &&
                   strcmp(state->script->statements[number].name, name) == 0,
               "statement", name);
    object_push(lua, OBJECT_STATEMENT, (int)number);
    return 1;
}

static void check_claim_query(lua_State *lua, const char *claim, const struct script_text *query)
{
    const unsigned lexis = query->dialect == NULL ? 0 : sql_lexis_of(query->dialect);
    DEMAND(lua, script_kind(query->text) == SCRIPT_READ,
           "invariant '%s' must be a query (SELECT): append counts the rows that it returns",
           claim);
    DEMAND(lua, sql_script_count_parameters(query->text, lexis) == 0,
           "invariant '%s' cannot have a ?: append runs the query without parameters", claim);
    DEMAND(lua, strstr(query->text, SESSION_MARK) == NULL,
           "invariant '%s' cannot have a " SESSION_MARK ": it runs outside of the sessions", claim);
}

/* invariant(claim, sql): declares a claim, which is true if the query returns no rows after the
 * run. */
static int declare_invariant(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *claim = luaL_checkstring(lua, 1);
    sandbox_check_top_level(lua, "invariant()");
    const size_t number = state->invariants++;
    struct script *declaring = state->declaring;
    if (declaring != NULL) {
        DEMAND(lua,
               claim[0] != '\0' && strlen(claim) < CLAIM_BYTES && strpbrk(claim, "\r\n") == NULL,
               "invariant: the claim must be one line of 1 to %d bytes", CLAIM_BYTES - 1);
        for (size_t i = 0; i < declaring->invariant_count; i++) {
            DEMAND(lua, strcmp(declaring->invariants[i].claim, claim) != 0,
                   "invariant '%s' is declared twice", claim);
        }
        GROW(lua, declaring->invariants, declaring->invariant_count);
        struct script_invariant *new = &declaring->invariants[declaring->invariant_count++];
        new->claim = keep_text(lua, declaring, claim);
        new->line = line_of(lua);
        read_texts(lua, declaring, 2, &new->sql);
        DEMAND(lua, new->sql.count > 0,
               "invariant '%s' has no query: give the query as the second argument", claim);
        for (size_t i = 0; i < new->sql.count; i++) {
            check_claim_query(lua, claim, &new->sql.entries[i]);
        }
    }
    check_same(lua,
               number < state->script->invariant_count &&
                   strcmp(state->script->invariants[number].claim, claim) == 0,
               "invariant", claim);
    return 0;
}

/* Reads the options `sessions` and `rate` of a transaction. */
static void read_group(lua_State *lua, struct script_transaction *transaction, const char *name)
{
    lua_getfield(lua, 3, "sessions");
    transaction->sessions = lua_tonumber(lua, -1);
    const bool is_pinned = !lua_isnil(lua, -1);
    DEMAND(lua, !is_pinned || lua_type(lua, -1) == LUA_TNUMBER,
           "transaction '%s': sessions must be a number, not a %s", name, luaL_typename(lua, -1));
    transaction->is_share = is_pinned && !lua_isinteger(lua, -1);
    DEMAND(lua,
           !is_pinned || (transaction->is_share
                              ? transaction->sessions > 0 && transaction->sessions <= 1
                              : transaction->sessions >= 1 && transaction->sessions <= 1000000),
           "transaction '%s': sessions must be a whole number from 1 to 1000000 (10), or a share "
           "of all sessions, above 0 and at most 1.0 (0.1)",
           name);
    lua_getfield(lua, 3, "weight");
    DEMAND(lua, !is_pinned || lua_isnil(lua, -1),
           "transaction '%s' has sessions of its own (option sessions), so weight has no effect: "
           "remove weight",
           name);
    transaction->weight = is_pinned ? 0 : transaction->weight;
    lua_getfield(lua, 3, "rate");
    transaction->rate = lua_tonumber(lua, -1);
    DEMAND(lua,
           lua_isnil(lua, -1) || (lua_type(lua, -1) == LUA_TNUMBER && transaction->rate > 0 &&
                                  transaction->rate <= 1e9),
           "transaction '%s': rate must be a number of transactions/s, above 0 and up to 1e9",
           name);
    lua_getfield(lua, 3, "pause");
    DEMAND(lua, lua_isnil(lua, -1) || transaction->rate == 0,
           "transaction '%s' has a rate, which decides when each transaction begins: remove pause",
           name);
    DEMAND(
        lua, is_pinned || transaction->rate == 0,
        "transaction '%s' has 'rate', but not 'sessions': add it (sessions = 10); for one rate of "
        "all transactions together, remove 'rate' and give --rate",
        name);
}

static int declare_transaction(lua_State *lua)
{
    static const char *const levels[] = {"serializable", "repeatable read", "read committed",
                                         "read uncommitted"};
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "transaction");
    sandbox_check_top_level(lua, "transaction()");
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    const size_t number = state->transactions;
    struct script *declaring = state->declaring;
    if (declaring != NULL) {
        GROW(lua, declaring->transactions, declaring->transaction_count);
        struct script_transaction *new = &declaring->transactions[declaring->transaction_count];
        *new = (struct script_transaction){.weight = 1, .tries = 10, .line = line_of(lua)};
        new->operation = find_operation(lua, declaring, name, true, SCRIPT_OTHER);
        new->name = declaring->operations[new->operation].name;
        static const char *const known[] = {"weight", "autocommit", "retry_duplicate",
                                            "tries",  "isolation",  "pause",
                                            "rate",   "sessions",   NULL};
        if (argument_options(lua, 3, "a transaction", known, 0)) {
            lua_getfield(lua, 3, "weight");
            new->weight = luaL_optnumber(lua, -1, 1);
            DEMAND(lua, new->weight >= 0 && isfinite(new->weight),
                   "transaction '%s': weight must be a number, 0 or more", name);
            read_group(lua, new, name);
            new->is_autocommit = check_flag(lua, 3, "autocommit", false);
            new->retries_duplicate = check_flag(lua, 3, "retry_duplicate", false);
            lua_getfield(lua, 3, "tries");
            const int64_t tries = lua_isnil(lua, -1) ? 10 : argument_integer(lua, -1, "tries");
            DEMAND(lua, tries >= 0, "transaction '%s': tries must be a number, 0 or more", name);
            new->tries = (uint64_t)tries;
            if (lua_getfield(lua, 3, "pause") == LUA_TNUMBER) {
                value_push_constant(lua, lua_gettop(lua));
            }
            if (!lua_isnil(lua, -1)) {
                new->pause = object_check(lua, -1, OBJECT_DRAW)->draw;
                luaL_ref(lua, LUA_REGISTRYINDEX); /* prevents collection of the generator */
            }
            lua_getfield(lua, 3, "isolation");
            if (!lua_isnil(lua, -1)) {
                const char *level = luaL_checkstring(lua, -1);
                for (size_t i = 0; i < COUNT_OF(levels); i++) {
                    new->isolation = strcmp(levels[i], level) == 0 ? levels[i] : new->isolation;
                }
                DEMAND(lua, new->isolation != NULL,
                       "transaction '%s': isolation must be \"serializable\", \"repeatable read\", "
                       "\"read committed\" or \"read uncommitted\"",
                       name);
            }
        }
        declaring->transaction_count++;
    }
    check_same(lua,
               number < state->script->transaction_count &&
                   strcmp(state->script->transactions[number].name, name) == 0,
               "transaction", name);
    GROW(lua, state->transaction_refs, state->transactions);
    lua_pushvalue(lua, 2);
    state->transaction_refs[state->transactions++] = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

/* Raises a Lua error unless a metric can have this name. A bound such as "NAME.p95" must not have a
 * second meaning. */
static void check_metric_name(lua_State *lua, const struct script *declaring, const char *name)
{
    static const char digits[] = "0123456789", allowed[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    DEMAND(lua,
           name[0] != '\0' && strchr(digits, name[0]) == NULL && strlen(name) < SCRIPT_NAME_BYTES &&
               strspn(name, allowed) == strlen(name),
           "'%s' is not a valid metric name: use at most %d lowercase letters, digits and _, and "
           "begin with a letter or _",
           name, SCRIPT_NAME_BYTES - 1);
    check_no_metric(lua, declaring, name);
    for (size_t i = 0; i < declaring->operation_count; i++) {
        DEMAND(lua, strcmp(declaring->operations[i].name, name) != 0,
               "'%s' is already the name of a %s: use a different name", name,
               declaring->operations[i].is_transaction ? "transaction" : "statement");
    }
    DEMAND(lua, !bound_is_reserved(name),
           "'%s' is already the name of a figure of every run: rename the metric", name);
}

static const char *read_unit(lua_State *lua, struct script *declaring, const char *name)
{
    static const char *const known[] = {"unit", NULL};
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_%/";
    if (!argument_options(lua, 2, "a metric", known, 0) ||
        lua_getfield(lua, 2, "unit") == LUA_TNIL) {
        return "";
    }
    const char *unit = luaL_checkstring(lua, -1);
    DEMAND(lua,
           unit[0] != '\0' && strchr("0123456789", unit[0]) == NULL &&
               strlen(unit) < BOUND_UNIT_BYTES && strspn(unit, allowed) == strlen(unit),
           "metric '%s': the unit must be 1 to %d letters, digits, _, %% and /, such as \"ms\"",
           name, BOUND_UNIT_BYTES - 1);
    return keep_text(lua, declaring, unit);
}

/* count(name, options), trend(name, options), gauge(name, options): declare a metric of the
 * script. */
static int declare_metric(lua_State *lua, enum script_metric_kind kind)
{
    struct script_state *state = state_of(lua);
    char what[16];
    snprintf(what, sizeof what, "%s()", script_metric_kinds[kind]);
    const char *name = luaL_checkstring(lua, 1);
    sandbox_check_top_level(lua, what);
    const size_t number = state->metrics++;
    struct script *declaring = state->declaring;
    if (declaring != NULL) {
        check_metric_name(lua, declaring, name);
        DEMAND(lua, declaring->metric_count < METRICS_MAX, "a script can have at most %d metrics",
               METRICS_MAX);
        GROW(lua, declaring->metrics, declaring->metric_count);
        struct script_metric *new = &declaring->metrics[declaring->metric_count];
        new->name = keep_text(lua, declaring, name);
        new->unit = read_unit(lua, declaring, name);
        new->kind = kind;
        declaring->metric_count++;
    }
    check_same(lua,
               number < state->script->metric_count &&
                   state->script->metrics[number].kind == kind &&
                   strcmp(state->script->metrics[number].name, name) == 0,
               "metric", name);
    object_push(lua, OBJECT_METRIC, (int)number);
    return 1;
}

static int declare_count(lua_State *lua)
{
    return declare_metric(lua, SCRIPT_COUNT);
}

static int declare_trend(lua_State *lua)
{
    return declare_metric(lua, SCRIPT_TREND);
}

static int declare_gauge(lua_State *lua)
{
    return declare_metric(lua, SCRIPT_GAUGE);
}

static int declare_on_session(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    sandbox_check_top_level(lua, "on_session()");
    luaL_checktype(lua, 1, LUA_TFUNCTION);
    GROW(lua, state->session_refs, state->hooks_of_session);
    lua_pushvalue(lua, 1);
    state->session_refs[state->hooks_of_session++] = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

static int make_counter(lua_State *lua)
{
    struct script_state *state = state_of(lua);
    const char *name = check_name(lua, 1, "counter");
    const int64_t start = argument_integer(lua, 2, "counter: the first number");
    sandbox_check_top_level(lua, "counter()");
    DEMAND(lua, start >= 0, "counter '%s': the first number must be 0 or more", name);
    const size_t number = state->counters++;
    struct script *declaring = state->declaring;
    if (declaring != NULL) {
        declaring->counters = sandbox_grow(lua, declaring->counters, declaring->counter_count,
                                           sizeof(struct counter *));
        struct counter *counter = counter_create((uint64_t)start);
        DEMAND_MEMORY(lua, counter != NULL);
        declaring->counters[declaring->counter_count++] = counter;
    }
    check_same(lua, number < state->script->counter_count, "counter", name);
    object_push(lua, OBJECT_COUNTER, (int)number);
    return 1;
}

void declare_open(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"param", declare_param},
        {"dataset", declare_dataset},
        {"statement", declare_statement},
        {"transaction", declare_transaction},
        {"invariant", declare_invariant},
        {"on_session", declare_on_session},
        {"counter", make_counter},
        {"count", declare_count},
        {"trend", declare_trend},
        {"gauge", declare_gauge},
        {NULL, NULL},
    };
    sandbox_add(lua, functions);
}
