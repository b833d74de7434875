#include "base/buffer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void buffer_init(struct buffer *buffer)
{
    memset(buffer, 0, sizeof *buffer);
}

void buffer_fini(struct buffer *buffer)
{
    free(buffer->bytes);
    buffer_init(buffer);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length = 0;
    buffer->has_failed = false;
    if (buffer->bytes != NULL) {
        buffer->bytes[0] = '\0';
    }
}

/* Makes room for `extra` bytes and a terminator. */
static bool reserve(struct buffer *buffer, size_t extra)
{
    const size_t needed = buffer->length + extra + 1;
    if (buffer->has_failed || needed <= buffer->capacity) {
        return !buffer->has_failed;
    }
    size_t capacity = buffer->capacity == 0 ? 64 : buffer->capacity;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        buffer->has_failed = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t length)
{
    if (reserve(buffer, length)) {
        if (length > 0) {
            memcpy(buffer->bytes + buffer->length, bytes, length);
        }
        buffer->length += length;
        buffer->bytes[buffer->length] = '\0';
    }
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

void buffer_add_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        buffer->has_failed = true;
    } else if (reserve(buffer, (size_t)length)) {
        vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void buffer_add_identifier(struct buffer *buffer, const char *name, char quote)
{
    const size_t width = quote == '\0' ? 0 : 1;
    buffer_add(buffer, &quote, width);
    for (; *name != '\0'; name++) {
        buffer_add(buffer, name, *name == quote ? 1 : 0);
        buffer_add(buffer, name, 1);
    }
    buffer_add(buffer, &quote, width);
}

bool buffer_failed(const struct buffer *buffer)
{
    return buffer->has_failed;
}

const char *buffer_text(const struct buffer *buffer)
{
    return buffer->bytes == NULL || buffer->has_failed ? "" : buffer->bytes;
}

static ssize_t add_written(void *cookie, const char *bytes, size_t length)
{
    struct buffer *buffer = cookie;
    buffer_add(buffer, bytes, length);
    return buffer->has_failed ? 0 : (ssize_t)length;
}

FILE *buffer_open(struct buffer *buffer)
{
    return fopencookie(buffer, "w", (cookie_io_functions_t){.write = add_written});
}
