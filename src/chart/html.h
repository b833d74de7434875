/*
 * Pieces of an HTML page. Every text that comes from elsewhere goes through html_add_text: made
 * valid UTF-8 without controls, then escaped.
 */
#ifndef CHART_HTML_H
#define CHART_HTML_H

#include <stddef.h>

#include "base/buffer.h"

enum {
    HTML_TEXT_BYTES = 2048 /* longer texts are cut */
};

/* Adds `text` for element content or a quoted attribute; NULL is "". */
void html_add_text(struct buffer *page, const char *text);

/* The same, at most `columns` wide, "..." at its end when it is cut. */
void html_add_short(struct buffer *page, const char *text, unsigned columns);

/* A row of a table of two columns: what it is, and its value. Nothing when `value` is NULL or "".
 */
void html_add_pair(struct buffer *page, const char *name, const char *value);

#endif
