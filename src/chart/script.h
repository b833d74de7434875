/*
 * A chart as a script for gnuplot. Data are in the script; nothing is read from files, and no text
 * of a server or user is ever more than a quoted word of it.
 */
#ifndef CHART_SCRIPT_H
#define CHART_SCRIPT_H

#include "base/buffer.h"
#include "chart/chart.h"

enum chart_terminal {
    TERMINAL_SVG,  /* without colours of its own: chart/svg.h makes them the page's */
    TERMINAL_PNG,  /* on white, with a title */
    TERMINAL_TEXT, /* for a terminal: letters and lines of at most `columns` */
};

enum {
    SCRIPT_COLUMNS_MIN = 40,
    SCRIPT_SEPARATOR = '\036' /* what gnuplot writes before each chart */
};

/* Colours of TERMINAL_SVG are rgb(0,0,N) with these N; series i has SCRIPT_INK_SERIES + i. */
enum script_ink {
    SCRIPT_INK_TEXT = 1,
    SCRIPT_INK_AXIS = 2,
    SCRIPT_INK_GRID = 3,
    SCRIPT_INK_MARK = 4,
    SCRIPT_INK_SERIES = 16,
};

/* Adds the commands that draw one chart; several can follow each other in one script. `columns`
 * is for TERMINAL_TEXT. */
void script_add_chart(struct buffer *script, const struct chart *chart,
                      enum chart_terminal terminal, unsigned columns);

/* Adds a text in quotes: nothing in it is a command, controls are blanks. */
void script_add_quoted(struct buffer *script, const char *text);

#endif
