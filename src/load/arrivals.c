#include "load/arrivals.h"

#include <math.h>

#include "base/random.h"

struct arrivals arrivals_begin(uint64_t seed, unsigned session)
{
    /* the letters "arrivals" in ASCII: without this constant, the arrivals would use the same
     * random numbers as the session's rows */
    const uint64_t own = UINT64_C(0x6172726976616c73);
    return (struct arrivals){.seed = random_mix(random_mix(seed ^ own) + session),
                             .most = UINT64_MAX};
}

double arrivals_at(struct arrivals *arrivals, uint64_t number)
{
    while (arrivals->count <= number && arrivals->count < arrivals->most) {
        /* a fraction of 53 random bits, from 0 to just below 1 */
        const double draw =
            (double)(random_mix(arrivals->seed + arrivals->count * RANDOM_STEP) >> 11) * 0x1p-53;
        arrivals->last += -log1p(-draw);
        arrivals->count++;
    }
    const uint64_t later = number < arrivals->count ? 0 : number + 1 - arrivals->count;
    return arrivals->last + (double)later;
}
