#include "load/arrivals.h"

#include <math.h>

#include "base/random.h"

struct arrivals arrivals_begin(uint64_t seed, unsigned session, double mean_gap_ns)
{
    /* "arrivals", so that the draws are not those of the rows of the same session */
    const uint64_t own = UINT64_C(0x6172726976616c73);
    return (struct arrivals){.seed = random_mix(random_mix(seed ^ own) + session),
                             .mean_gap_ns = mean_gap_ns,
                             .most = UINT64_MAX};
}

int64_t arrivals_at_ns(struct arrivals *arrivals, uint64_t number)
{
    while (arrivals->count <= number && arrivals->count < arrivals->most) {
        /* 53 random bits: from 0 to just below 1 */
        const double draw =
            (double)(random_mix(arrivals->seed + arrivals->count * RANDOM_STEP) >> 11) * 0x1p-53;
        arrivals->last_ns += -log1p(-draw) * arrivals->mean_gap_ns;
        arrivals->count++;
    }
    const uint64_t later = number < arrivals->count ? 0 : number + 1 - arrivals->count;
    return llround(
        fmin(arrivals->last_ns + (double)later * arrivals->mean_gap_ns, ARRIVALS_LATEST_NS));
}
