/* A comparison for people, and for programs. */
#ifndef COMPARE_COMPARE_TEXT_H
#define COMPARE_COMPARE_TEXT_H

#include <stdio.h>

#include "compare/compare.h"

/* Lines of at most 80 columns, but for the folders, which are written whole: what was found
 * first, then what differs, the figures, and the test. */
void compare_write_text(FILE *stream, const struct comparison *comparison);

/* One JSON object. False: out of memory or a failed write. */
bool compare_write_json(FILE *stream, const struct comparison *comparison);

#endif
