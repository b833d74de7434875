/*
 * gnuplot as a child process: a script in, what it draws out. No shell, no start-up files of the
 * user, and no file names: the script comes on its standard input, the drawing on its output.
 */
#ifndef CHART_GNUPLOT_H
#define CHART_GNUPLOT_H

#include "append/error.h"
#include "base/buffer.h"

enum {
    GNUPLOT_TIMEOUT_S = 120
};

/* Runs a script ("" finds out whether there is a gnuplot) and adds what it writes to *output.
 * REJECTED: *error says that there is none and which package has it, what it said, that it
 * was ended after GNUPLOT_TIMEOUT_S, or that there is no room for its files. */
enum status gnuplot_run(const struct buffer *script, struct buffer *output, struct error *error);

#endif
