#include "base/sha256.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCK_BYTES = 64,
    LENGTH_BYTES = 8, /* the length of the message, in bits, ends the last block */
};

static uint32_t rotate(uint32_t value, unsigned bits)
{
    return value >> bits | value << (32 - bits);
}

/* Takes a block into the hash. */
static void add_block(uint32_t hash[8], const unsigned char *block)
{
    /* the first 32 bits of the fractions of the cube roots of the first 64 primes */
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};
    uint32_t words[64], state[8];
    for (size_t i = 0; i < 16; i++, block += 4) {
        words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
                   block[3];
    }
    for (size_t i = 16; i < 64; i++) {
        const uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + words[i - 7] +
                   (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(state, hash, sizeof state);
    for (size_t i = 0; i < 64; i++) {
        const uint32_t a = state[0], b = state[1], c = state[2];
        const uint32_t e = state[4], f = state[5], g = state[6];
        const uint32_t first = state[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                               ((e & f) ^ (~e & g)) + constants[i] + words[i];
        const uint32_t second =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        memmove(state + 1, state, 7 * sizeof *state);
        state[4] += first;
        state[0] = first + second;
    }
    for (size_t i = 0; i < 8; i++) {
        hash[i] += state[i];
    }
}

const char *sha256_text(const void *bytes, size_t length, char text[SHA256_TEXT_BYTES])
{
    /* the first 32 bits of the fractions of the square roots of the first 8 primes */
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *at = bytes;
    size_t left = length;
    for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, at += BLOCK_BYTES) {
        add_block(hash, at);
    }
    unsigned char last[2 * BLOCK_BYTES] = {0};
    if (left > 0) {
        memcpy(last, at, left);
    }
    last[left] = 0x80;
    const size_t end = left + 1 + LENGTH_BYTES > BLOCK_BYTES ? 2 * BLOCK_BYTES : BLOCK_BYTES;
    const uint64_t bits = (uint64_t)length * 8;
    for (size_t i = 0; i < LENGTH_BYTES; i++) {
        last[end - 1 - i] = (unsigned char)(bits >> 8 * i);
    }
    for (size_t i = 0; i < end; i += BLOCK_BYTES) {
        add_block(hash, last + i);
    }
    for (size_t i = 0; i < 8; i++) {
        snprintf(text + 8 * i, 9, "%08" PRIx32, hash[i]);
    }
    return text;
}
