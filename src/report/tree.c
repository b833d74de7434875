#include "report/tree.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

void tree_put(struct tree tree, const char *key, json_t *value)
{
    if (json_object_set_new(tree.json, key, value) != 0) {
        *tree.has_failed = true;
    }
}

void tree_append(struct tree array, json_t *value)
{
    if (json_array_append_new(array.json, value) != 0) {
        *array.has_failed = true;
    }
}

/* Reads the object back from its parent, because the library frees an object that the parent cannot
 * store. In this case, the returned tree has NULL. */
struct tree tree_object(struct tree tree, const char *key)
{
    tree_put(tree, key, json_object());
    return (struct tree){json_object_get(tree.json, key), tree.has_failed};
}

struct tree tree_member(struct tree tree, const char *key)
{
    json_t *member = json_object_get(tree.json, key);
    return member == NULL ? tree_object(tree, key) : (struct tree){member, tree.has_failed};
}

struct tree tree_array(struct tree tree, const char *key)
{
    tree_put(tree, key, json_array());
    return (struct tree){json_object_get(tree.json, key), tree.has_failed};
}

struct tree tree_append_object(struct tree array)
{
    const size_t size = json_array_size(array.json);
    tree_append(array, json_object());
    return (struct tree){json_array_get(array.json, size), array.has_failed};
}

json_t *tree_string(const char *text)
{
    struct buffer buffer = {0};
    text_add_utf8(&buffer, text);
    json_t *string = buffer_failed(&buffer) ? NULL : json_string(buffer_text(&buffer));
    buffer_fini(&buffer);
    return string;
}

void tree_text(struct tree tree, const char *key, const char *text)
{
    tree_put(tree, key, text == NULL || text[0] == '\0' ? json_null() : tree_string(text));
}

void tree_bool(struct tree tree, const char *key, bool value)
{
    tree_put(tree, key, json_boolean(value));
}

/* The library's integers are signed, so a count above INT64_MAX becomes a real number. */
json_t *tree_integer(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

void tree_count(struct tree tree, const char *key, uint64_t value)
{
    tree_put(tree, key, tree_integer(value));
}

void tree_count_if(struct tree tree, const char *key, bool is_known, uint64_t value)
{
    tree_put(tree, key, is_known ? tree_integer(value) : json_null());
}

void tree_number(struct tree tree, const char *key, double value)
{
    tree_put(tree, key, isfinite(value) ? json_real(value) : json_null());
}

void tree_number_if(struct tree tree, const char *key, bool is_known, double value)
{
    tree_number(tree, key, is_known ? value : (double)NAN);
}

void tree_value(struct tree tree, const char *key, enum figure_unit unit,
                const struct figure_value *value)
{
    if (!figure_is_number(unit) || unit == FIGURE_UNIT_WORD) {
        tree_text(tree, key, value->text);
    } else if (unit == FIGURE_UNIT_FLAG) {
        tree_put(tree, key, value->is_known ? json_boolean(value->count != 0) : json_null());
    } else if (figure_is_whole(unit)) {
        tree_count_if(tree, key, value->is_known, value->count);
    } else {
        tree_number_if(tree, key, value->is_known, value->number);
    }
}

struct tree tree_figures(struct tree root, const char *section, const struct figure_set *set)
{
    struct tree tree = tree_object(root, section);
    const size_t length = strlen(section);
    /* the section "counters" shows each counter, even if its figure is unknown in other sections */
    const bool is_counters = strcmp(section, "counters") == 0;
    for (size_t id = 0; id < FIGURES; id++) {
        const struct figure *figure = &figure_table[id];
        const char *next;
        for (const char *path = figure->path; *path != '\0'; path = next + strspn(next, " ")) {
            next = path + strcspn(path, " ");
            const size_t rest = (size_t)(next - path);
            if (rest >= length && strncmp(path, section, length) == 0 &&
                (rest == length || path[length] == '.')) {
                char key[FIGURE_KEY_BYTES];
                snprintf(key, sizeof key, "%.*s", rest == length ? -1 : (int)(rest - length - 1),
                         rest == length ? figure->key : path + length + 1);
                struct figure_value value = set->values[id];
                value.is_known = value.is_known || (is_counters && figure->counter >= 0);
                tree_value(tree, key, figure->unit, &value);
            }
        }
    }
    return tree;
}

bool tree_write(FILE *stream, json_t *json, bool has_failed)
{
    enum {
        REAL_DIGITS = 15 /* digits of a real number; enough for nanoseconds in a run of days, but
                            not so many that 95238.1 changes */
    };
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS);
    errno = 0;
    const bool is_written = !has_failed && json_dumpf(json, stream, flags) == 0 &&
                            fputc('\n', stream) != EOF && fflush(stream) == 0;
    const int number =
        !is_written && errno == 0 ? ENOMEM : errno; /* if errno is not set, memory has run out */
    json_decref(json);
    errno = number;
    return is_written;
}
