/* Buffers, to which text or bytes are added: for example a statement that an adapter writes. */
#ifndef APPEND_BUFFER_H
#define APPEND_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "append/api.h"

/* A text or bytes to which more can be added. One thread at a time uses a buffer. After an
 * allocation has failed, calls that add do nothing, and buffer_failed returns true. */
struct buffer {
    char *bytes; /* the content; after the first addition, a '\0' follows the content; owned */
    size_t length;
    size_t capacity;
    bool has_failed;
};

/* Initialises an empty buffer that owns no memory yet. */
void buffer_init(struct buffer *buffer) APPEND_API(buffer_init);
void buffer_fini(struct buffer *buffer) APPEND_API(buffer_fini);

/* Removes the content and forgets a failed allocation. Keeps the memory. */
void buffer_clear(struct buffer *buffer) APPEND_API(buffer_clear);

/* Returns free memory for `bytes` bytes, which follows the content, or NULL if an allocation
 * failed. The caller writes text to this memory and then passes the end of the text to
 * buffer_end. */
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

/* Adds an identifier between `quote` characters and doubles the quotes inside it. If `quote` is 0,
 * the identifier is added unchanged. */
void buffer_add_identifier(struct buffer *buffer, const char *name, char quote)
    APPEND_API(buffer_add_identifier);

/* Returns a stream that adds to the buffer; the caller closes it with fclose. Returns NULL if
 * memory runs out. If memory runs out later, while the stream is used, buffer_failed returns
 * true. */
FILE *buffer_open(struct buffer *buffer) APPEND_API(buffer_open);

/* Returns true if an allocation has failed since buffer_init or buffer_clear, so that the content
 * is incomplete. */
bool buffer_failed(const struct buffer *buffer) APPEND_API(buffer_failed);

/* Returns the content as text; "" when it is empty or an allocation failed. */
const char *buffer_text(const struct buffer *buffer) APPEND_API(buffer_text);

#endif
