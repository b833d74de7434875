/* Buffers: texts or bytes that grow, such as statements that an adapter writes. */
#ifndef APPEND_BUFFER_H
#define APPEND_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "append/api.h"

/* A text or bytes that grow. One thread at a time. A failed allocation is remembered: later calls
 * do nothing, and buffer_failed says so at the end. */
struct buffer {
    char *bytes; /* always terminated once anything was added; owned */
    size_t length;
    size_t capacity;
    bool has_failed;
};

/* An empty buffer that owns nothing yet. */
void buffer_init(struct buffer *buffer) APPEND_API(buffer_init);
void buffer_fini(struct buffer *buffer) APPEND_API(buffer_fini);

/* Forgets the content and a failure, keeps the memory. */
void buffer_clear(struct buffer *buffer) APPEND_API(buffer_clear);

/* Room for that many bytes behind the content; NULL: an allocation failed. buffer_end says where
 * what was written there ends. */
char *buffer_reserve(struct buffer *buffer, size_t bytes) APPEND_API(buffer_reserve);

static inline void buffer_end(struct buffer *buffer, char *end)
{
    *end = '\0';
    buffer->length = (size_t)(end - buffer->bytes);
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t length) APPEND_API(buffer_add);
void buffer_add_text(struct buffer *buffer, const char *text) APPEND_API(buffer_add_text);
void buffer_add_format(struct buffer *buffer, const char *format, ...) APPEND_API(buffer_add_format)
    __attribute__((format(printf, 2, 3)));

/* Adds an identifier between `quote` characters, quotes inside doubled; as it is when `quote` is 0.
 */
void buffer_add_identifier(struct buffer *buffer, const char *name, char quote)
    APPEND_API(buffer_add_identifier);

/* A stream that adds to the buffer, to be closed by fclose; NULL without memory. Unlike that of
 * open_memstream its content is never short without buffer_failed saying so. */
FILE *buffer_open(struct buffer *buffer) APPEND_API(buffer_open);

/* True when an allocation failed since init or clear: the content is incomplete. */
bool buffer_failed(const struct buffer *buffer) APPEND_API(buffer_failed);

/* The text so far; "" when nothing was added or an allocation failed. */
const char *buffer_text(const struct buffer *buffer) APPEND_API(buffer_text);

#endif
