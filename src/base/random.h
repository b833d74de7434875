/*
 * Pseudo-random numbers that depend only on their input.
 *
 * random_mix is the finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014, variant 13 of D. Stafford): a bijection on 64 bits
 * in which every input bit changes half of the output bits. The function is for test data, not for
 * secrets.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/mono.h"

/* The odd number closest to 2^64 divided by the golden ratio. Its consecutive multiples are spread
 * evenly. */
#define RANDOM_STEP UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t random_mix(uint64_t value)
{
    value += RANDOM_STEP;
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

/* Returns a seed from the kernel's entropy, or from the clocks if entropy is not available. */
static inline uint64_t random_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        seed = random_mix((uint64_t)mono_wall_ns()) ^ (uint64_t)mono_now_ns() ^ (uint64_t)getpid();
    }
    /* a seed has 40 bits, because JSON readers keep only 53 bits of a number and a short seed is
     * easier to type */
    return seed >> 24;
}

#endif
