#include "report/hgrm.h"

#include <inttypes.h>
#include <math.h>

#include "base/mono.h"

enum {
    SUB_BUCKETS = 128
};

/* What HdrHistogram calls buckets: halves of SUB_BUCKETS entries, the first one being whole. */
enum {
    BUCKETS = HISTOGRAM_BUCKETS / (SUB_BUCKETS / 2) - 1
};

static double to_ms(double ns)
{
    return ns / (double)MONO_NS_PER_MS;
}

/* Places 0 … HISTOGRAM_BUCKETS - 1 are the buckets, the one behind them holds the overflow. */
static uint64_t count_at(const struct histogram *histogram, size_t place)
{
    return place < HISTOGRAM_BUCKETS ? histogram->counts[place] : histogram->overflow;
}

static double highest_at(const struct histogram *histogram, size_t place)
{
    if (place < HISTOGRAM_BUCKETS && histogram_bucket_high_ns(place) < histogram->max_ns) {
        return (double)histogram_bucket_high_ns(place);
    }
    return (double)histogram->max_ns;
}

static double middle_at(const struct histogram *histogram, size_t place)
{
    if (place >= HISTOGRAM_BUCKETS) {
        return (double)histogram->max_ns;
    }
    return ((double)histogram_bucket_low_ns(place) + (double)histogram_bucket_high_ns(place)) / 2;
}

static double deviation_ns(const struct histogram *histogram)
{
    const double mean = histogram_mean_ns(histogram);
    double squares = 0;
    for (size_t place = 0; place <= HISTOGRAM_BUCKETS; place++) {
        const double distance = middle_at(histogram, place) - mean;
        squares += distance * distance * (double)count_at(histogram, place);
    }
    return histogram->total > 0 ? sqrt(squares / (double)histogram->total) : 0;
}

static double next_level(double level)
{
    const double halvings = floor(log2(100.0 / (100.0 - level))) + 1;
    return level + 100.0 / (HGRM_TICKS * exp2(halvings));
}

static void write_rows(FILE *stream, const struct histogram *histogram)
{
    const double total = (double)histogram->total;
    uint64_t seen = 0;
    double level = 0;
    for (size_t place = 0; place <= HISTOGRAM_BUCKETS && seen < histogram->total; place++) {
        const uint64_t count = count_at(histogram, place);
        if (count == 0) {
            continue;
        }
        seen += count;
        const double value = to_ms(highest_at(histogram, place));
        while (level < 100.0 && level <= 100.0 * (double)seen / total) {
            const double share = level / 100.0;
            fprintf(stream, "%12.6f %2.12f %10" PRIu64 " %14.2f\n", value, share, seen,
                    1 / (1 - share));
            level = next_level(level);
            if (seen >= histogram->total) {
                break;
            }
        }
    }
    if (histogram->total > 0) {
        fprintf(stream, "%12.6f %2.12f %10" PRIu64 "\n", to_ms((double)histogram->max_ns), 1.0,
                histogram->total);
    }
}

bool hgrm_write(FILE *stream, const struct histogram *histogram)
{
    fprintf(stream, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    write_rows(stream, histogram);
    fprintf(stream, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n",
            to_ms(histogram_mean_ns(histogram)), to_ms(deviation_ns(histogram)));
    fprintf(stream, "#[Max     = %12.6f, Total count    = %12" PRIu64 "]\n",
            to_ms((double)histogram->max_ns), histogram->total);
    fprintf(stream, "#[Buckets = %12d, SubBuckets     = %12d]\n", BUCKETS, SUB_BUCKETS);
    return ferror(stream) == 0;
}
