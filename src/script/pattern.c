/*
 * Lua's find, match, gmatch and gsub, which can be ended: those of Lua's own library match for as
 * long as a pattern takes, which is for ever with some.
 *
 * What a pattern means is as in Lua 5.4's manual. The way of matching is that of its lstrlib.c
 * (MIT license, Copyright (C) 1994-2023 Lua.org, PUC-Rio), which goes back and tries again.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "script/script.h"

enum {
    CAPTURES_MAX = 32,
    DEPTH_MAX = 200,     /* of calls: the stack of a session's thread is small */
    PAUSE_BYTES = 20000, /* compared between two pauses */
};

#define CAPTURE_OPEN (-1)
#define CAPTURE_PLACE (-2)

#define ESCAPE '%'

/* The function that pauses, in a userdata. */
struct pausing {
    void (*pause)(lua_State *lua);
};

struct capture {
    const char *at;
    ptrdiff_t length; /* or CAPTURE_OPEN, CAPTURE_PLACE */
};

struct matching {
    lua_State *lua;
    void (*pause)(lua_State *lua);
    size_t compared; /* bytes, since the latest pause */
    const char *text, *end;
    const char *pattern_end;
    int depth;
    int captures;
    struct capture capture[CAPTURES_MAX];
};

/* Notes the work that was done. */
static void spend(struct matching *m, size_t bytes)
{
    m->compared += bytes;
    if (m->compared >= PAUSE_BYTES) {
        m->compared = 0;
        m->pause(m->lua);
    }
}

static int fail(const struct matching *m, const char *text)
{
    return luaL_error(m->lua, "%s", text);
}

/* The end of the single item that begins at `p`. */
static const char *item_end(const struct matching *m, const char *p)
{
    const char first = *p++;
    if (first == ESCAPE) {
        if (p == m->pattern_end) {
            fail(m, "malformed pattern (ends with '%')");
        }
        return p + 1;
    }
    if (first != '[') {
        return p;
    }
    p += *p == '^' ? 1 : 0;
    do { /* a ] that comes first stands for itself */
        if (p == m->pattern_end) {
            fail(m, "malformed pattern (missing ']')");
        }
        if (*p++ == ESCAPE) {
            if (p == m->pattern_end) {
                fail(m, "malformed pattern (missing ']')");
            }
            p++;
        }
    } while (p == m->pattern_end || *p != ']');
    return p + 1;
}

static bool is_of_class(int c, int class)
{
    bool is_of;
    switch (tolower(class)) {
    case 'a':
        is_of = isalpha(c) != 0;
        break;
    case 'c':
        is_of = iscntrl(c) != 0;
        break;
    case 'd':
        is_of = isdigit(c) != 0;
        break;
    case 'g':
        is_of = isgraph(c) != 0;
        break;
    case 'l':
        is_of = islower(c) != 0;
        break;
    case 'p':
        is_of = ispunct(c) != 0;
        break;
    case 's':
        is_of = isspace(c) != 0;
        break;
    case 'u':
        is_of = isupper(c) != 0;
        break;
    case 'w':
        is_of = isalnum(c) != 0;
        break;
    case 'x':
        is_of = isxdigit(c) != 0;
        break;
    default:
        return class == c;
    }
    return isupper(class) ? !is_of : is_of;
}

/* `last` is the ] of the set that begins at `p`. */
static bool is_in_set(int c, const char *p, const char *last)
{
    const bool is_not = p[1] == '^';
    for (p += is_not ? 2 : 1; p < last; p++) {
        const unsigned char from = (unsigned char)*p;
        if (*p == ESCAPE) {
            p++;
            if (is_of_class(c, (unsigned char)*p)) {
                return !is_not;
            }
        } else if (p[1] == '-' && p + 2 < last) {
            p += 2;
            if (from <= c && c <= (unsigned char)*p) {
                return !is_not;
            }
        } else if (from == c) {
            return !is_not;
        }
    }
    return is_not;
}

