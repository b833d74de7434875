/*
 * What the fuzz targets share. A target is one LLVMFuzzerTestOneInput: libFuzzer calls it with
 * inputs of its making, replay.c with those of the corpus. Its input is a heap block of exactly
 * `size` bytes, so that a sanitizer sees a byte that is read behind it. It keeps no state.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program when the claim does not hold. */
static inline void fuzz_require(bool holds, const char *claim)
{
    if (!holds) {
        fprintf(stderr, "fuzz: not true: %s\n", claim);
        abort();
    }
}

/* The bytes up to the first NUL as a text in a heap block of its own size, the caller's to free. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    const size_t length = size == 0 ? 0 : strnlen((const char *)data, size);
    char *text = malloc(length + 1);
    fuzz_require(text != NULL, "there is memory for the input");
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    return text;
}

/* A copy with other letters and digits in a part of it: what must not show, changed. The caller's
 * to free. */
static inline char *fuzz_change(const char *text, size_t at, size_t length)
{
    char *other = strdup(text);
    fuzz_require(other != NULL, "there is memory for another text");
    for (size_t i = at; i < at + length; i++) {
        if (other[i] == '%' && at + length - i > 2) {
            i += 2; /* a percent-encoded character stays one */
        } else if (isalnum((unsigned char)other[i])) {
            other[i] = other[i] == 'q' ? 'r' : 'q';
        }
    }
    return other;
}

#endif
