/*
 * Tables of a page. Each column has a title, and says how its cells look. A cell is a text and
 * never HTML. The functions escape the text, so no caller can forget to do so.
 */
#ifndef REPORT_PAGE_TABLE_H
#define REPORT_PAGE_TABLE_H

#include <stddef.h>

#include "base/text.h"

/* How the cells of a column look. */
enum page_look {
    AS_NUMBER,
    AS_NAME, /* the name of the row */
    AS_TEXT,
    AS_WORDS, /* a text that may be long */
};

struct page_column {
    const char *title; /* a constant of this program, without markup */
    enum page_look look;
};

/* A cell that may have a link or a frame. */
struct page_cell {
    const char *text; /* NULL counts as "" */
    const char *link; /* id of the element that the text links to; NULL: no link */
    const char *chip; /* CSS class of the coloured frame around the text, a constant; NULL: none */
};

/* Adds the beginning of a table. `heading` is a constant without markup. */
void page_table_begin(struct buffer *html, const char *heading, const struct page_column *columns,
                      size_t count);

/* Add a row of texts cell by cell. */
void page_table_begin_row(struct buffer *html);
void page_table_add_text(struct buffer *html, const struct page_column *column, const char *text);
void page_table_end_row(struct buffer *html);

/* Adds a row with a cell for each column. */
void page_table_add_row(struct buffer *html, const struct page_column *columns, size_t count,
                        const struct page_cell *cells);

/* Adds a row with a text for each column. */
void page_table_add_texts(struct buffer *html, const struct page_column *columns, size_t count,
                          const char *const *texts);

/* Adds a row. The texts of its cells are the arguments after `columns`, which must be an array.
 * Compiles only if the number of texts is the number of columns. */
#define PAGE_TABLE_ROW(html, columns, ...)                                                         \
    do {                                                                                           \
        _Static_assert(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *) ==             \
                           COUNT_OF(columns),                                                      \
                       "a text for each column");                                                  \
        page_table_add_texts((html), (columns), COUNT_OF(columns), (const char *[]){__VA_ARGS__}); \
    } while (0)

/* Adds the end of a table. `note` is a text below the table; NULL or "": no note. */
void page_table_end(struct buffer *html, const char *note);

/* Adds a text in a coloured frame. `style` is the CSS class of the frame. */
void page_add_chip(struct buffer *html, const char *style, const char *text);

/* Adds a paragraph in small letters. Adds nothing when the text is NULL or "". */
void page_add_note(struct buffer *html, const char *text);

#endif
