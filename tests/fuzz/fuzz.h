/*
 * Shared code of the fuzz targets. A target is one LLVMFuzzerTestOneInput. libFuzzer calls it with
 * generated inputs, replay.c with the inputs of the corpus. The input is a heap block of exactly
 * `size` bytes, so that a sanitizer detects a read after its end. A target does not keep state.
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

/* Aborts the program unless `holds` is true. */
static inline void fuzz_require(bool holds, const char *claim)
{
    if (!holds) {
        fprintf(stderr, "fuzz: not true: %s\n", claim);
        abort();
    }
}

/* Copies the bytes up to the first NUL to a text, in a heap block of exactly its size. The caller
 * frees it. */
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

/* Copies a text and changes the letters and digits of `length` bytes from `at` on. This part is a
 * secret, so the program must show the same for the text and for the copy. The caller frees the
 * copy. */
static inline char *fuzz_change(const char *text, size_t at, size_t length)
{
    char *other = strdup(text);
    fuzz_require(other != NULL, "there is memory for another text");
    for (size_t i = at; i < at + length; i++) {
        if (other[i] == '%' && at + length - i > 2) {
            i += 2; /* keep percent-encoded characters */
        } else if (isalnum((unsigned char)other[i])) {
            other[i] = other[i] == 'q' ? 'r' : 'q';
        }
    }
    return other;
}

#endif
