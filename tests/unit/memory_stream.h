/* A stream that writes to memory, so that a test can compare the text. */
#ifndef UNIT_MEMORY_STREAM_H
#define UNIT_MEMORY_STREAM_H

#include <stdio.h>
#include <stdlib.h>

#include "unit/unit.h"

struct memory {
    FILE *stream;
    char *text;
    size_t size;
};

static inline void memory_open(struct memory *memory)
{
    *memory = (struct memory){NULL, NULL, 0};
    memory->stream = open_memstream(&memory->text, &memory->size);
    assert_non_null(memory->stream);
}

static inline void memory_expect(struct memory *memory, const char *expected)
{
    assert_int_equal(fclose(memory->stream), 0);
    assert_string_equal(memory->text, expected);
    free(memory->text);
}

#endif
