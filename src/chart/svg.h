/*
 * SVG of gnuplot made part of a page: without prolog and unused marks, with the page's colours and
 * fonts instead of its own, so that one drawing fits a light and a dark page.
 */
#ifndef CHART_SVG_H
#define CHART_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Adds one drawing (text[0 .. length)), named `label` for those who cannot see it. The shapes of
 * its dots are left out: they stand in the page once. False: this is no SVG. */
bool svg_add(struct buffer *page, const char *text, size_t length, const char *label);

/* Adds the shapes of the dots, from any drawing; it is not shown itself. */
void svg_add_shapes(struct buffer *page, const char *text, size_t length);

#endif
