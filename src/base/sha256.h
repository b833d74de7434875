/* SHA-256 (FIPS 180-4), for the hashes of the files that the certificate of a run names. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

enum {
    SHA256_TEXT_BYTES = 65
};

/* Writes the hash of `length` bytes as 64 hexadecimal digits, as sha256sum prints it. Returns
 * `text`. */
const char *sha256_text(const void *bytes, size_t length, char text[SHA256_TEXT_BYTES]);

#endif