/* Whether the character at `s` is one of the item p … p_end. */
static bool is_single(struct matching *m, const char *s, const char *p, const char *p_end)
{
    spend(m, (size_t)(p_end - p));
    if (s >= m->end) {
        return false;
    }
    const int c = (unsigned char)*s;
    switch (*p) {
    case '.':
        return true;
    case ESCAPE:
        return is_of_class(c, (unsigned char)p[1]);
    case '[':
        return is_in_set(c, p, p_end - 1);
    default:
        return (unsigned char)*p == c;
    }
}

static const char *match_balance(struct matching *m, const char *s, const char *p)
{
    if (p >= m->pattern_end - 1) {
        fail(m, "malformed pattern (missing arguments to '%b')");
    }
    if (s >= m->end || *s != p[0]) {
        return NULL;
    }
    size_t depth = 1;
    for (const char *at = s + 1; at < m->end; at++) {
        spend(m, 1);
        if (*at == p[1]) {
            if (--depth == 0) {
                return at + 1;
            }
        } else if (*at == p[0]) {
            depth++;
        }
    }
    return NULL;
}

static int capture_of(const struct matching *m, int name)
{
    const int number = name - '1';
    if (number < 0 || number >= m->captures || m->capture[number].length == CAPTURE_OPEN) {
        return luaL_error(m->lua, "invalid capture index %%%d", number + 1);
    }
    return number;
}

static const char *match_from(struct matching *m, const char *s, const char *p);

