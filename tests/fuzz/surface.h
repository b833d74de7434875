/* A fuzz target for several parsers of files. The first byte of the input chooses the parser. */
#ifndef FUZZ_SURFACE_H
#define FUZZ_SURFACE_H

#include "fuzz/fuzz.h"

/* How far a parser reads an accepted text: to the end, or up to the line that it looks for. */
enum reach {
    READS_SOME_LINES,
    READS_ALL
};

struct surface {
    /* parses, and also checks the result; returns true if the text was accepted */
    bool (*parse)(const char *text, size_t length);
    enum reach reach;
};

/* Runs the chosen parser. Checks that it refuses a file that is truncated within a line. */
static inline void surface_run(const struct surface *surfaces, size_t count, const uint8_t *data,
                               size_t size)
{
    if (size < 2) {
        return;
    }
    const struct surface *surface = &surfaces[data[0] % count];
    const char *text = (const char *)data + 1;
    const size_t length = size - 1;
    if (surface->parse(text, length)) {
        const char *end =
            surface->reach == READS_ALL ? text + length - 1 : memchr(text, '\n', length);
        fuzz_require(end != NULL && *end == '\n', "a truncated file is refused");
    }
}

#endif
