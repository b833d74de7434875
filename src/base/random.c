#include "base/random.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/mono.h"

uint64_t random_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        seed = random_mix((uint64_t)mono_wall_ns()) ^ (uint64_t)mono_now_ns() ^ (uint64_t)getpid();
    }
    /* JSON readers keep 53 bits of a number, and a short seed is easier to repeat */
    return seed >> 24;
}
