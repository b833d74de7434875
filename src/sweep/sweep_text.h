/* The report of a sweep for people: the four tables, sessions down and records across. */
#ifndef SWEEP_SWEEP_TEXT_H
#define SWEEP_SWEEP_TEXT_H

#include <stdio.h>

#include "base/units.h"
#include "sweep/sweep.h"

/* At most 80 columns wide: columns that do not fit beside the others follow below them. */
void sweep_text_write(FILE *stream, const struct sweep *sweep);

/* 1,234, 321.5, 98.62, 0.057. Returns `text`. */
const char *sweep_text_number(double value, char text[UNITS_TEXT_BYTES]);

#endif
