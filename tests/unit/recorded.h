/* Fills histograms with chosen values, without a recorder. */
#ifndef UNIT_RECORDED_H
#define UNIT_RECORDED_H

#include <string.h>

#include "measure/recorder.h"

static inline void histogram_clear(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

static inline void histogram_record(struct histogram *histogram, int64_t ns)
{
    const int64_t value = ns < 0 ? 0 : ns;
    if (value < HISTOGRAM_LIMIT_NS) {
        histogram->counts[histogram_bucket(value)]++;
    } else {
        histogram->overflow++;
    }
    histogram->total++;
    histogram->sum_ns = histogram_sum_ns(histogram->sum_ns, (uint64_t)value);
    if (value > histogram->max_ns) {
        histogram->max_ns = value;
    }
}

#endif
