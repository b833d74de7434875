/*
 * A JSON object that is being built. A failed allocation is noted for the whole tree and checked
 * once at the end. A tree owns its values.
 */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "figures/figures.h"

struct tree {
    json_t *json;     /* the object or array; borrowed, because its parent owns it */
    bool *has_failed; /* an allocation failed somewhere in the tree */
};

/* Adds a value, and takes over the caller's reference to the value, even on failure. A NULL value
 * is a failure. */
void tree_put(struct tree tree, const char *key, json_t *value);

/* Adds an empty object or array and returns it. */
struct tree tree_object(struct tree tree, const char *key);
struct tree tree_array(struct tree tree, const char *key);

/* Returns the member object `key`; adds it when it is missing. */
struct tree tree_member(struct tree tree, const char *key);

/* Adds an element to an array. */
void tree_append(struct tree array, json_t *value);
struct tree tree_append_object(struct tree array);

/* Add a value. In texts, bytes that are not UTF-8 become U+FFFD; NULL and "" become null. */
void tree_text(struct tree tree, const char *key, const char *text);
void tree_bool(struct tree tree, const char *key, bool value);
void tree_count(struct tree tree, const char *key, uint64_t value);

/* Add a value, or null when it is unknown or not finite. */
void tree_count_if(struct tree tree, const char *key, bool is_known, uint64_t value);
void tree_number(struct tree tree, const char *key, double value);
void tree_number_if(struct tree tree, const char *key, bool is_known, double value);

/* Return a text or a count as a value for tree_append. Bytes that are not UTF-8 become U+FFFD. */
json_t *tree_string(const char *text);
json_t *tree_integer(uint64_t value);

/* Adds a figure as a text, a boolean, an integer or a real number, according to the unit. */
void tree_value(struct tree tree, const char *key, enum figure_unit unit,
                const struct figure_value *value);

/* Adds an object for a section of run.json ("rows") with the figures of the section. Returns the
 * object. */
struct tree tree_figures(struct tree root, const char *section, const struct figure_set *set);

/* Writes the root, indented and with a line break at the end, flushes the stream and frees the
 * root. `has_failed` is the value of *tree.has_failed. Returns false if memory runs out or a write
 * fails (errno is set). */
bool tree_write(FILE *stream, json_t *json, bool has_failed);

#endif