/* As many as there are, then fewer and fewer. */
static const char *match_most(struct matching *m, const char *s, const char *p, const char *p_end)
{
    ptrdiff_t count = 0;
    while (is_single(m, s + count, p, p_end)) {
        count++;
    }
    for (; count >= 0; count--) {
        const char *found = match_from(m, s + count, p_end + 1);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

/* As few as there can be. */
static const char *match_least(struct matching *m, const char *s, const char *p, const char *p_end)
{
    for (;; s++) {
        const char *found = match_from(m, s, p_end + 1);
        if (found != NULL) {
            return found;
        }
        if (!is_single(m, s, p, p_end)) {
            return NULL;
        }
    }
}

static const char *open_capture(struct matching *m, const char *s, const char *p, ptrdiff_t length)
{
    if (m->captures >= CAPTURES_MAX) {
        fail(m, "too many captures");
    }
    m->capture[m->captures++] = (struct capture){s, length};
    const char *found = match_from(m, s, p);
    m->captures -= found == NULL ? 1 : 0;
    return found;
}

static const char *close_capture(struct matching *m, const char *s, const char *p)
{
    int number = m->captures - 1;
    while (number >= 0 && m->capture[number].length != CAPTURE_OPEN) {
        number--;
    }
    if (number < 0) {
        fail(m, "invalid pattern capture");
        return NULL;
    }
    m->capture[number].length = s - m->capture[number].at;
    const char *found = match_from(m, s, p);
    if (found == NULL) {
        m->capture[number].length = CAPTURE_OPEN;
    }
    return found;
}

static const char *match_back(struct matching *m, const char *s, int name)
{
    const struct capture *capture = &m->capture[capture_of(m, name)];
    if (capture->length < 0) {
        return NULL;
    }
    const size_t length = (size_t)capture->length;
    spend(m, length);
    return (size_t)(m->end - s) >= length && memcmp(capture->at, s, length) == 0 ? s + length
                                                                                 : NULL;
}

/* Whether the set at *p begins to match between s - 1 and s; moves *p after the set. */
static bool is_frontier(struct matching *m, const char *s, const char **p)
{
    const char *set = *p;
    if (*set != '[') {
        fail(m, "missing '[' after '%f' in pattern");
    }
    *p = item_end(m, set);
    spend(m, (size_t)(*p - set));
    const int before = s == m->text ? 0 : (unsigned char)s[-1];
    const int after = s == m->end ? 0 : (unsigned char)*s;
    return !is_in_set(before, set, *p - 1) && is_in_set(after, set, *p - 1);
}

/* The end of the match of `p` at `s`; NULL: there is none. */
static const char *match_here(struct matching *m, const char *s, const char *p)
{
    while (s != NULL && p != m->pattern_end) {
        spend(m, 1);
        if (*p == '(') {
            return p[1] == ')' ? open_capture(m, s, p + 2, CAPTURE_PLACE)
                               : open_capture(m, s, p + 1, CAPTURE_OPEN);
        }
        if (*p == ')') {
            return close_capture(m, s, p + 1);
        }
        if (*p == '$' && p + 1 == m->pattern_end) {
            return s == m->end ? s : NULL;
        }
        if (*p == ESCAPE && p[1] == 'b') {
            s = match_balance(m, s, p + 2);
            p += 4;
            continue;
        }
        if (*p == ESCAPE && p[1] == 'f') {
            p += 2;
            s = is_frontier(m, s, &p) ? s : NULL;
            continue;
        }
        if (*p == ESCAPE && isdigit((unsigned char)p[1])) {
            s = match_back(m, s, (unsigned char)p[1]);
            p += 2;
            continue;
        }
        const char *p_end = item_end(m, p);
        switch (*p_end) {
        case '?':
            if (is_single(m, s, p, p_end)) {
                const char *found = match_from(m, s + 1, p_end + 1);
                if (found != NULL) {
                    return found;
                }
            }
            p = p_end + 1;
            break;
        case '+':
            return is_single(m, s, p, p_end) ? match_most(m, s + 1, p, p_end) : NULL;
        case '*':
            return match_most(m, s, p, p_end);
        case '-':
            return match_least(m, s, p, p_end);
        default:
            s = is_single(m, s, p, p_end) ? s + 1 : NULL;
            p = p_end;
        }
    }
    return s;
}

static const char *match_from(struct matching *m, const char *s, const char *p)
{
    if (m->depth++ >= DEPTH_MAX) {
        fail(m, "pattern too complex");
    }
    const char *found = match_here(m, s, p);
    m->depth--;
    return found;
}

static const char *match_anew(struct matching *m, const char *s, const char *p)
{
    m->captures = m->depth = 0;
    return match_from(m, s, p);
}

/* The texts at 1 and 2; `p` is where the pattern begins. */
static void prepare(lua_State *lua, struct matching *m, int pausing, const char **p)
{
    size_t length, pattern_length;
    const char *text = luaL_checklstring(lua, 1, &length);
    *p = luaL_checklstring(lua, 2, &pattern_length);
    const struct pausing *with = lua_touserdata(lua, pausing);
    m->lua = lua;
    m->pause = with->pause;
    m->compared = 0;
    m->text = text;
    m->end = text + length;
    m->pattern_end = *p + pattern_length;
}

/* Pushes capture `i`, or the match s … end where there are no captures. */
static void push_capture(const struct matching *m, int i, const char *s, const char *end)
{
    if (i >= m->captures) {
        if (i > 0) {
            luaL_error(m->lua, "invalid capture index %%%d", i + 1);
        }
        lua_pushlstring(m->lua, s, (size_t)(end - s));
        return;
    }
    const struct capture *capture = &m->capture[i];
    if (capture->length == CAPTURE_OPEN) {
        fail(m, "unfinished capture");
    } else if (capture->length == CAPTURE_PLACE) {
        lua_pushinteger(m->lua, capture->at - m->text + 1);
    } else {
        lua_pushlstring(m->lua, capture->at, (size_t)capture->length);
    }
}

/* `s` NULL: without captures the match is not pushed. */
static int push_captures(const struct matching *m, const char *s, const char *end)
{
    const int count = m->captures == 0 && s != NULL ? 1 : m->captures;
    luaL_checkstack(m->lua, count, "too many captures");
    for (int i = 0; i < count; i++) {
        push_capture(m, i, s, end);
    }
    return count;
}

/* Finds the pattern as it is. */
static const char *find_plain(struct matching *m, const char *s, const char *p)
{
    const size_t length = (size_t)(m->pattern_end - p);
    for (; (size_t)(m->end - s) >= length; s++) {
        spend(m, 1);
        if (length == 0 || (*s == *p && (spend(m, length), memcmp(s, p, length) == 0))) {
            return s;
        }
    }
    return NULL;
}

static bool is_plain(const struct matching *m, const char *p)
{
    static const char specials[] = "^$*+?.([%-";
    for (; p < m->pattern_end; p++) {
        if (memchr(specials, *p, sizeof specials - 1) != NULL) {
            return false;
        }
    }
    return true;
}

/* The place, from 0, that the optional third argument means; beyond the end: the length + 1. */
static size_t start_of(lua_State *lua, size_t length)
{
    const lua_Integer at = luaL_optinteger(lua, 3, 1);
    if (at > 0) {
        return (size_t)at - 1 <= length ? (size_t)at - 1 : length + 1;
    }
    return at == 0 || at < -(lua_Integer)length ? 0 : length - (size_t)-at;
}

static int search(lua_State *lua, bool is_find)
{
    struct matching m;
    const char *p;
    prepare(lua, &m, lua_upvalueindex(1), &p);
    const size_t start = start_of(lua, (size_t)(m.end - m.text));
    const char *s = m.text + start;
    if (start > (size_t)(m.end - m.text)) {
        lua_pushnil(lua);
        return 1;
    }
    if (is_find && (lua_toboolean(lua, 4) || is_plain(&m, p))) {
        s = find_plain(&m, s, p);
        if (s == NULL) {
            lua_pushnil(lua);
            return 1;
        }
        lua_pushinteger(lua, s - m.text + 1);
        lua_pushinteger(lua, s - m.text + (m.pattern_end - p));
        return 2;
    }
    const bool is_anchored = p < m.pattern_end && *p == '^';
    p += is_anchored ? 1 : 0;
    do {
        const char *end = match_anew(&m, s, p);
        if (end != NULL && is_find) {
            lua_pushinteger(lua, s - m.text + 1);
            lua_pushinteger(lua, end - m.text);
            return 2 + push_captures(&m, NULL, NULL);
        }
        if (end != NULL) {
            return push_captures(&m, s, end);
        }
    } while (s++ < m.end && !is_anchored);
    lua_pushnil(lua);
    return 1;
}

static int find(lua_State *lua)
{
    return search(lua, true);
}

static int match(lua_State *lua)
{
    return search(lua, false);
}

/* Upvalues: the pausing, the texts, where to go on, and the end of the last match (-1: none). */
static int next_match(lua_State *lua)
{
    struct matching m;
    const char *p;
    lua_settop(lua, 0);
    lua_pushvalue(lua, lua_upvalueindex(2));
    lua_pushvalue(lua, lua_upvalueindex(3));
    prepare(lua, &m, lua_upvalueindex(1), &p);
    const lua_Integer last = lua_tointeger(lua, lua_upvalueindex(5));
    const lua_Integer length = m.end - m.text;
    for (lua_Integer at = lua_tointeger(lua, lua_upvalueindex(4)); at <= length; at++) {
        const char *end = match_anew(&m, m.text + at, p);
        if (end != NULL && end - m.text != last) {
            lua_pushinteger(lua, end - m.text);
            lua_copy(lua, -1, lua_upvalueindex(4));
            lua_replace(lua, lua_upvalueindex(5));
            return push_captures(&m, m.text + at, end);
        }
    }
    lua_pushinteger(lua, length + 1);
    lua_replace(lua, lua_upvalueindex(4));
    return 0;
}

static int gmatch(lua_State *lua)
{
    size_t length;
    luaL_checklstring(lua, 1, &length);
    luaL_checkstring(lua, 2);
    const size_t start = start_of(lua, length);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_pushvalue(lua, 1);
    lua_pushvalue(lua, 2);
    lua_pushinteger(lua, (lua_Integer)start);
    lua_pushinteger(lua, -1);
    lua_pushcclosure(lua, next_match, 5);
    return 1;
}

/* Adds the replacement text at 3 with its %0 … %9 filled in. */
static void add_text(const struct matching *m, luaL_Buffer *out, const char *s, const char *end)
{
    size_t length;
    const char *text = lua_tolstring(m->lua, 3, &length);
    for (const char *const text_end = text + length; text < text_end; text++) {
        if (*text != ESCAPE) {
            luaL_addchar(out, *text);
            continue;
        }
        text++;
        if (text < text_end && *text == ESCAPE) {
            luaL_addchar(out, *text);
        } else if (text < text_end && *text == '0') {
            luaL_addlstring(out, s, (size_t)(end - s));
        } else if (text < text_end && isdigit((unsigned char)*text)) {
            push_capture(m, *text - '1', s, end);
            luaL_tolstring(m->lua, -1, NULL); /* a place is a number */
            lua_remove(m->lua, -2);
            luaL_addvalue(out);
        } else {
            fail(m, "invalid use of '%' in replacement string");
        }
    }
}

/* Adds what takes the place of the match; false: the match stays. */
static bool add_replacement(const struct matching *m, luaL_Buffer *out, const char *s,
                            const char *end)
{
    lua_State *lua = m->lua;
    switch (lua_type(lua, 3)) {
    case LUA_TFUNCTION:
        lua_pushvalue(lua, 3);
        lua_call(lua, push_captures(m, s, end), 1);
        break;
    case LUA_TTABLE:
        push_capture(m, 0, s, end);
        lua_gettable(lua, 3);
        break;
    default:
        add_text(m, out, s, end);
        return true;
    }
    if (!lua_toboolean(lua, -1)) {
        lua_pop(lua, 1);
        luaL_addlstring(out, s, (size_t)(end - s));
        return false;
    }
    if (!lua_isstring(lua, -1)) {
        luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
    }
    luaL_addvalue(out);
    return true;
}

static int gsub(lua_State *lua)
{
    struct matching m;
    const char *p, *last = NULL;
    luaL_Buffer out;
    lua_Integer done = 0;
    prepare(lua, &m, lua_upvalueindex(1), &p);
    const int type = lua_type(lua, 3);
    luaL_argexpected(lua,
                     type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
                         type == LUA_TTABLE,
                     3, "string/function/table");
    const lua_Integer most = luaL_optinteger(lua, 4, m.end - m.text + 1);
    const bool is_anchored = p < m.pattern_end && *p == '^';
    const char *s = m.text;
    bool has_changed = false;
    p += is_anchored ? 1 : 0;
    luaL_buffinit(lua, &out);
    while (done < most) {
        const char *end = match_anew(&m, s, p);
        if (end != NULL && end != last) {
            done++;
            has_changed |= add_replacement(&m, &out, s, end);
            s = last = end;
        } else if (s < m.end) {
            luaL_addchar(&out, *s++);
        } else {
            break;
        }
        if (is_anchored) {
            break;
        }
    }
    if (has_changed) {
        luaL_addlstring(&out, s, (size_t)(m.end - s));
        luaL_pushresult(&out);
    } else {
        lua_pushvalue(lua, 1);
    }
    lua_pushinteger(lua, done);
    return 2;
}

void script_open_patterns(lua_State *lua, void (*pause)(lua_State *lua))
{
    static const luaL_Reg functions[] = {
        {"find", find}, {"match", match}, {"gmatch", gmatch}, {"gsub", gsub}, {NULL, NULL}};
    struct pausing *with = lua_newuserdatauv(lua, sizeof *with, 0);
    with->pause = pause;
    luaL_setfuncs(lua, functions, 1);
}
