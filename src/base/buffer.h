/*
 * A text or byte buffer that grows. One thread at a time.
 *
 * A failed allocation is remembered: later calls do nothing, and buffer_failed says so at the end.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Entries of an array. */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct buffer {
    char *bytes; /* always terminated once anything was added; owned */
    size_t length;
    size_t capacity;
    bool has_failed;
};

/* An empty buffer that owns nothing yet. */
void buffer_init(struct buffer *buffer);
void buffer_fini(struct buffer *buffer);

/* Forgets the content and a failure, keeps the memory. */
void buffer_clear(struct buffer *buffer);

void buffer_add(struct buffer *buffer, const void *bytes, size_t length);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_add_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds an identifier between `quote` characters, quotes inside doubled; as it is when `quote` is 0.
 */
void buffer_add_identifier(struct buffer *buffer, const char *name, char quote);

/* A stream that adds to the buffer, to be closed by fclose; NULL without memory. Unlike that of
 * open_memstream its content is never short without buffer_failed saying so. */
FILE *buffer_open(struct buffer *buffer);

/* True when an allocation failed since init or clear: the content is incomplete. */
bool buffer_failed(const struct buffer *buffer);

/* The text so far; "" when nothing was added or an allocation failed. */
const char *buffer_text(const struct buffer *buffer);

#endif
