#include "measure/intervals.h"

#include <stdlib.h>

bool intervals_init(struct intervals *intervals, struct recorder *recorder, int64_t run_start_ns)
{
    *intervals = (struct intervals){
        .recorder = recorder,
        .run_start_ns = run_start_ns,
        .earlier = calloc(1, sizeof(*intervals->earlier)),
        .later = calloc(1, sizeof(*intervals->later)),
        .difference = calloc(1, sizeof(*intervals->difference)),
    };
    if (intervals->earlier == NULL || intervals->later == NULL || intervals->difference == NULL) {
        intervals_fini(intervals);
        return false;
    }
    intervals->earlier->taken_ns = run_start_ns;
    return true;
}

void intervals_fini(struct intervals *intervals)
{
    free(intervals->earlier);
    free(intervals->later);
    free(intervals->difference);
    *intervals = (struct intervals){0};
}

uint64_t intervals_sessions_alive(uint64_t opened, uint64_t closed)
{
    /* The two are read at different moments while sessions come and go. */
    return opened > closed ? opened - closed : 0;
}

static void fill_latencies(struct intervals *intervals, struct interval *interval)
{
    struct histogram *difference = intervals->difference;
    histogram_subtract(&intervals->later->histograms[RECORDER_APPEND],
                       &intervals->earlier->histograms[RECORDER_APPEND], difference);
    interval->append_p50_ns = histogram_quantile_ns(difference, 0.5);
    interval->append_p99_ns = histogram_quantile_ns(difference, 0.99);
    interval->append_max_ns = difference->max_ns;
    histogram_subtract(&intervals->later->histograms[RECORDER_COUNT],
                       &intervals->earlier->histograms[RECORDER_COUNT], difference);
    interval->count_p50_ns = histogram_quantile_ns(difference, 0.5);
    interval->count_p99_ns = histogram_quantile_ns(difference, 0.99);
    interval->count_max_ns = difference->max_ns;
}

bool intervals_take(struct intervals *intervals, struct interval *interval)
{
    struct recorder_snapshot *const later = intervals->later;
    struct recorder_snapshot *const earlier = intervals->earlier;
    recorder_take_snapshot(intervals->recorder, later);
    if (later->taken_ns <= earlier->taken_ns) {
        return false;
    }
    uint64_t reading;
    uint64_t ignored;
    const uint64_t stalled =
        recorder_count_stalled(intervals->recorder, earlier->taken_ns, &reading);
    *interval = (struct interval){
        .start_ns = earlier->taken_ns - intervals->run_start_ns,
        .end_ns = later->taken_ns - intervals->run_start_ns,
        .sessions_alive = intervals_sessions_alive(later->counters[RECORDER_CONNECTIONS_OPENED],
                                                   later->counters[RECORDER_CONNECTIONS_CLOSED]),
        .sessions_working = recorder_count_stalled(intervals->recorder, INT64_MAX, &ignored),
        .sessions_without_progress = stalled - reading,
        .sessions_reading = reading,
    };
    for (size_t i = 0; i < RECORDER_COUNTERS; i++) {
        interval->counters[i] = later->counters[i] - earlier->counters[i];
    }
    fill_latencies(intervals, interval);
    intervals->earlier = later;
    intervals->later = earlier;
    return true;
}

const struct recorder_snapshot *intervals_total(const struct intervals *intervals)
{
    return intervals->earlier;
}
